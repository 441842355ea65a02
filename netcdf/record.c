/* What a group or a variable says of itself, its attributes and our record, beside what others have said of it since. */
#include "attribute_json.h"
#include "hierarchy.h"
#include "user_types.h"

#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a program asked for as its file's format, in the order of netCDF's numbers. */
static const char *const FORMATS[] = {",\"format\":\"classic\"", ",\"format\":\"64-bit offset\"", "", ",\"format\":\"netCDF-4 classic model\"", ",\"format\":\"cdf5\""};

/* Says of a variable's attribute `_FillValue` that it is the array's fill value, or a string that is NULL, which Zarr does not have; or its value. `there` is
 * what the store's record says of the variable (or NULL), which others may have changed. */
static void write_fill(text *t, const oz_var *var, const oz_stored *stored, const json *there) {
    const oz_att *fill = oz_list_find(&var->atts, OZ_FILL_VALUE);
    const json *told = json_member(there, "fill");
    bool valued = var->form == OZ_RECORDS || var->form == OZ_LISTS;
    /* Older versions had the value as an attribute of the array. */
    if (valued && told && told->kind != JSON_BOOL && (fill ? !fill->changed : oz_list_index(&var->gone, OZ_FILL_VALUE) < 0)) return oz_stored_copy(t, stored, told);
    /* Another open file has deleted it. */
    if (fill && !fill->changed && there && !told && !(valued && fill->json)) return;
    if (!fill) return;
    text_member(t, "fill");
    if (oz_fill_is_recorded(fill, var)) return oz_user_value_write(t, var->group->file, var->info, fill->values);
    bool is_null = fill->type == NC_STRING && fill->len == 1 && !*(char *const *)fill->values;
    text_put(t, is_null ? "null" : "true");
}

/* Says how many groups above a variable each of its dimensions is, where another one of the same name hides one of them. */
static void write_places(text *t, const oz_var *var) {
    bool hidden = false;
    for (int d = 0; d < var->rank; d++) hidden = hidden || oz_dim_by_name(var->group, var->dims[d]->name) != var->dims[d];
    if (!hidden) return;
    text_member(t, "above");
    text_put(t, "[");
    for (int d = 0; d < var->rank; d++) {
        char levels[16];
        int n = 0;
        for (const oz_group *group = var->group; group && group != var->dims[d]->group; group = group->parent) n++;
        snprintf(levels, sizeof levels, d ? ",%d" : "%d", n);
        text_put(t, levels);
    }
    text_put(t, "]");
}

static void write_dim(text *t, const oz_dim *dim) {
    char size[64];
    snprintf(size, sizeof size, dim->unlimited ? "{\"unlimited\":true}" : "{\"size\":%zu}", dim->len);
    text_member(t, dim->name);
    text_put(t, size);
}

/* What the record says of a variable; `stored` is the record that is in the store, and `there` what that says of it (or NULL). */
static void write_var(text *t, oz_var *var, const oz_stored *stored, const json *there) {
    const oz_stored types = {json_member(there, "types"), stored->source, &var->gone};
    text_member(t, var->name);
    text_put(t, "{");
    if (var->no_fill) text_put(t, "\"no_fill\":true");
    if (!oz_var_may_grow(var) && !oz_var_is_contiguous(var)) text_member(t, "chunked"), text_put(t, "true");
    if (var->compact) text_member(t, "compact"), text_put(t, "true");
    write_fill(t, var, stored, there);
    if (var->info->kind) text_member(t, "type"), oz_type_reference(t, var->info);
    if (oz_has_flags(var)) text_member(t, "flags"), text_put(t, "true");
    oz_types_write(t, "types", &var->atts, var, &types);
    write_places(t, var);
    text_put(t, "}");
}

ozarr_node_kind oz_kind_at(const oz_group *group, const char *name) {
    ozarr_node_kind kind = OZARR_NODE_KIND_UNKNOWN;
    char *path = oz_node_path(group, name);
    bool failed = !path || ozarr_store_node_kind(group->file->store, path, &kind);
    free(path);
    return failed ? OZARR_NODE_KIND_UNKNOWN : kind;
}

