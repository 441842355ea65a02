/* What the calls of calls.txt are made with: handles of every kind, good and wrong, outputs that a failure must leave alone, and the checks. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "../table.h"
#include <stdbool.h>

/* -- inputs ------------------------------------------------------------------------------------------------------------- */

static const int64_t SHAPE[] = {6, 4}, CHUNKS[] = {3, 4}, EXTENTS[] = {3, 3}, START[] = {0, 0}, TWO[] = {2, 2}, OFFSETS[] = {0, 1, 2};
static const int64_t *const LISTS[] = {START, START};
static const int8_t NUMBERS[24] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static const uint8_t MASK[24] = {1, 1};
static const int64_t POINTS[] = {0, 0, 1, 1};
static const char *const NAMES[] = {"y", "x"}, *const X[] = {"x"}, *const V[] = {"v"}, *const OPTIONS[] = {"file.sync", "none", NULL};
static const char DAYS[] = "days since 2026-01-01";
static const char DOCUMENT[] = "{\"zarr_format\":2,\"shape\":[1],\"chunks\":[1],\"dtype\":\"|i1\",\"compressor\":null,\"fill_value\":0,"
                               "\"order\":\"C\",\"filters\":null}";
static const char DOCUMENT_OF_LISTS[] = "{\"zarr_format\":2,\"shape\":[2],\"chunks\":[2],\"dtype\":\"|O\",\"fill_value\":0,\"order\":\"C\","
                                        "\"compressor\":null,\"filters\":[{\"id\":\"vlen-array\",\"dtype\":\">i2\"}]}";
static const char IMAGES[] = "[{\"axes\": [{\"name\": \"x\", \"type\": \"space\", \"unit\": \"m\"}], \"datasets\": [{\"path\": \"s0\"}]}]";

/* Wrong numbers of lists, of which the library may read as many as the longest good one has; texts that are no UTF-8. */
static const int64_t BELOW[] = {-1, -1, -1, -1}, LOWEST[] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}, HUGE_ONES[] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
static const char *const NO_UTF8[] = {"x\xff", "\xc0\xaf", "\xed\xa0\x80", "a\xc3"};
static const char *const NO_UTF8_LIST[] = {"x\xff", "x\xff", NULL}, *const NO_TEXTS[] = {NULL, NULL};
static const int64_t *const NO_LISTS[] = {NULL, NULL}, *const LISTS_BELOW[] = {BELOW, BELOW}, *const LISTS_HUGE[] = {HUGE_ONES, HUGE_ONES};

static int8_t data[4096];
static char buf[4096];
static unsigned char exported[4096];
static size_t exported_size;
static ozarr_region region, pair;
static ozarr_memory memory, bytes, floats;
static ozarr_layout layout;
static ozarr_variable variable;
static ozarr_request_options options;
static ozarr_copy_options copying;
static ozarr_batch_entry entry;
static ozarr_error_info info;
static ozarr_info usage;
static ozarr_explanation explanation;
static ozarr_stats stats;
static ozarr_summary summary;
static ozarr_comparison comparison;
static ozarr_verified verified;
static ozarr_store_table store_table;
static ozarr_codec_table codec;
static ozarr_dtype_table number_type;
static ozarr_key_encoding_table key_encoding;
static ozarr_transformer_table transformer;

/* -- handles ------------------------------------------------------------------------------------------------------------ */

static ozarr_store *st;
static ozarr_group *g, *nc, *dg, *cp;
static ozarr_array *a, *texts, *lists, *sharded, *f, *t;
static ozarr_spec *s, *ts;
static ozarr_node_iter *it;
static ozarr_varlen *v;
static ozarr_chunk_iter *k;
static ozarr_shard_writer *w;
static ozarr_context *c;
static ozarr_dtype *d, *p;
static ozarr_dataset *ds;
static ozarr_appender *ap;
static ozarr_series *n, *other_series;
static ozarr_request *q;
static ozarr_answer *answer;
static ozarr_keys *keys;
#define NODE (ozarr_array_node(a))

/* -- outputs ------------------------------------------------------------------------------------------------------------ */

static ozarr_store *ost;
static ozarr_group *og;
static ozarr_array *oa;
static ozarr_spec *os;
static ozarr_node_iter *oi;
static ozarr_varlen *ov;
static ozarr_chunk_iter *ok;
static ozarr_shard_writer *ow;
static ozarr_context *oc;
static ozarr_dtype *od;
static ozarr_dataset *ods;
static ozarr_appender *oap;
static ozarr_series *on;
static ozarr_request *oq;
static void *block, *room;
static bool flag;
static int32_t i32;
static uint32_t flags;
static int64_t i64, list[4];
static size_t len;
static double real;
static ozarr_status statuses[2];
static const char *text;
static const int64_t *numbers;

