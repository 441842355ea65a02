/* Brings what was defined into the store: groups, arrays, attributes and records. */
#include "attribute_json.h"
#include "hierarchy.h"
#include "parallel.h"

#include <errno.h>
#include <ozarr_advanced.h>
#include <stdlib.h>
#include <string.h>

/* The name that an array has for a dimension; `*name` is NULL where it has none. Free it. */
static int stored_name(const ozarr_array *array, int d, char **name) {
    size_t len = 0;
    bool named = false;
    ozarr_status status = ozarr_array_dimension_name(array, d, NULL, 0, &len, &named);
    *name = named ? calloc(len + 1, 1) : NULL;
    if (status || !named) return oz_error(status);
    return *name ? oz_error(ozarr_array_dimension_name(array, d, *name, len + 1, &len, &named)) : NC_ENOMEM;
}

/* Names the dimensions of an array anew that were renamed: for others it may have no name, or one that netCDF shows as another. Format 2 has names for
 * all of them or none. */
static int name_dims(oz_var *var) {
    const char *names[NC_MAX_VAR_DIMS];
    char *stored[NC_MAX_VAR_DIMS] = {0};
    int status = var->scalar_of_one ? NC_NOERR : oz_var_handle(var);
    for (int d = 0; d < var->rank && !status && !var->scalar_of_one; d++) {
        if (!var->dims[d]->renamed) status = stored_name(var->array, d, &stored[d]);
        bool invents = var->dims[d]->renamed || (!stored[d] && oz_file_format(var->group->file) == 2);
        names[d] = invents ? var->dims[d]->name : stored[d];
    }
    if (!status && !var->scalar_of_one) {
        oz_var_forget_document(var);
        status = oz_error(ozarr_array_set_dimension_names(var->array, names));
    }
    for (int d = 0; d < var->rank; d++) free(stored[d]);
    if (!status) var->renamed = false;
    return status;
}

/* Whether another program has stored elements of an array that is to be made anew for its fill value: then that becomes an attribute alone. Where it cannot be
 * told the array stays as it is; one that does not has the length that it has by now. */
static bool has_elements(oz_var *var) {
    int64_t shape[64], count = 0;
    bool known = !oz_var_look(var, shape) && !var->lost && !ozarr_node_refresh(ozarr_array_node(var->array), NULL, 0);
    for (int d = 0; d < var->rank && known; d++)
        if (shape[d] > var->shape[d]) var->shape[d] = shape[d];
    bool has = !known || ozarr_array_chunk_count(var->array, false, &count) || count;
    if (has) var->fill_apart = true, var->recreate = false;
    return has;
}

/* Says how long a new array is: in a file of several programs as long as the others in the store are. */
static void set_shape(oz_var *var) {
    int64_t shape[64];
    oz_var_lengths(var, shape);
    if (!oz_file_alone(var->group->file)) oz_var_stored_lengths(var, shape);
    memcpy(var->shape, shape, (size_t)var->rank * sizeof *shape);
}

/* A group that is stored with others; whether it could not be begun with, whether its record is to be stored, and whether that is ahead of its arrays. */
typedef struct storing {
    oz_group *group;
    int status;
    bool failed, record, first;
} storing;

/* Room for all variables of groups. */
static oz_var **room_for_vars(const storing *all, int count) {
    size_t vars = 1;
    for (int i = 0; i < count; i++) vars += (size_t)all[i].group->vars.count;
    return malloc(vars * sizeof(oz_var *));
}

/* Creates the arrays of groups that are not yet in the store, in several threads where nothing can be in their way. */
static int create_arrays(const oz_file *file, const storing *all, int groups) {
    int count = 0;
    bool alone = oz_file_alone(file);
    oz_var **vars = room_for_vars(all, groups);
    if (!vars) return NC_ENOMEM;
    for (int g = 0; g < groups; g++) {
        for (int i = 0; i < all[g].group->vars.count && !all[g].failed; i++) {
            oz_var *var = all[g].group->vars.items[i];
            (void)oz_var_open_made(var);
            if (var->lost || (oz_var_made(var) && (!var->recreate || (!alone && has_elements(var))))) continue;
            vars[count++] = var;
        }
    }
    for (int i = 0; i < count; i++) set_shape(vars[i]);
    int status = alone ? oz_for_each(vars, count, oz_var_create) : oz_together(vars, count, oz_var_create);
    free(vars);
    return status;
}

/* Makes a new group. One that is closed only because its renaming failed is there, and so is one that was made, but others could not be told of it; what
 * else a failed attempt has left in a file that nobody else sees is replaced. */
static int open_or_create(oz_group *group) {
    ozarr_group *above = group->parent->handle;
    const ozarr_create_mode how = group->begun ? OZARR_CREATE_OVERWRITE : OZARR_CREATE_NEW;
    ozarr_status status = group->closed ? ozarr_group_open_group(above, group->name, &group->handle)
                                        : ozarr_group_create_group(above, group->name, how, &group->handle);
    if (status && oz_error_says(OZ_IS_THERE)) group->closed = true;
    group->begun = status && (group->begun || group->file->hidden);
    if (!status) oz_group_note_place(group);
    return oz_error(status);
}

/* Stores the attributes of a variable that are not yet stored, and the names of its dimensions. */
static int store_var(oz_var *var, oz_templates *templates) {
    (void)templates;
    ozarr_array *fresh = NULL;
    if (!var->dirty && !var->renamed) return NC_NOERR;
    int status = oz_file_alone(var->group->file) ? NC_NOERR : oz_var_find(var, &fresh);
    if (status) return status;
    if (!oz_file_alone(var->group->file) && var->lost) {
        if (var->dirty) oz_file_note_lost(var->group->file);
        var->dirty = var->renamed = false;
    }
    if (var->dirty) status = oz_var_store_atts(var, fresh);
    else ozarr_array_free(fresh);
    if (var->renamed) oz_note(&status, name_dims(var));
    return status;
}

