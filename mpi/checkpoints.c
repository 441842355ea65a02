/* Checkpoints that all ranks write: rank 0 begins and commits them. */
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>

ozarr_status ozarr_mpi_checkpoint_begin(ozarr_mpi *m, const char *location, const char *name, ozarr_group **out) {
    char call[OM_MESSAGE];
    ozarr_status status = out == NULL || location == NULL || name == NULL
                              ? om_error(OZARR_ERR_NULL, "%s is NULL", location == NULL ? "location" : name == NULL ? "name" : "out") : OZARR_OK;
    if (out != NULL) *out = NULL;
    snprintf(call, sizeof call, "ozarr_mpi_checkpoint_begin of %s in %s", OM_CUT(name, 500), OM_CUT(location, 500));
    status = om_enter(m, status, NULL, call);
    if (status != OZARR_OK) return status;
    if (m->rank == 0) {
        status = om_check_place(m, location, "r+");
        if (status == OZARR_OK) status = ozarr_checkpoint_begin(location, name, out);
    }
    return om_leave(m, om_share(m, status, "r+", NULL, out));
}

/* Begins the end of a checkpoint. */
static ozarr_status enter_end(ozarr_mpi *m, ozarr_group *group, const char *function) {
    char call[OM_MESSAGE];
    snprintf(call, sizeof call, "%s of \"%s\"", function, OM_CUT(om_name(m, group), 1000));
    const ozarr_status status = om_enter(m, om_check_known(m, group, "group"), NULL, call);
    if (status == OZARR_OK) om_drop(m, group);
    return status;
}

ozarr_status ozarr_mpi_checkpoint_commit(ozarr_mpi *m, ozarr_group *group) {
    om_failure unfinished;
    ozarr_status status = enter_end(m, group, "ozarr_mpi_checkpoint_commit");
    if (status != OZARR_OK) return status;
    /* A checkpoint has what was written to it, whether it was waited for or not, and all of it is durable before rank 0 shows it. What fails
     * elsewhere is told there. */
    status = om_finish(m, group);
    if (status == OZARR_OK) status = om_flush_pending(m, group);
    if (status != OZARR_OK) om_failure_last(&unfinished, status);
    if (m->rank != 0) ozarr_group_free(group);
    if (status != OZARR_OK) {
        const ozarr_status abandoned = m->rank == 0 ? ozarr_checkpoint_abandon(group) : OZARR_OK;
        OM_UNUSED(abandoned);
        om_failure_add(&unfinished, "; the checkpoint was given up");
        return om_leave(m, om_share_lost(m, om_failure_set(&unfinished)));
    }
    if (m->rank == 0) status = ozarr_checkpoint_commit(group);
    return om_leave(m, om_agree(m, status, NULL));
}

ozarr_status ozarr_mpi_checkpoint_abandon(ozarr_mpi *m, ozarr_group *group) {
    ozarr_status status = enter_end(m, group, "ozarr_mpi_checkpoint_abandon");
    if (status != OZARR_OK) return status;
    /* Nothing is stored into the place that rank 0 clears. Their waits tell what failed. */
    const ozarr_status finished = om_finish(m, NULL);
    OM_UNUSED(finished);
    if (m->rank == 0) status = ozarr_checkpoint_abandon(group);
    else ozarr_group_free(group);
    return om_leave(m, om_agree(m, om_share_lost(m, status), NULL));
}

ozarr_status ozarr_mpi_checkpoint_latest(ozarr_mpi *m, const char *location, ozarr_group **out) {
    char call[OM_MESSAGE];
    ozarr_status status = out == NULL || location == NULL ? om_error(OZARR_ERR_NULL, "%s is NULL", location == NULL ? "location" : "out") : OZARR_OK;
    if (out != NULL) *out = NULL;
    snprintf(call, sizeof call, "ozarr_mpi_checkpoint_latest in %s", OM_CUT(location, 500));
    status = om_enter(m, status, NULL, call);
    if (status != OZARR_OK) return status;
    if (m->rank == 0) {
        status = om_check_place(m, location, "r");
        if (status == OZARR_OK) status = ozarr_checkpoint_latest(location, out);
    }
    return om_leave(m, om_share(m, status, "r", NULL, out));
}

ozarr_status ozarr_mpi_group_put(ozarr_mpi *m, ozarr_group *group, const char *path, ozarr_type type, int32_t rank, const int64_t *shape,
                                 const int64_t *start, const int64_t *count, const void *data, size_t size) {
    char more[256] = "";
    size_t at = 0;
    ozarr_spec *spec = NULL;
    ozarr_array *array = NULL;
    ozarr_status status = rank > 0 && shape == NULL ? om_error(OZARR_ERR_NULL, "shape is NULL") : ozarr_spec_new(type, rank, shape, &spec);
    for (int32_t d = 0; d < rank && status == OZARR_OK && at < sizeof more; d++)
        at += (size_t)snprintf(more + at, sizeof more - at, "%s%" PRId64, d > 0 ? ", " : ", shape ", shape[d]);
    if (status == OZARR_OK) status = om_create_below(m, group, path, spec, OZARR_CREATE_NEW, more, &array);
    else status = ozarr_mpi_agree(m, status);
    ozarr_spec_free(spec);
    if (status != OZARR_OK) return status;
    status = ozarr_mpi_array_write_all(m, array, start, count, type, data, size);
    if (status == OZARR_OK) status = ozarr_mpi_array_close(m, array), array = NULL;
    return status == OZARR_OK ? status : om_take_back(m, group, path, array, true, status);
}

ozarr_status ozarr_mpi_group_get(ozarr_mpi *m, const ozarr_group *group, const char *path, ozarr_type type, const int64_t *start,
                                 const int64_t *count, void *data, size_t size) {
    ozarr_array *array = NULL;
    ozarr_status status = ozarr_mpi_group_open_array(m, group, path, &array);
    if (status != OZARR_OK) return status;
    status = ozarr_mpi_array_read_all(m, array, start, count, type, data, size);
    /* Chunks that are gone read as the fill value: rank 0 looks whether the array, or the checkpoint that it is in, is still there. */
    if (status == OZARR_OK) status = ozarr_mpi_array_refresh(m, array);
    om_drop(m, array);
    ozarr_array_free(array);
    return status;
}
