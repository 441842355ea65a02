/* Between the module `ozarr` and ozarr.h: takes Fortran's array descriptors apart. To be compiled by the C compiler that belongs to
 * the Fortran compiler, because the descriptors differ between them. Dimensions are reversed here, and starts become 0-based. */
#include <ISO_Fortran_binding.h>
#include <ozarr.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 64
/* The last extent of an assumed-size array is -1. */
#define IS_ASSUMED_SIZE(u) ((u)->rank > 0 && (u)->dim[(u)->rank - 1].extent < 0)

typedef ozarr_status (*transfer_call)(const ozarr_array *, const ozarr_region *, const ozarr_memory *);

/* ---------------------------------------------------------------------------------------------------------------------
 * Messages
 * --------------------------------------------------------------------------------------------------------------------- */

/* The message of a failure that was found here, until ozf_message gives it; else the library's own counts. */
static _Thread_local char note[400], given[400];

static ozarr_status fail(ozarr_status status, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(note, sizeof note, format, list);
    va_end(list);
    return status;
}

/* Whether the failure that just happened was a variable of characters. The caller may have put its length where Fortran looks for the
 * length of errmsg= (gfortran does so for type(*)), which must not be touched then. */
static _Thread_local int characters;

int32_t ozf_characters(void) {
    int found = characters;
    characters = 0;
    return found;
}

/* The message of the failure that just happened. */
const char *ozf_message(void) {
    if (note[0] == 0) return ozarr_last_error();
    memcpy(given, note, sizeof given);
    note[0] = 0;
    return given;
}

/* Notes a failure that the module found itself. */
void ozf_note(const char *text) { fail(0, "%s", text); }

/* ---------------------------------------------------------------------------------------------------------------------
 * Types and lists
 * --------------------------------------------------------------------------------------------------------------------- */

/* An empty list constructor lies nowhere. */
static int is_empty(const CFI_cdesc_t *u) {
    for (int f = 0; f < u->rank; f++)
        if (u->dim[f].extent == 0) return 1;
    return 0;
}

static int is_logical(const CFI_cdesc_t *u) {
    if (u->type == CFI_type_Bool) return 1;
#ifdef CFI_type_Logical
    return (u->type & CFI_type_mask) == CFI_type_Logical;
#else
    return 0;
#endif
}

static int is_character(const CFI_cdesc_t *u) {
#ifdef CFI_type_Character
    return (u->type & CFI_type_mask) == CFI_type_Character;
#else
    return u->type == CFI_type_char;
#endif
}

static int is_integer(const CFI_cdesc_t *u) {
    return u->type == CFI_type_int8_t || u->type == CFI_type_int16_t || u->type == CFI_type_int32_t || u->type == CFI_type_int64_t;
}

static ozarr_status found_characters(void) {
    characters = 1;
    return fail(OZARR_ERR_TYPE, "found characters, expected integer, real, complex or logical elements");
}

/* The type of elements in Fortran's memory. Logicals are OZARR_BOOL, of whichever size. */
static ozarr_status element_type(const CFI_cdesc_t *u, ozarr_type *type) {
    if (is_logical(u)) *type = OZARR_BOOL;
    else if (is_character(u)) return found_characters();
    else if (u->type == CFI_type_int8_t) *type = OZARR_INT8;
    else if (u->type == CFI_type_int16_t) *type = OZARR_INT16;
    else if (u->type == CFI_type_int32_t) *type = OZARR_INT32;
    else if (u->type == CFI_type_int64_t) *type = OZARR_INT64;
    else if (u->type == CFI_type_float) *type = OZARR_FLOAT32;
    else if (u->type == CFI_type_double) *type = OZARR_FLOAT64;
    else if (u->type == CFI_type_float_Complex) *type = OZARR_COMPLEX64;
    else if (u->type == CFI_type_double_Complex) *type = OZARR_COMPLEX128;
    else return fail(OZARR_ERR_TYPE, "found elements of %zu bytes of a type that ozarr does not know, expected integer (1, 2, 4, 8 bytes), real (4, 8), complex (2 x 4, 2 x 8) or logical", u->elem_len);
    return OZARR_OK;
}

