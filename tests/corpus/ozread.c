/* The corpus's reader on the C ABI: reads an array, describes a node, or lists a group's children.
 *
 *   ozread read STORE PATH [--start a,b --shape c,d] --raw     elements in C order, little-endian
 *   ozread read STORE PATH [--start a,b --shape c,d] --json    elements of variable length as a flat list
 *   ozread info STORE PATH --json                              format, shape, chunks, dtype, attributes, dimension names
 *   ozread ls   STORE PATH --json                              names of the children
 *
 * STORE is a folder, PATH a node's path in it, `/` for the root. An error: a line on stderr and exit status 1. */
#include <errno.h>
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 64

static int fail(const char *what) {
    fprintf(stderr, "ozread: %s\n", what);
    return 1;
}

static int failed(void) { return fail(*ozarr_last_error() ? ozarr_last_error() : "failed without a message"); }

/* Calls a getter of text twice: for the length, then for the text. */
#define TEXT(out, call)                                                                                               \
    do {                                                                                                               \
        char *buf = NULL;                                                                                              \
        size_t cap = 0, len = 0;                                                                                       \
        (out) = NULL;                                                                                                  \
        if ((call) == OZARR_OK && (buf = malloc(cap = len + 1)) != NULL && (call) == OZARR_OK) (out) = buf;            \
        else free(buf);                                                                                                \
    } while (0)

/* ---- just enough JSON: the text of one member of an object that is known to be well-formed ---- */

static const char *skip_space(const char *p) { return p + strspn(p, " \t\r\n"); }

static const char *skip_string(const char *p) {
    for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && p[1]) p++;
    return *p ? p + 1 : p;
}

static const char *skip_value(const char *p) {
    int depth = 0;
    for (;;) {
        if (*p == '"') {
            p = skip_string(p);
        } else if (*p == '{' || *p == '[') {
            depth++, p++;
        } else if (*p == '}' || *p == ']') {
            depth--, p++;
        } else if (*p && (depth || (*p != ',' && *p != '}' && *p != ']'))) {
            p++;
        } else {
            return p;
        }
        if (!depth && (*skip_space(p) == ',' || *skip_space(p) == '}' || !*p)) return p;
    }
}

/* The value of the member `name` of the object, and in `end` where it ends; NULL without one. */
static const char *find_member(const char *document, const char *name, const char **value_end) {
    size_t n = strlen(name);
    const char *p = skip_space(document);
    if (*p == '{') p = skip_space(p + 1);
    while (*p == '"') {
        const char *key = p, *end = skip_string(p), *value = skip_space(end);
        if (*value != ':') break;
        value = skip_space(value + 1);
        p = skip_value(value);
        if ((size_t)(end - key) == n + 2 && !memcmp(key + 1, name, n)) {
            *value_end = p;
            return value;
        }
        p = skip_space(p);
        if (*p == ',') p = skip_space(p + 1);
    }
    return NULL;
}

/* Prints the member `name` of the document, or null. */
static void print_member(const char *document, const char *name) {
    const char *end, *value = find_member(document, name, &end);
    if (value) printf("%.*s", (int)(end - value), value);
    else printf("null");
}

static void print_string(const char *s) {
    putchar('"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') printf("\\%c", *s);
        else if ((unsigned char)*s < 0x20) printf("\\u%04x", (unsigned)*s);
        else putchar(*s);
    }
    putchar('"');
}

static void print_ints(const char *name, const int64_t *v, int32_t n) {
    printf(", \"%s\": [", name);
    for (int32_t i = 0; i < n; i++) printf("%s%lld", i ? ", " : "", (long long)v[i]);
    printf("]");
}

/* "1,2,3" (or "") into v; the number of integers, or -1. */
static int32_t parse_ints(const char *s, int64_t *v) {
    int32_t n = 0;
    while (*s) {
        char *end;
        if (n == MAX_RANK) return -1;
        errno = 0;
        v[n++] = strtoll(s, &end, 10);
        if (errno || end == s || (*end && *end != ',')) return -1;
        s = *end ? end + 1 : end;
    }
    return n;
}

/* ---- the three operations ---- */

/* Elements of variable length as a list: text as it is, bytes as base64, JSON as it is, lists of numbers as lists. */

static void print_text(const char *s, size_t n) {
    putchar('"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"' || s[i] == '\\') printf("\\%c", s[i]);
        else if ((unsigned char)s[i] < 0x20) printf("\\u%04x", (unsigned)s[i]);
        else putchar(s[i]);
    }
    putchar('"');
}

static void print_base64(const char *s, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)s;
    putchar('"');
    for (size_t i = 0; i < n; i += 3) {
        unsigned long v = (unsigned long)p[i] << 16 | (i + 1 < n ? p[i + 1] : 0u) << 8 | (i + 2 < n ? p[i + 2] : 0u);
        printf("%c%c%c%c", digits[v >> 18], digits[v >> 12 & 63], i + 1 < n ? digits[v >> 6 & 63] : '=', i + 2 < n ? digits[v & 63] : '=');
    }
    putchar('"');
}

