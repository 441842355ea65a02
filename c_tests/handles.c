/* Handles: NULL, freed, of another type, invented: every function that takes one says so and does nothing else.
 * tests/boundary.rs checks that every exported function stands in this file. */
#include "table.h"
#include <stdbool.h>
#include <errno.h>
#include <fenv.h>

static char buf[256];
static size_t len;
static bool flag;
static uint32_t flags;
static double real;
static int32_t i32 = 77;
static int64_t i64, extents[] = {2, 2};

/* A call that fails makes those NULL that it was given, at once, and writes to no other. */
static ozarr_array *out_array;
static ozarr_store *out_store;
static ozarr_group *out_group;
static ozarr_node_iter *out_iter;
static ozarr_varlen *out_varlen;
static ozarr_dtype *out_dtype;
static ozarr_spec *out_spec;
static ozarr_chunk_iter *out_chunks;
static ozarr_shard_writer *out_writer;
static ozarr_dataset *out_dataset;
static ozarr_request *out_request;
static ozarr_appender *out_appender;
static ozarr_series *out_series;

static const struct {
    const char *name;
    void *slot;
} OUT[] = {
    {"&out_array", &out_array},
    {"&out_store", &out_store},
    {"&out_group", &out_group},
    {"&out_iter", &out_iter},
    {"&out_varlen", &out_varlen},
    {"&out_dtype", &out_dtype},
    {"&out_spec", &out_spec},
    {"&out_chunks", &out_chunks},
    {"&out_writer", &out_writer},
    {"&out_dataset", &out_dataset},
    {"&out_request", &out_request},
    {"&out_appender", &out_appender},
    {"&out_series", &out_series},
};
enum { OUTS = sizeof OUT / sizeof *OUT };

static void *const POISON = &len;

static void poison(void) {
    for (int i = 0; i < OUTS; i++) memcpy(OUT[i].slot, &POISON, sizeof POISON);
}

static void check_outs(int line, const char *call) {
    for (int i = 0; i < OUTS; i++) {
        const char *at = strstr(call, OUT[i].name);
        const bool given = at != NULL && strchr(",)", at[strlen(OUT[i].name)]) != NULL;
        void *found;
        memcpy(&found, OUT[i].slot, sizeof found);
        if (found != (given ? NULL : POISON)) FAIL("line %d: %s is %p after %s", line, OUT[i].name + 1, found, call);
    }
}

#undef ERR
#define ERR(expected, call) (poison(), check_status(__LINE__, #call, (call), (expected), "", ""), check_outs(__LINE__, #call))

