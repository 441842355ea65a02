/* Requests and batches: reads and writes that go on by themselves; how they end, in which order, and how much of them there may be. */
#include "own.h"
#include "random.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 64, COLUMNS = 512, CELLS = ROWS * COLUMNS };

static int64_t ORIGIN[] = {0, 0}, ALL[] = {ROWS, COLUMNS}, CHUNKS[] = {4, COLUMNS};
static int32_t out[CELLS], in[CELLS];
static const size_t SIZE = sizeof out;

static void microseconds(long n) {
    struct timespec t = {n / 1000000, n % 1000000 * 1000};
    nanosleep(&t, NULL);
}

/* The last store of `own_with`. */
static own_store *slow;

static void freed(void *user) {
    own_destroy(user);
    free(user);
}

/* A store of this program, in memory, each of whose calls takes `delay` microseconds more. */
static ozarr_store *own_with(ozarr_context *c, int delay) {
    ozarr_store *s = NULL;
    slow = (own_store *)malloc(sizeof *slow);
    ozarr_store_table table = own_table(slow);
    table.flags |= OZARR_CALLBACK_ANY_THREAD;
    table.destroy = freed;
    atomic_store(&slow->delay, delay);
    OK(ozarr_store_from_table(c, &table, "r+", &s));
    return s;
}

/* A store in memory, with that many threads, each of whose requests takes so many microseconds more. */
static ozarr_store *store_with(const char *threads, int delay) {
    ozarr_context *c = NULL;
    ozarr_store *s = NULL;
    char name[64];
    static int number;
    snprintf(name, sizeof name, "memory:request%d.zarr", number++);
    OK(ozarr_context_new(&c));
    OK(ozarr_context_set(c, "threads", threads));
    if (delay) s = own_with(c, delay);
    else OK(ozarr_store_open_ex(c, name, "r+", NULL, &s));
    ozarr_context_free(c);
    return s;
}

