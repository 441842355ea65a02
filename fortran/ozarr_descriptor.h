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

/* Finds the type of numbers and logicals, which are OZARR_BOOL, of whichever size; 0 if the library has none. */
static inline int find_number_type(const CFI_cdesc_t *u, ozarr_type *type) {
    if (is_logical(u)) *type = OZARR_BOOL;
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
