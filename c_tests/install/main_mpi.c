/* A stranger's MPI program, which calls nothing of ozarr.h: its own list of libraries may have no libozarr.so then. */
#include <ozarr_mpi.h>

int main(int argc, char **argv) {
    const double u[4] = {1, 2, 3, 4};
    int64_t shape[] = {4}, start[] = {0};
    ozarr_mpi *m = NULL;
    ozarr_array *t = NULL;
    MPI_Init(&argc, &argv);
    const int failed = ozarr_mpi_new(MPI_COMM_WORLD, &m) || ozarr_mpi_array_create(m, "run.zarr/mpi", OZARR_FLOAT64, 1, shape, NULL, OZARR_CREATE_OVERWRITE, &t) ||
                       ozarr_mpi_array_write_all(m, t, start, shape, OZARR_FLOAT64, u, sizeof u) || ozarr_mpi_array_close(m, t) || ozarr_mpi_close(m);
    MPI_Finalize();
    return failed;
}
