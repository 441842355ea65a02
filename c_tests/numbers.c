/* Conversions of numbers: what does not fit, the policies for it, and no floating-point trap of the host's. */
#define _GNU_SOURCE
#include "numbers.h"
#include "table.h"
#include <fenv.h>
#include <math.h>

static ozarr_status transfer(ozarr_array *a, int writing, ozarr_type type, void *data, size_t size, ozarr_overflow overflow) {
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = data, memory.size = size, memory.type = type, memory.overflow = overflow;
    return writing ? ozarr_array_write_ex(a, NULL, &memory) : ozarr_array_read_ex(a, NULL, &memory);
}

/* The message names the element by its index in the region, and the limit; other chunks are written. */
static void misfits_are_named(void) {
    int64_t shape[] = {6, 20}, chunks[] = {2, 5}, start[] = {1, 2}, part[] = {4, 18};
    int32_t values[6][20] = {{0}}, block[4][18] = {{0}};
    int16_t found[6][20];
    ozarr_array *a = NULL;
    ozarr_region region = OZARR_REGION_INIT;
    OK(ozarr_array_create("misfit.zarr", OZARR_INT16, 2, shape, chunks, OZARR_CREATE_NEW, &a));
    for (int i = 0; i < 120; i++) values[i / 20][i % 20] = i + 1;
    values[3][17] = 70000;
    ERR_SAYS(OZARR_ERR_RANGE, "element [3, 17] is 70000, int16 ends at 32767", "c/1/3", transfer(a, 1, OZARR_INT32, values, sizeof values, 0));
    OK(ozarr_array_read(a, OZARR_INT16, found, sizeof found));
    for (int i = 0; i < 120; i++) EQUAL(found[i / 20][i % 20], i / 20 / 2 == 1 && i % 20 / 5 == 3 ? 0 : i + 1);
    /* The index counts from the region's first element, through strides of any kind. */
    int64_t strides[] = {-(int64_t)sizeof block[0], -(int64_t)sizeof block[0][0]};
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start, region.shape = part;
    memory.data = block, memory.size = sizeof block, memory.type = OZARR_INT32, memory.strides = strides;
    memory.offset = sizeof block - sizeof block[0][0];
    block[3 - 2][17 - 13] = -40000;
    ERR_SAYS(OZARR_ERR_RANGE, "element [2, 13] is -40000, int16 begins at -32768", "", ozarr_array_write_ex(a, &region, &memory));
    /* Reading: all that fits is there or untouched. */
    OK(ozarr_array_read(a, OZARR_INT16, found, sizeof found));
    int8_t bytes[6][20];
    memset(bytes, 0x55, sizeof bytes);
    found[5][19] = 300;
    OK(ozarr_array_write(a, OZARR_INT16, found, sizeof found));
    ERR_SAYS(OZARR_ERR_RANGE, "element [5, 19] is 300, int8 ends at 127", "", ozarr_array_read(a, OZARR_INT8, bytes, sizeof bytes));
    for (int i = 0; i < 119; i++) CHECK(bytes[i / 20][i % 20] == found[i / 20][i % 20] || bytes[i / 20][i % 20] == 0x55);
    ozarr_array_free(a);
}

static void policies(void) {
    int64_t n[] = {6};
    double in[] = {300.7, -300.7, 1e300, -INFINITY, 5.0, 4294967297.0}, out[6];
    int8_t small[6];
    ozarr_array *a = NULL;
    OK(ozarr_array_create("policy.zarr", OZARR_FLOAT64, 1, n, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_FLOAT64, in, sizeof in));
    ERR_SAYS(OZARR_ERR_RANGE, "element [0] is 300.7", "int8 ends at 127", transfer(a, 0, OZARR_INT8, small, 6, OZARR_OVERFLOW_ERROR));
    OK(transfer(a, 0, OZARR_INT8, small, 6, OZARR_OVERFLOW_SATURATE));
    CHECK(memcmp(small, (int8_t[]){127, -128, 127, -128, 5, 127}, 6) == 0);
    ERR_SAYS(OZARR_ERR_RANGE, "element [3] is -Infinity", "", transfer(a, 0, OZARR_INT8, small, 6, OZARR_OVERFLOW_WRAP));
    in[3] = 0;
    OK(ozarr_array_write(a, OZARR_FLOAT64, in, sizeof in));
    OK(transfer(a, 0, OZARR_INT8, small, 6, OZARR_OVERFLOW_WRAP));
    CHECK(memcmp(small, (int8_t[]){44, -44, 0, 0, 5, 1}, 6) == 0);
    in[3] = NAN;
    OK(ozarr_array_write(a, OZARR_FLOAT64, in, sizeof in));
    ERR_SAYS(OZARR_ERR_RANGE, "element [3] is NaN", "", transfer(a, 0, OZARR_INT8, small, 6, OZARR_OVERFLOW_SATURATE));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "overflow", "3", transfer(a, 0, OZARR_INT8, small, 6, 3));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "overflow", "-1", transfer(a, 0, OZARR_INT8, small, 6, -1));
    ozarr_array_free(a);
    /* Stored narrow: 1e300 becomes infinite, or the largest. */
    OK(ozarr_array_create("bfloat.zarr", OZARR_BFLOAT16, 1, n, NULL, OZARR_CREATE_NEW, &a));
    ERR(OZARR_ERR_RANGE, ozarr_array_write(a, OZARR_FLOAT64, in, sizeof in));
    OK(transfer(a, 1, OZARR_FLOAT64, in, sizeof in, OZARR_OVERFLOW_WRAP));
    OK(ozarr_array_read(a, OZARR_FLOAT64, out, sizeof out));
    CHECK(out[0] == 300.0 && out[1] == -300.0 && isinf(out[2]) && isnan(out[3]) && out[4] == 5.0);
    OK(transfer(a, 1, OZARR_FLOAT64, in, sizeof in, OZARR_OVERFLOW_SATURATE));
    OK(ozarr_array_read(a, OZARR_FLOAT64, out, sizeof out));
    CHECK(out[2] == 0x1.fep127 && isnan(out[3]));
    ozarr_array_free(a);
}

int main(void) {
    misfits_are_named();
    policies();
#ifdef __GLIBC__
    const int traps = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
    feclearexcept(FE_ALL_EXCEPT);
    if (feenableexcept(traps) != -1) {
        failures += conversion_table();
        CHECK(fegetexcept() == traps);
        CHECK(fetestexcept(traps) == 0);
        fedisableexcept(traps);
    }
#else
    /* Other C libraries have no calls that set traps. */
    failures += conversion_table();
#endif
    return finish();
}
