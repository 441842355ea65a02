/* A model of some ranks that writes one file by netCDF's parallel functions, and reads it again; the same file for any number of ranks.
 *
 *   mpirun -n N netcdf_parallel PATH [alone]     alone: by nc_create, in one process
 *
 * netCDF-C without MPI has these functions, too, but no header of them. */
#include <errno.h>
#include <mpi.h>
#include <netcdf.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

int nc_create_par(const char *path, int mode, MPI_Comm comm, MPI_Info info, int *id);
int nc_open_par(const char *path, int mode, MPI_Comm comm, MPI_Info info, int *id);
int nc_var_par_access(int id, int var, int access);
enum { INDEPENDENT, COLLECTIVE };

enum { STEPS = 5, LEVELS = 6, ROWS = 12, COLUMNS = 10 };

static int rank, ranks;
static bool parallel;

static void check(int status, int wanted, const char *call, int line) {
    if (status == wanted) return;
    fprintf(stderr, "rank %d, line %d: %s is %d (%s), expected %d\n", rank, line, call, status, nc_strerror(status), wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}
#define FAILS(CALL, STATUS) check(CALL, STATUS, #CALL, __LINE__)
#define CHECK(CALL) check(CALL, NC_NOERR, #CALL, __LINE__)

static int create(const char *path, int mode, int *id) {
    return parallel ? nc_create_par(path, mode | NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, id) : nc_create(path, mode | NC_NETCDF4, id);
}

static int reopen(const char *path, int mode, int *id) {
    return parallel ? nc_open_par(path, mode, MPI_COMM_WORLD, MPI_INFO_NULL, id) : nc_open(path, mode, id);
}



static float value(size_t step, size_t level, size_t row, size_t column) {
    return (float)(((step * LEVELS + level) * ROWS + row) * COLUMNS + column);
}

/* The rows of this rank: some have one more, some may have none. */
static void rows(size_t *first, size_t *count) {
    *first = (size_t)rank * ROWS / (size_t)ranks;
    *count = (size_t)(rank + 1) * ROWS / (size_t)ranks - *first;
}

static void fill(float *block, size_t step, size_t first, size_t count) {
    for (size_t l = 0; l < LEVELS; l++)
        for (size_t r = 0; r < count; r++)
            for (size_t c = 0; c < COLUMNS; c++) *block++ = value(step, l, first + r, c);
}

typedef struct ids {
    int file, group, time, lat, t, packed, w, count, name;
} ids;

/* Types of the program's own, on all ranks. */
static void define_types(int file) {
    int sky, pair;
    const struct {
        signed char sky;
        int n;
    } value = {3, 7};
    CHECK(nc_def_enum(file, NC_BYTE, "sky_t", &sky));
    CHECK(nc_insert_enum(file, sky, "clear", &value.sky));
    CHECK(nc_def_compound(file, sizeof value, "pair_t", &pair));
    CHECK(nc_insert_compound(file, pair, "sky", 0, sky));
    CHECK(nc_insert_compound(file, pair, "n", sizeof(int), NC_INT));
    CHECK(nc_put_att(file, NC_GLOBAL, "pair", pair, 1, &value));
}

static void define(ids *i) {
    int dims[4], letters;
    size_t chunks[4] = {2, 4, 5, COLUMNS};
    CHECK(nc_def_dim(i->file, "time", NC_UNLIMITED, &dims[0]));
    CHECK(nc_def_dim(i->file, "level", LEVELS, &dims[1]));
    CHECK(nc_def_dim(i->file, "lat", ROWS, &dims[2]));
    CHECK(nc_def_dim(i->file, "lon", COLUMNS, &dims[3]));
    CHECK(nc_def_dim(i->file, "letters", 4, &letters));
    CHECK(nc_def_var(i->file, "time", NC_DOUBLE, 1, dims, &i->time));
    CHECK(nc_def_var(i->file, "lat", NC_FLOAT, 1, &dims[2], &i->lat));
    CHECK(nc_def_var(i->file, "t", NC_FLOAT, 4, dims, &i->t));
    CHECK(nc_put_att_text(i->file, i->t, "units", 1, "K"));
    CHECK(nc_def_var_chunking(i->file, i->t, NC_CHUNKED, chunks));
    CHECK(nc_def_var_deflate(i->file, i->t, 1, 1, 1));
    CHECK(nc_def_var(i->file, "packed", NC_SHORT, 2, &dims[2], &i->packed));
    CHECK(nc_def_var(i->file, "count", NC_INT, 0, NULL, &i->count));
    dims[1] = letters;
    CHECK(nc_def_var(i->file, "name", NC_CHAR, 1, &letters, &i->name));
    CHECK(nc_def_grp(i->file, "g", &i->group));
    CHECK(nc_def_var(i->group, "w", NC_INT64, 1, dims, &i->w));
    CHECK(nc_put_att_text(i->file, NC_GLOBAL, "title", 3, "par"));
    define_types(i->file);
    CHECK(nc_enddef(i->file));
    if (!parallel) return;
    CHECK(nc_var_par_access(i->file, i->packed, COLLECTIVE));
    CHECK(nc_var_par_access(i->file, i->count, COLLECTIVE));
    CHECK(nc_var_par_access(i->file, i->time, COLLECTIVE));
    CHECK(nc_var_par_access(i->file, i->name, COLLECTIVE));
    FAILS(nc_var_par_access(i->file, 99, COLLECTIVE), NC_ENOTVAR);
    FAILS(nc_var_par_access(i->file, i->t, 7), NC_EINVAL);
}

static void write_steps(const ids *i) {
    float *block = malloc(sizeof(float) * LEVELS * ROWS * COLUMNS);
    size_t first, count, len;
    double packed[ROWS * COLUMNS], latitude;
    rows(&first, &count);
    for (size_t step = 0; step < STEPS; step++) {
        size_t start[4] = {step, 0, first, 0}, counts[4] = {1, LEVELS, count, COLUMNS}, one = 1;
        double now = (double)step;
        fill(block, step, first, count);
        CHECK(nc_put_vara_float(i->file, i->t, start, counts, block));
        /* All write the same value. */
        CHECK(nc_put_vara_double(i->file, i->time, &step, &one, &now));
        CHECK(nc_inq_dimlen(i->file, 0, &len));
        FAILS(len == step + 1 ? NC_NOERR : NC_EDIMSIZE, NC_NOERR);
        if (parallel && step == 2) CHECK(nc_sync(i->file));
    }
    /* Elements of several ranks in a chunk, independently; and by different shares, converted, together. */
    for (size_t r = first; r < first + count; r++) {
        latitude = -90 + 15 * (double)r;
        CHECK(nc_put_var1_double(i->file, i->lat, &r, &latitude));
    }
    size_t start[2] = {0, (size_t)rank * COLUMNS / (size_t)ranks}, counts[2] = {ROWS, 0};
    counts[1] = (size_t)(rank + 1) * COLUMNS / (size_t)ranks - start[1];
    for (size_t k = 0; k < counts[0] * counts[1]; k++) packed[k] = (double)(k / counts[1] * 100 + start[1] + k % counts[1]) + 0.25;
    CHECK(nc_put_vara_double(i->file, i->packed, start, counts, packed));
    CHECK(nc_put_var_int(i->file, i->count, &(int){42}));
    size_t letters[2] = {0, rank == ranks - 1 ? 4 : 0};
    CHECK(nc_put_vara_text(i->file, i->name, &letters[0], &letters[1], "abcd"));
    /* One rank lengthens a variable that is not collective; the others know it after nc_sync. */
    if (rank == ranks - 1) CHECK(nc_put_vara_longlong(i->group, i->w, &(size_t){STEPS}, &(size_t){2}, (long long[]){7, 8}));
    CHECK(nc_sync(i->file));
    CHECK(nc_inq_dimlen(i->file, 0, &len));
    FAILS(len == STEPS + 2 ? NC_NOERR : NC_EDIMSIZE, NC_NOERR);
    free(block);
}

/* Errors of one rank in calls whose memory is mapped, found before the elements are laid one behind the other. */
static void map_wrong(const ids *i) {
    const size_t corner[2] = {ROWS - 1, COLUMNS - 2};
    const ptrdiff_t map[2] = {2, 1};
    const struct wrong {
        size_t count[2];
        ptrdiff_t stride[2];
        int status;
    } cases[] = {{{1, (size_t)-1}, {1, 1}, NC_EEDGE}, {{1, 3}, {1, 1}, NC_EEDGE}, {{1, 2}, {1, 0}, NC_ESTRIDE}};
    const struct wrong right = {{1, 2}, {1, 1}, NC_NOERR};
    short values[2] = {-1, -2}, found[3];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const struct wrong *mine = rank == 0 ? &cases[k] : &right;
        FAILS(nc_put_varm_short(i->file, i->packed, corner, mine->count, mine->stride, map, values), mine->status);
        found[0] = found[1] = 0;
        FAILS(nc_get_varm_short(i->file, i->packed, corner, mine->count, mine->stride, map, found), mine->status);
        if (rank != 0) FAILS(found[0] == -1 && found[1] == -2 ? NC_NOERR : NC_EIO, NC_NOERR);
    }
    char letters[2] = {'a', 'b'};
    if (rank == 0) FAILS(nc_put_varm_text(i->file, i->packed, corner, right.count, right.stride, map, letters), NC_ECHAR);
    else CHECK(nc_put_varm_short(i->file, i->packed, corner, right.count, right.stride, map, values));
}

