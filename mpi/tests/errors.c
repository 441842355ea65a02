/* What goes wrong on one rank is an error with one message on all, and nobody waits for ever.
 *
 *   errors FOLDER */
#include "check.h"

#include <inttypes.h>
#include <ozarr_extend.h>
#include <sys/stat.h>
#include <unistd.h>

static ozarr_mpi *m;
static const int64_t shape[] = {16, 16}, chunks[] = {8, 8};

/* The rows of this rank, of 16. */
static void rows(int64_t start[2], int64_t count[2]) {
    start[0] = 16 * rank / ranks, start[1] = 0;
    count[0] = 16 * (rank + 1) / ranks - start[0], count[1] = 16;
}

static ozarr_array *array_of(const char *location) {
    ozarr_array *a = NULL;
    OK(ozarr_mpi_array_create(m, location, OZARR_INT32, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &a));
    return a;
}

/* Every rank has the elements, and only rank 0 read the document. */
static void check_values(ozarr_array *a, int32_t expected) {
    int32_t all[256];
    const int64_t zero[2] = {0, 0};
    memset(all, 0, sizeof all);
    OK(ozarr_mpi_array_read_all(m, a, zero, shape, OZARR_INT32, all, sizeof all));
    for (int i = 0; i < 256; i++)
        if (all[i] != expected) {
            FAIL("element %d is %d, expected %d", i, all[i], expected);
            return;
        }
}

static ozarr_status write_rows(ozarr_array *a, int32_t value) {
    int64_t start[2], count[2];
    int32_t u[256];
    for (int i = 0; i < 256; i++) u[i] = value;
    rows(start, count);
    return ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, sizeof u);
}

static void settings(void) {
    CHECK(ozarr_mpi_set(m, "agregators", "1") == OZARR_ERR_ARGUMENT && strstr(ozarr_last_error(), "agregators") != NULL);
    CHECK(ozarr_mpi_set(m, "aggregators", "0") == OZARR_ERR_ARGUMENT && strstr(ozarr_last_error(), "expected 1 to") != NULL);
    CHECK(ozarr_mpi_set(m, "overlap", "first") == OZARR_ERR_ARGUMENT);
    CHECK(ozarr_mpi_set(m, "message_bytes", "8x") == OZARR_ERR_ARGUMENT);
    CHECK(ozarr_mpi_set(m, "range_bytes", "0") == OZARR_ERR_ARGUMENT);
    CHECK(ozarr_mpi_set(m, NULL, "1") == OZARR_ERR_NULL);
    int r = -1, n = -1;
    OK(ozarr_mpi_rank(m, &r, &n));
    CHECK(r == rank && n == ranks);
}

