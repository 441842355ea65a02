/* What is read of all nodes of a file together: one by one they would take a round trip to the store each. */
#include "hierarchy.h"
#include "listed.h"

#include <errno.h>
#include <ozarr_advanced.h>
#include <stdlib.h>
#include <string.h>

/* The longest path of a node, with the byte behind it. */
enum { PATH_ROOM = 1025 };

typedef struct oz_whole oz_whole;

/* A node, the index of the group that it is in (-1: the root), how many groups are above it, and the handle of a group. */
typedef struct node {
    char *path;
    ozarr_node_kind kind;
    int above, depth;
    ozarr_group *handle;
} node;

struct oz_whole {
    /* The root, which knows the documents of all nodes below it; NULL where each is read by itself. */
    ozarr_group *documents;
    /* All nodes below the root, in the order of their paths, where they were listed. */
    bool listed;
    node *nodes;
    int count, room;
    /* Whether a request found the server out of reach: each further one would wait for it as long, so that only who cannot do without asks once more. */
    bool lost;
};

static void forget_nodes(oz_whole *whole) {
    for (int i = 0; i < whole->count; i++) {
        free(whole->nodes[i].path);
        ozarr_group_free(whole->nodes[i].handle);
    }
    whole->count = 0;
    whole->listed = false;
}

void oz_whole_free(oz_whole *whole) {
    if (!whole) return;
    ozarr_group_free(whole->documents);
    forget_nodes(whole);
    free(whole->nodes);
    free(whole);
}

/* Whether two nodes have the same format. The documents are those of the root's: where there is another one, too, it may be the one to go by. */
static bool same_format(const ozarr_node *one, const ozarr_node *other) {
    int32_t a = 0, b = 0;
    return !ozarr_node_zarr_format(one, &a) && !ozarr_node_zarr_format(other, &b) && a == b;
}

ozarr_status oz_whole_open_array(const oz_file *file, const char *path, const ozarr_array *listed, ozarr_array **array) {
    const ozarr_group *documents = file->whole->documents;
    ozarr_status status = documents ? ozarr_group_open_array(documents, path, array) : OZARR_OK;
    if (documents && (status || same_format(ozarr_array_node(*array), ozarr_array_node(listed)))) return status;
    if (documents) ozarr_array_free(*array);
    return ozarr_array_open_at(file->store, path, array);
}

ozarr_status oz_whole_open_group(const oz_group *group, const char *path, ozarr_group **own) {
    const ozarr_group *documents = group->file->whole->documents;
    ozarr_status status = documents ? ozarr_group_open_group(documents, path, own) : OZARR_OK;
    if (documents && (status || same_format(ozarr_group_node(*own), ozarr_group_node(group->handle)))) return status;
    if (documents) ozarr_group_free(*own);
    return ozarr_group_open_at(group->file->store, path, own);
}

/* Where they do not fit into the room that is asked for first they are read again; memory that is not written to costs nothing. */
static ozarr_status read_documents(const oz_group *root, ozarr_group **documents) {
    size_t room = 64 << 20, len = 0;
    ozarr_status status = OZARR_ERR_BUFFER_SIZE;
    ozarr_array *none = NULL;
    char *text = NULL;
    for (int tries = 0; tries < 2 && status == OZARR_ERR_BUFFER_SIZE; tries++, room = len + len / 8) {
        free(text);
        while (!(text = malloc(room)) && room > 1 << 20) room /= 2;
        status = text ? ozarr_node_export(ozarr_group_node(root->handle), text, room, &len) : OZARR_ERR_NO_MEMORY;
    }
    if (!status) status = ozarr_node_import_at(root->file->store, text, len, &none, documents);
    free(text);
    if (status) *documents = NULL;
    return status;
}

