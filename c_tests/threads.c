/* Eight threads read and write one array through one handle; each has its own last error. */
#include "table.h"
#include <pthread.h>
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
    return finish();
}
