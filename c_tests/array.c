/* Arrays: creating, opening, inquiring, whole and region I/O, conversion, growing and shrinking. */
#include "table.h"
#include <math.h>
#include <stdbool.h>

static const struct { ozarr_type type; size_t size; const char *name; } TYPES[] = {
    {OZARR_BOOL, 1, "bool"}, {OZARR_INT8, 1, "int8"}, {OZARR_INT16, 2, "int16"}, {OZARR_INT32, 4, "int32"},
    {OZARR_INT64, 8, "int64"}, {OZARR_UINT8, 1, "uint8"}, {OZARR_UINT16, 2, "uint16"}, {OZARR_UINT32, 4, "uint32"},
    {OZARR_UINT64, 8, "uint64"}, {OZARR_FLOAT16, 2, "float16"}, {OZARR_FLOAT32, 4, "float32"}, {OZARR_FLOAT64, 8, "float64"},
    {OZARR_COMPLEX64, 8, "complex64"}, {OZARR_COMPLEX128, 16, "complex128"}, {OZARR_BFLOAT16, 2, "bfloat16"},
    {OZARR_FLOAT8_E3M4, 1, "float8_e3m4"}, {OZARR_FLOAT8_E4M3, 1, "float8_e4m3"}, {OZARR_FLOAT8_E4M3B11FNUZ, 1, "float8_e4m3b11fnuz"},
    {OZARR_FLOAT8_E4M3FNUZ, 1, "float8_e4m3fnuz"}, {OZARR_FLOAT8_E4M3FN, 1, "float8_e4m3fn"}, {OZARR_FLOAT8_E5M2, 1, "float8_e5m2"},
    {OZARR_FLOAT8_E5M2FNUZ, 1, "float8_e5m2fnuz"}, {OZARR_FLOAT8_E8M0FNU, 1, "float8_e8m0fnu"},
};

/* Every type goes to the file and comes back, bit for bit, also without being named. */
static void every_type(void) {
    int64_t shape[] = {7, 5}, chunks[] = {3, 2};
    for (size_t k = 0; k < sizeof TYPES / sizeof *TYPES; k++) {
        char location[64];
        unsigned char out[35 * 16], in[35 * 16], as_stored[35 * 16];
        size_t bytes = 35 * TYPES[k].size, item = 0;
        ozarr_array *a = NULL;
        ozarr_type type = -1;
        for (size_t i = 0; i < bytes; i++) out[i] = TYPES[k].type == OZARR_BOOL ? (unsigned char)(i % 3 == 0) : (unsigned char)(i * 37 + 11);
        snprintf(location, sizeof location, "types.zarr/%s", TYPES[k].name);
        if (!OK(ozarr_array_create(location, TYPES[k].type, 2, shape, chunks, OZARR_CREATE_NEW, &a))) continue;
        OK(ozarr_array_write(a, TYPES[k].type, out, bytes));
        OK(ozarr_array_close(a));
        OK(ozarr_array_open(location, "r", &a));
        OK(ozarr_array_type(a, &type));
        EQUAL(type, TYPES[k].type);
        OK(ozarr_array_item_size(a, &item));
        EQUAL(item, TYPES[k].size);
        memset(in, 0xaa, sizeof in);
        memset(as_stored, 0xaa, sizeof as_stored);
        OK(ozarr_array_read(a, TYPES[k].type, in, bytes));
        OK(ozarr_array_read(a, OZARR_AS_STORED, as_stored, bytes));
        CHECK(memcmp(in, out, bytes) == 0);
        CHECK(memcmp(as_stored, out, bytes) == 0);
        ozarr_array_free(a);
    }
}

