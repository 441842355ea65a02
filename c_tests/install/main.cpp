// A stranger's C++ program: an attribute and a value, back again.
#include <ozarr.h>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
    const std::vector<std::int64_t> shape{3};
    const std::vector<float> values{1.5F, 2.5F, 3.5F};
    std::vector<float> back(3);
    double factor = 0;
    ozarr_array *a = nullptr;
    const bool good = ozarr_array_create("run.zarr/cxx", OZARR_FLOAT32, 1, shape.data(), nullptr, OZARR_CREATE_OVERWRITE, &a) == OZARR_OK &&
                      ozarr_array_write(a, OZARR_FLOAT32, values.data(), values.size() * sizeof(float)) == OZARR_OK &&
                      ozarr_attr_set_double(ozarr_array_node(a), "factor", 0.25) == OZARR_OK &&
                      ozarr_attr_get_double(ozarr_array_node(a), "factor", &factor) == OZARR_OK &&
                      ozarr_array_read(a, OZARR_FLOAT32, back.data(), back.size() * sizeof(float)) == OZARR_OK &&
                      ozarr_array_close(a) == OZARR_OK;
    if (!good) std::fprintf(stderr, "%s\n", ozarr_last_error());
    return good && back == values && factor == 0.25 ? 0 : 1;
}
