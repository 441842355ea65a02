/* Stores of a program's own: arrays live in them as anywhere, whatever functions the table has; and functions that lie, fail,
 * call back or come from several threads do no harm. */
#include "own.h"
#include <errno.h>
#include <fenv.h>
#include <time.h>
#include <unistd.h>

enum { SIDE = 24 };

static double value(int64_t i) { return (double)i + 0.5; }

/* An array with shards, and one without, in groups: written, read whole and in part, changed in part, resized, listed. */
static void live_in(ozarr_store *st, bool listable) {
    int64_t shape[] = {SIDE, SIDE}, chunks[] = {12, 12}, inner[] = {4, 6}, start[] = {5, 7}, count[] = {9, 11};
    static double all[SIDE * SIDE], back[SIDE * SIDE], box[9 * 11];
    for (int i = 0; i < SIDE * SIDE; i++) all[i] = value(i);
    for (int sharded = 0; sharded < 2; sharded++) {
        const char *path = sharded ? "g/shards" : "g/plain";
        ozarr_spec *spec = NULL;
        ozarr_array *a = NULL;
        OK(ozarr_spec_new(OZARR_FLOAT64, 2, shape, &spec));
        OK(ozarr_spec_set_chunks(spec, chunks));
        if (sharded) OK(ozarr_spec_set_inner_chunks(spec, inner));
        OK(ozarr_array_create_at(st, path, spec, OZARR_CREATE_NEW, &a));
        ozarr_spec_free(spec);
        OK(ozarr_array_write(a, OZARR_FLOAT64, all, sizeof all));
        memset(back, 0, sizeof back);
        OK(ozarr_array_read(a, OZARR_FLOAT64, back, sizeof back));
        CHECK(memcmp(all, back, sizeof all) == 0);
        for (int i = 0; i < 9 * 11; i++) box[i] = -value(i);
        OK(ozarr_array_write_region(a, start, count, OZARR_FLOAT64, box, sizeof box));
        OK(ozarr_array_close(a));
        a = NULL;
        OK(ozarr_array_open_at(st, path, &a));
        memset(back, 0, sizeof back);
        OK(ozarr_array_read_region(a, start, count, OZARR_FLOAT64, back, sizeof box));
        CHECK(memcmp(box, back, sizeof box) == 0);
        OK(ozarr_array_read(a, OZARR_FLOAT64, back, sizeof back));
        CHECK(back[0] == value(0) && back[SIDE * SIDE - 1] == value(SIDE * SIDE - 1) && back[5 * SIDE + 7] == -value(0));
        int64_t smaller[] = {12, 24};
        if (listable) OK(ozarr_array_resize(a, smaller, 0));
        ozarr_array_free(a);
    }
    if (!listable) return;
    ozarr_group *g = NULL;
    ozarr_node_iter *it = NULL;
    bool more = true;
    int n = -1;
    OK(ozarr_group_open_at(st, "g", &g));
    OK(ozarr_group_list_nodes(g, NULL, 1, &it));
    for (; more; n++) OK(ozarr_node_iter_next(it, &more));
    EQUAL(n, 2);
    ozarr_node_iter_free(it);
    ozarr_group_free(g);
    OK(ozarr_store_node_erase(st, "g"));
    ozarr_node_kind kind = 9;
    OK(ozarr_store_node_kind(st, "g/plain", &kind));
    EQUAL(kind, OZARR_NODE_KIND_NONE);
}

