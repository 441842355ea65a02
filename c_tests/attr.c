/* Attributes of arrays and groups: every JSON kind, typed and as text, one by one and in one write. */
#include "table.h"
#include <math.h>
#include <stdbool.h>

static void kinds(ozarr_node *x) {
    static const struct { const char *name, *json; ozarr_json_kind kind; } table[] = {
        {"null", "null", OZARR_JSON_KIND_NULL},           {"bool", "true", OZARR_JSON_KIND_BOOL},
        {"integer", "-12", OZARR_JSON_KIND_INTEGER},      {"number", "1.5e+3", OZARR_JSON_KIND_NUMBER},
        {"string", "\"caf\xc3\xa9\"", OZARR_JSON_KIND_STRING}, {"array", "[1,[2],{}]", OZARR_JSON_KIND_ARRAY},
        {"object", "{\"b\":1,\"a\":2}", OZARR_JSON_KIND_OBJECT}, {"big", "123456789012345678901234567890", OZARR_JSON_KIND_INTEGER},
    };
    int64_t count = 99, n = sizeof table / sizeof *table;
    char buf[256];
    OK(ozarr_attr_count(x, &count));
    EQUAL(count, 0);
    for (int64_t i = 0; i < n; i++) OK(ozarr_attr_set_json(x, table[i].name, table[i].json));
    OK(ozarr_attr_count(x, &count));
    EQUAL(count, n);
    for (int64_t i = 0; i < n; i++) {
        ozarr_json_kind kind = -1;
        size_t len = 0;
        OK(ozarr_attr_name(x, i, buf, sizeof buf, NULL));
        TEXT(buf, table[i].name);
        OK(ozarr_attr_kind(x, table[i].name, &kind));
        EQUAL(kind, table[i].kind);
        OK(ozarr_attr_get_json(x, table[i].name, buf, sizeof buf, &len));
        EQUAL(len, strlen(buf));
        TEXT(buf, table[i].json);
    }
    ERR_SAYS(OZARR_ERR_BOUNDS, "8", "", ozarr_attr_name(x, n, buf, sizeof buf, NULL));
    ERR_SAYS(OZARR_ERR_BOUNDS, "-1", "", ozarr_attr_name(x, -1, buf, sizeof buf, NULL));
    OK(ozarr_attr_erase(x, "array"));
    ERR_SAYS(OZARR_ERR_NOT_FOUND, "array", "", ozarr_attr_erase(x, "array"));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "bad", "column 5", ozarr_attr_set_json(x, "bad", "{\"a\":"));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "JSON", "line 2, column 1", ozarr_attrs_set(x, "{\n]"));
    ERR_SAYS(OZARR_ERR_NAME, "empty", "", ozarr_attr_set_int64(x, "", 1));
}

static void typed(ozarr_node *x) {
    int64_t i = 0;
    double f = 0;
    char buf[64];
    size_t len = 0;
    bool flag = false;
    OK(ozarr_attr_set_int64(x, "i", INT64_MIN));
    OK(ozarr_attr_get_int64(x, "i", &i));
    CHECK(i == INT64_MIN);
    OK(ozarr_attr_set_double(x, "f", 0.1));
    OK(ozarr_attr_get_double(x, "f", &f));
    CHECK(f == 0.1);
    OK(ozarr_attr_get_double(x, "integer", &f));
    CHECK(f == -12);
    OK(ozarr_attr_set_bool(x, "b", true));
    OK(ozarr_attr_get_bool(x, "b", &flag));
    CHECK(flag);
    OK(ozarr_attr_set_string(x, "s", "m/s \"quoted\"\n"));
    OK(ozarr_attr_get_string(x, "s", buf, sizeof buf, &len));
    TEXT(buf, "m/s \"quoted\"\n");
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "4", "14", ozarr_attr_get_string(x, "s", buf, 4, &len));
    EQUAL(len, 13);
    ERR(OZARR_ERR_RANGE, ozarr_attr_set_double(x, "f", NAN));
    ERR(OZARR_ERR_RANGE, ozarr_attr_set_double(x, "f", -INFINITY));
    ERR(OZARR_ERR_RANGE, ozarr_attr_get_int64(x, "big", &i));
    ERR(OZARR_ERR_TYPE, ozarr_attr_get_int64(x, "string", &i));
    ERR(OZARR_ERR_TYPE, ozarr_attr_get_double(x, "bool", &f));
    ERR_SAYS(OZARR_ERR_TYPE, "integer", "true or false", ozarr_attr_get_bool(x, "integer", &flag));
    ERR(OZARR_ERR_TYPE, ozarr_attr_get_string(x, "integer", buf, sizeof buf, NULL));
    ERR_SAYS(OZARR_ERR_NOT_FOUND, "strin", "string", ozarr_attr_get_string(x, "strin", buf, sizeof buf, NULL));
    CHECK(i == INT64_MIN && f == -12);
}

