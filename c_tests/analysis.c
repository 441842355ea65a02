/* Statistics, digests and differences of regions. */
#include "table.h"
#include <math.h>

#define LENGTH(list) (sizeof(list) / sizeof *(list))

static int64_t N4[] = {4}, N2[] = {2}, N0[] = {0}, ONE[] = {1}, LAST[] = {3}, TWO_BACK[] = {-2};
static char digits[33];

/* An array of one dimension in chunks, with values (NULL: none are written). */
static ozarr_array *create(const char *name, ozarr_type type, int64_t length, int64_t chunk, const void *values, size_t size) {
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_spec_new(type, 1, &length, &spec));
    OK(ozarr_spec_set_chunks(spec, &chunk));
    OK(ozarr_array_create_ex(name, spec, OZARR_CREATE_OVERWRITE, &a));
    if (values) OK(ozarr_array_write(a, type, values, size));
    ozarr_spec_free(spec);
    return a;
}

static ozarr_region region_of(const int64_t *start, const int64_t *shape, const int64_t *step) {
    ozarr_region region = OZARR_REGION_INIT;
    region.start = start, region.shape = shape, region.step = step;
    return region;
}

/* Equal, or both NaN. */
static int same(double x, double y) { return isnan(x) ? isnan(y) : fabs(x - y) <= 1e-12 * fabs(y); }

static void statistics_of_all_types_of_numbers(void) {
    const int8_t small[] = {-1, 2, 3, 4};
    const uint64_t large[] = {1, 3, UINT64_MAX, 5};
    const int64_t exact[] = {INT64_MAX, -INT64_MAX, INT64_MAX, -INT64_MAX};
    const float singles[] = {1, NAN, INFINITY, 4};
    const double doubles[] = {-9, NAN, 2, 4};
    const bool truths[] = {true, false, true, true};
    const struct {
        const char *name;
        ozarr_type type;
        const void *values;
        size_t size;
        const int64_t *start, *shape, *step;
        double missing;
        ozarr_summary want;
    } cases[] = {
        {"int8", OZARR_INT8, small, sizeof small, NULL, NULL, NULL, 0, {0, 4, 0, 0, 0, 4, -1, 4, 2, sqrt(3.5), -1, 4}},
        {"a part", OZARR_INT8, small, sizeof small, ONE, N2, NULL, 0, {0, 2, 0, 0, 0, 2, 2, 3, 2.5, 0.5, 2, 3}},
        {"backwards by two", OZARR_INT8, small, sizeof small, LAST, N2, TWO_BACK, 0, {0, 2, 0, 0, 0, 2, 2, 4, 3, 1, 2, 4}},
        {"nothing", OZARR_INT8, small, sizeof small, ONE, N0, NULL, 0, {0, 0, 0, 0, 0, 0, NAN, NAN, NAN, NAN, 0, 0}},
        {"uint64", OZARR_UINT64, large, sizeof large, ONE, N2, NULL, 0, {0, 2, 0, 0, 0, 2, 3, 0x1p64, 0x1p63, 0x1p63, 3, -1}},
        {"int64", OZARR_INT64, exact, sizeof exact, NULL, NULL, NULL, 0, {0, 4, 0, 0, 0, 4, -0x1p63, 0x1p63, 0, 0x1p63, -INT64_MAX, INT64_MAX}},
        {"float32", OZARR_FLOAT32, singles, sizeof singles, NULL, NULL, NULL, 0, {0, 4, 0, 1, 1, 2, 1, 4, 2.5, 1.5, 0, 0}},
        {"missing", OZARR_FLOAT64, doubles, sizeof doubles, NULL, NULL, NULL, -9, {0, 4, 1, 1, 0, 2, 2, 4, 3, 1, 0, 0}},
        {"all fill", OZARR_FLOAT64, NULL, 0, NULL, NULL, NULL, 0, {0, 4, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0}},
        {"bool", OZARR_BOOL, truths, sizeof truths, NULL, NULL, NULL, 0, {0, 4, 0, 0, 0, 4, 0, 1, 0.75, sqrt(0.1875), 0, 1}},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        ozarr_array *a = create("numbers.zarr", cases[i].type, 4, 3, cases[i].values, cases[i].size);
        ozarr_region region = region_of(cases[i].start, cases[i].shape, cases[i].step);
        ozarr_summary found = OZARR_SUMMARY_INIT;
        const ozarr_summary *want = &cases[i].want;
        if (cases[i].missing != 0) OK(ozarr_attr_set_numbers(ozarr_array_node(a), "_FillValue", OZARR_FLOAT64, &cases[i].missing, 1));
        OK(ozarr_array_summarize(a, cases[i].start ? &region : NULL, &found));
        if (found.elements != want->elements || found.missing != want->missing || found.nan != want->nan || found.infinite != want->infinite ||
            found.count != want->count)
            FAIL("%s: elements %" PRId64 ", missing %" PRId64 ", nan %" PRId64 ", infinite %" PRId64 ", count %" PRId64, cases[i].name,
                 found.elements, found.missing, found.nan, found.infinite, found.count);
        if (!same(found.min, want->min) || !same(found.max, want->max) || !same(found.mean, want->mean) || !same(found.std, want->std))
            FAIL("%s: min %g, max %g, mean %g, std %g", cases[i].name, found.min, found.max, found.mean, found.std);
        if (found.min_integer != want->min_integer || found.max_integer != want->max_integer)
            FAIL("%s: exactly %" PRId64 " to %" PRId64, cases[i].name, found.min_integer, found.max_integer);
        ozarr_array_free(a);
    }
}

