/* What netCDF does with names, strings that are NULL, renaming, rounding, fill modes, define mode, many and alike variables, a full disk,
 * deletion, threads and appending, call by call: prints it, to be compared between formats.
 *
 *   netcdf_calls PATH NAME     one of the cases in the table at the end; without NAME their names */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <netcdf.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SHOW(CALL) printf("%s: %d\n", #CALL, CALL)

/* "é", "ñ" and Hangul "각": composed, and as letters with marks. */
#define E_NFC "caf\xc3\xa9"
#define E_NFD "cafe\xcc\x81"
#define N_NFC "a\xc3\xb1o"
#define N_NFD "an\xcc\x83o"
#define K_NFC "\xea\xb0\x81"
#define K_NFD "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8"

static const char *path;
static int file;

static void create(int mode) {
    if (nc_create(path, mode | NC_CLOBBER, &file)) exit(1);
}

static void open(int mode) {
    if (nc_open(path, mode, &file)) exit(1);
}

static void hex(const char *what, const char *name) {
    printf("%s", what);
    for (; *name; name++) printf(" %02x", (unsigned char)*name);
    putchar('\n');
}

static void show_names(void) {
    char name[NC_MAX_NAME + 1];
    int count, group, field;
    for (int v = 0; nc_inq_varname(file, v, name) == NC_NOERR; v++) hex("variable", name);
    for (int d = 0; nc_inq_dimname(file, d, name) == NC_NOERR; d++) hex("dimension", name);
    for (int a = 0; nc_inq_attname(file, NC_GLOBAL, a, name) == NC_NOERR; a++) hex("attribute", name);
    if (nc_inq_grps(file, &count, &group) == NC_NOERR && count == 1 && nc_inq_grpname(group, name) == NC_NOERR) hex("group", name);
    if (nc_inq_typeids(file, &count, &field) == NC_NOERR && count == 1 && nc_inq_user_type(file, field, name, NULL, NULL, NULL, NULL) == NC_NOERR) hex("type", name);
}

static void find_names(void) {
    int id, type;
    size_t len;
    SHOW(nc_inq_varid(file, N_NFC, &id));
    SHOW(nc_inq_varid(file, N_NFD, &id));
    SHOW(nc_inq_dimid(file, E_NFC, &id));
    SHOW(nc_inq_dimid(file, E_NFD, &id));
    SHOW(nc_inq_att(file, NC_GLOBAL, K_NFC, &type, &len));
    SHOW(nc_inq_att(file, NC_GLOBAL, K_NFD, &type, &len));
    SHOW(nc_inq_attid(file, NC_GLOBAL, K_NFD, &id));
    SHOW(nc_get_att_int(file, NC_GLOBAL, K_NFD, &id));
    SHOW(nc_inq_ncid(file, E_NFC "g", &id));
    SHOW(nc_inq_ncid(file, E_NFD "g", &id));
    SHOW(nc_inq_typeid(file, N_NFC "t", &type));
}

static void names(void) {
    int dim, var, group, type, two = 2;
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, E_NFD, 3, &dim));
    SHOW(nc_def_dim(file, E_NFC, 3, NULL));
    SHOW(nc_def_var(file, N_NFD, NC_INT, 1, &dim, &var));
    SHOW(nc_def_var(file, N_NFC, NC_INT, 1, &dim, NULL));
    SHOW(nc_put_att_int(file, NC_GLOBAL, K_NFD, NC_INT, 1, &two));
    SHOW(nc_put_att_int(file, NC_GLOBAL, K_NFC, NC_INT, 1, &two));
    SHOW(nc_def_grp(file, E_NFD "g", &group));
    SHOW(nc_def_enum(file, NC_BYTE, N_NFD "t", &type));
    SHOW(nc_insert_enum(file, type, "one", "\1"));
    SHOW(nc_def_var(file, "\xff\xfe", NC_INT, 0, NULL, NULL));
    SHOW(nc_def_dim(file, "ab\xc3", 3, NULL));
    SHOW(nc_put_att_int(file, var, "\xe9", NC_INT, 1, &two));
    show_names();
    find_names();
    SHOW(nc_close(file));
    open(NC_WRITE);
    show_names();
    find_names();
    SHOW(nc_rename_att(file, NC_GLOBAL, K_NFD, E_NFD));
    SHOW(nc_rename_grp(group - (group & ~0xffff) + file, N_NFD "h"));
    SHOW(nc_del_att(file, NC_GLOBAL, E_NFC));
    show_names();
    SHOW(nc_close(file));
}

/* Elements that are NULL are shown as empty ones, which Zarr has for them; attributes can be NULL. */
static void show_strings(const char *what, const char *null, char **strings, size_t count) {
    printf("%s:", what);
    for (size_t i = 0; i < count; i++) printf(" %s", strings[i] ? strings[i] : null);
    printf(": %d\n", nc_free_string(count, strings));
}

static void null_strings(void) {
    const char *given[4] = {"a", NULL, "", "d"};
    char *back[4] = {0};
    int dim, var, never, filled, none;
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 4, &dim));
    SHOW(nc_def_var(file, "v", NC_STRING, 1, &dim, &var));
    SHOW(nc_def_var(file, "never", NC_STRING, 1, &dim, &never));
    SHOW(nc_def_var(file, "filled", NC_STRING, 1, &dim, &filled));
    SHOW(nc_def_var_fill(file, filled, NC_FILL, &(const char *){"none"}));
    SHOW(nc_def_var(file, "none", NC_STRING, 1, &dim, &none));
    SHOW(nc_put_att_string(file, none, "_FillValue", 1, given + 1));
    SHOW(nc_put_att_string(file, var, "list", 4, given));
    SHOW(nc_put_att_string(file, var, "one", 1, given + 1));
    SHOW(nc_put_var_string(file, var, given));
    SHOW(nc_put_var1_string(file, filled, &(size_t){2}, given + 1));
    SHOW(nc_put_var1_string(file, none, &(size_t){3}, given));
    for (int turn = 0; turn < 2; turn++) {
        SHOW(nc_get_var_string(file, var, back));
        show_strings("values", "", back, 4);
        SHOW(nc_get_var_string(file, never, back));
        show_strings("never written", "", back, 4);
        SHOW(nc_get_var_string(file, filled, back));
        show_strings("filled", "", back, 4);
        SHOW(nc_get_var_string(file, none, back));
        show_strings("the fill value is NULL", "NULL", back, 4);
        SHOW(nc_get_att_string(file, none, "_FillValue", back));
        show_strings("its attribute", "NULL", back, 1);
        SHOW(nc_get_att_string(file, var, "list", back));
        show_strings("list", "NULL", back, 4);
        SHOW(nc_get_att_string(file, var, "one", back));
        show_strings("one", "NULL", back, 1);
        SHOW(nc_close(file));
        open(NC_NOWRITE);
    }
    SHOW(nc_close(file));
}

static void renaming(void) {
    int x, y, v, w, group, child, two = 2, id;
    char name[NC_MAX_NAME + 1];
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 4, &x));
    SHOW(nc_def_dim(file, "y", 2, &y));
    SHOW(nc_def_var(file, "v", NC_INT, 1, &x, &v));
    SHOW(nc_def_var(file, "w", NC_INT, 1, &y, &w));
    SHOW(nc_put_att_int(file, v, "one", NC_INT, 1, &two));
    SHOW(nc_put_att_int(file, v, "two", NC_INT, 1, &two));
    SHOW(nc_put_att_int(file, v, "three", NC_INT, 1, &two));
    SHOW(nc_def_grp(file, "g", &group));
    SHOW(nc_def_grp(group, "h", &child));
    SHOW(nc_rename_var(file, v, "w"));
    SHOW(nc_rename_var(file, v, "v"));
    SHOW(nc_rename_var(file, 7, "z"));
    SHOW(nc_rename_var(file, v, "a/b"));
    SHOW(nc_rename_var(file, v, "longer_name"));
    SHOW(nc_rename_dim(file, x, "y"));
    SHOW(nc_rename_dim(file, x, "x"));
    SHOW(nc_rename_dim(file, 9, "z"));
    SHOW(nc_rename_dim(file, y, "rows"));
    SHOW(nc_rename_att(file, v, "one", "two"));
    SHOW(nc_rename_att(file, v, "one", "1"));
    SHOW(nc_rename_att(file, v, "none", "1"));
    SHOW(nc_rename_att(file, 8, "one", "1"));
    SHOW(nc_del_att(file, v, "two"));
    SHOW(nc_del_att(file, v, "two"));
    SHOW(nc_rename_grp(child, "k"));
    SHOW(nc_rename_grp(file, "k"));
    SHOW(nc_enddef(file));
    SHOW(nc_put_var_int(file, v, (int[]){1, 2, 3, 4}));
    SHOW(nc_rename_att(file, v, "three", "3"));
    SHOW(nc_del_att(file, v, "1"));
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    SHOW(nc_inq_varid(file, "longer_name", &id));
    SHOW(nc_inq_varid(file, "v", &id));
    SHOW(nc_inq_dimid(file, "rows", &id));
    for (int a = 0; nc_inq_attname(file, v, a, name) == NC_NOERR; a++) printf("attribute %s\n", name);
    SHOW(nc_rename_att(file, v, "3", "4"));
    SHOW(nc_rename_var(file, v, "q"));
    SHOW(nc_rename_dim(file, x, "q"));
    SHOW(nc_rename_grp(file + 1, "q"));
    SHOW(nc_del_att(file, v, "3"));
    SHOW(nc_close(file));
}

static void paths(void) {
    char found[4096] = "";
    size_t len = 0;
    create(NC_NETCDF4);
    SHOW(nc_inq_path(file, &len, found));
    printf("%s\n", len == strlen(path) && strcmp(found, path) == 0 ? "as it was given" : found);
    SHOW(nc_inq_path(file, NULL, NULL));
    SHOW(nc_inq_path(file + 70000, &len, found));
    SHOW(nc_close(file));
    SHOW(nc_inq_path(file, &len, found));
    open(NC_NOWRITE);
    SHOW(nc_inq_path(file, &len, found));
    printf("%s\n", len == strlen(path) && strcmp(found, path) == 0 ? "as it was given" : found);
    SHOW(nc_close(file));
}

static void deletion(void) {
    int id;
    SHOW(nc_delete(path));
    create(NC_NETCDF4);
    SHOW(nc_close(file));
    SHOW(nc_delete(path));
    SHOW(nc_open(path, NC_NOWRITE, &id));
    SHOW(nc_delete(path));
    create(0);
    SHOW(nc_abort(file));
    SHOW(nc_open(path, NC_NOWRITE, &id));
    create(NC_NETCDF4);
    SHOW(nc_enddef(file));
    SHOW(nc_abort(file));
    SHOW(nc_open(path, NC_NOWRITE, &id));
    SHOW(nc_abort(id));
    SHOW(nc_abort(id));
}

/* Names that begin as those of NCZarr do are a program's own; what a library has for itself is in use. */
static void own_attributes(void) {
    int group, var, two = 2, atts, value = 0;
    create(NC_NETCDF4);
    SHOW(nc_def_grp(file, "g", &group));
    SHOW(nc_def_var(group, "v", NC_INT, 0, NULL, &var));
    for (int v = NC_GLOBAL; v <= var; v++) {
        SHOW(nc_put_att_int(group, v, "_NCAR_id", NC_INT, 1, &two));
        SHOW(nc_put_att_int(group, v, "_nc", NC_INT, 1, &two));
        SHOW(nc_put_att_text(group, v, "_nc_old", 3, "old"));
    }
    SHOW(nc_put_att_int(file, NC_GLOBAL, "_NCProperties", NC_INT, 1, &two));
    SHOW(nc_put_att_int(file, NC_GLOBAL, "_NCZARR_ATTR", NC_INT, 1, &two));
    if (strstr(path, ".zarr") && nc_put_att_int(file, NC_GLOBAL, "_nc_model", NC_INT, 1, &two) != NC_ENAMEINUSE) exit(1);
    for (int again = 0; again < 2; again++) {
        SHOW(nc_close(file));
        open(again ? NC_NOWRITE : NC_WRITE);
        SHOW(nc_inq_grp_ncid(file, "g", &group));
        for (int v = NC_GLOBAL; v <= var; v++) {
            SHOW(nc_get_att_int(group, v, "_NCAR_id", &value));
            SHOW(nc_inq_varnatts(group, v, &atts));
            printf("%d, %d attributes\n", value, atts);
            SHOW(nc_inq_var(group, v, NULL, NULL, NULL, NULL, &atts));
            printf("%d attributes\n", atts);
            SHOW(nc_inq_varndims(group, v, &value));
            SHOW(nc_inq_vartype(group, v, &(nc_type){0}));
            if (!again) SHOW(nc_del_att(group, v, "_nc"));
            if (!again) SHOW(nc_rename_att(group, v, "_nc_old", "_NC"));
        }
    }
    SHOW(nc_close(file));
}

/* A `#` is a letter of a plain name: files whose names differ behind it are two, and the file of the name before it is none of them. */
static void hashes(void) {
    const char *own = path;
    char names[2][8300], before[4096];
    int var, value = 0;
    const char *dot = strrchr(own, '.');
    snprintf(before, sizeof before, "%.*s", (int)(dot - own), own);
    FILE *other = fopen(before, "w");
    if (!other || fclose(other)) exit(1);
    for (int i = 0; i < 2; i++) {
        snprintf(names[i], sizeof names[i], "%s#%d%s", before, i, dot);
        path = names[i];
        create(NC_NETCDF4);
        SHOW(nc_def_var(file, "v", NC_INT, 0, NULL, &var));
        SHOW(nc_put_var_int(file, var, &i));
        SHOW(nc_close(file));
    }
    for (int i = 0; i < 2; i++) {
        SHOW(nc_open(names[i], NC_NOWRITE, &file));
        SHOW(nc_get_var_int(file, 0, &value));
        printf("%d\n", value);
        SHOW(nc_close(file));
    }
    SHOW(nc_delete(names[0]));
    SHOW(nc_open(names[0], NC_NOWRITE, &file));
    SHOW(nc_open(names[1], NC_NOWRITE, &file));
    SHOW(nc_close(file));
    SHOW(remove(before));
    SHOW(nc_delete(names[1]));
    path = own;
}

/* What holds no element lengthens no dimension, wherever it begins. */
static void nothing(void) {
    int dims[2], var;
    size_t len;
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &dims[0]));
    SHOW(nc_def_dim(file, "x", 3, &dims[1]));
    SHOW(nc_def_var(file, "v", NC_INT, 2, dims, &var));
    SHOW(nc_put_vara_int(file, var, ((size_t[]){4, 0}), ((size_t[]){2, 0}), &var));
    SHOW(nc_put_vara_int(file, var, ((size_t[]){0, 3}), ((size_t[]){1, 0}), &var));
    SHOW(nc_inq_dimlen(file, dims[0], &len));
    printf("%zu\n", len);
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    SHOW(nc_inq_dimlen(file, dims[0], &len));
    printf("%zu\n", len);
    SHOW(nc_close(file));
}

/* Rounding goes on where a file is opened again. */
static void quantized(void) {
    int dim, var[4], mode, digits;
    float given[4] = {1.1111111f, 3.14159265f, 9876.54321f, 1e-9f}, back[4];
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 8, &dim));
    for (int m = 0; m < 4; m++) {
        char name[] = {'v', (char)('0' + m), 0};
        SHOW(nc_def_var(file, name, NC_FLOAT, 1, &dim, &var[m]));
        SHOW(nc_def_var_quantize(file, var[m], m, m ? 3 : 0));
        SHOW(nc_put_vara_float(file, var[m], &(size_t){0}, &(size_t){4}, given));
    }
    SHOW(nc_close(file));
    open(NC_WRITE);
    for (int m = 0; m < 4; m++) {
        SHOW(nc_inq_var_quantize(file, var[m], &mode, &digits));
        printf("%d %d\n", mode, digits);
        SHOW(nc_def_var_quantize(file, var[m], 1, 3));
        SHOW(nc_put_vara_float(file, var[m], &(size_t){4}, &(size_t){4}, given));
        for (size_t i = 0; i < 8; i += 4) {
            SHOW(nc_get_vara_float(file, var[m], &i, &(size_t){4}, back));
            for (int k = 0; k < 4; k++) printf("%a ", back[k]);
            putchar('\n');
        }
    }
    SHOW(nc_close(file));
}

