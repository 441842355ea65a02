/* Sentences of docs/conventions.md that no other test holds: what failures leave alone, where nodes are, what stays behind, threads and callbacks.
 * tests/conventions.txt says which test holds which sentence. */
#include "table.h"
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

static char text[256];
static size_t len;

static ozarr_array *created(const char *location, ozarr_type type, int64_t length, int64_t chunk) {
    const int64_t shape[] = {length}, chunks[] = {chunk};
    ozarr_array *a = NULL;
    OK(ozarr_array_create(location, type, 1, shape, chunks, OZARR_CREATE_NEW, &a));
    return a;
}

/* A variable for a new handle is NULL after a failure, whatever was in it; a variable for anything else is as it was. */
static void failures_clear_handles_and_nothing_else(void) {
    void *const junk = (void *)(uintptr_t)0x1234;
    ozarr_array *a = junk, *sound = created("sound.zarr", OZARR_INT8, 2, 2);
    ozarr_group *g = junk;
    ozarr_dataset *ds = junk;
    ozarr_store *st = junk;
    ozarr_spec *s = junk;
    ozarr_dtype *d = junk;
    ozarr_request *r = junk;
    ozarr_node_iter *it = junk;
    const int64_t outside[] = {2};
    int64_t number = 77, key[] = {-1};
    bool flag = true;
    double real = 77;
    int8_t v[2];
    ERR(OZARR_ERR_NOT_FOUND, ozarr_array_open("none.zarr", "r", &a));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_group_open("none.zarr", "r", &g));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_dataset_open("none.zarr", "r", &ds));
    ERR(OZARR_ERR_LOCATION, ozarr_store_open("", "r", &st));
    ERR(OZARR_ERR_ARGUMENT, ozarr_spec_from_json("{", &s));
    ERR(OZARR_ERR_UNSUPPORTED, ozarr_dtype_parse("no type", 0, &d));
    ERR(OZARR_ERR_BOUNDS, ozarr_array_iread_region(sound, outside, outside, OZARR_INT8, v, 2, &r));
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_group_list_nodes((ozarr_group *)sound, NULL, 1, &it));
    CHECK(a == NULL && g == NULL && ds == NULL && st == NULL && s == NULL && d == NULL && r == NULL && it == NULL);

    ozarr_node *n = ozarr_array_node(sound);
    ERR(OZARR_ERR_NOT_FOUND, ozarr_attr_get_int64(n, "none", &number));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_attr_get_double(n, "none", &real));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_attr_get_bool(n, "none", &flag));
    ERR(OZARR_ERR_BOUNDS, ozarr_array_chunk_erase(sound, key, false, &flag));
    CHECK(number == 77 && flag && real == 77);
    OK(ozarr_array_close(sound));
}

/* The length is asked for by NULL and 0, and given with OZARR_ERR_BUFFER_SIZE, which leaves the buffer alone. */
static void lengths_are_given_where_the_buffer_is_too_small(void) {
    ozarr_array *a = created("texts.zarr/name", OZARR_INT8, 2, 2);
    ozarr_node *n = ozarr_array_node(a);
    OK(ozarr_node_path(n, NULL, 0, &len));
    EQUAL(len, 4);
    strcpy(text, "as it was"), len = 77;
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "4", "5", ozarr_node_path(n, text, 4, &len));
    EQUAL(len, 4);
    TEXT(text, "as it was");
    OK(ozarr_node_path(n, text, 5, &len));
    TEXT(text, "name");
    OK(ozarr_node_path(n, text, 5, NULL));
    OK(ozarr_array_close(a));
}