/* Writes the digest of a region to `digits`. */
static const char *digest(const ozarr_array *a, const ozarr_region *region) {
    size_t len = 0;
    OK(ozarr_array_digest(a, region, digits, sizeof digits, &len));
    EQUAL(len, 32);
    return digits;
}

static void digests_are_of_the_elements_only(void) {
    static int32_t values[2000];
    char whole[33];
    int64_t start[] = {500}, shape[] = {1000}, end[] = {1499}, back[] = {-1};
    for (int i = 0; i < 2000; i++) values[i] = i * i;
    ozarr_array *a = create("a.zarr", OZARR_INT32, 2000, 300, values, sizeof values);
    ozarr_array *b = create("b.zarr", OZARR_INT32, 2000, 7, values, sizeof values);
    ozarr_array *part = create("part.zarr", OZARR_INT32, 1000, 1000, values + 500, 4000);
    ozarr_region middle = region_of(start, shape, NULL), mirrored = region_of(end, shape, back);
    size_t len = 0;
    strcpy(whole, digest(a, NULL));
    TEXT(digest(b, NULL), whole);
    strcpy(whole, digest(part, NULL));
    TEXT(digest(a, &middle), whole);
    TEXT(digest(b, &middle), whole);
    CHECK(strcmp(digest(a, &mirrored), whole) != 0);
    OK(ozarr_array_digest(a, NULL, NULL, 0, &len));
    EQUAL(len, 32);
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_digest(a, NULL, digits, 32, &len));
    ozarr_array_free(a);
    ozarr_array_free(b);
    ozarr_array_free(part);
}