static void fill_modes_of(int mode) {
    int dim, time, before, after, own, late, old = -1, no_fill, fill, values[4] = {0};
    char renamed = 0;
    create(mode);
    SHOW(nc_set_fill(file, NC_NOFILL, &old));
    SHOW(old);
    SHOW(nc_def_dim(file, "x", 4, &dim));
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &time));
    SHOW(nc_def_var(file, "before", NC_INT, 1, &dim, &before));
    SHOW(nc_set_fill(file, NC_FILL, &old));
    SHOW(old);
    SHOW(nc_set_fill(file, 77, &old));
    SHOW(nc_def_var(file, "after", NC_INT, 1, &dim, &after));
    SHOW(nc_def_var(file, "own", NC_INT, 1, &time, &own));
    SHOW(nc_def_var_fill(file, own, NC_FILL, &(int){-7}));
    SHOW(nc_def_var(file, "late", NC_CHAR, 1, &dim, &late));
    SHOW(nc_put_att_text(file, late, "a_longer_name", 1, "-"));
    SHOW(nc_inq_var_fill(file, before, &no_fill, &fill));
    SHOW(nc_inq_var_fill(file, after, &no_fill, &fill));
    SHOW(nc_inq_var_fill(file, own, &no_fill, &fill));
    printf("%d %d\n", no_fill, fill);
    SHOW(nc_enddef(file));
    SHOW(nc_set_fill(file, NC_FILL, NULL));
    SHOW(nc_get_var_int(file, after, values));
    printf("%d %d\n", values[0], values[3]);
    SHOW(nc_put_var1_int(file, own, &(size_t){2}, &(int){5}));
    SHOW(nc_put_var1_text(file, late, &(size_t){2}, "a"));
    SHOW(nc_rename_att(file, late, "a_longer_name", "_FillValue"));
    SHOW(nc_get_vara_int(file, own, &(size_t){0}, &(size_t){3}, values));
    printf("%d %d %d\n", values[0], values[1], values[2]);
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    SHOW(nc_set_fill(file, NC_FILL, &old));
    SHOW(nc_get_att_text(file, late, "_FillValue", &renamed));
    SHOW(renamed);
    SHOW(nc_get_vara_int(file, own, &(size_t){0}, &(size_t){3}, values));
    printf("%d %d %d\n", values[0], values[1], values[2]);
    SHOW(nc_get_var_int(file, after, values));
    printf("%d %d\n", values[0], values[3]);
    SHOW(nc_close(file));
}

static void fill_modes(void) { fill_modes_of(NC_NETCDF4); }
static void fill_modes_classic(void) { fill_modes_of(NC_NETCDF4 | NC_CLASSIC_MODEL); }

static void define_cycles_of(int mode) {
    int dim, more, v, w, u, back[8] = {0}, values[4] = {1, 2, 3, 4};
    create(mode);
    SHOW(nc_redef(file));
    SHOW(nc_def_dim(file, "x", 4, &dim));
    SHOW(nc_def_var(file, "v", NC_INT, 1, &dim, &v));
    SHOW(nc_enddef(file));
    SHOW(nc_enddef(file));
    SHOW(nc_put_var_int(file, v, values));
    for (int cycle = 0; cycle < 3; cycle++) {
        char name[8];
        SHOW(nc_redef(file));
        SHOW(nc_redef(file));
        snprintf(name, sizeof name, "w%d", cycle);
        SHOW(nc_def_var(file, name, NC_INT, 1, &dim, &w));
        SHOW(nc_put_att_int(file, v, name, NC_INT, 1, &cycle));
        if (mode & NC_CLASSIC_MODEL) SHOW(nc_put_var_int(file, v, values));
        SHOW(nc_enddef(file));
        values[cycle] = 10 * cycle;
        SHOW(nc_put_var_int(file, w, values));
        SHOW(nc_get_var_int(file, v, back));
        printf("%d %d %d\n", back[0], back[1], back[3]);
    }
    SHOW(nc_def_dim(file, "more", 2, &more));
    SHOW(nc_def_var(file, "u", NC_SHORT, 1, &dim, &u));
    SHOW(nc_put_att_text(file, NC_GLOBAL, "late", 4, "text"));
    SHOW(nc_sync(file));
    SHOW(nc_def_var_deflate(file, w, 0, 1, 1));
    SHOW(nc_close(file));
    open(NC_WRITE);
    SHOW(nc_get_var_int(file, w, back));
    printf("%d %d %d\n", back[0], back[2], back[3]);
    SHOW(nc_redef(file));
    SHOW(nc_def_var(file, "last", NC_INT, 1, &dim, &u));
    SHOW(nc_enddef(file));
    SHOW(nc_put_var_int(file, u, values));
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    SHOW(nc_redef(file));
    SHOW(nc_enddef(file));
    SHOW(nc_sync(file));
    SHOW(nc_inq_nvars(file, &u));
    SHOW(u);
    SHOW(nc_close(file));
}

/* Names become no longer in data mode, in the classic formats. */
static void longer_names_of(int mode) {
    int dim, var;
    char name[NC_MAX_NAME + 1];
    create(mode);
    SHOW(nc_def_dim(file, "abc", 4, &dim));
    SHOW(nc_def_var(file, "abc", NC_INT, 1, &dim, &var));
    SHOW(nc_put_att_int(file, var, "abc", NC_INT, 1, &dim));
    SHOW(nc_enddef(file));
    for (size_t i = 0; i < 3; i++) {
        const char *one = (const char *[]){"longer", "xyz", "z"}[i];
        SHOW(nc_rename_dim(file, dim, one));
        SHOW(nc_rename_var(file, var, one));
        SHOW(nc_inq_dimname(file, dim, name));
        puts(name);
    }
    SHOW(nc_redef(file));
    SHOW(nc_rename_dim(file, dim, "longer"));
    SHOW(nc_close(file));
}

static void longer_names(void) {
    longer_names_of(0);
    longer_names_of(NC_NETCDF4 | NC_CLASSIC_MODEL);
}

static void define_cycles(void) { define_cycles_of(NC_NETCDF4); }
static void define_cycles_classic(void) { define_cycles_of(NC_NETCDF4 | NC_CLASSIC_MODEL); }

/* A reader in the same process, by another ID: what it sees after each nc_sync of both. */
static void watching(void) {
    int writer, reader, dim, var, back[3] = {0};
    size_t len = 99;
    if (nc_create(path, NC_CLOBBER | NC_SHARE, &writer)) exit(1);
    SHOW(nc_def_dim(writer, "t", NC_UNLIMITED, &dim));
    SHOW(nc_def_var(writer, "v", NC_INT, 1, &dim, &var));
    SHOW(nc_enddef(writer));
    SHOW(nc_sync(writer));
    if (nc_open(path, NC_NOWRITE | NC_SHARE, &reader)) exit(1);
    for (size_t t = 0; t < 3; t++) {
        int value = 10 + (int)t;
        SHOW(nc_put_var1_int(writer, var, &t, &value));
        SHOW(nc_sync(writer));
        SHOW(nc_sync(reader));
        SHOW(nc_inq_dimlen(reader, dim, &len));
        printf("length %zu\n", len);
        SHOW(nc_get_vara_int(reader, var, &(size_t){0}, &len, back));
        printf("%d %d %d\n", back[0], back[1], back[2]);
    }
    SHOW(nc_put_var1_int(writer, var, &(size_t){1}, &(int){-1}));
    SHOW(nc_sync(writer));
    SHOW(nc_sync(reader));
    SHOW(nc_get_vara_int(reader, var, &(size_t){0}, &len, back));
    printf("%d %d %d\n", back[0], back[1], back[2]);
    SHOW(nc_close(writer));
    SHOW(nc_sync(reader));
    SHOW(nc_get_var1_int(reader, var, &(size_t){3}, back));
    SHOW(nc_close(reader));
}

/* Reads boxes of a few elements again and again, from one chunk or across chunks, in the variable's type and another one. */
static void read_boxes(int var, const size_t *shape, const size_t *count) {
    size_t at[3], n = count[0] * count[1] * count[2];
    short values[64];
    double wide[64], sum = 0;
    int failed = 0;
    for (int again = 0; again < 3; again++)
        for (at[0] = 0; at[0] + count[0] <= shape[0]; at[0]++)
            for (at[1] = 0; at[1] + count[1] <= shape[1]; at[1]++)
                for (at[2] = 0; at[2] + count[2] <= shape[2]; at[2]++) {
                    bool other = (at[0] + at[1] + at[2]) % 3 == 0;
                    failed += (other ? nc_get_vara_double(file, var, at, count, wide) : nc_get_vara_short(file, var, at, count, values)) != NC_NOERR;
                    for (size_t i = 0; i < n; i++) sum += (other ? wide[i] : values[i]) * (double)(i + 1);
                }
    printf("variable %d, boxes of %zu: %d failed, %.9g\n", var, n, failed, sum);
}

static void small_reads(void) {
    const size_t shape[3] = {5, 7, 9}, boxes[][3] = {{1, 1, 1}, {1, 1, 4}, {2, 3, 4}, {1, 2, 3}, {2, 1, 9}};
    int dims[3], vars[2], writer;
    short values[5 * 7 * 9], back[2] = {0};
    for (int i = 0; i < 5 * 7 * 9; i++) values[i] = (short)(i * i % 1009);
    create(NC_NETCDF4);
    for (int d = 0; d < 3; d++) SHOW(nc_def_dim(file, (const char *[]){"t", "y", "x"}[d], d ? shape[d] : NC_UNLIMITED, &dims[d]));
    for (int v = 0; v < 2; v++) {
        SHOW(nc_def_var(file, v ? "deflated" : "plain", NC_SHORT, 3, dims, &vars[v]));
        SHOW(nc_def_var_chunking(file, vars[v], NC_CHUNKED, (size_t[]){2, 3, 4}));
        SHOW(nc_def_var_deflate(file, vars[v], 0, v, 1));
        SHOW(nc_put_vara_short(file, vars[v], (size_t[]){0, 0, 0}, shape, values));
    }
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    for (int v = 0; v < 2; v++)
        for (size_t b = 0; b < sizeof boxes / sizeof *boxes; b++) read_boxes(vars[v], shape, boxes[b]);
    SHOW(nc_get_var1_short(file, vars[0], (size_t[]){5, 0, 0}, back));
    SHOW(nc_get_vara_short(file, vars[0], (size_t[]){4, 6, 8}, (size_t[]){1, 1, 2}, back));
    SHOW(nc_close(file));
    /* What another one has written is seen after nc_sync of both. */
    if (nc_create(path, NC_CLOBBER | NC_SHARE, &writer)) exit(1);
    SHOW(nc_def_dim(writer, "x", 9, dims));
    SHOW(nc_def_var(writer, "v", NC_SHORT, 1, dims, vars));
    SHOW(nc_enddef(writer));
    SHOW(nc_put_var_short(writer, vars[0], values));
    SHOW(nc_sync(writer));
    open(NC_NOWRITE | NC_SHARE);
    for (int i = 0; i < 4; i++) SHOW(nc_get_vara_short(file, 0, &(size_t){3}, &(size_t){2}, back));
    printf("%d %d\n", back[0], back[1]);
    SHOW(nc_put_var1_short(writer, vars[0], &(size_t){4}, &(short){-5}));
    SHOW(nc_sync(writer));
    SHOW(nc_sync(file));
    for (int i = 0; i < 4; i++) SHOW(nc_get_vara_short(file, 0, &(size_t){3}, &(size_t){2}, back));
    printf("%d %d\n", back[0], back[1]);
    SHOW(nc_close(writer));
    SHOW(nc_close(file));
}

enum { MOST = 1000 };

/* The sum of all elements of variable `v`, weighted by their places. */
static void show_sum(int id, int v) {
    double values[MOST] = {0}, sum = 0;
    int status = nc_get_var_double(id, v, values);
    for (int i = 0; i < MOST; i++) sum += values[i] * (i + 1);
    printf("variable %d: %d, %.9g\n", v, status, sum);
}

/* Many small variables, each written whole, which may wait in memory: what is done to some of them before all are stored. */
static void many(void) {
    enum { MANY = 200, SMALL = 100 };
    int dim, late, other, vars[MANY];
    double values[SMALL];
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", SMALL, &dim));
    for (int v = 0; v < MANY; v++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", v);
        if (nc_def_var(file, name, v % 3 ? NC_FLOAT : NC_BYTE, 1, &dim, &vars[v])) exit(1);
    }
    SHOW(nc_def_var_quantize(file, vars[10], NC_QUANTIZE_GRANULARBR, 2));
    SHOW(nc_enddef(file));
    for (int v = 0; v < MANY; v++) {
        for (int i = 0; i < SMALL; i++) values[i] = (v + i) % 120 + (v % 3 ? 1.0 / 3 : 0);
        if (nc_put_var_double(file, vars[v], values)) exit(1);
    }
    for (int i = 0; i < SMALL; i++) values[i] = 100 + i;
    SHOW(nc_put_var_double(file, vars[0], values)); /* NC_ERANGE; all else is written, and over what waits */
    SHOW(nc_put_vara_double(file, vars[1], &(size_t){20}, &(size_t){30}, values));
    SHOW(nc_put_vars_double(file, vars[2], &(size_t){0}, &(size_t){50}, &(ptrdiff_t){2}, values));
    SHOW(nc_put_var_double(file, vars[2], values));
    SHOW(nc_put_vars_double(file, vars[4], &(size_t){1}, &(size_t){50}, &(ptrdiff_t){2}, values));
    SHOW(nc_redef(file));
    SHOW(nc_rename_var(file, vars[5], "renamed"));
    SHOW(nc_put_att_int(file, vars[6], "n", NC_INT, 1, &(int){6}));
    SHOW(nc_rename_dim(file, dim, "y"));
    SHOW(nc_def_var(file, "late", NC_DOUBLE, 1, &dim, &late));
    SHOW(nc_enddef(file));
    SHOW(nc_put_var_double(file, vars[7], values));
    SHOW(nc_put_var_double(file, late, values));
    for (int v = 0; v < 12; v++) show_sum(file, vars[v]);
    SHOW(nc_sync(file));
    SHOW(nc_put_var_double(file, vars[8], values));
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    SHOW(nc_inq_varid(file, "renamed", &other));
    for (int v = 0; v <= MANY; v++) show_sum(file, v);
    SHOW(nc_close(file));
}

/* Variables in threes that differ in names and attributes only, and in one thing from the plain ones before and behind them. */
static void alike(void) {
    enum { PLAIN, INTEGER, ONE_DIMENSION, OTHER_DIMENSIONS, CHUNKED, OTHER_CHUNKS, DEFLATED, OTHER_LEVEL, FILLED, BIG, KINDS, EACH = 4, LEN = 10, ALL = LEN * LEN };
    int dims[4], vars[KINDS][EACH], same = 0x7cf00000; /* the bytes of NC_FILL_FLOAT */
    float values[ALL], fill = -1, none[ALL];
    char text[32];
    bool zarr = strstr(path, ".zarr") != NULL;
    create(NC_NETCDF4);
    for (int d = 0; d < 4; d++) SHOW(nc_def_dim(file, (const char *[]){"x", "y", "z", "w"}[d], LEN, &dims[d]));
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < EACH; i++) {
            int *v = &vars[kind][i], k = i == 3 && kind != CHUNKED && kind != DEFLATED ? PLAIN : kind;
            snprintf(text, sizeof text, "v%d_%d", kind, i);
            SHOW(nc_def_var(file, text, k == INTEGER ? NC_INT : NC_FLOAT, k == ONE_DIMENSION ? 1 : 2, dims + 2 * (k == OTHER_DIMENSIONS), v));
            if (k == CHUNKED || k == OTHER_CHUNKS) SHOW(nc_def_var_chunking(file, *v, NC_CHUNKED, (size_t[]){k == CHUNKED ? 5 : 10, 10}));
            if (k == DEFLATED || k == OTHER_LEVEL) SHOW(nc_def_var_deflate(file, *v, 1, 1, k == DEFLATED ? 2 : 5));
            if (k == INTEGER) SHOW(nc_def_var_fill(file, *v, 0, &same));
            if (k == FILLED) SHOW(nc_def_var_fill(file, *v, 0, &fill));
            if (k == BIG) SHOW(nc_def_var_endian(file, *v, NC_ENDIAN_BIG));
            int len = snprintf(text, sizeof text, i == 2 ? "\xff%d" : "\"%d\" {}, \\", kind);
            SHOW(nc_put_att_text(file, *v, "note", (size_t)len, text));
            /* HDF5 takes them; on Zarr they are refused at once, and all else is stored. */
            if (zarr && nc_put_att_string(file, *v, "bad", 2, (const char *[]){"a", "\xff"}) != NC_EINVAL) exit(1);
        }
    SHOW(nc_enddef(file));
    for (int n = 0; n < ALL; n++) none[n] = NC_FILL_FLOAT;
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < EACH; i++) {
            for (int n = 0; n < ALL; n++) values[n] = (float)(100 * k + 10 * i + n);
            if (i != 2) SHOW(nc_put_var_float(file, vars[k][i], i == 1 ? none : values));
        }
    SHOW(nc_sync(file));
    for (int k = 0; k < KINDS; k++) SHOW(nc_put_var_float(file, vars[k][0], none));
    for (int k = 0; k < KINDS; k++) SHOW(nc_put_var_float(file, vars[k][1], values));
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    for (int v = 0; v < KINDS * EACH; v++) {
        int deflate, level, storage, no_fill, endian, at[2] = {0}, kind = v / EACH;
        size_t chunks[2], len;
        show_sum(file, v);
        SHOW(nc_inq_attlen(file, v, "note", &len) || nc_get_att_text(file, v, "note", text));
        SHOW(nc_inq_var_deflate(file, v, NULL, &deflate, &level) || nc_inq_var_chunking(file, v, &storage, chunks));
        SHOW(nc_inq_var_fill(file, v, &no_fill, &fill) || nc_inq_var_endian(file, v, &endian) || nc_inq_vardimid(file, v, at));
        text[len < sizeof text ? len : 0] = 0;
        hex("note", text);
        printf("dimensions %d %d deflate %d %d fill %g", at[0], at[1], deflate, level, fill);
        if (kind == BIG && v % EACH != 3) printf(" endian %d", endian);
        if (kind == CHUNKED || (kind == OTHER_CHUNKS && v % EACH != 3)) printf(" chunks %zu %zu", chunks[0], chunks[1]);
        putchar('\n');
    }
    SHOW(nc_close(file));
}

