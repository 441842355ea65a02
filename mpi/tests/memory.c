/* Memory that ends on one rank: each allocation of the library fails in turn, of a call that all ranks make. It fails on all of them with one status,
 * nobody waits for ever, and the same call succeeds afterwards.
 *
 *   memory FOLDER */
#define _GNU_SOURCE /* dladdr */
#include "check.h"
#include <ozarr_advanced.h>

#include <dlfcn.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

enum { ROWS = 16, WIDTH = 64 };

static ozarr_mpi *m;
static ozarr_array *array;
static int64_t shape[2] = {0, WIDTH}, start[2], count[2] = {ROWS, WIDTH};
static int32_t u[ROWS * WIDTH], read_back[ROWS * WIDTH];
static long countdown = -1; /* allocations until one fails; negative: none does */
static size_t most = SIZE_MAX; /* bytes of one allocation */
static int failed;

/* Whether this allocation fails: one that libozarr_mpi makes, when its turn has come, or with too many bytes. */
static int fails(void *caller, size_t size) {
    Dl_info here, library;
    if (countdown < 0 && size <= most) return 0;
    const long before = countdown, left = size > most ? 0 : before;
    countdown = -1;
    const int mine = dladdr(caller, &here) != 0 && dladdr((void *)(uintptr_t)ozarr_mpi_new, &library) != 0 && here.dli_fbase == library.dli_fbase;
    countdown = mine ? left - 1 : before;
    return mine && left == 0 ? ++failed : 0;
}

void *malloc(size_t size) { return fails(__builtin_return_address(0), size) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails(__builtin_return_address(0), n * size) ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return fails(__builtin_return_address(0), size) ? NULL : __libc_realloc(old, size); }

static ozarr_status write_all(void) { return ozarr_mpi_array_write_all(m, array, start, count, OZARR_INT32, u, sizeof u); }
static ozarr_status read_all(void) { return ozarr_mpi_array_read_all(m, array, start, count, OZARR_INT32, read_back, sizeof read_back); }
static ozarr_status iwrite_all(void) {
    ozarr_mpi_request *request = NULL;
    const ozarr_status status = begin_write(m, array, start, count, u, sizeof u, &request);
    return status == OZARR_OK ? ozarr_mpi_request_wait(request) : status;
}
static ozarr_status new_ranks(void) {
    ozarr_mpi *more = NULL;
    const ozarr_status status = ozarr_mpi_new(MPI_COMM_WORLD, &more);
    return status == OZARR_OK ? ozarr_mpi_close(more) : status;
}
static ozarr_status open_it(void) {
    ozarr_array *a = NULL;
    const ozarr_status status = ozarr_mpi_array_open(m, "memory.zarr", "r", &a);
    return status == OZARR_OK ? ozarr_mpi_array_close(m, a) : status;
}
static ozarr_status save(void) {
    ozarr_group *g = NULL;
    const ozarr_status status = ozarr_mpi_checkpoint_begin(m, "saved.zarr", "state", &g);
    if (status != OZARR_OK) return status;
    const ozarr_status put = ozarr_mpi_group_put(m, g, "u", OZARR_INT32, 2, shape, start, count, u, sizeof u);
    const ozarr_status ended = put == OZARR_OK ? ozarr_mpi_checkpoint_commit(m, g) : ozarr_mpi_checkpoint_abandon(m, g);
    return put != OZARR_OK ? put : ended;
}

static ozarr_group *group;
static ozarr_status erase(void *path) { return ozarr_group_erase(group, path); }
static ozarr_status put(void) {
    const ozarr_status status = ozarr_mpi_group_put(m, group, "u", OZARR_INT32, 2, shape, start, count, u, sizeof u);
    return status == OZARR_OK ? ozarr_mpi_once(m, erase, "u") : status;
}

/* A write that is waited for after the commit, which completes it. */
static ozarr_status save_under_way(void) {
    ozarr_group *g = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    ozarr_mpi_request *request = NULL;
    OK(ozarr_spec_new(OZARR_INT32, 2, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, count));
    ozarr_status status = ozarr_mpi_checkpoint_begin(m, "behind.zarr", "state", &g), ended;
    if (status == OZARR_OK) {
        status = ozarr_mpi_group_create_array(m, g, "u", spec, OZARR_CREATE_NEW, &a);
        if (status == OZARR_OK) status = begin_write(m, a, start, count, u, sizeof u, &request);
        ended = status == OZARR_OK ? ozarr_mpi_checkpoint_commit(m, g) : ozarr_mpi_checkpoint_abandon(m, g);
        if (status == OZARR_OK) status = ended;
        ended = request != NULL ? ozarr_mpi_request_wait(request) : OZARR_OK;
        if (status == OZARR_OK) status = ended;
        ended = a != NULL ? ozarr_mpi_array_close(m, a) : OZARR_OK;
        if (status == OZARR_OK) status = ended;
    }
    ozarr_spec_free(spec);
    return status;
}

