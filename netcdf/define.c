/* The table's functions that define and rename dimensions, variables and groups, and how variables are stored. */
#include "hierarchy.h"
#include "parallel.h"
#include "table.h"
#include "types.h"

#include <ozarr_advanced.h>
#include <stdlib.h>
#include <string.h>

static void touch(oz_group *group) { group->file->dirty = group->dirty = true; }

static bool below(const oz_group *group, const oz_group *above) {
    for (; group; group = group->parent)
        if (group == above) return true;
    return false;
}

/* Has the records of a group and of all below it stored: in them variables tell dimensions of the same name apart. */
static void touch_below(const oz_group *group) {
    const oz_file *file = group->file;
    for (int i = 0; i < file->group_count; i++)
        if (below(file->groups[i], group)) touch(file->groups[i]);
}

int oz_def_dim(int ncid, const char *name, size_t len, int *id) {
    char normal[NC_MAX_NAME + 1];
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    oz_file *file = group->file;
    if (!file->writable) return NC_EPERM;
    for (int i = 0; i < group->dims.count && file->classic && len == NC_UNLIMITED; i++)
        if (((oz_dim *)group->dims.items[i])->unlimited) return NC_EUNLIMIT;
    if (file->classic && !file->defining) return NC_ENOTINDEFINE;
    status = oz_new_name(&name, normal);
    if (status) return status;
    if (len > INT64_MAX / 2) return NC_EDIMSIZE;
    if (oz_list_find(&group->dims, name)) return NC_ENAMEINUSE;
    status = oz_to_define(file);
    if (status) return status;
    oz_dim *dim = oz_dim_new(group, name, len, len == NC_UNLIMITED);
    if (!dim) return NC_ENOMEM;
    touch(group);
    if (group->parent && oz_dim_by_name(group->parent, name)) touch_below(group);
    if (id) *id = dim->id;
    return NC_NOERR;
}

static bool uses(const oz_var *var, const oz_dim *dim) {
    for (int d = 0; d < var->rank; d++)
        if (var->dims[d] == dim) return true;
    return false;
}

int oz_rename_dim(int ncid, int id, const char *name) {
    char normal[NC_MAX_NAME + 1];
    oz_group *group;
    oz_dim *dim;
    int status = oz_find_group(ncid, &group);
    if (!status && !name) status = NC_EINVAL;
    if (status) return status;
    oz_file *file = group->file;
    if (!file->writable) return NC_EPERM;
    status = oz_new_name(&name, normal);
    if (!status) status = oz_find_dim(group, id, &dim);
    if (status) return status;
    if (oz_list_find(&dim->group->dims, name)) return NC_ENAMEINUSE;
    bool fixed = file->classic && file->format != NC_FORMAT_NETCDF4_CLASSIC && !file->defining;
    const size_t room = strlen(dim->name) > dim->room ? strlen(dim->name) : dim->room;
    if (fixed && strlen(name) > room) return NC_ENOTINDEFINE;
    char *copy = strdup(name), *key = oz_file_format(file) == 2 && !dim->key ? strdup(dim->name) : NULL;
    if (!copy || oz_names_add(&dim->group->former, dim->name)) return free(key), free(copy), NC_ENOMEM;
    if (key) dim->key = key;
    dim->renamed = true;
    dim->room = room;
    oz_list_rename(&dim->group->dims, oz_list_index(&dim->group->dims, dim->name), copy);
    touch_below(dim->group);
    /* The arrays get the name with the records: else what is unlimited would be lost where those are not stored any more. */
    for (oz_var *var = NULL; (var = oz_next_var(file, var));) var->renamed = var->renamed || uses(var, dim);
    return NC_NOERR;
}

/* Whether a variable or group of that name is there already. */
static bool name_in_use(const oz_group *group, const char *name) {
    return oz_list_find(&group->vars, name) || oz_list_find(&group->groups, name) || oz_list_find(&group->types, name);
}

