/* Brings the model into the store: arrays and groups that were defined, attributes, the lengths of dimensions that grew. */
#include "attribute_json.h"
#include "hierarchy.h"
#include "types.h"

#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The chunks of a variable that may grow: one record at least, and as many records as make a chunk of the usual size. */
static void choose_chunks(const oz_var *var, size_t *chunks) {
    enum { MOST_RECORDS = 64, MOST_VALUES = 1024 };
    size_t item = oz_type_size(var->type), record = 1, target = oz_get_defaults()->chunk_bytes / item + 1;
    for (int d = 0; d < var->rank; d++) {
        chunks[d] = var->dims[d]->unlimited || !var->dims[d]->len ? 1 : var->dims[d]->len;
        record *= chunks[d];
    }
    while (record > target) {
        int longest = 0;
        for (int d = 1; d < var->rank; d++)
            if (chunks[d] > chunks[longest]) longest = d;
        record = record / chunks[longest];
        chunks[longest] = (chunks[longest] + 1) / 2;
        record *= chunks[longest];
    }
    size_t most = var->rank == 1 ? MOST_VALUES : MOST_RECORDS;
    for (int d = 0; d < var->rank; d++) {
        if (!var->dims[d]->unlimited) continue;
        size_t records = target / record;
        chunks[d] = records < 1 ? 1 : records > most ? most : records;
        record *= chunks[d];
    }
}

static bool may_grow(const oz_var *var) {
    for (int d = 0; d < var->rank; d++)
        if (var->dims[d]->unlimited) return true;
    return false;
}

int oz_var_chunks(const oz_var *var, size_t *chunks) {
    int64_t shape[64];
    if (var->array && !var->scalar_of_one) {
        int status = oz_error(ozarr_array_inner_chunk_shape(var->array, shape));
        for (int d = 0; d < var->rank && !status; d++) chunks[d] = (size_t)shape[d];
        return status;
    }
    if (var->chunks) memcpy(chunks, var->chunks, (size_t)var->rank * sizeof *chunks);
    else choose_chunks(var, chunks);
    return NC_NOERR;
}

/* Blosc's names for its compressors, in the order of their numbers in filter 32001. */
static const char *const BLOSC[] = {"blosc:blosclz", "blosc:lz4", "blosc:lz4hc", NULL, "blosc:zlib", "blosc:zstd"};

static ozarr_status set_compressor(ozarr_spec *spec, const oz_var *var, int format) {
    const oz_defaults *defaults = oz_get_defaults();
    const oz_filter *deflate = oz_var_filter(var, 1), *zstd = oz_var_filter(var, 32015), *blosc = oz_var_filter(var, 32001);
    bool shuffled = oz_var_filter(var, 2) != NULL && var->form == OZ_NUMBERS, text = var->form == OZ_STRINGS;
    const char *name = defaults->compressor;
    int level = defaults->level;
    ozarr_shuffle shuffle = text ? OZARR_SHUFFLE_DEFAULT : defaults->shuffle;
    if (shuffled) {
        shuffle = OZARR_SHUFFLE_BYTE;
        if (format == 3 && strncmp(name, "blosc", 5) != 0) name = "blosc:zstd";
    }
    if (deflate) {
        /* numcodecs' shuffle is no codec of format 3; Blosc has its own. */
        level = deflate->count ? (int)deflate->parameters[0] : -1;
        name = level == 0 ? "none" : shuffled && format == 3 ? "blosc:zlib" : format == 3 ? "gzip" : "zlib";
    } else if (zstd) {
        level = zstd->count ? (int)zstd->parameters[0] : -1;
        name = shuffled && format == 3 ? "blosc:zstd" : "zstd";
        if (name[0] == 'b' && level > 9) level = 9;
    } else if (oz_var_filter(var, 307)) {
        const oz_filter *bzip2 = oz_var_filter(var, 307);
        level = bzip2->count ? (int)bzip2->parameters[0] : -1;
        name = "bz2";
        if (format == 3) shuffle = OZARR_SHUFFLE_DEFAULT;
    } else if (blosc && !text) {
        unsigned which = blosc->count > 6 ? blosc->parameters[6] : 0;
        name = which < sizeof BLOSC / sizeof *BLOSC && BLOSC[which] ? BLOSC[which] : BLOSC[1];
        level = blosc->count > 4 ? (int)blosc->parameters[4] : -1;
        shuffle = blosc->count > 5 ? (ozarr_shuffle)(blosc->parameters[5] + 1) : OZARR_SHUFFLE_DEFAULT;
    }
    if (text && strncmp(name, "blosc", 5) == 0) name = "zstd", level = -1;
    if (strcmp(name, "none") == 0) shuffle = OZARR_SHUFFLE_DEFAULT;
    ozarr_status status = ozarr_spec_set_compressor(spec, name, level);
    return status ? status : ozarr_spec_set_shuffle(spec, shuffle);
}