/* The ranks call different things. */
static void differences(void) {
    ozarr_array *a = NULL;
    if (ranks == 1) return;
    const int64_t mine[] = {rank == 1 ? 17 : 16, 16};
    ERR(OZARR_ERR_ARGUMENT, "rank 1: the call is", ozarr_mpi_array_create(m, "differ.zarr", OZARR_INT32, 2, mine, chunks, OZARR_CREATE_NEW, &a));
    CHECK(a == NULL);
    ERR(OZARR_ERR_ARGUMENT, "other.zarr",
        rank == 1 ? ozarr_mpi_array_open(m, "other.zarr", "r", &a) : ozarr_mpi_array_create(m, "d.zarr", OZARR_INT8, 0, NULL, NULL, 0, &a));
    a = array_of("type.zarr");
    /* What is told of a long text is its beginning; all of it is compared. */
    char text[1502] = "\"";
    memset(text + 1, 'x', sizeof text - 3);
    text[1500] = '"';
    OK(ozarr_mpi_array_set_attr(m, a, "long", text));
    text[1499] = rank == 1 ? 'a' : 'b';
    ERR(OZARR_ERR_ARGUMENT, "rank 1: the call is", ozarr_mpi_array_set_attr(m, a, "long", text));
    ERR(OZARR_ERR_ARGUMENT, "rank 1: the call is", ozarr_mpi_array_set_attr(m, a, text, "1"));
    ozarr_array *none = NULL;
    ozarr_group *group = NULL;
    ERR(OZARR_ERR_ARGUMENT, "rank 1: the call is", ozarr_mpi_array_open(m, text, "r", &none));
    ERR(OZARR_ERR_ARGUMENT, "rank 1: the call is", ozarr_mpi_group_create(m, text, OZARR_CREATE_NEW, &group));
    ERR(OZARR_ERR_ARGUMENT, "rank 1: the call is", ozarr_mpi_checkpoint_begin(m, "states.zarr", text, &group));
    ERR(OZARR_ERR_ARGUMENT, "rank 1: the call is", ozarr_mpi_checkpoint_latest(m, text, &group));
    int64_t start[2], count[2];
    double u[256] = {0};
    rows(start, count);
    ERR(OZARR_ERR_ARGUMENT, "of another rank of type float32,",
        ozarr_mpi_array_write_all(m, a, start, count, rank == 1 ? OZARR_FLOAT32 : OZARR_FLOAT64, u, sizeof u));
    ERR(OZARR_ERR_ARGUMENT, "a collective", rank == 1 ? ozarr_mpi_array_read_all(m, a, start, count, OZARR_FLOAT64, u, sizeof u)
                                                      : ozarr_mpi_array_write_all(m, a, start, count, OZARR_FLOAT64, u, sizeof u));
    static const char *const settings[][3] = {{"aggregators", "1", "auto"}, {"round_bytes", "64", "33554432"}, {"message_bytes", "8", "1073741824"},
                                              {"overlap", "last", "refuse"}, {"check_writes", "1", "0"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (rank == 1) OK(ozarr_mpi_set(m, settings[i][0], settings[i][1]));
        ERR(OZARR_ERR_ARGUMENT, "rank 1: the settings are", write_rows(a, 3));
        if (rank == 1) OK(ozarr_mpi_set(m, settings[i][0], settings[i][2]));
    }
    OK(write_rows(a, 3));
    check_values(a, 3);
    OK(ozarr_mpi_array_close(m, a));
}

/* Two arrays that look alike, taken for each other by one rank: nothing is stored, and both handles stay what they are. */
static void other_arrays(void) {
    if (ranks == 1) return;
    ozarr_array *a = array_of("alike.zarr"), *b = array_of("alike-too.zarr"), *mine = rank == 1 ? b : a;
    int64_t start[2], count[2], bigger[2] = {32, 16}, now[2];
    int32_t u[256];
    for (int i = 0; i < 256; i++) u[i] = 7;
    rows(start, count);
    ERR(OZARR_ERR_ARGUMENT, "alike-too.zarr", ozarr_mpi_array_write_all(m, mine, start, count, OZARR_INT32, u, sizeof u));
    check_values(a, 0);
    check_values(b, 0);
    OK(ozarr_mpi_array_resize(m, b, bigger, 0));
    ERR(OZARR_ERR_ARGUMENT, "alike-too.zarr", ozarr_mpi_array_set_attr(m, mine, "x", "1"));
    ERR(OZARR_ERR_ARGUMENT, "alike-too.zarr", ozarr_mpi_array_refresh(m, mine));
    ERR(OZARR_ERR_ARGUMENT, "alike-too.zarr", ozarr_mpi_array_resize(m, mine, shape, 0));
    OK(ozarr_array_shape(b, now));
    CHECK(now[0] == 32);
    OK(ozarr_mpi_array_resize(m, b, shape, 0));
    ERR(OZARR_ERR_ARGUMENT, "alike-too.zarr", ozarr_mpi_array_close(m, mine));
    check_values(a, 0);
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_array_close(m, b));
}

/* What others opened is none of these ranks' to close: it stays open, for those that can. */
static void handles_of_others(void) {
    ozarr_mpi *own = NULL;
    ozarr_array *a = NULL, *alone = NULL;
    ozarr_group *g = NULL;
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &own));
    OK(ozarr_mpi_array_create(own, "of-others.zarr/a", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_mpi_group_open(own, "of-others.zarr", "r", &g));
    OK(ozarr_array_open("of-others.zarr/a", "r", &alone));
    ERR(OZARR_ERR_ARGUMENT, "was not opened by this ozarr_mpi", ozarr_mpi_array_close(m, a));
    ERR(OZARR_ERR_ARGUMENT, "was not opened by this ozarr_mpi", ozarr_mpi_group_close(m, g));
    ERR(OZARR_ERR_ARGUMENT, "was not opened by this ozarr_mpi", ozarr_mpi_array_close(m, alone));
    ERR(OZARR_ERR_NULL, "array is NULL", ozarr_mpi_array_close(m, NULL));
    ERR(OZARR_ERR_NULL, "group is NULL", ozarr_mpi_group_close(m, NULL));
    OK(ozarr_array_close(alone));
    OK(ozarr_mpi_array_close(own, a));
    OK(ozarr_mpi_group_close(own, g));
    OK(ozarr_mpi_close(own));
}

