/* Variables that other programs have defined in a file since this one opened it: those along a dimension that grows are made longer with all others, for
 * readers want all variables to have the same steps. The record of each group says which ones they are; of those that programs of ozarr itself have
 * defined, consolidated metadata do. */
#include "attribute_json.h"
#include "hierarchy.h"
#include "listed.h"

#include <stdlib.h>
#include <string.h>

/* A group that is looked at, and the one above it: one that this program knows, or one that is only there by its path below that. */
typedef struct place {
    const struct place *above;
    oz_group *known;
    const char *path;
    const json *record;
} place;

/* Whether the record says a dimension; where it is not at hand, whether others have defined it in a group that this program knows. */
static bool is_recorded(const place *at, const char *name) {
    return at->record ? json_member(json_member(at->record, "dimensions"), name) != NULL : oz_list_index(&at->known->their_dims, name) >= 0;
}

/* The dimension that an array has by a name, so many groups above it at least; NULL of one that only others know. */
static oz_dim *dim_of(const place *at, long levels, const char *name) {
    for (; at; at = at->above, levels--) {
        if (levels > 0) continue;
        oz_dim *dim = *at->path ? NULL : oz_list_find(&at->known->dims, name);
        if (dim || is_recorded(at, name)) return dim;
    }
    return NULL;
}

/* Gives a variable its dimensions; those along which it stays as it is are all one. Returns false if it stays so along all. */
static bool find_dims(oz_var *var, const place *at, const json *mine) {
    static oz_dim fixed;
    const json *above = json_member(mine, "above"), *levels = above && above->kind == JSON_ARRAY ? above->first : NULL;
    bool grows = false;
    for (int d = 0; d < var->rank; d++, levels = levels ? levels->next : NULL) {
        char name[NC_MAX_NAME + 1] = "";
        bool named = false;
        if (ozarr_array_dimension_name(var->array, d, name, sizeof name, NULL, &named)) named = false;
        oz_dim *dim = named ? dim_of(at, levels && levels->kind == JSON_INTEGER ? strtol(levels->text, NULL, 10) : 0, name) : NULL;
        var->dims[d] = dim && dim->unlimited ? dim : &fixed;
        grows = grows || var->dims[d] == dim;
    }
    return grows;
}

/* Whether an array that no record names has another length than the variables of this program have in the store: it has steps of its own. */
static bool is_apart(const oz_var *var) {
    int64_t stored[64];
    memcpy(stored, var->shape, (size_t)var->rank * sizeof *stored);
    oz_var_stored_lengths(var, stored);
    for (int d = 0; d < var->rank; d++)
        if (var->shape[d] != stored[d]) return true;
    return false;
}

/* Opens an array by its path below a known group; one that does not grow is known by then, too. */
static int add(const place *at, const char *path, const json *mine) {
    ozarr_array *array = NULL;
    int32_t rank = 0;
    int status = oz_error(ozarr_group_open_array(at->known->handle, path, &array));
    if (status) return oz_is_short(status) ? status : NC_NOERR;
    bool read = !ozarr_array_rank(array, &rank) && rank <= 64;
    oz_var *var = read ? oz_var_of_others(at->known, path, rank) : NULL;
    if (!var) return ozarr_array_free(array), read ? NC_ENOMEM : NC_NOERR;
    var->array = array;
    oz_var_note_place(var);
    if (ozarr_array_shape(array, var->shape) || !find_dims(var, at, mine) || (!mine && is_apart(var))) oz_var_close(var);
    return NC_NOERR;
}

/* Notes the dimensions that the record has and this program does not. */
static int note_dims(const place *at) {
    const json *dims = json_member(at->record, "dimensions");
    oz_names_free(&at->known->their_dims);
    for (const json *one = dims && dims->kind == JSON_OBJECT ? dims->first : NULL; one; one = one->next) {
        bool ours = oz_list_index(&at->known->dims, one->name) >= 0 || oz_list_index(&at->known->former, one->name) >= 0;
        if (!ours && oz_names_add(&at->known->their_dims, one->name)) return NC_ENOMEM;
    }
    return NC_NOERR;
}

/* Forgets what is not there any more, or another array by now, or this program's own by name. */
static void forget(oz_group *known) {
    for (int i = known->others.count - 1; i >= 0; i--) {
        oz_var *var = known->others.items[i];
        bool own = oz_list_index(&known->vars, var->name) >= 0;
        if (!own && var->array) (void)oz_var_look(var, NULL);
        if (own || (var->array ? var->lost : var->folder.inode && !oz_var_in_folder(var))) oz_others_remove(known, i);
    }
}

