/* Storage transformers, codecs and members of zarr.json that a program has registered. */
#include "extension.h"
#include "own.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* A transformer that xors the bytes with what its configuration says, and counts. */
typedef struct flip {
    ozarr_store *inner;
    unsigned char with;
    char name[16];
} flip;

static atomic_int flips_open, flips_done, flip_calls;
static char order[64];

static ozarr_status flip_get(void *context, const char *key, ozarr_answer *answer) {
    flip *f = (flip *)context;
    size_t size = 0;
    void *room = NULL;
    atomic_fetch_add(&flip_calls, 1);
    ozarr_status status = ozarr_store_key_get(f->inner, key, NULL, 0, &size);
    if (!status) status = ozarr_answer_room(answer, size, &room);
    if (!status) status = ozarr_store_key_get(f->inner, key, room, size, NULL);
    for (size_t i = 0; i < size && !status; i++) ((unsigned char *)room)[i] ^= f->with;
    return status;
}

static ozarr_status flip_put(void *context, const char *key, const void *data, size_t size) {
    flip *f = (flip *)context;
    unsigned char *turned = (unsigned char *)malloc(size + 1);
    if (strlen(order) < sizeof order - 2) strcat(order, f->name);
    for (size_t i = 0; i < size; i++) turned[i] = ((const unsigned char *)data)[i] ^ f->with;
    ozarr_status status = ozarr_store_key_put(f->inner, key, turned, size);
    free(turned);
    return status;
}

static ozarr_status flip_erase(void *context, const char *key) {
    bool was_there = false;
    ozarr_status status = ozarr_store_key_erase(((flip *)context)->inner, key, &was_there);
    return status ? status : was_there ? OZARR_OK : OZARR_ERR_NOT_FOUND;
}

static ozarr_status flip_key(void *keys, const char *key) { return ozarr_keys_add((ozarr_keys *)keys, key); }

static ozarr_status flip_list(void *context, const char *prefix, ozarr_keys *keys) {
    return ozarr_store_key_list(((flip *)context)->inner, prefix, flip_key, keys);
}

static void flip_destroy(void *context) {
    ERR(OZARR_ERR_NOT_FOUND, ozarr_store_key_get(((flip *)context)->inner, "none", NULL, 0, NULL)); /* the store is still there */
    atomic_fetch_add(&flips_done, 1);
    free(context);
}

static ozarr_status flip_open(void *context, const char *configuration, ozarr_store *inner, ozarr_store_table *table) {
    const char *with = strstr(configuration, "\"with\":");
    EQUAL(table->struct_size, sizeof *table);
    if (!with) return ozarr_set_error(OZARR_ERR_METADATA, "flip needs the member \"with\"", NULL);
    if (strstr(configuration, "broken")) {
        table->struct_size = 8;
        return OZARR_OK;
    }
    flip *f = (flip *)calloc(1, sizeof *f);
    atomic_fetch_add(&flips_open, 1);
    f->inner = inner;
    f->with = (unsigned char)atoi(with + 7);
    snprintf(f->name, sizeof f->name, "%s", (const char *)context);
    table->user = f;
    table->destroy = flip_destroy;
    table->get = flip_get;
    table->put = flip_put;
    table->erase = flip_erase;
    table->list = flip_list;
    return OZARR_OK;
}

static void register_flip(const char *name, const char *mark) {
    ozarr_transformer_table t = OZARR_TRANSFORMER_TABLE_INIT;
    t.name = name;
    t.user = (void *)(uintptr_t)mark;
    t.destroy = count_gone;
    t.open = flip_open;
    OK(ozarr_register_transformer(&t));
}

static ozarr_spec *plain_spec(int64_t n, int64_t chunk) {
    ozarr_spec *spec = NULL;
    OK(ozarr_spec_new(OZARR_INT32, 1, &n, &spec));
    OK(ozarr_spec_set_chunks(spec, &chunk));
    return spec;
}

static void transformers_stack(void) {
    ozarr_store *st = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = plain_spec(8, 4);
    int32_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    unsigned char raw[64];
    size_t len = 0;
    const char *list = "[{\"name\": \"test.outer\", \"configuration\": {\"with\": 1}}, "
                       "{\"name\": \"test.inner\", \"configuration\": {\"with\": 64}}]";
    gone = 0;
    ERR_SAYS(OZARR_ERR_EXTENSION, "storage_transformers", "test.outer", ozarr_spec_set_member_json(spec, "storage_transformers", list));
    register_flip("test.outer", "o");
    register_flip("test.inner", "i");
    OK(ozarr_spec_set_member_json(spec, "storage_transformers", list));
    OK(ozarr_spec_set_compressor(spec, "none", 0));
    OK(ozarr_store_memory(&st));
    OK(ozarr_array_create_at(st, "g/a", spec, OZARR_CREATE_NEW, &a));
    order[0] = 0;
    OK(ozarr_array_write(a, OZARR_INT32, x, sizeof x));
    TEXT(order, "oioi");
    OK(ozarr_store_key_get(st, "g/a/c/0", raw, sizeof raw, &len));
    EQUAL(len, 16);
    EQUAL(raw[0], 1 ^ 1 ^ 64);
    OK(ozarr_array_close(a));
    CHECK(strstr(document(st, "g/a/zarr.json", "test.outer", "test.inner"), "\"with\": 64"));
    OK(ozarr_array_create_at(st, "g/a", spec, OZARR_CREATE_OPEN_IF_SAME, &a));
    OK(ozarr_array_read(a, OZARR_INT32, y, sizeof y));
    CHECK(memcmp(x, y, sizeof x) == 0);
    /* Resized, changed in part, and told of by its chunks; what is left is in the document, too. */
    int64_t shape[] = {5}, start[] = {1}, count[] = {2}, stored = 0;
    OK(ozarr_array_resize(a, shape, 0));
    OK(ozarr_array_write_region(a, start, count, OZARR_INT32, x, 8));
    OK(ozarr_array_read(a, OZARR_INT32, y, 20));
    CHECK(y[0] == 1 && y[1] == 1 && y[2] == 2 && y[3] == 4 && y[4] == 5);
    shape[0] = 4;
    OK(ozarr_array_resize(a, shape, 0));
    OK(ozarr_array_chunk_count(a, false, &stored));
    EQUAL(stored, 1);
    int64_t index[] = {0};
    size_t size = 0;
    OK(ozarr_array_chunk_read(a, index, false, raw, sizeof raw, &size));
    EQUAL(size, 16);
    EQUAL(raw[0], 1);
    OK(ozarr_node_flush(ozarr_array_node(a)));
    ozarr_array_free(a);
    EQUAL(flips_open, flips_done);
    /* Without the registration the array cannot be opened, as before. */
    OK(ozarr_array_open_at(st, "g/a", &a));
    OK(ozarr_unregister(OZARR_EXTENSION_TRANSFORMER, "test.outer"));
    ERR_SAYS(OZARR_ERR_NOT_FOUND, "test.outer", "", ozarr_unregister(OZARR_EXTENSION_TRANSFORMER, "test.outer"));
    OK(ozarr_array_read(a, OZARR_INT32, y, 16));
    EQUAL(y[3], 4);
    ozarr_array_free(a);
    ERR_SAYS(OZARR_ERR_EXTENSION, "storage_transformers", "test.outer", ozarr_array_open_at(st, "g/a", &a));
    OK(ozarr_unregister(OZARR_EXTENSION_TRANSFORMER, "test.inner"));
    EQUAL(gone, 2);
    ozarr_spec_free(spec);
    ozarr_store_free(st);
}