/* What the record says by the name of a variable of this process: where another program has an array by it, what that says (`there`, or NULL). */
static void write_own(text *t, oz_var *var, const oz_stored *stored, const json *there) {
    bool own = oz_file_alone(var->group->file);
    if (!own && !oz_var_made(var)) {
        ozarr_node_kind kind = oz_kind_at(var->group, var->name);
        own = !var->lost && (kind == OZARR_NODE_KIND_NONE || (kind == OZARR_NODE_KIND_UNKNOWN && !there));
    }
    /* In a store that is no folder one request for each would take long. */
    else if (!own) {
        if (var->folder.inode) (void)oz_var_find(var, NULL);
        own = !var->lost;
    }
    if (own) write_var(t, var, stored, there);
    else if (there) oz_stored_copy(t, stored, there);
}

/* Whether the record goes on to say what it says of a node of others: while one of them has the file locked it may be just making that, and what cannot be
 * looked at may be there. */
static bool is_kept(const oz_group *group, const char *name, ozarr_node_kind kind) {
    if (oz_is_locked_out(group->file)) return true;
    ozarr_node_kind there = oz_kind_at(group, name);
    return there == kind || there == OZARR_NODE_KIND_UNKNOWN;
}

/* Keeps what the stored record says of dimensions and variables that this process does not know: another program has defined them since. */
static void keep_others(text *t, const oz_group *group, const oz_stored *stored, const char *member, const oz_list *ours) {
    const json *all = json_member(stored->object, member);
    bool dims = ours == &group->dims;
    for (const json *one = all && all->kind == JSON_OBJECT ? all->first : NULL; one; one = one->next) {
        if (oz_list_index(ours, one->name) >= 0 || (dims && oz_list_index(&group->former, one->name) >= 0)) continue;
        if (dims || is_kept(group, one->name, OZARR_NODE_KIND_ARRAY)) oz_stored_copy(t, stored, one);
    }
}

static void write_groups(text *t, const oz_group *group, const oz_stored *stored) {
    const json *all = json_member(stored->object, "groups");
    for (int i = 0; i < group->groups.count; i++) {
        const oz_group *child = group->groups.items[i];
        text_comma(t);
        text_quote(t, child->name, strlen(child->name));
    }
    for (const json *one = all && all->kind == JSON_ARRAY ? all->first : NULL; one; one = one->next) {
        if (one->kind != JSON_STRING || oz_list_index(&group->groups, one->text) >= 0 || !is_kept(group, one->text, OZARR_NODE_KIND_GROUP)) continue;
        text_comma(t);
        text_quote(t, one->text, one->len);
    }
}

/* Our record of the group: what Zarr does not say. */
static void write_record(text *t, const oz_group *group, const oz_stored *stored) {
    const oz_stored types = {json_member(stored->object, "types"), stored->source, &group->gone};
    text_put(t, "{\"version\":1");
    if (!group->parent) text_put(t, FORMATS[group->file->format - 1]);
    if (!group->parent && (group->file->created || group->file->consolidates)) text_put(t, ",\"consolidated\":true");
    text_member(t, "dimensions");
    text_put(t, "{");
    for (int i = 0; i < group->dims.count; i++) write_dim(t, group->dims.items[i]);
    keep_others(t, group, stored, "dimensions", &group->dims);
    text_put(t, "}");
    text_member(t, "variables");
    text_put(t, "{");
    const json *all = json_member(stored->object, "variables"), *next = all ? all->first : NULL;
    for (int i = 0; i < group->vars.count; i++) {
        oz_var *var = group->vars.items[i];
        /* The record has them in this order, so that most are the next one. */
        const json *there = next && next->name && strcmp(next->name, var->name) == 0 ? next : json_member(all, var->name);
        if (there) next = there->next;
        write_own(t, var, stored, there);
    }
    keep_others(t, group, stored, "variables", &group->vars);
    text_put(t, "}");
    text_member(t, "groups");
    text_put(t, "[");
    write_groups(t, group, stored);
    text_put(t, "]");
    oz_user_types_write(t, group, stored);
    oz_types_write(t, "types", &group->atts, NULL, &types);
    text_put(t, "}");
}

void oz_stored_free(oz_stored *stored) {
    json_free(stored->object);
    free(stored->source);
}

