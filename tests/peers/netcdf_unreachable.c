/* Renames and defines in a file whose folder cannot be reached from one of the file calls on until the call ends, at each of them: the same call is well
 * when the folder can be reached again, and nothing is lost. Prints what is wrong, and how many calls were told as failed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netcdf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool armed, hit;
static int seen, first;

static bool fails(void) {
    if (!armed || ++seen < first) return false;
    hit = true;
    errno = EIO;
    return true;
}

/* The C library's functions, as the library calls them. */
int openat(int folder, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    return fails() ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

int fstatat(int folder, const char *path, struct stat *is, int flags) { return fails() ? -1 : (int)syscall(SYS_newfstatat, folder, path, is, flags); }

int fstatat64(int folder, const char *path, struct stat64 *is, int flags) { return fails() ? -1 : (int)syscall(SYS_newfstatat, folder, path, is, flags); }

ssize_t writev(int opened, const struct iovec *parts, int count) { return fails() ? -1 : syscall(SYS_writev, opened, parts, count); }

int unlinkat(int folder, const char *path, int flags) { return fails() ? -1 : (int)syscall(SYS_unlinkat, folder, path, flags); }

static const char *path, *what;
static int file, group, below, var, var_below, new_group, new_var, told;
static const int values[2] = {5, 6};

#define WELL(CALL)                                                                           \
    do {                                                                                     \
        int status_ = CALL;                                                                  \
        if (status_) printf("%s at %d: %s: %s\n", what, first, #CALL, nc_strerror(status_)); \
    } while (0)

static int rename_variable(void) { return nc_rename_var(group, var, "new"); }
static int rename_group(void) { return nc_rename_grp(group, "new"); }
static int define(void) { return nc_enddef(file); }

/* Makes a call that fails from a file call on, and again where that was told. */
static void call(int (*function)(void)) {
    seen = 0, hit = false, armed = true;
    int status = function();
    armed = false;
    if (!status) return;
    told++;
    WELL(function());
}

/* Makes a file of a variable in each of two groups, one below the other, and opens it again (`opens`). */
static void make(bool opens) {
    int dim;
    WELL(nc_create(path, NC_NETCDF4, &file));
    WELL(nc_def_dim(file, "x", 2, &dim));
    WELL(nc_def_grp(file, "g", &group));
    WELL(nc_def_grp(group, "h", &below));
    WELL(nc_def_var(group, "v", NC_INT, 1, &dim, &var));
    WELL(nc_def_var(below, "w", NC_INT, 1, &dim, &var_below));
    if (!opens) return;
    WELL(nc_close(file));
    WELL(nc_open(path, NC_WRITE, &file));
    WELL(nc_inq_grp_ncid(file, "g", &group));
    WELL(nc_inq_grp_ncid(group, "h", &below));
}

/* Writes to a variable of a group, and closes the file: a reader finds what was written by the path and the name. */
static void look(int in, int written, const char *place, const char *name) {
    int found[2] = {0}, id;
    WELL(nc_put_var_int(in, written, values));
    WELL(nc_put_att_text(in, NC_GLOBAL, "note", 1, "n"));
    WELL(nc_sync(file));
    WELL(nc_close(file));
    WELL(nc_open(path, NC_NOWRITE, &file));
    WELL(nc_inq_grp_full_ncid(file, place, &in));
    WELL(nc_inq_varid(in, name, &id));
    WELL(nc_get_var_int(in, id, found));
    if (memcmp(found, values, sizeof found) != 0) printf("%s at %d: %d %d\n", what, first, found[0], found[1]);
    WELL(nc_inq_attlen(in, NC_GLOBAL, "note", NULL));
    WELL(nc_close(file));
}

static void renamed_variable(void) {
    make(true);
    call(rename_variable);
    look(group, var, "/g", "new");
}

static void renamed_group(void) {
    make(true);
    call(rename_group);
    /* What is in the group may still be closed. */
    WELL(nc_rename_grp(group, "newer"));
    look(below, var_below, "/newer/h", "w");
}

static void new_definitions(void) {
    int dim;
    make(true);
    WELL(nc_redef(file));
    WELL(nc_inq_dimid(file, "x", &dim));
    WELL(nc_def_grp(group, "k", &new_group));
    WELL(nc_def_var(new_group, "n", NC_INT, 1, &dim, &new_var));
    call(define);
    look(new_group, new_var, "/g/k", "n");
}

static void new_file(void) {
    make(false);
    call(define);
    look(below, var_below, "/g/h", "w");
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } CASES[] = {{"a renamed variable", renamed_variable}, {"a renamed group", renamed_group}, {"new definitions", new_definitions}, {"a new file", new_file}};
    if (argc != 2) return 2;
    path = argv[1];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        what = CASES[i].name;
        told = 0;
        first = 0;
        do first++, CASES[i].run();
        while (hit);
        printf("%s: %s\n", what, told ? "told" : "never told");
    }
    return 0;
}