/* Lists of numbers of a type of the caller's, and single ones. */
static void numbers(ozarr_node *x) {
    int64_t list[3] = {INT64_MIN, 0, INT64_MAX}, got[3], count = 0;
    double reals[2] = {0.1, -1e300}, found[3];
    float singles[2] = {0.1f, -1e38f}, single = 0;
    int16_t small[2] = {-1, 32767}, shorts[2] = {0, 0};
    uint64_t big = UINT64_MAX, u = 0;
    char buf[64];
    OK(ozarr_attr_set_numbers(x, "u", OZARR_UINT64, &big, OZARR_SINGLE));
    OK(ozarr_attr_get_numbers(x, "u", OZARR_UINT64, &u, 1, &count));
    CHECK(u == big && count == 1);
    OK(ozarr_attr_get_json(x, "u", buf, sizeof buf, NULL));
    TEXT(buf, "18446744073709551615");
    OK(ozarr_attr_set_numbers(x, "list", OZARR_INT64, list, 3));
    OK(ozarr_attr_get_numbers(x, "list", OZARR_INT64, got, 3, &count));
    CHECK(count == 3 && memcmp(got, list, sizeof list) == 0);
    OK(ozarr_attr_get_numbers(x, "list", OZARR_FLOAT64, found, 3, &count));
    CHECK(found[2] == 9223372036854775807.0);
    OK(ozarr_attr_get_numbers(x, "list", OZARR_INT64, NULL, 0, &count));
    EQUAL(count, 3);
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "2", "3", ozarr_attr_get_numbers(x, "list", OZARR_INT64, got, 2, &count));
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "list: ", "3", ozarr_attr_get_numbers(x, "list", OZARR_INT64, got, 2, &count));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "latin: ", "UTF-8", ozarr_attr_set_string(x, "latin", "a\xe9"));
    ERR_SAYS(OZARR_ERR_RANGE, "element 0", "-9223372036854775808", ozarr_attr_get_numbers(x, "list", OZARR_INT16, shorts, 2, &count));
    OK(ozarr_attr_set_numbers(x, "reals", OZARR_FLOAT64, reals, 2));
    OK(ozarr_attr_get_numbers(x, "reals", OZARR_FLOAT64, found, 3, &count));
    CHECK(count == 2 && memcmp(found, reals, sizeof reals) == 0);
    OK(ozarr_attr_set_numbers(x, "valid_range", OZARR_FLOAT32, singles, 2));
    OK(ozarr_attr_get_json(x, "valid_range", buf, sizeof buf, NULL));
    TEXT(buf, "[0.1,-1e38]");
    OK(ozarr_attr_set_numbers(x, "valid_range", OZARR_INT16, small, 2));
    OK(ozarr_attr_get_numbers(x, "valid_range", OZARR_INT16, shorts, 2, &count));
    CHECK(memcmp(small, shorts, sizeof small) == 0);
    OK(ozarr_attr_get_numbers(x, "f", OZARR_FLOAT32, &single, 1, &count));
    CHECK(count == 1 && single == 0.1f);
    ERR_SAYS(OZARR_ERR_TYPE, "element 0", "0.1", ozarr_attr_get_numbers(x, "reals", OZARR_INT64, got, 3, &count));
    ERR(OZARR_ERR_TYPE, ozarr_attr_get_numbers(x, "string", OZARR_FLOAT64, found, 3, &count));
    ERR(OZARR_ERR_TYPE, ozarr_attr_get_numbers(x, "list", OZARR_BOOL, found, 3, &count));
    ERR(OZARR_ERR_ARGUMENT, ozarr_attr_get_numbers(x, "list", 12345, found, 3, &count));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "cap", "-1", ozarr_attr_get_numbers(x, "list", OZARR_INT64, got, -1, &count));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "count", "-2", ozarr_attr_set_numbers(x, "list", OZARR_INT64, list, -2));
    ERR_SAYS(OZARR_ERR_LIMIT, "count", "", ozarr_attr_set_numbers(x, "list", OZARR_INT64, list, INT64_MAX));
    reals[1] = NAN;
    ERR_SAYS(OZARR_ERR_RANGE, "\"reals\"", "element 1 is NaN", ozarr_attr_set_numbers(x, "reals", OZARR_FLOAT64, reals, 2));
    OK(ozarr_attr_set_numbers(x, "list", OZARR_INT64, NULL, 0));
    OK(ozarr_attr_get_json(x, "list", buf, sizeof buf, NULL));
    TEXT(buf, "[]");
}