/* A thread of ozarr's, or the one that answered last, may have a store a moment longer. */
static void until_destroyed(own_store *s) {
    for (int i = 0; i < 60000 && !s->destroyed; i++) nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void tables_of_all_kinds(void) {
    for (int kind = 0; kind < 6; kind++) {
        own_store s;
        ozarr_store_table t = own_table(&s);
        ozarr_store *st = NULL;
        uint32_t can = 0;
        if (kind == 1) t.flags |= OZARR_CALLBACK_ANY_THREAD | OZARR_STORE_IS_REMOTE;
        if (kind == 2) t.start_get_ranges = own_start;
        if (kind == 3) s.token = 200;
        if (kind == 4) t.flags = 0, s.token = 0, t.put_if = NULL;
        if (kind == 5) t.erase = NULL, t.list = NULL;
        OK(ozarr_store_from_table(NULL, &t, "r+", &st));
        OK(ozarr_store_capabilities(st, &can));
        EQUAL(can & ~OZARR_STORE_IS_REMOTE, kind == 5 ? OZARR_STORE_CAN_WRITE : OZARR_STORE_CAN_WRITE | OZARR_STORE_CAN_LIST | OZARR_STORE_CAN_ERASE);
        EQUAL((can & OZARR_STORE_IS_REMOTE) != 0, kind != 4);
        live_in(st, kind != 5);
        CHECK(s.calls > 20);
        if (kind == 2) CHECK(s.started > 10);
        if (kind != 1 && kind != 2) EQUAL(s.most_inside, 1);
        EQUAL(s.destroyed, 0);
        OK(ozarr_store_close(st));
        if (kind == 1 || kind == 2) until_destroyed(&s);
        EQUAL(s.destroyed, 1);
    }
}

static void handles_keep_the_table(void) {
    own_store s;
    ozarr_store_table t = own_table(&s);
    ozarr_store *st = NULL;
    ozarr_group *g = NULL;
    OK(ozarr_store_from_table(NULL, &t, "r+", &st));
    memset(&t, 0xff, sizeof t);
    OK(ozarr_group_create_at(st, "g", 3, OZARR_CREATE_NEW, &g));
    ozarr_store_free(st);
    EQUAL(s.destroyed, 0);
    OK(ozarr_attr_set_json(ozarr_group_node(g), "a", "[1, 2]"));
    ozarr_group_free(g);
    EQUAL(s.destroyed, 1);
}

/* Without ranges each value is read whole, once for an access; with them, no more than is needed of it. */
static void nothing_is_read_twice(void) {
    static double x[64 * 64], y[64 * 64];
    for (int i = 0; i < 64 * 64; i++) x[i] = value(i);
    for (int kind = 0; kind < 4; kind++) {
        own_store s;
        ozarr_store_table t = own_table(&s);
        ozarr_store *st = NULL;
        ozarr_spec *spec = NULL;
        ozarr_array *a = NULL;
        bool ranges = kind == 3;
        int64_t shape[] = {64, 64}, inner[] = {8, 8}, start[] = {3, 3}, count[] = {12, 50};
        if (!ranges) t.get_ranges = NULL;
        if (kind == 0) t.flags = 0, s.token = 0, t.put_if = NULL;
        if (kind == 1) t.flags |= OZARR_STORE_IS_REMOTE | OZARR_CALLBACK_ANY_THREAD;
        OK(ozarr_store_from_table(NULL, &t, "r+", &st));
        OK(ozarr_spec_new(OZARR_FLOAT64, 2, shape, &spec));
        OK(ozarr_spec_set_chunks(spec, shape));
        OK(ozarr_spec_set_inner_chunks(spec, inner));
        OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
        OK(ozarr_array_write(a, OZARR_FLOAT64, x, sizeof x));
        ozarr_array_free(a);
        a = NULL;
        int shard = s.bytes;
        OK(ozarr_store_key_get(st, "a/c/0/0", y, sizeof y, NULL));
        shard = s.bytes - shard;
        OK(ozarr_array_open_at(st, "a", &a));
        for (int again = 0; again < 2; again++) {
            int calls = s.calls, bytes = s.bytes;
            OK(ozarr_array_read_region(a, start, count, OZARR_FLOAT64, y, 12 * 50 * sizeof *y));
            CHECK(y[0] == value(3 * 64 + 3) && y[12 * 50 - 1] == value(14 * 64 + 52));
            calls = s.calls - calls, bytes = s.bytes - bytes;
            if (!ranges) EQUAL(calls, 1);
            if (ranges ? bytes >= shard : bytes != shard) FAIL("kind %d: %d bytes in %d calls of a shard of %d", kind, bytes, calls, shard);
        }
        if (ranges) {
            int bytes = s.bytes;
            size_t len = 0;
            OK(ozarr_store_key_get(st, "a/c/0/0", NULL, 0, &len));
            OK(ozarr_store_key_get(st, "a/c/0/0", NULL, 0, NULL));
            EQUAL(len, shard);
            EQUAL(s.bytes, bytes);
        }
        ozarr_spec_free(spec);
        ozarr_array_free(a);
        ozarr_store_free(st);
        until_destroyed(&s);
    }
}

/* Tables that are refused; nothing of theirs is called. */
static void bad_tables(void) {
    own_store s;
    ozarr_store_table t = own_table(&s), bad = t;
    ozarr_store *st = NULL;
    ERR_SAYS(OZARR_ERR_NULL, "table", "", ozarr_store_from_table(NULL, NULL, "r", &st));
    ERR_SAYS(OZARR_ERR_NULL, "out", "", ozarr_store_from_table(NULL, &t, "r", NULL));
    ERR_SAYS(OZARR_ERR_NULL, "mode", "", ozarr_store_from_table(NULL, &t, NULL, &st));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "mode", "\"w\"", ozarr_store_from_table(NULL, &t, "w", &st));
    for (size_t size = 8; size < sizeof t; size += 8) {
        bad.struct_size = size;
        ERR_SAYS(OZARR_ERR_ARGUMENT, "struct_size", "", ozarr_store_from_table(NULL, &bad, "r", &st));
    }
    bad = t, bad.get = NULL;
    ERR_SAYS(OZARR_ERR_NULL, "get", "", ozarr_store_from_table(NULL, &bad, "r", &st));
    bad = t, bad.flags = 1;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "flags", "1", ozarr_store_from_table(NULL, &bad, "r", &st));
    bad = t, bad.name = "\xff";
    ERR_SAYS(OZARR_ERR_ARGUMENT, "name", "UTF-8", ozarr_store_from_table(NULL, &bad, "r", &st));
    CHECK(st == NULL);
    EQUAL(s.calls, 0);
    EQUAL(s.destroyed, 0);
    ERR(OZARR_ERR_NULL, ozarr_answer_put(NULL, "x", 1));
    ERR(OZARR_ERR_NULL, ozarr_answer_version(NULL, "x", 1));
    ERR(OZARR_ERR_NULL, ozarr_answer_size(NULL, 1));
    ERR(OZARR_ERR_NULL, ozarr_answer_done(NULL, OZARR_OK));
    ERR(OZARR_ERR_NULL, ozarr_keys_add(NULL, "x"));
    void *room = NULL;
    ERR(OZARR_ERR_NULL, ozarr_answer_room(NULL, 1, &room));
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_answer_put((ozarr_answer *)&s, "x", 1));
}

