/* The netCDF view of an open hierarchy: groups, dimensions, variables and attributes, as lists that the functions of the table share. */
#ifndef OZARR_NETCDF_MODEL_H
#define OZARR_NETCDF_MODEL_H

#include <netcdf.h>
#include <ozarr.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* The attribute of the fill value. netCDF-C 4.9.3 has another macro for it than 4.9.2. */
#define OZ_FILL_VALUE "_FillValue"

/* Named things in the order of their definition. Each item begins with `char *name`. */
typedef struct oz_list {
    void **items;
    uint32_t *hashes;
    int count, capacity;
} oz_list;

/* A field of a compound type, with its place in the program's struct, or a member of an enumeration. */
typedef struct oz_field {
    char *name;
    size_t offset;
    const struct oz_type *type;
    int rank;
    int shape[32];
    size_t count;
    long long value;
} oz_field;

/* A type: one of netCDF's own, or one that a program defines in a group. */
typedef struct oz_type {
    char *name;
    nc_type id;
    /* NC_COMPOUND, NC_ENUM, NC_OPAQUE or NC_VLEN; 0 of netCDF's own types. */
    int kind;
    /* The bytes of a value in memory. */
    size_t size;
    /* Of what an enumeration and a list are made; the type itself of netCDF's own. */
    nc_type base;
    struct oz_group *group;
    oz_list fields;
    /* Nothing is added any more. */
    bool complete;
} oz_type;

/* Values have the type in memory that netCDF gives them; strings are `char *`, each allocated. */
typedef struct oz_att {
    char *name;
    nc_type type;
    const oz_type *info;
    size_t len;
    void *values;
    /* The JSON that was read, as long as the value is that of it. */
    char *json;
    /* The program has set or renamed it, and that is not yet stored. */
    bool changed;
} oz_att;

typedef struct oz_dim {
    char *name;
    size_t len;
    /* Its length when the file was opened. */
    size_t opened;
    bool unlimited;
    /* A record in the store told of it when it was read. */
    bool told;
    /* By this process, so that arrays may have another name for it. */
    bool renamed;
    /* The bytes of the longest name that it had, which a classic file has room for in data mode. */
    size_t room;
    /* All arrays along it are made as long as it is: this process lengthened it, or programs of netCDF have made it one that may grow. One along
     * which the arrays of other programs differ, as the levels of a pyramid do, leaves them so. */
    bool published;
    /* Its name in NCZarr's keys, where that is another one by now. */
    char *key;
    int id;
    struct oz_group *group;
} oz_dim;

/* What tells a folder from others, whatever its name; `inode` 0: it is not known. */
typedef struct oz_folder {
    uint64_t device, inode;
} oz_folder;

/* How the elements of an array reach netCDF's types. */
typedef enum oz_form {
    OZ_NUMBERS, /* numbers of `var->type` */
    OZ_CHARS,   /* NC_CHAR, text of one byte */
    OZ_STRINGS, /* NC_STRING, text of any length or of a fixed one */
    OZ_RECORDS, /* compound and opaque types: bytes that `var->dtype` describes */
    OZ_LISTS    /* lists of any length: bytes */
} oz_form;

typedef struct oz_filter {
    unsigned id;
    size_t count;
    unsigned *parameters;
} oz_filter;