/* Rank 0 makes a dataset, or (`late`) defines variables in it. */
static ozarr_status define(void *late) {
    static const char *const dims[] = {"time", "x"};
    ozarr_dataset *ds = NULL;
    ozarr_status status = late != NULL ? ozarr_dataset_open("series.zarr", "r+", &ds) : ozarr_dataset_create("series.zarr", 0, OZARR_CREATE_OVERWRITE, &ds);
    if (status == OZARR_OK && late == NULL) status = ozarr_dataset_define_dimension(ds, "time", 0);
    if (status == OZARR_OK && late == NULL) status = ozarr_dataset_define_dimension(ds, "x", WIDTH);
    if (status == OZARR_OK) status = ozarr_dataset_define_variable(ds, late != NULL ? "a" : "u", OZARR_INT32, 2, dims, NULL);
    if (status == OZARR_OK) status = ozarr_dataset_define_variable(ds, late != NULL ? "time" : "v", OZARR_INT32, late != NULL ? 1 : 2, dims, NULL);
    const ozarr_status closed = ds != NULL ? ozarr_dataset_close(ds) : OZARR_OK;
    return status == OZARR_OK ? closed : status;
}

/* A step with variables that were there when the series was opened, and with ones that were not. */
static ozarr_status step(void) {
    static const char *const names[] = {"u", "a", "v", "time"};
    const int64_t from = rank, elements = 1;
    ozarr_mpi_series *s = NULL;
    ozarr_status status = ozarr_mpi_once(m, define, NULL);
    if (status == OZARR_OK) status = ozarr_mpi_series_open(m, "series.zarr", "time", -1, 0, 0, &s);
    if (status != OZARR_OK) return status;
    status = ozarr_mpi_once(m, define, "late");
    for (int i = 0; i < 4 && status == OZARR_OK; i++) status = ozarr_mpi_series_put(m, s, names[i], &from, &elements, OZARR_INT32, u, sizeof *u);
    if (status == OZARR_OK) status = ozarr_mpi_series_step(m, s, 1);
    const ozarr_status closed = ozarr_mpi_series_close(m, s);
    return status != OZARR_OK ? status : closed;
}

static void sweep(const char *name, ozarr_status (*call)(void)) {
    for (int more = 1, k = 0; more; k++) {
        failed = 0;
        countdown = rank == ranks - 1 ? k : -1;
        const ozarr_status status = call();
        countdown = -1;
        more = failed;
        MPI_Bcast(&more, 1, MPI_INT, ranks - 1, MPI_COMM_WORLD);
        if (status != (more ? OZARR_ERR_NO_MEMORY : OZARR_OK)) FAIL("%s at allocation %d gave %s", name, k, ozarr_status_name(status));
        if (more) CHECK(same_everywhere(ozarr_last_error()));
        OK(call());
    }
}

/* The owner of a shard has no memory for what the others send: they do not wait for it. */
static void no_room_for_shards(void) {
    enum { INNER = 1024, LONG = 64 * INNER };
    static int32_t values[LONG];
    const int64_t all = INNER + LONG * (int64_t)(ranks - 1), inner = INNER;
    const int64_t from = rank == 0 ? 0 : INNER + LONG * (int64_t)(rank - 1), elements = rank == 0 ? INNER : LONG;
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    numbers n = {7};
    if (ranks == 1) return;
    for (int i = 0; i < LONG; i++) values[i] = (int32_t)(next_number(&n) >> 32);
    OK(ozarr_mpi_set(m, "aggregators", "1"));
    OK(ozarr_spec_new(OZARR_INT32, 1, &all, &spec));
    OK(ozarr_spec_set_chunks(spec, &all));
    OK(ozarr_spec_set_inner_chunks(spec, &inner));
    OK(ozarr_mpi_array_create_ex(m, "shard.zarr", spec, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(spec);
    if (rank == 0) most = 64 * 1024;
    ERR(OZARR_ERR_NO_MEMORY, "encoded chunks", ozarr_mpi_array_write_all(m, a, &from, &elements, OZARR_INT32, values, sizeof values));
    most = SIZE_MAX;
    OK(ozarr_mpi_array_write_all(m, a, &from, &elements, OZARR_INT32, values, sizeof values));
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_set(m, "aggregators", "auto"));
}

int main(int argc, char **argv) {
    begin_ranks(&argc, &argv);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    shape[0] = ROWS * ranks, start[0] = ROWS * rank;
    for (int i = 0; i < ROWS * WIDTH; i++) u[i] = rank * ROWS * WIDTH + i;
    for (int64_t rows = 7; rows <= ROWS; rows += ROWS - 7) { /* chunks of several ranks, and of one each */
        const int64_t chunks[2] = {rows, WIDTH};
        OK(ozarr_mpi_array_create(m, "memory.zarr", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &array));
        sweep("write", write_all);
        sweep("read", read_all);
        CHECK(memcmp(u, read_back, sizeof u) == 0);
        sweep("a write that does not wait", iwrite_all);
        OK(ozarr_mpi_array_close(m, array));
    }
    sweep("new ranks", new_ranks);
    sweep("open", open_it);
    sweep("checkpoint", save);
    OK(ozarr_mpi_group_create(m, "put.zarr", OZARR_CREATE_OVERWRITE, &group));
    sweep("put", put);
    OK(ozarr_mpi_group_close(m, group));
    no_room_for_shards();
    sweep("a step of a series", step);
    sweep("a checkpoint with a write under way", save_under_way);
    OK(ozarr_mpi_close(m));
    return end_ranks();
}