/* Errors of one rank are no errors of the others, whose elements are stored; and nobody waits. */
static void write_wrong(const ids *i) {
    short values[2] = {-1, -2};
    size_t wrong[2] = {ROWS, 0}, right[2] = {ROWS - 1, COLUMNS - 2}, count[2] = {1, 2};
    if (rank == 0) FAILS(nc_put_vara_short(i->file, i->packed, wrong, count, values), NC_EINVALCOORDS);
    else CHECK(nc_put_vara_short(i->file, i->packed, right, count, values));
    if (ranks == 1) CHECK(nc_put_vara_short(i->file, i->packed, right, count, values));
    /* Steps are moved by each rank alone. */
    size_t strided[2] = {0, 0}, counts[2] = {ROWS / 2, rank == 0 ? 1 : 0};
    ptrdiff_t stride[2] = {2, 1};
    short minus[ROWS / 2] = {-5, -5, -5, -5, -5, -5};
    CHECK(nc_put_vars_short(i->file, i->packed, strided, counts, rank == 0 ? stride : NULL, minus));
    if (parallel) map_wrong(i);
}

static void read_back(const char *path) {
    int file, t, packed;
    float *block = malloc(2 * sizeof(float) * LEVELS * ROWS * COLUMNS), *wanted = block + LEVELS * ROWS * COLUMNS;
    size_t first, count;
    CHECK(reopen(path, NC_NOWRITE, &file));
    CHECK(nc_inq_varid(file, "t", &t));
    CHECK(nc_inq_varid(file, "packed", &packed));
    rows(&first, &count);
    for (int access = INDEPENDENT; access <= COLLECTIVE; access++) {
        CHECK(nc_var_par_access(file, t, access));
        for (size_t step = 0; step < STEPS; step++) {
            size_t start[4] = {step, 0, first, 0}, counts[4] = {1, LEVELS, count, COLUMNS};
            fill(wanted, step, first, count);
            memset(block, 1, sizeof(float) * LEVELS * ROWS * COLUMNS);
            CHECK(nc_get_vara_float(file, t, start, counts, block));
            FAILS(memcmp(block, wanted, sizeof(float) * LEVELS * count * COLUMNS) ? NC_EIO : NC_NOERR, NC_NOERR);
        }
    }
    size_t start[4] = {STEPS + 2, 0, 0, 0}, counts[4] = {1, 1, 1, 1};
    if (rank == 0) FAILS(nc_get_vara_float(file, t, start, counts, block), NC_EINVALCOORDS);
    else start[0] = 0, CHECK(nc_get_vara_float(file, t, start, counts, block));
    FAILS(nc_put_vara_float(file, t, start, counts, block), NC_EPERM);
    CHECK(nc_close(file));
    free(block);
}

