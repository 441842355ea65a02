/* The library's side of the generated product: writes and checks arrays as a plan says.
 *
 *   ozprod STORE r|r+ PLAN DATA
 *
 * PLAN has one command a line, its words separated by tabs; numbers of a list are separated by commas ("" is rank 0). DATA holds the
 * bytes that commands name by offset and length: elements in C order and native byte order.
 *
 *   array ID                                      begins an array; the commands up to the next one are about it
 *   spec TYPE SHAPE                               what to create, then any of:
 *     format N | chunks LIST | fill TYPE HEX | filljson JSON | dims NAME,NAME | order F | big 1 | separator C | compressor NAME LEVEL
 *     codecs JSON | compressorjson JSON | filters JSON | attributes JSON
 *   create PATH | open PATH
 *   write OFFSET LENGTH TYPE | check OFFSET LENGTH TYPE                               the whole array
 *   wregion OFFSET LENGTH TYPE MEMORY START SHAPE STEP | cregion (the same)           a region; MEMORY is C, F, P (padded) or N (reversed)
 *   shapeis LIST | chunksare LIST | typeis TYPE | fillis HEX                          what the array must say of itself
 *
 * A failing array prints `FAIL ID: why`, and its other commands are skipped. The last line is `N passed, N failed`. */
#define _POSIX_C_SOURCE 200809L
#include <ozarr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 64
#define MAX_WORDS 10
#define UNTOUCHED 0xA5

static const struct { const char *name; ozarr_type type; size_t size; } TYPES[] = {
    {"bool", OZARR_BOOL, 1},         {"int8", OZARR_INT8, 1},        {"int16", OZARR_INT16, 2},          {"int32", OZARR_INT32, 4},
    {"int64", OZARR_INT64, 8},       {"uint8", OZARR_UINT8, 1},      {"uint16", OZARR_UINT16, 2},        {"uint32", OZARR_UINT32, 4},
    {"uint64", OZARR_UINT64, 8},     {"float16", OZARR_FLOAT16, 2},  {"float32", OZARR_FLOAT32, 4},      {"float64", OZARR_FLOAT64, 8},
    {"complex64", OZARR_COMPLEX64, 8}, {"complex128", OZARR_COMPLEX128, 16},
    {"int2", OZARR_INT2, 1},         {"int4", OZARR_INT4, 1},        {"uint2", OZARR_UINT2, 1},          {"uint4", OZARR_UINT4, 1},
    {"bfloat16", OZARR_BFLOAT16, 2}, {"float8_e3m4", OZARR_FLOAT8_E3M4, 1}, {"float8_e4m3", OZARR_FLOAT8_E4M3, 1},
    {"float8_e4m3b11fnuz", OZARR_FLOAT8_E4M3B11FNUZ, 1},             {"float8_e4m3fnuz", OZARR_FLOAT8_E4M3FNUZ, 1},
    {"float8_e4m3fn", OZARR_FLOAT8_E4M3FN, 1},                       {"float8_e5m2", OZARR_FLOAT8_E5M2, 1},
    {"float8_e5m2fnuz", OZARR_FLOAT8_E5M2FNUZ, 1},                   {"float8_e8m0fnu", OZARR_FLOAT8_E8M0FNU, 1},
    {"float6_e2m3fn", OZARR_FLOAT6_E2M3FN, 1},                       {"float6_e3m2fn", OZARR_FLOAT6_E3M2FN, 1},
    {"float4_e2m1fn", OZARR_FLOAT4_E2M1FN, 1},
};

typedef struct { int32_t rank; int64_t v[MAX_RANK]; } list;

static ozarr_store *store;
static unsigned char *data;
static size_t data_size;
static ozarr_spec *spec;
static ozarr_array *array;

/* Why the current command failed; "" if the library's message is the reason. */
static char reason[512];

static int type_index(const char *name) {
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (!strcmp(TYPES[i].name, name)) return (int)i;
    snprintf(reason, sizeof reason, "plan: no type %s", name);
    return -1;
}

static list parse_list(const char *s) {
    list l = {0, {0}};
    while (*s && l.rank < MAX_RANK) {
        char *end;
        l.v[l.rank++] = strtoll(s, &end, 10);
        s = *end == ',' ? end + 1 : end;
    }
    return l;
}

