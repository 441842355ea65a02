/* The functions of netCDF-C that open and create, for LD_PRELOAD: what is Zarr goes to the table, all else on as it was. */
#include "parallel.h"
#include "register.h"
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define EXPORT __attribute__((visibility("default")))

typedef int create_fn(const char *, int, size_t, size_t *, int *);
typedef int open_fn(const char *, int, size_t *, int *);
typedef int parallel_fn(const char *, int, void *, void *, int *);
typedef int fortran_fn(const char *, int, int, int, int *);

/* Whether a part of a name is as files of netCDF end: `run.zarr.nc` is what becomes of `run.zarr` in another format. */
static bool is_of_netcdf(const char *part) {
    static const char *const ends[] = {".nc", ".nc4", ".cdf"};
    bool is = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t len = strlen(ends[i]);
        is = is || (strncmp(part, ends[i], len) == 0 && (!part[len] || strchr("/.#?", part[len])));
    }
    return is;
}

/* Whether a name has a component that ends in `.zarr`, also before what programs add for their temporary files. */
static bool has_zarr_name(const char *path) {
    for (const char *place = strstr(path, ".zarr"); place; place = strstr(place + 1, ".zarr"))
        if (place != path && (!place[5] || strchr("/.#?", place[5])) && !is_of_netcdf(place + 5)) return true;
    return false;
}

/* Whether the fragment of a URL asks for Zarr: `#mode=zarr`, `#mode=nczarr,file`. */
static bool has_zarr_fragment(const char *path) {
    const char *fragment = strstr(path, "://") ? strchr(path, '#') : NULL;
    return fragment && strstr(fragment, "zarr");
}

static bool exists(const char *folder, size_t len, const char *document) {
    char path[4096];
    struct stat status;
    if (len + strlen(document) >= sizeof path) return false;
    memcpy(path, folder, len);
    strcpy(path + len, document);
    return stat(path, &status) == 0;
}

static bool is_off(void) {
    const char *setting = getenv("OZARR_NETCDF");
    return setting && strcmp(setting, "off") == 0;
}

/* Whether a path names the document of a folder, as programs want it that open files only. */
static bool names_document(const char *path) {
    const char *name = strrchr(path, '/');
    return name && (strcmp(name, "/zarr.json") == 0 || strcmp(name, "/.zgroup") == 0 || strcmp(name, "/.zmetadata") == 0);
}

/* Whether a path that is to be opened is Zarr: a folder with its documents, one of these, or an archive or URL that says so. */
static bool opens_zarr(const char *path) {
    struct stat status;
    if (!path || is_off()) return false;
    if (has_zarr_fragment(path)) return true;
    if (strncmp(path, "file://", 7) == 0) path += 7;
    if (strstr(path, "://")) return has_zarr_name(path);
    if (stat(path, &status)) return false;
    if (names_document(path)) return true;
    if (!S_ISDIR(status.st_mode)) return has_zarr_name(path) && strlen(path) > 4 && strcmp(path + strlen(path) - 4, ".zip") == 0;
    static const char *const documents[] = {"/zarr.json", "/.zgroup", "/.zmetadata"};
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        if (exists(path, strlen(path), documents[i])) return true;
    return false;
}

/* Whether a plain path has a name of Zarr, and nothing is there. A netCDF-C without MPI would say of it that it has no parallel access. */
static bool is_missing(const char *path) {
    struct stat status;
    if (!path || is_off()) return false;
    if (strncmp(path, "file://", 7) == 0) path += 7;
    return !strpbrk(path, ":#") && has_zarr_name(path) && stat(path, &status) && (errno == ENOENT || errno == ENOTDIR);
}

