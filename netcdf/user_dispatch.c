/* The table's functions of types that programs define: compound, enum, opaque and vlen. */
#include "hierarchy.h"
#include "table.h"
#include "types.h"

#include <stdlib.h>
#include <string.h>

/* A new type in a group. */
static int define(int ncid, const char *name, int kind, size_t size, nc_type base, nc_type *id) {
    char normal[NC_MAX_NAME + 1];
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    oz_file *file = group->file;
    if (!file->writable) return NC_EPERM;
    if (file->classic) return oz_not_classic(file, NC_ENOTNC4);
    if (oz_file_format(file) == 2 && kind != NC_ENUM) {
        oz_log("the type %s: NCZarr has no types of a program's own but enumerations", name ? name : "");
        return NC_ENOTNC4;
    }
    status = oz_new_name(&name, normal);
    if (status) return status;
    if (!size || size > INT32_MAX) return NC_EINVAL;
    if (oz_list_find(&group->types, name) || oz_list_find(&group->vars, name) || oz_list_find(&group->groups, name)) return NC_ENAMEINUSE;
    status = oz_to_define(file);
    if (status) return status;
    oz_type *type = oz_type_new(group, name, kind, size);
    if (!type) return NC_ENOMEM;
    type->base = base;
    file->dirty = group->dirty = true;
    if (id) *id = type->id;
    return NC_NOERR;
}

static bool integer(nc_type type) { return oz_type_size(type) && type != NC_CHAR && type != NC_FLOAT && type != NC_DOUBLE && type != NC_STRING; }

int oz_def_compound(int ncid, size_t size, const char *name, nc_type *id) { return define(ncid, name, NC_COMPOUND, size, NC_NAT, id); }

int oz_def_opaque(int ncid, size_t size, const char *name, nc_type *id) { return define(ncid, name, NC_OPAQUE, size, NC_NAT, id); }

int oz_def_enum(int ncid, nc_type base, const char *name, nc_type *id) {
    return integer(base) ? define(ncid, name, NC_ENUM, oz_type_size(base), base, id) : NC_EBADTYPE;
}

/* Lists of netCDF's own types of a fixed size; those of strings, structs and lists have no form in Zarr. */
int oz_def_vlen(int ncid, const char *name, nc_type base, nc_type *id) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (!oz_type_of(group->file, base)) return NC_EBADTYPE;
    if (oz_type_size(base) && base != NC_STRING) return define(ncid, name, NC_VLEN, sizeof(nc_vlen_t), base, id);
    oz_log("the type %s: Zarr has no lists of %s", name ? name : "", oz_type_of(group->file, base)->name);
    return NC_ENOTNC4;
}

/* A type of the file that a program defined. */
static int find(int ncid, nc_type id, oz_type **type) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (id < NC_FIRSTUSERTYPEID || !oz_type_of(group->file, id)) return NC_EBADTYPE;
    *type = group->file->types[id - NC_FIRSTUSERTYPEID];
    return NC_NOERR;
}

static int find_open(int ncid, nc_type id, int kind, const char **name, char *normal, oz_type **type) {
    int status = find(ncid, id, type);
    if (status) return status;
    if (!(*type)->group->file->writable) return NC_EPERM;
    if ((*type)->kind != kind) return NC_EBADTYPE;
    status = oz_new_name(name, normal);
    if (status) return status;
    if ((*type)->complete) return NC_ETYPDEFINED;
    return oz_list_find(&(*type)->fields, *name) ? NC_ENAMEINUSE : NC_NOERR;
}

/* Whether a type is another one, or has it in one of its fields. */
static bool contains(const oz_type *type, const oz_type *other) {
    bool found = type == other;
    for (int i = 0; i < type->fields.count && type->kind == NC_COMPOUND && !found; i++) {
        const oz_field *field = type->fields.items[i];
        found = contains(field->type, other);
    }
    return found;
}

/* Whether a field of that many bytes would overlap one that the type has. */
static bool overlaps(const oz_type *type, size_t offset, size_t size) {
    bool any = false;
    for (int i = 0; i < type->fields.count; i++) {
        const oz_field *field = type->fields.items[i];
        any = any || (offset < field->offset + field->count * field->type->size && field->offset < offset + size);
    }
    return any;
}

