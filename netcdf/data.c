/* The table's functions that read and write elements. */
#include "hierarchy.h"
#include "parallel.h"
#include "table.h"
#include "types.h"

#include <ozarr_advanced.h>
#include <stdlib.h>
#include <string.h>

/* A region of a variable, as netCDF gives it and as ozarr takes it. */
typedef struct box {
    int rank;
    int64_t start[64], shape[64], step[64], ends[64];
    size_t count;
    bool steps;
    /* All ranks move their regions together. */
    bool together;
} box;

/* The region without checks against lengths; NC_ESTRIDE. */
static int make_box(const oz_var *var, const size_t *start, const size_t *count, const ptrdiff_t *stride, box *b) {
    b->rank = var->rank;
    b->count = 1;
    b->steps = b->together = false;
    for (int d = 0; d < var->rank; d++) {
        if (stride && stride[d] <= 0) return NC_ESTRIDE;
        if (start[d] > INT64_MAX / 2) return NC_EINVALCOORDS;
        b->start[d] = (int64_t)start[d];
        b->step[d] = stride ? stride[d] : 1;
        size_t n = count ? count[d] : (var->dims[d]->len - start[d] + (size_t)b->step[d] - 1) / (size_t)b->step[d];
        /* Of one element there is no next one, however far away. */
        if (n < 2) b->step[d] = 1;
        if (n > INT32_MAX * (size_t)INT32_MAX / (size_t)b->step[d] || __builtin_mul_overflow(b->count, n, &b->count)) return NC_EEDGE;
        b->shape[d] = (int64_t)n;
        b->ends[d] = n ? b->start[d] + (b->shape[d] - 1) * b->step[d] + 1 : 0;
        b->steps = b->steps || b->step[d] != 1;
    }
    /* What holds no element lengthens nothing. */
    if (!b->count) memset(b->ends, 0, sizeof b->ends);
    if (var->scalar_of_one) b->start[0] = 0, b->shape[0] = 1, b->step[0] = 1;
    return NC_NOERR;
}

/* Compares the region with the lengths of dimensions; those that may grow are no limit to a write. */
static int check_box(const oz_var *var, const box *b, bool write) {
    for (int d = 0; d < b->rank; d++) {
        const oz_dim *dim = var->dims[d];
        int64_t len = (int64_t)dim->len, last;
        if (write && dim->unlimited) continue;
        if (b->start[d] > len || (b->start[d] == len && b->shape[d] > 0)) return NC_EINVALCOORDS;
        if (!b->shape[d]) continue;
        if (__builtin_mul_overflow(b->shape[d] - 1, b->step[d], &last) || __builtin_add_overflow(last, b->start[d], &last) || last >= len) return NC_EEDGE;
    }
    return NC_NOERR;
}

/* Whether all ranks read or write a variable together. */
static bool is_collective(const oz_var *var, bool write) {
    const oz_file *file = var->group->file;
    return var->collective && file->ranks && !(write && !file->writable);
}

/* What both directions check first. Where ranks do it together, `prepare` ends define mode, also on those that find an error here. */
static int begin(int ncid, int varid, nc_type *type, bool write, oz_var **var) {
    *var = NULL;
    int status = oz_find_var(ncid, varid, var);
    if (status) return status;
    oz_file *file = (*var)->group->file;
    if (write && !file->writable) return NC_EPERM;
    /* It may be there again. */
    if ((*var)->lost && !file->ranks) status = oz_var_look(*var, NULL);
    if (status) return status;
    if ((*var)->lost) return oz_log("another program has renamed, erased or replaced the variable %s", (*var)->name), NC_ENOTVAR;
    if (*type == NC_NAT) *type = (*var)->type;
    if (*type != (*var)->type) {
        if (*type == NC_CHAR || (*var)->type == NC_CHAR) return NC_ECHAR;
        if (*type == NC_STRING || (*var)->type == NC_STRING || !oz_type_size(*type) || (*var)->info->kind) return NC_EBADTYPE;
    }
    return is_collective(*var, write) ? NC_NOERR : oz_to_data(file);
}

static int range_status(const oz_var *var, nc_type type, int status) {
    bool bytes = (type == NC_BYTE || type == NC_UBYTE) && (var->type == NC_BYTE || var->type == NC_UBYTE);
    return status == NC_ERANGE && bytes && oz_signs_are_free(var->group->file) ? NC_NOERR : status;
}

static ozarr_type stored_type(const oz_var *var) {
    return var->form == OZ_CHARS || var->form == OZ_RECORDS ? OZARR_BY_DTYPE : oz_type_stored(var->info->base);
}

static ozarr_region region_of(const box *b) {
    ozarr_region region = OZARR_REGION_INIT;
    region.start = b->start;
    region.shape = b->shape;
    region.step = b->steps ? b->step : NULL;
    return region;
}