/* Appends two steps to what is there, with a new variable and a new attribute. */
static void append(const char *path) {
    int file, t, v, dims[2];
    float *block = malloc(sizeof(float) * LEVELS * ROWS * COLUMNS);
    size_t first, count;
    CHECK(reopen(path, NC_WRITE, &file));
    CHECK(nc_inq_varid(file, "t", &t));
    CHECK(nc_inq_dimid(file, "time", &dims[0]));
    CHECK(nc_inq_dimid(file, "lat", &dims[1]));
    CHECK(nc_redef(file));
    CHECK(nc_def_var(file, "later", NC_FLOAT, 2, dims, &v));
    CHECK(nc_put_att_text(file, NC_GLOBAL, "history", 8, "appended"));
    CHECK(nc_enddef(file));
    if (parallel) CHECK(nc_var_par_access(file, NC_GLOBAL, COLLECTIVE));
    rows(&first, &count);
    for (size_t step = STEPS; step < STEPS + 2; step++) {
        size_t start[4] = {step, 0, first, 0}, counts[4] = {1, LEVELS, count, COLUMNS};
        fill(block, step, first, count);
        CHECK(nc_put_vara_float(file, t, start, counts, block));
        start[1] = first, counts[1] = count;
        for (size_t r = 0; r < count; r++) block[r] = value(step, 0, first + r, 0);
        CHECK(nc_put_vara_float(file, v, start, counts, block));
    }
    CHECK(nc_close(file));
    free(block);
}

