/* Checkpoints that all ranks write: where they are made, and what becomes of writes that were not waited for.
 *
 *   checkpoints FOLDER */
#include "check.h"

#include <unistd.h>

static ozarr_mpi *m;

enum { ROWS = 120, COLUMNS = 16 };
static const int64_t shape[] = {ROWS, COLUMNS};

/* This rank's part of each row, with elements that tell where they are, and `value`. */
static void mine(int64_t start[2], int64_t count[2], int32_t *u, int32_t value) {
    start[0] = 0, count[0] = ROWS;
    start[1] = COLUMNS * rank / ranks, count[1] = COLUMNS * (rank + 1) / ranks - start[1];
    for (int64_t i = 0; i < ROWS * count[1]; i++) u[i] = value + (int32_t)(i / count[1] * COLUMNS + start[1] + i % count[1]);
}

/* Chunks of a row, which all ranks have a part of. */
static ozarr_spec *rows(void) {
    const int64_t row[] = {1, COLUMNS};
    ozarr_spec *spec = NULL;
    OK(ozarr_spec_new(OZARR_INT32, 2, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, row));
    return spec;
}

/* Begins a checkpoint and puts the elements. */
static ozarr_group *save(const char *location, const char *name, int32_t value) {
    static int32_t u[ROWS * COLUMNS];
    int64_t start[2], count[2];
    ozarr_group *g = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = rows();
    mine(start, count, u, value);
    OK(ozarr_mpi_checkpoint_begin(m, location, name, &g));
    OK(ozarr_mpi_group_create_array(m, g, "u", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, sizeof u));
    OK(ozarr_mpi_array_close(m, a));
    ozarr_spec_free(spec);
    return g;
}

/* The newest checkpoint has all elements with that value. */
static void check_newest(const char *location, int32_t value) {
    static int32_t u[ROWS * COLUMNS];
    const int64_t zero[] = {0, 0};
    int others = 0;
    ozarr_group *g = NULL;
    OK(ozarr_mpi_checkpoint_latest(m, location, &g));
    OK(ozarr_mpi_group_get(m, g, "u", OZARR_INT32, zero, shape, u, sizeof u));
    for (int32_t i = 0; i < ROWS * COLUMNS; i++) others += u[i] != value + i;
    if (others > 0) FAIL("%d elements of %s are others than those of %d", others, location, (int)value);
    OK(ozarr_mpi_group_close(m, g));
}

/* A name that is used again is another place, which all ranks write to; the one before stays until the commit. */
static void used_again(void) {
    char folder[1024], locations[4][1200];
    CHECK(getcwd(folder, sizeof folder) != NULL);
    snprintf(locations[0], sizeof locations[0], "again.zarr");
    snprintf(locations[1], sizeof locations[1], "deep.zarr//states/");
    snprintf(locations[2], sizeof locations[2], "file://%s/suffix.zarr#mode=zarr", folder);
    snprintf(locations[3], sizeof locations[3], "file://%s/a%%20blank/states", folder);
    for (int i = 0; i < 4; i++)
        for (int32_t k = 1; k <= 4; k++) {
            ozarr_group *g = save(locations[i], "restart", 100000 * k);
            if (k > 1) check_newest(locations[i], 100000 * (k - 1));
            if (k == 3) {
                OK(ozarr_mpi_checkpoint_abandon(m, g));
                check_newest(locations[i], 200000);
                g = save(locations[i], "restart", 300000);
            }
            OK(ozarr_mpi_checkpoint_commit(m, g));
            check_newest(locations[i], 100000 * k);
        }
}

