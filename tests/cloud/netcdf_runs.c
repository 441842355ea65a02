/* A program of netCDF-C that begins a file, or goes on with it, as tests/cloud/netcdf_runs.py starts and kills it.
 *
 *   netcdf_runs FILE        prints netCDF's error of the call that failed; else how many records there are
 *   netcdf_runs FILE sync   tells of no error of nc_sync, but calls it once more
 *   netcdf_runs FILE groups prints whether it has set an attribute of a variable in each of two groups, which it defines where they are not there
 *   netcdf_runs FILE steps  adds a record to all variables for each line "put" of the standard input, calls nc_sync for "sync", nc_close for "close", and prints
 *                           the error of each
 *   netcdf_runs FILE make   makes a file of that name
 *   netcdf_runs FILE twice  does that by another program while it is making one itself, prints the error of its own, and gives it up
 *   netcdf_runs FILE MODE   opens it to read (0) or to write (1), and prints how many groups it has, and the length of the root's first dimension (0 without one) */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int status, const char *what) {
    if (!status) return;
    printf("%d %s: %s\n", status, what, nc_strerror(status));
    exit(1);
}
#define CHECK(CALL) check(CALL, #CALL)

static int create(const char *path) {
    int file, group, dims[2], var;
    CHECK(nc_create(path, NC_NETCDF4, &file));
    CHECK(nc_def_dim(file, "time", NC_UNLIMITED, &dims[0]));
    CHECK(nc_def_dim(file, "x", 6, &dims[1]));
    CHECK(nc_def_var(file, "time", NC_DOUBLE, 1, dims, &var));
    CHECK(nc_put_att_text(file, var, "units", 26, "seconds since 2000-01-01 00"));
    CHECK(nc_def_var(file, "u", NC_FLOAT, 2, dims, &var));
    CHECK(nc_def_grp(file, "more", &group));
    CHECK(nc_def_var(group, "v", NC_INT, 1, dims, &var));
    CHECK(nc_enddef(file));
    return file;
}

static int show(const char *path, int mode) {
    int file, groups, dims, of_root[NC_MAX_DIMS];
    size_t len = 0;
    CHECK(nc_open(path, mode ? NC_WRITE : NC_NOWRITE, &file));
    CHECK(nc_inq_grps(file, &groups, NULL));
    /* An ID of a dimension is the file's: the first one may be that of a group below. */
    CHECK(nc_inq_dimids(file, &dims, of_root, 0));
    if (dims) CHECK(nc_inq_dimlen(file, of_root[0], &len));
    CHECK(nc_close(file));
    printf("%d %d\n", groups, (int)len);
    return 0;
}

static int set_in_groups(const char *path) {
    int file, group, x, var;
    if (nc_open(path, NC_WRITE, &file)) {
        CHECK(nc_create(path, NC_NETCDF4, &file));
        CHECK(nc_def_dim(file, "x", 6, &x));
    }
    CHECK(nc_inq_dimid(file, "x", &x));
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "b" : "a";
        if (nc_inq_grp_ncid(file, name, &group)) {
            CHECK(nc_def_grp(file, name, &group));
            CHECK(nc_def_var(group, "v", NC_INT, 1, &x, &var));
        }
        CHECK(nc_inq_varid(group, "v", &var));
        int times = 0;
        (void)nc_get_att_int(group, var, "times", &times);
        CHECK(nc_put_att_int(group, var, "times", NC_INT, 1, &(int){times + 1}));
    }
    CHECK(nc_close(file));
    printf("set\n");
    return 0;
}

/* Adds a record to all variables; `attributes`: and says in two of them how many there were. */
static size_t put_record(int file, int attributes) {
    int group, time, var, dim;
    size_t records;
    const float u[] = {1, 2, 3, 4, 5, 6};
    CHECK(nc_inq_varid(file, "time", &time));
    CHECK(nc_inq_varid(file, "u", &var));
    CHECK(nc_inq_dimid(file, "time", &dim));
    CHECK(nc_inq_dimlen(file, dim, &records));
    if (attributes) CHECK(nc_put_att_int(file, time, "records", NC_INT, 1, &(int){(int)records}));
    if (attributes) CHECK(nc_put_att_int(file, var, "records", NC_INT, 1, &(int){(int)records}));
    CHECK(nc_put_vara_float(file, var, (size_t[]){records, 0}, (size_t[]){1, 6}, u));
    CHECK(nc_put_var1_double(file, time, &records, &(double){(double)records}));
    CHECK(nc_inq_grp_ncid(file, "more", &group));
    CHECK(nc_inq_varid(group, "v", &var));
    CHECK(nc_put_var1_int(group, var, &records, &(int){7}));
    return records;
}

static int take_steps(const char *path) {
    char line[16];
    int file;
    if (nc_open(path, NC_WRITE, &file)) file = create(path);
    while (fgets(line, sizeof line, stdin)) {
        int status = 0;
        if (strcmp(line, "put\n") == 0) put_record(file, 0);
        else status = strcmp(line, "sync\n") == 0 ? nc_sync(file) : nc_close(file);
        printf("%d\n", status);
        fflush(stdout);
    }
    return 0;
}

static int begin(const char *path, size_t len, int *var) {
    int file, dim;
    CHECK(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &file));
    CHECK(nc_def_dim(file, "x", len, &dim));
    CHECK(nc_def_var(file, "v", NC_INT, 1, &dim, var));
    return file;
}

static int make(const char *path) {
    int var, file = begin(path, 6, &var);
    CHECK(nc_put_var_int(file, var, (int[]){1, 2, 3, 4, 5, 6}));
    CHECK(nc_close(file));
    return 0;
}

/* A program may make a file once only at the same time: the second one is another program. */
static int create_twice(const char *program, const char *path) {
    int var, status = -1, file = begin(path, 3, &var);
    const pid_t other = fork();
    if (!other) execl(program, program, path, "make", (char *)NULL), _exit(2);
    if (waitpid(other, &status, 0) != other || status) return 1;
    printf("%d ", nc_enddef(file));
    printf("%d ", nc_abort(file));
    return show(path, 0);
}

int main(int argc, char **argv) {
    int file;
    const int syncs = argc == 3 && strcmp(argv[2], "sync") == 0;
    if (argc == 3 && strcmp(argv[2], "groups") == 0) return set_in_groups(argv[1]);
    if (argc == 3 && strcmp(argv[2], "steps") == 0) return take_steps(argv[1]);
    if (argc == 3 && strcmp(argv[2], "twice") == 0) return create_twice(argv[0], argv[1]);
    if (argc == 3 && strcmp(argv[2], "make") == 0) return make(argv[1]);
    if (argc == 3 && !syncs) return show(argv[1], atoi(argv[2]));
    if (argc != 2 && !syncs) return 2;
    if (nc_open(argv[1], NC_WRITE, &file)) file = create(argv[1]);
    const size_t records = put_record(file, 1);
    for (int tries = 0; syncs && tries < 3 && nc_sync(file); tries++) continue;
    CHECK(nc_close(file));
    printf("%d\n", (int)records + 1);
    return 0;
}
