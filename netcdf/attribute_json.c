/* Attributes as JSON and back, with the types that JSON does not say. */
#include "attribute_json.h"
#include "numbers.h"
#include "types.h"
#include "user_types.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int oz_node_text(const ozarr_node *node, const char *name, char **text) {
    size_t cap = 2048, len = 0;
    ozarr_status status = OZARR_ERR_BUFFER_SIZE;
    *text = NULL;
    for (int tries = 0; tries < 3 && status == OZARR_ERR_BUFFER_SIZE; tries++, cap = len + 1) {
        free(*text);
        *text = malloc(cap);
        if (!*text) return NC_ENOMEM;
        status = name ? ozarr_attr_get_json(node, name, *text, cap, &len) : ozarr_attrs_get(node, *text, cap, &len);
    }
    if (!status) return NC_NOERR;
    free(*text);
    *text = NULL;
    return name && status == OZARR_ERR_NOT_FOUND ? NC_NOERR : oz_error(status);
}

int oz_json_read(const char *source, json **value) {
    *value = source ? json_read(source) : NULL;
    return source && !*value && errno == ENOMEM ? NC_ENOMEM : NC_NOERR;
}

int oz_record_read(json **value) {
    if (!*value || (*value)->kind != JSON_STRING) return NC_NOERR;
    json *record = json_read((*value)->text);
    int status = !record && errno == ENOMEM ? NC_ENOMEM : NC_NOERR;
    json_free(*value);
    *value = record;
    return status;
}

static bool from_base64(const char *text, unsigned char *bytes, size_t size) {
    size_t n = 0;
    unsigned bits = 0;
    int have = 0;
    for (; *text && *text != '='; text++) {
        const char *place = strchr(TEXT_BASE64, *text);
        if (!place) return false;
        bits = bits << 6 | (unsigned)(place - TEXT_BASE64);
        have += 6;
        if (have < 8) continue;
        have -= 8;
        if (n == size) return false;
        bytes[n++] = (unsigned char)(bits >> have);
    }
    return n == size;
}

/* Whether xarray has the fill value of format 3 as base64: of real numbers, as a double, and of characters. */
static bool encoded_fill(const oz_att *att, const oz_var *var) {
    return var && strcmp(att->name, OZ_FILL_VALUE) == 0 && (att->type == NC_FLOAT || att->type == NC_DOUBLE || att->type == NC_CHAR);
}

const char *oz_att_name(const char *stored) { return strcmp(stored, OZ_TEXT_FILL) == 0 ? OZ_FILL_VALUE : stored; }

static bool is_number(const json *value) { return value->kind == JSON_INTEGER || value->kind == JSON_NUMBER; }

/* The type of an attribute of which none is recorded. */
static nc_type guessed_type(const json *value) {
    nc_type type = NC_NAT;
    if (value->kind == JSON_BOOL) return NC_BYTE;
    if (value->kind == JSON_INTEGER) {
        errno = 0;
        strtoll(value->text, NULL, 10);
        if (!errno) return NC_INT64;
        errno = 0;
        strtoull(value->text, NULL, 10);
        return errno || value->text[0] == '-' ? NC_DOUBLE : NC_UINT64;
    }
    if (value->kind == JSON_NUMBER) return NC_DOUBLE;
    if (value->kind != JSON_ARRAY) return NC_CHAR;
    for (const json *item = value->first; item; item = item->next) {
        nc_type one = item->kind == JSON_STRING ? NC_STRING : is_number(item) || item->kind == JSON_BOOL ? guessed_type(item) : NC_CHAR;
        bool apart = one == NC_STRING || one == NC_BYTE || type == NC_STRING || type == NC_BYTE;
        if (one == NC_CHAR || (type != NC_NAT && one != type && apart)) return NC_CHAR;
        if (type == NC_NAT || one == NC_DOUBLE || (one == NC_UINT64 && type == NC_INT64)) type = one;
    }
    return type == NC_NAT ? NC_INT64 : type;
}

