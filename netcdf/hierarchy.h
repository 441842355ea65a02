/* A hierarchy in a store, as netCDF's model: opened, created, stored and closed. */
#ifndef OZARR_NETCDF_HIERARCHY_H
#define OZARR_NETCDF_HIERARCHY_H

#include "model.h"

/* The settings of OZARR_NETCDF_SPEC, by which arrays are made where the program says nothing. */
typedef struct oz_defaults {
    int format;
    char compressor[24];
    int level;
    ozarr_shuffle shuffle;
    /* Whether a compressor or a level was asked for: small variables are compressed then, too. */
    bool compresses, checksum;
    /* The bytes of a chunk and of a shard (0: no shards), of arrays that grow or for which shards are asked. */
    size_t chunk_bytes, shard_bytes;
    /* The memory for parts of chunks that wait, of each variable. */
    size_t buffer_bytes;
} oz_defaults;

/* A path in a store. */
typedef struct oz_place {
    ozarr_store *store;
    const char *path;
} oz_place;

/* What variables share whose arrays differ in names and attributes only; begin with {0}. */
typedef struct oz_template {
    /* The variable for which it was made. */
    const oz_var *var;
    /* Its document without attributes, whose place is behind `head` bytes. */
    char *document;
    size_t head;
    /* An array in memory that encodes elements, the key of its chunk (NULL: it has several), and room for that. */
    ozarr_store *memory;
    ozarr_array *encoder;
    char *key;
    void *chunk;
    size_t room;
    bool tried;
} oz_template;

/* The templates of the kinds of variables that came last: kinds that alternate find theirs again. Each thread that writes has its own; begin with {0}. */
typedef struct oz_templates {
    oz_template kinds[4];
    /* The one that is used again for the next kind. */
    size_t next;
} oz_templates;

const oz_defaults *oz_get_defaults(void);

/* The store at a location; `mode` is "r" or "r+". */
int oz_store_open(const char *location, const char *mode, ozarr_store **store);

/* Opens a store for a new file: a folder that is made for it has its name by the first flush. */
int oz_store_make(const char *location, ozarr_store **store);

/* Takes over the number of threads of the default context, which MPI's ranks on one machine divide. */
void oz_share_processors(void);

/* Reads the whole hierarchy into the model. */
int oz_hierarchy_read(oz_file *file);

/* Lets the time axis of other programs grow, once all variables are read. */
void oz_dims_of_time(oz_file *file);

/* Reads a variable's codecs into `filters`, once. */
int oz_var_read_codecs(oz_var *var);

/* Takes over from a variable's attributes how its numbers are rounded. */
void oz_var_read_quantize(oz_var *var);

/* Says of times, which are 64-bit integers here, by attributes what Zarr's type says: what they count, and which number is none. */
int oz_var_show_times(oz_var *var);

/* Creates what is defined and not yet in the store, and stores changed attributes. */
int oz_hierarchy_store(oz_file *file);
/* Does it group by group, in a locked file that is as long as others have made it; where requests take their time, of all groups at once. */
int oz_groups_store(oz_file *file);
/* Shows a new file to others: once all that was defined is stored, or where nc_sync and nc_close cannot store all of it. */
int oz_hierarchy_show(oz_file *file);
/* Tells whether this program is the last one that has begun to make a file of this name in an object store (NC_EEXIST: another is): who begins takes what is
 * there for what a kill has left, and erases it. */
int oz_file_is_own(const oz_file *file);
/* Takes away what says in an object store that the file is being made. */
void oz_file_shown(oz_file *file);
/* Stores what `oz_hierarchy_store` does, and elements that wait; then publishes the lengths of dimensions that grew. */
int oz_hierarchy_sync(oz_file *file);
/* Stores elements that wait, of the arrays that are in the store. */
int oz_elements_flush(oz_file *file);
/* Publishes the lengths of these arrays, once (`flushed`: how that went) their elements are stored. */
int oz_lengths_store(oz_file *file, int flushed);
/* Whether publishing lengths is to look at what others have stored. */
bool oz_lengths_differ(const oz_file *file);

/* Looks for the variables that other programs have defined in the file since, along a dimension that grows: they are made as long as all others. What is not
 * seen because a record cannot be read is an error: it would not be made so long. */
int oz_others_find(oz_file *file);
/* Looks, behind `oz_others_find`, for arrays of programs without netCDF, of which only consolidated metadata tell: for those that are as long as this
 * program's variables are in the store, whose lengths are known by then, or have been since it opened the file. */
int oz_others_find_listed(oz_file *file);

