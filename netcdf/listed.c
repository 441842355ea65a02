/* A file that is read by the consolidated metadata of its root alone: one text, of one time. Arrays are opened by their first access. */
#include "listed.h"
#include "attribute_json.h"
#include "numbers.h"
#include "types.h"

#include <ozarr_advanced.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The members of a node's document that are read here. */
enum { DATA_TYPE, SHAPE, NAMES, ATTRIBUTES, FILL, MEMBERS };
static const char *const MEMBER[MEMBERS] = {"data_type", "shape", "dimension_names", "attributes", "fill_value"};

/* A node by its path, where its document is in the text, and where the values of these members are; 0 of those that it lacks. */
typedef struct entry {
    char *path;
    bool array, group;
    size_t from, to, members[MEMBERS];
} entry;

struct oz_listed {
    char *text;
    /* The root is the first one; the others are in the order of their paths. */
    entry *entries;
    size_t count, room;
};

static int by_path(const void *a, const void *b) { return strcmp(((const entry *)a)->path, ((const entry *)b)->path); }

void oz_listed_free(oz_listed *listed) {
    if (!listed) return;
    for (size_t i = 0; i < listed->count; i++) free(listed->entries[i].path);
    free(listed->entries);
    free(listed->text);
    free(listed);
}

/* Most are shorter than the room that is asked for first, and read by one request. */
int oz_document_text(const ozarr_store *store, const char *key, char **text) {
    size_t room = 16 << 20, len = 0;
    ozarr_status status = OZARR_ERR_BUFFER_SIZE;
    *text = NULL;
    for (int tries = 0; tries < 2 && status == OZARR_ERR_BUFFER_SIZE; tries++, room = len) {
        free(*text);
        *text = malloc(room + 1);
        if (!*text) return NC_ENOMEM;
        status = ozarr_store_key_get(store, key, *text, room, &len);
    }
    char *shorter = status ? NULL : realloc(*text, len + 1);
    if (shorter) *text = shorter;
    if (!status) (*text)[len] = 0;
    if (!status && strlen(*text) == len) return NC_NOERR;
    free(*text);
    *text = NULL;
    return status == OZARR_ERR_NOT_FOUND ? NC_NOERR : oz_error(status);
}

static entry *add_entry(oz_listed *listed, char *path, size_t from) {
    if (listed->count == listed->room) {
        size_t room = listed->room ? 2 * listed->room : 64;
        entry *larger = path ? realloc(listed->entries, room * sizeof *larger) : NULL;
        if (!larger) return free(path), NULL;
        listed->entries = larger;
        listed->room = room;
    }
    if (!path) return NULL;
    entry *added = &listed->entries[listed->count++];
    *added = (entry){.path = path, .from = from};
    return added;
}

static bool named(const char *text, const json_name *name, const char *wanted) {
    return name->len == strlen(wanted) && !memcmp(text + name->from, wanted, name->len);
}

/* Whether the attributes of a group are all for programs, but for our record: what netCDF-C records is left to the library. */
static bool plain(const char *text, size_t at) {
    for (json_name name; json_next_member(text, &at, &name);) {
        if (strncasecmp(text + name.from, "_nczarr", 7) == 0 || named(text, &name, "_NCProperties")) return false;
        if (!json_skip(text, &at)) return false;
    }
    return true;
}

/* Passes the brace at the end of an object. */
static bool leave(const char *text, size_t *at) {
    *at += strspn(text + *at, " \t\r\n");
    return text[*at] == '}' && ++*at;
}

/* Notes where the value of a member is that is read later, and passes it. */
static bool read_member_place(const char *text, const json_name *name, entry *e, size_t *at) {
    for (int m = 0; m < MEMBERS; m++)
        if (named(text, name, MEMBER[m])) e->members[m] = *at;
    if (named(text, name, "node_type")) {
        e->array = !strncmp(text + *at, "\"array\"", 7);
        e->group = !strncmp(text + *at, "\"group\"", 7);
    }
    return json_skip(text, at);
}

static bool understood(const char *text, const entry *e) {
    size_t at = e->members[ATTRIBUTES];
    if (at && text[at] != '{' && strncmp(text + at, "null", 4) != 0) return false;
    return e->array || (e->group && (!at || plain(text, at)));
}

/* Whether a path is that of a node below the root: a group without a name would be in itself, and by a backslash the library divides paths, so that it
 * finds no chunks of such an array. */
static bool is_below(const char *path) {
    size_t len = strlen(path);
    return len && path[0] != '/' && path[len - 1] != '/' && !strstr(path, "//") && !strchr(path, '\\');
}

