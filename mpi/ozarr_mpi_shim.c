/* Between the module `ozarr_mpi` and ozarr_mpi.h: communicators and array descriptors of Fortran. To be compiled by the C compiler that
 * belongs to the Fortran compiler. Dimensions are reversed here, and starts become 0-based. */
#include "../fortran/ozarr_descriptor.h"
#include <ozarr_advanced.h>
#include <ozarr_extend.h>
#include <ozarr_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 64

static ozarr_status type_of(const CFI_cdesc_t *u, ozarr_type *type) {
    if (find_number_type(u, type)) return OZARR_OK;
    return ozarr_set_error(OZARR_ERR_TYPE, "the variable is neither integer (1, 2, 4, 8 bytes), real (4, 8), complex (2 x 4, 2 x 8) nor logical (1, 2, 4, 8)", NULL);
}

/* A variable as the memory of a box of an array of `rank` dimensions, of which those behind the variable's have the length 1. */
typedef struct box {
    int64_t start[MAX_RANK], shape[MAX_RANK], stride[MAX_RANK];
    ozarr_region region;
    ozarr_memory memory;
    char *bytes; /* of logicals of more than one byte, which the library knows as bytes: a copy; NULL for all others */
} box;

/* Copies logicals to the bytes of their box (`write`), or from there. */
static void copy_logicals(const box *b, int32_t rank, const CFI_cdesc_t *u, int32_t write) {
    int64_t at[MAX_RANK] = {0};
    for (size_t i = 0; i < b->memory.size; i++) {
        char *element = (char *)u->base_addr;
        for (int32_t f = 0; f < u->rank; f++) element += at[rank - 1 - f] * u->dim[f].sm;
        if (write) {
            b->bytes[i] = 0;
            for (size_t k = 0; k < u->elem_len; k++) b->bytes[i] |= element[k] != 0;
        } else {
            const int16_t two = b->bytes[i];
            const int32_t four = b->bytes[i];
            const int64_t eight = b->bytes[i];
            memcpy(element, u->elem_len == 2 ? (const void *)&two : u->elem_len == 4 ? (const void *)&four : (const void *)&eight, u->elem_len);
        }
        for (int32_t d = rank - 1; d >= 0 && ++at[d] == b->shape[d]; d--) at[d] = 0;
    }
}

/* Makes the memory of a box bytes, which take the place of logicals of more than one byte. */
static ozarr_status take_bytes(box *b, int32_t rank, const CFI_cdesc_t *u, int32_t write) {
    size_t total = 1;
    for (int32_t d = rank - 1; d >= 0; d--) {
        b->stride[d] = (int64_t)total;
        total *= (size_t)b->shape[d];
    }
    b->bytes = malloc(total > 0 ? total : 1);
    if (b->bytes == NULL) return ozarr_set_error(OZARR_ERR_NO_MEMORY, "no memory for a copy of the variable's logicals", NULL);
    b->memory.data = b->bytes, b->memory.size = total, b->memory.offset = 0;
    if (write) copy_logicals(b, rank, u, write);
    return OZARR_OK;
}

/* `name` is the variable's, or NULL for an array without one; `b->bytes` is to be freed. */
static ozarr_status box_of(const char *name, const CFI_cdesc_t *u, int32_t rank, const int64_t *start, int32_t write, box *b) {
    char text[200];
    int64_t low = 0, high = (int64_t)u->elem_len;
    b->bytes = NULL;
    ozarr_region_init(&b->region);
    ozarr_memory_init(&b->memory);
    if (rank > MAX_RANK) return ozarr_set_error(OZARR_ERR_RANK, "start has more than 64 numbers, and no array as many dimensions", NULL);
    if (u->rank > rank) {
        if (name == NULL) snprintf(text, sizeof text, "the variable has rank %d, expected at most %d, the rank of the array", (int)u->rank, (int)rank);
        else snprintf(text, sizeof text, "%.100s: the values have rank %d, expected at most %d, the size of start", name, (int)u->rank, (int)rank);
        return ozarr_set_error(OZARR_ERR_RANK, text, NULL);
    }
    if (is_nowhere(u)) return ozarr_set_error(OZARR_ERR_NULL, "the variable is not allocated, or not associated", NULL);
    if (is_assumed_size(u)) return ozarr_set_error(OZARR_ERR_RANK, "the variable is of assumed size, or has the last bounds 1:-1; give a section of it", NULL);
    for (int32_t d = 0; d < rank; d++) {
        const int32_t f = rank - 1 - d;
        b->start[d] = start[f] - 1;
        b->shape[d] = f < u->rank ? extent_of(u, f) : 1;
        b->stride[d] = f < u->rank ? u->dim[f].sm : 0;
        if (b->shape[d] > 1) *(b->stride[d] < 0 ? &low : &high) += b->stride[d] * (b->shape[d] - 1);
    }
    b->region.start = b->start, b->region.shape = b->shape;
    b->memory.data = (char *)u->base_addr + low;
    b->memory.size = (size_t)(high - low), b->memory.offset = (size_t)-low;
    b->memory.strides = b->stride;
    const ozarr_status status = type_of(u, &b->memory.type);
    return status == OZARR_OK && is_logical(u) && u->elem_len != 1 ? take_bytes(b, rank, u, write) : status;
}

