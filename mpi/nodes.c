/* Arrays and groups, opened, changed and closed by all ranks together. */
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Adds a list of numbers to the description of a call. */
static void add_numbers(char *text, const int64_t *numbers, int32_t count) {
    size_t at = strlen(text);
    if (numbers == NULL) {
        snprintf(text + at, OM_MESSAGE - at, "none");
        return;
    }
    for (int i = 0; i < count && at < OM_MESSAGE - 1; i++, at = strlen(text))
        snprintf(text + at, OM_MESSAGE - at, "%s%" PRId64 "%s", i == 0 ? "[" : ", ", numbers[i], i == count - 1 ? "]" : "");
}

ozarr_status om_check_known(const ozarr_mpi *m, const void *handle, const char *name) {
    if (handle == NULL) return om_error(OZARR_ERR_NULL, "%s is NULL", name);
    if (om_valid(m, "ozarr_mpi") == OZARR_OK && om_find(m, handle) == NULL)
        return om_error(OZARR_ERR_ARGUMENT, "the %s was not opened by this ozarr_mpi", name);
    return OZARR_OK;
}

static ozarr_status not_null(const void *pointer, const char *name) {
    return pointer != NULL ? OZARR_OK : om_error(OZARR_ERR_NULL, "%s is NULL", name);
}

/* Completes the writes that were not waited for: what is stored later would show in an array that takes the place of theirs, or grows again. Their
 * waits tell what failed. Collective, within a call. */
static void finish_writes(ozarr_mpi *m) {
    const ozarr_status finished = om_finish(m, NULL);
    OM_UNUSED(finished);
}

ozarr_status ozarr_mpi_array_create(ozarr_mpi *m, const char *location, ozarr_type type, int32_t rank, const int64_t *shape,
                                    const int64_t *chunks, ozarr_create_mode mode, ozarr_array **out) {
    char call[OM_MESSAGE];
    ozarr_status status = not_null(out, "out");
    if (out != NULL) *out = NULL;
    if (status == OZARR_OK) status = not_null(location, "location");
    if (status == OZARR_OK && rank > 0) status = not_null(shape, "shape");
    if (status == OZARR_OK && (rank < 0 || rank > PLAN_MAX_RANK))
        status = om_error(OZARR_ERR_RANK, "rank is %d, expected 0 to %d", (int)rank, PLAN_MAX_RANK);
    snprintf(call, sizeof call, "ozarr_mpi_array_create of %s, type %d, mode %d, shape ", OM_CUT(location, 500), (int)type, (int)mode);
    add_numbers(call, status == OZARR_OK ? shape : NULL, rank);
    strncat(call, ", chunks ", sizeof call - strlen(call) - 1);
    add_numbers(call, status == OZARR_OK ? chunks : NULL, rank);
    status = om_enter(m, status, NULL, call);
    if (status != OZARR_OK) return status;
    finish_writes(m);
    if (m->rank == 0) status = om_check_place(m, location, "r+");
    if (m->rank == 0 && status == OZARR_OK) status = ozarr_array_create(location, type, rank, shape, chunks, mode, out);
    return om_leave(m, om_share(m, status, "r+", out, NULL));
}

ozarr_status ozarr_mpi_array_create_ex(ozarr_mpi *m, const char *location, const ozarr_spec *spec, ozarr_create_mode mode,
                                       ozarr_array **out) {
    char call[OM_MESSAGE];
    ozarr_status status = not_null(out, "out");
    if (out != NULL) *out = NULL;
    if (status == OZARR_OK) status = not_null(location, "location");
    snprintf(call, sizeof call, "ozarr_mpi_array_create_ex of %s, mode %d", OM_CUT(location, 500), (int)mode);
    status = om_enter(m, status, NULL, call);
    if (status != OZARR_OK) return status;
    finish_writes(m);
    if (m->rank == 0) status = om_check_place(m, location, "r+");
    if (m->rank == 0 && status == OZARR_OK) status = ozarr_array_create_ex(location, spec, mode, out);
    return om_leave(m, om_share(m, status, "r+", out, NULL));
}

