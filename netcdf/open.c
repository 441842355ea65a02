/* Reads a hierarchy into the model: what Zarr, xarray, NCZarr and this library say of groups, dimensions, variables and attributes. */
#include "attribute_json.h"
#include "hierarchy.h"
#include "listed.h"
#include "types.h"
#include "user_types.h"

#include <math.h>
#include <ozarr_advanced.h>
#include <ozarr_formats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_atts(const oz_group *group, oz_list *atts, const ozarr_node *node, const json *types, const oz_var *var) {
    char *source;
    int status = oz_node_text(node, NULL, &source);
    if (status) return status;
    json *object = json_read(source);
    /* Without all of them the next change of one would erase the others. */
    status = object ? oz_atts_read(group, atts, object, source, types, var) : NC_ENOMEM;
    json_free(object);
    free(source);
    return status;
}

/* Reads an attribute anew, as one of a type that NCZarr's record tells. */
static int read_typed(const oz_group *group, oz_att *att, nc_type type) {
    json *value, record = {.kind = JSON_STRING, .name = att->name, .text = (char *)oz_type_name(type)};
    json types = {.kind = JSON_OBJECT, .first = &record};
    if (oz_json_read(att->json, &value)) return NC_ENOMEM;
    if (!value) return NC_NOERR;
    value->name = strdup(att->name);
    json object = {.kind = JSON_OBJECT, .first = value};
    oz_list one = {0};
    int status = value->name ? oz_atts_read(group, &one, &object, att->json, &types, NULL) : NC_ENOMEM;
    if (!status) {
        oz_att *typed = one.items[0], old = *att;
        *att = *typed;
        *typed = old;
    }
    oz_atts_free(&one);
    json_free(value);
    return status;
}

/* Gives attributes the types that NCZarr's record tells. */
static int add_nczarr_types(const oz_group *group, oz_list *atts, const ozarr_node *node) {
    static const char *const known[][2] = {{"int8", "byte"}, {"uint8", "ubyte"}, {"int16", "short"}, {"uint16", "ushort"}, {"int32", "int"},
        {"uint32", "uint"}, {"int64", "int64"}, {"uint64", "uint64"}, {"float32", "float"}, {"float64", "double"}, {"string", "string"}};
    char name[32];
    size_t len;
    int status = NC_NOERR;
    for (int i = 0; i < atts->count && !status; i++) {
        oz_att *att = atts->items[i];
        ozarr_status read = ozarr_attr_nc_type(node, att->name, name, sizeof name, &len);
        if (read == OZARR_ERR_NO_MEMORY) return NC_ENOMEM;
        if (read || !len) continue;
        nc_type type = NC_NAT;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (strcmp(known[k][0], name) == 0) type = oz_type_by_name(known[k][1]);
        if (type != NC_NAT && type != att->type && strcmp(att->name, OZ_FILL_VALUE) != 0) status = read_typed(group, att, type);
    }
    return status;
}

static int read_dims(oz_var *var, const json *mine, const int64_t *shape) {
    int status = NC_NOERR;
    for (int d = 0; d < var->rank && !status; d++) {
        char name[NC_MAX_NAME + 1];
        status = oz_stored_name(var->array, d, name);
        if (!oz_is_out_of_reach(status)) status = oz_var_place_dim(var, mine, d, name, shape[d]);
    }
    return status;
}