/* A copy without the transformers, or with others, has the elements and not the bytes. */
static void transformed_arrays_are_copied(void) {
    static const char *const lists[] = {"[]", "[{\"name\": \"test.copied\", \"configuration\": {\"with\": 7}}]",
                                        "[{\"name\": \"test.copied\", \"configuration\": {\"with\": 2}}]"};
    ozarr_store *st = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = plain_spec(8, 4);
    int32_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    register_flip("test.copied", "c");
    OK(ozarr_spec_set_member_json(spec, "storage_transformers", lists[1]));
    OK(ozarr_store_memory(&st));
    OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(spec);
    OK(ozarr_array_write(a, OZARR_INT32, x, sizeof x));
    for (int i = 0; i < 4; i++) {
        ozarr_copy_options options = OZARR_COPY_OPTIONS_INIT;
        ozarr_array *copied = NULL;
        options.mode = OZARR_CREATE_OVERWRITE;
        spec = NULL;
        if (i < 3) {
            OK(ozarr_array_copy_spec(a, 0, &spec));
            OK(ozarr_spec_set_member_json(spec, "storage_transformers", lists[i]));
            options.spec = spec;
        }
        OK(ozarr_copy_at(st, "a", st, "b", &options));
        ozarr_spec_free(spec);
        OK(ozarr_array_open_at(st, "b", &copied));
        memset(y, 0, sizeof y);
        OK(ozarr_array_read(copied, OZARR_INT32, y, sizeof y));
        if (memcmp(x, y, sizeof x) != 0) FAIL("transformers %d: the copy is another one", i);
        OK(ozarr_array_close(copied));
    }
    OK(ozarr_array_close(a));
    OK(ozarr_unregister(OZARR_EXTENSION_TRANSFORMER, "test.copied"));
    ozarr_store_free(st);
}

static void transformers_may_fail(void) {
    ozarr_store *st = NULL;
    ozarr_array *a = NULL;
    ozarr_transformer_table t = OZARR_TRANSFORMER_TABLE_INIT;
    ERR_SAYS(OZARR_ERR_NULL, "table", "", ozarr_register_transformer(NULL));
    ERR_SAYS(OZARR_ERR_NULL, "name", "", ozarr_register_transformer(&t));
    t.name = "test.flip";
    ERR_SAYS(OZARR_ERR_NULL, "open", "", ozarr_register_transformer(&t));
    t.open = flip_open;
    t.flags = 1;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "flags", "", ozarr_register_transformer(&t));
    t.flags = 0;
    t.struct_size = 16;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "struct_size", "", ozarr_register_transformer(&t));
    gone = 0;
    register_flip("test.flip", "f");
    t.struct_size = sizeof t;
    t.destroy = count_gone;
    ERR_SAYS(OZARR_ERR_EXISTS, "test.flip", "REPLACE", ozarr_register_transformer(&t));
    EQUAL(gone, 0);
    t.flags = OZARR_REGISTER_REPLACE;
    t.user = (void *)(uintptr_t)"r";
    OK(ozarr_register_transformer(&t));
    EQUAL(gone, 1);
    ERR_SAYS(OZARR_ERR_ARGUMENT, "extension", "7", ozarr_unregister(7, "test.flip"));
    OK(ozarr_store_memory(&st));
    static const char *bad[] = {"[\"test.flip\"]", "[{\"name\": \"test.flip\", \"configuration\": {\"with\": 1, \"broken\": 1}}]"};
    for (int i = 0; i < 2; i++) {
        ozarr_spec *spec = plain_spec(8, 4);
        OK(ozarr_spec_set_member_json(spec, "storage_transformers", bad[i]));
        ERR_SAYS(i ? OZARR_ERR_ARGUMENT : OZARR_ERR_METADATA, i ? "struct_size" : "needs the member", "",
                 ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
        ozarr_node_kind kind = 9;
        OK(ozarr_store_node_kind(st, "a", &kind));
        EQUAL(kind, OZARR_NODE_KIND_NONE);
        ozarr_spec_free(spec);
    }
    OK(ozarr_unregister(OZARR_EXTENSION_TRANSFORMER, "test.flip"));
    EQUAL(gone, 2);
    EQUAL(flips_open, flips_done);
    ozarr_store_free(st);
}

static ozarr_status check_unit(void *context, const char *value) {
    (void)context;
    return strcmp(value, "{\"unit\":\"K\"}") == 0 || strstr(value, "\"K\"") ? OZARR_OK
                                                 : ozarr_set_error(OZARR_ERR_METADATA, "the unit is not K", NULL);
}

