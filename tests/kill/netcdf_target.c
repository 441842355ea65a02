/* What the kill sweep kills while it writes steps through netCDF-C: a model that knows nothing of Zarr.
 *
 *   netcdf_target FILE STEPS       writes or goes on until there are so many steps, synchronises every EVERY steps and prints how many are synchronised
 *
 * The system calls between two calls of getppid() are those of the file. */
#include <netcdf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef LARGE
/* Long records, not compressed. */
enum { EVERY = 5, ROWS = 256, COLUMNS = 128, LEVEL = 0 };
#else
enum { EVERY = 3, ROWS = 4, COLUMNS = 6, LEVEL = 1 };
#endif
enum { CELLS = ROWS * COLUMNS };

static void check(int status, const char *what) {
    if (!status) return;
    fprintf(stderr, "netcdf_target: %s: %s\n", what, nc_strerror(status));
    exit(1);
}
#define CHECK(CALL) check(CALL, #CALL)

static int create(const char *path) {
    const char *const names[] = {"time", "lat", "lon"};
    size_t lengths[] = {NC_UNLIMITED, ROWS, COLUMNS}, chunks[] = {4, ROWS, COLUMNS};
    int file, dims[3], var;
    double lat[ROWS];
    CHECK(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &file));
    for (int d = 0; d < 3; d++) CHECK(nc_def_dim(file, names[d], lengths[d], &dims[d]));
    CHECK(nc_def_var(file, "time", NC_DOUBLE, 1, dims, &var));
    CHECK(nc_put_att_text(file, var, "units", 26, "seconds since 2000-01-01 00"));
    CHECK(nc_def_var(file, "lat", NC_DOUBLE, 1, dims + 1, &var));
    CHECK(nc_def_var(file, "t", NC_FLOAT, 3, dims, &var));
    CHECK(nc_def_var_chunking(file, var, NC_CHUNKED, chunks));
    CHECK(nc_def_var_deflate(file, var, LEVEL, 1, LEVEL));
    CHECK(nc_def_var(file, "mean", NC_FLOAT, 1, dims, &var));
    CHECK(nc_enddef(file));
    for (int i = 0; i < ROWS; i++) lat[i] = 10 * i;
    CHECK(nc_inq_varid(file, "lat", &var));
    CHECK(nc_put_var_double(file, var, lat));
    return file;
}

/* One step: each value says its step and its place. */
static void write_step(int file, size_t step) {
    size_t start[3] = {step}, count[3] = {1, ROWS, COLUMNS};
    double time = 60.0 * (double)step;
    float t[CELLS], mean = (float)step;
    int var;
    for (int i = 0; i < CELLS; i++) t[i] = (float)(100 * step) + (float)i + 1;
    CHECK(nc_inq_varid(file, "t", &var));
    CHECK(nc_put_vara_float(file, var, start, count, t));
    CHECK(nc_inq_varid(file, "mean", &var));
    CHECK(nc_put_var1_float(file, var, start, &mean));
    CHECK(nc_inq_varid(file, "time", &var));
    CHECK(nc_put_var1_double(file, var, start, &time));
}

int main(int argc, char **argv) {
    int file, dim;
    size_t steps = 0, wanted;
    if (argc != 3) return 2;
    wanted = (size_t)atoi(argv[2]);
    (void)getppid();
    /* As models do that go on: where there are steps, others are added; else all is made anew. */
    bool there = !nc_open(argv[1], NC_WRITE, &file);
    if (!there || nc_inq_dimid(file, "time", &dim) || nc_inq_dimlen(file, dim, &steps) || !steps) {
        if (there) CHECK(nc_close(file));
        file = create(argv[1]);
    }
    for (; steps < wanted; steps++) {
        write_step(file, steps);
        if ((steps + 1) % EVERY) continue;
        CHECK(nc_sync(file));
        printf("%d\n", (int)steps + 1);
        fflush(stdout);
    }
    CHECK(nc_close(file));
    (void)getppid();
    printf("%d\n", (int)wanted);
    return 0;
}
