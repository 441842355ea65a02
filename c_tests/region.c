/* Regions with steps, memory with strides: against a model in plain memory, over many random cases and the odd ones by hand. */
#include "random.h"
#include "table.h"

enum { A = 7, B = 9, C = 5, N = A * B * C };

static numbers any = {42};

static int64_t below(int64_t n) { return pick(&any, 0, n - 1); }

/* One dimension of a region: any start, count and step that stay inside. */
static void any_axis(int64_t length, int64_t *start, int64_t *count, int64_t *step) {
    *step = below(3) + 1;
    *start = below(length);
    if (below(2)) *step = -*step;
    int64_t room = *step > 0 ? (length - 1 - *start) / *step : *start / -*step;
    *count = below(room + 2);
}

/* Random strided memory for a region: a dense block of the dimensions in random order, each perhaps mirrored, with gaps. */
static size_t any_memory(const int64_t *count, int64_t *strides, size_t *offset) {
    int order[3] = {0, 1, 2};
    int64_t extent = 8;
    *offset = 0;
    for (int i = 2; i > 0; i--) {
        int j = (int)below(i + 1), t = order[i];
        order[i] = order[j], order[j] = t;
    }
    for (int i = 0; i < 3; i++) {
        int d = order[i];
        strides[d] = extent + 8 * below(2);
        extent = strides[d] * (count[d] > 0 ? count[d] : 1);
        if (below(2)) {
            if (count[d] > 0) *offset += (size_t)(strides[d] * (count[d] - 1));
            strides[d] = -strides[d];
        }
    }
    return (size_t)extent;
}

static void against_a_model(ozarr_array *a, ozarr_type type, int rounds) {
    static int64_t model[N];
    int64_t shape[] = {A, B, C};
    for (int i = 0; i < N; i++) model[i] = i;
    OK(ozarr_array_write(a, OZARR_INT64, model, sizeof model));
    for (int round = 0; round < rounds && failures == 0; round++) {
        int64_t start[3], count[3], step[3], strides[3];
        size_t offset;
        for (int d = 0; d < 3; d++) any_axis(shape[d], &start[d], &count[d], &step[d]);
        size_t size = any_memory(count, strides, &offset);
        char *data = (char *)malloc(size + 8);
        ozarr_region region = OZARR_REGION_INIT;
        ozarr_memory memory = OZARR_MEMORY_INIT;
        region.start = start, region.shape = count, region.step = step;
        memory.data = data, memory.size = size, memory.offset = offset, memory.strides = strides, memory.type = type;
        int write = (int)below(2);
        memset(data, 0x11, size);
        for (int pass = write ? 0 : 1; pass < 2; pass++) {
            if (pass == 1 && !OK(ozarr_array_read_ex(a, &region, &memory))) break;
            for (int64_t i = 0; i < count[0]; i++)
                for (int64_t j = 0; j < count[1]; j++)
                    for (int64_t k = 0; k < count[2]; k++) {
                        int64_t *m = &model[((start[0] + i * step[0]) * B + start[1] + j * step[1]) * C + start[2] + k * step[2]];
                        char *p = data + offset + i * strides[0] + j * strides[1] + k * strides[2];
                        int64_t v = 0;
                        double f = 0;
                        if (pass == 0) {
                            v = *m = below(1 << 20), f = (double)v;
                            memcpy(p, type == OZARR_INT64 ? (void *)&v : (void *)&f, 8);
                        } else {
                            memcpy(type == OZARR_INT64 ? (void *)&v : (void *)&f, p, 8);
                            if (type == OZARR_FLOAT64) v = (int64_t)f;
                            if (v != *m) FAIL("round %d: found %d, expected %d", round, (int)v, (int)*m);
                        }
                    }
            if (pass == 0 && !OK(ozarr_array_write_ex(a, &region, &memory))) break;
        }
        free(data);
    }
    static int64_t all[N];
    OK(ozarr_array_read(a, OZARR_INT64, all, sizeof all));
    CHECK(memcmp(all, model, sizeof all) == 0);
}