static void members_are_understood(void) {
    ozarr_store *st = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = plain_spec(8, 4);
    gone = 0;
    OK(ozarr_store_memory(&st));
    ERR_SAYS(OZARR_ERR_EXTENSION, "acme_unit", "", ozarr_spec_set_member_json(spec, "acme_unit", "{\"unit\": \"K\"}"));
    OK(ozarr_register_member("acme_unit", 0, check_unit, NULL, count_gone));
    ERR(OZARR_ERR_EXISTS, ozarr_register_member("acme_unit", 0, check_unit, NULL, count_gone));
    ERR(OZARR_ERR_EXISTS, ozarr_register_member("codecs", OZARR_REGISTER_REPLACE, NULL, NULL, NULL));
    ERR(OZARR_ERR_NAME, ozarr_register_member("", 0, NULL, NULL, NULL));
    ERR(OZARR_ERR_NULL, ozarr_register_member(NULL, 0, NULL, NULL, NULL));
    ERR_SAYS(OZARR_ERR_METADATA, "acme_unit", "not K", ozarr_spec_set_member_json(spec, "acme_unit", "{\"unit\": \"F\"}"));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "shape", "", ozarr_spec_set_member_json(spec, "shape", "[1]"));
    ERR(OZARR_ERR_ARGUMENT, ozarr_spec_set_member_json(spec, "acme_unit", "{"));
    OK(ozarr_spec_set_member_json(spec, "acme_unit", "{\"unit\": \"K\"}"));
    OK(ozarr_spec_set_member_json(spec, "hint", "{\"must_understand\": false, \"x\": [1, 2]}"));
    OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
    int64_t shape[] = {6};
    OK(ozarr_array_resize(a, shape, 0));
    ozarr_array_free(a);
    char *text = document(st, "a/zarr.json", "acme_unit", "hint");
    CHECK(strstr(text, "6"));
    OK(ozarr_array_open_at(st, "a", &a));
    ozarr_array_free(a);
    /* One that another program wrote, with another value. */
    char *k = strstr(text, "\"K\"");
    if (k) k[1] = 'F';
    OK(ozarr_store_key_put(st, "a/zarr.json", text, strlen(text)));
    ERR_SAYS(OZARR_ERR_METADATA, "acme_unit", "not K", ozarr_array_open_at(st, "a", &a));
    OK(ozarr_unregister(OZARR_EXTENSION_MEMBER, "acme_unit"));
    EQUAL(gone, 1);
    ERR_SAYS(OZARR_ERR_EXTENSION, "acme_unit", "", ozarr_array_open_at(st, "a", &a));
    ozarr_spec_free(spec);
    ozarr_store_free(st);
}

/* Codecs: runs of equal bytes, numbers halved into another type, elements to bytes with a header. */
static atomic_int states;
static int lie;

static ozarr_status any_open(void *context, const char *configuration, int32_t format, ozarr_type type, size_t item, void **state, ozarr_type *encoded) {
    (void)context, (void)format, (void)item, (void)type, (void)encoded;
    if (strstr(configuration, "bad")) return ozarr_set_error(OZARR_ERR_METADATA, "bad is bad", NULL);
    *state = malloc(1);
    atomic_fetch_add(&states, 1);
    return OZARR_OK;
}

static void any_close(void *context, void *state) {
    (void)context;
    free(state);
    atomic_fetch_sub(&states, 1);
}

static ozarr_status runs_size(void *context, void *state, size_t decoded, size_t *size, bool *exact) {
    (void)context, (void)state, (void)exact;
    *size = 2 * decoded;
    if (lie == 1) return ozarr_set_error(OZARR_ERR_UNSUPPORTED, "no size today", NULL);
    if (lie == 2) *size = 1, *exact = true;
    return OZARR_OK;
}

static ozarr_status runs_encode(void *context, void *state, const void *src, size_t size, void *dst, size_t cap, size_t *len) {
    const unsigned char *s = (const unsigned char *)src;
    unsigned char *d = (unsigned char *)dst;
    size_t n = 0;
    (void)context, (void)state;
    if (lie == 3) {
        *len = cap + 1;
        return OZARR_OK;
    }
    if (lie == 4) return ozarr_set_error(OZARR_ERR_IO, "the encoder broke", NULL);
    if (lie == 8) return ozarr_set_error(OZARR_ERR_CONFLICT, "somebody was faster", NULL);
    if (lie == 2) return OZARR_OK; /* 0 bytes, where 1 was said */
    for (size_t i = 0; i < size;) {
        size_t run = 1;
        while (run < 255 && i + run < size && s[i + run] == s[i]) run++;
        if (n + 2 > cap) return OZARR_ERR_BUFFER_SIZE;
        d[n++] = (unsigned char)run;
        d[n++] = s[i];
        i += run;
    }
    *len = n;
    return OZARR_OK;
}

static ozarr_status runs_decode(void *context, void *state, const void *src, size_t size, void *dst, size_t cap, size_t *len) {
    const unsigned char *s = (const unsigned char *)src;
    size_t n = 0;
    (void)context, (void)state;
    if (lie == 5) {
        *len = SIZE_MAX;
        return OZARR_OK;
    }
    if (lie == 6) {
        *len = cap - 1;
        return OZARR_OK;
    }
    for (size_t i = 0; i + 1 < size; i += 2) {
        if (n + s[i] > cap) return ozarr_set_error(OZARR_ERR_BUFFER_SIZE, "longer than the room", NULL);
        memset((char *)dst + n, s[i + 1], s[i]);
        n += s[i];
    }
    *len = n;
    return OZARR_OK;
}

static ozarr_codec_table runs_table(void) {
    ozarr_codec_table t = OZARR_CODEC_TABLE_INIT;
    t.name = "test.runs";
    t.id = "test_runs";
    t.kind = OZARR_CODEC_KIND_BYTES;
    t.destroy = count_gone;
    t.open = any_open;
    t.close = any_close;
    t.encoded_size = runs_size;
    t.encode = runs_encode;
    t.decode = runs_decode;
    return t;
}

