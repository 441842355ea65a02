/* Threads that are cancelled while they read and write: the call goes on to its end, and the program and its handles with it. */
#include "table.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { LEN = 20000, ROUNDS = 20 };

static atomic_int calls;
static double written[LEN], back[LEN];

/* Opens, reads, writes and closes files again and again. */
static void *work(void *unused) {
    int64_t shape[] = {LEN}, chunks[] = {LEN / 4};
    for (;;) {
        ozarr_array *array = NULL;
        OK(ozarr_array_create("cancel.zarr/own", OZARR_FLOAT64, 1, shape, chunks, OZARR_CREATE_OVERWRITE, &array));
        OK(ozarr_array_write(array, OZARR_FLOAT64, written, sizeof written));
        OK(ozarr_array_read(array, OZARR_FLOAT64, back, sizeof back));
        OK(ozarr_array_close(array));
        atomic_fetch_add(&calls, 1);
        pthread_testcancel();
    }
    return unused;
}

/* Is not cancelled, though it asks for it: the library would be left in the middle of its call. */
static ozarr_status each(void *user, const char *key) {
    (void)key;
    pthread_cancel(pthread_self());
    pthread_testcancel();
    atomic_fetch_add(&calls, *(int *)user);
    return OZARR_OK;
}

static void *list(void *unused) {
    int one = 1;
    ozarr_store *store = NULL;
    OK(ozarr_store_open("cancel.zarr", "r", &store));
    OK(ozarr_store_key_list(store, "", each, &one));
    ozarr_store_free(store);
    pthread_testcancel();
    FAIL("a thread goes on that was cancelled");
    return unused;
}

static void end(pthread_t thread) {
    void *result = NULL;
    pthread_join(thread, &result);
    CHECK(result == PTHREAD_CANCELED);
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < LEN; i++) written[i] = i;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_create(&thread, NULL, work, NULL);
        nanosleep(&(struct timespec){.tv_nsec = 500000 * (round % 8 + 1)}, NULL);
        pthread_cancel(thread);
        end(thread);
    }
    /* Nothing of it stays locked. */
    ozarr_array *array = NULL;
    int64_t shape[] = {LEN};
    OK(ozarr_array_create("cancel.zarr/own", OZARR_FLOAT64, 1, shape, NULL, OZARR_CREATE_OVERWRITE, &array));
    OK(ozarr_array_write(array, OZARR_FLOAT64, written, sizeof written));
    OK(ozarr_array_close(array));
    atomic_store(&calls, 0);
    pthread_create(&thread, NULL, list, NULL);
    end(thread);
    CHECK(atomic_load(&calls) > 0);
    return finish();
}
