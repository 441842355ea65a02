/* What a run does to metadata, for counts.sh: creates, writes, changes, appends, closes; opens, reads, closes.
 *
 *   counts FOLDER */
#include "check.h"

static ozarr_mpi *m;

/* The part of a row of 16 that this rank has: it cuts chunks of 4. */
static void part(int64_t *start, int64_t *count) {
    start[1] = 16 * rank / ranks, count[1] = 16 * (rank + 1) / ranks - start[1];
}

int main(int argc, char **argv) {
    int64_t shape[] = {4, 16}, start[] = {0, 0}, count[] = {4, 16};
    const int64_t chunks[] = {4, 6};
    double u[128];
    ozarr_array *a = NULL;
    begin_ranks(&argc, &argv);
    for (int i = 0; i < 128; i++) u[i] = rank + 1;
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    OK(ozarr_mpi_array_create(m, "counts.zarr", OZARR_FLOAT64, 2, shape, chunks, OZARR_CREATE_NEW, &a));
    part(start, count);
    for (int i = 0; i < 3; i++) OK(ozarr_mpi_array_write_all(m, a, start, count, OZARR_FLOAT64, u, sizeof u));
    OK(ozarr_mpi_array_set_attr(m, a, "units", "\"m\""));
    shape[0] = 8, start[0] = 4;
    OK(ozarr_mpi_array_resize(m, a, shape, 0));
    OK(ozarr_mpi_array_write_all(m, a, start, count, OZARR_FLOAT64, u, sizeof u));
    for (start[0] = 8; start[0] < 20; start[0] += 4) OK(ozarr_mpi_array_append(m, a, 0, 4, start, count, OZARR_FLOAT64, u, sizeof u));
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_array_open(m, "counts.zarr", "r", &a));
    OK(ozarr_array_shape(a, shape));
    CHECK(shape[0] == 20);
    start[0] = 16;
    OK(ozarr_mpi_array_read_all(m, a, start, count, OZARR_FLOAT64, u, sizeof u));
    CHECK(u[0] == rank + 1);
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_close(m));
    return end_ranks();
}