/* Chunks of every relation to the array; both formats, orders, and a shard. */
static void random_regions(void) {
    static const struct { int32_t format; ozarr_order order; int64_t chunks[3], inner[3]; } cases[] = {
        {3, OZARR_ORDER_C, {2, 4, 3}, {0}}, {3, OZARR_ORDER_F, {3, 3, 5}, {0}}, {2, OZARR_ORDER_C, {7, 9, 5}, {0}},
        {2, OZARR_ORDER_F, {4, 1, 2}, {0}}, {3, OZARR_ORDER_C, {20, 30, 1}, {0}}, {3, OZARR_ORDER_C, {4, 6, 4}, {2, 3, 2}},
    };
    int64_t shape[] = {A, B, C};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int wide = 0; wide < 2; wide++) {
            ozarr_spec *s = NULL;
            ozarr_array *a = NULL;
            OK(ozarr_spec_new(wide ? OZARR_INT64 : OZARR_INT32, 3, shape, &s));
            OK(ozarr_spec_set_zarr_format(s, cases[i].format));
            OK(ozarr_spec_set_chunks(s, cases[i].chunks));
            if (cases[i].inner[0]) OK(ozarr_spec_set_inner_chunks(s, cases[i].inner));
            OK(ozarr_spec_set_order(s, cases[i].order));
            OK(ozarr_array_create_ex("regions.zarr", s, OZARR_CREATE_OVERWRITE, &a));
            against_a_model(a, wide ? OZARR_INT64 : OZARR_FLOAT64, 150);
            OK(ozarr_array_close(a));
            ozarr_spec_free(s);
        }
}

static ozarr_array *small_array(void) {
    int64_t shape[] = {3, 4}, chunks[] = {2, 3};
    int32_t v[12];
    ozarr_array *a = NULL;
    for (int i = 0; i < 12; i++) v[i] = i;
    OK(ozarr_array_create("small.zarr", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_array_write(a, OZARR_INT32, v, sizeof v));
    return a;
}

/* Column-major memory has the same indices; a stride of 0 repeats an element when writing, and is refused for reading. */
static void orders_and_repeats(void) {
    ozarr_array *a = small_array();
    int32_t v[12], one = 7;
    int64_t zero[] = {0, 0};
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = v, memory.size = sizeof v, memory.order = OZARR_ORDER_F;
    OK(ozarr_array_read_ex(a, NULL, &memory));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) EQUAL(v[i + 3 * j], 4 * i + j);
    memory.data = &one, memory.size = sizeof one, memory.strides = zero;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "overlap", "", ozarr_array_read_ex(a, NULL, &memory));
    EQUAL(one, 7);
    OK(ozarr_array_write_ex(a, NULL, &memory));
    OK(ozarr_array_read(a, OZARR_INT32, v, sizeof v));
    for (int i = 0; i < 12; i++) EQUAL(v[i], 7);
    ozarr_array_free(a);
}