/* Begins to open a node. */
static ozarr_status enter_open(ozarr_mpi *m, const char *function, const char *location, const char *mode, const void *out) {
    char call[OM_MESSAGE];
    ozarr_status status = not_null(out, "out");
    if (status == OZARR_OK) status = not_null(location, "location");
    if (status == OZARR_OK) status = not_null(mode, "mode");
    if (status == OZARR_OK && strcmp(mode, "r") != 0 && strcmp(mode, "r+") != 0)
        status = om_error(OZARR_ERR_ARGUMENT, "mode is \"%.20s\", expected \"r\" or \"r+\"", mode);
    snprintf(call, sizeof call, "%s of %s, mode %.20s", function, OM_CUT(location, 500), mode ? mode : "NULL");
    return om_enter(m, status, NULL, call);
}

ozarr_status ozarr_mpi_array_open(ozarr_mpi *m, const char *location, const char *mode, ozarr_array **out) {
    if (out != NULL) *out = NULL;
    ozarr_status status = enter_open(m, "ozarr_mpi_array_open", location, mode, out);
    if (status != OZARR_OK) return status;
    if (m->rank == 0) status = om_check_place(m, location, mode);
    if (m->rank == 0 && status == OZARR_OK) status = ozarr_array_open(location, mode, out);
    return om_leave(m, om_share(m, status, mode, out, NULL));
}

ozarr_status ozarr_mpi_group_open(ozarr_mpi *m, const char *location, const char *mode, ozarr_group **out) {
    if (out != NULL) *out = NULL;
    ozarr_status status = enter_open(m, "ozarr_mpi_group_open", location, mode, out);
    if (status != OZARR_OK) return status;
    if (m->rank == 0) status = om_check_place(m, location, mode);
    if (m->rank == 0 && status == OZARR_OK) status = ozarr_group_open(location, mode, out);
    return om_leave(m, om_share(m, status, mode, NULL, out));
}

ozarr_status ozarr_mpi_group_create(ozarr_mpi *m, const char *location, ozarr_create_mode mode, ozarr_group **out) {
    char call[OM_MESSAGE];
    ozarr_status status = not_null(out, "out");
    if (out != NULL) *out = NULL;
    if (status == OZARR_OK) status = not_null(location, "location");
    snprintf(call, sizeof call, "ozarr_mpi_group_create of %s, mode %d", OM_CUT(location, 500), (int)mode);
    status = om_enter(m, status, NULL, call);
    if (status != OZARR_OK) return status;
    finish_writes(m);
    if (m->rank == 0) status = om_check_place(m, location, "r+");
    if (m->rank == 0 && status == OZARR_OK) status = ozarr_group_create(location, mode, out);
    return om_leave(m, om_share(m, status, "r+", NULL, out));
}

/* Begins a call on a path below a group. */
static ozarr_status enter_below(ozarr_mpi *m, const char *function, const ozarr_group *group, const char *path, int mode, const char *more,
                                const void *out) {
    char call[OM_MESSAGE];
    ozarr_status status = om_check_known(m, group, "group");
    if (status == OZARR_OK) status = not_null(path, "path");
    if (status == OZARR_OK) status = not_null(out, "out");
    snprintf(call, sizeof call, "%s of %s below \"%s\", mode %d%.300s", function, OM_CUT(path, 500), OM_CUT(om_name(m, group), 1000), mode, more);
    return om_enter(m, status, NULL, call);
}

/* Whether a creation failed behind the array's document, which stays: any other array at its path is another program's. */
static bool is_there(ozarr_status status) { return status != OZARR_OK && strstr(ozarr_last_error(), "(the node itself is there") != NULL; }

