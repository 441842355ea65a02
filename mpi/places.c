/* Locations that several ranks cannot have in common: memory, and zip archives that are written. */
#include "internal.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* What follows the scheme of a location (and the host of a URL); the scheme's length is 0 without one. */
static const char *behind_scheme(const char *location, size_t *length) {
    size_t n = isalpha((unsigned char)location[0]) ? 1 : 0;
    while (n > 0 && (isalnum((unsigned char)location[n]) || (location[n] != 0 && strchr("+-.", location[n]) != NULL))) n++;
    *length = location[n] == ':' ? n : 0;
    if (*length == 0) return location;
    const char *rest = location + n + 1;
    if (strncmp(rest, "//", 2) != 0) return rest;
    const char *path = strchr(rest + 2, '/');
    return path != NULL ? path : rest + strlen(rest);
}

static bool is_scheme(const char *location, size_t length, const char *name) {
    return length == strlen(name) && strncasecmp(location, name, length) == 0;
}

static bool ends_in(const char *text, size_t length, const char *ending) {
    const size_t n = strlen(ending);
    return length >= n && strncmp(text + length - n, ending, n) == 0;
}

/* Whether the root that a path begins with is an archive by its name, and no folder is there. */
static bool names_archive(const char *path) {
    char root[4096];
    for (size_t n = 1; path[n - 1] != 0; n++) {
        if (path[n] != '/' && path[n] != 0) continue;
        if (ends_in(path, n, ".zarr")) return false;
        if (!ends_in(path, n, ".zip") && !ends_in(path, n, ".ozx")) continue;
        struct stat found;
        if (n >= sizeof root) return true;
        memcpy(root, path, n);
        root[n] = 0;
        return stat(root, &found) != 0 || !S_ISDIR(found.st_mode);
    }
    return false;
}

ozarr_status om_check_place(const ozarr_mpi *m, const char *location, const char *mode) {
    size_t scheme = 0;
    const char *path = behind_scheme(location, &scheme), *netcdf = strstr(path, "#mode=");
    if (m->size == 1) return OZARR_OK;
    if (is_scheme(location, scheme, "memory"))
        return om_error(OZARR_ERR_UNSUPPORTED, "%.900s is in the memory of one process, expected a place that all %d ranks see", location, m->size);
    if (strcmp(mode, "r") == 0 || (scheme > 0 && !is_scheme(location, scheme, "file") && !is_scheme(location, scheme, "zip"))) return OZARR_OK;
    const bool archive = is_scheme(location, scheme, "zip") || (scheme > 0 && netcdf != NULL && strstr(netcdf, "zip") != NULL) || names_archive(path);
    if (!archive) return OZARR_OK;
    return om_error(OZARR_ERR_UNSUPPORTED, "%.900s is a zip archive, which one process writes, and there are %d ranks; "
                    "expected a folder, which ozarr_copy makes an archive of", location, m->size);
}