/* Elements of one chunk that wait on each rank, then some that all write together: all are there. */
static void change_access(int file, int var) {
    int back[8], mine = 20 + rank, ours = 30 + rank;
    CHECK(nc_put_var1_int(file, var, &(size_t){(size_t)rank}, &mine));
    CHECK(nc_var_par_access(file, var, COLLECTIVE));
    CHECK(nc_put_var1_int(file, var, &(size_t){4 + (size_t)rank}, &ours));
    CHECK(nc_get_var_int(file, var, back));
    for (int r = 0; r < ranks; r++) FAILS(back[r] == 20 + r && back[4 + r] == 30 + r ? NC_NOERR : NC_EIO, NC_NOERR);
    CHECK(nc_var_par_access(file, var, INDEPENDENT));
    mine = 40 + rank;
    CHECK(nc_put_var1_int(file, var, &(size_t){(size_t)rank}, &mine));
    CHECK(nc_sync(file));
    CHECK(nc_get_var_int(file, var, back));
    for (int r = 0; r < ranks; r++) FAILS(back[r] == 40 + r && back[4 + r] == 30 + r ? NC_NOERR : NC_EIO, NC_NOERR);
}

/* What a rank stored is what the others read after nc_sync, also a second time, and after its variable and group have other names. */
static void share(const char *path) {
    int file, group, dim, v, found;
    CHECK(create(path, NC_CLOBBER, &file));
    CHECK(nc_def_dim(file, "x", 8, &dim));
    CHECK(nc_def_grp(file, "g", &group));
    CHECK(nc_def_var(group, "v", NC_INT, 1, &dim, &v));
    CHECK(nc_enddef(file));
    for (int turn = 0; turn < 4; turn++) {
        if (turn % ranks == rank) CHECK(nc_put_var1_int(group, v, &(size_t){3}, &turn));
        CHECK(nc_sync(file));
        CHECK(nc_get_var1_int(group, v, &(size_t){3}, &found));
        FAILS(found == turn ? NC_NOERR : NC_EIO, NC_NOERR);
        MPI_Barrier(MPI_COMM_WORLD);
        if (turn == 1) CHECK(nc_rename_var(group, v, "renamed"));
        if (turn == 2) CHECK(nc_rename_grp(group, "h"));
    }
    change_access(group, v);
    CHECK(nc_close(file));
    CHECK(create(path, NC_CLOBBER, &file));
    CHECK(nc_abort(file));
    FAILS(reopen(path, NC_NOWRITE, &file) ? 1 : 0, 1);
}

/* Lets files have no more bytes than that, as on a full disk; gives how many they could have before. */
static rlim_t limit_files(rlim_t most) {
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &limit);
    return before;
}

/* nc_abort after definitions that the first rank could not store ends on all ranks, and removes the file. */
static void abort_on_full_disk(const char *path) {
    int file, dim, found;
    char history[4000];
    memset(history, 'h', sizeof history);
    CHECK(create(path, NC_CLOBBER, &file));
    CHECK(nc_def_dim(file, "x", 8, &dim));
    CHECK(nc_def_dim(file, "t", NC_UNLIMITED, &found));
    CHECK(nc_def_var(file, "v", NC_INT, 1, &dim, &found));
    CHECK(nc_put_att_text(file, NC_GLOBAL, "history", sizeof history, history));
    const rlim_t before = limit_files(2048);
    found = nc_enddef(file);
    limit_files(before);
    FAILS(found ? NC_NOERR : NC_EIO, NC_NOERR);
    CHECK(nc_abort(file));
    FAILS(reopen(path, NC_NOWRITE, &file) ? 1 : 0, 1);
}