static size_t parse_hex(const char *s, unsigned char *out, size_t cap) {
    size_t n = 0;
    unsigned byte;
    for (; n < cap && s[0] && s[1] && sscanf(s, "%2x", &byte) == 1; s += 2) out[n++] = (unsigned char)byte;
    return n;
}

static int bytes_at(char **w, unsigned char **p, size_t *n) {
    size_t offset = strtoull(w[1], NULL, 10);
    *n = strtoull(w[2], NULL, 10);
    if (offset > data_size || *n > data_size - offset) return snprintf(reason, sizeof reason, "plan: bytes outside of the data"), 1;
    *p = data + offset;
    return 0;
}

static int differ(const char *what, const unsigned char *got, const unsigned char *want, size_t n, size_t item) {
    size_t i = 0, wrong = 0, first = n;
    for (i = 0; i < n; i += item)
        if (memcmp(got + i, want + i, item)) {
            if (!wrong++) first = i;
        }
    if (!wrong) return 0;
    int at = snprintf(reason, sizeof reason, "%s: %zu of %zu elements differ; element %zu is ", what, wrong, n / item, first / item);
    for (i = 0; i < item; i++) at += snprintf(reason + at, sizeof reason - (size_t)at, "%02x", got[first + i]);
    at += snprintf(reason + at, sizeof reason - (size_t)at, ", expected ");
    for (i = 0; i < item; i++) at += snprintf(reason + at, sizeof reason - (size_t)at, "%02x", want[first + i]);
    return 1;
}

/* ---- memory of several shapes ---- */

typedef struct { unsigned char *p; size_t size, offset; int64_t strides[MAX_RANK]; } layout;

static layout lay_out(char kind, const list *shape, size_t item) {
    layout m = {NULL, item, 0, {0}};
    for (int32_t k = 0; k < shape->rank; k++) {
        int32_t d = kind == 'F' ? k : shape->rank - 1 - k;
        m.strides[d] = (int64_t)m.size;
        m.size *= (size_t)shape->v[d] + (kind == 'P' ? 2 : 0);
    }
    if (kind == 'P')
        for (int32_t d = 0; d < shape->rank; d++) m.offset += (size_t)m.strides[d];
    if (kind == 'N' && m.size)
        for (int32_t d = 0; d < shape->rank; d++) {
            m.offset += (size_t)m.strides[d] * (size_t)(shape->v[d] - 1);
            m.strides[d] = -m.strides[d];
        }
    m.p = malloc(m.size ? m.size : 1);
    if (m.p) memset(m.p, UNTOUCHED, m.size);
    return m;
}

/* Copies between dense C order and the layout; `out`: from the layout into `dense`. The bytes copied. */
static size_t shuffle(layout *m, const list *shape, size_t item, unsigned char *dense, int out) {
    int64_t i[MAX_RANK] = {0};
    size_t n = 0;
    for (int32_t d = 0; d < shape->rank; d++)
        if (!shape->v[d]) return 0;
    for (;;) {
        int64_t at = (int64_t)m->offset;
        for (int32_t d = 0; d < shape->rank; d++) at += i[d] * m->strides[d];
        if (out) {
            memcpy(dense + n, m->p + at, item);
            memset(m->p + at, UNTOUCHED, item);
        } else {
            memcpy(m->p + at, dense + n, item);
        }
        n += item;
        int32_t d = shape->rank - 1;
        while (d >= 0 && ++i[d] == shape->v[d]) i[d--] = 0;
        if (d < 0) return n;
    }
}

static int region(char **w, int writing) {
    unsigned char *p;
    size_t n;
    int t = type_index(w[3]);
    list start = parse_list(w[5]), shape = parse_list(w[6]), step = parse_list(w[7]);
    if (t < 0 || bytes_at(w, &p, &n)) return 1;
    layout m = lay_out(w[4][0], &shape, TYPES[t].size);
    if (!m.p) return snprintf(reason, sizeof reason, "no memory"), 1;
    ozarr_region r = OZARR_REGION_INIT;
    r.start = start.v, r.shape = shape.v, r.step = step.rank ? step.v : NULL;
    ozarr_memory mem = OZARR_MEMORY_INIT;
    mem.data = m.p, mem.size = m.size, mem.offset = m.offset, mem.type = TYPES[t].type;
    if (w[4][0] == 'F') mem.order = OZARR_ORDER_F;
    else if (w[4][0] != 'C') mem.strides = m.strides;
    int bad;
    if (writing) {
        shuffle(&m, &shape, TYPES[t].size, p, 0);
        bad = ozarr_array_write_ex(array, &r, &mem) != OZARR_OK;
    } else {
        bad = ozarr_array_read_ex(array, &r, &mem) != OZARR_OK;
        unsigned char *got = malloc(n ? n : 1);
        if (!bad && got) {
            bad = shuffle(&m, &shape, TYPES[t].size, got, 1) != n || differ("region", got, p, n, TYPES[t].size);
            for (size_t i = 0; !bad && i < m.size; i++)
                if (m.p[i] != UNTOUCHED) bad = (snprintf(reason, sizeof reason, "a byte between the elements was written"), 1);
        }
        free(got);
    }
    free(m.p);
    return bad;
}