ozarr_status om_create_below(ozarr_mpi *m, ozarr_group *group, const char *path, const ozarr_spec *spec, ozarr_create_mode mode, const char *more,
                             ozarr_array **out) {
    if (out != NULL) *out = NULL;
    ozarr_status status = enter_below(m, "ozarr_mpi_group_create_array", group, path, (int)mode, more, out);
    if (status != OZARR_OK) return status;
    finish_writes(m);
    if (m->rank == 0) status = ozarr_group_create_array(group, path, spec, mode, out);
    const bool created = m->rank == 0 && (status == OZARR_OK || is_there(status));
    status = om_share(m, status, "r+", out, NULL);
    /* What another rank could not open is there all the same. */
    if (status != OZARR_OK && mode == OZARR_CREATE_NEW) status = om_take_back(m, group, path, NULL, created, status);
    return om_leave(m, status);
}

ozarr_status ozarr_mpi_group_create_array(ozarr_mpi *m, ozarr_group *group, const char *path, const ozarr_spec *spec,
                                          ozarr_create_mode mode, ozarr_array **out) {
    return om_create_below(m, group, path, spec, mode, "", out);
}

ozarr_status om_take_back(ozarr_mpi *m, ozarr_group *group, const char *path, ozarr_array *array, bool created, ozarr_status status) {
    om_failure found;
    om_failure_last(&found, status);
    om_drop(m, array);
    ozarr_array_free(array);
    /* No rank stores into what rank 0 erases. */
    const ozarr_status all = om_agree(m, OZARR_OK, NULL);
    ozarr_status erased = OZARR_OK;
    int64_t kept = 1;
    if (m->rank == 0 && created && all == OZARR_OK) {
        erased = ozarr_group_erase(group, path);
        kept = erased != OZARR_OK;
        if (erased == OZARR_ERR_NOT_FOUND) erased = OZARR_OK;
    }
    erased = om_share_lost(m, erased);
    if (om_agree(m, erased, &kept) != OZARR_OK) om_failure_add(&found, "; the array could not be erased, and has some of its values, or none");
    else if (kept == 0) om_failure_add(&found, "; the array was erased again");
    return om_failure_set(&found);
}

ozarr_status ozarr_mpi_group_open_array(ozarr_mpi *m, const ozarr_group *group, const char *path, ozarr_array **out) {
    if (out != NULL) *out = NULL;
    ozarr_status status = enter_below(m, "ozarr_mpi_group_open_array", group, path, 0, "", out);
    if (status != OZARR_OK) return status;
    char mode[sizeof om_find(m, group)->mode];
    memcpy(mode, om_find(m, group)->mode, sizeof mode);
    if (m->rank == 0) status = ozarr_group_open_array(group, path, out);
    return om_leave(m, om_share(m, status, mode, out, NULL));
}

/* Begins to change an array or a group. */
static ozarr_status enter_change(ozarr_mpi *m, const char *what, const void *handle, ozarr_status status) {
    char call[2 * OM_MESSAGE];
    if (status == OZARR_OK) status = om_check_known(m, handle, "node");
    snprintf(call, sizeof call, "%s of \"%s\"", what, OM_CUT(om_name(m, handle), 1000));
    return om_enter(m, status, NULL, call);
}

ozarr_status ozarr_mpi_array_resize(ozarr_mpi *m, ozarr_array *array, const int64_t *shape, uint32_t flags) {
    char call[OM_MESSAGE];
    int32_t rank = 0;
    ozarr_status status = array == NULL ? not_null(array, "array") : ozarr_array_rank(array, &rank);
    if (status == OZARR_OK && rank > 0) status = not_null(shape, "shape");
    if (status == OZARR_OK) status = om_check_there(m, array);
    if (status == OZARR_OK) status = om_settle(array);
    snprintf(call, sizeof call, "ozarr_mpi_array_resize, flags %u, to ", (unsigned)flags);
    add_numbers(call, status == OZARR_OK ? shape : NULL, rank);
    status = enter_change(m, call, array, status);
    if (status != OZARR_OK) return status;
    finish_writes(m);
    if (m->rank == 0) status = ozarr_array_resize(array, shape, flags);
    return om_leave(m, om_share_again(m, status, ozarr_array_node(array)));
}