/* What was put in part is taken back, and put again; the ranks agree on its shape. */
static void put_again(void) {
    ozarr_group *g = NULL;
    int64_t start[2], count[2], other[2] = {16, 16};
    int32_t u[256] = {0};
    rows(start, count);
    OK(ozarr_mpi_checkpoint_begin(m, "states.zarr", "one", &g));
    count[0] += rank == ranks - 1;
    ERR(OZARR_ERR_BOUNDS, "of dimension 0", ozarr_mpi_group_put(m, g, "u", OZARR_INT32, 2, shape, start, count, u, sizeof u));
    rows(start, count);
    OK(ozarr_mpi_group_put(m, g, "u", OZARR_INT32, 2, shape, start, count, u, sizeof u));
    ERR(OZARR_ERR_NULL, "shape is NULL", ozarr_mpi_group_put(m, g, "v", OZARR_INT32, 2, NULL, start, count, u, sizeof u));
    ERR(OZARR_ERR_NULL, "shape is NULL", ozarr_mpi_group_put(m, g, "v", OZARR_INT32, 2, rank == ranks - 1 ? NULL : shape, start, count, u, sizeof u));
    other[1] += rank == ranks - 1;
    if (ranks > 1) ERR(OZARR_ERR_ARGUMENT, "shape 16, 17", ozarr_mpi_group_put(m, g, "v", OZARR_INT32, 2, other, start, count, u, sizeof u));
    OK(ozarr_mpi_checkpoint_commit(m, g));
}

/* The ranks are not closed before the requests that they have to wait for. */
static void pending(void) {
    ozarr_mpi *own = NULL;
    ozarr_array *a = NULL;
    ozarr_mpi_request *r = NULL;
    int64_t start[2], count[2];
    int32_t u[256] = {0};
    rows(start, count);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &own));
    OK(ozarr_mpi_array_create(own, "pending.zarr", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &a));
    OK(begin_write(own, a, start, count, u, sizeof u, &r));
    ERR(OZARR_ERR_STATE, "was not waited for", ozarr_mpi_array_close(own, a));
    ERR(OZARR_ERR_STATE, "1 requests were not waited for", ozarr_mpi_close(own));
    OK(ozarr_mpi_request_wait(r));
    OK(ozarr_mpi_array_close(own, a));
    OK(ozarr_mpi_close(own));
}

/* A request that fails with a status that a refused wait has, too, is gone: its test tells. */
static void own_errors(void) {
    ozarr_array *old = array_of("own-errors.zarr");
    ozarr_mpi_request *r = NULL;
    int64_t start[2], count[2];
    int32_t u[256] = {0};
    bool done = false;
    rows(start, count);
    ozarr_status failed = OZARR_OK;
    /* Its chunks may be stored by the time at which the handle is called lost. */
    for (int i = 0; i < 500 && failed == OZARR_OK; i++) {
        OK(ozarr_mpi_array_refresh(m, old));
        OK(begin_write(m, old, start, count, u, sizeof u, &r));
        OK(ozarr_node_set(ozarr_array_node(old), "lost", "1"));
        failed = ozarr_mpi_request_wait(r);
    }
    CHECK(failed == OZARR_ERR_STATE);
    ERR(OZARR_ERR_INVALID_HANDLE, "was freed", ozarr_mpi_request_test(r, &done));
    const ozarr_status closed = ozarr_mpi_array_close(m, old);
    CHECK(closed == OZARR_OK || closed == OZARR_ERR_STATE);
    ozarr_array *now = array_of("own-errors.zarr");
    old = now, now = array_of("own-errors.zarr");
    ERR(OZARR_ERR_STATE, "replaced", begin_write(m, old, start, count, u, sizeof u, &r));
    OK(ozarr_mpi_array_close(m, old));
    OK(ozarr_mpi_array_close(m, now));
}