/* double in memory, float in the file, half of it. */
static ozarr_status half_open(void *context, const char *configuration, int32_t format, ozarr_type type, size_t item, void **state, ozarr_type *encoded) {
    (void)context, (void)configuration, (void)state, (void)format;
    if (type != OZARR_FLOAT64) return ozarr_set_error(OZARR_ERR_METADATA, "halves doubles only", NULL);
    EQUAL(item, 8);
    *encoded = lie == 7 ? -3 : OZARR_FLOAT32;
    return OZARR_OK;
}

static ozarr_status half_encode(void *context, void *state, const void *src, size_t size, void *dst, size_t cap, size_t *len) {
    (void)context, (void)state;
    EQUAL(cap, size / 2);
    for (size_t i = 0; i < size / 8; i++) {
        double x;
        memcpy(&x, (const char *)src + 8 * i, 8);
        float y = (float)(x / 2);
        memcpy((char *)dst + 4 * i, &y, 4);
    }
    *len = size / 2;
    return OZARR_OK;
}

static ozarr_status half_decode(void *context, void *state, const void *src, size_t size, void *dst, size_t cap, size_t *len) {
    (void)context, (void)state;
    if (cap < 2 * size) return OZARR_ERR_BUFFER_SIZE;
    for (size_t i = 0; i < size / 4; i++) {
        float y;
        memcpy(&y, (const char *)src + 4 * i, 4);
        double x = 2 * (double)y;
        memcpy((char *)dst + 8 * i, &x, 8);
    }
    *len = 2 * size;
    return OZARR_OK;
}

static void lives_with(const char *member, const char *json, int sharded, int format) {
    ozarr_store *st = NULL;
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    int64_t shape[] = {100}, chunk[] = {sharded ? 40 : 20}, start[] = {13}, count[] = {50};
    double x[100], y[100];
    for (int i = 0; i < 100; i++) x[i] = 0.25 * (i / 7);
    OK(ozarr_store_memory(&st));
    OK(ozarr_spec_new(OZARR_FLOAT64, 1, shape, &spec));
    OK(ozarr_spec_set_zarr_format(spec, format));
    OK(ozarr_spec_set_chunks(spec, chunk));
    if (format == 2) OK(strcmp(member, "filters") ? ozarr_spec_set_member_json(spec, "compressor", json) : ozarr_spec_set_member_json(spec, "filters", json));
    else OK(ozarr_spec_set_member_json(spec, "codecs", json));
    if (OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a))) {
        OK(ozarr_array_write(a, OZARR_FLOAT64, x, sizeof x));
        OK(ozarr_array_write_region(a, start, count, OZARR_FLOAT64, x, 400));
        ozarr_array_free(a);
        OK(ozarr_array_open_at(st, "a", &a));
        OK(ozarr_array_read(a, OZARR_FLOAT64, y, sizeof y));
        CHECK(memcmp(y + 13, x, 400) == 0 && memcmp(y, x, 104) == 0 && memcmp(y + 63, x + 63, 37 * 8) == 0);
        ozarr_array_free(a);
    }
    ozarr_spec_free(spec);
    ozarr_store_free(st);
}

static void codecs_live_in_chains(void) {
    ozarr_codec_table runs = runs_table(), half = OZARR_CODEC_TABLE_INIT, whole = runs;
    gone = 0;
    half.flags = OZARR_CODEC_IS_ELEMENTWISE | OZARR_CALLBACK_ANY_THREAD;
    half.kind = OZARR_CODEC_KIND_ARRAY;
    half.name = "test.half";
    half.id = "test_half";
    half.open = half_open;
    half.encode = half_encode;
    half.decode = half_decode;
    whole.kind = OZARR_CODEC_KIND_ARRAY_TO_BYTES;
    whole.name = "test.whole";
    whole.id = NULL;
    OK(ozarr_register_codec(&runs));
    OK(ozarr_register_codec(&half));
    OK(ozarr_register_codec(&whole));
    CHECK(ozarr_has_feature("test.runs") && ozarr_has_feature("test_half"));
    const char *big = "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"big\"}}";
    char json[1024];
    snprintf(json, sizeof json, "[%s, \"test.runs\"]", big);
    lives_with("codecs", json, 0, 3);
    snprintf(json, sizeof json, "[\"test.half\", %s, \"test.runs\", {\"name\": \"zstd\", \"configuration\": {\"level\": 1}}, \"test.runs\"]", big);
    lives_with("codecs", json, 0, 3);
    lives_with("codecs", "[\"test.whole\", \"test.runs\"]", 0, 3);
    lives_with("codecs", "[\"test.half\", \"test.whole\", \"crc32c\"]", 0, 3);
    snprintf(json, sizeof json,
             "[{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [10], \"codecs\": [\"test.half\", %s, \"test.runs\"], "
             "\"index_codecs\": [%s, \"crc32c\"]}}]", big, big);
    lives_with("codecs", json, 1, 3);
    lives_with("filters", "[{\"id\": \"test_half\"}, {\"id\": \"test_runs\", \"level\": 9}]", 0, 2);
    lives_with("compressor", "{\"id\": \"test_runs\"}", 0, 2);
    EQUAL(states, 0);
    /* A name that is taken, by us or by the library; and one that belongs to the core. */
    ERR_SAYS(OZARR_ERR_EXISTS, "test.runs", "", ozarr_register_codec(&runs));
    runs.name = "gzip", runs.id = NULL;
    ERR_SAYS(OZARR_ERR_EXISTS, "gzip", "built in", ozarr_register_codec(&runs));
    runs.flags = OZARR_REGISTER_REPLACE;
    OK(ozarr_register_codec(&runs));
    snprintf(json, sizeof json, "[%s, \"gzip\"]", big);
    lives_with("codecs", json, 0, 3);
    OK(ozarr_unregister(OZARR_EXTENSION_CODEC, "gzip"));
    runs.name = "sharding_indexed";
    ERR_SAYS(OZARR_ERR_EXISTS, "sharding_indexed", "core", ozarr_register_codec(&runs));
    EQUAL(gone, 1);
    OK(ozarr_unregister(OZARR_EXTENSION_CODEC, "test_half"));
    CHECK(!ozarr_has_feature("test.half"));
    OK(ozarr_unregister(OZARR_EXTENSION_CODEC, "test.whole"));
    OK(ozarr_unregister(OZARR_EXTENSION_CODEC, "test.runs"));
    EQUAL(gone, 3);
}