/* Lets no file become longer than a document, or any again. */
static void fill_disk(bool full) {
    static struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    if (full && getrlimit(RLIMIT_FSIZE, &limit)) exit(1);
    if (setrlimit(RLIMIT_FSIZE, full ? &(struct rlimit){3072, limit.rlim_max} : &limit)) exit(1);
}

/* Elements that cannot be stored are kept, and the next call stores them: on Zarr while files cannot be longer than a document. */
static void full_disk(void) {
    enum { MANY = 70 };
    bool zarr = strstr(path, ".zarr") != NULL;
    unsigned bits = 1;
    int dim, vars[MANY];
    float values[MOST];
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", MOST, &dim));
    for (int v = 0; v < MANY; v++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", v);
        if (nc_def_var(file, name, NC_FLOAT, 1, &dim, &vars[v])) exit(1);
    }
    SHOW(nc_enddef(file));
    for (int v = 0; v < MANY; v++) {
        /* Some are short when they are compressed. */
        for (int i = 0; i < MOST; i++) values[i] = v % 5 ? (float)((bits = bits * 1664525 + 1013904223) >> 8) : (float)v;
        if (nc_put_var_float(file, vars[v], values)) exit(1);
    }
    for (int again = 0; again < 2 && zarr; again++) {
        fill_disk(true);
        int status = nc_sync(file);
        fill_disk(false);
        if (!status) exit(1);
    }
    SHOW(nc_sync(file));
    for (int v = 0; v < MANY; v++) show_sum(file, v);
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    for (int v = 0; v < MANY; v++) show_sum(file, v);
    SHOW(nc_close(file));
}

/* Makes a call on Zarr while the disk is full, which is to fail. */
#define FAILS_ON_FULL_DISK(CALL)              \
    do {                                      \
        if (!strstr(path, ".zarr")) break;    \
        fill_disk(true);                      \
        int status_ = CALL;                   \
        fill_disk(false);                     \
        if (!status_) printf("%s\n", #CALL); \
    } while (0)

/* Renames a variable or, with `id` below 0, a group: on Zarr first while the disk is full, which fails. */
static int rename_on_full_disk(int group, int id, const char *name) {
    if (strstr(path, ".zarr")) {
        fill_disk(true);
        int status = id < 0 ? nc_rename_grp(group, name) : nc_rename_var(group, id, name);
        fill_disk(false);
        if (!status) exit(1);
    }
    return id < 0 ? nc_rename_grp(group, name) : nc_rename_var(group, id, name);
}

/* Records that wait are there after a renaming that failed on a full disk, in the variable itself and below a group. */
static void full_disk_renaming(void) {
    unsigned bits = 1;
    int dims[2], groups[2], vars[2];
    float values[MOST];
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &dims[0]));
    SHOW(nc_def_dim(file, "x", MOST / 5, &dims[1]));
    SHOW(nc_def_grp(file, "g", &groups[1]));
    groups[0] = file;
    for (int g = 0; g < 2; g++) {
        SHOW(nc_def_var(groups[g], "v", NC_FLOAT, 2, dims, &vars[g]));
        SHOW(nc_sync(file));
        for (int i = 0; i < MOST; i++) values[i] = (float)((bits = bits * 1664525 + 1013904223) >> 8);
        SHOW(nc_put_vara_float(groups[g], vars[g], (size_t[]){0, 0}, (size_t[]){5, MOST / 5}, values));
        SHOW(g ? rename_on_full_disk(groups[g], -1, "h") : rename_on_full_disk(file, vars[g], "w"));
        show_sum(groups[g], vars[g]);
    }
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    SHOW(nc_inq_grp_ncid(file, "h", &groups[1]));
    groups[0] = file;
    for (int g = 0; g < 2; g++) show_sum(groups[g], vars[g]);
    SHOW(nc_close(file));
}

/* In data mode it closes; in define mode what was defined since is dropped, and all that was written is not. */
static void abortion(void) {
    int dim, grows, var, other;
    size_t len;
    double values[100], one = 5;
    for (int i = 0; i < 100; i++) values[i] = i;
    SHOW(nc_def_var(file, "v", NC_INT, -1, NULL, &var));
    for (int again = 0; again < 2; again++) {
        create(0);
        SHOW(nc_def_var(file, "bad", 99, -1, NULL, &var));
        SHOW(nc_def_var(file, "bad", NC_INT, -1, NULL, &var));
        SHOW(nc_def_dim(file, "x", 100, &dim));
        SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &grows));
        SHOW(nc_def_var(file, "v", NC_FLOAT, 1, &dim, &var));
        SHOW(nc_def_var(file, "w", NC_FLOAT, 1, &grows, &other));
        SHOW(nc_enddef(file));
        SHOW(nc_put_var_double(file, var, values));
        if (!again) SHOW(nc_put_var1_double(file, other, &(size_t){2}, &one));
        if (again) {
            SHOW(nc_redef(file));
            SHOW(nc_def_var(file, "late", NC_FLOAT, 1, &dim, NULL));
        }
        SHOW(nc_abort(file));
        open(NC_NOWRITE);
        SHOW(nc_inq_varid(file, "late", &dim));
        SHOW(nc_inq_dimlen(file, grows, &len));
        printf("%zu\n", len);
        show_sum(file, var);
        SHOW(nc_get_var1_double(file, other, &(size_t){2}, &one));
        printf("%g\n", one);
        SHOW(nc_close(file));
    }
}

/* A group cannot be closed, and the file goes on; nc_abort takes any group. */
static void closed_groups(void) {
    int group, var, value = 7;
    for (int aborted = 0; aborted < 2; aborted++) {
        create(NC_NETCDF4);
        SHOW(nc_def_grp(file, "g", &group));
        SHOW(nc_def_var(file, "v", NC_INT, 0, NULL, &var));
        SHOW(nc_close(group));
        SHOW(nc_put_var_int(file, var, &value));
        SHOW(nc_close(group));
        SHOW(aborted ? nc_abort(group) : nc_close(file));
        SHOW(nc_inq_varid(file, "v", &var));
        open(NC_NOWRITE);
        SHOW(nc_inq_grp_ncid(file, "g", &group));
        SHOW(nc_close(group));
        SHOW(nc_get_var_int(file, var, &value));
        SHOW(value);
        SHOW(nc_close(file));
    }
}

/* Shows all elements of all variables, and the lengths of their dimensions. */
static void show_all(int id) {
    int vars, groups[4], group_count;
    if (nc_inq_nvars(id, &vars) || nc_inq_grps(id, &group_count, groups)) exit(1);
    for (int v = 0; v < vars; v++) {
        char name[NC_MAX_NAME + 1], text[256] = "", *strings[64];
        int type, rank, dims[4], atts;
        size_t size = 1, len;
        double values[256];
        SHOW(nc_inq_var(id, v, name, &type, &rank, dims, &atts));
        printf("%s: %d, %d attributes:", name, type, atts);
        for (int d = 0; d < rank && !nc_inq_dimlen(id, dims[d], &len); d++) size *= len, printf(" %zu", len);
        int status = type == NC_CHAR ? nc_get_var_text(id, v, text) : type == NC_STRING ? nc_get_var_string(id, v, strings) : nc_get_var_double(id, v, values);
        printf(": %d:", status);
        for (size_t i = 0; i < size && !status; i++) {
            if (type == NC_CHAR) printf(" %d", text[i]);
            else if (type == NC_STRING) printf(" %s", strings[i]), free(strings[i]);
            else printf(" %g", values[i]);
        }
        putchar('\n');
    }
    for (int g = 0; g < group_count; g++) show_all(groups[g]);
}

/* Records that were written are seen by readers after nc_abort in define mode, of a new file and of an older one, and what was defined is not. */
static void aborted_records(void) {
    int dim, group, vars[2], late, values[5] = {1, 2, 3, 4, 5};
    size_t len;
    for (int older = 0; older < 2; older++) {
        create(NC_NETCDF4);
        SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &dim));
        SHOW(nc_def_grp(file, "g", &group));
        SHOW(nc_def_var(file, "v", NC_INT, 1, &dim, &vars[0]));
        SHOW(nc_def_var(group, "w", NC_INT, 1, &dim, &vars[1]));
        SHOW(nc_put_vara_int(file, vars[0], &(size_t){0}, &(size_t){3}, values));
        SHOW(nc_sync(file));
        if (older) {
            SHOW(nc_close(file));
            open(NC_WRITE);
            SHOW(nc_inq_grp_ncid(file, "g", &group));
        }
        SHOW(nc_put_vara_int(file, vars[0], &(size_t){3}, &(size_t){2}, values));
        SHOW(nc_put_vara_int(group, vars[1], &(size_t){0}, &(size_t){5}, values));
        SHOW(nc_redef(file));
        SHOW(nc_def_var(group, "late", NC_INT, 1, &dim, NULL));
        SHOW(nc_def_grp(file, "later", &late));
        SHOW(nc_def_var(late, "late", NC_INT, 1, &dim, NULL));
        SHOW(nc_abort(file));
        open(NC_NOWRITE);
        SHOW(nc_inq_dimlen(file, dim, &len));
        printf("%zu\n", len);
        SHOW(nc_inq_grp_ncid(file, "later", &late));
        show_all(file);
        SHOW(nc_close(file));
    }
}

/* Groups whose attributes could not be stored on a full disk, in a new file and in one that is there, are stored by the next call. */
static void definitions_on_full_disk(void) {
    int dim, var, values[5] = {1, 2, 3, 4, 5};
    char history[4000];
    memset(history, 'h', sizeof history);
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &dim));
    SHOW(nc_def_var(file, "v", NC_INT, 1, &dim, &var));
    SHOW(nc_put_att_text(file, NC_GLOBAL, "history", sizeof history, history));
    FAILS_ON_FULL_DISK(nc_enddef(file));
    SHOW(nc_enddef(file));
    SHOW(nc_put_vara_int(file, var, &(size_t){0}, &(size_t){3}, values));
    for (int again = 0; again < 2; again++) {
        history[0]++;
        SHOW(nc_put_att_text(file, NC_GLOBAL, "history", sizeof history, history));
        FAILS_ON_FULL_DISK(nc_sync(file));
        FAILS_ON_FULL_DISK(nc_sync(file));
        SHOW(nc_sync(file));
        SHOW(nc_put_vara_int(file, var, &(size_t){3}, &(size_t){2}, values));
        SHOW(nc_close(file));
        open(again ? NC_NOWRITE : NC_WRITE);
        show_all(file);
        SHOW(nc_get_att_text(file, NC_GLOBAL, "history", history));
        printf("%.2s\n", history);
    }
    SHOW(nc_close(file));
}

/* What a variable is, with the names of its dimensions, and an attribute. */
static void show_kind(int id, const char *of) {
    int var, rank, dims[4], count, unlimited[4];
    char name[NC_MAX_NAME + 1];
    nc_type type, att = 0;
    SHOW(nc_inq_varid(id, of, &var));
    if (nc_inq_var(id, var, NULL, &type, &rank, dims, NULL) || nc_inq_type(id, type, name, NULL)) return;
    (void)nc_inq_atttype(id, var, "n", &att);
    printf("%s: %s, attribute %d:", of, name, att);
    for (int d = 0; d < rank && !nc_inq_dimname(id, dims[d], name); d++) printf(" %s", name);
    if (nc_inq_unlimdims(id, &count, unlimited) == NC_NOERR) printf(" of %d, %d unlimited\n", rank, count);
}

/* Dimensions and variables that are renamed keep what they are, whether the program ends by nc_abort or what it stores meets a full disk. */
static void dropped_renaming(void) {
    enum { DIMENSION, VARIABLE, FULL_DISK, KINDS };
    bool zarr = strstr(path, ".zarr") != NULL;
    char history[4000];
    int dim, vars[2], type;
    memset(history, 'h', sizeof history);
    for (int kind = 0; kind < KINDS; kind++) {
        create(NC_NETCDF4);
        /* On HDF5 netCDF-C 4.9.0 harms such a file when it renames: there the names are what they become on Zarr. */
        SHOW(nc_def_dim(file, kind == FULL_DISK && !zarr ? "time" : "t", NC_UNLIMITED, &dim));
        SHOW(nc_def_enum(file, NC_BYTE, "sky", &type));
        SHOW(nc_insert_enum(file, type, "clear", &(signed char){3}));
        SHOW(nc_def_var(file, kind == VARIABLE && !zarr ? "renamed" : "v", type, 1, &dim, &vars[0]));
        SHOW(nc_def_var(file, "w", NC_INT, 1, &dim, &vars[1]));
        for (int v = 0; v < 2; v++) SHOW(nc_put_att_int(file, vars[v], "n", NC_SHORT, 1, &dim));
        SHOW(nc_put_att_text(file, vars[0], "history", sizeof history, history));
        SHOW(nc_put_vara_int(file, vars[1], &(size_t){0}, &(size_t){2}, (int[]){7, 8}));
        SHOW(nc_close(file));
        open(NC_WRITE);
        SHOW(nc_redef(file));
        if (zarr && (kind == VARIABLE ? nc_rename_var(file, vars[0], "renamed") : nc_rename_dim(file, dim, "time"))) puts("renamed");
        if (kind == FULL_DISK) FAILS_ON_FULL_DISK(nc_sync(file));
        SHOW(kind == FULL_DISK ? nc_close(file) : nc_abort(file));
        for (int again = 0; again < 2; again++) {
            open(again ? NC_NOWRITE : NC_WRITE);
            show_kind(file, kind == VARIABLE ? "renamed" : "v");
            show_kind(file, "w");
            if (!again) SHOW(nc_put_var1_int(file, vars[1], &(size_t){2}, &(int){9}));
            SHOW(nc_close(file));
        }
    }
}

/* A renaming that meets a full disk, in a new file or one that is opened, in define mode or not, renames nothing, and no attribute has another type then. */
static void refused_renaming(void) {
    char history[4000];
    memset(history, 'h', sizeof history);
    for (int kind = 0; kind < 4; kind++) {
        int dim, var, group, defining = kind & 1;
        create(NC_NETCDF4);
        SHOW(nc_def_dim(file, "x", 2, &dim));
        SHOW(nc_def_var(file, "v", NC_INT, 1, &dim, &var));
        SHOW(nc_put_att_int(file, var, "n", NC_SHORT, 1, &dim));
        SHOW(nc_put_att_text(file, NC_GLOBAL, "history", sizeof history, history));
        SHOW(nc_def_grp(file, "g", &group));
        SHOW(nc_enddef(file));
        if (kind & 2) {
            SHOW(nc_close(file));
            open(NC_WRITE);
            SHOW(nc_inq_grp_ncid(file, "g", &group));
        }
        if (defining) SHOW(nc_redef(file));
        FAILS_ON_FULL_DISK(nc_rename_var(file, var, "w"));
        FAILS_ON_FULL_DISK(nc_rename_grp(group, "h"));
        if (defining) SHOW(nc_abort(file));
        else SHOW(nc_close(file));
        open(NC_NOWRITE);
        show_kind(file, "v");
        SHOW(nc_inq_grp_ncid(file, "g", &group));
        SHOW(nc_close(file));
    }
}