static bool creates_zarr(const char *path, int mode) {
    const char *setting = getenv("OZARR_NETCDF");
    if (!path || is_off() || mode & NC_INMEMORY || (mode & NC_DISKLESS && !(mode & NC_PERSIST))) return false;
    /* Modes that exclude each other are for netCDF-C to refuse. */
    if ((mode & NC_NETCDF4 && mode & (NC_64BIT_OFFSET | NC_64BIT_DATA)) || (mode & NC_64BIT_OFFSET && mode & NC_64BIT_DATA)) return false;
    if (setting && strcmp(setting, "always") == 0) return true;
    /* Nothing can be made on the web, which is told at once; but NCZarr has such URLs of buckets with fragments. */
    if (strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0) return has_zarr_name(path);
    return has_zarr_fragment(path) || has_zarr_name(path);
}

/* The flags of the format that nc_set_default_format chose, for a mode that names none. netCDF-C tells the format only where another one is set. */
static int default_flags(int mode) {
    typedef int set_fn(int, int *);
    set_fn *set = (set_fn *)oz_netcdf_function("nc_set_default_format");
    int format = NC_FORMAT_CLASSIC;
    if (mode & (NC_NETCDF4 | NC_CLASSIC_MODEL | NC_64BIT_OFFSET | NC_64BIT_DATA) || !set || set(NC_FORMAT_CLASSIC, &format)) return 0;
    (void)set(format, NULL);
    switch (format) {
    case NC_FORMAT_NETCDF4: return NC_NETCDF4;
    case NC_FORMAT_NETCDF4_CLASSIC: return NC_NETCDF4 | NC_CLASSIC_MODEL;
    case NC_FORMAT_64BIT_OFFSET: return NC_64BIT_OFFSET;
    case NC_FORMAT_CDF5: return NC_64BIT_DATA;
    default: return 0;
    }
}

/* Both ways go through netCDF's nc__create, which looks neither into the file nor, with the mode of the format, at its name. The path is
 * given without scheme and fragment, which netCDF would take for a URL. */
static int to_table(const char *path, int mode, bool open, int *id) {
    create_fn *create = (create_fn *)oz_netcdf_function("nc__create");
    int status = ozarr_netcdf_register();
    if (status || !create) return status ? status : NC_ENOTBUILT;
    const char *plain = strstr(path, "://");
    plain = plain ? plain + 3 : path;
    char *copy = strdup(plain);
    if (!copy) return NC_ENOMEM;
    if (plain != path && strchr(copy, '#')) *strchr(copy, '#') = 0;
    int kept = mode & (NC_WRITE | NC_NOCLOBBER | NC_NETCDF4 | NC_CLASSIC_MODEL | NC_64BIT_OFFSET | NC_64BIT_DATA | NC_SHARE);
    if (!open) kept |= default_flags(kept);
    oz_set_pending(path, open);
    oz_set_pending_mode(kept | (mode & (NC_DISKLESS | NC_PERSIST)));
    status = create(copy, (kept & ~(open ? NC_NOCLOBBER | NC_64BIT_OFFSET | NC_64BIT_DATA : NC_64BIT_OFFSET | NC_64BIT_DATA)) | NC_UDF0 | NC_NETCDF4, 0, NULL, id);
    oz_set_pending(NULL, false);
    free(copy);
    return status;
}

EXPORT int nc__open(const char *path, int mode, size_t *hint, int *id) {
    open_fn *next = (open_fn *)oz_netcdf_function("nc__open");
    if (!(mode & NC_UDF0) && opens_zarr(path)) return to_table(path, mode, true, id);
    return next ? next(path, mode, hint, id) : NC_ENOTBUILT;
}

EXPORT int nc_open(const char *path, int mode, int *id) {
    typedef int plain_fn(const char *, int, int *);
    plain_fn *next = (plain_fn *)oz_netcdf_function("nc_open");
    if (!(mode & NC_UDF0) && opens_zarr(path)) return to_table(path, mode, true, id);
    return next ? next(path, mode, id) : NC_ENOTBUILT;
}

EXPORT int nc__create(const char *path, int mode, size_t initial, size_t *hint, int *id) {
    create_fn *next = (create_fn *)oz_netcdf_function("nc__create");
    if (!(mode & NC_UDF0) && creates_zarr(path, mode)) return to_table(path, mode, false, id);
    return next ? next(path, mode, initial, hint, id) : NC_ENOTBUILT;
}

