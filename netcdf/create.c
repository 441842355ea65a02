/* Creates the arrays of variables: their chunks, codecs, fill values and documents. */
#include "attribute_json.h"
#include "hierarchy.h"
#include "parallel.h"
#include "types.h"
#include "user_types.h"

#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The chunks of a variable that may grow: one record at least, and as many records as make a chunk of the usual size. */
static void choose_chunks(const oz_var *var, size_t *chunks) {
    enum { MOST_RECORDS = 64, MOST_VALUES = 1024 };
    size_t item = var->info->size, record = 1, target = oz_get_defaults()->chunk_bytes / item + 1;
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
    /* What ranks write together is not kept until a chunk is whole. */
    size_t most = var->rank == 1 ? MOST_VALUES : var->group->file->ranks ? 1 : MOST_RECORDS;
    for (int d = 0; d < var->rank; d++) {
        if (!var->dims[d]->unlimited) continue;
        size_t records = target / record;
        chunks[d] = records < 1 ? 1 : records > most ? most : records;
        record *= chunks[d];
    }
}

int oz_var_chunks(oz_var *var, size_t *chunks) {
    int64_t shape[64];
    if (oz_var_made(var) && !var->scalar_of_one) {
        int status = oz_var_handle(var);
        if (!status) status = oz_error(ozarr_array_inner_chunk_shape(var->array, shape));
        for (int d = 0; d < var->rank && !status; d++) chunks[d] = (size_t)shape[d];
        return status;
    }
    if (var->chunks) memcpy(chunks, var->chunks, (size_t)var->rank * sizeof *chunks);
    else choose_chunks(var, chunks);
    return NC_NOERR;
}

/* Blosc's names for its compressors, in the order of their numbers in filter 32001. */
static const char *const BLOSC[] = {"blosc:blosclz", "blosc:lz4", "blosc:lz4hc", NULL, "blosc:zlib", "blosc:zstd"};

/* Whether a variable about which nothing is said is stored as it is: a file takes a block of the file system, however few bytes it has. */
static bool fits_block(const oz_var *var) {
    enum { BLOCK = 4096 };
    size_t bytes = var->info->size;
    if (oz_get_defaults()->compresses || var->filter_count || var->form == OZ_STRINGS || var->form == OZ_LISTS || oz_var_may_grow(var)) return false;
    for (int d = 0; d < var->rank; d++)
        if (__builtin_mul_overflow(bytes, var->dims[d]->len, &bytes)) return false;
    return bytes <= BLOCK;
}

static ozarr_status set_compressor(ozarr_spec *spec, const oz_var *var, int format) {
    const oz_defaults *defaults = oz_get_defaults();
    const oz_filter *deflate = oz_var_filter(var, 1), *zstd = oz_var_filter(var, 32015), *blosc = oz_var_filter(var, 32001);
    bool shuffled = oz_var_filter(var, 2) != NULL && (var->form == OZ_NUMBERS || var->form == OZ_RECORDS);
    bool text = var->form == OZ_STRINGS || var->form == OZ_LISTS;
    const char *name = defaults->compressor;
    int level = defaults->level;
    /* The setting's shuffle belongs to its compressor. */
    bool said = deflate || zstd || oz_var_filter(var, 307);
    ozarr_shuffle shuffle = text || said ? OZARR_SHUFFLE_DEFAULT : defaults->shuffle;
    /* Pcodec takes numbers of two bytes and more. */
    if (strcmp(name, "pcodec") == 0 && (var->form != OZ_NUMBERS || var->info->size == 1 || shuffled)) name = "zstd", level = -1;
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
    /* Blosc compresses by the levels 1 to 9, or by its own where that is -1. */
    if (strncmp(name, "blosc", 5) == 0) level = level > 9 ? 9 : level < -1 ? 1 : level;
    if (fits_block(var)) name = "none";
    if (strcmp(name, "none") == 0) shuffle = OZARR_SHUFFLE_DEFAULT;
    ozarr_status status = ozarr_spec_set_compressor(spec, name, level);
    return status ? status : ozarr_spec_set_shuffle(spec, shuffle);
}