/* A variable and a group are renamed at once in define mode, and what was defined beside them can still be changed, or dropped by nc_abort. */
static void renaming_among_definitions(void) {
    bool zarr = strstr(path, ".zarr") != NULL;
    int dim, group, below, vars[3], type, deflate, level, values[3] = {1, 2, 3};
    for (int aborted = 0; aborted < 2; aborted++) {
        create(NC_NETCDF4);
        SHOW(nc_def_dim(file, "x", 3, &dim));
        /* netCDF-C 4.9.0 cannot rename it then on HDF5. */
        SHOW(nc_def_var(file, zarr ? "v" : "renamed", NC_INT, 1, &dim, &vars[0]));
        SHOW(nc_def_grp(file, "g", &group));
        SHOW(nc_def_var(group, "in", NC_INT, 1, &dim, NULL));
        SHOW(nc_put_att_int(file, vars[0], "n", NC_SHORT, 1, values));
        SHOW(nc_close(file));
        open(NC_WRITE);
        SHOW(nc_inq_grp_ncid(file, "g", &group));
        SHOW(nc_put_var_int(file, vars[0], values));
        SHOW(nc_put_var_int(group, 0, values));
        SHOW(nc_redef(file));
        SHOW(nc_def_var(file, "new", NC_INT, 1, &dim, &vars[1]));
        SHOW(nc_def_var(group, "new", NC_INT, 1, &dim, &vars[2]));
        SHOW(nc_def_grp(group, "below", &below));
        SHOW(nc_def_enum(file, NC_BYTE, "t", &type));
        SHOW(nc_insert_enum(file, type, "one", "\1"));
        SHOW(nc_put_att_int(file, vars[0], "m", NC_SHORT, 1, values));
        if (zarr && nc_rename_var(file, vars[0], "renamed")) exit(1);
        SHOW(nc_def_var_deflate(file, vars[1], 0, 1, 3));
        SHOW(nc_rename_grp(group, "h"));
        SHOW(nc_def_var_deflate(group, vars[2], 0, 1, 3));
        SHOW(nc_insert_enum(file, type, "two", "\2"));
        SHOW(aborted ? nc_abort(file) : nc_close(file));
        open(NC_NOWRITE);
        for (int late = 0; late < 3; late++) SHOW(nc_inq_varid(file, (const char *[]){"new", "renamed", "v"}[late], &vars[late]));
        if (!aborted) show_all(file);
        show_kind(file, "renamed");
        SHOW(nc_inq_grp_ncid(file, "h", &group));
        SHOW(nc_inq_varid(group, "new", &vars[2]));
        if (!aborted) SHOW(nc_inq_var_deflate(file, vars[0], NULL, &deflate, &level)), printf("%d %d\n", deflate, level);
        SHOW(nc_close(file));
    }
}

/* What was defined before a variable and a group are renamed, or behind it, is dropped by nc_abort, and nothing else: also not which one of two types of the
 * same name a variable and an attribute have, by a path through the group. */
static void renaming_before_abortion(void) {
    bool zarr = strstr(path, ".zarr") != NULL;
    int dim, group, other, types[2], vars[2];
    char name[NC_MAX_NAME + 1];
    for (int older = 0; older < 2; older++) {
        create(NC_NETCDF4);
        SHOW(nc_def_dim(file, "x", 3, &dim));
        /* On HDF5 netCDF-C 4.9.0 cannot rename them then. */
        if (nc_def_grp(file, zarr ? "g" : "h", &group)) exit(1);
        SHOW(nc_def_grp(file, "other", &other));
        for (int t = 0; t < 2; t++) {
            SHOW(nc_def_enum(t ? group : file, NC_BYTE, "t", &types[t]));
            SHOW(nc_insert_enum(t ? group : file, types[t], t ? "inner" : "outer", "\1"));
        }
        SHOW(nc_put_att(other, NC_GLOBAL, "sky", types[1], 1, "\1"));
        if (nc_def_var(other, zarr ? "v" : "renamed", types[1], 1, &dim, &vars[0])) exit(1);
        SHOW(nc_put_att_int(other, vars[0], "n", NC_SHORT, 1, &dim));
        SHOW(nc_enddef(file));
        if (older) {
            SHOW(nc_close(file));
            open(NC_WRITE);
            if (nc_inq_grp_ncid(file, zarr ? "g" : "h", &group) || nc_inq_grp_ncid(file, "other", &other)) exit(1);
        }
        SHOW(nc_redef(file));
        SHOW(nc_def_dim(file, "late", 3, &dim));
        SHOW(nc_put_att_text(file, NC_GLOBAL, "late", 1, "a"));
        SHOW(nc_put_att_int(other, vars[0], "late", NC_INT, 1, &dim));
        SHOW(nc_put_att_text(group, NC_GLOBAL, "late", 1, "a"));
        SHOW(nc_def_var(file, "late", NC_INT, 1, &dim, &vars[1]));
        if (zarr && (nc_rename_grp(group, "h") || nc_rename_var(other, vars[0], "renamed"))) exit(1);
        SHOW(nc_def_dim(file, "later", 3, &dim));
        SHOW(nc_abort(file));
        open(NC_NOWRITE);
        SHOW(nc_inq_dimid(file, "late", &dim));
        SHOW(nc_inq_varid(file, "late", &vars[1]));
        SHOW(nc_inq_attid(file, NC_GLOBAL, "late", &dim));
        SHOW(nc_inq_grp_ncid(file, "h", &group));
        SHOW(nc_inq_attid(group, NC_GLOBAL, "late", &dim));
        SHOW(nc_inq_grp_ncid(file, "other", &other));
        SHOW(nc_inq_attid(other, vars[0], "late", &dim));
        show_kind(other, "renamed");
        SHOW(nc_inq_vartype(other, vars[0], &types[0]));
        if (nc_inq_enum_ident(file, types[0], 1, name) == NC_NOERR) puts(name);
        SHOW(nc_inq_atttype(other, NC_GLOBAL, "sky", &types[1]));
        if (nc_inq_enum_ident(file, types[1], 1, name) == NC_NOERR) puts(name);
        SHOW(nc_close(file));
    }
}

/* Dimensions that may grow do so one after the other, far beyond what each would have by an equal share of all elements. */
static void far_records(void) {
    enum { DIMS = 5 };
    int dims[DIMS], var, other;
    size_t len, ends[][DIMS] = {{0, 1, 2, 3, 4}, {5000, 0, 0, 0, 0}, {70000, 1, 7, 0, 0}, {3, 0, 9000, 0, 0}};
    create(NC_NETCDF4);
    for (int d = 0; d < DIMS; d++) SHOW(nc_def_dim(file, (const char *[]){"a", "b", "c", "d", "e"}[d], NC_UNLIMITED, &dims[d]));
    SHOW(nc_def_var(file, "v", NC_SHORT, DIMS, dims, &var));
    SHOW(nc_def_var_chunking(file, var, NC_CHUNKED, (size_t[]){1, 1, 1, 2, 5}));
    SHOW(nc_def_var(file, "w", NC_INT, 1, dims, &other));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (i % 2) {
            SHOW(nc_close(file));
            open(NC_WRITE);
        }
        SHOW(nc_put_var1_short(file, var, ends[i], &(short){(short)(i + 1)}));
        for (size_t k = 0; k <= i; k++) {
            short back = 0;
            SHOW(nc_get_var1_short(file, var, ends[k], &back));
            printf("%d\n", back);
        }
    }
    SHOW(nc_put_var1_int(file, other, &(size_t){100000000}, &(int){7}));
    short back = 1;
    SHOW(nc_get_var1_short(file, var, ((size_t[]){100000000, 0, 0, 0, 0}), &back));
    printf("%d\n", back);
    SHOW(nc_put_var1_short(file, var, ((size_t[]){100000000, 0, 0, 0, 0}), &back));
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    for (int d = 0; d < DIMS && nc_inq_dimlen(file, dims[d], &len) == NC_NOERR; d++) printf("%zu\n", len);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        SHOW(nc_get_var1_short(file, var, ends[i], &back));
        printf("%d\n", back);
    }
    SHOW(nc_close(file));
}

/* Shows the dimensions of all variables of a group. */
static void show_dims(int id) {
    int vars, dims[4], rank;
    if (nc_inq_nvars(id, &vars)) exit(1);
    for (int v = 0; v < vars; v++) {
        char name[NC_MAX_NAME + 1];
        SHOW(nc_inq_var(id, v, name, NULL, &rank, dims, NULL));
        printf("%s:", name);
        for (int d = 0; d < rank; d++) {
            size_t len = 0;
            int status = nc_inq_dim(id, dims[d], name, &len);
            printf(" %s (%d) %zu, %d", name, dims[d], len, status);
        }
        putchar('\n');
    }
}

/* A name that a dimension had is free for one of another length; two dimensions change their names. */
static void freed_names(void) {
    int x, y, z, t, var, values[20] = {1, 2, 3};
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 10, &x));
    SHOW(nc_def_dim(file, "y", 3, &y));
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &t));
    SHOW(nc_def_var(file, "v", NC_INT, 1, &x, &var));
    SHOW(nc_def_var(file, "w", NC_INT, 2, (int[]){t, y}, &var));
    SHOW(nc_def_dim(file, "z", 4, &z));
    SHOW(nc_def_var(file, "a", NC_INT, 1, &z, NULL));
    SHOW(nc_rename_dim(file, z, "zz"));
    SHOW(nc_def_dim(file, "z", 5, &z));
    SHOW(nc_def_var(file, "b", NC_INT, 1, &z, NULL));
    SHOW(nc_put_vara_int(file, var, (size_t[]){0, 0}, (size_t[]){1, 3}, values));
    SHOW(nc_sync(file));
    SHOW(nc_rename_dim(file, x, "other"));
    SHOW(nc_rename_dim(file, y, "x"));
    SHOW(nc_rename_dim(file, x, "y"));
    SHOW(nc_rename_dim(file, t, "time"));
    SHOW(nc_def_dim(file, "t", 20, &t));
    SHOW(nc_def_var(file, "u", NC_INT, 1, &t, NULL));
    SHOW(nc_put_vara_int(file, var, (size_t[]){1, 0}, (size_t[]){1, 3}, values));
    for (int again = 0; again < 2; again++) {
        SHOW(nc_close(file));
        open(again ? NC_NOWRITE : NC_WRITE);
        show_dims(file);
        show_all(file);
        if (!again) SHOW(nc_put_vara_int(file, var, (size_t[]){2, 0}, (size_t[]){1, 3}, values));
    }
    SHOW(nc_close(file));
}

/* The same where only variables of groups below have the dimensions. */
static void freed_names_above(void) {
    int x, t, z, own, g, h, a, b, ids[8], values[10] = {1, 2, 3};
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 10, &x));
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &t));
    SHOW(nc_def_dim(file, "z", 5, &z));
    SHOW(nc_def_grp(file, "g", &g));
    SHOW(nc_def_grp(g, "h", &h));
    SHOW(nc_def_dim(g, "own", 3, &own));
    SHOW(nc_def_var(g, "v", NC_INT, 1, &x, &a));
    SHOW(nc_def_var(h, "u", NC_INT, 3, (int[]){t, x, own}, &b));
    SHOW(nc_put_var_int(g, a, values));
    SHOW(nc_put_vara_int(h, b, (size_t[]){0, 0, 0}, (size_t[]){1, 2, 3}, values));
    SHOW(nc_sync(file));
    SHOW(nc_rename_dim(file, x, "y"));
    SHOW(nc_rename_dim(file, t, "time"));
    SHOW(nc_rename_dim(g, own, "mine"));
    SHOW(nc_rename_dim(file, z, "x"));
    SHOW(nc_def_var(g, "w", NC_INT, 1, &z, NULL));
    SHOW(nc_put_vara_int(h, b, (size_t[]){1, 0, 0}, (size_t[]){1, 2, 3}, values));
    for (int again = 0; again < 2; again++) {
        SHOW(nc_close(file));
        open(again ? NC_NOWRITE : NC_WRITE);
        SHOW(nc_inq_grp_ncid(file, "g", &g));
        SHOW(nc_inq_grp_ncid(g, "h", &h));
        show_dims(g);
        show_dims(h);
        SHOW(nc_inq_dimids(g, &t, ids, 0));
        printf("%d dimensions in g\n", t);
        if (!again) SHOW(nc_put_vara_int(h, 0, (size_t[]){2, 0, 0}, (size_t[]){1, 2, 3}, values));
    }
    SHOW(nc_close(file));
}

/* Puts a plain file where an array of that name would be, or takes it away. */
static void block(const char *name, bool there) {
    char place[4200];
    snprintf(place, sizeof place, "%s/%s", path, name);
    FILE *made = there ? fopen(place, "w") : NULL;
    if (there ? !made || fclose(made) : remove(place)) exit(1);
}

/* A variable that cannot be stored, on Zarr, costs no records of others, and none of their definitions. */
static void blocked_definition(void) {
    bool zarr = strstr(path, ".zarr") != NULL;
    int dims[2], vars[2], late, values[5] = {1, 2, 3, 4, 5};
    for (int older = 0; older < 2; older++) {
        create(NC_NETCDF4);
        SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &dims[0]));
        SHOW(nc_def_dim(file, "x", 5, &dims[1]));
        SHOW(nc_def_var(file, "v", NC_INT, 1, &dims[0], &vars[0]));
        SHOW(nc_def_var(file, "w", NC_INT, 1, &dims[1], &vars[1]));
        SHOW(nc_sync(file));
        if (older) {
            SHOW(nc_close(file));
            open(NC_WRITE);
        }
        SHOW(nc_put_vara_int(file, vars[0], &(size_t){0}, &(size_t){5}, values));
        SHOW(nc_put_var_int(file, vars[1], values));
        if (zarr) block("bad", true);
        if (zarr && nc_def_var(file, "bad", NC_INT, 1, &dims[1], &late)) exit(1);
        SHOW(nc_def_var(file, "late", NC_INT, 1, &dims[0], &late));
        SHOW(nc_put_att_int(file, late, "n", NC_SHORT, 1, values));
        if (zarr == (nc_close(file) == NC_NOERR)) puts("nc_close");
        if (zarr) block("bad", false);
        open(NC_NOWRITE);
        show_all(file);
        show_kind(file, "late");
        SHOW(nc_close(file));
    }
}

/* Levels and shuffles that Zstandard and Blosc do not have. */
static void refuse_filters(int var) {
    static const struct {
        unsigned id, count, parameters[7];
    } bad[] = {{32015, 1, {23}}, {32015, 1, {50}}, {32015, 1, {(unsigned)-200000}}, {32001, 7, {0, 0, 0, 0, 10, 1, 1}}, {32001, 6, {0, 0, 0, 0, 5, 3}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (nc_def_var_filter(file, var, bad[i].id, bad[i].count, bad[i].parameters) != NC_EFILTER) printf("filter %zu\n", i);
}

/* All levels of Zstandard go with shuffling, for which format 3 has Blosc, of other levels. */
static void shuffled_levels(void) {
    const int levels[] = {-131072, -5, -1, 0, 9, 22};
    int dim, var;
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 3, &dim));
    for (size_t i = 0; i <= sizeof levels / sizeof *levels; i++) {
        char name[] = {'v', (char)('0' + i), 0};
        SHOW(nc_def_var(file, name, NC_INT, 1, &dim, &var));
        SHOW(nc_def_var_deflate(file, var, 1, 0, 0));
        if (i && strstr(path, ".zarr") && nc_def_var_filter(file, var, 32015, 1, &(unsigned){(unsigned)levels[i - 1]})) exit(1);
        SHOW(nc_put_var_int(file, var, (int[]){1, 2, 3}));
    }
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    show_all(file);
    SHOW(nc_close(file));
}

/* Names and sizes that no array of Zarr can have are refused where they are given, on Zarr, and harm nothing else. */
static void refused_definitions(void) {
    bool zarr = strstr(path, ".zarr") != NULL;
    int dim, huge[3], var, group, three[3] = {1, 2, 3};
    char longest[NC_MAX_NAME + 1];
    memset(longest, 'n', NC_MAX_NAME), longest[NC_MAX_NAME] = 0;
    const char *const bad[] = {"p\\q", "zarr.json", "ozarr-copy.json", "a\xc2\x85", "__v", longest};
    for (int older = 0; older < 2; older++) {
        if (!older) create(NC_NETCDF4);
        else open(NC_WRITE);
        if (!older) {
            SHOW(nc_def_dim(file, "x\\y", 3, &dim));
            SHOW(nc_def_var(file, "v", NC_INT, 1, &dim, &var));
            SHOW(nc_def_grp(file, "g", &group));
            if (zarr) refuse_filters(var);
        }
        for (size_t i = 0; i < sizeof bad / sizeof *bad && zarr; i++) {
            int wanted = bad[i] == longest ? NC_EMAXNAME : NC_EBADNAME;
            if (nc_def_grp(file, bad[i], NULL) != wanted) printf("group %zu\n", i);
            if (nc_rename_grp(group, bad[i]) != wanted) printf("renamed group %zu\n", i);
            /* A new file of format 3 takes the names of variables that xarray gives. */
            if (bad[i][0] == '_' && !older) continue;
            if (nc_def_var(file, bad[i], NC_INT, 1, &dim, NULL) != wanted) printf("variable %zu\n", i);
            if (nc_rename_var(file, var, bad[i]) != wanted) printf("renamed variable %zu\n", i);
        }
        if (!older)
            for (int d = 0; d < 3; d++) SHOW(nc_def_dim(file, (const char *[]){"a", "b", "c"}[d], (size_t)1 << 30, &huge[d]));
        if (zarr && nc_def_var(file, "huge", NC_BYTE, 3, huge, NULL) != NC_EVARSIZE) puts("huge");
        SHOW(nc_put_var_int(file, var, three));
        SHOW(nc_close(file));
    }
    open(NC_NOWRITE);
    show_all(file);
    SHOW(nc_close(file));
}

