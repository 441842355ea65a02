/* Types that programs define: how they are recorded, how their values become JSON, and how records lie in memory. */
#include "user_types.h"
#include "listed.h"
#include "numbers.h"
#include "types.h"

#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const KINDS[] = {"vlen", "opaque", "enum", "compound"};

void oz_type_reference(text *t, const oz_type *type) {
    if (!type->kind) return text_quote(t, type->name, strlen(type->name));
    text path = {0};
    char *group = oz_group_path(type->group);
    text_put(&path, "/");
    if (group && *group) text_put(&path, group), text_put(&path, "/");
    text_put(&path, type->name);
    if (!group || path.failed) t->failed = true;
    else text_quote(t, path.bytes, path.len);
    free(group);
    free(path.bytes);
}

/* Goes by the last name where nothing is at the path: a program that is killed after it renamed a group leaves records with the old one. */
const oz_type *oz_type_recorded(const oz_group *group, const json *reference) {
    if (!reference || reference->kind != JSON_STRING) return NULL;
    const char *last = strrchr(reference->text, '/');
    const oz_type *type = oz_type_named(group, reference->text);
    return type || !last ? type : oz_type_named(group, last + 1);
}

static void write_field(text *t, const oz_field *field) {
    text_comma(t);
    text_put(t, "{");
    text_member(t, "name");
    text_quote(t, field->name, strlen(field->name));
    text_number(t, ",\"offset\":%lld,\"type\":", (long long)field->offset);
    oz_type_reference(t, field->type);
    if (field->rank) text_put(t, ",\"shape\":[");
    for (int d = 0; d < field->rank; d++) text_number(t, d ? ",%lld" : "%lld", field->shape[d]);
    text_put(t, field->rank ? "]}" : "}");
}

static void write_type(text *t, const oz_type *type) {
    bool members = type->kind == NC_ENUM;
    text_member(t, type->name);
    text_put(t, "{\"class\":");
    text_quote(t, KINDS[type->kind - NC_VLEN], strlen(KINDS[type->kind - NC_VLEN]));
    text_number(t, ",\"size\":%lld", (long long)type->size);
    if (type->base) text_member(t, "base"), text_quote(t, oz_type_name(type->base), strlen(oz_type_name(type->base)));
    if (members || type->kind == NC_COMPOUND) text_member(t, members ? "members" : "fields"), text_put(t, members ? "{" : "[");
    for (int k = 0; k < type->fields.count; k++) {
        const oz_field *field = type->fields.items[k];
        if (!members) write_field(t, field);
        else text_member(t, field->name), text_number(t, "%lld", field->value);
    }
    if (members || type->kind == NC_COMPOUND) text_put(t, members ? "}" : "]");
    text_put(t, "}");
}

void oz_user_types_write(text *t, const oz_group *group, const oz_stored *record) {
    const json *theirs = json_member(record->object, "user_types");
    if (!group->types.count && !theirs) return;
    text_member(t, "user_types");
    text_put(t, "{");
    for (int i = 0; i < group->types.count; i++)
        if (oz_type_has_members(group->types.items[i])) write_type(t, group->types.items[i]);
    for (const json *one = theirs && theirs->kind == JSON_OBJECT ? theirs->first : NULL; one; one = one->next)
        if (oz_list_index(&group->types, one->name) < 0) oz_stored_copy(t, record, one);
    text_put(t, "}");
}

static size_t number_of(const json *value) { return value && value->kind == JSON_INTEGER ? (size_t)strtoull(value->text, NULL, 10) : 0; }

static bool read_fields(oz_type *type, int depth);

/* Whether a record of a field makes one that lies within its struct. */
static bool read_field(oz_type *type, const json *item, int depth) {
    const json *name = json_member(item, "name"), *shape = json_member(item, "shape");
    const oz_type *of = oz_type_recorded(type->group, json_member(item, "type"));
    if (!name || name->kind != JSON_STRING || !of || of->kind == NC_VLEN || of->id == NC_STRING) return false;
    if (of->kind && !read_fields(type->group->file->types[of->id - NC_FIRSTUSERTYPEID], depth + 1)) return false;
    if (shape && shape->count > sizeof((oz_field *)0)->shape / sizeof(int)) return false;
    oz_field *field = oz_field_new(type, name->text);
    if (!field) return false;
    field->type = of;
    field->offset = number_of(json_member(item, "offset"));
    for (const json *n = shape ? shape->first : NULL; n; n = n->next) {
        size_t len = number_of(n);
        if (!len || len > INT32_MAX || field->count > INT32_MAX / len) return false;
        field->shape[field->rank++] = (int)len;
        field->count *= len;
    }
    return field->offset <= type->size && field->count * of->size <= type->size - field->offset;
}

