/* What is read of all nodes of a file together: one by one they would take a round trip to the store each. */
#include "hierarchy.h"
#include "listed.h"

#include <ozarr_advanced.h>
#include <stdlib.h>
#include <string.h>

/* The longest path of a node, with the byte behind it. */
enum { PATH_ROOM = 1025 };

typedef struct oz_whole oz_whole;

typedef struct node {
    char *path;
    ozarr_node_kind kind;
} node;

struct oz_whole {
    /* The root, which knows the documents of all nodes below it; NULL where each is read by itself. */
    ozarr_group *documents;
    /* All nodes below the root, in the order of their paths, where they were listed. */
    bool listed;
    node *nodes;
    size_t count, room;
};

void oz_whole_free(oz_whole *whole) {
    if (!whole) return;
    ozarr_group_free(whole->documents);
    for (size_t i = 0; i < whole->count; i++) free(whole->nodes[i].path);
    free(whole->nodes);
    free(whole);
}

ozarr_status oz_whole_open_array(const oz_file *file, const char *path, ozarr_array **array) {
    const ozarr_group *documents = file->whole ? file->whole->documents : NULL;
    return documents ? ozarr_group_open_array(documents, path, array) : ozarr_array_open_at(file->store, path, array);
}

ozarr_status oz_whole_open_group(const oz_file *file, const char *path, ozarr_group **group) {
    const ozarr_group *documents = file->whole ? file->whole->documents : NULL;
    return documents ? ozarr_group_open_group(documents, path, group) : ozarr_group_open_at(file->store, path, group);
}

/* Most are shorter than the room that is asked for first. */
static ozarr_status read_documents(const oz_group *root, ozarr_group **documents) {
    size_t room = 16 << 20, len = 0;
    ozarr_status status = OZARR_ERR_BUFFER_SIZE;
    ozarr_array *none = NULL;
    char *text = NULL;
    for (int tries = 0; tries < 2 && status == OZARR_ERR_BUFFER_SIZE; tries++, room = len) {
        free(text);
        text = malloc(room);
        status = text ? ozarr_node_export(ozarr_group_node(root->handle), text, room, &len) : OZARR_ERR_NO_MEMORY;
    }
    if (!status) status = ozarr_node_import_at(root->file->store, text, len, &none, documents);
    free(text);
    if (status) *documents = NULL;
    return status;
}

static int add_node(void *user, const char *path, ozarr_node_kind kind) {
    oz_whole *whole = user;
    if (whole->count == whole->room) {
        size_t room = whole->room ? 2 * whole->room : 64;
        node *larger = realloc(whole->nodes, room * sizeof *larger);
        if (!larger) return NC_ENOMEM;
        whole->nodes = larger;
        whole->room = room;
    }
    char *copy = strdup(path);
    if (copy) whole->nodes[whole->count++] = (node){copy, kind};
    return copy ? NC_NOERR : NC_ENOMEM;
}

/* Calls a function for each node down to so many levels below a group. */
static int each_node(const ozarr_group *group, int32_t depth, int (*function)(void *user, const char *path, ozarr_node_kind kind), void *user) {
    ozarr_node_iter *iter;
    bool more = false;
    int status = oz_error(ozarr_group_list_nodes(group, NULL, depth, &iter));
    if (status) return status;
    while (!status && !(status = oz_error(ozarr_node_iter_next(iter, &more))) && more) {
        char path[PATH_ROOM];
        ozarr_node_kind kind = OZARR_NODE_KIND_NONE;
        status = oz_error(ozarr_node_iter_name(iter, path, sizeof path, NULL));
        if (!status) status = oz_error(ozarr_node_iter_kind(iter, &kind));
        if (!status) status = function(user, path, kind);
    }
    ozarr_node_iter_free(iter);
    return status;
}

int oz_whole_read(oz_group *root) {
    oz_file *file = root->file;
    oz_whole *whole = file->whole = calloc(1, sizeof *whole);
    if (!whole) return NC_ENOMEM;
    whole->listed = oz_is_remote(file);
    ozarr_status status = OZARR_OK;
    if (file->writable && whole->listed) status = read_documents(root, &whole->documents);
    /* None is read by itself, either, where consolidated metadata tell all that the documents do. */
    else if (file->writable) status = ozarr_group_consolidated_check(root->handle, NULL, 0, NULL, &file->told);
    /* What cannot be read together is told by who reads it alone. */
    if (status) file->told = false;
    if (status && oz_is_short(oz_error(status))) return oz_error(status);
    return whole->listed ? each_node(root->handle, -1, add_node, whole) : NC_NOERR;
}

/* A byte of a path as it counts in the order of nodes, in which each is followed by those below it. */
static int rank_of(char byte) { return !byte ? -1 : byte == '/' ? 0 : (unsigned char)byte; }

static int by_path(const void *a, const void *b) {
    const char *one = ((const node *)a)->path, *other = ((const node *)b)->path;
    while (*one && *one == *other) one++, other++;
    return rank_of(*one) - rank_of(*other);
}

/* The group whose children are wanted. */
typedef struct wanted {
    const oz_group *group;
    oz_list *arrays, *groups;
} wanted;

static int add_child(void *user, const char *name, ozarr_node_kind kind) {
    const wanted *w = user;
    /* What has no name for netCDF is left out. */
    if (strlen(name) > NC_MAX_NAME || (kind == OZARR_NODE_KIND_UNKNOWN && oz_is_foreign(w->group, name))) return NC_NOERR;
    /* What cannot be understood is told when it is opened. */
    if (kind == OZARR_NODE_KIND_ARRAY || kind == OZARR_NODE_KIND_UNKNOWN) return oz_names_add(w->arrays, name);
    return kind == OZARR_NODE_KIND_GROUP ? oz_names_add(w->groups, name) : NC_NOERR;
}

int oz_group_children(const oz_group *group, oz_list *arrays, oz_list *groups) {
    const oz_whole *whole = group->file->whole;
    wanted w = {group, arrays, groups};
    if (!whole || !whole->listed) return each_node(group->handle, 1, add_child, &w);
    char *path = oz_group_path(group);
    if (!path) return NC_ENOMEM;
    const size_t len = strlen(path), above = len ? len + 1 : 0;
    const node key = {path, OZARR_NODE_KIND_GROUP}, *found = len ? bsearch(&key, whole->nodes, whole->count, sizeof key, by_path) : NULL;
    const node *end = whole->nodes + whole->count;
    int status = NC_NOERR;
    for (const node *n = !len ? whole->nodes : found ? found + 1 : end; n < end && !status; n++) {
        if (len && (strncmp(n->path, path, len) != 0 || n->path[len] != '/')) break;
        if (!strchr(n->path + above, '/')) status = add_child(&w, n->path + above, n->kind);
    }
    free(path);
    return status;
}