int oz_stored_read(const ozarr_node *node, oz_stored *stored) {
    int status = oz_node_text(node, OZ_RECORD, &stored->source);
    if (!status) status = oz_json_read(stored->source, &stored->object);
    if (status || !stored->object || stored->object->kind != JSON_STRING) return status;
    char *inner = strdup(stored->object->text);
    oz_stored_free(stored);
    stored->source = inner;
    stored->object = NULL;
    return inner ? oz_json_read(stored->source, &stored->object) : NC_ENOMEM;
}

/* A group or a variable that is open a second time. */
typedef struct fresh {
    ozarr_array *array;
    ozarr_group *group;
    ozarr_node *node;
} fresh;

static void fresh_free(fresh *f) {
    ozarr_array_free(f->array);
    ozarr_group_free(f->group);
}

/* Reads what the attributes of a group or a variable are by now, and the record (NULL: not that), with a handle of its own (one that was opened just now, or
 * that this opens), by which they are stored then: another program may have changed some since they were read. Of a new file the documents are ours alone. */
static int read_stored(const oz_group *group, const oz_var *var, oz_stored *stored, oz_stored *record, fresh *f) {
    f->node = var ? ozarr_array_node(var->array) : ozarr_group_node(group->handle);
    if (oz_file_alone(group->file)) return NC_NOERR;
    char *path = var ? oz_var_path(var) : oz_group_path(group);
    int status = path ? NC_NOERR : NC_ENOMEM;
    if (!status && !f->array)
        status = oz_error(var ? ozarr_array_open_at(group->file->store, path, &f->array) : ozarr_group_open_at(group->file->store, path, &f->group));
    free(path);
    if (status) return status;
    f->node = var ? ozarr_array_node(f->array) : ozarr_group_node(f->group);
    stored->gone = var ? &var->gone : &group->gone;
    status = oz_node_text(f->node, NULL, &stored->source);
    if (!status) status = oz_json_read(stored->source, &stored->object);
    if (!status && record) status = oz_stored_read(f->node, record);
    return status || stored->object ? status : NC_ENOTNC;
}

int oz_var_read_stored(const oz_var *var, oz_stored *stored) {
    fresh f = {0};
    int status = read_stored(var->group, var, stored, NULL, &f);
    fresh_free(&f);
    return status;
}

void oz_group_note_stored(oz_group *group) {
    for (int i = 0; i < group->vars.count; i++) {
        oz_var *var = group->vars.items[i];
        if (!var->dirty) oz_atts_stored(&var->atts, &var->gone);
    }
}

/* Whether what is stored has a member as it is to be. */
static bool is_same(const oz_stored *stored, const json *old, const char *wanted, const json *member) {
    return old && old->to - old->from == member->to - member->from && !memcmp(stored->source + old->from, wanted + member->from, member->to - member->from);
}

/* The next member that is there, too, and that this process knows. */
static const json *next_known(const json *member, const json *there, const oz_list *atts) {
    while (member && (!json_member(there, member->name) || oz_list_index(atts, oz_att_name(member->name)) < 0)) member = member->next;
    return member;
}

/* Whether attributes that are set one by one have the order in which the program sees them, among those of others: new ones come last. */
static bool keeps_order(const oz_stored *stored, const json *wanted, const oz_list *atts) {
    const json *old = next_known(stored->object->first, wanted, atts);
    for (const json *member = wanted->first; member; member = member->next) {
        if (oz_list_index(atts, oz_att_name(member->name)) < 0) continue;
        if (json_member(stored->object, member->name) ? !old || strcmp(old->name, member->name) != 0 : old != NULL) return false;
        if (old) old = next_known(old->next, wanted, atts);
    }
    return true;
}

/* Sets and erases the attributes that are to be others than those that are stored. */
static ozarr_status set_changed(ozarr_node *node, const oz_stored *stored, const char *text, const json *wanted) {
    ozarr_status status = OZARR_OK;
    for (const json *old = stored->object->first; old && !status; old = old->next)
        if (!json_member(wanted, old->name) && strcmp(old->name, OZ_RECORD) != 0) status = ozarr_attr_erase(node, old->name);
    for (const json *member = wanted->first; member && !status; member = member->next) {
        if (is_same(stored, json_member(stored->object, member->name), text, member)) continue;
        char *value = strndup(text + member->from, member->to - member->from);
        status = value ? ozarr_attr_set_json(node, member->name, value) : OZARR_ERR_NO_MEMORY;
        free(value);
    }
    return status;
}