static int64_t element(const CFI_cdesc_t *list, int i) {
    const char *at = (const char *)list->base_addr + i * list->dim[0].sm;
    switch (list->elem_len) {
    case 1: return *(const int8_t *)at;
    case 2: return *(const int16_t *)at;
    case 4: return *(const int32_t *)at;
    default: return *(const int64_t *)at;
    }
}

/* A list of integers of any kind, `rank` of them (any number up to 64 where rank is -1), in Fortran's order. */
static ozarr_status numbers(const CFI_cdesc_t *list, const char *what, int rank, int64_t *out, int *found) {
    if (is_character(list)) return found_characters();
    if (list->rank != 1 || !is_integer(list) || (list->base_addr == NULL && !is_empty(list)) || IS_ASSUMED_SIZE(list))
        return fail(OZARR_ERR_ARGUMENT, "found something else for %s, expected a list of integers, one for each dimension", what);
    CFI_index_t n = list->dim[0].extent;
    if (rank >= 0 && n != rank) return fail(OZARR_ERR_RANK, "%s has %lld numbers, expected %d, the rank of the array", what, (long long)n, rank);
    if (n > MAX_RANK) return fail(OZARR_ERR_RANK, "%s has %lld numbers, expected at most %d", what, (long long)n, MAX_RANK);
    for (int f = 0; f < (int)n; f++) out[f] = element(list, f);
    if (found != NULL) *found = (int)n;
    return OZARR_OK;
}

/* A list of integers as the library wants it: reversed. `found` may be NULL where `rank` says how many there have to be. */
ozarr_status ozf_dims(const CFI_cdesc_t *list, const char *what, int32_t rank, int64_t *out, int32_t *found) {
    int64_t forward[MAX_RANK];
    int n = 0;
    ozarr_status status = numbers(list, what, rank, forward, &n);
    if (status != OZARR_OK) return status;
    for (int f = 0; f < n; f++) out[n - 1 - f] = forward[f];
    if (found != NULL) *found = n;
    return OZARR_OK;
}

