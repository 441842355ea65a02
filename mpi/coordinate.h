/* The coordinate of a series, whose values rise or fall from step to step. Rank 0 has it. */
#ifndef OZARR_MPI_COORDINATE_H
#define OZARR_MPI_COORDINATE_H

#include "internal.h"

typedef struct om_coordinate {
    ozarr_array *array; /* NULL: there is none, or this is not rank 0 */
    double last[2];     /* the numbers that it has for the last `known` steps */
    int known;
    double next; /* the number that it will have for the step that comes next, if that is known (`is_known`) */
    bool is_known;
} om_coordinate;

/* Reads the numbers of the last two of so many steps, with which further ones are compared; points in time are none. */
ozarr_status om_coordinate_read(om_coordinate *c, int64_t steps);

/* Checks that the coordinate can have the value of step `at`, and goes on with it. `name` is the coordinate's, here and below. */
ozarr_status om_coordinate_check(om_coordinate *c, const char *name, int64_t at, double value);

/* Checks an element that is to be put as the value of step `at`. What is no number, or cannot be stored, is not checked here. */
ozarr_status om_coordinate_check_put(om_coordinate *c, const char *name, int64_t at, const ozarr_memory *memory);

/* Remembers the value of a step that was taken before the coordinate was defined. */
void om_coordinate_take(om_coordinate *c, double value);

/* Remembers the value of a step that was taken, which was checked. */
void om_coordinate_remember(om_coordinate *c);

#endif