/* Has the record of a type's group stored: nc_sync has left out a type that had no members. */
static void touch(oz_type *type) { type->group->file->dirty = type->group->dirty = true; }

int oz_insert_array_compound(int ncid, nc_type id, const char *name, size_t offset, nc_type field_type, int rank, const int *shape) {
    char normal[NC_MAX_NAME + 1];
    oz_type *type;
    size_t count = 1;
    int status = find_open(ncid, id, NC_COMPOUND, &name, normal, &type);
    if (status) return status;
    const oz_type *of = oz_type_of(type->group->file, field_type);
    if (!of || contains(of, type)) return NC_EBADTYPE;
    if (of->id == NC_STRING || of->kind == NC_VLEN) {
        oz_log("the field %s of the type %s: Zarr has no structs with values of any length", name, type->name);
        return NC_ENOTNC4;
    }
    if (rank < 0 || rank > 32 || (rank && !shape)) return NC_EINVAL;
    for (int d = 0; d < rank; d++) {
        if (shape[d] < 1 || count > INT32_MAX / (size_t)shape[d]) return NC_EINVAL;
        count *= (size_t)shape[d];
    }
    if (offset > type->size || count * of->size > type->size - offset || overlaps(type, offset, count * of->size)) return NC_EINVAL;
    oz_field *field = oz_field_new(type, name);
    if (!field) return NC_ENOMEM;
    field->type = of;
    field->offset = offset;
    field->rank = rank;
    field->count = count;
    for (int d = 0; d < rank; d++) field->shape[d] = shape[d];
    touch(type);
    return NC_NOERR;
}

int oz_insert_compound(int ncid, nc_type id, const char *name, size_t offset, nc_type field) {
    return oz_insert_array_compound(ncid, id, name, offset, field, 0, NULL);
}

int oz_insert_enum(int ncid, nc_type id, const char *name, const void *value) {
    char normal[NC_MAX_NAME + 1];
    oz_type *type;
    int status = find_open(ncid, id, NC_ENUM, &name, normal, &type);
    if (status) return status;
    if (!value) return NC_EINVAL;
    oz_field *field = oz_field_new(type, name);
    if (!field) return NC_ENOMEM;
    if (type->base == NC_UINT64) memcpy(&field->value, value, sizeof field->value);
    else oz_convert(value, type->base, &field->value, NC_INT64, 1);
    touch(type);
    return NC_NOERR;
}

int oz_inq_user_type(int ncid, nc_type id, char *name, size_t *size, nc_type *base, size_t *fields, int *kind) {
    oz_type *type;
    int status = find(ncid, id, &type);
    if (status) return status;
    oz_give_name(name, type->name);
    if (size) *size = type->kind == NC_VLEN ? sizeof(nc_vlen_t) : type->size;
    if (base) *base = type->base;
    if (fields) *fields = (size_t)type->fields.count;
    if (kind) *kind = type->kind;
    return NC_NOERR;
}

int oz_inq_compound_field(int ncid, nc_type id, int index, char *name, size_t *offset, nc_type *field_type, int *rank, int *shape) {
    oz_type *type;
    int status = find(ncid, id, &type);
    if (status) return status;
    if (type->kind != NC_COMPOUND) return NC_EBADTYPE;
    if (index < 0 || index >= type->fields.count) return NC_EBADFIELD;
    const oz_field *field = type->fields.items[index];
    oz_give_name(name, field->name);
    if (offset) *offset = field->offset;
    if (field_type) *field_type = field->type->id;
    if (rank) *rank = field->rank;
    for (int d = 0; d < field->rank && shape; d++) shape[d] = field->shape[d];
    return NC_NOERR;
}

int oz_inq_compound_fieldindex(int ncid, nc_type id, const char *name, int *index) {
    oz_type *type;
    int status = find(ncid, id, &type);
    if (status) return status;
    if (type->kind != NC_COMPOUND) return NC_EBADTYPE;
    int found = name ? oz_list_index(&type->fields, name) : -1;
    if (found < 0) return NC_EBADFIELD;
    if (index) *index = found;
    return NC_NOERR;
}

