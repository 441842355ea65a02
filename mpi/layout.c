/* Elements in memory: checks a description of memory, and copies boxes of elements. */
#include "internal.h"

#include <string.h>

/* The bytes of each number of ozarr_type. */
static size_t size_of_number(ozarr_type type) {
    switch (type) {
    case OZARR_INT16: case OZARR_UINT16: case OZARR_FLOAT16: case OZARR_BFLOAT16: return 2;
    case OZARR_INT32: case OZARR_UINT32: case OZARR_FLOAT32: return 4;
    case OZARR_INT64: case OZARR_UINT64: case OZARR_FLOAT64: case OZARR_COMPLEX64: return 8;
    case OZARR_COMPLEX128: return 16;
    default: return type >= OZARR_BOOL && type <= OZARR_FLOAT4_E2M1FN ? 1 : 0;
    }
}

ozarr_status om_item_size(const ozarr_array *array, const ozarr_memory *memory, size_t *size) {
    ozarr_status status = OZARR_OK;
    *size = 0;
    if (memory->type == OZARR_AS_STORED || (memory->type == OZARR_BY_DTYPE && memory->dtype == NULL))
        status = ozarr_array_item_size(array, size);
    else if (memory->type == OZARR_BY_DTYPE) status = ozarr_dtype_item_size(memory->dtype, size);
    else *size = size_of_number(memory->type);
    if (status == OZARR_OK && *size == 0)
        return om_error(OZARR_ERR_TYPE, "elements of type %d have no fixed size in memory, expected a type of numbers, or OZARR_BY_DTYPE",
                        (int)memory->type);
    return status;
}

void om_dense(int32_t rank, const int64_t *shape, size_t item, int64_t *stride) {
    int64_t bytes = (int64_t)item;
    for (int d = rank - 1; d >= 0; d--) {
        stride[d] = bytes;
        bytes *= shape[d];
    }
}

static ozarr_status multiply(int64_t a, int64_t b, int64_t *product) {
    return __builtin_mul_overflow(a, b, product) ? om_error(OZARR_ERR_LIMIT, "the memory's bytes are more than 2^63") : OZARR_OK;
}

/* The strides of contiguous memory of `sizes`, in that order. */
static ozarr_status contiguous(const ozarr_memory *memory, int32_t rank, const int64_t *sizes, size_t item, int64_t *stride) {
    if (memory->order != OZARR_ORDER_C && memory->order != OZARR_ORDER_F)
        return om_error(OZARR_ERR_ARGUMENT, "memory.order is %d, expected OZARR_ORDER_C or OZARR_ORDER_F", (int)memory->order);
    int64_t bytes = (int64_t)item;
    ozarr_status status = OZARR_OK;
    for (int i = 0; i < rank && status == OZARR_OK; i++) {
        const int d = memory->order == OZARR_ORDER_C ? rank - 1 - i : i;
        stride[d] = bytes;
        status = multiply(bytes, sizes[d], &bytes);
    }
    return status;
}

/* A part of a larger array in memory. */
static ozarr_status subarray(const ozarr_memory *memory, int32_t rank, const int64_t *shape, size_t item, om_view *view, int64_t *offset) {
    if (memory->strides != NULL) return om_error(OZARR_ERR_ARGUMENT, "memory.strides is given beside memory.sizes, expected NULL");
    ozarr_status status = contiguous(memory, rank, memory->sizes, item, view->stride);
    for (int d = 0; d < rank && status == OZARR_OK; d++) {
        const int64_t start = memory->starts != NULL ? memory->starts[d] : 0, size = memory->sizes[d];
        if (start < 0 || size < 0 || shape[d] > size || start > size - shape[d])
            return om_error(OZARR_ERR_BOUNDS, "memory: elements %lld to %lld of dimension %d, expected 0 to memory.sizes, %lld",
                            (long long)start, (long long)(start + shape[d]), d, (long long)size);
        *offset += start * view->stride[d];
    }
    return status;
}