static void every_array_call(ozarr_array *a, ozarr_status want) {
    ozarr_memory memory = OZARR_MEMORY_INIT;
    double data[4];
    memory.data = data, memory.size = sizeof data;
    ERR(want, ozarr_array_read(a, OZARR_FLOAT64, data, sizeof data));
    ERR(want, ozarr_array_write(a, OZARR_FLOAT64, data, sizeof data));
    ERR(want, ozarr_array_read_region(a, extents, extents, OZARR_FLOAT64, data, sizeof data));
    ERR(want, ozarr_array_write_region(a, extents, extents, OZARR_FLOAT64, data, sizeof data));
    ERR(want, ozarr_array_read_ex(a, NULL, &memory));
    ERR(want, ozarr_array_write_ex(a, NULL, &memory));
    const int64_t *lists[] = {extents, extents};
    const uint8_t mask[4] = {1, 1, 1, 1};
    ozarr_explanation explanation = OZARR_EXPLANATION_INIT;
    ozarr_stats stats = OZARR_STATS_INIT;
    ERR(want, ozarr_array_read_orthogonal(a, extents, lists, &memory));
    ERR(want, ozarr_array_write_orthogonal(a, extents, lists, &memory));
    ERR(want, ozarr_array_read_points(a, extents, 1, &memory));
    ERR(want, ozarr_array_write_points(a, extents, 1, &memory));
    ERR(want, ozarr_array_read_mask(a, NULL, mask, &memory));
    ERR(want, ozarr_array_write_mask(a, NULL, mask, &memory));
    ERR(want, ozarr_array_fill(a, NULL, OZARR_FLOAT64, data));
    ERR(want, ozarr_array_explain(a, NULL, NULL, false, &explanation));
    ERR(want, ozarr_array_partition(a, NULL, 1, 0, 0, extents, extents));
    ERR(want, ozarr_array_stats(a, &stats));
    ERR(want, ozarr_array_read_varlen(a, NULL, &out_varlen));
    ERR(want, ozarr_array_write_varlen(a, NULL, extents, data, sizeof data));
    const char *const strings[] = {"x", "y", "x", "y"};
    ERR(want, ozarr_array_write_strings(a, NULL, strings));
    ERR(want, ozarr_array_list_type(a, &i32));
    ERR(want, ozarr_array_fill_text(a, buf, sizeof buf, &len));
    ERR(want, ozarr_array_rank(a, &i32));
    ERR(want, ozarr_array_shape(a, extents));
    ERR(want, ozarr_array_chunk_shape(a, extents));
    ERR(want, ozarr_array_inner_chunk_shape(a, extents));
    ERR(want, ozarr_array_grid_shape(a, extents));
    ERR(want, ozarr_array_chunk_extent(a, 0, 0, extents, extents));
    ERR(want, ozarr_array_type(a, &i32));
    ERR(want, ozarr_array_item_size(a, &len));
    ERR(want, ozarr_array_dimension_name(a, 0, buf, sizeof buf, &len, &flag));
    ERR(want, ozarr_array_fill_value(a, &real, sizeof real, &flag));
    ERR(want, ozarr_array_copy_dtype(a, &out_dtype));
    ERR(want, ozarr_array_resize(a, extents, 0));
    ERR(want, ozarr_array_append(a, 0, 1, OZARR_FLOAT64, data, sizeof data));
    ERR(want, ozarr_array_chunk_count(a, false, &i64));
    ERR(want, ozarr_array_chunk_key(a, extents, buf, sizeof buf, &len));
    ERR(want, ozarr_array_chunk_place(a, extents, false, &flag, &i64, &i64));
    ERR(want, ozarr_array_chunk_read(a, extents, false, data, sizeof data, &len));
    ERR(want, ozarr_array_chunk_write(a, extents, false, data, sizeof data));
    ERR(want, ozarr_array_chunk_erase(a, extents, false, &flag));
    ERR(want, ozarr_array_list_chunks(a, false, &out_chunks));
    ERR(want, ozarr_array_region_is_aligned(a, NULL, false, &flag));
    ERR(want, ozarr_shard_writer_new(a, extents, &out_writer));
    ERR(want, ozarr_appender_open(a, 0, 0, 0, &out_appender));
    ERR(want, ozarr_array_wait_growth(a, 0, 0, 0, &i64));
    ERR(want, ozarr_array_copy_spec(a, 0, &out_spec));
    ozarr_info info = OZARR_INFO_INIT;
    ERR(want, ozarr_array_set_dimension_names(a, NULL));
    ERR(want, ozarr_array_nc_is_scalar(a, &flag));
    ERR(want, ozarr_array_nc_type(a, buf, sizeof buf, &len));
    ERR(want, ozarr_array_info(a, &info));
    ERR(want, ozarr_array_read_unpacked(a, NULL, &memory));
    ERR(want, ozarr_array_write_packed(a, NULL, &memory));
    ERR(want, ozarr_array_read_times(a, NULL, "days since 2026-01-01", &i64, sizeof i64));
    ERR(want, ozarr_array_write_times(a, NULL, "days since 2026-01-01", &i64, sizeof i64));
    ERR(want, ozarr_array_missing_value(a, &real, sizeof real, &flag));
    ERR(want, ozarr_array_iread_region(a, extents, extents, OZARR_FLOAT64, data, sizeof data, &out_request));
    ERR(want, ozarr_array_iwrite_region(a, extents, extents, OZARR_FLOAT64, data, sizeof data, 0, &out_request));
    ERR(want, ozarr_array_iread_ex(a, NULL, &memory, NULL, &out_request));
    ERR(want, ozarr_array_iwrite_ex(a, NULL, &memory, NULL, &out_request));
    ozarr_batch_entry entry = OZARR_BATCH_ENTRY_INIT;
    entry.array = a, entry.memory = &memory;
    ERR(want, ozarr_read_many(&entry, 1));
    ERR(want, ozarr_write_many(&entry, 1));
    ERR(want, ozarr_iread_many(&entry, 1, NULL, &out_request));
    ERR(want, ozarr_iwrite_many(&entry, 1, NULL, &out_request));
    ERR(want, ozarr_array_close(a));
}