static int whole(char **w, int writing) {
    unsigned char *p;
    size_t n;
    int t = type_index(w[3]);
    if (t < 0 || bytes_at(w, &p, &n)) return 1;
    if (writing) return ozarr_array_write(array, TYPES[t].type, p, n) != OZARR_OK;
    unsigned char *got = malloc(n ? n : 1);
    if (!got) return snprintf(reason, sizeof reason, "no memory"), 1;
    memset(got, UNTOUCHED, n);
    int bad = ozarr_array_read(array, TYPES[t].type, got, n) != OZARR_OK || differ("whole", got, p, n, TYPES[t].size);
    free(got);
    return bad;
}

static int same_list(const char *what, const list *want, const int64_t *got) {
    for (int32_t d = 0; d < want->rank; d++)
        if (want->v[d] != got[d])
            return snprintf(reason, sizeof reason, "%s: %lld in dimension %d, expected %lld", what, (long long)got[d], (int)d, (long long)want->v[d]), 1;
    return 0;
}

static int spec_command(char **w) {
    const char *c = w[0];
    if (!strcmp(c, "format")) return ozarr_spec_set_zarr_format(spec, atoi(w[1])) != OZARR_OK;
    if (!strcmp(c, "chunks")) { list l = parse_list(w[1]); return ozarr_spec_set_chunks(spec, l.v) != OZARR_OK; }
    if (!strcmp(c, "fill")) {
        unsigned char v[16];
        int t = type_index(w[1]);
        return t < 0 || parse_hex(w[2], v, sizeof v) != TYPES[t].size || ozarr_spec_set_fill_value(spec, TYPES[t].type, v) != OZARR_OK;
    }
    if (!strcmp(c, "filljson")) return ozarr_spec_set_member_json(spec, "fill_value", w[1]) != OZARR_OK;
    if (!strcmp(c, "dims")) {
        const char *names[MAX_RANK] = {0};
        int n = 0;
        for (char *p = w[1]; p && n < MAX_RANK; n++) {
            char *comma = strchr(p, ',');
            if (comma) *comma++ = 0;
            names[n] = *p ? p : NULL;
            p = comma;
        }
        return ozarr_spec_set_dimension_names(spec, names) != OZARR_OK;
    }
    if (!strcmp(c, "order")) return ozarr_spec_set_order(spec, w[1][0] == 'F' ? OZARR_ORDER_F : OZARR_ORDER_C) != OZARR_OK;
    if (!strcmp(c, "big")) return ozarr_spec_set_big_endian(spec, w[1][0] == '1') != OZARR_OK;
    if (!strcmp(c, "separator")) return ozarr_spec_set_separator(spec, w[1]) != OZARR_OK;
    if (!strcmp(c, "compressor")) return ozarr_spec_set_compressor(spec, w[1], atoi(w[2])) != OZARR_OK;
    if (!strcmp(c, "codecs")) return ozarr_spec_set_member_json(spec, "codecs", w[1]) != OZARR_OK;
    if (!strcmp(c, "compressorjson")) return ozarr_spec_set_member_json(spec, "compressor", w[1]) != OZARR_OK;
    if (!strcmp(c, "filters")) return ozarr_spec_set_member_json(spec, "filters", w[1]) != OZARR_OK;
    if (!strcmp(c, "attributes")) return ozarr_spec_set_member_json(spec, "attributes", w[1]) != OZARR_OK;
    return snprintf(reason, sizeof reason, "plan: no command %s", c), 1;
}

