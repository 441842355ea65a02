/* Nodes that all ranks have: rank 0 opens or changes them, the others get what it knows, without touching the store. */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700 /* realpath */
#endif
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const om_handle *om_find(const ozarr_mpi *m, const void *handle) {
    for (size_t i = 0; i < m->handle_count; i++)
        if (m->handles[i].handle == handle) return &m->handles[i];
    return NULL;
}

const char *om_name(const ozarr_mpi *m, const void *handle) {
    const om_handle *known = om_valid(m, "ozarr_mpi") == OZARR_OK ? om_find(m, handle) : NULL;
    return known != NULL ? known->name : "";
}

ozarr_status om_path_of(const ozarr_node *node, char **path) {
    size_t length = 0;
    *path = NULL;
    ozarr_status status = ozarr_node_path(node, NULL, 0, &length);
    if (status != OZARR_OK) return status;
    *path = malloc(length + 1);
    if (*path == NULL) return om_error(OZARR_ERR_NO_MEMORY, "a path");
    status = ozarr_node_path(node, *path, length + 1, NULL);
    if (status != OZARR_OK) free(*path), *path = NULL;
    return status;
}

/* Whether nothing is stored by a handle any more, because its array was erased or replaced. */
static bool has_lost_array(const ozarr_node *array) {
    char lost[8] = "";
    return ozarr_node_get(array, "lost", lost, sizeof lost, NULL) == OZARR_OK && strcmp(lost, "1") == 0;
}

/* Whether nothing is stored any more by a handle that is open for that. */
static bool is_lost(const om_handle *known) { return known->array != NULL && strcmp(known->mode, "r+") == 0 && has_lost_array(known->array); }

/* Remembers a node of this rank, whose handle is `handle`. */
static ozarr_status remember(ozarr_mpi *m, const void *handle, ozarr_node *node, bool is_array, const char *name, const char *mode) {
    om_handle *more = realloc(m->handles, (m->handle_count + 1) * sizeof *more);
    if (more != NULL) m->handles = more;
    char *copy = malloc(strlen(name) + 1);
    if (more == NULL || copy == NULL) {
        free(copy);
        return om_error(OZARR_ERR_NO_MEMORY, "a location");
    }
    strcpy(copy, name);
    om_handle *new = &m->handles[m->handle_count++];
    *new = (om_handle){.handle = handle, .name = copy, .array = is_array ? node : NULL, .number = m->shared};
    snprintf(new->mode, sizeof new->mode, "%s", mode);
    if (m->rank == 0 && is_lost(new)) m->none_lost_at = -1;
    return OZARR_OK;
}

void om_drop(ozarr_mpi *m, const void *handle) {
    for (size_t i = 0; i < m->handle_count; i++)
        if (m->handles[i].handle == handle) {
            free(m->handles[i].name);
            m->handles[i] = m->handles[--m->handle_count];
            return;
        }
}

/* Each export of a group reads the documents below it anew, which another program may change: the room is made by guess, and again where it is too small. */
ozarr_status om_pack(const ozarr_node *node, const char *root, size_t root_size, char **bytes, size_t *size) {
    enum { FIRST_ROOM = 16384, TRIES = 16 };
    size_t room = FIRST_ROOM, exported = 0;
    ozarr_status status = OZARR_ERR_BUFFER_SIZE;
    *bytes = NULL;
    for (int i = 0; i < TRIES && status == OZARR_ERR_BUFFER_SIZE; i++, room = exported + exported / 4) {
        free(*bytes);
        *bytes = malloc(root_size + 1 + room);
        if (*bytes == NULL) return om_error(OZARR_ERR_NO_MEMORY, "%zu bytes of metadata", root_size + 1 + room);
        status = ozarr_node_export(node, *bytes + root_size + 1, room, &exported);
    }
    if (status != OZARR_OK) {
        free(*bytes), *bytes = NULL;
        return status;
    }
    memcpy(*bytes, root, root_size);
    (*bytes)[root_size] = 0;
    *size = root_size + 1 + exported;
    return OZARR_OK;
}

/* The location of the node's store, to be freed: other ranks open the node in it. */
static ozarr_status location_of(const ozarr_mpi *m, const ozarr_node *node, char **location) {
    size_t length = 0;
    *location = NULL;
    ozarr_status status = ozarr_node_get(node, "location", NULL, 0, &length);
    if (status != OZARR_OK && status != OZARR_ERR_BUFFER_SIZE) return status;
    if (length == 0 && m->size > 1) return om_error(OZARR_ERR_UNSUPPORTED, "the store has no location by which other ranks could open it");
    *location = calloc(length + 1, 1);
    if (*location == NULL) return om_error(OZARR_ERR_NO_MEMORY, "a location");
    status = ozarr_node_get(node, "location", *location, length + 1, NULL);
    if (status != OZARR_OK) free(*location), *location = NULL;
    return status;
}

