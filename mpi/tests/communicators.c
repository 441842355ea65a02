/* Communicators of every kind: ranks work together in those of a single group, all others are refused by name; and nothing works before
 * MPI_Init and after MPI_Finalize.
 *
 *   communicators FOLDER */
#include "check.h"

#include <pthread.h>

/* --- how a communicator is made; each rank gets its own, or MPI_COMM_NULL --- */

static MPI_Comm world(void) { return MPI_COMM_WORLD; }
static MPI_Comm self(void) { return MPI_COMM_SELF; }
static MPI_Comm null(void) { return MPI_COMM_NULL; }

static MPI_Comm duplicated(void) {
    MPI_Comm c;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    return c;
}

static MPI_Comm split(int color, int key) {
    MPI_Comm c;
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &c);
    return c;
}

static MPI_Comm halves(void) { return split(rank % 2, 0); }
static MPI_Comm reversed(void) { return split(0, -rank); }
static MPI_Comm first_alone(void) { return split(rank == 0 ? 0 : MPI_UNDEFINED, 0); }
static MPI_Comm without_first(void) { return split(rank == 0 && ranks > 1 ? MPI_UNDEFINED : 0, 0); }

static MPI_Comm grid(void) {
    int sizes[2] = {0, 0}, periodic[2] = {0, 1};
    MPI_Comm c;
    MPI_Dims_create(ranks, 2, sizes);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periodic, 1, &c);
    return c;
}

static MPI_Comm of_group(void) {
    MPI_Group all, none;
    MPI_Comm c;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, ranks, (int[]){0, 1, 2, 3, 4, 5, 6, 7}, &none);
    MPI_Comm_create(MPI_COMM_WORLD, none, &c);
    MPI_Group_free(&none), MPI_Group_free(&all);
    return c;
}

static MPI_Comm between(void) {
    MPI_Comm half = halves(), c;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &c);
    MPI_Comm_free(&half);
    return c;
}

static MPI_Comm merged(void) {
    MPI_Comm inter = between(), c;
    MPI_Intercomm_merge(inter, rank % 2, &c);
    MPI_Comm_free(&inter);
    return c;
}

static const struct row {
    const char *name;
    MPI_Comm (*make)(void);
    ozarr_status status; /* of ranks that have a communicator */
    const char *says;
    int least; /* ranks that it takes */
    bool keeps; /* not to be freed */
} rows[] = {
    {"MPI_COMM_WORLD", world, OZARR_OK, "", 1, true},
    {"MPI_COMM_SELF", self, OZARR_OK, "", 1, true},
    {"a duplicate", duplicated, OZARR_OK, "", 1, false},
    {"odd and even ranks", halves, OZARR_OK, "", 1, false},
    {"all ranks, the last first", reversed, OZARR_OK, "", 1, false},
    {"the first rank alone", first_alone, OZARR_OK, "", 1, false},
    {"all but the first rank", without_first, OZARR_OK, "", 1, false},
    {"a grid of ranks", grid, OZARR_OK, "", 1, false},
    {"of a group", of_group, OZARR_OK, "", 1, false},
    {"merged halves", merged, OZARR_OK, "", 2, false},
    {"between halves", between, OZARR_ERR_ARGUMENT, "inter-communicator", 2, false},
    {"MPI_COMM_NULL", null, OZARR_ERR_ARGUMENT, "MPI_COMM_NULL", 1, true},
};

enum { LENGTH = 37 };

/* All ranks of a communicator write an array, named by the row and the group, and read what each other wrote. The communicator is freed before. */
static void work(ozarr_mpi *m, const char *name, int row, int first) {
    int me = -1, size = -1;
    OK(ozarr_mpi_rank(m, &me, &size));
    char location[64];
    ozarr_array *a = NULL;
    int32_t mine[LENGTH], all[LENGTH];
    const int64_t length = LENGTH, chunk = 8, zero = 0, start = LENGTH * me / size, count = LENGTH * (me + 1) / size - start;
    snprintf(location, sizeof location, "row%d-%d.zarr", row, first);
    for (int64_t i = 0; i < count; i++) mine[i] = (int32_t)(start + i + 1);
    OK(ozarr_mpi_array_create(m, location, OZARR_INT32, 1, &length, &chunk, OZARR_CREATE_NEW, &a));
    OK(ozarr_mpi_array_write_all(m, a, &start, &count, OZARR_INT32, mine, sizeof mine));
    memset(all, 0, sizeof all);
    OK(ozarr_mpi_array_read_all(m, a, &zero, &length, OZARR_INT32, all, sizeof all));
    for (int i = 0; i < LENGTH; i++)
        if (all[i] != i + 1) {
            FAIL("%s: element %d is %d, expected %d", name, i, all[i], i + 1);
            break;
        }
    OK(ozarr_mpi_array_close(m, a));
}