/* What a call on elements gives. A variable that another open file of this process has renamed or erased is lost. */
static int moved(oz_var *var, ozarr_status status) {
    int error = oz_error(status);
    if (status != OZARR_ERR_STATE) return error;
    var->lost = true;
    return NC_ENOTVAR;
}

/* Reads or writes elements that have the variable's own type in memory. */
static int move_values(oz_var *var, const ozarr_array *array, const box *b, void *values, bool write) {
    size_t size = b->count * var->info->size;
    if (!b->steps && !b->together && var->form == OZ_NUMBERS && !write && oz_kept_read(var, array, b->start, b->shape, values)) return NC_NOERR;
    if (!b->steps && !b->together && var->form == OZ_NUMBERS)
        return moved(var, write ? ozarr_array_write_region(array, b->start, b->shape, stored_type(var), values, size)
                                : ozarr_array_read_region(array, b->start, b->shape, stored_type(var), values, size));
    ozarr_region region = region_of(b);
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = values;
    memory.size = size;
    memory.type = stored_type(var);
    memory.dtype = var->dtype;
    if (b->together) return oz_access_move(var->group->file, array, write, &region, &memory);
    return moved(var, write ? ozarr_array_write_ex(array, &region, &memory) : ozarr_array_read_ex(array, &region, &memory));
}

/* Zarr has no strings that are NULL: where that is the fill value of a variable, all empty ones are. */
static int read_strings(const oz_var *var, const ozarr_array *array, const box *b, char **strings) {
    bool fill_is_null = !*(char *const *)var->fill;
    ozarr_region region = region_of(b);
    ozarr_varlen *read;
    int status = oz_error(ozarr_array_read_varlen(array, &region, &read));
    if (status) return status;
    for (size_t i = 0; i < b->count && !status; i++) {
        const char *bytes = "";
        size_t len = 0;
        status = oz_error(ozarr_varlen_get(read, (int64_t)i, &bytes, &len));
        bool is_null = status || (fill_is_null && !len);
        strings[i] = is_null ? NULL : strndup(bytes, len);
        if (!strings[i] && !is_null) status = NC_ENOMEM;
    }
    ozarr_varlen_free(read);
    return status;
}

static int write_strings(const ozarr_array *array, const box *b, const char *const *strings) {
    ozarr_region region = region_of(b);
    const char **given = malloc((b->count + 1) * sizeof *given);
    if (!given) return NC_ENOMEM;
    for (size_t i = 0; i < b->count; i++) given[i] = strings[i] ? strings[i] : "";
    int status = oz_error(ozarr_array_write_strings(array, &region, given));
    free(given);
    return status;
}

static int read_lists(const oz_var *var, const ozarr_array *array, const box *b, nc_vlen_t *lists) {
    ozarr_region region = region_of(b);
    ozarr_varlen *read;
    size_t size = oz_type_size(var->info->base);
    int status = oz_error(ozarr_array_read_varlen(array, &region, &read));
    if (status) return status;
    for (size_t i = 0; i < b->count && !status; i++) {
        const char *bytes = "";
        size_t len = 0;
        status = oz_error(ozarr_varlen_get(read, (int64_t)i, &bytes, &len));
        lists[i] = (nc_vlen_t){len / size, NULL};
        if (status || len < size) continue;
        lists[i].p = malloc(len);
        if (!lists[i].p) status = NC_ENOMEM;
        else memcpy(lists[i].p, bytes, len), oz_to_little_endian(lists[i].p, size, len / size);
    }
    ozarr_varlen_free(read);
    return status;
}

static int write_lists(const oz_var *var, const ozarr_array *array, const box *b, const nc_vlen_t *lists) {
    ozarr_region region = region_of(b);
    size_t size = oz_type_size(var->info->base), total = 0;
    for (size_t i = 0; i < b->count; i++) total += lists[i].p ? lists[i].len * size : 0;
    char *data = malloc(total + 1);
    int64_t *offsets = malloc((b->count + 1) * sizeof *offsets);
    int status = data && offsets ? NC_NOERR : NC_ENOMEM;
    size_t at = 0;
    for (size_t i = 0; i < b->count && !status; i++) {
        size_t len = lists[i].p ? lists[i].len * size : 0;
        offsets[i] = (int64_t)at;
        if (len) memcpy(data + at, lists[i].p, len);
        at += len;
    }
    if (!status) {
        offsets[b->count] = (int64_t)total;
        oz_to_little_endian(data, size, total / size);
        status = oz_error(ozarr_array_write_varlen(array, &region, offsets, data, total));
    }
    free(data);
    free(offsets);
    return status;
}

