/* The model in memory: lists of named things, what they hold, and the table of open files. */
#include "model.h"
#include "types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files by the upper half of their IDs; the lower half is the group. */
static oz_file *files[1 << 16];

static const char *name_of(const void *item) { return *(char *const *)item; }

static uint32_t hash_of(const char *name) {
    uint32_t hash = 2166136261u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

int oz_list_add(oz_list *list, void *item) {
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 8;
        void **items = realloc(list->items, (size_t)capacity * sizeof *items);
        if (!items) return NC_ENOMEM;
        list->items = items;
        uint32_t *hashes = realloc(list->hashes, (size_t)capacity * sizeof *hashes);
        if (!hashes) return NC_ENOMEM;
        list->hashes = hashes;
        list->capacity = capacity;
    }
    list->items[list->count] = item;
    list->hashes[list->count++] = hash_of(name_of(item));
    return NC_NOERR;
}

static int index_of(const oz_list *list, const char *name) {
    uint32_t hash = hash_of(name);
    for (int i = 0; i < list->count; i++)
        if (list->hashes[i] == hash && strcmp(name_of(list->items[i]), name) == 0) return i;
    return -1;
}

int oz_list_index(const oz_list *list, const char *name) {
    char normal[NC_MAX_NAME + 1];
    int index = index_of(list, name);
    return index < 0 && oz_normalize(name, normal) ? index_of(list, normal) : index;
}

void *oz_list_find(const oz_list *list, const char *name) {
    int index = oz_list_index(list, name);
    return index < 0 ? NULL : list->items[index];
}

void oz_list_remove(oz_list *list, int index) {
    int after = list->count - index - 1;
    memmove(list->items + index, list->items + index + 1, (size_t)after * sizeof *list->items);
    memmove(list->hashes + index, list->hashes + index + 1, (size_t)after * sizeof *list->hashes);
    list->count--;
}

void oz_list_rename(oz_list *list, int index, char *name) {
    char **place = list->items[index];
    free(*place);
    *place = name;
    list->hashes[index] = hash_of(name);
}

void oz_list_free(oz_list *list) {
    free(list->items);
    free(list->hashes);
    *list = (oz_list){0};
}

int oz_names_add(oz_list *names, const char *name) {
    char **item = calloc(1, sizeof *item);
    if (item && (*item = strdup(name)) && !oz_list_add(names, item)) return NC_NOERR;
    if (item) free(*item);
    free(item);
    return NC_ENOMEM;
}

void oz_names_free(oz_list *names) {
    for (int i = 0; i < names->count; i++) {
        char **item = names->items[i];
        free(*item);
        free(item);
    }
    oz_list_free(names);
}

/* The path from the root of a file system; free it. */
static char *absolute(const char *path) {
    char *above = *path == '/' ? NULL : getcwd(NULL, 0), *all = NULL;
    if (!above) return strdup(path);
    if (asprintf(&all, "%s/%s", above, path) < 0) all = NULL;
    free(above);
    return all;
}

oz_file *oz_file_new(int ncid, const char *location, int mode) {
    oz_file *file = calloc(1, sizeof *file);
    if (!file) return NULL;
    file->ncid = ncid;
    file->mode = mode;
    file->location = strdup(location);
    file->folder = absolute(location);
    if (!file->location || !file->folder || !oz_group_new(file, NULL, "/")) {
        oz_file_free(file);
        return NULL;
    }
    files[(unsigned)ncid >> 16] = file;
    return file;
}

void oz_att_clear(oz_att *att) {
    oz_clear_values(att->info, att->values, att->len);
    free(att->values);
    free(att->json);
    att->values = NULL;
    att->json = NULL;
    att->len = 0;
}

void oz_att_free(oz_att *att) {
    if (!att) return;
    oz_att_clear(att);
    free(att->name);
    free(att);
}

void oz_atts_free(oz_list *atts) {
    for (int i = 0; i < atts->count; i++) oz_att_free(atts->items[i]);
    oz_list_free(atts);
}

const oz_filter *oz_var_filter(const oz_var *var, unsigned id) {
    for (int i = 0; i < var->filter_count; i++)
        if (var->filters[i].id == id) return &var->filters[i];
    return NULL;
}