static int print_numbers(const char *s, size_t n, ozarr_type type) {
    printf("[");
    switch (type) {
#define CASE(name, t, format, as)                                                                                      \
    case name:                                                                                                         \
        for (size_t i = 0; i < n / sizeof(t); i++) {                                                                   \
            t value;                                                                                                   \
            memcpy(&value, s + i * sizeof(t), sizeof(t));                                                              \
            printf("%s" format, i ? ", " : "", (as)value);                                                             \
        }                                                                                                              \
        break;
        CASE(OZARR_INT8, int8_t, "%d", int)
        CASE(OZARR_INT16, int16_t, "%d", int)
        CASE(OZARR_INT32, int32_t, "%d", int)
        CASE(OZARR_INT64, int64_t, "%lld", long long)
        CASE(OZARR_UINT8, uint8_t, "%d", int)
        CASE(OZARR_UINT16, uint16_t, "%d", int)
        CASE(OZARR_UINT32, uint32_t, "%llu", unsigned long long)
        CASE(OZARR_UINT64, uint64_t, "%llu", unsigned long long)
        CASE(OZARR_FLOAT32, float, "%.9g", double)
        CASE(OZARR_FLOAT64, double, "%.17g", double)
#undef CASE
    default: return fail("lists of that type are not printed");
    }
    printf("]");
    return 0;
}

static int read_varlen(const ozarr_array *a, ozarr_type type, const ozarr_region *region) {
    ozarr_varlen *v = NULL;
    ozarr_type number = 0;
    int64_t n;
    if (ozarr_array_read_varlen(a, region, &v) || ozarr_varlen_count(v, &n)) return failed();
    if (type == OZARR_LIST && ozarr_array_list_type(a, &number)) return failed();
    printf("[");
    for (int64_t i = 0; i < n; i++) {
        const char *bytes;
        size_t len;
        if (ozarr_varlen_get(v, i, &bytes, &len)) return failed();
        if (i) printf(", ");
        if (type == OZARR_STRING) print_text(bytes, len);
        else if (type == OZARR_BYTES) print_base64(bytes, len);
        else if (type == OZARR_JSON) printf("%.*s", (int)len, bytes);
        else if (print_numbers(bytes, len, number)) return 1;
    }
    printf("]\n");
    ozarr_varlen_free(v);
    return 0;
}

static int read_array(ozarr_store *store, const char *path, const char *start_text, const char *shape_text) {
    ozarr_array *a = NULL;
    ozarr_type type;
    size_t item;
    int32_t rank;
    int64_t start[MAX_RANK] = {0}, shape[MAX_RANK];
    if (ozarr_array_open_at(store, path, &a)) return failed();
    if (ozarr_array_type(a, &type) || ozarr_array_item_size(a, &item) || ozarr_array_rank(a, &rank) || ozarr_array_shape(a, shape)) return failed();
    if (start_text && parse_ints(start_text, start) != rank) return fail("--start: not one integer for each dimension");
    if (shape_text && parse_ints(shape_text, shape) != rank) return fail("--shape: not one integer for each dimension");
    if (type >= OZARR_STRING) {
        ozarr_region region = OZARR_REGION_INIT;
        region.start = start, region.shape = shape;
        int rc = read_varlen(a, type, &region);
        ozarr_array_free(a);
        return rc;
    }
    size_t size = item;
    for (int32_t i = 0; i < rank; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(size, (size_t)shape[i], &size)) return fail("the region is too large");
    void *data = malloc(size ? size : 1);
    if (!data) return fail("not enough memory for the region");
    if (ozarr_array_read_region(a, start, shape, type, data, size)) return failed();
    if (fwrite(data, 1, size, stdout) != size || fflush(stdout)) return fail("standard output cannot be written");
    free(data);
    ozarr_array_free(a);
    return 0;
}

/* One number for each dimension; of uneven chunks what the document has. */
static int print_chunks(const ozarr_array *a, const char *document, int32_t rank) {
    int64_t shape[MAX_RANK], counts[MAX_RANK], start, extent;
    if (ozarr_array_chunk_shape(a, shape) || ozarr_array_grid_shape(a, counts)) return failed();
    for (int32_t d = 0; d < rank; d++)
        for (int64_t i = 0; i < counts[d] && i < 1000; i++) {
            if (ozarr_array_chunk_extent(a, d, i, &start, &extent)) return failed();
            if (extent == shape[d]) continue;
            const char *end, *p = find_member(document, "chunk_grid", &end);
            if (p) p = find_member(p, "configuration", &end);
            if (!p) return fail("chunks of several extents, and no such grid in the document");
            printf(", \"chunks\": ");
            print_member(p, find_member(p, "chunk_shapes", &end) ? "chunk_shapes" : "chunk_shape");
            return 0;
        }
    print_ints("chunks", shape, rank);
    return 0;
}