/* A read that fails touches no memory but that of the elements that it was to read. */
static void failed_reads_touch_nothing_else(void) {
    const int64_t shape[] = {8}, chunks[] = {4}, strides[] = {2};
    int8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8}, wide[18];
    ozarr_spec *s = NULL;
    ozarr_array *a = NULL;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    OK(ozarr_spec_new(OZARR_INT8, 1, shape, &s));
    OK(ozarr_spec_set_chunks(s, chunks));
    OK(ozarr_spec_set_checksum(s, true));
    OK(ozarr_array_create_ex("torn.zarr", s, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(s);
    OK(ozarr_array_write(a, OZARR_INT8, data, sizeof data));
    put_file("torn.zarr/c/1", "no chunk at all", 15);
    memset(wide, 77, sizeof wide);
    memory.data = wide, memory.size = sizeof wide, memory.offset = 1, memory.strides = strides, memory.type = OZARR_INT8;
    CHECK(ozarr_array_read_ex(a, NULL, &memory) != OZARR_OK);
    for (int i = 0; i < 18; i++) CHECK(wide[i] == 77 || (i % 2 == 1 && i < 17));
    ozarr_array_free(a);
}

/* The root is the shortest prefix that ends as a store does, else the whole path: what is left is the node's path. */
static void roots_are_the_shortest_prefixes(void) {
    static const struct { const char *location, *path; } cases[] = {
        {"l.zarr", ""}, {"l.zarr/a", "a"}, {"l.zarr/g/b.zarr/c", "g/b.zarr/c"}, {"l.zip/a/b", "a/b"}, {"l.ozx/a.zip", "a.zip"},
        {"plain", ""}, {"plain_folder/deep/a", ""}, {"in/side.zarr/a/b", "a/b"},
    };
    ozarr_store *st = NULL;
    ozarr_node_kind kind = OZARR_NODE_KIND_NONE;
    ozarr_array *a = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].location, "l.zarr") == 0) continue; /* becomes a group for those below */
        a = created(cases[i].location, OZARR_INT8, 1, 1);
        OK(ozarr_node_path(ozarr_array_node(a), text, sizeof text, NULL));
        TEXT(text, cases[i].path);
        OK(ozarr_array_close(a));
    }
    /* The groups in between are there; of what is above the root nothing is looked at. */
    OK(ozarr_store_open("l.zarr", "r", &st));
    OK(ozarr_store_node_kind(st, "g/b.zarr", &kind));
    EQUAL(kind, OZARR_NODE_KIND_GROUP);
    ozarr_store_free(st);
    put_file("in/zarr.json", "{", 1);
    OK(ozarr_array_open("in/side.zarr/a/b", "r", &a));
    ozarr_array_free(a);
}

/* Version 2 without a fill value: zeros, and no time. */
static void no_fill_value_is_zero(void) {
    static const char *const types[] = {"<i4", "<f8", "|b1", "<c16", "<M8[s]", "<m8[D]"};
    ozarr_array *a = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char document[256], folder[32], file[64];
        int64_t element[] = {-1, -1};
        size_t size = 0;
        snprintf(folder, sizeof folder, "null%d.zarr", (int)i);
        ozarr_group *g = NULL;
        OK(ozarr_group_create(folder, OZARR_CREATE_NEW, &g)); /* makes the folder */
        ozarr_group_free(g);
        snprintf(file, sizeof file, "%s/zarr.json", folder);
        remove(file);
        snprintf(file, sizeof file, "%s/.zarray", folder);
        snprintf(document, sizeof document,
                 "{\"zarr_format\": 2, \"shape\": [1], \"chunks\": [1], \"dtype\": \"%s\", \"compressor\": null, \"fill_value\": null, "
                 "\"order\": \"C\", \"filters\": null}", types[i]);
        put_file(file, document, strlen(document));
        OK(ozarr_array_open(folder, "r", &a));
        OK(ozarr_array_item_size(a, &size));
        OK(ozarr_array_read(a, OZARR_AS_STORED, element, size));
        const int64_t is_time = types[i][1] == 'M' || types[i][1] == 'm', zero = 0;
        if (is_time) EQUAL(element[0], INT64_MIN);
        else CHECK(memcmp(element, &zero, size < 8 ? size : 8) == 0 && (size < 16 || element[1] == 0));
        ozarr_array_free(a);
    }
}