/* What a lying function does. */
static int lie;
static ozarr_answer *kept_answer;
static ozarr_keys *kept_keys;

static ozarr_status lying_get(void *context, const char *key, ozarr_answer *answer) {
    void *room = NULL;
    (void)context, (void)key;
    switch (lie) {
    case 0: return OZARR_OK; /* and no answer */
    case 1: return 77;
    case 2: return -12345;
    case 3: return ozarr_set_error(OZARR_ERR_IO, "the tape is\ntorn", NULL);
    case 4: return OZARR_ERR_THROTTLED;
    case 5: return ozarr_set_error(-5, NULL, NULL);
    case 6:
        OK(ozarr_answer_put(answer, "ab", 2));
        ERR_SAYS(OZARR_ERR_ARGUMENT, "part 1", "expected 1", ozarr_answer_put(answer, "ab", 2));
        return OZARR_OK; /* and no version */
    case 7:
        ERR(OZARR_ERR_LIMIT, ozarr_answer_room(answer, SIZE_MAX, &room));
        ERR(OZARR_ERR_NULL, ozarr_answer_room(answer, 1, NULL));
        ERR(OZARR_ERR_NULL, ozarr_answer_put(answer, NULL, 1));
        ERR(OZARR_ERR_LIMIT, ozarr_answer_put(answer, "", SIZE_MAX));
        ERR(OZARR_ERR_ARGUMENT, ozarr_answer_version(answer, "", 1025));
        ERR(OZARR_ERR_STATE, ozarr_answer_done(answer, OZARR_OK));
        OK(ozarr_answer_size(answer, 2));
        ERR(OZARR_ERR_INVALID_HANDLE, ozarr_keys_add((ozarr_keys *)answer, "k"));
        OK(ozarr_answer_version(answer, NULL, 0));
        kept_answer = answer;
        return ozarr_answer_put(answer, "ab", 2);
    default: return OZARR_ERR_NOT_FOUND;
    }
}

