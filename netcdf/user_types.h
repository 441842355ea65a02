/* Types that programs define: how they are recorded, how their values become JSON, and how records lie in memory. */
#ifndef OZARR_NETCDF_USER_TYPES_H
#define OZARR_NETCDF_USER_TYPES_H

#include "attribute_json.h"
#include "model.h"

/* Adds the definitions of a group's types as an object, and makes the types of it; once those of all groups are made, reads of the records of the
 * groups what they consist of: fields may have types of any group. */
void oz_user_types_write(text *t, const oz_group *group, const oz_stored *record);
int oz_user_types_read(oz_group *group, const json *object);
int oz_user_types_complete(const oz_file *file);

/* Adds the name of a type as records have it: netCDF's own by name, others by path. Finds the type of such a name; NULL without it. */
void oz_type_reference(text *t, const oz_type *type);
const oz_type *oz_type_recorded(const oz_group *group, const json *reference);

/* Whether an enumeration is told to other programs by the attributes of the CF conventions, `flag_values` and `flag_meanings`: not where
 * the program has such attributes itself. Adds these. */
bool oz_has_flags(const oz_var *var);
void oz_flags_write(text *t, const oz_var *var);

/* Adds a value of a program's type; reads one, where what does not fit is zero. */
void oz_user_value_write(text *t, const oz_file *file, const oz_type *type, const void *value);
int oz_user_value_read(const oz_file *file, const oz_type *type, const json *source, void *value);

/* The elements that a field with a shape has at most where it is stored as a struct of them. */
enum { OZ_MOST_SHAPED = 64 };

/* Writes `*document` of an array of records anew, in the spelling of format 3 that zarr-python reads from 3.0 on, as ozarr and TensorStore do. */
int oz_var_respell(const oz_var *var, char **document);

/* Makes the type by which ozarr moves values of a compound or an opaque type, in memory as the program has them. */
ozarr_status oz_type_dtype(const oz_type *type, int format, ozarr_dtype **dtype);

/* Makes a type for the elements of another program's array, for which netCDF has none: structs and complex numbers are compound, bytes opaque
 * or lists. NULL where there is none. */
const oz_type *oz_type_for_elements(oz_group *group, const char *name, const ozarr_dtype *dtype);

#endif