/* Begins to set an attribute. */
static ozarr_status enter_attr(ozarr_mpi *m, ozarr_status status, const void *handle, const char *name, const char *json) {
    char call[OM_MESSAGE];
    if (status == OZARR_OK) status = not_null(name, "name");
    if (status == OZARR_OK) status = not_null(json, "json");
    snprintf(call, sizeof call, "setting attribute %s to %s", OM_CUT(name, 200), OM_CUT(json, 1000));
    return enter_change(m, call, handle, status);
}

ozarr_status ozarr_mpi_array_set_attr(ozarr_mpi *m, ozarr_array *array, const char *name, const char *json) {
    ozarr_status status = enter_attr(m, array == NULL ? OZARR_OK : om_check_there(m, array), array, name, json);
    if (status != OZARR_OK) return status;
    if (m->rank == 0) status = ozarr_attr_set_json(ozarr_array_node(array), name, json);
    return om_leave(m, om_share_again(m, status, ozarr_array_node(array)));
}

ozarr_status ozarr_mpi_group_set_attr(ozarr_mpi *m, ozarr_group *group, const char *name, const char *json) {
    ozarr_status status = enter_attr(m, OZARR_OK, group, name, json);
    if (status != OZARR_OK) return status;
    if (m->rank == 0) status = ozarr_attr_set_json(ozarr_group_node(group), name, json);
    return om_leave(m, om_share_again(m, status, ozarr_group_node(group)));
}

ozarr_status ozarr_mpi_array_refresh(ozarr_mpi *m, ozarr_array *array) {
    ozarr_status status = enter_change(m, "ozarr_mpi_array_refresh", array, array != NULL ? om_settle(array) : OZARR_OK);
    if (status != OZARR_OK) return status;
    status = om_check_writes(m, array);
    if (status != OZARR_OK) return om_leave(m, status);
    if (m->rank == 0) status = ozarr_node_refresh(ozarr_array_node(array), NULL, 0);
    return om_leave(m, om_share_found(m, status, ozarr_array_node(array)));
}

/* Rank 0 makes the array `length` long, unless it is, or `found` says why not; all know it. Collective, outside of a call. */
static ozarr_status set_length(ozarr_mpi *m, ozarr_array *array, int32_t dim, int64_t length, ozarr_status found) {
    int64_t shape[PLAN_MAX_RANK];
    ozarr_status status = found == OZARR_OK ? ozarr_array_shape(array, shape) : found;
    m->busy = true;
    if (m->rank == 0 && status == OZARR_OK && shape[dim] != length) {
        shape[dim] = length;
        status = ozarr_array_resize(array, shape, 0);
    }
    return om_leave(m, om_share_again(m, m->rank == 0 ? status : OZARR_OK, ozarr_array_node(array)));
}

/* Whether an append of which `end` is the new length may be taken back: behind it is nothing that another handle has appended meanwhile. */
static ozarr_status check_last(const ozarr_mpi *m, ozarr_array *array, int32_t dim, int64_t end) {
    int64_t shape[PLAN_MAX_RANK];
    ozarr_status status = om_check_there(m, array);
    if (status == OZARR_OK) status = ozarr_node_refresh(ozarr_array_node(array), NULL, 0);
    if (status == OZARR_OK) status = ozarr_array_shape(array, shape);
    return status == OZARR_OK && shape[dim] > end ? om_error(OZARR_ERR_STATE, "another handle has made the array longer meanwhile") : status;
}