/* Inner chunks of the usual size, as many of them in a shard along the first dimensions as its bytes allow. */
static ozarr_status set_chunks(ozarr_spec *spec, oz_var *var) {
    int64_t chunks[64], shards[64];
    size_t own[64], bytes = var->info->size, shard_bytes = oz_get_defaults()->shard_bytes;
    if (!var->rank || (!var->chunks && !oz_var_may_grow(var) && !shard_bytes)) return OZARR_OK;
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
    if (var->form == OZ_LISTS) return ozarr_spec_new(OZARR_BYTES, var->rank, var->shape, spec);
    if (var->form == OZ_RECORDS) return ozarr_spec_new_dtype(var->dtype, var->rank, var->shape, spec);
    if (var->form != OZ_CHARS) return ozarr_spec_new(oz_type_stored(var->info->base), var->rank, var->shape, spec);
    ozarr_dtype *dtype = NULL;
    ozarr_status status = ozarr_dtype_parse("|S1", 2, &dtype);
    if (!status) status = ozarr_spec_new_dtype(dtype, var->rank, var->shape, spec);
    ozarr_dtype_free(dtype);
    return status;
}

/* The fill value of lists: its bytes, as those of elements. */
static ozarr_status set_fill_list(ozarr_spec *spec, const oz_var *var) {
    const nc_vlen_t *list = var->fill;
    size_t size = oz_type_size(var->info->base), bytes = list->p ? list->len * size : 0;
    unsigned char *copy = malloc(bytes + 1);
    text t = {0};
    if (!copy) return OZARR_ERR_NO_MEMORY;
    if (bytes) memcpy(copy, list->p, bytes);
    oz_to_little_endian(copy, size, bytes / size);
    text_base64(&t, copy, bytes);
    ozarr_status status = t.failed ? OZARR_ERR_NO_MEMORY : ozarr_spec_set_member_json(spec, "fill_value", t.bytes);
    free(t.bytes);
    free(copy);
    return status;
}

/* Whether the array is to have no fill value: readers of format 2 take each element that is equal to it for missing, also the NULs behind a text and the
 * empty strings. What is not stored is read as these all the same. */
static bool has_no_fill(const oz_var *var, int format) {
    bool text = var->form == OZ_CHARS || var->form == OZ_STRINGS, numbers = var->form == OZ_NUMBERS;
    return format == 2 && (text || (numbers && var->no_fill)) && !oz_list_find(&var->atts, OZ_FILL_VALUE);
}

static ozarr_status set_fill(ozarr_spec *spec, const oz_var *var, int format) {
    if (has_no_fill(var, format)) return ozarr_spec_set_member_json(spec, "fill_value", "null");
    if (var->form == OZ_LISTS) return set_fill_list(spec, var);
    if (var->form == OZ_RECORDS) return ozarr_spec_set_fill_dtype(spec, var->dtype, var->fill, var->info->size);
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
    ozarr_status status = t.failed ? OZARR_ERR_NO_MEMORY : ozarr_spec_set_member_json(spec, "fill_value", t.bytes);
    free(t.bytes);
    return status;
}

static ozarr_status set_rest(ozarr_spec *spec, const oz_var *var, int format, const char *attributes) {
    const char *names[64];
    for (int d = 0; d < var->rank; d++) names[d] = var->dims[d]->name;
    ozarr_status status = ozarr_spec_set_zarr_format(spec, format);
    /* In format 2 xarray wants an empty list of a scalar, too. */
    if (!status && (var->rank || format == 2)) status = ozarr_spec_set_dimension_names(spec, names);
    /* Chunks of one dimension lie beside the document: a small variable has one folder, and no second one in it. */
    if (!status && var->rank == 1) status = ozarr_spec_set_separator(spec, ".");
    if (!status && var->big_endian) status = ozarr_spec_set_big_endian(spec, true);
    if (!status && (oz_var_filter(var, 3) || oz_get_defaults()->checksum)) status = ozarr_spec_set_checksum(spec, true);
    return status ? status : ozarr_spec_set_member_json(spec, "attributes", attributes);
}