/* Inner chunks of the usual size, as many of them in a shard along the first dimensions as its bytes allow. */
static ozarr_status set_chunks(ozarr_spec *spec, const oz_var *var) {
    int64_t chunks[64], shards[64];
    size_t own[64], bytes = oz_type_size(var->type), shard_bytes = oz_get_defaults()->shard_bytes;
    if (!var->rank || (!var->chunks && !may_grow(var) && !shard_bytes)) return OZARR_OK;
    if (oz_var_chunks(var, own)) return OZARR_ERR_INTERNAL;
    for (int d = 0; d < var->rank; d++) {
        chunks[d] = shards[d] = (int64_t)own[d];
        bytes *= own[d];
    }
    for (int d = var->rank - 1; d >= 0 && shard_bytes && bytes; d--) {
        size_t room = shard_bytes / bytes, wanted = var->dims[d]->unlimited ? room : (var->dims[d]->len + own[d] - 1) / own[d];
        size_t times = wanted < room ? wanted : room;
        if (times < 2) continue;
        shards[d] *= (int64_t)times;
        bytes *= times;
    }
    ozarr_status status = ozarr_spec_set_chunks(spec, shards);
    return status || !memcmp(chunks, shards, (size_t)var->rank * sizeof *chunks) ? status : ozarr_spec_set_inner_chunks(spec, chunks);
}

static ozarr_status new_spec(const oz_var *var, ozarr_spec **spec) {
    if (var->form != OZ_CHARS) return ozarr_spec_new(oz_type_stored(var->type), var->rank, var->shape, spec);
    ozarr_dtype *dtype = NULL;
    ozarr_status status = ozarr_dtype_parse("|S1", 2, &dtype);
    if (!status) status = ozarr_spec_new_dtype(dtype, var->rank, var->shape, spec);
    ozarr_dtype_free(dtype);
    return status;
}

static ozarr_status set_fill(ozarr_spec *spec, const oz_var *var) {
    if (var->form == OZ_NUMBERS) return ozarr_spec_set_fill_value(spec, OZARR_AS_STORED, var->fill);
    if (var->form == OZ_CHARS) {
        ozarr_dtype *dtype = NULL;
        ozarr_status status = ozarr_dtype_parse("|S1", 2, &dtype);
        if (!status) status = ozarr_spec_set_fill_dtype(spec, dtype, var->fill, 1);
        ozarr_dtype_free(dtype);
        return status;
    }
    text t = {0};
    const char *string = *(char *const *)var->fill;
    text_quote(&t, string ? string : "", string ? strlen(string) : 0);
    ozarr_status status = t.failed ? OZARR_ERR_NO_MEMORY : ozarr_spec_set_fill_json(spec, t.bytes);
    free(t.bytes);
    return status;
}