static bool read_members(oz_type *type, const json *object) {
    for (const json *item = object ? object->first : NULL; item; item = item->next) {
        oz_field *field = item->name && item->kind == JSON_INTEGER ? oz_field_new(type, item->name) : NULL;
        if (!field) return false;
        field->value = item->text[0] == '-' ? strtoll(item->text, NULL, 10) : (long long)strtoull(item->text, NULL, 10);
    }
    return true;
}

/* Reads what a type consists of, once, and before it the types of its fields, `depth` of which are being read. */
static bool read_fields(oz_type *type, int depth) {
    enum { DEEPEST = 64 };
    if (type->complete) return true;
    if (depth > DEEPEST) return false;
    const oz_reading *reading = type->group->reading;
    const json *record = json_member(json_member(reading->record, "user_types"), type->name), *fields = json_member(record, "fields");
    bool right = type->kind != NC_ENUM || read_members(type, json_member(record, "members"));
    for (const json *item = fields && type->kind == NC_COMPOUND ? fields->first : NULL; item && right; item = item->next) right = read_field(type, item, depth);
    return type->complete = right && (type->kind != NC_COMPOUND || type->fields.count);
}

/* Makes a type of its record, without what it consists of. */
static bool read_type(oz_group *group, const json *record) {
    const json *class = json_member(record, "class"), *base = json_member(record, "base");
    int kind = 0;
    for (int k = 0; k < 4 && class && class->kind == JSON_STRING; k++)
        if (strcmp(class->text, KINDS[k]) == 0) kind = NC_VLEN + k;
    nc_type base_type = base && base->kind == JSON_STRING ? oz_type_by_name(base->text) : NC_NAT;
    bool based = kind == NC_ENUM || kind == NC_VLEN;
    if (!kind || (based && (base_type == NC_NAT || base_type == NC_STRING)) || !record->name || oz_list_find(&group->types, record->name)) return false;
    size_t size = kind == NC_VLEN ? sizeof(nc_vlen_t) : kind == NC_ENUM ? oz_type_size(base_type) : number_of(json_member(record, "size"));
    if (!size || size > INT32_MAX) return false;
    oz_type *type = oz_type_new(group, record->name, kind, size);
    if (type) type->base = based ? base_type : NC_NAT;
    return type;
}

/* What it is if a type could not be made of its record; `errno` was 0 before. */
static int damaged(const char *name) {
    if (errno == ENOMEM) return NC_ENOMEM;
    oz_log("the record of the type %s is damaged", name);
    return NC_EBADTYPE;
}

/* Whether a type was recorded before it had members, as older versions of this library did: no variable has such a type. */
static bool lacks_members(const json *record) {
    const json *fields = json_member(record, "fields"), *members = json_member(record, "members");
    return (fields && !fields->count) || (members && !members->count);
}

int oz_user_types_read(oz_group *group, const json *object) {
    errno = 0;
    for (const json *record = object && object->kind == JSON_OBJECT ? object->first : NULL; record; record = record->next)
        if (!lacks_members(record) && !read_type(group, record)) return damaged(record->name);
    return NC_NOERR;
}

int oz_user_types_complete(const oz_file *file) {
    errno = 0;
    for (int i = 0; i < file->type_count; i++)
        if (!read_fields(file->types[i], 0)) return damaged(file->types[i]->name);
    return NC_NOERR;
}

bool oz_has_flags(const oz_var *var) {
    return var->info->kind == NC_ENUM && !oz_list_find(&var->atts, "flag_values") && !oz_list_find(&var->atts, "flag_meanings");
}

void oz_flags_write(text *t, const oz_var *var) {
    const oz_list *members = &var->info->fields;
    text words = {0};
    text_member(t, "flag_values");
    text_put(t, "[");
    for (int i = 0; i < members->count; i++) {
        const oz_field *member = members->items[i];
        text_comma(t);
        text_number(t, var->info->base == NC_UINT64 ? "%llu" : "%lld", member->value);
        if (i) text_put(&words, " ");
        for (const char *c = member->name; *c; c++) text_add(&words, *c == ' ' ? "_" : c, 1);
    }
    text_put(t, "]");
    text_member(t, "flag_meanings");
    text_quote(t, words.bytes ? words.bytes : "", words.len);
    t->failed = t->failed || words.failed;
    free(words.bytes);
}