/* A rank that waits for another request, or calls something else, is an error on all; the requests stay. */
static void waits_that_differ(void) {
    ozarr_array *a = array_of("waits.zarr"), *b = array_of("waits-too.zarr");
    ozarr_mpi_request *r[2] = {NULL, NULL};
    int64_t start[2], count[2];
    int32_t u[256];
    bool done = false;
    if (ranks == 1) return;
    for (int i = 0; i < 256; i++) u[i] = 4;
    rows(start, count);
    OK(begin_write(m, a, start, count, u, sizeof u, &r[0]));
    OK(begin_write(m, b, start, count, u, sizeof u, &r[1]));
    ERR(OZARR_ERR_ARGUMENT, "ozarr_mpi_request_wait", rank == 1 ? ozarr_mpi_array_refresh(m, b) : ozarr_mpi_request_wait(r[0]));
    ERR(OZARR_ERR_ARGUMENT, "ozarr_mpi_request_wait", rank == 1 ? ozarr_mpi_request_wait(r[0]) : ozarr_mpi_array_refresh(m, b));
    ERR(OZARR_ERR_ARGUMENT, "ozarr_mpi_request_wait of request", ozarr_mpi_request_wait(r[rank % 2]));
    /* The status of the other call is not that of MPI. */
    ERR(OZARR_ERR_NETWORK, "rank 1: no server", rank == 1 ? ozarr_mpi_agree(m, ozarr_set_error(OZARR_ERR_NETWORK, "no server", NULL)) : ozarr_mpi_request_wait(r[0]));
    OK(ozarr_mpi_request_test(r[0], &done));
    OK(ozarr_mpi_request_wait(r[1]));
    OK(ozarr_mpi_request_wait(r[0]));
    check_values(a, 4);
    check_values(b, 4);
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_array_close(m, b));
}

/* A test moves all requests, so that ranks which test them in different order get done. */
static void tests_in_another_order(void) {
    enum { CHUNK = 65536, N = 16 * CHUNK };
    static int32_t u[N];
    const int64_t shape = N, chunk = CHUNK;
    ozarr_array *arrays[2] = {NULL, NULL};
    ozarr_mpi_request *r[2] = {NULL, NULL};
    ozarr_region regions[16];
    ozarr_memory memories[16];
    int64_t starts[16];
    const int64_t count = CHUNK * (rank + 1) / ranks - CHUNK * rank / ranks;
    OK(ozarr_mpi_set(m, "aggregators", "1"));
    OK(ozarr_mpi_set(m, "round_bytes", "1"));
    for (int k = 0; k < 16; k++) {
        ozarr_region_init(&regions[k]);
        ozarr_memory_init(&memories[k]);
        starts[k] = k * CHUNK + CHUNK * rank / ranks;
        regions[k].start = &starts[k], regions[k].shape = &count;
        memories[k].data = u + starts[k], memories[k].size = (size_t)count * sizeof *u, memories[k].type = OZARR_INT32;
    }
    OK(ozarr_mpi_array_create(m, "order.zarr", OZARR_INT32, 1, &shape, &chunk, OZARR_CREATE_OVERWRITE, &arrays[0]));
    OK(ozarr_mpi_array_create(m, "order-too.zarr", OZARR_INT32, 1, &shape, &chunk, OZARR_CREATE_OVERWRITE, &arrays[1]));
    for (int i = 0; i < 2; i++) OK(ozarr_mpi_array_iwrite_all(m, arrays[i], 16, regions, memories, &r[i]));
    bool done = false;
    for (const double begun = MPI_Wtime(); !done && MPI_Wtime() - begun < 20;) OK(ozarr_mpi_request_test(r[(rank + 1) % 2], &done));
    CHECK(done);
    for (int i = 0; i < 2; i++) {
        OK(ozarr_mpi_request_wait(r[i]));
        OK(ozarr_mpi_array_close(m, arrays[i]));
    }
    OK(ozarr_mpi_set(m, "aggregators", "auto"));
    OK(ozarr_mpi_set(m, "round_bytes", "33554432"));
}

/* What the program wants its own requests to do when there are too many is none of a collective call's business. */
static void full_of_requests(void) {
    enum { CHUNK = 16384, N = 64 * CHUNK };
    static int32_t u[N];
    const int64_t shape = N, chunk = CHUNK;
    /* The chunks that are a rank's alone, one element of the next one, and all but that of the first one. */
    const int64_t first = N / CHUNK * rank / ranks, end = N / CHUNK * (rank + 1) / ranks;
    const int64_t start = first * CHUNK + (rank > 0), count = end * CHUNK + (rank < ranks - 1) - start;
    char bytes[32], full[32], room[32];
    ozarr_array *a = NULL;
    OK(ozarr_context_get(NULL, "bytes_in_flight", bytes, sizeof bytes, NULL));
    OK(ozarr_context_get(NULL, "when_full", full, sizeof full, NULL));
    snprintf(room, sizeof room, "%d", (int)(end - first - (rank > 0)) * CHUNK * 4 + CHUNK * 2);
    OK(ozarr_context_set(NULL, "bytes_in_flight", room));
    OK(ozarr_context_set(NULL, "when_full", "again"));
    OK(ozarr_mpi_array_create(m, "full.zarr", OZARR_INT32, 1, &shape, &chunk, OZARR_CREATE_OVERWRITE, &a));
    for (int64_t i = 0; i < count; i++) u[i] = (int32_t)(start + i);
    OK(ozarr_mpi_array_write_all(m, a, &start, &count, OZARR_INT32, u, sizeof u));
    memset(u, 0, sizeof u);
    OK(ozarr_mpi_array_read_all(m, a, &start, &count, OZARR_INT32, u, sizeof u));
    for (int64_t i = 0; i < count; i++) CHECK(u[i] == (int32_t)(start + i));
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_context_set(NULL, "bytes_in_flight", bytes));
    OK(ozarr_context_set(NULL, "when_full", full));
}