/* Stores the attributes and the names of all variables of groups that have arrays. */
static int store_vars(const storing *all, int groups) {
    int count = 0;
    oz_var **vars = room_for_vars(all, groups);
    if (!vars) return NC_ENOMEM;
    for (int g = 0; g < groups; g++) {
        for (int i = 0; i < all[g].group->vars.count && !all[g].failed; i++) {
            oz_var *var = all[g].group->vars.items[i];
            if (oz_var_made(var) && !var->recreate) vars[count++] = var;
        }
    }
    int status = oz_together(vars, count, store_var);
    free(vars);
    return status;
}

/* Whether a group or one of its variables has something to store. */
static bool has_changed(const oz_group *group) {
    bool any = group->dirty;
    for (int i = 0; i < group->vars.count && !any; i++) {
        const oz_var *var = group->vars.items[i];
        any = var->dirty || var->renamed || !oz_var_made(var) || var->recreate;
    }
    return any;
}

static int make_one(void *user, int turn) {
    storing *one = (storing *)user + turn;
    if (!one->group->handle && oz_stores(one->group->file)) one->status = open_or_create(one->group);
    return NC_NOERR;
}

static int store_record_first(void *user, int turn) {
    storing *one = (storing *)user + turn;
    if (one->first) one->status = oz_group_store_atts(one->group);
    return NC_NOERR;
}

static int store_record_last(void *user, int turn) {
    storing *one = (storing *)user + turn;
    one->status = !one->failed && one->record && !one->first ? oz_group_store_atts(one->group) : NC_NOERR;
    return NC_NOERR;
}

/* The first error of groups. */
static int first_error(const storing *all, int count) {
    int status = NC_NOERR;
    for (int i = 0; i < count; i++) oz_note(&status, all[i].status);
    return status;
}

/* Makes groups of one level that are new, and stores their records where nobody else can take new variables out of them. */
static int begin(const oz_file *file, storing *all, int count) {
    (void)oz_at_once(file, count, make_one, all);
    for (int i = 0; i < count; i++) {
        oz_group *group = all[i].group;
        bool stores = oz_stores(file), locked = !all[i].status && stores && has_changed(group) && oz_lock_group(group);
        if (!all[i].status && group->dirty && stores && !oz_file_alone(file) && oz_group_is_moved(group)) all[i].status = NC_ENOGRP;
        all[i].failed = all[i].status;
        /* By the record new variables have their types, also after a kill; but another program that knows no lock would take them out until they are there. */
        all[i].record = group->dirty && stores;
        all[i].first = all[i].record && locked && !all[i].failed;
    }
    (void)oz_at_once(file, count, store_record_first, all);
    /* What has no room by now waits on with all that needs it. */
    for (int i = 0; i < count; i++) all[i].failed = all[i].failed || all[i].status == ENOSPC || all[i].status == NC_EIO;
    return first_error(all, count);
}

/* Looks for variables that were lost, and whose attributes are to be stored. */
static int look_for_lost(oz_group *group) {
    int status = NC_NOERR;
    bool stores = oz_stores(group->file);
    for (int i = 0; i < group->vars.count; i++) {
        oz_var *var = group->vars.items[i];
        bool asks = var->lost && var->dirty && stores && !oz_var_made(var);
        int found = asks ? oz_var_find(var, NULL) : NC_NOERR;
        oz_note(&status, found);
        if (asks && !found && var->lost) group->file->lost = true, var->dirty = false;
        if (!stores) var->dirty = var->renamed = false;
    }
    return status;
}

/* Stores what is in groups that are there. Ranks that do not store make handles of the same arrays, where they need not be read. */
static int finish(const oz_file *file, storing *all, int count) {
    bool stores = oz_stores(file);
    int status = stores || oz_file_alone(file) ? create_arrays(file, all, count) : NC_NOERR;
    for (int i = 0; i < count; i++)
        if (!all[i].failed) oz_note(&status, look_for_lost(all[i].group));
    if (stores) oz_note(&status, store_vars(all, count));
    (void)oz_at_once(file, count, store_record_last, all);
    oz_note(&status, first_error(all, count));
    for (int i = 0; i < count; i++) {
        if (all[i].failed) continue;
        if (!stores) all[i].group->dirty = false;
        if (!all[i].group->dirty) oz_group_note_stored(all[i].group);
    }
    return status;
}

/* Stores all groups at once, of a store where each request takes its time: one level after the other is made, then all that is in them. */
static int store_together(oz_file *file) {
    storing *all = calloc((size_t)file->group_count, sizeof *all);
    int status = all ? NC_NOERR : NC_ENOMEM, to = 0;
    for (int depth = 0, from = 0; all && to < file->group_count; depth++, from = to) {
        for (int i = 0; i < file->group_count; i++)
            if (file->groups[i]->depth == depth) all[to++].group = file->groups[i];
        oz_note(&status, begin(file, all + from, to - from));
    }
    if (all) oz_note(&status, finish(file, all, to));
    oz_unlock_groups(file);
    free(all);
    return status;
}

int oz_groups_store(oz_file *file) {
    int status = NC_NOERR;
    if (oz_is_remote(file)) return store_together(file);
    for (int i = 0; i < file->group_count; i++) {
        storing one = {.group = file->groups[i]};
        oz_note(&status, begin(file, &one, 1));
        oz_note(&status, finish(file, &one, 1));
        oz_unlock_groups(file);
    }
    return status;
}