typedef struct oz_var {
    char *name;
    struct oz_group *group;
    int id;
    nc_type type;
    const oz_type *info;
    oz_form form;
    /* How records lie in memory. */
    ozarr_dtype *dtype;
    int rank;
    oz_dim **dims;
    oz_list atts;
    /* The names of attributes that were deleted or renamed since they were stored. */
    oz_list gone;
    /* What was asked for before the array is created. */
    size_t *chunks;
    bool contiguous, compact, no_fill, big_endian, endian_set;
    oz_filter *filters;
    int filter_count;
    int quantize, digits;
    void *fill;
    /* The attribute of the fill value is not what the array itself says. */
    bool fill_apart;
    /* The array, as its document says it, and the handle that data go through: `endless` where a dimension may grow. */
    ozarr_array *array, *endless;
    /* The shapes of both. */
    int64_t *shape, *room;
    /* The document that this process has stored, as long as the store has it so; NULL where that is not known. */
    char *document;
    /* All elements, where they are not yet stored. */
    void *waiting;
    size_t waiting_bytes;
    /* The elements of a chunk that is read again and again, of a file that is open for reading. */
    struct oz_kept *kept;
    /* The folder of the array, of a file that this process writes. */
    oz_folder folder;
    bool scalar_of_one; /* the array of a variable without dimensions has one, of one element (NCZarr) */
    bool untold;        /* its length was found in its document: consolidated metadata may not have it */
    bool put;           /* elements that this process has written are not yet known to be stored */
    bool lost;          /* another process has renamed, erased or replaced the array */
    bool spoilt;        /* the document that another process has stored could not be understood by the last look */
    bool written;       /* elements were written */
    bool dirty;         /* attributes are not yet stored */
    bool buffered;      /* parts of chunks wait */
    bool codecs_read;   /* `filters` and `big_endian` are what the array has */
    bool recreate;      /* the array is to be made anew */
    bool found;         /* the array was in the store when the file was opened */
    bool recorded;      /* our record has what was asked for */
    bool decoded;       /* it was read by `oz_var_decoder` */
    bool renamed;       /* its dimensions have other names than the stored ones */
    bool unopened;      /* the first rank was to make the array, and not all ranks have opened it */
    bool closed;        /* the array is closed because a group is renamed */
    bool collective;    /* all ranks read and write it together */
    size_t cache_bytes, cache_slots;
    float preemption;
} oz_var;

typedef struct oz_group {
    char *name;
    struct oz_group *parent;
    struct oz_file *file;
    /* Its number in the file, and how many groups are above it. */
    int id, depth;
    oz_list dims, vars, groups, atts, types;
    /* The variables of other programs, in it or (by paths) in groups of theirs below it, that are made as long as a dimension of this file is. */
    oz_list others;
    /* The names of the dimensions that other programs have defined in it. */
    oz_list their_dims;
    /* The names of attributes that were deleted or renamed, and of dimensions that were renamed, since they were stored. */
    oz_list gone, former;
    ozarr_group *handle;
    /* Its folder, of a file that this process writes. */
    oz_folder folder;
    /* What is known of it while the file is being read. */
    struct oz_reading *reading;
    bool dirty;  /* it is not yet stored */
    bool closed; /* it is in the store, and closed because it, or a group above it, is renamed, or because making it failed */
    bool begun;  /* making it has failed in a file that nobody else sees */
    bool lost;   /* another program has renamed or erased it */
} oz_group;

typedef struct oz_file {
    int ncid;
    char *location;
    /* The path of its folder, whatever the program's working directory is by now. */
    char *folder;
    /* What that folder was when the file was opened, or others first saw it. */
    oz_folder place;
    ozarr_store *store;
    oz_group **groups;
    int group_count;
    oz_dim **dims;
    int dim_count;
    oz_type **types;
    int type_count;
    /* The mode of the call; the number of netCDF's format, and the rules of the classic one. */
    int mode, format;
    bool writable, classic, defining, created, no_fill, stored;
    char mark[96];     /* what says in an object store that this program makes the file; "" of others */
    bool hidden;       /* others do not see it before its definitions are stored */
    bool lost;         /* a variable that another program has renamed, erased or replaced was given something; the program is to be told */
    int spoilt;        /* the first error of documents that cannot be understood; the program is to be told */
    bool dirty;        /* some metadata are not yet stored */
    bool stale;        /* the consolidated metadata are not those that are stored */
    bool consolidates; /* the record says that there are consolidated metadata; a kill may have left them out */
    bool compared;     /* they were compared with the documents */
    bool doubtful;     /* they are to be compared in any case, for the program closes the file */
    bool told;         /* when the file was opened, or before the first lengths of a new one, they told all that the documents do */
    /* What was read of all nodes together, while the file is being read. */
    struct oz_whole *whole;
    /* The bytes of elements that wait for `oz_file_store_waiting`. */
    size_t waiting_bytes;
    /* The bytes of elements that are kept for small reads; what small variables are decoded by. */
    size_t kept_bytes;
    struct oz_templates *decoders;
    /* The root's document, or NULL, from when the records were looked at until its consolidated metadata are. */
    char *consolidated;
    /* Until when, by a clock of seconds, no lock is waited for, as one did not become free, and its path; until when nothing is told of those that are refused. */
    time_t impatient_until, refused_until;
    char *busy;
    /* How often it is locked, and the files that are, of which the first ones are not those of its groups. */
    int lock_depth, lock_count, own_locks;
    struct {
        char *path;
        int file;
    } *locks;
    /* Its folder without links, while it is locked; whether the file in that could be, and whether another program has had any of them all the time. */
    char *real_folder;
    bool has_lock, locked_out;
    /* The ranks that have the file open together, or NULL; whether new variables are collective. */
    struct oz_ranks *ranks;
    bool collective;
} oz_file;