/* The name of an output as calls have it, the output, and whether it is a new handle, which a failure makes NULL. */
typedef struct output {
    const char *name;
    void *at;
    size_t size;
    bool handle;
} output;
#define NUMBER(name) {#name, &name, sizeof name, false}
#define HANDLE(name) {#name, &name, sizeof name, true}
static const output OUTPUTS[] = {
    HANDLE(ost), HANDLE(og), HANDLE(oa), HANDLE(os), HANDLE(oi), HANDLE(ov), HANDLE(ok), HANDLE(ow), HANDLE(oc), HANDLE(od), HANDLE(ods),
    HANDLE(oap), HANDLE(on), HANDLE(oq), HANDLE(block), NUMBER(flag), NUMBER(i32), NUMBER(flags), NUMBER(i64), NUMBER(list), NUMBER(len),
    NUMBER(room), NUMBER(real), NUMBER(statuses), NUMBER(text), NUMBER(numbers),
};
enum { OUTPUT_COUNT = sizeof OUTPUTS / sizeof *OUTPUTS, POISON = 1 };

/* Bytes that are nobody's handle, and that every output may have. */
static void poison(void) {
    for (int i = 0; i < OUTPUT_COUNT; i++) memset(OUTPUTS[i].at, POISON, OUTPUTS[i].size);
}

static bool is_only(const void *at, size_t size, int byte) {
    for (size_t i = 0; i < size; i++)
        if (((const unsigned char *)at)[i] != byte) return false;
    return true;
}

static void forget_outputs(void) {
    for (int i = 0; i < OUTPUT_COUNT; i++)
        if (is_only(OUTPUTS[i].at, OUTPUTS[i].size, POISON)) memset(OUTPUTS[i].at, 0, OUTPUTS[i].size);
    ozarr_store_free(ost), ozarr_group_free(og), ozarr_array_free(oa), ozarr_spec_free(os), ozarr_node_iter_free(oi), ozarr_varlen_free(ov);
    ozarr_chunk_iter_free(ok), ozarr_shard_writer_free(ow), ozarr_context_free(oc), ozarr_dtype_free(od), ozarr_dataset_free(ods);
    ozarr_appender_free(oap), ozarr_series_free(on), ozarr_request_free(oq);
    poison();
}

/* -- functions of the program ------------------------------------------------------------------------------------------- */

static ozarr_status hear(void *user, ozarr_log_level level, const char *message) { return (void)user, (void)level, (void)message, OZARR_OK; }
static ozarr_status each_key(void *user, const char *key) { return (void)user, (void)key, OZARR_OK; }
static ozarr_status each_fault(void *user, ozarr_fault_kind kind, const char *key, const char *message, int64_t stored, bool repaired) {
    return (void)user, (void)kind, (void)key, (void)message, (void)stored, (void)repaired, OZARR_OK;
}
static ozarr_status progress(void *user, int64_t done, int64_t total) { return (void)user, (void)done, (void)total, OZARR_OK; }
static ozarr_status check(void *user, const char *value) { return (void)user, (void)value, OZARR_OK; }
static void destroy(void *user) { (void)user; }
static ozarr_status open_codec(void *user, const char *configuration, int32_t format, ozarr_type type, size_t size, void **state, ozarr_type *encoded) {
    return (void)user, (void)configuration, (void)format, (void)type, (void)size, (void)state, (void)encoded, OZARR_OK;
}
static ozarr_status size_of(void *user, void *state, size_t decoded, size_t *size, bool *exact) {
    return (void)user, (void)state, *size = decoded, *exact = true, OZARR_OK;
}
static ozarr_status code(void *user, void *state, const void *src, size_t size, void *dst, size_t cap, size_t *used) {
    return (void)user, (void)state, memcpy(dst, src, size < cap ? size : cap), *used = size, OZARR_OK;
}
static ozarr_status convert(void *user, const void *src, void *dst, int64_t count) { return (void)user, memcpy(dst, src, (size_t)count), OZARR_OK; }
static ozarr_status fill(void *user, const char *json, void *element) { return (void)user, (void)json, *(char *)element = 0, OZARR_OK; }
static ozarr_status fill_json(void *user, const void *element, char *to, size_t cap, size_t *used) {
    return (void)user, (void)element, cap > 1 ? memcpy(to, "0", 2) : to, *used = 1, OZARR_OK;
}
static ozarr_status encode(void *user, const char *configuration, int32_t rank, const int64_t *index, char *to, size_t cap, size_t *used) {
    return (void)user, (void)configuration, (void)rank, (void)index, cap > 1 ? memcpy(to, "0", 2) : to, *used = 1, OZARR_OK;
}
static ozarr_status decode(void *user, const char *configuration, int32_t rank, const char *key, int64_t *index, bool *is_chunk) {
    return (void)user, (void)configuration, (void)rank, (void)key, (void)index, *is_chunk = false, OZARR_OK;
}
/* What is called with the answer, or the keys, that functions of stores are given. */
static void (*inside_call)(void);
static ozarr_status get(void *user, const char *key, ozarr_answer *given) {
    (void)user, (void)key;
    answer = given;
    if (inside_call != NULL) inside_call();
    return OZARR_OK;
}
static ozarr_status list_keys(void *user, const char *prefix, ozarr_keys *given) {
    (void)user, (void)prefix;
    keys = given;
    if (inside_call != NULL) inside_call();
    return OZARR_OK;
}
static ozarr_status open_transformer(void *user, const char *configuration, ozarr_store *inner, ozarr_store_table *table) {
    return (void)user, (void)configuration, (void)inner, (void)table, OZARR_ERR_UNSUPPORTED;
}