static void write_number(text *t, nc_type type, const void *value) {
    char out[40];
    double real = 0;
    long long number = 0;
    if (type == NC_CHAR) return text_number(t, "%lld", *(const unsigned char *)value);
    if (type == NC_UINT64) {
        snprintf(out, sizeof out, "%llu", *(const unsigned long long *)value);
        return text_put(t, out);
    }
    if (type != NC_FLOAT && type != NC_DOUBLE) return oz_convert(value, type, &number, NC_INT64, 1), text_number(t, "%lld", number);
    oz_convert(value, type, &real, NC_DOUBLE, 1);
    if (real != real) return text_put(t, "NaN");
    if (real - real != 0) return text_put(t, real < 0 ? "-Infinity" : "Infinity");
    number_write(out, sizeof out, type == NC_FLOAT ? 9 : 17, real);
    text_put(t, out);
}

/* Adds some values of any type as a list. */
static void write_list(text *t, const oz_file *file, const oz_type *type, const char *values, size_t count) {
    text_put(t, "[");
    for (size_t i = 0; i < count; i++) {
        text_comma(t);
        oz_user_value_write(t, file, type, values + i * type->size);
    }
    text_put(t, "]");
}

void oz_user_value_write(text *t, const oz_file *file, const oz_type *type, const void *value) {
    const nc_vlen_t *list = value;
    switch (type->kind) {
    case NC_COMPOUND:
        text_put(t, "{");
        for (int i = 0; i < type->fields.count; i++) {
            const oz_field *field = type->fields.items[i];
            const char *place = (const char *)value + field->offset;
            text_member(t, field->name);
            if (field->rank) write_list(t, file, field->type, place, field->count);
            else oz_user_value_write(t, file, field->type, place);
        }
        return text_put(t, "}");
    case NC_OPAQUE:
        text_put(t, "\"");
        for (size_t i = 0; i < type->size; i++) {
            char out[4];
            snprintf(out, sizeof out, "%02x", ((const unsigned char *)value)[i]);
            text_put(t, out);
        }
        return text_put(t, "\"");
    case NC_VLEN: return write_list(t, file, oz_type_atomic(type->base), list->p, list->p ? list->len : 0);
    default: return write_number(t, type->base, value);
    }
}

static void read_number(nc_type type, const json *source, void *value) {
    if (source->kind != JSON_INTEGER && source->kind != JSON_NUMBER) return;
    double real = number_read(source->text);
    /* As a double the largest one, written with the digits that a float has, is larger than it is. */
    float single = number_read_float(source->text);
    unsigned long long large = strtoull(source->text, NULL, 10);
    long long number = source->text[0] == '-' ? strtoll(source->text, NULL, 10) : (long long)large;
    if (type == NC_CHAR) *(char *)value = (char)number;
    else if (type == NC_UINT64) memcpy(value, &large, sizeof large);
    else if (type == NC_FLOAT) memcpy(value, &single, sizeof single);
    else if (type == NC_DOUBLE) memcpy(value, &real, sizeof real);
    else oz_convert(&number, NC_INT64, value, type, 1);
}

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0; }

static int read_list(const oz_file *file, const oz_type *type, const json *source, char *values, size_t count) {
    const json *item = source->kind == JSON_ARRAY ? source->first : NULL;
    int status = NC_NOERR;
    for (size_t i = 0; i < count && item && !status; i++, item = item->next) status = oz_user_value_read(file, type, item, values + i * type->size);
    return status;
}