static ozarr_status lying_ranges(void *context, const char *key, const ozarr_byte_range *ranges, int64_t count, ozarr_answer *answer) {
    if (lie > 2) return own_get_ranges(context, key, ranges, count, answer);
    OK(ozarr_answer_version(answer, "v", 1));
    for (int64_t i = 0; i < count; i++) {
        size_t size = (size_t)ranges[i].size;
        void *room = NULL;
        if (lie == 0) ERR(OZARR_ERR_ARGUMENT, ozarr_answer_room(answer, size + 1, &room));
        if (lie == 1) ERR(OZARR_ERR_TRUNCATED, ozarr_answer_room(answer, size - 1, &room));
        if (lie == 2) OK(ozarr_answer_room(answer, size, &room)); /* a shard's index of zeros */
    }
    return OZARR_OK;
}

static ozarr_status lying_list(void *context, const char *prefix, ozarr_keys *keys) {
    (void)context, (void)prefix;
    kept_keys = keys;
    ERR(OZARR_ERR_ARGUMENT, ozarr_keys_add(keys, "\xff"));
    ERR(OZARR_ERR_NULL, ozarr_keys_add(keys, NULL));
    return ozarr_keys_add(keys, lie == 0 ? "../../etc/passwd" : lie == 1 ? "elsewhere/k" : "p//k");
}

static ozarr_status any_key(void *user, const char *key) {
    (void)key, (void)user;
    FAIL("a key of a liar");
    return OZARR_OK;
}

static void lies_are_told(void) {
    own_store s;
    ozarr_store_table t = own_table(&s);
    ozarr_store *st = NULL;
    char buf[16];
    size_t len = 0;
    t.get = lying_get;
    t.list = lying_list;
    OK(ozarr_store_from_table(NULL, &t, "r+", &st));
    static const struct { ozarr_status status; const char *says; } want[] = {
        {OZARR_ERR_CALLBACK, "0 parts"}, {OZARR_ERR_CALLBACK, "77"},       {OZARR_ERR_CALLBACK, "-12345"},
        {OZARR_ERR_IO, "the tape is torn"}, {OZARR_ERR_THROTTLED, "own:"}, {OZARR_ERR_CALLBACK, "a callback failed"},
        {OZARR_ERR_CALLBACK, "no version"},
    };
    for (lie = 0; lie < 7; lie++) ERR_SAYS(want[lie].status, want[lie].says, "", ozarr_store_key_get(st, "k", buf, sizeof buf, &len));
    OK(ozarr_store_key_get(st, "k", buf, sizeof buf, &len));
    EQUAL(len, 2);
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_answer_put(kept_answer, "x", 1));
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_answer_done(kept_answer, OZARR_OK));
    for (lie = 0; lie < 3; lie++) ERR_SAYS(OZARR_ERR_CALLBACK, "list", "", ozarr_store_key_list(st, "p/", any_key, NULL));
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_keys_add(kept_keys, "x"));
    /* No array is ever made of an error. */
    ozarr_array *a = NULL;
    lie = 4;
    ERR(OZARR_ERR_THROTTLED, ozarr_array_open_at(st, "a", &a));
    lie = 8;
    ERR(OZARR_ERR_NOT_FOUND, ozarr_array_open_at(st, "a", &a));
    ozarr_store_free(st);
}

/* What a callback knows of a failure is what the thread's last error has. */
static void errors_have_details(void) {
    ozarr_error_info given = OZARR_ERROR_INFO_INIT, found = OZARR_ERROR_INFO_INIT;
    given.os_errno = ENOSPC, given.http_status = 507, given.key = "t/c/0", given.field = "codecs[0]", given.message = "not this";
    CHECK(ozarr_set_error(OZARR_ERR_NO_SPACE, "the tape is full", &given) == OZARR_ERR_NO_SPACE);
    OK(ozarr_last_error_info(&found));
    CHECK(found.status == OZARR_ERR_NO_SPACE && found.os_errno == ENOSPC && found.http_status == 507);
    TEXT(found.key, "t/c/0");
    TEXT(found.field, "codecs[0]");
    TEXT(found.message, "t/c/0: codecs[0]: the tape is full");
    const ozarr_error_info none = OZARR_ERROR_INFO_INIT;
    CHECK(ozarr_set_error(OZARR_ERR_IO, "torn", &none) == OZARR_ERR_IO);
    OK(ozarr_last_error_info(&found));
    CHECK(found.os_errno == 0 && found.http_status == 0);
    TEXT(found.key, "");
    TEXT(found.field, "");
    TEXT(found.message, "torn");
    given.struct_size = 8;
    CHECK(ozarr_set_error(OZARR_ERR_IO, "torn", &given) == OZARR_ERR_ARGUMENT);
}