static void every_dataset_call(ozarr_dataset *ds, ozarr_status want) {
    const char *const names[] = {"x"};
    ozarr_variable variable = OZARR_VARIABLE_INIT;
    ERR(want, ozarr_dataset_open_group(ds, &out_group));
    ERR(want, ozarr_dataset_define_dimension(ds, "x", 1));
    ERR(want, ozarr_dataset_resize_dimension(ds, "x", 1));
    ERR(want, ozarr_dataset_dimension_count(ds, &i64));
    ERR(want, ozarr_dataset_dimension(ds, 0, buf, sizeof buf, &len, &i64));
    ERR(want, ozarr_dataset_dimension_length(ds, "x", &i64, NULL));
    ERR(want, ozarr_dataset_define_variable(ds, "v", OZARR_INT8, 1, names, &out_array));
    ERR(want, ozarr_dataset_define_variable_ex(ds, "v", &variable, OZARR_CREATE_NEW, &out_array));
    ERR(want, ozarr_dataset_define_coordinate(ds, "x", OZARR_FLOAT64, 1, 0, &real, sizeof real, "m", &out_array));
    ERR(want, ozarr_series_open(ds, "t", -1, 0, 0, &out_series));
    ERR(want, ozarr_dataset_define_time(ds, "t", 1, 0, "days since 2026-01-01", NULL, &out_array));
    ERR(want, ozarr_dataset_set_coordinate(ds, "x"));
    ERR(want, ozarr_dataset_variable_count(ds, &i64));
    ERR(want, ozarr_dataset_variable(ds, 0, buf, sizeof buf, &len, &flag));
    ERR(want, ozarr_dataset_open_variable(ds, "x", &out_array));
    ERR(want, ozarr_dataset_close(ds));
}

static void every_node_call(ozarr_node *n, ozarr_status want) {
    const char *const strings[] = {"x"};
    ERR(want, ozarr_node_path(n, buf, sizeof buf, &len));
    ERR(want, ozarr_node_metadata(n, buf, sizeof buf, &len));
    ERR(want, ozarr_node_zarr_format(n, &i32));
    ERR(want, ozarr_node_set(n, "raw_attributes", "true"));
    ERR(want, ozarr_node_get(n, "mode", buf, sizeof buf, &len));
    ERR(want, ozarr_node_refresh(n, NULL, 0));
    ERR(want, ozarr_node_flush(n));
    ERR(want, ozarr_node_export(n, buf, sizeof buf, &len));
    ERR(want, ozarr_attr_nc_type(n, "x", buf, sizeof buf, &len));
    ERR(want, ozarr_attr_count(n, &i64));
    ERR(want, ozarr_attr_name(n, 0, buf, sizeof buf, &len));
    ERR(want, ozarr_attr_kind(n, "x", &i32));
    ERR(want, ozarr_attr_get_int64(n, "x", &i64));
    ERR(want, ozarr_attr_get_double(n, "x", &real));
    ERR(want, ozarr_attr_get_bool(n, "x", &flag));
    ERR(want, ozarr_attr_get_string(n, "x", buf, sizeof buf, &len));
    ERR(want, ozarr_attr_get_strings(n, "x", buf, sizeof buf, &len, &i64));
    ERR(want, ozarr_attr_get_numbers(n, "x", OZARR_INT64, extents, 2, &i64));
    ERR(want, ozarr_attr_get_json(n, "x", buf, sizeof buf, &len));
    ERR(want, ozarr_attr_set_int64(n, "x", 1));
    ERR(want, ozarr_attr_set_double(n, "x", 1));
    ERR(want, ozarr_attr_set_bool(n, "x", true));
    ERR(want, ozarr_attr_set_string(n, "x", "y"));
    ERR(want, ozarr_attr_set_strings(n, "x", strings, 1));
    ERR(want, ozarr_attr_set_numbers(n, "x", OZARR_INT64, extents, 2));
    ERR(want, ozarr_attr_set_json(n, "x", "1"));
    ERR(want, ozarr_attr_erase(n, "x"));
    ERR(want, ozarr_attrs_get(n, buf, sizeof buf, &len));
    ERR(want, ozarr_attrs_set(n, "{}"));
    ERR(want, ozarr_attrs_begin(n));
    ERR(want, ozarr_attrs_commit(n));
}