/* The type of netCDF's own that an array's elements have; NC_NAT where there is none. */
static nc_type type_of(const ozarr_array *array) {
    ozarr_type stored;
    if (ozarr_array_type(array, &stored)) return NC_NAT;
    for (nc_type type = NC_BYTE; type < NC_STRING; type++)
        if (type != NC_CHAR && oz_type_stored(type) == stored) return type;
    switch (stored) {
    case OZARR_BOOL:
    case OZARR_INT2:
    case OZARR_INT4: return NC_BYTE;
    case OZARR_UINT2:
    case OZARR_UINT4: return NC_UBYTE;
    case OZARR_STRING:
    case OZARR_JSON: return NC_STRING;
    case OZARR_COMPLEX64:
    case OZARR_COMPLEX128:
    case OZARR_BYTES:
    case OZARR_LIST: return NC_NAT;
    case OZARR_BY_DTYPE: break;
    default: return NC_FLOAT;
    }
    ozarr_dtype *dtype;
    ozarr_dtype_kind kind = 0;
    size_t size = 0;
    if (ozarr_array_copy_dtype(array, &dtype)) return NC_NAT;
    bool known = !ozarr_dtype_get_kind(dtype, &kind) && !ozarr_dtype_item_size(dtype, &size);
    ozarr_dtype_free(dtype);
    if (!known) return NC_NAT;
    if (kind == OZARR_DTYPE_KIND_DATETIME || kind == OZARR_DTYPE_KIND_TIMEDELTA) return NC_INT64;
    if (kind == OZARR_DTYPE_KIND_BYTES) return size == 1 ? NC_CHAR : NC_STRING;
    return kind == OZARR_DTYPE_KIND_TEXT ? NC_STRING : NC_NAT;
}

const oz_type *oz_type_defined(const oz_group *group, const json *mine, const oz_type *own) {
    const oz_type *type = oz_type_recorded(group, json_member(mine, "type"));
    return type && type->kind == NC_ENUM && type->base == own->id ? type : own;
}

/* The type that a variable was defined with, if the array is such a one; else netCDF's own; else one that is made for what other programs
 * store. */
static const oz_type *find_type(oz_group *group, const char *name, const ozarr_array *array, const json *mine) {
    const oz_type *own = oz_type_atomic(type_of(array)), *type = oz_type_recorded(group, json_member(mine, "type"));
    ozarr_type stored = OZARR_AS_STORED;
    if (own) return oz_type_defined(group, mine, own);
    ozarr_dtype *dtype = NULL;
    ozarr_status read = ozarr_array_type(array, &stored);
    if (!read) read = ozarr_array_copy_dtype(array, &dtype);
    if (read == OZARR_ERR_NO_MEMORY) errno = ENOMEM;
    if (read) return NULL;
    if (type && (type->kind == NC_VLEN ? stored != OZARR_BYTES : stored != OZARR_BY_DTYPE)) type = NULL;
    if (!type) type = oz_type_for_elements(group, name, dtype);
    ozarr_dtype_free(dtype);
    return type;
}

int oz_var_set_dtype(oz_var *var) {
    int32_t format = 3;
    ozarr_type stored = OZARR_AS_STORED;
    if (var->form != OZ_RECORDS || var->dtype) return NC_NOERR;
    ozarr_status status = ozarr_node_zarr_format(ozarr_array_node(var->array), &format);
    if (!status) status = ozarr_array_type(var->array, &stored);
    bool complex = stored == OZARR_COMPLEX64 || stored == OZARR_COMPLEX128;
    if (!status) status = complex ? ozarr_dtype_of(stored, &var->dtype) : oz_type_dtype(var->info, format, &var->dtype);
    return oz_error(status);
}

/* Whether a fill value is the one of variables for which nothing is said; NCZarr stores it with few digits. */
static bool is_usual_fill(const oz_var *var) {
    unsigned char usual[16] = {0};
    double a = 0, b = 0;
    oz_default_fill(var->info->base, usual);
    if (var->form == OZ_CHARS) return usual[0] == *(unsigned char *)var->fill;
    oz_convert(usual, var->info->base, &a, NC_DOUBLE, 1);
    oz_convert(var->fill, var->info->base, &b, NC_DOUBLE, 1);
    return fabs(a - b) <= 1e-5 * fabs(a);
}

/* Whether the array itself has a fill value, and that one. */
static bool is_array_fill(const oz_var *var, const void *value) {
    unsigned char own[16] = {0};
    ozarr_type stored = OZARR_AS_STORED;
    size_t size = var->info->size;
    bool defined = false;
    if (var->form != OZ_NUMBERS || size > sizeof own || ozarr_array_type(var->array, &stored) || stored != oz_type_stored(var->info->base)) return false;
    return !ozarr_array_fill_value(var->array, own, size, &defined) && defined && memcmp(own, value, size) == 0;
}

/* The format of a variable's array; 0 if it cannot be told. */
static int32_t zarr_format(const oz_var *var) {
    int32_t format = 0;
    return ozarr_node_zarr_format(ozarr_array_node(var->array), &format) ? 0 : format;
}