static int check_var(oz_group *group, const char **given, char *normal, nc_type type, int rank, const int *dims) {
    oz_file *file = group->file;
    /* The library itself makes arrays in older files and in format 2. */
    int status = oz_node_name(given, normal, oz_file_alone(file));
    const char *name = *given;
    int64_t elements = 1;
    if (rank > 64) return NC_EMAXDIMS;
    if (!file->defining && file->classic) return NC_ENOTINDEFINE;
    if (!file->writable) return NC_EPERM;
    /* As netCDF-4 has it, also where what follows is an error: programs end define mode then. */
    file->defining = true;
    if (status) return status;
    const oz_type *info = oz_type_of(file, type);
    if (!info || !oz_type_has_members(info)) return NC_EBADTYPE;
    if (!oz_type_allowed(file, type)) return oz_not_classic(file, NC_EBADTYPE);
    if (name_in_use(group, name)) return NC_ENAMEINUSE;
    if (rank < 0 || (rank && !dims)) return NC_EINVAL;
    for (int d = 0; d < rank && !status; d++) {
        oz_dim *dim;
        status = oz_find_dim(group, dims[d], &dim);
        /* Only the first dimension of the classic model grows. */
        if (!status && file->classic && dim->unlimited && d > 0) status = NC_EUNLIMPOS;
        if (!status && dim->len && __builtin_mul_overflow(elements, (int64_t)dim->len, &elements)) status = NC_EVARSIZE;
    }
    return status;
}

int oz_def_var(int ncid, const char *name, nc_type type, int rank, const int *dims, int *id) {
    char normal[NC_MAX_NAME + 1];
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (!status) status = check_var(group, &name, normal, type, rank, dims);
    if (status) return status;
    oz_var *var = oz_var_new(group, name, oz_type_of(group->file, type), rank);
    if (!var) return NC_ENOMEM;
    if (type == NC_STRING) *(char **)var->fill = strdup("");
    else if (var->form == OZ_NUMBERS || var->form == OZ_CHARS) oz_default_fill(var->info->base, var->fill);
    var->contiguous = var->codecs_read = true;
    var->no_fill = group->file->no_fill && type != NC_STRING;
    var->collective = group->file->collective;
    for (int d = 0; d < rank; d++) {
        (void)oz_find_dim(group, dims[d], &var->dims[d]);
        if (var->dims[d]->unlimited) var->contiguous = false;
    }
    touch(group);
    if (id) *id = var->id;
    return NC_NOERR;
}

/* Whether this rank lacks an array that others may have made. */
static bool lacks(const oz_var *var) { return var->unopened && !oz_var_made(var); }

/* Stores what a renaming needs: in data mode all, so that nothing is left to it, and in define mode only elements, so that what is being defined can still
 * be changed. Arrays that a rank lacks are made first. */
static int store_before_renaming(oz_file *file, bool lacking, bool *defining) {
    /* What an earlier look found may be mended since. */
    file->spoilt = NC_NOERR;
    *defining = oz_agree(file->ranks, file->defining) && !oz_agree(file->ranks, lacking);
    const int status = *defining ? oz_lengths_store(file, oz_elements_flush(file)) : oz_hierarchy_sync(file);
    /* An array whose document is spoilt could not be opened again. */
    return status ? status : oz_agree(file->ranks, file->spoilt);
}

/* Whether something is where it was to go, and nothing where it was. */
static bool has_moved(const oz_renaming *renaming) {
    const ozarr_node_kind there = oz_kind_at(renaming->group, renaming->new_name);
    return there != OZARR_NODE_KIND_NONE && there != OZARR_NODE_KIND_UNKNOWN && oz_kind_at(renaming->group, renaming->name) == OZARR_NODE_KIND_NONE;
}

/* Renames what is in the store. The record has it by both names before that, for by the record variables have their types, also after a kill; but what another
 * program has by the new name keeps its record. What has moved is renamed, also where consolidated metadata could not be told of it: the next flush does so. */
static int rename_stored(const oz_renaming *renaming) {
    const oz_group *group = renaming->group;
    const oz_renaming both = {group, renaming->name, renaming->new_name, renaming->path ? "" : NULL, NULL, true};
    char *former = NULL;
    bool is_free = oz_kind_at(group, renaming->new_name) == OZARR_NODE_KIND_NONE;
    int status = is_free ? oz_record_rename(group, &both, &former) : NC_NOERR;
    if (!status) {
        status = oz_error(ozarr_group_rename(group->handle, renaming->name, renaming->new_name));
        /* The library knows it also where nothing can be looked at. */
        if (status && (oz_error_says(OZ_IS_MOVED) || (is_free && has_moved(renaming)))) status = NC_NOERR;
    }
    if (status && former) (void)oz_record_restore(group, former);
    free(former);
    return status == NC_EEXIST ? NC_ENAMEINUSE : status;
}

/* Whether what is to be renamed is still what this program knows by its name: by another one's renaming that of another array or group would be taken. */
static int find_var(oz_var *var) {
    const oz_file *file = var->group->file;
    if (!oz_stores(file) || oz_file_alone(file)) return NC_NOERR;
    int status = oz_var_look(var, NULL);
    return !status && var->lost ? NC_ENOTVAR : status;
}

