/* The functions of netCDF-C that free and copy values of any type, or compare types of two files, and do not go through the tables of both: without these
 * they would look for the types of a Zarr file in structures of HDF5's. */
#include "register.h"
#include "table.h"
#include "types.h"

#include <stdlib.h>
#include <string.h>

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

/* A type of any file, and the functions by which netCDF-C tells of it. */
typedef struct told {
    int ncid;
    nc_type id, base;
    char name[NC_MAX_NAME + 1];
    size_t size, fields;
    int kind;
} told;

typedef int user_type_fn(int, nc_type, char *, size_t *, nc_type *, size_t *, int *);
typedef int compound_field_fn(int, nc_type, int, char *, size_t *, nc_type *, int *, int *);
typedef int enum_member_fn(int, nc_type, int, char *, void *);

static int tell(told *type) {
    user_type_fn *inquire = (user_type_fn *)oz_netcdf_function("nc_inq_user_type");
    return inquire ? inquire(type->ncid, type->id, type->name, &type->size, &type->base, &type->fields, &type->kind) : NC_ENOTBUILT;
}

static int compare(told *one, told *other, int *same);

static int compare_fields(const told *one, const told *other, int field, int *same) {
    compound_field_fn *inquire = (compound_field_fn *)oz_netcdf_function("nc_inq_compound_field");
    char name[2][NC_MAX_NAME + 1];
    size_t offset[2];
    nc_type type[2];
    int rank[2], shape[2][NC_MAX_VAR_DIMS] = {{0}};
    for (int i = 0; i < 2; i++) {
        const told *of = i ? other : one;
        int status = inquire ? inquire(of->ncid, of->id, field, name[i], &offset[i], &type[i], &rank[i], shape[i]) : NC_ENOTBUILT;
        if (status) return status;
    }
    *same = !strcmp(name[0], name[1]) && offset[0] == offset[1] && rank[0] == rank[1] && !memcmp(shape[0], shape[1], sizeof shape[0]);
    return *same ? compare(&(told){.ncid = one->ncid, .id = type[0]}, &(told){.ncid = other->ncid, .id = type[1]}, same) : NC_NOERR;
}

static int compare_members(const told *one, const told *other, int member, int *same) {
    enum_member_fn *inquire = (enum_member_fn *)oz_netcdf_function("nc_inq_enum_member");
    char name[2][NC_MAX_NAME + 1];
    unsigned char value[2][8];
    int status = inquire ? inquire(one->ncid, one->id, member, name[0], value[0]) : NC_ENOTBUILT;
    if (!status) status = inquire(other->ncid, other->id, member, name[1], value[1]);
    if (!status) *same = !strcmp(name[0], name[1]) && !memcmp(value[0], value[1], one->size);
    return status;
}

/* Compares the types of two files, by all that netCDF-C tells of them. */
static int compare(told *one, told *other, int *same) {
    *same = one->id == other->id;
    if (one->id <= NC_STRING || other->id <= NC_STRING) return NC_NOERR;
    int status = tell(one);
    if (!status) status = tell(other);
    if (status) return status;
    *same = one->kind == other->kind && one->size == other->size && one->base == other->base && one->fields == other->fields;
    for (size_t i = 0; i < one->fields && *same && !status; i++) {
        if (one->kind == NC_COMPOUND) status = compare_fields(one, other, (int)i, same);
        if (one->kind == NC_ENUM) status = compare_members(one, other, (int)i, same);
    }
    return status;
}

/* Whether a file is one of ours, also by a group that it does not have. */
static bool is_ours(int ncid) {
    oz_group *root;
    return oz_find_group(ncid & ~0xffff, &root) == NC_NOERR;
}

/* Of two files of one format the table of the first one knows both. */
EXPORT int nc_inq_type_equal(int ncid, nc_type id, int other_ncid, nc_type other, int *equal) {
    typedef int next_fn(int, nc_type, int, nc_type, int *);
    int same = 0;
    next_fn *next = (next_fn *)oz_netcdf_function("nc_inq_type_equal");
    if (is_ours(ncid) == is_ours(other_ncid)) return next ? next(ncid, id, other_ncid, other, equal) : NC_ENOTBUILT;
    if (!equal) return NC_NOERR;
    if (id <= NC_NAT || other <= NC_NAT) return NC_EINVAL;
    int status = compare(&(told){.ncid = ncid, .id = id}, &(told){.ncid = other_ncid, .id = other}, &same);
    if (!status) *equal = same;
    return status;
}