static void every_group_call(ozarr_group *g, ozarr_status want) {
    ERR(want, ozarr_checkpoint_commit(g));
    ERR(want, ozarr_checkpoint_abandon(g));
    ERR(want, ozarr_group_put(g, "a", OZARR_FLOAT64, 1, extents, &real, sizeof real));
    ERR(want, ozarr_group_get(g, "a", OZARR_FLOAT64, &real, sizeof real));
    ERR(want, ozarr_group_create_group(g, "x", OZARR_CREATE_NEW, &out_group));
    ERR(want, ozarr_group_open_group(g, "x", &out_group));
    ERR(want, ozarr_group_create_array(g, "x", NULL, OZARR_CREATE_NEW, &out_array));
    ERR(want, ozarr_group_open_array(g, "x", &out_array));
    ERR(want, ozarr_group_list_nodes(g, NULL, 1, &out_iter));
    ERR(want, ozarr_group_consolidate(g));
    ERR(want, ozarr_group_nc_version(g, buf, sizeof buf, &len));
    ERR(want, ozarr_group_nc_dimension_count(g, &i64));
    ERR(want, ozarr_group_nc_dimension(g, 0, buf, sizeof buf, &len, &i64, &flag));
    ERR(want, ozarr_group_nc_define_dimension(g, "x", 1, false));
    ERR(want, ozarr_group_image_count(g, &i64));
    ERR(want, ozarr_group_image_size(g, 0, &i64, &i64));
    ERR(want, ozarr_group_image_level(g, 0, 0, buf, sizeof buf, &len));
    ERR(want, ozarr_group_image_scale(g, 0, 0, &real, &real, 1));
    ERR(want, ozarr_group_image_axis_name(g, 0, 0, buf, sizeof buf, &len));
    ERR(want, ozarr_group_image_axis_kind(g, 0, 0, buf, sizeof buf, &len));
    ERR(want, ozarr_group_image_axis_unit(g, 0, 0, buf, sizeof buf, &len));
    ERR(want, ozarr_group_rename(g, "x", "y"));
    ERR(want, ozarr_group_erase(g, "x"));
    ERR(want, ozarr_group_consolidated_check(g, buf, sizeof buf, &len, &flag));
    ERR(want, ozarr_group_open_dataset(g, &out_dataset));
    ERR(want, ozarr_group_close(g));
}

static void every_spec_call(ozarr_spec *s, ozarr_status want) {
    const char *names[] = {"x", "y"};
    ERR(want, ozarr_array_create_ex("never.zarr", s, OZARR_CREATE_NEW, &out_array));
    ERR(want, ozarr_spec_set_zarr_format(s, 2));
    ERR(want, ozarr_spec_set_chunks(s, extents));
    ERR(want, ozarr_spec_set_inner_chunks(s, extents));
    ERR(want, ozarr_spec_set_type(s, OZARR_INT8));
    ERR(want, ozarr_spec_set_chunk_extents(s, 0, extents, 2));
    ERR(want, ozarr_spec_set_fill_value(s, OZARR_FLOAT64, &real));
    ERR(want, ozarr_spec_set_fill_dtype(s, NULL, &real, sizeof real));
    ERR(want, ozarr_spec_set_fill_json(s, "1"));
    ERR(want, ozarr_spec_set_member_json(s, "x", "{\"must_understand\": false}"));
    ERR(want, ozarr_spec_set_dimension_names(s, names));
    ERR(want, ozarr_spec_set_order(s, OZARR_ORDER_F));
    ERR(want, ozarr_spec_set_big_endian(s, true));
    ERR(want, ozarr_spec_set_separator(s, "."));
    ERR(want, ozarr_spec_set_compressor(s, "gzip", 1));
    ERR(want, ozarr_spec_set_shuffle(s, OZARR_SHUFFLE_BYTE));
    ERR(want, ozarr_spec_set_keep_bits(s, 5));
    ERR(want, ozarr_spec_set_zfp(s, OZARR_ZFP_REVERSIBLE, 0));
    ERR(want, ozarr_spec_set_checksum(s, true));
    ERR(want, ozarr_spec_set_shape(s, extents));
    ERR(want, ozarr_spec_set_attributes_json(s, "{}"));
    ERR(want, ozarr_spec_to_json(s, buf, sizeof buf, &len));
    ERR(want, ozarr_spec_suggest(s, buf, sizeof buf, &len));
}

