/* Finds two of several boxes that have an element in common. */
#ifndef OZARR_MPI_OVERLAP_H
#define OZARR_MPI_OVERLAP_H

#include "plan.h"

/* 1 and `clash` where two of the pieces' boxes overlap within their chunk (anywhere, where the pieces have the chunk -1); 0 where none do;
 * -1 without memory. */
int overlap_find(const plan *p, const plan_piece *pieces, int64_t count, plan_clash *clash);

#endif