/* Whether no two elements share bytes: each stride is larger than what the smaller ones reach. */
static bool are_distinct(int32_t rank, const int64_t *shape, const int64_t *stride, size_t item) {
    bool used[PLAN_MAX_RANK] = {false};
    int64_t reach = (int64_t)item;
    for (int i = 0; i < rank; i++) {
        int next = -1;
        int64_t least = INT64_MAX;
        for (int d = 0; d < rank; d++) {
            const int64_t s = stride[d] < 0 ? -stride[d] : stride[d];
            if (!used[d] && shape[d] > 1 && s <= least) next = d, least = s;
        }
        if (next < 0) return true;
        if (least < reach) return false;
        used[next] = true;
        reach += least * (shape[next] - 1);
    }
    return true;
}

ozarr_status om_view_of(const ozarr_memory *memory, int32_t rank, const int64_t *shape, size_t item, bool distinct, om_view *view) {
    int64_t low = 0, high = (int64_t)item, offset = (int64_t)memory->offset;
    memset(view, 0, sizeof *view);
    if (om_is_empty(rank, shape)) return OZARR_OK;
    if (memory->data == NULL) return om_error(OZARR_ERR_NULL, "memory.data is NULL");
    ozarr_status status = OZARR_OK;
    if (memory->sizes != NULL) status = subarray(memory, rank, shape, item, view, &offset);
    else if (memory->strides == NULL) status = contiguous(memory, rank, shape, item, view->stride);
    else memcpy(view->stride, memory->strides, (size_t)rank * sizeof *view->stride);
    for (int d = 0; d < rank && status == OZARR_OK; d++) {
        int64_t reach = 0;
        if (shape[d] > 1) status = multiply(view->stride[d], shape[d] - 1, &reach);
        if (__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            status = om_error(OZARR_ERR_LIMIT, "the memory's bytes are more than 2^63");
    }
    if (status != OZARR_OK) return status;
    if (offset < 0 || offset + low < 0 || high > INT64_MAX - offset || (uint64_t)(offset + high) > memory->size)
        return om_error(OZARR_ERR_BUFFER_SIZE, "the elements are at bytes %lld to %lld of the memory, which has %zu", (long long)(offset + low),
                        (long long)(offset + high), memory->size);
    if (distinct && !are_distinct(rank, shape, view->stride, item))
        return om_error(OZARR_ERR_ARGUMENT, "memory.strides let elements overlap that are read");
    view->data = memory->data, view->size = memory->size, view->offset = (size_t)offset;
    return OZARR_OK;
}

/* Copies elements that are not next to each other. */
static void copy_line(int64_t n, size_t item, char *to, int64_t to_stride, const char *from, int64_t from_stride) {
    if (to_stride == (int64_t)item && from_stride == (int64_t)item) {
        memcpy(to, from, (size_t)n * item);
        return;
    }
    switch (item) {
    case 4: for (int64_t i = 0; i < n; i++) memcpy(to + i * to_stride, from + i * from_stride, 4); break;
    case 8: for (int64_t i = 0; i < n; i++) memcpy(to + i * to_stride, from + i * from_stride, 8); break;
    default: for (int64_t i = 0; i < n; i++) memcpy(to + i * to_stride, from + i * from_stride, item);
    }
}

void om_copy(int32_t rank, const int64_t *shape, size_t item, char *to, const int64_t *to_stride, const char *from,
             const int64_t *from_stride) {
    /* Dimensions that are contiguous on both sides become one. */
    while (rank > 0 && (shape[rank - 1] == 1 || (to_stride[rank - 1] == (int64_t)item && from_stride[rank - 1] == (int64_t)item)))
        item *= (size_t)shape[--rank];
    if (rank <= 1) {
        if (rank == 0) memcpy(to, from, item);
        else copy_line(shape[0], item, to, to_stride[0], from, from_stride[0]);
        return;
    }
    int64_t at[PLAN_MAX_RANK] = {0};
    const int last = rank - 1;
    for (;;) {
        copy_line(shape[last], item, to, to_stride[last], from, from_stride[last]);
        int d = last - 1;
        for (; d >= 0 && at[d] == shape[d] - 1; d--) {
            to -= at[d] * to_stride[d], from -= at[d] * from_stride[d];
            at[d] = 0;
        }
        if (d < 0) return;
        at[d]++;
        to += to_stride[d], from += from_stride[d];
    }
}