static void try_row(int i) {
    const struct row *r = &rows[i];
    ozarr_mpi *m = NULL;
    if (ranks < r->least) return;
    MPI_Comm c = r->make();
    const bool is_null = c == MPI_COMM_NULL;
    const ozarr_status expected = is_null ? OZARR_ERR_ARGUMENT : r->status, status = ozarr_mpi_new(c, &m);
    const char *says = is_null ? "MPI_COMM_NULL" : r->says;
    if (status != expected || (m != NULL) != (status == OZARR_OK) || (status != OZARR_OK && strstr(ozarr_last_error(), says) == NULL))
        FAIL("%s: %s, expected %s: %s", r->name, ozarr_status_name(status), ozarr_status_name(expected), ozarr_last_error());
    /* The least rank in the world tells the groups of a split apart. */
    int first = rank;
    if (m != NULL) MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, c);
    if (!is_null && !r->keeps) MPI_Comm_free(&c);
    if (m == NULL) return;
    work(m, r->name, i, first);
    OK(ozarr_mpi_close(m));
    CHECK(ozarr_mpi_close(m) == OZARR_ERR_INVALID_HANDLE);
}

/* What was left open when MPI ended, and an array of it. */
static ozarr_mpi *left;
static ozarr_array *array;
static int64_t one = 1, zero;
static int32_t element;

static ozarr_status late_new(void) {
    ozarr_mpi *m = NULL;
    return ozarr_mpi_new(MPI_COMM_WORLD, &m);
}
static ozarr_status late_set(void) { return ozarr_mpi_set(left, "aggregators", "1"); }
static ozarr_status late_rank(void) { return ozarr_mpi_rank(left, NULL, NULL); }
static ozarr_status late_write(void) { return ozarr_mpi_array_write_all(left, array, &zero, &one, OZARR_INT32, &element, sizeof element); }
static ozarr_status late_agree(void) { return ozarr_mpi_agree(left, OZARR_OK); }
static ozarr_status late_resize(void) { return ozarr_mpi_array_resize(left, array, &one, 0); }
static ozarr_status late_close_array(void) { return ozarr_mpi_array_close(left, array); }
static ozarr_status late_close(void) { return ozarr_mpi_close(left); }

static const struct late {
    const char *name;
    ozarr_status (*call)(void);
} lates[] = {
    {"new", late_new}, {"set", late_set}, {"rank", late_rank}, {"array_write_all", late_write}, {"agree", late_agree},
    {"array_resize", late_resize}, {"array_close", late_close_array}, {"close", late_close},
};

/* Every call is OZARR_ERR_STATE and says why. */
static int late_failures(const char *why) {
    int wrong = 0;
    for (size_t i = 0; i < sizeof lates / sizeof *lates; i++) {
        const ozarr_status status = lates[i].call();
        if (status == OZARR_ERR_STATE && strstr(ozarr_last_error(), why) != NULL) continue;
        fprintf(stderr, "rank %d: %s after MPI_Finalize: %s: %s\n", rank, lates[i].name, ozarr_status_name(status), ozarr_last_error());
        wrong++;
    }
    return wrong;
}

