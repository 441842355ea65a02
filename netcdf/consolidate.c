/* Consolidated metadata of a new file: composed of the documents that the handles know, so that none is read again. */
#include "hierarchy.h"
#include "json.h"
#include "parallel.h"

#include <ozarr_advanced.h>
#include <stdlib.h>
#include <string.h>

/* A node below a group, by its path from the root. */
typedef struct entry {
    char *path;
    const ozarr_node *node;
    /* The node's document, where it is known. */
    const char *document;
} entry;

typedef struct entries {
    entry *items;
    size_t count;
} entries;

static int by_path(const void *a, const void *b) { return strcmp(((const entry *)a)->path, ((const entry *)b)->path); }

static void entries_free(entries *all) {
    for (size_t i = 0; i < all->count; i++) free(all->items[i].path);
    free(all->items);
}

/* All groups and arrays of the file that are in the store, sorted. */
static int collect(const oz_file *file, entries *all) {
    size_t count = (size_t)file->group_count;
    for (int i = 0; i < file->group_count; i++) count += (size_t)file->groups[i]->vars.count;
    all->items = calloc(count, sizeof *all->items);
    if (!all->items) return NC_ENOMEM;
    for (int i = 0; i < file->group_count; i++) {
        const oz_group *group = file->groups[i];
        if (!group->handle) continue;
        all->items[all->count] = (entry){oz_group_path(group), ozarr_group_node(group->handle), NULL};
        if (!all->items[all->count++].path) return NC_ENOMEM;
        for (int k = 0; k < group->vars.count; k++) {
            const oz_var *var = group->vars.items[k];
            if (!oz_var_made(var)) continue;
            all->items[all->count] = (entry){oz_var_path(var), ozarr_array_node(var->array), var->document};
            if (!all->items[all->count++].path) return NC_ENOMEM;
        }
    }
    qsort(all->items, all->count, sizeof *all->items, by_path);
    return NC_NOERR;
}

/* Adds a document without the consolidated metadata in it: the handle of a group that was renamed has read those that were stored before. */
static void add_without_consolidated(text *t, const char *document) {
    static const char MEMBER[] = "consolidated_metadata";
    const char *between = "{";
    size_t at = strspn(document, " \t\r\n");
    for (json_name name; json_next_member(document, &at, &name);) {
        size_t from = at;
        if (!json_skip(document, &at)) t->failed = true;
        if (t->failed) return;
        if (name.len == sizeof MEMBER - 1 && !memcmp(document + name.from, MEMBER, name.len)) continue;
        text_put(t, between);
        text_put(t, "\"");
        text_add(t, document + name.from, name.len);
        text_put(t, "\": ");
        text_add(t, document + from, at - from);
        between = ",\n  ";
    }
    text_put(t, "}");
}

/* Adds a node's document; `buffer` is used again. */
static int add_document(text *t, const ozarr_node *node, text *buffer) {
    size_t len = 0;
    ozarr_status status = ozarr_node_metadata(node, buffer->bytes, buffer->capacity, &len);
    if (status == OZARR_ERR_BUFFER_SIZE || (!status && !buffer->bytes)) {
        free(buffer->bytes);
        buffer->capacity = 2 * len + 4096;
        buffer->bytes = malloc(buffer->capacity);
        status = buffer->bytes ? ozarr_node_metadata(node, buffer->bytes, buffer->capacity, &len) : OZARR_ERR_NO_MEMORY;
    }
    if (!status && strstr(buffer->bytes, "\"consolidated_metadata\"")) add_without_consolidated(t, buffer->bytes);
    else if (!status) text_add(t, buffer->bytes, len);
    return oz_error(status);
}

