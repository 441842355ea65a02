/* Between the module `ozarr` and ozarr.h: takes Fortran's array descriptors apart. To be compiled by the C compiler that belongs to
 * the Fortran compiler, because the descriptors differ between them. Dimensions are reversed here, and starts become 0-based. */
#include "ozarr_descriptor.h"
#include <ozarr_advanced.h>
#include <ozarr_extend.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 64

#if defined(__linux__) && defined(__GNUC__)
/* libgfortran names these weakly, and calls them once it finds a function of threads in the program, such as the archive of the library brings.
 * In a program that is static as a whole those that nobody else names would not be there. */
__attribute__((used)) static void (*const of_threads[])(void) = {
    (void (*)(void))pthread_mutex_init,   (void (*)(void))pthread_mutex_destroy, (void (*)(void))pthread_mutex_lock,
    (void (*)(void))pthread_mutex_trylock, (void (*)(void))pthread_mutex_unlock, (void (*)(void))pthread_cond_init,
    (void (*)(void))pthread_cond_destroy, (void (*)(void))pthread_cond_broadcast, (void (*)(void))pthread_cond_wait,
    (void (*)(void))pthread_key_create,   (void (*)(void))pthread_key_delete,    (void (*)(void))pthread_getspecific,
    (void (*)(void))pthread_setspecific,  (void (*)(void))pthread_create,        (void (*)(void))pthread_join,
    (void (*)(void))pthread_self,
};
#endif

/* What a call does with the elements; those that write are odd. As in ozarr_arrays.f90. */
enum { READ, WRITE, UNPACK, PACK, IREAD, IWRITE, READ_TIMES, WRITE_TIMES, READ_POINTS, WRITE_POINTS, READ_LISTS, WRITE_LISTS, READ_MASK, WRITE_MASK,
       NOTE_READ, NOTE_WRITE };

/* What a call may have besides its region. As in ozarr_arrays.f90. */
typedef struct options {
    int32_t overflow, copy;
    double seconds;
    const char *units, *field;
    const ozarr_dtype *dtype;
    uint64_t periodic; /* bit f: dimension f + 1 */
} options;

static int is_periodic(const options *more, int f) { return (int)(more->periodic >> f & 1); }

/* The elements of a call that picks some: the coordinates of `count` points, or a list for each dimension, or a mask of a region, in C's order. */
typedef struct picked {
    int64_t count;
    const int64_t *points, *counts;
    const int64_t *const *lists;
    const uint8_t *mask;
    const ozarr_region *region;
} picked;

typedef struct operation {
    const ozarr_array *array;
    int32_t what;
    const options *more;
    ozarr_request **request;
    const picked *picked;
} operation;

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

/* The message of the failure that just happened, in Fortran's order. */
const char *ozf_message(void) {
    if (note[0] == 0) return ozarr_last_error_in(OZARR_ORDER_F);
    memcpy(given, note, sizeof given);
    note[0] = 0;
    return given;
}

/* Makes a failure that was found here the library's last one, which it tells the other ranks of a communicator. */
void ozf_tell(ozarr_status status) {
    if (note[0] == 0) return;
    (void)!ozarr_set_error(status, note, NULL);
    note[0] = 0;
}

/* Begins the message of a failure that the module found itself. */
void ozf_note_begin(void) { note[0] = 0; }

/* Adds to it `length` bytes of text. */
void ozf_note_text(const char *text, int64_t length) {
    const size_t at = strlen(note), room = sizeof note - 1 - at, n = (size_t)length < room ? (size_t)length : room;
    memcpy(note + at, text, n);
    note[at + n] = 0;
}

/* Adds to it a number. */
void ozf_note_number(int64_t number) {
    const size_t at = strlen(note);
    snprintf(note + at, sizeof note - at, "%lld", (long long)number);
}

/* Whether an argument of the call had no memory: it is NULL, of which the library says something else, or nothing. */
static _Thread_local int32_t starved;

void ozf_no_memory(void) { starved = 1; }

/* What a call that ended with this status has to say. */
ozarr_status ozf_outcome(ozarr_status status) {
    if (!starved) return status;
    starved = 0;
    return fail(OZARR_ERR_NO_MEMORY, "no memory for a text of the call");
}

/* Held while a thread looks into the list of a series' variables, or adds to it, or to that of a batch. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take(void) { pthread_mutex_lock(&lock); }

void ozf_unlock(void) { pthread_mutex_unlock(&lock); }

/* A child of fork has the lists whole, and the lock free, whatever other threads were doing. */
static void keep_around_fork(void) {
#if !defined(_WIN32)
    (void)pthread_atfork(take, ozf_unlock, ozf_unlock);
#endif
}

void ozf_lock(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, keep_around_fork);
    take();
}

/* Copies the bytes of a number. */
void ozf_copy(void *to, const void *from, size_t length) { memcpy(to, from, length); }

/* ---------------------------------------------------------------------------------------------------------------------
 * Types
 * --------------------------------------------------------------------------------------------------------------------- */

static int is_text(const CFI_cdesc_t *u) { return u->type == CFI_type_char; }