/* What follows a codec that makes bytes does not care what they were; one that makes them wants numbers. */
static void codecs_of_bytes_follow_structs(void) {
    ozarr_codec_table runs = runs_table(), whole = runs;
    whole.kind = OZARR_CODEC_KIND_ARRAY_TO_BYTES, whole.name = "test.whole", whole.id = NULL;
    OK(ozarr_register_codec(&runs));
    OK(ozarr_register_codec(&whole));
    const char *bytes = "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}";
    char json[256];
    snprintf(json, sizeof json, "[%s, \"test.runs\"]", bytes);
    const struct { const char *dtype, *member, *value; int32_t format; ozarr_status status; } cases[] = {
        {"{\"name\": \"struct\", \"configuration\": {\"fields\": [{\"name\": \"a\", \"data_type\": \"int32\"}, {\"name\": \"b\", \"data_type\": \"int16\"}]}}", "codecs", json, 3, OZARR_OK},
        {"{\"name\": \"struct\", \"configuration\": {\"fields\": [{\"name\": \"a\", \"data_type\": \"int32\"}, {\"name\": \"b\", \"data_type\": \"int16\"}]}}", "codecs", "[\"test.whole\"]", 3, OZARR_ERR_UNSUPPORTED},
        {"[[\"a\", \"<i4\"], [\"b\", \"<i2\"]]", "compressor", "{\"id\": \"test_runs\"}", 2, OZARR_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ozarr_store *st = NULL;
        ozarr_dtype *dtype = NULL;
        ozarr_spec *spec = NULL;
        ozarr_array *a = NULL;
        const int64_t shape[] = {4};
        unsigned char x[24], y[24] = {0};
        for (int k = 0; k < 24; k++) x[k] = (unsigned char)(k / 5);
        OK(ozarr_store_memory(&st));
        OK(ozarr_dtype_parse(cases[i].dtype, cases[i].format, &dtype));
        OK(ozarr_spec_new_dtype(dtype, 1, shape, &spec));
        OK(ozarr_spec_set_zarr_format(spec, cases[i].format));
        OK(ozarr_spec_set_member_json(spec, cases[i].member, cases[i].value));
        EQUAL(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a), cases[i].status);
        if (a != NULL) {
            OK(ozarr_array_write(a, OZARR_AS_STORED, x, sizeof x));
            OK(ozarr_array_read(a, OZARR_AS_STORED, y, sizeof y));
            CHECK(memcmp(x, y, sizeof x) == 0);
        }
        ozarr_array_free(a);
        ozarr_spec_free(spec);
        ozarr_dtype_free(dtype);
        ozarr_store_free(st);
    }
    OK(ozarr_unregister(OZARR_EXTENSION_CODEC, "test.runs"));
    OK(ozarr_unregister(OZARR_EXTENSION_CODEC, "test.whole"));
}

static void bad_codecs(void) {
    ozarr_codec_table good = runs_table(), t = good;
    ERR_SAYS(OZARR_ERR_NULL, "table", "", ozarr_register_codec(NULL));
    t.struct_size = 4;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "struct_size", "", ozarr_register_codec(&t));
    t = good, t.encode = NULL;
    ERR_SAYS(OZARR_ERR_NULL, "encode", "", ozarr_register_codec(&t));
    t = good, t.decode = NULL;
    ERR_SAYS(OZARR_ERR_NULL, "decode", "", ozarr_register_codec(&t));
    t = good, t.encoded_size = NULL;
    ERR_SAYS(OZARR_ERR_NULL, "encoded_size", "", ozarr_register_codec(&t));
    t = good, t.kind = 9;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "kind", "9", ozarr_register_codec(&t));
    t = good, t.flags = OZARR_CODEC_IS_ELEMENTWISE;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "ELEMENTWISE", "", ozarr_register_codec(&t));
    t = good, t.flags = 1;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "flags", "", ozarr_register_codec(&t));
    t = good, t.name = t.id = NULL;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "name", "", ozarr_register_codec(&t));
    t = good, t.name = "a\nb";
    ERR_SAYS(OZARR_ERR_NAME, "name", "", ozarr_register_codec(&t));
}