static void var_free(oz_var *var) {
    ozarr_array_free(var->endless);
    ozarr_array_free(var->array);
    oz_clear_values(var->info, var->fill, 1);
    ozarr_dtype_free(var->dtype);
    for (int i = 0; i < var->filter_count; i++) free(var->filters[i].parameters);
    free(var->filters);
    oz_atts_free(&var->atts);
    oz_names_free(&var->gone);
    free(var->fill);
    free(var->dims);
    free(var->chunks);
    free(var->shape);
    free(var->room);
    free(var->document);
    free(var->waiting);
    free(var->name);
    free(var);
}

static void type_free(oz_type *type) {
    for (int i = 0; i < type->fields.count; i++) {
        oz_field *field = type->fields.items[i];
        free(field->name);
        free(field);
    }
    oz_list_free(&type->fields);
    free(type->name);
    free(type);
}

void oz_others_drop(oz_group *group) {
    for (int i = 0; i < group->others.count; i++) var_free(group->others.items[i]);
    oz_list_free(&group->others);
}

void oz_others_remove(oz_group *group, int index) {
    oz_var *var = group->others.items[index];
    oz_list_remove(&group->others, index);
    var_free(var);
}

static void group_free(oz_group *group) {
    for (int i = 0; i < group->vars.count; i++) var_free(group->vars.items[i]);
    oz_others_drop(group);
    for (int i = 0; i < group->dims.count; i++) {
        oz_dim *dim = group->dims.items[i];
        free(dim->name);
        free(dim->key);
        free(dim);
    }
    oz_atts_free(&group->atts);
    oz_names_free(&group->gone);
    oz_names_free(&group->former);
    oz_names_free(&group->their_dims);
    oz_list_free(&group->vars);
    oz_list_free(&group->dims);
    oz_list_free(&group->groups);
    oz_list_free(&group->types);
    ozarr_group_free(group->handle);
    free(group->name);
    free(group);
}

void oz_file_free(oz_file *file) {
    if (files[(unsigned)file->ncid >> 16] == file) files[(unsigned)file->ncid >> 16] = NULL;
    for (int i = 0; i < file->group_count; i++) group_free(file->groups[i]);
    for (int i = 0; i < file->type_count; i++) type_free(file->types[i]);
    free(file->types);
    free(file->groups);
    free(file->dims);
    free(file->location);
    free(file->folder);
    free(file->busy);
    free(file->consolidated);
    ozarr_store_free(file->store);
    free(file);
}

static oz_folder folder_now(const oz_file *file) {
    struct stat is;
    return stat(file->folder, &is) ? (oz_folder){0, 0} : (oz_folder){is.st_dev, is.st_ino};
}

void oz_file_note_place(oz_file *file) { file->place = folder_now(file); }

bool oz_file_is_open(const oz_file *file) {
    bool far = strstr(file->location, "://"), is_open = false;
    oz_folder now = folder_now(file);
    for (size_t i = 0; i < sizeof files / sizeof *files && !is_open; i++) {
        const oz_file *one = files[i];
        if (!one || one == file) continue;
        /* Another folder may have the name of one that was opened, and removed or renamed since. */
        if (far) is_open = strcmp(one->location, file->location) == 0;
        else if (one->hidden) is_open = strcmp(one->folder, file->folder) == 0;
        else is_open = now.inode && now.inode == one->place.inode && now.device == one->place.device;
    }
    return is_open;
}

int oz_find_group(int ncid, oz_group **group) {
    oz_file *file = files[(unsigned)ncid >> 16];
    int id = ncid & 0xffff;
    if (!file || id >= file->group_count) return NC_EBADID;
    *group = file->groups[id];
    return NC_NOERR;
}

int oz_find_var(int ncid, int varid, oz_var **var) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (varid < 0 || varid >= group->vars.count) return NC_ENOTVAR;
    *var = group->vars.items[varid];
    return NC_NOERR;
}