/* Makes the array as long as it was, after an append of `more` elements that failed with `status`. Collective, outside of a call. */
static ozarr_status give_back(ozarr_mpi *m, ozarr_array *array, int32_t dim, int64_t length, int64_t more, ozarr_status status) {
    int64_t shape[PLAN_MAX_RANK];
    char longer[160];
    om_failure f;
    om_failure_last(&f, status);
    snprintf(longer, sizeof longer, "; the array has its old length no more: make it %" PRId64 " long along dimension %d before this is appended again", length,
             (int)dim);
    const ozarr_status back = set_length(m, array, dim, length, m->rank == 0 ? check_last(m, array, dim, length + more) : OZARR_OK);
    /* What failed may be told behind the change itself: the metadata above. */
    const bool is_known = ozarr_array_shape(array, shape) == OZARR_OK && back != OZARR_ERR_NO_MEMORY;
    if (is_known && shape[dim] > length + more)
        om_failure_add(&f, "; another handle has appended meanwhile: the slab stays, with the fill value where it was not stored; write it as a region");
    else
        om_failure_add(&f, is_known && shape[dim] == length ? "; the array has its old length again" : longer);
    return om_failure_set(&f);
}

/* What the handle knows and the call wants, before anything is compared. */
static ozarr_status check_append(ozarr_array *array, int32_t dim, int64_t length, int64_t *extents) {
    int32_t rank = 0;
    ozarr_status status = array == NULL ? not_null(array, "array") : ozarr_array_rank(array, &rank);
    if (status == OZARR_OK) status = ozarr_array_shape(array, extents);
    if (status == OZARR_OK && (dim < 0 || dim >= rank))
        return om_error(OZARR_ERR_BOUNDS, "dim is %d, expected 0 to %d", (int)dim, (int)rank - 1);
    if (status == OZARR_OK && (length < 0 || length > INT64_MAX - extents[dim]))
        return om_error(OZARR_ERR_ARGUMENT, "length is %" PRId64 ", expected 0 or more", length);
    return status;
}

/* Checks that a box is in the slab of `length` elements behind an array of that shape: elsewhere it would write over what is stored. */
static ozarr_status check_slab(const ozarr_region *region, int32_t rank, const int64_t *extents, int32_t dim, int64_t length) {
    int64_t longer[PLAN_MAX_RANK];
    memcpy(longer, extents, (size_t)rank * sizeof *longer);
    longer[dim] += length;
    const ozarr_status status = om_check_region(region, rank, longer);
    if (status == OZARR_OK && region->start[dim] < extents[dim] && !om_is_empty(rank, region->shape))
        return om_error(OZARR_ERR_BOUNDS, "start[%d] is %" PRId64 ", expected %" PRId64 ", the length before the append, or more: it is counted in the array "
                        "with the new slab", (int)dim, region->start[dim], extents[dim]);
    return status;
}

/* Reads the metadata again: an array that became longer since this handle knew it is not to be cut off. And checks the box of the new slab.
 * Collective, within a call. */
static ozarr_status check_known_shape(ozarr_mpi *m, ozarr_array *array, const int64_t *extents, int32_t dim, int64_t length,
                                      const ozarr_region *region) {
    int32_t rank = 0;
    int64_t now[PLAN_MAX_RANK];
    ozarr_node *node = ozarr_array_node(array);
    ozarr_status status = OZARR_OK;
    /* Refreshed it would be that of the array which is there now. */
    if (m->rank == 0) status = om_check_there(m, array);
    if (m->rank == 0 && status == OZARR_OK) status = ozarr_node_refresh(node, NULL, 0);
    status = om_share_again(m, status, node);
    if (status == OZARR_OK) status = ozarr_array_rank(array, &rank);
    if (status == OZARR_OK) status = ozarr_array_shape(array, now);
    for (int32_t d = 0; d < rank && status == OZARR_OK; d++)
        if (now[d] != extents[d])
            status = om_error(OZARR_ERR_STATE, "dimension %d has %" PRId64 " elements by now, this handle knew %" PRId64 "; append behind these",
                              (int)d, now[d], extents[d]);
    if (status == OZARR_OK) status = check_slab(region, rank, extents, dim, length);
    return om_agree(m, status, NULL);
}

