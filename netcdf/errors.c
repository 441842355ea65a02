/* netCDF's errors for what ozarr says of a call, and the log. */
#include "hierarchy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void oz_log(const char *format, ...) {
    const char *level = getenv("OZARR_LOG");
    if (!level || !*level) return;
    va_list arguments;
    va_start(arguments, format);
    fputs("ozarr: netCDF: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

void oz_note(int *first, int status) {
    if (!*first) *first = status;
}

bool oz_is_short(int status) {
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    return status == NC_ENFILE || (status == NC_ENOMEM && (ozarr_last_error_info(&info) || info.status != OZARR_ERR_LIMIT));
}

bool oz_is_out_of_reach(int status) {
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    if (status != NC_EIO) return status == EACCES || oz_is_short(status);
    /* Of a document that is malformed, too, netCDF has no other word. */
    if (ozarr_last_error_info(&info)) return true;
    return info.status == OZARR_ERR_IO || info.status == OZARR_ERR_NETWORK || info.status == OZARR_ERR_TIMEOUT || info.status == OZARR_ERR_THROTTLED;
}

bool oz_error_says(const char *what) { return strstr(ozarr_last_error(), what) != NULL; }

/* Whether the last error is of a codec. */
static bool is_of_codec(void) {
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    if (ozarr_last_error_info(&info)) return false;
    return strstr(info.field, "codecs") || strstr(info.field, "compressor") || strstr(info.field, "filters");
}

int oz_error(ozarr_status status) {
    if (status == OZARR_OK) return NC_NOERR;
    oz_log("%s: %s", ozarr_status_name(status), ozarr_last_error());
    switch (status) {
    case OZARR_ERR_NOT_FOUND: return ENOENT;
    case OZARR_ERR_PERMISSION: return EACCES;
    case OZARR_ERR_READ_ONLY: return NC_EPERM;
    case OZARR_ERR_EXISTS: return NC_EEXIST;
    case OZARR_ERR_NAME: return NC_EBADNAME;
    case OZARR_ERR_NO_MEMORY:
    case OZARR_ERR_LIMIT: return NC_ENOMEM;
    case OZARR_ERR_NO_SPACE: return ENOSPC;
    case OZARR_ERR_TOO_MANY_FILES: return NC_ENFILE;
    case OZARR_ERR_RANGE: return NC_ERANGE;
    case OZARR_ERR_TYPE: return NC_EBADTYPE;
    case OZARR_ERR_BOUNDS: return NC_EEDGE;
    case OZARR_ERR_UNSUPPORTED: return is_of_codec() ? NC_ENOFILTER : NC_ENOTBUILT;
    case OZARR_ERR_METADATA:
    case OZARR_ERR_EXTENSION:
    case OZARR_ERR_NODE_KIND: return NC_ENOTNC;
    case OZARR_ERR_INTERNAL: return NC_EINTERNAL;
    default: return NC_EIO;
    }
}
