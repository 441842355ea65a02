/* The table's functions of attributes. */
#include "attribute_json.h"
#include "hierarchy.h"
#include "json.h"
#include "table.h"
#include "types.h"

#include <limits.h>
#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int find(int ncid, int varid, const char *name, oz_group **group, oz_var **var, oz_list **atts, oz_att **att) {
    int status = oz_find_atts(ncid, varid, group, var, atts);
    if (status) return status;
    if (!name) return NC_EBADNAME;
    *att = oz_list_find(*atts, name);
    return NC_NOERR;
}

int oz_inq_att(int ncid, int varid, const char *name, nc_type *type, size_t *len) {
    oz_group *group;
    oz_var *var;
    oz_list *atts;
    oz_att *att;
    int status = find(ncid, varid, name, &group, &var, &atts, &att);
    if (status) return status;
    if (!att) return NC_ENOTATT;
    if (type) *type = att->type;
    if (len) *len = att->len;
    return NC_NOERR;
}

int oz_inq_attid(int ncid, int varid, const char *name, int *id) {
    oz_group *group;
    oz_var *var;
    oz_list *atts;
    int status = oz_find_atts(ncid, varid, &group, &var, &atts);
    if (status) return status;
    int index = name ? oz_list_index(atts, name) : -1;
    if (index < 0) return NC_ENOTATT;
    if (id) *id = index;
    return NC_NOERR;
}

int oz_inq_attname(int ncid, int varid, int id, char *name) {
    oz_group *group;
    oz_var *var;
    oz_list *atts;
    int status = oz_find_atts(ncid, varid, &group, &var, &atts);
    if (status) return status;
    if (id < 0 || id >= atts->count) return NC_ENOTATT;
    oz_give_name(name, ((oz_att *)atts->items[id])->name);
    return NC_NOERR;
}

/* Notes that the store's attribute of a name is to be removed. */
static int note_gone(oz_group *group, oz_var *var, const char *name) { return oz_names_add(var ? &var->gone : &group->gone, name); }

static void touch(oz_group *group, oz_var *var) {
    group->file->dirty = group->dirty = true;
    if (var) var->dirty = true;
}

static int set_fill(oz_var *var, const void *values) {
    oz_clear_values(var->info, var->fill, 1);
    return oz_copy_values(var->info, var->fill, values, 1);
}

/* Whether a variable may have elements: of one that is in the store another rank may have written some. */
static bool may_have_elements(const oz_var *var) { return var->written || (var->group->file->ranks && (oz_var_made(var) || var->unopened)); }

/* Has the array made anew for its fill value; one with elements keeps its own, and the attribute is stored beside it. */
static void note_fill(oz_var *var) {
    if (may_have_elements(var)) var->fill_apart = true;
    else if (oz_var_made(var)) var->recreate = true;
}

/* Whether a name is the library's own, which is not read as an attribute of a group, and in format 2 not of a variable. */
static bool is_reserved(const oz_file *file, const oz_var *var, const char *name) {
    int format = oz_file_format(file);
    if (strcmp(name, OZ_TEXT_FILL) == 0) return true;
    if (var && format == 3) return false;
    if (var && strcmp(name, "_ARRAY_DIMENSIONS") == 0) return true;
    return strncasecmp(name, "_nczarr", 7) == 0 || strcmp(name, "_NCProperties") == 0 || strcmp(name, OZ_RECORD) == 0;
}

/* Sees that an attribute can be the fill value of a variable, and gives it the variable's type. */
static int become_fill(const oz_var *var, oz_att *att) {
    if (att->len != 1) return NC_EINVAL;
    if (att->type == var->type) return NC_NOERR;
    bool numbers = var->form == OZ_NUMBERS && !var->info->kind && oz_type_size(att->type) && att->type != NC_CHAR && att->type != NC_STRING;
    if (!numbers) return NC_EBADTYPE;
    void *value = calloc(1, var->info->size);
    int status = value ? oz_convert(att->values, att->type, value, var->type, 1) : NC_ENOMEM;
    if (status) return free(value), status;
    oz_att_clear(att);
    att->type = var->type;
    att->info = var->info;
    att->len = 1;
    att->values = value;
    return NC_NOERR;
}