/* The type of elements in Fortran's memory; texts are OZARR_BY_DTYPE. */
static ozarr_status element_type(const CFI_cdesc_t *u, ozarr_type *type) {
    if (is_text(u)) *type = OZARR_BY_DTYPE;
    else if (!find_number_type(u, type))
        return fail(OZARR_ERR_TYPE, "found elements of %zu bytes of a type that ozarr does not know, expected integer (1, 2, 4, 8 bytes), real (4, 8), complex (2 x 4, 2 x 8) or logical (1, 2, 4, 8)", u->elem_len);
    return OZARR_OK;
}

/* Whether characters were given for an argument of any type: gfortran passes their length, too, before that of errmsg, which takes it for its own. */
static _Thread_local int32_t characters;

void ozf_note_characters(const CFI_cdesc_t *u) {
    if (is_text(u)) characters = 1;
}

/* Whether the length of errmsg is its own. */
int32_t ozf_errmsg_is_known(void) {
    const int32_t known = !characters;
    characters = 0;
    return known;
}

/* Copies integers of any kind, in an array of this rank, the first dimension fastest; OZARR_ERR_ARGUMENT where it is something else. */
ozarr_status ozf_integers(const CFI_cdesc_t *list, int32_t rank, int64_t *out) {
    ozarr_type type;
    ozf_note_characters(list);
    if (list->rank != rank || element_type(list, &type) != OZARR_OK || type < OZARR_INT8 || type > OZARR_INT64) return OZARR_ERR_ARGUMENT;
    const CFI_index_t outer = rank == 2 ? extent_of(list, 1) : 1;
    for (CFI_index_t j = 0; j < outer; j++)
        for (CFI_index_t i = 0; i < extent_of(list, 0); i++) {
            const char *element = (const char *)list->base_addr + i * list->dim[0].sm + (rank == 2 ? j * list->dim[1].sm : 0);
            int8_t one;
            int16_t two;
            int32_t four;
            if (type == OZARR_INT8) memcpy(&one, element, sizeof one), *out++ = one;
            else if (type == OZARR_INT16) memcpy(&two, element, sizeof two), *out++ = two;
            else if (type == OZARR_INT32) memcpy(&four, element, sizeof four), *out++ = four;
            else memcpy(out++, element, sizeof *out);
        }
    return OZARR_OK;
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
    for (int f = 0; f < u->rank; f++) extents[f] = extent_of(u, f);
    shape_text(found, sizeof found, u->rank, extents);
    shape_text(expected, sizeof expected, rank, count);
    return fail(OZARR_ERR_RANK, "the variable has the shape [%s], expected that of %s, [%s]", found, what, expected);
}

/* Lays the variable's dimensions along the region's: both are the same but for dimensions of length 1. */
static ozarr_status lay(const CFI_cdesc_t *u, region *r, const char *what) {
    int f = 0;
    for (int d = 0; d < r->rank; d++) {
        r->distance[d] = 0;
        while (f < u->rank && extent_of(u, f) == 1 && r->count[d] != 1) f++;
        if (f < u->rank && extent_of(u, f) == r->count[d]) r->distance[d] = u->dim[f++].sm;
        else if (r->count[d] != 1) return mismatch(u, what, r->rank, r->count);
    }
    for (; f < u->rank; f++)
        if (extent_of(u, f) != 1) return mismatch(u, what, r->rank, r->count);
    return OZARR_OK;
}

/* The lists of a region in Fortran's order, as the module gives them; NULL for those that are left out. */
typedef struct region_lists {
    const int64_t *start, *count, *stride;
} region_lists;

static region_lists lists_of(int32_t given, const int64_t *columns) {
    region_lists l = {given & 1 ? columns : NULL, given & 2 ? columns + MAX_RANK : NULL, given & 4 ? columns + 2 * MAX_RANK : NULL};
    return l;
}

/* Refuses starts below 1 (but in periodic dimensions), negative counts and strides of 0. */
static ozarr_status check_lists(int rank, const region_lists *l, const options *more) {
    for (int f = 0; f < rank; f++) {
        if (l->stride != NULL && (l->stride[f] == 0 || l->stride[f] == INT64_MIN))
            return fail(OZARR_ERR_ARGUMENT, "stride(%d) is %lld, expected another number", f + 1, (long long)l->stride[f]);
        if (l->start != NULL && (is_periodic(more, f) ? l->start[f] == INT64_MIN : l->start[f] < 1))
            return fail(OZARR_ERR_BOUNDS, "start(%d) is %lld, expected at least 1", f + 1, (long long)l->start[f]);
        if (l->count != NULL && l->count[f] < 0) return fail(OZARR_ERR_ARGUMENT, "count(%d) is %lld, expected at least 0", f + 1, (long long)l->count[f]);
    }
    return OZARR_OK;
}

/* The region that the arguments mean. Without start and count it is the whole array, which the variable has to match; with start
 * alone it is of the variable's shape, and 1 long in the dimensions after it. */
