/* The table's functions that say how a variable is stored: fill values, chunks, filters, byte order, quantisation. */
#include "attribute_json.h"
#include "hierarchy.h"
#include "json.h"
#include "table.h"
#include "types.h"

#include <stdlib.h>
#include <string.h>

/* A variable whose storage may still be said. */
static int find(int ncid, int varid, oz_var **var) {
    int status = oz_find_var(ncid, varid, var);
    if (status) return status;
    if (!(*var)->group->file->writable) return NC_EPERM;
    return oz_var_made(*var) || (*var)->unopened ? NC_ELATEDEF : NC_NOERR;
}

int oz_def_var_fill(int ncid, int varid, int no_fill, const void *fill) {
    oz_var *var;
    int status = find(ncid, varid, &var);
    if (status) return status;
    if (no_fill && (var->type == NC_STRING || var->form == OZ_LISTS)) return NC_EINVAL;
    var->no_fill = no_fill;
    /* Where it is filled again after all, that is by the usual value. */
    if (no_fill) memset(var->fill, 0, var->info->size);
    if (no_fill && var->form != OZ_RECORDS) oz_default_fill(var->info->base, var->fill);
    if (!fill || no_fill) {
        int deleted = no_fill ? oz_del_att(ncid, varid, OZ_FILL_VALUE) : NC_NOERR;
        return deleted == NC_ENOTATT ? NC_NOERR : deleted;
    }
    int deleted = oz_del_att(ncid, varid, OZ_FILL_VALUE);
    if (deleted && deleted != NC_ENOTATT) return deleted;
    return oz_put_att(ncid, varid, OZ_FILL_VALUE, var->type, 1, fill, var->type);
}

/* The filters of netCDF that Zarr has: their numbers, and the numbers of parameters that they take at most. */
static const struct {
    unsigned id;
    size_t parameters;
} FILTERS[] = {{1, 1}, {2, 0}, {3, 0}, {307, 1}, {32001, 7}, {32015, 1}};

static bool known_filter(unsigned id) {
    for (size_t i = 0; i < sizeof FILTERS / sizeof *FILTERS; i++)
        if (FILTERS[i].id == id) return true;
    return false;
}

static void remove_filter(oz_var *var, unsigned id) {
    for (int i = 0; i < var->filter_count; i++) {
        if (var->filters[i].id != id) continue;
        free(var->filters[i].parameters);
        memmove(&var->filters[i], &var->filters[i + 1], (size_t)(--var->filter_count - i) * sizeof *var->filters);
        return;
    }
}

static int add_filter(oz_var *var, unsigned id, size_t count, const unsigned *parameters) {
    remove_filter(var, id);
    oz_filter *filters = realloc(var->filters, (size_t)(var->filter_count + 1) * sizeof *filters);
    unsigned *copy = malloc((count + 1) * sizeof *copy);
    if (filters) var->filters = filters;
    if (!filters || !copy) {
        free(copy);
        return NC_ENOMEM;
    }
    if (count) memcpy(copy, parameters, count * sizeof *copy);
    filters[var->filter_count++] = (oz_filter){id, count, copy};
    var->contiguous = false;
    /* As in netCDF-4, whose ranks write filtered chunks together. */
    if (var->group->file->ranks && !oz_var_made(var)) var->collective = true;
    return NC_NOERR;
}

int oz_def_var_filter(int ncid, int varid, unsigned id, size_t count, const unsigned *parameters) {
    oz_var *var;
    int status = find(ncid, varid, &var);
    if (status) return status;
    if (!known_filter(id)) return NC_ENOFILTER;
    if (count && !parameters) return NC_EINVAL;
    if (id == 1 && (count != 1 || parameters[0] > 9)) return count > 1 ? NC_EFILTER : NC_EINVAL;
    if (id == 32001 && ((count > 4 && parameters[4] > 9) || (count > 5 && parameters[5] > 2))) return NC_EFILTER;
    if (id == 32015 && count && ((int)parameters[0] > 22 || (int)parameters[0] < -131072)) return NC_EFILTER;
    if (id == 307 && (count != 1 || parameters[0] < 1 || parameters[0] > 9)) return NC_EFILTER;
    if (!var->rank) return id > 3 ? NC_EFILTER : NC_NOERR;
    return add_filter(var, id, count, parameters);
}

int oz_def_var_deflate(int ncid, int varid, int shuffle, int deflate, int level) {
    oz_var *var;
    unsigned parameter = (unsigned)level;
    int status = find(ncid, varid, &var);
    if (status) return status;
    if (deflate && (level < 0 || level > 9)) return NC_EINVAL;
    if (!var->rank) return NC_NOERR;
    if (shuffle) status = add_filter(var, 2, 0, NULL);
    if (!status && deflate) status = add_filter(var, 1, 1, &parameter);
    return status;
}

int oz_def_var_fletcher32(int ncid, int varid, int fletcher) {
    oz_var *var;
    int status = find(ncid, varid, &var);
    if (status) return status;
    if (fletcher && !var->rank) return NC_EINVAL;
    if (fletcher) return add_filter(var, 3, 0, NULL);
    remove_filter(var, 3);
    return NC_NOERR;
}

