/* A series of all ranks: its variables, and what is known of its steps. */
#ifndef OZARR_MPI_SERIES_H
#define OZARR_MPI_SERIES_H

#include "coordinate.h"
#include "waiting.h"

#include <fenv.h>

/* A variable. */
typedef struct variable {
    char *name;
    ozarr_array *array;
    int32_t rank, dim; /* which dimension is the series' */
    int64_t depth;     /* of its chunks along that */
    bool waits;        /* its boxes may wait */
    bool last;         /* the coordinate: its values are stored behind all others */
    bool given;        /* in this step */
    bool touched;      /* something of this step may be stored, also by a put that failed */
    bool compared;     /* the boxes of all ranks, of which this is mine: none overlap */
    int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK];
    om_waiting waiting;
} variable;

struct ozarr_mpi_series {
    const ozarr_mpi *m;      /* that opened it */
    ozarr_dataset *dataset;  /* on rank 0 */
    ozarr_group *group;      /* of the dataset, on rank 0: its arrays are handles of the series alone */
    ozarr_series *own;       /* on rank 0: keeps other writers out, and publishes what all ranks stored */
    om_coordinate coordinate;
    char *location, *dimension;
    int64_t position, published; /* steps that were taken, and that readers see */
    int64_t looked;              /* the step for which rank 0 has seen that nobody else is at work; -1: none */
    int64_t publish_every;       /* 0: the depth of the deepest field */
    int64_t memory;              /* the most bytes that wait on a rank; 0: no limit */
    double *values;              /* of the coordinate, for the steps that are not published */
    variable *variables;
    size_t *sorted; /* their numbers, in the order of their names */
    size_t count;
    int64_t waiting_bytes; /* of all of them, on this rank */
};

/* Between the two, in a call on a series, numbers are compared and told as they are when a program begins: traps of the program would end it by a NaN,
 * and small numbers that it flushes to 0 would be the same. */
void om_leave_floats(fenv_t *program);
void om_enter_floats(const fenv_t *program);

/* Opens the variable of the dimension's name, if it is a coordinate: that has no other dimension. It has the values of `steps`. */
ozarr_status om_series_open_coordinate(ozarr_mpi_series *s, int64_t steps);

/* Opens a variable on all ranks. Collective, within a call. */
ozarr_status om_series_add(ozarr_mpi *m, ozarr_mpi_series *s, const char *name);

/* The variable of that name; NULL if there is none. */
variable *om_series_find(const ozarr_mpi_series *s, const char *name);

/* Frees the variable that was added last. */
void om_series_drop_last(ozarr_mpi *m, ozarr_mpi_series *s);

void om_series_free(ozarr_mpi *m, ozarr_mpi_series *s);

#endif
