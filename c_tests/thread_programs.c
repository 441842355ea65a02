/* Random programs in several threads of one process, at the same time: each has elements of its own in arrays that all have, in the same chunks, and
 * arrays of its own that it creates, writes, reads, resizes, appends to, renames, copies and erases. What it reads is what its model has. The store is a
 * folder, memory, an archive, or functions that keep the values in another store of the library, and write to an array there beside.
 *
 *   thread_programs [CASES] [SEED] */
#include "table.h"
#include "model.h"
#include "random.h"
#include <pthread.h>

enum { THREADS = 5, OWN = 2, SHARED = 2, CALLS = 60, ROWS = 13, COLUMNS = 4 * THREADS, WIDE = 9, SIZE = WIDE * WIDE };

/* An array of one thread, and what it should hold: shape[0] rows of shape[1]. */
typedef struct own {
    ozarr_array *array;
    char path[32];
    int64_t shape[2];
    int32_t fill, expected[SIZE];
} own;

typedef struct worker {
    pthread_t thread;
    numbers n;
    int t, call, names;
    ozarr_store *store;
    ozarr_array *shared[SHARED];
    int32_t columns[SHARED][ROWS][COLUMNS / THREADS]; /* of the shared arrays, those of this thread */
    own owns[OWN];
    ozarr_request *request;
    int32_t waiting[SIZE];
    int64_t attribute;
} worker;

static uint64_t seed_now;
static const char *place; /* where the store is; NULL: in memory */
static bool keeps; /* an archive, which erases nothing */
static ozarr_store *store;
static ozarr_array *arrays[SHARED];

#define HERE(w) fprintf(stderr, "seed %" PRIu64 ", thread %d, call %d: ", seed_now, (w)->t, (w)->call)
#define DONE(w, call) ((call) == OZARR_OK ? (void)0 : (void)(HERE(w), FAIL("%s: %s", #call, ozarr_last_error())))

static ozarr_spec *random_spec(numbers *n, const int64_t *shape, int32_t format, int32_t fill) {
    static const char *const compressors[] = {"none", "zstd", "blosc:lz4", "gzip"};
    const int64_t inner[] = {pick(n, 1, 3), pick(n, 1, 7)}, chunks[] = {inner[0] * pick(n, 1, 3), inner[1] * pick(n, 1, 3)};
    ozarr_spec *spec = NULL;
    OK(ozarr_spec_new(OZARR_INT32, 2, shape, &spec));
    if (format == 2) OK(ozarr_spec_set_zarr_format(spec, 2));
    OK(ozarr_spec_set_chunks(spec, chunks));
    if (format == 3 && pick(n, 0, 1)) OK(ozarr_spec_set_inner_chunks(spec, inner));
    OK(ozarr_spec_set_compressor(spec, compressors[pick(n, 0, 3)], -1));
    OK(ozarr_spec_set_fill_value(spec, OZARR_INT32, &fill));
    return spec;
}

/* --- a store of functions over another one; what is put is noted in an array, whose chunks have locks, too --- */

enum { NOTES = 40 };

static ozarr_store *below, *beside;
static ozarr_array *notes;

static ozarr_status below_get(void *user, const char *key, ozarr_answer *answer) {
    char value[1 << 16];
    size_t size = 0;
    (void)user;
    ozarr_status status = ozarr_store_key_get(below, key, value, sizeof value, &size);
    return status ? status : ozarr_answer_put(answer, value, size);
}

static ozarr_status below_put(void *user, const char *key, const void *data, size_t size) {
    static _Thread_local numbers n;
    const int64_t start[] = {pick(&n, 0, NOTES - 1), pick(&n, 0, NOTES - 1)}, one[] = {1, 1};
    const int32_t value = 1;
    (void)user;
    ozarr_status status = ozarr_array_write_region(notes, start, one, OZARR_INT32, &value, sizeof value);
    return status ? status : ozarr_store_key_put(below, key, data, size);
}

static ozarr_status below_erase(void *user, const char *key) {
    bool erased = false;
    (void)user;
    ozarr_status status = ozarr_store_key_erase(below, key, &erased);
    return status || erased ? status : OZARR_ERR_NOT_FOUND;
}

