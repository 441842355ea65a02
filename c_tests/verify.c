/* Verifying: each kind of fault with its key, message and bytes; what is mended; a callback that ends the run; wrong arguments. */
#include "table.h"
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>
#ifndef _WIN32
#include <sys/resource.h>
#include <sys/wait.h>
#endif

enum { ROWS = 8, COLUMNS = 8, CELLS = ROWS * COLUMNS };

static const int64_t SHAPE[] = {ROWS, COLUMNS}, CHUNKS[] = {4, 4}, INNER[] = {2, 2}, START[] = {0, 0};

/* What the last run found. */
typedef struct heard {
    char key[128], message[512];
    ozarr_fault_kind kind;
    int64_t bytes, done, total;
    bool repaired;
    int calls, steps, end_after, end_progress_after;
    ozarr_store *store;
    pthread_t thread;
} heard;

static ozarr_status hear(void *user, ozarr_fault_kind kind, const char *key, const char *message, int64_t bytes, bool repaired) {
    heard *h = user;
    size_t len = 0;
    CHECK(pthread_equal(h->thread, pthread_self()));
    snprintf(h->key, sizeof h->key, "%s", key);
    snprintf(h->message, sizeof h->message, "%s", message);
    h->kind = kind, h->bytes = bytes, h->repaired = repaired;
    /* It may call the library. */
    OK(ozarr_store_key_get(h->store, "zarr.json", NULL, 0, &len));
    return ++h->calls == h->end_after ? ozarr_set_error(OZARR_ERR_STATE, "that is enough", NULL) : OZARR_OK;
}

static ozarr_status step(void *user, int64_t done, int64_t total) {
    heard *h = user;
    CHECK(pthread_equal(h->thread, pthread_self()));
    CHECK(done >= h->done && done <= total);
    h->done = done, h->total = total;
    return ++h->steps == h->end_progress_after ? OZARR_ERR_CANCELLED : OZARR_OK;
}

static heard listener(ozarr_store *store) {
    heard h = {0};
    h.store = store, h.thread = pthread_self();
    return h;
}

