/* A store of a program's own: keys in a list, as the simplest table of functions keeps them. It counts its calls, and sees
 * whether they come one at a time. */
#ifndef OWN_H
#define OWN_H

#include "table.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

typedef struct own_entry {
    char *key;
    void *data;
    size_t size;
    uint64_t version;
    struct own_entry *next;
} own_entry;

typedef struct own_store {
    own_entry *first;
    uint64_t versions;
    size_t token; /* the bytes of a version */
    pthread_mutex_t mutex;
    atomic_int inside, most_inside, calls, destroyed, started, bytes;
    atomic_int delay; /* microseconds that each call takes more */
} own_store;

static inline void own_enter(own_store *s) {
    int now = atomic_fetch_add(&s->inside, 1) + 1;
    if (now > atomic_load(&s->most_inside)) atomic_store(&s->most_inside, now);
    atomic_fetch_add(&s->calls, 1);
    const int delay = atomic_load(&s->delay);
    const struct timespec t = {delay / 1000000, delay % 1000000 * 1000L};
    if (delay) nanosleep(&t, NULL);
    pthread_mutex_lock(&s->mutex);
}

static inline ozarr_status own_leave(own_store *s, ozarr_status status) {
    pthread_mutex_unlock(&s->mutex);
    atomic_fetch_sub(&s->inside, 1);
    return status;
}

static inline own_entry **own_find(own_store *s, const char *key) {
    own_entry **at = &s->first;
    while (*at && strcmp((*at)->key, key) != 0) at = &(*at)->next;
    return at;
}

static inline ozarr_status own_version(own_store *s, const own_entry *e, ozarr_answer *answer) {
    char token[256];
    memset(token, '0', sizeof token);
    memcpy(token, &e->version, sizeof e->version);
    return ozarr_answer_version(answer, token, s->token);
}

static inline ozarr_status own_get(void *user, const char *key, ozarr_answer *answer) {
    own_store *s = (own_store *)user;
    own_enter(s);
    own_entry *e = *own_find(s, key);
    if (!e) return own_leave(s, OZARR_ERR_NOT_FOUND);
    ozarr_status status = ozarr_answer_put(answer, e->data, e->size);
    atomic_fetch_add(&s->bytes, (int)e->size);
    if (!status && s->token) status = own_version(s, e, answer);
    return own_leave(s, status);
}

static inline ozarr_status own_get_ranges(void *user, const char *key, const ozarr_byte_range *r, int64_t count, ozarr_answer *answer) {
    own_store *s = (own_store *)user;
    own_enter(s);
    own_entry *e = *own_find(s, key);
    if (!e) return own_leave(s, OZARR_ERR_NOT_FOUND);
    ozarr_status status = own_version(s, e, answer);
    if (!status) status = ozarr_answer_size(answer, (int64_t)e->size);
    for (int64_t i = 0; i < count && !status; i++) {
        uint64_t from = (uint64_t)r[i].offset, size = (uint64_t)r[i].size;
        void *room = NULL;
        if (r[i].kind == OZARR_BYTE_RANGE_KIND_WHOLE) size = e->size;
        if (r[i].kind == OZARR_BYTE_RANGE_KIND_SUFFIX) from = size > e->size ? UINT64_MAX : e->size - size;
        if (from > e->size || size > e->size - from) status = ozarr_set_error(OZARR_ERR_TRUNCATED, "the value is shorter", NULL);
        else if (!(status = ozarr_answer_room(answer, size, &room)) && size) memcpy(room, (char *)e->data + from, size);
        if (!status) atomic_fetch_add(&s->bytes, (int)size);
    }
    return own_leave(s, status);
}

static inline ozarr_status own_put(void *user, const char *key, const void *data, size_t size) {
    own_store *s = (own_store *)user;
    own_enter(s);
    own_entry **at = own_find(s, key), *e = *at;
    if (!e) {
        e = *at = (own_entry *)calloc(1, sizeof *e);
        e->key = strdup(key);
    }
    free(e->data);
    e->data = malloc(size + 1);
    if (size) memcpy(e->data, data, size);
    e->size = size;
    e->version = ++s->versions;
    return own_leave(s, OZARR_OK);
}

static inline ozarr_status own_put_if(void *user, const char *key, const void *data, size_t size, const void *version, size_t version_size) {
    own_store *s = (own_store *)user;
    own_enter(s);
    own_entry *e = *own_find(s, key);
    bool same = version ? e && version_size == s->token && memcmp(version, &e->version, sizeof e->version) == 0 : !e;
    own_leave(s, OZARR_OK);
    return same ? own_put(user, key, data, size) : OZARR_ERR_CONFLICT;
}

static inline ozarr_status own_erase(void *user, const char *key) {
    own_store *s = (own_store *)user;
    own_enter(s);
    own_entry **at = own_find(s, key), *e = *at;
    if (!e) return own_leave(s, OZARR_ERR_NOT_FOUND);
    *at = e->next;
    free(e->key);
    free(e->data);
    free(e);
    return own_leave(s, OZARR_OK);
}

static inline ozarr_status own_list(void *user, const char *prefix, ozarr_keys *keys) {
    own_store *s = (own_store *)user;
    own_enter(s);
    ozarr_status status = OZARR_OK;
    for (own_entry *e = s->first; e && !status; e = e->next)
        if (strncmp(e->key, prefix, strlen(prefix)) == 0) status = ozarr_keys_add(keys, e->key);
    return own_leave(s, status);
}

typedef struct own_read {
    own_store *store;
    char *key;
    ozarr_byte_range ranges[8];
    int64_t count;
    ozarr_answer *answer;
} own_read;

static inline void *own_answer(void *read) {
    own_read *r = (own_read *)read;
    ozarr_status status = own_get_ranges(r->store, r->key, r->ranges, r->count, r->answer);
    OK(ozarr_answer_done(r->answer, status));
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_answer_done(r->answer, OZARR_OK));
    free(r->key);
    free(r);
    return NULL;
}

static inline ozarr_status own_start(void *user, const char *key, const ozarr_byte_range *ranges, int64_t count, ozarr_answer *answer) {
    own_store *s = (own_store *)user;
    own_read *r = (own_read *)calloc(1, sizeof *r);
    pthread_t thread;
    if (count > 8) return ozarr_set_error(OZARR_ERR_UNSUPPORTED, "more ranges than this program has room for", NULL);
    atomic_fetch_add(&s->started, 1);
    r->store = s;
    r->key = strdup(key);
    memcpy(r->ranges, ranges, (size_t)count * sizeof *ranges);
    r->count = count;
    r->answer = answer;
    if (pthread_create(&thread, NULL, own_answer, r)) return OZARR_ERR_NO_MEMORY;
    pthread_detach(thread);
    return OZARR_OK;
}

/* Empties the store; the struct itself is the test's. */
static inline void own_destroy(void *user) {
    own_store *s = (own_store *)user;
    while (s->first) (void)!own_erase(s, s->first->key);
    atomic_fetch_add(&s->destroyed, 1);
}

static inline ozarr_store_table own_table(own_store *s) {
    ozarr_store_table t = OZARR_STORE_TABLE_INIT;
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->mutex, NULL);
    s->token = 8;
    t.flags = OZARR_STORE_HAS_VERSIONS;
    t.name = "own:";
    t.user = s;
    t.destroy = own_destroy;
    t.get = own_get;
    t.get_ranges = own_get_ranges;
    t.put = own_put;
    t.put_if = own_put_if;
    t.erase = own_erase;
    t.list = own_list;
    return t;
}

#endif