/* Stores attributes (NULL: those that are there), and the record of a group, which the store may have already (`known`). Programs that set others at the same
 * time may know no lock: those that do not change are not stored again; nor is a document in which none does. */
static int store_atts(ozarr_node *node, const oz_stored *stored, const oz_list *atts, const char *attributes, const char *record, bool known) {
    json *wanted = attributes && stored->object ? json_read(attributes) : NULL;
    ozarr_status status = ozarr_attrs_begin(node);
    /* After a commit that failed the handle of a new file still collects; what follows replaces that. */
    bool again = status == OZARR_ERR_STATE, whole = again || !wanted || !keeps_order(stored, wanted, atts);
    if (again) status = OZARR_OK;
    if (!status && attributes) status = whole ? ozarr_attrs_set(node, attributes) : set_changed(node, stored, attributes, wanted);
    if (!status && record && (whole || !known)) status = ozarr_attr_set_json(node, OZ_RECORD, record);
    if (!status) status = ozarr_attrs_commit(node);
    json_free(wanted);
    return oz_error(status);
}

/* Stores the record of a group with all its attributes, or (`attributes` NULL) with those that it has; `there` is the text of the one that is stored, or NULL. */
static int store_record(const oz_group *group, ozarr_node *node, const oz_stored *stored, const text *attributes, text *record, const char *there) {
    int32_t format = 3;
    if (record->failed || (attributes && attributes->failed)) return NC_ENOMEM;
    const bool known = there && strcmp(there, record->bytes) == 0;
    ozarr_status status = ozarr_node_zarr_format(node, &format);
    if (!status && format == 2) {
        /* NCZarr opens no file with an attribute that is an object. */
        text quoted = {0};
        text_quote(&quoted, record->bytes, strlen(record->bytes));
        free(record->bytes);
        *record = quoted;
        if (quoted.failed) status = OZARR_ERR_NO_MEMORY;
    }
    return status ? oz_error(status) : store_atts(node, stored, &group->atts, attributes ? attributes->bytes : NULL, record->bytes, known);
}

int oz_group_store_atts(oz_group *group) {
    text attributes = {0}, record = {0};
    oz_stored stored = {0}, old = {0};
    fresh f = {0};
    int status = read_stored(group, NULL, &stored, &old, &f);
    if (!status) {
        oz_atts_write(&attributes, group->file, &group->atts, NULL, 3, &stored);
        write_record(&record, group, &old);
        status = store_record(group, f.node, &stored, &attributes, &record, old.source);
    }
    fresh_free(&f);
    oz_stored_free(&stored);
    oz_stored_free(&old);
    free(attributes.bytes);
    free(record.bytes);
    if (!status) oz_atts_stored(&group->atts, &group->gone), oz_names_free(&group->former), group->dirty = false;
    return status;
}

/* Whether a text is the path of something in the renamed group. */
static bool leads_through(const char *text, const oz_renaming *renaming) {
    size_t len = renaming->path ? strlen(renaming->path) : 0;
    return len && text[0] == '/' && strncmp(text + 1, renaming->path, len) == 0 && text[len + 1] == '/';
}

/* Adds the path of a type in the renamed group. */
static void write_path(text *t, const char *old, const oz_renaming *renaming) {
    text path = {0};
    text_put(&path, "/");
    text_put(&path, renaming->new_path);
    text_put(&path, old + 1 + strlen(renaming->path));
    if (path.failed) t->failed = true;
    else text_quote(t, path.bytes, path.len);
    free(path.bytes);
}

/* The name of a node that an object or a list has: NULL of an item that is no name. */
static const char *node_name(const json *nodes, const json *item) {
    if (nodes->kind == JSON_OBJECT) return item->name;
    return item->kind == JSON_STRING ? item->text : NULL;
}

static bool has_node(const json *nodes, const char *name) {
    bool found = false;
    for (const json *item = nodes->first; item; item = item->next) found = found || (node_name(nodes, item) && strcmp(node_name(nodes, item), name) == 0);
    return found;
}

static void copy_renamed(text *t, const oz_stored *record, const json *value, const char *nodes, const oz_renaming *renaming);

/* Copies an object or a list of nodes with the new name: instead of the old one, or beside it. What the record says by the new name of a node that is
 * not there is replaced; where both are said already, the new one is right. */