static void lies_about_ranges_are_told(void) {
    own_store s;
    ozarr_store_table t = own_table(&s);
    ozarr_store *st = NULL;
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    int64_t shape[] = {8}, inner[] = {2};
    double x[8];
    t.get_ranges = lying_ranges;
    /* Creating an array looks at the group above. */
    lie = 3;
    OK(ozarr_store_from_table(NULL, &t, "r+", &st));
    OK(ozarr_spec_new(OZARR_FLOAT64, 1, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, shape));
    OK(ozarr_spec_set_inner_chunks(spec, inner));
    OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
    for (int i = 0; i < 8; i++) x[i] = i + 1;
    OK(ozarr_array_write(a, OZARR_FLOAT64, x, sizeof x));
    static const ozarr_status want[] = {OZARR_ERR_CALLBACK, OZARR_ERR_CALLBACK, OZARR_ERR_CHECKSUM};
    for (lie = 0; lie < 3; lie++) ERR(want[lie], ozarr_array_read(a, OZARR_FLOAT64, x, sizeof x));
    ozarr_spec_free(spec);
    ozarr_array_free(a);
    ozarr_store_free(st);
}

/* A function that uses ozarr itself, on another store; and sees the host's own world. */
static ozarr_store *beneath;

static ozarr_status through_get(void *context, const char *key, ozarr_answer *answer) {
    char buf[4096];
    size_t len = 0;
    (void)context;
    CHECK(fegetround() == FE_UPWARD);
    EQUAL(errno, 42);
    errno = 43;
    ozarr_status status = ozarr_store_key_get(beneath, key, buf, sizeof buf, &len);
    EQUAL(errno, 43);
    errno = 42;
    return status ? status : ozarr_answer_put(answer, buf, len);
}

static ozarr_status through_put(void *context, const char *key, const void *data, size_t size) {
    (void)context;
    return ozarr_store_key_put(beneath, key, data, size);
}

static void functions_may_call_ozarr(void) {
    ozarr_store_table t = OZARR_STORE_TABLE_INIT;
    ozarr_store *st = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    int64_t shape[] = {10};
    int32_t x[10] = {3, 1, 4}, y[10];
    OK(ozarr_store_memory(&beneath));
    t.get = through_get;
    t.put = through_put;
    OK(ozarr_store_from_table(NULL, &t, "r+", &st));
    OK(ozarr_spec_new(OZARR_INT32, 1, shape, &spec));
    fesetround(FE_UPWARD);
    errno = 42;
    OK(ozarr_array_create_at(st, "a/b", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT32, x, sizeof x));
    OK(ozarr_array_read(a, OZARR_INT32, y, sizeof y));
    CHECK(memcmp(x, y, sizeof x) == 0);
    fesetround(FE_TONEAREST);
    ozarr_array_free(a);
    /* The error beneath is the cause: it comes through. */
    OK(ozarr_store_close(beneath));
    beneath = NULL;
    errno = 42;
    fesetround(FE_UPWARD);
    ERR_SAYS(OZARR_ERR_NULL, "`get`", "the argument `store` is NULL", ozarr_array_open_at(st, "a/b", &a));
    fesetround(FE_TONEAREST);
    ozarr_spec_free(spec);
    ozarr_store_free(st);
}

/* Many threads on one store, whose functions say or do not say that they may be called by any. */
static ozarr_array *shared;
static pthread_t own_threads[4];
static atomic_int strangers;

static ozarr_status watched_put(void *context, const char *key, const void *data, size_t size) {
    bool known = pthread_equal(pthread_self(), own_threads[0]) || pthread_equal(pthread_self(), own_threads[1]) ||
                 pthread_equal(pthread_self(), own_threads[2]) || pthread_equal(pthread_self(), own_threads[3]);
    if (!known) atomic_fetch_add(&strangers, 1);
    return own_put(context, key, data, size);
}

