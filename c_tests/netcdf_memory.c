/* Fails each allocation that libozarr_netcdf makes in a program of netCDF, once and all from there on: a call says NC_ENOMEM, and does it when it is made
 * again, or does all. In the end the file says what it says without a failure. Each point is a process of its own.
 *
 *   PROGRAM                    every 17th point; every point where the environment has OZARR_DEEP
 *   PROGRAM MODE POINT         one point, in this process; MODE is 0 for once, 1 for from there on until a call fails */
#include <errno.h>
#include <link.h>
#include <netcdf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

#define PATH "netcdf_memory.zarr"
enum { BEYOND = 77, WRONG = 78, FIRST_OWN_TYPE = 32, MOST_POINTS = 9000 };

static uintptr_t from, to;
static int armed, mode, faults, file, group, var;
static long seen, point, failed;

static int fails(const void *caller) {
    if (!armed || (uintptr_t)caller < from || (uintptr_t)caller >= to) return 0;
    seen++;
    if (point == 0 || (seen != point && (mode == 0 || seen < point))) return 0;
    failed++;
    errno = ENOMEM;
    return 1;
}

static char *copy(const char *text, size_t len, const void *caller) {
    char *made = fails(caller) ? NULL : __libc_malloc(len + 1);
    if (made) memcpy(made, text, len), made[len] = 0;
    return made;
}

void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size); }
char *strdup(const char *text) { return copy(text, strlen(text), __builtin_return_address(0)); }
char *strndup(const char *text, size_t most) { return copy(text, strnlen(text, most), __builtin_return_address(0)); }

/* Notes where the code of the library is. */
static int find_library(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum && strstr(info->dlpi_name, "libozarr_netcdf"); i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        from = info->dlpi_addr + part->p_vaddr;
        to = from + part->p_memsz;
    }
    return 0;
}

static void fault(const char *call, int status) {
    fprintf(stderr, "mode %d, point %ld: %s gave %d (%s)\n", mode, point, call, status, nc_strerror(status));
    faults++;
}

/* A call that is to be done. */
#define DO(call) do { const int status_ = (call); if (status_) fault(#call, status_); } while (0)

/* A call that may lack memory, and is then made again with it. */
#define TRY(call) do { \
    const long before_ = failed; \
    const int first_ = (call), was_ = armed; \
    if (!first_) break; \
    if (first_ != NC_ENOMEM || failed == before_) fault(#call, first_); \
    armed = 0; \
    DO(call); \
    armed = was_ && mode == 0; \
} while (0)

typedef struct pair { double a; int b; } pair;

static void define_types(int at) {
    nc_type type;
    DO(nc_def_compound(at, sizeof(pair), "pair", &type));
    DO(nc_insert_compound(at, type, "a", 0, NC_DOUBLE));
    DO(nc_insert_compound(at, type, "b", 8, NC_INT));
    DO(nc_def_enum(at, NC_BYTE, "answer", &type));
    DO(nc_insert_enum(at, type, "no", "\0"));
    DO(nc_insert_enum(at, type, "yes", "\1"));
    DO(nc_def_vlen(at, "list", NC_INT, &type));
}

static void prepare(void) {
    int dims[2], id;
    const size_t start = 0, count = 3;
    DO(nc_create(PATH, NC_CLOBBER | NC_NETCDF4, &file));
    DO(nc_def_dim(file, "time", NC_UNLIMITED, &dims[0]));
    DO(nc_def_dim(file, "y", 3, &dims[1]));
    define_types(file);
    DO(nc_def_grp(file, "sub", &group));
    DO(nc_def_dim(group, "n", NC_UNLIMITED, &dims[1]));
    DO(nc_def_var(file, "clock", NC_INT, 1, dims, &var));
    DO(nc_def_var_deflate(file, var, 0, 1, 4));
    DO(nc_put_att_int(file, var, "valid", NC_SHORT, 2, (const int[]){1, 2}));
    for (int i = 0; i < 3; i++) DO(nc_def_var(group, ((const char *const[]){"r", "e", "l"})[i], FIRST_OWN_TYPE + i, 1, dims + 1, &id));
    DO(nc_enddef(file));
    DO(nc_put_vara_int(file, var, &start, &count, (const int[]){5, 6, 7}));
    DO(nc_close(file));
}

/* What another program does meanwhile. */
static void define_beside(void) {
    int beside, dim, id;
    DO(nc_open(PATH, NC_WRITE, &beside));
    DO(nc_inq_dimid(beside, "y", &dim));
    DO(nc_def_var(beside, "theirs", FIRST_OWN_TYPE, 1, &dim, &id));
    DO(nc_def_var(beside, "scaled", NC_SHORT, 1, &dim, &id));
    DO(nc_put_att_double(beside, id, "scale", NC_FLOAT, 1, &(const double){0.5}));
    DO(nc_def_grp(beside, "group_of_theirs", &id));
    DO(nc_close(beside));
}