static ozarr_status set_rest(ozarr_spec *spec, const oz_var *var, int format) {
    const char *names[64];
    text attributes = {0};
    for (int d = 0; d < var->rank; d++) names[d] = var->dims[d]->name;
    oz_atts_write(&attributes, &var->atts, var, format);
    ozarr_status status = attributes.failed ? OZARR_ERR_NO_MEMORY : OZARR_OK;
    if (!status) status = ozarr_spec_set_zarr_format(spec, format);
    if (!status && var->rank) status = ozarr_spec_set_dimension_names(spec, names);
    if (!status && var->big_endian) status = ozarr_spec_set_big_endian(spec, true);
    if (!status && (oz_var_filter(var, 3) || oz_get_defaults()->checksum)) status = ozarr_spec_set_checksum(spec, true);
    if (!status) status = ozarr_spec_set_attributes_json(spec, attributes.bytes);
    free(attributes.bytes);
    return status;
}

/* A length for the dimensions that may grow, such that the number of elements has 62 bits at most. */
static int64_t endless_length(const oz_var *var) {
    int bits = 61, growing = 0;
    for (int d = 0; d < var->rank; d++) {
        if (var->dims[d]->unlimited) growing++;
        for (size_t len = var->dims[d]->unlimited ? 1 : var->dims[d]->len; len > 1; len = (len + 1) / 2) bits--;
    }
    bits /= growing ? growing : 1;
    return (int64_t)1 << (bits > 40 ? 40 : bits < 1 ? 1 : bits);
}

/* The shape that an array is made with: without an end where it may grow, if `endless`. */
static void set_lengths(oz_var *var, bool endless) {
    int64_t most = endless_length(var);
    for (int d = 0; d < var->rank; d++) var->shape[d] = endless && var->dims[d]->unlimited ? most : (int64_t)var->dims[d]->len;
}

/* Keeps the handle on the array without an end, through which elements are stored behind the published length, and publishes the length. */
static int shorten(oz_var *var) {
    var->endless = var->array;
    var->array = NULL;
    set_lengths(var, false);
    int status = oz_error(ozarr_group_open_array(var->group->handle, var->name, &var->array));
    return status ? status : oz_error(ozarr_array_resize(var->array, var->shape, OZARR_RESIZE_KEEP));
}

int oz_var_create(oz_var *var) {
    ozarr_spec *spec = NULL;
    int32_t format = 3;
    bool again = var->array != NULL;
    ozarr_array_free(var->endless);
    ozarr_array_free(var->array);
    var->endless = var->array = NULL;
    var->buffered = false;
    set_lengths(var, true);
    ozarr_status status = ozarr_node_zarr_format(ozarr_group_node(var->group->handle), &format);
    if (!status) status = new_spec(var, &spec);
    if (!status) status = set_chunks(spec, var);
    if (!status) status = set_compressor(spec, var, format);
    if (!status) status = set_rest(spec, var, format);
    if (!status) status = set_fill(spec, var);
    if (!status)
        status = ozarr_group_create_array(var->group->handle, var->name, spec, again ? OZARR_CREATE_OVERWRITE : OZARR_CREATE_NEW, &var->array);
    ozarr_spec_free(spec);
    var->dirty = var->recreate = false;
    return status || !may_grow(var) ? oz_error(status) : shorten(var);
}

/* Our record of the group: what Zarr does not say. */
static void write_record(text *t, const oz_group *group) {
    text_put(t, "{\"version\":1");
    if (!group->parent && group->file->classic) text_put(t, ",\"classic\":true");
    text_member(t, "dimensions");
    text_put(t, "{");
    for (int i = 0; i < group->dims.count; i++) {
        const oz_dim *dim = group->dims.items[i];
        char size[64];
        snprintf(size, sizeof size, dim->unlimited ? "{\"unlimited\":true}" : "{\"size\":%zu}", dim->len);
        text_member(t, dim->name);
        text_put(t, size);
    }
    text_put(t, "}");
    text_member(t, "variables");
    text_put(t, "{");
    for (int i = 0; i < group->vars.count; i++) {
        const oz_var *var = group->vars.items[i];
        text_member(t, var->name);
        text_put(t, "{");
        if (var->no_fill) text_put(t, "\"no_fill\":true");
        if (!var->contiguous && !may_grow(var)) text_member(t, "chunked"), text_put(t, "true");
        if (oz_list_find(&var->atts, _FillValue)) text_member(t, "fill"), text_put(t, "true");
        oz_types_write(t, "types", &var->atts, var);
        text_put(t, "}");
    }
    text_put(t, "}");
    text_member(t, "groups");
    text_put(t, "[");
    for (int i = 0; i < group->groups.count; i++) {
        const oz_group *child = group->groups.items[i];
        text_comma(t);
        text_quote(t, child->name, strlen(child->name));
    }
    text_put(t, "]");
    oz_types_write(t, "types", &group->atts, NULL);
    text_put(t, "}");
}