/* Makes the type by which records are moved, where there is none yet. */
static ozarr_status find_dtype(oz_var *var, int format) {
    return var->form != OZ_RECORDS || var->dtype ? OZARR_OK : oz_type_dtype(var->info, format, &var->dtype);
}

/* All that a new array is to be, with these attributes. */
static ozarr_status describe(oz_var *var, int format, const char *attributes, ozarr_spec **spec) {
    ozarr_status status = find_dtype(var, format);
    if (!status) status = new_spec(var, spec);
    if (!status) status = set_chunks(*spec, var);
    if (!status) status = set_compressor(*spec, var, format);
    if (!status) status = set_rest(*spec, var, format, attributes);
    return status ? status : set_fill(*spec, var, format);
}

char *oz_node_path(const oz_group *group, const char *name) {
    text path = {0};
    char *above = oz_group_path(group);
    if (above && *above) text_put(&path, above), text_put(&path, "/");
    text_put(&path, name);
    bool failed = !above || path.failed;
    free(above);
    if (!failed) return path.bytes;
    free(path.bytes);
    return NULL;
}

char *oz_var_path(const oz_var *var) { return oz_node_path(var->group, var->name); }

/* Adds a document with another shape. */
static ozarr_status add_reshaped(text *t, const char *document, int rank, const int64_t *shape) {
    char number[32];
    json *tree = json_read(document), *member = json_member(tree, "shape");
    if (member) {
        text_add(t, document, member->from);
        text_put(t, "[");
        for (int d = 0; d < rank; d++) {
            snprintf(number, sizeof number, "%s%lld", d ? "," : "", (long long)shape[d]);
            text_put(t, number);
        }
        text_put(t, "]");
        text_put(t, document + member->to);
    }
    ozarr_status status = member ? OZARR_OK : !tree && errno == ENOMEM ? OZARR_ERR_NO_MEMORY : OZARR_ERR_INTERNAL;
    json_free(tree);
    return status;
}

/* Stores the document of a variable's array. */
static int put_document(const oz_var *var, const char *path, const char *document) {
    text key = {0};
    text_put(&key, path);
    text_put(&key, "/zarr.json");
    int error = key.failed ? NC_ENOMEM : oz_error(ozarr_store_key_put(var->group->file->store, key.bytes, document, strlen(document)));
    free(key.bytes);
    return error;
}

int oz_array_import(const oz_place *place, const char *document, int format, int rank, const int64_t *shape, ozarr_array **array) {
    ozarr_group *none;
    text t = {0};
    ozarr_status status = OZARR_OK;
    text_put(&t, format == 2 ? "{\"ozarr_export\":1,\"node_type\":\"array\",\"zarr_format\":2,\"attributes\":{},\"path\":"
                             : "{\"ozarr_export\":1,\"node_type\":\"array\",\"zarr_format\":3,\"path\":");
    text_quote(&t, place->path, strlen(place->path));
    text_put(&t, ",\"document\":");
    if (shape) status = add_reshaped(&t, document, rank, shape);
    else text_put(&t, document);
    text_put(&t, "}");
    if (!status) status = t.failed ? OZARR_ERR_NO_MEMORY : ozarr_node_import_at(place->store, t.bytes, t.len, array, &none);
    free(t.bytes);
    return oz_error(status);
}

int oz_var_import(const oz_var *var, const char *document, int format, const int64_t *shape, ozarr_array **array) {
    char *path = oz_var_path(var);
    oz_place place = {var->group->file->store, path};
    int status = path ? oz_array_import(&place, document, format, var->rank, shape, array) : NC_ENOMEM;
    free(path);
    return status;
}

int oz_var_read_document(const oz_var *var, char **document) {
    size_t len = 0;
    *document = var->document ? strdup(var->document) : NULL;
    if (var->document) return *document ? NC_NOERR : NC_ENOMEM;
    const ozarr_node *node = ozarr_array_node(var->array);
    ozarr_status status = ozarr_node_metadata(node, NULL, 0, &len);
    *document = status && status != OZARR_ERR_BUFFER_SIZE ? NULL : calloc(len + 1, 1);
    if (!*document) return oz_error(status && status != OZARR_ERR_BUFFER_SIZE ? status : OZARR_ERR_NO_MEMORY);
    status = ozarr_node_metadata(node, *document, len + 1, &len);
    if (status) free(*document);
    return oz_error(status);
}