/* Makes the fill value an attribute, too. */
static int show_fill(oz_var *var) {
    oz_att *made = oz_att_new(&var->atts, OZ_FILL_VALUE);
    if (!made || !(made->values = calloc(1, var->info->size))) return NC_ENOMEM;
    made->type = var->type;
    made->info = var->info;
    made->len = 1;
    return oz_copy_values(var->info, made->values, var->fill, 1);
}

/* Whether the array's fill value is an attribute, too: one that format 2 states, as xarray and NCZarr have it, and what our record says. */
static bool shows_fill(const oz_var *var, bool recorded, bool stated, bool usual) {
    if (zarr_format(var) == 2) return recorded ? stated : !usual;
    return stated && (var->form == OZ_CHARS || var->form == OZ_STRINGS);
}

/* The fill value of an array of texts, "" where there is none; NULL without memory. */
static char *fill_text(const ozarr_array *array) {
    size_t len = 0;
    if (ozarr_array_fill_text(array, NULL, 0, &len)) len = 0;
    char *text = calloc(len + 1, 1);
    if (text && len && ozarr_array_fill_text(array, text, len + 1, &len)) text[0] = 0;
    return text;
}

/* The fill value of a type that a program defined, where the record says it. */
static int read_recorded_fill(oz_var *var, const json *says) {
    if (!says || says->kind == JSON_BOOL) return NC_NOERR;
    int status = oz_user_value_read(var->group->file, var->info, says, var->fill);
    return status ? status : show_fill(var);
}

/* The fill value. `recorded`: our record tells of the variable's group; `says`: what it says of the attribute, may be NULL. */
static int read_fill(oz_var *var, bool recorded, const json *says) {
    bool defined = false, is_null = says && says->kind == JSON_NULL, stated = is_null || (says && says->kind == JSON_BOOL && says->text[0] == 't');
    const oz_att *att = oz_list_find(&var->atts, OZ_FILL_VALUE);
    if (att && att->len == 1 && att->type == var->type) {
        if (var->array) var->fill_apart = !is_array_fill(var, att->values);
        return oz_copy_values(var->info, var->fill, att->values, 1);
    }
    /* Its document told it. */
    if (!var->array) return NC_NOERR;
    if (var->form == OZ_STRINGS && is_null) return show_fill(var);
    if (var->form == OZ_STRINGS) {
        char *text = *(char **)var->fill = fill_text(var->array);
        if (!text) return NC_ENOMEM;
        return shows_fill(var, recorded, stated, !*text) ? show_fill(var) : NC_NOERR;
    }
    if (var->form == OZ_LISTS || var->form == OZ_RECORDS) return read_recorded_fill(var, says);
    ozarr_type stored = OZARR_AS_STORED;
    size_t size = var->info->size, stored_size = 0;
    if (ozarr_array_type(var->array, &stored) || ozarr_array_item_size(var->array, &stored_size)) return NC_EIO;
    bool same = stored_size == size && (var->form == OZ_CHARS || stored == oz_type_stored(var->info->base));
    if (!same || ozarr_array_fill_value(var->array, var->fill, size, &defined)) {
        oz_default_fill(var->info->base, var->fill);
        return NC_NOERR;
    }
    return defined && shows_fill(var, recorded, stated, is_usual_fill(var)) ? show_fill(var) : NC_NOERR;
}

/* Takes away what we added for other programs. */
static void drop_atts(oz_list *atts, const char *first, const char *second) {
    for (int i = atts->count - 1; i >= 0; i--) {
        oz_att *att = atts->items[i];
        if (strcmp(att->name, first) != 0 && strcmp(att->name, second) != 0) continue;
        oz_list_remove(atts, i);
        oz_att_free(att);
    }
}

int oz_opened_shape(oz_opened *opened) {
    int32_t rank = 0;
    if (!ozarr_array_rank(opened->array, &rank) && rank <= 64 && !ozarr_array_shape(opened->array, opened->shape)) return NC_NOERR;
    ozarr_array_free(opened->array);
    opened->array = NULL;
    return NC_ENOTNC;
}