/* The location of a node below its store's, by which its handles are known: without links where it is in a folder; to be freed. */
static ozarr_status name_of(const char *root, const char *path, char **name) {
    const size_t size = strlen(root) + strlen(path) + 2;
    *name = malloc(size);
    if (*name == NULL) return om_error(OZARR_ERR_NO_MEMORY, "a location");
    snprintf(*name, size, "%s%s%s", root, path[0] != 0 ? "/" : "", path);
    char *real = root[0] == '/' ? realpath(*name, NULL) : NULL;
    if (real != NULL) free(*name), *name = real;
    return OZARR_OK;
}

char *om_place_of(const ozarr_node *node) {
    static const ozarr_mpi alone = {.size = 1};
    char *root = NULL, *path = NULL, *place = NULL;
    if (location_of(&alone, node, &root) == OZARR_OK && om_path_of(node, &path) == OZARR_OK) {
        const ozarr_status named = name_of(root[0] != 0 ? root : "", root[0] != 0 ? path : "", &place);
        OM_UNUSED(named);
    }
    free(root), free(path);
    return place;
}

/* The location of the node's store, NUL, the node's name, NUL, and the exported node; to be freed. */
static ozarr_status pack_opened(const ozarr_mpi *m, const ozarr_node *node, char **bytes, size_t *size) {
    char *root = NULL, *path = NULL, *name = NULL, *both = NULL;
    ozarr_status status = location_of(m, node, &root);
    if (status == OZARR_OK) status = om_path_of(node, &path);
    if (status == OZARR_OK) status = name_of(root, path, &name);
    const size_t first = status == OZARR_OK ? strlen(root) + 1 : 0, length = status == OZARR_OK ? strlen(name) : 0;
    if (status == OZARR_OK) both = malloc(first + length + 1);
    if (status == OZARR_OK && both == NULL) status = om_error(OZARR_ERR_NO_MEMORY, "a location");
    if (status == OZARR_OK) {
        memcpy(both, root, first), memcpy(both + first, name, length + 1);
        status = om_pack(node, both, first + length, bytes, size);
    }
    free(root), free(path), free(name), free(both);
    return status;
}

/* What stands behind a text that ends in NUL. */
static const char *behind(const char *text) { return text + strlen(text) + 1; }

/* Opens what rank 0 sent. */
static ozarr_status unpack(const char *bytes, size_t size, const char *mode, ozarr_array **array, ozarr_group **group) {
    ozarr_array *a = NULL;
    ozarr_group *g = NULL;
    const char *exported = behind(behind(bytes));
    const ozarr_status status = ozarr_node_import(bytes, mode, exported, size - (size_t)(exported - bytes), &a, &g);
    if (array != NULL) *array = a;
    else ozarr_array_free(a);
    if (group != NULL) *group = g;
    else ozarr_group_free(g);
    return status;
}

static ozarr_node *node_of(ozarr_array *const *array, ozarr_group *const *group) {
    return array != NULL ? ozarr_array_node(*array) : ozarr_group_node(*group);
}

static const void *handle_of(ozarr_array *const *array, ozarr_group *const *group) {
    return array != NULL ? (const void *)*array : (const void *)*group;
}

static void discard(ozarr_array **array, ozarr_group **group) {
    if (array != NULL) ozarr_array_free(*array), *array = NULL;
    else ozarr_group_free(*group), *group = NULL;
}

ozarr_status om_check_there(const ozarr_mpi *m, const ozarr_array *array) {
    const ozarr_status valid = om_valid(m, "ozarr_mpi");
    if (valid != OZARR_OK || !has_lost_array(ozarr_array_node(array))) return valid;
    return om_error(OZARR_ERR_STATE, "the array %.1000s was erased, renamed or replaced since this handle was opened: open it again", om_name(m, array));
}

ozarr_status om_take(ozarr_node *node, const char *bytes, size_t size) {
    const bool lost = has_lost_array(node);
    ozarr_status status = ozarr_node_refresh(node, bytes, size);
    if (status == OZARR_OK && lost) status = ozarr_node_set(node, "lost", "1");
    return status;
}

/* How often an array of this process was lost so far; -1 where that cannot be told. */
static int64_t count_losses(void) {
    char text[24] = "";
    return ozarr_context_get(NULL, "lost", text, sizeof text, NULL) == OZARR_OK ? strtoll(text, NULL, 10) : -1;
}