static void codecs_that_lie_are_errors(void) {
    ozarr_codec_table runs = runs_table(), half = runs;
    ozarr_store *st = NULL;
    ozarr_array *a = NULL, *b = NULL;
    ozarr_spec *spec = plain_spec(8, 8);
    int32_t x[8] = {1}, y[8];
    half.kind = OZARR_CODEC_KIND_ARRAY;
    half.name = "test.half", half.id = NULL;
    half.open = half_open;
    gone = 0;
    lie = 0;
    OK(ozarr_register_codec(&runs));
    OK(ozarr_register_codec(&half));
    OK(ozarr_store_memory(&st));
    const char *bytes = "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}";
    char json[512];
    snprintf(json, sizeof json, "[%s, {\"name\": \"test.runs\", \"configuration\": {\"bad\": 1}}]", bytes);
    OK(ozarr_spec_set_member_json(spec, "codecs", json));
    ERR_SAYS(OZARR_ERR_METADATA, "codecs[1]", "bad is bad", ozarr_array_create_at(st, "bad", spec, OZARR_CREATE_NEW, &b));
    snprintf(json, sizeof json, "[\"test.half\", %s]", bytes);
    OK(ozarr_spec_set_member_json(spec, "codecs", json));
    ERR_SAYS(OZARR_ERR_METADATA, "codecs[0]", "doubles only", ozarr_array_create_at(st, "bad", spec, OZARR_CREATE_NEW, &b));
    snprintf(json, sizeof json, "[%s, \"test.runs\"]", bytes);
    OK(ozarr_spec_set_member_json(spec, "codecs", json));
    OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT32, x, sizeof x));
    static const struct { ozarr_status status; const char *says; } writes[] = {
        {OZARR_ERR_LIMIT, ""}, {OZARR_ERR_CALLBACK, "gave 0 bytes"}, {OZARR_ERR_CALLBACK, "says that it wrote"}, {OZARR_ERR_IO, "the encoder broke"},
    };
    for (lie = 1; lie < 5; lie++) {
        x[0] = lie;
        ozarr_status status = ozarr_array_write(a, OZARR_INT32, x, sizeof x);
        if (lie == 1) EQUAL(status, OZARR_ERR_UNSUPPORTED);
        else {
            EQUAL(status, writes[lie - 1].status);
            CHECK(strstr(ozarr_last_error(), writes[lie - 1].says));
        }
    }
    /* Of a store it would mean that the write is to be made again. */
    lie = 8;
    ERR_SAYS(OZARR_ERR_CALLBACK, "somebody was faster", "OZARR_ERR_CONFLICT", ozarr_array_write(a, OZARR_INT32, x, sizeof x));
    lie = 5;
    ERR_SAYS(OZARR_ERR_CALLBACK, "a/c/0", "test.runs", ozarr_array_read(a, OZARR_INT32, y, sizeof y));
    lie = 6;
    ERR_SAYS(OZARR_ERR_CHUNK, "31", "32", ozarr_array_read(a, OZARR_INT32, y, sizeof y));
    lie = 0;
    OK(ozarr_array_read(a, OZARR_INT32, y, sizeof y));
    EQUAL(y[0], 1);
    /* Damaged bytes reach the program's decoder, and no more is written than there is room for. */
    OK(ozarr_store_key_put(st, "a/c/0", "\xff\x01\xff\x02", 4));
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_read(a, OZARR_INT32, y, sizeof y));
    /* An open array keeps its codec. */
    OK(ozarr_unregister(OZARR_EXTENSION_CODEC, "test.runs"));
    OK(ozarr_unregister(OZARR_EXTENSION_CODEC, "test.half"));
    EQUAL(gone, 1);
    OK(ozarr_array_write(a, OZARR_INT32, x, sizeof x));
    OK(ozarr_array_read(a, OZARR_INT32, y, sizeof y));
    EQUAL(y[0], x[0]);
    ozarr_array_free(a);
    EQUAL(gone, 2);
    EQUAL(states, 0);
    OK(ozarr_array_open_at(st, "a", &a));
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "test.runs", "", ozarr_array_read(a, OZARR_INT32, y, sizeof y));
    ozarr_array_free(a);
    ozarr_spec_free(spec);
    ozarr_store_free(st);
}

/* A decoder that notes whether a thread calls it which is not inside of a call of the program's. */
static pthread_t home;
static atomic_int calls_at_home, calls_abroad;

static ozarr_status home_decode(void *context, void *state, const void *src, size_t size, void *dst, size_t cap, size_t *len) {
    atomic_fetch_add(pthread_equal(pthread_self(), home) ? &calls_at_home : &calls_abroad, 1);
    return runs_decode(context, state, src, size, dst, cap, len);
}

static ozarr_status a_fault(void *user, ozarr_fault_kind kind, const char *key, const char *text, int64_t size, bool repaired) {
    (void)user, (void)kind, (void)size, (void)repaired;
    FAIL("%s: %s", key, text);
    return OZARR_OK;
}

static void functions_stay_in_the_thread_of_the_call(void) {
    enum { N = 1 << 20 };
    ozarr_codec_table runs = runs_table();
    ozarr_context *context = NULL;
    ozarr_store *st = NULL;
    ozarr_array *a = NULL, *plain = NULL;
    ozarr_summary summary = OZARR_SUMMARY_INIT;
    ozarr_comparison differences = OZARR_COMPARISON_INIT;
    ozarr_verified verified = OZARR_VERIFIED_INIT;
    char digits[33];
    int32_t *x = (int32_t *)calloc(N, sizeof *x);
    home = pthread_self();
    runs.name = "test.home", runs.id = NULL;
    runs.decode = home_decode;
    OK(ozarr_register_codec(&runs));
    OK(ozarr_context_new(&context));
    OK(ozarr_context_set(context, "threads", "4"));
    OK(ozarr_store_open_ex(context, "home.zarr", "r+", NULL, &st));
    ozarr_spec *spec = plain_spec(N, N / 32);
    OK(ozarr_array_create_at(st, "plain", spec, OZARR_CREATE_NEW, &plain));
    OK(ozarr_spec_set_member_json(spec, "codecs", "[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, \"test.home\"]"));
    OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
    for (int i = 0; i < N; i++) x[i] = i / 1000;
    OK(ozarr_array_write(a, OZARR_INT32, x, N * sizeof *x));
    OK(ozarr_array_write(plain, OZARR_INT32, x, N * sizeof *x));
    for (int i = 0; i < 5; i++) {
        calls_at_home = 0;
        if (i == 0) OK(ozarr_array_summarize(a, NULL, &summary));
        if (i == 1) OK(ozarr_array_digest(a, NULL, digits, sizeof digits, NULL));
        if (i == 2) OK(ozarr_array_compare(a, NULL, plain, NULL, 0, 0, &differences, NULL));
        if (i == 3) OK(ozarr_array_compare(plain, NULL, a, NULL, 0, 0, &differences, NULL));
        if (i == 4) OK(ozarr_store_verify(st, "", 0, a_fault, NULL, NULL, &verified));
        EQUAL(calls_at_home, 32);
        EQUAL(calls_abroad, 0);
    }
    ozarr_array_free(a);
    ozarr_array_free(plain);
    ozarr_spec_free(spec);
    ozarr_store_free(st);
    ozarr_context_free(context);
    OK(ozarr_unregister(OZARR_EXTENSION_CODEC, "test.home"));
    free(x);
}