/* What this rank finds wrong before the call is told to the others, which are in it: the calls differ, and this rank's error is that of all.
 * `later`: the elements are moved when the call has ended, so that they cannot be copied. */
static ozarr_status box_in(ozarr_mpi *m, const ozarr_array *array, const CFI_cdesc_t *u, const int64_t *start, int32_t numbers, int32_t write,
                           int later, box *b) {
    int32_t rank = 0;
    char text[100];
    ozarr_status status = ozarr_array_rank(array, &rank);
    if (status == OZARR_OK && later && is_logical(u) && u->elem_len != 1)
        status = ozarr_set_error(OZARR_ERR_TYPE, "the variable is a logical of more than one byte; requests take logical(c_bool)", NULL);
    if (status == OZARR_OK && numbers != rank) {
        snprintf(text, sizeof text, "the size of start is %d, expected %d", (int)numbers, (int)rank);
        status = ozarr_set_error(OZARR_ERR_RANK, text, NULL);
    }
    if (status == OZARR_OK) status = box_of(NULL, u, rank, start, write, b);
    return status == OZARR_OK ? status : ozarr_mpi_agree(m, status);
}

ozarr_status ozfm_move(ozarr_mpi *m, const ozarr_array *array, int32_t write, const CFI_cdesc_t *u, const int64_t *start, int32_t numbers) {
    box b;
    ozarr_status status = box_in(m, array, u, start, numbers, write, 0, &b);
    if (status != OZARR_OK) return status;
    status = write ? ozarr_mpi_array_write_all_ex(m, array, 1, &b.region, &b.memory)
                   : ozarr_mpi_array_read_all_ex(m, array, 1, &b.region, &b.memory);
    if (b.bytes != NULL && !write && status == OZARR_OK) copy_logicals(&b, numbers, u, 0);
    free(b.bytes);
    return status;
}

/* Begins a write or a read. */
ozarr_status ozfm_start(ozarr_mpi *m, const ozarr_array *array, int32_t write, const CFI_cdesc_t *u, const int64_t *start,
                        int32_t numbers, ozarr_mpi_request **out) {
    box b;
    const ozarr_status status = box_in(m, array, u, start, numbers, write, 1, &b);
    if (status != OZARR_OK) return status;
    return write ? ozarr_mpi_array_iwrite_all(m, array, 1, &b.region, &b.memory, out)
                 : ozarr_mpi_array_iread_all(m, array, 1, &b.region, &b.memory, out);
}

/* Whether a handle was freed; the last error becomes another one. */
static bool is_gone(char kind, const void *handle) {
    bool done = false;
    int rank = 0;
    int32_t dimensions = 0;
    int64_t position = 0;
    ozarr_status status = OZARR_OK;
    switch (kind) {
    case 'a': status = ozarr_array_rank(handle, &dimensions); break;
    case 'f':
    case 'r': status = ozarr_mpi_request_test((ozarr_mpi_request *)(uintptr_t)handle, &done); break;
    case 's': status = ozarr_mpi_series_position(handle, &position, NULL); break;
    case 'm': status = ozarr_mpi_rank(handle, &rank, NULL); break;
    default: status = ozarr_node_path(ozarr_group_node(handle), NULL, 0, NULL); break;
    }
    return status == OZARR_ERR_INVALID_HANDLE;
}