/* Locations that mean the place of the node otherwise than by its path. */
static void other_spellings(void) {
    char folder[1024], location[1200];
    const char *const below[] = {"/r.zarr/a//t", "/r.zarr/my%20t", "/r.zarr/t#mode=zarr"};
    const int64_t zero[] = {0, 0};
    static int32_t u[ROWS * COLUMNS];
    CHECK(getcwd(folder, sizeof folder) != NULL);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            ozarr_array *a = NULL;
            int64_t start[2], count[2];
            snprintf(location, sizeof location, "file://%s%s", folder, below[i]);
            mine(start, count, u, k);
            OK(ozarr_mpi_array_create(m, location, OZARR_INT32, 2, shape, NULL, OZARR_CREATE_OVERWRITE, &a));
            if (a == NULL) continue;
            OK(ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, sizeof u));
            OK(ozarr_mpi_array_close(m, a));
            OK(ozarr_mpi_array_open(m, location, "r", &a));
            OK(ozarr_mpi_array_read_all(m, a, zero, shape, OZARR_INT32, u, sizeof u));
            for (int32_t e = 0; e < ROWS * COLUMNS; e++)
                if (u[e] != k + e) FAIL("element %d of %s is %d", (int)e, location, (int)u[e]), e = ROWS * COLUMNS;
            OK(ozarr_mpi_array_close(m, a));
        }
}

/* A write elsewhere that fails is told by its wait, and is no reason to give a whole checkpoint up; one into the checkpoint is, and the message
 * says so. */
static void committed_beside_what_fails(void) {
    for (int k = 0; k < 2; k++) {
        ozarr_group *g = NULL;
        ozarr_array *a = NULL;
        ozarr_spec *spec = NULL;
        ozarr_mpi_request *q = NULL;
        int64_t start[2], count[2];
        int32_t u[ROWS * COLUMNS];
        mine(start, count, u, 100000);
        OK(ozarr_spec_new(OZARR_INT8, 2, shape, &spec));
        OK(ozarr_mpi_checkpoint_begin(m, "beside.zarr", k == 0 ? "one" : "two", &g));
        OK(ozarr_mpi_group_put(m, g, "u", OZARR_INT32, 2, shape, start, count, u, sizeof u));
        if (k == 0) OK(ozarr_mpi_array_create_ex(m, "plot.zarr/p", spec, OZARR_CREATE_OVERWRITE, &a));
        else OK(ozarr_mpi_group_create_array(m, g, "p", spec, OZARR_CREATE_NEW, &a));
        OK(begin_write(m, a, start, count, u, sizeof u, &q));
        if (k == 0) OK(ozarr_mpi_checkpoint_commit(m, g));
        else ERR(OZARR_ERR_RANGE, "the checkpoint was given up", ozarr_mpi_checkpoint_commit(m, g));
        ERR(OZARR_ERR_RANGE, "", ozarr_mpi_request_wait(q));
        OK(ozarr_mpi_array_close(m, a));
        check_newest("beside.zarr", 100000);
        ozarr_spec_free(spec);
    }
}

/* A write that was not waited for leaves nothing in the place of a checkpoint that was given up. */
static void given_up(void) {
    static int32_t u[ROWS * COLUMNS];
    int64_t start[2], count[2];
    ozarr_spec *spec = rows();
    OK(ozarr_mpi_set(m, "round_bytes", "64"));
    for (int k = 0; k < 3; k++) {
        ozarr_group *g = NULL;
        ozarr_array *a = NULL;
        ozarr_mpi_request *r = NULL;
        mine(start, count, u, 1);
        OK(ozarr_mpi_checkpoint_begin(m, "given-up.zarr", "one", &g));
        OK(ozarr_mpi_group_create_array(m, g, "u", spec, OZARR_CREATE_NEW, &a));
        OK(begin_write(m, a, start, count, u, sizeof u, &r));
        OK(ozarr_mpi_checkpoint_abandon(m, g));
        OK(ozarr_mpi_request_wait(r));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(access("given-up.zarr/one", F_OK) != 0);
        ozarr_array_free(a);
    }
    ozarr_spec_free(spec);
    OK(ozarr_mpi_set(m, "round_bytes", "33554432"));
    OK(ozarr_mpi_checkpoint_commit(m, save("given-up.zarr", "one", 7)));
    CHECK(access("given-up.zarr/one/zarr.json", F_OK) == 0);
    check_newest("given-up.zarr", 7);
}