int oz_var_reshape(oz_var *var, const int64_t *shape) {
    char *old, *path = oz_var_path(var);
    text document = {0};
    int error = oz_var_read_document(var, &old);
    if (!error) {
        error = oz_error(add_reshaped(&document, old, var->rank, shape));
        if (!error) error = !path || document.failed ? NC_ENOMEM : put_document(var, path, document.bytes);
        free(old);
    }
    free(path);
    if (error) return free(document.bytes), error;
    /* The handle knows the array as it was. */
    oz_var_forget_document(var);
    var->document = document.bytes;
    ozarr_array_free(var->array);
    var->array = NULL;
    return NC_NOERR;
}

/* Makes the document of a new array, with these attributes. */
static int make_document(oz_var *var, const char *attributes, char **document) {
    ozarr_spec *spec = NULL;
    size_t len = 0, cap = 4096;
    *document = malloc(cap);
    ozarr_status status = *document ? describe(var, 3, attributes, &spec) : OZARR_ERR_NO_MEMORY;
    if (!status) status = ozarr_spec_to_json(spec, *document, cap, &len);
    if (status == OZARR_ERR_BUFFER_SIZE) {
        free(*document);
        *document = malloc(len + 1);
        status = *document ? ozarr_spec_to_json(spec, *document, len + 1, &len) : OZARR_ERR_NO_MEMORY;
    }
    ozarr_spec_free(spec);
    int error = oz_error(status);
    if (!error && var->form == OZ_RECORDS) error = oz_var_respell(var, document);
    if (!error) return NC_NOERR;
    free(*document);
    *document = NULL;
    return error;
}

static int make_template(oz_template *template, oz_var *var) {
    static const char MEMBER[] = "\"attributes\": {}";
    int error = make_document(var, "{}", &template->document);
    if (error) return error;
    /* In a string the quotes would be behind backslashes. */
    const char *member = strstr(template->document, MEMBER);
    if (!member) return NC_EINTERNAL;
    template->head = (size_t)(member - template->document) + sizeof MEMBER - 3;
    template->var = var;
    return NC_NOERR;
}

/* Adds the document of a new array: that of a variable before it which is alike, with other attributes. */
static int add_document(text *t, oz_var *var, const text *attributes, oz_templates *templates) {
    oz_template *template = oz_templates_find(templates, var);
    int error = template ? NC_NOERR : make_template(template = oz_templates_take(templates), var);
    if (error) return error;
    const char *tail = template->document + template->head + 2;
    size_t rest = strlen(tail);
    t->bytes = malloc(template->head + attributes->len + rest + 1);
    if (!t->bytes) return NC_ENOMEM;
    t->capacity = template->head + attributes->len + rest + 1;
    text_add(t, template->document, template->head);
    text_add(t, attributes->bytes, attributes->len);
    text_add(t, tail, rest);
    return NC_NOERR;
}

/* Makes `var->document` of a new array. */
static int compose(oz_var *var, oz_templates *templates) {
    enum { PLAIN = 1 << 20 };
    text attributes = {0}, document = {0};
    oz_atts_write(&attributes, var->group->file, &var->atts, var, 3, NULL);
    /* A document that is copied from a template has not needed it. */
    int error = attributes.failed ? NC_ENOMEM : oz_error(find_dtype(var, 3));
    /* What the library may refuse, it is to see. */
    bool plain = attributes.len <= PLAIN && utf8(attributes.bytes, attributes.len);
    if (!error) error = plain ? add_document(&document, var, &attributes, templates) : make_document(var, attributes.bytes, &document.bytes);
    var->document = document.bytes;
    free(attributes.bytes);
    return error;
}

/* Stores the document of an array in a file that this process has just created, where nothing can be in its way. The array is opened by it
 * without reading it: at once if it may grow, else by the first access, so that many variables take little memory and time. */