/* A request goes on with the settings that it began with. */
static void set_meanwhile(void) {
    enum { N = 100000 };
    static int32_t u[N];
    const int64_t all[] = {N}, half[] = {N / 2}, first = (int64_t)N * rank / ranks, length = (int64_t)N * (rank + 1) / ranks - first;
    ozarr_mpi *own = NULL;
    ozarr_array *a = NULL;
    ozarr_mpi_request *r = NULL;
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &own));
    OK(ozarr_mpi_array_create(own, "meanwhile.zarr", OZARR_INT32, 1, all, half, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_mpi_set(own, "overlap", "last"));
    OK(ozarr_mpi_set(own, "round_bytes", "200000"));
    for (int64_t i = 0; i < length; i++) u[i] = (int32_t)(first + i + 1);
    OK(begin_write(own, a, &first, &length, u, sizeof u, &r));
    OK(ozarr_mpi_set(own, "overlap", "refuse"));
    OK(ozarr_mpi_set(own, "message_bytes", "100"));
    OK(ozarr_mpi_request_wait(r));
    OK(ozarr_array_read(a, OZARR_INT32, u, sizeof u));
    for (int i = 0; i < N; i++)
        if (u[i] != i + 1) FAIL("element %d is %d", i, (int)u[i]), i = N;
    OK(ozarr_mpi_array_close(own, a));
    OK(ozarr_mpi_close(own));
}

/* A value of the last rank that the array, or the memory, cannot hold, by its index in the array. Of a chunk of several ranks another rank may find
 * it, and says whose the chunk is. */
static void value_too_large(int last) {
    const int64_t whole[] = {16, 16}, one[] = {1, 16}, length[] = {ranks, 16};
    ozarr_array *bytes = NULL;
    for (int shared = 0; shared < 2; shared++) {
        const int64_t start[] = {rank, 0};
        int32_t u[16] = {0};
        char message[100];
        u[7] = rank == last ? 300 : 0;
        snprintf(message, sizeof message, "rank %d: %selement [%d, 7] is 300", shared ? 0 : last,
                 shared && ranks > 1 ? "for all ranks that share the chunk: " : "", last);
        OK(ozarr_mpi_array_create(m, "bytes.zarr", OZARR_INT8, 2, length, shared ? whole : one, OZARR_CREATE_OVERWRITE, &bytes));
        ERR(OZARR_ERR_RANGE, message, ozarr_mpi_array_write_all(m, bytes, start, one, OZARR_INT32, u, sizeof u));
        OK(ozarr_mpi_array_close(m, bytes));
        OK(ozarr_mpi_array_create(m, "bytes.zarr", OZARR_INT32, 2, length, shared ? whole : one, OZARR_CREATE_OVERWRITE, &bytes));
        OK(ozarr_mpi_array_write_all(m, bytes, start, one, OZARR_INT32, u, sizeof u));
        ERR(OZARR_ERR_RANGE, message, ozarr_mpi_array_read_all(m, bytes, start, one, OZARR_INT8, u, 16));
        OK(ozarr_mpi_array_close(m, bytes));
    }
}