/* Reads the documents of all nodes below the root. */
static bool read_entries(oz_listed *listed, size_t *at) {
    const char *text = listed->text;
    for (json_name name, member; json_next_member(text, at, &name);) {
        entry *e = add_entry(listed, json_read_name(text, &name), *at);
        if (!e || !is_below(e->path)) return false;
        while (json_next_member(text, at, &member))
            if (!read_member_place(text, &member, e, at)) return false;
        if (!leave(text, at) || !understood(text, e)) return false;
        e->to = *at;
    }
    return leave(text, at);
}

/* Reads consolidated metadata, if they are of the kind that all programs know. */
static bool read_consolidated(oz_listed *listed, size_t *at) {
    const char *text = listed->text;
    bool is_inline = false, read = false;
    for (json_name name; json_next_member(text, at, &name);) {
        if (named(text, &name, "kind")) is_inline = !strncmp(text + *at, "\"inline\"", 8);
        if (named(text, &name, "metadata")) read = true;
        if (named(text, &name, "metadata") ? !read_entries(listed, at) : !json_skip(text, at)) return false;
    }
    return leave(text, at) && is_inline && read;
}

static const entry *find(const oz_listed *listed, const char *path) {
    entry wanted = {.path = (char *)path};
    if (!*path) return listed->entries;
    return bsearch(&wanted, listed->entries + 1, listed->count - 1, sizeof wanted, by_path);
}

/* Whether each node is listed once, in a group that is listed, too. */
static bool complete(const oz_listed *listed) {
    for (size_t i = 1; i < listed->count; i++) {
        const char *path = listed->entries[i].path, *end = strrchr(path, '/');
        if (i > 1 && strcmp(path, listed->entries[i - 1].path) == 0) return false;
        if (!end) continue;
        char *above = strndup(path, (size_t)(end - path));
        const entry *found = above ? find(listed, above) : NULL;
        free(above);
        if (!found || !found->group) return false;
    }
    return true;
}

/* Reads the root's document once, from its beginning to its end. */
static bool read_all(oz_listed *listed, const oz_file *file) {
    bool read = false;
    if (oz_document_text(file->store, "zarr.json", &listed->text) || !listed->text) return false;
    const char *text = listed->text;
    size_t at = strspn(text, " \t\r\n");
    if (!add_entry(listed, strdup(""), at)) return false;
    for (json_name name; json_next_member(text, &at, &name);) {
        bool below = named(text, &name, "consolidated_metadata");
        if (below ? read || !read_consolidated(listed, &at) : !read_member_place(text, &name, listed->entries, &at)) return false;
        read = read || below;
    }
    listed->entries->to = at;
    if (!read || !leave(text, &at) || listed->entries->array || !understood(text, listed->entries)) return false;
    qsort(listed->entries + 1, listed->count - 1, sizeof *listed->entries, by_path);
    return complete(listed);
}

/* A file that is written is read by the documents of its arrays. */
oz_listed *oz_listed_read(const oz_file *file) {
    oz_listed *listed = file->writable ? NULL : calloc(1, sizeof *listed);
    if (listed && read_all(listed, file)) return listed;
    oz_listed_free(listed);
    return NULL;
}

static json *read_member(const oz_listed *listed, const entry *e, int member) {
    size_t at = e->members[member];
    return at ? json_read_at(listed->text, &at) : NULL;
}

int oz_document_record(const char *text, json **record) {
    *record = NULL;
    size_t at = strspn(text, " \t\r\n");
    for (json_name name; json_next_member(text, &at, &name);) {
        bool attributes = named(text, &name, "attributes");
        for (json_name one; attributes && json_next_member(text, &at, &one);) {
            if (named(text, &one, OZ_RECORD)) {
                *record = json_read_at(text, &at);
                return !*record && errno == ENOMEM ? NC_ENOMEM : oz_record_read(record);
            }
            if (!json_skip(text, &at)) return NC_NOERR;
        }
        if (attributes || !json_skip(text, &at)) return NC_NOERR;
    }
    return NC_NOERR;
}

/* Takes our record out of a group's attributes. */
static int take_record(oz_reading *reading) {
    for (json **place = reading->attributes ? &reading->attributes->first : NULL; place && *place; place = &(*place)->next) {
        if (strcmp((*place)->name, OZ_RECORD) != 0) continue;
        reading->record = *place;
        *place = reading->record->next;
        reading->record->next = NULL;
        return oz_record_read(&reading->record);
    }
    return NC_NOERR;
}