/* A write that ends define mode, and cannot store the attributes on the first rank, is an error on all of them, and so none in another mode than others:
 * the next nc_enddef, and all that is behind it, ends on all. */
static void end_on_full_disk(const char *path) {
    int file, dim, v, found;
    char history[4000];
    memset(history, 'h', sizeof history);
    CHECK(create(path, NC_CLOBBER, &file));
    CHECK(nc_def_dim(file, "x", (size_t)ranks, &dim));
    CHECK(nc_def_var(file, "v", NC_INT, 1, &dim, &v));
    CHECK(nc_put_att_text(file, NC_GLOBAL, "history", sizeof history, history));
    CHECK(nc_var_par_access(file, v, COLLECTIVE));
    const rlim_t before = limit_files(2048);
    found = nc_put_var1_int(file, v, &(size_t){(size_t)rank}, &rank);
    limit_files(before);
    FAILS(found ? NC_EIO : NC_NOERR, NC_EIO);
    CHECK(nc_enddef(file));
    FAILS(nc_enddef(file), NC_ENOTINDEFINE);
    CHECK(nc_put_var1_int(file, v, &(size_t){(size_t)rank}, &rank));
    CHECK(nc_close(file));
    CHECK(reopen(path, NC_NOWRITE, &file));
    for (int r = 0; r < ranks; r++) {
        CHECK(nc_get_var1_int(file, v, &(size_t){(size_t)r}, &found));
        FAILS(found == r ? NC_NOERR : NC_EIO, NC_NOERR);
    }
    CHECK(nc_close(file));
}

/* Definitions that the first rank could not store in an older file, though it made the array, are stored by the next call of all ranks. */
static void define_on_full_disk(const char *path) {
    int file, dim, v;
    char history[4000];
    memset(history, 'h', sizeof history);
    CHECK(create(path, NC_CLOBBER, &file));
    CHECK(nc_def_dim(file, "x", 8, &dim));
    CHECK(nc_close(file));
    CHECK(reopen(path, NC_WRITE, &file));
    CHECK(nc_def_var(file, "v", NC_INT, 1, &dim, &v));
    CHECK(nc_put_att_text(file, NC_GLOBAL, "history", sizeof history, history));
    const rlim_t before = limit_files(2048);
    int status = nc_enddef(file);
    CHECK(nc_var_par_access(file, v, COLLECTIVE));
    if (status && !nc_put_var1_int(file, v, &(size_t){(size_t)rank}, &rank)) status = NC_NOERR;
    CHECK(nc_var_par_access(file, v, INDEPENDENT));
    limit_files(before);
    FAILS(status ? NC_NOERR : NC_EIO, NC_NOERR);
    CHECK(nc_enddef(file));
    CHECK(nc_put_var1_int(file, v, &(size_t){(size_t)rank}, &rank));
    CHECK(nc_close(file));
    CHECK(reopen(path, NC_NOWRITE, &file));
    for (int r = 0; r < ranks; r++) {
        CHECK(nc_get_var1_int(file, v, &(size_t){(size_t)r}, &status));
        FAILS(status == r ? NC_NOERR : NC_EIO, NC_NOERR);
    }
    CHECK(nc_close(file));
}

/* A variable that the first rank cannot store, in an older file and a new one, is an error on all ranks, and so is all access to those behind it, which
 * it has made. */