/* Elements that nc_abort cannot store, on a full disk, are an error. */
static void aborted_on_full_disk(void) {
    int dim, var;
    unsigned bits = 1;
    float values[MOST];
    bool zarr = strstr(path, ".zarr") != NULL;
    for (int i = 0; i < MOST; i++) values[i] = (float)((bits = bits * 1664525 + 1013904223) >> 8);
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &dim));
    SHOW(nc_def_var(file, "v", NC_FLOAT, 1, &dim, &var));
    SHOW(nc_put_vara_float(file, var, &(size_t){0}, &(size_t){MOST}, values));
    SHOW(nc_redef(file));
    if (zarr) fill_disk(true);
    int status = nc_abort(file);
    if (zarr) fill_disk(false);
    puts(!status == !zarr ? "as it is to be" : "lost");
}

/* A file that nc_sync has shown, though the full disk had no room for one definition, is not erased by nc_abort. */
static void aborted_after_failed_sync(void) {
    int dim, good, bad;
    bool zarr = strstr(path, ".zarr") != NULL;
    static char text[20000];
    memset(text, 't', sizeof text);
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 3, &dim));
    SHOW(nc_def_var(file, "good", NC_INT, 1, &dim, &good));
    SHOW(nc_def_var(file, "bad", NC_INT, 1, &dim, &bad));
    SHOW(nc_put_att_text(file, bad, "text", sizeof text, text));
    if (zarr) fill_disk(true);
    int failed = nc_sync(file), aborted = nc_abort(file);
    if (zarr) fill_disk(false);
    puts(!failed == !zarr ? "as it is to be" : "stored");
    printf("%d\n", aborted);
    SHOW(nc_open(path, NC_NOWRITE, &file));
    SHOW(nc_inq_varid(file, "good", &good));
    SHOW(nc_close(file));
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int failed_calls;

/* netCDF-C may be called by one thread at a time. */
#define LOCKED(CALL) (pthread_mutex_lock(&lock), failed_calls += (CALL) != NC_NOERR, pthread_mutex_unlock(&lock))

enum { THREADS = 4, STEPS = 30, COLUMNS = 40 };

/* Even threads have a file of their own, odd ones write their rows of the file that all share. */
static void *work(void *given) {
    int number = *(int *)given, id = file, var = 0, dims[2], values[COLUMNS], back[COLUMNS], wrong = 0;
    char name[4096];
    size_t len;
    snprintf(name, sizeof name, "thread%d_%s", number, path);
    if (number % 2 == 0) {
        LOCKED(nc_create(name, NC_NETCDF4 | NC_CLOBBER, &id));
        LOCKED(nc_def_dim(id, "t", NC_UNLIMITED, &dims[0]));
        LOCKED(nc_def_dim(id, "x", COLUMNS, &dims[1]));
        LOCKED(nc_def_var(id, "v", NC_INT, 2, dims, &var));
    }
    for (size_t step = 0; step < STEPS; step++) {
        size_t start[2] = {number % 2 ? step * THREADS + (size_t)number : step, 0}, count[2] = {1, COLUMNS};
        for (int c = 0; c < COLUMNS; c++) values[c] = number * 100000 + (int)step * 100 + c;
        LOCKED(nc_put_vara_int(id, var, start, count, values));
        LOCKED(nc_get_vara_int(id, var, start, count, back));
        wrong += memcmp(values, back, sizeof back) != 0;
        if (step % 7 == 6) LOCKED(nc_sync(id));
        /* An error of one thread is none of another. */
        pthread_mutex_lock(&lock);
        wrong += nc_inq_varid(id, "none", &dims[0]) != NC_ENOTVAR;
        pthread_mutex_unlock(&lock);
    }
    if (number % 2 == 0) {
        LOCKED(nc_close(id));
        LOCKED(nc_open(name, NC_NOWRITE, &id));
        LOCKED(nc_inq_dimlen(id, 0, &len));
        LOCKED(nc_get_var1_int(id, 0, (size_t[]){STEPS - 1, COLUMNS - 1}, back));
        wrong += len != STEPS || back[0] != values[COLUMNS - 1];
        LOCKED(nc_close(id));
    }
    *(int *)given = wrong;
    return NULL;
}

static void threads(void) {
    pthread_t all[THREADS];
    int numbers[THREADS], dims[2], var;
    size_t len;
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &dims[0]));
    SHOW(nc_def_dim(file, "x", COLUMNS, &dims[1]));
    SHOW(nc_def_var(file, "v", NC_INT, 2, dims, &var));
    SHOW(nc_enddef(file));
    for (int i = 0; i < THREADS; i++) numbers[i] = i, pthread_create(&all[i], NULL, work, &numbers[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(all[i], NULL), printf("%d wrong\n", numbers[i]);
    printf("%d failed\n", failed_calls);
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    SHOW(nc_inq_dimlen(file, 0, &len));
    int *values = malloc(len * COLUMNS * sizeof *values), sum = 0;
    SHOW(nc_get_var_int(file, 0, values));
    for (size_t i = 0; i < len * COLUMNS; i++) sum = (sum * 31 + values[i]) & 0xffffff;
    printf("%zu %d\n", len, sum);
    free(values);
    SHOW(nc_close(file));
}

static const char *const GROWING[] = {"time", "f", "i", "c", "s", "q"};

/* Writes one record of each variable that grows, the last `left` of them excepted. */
static void add_record(size_t t, int left) {
    size_t start[3] = {t, 0, 0}, count[3] = {1, 3, 1};
    double values[3] = {(double)t + 0.5, (double)t + 1.5, -(double)t};
    char letters[3] = {(char)('a' + t), 'x', 0};
    const char *string = letters;
    int group, var;
    if (nc_inq_ncid(file, "g", &group)) exit(1);
    for (int v = 0; v < 6 - left; v++) {
        int id = v == 5 ? group : file;
        if (nc_inq_varid(id, GROWING[v], &var)) exit(1);
        if (v == 3) SHOW(nc_put_vara_text(id, var, start, count, letters));
        else if (v == 4) SHOW(nc_put_vara_string(id, var, start, count, &string));
        else SHOW(nc_put_vara_double(id, var, start, count, values));
    }
}

/* Records are added to an older file, some variables ahead of the others, by programs that come one after the other; one defines more. */
static void appending(void) {
    int dims[3], group, var, three[3] = {1, 2, 3};
    size_t records = 0, len = 0;
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &dims[0]));
    SHOW(nc_def_dim(file, "x", 3, &dims[1]));
    SHOW(nc_def_dim(file, "n", NC_UNLIMITED, &dims[2]));
    SHOW(nc_def_var(file, "time", NC_DOUBLE, 1, dims, &var));
    SHOW(nc_put_att_text(file, var, "units", 21, "days since 2000-01-01"));
    SHOW(nc_def_var(file, "f", NC_FLOAT, 2, dims, &var));
    SHOW(nc_def_var_chunking(file, var, NC_CHUNKED, (size_t[]){4, 3}));
    SHOW(nc_def_var_deflate(file, var, 1, 1, 1));
    SHOW(nc_def_var(file, "i", NC_INT, 1, dims, &var));
    SHOW(nc_def_var_fill(file, var, NC_FILL, &(int){-7}));
    SHOW(nc_def_var(file, "c", NC_CHAR, 2, dims, &var));
    SHOW(nc_def_var(file, "s", NC_STRING, 1, dims, &var));
    SHOW(nc_def_var(file, "two", NC_SHORT, 2, (int[]){dims[2], dims[0]}, &var));
    SHOW(nc_def_var(file, "fixed", NC_INT, 1, &dims[1], &var));
    SHOW(nc_def_grp(file, "g", &group));
    SHOW(nc_def_var(group, "q", NC_INT64, 2, dims, NULL));
    SHOW(nc_put_var_int(file, var, three));
    for (int again = 0; again < 4; again++) {
        for (size_t end = records + 2; records < end; records++) add_record(records, 0);
        if (again == 1) SHOW(nc_sync(file));
        /* Some are a record ahead. */
        if (again == 2) add_record(records, 3);
        SHOW(nc_inq_varid(file, "two", &var));
        SHOW(nc_inq_dimlen(file, dims[0], &len));
        SHOW(nc_put_var1_int(file, var, (size_t[]){(size_t)again / 2, len - 1}, &again));
        if (again == 2) {
            SHOW(nc_redef(file));
            SHOW(nc_def_var(file, "late", NC_INT, 2, dims, &var));
            SHOW(nc_put_att_int(file, NC_GLOBAL, "again", NC_INT, 1, &again));
            SHOW(nc_rename_var(file, var, "later"));
            SHOW(nc_put_vara_int(file, var, (size_t[]){3, 0}, (size_t[]){1, 3}, three));
        }
        if (again == 3) SHOW(nc_sync(file));
        show_all(file);
        SHOW(nc_close(file));
        open(again % 2 ? NC_WRITE : NC_NOWRITE);
        show_all(file);
        if (again % 2) continue;
        SHOW(nc_close(file));
        open(NC_WRITE);
    }
    SHOW(nc_put_var_int(file, 6, three));
    SHOW(nc_close(file));
}

/* A variable of a group grows along a dimension of the group above it, after a sync and when it is opened again. */
static void grown_below(void) {
    int time, group, var;
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "time", NC_UNLIMITED, &time));
    SHOW(nc_def_grp(file, "g", &group));
    SHOW(nc_inq(group, NULL, NULL, NULL, &var));
    printf("%d\n", var);
    SHOW(nc_def_var(group, "q", NC_INT, 1, &time, &var));
    SHOW(nc_sync(file));
    for (size_t again = 1; again < 3; again++) {
        SHOW(nc_put_var1_int(group, var, (size_t[]){3 * again}, &(int){7}));
        SHOW(nc_close(file));
        open(NC_WRITE);
        SHOW(nc_inq_grp_ncid(file, "g", &group));
        show_all(file);
    }
    SHOW(nc_close(file));
}

/* What a dimension is called and how long it is, by groups that are neither its own nor below that. */
static void show_dim_by(const char *whose, int group, int id) {
    char name[NC_MAX_NAME + 1] = "";
    size_t len = 77;
    const int status = nc_inq_dim(group, id, name, &len);
    printf("%s: %d \"%s\" %zu\n", whose, status, name, len);
}

static void dimensions_of_others(void) {
    int first, second, x, t, var;
    create(NC_NETCDF4);
    SHOW(nc_def_grp(file, "first", &first));
    SHOW(nc_def_grp(file, "second", &second));
    SHOW(nc_def_dim(first, "x", 3, &x));
    SHOW(nc_def_dim(second, "t", NC_UNLIMITED, &t));
    SHOW(nc_def_var(second, "v", NC_INT, 1, &t, &var));
    SHOW(nc_put_var1_int(second, var, (size_t[]){4}, (int[]){5}));
    for (int again = 0; again < 2; again++) {
        show_dim_by("x by the root", file, x);
        show_dim_by("x by another group", second, x);
        show_dim_by("t by the root", file, t);
        show_dim_by("t by another group", first, t);
        show_dim_by("none", first, 9);
        show_dim_by("none", first, -1);
        SHOW(nc_close(file));
        open(NC_NOWRITE);
        SHOW(nc_inq_grp_ncid(file, "first", &first));
        SHOW(nc_inq_grp_ncid(file, "second", &second));
    }
    SHOW(nc_close(file));
}

/* Dimensions of a group hide others of the same names, of which variables of the group are, too: by definition, and by a later name. */
static void hidden_dimensions(void) {
    int x, t, a, group, below, own_x, own_t, z, ids[5], values[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 10, &x));
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &t));
    SHOW(nc_def_dim(file, "a", 7, &a));
    SHOW(nc_def_grp(file, "g", &group));
    SHOW(nc_def_grp(group, "below", &below));
    SHOW(nc_def_dim(group, "x", 5, &own_x));
    SHOW(nc_def_dim(group, "t", NC_UNLIMITED, &own_t));
    SHOW(nc_def_dim(group, "z", 3, &z));
    SHOW(nc_def_var(group, "own", NC_INT, 1, &own_x, &ids[0]));
    SHOW(nc_def_var(group, "roots", NC_INT, 1, &x, &ids[1]));
    SHOW(nc_def_var(group, "q", NC_INT, 1, &a, &ids[2]));
    SHOW(nc_def_var(below, "lower", NC_INT, 1, &x, &ids[3]));
    SHOW(nc_def_var(group, "both", NC_INT, 2, (int[]){own_t, t}, &ids[4]));
    SHOW(nc_put_var_int(group, ids[0], values));
    SHOW(nc_put_var_int(group, ids[1], values));
    SHOW(nc_put_var_int(group, ids[2], values));
    SHOW(nc_put_var_int(below, ids[3], values));
    SHOW(nc_put_vara_int(group, ids[4], (size_t[]){0, 0}, (size_t[]){2, 4}, values));
    for (int again = 0; again < 4; again++) {
        SHOW(nc_close(file));
        open(again % 2 ? NC_WRITE : NC_NOWRITE);
        SHOW(nc_inq_grp_ncid(file, "g", &group));
        SHOW(nc_inq_grp_ncid(group, "below", &below));
        show_dims(group);
        show_dims(below);
        show_all(file);
        if (again == 3) SHOW(nc_put_var1_int(group, ids[4], (size_t[]){2, 0}, values));
        if (again == 1) SHOW(nc_rename_dim(file, a, "z"));
    }
    show_dims(group);
    SHOW(nc_close(file));
}

static void show_lists(int var, size_t count) {
    nc_vlen_t lists[8] = {{0}};
    SHOW(nc_get_var(file, var, lists));
    for (size_t i = 0; i < count; i++) {
        printf("%zu:", lists[i].len);
        for (size_t k = 0; k < lists[i].len; k++) printf(" %g", ((float *)lists[i].p)[k]);
        putchar('\n');
    }
    SHOW(nc_free_vlens(count, lists));
}

/* Lists that were never written are the fill value, of a variable that has one, also in a chunk that is stored and behind the last record. */
static void filled_lists(void) {
    float numbers[] = {-999, 5, 1, 2};
    nc_vlen_t fill = {2, numbers}, list = {2, numbers + 2}, back = {0};
    int type, dims[2], vars[4], records, none;
    create(NC_NETCDF4);
    SHOW(nc_def_vlen(file, "list", NC_FLOAT, &type));
    SHOW(nc_def_dim(file, "x", 5, &dims[0]));
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &dims[1]));
    for (int v = 0; v < 4; v++) SHOW(nc_def_var(file, (const char *[]){"none", "defined", "put", "grows"}[v], type, 1, &dims[v == 3], &vars[v]));
    SHOW(nc_def_var(file, "records", NC_INT, 1, &dims[1], &records));
    SHOW(nc_def_var_fill(file, vars[1], NC_FILL, &fill));
    SHOW(nc_put_att(file, vars[2], "_FillValue", type, 1, &fill));
    SHOW(nc_def_var_fill(file, vars[3], NC_FILL, &fill));
    for (int v = 0; v < 4; v++) SHOW(nc_put_var1(file, vars[v], &(size_t){1}, &list));
    SHOW(nc_put_var1_int(file, records, &(size_t){2}, &type));
    for (int again = 0; again < 2; again++) {
        for (int v = 0; v < 4; v++) show_lists(vars[v], v == 3 ? 3 : 5);
        SHOW(nc_inq_var_fill(file, vars[1], &none, &back));
        printf("%d %zu\n", none, back.len);
        SHOW(nc_free_vlen(&back));
        SHOW(nc_close(file));
        if (!again) open(NC_NOWRITE);
    }
}

/* Fields have types of groups below their own, and of groups behind it, which on HDF5 netCDF-C 4.9.0 cannot store; where the file is opened again they
 * are what they were. */