static void make_array(ozarr_store *store, const char *path, const char *compressor, const int64_t *inner) {
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    uint8_t numbers[CELLS];
    for (int i = 0; i < CELLS; i++) numbers[i] = (uint8_t)(i + 1);
    OK(ozarr_spec_new(OZARR_UINT8, 2, SHAPE, &spec));
    OK(ozarr_spec_set_chunks(spec, CHUNKS));
    OK(ozarr_spec_set_compressor(spec, compressor, -1));
    if (inner) OK(ozarr_spec_set_inner_chunks(spec, inner));
    OK(ozarr_array_create_at(store, path, spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write_region(a, START, SHAPE, OZARR_UINT8, numbers, sizeof numbers));
    OK(ozarr_array_close(a));
    ozarr_spec_free(spec);
}

/* A group with a plain array, a compressed one and a sharded one, of 4 chunks each, consolidated: 4 nodes, 12 chunks. */
static ozarr_store *make_store(const char *location) {
    ozarr_store *store = NULL;
    ozarr_group *g = NULL;
    if (location) OK(ozarr_store_open(location, "r+", &store));
    else OK(ozarr_store_memory(&store));
    OK(ozarr_group_create_at(store, "", 3, OZARR_CREATE_NEW, &g));
    make_array(store, "plain", "none", NULL);
    make_array(store, "zstd", "zstd", NULL);
    make_array(store, "shards", "none", INNER);
    OK(ozarr_group_consolidate(g));
    OK(ozarr_group_close(g));
    return store;
}

/* Puts a value anew that is cut to `size` bytes, or has zeros behind, with one bit changed that is not -1. */
static void change(ozarr_store *store, const char *key, size_t size, long bit) {
    static char bytes[1 << 16];
    size_t len = 0;
    memset(bytes, 0, sizeof bytes);
    OK(ozarr_store_key_get(store, key, bytes, sizeof bytes, &len));
    if (bit >= 0) bytes[bit / 8] ^= (char)(1 << bit % 8);
    OK(ozarr_store_key_put(store, key, bytes, size ? size : len));
}

static void cut_chunk(ozarr_store *s) { change(s, "plain/c/0/1", 9, -1); }
static void long_chunk(ozarr_store *s) { change(s, "plain/c/1/1", 17, -1); }
static void torn_chunk(ozarr_store *s) { change(s, "zstd/c/1/0", 12, -1); }
static void torn_shard(ozarr_store *s) { change(s, "shards/c/0/0", 40, -1); }
static void shard_index(ozarr_store *s) { change(s, "shards/c/1/1", 0, 8 * 16 + 5); }
static void no_json(ozarr_store *s) { change(s, "zstd/zarr.json", 30, -1); }
static void foreign(ozarr_store *s) { OK(ozarr_store_key_put(s, "plain/notes.txt", "hello", 5)); }
static void outside(ozarr_store *s) { OK(ozarr_store_key_put(s, "plain/c/0/2", "0123456789abcdef", 16)); }
static void codec_of_nobody(ozarr_store *s) {
    char text[8192] = "";
    size_t len = 0;
    OK(ozarr_store_key_get(s, "zstd/zarr.json", text, sizeof text - 1, &len));
    memcpy(strstr(text, "\"zstd\""), "\"zsta\"", 6);
    OK(ozarr_store_key_put(s, "zstd/zarr.json", text, len));
}
/* The document says another fill value than the consolidated metadata. */
static void stale(ozarr_store *s) {
    char text[8192] = "";
    size_t len = 0;
    OK(ozarr_store_key_get(s, "plain/zarr.json", text, sizeof text - 1, &len));
    char *at = strstr(text, "\"fill_value\"");
    at[strcspn(at, "0")] = '7';
    OK(ozarr_store_key_put(s, "plain/zarr.json", text, len));
}

typedef struct fault_case {
    const char *what;
    void (*plant)(ozarr_store *);
    ozarr_fault_kind kind;
    const char *key, *word;
    /* -2: any number. */
    int64_t bytes;
    /* It is found without reading chunks; how many faults there are. */
    int quick, faults;
} fault_case;

static const fault_case CASES[] = {
    {"a chunk is cut", cut_chunk, OZARR_FAULT_KIND_DAMAGED, "plain/c/0/1", "16", 9, 0, 1},
    {"a chunk is too long", long_chunk, OZARR_FAULT_KIND_DAMAGED, "plain/c/1/1", "16", 17, 0, 1},
    {"a compressed chunk is torn", torn_chunk, OZARR_FAULT_KIND_DAMAGED, "zstd/c/1/0", "", 12, 0, 1},
    {"a shard is torn", torn_shard, OZARR_FAULT_KIND_DAMAGED, "shards/c/0/0", "", 40, 0, 1},
    {"the index of a shard", shard_index, OZARR_FAULT_KIND_DAMAGED, "shards/c/1/1", "", -2, 0, 1},
    {"a document is torn", no_json, OZARR_FAULT_KIND_DAMAGED, "zstd/zarr.json", "", 30, 1, 1},
    {"a foreign file", foreign, OZARR_FAULT_KIND_FOREIGN, "plain/notes.txt", "", 5, 1, 1},
    {"a chunk beyond the shape", outside, OZARR_FAULT_KIND_OUTSIDE, "plain/c/0/2", "grows", 16, 1, 1},
    {"stale consolidated metadata", stale, OZARR_FAULT_KIND_STALE, "zarr.json", "plain", -2, 1, 1},
    {"a codec that nobody has", codec_of_nobody, OZARR_FAULT_KIND_UNSUPPORTED, "zstd/zarr.json", "zsta", -2, 1, 2},
};

/* In a folder and in memory each fault is found and told by what it is, with the key and the bytes that are stored. */
static void each_fault_is_told(int i, int in_memory) {
    const fault_case *c = &CASES[i];
    char name[32];
    snprintf(name, sizeof name, "case%d.zarr", i);
    ozarr_store *store = make_store(in_memory ? NULL : name);
    c->plant(store);
    const uint32_t flags[] = {0, OZARR_VERIFY_QUICK};
    for (int quick = 0; quick < 2; quick++) {
        ozarr_verified found = OZARR_VERIFIED_INIT;
        heard h = listener(store);
        OK(ozarr_store_verify(store, "", flags[quick], hear, step, &h, &found));
        const int want = quick && !c->quick ? 0 : c->faults;
        if (found.faults != want || h.calls != want || found.repaired != 0 || (want == 1 && h.kind != c->kind))
            FAIL("%s%s: %d faults, expected %d, the last of kind %d: %s: %s", c->what, quick ? ", quickly" : "", (int)found.faults, want, (int)h.kind, h.key, h.message);
        if (want != 1) continue;
        TEXT(h.key, c->key);
        CHECK(strstr(h.message, c->word) != NULL && !h.repaired);
        if (c->bytes == -2) CHECK(h.bytes > 0);
        else EQUAL(h.bytes, c->bytes);
    }
    ozarr_store_free(store);
}

static void a_whole_store(void) {
    ozarr_store *store = make_store("whole.zarr");
    ozarr_verified found = OZARR_VERIFIED_INIT;
    heard h = listener(store);
    OK(ozarr_store_verify(store, "", 0, hear, step, &h, &found));
    CHECK(found.nodes == 4 && found.chunks == 12 && found.faults == 0 && found.repaired == 0);
    CHECK(h.calls == 0 && h.done == 12 && h.total == 12);
    OK(ozarr_store_verify(store, "", OZARR_VERIFY_QUICK | OZARR_VERIFY_REPAIR, NULL, NULL, NULL, &found));
    CHECK(found.nodes == 4 && found.chunks == 12 && found.faults == 0);
    OK(ozarr_store_verify(store, "shards", 0, NULL, NULL, NULL, &found));
    CHECK(found.nodes == 1 && found.chunks == 4 && found.faults == 0);
    ozarr_store_free(store);
}

/* A status of a callback ends the run, and is that of the function; the counts stay as they were. */
static void callbacks_end_it(void) {
    ozarr_store *store = make_store(NULL);
    ozarr_verified found = OZARR_VERIFIED_INIT;
    found.faults = 77;
    cut_chunk(store), long_chunk(store), foreign(store);
    heard h = listener(store);
    h.end_after = 1;
    ERR_SAYS(OZARR_ERR_STATE, "`each`", "that is enough", ozarr_store_verify(store, "", 0, hear, step, &h, &found));
    CHECK(h.calls == 1 && found.faults == 77);
    TEXT(h.key, "plain/notes.txt");
    h = listener(store), h.end_after = 2;
    ERR_SAYS(OZARR_ERR_STATE, "`each`", "that is enough", ozarr_store_verify(store, "", 0, hear, NULL, &h, &found));
    CHECK(h.calls == 2 && h.kind == OZARR_FAULT_KIND_DAMAGED && found.faults == 77);
    h = listener(store), h.end_progress_after = 1;
    ERR_SAYS(OZARR_ERR_CANCELLED, "`progress`", "", ozarr_store_verify(store, "", 0, hear, step, &h, &found));
    CHECK(h.steps == 1 && found.faults == 77);
    OK(ozarr_store_verify(store, "", 0, NULL, NULL, NULL, &found));
    EQUAL(found.faults, 3);
    ozarr_store_free(store);
}

#ifndef _WIN32
/* What a process does that is killed while it writes a chunk: the file may not grow as far as it wants to. */
static void die_writing(const char *location) {
    const struct rlimit limit = {4096, 4096};
    static uint8_t numbers[1 << 16];
    static const int64_t shape[] = {1 << 16};
    ozarr_array *a = NULL;
    /* What no compressor makes smaller. */
    for (uint32_t i = 0, x = 1; i < sizeof numbers; i++) x = x * 1664525u + 1013904223u, numbers[i] = (uint8_t)(x >> 24);
    if (ozarr_array_create(location, OZARR_UINT8, 1, shape, NULL, OZARR_CREATE_NEW, &a) || setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) ||
        setrlimit(RLIMIT_FSIZE, &limit))
        _exit(9);
    _exit(ozarr_array_write(a, OZARR_UINT8, numbers, sizeof numbers) ? 8 : 7);
}