static void differences_of_numbers(void) {
    const double plain[] = {1, 2, 3, 4}, near[] = {1, 2.001, 3, 8}, odd[] = {1, NAN, INFINITY, 4};
    const int64_t whole[] = {1, 2, 3, 4}, beyond[] = {1, 2, 3, (INT64_C(1) << 53) + 1};
    const double rounded[] = {1, 2, 3, 0x1p53};
    const struct {
        const char *name;
        ozarr_type of_a, of_b;
        const void *a, *b;
        const int64_t *start_a, *start_b;
        double absolute, relative;
        int64_t elements, differing, first;
        double largest_absolute, largest_relative;
    } cases[] = {
        {"equal", OZARR_FLOAT64, OZARR_FLOAT64, plain, plain, NULL, NULL, 0, 0, 4, 0, -1, 0, 0},
        {"two differ", OZARR_FLOAT64, OZARR_FLOAT64, plain, near, NULL, NULL, 0, 0, 4, 2, 1, 4, 0.5},
        {"one by more than 0.01", OZARR_FLOAT64, OZARR_FLOAT64, plain, near, NULL, NULL, 0.01, 0, 4, 1, 3, 4, 0.5},
        {"none by more than a half", OZARR_FLOAT64, OZARR_FLOAT64, plain, near, NULL, NULL, 0, 0.5, 4, 0, -1, 0, 0},
        {"nan and infinite", OZARR_FLOAT64, OZARR_FLOAT64, plain, odd, NULL, NULL, 1e300, 0, 4, 2, 1, INFINITY, INFINITY},
        {"nan is nan", OZARR_FLOAT64, OZARR_FLOAT64, odd, odd, NULL, NULL, 0, 0, 4, 0, -1, 0, 0},
        {"int64 and float64", OZARR_INT64, OZARR_FLOAT64, whole, plain, NULL, NULL, 0, 0, 4, 0, -1, 0, 0},
        {"exactly", OZARR_INT64, OZARR_FLOAT64, beyond, rounded, NULL, NULL, 0, 0, 4, 1, 3, 1, 0x1p-53},
        {"parts in two places", OZARR_FLOAT64, OZARR_FLOAT64, plain, plain, N0, ONE, 0, 0, 2, 2, 0, 1, 0.5},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        ozarr_array *a = create("a.zarr", cases[i].of_a, 4, 3, cases[i].a, 32), *b = create("b.zarr", cases[i].of_b, 4, 1, cases[i].b, 32);
        ozarr_region of_a = region_of(cases[i].start_a, N2, NULL), of_b = region_of(cases[i].start_b, N2, NULL);
        ozarr_comparison found = OZARR_COMPARISON_INIT;
        int64_t first[] = {-1};
        OK(ozarr_array_compare(a, cases[i].start_a ? &of_a : NULL, b, cases[i].start_b ? &of_b : NULL, cases[i].absolute, cases[i].relative,
                               &found, first));
        if (found.elements != cases[i].elements || found.differing != cases[i].differing || first[0] != cases[i].first)
            FAIL("%s: %" PRId64 " of %" PRId64 ", first %" PRId64, cases[i].name, found.differing, found.elements, first[0]);
        if (!(found.largest_absolute == cases[i].largest_absolute) || !(found.largest_relative == cases[i].largest_relative))
            FAIL("%s: %g and %g", cases[i].name, found.largest_absolute, found.largest_relative);
        ozarr_array_free(a);
        ozarr_array_free(b);
    }
}

static ozarr_array *of_texts(const char *name, const char *second) {
    const char *texts[] = {"one", second, "", "four"};
    ozarr_array *a = NULL;
    OK(ozarr_array_create(name, OZARR_STRING, 1, N4, NULL, OZARR_CREATE_OVERWRITE, &a));
    ozarr_region all = region_of(N0, N4, NULL);
    OK(ozarr_array_write_strings(a, &all, texts));
    return a;
}

static ozarr_array *of_structs(const char *name, const char *dtype, const void *values, size_t size) {
    ozarr_dtype *type = NULL;
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_dtype_parse(dtype, 3, &type));
    OK(ozarr_spec_new_dtype(type, 1, N4, &spec));
    OK(ozarr_array_create_ex(name, spec, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_array_write(a, OZARR_AS_STORED, values, size));
    ozarr_spec_free(spec);
    ozarr_dtype_free(type);
    return a;
}

