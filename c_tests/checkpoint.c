/* Checkpoints: committed as a whole, listed, pruned, replaced, given up; written by several processes. */
#define _POSIX_C_SOURCE 200809L
#include "table.h"
#include <sys/wait.h>
#include <unistd.h>

enum { N = 6 };
static const int64_t SHAPE[] = {N, N};

static void make(const char *where, const char *name, int64_t step) {
    double u[N][N];
    ozarr_group *g = NULL;
    for (int i = 0; i < N * N; i++) u[i / N][i % N] = (double)(step * 100 + i);
    OK(ozarr_checkpoint_begin(where, name, &g));
    OK(ozarr_group_put(g, "u", OZARR_FLOAT64, 2, SHAPE, u, sizeof u));
    OK(ozarr_group_put(g, "more/v", OZARR_FLOAT64, 2, SHAPE, u, sizeof u));
    OK(ozarr_attr_set_double(ozarr_group_node(g), "time", 0.5 * (double)step));
    OK(ozarr_attr_set_int64(ozarr_group_node(g), "step", step));
    OK(ozarr_checkpoint_commit(g));
}

static void check_newest(const char *where, int64_t expected) {
    double u[N][N], v[N][N], time = 0;
    int64_t step = 0;
    ozarr_group *g = NULL;
    OK(ozarr_checkpoint_latest(where, &g));
    OK(ozarr_group_get(g, "u", OZARR_FLOAT64, u, sizeof u));
    OK(ozarr_group_get(g, "more/v", OZARR_FLOAT64, v, sizeof v));
    OK(ozarr_attr_get_int64(ozarr_group_node(g), "step", &step));
    OK(ozarr_attr_get_double(ozarr_group_node(g), "time", &time));
    EQUAL(step, expected);
    CHECK(time == 0.5 * (double)expected);
    for (int i = 0; i < N * N; i++) CHECK(u[i / N][i % N] == (double)(expected * 100 + i) && v[i / N][i % N] == u[i / N][i % N]);
    ozarr_group_free(g);
}

/* The names in one text. */
static const char *listing(const char *where) {
    static char all[256];
    char name[64];
    ozarr_node_iter *it = NULL;
    bool more = false;
    all[0] = 0;
    OK(ozarr_checkpoint_list(where, &it));
    while (ozarr_node_iter_next(it, &more) == OZARR_OK && more) {
        OK(ozarr_node_iter_name(it, name, sizeof name, NULL));
        strcat(strcat(all, name), " ");
    }
    ozarr_node_iter_free(it);
    return all;
}

static void commit_and_prune(const char *where) {
    ozarr_group *g = NULL;
    double u[N][N] = {{0}};
    char name[32], place[64];
    ERR(OZARR_ERR_NOT_FOUND, ozarr_checkpoint_latest(where, &g));
    for (int64_t step = 1; step < 5; step++) {
        snprintf(name, sizeof name, "step-%d", (int)step);
        make(where, name, step);
        check_newest(where, step);
    }
    TEXT(listing(where), "step-1 step-2 step-3 step-4 ");
    /* One that is being written is not there, for nobody. */
    OK(ozarr_checkpoint_begin(where, "step-5", &g));
    OK(ozarr_group_put(g, "u", OZARR_FLOAT64, 2, SHAPE, u, sizeof u));
    snprintf(place, sizeof place, "%s/step-5", where);
    ozarr_group *other = NULL;
    ERR(OZARR_ERR_NOT_FOUND, ozarr_group_open(place, "r", &other));
    TEXT(listing(where), "step-1 step-2 step-3 step-4 ");
    OK(ozarr_checkpoint_abandon(g));
    OK(ozarr_checkpoint_prune(where, 2));
    TEXT(listing(where), "step-3 step-4 ");
    check_newest(where, 4);
    /* The same name again: the old one stays until the new one is committed. */
    make(where, "step-4", 6);
    check_newest(where, 6);
    TEXT(listing(where), "step-3 step-4.5 ");
    OK(ozarr_checkpoint_prune(where, 0));
    TEXT(listing(where), "");
    ERR(OZARR_ERR_NOT_FOUND, ozarr_checkpoint_latest(where, &g));
}

/* Writes the rows of one of several processes, of a checkpoint that another one has begun and not committed. */
static int write_rows(const char *array, int64_t first, int64_t rows) {
    double u[N][N];
    ozarr_array *a = NULL;
    const int64_t start[] = {first, 0}, shape[] = {rows, N};
    for (int64_t i = 0; i < rows * N; i++) u[i / N][i % N] = (double)(200 + first * N + i);
    if (ozarr_array_open(array, "r+", &a) || ozarr_array_write_region(a, start, shape, OZARR_FLOAT64, u, sizeof u)) return 1;
    return ozarr_array_close(a) ? 2 : 0;
}

