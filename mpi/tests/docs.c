/* The C examples of docs/parallel.md, each in a function of its own, with the variables that they take for granted. */
#include <mpi.h>
#include <ozarr_mpi.h>
#include <stdio.h>

enum { NX = 6, NY = 8 };
static int rank, ranks;

static int told(void) {
    fprintf(stderr, "rank %d: %s\n", rank, ozarr_last_error());
    return 1;
}

static int array(void) {
    static double u[NY][NX];
    int64_t shape[] = {NY * ranks, NX}, start[] = {NY * rank, 0}, count[] = {NY, NX};
#include "docs_c_1.inc"
    return 0;
fail:
    return told();
}

static ozarr_status define(void *user) {
    const char *const dims[] = {"time", "y", "x"};
    ozarr_dataset *ds = NULL;
    ozarr_status status = ozarr_dataset_create("run.zarr", 0, OZARR_CREATE_OVERWRITE, &ds);
    if (!status) status = ozarr_dataset_define_dimension(ds, "x", NX);
    if (!status) status = ozarr_dataset_define_dimension(ds, "y", NY * ranks);
    if (!status) status = ozarr_dataset_define_time(ds, "time", 0, 0, "seconds since 2026-01-01", NULL, NULL);
    if (!status) status = ozarr_dataset_define_variable(ds, "u", OZARR_FLOAT32, 3, dims, NULL);
    if (!status) return ozarr_dataset_close(ds);
    ozarr_dataset_free(ds);
    (void)user;
    return status;
}

static int series(ozarr_mpi *m) {
    static float u[NY][NX];
    const int64_t start[] = {NY * rank, 0}, count[] = {NY, NX};
    const int steps = 3;
#include "docs_c_2.inc"
    return 0;
fail:
    return told();
}

int main(int argc, char **argv) {
    ozarr_mpi *m = NULL;
    int64_t length = 0;
    ozarr_dataset *ds = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int failed = array() || ozarr_mpi_new(MPI_COMM_WORLD, &m) || series(m) || ozarr_mpi_close(m);
    failed = failed || ozarr_dataset_open("run.zarr", "r", &ds) || ozarr_dataset_dimension_length(ds, "time", &length, NULL) || length != 3;
    ozarr_dataset_free(ds);
    MPI_Finalize();
    return failed;
}
