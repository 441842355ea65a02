/* Small variables that were written whole wait in memory until the file is synchronised or closed, and are stored in several threads then. */
#include "hierarchy.h"
#include "parallel.h"
#include "types.h"

#include <stdlib.h>

/* The bytes of a small variable, and those that wait in one file at most. */
enum { SMALL = 65536, MOST = 64 << 20 };

bool oz_var_may_wait(const oz_var *var, size_t bytes) {
    const oz_file *file = var->group->file;
    return bytes <= SMALL && var->form == OZ_NUMBERS && !file->ranks && oz_file_alone(file) && !oz_var_may_grow(var);
}

int oz_var_keep(oz_var *var, void *values, size_t bytes) {
    oz_file *file = var->group->file;
    if (!var->waiting) file->waiting_bytes += bytes;
    free(var->waiting);
    var->waiting = values;
    var->waiting_bytes = bytes;
    var->written = true;
    return file->waiting_bytes > MOST ? oz_file_store_waiting(file) : NC_NOERR;
}

int oz_var_store_waiting(oz_var *var) {
    int64_t start[NC_MAX_VAR_DIMS] = {0}, shape[NC_MAX_VAR_DIMS];
    void *values = var->waiting;
    if (!values) return NC_NOERR;
    oz_var_lengths(var, false, shape);
    int status = oz_error(ozarr_array_write_region(var->array, start, shape, oz_type_stored(var->info->base), values, var->waiting_bytes));
    /* After an error they wait on: the next call tries again. */
    if (status) return status;
    var->waiting = NULL;
    free(values);
    return NC_NOERR;
}

int oz_file_store_waiting(oz_file *file) {
    int count = 0;
    if (!file->waiting_bytes) return NC_NOERR;
    for (int i = 0; i < file->group_count; i++) count += file->groups[i]->vars.count;
    oz_var **vars = malloc((size_t)count * sizeof *vars);
    if (!vars) return NC_ENOMEM;
    count = 0;
    for (int i = 0; i < file->group_count; i++)
        for (int k = 0; k < file->groups[i]->vars.count; k++) {
            oz_var *var = file->groups[i]->vars.items[k];
            if (var->waiting && var->array) vars[count++] = var;
        }
    int status = oz_for_each(vars, count, oz_var_store_waiting);
    if (!status) file->waiting_bytes = 0;
    free(vars);
    return status;
}
