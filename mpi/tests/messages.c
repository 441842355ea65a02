/* Counts what collective writes and reads ask of MPI, by its profiling interface: calls, messages and bytes.
 *
 *   messages FOLDER [print]    checks the counts; prints them, as docs/scaling.md has them */
#include "check.h"

#include <ozarr_advanced.h>

enum { ROWS = 16, N = 384, CHUNK = 8 };

/* What MPI was asked since the last look, on this rank. */
static struct counts {
    int64_t allreduces, gathers, broadcasts, others; /* collective calls */
    int64_t messages, bytes;                         /* sent */
} now;

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    now.allreduces++;
    return PMPI_Allreduce(from, to, n, type, op, comm);
}

int MPI_Allgather(const void *from, int n, MPI_Datatype type, void *to, int each, MPI_Datatype to_type, MPI_Comm comm) {
    now.gathers++;
    return PMPI_Allgather(from, n, type, to, each, to_type, comm);
}

int MPI_Allgatherv(const void *from, int n, MPI_Datatype type, void *to, const int *each, const int *at, MPI_Datatype to_type, MPI_Comm comm) {
    now.gathers++;
    return PMPI_Allgatherv(from, n, type, to, each, at, to_type, comm);
}

int MPI_Bcast(void *bytes, int n, MPI_Datatype type, int root, MPI_Comm comm) {
    now.broadcasts++;
    return PMPI_Bcast(bytes, n, type, root, comm);
}

int MPI_Alltoall(const void *from, int n, MPI_Datatype type, void *to, int each, MPI_Datatype to_type, MPI_Comm comm) {
    now.others++;
    return PMPI_Alltoall(from, n, type, to, each, to_type, comm);
}

int MPI_Alltoallv(const void *from, const int *n, const int *at, MPI_Datatype type, void *to, const int *each, const int *to_at, MPI_Datatype to_type,
                  MPI_Comm comm) {
    now.others++;
    return PMPI_Alltoallv(from, n, at, type, to, each, to_at, to_type, comm);
}

int MPI_Isend(const void *bytes, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    int size = 0;
    PMPI_Type_size(type, &size);
    now.messages++, now.bytes += (int64_t)n * size;
    return PMPI_Isend(bytes, n, type, to, tag, comm, request);
}

static ozarr_mpi *m;
static bool prints;

