/* Lists of elements - orthogonal, points, masks - and filling: against a model in plain memory, over arrays of every kind. */
#include "random.h"
#include "table.h"

enum { A = 11, B = 9, C = 14, N = A * B * C };

static numbers any = {11};
static int64_t model[N];

static int64_t below(int64_t n) { return pick(&any, 0, n - 1); }

static const int64_t LENGTHS[] = {A, B, C};

/* A list of indices, perhaps all, perhaps in order; NULL is all. Returns its length. */
static int64_t any_list(int d, int64_t *list, const int64_t **given) {
    int64_t n = LENGTHS[d], count = below(n + 3), kind = below(4);
    *given = list;
    if (kind == 0) {
        for (int64_t i = 0; i < n; i++) list[i] = i;
        *given = NULL;
        return n;
    }
    int64_t first = below(n);
    if (kind == 1 && count > n - first) count = n - first;
    for (int64_t i = 0; i < count; i++) list[i] = kind == 1 ? first + i : below(n);
    return count;
}

static void orthogonal(ozarr_array *a, int write) {
    int64_t lists[3][32], counts[3];
    const int64_t *given[3];
    for (int d = 0; d < 3; d++) counts[d] = any_list(d, lists[d], &given[d]);
    size_t n = (size_t)(counts[0] * counts[1] * counts[2]);
    double *data = (double *)calloc(n + 1, sizeof *data);
    if (write) {
        for (size_t i = 0; i < n; i++) data[i] = (double)below(1000);
        OK(ozarr_array_write_orthogonal(a, counts, given, dense(OZARR_FLOAT64, data, n * sizeof *data)));
    } else {
        OK(ozarr_array_read_orthogonal(a, counts, given, dense(OZARR_FLOAT64, data, n * sizeof *data)));
    }
    size_t at = 0;
    for (int64_t i = 0; i < counts[0]; i++)
        for (int64_t j = 0; j < counts[1]; j++)
            for (int64_t k = 0; k < counts[2]; k++, at++) {
                int64_t *m = &model[(lists[0][i] * B + lists[1][j]) * C + lists[2][k]];
                if (write) *m = (int64_t)data[at];
                else EQUAL(data[at], *m);
            }
    free(data);
}

static void points(ozarr_array *a, int write) {
    static int64_t list[300 * 3];
    static float strided[600];
    int64_t count = below(4) ? below(300) : below(4);
    int64_t near = below(A), narrow = below(2);
    for (int64_t i = 0; i < count; i++) {
        for (int d = 0; d < 3; d++) list[3 * i + d] = below(LENGTHS[d]);
        if (narrow) list[3 * i] = near;
    }
    /* Every second element of the memory, backwards. */
    int64_t stride = -2 * (int64_t)sizeof *strided;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = strided, memory.size = sizeof strided, memory.strides = &stride, memory.type = OZARR_FLOAT32;
    memory.offset = count ? (size_t)(count - 1) * 8 : 0;
    for (int i = 0; i < 600; i++) strided[i] = write ? (float)below(1000) : -1;
    if (write) OK(ozarr_array_write_points(a, list, count, &memory));
    else OK(ozarr_array_read_points(a, list, count, &memory));
    for (int64_t i = 0; i < count; i++) {
        int64_t *m = &model[(list[3 * i] * B + list[3 * i + 1]) * C + list[3 * i + 2]];
        float value = strided[2 * (count - 1 - i)];
        if (write) *m = (int64_t)value;
        else EQUAL(value, *m);
    }
    for (int i = 0; i < 600 && !write; i++)
        if (i % 2 || i >= 2 * count) EQUAL(strided[i], -1);
}

static void masked(ozarr_array *a, int write) {
    int64_t start[3], shape[3];
    for (int d = 0; d < 3; d++) {
        start[d] = below(LENGTHS[d]);
        shape[d] = 1 + below(LENGTHS[d] - start[d]);
        if (below(3) == 0) start[d] = 0, shape[d] = LENGTHS[d];
    }
    ozarr_region region = OZARR_REGION_INIT;
    region.start = start, region.shape = shape;
    static uint8_t mask[N];
    static int64_t data[N];
    size_t n = 0, elements = (size_t)(shape[0] * shape[1] * shape[2]);
    int64_t density = below(4);
    for (size_t i = 0; i < elements; i++) {
        mask[i] = density == 3 ? 255 : density == 2 ? (below(100) == 0) : (uint8_t)(below(2) * 2);
        if (mask[i]) data[n++] = write ? below(1000) : -1;
    }
    if (write) OK(ozarr_array_write_mask(a, &region, mask, dense(OZARR_INT64, data, n * sizeof *data)));
    else OK(ozarr_array_read_mask(a, &region, mask, dense(OZARR_INT64, data, n * sizeof *data)));
    size_t at = 0, m = 0;
    for (int64_t i = 0; i < shape[0]; i++)
        for (int64_t j = 0; j < shape[1]; j++)
            for (int64_t k = 0; k < shape[2]; k++, m++) {
                if (!mask[m]) continue;
                int64_t *e = &model[((start[0] + i) * B + start[1] + j) * C + start[2] + k];
                if (write) *e = data[at];
                else EQUAL(data[at], *e);
                at++;
            }
}

