/* Attributes as JSON and back, with the types that JSON does not say. */
#ifndef OZARR_NETCDF_ATTRIBUTE_JSON_H
#define OZARR_NETCDF_ATTRIBUTE_JSON_H

#include "json.h"
#include "model.h"

/* The group's attribute that says what Zarr does not: dimensions, the order of nodes, types of attributes. Its name hides it from xarray. */
#define OZ_RECORD "_nc_model"

/* The name by which format 3 has the attribute `_FillValue` of text: xarray opens no store with that. */
#define OZ_TEXT_FILL "_nc_fill_value"

/* The name that netCDF has for a stored attribute of an array. */
const char *oz_att_name(const char *stored);

/* Reads a text of a node: all attributes (`name` NULL) or one, as JSON. NULL where there is no such one; free it. */
int oz_node_text(const ozarr_node *node, const char *name, char **text);

/* Reads a text as JSON: NULL of none (NULL), and of a malformed one. */
int oz_json_read(const char *source, json **value);

/* Makes the record itself of the attribute's value, which is the object or, as format 2 has it, its text: NULL where that is malformed. */
int oz_record_read(json **value);

/* Fills the list with the attributes of a JSON object, whose text is `source`. `types` is the object of recorded types, or NULL;
 * `var` the variable that they are of, or NULL. */
int oz_atts_read(const oz_group *group, oz_list *atts, const json *object, const char *source, const json *types, const oz_var *var);

/* What the store has by now, of which others may have changed what this process did not: an object, and the text that it was read from. `gone` are the
 * names that this process has taken away. Without an object nothing is known of it. */
typedef struct oz_stored {
    json *object;
    char *source;
    const oz_list *gone;
} oz_stored;

/* Reads the stored record of a group, which is text in format 2. Without one, or with a malformed one, there is no object; after an error the record may be
 * there, and is not to be stored anew. */
int oz_stored_read(const ozarr_node *node, oz_stored *stored);
void oz_stored_free(oz_stored *stored);
/* Reads the attributes of a variable as the store has them by now. */
int oz_var_read_stored(const oz_var *var, oz_stored *stored);

/* Adds all attributes as a JSON object; with `stored` (or NULL) those that the program has not changed are as the store has them. `_FillValue` is as
 * xarray has it: in format 2 no attribute, but the fill value. */
void oz_atts_write(text *t, const oz_file *file, const oz_list *atts, const oz_var *var, int format, const oz_stored *stored);

/* Whether the value of an attribute `_FillValue` is in our record: of compound, opaque and vlen types, for which xarray reads no such attribute. */
bool oz_fill_is_recorded(const oz_att *att, const oz_var *var);

/* Adds a member as the store has it. */
void oz_stored_copy(text *t, const oz_stored *stored, const json *member);

/* Notes that attributes are stored, or that all of their node are written anew. */
void oz_atts_stored(const oz_list *atts, oz_list *gone);

/* Adds an object of the types that reading would not find by itself, nothing where there are none; `stored` (or NULL): those that the record has. */
void oz_types_write(text *t, const char *member, const oz_list *atts, const oz_var *var, const oz_stored *stored);

#endif