static void member_value(const oz_type *type, const oz_field *field, void *value) {
    if (type->base == NC_UINT64) memcpy(value, &field->value, sizeof field->value);
    else oz_convert(&field->value, NC_INT64, value, type->base, 1);
}

int oz_inq_enum_member(int ncid, nc_type id, int index, char *name, void *value) {
    oz_type *type;
    int status = find(ncid, id, &type);
    if (status) return status;
    if (type->kind != NC_ENUM) return NC_EBADTYPE;
    if (index < 0 || index >= type->fields.count) return NC_EINVAL;
    const oz_field *field = type->fields.items[index];
    oz_give_name(name, field->name);
    if (value) member_value(type, field, value);
    return NC_NOERR;
}

int oz_inq_enum_ident(int ncid, nc_type id, long long value, char *name) {
    oz_type *type;
    int status = find(ncid, id, &type);
    if (status) return status;
    if (type->kind != NC_ENUM) return NC_EBADTYPE;
    for (int i = 0; i < type->fields.count; i++) {
        const oz_field *field = type->fields.items[i];
        if (field->value != value) continue;
        oz_give_name(name, field->name);
        return NC_NOERR;
    }
    return NC_EINVAL;
}

int oz_put_vlen_element(int ncid, int id, void *element, size_t len, const void *values) {
    oz_type *type;
    nc_vlen_t *list = element;
    int status = find(ncid, id, &type);
    if (status) return status;
    if (type->kind != NC_VLEN) return NC_EBADTYPE;
    list->len = len;
    list->p = (void *)values;
    return NC_NOERR;
}

int oz_get_vlen_element(int ncid, int id, const void *element, size_t *len, void *values) {
    oz_type *type;
    const nc_vlen_t *list = element;
    int status = find(ncid, id, &type);
    if (status) return status;
    if (type->kind != NC_VLEN) return NC_EBADTYPE;
    if (len) *len = list->len;
    if (values && list->len) memcpy(values, list->p, list->len * oz_type_size(type->base));
    return NC_NOERR;
}

int oz_inq_type(int ncid, nc_type id, char *name, size_t *size) {
    oz_group *group;
    const oz_type *type = oz_type_atomic(id);
    int status = type ? NC_NOERR : oz_find_group(ncid, &group);
    if (status) return status;
    if (!type) type = oz_type_of(group->file, id);
    if (!type) return NC_EBADTYPE;
    oz_give_name(name, type->name);
    if (size) *size = type->size;
    return NC_NOERR;
}

int oz_inq_typeids(int ncid, int *count, int *ids) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (count) *count = group->types.count;
    for (int i = 0; i < group->types.count && ids; i++) ids[i] = ((const oz_type *)group->types.items[i])->id;
    return NC_NOERR;
}

int oz_inq_typeid(int ncid, const char *name, nc_type *id) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    /* A path begins at the root. */
    if (!name || (strchr(name, '/') && name[0] != '/')) return NC_EINVAL;
    const oz_type *type = oz_type_named(group, name);
    if (!type) return NC_EBADTYPE;
    if (id) *id = type->id;
    return NC_NOERR;
}

static bool equal(const oz_type *a, const oz_type *b) {
    if (a == b) return true;
    if (a->kind != b->kind || a->size != b->size || a->base != b->base || a->fields.count != b->fields.count || !a->kind) return false;
    for (int i = 0; i < a->fields.count; i++) {
        const oz_field *x = a->fields.items[i], *y = b->fields.items[i];
        if (strcmp(x->name, y->name) != 0 || x->value != y->value || x->offset != y->offset || x->count != y->count) return false;
        if (x->type && !equal(x->type, y->type)) return false;
    }
    return true;
}

int oz_inq_type_equal(int ncid, nc_type id, int other_ncid, nc_type other_id, int *same) {
    oz_group *group, *other;
    if (id <= NC_NAT || other_id <= NC_NAT) return NC_EINVAL;
    int status = oz_find_group(ncid, &group);
    if (!status) status = oz_find_group(other_ncid, &other);
    if (status) return status;
    const oz_type *a = oz_type_of(group->file, id), *b = oz_type_of(other->file, other_id);
    if (!a || !b) return NC_EBADTYPE;
    if (same) *same = equal(a, b);
    return NC_NOERR;
}
