/* The settings of the environment, and stores that are opened with them. */
#include "hierarchy.h"

#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const char *value) {
    char *end;
    size_t bytes = (size_t)strtoull(value, &end, 10);
    int shift = *end == 'k' || *end == 'K' ? 10 : *end == 'm' || *end == 'M' ? 20 : *end == 'g' || *end == 'G' ? 30 : 0;
    return bytes << shift;
}

static void set_one(oz_defaults *d, const char *key, const char *value) {
    d->compresses = d->compresses || strcmp(key, "compressor") == 0 || strcmp(key, "level") == 0;
    if (strcmp(key, "format") == 0 && (*value == '2' || *value == '3')) d->format = *value - '0';
    else if (strcmp(key, "compressor") == 0 && strlen(value) < sizeof d->compressor) strcpy(d->compressor, value);
    else if (strcmp(key, "level") == 0) d->level = atoi(value);
    else if (strcmp(key, "shuffle") == 0)
        d->shuffle = strcmp(value, "bit") == 0 ? OZARR_SHUFFLE_BIT : strcmp(value, "byte") == 0 ? OZARR_SHUFFLE_BYTE : OZARR_SHUFFLE_NONE;
    else if (strcmp(key, "checksum") == 0) d->checksum = *value != '0';
    else if (strcmp(key, "chunk_bytes") == 0 && bytes_of(value)) d->chunk_bytes = bytes_of(value);
    else if (strcmp(key, "shard_bytes") == 0) d->shard_bytes = bytes_of(value);
    else if (strcmp(key, "buffer_bytes") == 0 && bytes_of(value)) d->buffer_bytes = bytes_of(value);
    else oz_log("OZARR_NETCDF_SPEC: %s=%s is no setting", key, value);
}

const oz_defaults *oz_get_defaults(void) {
    static oz_defaults defaults;
    if (defaults.format) return &defaults;
    defaults = (oz_defaults){.format = 3, .compressor = "zstd", .level = -1, .chunk_bytes = 4 << 20, .buffer_bytes = 512 << 20};
    const char *spec = getenv("OZARR_NETCDF_SPEC");
    char *copy = spec ? strdup(spec) : NULL, *rest = NULL;
    for (char *key = copy ? strtok_r(copy, ", ", &rest) : NULL; key; key = strtok_r(NULL, ", ", &rest)) {
        char *value = strchr(key, '=');
        if (value) *value++ = 0;
        set_one(&defaults, key, value ? value : "");
    }
    free(copy);
    return &defaults;
}

/* Decoded chunks are kept for programs that read row by row; NaN is a value of attributes. */
static ozarr_context *context(void) {
    static ozarr_context *made;
    if (made || ozarr_context_new(&made)) return made;
    if (ozarr_context_set(made, "non_finite", "1") || ozarr_context_set(made, "chunk_cache", "268435456")) oz_log("%s", ozarr_last_error());
    return made;
}

int oz_threads(void) {
    char threads[32];
    return ozarr_context_get(context(), "threads", threads, sizeof threads, NULL) ? 1 : atoi(threads);
}

void oz_share_processors(void) {
    char threads[32];
    ozarr_status status = ozarr_context_get(NULL, "threads", threads, sizeof threads, NULL);
    if (!status) status = ozarr_context_set(context(), "threads", threads);
    if (status) oz_log("%s", ozarr_last_error());
}

int oz_store_open(const char *location, const char *mode, ozarr_store **store) {
    static const char *const options[] = {"file.sync", "none", "consolidate", "flush", NULL};
    return oz_error(ozarr_store_open_ex(context(), location, mode, options, store));
}

int oz_store_make(const char *location, ozarr_store **store) {
    static const char *const options[] = {"file.sync", "none", "consolidate", "flush", "file.publish", "flush", NULL};
    return oz_error(ozarr_store_open_ex(context(), location, "r+", options, store));
}
