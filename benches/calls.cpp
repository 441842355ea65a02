// What a call costs through ozarr.hpp beside ozarr.h: reads of one element of an array in memory, in nanoseconds each.
#include <ozarr.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

// The best of 15 rounds of n calls.
template <class F>
static double nanoseconds(F call) {
    const int n = 20000;
    double best = 1e30;
    for (int round = 0; round < 15; round++) {
        auto began = std::chrono::steady_clock::now();
        for (int i = 0; i < n; i++) call(i % 1000);
        std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
        best = std::min(best, took.count() / n);
    }
    return best;
}

int main() {
    auto a = ozarr::store::memory().create_array("a", ozarr::spec::of<double>({10, 1000}).chunks({10, 1000}).compressor("none"));
    a.write(std::vector<double>(10000, 1.0));
    ozarr_array *h = a.get();
    double x = 0, sum = 0;
    double c = nanoseconds([&](int i) {
        int64_t start[] = {3, i}, shape[] = {1, 1};
        if (ozarr_array_read_region(h, start, shape, OZARR_FLOAT64, &x, sizeof x)) std::abort();
        sum += x;
    });
    double ex = nanoseconds([&](int i) {
        int64_t start[] = {3, i}, shape[] = {1, 1};
        ozarr_region region = {sizeof(ozarr_region), start, shape, nullptr};
        ozarr_memory memory = {sizeof(ozarr_memory), &x, sizeof x, 0, nullptr, OZARR_ORDER_C, OZARR_FLOAT64, OZARR_OVERFLOW_ERROR};
        if (ozarr_array_read_ex(h, &region, &memory)) std::abort();
        sum += x;
    });
    double ex_strided = nanoseconds([&](int i) {
        int64_t start[] = {3, i}, shape[] = {1, 1}, strides[] = {8, 8};
        ozarr_region region = {sizeof(ozarr_region), start, shape, nullptr};
        ozarr_memory memory = {sizeof(ozarr_memory), &x, sizeof x, 0, strides, OZARR_ORDER_C, OZARR_FLOAT64, OZARR_OVERFLOW_ERROR};
        if (ozarr_array_read_ex(h, &region, &memory)) std::abort();
        sum += x;
    });
    double pointer = nanoseconds([&](int i) {
        a.read(&x, 1, {{3, i}, {1, 1}});
        sum += x;
    });
    double strided = nanoseconds([&](int i) {
        a.read(ozarr::strided(&x, 1, {1, 1}), {{3, i}, {1, 1}});
        sum += x;
    });
    double vector = nanoseconds([&](int i) { sum += a.read<double>({{3, i}, {1, 1}})[0]; });
    std::printf("C   ozarr_array_read_region     %7.0f ns\nC   ozarr_array_read_ex         %7.0f ns\nC   ..., with strides           %7.0f ns\n", c, ex, ex_strided);
    std::printf("C++ read(pointer, size)         %7.0f ns  %+5.0f\nC++ read(strided)               %7.0f ns  %+5.0f\n", pointer, pointer - ex, strided,
                strided - ex_strided);
    std::printf("C++ read<double>() -> vector    %7.0f ns  %+5.0f\n", vector, vector - ex);
    return sum > 0 ? 0 : 1;
}