static ozarr_status never(void *user, const char *key) {
    (void)user;
    FAIL("called with %s", key);
    return OZARR_OK;
}

static void every_store_call(ozarr_store *st, ozarr_status want) {
    ERR(want, ozarr_array_create_at(st, "x", NULL, OZARR_CREATE_NEW, &out_array));
    ERR(want, ozarr_array_open_at(st, "x", &out_array));
    ERR(want, ozarr_group_create_at(st, "x", 0, OZARR_CREATE_NEW, &out_group));
    ERR(want, ozarr_group_open_at(st, "x", &out_group));
    ERR(want, ozarr_store_node_kind(st, "x", &i32));
    ERR(want, ozarr_store_node_erase(st, "x"));
    ERR(want, ozarr_store_capabilities(st, &flags));
    ERR(want, ozarr_store_below(st, "x", "r", &out_store));
    ERR(want, ozarr_store_cached(st, 1024, "r", &out_store));
    ERR(want, ozarr_store_key_get(st, "x", buf, sizeof buf, &len));
    ERR(want, ozarr_store_key_put(st, "x", buf, 1));
    ERR(want, ozarr_store_key_erase(st, "x", &flag));
    ERR(want, ozarr_store_key_exists(st, "x", &flag));
    ERR(want, ozarr_store_key_list(st, "", never, NULL));
    ERR(want, ozarr_node_import_at(st, buf, 1, &out_array, &out_group));
    ERR(want, ozarr_store_flush(st));
    ozarr_stats stats = OZARR_STATS_INIT;
    ERR(want, ozarr_store_stats(st, &stats));
    ERR(want, ozarr_copy_at(st, "x", st, "y", NULL));
    ERR(want, ozarr_store_close(st));
}

static void every_iter_call(ozarr_node_iter *it, ozarr_status want) {
    ERR(want, ozarr_node_iter_next(it, &flag));
    ERR(want, ozarr_node_iter_name(it, buf, sizeof buf, &len));
    ERR(want, ozarr_node_iter_kind(it, &i32));
    ERR(want, ozarr_node_iter_error(it, buf, sizeof buf, &len));
}

static void every_varlen_call(ozarr_varlen *v, ozarr_status want) {
    const char *bytes = NULL;
    const int64_t *offsets = NULL;
    ERR(want, ozarr_varlen_count(v, &i64));
    ERR(want, ozarr_varlen_get(v, 0, &bytes, &len));
    ERR(want, ozarr_varlen_all(v, &offsets, &bytes, &len));
    CHECK(bytes == NULL && offsets == NULL);
}

static void every_chunk_iter_call(ozarr_chunk_iter *it, ozarr_status want) {
    ERR(want, ozarr_chunk_iter_next(it, &flag));
    ERR(want, ozarr_chunk_iter_index(it, extents));
    ERR(want, ozarr_chunk_iter_place(it, &i64, &i64));
}

static void every_shard_writer_call(ozarr_shard_writer *w, ozarr_status want) {
    double data[4] = {0};
    ERR(want, ozarr_shard_writer_put(w, extents, false, OZARR_FLOAT64, data, sizeof data));
    ERR(want, ozarr_shard_writer_finish(w));
}

static void every_appender_call(ozarr_appender *o, ozarr_status want) {
    ozarr_memory memory = OZARR_MEMORY_INIT;
    double data[4] = {0};
    memory.data = data, memory.size = sizeof data;
    ERR(want, ozarr_appender_append(o, 1, OZARR_FLOAT64, data, sizeof data));
    ERR(want, ozarr_appender_append_ex(o, 1, &memory));
    ERR(want, ozarr_appender_position(o, &i64, &i64));
    ERR(want, ozarr_appender_flush(o));
    ERR(want, ozarr_appender_close(o));
}