/* Stores the document of the group at `path` with those of all nodes below it. */
static int store(const oz_file *file, const entries *all, const oz_group *group, const char *path) {
    text t = {0}, key = {0}, buffer = {0};
    const char *between = "";
    size_t len = strlen(path);
    int status = add_document(&t, ozarr_group_node(group->handle), &buffer);
    /* Without the last brace, and the blanks around it. */
    while (!status && t.len && t.bytes[t.len - 1] != '}') t.len--;
    if (!status && t.len) t.len--;
    while (!status && t.len && t.bytes[t.len - 1] == '\n') t.len--;
    text_put(&t, ",\n  \"consolidated_metadata\": {\"kind\": \"inline\", \"must_understand\": false, \"metadata\": {\n");
    for (size_t i = 0; i < all->count && !status; i++) {
        const char *name = all->items[i].path;
        if (!*name || (len && (strncmp(name, path, len) != 0 || name[len] != '/'))) continue;
        text_put(&t, between);
        text_quote(&t, len ? name + len + 1 : name, strlen(len ? name + len + 1 : name));
        text_put(&t, ": ");
        between = ",\n";
        if (all->items[i].document) text_put(&t, all->items[i].document);
        else status = add_document(&t, all->items[i].node, &buffer);
    }
    text_put(&t, "\n}}}\n");
    if (len) text_put(&key, path), text_put(&key, "/");
    text_put(&key, "zarr.json");
    if (!status && (t.failed || key.failed)) status = NC_ENOMEM;
    if (!status) status = oz_error(ozarr_store_key_put(file->store, key.bytes, t.bytes, t.len));
    free(buffer.bytes);
    free(key.bytes);
    free(t.bytes);
    return status;
}

/* The dimension that NCZarr's keys have by that name, of a group or the nearest group above it: the keys of a group name those of its arrays, wherever
 * they are defined. NULL of one that only other programs know. */
static const oz_dim *visible_dim(const oz_group *group, const char *name) {
    for (; group && oz_list_index(&group->their_dims, name) < 0; group = group->parent)
        for (int i = 0; i < group->dims.count; i++) {
            const oz_dim *dim = group->dims.items[i];
            if (strcmp(dim->key ? dim->key : dim->name, name) == 0) return dim;
        }
    return NULL;
}

/* Adds the object of a group's dimensions in NCZarr's keys with the names that they have by now. */
static void add_renamed(text *t, const oz_group *group, const char *keys, const json *dims) {
    text_put(t, "{");
    for (const json *item = dims->first; item; item = item->next) {
        const oz_dim *dim = visible_dim(group, item->name);
        /* A dimension of the group itself may hide the one above by its new name. */
        const char *name = dim && oz_dim_by_name(group, dim->name) == dim ? dim->name : item->name;
        /* Where only a part could be stored, the library has found the new name itself. */
        if (strcmp(name, item->name) != 0 && json_member(dims, name) && !visible_dim(group, name)) continue;
        text_member(t, name);
        text_add(t, keys + item->from, item->to - item->from);
    }
    text_put(t, "}");
}

/* Renames dimensions in NCZarr's keys of a group, where it has them: by their old names they would be dimensions without arrays, whose lengths stay. A
 * dimension that only arrays of groups below have is in the keys of one of those. */
static ozarr_status rename_nczarr(const oz_group *group, ozarr_node *node) {
    static const char KEYS[] = "_nczarr_group";
    text renamed = {0};
    size_t len = 0;
    bool any = false;
    for (const oz_group *at = group; at; at = at->parent)
        for (int i = 0; i < at->dims.count; i++) any = any || ((oz_dim *)at->dims.items[i])->key;
    ozarr_status status = any ? ozarr_attr_get_json(node, KEYS, NULL, 0, &len) : OZARR_ERR_NOT_FOUND;
    if (status) return status == OZARR_ERR_NOT_FOUND ? OZARR_OK : status;
    char *keys = calloc(len + 1, 1);
    status = keys ? ozarr_attr_get_json(node, KEYS, keys, len + 1, &len) : OZARR_ERR_NO_MEMORY;
    json *tree = keys && !status ? json_read(keys) : NULL, *dims = json_member(tree, "dimensions");
    if (dims && dims->kind == JSON_OBJECT) {
        text_add(&renamed, keys, dims->from);
        add_renamed(&renamed, group, keys, dims);
        text_put(&renamed, keys + dims->to);
        status = renamed.failed ? OZARR_ERR_NO_MEMORY : ozarr_attr_set_json(node, KEYS, renamed.bytes);
    }
    json_free(tree);
    free(keys);
    free(renamed.bytes);
    return status;
}

/* The arrays have the old names of dimensions where a renaming was not stored. */
static int rename_in(void *user, int turn) {
    oz_group *group = ((const oz_file *)user)->groups[turn];
    int32_t format = 3;
    if (!group->handle) return NC_NOERR;
    ozarr_node *node = ozarr_group_node(group->handle);
    ozarr_status status = ozarr_node_zarr_format(node, &format);
    /* The last flush wrote the keys past this handle. */
    if (!status && format == 2) status = ozarr_node_refresh(node, NULL, 0);
    group->lost = status == OZARR_ERR_NOT_FOUND || status == OZARR_ERR_NODE_KIND;
    if (group->lost) status = OZARR_OK, format = 3;
    if (!status && format == 2 && !group->file->dirty) status = rename_nczarr(group, node);
    return oz_error(status);
}

