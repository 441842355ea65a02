/* The whole table of conversions: see numbers.h. */
#include "numbers.h"
#include "random.h"
#include "table.h"

enum { N = 1500, CHUNK = 400 };

static const struct { ozarr_type type; size_t size; } TYPES[] = {
    {OZARR_BOOL, 1},    {OZARR_INT8, 1},    {OZARR_INT16, 2},     {OZARR_INT32, 4},       {OZARR_INT64, 8},           {OZARR_UINT8, 1},
    {OZARR_UINT16, 2},  {OZARR_UINT32, 4},  {OZARR_UINT64, 8},    {OZARR_FLOAT16, 2},     {OZARR_FLOAT32, 4},         {OZARR_FLOAT64, 8},
    {OZARR_COMPLEX64, 8}, {OZARR_COMPLEX128, 16}, {OZARR_INT2, 1}, {OZARR_INT4, 1},       {OZARR_UINT2, 1},           {OZARR_UINT4, 1},
    {OZARR_BFLOAT16, 2}, {OZARR_FLOAT8_E3M4, 1}, {OZARR_FLOAT8_E4M3, 1}, {OZARR_FLOAT8_E4M3B11FNUZ, 1}, {OZARR_FLOAT8_E4M3FNUZ, 1},
    {OZARR_FLOAT8_E4M3FN, 1}, {OZARR_FLOAT8_E5M2, 1}, {OZARR_FLOAT8_E5M2FNUZ, 1}, {OZARR_FLOAT8_E8M0FNU, 1}, {OZARR_FLOAT6_E2M3FN, 1},
    {OZARR_FLOAT6_E3M2FN, 1}, {OZARR_FLOAT4_E2M1FN, 1},
};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static unsigned char bits[N * 16], other[N * 16];

/* What may come of a call: complex numbers become no real ones, and a number may not fit. */
static void check(ozarr_status status, size_t from, size_t to, int wide) {
    int lost = TYPES[from].type == OZARR_COMPLEX64 || TYPES[from].type == OZARR_COMPLEX128;
    lost = lost && TYPES[to].type != OZARR_COMPLEX64 && TYPES[to].type != OZARR_COMPLEX128;
    if (lost ? status == OZARR_ERR_TYPE : status == OZARR_OK || (!wide && status == OZARR_ERR_RANGE)) return;
    FAIL("type %d to type %d gave %s: %s", (int)TYPES[from].type, (int)TYPES[to].type, ozarr_status_name(status), ozarr_last_error());
}

/* An array that several threads work at. */
static void in_threads(void) {
    enum { MANY = 1 << 21 };
    int64_t shape[] = {MANY}, chunk[] = {MANY / 16};
    unsigned char *values = malloc((size_t)MANY * 8), *found = malloc((size_t)MANY * 8);
    ozarr_array *a = NULL;
    numbers n = {1};
    for (size_t i = 0; i < (size_t)MANY * 8; i++) values[i] = (unsigned char)next_number(&n);
    if (OK(ozarr_array_create("numbers.zarr/many", OZARR_FLOAT64, 1, shape, chunk, OZARR_CREATE_NEW, &a))) {
        OK(ozarr_array_write(a, OZARR_FLOAT64, values, (size_t)MANY * 8));
        for (ozarr_type type = OZARR_BOOL; type <= OZARR_FLOAT64; type++) {
            ozarr_memory memory = OZARR_MEMORY_INIT;
            memory.data = found, memory.size = (size_t)MANY * 8, memory.type = type, memory.overflow = OZARR_OVERFLOW_SATURATE;
            ozarr_status status = ozarr_array_read_ex(a, NULL, &memory);
            CHECK(status == OZARR_OK || (type < OZARR_FLOAT16 && status == OZARR_ERR_RANGE));
            status = ozarr_array_write_ex(a, NULL, &memory);
            CHECK(status == OZARR_OK || status == OZARR_ERR_RANGE);
            OK(ozarr_array_write(a, OZARR_FLOAT64, values, (size_t)MANY * 8));
        }
        ozarr_array_free(a);
    }
    free(values);
    free(found);
}

int conversion_table(void) {
    int64_t shape[] = {N}, chunk[] = {CHUNK};
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof bits; i++) state = state * 1664525u + 1013904223u, bits[i] = (unsigned char)(state >> 24);
    EQUAL(TYPE_COUNT, OZARR_FLOAT4_E2M1FN);
    for (size_t file = 0; file < TYPE_COUNT; file++) {
        ozarr_array *a = NULL, *b = NULL;
        char location[64];
        snprintf(location, sizeof location, "numbers.zarr/t%d", (int)TYPES[file].type);
        if (!OK(ozarr_array_create(location, TYPES[file].type, 1, shape, chunk, OZARR_CREATE_NEW, &a))) continue;
        OK(ozarr_array_write(a, TYPES[file].type, bits, N * TYPES[file].size));
        snprintf(location, sizeof location, "numbers.zarr/w%d", (int)TYPES[file].type);
        if (!OK(ozarr_array_create(location, TYPES[file].type, 1, shape, chunk, OZARR_CREATE_NEW, &b))) continue;
        for (size_t type = 0; type < TYPE_COUNT; type++) {
            for (ozarr_overflow overflow = OZARR_OVERFLOW_ERROR; overflow <= OZARR_OVERFLOW_SATURATE; overflow++) {
                ozarr_memory memory = OZARR_MEMORY_INIT;
                memory.data = bits, memory.size = N * TYPES[type].size, memory.type = TYPES[type].type, memory.overflow = overflow;
                check(ozarr_array_write_ex(b, NULL, &memory), type, file, file == type);
                memory.data = other;
                check(ozarr_array_read_ex(a, NULL, &memory), file, type, file == type);
            }
        }
        ozarr_array_free(a);
        ozarr_array_free(b);
    }
    in_threads();
    return failures;
}