static ozarr_array *array_in(ozarr_store *s, const char *path, const char *compressor) {
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_spec_new(OZARR_INT32, 2, ALL, &spec));
    OK(ozarr_spec_set_chunks(spec, CHUNKS));
    OK(ozarr_spec_set_compressor(spec, compressor, -1));
    OK(ozarr_array_create_at(s, path, spec, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(spec);
    return a;
}

static void fill(int32_t *data, int32_t first, int32_t step) {
    for (int i = 0; i < CELLS; i++) data[i] = first + i * step;
}

static void expect(ozarr_array *a, int32_t first, int32_t step) {
    memset(in, 0x55, SIZE);
    OK(ozarr_array_read(a, OZARR_INT32, in, SIZE));
    for (int i = 0; i < CELLS; i++)
        if (in[i] != first + i * step) {
            FAIL("element %d is %d, expected %d", i, in[i], first + i * step);
            return;
        }
}

static ozarr_request *write_all(ozarr_array *a, const int32_t *data, uint32_t flags) {
    ozarr_request *r = NULL;
    OK(ozarr_array_iwrite_region(a, ORIGIN, ALL, OZARR_INT32, data, SIZE, flags, &r));
    return r;
}

static ozarr_request *read_all(ozarr_array *a, int32_t *data) {
    ozarr_request *r = NULL;
    OK(ozarr_array_iread_region(a, ORIGIN, ALL, OZARR_INT32, data, SIZE, &r));
    return r;
}

/* Begins a read or write, goes on with test alone, and finds the elements; with any number of threads and any store. */
static void there_and_back(const char *threads, int delay, const char *compressor) {
    ozarr_store *s = store_with(threads, delay);
    ozarr_array *a = array_in(s, "a", compressor);
    ozarr_request *r = NULL;
    ozarr_request_state state = -1;
    bool done = false;
    const int before = failures;
    fill(out, 7, 3);
    r = write_all(a, out, 0);
    while (!done && failures == before) OK(ozarr_request_test(r, &done));
    CHECK(done);
    OK(ozarr_request_get_state(r, &state));
    EQUAL(state, OZARR_REQUEST_STATE_DONE);
    /* As often as one likes. */
    OK(ozarr_request_wait(r, -1));
    OK(ozarr_request_wait(r, -1));
    OK(ozarr_request_cancel(r));
    OK(ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    expect(a, 7, 3);

    memset(in, 0, SIZE);
    r = read_all(a, in);
    OK(ozarr_request_wait(r, -1));
    CHECK(memcmp(in, out, SIZE) == 0);
    ozarr_request_free(r);

    /* The memory is ours again at once. */
    fill(out, -5, 2);
    r = write_all(a, out, OZARR_REQUEST_COPY);
    memset(out, 0, SIZE);
    OK(ozarr_request_wait(r, 60));
    ozarr_request_free(r);
    expect(a, -5, 2);

    /* Begun, freed, flushed; and the array may be gone. */
    fill(out, 11, 1);
    ozarr_request_free(write_all(a, out, OZARR_REQUEST_COPY));
    memset(out, 0, SIZE);
    OK(ozarr_node_flush(ozarr_array_node(a)));
    expect(a, 11, 1);
    fill(out, 12, 1);
    r = write_all(a, out, OZARR_REQUEST_COPY);
    ozarr_array_free(a);
    OK(ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    OK(ozarr_array_open_at(s, "a", &a));
    expect(a, 12, 1);
    ozarr_array_free(a);
    OK(ozarr_store_close(s));
}

/* Overlapping requests take effect in their order, also before blocking calls, with any number of threads. */
static void order(const char *threads, int delay) {
    enum { MANY = 12 };
    static int32_t data[MANY][CELLS];
    ozarr_store *s = store_with(threads, delay);
    ozarr_array *a = array_in(s, "a", "zstd"), *other = NULL;
    ozarr_request *r[MANY + 2] = {0};
    ozarr_request_state state = -1;
    int64_t half[] = {ROWS / 2 + 1, COLUMNS}, low[] = {ROWS / 2 - 1, 0};
    for (int i = 0; i < MANY; i++) {
        fill(data[i], i, 0);
        /* The one half in part, the other half in part, all. */
        if (i % 3 == 0) OK(ozarr_array_iwrite_region(a, ORIGIN, half, OZARR_INT32, data[i], SIZE, 0, &r[i]));
        if (i % 3 == 1) OK(ozarr_array_iwrite_region(a, low, half, OZARR_INT32, data[i], SIZE, OZARR_REQUEST_COPY, &r[i]));
        if (i % 3 == 2) r[i] = write_all(a, data[i], 0);
    }
    OK(ozarr_array_iwrite_region(a, ORIGIN, half, OZARR_INT32, data[1], SIZE, 0, &r[MANY]));
    OK(ozarr_request_get_state(r[MANY], &state));
    CHECK(state == OZARR_REQUEST_STATE_QUEUED || state == OZARR_REQUEST_STATE_RUNNING || state == OZARR_REQUEST_STATE_DONE);
    /* A read through another handle sees all that was submitted before. */
    OK(ozarr_array_open_at(s, "a", &other));
    r[MANY + 1] = read_all(other, in);
    OK(ozarr_request_wait(r[MANY + 1], -1));
    for (int i = 0; i < CELLS; i++)
        if (in[i] != (i < (ROWS / 2 + 1) * COLUMNS ? 1 : MANY - 1)) {
            FAIL("element %d is %d", i, in[i]);
            break;
        }
    OK(ozarr_requests_wait_all(r, MANY + 2, -1, NULL));
    for (int i = 0; i < MANY + 2; i++) ozarr_request_free(r[i]);
    /* A blocking write comes behind, a blocking read too. */
    for (int i = 0; i < MANY; i++) r[i] = write_all(a, data[i], 0);
    fill(out, 99, 1);
    OK(ozarr_array_write(other, OZARR_INT32, out, SIZE));
    r[MANY] = write_all(other, data[3], 0);
    expect(a, 3, 0);
    for (int i = 0; i < MANY + 1; i++) {
        OK(ozarr_request_wait(r[i], -1));
        ozarr_request_free(r[i]);
    }
    /* What is cut off does not come back. */
    int64_t less[] = {8, COLUMNS};
    ozarr_request_free(write_all(a, data[5], OZARR_REQUEST_COPY));
    OK(ozarr_array_resize(a, less, 0));
    OK(ozarr_array_resize(a, ALL, 0));
    OK(ozarr_array_read(a, OZARR_INT32, in, SIZE));
    EQUAL(in[0], 5);
    EQUAL(in[CELLS - 1], 0);
    ozarr_array_free(a);
    ozarr_array_free(other);
    OK(ozarr_store_close(s));
}

/* A request that is cancelled or freed leaves its memory alone at once, whatever it was doing. */
static void endings(const char *threads, int delay, const char *compressor) {
    ozarr_store *s = store_with(threads, delay);
    ozarr_array *a = array_in(s, "a", compressor);
    ozarr_request *r = NULL;
    ozarr_request_state state = -1;
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    bool done = false;
    fill(out, 1, 1);
    OK(ozarr_array_write(a, OZARR_INT32, out, SIZE));
    for (int i = 0; i < 60; i++) {
        int32_t *mine = (int32_t *)malloc(SIZE);
        fill(mine, 1, 1);
        r = i % 2 ? read_all(a, mine) : write_all(a, mine, 0);
        if (i % 3 == 1) OK(ozarr_request_test(r, &done));
        if (i % 5 == 2) microseconds(200 * (i % 7));
        if (i % 4 < 2) {
            OK(ozarr_request_cancel(r));
            free(mine);
            ozarr_status status = ozarr_request_wait(r, -1);
            CHECK(status == OZARR_OK || status == OZARR_ERR_CANCELLED);
            OK(ozarr_request_get_state(r, &state));
            EQUAL(state, status == OZARR_OK ? OZARR_REQUEST_STATE_DONE : OZARR_REQUEST_STATE_FAILED);
            EQUAL(ozarr_request_test(r, &done), status);
            CHECK(done);
            OK(ozarr_request_error(r, &info));
            EQUAL(info.status, status);
            ozarr_request_free(r);
        } else {
            ozarr_request_free(r);
            free(mine);
        }
    }
    /* Every chunk is old or new, and here both are the same. */
    expect(a, 1, 1);
    ozarr_array_free(a);
    OK(ozarr_store_close(s));
}

/* Neither cancel nor free waits for the store, whether it reads or writes: it answers nothing before they have returned. */
static void no_wait_for_the_store(void) {
    ozarr_store *s = store_with("3", 1);
    ozarr_array *a = array_in(s, "a", "zstd");
    ozarr_request *r = NULL;
    fill(out, 1, 1);
    OK(ozarr_array_write(a, OZARR_INT32, out, SIZE));
    pthread_mutex_lock(&slow->mutex);
    for (int i = 0; i < 4; i++) {
        int32_t *mine = (int32_t *)malloc(SIZE);
        fill(mine, 1, 1);
        r = i % 2 ? read_all(a, mine) : write_all(a, mine, 0);
        while (atomic_load(&slow->inside) == 0) microseconds(1000);
        if (i < 2) {
            OK(ozarr_request_cancel(r));
            ERR_SAYS(OZARR_ERR_CANCELLED, "cancelled", "", ozarr_request_wait(r, -1));
        }
        ozarr_request_free(r);
        free(mine);
    }
    /* What is in the store's hands ends before the next on these chunks. */
    pthread_mutex_unlock(&slow->mutex);
    OK(ozarr_node_flush(ozarr_array_node(a)));
    expect(a, 1, 1);
    ozarr_array_free(a);
    OK(ozarr_store_close(s));
}

/* Deadlines, of a wait and of the request. */
static void deadlines(void) {
    for (int threads = 1; threads <= 3; threads += 2) {
        /* Chunks that take a while each. */
        ozarr_store *s = store_with(threads == 1 ? "1" : "3", 100000);
        ozarr_array *a = array_in(s, "a", "zstd");
        ozarr_request *r = NULL, *two[2] = {0};
        ozarr_memory memory = OZARR_MEMORY_INIT;
        ozarr_request_options options = OZARR_REQUEST_OPTIONS_INIT;
        ozarr_request_state state = -1;
        ozarr_status statuses[2] = {1, 1};
        int64_t index = 7;
        int32_t *mine = (int32_t *)calloc(CELLS, sizeof *mine);
        for (int i = 0; i < CELLS; i++) mine[i] = i;
        memory.data = mine, memory.size = SIZE, memory.type = OZARR_INT32;
        OK(ozarr_array_iwrite_ex(a, NULL, &memory, NULL, &r));
        ERR_SAYS(OZARR_ERR_TIMEOUT, "goes on", "", ozarr_request_wait(r, 0.02));
        ERR(OZARR_ERR_TIMEOUT, ozarr_request_wait(r, 0));
        two[0] = r;
        ERR(OZARR_ERR_TIMEOUT, ozarr_requests_wait_any(two, 2, 0.001, &index));
        EQUAL(index, -1);
        ERR(OZARR_ERR_TIMEOUT, ozarr_requests_wait_all(two, 2, 0.001, statuses));
        EQUAL(statuses[0], OZARR_ERR_STATE);
        EQUAL(statuses[1], OZARR_OK);
        OK(ozarr_request_get_state(r, &state));
        EQUAL(state, OZARR_REQUEST_STATE_RUNNING);
        OK(ozarr_request_wait(r, -1));
        ozarr_request_free(r);
        /* Its own: the request is done then, and the memory ours. */
        options.seconds = 0.05;
        OK(ozarr_array_iread_ex(a, NULL, &memory, &options, &r));
        ERR_SAYS(OZARR_ERR_TIMEOUT, "deadline", "", ozarr_request_wait(r, -1));
        free(mine);
        OK(ozarr_request_get_state(r, &state));
        EQUAL(state, OZARR_REQUEST_STATE_FAILED);
        ERR(OZARR_ERR_TIMEOUT, ozarr_request_wait(r, -1));
        ozarr_request_free(r);
        ozarr_array_free(a);
        OK(ozarr_store_close(s));
    }
}

static atomic_int told, told_status;
static ozarr_request *_Atomic own;

static ozarr_status tell(void *user, ozarr_status status, const char *message) {
    (void)user;
    told_status = status;
    CHECK((status == OZARR_OK) == (message[0] == 0));
    told++;
    return OZARR_OK;
}

/* Tries to wait for what called it. */
static ozarr_status tell_and_wait(void *user, ozarr_status status, const char *message) {
    (void)user, (void)message;
    while (own == NULL) microseconds(100);
    told_status = status;
    ozarr_request *list[] = {own, NULL};
    ozarr_status statuses[] = {7, 7};
    ERR(OZARR_ERR_STATE, ozarr_request_wait(own, -1));
    ERR(OZARR_ERR_STATE, ozarr_requests_wait_all(list, 2, -1, statuses));
    EQUAL(statuses[0], OZARR_ERR_STATE);
    EQUAL(statuses[1], OZARR_OK);
    ERR(OZARR_ERR_STATE, ozarr_shutdown());
    told++;
    return OZARR_OK;
}

static void callbacks(const char *threads) {
    ozarr_store *s = store_with(threads, 0);
    ozarr_array *a = array_in(s, "a", "zstd");
    ozarr_request *r = NULL;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    ozarr_request_options options = OZARR_REQUEST_OPTIONS_INIT;
    memory.data = out, memory.size = SIZE, memory.type = OZARR_INT32;
    options.done = tell;
    /* In this thread, once, when it is found done; or never. */
    told = 0;
    OK(ozarr_array_iwrite_ex(a, NULL, &memory, &options, &r));
    microseconds(20000);
    EQUAL(told, 0);
    OK(ozarr_request_wait(r, -1));
    OK(ozarr_request_wait(r, -1));
    EQUAL(told, 1);
    EQUAL(told_status, OZARR_OK);
    ozarr_request_free(r);
    OK(ozarr_array_iwrite_ex(a, NULL, &memory, &options, &r));
    OK(ozarr_request_cancel(r));
    EQUAL(told, 2);
    ozarr_request_free(r);
    options.flags = OZARR_REQUEST_COPY;
    OK(ozarr_array_iwrite_ex(a, NULL, &memory, &options, &r));
    ozarr_request_free(r);
    OK(ozarr_node_flush(ozarr_array_node(a)));
    EQUAL(told, 2);
    /* In any thread: before the request counts as done. */
    options.flags = OZARR_CALLBACK_ANY_THREAD;
    for (int i = 0; i < 50; i++) {
        OK(ozarr_array_iwrite_ex(a, NULL, &memory, &options, &r));
        if (i % 2) OK(ozarr_request_wait(r, -1));
        ozarr_request_free(r);
        EQUAL(told, 3 + i);
    }
    options.done = tell_and_wait;
    own = NULL;
    OK(ozarr_array_iread_ex(a, NULL, &memory, &options, &r));
    own = r;
    OK(ozarr_request_wait(r, -1));
    EQUAL(told, 53);
    EQUAL(told_status, OZARR_OK);
    ozarr_request_free(r);
    ozarr_array_free(a);
    OK(ozarr_store_close(s));
}

/* No more in flight than is allowed: waiting for room, or not. */
static void bounds(const char *threads) {
    ozarr_context *c = NULL;
    ozarr_store *s = NULL;
    ozarr_array *a = NULL;
    ozarr_request *r[8] = {0};
    OK(ozarr_context_new(&c));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "bytes_in_flight", "0", ozarr_context_set(c, "bytes_in_flight", "0"));
    ERR(OZARR_ERR_ARGUMENT, ozarr_context_set(c, "bytes_in_flight", "many"));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "when_full", "never", ozarr_context_set(c, "when_full", "never"));
    OK(ozarr_context_set(c, "threads", threads));
    OK(ozarr_context_set(c, "bytes_in_flight", "300000"));
    s = own_with(c, 1000);
    a = array_in(s, "a", "zstd");
    fill(out, 4, 4);
    /* Two of 128 KiB have room. */
    for (int i = 0; i < 8; i++) r[i] = write_all(a, out, i % 2 ? OZARR_REQUEST_COPY : 0);
    OK(ozarr_requests_wait_all(r, 8, -1, NULL));
    for (int i = 0; i < 8; i++) ozarr_request_free(r[i]);
    expect(a, 4, 4);
    OK(ozarr_context_set(c, "when_full", "again"));
    r[0] = write_all(a, out, 0);
    r[1] = write_all(a, out, 0);
    ERR_SAYS(OZARR_ERR_AGAIN, "in flight", "300000", ozarr_array_iwrite_region(a, ORIGIN, ALL, OZARR_INT32, out, SIZE, 0, &r[2]));
    CHECK(r[2] == NULL);
    OK(ozarr_requests_wait_all(r, 2, -1, NULL));
    r[2] = write_all(a, out, 0);
    OK(ozarr_request_wait(r[2], -1));
    OK(ozarr_context_set(c, "bytes_in_flight", "100000"));
    ERR_SAYS(OZARR_ERR_LIMIT, "131072", "100000", ozarr_array_iwrite_region(a, ORIGIN, ALL, OZARR_INT32, out, SIZE, 0, &r[3]));
    for (int i = 0; i < 3; i++) ozarr_request_free(r[i]);
    ozarr_context_free(c);
    ozarr_array_free(a);
    OK(ozarr_store_close(s));
}

/* Errors of the arguments come at once, those of the work by the request, which keeps them. */
static void errors(const char *threads) {
    ozarr_store *s = store_with(threads, 0);
    ozarr_array *a = array_in(s, "a", "none"), *read_only = NULL;
    ozarr_request *r = NULL, *two[2] = {0};
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    ozarr_request_options options = OZARR_REQUEST_OPTIONS_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    ozarr_status statuses[2];
    int64_t beyond[] = {ROWS, 0}, index = 5;
    int8_t small[CELLS];
    bool done = false;
    ERR(OZARR_ERR_BOUNDS, ozarr_array_iread_region(a, beyond, ALL, OZARR_INT32, in, SIZE, &r));
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_iread_region(a, ORIGIN, ALL, OZARR_INT32, in, SIZE - 1, &r));
    ERR(OZARR_ERR_ARGUMENT, ozarr_array_iwrite_region(a, ORIGIN, ALL, OZARR_INT32, out, SIZE, 2, &r));
    ERR(OZARR_ERR_ARGUMENT, ozarr_array_iread_region(a, ORIGIN, ALL, 99, in, SIZE, &r));
    memory.data = small, memory.size = sizeof small, memory.type = OZARR_INT8;
    options.seconds = -1;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "seconds", "-1", ozarr_array_iread_ex(a, NULL, &memory, &options, &r));
    options.seconds = NAN;
    ERR(OZARR_ERR_ARGUMENT, ozarr_array_iread_ex(a, NULL, &memory, &options, &r));
    options.seconds = 0, options.flags = 4;
    ERR(OZARR_ERR_ARGUMENT, ozarr_array_iread_ex(a, NULL, &memory, &options, &r));
    options.flags = OZARR_REQUEST_COPY;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "COPY", "", ozarr_array_iread_ex(a, NULL, &memory, &options, &r));
    options.flags = 0, options.struct_size = 3;
    ERR(OZARR_ERR_ARGUMENT, ozarr_array_iread_ex(a, NULL, &memory, &options, &r));
    CHECK(r == NULL);

    fill(out, 0, 1);
    OK(ozarr_array_write(a, OZARR_INT32, out, SIZE));
    OK(ozarr_array_iread_ex(a, NULL, &memory, NULL, &r));
    ERR_SAYS(OZARR_ERR_RANGE, "element [", "int8", ozarr_request_wait(r, -1));
    OK(ozarr_request_error(r, &info));
    EQUAL(info.status, OZARR_ERR_RANGE);
    CHECK(strstr(info.message, "int8 ends at 127") != NULL && strstr(info.key, "a/c/") != NULL);
    /* Its own, whatever fails elsewhere. */
    ERR(OZARR_ERR_BOUNDS, ozarr_array_read_region(a, beyond, ALL, OZARR_INT32, in, SIZE));
    ERR(OZARR_ERR_RANGE, ozarr_request_test(r, &done));
    CHECK(done && strstr(info.message, "int8 ends at 127") != NULL);
    two[1] = r;
    statuses[0] = statuses[1] = 1;
    ERR(OZARR_ERR_RANGE, ozarr_requests_wait_all(two, 2, -1, statuses));
    EQUAL(statuses[0], OZARR_OK);
    EQUAL(statuses[1], OZARR_ERR_RANGE);
    ERR(OZARR_ERR_RANGE, ozarr_requests_wait_any(two, 2, -1, &index));
    EQUAL(index, 1);
    two[1] = NULL;
    OK(ozarr_requests_wait_any(two, 2, -1, &index));
    EQUAL(index, -1);
    ERR(OZARR_ERR_ARGUMENT, ozarr_requests_wait_any(two, 2, NAN, &index));
    OK(ozarr_requests_wait_all(two, 2, -1, NULL));
    OK(ozarr_requests_wait_all(NULL, 0, -1, NULL));
    ERR(OZARR_ERR_ARGUMENT, ozarr_requests_wait_all(two, 2, NAN, NULL));
    ozarr_request_free(r);

    /* Freed twice, or something else. */
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_request_wait(r, -1));
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_request_test(r, &done));
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_request_cancel(r));
    ERR_SAYS(OZARR_ERR_INVALID_HANDLE, "ozarr_array", "ozarr_request", ozarr_request_wait((ozarr_request *)(void *)a, -1));
    two[1] = r;
    ERR_SAYS(OZARR_ERR_INVALID_HANDLE, "requests[1]", "", ozarr_requests_wait_all(two, 2, -1, NULL));
    ozarr_request_free(r);
    ozarr_request_free(NULL);

    /* Damage is told by the request. */
    OK(ozarr_array_chunk_write(a, ORIGIN, false, out, 16));
    r = read_all(a, in);
    CHECK(ozarr_request_wait(r, -1) <= -400);
    OK(ozarr_request_error(r, &info));
    CHECK(strcmp(info.key, "a/c/0/0") == 0);
    ozarr_request_free(r);
    ozarr_array_free(read_only);
    ozarr_array_free(a);
    OK(ozarr_store_close(s));
}