/* Brings the names of dimensions into NCZarr's keys of all groups. */
static int rename_all(oz_file *file) {
    int status = oz_at_once(file, file->group_count, rename_in, file);
    for (int i = 0; i < file->dim_count && !status && !file->dirty; i++) {
        free(file->dims[i]->key);
        file->dims[i]->key = NULL;
    }
    return status;
}

/* A group whose consolidated metadata are compared with what is stored. */
typedef struct comparison {
    const oz_group *group;
    bool current;
} comparison;

static int compare(void *user, int turn) {
    comparison *one = (comparison *)user + turn;
    const oz_group *group = one->group;
    one->current = true;
    if (group->parent && (!group->handle || group->lost)) return NC_NOERR;
    /* Those that the root lacks are made. */
    char *key = group->parent ? oz_node_path(group, ".zmetadata") : NULL;
    if (group->parent && !key) return NC_ENOMEM;
    ozarr_status status = key ? ozarr_store_key_get(group->file->store, key, NULL, 0, NULL) : OZARR_OK;
    free(key);
    if (status == OZARR_ERR_NOT_FOUND) return NC_NOERR;
    if (!status) status = ozarr_group_consolidated_check(group->handle, NULL, 0, NULL, &one->current);
    return oz_error(status);
}

/* Writes consolidated metadata that a kill has left without what is stored, or left out, anew: the root's, and in format 2 those of all other groups that have
 * some, which tell the group's own attributes, too. */
static int renew(const oz_file *file) {
    const int count = oz_file_format(file) == 2 ? file->group_count : 1;
    comparison *all = calloc((size_t)count, sizeof *all);
    if (!all) return NC_ENOMEM;
    for (int i = 0; i < count; i++) all[i].group = file->groups[i];
    int status = oz_at_once(file, count, compare, all);
    for (int i = count - 1; i >= 0 && !status; i--)
        if (!all[i].current) status = oz_error(ozarr_group_consolidate(all[i].group->handle));
    free(all);
    return status;
}

/* Lets the library do it, of a file that is not new or is in format 2. Those that a kill has left without are made once, and those of a new file
 * with nothing below its root. */
static int flush(oz_file *file) {
    const oz_group *root = file->groups[0];
    const bool made = file->consolidates || (file->created && file->group_count == 1 && !root->vars.count);
    int error = oz_file_format(file) == 2 ? oz_others_find(file) : NC_NOERR;
    if (!error) error = rename_all(file);
    if (error) return error;
    error = oz_error(ozarr_store_flush(file->store));
    if (!error && made && !file->compared) error = renew(file);
    if (!error) file->compared = true, file->stale = false;
    return error;
}

/* The consolidated metadata of a group below the root. */
typedef struct work {
    const oz_file *file;
    const entries *all;
} work;

static int store_below(void *user, int turn) {
    const work *w = user;
    const oz_group *group = w->file->groups[turn + 1];
    if (!group->handle || !group->vars.count) return NC_NOERR;
    char *path = oz_group_path(group);
    int status = path ? store(w->file, w->all, group, path) : NC_ENOMEM;
    free(path);
    return status;
}

int oz_consolidate(oz_file *file) {
    entries all = {0};
    if (!file->writable || !oz_stores(file)) return NC_NOERR;
    if (!file->stale && !file->doubtful) return NC_NOERR;
    if (!oz_file_alone(file)) {
        oz_lock(file);
        int flushed = flush(file);
        oz_unlock(file);
        /* What others have left is no error of a program that has changed nothing. */
        return file->stale ? flushed : NC_NOERR;
    }
    int status = collect(file, &all);
    /* The root's last, by which readers go. */
    if (!status) status = oz_at_once(file, file->group_count - 1, store_below, &(work){file, &all});
    if (!status) status = store(file, &all, file->groups[0], "");
    entries_free(&all);
    if (!status) file->stale = false;
    return status;
}

int oz_consolidate_new(oz_file *file) {
    entries all = {0};
    if (file->told || file->hidden || file->ranks || !oz_file_alone(file)) return NC_NOERR;
    int status = collect(file, &all);
    if (!status) status = store(file, &all, file->groups[0], "");
    entries_free(&all);
    file->told = !status;
    return status;
}