static ozarr_status region_of(const ozarr_array *array, int rank, const CFI_cdesc_t *u, const region_lists *l, const options *more, region *r) {
    int64_t shape[MAX_RANK];
    r->rank = rank;
    ozarr_status status = check_lists(rank, l, more);
    if (status == OZARR_OK && l->start == NULL) status = shape_of(array, rank, shape);
    if (status != OZARR_OK) return status;
    for (int f = 0; f < rank; f++) {
        r->stride[f] = l->stride != NULL ? l->stride[f] : 1;
        r->start[f] = l->start != NULL ? l->start[f] : r->stride[f] > 0 || shape[f] == 0 ? 1 : shape[f];
    }
    if (l->count != NULL) {
        memcpy(r->count, l->count, (size_t)rank * sizeof *r->count);
        return lay(u, r, "count");
    }
    if (l->start == NULL) {
        for (int f = 0; f < rank; f++) r->count[f] = shape[f] == 0 ? 0 : (shape[f] - 1) / llabs(r->stride[f]) + 1;
        return lay(u, r, l->stride == NULL ? "the array" : "what stride leaves of the array");
    }
    if (u->rank > rank) return fail(OZARR_ERR_RANK, "the variable has rank %d, expected at most %d, the rank of the array", (int)u->rank, rank);
    for (int f = 0; f < rank; f++) {
        r->count[f] = f < u->rank ? extent_of(u, f) : 1;
        r->distance[f] = f < u->rank ? u->dim[f].sm : 0;
    }
    return OZARR_OK;
}

/* Says in Fortran's words which dimension a region leaves; nothing where that is not the fault. */
static ozarr_status out_of_bounds(const ozarr_array *array, const region *r, const options *more) {
    int64_t shape[MAX_RANK];
    if (shape_of(array, r->rank, shape) != OZARR_OK) return OZARR_ERR_BOUNDS;
    for (int f = 0; f < r->rank; f++) {
        if (is_periodic(more, f)) continue;
        /* As floating point, which cannot overflow; a message needs no more digits. */
        double last = (double)r->start[f] + ((double)r->count[f] - 1) * (double)r->stride[f];
        if (r->start[f] > shape[f] + (r->count[f] == 0) || (r->count[f] > 0 && (last < 1 || last > (double)shape[f])))
            return fail(OZARR_ERR_BOUNDS, "dimension %d: start %lld, count %lld, stride %lld reach to element %.0f, expected elements from 1 to %lld", f + 1,
                        (long long)r->start[f], (long long)r->count[f], (long long)r->stride[f], last, (long long)shape[f]);
    }
    return OZARR_ERR_BOUNDS;
}

/* Begins a read or a write. */
static ozarr_status begin(const operation *o, const ozarr_region *region, const ozarr_memory *memory) {
    ozarr_request_options with = OZARR_REQUEST_OPTIONS_INIT;
    with.seconds = o->more->seconds;
    if (o->what == IREAD) return ozarr_array_iread_ex(o->array, region, memory, &with, o->request);
    with.flags = o->more->copy ? OZARR_REQUEST_COPY : 0;
    return ozarr_array_iwrite_ex(o->array, region, memory, &with, o->request);
}

/* One region of a batch, with all that it needs: what points into it is set when the batch is run, because the program may move it. */
typedef struct noted {
    const ozarr_array *array;
    ozarr_memory memory;
    int64_t start[MAX_RANK], shape[MAX_RANK], step[MAX_RANK], strides[MAX_RANK];
} noted;
_Static_assert(sizeof(noted) <= 280 * sizeof(int64_t), "type(noted) of ozarr_batches.f90 is too small");

/* Keeps a region for a batch. Where the memory has no elements, none of it is looked at. */
static ozarr_status keep(const operation *o, const ozarr_region *region, const ozarr_memory *memory) {
    static char nothing[16];
    noted n = {0};
    int32_t rank = 0;
    ozarr_status status = ozarr_array_rank(o->array, &rank);
    n.array = o->array, n.memory = *memory;
    memcpy(n.start, region->start, (size_t)rank * sizeof *n.start);
    memcpy(n.shape, region->shape, (size_t)rank * sizeof *n.shape);
    memcpy(n.step, region->step, (size_t)rank * sizeof *n.step);
    if (memory->strides != NULL) memcpy(n.strides, memory->strides, (size_t)rank * sizeof *n.strides);
    else n.memory.data = nothing;
    memcpy(*o->request, &n, sizeof n);
    return status;
}

/* The call of the library. */
static ozarr_status run(const operation *o, const ozarr_region *region, const ozarr_memory *memory) {
    switch (o->what) {
    case READ: return ozarr_array_read_ex(o->array, region, memory);
    case WRITE: return ozarr_array_write_ex(o->array, region, memory);
    case UNPACK: return ozarr_array_read_unpacked(o->array, region, memory);
    case PACK: return ozarr_array_write_packed(o->array, region, memory);
    case READ_TIMES: return ozarr_array_read_times(o->array, region, o->more->units, (int64_t *)memory->data, memory->size);
    case WRITE_TIMES: return ozarr_array_write_times(o->array, region, o->more->units, (const int64_t *)memory->data, memory->size);
    case READ_POINTS: return ozarr_array_read_points(o->array, o->picked->points, o->picked->count, memory);
    case WRITE_POINTS: return ozarr_array_write_points(o->array, o->picked->points, o->picked->count, memory);
    case READ_LISTS: return ozarr_array_read_orthogonal(o->array, o->picked->counts, o->picked->lists, memory);
    case READ_MASK: return ozarr_array_read_mask(o->array, o->picked->region, o->picked->mask, memory);
    case WRITE_MASK: return ozarr_array_write_mask(o->array, o->picked->region, o->picked->mask, memory);
    case WRITE_LISTS: return ozarr_array_write_orthogonal(o->array, o->picked->counts, o->picked->lists, memory);
    case NOTE_READ:
    case NOTE_WRITE: return keep(o, region, memory);
    default: return begin(o, region, memory);
    }
}