static void filled(ozarr_array *a) {
    int64_t start[3], shape[3];
    float value = (float)below(3);
    for (int d = 0; d < 3; d++) start[d] = below(LENGTHS[d]), shape[d] = below(LENGTHS[d] - start[d] + 1);
    ozarr_region region = OZARR_REGION_INIT;
    region.start = start, region.shape = shape;
    int whole = below(3) == 0;
    OK(ozarr_array_fill(a, whole ? NULL : &region, OZARR_FLOAT32, &value));
    for (int64_t i = 0; i < N; i++) {
        int64_t at[] = {i / (B * C), i / C % B, i % C}, inside = 1;
        for (int d = 0; d < 3; d++) inside = inside && at[d] >= start[d] && at[d] < start[d] + shape[d];
        if (inside || whole) model[i] = (int64_t)value;
    }
}

static void against_a_model(ozarr_array *a, int rounds) {
    static int64_t all[N];
    for (int i = 0; i < N; i++) model[i] = i;
    OK(ozarr_array_write(a, OZARR_INT64, model, sizeof model));
    for (int round = 0; round < rounds && failures == 0; round++) {
        int write = (int)below(2), kind = (int)below(7);
        if (kind < 2) orthogonal(a, write);
        else if (kind < 4) points(a, write);
        else if (kind < 6) masked(a, write);
        else filled(a);
        if (!write && kind < 6) continue;
        OK(ozarr_array_read(a, OZARR_INT64, all, sizeof all));
        if (memcmp(all, model, sizeof all) != 0) FAIL("round %d, kind %d: what was written is not what is read", round, kind);
    }
}

