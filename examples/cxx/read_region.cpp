// Opens an array and reads one step of it: three calls.
#include <ozarr.hpp>

#include <cstdio>

static void make_steps() {
    auto steps = ozarr::array::create<double>("read.zarr/t", {0, 4, 6}, {1, 4, 6}, ozarr::existing::overwrite);
    for (int k = 1; k <= 5; k++) steps.append(std::vector<double>(4 * 6, k));
    steps.close();
}

int main() {
    make_steps();
    auto t = ozarr::array::open("read.zarr/t");
    const std::vector<double> plane = t.read<double>({{2, 0, 0}, {1, 4, 6}});
    t.close();
    std::printf("%zu elements, all %.1f\n", plane.size(), plane[23]);
}