/* The number of lock files below a folder. */
static int locks_below(const char *folder) {
    int found = 0;
    DIR *list = opendir(folder);
    for (struct dirent *e; list != NULL && (e = readdir(list)) != NULL;) {
        char below[1024];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(below, sizeof below, "%s/%s", folder, e->d_name);
        found += strcmp(e->d_name, ".ozarr.lock") == 0 ? 1 : locks_below(below);
    }
    if (list != NULL) closedir(list);
    return found;
}

/* The lock file is gone after each change of metadata; that of chunks, appenders and series when the array or the store is closed. */
static void no_lock_file_stays(void) {
    const int64_t first[] = {1}, one[] = {1};
    const int8_t v[] = {1, 2, 3, 4};
    ozarr_group *g = NULL;
    ozarr_dataset *ds = NULL;
    ozarr_series *steps = NULL;
    ozarr_appender *out = NULL;
    OK(ozarr_group_create("locks.zarr", OZARR_CREATE_NEW, &g));
    OK(ozarr_attr_set_int64(ozarr_group_node(g), "n", 1));
    EQUAL(locks_below("locks.zarr"), 0);
    OK(ozarr_group_close(g));
    ozarr_array *a = created("locks.zarr/a", OZARR_INT8, 4, 4);
    OK(ozarr_attr_set_int64(ozarr_array_node(a), "n", 1));
    EQUAL(locks_below("locks.zarr"), 0);
    OK(ozarr_array_write_region(a, first, one, OZARR_INT8, v, 1));
    OK(ozarr_array_close(a));
    EQUAL(locks_below("locks.zarr"), 0);
    OK(ozarr_array_open("locks.zarr/a", "r+", &a));
    OK(ozarr_appender_open(a, 0, 1, 0, &out));
    OK(ozarr_appender_append(out, 3, OZARR_INT8, v, 3));
    OK(ozarr_appender_close(out));
    OK(ozarr_array_close(a));
    EQUAL(locks_below("locks.zarr"), 0);
    OK(ozarr_dataset_create("locks.zarr/run", 0, OZARR_CREATE_NEW, &ds));
    OK(ozarr_dataset_define_time(ds, "time", 0, 0, "days since 2026-01-01", NULL, NULL));
    OK(ozarr_series_open(ds, "time", -1, 1, 0, &steps));
    OK(ozarr_series_step(steps, 1, 0, NULL, NULL));
    OK(ozarr_series_close(steps));
    OK(ozarr_dataset_close(ds));
    EQUAL(locks_below("locks.zarr"), 0);
}

static pthread_t caller;

/* Stops at the first key, with a message and an errno; calls the library. */
static ozarr_status stop(void *user, const char *key) {
    ozarr_error_info details = OZARR_ERROR_INFO_INIT;
    details.os_errno = ENOSPC;
    CHECK(pthread_equal(pthread_self(), caller) && errno == 42);
    OK(ozarr_store_key_get(user, key, NULL, 0, NULL));
    return ozarr_set_error(OZARR_ERR_NO_SPACE, "the tape is full", &details);
}

static ozarr_status told_and_failing(void *user, ozarr_status status, const char *message) {
    (void)message;
    *(ozarr_status *)user = status;
    return OZARR_ERR_IO;
}

/* Callbacks run in the caller's thread with its errno, may call the library, and stop the call with their own failure; but what a callback that
 * is only told gives has no effect. */