/* Arguments that are wrong on one rank. */
static void arguments(void) {
    ozarr_array *a = array_of("arguments.zarr");
    const int last = ranks - 1;
    int64_t start[2], count[2];
    int32_t u[256] = {0};
    char who[32];
    snprintf(who, sizeof who, "rank %d: ", last);
    rows(start, count);
    count[0] += rank == last;
    ERR(OZARR_ERR_BOUNDS, who, ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, sizeof u));
    rows(start, count);
    ERR(OZARR_ERR_BUFFER_SIZE, who, ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, rank == last ? 8 : sizeof u));
    ERR(OZARR_ERR_NULL, who, ozarr_mpi_array_read_all(m, a, start, count, OZARR_INT32, rank == last ? NULL : u, sizeof u));
    ERR(OZARR_ERR_INVALID_HANDLE, who, ozarr_mpi_array_read_all(m, rank == last ? (ozarr_array *)(uintptr_t)12345 : a, start, count, OZARR_INT32, u, sizeof u));
    /* A box without elements may begin anywhere; a negative length is no box. */
    const int64_t before[] = {-1, 99}, none[] = {0, 3}, less[] = {0, -1};
    OK(write_rows(a, 4));
    OK(ozarr_mpi_array_write_all(m, a, rank == last ? before : start, rank == last ? none : count, OZARR_INT32, u, sizeof u));
    OK(ozarr_mpi_array_read_all(m, a, rank == last ? before : start, rank == last ? none : count, OZARR_INT32, u, sizeof u));
    ERR(OZARR_ERR_BOUNDS, who, ozarr_mpi_array_read_all(m, a, rank == last ? before : start, rank == last ? less : count, OZARR_INT32, u, sizeof u));
    const int64_t far[] = {INT64_MAX - 1, 0}, two[] = {2, 1};
    ERR(OZARR_ERR_BOUNDS, "to 9223372036854775807 of", ozarr_mpi_array_read_all(m, a, far, two, OZARR_INT32, u, sizeof u));
    value_too_large(last);
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    const int64_t steps[] = {1, 2}, zero[] = {0, 4};
    region.start = start, region.shape = count;
    memory.data = u, memory.size = sizeof u, memory.type = OZARR_INT32;
    region.step = rank == last ? steps : NULL;
    ERR(OZARR_ERR_UNSUPPORTED, "step[1] is 2", ozarr_mpi_array_write_all_ex(m, a, 1, &region, &memory));
    region.step = NULL;
    memory.strides = rank == last ? zero : NULL;
    ERR(OZARR_ERR_ARGUMENT, "overlap", ozarr_mpi_array_read_all_ex(m, a, 1, &region, &memory));
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_array_open(m, "arguments.zarr", "r", &a));
    ERR(OZARR_ERR_READ_ONLY, "rank 0: ", ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, sizeof u));
    OK(ozarr_mpi_array_close(m, a));
    ERR(OZARR_ERR_NOT_FOUND, "rank 0: ", ozarr_mpi_array_open(m, "nowhere.zarr", "r", &a));
    CHECK(a == NULL);
    ERR(OZARR_ERR_NULL, "location", ozarr_mpi_array_open(m, NULL, "r", &a));
    ERR(OZARR_ERR_EXISTS, "rank 0: ", ozarr_mpi_array_create(m, "arguments.zarr", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_NEW, &a));
}

static void overlaps(void) {
    ozarr_array *a = array_of("overlap.zarr");
    const int64_t zero[2] = {0, 0};
    int32_t u[256];
    for (int i = 0; i < 256; i++) u[i] = 100 + rank;
    if (ranks > 1) {
        ERR(OZARR_ERR_ARGUMENT, "ranks 0 ([0, 0] to [15, 15]) and 1", ozarr_mpi_array_write_all(m, a, zero, shape, OZARR_INT32, u, sizeof u));
        check_values(a, 0);
    }
    OK(ozarr_mpi_set(m, "overlap", "last"));
    OK(ozarr_mpi_array_write_all(m, a, zero, shape, OZARR_INT32, u, sizeof u));
    check_values(a, 99 + ranks);
    OK(ozarr_mpi_set(m, "overlap", "refuse"));
    /* One rank alone, with two boxes that overlap. */
    ozarr_region regions[2] = {OZARR_REGION_INIT, OZARR_REGION_INIT};
    ozarr_memory memories[2] = {OZARR_MEMORY_INIT, OZARR_MEMORY_INIT};
    for (int i = 0; i < 2; i++) {
        regions[i].start = zero, regions[i].shape = chunks;
        memories[i].data = u, memories[i].size = sizeof u, memories[i].type = OZARR_INT32;
    }
    ERR(OZARR_ERR_ARGUMENT, "rank 0: ", ozarr_mpi_array_write_all_ex(m, a, rank == 0 ? 2 : 0, regions, memories));
    OK(ozarr_mpi_array_write_all_ex(m, a, rank == 0 ? 1 : 0, regions, memories));
    OK(ozarr_mpi_array_write_all_ex(m, a, 0, NULL, NULL));
    OK(ozarr_mpi_array_close(m, a));
}