/* Text and structs have digests and differences, and no statistics. */
static void text_and_structs(void) {
    const char *type = "{\"name\":\"struct\",\"configuration\":{\"fields\":[{\"name\":\"n\",\"data_type\":\"int16\"},{\"name\":\"m\",\"data_type\":\"int16\"}]}}";
    const int16_t one[] = {1, 2, 3, 4, 5, 6, 7, 8}, two[] = {1, 2, 3, 4, 5, 0, 7, 8};
    ozarr_array *pairs[][2] = {{of_texts("one.zarr", "two"), of_texts("two.zarr", "zwei")},
                               {of_structs("left.zarr", type, one, sizeof one), of_structs("right.zarr", type, two, sizeof two)}};
    ozarr_comparison found = OZARR_COMPARISON_INIT;
    ozarr_summary summary = OZARR_SUMMARY_INIT;
    for (int i = 0; i < 2; i++) {
        int64_t first[] = {-1};
        char whole[33];
        OK(ozarr_array_compare(pairs[i][0], NULL, pairs[i][1], NULL, 1e300, 1, &found, first));
        CHECK(found.differing == 1 && first[0] == i + 1 && found.largest_absolute == 0);
        OK(ozarr_array_compare(pairs[i][0], NULL, pairs[i][0], NULL, 0, 0, &found, NULL));
        EQUAL(found.differing, 0);
        strcpy(whole, digest(pairs[i][0], NULL));
        CHECK(strcmp(digest(pairs[i][1], NULL), whole) != 0);
        ERR_SAYS(OZARR_ERR_TYPE, i == 0 ? "string" : "struct", "numbers", ozarr_array_summarize(pairs[i][0], NULL, &summary));
    }
    ERR_SAYS(OZARR_ERR_TYPE, "string", "struct", ozarr_array_compare(pairs[0][0], NULL, pairs[1][0], NULL, 0, 0, &found, NULL));
    for (int i = 0; i < 4; i++) ozarr_array_free(pairs[i / 2][i % 2]);
}

static void refusals(void) {
    const double plain[] = {1, 2, 3, 4};
    ozarr_array *a = create("a.zarr", OZARR_FLOAT64, 4, 2, plain, sizeof plain), *b = create("b.zarr", OZARR_FLOAT64, 4, 2, plain, sizeof plain);
    ozarr_summary summary = OZARR_SUMMARY_INIT;
    ozarr_comparison found = OZARR_COMPARISON_INIT;
    ozarr_region outside = region_of(LAST, N2, NULL), part = region_of(ONE, N2, NULL);
    size_t len = 0;
    FILE *chunk = NULL;
    ERR(OZARR_ERR_BOUNDS, ozarr_array_summarize(a, &outside, &summary));
    ERR(OZARR_ERR_BOUNDS, ozarr_array_digest(a, &outside, digits, sizeof digits, &len));
    ERR(OZARR_ERR_BOUNDS, ozarr_array_compare(a, &part, b, &outside, 0, 0, &found, NULL));
    ERR_SAYS(OZARR_ERR_BOUNDS, "[4]", "[2]", ozarr_array_compare(a, NULL, b, &part, 0, 0, &found, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "absolute", "-1", ozarr_array_compare(a, NULL, b, NULL, -1, 0, &found, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "relative", "NaN", ozarr_array_compare(a, NULL, b, NULL, 0, NAN, &found, NULL));
    OK(ozarr_attr_set_string(ozarr_array_node(a), "_FillValue", "none"));
    ERR_SAYS(OZARR_ERR_METADATA, "_FillValue", "none", ozarr_array_summarize(a, NULL, &summary));
    /* A damaged chunk: the message says of which array. */
    chunk = fopen("b.zarr/c/1", "wb");
    if (!chunk || fputs("no chunk", chunk) < 0 || fclose(chunk)) FAIL("cannot damage the chunk");
    ERR_SAYS(OZARR_ERR_TRUNCATED, "c/1", "`b`", ozarr_array_compare(a, NULL, b, NULL, 0, 0, &found, NULL));
    ERR_SAYS(OZARR_ERR_TRUNCATED, "c/1", "", ozarr_array_digest(b, NULL, digits, sizeof digits, &len));
    ERR_SAYS(OZARR_ERR_TRUNCATED, "c/1", "", ozarr_array_summarize(b, NULL, &summary));
    ozarr_array_free(a);
    ozarr_array_free(b);
}

int main(void) {
    statistics_of_all_types_of_numbers();
    digests_are_of_the_elements_only();
    differences_of_numbers();
    text_and_structs();
    refusals();
    return finish();
}
