/* What Fortran's array descriptors say of elements, for the modules `ozarr` and `ozarr_mpi`. */
#ifndef OZARR_DESCRIPTOR_H
#define OZARR_DESCRIPTOR_H

#include <ISO_Fortran_binding.h>
#include <ozarr.h>

static inline int is_logical(const CFI_cdesc_t *u) {
    if (u->type == CFI_type_Bool) return 1;
#ifdef CFI_type_Logical
    return (u->type & CFI_type_mask) == CFI_type_Logical;
#else
    return 0;
#endif
}

/* The length of a dimension. gfortran's extent is the upper bound less the lower one plus 1, which is negative where nothing is in u(1:-2). */
static inline CFI_index_t extent_of(const CFI_cdesc_t *u, int f) { return u->dim[f].extent > 0 ? u->dim[f].extent : 0; }

/* Whether a variable has no memory where it should: it is not allocated, or not associated. The address of an empty list constructor means nothing. */
static inline int is_nowhere(const CFI_cdesc_t *u) {
    for (int f = 0; f < u->rank; f++)
        if (u->dim[f].extent == 0) return 0;
    return u->base_addr == NULL;
}

/* Whether the last extent is unknown: it is -1 then. So it is of u(1:-1), which gfortran itself does not tell from an assumed-size array. Where
 * another dimension has no elements there are none. */
static inline int is_assumed_size(const CFI_cdesc_t *u) {
    for (int f = 0; f < u->rank - 1; f++)
        if (extent_of(u, f) == 0) return 0;
    return u->rank > 0 && u->dim[u->rank - 1].extent == -1;
}

/* Finds the type of numbers and logicals, which are OZARR_BOOL, of 1 to 8 bytes; 0 if the library has none. */
static inline int find_number_type(const CFI_cdesc_t *u, ozarr_type *type) {
    if (is_logical(u) && u->elem_len <= 8) *type = OZARR_BOOL;
    else if (u->type == CFI_type_int8_t) *type = OZARR_INT8;
    else if (u->type == CFI_type_int16_t) *type = OZARR_INT16;
    else if (u->type == CFI_type_int32_t) *type = OZARR_INT32;
    else if (u->type == CFI_type_int64_t) *type = OZARR_INT64;
    else if (u->type == CFI_type_float) *type = OZARR_FLOAT32;
    else if (u->type == CFI_type_double) *type = OZARR_FLOAT64;
    else if (u->type == CFI_type_float_Complex) *type = OZARR_COMPLEX64;
    else if (u->type == CFI_type_double_Complex) *type = OZARR_COMPLEX128;
    else return 0;
    return 1;
}

#endif
