/* Sharded arrays beside unsharded ones of the same inner chunks, through the C ABI.
 *
 *   PROGRAM OP STORE THREADS TIMES
 *
 * 256 MiB of float32 (256x512x512), shards of 32 MiB (128x256x256), inner chunks of 64 KiB (16x32x32), zstd level 3: the arrays
 * STORE/sharded and STORE/plain, which `make` writes. Each OP is done TIMES times:
 *   noop; read, read-plain; write, write-plain (to STORE/w, erased each time);
 *   boxes, boxes-plain: 1,000 boxes of 32x32x32 at random places;
 *   warm, warm-plain: 1,000 single elements; cold, cold-plain: the same, the array opened anew (untimed) for each;
 *   partial, partial-plain: 64 times one inner chunk written.
 * Prints one line of JSON. */
#define _GNU_SOURCE
#include "bench.h"
#include <ozarr.h>

static const int64_t SHAPE[] = {256, 512, 512}, SHARD[] = {128, 256, 256}, INNER[] = {16, 32, 32};
static const char *const UNSYNCED[] = {"file.sync", "none", NULL};

static void check(ozarr_status s, const char *what) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "shards: %s: %s\n", what, ozarr_last_error());
    exit(1);
}

static ozarr_array *create(ozarr_store *store, const char *path, int sharded) {
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    check(ozarr_spec_new(OZARR_FLOAT32, 3, SHAPE, &spec), "spec");
    check(ozarr_spec_set_chunks(spec, sharded ? SHARD : INNER), "chunks");
    if (sharded) check(ozarr_spec_set_inner_chunks(spec, INNER), "inner chunks");
    check(ozarr_spec_set_compressor(spec, "zstd", 3), "zstd");
    check(ozarr_array_create_at(store, path, spec, OZARR_OVERWRITE, &a), "creating");
    ozarr_spec_free(spec);
    return a;
}

static ozarr_array *open_array(ozarr_store *store, int sharded) {
    ozarr_array *a = NULL;
    check(ozarr_array_open_at(store, sharded ? "sharded" : "plain", &a), "opening");
    return a;
}

static uint64_t seed = 7;
static int64_t below(int64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

static void regions(ozarr_store *store, workload *w, int i, int n, int64_t extent, int sharded, int cold, int writing) {
    static float box[32 * 32 * 32];
    ozarr_array *a = open_array(store, sharded);
    double wall_sum = 0, cpu_sum = 0;
    seed = 7;
    for (int k = 0; k < n; k++) {
        int64_t start[3], count[3];
        for (int d = 0; d < 3; d++) {
            count[d] = writing ? INNER[d] : extent;
            start[d] = writing ? below(SHAPE[d] / INNER[d]) * INNER[d] : below(SHAPE[d] - extent + 1);
        }
        if (cold) {
            ozarr_array_free(a);
            a = open_array(store, sharded);
        }
        clock_start();
        size_t bytes = (size_t)(count[0] * count[1] * count[2]) * sizeof(float);
        if (writing) check(ozarr_array_write_region(a, start, count, OZARR_FLOAT32, w->data, bytes), "writing");
        else check(ozarr_array_read_region(a, start, count, OZARR_FLOAT32, box, bytes), "reading");
        clock_stop(i);
        wall_sum += wall[i], cpu_sum += cpu[i];
    }
    wall[i] = wall_sum, cpu[i] = cpu_sum;
    ozarr_array_free(a);
}

int main(int argc, char **argv) {
    if (argc != 5) bail("usage: PROGRAM OP STORE THREADS TIMES");
    workload w = {.op = argv[1], .store = argv[2], .shape = {256, 512, 512}, .times = atoi(argv[4]), .bytes = (size_t)256 << 20};
    int sharded = strstr(w.op, "plain") == NULL, is_read = !strncmp(w.op, "read", 4), is_write = !strncmp(w.op, "write", 5);
    if (w.times < 1 || w.times > 64) bail("TIMES: 1 to 64");
    w.data = malloc(w.bytes);
    if (!w.data) bail("no memory");
    if (is_write || !strcmp(w.op, "make") || !strncmp(w.op, "partial", 7)) make_data(&w);
    else memset(w.data, 1, is_read ? w.bytes : 0);
    ozarr_context *context = NULL;
    ozarr_store *store = NULL;
    check(ozarr_context_new(&context), "context");
    check(ozarr_context_set(context, "threads", argv[3]), "threads");
    check(ozarr_store_open_ex(context, w.store, "r+", UNSYNCED, &store), "opening");
    for (int i = 0; i < w.times; i++) {
        if (!strcmp(w.op, "make")) {
            for (int s = 0; s < 2; s++) {
                ozarr_array *a = create(store, s ? "sharded" : "plain", s);
                check(ozarr_array_write(a, OZARR_FLOAT32, w.data, w.bytes), "writing");
                ozarr_array_free(a);
            }
        } else if (is_read) {
            ozarr_array *a = open_array(store, sharded);
            clock_start();
            check(ozarr_array_read(a, OZARR_FLOAT32, w.data, w.bytes), "reading");
            clock_stop(i);
            ozarr_array_free(a);
        } else if (is_write) {
            ozarr_array *a = create(store, "w", sharded);
            clock_start();
            check(ozarr_array_write(a, OZARR_FLOAT32, w.data, w.bytes), "writing");
            clock_stop(i);
            ozarr_array_free(a);
        } else if (!strncmp(w.op, "boxes", 5)) regions(store, &w, i, 1000, 32, sharded, 0, 0);
        else if (!strncmp(w.op, "warm", 4)) regions(store, &w, i, 1000, 1, sharded, 0, 0);
        else if (!strncmp(w.op, "cold", 4)) regions(store, &w, i, 1000, 1, sharded, 1, 0);
        else if (!strncmp(w.op, "partial", 7)) regions(store, &w, i, 64, 0, sharded, 0, 1);
        else if (strcmp(w.op, "noop")) bail("no such operation");
    }
    ozarr_store_free(store);
    ozarr_context_free(context);
    if (!strcmp(w.op, "noop")) w.times = 0;
    report(&w);
    return 0;
}