static void copy_nodes(text *t, const oz_stored *record, const json *nodes, const oz_renaming *renaming) {
    bool object = nodes->kind == JSON_OBJECT, has_old = has_node(nodes, renaming->name), has_new = has_old && has_node(nodes, renaming->new_name);
    text_put(t, object ? "{" : "[");
    for (const json *item = nodes->first; item; item = item->next) {
        const char *name = node_name(nodes, item);
        bool is_old = name && strcmp(name, renaming->name) == 0, is_new = name && strcmp(name, renaming->new_name) == 0;
        if (!name || (has_new && (renaming->both ? is_new : is_old))) continue;
        for (int copies = is_old && renaming->both ? 2 : 1; copies > 0; copies--) {
            const char *written = is_old && copies == 1 ? renaming->new_name : name;
            if (object) text_member(t, written), copy_renamed(t, record, item, NULL, renaming);
            else text_comma(t), text_quote(t, written, strlen(written));
        }
    }
    text_put(t, object ? "}" : "]");
}

/* Copies a value of the record with the new name: in its member `nodes` (NULL: it has none), and in the paths of types. */
static void copy_renamed(text *t, const oz_stored *record, const json *value, const char *nodes, const oz_renaming *renaming) {
    bool object = value->kind == JSON_OBJECT;
    if (value->kind == JSON_STRING && leads_through(value->text, renaming)) return write_path(t, value->text, renaming);
    if (!object && value->kind != JSON_ARRAY) return text_add(t, record->source + value->from, value->to - value->from);
    text_put(t, object ? "{" : "[");
    for (const json *item = value->first; item; item = item->next) {
        bool is_nodes = object && nodes && strcmp(item->name, nodes) == 0 && (item->kind == JSON_OBJECT || item->kind == JSON_ARRAY);
        if (object) text_member(t, item->name);
        else text_comma(t);
        if (is_nodes) copy_nodes(t, record, item, renaming);
        else copy_renamed(t, record, item, NULL, renaming);
    }
    text_put(t, object ? "}" : "]");
}

int oz_record_restore(const oz_group *group, const char *former) {
    text record = {0};
    oz_stored stored = {0};
    text_put(&record, former);
    oz_lock(group->file);
    (void)oz_lock_group(group);
    int status = store_record(group, ozarr_group_node(group->handle), &stored, NULL, &record, NULL);
    oz_unlock_groups(group->file);
    oz_unlock(group->file);
    free(record.bytes);
    return status;
}

int oz_record_rename(const oz_group *group, const oz_renaming *renaming, char **former) {
    const char *nodes = group != renaming->group ? NULL : renaming->path ? "groups" : "variables";
    text renamed = {0};
    oz_stored stored = {0}, record = {0};
    fresh f = {0};
    oz_lock(group->file);
    (void)oz_lock_group(group);
    int status = read_stored(group, NULL, &stored, &record, &f);
    if (!status && oz_file_alone(group->file)) status = oz_stored_read(ozarr_group_node(group->handle), &record);
    if (!status && record.object) {
        copy_renamed(&renamed, &record, record.object, nodes, renaming);
        status = store_record(group, f.node, &stored, NULL, &renamed, NULL);
        if (former) *former = record.source, record.source = NULL;
    }
    oz_unlock_groups(group->file);
    oz_unlock(group->file);
    fresh_free(&f);
    oz_stored_free(&stored);
    oz_stored_free(&record);
    free(renamed.bytes);
    return status;
}

int oz_var_store_atts(oz_var *var, ozarr_array *array) {
    text attributes = {0};
    oz_stored stored = {0};
    fresh f = {.array = array};
    int32_t format = 3;
    int status = oz_var_handle(var);
    if (!status) status = read_stored(var->group, var, &stored, NULL, &f);
    if (!status) {
        oz_var_forget_document(var);
        status = oz_error(ozarr_node_zarr_format(f.node, &format));
        oz_atts_write(&attributes, var->group->file, &var->atts, var, format, &stored);
    }
    if (!status) status = attributes.failed ? NC_ENOMEM : store_atts(f.node, &stored, &var->atts, attributes.bytes, NULL, false);
    fresh_free(&f);
    oz_stored_free(&stored);
    free(attributes.bytes);
    if (!status) var->dirty = false;
    return status;
}
