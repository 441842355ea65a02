/* Names: those that netCDF allows, in Unicode's normal form C. */
#include "json.h"
#include "model.h"
#include "register.h"

#include <stdlib.h>
#include <string.h>

bool oz_normalize(const char *name, char *normal) {
    typedef int normalize_fn(const unsigned char *, unsigned char **);
    static normalize_fn *normalize;
    const unsigned char *byte = (const unsigned char *)name;
    while (*byte && *byte < 0x80) byte++;
    if (!*byte) return false;
    if (!normalize) normalize = (normalize_fn *)oz_netcdf_function("nc_utf8_normalize");
    unsigned char *found = NULL;
    if (!normalize || normalize((const unsigned char *)name, &found) || !found) return false;
    size_t len = strlen((const char *)found);
    bool other = len <= NC_MAX_NAME && strcmp((const char *)found, name) != 0;
    if (other) memcpy(normal, found, len + 1);
    free(found);
    return other;
}

int oz_check_name(const char *name) {
    if (!name) return NC_EINVAL;
    size_t len = strlen(name);
    if (!len || strchr(name, '/')) return NC_EBADNAME;
    if (len > NC_MAX_NAME) return NC_EMAXNAME;
    unsigned char first = (unsigned char)name[0];
    bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || (first >= '0' && first <= '9');
    if (!letter && first != '_' && first < 0x80) return NC_EBADNAME;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c < ' ' || *c == 0x7f) return NC_EBADNAME;
    return name[len - 1] == ' ' || !utf8(name, len) ? NC_EBADNAME : NC_NOERR;
}

int oz_new_name(const char **name, char *normal) {
    int status = oz_check_name(*name);
    if (!status && oz_normalize(*name, normal)) *name = normal;
    return status;
}

/* Whether a character behind ASCII is a control character: U+0080 to U+009F. */
static bool has_control(const char *name) {
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) return true;
    return false;
}

/* Why no array or group that the library makes has that name; NULL of others. */
static const char *refused(const char *name, bool reserved) {
    if (strchr(name, '\\')) return "paths are divided by backslashes, too";
    if (strcmp(name, "zarr.json") == 0) return "that is a document";
    size_t len = strlen(name);
    if (!strncmp(name, "ozarr-", 6) && len > 10 && !strcmp(name + len - 5, ".json")) return "the library's own files have such names";
    if (has_control(name)) return "it has a control character";
    return !reserved && strncmp(name, "__", 2) == 0 ? "Zarr reserves names that begin with __" : NULL;
}

int oz_node_name(const char **name, char *normal, bool reserved) {
    /* What file systems take. */
    enum { MOST = 255 };
    int status = oz_new_name(name, normal);
    if (status) return status;
    const char *why = refused(*name, reserved);
    if (why) return oz_log("no variable or group can be named %s: %s", *name, why), NC_EBADNAME;
    if (strlen(*name) <= MOST) return NC_NOERR;
    return oz_log("no variable or group can have a name of %zu bytes; file systems take %d at most", strlen(*name), MOST), NC_EMAXNAME;
}