static void callbacks_stop_the_call(void) {
    ozarr_store *st = NULL;
    ozarr_request *r = NULL;
    ozarr_error_info found = OZARR_ERROR_INFO_INIT;
    ozarr_request_options options = OZARR_REQUEST_OPTIONS_INIT;
    ozarr_status told = OZARR_ERR_STATE;
    int8_t v[2] = {0};
    OK(ozarr_store_memory(&st));
    OK(ozarr_store_key_put(st, "k", "x", 1));
    caller = pthread_self();
    errno = 42;
    ERR_SAYS(OZARR_ERR_NO_SPACE, "the tape is full", "", ozarr_store_key_list(st, "", stop, st));
    OK(ozarr_last_error_info(&found));
    CHECK(found.status == OZARR_ERR_NO_SPACE && found.os_errno == ENOSPC && errno == 42);
    ozarr_store_free(st);

    ozarr_array *a = created("told.zarr", OZARR_INT8, 2, 2);
    options.done = told_and_failing, options.user = &told;
    OK(ozarr_array_iread_ex(a, NULL, dense(OZARR_INT8, v, sizeof v), &options, &r));
    OK(ozarr_request_wait(r, -1));
    EQUAL(told, OZARR_OK);
    ozarr_request_free(r);
    OK(ozarr_array_close(a));
}

/* The threads of this process besides this one, and how many of them block these signals. */
static void other_threads(int *all, int *blocking) {
    static const unsigned long long signals = 1ULL << 0 | 1ULL << 1 | 1ULL << 2 | 1ULL << 9 | 1ULL << 13 | 1ULL << 14; /* HUP INT QUIT USR1 ALRM TERM */
    *all = *blocking = 0;
    DIR *list = opendir("/proc/self/task");
    for (struct dirent *e; list != NULL && (e = readdir(list)) != NULL;) {
        char file[300];
        if (e->d_name[0] == '.' || atoi(e->d_name) == getpid()) continue;
        snprintf(file, sizeof file, "/proc/self/task/%s/status", e->d_name);
        char *status = file_content(file, NULL), *line = status != NULL ? strstr(status, "SigBlk:") : NULL;
        if (line == NULL) continue; /* it has ended */
        ++*all;
        *blocking += (strtoull(line + 7, NULL, 16) & signals) == signals;
        free(status);
    }
    if (list != NULL) closedir(list);
}

/* The first call that gains by them starts the library's threads, which block all signals. */
static void threads_start_late_and_block_signals(void) {
    static double u[64 * 4096];
    int all = 0, blocking = 0, before = 0;
    OK(ozarr_shutdown());
    other_threads(&before, &blocking);
    OK(ozarr_context_set(NULL, "threads", "4"));
    ozarr_array *a = created("threads.zarr", OZARR_FLOAT64, 64 * 4096, 4096);
    OK(ozarr_array_write_region(a, (int64_t[]){0}, (int64_t[]){1}, OZARR_FLOAT64, u, sizeof *u));
    other_threads(&all, &blocking);
    EQUAL(all, before);
    OK(ozarr_array_write(a, OZARR_FLOAT64, u, sizeof u));
    OK(ozarr_array_read(a, OZARR_FLOAT64, u, sizeof u));
    other_threads(&all, &blocking);
    CHECK(all > before && blocking >= all - before);
    OK(ozarr_array_close(a));
    OK(ozarr_shutdown());
    other_threads(&all, &blocking);
    EQUAL(all, before);
}

/* What this process does at each signal. */
static void handlers(struct sigaction at[32]) {
    memset(at, 0, 32 * sizeof *at);
    for (int s = 1; s < 32; s++) sigaction(s, NULL, &at[s]);
}

int main(void) {
    struct sigaction before[32], after[32];
    handlers(before);
    failures_clear_handles_and_nothing_else();
    lengths_are_given_where_the_buffer_is_too_small();
    failed_reads_touch_nothing_else();
    roots_are_the_shortest_prefixes();
    no_fill_value_is_zero();
    no_lock_file_stays();
    callbacks_stop_the_call();
    threads_start_late_and_block_signals();
    handlers(after); /* no call has installed one */
    for (int s = 1; s < 32; s++) CHECK(before[s].sa_handler == after[s].sa_handler);
    return finish();
}
