/* Brings the model into the store: what was defined, elements that wait, the lengths of dimensions that grew. */
#include "attribute_json.h"
#include "hierarchy.h"
#include "parallel.h"
#include "types.h"
#include "user_types.h"

#include <errno.h>
#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Opens the arrays that the first rank has made in the store, on the others. */
static int open_made(const oz_file *file) {
    for (oz_var *var = NULL; (var = oz_next_var(file, var));) {
        if (oz_var_made(var) && !var->recreate) continue;
        oz_var_close(var);
        int status = oz_var_open(var);
        if (!status) status = oz_var_set_dtype(var);
        /* An array without the type of its records would be taken for one that is open: the next attempt opens it. */
        if (status) return oz_var_close(var), status;
        oz_var_lengths(var, var->shape);
        var->recreate = false;
    }
    return NC_NOERR;
}

/* Notes the arrays that are to be made, so that all ranks know it of the same ones where only the first rank, or all but that, can make some; tells
 * whether there are any. */
static bool lacks_arrays(const oz_file *file) {
    bool any = false;
    for (oz_var *var = NULL; (var = oz_next_var(file, var));) {
        var->unopened = var->unopened || !oz_var_made(var) || var->recreate;
        any = any || var->unopened;
    }
    return any;
}

int oz_hierarchy_show(oz_file *file) {
    int status = oz_file_is_own(file);
    if (!status && file->hidden) status = oz_error(ozarr_node_flush(ozarr_group_node(file->groups[0]->handle)));
    if (!status && file->hidden) oz_file_shown(file);
    if (!status) file->hidden = false;
    return status;
}

/* Whether a variable has the array that its elements are in. */
static bool has_array(const oz_var *var) { return (var->endless || var->array) && !var->recreate; }

/* Calls a function for each variable that has an array and, if asked for, for those that others have defined since; gives the first error. */
static int for_each_array(const oz_file *file, bool others, int (*function)(oz_var *var, oz_templates *templates)) {
    size_t most = 1;
    int count = 0;
    for (int i = 0; i < file->group_count; i++) most += (size_t)file->groups[i]->vars.count + (size_t)file->groups[i]->others.count;
    oz_var **vars = malloc(most * sizeof *vars);
    if (!vars) return NC_ENOMEM;
    for (oz_var *var = NULL; (var = oz_next_var(file, var));)
        if (has_array(var)) vars[count++] = var;
    for (int i = 0; i < file->group_count && others; i++)
        for (int k = 0; k < file->groups[i]->others.count; k++) {
            oz_var *var = file->groups[i]->others.items[k];
            if (var->array) vars[count++] = var;
        }
    int status = oz_together(vars, count, function);
    free(vars);
    return status;
}

