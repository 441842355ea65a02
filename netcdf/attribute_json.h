/* Attributes as JSON and back, with the types that JSON does not say. */
#ifndef OZARR_NETCDF_ATTRIBUTE_JSON_H
#define OZARR_NETCDF_ATTRIBUTE_JSON_H

#include "json.h"
#include "model.h"

/* The group's attribute that says what Zarr does not: dimensions, the order of nodes, types of attributes. Its name hides it from xarray. */
#define OZ_RECORD "_nc_model"

/* Gives the record itself of the attribute's value, which is the object or, as format 2 has it, its text; takes the value. */
json *oz_record_read(json *value);

/* Fills the list with the attributes of a JSON object, whose text is `source`. `types` is the object of recorded types, or NULL;
 * `var` the variable that they are of, or NULL. */
int oz_atts_read(const oz_group *group, oz_list *atts, const json *object, const char *source, const json *types, const oz_var *var);

/* Adds all attributes as a JSON object. `_FillValue` is as xarray has it: in format 2 no attribute, but the fill value. */
void oz_atts_write(text *t, const oz_file *file, const oz_list *atts, const oz_var *var, int format);

/* Adds an object of the types that reading would not find by itself; nothing where there are none. */
void oz_types_write(text *t, const char *member, const oz_list *atts, const oz_var *var);

#endif