/* Takes the counts of a call: of collective calls the most of a rank, of messages the sum of all. */
static struct counts look(const char *what) {
    struct counts mine = now, all = {0, 0, 0, 0, 0, 0};
    PMPI_Allreduce(&mine, &all, 4, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    PMPI_Allreduce(&mine.messages, &all.messages, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (prints && rank == 0)
        printf("| %3d | %-36s | %2d | %2d | %2d | %2d | %5d | %8d |\n", ranks, what, (int)all.allreduces, (int)all.gathers, (int)all.broadcasts,
               (int)all.others, (int)all.messages, (int)all.bytes);
    memset(&now, 0, sizeof now);
    return all;
}

/* Where the columns of a rank begin: with chunks, or three columns behind. */
static int64_t first_column(bool whole, int r) {
    if (whole) return (int64_t)(N / CHUNK) * r / ranks * CHUNK;
    return r == 0 || r == ranks ? (int64_t)N * r / ranks : (int64_t)N * r / ranks + 3;
}

/* How many bytes of all ranks are in chunks that more than one rank has, and that another one stores; at the least, and at the most. */
static void shared_bytes(int64_t *least, int64_t *most) {
    *least = *most = 0;
    for (int64_t c = 0; c < N / CHUNK; c++) {
        int64_t total = 0, largest = 0, owners = 0;
        for (int r = 0; r < ranks; r++) {
            const int64_t first = first_column(false, r), end = first_column(false, r + 1);
            const int64_t low = first > c * CHUNK ? first : c * CHUNK, high = end < (c + 1) * CHUNK ? end : (c + 1) * CHUNK;
            if (high <= low) continue;
            owners++, total += high - low;
            largest = high - low > largest ? high - low : largest;
        }
        if (owners < 2) continue;
        *least += (total - largest) * ROWS * (int64_t)sizeof(double);
        *most += total * ROWS * (int64_t)sizeof(double); /* an aggregator may have no part of the chunk */
    }
}

/* Reads of uncompressed chunks: what is long ranges of stored bytes is neither sent nor read twice, all else is sent. */
static void ranges_are_read(const char *range_bytes, bool sent) {
    const int64_t shape[] = {N, ROWS}, chunks[] = {CHUNK, ROWS};
    const int64_t start[] = {first_column(false, rank), 0}, count[] = {first_column(false, rank + 1) - start[0], ROWS};
    ozarr_layout layout = OZARR_LAYOUT_INIT;
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    ozarr_stats stats = OZARR_STATS_INIT;
    layout.chunks = chunks, layout.compressor = "none";
    OK(ozarr_spec_new_ex(OZARR_FLOAT64, 2, shape, &layout, &spec));
    OK(ozarr_mpi_set(m, "range_bytes", range_bytes));
    OK(ozarr_mpi_array_create_ex(m, "ranges.zarr", spec, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(spec);
    const int64_t elements = count[0] * ROWS;
    double *u = calloc((size_t)elements + 1, sizeof *u);
    for (int64_t i = 0; i < elements; i++) u[i] = (double)(start[0] * ROWS + i + 1);
    OK(ozarr_mpi_array_write_all(m, a, start, count, OZARR_FLOAT64, u, (size_t)elements * sizeof *u));
    look("write, chunks are cut, uncompressed");
    memset(u, 0, (size_t)elements * sizeof *u);
    OK(ozarr_mpi_array_read_all(m, a, start, count, OZARR_FLOAT64, u, (size_t)elements * sizeof *u));
    const struct counts read = look("read, chunks are cut, uncompressed");
    CHECK((read.messages > 0) == (sent && ranks > 1));
    for (int64_t i = 0; i < elements; i++) CHECK(u[i] == (double)(start[0] * ROWS + i + 1));
    OK(ozarr_array_stats(a, &stats));
    PMPI_Allreduce(MPI_IN_PLACE, &stats.bytes_read, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(stats.bytes_read == (int64_t)(N * ROWS * sizeof *u));
    OK(ozarr_mpi_array_close(m, a));
    look("close");
    free(u);
}

/* Writes twice and reads twice: the first makes the plan, the second uses it. */
static void moves(bool whole) {
    const int64_t shape[] = {ROWS, N}, chunks[] = {CHUNK, CHUNK};
    const int64_t start[] = {0, first_column(whole, rank)}, count[] = {ROWS, first_column(whole, rank + 1) - start[1]};
    int64_t least, most;
    ozarr_array *a = NULL;
    OK(ozarr_mpi_array_create(m, whole ? "whole.zarr" : "cut.zarr", OZARR_FLOAT64, 2, shape, chunks, OZARR_CREATE_NEW, &a));
    const size_t size = (size_t)(count[0] * count[1]) * sizeof(double);
    double *u = calloc(1, size + 1);
    const struct counts created = look("create");
    CHECK(created.messages == 0 && created.gathers == 0);
    struct counts first[2], again[2];
    for (int reads = 0; reads < 2; reads++)
        for (int i = 0; i < 2; i++) {
            const ozarr_status status = reads ? ozarr_mpi_array_read_all(m, a, start, count, OZARR_FLOAT64, u, size)
                                              : ozarr_mpi_array_write_all(m, a, start, count, OZARR_FLOAT64, u, size);
            CHECK(status == OZARR_OK);
            *(i ? &again[reads] : &first[reads]) = look(reads ? whole ? "read whole chunks" : "read, chunks are cut"
                                                              : whole ? "write whole chunks" : "write, chunks are cut");
        }
    shared_bytes(&least, &most);
    for (int i = 0; i < 2; i++) {
        CHECK(again[i].gathers == 0 && again[i].broadcasts == 0 && again[i].others == 0 && again[i].allreduces <= 3);
        CHECK(first[i].messages == again[i].messages && first[i].bytes == again[i].bytes);
        if (whole) CHECK(again[i].messages == 0);
        else CHECK(again[i].bytes >= least && again[i].bytes <= most);
    }
    OK(ozarr_mpi_array_close(m, a));
    look("close");
    free(u);
}

int main(int argc, char **argv) {
    begin_ranks(&argc, &argv);
    prints = argc > 2;
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    look("ozarr_mpi_new");
    moves(true);
    moves(false);
    ranges_are_read("128", false);
    ranges_are_read("1000000", true);
    OK(ozarr_mpi_close(m));
    return end_ranks();
}