/* The memory of a region's elements, the first of which is at `first`. `strides` and `nothing` are to live as long as it. */
static ozarr_memory describe(const region *r, char *first, const int64_t *distance, size_t item, ozarr_type type, int64_t strides[MAX_RANK], char nothing[16]) {
    int64_t below = 0, above = 0;
    int empty = 0;
    for (int f = 0; f < r->rank; f++) {
        strides[r->rank - 1 - f] = distance[f];
        if (r->count[f] == 0) empty = 1;
        else if (distance[f] < 0) below -= (r->count[f] - 1) * distance[f];
        else above += (r->count[f] - 1) * distance[f];
    }
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = empty ? nothing : first - below;
    memory.size = empty ? 16 : (size_t)(below + above) + item;
    memory.offset = empty ? 0 : (size_t)below;
    memory.strides = empty ? NULL : strides;
    memory.type = type;
    return memory;
}

/* One call of the library with memory of these strides. */
static ozarr_status transfer(const operation *o, const region *r, char *first, const int64_t *distance, size_t item, ozarr_type type) {
    int64_t start[MAX_RANK], shape[MAX_RANK], step[MAX_RANK], strides[MAX_RANK];
    bool periodic[MAX_RANK];
    char nothing[16];
    for (int f = 0; f < r->rank; f++) {
        int c = r->rank - 1 - f;
        start[c] = r->start[f] - 1;
        shape[c] = r->count[f];
        step[c] = r->stride[f];
        periodic[c] = is_periodic(o->more, f);
    }
    ozarr_region region = OZARR_REGION_INIT;
    region.start = start;
    region.shape = shape;
    region.step = step;
    region.periodic = o->more->periodic != 0 ? periodic : NULL;
    ozarr_memory memory = describe(r, first, distance, item, type, strides, nothing);
    memory.overflow = o->more->overflow;
    memory.dtype = o->more->dtype;
    memory.field = o->more->field;
    ozarr_status status = run(o, &region, &memory);
    /* The memory is as large as the variable's elements: each has one value, and a field with a shape has more. */
    if (status == OZARR_ERR_BUFFER_SIZE && memory.field != NULL)
        return fail(status, "the field \"%.100s\" has a shape, and the variable one value for each element; expected one of the field's values, such as \"v[0]\" or \"m[0,0]\"", memory.field);
    return status == OZARR_ERR_BOUNDS && o->picked == NULL ? out_of_bounds(o->array, r, o->more) : status;
}