static ozarr_status add_key(void *keys, const char *key) { return ozarr_keys_add(keys, key); }

static ozarr_status below_list(void *user, const char *prefix, ozarr_keys *keys) {
    (void)user;
    return ozarr_store_key_list(below, prefix, add_key, keys);
}

static void open_functions(uint32_t flags) {
    ozarr_store_table table = OZARR_STORE_TABLE_INIT;
    const int64_t shape[] = {NOTES, NOTES}, chunks[] = {2, 2};
    ozarr_spec *spec = NULL;
    OK(ozarr_store_memory(&below));
    OK(ozarr_store_memory(&beside));
    OK(ozarr_spec_new(OZARR_INT32, 2, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    /* One of the arrays that all threads have is called so, too. */
    OK(ozarr_array_create_at(beside, "all0", spec, OZARR_CREATE_NEW, &notes));
    ozarr_spec_free(spec);
    table.flags = flags, table.get = below_get, table.put = below_put, table.erase = below_erase, table.list = below_list;
    OK(ozarr_store_from_table(NULL, &table, "r+", &store));
}

/* --- the elements of a thread in what all have --- */

static void region_of(const worker *w, numbers *n, int64_t *start, int64_t *shape) {
    start[0] = pick(n, 0, ROWS - 1), shape[0] = pick(n, 1, ROWS - start[0]);
    const int64_t first = pick(n, 0, COLUMNS / THREADS - 1);
    start[1] = w->t + THREADS * first, shape[1] = pick(n, 1, COLUMNS / THREADS - first);
}

static void use_shared(worker *w) {
    const int which = (int)pick(&w->n, 0, SHARED - 1);
    int64_t start[2], shape[2], step[] = {1, THREADS};
    int32_t data[ROWS * COLUMNS / THREADS];
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region_of(w, &w->n, start, shape);
    region.start = start, region.shape = shape, region.step = step;
    memory.data = data, memory.size = sizeof data, memory.type = OZARR_INT32;
    const int64_t first = start[1] / THREADS;
    const bool writes = pick(&w->n, 0, 1);
    const int32_t salt = (int32_t)pick(&w->n, 1, 1 << 20), zero = pick(&w->n, 0, 5) == 0;
    for (int64_t i = 0; writes && i < shape[0] * shape[1]; i++) {
        data[i] = zero ? 0 : salt + (int32_t)i;
        w->columns[which][start[0] + i / shape[1]][first + i % shape[1]] = data[i];
    }
    if (writes && zero) DONE(w, ozarr_array_fill(w->shared[which], &region, OZARR_INT32, &(int32_t){0}));
    else if (writes) DONE(w, ozarr_array_write_ex(w->shared[which], &region, &memory));
    if (writes) return;
    DONE(w, ozarr_array_read_ex(w->shared[which], &region, &memory));
    for (int64_t i = 0; i < shape[0] * shape[1]; i++) {
        const int32_t expected = w->columns[which][start[0] + i / shape[1]][first + i % shape[1]];
        if (data[i] == expected) continue;
        HERE(w);
        FAIL("shared array %d: element %d is %d, expected %d", which, (int)i, (int)data[i], (int)expected);
        return;
    }
}

/* --- the arrays of a thread --- */

static void wait_for(worker *w) {
    if (!w->request) return;
    DONE(w, ozarr_request_wait(w->request, -1));
    ozarr_request_free(w->request);
    w->request = NULL;
}

static void name_anew(worker *w, char *path) { snprintf(path, 32, "t%d/a%d", w->t, w->names++); }

static void create(worker *w, own *o) {
    if (o->array) DONE(w, ozarr_array_close(o->array));
    else name_anew(w, o->path);
    for (int d = 0; d < 2; d++) o->shape[d] = pick(&w->n, 0, WIDE);
    o->fill = (int32_t)pick(&w->n, -1, 1);
    ozarr_spec *spec = random_spec(&w->n, o->shape, (int32_t)(seed_now % 2 ? 2 : 3), o->fill);
    DONE(w, ozarr_array_create_at(w->store, o->path, spec, OZARR_CREATE_OVERWRITE, &o->array));
    ozarr_spec_free(spec);
    for (int i = 0; i < SIZE; i++) o->expected[i] = o->fill;
    if (o->array && pick(&w->n, 0, 2) == 0) DONE(w, ozarr_node_set(ozarr_array_node(o->array), "write_back", "1000"));
    if (o->array && pick(&w->n, 0, 2) == 0) DONE(w, ozarr_node_set(ozarr_array_node(o->array), "chunk_cache", "1000"));
}

static void write_own(worker *w, own *o) {
    int64_t start[2], shape[2];
    for (int d = 0; d < 2; d++) {
        start[d] = o->shape[d] ? pick(&w->n, 0, o->shape[d] - 1) : 0;
        shape[d] = pick(&w->n, 0, o->shape[d] - start[d]);
    }
    const int32_t salt = (int32_t)pick(&w->n, 1, 1 << 20);
    for (int64_t i = 0; i < shape[0] * shape[1]; i++) {
        w->waiting[i] = salt + (int32_t)i;
        o->expected[(start[0] + i / shape[1]) * o->shape[1] + start[1] + i % shape[1]] = w->waiting[i];
    }
    if (pick(&w->n, 0, 2)) DONE(w, ozarr_array_write_region(o->array, start, shape, OZARR_INT32, w->waiting, sizeof w->waiting));
    else DONE(w, ozarr_array_iwrite_region(o->array, start, shape, OZARR_INT32, w->waiting, sizeof w->waiting, 0, &w->request));
}

static void read_own(worker *w, const own *o) {
    int32_t found[SIZE];
    int64_t shape[2] = {-1, -1};
    DONE(w, ozarr_array_shape(o->array, shape));
    if (shape[0] != o->shape[0] || shape[1] != o->shape[1]) HERE(w), FAIL("%s has another shape", o->path);
    DONE(w, ozarr_array_read(o->array, OZARR_INT32, found, sizeof found));
    for (int64_t i = 0; i < o->shape[0] * o->shape[1]; i++) {
        if (found[i] == o->expected[i]) continue;
        HERE(w);
        FAIL("%s: element %d is %d, expected %d", o->path, (int)i, (int)found[i], (int)o->expected[i]);
        return;
    }
}

static void resize(worker *w, own *o) {
    const int64_t shape[] = {pick(&w->n, 0, WIDE), pick(&w->n, 0, WIDE)};
    DONE(w, ozarr_array_resize(o->array, shape, 0));
    reshape(o->expected, SIZE, o->shape, o->fill, shape[0], shape[1]);
}

static void append(worker *w, own *o) {
    const int64_t count = pick(&w->n, 1, 3), before = o->shape[0];
    int32_t data[3 * WIDE];
    if (before + count > WIDE) return;
    reshape(o->expected, SIZE, o->shape, o->fill, before + count, o->shape[1]);
    for (int64_t i = 0; i < count * o->shape[1]; i++) o->expected[before * o->shape[1] + i] = data[i] = (int32_t)pick(&w->n, 1, 1 << 20);
    if (pick(&w->n, 0, 1)) {
        DONE(w, ozarr_array_append(o->array, 0, count, OZARR_INT32, data, sizeof data));
        return;
    }
    ozarr_appender *appender = NULL;
    DONE(w, ozarr_appender_open(o->array, 0, pick(&w->n, 0, 2), 0, &appender));
    for (int64_t i = 0; i < count; i++) DONE(w, ozarr_appender_append(appender, 1, OZARR_INT32, data + i * o->shape[1], (size_t)o->shape[1] * sizeof *data));
    DONE(w, ozarr_appender_close(appender));
}

static void open_again(worker *w, own *o) {
    DONE(w, ozarr_array_close(o->array));
    o->array = NULL;
    DONE(w, ozarr_array_open_at(w->store, o->path, &o->array));
}

static void rename_own(worker *w, own *o) {
    char to[32];
    ozarr_group *root = NULL;
    name_anew(w, to);
    DONE(w, ozarr_array_close(o->array));
    o->array = NULL;
    DONE(w, ozarr_group_open_at(w->store, "", &root));
    DONE(w, ozarr_group_rename(root, o->path, to));
    DONE(w, ozarr_group_close(root));
    strcpy(o->path, to);
    DONE(w, ozarr_array_open_at(w->store, o->path, &o->array));
}

/* The other array becomes a copy of this one. */
static void copy(worker *w, own *o) {
    own *other = &w->owns[o == w->owns];
    if (other->array) {
        DONE(w, ozarr_array_close(other->array));
        other->array = NULL;
        DONE(w, ozarr_store_node_erase(w->store, other->path));
    }
    name_anew(w, other->path);
    DONE(w, ozarr_node_flush(ozarr_array_node(o->array)));
    DONE(w, ozarr_copy_at(w->store, o->path, w->store, other->path, NULL));
    memcpy(other->shape, o->shape, sizeof o->shape);
    memcpy(other->expected, o->expected, sizeof o->expected);
    other->fill = o->fill;
    DONE(w, ozarr_array_open_at(w->store, other->path, &other->array));
}

static void erase(worker *w, own *o) {
    DONE(w, ozarr_array_close(o->array));
    o->array = NULL;
    DONE(w, ozarr_store_node_erase(w->store, o->path));
}

/* An attribute of the root, which all threads change. */
static void attribute(worker *w) {
    ozarr_group *root = NULL;
    char name[16];
    int64_t found = -1;
    snprintf(name, sizeof name, "thread%d", w->t);
    DONE(w, ozarr_group_open_at(w->store, "", &root));
    if (w->attribute) {
        DONE(w, ozarr_attr_get_int64(ozarr_group_node(root), name, &found));
        if (found != w->attribute) HERE(w), FAIL("the attribute is %d, expected %d", (int)found, (int)w->attribute);
    }
    w->attribute = pick(&w->n, 1, 1000);
    DONE(w, ozarr_attr_set_int64(ozarr_group_node(root), name, w->attribute));
    DONE(w, ozarr_group_close(root));
}

static void use_own(worker *w) {
    own *o = &w->owns[pick(&w->n, 0, OWN - 1)];
    const int64_t kind = pick(&w->n, 0, 15);
    wait_for(w);
    if (keeps && o->array && (kind == 0 || kind == 9 || kind > 12)) return;
    if (!o->array || kind == 0) create(w, o);
    else if (kind < 6) write_own(w, o);
    else if (kind < 9) read_own(w, o);
    else if (kind == 9) resize(w, o);
    else if (kind < 12) append(w, o);
    else if (kind == 12) open_again(w, o);
    else if (kind == 13) rename_own(w, o);
    else if (kind == 14) copy(w, o);
    else erase(w, o);
}

static void *work(void *argument) {
    worker *w = argument;
    const int before = failures;
    if (place && pick(&w->n, 0, 1)) DONE(w, ozarr_store_open(place, "r+", &w->store));
    else w->store = store;
    for (int i = 0; i < SHARED; i++) {
        char name[8];
        snprintf(name, sizeof name, "all%d", i);
        if (pick(&w->n, 0, 1)) w->shared[i] = arrays[i];
        else DONE(w, ozarr_array_open_at(w->store, name, &w->shared[i]));
        if (w->shared[i] != arrays[i] && pick(&w->n, 0, 1)) DONE(w, ozarr_node_set(ozarr_array_node(w->shared[i]), "write_back", "2000"));
    }
    for (w->call = 0; w->call < CALLS && failures == before; w->call++) {
        const int64_t kind = pick(&w->n, 0, 9);
        if (kind < 5) use_shared(w);
        else if (kind < 9) use_own(w);
        else attribute(w);
    }
    wait_for(w);
    for (int i = 0; i < OWN; i++)
        if (w->owns[i].array) DONE(w, ozarr_array_close(w->owns[i].array));
    for (int i = 0; i < SHARED; i++)
        if (w->shared[i] != arrays[i]) DONE(w, ozarr_array_close(w->shared[i]));
    if (w->store != store) DONE(w, ozarr_store_close(w->store));
    return NULL;
}

static ozarr_status print_fault(void *user, ozarr_fault_kind kind, const char *key, const char *message, int64_t bytes, bool repaired) {
    (void)user, (void)kind, (void)bytes, (void)repaired;
    fprintf(stderr, "seed %" PRIu64 ": %s: %s\n", seed_now, key, message);
    return OZARR_OK;
}

/* Opens all anew and compares. */
static void check(worker *workers, bool consolidated) {
    ozarr_group *root = NULL;
    ozarr_verified verified = OZARR_VERIFIED_INIT;
    bool current = false;
    char text[2000] = "";
    if (place) OK(ozarr_store_open(place, "r", &store));
    for (int i = 0; i < SHARED; i++) {
        char name[8];
        int32_t all[ROWS][COLUMNS];
        snprintf(name, sizeof name, "all%d", i);
        OK(ozarr_array_open_at(store, name, &arrays[i]));
        OK(ozarr_array_read(arrays[i], OZARR_INT32, all, sizeof all));
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++)
                if (all[r][c] != workers[c % THREADS].columns[i][r][c / THREADS]) FAIL("seed %" PRIu64 ": %s: element %d, %d is another one", seed_now, name, r, c);
        ozarr_array_free(arrays[i]);
    }
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < OWN; i++) {
            own *o = &workers[t].owns[i];
            if (!o->array) continue;
            OK(ozarr_array_open_at(store, o->path, &o->array));
            read_own(&workers[t], o);
            ozarr_array_free(o->array);
        }
    }
    OK(ozarr_store_verify(store, "", 0, print_fault, NULL, NULL, &verified));
    EQUAL(verified.faults, 0);
    OK(ozarr_group_open_at(store, "", &root));
    if (consolidated) {
        OK(ozarr_group_consolidated_check(root, text, sizeof text, NULL, &current));
        if (!current) FAIL("seed %" PRIu64 ": consolidated metadata: %s", seed_now, text);
    }
    ozarr_group_free(root);
    ozarr_store_free(store);
}