/* A checkpoint that others began is none of these ranks' to end: it goes on, and is committed by those that can. */
static void of_others(void) {
    ozarr_status (*const ends[])(ozarr_mpi *, ozarr_group *) = {ozarr_mpi_checkpoint_commit, ozarr_mpi_checkpoint_abandon};
    ozarr_mpi *own = NULL, *shared = m;
    ozarr_group *g = NULL;
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &own));
    m = own;
    g = save("of-others.zarr", "one", 5);
    for (int i = 0; i < 2; i++) {
        ERR(OZARR_ERR_ARGUMENT, "the group was not opened by this ozarr_mpi", ends[i](shared, g));
        ERR(OZARR_ERR_NULL, "group is NULL", ends[i](shared, NULL));
    }
    OK(ozarr_mpi_checkpoint_commit(own, g));
    check_newest("of-others.zarr", 5);
    for (int i = 0; i < 2; i++) ERR(OZARR_ERR_ARGUMENT, "the group was not opened by this ozarr_mpi", ends[i](own, g));
    OK(ozarr_mpi_close(own));
    m = shared;
}

/* What a rank has written by itself, and what waits in an array that is open, also by a handle of this rank alone, is in the checkpoint. */
static void left_waiting(bool alone) {
    static int32_t u[ROWS * COLUMNS];
    int64_t start[2], count[2];
    ozarr_group *g = NULL;
    ozarr_array *a = NULL, *mine_alone = NULL;
    ozarr_spec *spec = rows();
    mine(start, count, u, 6);
    OK(ozarr_mpi_checkpoint_begin(m, "left-waiting.zarr", "one", &g));
    OK(ozarr_mpi_group_create_array(m, g, "u", spec, OZARR_CREATE_NEW, &a));
    if (alone) {
        OK(ozarr_mpi_array_close(m, a));
        OK(ozarr_group_open_array(g, "u", &mine_alone));
        a = mine_alone;
    }
    OK(ozarr_node_set(ozarr_array_node(a), "write_back", "1048576"));
    OK(ozarr_array_write_region(a, start, count, OZARR_INT32, u, sizeof u));
    OK(ozarr_mpi_checkpoint_commit(m, g));
    check_newest("left-waiting.zarr", 6);
    if (alone) ozarr_array_free(a);
    else OK(ozarr_mpi_array_close(m, a));
    ozarr_spec_free(spec);
}

/* What another job does before the call of MPI_Allreduce behind so many others; negative: nothing. */
static int calls_left = -1;
int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    if (rank == ranks - 1 && calls_left >= 0 && calls_left-- == 0) CHECK(ozarr_checkpoint_prune("removed.zarr", 0) == OZARR_OK);
    return PMPI_Allreduce(from, to, count, type, op, comm);
}

/* A checkpoint that another job removes at any moment of a read: its elements are read, and not the fill value. */
static void removed_meanwhile(void) {
    const int64_t zero[] = {0, 0};
    int removed = 1, missed = 0;
    for (int after = 0; removed; after++) {
        static int32_t u[ROWS * COLUMNS];
        int others = 0;
        ozarr_group *g = NULL;
        OK(ozarr_mpi_checkpoint_commit(m, save("removed.zarr", "one", 1)));
        OK(ozarr_mpi_checkpoint_latest(m, "removed.zarr", &g));
        calls_left = after;
        const ozarr_status status = ozarr_mpi_group_get(m, g, "u", OZARR_INT32, zero, shape, u, sizeof u);
        removed = calls_left < 0, calls_left = -1;
        MPI_Bcast(&removed, 1, MPI_INT, ranks - 1, MPI_COMM_WORLD);
        for (int32_t i = 0; i < ROWS * COLUMNS; i++) others += u[i] != 1 + i;
        if (status == OZARR_OK && others > 0) FAIL("%d elements are others than those of the checkpoint, removed after %d calls", others, after);
        if (status != OZARR_OK && status != OZARR_ERR_NOT_FOUND) FAIL("%s after %d calls: %s", ozarr_status_name(status), after, ozarr_last_error());
        if (status != OZARR_OK) CHECK(removed && same_everywhere(ozarr_last_error()));
        missed += status != OZARR_OK;
        OK(ozarr_mpi_group_close(m, g));
    }
    CHECK(missed > 1);
}

int main(int argc, char **argv) {
    begin_ranks(&argc, &argv);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    used_again();
    other_spellings();
    committed_beside_what_fails();
    given_up();
    of_others();
    left_waiting(false);
    left_waiting(true);
    removed_meanwhile();
    OK(ozarr_mpi_close(m));
    return end_ranks();
}