/* The bytes that HDF5 keeps in a variable's header. */
enum { MOST_COMPACT = 65536 };

int oz_def_var_chunking(int ncid, int varid, int storage, const size_t *chunks) {
    oz_var *var;
    int status = find(ncid, varid, &var);
    if (status) return status;
    if (storage != NC_CHUNKED) {
        if (storage != NC_CONTIGUOUS && storage != NC_COMPACT) return NC_EINVAL;
        if (var->filter_count) return NC_EINVAL;
        for (int d = 0; d < var->rank; d++)
            if (var->dims[d]->unlimited) return NC_EINVAL;
        double size = (double)var->info->size;
        for (int d = 0; d < var->rank; d++) size *= (double)var->dims[d]->len;
        if (storage == NC_COMPACT && size > MOST_COMPACT) return NC_EVARSIZE;
        var->contiguous = true;
        var->compact = storage == NC_COMPACT;
        return NC_NOERR;
    }
    if (!var->rank) return NC_EINVAL;
    var->contiguous = var->compact = false;
    if (!chunks) return NC_NOERR;
    double bytes = (double)var->info->size;
    for (int d = 0; d < var->rank; d++) {
        const oz_dim *dim = var->dims[d];
        if (!chunks[d] || (!dim->unlimited && chunks[d] > dim->len)) return NC_EBADCHUNK;
        bytes *= (double)chunks[d];
    }
    if (bytes > (double)NC_MAX_UINT) return NC_EBADCHUNK;
    free(var->chunks);
    var->chunks = malloc((size_t)var->rank * sizeof *chunks);
    if (!var->chunks) return NC_ENOMEM;
    memcpy(var->chunks, chunks, (size_t)var->rank * sizeof *chunks);
    return NC_NOERR;
}

int oz_def_var_endian(int ncid, int varid, int endian) {
    oz_var *var;
    int status = find(ncid, varid, &var);
    if (status) return status;
    if (endian != NC_ENDIAN_NATIVE && endian != NC_ENDIAN_LITTLE && endian != NC_ENDIAN_BIG) return NC_EINVAL;
    if (var->form != OZ_NUMBERS || var->info->kind) return NC_EINVAL;
    var->endian_set = endian != NC_ENDIAN_NATIVE;
    var->big_endian = endian == NC_ENDIAN_BIG;
    return NC_NOERR;
}

/* The attributes that say how numbers were rounded, by the numbers of the modes. */
static const char *const QUANTIZED[] = {NULL, "_QuantizeBitGroomNumberOfSignificantDigits", "_QuantizeGranularBitRoundNumberOfSignificantDigits",
    "_QuantizeBitRoundNumberOfSignificantBits"};

void oz_var_read_quantize(oz_var *var) {
    for (int mode = NC_QUANTIZE_BITGROOM; mode <= NC_QUANTIZE_BITROUND; mode++) {
        const oz_att *att = oz_list_find(&var->atts, QUANTIZED[mode]);
        if (!att || att->len != 1 || oz_convert(att->values, att->type, &var->digits, NC_INT, 1)) continue;
        if (var->digits > 0) var->quantize = mode;
    }
}

int oz_def_var_quantize(int ncid, int varid, int mode, int digits) {
    oz_var *var;
    int status = find(ncid, varid, &var);
    if (status) return status;
    bool binary = mode == NC_QUANTIZE_BITROUND, single = var->type == NC_FLOAT;
    if (mode < NC_NOQUANTIZE || mode > NC_QUANTIZE_BITROUND || !var->rank) return NC_EINVAL;
    if (mode != NC_NOQUANTIZE) {
        int most = binary ? (single ? 23 : 52) : (single ? 7 : 15);
        if ((!single && var->type != NC_DOUBLE) || digits < 1 || digits > most) return NC_EINVAL;
    }
    for (int other = NC_QUANTIZE_BITGROOM; other <= NC_QUANTIZE_BITROUND; other++) {
        status = other == mode ? NC_ENOTATT : oz_del_att(ncid, varid, QUANTIZED[other]);
        if (status && status != NC_ENOTATT) return status;
    }
    var->quantize = mode;
    var->digits = mode ? digits : 0;
    return mode ? oz_put_att(ncid, varid, QUANTIZED[mode], NC_INT, 1, &digits, NC_INT) : NC_NOERR;
}

int oz_set_var_chunk_cache(int ncid, int varid, size_t size, size_t slots, float preemption) {
    oz_var *var;
    int status = oz_find_var(ncid, varid, &var);
    if (status) return status;
    if (preemption < 0 || preemption > 1) return NC_EINVAL;
    var->cache_bytes = size;
    var->cache_slots = slots;
    var->preemption = preemption;
    return NC_NOERR;
}

int oz_get_var_chunk_cache(int ncid, int varid, size_t *size, size_t *slots, float *preemption) {
    oz_var *var;
    int status = oz_find_var(ncid, varid, &var);
    if (status) return status;
    bool set = var->cache_bytes != 0;
    if (size) *size = set ? var->cache_bytes : 16777216;
    if (slots) *slots = set ? var->cache_slots : 4133;
    if (preemption) *preemption = set ? var->preemption : 0.75f;
    return NC_NOERR;
}