int oz_find_atts(int ncid, int varid, oz_group **group, oz_var **var, oz_list **atts) {
    int status = oz_find_group(ncid, group);
    if (status) return status;
    *var = NULL;
    *atts = &(*group)->atts;
    if (varid == NC_GLOBAL) return NC_NOERR;
    status = oz_find_var(ncid, varid, var);
    if (!status) *atts = &(*var)->atts;
    return status;
}

int oz_find_dim(const oz_group *group, int id, oz_dim **dim) {
    const oz_file *file = group->file;
    if (id < 0 || id >= file->dim_count) return NC_EBADDIM;
    *dim = file->dims[id];
    for (; group; group = group->parent)
        if (group == (*dim)->group) return NC_NOERR;
    return NC_EBADDIM;
}

oz_dim *oz_dim_by_name(const oz_group *group, const char *name) {
    for (; group; group = group->parent) {
        oz_dim *dim = oz_list_find(&group->dims, name);
        if (dim) return dim;
    }
    return NULL;
}

oz_group *oz_group_new(oz_file *file, oz_group *parent, const char *name) {
    oz_group **groups = realloc(file->groups, (size_t)(file->group_count + 1) * sizeof *groups);
    if (!groups) return NULL;
    file->groups = groups;
    oz_group *group = calloc(1, sizeof *group);
    if (!group) return NULL;
    group->name = strdup(name);
    if (!group->name || (parent && oz_list_add(&parent->groups, group))) {
        free(group->name);
        free(group);
        return NULL;
    }
    group->file = file;
    group->parent = parent;
    group->depth = parent ? parent->depth + 1 : 0;
    group->id = file->group_count;
    groups[file->group_count++] = group;
    return group;
}

oz_dim *oz_dim_new(oz_group *group, const char *name, size_t len, bool unlimited) {
    oz_file *file = group->file;
    oz_dim **dims = realloc(file->dims, (size_t)(file->dim_count + 1) * sizeof *dims);
    if (!dims) return NULL;
    file->dims = dims;
    oz_dim *dim = calloc(1, sizeof *dim);
    if (!dim) return NULL;
    dim->name = strdup(name);
    if (!dim->name || oz_list_add(&group->dims, dim)) {
        free(dim->name);
        free(dim);
        return NULL;
    }
    dim->len = len;
    dim->unlimited = unlimited;
    dim->group = group;
    dim->id = file->dim_count;
    dims[file->dim_count++] = dim;
    return dim;
}

/* How the elements of an array of that type reach netCDF. */
static oz_form form_of(const oz_type *type) {
    if (type->kind == NC_COMPOUND || type->kind == NC_OPAQUE) return OZ_RECORDS;
    if (type->kind == NC_VLEN) return OZ_LISTS;
    return type->id == NC_CHAR ? OZ_CHARS : type->id == NC_STRING ? OZ_STRINGS : OZ_NUMBERS;
}

static oz_var *add_var(oz_group *group, oz_list *list, const char *name, const oz_type *type, int rank) {
    oz_var *var = calloc(1, sizeof *var);
    if (!var) return NULL;
    var->info = type;
    var->name = strdup(name);
    var->dims = calloc((size_t)rank + 1, sizeof *var->dims);
    var->shape = calloc((size_t)rank + 1, sizeof *var->shape);
    var->room = calloc((size_t)rank + 1, sizeof *var->room);
    var->fill = calloc(1, type->size < 16 ? 16 : type->size);
    if (!var->name || !var->dims || !var->shape || !var->room || !var->fill || oz_list_add(list, var)) {
        var_free(var);
        return NULL;
    }
    var->group = group;
    var->type = type->id;
    var->form = form_of(type);
    var->rank = rank;
    var->id = list->count - 1;
    return var;
}

oz_var *oz_var_new(oz_group *group, const char *name, const oz_type *type, int rank) { return add_var(group, &group->vars, name, type, rank); }

oz_var *oz_var_of_others(oz_group *group, const char *path, int rank) { return add_var(group, &group->others, path, oz_type_atomic(NC_BYTE), rank); }

oz_var *oz_next_var(const oz_file *file, const oz_var *var) {
    for (int i = var ? var->group->id : 0, next = var ? var->id + 1 : 0; i < file->group_count; i++, next = 0)
        if (next < file->groups[i]->vars.count) return file->groups[i]->vars.items[next];
    return NULL;
}