EXPORT int nc_create(const char *path, int mode, int *id) {
    typedef int plain_fn(const char *, int, int *);
    plain_fn *next = (plain_fn *)oz_netcdf_function("nc_create");
    if (!(mode & NC_UDF0) && creates_zarr(path, mode)) return to_table(path, mode, false, id);
    return next ? next(path, mode, id) : NC_ENOTBUILT;
}

/* Deletes a hierarchy that can be opened, as netCDF-C deletes a file. */
EXPORT int nc_delete(const char *path) {
    typedef int plain_fn(const char *);
    plain_fn *next = (plain_fn *)oz_netcdf_function("nc_delete");
    return opens_zarr(path) ? oz_delete(path) : next ? next(path) : NC_ENOTBUILT;
}

EXPORT int nc_delete_mp(const char *path, int processor) {
    typedef int plain_fn(const char *, int);
    plain_fn *next = (plain_fn *)oz_netcdf_function("nc_delete_mp");
    if (opens_zarr(path)) return processor ? NC_EINVAL : oz_delete(path);
    return next ? next(path, processor) : NC_ENOTBUILT;
}

/* The handles of MPI are numbers or addresses, which all ABIs that we know hand on in a register as they hand on an address. */
static int to_table_together(const char *path, int mode, bool open, oz_comm_kind kind, void *comm, int *id) {
    oz_set_pending_ranks(kind, comm);
    int status = to_table(path, mode, open, id);
    oz_set_pending_ranks(OZ_COMM_NONE, NULL);
    return status;
}

EXPORT int nc_open_par(const char *path, int mode, void *comm, void *info, int *id) {
    parallel_fn *next = (parallel_fn *)oz_netcdf_function("nc_open_par");
    if (opens_zarr(path)) return to_table_together(path, mode, true, OZ_COMM_VALUE, comm, id);
    if (is_missing(path)) return ENOENT;
    return next ? next(path, mode, comm, info, id) : NC_ENOTBUILT;
}

EXPORT int nc_create_par(const char *path, int mode, void *comm, void *info, int *id) {
    parallel_fn *next = (parallel_fn *)oz_netcdf_function("nc_create_par");
    if (creates_zarr(path, mode)) return to_table_together(path, mode, false, OZ_COMM_VALUE, comm, id);
    return next ? next(path, mode, comm, info, id) : NC_ENOTBUILT;
}

/* netCDF-Fortran's, whose handles are numbers. */
EXPORT int nc_open_par_fortran(const char *path, int mode, int comm, int info, int *id) {
    fortran_fn *next = (fortran_fn *)oz_netcdf_function("nc_open_par_fortran");
    if (opens_zarr(path)) return to_table_together(path, mode, true, OZ_COMM_FORTRAN, (void *)(intptr_t)comm, id);
    if (is_missing(path)) return ENOENT;
    return next ? next(path, mode, comm, info, id) : NC_ENOTBUILT;
}

EXPORT int nc_create_par_fortran(const char *path, int mode, int comm, int info, int *id) {
    fortran_fn *next = (fortran_fn *)oz_netcdf_function("nc_create_par_fortran");
    if (creates_zarr(path, mode)) return to_table_together(path, mode, false, OZ_COMM_FORTRAN, (void *)(intptr_t)comm, id);
    return next ? next(path, mode, comm, info, id) : NC_ENOTBUILT;
}

/* A netCDF-C without MPI does not ask its table. */
EXPORT int nc_var_par_access(int ncid, int varid, int access) {
    typedef int plain_fn(int, int, int);
    plain_fn *next = (plain_fn *)oz_netcdf_function("nc_var_par_access");
    oz_group *root;
    if (oz_find_group(ncid & ~0xffff, &root) == NC_NOERR) return oz_var_par_access(ncid, varid, access);
    return next ? next(ncid, varid, access) : NC_ENOTBUILT;
}