static int find_grp(const oz_group *group) {
    const oz_file *file = group->file;
    if (!oz_stores(file) || oz_file_alone(file)) return NC_NOERR;
    return oz_kind_at(group->parent, group->name) == OZARR_NODE_KIND_NONE || oz_group_is_moved(group) ? NC_ENOGRP : NC_NOERR;
}

/* Brings the new name into the records, and nothing but that. What cannot be stored waits on. */
static void store_after_renaming(oz_file *file, const oz_renaming *renaming, bool defining) {
    for (int i = 0; i < file->group_count && oz_stores(file); i++) {
        const oz_group *group = file->groups[i];
        /* Any record may name types by paths through a group. */
        bool names = group == renaming->group || (renaming->path && file->type_count);
        if (names && group->handle) (void)oz_record_rename(group, renaming, NULL);
    }
    if (!defining) (void)oz_hierarchy_store(file);
}

/* What is told where all is renamed, but could not be opened again: it was done, and the next use opens it, or tells why not. Ranks open nothing by themselves. */
static int told(const oz_file *file, int opened) { return file->ranks ? opened : NC_NOERR; }

/* Opens a group that is in the store, below the one that is open. */
static int open_below(oz_group *group) {
    const int status = oz_error(ozarr_group_open_group(group->parent->handle, group->name, &group->handle));
    if (!status) oz_group_note_place(group);
    return status;
}

/* Opens a group again that a renaming has left closed, and those above it. */
static int open_again(oz_group *group) {
    if (group->handle || !group->closed || !group->parent || group->file->ranks) return NC_NOERR;
    const int status = open_again(group->parent);
    return status ? status : open_below(group);
}

/* Finds a variable that may get that name, of which `*name` becomes the normal form. */
static int var_to_rename(int ncid, int varid, const char **name, char *normal, oz_var **found) {
    int status = oz_find_var(ncid, varid, found);
    if (!status && !*name) status = NC_EINVAL;
    if (!status) status = oz_node_name(name, normal, !oz_var_made(*found) && oz_file_alone((*found)->group->file));
    if (status) return status;
    oz_var *var = *found;
    oz_group *group = var->group;
    if (!group->file->writable) return NC_EPERM;
    if (name_in_use(group, *name)) return NC_ENAMEINUSE;
    if (group->file->classic && !group->file->defining && strlen(*name) > strlen(var->name)) return NC_ENOTINDEFINE;
    /* After a renaming that failed it may only be closed. */
    status = open_again(group);
    if (!status && var->lost && !group->file->ranks) status = oz_var_look(var, NULL);
    if (!status) status = oz_var_open_made(var);
    /* A rank may know by itself that it is lost. */
    return oz_agree(group->file->ranks, status ? status : var->lost ? NC_ENOTVAR : NC_NOERR);
}

int oz_rename_var(int ncid, int varid, const char *name) {
    char normal[NC_MAX_NAME + 1];
    oz_var *var;
    int status = var_to_rename(ncid, varid, &name, normal, &var);
    if (status) return status;
    oz_group *group = var->group;
    char *copy = strdup(name), *old = strdup(var->name);
    if (!copy || !old) return free(copy), free(old), NC_ENOMEM;
    bool stored = oz_var_made(var) || var->unopened, defining = false;
    if (stored) status = store_before_renaming(group->file, lacks(var), &defining);
    /* What could not be stored waits on in the handles. */
    if (status) return free(copy), free(old), status;
    const oz_renaming renaming = {.group = group, .name = old, .new_name = name};
    oz_lock(group->file);
    if (stored) status = oz_agree(group->file->ranks, find_var(var));
    bool there = stored && !status;
    if (there) {
        oz_var_close(var);
        if (oz_stores(group->file)) status = rename_stored(&renaming);
        status = oz_agree(group->file->ranks, status);
    }
    if (status) free(copy);
    else oz_list_rename(&group->vars, var->id, copy);
    int opened = there ? oz_var_open(var) : NC_NOERR;
    if (opened) var->lost = true;
    if (there || !stored) touch(group);
    if (there && !status && !opened) store_after_renaming(group->file, &renaming, defining);
    oz_unlock(group->file);
    free(old);
    return status ? status : told(group->file, opened);
}