/* An array without elements, and one element. */
static void nothing(void) {
    ozarr_store *s = store_with("3", 0);
    ozarr_array *a = array_in(s, "a", "zstd");
    ozarr_request *r = NULL;
    int64_t none[] = {0, COLUMNS}, one[] = {1, 1};
    int32_t v = 17;
    OK(ozarr_array_iread_region(a, ORIGIN, none, OZARR_INT32, NULL, 0, &r));
    OK(ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    OK(ozarr_array_iwrite_region(a, ORIGIN, none, OZARR_INT32, NULL, 0, OZARR_REQUEST_COPY, &r));
    OK(ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    OK(ozarr_array_iwrite_region(a, ORIGIN, one, OZARR_INT32, &v, sizeof v, 0, &r));
    OK(ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    v = 0;
    OK(ozarr_array_iread_region(a, ORIGIN, one, OZARR_INT32, &v, sizeof v, &r));
    OK(ozarr_request_wait(r, -1));
    EQUAL(v, 17);
    ozarr_request_free(r);
    ozarr_array_free(a);
    OK(ozarr_store_close(s));
}

/* Many threads with requests of their own on one array, and all of them on one request. */
static ozarr_array *shared_array;
static ozarr_request *shared_request;

static void *storm(void *argument) {
    int64_t number = *(const int64_t *)argument;
    numbers n = {(uint64_t)number};
    int64_t start[] = {number * 8, 0}, shape[] = {8, COLUMNS};
    enum { BYTES = 8 * COLUMNS * 4 };
    for (int i = 0; i < 150; i++) {
        int32_t *mine = (int32_t *)malloc(BYTES);
        ozarr_request *r[2] = {0};
        int64_t index = -1;
        bool done = false;
        for (int k = 0; k < 8 * COLUMNS; k++) mine[k] = (int32_t)(number * 1000 + i);
        OK(ozarr_array_iwrite_region(shared_array, start, shape, OZARR_INT32, mine, BYTES, 0, &r[0]));
        switch (pick(&n, 0, 7)) {
        case 0: OK(ozarr_request_cancel(r[0])); break;
        case 1: OK(ozarr_request_test(r[0], &done)); break;
        case 2: OK(ozarr_requests_wait_any(r, 2, -1, &index)); break;
        case 3: OK(ozarr_array_iread_region(shared_array, start, shape, OZARR_INT32, mine, BYTES, &r[1])); break;
        default: OK(ozarr_request_wait(r[0], -1)); break;
        }
        /* The read into the memory that is written comes behind; either is ended here. */
        ozarr_request_free(r[1]);
        ozarr_request_free(r[0]);
        free(mine);
    }
    ozarr_status status = ozarr_request_wait(shared_request, -1);
    CHECK(status == OZARR_OK || status == OZARR_ERR_CANCELLED);
    OK(ozarr_request_cancel(shared_request));
    return NULL;
}

static void storms(const char *threads, int delay, const char *compressor) {
    enum { THREADS = 6 };
    ozarr_store *s = store_with(threads, delay);
    pthread_t t[THREADS];
    int64_t numbers[THREADS];
    shared_array = array_in(s, "a", compressor);
    fill(out, 0, 0);
    shared_request = write_all(shared_array, out, 0);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&t[i], NULL, storm, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    ozarr_request_free(shared_request);
    /* Each chunk holds one value of one of its writers. */
    OK(ozarr_array_read(shared_array, OZARR_INT32, in, SIZE));
    for (int row = 0; row < THREADS * 8; row++)
        for (int k = 1; k < COLUMNS; k++)
            if (in[row * COLUMNS + k] != in[row * COLUMNS]) {
                FAIL("row %d is torn", row);
                break;
            }
    ozarr_array_free(shared_array);
    OK(ozarr_store_close(s));
}

/* The number of threads of this process. */
static int threads_now(void) {
    char *text = file_content("/proc/self/status", NULL);
    const char *line = text ? strstr(text, "Threads:") : NULL;
    int n = line ? atoi(line + 8) : -1;
    free(text);
    return n;
}

/* How many there are without the library's: ThreadSanitizer has one of its own. An emulator has, too, and one of its threads may still be ending
 * when the thread that it emulates has been joined: they are not counted there. */
#ifdef __SANITIZE_THREAD__
enum { OWN_THREADS = 2 };
#else
enum { OWN_THREADS = 1 };
#endif
#ifdef OZARR_TEST_EMULATOR
enum { COUNTED = 0 };
#else
enum { COUNTED = 1 };
#endif

static void shutdowns(void) {
    ozarr_store *s = store_with("4", 0);
    ozarr_array *a = array_in(s, "a", "zstd");
    fill(out, 2, 2);
    for (int i = 0; i < 20; i++) {
        fill(out, i, 2);
        ozarr_request_free(write_all(a, out, OZARR_REQUEST_COPY));
        if (i % 5 == 4) {
            OK(ozarr_shutdown());
            if (COUNTED) EQUAL(threads_now(), OWN_THREADS);
            OK(ozarr_shutdown());
        }
    }
    expect(a, 19, 2);
    ozarr_request *r = write_all(a, out, 0);
    OK(ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    ozarr_array_free(a);
    OK(ozarr_store_close(s));
    OK(ozarr_shutdown());
    if (COUNTED) EQUAL(threads_now(), OWN_THREADS);
}

#ifndef OZARR_TEST_NO_FORK
static void forks(void) {
    for (int threads = 1; threads <= 3; threads += 2) {
        ozarr_store *s = store_with(threads == 1 ? "1" : "3", 0);
        ozarr_array *a = array_in(s, "a", "zstd");
        for (int round = 0; round < 20; round++) {
            int status = 0;
            bool done = false;
            int64_t index = -1;
            ozarr_request_state state;
            ozarr_error_info info = OZARR_ERROR_INFO_INIT;
            fill(out, round, 1);
            ozarr_request *r = write_all(a, out, round % 2 ? OZARR_REQUEST_COPY : 0);
            pid_t pid = fork();
            if (pid == 0) {
                alarm(60);
                ERR(OZARR_ERR_FORKED, ozarr_request_test(r, &done));
                ERR(OZARR_ERR_FORKED, ozarr_request_wait(r, -1));
                ERR(OZARR_ERR_FORKED, ozarr_request_wait(r, 1));
                ERR(OZARR_ERR_FORKED, ozarr_request_cancel(r));
                ERR(OZARR_ERR_FORKED, ozarr_request_get_state(r, &state));
                ERR(OZARR_ERR_FORKED, ozarr_request_error(r, &info));
                ERR(OZARR_ERR_FORKED, ozarr_requests_wait_all(&r, 1, -1, NULL));
                ERR(OZARR_ERR_FORKED, ozarr_requests_wait_any(&r, 1, -1, &index));
                ozarr_request_free(r);
                /* Nothing of the parent's stands in the way of the child's own. */
                fill(out, -round, 1);
                r = write_all(a, out, 0);
                OK(ozarr_request_wait(r, -1));
                ozarr_request_free(r);
                expect(a, -round, 1);
                OK(ozarr_node_flush(ozarr_array_node(a)));
                OK(ozarr_shutdown());
                _exit(failures != 0);
            }
            CHECK(waitpid(pid, &status, 0) == pid && status == 0);
            OK(ozarr_request_wait(r, -1));
            ozarr_request_free(r);
            expect(a, round, 1);
        }
        ozarr_array_free(a);
        OK(ozarr_store_close(s));
    }
}
#endif

/* ---- batches ---- */

static int64_t starts[40][2], shapes[40][2];
static ozarr_region regions[40];
static ozarr_memory memories[40];
static ozarr_batch_entry entries[40];

static void entry(int i, const ozarr_array *a, int64_t row, int64_t column, int64_t rows, int64_t columns, int32_t *data) {
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    ozarr_batch_entry e = OZARR_BATCH_ENTRY_INIT;
    starts[i][0] = row, starts[i][1] = column, shapes[i][0] = rows, shapes[i][1] = columns;
    region.start = starts[i], region.shape = shapes[i];
    memory.data = data, memory.size = (size_t)(rows * columns) * sizeof *data, memory.type = OZARR_INT32;
    regions[i] = region, memories[i] = memory;
    e.array = a, e.region = &regions[i], e.memory = &memories[i];
    entries[i] = e;
}

static void batches(const char *threads, int delay, bool sharded) {
    enum { MANY = 40, BOX = 6 * 20 };
    static int32_t data[MANY][BOX], model[2][CELLS];
    ozarr_store *s = store_with(threads, delay);
    ozarr_array *a[2];
    ozarr_request *r = NULL;
    ozarr_request_options options = OZARR_REQUEST_OPTIONS_INIT;
    int64_t shard[] = {16, COLUMNS}, inner[] = {4, 64};
    for (int k = 0; k < 2; k++) {
        ozarr_spec *spec = NULL;
        OK(ozarr_spec_new(OZARR_INT32, 2, ALL, &spec));
        OK(ozarr_spec_set_chunks(spec, sharded ? shard : CHUNKS));
        if (sharded) OK(ozarr_spec_set_inner_chunks(spec, inner));
        OK(ozarr_array_create_at(s, k ? "b" : "a", spec, OZARR_CREATE_NEW, &a[k]));
        ozarr_spec_free(spec);
        for (int i = 0; i < CELLS; i++) model[k][i] = i * (k + 1);
        OK(ozarr_array_write(a[k], OZARR_INT32, model[k], SIZE));
    }
    numbers n = {12345};
    for (int round = 0; round < 6; round++) {
        /* Written: where they overlap, the last one wins. */
        for (int i = 0; i < MANY; i++) {
            int64_t row = pick(&n, 0, 31), column = pick(&n, 0, 63);
            for (int k = 0; k < BOX; k++) data[i][k] = round * 100000 + i * 1000 + k;
            entry(i, a[i % 2], row, column, 6, 20, data[i]);
            for (int k = 0; k < BOX; k++) model[i % 2][(row + k / 20) * COLUMNS + column + k % 20] = data[i][k];
        }
        options.flags = round == 2 ? OZARR_REQUEST_COPY : 0;
        if (round % 2) OK(ozarr_write_many(entries, MANY));
        else {
            OK(ozarr_iwrite_many(entries, MANY, round ? &options : NULL, &r));
            if (round == 2) memset(data, 0, sizeof data);
            OK(ozarr_request_wait(r, -1));
            ozarr_request_free(r);
        }
        for (int k = 0; k < 2; k++) {
            OK(ozarr_array_read(a[k], OZARR_INT32, in, SIZE));
            CHECK(memcmp(in, model[k], SIZE) == 0);
        }
        /* And read, the same boxes. */
        memset(data, 0x55, sizeof data);
        if (round % 2) OK(ozarr_read_many(entries, MANY));
        else {
            OK(ozarr_iread_many(entries, MANY, NULL, &r));
            OK(ozarr_request_wait(r, -1));
            ozarr_request_free(r);
        }
        for (int i = 0; i < MANY; i++)
            for (int k = 0; k < BOX; k++)
                if (data[i][k] != model[i % 2][(starts[i][0] + k / 20) * COLUMNS + starts[i][1] + k % 20]) {
                    FAIL("round %d, entry %d, element %d is %d", round, i, k, data[i][k]);
                    k = BOX;
                }
    }
    /* The entry that fails is named. */
    int8_t small[BOX];
    memories[17].type = OZARR_INT8, memories[17].data = small, memories[17].size = sizeof small;
    ERR_SAYS(OZARR_ERR_RANGE, "entry 17: element [", "int8", ozarr_read_many(entries, MANY));
    OK(ozarr_iread_many(entries, MANY, NULL, &r));
    ERR_SAYS(OZARR_ERR_RANGE, "entry 17: element [", "int8", ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    memories[17].type = OZARR_INT32;
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "entry 17", "", ozarr_read_many(entries, MANY));
    starts[3][0] = 1000;
    ERR_SAYS(OZARR_ERR_BOUNDS, "entry 3", "", ozarr_write_many(entries, MANY));
    entries[1].array = NULL;
    ERR_SAYS(OZARR_ERR_NULL, "entry 1: ", "`array`", ozarr_write_many(entries, MANY));
    OK(ozarr_read_many(NULL, 0));
    OK(ozarr_write_many(NULL, 0));
    ozarr_array_free(a[0]);
    ozarr_array_free(a[1]);
    OK(ozarr_store_close(s));
}

/* Each chunk that a batch needs is asked for once, and stored once, however many entries need it. */
static void each_chunk_once(void) {
    enum { MANY = 9 };
    static int32_t data[MANY][2 * 10];
    own_store own;
    ozarr_store_table t = own_table(&own);
    ozarr_store *s = NULL;
    t.flags = 0, own.token = 0, t.put_if = NULL;
    OK(ozarr_store_from_table(NULL, &t, "r+", &s));
    ozarr_array *a = array_in(s, "a", "zstd");
    fill(out, 3, 1);
    OK(ozarr_array_write(a, OZARR_INT32, out, SIZE));
    /* Rows 3 to 9 and so the first three chunks, of four rows each. */
    for (int i = 0; i < MANY; i++) entry(i, a, 3 + i % 6, 7 * i, 2, 10, data[i]);
    int before = own.calls;
    OK(ozarr_read_many(entries, MANY));
    EQUAL(own.calls - before, 3);
    for (int i = 0; i < MANY; i++) EQUAL(data[i][19], 3 + (4 + i % 6) * COLUMNS + 7 * i + 9);
    before = own.calls;
    OK(ozarr_write_many(entries, MANY));
    EQUAL(own.calls - before, 2 * 3);
    expect(a, 3, 1);
    ozarr_array_free(a);
    OK(ozarr_store_close(s));
}

/* A node in a folder is moved with what was begun to be written to it. */
static void renames(const char *threads) {
    ozarr_context *c = NULL;
    ozarr_store *s = NULL;
    ozarr_group *root = NULL;
    OK(ozarr_context_new(&c));
    OK(ozarr_context_set(c, "threads", threads));
    OK(ozarr_store_open_ex(c, "renames.zarr", "r+", NULL, &s));
    OK(ozarr_group_create_at(s, "", 3, OZARR_CREATE_OVERWRITE, &root));
    ozarr_array *a = array_in(s, "a", "zstd");
    fill(out, 5, 1);
    ozarr_request *r = write_all(a, out, OZARR_REQUEST_COPY);
    ozarr_array_free(a);
    OK(ozarr_group_rename(root, "a", "b"));
    OK(ozarr_request_wait(r, -1));
    OK(ozarr_group_open_array(root, "b", &a));
    expect(a, 5, 1);
    ozarr_request_free(r);
    ozarr_array_free(a);
    ozarr_group_free(root);
    ozarr_context_free(c);
    OK(ozarr_store_close(s));
}

int main(void) {
    static const char *const threads[] = {"1", "2", "4"};
    alarm(600);
    for (int t = 0; t < 3; t++) {
        there_and_back(threads[t], 0, "zstd");
        there_and_back(threads[t], 200, "none");
        order(threads[t], 0);
        order(threads[t], 100);
        endings(threads[t], 0, "none");
        endings(threads[t], 500, "zstd");
        callbacks(threads[t]);
        bounds(threads[t]);
        errors(threads[t]);
        renames(threads[t]);
        storms(threads[t], 0, t % 2 ? "zstd" : "none");
        storms(threads[t], 50, "zstd");
        batches(threads[t], 0, t % 2);
        batches(threads[t], 100, !(t % 2));
    }
    each_chunk_once();
    no_wait_for_the_store();
    deadlines();
    nothing();
    shutdowns();
#ifndef OZARR_TEST_NO_FORK
    forks();
#endif
    return finish();
}