static void types_of_groups(void) {
    bool zarr = strstr(path, ".zarr") != NULL;
    int groups[2], second, clouds, pair, both, dim, vars[2];
    struct {
        signed char sky;
        int n;
    } values[2] = {{3, 10}, {4, 20}}, back[2];
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 2, &dim));
    for (int g = 0; g < 2; g++) SHOW(nc_def_grp(file, g ? "second" : "first", &groups[g]));
    second = zarr ? groups[1] : file;
    SHOW(nc_def_enum(second, NC_BYTE, "clouds", &clouds));
    SHOW(nc_insert_enum(second, clouds, "clear", &(signed char){3}));
    SHOW(nc_insert_enum(second, clouds, "grey", &(signed char){4}));
    SHOW(nc_def_compound(zarr ? groups[0] : file, sizeof *values, "pair", &pair));
    SHOW(nc_insert_compound(file, pair, "sky", 0, clouds));
    SHOW(nc_insert_compound(file, pair, "n", sizeof(int), NC_INT));
    SHOW(nc_def_compound(file, 2 * sizeof *values, "both", &both));
    SHOW(nc_insert_array_compound(file, both, "pairs", 0, pair, 1, (int[]){2}));
    SHOW(nc_def_var(groups[0], "v", pair, 1, &dim, &vars[0]));
    SHOW(nc_def_var(file, "w", both, 0, NULL, &vars[1]));
    SHOW(nc_put_var(groups[0], vars[0], values));
    SHOW(nc_put_var(file, vars[1], values));
    for (int again = 0; again < 2; again++) {
        SHOW(nc_close(file));
        open(again ? NC_WRITE : NC_NOWRITE);
        SHOW(nc_inq_grp_ncid(file, "first", &groups[0]));
        for (int v = 0; v < 2; v++) {
            memset(back, 0, sizeof back);
            SHOW(nc_get_var(v ? file : groups[0], vars[v], back));
            printf("%d %d, %d %d\n", back[0].sky, back[0].n, back[1].sky, back[1].n);
        }
    }
    SHOW(nc_close(file));
}

/* Variables of one type with room between and behind its fields, more than one of a kind: of a fixed length, growing; written at once, in part, and one by one. */
static void padded_types(void) {
    typedef struct {
        int n;
        double d;
        signed char c;
    } padded;
    int dims[2], type, vars[6];
    padded values[4], back[4];
    memset(values, 0, sizeof values);
    for (int i = 0; i < 4; i++) values[i].n = i + 1, values[i].d = i * 1.5, values[i].c = (signed char)(-i - 1);
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 4, &dims[0]));
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &dims[1]));
    SHOW(nc_def_compound(file, sizeof(padded), "padded", &type));
    SHOW(nc_insert_compound(file, type, "n", 0, NC_INT));
    SHOW(nc_insert_compound(file, type, "d", 8, NC_DOUBLE));
    SHOW(nc_insert_compound(file, type, "c", 16, NC_BYTE));
    for (int v = 0; v < 6; v++) SHOW(nc_def_var(file, (char[]){(char)('a' + v), 0}, type, 1, &dims[v % 2], &vars[v]));
    for (int v = 0; v < 6; v++) {
        if (v < 2) SHOW(nc_put_vara(file, vars[v], (size_t[]){0}, (size_t[]){4}, values));
        else if (v < 4) SHOW(nc_put_vara(file, vars[v], (size_t[]){1}, (size_t[]){3}, values + 1));
        else for (size_t i = 0; i < 4; i++) SHOW(nc_put_var1(file, vars[v], &i, &values[i]));
    }
    for (int again = 0; again < 2; again++) {
        for (int v = 0; v < 6; v++) {
            memset(back, 0, sizeof back);
            SHOW(nc_get_var(file, vars[v], back));
            for (int i = 0; i < 4; i++) printf("(%d %g %d)%s", back[i].n, back[i].d, back[i].c, i < 3 ? " " : "\n");
        }
        SHOW(nc_close(file));
        if (!again) open(NC_NOWRITE);
    }
}

/* Types that have no members yet: calls that would store them fail on Zarr (HDF5 cannot mend such a file, with netCDF-C 4.9.0) until there is one,
 * and nc_close stores all else and closes nothing. */
static void types_without_members(void) {
    bool zarr = strstr(path, ".zarr") != NULL;
    int dim, var, type, other, base, values[3] = {1, 2, 3};
    size_t count;
    char name[NC_MAX_NAME + 1];
    for (int compound = 0; compound < 2; compound++) {
        create(NC_NETCDF4);
        SHOW(nc_def_dim(file, "x", 3, &dim));
        SHOW(nc_def_var(file, "v", NC_INT, 1, &dim, &var));
        SHOW(compound ? nc_def_compound(file, 4, "t", &type) : nc_def_enum(file, NC_BYTE, "t", &type));
        if (zarr && (!nc_put_var_int(file, var, values) || !nc_enddef(file) || !nc_sync(file))) puts("no error");
        SHOW(compound ? nc_insert_compound(file, type, "m", 0, NC_INT) : nc_insert_enum(file, type, "m", "\1"));
        SHOW(nc_put_var_int(file, var, values));
        SHOW(compound ? nc_insert_compound(file, type, "n", 0, NC_BYTE) : nc_insert_enum(file, type, "n", "\2"));
        if (zarr && (compound ? nc_def_compound(file, 4, "other", &other) : nc_def_enum(file, NC_BYTE, "other", &other))) exit(1);
        SHOW(nc_put_att_int(file, var, "n", NC_SHORT, 1, values));
        if (zarr == (nc_close(file) == NC_NOERR)) puts("nc_close");
        /* The file stays open then, so that the type can get one. */
        if (zarr && (compound ? nc_insert_compound(file, other, "late", 0, NC_INT) : nc_insert_enum(file, other, "late", "\3"))) puts("late");
        if (zarr && nc_close(file)) puts("nc_close");
        open(NC_WRITE);
        show_all(file);
        SHOW(nc_inq_typeid(file, "t", &type));
        SHOW(nc_inq_user_type(file, type, name, NULL, &base, &count, NULL));
        printf("%s %zu\n", name, count);
        if (zarr != !nc_inq_typeid(file, "other", &other)) puts("other");
        SHOW(nc_close(file));
    }
}

/* No type is a field of itself, also by those of its fields: on Zarr that is refused at once, by nc_enddef on HDF5. */
static void types_in_circles(void) {
    bool zarr = strstr(path, ".zarr") != NULL;
    int types[3], other, var;
    create(NC_NETCDF4);
    SHOW(nc_def_compound(file, 8, "a", &types[0]));
    SHOW(nc_insert_compound(file, types[0], "n", 0, NC_INT));
    SHOW(nc_def_compound(file, 8, "b", &types[1]));
    SHOW(nc_insert_compound(file, types[1], "a", 0, types[0]));
    SHOW(nc_def_compound(file, 8, "c", &types[2]));
    SHOW(nc_insert_array_compound(file, types[2], "b", 0, types[1], 1, (int[]){1}));
    for (int t = 0; t < 3 && zarr; t++)
        if (nc_insert_compound(file, types[t], "bad", 0, types[2]) != NC_EBADTYPE) printf("%d\n", t);
    SHOW(nc_def_var(file, "v", types[2], 0, NULL, &var));
    SHOW(nc_enddef(file));
    SHOW(nc_inq_type_equal(file, types[2], file, types[1], &other));
    SHOW(nc_close(file));
}

/* A fill value is set for a variable with elements where the file is opened again: the classic formats allow it. */
static void late_fill_values_of(int mode) {
    int dim, var, values[3] = {1, 2, 3};
    create(mode);
    SHOW(nc_def_dim(file, "x", 3, &dim));
    SHOW(nc_def_var(file, "v", NC_INT, 1, &dim, &var));
    SHOW(nc_enddef(file));
    SHOW(nc_put_var_int(file, var, values));
    for (int again = 0; again < 2; again++) {
        if (again) open(NC_WRITE);
        SHOW(nc_redef(file));
        values[0]--;
        SHOW(nc_put_att_int(file, var, "_FillValue", NC_INT, 1, values));
        SHOW(nc_close(file));
    }
    open(NC_NOWRITE);
    SHOW(nc_get_att_int(file, var, "_FillValue", values));
    printf("%d\n", values[0]);
    show_all(file);
    SHOW(nc_close(file));
}

static void late_fill_values(void) { late_fill_values_of(NC_NETCDF4); }
static void late_fill_values_classic(void) { late_fill_values_of(0); }

/* A fill value that JSON has no number for is set for a variable with elements: by another name of an attribute, in a classic format at once. */
static void late_fill_values_beyond_json_of(int mode) {
    double odd[2] = {NAN, -INFINITY};
    int dim, vars[2], id, values[3] = {1, 2, 3};
    create(mode);
    SHOW(nc_def_dim(file, "x", 3, &dim));
    SHOW(nc_def_var(file, "f", NC_FLOAT, 1, &dim, &vars[0]));
    SHOW(nc_def_var(file, "d", NC_DOUBLE, 1, &dim, &vars[1]));
    for (int v = 0; v < 2 && mode; v++) SHOW(nc_put_att_double(file, vars[v], "missing_value", v ? NC_DOUBLE : NC_FLOAT, 1, &odd[v]));
    SHOW(nc_enddef(file));
    for (int v = 0; v < 2; v++) SHOW(nc_put_var_int(file, vars[v], values));
    SHOW(nc_close(file));
    open(NC_WRITE);
    SHOW(nc_redef(file));
    for (int v = 0; v < 2; v++) {
        if (mode) SHOW(nc_rename_att(file, vars[v], "missing_value", "_FillValue"));
        else SHOW(nc_put_att_double(file, vars[v], "_FillValue", v ? NC_DOUBLE : NC_FLOAT, 1, &odd[v]));
    }
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    for (int v = 0; v < 2; v++) {
        SHOW(nc_inq_attid(file, vars[v], "missing_value", &id));
        SHOW(nc_get_att_double(file, vars[v], "_FillValue", &odd[0]));
        SHOW(nc_get_var_int(file, vars[v], values));
        printf("%d %d %d\n", isnan(odd[0]) != 0, isinf(odd[0]) != 0, values[2]);
    }
    SHOW(nc_close(file));
}

static void late_fill_values_beyond_json(void) { late_fill_values_beyond_json_of(NC_NETCDF4); }
static void late_fill_values_beyond_json_classic(void) { late_fill_values_beyond_json_of(0); }

/* Text has a fill value that its array does not have: by another name of an attribute, in a classic format at once. It stays when other attributes are set. */
static void late_fill_values_of_text_of(int mode) {
    char back[4] = "", *texts[3] = {"a", "zz", "b"}, *found[3] = {0};
    const char *none = "zz";
    int dim, vars[3], id, count = mode ? 3 : 2;
    create(mode);
    SHOW(nc_def_dim(file, "x", 3, &dim));
    for (int v = 0; v < count; v++) SHOW(nc_def_var(file, (const char *[]){"c", "odd", "s"}[v], v == 2 ? NC_STRING : NC_CHAR, 1, &dim, &vars[v]));
    for (int v = 0; v < 2 && mode; v++) SHOW(nc_put_att_text(file, vars[v], "missing_value", 1, v ? "\xff" : "-"));
    if (mode) SHOW(nc_put_att_string(file, vars[2], "missing_value", 1, &none));
    SHOW(nc_enddef(file));
    for (int v = 0; v < 2; v++) SHOW(nc_put_var_text(file, vars[v], "a-b"));
    if (mode) SHOW(nc_put_var_string(file, vars[2], (const char **)texts));
    SHOW(nc_close(file));
    for (int time = 0; time < 2; time++) {
        open(NC_WRITE);
        SHOW(nc_redef(file));
        for (int v = 0; v < count; v++) {
            if (!time && mode) SHOW(nc_rename_att(file, vars[v], "missing_value", "_FillValue"));
            else if (!time) SHOW(nc_put_att_text(file, vars[v], "_FillValue", 1, v ? "\xff" : "-"));
            SHOW(nc_put_att_int(file, vars[v], "time", NC_INT, 1, &time));
            if (strstr(path, ".zarr") && nc_put_att_text(file, vars[v], "_nc_fill_value", 1, "-") != NC_ENAMEINUSE) puts("the library's own name");
        }
        if (strstr(path, ".zarr") && nc_put_att_text(file, NC_GLOBAL, "_nc_fill_value", 1, "-") != NC_ENAMEINUSE) puts("the library's own name");
        SHOW(nc_close(file));
    }
    open(NC_NOWRITE);
    for (int v = 0; v < 2; v++) {
        SHOW(nc_get_att_text(file, vars[v], "_FillValue", back));
        printf("%d\n", back[0]);
        if (!mode) SHOW(nc_inq_var_fill(file, vars[v], &id, back));
        printf("%d\n", back[0]);
        SHOW(nc_get_var_text(file, vars[v], back));
        printf("%s\n", back);
    }
    if (mode) {
        SHOW(nc_get_att_string(file, vars[2], "_FillValue", found));
        printf("%s\n", found[0]);
        nc_free_string(1, found);
        SHOW(nc_get_var_string(file, vars[2], found));
        for (int i = 0; i < 3; i++) printf("%s\n", found[i]);
        nc_free_string(3, found);
    }
    SHOW(nc_close(file));
}

static void late_fill_values_of_text(void) { late_fill_values_of_text_of(NC_NETCDF4); }
static void late_fill_values_of_text_classic(void) { late_fill_values_of_text_of(0); }

/* On Zarr another open file, which knows an older fill value of text, leaves the newer one when it sets an attribute. */
static void late_fill_values_beside_another_file(void) {
    char back[4] = "";
    int dim, var, one, other;
    create(0);
    SHOW(nc_def_dim(file, "x", 3, &dim));
    SHOW(nc_def_var(file, "c", NC_CHAR, 1, &dim, &var));
    SHOW(nc_put_att_text(file, var, "_FillValue", 1, "q"));
    SHOW(nc_enddef(file));
    SHOW(nc_put_var_text(file, var, "abc"));
    SHOW(nc_close(file));
    open(NC_WRITE);
    one = other = file;
    if (strstr(path, ".zarr")) {
        open(NC_WRITE);
        other = file;
    }
    SHOW(nc_redef(one));
    SHOW(nc_put_att_text(one, var, "_FillValue", 1, "z"));
    SHOW(nc_enddef(one));
    SHOW(nc_sync(one));
    SHOW(nc_redef(other));
    SHOW(nc_put_att_text(other, var, "units", 1, "m"));
    SHOW(nc_enddef(other));
    SHOW(nc_sync(other));
    if (other != one && nc_close(other)) puts("not closed");
    SHOW(nc_close(one));
    open(NC_NOWRITE);
    SHOW(nc_get_att_text(file, var, "_FillValue", back));
    puts(back);
    SHOW(nc_get_att_text(file, var, "units", back));
    puts(back);
    SHOW(nc_close(file));
}

/* An attribute that is renamed to the fill value, as NCO does it, is the fill value, of the variable's own type, or on Zarr stays what it was. */
static void renamed_fill_values(void) {
    bool zarr = strstr(path, ".zarr") != NULL;
    int dim, vars[4];
    double number = -1.5;
    char text[4] = "";
    const char *strings[2] = {"a", "b"};
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 2, &dim));
    for (int v = 0; v < 4; v++) SHOW(nc_def_var(file, (const char *[]){"c", "s", "i", "f"}[v], (int[]){NC_CHAR, NC_STRING, NC_INT, NC_FLOAT}[v], 1, &dim, &vars[v]));
    SHOW(nc_put_att_text(file, vars[0], "flag", 3, "abc"));
    SHOW(nc_put_att_int(file, vars[0], "one", NC_INT, 1, vars));
    SHOW(nc_put_att_string(file, vars[1], "flag", 2, strings));
    SHOW(nc_put_att_double(file, vars[2], "flag", NC_DOUBLE, 1, &(double){1e300}));
    SHOW(nc_put_att_double(file, vars[3], "flag", NC_DOUBLE, 1, &number));
    if (zarr && (nc_rename_att(file, vars[0], "flag", "_FillValue") != NC_EINVAL || nc_rename_att(file, vars[0], "one", "_FillValue") != NC_EBADTYPE)) puts("char");
    if (zarr && (nc_rename_att(file, vars[1], "flag", "_FillValue") != NC_EINVAL || nc_rename_att(file, vars[2], "flag", "_FillValue") != NC_ERANGE)) puts("range");
    SHOW(nc_rename_att(file, vars[3], "flag", "_FillValue"));
    for (int again = 0; again < 2; again++) {
        SHOW(nc_close(file));
        open(NC_NOWRITE);
        SHOW(nc_get_att_text(file, vars[0], "flag", text));
        SHOW(nc_get_att_double(file, vars[2], "flag", &number));
        printf("%s %g\n", text, number);
        SHOW(nc_get_att_double(file, vars[3], "_FillValue", &number));
        printf("%g\n", number);
        if (zarr && (nc_get_var1_double(file, vars[3], &(size_t){1}, &number) || number != -1.5)) puts("fill value");
    }
    SHOW(nc_close(file));
}