int oz_user_value_read(const oz_file *file, const oz_type *type, const json *source, void *value) {
    nc_vlen_t *list = value;
    int status = NC_NOERR;
    memset(value, 0, type->size);
    if (!source) return NC_NOERR;
    switch (type->kind) {
    case NC_COMPOUND:
        for (int i = 0; i < type->fields.count && !status; i++) {
            const oz_field *field = type->fields.items[i];
            const json *member = json_member(source, field->name);
            char *place = (char *)value + field->offset;
            if (member) status = field->rank ? read_list(file, field->type, member, place, field->count) : oz_user_value_read(file, field->type, member, place);
        }
        return status;
    case NC_OPAQUE:
        for (size_t i = 0; source->kind == JSON_STRING && i < type->size && 2 * i + 1 < source->len; i++)
            ((unsigned char *)value)[i] = (unsigned char)(hex_digit(source->text[2 * i]) << 4 | hex_digit(source->text[2 * i + 1]));
        return NC_NOERR;
    case NC_VLEN:
        if (source->kind != JSON_ARRAY || !source->count) return NC_NOERR;
        list->p = calloc(source->count, oz_type_size(type->base));
        if (!list->p) return NC_ENOMEM;
        list->len = source->count;
        return read_list(file, oz_type_atomic(type->base), source, list->p, list->len);
    default: return read_number(type->base, source, value), NC_NOERR;
    }
}

static ozarr_status opaque_dtype(size_t size, ozarr_dtype **dtype) {
    char name[32];
    snprintf(name, sizeof name, "|V%zu", size);
    return ozarr_dtype_parse(name, 2, dtype);
}

static ozarr_status value_dtype(const oz_type *type, int format, ozarr_dtype **dtype) {
    if (type->kind == NC_COMPOUND || type->kind == NC_OPAQUE) return oz_type_dtype(type, format, dtype);
    return type->base == NC_CHAR ? ozarr_dtype_parse("|S1", 2, dtype) : ozarr_dtype_of(oz_type_stored(type->base), dtype);
}

/* Format 3 has no fields with shapes: a short one is a struct of its elements, a long one raw bytes, which are the same bytes. */
static ozarr_status shaped_dtype(const oz_field *field, const ozarr_dtype *of, ozarr_dtype **dtype) {
    size_t size = field->type->size;
    if (field->count > OZ_MOST_SHAPED) return opaque_dtype(field->count * size, dtype);
    ozarr_status status = ozarr_dtype_struct(field->count * size, dtype);
    for (size_t i = 0; i < field->count && !status; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        status = ozarr_dtype_add_field(*dtype, name, i * size, of, 0, NULL);
    }
    return status;
}

static ozarr_status add_field(ozarr_dtype *record, const oz_field *field, int format) {
    int64_t shape[32];
    ozarr_dtype *of = NULL, *expanded = NULL;
    for (int d = 0; d < field->rank; d++) shape[d] = field->shape[d];
    ozarr_status status = value_dtype(field->type, format, &of);
    bool expand = field->rank && format == 3;
    if (!status && expand) status = shaped_dtype(field, of, &expanded);
    if (!status) status = ozarr_dtype_add_field(record, field->name, field->offset, expand ? expanded : of, expand ? 0 : field->rank, shape);
    ozarr_dtype_free(of);
    ozarr_dtype_free(expanded);
    return status;
}

ozarr_status oz_type_dtype(const oz_type *type, int format, ozarr_dtype **dtype) {
    if (type->kind == NC_OPAQUE) return opaque_dtype(type->size, dtype);
    ozarr_status status = ozarr_dtype_struct(type->size, dtype);
    for (int i = 0; i < type->fields.count && !status; i++) status = add_field(*dtype, type->fields.items[i], format);
    if (status) {
        ozarr_dtype_free(*dtype);
        *dtype = NULL;
    }
    return status;
}

static const oz_type *struct_type(oz_group *group, const char *name, const ozarr_dtype *dtype);

/* The type of a field of another program's struct; a struct in it has a type of its own. */
static const oz_type *field_type(oz_group *group, const char *name, const ozarr_dtype *dtype) {
    ozarr_type number = OZARR_BY_DTYPE;
    ozarr_dtype_kind kind = 0;
    size_t size = 0;
    if (ozarr_dtype_type(dtype, &number) || ozarr_dtype_get_kind(dtype, &kind) || ozarr_dtype_item_size(dtype, &size)) return NULL;
    for (nc_type id = NC_BYTE; id < NC_STRING; id++)
        if (id != NC_CHAR && oz_type_stored(id) == number) return oz_type_atomic(id);
    if (kind == OZARR_DTYPE_KIND_BYTES && size == 1) return oz_type_atomic(NC_CHAR);
    return kind == OZARR_DTYPE_KIND_STRUCT ? struct_type(group, name, dtype) : NULL;
}

