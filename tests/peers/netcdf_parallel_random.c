/* Random programs of netCDF's parallel functions: ranks write and read variables together or each by itself, which grow, and what any rank reads is what
 * a model in its memory has.
 *
 *   mpirun -n N netcdf_parallel_random PATH [PROGRAMS [SEED]] */
#include "../../c_tests/random.h"
#include <mpi.h>
#include <netcdf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nc_create_par(const char *path, int mode, MPI_Comm comm, MPI_Info info, int *id);
int nc_open_par(const char *path, int mode, MPI_Comm comm, MPI_Info info, int *id);
int nc_var_par_access(int id, int var, int access);
enum { INDEPENDENT, COLLECTIVE };

enum { VARS = 6, STEPS = 10, ROWS = 7, COLUMNS = 9, CALLS = 40 };

static int rank, ranks, call_now;
static unsigned long long seed_now;
static numbers state; /* the same on all ranks */
static const char *path, *what;
static int file, time_dim, row_dim, column_dim;
static size_t length; /* of time */

/* A variable of time (where it grows), rows and columns, and what it should hold. */
static struct {
    int id, rank, access;
    bool grows;
    size_t shape[3];
    int fill, expected[STEPS * ROWS * COLUMNS];
} vars[VARS];
static int var_count;

static void stop(void) {
    fprintf(stderr, "rank %d: seed %llu, call %d, %s\n", rank, seed_now, call_now, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(int status, const char *call, int line) {
    if (status == NC_NOERR) return;
    fprintf(stderr, "rank %d, line %d: %s is %d (%s)\n", rank, line, call, status, nc_strerror(status));
    stop();
}
#define CHECK(CALL) check(CALL, #CALL, __LINE__)

static void define_var(void) {
    char name[16];
    int dims[3], v = var_count, n = 0;
    size_t chunks[3];
    if (v == VARS) return;
    what = "define";
    vars[v].grows = pick(&state, 0, 2) > 0;
    if (vars[v].grows) dims[n] = time_dim, vars[v].shape[n++] = STEPS;
    if (pick(&state, 0, 2)) dims[n] = row_dim, vars[v].shape[n++] = ROWS;
    if (pick(&state, 0, 2)) dims[n] = column_dim, vars[v].shape[n++] = COLUMNS;
    snprintf(name, sizeof name, "v%d", v);
    CHECK(nc_def_var(file, name, NC_INT, n, dims, &vars[v].id));
    vars[v].rank = n, vars[v].fill = (int)pick(&state, -3, 3);
    CHECK(nc_def_var_fill(file, vars[v].id, NC_FILL, &vars[v].fill));
    if (n && pick(&state, 0, 1)) {
        for (int d = 0; d < n; d++) chunks[d] = (size_t)pick(&state, 1, (int64_t)(vars[v].shape[d] < 5 ? vars[v].shape[d] : 5));
        CHECK(nc_def_var_chunking(file, vars[v].id, NC_CHUNKED, chunks));
    }
    vars[v].access = n && pick(&state, 0, 2) == 0 ? COLLECTIVE : INDEPENDENT;
    if (vars[v].access == COLLECTIVE) CHECK(nc_def_var_deflate(file, vars[v].id, 0, 1, 1)); /* variables with filters are collective */
    for (int i = 0; i < STEPS * ROWS * COLUMNS; i++) vars[v].expected[i] = vars[v].fill;
    var_count++;
}

/* A box of a variable, `limit` long in time. */
static void box(int v, size_t limit, size_t *start, size_t *count) {
    for (int d = 0; d < vars[v].rank; d++) {
        const size_t most = d == 0 && vars[v].grows ? limit : vars[v].shape[d];
        start[d] = most ? (size_t)pick(&state, 0, (int64_t)most - 1) : 0;
        count[d] = most ? (size_t)pick(&state, 1, (int64_t)(most - start[d])) : 0;
    }
}

static size_t volume(int v, const size_t *count) {
    size_t n = 1;
    for (int d = 0; d < vars[v].rank; d++) n *= count[d];
    return n;
}

/* Where element number `i` of a box is in the model. */
static size_t place(int v, const size_t *start, const size_t *count, size_t i) {
    size_t at[3], p = 0;
    for (int d = vars[v].rank - 1; d >= 0; d--) at[d] = i % count[d] + start[d], i /= count[d];
    for (int d = 0; d < vars[v].rank; d++) p = p * vars[v].shape[d] + at[d];
    return p;
}

/* All ranks write parts of a box: together, or those that have one. */
static void put(void) {
    const int v = (int)pick(&state, 0, var_count - 1);
    size_t whole[3], counts[3];
    int data[STEPS * ROWS * COLUMNS];
    what = "put";
    box(v, length + 2 < STEPS ? length + 2 : STEPS, whole, counts);
    const int along = vars[v].rank ? (int)pick(&state, 0, vars[v].rank - 1) : -1, salt = (int)pick(&state, 1, 1 << 20), turn = (int)pick(&state, 0, ranks - 1);
    for (int r = 0; r < ranks; r++) {
        const size_t k = (size_t)((r + turn) % ranks), n = along < 0 ? 1 : counts[along];
        const size_t first = along < 0 ? 0 : n * k / (size_t)ranks, end = along < 0 ? k == 0 : n * (k + 1) / (size_t)ranks;
        size_t start[3] = {0}, count[3] = {0};
        memcpy(start, whole, sizeof start);
        memcpy(count, counts, sizeof count);
        if (along >= 0) start[along] += first, count[along] = end - first;
        const bool none = end == first;
        if (none && vars[v].access == INDEPENDENT) continue;
        for (int d = 0; d < vars[v].rank && none; d++) start[d] = count[d] = 0;
        const size_t elements = none ? 0 : volume(v, count);
        for (size_t i = 0; i < elements; i++) {
            const int value = salt + (int)i + 1000 * r;
            vars[v].expected[place(v, start, count, i)] = value;
            if (r == rank) data[i] = value;
        }
        if (r == rank && (vars[v].rank || !none)) CHECK(nc_put_vara_int(file, vars[v].id, start, count, data));
    }
    if (vars[v].grows && volume(v, counts) && whole[0] + counts[0] > length) length = whole[0] + counts[0];
    if (vars[v].access == INDEPENDENT) CHECK(nc_sync(file));
}

static void get(void) {
    const int v = (int)pick(&state, 0, var_count - 1);
    size_t start[3] = {0}, count[3] = {0}, other_start[3], other_count[3];
    int data[STEPS * ROWS * COLUMNS];
    what = "get";
    for (int r = 0; r < ranks; r++) {
        box(v, length, other_start, other_count);
        if (r == rank) memcpy(start, other_start, sizeof start), memcpy(count, other_count, sizeof count);
    }
    CHECK(nc_get_vara_int(file, vars[v].id, start, count, data));
    for (size_t i = 0; i < volume(v, count); i++) {
        const int expected = vars[v].expected[place(v, start, count, i)];
        if (data[i] == expected) continue;
        fprintf(stderr, "v%d (%s): element %zu of the box is %d, expected %d\n", v, vars[v].access ? "collective" : "independent", i, data[i], expected);
        stop();
    }
    MPI_Barrier(MPI_COMM_WORLD); /* before others change what is read by each alone */
}

static void check_length(void) {
    size_t found;
    CHECK(nc_inq_dimlen(file, time_dim, &found));
    if (found == length) return;
    fprintf(stderr, "time is %zu long, expected %zu\n", found, length);
    stop();
}

static void open_again(void) {
    what = "open again";
    CHECK(nc_close(file));
    CHECK(nc_open_par(path, NC_WRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
    check_length();
    for (int v = 0; v < var_count; v++) { /* what is said of variables is of the open file */
        vars[v].access = vars[v].rank && pick(&state, 0, 1);
        CHECK(nc_var_par_access(file, vars[v].id, vars[v].access));
    }
}

static void any_call(void) {
    const int64_t kind = pick(&state, 0, 19);
    if (!var_count || kind == 0) {
        what = "redef";
        CHECK(nc_redef(file));
        define_var();
        CHECK(nc_enddef(file));
    } else if (kind < 9) put();
    else if (kind < 15) get();
    else if (kind == 15) {
        const int v = (int)pick(&state, 0, var_count - 1);
        what = "access";
        CHECK(nc_sync(file)); /* what was written together may wait until then */
        vars[v].access = vars[v].rank && pick(&state, 0, 1);
        CHECK(nc_var_par_access(file, vars[v].id, vars[v].access));
    } else if (kind == 16) {
        what = "sync";
        CHECK(nc_sync(file));
        check_length();
    } else if (kind == 17) {
        const int value = (int)pick(&state, 0, 1000);
        what = "attribute";
        CHECK(nc_put_att_int(file, pick(&state, 0, var_count) ? vars[0].id : NC_GLOBAL, "a", NC_INT, 1, &value));
    } else if (kind == 18) open_again();
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    path = argv[1];
    const int programs = argc > 2 ? atoi(argv[2]) : 20;
    const unsigned long long seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    for (int i = 0; i < programs; i++) {
        state.state = seed_now = seed + (unsigned)i;
        var_count = 0, length = 0, call_now = -1, what = "create";
        CHECK(nc_create_par(path, NC_CLOBBER | NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
        CHECK(nc_def_dim(file, "time", NC_UNLIMITED, &time_dim));
        CHECK(nc_def_dim(file, "row", ROWS, &row_dim));
        CHECK(nc_def_dim(file, "column", COLUMNS, &column_dim));
        for (int v = 0; v < 3; v++) define_var();
        CHECK(nc_enddef(file));
        for (call_now = 0; call_now < CALLS; call_now++) any_call();
        open_again();
        for (call_now = CALLS; call_now < CALLS + 10; call_now++) get();
        CHECK(nc_close(file));
    }
    if (rank == 0) printf("%d programs on %d ranks\n", programs, ranks);
    MPI_Finalize();
    return 0;
}
