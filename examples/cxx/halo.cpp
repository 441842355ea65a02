// Reads a rank's part of a field with the cells around it (ghost cells, halo), into the middle of memory that has room for all of them.
// What is beyond the end of the field is left alone. Three calls: open, read, close.
#include <ozarr.hpp>

#include <algorithm>
#include <cstdio>

static constexpr int all = 64, side = 32, wide = side + 2; // the field is all x all, a rank's part side x side

static void make_field() {
    auto field = ozarr::array::create<float>("halo.zarr/u", {all, all}, {}, ozarr::existing::overwrite);
    std::vector<float> u(all * all);
    for (std::size_t i = 0; i < u.size(); i++) u[i] = static_cast<float>(100 * (i / all) + i % all);
    field.write(u);
    field.close();
}

int main() {
    make_field();
    const int rank[2] = {0, 1}; // the part at the top, on the right
    int from[2], count[2];      // of the field: the part with its halo, as far as the field goes
    for (int d = 0; d < 2; d++) {
        from[d] = std::max(rank[d] * side - 1, 0);
        count[d] = std::min((rank[d] + 1) * side + 1, all) - from[d];
    }
    std::vector<double> u(wide * wide, -1); // u[j][i] is the field's [rank[0] * side + j - 1][rank[1] * side + i - 1]
    const int first = (from[0] - (rank[0] * side - 1)) * wide + from[1] - (rank[1] * side - 1);

    auto field = ozarr::array::open("halo.zarr/u");
    field.read(ozarr::strided(u.data(), u.size(), {wide, 1}, static_cast<std::size_t>(first)), {{from[0], from[1]}, {count[0], count[1]}});
    field.close();
    std::printf("%.0f %.0f %.0f %.0f\n", u[1 * wide + 1], u[1 * wide], u[(side + 1) * wide + 1], u[1 * wide + side + 1]);
}
