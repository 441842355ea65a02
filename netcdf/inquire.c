/* The table's inquiries about files, dimensions, variables, groups and types. */
#include "hierarchy.h"
#include "table.h"
#include "types.h"

#include <stdlib.h>
#include <string.h>

int oz_inq_format(int ncid, int *format) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (!status && format) *format = group->file->format;
    return status;
}

int oz_inq_format_extended(int ncid, int *format, int *mode) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (format) *format = NC_FORMATX_UDF0;
    if (mode) *mode = group->file->mode | NC_NETCDF4;
    return NC_NOERR;
}

/* The first dimension that may grow, of the group or else of those above it. */
static int unlimited_of(const oz_group *group, bool above) {
    for (; group; group = above ? group->parent : NULL)
        for (int i = 0; i < group->dims.count; i++) {
            const oz_dim *dim = group->dims.items[i];
            if (dim->unlimited) return dim->id;
        }
    return -1;
}

int oz_inq(int ncid, int *dims, int *vars, int *atts, int *unlimited) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (dims) *dims = group->dims.count;
    if (vars) *vars = group->vars.count;
    if (atts) *atts = group->atts.count;
    if (unlimited) *unlimited = unlimited_of(group, false);
    return NC_NOERR;
}

int oz_inq_dimid(int ncid, const char *name, int *id) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (!name) return NC_EINVAL;
    const oz_dim *dim = NULL;
    const char *last = strrchr(name, '/');
    if (last) {
        char path[8 * NC_MAX_NAME];
        int parent;
        if (name[0] != '/' || last == name || (size_t)(last - name) >= sizeof path) return NC_EINVAL;
        memcpy(path, name, (size_t)(last - name));
        path[last - name] = 0;
        status = oz_inq_grp_full_ncid(group->file->ncid, path, &parent);
        if (!status) status = oz_find_group(parent, &group);
        if (status) return status;
        dim = oz_list_find(&group->dims, last + 1);
    } else {
        dim = oz_dim_by_name(group, name);
    }
    if (!dim) return NC_EBADDIM;
    if (id) *id = dim->id;
    return NC_NOERR;
}

int oz_inq_dim(int ncid, int id, char *name, size_t *len) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    /* The IDs are those of the file: netCDF-4 tells by any group of any dimension. */
    if (id < 0 || id >= group->file->dim_count) return NC_EBADDIM;
    const oz_dim *dim = group->file->dims[id];
    oz_give_name(name, dim->name);
    if (len) *len = dim->len;
    return NC_NOERR;
}

int oz_inq_unlimdim(int ncid, int *id) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (!status && id) *id = unlimited_of(group, true);
    return status;
}

int oz_inq_unlimdims(int ncid, int *count, int *ids) {
    oz_group *group;
    int found = 0, status = oz_find_group(ncid, &group);
    if (status) return status;
    for (int i = 0; i < group->dims.count; i++) {
        const oz_dim *dim = group->dims.items[i];
        if (!dim->unlimited) continue;
        if (ids) ids[found] = dim->id;
        found++;
    }
    if (count) *count = found;
    return NC_NOERR;
}

int oz_inq_varid(int ncid, const char *name, int *id) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (!name) return NC_EINVAL;
    if (strlen(name) > NC_MAX_NAME) return NC_EMAXNAME;
    const oz_var *var = oz_list_find(&group->vars, name);
    if (!var) return NC_ENOTVAR;
    if (id) *id = var->id;
    return NC_NOERR;
}

bool oz_var_is_contiguous(oz_var *var) {
    size_t chunks[64];
    if (oz_var_may_grow(var)) return false;
    if (!var->found || var->recorded) return var->contiguous;
    if (oz_var_read_codecs(var) || var->filter_count || oz_var_chunks(var, chunks)) return false;
    for (int d = 0; d < var->rank; d++)
        if (chunks[d] < var->dims[d]->len) return false;
    return true;
}

/* The chunks, not longer than dimensions that do not grow: netCDF refuses them in a copy. */
static int inquire_chunks(oz_var *var, int *contiguous, size_t *chunks) {
    size_t own[64];
    int status = oz_var_chunks(var, own);
    if (!status && contiguous) status = oz_var_read_codecs(var);
    if (status) return status;
    if (contiguous) *contiguous = var->compact ? NC_COMPACT : oz_var_is_contiguous(var) ? NC_CONTIGUOUS : NC_CHUNKED;
    for (int d = 0; d < var->rank && chunks; d++)
        chunks[d] = var->dims[d]->unlimited || own[d] < var->dims[d]->len || !var->dims[d]->len ? own[d] : var->dims[d]->len;
    return NC_NOERR;
}

static int endian_of(const oz_var *var) {
    if (var->form != OZ_NUMBERS || var->info->kind) return NC_ENDIAN_NATIVE;
    if (!oz_var_made(var) && !var->endian_set) return NC_ENDIAN_NATIVE;
    return var->big_endian ? NC_ENDIAN_BIG : NC_ENDIAN_LITTLE;
}