static ozarr_array *create(const char *name, int32_t format, const int64_t *chunks, const int64_t *inner, const char *compressor, int order) {
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_spec_new(OZARR_INT32, 3, LENGTHS, &spec));
    OK(ozarr_spec_set_zarr_format(spec, format));
    OK(ozarr_spec_set_chunks(spec, chunks));
    if (inner) OK(ozarr_spec_set_inner_chunks(spec, inner));
    OK(ozarr_spec_set_compressor(spec, compressor, -1));
    if (order) OK(ozarr_spec_set_order(spec, OZARR_ORDER_F));
    OK(ozarr_array_create_ex(name, spec, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(spec);
    return a;
}

static void arrays_of_every_kind(void) {
    const int64_t small[] = {3, 4, 5}, large[] = {20, 20, 20}, shard[] = {8, 6, 12}, inner[] = {2, 3, 4}, thin[] = {1, 9, 14};
    const struct {
        const char *name;
        int32_t format;
        const int64_t *chunks, *inner;
        const char *compressor;
        int order;
    } kinds[] = {
        {"v2none.zarr", 2, small, NULL, "none", 0},  {"v2zlib.zarr", 2, small, NULL, "zlib", 1},  {"v3none.zarr", 3, large, NULL, "none", 0},
        {"v3zstd.zarr", 3, small, NULL, "zstd", 0},  {"v3blosc.zarr", 3, large, NULL, "blosc", 1}, {"thin.zarr", 3, thin, NULL, "none", 1},
        {"shards.zarr", 3, shard, inner, "zstd", 0}, {"raw.zarr", 3, shard, inner, "none", 1},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ozarr_array *a = create(kinds[i].name, kinds[i].format, kinds[i].chunks, kinds[i].inner, kinds[i].compressor, kinds[i].order);
        against_a_model(a, 120);
        if (failures) fprintf(stderr, "in %s\n", kinds[i].name);
        ozarr_array_free(a);
    }
}

/* Of a large uncompressed chunk a few points are read by themselves, of compressed ones each chunk once. */
static void only_what_is_needed(void) {
    const int64_t shape[] = {1024, 1024}, chunks[] = {1024, 1024}, small[] = {64, 64};
    for (int compressed = 0; compressed < 2; compressed++) {
        ozarr_spec *spec = NULL;
        ozarr_array *a = NULL;
        ozarr_stats stats = OZARR_STATS_INIT;
        OK(ozarr_spec_new(OZARR_FLOAT64, 2, shape, &spec));
        OK(ozarr_spec_set_chunks(spec, compressed ? small : chunks));
        OK(ozarr_spec_set_compressor(spec, compressed ? "zstd" : "none", -1));
        OK(ozarr_array_create_ex(compressed ? "many.zarr" : "one.zarr", spec, OZARR_CREATE_NEW, &a));
        ozarr_spec_free(spec);
        double one = 1.5, *values = (double *)malloc(4000 * sizeof *values);
        OK(ozarr_array_fill(a, NULL, OZARR_FLOAT64, &one));
        ozarr_stats before = OZARR_STATS_INIT;
        OK(ozarr_array_stats(a, &before));
        int64_t *list = (int64_t *)malloc(8000 * sizeof *list);
        int64_t count = compressed ? 4000 : 6;
        for (int64_t i = 0; i < 2 * count; i++) list[i] = below(1024);
        OK(ozarr_array_read_points(a, list, count, dense(OZARR_FLOAT64, values, (size_t)count * sizeof *values)));
        for (int64_t i = 0; i < count; i++) EQUAL(values[i] == 1.5, 1);
        OK(ozarr_array_stats(a, &stats));
        stats.reads -= before.reads, stats.bytes_read -= before.bytes_read, stats.decoded_chunks -= before.decoded_chunks;
        if (compressed) {
            CHECK(stats.decoded_chunks <= 256 && stats.decoded_chunks > 200);
            EQUAL(stats.reads, stats.decoded_chunks);
        } else {
            CHECK(stats.reads >= 1 && stats.reads <= 6);
            CHECK(stats.bytes_read < 6 * 8192);
        }
        free(list);
        free(values);
        ozarr_array_free(a);
    }
}

static void what_is_wrong_is_named(void) {
    const int64_t chunks[] = {3, 4, 5}, counts[] = {2, 1, 1}, negative[] = {-1, 1, 1}, rows[] = {0, 11}, one[] = {-3}, steps[] = {2, 1, 1};
    const int64_t *lists[] = {rows, one, NULL}, *first[] = {rows, NULL, NULL};
    const int64_t list[] = {0, 0, 0, 1, 2, 14, 1, 1, 1};
    int64_t data[N], start[] = {0, 0, 0}, shape[] = {2, 2, 2};
    uint8_t mask[N] = {1};
    ozarr_array *a = create("wrong.zarr", 3, chunks, NULL, "zstd", 0);
    for (int i = 0; i < N; i++) data[i] = i;
    OK(ozarr_array_write(a, OZARR_INT64, data, sizeof data));
    ERR_SAYS(OZARR_ERR_BOUNDS, "dimension 0: the index 11 at position 1", "length 11",
             ozarr_array_read_orthogonal(a, counts, first, dense(OZARR_INT64, data, sizeof data)));
    ERR_SAYS(OZARR_ERR_BOUNDS, "dimension 0", "length 11", ozarr_array_write_orthogonal(a, counts, lists, dense(OZARR_INT64, data, sizeof data)));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "`counts`[0] is -1", "", ozarr_array_read_orthogonal(a, negative, first, dense(OZARR_INT64, data, sizeof data)));
    ERR_SAYS(OZARR_ERR_BOUNDS, "point 1, dimension 2: the index 14", "length 14", ozarr_array_read_points(a, list, 3, dense(OZARR_INT64, data, sizeof data)));
    ERR_SAYS(OZARR_ERR_BOUNDS, "point 1, dimension 2", "", ozarr_array_write_points(a, list, 3, dense(OZARR_INT64, data, sizeof data)));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "`count` is -1", "", ozarr_array_read_points(a, list, -1, dense(OZARR_INT64, data, sizeof data)));
    ERR_SAYS(OZARR_ERR_LIMIT, "more than memory can hold", "", ozarr_array_read_points(a, list, INT64_MAX, dense(OZARR_INT64, data, sizeof data)));
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "7 bytes", "8", ozarr_array_read_points(a, list, 1, dense(OZARR_INT64, data, 7)));
    ozarr_region region = OZARR_REGION_INIT;
    region.start = start, region.shape = shape, region.step = steps;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "dimension 0", "step", ozarr_array_read_mask(a, &region, mask, dense(OZARR_INT64, data, sizeof data)));
    region.step = NULL;
    OK(ozarr_array_read_mask(a, &region, mask, dense(OZARR_INT64, data, sizeof data)));
    OK(ozarr_array_read_points(a, NULL, 0, dense(OZARR_INT64, NULL, 0)));

    /* A value that does not fit is named by its place in the list; the other chunks are written. */
    const int64_t two[] = {0, 0, 0, 10, 8, 13};
    const int64_t values[] = {5, INT64_MAX};
    ERR_SAYS(OZARR_ERR_RANGE, "element [1]", "int32", ozarr_array_write_points(a, two, 2, dense(OZARR_INT64, values, sizeof values)));
    OK(ozarr_array_read_points(a, two, 2, dense(OZARR_INT64, data, sizeof data)));
    EQUAL(data[0], 5);
    EQUAL(data[1], N - 1);

    /* The last of several values counts, and an index that stands twice is read twice. */
    const int64_t again[] = {4, 4, 4, 1, 1, 1, 4, 4, 4};
    const int64_t three[] = {7, 8, 9};
    OK(ozarr_array_write_points(a, again, 3, dense(OZARR_INT64, three, sizeof three)));
    OK(ozarr_array_read_points(a, again, 3, dense(OZARR_INT64, data, sizeof data)));
    EQUAL(data[0], 9);
    EQUAL(data[1], 8);
    EQUAL(data[2], 9);
    ozarr_array_free(a);
}

