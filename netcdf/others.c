/* Variables that other programs have defined in a file since this one opened it: those along a dimension that grows are made longer with all others, for
 * readers want all variables to have the same steps. The record of each group says which ones they are; of those that programs of ozarr itself have
 * defined, consolidated metadata do. */
#include "attribute_json.h"
#include "hierarchy.h"
#include "listed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A group that is looked at: one that this program knows, or one that is only there by its path below that, and then also the one above it. */
typedef struct place {
    const struct place *above;
    oz_group *known;
    const char *path;
    const json *record;
} place;

/* Whether others have a dimension by that name in a group that this program knows: one that it does not, or one that has another name here by now. */
static bool is_theirs(const oz_group *known, const char *name) {
    return oz_list_index(&known->their_dims, name) >= 0 || oz_list_index(&known->former, name) >= 0;
}

/* The dimension that an array has by a name, so many groups above it at least; NULL of one that only others know. */
static oz_dim *dim_of(const place *at, long levels, const char *name) {
    for (; *at->path; at = at->above, levels--)
        if (levels <= 0 && json_member(json_member(at->record, "dimensions"), name)) return NULL;
    for (const oz_group *known = at->known; known; known = known->parent, levels--) {
        if (levels > 0) continue;
        oz_dim *dim = oz_list_find(&known->dims, name);
        if (dim || is_theirs(known, name)) return dim;
    }
    return NULL;
}

/* Gives a variable its dimensions; those along which it stays as it is are all one. `*grows` is false if it stays so along all. */
static int find_dims(oz_var *var, const place *at, const json *mine, bool *grows) {
    static oz_dim fixed;
    const json *above = json_member(mine, "above"), *levels = above && above->kind == JSON_ARRAY ? above->first : NULL;
    int status = NC_NOERR;
    for (int d = 0; d < var->rank; d++, levels = levels ? levels->next : NULL) {
        char name[NC_MAX_NAME + 1] = "";
        if (!status) status = oz_stored_name(var->array, d, name);
        oz_dim *dim = *name ? dim_of(at, levels && levels->kind == JSON_INTEGER ? strtol(levels->text, NULL, 10) : 0, name) : NULL;
        var->dims[d] = dim && dim->unlimited ? dim : &fixed;
        *grows = *grows || var->dims[d] == dim;
    }
    return status;
}

/* Whether an array that no record names has steps of its own: it is longer than the variables of this program are in the store, or shorter than they were
 * when it opened the file. One in between is as long as they were when it was defined. */
static bool is_apart(const oz_var *var) {
    int64_t stored[64];
    oz_var_stored_lengths(var, stored);
    for (int d = 0; d < var->rank; d++) {
        const oz_dim *dim = var->dims[d];
        if (dim->unlimited && (var->shape[d] > stored[d] || (size_t)var->shape[d] < dim->opened)) return true;
    }
    return false;
}

/* Whether an array that is there may be behind an error, and would not be as long as all others: not behind a folder that this user may not enter. */
static bool hides(const place *at, int status) { return oz_is_short(status) || (oz_is_remote(at->known->file) && oz_is_out_of_reach(status)); }

/* What is told of an array that gave an error. A variable of netCDF that cannot be understood is not made so long as all others, which go on. */
static int told(const place *at, const json *mine, int status) {
    if (hides(at, status)) return status;
    if (mine && status && status != ENOENT && !oz_is_out_of_reach(status)) oz_file_note_spoilt(at->known->file, status);
    return NC_NOERR;
}

/* Gives the kind of the node at a path below a known group, NONE also where it cannot be told. */
static int kind_of(const place *at, const char *path, ozarr_node_kind *kind) {
    char *full = oz_node_path(at->known, path);
    int status = full ? oz_error(ozarr_store_node_kind(at->known->file->store, full, kind)) : NC_ENOMEM;
    free(full);
    if (status) *kind = OZARR_NODE_KIND_NONE;
    return hides(at, status) ? status : NC_NOERR;
}

/* Opens an array by its path below a known group; one that does not grow is known by then, too. One with steps of its own is not: it may get those of the
 * variables. */