static void *write_rows(void *which) {
    static double rows[16][2048];
    int64_t start[] = {4 * (int64_t)(intptr_t)which, 0}, count[] = {4, 2048};
    own_threads[(intptr_t)which] = pthread_self();
    for (int i = 0; i < 4 * 2048; i++) rows[4 * (intptr_t)which + i / 2048][i % 2048] = (double)i + 1;
    for (int round = 0; round < 5; round++)
        OK(ozarr_array_write_region(shared, start, count, OZARR_FLOAT64, rows[start[0]], sizeof rows / 4));
    return NULL;
}

static void threads_take_turns_unless_told_otherwise(void) {
    for (int any = 0; any < 2; any++) {
        own_store s;
        ozarr_store_table t = own_table(&s);
        ozarr_context *context = NULL;
        ozarr_store *st = NULL;
        ozarr_spec *spec = NULL;
        int64_t shape[] = {16, 2048}, chunks[] = {1, 256};
        pthread_t threads[4];
        static double back[16 * 2048];
        atomic_store(&strangers, 0);
        t.put = watched_put;
        if (any) t.flags |= OZARR_CALLBACK_ANY_THREAD;
        OK(ozarr_context_new(&context));
        OK(ozarr_context_set(context, "threads", "8"));
        OK(ozarr_store_from_table(context, &t, "r+", &st));
        OK(ozarr_spec_new(OZARR_FLOAT64, 2, shape, &spec));
        OK(ozarr_spec_set_chunks(spec, chunks));
        memset(own_threads, 0, sizeof own_threads);
        own_threads[0] = pthread_self();
        OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &shared));
        for (intptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, write_rows, (void *)i);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        OK(ozarr_array_read(shared, OZARR_FLOAT64, back, sizeof back));
        CHECK(back[0] == 1 && back[16 * 2048 - 1] == 4 * 2048);
        if (!any) {
            EQUAL(s.most_inside, 1);
            EQUAL(strangers, 0);
        }
        ozarr_array_free(shared);
        ozarr_spec_free(spec);
        ozarr_context_free(context);
        ozarr_store_free(st);
        until_destroyed(&s);
    }
}

/* Two stores whose functions write to each other's: no turn is waited for while another is held. */
static ozarr_array *crossed[2];

static ozarr_status crossing_put(void *context, const char *key, const void *data, size_t size) {
    static _Thread_local bool inner;
    if (!inner && strstr(key, "zarr.json") == NULL) {
        int which = strstr(key, "one/") != NULL;
        double x[4] = {1, 2, 3, 4};
        int64_t start[] = {4}, count[] = {4};
        inner = true;
        ozarr_status status = ozarr_array_write_region(crossed[which], start, count, OZARR_FLOAT64, x, sizeof x);
        inner = false;
        if (status) return status;
    }
    return own_put(context, key, data, size);
}

static void *cross(void *which) {
    double x[4] = {5, 6, 7, 8};
    int64_t start[] = {0}, count[] = {4};
    for (int i = 0; i < 50; i++)
        OK(ozarr_array_write_region(crossed[(intptr_t)which], start, count, OZARR_FLOAT64, x, sizeof x));
    return NULL;
}