/* Whole chunks of the fill value are not stored, unless they are to be. */
static void fill_chunks_are_erased(void) {
    const int64_t chunks[] = {3, 4, 5};
    ozarr_array *a = create("fill.zarr", 3, chunks, NULL, "zstd", 0);
    ozarr_info info = OZARR_INFO_INIT;
    int32_t seven = 7, zero = 0;
    OK(ozarr_array_fill(a, NULL, OZARR_INT32, &seven));
    OK(ozarr_array_info(a, &info));
    EQUAL(info.chunks, info.possible_chunks);
    OK(ozarr_array_fill(a, NULL, OZARR_INT32, &zero));
    OK(ozarr_array_info(a, &info));
    EQUAL(info.chunks, 0);
    OK(ozarr_node_set(ozarr_array_node(a), "write_fill_chunks", "true"));
    OK(ozarr_array_fill(a, NULL, OZARR_INT32, &zero));
    OK(ozarr_array_info(a, &info));
    EQUAL(info.chunks, info.possible_chunks);
    double large = 1e300;
    ERR(OZARR_ERR_RANGE, ozarr_array_fill(a, NULL, OZARR_FLOAT64, &large));
    ozarr_array_free(a);
}

static void one_element_and_none(void) {
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    const int64_t none[] = {0, 4};
    const int64_t *all[] = {NULL, NULL};
    const int64_t counts[] = {0, 0};
    double value = 3, read[2] = {0, 0};
    uint8_t mask[] = {1};
    OK(ozarr_spec_new(OZARR_FLOAT64, 0, NULL, &spec));
    OK(ozarr_array_create_ex("scalar.zarr", spec, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(spec);
    OK(ozarr_array_fill(a, NULL, OZARR_FLOAT64, &value));
    OK(ozarr_array_read_points(a, NULL, 2, dense(OZARR_FLOAT64, read, sizeof read)));
    CHECK(read[0] == 3 && read[1] == 3);
    value = 4;
    OK(ozarr_array_write_mask(a, NULL, mask, dense(OZARR_FLOAT64, &value, sizeof value)));
    OK(ozarr_array_read_orthogonal(a, NULL, NULL, dense(OZARR_FLOAT64, read, sizeof *read)));
    CHECK(read[0] == 4);
    ozarr_array_free(a);
    OK(ozarr_array_create("empty.zarr", OZARR_INT8, 2, none, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_read_orthogonal(a, counts, all, dense(OZARR_INT8, NULL, 0)));
    OK(ozarr_array_read_mask(a, NULL, NULL, dense(OZARR_INT8, NULL, 0)));
    ERR(OZARR_ERR_BOUNDS, ozarr_array_read_points(a, none, 1, dense(OZARR_INT8, read, 1)));
    ozarr_array_free(a);
}

int main(void) {
    arrays_of_every_kind();
    only_what_is_needed();
    what_is_wrong_is_named();
    fill_chunks_are_erased();
    one_element_and_none();
    return finish();
}