/* -- wrong handles ------------------------------------------------------------------------------------------------------ */

/* The kinds that a program can hold; an array and a group are nodes as well. */
enum kind { ARRAY, GROUP, NODE_KIND, SPEC, STORE, NODE_ITER, VARLEN, CHUNK_ITER, SHARD_WRITER, CONTEXT, DTYPE, DATASET, APPENDER, SERIES, REQUEST, ANSWER, KEYS };
enum { KINDS = REQUEST + 1, WRONGS = 2 * KINDS + 4 };
static void *freed[KINDS];

static void *live(int kind) {
    void *const all[] = {a, g, NULL, s, st, it, v, k, w, c, d, ds, ap, other_series, q};
    return all[kind];
}

/* The i-th handle that is none of this kind: of another kind, freed, or invented. NULL if the i-th is right. */
static void *wrong_handle(int kind, int i) {
    static double on_stack;
    void *const invented[] = {&on_stack, data + 1, (void *)(uintptr_t)1, (void *)UINTPTR_MAX};
    if (i < KINDS) return i == kind || (kind == NODE_KIND && i <= GROUP) ? NULL : live(i);
    return i < 2 * KINDS ? freed[i - KINDS] : invented[i - 2 * KINDS];
}

static const char *wrong_name(int i) {
    return i < KINDS ? "a handle of another kind" : i < 2 * KINDS ? "a freed handle" : "no handle";
}

/* -- the fixture -------------------------------------------------------------------------------------------------------- */

static void make(const char *location) {
    ozarr_group *made = NULL;
    OK(ozarr_group_create(location, OZARR_CREATE_OVERWRITE, &made));
    ozarr_group_free(made);
}

/* Makes a location empty. */
static void erase(const char *location) {
    make(location);
    OK(ozarr_node_erase(location));
}

/* Ends a registration, if there is one. */
static void unregister(ozarr_extension extension, const char *name) {
    CHECK(ozarr_unregister(extension, name) <= OZARR_OK);
}

static void set_structs(void) {
    ozarr_region_init(&region), ozarr_region_init(&pair);
    region.start = START, region.shape = SHAPE;
    pair.start = START, pair.shape = TWO;
    memory = *dense(OZARR_INT8, data, 24), bytes = *dense(OZARR_INT8, data, 4), floats = *dense(OZARR_FLOAT32, data, 8);
    ozarr_layout_init(&layout), ozarr_variable_init(&variable), ozarr_request_options_init(&options), ozarr_copy_options_init(&copying);
    variable.type = OZARR_INT8, variable.rank = 1, variable.dimensions = X;
    copying.mode = OZARR_CREATE_OVERWRITE;
    ozarr_batch_entry_init(&entry);
    entry.array = a, entry.memory = &memory;
    ozarr_error_info_init(&info), ozarr_info_init(&usage), ozarr_explanation_init(&explanation), ozarr_stats_init(&stats), ozarr_verified_init(&verified);
    ozarr_summary_init(&summary), ozarr_comparison_init(&comparison);
    ozarr_store_table_init(&store_table), ozarr_codec_table_init(&codec), ozarr_dtype_table_init(&number_type);
    ozarr_key_encoding_table_init(&key_encoding), ozarr_transformer_table_init(&transformer);
    codec.kind = OZARR_CODEC_KIND_BYTES, codec.name = "misuse.codec", codec.open = open_codec, codec.encoded_size = size_of;
    codec.encode = codec.decode = code;
    number_type.type = OZARR_INT8, number_type.item_size = 1, number_type.name = "misuse.type", number_type.encode = number_type.decode = convert;
    number_type.fill_from_json = fill, number_type.fill_to_json = fill_json;
    key_encoding.name = "misuse.keys", key_encoding.encode = encode;
    key_encoding.decode = decode, store_table.get = get, store_table.list = list_keys;
    transformer.name = "misuse.transformer", transformer.open = open_transformer;
}

