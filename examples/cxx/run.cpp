// A whole run: a series of its steps, a checkpoint every 10 steps, and a restart from the newest one.
//
//   run [FOLDER]      runs to the end; killed and started again, it goes on from the newest checkpoint and ends with the same data
#include <ozarr.hpp>

#include <cstdio>

static constexpr std::int64_t steps = 80, every = 10, keep = 2, ny = 24, nx = 32;
using field = std::vector<double>; // a plate with a hot edge

static void advance(field &t) {
    const field old = t;
    for (std::size_t j = 1; j < ny - 1; j++)
        for (std::size_t k = j * nx + 1; k < (j + 1) * nx - 1; k++) t[k] = 0.25 * ((old[k - 1] + old[k + 1]) + (old[k - nx] + old[k + nx]));
}

// Stores the state after that many steps.
static void save(const std::string &restart, const field &t, std::int64_t step) {
    auto c = ozarr::checkpoint::begin(restart, "step-" + std::to_string(step));
    c.put("t", {ny, nx}, t);
    c.set_attr("step", step);
    c.commit();
    ozarr::checkpoint::prune(restart, keep);
}

// Gets the state of the newest checkpoint, and gives how many steps it is after; without one the state of the beginning.
static std::int64_t restore(const std::string &restart, field &t) {
    for (std::size_t j = 0; j < ny; j++) t[j * nx] = 100;
    ozarr::group newest;
    try {
        newest = ozarr::checkpoint::latest(restart);
    } catch (const ozarr::error &e) {
        if (e.status() != OZARR_ERR_NOT_FOUND) throw;
        return 0;
    }
    newest.get("t", t.data(), t.size());
    return newest.attr<std::int64_t>("step");
}

// Defines what the run writes: the field, and its value beside a corner in every second step. What is there already is opened: a new start goes on with
// it, completes what a kill has left half defined, and replaces no run that goes on.
static ozarr::dataset define(const std::string &run) {
    auto ds = ozarr::dataset::create(run, ozarr::existing::open_if_same);
    ds.define_dimension("y", ny);
    ds.define_dimension("x", nx);
    ds.define_time("time", 0, "seconds since 2026-01-01");
    ds.define_variable<float>("t", {"time", "y", "x"});
    ds.define_variable<double>("corner", {"time"});
    return ds;
}

static void go_on(const std::string &folder) {
    const std::string run = folder + "/run.zarr", restart = folder + "/restart.zarr";
    field t(ny * nx);
    auto ds = define(run);
    // No other run commits checkpoints while the series is open: it is opened before the newest one is read, then again, to cut off what is beyond.
    auto series = ozarr::series::open(ds, "time");
    std::int64_t step = restore(restart, t);
    series.close();
    series = ozarr::series::open(ds, "time", step, 4);
    // Removes what a kill has left, now that the open series tells that no other run writes a checkpoint.
    ozarr::checkpoint::prune(restart, keep);
    while (step < steps) {
        advance(t);
        series.put("t", t);
        if (step % 2 == 0) series.put("corner", &t[nx + 1], 1);
        series.step(60.0 * static_cast<double>(step));
        step++;
        if (step % every == 0) {
            series.flush();
            save(restart, t, step);
        }
    }
    series.close();
    ds.close();
}

int main(int argc, char **argv) {
    try {
        go_on(argc > 1 ? argv[1] : ".");
    } catch (const ozarr::error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    std::printf("%d steps\n", static_cast<int>(steps));
}