static void one_case(uint64_t seed) {
    static worker workers[THREADS];
    static const char *const places[] = {"threads.zarr", NULL, "threads.zarr.zip", NULL};
    numbers n = {seed};
    char parent[64];
    ozarr_group *root = NULL;
    const int64_t shape[] = {ROWS, COLUMNS};
    seed_now = seed, place = places[seed % 4], keeps = seed % 4 == 2;
    const int32_t format = seed_now / 4 % 2 ? 2 : 3;
    snprintf(parent, sizeof parent, "case%d", (int)(seed % 1000000));
    if (place) {
        char *folder = malloc(128);
        snprintf(folder, 128, "%s-%s", parent, place);
        place = folder;
        OK(ozarr_store_open(place, "r+", &store));
    } else if (seed % 4 == 3) {
        open_functions(pick(&n, 0, 1) ? OZARR_CALLBACK_ANY_THREAD : 0);
    } else {
        OK(ozarr_store_memory(&store));
    }
    OK(ozarr_group_create_at(store, "", format, OZARR_CREATE_OVERWRITE, &root));
    for (int i = 0; i < SHARED; i++) {
        char name[8];
        ozarr_spec *spec = random_spec(&n, shape, format, 0);
        snprintf(name, sizeof name, "all%d", i);
        OK(ozarr_array_create_at(store, name, spec, OZARR_CREATE_NEW, &arrays[i]));
        ozarr_spec_free(spec);
    }
    const bool consolidated = pick(&n, 0, 1);
    if (consolidated) OK(ozarr_group_consolidate(root));
    OK(ozarr_group_close(root));
    memset(workers, 0, sizeof workers);
    for (int t = 0; t < THREADS; t++) {
        workers[t].t = t, workers[t].n.state = seed * 1000 + (uint64_t)t;
        pthread_create(&workers[t].thread, NULL, work, &workers[t]);
    }
    for (int t = 0; t < THREADS; t++) pthread_join(workers[t].thread, NULL);
    for (int i = 0; i < SHARED; i++) OK(ozarr_array_close(arrays[i]));
    if (place) OK(ozarr_store_close(store));
    if (failures == 0) check(workers, consolidated);
    if (place) free((char *)(uintptr_t)place);
    if (seed % 4 == 3) {
        OK(ozarr_array_close(notes));
        OK(ozarr_store_close(beside));
        OK(ozarr_store_close(below));
    }
}

int main(int argc, char **argv) {
    const int cases = argc > 1 ? atoi(argv[1]) : 30;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    OK(ozarr_context_set(NULL, "file.sync", "none"));
    for (int i = 0; i < cases && failures == 0; i++) one_case(seed + (uint64_t)i);
    return finish();
}
