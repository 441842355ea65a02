// Chooses how a field is compressed: 12 bits of the mantissa (lossy), bits shuffled, zstd inside of Blosc. Three calls: create, write, close.
#include <ozarr.hpp>

#include <cmath>
#include <cstdio>

int main() {
    std::vector<float> u(100 * 64 * 64);
    for (std::size_t i = 0; i < u.size(); i++) u[i] = 1 + std::sin(0.001F * static_cast<float>(i));

    auto s = ozarr::spec::of<float>({100, 64, 64});
    s.chunks({100, 64, 64}).keep_bits(12).shuffle(OZARR_SHUFFLE_BIT).compressor("blosc:zstd", 5);
    auto rain = ozarr::array::create("rain.zarr", s, ozarr::existing::overwrite);
    rain.write(u);
    rain.close();

    const auto stored = ozarr::array::open("rain.zarr");
    const auto back = stored.read<float>();
    bool near = true;
    for (std::size_t i = 0; i < u.size(); i++) near = near && std::fabs(back[i] - u[i]) < 1.0F / 4096;
    std::printf("to 4 digits: %s, in half of the memory: %s\n", near ? "yes" : "no", stored.info().ratio > 2 ? "yes" : "no");
}