/* A child of fork has a copy of the handle: it neither commits nor gives up what the parent still writes. */
static void a_child_of_fork_leaves_the_checkpoint_to_its_parent(void) {
    static ozarr_status (*const ENDS[])(ozarr_group *) = {ozarr_checkpoint_commit, ozarr_checkpoint_abandon};
    double u[N][N] = {{0}};
    ozarr_group *g = NULL;
    make("forked.zarr", "one", 1);
    OK(ozarr_checkpoint_begin("forked.zarr", "two", &g));
    OK(ozarr_group_put(g, "u", OZARR_FLOAT64, 2, SHAPE, u, sizeof u));
    OK(ozarr_attr_set_int64(ozarr_group_node(g), "step", 2));
    for (int i = 0; i < 2; i++) {
        int result = -1;
        pid_t child = fork();
        if (child == 0) _exit(ENDS[i](g) == OZARR_ERR_FORKED ? 0 : 1);
        CHECK(child > 0 && waitpid(child, &result, 0) == child);
        EQUAL(result, 0);
        check_newest("forked.zarr", 1);
    }
    OK(ozarr_checkpoint_commit(g));
    OK(ozarr_checkpoint_latest("forked.zarr", &g));
    int64_t step = 0;
    OK(ozarr_attr_get_int64(ozarr_group_node(g), "step", &step));
    EQUAL(step, 2);
    ozarr_group_free(g);
}

/* Two other processes write the regions of one checkpoint, in chunks that both have a part of; readers have the one before until the commit. */
static void processes_write_one_checkpoint(void) {
    enum { WRITERS = 2 };
    double u[N][N] = {{0}};
    pid_t writers[WRITERS];
    ozarr_group *g = NULL;
    make("shared.zarr", "one", 1);
    OK(ozarr_checkpoint_begin("shared.zarr", "two", &g));
    OK(ozarr_group_put(g, "u", OZARR_FLOAT64, 2, SHAPE, u, sizeof u));
    OK(ozarr_attr_set_int64(ozarr_group_node(g), "step", 2));
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] == 0) _exit(write_rows("shared.zarr/two/u", i * N / WRITERS, N / WRITERS));
    }
    check_newest("shared.zarr", 1);
    for (int i = 0; i < WRITERS; i++) {
        int result = -1;
        CHECK(writers[i] > 0 && waitpid(writers[i], &result, 0) == writers[i]);
        EQUAL(result, 0);
    }
    check_newest("shared.zarr", 1);
    OK(ozarr_checkpoint_commit(g));
    OK(ozarr_checkpoint_latest("shared.zarr", &g));
    OK(ozarr_group_get(g, "u", OZARR_FLOAT64, u, sizeof u));
    for (int i = 0; i < N * N; i++) CHECK(u[i / N][i % N] == (double)(200 + i));
    ozarr_group_free(g);
}

int main(void) {
    ozarr_group *g = NULL;
    commit_and_prune("checkpoints.zarr");
    a_child_of_fork_leaves_the_checkpoint_to_its_parent();
    processes_write_one_checkpoint();
    commit_and_prune("run.zarr/a/checkpoints");
    TEXT(listing("none.zarr"), "");
    OK(ozarr_checkpoint_prune("none.zarr", 1));
    ERR_SAYS(OZARR_ERR_NAME, "a/b", "", ozarr_checkpoint_begin("checkpoints.zarr", "a/b", &g));
    OK(ozarr_group_create("plain.zarr/g", OZARR_CREATE_NEW, &g));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "no checkpoint", "", ozarr_checkpoint_commit(g));
    ERR_SAYS(OZARR_ERR_EXISTS, "g", "no checkpoint", ozarr_checkpoint_begin("plain.zarr", "g", &g));
    /* An archive has what was committed when it is closed; nothing can be removed from it. */
    make("archive.zip", "first", 1);
    make("archive.zip", "second", 2);
    check_newest("archive.zip", 2);
    ERR(OZARR_ERR_UNSUPPORTED, ozarr_checkpoint_prune("archive.zip", 1));
    /* Nor what was begun and never committed, as by a run that was killed: its name can be used all the same. */
    double u[N][N] = {{0}};
    OK(ozarr_checkpoint_begin("archive.zip", "third", &g));
    OK(ozarr_group_put(g, "u", OZARR_FLOAT64, 2, SHAPE, u, sizeof u));
    ozarr_group_free(g);
    make("archive.zip", "third", 3);
    check_newest("archive.zip", 3);
    TEXT(listing("archive.zip"), "first second third.4 ");
    return finish();
}
