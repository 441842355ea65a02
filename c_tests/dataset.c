/* Datasets: dimensions, variables, coordinates, packing, times; what is written without being asked for. */
#include "table.h"
#include <math.h>
#include <stdbool.h>

static char buf[4096];
static size_t len;

/* The dimensions as "x=4 time=3", then the variables, coordinates with a star: "t time* x*". */
static const char *listing(const ozarr_dataset *ds) {
    static char all[1024];
    int64_t n = 0;
    size_t used = 0;
    all[0] = 0;
    OK(ozarr_dataset_dimension_count(ds, &n));
    for (int64_t i = 0; i < n; i++) {
        int64_t length = -1;
        OK(ozarr_dataset_dimension(ds, i, buf, sizeof buf, &len, &length));
        used += (size_t)snprintf(all + used, sizeof all - used, "%s=%d ", buf, (int)length);
    }
    OK(ozarr_dataset_variable_count(ds, &n));
    for (int64_t i = 0; i < n; i++) {
        bool coordinate = false;
        OK(ozarr_dataset_variable(ds, i, buf, sizeof buf, &len, &coordinate));
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s ", buf, coordinate ? "*" : "");
    }
    return all;
}

static bool exists(const char *path) {
    FILE *f = fopen(path, "rb");
    if (f != NULL) fclose(f);
    return f != NULL;
}