int oz_rename_att(int ncid, int varid, const char *name, const char *new_name) {
    char normal[NC_MAX_NAME + 1];
    oz_group *group;
    oz_var *var;
    oz_list *atts;
    oz_att *att;
    int status = find(ncid, varid, name, &group, &var, &atts, &att);
    if (!status) status = oz_new_name(&new_name, normal);
    if (status) return status;
    if (!group->file->writable) return NC_EPERM;
    if (oz_list_find(atts, new_name) || is_reserved(group->file, var, new_name)) return NC_ENAMEINUSE;
    if (!att) return NC_ENOTATT;
    if (!group->file->defining && group->file->classic && strlen(new_name) > strlen(name)) return NC_ENOTINDEFINE;
    bool fill = var && strcmp(new_name, OZ_FILL_VALUE) == 0;
    if (fill) status = become_fill(var, att);
    if (status) return status;
    char *copy = strdup(new_name);
    if (!copy || note_gone(group, var, att->name)) return free(copy), NC_ENOMEM;
    att->changed = true;
    oz_list_rename(atts, oz_list_index(atts, att->name), copy);
    /* What a fill value is stored as depends on the name; all else is stored as it was. */
    if (strcmp(name, OZ_FILL_VALUE) == 0 || strcmp(new_name, OZ_FILL_VALUE) == 0) free(att->json), att->json = NULL;
    touch(group, var);
    if (fill) note_fill(var);
    return fill ? set_fill(var, att->values) : NC_NOERR;
}

int oz_del_att(int ncid, int varid, const char *name) {
    oz_group *group;
    oz_var *var;
    oz_list *atts;
    oz_att *att;
    int status = oz_find_atts(ncid, varid, &group, &var, &atts);
    if (!status && !name) status = NC_EINVAL;
    if (!status) status = find(ncid, varid, name, &group, &var, &atts, &att);
    if (status) return status;
    if (!group->file->writable) return NC_EPERM;
    status = oz_to_define(group->file);
    if (!status && !att) status = NC_ENOTATT;
    if (!status) status = note_gone(group, var, att->name);
    if (status) return status;
    oz_list_remove(atts, oz_list_index(atts, name));
    oz_att_free(att);
    touch(group, var);
    return NC_NOERR;
}

static bool one_byte(nc_type type) { return type == NC_BYTE || type == NC_UBYTE; }

int oz_get_att(int ncid, int varid, const char *name, void *values, nc_type type) {
    oz_group *group;
    oz_var *var;
    oz_list *atts;
    oz_att *att;
    int status = find(ncid, varid, name, &group, &var, &atts, &att);
    if (status) return status;
    if (!att) return NC_ENOTATT;
    if (type == NC_NAT) type = att->type;
    if (!att->len || !values) return NC_NOERR;
    if (type == att->type) return oz_copy_values(att->info, values, att->values, att->len);
    if (att->type == NC_CHAR || type == NC_CHAR) return NC_ECHAR;
    status = oz_convert(att->values, att->type, values, type, att->len);
    return status == NC_ERANGE && one_byte(type) && one_byte(att->type) && oz_signs_are_free(group->file) ? NC_NOERR : status;
}

/* The values of a call, in the type of the file; NC_ERANGE with the values that could not be had. */
static int new_values(const void *values, nc_type memory_type, const oz_type *type, size_t len, void **out) {
    *out = calloc(len + 1, type->size);
    if (!*out) return NC_ENOMEM;
    int status = memory_type == type->id ? oz_copy_values(type, *out, values, len) : oz_convert(values, memory_type, *out, type->id, len);
    if (status && status != NC_ERANGE) {
        free(*out);
        *out = NULL;
    }
    return status;
}

/* Whether a fill value may be set, and sets it. */
static int put_fill(oz_var *var, nc_type type, size_t len, const void *values) {
    if (len != 1) return NC_EINVAL;
    if (type != var->type) return NC_EBADTYPE;
    /* Too late, but the classic formats allow it. */
    int format = var->group->file->format;
    bool late = may_have_elements(var) && (format == NC_FORMAT_NETCDF4 || format == NC_FORMAT_NETCDF4_CLASSIC);
    return late ? NC_ELATEFILL : set_fill(var, values);
}

/* Whether the texts of a call are such as JSON can hold; a document with others could not be stored. */
static bool are_texts(const char *name, size_t len, const void *values) {
    for (size_t i = 0; i < len; i++) {
        const char *one = ((char *const *)values)[i];
        if (!one || utf8(one, strlen(one))) continue;
        oz_log("the attribute %s: string %zu is not UTF-8; text of the type NC_CHAR may be any bytes", name, i);
        return false;
    }
    return true;
}

/* The bytes that values take in a file's format: in the classic ones up to a multiple of 4. */
static size_t stored_bytes(const oz_file *file, size_t bytes) { return file->format == NC_FORMAT_NETCDF4_CLASSIC ? bytes : (bytes + 3) / 4 * 4; }