/* A chunk that cannot be stored: a folder is in its place. */
static void storing(void) {
    ozarr_array *a = array_of("store.zarr");
    if (rank == 0) CHECK(mkdir("store.zarr/c", 0777) == 0 && mkdir("store.zarr/c/1", 0777) == 0 && mkdir("store.zarr/c/1/1", 0777) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    const ozarr_status status = write_rows(a, 5);
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    CHECK(status != OZARR_OK && ozarr_last_error_info(&info) == OZARR_OK);
    CHECK(strcmp(info.key, "c/1/1") == 0 && info.os_errno != 0 && strstr(ozarr_last_error(), "chunks are stored") != NULL);
    CHECK(same_everywhere(ozarr_last_error()));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) CHECK(rmdir("store.zarr/c/1/1") == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(write_rows(a, 6));
    check_values(a, 6);
    /* A chunk that cannot be read. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *f = fopen("store.zarr/c/0/1", "wb");
        CHECK(f != NULL && fputs("this is no chunk", f) >= 0 && fclose(f) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int32_t all[256];
    const int64_t zero[2] = {0, 0};
    const ozarr_status read = ozarr_mpi_array_read_all(m, a, zero, shape, OZARR_INT32, all, sizeof all);
    CHECK(read == OZARR_ERR_CHUNK && strstr(ozarr_last_error(), "c/0/1") != NULL && same_everywhere(ozarr_last_error()));
    OK(ozarr_mpi_array_close(m, a));
}

/* Two ranks in one chunk, by independent writes: found by the next collective call. */
static void checked_writes(void) {
    OK(ozarr_mpi_set(m, "check_writes", "on"));
    CHECK(ozarr_mpi_set(m, "check_writes", "yes") == OZARR_ERR_ARGUMENT);
    ozarr_array *a = array_of("checked.zarr");
    const int64_t first[2] = {0, 0}, line[2] = {1, 16}, row[2] = {rank % 16, 0};
    int32_t u[256];
    for (int i = 0; i < 256; i++) u[i] = 1 + rank;
    /* One after the other, with collective calls in between. */
    for (int r = 0; r < ranks; r++) {
        if (rank == r) OK(ozarr_array_write_region(a, first, chunks, OZARR_INT32, u, sizeof u));
        OK(ozarr_mpi_array_refresh(m, a));
    }
    OK(write_rows(a, 2));
    OK(ozarr_array_write_region(a, row, line, OZARR_INT32, u, sizeof u));
    if (ranks == 1) {
        OK(ozarr_mpi_array_close(m, a));
        return;
    }
    int32_t all[256];
    ERR(OZARR_ERR_CONFLICT, ": ranks 0 and 1 changed this chunk", ozarr_mpi_array_read_all(m, a, first, shape, OZARR_INT32, all, sizeof all));
    OK(ozarr_mpi_array_read_all(m, a, first, shape, OZARR_INT32, all, sizeof all));
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < 16; i++) CHECK(all[r * 16 + i] == 1 + r);
    OK(ozarr_array_write_region(a, row, line, OZARR_INT32, u, sizeof u));
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    ERR(OZARR_ERR_CONFLICT, "ranks 0 and 1", ozarr_mpi_array_close(m, a));
    OK(ozarr_last_error_info(&info));
    CHECK(strncmp(info.key, "c/0/", 4) == 0 && same_everywhere(info.key));
    OK(ozarr_mpi_set(m, "check_writes", "0"));
}

/* What is written while the setting is off is not compared when it is on again: by all ranks, and by ranks in turn. */
static void checked_again(void) {
    const int64_t first[2] = {0, 0};
    int32_t u[256];
    for (int k = 0; k < 3; k++) {
        OK(ozarr_mpi_set(m, "check_writes", "1"));
        ozarr_array *a = array_of("checked-again.zarr");
        OK(write_rows(a, 1));
        OK(ozarr_mpi_set(m, "check_writes", "0"));
        for (int r = 0; r < ranks; r++) {
            const int64_t count[2] = {rank == r ? 16 : 0, 16};
            for (int i = 0; i < 256; i++) u[i] = 2;
            if (k == 0) OK(ozarr_mpi_array_write_all(m, a, first, count, OZARR_INT32, u, sizeof u));
            else if (rank == r) OK(ozarr_array_write(a, OZARR_INT32, u, sizeof u));
            MPI_Barrier(MPI_COMM_WORLD);
        }
        OK(ozarr_mpi_set(m, "check_writes", "1"));
        if (k == 2) OK(ozarr_mpi_array_refresh(m, a));
        OK(write_rows(a, 3));
        /* What is written now is. */
        if (rank < 2) OK(ozarr_array_write(a, OZARR_INT32, u, sizeof u));
        if (ranks == 1) OK(ozarr_mpi_array_close(m, a));
        else ERR(OZARR_ERR_CONFLICT, "ranks 0 and 1", ozarr_mpi_array_close(m, a));
        OK(ozarr_mpi_set(m, "check_writes", "0"));
    }
}

/* Two collective writes of a chunk by different ranks, the first of which goes on as the second one begins, are no conflict. */
static void checked_requests(void) {
    enum { TIMES = 5 };
    OK(ozarr_mpi_set(m, "check_writes", "1"));
    OK(ozarr_mpi_set(m, "round_bytes", "64"));
    ozarr_array *a = array_of("checked-requests.zarr");
    const int64_t zero[2] = {0, 0};
    int32_t u[256], all[256];
    for (int i = 0; i < 256; i++) u[i] = 3;
    for (int k = 0; k < TIMES; k++) {
        ozarr_mpi_request *r[2] = {NULL, NULL};
        int64_t start[2], count[2];
        rows(start, count);
        OK(begin_write(m, a, start, count, u, sizeof u, &r[0]));
        count[0] = rank == k % ranks ? 16 : 0;
        OK(begin_write(m, a, zero, count, u, sizeof u, &r[1]));
        OK(ozarr_mpi_array_read_all(m, a, zero, shape, OZARR_INT32, all, sizeof all));
        for (int i = 0; i < 2; i++) OK(ozarr_mpi_request_wait(r[i]));
    }
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_set(m, "check_writes", "0"));
    OK(ozarr_mpi_set(m, "round_bytes", "33554432"));
}

