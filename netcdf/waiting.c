/* Small variables that were written whole wait in memory until the file is synchronised or closed, and are stored in several threads then. */
#include "hierarchy.h"
#include "parallel.h"
#include "types.h"

#include <ozarr_advanced.h>
#include <stdlib.h>
#include <string.h>

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

static int write_all(const oz_var *var, ozarr_array *array) {
    int64_t start[NC_MAX_VAR_DIMS] = {0}, shape[NC_MAX_VAR_DIMS];
    oz_var_lengths(var, shape);
    return oz_error(ozarr_array_write_region(array, start, shape, oz_type_stored(var->info->base), var->waiting, var->waiting_bytes));
}

/* Encodes the elements in memory, and stores the chunk: a handle on the variable's own array would take longer to open than that. */
static int store_encoded(const oz_var *var, oz_template *template) {
    int64_t first[NC_MAX_VAR_DIMS] = {0};
    ozarr_store *store = var->group->file->store;
    size_t len = 0;
    bool erased;
    char *key = oz_template_key(template, var);
    int error = key ? write_all(var, template->encoder) : NC_ENOMEM;
    ozarr_status status = error ? OZARR_OK : ozarr_array_chunk_read(template->encoder, first, false, template->chunk, template->room, &len);
    if (status == OZARR_ERR_BUFFER_SIZE) {
        void *larger = realloc(template->chunk, len);
        if (larger) template->chunk = larger, template->room = len;
        status = larger ? ozarr_array_chunk_read(template->encoder, first, false, template->chunk, template->room, &len) : OZARR_ERR_NO_MEMORY;
    }
    /* Elements that all have the fill value are not stored. */
    if (status == OZARR_ERR_MISSING) status = ozarr_store_key_erase(store, key, &erased);
    else if (!status && !error) status = ozarr_store_key_put(store, key, template->chunk, len);
    free(key);
    return error ? error : oz_error(status);
}

int oz_var_store_waiting(oz_var *var, oz_templates *templates) {
    int status = NC_NOERR;
    bool open = var->array != NULL;
    if (!var->waiting) return NC_NOERR;
    oz_template *template = open || !templates ? NULL : oz_templates_find(templates, var);
    if (template && !template->tried) status = oz_template_encoder(template, var, var->waiting_bytes);
    if (!status && template && template->key) {
        status = store_encoded(var, template);
    } else if (!status) {
        if (templates && !open && !template) oz_templates_take(templates)->var = var;
        status = oz_var_handle(var);
        if (!status) status = write_all(var, var->array);
        /* The handle takes more memory than the elements. */
        if (!open) ozarr_array_free(var->array), var->array = NULL;
    }
    /* After an error they wait on: the next call tries again. */
    if (status) return status;
    free(var->waiting);
    var->waiting = NULL;
    return NC_NOERR;
}

int oz_file_store_waiting(oz_file *file) {
    int count = 0;
    if (!file->waiting_bytes) return NC_NOERR;
    for (int i = 0; i < file->group_count; i++) count += file->groups[i]->vars.count;
    oz_var **vars = malloc((size_t)count * sizeof *vars);
    if (!vars) return NC_ENOMEM;
    count = 0;
    for (oz_var *var = NULL; (var = oz_next_var(file, var));)
        if (var->waiting && oz_var_made(var)) vars[count++] = var;
    int status = oz_for_each(vars, count, oz_var_store_waiting);
    if (!status) file->waiting_bytes = 0;
    free(vars);
    return status;
}