/* The part of a path behind that of a node above it; NULL if it is not below that. */
static const char *name_below(const char *path, const char *above) {
    size_t len = strlen(above);
    return strncmp(path, above, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

static int add_node(void *user, const char *path, ozarr_node_kind kind) {
    oz_whole *whole = user;
    if (whole->count == whole->room) {
        int room = whole->room ? 2 * whole->room : 64;
        node *larger = realloc(whole->nodes, (size_t)room * sizeof *larger);
        if (!larger) return NC_ENOMEM;
        whole->nodes = larger;
        whole->room = room;
    }
    int above = whole->count - 1;
    while (above >= 0 && !name_below(path, whole->nodes[above].path)) above = whole->nodes[above].above;
    char *copy = strdup(path);
    if (copy) whole->nodes[whole->count++] = (node){.path = copy, .kind = kind, .above = above, .depth = above < 0 ? 0 : whole->nodes[above].depth + 1};
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
        const ozarr_status named = ozarr_node_iter_name(iter, path, sizeof path, NULL);
        /* What has no name for netCDF is left out. */
        if (named == OZARR_ERR_BUFFER_SIZE) continue;
        status = oz_error(named);
        if (!status) status = oz_error(ozarr_node_iter_kind(iter, &kind));
        if (!status) status = function(user, path, kind);
    }
    ozarr_node_iter_free(iter);
    return status;
}

/* Reads the attributes of a node, which are a document of their own in format 2. Who asks for them later is told what fails. */
static int read_attributes(const ozarr_node *node) {
    size_t len = 0;
    return oz_error(ozarr_attrs_get(node, NULL, 0, &len));
}

/* Whether a server is out of reach, as an error says; one that refuses something is there. */
static bool is_lost(int status) { return status && status != EACCES && !oz_is_short(status) && oz_is_out_of_reach(status); }

/* Ends the requests that are made at the same time where one of them has found that. */
static int lost(int status) { return is_lost(status) ? status : NC_NOERR; }

/* The groups of one level. */
typedef struct level {
    oz_whole *whole;
    const ozarr_group *root;
    int *groups, count;
} level;

static int open_one_group(void *user, int turn) {
    const level *l = user;
    node *one = &l->whole->nodes[l->groups[turn]];
    const node *above = one->above < 0 ? NULL : &l->whole->nodes[one->above];
    const ozarr_group *group = above ? above->handle : l->root;
    if (!group) return NC_NOERR;
    int status = oz_error(ozarr_group_open_group(group, above ? name_below(one->path, above->path) : one->path, &one->handle));
    if (status) one->handle = NULL;
    else if (!l->whole->documents) status = read_attributes(ozarr_group_node(one->handle));
    return lost(status);
}

/* Opens the groups level by level: each by the handle of the one that it is in. */
static int open_groups(oz_whole *whole, const oz_group *root) {
    level l = {whole, root->handle, malloc(((size_t)whole->count + 1) * sizeof *l.groups), 0};
    if (!l.groups) return NC_ENOMEM;
    for (int depth = 0; !whole->lost && (!depth || l.count); depth++) {
        l.count = 0;
        for (int i = 0; i < whole->count; i++)
            if (whole->nodes[i].depth == depth && whole->nodes[i].kind == OZARR_NODE_KIND_GROUP) l.groups[l.count++] = i;
        whole->lost = oz_at_once(root->file, l.count, open_one_group, &l);
    }
    free(l.groups);
    return NC_NOERR;
}

/* Asks whether the server is there: an error if not. */
static int reach(const oz_file *file) {
    ozarr_group *root = NULL;
    const int status = oz_error(ozarr_group_open_at(file->store, "", &root));
    if (!status) ozarr_group_free(root);
    return is_lost(status) ? status : NC_NOERR;
}

int oz_whole_read(oz_group *root) {
    oz_file *file = root->file;
    oz_whole *whole = file->whole = calloc(1, sizeof *whole);
    if (!whole) return NC_ENOMEM;
    whole->listed = oz_is_remote(file);
    const int listed = whole->listed ? each_node(root->handle, -1, add_node, whole) : NC_NOERR;
    if (is_lost(listed) || oz_is_short(listed)) return listed;
    ozarr_status status = OZARR_OK;
    if (file->writable && whole->listed) status = read_documents(root, &whole->documents);
    /* None is read by itself, either, where consolidated metadata tell all that the documents do. */
    else if (file->writable) status = ozarr_group_consolidated_check(root->handle, NULL, 0, NULL, &file->told);
    int failed = oz_error(status);
    if (failed) file->told = false;
    if (oz_is_short(failed)) return failed;
    /* What cannot be read together is told by who reads it alone, or is what consolidated metadata say, unless it is all that the server does not give. */
    if (whole->listed && is_lost(failed) && (failed = reach(file))) return failed;
    if (whole->listed && !listed) return open_groups(whole, root);
    /* A group that is left out may be one that cannot be listed. */
    forget_nodes(whole);
    return NC_NOERR;
}

/* An array of those that were found in a group. */
typedef struct place {
    const oz_group *group;
    int found;
} place;

static int open_one_array(void *user, int turn) {
    const place *one = (const place *)user + turn;
    const oz_reading *reading = one->group->reading;
    oz_opened *opened = &reading->opened[one->found];
    int status = oz_group_open_array(one->group, *(char **)reading->found.items[one->found], opened);
    if (!status) status = read_attributes(ozarr_array_node(opened->array));
    return lost(status);
}

int oz_whole_open_arrays(oz_file *file) {
    int count = 0;
    if (!oz_is_remote(file) || file->whole->lost) return NC_NOERR;
    for (int i = 0; i < file->group_count; i++) count += file->groups[i]->reading->found.count;
    place *all = malloc(((size_t)count + 1) * sizeof *all);
    if (!all) return NC_ENOMEM;
    count = 0;
    for (int i = 0; i < file->group_count; i++)
        for (int k = 0; k < file->groups[i]->reading->found.count; k++) all[count++] = (place){file->groups[i], k};
    (void)oz_at_once(file, count, open_one_array, all);
    free(all);
    return NC_NOERR;
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
    if (strlen(name) > NC_MAX_NAME || (kind == OZARR_NODE_KIND_UNKNOWN && oz_is_foreign(w->group, name))) return NC_NOERR;
    /* What cannot be understood is told when it is opened. */
    if (kind == OZARR_NODE_KIND_ARRAY || kind == OZARR_NODE_KIND_UNKNOWN) return oz_names_add(w->arrays, name);
    return kind == OZARR_NODE_KIND_GROUP ? oz_names_add(w->groups, name) : NC_NOERR;
}

/* The node that a group below the root is; NULL where it was not listed, or there is no memory to look for it. */
static node *find_node(const oz_group *group) {
    const oz_whole *whole = group->file->whole;
    char *path = whole->count ? oz_group_path(group) : NULL;
    const node key = {.path = path};
    node *found = path ? bsearch(&key, whole->nodes, (size_t)whole->count, sizeof key, by_path) : NULL;
    free(path);
    return found;
}

ozarr_group *oz_whole_take_group(const oz_group *group) {
    node *found = find_node(group);
    ozarr_group *handle = found ? found->handle : NULL;
    if (found) found->handle = NULL;
    return handle;
}

int oz_group_children(const oz_group *group, oz_list *arrays, oz_list *groups) {
    const oz_whole *whole = group->file->whole;
    wanted w = {group, arrays, groups};
    const node *above = group->parent ? find_node(group) : NULL;
    if (!whole->listed || (group->parent && !above)) return each_node(group->handle, 1, add_child, &w);
    int status = NC_NOERR;
    for (const node *n = above ? above + 1 : whole->nodes; n < whole->nodes + whole->count && !status; n++) {
        const char *name = above ? name_below(n->path, above->path) : n->path;
        if (!name) break;
        if (!strchr(name, '/')) status = add_child(&w, name, n->kind);
    }
    return status;
}