static void stores_may_use_each_other(void) {
    own_store s[2];
    ozarr_store *st[2] = {NULL, NULL};
    ozarr_spec *spec = NULL;
    int64_t shape[] = {8}, chunks[] = {4};
    pthread_t threads[2];
    OK(ozarr_spec_new(OZARR_FLOAT64, 1, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    for (int i = 0; i < 2; i++) {
        ozarr_store_table t = own_table(&s[i]);
        t.put = crossing_put;
        OK(ozarr_store_from_table(NULL, &t, "r+", &st[i]));
        OK(ozarr_array_create_at(st[i], i ? "two" : "one", spec, OZARR_CREATE_NEW, &crossed[i]));
    }
    for (intptr_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, cross, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        double x[8];
        OK(ozarr_array_read(crossed[i], OZARR_FLOAT64, x, sizeof x));
        CHECK(x[0] == 5 && x[7] == 4);
        ozarr_array_free(crossed[i]);
        ozarr_store_free(st[i]);
    }
    ozarr_spec_free(spec);
}

/* What is stored in an array is written to one of the same name in another store, too, by the functions of the first. */
static ozarr_array *mirror;

static ozarr_status mirroring_put(void *context, const char *key, const void *data, size_t size) {
    double x[4] = {1, 2, 3, 4};
    int64_t start[] = {0}, count[] = {4};
    if (strstr(key, "zarr.json") == NULL) {
        ozarr_status status = ozarr_array_write_region(mirror, start, count, OZARR_FLOAT64, x, sizeof x);
        if (status) return status;
    }
    return own_put(context, key, data, size);
}

static void functions_may_write_an_array_of_the_same_name(void) {
    own_store s;
    ozarr_store_table t = own_table(&s);
    ozarr_store *st = NULL, *other = NULL;
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    int64_t shape[] = {8}, chunks[] = {4};
    double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    OK(ozarr_spec_new(OZARR_FLOAT64, 1, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    t.put = mirroring_put;
    OK(ozarr_store_from_table(NULL, &t, "r+", &st));
    OK(ozarr_store_memory(&other));
    OK(ozarr_array_create_at(st, "t", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_create_at(other, "t", spec, OZARR_CREATE_NEW, &mirror));
    OK(ozarr_array_write(a, OZARR_FLOAT64, x, sizeof x));
    OK(ozarr_array_read(mirror, OZARR_FLOAT64, x, sizeof x));
    CHECK(x[0] == 1 && x[3] == 4 && x[4] == 0);
    ozarr_array_free(mirror);
    ozarr_array_free(a);
    ozarr_spec_free(spec);
    ozarr_store_free(other);
    ozarr_store_free(st);
}

/* Functions of one store change nodes of another one, neither with a name, while two threads hold locks of the first. */
static ozarr_store *mirrored;
static pthread_barrier_t met;
static atomic_bool is_met;

static ozarr_status name_it(ozarr_store *st, const char *path) {
    ozarr_group *g = NULL;
    ozarr_status status = ozarr_group_open_at(st, path, &g);
    if (!status) status = ozarr_attr_set_string(ozarr_group_node(g), "name", path);
    ozarr_group_free(g);
    return status;
}

static ozarr_status meeting_put(void *user, const char *key, const void *data, size_t size) {
    if (is_met) {
        pthread_barrier_wait(&met);
        ozarr_status status = name_it(mirrored, key[0] == 'a' ? "b" : "a");
        if (status) return status;
    }
    return own_put(user, key, data, size);
}

static void *name_one(void *args) {
    void **of = (void **)args;
    OK(name_it((ozarr_store *)of[0], (const char *)of[1]));
    return NULL;
}

static void nameless_stores_share_no_locks(void) {
    own_store s[2];
    ozarr_store *st[2] = {NULL, NULL};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        ozarr_store_table t = own_table(&s[i]);
        t.flags |= OZARR_CALLBACK_ANY_THREAD;
        t.name = NULL, t.put_if = NULL;
        if (i == 0) t.put = meeting_put;
        OK(ozarr_store_from_table(NULL, &t, "r+", &st[i]));
        for (int j = 0; j < 2; j++) {
            ozarr_group *g = NULL;
            OK(ozarr_group_create_at(st[i], j ? "b" : "a", 3, OZARR_CREATE_NEW, &g));
            ozarr_group_free(g);
        }
    }
    mirrored = st[1];
    pthread_barrier_init(&met, NULL, 2);
    is_met = true;
    void *args[2][2] = {{st[0], (void *)"a"}, {st[0], (void *)"b"}};
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, name_one, args[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    is_met = false;
    pthread_barrier_destroy(&met);
    for (int i = 0; i < 2; i++) ozarr_store_free(st[i]);
}

int main(void) {
    tables_of_all_kinds();
    handles_keep_the_table();
    nothing_is_read_twice();
    bad_tables();
    lies_are_told();
    errors_have_details();
    lies_about_ranges_are_told();
    functions_may_call_ozarr();
    threads_take_turns_unless_told_otherwise();
    stores_may_use_each_other();
    functions_may_write_an_array_of_the_same_name();
    nameless_stores_share_no_locks();
    return finish();
}
