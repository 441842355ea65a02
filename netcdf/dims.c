/* The dimensions of a file that is read: those that are recorded, and those that arrays have. */
#include "hierarchy.h"
#include "listed.h"

#include <ozarr_formats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int oz_dims_recorded(oz_group *group, const json *record) {
    const json *dims = json_member(record, "dimensions");
    if (dims && dims->kind != JSON_OBJECT) dims = NULL;
    for (const json *item = dims ? dims->first : NULL; item; item = item->next) {
        const json *size = json_member(item, "size");
        bool unlimited = json_true(item, "unlimited");
        size_t len = size && size->kind == JSON_INTEGER && !unlimited ? (size_t)strtoull(size->text, NULL, 10) : 0;
        if (oz_list_find(&group->dims, item->name)) continue;
        oz_dim *dim = oz_dim_new(group, item->name, len, unlimited);
        if (!dim) return NC_ENOMEM;
        dim->told = true;
        dim->published = unlimited && group->file->consolidates;
    }
    int64_t count = 0;
    ozarr_status counted = dims || !group->handle ? OZARR_OK : ozarr_group_nc_dimension_count(group->handle, &count);
    if (counted == OZARR_ERR_NO_MEMORY) return NC_ENOMEM;
    for (int64_t i = 0; i < count && !counted; i++) {
        char name[NC_MAX_NAME + 1];
        int64_t extent;
        bool unlimited;
        if (ozarr_group_nc_dimension(group->handle, i, name, sizeof name, NULL, &extent, &unlimited)) continue;
        oz_dim *dim = oz_dim_new(group, name, (size_t)extent, unlimited);
        if (!dim) return NC_ENOMEM;
        dim->told = true;
    }
    return NC_NOERR;
}

/* The dimension of that name and length which the group sees, or a new one. One along which arrays differ may grow, unless there is one above it of
 * that very length. */
static oz_dim *resolve_dim(oz_group *group, const char *name, size_t len, bool first) {
    char other[NC_MAX_NAME + 32];
    oz_dim *own = oz_list_find(&group->dims, name), *found = NULL;
    for (const oz_group *g = group; g && !found; g = g->parent) {
        found = oz_list_find(&g->dims, name);
        if (found && found->len != len && !found->unlimited) found = NULL;
    }
    if (!found && first) found = own;
    if (found) {
        if (found->len != len) found->unlimited = true;
        if (len > found->len) found->len = len;
        return found;
    }
    if (!own) return oz_dim_new(group, name, len, len == 0);
    snprintf(other, sizeof other, "%s_%zu", name, len);
    oz_dim *dim = oz_list_find(&group->dims, other);
    return dim ? dim : oz_dim_new(group, other, len, len == 0);
}

/* The group in or above which a dimension is: that of the variable, but where our record says that another dimension of the name is in between. */
static oz_group *group_of_dim(const oz_var *var, const json *mine, int d) {
    const json *above = json_member(mine, "above"), *levels = above && above->kind == JSON_ARRAY ? above->first : NULL;
    oz_group *group = var->group;
    while (levels && d-- > 0) levels = levels->next;
    for (long n = levels && levels->kind == JSON_INTEGER ? strtol(levels->text, NULL, 10) : 0; n > 0 && group->parent; n--) group = group->parent;
    return group;
}

int oz_var_place_dim(oz_var *var, const json *mine, int d, const char *name, int64_t len) {
    char unnamed[64];
    if (!name || !*name) {
        snprintf(unnamed, sizeof unnamed, "_Anonymous_Dim_%lld", (long long)len);
        name = unnamed;
    }
    var->shape[d] = len;
    var->dims[d] = resolve_dim(group_of_dim(var, mine, d), name, (size_t)len, d == 0);
    return var->dims[d] ? NC_NOERR : NC_ENOMEM;
}

/* Whether a variable has an attribute of a text with a word in it, or of that word alone. */
static bool says(const oz_var *var, const char *name, const char *word, bool alone) {
    const oz_att *att = oz_list_find(&var->atts, name);
    if (!att || att->type != NC_CHAR || (alone && att->len != strlen(word))) return false;
    return memmem(att->values, att->len, word, strlen(word)) != NULL;
}

/* Whether all variables that have a dimension have it as their first one. */
static bool is_first(const oz_file *file, const oz_dim *dim) {
    for (const oz_var *var = NULL; (var = oz_next_var(file, var));)
        for (int d = 1; d < var->rank; d++)
            if (var->dims[d] == dim) return false;
    return true;
}

/* Programs that use ozarr itself record no dimension: their time axis may grow here, too. */
void oz_dims_of_time(oz_file *file) {
    for (int i = 0; i < file->dim_count; i++) {
        oz_dim *dim = file->dims[i];
        const oz_var *var = dim->told || dim->unlimited ? NULL : oz_list_find(&dim->group->vars, dim->name);
        if (!var || var->rank != 1 || var->dims[0] != dim) continue;
        dim->unlimited = says(var, "standard_name", "time", true) && says(var, "units", " since ", false) && is_first(file, dim);
    }
}