/* Keys in base 26, one letter a dimension: "AB" is chunk 0, 1. */
static ozarr_status letters_encode(void *context, const char *configuration, int32_t rank, const int64_t *index, char *buf, size_t cap, size_t *len) {
    (void)context, (void)configuration;
    if (lie == 1) return ozarr_set_error(OZARR_ERR_UNSUPPORTED, "no letters today", NULL);
    if (lie == 2) return *len = cap, OZARR_OK;
    if (lie == 3) return memcpy(buf, "../x", 5), *len = 4, OZARR_OK;
    if (lie == 4) return memcpy(buf, "zarr.json", 9), *len = 9, OZARR_OK;
    *len = 0;
    if (cap < (size_t)rank + 1) return OZARR_ERR_BUFFER_SIZE;
    for (int d = 0; d < rank; d++) buf[(*len)++] = (char)('A' + index[d]);
    if (rank == 0) buf[(*len)++] = '_';
    return OZARR_OK;
}

static ozarr_status letters_decode(void *context, const char *configuration, int32_t rank, const char *key, int64_t *index, bool *is_chunk) {
    (void)context, (void)configuration;
    *is_chunk = strlen(key) == (size_t)rank;
    for (int d = 0; d < rank && *is_chunk; d++) {
        *is_chunk = key[d] >= 'A' && key[d] <= 'Z';
        index[d] = key[d] - 'A';
    }
    if (lie == 5) *is_chunk = true, index[0] = -1;
    return OZARR_OK;
}

static ozarr_status letters_check(void *context, const char *configuration) {
    (void)context;
    return strstr(configuration, "small") ? ozarr_set_error(OZARR_ERR_METADATA, "large letters only", NULL) : OZARR_OK;
}

static void chunk_keys_of_ones_own(void) {
    ozarr_key_encoding_table t = OZARR_KEY_ENCODING_TABLE_INIT;
    ozarr_store *st = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = plain_spec(12, 4);
    int32_t x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, y[12];
    int64_t stored = 0, shape[] = {4};
    gone = 0;
    lie = 0;
    ERR_SAYS(OZARR_ERR_NULL, "table", "", ozarr_register_key_encoding(NULL));
    ERR_SAYS(OZARR_ERR_NULL, "name", "", ozarr_register_key_encoding(&t));
    t.name = "test.letters";
    ERR_SAYS(OZARR_ERR_NULL, "encode", "", ozarr_register_key_encoding(&t));
    t.encode = letters_encode;
    ERR_SAYS(OZARR_ERR_NULL, "decode", "", ozarr_register_key_encoding(&t));
    t.decode = letters_decode;
    t.check = letters_check;
    t.destroy = count_gone;
    t.struct_size = 9;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "struct_size", "", ozarr_register_key_encoding(&t));
    t.struct_size = sizeof t;
    t.flags = 2;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "flags", "", ozarr_register_key_encoding(&t));
    t.flags = OZARR_REGISTER_REPLACE;
    t.name = "default";
    ERR_SAYS(OZARR_ERR_EXISTS, "default", "", ozarr_register_key_encoding(&t));
    t.name = "test.letters";
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "test.letters", "", ozarr_spec_set_member_json(spec, "chunk_key_encoding", "\"test.letters\""));
    OK(ozarr_register_key_encoding(&t));
    ERR_SAYS(OZARR_ERR_METADATA, "chunk_key_encoding", "large letters only",
             ozarr_spec_set_member_json(spec, "chunk_key_encoding", "{\"name\": \"test.letters\", \"configuration\": {\"small\": 1}}"));
    OK(ozarr_spec_set_member_json(spec, "chunk_key_encoding", "{\"name\": \"test.letters\", \"configuration\": {\"x\": 1}}"));
    OK(ozarr_store_memory(&st));
    OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT32, x, sizeof x));
    OK(ozarr_store_key_get(st, "a/C", NULL, 0, NULL));
    OK(ozarr_array_chunk_count(a, false, &stored));
    EQUAL(stored, 3);
    ozarr_array_free(a);
    document(st, "a/zarr.json", "test.letters", "\"x\": 1");
    OK(ozarr_array_open_at(st, "a", &a));
    OK(ozarr_array_read(a, OZARR_INT32, y, sizeof y));
    CHECK(memcmp(x, y, sizeof x) == 0);
    static const struct { ozarr_status status; const char *says; } keys[] = {
        {OZARR_ERR_UNSUPPORTED, "no letters today"}, {OZARR_ERR_CALLBACK, "says that it wrote"}, {OZARR_ERR_NAME, ""}, {OZARR_ERR_CALLBACK, "zarr.json"},
    };
    for (lie = 1; lie < 5; lie++) {
        int64_t index[] = {0};
        char key[64];
        ERR_SAYS(keys[lie - 1].status, keys[lie - 1].says, "", ozarr_array_read(a, OZARR_INT32, y, sizeof y));
        ERR_SAYS(keys[lie - 1].status, keys[lie - 1].says, "", ozarr_array_write(a, OZARR_INT32, x, sizeof x));
        if (lie != 3) ERR_SAYS(keys[lie - 1].status, keys[lie - 1].says, "", ozarr_array_chunk_key(a, index, key, sizeof key, NULL));
    }
    lie = 5;
    OK(ozarr_array_chunk_count(a, false, &stored));
    EQUAL(stored, 0);
    lie = 0;
    OK(ozarr_array_resize(a, shape, 0));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_store_key_get(st, "a/C", NULL, 0, NULL));
    OK(ozarr_unregister(OZARR_EXTENSION_KEY_ENCODING, "test.letters"));
    OK(ozarr_array_read(a, OZARR_INT32, y, 16));
    EQUAL(gone, 0);
    ozarr_array_free(a);
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "chunk_key_encoding", "test.letters", ozarr_array_open_at(st, "a", &a));
    EQUAL(gone, 1);
    ozarr_spec_free(spec);
    ozarr_store_free(st);
}

