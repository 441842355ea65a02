/* Some elements that this program has put behind the length that others know: a program of ozarr itself takes what lies there for what a killed one has left,
 * and overwrites it. Where another program has published such a length by the time that this one does, they are asked for again. */
#include "hierarchy.h"
#include "types.h"

#include <stdlib.h>
#include <string.h>

/* How many elements of a variable are known at most. */
enum { MOST = 8 };

struct oz_samples {
    int count;
    unsigned char values[MOST][8];
    /* Their indices. */
    int64_t at[];
};

void oz_samples_drop(oz_var *var) {
    free(var->samples);
    var->samples = NULL;
}

/* Forgets those that are put anew. */
static void forget(const oz_var *var, const int64_t *start, const int64_t *ends) {
    struct oz_samples *all = var->samples;
    for (int i = all->count - 1; i >= 0; i--) {
        int64_t *at = all->at + i * var->rank, *last = all->at + (all->count - 1) * var->rank;
        bool inside = true;
        for (int d = 0; d < var->rank; d++) inside = inside && at[d] >= start[d] && at[d] < ends[d];
        if (!inside) continue;
        memmove(at, last, (size_t)var->rank * sizeof *at);
        memmove(all->values[i], all->values[--all->count], sizeof *all->values);
    }
}

void oz_samples_add(oz_var *var, const int64_t *start, const int64_t *ends, const void *last) {
    const oz_file *file = var->group->file;
    bool behind = false;
    if (var->form != OZ_NUMBERS || file->ranks || oz_file_alone(file)) return;
    if (var->samples) forget(var, start, ends);
    for (int d = 0; d < var->rank; d++) behind = behind || (var->dims[d]->unlimited && ends[d] > var->shape[d]);
    if (behind && !var->samples) var->samples = calloc(1, sizeof *var->samples + (size_t)(MOST * var->rank) * sizeof *var->samples->at);
    /* The first ones: those are in the chunks that are written then. */
    struct oz_samples *all = behind ? var->samples : NULL;
    if (!all || all->count == MOST) return;
    for (int d = 0; d < var->rank; d++) all->at[all->count * var->rank + d] = ends[d] - 1;
    memcpy(all->values[all->count++], last, var->info->size);
}

/* Whether the store has an element as it was put; so does one that cannot be read now. */
static bool is_there(const oz_var *var, const ozarr_array *array, int number) {
    int64_t one[NC_MAX_VAR_DIMS];
    unsigned char now[8];
    for (int d = 0; d < var->rank; d++) one[d] = 1;
    ozarr_status status = ozarr_array_read_region(array, var->samples->at + number * var->rank, one, oz_type_stored(var->info->base), now, var->info->size);
    return status || !memcmp(now, var->samples->values[number], var->info->size);
}

void oz_samples_check(oz_var *var) {
    ozarr_array *array;
    bool same = true;
    if (!var->samples || oz_var_data(var, NULL, &array)) return;
    for (int i = 0; i < var->samples->count && same; i++) same = is_there(var, array, i);
    if (same) return;
    oz_log("records that this program has put into the variable %s, and not synchronised, are overwritten by another one", var->name);
    oz_file_note_lost(var->group->file, NC_ECANTWRITE);
}