static int check_put(oz_file *file, const oz_att *att, const char *name, nc_type type, size_t len, const void *values, nc_type memory_type) {
    int status = oz_check_name(name);
    /* A length that was negative is very large. */
    if (len > INT_MAX || (len && !values)) return NC_EINVAL;
    if (!file->writable) return NC_EPERM;
    if (status) return status;
    const oz_type *info = oz_type_of(file, type);
    bool larger = !att || !info || stored_bytes(file, len * info->size) > stored_bytes(file, att->len * att->info->size);
    if (!file->defining && larger && file->classic) return NC_ENOTINDEFINE;
    if (!info || !oz_type_of(file, memory_type) || (type != memory_type && (info->kind || !oz_type_size(memory_type)))) return NC_EBADTYPE;
    bool texts = type == NC_CHAR || memory_type == NC_CHAR || type == NC_STRING || memory_type == NC_STRING;
    if (type != memory_type && texts) return NC_ECHAR;
    if (type == NC_STRING && !are_texts(name, len, values)) return NC_EINVAL;
    return oz_type_allowed(file, type) ? NC_NOERR : oz_not_classic(file, NC_EBADTYPE);
}

int oz_put_att(int ncid, int varid, const char *name, nc_type type, size_t len, const void *values, nc_type memory_type) {
    char normal[NC_MAX_NAME + 1];
    oz_group *group;
    oz_var *var;
    oz_list *atts;
    oz_att *att;
    void *copy = NULL;
    int status = find(ncid, varid, name, &group, &var, &atts, &att);
    if (!status) status = check_put(group->file, att, name, type, len, values, memory_type);
    if (!status && is_reserved(group->file, var, name)) status = NC_ENAMEINUSE;
    if (status) return status;
    const oz_type *info = oz_type_of(group->file, type);
    int range = new_values(values, memory_type, info, len, &copy);
    if (!copy) return range;
    if (one_byte(type) && one_byte(memory_type) && oz_signs_are_free(group->file)) range = NC_NOERR;
    bool fill = var && strcmp(name, OZ_FILL_VALUE) == 0;
    if (fill) status = put_fill(var, type, len, copy);
    (void)oz_new_name(&name, normal);
    if (!status && !att && !(att = oz_att_new(atts, name))) status = NC_ENOMEM;
    if (status) {
        oz_clear_values(info, copy, len);
        free(copy);
        return status;
    }
    oz_att_clear(att);
    att->type = type;
    att->info = info;
    att->len = len;
    att->values = copy;
    att->changed = true;
    if (!group->file->classic) group->file->defining = true;
    touch(group, var);
    if (fill) note_fill(var);
    return range;
}

/* Adds an attribute that the store does not have; NULL without memory. */
static oz_att *show_att(oz_var *var, const char *name, nc_type type, const void *values, size_t len) {
    const oz_type *info = oz_type_atomic(type);
    oz_att *made = oz_att_new(&var->atts, name);
    if (!made || !(made->values = calloc(len, info->size))) return NULL;
    made->type = type;
    made->info = info;
    made->len = len;
    memcpy(made->values, values, len * info->size);
    return made;
}

/* Units of which CF knows no name, or a number of which is one, are in the type only. */
int oz_var_show_times(oz_var *var) {
    static const char *const known[][2] = {{"D", "days"}, {"h", "hours"}, {"m", "minutes"}, {"s", "seconds"}, {"ms", "milliseconds"},
        {"us", "microseconds"}, {"ns", "nanoseconds"}};
    const int64_t none = INT64_MIN;
    ozarr_type stored = OZARR_AS_STORED;
    ozarr_dtype *dtype = NULL;
    ozarr_dtype_kind kind = 0;
    char name[16] = "", units[40] = "";
    int64_t count = 0;
    size_t len = 0;
    if (var->type != NC_INT64 || ozarr_array_type(var->array, &stored) || stored != OZARR_BY_DTYPE || ozarr_array_copy_dtype(var->array, &dtype)) return NC_NOERR;
    bool is_time = !ozarr_dtype_get_kind(dtype, &kind) && (kind == OZARR_DTYPE_KIND_DATETIME || kind == OZARR_DTYPE_KIND_TIMEDELTA);
    if (is_time && ozarr_dtype_unit(dtype, name, sizeof name, &len, &count)) count = 0;
    ozarr_dtype_free(dtype);
    if (!is_time) return NC_NOERR;
    if (!oz_list_find(&var->atts, OZ_FILL_VALUE) && !show_att(var, OZ_FILL_VALUE, NC_INT64, &none, 1)) return NC_ENOMEM;
    for (size_t i = 0; i < sizeof known / sizeof *known && count == 1; i++)
        if (strcmp(known[i][0], name) == 0) snprintf(units, sizeof units, "%s%s", known[i][1], kind == OZARR_DTYPE_KIND_DATETIME ? " since 1970-01-01" : "");
    if (*units && !oz_list_find(&var->atts, "units") && !show_att(var, "units", NC_CHAR, units, strlen(units))) return NC_ENOMEM;
    return NC_NOERR;
}
