/* Heat in a square, in slabs of rows, one for each rank, with ghost rows: each second step is one of the run heat.zarr, the state is saved
 * each 10 steps, and a new start goes on from the newest state that is there, with any number of ranks. The run does not depend on how many
 * ranks there were, nor on where it was killed.
 *
 *     mpirun -n 4 heat_c 40 && mpirun -n 3 heat_c 80 */
#include <ozarr_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 96 };

static ozarr_mpi *m;
static ozarr_mpi_series *run;
static int rank, ranks;
static int64_t start[2], count[2];
static double (*u)[N], (*v)[N]; /* rows 1 to count[0] are mine, those around them my neighbours' */

static void stop_on(ozarr_status status) {
    if (status == OZARR_OK) return;
    /* On each rank: the first one to abort ends those that have not said it yet. */
    fprintf(stderr, "rank %d: %s\n", rank, ozarr_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static size_t bytes(void) { return (size_t)count[0] * sizeof *u; }

/* Rank 0 defines what the run writes: four steps are in a chunk. What is there already is opened, so that a second start replaces no run that goes on. */
static ozarr_status define_run(void *unused) {
    const char *const dims[] = {"time", "y", "x"};
    const int64_t chunks[] = {4, 32, 32};
    ozarr_dataset *ds = NULL;
    ozarr_variable t = OZARR_VARIABLE_INIT;
    (void)unused;
    t.type = OZARR_FLOAT64, t.rank = 3, t.dimensions = dims, t.chunks = chunks, t.units = "K";
    ozarr_status status = ozarr_dataset_create("heat.zarr", 0, OZARR_CREATE_OPEN_IF_SAME, &ds);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "y", N);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "x", N);
    if (status == OZARR_OK) status = ozarr_dataset_define_time(ds, "time", 0, 0, "seconds since 2026-01-01", NULL, NULL);
    if (status == OZARR_OK) status = ozarr_dataset_define_variable_ex(ds, "t", &t, OZARR_CREATE_NEW, NULL);
    if (status == OZARR_OK) return ozarr_dataset_close(ds);
    ozarr_dataset_free(ds); /* closing could fail, too, and its message would be what all ranks are told */
    return status;
}

/* The number of steps of the newest state. */
static int restart(void) {
    int64_t step = 0;
    ozarr_group *g = NULL;
    const ozarr_status status = ozarr_mpi_checkpoint_latest(m, "heat-states.zarr", &g);
    if (status == OZARR_ERR_NOT_FOUND) {
        for (int64_t i = 0; i < count[0] + 2; i++) u[i][0] = 100; /* one hot side */
        return 0;
    }
    stop_on(status);
    stop_on(ozarr_attr_get_int64(ozarr_group_node(g), "step", &step));
    stop_on(ozarr_mpi_group_get(m, g, "u", OZARR_FLOAT64, start, count, u[1], bytes()));
    stop_on(ozarr_mpi_group_close(m, g));
    return (int)step;
}

static void save_state(int step) {
    const int64_t shape[] = {N, N};
    char name[32], json[32];
    ozarr_group *g = NULL;
    snprintf(name, sizeof name, "step-%06d", step);
    snprintf(json, sizeof json, "%d", step);
    stop_on(ozarr_mpi_checkpoint_begin(m, "heat-states.zarr", name, &g));
    stop_on(ozarr_mpi_group_put(m, g, "u", OZARR_FLOAT64, 2, shape, start, count, u[1], bytes()));
    stop_on(ozarr_mpi_group_set_attr(m, g, "step", json));
    stop_on(ozarr_mpi_checkpoint_commit(m, g));
}

static void exchange_ghosts(void) {
    const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(u[count[0]], N, MPI_DOUBLE, down, 1, u[0], N, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(u[1], N, MPI_DOUBLE, up, 2, u[count[0] + 1], N, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void advance(void) {
    exchange_ghosts();
    memcpy(v[1], u[1], bytes()); /* the sides stay as they are */
    for (int64_t i = 1; i <= count[0]; i++)
        for (int j = 1; j < N - 1 && start[0] + i > 1 && start[0] + i < N; j++)
            v[i][j] = u[i][j] + 0.2 * (u[i][j - 1] + u[i][j + 1] + u[i - 1][j] + u[i + 1][j] - 4 * u[i][j]);
    memcpy(u[1], v[1], bytes());
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int steps = argc > 1 ? atoi(argv[1]) : 40;
    start[0] = N * rank / ranks, start[1] = 0;
    count[0] = N * (rank + 1) / ranks - start[0], count[1] = N;
    u = calloc((size_t)count[0] + 2, sizeof *u);
    v = calloc((size_t)count[0] + 2, sizeof *v);
    if (u == NULL || v == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    stop_on(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    stop_on(ozarr_mpi_once(m, define_run, NULL));
    /* No other run commits checkpoints while the series is open: it is opened before the newest one is read, then again, to cut off what is beyond. */
    stop_on(ozarr_mpi_series_open(m, "heat.zarr", "time", -1, 0, 0, &run));
    int step = restart();
    stop_on(ozarr_mpi_series_close(m, run));
    stop_on(ozarr_mpi_series_open(m, "heat.zarr", "time", step / 2, 0, 0, &run));
    while (step++ < steps) {
        advance();
        if (step % 2 == 0) {
            stop_on(ozarr_mpi_series_put(m, run, "t", start, count, OZARR_FLOAT64, u[1], bytes()));
            stop_on(ozarr_mpi_series_step(m, run, step));
        }
        if (step % 10 == 0) {
            stop_on(ozarr_mpi_series_flush(m, run)); /* the run has at least the steps of the state */
            save_state(step);
        }
    }
    stop_on(ozarr_mpi_series_close(m, run));
    stop_on(ozarr_mpi_close(m));
    free(u), free(v);
    MPI_Finalize();
    return 0;
}
