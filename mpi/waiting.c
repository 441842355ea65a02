/* Steps that wait: copies of this rank's boxes in the type of their array, and the collective write of many of them at once. */
#include "waiting.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool om_can_wait(const ozarr_array *array) {
    ozarr_type type = OZARR_AS_STORED;
    size_t item = 0;
    if (ozarr_array_type(array, &type) != OZARR_OK || type < OZARR_BOOL || type > OZARR_FLOAT4_E2M1FN) return false;
    return ozarr_array_item_size(array, &item) == OZARR_OK && item > 0;
}

/* Names the array in place of the one in memory, whose chunk is the key of the error. */
static ozarr_status named_after(const ozarr_array *array, ozarr_status status) {
    om_failure f;
    om_failure_last(&f, status);
    if (ozarr_node_path(ozarr_array_node(array), f.key, sizeof f.key, NULL) != OZARR_OK) f.key[0] = 0;
    om_failure_add(&f, " (elements count from the first one of the rank's box)");
    return om_failure_set(&f);
}

/* Makes an array in memory of the type of `array` (NULL: of 64-bit numbers) and of the box's shape, and writes the elements into it. */
static ozarr_status box_of(const ozarr_array *array, int32_t rank, const int64_t *shape, const ozarr_memory *memory, ozarr_array **box) {
    ozarr_store *store = NULL;
    ozarr_dtype *dtype = NULL;
    ozarr_spec *spec = NULL;
    ozarr_status status = array != NULL ? ozarr_array_copy_dtype(array, &dtype) : ozarr_dtype_of(OZARR_FLOAT64, &dtype);
    if (status == OZARR_OK) status = ozarr_spec_new_dtype(dtype, rank, shape, &spec);
    if (status == OZARR_OK) status = ozarr_spec_set_chunks(spec, shape);
    if (status == OZARR_OK) status = ozarr_spec_set_compressor(spec, "none", -1);
    if (status == OZARR_OK) status = ozarr_store_memory(&store);
    if (status == OZARR_OK) status = ozarr_array_create_at(store, "box", spec, OZARR_CREATE_NEW, box);
    if (status == OZARR_OK) status = ozarr_array_write_ex(*box, NULL, memory);
    ozarr_spec_free(spec);
    ozarr_dtype_free(dtype);
    ozarr_store_free(store);
    return status;
}

/* Converts elements to the array's type. */
static ozarr_status convert(const ozarr_array *array, int32_t rank, const int64_t *shape, const ozarr_memory *memory, char *to, size_t size) {
    ozarr_array *box = NULL;
    ozarr_status status = box_of(array, rank, shape, memory, &box);
    if (status == OZARR_OK) status = ozarr_array_read(box, OZARR_AS_STORED, to, size);
    ozarr_array_free(box);
    return status == OZARR_OK ? status : named_after(array, status);
}

ozarr_status om_waiting_number(const ozarr_array *array, const ozarr_memory *memory, double *number, bool *is_number) {
    const int64_t one = 1;
    ozarr_array *box = NULL;
    ozarr_status status = box_of(array, 1, &one, memory, &box);
    if (status == OZARR_OK) {
        const ozarr_status read = ozarr_array_read(box, OZARR_FLOAT64, number, sizeof *number);
        if (is_number != NULL) *is_number = read == OZARR_OK;
        status = read == OZARR_ERR_TYPE ? OZARR_OK : read;
    }
    ozarr_array_free(box);
    return status == OZARR_OK || array == NULL ? status : named_after(array, status);
}

/* Copies a box to `to`: as it is where it has the array's type. */
static ozarr_status fill(const ozarr_array *array, int32_t rank, const int64_t *shape, const ozarr_memory *memory, char *to, size_t size) {
    om_view view;
    size_t item = 0;
    int64_t dense[PLAN_MAX_RANK];
    ozarr_type type = OZARR_AS_STORED;
    ozarr_status status = ozarr_array_type(array, &type);
    if (status == OZARR_OK) status = om_item_size(array, memory, &item);
    if (status == OZARR_OK) status = om_view_of(memory, rank, shape, item, false, &view);
    if (status != OZARR_OK) return status;
    if (memory->type != type && memory->type != OZARR_AS_STORED) return convert(array, rank, shape, memory, to, size);
    om_dense(rank, shape, item, dense);
    om_copy(rank, shape, item, to, dense, view.data + view.offset, view.stride);
    return OZARR_OK;
}

ozarr_status om_waiting_add(om_waiting *w, const ozarr_array *array, int32_t rank, const int64_t *start, const int64_t *shape,
                            const ozarr_memory *memory) {
    om_waiting_box box = {.size = 0}, *more;
    ozarr_status status = ozarr_array_item_size(array, &box.size);
    if (status != OZARR_OK) return status;
    for (int32_t d = 0; d < rank; d++) {
        box.start[d] = start[d], box.shape[d] = shape[d];
        if (shape[d] == 0) return OZARR_OK;
        if (__builtin_mul_overflow(box.size, (size_t)shape[d], &box.size)) return om_error(OZARR_ERR_LIMIT, "a step has more than 2^64 bytes");
    }
    more = realloc(w->boxes, (w->count + 1) * sizeof *more);
    if (more != NULL) w->boxes = more;
    box.data = malloc(box.size);
    if (more == NULL || box.data == NULL) status = om_error(OZARR_ERR_NO_MEMORY, "a step of %zu bytes that waits", box.size);
    else status = fill(array, rank, shape, memory, box.data, box.size);
    if (status != OZARR_OK) {
        free(box.data);
        return status;
    }
    w->boxes[w->count++] = box;
    *w->bytes += (int64_t)box.size;
    return OZARR_OK;
}

ozarr_status om_waiting_write(ozarr_mpi *m, const om_waiting *w, const ozarr_array *array, int32_t dim, int64_t end) {
    ozarr_region *regions = calloc(w->count + 1, sizeof *regions);
    ozarr_memory *memories = calloc(w->count + 1, sizeof *memories);
    ozarr_type type = OZARR_AS_STORED;
    int64_t count = 0;
    ozarr_status status = ozarr_array_type(array, &type);
    if (regions == NULL || memories == NULL) status = om_error(OZARR_ERR_NO_MEMORY, "a list of %zu regions", w->count);
    for (size_t i = 0; i < w->count && status == OZARR_OK; i++) {
        const om_waiting_box *box = &w->boxes[i];
        if (box->start[dim] >= end) continue;
        ozarr_region_init(&regions[count]);
        ozarr_memory_init(&memories[count]);
        regions[count].start = box->start, regions[count].shape = box->shape;
        memories[count].data = box->data, memories[count].size = box->size, memories[count].type = type;
        count++;
    }
    status = om_move_all(m, array, true, status == OZARR_OK ? count : 0, regions, memories, status);
    free(regions);
    free(memories);
    return status;
}

void om_waiting_drop(om_waiting *w, int32_t dim, int64_t begin, int64_t end) {
    size_t kept = 0;
    for (size_t i = 0; i < w->count; i++) {
        if (w->boxes[i].start[dim] < begin || w->boxes[i].start[dim] >= end) {
            w->boxes[kept++] = w->boxes[i];
        } else {
            *w->bytes -= (int64_t)w->boxes[i].size;
            free(w->boxes[i].data);
        }
    }
    w->count = kept;
    if (kept > 0) return;
    free(w->boxes);
    w->boxes = NULL;
}