/* What a rank wrote by itself and waits does not replace what all ranks wrote afterwards. */
static void waiting_writes(void) {
    ozarr_array *a = array_of("waiting.zarr");
    const int64_t first[2] = {0, 0}, rest[2] = {15, 0}, line[2] = {1, 3}, fewer[2] = {15, 16};
    int32_t u[256];
    OK(ozarr_node_set(ozarr_array_node(a), "write_back", "100000"));
    for (int i = 0; i < 256; i++) u[i] = 5;
    if (rank == ranks - 1) OK(ozarr_array_write_region(a, first, line, OZARR_INT32, u, sizeof u));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(write_rows(a, 9));
    if (rank == ranks - 1) OK(ozarr_array_write_region(a, rest, line, OZARR_INT32, u, sizeof u));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(ozarr_mpi_array_resize(m, a, fewer, 0));
    OK(ozarr_mpi_array_resize(m, a, shape, 0));
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_array_open("waiting.zarr", "r", &a));
    OK(ozarr_array_read(a, OZARR_INT32, u, sizeof u));
    for (int i = 0; i < 256; i++) CHECK(u[i] == (i < 240 ? 9 : 0));
    ozarr_array_free(a);
    MPI_Barrier(MPI_COMM_WORLD);
}

static ozarr_status once(void *user) {
    ++*(int *)user;
    return *(int *)user == 1 ? OZARR_OK : ozarr_set_error(OZARR_ERR_LIMIT, "enough", NULL);
}

static ozarr_status made_status(void *unused) {
    (void)unused;
    return OZARR_ERR_STATE;
}

static void agreement(void) {
    int calls = 0;
    OK(ozarr_mpi_once(m, once, &calls));
    CHECK(calls == (rank == 0));
    ERR(OZARR_ERR_LIMIT, "rank 0: enough", ozarr_mpi_once(m, once, &calls));
    char who[32];
    snprintf(who, sizeof who, "rank %d: torn", ranks - 1);
    ERR(OZARR_ERR_IO, who, ozarr_mpi_agree(m, rank == ranks - 1 ? ozarr_set_error(OZARR_ERR_IO, "torn", NULL) : OZARR_OK));
    OK(ozarr_mpi_agree(m, OZARR_OK));
    /* A status that the program made itself has not the message of another failure. */
    snprintf(who, sizeof who, "rank %d: the program", ranks - 1);
    ERR(OZARR_ERR_LIMIT, who, ozarr_mpi_agree(m, rank == ranks - 1 ? OZARR_ERR_LIMIT : OZARR_OK));
    CHECK(strstr(ozarr_last_error(), "torn") == NULL);
    ERR(OZARR_ERR_STATE, "rank 0: fn gave this status", ozarr_mpi_once(m, made_status, NULL));
}

int main(int argc, char **argv) {
    begin_ranks(&argc, &argv);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    settings();
    differences();
    other_arrays();
    handles_of_others();
    put_again();
    pending();
    own_errors();
    waits_that_differ();
    set_meanwhile();
    tests_in_another_order();
    full_of_requests();
    arguments();
    overlaps();
    storing();
    agreement();
    checked_writes();
    checked_again();
    checked_requests();
    waiting_writes();
    OK(ozarr_mpi_close(m));
    return end_ranks();
}