int64_t om_count_lost(ozarr_mpi *m) {
    int64_t count = 0;
    if (m->rank != 0) return 0;
    /* Before the handles are looked at: what is lost meanwhile is found by the next call. Each call looks at all of them only while one is lost. */
    const int64_t losses = count_losses();
    if (losses >= 0 && losses == m->none_lost_at) return 0;
    for (size_t i = 0; i < m->handle_count; i++) count += is_lost(&m->handles[i]);
    m->none_lost_at = count == 0 ? losses : -1;
    return count;
}

ozarr_status om_tell_lost(ozarr_mpi *m, int64_t count) {
    enum { AT_ONCE = 64 };
    int64_t numbers[AT_ONCE];
    ozarr_status status = OZARR_OK;
    size_t next = 0;
    for (int64_t at = 0; at < count && status == OZARR_OK; at += AT_ONCE) {
        int found = 0;
        for (; m->rank == 0 && next < m->handle_count && found < AT_ONCE; next++)
            if (is_lost(&m->handles[next])) numbers[found++] = m->handles[next].number;
        while (found < AT_ONCE) numbers[found++] = -1;
        status = om_check("MPI_Bcast", MPI_Bcast(numbers, AT_ONCE, MPI_INT64_T, 0, m->comm));
        for (size_t i = 0; i < m->handle_count && m->rank != 0 && status == OZARR_OK; i++)
            for (int k = 0; k < AT_ONCE && m->handles[i].array != NULL; k++) {
                if (m->handles[i].number != numbers[k]) continue;
                const ozarr_status told = ozarr_node_set(m->handles[i].array, "lost", "1");
                OM_UNUSED(told);
            }
    }
    return status;
}

ozarr_status om_share_lost(ozarr_mpi *m, ozarr_status status) {
    om_failure failed;
    if (status != OZARR_OK) om_failure_last(&failed, status);
    int64_t count = om_count_lost(m);
    ozarr_status shared = om_check("MPI_Bcast", MPI_Bcast(&count, 1, MPI_INT64_T, 0, m->comm));
    if (shared == OZARR_OK) shared = om_tell_lost(m, count);
    return status != OZARR_OK ? om_failure_set(&failed) : shared;
}

ozarr_status om_share(ozarr_mpi *m, ozarr_status status, const char *mode, ozarr_array **array, ozarr_group **group) {
    char *bytes = NULL;
    size_t size = 0;
    m->shared++;
    /* Before the other ranks have handles of what took the place of others. */
    status = om_share_lost(m, status);
    if (m->rank == 0 && status == OZARR_OK) status = pack_opened(m, node_of(array, group), &bytes, &size);
    status = om_broadcast(m, status, &bytes, &size);
    if (status == OZARR_OK) {
        ozarr_status here = m->rank == 0 ? OZARR_OK : unpack(bytes, size, mode, array, group);
        if (here == OZARR_OK) here = remember(m, handle_of(array, group), node_of(array, group), array != NULL, behind(bytes), mode);
        if (here == OZARR_OK && array != NULL) here = om_check_begin(m, *array);
        status = om_agree(m, here, NULL);
    }
    if (status != OZARR_OK) {
        om_drop(m, handle_of(array, group));
        discard(array, group);
    }
    free(bytes);
    return status;
}

/* Shares a node as `om_share_again` says. With `found`, where nothing failed, the handles are ones of what is there, whatever was lost before. */
static ozarr_status share_again(ozarr_mpi *m, ozarr_status status, ozarr_node *node, bool found) {
    char *bytes = NULL;
    size_t size = 0;
    om_failure failed = {0};
    if (status != OZARR_OK) om_failure_last(&failed, status);
    /* A change that failed may have been made all the same: a letter in front of the node says that it failed. */
    const size_t mark = status != OZARR_OK;
    if (m->rank == 0) status = om_pack(node, "!", mark, &bytes, &size);
    if (status != OZARR_OK && failed.status != OZARR_OK) status = om_failure_set(&failed);
    status = om_broadcast(m, status, &bytes, &size);
    if (status == OZARR_OK) {
        const size_t root = strlen(bytes) + 1;
        ozarr_status here = OZARR_OK;
        if (m->rank != 0 && found && root == 1) here = ozarr_node_refresh(node, bytes + root, size - root);
        else if (m->rank != 0) here = om_take(node, bytes + root, size - root);
        if (failed.status != OZARR_OK) here = om_failure_set(&failed);
        status = om_agree(m, here, NULL);
    }
    free(bytes);
    return status;
}

ozarr_status om_share_again(ozarr_mpi *m, ozarr_status status, ozarr_node *node) { return share_again(m, status, node, false); }

ozarr_status om_share_found(ozarr_mpi *m, ozarr_status status, ozarr_node *node) { return share_again(m, status, node, true); }