/* Of a way of rounding that is taken back, or replaced by another one, nothing stays. */
static void rounding_taken_back(void) {
    int dim, vars[2], mode, digits, atts;
    char name[NC_MAX_NAME + 1];
    float value = 3.14159265f;
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 1, &dim));
    for (int v = 0; v < 2; v++) {
        SHOW(nc_def_var(file, v ? "other" : "none", NC_FLOAT, 1, &dim, &vars[v]));
        SHOW(nc_def_var_quantize(file, vars[v], NC_QUANTIZE_BITGROOM, 2));
        SHOW(nc_def_var_quantize(file, vars[v], v ? NC_QUANTIZE_BITROUND : NC_NOQUANTIZE, 4));
    }
    for (int again = 0; again < 2; again++) {
        SHOW(nc_close(file));
        open(NC_WRITE);
        for (int v = 0; v < 2; v++) {
            SHOW(nc_inq_var_quantize(file, vars[v], &mode, &digits));
            SHOW(nc_inq_varnatts(file, vars[v], &atts));
            printf("%d %d: %d\n", mode, digits, atts);
            if (atts && nc_inq_attname(file, vars[v], 0, name) == NC_NOERR) puts(name);
            SHOW(nc_put_var_float(file, vars[v], &value));
        }
        show_all(file);
    }
    SHOW(nc_close(file));
}

/* A fill value of many letters is read as it was written. */
static void long_fill_value(void) {
    enum { LONG = 5000 };
    int dim, var;
    char text[LONG + 1], *back[3] = {0}, *given = text;
    for (int i = 0; i < LONG; i++) text[i] = (char)('a' + i % 26);
    text[LONG] = 0;
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 2, &dim));
    SHOW(nc_def_var(file, "v", NC_STRING, 1, &dim, &var));
    SHOW(nc_put_att_string(file, var, "_FillValue", 1, (const char **)&given));
    SHOW(nc_put_var1_string(file, var, &(size_t){1}, &(const char *){"b"}));
    for (int again = 0; again < 2; again++) {
        SHOW(nc_close(file));
        open(again ? NC_NOWRITE : NC_WRITE);
        SHOW(nc_get_att_string(file, var, "_FillValue", &back[2]));
        SHOW(nc_get_var_string(file, var, back));
        printf("%d %d %s\n", strcmp(back[2], text), strcmp(back[0], text), back[1]);
        SHOW(nc_free_string(3, back));
    }
    SHOW(nc_close(file));
}

/* In data mode of the classic formats an attribute may have another value that takes no more of the file's words of 4 bytes. */
static void longer_attributes_of(int mode) {
    int var;
    size_t len;
    create(mode);
    SHOW(nc_def_var(file, "v", NC_INT, 0, NULL, &var));
    SHOW(nc_put_att_text(file, var, "units", 1, "K"));
    SHOW(nc_put_att_short(file, var, "n", NC_SHORT, 1, &(short){1}));
    SHOW(nc_put_att_text(file, var, "empty", 0, ""));
    SHOW(nc_enddef(file));
    SHOW(nc_put_att_text(file, var, "units", 4, "degC"));
    SHOW(nc_put_att_text(file, var, "units", 5, "metre"));
    SHOW(nc_put_att_int(file, var, "n", NC_INT, 1, &(int){5}));
    SHOW(nc_put_att_int(file, var, "n", NC_INT, 2, (int[]){5, 6}));
    SHOW(nc_put_att_text(file, var, "empty", 1, "a"));
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    SHOW(nc_inq_attlen(file, var, "units", &len));
    printf("%zu\n", len);
    SHOW(nc_close(file));
}

static void longer_attributes(void) {
    const int modes[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA, NC_NETCDF4 | NC_CLASSIC_MODEL};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) longer_attributes_of(modes[i]);
}

/* A variable that cannot be defined has begun define mode all the same, and so has a group that is renamed: programs end it then. */
static void begun_definitions(void) {
    int dim, var, group;
    create(NC_NETCDF4);
    SHOW(nc_def_grp(file, "g", &group));
    SHOW(nc_def_dim(file, "x", 2, &dim));
    SHOW(nc_def_var(file, "v", NC_INT, 1, &dim, &var));
    SHOW(nc_enddef(file));
    SHOW(nc_def_var(file, "v", NC_INT, 1, &dim, NULL));
    SHOW(nc_enddef(file));
    SHOW(nc_def_var(file, "w", NC_INT, 1, &(int){77}, NULL));
    SHOW(nc_enddef(file));
    SHOW(nc_enddef(file));
    SHOW(nc_rename_grp(group, "h"));
    SHOW(nc_enddef(file));
    SHOW(nc_rename_grp(group, "h"));
    SHOW(nc_enddef(file));
    SHOW(nc_rename_grp(group, "i"));
    SHOW(nc_put_var1_int(file, var, &(size_t){0}, &dim));
    SHOW(nc_enddef(file));
    SHOW(nc_close(file));
}

/* Records, bytes and lists with a fill value and without, of a new file and of one that is opened again, are what they were; a fill value may be taken away. */
static void types_of_older_files(void) {
    enum { KINDS = 3 };
    const struct {
        int n;
        double d;
    } pairs[2] = {{-9, -9.5}, {4, 1.5}};
    short numbers[] = {-99, -98, 3, 4};
    nc_vlen_t lists[2] = {{2, numbers}, {1, numbers + 2}}, back_lists[3];
    const void *values[KINDS][2] = {{&pairs[0], &pairs[1]}, {"fill", "some"}, {&lists[0], &lists[1]}};
    int dim, types[KINDS], var, none;
    char back[3 * sizeof *pairs];
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 3, &dim));
    SHOW(nc_def_compound(file, sizeof *pairs, "pair", &types[0]));
    SHOW(nc_insert_compound(file, types[0], "n", 0, NC_INT));
    SHOW(nc_insert_compound(file, types[0], "d", 8, NC_DOUBLE));
    SHOW(nc_def_opaque(file, 4, "bytes", &types[1]));
    SHOW(nc_def_vlen(file, "list", NC_SHORT, &types[2]));
    for (int v = 0; v < 4 * KINDS; v++) {
        char name[] = {'v', (char)('a' + v), 0};
        if (v == 2 * KINDS) {
            SHOW(nc_close(file));
            open(NC_WRITE);
        }
        SHOW(nc_def_var(file, name, types[v % KINDS], 1, &dim, &var));
        if (v / KINDS % 2) SHOW(nc_def_var_fill(file, var, NC_FILL, values[v % KINDS][0]));
        SHOW(nc_put_var1(file, var, &(size_t){1}, values[v % KINDS][1]));
    }
    for (int again = 0; again < 3; again++) {
        for (int v = 0; v < 4 * KINDS; v++) {
            SHOW(nc_inq_varnatts(file, v, &none));
            printf("%d\n", none);
            if (v / KINDS % 2 && v % KINDS < 2 && (v != 4 || again < 2)) {
                SHOW(nc_inq_var_fill(file, v, &none, back));
                printf("%d %d\n", none, memcmp(back, values[v % KINDS][0], 4));
                SHOW(nc_get_att(file, v, "_FillValue", back));
            }
            SHOW(nc_get_var(file, v, v % KINDS == 2 ? (void *)back_lists : back));
            for (int i = 0; i < 3; i++) {
                if (v % KINDS == 0) printf("(%d %g) ", ((int *)back)[4 * i], ((double *)back)[2 * i + 1]);
                else if (v % KINDS == 1) printf("%.4s ", back[4 * i] ? back + 4 * i : "none");
                else printf("%zu:%d ", back_lists[i].len, back_lists[i].len ? *(short *)back_lists[i].p : 0);
            }
            putchar('\n');
            if (v % KINDS == 2) SHOW(nc_free_vlens(3, back_lists));
        }
        SHOW(nc_close(file));
        open(again ? NC_NOWRITE : NC_WRITE);
        if (!again) SHOW(nc_del_att(file, 4, "_FillValue"));
        if (!again) SHOW(nc_put_att_text(file, 3, "units", 1, "m"));
        if (again == 1) SHOW(nc_inq_attid(file, 4, "_FillValue", &none));
        if (again == 1) SHOW(nc_inq_attid(file, 10, "_FillValue", &none));
    }
    SHOW(nc_close(file));
}

/* The largest numbers of a type in values of types that a program defined. */
static void largest_numbers(void) {
    typedef struct {
        float f[2];
        double d[2];
    } both;
    const both given = {{FLT_MAX, -FLT_MAX}, {DBL_MAX, -DBL_MAX}};
    float numbers[] = {-FLT_MAX, FLT_MAX, FLT_MIN, 0.1f};
    const nc_vlen_t list = {4, numbers};
    both back[2];
    int type, lists, var, none;
    create(NC_NETCDF4);
    SHOW(nc_def_compound(file, sizeof(both), "both", &type));
    SHOW(nc_insert_array_compound(file, type, "f", 0, NC_FLOAT, 1, (int[]){2}));
    SHOW(nc_insert_array_compound(file, type, "d", offsetof(both, d), NC_DOUBLE, 1, (int[]){2}));
    SHOW(nc_def_vlen(file, "list", NC_FLOAT, &lists));
    SHOW(nc_def_var(file, "v", type, 0, NULL, &var));
    SHOW(nc_def_var_fill(file, var, NC_FILL, &given));
    SHOW(nc_put_att(file, NC_GLOBAL, "both", type, 1, &given));
    SHOW(nc_put_att(file, NC_GLOBAL, "list", lists, 1, &list));
    for (int again = 0; again < 2; again++) {
        nc_vlen_t read = {0};
        SHOW(nc_get_att(file, NC_GLOBAL, "both", &back[0]));
        SHOW(nc_inq_var_fill(file, var, &none, &back[1]));
        for (int i = 0; i < 2; i++) printf("%.9g %.9g %.17g %.17g\n", back[i].f[0], back[i].f[1], back[i].d[0], back[i].d[1]);
        SHOW(nc_get_att(file, NC_GLOBAL, "list", &read));
        for (size_t i = 0; i < read.len; i++) printf("%.9g%s", ((float *)read.p)[i], i + 1 < read.len ? " " : "\n");
        SHOW(nc_free_vlen(&read));
        SHOW(nc_close(file));
        open(NC_NOWRITE);
    }
    SHOW(nc_close(file));
}

/* A fill value that is taken back leaves the usual one. */
static void fill_values_taken_back(void) {
    const int types[] = {NC_INT, NC_FLOAT, NC_CHAR, NC_UINT64};
    int dim, vars[4], none;
    double values[3];
    char fill[9] = "", text[4];
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 3, &dim));
    for (int v = 0; v < 4; v++) {
        SHOW(nc_def_var(file, (char[]){(char)('a' + v), 0}, types[v], 1, &dim, &vars[v]));
        SHOW(nc_def_var_fill(file, vars[v], NC_FILL, &(unsigned long long){0x4141414141414141}));
        SHOW(nc_def_var_fill(file, vars[v], NC_NOFILL, NULL));
        SHOW(nc_def_var_fill(file, vars[v], NC_FILL, NULL));
        SHOW(nc_inq_var_fill(file, vars[v], &none, fill));
        hex("fill", fill);
        if (types[v] != NC_CHAR) SHOW(nc_put_var1_int(file, vars[v], &(size_t){1}, &(int){7}));
    }
    for (int again = 0; again < 2; again++) {
        for (int v = 0; v < 4; v++) {
            if (types[v] == NC_CHAR) SHOW(nc_get_var_text(file, vars[v], text));
            else SHOW(nc_get_var_double(file, vars[v], values));
            if (types[v] == NC_CHAR) printf("%d\n", text[0]);
            else printf("%g %g\n", values[0], values[1]);
        }
        SHOW(nc_close(file));
        open(NC_NOWRITE);
    }
    SHOW(nc_close(file));
}

/* A variable of a new file that cannot be stored, on Zarr for the length of its document, costs no other definition. */
static void unstored_definitions(void) {
    enum { LONG = 5000 };
    bool zarr = strstr(path, ".zarr") != NULL;
    char text[LONG];
    int dim, var, group;
    memset(text, 't', sizeof text);
    for (int by_sync = 0; by_sync < 2; by_sync++) {
        create(NC_NETCDF4);
        SHOW(nc_def_dim(file, "x", 3, &dim));
        SHOW(nc_def_grp(file, "g", &group));
        if (zarr && (nc_def_var(file, "bad", NC_INT, 1, &dim, &var) || nc_put_att_text(file, var, "text", LONG, text))) exit(1);
        SHOW(nc_def_var(file, "v", NC_INT, 1, &dim, &var));
        SHOW(nc_put_att_int(file, var, "n", NC_SHORT, 1, &dim));
        SHOW(nc_def_var(group, "w", NC_INT, 1, &dim, &var));
        if (by_sync) FAILS_ON_FULL_DISK(nc_sync(file));
        if (by_sync && zarr && nc_open(path, NC_NOWRITE, &group)) puts("nc_sync has shown nothing");
        /* What comes after it is seen by those who open the file for reading, too. */
        SHOW(nc_redef(file));
        SHOW(nc_def_var(file, "later", NC_INT, 1, &dim, &var));
        if (by_sync && zarr) SHOW(nc_close(group) && 0);
        else if (by_sync) puts("nc_close(group) && 0: 0");
        FAILS_ON_FULL_DISK(nc_close(file));
        if (!zarr && nc_close(file)) exit(1);
        open(NC_NOWRITE);
        show_all(file);
        show_kind(file, "v");
        SHOW(nc_close(file));
    }
}

/* Fields do not overlap: on Zarr that is refused at once, by nc_enddef on HDF5. Those that touch each other are right. */
static void overlapping_fields(void) {
    static const struct {
        size_t offset;
        int type, count;
    } bad[] = {{2, NC_INT, 1}, {0, NC_BYTE, 1}, {7, NC_BYTE, 1}, {0, NC_SHORT, 8}, {14, NC_SHORT, 1}, {9, NC_BYTE, 4}};
    bool zarr = strstr(path, ".zarr") != NULL;
    int type, var;
    char values[16], back[16] = "";
    for (int i = 0; i < 16; i++) values[i] = (char)i;
    create(NC_NETCDF4);
    SHOW(nc_def_compound(file, 16, "t", &type));
    SHOW(nc_insert_compound(file, type, "i", 0, NC_INT));
    SHOW(nc_insert_compound(file, type, "j", 4, NC_INT));
    SHOW(nc_insert_array_compound(file, type, "c", 8, NC_CHAR, 1, (int[]){4}));
    SHOW(nc_insert_array_compound(file, type, "s", 12, NC_SHORT, 1, (int[]){2}));
    for (size_t i = 0; i < sizeof bad / sizeof *bad && zarr; i++)
        if (nc_insert_array_compound(file, type, "bad", bad[i].offset, bad[i].type, 1, &bad[i].count) != NC_EINVAL) printf("%zu\n", i);
    SHOW(nc_def_var(file, "v", type, 0, NULL, &var));
    SHOW(nc_put_var(file, var, values));
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    SHOW(nc_get_var(file, var, back));
    printf("%d\n", memcmp(values, back, 16));
    SHOW(nc_close(file));
}

/* A fill value that is deleted does not come back from another open file that knew it: by a change of the group, and of the variables themselves. */
static void deleted_fill_values(void) {
    const char *strings[] = {"none"};
    struct { int i; float f; } record = {-9, 0.5f};
    bool zarr = strstr(path, ".zarr") != NULL;
    int dim, type, vars[4], count = 3, other, one = 1;
    for (int all = 0; all < 2; all++) {
        create(NC_NETCDF4);
        SHOW(nc_def_dim(file, "x", 2, &dim));
        for (int v = 0; v < 3; v++) SHOW(nc_def_var(file, (const char *[]){"c", "s", "i"}[v], (int[]){NC_CHAR, NC_STRING, NC_INT}[v], 1, &dim, &vars[v]));
        SHOW(nc_put_att_text(file, vars[0], "_FillValue", 1, "-"));
        SHOW(nc_put_att_string(file, vars[1], "_FillValue", 1, strings));
        SHOW(nc_put_att_int(file, vars[2], "_FillValue", NC_INT, 1, &record.i));
        /* Format 2 has no structs for netCDF. */
        if (!nc_def_compound(file, sizeof record, "record", &type)) {
            nc_insert_compound(file, type, "i", 0, NC_INT), nc_insert_compound(file, type, "f", sizeof record.i, NC_FLOAT);
            if (nc_def_var(file, "r", type, 1, &dim, &vars[3]) || nc_put_att(file, vars[3], "_FillValue", type, 1, &record)) puts("a struct");
            count = 4;
        }
        SHOW(nc_close(file));
        open(NC_WRITE);
        /* HDF5 opens a file once. */
        other = file;
        if (zarr && nc_open(path, NC_WRITE, &other)) puts("not opened");
        for (int v = 0; v < count; v++)
            if (nc_del_att(file, vars[v], "_FillValue")) puts("not deleted");
        if (zarr && nc_close(file)) puts("not closed");
        SHOW(nc_put_att_int(other, NC_GLOBAL, "a", NC_INT, 1, &one));
        for (int v = 0; v < count && all; v++)
            if (nc_put_att_int(other, vars[v], "a", NC_INT, 1, &one)) puts("not set");
        SHOW(nc_close(other));
        open(NC_NOWRITE);
        for (int v = 0; v < count; v++)
            if (nc_inq_attid(file, vars[v], "_FillValue", &one) != NC_ENOTATT) printf("variable %d has a fill value\n", v);
        SHOW(nc_close(file));
    }
}