static int info_array(ozarr_array *a) {
    char *document, *attributes, draft[8];
    int32_t format, rank;
    int64_t shape[MAX_RANK];
    TEXT(document, ozarr_node_metadata(ozarr_array_node(a), buf, cap, &len));
    if (!document) return failed();
    if (ozarr_node_set(ozarr_array_node(a), "raw_attributes", "true")) return failed();
    TEXT(attributes, ozarr_attrs_get(ozarr_array_node(a), buf, cap, &len));
    if (!attributes) return failed();
    if (ozarr_node_zarr_format(ozarr_array_node(a), &format) || ozarr_array_rank(a, &rank) || ozarr_array_shape(a, shape)) return failed();
    if (ozarr_node_get(ozarr_array_node(a), "draft", draft, sizeof draft, NULL)) return failed();
    printf("{\"node_type\": \"array\", \"zarr_format\": %d", (int)format);
    print_ints("shape", shape, rank);
    if (print_chunks(a, document, rank)) return 1;
    if (*draft) printf(", \"draft\": \"%s\"", draft);
    printf(", \"dtype\": ");
    print_member(document, format == 2 ? "dtype" : "data_type");
    printf(", \"dimension_names\": ");
    print_member(document, "dimension_names");
    printf(", \"attributes\": %s}\n", attributes);
    free(document);
    free(attributes);
    return 0;
}

static int info_group(ozarr_group *g) {
    char *attributes, draft[8];
    int32_t format;
    if (ozarr_node_set(ozarr_group_node(g), "raw_attributes", "true")) return failed();
    TEXT(attributes, ozarr_attrs_get(ozarr_group_node(g), buf, cap, &len));
    if (!attributes || ozarr_node_zarr_format(ozarr_group_node(g), &format) || ozarr_node_get(ozarr_group_node(g), "draft", draft, sizeof draft, NULL)) return failed();
    printf("{\"node_type\": \"group\", \"zarr_format\": %d, ", (int)format);
    if (*draft) printf("\"draft\": \"%s\", ", draft);
    printf("\"attributes\": %s}\n", attributes);
    free(attributes);
    return 0;
}

static int info(ozarr_store *store, const char *path) {
    ozarr_node_kind kind;
    ozarr_array *a = NULL;
    ozarr_group *g = NULL;
    int rc;
    if (ozarr_store_node_kind(store, path, &kind)) return failed();
    if (kind == OZARR_NODE_KIND_GROUP) {
        if (ozarr_group_open_at(store, path, &g)) return failed();
        rc = info_group(g);
        ozarr_group_free(g);
        return rc;
    }
    if (ozarr_array_open_at(store, path, &a)) return failed();
    rc = info_array(a);
    ozarr_array_free(a);
    return rc;
}

static int list(ozarr_store *store, const char *path) {
    ozarr_group *g = NULL;
    ozarr_node_iter *it = NULL;
    bool more = false;
    int first = 1;
    if (ozarr_group_open_at(store, path, &g) || ozarr_group_list_nodes(g, NULL, 1, &it)) return failed();
    printf("[");
    for (;;) {
        char *name;
        if (ozarr_node_iter_next(it, &more)) return failed();
        if (!more) break;
        TEXT(name, ozarr_node_iter_name(it, buf, cap, &len));
        if (!name) return failed();
        if (!first) printf(", ");
        first = 0;
        print_string(name);
        free(name);
    }
    printf("]\n");
    ozarr_node_iter_free(it);
    ozarr_group_free(g);
    return 0;
}

/* The value of `--name VALUE` or `--name=VALUE` among the arguments, or NULL. */
static const char *option(int argc, char **argv, const char *name) {
    size_t n = strlen(name);
    for (int i = 4; i < argc; i++) {
        if (!strcmp(argv[i], name) && i + 1 < argc) return argv[i + 1];
        if (!strncmp(argv[i], name, n) && argv[i][n] == '=') return argv[i] + n + 1;
    }
    return NULL;
}

int main(int argc, char **argv) {
    ozarr_store *store = NULL;
    int rc = 2;
    if (argc < 4) {
        fprintf(stderr, "usage: ozread read|info|ls STORE PATH [--start a,b --shape c,d] --raw|--json\n");
        return 2;
    }
    const char *path = argv[3] + strspn(argv[3], "/");
    if (ozarr_store_open(argv[2], "r", &store)) return failed();
    if (!strcmp(argv[1], "read")) {
        rc = read_array(store, path, option(argc, argv, "--start"), option(argc, argv, "--shape"));
    } else if (!strcmp(argv[1], "info")) {
        rc = info(store, path);
    } else if (!strcmp(argv[1], "ls")) {
        rc = list(store, path);
    } else {
        fprintf(stderr, "ozread: %s: not read, info or ls\n", argv[1]);
    }
    ozarr_store_free(store);
    return rc;
}
