/* What the kill sweep kills while it defines in an older file: a program that defines what it does not find, and goes on.
 *
 *   netcdf_defines FILE            defines a type, dimensions, a variable and attributes in the group g, writes the variable
 *   netcdf_defines FILE stop       the same, but ends behind nc_enddef as if it were killed
 *   netcdf_defines FILE lengthen   adds a record to the first variable of each group, and synchronises them all at once
 *
 * The system calls between two calls of getppid() are those of the file. */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 2, COLUMNS = 3 };

static void check(int status, const char *what) {
    if (!status) return;
    fprintf(stderr, "netcdf_defines: %s: %s\n", what, nc_strerror(status));
    exit(1);
}
#define CHECK(CALL) check(CALL, #CALL)

/* A dimension or type that is there, or is defined. */
static int dimension(int group, const char *name, size_t len) {
    int dim;
    if (nc_inq_dimid(group, name, &dim)) CHECK(nc_def_dim(group, name, len, &dim));
    return dim;
}

static nc_type quality(int group) {
    static const signed char bad = 1, good = 2;
    nc_type type;
    if (!nc_inq_typeid(group, "quality", &type)) return type;
    CHECK(nc_def_enum(group, NC_BYTE, "quality", &type));
    CHECK(nc_insert_enum(group, type, "bad", &bad));
    CHECK(nc_insert_enum(group, type, "good", &good));
    return type;
}

static void define(int file, int group) {
    const short number = 7;
    int dims[2], var;
    CHECK(nc_redef(file));
    dims[0] = dimension(group, "step", NC_UNLIMITED), dims[1] = dimension(group, "x", COLUMNS);
    nc_type type = quality(group);
    if (nc_inq_varid(group, "state", &var)) {
        CHECK(nc_def_var(group, "state", type, 2, dims, &var));
        CHECK(nc_put_att_short(group, var, "number", NC_SHORT, 1, &number));
    }
    CHECK(nc_inq_varid(group, "w", &var));
    CHECK(nc_put_att_text(group, var, "units", 1, "K"));
    CHECK(nc_enddef(file));
}

static void write_state(int group) {
    const size_t start[] = {0, 0}, count[] = {ROWS, COLUMNS};
    signed char values[ROWS * COLUMNS];
    int var;
    for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = (signed char)(1 + i % 2);
    CHECK(nc_inq_varid(group, "state", &var));
    CHECK(nc_put_vara(group, var, start, count, values));
}

static void lengthen(int file) {
    int count, *groups, dim;
    CHECK(nc_inq_grps(file, &count, NULL));
    groups = malloc((size_t)count * sizeof *groups);
    if (!groups) exit(1);
    CHECK(nc_inq_grps(file, NULL, groups));
    for (int i = 0; i < count; i++) {
        size_t len;
        CHECK(nc_inq_vardimid(groups[i], 0, &dim));
        CHECK(nc_inq_dimlen(groups[i], dim, &len));
        CHECK(nc_put_var1_int(groups[i], 0, &len, &i));
    }
    free(groups);
    CHECK(nc_sync(file));
}

int main(int argc, char **argv) {
    int file, group;
    if (argc < 2) return 2;
    const char *how = argc > 2 ? argv[2] : "";
    (void)getppid();
    CHECK(nc_open(argv[1], NC_WRITE, &file));
    if (strcmp(how, "lengthen") == 0) return lengthen(file), 0;
    CHECK(nc_inq_grp_ncid(file, "g", &group));
    define(file, group);
    if (strcmp(how, "stop") == 0) _exit(0);
    write_state(group);
    CHECK(nc_close(file));
    (void)getppid();
    return 0;
}
