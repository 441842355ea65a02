/* How long variables are along their dimensions: in this program, in the store, and with room for more. */
#include "hierarchy.h"

bool oz_var_may_grow(const oz_var *var) {
    for (int d = 0; d < var->rank; d++)
        if (var->dims[d]->unlimited) return true;
    return false;
}

void oz_var_lengths(const oz_var *var, int64_t *shape) {
    for (int d = 0; d < var->rank; d++) shape[d] = (int64_t)var->dims[d]->len;
}

/* The bits of a length, rounded up. */
static int bits_of(int64_t len) {
    int bits = 0;
    for (; len > 1; len = len / 2 + len % 2) bits++;
    return bits;
}

void oz_var_room(const oz_var *var, const int64_t *ends, int64_t *room) {
    enum { MOST_BITS = 61, ENOUGH = 40 };
    int bits[NC_MAX_VAR_DIMS], rest = MOST_BITS, growing = 0;
    oz_var_lengths(var, room);
    for (int d = 0; d < var->rank; d++) {
        bool grows = var->dims[d]->unlimited;
        if (grows && ends && ends[d] > room[d]) room[d] = ends[d];
        /* All ranks plan by the same shape, and may not know of the same lengths. */
        bits[d] = !grows ? bits_of(room[d]) : var->group->file->ranks ? 0 : bits_of(room[d]) + 1;
        growing += grows;
        rest -= bits[d];
    }
    for (int d = 0; d < var->rank && rest >= 0; d++) {
        int own = bits[d] + rest / (growing ? growing : 1);
        if (own > ENOUGH) own = bits[d] > ENOUGH ? bits[d] : ENOUGH;
        if (var->dims[d]->unlimited) room[d] = (int64_t)1 << (own < 1 ? 1 : own);
    }
}

/* How long the arrays along a dimension are that are in the store: what this process has written beyond that is not yet published. */
static int64_t stored_length(const oz_dim *dim) {
    const oz_file *file = dim->group->file;
    int64_t longest = 0;
    for (const oz_var *var = NULL; (var = oz_next_var(file, var));)
        for (int d = 0; d < var->rank && oz_var_made(var) && !var->lost; d++)
            if (var->dims[d] == dim && var->shape[d] > longest) longest = var->shape[d];
    return longest;
}

void oz_var_stored_lengths(const oz_var *var, int64_t *shape) {
    for (int d = 0; d < var->rank; d++)
        if (var->dims[d]->unlimited) shape[d] = stored_length(var->dims[d]);
}
