/* Particles in a box with periodic ends, each on the rank that has its part of the box: they move from rank to rank, and every rank has another
 * number of them. Saves the state each 10 steps, and goes on from the newest state that is there, with any number of ranks. The result, in the
 * order of the particles' numbers, does not depend on how many ranks there were, nor on where a run was killed.
 *
 *     mpirun -n 4 particles_c 40 && mpirun -n 3 particles_c 80 */
#include <math.h>
#include <ozarr_mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5000 };

typedef struct particle {
    double x, v;
    int64_t id;
} particle;

static ozarr_mpi *m;
static int rank, ranks;
static const int64_t shape[] = {N};
static particle p[N], sent[N];
static int64_t count, first; /* of this rank's particles; and how many are on the ranks before it */

static void stop_on(ozarr_status status) {
    if (status == OZARR_OK) return;
    /* On each rank: the first one to abort ends those that have not said it yet. */
    fprintf(stderr, "rank %d: %s\n", rank, ozarr_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int owner_by_place(const particle *q) { return q->x * ranks < ranks ? (int)(q->x * ranks) : ranks - 1; }
static int owner_by_id(const particle *q) { return (int)(((q->id + 1) * ranks - 1) / N); } /* ids from N * rank / ranks on */

/* Sends every particle to its owner. */
static void exchange(int (*owner)(const particle *)) {
    int *numbers = calloc(4 * (size_t)ranks, sizeof *numbers), *out = numbers, *in = out + ranks, *out_at = in + ranks, *in_at = out_at + ranks;
    if (numbers == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int64_t i = 0; i < count; i++) out[owner(&p[i])] += (int)sizeof *p;
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 1; r < ranks; r++) out_at[r] = out_at[r - 1] + out[r - 1], in_at[r] = in_at[r - 1] + in[r - 1];
    for (int64_t i = 0; i < count; i++) {
        int *at = &out_at[owner(&p[i])];
        memcpy((char *)sent + *at, &p[i], sizeof *p);
        *at += (int)sizeof *p;
    }
    for (int r = 0; r < ranks; r++) out_at[r] -= out[r];
    MPI_Alltoallv(sent, out, out_at, MPI_BYTE, p, in, in_at, MPI_BYTE, MPI_COMM_WORLD);
    count = (in_at[ranks - 1] + in[ranks - 1]) / (int)sizeof *p;
    free(numbers);
    first = 0;
    MPI_Exscan(&count, &first, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) first = 0;
}

static int64_t share_of(int r) { return (int64_t)N * r / ranks; }

/* Writes one array of a state, or reads it: a column of my particles. */
static void column(ozarr_group *g, const char *name, ozarr_type type, size_t at, int put) {
    static char values[N * 8];
    if (put) {
        for (int64_t i = 0; i < count; i++) memcpy(values + 8 * i, (char *)&p[i] + at, 8);
        stop_on(ozarr_mpi_group_put(m, g, name, type, 1, shape, &first, &count, values, sizeof values));
    } else {
        stop_on(ozarr_mpi_group_get(m, g, name, type, &first, &count, values, sizeof values));
        for (int64_t i = 0; i < count; i++) memcpy((char *)&p[i] + at, values + 8 * i, 8);
    }
}

static void columns(ozarr_group *g, int put) {
    column(g, "x", OZARR_FLOAT64, offsetof(particle, x), put);
    column(g, "v", OZARR_FLOAT64, offsetof(particle, v), put);
    column(g, "id", OZARR_INT64, offsetof(particle, id), put);
}

/* The number of steps of the newest state. Each rank reads a share of it, whoever wrote it. */
static int restart(void) {
    int64_t step = 0;
    ozarr_group *g = NULL;
    first = share_of(rank), count = share_of(rank + 1) - first;
    const ozarr_status status = ozarr_mpi_checkpoint_latest(m, "particles-states.zarr", &g);
    if (status == OZARR_ERR_NOT_FOUND) {
        for (int64_t i = 0; i < count; i++) p[i] = (particle){((double)(first + i) + 0.5) / N, 0.1, first + i};
    } else {
        stop_on(status);
        stop_on(ozarr_attr_get_int64(ozarr_group_node(g), "step", &step));
        columns(g, 0);
        stop_on(ozarr_mpi_group_close(m, g));
    }
    exchange(owner_by_place);
    return (int)step;
}

static void save_state(int step) {
    char name[32], json[32];
    ozarr_group *g = NULL;
    snprintf(name, sizeof name, "step-%06d", step);
    snprintf(json, sizeof json, "%d", step);
    stop_on(ozarr_mpi_checkpoint_begin(m, "particles-states.zarr", name, &g));
    columns(g, 1);
    stop_on(ozarr_mpi_group_set_attr(m, g, "step", json));
    stop_on(ozarr_mpi_checkpoint_commit(m, g));
}

static void advance(void) {
    for (int64_t i = 0; i < count; i++) {
        p[i].v += 0.01 * sin(6.283185307179586 * p[i].x);
        p[i].x += 0.01 * p[i].v;
        p[i].x -= floor(p[i].x);
        if (p[i].x >= 1) p[i].x = 0;
    }
    exchange(owner_by_place);
}

static int by_id(const void *a, const void *b) {
    const particle *q = a, *r = b;
    return (q->id > r->id) - (q->id < r->id);
}

int main(int argc, char **argv) {
    ozarr_group *g = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int steps = argc > 1 ? atoi(argv[1]) : 40;
    stop_on(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    for (int step = restart() + 1; step <= steps; step++) {
        advance();
        if (step % 10 == 0) save_state(step);
    }
    exchange(owner_by_id);
    qsort(p, (size_t)count, sizeof *p, by_id);
    stop_on(ozarr_mpi_group_create(m, "particles.zarr", OZARR_CREATE_OVERWRITE, &g));
    columns(g, 1);
    stop_on(ozarr_mpi_group_close(m, g));
    stop_on(ozarr_mpi_close(m));
    MPI_Finalize();
    return 0;
}