static void lists_of_texts(ozarr_node *x) {
    const char *const meanings[] = {"land", "", "sea"};
    char buf[64];
    size_t len = 0;
    int64_t count = 0;
    OK(ozarr_attr_set_strings(x, "flag_meanings", meanings, 3));
    OK(ozarr_attr_get_strings(x, "flag_meanings", buf, sizeof buf, &len, &count));
    CHECK(count == 3 && len == 9 && memcmp(buf, "land\0\0sea", 10) == 0);
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "9", "10", ozarr_attr_get_strings(x, "flag_meanings", buf, 9, &len, &count));
    OK(ozarr_attr_get_strings(x, "s", buf, sizeof buf, &len, &count));
    CHECK(count == 1 && len == 13);
    OK(ozarr_attr_set_strings(x, "none", NULL, 0));
    OK(ozarr_attr_get_strings(x, "none", buf, sizeof buf, &len, &count));
    CHECK(count == 0 && len == 0);
    ERR(OZARR_ERR_TYPE, ozarr_attr_get_strings(x, "reals", buf, sizeof buf, &len, &count));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "count", "-1", ozarr_attr_set_strings(x, "none", meanings, -1));
    OK(ozarr_attr_set_json(x, "nul", "[\"a\", \"b\\u0000c\"]"));
    ERR_SAYS(OZARR_ERR_RANGE, "element 1", "NUL", ozarr_attr_get_strings(x, "nul", buf, sizeof buf, &len, &count));
}

static void batches(ozarr_node *x, ozarr_node *other) {
    char buf[256];
    int64_t i = 0;
    OK(ozarr_attrs_set(x, "{\"a\": 1, \"b\": [2]}"));
    OK(ozarr_attrs_get(x, buf, sizeof buf, NULL));
    CHECK(strstr(buf, "\"b\"") != NULL && strstr(buf, "integer") == NULL);
    ERR_SAYS(OZARR_ERR_TYPE, "[1]", "object", ozarr_attrs_set(x, "[1]"));
    ERR(OZARR_ERR_STATE, ozarr_attrs_commit(x));
    OK(ozarr_attrs_begin(x));
    ERR(OZARR_ERR_STATE, ozarr_attrs_begin(x));
    OK(ozarr_attr_set_int64(x, "a", 2));
    OK(ozarr_attr_get_int64(x, "a", &i));
    EQUAL(i, 2);
    OK(ozarr_attrs_commit(x));
    /* What another handle has set is seen after a refresh; what it collects is not. */
    OK(ozarr_node_refresh(other, NULL, 0));
    OK(ozarr_attr_set_int64(other, "c", 5));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_attr_get_int64(x, "c", &i));
    OK(ozarr_node_refresh(x, NULL, 0));
    OK(ozarr_attr_get_int64(x, "c", &i));
    EQUAL(i, 5);
    /* Several at once, beside what the other has set since; all or none. */
    OK(ozarr_attr_set_int64(other, "d", 6));
    OK(ozarr_node_set(x, "attributes", "{\"a\": 2, \"e\": [7]}"));
    OK(ozarr_attr_get_int64(x, "d", &i));
    EQUAL(i, 6);
    ERR_SAYS(OZARR_ERR_TYPE, "[1]", "object", ozarr_node_set(x, "attributes", "[1]"));
    ERR_SAYS(OZARR_ERR_NAME, "empty", "", ozarr_node_set(x, "attributes", "{\"f\": 1, \"\": 2}"));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_attr_get_int64(x, "f", &i));
    OK(ozarr_attrs_begin(other));
    OK(ozarr_attr_set_int64(other, "a", 3));
}