/* Notes where a variable or a group is that was opened or made just now. */
void oz_var_note_place(oz_var *var);
void oz_group_note_place(oz_group *group);
/* Whether the last error says something of the node: that it was made or moved all the same, and only others could not be told of it. */
#define OZ_IS_THERE "(the node itself is there"
#define OZ_IS_MOVED "(the node itself has its new name"
bool oz_error_says(const char *what);
/* Whether a group, or one above it, has another name by now, so that another one may have its own. */
bool oz_group_is_moved(const oz_group *group);
/* Whether the folder of a variable is where it was, so far as that can be told. */
bool oz_var_in_folder(const oz_var *var);
/* Looks whether the array of a variable is still at its path: it is lost if nothing is there, or another one, and is not lost any more if it is there again.
 * `shape` (may be NULL): the one that it has there by now. A file that is open for reading goes on with what is found. */
int oz_var_look(oz_var *var, int64_t *shape);
/* Gets the name that a dimension of an array has, in format 2 by its attributes; "" where it has none, or one that is too long for netCDF. */
int oz_stored_name(const ozarr_array *array, int d, char *name);
/* Tells whether an array has the form of a variable's, and its dimensions. */
int oz_var_is_like(const oz_var *var, const ozarr_array *now, bool *like);
/* Looks as `oz_var_look` does, unless the array's folder is where it was. `*fresh` (may be NULL): the array, if it was opened for that; free it. */
int oz_var_find(oz_var *var, ozarr_array **fresh);
/* Notes that what was given to a variable is lost; several threads may. */
void oz_file_note_lost(oz_file *file);
/* Notes, as several threads may, the error of an array whose document cannot be understood: nc_sync and nc_close tell it, and store all else. */
void oz_file_note_spoilt(oz_file *file, int status);
/* Notes that a variable is lost, which is told where this process has written to it. */
void oz_var_note_lost(oz_var *var);

/* Stores the attributes of a group, with our record, or of a variable, whose file is locked: what this process has changed, and all else as the store
 * has it by now, for which the variable's array was opened just now (`fresh`, which is freed) or is to be (NULL). */
int oz_group_store_atts(oz_group *group);
int oz_var_store_atts(oz_var *var, ozarr_array *fresh);
/* Notes of the variables of a group whose record is stored that their attributes are, too. */
void oz_group_note_stored(oz_group *group);

/* Locks a file that is not this program's alone, so that nobody else merges what he stores into it, until as many calls of `oz_unlock`. Goes on without
 * where the store is no folder, files in it cannot be locked, or the lock does not become free, which it waits for at most once a minute. */
void oz_lock(oz_file *file);
void oz_unlock(oz_file *file);
/* Locks a group of a locked file, too, whose documents are changed: it may be the file of a program that may not write above it, or sees nothing there. Tells
 * whether nobody else changes them, as far as locks can tell. */
bool oz_lock_group(const oz_group *group);
/* Locks all groups for which a function says so, in the order of their paths: programs that have opened different groups above wait in the same one. */
void oz_lock_groups(oz_file *file, bool (*is_one)(const oz_group *group));
void oz_unlock_groups(oz_file *file);
/* Whether it goes on without a lock, which another program has had all the time. */
bool oz_is_locked_out(const oz_file *file);

/* The kind of the node of a name (or path) in a group; OZARR_NODE_KIND_UNKNOWN also where it cannot be told. */
ozarr_node_kind oz_kind_at(const oz_group *group, const char *name);

/* Whether a folder in a group that is being read is one that this user may not enter, and the group does not say that it is a node: then it is logged. */
bool oz_is_foreign(const oz_group *group, const char *name);

/* What has another name by now: a variable of a group, or a group in it, whose path below the root is then given, too. `both`: it is to have both names. */
typedef struct oz_renaming {
    const oz_group *group;
    const char *name, *new_name, *path, *new_path;
    bool both;
} oz_renaming;

/* Stores the new name in the record of a group, and nothing else that is not yet stored. `*former` (may be NULL) is the record that it had, if any, by
 * which it is restored; free it. */
int oz_record_rename(const oz_group *group, const oz_renaming *renaming, char **former);
int oz_record_restore(const oz_group *group, const char *former);

/* Consolidates the metadata, so that readers see all lengths change at once: of a new file here, else by the library. */
int oz_consolidate(oz_file *file);
/* Consolidates the metadata of a new file of one process in its root, once, before its first lengths are published: readers, and a kill, find none of them. */
int oz_consolidate_new(oz_file *file);

/* Takes over what another process wrote to a file that is open for reading: the lengths of dimensions that may grow. */
int oz_hierarchy_refresh(oz_file *file);

/* Whether a dimension of the variable has no end. */
bool oz_var_may_grow(const oz_var *var);
/* The format of Zarr that a file has; ranks that do not store have no handle of a new one. */
int oz_file_format(const oz_file *file);
/* Whether this process created the file in format 3: then arrays are made without a look at the store, and on each rank by itself. */
bool oz_file_alone(const oz_file *file);
/* The template for which a variable was made that is like this one, or NULL. */
oz_template *oz_templates_find(oz_templates *all, const oz_var *var);
/* An empty one, instead of that of the kind that came before the others. */
oz_template *oz_templates_take(oz_templates *all);
void oz_templates_free(oz_templates *all);
/* Opens the array in memory that encodes the elements, of so many bytes, of variables like this one; `template->key` stays NULL where they are
 * several chunks. The key of a variable's chunk; free it. */
