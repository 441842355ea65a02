// Writes checkpoints (six calls) and restarts from the newest one. A run that is killed goes on from there.
#include <ozarr.hpp>

#include <cstdio>

static constexpr int side = 64, every = 5;

struct state {
    std::vector<double> u = std::vector<double>(side * side), v = u;
    int step = 0;
};

static void save(const state &s) {
    auto g = ozarr::checkpoint::begin("checkpoints.zarr", "step-" + std::to_string(s.step));
    g.put("u", {side, side}, s.u);
    g.put("v", {side, side}, s.v);
    g.set_attr("step", s.step);
    g.commit();
    ozarr::checkpoint::prune("checkpoints.zarr", 2);
}

// The newest checkpoint; without any, the beginning.
static state restart() {
    state s;
    ozarr::group g;
    try {
        g = ozarr::checkpoint::latest("checkpoints.zarr");
    } catch (const ozarr::error &e) {
        if (e.status() != OZARR_ERR_NOT_FOUND) throw;
        return s;
    }
    g.get("u", s.u.data(), s.u.size());
    g.get("v", s.v.data(), s.v.size());
    s.step = g.attr<int>("step");
    return s;
}

int main() {
    state s = restart();
    for (const int last = s.step + 12; s.step < last;) { // 12 steps a run
        s.step++;
        for (double &x : s.u) x += 1;
        for (double &x : s.v) x -= 1;
        if (s.step % every == 0) save(s);
    }
    s = restart();
    std::printf("restart at step %d: %.1f %.1f\n", s.step, s.u.front(), s.v.back());
}