static int store_group_atts(oz_group *group) {
    ozarr_node *node = ozarr_group_node(group->handle);
    text attributes = {0}, record = {0};
    oz_atts_write(&attributes, &group->atts, NULL, 3);
    write_record(&record, group);
    ozarr_status status = attributes.failed || record.failed ? OZARR_ERR_NO_MEMORY : ozarr_attrs_begin(node);
    if (!status) status = ozarr_attrs_set(node, attributes.bytes);
    if (!status) status = ozarr_attr_set_json(node, OZ_RECORD, record.bytes);
    if (!status) status = ozarr_attrs_commit(node);
    free(attributes.bytes);
    free(record.bytes);
    if (!status) group->dirty = false;
    return oz_error(status);
}

static int store_var_atts(oz_var *var) {
    text attributes = {0};
    int32_t format = 3;
    ozarr_status status = ozarr_node_zarr_format(ozarr_array_node(var->array), &format);
    oz_atts_write(&attributes, &var->atts, var, format);
    if (!status) status = attributes.failed ? OZARR_ERR_NO_MEMORY : ozarr_attrs_set(ozarr_array_node(var->array), attributes.bytes);
    free(attributes.bytes);
    if (!status) var->dirty = false;
    return oz_error(status);
}

static int store_group(oz_group *group) {
    int status = NC_NOERR;
    if (!group->handle) status = oz_error(ozarr_group_create_group(group->parent->handle, group->name, OZARR_CREATE_NEW, &group->handle));
    for (int i = 0; i < group->vars.count && !status; i++) {
        oz_var *var = group->vars.items[i];
        if (!var->array || var->recreate) status = oz_var_create(var);
        else if (var->dirty) status = store_var_atts(var);
    }
    return !status && group->dirty ? store_group_atts(group) : status;
}

int oz_hierarchy_store(oz_file *file) {
    int status = NC_NOERR;
    for (int i = 0; i < file->group_count && !status && file->dirty; i++) status = store_group(file->groups[i]);
    if (!status && file->dirty) file->stored = true;
    if (!status) file->dirty = false;
    return status;
}

/* Publishes the length of a variable, after its elements. */
static int publish(oz_var *var) {
    int64_t shape[64];
    bool longer = false;
    for (int d = 0; d < var->rank; d++) {
        shape[d] = (int64_t)var->dims[d]->len;
        longer = longer || shape[d] != var->shape[d];
    }
    if (!longer) return NC_NOERR;
    int status = oz_error(ozarr_array_resize(var->array, shape, OZARR_RESIZE_KEEP));
    if (!status) memcpy(var->shape, shape, (size_t)var->rank * sizeof *shape);
    return status;
}

int oz_hierarchy_sync(oz_file *file) {
    int status = oz_hierarchy_store(file), first = NC_NOERR;
    for (int pass = 0; pass < 2 && !status; pass++)
        for (int i = 0; i < file->group_count; i++)
            for (int k = 0; k < file->groups[i]->vars.count; k++) {
                oz_var *var = file->groups[i]->vars.items[k];
                ozarr_array *data = var->endless ? var->endless : var->array;
                int one = NC_NOERR;
                if (pass == 0 && var->buffered) one = oz_error(ozarr_node_flush(ozarr_array_node(data)));
                if (pass == 1 && !var->scalar_of_one) one = publish(var);
                if (one && !first) first = one;
            }
    return status ? status : first;
}