static int command(char **w) {
    const char *c = w[0];
    int64_t got[MAX_RANK];
    if (!strcmp(c, "spec")) {
        int t = type_index(w[1]);
        list l = parse_list(w[2]);
        return t < 0 || ozarr_spec_new(TYPES[t].type, l.rank, l.v, &spec) != OZARR_OK;
    }
    if (!strcmp(c, "create")) return ozarr_array_create_at(store, w[1], spec, OZARR_CREATE_NEW, &array) != OZARR_OK;
    if (!strcmp(c, "open")) return ozarr_array_open_at(store, w[1], &array) != OZARR_OK;
    if (!strcmp(c, "write") || !strcmp(c, "check")) return whole(w, *c == 'w');
    if (!strcmp(c, "wregion") || !strcmp(c, "cregion")) return region(w, *c == 'w');
    if (!strcmp(c, "shapeis")) { list l = parse_list(w[1]); return ozarr_array_shape(array, got) != OZARR_OK || same_list("shape", &l, got); }
    if (!strcmp(c, "chunksare")) { list l = parse_list(w[1]); return ozarr_array_chunk_shape(array, got) != OZARR_OK || same_list("chunk shape", &l, got); }
    if (!strcmp(c, "typeis")) {
        ozarr_type type = OZARR_AS_STORED;
        int t = type_index(w[1]);
        if (t < 0 || ozarr_array_type(array, &type) != OZARR_OK) return 1;
        return type == TYPES[t].type ? 0 : (snprintf(reason, sizeof reason, "type %d, expected %d", (int)type, (int)TYPES[t].type), 1);
    }
    if (!strcmp(c, "fillis")) {
        unsigned char v[16], is[16] = {0};
        bool defined = false;
        size_t n = parse_hex(w[1], v, sizeof v);
        if (ozarr_array_fill_value(array, is, n, &defined) != OZARR_OK) return 1;
        return defined ? differ("fill value", is, v, n, n) : (snprintf(reason, sizeof reason, "the fill value is undefined"), 1);
    }
    return spec_command(w);
}

static int end_array(void) {
    int bad = array ? ozarr_array_close(array) != OZARR_OK : 0;
    ozarr_spec_free(spec);
    array = NULL, spec = NULL;
    return bad;
}

int main(int argc, char **argv) {
    char *line = NULL, id[256] = "";
    size_t cap = 0;
    long passed = 0, failures = 0;
    int bad = 0;
    FILE *plan, *f;
    if (argc != 5) return fprintf(stderr, "usage: ozprod STORE r|r+ PLAN DATA\n"), 2;
    if (!(plan = fopen(argv[3], "r")) || !(f = fopen(argv[4], "rb"))) return fprintf(stderr, "ozprod: the plan or the data cannot be opened\n"), 2;
    fseek(f, 0, SEEK_END);
    data_size = (size_t)ftell(f);
    rewind(f);
    data = malloc(data_size ? data_size : 1);
    if (!data || fread(data, 1, data_size, f) != data_size) return fprintf(stderr, "ozprod: the data cannot be read\n"), 2;
    fclose(f);
    if (ozarr_store_open(argv[1], argv[2], &store)) return fprintf(stderr, "ozprod: %s\n", ozarr_last_error()), 1;
    for (;;) {
        char *w[MAX_WORDS] = {0};
        ssize_t n = getline(&line, &cap, plan);
        int at_end = n <= 0;
        if (!at_end) {
            if (line[n - 1] == '\n') line[n - 1] = 0;
            int k = 0;
            for (char *p = line; p && k < MAX_WORDS; k++) {
                w[k] = p;
                if ((p = strchr(p, '\t'))) *p++ = 0;
            }
            for (; k < MAX_WORDS; k++) w[k] = line + strlen(line);
        }
        reason[0] = 0;
        if (at_end || !strcmp(w[0], "array")) {
            if (*id) {
                if (end_array() && !bad) bad = 1, printf("FAIL %s: close: %s\n", id, ozarr_last_error());
                bad ? failures++ : passed++;
            }
            if (at_end) break;
            snprintf(id, sizeof id, "%s", w[1]);
            bad = 0;
        } else if (!bad && command(w)) {
            bad = 1;
            printf("FAIL %s: %s: %s\n", id, w[0], *reason ? reason : ozarr_last_error());
        }
    }
    if (ozarr_store_close(store)) failures++, printf("FAIL store: close: %s\n", ozarr_last_error());
    free(line);
    free(data);
    fclose(plan);
    printf("%ld passed, %ld failed\n", passed, failures);
    return failures || !passed;
}
