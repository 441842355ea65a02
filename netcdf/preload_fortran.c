/* The functions that netCDF-Fortran calls and netCDF-C does not send through its table: chunks as numbers of `int`. Without these they
 * would take a Zarr file for one of HDF5. */
#include "register.h"
#include "table.h"

#include <limits.h>

#define EXPORT __attribute__((visibility("default")))

/* Whether the ID is of one of our files, also with a group that the file does not have. */
static bool is_ours(int ncid) {
    oz_group *root;
    return oz_find_group(ncid & ~0xffff, &root) == NC_NOERR;
}

EXPORT int nc_def_var_chunking_ints(int ncid, int varid, int storage, int *chunks) {
    typedef int next_fn(int, int, int, int *);
    next_fn *next = (next_fn *)oz_netcdf_function("nc_def_var_chunking_ints");
    if (!is_ours(ncid)) return next ? next(ncid, varid, storage, chunks) : NC_ENOTBUILT;
    oz_var *var;
    size_t sizes[NC_MAX_VAR_DIMS];
    int status = oz_find_var(ncid, varid, &var);
    /* Where all is in one piece Fortran gives numbers that say nothing. */
    if (storage != NC_CHUNKED) chunks = NULL;
    for (int d = 0; !status && chunks && d < var->rank; d++) {
        if (chunks[d] < 1) return NC_EBADCHUNK;
        sizes[d] = (size_t)chunks[d];
    }
    return status ? status : oz_def_var_chunking(ncid, varid, storage, chunks ? sizes : NULL);
}

EXPORT int nc_inq_var_chunking_ints(int ncid, int varid, int *storage, int *chunks) {
    typedef int next_fn(int, int, int *, int *);
    next_fn *next = (next_fn *)oz_netcdf_function("nc_inq_var_chunking_ints");
    if (!is_ours(ncid)) return next ? next(ncid, varid, storage, chunks) : NC_ENOTBUILT;
    oz_var *var;
    size_t sizes[NC_MAX_VAR_DIMS];
    int status = oz_find_var(ncid, varid, &var);
    if (!status)
        status = oz_inq_var_all(ncid, varid, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, storage, sizes, NULL, NULL, NULL, NULL, NULL, NULL);
    for (int d = 0; !status && chunks && d < var->rank; d++) {
        if (sizes[d] > INT_MAX) return NC_ERANGE;
        chunks[d] = (int)sizes[d];
    }
    return status;
}

EXPORT int nc_set_var_chunk_cache_ints(int ncid, int varid, int size, int slots, int preemption) {
    typedef int next_fn(int, int, int, int, int);
    next_fn *next = (next_fn *)oz_netcdf_function("nc_set_var_chunk_cache_ints");
    if (!is_ours(ncid)) return next ? next(ncid, varid, size, slots, preemption) : NC_ENOTBUILT;
    /* The size is in MiB, the preemption in hundredths; negative numbers are the defaults. */
    size_t bytes = size >= 0 ? (size_t)size << 20 : 16777216, count = slots >= 0 ? (size_t)slots : 4133;
    return oz_set_var_chunk_cache(ncid, varid, bytes, count, preemption >= 0 ? (float)preemption / 100 : 0.75f);
}

EXPORT int nc_get_var_chunk_cache_ints(int ncid, int varid, int *size, int *slots, int *preemption) {
    typedef int next_fn(int, int, int *, int *, int *);
    next_fn *next = (next_fn *)oz_netcdf_function("nc_get_var_chunk_cache_ints");
    if (!is_ours(ncid)) return next ? next(ncid, varid, size, slots, preemption) : NC_ENOTBUILT;
    size_t bytes, count;
    float share;
    int status = oz_get_var_chunk_cache(ncid, varid, &bytes, &count, &share);
    if (status) return status;
    if (size) *size = (int)(bytes >> 20);
    if (slots) *slots = (int)count;
    if (preemption) *preemption = (int)(share * 100);
    return NC_NOERR;
}