/* The fill value of a specification, from a scalar. */
ozarr_status ozf_set_fill(ozarr_spec *spec, const CFI_cdesc_t *value) {
    ozarr_type type;
    if (is_character(value)) return found_characters();
    if (value->rank != 0 || value->base_addr == NULL) return fail(OZARR_ERR_ARGUMENT, "found an array for the fill value, expected a scalar");
    ozarr_status status = element_type(value, &type);
    if (status != OZARR_OK) return status;
    if (type == OZARR_BOOL) {
        char bool_value = 0;
        for (size_t i = 0; i < value->elem_len; i++) bool_value |= ((const char *)value->base_addr)[i] != 0;
        return ozarr_spec_set_fill_value(spec, OZARR_BOOL, &bool_value);
    }
    return ozarr_spec_set_fill_value(spec, type, value->base_addr);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Reading and writing
 * --------------------------------------------------------------------------------------------------------------------- */

/* A region in Fortran's order, 1-based; and the distance in memory along each of its dimensions. */
typedef struct region {
    int rank;
    int64_t start[MAX_RANK], count[MAX_RANK], stride[MAX_RANK], distance[MAX_RANK];
} region;

static ozarr_status shape_of(const ozarr_array *array, int rank, int64_t *shape) {
    int64_t reversed[MAX_RANK];
    ozarr_status status = ozarr_array_shape(array, reversed);
    for (int f = 0; status == OZARR_OK && f < rank; f++) shape[f] = reversed[rank - 1 - f];
    return status;
}

static void shape_text(char *out, size_t size, int rank, const int64_t *shape) {
    size_t at = 0;
    out[0] = 0;
    for (int f = 0; f < rank && at + 24 < size; f++) at += (size_t)snprintf(out + at, size - at, "%s%lld", f > 0 ? ", " : "", (long long)shape[f]);
}

static ozarr_status mismatch(const CFI_cdesc_t *u, const char *what, int rank, const int64_t *count) {
    int64_t extents[CFI_MAX_RANK];
    char found[120], expected[120];
    for (int f = 0; f < u->rank; f++) extents[f] = u->dim[f].extent;
    shape_text(found, sizeof found, u->rank, extents);
    shape_text(expected, sizeof expected, rank, count);
    return fail(OZARR_ERR_RANK, "the variable has the shape [%s], expected that of %s, [%s]", found, what, expected);
}

/* Lays the variable's dimensions along the region's: both are the same but for dimensions of length 1. */
static ozarr_status lay(const CFI_cdesc_t *u, region *r, const char *what) {
    int f = 0;
    for (int d = 0; d < r->rank; d++) {
        r->distance[d] = 0;
        while (f < u->rank && u->dim[f].extent == 1 && r->count[d] != 1) f++;
        if (f < u->rank && u->dim[f].extent == r->count[d]) r->distance[d] = u->dim[f++].sm;
        else if (r->count[d] != 1) return mismatch(u, what, r->rank, r->count);
    }
    for (; f < u->rank; f++)
        if (u->dim[f].extent != 1) return mismatch(u, what, r->rank, r->count);
    return OZARR_OK;
}

/* The region that the arguments mean. Without start and count it is the whole array, which the variable has to match; with start
 * alone it is of the variable's shape, and 1 long in the dimensions after it. */
static ozarr_status region_of(const ozarr_array *array, int rank, const CFI_cdesc_t *u, const CFI_cdesc_t *start, const CFI_cdesc_t *count,
                              const CFI_cdesc_t *stride, region *r) {
    int64_t shape[MAX_RANK];
    ozarr_status status;
    r->rank = rank;
    if (start == NULL && (status = shape_of(array, rank, shape)) != OZARR_OK) return status;
    if (stride != NULL) {
        if ((status = numbers(stride, "stride", rank, r->stride, NULL)) != OZARR_OK) return status;
        for (int f = 0; f < rank; f++)
            if (r->stride[f] == 0 || r->stride[f] == INT64_MIN) return fail(OZARR_ERR_ARGUMENT, "stride(%d) is %lld, expected another number", f + 1, (long long)r->stride[f]);
    }
    if (start != NULL) {
        if ((status = numbers(start, "start", rank, r->start, NULL)) != OZARR_OK) return status;
        for (int f = 0; f < rank; f++)
            if (r->start[f] < 1) return fail(OZARR_ERR_BOUNDS, "start(%d) is %lld, expected at least 1", f + 1, (long long)r->start[f]);
    }
    for (int f = 0; f < rank; f++) {
        if (stride == NULL) r->stride[f] = 1;
        if (start == NULL) r->start[f] = r->stride[f] > 0 || shape[f] == 0 ? 1 : shape[f];
    }
    if (count != NULL) {
        if ((status = numbers(count, "count", rank, r->count, NULL)) != OZARR_OK) return status;
        for (int f = 0; f < rank; f++)
            if (r->count[f] < 0) return fail(OZARR_ERR_ARGUMENT, "count(%d) is %lld, expected at least 0", f + 1, (long long)r->count[f]);
        return lay(u, r, "count");
    }
    if (start == NULL) {
        for (int f = 0; f < rank; f++) r->count[f] = shape[f] == 0 ? 0 : (shape[f] - 1) / llabs(r->stride[f]) + 1;
        return lay(u, r, stride == NULL ? "the array" : "what stride leaves of the array");
    }
    if (u->rank > rank) return fail(OZARR_ERR_RANK, "the variable has rank %d, expected at most %d, the rank of the array", (int)u->rank, rank);
    for (int f = 0; f < rank; f++) {
        r->count[f] = f < u->rank ? u->dim[f].extent : 1;
        r->distance[f] = f < u->rank ? u->dim[f].sm : 0;
    }
    return OZARR_OK;
}

/* The library's message counts dimensions and indices from 0; this one says the same in Fortran's way. */
static ozarr_status out_of_bounds(const ozarr_array *array, const region *r) {
    int64_t shape[MAX_RANK];
    if (shape_of(array, r->rank, shape) != OZARR_OK) return OZARR_ERR_BOUNDS;
    for (int f = 0; f < r->rank; f++) {
        /* As floating point, which cannot overflow; a message needs no more digits. */
        double last = (double)r->start[f] + ((double)r->count[f] - 1) * (double)r->stride[f];
        if (r->start[f] > shape[f] + (r->count[f] == 0) || (r->count[f] > 0 && (last < 1 || last > (double)shape[f])))
            return fail(OZARR_ERR_BOUNDS, "dimension %d: start %lld, count %lld, stride %lld reach to element %.0f, expected elements from 1 to %lld", f + 1,
                        (long long)r->start[f], (long long)r->count[f], (long long)r->stride[f], last, (long long)shape[f]);
    }
    return OZARR_ERR_BOUNDS;
}

/* One call of the library with memory of these strides. */
static ozarr_status transfer(transfer_call call, const ozarr_array *array, const region *r, char *first, const int64_t *distance, size_t item, ozarr_type type) {
    int64_t start[MAX_RANK], shape[MAX_RANK], step[MAX_RANK], strides[MAX_RANK];
    int64_t below = 0, above = 0;
    int empty = 0;
    for (int f = 0; f < r->rank; f++) {
        int c = r->rank - 1 - f;
        start[c] = r->start[f] - 1;
        shape[c] = r->count[f];
        step[c] = r->stride[f];
        strides[c] = distance[f];
        if (r->count[f] == 0) empty = 1;
        else if (distance[f] < 0) below -= (r->count[f] - 1) * distance[f];
        else above += (r->count[f] - 1) * distance[f];
    }
    char nothing[16];
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start;
    region.shape = shape;
    region.step = step;
    memory.data = empty ? nothing : first - below;
    memory.size = empty ? sizeof nothing : (size_t)(below + above) + item;
    memory.offset = empty ? 0 : (size_t)below;
    memory.strides = empty ? NULL : strides;
    memory.type = type;
    ozarr_status status = call(array, &region, &memory);
    return status == OZARR_ERR_BOUNDS ? out_of_bounds(array, r) : status;
}

/* Logicals of more than one byte: by way of bytes, because the library knows no others. */
static ozarr_status logicals(int write, const ozarr_array *array, const region *r, char *first, size_t item) {
    int64_t total = 1, distance[MAX_RANK], at[MAX_RANK] = {0};
    for (int f = 0; f < r->rank; f++) {
        distance[f] = total;
        total *= r->count[f];
    }
    char *bytes = total > 0 ? (char *)malloc((size_t)total) : NULL;
    if (total > 0 && bytes == NULL) return fail(OZARR_ERR_NO_MEMORY, "no memory for %lld logicals of one byte", (long long)total);
    ozarr_status status = write ? OZARR_OK : transfer(ozarr_array_read_ex, array, r, bytes, distance, 1, OZARR_BOOL);
    for (int64_t i = 0; status == OZARR_OK && i < total; i++) {
        char *element = first;
        for (int f = 0; f < r->rank; f++) element += at[f] * r->distance[f];
        if (write) {
            bytes[i] = 0;
            for (size_t b = 0; b < item; b++) bytes[i] |= element[b] != 0;
        } else {
            const int16_t two = bytes[i];
            const int32_t four = bytes[i];
            const int64_t eight = bytes[i];
            memcpy(element, item == 2 ? (const void *)&two : item == 4 ? (const void *)&four : (const void *)&eight, item);
        }
        for (int f = 0; f < r->rank && ++at[f] == r->count[f]; f++) at[f] = 0;
    }
    if (write && status == OZARR_OK) status = transfer(ozarr_array_write_ex, array, r, bytes, distance, 1, OZARR_BOOL);
    free(bytes);
    return status;
}

static ozarr_status move(int write, const ozarr_array *array, int rank, const CFI_cdesc_t *u, const CFI_cdesc_t *start, const CFI_cdesc_t *count,
                         const CFI_cdesc_t *stride) {
    region r;
    ozarr_type type;
    if (array == NULL) return fail(OZARR_ERR_NULL, "the array is not open");
    if (u->base_addr == NULL && !is_empty(u)) return fail(OZARR_ERR_NULL, "the variable is not allocated, or not associated");
    if (IS_ASSUMED_SIZE(u)) return fail(OZARR_ERR_ARGUMENT, "found an assumed-size array, whose last extent is unknown; expected a section of it, such as u(:, 1:n)");
    ozarr_status status = element_type(u, &type);
    if (status == OZARR_OK) status = region_of(array, rank, u, start, count, stride, &r);
    if (status != OZARR_OK) return status;
    if (type == OZARR_BOOL && u->elem_len != 1) {
        if (u->elem_len != 2 && u->elem_len != 4 && u->elem_len != 8) return fail(OZARR_ERR_TYPE, "found logicals of %zu bytes, expected 1, 2, 4 or 8", u->elem_len);
        return logicals(write, array, &r, (char *)u->base_addr, u->elem_len);
    }
    return transfer(write ? ozarr_array_write_ex : ozarr_array_read_ex, array, &r, (char *)u->base_addr, r.distance, u->elem_len, type);
}

ozarr_status ozf_read(const ozarr_array *array, int32_t rank, CFI_cdesc_t *u, const CFI_cdesc_t *start, const CFI_cdesc_t *count, const CFI_cdesc_t *stride) {
    return move(0, array, rank, u, start, count, stride);
}

ozarr_status ozf_write(const ozarr_array *array, int32_t rank, const CFI_cdesc_t *u, const CFI_cdesc_t *start, const CFI_cdesc_t *count, const CFI_cdesc_t *stride) {
    return move(1, array, rank, u, start, count, stride);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Growing
 * --------------------------------------------------------------------------------------------------------------------- */

/* Makes dimension `dim` (1-based) longer by the variable, of the array's rank; or of one less, for one slab of it. If the write
 * fails the array is as before. */
ozarr_status ozf_append(ozarr_array *array, int32_t rank, const CFI_cdesc_t *u, int32_t dim) {
    int64_t shape[MAX_RANK] = {0}, reversed[MAX_RANK];
    region r = {0};
    ozarr_type type;
    if (array == NULL) return fail(OZARR_ERR_NULL, "the array is not open");
    if (rank == 0) return fail(OZARR_ERR_RANK, "an array of rank 0 cannot grow");
    if (dim < 1 || dim > rank) return fail(OZARR_ERR_BOUNDS, "dim is %d, expected 1 to %d", dim, rank);
    if (u->base_addr == NULL && !is_empty(u)) return fail(OZARR_ERR_NULL, "the variable is not allocated, or not associated");
    if (IS_ASSUMED_SIZE(u)) return fail(OZARR_ERR_ARGUMENT, "found an assumed-size array, whose last extent is unknown; expected a section of it, such as u(:, 1:n)");
    if (u->rank != rank && u->rank != rank - 1) return fail(OZARR_ERR_RANK, "the variable has rank %d, expected %d, or %d for one slab", (int)u->rank, rank, rank - 1);
    ozarr_status status = element_type(u, &type);
    if (status == OZARR_OK) status = shape_of(array, rank, shape);
    if (status != OZARR_OK) return status;
    r.rank = rank;
    for (int f = 0; f < rank; f++) {
        r.start[f] = f == dim - 1 ? shape[f] + 1 : 1;
        r.count[f] = f != dim - 1 ? shape[f] : u->rank == rank ? u->dim[f].extent : 1;
        r.stride[f] = 1;
    }
    for (int f = 0, v = 0; f < rank; f++) {
        if (u->rank < rank && f == dim - 1) r.distance[f] = 0;
        else if (u->dim[v].extent != r.count[f]) return mismatch(u, "a slab of the array", rank, r.count);
        else r.distance[f] = u->dim[v++].sm;
    }
    if (r.count[dim - 1] > INT64_MAX - shape[dim - 1]) return fail(OZARR_ERR_BOUNDS, "dimension %d would become too long", dim);
    for (int f = 0; f < rank; f++) reversed[rank - 1 - f] = shape[f] + (f == dim - 1 ? r.count[f] : 0);
    status = ozarr_array_resize(array, reversed);
    if (status != OZARR_OK) return status;
    if (type == OZARR_BOOL && u->elem_len != 1) status = logicals(1, array, &r, (char *)u->base_addr, u->elem_len);
    else status = transfer(ozarr_array_write_ex, array, &r, (char *)u->base_addr, r.distance, u->elem_len, type);
    if (status != OZARR_OK) {
        /* The first failure is what is told. */
        if (note[0] == 0) snprintf(note, sizeof note, "%s", ozarr_last_error());
        reversed[rank - dim] -= r.count[dim - 1];
        ozarr_status undone = ozarr_array_resize(array, reversed);
        (void)undone;
    }
    return status;
}