/* Says that a dimension is so long at least; other threads may say so, too. */
static void lengthen(oz_dim *dim, size_t len) {
    size_t known = __atomic_load_n(&dim->len, __ATOMIC_RELAXED);
    while (known < len && !__atomic_compare_exchange_n(&dim->len, &known, len, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;
}

/* Notes what a look at a variable gave: while its document cannot be understood it keeps its elements and its length, and all others are stored. One of a type
 * or codec that is unknown here is another program's array in its place: nothing may be stored with that. */
static int note_look(oz_var *var, int status) {
    if (status == NC_ENOTBUILT && var->put) oz_var_note_lost(var);
    var->spoilt = status && !oz_is_out_of_reach(status);
    if (var->spoilt) oz_file_note_spoilt(var->group->file, status);
    return var->spoilt ? NC_NOERR : status;
}

/* Takes over how long others have made a variable that grows: published by our lengths alone it would be cut off. */
static int look_again(oz_var *var, oz_templates *templates) {
    (void)templates;
    int64_t stored[64];
    if (!var->array || !oz_var_may_grow(var) || var->scalar_of_one) return NC_NOERR;
    int status = note_look(var, oz_var_look(var, stored));
    if (status || var->lost || var->spoilt) return status;
    for (int d = 0; d < var->rank; d++)
        if (var->dims[d]->unlimited) lengthen(var->dims[d], (size_t)stored[d]);
    if (!memcmp(var->shape, stored, (size_t)var->rank * sizeof *stored)) return NC_NOERR;
    var->untold = true;
    memcpy(var->shape, stored, (size_t)var->rank * sizeof *stored);
    oz_var_forget_document(var);
    return oz_error(ozarr_node_refresh(ozarr_array_node(var->array), NULL, 0));
}

/* Takes over how long all variables are by now. */
static int look_at_lengths(oz_file *file) {
    if (oz_file_alone(file)) return NC_NOERR;
    int status = oz_others_find(file);
    if (!status) status = for_each_array(file, true, look_again);
    /* By then the lengths of this program's variables are known, from which those of arrays of their own steps differ. */
    return status ? status : oz_others_find_listed(file);
}

/* Whether a variable is to be made along a dimension that may grow. */
static bool grows_by_new(const oz_file *file) {
    bool any = false;
    for (const oz_var *var = NULL; (var = oz_next_var(file, var));)
        any = any || ((!oz_var_made(var) || var->recreate) && oz_var_may_grow(var));
    return any;
}

/* Stores the definitions. While others cannot: a new array is as long as they have made the others. */
static int store_definitions(oz_file *file) {
    oz_lock(file);
    int status = oz_stores(file) && grows_by_new(file) ? look_at_lengths(file) : NC_NOERR;
    oz_note(&status, oz_groups_store(file));
    oz_unlock(file);
    return status;
}

int oz_hierarchy_store(oz_file *file) {
    bool wait = file->ranks && file->dirty && lacks_arrays(file) && !oz_file_alone(file);
    int status = file->dirty ? oz_file_is_own(file) : NC_NOERR;
    if (!status && file->dirty) status = store_definitions(file);
    if (wait) status = oz_agree(file->ranks, status);
    if (wait) status = oz_agree(file->ranks, status || oz_stores(file) ? status : open_made(file));
    /* All ranks have all arrays. */
    for (oz_var *var = NULL; wait && !status && (var = oz_next_var(file, var));) var->unopened = false;
    if (file->dirty) file->stale = true;
    if (!status && file->dirty) file->stored = true;
    if (!status) status = oz_hierarchy_show(file);
    for (int i = 0; i < file->type_count && !status; i++) file->types[i]->complete = oz_type_has_members(file->types[i]);
    if (!status) file->dirty = false;
    return status;
}

/* Whether a variable is to be made longer, as its dimensions are; its shape by then. */
static bool is_longer(const oz_var *var, int64_t *shape) {
    bool longer = false;
    for (int d = 0; d < var->rank; d++) {
        shape[d] = var->dims[d]->published ? (int64_t)var->dims[d]->len : var->shape[d];
        longer = longer || shape[d] != var->shape[d];
    }
    return longer && !var->scalar_of_one && !var->lost;
}

/* Publishes the length of a variable, after its elements. */
static int publish(oz_var *var, oz_templates *templates) {
    (void)templates;
    int64_t shape[64];
    if (var->lost || var->spoilt) return NC_NOERR;
    /* Of a length that was found in the document consolidated metadata are told by the same call. */
    if (!is_longer(var, shape) && !var->untold) return NC_NOERR;
    oz_file *file = var->group->file;
    int status = NC_NOERR;
    __atomic_store_n(&file->stale, true, __ATOMIC_RELAXED);
    if (oz_file_alone(file) && !file->ranks) status = oz_var_reshape(var, shape);
    else if (oz_var_forget_document(var), oz_stores(file)) status = oz_error(ozarr_array_resize(var->array, shape, OZARR_RESIZE_KEEP));
    if (!status) var->untold = false, memcpy(var->shape, shape, (size_t)var->rank * sizeof *shape);
    return status;
}

/* Whether a variable of a group is to be longer than it is in the store, or others are to be told of its length. */
static bool is_to_grow(const oz_group *group) {
    int64_t shape[64];
    bool any = false;
    for (int i = 0; i < group->vars.count && !any; i++) {
        const oz_var *var = group->vars.items[i];
        any = var->untold || is_longer(var, shape);
    }
    return any;
}

/* Whether this is so of any group of a file. */
static bool any_is_to_grow(const oz_file *file) {
    bool any = false;
    for (int i = 0; i < file->group_count && !any; i++) any = is_to_grow(file->groups[i]);
    return any;
}

bool oz_lengths_differ(const oz_file *file) {
    /* Another rank may know of a length that this one does not. Of a file that is new the documents are ours alone. */
    return oz_stores(file) && !oz_file_alone(file) && (file->ranks || any_is_to_grow(file));
}

static int flush(oz_var *var) {
    ozarr_status status = var->buffered ? ozarr_node_flush(ozarr_array_node(var->endless ? var->endless : var->array)) : OZARR_OK;
    /* Another open file of this process has put another one in its place. */
    return status == OZARR_ERR_STATE ? oz_var_note_lost(var), NC_NOERR : oz_error(status);
}

/* Stores the elements of a variable that wait, unless there is no such variable any more: then nobody would find them, or they would be taken for those
 * of another one. */
static int flush_in_place(oz_var *var, oz_templates *templates) {
    (void)templates;
    bool asks = var->put && !oz_file_alone(var->group->file);
    bool gone = asks && var->folder.inode && oz_kind_at(var->group, var->name) == OZARR_NODE_KIND_NONE;
    if (gone) oz_var_note_lost(var);
    int status = asks && !gone ? note_look(var, oz_var_find(var, NULL)) : NC_NOERR;
    return status || var->lost || var->spoilt ? status : flush(var);
}

int oz_elements_flush(oz_file *file) {
    int status = oz_file_store_waiting(file), flushed = for_each_array(file, false, flush_in_place);
    return status ? status : flushed;
}

/* Lengths are published once all elements are stored: else readers would find steps that are not whole. */
int oz_lengths_store(oz_file *file, int flushed) {
    int status = flushed;
    bool looks = oz_lengths_differ(file);
    if (looks) oz_lock(file);
    if (looks) oz_lock_groups(file, is_to_grow);
    if (!status && looks) status = look_at_lengths(file);
    status = oz_agree(file->ranks, status);
    if (!status) status = oz_agree_on_lengths(file);
    /* Where they cannot be stored, on a full disk say, the records are shown without: `oz_consolidate` tells the error. */
    if (!status && any_is_to_grow(file)) (void)oz_consolidate_new(file);
    if (!status) status = for_each_array(file, true, publish);
    if (looks) oz_unlock_groups(file), oz_unlock(file);
    status = oz_agree(file->ranks, status);
    /* All elements are known to be stored. */
    for (oz_var *var = NULL; !status && (var = oz_next_var(file, var));)
        if (has_array(var) && !var->spoilt) var->put = false;
    return status;
}

int oz_hierarchy_sync(oz_file *file) {
    int status = oz_agree(file->ranks, oz_hierarchy_store(file));
    oz_note(&status, oz_lengths_store(file, oz_elements_flush(file)));
    return status;
}

/* A handle for an array that is shorter than its dimensions: elements behind its end have the fill value. One that is written has room for more. */
static int open_longer(oz_var *var, const int64_t *ends) {
    int32_t format = 3;
    char *document;
    int status = oz_var_read_document(var, &document);
    if (status) return status;
    if (var->group->file->writable) oz_var_room(var, ends, var->room);
    else oz_var_lengths(var, var->room);
    status = oz_error(ozarr_node_zarr_format(ozarr_array_node(var->array), &format));
    if (!status) status = oz_var_import(var, document, format, var->room, &var->endless);
    free(document);
    return status;
}

/* Memory for parts of chunks: as much as all chunks across the variable take that one record touches, and again where another thread stores
 * them while the next ones come. */
static void set_buffer(const oz_var *var, ozarr_array *array) {
    int64_t chunk[64];
    char number[32];
    if (ozarr_array_chunk_shape(array, chunk)) return;
    double one = (double)var->info->size, all = one;
    for (int d = 0; d < var->rank; d++) {
        one *= (double)chunk[d];
        double across = var->dims[d]->unlimited || d == 0 ? 1 : (double)((var->shape[d] + chunk[d] - 1) / chunk[d]);
        all *= (double)chunk[d] * (across < 1 ? 1 : across);
    }
    if (oz_threads() > 1) all *= 2;
    /* Records that come in any order: as much as netCDF-C keeps of a variable's chunks in its files. */
    if (all < (double)(16 << 20)) all = (double)(16 << 20);
    double most = (double)oz_get_defaults()->buffer_bytes, bytes = all < most ? all : most;
    if (bytes < one) bytes = one;
    /* And a bit for each element of chunks whose parts come in any order. */
    bytes += bytes / (double)var->info->size / 8;
    snprintf(number, sizeof number, "%.0f", bytes + 65536);
    if (ozarr_node_set(ozarr_array_node(array), "write_back", number)) oz_log("%s", ozarr_last_error());
}

/* Stores what waits, and lets nothing wait any more: parts of a chunk that all ranks write together may be stored by another rank. */
static int stop_waiting(oz_var *var, ozarr_array *array) {
    if (!var->buffered) return NC_NOERR;
    ozarr_status status = ozarr_node_flush(ozarr_array_node(array));
    if (!status) status = ozarr_node_set(ozarr_array_node(array), "write_back", "0");
    if (!status) var->buffered = false;
    return oz_error(status);
}

/* Whether elements need a handle that is longer than the array. The length of one that is written is published by nc_sync, after its elements. */
static bool needs_longer(const oz_var *var) {
    bool longer = var->group->file->writable && oz_var_may_grow(var);
    for (int d = 0; d < var->rank; d++) longer = longer || (int64_t)var->dims[d]->len > var->shape[d];
    return longer;
}

/* Stores what waits in a handle in which the dimensions, or a region that is written, have no room any more, and lets another one be opened. */
static int make_room(oz_var *var, const int64_t *ends) {
    bool full = false;
    for (int d = 0; d < var->rank; d++) full = full || (int64_t)var->dims[d]->len > var->room[d] || (ends && ends[d] > var->room[d]);
    if (!full || var->group->file->ranks) return NC_NOERR;
    int status = flush(var);
    if (status) return status;
    ozarr_array_free(var->endless);
    var->endless = NULL;
    var->buffered = false;
    return NC_NOERR;
}

int oz_var_data(oz_var *var, const int64_t *ends, ozarr_array **array) {
    int status = oz_var_made(var) && !var->recreate ? NC_NOERR : oz_hierarchy_store(var->group->file);
    if (!status && var->endless) status = make_room(var, ends);
    if (!status && !var->endless) status = oz_var_handle(var);
    if (!status && !var->endless && !var->scalar_of_one && needs_longer(var)) status = open_longer(var, ends);
    if (!status) status = oz_var_store_waiting(var, NULL);
    if (status) return status;
    *array = var->endless ? var->endless : var->array;
    if (var->collective) return stop_waiting(var, *array);
    if (ends && !var->buffered && var->form != OZ_STRINGS && var->form != OZ_LISTS && var->rank) {
        set_buffer(var, *array);
        var->buffered = true;
    }
    return NC_NOERR;
}