/* What one rank lacks, or has in its environment, keeps no other from its part in the call. */
static void one_rank_differs(void) {
    ozarr_mpi *m = NULL;
    const char *before = getenv("OZARR_NUM_THREADS");
    char kept[32];
    snprintf(kept, sizeof kept, "%s", before != NULL ? before : "");
    ERR(OZARR_ERR_NULL, "out is NULL", ozarr_mpi_new(MPI_COMM_WORLD, rank == ranks - 1 ? NULL : &m));
    CHECK(m == NULL);
    if (rank == 0) CHECK(setenv("OZARR_NUM_THREADS", "1", 1) == 0);
    else CHECK(unsetenv("OZARR_NUM_THREADS") == 0);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    OK(ozarr_mpi_close(m));
    CHECK((before != NULL ? setenv("OZARR_NUM_THREADS", kept, 1) : unsetenv("OZARR_NUM_THREADS")) == 0);
}

/* Makes ranks, and tests and waits for a request, in a thread which may not call MPI. */
static void *call_in_thread(void *request) {
    ozarr_mpi *m = NULL;
    bool done = false;
    const ozarr_status status[] = {ozarr_mpi_new(MPI_COMM_SELF, &m), ozarr_mpi_request_test(request, &done), ozarr_mpi_request_wait(request),
                                     ozarr_mpi_request_free(request)};
    for (int i = 0; i < 4; i++) CHECK(status[i] == OZARR_ERR_STATE);
    CHECK(strstr(ozarr_last_error(), "a thread other than that of MPI_Init") != NULL && m == NULL && !done);
    return NULL;
}

static void other_thread(void) {
    pthread_t thread;
    int level = MPI_THREAD_MULTIPLE;
    MPI_Query_thread(&level);
    if (level >= MPI_THREAD_SERIALIZED) return;
    ozarr_mpi *m = NULL;
    ozarr_array *a = NULL;
    ozarr_mpi_request *request = NULL;
    const int64_t length = ranks, start = rank;
    int32_t u = rank;
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    OK(ozarr_mpi_array_create(m, "thread.zarr", OZARR_INT32, 1, &length, NULL, OZARR_CREATE_NEW, &a));
    OK(begin_write(m, a, &start, &one, &u, sizeof u, &request));
    CHECK(pthread_create(&thread, NULL, call_in_thread, request) == 0 && pthread_join(thread, NULL) == 0);
    OK(ozarr_mpi_request_wait(request));
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_close(m));
}

/* The threads of the default context. */
static int threads(void) {
    char text[16] = "";
    OK(ozarr_context_get(NULL, "threads", text, sizeof text, NULL));
    return atoi(text);
}

/* A communicator of this rank alone does not raise its share of the processors, and what the program has set stays. */
static void shares_stay(void) {
    ozarr_mpi *all = NULL, *alone = NULL;
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &all));
    const int share = threads();
    OK(ozarr_mpi_new(MPI_COMM_SELF, &alone));
    CHECK(threads() == share);
    OK(ozarr_mpi_close(alone));
    OK(ozarr_context_set(NULL, "threads", "7"));
    OK(ozarr_mpi_new(MPI_COMM_SELF, &alone));
    CHECK(threads() == 7);
    OK(ozarr_mpi_close(alone));
    OK(ozarr_mpi_close(all));
    char text[16];
    snprintf(text, sizeof text, "%d", share);
    OK(ozarr_context_set(NULL, "threads", text));
}

int main(int argc, char **argv) {
    CHECK(late_new() == OZARR_ERR_STATE && strstr(ozarr_last_error(), "MPI_Init") != NULL);
    begin_ranks(&argc, &argv);
    ozarr_mpi *m = NULL;
    CHECK(ozarr_mpi_new(MPI_COMM_WORLD, NULL) == OZARR_ERR_NULL);
    shares_stay();
    one_rank_differs();
    other_thread();
    CHECK(ozarr_mpi_close(NULL) == OZARR_ERR_NULL);
    CHECK(ozarr_mpi_close((ozarr_mpi *)(void *)&m) == OZARR_ERR_INVALID_HANDLE);
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        try_row(i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    char location[32];
    snprintf(location, sizeof location, "left%d.zarr", rank);
    OK(ozarr_mpi_new(MPI_COMM_SELF, &left));
    OK(ozarr_mpi_array_create(left, location, OZARR_INT32, 1, &one, NULL, OZARR_CREATE_NEW, &array));
    const int status = end_ranks();
    return status + late_failures("MPI_Finalize");
}