static void read_number(const json *item, nc_type type, void *value) {
    if (item->kind == JSON_BOOL) {
        long long number = item->text[0] == 't';
        oz_convert(&number, NC_INT64, value, type, 1);
    } else if (type == NC_FLOAT) {
        float number = number_read_float(item->text);
        memcpy(value, &number, sizeof number);
    } else if (type == NC_UINT64 && item->kind == JSON_INTEGER) {
        unsigned long long number = strtoull(item->text, NULL, 10);
        memcpy(value, &number, sizeof number);
    } else if (item->kind == JSON_INTEGER && type != NC_DOUBLE) {
        long long number = strtoll(item->text, NULL, 10);
        oz_convert(&number, NC_INT64, value, type, 1);
    } else {
        double number = number_read(item->text);
        oz_convert(&number, NC_DOUBLE, value, type, 1);
    }
}

/* Whether a type has a number: integers exactly, real ones rounded. */
static bool holds(const json *item, nc_type type) {
    long long value; /* has room for each type */
    double real = number_read(item->text), back;
    if (type == NC_DOUBLE) return true;
    if (type == NC_FLOAT) return !isfinite(real) || isfinite(number_read_float(item->text));
    if (item->kind == JSON_NUMBER) {
        if (oz_convert(&real, NC_DOUBLE, &value, type, 1)) return false;
        oz_convert(&value, type, &back, NC_DOUBLE, 1);
        return back == real;
    }
    errno = 0;
    long long low = strtoll(item->text, NULL, 10);
    if (!errno || item->text[0] == '-') return !errno && !oz_convert(&low, NC_INT64, &value, type, 1);
    errno = 0;
    strtoull(item->text, NULL, 10);
    return !errno && type == NC_UINT64;
}

/* Whether a JSON value can be of the type, so that a wrong record does no harm. Numbers wrap in the fill value of a variable, which has its type: of unsigned
 * bytes others have the number that is meant. */
static bool fits(const json *value, nc_type type, bool wraps) {
    if (type == NC_CHAR) return true;
    const json *items = value->kind == JSON_ARRAY ? value->first : value;
    for (const json *item = items; item; item = value->kind == JSON_ARRAY ? item->next : NULL) {
        bool string = item->kind == JSON_STRING || item->kind == JSON_NULL;
        if (type == NC_STRING ? !string : !is_number(item) && item->kind != JSON_BOOL) return false;
        if (is_number(item) && !wraps && !holds(item, type)) return false;
    }
    return true;
}

/* The most NULs at the end of a text that are recorded as their number; a record that says more is wrong. */
#define MOST_NULS 65536

/* The length of a text without the NULs at its end. */
static size_t length_without_nuls(const char *text, size_t len) {
    while (len && !text[len - 1]) len--;
    return len;
}

static bool is_bytes(const json *value) {
    if (value->kind != JSON_ARRAY || !value->count) return false;
    for (const json *item = value->first; item; item = item->next) {
        if (item->kind != JSON_INTEGER) return false;
    }
    return true;
}

/* Text with as many NULs at its end as are recorded, if any are; of other JSON its own text, as NCZarr has it. Bytes that are no UTF-8 are stored
 * as a list of numbers. */
static int read_chars(oz_att *att, const json *value, size_t nuls) {
    att->type = NC_CHAR;
    if (is_bytes(value)) {
        att->values = malloc(value->count);
        if (!att->values) return NC_ENOMEM;
        for (const json *item = value->first; item; item = item->next) ((char *)att->values)[att->len++] = (char)strtol(item->text, NULL, 10);
        return NC_NOERR;
    }
    const char *bytes = value->kind == JSON_STRING ? value->text : att->json;
    size_t len = value->kind == JSON_STRING ? value->len : strlen(bytes);
    if (nuls) len = length_without_nuls(bytes, len);
    att->len = len + nuls;
    att->values = calloc(att->len + 1, 1);
    if (!att->values) return NC_ENOMEM;
    memcpy(att->values, bytes, len);
    return NC_NOERR;
}

static int read_fill(oz_att *att, const json *value) {
    unsigned char bytes[8];
    size_t size = att->type == NC_CHAR ? 1 : 8;
    att->values = malloc(8);
    if (!att->values) return NC_ENOMEM;
    att->len = 1;
    if (from_base64(value->text, bytes, size)) {
        double number;
        memcpy(&number, bytes, sizeof number);
        if (size == 1) memcpy(att->values, bytes, 1);
        else oz_convert(&number, NC_DOUBLE, att->values, att->type, 1);
    } else if (att->type == NC_CHAR) {
        *(char *)att->values = value->text[0];
    } else {
        double number = number_read(value->text);
        oz_convert(&number, NC_DOUBLE, att->values, att->type, 1);
    }
    return NC_NOERR;
}