oz_type *oz_type_new(oz_group *group, const char *name, int kind, size_t size) {
    oz_file *file = group->file;
    oz_type **types = realloc(file->types, (size_t)(file->type_count + 1) * sizeof *types);
    if (!types) return NULL;
    file->types = types;
    oz_type *type = calloc(1, sizeof *type);
    if (!type) return NULL;
    type->name = strdup(name);
    if (!type->name || oz_list_add(&group->types, type)) return type_free(type), NULL;
    type->id = NC_FIRSTUSERTYPEID + file->type_count;
    type->kind = kind;
    type->size = size;
    type->group = group;
    types[file->type_count++] = type;
    return type;
}

void oz_types_drop(oz_file *file, int count) {
    while (file->type_count > count) {
        oz_type *last = file->types[--file->type_count];
        oz_list_remove(&last->group->types, oz_list_index(&last->group->types, last->name));
        type_free(last);
    }
}

oz_field *oz_field_new(oz_type *type, const char *name) {
    oz_field *field = calloc(1, sizeof *field);
    if (!field) return NULL;
    field->name = strdup(name);
    field->count = 1;
    if (!field->name || oz_list_add(&type->fields, field)) {
        free(field->name);
        free(field);
        return NULL;
    }
    return field;
}

const oz_type *oz_type_of(const oz_file *file, nc_type id) {
    if (id < NC_FIRSTUSERTYPEID) return oz_type_atomic(id);
    return id - NC_FIRSTUSERTYPEID < file->type_count ? file->types[id - NC_FIRSTUSERTYPEID] : NULL;
}

/* Whether the first letters of a path are that of a group, which may be the root. */
static bool is_path_of(const char *path, size_t len, const oz_group *group) {
    if (!group->parent) return !len;
    size_t own = strlen(group->name);
    if (len < own || memcmp(path + len - own, group->name, own) != 0) return false;
    if (!group->parent->parent) return len == own;
    return len > own && path[len - own - 1] == '/' && is_path_of(path, len - own - 1, group->parent);
}

/* A path names a type from the root; a name that of the nearest group above, else the first in the file. */
const oz_type *oz_type_named(const oz_group *group, const char *name) {
    const oz_file *file = group->file;
    const char *last = strrchr(name, '/');
    for (int i = 0; i < file->type_count && last; i++) {
        size_t len = last == name ? 0 : (size_t)(last - name - 1);
        if (name[0] == '/' && strcmp(file->types[i]->name, last + 1) == 0 && is_path_of(name + 1, len, file->types[i]->group)) return file->types[i];
    }
    if (last) return NULL;
    if (oz_type_by_name(name) != NC_NAT) return oz_type_atomic(oz_type_by_name(name));
    for (const oz_group *above = group; above; above = above->parent) {
        const oz_type *type = oz_list_find(&above->types, name);
        if (type) return type;
    }
    for (int i = 0; i < file->type_count; i++)
        if (strcmp(file->types[i]->name, name) == 0) return file->types[i];
    return NULL;
}

oz_att *oz_att_new(oz_list *atts, const char *name) {
    oz_att *att = calloc(1, sizeof *att);
    if (!att) return NULL;
    att->name = strdup(name);
    if (!att->name || oz_list_add(atts, att)) {
        free(att->name);
        free(att);
        return NULL;
    }
    return att;
}

void oz_give_name(char *room, const char *name) {
    if (!room) return;
    size_t len = strnlen(name, NC_MAX_NAME);
    memcpy(room, name, len);
    room[len] = 0;
}

char *oz_group_path(const oz_group *group) {
    size_t len = 1;
    for (const oz_group *g = group; g->parent; g = g->parent) len += strlen(g->name) + 1;
    char *path = calloc(len, 1);
    if (!path) return NULL;
    size_t end = len - 1;
    for (const oz_group *g = group; g->parent; g = g->parent) {
        size_t size = strlen(g->name);
        if (g != group) path[--end] = '/';
        memcpy(path + (end -= size), g->name, size);
    }
    memmove(path, path + end, len - end);
    return path;
}