static void every_series_call(ozarr_series *n, ozarr_status want) {
    ozarr_memory memory = OZARR_MEMORY_INIT;
    double data[4] = {0};
    memory.data = data, memory.size = sizeof data;
    ERR(want, ozarr_series_put(n, "a", OZARR_FLOAT64, data, sizeof data));
    ERR(want, ozarr_series_put_ex(n, "a", &memory));
    ERR(want, ozarr_series_step(n, 1, 0, NULL, NULL));
    ERR(want, ozarr_series_position(n, &i64, &i64));
    ERR(want, ozarr_series_flush(n));
    ERR(want, ozarr_series_close(n));
}

static void every_context_call(ozarr_context *c, ozarr_status want) {
    ozarr_stats stats = OZARR_STATS_INIT;
    if (c == NULL) return; /* The default context. */
    ERR(want, ozarr_context_set(c, "threads", "1"));
    ERR(want, ozarr_context_get(c, "threads", buf, sizeof buf, &len));
    ERR(want, ozarr_context_stats(c, &stats));
    ERR(want, ozarr_context_set_log(c, OZARR_LOG_LEVEL_OFF, NULL, NULL));
    ozarr_store *st = NULL;
    ERR(want, ozarr_store_open_ex(c, "never.zarr", "r", NULL, &st));
}

static void every_dtype_call(ozarr_dtype *d, ozarr_status want) {
    ERR(want, ozarr_dtype_add_field(d, "x", 0, d, 0, NULL));
    ERR(want, ozarr_spec_new_dtype(d, 2, extents, &out_spec));
    ERR(want, ozarr_dtype_get_kind(d, &i32));
    ERR(want, ozarr_dtype_type(d, &i32));
    ERR(want, ozarr_dtype_item_size(d, &len));
    ERR(want, ozarr_dtype_byte_order(d, &i32));
    ERR(want, ozarr_dtype_unit(d, buf, sizeof buf, &len, &i64));
    ERR(want, ozarr_dtype_equal(d, d, &flag));
    ERR(want, ozarr_dtype_name(d, buf, sizeof buf, &len));
    ERR(want, ozarr_dtype_to_json(d, 2, buf, sizeof buf, &len));
    ERR(want, ozarr_dtype_field_count(d, &i64));
    ERR(want, ozarr_dtype_field_index(d, "x", &i64));
    ERR(want, ozarr_dtype_field_name(d, 0, buf, sizeof buf, &len));
    ERR(want, ozarr_dtype_field_offset(d, 0, &len));
    ERR(want, ozarr_dtype_copy_field_dtype(d, 0, &out_dtype));
    ERR(want, ozarr_dtype_field_shape(d, 0, extents, 2, &i32));
    ERR(want, ozarr_dtype_scalar_to_json(d, 2, &real, sizeof real, buf, sizeof buf, &len));
    ERR(want, ozarr_dtype_scalar_from_json(d, 2, "1", &real, sizeof real));
}

static void every_request_call(ozarr_request *r, ozarr_status want) {
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    ERR(want, ozarr_request_test(r, &flag));
    ERR(want, ozarr_request_wait(r, 0));
    ERR(want, ozarr_request_cancel(r));
    ERR(want, ozarr_request_get_state(r, &i32));
    ERR(want, ozarr_request_error(r, &info));
    if (r == NULL) return; /* In lists they are none. */
    ERR(want, ozarr_requests_wait_all(&r, 1, -1, NULL));
    ERR(want, ozarr_requests_wait_any(&r, 1, -1, &i64));
}