/* Adds the field `index` of a struct at the next place that is aligned for it. */
static bool copy_field(oz_group *group, oz_type *type, const ozarr_dtype *record, int64_t index) {
    char name[NC_MAX_NAME + 1], inner[2 * NC_MAX_NAME + 3];
    int64_t shape[32];
    int32_t rank = 0;
    size_t len = 0;
    ozarr_dtype *of = NULL;
    if (ozarr_dtype_field_name(record, index, name, sizeof name, &len) || ozarr_dtype_field_shape(record, index, shape, 32, &rank)) return false;
    if (ozarr_dtype_copy_field_dtype(record, index, &of)) return false;
    snprintf(inner, sizeof inner, "%s_%s", type->name, name);
    const oz_type *found = field_type(group, inner, of);
    ozarr_dtype_free(of);
    oz_field *field = found ? oz_field_new(type, name) : NULL;
    if (!field) return false;
    field->type = found;
    field->rank = rank;
    for (int d = 0; d < rank; d++) field->count *= (size_t)(field->shape[d] = (int)shape[d]);
    size_t unit = found->kind ? 8 : found->size;
    field->offset = (type->size + unit - 1) / unit * unit;
    type->size = field->offset + field->count * found->size;
    return type->size < INT32_MAX;
}

static const oz_type *struct_type(oz_group *group, const char *name, const ozarr_dtype *dtype) {
    int64_t count = 0;
    if (ozarr_dtype_field_count(dtype, &count) || !count || oz_check_name(name) || oz_list_find(&group->types, name)) return NULL;
    oz_type *type = oz_type_new(group, name, NC_COMPOUND, 0);
    for (int64_t i = 0; i < count && type; i++)
        if (!copy_field(group, type, dtype, i)) return NULL;
    if (!type) return NULL;
    type->size = (type->size + 7) / 8 * 8;
    type->complete = true;
    return type;
}

/* The pairs of numbers that complex numbers are. */
static const oz_type *complex_type(oz_group *group, nc_type part) {
    const char *name = part == NC_FLOAT ? "complex64" : "complex128";
    const oz_type *there = oz_type_named(group, name);
    if (there) return there->kind == NC_COMPOUND ? there : NULL;
    oz_type *type = oz_type_new(group, name, NC_COMPOUND, 2 * oz_type_size(part));
    oz_field *real = type ? oz_field_new(type, "r") : NULL, *imaginary = real ? oz_field_new(type, "i") : NULL;
    if (!imaginary) return NULL;
    real->type = imaginary->type = oz_type_atomic(part);
    imaginary->offset = oz_type_size(part);
    type->complete = true;
    return type;
}

static const oz_type *bytes_type(oz_group *group, const char *name, int kind, size_t size) {
    const oz_type *there = oz_type_named(group, name);
    if (there) return there->kind == kind && there->size == size ? there : NULL;
    oz_type *type = oz_check_name(name) ? NULL : oz_type_new(group, name, kind, size);
    if (!type) return NULL;
    type->base = kind == NC_VLEN ? NC_UBYTE : NC_NAT;
    type->complete = true;
    return type;
}

const oz_type *oz_type_for_elements(oz_group *group, const char *name, const ozarr_dtype *dtype) {
    char made[NC_MAX_NAME + 8];
    ozarr_dtype_kind kind = 0;
    size_t size = 0;
    int before = group->file->type_count;
    const oz_type *type = NULL;
    if (ozarr_dtype_get_kind(dtype, &kind)) return NULL;
    if (ozarr_dtype_item_size(dtype, &size)) size = 0;
    snprintf(made, sizeof made, "%s_t", name);
    if (kind == OZARR_DTYPE_KIND_STRUCT) type = struct_type(group, made, dtype);
    if (kind == OZARR_DTYPE_KIND_COMPLEX && (size == 8 || size == 16)) type = complex_type(group, size == 8 ? NC_FLOAT : NC_DOUBLE);
    if (kind == OZARR_DTYPE_KIND_RAW && size) snprintf(made, sizeof made, "opaque_%zu", size), type = bytes_type(group, made, NC_OPAQUE, size);
    if (kind == OZARR_DTYPE_KIND_VAR_BYTES) type = bytes_type(group, "bytes", NC_VLEN, sizeof(nc_vlen_t));
    if (!type) oz_types_drop(group->file, before);
    return type;
}