/* Lists. A name that is not found is looked for in normal form C, too. */
int oz_list_add(oz_list *list, void *item);
void *oz_list_find(const oz_list *list, const char *name);
int oz_list_index(const oz_list *list, const char *name);
void oz_list_remove(oz_list *list, int index);
void oz_list_rename(oz_list *list, int index, char *name);
/* Frees the list, but not its items. */
void oz_list_free(oz_list *list);

/* Lists of names alone. */
int oz_names_add(oz_list *names, const char *name);
void oz_names_free(oz_list *names);

/* Open files by their netCDF IDs. Each gives NC_NOERR or netCDF's error. */
oz_file *oz_file_new(int ncid, const char *location, int mode);
void oz_file_free(oz_file *file);
/* Whether this program has another file open at the place of one. */
bool oz_file_is_open(const oz_file *file);
/* Notes which folder the file is. */
void oz_file_note_place(oz_file *file);
int oz_find_group(int ncid, oz_group **group);
int oz_find_var(int ncid, int varid, oz_var **var);
int oz_find_atts(int ncid, int varid, oz_group **group, oz_var **var, oz_list **atts);
int oz_find_dim(const oz_group *group, int id, oz_dim **dim);
oz_dim *oz_dim_by_name(const oz_group *group, const char *name);

/* New items at the end of their lists; NULL without memory. */
oz_group *oz_group_new(oz_file *file, oz_group *parent, const char *name);
oz_dim *oz_dim_new(oz_group *group, const char *name, size_t len, bool unlimited);
oz_var *oz_var_new(oz_group *group, const char *name, const oz_type *type, int rank);
/* A variable of another program, by its path below the group; its type is none that matters. */
oz_var *oz_var_of_others(oz_group *group, const char *path, int rank);
void oz_others_drop(oz_group *group);
void oz_others_remove(oz_group *group, int index);
oz_att *oz_att_new(oz_list *atts, const char *name);
oz_type *oz_type_new(oz_group *group, const char *name, int kind, size_t size);
oz_field *oz_field_new(oz_type *type, const char *name);
/* Takes the types back that were made last, so that `count` of them remain. */
void oz_types_drop(oz_file *file, int count);
/* The variable behind another one in a file, group by group; the first one behind NULL, and NULL behind the last one. */
oz_var *oz_next_var(const oz_file *file, const oz_var *var);
/* The type of that ID, or of that name or path as a group sees it; NULL where there is none. */
const oz_type *oz_type_of(const oz_file *file, nc_type id);
const oz_type *oz_type_named(const oz_group *group, const char *name);
void oz_att_clear(oz_att *att);
void oz_att_free(oz_att *att);
void oz_atts_free(oz_list *atts);
const oz_filter *oz_var_filter(const oz_var *var, unsigned id);

/* Names that netCDF allows; for a new item `*name` becomes the normal form, which `normal` (of NC_MAX_NAME + 1 bytes) then holds. */
int oz_check_name(const char *name);
int oz_new_name(const char **name, char *normal);
/* Checks the name of a new variable or group, which is in the keys of the store, like `oz_new_name`; `reserved`: also one that Zarr reserves. */
int oz_node_name(const char **name, char *normal, bool reserved);
/* Copies a name to a program's room of NC_MAX_NAME + 1 bytes (NULL: nowhere); what a store has beyond that is cut off. */
void oz_give_name(char *room, const char *name);
/* Writes the normal form C of a name, and tells whether that is another one. */
bool oz_normalize(const char *name, char *normal);

/* The path of a group below the root, without a slash in front; free it. */
char *oz_group_path(const oz_group *group);

/* netCDF's error for a status of ozarr, whose message goes to the log. */
int oz_error(ozarr_status status);
/* Keeps the first error: what can be stored is, whatever else cannot. */
void oz_note(int *first, int status);
/* Whether memory or open files are too few, and not that a document breaks a limit, which is NC_ENOMEM, too: as the last error says. */
bool oz_is_short(int status);
/* Whether something cannot be had now, so that nothing is known of it, and not that it cannot be understood. */
bool oz_is_out_of_reach(int status);
void oz_log(const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 1, 2)))
#endif
    ;

#endif