static int read_values(oz_att *att, const json *value) {
    size_t count = value->kind == JSON_ARRAY ? value->count : 1, size = oz_type_size(att->type);
    const json *item = value->kind == JSON_ARRAY ? value->first : value;
    att->values = calloc(count + 1, size);
    if (!att->values) return NC_ENOMEM;
    for (size_t i = 0; i < count; i++, item = item->next) {
        char *place = (char *)att->values + i * size;
        if (att->type != NC_STRING) read_number(item, att->type, place);
        else if (item->kind == JSON_STRING && !(*(char **)(void *)place = strdup(item->text))) return NC_ENOMEM;
        att->len++;
    }
    return NC_NOERR;
}

/* Values of a type that a program defined. One is a list of one where its own form is a list. */
static int read_user_values(const oz_group *group, oz_att *att, const json *value) {
    bool list = value->kind == JSON_ARRAY;
    const json *item = list ? value->first : value;
    size_t count = list ? value->count : 1;
    att->values = calloc(count + 1, att->info->size);
    if (!att->values) return NC_ENOMEM;
    for (; att->len < count; att->len++, item = list ? item->next : NULL) {
        int status = oz_user_value_read(group->file, att->info, item, (char *)att->values + att->len * att->info->size);
        if (status) return status;
    }
    return NC_NOERR;
}

/* The NULs that the record has of an attribute's text. */
static size_t recorded_nuls(const json *recorded) {
    if (!recorded || recorded->kind != JSON_INTEGER) return 0;
    long long nuls = strtoll(recorded->text, NULL, 10);
    return nuls > 0 && nuls <= MOST_NULS ? (size_t)nuls : 0;
}

static int read_one(const oz_group *group, oz_list *atts, const json *value, const char *source, const json *types, const oz_var *var) {
    const char *name = var ? oz_att_name(value->name) : value->name;
    oz_att *att = oz_att_new(atts, name);
    if (!att) return NC_ENOMEM;
    att->json = strndup(source + value->from, value->to - value->from);
    if (!att->json) return NC_ENOMEM;
    const json *recorded = json_member(types, name);
    const oz_type *user = oz_type_recorded(group, recorded);
    if (user && user->kind) {
        att->type = user->id;
        att->info = user;
        return read_user_values(group, att, value);
    }
    nc_type type = recorded && recorded->kind == JSON_STRING ? oz_type_by_name(recorded->text) : NC_NAT;
    bool fill = var && !var->info->kind && strcmp(name, OZ_FILL_VALUE) == 0;
    if (fill) {
        att->type = var->type;
        if (value->kind == JSON_STRING && var->form != OZ_STRINGS) return read_fill(att, value);
        type = var->type;
    }
    if (type == NC_NAT || !fits(value, type, fill)) type = guessed_type(value);
    if (type == NC_CHAR) return read_chars(att, value, recorded_nuls(recorded));
    att->type = type;
    return read_values(att, value);
}

int oz_atts_read(const oz_group *group, oz_list *atts, const json *object, const char *source, const json *types, const oz_var *var) {
    for (const json *value = object ? object->first : NULL; value; value = value->next) {
        /* By a part of its name, which is all that a program has room for, it would not be found. What changes others leaves it in the store. */
        if (strlen(value->name) > NC_MAX_NAME) {
            oz_log("the attribute %.60s… is left out: its name has %zu bytes, netCDF has room for %d", value->name, strlen(value->name), NC_MAX_NAME);
            continue;
        }
        /* What another program has stored as `_FillValue` counts. */
        if (var && oz_att_name(value->name) != value->name && json_member(object, OZ_FILL_VALUE)) continue;
        int status = read_one(group, atts, value, source, types, var);
        if (status) return status;
        oz_att *att = atts->items[atts->count - 1];
        if (!att->info) att->info = oz_type_atomic(att->type);
    }
    return NC_NOERR;
}

/* The shortest text that reads back as the same number: as a double, which readers of JSON take it for, so that packed numbers are theirs. */
static void write_real(text *t, double value) {
    char out[40];
    if (isnan(value)) return text_put(t, "NaN");
    if (isinf(value)) return text_put(t, value < 0 ? "-Infinity" : "Infinity");
    for (int digits = 15; digits <= 17; digits++) {
        number_write(out, sizeof out, digits, value);
        if (number_read(out) == value) break;
    }
    text_put(t, out);
}