static void program(void) {
    const size_t start = 3, last = 4, count = 1;
    int deflated = 0;
    TRY(nc_open(PATH, NC_WRITE, &file));
    TRY(nc_inq_varid(file, "clock", &var));
    TRY(nc_inq_var_deflate(file, var, NULL, &deflated, NULL));
    if (!deflated) fault("nc_inq_var_deflate of a deflated variable", 0);
    TRY(nc_inq_grp_ncid(file, "sub", &group));
    const int was = armed;
    armed = 0;
    define_beside();
    armed = was;
    TRY(nc_put_att_text(file, NC_GLOBAL, "title", 5, "hello"));
    TRY(nc_sync(file));
    TRY(nc_rename_var(file, var, "time"));
    TRY(nc_put_att_text(file, var, "units", 1, "s"));
    TRY(nc_put_vara_int(file, var, &start, &count, &(const int){8}));
    TRY(nc_rename_grp(group, "below"));
    TRY(nc_put_att_text(group, NC_GLOBAL, "title", 5, "below"));
    TRY(nc_sync(file));
    TRY(nc_put_vara_int(file, var, &last, &count, &(const int){9}));
    /* Nothing is done by another attempt to close a file. */
    armed = armed && mode == 0;
    DO(nc_close(file));
    armed = 0;
}

static char text[1 << 14];
static void say(const char *word, long number) { snprintf(text + strlen(text), sizeof text - strlen(text), "%s %ld\n", word, number); }

/* Adds what a group is to the text, and all below it. */
static void describe(int at) {
    int dims[9], groups[9], count, attributes;
    size_t len;
    nc_type type;
    char name[NC_MAX_NAME + 1];
    DO(nc_inq_dimids(at, &count, dims, 0));
    for (int i = 0; i < count; i++) nc_inq_dim(at, dims[i], name, &len), say(name, (long)len);
    DO(nc_inq_unlimdims(at, &count, dims));
    say("unlimited", count);
    DO(nc_inq_nvars(at, &count));
    for (int i = -1; i < count; i++) {
        if (i >= 0) nc_inq_var(at, i, name, &type, NULL, NULL, NULL), say(name, type), nc_inq_type(at, type, name, &len), say(name, (long)len);
        if (nc_inq_varnatts(at, i, &attributes)) attributes = 0;
        for (int k = 0; k < attributes; k++) nc_inq_attname(at, i, k, name), nc_inq_atttype(at, i, name, &type), say(name, type);
    }
    DO(nc_inq_grps(at, &count, groups));
    for (int i = 0; i < count; i++) nc_inq_grpname(groups[i], name), say(name, 0), describe(groups[i]);
}

/* Compares what the file is in the end with what it is without a failure, which the point 0 notes. */
static void compare(void) {
    char wanted[sizeof text] = "";
    FILE *noted = fopen("wanted", point ? "r" : "w");
    if (!noted || (point ? !fread(wanted, 1, sizeof wanted - 1, noted) : fputs(text, noted) < 0) || fclose(noted)) fault("a file of the test", 0);
    if (!point || !strcmp(text, wanted)) return;
    fault("what the file is", 0);
    fprintf(stderr, "%swanted:\n%s", text, wanted);
}

static int one(void) {
    int values[5] = {0};
    prepare();
    dl_iterate_phdr(find_library, NULL);
    armed = 1;
    program();
    armed = 0;
    if (seen < point) return BEYOND;
    DO(nc_open(PATH, NC_NOWRITE, &file));
    describe(file);
    if (nc_inq_varid(file, "time", &var) || nc_get_var_int(file, var, values)) fault("nc_get_var_int", 0);
    for (int i = 0; i < 5; i++) say("value", values[i]);
    DO(nc_close(file));
    compare();
    return faults || !from || (!point && !seen) ? WRONG : 0;
}

/* One point in a process of its own: what wait says of it. */
static int in_child(void) {
    int state = -1;
    const pid_t child = fork();
    if (child == 0) _exit(one());
    if (child < 0 || waitpid(child, &state, 0) != child) return -1;
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

int main(int argc, char **argv) {
    const int step = getenv("OZARR_DEEP") ? 1 : 17;
    long bad = in_child() != 0, points = 0;
    if (argc == 3) return mode = atoi(argv[1]), point = atol(argv[2]), one();
    for (mode = 0; mode < 2 && !bad; mode++)
        for (point = 1 + mode; point < MOST_POINTS; point += step, points++) {
            const int state = in_child();
            if (state == BEYOND) break;
            if (state != 0) fprintf(stderr, "mode %d, point %ld ended with %d\n", mode, point, state), bad++;
        }
    if (bad || points >= MOST_POINTS) printf("%ld points, %ld bad\n", points, bad);
    return bad != 0 || points >= MOST_POINTS;
}