int oz_inq_var_all(int ncid, int varid, char *name, nc_type *type, int *rank, int *dims, int *atts, int *shuffle, int *deflate, int *level,
    int *fletcher, int *contiguous, size_t *chunks, int *no_fill, void *fill, int *endian, unsigned *id, size_t *count, unsigned *parameters) {
    (void)id, (void)count, (void)parameters;
    oz_group *group;
    oz_var *var;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    /* As netCDF-4 has it, also of the classic model: who asks for attributes is told how many a group has, and nothing else. */
    if (varid == NC_GLOBAL && atts && (group->file->format == NC_FORMAT_NETCDF4 || group->file->format == NC_FORMAT_NETCDF4_CLASSIC)) {
        *atts = group->atts.count;
        return NC_NOERR;
    }
    status = oz_find_var(ncid, varid, &var);
    if (status) return status;
    oz_give_name(name, var->name);
    if (type) *type = var->type;
    if (rank) *rank = var->rank;
    for (int d = 0; d < var->rank && dims; d++) dims[d] = var->dims[d]->id;
    if (atts) *atts = var->atts.count;
    if (shuffle || deflate || level || fletcher || endian) status = oz_var_read_codecs(var);
    if (status) return status;
    const oz_filter *deflated = oz_var_filter(var, 1);
    if (shuffle) *shuffle = oz_var_filter(var, 2) != NULL;
    if (deflate) *deflate = deflated != NULL;
    if (level) *level = deflated ? (int)deflated->parameters[0] : 0;
    if (fletcher) *fletcher = oz_var_filter(var, 3) != NULL;
    if (contiguous || chunks) status = inquire_chunks(var, contiguous, chunks);
    if (no_fill) *no_fill = var->no_fill;
    if (!status && fill && !var->no_fill) status = oz_copy_values(var->info, fill, var->fill, 1);
    if (endian) *endian = endian_of(var);
    return status;
}

int oz_inq_ncid(int ncid, const char *name, int *id) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    const oz_group *child = name ? oz_list_find(&group->groups, name) : group->file->groups[0];
    if (!child) return NC_ENOGRP;
    if (id) *id = child->file->ncid | child->id;
    return NC_NOERR;
}

int oz_inq_grps(int ncid, int *count, int *ids) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (count) *count = group->groups.count;
    for (int i = 0; i < group->groups.count && ids; i++) ids[i] = group->file->ncid | ((oz_group *)group->groups.items[i])->id;
    return NC_NOERR;
}

int oz_inq_grpname(int ncid, char *name) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (!status) oz_give_name(name, group->name);
    return status;
}

int oz_inq_grpname_full(int ncid, size_t *len, char *name) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    char *path = oz_group_path(group);
    if (!path) return NC_ENOMEM;
    if (name) {
        name[0] = '/';
        strcpy(name + 1, path);
    }
    if (len) *len = strlen(path) + 1;
    free(path);
    return NC_NOERR;
}

int oz_inq_grp_parent(int ncid, int *parent) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (!group->parent) return NC_ENOGRP;
    if (parent) *parent = group->file->ncid | group->parent->id;
    return NC_NOERR;
}

int oz_inq_grp_full_ncid(int ncid, const char *name, int *id) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (!name) return NC_EINVAL;
    char *copy = strdup(name), *rest = NULL;
    if (!copy) return NC_ENOMEM;
    /* A path is one below the group, also with a slash in front; the slash alone is the root, which is below none. */
    if (!name[strspn(name, "/")] && group->parent) group = NULL;
    for (char *part = strtok_r(copy, "/", &rest); part && group; part = strtok_r(NULL, "/", &rest)) group = oz_list_find(&group->groups, part);
    free(copy);
    if (!group) return NC_ENOGRP;
    if (id) *id = group->file->ncid | group->id;
    return NC_NOERR;
}

int oz_inq_varids(int ncid, int *count, int *ids) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (count) *count = group->vars.count;
    for (int i = 0; i < group->vars.count && ids; i++) ids[i] = i;
    return NC_NOERR;
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int oz_inq_dimids(int ncid, int *count, int *ids, int parents) {
    oz_group *group;
    int found = 0, status = oz_find_group(ncid, &group);
    if (status) return status;
    for (; group; group = parents ? group->parent : NULL) {
        for (int i = 0; i < group->dims.count && ids; i++) ids[found + i] = ((oz_dim *)group->dims.items[i])->id;
        found += group->dims.count;
    }
    if (ids) qsort(ids, (size_t)found, sizeof *ids, by_number);
    if (count) *count = found;
    return NC_NOERR;
}

int oz_show_metadata(int ncid) {
    oz_group *group;
    return oz_find_group(ncid, &group);
}
