/* The documents of arrays of records, in the spelling that other programs read. */
#include "hierarchy.h"
#include "user_types.h"

#include <ozarr_advanced.h>
#include <stdlib.h>
#include <string.h>

static void spell_bytes(text *t, const char *name, size_t size) {
    text_put(t, "{\"name\":\"");
    text_put(t, name);
    text_number(t, "\",\"configuration\":{\"length_bytes\":%lld}}", (long long)size);
}

static void spell_type(text *t, const oz_type *type);

static void spell_value(text *t, const oz_type *type) {
    static const char *const names[] = {"int8", NULL, "int16", "int32", "float32", "float64", "uint8", "uint16", "uint32", "int64", "uint64"};
    if (type->kind == NC_COMPOUND || type->kind == NC_OPAQUE) spell_type(t, type);
    else if (type->base == NC_CHAR) spell_bytes(t, "null_terminated_bytes", 1);
    else text_quote(t, names[type->base - NC_BYTE], strlen(names[type->base - NC_BYTE]));
}

/* A field with a shape: as its dtype is made. */
static void spell_shaped(text *t, const oz_field *field) {
    if (field->count > OZ_MOST_SHAPED) return spell_bytes(t, "raw_bytes", field->count * field->type->size);
    text_put(t, "{\"name\":\"structured\",\"configuration\":{\"fields\":[");
    for (size_t i = 0; i < field->count; i++) {
        text_comma(t);
        text_number(t, "[\"%lld\",", (long long)i);
        spell_value(t, field->type);
        text_put(t, "]");
    }
    text_put(t, "]}}");
}

static void spell_type(text *t, const oz_type *type) {
    if (type->kind == NC_OPAQUE) return spell_bytes(t, "raw_bytes", type->size);
    text_put(t, "{\"name\":\"structured\",\"configuration\":{\"fields\":[");
    for (int i = 0; i < type->fields.count; i++) {
        const oz_field *field = type->fields.items[i];
        text_comma(t);
        text_put(t, "[");
        text_quote(t, field->name, strlen(field->name));
        text_put(t, ",");
        if (field->rank) spell_shaped(t, field);
        else spell_value(t, field->type);
        text_put(t, "]");
    }
    text_put(t, "]}}");
}

int oz_var_respell(const oz_var *var, char **document) {
    size_t size = 0;
    ozarr_array *array = NULL;
    text t = {0};
    int status = oz_var_import(var, *document, 3, NULL, &array);
    if (!status) status = oz_error(ozarr_array_item_size(array, &size));
    unsigned char *fill = calloc(1, size + 1);
    if (!status) status = fill ? oz_error(ozarr_array_fill_value(array, fill, size, NULL)) : NC_ENOMEM;
    ozarr_array_free(array);
    json *tree = json_read(*document), *type = json_member(tree, "data_type"), *value = json_member(tree, "fill_value");
    if (!status && !tree && errno == ENOMEM) status = NC_ENOMEM;
    if (!status && (!type || !value || type->to > value->from)) status = NC_EINTERNAL;
    if (!status) {
        text_add(&t, *document, type->from);
        spell_type(&t, var->info);
        text_add(&t, *document + type->to, value->from - type->to);
        text_base64(&t, fill, size);
        text_put(&t, *document + value->to);
        status = t.failed ? NC_ENOMEM : NC_NOERR;
    }
    json_free(tree);
    free(fill);
    if (status) return free(t.bytes), status;
    free(*document);
    *document = t.bytes;
    return NC_NOERR;
}