/* The array's own type, and what xarray wants of `_FillValue` in format 3. */
static void of_an_array(ozarr_array *a, int32_t format) {
    ozarr_node *x = ozarr_array_node(a);
    int8_t range[2] = {-100, 100}, got[2] = {0, 0};
    int64_t count = 0;
    double f = 0;
    char buf[64];
    OK(ozarr_attr_set_numbers(x, "valid_range", OZARR_AS_STORED, range, 2));
    OK(ozarr_attr_get_numbers(x, "valid_range", OZARR_AS_STORED, got, 2, &count));
    CHECK(memcmp(range, got, sizeof range) == 0);
    OK(ozarr_attr_set_double(x, "_FillValue", -9.0));
    OK(ozarr_attr_get_json(x, "_FillValue", buf, sizeof buf, NULL));
    TEXT(buf, "-9.0");
    ozarr_array *real = NULL;
    const int64_t shape[] = {1};
    ozarr_spec *s = NULL;
    OK(ozarr_spec_new(OZARR_FLOAT32, 1, shape, &s));
    OK(ozarr_spec_set_zarr_format(s, format));
    OK(ozarr_array_create_ex(format == 2 ? "attr2.zarr/real" : "attr3.zarr/real", s, OZARR_CREATE_NEW, &real));
    OK(ozarr_attr_set_double(ozarr_array_node(real), "_FillValue", 0.5));
    OK(ozarr_attr_get_json(ozarr_array_node(real), "_FillValue", buf, sizeof buf, NULL));
    TEXT(buf, format == 2 ? "0.5" : "\"AAAAAAAA4D8=\"");
    OK(ozarr_attr_get_double(ozarr_array_node(real), "_FillValue", &f));
    CHECK(f == 0.5);
    ozarr_array_free(real);
    ozarr_spec_free(s);
}

static void every(ozarr_node *x) {
    kinds(x);
    typed(x);
    numbers(x);
    lists_of_texts(x);
}

int main(void) {
    int64_t shape[] = {1};
    for (int32_t format = 2; format <= 3; format++) {
        ozarr_store *st = NULL;
        ozarr_group *g = NULL, *g2 = NULL;
        ozarr_array *a = NULL, *a2 = NULL;
        ozarr_spec *s = NULL;
        OK(ozarr_store_open(format == 2 ? "attr2.zarr" : "attr3.zarr", "r+", &st));
        OK(ozarr_group_create_at(st, "", format, OZARR_CREATE_NEW, &g));
        OK(ozarr_spec_new(OZARR_INT8, 1, shape, &s));
        OK(ozarr_spec_set_zarr_format(s, format));
        OK(ozarr_array_create_at(st, "a", s, OZARR_CREATE_NEW, &a));
        every(ozarr_array_node(a));
        every(ozarr_group_node(g));
        of_an_array(a, format);
        OK(ozarr_array_open_at(st, "a", &a2));
        OK(ozarr_group_open_at(st, "", &g2));
        batches(ozarr_array_node(a), ozarr_array_node(a2));
        batches(ozarr_group_node(g), ozarr_group_node(g2));
        ozarr_array_free(a2);
        ozarr_group_free(g2);
        int64_t i = 0;
        OK(ozarr_node_refresh(ozarr_array_node(a), NULL, 0));
        OK(ozarr_attr_get_int64(ozarr_array_node(a), "a", &i));
        EQUAL(i, 2);
        ERR(OZARR_ERR_TYPE, ozarr_attr_get_numbers(ozarr_group_node(g), "a", OZARR_BY_DTYPE, &i, 1, &i));
        ERR(OZARR_ERR_ARGUMENT, ozarr_attr_get_numbers(ozarr_group_node(g), "a", OZARR_AS_STORED, &i, 1, &i));
        ozarr_array_free(a);
        ozarr_group_free(g);
        ozarr_spec_free(s);
        OK(ozarr_store_close(st));
    }
    return finish();
}
