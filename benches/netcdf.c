/* netCDF's calls on Zarr by libozarr_netcdf.so, on netCDF-4 and on NCZarr: one program, the same calls in turn, the least of some runs.
 *
 *   cc -O2 benches/netcdf.c -o netcdf $(pkg-config --cflags --libs netcdf ozarr)
 *   LD_PRELOAD=PREFIX/lib/libozarr_netcdf.so ./netcdf FOLDER [RUNS [WORD]]     WORD: only the lines that contain it
 *
 * Times are from create or open to close, with the files in the page cache; those of calls are of one call of many, with the array open. The
 * last line of calls is ozarr's own function without netCDF. NCZarr's dimensions are fixed, and it takes no deflate without
 * plug-ins. */
#include <netcdf.h>
#include <ozarr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RECORDS = 40, FIELDS = 10, LEVELS = 8, ROWS = 90, COLUMNS = 180, RECORD = LEVELS * ROWS * COLUMNS, DEPTH = 4, MANY = 1000, SMALL = 100 };
enum { ZARR, HDF5, NCZARR, FORMATS };

static const char *const NAMES[FORMATS] = {"zarr", "netcdf-4", "nczarr"};
static const char *folder;
static float field[RECORDS * RECORD];

static void check(int status, const char *what) {
    if (!status) return;
    fprintf(stderr, "%s: %s\n", what, nc_strerror(status));
    exit(1);
}
#define CHECK(CALL) check(CALL, #CALL)

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The place of a file; NCZarr's goes past the preload. */
static const char *place(int format, const char *name) {
    static char path[4096];
    const char *const forms[FORMATS] = {"%s/%s.zarr", "%s/%s.nc", "file://%s/%s_nczarr#mode=nczarr,file"};
    snprintf(path, sizeof path, forms[format], folder, name);
    setenv("OZARR_NETCDF", format == NCZARR ? "off" : "", 1);
    return path;
}

/* Removes what a run before it wrote, so that no run's time is that of removing. */
static void clear(const char *name) {
    char command[8192];
    snprintf(command, sizeof command, "rm -rf '%s/%s.zarr' '%s/%s.nc' '%s/%s_nczarr'", folder, name, folder, name, folder, name);
    if (system(command)) fprintf(stderr, "%s failed\n", command);
}

static int create(int format, const char *name) {
    int id;
    CHECK(nc_create(place(format, name), NC_NETCDF4 | NC_CLOBBER, &id));
    return id;
}

static int open(int format, const char *name) {
    int id;
    CHECK(nc_open(place(format, name), NC_NOWRITE, &id));
    return id;
}

static double write_file(int format, const char *file, int level) {
    int dims[4], vars[FIELDS];
    size_t start[4] = {0}, count[4] = {1, LEVELS, ROWS, COLUMNS}, chunks[4] = {DEPTH, LEVELS, ROWS, COLUMNS};
    const char *const names[4] = {"time", "level", "lat", "lon"};
    double begin = now();
    int id = create(format, file);
    for (int d = 0; d < 4; d++) CHECK(nc_def_dim(id, names[d], d || format == NCZARR ? (d ? count[d] : RECORDS) : NC_UNLIMITED, &dims[d]));
    for (int v = 0; v < FIELDS; v++) {
        char name[16];
        snprintf(name, sizeof name, "field%d", v);
        CHECK(nc_def_var(id, name, NC_FLOAT, 4, dims, &vars[v]));
        CHECK(nc_def_var_chunking(id, vars[v], NC_CHUNKED, chunks));
        if (format == ZARR || level) (void)nc_def_var_deflate(id, vars[v], level > 0, 1, level);
    }
    CHECK(nc_enddef(id));
    for (size_t r = 0; r < RECORDS; r++) {
        start[0] = r;
        for (int v = 0; v < FIELDS; v++) CHECK(nc_put_vara_float(id, vars[v], start, count, field + r * RECORD));
    }
    CHECK(nc_close(id));
    return now() - begin;
}

static double write_records(int format) { return write_file(format, "records", 1); }
static double write_plain(int format) { return write_file(format, "plain", 0); }

static double read_file(int format, const char *file) {
    static float values[RECORDS * RECORD];
    double begin = now();
    int id = open(format, file);
    for (int v = 0; v < 3; v++) CHECK(nc_get_var_float(id, v, values));
    CHECK(nc_close(id));
    double time = now() - begin;
    if (memcmp(values, field, sizeof values)) check(NC_EIO, "read_file");
    return time;
}

static double read_whole(int format) { return read_file(format, "records"); }
static double read_whole_plain(int format) { return read_file(format, "plain"); }

static double read_planes_of(int format, const char *file) {
    static float plane[ROWS * COLUMNS];
    size_t start[4] = {0, 3, 0, 0}, count[4] = {1, 1, ROWS, COLUMNS};
    double begin = now();
    int id = open(format, file);
    for (size_t r = 0; r < RECORDS; r++) {
        start[0] = r;
        CHECK(nc_get_vara_float(id, 5, start, count, plane));
    }
    CHECK(nc_close(id));
    return now() - begin;
}

static double read_planes(int format) { return read_planes_of(format, "records"); }
static double read_planes_plain(int format) { return read_planes_of(format, "plain"); }