static void write_and_read(int32_t format, const char *location) {
    static const char *const dims[] = {"time", "x"}, *const wrong[] = {"time", "tmie"};
    ozarr_dataset *ds = NULL;
    ozarr_array *t = NULL, *time = NULL, *found = NULL;
    double x[] = {0.5, 1.5, 2.5}, values[] = {20.25, NAN, -3}, got[6];
    int64_t seconds[] = {0, 3600}, counts[2], count = 0, start[] = {1, 0}, shape[] = {1, 3};
    int16_t missing = -32768, raw[6];
    bool defined = false;

    OK(ozarr_dataset_create(location, format, OZARR_CREATE_NEW, &ds));
    OK(ozarr_dataset_define_coordinate(ds, "x", OZARR_FLOAT64, 3, 0, x, sizeof x, "m", NULL));
    OK(ozarr_dataset_define_time(ds, "time", 2, 0, "hours since 2026-03-01", "noleap", &time));
    OK(ozarr_array_write_times(time, NULL, "seconds since 2026-03-01", seconds, sizeof seconds));
    seconds[1] = 1;
    ERR_SAYS(OZARR_ERR_RANGE, "[1]", "1", ozarr_array_write_times(time, NULL, "seconds since 2026-03-01", seconds, sizeof seconds));
    ozarr_variable v = OZARR_VARIABLE_INIT;
    v.type = OZARR_INT16, v.rank = 2, v.dimensions = dims, v.units = "K", v.long_name = "temperature", v.missing = &missing;
    v.scale_factor = 0.25, v.add_offset = 20, v.attributes = "{\"valid_min\": -100}";
    OK(ozarr_dataset_define_variable_ex(ds, "t", &v, OZARR_CREATE_NEW, &t));
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start, region.shape = shape;
    memory.data = values, memory.size = sizeof values, memory.type = OZARR_FLOAT64;
    OK(ozarr_array_write_packed(t, &region, &memory));
    values[0] = 1e6;
    ERR_SAYS(OZARR_ERR_RANGE, "[0, 0]", "scale_factor 0.25", ozarr_array_write_packed(t, &region, &memory));
    OK(ozarr_array_read(t, OZARR_INT16, raw, sizeof raw));
    CHECK(raw[0] == missing && raw[3] == 1 && raw[4] == missing && raw[5] == -92);
    OK(ozarr_array_missing_value(t, &raw[0], sizeof raw[0], &defined));
    CHECK(defined && raw[0] == missing);
    OK(ozarr_dataset_define_variable(ds, "height", OZARR_FLOAT32, 1, dims + 1, NULL));
    OK(ozarr_dataset_set_coordinate(ds, "height"));

    ERR_SAYS(OZARR_ERR_NOT_FOUND, "tmie", "time", ozarr_dataset_define_variable(ds, "w", OZARR_INT8, 2, wrong, NULL));
    ERR_SAYS(OZARR_ERR_EXISTS, "\"x\"", "4", ozarr_dataset_define_dimension(ds, "x", 4));
    ERR_SAYS(OZARR_ERR_NAME, "a/b", "", ozarr_dataset_define_dimension(ds, "a/b", 4));
    ERR(OZARR_ERR_ARGUMENT, ozarr_dataset_define_dimension(ds, "n", -1));
    ERR(OZARR_ERR_EXISTS, ozarr_dataset_define_variable_ex(ds, "t", &v, OZARR_CREATE_NEW, NULL));
    v.struct_size = 8;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "struct_size", "variable", ozarr_dataset_define_variable_ex(ds, "w", &v, OZARR_CREATE_NEW, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "units", "furlongs", ozarr_dataset_define_time(ds, "z", 2, 0, "furlongs since 2026-01-01", NULL, NULL));
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "calendar", "mayan", ozarr_dataset_define_time(ds, "z", 2, 0, "days since 2026-01-01", "mayan", NULL));
    ERR(OZARR_ERR_BOUNDS, ozarr_dataset_variable(ds, 99, buf, sizeof buf, &len, NULL));
    ozarr_array_free(t);
    ozarr_array_free(time);
    OK(ozarr_dataset_close(ds));

    OK(ozarr_dataset_open(location, "r", &ds));
    TEXT(listing(ds), "x=3 time=2 height* t time* x* ");
    OK(ozarr_dataset_dimension_length(ds, "time", &count, NULL));
    EQUAL(count, 2);
    ERR_SAYS(OZARR_ERR_NOT_FOUND, "tt", "height, t, time, x", ozarr_dataset_open_variable(ds, "tt", &found));
    OK(ozarr_dataset_open_variable(ds, "t", &found));
    memory.data = got, memory.size = sizeof got;
    OK(ozarr_array_read_unpacked(found, NULL, &memory));
    CHECK(isnan(got[0]) && isnan(got[2]) && got[3] == 20.25 && isnan(got[4]) && got[5] == -3);
    memory.type = OZARR_INT32;
    ERR_SAYS(OZARR_ERR_TYPE, "floating-point", "int32", ozarr_array_read_unpacked(found, NULL, &memory));
    OK(ozarr_attrs_get(ozarr_array_node(found), buf, sizeof buf, &len));
    CHECK(strstr(buf, "_ARRAY_DIMENSIONS") == NULL && strstr(buf, "\"coordinates\": \"height\"") != NULL);
    CHECK(strstr(buf, "\"_FillValue\": -32768") != NULL);
    OK(ozarr_node_set(ozarr_array_node(found), "raw_attributes", "true"));
    OK(ozarr_attrs_get(ozarr_array_node(found), buf, sizeof buf, &len));
    CHECK((strstr(buf, "_ARRAY_DIMENSIONS") != NULL) == (format == 2));
    ozarr_array_free(found);
    OK(ozarr_dataset_open_variable(ds, "time", &time));
    OK(ozarr_array_read_times(time, NULL, "minutes since 2026-02-28", counts, sizeof counts));
    CHECK(counts[0] == 1440 && counts[1] == 1500);
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_read_times(time, NULL, "minutes since 2026-02-28", counts, 8));
    ozarr_array_free(time);
    ERR(OZARR_ERR_READ_ONLY, ozarr_dataset_define_dimension(ds, "n", 1));
    OK(ozarr_dataset_close(ds));
}

