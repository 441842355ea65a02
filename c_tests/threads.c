/* Eight threads read and write one array through one handle; each has its own last error. */
#include "table.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { THREADS = 8, ROWS = 64, COLUMNS = 96, ROUNDS = 40 };

static ozarr_array *shared;
static pthread_barrier_t together;

/* Thread t owns the rows r with r % THREADS == t; every chunk holds rows of all threads. */
static void *work(void *argument) {
    int64_t t = (int64_t)(intptr_t)argument;
    int32_t row[COLUMNS], back[COLUMNS];
    char mine[64];
    pthread_barrier_wait(&together);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t r = t + THREADS * (round % (ROWS / THREADS)), start[] = {r, 0}, shape[] = {1, COLUMNS};
        for (int i = 0; i < COLUMNS; i++) row[i] = (int32_t)(1000 * r + i + round);
        OK(ozarr_array_write_region(shared, start, shape, OZARR_INT32, row, sizeof row));
        OK(ozarr_array_read_region(shared, start, shape, OZARR_INT32, back, sizeof back));
        if (memcmp(row, back, sizeof row) != 0) FAIL("thread %d lost row %d", (int)t, (int)r);

        int64_t outside[] = {1000 + t, 0};
        snprintf(mine, sizeof mine, "%d", (int)(1000 + t));
        ERR_SAYS(OZARR_ERR_BOUNDS, mine, "", ozarr_array_read_region(shared, outside, shape, OZARR_INT32, back, sizeof back));
        ozarr_array *own = NULL;
        OK(ozarr_array_open("threads.zarr", "r", &own));
        if (strstr(ozarr_last_error(), mine) == NULL) FAIL("thread %d sees another's error: %s", (int)t, ozarr_last_error());
        OK(ozarr_array_read_region(own, start, shape, OZARR_INT32, back, sizeof back));
        ozarr_array_free(own);
    }
    return NULL;
}

static void *fresh(void *argument) {
    (void)argument;
    TEXT(ozarr_last_error(), "");
    return NULL;
}

/* Frees the handle under the feet of the readers: their calls succeed or report the handle, nothing else. */
static void *read_until_gone(void *argument) {
    static int32_t all[THREADS][ROWS * COLUMNS];
    int64_t t = (int64_t)(intptr_t)argument;
    ozarr_status s;
    pthread_barrier_wait(&together);
    do s = ozarr_array_read(shared, OZARR_INT32, all[t], sizeof all[t]);
    while (s == OZARR_OK);
    EQUAL(s, OZARR_ERR_INVALID_HANDLE);
    return NULL;
}

/* The array's metadata are read again for as long as `reading` is. */
static atomic_int reading;

static void *refresh(void *unused) {
    ozarr_node *node = ozarr_array_node(shared);
    while (atomic_load(&reading)) OK(ozarr_node_refresh(node, NULL, 0));
    return unused;
}

/* Texts that are not stored are those of the fill value, whatever another thread does with the handle meanwhile. */
static void texts_beside_a_refresh(void) {
    enum { TEXTS = 20000 };
    int64_t shape[] = {TEXTS}, wrong = 0;
    ozarr_spec *spec = NULL;
    ozarr_varlen *texts = NULL;
    pthread_t other;
    OK(ozarr_spec_new(OZARR_STRING, 1, shape, &spec));
    OK(ozarr_spec_set_member_json(spec, "fill_value", "\"a text that is not stored\""));
    OK(ozarr_array_create_ex("texts.zarr", spec, OZARR_CREATE_OVERWRITE, &shared));
    ozarr_spec_free(spec);
    atomic_store(&reading, 1);
    pthread_create(&other, NULL, refresh, NULL);
    for (int round = 0; round < 50; round++) {
        OK(ozarr_array_read_varlen(shared, NULL, &texts));
        for (int64_t i = 0; i < TEXTS; i++) {
            const char *text = NULL;
            size_t len = 0;
            OK(ozarr_varlen_get(texts, i, &text, &len));
            wrong += len != 25 || memcmp(text, "a text that is not stored", 25) != 0;
        }
        ozarr_varlen_free(texts);
        texts = NULL;
    }
    atomic_store(&reading, 0);
    pthread_join(other, NULL);
    EQUAL(wrong, 0);
    OK(ozarr_array_close(shared));
}

/* A key's destructor closes what its thread has written, as C programs have it, in every round that the system makes for keys. */
static pthread_key_t key;
static ozarr_group *groups[2];
static int rounds;

static void close_one(void *group) {
    OK(ozarr_group_close(group));
    if (rounds++ == 0) pthread_setspecific(key, groups[1]);
}

static void *close_at_end(void *unused) {
    const char *names[] = {"first.zarr", "second.zarr"};
    for (int i = 0; i < 2; i++) {
        OK(ozarr_group_create(names[i], OZARR_CREATE_OVERWRITE, &groups[i]));
        OK(ozarr_attr_set_json(ozarr_group_node(groups[i]), "a", "1"));
    }
    pthread_setspecific(key, groups[0]);
    return unused;
}

int main(void) {
    static int32_t all[ROWS][COLUMNS];
    int64_t shape[] = {ROWS, COLUMNS}, chunks[] = {16, 32};
    pthread_t threads[THREADS];
    OK(ozarr_array_create("threads.zarr", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_NEW, &shared));
    pthread_barrier_init(&together, NULL, THREADS);
    for (intptr_t t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    OK(ozarr_array_read(shared, OZARR_INT32, all, sizeof all));
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < COLUMNS; i++) {
            int last = r / THREADS + (ROUNDS / (ROWS / THREADS) - 1) * (ROWS / THREADS);
            if (all[r][i] != 1000 * r + i + last) FAIL("[%d,%d] is %d", r, i, (int)all[r][i]);
        }
    CHECK(ozarr_array_read(NULL, OZARR_INT32, all, sizeof all) == OZARR_ERR_NULL);
    pthread_create(&threads[0], NULL, fresh, NULL);
    pthread_join(threads[0], NULL);

    for (intptr_t t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, read_until_gone, (void *)t);
    struct timespec moment = {0, 20000000};
    nanosleep(&moment, NULL);
    ozarr_array_free(shared);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    texts_beside_a_refresh();
    pthread_key_create(&key, close_one);
    pthread_create(&threads[0], NULL, close_at_end, NULL);
    pthread_join(threads[0], NULL);
    EQUAL(rounds, 2);
    return finish();
}