/* A handle for reading an array that is shorter than its dimensions: elements behind its end have the fill value. The document that it
 * is opened by is the array's own with another shape. */
static int open_filled(oz_var *var) {
    size_t len = 0;
    ozarr_group *group;
    text changed = {0};
    const ozarr_node *node = ozarr_array_node(var->array);
    ozarr_status status = ozarr_node_export(node, NULL, 0, &len);
    char *exported = status && status != OZARR_ERR_BUFFER_SIZE ? NULL : calloc(len + 1, 1);
    if (!exported) return oz_error(status ? status : OZARR_ERR_NO_MEMORY);
    status = ozarr_node_export(node, exported, len, &len);
    json *document = status ? NULL : json_read(exported), *shape = json_member(json_member(document, "document"), "shape");
    if (shape) {
        text_add(&changed, exported, shape->from);
        text_put(&changed, "[");
        for (int d = 0; d < var->rank; d++) {
            char number[32];
            text_comma(&changed);
            snprintf(number, sizeof number, "%zu", var->dims[d]->len);
            text_put(&changed, number);
        }
        text_put(&changed, "]");
        text_put(&changed, exported + shape->to);
    }
    if (!status) status = !shape ? OZARR_ERR_INTERNAL : changed.failed ? OZARR_ERR_NO_MEMORY : OZARR_OK;
    if (!status) status = ozarr_node_import_at(var->group->file->store, changed.bytes, changed.len, &var->endless, &group);
    json_free(document);
    free(exported);
    free(changed.bytes);
    return oz_error(status);
}

/* Memory for parts of chunks: as much as all chunks across the variable take that one record touches. */
static void set_buffer(oz_var *var, ozarr_array *array) {
    int64_t chunk[64];
    char number[32];
    if (ozarr_array_chunk_shape(var->array, chunk)) return;
    double one = (double)oz_type_size(var->type), all = one;
    for (int d = 0; d < var->rank; d++) {
        one *= (double)chunk[d];
        double across = var->dims[d]->unlimited || d == 0 ? 1 : (double)((var->shape[d] + chunk[d] - 1) / chunk[d]);
        all *= (double)chunk[d] * (across < 1 ? 1 : across);
    }
    double most = (double)oz_get_defaults()->buffer_bytes, bytes = all < most ? all : most;
    if (bytes < one) bytes = one;
    snprintf(number, sizeof number, "%.0f", bytes + 65536);
    if (ozarr_node_set(ozarr_array_node(array), "write_back", number)) oz_log("%s", ozarr_last_error());
}

/* Makes the array as long as its dimensions are, and as `ends` (or NULL) says. */
static int lengthen(oz_var *var, const int64_t *ends) {
    int64_t shape[64];
    bool longer = false;
    for (int d = 0; d < var->rank; d++) {
        shape[d] = (int64_t)var->dims[d]->len;
        if (ends && ends[d] > shape[d]) shape[d] = ends[d];
        longer = longer || shape[d] > var->shape[d];
    }
    if (!longer) return NC_NOERR;
    if (!var->group->file->writable) return open_filled(var);
    int status = oz_error(ozarr_array_resize(var->array, shape, OZARR_RESIZE_KEEP));
    if (!status) memcpy(var->shape, shape, (size_t)var->rank * sizeof *shape);
    return status;
}

int oz_var_data(oz_var *var, const int64_t *ends, ozarr_array **array) {
    int status = var->array && !var->recreate ? NC_NOERR : oz_hierarchy_store(var->group->file);
    if (!status && !var->endless && !var->scalar_of_one) status = lengthen(var, ends);
    if (status) return status;
    *array = var->endless ? var->endless : var->array;
    if (ends && !var->buffered && var->form != OZ_STRINGS && var->rank) {
        set_buffer(var, *array);
        var->buffered = true;
    }
    return NC_NOERR;
}
