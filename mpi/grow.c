/* Makes an array longer in this rank's handle alone: chunks are stored before the document says that they are part of the array.
 *
 * The handle takes its own export (JSON, in which "document" is what is stored) with another number in the document's "shape". */
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text behind a string of JSON that begins at `at`. */
static const char *behind_string(const char *at) {
    for (at++; *at != '"' && *at != 0; at++)
        if (*at == '\\' && at[1] != 0) at++;
    return *at == 0 ? at : at + 1;
}

/* The value of member `name` of the object that begins at `object`; NULL: it has none. */
static const char *member_of(const char *object, const char *name) {
    const size_t length = strlen(name);
    int depth = 0;
    for (const char *at = object; *at != 0;) {
        if (*at == '"') {
            const char *end = behind_string(at);
            if (depth == 1 && *end == ':' && (size_t)(end - at) == length + 2 && memcmp(at + 1, name, length) == 0) return end + 1;
            at = end;
            continue;
        }
        if (*at == '{' || *at == '[') depth++;
        if ((*at == '}' || *at == ']') && --depth == 0) return NULL;
        at++;
    }
    return NULL;
}

/* Writes the export with another length of dimension `dim`, to be freed. */
static ozarr_status lengthened(const char *exported, int32_t dim, int64_t length, char **out) {
    char number[32];
    const char *document = member_of(exported, "document"), *shape = document != NULL ? member_of(document, "shape") : NULL;
    if (shape == NULL || *shape != '[') return om_error(OZARR_ERR_METADATA, "an exported array has no \"shape\"");
    const char *begin = shape + 1;
    for (int32_t d = 0; d < dim; d++) begin += strcspn(begin, ",]") + 1;
    const char *end = begin + strcspn(begin, ",]");
    snprintf(number, sizeof number, "%" PRId64, length);
    const size_t front = (size_t)(begin - exported), size = front + strlen(number) + strlen(end) + 1;
    *out = malloc(size);
    if (*out == NULL) return om_error(OZARR_ERR_NO_MEMORY, "%zu bytes of metadata", size);
    snprintf(*out, size, "%.*s%s%s", (int)front, exported, number, end);
    return OZARR_OK;
}

ozarr_status om_grow(ozarr_array *array, int32_t dim, int64_t length) {
    int64_t shape[PLAN_MAX_RANK];
    size_t size = 0;
    char *exported = NULL, *longer = NULL;
    ozarr_node *node = ozarr_array_node(array);
    ozarr_status status = ozarr_array_shape(array, shape);
    if (status != OZARR_OK || shape[dim] >= length) return status;
    status = ozarr_node_export(node, NULL, 0, &size);
    if (status != OZARR_OK) return status;
    exported = calloc(size + 1, 1);
    if (exported == NULL) return om_error(OZARR_ERR_NO_MEMORY, "%zu bytes of metadata", size);
    status = ozarr_node_export(node, exported, size, NULL);
    if (status == OZARR_OK) status = lengthened(exported, dim, length, &longer);
    if (status == OZARR_OK) status = ozarr_node_refresh(node, longer, strlen(longer));
    free(exported);
    free(longer);
    return status;
}