/* Adds what the record says of variables that this program does not know. */
static int add_all(const place *at) {
    const json *variables = json_member(at->record, "variables");
    int status = NC_NOERR;
    for (const json *one = variables && variables->kind == JSON_OBJECT ? variables->first : NULL; one && !status; one = one->next) {
        text path = {0};
        if (*at->path) text_put(&path, at->path), text_put(&path, "/");
        else if (oz_list_index(&at->known->vars, one->name) >= 0) continue;
        text_put(&path, one->name);
        if (path.failed) status = NC_ENOMEM;
        else if (oz_list_index(&at->known->others, path.bytes) < 0 && oz_kind_at(at->known, path.bytes) == OZARR_NODE_KIND_ARRAY)
            status = add(at, path.bytes, one);
        free(path.bytes);
    }
    return status;
}

static int look_into(const place *above, oz_group *known, const char *path);

/* Looks into the groups that the record says, but for those that this program knows. */
static int look_below(const place *at) {
    const json *groups = json_member(at->record, "groups");
    int status = NC_NOERR;
    for (const json *one = groups && groups->kind == JSON_ARRAY ? groups->first : NULL; one && !status; one = one->next) {
        text path = {0};
        if (one->kind != JSON_STRING || (!*at->path && oz_list_index(&at->known->groups, one->text) >= 0)) continue;
        if (*at->path) text_put(&path, at->path), text_put(&path, "/");
        text_put(&path, one->text);
        if (path.failed) status = NC_ENOMEM;
        else if (oz_kind_at(at->known, path.bytes) == OZARR_NODE_KIND_GROUP) status = look_into(at, at->known, path.bytes);
        free(path.bytes);
    }
    return status;
}

static int read_record_of_2(const oz_file *file, const char *path, json **record) {
    ozarr_group *group = NULL;
    oz_stored stored = {0};
    ozarr_status opened = ozarr_group_open_at(file->store, path, &group);
    if (opened) return opened == OZARR_ERR_NOT_FOUND || opened == OZARR_ERR_NODE_KIND ? NC_NOERR : oz_error(opened);
    int status = oz_stored_read(ozarr_group_node(group), &stored);
    ozarr_group_free(group);
    free(stored.source);
    *record = stored.object;
    return status;
}

/* Reads the record of the group at a path as it is by now. In format 3 it is in one document with consolidated metadata, of which nothing is read. */
static int read_record(const oz_file *file, const char *path, json **record) {
    text key = {0};
    char *document = NULL;
    *record = NULL;
    if (oz_file_format(file) == 2) return read_record_of_2(file, path, record);
    if (*path) text_put(&key, path), text_put(&key, "/");
    text_put(&key, "zarr.json");
    int status = key.failed ? NC_ENOMEM : oz_document_text(file->store, key.bytes, &document);
    if (document) status = oz_document_record(document, record);
    free(document);
    free(key.bytes);
    return status;
}

/* Looks into a group, and into all below it. What is not seen because its record cannot be read is an error: it would not be as long as all others. */
static int look_into(const place *above, oz_group *known, const char *path) {
    text full = {0};
    char *group = oz_group_path(known);
    text_put(&full, group ? group : "");
    if (full.len && *path) text_put(&full, "/");
    text_put(&full, path);
    json *record = NULL;
    int status = group && !full.failed ? read_record(known->file, full.bytes, &record) : NC_ENOMEM;
    free(group);
    free(full.bytes);
    const place at = {above, known, path, record};
    if (!status && !*path) forget(known);
    if (!status && record && !*path) status = note_dims(&at);
    if (!status && record) status = add_all(&at);
    if (!status && record) status = look_below(&at);
    for (int i = 0; i < known->groups.count && !*path && !status; i++) {
        oz_group *child = known->groups.items[i];
        if (child->handle) status = look_into(&at, child, "");
    }
    json_free(record);
    return status;
}

/* Adds the arrays that consolidated metadata name in a group and in those below it, and no record does. */
static int add_listed(const oz_listed *listed, const place *above, oz_group *known) {
    const place at = {above, known, "", NULL};
    oz_list names = {0};
    int status = known->handle ? oz_listed_arrays(listed, known, &names) : NC_NOERR;
    for (int i = 0; i < names.count && !status; i++) {
        const char *name = *(char **)names.items[i];
        if (oz_list_index(&known->vars, name) >= 0 || oz_list_index(&known->others, name) >= 0) continue;
        if (oz_kind_at(known, name) == OZARR_NODE_KIND_ARRAY) status = add(&at, name, NULL);
    }
    oz_names_free(&names);
    for (int i = 0; i < known->groups.count && !status; i++) status = add_listed(listed, &at, known->groups.items[i]);
    return status;
}

int oz_others_find(oz_file *file) { return file->groups[0]->handle ? look_into(NULL, file->groups[0], "") : NC_NOERR; }

int oz_others_find_listed(oz_file *file) {
    oz_group *root = file->groups[0];
    int status = NC_NOERR;
    oz_listed *listed = root->handle && oz_file_format(file) == 3 ? oz_listed_now(file) : NULL;
    if (listed) status = add_listed(listed, NULL, root);
    oz_listed_free(listed);
    return status;
}
