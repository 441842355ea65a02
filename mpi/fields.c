/* Structs in memory: which of their bytes are fields. Reading leaves those between the fields as they are, also where elements come by messages. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Adds bytes to the runs. */
static ozarr_status add(om_fields *fields, size_t offset, size_t size) {
    om_run *last = fields->count > 0 ? &fields->runs[fields->count - 1] : NULL;
    fields->bytes += size;
    if (last != NULL && last->offset + last->size == offset) {
        last->size += size;
        return OZARR_OK;
    }
    om_run *more = realloc(fields->runs, (fields->count + 1) * sizeof *more);
    if (more == NULL) return om_error(OZARR_ERR_NO_MEMORY, "the fields of a struct");
    fields->runs = more;
    more[fields->count++] = (om_run){offset, size};
    return OZARR_OK;
}

static void mix(om_fields *fields, const void *bytes, size_t size) {
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; i++) fields->hash = (fields->hash ^ b[i]) * 1099511628211u;
}

static ozarr_status collect(om_fields *fields, const ozarr_dtype *dtype, size_t offset);

/* Adds a type that is no struct: all of its bytes. */
static ozarr_status add_value(om_fields *fields, const ozarr_dtype *dtype, size_t offset) {
    char name[256] = "";
    size_t size = 0, length = 0;
    /* A type that exists in memory only has its size. */
    if (ozarr_dtype_to_json(dtype, 3, name, sizeof name, &length) != OZARR_OK) name[0] = 0;
    const ozarr_status status = ozarr_dtype_item_size(dtype, &size);
    mix(fields, name, strlen(name));
    mix(fields, &size, sizeof size);
    return status == OZARR_OK ? add(fields, offset, size) : status;
}

/* Adds a field of a struct that begins at `offset`: each of its values, where it has a shape. */
static ozarr_status add_field(om_fields *fields, const ozarr_dtype *dtype, int64_t index, size_t offset) {
    char name[256] = "";
    int64_t shape[PLAN_MAX_RANK], values = 1;
    int32_t rank = 0;
    size_t place = 0, size = 0, length = 0;
    ozarr_dtype *field = NULL;
    ozarr_status status = ozarr_dtype_field_name(dtype, index, name, sizeof name, &length);
    if (status == OZARR_OK || status == OZARR_ERR_BUFFER_SIZE) status = ozarr_dtype_field_offset(dtype, index, &place);
    if (status == OZARR_OK) status = ozarr_dtype_field_shape(dtype, index, shape, PLAN_MAX_RANK, &rank);
    if (status == OZARR_OK) status = ozarr_dtype_copy_field_dtype(dtype, index, &field);
    if (status == OZARR_OK) status = ozarr_dtype_item_size(field, &size);
    for (int32_t d = 0; d < rank && status == OZARR_OK; d++) values *= shape[d];
    mix(fields, name, strlen(name));
    mix(fields, &place, sizeof place);
    for (int64_t i = 0; i < values && status == OZARR_OK; i++) status = collect(fields, field, offset + place + (size_t)i * size);
    ozarr_dtype_free(field);
    return status;
}

static ozarr_status collect(om_fields *fields, const ozarr_dtype *dtype, size_t offset) {
    int64_t count = 0;
    ozarr_status status = ozarr_dtype_field_count(dtype, &count);
    if (status == OZARR_OK && count == 0) return add_value(fields, dtype, offset);
    for (int64_t i = 0; i < count && status == OZARR_OK; i++) status = add_field(fields, dtype, i, offset);
    return status;
}

ozarr_status om_fields_of(const ozarr_memory *memory, om_fields *fields) {
    memset(fields, 0, sizeof *fields);
    if (memory->type != OZARR_BY_DTYPE || memory->dtype == NULL) return OZARR_OK;
    fields->hash = 14695981039346656037u;
    return collect(fields, memory->dtype, 0);
}

void om_copy_fields(const om_fields *fields, int32_t rank, const int64_t *shape, size_t item, char *to, const int64_t *to_stride, const char *from,
                    const int64_t *from_stride) {
    if (!om_has_gaps(fields, item)) om_copy(rank, shape, item, to, to_stride, from, from_stride);
    else
        for (size_t i = 0; i < fields->count; i++)
            om_copy(rank, shape, fields->runs[i].size, to + fields->runs[i].offset, to_stride, from + fields->runs[i].offset, from_stride);
}