/* Ends what `*handle` is, which becomes NULL if it is gone: an array 'a', a group 'g', a checkpoint that is committed 'c' or given up 'x', a request
 * 'r', one that is let go of 'f', a series 's', ranks 'm'. After an error only the handle tells: a refused call leaves it, with a status that may be that of its end, too. */
ozarr_status ozfm_end(ozarr_mpi *m, char kind, void **handle) {
    char text[1100];
    ozarr_status status = OZARR_OK;
    switch (kind) {
    case 'a': status = ozarr_mpi_array_close(m, *handle); break;
    case 'g': status = ozarr_mpi_group_close(m, *handle); break;
    case 'c': status = ozarr_mpi_checkpoint_commit(m, *handle); break;
    case 'x': status = ozarr_mpi_checkpoint_abandon(m, *handle); break;
    case 'r': status = ozarr_mpi_request_wait(*handle); break;
    case 'f': status = ozarr_mpi_request_free(*handle); break;
    case 's': status = ozarr_mpi_series_close(m, *handle); break;
    default: status = ozarr_mpi_close(*handle); break;
    }
    if (status != OZARR_OK) snprintf(text, sizeof text, "%s", ozarr_last_error_in(OZARR_ORDER_F));
    if (status == OZARR_OK || is_gone(kind, *handle)) *handle = NULL;
    return status == OZARR_OK ? status : ozarr_set_error(status, text, NULL);
}

/* Begins work on a communicator. Where `*out` is open on a rank it is OZARR_ERR_STATE on all, and stays as it is; a handle that another object had, and
 * closed, is not open. */
ozarr_status ozfm_new(MPI_Fint comm, ozarr_mpi **out) {
    char text[1100];
    ozarr_mpi *made = NULL;
    /* Before the new one, which may come to lie where one was that is gone. */
    const bool is_open = *out != NULL && !is_gone('m', *out);
    int begun = 0, ended = 0;
    /* Otherwise MPI_Comm_f2c would end the job: `ozarr_mpi_new` says what is wrong. */
    const bool running = MPI_Initialized(&begun) == MPI_SUCCESS && begun && MPI_Finalized(&ended) == MPI_SUCCESS && !ended;
    ozarr_status status = ozarr_mpi_new(running ? MPI_Comm_f2c(comm) : MPI_COMM_NULL, &made);
    if (status != OZARR_OK) return status;
    if (is_open) status = ozarr_set_error(OZARR_ERR_STATE, "the ranks are open, expected ranks that were closed", NULL);
    status = ozarr_mpi_agree(made, status);
    if (status == OZARR_OK) {
        *out = made;
        return status;
    }
    snprintf(text, sizeof text, "%s", ozarr_last_error());
    (void)!ozarr_mpi_close(made);
    return ozarr_set_error(status, text, NULL);
}

/* Gives a variable of a series this rank's box of a step; `rank` is the number of the variable's dimensions without that of the series. */
ozarr_status ozfm_series_put(ozarr_mpi *m, ozarr_mpi_series *series, const char *name, int32_t rank, const CFI_cdesc_t *u, const int64_t *start) {
    box b;
    ozarr_status status = box_of(name, u, rank, start, 1, &b);
    status = status == OZARR_OK ? ozarr_mpi_series_put_ex(m, series, name, rank, &b.region, &b.memory) : ozarr_mpi_agree(m, status);
    free(b.bytes);
    return status;
}

/* An array below a group. */
typedef struct place {
    ozarr_group *group;
    const char *path;
} place;

static ozarr_status erase(void *user) {
    const place *p = user;
    return ozarr_group_erase(p->group, p->path);
}

/* Takes back an array that was created below a group and could not be written, or closed (NULL): the call can be made again. The error stays. */
static ozarr_status take_back(ozarr_mpi *m, ozarr_group *group, const char *path, ozarr_array *array, ozarr_status status) {
    char text[1100];
    place p = {group, path};
    snprintf(text, sizeof text, "%s", ozarr_last_error());
    const ozarr_status closed = array != NULL ? ozarr_mpi_array_close(m, array) : OZARR_OK, erased = ozarr_mpi_once(m, erase, &p);
    (void)closed;
    return ozarr_set_error(status, erased == OZARR_OK ? text : ozarr_last_error(), NULL);
}

