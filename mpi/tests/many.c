/* Many arrays and variables that are open: a call on one of them asks for nothing of the others, unless one was lost.
 *
 *   many FOLDER */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "check.h"

#include <dlfcn.h>
#include <ozarr_advanced.h>

enum { MOST = 64 };

static ozarr_mpi *m;
static long asked;

/* Counts what libozarr_mpi asks for. */
ozarr_status ozarr_node_get(const ozarr_node *node, const char *key, char *buf, size_t cap, size_t *len) {
    ozarr_status (*next)(const ozarr_node *, const char *, char *, size_t, size_t *) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "ozarr_node_get");
    asked++;
    return next(node, key, buf, cap, len);
}

/* Rank 0 makes a dataset of so many variables (`user`). */
static ozarr_status define(void *user) {
    static const char *const dims[] = {"time", "x"};
    static const int64_t chunks[] = {4, 8};
    ozarr_dataset *ds = NULL;
    ozarr_status status = ozarr_dataset_create("many.zarr", 0, OZARR_CREATE_OVERWRITE, &ds);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "time", 0);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "x", 8);
    for (int i = 0; i < *(const int *)user && status == OZARR_OK; i++) {
        ozarr_variable v = OZARR_VARIABLE_INIT;
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        v.type = OZARR_INT32, v.rank = 2, v.dimensions = dims, v.chunks = chunks;
        status = ozarr_dataset_define_variable_ex(ds, name, &v, OZARR_CREATE_NEW, NULL);
    }
    const ozarr_status closed = ds != NULL ? ozarr_dataset_close(ds) : OZARR_OK;
    return status == OZARR_OK ? closed : status;
}

static void put(ozarr_mpi_series *s, int variable, int32_t value) {
    const int64_t start = rank, count = rank < 8;
    char name[16];
    snprintf(name, sizeof name, "v%d", variable);
    OK(ozarr_mpi_series_put(m, s, name, &start, &count, OZARR_INT32, &value, sizeof value));
}

/* What a put asks for in a series of so many variables, of which each step has all; they are put in an order of their own. */
static long asked_by_put(int variables) {
    ozarr_mpi_series *s = NULL;
    long most = 0;
    OK(ozarr_mpi_once(m, define, &variables));
    OK(ozarr_mpi_series_open(m, "many.zarr", "time", -1, 0, 0, &s));
    for (int step = 0; step < 6; step++) {
        for (int i = 0; i < variables; i++) {
            asked = 0;
            put(s, (5 * i + step) % variables, 100 * i + step);
            if (asked > most) most = asked;
        }
        OK(ozarr_mpi_series_step(m, s, step));
    }
    OK(ozarr_mpi_series_close(m, s));
    return most;
}

/* Each variable has its own values. */
static void check_values(int variables) {
    for (int v = 0; v < variables; v++) {
        char path[32];
        int32_t found[6][8];
        ozarr_array *a = NULL;
        snprintf(path, sizeof path, "many.zarr/v%d", v);
        OK(ozarr_array_open(path, "r", &a));
        OK(ozarr_array_read(a, OZARR_INT32, found, sizeof found));
        for (int i = 0; i < variables; i++)
            for (int step = 0; step < 6 && (5 * i + step) % variables == v; step++) CHECK(found[step][0] == 100 * i + step);
        ozarr_array_free(a);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static ozarr_status erase(void *group) { return ozarr_group_erase(group, "v0"); }

/* What a write asks for where so many arrays are open, and where one of them was lost. */
static long asked_by_write(int arrays) {
    const int64_t start[] = {0, rank}, count[] = {1, rank < 8};
    ozarr_array *all[MOST] = {NULL};
    ozarr_group *g = NULL;
    const int32_t value = 7;
    OK(ozarr_mpi_group_open(m, "many.zarr", "r+", &g));
    for (int i = 0; i < arrays; i++) {
        char path[16];
        snprintf(path, sizeof path, "v%d", i);
        OK(ozarr_mpi_group_open_array(m, g, path, &all[i]));
    }
    asked = 0;
    OK(ozarr_mpi_array_write_all(m, all[arrays - 1], start, count, OZARR_INT32, &value, sizeof value));
    const long found = asked;
    OK(ozarr_mpi_once(m, erase, g));
    ERR(OZARR_ERR_STATE, "v0", ozarr_mpi_array_write_all(m, all[0], start, count, OZARR_INT32, &value, sizeof value));
    OK(ozarr_mpi_array_close(m, all[0]));
    OK(ozarr_mpi_array_write_all(m, all[arrays - 1], start, count, OZARR_INT32, &value, sizeof value));
    asked = 0;
    OK(ozarr_mpi_array_write_all(m, all[arrays - 1], start, count, OZARR_INT32, &value, sizeof value));
    CHECK(asked == found);
    for (int i = 1; i < arrays; i++) OK(ozarr_mpi_array_close(m, all[i]));
    OK(ozarr_mpi_group_close(m, g));
    return found;
}

int main(int argc, char **argv) {
    long puts[2], writes[2];
    begin_ranks(&argc, &argv);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    for (int i = 0; i < 2; i++) {
        const int variables = i == 0 ? 7 : MOST - 1;
        puts[i] = asked_by_put(variables);
        check_values(variables);
        writes[i] = asked_by_write(variables);
    }
    if (puts[0] != puts[1] || writes[0] != writes[1]) FAIL("puts ask %ld and %ld times, writes %ld and %ld", puts[0], puts[1], writes[0], writes[1]);
    OK(ozarr_mpi_close(m));
    return end_ranks();
}
