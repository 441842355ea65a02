/* Collective writes and reads beside independent ones, on the same data: the least of some runs, in turn, of the slowest rank.
 *
 *   mpicc -O2 benches/mpi.c $(pkg-config --cflags --libs ozarr-mpi) && mpirun -n 4 ./a.out FOLDER [RUNS] */
#include <ozarr_mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 256, CHUNK = 64, WAYS = 5 };

static const char *const names[WAYS] = {
    "write, independent, blocks of whole chunks", "write_all, blocks of whole chunks", "write_all, blocks that cut chunks",
    "read_all, blocks of whole chunks", "read_all, blocks that cut chunks",
};

static void stop_on(ozarr_status status) {
    if (status == OZARR_OK) return;
    fprintf(stderr, "%s\n", ozarr_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The slab of a rank; `shift` elements beside the borders of chunks. */
static int64_t border(int rank, int ranks, int64_t shift) {
    if (rank == 0 || rank == ranks) return rank == 0 ? 0 : SIDE;
    return SIDE / CHUNK * rank / ranks * CHUNK + shift;
}

static double run(ozarr_mpi *m, int way, const char *folder, int rank, int ranks, double *u, size_t size) {
    const int64_t shape[] = {SIDE, SIDE, SIDE}, chunks[] = {CHUNK, CHUNK, CHUNK}, shift = way == 2 || way == 4 ? CHUNK / 2 : 0;
    const int64_t start[] = {border(rank, ranks, shift), 0, 0}, count[] = {border(rank + 1, ranks, shift) - start[0], SIDE, SIDE};
    char location[512];
    ozarr_array *a = NULL;
    snprintf(location, sizeof location, "%s/bench.zarr", folder);
    if (way < 3) stop_on(ozarr_mpi_array_create(m, location, OZARR_FLOAT64, 3, shape, chunks, OZARR_CREATE_OVERWRITE, &a));
    else stop_on(ozarr_mpi_array_open(m, location, "r", &a));
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    if (way == 0) stop_on(ozarr_array_write_region(a, start, count, OZARR_FLOAT64, u, size));
    else if (way < 3) stop_on(ozarr_mpi_array_write_all(m, a, start, count, OZARR_FLOAT64, u, size));
    else stop_on(ozarr_mpi_array_read_all(m, a, start, count, OZARR_FLOAT64, u, size));
    double took = MPI_Wtime() - began, most = 0;
    MPI_Allreduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    stop_on(ozarr_mpi_array_close(m, a));
    return most;
}

int main(int argc, char **argv) {
    int rank, ranks;
    double best[WAYS];
    ozarr_mpi *m = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const size_t size = (size_t)SIDE * SIDE * SIDE * sizeof(double);
    double *u = malloc(size);
    if (u == NULL || argc < 2 || SIDE / CHUNK % ranks != 0) {
        fprintf(stderr, "a folder, memory, and a number of ranks that divides %d are needed\n", SIDE / CHUNK);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    for (size_t i = 0; i < size / sizeof *u; i++) u[i] = (double)(i % 1000) * 0.25 + (double)(i / 65536);
    stop_on(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    stop_on(ozarr_context_set(NULL, "file.sync", "none"));
    for (int i = 0; i < (argc > 2 ? atoi(argv[2]) : 5); i++)
        for (int way = 0; way < WAYS; way++) {
            const double time = run(m, way, argv[1], rank, ranks, u, size);
            if (i == 0 || time < best[way]) best[way] = time;
        }
    for (int way = 0; way < WAYS && rank == 0; way++)
        printf("%-45s %7.3f s  %6.0f MB/s\n", names[way], best[way], (double)size / 1e6 / best[way]);
    stop_on(ozarr_mpi_close(m));
    free(u);
    MPI_Finalize();
    return 0;
}