static void blocked_definition(const char *path, bool older) {
    int file, dim, bad, v, found[4], own[2] = {rank, 10 + rank};
    char place[4200];
    snprintf(place, sizeof place, "%s/bad", path);
    CHECK(create(path, NC_CLOBBER, &file));
    CHECK(nc_def_dim(file, "x", 2 * (size_t)ranks, &dim));
    if (older) {
        CHECK(nc_close(file));
        CHECK(reopen(path, NC_WRITE, &file));
    }
    FILE *made = rank == 0 ? fopen(place, "w") : NULL;
    FAILS(rank == 0 && (!made || fclose(made)) ? NC_EIO : NC_NOERR, NC_NOERR);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(nc_def_var(file, "bad", NC_INT, 1, &dim, &bad));
    CHECK(nc_def_var(file, "v", NC_INT, 1, &dim, &v));
    CHECK(nc_var_par_access(file, v, COLLECTIVE));
    FAILS(nc_enddef(file) ? NC_EIO : NC_NOERR, NC_EIO);
    size_t start = 2 * (size_t)rank, count = 2;
    FAILS(nc_put_vara_int(file, v, &start, &count, own) ? NC_EIO : NC_NOERR, NC_EIO);
    FAILS(nc_get_vara_int(file, v, &start, &count, found) ? NC_EIO : NC_NOERR, NC_EIO);
    /* One rank alone has another type than all, or a region that is not there. */
    FAILS((rank ? nc_put_vara_int(file, v, &start, &count, own) : nc_put_vara_text(file, v, &start, &count, "ab")) ? NC_EIO : NC_NOERR, NC_EIO);
    FAILS(nc_put_vara_int(file, v, &(size_t){rank ? start : 99}, &count, own) ? NC_EIO : NC_NOERR, NC_EIO);
    FAILS(nc_put_varm_int(file, v, &(size_t){rank ? start : 99}, &count, NULL, (ptrdiff_t[]){1}, own) ? NC_EIO : NC_NOERR, NC_EIO);
    FAILS(nc_def_var_deflate(file, v, 0, 1, 1), NC_ELATEDEF);
    FAILS(nc_def_var_deflate(file, bad, 0, 1, 1), NC_ELATEDEF);
    /* The other ranks of an older file do not have it yet. */
    FAILS(nc_rename_var(file, v, "w") ? NC_EIO : NC_NOERR, older && ranks > 1 ? NC_EIO : NC_NOERR);
    FAILS(nc_rename_var(file, bad, "u") ? NC_EIO : NC_NOERR, NC_EIO);
    FAILS(rank == 0 && remove(place) ? NC_EIO : NC_NOERR, NC_NOERR);
    MPI_Barrier(MPI_COMM_WORLD);
    FAILS(rank ? nc_put_vara_int(file, v, &start, &count, own) : nc_put_vara_text(file, v, &start, &count, "ab"), rank ? NC_NOERR : NC_ECHAR);
    CHECK(nc_put_vara_int(file, v, &start, &count, own));
    CHECK(nc_get_vara_int(file, v, &start, &count, found));
    FAILS(found[0] == own[0] && found[1] == own[1] ? NC_NOERR : NC_EIO, NC_NOERR);
    CHECK(nc_close(file));
}

/* A fill value comes too late on all ranks for a variable of which one has written elements. */
static void late_fill_value(const char *path) {
    int file, dim, v, found[2];
    CHECK(create(path, NC_CLOBBER, &file));
    CHECK(nc_def_dim(file, "x", 2, &dim));
    CHECK(nc_close(file));
    CHECK(reopen(path, NC_WRITE, &file));
    CHECK(nc_def_var(file, "v", NC_INT, 1, &dim, &v));
    CHECK(nc_put_att_int(file, v, "_FillValue", NC_INT, 1, &(int){-7}));
    CHECK(nc_enddef(file));
    if (rank == ranks - 1) CHECK(nc_put_var1_int(file, v, &(size_t){1}, &(int){5}));
    CHECK(nc_sync(file));
    FAILS(nc_put_att_int(file, v, "_FillValue", NC_INT, 1, &(int){-9}), NC_ELATEFILL);
    CHECK(nc_close(file));
    CHECK(reopen(path, NC_NOWRITE, &file));
    CHECK(nc_get_var_int(file, v, found));
    FAILS(found[0] == -7 && found[1] == 5 ? NC_NOERR : NC_EIO, NC_NOERR);
    CHECK(nc_close(file));
}

