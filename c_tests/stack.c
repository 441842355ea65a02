/* How much of its thread's stack a call takes: programs give threads as little as 128 KiB (musl's default), and beyond the end they crash. */
#define _GNU_SOURCE
#include "table.h"
#include <pthread.h>
#include <sys/mman.h>

enum { SIDE = 512, SIZE = 1 << 20, GUARD = 1 << 16, UNTOUCHED = 0xA5 };
static const int64_t shape[] = {SIDE, SIDE}, zero[] = {0, 0};
static double *numbers, *others;
static ozarr_array *t;

/* One kind of work; all that it does is done on a stack of its own. */
typedef struct work {
    const char *name;
    void (*run)(const struct work *);
    size_t most;        /* bytes of the stack */
    const char *codecs; /* of format 3; or what else differs */
} work;

static void nothing(const work *w) { CHECK(w->run == nothing); }

/* An array is written, whole and in part, and read, also with a conversion and in the other order, and by a request. */
static void array(const work *w) {
    const int64_t part[] = {100, 7};
    char json[1000];
    ozarr_spec *s = NULL;
    ozarr_request *r = NULL;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    snprintf(json, sizeof json, "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[%d,%d],\"data_type\":\"float64\",\"fill_value\":0,"
             "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[256,256]}},\"codecs\":[%s],"
             "\"chunk_key_encoding\":{\"name\":\"default\",\"configuration\":{\"separator\":\"/\"}}}", SIDE, SIDE, w->codecs);
    if (!OK(ozarr_spec_from_json(json, &s)) || !OK(ozarr_array_create_ex("a.zarr", s, OZARR_CREATE_OVERWRITE, &t))) return;
    ozarr_spec_free(s);
    OK(ozarr_array_write_region(t, zero, shape, OZARR_FLOAT64, numbers, SIDE * SIDE * sizeof *numbers));
    OK(ozarr_array_write_region(t, part, part, OZARR_FLOAT32, numbers, 700 * sizeof(float)));
    OK(ozarr_array_close(t));
    OK(ozarr_array_open("a.zarr", "r", &t));
    OK(ozarr_array_read_region(t, part, part, OZARR_FLOAT64, others, 700 * sizeof *others));
    memory.data = others, memory.size = SIDE * SIDE * sizeof(float), memory.type = OZARR_FLOAT32, memory.order = OZARR_ORDER_F;
    OK(ozarr_array_read_ex(t, NULL, &memory));
    OK(ozarr_array_iread_region(t, zero, shape, OZARR_FLOAT64, others, SIDE * SIDE * sizeof *others, &r));
    OK(ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    OK(ozarr_array_read(t, OZARR_FLOAT64, others, SIDE * SIDE * sizeof *others));
    OK(ozarr_array_close(t));
}

/* Groups with attributes that are lists of lists of lists ... */
static void groups(const work *w) {
    const size_t levels = w->codecs == NULL ? 20 : 100;
    ozarr_group *g = NULL, *in = NULL;
    ozarr_node_iter *it = NULL;
    static char text[30000];
    bool more = true;
    OK(ozarr_group_create("g.zarr", OZARR_CREATE_OVERWRITE, &g));
    OK(ozarr_group_create_group(g, "x/y", OZARR_CREATE_NEW, &in));
    memset(text, '[', levels), memset(text + levels, ']', levels);
    text[2 * levels] = 0;
    OK(ozarr_attr_set_json(ozarr_group_node(in), "nested", text));
    OK(ozarr_group_close(in));
    OK(ozarr_group_consolidate(g));
    OK(ozarr_group_close(g));
    OK(ozarr_group_open("g.zarr", "r", &g));
    OK(ozarr_group_list_nodes(g, NULL, -1, &it));
    while (more && OK(ozarr_node_iter_next(it, &more))) {}
    ozarr_node_iter_free(it);
    OK(ozarr_group_open_group(g, "x/y", &in));
    OK(ozarr_attrs_get(ozarr_group_node(in), text, sizeof text, NULL));
    ozarr_group_free(in);
    ozarr_group_free(g);
}

/* A document of another program, as deep as any that is read. */
static void deepest(const work *w) {
    ozarr_store *s = NULL;
    ozarr_group *g = NULL;
    char text[400] = "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{\"nested\":";
    const size_t head = strlen(text), levels = 125;
    memset(text + head, '[', levels), memset(text + head + levels, ']', levels);
    memcpy(text + head + 2 * levels, "}}", 3);
    OK(ozarr_store_memory(&s));
    OK(ozarr_store_key_put(s, "zarr.json", text, strlen(text)));
    OK(ozarr_group_open_at(s, "", &g));
    OK(ozarr_attrs_get(ozarr_group_node(g), NULL, 0, NULL));
    ozarr_group_free(g);
    ozarr_store_free(s);
    CHECK(w->codecs == NULL);
}

static void stores(const work *w) {
    ozarr_store *s = NULL;
    ozarr_verified found = OZARR_VERIFIED_INIT;
    char digest[100];
    OK(ozarr_copy("a.zarr", w->codecs, NULL));
    OK(ozarr_store_open(w->codecs, "r", &s));
    OK(ozarr_store_verify(s, "", 0, NULL, NULL, NULL, &found));
    OK(ozarr_array_open_at(s, "", &t));
    OK(ozarr_array_digest(t, NULL, digest, sizeof digest, NULL));
    OK(ozarr_array_close(t));
    OK(ozarr_store_close(s));
}

static void run(const work *w) {
    ozarr_dataset *ds = NULL;
    ozarr_series *n = NULL;
    ozarr_group *g = NULL;
    const char *dims[] = {"time", "x"};
    OK(ozarr_dataset_create("run.zarr", 3, OZARR_CREATE_OVERWRITE, &ds));
    OK(ozarr_dataset_define_time(ds, "time", 0, 0, "seconds since 2026-01-01", NULL, NULL));
    OK(ozarr_dataset_define_dimension(ds, "x", SIDE));
    OK(ozarr_dataset_define_variable(ds, "u", OZARR_FLOAT32, 2, dims, NULL));
    OK(ozarr_series_open(ds, "time", -1, 0, 0, &n));
    for (int i = 0; i < 3; i++) {
        OK(ozarr_series_put(n, "u", OZARR_FLOAT64, numbers, SIDE * sizeof *numbers));
        OK(ozarr_series_step(n, i, 0, NULL, NULL));
        OK(ozarr_checkpoint_begin("points.zarr", i % 2 == 0 ? "even" : "odd", &g));
        OK(ozarr_group_put(g, "u", OZARR_FLOAT64, 2, shape, numbers, SIDE * SIDE * sizeof *numbers));
        OK(ozarr_checkpoint_commit(g));
    }
    OK(ozarr_series_close(n));
    OK(ozarr_dataset_close(ds));
    OK(ozarr_checkpoint_latest("points.zarr", &g));
    OK(ozarr_group_get(g, "u", OZARR_FLOAT64, others, SIDE * SIDE * sizeof *others));
    ozarr_group_free(g);
    OK(ozarr_checkpoint_prune("points.zarr", 1));
    CHECK(w->codecs == NULL);
}

static void *begin(void *w) {
    ((const work *)w)->run(w);
    return NULL;
}

/* How much of a stack the work takes, with what the system keeps there for the thread. */
static size_t taken(const work *w) {
    unsigned char *all = mmap(NULL, GUARD + SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0), *stack = all + GUARD;
    pthread_attr_t about;
    pthread_t thread;
    size_t free = 0;
    CHECK(all != MAP_FAILED && mprotect(all, GUARD, PROT_NONE) == 0);
    memset(stack, UNTOUCHED, SIZE);
    CHECK(pthread_attr_init(&about) == 0 && pthread_attr_setstack(&about, stack, SIZE) == 0);
    CHECK(pthread_create(&thread, &about, begin, (void *)(uintptr_t)w) == 0 && pthread_join(thread, NULL) == 0);
    while (free < SIZE && stack[free] == UNTOUCHED) free++;
    pthread_attr_destroy(&about);
    munmap(all, GUARD + SIZE);
    return SIZE - free;
}

#define BYTES "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
#define CODEC(name, members) array, 64 << 10, BYTES ",{\"name\":\"" name "\",\"configuration\":{" members "}}"
#define BLOSC(compressor) BYTES ",{\"name\":\"blosc\",\"configuration\":{\"cname\":\"" compressor "\",\"clevel\":5,\"shuffle\":\"shuffle\",\"typesize\":8,\"blocksize\":0}}"

static const work all[] = {
    {"what a thread has of the library's", nothing, 12 << 10, NULL},
    {"no compressor", array, 64 << 10, BYTES},
    {"big-endian", array, 64 << 10, "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}"},
    {"zstd", CODEC("zstd", "\"level\":19,\"checksum\":true")},
    {"gzip", CODEC("gzip", "\"level\":9")},
    {"lz4", CODEC("numcodecs.lz4", "")},
    {"bz2", CODEC("numcodecs.bz2", "\"level\":9")},
    {"lzma", CODEC("numcodecs.lzma", "\"preset\":6")},
    {"crc32c", array, 64 << 10, BYTES ",{\"name\":\"crc32c\"}"},
    {"bitround", array, 64 << 10, "{\"name\":\"numcodecs.bitround\",\"configuration\":{\"keepbits\":10}}," BYTES},
    {"lz4 in blosc", array, 64 << 10, BLOSC("lz4")},
    {"zstd in blosc", array, 64 << 10, BLOSC("zstd")},
    {"blosclz in blosc", array, 96 << 10, BLOSC("blosclz")},
    {"zfp", array, 64 << 10, "{\"name\":\"zfp\",\"configuration\":{\"mode\":\"reversible\"}}"},
    {"pcodec", array, 64 << 10, "{\"name\":\"numcodecs.pcodec\",\"configuration\":{\"level\":8}}"},
    {"cast_value", array, 64 << 10, "{\"name\":\"cast_value\",\"configuration\":{\"data_type\":\"float32\"}}," BYTES},
    {"transposed shards", array, 64 << 10,
     "{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}},{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[32,64],\"codecs\":[" BYTES
     ",{\"name\":\"zstd\",\"configuration\":{\"level\":1,\"checksum\":false}}],\"index_codecs\":[" BYTES ",{\"name\":\"crc32c\"}],\"index_location\":\"end\"}}"},
    {"copies and archives", stores, 64 << 10, "copy.zip"},
    {"groups", groups, 64 << 10, NULL},
    {"attributes that are nested to the limit", groups, 96 << 10, "deep"},
    {"a document that is nested to the limit", deepest, 96 << 10, NULL},
    {"steps and checkpoints", run, 64 << 10, NULL},
};

int main(void) {
    numbers = malloc(SIDE * SIDE * sizeof *numbers), others = malloc(SIDE * SIDE * sizeof *others);
    if (numbers == NULL || others == NULL) return 1;
    for (int i = 0; i < SIDE * SIDE; i++) numbers[i] = i % 1000 * 0.25 + i / 1000;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t found = taken(&all[i]);
        if (found > all[i].most) FAIL("%s takes %zu bytes of the stack, expected at most %zu", all[i].name, found, all[i].most);
        if (getenv("OZARR_TEST_STACK") != NULL) printf("%7zu %s\n", found, all[i].name);
    }
    OK(ozarr_shutdown());
    free(numbers);
    free(others);
    return finish();
}