static void inquiry(void) {
    int64_t shape[] = {100, 30, 7}, chunks[] = {10, 30, 4}, found[3] = {0, 0, 0};
    int32_t rank = -1, format = -1;
    char buf[4096];
    size_t len = 0;
    bool named = true, defined = false;
    double fill = 9;
    ozarr_array *a = NULL;
    OK(ozarr_array_create("inquiry.zarr/deep/er/t", OZARR_FLOAT64, 3, shape, chunks, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_rank(a, &rank));
    EQUAL(rank, 3);
    OK(ozarr_array_shape(a, found));
    CHECK(memcmp(found, shape, sizeof shape) == 0);
    OK(ozarr_array_chunk_shape(a, found));
    CHECK(memcmp(found, chunks, sizeof chunks) == 0);
    OK(ozarr_array_inner_chunk_shape(a, found));
    CHECK(memcmp(found, chunks, sizeof chunks) == 0);
    OK(ozarr_node_zarr_format(ozarr_array_node(a), &format));
    EQUAL(format, 3);
    OK(ozarr_node_path(ozarr_array_node(a), buf, sizeof buf, &len));
    TEXT(buf, "deep/er/t");
    EQUAL(len, 9);
    OK(ozarr_array_dimension_name(a, 2, buf, sizeof buf, NULL, &named));
    TEXT(buf, "");
    CHECK(!named);
    ERR_SAYS(OZARR_ERR_BOUNDS, "3", "", ozarr_array_dimension_name(a, 3, buf, sizeof buf, NULL, &named));
    ERR(OZARR_ERR_BOUNDS, ozarr_array_dimension_name(a, -1, buf, sizeof buf, NULL, &named));
    OK(ozarr_array_fill_value(a, &fill, sizeof fill, &defined));
    CHECK(fill == 0 && defined);
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "4", "8", ozarr_array_fill_value(a, &fill, 4, &defined));
    OK(ozarr_node_metadata(ozarr_array_node(a), NULL, 0, &len));
    OK(ozarr_node_metadata(ozarr_array_node(a), buf, len + 1, NULL));
    CHECK(strlen(buf) == len && strstr(buf, "\"float64\"") != NULL);
    memset(buf, '#', sizeof buf);
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "`buf`", "", ozarr_node_metadata(ozarr_array_node(a), buf, len, NULL));
    CHECK(buf[0] == '#');
    OK(ozarr_array_close(a));
}