/* Checks that an array, which has rank 0's shape, has that of this rank. */
static ozarr_status check_shape(ozarr_mpi *m, const ozarr_array *array, int32_t rank, const int64_t *shape) {
    int32_t dims = 0;
    int64_t all[MAX_RANK];
    ozarr_status status = ozarr_array_rank(array, &dims);
    if (status == OZARR_OK) status = ozarr_array_shape(array, all);
    if (status == OZARR_OK && (dims != rank || (rank > 0 && memcmp(all, shape, (size_t)rank * sizeof *shape) != 0)))
        status = ozarr_set_error(OZARR_ERR_ARGUMENT, "shape is another one than that of rank 0, expected the same on all", NULL);
    return ozarr_mpi_agree(m, status);
}

/* Creates an array of a group as a specification says, which has the shape on all ranks unless that is NULL; writes each rank's box, closes it. */
static ozarr_status put(ozarr_mpi *m, ozarr_group *group, const char *path, const ozarr_spec *spec, int32_t rank, const int64_t *shape,
                        const CFI_cdesc_t *u, const int64_t *start, int32_t numbers) {
    ozarr_array *array = NULL;
    ozarr_status status = ozarr_mpi_group_create_array(m, group, path, spec, OZARR_CREATE_NEW, &array);
    if (status != OZARR_OK) return status;
    if (shape != NULL) status = check_shape(m, array, rank, shape);
    if (status == OZARR_OK) status = ozfm_move(m, array, 1, u, start, numbers);
    if (status == OZARR_OK) status = ozarr_mpi_array_close(m, array), array = NULL;
    return status == OZARR_OK ? status : take_back(m, group, path, array, status);
}

/* Creates an array of a group as a specification says, writes each rank's box, closes it. */
ozarr_status ozfm_put_spec(ozarr_mpi *m, ozarr_group *group, const char *path, const ozarr_spec *spec, const CFI_cdesc_t *u, const int64_t *start,
                           int32_t numbers) {
    return put(m, group, path, spec, 0, NULL, u, start, numbers);
}

/* Creates an array of a group of the variable's type, with default chunks and compression. `shape` is in C's order. */
ozarr_status ozfm_put(ozarr_mpi *m, ozarr_group *group, const char *path, int32_t rank, const int64_t *shape, const CFI_cdesc_t *u,
                      const int64_t *start, int32_t numbers) {
    ozarr_type type = OZARR_FLOAT64;
    ozarr_spec *spec = NULL;
    ozarr_status status = type_of(u, &type);
    if (status == OZARR_OK) status = ozarr_spec_new(type, rank, shape, &spec);
    status = status == OZARR_OK ? put(m, group, path, spec, rank, shape, u, start, numbers) : ozarr_mpi_agree(m, status);
    ozarr_spec_free(spec);
    return status;
}

/* Reads each rank's box of an array of a group. */
ozarr_status ozfm_get(ozarr_mpi *m, const ozarr_group *group, const char *path, const CFI_cdesc_t *u, const int64_t *start, int32_t numbers) {
    ozarr_array *array = NULL;
    ozarr_status status = ozarr_mpi_group_open_array(m, group, path, &array);
    if (status != OZARR_OK) return status;
    status = ozfm_move(m, array, 0, u, start, numbers);
    /* As ozarr_mpi_group_get: a checkpoint may have been removed meanwhile. */
    if (status == OZARR_OK) status = ozarr_mpi_array_refresh(m, array);
    if (status == OZARR_OK) return ozarr_mpi_array_close(m, array);
    /* The ranks forget the handle, too. The error stays. */
    char text[1100];
    snprintf(text, sizeof text, "%s", ozarr_last_error_in(OZARR_ORDER_F));
    const ozarr_status closed = ozarr_mpi_array_close(m, array);
    (void)closed;
    return ozarr_set_error(status, text, NULL);
}