/* Opens the array by its own document, where that is one; what is not there any more, or cannot be read, is what consolidated metadata say. */
static int open_own(const oz_group *group, const char *name, oz_opened *opened) {
    ozarr_array *own = NULL;
    int32_t rank = 0, own_rank = 0;
    char *path = oz_node_path(group, name);
    int status = path ? oz_error(oz_whole_open_array(group->file, path, opened->array, &own)) : NC_ENOMEM;
    free(path);
    bool fails = status && oz_is_short(status), fits = !status && !ozarr_array_rank(own, &own_rank) && !ozarr_array_rank(opened->array, &rank) && own_rank == rank;
    ozarr_array_free(fits || fails ? opened->array : own);
    if (fits || fails) opened->array = fails ? NULL : own;
    return fails ? status : NC_NOERR;
}

/* A file that is written is read by documents, which a killed program may have stored without telling consolidated metadata; but by these for lengths, which
 * they change in all arrays at once. */
int oz_group_open_array(const oz_group *group, const char *name, oz_opened *opened) {
    int status = oz_error(ozarr_group_open_array(group->handle, name, &opened->array));
    if (status) return opened->array = NULL, status;
    status = oz_opened_shape(opened);
    if (!status && group->file->writable && !group->file->told) status = open_own(group, name, opened);
    return status;
}

/* Opens an array as a variable, with dimensions and attributes; NULL where it cannot be one, of which the log has the reason. What cannot be read now is an
 * error: the program would take it for a variable that is not there. */
static int open_var(oz_group *group, int found, const oz_listed *listed, const json *mine, oz_var **made) {
    const char *name = *(char **)group->reading->found.items[found];
    oz_opened *opened = &group->reading->opened[found];
    int32_t rank;
    *made = NULL;
    int status = opened->array ? NC_NOERR : listed ? oz_listed_open(listed, group, name, opened) : oz_group_open_array(group, name, opened);
    if (status) return oz_is_out_of_reach(status) ? status : NC_NOERR;
    ozarr_array *array = opened->array;
    opened->array = NULL;
    errno = 0;
    const oz_type *type = find_type(group, name, array, mine);
    if (!type && errno == ENOMEM) return ozarr_array_free(array), NC_ENOMEM;
    if (!type || ozarr_array_rank(array, &rank)) {
        oz_log("the array %s is left out: netCDF has no type for its elements", name);
        ozarr_array_free(array);
        return NC_NOERR;
    }
    bool scalar = false;
    status = oz_error(ozarr_array_nc_is_scalar(array, &scalar));
    if (oz_is_out_of_reach(status)) return ozarr_array_free(array), status;
    if (status) scalar = false;
    oz_var *var = oz_var_new(group, name, type, scalar ? 0 : rank);
    if (!var) return ozarr_array_free(array), NC_ENOMEM;
    *made = var;
    var->array = array;
    oz_var_note_place(var);
    var->scalar_of_one = scalar;
    const ozarr_node *node = ozarr_array_node(array);
    status = oz_var_set_dtype(var);
    if (!status && !scalar) status = read_dims(var, mine, opened->shape);
    if (!status) status = read_atts(group, &var->atts, node, json_member(mine, "types"), var);
    if (!status && !group->reading->record) status = add_nczarr_types(group, &var->atts, node);
    if (!status) status = oz_var_show_times(var);
    return status;
}

/* Reads an array of those that were found as a variable; `mine` is what our record of the group says of it. */
static int read_var(oz_group *group, int found, const oz_listed *listed, const json *mine) {
    oz_var *var = NULL;
    int status = listed ? oz_listed_var(listed, group, *(char **)group->reading->found.items[found], mine, &var) : NC_NOERR;
    if (!status && !var) status = open_var(group, found, listed, mine, &var);
    if (status || !var) return status;
    var->written = var->found = true;
    var->no_fill = json_true(mine, "no_fill");
    var->recorded = mine != NULL;
    var->contiguous = !json_true(mine, "chunked");
    var->compact = json_true(mine, "compact");
    if (var->info->kind == NC_ENUM && json_true(mine, "flags")) drop_atts(&var->atts, "flag_values", "flag_meanings");
    oz_var_read_quantize(var);
    return read_fill(var, group->reading->record, json_member(mine, "fill"));
}