/* All calls of all types on one value. `but` is the one letter of the type that it is right for. */
static void every_call(void *p, char but, ozarr_status want) {
    if (but != 'a') every_array_call((ozarr_array *)p, want);
    if (but != 'g') every_group_call((ozarr_group *)p, want);
    if (but != 'a' && but != 'g') every_node_call(ozarr_array_node((ozarr_array *)p), want);
    CHECK(ozarr_group_node((ozarr_group *)p) == (ozarr_node *)p);
    if (but != 's') every_spec_call((ozarr_spec *)p, want);
    if (but != 't') every_store_call((ozarr_store *)p, want);
    if (but != 'i') every_iter_call((ozarr_node_iter *)p, want);
    if (but != 'v') every_varlen_call((ozarr_varlen *)p, want);
    if (but != 'c') every_context_call((ozarr_context *)p, want);
    if (but != 'd') every_dtype_call((ozarr_dtype *)p, want);
    if (but != 'k') every_chunk_iter_call((ozarr_chunk_iter *)p, want);
    if (but != 'w') every_shard_writer_call((ozarr_shard_writer *)p, want);
    if (but != 'D') every_dataset_call((ozarr_dataset *)p, want);
    if (but != 'r') every_request_call((ozarr_request *)p, want);
    if (but != 'p') every_appender_call((ozarr_appender *)p, want);
    if (but != 'n') every_series_call((ozarr_series *)p, want);
    EQUAL(i32, 77);
}

static void every_free(void *p, char but) {
    if (but != 'a') ozarr_array_free((ozarr_array *)p);
    if (but != 'g') ozarr_group_free((ozarr_group *)p);
    if (but != 's') ozarr_spec_free((ozarr_spec *)p);
    if (but != 't') ozarr_store_free((ozarr_store *)p);
    if (but != 'i') ozarr_node_iter_free((ozarr_node_iter *)p);
    if (but != 'v') ozarr_varlen_free((ozarr_varlen *)p);
    if (but != 'k') ozarr_chunk_iter_free((ozarr_chunk_iter *)p);
    if (but != 'w') ozarr_shard_writer_free((ozarr_shard_writer *)p);
    if (but != 'D') ozarr_dataset_free((ozarr_dataset *)p);
    if (but != 'r') ozarr_request_free((ozarr_request *)p);
    if (but != 'p') ozarr_appender_free((ozarr_appender *)p);
    if (but != 'n') ozarr_series_free((ozarr_series *)p);
    if (but != 'c') ozarr_context_free((ozarr_context *)p);
    if (but != 'd') ozarr_dtype_free((ozarr_dtype *)p);
    ozarr_buffer_free(p);
}

