/* A run of several ranks, or a part of one, as tests/cloud/mpi_runs.py starts it.
 *
 *   mpi_runs LOCATION JOB STEPS     goes on with the run for so many steps, which it makes for JOB 0; all values are 100 JOB + the step
 *
 * Prints the status that ended it. */
#include <mpi.h>
#include <ozarr_mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { X = 8, DEPTH = 4 };

static ozarr_status define(void *location) {
    const char *const dims[] = {"time", "x"};
    const char *const names[] = {"t", "p", "s"};
    const int64_t chunks[][2] = {{1, 2}, {DEPTH, 2}, {DEPTH, X}}, inner[] = {2, 2};
    ozarr_dataset *ds = NULL;
    ozarr_spec *spec = NULL;
    ozarr_variable v = OZARR_VARIABLE_INIT;
    ozarr_status status = ozarr_dataset_create(location, 0, OZARR_CREATE_NEW, &ds);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "time", 0);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "x", X);
    v.type = OZARR_INT32, v.rank = 1, v.dimensions = dims;
    if (status == OZARR_OK) status = ozarr_dataset_define_variable_ex(ds, "time", &v, OZARR_CREATE_NEW, NULL);
    for (int i = 0; i < 3 && status == OZARR_OK; i++) {
        v.rank = 2, v.chunks = chunks[i];
        if (i == 2) {
            status = ozarr_spec_new(OZARR_INT32, 2, NULL, &spec);
            if (status == OZARR_OK) status = ozarr_spec_set_inner_chunks(spec, inner);
            v.spec = spec;
        }
        if (status == OZARR_OK) status = ozarr_dataset_define_variable_ex(ds, names[i], &v, OZARR_CREATE_NEW, NULL);
    }
    ozarr_spec_free(spec);
    const ozarr_status closed = ds != NULL ? ozarr_dataset_close(ds) : OZARR_OK;
    return status == OZARR_OK ? closed : status;
}

static ozarr_status run(ozarr_mpi *m, const char *location, int job, int64_t steps, int rank, int ranks) {
    const int64_t start = X / ranks * rank, count = X / ranks;
    ozarr_mpi_series *s = NULL;
    int64_t position = 0;
    ozarr_status status = ozarr_mpi_series_open(m, location, "time", -1, 1, 0, &s);
    if (status != OZARR_OK) return status;
    status = ozarr_mpi_series_position(s, &position, NULL);
    for (const int64_t end = position + steps; position < end && status == OZARR_OK; position++) {
        int32_t values[X];
        for (int i = 0; i < X; i++) values[i] = (int32_t)(100 * job + position);
        const char *const names[] = {"t", "p", "s"};
        for (int i = 0; i < 3 && status == OZARR_OK; i++)
            status = ozarr_mpi_series_put(m, s, names[i], &start, &count, OZARR_INT32, values, (size_t)count * sizeof *values);
        if (status == OZARR_OK) status = ozarr_mpi_series_step(m, s, (double)position);
    }
    const ozarr_status closed = ozarr_mpi_series_close(m, s);
    return status == OZARR_OK ? closed : status;
}

int main(int argc, char **argv) {
    ozarr_mpi *m = NULL;
    int rank, ranks;
    if (argc != 4) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int job = atoi(argv[2]);
    ozarr_status status = ozarr_mpi_new(MPI_COMM_WORLD, &m);
    if (status == OZARR_OK && job == 0) status = ozarr_mpi_once(m, define, argv[1]);
    if (status == OZARR_OK) status = run(m, argv[1], job, atoll(argv[3]), rank, ranks);
    if (rank == 0) puts(ozarr_status_name(status));
    if (rank == 0 && status != OZARR_OK) fprintf(stderr, "%s\n", ozarr_last_error());
    const ozarr_status closed = ozarr_mpi_close(m);
    MPI_Finalize();
    return closed != OZARR_OK;
}