/* Keys in folders: "x7/y" is chunk 7. */
static int ill;

static ozarr_status folders_encode(void *context, const char *configuration, int32_t rank, const int64_t *index, char *buf, size_t cap, size_t *len) {
    (void)context, (void)configuration, (void)rank;
    *len = (size_t)snprintf(buf, cap, "x%d/y", (int)index[0]);
    return OZARR_OK;
}

static ozarr_status folders_decode(void *context, const char *configuration, int32_t rank, const char *key, int64_t *index, bool *is_chunk) {
    int number = 0;
    (void)context, (void)configuration, (void)rank;
    if (ill && strcmp(key, "x70/y") == 0) return ozarr_set_error(OZARR_ERR_IO, "cannot tell", NULL);
    *is_chunk = sscanf(key, "x%d/", &number) == 1 && key[strlen(key) - 1] == 'y';
    index[0] = number;
    return OZARR_OK;
}

/* What a listing cannot be told of a key is an error of the call, and no missing chunk; and a new array has no chunks of an old one. */
static void chunk_keys_that_cannot_be_told(void) {
    enum { CHUNKS = 5000, LAST = 70 };
    ozarr_key_encoding_table t = OZARR_KEY_ENCODING_TABLE_INIT;
    ozarr_spec *spec = plain_spec(CHUNKS, 1);
    ozarr_store *st = NULL;
    ozarr_array *a = NULL;
    int64_t stored = 0, start[] = {LAST}, count[] = {1}, shape[] = {10};
    int32_t x[] = {7}, y[] = {9};
    t.name = "test.folders";
    t.encode = folders_encode;
    t.decode = folders_decode;
    OK(ozarr_register_key_encoding(&t));
    OK(ozarr_spec_set_member_json(spec, "chunk_key_encoding", "{\"name\": \"test.folders\"}"));
    OK(ozarr_store_memory(&st));
    OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write_region(a, start, count, OZARR_INT32, x, sizeof x));
    ill = 1;
    ERR_SAYS(OZARR_ERR_IO, "a/x70/y", "cannot tell", ozarr_array_chunk_count(a, false, &stored));
    ERR_SAYS(OZARR_ERR_IO, "x70/y", "cannot tell", ozarr_array_resize(a, shape, 0));
    ill = 0;
    shape[0] = CHUNKS;
    OK(ozarr_array_resize(a, shape, 0)); /* does first what the other one left */
    OK(ozarr_array_read_region(a, start, count, OZARR_INT32, y, sizeof y));
    EQUAL(y[0], 0);
    OK(ozarr_array_write_region(a, start, count, OZARR_INT32, x, sizeof x));
    OK(ozarr_array_chunk_count(a, false, &stored));
    EQUAL(stored, 1);
    OK(ozarr_array_close(a));
    OK(ozarr_store_key_erase(st, "a/zarr.json", NULL));
    OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_read_region(a, start, count, OZARR_INT32, y, sizeof y));
    EQUAL(y[0], 0);
    ozarr_array_free(a);
    ozarr_spec_free(spec);
    ozarr_store_free(st);
    OK(ozarr_unregister(OZARR_EXTENSION_KEY_ENCODING, "test.folders"));
}

/* Parts of stores, caches, delays and narrow lines. */
static void stores_over_stores(void) {
    own_store s;
    ozarr_store_table t = own_table(&s);
    ozarr_store *st = NULL, *part = NULL, *cache = NULL, *none = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = plain_spec(1000, 100);
    static int32_t x[1000], y[1000];
    for (int i = 0; i < 1000; i++) x[i] = i * i;
    OK(ozarr_store_from_table(NULL, &t, "r+", &st));
    OK(ozarr_store_below(st, "deep/down", "r+", &part));
    OK(ozarr_array_create_at(part, "a", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT32, x, sizeof x));
    ozarr_array_free(a);
    OK(ozarr_array_open_at(st, "deep/down/a", &a));
    ozarr_array_free(a);
    ERR_SAYS(OZARR_ERR_NAME, "..", "", ozarr_store_below(st, "../x", "r", &none));
    OK(ozarr_store_cached(part, 1 << 20, "r", &cache));
    ERR(OZARR_ERR_READ_ONLY, ozarr_store_key_put(cache, "k", "x", 1));
    ERR(OZARR_ERR_READ_ONLY, ozarr_store_cached(cache, 1 << 20, "r+", &none));
    OK(ozarr_array_open_at(cache, "a", &a));
    OK(ozarr_array_read(a, OZARR_INT32, y, sizeof y));
    CHECK(memcmp(x, y, sizeof x) == 0);
    int first = s.bytes;
    OK(ozarr_array_read(a, OZARR_INT32, y, sizeof y));
    CHECK(memcmp(x, y, sizeof x) == 0);
    EQUAL(s.bytes, first);
    /* What changes beneath is seen. */
    OK(ozarr_store_key_erase(st, "deep/down/a/c/3", NULL));
    OK(ozarr_array_read(a, OZARR_INT32, y, sizeof y));
    CHECK(y[300] == 0 && y[399] == 0 && y[299] == x[299] && y[400] == x[400]);
    ozarr_array_free(a);
    ozarr_spec_free(spec);
    ozarr_store_free(cache);
    ozarr_store_free(part);
    EQUAL(s.destroyed, 0);
    OK(ozarr_store_close(st));
    EQUAL(s.destroyed, 1);
    EQUAL(s.most_inside, 1);
}

int main(void) {
    transformers_stack();
    transformed_arrays_are_copied();
    transformers_may_fail();
    members_are_understood();
    codecs_live_in_chains();
    codecs_of_bytes_follow_structs();
    bad_codecs();
    codecs_that_lie_are_errors();
    functions_stay_in_the_thread_of_the_call();
    chunk_keys_of_ones_own();
    chunk_keys_that_cannot_be_told();
    stores_over_stores();
    return finish();
}