/* Everything that does not fit is refused before a byte is touched. */
static void refusals(void) {
    ozarr_array *a = small_array();
    int32_t v[13];
    int64_t start[] = {0, 0}, shape[] = {3, 4}, step[] = {1, 1}, far[] = {INT64_MAX, INT64_MIN}, strides[] = {16, 4};
    memset(v, 0x55, sizeof v);

    static const struct { int64_t start[2], shape[2], step[2]; } outside[] = {
        {{-1, 0}, {1, 1}, {1, 1}}, {{0, 0}, {4, 1}, {1, 1}}, {{3, 0}, {1, 1}, {1, 1}}, {{0, 0}, {1, -1}, {1, 1}},
        {{0, 0}, {1, 1}, {1, 0}},  {{0, 3}, {1, 5}, {1, -1}}, {{0, 0}, {1, 3}, {1, 2}}, {{0, 0}, {1, INT64_MAX}, {1, INT64_MAX}},
        {{0, INT64_MAX}, {1, 1}, {1, 1}}, {{INT64_MIN, 0}, {1, 1}, {1, 1}}, {{0, 3}, {1, 2}, {1, INT64_MIN}},
    };
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = v, memory.size = sizeof v;
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        region.start = outside[i].start, region.shape = outside[i].shape, region.step = outside[i].step;
        if (!ERR_SAYS(OZARR_ERR_BOUNDS, "dimension", "", ozarr_array_read_ex(a, &region, &memory))) FAIL("case %d", (int)i);
        ERR(OZARR_ERR_BOUNDS, ozarr_array_write_ex(a, &region, &memory));
    }
    region.start = start, region.shape = shape, region.step = step;

    static const size_t more_than_any[] = {SIZE_MAX, SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < sizeof more_than_any / sizeof *more_than_any; i++) {
        memory.size = more_than_any[i];
        ERR_SAYS(OZARR_ERR_ARGUMENT, "memory->size", "", ozarr_array_read_ex(a, &region, &memory));
        ERR_SAYS(OZARR_ERR_ARGUMENT, "memory->size", "", ozarr_array_write_ex(a, &region, &memory));
    }
    memory.size = 47;
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "47", "48", ozarr_array_read_ex(a, &region, &memory));
    memory.size = 48, memory.offset = 1;
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_read_ex(a, &region, &memory));
    memory.offset = SIZE_MAX;
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_read_ex(a, &region, &memory));
    memory.offset = 0, memory.strides = far;
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_write_ex(a, &region, &memory));
    memory.strides = strides, strides[0] = -16;
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_read_ex(a, &region, &memory));
    memory.strides = NULL, memory.order = 2;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "order", "2", ozarr_array_read_ex(a, &region, &memory));
    memory.order = OZARR_ORDER_C, memory.type = 99;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "type", "99", ozarr_array_read_ex(a, &region, &memory));
    memory.type = OZARR_AS_STORED, memory.data = NULL;
    ERR_SAYS(OZARR_ERR_NULL, "data", "", ozarr_array_read_ex(a, &region, &memory));
    memory.data = v;
    region.start = NULL;
    ERR_SAYS(OZARR_ERR_NULL, "start", "", ozarr_array_read_ex(a, &region, &memory));
    region.start = start, region.shape = NULL;
    ERR_SAYS(OZARR_ERR_NULL, "shape", "", ozarr_array_read_ex(a, &region, &memory));
    ERR_SAYS(OZARR_ERR_NULL, "memory", "", ozarr_array_read_ex(a, NULL, NULL));

    static const size_t sizes[] = {1, 8, 31, 100000, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        region.shape = shape, region.struct_size = sizes[i];
        ERR_SAYS(OZARR_ERR_ARGUMENT, "region", "struct_size", ozarr_array_read_ex(a, &region, &memory));
        region.struct_size = sizeof region, memory.struct_size = sizes[i];
        ERR_SAYS(OZARR_ERR_ARGUMENT, "memory", "struct_size", ozarr_array_read_ex(a, &region, &memory));
        memory.struct_size = sizeof memory;
    }
    for (int i = 0; i < 13; i++) EQUAL(v[i], 0x55555555);

    /* A struct of a later version: what is not known here must be unset. */
    struct { ozarr_region known; int64_t later; } newer = {OZARR_REGION_INIT, 0};
    newer.known.struct_size = sizeof newer, newer.known.start = start, newer.known.shape = shape;
    OK(ozarr_array_read_ex(a, &newer.known, &memory));
    newer.later = 1;
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "region", "", ozarr_array_read_ex(a, &newer.known, &memory));
    EQUAL(v[12], 0x55555555);
    for (int i = 0; i < 12; i++) EQUAL(v[i], i);
    ozarr_array_free(a);
}

/* Rank 0 and 64; a dimension of length 0. */
static void extreme_ranks(void) {
    int64_t ones[64], zeros[64] = {0}, minus[64], empty[] = {2, 0};
    double value = 1.5, in = 0;
    ozarr_array *a = NULL;
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    for (int d = 0; d < 64; d++) ones[d] = 1, minus[d] = -1;
    memory.data = &value, memory.size = sizeof value;
    OK(ozarr_array_create("rank0.zarr", OZARR_FLOAT64, 0, NULL, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write_ex(a, &region, &memory));
    memory.data = &in;
    OK(ozarr_array_read_ex(a, NULL, &memory));
    CHECK(in == 1.5);
    ozarr_array_free(a);
    OK(ozarr_array_create("rank64.zarr", OZARR_FLOAT64, 64, ones, ones, OZARR_CREATE_NEW, &a));
    region.start = zeros, region.shape = ones, region.step = minus, memory.data = &value, memory.strides = minus;
    OK(ozarr_array_write_ex(a, &region, &memory));
    memory.data = &in, in = 0;
    OK(ozarr_array_read_ex(a, &region, &memory));
    CHECK(in == 1.5);
    ozarr_array_free(a);
    a = NULL;
    ERR_SAYS(OZARR_ERR_RANK, "65", "64", ozarr_array_create("rank65.zarr", OZARR_FLOAT64, 65, ones, NULL, OZARR_CREATE_NEW, &a));
    ERR(OZARR_ERR_RANK, ozarr_array_create("rank65.zarr", OZARR_FLOAT64, -1, ones, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_create("empty.zarr", OZARR_FLOAT64, 2, empty, NULL, OZARR_CREATE_NEW, &a));
    memory.data = NULL, memory.size = 0, memory.strides = NULL;
    OK(ozarr_array_read_ex(a, NULL, &memory));
    OK(ozarr_array_write_ex(a, NULL, &memory));
    ozarr_array_free(a);
}

int main(void) {
    random_regions();
    orders_and_repeats();
    refusals();
    extreme_ranks();
    return finish();
}