/* Arrays with named dimensions are consolidated when they are closed; others are not; options say otherwise. */
static void consolidation(void) {
    static const char *const name[] = {"x"};
    int64_t shape[] = {3};
    ozarr_spec *s = NULL;
    ozarr_array *a = NULL;
    ozarr_store *st = NULL;
    ozarr_group *g = NULL;
    bool current = false;
    OK(ozarr_array_create("plain.zarr/a", OZARR_INT8, 1, shape, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_close(a));
    OK(ozarr_group_open("plain.zarr", "r", &g));
    OK(ozarr_group_consolidated_check(g, buf, sizeof buf, &len, &current));
    CHECK(!current && strstr(buf, "no consolidated") != NULL);
    ozarr_group_free(g);

    OK(ozarr_spec_new(OZARR_INT8, 1, shape, &s));
    OK(ozarr_spec_set_dimension_names(s, name));
    OK(ozarr_array_create_ex("named.zarr/g/a", s, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_close(a));
    for (int i = 0; i < 2; i++) {
        OK(ozarr_group_open(i ? "named.zarr/g" : "named.zarr", "r", &g));
        OK(ozarr_group_consolidated_check(g, buf, sizeof buf, &len, &current));
        CHECK(current && len == 0);
        ozarr_group_free(g);
    }
    static const char *const options[][3] = {{"consolidate", "never", NULL}, {"consolidate", "close", NULL}, {"consolidate", "step", NULL}};
    for (int i = 0; i < 3; i++) {
        char place[32];
        snprintf(place, sizeof place, "option%d.zarr", i);
        OK(ozarr_store_open_ex(NULL, place, "r+", options[i], &st));
        OK(ozarr_group_create_at(st, "", 2, OZARR_CREATE_NEW, &g));
        ozarr_group_free(g);
        OK(ozarr_array_create_at(st, "a", s, OZARR_CREATE_NEW, &a));
        ozarr_array_free(a);
        snprintf(place, sizeof place, "option%d.zarr/.zmetadata", i);
        EQUAL(exists(place), i == 2);
        OK(ozarr_store_close(st));
        EQUAL(exists(place), i > 0);
    }
    static const char *const bad[] = {"consolidate", "maybe", NULL};
    ERR_SAYS(OZARR_ERR_ARGUMENT, "consolidate", "maybe", ozarr_store_open_ex(NULL, "x.zarr", "r+", bad, &st));

    /* Names that come later. */
    OK(ozarr_array_open("plain.zarr/a", "r+", &a));
    OK(ozarr_array_set_dimension_names(a, name));
    char found[8];
    bool named = false;
    OK(ozarr_array_dimension_name(a, 0, found, sizeof found, &len, &named));
    CHECK(named && strcmp(found, "x") == 0);
    OK(ozarr_array_close(a));
    OK(ozarr_group_open("plain.zarr", "r", &g));
    OK(ozarr_group_consolidated_check(g, buf, sizeof buf, &len, &current));
    CHECK(current);
    ozarr_group_free(g);
    ozarr_spec_free(s);
}

/* What does not agree is an error that names the arrays. */
static void disagreement(void) {
    static const char *const x[] = {"x"};
    int64_t shape[] = {3};
    ozarr_spec *s = NULL;
    ozarr_array *a = NULL;
    ozarr_dataset *ds = NULL;
    int8_t more = 1;
    OK(ozarr_array_create("odd.zarr/nameless", OZARR_INT8, 1, shape, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_close(a));
    ERR_SAYS(OZARR_ERR_METADATA, "nameless", "dimension 0", ozarr_dataset_open("odd.zarr", "r", &ds));
    OK(ozarr_node_erase("odd.zarr/nameless"));
    OK(ozarr_spec_new(OZARR_INT8, 1, shape, &s));
    OK(ozarr_spec_set_dimension_names(s, x));
    for (int i = 0; i < 2; i++) {
        OK(ozarr_array_create_ex(i ? "odd.zarr/first" : "odd.zarr/second", s, OZARR_CREATE_NEW, &a));
        OK(ozarr_array_close(a));
    }
    OK(ozarr_dataset_open("odd.zarr", "r+", &ds));
    OK(ozarr_dataset_resize_dimension(ds, "x", 5));
    OK(ozarr_dataset_open_variable(ds, "second", &a));
    OK(ozarr_array_append(a, 0, 1, OZARR_INT8, &more, 1));
    ozarr_array_free(a);
    ERR_SAYS(OZARR_ERR_METADATA, "first", "second", ozarr_dataset_close(ds));
    int64_t length = 0, longest = 0;
    OK(ozarr_dataset_open("odd.zarr", "r", &ds));
    OK(ozarr_dataset_dimension_length(ds, "x", &length, &longest));
    CHECK(length == 5 && longest == 6);
    OK(ozarr_dataset_close(ds));
    OK(ozarr_dataset_open("odd.zarr", "r+", &ds));
    OK(ozarr_dataset_resize_dimension(ds, "x", 5));
    OK(ozarr_dataset_close(ds));
    ozarr_spec_free(s);
}

static void calendars(void) {
    static const struct { const char *units, *calendar; int64_t count; const char *text; } cases[] = {
        {"days since 2000-02-28", NULL, 2, "2000-03-01 00:00:00"},
        {"days since 2000-02-28", "noleap", 2, "2000-03-02 00:00:00"},
        {"days since 2000-02-28", "360_day", 2, "2000-02-30 00:00:00"},
        {"days since 1582-10-04", "standard", 1, "1582-10-15 00:00:00"},
        {"days since 1582-10-04", "proleptic_gregorian", 1, "1582-10-05 00:00:00"},
        {"days since 1900-02-28", "julian", 1, "1900-02-29 00:00:00"},
        {"days since 1999-02-28", "all_leap", 1, "1999-02-29 00:00:00"},
        {"milliseconds since 1970-01-01 00:00:00 +01:00", NULL, 500, "1969-12-31 23:00:00.5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t count = 0;
        OK(ozarr_time_to_text(cases[i].units, cases[i].calendar, cases[i].count, buf, sizeof buf, &len));
        TEXT(buf, cases[i].text);
        OK(ozarr_time_from_text(cases[i].units, cases[i].calendar, cases[i].text, &count));
        EQUAL(count, cases[i].count);
    }
}

/* A variable's specification leaves the shape to the dimensions; its compression can also be said without one. */
static void specifications_without_a_shape(void) {
    static const char *const dims[] = {"y", "x"};
    static const int64_t inner[] = {2, 2}, chunks[] = {2, 4}, other[] = {9, 9};
    ozarr_dataset *ds = NULL;
    ozarr_spec *s = NULL;
    ozarr_array *a = NULL;
    double odd = -9999;
    int64_t shape[2];
    char text[4096];
    OK(ozarr_dataset_create("specs.zarr", 3, OZARR_CREATE_NEW, &ds));
    OK(ozarr_dataset_define_dimension(ds, "y", 6));
    OK(ozarr_dataset_define_dimension(ds, "x", 4));
    OK(ozarr_spec_new(OZARR_FLOAT32, 2, NULL, &s));
    OK(ozarr_spec_set_chunks(s, chunks));
    OK(ozarr_spec_set_inner_chunks(s, inner));
    ozarr_variable v = OZARR_VARIABLE_INIT;
    v.rank = 2, v.dimensions = dims, v.spec = s, v.compressor = "blosc:zstd", v.shuffle = OZARR_SHUFFLE_BIT, v.keep_bits = 7;
    OK(ozarr_dataset_define_variable_ex(ds, "t", &v, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_shape(a, shape));
    CHECK(shape[0] == 6 && shape[1] == 4);
    OK(ozarr_node_metadata(ozarr_array_node(a), text, sizeof text, NULL));
    CHECK(strstr(text, "bitshuffle") && strstr(text, "keepbits") && strstr(text, "sharding_indexed"));
    CHECK(!strstr(text, "scale_factor") && !strstr(text, "add_offset"));
    ozarr_array_free(a);
    OK(ozarr_spec_set_shape(s, other));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "[9, 9]", "[6, 4]", ozarr_dataset_define_variable_ex(ds, "u", &v, OZARR_CREATE_NEW, NULL));
    v.spec = NULL, v.type = OZARR_FLOAT64, v.compressor = NULL, v.level = 3;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "variable->level", "compressor", ozarr_dataset_define_variable_ex(ds, "u", &v, OZARR_CREATE_NEW, NULL));
    /* Rounding to 7 bits would store another number, which readers take for data. */
    v.level = 0, v.shuffle = OZARR_SHUFFLE_BYTE, v.missing = &odd;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "-9999.0", "-9984.0", ozarr_dataset_define_variable_ex(ds, "u", &v, OZARR_CREATE_NEW, NULL));
    v.missing = NULL;
    /* Members that contradict each other. */
    v.units = "m", v.attributes = "{\"units\": \"K\"}";
    ERR_SAYS(OZARR_ERR_ARGUMENT, "variable->units", "variable->attributes", ozarr_dataset_define_variable_ex(ds, "u", &v, OZARR_CREATE_NEW, NULL));
    v.attributes = NULL, v.calendar = "noleap";
    ERR_SAYS(OZARR_ERR_ARGUMENT, "variable->calendar", "\"m\"", ozarr_dataset_define_variable_ex(ds, "u", &v, OZARR_CREATE_NEW, NULL));
    v.calendar = NULL, v.attributes = "{\"units\": \"m\"}";
    OK(ozarr_dataset_define_variable_ex(ds, "u", &v, OZARR_CREATE_NEW, &a));
    OK(ozarr_node_metadata(ozarr_array_node(a), text, sizeof text, NULL));
    CHECK(strstr(text, "numcodecs.shuffle") && strstr(text, "zstd"));
    ozarr_array_free(a);
    ozarr_spec_free(s);
    OK(ozarr_dataset_close(ds));
}

/* A dataset's handle knows what was appended to its variables, and cuts them under the feet of an appender, which is told. */
static void appended_steps_are_seen(void) {
    static const char *const dims[] = {"time"};
    const int32_t steps[] = {1, 2, 3, 4, 5};
    ozarr_dataset *ds = NULL;
    ozarr_array *time = NULL, *t = NULL;
    ozarr_appender *out = NULL;
    int64_t length = 0, longest = 0, position = 0;
    OK(ozarr_dataset_create("appended.zarr", 0, OZARR_CREATE_NEW, &ds));
    OK(ozarr_dataset_define_time(ds, "time", 0, 2, "seconds since 2026-01-01", NULL, &time));
    OK(ozarr_dataset_define_variable(ds, "t", OZARR_INT32, 1, dims, &t));
    OK(ozarr_array_append(time, 0, 5, OZARR_INT32, steps, sizeof steps));
    OK(ozarr_dataset_dimension_length(ds, "time", &length, &longest));
    CHECK(length == 0 && longest == 5);
    OK(ozarr_appender_open(t, 0, 1, 0, &out));
    OK(ozarr_appender_append(out, 5, OZARR_INT32, steps, sizeof steps));
    OK(ozarr_dataset_dimension_length(ds, "time", &length, &longest));
    CHECK(length == 5 && longest == 5);
    OK(ozarr_dataset_resize_dimension(ds, "time", 5));
    OK(ozarr_appender_append(out, 1, OZARR_INT32, steps, sizeof *steps));
    OK(ozarr_dataset_resize_dimension(ds, "time", 3));
    ERR_SAYS(OZARR_ERR_STATE, "shape [3]", "has changed it", ozarr_appender_append(out, 1, OZARR_INT32, steps, sizeof *steps));
    ozarr_appender_free(out);
    OK(ozarr_appender_open(t, 0, 1, 0, &out));
    OK(ozarr_appender_position(out, &position, NULL));
    EQUAL(position, 3);
    OK(ozarr_appender_close(out));
    ozarr_array_free(t);
    ozarr_array_free(time);
    OK(ozarr_dataset_close(ds));
}

int main(void) {
    write_and_read(3, "three.zarr/model");
    write_and_read(2, "two.zarr");
    consolidation();
    disagreement();
    calendars();
    specifications_without_a_shape();
    appended_steps_are_seen();
    return finish();
}
