/* What a call will do, what was done, who gets which part, and buffers. */
#include "table.h"

static int64_t SHAPE[] = {100, 64}, CHUNKS[] = {10, 32};

static ozarr_array *create(const char *name, const int64_t *chunks, const int64_t *inner, const char *compressor) {
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_spec_new(OZARR_FLOAT64, 2, SHAPE, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    if (inner) OK(ozarr_spec_set_inner_chunks(spec, inner));
    OK(ozarr_spec_set_compressor(spec, compressor, -1));
    OK(ozarr_array_create_ex(name, spec, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(spec);
    return a;
}

/* The plan of an uncompressed read is what is done then, to the byte. */
static void plans_come_true(void) {
    static double data[6400];
    const int64_t inner[] = {5, 8};
    ozarr_array *arrays[] = {create("raw.zarr", CHUNKS, NULL, "none"), create("zstd.zarr", CHUNKS, NULL, "zstd"),
                             create("shards.zarr", CHUNKS, inner, "zstd")};
    for (int i = 0; i < 6400; i++) data[i] = i;
    const struct {
        int64_t start[2], shape[2];
    } boxes[] = {{{0, 0}, {100, 64}}, {{20, 32}, {30, 32}}, {{7, 3}, {20, 40}}, {{55, 0}, {1, 64}}, {{0, 63}, {100, 1}}, {{0, 0}, {0, 0}}};
    for (int k = 0; k < 3; k++) {
        OK(ozarr_array_write(arrays[k], OZARR_FLOAT64, data, sizeof data));
        for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
            ozarr_region region = OZARR_REGION_INIT;
            ozarr_memory memory = OZARR_MEMORY_INIT;
            ozarr_explanation read = OZARR_EXPLANATION_INIT, write = OZARR_EXPLANATION_INIT;
            ozarr_stats before = OZARR_STATS_INIT, done = OZARR_STATS_INIT;
            region.start = boxes[i].start, region.shape = boxes[i].shape;
            memory.data = data, memory.size = sizeof data, memory.type = OZARR_FLOAT64;
            OK(ozarr_array_stats(arrays[k], &before));
            OK(ozarr_array_explain(arrays[k], &region, NULL, false, &read));
            OK(ozarr_array_explain(arrays[k], &region, &memory, true, &write));
            OK(ozarr_array_stats(arrays[k], &done));
            EQUAL(done.reads, before.reads);
            EQUAL(read.bytes, boxes[i].shape[0] * boxes[i].shape[1] * 8);
            EQUAL(read.chunks, read.whole_chunks + read.partial_chunks);
            EQUAL(write.chunks, read.chunks);
            EQUAL(write.changed_chunks, read.partial_chunks);
            EQUAL(write.writes, write.chunks);
            OK(ozarr_array_read_ex(arrays[k], &region, &memory));
            OK(ozarr_array_stats(arrays[k], &done));
            if (k < 2) EQUAL((done.reads - before.reads), read.reads);
            CHECK((done.reads - before.reads) <= read.reads);
            EQUAL(read.read_bytes, k == 0 ? (done.bytes_read - before.bytes_read) : read.chunks ? -1 : 0);
            if (k > 0) EQUAL((done.decoded_bytes - before.decoded_bytes), read.decoded_bytes);
            if (k == 2) EQUAL((done.decoded_chunks - before.decoded_chunks), read.inner_chunks);
            OK(ozarr_array_stats(arrays[k], &before));
            OK(ozarr_array_write_ex(arrays[k], &region, &memory));
            OK(ozarr_array_stats(arrays[k], &done));
            /* A chunk that holds nothing but zeros is erased. */
            EQUAL((done.writes - before.writes) + (done.erased - before.erased), write.writes);
            if (k == 1) EQUAL((done.reads - before.reads), write.reads);
            OK(ozarr_array_write(arrays[k], OZARR_FLOAT64, data, sizeof data));
        }
        ozarr_explanation plan = OZARR_EXPLANATION_INIT;
        int64_t start[] = {5, 0}, shape[] = {10, 64};
        ozarr_region region = OZARR_REGION_INIT;
        region.start = start, region.shape = shape;
        OK(ozarr_array_explain(arrays[k], &region, NULL, true, &plan));
        EQUAL(plan.changed_chunks, 4);
        start[0] = 10;
        OK(ozarr_array_explain(arrays[k], &region, NULL, true, &plan));
        EQUAL(plan.changed_chunks, 0);
        EQUAL(plan.whole_chunks, 2);
        ozarr_array_free(arrays[k]);
    }
}

static void counts_add_up(void) {
    static double data[6400];
    ozarr_context *c = NULL;
    ozarr_store *s = NULL;
    ozarr_array *a = NULL, *b = NULL;
    ozarr_stats one = OZARR_STATS_INIT, two = OZARR_STATS_INIT, all = OZARR_STATS_INIT;
    OK(ozarr_context_new(&c));
    OK(ozarr_context_set(c, "measure_time", "1"));
    ozarr_array_free(create("counted.zarr", CHUNKS, NULL, "zstd"));
    OK(ozarr_store_open_ex(c, "counted.zarr", "r+", NULL, &s));
    OK(ozarr_array_open_at(s, "/", &a));
    OK(ozarr_array_open_at(s, "/", &b));
    OK(ozarr_array_read(a, OZARR_FLOAT64, data, sizeof data));
    OK(ozarr_array_stats(a, &one));
    EQUAL(one.fill_chunks, 20);
    EQUAL(one.decoded_chunks, 0);
    for (int i = 0; i < 6400; i++) data[i] = i + 1;
    OK(ozarr_array_write(a, OZARR_FLOAT64, data, sizeof data));
    OK(ozarr_array_read(b, OZARR_FLOAT32, data, sizeof data));
    OK(ozarr_array_stats(a, &one));
    OK(ozarr_array_stats(b, &two));
    EQUAL(one.encoded_chunks, 20);
    EQUAL(one.encoded_bytes, 6400 * 8);
    EQUAL(one.writes, 20);
    EQUAL(two.decoded_chunks, 20);
    EQUAL(two.bytes_read, one.bytes_written);
    CHECK(one.encode_ns > 0 && two.decode_ns > 0 && two.encode_ns == 0);
    ozarr_array_free(b);
    OK(ozarr_store_stats(s, &all));
    EQUAL(all.reads, one.reads + two.reads);
    EQUAL(all.writes, 20);
    EQUAL(all.retries, 0);
    OK(ozarr_context_stats(c, &all));
    EQUAL(all.decoded_chunks, 20);
    OK(ozarr_context_stats(NULL, &all));
    CHECK(all.decoded_chunks >= 20);
    OK(ozarr_node_set(ozarr_array_node(a), "measure_time", "false"));
    OK(ozarr_array_read(a, OZARR_FLOAT64, data, sizeof data));
    OK(ozarr_array_stats(a, &two));
    CHECK(two.decoded_chunks - one.decoded_chunks == 20 && two.decode_ns == one.decode_ns);
    ERR_SAYS(OZARR_ERR_ARGUMENT, "measure_time", "maybe", ozarr_node_set(ozarr_array_node(a), "measure_time", "maybe"));
    ozarr_array_free(a);
    ozarr_store_free(s);
    ozarr_context_free(c);
}

/* Each element belongs to one worker, and no chunk to two. */
static void parts_make_up_the_whole(void) {
    const int64_t inner[] = {5, 8};
    ozarr_array *plain = create("parts.zarr", CHUNKS, NULL, "none"), *shards = create("parts2.zarr", CHUNKS, inner, "none");
    for (int64_t workers = 1; workers < 40; workers++) {
        for (int which = 0; which < 3; which++) {
            static char owner[6400];
            int64_t start[] = {-1, -1}, shape[] = {-1, -1}, total = 0, from[] = {13, 1}, count[] = {71, 63};
            ozarr_region region = OZARR_REGION_INIT;
            region.start = from, region.shape = count;
            memset(owner, 0, sizeof owner);
            for (int64_t i = 0; i < workers; i++) {
                uint32_t flags = which == 2 ? OZARR_PARTITION_INNER : 0;
                OK(ozarr_array_partition(which ? shards : plain, &region, workers, i, flags, start, shape));
                for (int64_t k = start[0]; k < start[0] + shape[0]; k++)
                    for (int64_t m = start[1]; m < start[1] + shape[1]; m++) total += owner[k * 64 + m]++ == 0;
                int64_t rows = which == 2 ? 5 : 10, end = start[0] + shape[0];
                if (shape[0]) CHECK((start[0] % rows == 0 || start[0] == 13) && (end % rows == 0 || end == 84));
                if (shape[0] == 0 && which < 2) CHECK(workers > 16);
            }
            EQUAL(total, 71 * 63);
            for (int i = 0; i < 6400; i++) CHECK(owner[i] <= 1);
        }
    }
    int64_t start[2], shape[2];
    ERR_SAYS(OZARR_ERR_BOUNDS, "worker 4 of 4", "", ozarr_array_partition(plain, NULL, 4, 4, 0, start, shape));
    ERR_SAYS(OZARR_ERR_BOUNDS, "worker -1 of 4", "", ozarr_array_partition(plain, NULL, 4, -1, 0, start, shape));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "flags", "8", ozarr_array_partition(plain, NULL, 4, 0, 8, start, shape));
    ozarr_array_free(plain);
    ozarr_array_free(shards);
}

/* Freeing that changes nothing but the last error. */
static void not_freed(void *p) {
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    void *none = p;
    ERR(OZARR_ERR_ARGUMENT, ozarr_buffer_alloc(10, 4, &none));
    CHECK(none == NULL);
    ozarr_buffer_free(p);
    OK(ozarr_last_error_info(&info));
    EQUAL(info.status, OZARR_ERR_INVALID_HANDLE);
    CHECK(strstr(ozarr_last_error(), "no buffer of ozarr") != NULL);
}

static void buffers(void) {
    void *p = NULL;
    static const size_t sizes[] = {0, 1, 4096, 100000, 2 << 20, (9 << 20) + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        OK(ozarr_buffer_alloc(sizes[i], 0, &p));
        EQUAL((uintptr_t)p % (sizes[i] >= 2 << 20 ? 2 << 20 : 4096), 0);
        memset(p, 1, sizes[i]);
        ozarr_buffer_free(p);
        not_freed(p);
    }
    int mine = 5;
    not_freed(&mine);
    EQUAL(mine, 5);
    ozarr_buffer_free(NULL);
    OK(ozarr_buffer_alloc(3 << 20, OZARR_BUFFER_SMALL_PAGES, &p));
    not_freed((char *)p + 4096);
    ozarr_buffer_free(p);
    ERR_SAYS(OZARR_ERR_ARGUMENT, "flags", "4", ozarr_buffer_alloc(10, 4, &p));
    ERR_SAYS(OZARR_ERR_NO_MEMORY, "18446744073709551615", "", ozarr_buffer_alloc(SIZE_MAX, 0, &p));
}

/* A plan says how many objects the whole array is, and how many it would be in shards along time. */
static void plans_tell_of_shards_along_time(void) {
    static const struct {
        const char *name;
        int64_t shape[2], chunks[2], inner[2]; /* inner: 0 without shards */
        int64_t objects, fewer;
    } CASES[] = {
        {"one chunk a step", {10000, 8}, {1, 8}, {0, 0}, 10000, 2500},
        {"several chunks a step", {10000, 8}, {1, 4}, {0, 0}, 20000, 2500},
        {"few steps", {4096, 8}, {1, 8}, {0, 0}, 4096, 0},
        {"shards", {10000, 8}, {100, 8}, {1, 8}, 100, 0},
        {"many shards", {10000, 8}, {2, 8}, {1, 8}, 5000, 0},
        {"chunks as large as a shard may be", {10000, 1 << 23}, {1, 1 << 23}, {0, 0}, 10000, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ozarr_spec *spec = NULL;
        ozarr_array *a = NULL;
        ozarr_explanation plan = OZARR_EXPLANATION_INIT;
        ozarr_region region = OZARR_REGION_INIT;
        const int64_t start[] = {5, 0}, shape[] = {1, CASES[i].shape[1]};
        region.start = start, region.shape = shape;
        OK(ozarr_spec_new(OZARR_FLOAT64, 2, CASES[i].shape, &spec));
        OK(ozarr_spec_set_chunks(spec, CASES[i].chunks));
        if (CASES[i].inner[0]) OK(ozarr_spec_set_inner_chunks(spec, CASES[i].inner));
        OK(ozarr_array_create_ex("objects.zarr", spec, OZARR_CREATE_OVERWRITE, &a));
        OK(ozarr_array_explain(a, &region, NULL, false, &plan));
        if (plan.objects != CASES[i].objects || plan.fewer_objects != CASES[i].fewer) {
            FAIL("%s: %d objects, %d in shards", CASES[i].name, (int)plan.objects, (int)plan.fewer_objects);
        }
        OK(ozarr_array_close(a));
        ozarr_spec_free(spec);
    }
}

/* A sparse array has more chunks than can be looked at one by one. */
static void sparse(void) {
    static const int64_t shape[] = {1000003, 1000000, 100000}, chunks[] = {8, 9, 7}, start[] = {1, 0, 0}, count[] = {1000002, 18, 7};
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    ozarr_explanation plan = OZARR_EXPLANATION_INIT;
    ozarr_region region = OZARR_REGION_INIT;
    OK(ozarr_spec_new(OZARR_INT32, 3, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    OK(ozarr_array_create_ex("sparse.zarr", spec, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_array_explain(a, NULL, NULL, false, &plan));
    EQUAL(plan.chunks, INT64_C(125001) * 111112 * 14286);
    EQUAL(plan.partial_chunks, 0);
    EQUAL(plan.reads, plan.chunks);
    region.start = start, region.shape = count;
    OK(ozarr_array_explain(a, &region, NULL, true, &plan));
    EQUAL(plan.chunks, 2 * 125001);
    EQUAL(plan.changed_chunks, 2);
    EQUAL(plan.whole_chunks, 2 * 125000);
    OK(ozarr_array_close(a));
    ozarr_spec_free(spec);
}

int main(void) {
    plans_come_true();
    sparse();
    counts_add_up();
    parts_make_up_the_whole();
    buffers();
    plans_tell_of_shards_along_time();
    return finish();
}
