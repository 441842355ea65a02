// One of four ranks reads its quarter of a periodic field with a halo (ghost cells): those of its neighbours, and those from the other ends of
// the field, converted from float to double. Three calls: open, read, close.
#include <ozarr.hpp>

#include <cstdio>

static constexpr int all = 64, side = 32, wide = side + 2; // the field is all x all, a rank's part side x side

static void make_field() {
    auto field = ozarr::array::create<float>("halo.zarr/u", {all, all}, {side, side}, ozarr::existing::overwrite);
    std::vector<float> u(all * all);
    for (std::size_t i = 0; i < u.size(); i++) u[i] = static_cast<float>(100 * (i / all) + i % all);
    field.write(u);
    field.close();
}

int main() {
    make_field();
    const int rank[2] = {0, 1};         // the part at the top, on the right
    std::vector<double> u(wide * wide); // u[j][i] is the field's [rank[0] * side + j - 1][rank[1] * side + i - 1]
    const ozarr::region part{{rank[0] * side - 1, rank[1] * side - 1}, {wide, wide}};

    auto field = ozarr::array::open("halo.zarr/u");
    field.read(u, part.periodic({true, true}));
    field.close();
    std::printf("%.0f %.0f %.0f, across the corner %.0f\n", u[1 * wide + 1], u[1 * wide], u[(side + 1) * wide + 1], u[side + 1]);
}