/* Puts the names that are recorded first, in their order. */
static int sort_names(oz_list *names, const json *order) {
    oz_list sorted = {0};
    int status = NC_NOERR;
    for (const json *item = order ? order->first : NULL; item && !status; item = item->next) {
        if (!item->name && item->kind != JSON_STRING) continue;
        int index = oz_list_index(names, item->name ? item->name : item->text);
        if (index < 0) continue;
        status = oz_list_add(&sorted, names->items[index]);
        if (!status) oz_list_remove(names, index);
    }
    for (int i = 0; i < names->count && !status; i++) status = oz_list_add(&sorted, names->items[i]);
    if (status) return status;
    oz_list_free(names);
    *names = sorted;
    return NC_NOERR;
}

/* The format that a program asked for when it created the file. */
static void read_format(oz_file *file, const json *record) {
    static const char *const names[] = {"classic", "64-bit offset", "", "netCDF-4 classic model", "cdf5"};
    const json *format = json_member(record, "format");
    file->format = NC_FORMAT_NETCDF4;
    for (int i = 0; i < 5 && format && format->kind == JSON_STRING; i++)
        if (strcmp(format->text, names[i]) == 0) file->format = i + 1;
    file->classic = file->format != NC_FORMAT_NETCDF4;
}

static void free_reading(oz_group *group) {
    oz_reading *reading = group->reading;
    if (!reading) return;
    json_free(reading->attributes);
    json_free(reading->record);
    json_free(reading->nczarr);
    if (reading->owned) free(reading->source);
    for (int i = 0; reading->opened && i < reading->found.count; i++) ozarr_array_free(reading->opened[i].array);
    free(reading->opened);
    oz_names_free(&reading->found);
    free(reading);
    group->reading = NULL;
}

/* Opens a group of a file that is written a second time, by its own document, where that is one; NULL: what it says of itself is what its handle knows. */
static int open_own_group(const oz_group *group, ozarr_group **own) {
    *own = NULL;
    if (!group->parent || !group->file->writable || group->file->told) return NC_NOERR;
    char *path = oz_group_path(group);
    int status = path ? oz_error(oz_whole_open_group(group, path, own)) : NC_ENOMEM;
    free(path);
    if (status) *own = NULL;
    return oz_is_short(status) ? status : NC_NOERR;
}

/* Reads what an open group says of itself, and the names of what is in it. A record that cannot be read is an error: as if there were none the next one
 * would be stored without what it says. */
static int read_opened(const oz_group *group, oz_list *groups) {
    oz_reading *reading = group->reading;
    ozarr_group *own;
    char *record = NULL, *nczarr = NULL;
    int status = open_own_group(group, &own);
    const ozarr_node *node = ozarr_group_node(own ? own : group->handle);
    if (!status) status = oz_node_text(node, OZ_RECORD, &record);
    if (!status && !record) status = oz_node_text(node, "_nczarr_group", &nczarr);
    if (!status) status = oz_node_text(node, NULL, &reading->source);
    ozarr_group_free(own);
    reading->owned = true;
    if (!status) status = oz_json_read(reading->source, &reading->attributes);
    if (!status) status = oz_json_read(record, &reading->record);
    if (!status) status = oz_record_read(&reading->record);
    if (!status) status = oz_json_read(nczarr, &reading->nczarr);
    free(record);
    free(nczarr);
    if (status) return status;
    return reading->attributes ? oz_group_children(group, &reading->found, groups) : NC_ENOTNC;
}

/* Opens a group by the consolidated metadata of the root, as readers do: a group's own may be older, and tell other lengths. */
static int open_group(oz_group *group) {
    if (!group->parent) return oz_error(ozarr_group_open_at(group->file->store, "", &group->handle));
    group->handle = oz_whole_take_group(group);
    return group->handle ? NC_NOERR : oz_error(ozarr_group_open_group(group->parent->handle, group->name, &group->handle));
}

