/* The C++ example of docs/parallel.md, with the variables that it takes for granted. */
#include <ozarr_mpi.hpp>

#include <vector>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const std::int64_t rows = 8, ny = 6, nx = rows * size, first = rows * rank;
    const std::vector<double> u(static_cast<std::size_t>(rows * ny), 7.0);
    {
#include "docs_cpp_1.inc"
    }
    const auto all = ozarr::array::open("run.zarr/t", "r").read<double>();
    MPI_Finalize();
    for (const double x : all)
        if (x != 7.0) return 1;
    return 0;
}