/* The dataset "ds" of a store: x of 2, and a time that grows. */
static void define(ozarr_dataset *of) {
    const char *const both[] = {"time", "x"};
    OK(ozarr_dataset_define_dimension(of, "x", 2));
    OK(ozarr_dataset_define_time(of, "time", 0, 0, DAYS, NULL, NULL));
    OK(ozarr_dataset_define_time(of, "t", 2, 0, DAYS, NULL, NULL));
    OK(ozarr_dataset_define_variable(of, "v", OZARR_INT8, 2, both, NULL));
    OK(ozarr_dataset_define_variable(of, "f", OZARR_FLOAT32, 1, X, NULL));
}

/* Makes every handle, in a new store in memory. */
static void fresh(void) {
    const int64_t two = 2;
    ozarr_spec *form = NULL;
    ozarr_array *grows = NULL;
    OK(ozarr_store_memory(&st));
    OK(ozarr_group_create_at(st, "", 3, OZARR_CREATE_NEW, &g));
    OK(ozarr_group_create_group(g, "sub", OZARR_CREATE_NEW, &dg));
    ozarr_group_free(dg);
    OK(ozarr_spec_new(OZARR_INT8, 2, SHAPE, &s));
    OK(ozarr_spec_set_chunks(s, CHUNKS));
    OK(ozarr_array_create_at(st, "a", s, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT8, NUMBERS, 24));
    OK(ozarr_spec_set_inner_chunks(s, TWO));
    OK(ozarr_spec_set_chunks(s, SHAPE));
    OK(ozarr_array_create_at(st, "sharded", s, OZARR_CREATE_NEW, &sharded));
    OK(ozarr_spec_set_inner_chunks(s, NULL));
    OK(ozarr_spec_set_chunks(s, CHUNKS));
    OK(ozarr_attr_set_int64(NODE, "number", 1));
    OK(ozarr_attr_set_string(NODE, "text", "x"));
    OK(ozarr_attr_set_bool(NODE, "flag", true));
    OK(ozarr_attr_set_strings(NODE, "texts", NAMES, 2));
    OK(ozarr_attr_set_numbers(NODE, "list", OZARR_INT64, START, 2));
    OK(ozarr_spec_new(OZARR_STRING, 1, &two, &form));
    OK(ozarr_array_create_at(st, "texts", form, OZARR_CREATE_NEW, &texts));
    ozarr_spec_free(form);
    OK(ozarr_spec_from_json(DOCUMENT_OF_LISTS, &form));
    OK(ozarr_array_create_at(st, "lists", form, OZARR_CREATE_NEW, &lists));
    ozarr_spec_free(form);
    OK(ozarr_dtype_parse("<M8[s]", 2, &d));
    OK(ozarr_spec_new_dtype(d, 1, &two, &ts));
    OK(ozarr_spec_set_zarr_format(ts, 2));
    OK(ozarr_dtype_struct(64, &p));
    OK(ozarr_dtype_add_field(p, "x", 0, d, 2, TWO));
    OK(ozarr_group_create_at(st, "nc", 2, OZARR_CREATE_NEW, &nc));
    OK(ozarr_group_nc_define_dimension(nc, "x", 2, true));
    OK(ozarr_attr_set_json(ozarr_group_node(nc), "multiscales", IMAGES));
    OK(ozarr_group_create_group(g, "ds", OZARR_CREATE_NEW, &dg));
    OK(ozarr_group_open_dataset(dg, &ds));
    define(ds);
    OK(ozarr_dataset_open_variable(ds, "t", &t));
    OK(ozarr_dataset_open_variable(ds, "f", &f));
    OK(ozarr_array_read_varlen(texts, NULL, &v));
    OK(ozarr_group_list_nodes(g, NULL, 1, &it));
    OK(ozarr_node_iter_next(it, &flag));
    OK(ozarr_array_list_chunks(a, false, &k));
    OK(ozarr_chunk_iter_next(k, &flag));
    OK(ozarr_shard_writer_new(sharded, START, &w));
    OK(ozarr_context_new(&c));
    OK(ozarr_array_create_at(st, "grows", s, OZARR_CREATE_NEW, &grows));
    OK(ozarr_appender_open(grows, 0, 0, 0, &ap));
    ozarr_array_free(grows);
    OK(ozarr_array_iread_region(a, TWO, TWO, OZARR_INT8, data, 4, &q));
    OK(ozarr_node_export(NODE, exported, sizeof exported, &exported_size));
    n = NULL, cp = NULL, ods = NULL;
    OK(ozarr_group_create_group(g, "run", OZARR_CREATE_NEW, &og));
    OK(ozarr_group_open_dataset(og, &ods));
    ozarr_group_free(og);
    OK(ozarr_dataset_define_time(ods, "time", 0, 0, DAYS, NULL, NULL));
    OK(ozarr_series_open(ods, "time", -1, 0, 0, &other_series));
    OK(ozarr_dataset_close(ods));
    set_structs();
    poison();
}

