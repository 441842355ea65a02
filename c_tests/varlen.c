/* Text, bytes, JSON and lists of variable length: written, read by any region, in both formats; wrong calls and what they say. */
#include "table.h"
#include <stdbool.h>

static ozarr_array *a;
static ozarr_spec *s;
static ozarr_varlen *v;
static int64_t SIX[] = {6}, SHAPE[] = {2, 3}, CHUNKS[] = {2, 2};

/* Element `i` of what was read last. */
static bool is(int64_t i, const char *want) {
    const char *bytes = NULL;
    size_t len = 0;
    return OK(ozarr_varlen_get(v, i, &bytes, &len)) && len == strlen(want) && memcmp(bytes, want, len) == 0;
}

static void read_again(const ozarr_region *region) {
    ozarr_varlen_free(v);
    v = NULL;
    OK(ozarr_array_read_varlen(a, region, &v));
}

static void texts(int32_t format) {
    static const char *const names[] = {"Zürich", "", "Bern", "a", "日本", "x"};
    int64_t start[] = {0, 1}, shape[] = {2, 1}, step[] = {1, 1}, n = 0;
    int32_t type = 0;
    size_t item = 9;
    ozarr_region column = OZARR_REGION_INIT;
    column.start = start, column.shape = shape, column.step = step;
    OK(ozarr_spec_new(OZARR_STRING, 2, SHAPE, &s));
    OK(ozarr_spec_set_chunks(s, CHUNKS));
    OK(ozarr_spec_set_zarr_format(s, format));
    OK(ozarr_spec_set_member_json(s, "fill_value", "\"none\""));
    OK(ozarr_array_create_ex("texts.zarr", s, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(s);
    OK(ozarr_array_type(a, &type));
    OK(ozarr_array_item_size(a, &item));
    CHECK(type == OZARR_STRING && item == 0);
    char fill[8];
    OK(ozarr_array_fill_text(a, fill, sizeof fill, NULL));
    CHECK(strcmp(fill, "none") == 0);
    read_again(NULL);
    CHECK(is(5, "none"));
    OK(ozarr_array_write_strings(a, NULL, names));
    read_again(&column);
    OK(ozarr_varlen_count(v, &n));
    EQUAL(n, 2);
    CHECK(is(0, "") && is(1, "日本"));
    const int64_t offsets[] = {0, 3, 3};
    OK(ozarr_array_write_varlen(a, &column, offsets, "new", 3));
    OK(ozarr_array_close(a));
    OK(ozarr_array_open("texts.zarr", "r", &a));
    read_again(NULL);
    CHECK(is(0, "Zürich") && is(1, "new") && is(2, "Bern") && is(3, "a") && is(4, "") && is(5, "x"));
    const int64_t *all = NULL;
    const char *data = NULL;
    size_t size = 0;
    OK(ozarr_varlen_all(v, &all, &data, &size));
    CHECK(all[0] == 0 && (size_t)all[6] == size && memcmp(data, "Zürichnew", 10) == 0);
    ERR(OZARR_ERR_READ_ONLY, ozarr_array_write_strings(a, NULL, names));
    ozarr_array_free(a);
}

/* Code points of a fixed length, as NumPy has them, are written to texts of any length, and read from them. */
static void code_points(int32_t format) {
    uint32_t points[6][3] = {{'a', 0xe9, 0x1d11e}, {0}, {'b'}, {0x65e5, 0x672c}, {'x', 0, 'y'}, {'z', 'z', 'z'}}, back[6][3];
    static const char *const want[] = {"aé𝄞", "", "b", "日本", "x\0y", "zzz"};
    ozarr_dtype *type = NULL;
    OK(ozarr_dtype_parse("<U3", 2, &type));
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = points, memory.size = sizeof points, memory.type = OZARR_BY_DTYPE, memory.dtype = type;
    OK(ozarr_spec_new(OZARR_STRING, 2, SHAPE, &s));
    OK(ozarr_spec_set_chunks(s, CHUNKS));
    OK(ozarr_spec_set_zarr_format(s, format));
    OK(ozarr_array_create_ex("points.zarr", s, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(s);
    OK(ozarr_array_write_ex(a, NULL, &memory));
    read_again(NULL);
    for (int64_t i = 0; i < 6; i++)
        CHECK(i == 4 || is(i, want[i]));
    memory.data = back;
    OK(ozarr_array_read_ex(a, NULL, &memory));
    CHECK(memcmp(back, points, sizeof back) == 0);
    points[3][1] = 0xd800;
    memory.data = points;
    ERR_SAYS(OZARR_ERR_RANGE, "0xd800", "no character", ozarr_array_write_ex(a, NULL, &memory));
    ozarr_dtype_free(type);
    ozarr_array_free(a);
}

static void other_kinds(void) {
    static const char *const values[] = {"[1, null]", "\"x\"", "{\"k\":2.50}", "0", "true", "null"};
    const int64_t offsets[] = {0, 2, 2, 3, 4, 5, 6};
    int32_t number = 0;
    OK(ozarr_array_create("bytes.zarr", OZARR_BYTES, 1, SIX, NULL, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_array_write_varlen(a, NULL, offsets, "\xff\x00wxyz", 6));
    const char *bytes = NULL;
    size_t len = 0;
    read_again(NULL);
    OK(ozarr_varlen_get(v, 0, &bytes, &len));
    CHECK(len == 2 && memcmp(bytes, "\xff\x00", 2) == 0 && is(1, "") && is(5, "z"));
    ozarr_array_free(a);
    OK(ozarr_spec_new(OZARR_JSON, 1, SIX, &s));
    OK(ozarr_spec_set_zarr_format(s, 2));
    OK(ozarr_array_create_ex("json.zarr", s, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(s);
    OK(ozarr_array_write_strings(a, NULL, values));
    read_again(NULL);
    CHECK(is(0, "[1,null]") && is(1, "\"x\"") && is(2, "{\"k\":2.50}") && is(5, "null"));
    ERR(OZARR_ERR_TYPE, ozarr_array_list_type(a, &number));
    ozarr_array_free(a);
    OK(ozarr_spec_from_json("{\"zarr_format\":2,\"shape\":[2],\"chunks\":[2],\"dtype\":\"|O\",\"fill_value\":0,\"order\":\"C\","
                            "\"compressor\":null,\"filters\":[{\"id\":\"vlen-array\",\"dtype\":\">i2\"}]}", &s));
    OK(ozarr_array_create_ex("lists.zarr", s, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(s);
    const int16_t numbers[] = {1, -2, 3};
    const int64_t places[] = {0, 4, 6};
    OK(ozarr_array_write_varlen(a, NULL, places, numbers, sizeof numbers));
    OK(ozarr_array_list_type(a, &number));
    EQUAL(number, OZARR_INT16);
    read_again(NULL);
    OK(ozarr_varlen_get(v, 0, &bytes, &len));
    CHECK(len == 4 && memcmp(bytes, numbers, 4) == 0);
    ERR_SAYS(OZARR_ERR_RANGE, "multiple of 2", "element 0", ozarr_array_write_varlen(a, NULL, (int64_t[]){0, 1, 6}, numbers, 6));
    ozarr_array_free(a);
}

/* Two handles append, neither of which knows of the other's texts. */
static void appends(void) {
    ozarr_array *other = NULL;
    OK(ozarr_array_create("appended.zarr", OZARR_STRING, 1, SIX, NULL, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_array_open("appended.zarr", "r+", &other));
    OK(ozarr_array_append_varlen(other, 0, 1, (int64_t[]){0, 5}, "other", 5));
    OK(ozarr_array_append_varlen(a, 0, 2, (int64_t[]){0, 1, 3}, "xyz", 3));
    ERR(OZARR_ERR_BOUNDS, ozarr_array_append_varlen(a, 1, 1, (int64_t[]){0, 1}, "x", 1));
    ERR(OZARR_ERR_ARGUMENT, ozarr_array_append_varlen(a, 0, -1, (int64_t[]){0, 1}, "x", 1));
    ERR_SAYS(OZARR_ERR_RANGE, "UTF-8", "", ozarr_array_append_varlen(a, 0, 1, (int64_t[]){0, 1}, "\xff", 1));
    ERR_SAYS(OZARR_ERR_BOUNDS, "element 0", "2", ozarr_array_append_varlen(a, 0, 1, (int64_t[]){0, 2}, "x", 1));
    read_again(NULL);
    CHECK(is(5, "") && is(6, "other") && is(7, "x") && is(8, "yz"));
    ERR(OZARR_ERR_BOUNDS, ozarr_varlen_get(v, 9, (const char *[]){NULL}, (size_t[]){0}));
    ozarr_array_free(other), ozarr_array_free(a);
}

static void wrong_calls(void) {
    double number = 0;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = &number, memory.size = sizeof number;
    OK(ozarr_array_create("wrong.zarr", OZARR_STRING, 1, SIX, NULL, OZARR_CREATE_OVERWRITE, &a));
    ERR_SAYS(OZARR_ERR_TYPE, "ozarr_array_read_varlen", "", ozarr_array_read(a, OZARR_AS_STORED, &number, sizeof number));
    ERR_SAYS(OZARR_ERR_TYPE, "ozarr_array_read_varlen", "", ozarr_array_read_ex(a, NULL, &memory));
    ERR(OZARR_ERR_TYPE, ozarr_array_write(a, OZARR_STRING, &number, sizeof number));
    ERR(OZARR_ERR_TYPE, ozarr_array_fill_value(a, &number, sizeof number, NULL));
    ERR_SAYS(OZARR_ERR_RANGE, "element 1", "UTF-8", ozarr_array_write_varlen(a, NULL, (int64_t[]){0, 1, 2, 2, 2, 2, 2}, "a\xff", 2));
    ERR_SAYS(OZARR_ERR_BOUNDS, "element 5", "2", ozarr_array_write_varlen(a, NULL, (int64_t[]){0, 1, 2, 2, 2, 2, 3}, "ab", 2));
    read_again(NULL);
    ERR_SAYS(OZARR_ERR_BOUNDS, "6", "", ozarr_varlen_get(v, 6, (const char *[]){NULL}, (size_t[]){0}));
    ERR(OZARR_ERR_BOUNDS, ozarr_varlen_get(v, -1, (const char *[]){NULL}, (size_t[]){0}));
    ozarr_array_free(a);
    ERR_SAYS(OZARR_ERR_TYPE, "\"vlen-array\"", "ozarr_spec_from_json", ozarr_array_create("numbers.zarr", OZARR_LIST, 1, SIX, NULL, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_array_create("numbers.zarr", OZARR_FLOAT64, 1, SIX, NULL, OZARR_CREATE_OVERWRITE, &a));
    ERR_SAYS(OZARR_ERR_TYPE, "float64", "variable length", ozarr_array_read_varlen(a, NULL, &v));
    ozarr_array_free(a);
    ERR(OZARR_ERR_UNSUPPORTED, ozarr_array_create("json3.zarr", OZARR_JSON, 1, SIX, NULL, OZARR_CREATE_OVERWRITE, &a));
}

int main(void) {
    texts(2);
    texts(3);
    code_points(2);
    code_points(3);
    other_kinds();
    appends();
    wrong_calls();
    ozarr_varlen_free(v);
    return finish();
}
