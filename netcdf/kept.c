/* Small reads of a file that is open for reading: the elements of a chunk that is read again and again are kept, as netCDF-4 keeps chunks. */
#include "hierarchy.h"
#include "types.h"

#include <stdlib.h>
#include <string.h>

/* The bytes that are kept of one file at most, and for how many bytes of a chunk it is read once more before it is kept. */
enum { MOST = 64 << 20, READ_ONCE_MORE = 65536, MOST_DIMS = 64 };

/* Of one variable, the chunk that was read last: its corners in the variable, how often it was read in a row, and its elements, once they are
 * kept. */
struct oz_kept {
    size_t bytes, reads;
    char *values;
    int64_t *start, *shape, chunk[];
};

static void drop_values(oz_var *var) {
    if (!var->kept || !var->kept->values) return;
    var->group->file->kept_bytes -= var->kept->bytes;
    free(var->kept->values);
    var->kept->values = NULL;
    var->kept->reads = 0;
}

void oz_kept_drop(oz_var *var) {
    drop_values(var);
    free(var->kept);
    var->kept = NULL;
}

/* What is known of a variable that is read for the first time. */
static struct oz_kept *begin(oz_var *var) {
    size_t chunk[MOST_DIMS];
    if (var->rank > MOST_DIMS || oz_var_chunks(var, chunk)) return NULL;
    struct oz_kept *kept = var->kept = calloc(1, sizeof *kept + 3 * (size_t)var->rank * sizeof *kept->chunk);
    if (!kept) return NULL;
    kept->start = kept->chunk + var->rank;
    kept->shape = kept->start + var->rank;
    for (int d = 0; d < var->rank; d++) kept->chunk[d] = chunk[d] ? (int64_t)chunk[d] : 1;
    return kept;
}

static bool inside(const struct oz_kept *kept, int rank, const int64_t *start, const int64_t *shape) {
    for (int d = 0; d < rank; d++)
        if (start[d] < kept->start[d] || start[d] + shape[d] > kept->start[d] + kept->shape[d]) return false;
    return true;
}

/* Counts a read of one chunk, of which it wants a part; false of others. */
static bool count_read(oz_var *var, const int64_t *start, const int64_t *shape) {
    struct oz_kept *kept = var->kept;
    bool part = false;
    if (kept->reads && inside(kept, var->rank, start, shape)) return ++kept->reads;
    drop_values(var);
    kept->reads = 0;
    kept->bytes = var->info->size;
    for (int d = 0; d < var->rank; d++) {
        int64_t len = (int64_t)var->dims[d]->len, room;
        kept->start[d] = start[d] / kept->chunk[d] * kept->chunk[d];
        room = len - kept->start[d];
        kept->shape[d] = room < kept->chunk[d] ? room : kept->chunk[d];
        part = part || shape[d] < kept->shape[d];
        if (!shape[d] || kept->shape[d] <= 0 || __builtin_mul_overflow(kept->bytes, (size_t)kept->shape[d], &kept->bytes)) return false;
    }
    if (!part || kept->bytes > MOST || !inside(kept, var->rank, start, shape)) return false;
    kept->reads = 1;
    return true;
}

/* Lets go what is kept of other variables, if there is no room for more. */
static void make_room(oz_file *file, size_t bytes) {
    if (file->kept_bytes + bytes <= MOST) return;
    for (oz_var *var = NULL; (var = oz_next_var(file, var));) drop_values(var);
}

/* Reads the chunk whole, which the library has decoded for the reads before. */
static void keep(oz_var *var, const ozarr_array *array) {
    struct oz_kept *kept = var->kept;
    make_room(var->group->file, kept->bytes);
    char *values = malloc(kept->bytes);
    ozarr_type type = oz_type_stored(var->info->base);
    if (!values || oz_error(ozarr_array_read_region(array, kept->start, kept->shape, type, values, kept->bytes))) {
        free(values);
        return;
    }
    kept->values = values;
    var->group->file->kept_bytes += kept->bytes;
}

/* Copies a box of what is kept, row by row. */
static void copy(const oz_var *var, const int64_t *start, const int64_t *shape, char *values) {
    const struct oz_kept *kept = var->kept;
    int last = var->rank - 1;
    int64_t index[MOST_DIMS];
    size_t size = var->info->size, row = (size_t)shape[last] * size;
    memset(index, 0, (size_t)var->rank * sizeof *index);
    for (bool more = true; more; values += row) {
        size_t from = 0;
        for (int d = 0; d <= last; d++) from = from * (size_t)kept->shape[d] + (size_t)(start[d] - kept->start[d] + index[d]);
        memcpy(values, kept->values + from * size, row);
        more = false;
        for (int d = last - 1; d >= 0 && !more; d--) {
            more = ++index[d] < shape[d];
            if (!more) index[d] = 0;
        }
    }
}

bool oz_kept_read(oz_var *var, const ozarr_array *array, const int64_t *start, const int64_t *shape, void *values) {
    if (var->group->file->writable || var->scalar_of_one || !var->rank || !var->array) return false;
    if ((!var->kept && !begin(var)) || !count_read(var, start, shape)) return false;
    if (!var->kept->values && var->kept->reads > 1 + var->kept->bytes / READ_ONCE_MORE) keep(var, array);
    if (!var->kept->values) return false;
    copy(var, start, shape, values);
    return true;
}