/* Copies the logicals of a region to bytes (`write`), or from bytes; the first dimension runs fastest in the bytes. */
static void copy_logicals(int write, const region *r, char *first, size_t item, char *bytes, int64_t total) {
    int64_t at[MAX_RANK] = {0};
    for (int64_t i = 0; i < total; i++) {
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
}

/* Memory for `total` elements of `item` bytes; a byte where there are none. */
static ozarr_status contiguous(int64_t total, size_t item, char **out) {
    *out = (char *)malloc(total > 0 ? (size_t)total * item : 1);
    return *out != NULL ? OZARR_OK : fail(OZARR_ERR_NO_MEMORY, "no memory for a copy of %lld elements of %zu bytes", (long long)total, item);
}

/* The number of elements; distances of a contiguous copy in `distance`, in units of `item` bytes. */
static int64_t count_elements(const region *r, int64_t *distance, size_t item) {
    int64_t total = 1;
    for (int f = 0; f < r->rank; f++) {
        distance[f] = total * (int64_t)item;
        total *= r->count[f];
    }
    return total;
}

/* Copies the elements of a region to contiguous memory (`write`), or from there; the first dimension runs fastest. */
static void copy_elements(int write, const region *r, char *first, size_t item, char *packed, int64_t total) {
    int64_t at[MAX_RANK] = {0};
    for (int64_t i = 0; i < total; i++) {
        char *element = first, *place = packed + (size_t)i * item;
        for (int f = 0; f < r->rank; f++) element += at[f] * r->distance[f];
        memcpy(write ? place : element, write ? element : place, item);
        for (int f = 0; f < r->rank && ++at[f] == r->count[f]; f++) at[f] = 0;
    }
}

/* Moves elements by way of contiguous memory: logicals of more than one byte as bytes, because the library has no others; and times. */
static ozarr_status by_copy(const operation *o, const region *r, char *first, size_t item, ozarr_type type) {
    const int write = o->what & 1;
    const size_t packed_item = type == OZARR_BOOL ? 1 : item;
    void (*copy)(int, const region *, char *, size_t, char *, int64_t) = type == OZARR_BOOL ? copy_logicals : copy_elements;
    int64_t distance[MAX_RANK], total = count_elements(r, distance, packed_item);
    char *packed;
    ozarr_status status = contiguous(total, packed_item, &packed);
    if (status != OZARR_OK) return status;
    if (write) copy(1, r, first, item, packed, total);
    status = transfer(o, r, packed, distance, packed_item, type);
    if (!write && status == OZARR_OK) copy(0, r, first, item, packed, total);
    free(packed);
    return status;
}

/* Refuses variables without memory or extents. */
static ozarr_status check_memory(const CFI_cdesc_t *u) {
    if (is_nowhere(u)) return fail(OZARR_ERR_NULL, "the variable is not allocated, or not associated");
    if (is_assumed_size(u))
        return fail(OZARR_ERR_ARGUMENT, "found an assumed-size array, whose last extent is unknown, or the last bounds 1:-1, which look the same; expected a section of it, such as u(:, 1:n)");
    return OZARR_OK;
}

/* Texts are described by their length, and padded with blanks. Those of length 0 are written as one blank, which stands for all. */
static ozarr_status move_texts(operation o, const region *r, const CFI_cdesc_t *u) {
    static char blank[] = " ";
    const int64_t nowhere[MAX_RANK] = {0};
    const int no_letters = u->elem_len == 0;
    ozarr_dtype *letters = NULL;
    options more = *o.more;
    if (no_letters && !(o.what & 1)) return fail(OZARR_ERR_ARGUMENT, "the variable has a length of 0: no text can be read into it");
    ozarr_status status = ozarr_dtype_chars(no_letters ? 1 : u->elem_len, ' ', &letters);
    if (status != OZARR_OK) return status;
    more.dtype = letters;
    o.more = &more;
    status = no_letters ? transfer(&o, r, blank, nowhere, 1, OZARR_BY_DTYPE)
                        : transfer(&o, r, (char *)u->base_addr, r->distance, u->elem_len, OZARR_BY_DTYPE);
    ozarr_dtype_free(letters);
    return status;
}

/* Elements of a derived type are described by the program. */
static ozarr_status check_dtype(const CFI_cdesc_t *u, const ozarr_dtype *dtype) {
    size_t bytes = 0;
    ozarr_status status = ozarr_dtype_item_size(dtype, &bytes);
    if (status == OZARR_OK && bytes != u->elem_len)
        return fail(OZARR_ERR_TYPE, "an element of the variable has %zu bytes, expected those of the data type, %zu", u->elem_len, bytes);
    return status;
}

/* Moves the elements of `u`, as the operation says. `given` and `lists`: see region_of of the module. */
ozarr_status ozf_move(const ozarr_array *array, int32_t rank, int32_t what, CFI_cdesc_t *u, int32_t given, const int64_t *lists,
                      const options *more, ozarr_request **request) {
    const operation o = {array, what, more, request, NULL};
    const region_lists l = lists_of(given, lists);
    region r;
    ozarr_type type = OZARR_BY_DTYPE;
    if (array == NULL) return fail(OZARR_ERR_NULL, "the array is not open");
    ozarr_status status = check_memory(u);
    if (status == OZARR_OK) status = more->dtype != NULL ? check_dtype(u, more->dtype) : element_type(u, &type);
    if (status == OZARR_OK) status = region_of(array, rank, u, &l, more, &r);
    if (status != OZARR_OK) return status;
    if (type == OZARR_BY_DTYPE && more->dtype == NULL) return move_texts(o, &r, u);
    if ((type == OZARR_BOOL && u->elem_len != 1) || what == READ_TIMES || what == WRITE_TIMES) return by_copy(&o, &r, (char *)u->base_addr, u->elem_len, type);
    return transfer(&o, &r, (char *)u->base_addr, r.distance, u->elem_len, type);
}

/* Reads or writes the regions of a batch, which are `size` bytes each, in one call of the library. */
ozarr_status ozf_batch(int32_t write, int64_t count, char *records, size_t size) {
    struct part {
        ozarr_region region;
        ozarr_memory memory;
    } *parts = calloc((size_t)count + 1, sizeof *parts);
    ozarr_batch_entry *entries = calloc((size_t)count + 1, sizeof *entries);
    ozarr_status status = OZARR_OK;
    if (parts == NULL || entries == NULL) status = fail(OZARR_ERR_NO_MEMORY, "no memory for a batch of %lld regions", (long long)count);
    for (int64_t i = 0; status == OZARR_OK && i < count; i++) {
        noted *n = (noted *)(void *)(records + (size_t)i * size);
        ozarr_region_init(&parts[i].region);
        parts[i].region.start = n->start, parts[i].region.shape = n->shape, parts[i].region.step = n->step;
        parts[i].memory = n->memory;
        if (parts[i].memory.strides != NULL) parts[i].memory.strides = n->strides;
        ozarr_batch_entry_init(&entries[i]);
        entries[i].array = n->array, entries[i].region = &parts[i].region, entries[i].memory = &parts[i].memory;
    }
    if (status == OZARR_OK) status = write ? ozarr_write_many(entries, count) : ozarr_read_many(entries, count);
    free(entries);
    free(parts);
    return status;
}

static int is_contiguous(const region *r, const int64_t *distance) {
    for (int f = 0; f < r->rank; f++)
        if (r->count[f] > 1 && r->distance[f] != distance[f]) return 0;
    return 1;
}

/* The elements of a region, contiguous: where they are, or a copy in `*copy`, to be freed, of logicals as bytes. */
static ozarr_status gather(const CFI_cdesc_t *u, const region *r, size_t *item, const char **data, int64_t *total, char **copy) {
    int64_t distance[MAX_RANK];
    const int bytes = is_logical(u) && u->elem_len != 1;
    *item = bytes ? 1 : u->elem_len;
    *total = count_elements(r, distance, *item);
    *data = (const char *)u->base_addr;
    *copy = NULL;
    if (*total == 0 || (!bytes && is_contiguous(r, distance))) return OZARR_OK;
    ozarr_status status = contiguous(*total, *item, copy);
    if (status != OZARR_OK) return status;
    if (bytes) copy_logicals(1, r, (char *)u->base_addr, u->elem_len, *copy, *total);
    else copy_elements(1, r, (char *)u->base_addr, *item, *copy, *total);
    *data = *copy;
    return OZARR_OK;
}

/* Creates an array of the variable's type and shape below a group. The library stores the elements first: after a kill or an error the array has
 * them, or is not there. */
ozarr_status ozf_group_write(ozarr_group *group, const char *path, CFI_cdesc_t *u) {
    int64_t shape[CFI_MAX_RANK], total;
    ozarr_type type;
    region r;
    size_t item;
    const char *data;
    char *copy, nothing[16];
    ozarr_status status = check_memory(u);
    if (status == OZARR_OK) status = element_type(u, &type);
    if (status != OZARR_OK) return status;
    r.rank = u->rank;
    for (int f = 0; f < u->rank; f++) {
        shape[u->rank - 1 - f] = r.count[f] = extent_of(u, f);
        r.distance[f] = u->dim[f].sm;
    }
    status = gather(u, &r, &item, &data, &total, &copy);
    if (status != OZARR_OK) return status;
    status = ozarr_group_put(group, path, type, u->rank, shape, total > 0 ? data : nothing, (size_t)total * item);
    free(copy);
    return status;
}

/* Checks, after something was read, that the checkpoint is still there: chunks that are gone read as the fill value, and others may have come. */
static ozarr_status check_kept(const ozarr_group *group) {
    ozarr_status status = ozarr_node_refresh(ozarr_group_node(group), NULL, 0);
    if (status == OZARR_ERR_NOT_FOUND) return fail(status, "the checkpoint was removed while it was read; open the newest one");
    return status;
}

/* Reads all of an array below a group. */
ozarr_status ozf_group_read(const ozarr_group *group, const char *path, CFI_cdesc_t *u) {
    const options none = {0};
    int32_t rank = 0;
    ozarr_array *array = NULL;
    ozarr_json_kind kind;
    /* The handle knows from then on which checkpoint it is of. */
    ozarr_status known = ozarr_attr_kind(ozarr_group_node(group), "ozarr_checkpoint", &kind);
    ozarr_status status = known == OZARR_ERR_NOT_FOUND ? OZARR_OK : known;
    if (status == OZARR_OK) status = ozarr_group_open_array(group, path, &array);
    if (status == OZARR_OK) status = ozarr_array_rank(array, &rank);
    if (status == OZARR_OK) status = ozf_move(array, rank, READ, u, 0, NULL, &none, NULL);
    if (status == OZARR_OK && known == OZARR_OK) status = check_kept(group);
    ozarr_array_free(array);
    return status;
}

/* Moves elements that are picked: `u` has the lengths `shape` (of the lists, or one for the points). */
static ozarr_status move_picked(operation o, CFI_cdesc_t *u, int rank, const int64_t *shape, const char *what) {
    const options none = {0};
    region r;
    ozarr_type type;
    o.more = &none;
    if (o.array == NULL) return fail(OZARR_ERR_NULL, "the array is not open");
    ozarr_status status = check_memory(u);
    if (status == OZARR_OK) status = element_type(u, &type);
    if (status != OZARR_OK) return status;
    r.rank = rank;
    for (int f = 0; f < rank; f++) {
        r.start[f] = r.stride[f] = 1;
        r.count[f] = shape[f];
    }
    status = lay(u, &r, what);
    if (status != OZARR_OK) return status;
    if (type == OZARR_BOOL && u->elem_len != 1) return by_copy(&o, &r, (char *)u->base_addr, u->elem_len, type);
    return transfer(&o, &r, (char *)u->base_addr, r.distance, u->elem_len, type);
}

/* The elements at `count` points, whose coordinates follow each other. */
ozarr_status ozf_points(const ozarr_array *array, int32_t write, CFI_cdesc_t *u, int64_t count, const int64_t *points) {
    const picked chosen = {count, points, NULL, NULL, NULL, NULL};
    const operation o = {array, write ? WRITE_POINTS : READ_POINTS, NULL, NULL, &chosen};
    return move_picked(o, u, 1, &count, "the points");
}

/* The elements at all combinations of the indices in the lists; `counts` are their lengths. */
ozarr_status ozf_lists(const ozarr_array *array, int32_t rank, int32_t write, CFI_cdesc_t *u, const int64_t *counts, const int64_t *const *lists) {
    const picked chosen = {0, NULL, counts, lists, NULL, NULL};
    const operation o = {array, write ? WRITE_LISTS : READ_LISTS, NULL, NULL, &chosen};
    int64_t shape[MAX_RANK];
    for (int f = 0; f < rank; f++) shape[f] = counts[rank - 1 - f];
    return move_picked(o, u, rank, shape, "the lists");
}

/* The elements of a region where the mask, of the region's shape, is true. `given` and `lists`: see region_of of the module. */
ozarr_status ozf_mask(const ozarr_array *array, int32_t rank, int32_t write, CFI_cdesc_t *u, const CFI_cdesc_t *mask, int32_t given, const int64_t *lists) {
    const options none = {0};
    const region_lists l = lists_of(given, lists);
    int64_t start[MAX_RANK], shape[MAX_RANK], distance[MAX_RANK], count = 0;
    char *bytes = NULL;
    region r;
    if (array == NULL) return fail(OZARR_ERR_NULL, "the array is not open");
    ozarr_status status = check_memory(mask);
    if (status == OZARR_OK) status = region_of(array, rank, mask, &l, &none, &r);
    if (status != OZARR_OK) return status;
    const int64_t total = count_elements(&r, distance, 1);
    status = contiguous(total, 1, &bytes);
    if (status != OZARR_OK) return status;
    copy_logicals(1, &r, (char *)mask->base_addr, mask->elem_len, bytes, total);
    for (int64_t i = 0; i < total; i++) count += bytes[i] != 0;
    for (int f = 0; f < rank; f++) {
        start[rank - 1 - f] = r.start[f] - 1;
        shape[rank - 1 - f] = r.count[f];
    }
    ozarr_region part = OZARR_REGION_INIT;
    part.start = start;
    part.shape = shape;
    const picked chosen = {0, NULL, NULL, NULL, (const uint8_t *)bytes, &part};
    const operation o = {array, write ? WRITE_MASK : READ_MASK, NULL, NULL, &chosen};
    status = move_picked(o, u, 1, &count, "what the mask picks");
    if (status == OZARR_ERR_BOUNDS) status = out_of_bounds(array, &r, &none);
    free(bytes);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Growing
 * --------------------------------------------------------------------------------------------------------------------- */

/* The slab that a variable is, of the array's rank; or of one less, for one slab. */
static ozarr_status slab_of(const ozarr_array *array, int rank, const CFI_cdesc_t *u, int dim, region *r) {
    int64_t shape[MAX_RANK];
    if (rank == 0) return fail(OZARR_ERR_RANK, "an array of rank 0 cannot grow");
    if (dim < 1 || dim > rank) return fail(OZARR_ERR_BOUNDS, "dim is %d, expected 1 to %d", dim, rank);
    if (u->rank != rank && u->rank != rank - 1) return fail(OZARR_ERR_RANK, "the variable has rank %d, expected %d, or %d for one slab", (int)u->rank, rank, rank - 1);
    ozarr_status status = shape_of(array, rank, shape);
    if (status != OZARR_OK) return status;
    r->rank = rank;
    for (int f = 0; f < rank; f++) {
        r->start[f] = r->stride[f] = 1;
        r->count[f] = f != dim - 1 ? shape[f] : u->rank == rank ? extent_of(u, f) : 1;
    }
    for (int f = 0, v = 0; f < rank; f++) {
        if (u->rank < rank && f == dim - 1) r->distance[f] = 0;
        else if (extent_of(u, v) != r->count[f]) return mismatch(u, "a slab of the array", rank, r->count);
        else r->distance[f] = u->dim[v++].sm;
    }
    return OZARR_OK;
}

/* Makes dimension `dim` (1-based) longer by the variable. The library appends behind what other handles and processes have appended, and
 * leaves the array as it was where it fails. */
ozarr_status ozf_append(ozarr_array *array, int32_t rank, const CFI_cdesc_t *u, int32_t dim) {
    region r;
    ozarr_type type;
    size_t item;
    int64_t total;
    const char *data;
    char *copy, nothing[16];
    if (array == NULL) return fail(OZARR_ERR_NULL, "the array is not open");
    ozarr_status status = check_memory(u);
    if (status == OZARR_OK) status = element_type(u, &type);
    if (status == OZARR_OK) status = slab_of(array, rank, u, dim, &r);
    if (status == OZARR_OK) status = gather(u, &r, &item, &data, &total, &copy);
    if (status != OZARR_OK) return status;
    status = ozarr_array_append(array, rank - dim, r.count[dim - 1], type, total > 0 ? data : nothing, (size_t)total * item);
    free(copy);
    return status;
}

/* Gives a call the memory of a slab of `count` steps. */
typedef ozarr_status (*slab_call)(const void *target, int64_t count, const ozarr_memory *memory);

static ozarr_status with_slab(slab_call call, const void *target, const ozarr_array *array, int rank, const CFI_cdesc_t *u, int dim) {
    region r;
    ozarr_type type;
    int64_t distance[MAX_RANK], strides[MAX_RANK];
    char nothing[16], *bytes = NULL;
    ozarr_status status = check_memory(u);
    if (status == OZARR_OK) status = element_type(u, &type);
    if (status == OZARR_OK) status = slab_of(array, rank, u, dim, &r);
    if (status != OZARR_OK) return status;
    if (type == OZARR_BOOL && u->elem_len != 1) {
        int64_t total = count_elements(&r, distance, 1);
        status = contiguous(total, 1, &bytes);
        if (status != OZARR_OK) return status;
        copy_logicals(1, &r, (char *)u->base_addr, u->elem_len, bytes, total);
    }
    ozarr_memory memory = bytes != NULL ? describe(&r, bytes, distance, 1, type, strides, nothing)
                                        : describe(&r, (char *)u->base_addr, r.distance, u->elem_len, type, strides, nothing);
    status = call(target, r.count[dim - 1], &memory);
    free(bytes);
    return status;
}

static ozarr_status append_steps(const void *appender, int64_t count, const ozarr_memory *memory) {
    return ozarr_appender_append_ex((ozarr_appender *)appender, count, memory);
}

/* An appender copies steps from any memory; `rank` and `dim` are those of its array. */
ozarr_status ozf_appender_append(ozarr_appender *appender, const ozarr_array *array, int32_t rank, const CFI_cdesc_t *u, int32_t dim) {
    if (appender == NULL) return fail(OZARR_ERR_NULL, "the appender is not open");
    return with_slab(append_steps, appender, array, rank, u, dim);
}

/* A variable of a series. */
typedef struct variable {
    ozarr_series *series;
    const char *name;
    double value; /* of the coordinate */
} variable;

static ozarr_status put_step(const void *target, int64_t count, const ozarr_memory *memory) {
    const variable *v = (const variable *)target;
    if (count != 1) return fail(OZARR_ERR_RANK, "found %lld steps, expected one", (long long)count);
    return ozarr_series_put_ex(v->series, v->name, memory);
}

/* The values of a variable, whose array has this rank and grows along dimension `dim`. */
ozarr_status ozf_series_put(ozarr_series *series, const char *name, const ozarr_array *array, int32_t rank, const CFI_cdesc_t *u, int32_t dim) {
    const variable target = {series, name, 0};
    return with_slab(put_step, &target, array, rank, u, dim);
}

static ozarr_status end_step(const void *target, int64_t count, const ozarr_memory *memory) {
    const variable *v = (const variable *)target;
    if (count != 1) return fail(OZARR_ERR_RANK, "found %lld steps, expected one", (long long)count);
    return ozarr_series_step(v->series, v->value, 1, &v->name, memory);
}

/* The values of a variable, as for ozf_series_put, and the end of the step with that value of the coordinate. */
ozarr_status ozf_series_step(ozarr_series *series, double value, const char *name, const ozarr_array *array, int32_t rank, const CFI_cdesc_t *u,
                             int32_t dim) {
    const variable target = {series, name, value};
    return with_slab(end_step, &target, array, rank, u, dim);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Derived types
 * --------------------------------------------------------------------------------------------------------------------- */

/* Text of at most `length` bytes. */
ozarr_status ozf_text(int32_t length, ozarr_dtype **out) {
    char words[24];
    snprintf(words, sizeof words, "|S%d", (int)length);
    return ozarr_dtype_parse(words, 2, out);
}

/* A struct without fields, of the size of the variable. */
ozarr_status ozf_struct(const CFI_cdesc_t *variable, ozarr_dtype **out) {
    return ozarr_dtype_struct(variable->elem_len, out);
}

/* The data type of a component: `field`, or that of its elements. */
static ozarr_status component_type(const CFI_cdesc_t *component, const ozarr_dtype *field, ozarr_dtype **out, size_t *bytes) {
    ozarr_type type;
    *bytes = component->elem_len;
    if (field != NULL) return check_dtype(component, field);
    ozarr_status status = element_type(component, &type);
    if (status != OZARR_OK) return status;
    if (type == OZARR_BY_DTYPE) return ozarr_dtype_chars(component->elem_len, ' ', out);
    if (type == OZARR_BOOL && component->elem_len != 1)
        return fail(OZARR_ERR_TYPE, "the component is a logical of %zu bytes, expected one of logical(c_bool)", component->elem_len);
    return ozarr_dtype_of(type, out);
}

/* Adds a component of `variable`. */
ozarr_status ozf_add_field(ozarr_dtype *dtype, const char *name, const CFI_cdesc_t *variable, const CFI_cdesc_t *component, const ozarr_dtype *field) {
    ozarr_dtype *made = NULL;
    int64_t shape[CFI_MAX_RANK];
    size_t bytes, all;
    ozarr_status status = component_type(component, field, &made, &bytes);
    all = bytes;
    for (int f = 0; f < component->rank; f++) {
        shape[component->rank - 1 - f] = component->dim[f].extent;
        if (status == OZARR_OK && component->dim[f].sm != (CFI_index_t)all) status = fail(OZARR_ERR_ARGUMENT, "the component is not contiguous in memory");
        all *= (size_t)component->dim[f].extent;
    }
    const ptrdiff_t offset = (const char *)component->base_addr - (const char *)variable->base_addr;
    if (status == OZARR_OK && (offset < 0 || (size_t)offset + all > variable->elem_len))
        status = fail(OZARR_ERR_BOUNDS, "the component is not inside of the variable");
    if (status == OZARR_OK) status = ozarr_dtype_add_field(dtype, name, (size_t)offset, field != NULL ? field : made, component->rank, shape);
    ozarr_dtype_free(made);
    return status;
}