/* What stands already is kept, replaced, or opened. */
static void create_flags(void) {
    int64_t shape[] = {4}, other[] = {5}, chunks[] = {2}, found = 0;
    int32_t values[] = {1, 2, 3, 4}, in[5];
    ozarr_array *a = NULL;
    OK(ozarr_array_create("flags.zarr/a", OZARR_INT32, 1, shape, chunks, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT32, values, sizeof values));
    OK(ozarr_array_close(a));
    a = NULL;
    ERR_SAYS(OZARR_ERR_EXISTS, "a", "", ozarr_array_create("flags.zarr/a", OZARR_INT32, 1, shape, chunks, OZARR_CREATE_NEW, &a));
    ERR(OZARR_ERR_EXISTS, ozarr_array_create("flags.zarr/a", OZARR_INT32, 1, other, chunks, OZARR_CREATE_OPEN_IF_SAME, &a));
    CHECK(a == NULL);
    OK(ozarr_array_create("flags.zarr/a", OZARR_INT32, 1, shape, chunks, OZARR_CREATE_OPEN_IF_SAME, &a));
    OK(ozarr_array_read(a, OZARR_INT32, in, sizeof values));
    CHECK(memcmp(in, values, sizeof values) == 0);
    ozarr_array_free(a);
    OK(ozarr_array_create("flags.zarr/a", OZARR_INT32, 1, other, chunks, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_array_shape(a, &found));
    EQUAL(found, 5);
    OK(ozarr_array_read(a, OZARR_INT32, in, sizeof in));
    for (int i = 0; i < 5; i++) EQUAL(in[i], 0);
    ozarr_array_free(a);
}

static void modes(void) {
    int64_t shape[] = {4};
    int8_t values[] = {1, 2, 3, 4};
    ozarr_array *a = NULL;
    OK(ozarr_array_create("modes.zarr", OZARR_INT8, 1, shape, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_close(a));
    OK(ozarr_array_open("modes.zarr", "r", &a));
    ERR(OZARR_ERR_READ_ONLY, ozarr_array_write(a, OZARR_INT8, values, sizeof values));
    ERR(OZARR_ERR_READ_ONLY, ozarr_array_resize(a, shape, 0));
    ERR(OZARR_ERR_READ_ONLY, ozarr_array_append(a, 0, 4, OZARR_INT8, values, sizeof values));
    ERR(OZARR_ERR_READ_ONLY, ozarr_attr_set_int64(ozarr_array_node(a), "n", 1));
    ozarr_array_free(a);
    OK(ozarr_array_open("modes.zarr", "r+", &a));
    OK(ozarr_array_write(a, OZARR_INT8, values, sizeof values));
    OK(ozarr_array_close(a));
}

/* Numbers are converted; what does not fit is an error. */
static void conversion(void) {
    int64_t shape[] = {3}, whole[] = {0, 0, 0};
    double doubles[] = {1.0, -2.0, 300.0}, back[3];
    float floats[3];
    int8_t bytes[3];
    ozarr_array *a = NULL;
    OK(ozarr_array_create("convert.zarr", OZARR_INT16, 1, shape, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_FLOAT64, doubles, sizeof doubles));
    OK(ozarr_array_read(a, OZARR_INT64, whole, sizeof whole));
    CHECK(whole[0] == 1 && whole[1] == -2 && whole[2] == 300);
    OK(ozarr_array_read(a, OZARR_FLOAT32, floats, sizeof floats));
    CHECK(floats[0] == 1 && floats[1] == -2 && floats[2] == 300);
    ERR_SAYS(OZARR_ERR_RANGE, "element [2] is 300", "int8 ends at 127", ozarr_array_read(a, OZARR_INT8, bytes, sizeof bytes));
    doubles[1] = 1e9;
    ERR_SAYS(OZARR_ERR_RANGE, "element [1] is 1000000000.0", "int16", ozarr_array_write(a, OZARR_FLOAT64, doubles, sizeof doubles));
    doubles[1] = NAN;
    ERR(OZARR_ERR_RANGE, ozarr_array_write(a, OZARR_FLOAT64, doubles, sizeof doubles));
    OK(ozarr_array_read(a, OZARR_FLOAT64, back, sizeof back));
    CHECK(back[0] == 1 && back[1] == -2 && back[2] == 300);
    ozarr_array_free(a);

    double complex_in[] = {1, 2, 3, 4, 5, 6};
    OK(ozarr_array_create("complex.zarr", OZARR_COMPLEX128, 1, shape, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_COMPLEX128, complex_in, sizeof complex_in));
    ERR_SAYS(OZARR_ERR_TYPE, "complex128", "float64", ozarr_array_read(a, OZARR_FLOAT64, back, sizeof back));
    ozarr_array_free(a);
}

/* Rank 0, and dimensions of length 0. */
static void small_shapes(void) {
    int64_t shape[] = {3, 0, 2}, start[] = {0, 0, 0};
    double value = 2.5, in = 0;
    ozarr_array *a = NULL;
    OK(ozarr_array_create("scalar.zarr", OZARR_FLOAT64, 0, NULL, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_FLOAT64, &value, sizeof value));
    OK(ozarr_array_read_region(a, NULL, NULL, OZARR_FLOAT64, &in, sizeof in));
    CHECK(in == 2.5);
    OK(ozarr_array_shape(a, NULL));
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_read(a, OZARR_FLOAT64, &in, 7));
    ozarr_array_free(a);
    OK(ozarr_array_create("empty.zarr", OZARR_FLOAT64, 3, shape, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_read(a, OZARR_FLOAT64, NULL, 0));
    OK(ozarr_array_write(a, OZARR_FLOAT64, NULL, 0));
    OK(ozarr_array_read_region(a, start, shape, OZARR_FLOAT64, NULL, 0));
    ozarr_array_free(a);
}

/* Growing shows the fill value, shrinking cuts, and what was cut does not come back unless it was kept. */
static void resizing(void) {
    int64_t shape[] = {4, 3}, chunks[] = {3, 2}, smaller[] = {2, 2}, larger[] = {5, 3}, found[2];
    int32_t v[12], in[15];
    for (int keep = 0; keep <= 1; keep++) {
        ozarr_array *a = NULL;
        for (int i = 0; i < 12; i++) v[i] = i + 1;
        OK(ozarr_array_create("resize.zarr", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &a));
        OK(ozarr_array_write(a, OZARR_INT32, v, sizeof v));
        OK(ozarr_array_resize(a, smaller, keep ? OZARR_RESIZE_KEEP : 0));
        OK(ozarr_array_shape(a, found));
        CHECK(found[0] == 2 && found[1] == 2);
        OK(ozarr_array_resize(a, larger, 0));
        OK(ozarr_array_read(a, OZARR_INT32, in, sizeof in));
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 3; j++) {
                int inside = (i < 2 && j < 2) || (keep && i < 4);
                if (in[3 * i + j] != (inside ? 3 * i + j + 1 : 0)) FAIL("keep %d: [%d,%d] is %d", keep, i, j, (int)in[3 * i + j]);
            }
        ERR(OZARR_ERR_ARGUMENT, ozarr_array_resize(a, larger, 2));
        OK(ozarr_array_close(a));
    }
}

static void appending(void) {
    int64_t shape[] = {0, 3}, chunks[] = {2, 3}, found[2];
    ozarr_array *a = NULL;
    OK(ozarr_array_create("append.zarr", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_NEW, &a));
    for (int32_t step = 0; step < 5; step++) {
        int32_t row[] = {step, 10 * step, 100 * step};
        OK(ozarr_array_append(a, 0, 1, OZARR_INT32, row, sizeof row));
    }
    int32_t column[] = {-1, -2, -3, -4, -5}, in[20];
    OK(ozarr_array_append(a, 1, 1, OZARR_INT32, column, sizeof column));
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_append(a, 1, 1, OZARR_INT32, column, sizeof column - 1));
    ERR(OZARR_ERR_BOUNDS, ozarr_array_append(a, 2, 1, OZARR_INT32, column, sizeof column));
    ERR(OZARR_ERR_ARGUMENT, ozarr_array_append(a, 0, -1, OZARR_INT32, column, sizeof column));
    OK(ozarr_array_shape(a, found));
    CHECK(found[0] == 5 && found[1] == 4);
    OK(ozarr_array_read(a, OZARR_INT32, in, sizeof in));
    for (int i = 0; i < 5; i++) CHECK(in[4 * i] == i && in[4 * i + 1] == 10 * i && in[4 * i + 2] == 100 * i && in[4 * i + 3] == -1 - i);
    OK(ozarr_array_close(a));
}