int main(void) {
    ozarr_store *st = NULL;
    ozarr_group *g = NULL;
    ozarr_array *a = NULL, *later = NULL, *texts = NULL;
    ozarr_spec *s = NULL;
    ozarr_node_iter *it = NULL;
    ozarr_varlen *v = NULL;
    ozarr_chunk_iter *k = NULL;
    ozarr_shard_writer *w = NULL;
    ozarr_context *c = NULL;
    ozarr_dtype *d = NULL;
    ozarr_dataset *ds = NULL;
    ozarr_request *r = NULL;
    ozarr_appender *o = NULL;
    ozarr_dataset *run = NULL;
    ozarr_series *n = NULL;
    double on_stack = 0, read[4];
    int32_t rank = 0;

    /* The functions that make handles, and those that take none. */
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", OZARR_VERSION_MAJOR, OZARR_VERSION_MINOR, OZARR_VERSION_PATCH);
    CHECK(strcmp(ozarr_version(), version) == 0 && ozarr_abi_version() == OZARR_ABI_VERSION);
    CHECK(ozarr_has_feature("zstd") && !ozarr_has_feature("none such") && !ozarr_has_feature(NULL));
    OK(ozarr_context_new(&c));
    OK(ozarr_dtype_parse("float64", 0, &d));
    ozarr_dtype_free(d);
    OK(ozarr_dtype_of(OZARR_FLOAT64, &d));
    ozarr_dtype_free(d);
    OK(ozarr_dtype_chars(3, ' ', &d));
    ozarr_dtype_free(d);
    OK(ozarr_dtype_struct(8, &d));
    OK(ozarr_store_memory(&st));
    OK(ozarr_spec_new(OZARR_FLOAT64, 2, extents, &s));
    OK(ozarr_spec_set_inner_chunks(s, extents));
    OK(ozarr_group_create_at(st, "", 0, OZARR_CREATE_NEW, &g));
    OK(ozarr_group_list_nodes(g, NULL, 1, &it));
    OK(ozarr_group_open_dataset(g, &ds));
    OK(ozarr_array_create_at(st, "a", s, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_list_chunks(a, true, &k));
    int64_t first[] = {0, 0};
    OK(ozarr_shard_writer_new(a, first, &w));
    OK(ozarr_array_iread_region(a, first, extents, OZARR_FLOAT64, read, sizeof read, &r));
    OK(ozarr_appender_open(a, 0, 0, 0, &o));
    OK(ozarr_dataset_create("run.zarr", 0, OZARR_CREATE_OVERWRITE, &run));
    OK(ozarr_dataset_define_time(run, "time", 0, 0, "days since 2026-01-01", NULL, NULL));
    OK(ozarr_series_open(run, "time", -1, 0, 0, &n));
    OK(ozarr_dataset_close(run));
    OK(ozarr_shutdown());

    OK(ozarr_array_create("texts.zarr", OZARR_STRING, 2, extents, NULL, OZARR_CREATE_OVERWRITE, &texts));
    OK(ozarr_array_read_varlen(texts, NULL, &v));
    OK(ozarr_array_close(texts));

    every_call(NULL, 0, OZARR_ERR_NULL);
    every_free(NULL, 0);
    every_call(&on_stack, 0, OZARR_ERR_INVALID_HANDLE);
    every_call((void *)(uintptr_t)1, 0, OZARR_ERR_INVALID_HANDLE);
    every_call((void *)UINTPTR_MAX, 0, OZARR_ERR_INVALID_HANDLE);
    every_call((char *)a + 1, 'x', OZARR_ERR_INVALID_HANDLE); /* the next slot, which is vacant */
    every_free(&on_stack, 0);
    CHECK(on_stack == 0);
    void *live[] = {a, g, s, st, it, v, c, d, k, w, ds, r, o, n};
    for (int i = 0; i < 14; i++) {
        every_call(live[i], "agstivcdkwDrpn"[i], OZARR_ERR_INVALID_HANDLE);
        every_free(live[i], "agstivcdkwDrpn"[i]);
    }
    ERR_SAYS(OZARR_ERR_INVALID_HANDLE, "ozarr_group", "ozarr_array", ozarr_array_rank((ozarr_array *)g, &rank));

    /* None of that did any harm; and what hangs on a handle outlives it. */
    ozarr_store_free(st);
    ozarr_group_free(g);
    OK(ozarr_array_rank(a, &rank));
    EQUAL(rank, 2);
    OK(ozarr_node_iter_next(it, &flag));
    ozarr_array_free(a);
    ozarr_spec_free(s);
    ozarr_node_iter_free(it);
    ozarr_varlen_free(v);
    ozarr_chunk_iter_free(k);
    ozarr_shard_writer_free(w);
    ozarr_context_free(c);
    ozarr_dtype_free(d);
    ozarr_dataset_free(ds);
    OK(ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    ozarr_appender_free(o);
    ozarr_series_free(n);
    for (int i = 0; i < 12; i++) every_call(live[i], 0, OZARR_ERR_INVALID_HANDLE);
    for (int i = 0; i < 12; i++) every_free(live[i], 0);
    ERR_SAYS(OZARR_ERR_INVALID_HANDLE, "freed", "", ozarr_array_rank(a, &rank));

    /* A new handle in the old one's slot is another handle; a closed one is gone, even if closing it failed. */
    OK(ozarr_array_create("again.zarr", OZARR_FLOAT64, 2, extents, NULL, OZARR_CREATE_NEW, &later));
    CHECK(later != a);
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_array_rank(a, &rank));
    OK(ozarr_array_close(later));
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_array_close(later));
    ozarr_array_free(later);
    TEXT(ozarr_status_name(OZARR_ERR_INVALID_HANDLE), "OZARR_ERR_INVALID_HANDLE");

    /* errno and the floating-point environment are the caller's. */
    OK(ozarr_array_open("again.zarr", "r", &a));
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    errno = 42;
    double data[4];
    OK(ozarr_array_read(a, OZARR_FLOAT64, data, sizeof data));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_array_open("nothing.zarr", "r", &later));
    EQUAL(errno, 42);
    EQUAL(fegetround(), FE_UPWARD);
    EQUAL(fetestexcept(FE_ALL_EXCEPT), 0);
    ozarr_array_free(a);
    return finish();
}