static void what_a_killed_process_leaves(void) {
    int status = 0;
    ozarr_store *store = NULL;
    ozarr_verified found = OZARR_VERIFIED_INIT;
    pid_t child = fork();
    if (child == 0) die_writing("killed.zarr");
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    OK(ozarr_store_open("killed.zarr", "r+", &store));
    heard h = listener(store);
    OK(ozarr_store_verify(store, "", 0, hear, NULL, &h, &found));
    CHECK(found.faults == 1 && h.kind == OZARR_FAULT_KIND_TEMPORARY && h.bytes >= 0 && strstr(h.message, "gone") && strstr(h.key, ".tmp"));
    OK(ozarr_store_verify(store, "", OZARR_VERIFY_REPAIR, hear, NULL, &h, &found));
    CHECK(found.faults == 0 && found.repaired == 1 && h.repaired && h.kind == OZARR_FAULT_KIND_TEMPORARY);
    OK(ozarr_store_verify(store, "", 0, NULL, NULL, NULL, &found));
    EQUAL(found.faults, 0);
    ozarr_store_free(store);
}
#endif

/* What is certainly safe is mended; damage stays, and is told again. */
static void only_what_is_safe_is_mended(void) {
    ozarr_verified found = OZARR_VERIFIED_INIT;
    ozarr_store *store = make_store("mended.zarr");
    cut_chunk(store), stale(store);
    heard h = listener(store);
    OK(ozarr_store_verify(store, "", OZARR_VERIFY_REPAIR, hear, NULL, &h, &found));
    CHECK(found.faults == 1 && found.repaired == 1);
    OK(ozarr_store_verify(store, "", OZARR_VERIFY_REPAIR, hear, NULL, &h, &found));
    CHECK(found.faults == 1 && found.repaired == 0 && h.calls == 3 && !h.repaired);
    TEXT(h.key, "plain/c/0/1");
    /* Of a process that may be on another machine nothing is removed. */
    put_file("mended.zarr/plain/c/0/.ozarr-7-1-1-1.tmp", "x", 1);
    OK(ozarr_store_verify(store, "plain", OZARR_VERIFY_REPAIR | OZARR_VERIFY_QUICK, hear, NULL, &h, &found));
    CHECK(found.faults == 1 && found.repaired == 0 && h.kind == OZARR_FAULT_KIND_TEMPORARY && h.bytes == 1);
    TEXT(h.key, "plain/c/0/.ozarr-7-1-1-1.tmp");
    CHECK(access("mended.zarr/plain/c/0/.ozarr-7-1-1-1.tmp", F_OK) == 0);
    OK(ozarr_store_close(store));
}