int oz_template_encoder(oz_template *template, const oz_var *var, size_t bytes);
char *oz_template_key(const oz_template *template, const oz_var *var);
/* The array in memory that has the chunk of a small variable until the next call, of a file that is open for reading; NULL where the
 * variable's own is to be read: by the second read, in any case. */
ozarr_array *oz_var_decoder(oz_var *var);
/* Whether the arrays of two variables of one file differ in their names and attributes only. */
bool oz_alike(const oz_var *a, const oz_var *b);

/* Creates the array of a variable, which has its shape; `templates` are used in a file that this process created. */
int oz_var_create(oz_var *var, oz_templates *templates);
/* Whether a variable has an array; opens that where only its document is known. */
bool oz_var_made(const oz_var *var);
int oz_var_handle(oz_var *var);
/* The path of a node of a group, or of a variable's array, below the root; free it. */
char *oz_node_path(const oz_group *group, const char *name);
char *oz_var_path(const oz_var *var);
/* Opens the stored array of a variable, or frees its handles. */
int oz_var_open(oz_var *var);
/* Opens an array that is to be made anew only because this program was told that it could not make it. */
int oz_var_open_made(oz_var *var);
/* The type by which records of an open variable are moved, unless it has one. */
int oz_var_set_dtype(oz_var *var);
void oz_var_close(oz_var *var);
/* The shape of a variable by the lengths of its dimensions. */
void oz_var_lengths(const oz_var *var, int64_t *shape);
/* Makes a variable's shape, along the dimensions that may grow, as long as the arrays are that are in the store. */
void oz_var_stored_lengths(const oz_var *var, int64_t *shape);
/* The shape that an array is opened with which is to be written: dimensions that may grow get twice the length that they have, or that `ends` of a
 * region (may be NULL) give them, at least, and all of them together what the number of elements leaves. */
void oz_var_room(const oz_var *var, const int64_t *ends, int64_t *room);
/* The document of a variable's array; free it. */
int oz_var_read_document(const oz_var *var, char **document);
/* Opens the array of a variable by its document, as if that had another shape (NULL: its own); nothing is read. */
int oz_var_import(const oz_var *var, const char *document, int format, const int64_t *shape, ozarr_array **array);
/* Opens an array at any place by its document, as if that had another shape. */
int oz_array_import(const oz_place *place, const char *document, int format, int rank, const int64_t *shape, ozarr_array **array);
/* Stores the document of an array of a new file with another shape. */
int oz_var_reshape(oz_var *var, const int64_t *shape);
/* Says that the stored document of a variable is another one by now. */
void oz_var_forget_document(oz_var *var);
/* The handle through which elements are read, or, with the `ends` of a region, written. */
int oz_var_data(oz_var *var, const int64_t *ends, ozarr_array **array);

/* Whether all elements of a variable, of so many bytes, may wait in memory. */
bool oz_var_may_wait(const oz_var *var, size_t bytes);
/* Keeps all elements of a variable, and frees `values` later. */
int oz_var_keep(oz_var *var, void *values, size_t bytes);
/* Stores the elements that wait, of a variable or of all. */
int oz_var_store_waiting(oz_var *var, oz_templates *templates);
int oz_file_store_waiting(oz_file *file);

/* Reads a box of numbers from the chunk that is kept of a variable, or keeps that after some reads; false where the array is to be read. */
bool oz_kept_read(oz_var *var, const ozarr_array *array, const int64_t *start, const int64_t *shape, void *values);
void oz_kept_drop(oz_var *var);

/* Calls a function for each variable, in several threads where there are many, or where each request to the store takes its time; gives the first error. */
int oz_for_each(oz_var *const *vars, int count, int (*function)(oz_var *var, oz_templates *templates));
/* Calls a function like `oz_for_each`, but for one variable after the other, and without templates, where requests take no time. */
int oz_together(oz_var *const *vars, int count, int (*function)(oz_var *var, oz_templates *templates));
/* Calls a function with each number below a count, in threads that wait for requests to the store at the same time, or in turn where requests take no time;
 * gives the first error, behind which none is begun. */
int oz_at_once(const oz_file *file, int count, int (*function)(void *user, int turn), void *user);
/* Whether each request to the store of a file takes its time. */
bool oz_is_remote(const oz_file *file);
/* How many threads a call may use. */
int oz_threads(void);

/* Whether netCDF stores all of a variable as it is: one that was asked for so, or is one chunk without filters in another program's store. */
bool oz_var_is_contiguous(oz_var *var);
/* The chunk shape of a variable: that of its array, or the one that it will get. */
int oz_var_chunks(oz_var *var, size_t *chunks);

#endif