int oz_def_grp(int ncid, const char *name, int *id) {
    char normal[NC_MAX_NAME + 1];
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (!group->file->writable) return NC_EPERM;
    if (group->file->classic) return oz_not_classic(group->file, NC_ENOTNC4);
    status = oz_node_name(&name, normal, false);
    if (status) return status;
    if (name_in_use(group, name)) return NC_ENAMEINUSE;
    status = oz_to_define(group->file);
    if (status) return status;
    if (group->file->group_count > 0xffff) return NC_EMAXDIMS;
    touch(group);
    oz_group *child = oz_group_new(group->file, group, name);
    if (!child) return NC_ENOMEM;
    touch(child);
    if (id) *id = child->file->ncid | child->id;
    return NC_NOERR;
}

/* Opens again what is in a renamed group, but for what is not yet in the store. */
static int reopen(oz_group *group) {
    int status = group->closed ? open_below(group) : NC_NOERR;
    for (int i = 0; i < group->vars.count; i++) {
        oz_var *var = group->vars.items[i];
        if (var->closed && !status) status = oz_var_open(var);
        if (var->closed && !oz_var_made(var)) var->lost = true;
    }
    for (int i = 0; i < group->groups.count; i++) {
        int below = reopen(group->groups.items[i]);
        if (!status) status = below;
    }
    return status;
}

/* Frees the handles of a group, and of all below it. */
static void close_below(const oz_file *file, const oz_group *group) {
    for (int i = 0; i < file->group_count; i++) {
        oz_group *one = file->groups[i];
        if (!below(one, group)) continue;
        for (int k = 0; k < one->vars.count; k++) {
            oz_var *var = one->vars.items[k];
            var->closed = oz_var_made(var);
            oz_var_close(var);
        }
        oz_others_drop(one);
        one->closed = one->closed || one->handle;
        ozarr_group_free(one->handle);
        one->handle = NULL;
    }
}

/* Whether this rank lacks an array, in a group or below it, that others may have made. */
static bool lacks_below(const oz_group *group) {
    const oz_file *file = group->file;
    bool any = false;
    for (oz_var *var = NULL; (var = oz_next_var(file, var));) any = any || (below(var->group, group) && lacks(var));
    return any;
}

/* Finds a group that may get that name, of which `*name` becomes the normal form. */
static int group_to_rename(int ncid, const char **name, char *normal, oz_group **group) {
    int status = oz_find_group(ncid, group);
    if (!status) status = oz_node_name(name, normal, false);
    if (status) return status;
    if (!(*group)->file->writable) return NC_EPERM;
    if (!(*group)->parent) return NC_EBADGRPID;
    return name_in_use((*group)->parent, *name) ? NC_ENAMEINUSE : open_again(*group);
}

int oz_rename_grp(int ncid, const char *name) {
    char normal[NC_MAX_NAME + 1];
    oz_group *group;
    int status = group_to_rename(ncid, &name, normal, &group);
    if (status) return status;
    oz_file *file = group->file;
    char *copy = strdup(name), *path = oz_group_path(group);
    if (!copy || !path) return free(copy), free(path), NC_ENOMEM;
    /* Ranks that do not store have no handle. */
    bool stored = oz_agree(file->ranks, group->handle != NULL) != 0, defining = false;
    if (stored) status = store_before_renaming(file, lacks_below(group), &defining);
    /* What could not be stored waits on in the handles. */
    if (status) return free(copy), free(path), status;
    const char *last = strrchr(path, '/');
    oz_renaming renaming = {.group = group->parent, .name = last ? last + 1 : path, .new_name = name, .path = path};
    oz_lock(file);
    if (stored) status = oz_agree(file->ranks, find_grp(group));
    bool there = stored && !status;
    if (there) close_below(file, group);
    if (there && oz_stores(file)) status = rename_stored(&renaming);
    status = oz_agree(file->ranks, status);
    if (!status) oz_list_rename(&group->parent->groups, oz_list_index(&group->parent->groups, group->name), copy);
    else free(copy);
    if (there || !stored) touch(group->parent);
    /* The records of any group may name types by paths through this one. */
    for (int i = 0; i < file->group_count && file->type_count && (there || !stored); i++) touch(file->groups[i]);
    int opened = there ? reopen(group) : NC_NOERR;
    char *new_path = oz_group_path(group);
    renaming.new_path = new_path;
    if (stored && !status && !opened && new_path) store_after_renaming(file, &renaming, defining);
    oz_unlock(file);
    free(path);
    free(new_path);
    /* As netCDF-4 has it: programs end define mode then. */
    if (!status) file->defining = true;
    return status ? status : told(file, opened);
}
