/* The functions of netCDF-C that free and copy values of any type, and do not go through its table: without these they would look for the types
 * of a Zarr file in structures of HDF5's. */
#include "register.h"
#include "table.h"
#include "types.h"

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* The type in one of our files; NULL for files of other formats. */
static const oz_type *type_in(int ncid, nc_type id) {
    oz_group *group;
    return oz_find_group(ncid, &group) ? NULL : oz_type_of(group->file, id);
}

EXPORT int nc_reclaim_data(int ncid, nc_type id, void *values, size_t count) {
    typedef int next_fn(int, nc_type, void *, size_t);
    const oz_type *type = type_in(ncid, id);
    next_fn *next = type ? NULL : (next_fn *)oz_netcdf_function("nc_reclaim_data");
    if (!type) return next ? next(ncid, id, values, count) : NC_ENOTBUILT;
    oz_clear_values(type, values, count);
    return NC_NOERR;
}

EXPORT int nc_reclaim_data_all(int ncid, nc_type id, void *values, size_t count) {
    typedef int next_fn(int, nc_type, void *, size_t);
    const oz_type *type = type_in(ncid, id);
    next_fn *next = type ? NULL : (next_fn *)oz_netcdf_function("nc_reclaim_data_all");
    if (!type) return next ? next(ncid, id, values, count) : NC_ENOTBUILT;
    oz_clear_values(type, values, count);
    free(values);
    return NC_NOERR;
}

EXPORT int nc_copy_data(int ncid, nc_type id, const void *values, size_t count, void *copy) {
    typedef int next_fn(int, nc_type, const void *, size_t, void *);
    const oz_type *type = type_in(ncid, id);
    next_fn *next = type ? NULL : (next_fn *)oz_netcdf_function("nc_copy_data");
    if (!type) return next ? next(ncid, id, values, count, copy) : NC_ENOTBUILT;
    return oz_copy_values(type, copy, values, count);
}

EXPORT int nc_copy_data_all(int ncid, nc_type id, const void *values, size_t count, void **copy) {
    typedef int next_fn(int, nc_type, const void *, size_t, void **);
    const oz_type *type = type_in(ncid, id);
    next_fn *next = type ? NULL : (next_fn *)oz_netcdf_function("nc_copy_data_all");
    if (!type) return next ? next(ncid, id, values, count, copy) : NC_ENOTBUILT;
    void *made = count ? calloc(count, type->size) : NULL;
    if (count && !made) return NC_ENOMEM;
    int status = oz_copy_values(type, made, values, count);
    if (status) free(made);
    else if (copy) *copy = made;
    return status;
}