/* Records of a variable that is defined in an older file are written by all ranks, together and each by itself. */
static void define_records_later(const char *path) {
    typedef struct record {
        signed char c;
        double d;
    } record;
    int file, dim, type, v[2];
    record found = {0, 0};
    CHECK(create(path, NC_CLOBBER, &file));
    CHECK(nc_def_dim(file, "x", (size_t)ranks, &dim));
    CHECK(nc_def_compound(file, sizeof(record), "record", &type));
    CHECK(nc_insert_compound(file, type, "c", offsetof(record, c), NC_BYTE));
    CHECK(nc_insert_compound(file, type, "d", offsetof(record, d), NC_DOUBLE));
    CHECK(nc_close(file));
    CHECK(reopen(path, NC_WRITE, &file));
    CHECK(nc_inq_typeid(file, "record", &type));
    for (int k = 0; k < 2; k++) {
        record own = {(signed char)rank, rank + 0.5};
        CHECK(nc_def_var(file, k ? "together" : "apart", type, 1, &dim, &v[k]));
        CHECK(nc_enddef(file));
        CHECK(nc_var_par_access(file, v[k], k ? COLLECTIVE : INDEPENDENT));
        CHECK(nc_put_var1(file, v[k], &(size_t){(size_t)rank}, &own));
        CHECK(nc_redef(file));
    }
    CHECK(nc_close(file));
    CHECK(reopen(path, NC_NOWRITE, &file));
    for (int k = 0; k < 2; k++)
        for (int r = 0; r < ranks; r++) {
            CHECK(nc_get_var1(file, v[k], &(size_t){(size_t)r}, &found));
            FAILS(found.c == r && found.d == r + 0.5 ? NC_NOERR : NC_EIO, NC_NOERR);
        }
    CHECK(nc_close(file));
}

/* A variable and a group are renamed in define mode, and what is being defined beside them can still be changed, in a new file as in an older one. */
static void rename_among_definitions(const char *path, bool older) {
    int file, group, dim, early, inner, late, level, found;
    CHECK(create(path, NC_CLOBBER, &file));
    CHECK(nc_def_dim(file, "x", (size_t)ranks, &dim));
    CHECK(nc_def_grp(file, "g", &group));
    CHECK(nc_def_var(file, "early", NC_INT, 1, &dim, &early));
    CHECK(nc_def_var(group, "inner", NC_INT, 1, &dim, &inner));
    CHECK(nc_enddef(file));
    if (older) {
        CHECK(nc_close(file));
        CHECK(reopen(path, NC_WRITE, &file));
        CHECK(nc_inq_grp_ncid(file, "g", &group));
    }
    CHECK(nc_put_var1_int(file, early, &(size_t){(size_t)rank}, &rank));
    CHECK(nc_redef(file));
    CHECK(nc_def_var(group, "late", NC_INT, 1, &dim, &late));
    CHECK(nc_rename_var(file, early, "renamed"));
    CHECK(nc_def_var_deflate(group, late, 0, 1, 3));
    CHECK(nc_rename_grp(group, "h"));
    CHECK(nc_def_var_deflate(group, late, 0, 1, 4));
    CHECK(nc_enddef(file));
    CHECK(nc_var_par_access(group, inner, COLLECTIVE));
    CHECK(nc_put_var1_int(group, inner, &(size_t){(size_t)rank}, &rank));
    CHECK(nc_close(file));
    CHECK(reopen(path, NC_NOWRITE, &file));
    CHECK(nc_inq_varid(file, "renamed", &early));
    CHECK(nc_inq_grp_ncid(file, "h", &group));
    CHECK(nc_inq_var_deflate(group, late, NULL, NULL, &level));
    FAILS(level, 4);
    for (int r = 0; r < ranks; r++) {
        CHECK(nc_get_var1_int(file, early, &(size_t){(size_t)r}, &found));
        CHECK(nc_get_var1_int(group, inner, &(size_t){(size_t)r}, &dim));
        FAILS(found == r && dim == r ? NC_NOERR : NC_EIO, NC_NOERR);
    }
    CHECK(nc_close(file));
}

/* Adds a record to a file by one process alone. */
static void add_record(const char *path, size_t step) {
    int file, value = (int)step;
    CHECK(nc_open(path, NC_WRITE, &file));
    CHECK(nc_put_var1_int(file, 0, &step, &value));
    CHECK(nc_close(file));
}

/* Records that another process adds while the ranks look for them are there on all ranks or on none. */
static void read_live(const char *path) {
    enum { RECORDS = 4 };
    int file, dim, v, found[RECORDS + 2];
    size_t len;
    if (rank == 0) {
        CHECK(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &file));
        CHECK(nc_def_dim(file, "t", NC_UNLIMITED, &dim));
        CHECK(nc_def_var(file, "v", NC_INT, 1, &dim, &v));
        CHECK(nc_close(file));
        for (size_t step = 0; step < RECORDS; step++) add_record(path, step);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(reopen(path, NC_NOWRITE, &file));
    CHECK(nc_var_par_access(file, 0, COLLECTIVE));
    for (size_t step = RECORDS; step < RECORDS + 2; step++) {
        /* The others have looked by then. */
        if (rank == ranks - 1) nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL), add_record(path, step);
        CHECK(nc_sync(file));
        CHECK(nc_inq_dimlen(file, 0, &len));
        FAILS(len == step + 1 ? NC_NOERR : NC_EDIMSIZE, NC_NOERR);
        CHECK(nc_get_vara_int(file, 0, &(size_t){0}, &len, found));
        for (size_t k = 0; k < len; k++) FAILS(found[k] == (int)k ? NC_NOERR : NC_EIO, NC_NOERR);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(nc_close(file));
}

