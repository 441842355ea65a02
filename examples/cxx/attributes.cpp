// Attributes of each kind, set and read with seven calls.
#include <ozarr.hpp>

#include <cstdio>

int main() {
    auto t = ozarr::array::create<float>("attributes.zarr/t", {4}, {}, ozarr::existing::overwrite);
    t.set_attr("units", "K");
    t.set_attr("scale", 0.25);
    t.set_attr("valid_range", std::vector<float>{0, 500});
    t.set_attr("restart", true);
    t.set_attr("flag_meanings", std::vector<std::string>{"land", "sea"});
    const auto units = t.attr<std::string>("units");
    const auto range = t.attr<std::vector<double>>("valid_range");
    t.close();
    std::printf("%s %.1f %.1f\n", units.c_str(), range[0], range[1]);
}
