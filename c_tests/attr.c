/* Attributes of arrays and groups: every JSON kind, typed and as text, one by one and in one write. */
#include "table.h"
#include <math.h>

/* The same tests for both kinds of node. X is array or group. */
#define TESTS(X)                                                                                                                \
    static void kinds_##X(ozarr_##X *x) {                                                                                       \
        static const struct { const char *name, *json; ozarr_json_kind kind; } table[] = {                                      \
            {"null", "null", OZARR_JSON_NULL},           {"bool", "true", OZARR_JSON_BOOL},                                     \
            {"integer", "-12", OZARR_JSON_INTEGER},      {"number", "1.5e+3", OZARR_JSON_NUMBER},                                 \
            {"string", "\"caf\xc3\xa9\"", OZARR_JSON_STRING}, {"array", "[1,[2],{}]", OZARR_JSON_ARRAY},                        \
            {"object", "{\"b\":1,\"a\":2}", OZARR_JSON_OBJECT}, {"big", "123456789012345678901234567890", OZARR_JSON_INTEGER},  \
        };                                                                                                                      \
        size_t count = 99, n = sizeof table / sizeof *table;                                                                    \
        char buf[256];                                                                                                          \
        OK(ozarr_##X##_attr_count(x, &count));                                                                                  \
        EQUAL(count, 0);                                                                                                        \
        for (size_t i = 0; i < n; i++) OK(ozarr_##X##_attr_set_json(x, table[i].name, table[i].json));                          \
        OK(ozarr_##X##_attr_count(x, &count));                                                                                  \
        EQUAL(count, n);                                                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                                        \
            ozarr_json_kind kind = -1;                                                                                          \
            size_t len = 0;                                                                                                     \
            OK(ozarr_##X##_attr_name(x, i, buf, sizeof buf, NULL));                                                             \
            TEXT(buf, table[i].name);                                                                                           \
            OK(ozarr_##X##_attr_kind(x, table[i].name, &kind));                                                                 \
            EQUAL(kind, table[i].kind);                                                                                         \
            OK(ozarr_##X##_attr_get_json(x, table[i].name, buf, sizeof buf, &len));                                             \
            EQUAL(len, strlen(buf));                                                                                            \
            TEXT(buf, table[i].json);                                                                                           \
        }                                                                                                                       \
        ERR_SAYS(OZARR_ERR_BOUNDS, "8", "", ozarr_##X##_attr_name(x, n, buf, sizeof buf, NULL));                                \
        OK(ozarr_##X##_attr_erase(x, "array"));                                                                                 \
        ERR_SAYS(OZARR_ERR_NOT_FOUND, "array", "", ozarr_##X##_attr_erase(x, "array"));                                         \
        ERR_SAYS(OZARR_ERR_ARGUMENT, "bad", "column 5", ozarr_##X##_attr_set_json(x, "bad", "{\"a\":"));                        \
        ERR_SAYS(OZARR_ERR_ARGUMENT, "JSON", "line 2, column 1", ozarr_##X##_attrs_set(x, "{\n]"));                             \
    }                                                                                                                           \
    static void typed_##X(ozarr_##X *x) {                                                                                       \
        int64_t i = 0;                                                                                                          \
        double f = 0;                                                                                                           \
        char buf[64];                                                                                                           \
        size_t len = 0;                                                                                                         \
        OK(ozarr_##X##_attr_set_int64(x, "i", INT64_MIN));                                                                      \
        OK(ozarr_##X##_attr_get_int64(x, "i", &i));                                                                             \
        CHECK(i == INT64_MIN);                                                                                                  \
        OK(ozarr_##X##_attr_set_double(x, "f", 0.1));                                                                           \
        OK(ozarr_##X##_attr_get_double(x, "f", &f));                                                                            \
        CHECK(f == 0.1);                                                                                                        \
        OK(ozarr_##X##_attr_get_double(x, "integer", &f));                                                                      \
        CHECK(f == -12);                                                                                                        \
        OK(ozarr_##X##_attr_set_string(x, "s", "m/s \"quoted\"\n"));                                                            \
        OK(ozarr_##X##_attr_get_string(x, "s", buf, sizeof buf, &len));                                                         \
        TEXT(buf, "m/s \"quoted\"\n");                                                                                          \
        ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "4", "14", ozarr_##X##_attr_get_string(x, "s", buf, 4, &len));                          \
        EQUAL(len, 13);                                                                                                         \
        ERR(OZARR_ERR_RANGE, ozarr_##X##_attr_set_double(x, "f", NAN));                                                         \
        ERR(OZARR_ERR_RANGE, ozarr_##X##_attr_set_double(x, "f", -INFINITY));                                                   \
        ERR(OZARR_ERR_RANGE, ozarr_##X##_attr_get_int64(x, "big", &i));                                                         \
        ERR(OZARR_ERR_TYPE, ozarr_##X##_attr_get_int64(x, "string", &i));                                                       \
        ERR(OZARR_ERR_TYPE, ozarr_##X##_attr_get_double(x, "bool", &f));                                                        \
        ERR(OZARR_ERR_TYPE, ozarr_##X##_attr_get_string(x, "integer", buf, sizeof buf, NULL));                                  \
        ERR_SAYS(OZARR_ERR_NOT_FOUND, "strin", "string", ozarr_##X##_attr_get_string(x, "strin", buf, sizeof buf, NULL));       \
        uint64_t u = 0, big = UINT64_MAX;                                                                                        \
        int64_t list[3] = {INT64_MIN, 0, INT64_MAX}, got[3];                                                                     \
        double reals[2] = {0.1, -1e300}, found[3];                                                                               \
        OK(ozarr_##X##_attr_set_uint64(x, "u", big));                                                                            \
        OK(ozarr_##X##_attr_get_uint64(x, "u", &u));                                                                             \
        CHECK(u == big);                                                                                                         \
        ERR(OZARR_ERR_RANGE, ozarr_##X##_attr_get_int64(x, "u", &i));                                                            \
        ERR_SAYS(OZARR_ERR_RANGE, "i", "-9223", ozarr_##X##_attr_get_uint64(x, "i", &u));                                        \
        OK(ozarr_##X##_attr_set_int64s(x, "list", list, 3));                                                                     \
        OK(ozarr_##X##_attr_get_int64s(x, "list", got, 3, &len));                                                                \
        CHECK(len == 3 && memcmp(got, list, sizeof list) == 0);                                                                  \
        OK(ozarr_##X##_attr_get_doubles(x, "list", found, 3, &len));                                                             \
        CHECK(found[2] == 9223372036854775807.0);                                                                                \
        ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "2", "3", ozarr_##X##_attr_get_int64s(x, "list", got, 2, &len));                         \
        OK(ozarr_##X##_attr_set_doubles(x, "reals", reals, 2));                                                                  \
        OK(ozarr_##X##_attr_get_doubles(x, "reals", found, 3, &len));                                                            \
        CHECK(len == 2 && memcmp(found, reals, sizeof reals) == 0);                                                              \
        OK(ozarr_##X##_attr_get_doubles(x, "f", found, 3, &len));                                                                \
        CHECK(len == 1 && found[0] == 0.1);                                                                                      \
        ERR(OZARR_ERR_TYPE, ozarr_##X##_attr_get_int64s(x, "reals", got, 3, &len));                                              \
        ERR(OZARR_ERR_TYPE, ozarr_##X##_attr_get_doubles(x, "string", found, 3, &len));                                          \
        reals[1] = NAN;                                                                                                          \
        ERR(OZARR_ERR_RANGE, ozarr_##X##_attr_set_doubles(x, "reals", reals, 2));                                                \
        OK(ozarr_##X##_attr_set_int64s(x, "list", NULL, 0));                                                                     \
        OK(ozarr_##X##_attr_get_json(x, "list", buf, sizeof buf, &len));                                                         \
        TEXT(buf, "[]");                                                                                                         \
        CHECK(i == INT64_MIN && f == -12);                                                                                      \
    }                                                                                                                           \
    static void batches_##X(ozarr_##X *x, ozarr_##X *other) {                                                                   \
        char buf[256];                                                                                                          \
        int64_t i = 0;                                                                                                          \
        OK(ozarr_##X##_attrs_set(x, "{\"a\": 1, \"b\": [2]}"));                                                                 \
        OK(ozarr_##X##_attrs_get(x, buf, sizeof buf, NULL));                                                                    \
        CHECK(strstr(buf, "\"b\"") != NULL && strstr(buf, "integer") == NULL);                                                  \
        ERR_SAYS(OZARR_ERR_TYPE, "[1]", "object", ozarr_##X##_attrs_set(x, "[1]"));                                              \
        ERR(OZARR_ERR_STATE, ozarr_##X##_attrs_commit(x));                                                                      \
        OK(ozarr_##X##_attrs_begin(x));                                                                                         \
        ERR(OZARR_ERR_STATE, ozarr_##X##_attrs_begin(x));                                                                       \
        OK(ozarr_##X##_attr_set_int64(x, "a", 2));                                                                              \
        OK(ozarr_##X##_attr_get_int64(x, "a", &i));                                                                             \
        EQUAL(i, 2);                                                                                                            \
        OK(ozarr_##X##_attrs_commit(x));                                                                                        \
        OK(ozarr_##X##_attrs_begin(other));                                                                                     \
        OK(ozarr_##X##_attr_set_int64(other, "a", 3));                                                                          \
        ozarr_##X##_free(other);                                                                                                \
        OK(ozarr_##X##_attr_get_int64(x, "a", &i));                                                                             \
        EQUAL(i, 2);                                                                                                            \
    }
TESTS(array)
TESTS(group)

int main(void) {
    int64_t shape[] = {1};
    for (int32_t format = 2; format <= 3; format++) {
        ozarr_store *st = NULL;
        ozarr_group *g = NULL, *g2 = NULL;
        ozarr_array *a = NULL, *a2 = NULL;
        ozarr_spec *s = NULL;
        OK(ozarr_store_open(format == 2 ? "attr2.zarr" : "attr3.zarr", "r+", &st));
        OK(ozarr_group_create_at(st, "", format, OZARR_NEW, &g));
        OK(ozarr_spec_new(OZARR_INT8, 1, shape, &s));
        OK(ozarr_spec_set_zarr_format(s, format));
        OK(ozarr_array_create_at(st, "a", s, OZARR_NEW, &a));
        kinds_array(a);
        typed_array(a);
        kinds_group(g);
        typed_group(g);
        OK(ozarr_array_open_at(st, "a", &a2));
        OK(ozarr_group_open_at(st, "", &g2));
        batches_array(a, a2);
        batches_group(g, g2);
        ozarr_array_free(a);
        ozarr_group_free(g);
        ozarr_spec_free(s);
        OK(ozarr_store_close(st));
    }
    return finish();
}
