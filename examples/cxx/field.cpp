// Writes a field, opens it again, reads every second row backwards, sees an attribute, and shows an error.
#include <ozarr.hpp>

#include <cstdio>

static void write() {
    auto t = ozarr::array::create<double>("run.zarr/temperature", {3, 4, 6}, {1, 4, 6}, ozarr::existing::overwrite);
    std::vector<double> plane(4 * 6);
    for (int step = 0; step < 3; step++) {
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 6; i++) plane[j * 6 + i] = 100 * step + 10 * j + i;
        t.write(plane, {{step, 0, 0}, {1, 4, 6}});
    }
    t.set_attr("units", "K");
    t.set_attr("dt", 0.25);
    t.close();
}

static void read() {
    auto t = ozarr::array::open("run.zarr/temperature");
    std::printf("%s, dt = %g\n", t.attr<std::string>("units").c_str(), t.attr<double>("dt"));

    // Start, shape, step: of step 2 the rows 3 and 1, and there columns 0, 2 and 4.
    for (double x : t.read<double>({{2, 3, 0}, {1, 2, 3}, {1, -2, 2}})) std::printf(" %g", x);

    // Into the middle of memory with a halo around it, converted to float.
    float halo[6][8] = {};
    t.read(ozarr::strided(&halo[0][0], 6 * 8, {0, 8, 1}, 8 + 1), {{1, 0, 0}, {1, 4, 6}});
    std::printf("\nhalo[1][1] = %g, halo[4][6] = %g, halo[5][7] = %g\n", halo[1][1], halo[4][6], halo[5][7]);
}

int main() {
    try {
        write();
        read();
        ozarr::array::open("run.zarr/temperature").read<double>({{3, 0, 0}, {1, 4, 6}});
    } catch (const ozarr::error &e) {
        std::printf("%s: %s\n", e.name(), e.what());
        return e.status() == OZARR_ERR_BOUNDS ? 0 : 1;
    }
    return 1;
}