static double write_many(int format, int with_data) {
    int dim, var;
    double begin = now();
    int id = create(format, with_data ? "many" : "defined");
    CHECK(nc_def_dim(id, "x", SMALL, &dim));
    for (int v = 0; v < MANY; v++) {
        char name[16];
        snprintf(name, sizeof name, "small%d", v);
        CHECK(nc_def_var(id, name, NC_FLOAT, 1, &dim, &var));
        CHECK(nc_put_att_text(id, var, "units", 1, "K"));
    }
    CHECK(nc_enddef(id));
    for (int v = 0; v < MANY && with_data; v++) CHECK(nc_put_var_float(id, v, field + v));
    CHECK(nc_close(id));
    return now() - begin;
}

static double define_many(int format) { return write_many(format, 0); }
static double fill_many(int format) { return write_many(format, 1); }

static double open_many(int format) {
    double begin = now();
    CHECK(nc_close(open(format, "many")));
    return now() - begin;
}

static double read_many(int format) {
    float values[SMALL];
    double begin = now();
    int id = open(format, "many");
    for (int v = 0; v < MANY; v++) CHECK(nc_get_var_float(id, v, values));
    CHECK(nc_close(id));
    return now() - begin;
}

static double inquire(int format) {
    enum { CALLS = 200000 };
    int id = open(format, "records"), rank, type;
    double begin = now();
    for (int i = 0; i < CALLS; i++) CHECK(nc_inq_var(id, i % FIELDS, NULL, &type, &rank, NULL, NULL));
    double time = (now() - begin) / CALLS;
    CHECK(nc_close(id));
    return time;
}

static double get_small(int format) {
    enum { CALLS = 20000 };
    float values[SMALL];
    size_t start = 0, count = SMALL / 2;
    int id = open(format, "many");
    CHECK(nc_get_vara_float(id, 7, &start, &count, values));
    double begin = now();
    for (int i = 0; i < CALLS; i++) CHECK(nc_get_vara_float(id, 7, &start, &count, values));
    double time = (now() - begin) / CALLS;
    CHECK(nc_close(id));
    return time;
}

static void check_own(ozarr_status status, const char *what) {
    if (!status) return;
    fprintf(stderr, "%s: %s\n", what, ozarr_last_error());
    exit(1);
}

/* The call below `get_small`, with the settings that the format gives its context. */
static double get_own(void) {
    enum { CALLS = 20000 };
    float values[SMALL];
    char path[4096];
    int64_t start = 0, count = SMALL / 2;
    ozarr_context *context;
    ozarr_store *store;
    ozarr_array *array;
    snprintf(path, sizeof path, "%s/many.zarr", folder);
    check_own(ozarr_context_new(&context), "ozarr_context_new");
    check_own(ozarr_context_set(context, "chunk_cache", "268435456"), "ozarr_context_set");
    check_own(ozarr_store_open_ex(context, path, "r", NULL, &store), "ozarr_store_open_ex");
    check_own(ozarr_array_open_at(store, "small7", &array), "ozarr_array_open_at");
    check_own(ozarr_array_read_region(array, &start, &count, OZARR_FLOAT32, values, sizeof values / 2), "ozarr_array_read_region");
    double begin = now();
    for (int i = 0; i < CALLS; i++)
        check_own(ozarr_array_read_region(array, &start, &count, OZARR_FLOAT32, values, sizeof values / 2), "ozarr_array_read_region");
    double time = (now() - begin) / CALLS;
    ozarr_array_free(array);
    ozarr_store_free(store);
    ozarr_context_free(context);
    return time;
}

static const struct {
    const char *name;
    double (*run)(int format);
    double unit;
    const char *written;
} WORK[] = {{"write 40 records of 10 variables", write_records, 1, "records"}, {"the same uncompressed", write_plain, 1, "plain"}, {"read three variables whole", read_whole, 1, NULL}, {"the three uncompressed", read_whole_plain, 1, NULL}, {"read 40 planes", read_planes, 1, NULL}, {"planes of uncompressed records", read_planes_plain, 1, NULL},
    {"define 1,000 variables", define_many, 1, "defined"}, {"define and write 1,000 variables", fill_many, 1, "many"}, {"open 1,000 variables", open_many, 1, NULL},
    {"open and read 1,000 variables", read_many, 1, NULL}, {"one inquiry, us", inquire, 1e6, NULL}, {"one read of 50 values, us", get_small, 1e6, NULL}};

int main(int argc, char **argv) {
    int runs = argc > 2 ? atoi(argv[2]) : 3;
    const char *word = argc > 3 ? argv[3] : "";
    double own = 1e9;
    if (argc < 2) return fprintf(stderr, "usage: netcdf FOLDER [RUNS [WORD]]\n"), 2;
    folder = argv[1];
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) field[i] = 280 + 0.01f * (float)(i * 2654435761u % 1000);
    printf("%-34s", "");
    for (int f = 0; f < FORMATS; f++) printf(" %9s", NAMES[f]);
    unsetenv("LD_PRELOAD");
    for (size_t w = 0; w < sizeof WORK / sizeof *WORK; w++) {
        double least[FORMATS] = {1e9, 1e9, 1e9};
        if (!strstr(WORK[w].name, word)) continue;
        for (int r = 0; r < runs; r++)
            for (int f = 0; f < FORMATS; f++) {
                if (WORK[w].written && f == ZARR) clear(WORK[w].written);
                double time = WORK[w].run(f);
                if (time < least[f]) least[f] = time;
            }
        printf("\n%-34s", WORK[w].name);
        for (int f = 0; f < FORMATS; f++) printf(" %9.3f", least[f] * WORK[w].unit);
        fflush(stdout);
    }
    for (int r = 0; r < runs && !*word; r++) {
        double time = get_own();
        if (time < own) own = time;
    }
    if (*word) puts("");
    else printf("\n%-34s %9.3f\n", "the same by ozarr itself, us", own * 1e6);
    return 0;
}
