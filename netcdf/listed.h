/* A file that is read by the consolidated metadata of its root alone. */
#ifndef OZARR_NETCDF_LISTED_H
#define OZARR_NETCDF_LISTED_H

#include "hierarchy.h"
#include "json.h"

typedef struct oz_listed oz_listed;

/* An array that is open, and how long it is for readers. */
typedef struct oz_opened {
    ozarr_array *array;
    int64_t shape[64];
} oz_opened;

/* What is known of a group while the file is being read. */
typedef struct oz_reading {
    /* Its attributes, and the text that they were read from, which it owns if `owned`. */
    json *attributes;
    char *source;
    bool owned;
    /* What it says of itself, as we and as NCZarr record it. */
    json *record, *nczarr;
    /* The names of the arrays that are to be read, and those that are open. */
    oz_list found;
    oz_opened *opened;
} oz_reading;

/* Reads what is read of all nodes together, of a file whose root is open: the documents, where it is to be written, and which nodes there are, where each
 * request takes its time. There the groups are opened, too. */
int oz_whole_read(oz_group *root);
void oz_whole_free(struct oz_whole *whole);
/* Takes the handle of a group that was opened so; NULL of one that is to be opened by itself. */
ozarr_group *oz_whole_take_group(const oz_group *group);
/* Opens the arrays of all groups so: those that are left NULL are to be opened by themselves. */
int oz_whole_open_arrays(oz_file *file);
/* Opens a node below the root by its own document, which is open by what consolidated metadata say. */
ozarr_status oz_whole_open_array(const oz_file *file, const char *path, const ozarr_array *listed, ozarr_array **array);
ozarr_status oz_whole_open_group(const oz_group *group, const char *path, ozarr_group **own);
/* The names of the arrays and groups in a group. */
int oz_group_children(const oz_group *group, oz_list *arrays, oz_list *groups);

/* Opens an array of a group for a file that is read without `oz_listed`. */
int oz_group_open_array(const oz_group *group, const char *name, oz_opened *opened);

/* Notes how long an open array is; one for which netCDF has too many dimensions is closed. */
int oz_opened_shape(oz_opened *opened);

/* Reads the text of a document; NULL where there is none. Free it. */
int oz_document_text(const ozarr_store *store, const char *key, char **text);
/* Reads our record in the document of a group of format 3, of which no more is read than what comes before; NULL where there is none. */
int oz_document_record(const char *text, json **record);

/* Reads the consolidated metadata of a file that is open for reading; NULL where there are none that all programs know. */
oz_listed *oz_listed_read(const oz_file *file);
void oz_listed_free(oz_listed *listed);

/* Reads the attributes and the record of a group, and the names of what is in it. */
int oz_listed_group(const oz_listed *listed, const oz_group *group, oz_reading *reading, oz_list *groups);

/* Makes a variable, with dimensions and attributes; `mine` is what our record of the group says of it. NULL where its array is to be opened. */
int oz_listed_var(const oz_listed *listed, oz_group *group, const char *name, const json *mine, oz_var **var);
/* Takes over the length that an array has by now; false where the array itself is to be asked. */
bool oz_listed_refresh(const oz_listed *listed, oz_var *var);
int oz_listed_open(const oz_listed *listed, const oz_group *group, const char *name, oz_opened *opened);

/* Makes the dimensions of a group that are recorded: by this library, or else by NCZarr. `record` may be NULL. */
int oz_dims_recorded(oz_group *group, const json *record);

/* What is the same where the array is opened: a variable's dimension of a name (or NULL) and length; the enumeration that a variable was defined
 * with, if that is one of netCDF's type `own`, else that. */
int oz_var_place_dim(oz_var *var, const json *mine, int d, const char *name, int64_t len);
const oz_type *oz_type_defined(const oz_group *group, const json *mine, const oz_type *own);

#endif