/* Chunks of nothing but the fill value are left out, unless the handle says otherwise. */
static void fill_chunks(void) {
    int64_t shape[] = {2}, chunks[] = {1};
    int8_t zeros[] = {0, 0};
    ozarr_array *a = NULL;
    OK(ozarr_array_create("fill.zarr", OZARR_INT8, 1, shape, chunks, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT8, zeros, sizeof zeros));
    CHECK(file_content("fill.zarr/c/0", NULL) == NULL);
    OK(ozarr_node_set(ozarr_array_node(a), "write_fill_chunks", "true"));
    OK(ozarr_array_write(a, OZARR_INT8, zeros, sizeof zeros));
    char *stored = file_content("fill.zarr/c/0", NULL);
    CHECK(stored != NULL);
    free(stored);
    ERR_SAYS(OZARR_ERR_ARGUMENT, "write_fill_chunk", "nonsense", ozarr_node_set(ozarr_array_node(a), "nonsense", "true"));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "maybe", "", ozarr_node_set(ozarr_array_node(a), "write_fill_chunks", "maybe"));
    OK(ozarr_array_close(a));
}

int main(void) {
    every_type();
    inquiry();
    create_flags();
    modes();
    conversion();
    small_shapes();
    resizing();
    appending();
    fill_chunks();
    return finish();
}
