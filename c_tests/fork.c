/* Forks while other threads of the parent read, write and change metadata, with their pool at work: the child goes on with the
 * handles that it was born with, finds whole values, and never hangs. */
#include "table.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 64, COLUMNS = 4096, HALF = ROWS / 2, ROUNDS = 200, SECONDS = 60 };

static ozarr_array *local, *memory;
static ozarr_group *group;
static ozarr_store *store;
static ozarr_spec *spec;
static atomic_bool stop;

static int64_t FIRST[] = {0, 0}, LAST[] = {ROWS - 1, 0}, HALF_SHAPE[] = {HALF, COLUMNS}, ROW[] = {1, COLUMNS};

/* Every row is one chunk, and always holds one value. */
static void *write_rows(void *argument) {
    ozarr_array *array = (ozarr_array *)argument;
    int32_t *data = (int32_t *)malloc(sizeof(int32_t) * HALF * COLUMNS);
    for (int32_t v = 1; !stop; v++) {
        for (int i = 0; i < HALF * COLUMNS; i++) data[i] = v;
        OK(ozarr_array_write_region(array, FIRST, HALF_SHAPE, OZARR_INT32, data, sizeof(int32_t) * HALF * COLUMNS));
    }
    free(data);
    return NULL;
}

static void *read_rows(void *argument) {
    ozarr_array *array = (ozarr_array *)argument;
    int32_t *data = (int32_t *)malloc(sizeof(int32_t) * HALF * COLUMNS);
    while (!stop) OK(ozarr_array_read_region(array, FIRST, HALF_SHAPE, OZARR_INT32, data, sizeof(int32_t) * HALF * COLUMNS));
    free(data);
    return NULL;
}

/* Documents, handles, specifications, names of stores. */
static void *change_metadata(void *argument) {
    (void)argument;
    int64_t chunks[] = {1, COLUMNS};
    for (int64_t n = 0; !stop; n++) {
        ozarr_array *other = NULL;
        OK(ozarr_attr_set_int64(ozarr_group_node(group), "n", n));
        OK(ozarr_attr_set_int64(ozarr_array_node(memory), "n", n));
        OK(ozarr_spec_set_chunks(spec, chunks));
        OK(ozarr_array_open("memory:fork.zarr/m", "r", &other));
        ozarr_array_free(other);
        OK(ozarr_group_open_array(group, "m", &other));
        ozarr_array_free(other);
        OK(ozarr_array_open("fork.zarr/l", "r", &other));
        ozarr_array_free(other);
        OK(ozarr_node_flush(ozarr_array_node(local)));
    }
    return NULL;
}

static void whole_rows(ozarr_array *array, int32_t *data) {
    OK(ozarr_array_read(array, OZARR_INT32, data, sizeof(int32_t) * ROWS * COLUMNS));
    for (int r = 0; r < HALF; r++)
        for (int i = 1; i < COLUMNS; i++)
            if (data[r * COLUMNS + i] != data[r * COLUMNS]) {
                FAIL("row %d is torn", r);
                return;
            }
}

static void write_last(ozarr_array *array, int32_t *data, int32_t v) {
    for (int i = 0; i < COLUMNS; i++) data[i] = v;
    OK(ozarr_array_write_region(array, LAST, ROW, OZARR_INT32, data, sizeof(int32_t) * COLUMNS));
}

static void check_last(ozarr_array *array, int32_t *data, int32_t v) {
    OK(ozarr_array_read_region(array, LAST, ROW, OZARR_INT32, data, sizeof(int32_t) * COLUMNS));
    EQUAL(data[0], v);
    EQUAL(data[COLUMNS - 1], v);
}

static void child(int32_t *data, int32_t round) {
    ozarr_array *other = NULL;
    ozarr_node_iter *children = NULL;
    bool more = false;
    int64_t n = -1;
    alarm(SECONDS);
    whole_rows(local, data);
    whole_rows(memory, data);
    check_last(memory, data, -1);
    write_last(local, data, round);
    write_last(memory, data, round);
    check_last(memory, data, round);
    OK(ozarr_attr_set_int64(ozarr_array_node(memory), "n", 1000000 + round));
    OK(ozarr_attr_get_int64(ozarr_array_node(memory), "n", &n));
    EQUAL(n, 1000000 + round);
    OK(ozarr_attr_set_int64(ozarr_array_node(local), "n", round));
    OK(ozarr_group_list_nodes(group, NULL, 1, &children));
    OK(ozarr_node_iter_next(children, &more));
    CHECK(more);
    OK(ozarr_spec_set_compressor(spec, "none", -1));
    OK(ozarr_array_create_at(store, "from the child", spec, OZARR_CREATE_NEW, &other));
    OK(ozarr_array_close(other));
    OK(ozarr_array_open("memory:fork.zarr/m", "r", &other));
    check_last(other, data, round);
    OK(ozarr_array_close(other));
    OK(ozarr_array_close(local));
    OK(ozarr_array_close(memory));
    OK(ozarr_store_close(store));
    _exit(failures != 0);
}