static void write_value(text *t, nc_type type, const void *value) {
    char out[32];
    if (type == NC_STRING) {
        const char *string = *(char *const *)value;
        return string ? text_quote(t, string, strlen(string)) : text_put(t, "null");
    }
    if (type == NC_FLOAT) return write_real(t, *(const float *)value);
    if (type == NC_DOUBLE) return write_real(t, *(const double *)value);
    if (type == NC_UINT64) {
        snprintf(out, sizeof out, "%llu", *(const unsigned long long *)value);
    } else {
        long long number = 0;
        oz_convert(value, type, &number, NC_INT64, 1);
        snprintf(out, sizeof out, "%lld", number);
    }
    text_put(t, out);
}

static bool is_fill(const oz_att *att, const oz_var *var) { return var && strcmp(att->name, OZ_FILL_VALUE) == 0; }

/* How many NULs at the end of a text are recorded instead of stored: programs in C write them, readers of netCDF take them off, and those of Zarr do
 * not, so that xarray would know no calendar. The number is kept because programs ask for the length again. */
static size_t nuls_apart(const oz_att *att, const oz_var *var) {
    if (att->type != NC_CHAR || is_fill(att, var) || !utf8(att->values, att->len)) return 0;
    size_t nuls = att->len - length_without_nuls(att->values, att->len);
    return nuls <= MOST_NULS ? nuls : 0;
}

static void write_att(text *t, const oz_file *file, const oz_att *att, const oz_var *var, int format) {
    if (att->json) return text_put(t, att->json);
    if (att->info->kind) {
        bool list = att->len != 1 || att->info->kind == NC_VLEN;
        if (list) text_put(t, "[");
        for (size_t i = 0; i < att->len; i++) {
            if (list) text_comma(t);
            oz_user_value_write(t, file, att->info, (const char *)att->values + i * att->info->size);
        }
        return text_put(t, list ? "]" : "");
    }
    if (format == 3 && encoded_fill(att, var) && att->len) {
        double number;
        if (att->type == NC_CHAR) return text_base64(t, att->values, 1);
        oz_convert(att->values, att->type, &number, NC_DOUBLE, 1);
        return text_base64(t, (const unsigned char *)&number, sizeof number);
    }
    if (att->type == NC_CHAR && utf8(att->values, att->len)) return text_quote(t, att->values, att->len - nuls_apart(att, var));
    nc_type type = att->type == NC_CHAR ? NC_UBYTE : att->type;
    size_t size = oz_type_size(type);
    bool list = att->type == NC_CHAR || att->len != 1;
    if (list) text_put(t, "[");
    for (size_t i = 0; i < att->len; i++) {
        if (list) text_comma(t);
        write_value(t, type, (const char *)att->values + i * size);
    }
    if (list) text_put(t, "]");
}

bool oz_fill_is_recorded(const oz_att *att, const oz_var *var) {
    return is_fill(att, var) && (var->form == OZ_RECORDS || var->form == OZ_LISTS) && att->type == var->type && att->len == 1;
}

/* Whether our record says it, with the array's own fill value: where xarray reads no such attribute. Of numbers in format 2 NCZarr reads the attribute. */
static bool in_record(const oz_att *att, const oz_var *var, int format) {
    if (oz_fill_is_recorded(att, var)) return true;
    if (!is_fill(att, var) || var->fill_apart) return false;
    return (format == 2 && var->info->kind) || var->form == OZ_CHARS || var->form == OZ_STRINGS;
}

/* Whether the attribute is a fill value of format 2 that JSON has no number for: readers that are strict would refuse all attributes for it. One that
 * the array does not say, too, is there alone, as other attributes of such numbers are. */
static bool is_no_json(const oz_att *att, const oz_var *var, int format) {
    if (format != 2 || !is_fill(att, var) || var->fill_apart || !att->len || (att->type != NC_FLOAT && att->type != NC_DOUBLE)) return false;
    double number;
    oz_convert(att->values, att->type, &number, NC_DOUBLE, 1);
    return !isfinite(number);
}

void oz_stored_copy(text *t, const oz_stored *stored, const json *member) {
    text_member(t, member->name);
    text_add(t, stored->source + member->from, member->to - member->from);
}