/* Dimensions that may grow are as long as what was written; what is behind the end of its array makes all arrays along them longer. */
static void grow(oz_var *var, const int64_t *ends) {
    for (int d = 0; d < var->rank; d++) {
        oz_dim *dim = var->dims[d];
        if ((size_t)ends[d] > dim->len) dim->len = (size_t)ends[d];
        if (dim->unlimited && ends[d] > var->shape[d]) dim->published = true;
    }
}

/* Begins an access of one rank or of all: the handle, and what of the region this rank moves. A rank of which `status` tells an error takes
 * part with nothing. `ends` become those of all ranks. */
static int prepare(oz_var *var, box *b, int64_t *ends, int status, bool write, ozarr_array **array) {
    bool collective = var && is_collective(var, write);
    int how = OZ_TOGETHER;
    *array = NULL;
    if (status && collective) *b = (box){.rank = var->rank};
    if (var && (collective || !status)) memcpy(ends, b->ends, (size_t)var->rank * sizeof *ends);
    if (!collective && (status || !b->count)) return status;
    int opened = collective ? oz_to_data(var->group->file) : NC_NOERR;
    if (!opened) opened = oz_var_data(var, write ? b->ends : NULL, array);
    /* Without it they would be moved as the array has them, without the room between the fields. */
    if (!opened && var->form == OZ_RECORDS && !var->dtype) opened = NC_EINTERNAL;
    if (!collective) return opened;
    if (b->steps || !var->rank || var->scalar_of_one || var->form == OZ_STRINGS || var->form == OZ_LISTS) how = OZ_ALONE;
    if (opened) how = OZ_BROKEN;
    int agreed = oz_access_begin(var->group->file, var->rank, ends, &how);
    if (agreed || how == OZ_BROKEN) return status ? status : agreed ? agreed : opened ? opened : NC_EIO;
    b->together = how == OZ_TOGETHER;
    if (!b->together && (status || !b->count)) *array = NULL;
    return NC_NOERR;
}

/* Reads values of the variable's type, and converts them. */
static int get(oz_var *var, const ozarr_array *array, box *b, void *values, nc_type type) {
    if (var->form == OZ_STRINGS) return read_strings(var, array, b, values);
    if (var->form == OZ_LISTS) return read_lists(var, array, b, values);
    if (type == var->type || !b->count) return move_values(var, array, b, values, false);
    void *buffer = malloc(b->count * var->info->size);
    if (!buffer && !b->together) return NC_ENOMEM;
    if (!buffer) memset(b->shape, 0, sizeof b->shape);
    int status = move_values(var, array, b, buffer, false);
    if (!buffer) return NC_ENOMEM;
    if (!status) status = range_status(var, type, oz_convert(buffer, var->type, values, type, b->count));
    free(buffer);
    return status;
}

/* Reads a region; `wrong` is what the caller found, with which this rank takes part with nothing. */
static int get_region(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, void *values, nc_type type, int wrong) {
    oz_var *var;
    ozarr_array *array;
    box b;
    int64_t ends[64];
    int own = begin(ncid, varid, &type, false, &var);
    if (wrong) own = wrong;
    if (!own) own = make_box(var, start, count, stride, &b);
    if (!own) own = check_box(var, &b, false);
    if (!own && b.count && (array = oz_var_decoder(var)) && !get(var, array, &b, values, type)) return NC_NOERR;
    int status = prepare(var, &b, ends, own, false, &array);
    if (!status && array) status = get(var, array, &b, values, type);
    return own ? own : status;
}

int oz_get_vars(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, void *values, nc_type type) {
    return get_region(ncid, varid, start, count, stride, values, type, NC_NOERR);
}

/* Converts and rounds values for the store; NC_ERANGE comes after all are converted. */
static int prepare_values(const oz_var *var, const box *b, const void *values, nc_type type, void *buffer) {
    int range = NC_NOERR;
    if (type == var->type) memcpy(buffer, values, b->count * var->info->size);
    else range = range_status(var, type, oz_convert(values, type, buffer, var->type, b->count));
    if (var->quantize) oz_quantize(var->quantize, var->digits, var->type, buffer, b->count, var->fill);
    return range;
}

/* Whether a region is all of a variable that may wait in memory. */
static bool may_wait(const oz_var *var, const box *b) {
    for (int d = 0; d < var->rank; d++)
        if (b->start[d] || b->shape[d] != (int64_t)var->dims[d]->len) return false;
    return b->count && b->count <= SIZE_MAX / 16 && oz_var_may_wait(var, b->count * var->info->size);
}

/* Keeps all elements of a variable until they are stored with those of others. */
static int keep(oz_var *var, const box *b, const void *values, nc_type type) {
    size_t size = b->count * var->info->size;
    void *buffer = malloc(size);
    if (!buffer) return NC_ENOMEM;
    int range = prepare_values(var, b, values, type, buffer), status = oz_var_keep(var, buffer, size);
    return status ? status : range;
}