/* Reads the types of a group and of all below it, which attributes and variables of any group may have. */
static int read_group(oz_group *group, const oz_listed *listed) {
    oz_list groups = {0};
    oz_reading *reading = group->reading = calloc(1, sizeof *reading);
    int status = reading ? NC_NOERR : NC_ENOMEM;
    if (!status && !listed) status = open_group(group);
    if (!status && !listed && !group->parent) status = oz_whole_read(group);
    if (!status) oz_group_note_place(group);
    if (!status) status = listed ? oz_listed_group(listed, group, reading, &groups) : read_opened(group, &groups);
    const json *record = status ? NULL : reading->record;
    if (!status && !group->parent) read_format(group->file, record);
    if (!status && !group->parent) group->file->consolidates = json_true(record, "consolidated");
    if (!status) status = oz_user_types_read(group, json_member(record, "user_types"));
    if (!status) status = sort_names(&reading->found, record ? json_member(record, "variables") : json_member(reading->nczarr, "arrays"));
    if (!status) status = sort_names(&groups, json_member(record ? record : reading->nczarr, "groups"));
    for (int i = 0; i < groups.count && !status; i++) {
        oz_group *child = group->file->group_count > 0xffff ? NULL : oz_group_new(group->file, group, *(char **)groups.items[i]);
        status = child ? read_group(child, listed) : group->file->group_count > 0xffff ? NC_EMAXDIMS : NC_ENOMEM;
    }
    oz_names_free(&groups);
    return status;
}

/* Reads the dimensions, attributes and variables of a group. */
static int read_contents(oz_group *group, const oz_listed *listed) {
    oz_reading *reading = group->reading;
    const json *record = reading->record;
    int status = oz_dims_recorded(group, record);
    if (!status) status = oz_atts_read(group, &group->atts, reading->attributes, reading->source, json_member(record, "types"), NULL);
    if (!status && !record && group->handle) status = add_nczarr_types(group, &group->atts, ozarr_group_node(group->handle));
    /* What is recorded comes first, in that order, but for what others erased. */
    const json *recorded = json_member(record, "variables"), *next = recorded ? recorded->first : NULL;
    for (int i = 0; i < reading->found.count && !status; i++) {
        const char *name = *(char **)reading->found.items[i];
        const json *mine = next && next->name && strcmp(next->name, name) == 0 ? next : json_member(recorded, name);
        if (mine) next = mine->next;
        status = read_var(group, i, listed, mine);
    }
    return status;
}

/* Groups are numbered from the root downwards, so that the dimensions of those above are known before. */
int oz_hierarchy_read(oz_file *file) {
    oz_listed *listed = oz_listed_read(file);
    int status = read_group(file->groups[0], listed);
    if (!status) status = oz_user_types_complete(file);
    for (int i = 0; i < file->group_count && !status; i++) {
        oz_reading *reading = file->groups[i]->reading;
        reading->opened = calloc((size_t)reading->found.count + 1, sizeof *reading->opened);
        if (!reading->opened) status = NC_ENOMEM;
    }
    if (!status && !listed) status = oz_whole_open_arrays(file);
    for (int i = 0; i < file->group_count && !status; i++) status = read_contents(file->groups[i], listed);
    if (!status) oz_dims_of_time(file);
    for (int i = 0; i < file->dim_count; i++) file->dims[i]->opened = file->dims[i]->len;
    for (int i = 0; i < file->group_count; i++) free_reading(file->groups[i]);
    oz_whole_free(file->whole);
    file->whole = NULL;
    oz_listed_free(listed);
    return status;
}

/* By consolidated metadata, where there are some, all variables have the same steps. */
int oz_hierarchy_refresh(oz_file *file) {
    int status = NC_NOERR;
    oz_listed *listed = oz_listed_read(file);
    for (oz_var *var = NULL; !status && (var = oz_next_var(file, var));) {
        oz_kept_drop(var);
        if (!oz_var_may_grow(var)) continue;
        if (!listed || !oz_listed_refresh(listed, var)) status = oz_var_look(var, var->shape);
        for (int d = 0; d < var->rank && !status; d++)
            if (var->dims[d]->unlimited && (size_t)var->shape[d] > var->dims[d]->len) var->dims[d]->len = (size_t)var->shape[d];
    }
    oz_listed_free(listed);
    return status;
}