/* Where the nodes below a path begin: they are together, and behind the path there is a slash. */
static size_t first_below(const oz_listed *listed, const char *path) {
    size_t low = 1, high = listed->count, len = strlen(path);
    while (len && low < high) {
        size_t middle = low + (high - low) / 2;
        const char *other = listed->entries[middle].path;
        int order = strncmp(other, path, len);
        if (order < 0 || (!order && (unsigned char)other[len] < '/'))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds the names of the arrays and of the groups in the group at a path. */
static int add_names(const oz_listed *listed, const char *path, oz_list *arrays, oz_list *groups) {
    size_t len = strlen(path);
    int status = NC_NOERR;
    for (size_t i = first_below(listed, path); i < listed->count && !status; i++) {
        const entry *below = &listed->entries[i];
        const char *name = below->path + (len ? len + 1 : 0);
        if (len && (strncmp(below->path, path, len) != 0 || below->path[len] != '/')) break;
        oz_list *names = below->array ? arrays : groups;
        /* As the library lists them: what has no name for netCDF is left out. */
        if (!strchr(name, '/') && strlen(name) <= NC_MAX_NAME) status = oz_names_add(names, name);
    }
    return status;
}

int oz_listed_group(const oz_listed *listed, const oz_group *group, oz_reading *reading, oz_list *groups) {
    char *path = oz_group_path(group);
    if (!path) return NC_ENOMEM;
    const entry *e = find(listed, path);
    int status = NC_NOERR;
    reading->attributes = e ? read_member(listed, e, ATTRIBUTES) : NULL;
    reading->source = listed->text;
    if (e && e->members[ATTRIBUTES] && !reading->attributes && errno == ENOMEM) {
        status = NC_ENOMEM;
    } else if (e && e->members[ATTRIBUTES] && !reading->attributes) {
        oz_log("the attributes of the group /%s cannot be read: they are malformed, or nested too deeply", path);
        status = NC_ENOTNC;
    }
    if (!status) status = take_record(reading);
    if (!status) status = add_names(listed, path, &reading->found, groups);
    free(path);
    return status;
}

/* The type of netCDF that a number type of Zarr is, as it is; NULL of all others. */
static const oz_type *type_of(const json *name) {
    static const struct {
        const char *name;
        nc_type type;
    } types[] = {{"int8", NC_BYTE}, {"int16", NC_SHORT}, {"int32", NC_INT}, {"int64", NC_INT64}, {"uint8", NC_UBYTE}, {"uint16", NC_USHORT},
        {"uint32", NC_UINT}, {"uint64", NC_UINT64}, {"float32", NC_FLOAT}, {"float64", NC_DOUBLE}};
    for (size_t i = 0; i < sizeof types / sizeof *types && name && name->kind == JSON_STRING; i++)
        if (strcmp(types[i].name, name->text) == 0) return oz_type_atomic(types[i].type);
    return NULL;
}

/* Reads a fill value that is a plain number; false of other spellings, which the library knows. */
static bool read_number(const json *fill, nc_type type, void *value) {
    bool real = type == NC_FLOAT || type == NC_DOUBLE;
    if (!fill) return false;
    if (real && (fill->kind == JSON_INTEGER || fill->kind == JSON_NUMBER || (fill->kind == JSON_STRING && strcmp(fill->text, "NaN") == 0))) {
        double number = number_read(fill->text);
        return !oz_convert(&number, NC_DOUBLE, value, type, 1);
    }
    if (real || fill->kind != JSON_INTEGER) return false;
    errno = 0;
    bool below = fill->text[0] == '-';
    long long number = below ? strtoll(fill->text, NULL, 10) : 0;
    unsigned long long natural = below ? 0 : strtoull(fill->text, NULL, 10);
    return !errno && !(below ? oz_convert(&number, NC_INT64, value, type, 1) : oz_convert(&natural, NC_UINT64, value, type, 1));
}

static bool read_shape(const json *list, int64_t *shape) {
    if (!list || list->kind != JSON_ARRAY || list->count > 64) return false;
    const json *item = list->first;
    for (size_t i = 0; i < list->count; i++, item = item->next) {
        if (item->kind != JSON_INTEGER || item->text[0] == '-' || item->len > 18) return false;
        shape[i] = strtoll(item->text, NULL, 10);
    }
    return true;
}

/* Reads the names of dimensions, if there are any: NULL of those without. */
static bool read_names(const json *list, size_t rank, const char **names) {
    const json *item = list && list->kind == JSON_ARRAY ? list->first : NULL;
    if (list && list->kind != JSON_NULL && (list->kind != JSON_ARRAY || list->count != rank)) return false;
    for (size_t i = 0; i < rank; i++, item = item ? item->next : NULL)
        names[i] = item && item->kind == JSON_STRING && item->len <= NC_MAX_NAME ? item->text : NULL;
    return true;
}

/* The document of a node without attributes, which the variable has. */
static char *document_of(const oz_listed *listed, const entry *e, const json *attributes) {
    text t = {0};
    text_add(&t, listed->text + e->from, (attributes ? attributes->from : e->to) - e->from);
    if (attributes) text_put(&t, "{}"), text_add(&t, listed->text + attributes->to, e->to - attributes->to);
    if (t.failed) free(t.bytes);
    return t.failed ? NULL : t.bytes;
}

/* Makes a variable of the members of its document. */
static int make(const oz_listed *listed, const entry *e, oz_group *group, const char *name, const json *mine, json *const *members, oz_var **made) {
    int64_t shape[64];
    const char *names[64];
    union {
        double align;
        unsigned char bytes[16];
    } fill;
    const oz_type *type = type_of(members[DATA_TYPE]);
    if (!type || !read_shape(members[SHAPE], shape) || !read_number(members[FILL], type->id, fill.bytes)) return NC_NOERR;
    if (!read_names(members[NAMES], members[SHAPE]->count, names)) return NC_NOERR;
    for (const json *item = members[ATTRIBUTES] ? members[ATTRIBUTES]->first : NULL; item; item = item->next)
        if (strncasecmp(item->name, "_nczarr", 7) == 0) return NC_NOERR;
    oz_var *var = oz_var_new(group, name, oz_type_defined(group, mine, type), (int)members[SHAPE]->count);
    int status = var && (var->document = document_of(listed, e, members[ATTRIBUTES])) ? NC_NOERR : NC_ENOMEM;
    if (!status) memcpy(var->fill, fill.bytes, type->size);
    for (int d = 0; !status && d < var->rank; d++) status = oz_var_place_dim(var, mine, d, names[d], shape[d]);
    if (!status) status = oz_atts_read(group, &var->atts, members[ATTRIBUTES], listed->text, json_member(mine, "types"), var);
    *made = var;
    return status;
}

/* The entry of an array in a group. */
static int find_array(const oz_listed *listed, const oz_group *group, const char *name, const entry **found) {
    char *path = oz_node_path(group, name);
    *found = path ? find(listed, path) : NULL;
    if (*found && !(*found)->array) *found = NULL;
    const bool failed = !path;
    free(path);
    return failed ? NC_ENOMEM : NC_NOERR;
}

int oz_listed_var(const oz_listed *listed, oz_group *group, const char *name, const json *mine, oz_var **var) {
    const entry *e;
    json *members[MEMBERS];
    *var = NULL;
    int status = find_array(listed, group, name, &e);
    if (status || !e) return status;
    bool read = true;
    for (int m = 0; m < MEMBERS; m++) {
        members[m] = read_member(listed, e, m);
        read = read && (members[m] || !e->members[m]);
    }
    if (read) status = make(listed, e, group, name, mine, members, var);
    for (int m = 0; m < MEMBERS; m++) json_free(members[m]);
    return status;
}

/* Whether an entry is of the array that a variable is: the same type and names of dimensions. */
static bool is_of(const oz_listed *listed, const entry *e, oz_var *var, const char *document) {
    static const int told[] = {DATA_TYPE, NAMES};
    ozarr_array *now = NULL;
    bool same = false;
    if (var->array) {
        if (!oz_var_import(var, document, 3, NULL, &now) && oz_var_is_like(var, now, &same)) same = false;
        return ozarr_array_free(now), same;
    }
    json *old = json_read(var->document);
    same = old != NULL;
    for (size_t i = 0; i < sizeof told / sizeof *told && same; i++) {
        const json *was = json_member(old, MEMBER[told[i]]);
        json *is = read_member(listed, e, told[i]);
        size_t len = was ? was->to - was->from : 0;
        same = was && is ? len == is->to - is->from && !memcmp(var->document + was->from, listed->text + is->from, len) : !was && !is;
        json_free(is);
    }
    json_free(old);
    return same;
}

bool oz_listed_refresh(const oz_listed *listed, oz_var *var) {
    const entry *e;
    int64_t shape[64];
    if (var->lost || find_array(listed, var->group, var->name, &e) || !e) return false;
    json *list = read_member(listed, e, SHAPE), *attributes = read_member(listed, e, ATTRIBUTES);
    bool fits = read_shape(list, shape) && list->count == (size_t)var->rank;
    char *document = fits ? document_of(listed, e, attributes) : NULL;
    json_free(list);
    json_free(attributes);
    if (!document || !is_of(listed, e, var, document)) return free(document), false;
    memcpy(var->shape, shape, (size_t)var->rank * sizeof *shape);
    oz_var_close(var);
    var->document = document;
    return true;
}

int oz_listed_open(const oz_listed *listed, const oz_group *group, const char *name, oz_opened *opened) {
    const entry *e;
    opened->array = NULL;
    int status = find_array(listed, group, name, &e);
    if (status || !e) return status ? status : NC_ENOTVAR;
    char *document = strndup(listed->text + e->from, e->to - e->from);
    oz_place place = {group->file->store, e->path};
    status = document ? oz_array_import(&place, document, 3, 0, NULL, &opened->array) : NC_ENOMEM;
    free(document);
    /* Its own document may be better than its entry. */
    if (status) status = oz_error(ozarr_array_open_at(place.store, place.path, &opened->array));
    return status ? status : oz_opened_shape(opened);
}