/* Writes elements; NC_ERANGE comes after all are written. */
static int put(oz_var *var, const ozarr_array *array, box *b, const void *values, nc_type type) {
    if (var->form == OZ_STRINGS) return write_strings(array, b, values);
    if (var->form == OZ_LISTS) return write_lists(var, array, b, values);
    if ((type == var->type && !var->quantize) || !b->count) return move_values(var, array, b, (void *)values, true);
    int range = NC_NOERR;
    void *buffer = malloc(b->count * var->info->size);
    if (!buffer && !b->together) return NC_ENOMEM;
    if (!buffer) memset(b->shape, 0, sizeof b->shape);
    else range = prepare_values(var, b, values, type, buffer);
    int status = move_values(var, array, b, buffer, true);
    if (!buffer) return NC_ENOMEM;
    free(buffer);
    return status ? status : range;
}

/* Writes a region; `wrong` is what the caller found, with which this rank takes part with nothing. */
static int put_region(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const void *values, nc_type type,
    int wrong) {
    oz_var *var;
    ozarr_array *array;
    box b;
    int64_t ends[64];
    int own = begin(ncid, varid, &type, true, &var);
    if (wrong) own = wrong;
    if (!own) own = make_box(var, start, count, stride, &b);
    if (!own) own = check_box(var, &b, true);
    if (!own && may_wait(var, &b)) return keep(var, &b, values, type);
    int status = prepare(var, &b, ends, own, true, &array);
    if (!status && array) status = put(var, array, &b, values, type);
    if (status && status != NC_ERANGE) return own ? own : status;
    grow(var, ends);
    /* What a rank has taken part with was nothing of its own. */
    if (!own) var->written = var->written || array, var->put = var->put || array;
    return own ? own : status;
}

int oz_put_vars(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const void *values, nc_type type) {
    return put_region(ncid, varid, start, count, stride, values, type, NC_NOERR);
}

int oz_get_vara(int ncid, int varid, const size_t *start, const size_t *count, void *values, nc_type type) {
    return oz_get_vars(ncid, varid, start, count, NULL, values, type);
}

int oz_put_vara(int ncid, int varid, const size_t *start, const size_t *count, const void *values, nc_type type) {
    return oz_put_vars(ncid, varid, start, count, NULL, values, type);
}

/* Copies between a block in C order and memory whose distances, in elements, are mapped. */
static void copy_mapped(const box *b, const ptrdiff_t *map, char *mapped, char *block, size_t size, bool out) {
    int64_t index[64] = {0};
    for (size_t i = 0; i < b->count; i++) {
        ptrdiff_t offset = 0;
        for (int d = 0; d < b->rank; d++) offset += (ptrdiff_t)index[d] * map[d];
        char *other = mapped + offset * (ptrdiff_t)size;
        memcpy(out ? other : block + i * size, out ? block + i * size : other, size);
        for (int d = b->rank - 1; d >= 0 && ++index[d] == b->shape[d]; d--) index[d] = 0;
    }
}

/* Room for a mapped region, once all that may be wrong with it is found: the program's memory ends where the region is right. */
static int mapped_block(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, nc_type type, bool write, box *b,
    size_t *size, char **block) {
    oz_var *var;
    int status = begin(ncid, varid, &type, write, &var);
    if (!status) status = make_box(var, start, count, stride, b);
    if (!status) status = check_box(var, b, write);
    if (status) return status;
    *size = type == var->type ? var->info->size : oz_type_size(type);
    *block = calloc(b->count + 1, *size);
    return *block ? NC_NOERR : NC_ENOMEM;
}

int oz_get_varm(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const ptrdiff_t *map, void *values,
    nc_type type) {
    box b;
    size_t size = 0;
    char *block = NULL;
    if (!map) return oz_get_vars(ncid, varid, start, count, stride, values, type);
    int status = mapped_block(ncid, varid, start, count, stride, type, false, &b, &size, &block);
    if (status) return get_region(ncid, varid, start, count, stride, NULL, type, status);
    status = oz_get_vars(ncid, varid, start, count, stride, block, type);
    if (!status || status == NC_ERANGE) copy_mapped(&b, map, values, block, size, true);
    free(block);
    return status;
}

int oz_put_varm(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const ptrdiff_t *map, const void *values,
    nc_type type) {
    box b;
    size_t size = 0;
    char *block = NULL;
    if (!map) return oz_put_vars(ncid, varid, start, count, stride, values, type);
    int status = mapped_block(ncid, varid, start, count, stride, type, true, &b, &size, &block);
    if (status) return put_region(ncid, varid, start, count, stride, NULL, type, status);
    copy_mapped(&b, map, (char *)values, block, size, false);
    status = oz_put_vars(ncid, varid, start, count, stride, block, type);
    free(block);
    return status;
}
