/* Makes an array longer in this rank's handle alone, and fills what is new: chunks are stored before the document says that they are part of the
 * array.
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
    if (status == OZARR_OK) status = om_take(node, bytes + 1, size - 1);
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

ozarr_status om_fill_slab(const ozarr_mpi *m, const ozarr_array *array, int32_t dim, int64_t at) {
    int64_t slab_start[PLAN_MAX_RANK] = {0}, slab_shape[PLAN_MAX_RANK], start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK];
    ozarr_region slab = OZARR_REGION_INIT, mine = OZARR_REGION_INIT;
    size_t size = 0;
    ozarr_status status = ozarr_array_item_size(array, &size);
    if (status == OZARR_OK) status = ozarr_array_shape(array, slab_shape);
    if (status != OZARR_OK || size == 0) return status;
    slab_start[dim] = at, slab_shape[dim] = 1;
    slab.start = slab_start, slab.shape = slab_shape, mine.start = start, mine.shape = shape;
    void *value = malloc(size);
    if (value == NULL) return om_error(OZARR_ERR_NO_MEMORY, "a fill value of %zu bytes", size);
    status = ozarr_array_fill_value(array, value, size, NULL);
    if (status == OZARR_OK) status = ozarr_array_partition(array, &slab, m->size, m->rank, 0, start, shape);
    if (status == OZARR_OK) status = ozarr_array_fill(array, &mine, OZARR_AS_STORED, value);
    free(value);
    return status;
}
