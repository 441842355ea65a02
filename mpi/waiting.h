/* Steps of a variable that wait on this rank until the chunks they belong to are whole. */
#ifndef OZARR_MPI_WAITING_H
#define OZARR_MPI_WAITING_H

#include "internal.h"

/* This rank's box of one step: contiguous elements of the array's type. */
typedef struct om_waiting_box {
    int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK];
    char *data;
    size_t size;
} om_waiting_box;

typedef struct om_waiting {
    om_waiting_box *boxes;
    size_t count;
    int64_t *bytes; /* of all that waits beside these, too */
} om_waiting;

/* Whether the elements of an array can wait: numbers, whose type has a constant. */
bool om_can_wait(const ozarr_array *array);

/* Copies a box from memory, in the array's type; a box without elements is left out. What does not fit is found here. */
ozarr_status om_waiting_add(om_waiting *w, const ozarr_array *array, int32_t rank, const int64_t *start, const int64_t *shape,
                            const ozarr_memory *memory);

/* Converts one element in memory to the type of `array` (NULL: of 64-bit numbers), and gets the number that it is there; `*is_number` may be NULL.
 * What is no number leaves `*number` as it is. */
ozarr_status om_waiting_number(const ozarr_array *array, const ozarr_memory *memory, double *number, bool *is_number);

/* Writes the boxes that begin before `end` along dimension `dim`, with all ranks. They go on waiting until they are dropped. */
ozarr_status om_waiting_write(ozarr_mpi *m, const om_waiting *w, const ozarr_array *array, int32_t dim, int64_t end);

/* Drops the boxes that begin at `begin` or behind it, and before `end`, along dimension `dim`. */
void om_waiting_drop(om_waiting *w, int32_t dim, int64_t begin, int64_t end);

#endif