int oz_inq_var_filter_ids(int ncid, int varid, size_t *count, unsigned *ids) {
    oz_var *var;
    int status = oz_find_var(ncid, varid, &var);
    if (!status) status = oz_var_read_codecs(var);
    if (status) return status;
    if (count) *count = (size_t)var->filter_count;
    for (int i = 0; i < var->filter_count && ids; i++) ids[i] = var->filters[i].id;
    return NC_NOERR;
}

int oz_inq_var_filter_info(int ncid, int varid, unsigned id, size_t *count, unsigned *parameters) {
    oz_var *var;
    int status = oz_find_var(ncid, varid, &var);
    if (!status) status = oz_var_read_codecs(var);
    if (status) return status;
    const oz_filter *filter = oz_var_filter(var, id);
    if (!filter) return NC_ENOFILTER;
    if (count) *count = filter->count;
    if (parameters && filter->count) memcpy(parameters, filter->parameters, filter->count * sizeof *parameters);
    return NC_NOERR;
}

int oz_inq_var_quantize(int ncid, int varid, int *mode, int *digits) {
    oz_var *var;
    int status = oz_find_var(ncid, varid, &var);
    if (status) return status;
    if (mode) *mode = var->quantize;
    if (digits) *digits = var->digits;
    return NC_NOERR;
}

int oz_inq_filter_avail(int ncid, unsigned id) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    return known_filter(id) ? NC_NOERR : NC_ENOFILTER;
}

/* Filters of an array as netCDF-C without plug-ins can write them: what is compressed by default or otherwise has none. */
static int add_codec(oz_var *var, const char *name, const json *configuration) {
    const json *level = json_member(configuration, "level"), *shuffle = json_member(configuration, "shuffle");
    const json *cname = json_member(configuration, "cname");
    if (!level) level = json_member(configuration, "clevel");
    unsigned parameter = level && level->kind == JSON_INTEGER ? (unsigned)atoi(level->text) : 5;
    if (parameter > 9) parameter = 9;
    const json *endian = json_member(configuration, "endian");
    if (strcmp(name, "bytes") == 0 && endian && endian->kind == JSON_STRING) var->big_endian = strcmp(endian->text, "big") == 0;
    if (strncmp(name, "numcodecs.", 10) == 0) name += 10;
    if (strcmp(name, "shuffle") == 0) return add_filter(var, 2, 0, NULL);
    if (strcmp(name, "crc32c") == 0 || strcmp(name, "fletcher32") == 0) return add_filter(var, 3, 0, NULL);
    if (strcmp(name, "gzip") == 0 || strcmp(name, "zlib") == 0) return add_filter(var, 1, 1, &parameter);
    if (strcmp(name, "bz2") == 0 && parameter) return add_filter(var, 307, 1, &parameter);
    if (strcmp(name, "blosc") != 0 || !cname || cname->kind != JSON_STRING || strcmp(cname->text, "zlib") != 0) return NC_NOERR;
    bool shuffled = shuffle && shuffle->text && strcmp(shuffle->text, "noshuffle") != 0 && strcmp(shuffle->text, "0") != 0;
    int status = shuffled ? add_filter(var, 2, 0, NULL) : NC_NOERR;
    return status ? status : add_filter(var, 1, 1, &parameter);
}

static int add_codecs(oz_var *var, const json *codec) {
    int status = NC_NOERR;
    for (; codec && !status; codec = codec->next) {
        const json *name = json_member(codec, "name"), *configuration = json_member(codec, "configuration");
        if (!name) name = json_member(codec, "id");
        if (!name || name->kind != JSON_STRING) continue;
        const json *inner = json_member(configuration, "codecs");
        if (strcmp(name->text, "sharding_indexed") == 0) status = add_codecs(var, inner ? inner->first : NULL);
        else status = add_codec(var, name->text, configuration ? configuration : codec);
    }
    return status;
}

int oz_var_read_codecs(oz_var *var) {
    static const char *const members[] = {"codecs", "filters", "compressor"};
    char *text;
    json *document = NULL;
    if (var->codecs_read || !oz_var_made(var)) return NC_NOERR;
    int status = oz_var_read_document(var, &text);
    if (status) return status;
    status = oz_json_read(text, &document);
    for (size_t i = 0; i < sizeof members / sizeof *members && !status; i++) {
        json *member = json_member(document, members[i]);
        if (member && member->kind == JSON_ARRAY) status = add_codecs(var, member->first);
        if (!member || member->kind != JSON_OBJECT) continue;
        json *next = member->next;
        member->next = NULL;
        status = add_codecs(var, member);
        member->next = next;
    }
    const json *dtype = json_member(document, "dtype");
    if (dtype && dtype->kind == JSON_STRING) var->big_endian = dtype->text[0] == '>';
    json_free(document);
    free(text);
    var->codecs_read = !status;
    return status;
}