ozarr_status ozarr_mpi_array_append(ozarr_mpi *m, ozarr_array *array, int32_t dim, int64_t length, const int64_t *start,
                                    const int64_t *shape, ozarr_type type, const void *data, size_t size) {
    char call[OM_MESSAGE];
    int64_t extents[PLAN_MAX_RANK];
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start, region.shape = shape;
    memory.data = (void *)(uintptr_t)data, memory.size = size, memory.type = type;
    ozarr_status status = check_append(array, dim, length, extents);
    if (status == OZARR_OK) status = om_check_there(m, array);
    if (status == OZARR_OK) status = om_settle(array);
    snprintf(call, sizeof call, "ozarr_mpi_array_append of %" PRId64 " along dimension %d", length, (int)dim);
    status = enter_change(m, call, array, status);
    if (status != OZARR_OK) return status;
    finish_writes(m);
    status = om_leave(m, check_known_shape(m, array, extents, dim, length, &region));
    if (status != OZARR_OK) return status;
    status = set_length(m, array, dim, extents[dim] + length, OZARR_OK);
    if (status != OZARR_OK) return give_back(m, array, dim, extents[dim], length, status);
    status = om_move_all(m, array, true, 1, &region, &memory, OZARR_OK);
    if (status == OZARR_OK) status = om_agree(m, ozarr_node_flush(ozarr_array_node(array)), NULL);
    return status == OZARR_OK ? status : give_back(m, array, dim, extents[dim], length, status);
}

/* Ends the handles of all ranks: the others' first, so that rank 0's stores last what describes the whole. */
static ozarr_status close_node(ozarr_mpi *m, const char *what, ozarr_array *array, ozarr_group *group) {
    const void *handle = array != NULL ? (const void *)array : (const void *)group;
    char call[OM_MESSAGE];
    ozarr_status status = om_check_known(m, handle, what);
    if (status == OZARR_OK && array != NULL) status = om_check_no_requests(m, array);
    snprintf(call, sizeof call, "ozarr_mpi_%s_close of \"%s\" with %" PRId64 " requests let go of", what, OM_CUT(om_name(m, handle), 1000),
             status == OZARR_OK ? m->let_go : 0);
    status = om_enter(m, status, NULL, call);
    if (status != OZARR_OK) return status;
    om_drop(m, handle);
    om_failure found = {0};
    status = om_end_let_go(m);
    if (status != OZARR_OK) om_failure_last(&found, status);
    if (array != NULL && m->check_writes) {
        status = om_agree(m, ozarr_node_flush(ozarr_array_node(array)), NULL);
        if (status == OZARR_OK) status = om_check_writes(m, array);
        if (status != OZARR_OK && found.status == OZARR_OK) om_failure_last(&found, status);
    }
    if (m->rank == 0) status = ozarr_node_flush(array != NULL ? ozarr_array_node(array) : ozarr_group_node(group));
    else status = array != NULL ? ozarr_array_close(array) : ozarr_group_close(group);
    const ozarr_status flushed = om_agree(m, status, NULL);
    if (m->rank == 0 && flushed == OZARR_OK) status = array != NULL ? ozarr_array_close(array) : ozarr_group_close(group);
    else if (m->rank == 0) ozarr_array_free(array), ozarr_group_free(group);
    status = flushed != OZARR_OK ? flushed : om_agree(m, m->rank == 0 ? status : OZARR_OK, NULL);
    return om_leave(m, status == OZARR_OK && found.status != OZARR_OK ? om_failure_set(&found) : status);
}

ozarr_status ozarr_mpi_array_close(ozarr_mpi *m, ozarr_array *array) { return close_node(m, "array", array, NULL); }

ozarr_status ozarr_mpi_group_close(ozarr_mpi *m, ozarr_group *group) { return close_node(m, "group", NULL, group); }
