/* Makes an array longer in this rank's handle alone: chunks are stored before the document says that they are part of the array.
 *
 * The handle takes what is exported of a longer array in memory, at the same path and otherwise of the same specification. */
#include "internal.h"

#include <stdlib.h>

/* Tells the handle of an array of that specification at that path. */
static ozarr_status take(ozarr_node *node, const char *path, const ozarr_spec *spec) {
    ozarr_store *store = NULL;
    ozarr_array *other = NULL;
    char *bytes = NULL;
    size_t size = 0;
    ozarr_status status = ozarr_store_memory(&store);
    if (status == OZARR_OK) status = ozarr_array_create_at(store, path, spec, OZARR_CREATE_NEW, &other);
    if (status == OZARR_OK) status = om_pack(ozarr_array_node(other), "", 0, &bytes, &size);
    if (status == OZARR_OK) status = ozarr_node_refresh(node, bytes + 1, size - 1);
    free(bytes);
    ozarr_array_free(other);
    ozarr_store_free(store);
    return status;
}

ozarr_status om_grow(ozarr_array *array, int32_t dim, int64_t length) {
    int64_t shape[PLAN_MAX_RANK];
    char *path = NULL;
    ozarr_spec *spec = NULL;
    ozarr_status status = ozarr_array_shape(array, shape);
    if (status != OZARR_OK || shape[dim] >= length) return status;
    shape[dim] = length;
    status = ozarr_array_copy_spec(array, 0, &spec);
    if (status == OZARR_OK) status = ozarr_spec_set_shape(spec, shape);
    if (status == OZARR_OK) status = om_path_of(ozarr_array_node(array), &path);
    if (status == OZARR_OK) status = take(ozarr_array_node(array), path, spec);
    free(path);
    ozarr_spec_free(spec);
    return status;
}