static int publish_new(oz_var *var, oz_templates *templates) {
    int error = compose(var, templates);
    char *path = oz_var_path(var);
    if (!error && !path) error = NC_ENOMEM;
    if (!error && oz_stores(var->group->file)) error = put_document(var, path, var->document);
    if (!error && oz_var_may_grow(var)) {
        error = oz_var_handle(var);
        oz_var_room(var, NULL, var->room);
        if (!error) error = oz_var_import(var, var->document, 3, var->room, &var->endless);
    }
    free(path);
    if (error) oz_var_close(var);
    return error;
}

void oz_var_forget_document(oz_var *var) {
    free(var->document);
    var->document = NULL;
}

void oz_var_close(oz_var *var) {
    oz_kept_drop(var);
    oz_var_forget_document(var);
    ozarr_array_free(var->endless);
    ozarr_array_free(var->array);
    var->endless = var->array = NULL;
    var->buffered = false;
}

bool oz_var_made(const oz_var *var) { return var->array || var->document; }

int oz_var_handle(oz_var *var) { return var->array || !var->document ? NC_NOERR : oz_var_import(var, var->document, 3, NULL, &var->array); }

int oz_var_open(oz_var *var) {
    char *path = oz_var_path(var);
    int status = path ? oz_error(ozarr_array_open_at(var->group->file->store, path, &var->array)) : NC_ENOMEM;
    free(path);
    if (!status) oz_var_note_place(var);
    return status;
}

/* Stores the document of a new array of records once more, in the spelling that other programs read. */
static int spell_stored(oz_var *var) {
    char *document, *path = oz_var_path(var);
    int error = path ? oz_var_read_document(var, &document) : NC_ENOMEM;
    if (!error) {
        error = oz_var_respell(var, &document);
        if (!error) error = put_document(var, path, document);
        free(document);
    }
    free(path);
    if (error) return error;
    /* The handle knows the document as it was. It stays where there can be no other: the array is this variable's. */
    ozarr_array *before = var->array;
    error = oz_var_open(var);
    if (error) var->array = before;
    else ozarr_array_free(before);
    return error;
}

/* Creates the array of a variable in a file that others may have open, too: anew with the attributes and the length that it has by now. One that cannot be made
 * anew keeps a handle: others may write to it before the next attempt. */
static int create_beside(oz_var *var, bool again) {
    ozarr_spec *spec = NULL;
    oz_stored stored = {0};
    text attributes = {0};
    int32_t format = 3;
    bool made = oz_var_made(var);
    int error = made ? oz_var_read_stored(var, &stored) : NC_NOERR;
    ozarr_status status = ozarr_node_zarr_format(ozarr_group_node(var->group->handle), &format);
    oz_atts_write(&attributes, var->group->file, &var->atts, var, format, made ? &stored : NULL);
    if (!status && attributes.failed) status = OZARR_ERR_NO_MEMORY;
    if (!status) status = describe(var, format, attributes.bytes, &spec);
    if (!status && !error) {
        oz_var_close(var);
        status = ozarr_group_create_array(var->group->handle, var->name, spec, again ? OZARR_CREATE_OVERWRITE : OZARR_CREATE_NEW, &var->array);
        if (status && (oz_error_says(OZ_IS_THERE) || var->group->file->hidden)) var->recreate = true, oz_var_note_place(var);
        if (status && made) (void)oz_var_open(var);
    }
    ozarr_spec_free(spec);
    oz_stored_free(&stored);
    free(attributes.bytes);
    if (!status && !error) oz_var_note_place(var);
    if (!error) error = oz_error(status);
    if (!error && var->form == OZ_RECORDS && format == 3) error = spell_stored(var);
    return error == NC_EEXIST ? NC_ENAMEINUSE : error;
}

int oz_var_create(oz_var *var, oz_templates *templates) {
    bool again = oz_var_made(var) || var->recreate, alone = oz_file_alone(var->group->file);
    if (alone) oz_var_close(var);
    int error = alone ? publish_new(var, templates) : create_beside(var, again);
    if (!error) var->dirty = var->renamed = false;
    var->recreate = error && (again || var->recreate || oz_var_made(var));
    return error;
}
