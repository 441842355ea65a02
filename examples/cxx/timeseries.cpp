// A run that writes two variables step by step, stops, and goes on where it stopped: readers see a step when both variables have it.
#include <ozarr.hpp>

#include <cstdio>

static constexpr std::size_t nx = 8;

// Runs up to a step: of a new dataset, or of one that is there.
static void run(ozarr::dataset ds, int until) {
    auto steps = ozarr::series::open(ds, "time");
    std::vector<float> t(nx), p(nx);
    for (std::int64_t step = steps.position(); step < until; step++) {
        t.assign(nx, static_cast<float>(step));
        p.assign(nx, static_cast<float>(-step));
        steps.step(60.0 * static_cast<double>(step), "t", t, "p", p);
    }
    steps.close();
    ds.close();
}

int main() {
    auto ds = ozarr::dataset::create("series.zarr", ozarr::existing::overwrite);
    ds.define_dimension("x", nx);
    ds.define_time("time", 0, "seconds since 2026-01-01");
    ds.define_variable<float>("t", {"time", "x"});
    ds.define_variable<float>("p", {"time", "x"});
    run(std::move(ds), 70);

    run(ozarr::dataset::open("series.zarr", "r+"), 100);

    auto all = ozarr::dataset::open("series.zarr");
    std::printf("%d steps, the last at %g s: t = %g, p = %g\n", static_cast<int>(all.dimension_length("time")),
                all.variable("time").read<double>({{99}, {1}})[0], all.variable("t").read<double>({{99, 0}, {1, 1}})[0],
                all.variable("p").read<double>({{99, 7}, {1, 1}})[0]);
}