/* Adds the attributes of the store that this process does not know: others have set them since. */
static void write_others(text *t, const oz_stored *stored, const oz_list *atts, const oz_var *var) {
    /* Those of an enumeration are ours, too, where the program has set one of them since. */
    bool flags = var && var->info->kind == NC_ENUM;
    for (const json *member = stored->object->first; member; member = member->next) {
        const char *name = var ? oz_att_name(member->name) : member->name;
        bool ours = oz_list_index(atts, name) >= 0 || oz_list_index(stored->gone, name) >= 0 || strcmp(name, OZ_RECORD) == 0;
        ours = ours || (flags && (strcmp(member->name, "flag_values") == 0 || strcmp(member->name, "flag_meanings") == 0));
        if (!ours) oz_stored_copy(t, stored, member);
    }
}

/* The name by which an attribute is stored. */
static const char *stored_name(const oz_att *att, const oz_var *var, int format) {
    return format == 3 && is_fill(att, var) && (var->form == OZ_CHARS || var->form == OZ_STRINGS) ? OZ_TEXT_FILL : att->name;
}

/* What the store has of an attribute by now. */
static const json *find_stored(const oz_stored *stored, const oz_att *att) {
    const json *found = json_member(stored->object, att->name);
    return !found && strcmp(att->name, OZ_FILL_VALUE) == 0 ? json_member(stored->object, OZ_TEXT_FILL) : found;
}

void oz_atts_write(text *t, const oz_file *file, const oz_list *atts, const oz_var *var, int format, const oz_stored *stored) {
    bool flags = var && oz_has_flags(var), known = stored && stored->object;
    text_put(t, "{");
    for (int i = 0; i < atts->count; i++) {
        const oz_att *att = atts->items[i];
        bool ours = !known || att->changed;
        const json *kept = ours ? NULL : find_stored(stored, att);
        /* Another open file may have set it since: then it is the array's. */
        if (in_record(att, var, format) && (!kept || oz_fill_is_recorded(att, var))) continue;
        if (kept) oz_stored_copy(t, stored, kept);
        if (ours && !is_no_json(att, var, format)) text_member(t, stored_name(att, var, format)), write_att(t, file, att, var, format);
    }
    if (known) write_others(t, stored, atts, var);
    if (flags) oz_flags_write(t, var);
    text_put(t, "}");
}

void oz_atts_stored(const oz_list *atts, oz_list *gone) {
    for (int i = 0; i < atts->count; i++) ((oz_att *)atts->items[i])->changed = false;
    oz_names_free(gone);
}

static bool type_is_plain(const oz_att *att, const oz_var *var) {
    if (att->info->kind) return false;
    if (is_fill(att, var)) return true;
    if (att->type == NC_CHAR) return !nuls_apart(att, var) && utf8(att->values, att->len);
    for (size_t i = 0; att->type == NC_STRING && i < att->len; i++)
        if (!((char **)att->values)[i]) return false;
    if (att->type == NC_STRING) return att->len > 1;
    if (att->type == NC_INT64) return true;
    return att->type == NC_DOUBLE && att->len;
}

/* A type by its name; of text with NULs at its end their number, which says both. */
static void write_type(text *t, const oz_att *att, size_t nuls) {
    char number[32];
    if (!nuls) return oz_type_reference(t, att->info);
    snprintf(number, sizeof number, "%zu", nuls);
    text_put(t, number);
}

/* Begins the object of types with the first one. */
static void begin_types(text *t, const char *member, bool *any) {
    if (!*any) text_member(t, member), text_put(t, "{");
    *any = true;
}

void oz_types_write(text *t, const char *member, const oz_list *atts, const oz_var *var, const oz_stored *stored) {
    const json *theirs = stored ? stored->object : NULL;
    bool any = false;
    for (int i = 0; i < atts->count; i++) {
        const oz_att *att = atts->items[i];
        const json *kept = theirs && !att->changed && !att->info->kind ? json_member(theirs, att->name) : NULL;
        if (kept || type_is_plain(att, var)) continue;
        begin_types(t, member, &any);
        text_member(t, att->name);
        write_type(t, att, nuls_apart(att, var));
    }
    for (const json *one = theirs && theirs->kind == JSON_OBJECT ? theirs->first : NULL; one; one = one->next) {
        int place = oz_list_index(atts, one->name);
        const oz_att *att = place < 0 ? NULL : atts->items[place];
        if (att ? att->changed || att->info->kind : oz_list_index(stored->gone, one->name) >= 0) continue;
        begin_types(t, member, &any);
        oz_stored_copy(t, stored, one);
    }
    if (any) text_put(t, "}");
}
