/* netCDF's atomic types: sizes, names, fill values, and the conversion from one to another. */
#ifndef OZARR_NETCDF_TYPES_H
#define OZARR_NETCDF_TYPES_H

#include "model.h"

/* The size of one value in memory; 0 for what is no atomic type. */
size_t oz_type_size(nc_type type);
/* The name, as CDL and `_nc_model` have it; NULL for what is no atomic type. */
const char *oz_type_name(nc_type type);
nc_type oz_type_by_name(const char *name);

/* The type of ozarr for numbers of a netCDF type; OZARR_BY_DTYPE for NC_CHAR, OZARR_STRING for NC_STRING. */
ozarr_type oz_type_stored(nc_type type);

/* Writes netCDF's default fill value of a number or a character to `value`. */
void oz_default_fill(nc_type type, void *value);

/* Converts `count` numbers. NC_ERANGE if some do not fit (all are converted nevertheless), NC_EBADTYPE for other types. */
int oz_convert(const void *from, nc_type from_type, void *to, nc_type to_type, size_t count);

/* The entry of one of netCDF's own types; NULL for other IDs. */
const oz_type *oz_type_atomic(nc_type type);

/* Whether a compound or an enumeration, and the types of its fields, have members; true of all other types. */
bool oz_type_has_members(const oz_type *type);

/* Copies `count` values, with all that they point to; frees what they point to. */
int oz_copy_values(const oz_type *type, void *to, const void *from, size_t count);
void oz_clear_values(const oz_type *type, void *values, size_t count);

/* Rounds numbers to what the mode of quantisation keeps; `missing` (or NULL) stays as it is. */
void oz_quantize(int mode, int digits, nc_type type, void *values, size_t count, const void *missing);

/* Turns the bytes of numbers of lists, which are stored with the low byte first, whatever this machine has; and back. */
void oz_to_little_endian(void *values, size_t size, size_t count);

#endif
