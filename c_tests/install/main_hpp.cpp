// The first program with ozarr.hpp.
#include <ozarr.hpp>

int main() {
    auto t = ozarr::array::create<double>("run.zarr/temperature", {100, 64, 64});
    t.write(std::vector<double>(64 * 64, 1.5), {{10, 0, 0}, {1, 64, 64}});
    t.close();
    return ozarr::array::open("run.zarr/temperature").read<double>({{10, 0, 0}, {1, 64, 64}}).back() == 1.5 ? 0 : 1;
}