/* A variable that has another name by now is lost, which all ranks are told once, and by each access. */
static void lose(const char *path) {
    int file, dim, v;
    char folder[4096], moved[4096];
    if (rank == 0) {
        CHECK(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &file));
        CHECK(nc_def_dim(file, "t", NC_UNLIMITED, &dim));
        for (int k = 0; k < 2; k++) CHECK(nc_def_var(file, k ? "v" : "other", NC_INT, 1, &dim, &v));
        CHECK(nc_close(file));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(reopen(path, NC_WRITE, &file));
    CHECK(nc_var_par_access(file, NC_GLOBAL, COLLECTIVE));
    for (size_t step = 0; step < 3; step++) {
        size_t record = step * (size_t)ranks + (size_t)rank;
        FAILS(nc_put_var1_int(file, 1, &record, &rank), step < 2 ? NC_NOERR : NC_ENOTVAR);
        CHECK(nc_put_var1_int(file, 0, &record, &rank));
        MPI_Barrier(MPI_COMM_WORLD);
        snprintf(folder, sizeof folder, "%s/v", path);
        snprintf(moved, sizeof moved, "%s/moved", path);
        if (rank == 0 && step == 1) FAILS(rename(folder, moved), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        FAILS(nc_sync(file), step == 1 ? NC_ENOTVAR : NC_NOERR);
    }
    CHECK(nc_close(file));
}

/* A file that one rank has open by itself, whichever that is, is not made anew. */
static void make_open_file(const char *path) {
    int made, open, dim, v, found;
    CHECK(create(path, NC_CLOBBER, &made));
    CHECK(nc_def_dim(made, "x", 1, &dim));
    CHECK(nc_def_var(made, "v", NC_INT, 1, &dim, &v));
    CHECK(nc_close(made));
    for (int who = 0; who < ranks; who++) {
        if (rank == who) CHECK(nc_open(path, NC_WRITE, &open));
        if (rank == who) CHECK(nc_put_var_int(open, v, &(int){7 + who}));
        FAILS(create(path, NC_CLOBBER, &made), EACCES);
        FAILS(create(path, NC_NOCLOBBER, &made), NC_EEXIST);
        if (rank == who) CHECK(nc_get_var_int(open, v, &found));
        FAILS(rank != who || found == 7 + who ? NC_NOERR : NC_EIO, NC_NOERR);
        if (rank == who) CHECK(nc_close(open));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(create(path, NC_CLOBBER, &made));
    CHECK(nc_close(made));
}

int main(int argc, char **argv) {
    ids i;
    char other[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    parallel = argc < 3;
    snprintf(other, sizeof other, "%s.missing.zarr", argv[1]);
    FAILS(reopen(other, NC_WRITE, &i.file), ENOENT);
    CHECK(create(argv[1], NC_CLOBBER, &i.file));
    define(&i);
    write_steps(&i);
    write_wrong(&i);
    CHECK(nc_close(i.file));
    if (parallel) {
        FAILS(create(argv[1], NC_NOCLOBBER, &i.file), NC_EEXIST);
        read_back(argv[1]);
        snprintf(other, sizeof other, "%s.shared.zarr", argv[1]);
        share(other);
        snprintf(other, sizeof other, "%s.aborted.zarr", argv[1]);
        abort_on_full_disk(other);
        define_on_full_disk(other);
        blocked_definition(other, true);
        blocked_definition(other, false);
        end_on_full_disk(other);
        late_fill_value(other);
        define_records_later(other);
        rename_among_definitions(other, false);
        rename_among_definitions(other, true);
        read_live(other);
        lose(other);
        make_open_file(other);
    }
    append(argv[1]);
    MPI_Finalize();
    return 0;
}