static void wrong_arguments(void) {
    ozarr_store *store = NULL;
    ozarr_verified found = OZARR_VERIFIED_INIT;
    OK(ozarr_store_open("whole.zarr", "r", &store));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "`flags`", "4", ozarr_store_verify(store, "", 4, NULL, NULL, NULL, &found));
    ERR_SAYS(OZARR_ERR_NULL, "`verified`", "", ozarr_store_verify(store, "", 0, NULL, NULL, NULL, NULL));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_store_verify(store, "none", 0, NULL, NULL, NULL, &found));
    ERR(OZARR_ERR_NAME, ozarr_store_verify(store, "../x", 0, NULL, NULL, NULL, &found));
    ERR(OZARR_ERR_READ_ONLY, ozarr_store_verify(store, "", OZARR_VERIFY_REPAIR, NULL, NULL, NULL, &found));
    OK(ozarr_store_verify(store, "", 0, NULL, NULL, NULL, &found));
    EQUAL(found.faults, 0);
    ozarr_store_free(store);
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_store_verify(store, "", 0, NULL, NULL, NULL, &found));
}

int main(void) {
#ifndef _WIN32
    what_a_killed_process_leaves(); /* first, as it forks: this process has no threads yet */
#endif
    a_whole_store();
    for (int i = 0; i < (int)(sizeof CASES / sizeof *CASES); i++)
        for (int in_memory = 0; in_memory < 2; in_memory++) each_fault_is_told(i, in_memory);
    callbacks_end_it();
    only_what_is_safe_is_mended();
    wrong_arguments();
    return finish();
}