static int add(const place *at, const char *path, const json *mine) {
    ozarr_array *array = NULL;
    int32_t rank = 0;
    int status = oz_error(ozarr_group_open_array(at->known->handle, path, &array));
    if (status) return told(at, mine, status);
    bool read = !ozarr_array_rank(array, &rank) && rank <= 64;
    oz_var *var = read ? oz_var_of_others(at->known, path, rank) : NULL;
    if (!var) return ozarr_array_free(array), read ? NC_ENOMEM : NC_NOERR;
    var->array = array;
    oz_var_note_place(var);
    bool grows = false;
    if (!ozarr_array_shape(array, var->shape)) status = find_dims(var, at, mine, &grows);
    const int left = told(at, mine, status);
    if (status || (grows && !mine && is_apart(var))) oz_others_remove(at->known, var->id);
    else if (!grows) oz_var_close(var);
    return left;
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

/* The path, below the group that this program knows, of what has a name in a place; NULL without memory. Free it. */
static char *path_in(const place *at, const char *name) {
    text path = {0};
    if (*at->path) text_put(&path, at->path), text_put(&path, "/");
    text_put(&path, name);
    if (path.failed) free(path.bytes);
    return path.failed ? NULL : path.bytes;
}

/* Adds what the record says of variables that this program does not know. */
static int add_all(const place *at) {
    const json *variables = json_member(at->record, "variables");
    int status = NC_NOERR;
    for (const json *one = variables && variables->kind == JSON_OBJECT ? variables->first : NULL; one && !status; one = one->next) {
        if (!*at->path && oz_list_index(&at->known->vars, one->name) >= 0) continue;
        char *path = path_in(at, one->name);
        ozarr_node_kind kind = OZARR_NODE_KIND_NONE;
        if (!path) status = NC_ENOMEM;
        else if (oz_list_index(&at->known->others, path) < 0) status = kind_of(at, path, &kind);
        if (kind == OZARR_NODE_KIND_ARRAY || kind == OZARR_NODE_KIND_UNKNOWN) status = add(at, path, one);
        free(path);
    }
    return status;
}

static int look_into(const place *above, oz_group *known, const char *path);

/* Looks into the groups that the record says, but for those that this program knows. */
static int look_below(const place *at) {
    const json *groups = json_member(at->record, "groups");
    int status = NC_NOERR;
    for (const json *one = groups && groups->kind == JSON_ARRAY ? groups->first : NULL; one && !status; one = one->next) {
        if (one->kind != JSON_STRING || (!*at->path && oz_list_index(&at->known->groups, one->text) >= 0)) continue;
        char *path = path_in(at, one->text);
        ozarr_node_kind kind = OZARR_NODE_KIND_NONE;
        status = path ? kind_of(at, path, &kind) : NC_ENOMEM;
        if (kind == OZARR_NODE_KIND_GROUP) status = look_into(at, at->known, path);
        free(path);
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

/* Reads the record of the group at a path as it is by now. In format 3 it is in one document with consolidated metadata: that of the root is kept for
 * `oz_others_find_listed`. */
static int read_record(oz_file *file, const char *path, json **record) {
    text key = {0};
    char *document = NULL;
    *record = NULL;
    if (oz_file_format(file) == 2) return read_record_of_2(file, path, record);
    if (*path) text_put(&key, path), text_put(&key, "/");
    text_put(&key, "zarr.json");
    int status = key.failed ? NC_ENOMEM : oz_document_text(file->store, key.bytes, &document);
    if (document) status = oz_document_record(document, record);
    free(key.bytes);
    if (*path) return free(document), status;
    free(file->consolidated);
    file->consolidated = document;
    return status;
}

/* Looks into a group that is only there by its path below a known one, and into all below it. */
static int look_into(const place *above, oz_group *known, const char *path) {
    text full = {0};
    char *group = oz_group_path(known);
    text_put(&full, group ? group : "");
    if (full.len) text_put(&full, "/");
    text_put(&full, path);
    json *record = NULL;
    int status = group && !full.failed ? read_record(known->file, full.bytes, &record) : NC_ENOMEM;
    free(group);
    free(full.bytes);
    const place at = {above, known, path, record};
    if (!status && record) status = add_all(&at);
    if (!status && record) status = look_below(&at);
    json_free(record);
    return status;
}

/* The record of a group that this program knows, as it is by now. */
typedef struct record_now {
    oz_group *group;
    json *record;
} record_now;

static int read_now(void *user, int turn) {
    record_now *now = (record_now *)user + turn;
    char *path = oz_group_path(now->group);
    int status = path ? read_record(now->group->file, path, &now->record) : NC_ENOMEM;
    free(path);
    return status;
}

/* Looks into a group that this program knows, and into those below it that it does not. */
static int look_into_known(const record_now *now) {
    const place at = {NULL, now->group, "", now->record};
    forget(now->group);
    int status = now->record ? note_dims(&at) : NC_NOERR;
    if (!status && now->record) status = add_all(&at);
    return status || !now->record ? status : look_below(&at);
}

/* Adds the array at a path below the root, if it is in a group that this program knows, and not known itself. */
static int add_listed(oz_group *known, const char *path) {
    for (const char *end; known && (end = strchr(path, '/')); path = end + 1) {
        char *name = strndup(path, (size_t)(end - path));
        if (!name) return NC_ENOMEM;
        known = oz_list_find(&known->groups, name);
        free(name);
    }
    if (!known || !known->handle || oz_list_index(&known->groups, path) >= 0) return NC_NOERR;
    if (oz_list_index(&known->vars, path) >= 0 || oz_list_index(&known->others, path) >= 0) return NC_NOERR;
    const place at = {.known = known, .path = ""};
    ozarr_node_kind kind = OZARR_NODE_KIND_NONE;
    int status = kind_of(&at, path, &kind);
    return kind == OZARR_NODE_KIND_ARRAY ? add(&at, path, NULL) : status;
}

/* Moves to the value of an object's member; false where it has none by that name. */
static bool enter(const char *text, size_t *at, const char *member) {
    for (json_name name; json_next_member(text, at, &name);) {
        if (name.len == strlen(member) && !memcmp(text + name.from, member, name.len)) return true;
        if (!json_skip(text, at)) return false;
    }
    return false;
}

/* Groups come behind those above them. */
int oz_others_find(oz_file *file) {
    record_now *all = calloc((size_t)file->group_count, sizeof *all);
    int count = 0, status = all ? NC_NOERR : NC_ENOMEM;
    for (int i = 0; i < file->group_count && !status; i++) {
        oz_group *group = file->groups[i], *closed = group;
        while (closed && closed->handle) closed = closed->parent;
        if (!closed) all[count++].group = group;
    }
    if (!status) status = oz_at_once(file, count, read_now, all);
    for (int i = 0; i < count; i++) {
        if (!status) status = look_into_known(&all[i]);
        json_free(all[i].record);
    }
    free(all);
    return status;
}

/* Of the documents only the names are read: this program has itself written the most of them, by its last nc_sync. */
int oz_others_find_listed(oz_file *file) {
    static const char ARRAY[] = "/.zarray";
    const bool is_old = oz_file_format(file) == 2;
    char *text = file->consolidated;
    file->consolidated = NULL;
    int status = is_old ? oz_document_text(file->store, ".zmetadata", &text) : NC_NOERR;
    size_t at = text ? strspn(text, " \t\r\n") : 0;
    bool more = text && (is_old || enter(text, &at, "consolidated_metadata")) && enter(text, &at, "metadata");
    for (json_name name; more && !status && json_next_member(text, &at, &name);) {
        char *path = json_read_name(text, &name);
        size_t len = path ? strlen(path) : 0, tail = is_old ? sizeof ARRAY - 1 : 0;
        bool is_array = len > tail && (!is_old || strcmp(path + len - tail, ARRAY) == 0);
        if (is_array) path[len - tail] = 0, status = add_listed(file->groups[0], path);
        free(path);
        more = json_skip(text, &at);
    }
    free(text);
    return status;
}