/* A shard that is being written is the parent's: the child cannot go on with it, and does not take it away. */
static void shard_writer(void) {
    int64_t shape[] = {8}, inner[] = {4}, first[] = {0};
    int32_t v[] = {1, 2, 3, 4, 5, 6, 7, 8}, in[8];
    int status = 0;
    ozarr_spec *s = NULL;
    ozarr_array *a = NULL;
    ozarr_shard_writer *w = NULL;
    ozarr_chunk_iter *chunks = NULL;
    bool more = false;
    OK(ozarr_spec_new(OZARR_INT32, 1, shape, &s));
    OK(ozarr_spec_set_chunks(s, shape));
    OK(ozarr_spec_set_inner_chunks(s, inner));
    OK(ozarr_array_create_ex("fork.zarr/s", s, OZARR_CREATE_NEW, &a));
    OK(ozarr_shard_writer_new(a, first, &w));
    OK(ozarr_array_list_chunks(a, true, &chunks));
    pid_t pid = fork();
    if (pid == 0) {
        ERR(OZARR_ERR_FORKED, ozarr_shard_writer_put(w, first, false, OZARR_INT32, v, sizeof v / 2));
        ERR(OZARR_ERR_FORKED, ozarr_chunk_iter_next(chunks, &more));
        ozarr_shard_writer_free(w);
        ozarr_chunk_iter_free(chunks);
        _exit(failures != 0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    OK(ozarr_shard_writer_put(w, first, false, OZARR_INT32, v, sizeof v / 2));
    first[0] = 1;
    OK(ozarr_shard_writer_put(w, first, false, OZARR_INT32, v + 4, sizeof v / 2));
    OK(ozarr_shard_writer_finish(w));
    ozarr_shard_writer_free(w);
    ozarr_chunk_iter_free(chunks);
    OK(ozarr_array_read(a, OZARR_INT32, in, sizeof in));
    CHECK(memcmp(in, v, sizeof v) == 0);
    ozarr_array_free(a);
    ozarr_spec_free(s);
}

int main(void) {
    static int32_t data[ROWS * COLUMNS];
    int64_t shape[] = {ROWS, COLUMNS}, chunks[] = {1, COLUMNS}, n = -1;
    pthread_t threads[5];
    shard_writer();
    OK(ozarr_spec_new(OZARR_INT32, 2, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    OK(ozarr_spec_set_compressor(spec, "zstd", 1));
    OK(ozarr_array_create_ex("fork.zarr/l", spec, OZARR_CREATE_NEW, &local));
    OK(ozarr_store_open("memory:fork.zarr", "r+", &store));
    OK(ozarr_array_create_at(store, "m", spec, OZARR_CREATE_NEW, &memory));
    OK(ozarr_group_open_at(store, "", &group));
    write_last(memory, data, -1);

    pthread_create(&threads[0], NULL, write_rows, local);
    pthread_create(&threads[1], NULL, write_rows, memory);
    pthread_create(&threads[2], NULL, read_rows, local);
    pthread_create(&threads[3], NULL, read_rows, memory);
    pthread_create(&threads[4], NULL, change_metadata, NULL);
    for (int32_t round = 0; round < ROUNDS && failures == 0; round++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) child(data, round);
        CHECK(waitpid(pid, &status, 0) == pid);
        if (WIFSIGNALED(status)) FAIL("round %d: the child was ended by signal %d", (int)round, WTERMSIG(status));
        else EQUAL(WEXITSTATUS(status), 0);
        /* What the child stored in files is there for all; its memory was its own. */
        check_last(local, data, round);
        check_last(memory, data, -1);
    }
    stop = true;
    for (int t = 0; t < 5; t++) pthread_join(threads[t], NULL);
    OK(ozarr_attr_get_int64(ozarr_array_node(memory), "n", &n));
    CHECK(n < 1000000);
    whole_rows(local, data);
    ozarr_group_free(group);
    ozarr_spec_free(spec);
    ozarr_store_free(store);
    OK(ozarr_array_close(local));
    OK(ozarr_array_close(memory));
    return finish();
}