/* Frees what is left of the fixture. */
static void stale(void) {
    forget_outputs();
    for (int i = 0; i < KINDS; i++) freed[i] = live(i);
    ozarr_series_free(n), ozarr_series_free(other_series), ozarr_appender_free(ap), ozarr_request_free(q), ozarr_shard_writer_free(w);
    ozarr_chunk_iter_free(k), ozarr_varlen_free(v), ozarr_node_iter_free(it), ozarr_dtype_free(d), ozarr_dtype_free(p), ozarr_spec_free(s), ozarr_spec_free(ts);
    ozarr_array_free(a), ozarr_array_free(texts), ozarr_array_free(lists), ozarr_array_free(sharded), ozarr_array_free(f), ozarr_array_free(t);
    ozarr_dataset_free(ds), ozarr_group_free(cp), ozarr_group_free(dg), ozarr_group_free(nc), ozarr_group_free(g), ozarr_context_free(c), ozarr_store_free(st);
}

/* -- judging ------------------------------------------------------------------------------------------------------------ */

static int functions, refusals, acceptances;

/* A copy of a struct that says another size of itself, and has one byte behind its members. */
static void *resized(const void *of, size_t size, size_t struct_size, char behind) {
    static size_t copy[1024];
    memset(copy, 0, sizeof copy);
    memcpy(copy, of, size);
    copy[0] = struct_size;
    ((char *)copy)[size] = behind;
    return copy;
}

/* A copy of a struct in which a member is another. */
static void *altered(const void *of, size_t size, size_t offset, const void *value, size_t value_size) {
    static size_t copy[512];
    memcpy(copy, of, size);
    memcpy((char *)copy + offset, value, value_size);
    return copy;
}

static bool is_named(const ozarr_status *named, ozarr_status status) {
    while (*named != OZARR_OK && *named != status) named++;
    return *named == status && status != OZARR_OK;
}

/* What a call with one wrong argument has to do: fail with a status that the function's text names (`want`, if it is one), say why, make the
 * handles NULL that it was to give (`given` has the outputs' names, each between blanks), and leave all else as it was. */
static void judge(const char *function, const char *argument, const char *value, const ozarr_status *named, bool writes, const char *given,
                  ozarr_status want, const char *word, ozarr_status found) {
    char name[16];
    refusals++;
    if (found == OZARR_OK || (want != OZARR_OK ? found != want : !is_named(named, found)) || strstr(ozarr_last_error(), word) == NULL)
        FAIL("%s: %s as %s gave %s, expected %s; the last error is: %s", function, argument, value, ozarr_status_name(found),
             want != OZARR_OK ? ozarr_status_name(want) : "what its text names", ozarr_last_error());
    for (int i = 0; i < OUTPUT_COUNT; i++) {
        snprintf(name, sizeof name, " %s ", OUTPUTS[i].name);
        const bool to_null = OUTPUTS[i].handle && strstr(given, name) != NULL;
        if (!OUTPUTS[i].handle && (writes || found == OZARR_ERR_BUFFER_SIZE)) continue;
        if (!is_only(OUTPUTS[i].at, OUTPUTS[i].size, to_null ? 0 : POISON)) FAIL("%s: %s as %s wrote to %s", function, argument, value, OUTPUTS[i].name);
    }
}

static void accept(const char *function, const char *argument, const char *value, ozarr_status want, ozarr_status found) {
    acceptances++;
    if (found != want) FAIL("%s: %s as %s gave %s: %s", function, argument, value, ozarr_status_name(found), ozarr_last_error());
}
#endif
