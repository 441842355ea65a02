/* zarrs through its C interface, as an adapter of the benchmark (bench.h). It has no conversions, no strides and no resizing. */
#include "../bench.h"
#include "zarrs.h"

#define TRY(call)                                          \
    do {                                                   \
        if ((call) != ZARRS_SUCCESS) return zarrsLastError(); \
    } while (0)

static const char *regions(const request *r, bool writing) {
    ZarrsStorage storage;
    ZarrsArray array;
    ZarrsShardIndexCache cache = NULL;
    uint8_t *data = (uint8_t *)r->data;
    TRY(zarrsCreateStorageFilesystem(r->path, &storage));
    TRY(zarrsOpenArrayRW(storage, "/", &array));
    if (r->shard[0]) TRY(zarrsCreateShardIndexCache(array, &cache));
    for (size_t i = 0; i < r->count; i++) {
        const uint64_t *start = (const uint64_t *)r->regions[i].start, *count = (const uint64_t *)r->regions[i].count;
        size_t bytes = count[0] * count[1] * count[2] * 4;
        if (r->reopen && i) {
            if (cache) zarrsDestroyShardIndexCache(cache);
            zarrsDestroyArray(array);
            TRY(zarrsOpenArrayRW(storage, "/", &array));
            if (r->shard[0]) TRY(zarrsCreateShardIndexCache(array, &cache));
        }
        if (writing) TRY(zarrsArrayStoreSubset(array, 3, start, count, bytes, data));
        else if (cache) TRY(zarrsArrayRetrieveSubsetSharded(array, cache, 3, start, count, bytes, data));
        else TRY(zarrsArrayRetrieveSubset(array, 3, start, count, bytes, data));
        data += bytes;
    }
    if (cache) zarrsDestroyShardIndexCache(cache);
    zarrsDestroyArray(array);
    zarrsDestroyStorage(storage);
    return NULL;
}

static const char *write_whole(const request *r) {
    ZarrsStorage storage;
    ZarrsArray array;
    const uint64_t zero[3] = {0, 0, 0};
    TRY(zarrsCreateStorageFilesystem(r->path, &storage));
    TRY(zarrsCreateArrayRW(storage, "/", r->meta, &array));
    TRY(zarrsArrayStoreMetadata(array));
    TRY(zarrsArrayStoreSubset(array, 3, zero, (const uint64_t *)r->shape, r->bytes, (const uint8_t *)r->data));
    zarrsDestroyArray(array);
    zarrsDestroyStorage(storage);
    return NULL;
}

const char *perform(const request *r) {
    bool other = r->f64 || r->fortran;
    for (size_t i = 0; i < r->count; i++) other |= r->regions[i].step[0] != 1;
    if (!strcmp(r->op, "noop")) return NULL;
    if (!strcmp(r->op, "read") && !other) return regions(r, false);
    if (!strcmp(r->op, "update")) return regions(r, true);
    if (!strcmp(r->op, "write")) return write_whole(r);
    return "unsupported operation";
}