/* Strides that lead far out of a variable, of regions with an element behind the first one and without. */
static void long_strides(void) {
    const ptrdiff_t strides[] = {3, 4, INT_MAX, PTRDIFF_MAX / 2, PTRDIFF_MAX};
    int dims[2], vars[2], values[4] = {1, 2, 3, 4};
    size_t len = 0;
    create(NC_NETCDF4);
    SHOW(nc_def_dim(file, "x", 4, &dims[0]));
    SHOW(nc_def_dim(file, "t", NC_UNLIMITED, &dims[1]));
    for (int v = 0; v < 2; v++) SHOW(nc_def_var(file, v ? "grows" : "fixed", NC_INT, 1, &dims[v], &vars[v]));
    for (int v = 0; v < 2; v++) SHOW(nc_put_vara_int(file, vars[v], &(size_t){0}, &(size_t){4}, values));
    for (int v = 0; v < 2; v++)
        for (size_t s = 0; s < sizeof strides / sizeof *strides; s++)
            for (size_t start = 0; start < 4; start += 3)
                for (size_t count = 0; count < 3; count++) {
                    int back[2] = {0, 0}, got = nc_get_vars_int(file, vars[v], &start, &count, &strides[s], back);
                    printf("get %d %zu %zu %td: %d %d %d\n", v, start, count, strides[s], got, back[0], got ? 0 : back[1]);
                    if (count < 2) printf("put %d\n", nc_put_vars_int(file, vars[v], &start, &count, &strides[s], values));
                }
    SHOW(nc_inq_dimlen(file, dims[1], &len));
    printf("%zu\n", len);
    SHOW(nc_close(file));
}

/* Real numbers in a locale with a decimal comma, where the machine has one: attributes of all kinds, fill values, and what is written later. */
static void decimal_comma(void) {
    struct { double d; float f; } record = {0.1, 2.5f}, back = {0, 0};
    double range[2] = {0.5, 1.25}, number = 0.1, scale = 0, values[2] = {0, 0};
    float single = -2.5f;
    nc_vlen_t list = {2, range}, found = {0, NULL};
    int dim, var, type, lists;
    size_t len = 0;
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) puts("no locale with a decimal comma");
    printf("%g\n", 1.5);
    create(NC_NETCDF4);
    nc_def_dim(file, "x", 2, &dim), nc_def_var(file, "v", NC_DOUBLE, 1, &dim, &var);
    nc_def_compound(file, sizeof record, "record", &type), nc_insert_compound(file, type, "d", 0, NC_DOUBLE), nc_insert_compound(file, type, "f", sizeof number, NC_FLOAT);
    nc_def_vlen(file, "list", NC_DOUBLE, &lists);
    SHOW(nc_put_att_double(file, var, "scale_factor", NC_DOUBLE, 1, &number));
    SHOW(nc_put_att_double(file, var, "valid_range", NC_DOUBLE, 2, range));
    SHOW(nc_put_att_float(file, NC_GLOBAL, "single", NC_FLOAT, 1, &single));
    SHOW(nc_put_att(file, NC_GLOBAL, "record", type, 1, &record));
    SHOW(nc_put_att(file, NC_GLOBAL, "list", lists, 1, &list));
    SHOW(nc_def_var_fill(file, var, NC_FILL, &number));
    SHOW(nc_put_var_double(file, var, range));
    SHOW(nc_close(file));
    open(NC_WRITE);
    SHOW(nc_put_att_double(file, var, "add_offset", NC_DOUBLE, 1, &range[1]));
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    for (const char *const *name = (const char *const[]){"scale_factor", "add_offset", "_FillValue", NULL}; *name; name++) {
        SHOW(nc_get_att_double(file, var, *name, &scale));
        printf("%s %g\n", *name, scale);
    }
    SHOW(nc_inq_attlen(file, var, "valid_range", &len));
    if (len == 2) SHOW(nc_get_att_double(file, var, "valid_range", values));
    SHOW(nc_get_att_float(file, NC_GLOBAL, "single", &single));
    SHOW(nc_get_att(file, NC_GLOBAL, "record", &back));
    SHOW(nc_get_att(file, NC_GLOBAL, "list", &found));
    printf("%zu: %g %g, %g, %g %g, %zu %g\n", len, values[0], values[1], single, back.d, back.f, found.len, found.len ? *(double *)found.p : 0);
    nc_free_vlen(&found);
    SHOW(nc_inq_var_fill(file, var, NULL, &scale));
    SHOW(nc_get_var_double(file, var, values));
    printf("%g, %g %g\n", scale, values[0], values[1]);
    SHOW(nc_close(file));
}

/* Attributes of real numbers in other floating-point environments than the default one: other roundings, traps, and the smallest numbers taken for 0. */
static void other_roundings(void) {
    const double doubles[] = {0.1, 1e300, 1e-310, 1e23, DBL_TRUE_MIN};
    const float floats[] = {0.1f, 1e-40f, FLT_MAX, FLT_TRUE_MIN};
    const struct { const char *name; int rounding, traps; unsigned control; } worlds[] = {{"up", FE_UPWARD, 0, 0}, {"down", FE_DOWNWARD, 0, 0},
        {"zero", FE_TOWARDZERO, 0, 0}, {"traps", FE_TONEAREST, FE_UNDERFLOW | FE_OVERFLOW | FE_INVALID, 0}, {"flushes", FE_TONEAREST, 0, 0x8040}};
    for (size_t w = 0; w < sizeof worlds / sizeof *worlds; w++) {
        double found[5] = {0};
        float singles[4] = {0};
        int kept = 0;
        fesetenv(FE_DFL_ENV), fesetround(worlds[w].rounding), feenableexcept(worlds[w].traps);
#ifdef __x86_64__
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | worlds[w].control);
#endif
        create(NC_NETCDF4);
        int statuses[] = {nc_put_att_double(file, NC_GLOBAL, "doubles", NC_DOUBLE, 5, doubles), nc_put_att_float(file, NC_GLOBAL, "floats", NC_FLOAT, 4, floats),
            nc_close(file), nc_open(path, NC_NOWRITE, &file), nc_get_att_double(file, NC_GLOBAL, "doubles", found),
            nc_get_att_float(file, NC_GLOBAL, "floats", singles), nc_close(file)};
        kept = fegetround() == worlds[w].rounding && fegetexcept() == worlds[w].traps;
#ifdef __x86_64__
        kept = kept && (__builtin_ia32_stmxcsr() & 0x8040) == worlds[w].control;
#endif
        fesetenv(FE_DFL_ENV);
        printf("%s: the same %d %d, kept %d:", worlds[w].name, !memcmp(doubles, found, sizeof found), !memcmp(floats, singles, sizeof singles), kept);
        for (size_t s = 0; s < sizeof statuses / sizeof *statuses; s++) printf(" %d", statuses[s]);
        putchar('\n');
    }
}

/* Makes, writes and reads a file again and again. */
static void *make_files(void *made) {
    static double values[20000], back[20000];
    for (int dim, var;; __atomic_fetch_add((int *)made, 1, __ATOMIC_RELAXED)) {
        create(NC_NETCDF4);
        if (nc_def_dim(file, "x", 20000, &dim) || nc_def_var(file, "v", NC_DOUBLE, 1, &dim, &var) || nc_put_var_double(file, var, values) || nc_close(file)) exit(1);
        open(NC_WRITE);
        if (nc_put_att_text(file, var, "units", 1, "m") || nc_get_var_double(file, var, back) || nc_close(file)) exit(1);
        pthread_testcancel();
    }
}

/* A thread that is cancelled in a call ends behind it. */
static void cancelled_threads(void) {
    for (int round = 0; round < 30; round++) {
        pthread_t thread;
        void *result = NULL;
        int made = 0;
        pthread_create(&thread, NULL, make_files, &made);
        while (!__atomic_load_n(&made, __ATOMIC_RELAXED)) usleep(100);
        usleep(200 * (unsigned)(round % 6));
        pthread_cancel(thread);
        pthread_join(thread, &result);
        printf("cancelled %d\n", result == PTHREAD_CANCELED);
        open(NC_NOWRITE);
        SHOW(nc_close(file));
    }
}

/* Defines types in a file, which differ a bit where asked for; `types` are their IDs. */
static void define_types(int id, bool differ, nc_type *types) {
    const signed char one = 1, two = 2, three = 3;
    const int shape[] = {2, 3};
    nc_def_enum(id, NC_BYTE, "word", &types[0]), nc_insert_enum(id, types[0], "one", &one), nc_insert_enum(id, types[0], "two", differ ? &three : &two);
    nc_def_opaque(id, differ ? 6 : 5, "bytes", &types[1]);
    nc_def_vlen(id, "list", differ ? NC_FLOAT : NC_INT, &types[2]);
    nc_def_compound(id, 32, "inner", &types[3]), nc_insert_compound(id, types[3], differ ? "b" : "a", 0, NC_DOUBLE), nc_insert_array_compound(id, types[3], "m", 8, NC_INT, 2, shape);
    nc_def_compound(id, 40, "outer", &types[4]), nc_insert_compound(id, types[4], "inner", 0, types[3]), nc_insert_compound(id, types[4], "n", 32, NC_INT);
}

/* Types of this file and of one of HDF5. */
static void types_of_two_files(void) {
    char hdf5[4096];
    nc_type ours[5], theirs[5], others[5];
    int other;
    snprintf(hdf5, sizeof hdf5, "%s_other", path);
    create(NC_NETCDF4);
    SHOW(nc_create(hdf5, NC_NETCDF4, &other));
    define_types(file, false, ours), define_types(other, false, theirs);
    int group, equal;
    SHOW(nc_def_grp(other, "g", &group));
    define_types(group, true, others);
    SHOW(nc_sync(file)), SHOW(nc_sync(other));
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 5; b++) {
            SHOW((equal = -1, nc_inq_type_equal(file, ours[a], other, theirs[b], &equal)));
            printf("%d %d: %d\n", a, b, equal);
            SHOW((equal = -1, nc_inq_type_equal(group, others[b], file, ours[a], &equal)));
            printf("%d %d: %d\n", a, b, equal);
        }
    SHOW((equal = -1, nc_inq_type_equal(other, NC_INT, file, NC_INT, &equal)));
    SHOW((equal = -1, nc_inq_type_equal(other, NC_INT, file, ours[0], &equal)));
    printf("%d\n", equal);
    SHOW(nc_inq_type_equal(other, theirs[0], file, 4711, &equal));
    SHOW(nc_inq_type_equal(file, ours[0], other, 4711, &equal));
    SHOW(nc_inq_type_equal(file, NC_NAT, other, NC_INT, &equal));
    SHOW(nc_inq_type_equal(file, ours[0], other, theirs[0], NULL));
    SHOW(nc_close(other)), SHOW(nc_close(file));
}

/* Files that the program makes by the name of one that it has open. */
static void made_while_open(void) {
    int other = 0, again = 0, dim, var, values[] = {1, 2, 3}, found[3] = {0};
    create(NC_NETCDF4);
    SHOW(nc_create(path, NC_NETCDF4, &other));
    nc_def_dim(file, "x", 3, &dim), nc_def_var(file, "v", NC_INT, 1, &dim, &var);
    SHOW(nc_put_var_int(file, var, values));
    SHOW(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &other));
    SHOW(nc_create(path, NC_NETCDF4 | NC_NOCLOBBER, &other));
    SHOW(nc_close(file));
    open(NC_NOWRITE);
    SHOW(nc_create(path, NC_NETCDF4, &other));
    SHOW(nc_create(path, NC_NETCDF4 | NC_NOCLOBBER, &other));
    SHOW(nc_open(path, NC_NOWRITE, &again));
    SHOW(nc_close(file));
    SHOW(nc_create(path, NC_NETCDF4, &other));
    SHOW(nc_get_var_int(again, var, found));
    printf("%d %d %d\n", found[0], found[1], found[2]);
    SHOW(nc_close(again));
    open(NC_NOWRITE);
    SHOW(nc_get_var_int(file, var, found));
    SHOW(nc_close(file));
    SHOW(nc_create(path, NC_NETCDF4, &other));
    SHOW(nc_close(other));
    open(NC_NOWRITE);
    SHOW(nc_inq_varid(file, "v", &var));
    /* The name is that of another file then. */
    SHOW(nc_delete(path));
    for (int i = 0; i < 2; i++) {
        SHOW(nc_create(path, NC_NETCDF4, &other));
        SHOW(nc_close(other));
    }
    SHOW(nc_close(file));
}

static const struct {
    const char *name;
    void (*run)(void);
} CASES[] = {{"names", names}, {"null_strings", null_strings}, {"renaming", renaming}, {"longer_names", longer_names}, {"paths", paths}, {"deletion", deletion}, {"hashes", hashes}, {"own_attributes", own_attributes}, {"nothing", nothing},
    {"quantized", quantized},    {"fill_modes", fill_modes}, {"fill_modes_classic", fill_modes_classic}, {"define_cycles", define_cycles},
    {"define_cycles_classic", define_cycles_classic}, {"watching", watching}, {"small_reads", small_reads}, {"many", many}, {"alike", alike}, {"full_disk", full_disk}, {"full_disk_renaming", full_disk_renaming}, {"abortion", abortion}, {"closed_groups", closed_groups},
    {"aborted_records", aborted_records}, {"definitions_on_full_disk", definitions_on_full_disk}, {"dropped_renaming", dropped_renaming}, {"refused_renaming", refused_renaming}, {"renaming_among_definitions", renaming_among_definitions}, {"renaming_before_abortion", renaming_before_abortion}, {"freed_names", freed_names}, {"freed_names_above", freed_names_above}, {"far_records", far_records}, {"blocked_definition", blocked_definition},
    {"shuffled_levels", shuffled_levels}, {"refused_definitions", refused_definitions}, {"aborted_on_full_disk", aborted_on_full_disk}, {"threads", threads},
    {"appending", appending}, {"grown_below", grown_below}, {"hidden_dimensions", hidden_dimensions}, {"dimensions_of_others", dimensions_of_others},
    {"filled_lists", filled_lists}, {"types_of_groups", types_of_groups}, {"types_of_two_files", types_of_two_files}, {"padded_types", padded_types}, {"types_without_members", types_without_members}, {"types_in_circles", types_in_circles}, {"late_fill_values", late_fill_values}, {"late_fill_values_classic", late_fill_values_classic},
    {"late_fill_values_beyond_json", late_fill_values_beyond_json}, {"late_fill_values_beyond_json_classic", late_fill_values_beyond_json_classic},
    {"late_fill_values_of_text", late_fill_values_of_text}, {"late_fill_values_of_text_classic", late_fill_values_of_text_classic},
    {"late_fill_values_beside_another_file", late_fill_values_beside_another_file},
    {"renamed_fill_values", renamed_fill_values}, {"rounding_taken_back", rounding_taken_back}, {"long_fill_value", long_fill_value}, {"longer_attributes", longer_attributes},
    {"begun_definitions", begun_definitions}, {"types_of_older_files", types_of_older_files}, {"largest_numbers", largest_numbers},
    {"fill_values_taken_back", fill_values_taken_back}, {"overlapping_fields", overlapping_fields}, {"unstored_definitions", unstored_definitions}, {"decimal_comma", decimal_comma}, {"other_roundings", other_roundings}, {"cancelled_threads", cancelled_threads}, {"deleted_fill_values", deleted_fill_values}, {"long_strides", long_strides}, {"aborted_after_failed_sync", aborted_after_failed_sync}, {"made_while_open", made_while_open}};

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        if (argc < 3) puts(CASES[i].name);
        else if (strcmp(CASES[i].name, argv[2]) == 0) return path = argv[1], CASES[i].run(), 0;
    }
    return argc < 3 ? 0 : 2;
}
