/* Every pointer argument of every function, NULL in turn, all others being good: an error that names the argument, or no error where
 * the header allows it. tests/boundary.rs checks that none is forgotten. (The handles themselves are in handles.c.) */
#include "table.h"
#include <stdbool.h>
#include <unistd.h>

static int64_t SHAPE[] = {6, 4}, CHUNKS[] = {3, 4}, START[] = {0, 0}, numbers[2], i64;
static const char *const OPTIONS[] = {"file.sync", "none", NULL};
static const char DOCUMENT[] = "{\"zarr_format\":2,\"shape\":[1],\"chunks\":[1],\"dtype\":\"|i1\",\"compressor\":null,\"fill_value\":0,"
                               "\"order\":\"C\",\"filters\":null}";
static int8_t data[24];
static char buf[4096];
static size_t len;
static bool flag;
static double real;
static int32_t i32;
static ozarr_store *st, *ost;
static ozarr_group *g, *og;
static ozarr_array *a, *oa;
static ozarr_spec *s, *os;
static ozarr_iter *it, *oi;
static ozarr_context *c, *oc;
static ozarr_region region = OZARR_REGION_INIT;
static ozarr_memory memory = OZARR_MEMORY_INIT;
static ozarr_error_info info = OZARR_ERROR_INFO_INIT;

#define NULL_IS(argument, call) ERR_SAYS(OZARR_ERR_NULL, "`" argument "`", "NULL", call)
#define NULL_OK(argument, call) (OK(call), forget())

/* What a good call made. */
static void forget(void) {
    ozarr_store_free(ost);
    ozarr_array_free(oa);
    ost = NULL, oa = NULL;
}

int main(void) {
    region.start = START, region.shape = SHAPE;
    memory.data = data, memory.size = sizeof data;
    OK(ozarr_store_open("nulls.zarr", "r+", &st));
    OK(ozarr_context_new(&c));
    OK(ozarr_spec_new(OZARR_INT8, 2, SHAPE, &s));
    OK(ozarr_group_create_at(st, "", 3, OZARR_NEW, &g));
    OK(ozarr_group_create_at(st, "sub", 3, OZARR_NEW, &og));
    ozarr_group_free(og);
    og = NULL;
    OK(ozarr_array_create_at(st, "a", s, OZARR_NEW, &a));
    OK(ozarr_array_attr_set_int64(a, "number", 1));
    OK(ozarr_array_attr_set_string(a, "text", "x"));
    OK(ozarr_group_attr_set_int64(g, "number", 1));
    OK(ozarr_group_attr_set_string(g, "text", "x"));
    OK(ozarr_group_children(g, &it));
    OK(ozarr_iter_next(it, &flag));

    NULL_IS("info", ozarr_last_error_info(NULL));
    NULL_IS("location", ozarr_array_create(NULL, OZARR_INT8, 2, SHAPE, CHUNKS, OZARR_OVERWRITE, &oa));
    NULL_IS("shape", ozarr_array_create("nulls.zarr/made", OZARR_INT8, 2, NULL, CHUNKS, OZARR_OVERWRITE, &oa));
    NULL_OK("chunks", ozarr_array_create("nulls.zarr/made", OZARR_INT8, 2, SHAPE, NULL, OZARR_OVERWRITE, &oa));
    NULL_IS("out", ozarr_array_create("nulls.zarr/made", OZARR_INT8, 2, SHAPE, CHUNKS, OZARR_OVERWRITE, NULL));
    NULL_IS("location", ozarr_array_open(NULL, "r", &oa));
    NULL_IS("mode", ozarr_array_open("nulls.zarr/a", NULL, &oa));
    NULL_IS("out", ozarr_array_open("nulls.zarr/a", "r", NULL));
    NULL_IS("data", ozarr_array_read(a, OZARR_INT8, NULL, sizeof data));
    NULL_IS("data", ozarr_array_write(a, OZARR_INT8, NULL, sizeof data));
    NULL_IS("start", ozarr_array_read_region(a, NULL, SHAPE, OZARR_INT8, data, sizeof data));
    NULL_IS("shape", ozarr_array_read_region(a, START, NULL, OZARR_INT8, data, sizeof data));
    NULL_IS("data", ozarr_array_read_region(a, START, SHAPE, OZARR_INT8, NULL, sizeof data));
    NULL_IS("start", ozarr_array_write_region(a, NULL, SHAPE, OZARR_INT8, data, sizeof data));
    NULL_IS("shape", ozarr_array_write_region(a, START, NULL, OZARR_INT8, data, sizeof data));
    NULL_IS("data", ozarr_array_write_region(a, START, SHAPE, OZARR_INT8, NULL, sizeof data));
    NULL_IS("rank", ozarr_array_rank(a, NULL));
    NULL_IS("shape", ozarr_array_shape(a, NULL));
    NULL_IS("shape", ozarr_array_chunk_shape(a, NULL));
    NULL_IS("shape", ozarr_array_inner_chunk_shape(a, NULL));
    NULL_IS("type", ozarr_array_type(a, NULL));
    NULL_IS("bytes", ozarr_array_item_size(a, NULL));
    NULL_IS("format", ozarr_array_zarr_format(a, NULL));
    NULL_IS("buf", ozarr_array_dimension_name(a, 0, NULL, sizeof buf, &len, &flag));
    NULL_OK("len", ozarr_array_dimension_name(a, 0, buf, sizeof buf, NULL, &flag));
    NULL_OK("named", ozarr_array_dimension_name(a, 0, buf, sizeof buf, &len, NULL));
    NULL_IS("value", ozarr_array_fill_value(a, NULL, 1, &flag));
    NULL_OK("defined", ozarr_array_fill_value(a, data, 1, NULL));
    NULL_IS("buf", ozarr_array_path(a, NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_array_path(a, buf, sizeof buf, NULL));
    NULL_IS("buf", ozarr_array_metadata(a, NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_array_metadata(a, buf, sizeof buf, NULL));
    NULL_IS("shape", ozarr_array_resize(a, NULL));
    NULL_IS("shape", ozarr_array_resize_ex(a, NULL, 0));
    NULL_IS("data", ozarr_array_append(a, 0, 1, OZARR_INT8, NULL, 4));
    NULL_IS("key", ozarr_array_set(a, NULL, "true"));
    NULL_IS("value", ozarr_array_set(a, "write_fill_chunks", NULL));
    NULL_IS("location", ozarr_group_create(NULL, OZARR_OVERWRITE, &og));
    NULL_IS("out", ozarr_group_create("nulls.zarr/made", OZARR_OVERWRITE, NULL));
    NULL_IS("location", ozarr_group_open(NULL, "r", &og));
    NULL_IS("mode", ozarr_group_open("nulls.zarr", NULL, &og));
    NULL_IS("out", ozarr_group_open("nulls.zarr", "r", NULL));
    NULL_IS("path", ozarr_group_create_group(g, NULL, OZARR_OVERWRITE, &og));
    NULL_IS("out", ozarr_group_create_group(g, "made", OZARR_OVERWRITE, NULL));
    NULL_IS("path", ozarr_group_open_group(g, NULL, &og));
    NULL_IS("out", ozarr_group_open_group(g, "sub", NULL));
    NULL_IS("path", ozarr_group_create_array(g, NULL, s, OZARR_OVERWRITE, &oa));
    NULL_IS("spec", ozarr_group_create_array(g, "made", NULL, OZARR_OVERWRITE, &oa));
    NULL_IS("out", ozarr_group_create_array(g, "made", s, OZARR_OVERWRITE, NULL));
    NULL_IS("path", ozarr_group_open_array(g, NULL, &oa));
    NULL_IS("out", ozarr_group_open_array(g, "a", NULL));
    NULL_IS("format", ozarr_group_zarr_format(g, NULL));
    NULL_IS("buf", ozarr_group_metadata(g, NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_group_metadata(g, buf, sizeof buf, NULL));
    NULL_IS("out", ozarr_group_children(g, NULL));
    NULL_IS("more", ozarr_iter_next(it, NULL));
    NULL_IS("buf", ozarr_iter_name(it, NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_iter_name(it, buf, sizeof buf, NULL));
    NULL_IS("kind", ozarr_iter_kind(it, NULL));
    NULL_IS("buf", ozarr_iter_error(it, NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_iter_error(it, buf, sizeof buf, NULL));
    NULL_IS("count", ozarr_array_attr_count(a, NULL));
    NULL_IS("buf", ozarr_array_attr_name(a, 0, NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_array_attr_name(a, 0, buf, sizeof buf, NULL));
    NULL_IS("name", ozarr_array_attr_kind(a, NULL, &i32));
    NULL_IS("kind", ozarr_array_attr_kind(a, "number", NULL));
    NULL_IS("name", ozarr_array_attr_get_int64(a, NULL, &i64));
    NULL_IS("value", ozarr_array_attr_get_int64(a, "number", NULL));
    NULL_IS("name", ozarr_array_attr_get_double(a, NULL, &real));
    NULL_IS("value", ozarr_array_attr_get_double(a, "number", NULL));
    NULL_IS("name", ozarr_array_attr_get_string(a, NULL, buf, sizeof buf, &len));
    NULL_IS("buf", ozarr_array_attr_get_string(a, "text", NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_array_attr_get_string(a, "text", buf, sizeof buf, NULL));
    NULL_IS("name", ozarr_array_attr_get_json(a, NULL, buf, sizeof buf, &len));
    NULL_IS("buf", ozarr_array_attr_get_json(a, "number", NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_array_attr_get_json(a, "number", buf, sizeof buf, NULL));
    NULL_IS("name", ozarr_array_attr_set_int64(a, NULL, 1));
    NULL_IS("name", ozarr_array_attr_set_double(a, NULL, 1));
    NULL_IS("name", ozarr_array_attr_set_string(a, NULL, "x"));
    NULL_IS("value", ozarr_array_attr_set_string(a, "text", NULL));
    NULL_IS("name", ozarr_array_attr_set_json(a, NULL, "{}"));
    NULL_IS("json", ozarr_array_attr_set_json(a, "number", NULL));
    NULL_IS("name", ozarr_array_attr_erase(a, NULL));
    NULL_IS("buf", ozarr_array_attrs_get(a, NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_array_attrs_get(a, buf, sizeof buf, NULL));
    NULL_IS("json", ozarr_array_attrs_set(a, NULL));
    NULL_IS("count", ozarr_group_attr_count(g, NULL));
    NULL_IS("buf", ozarr_group_attr_name(g, 0, NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_group_attr_name(g, 0, buf, sizeof buf, NULL));
    NULL_IS("name", ozarr_group_attr_kind(g, NULL, &i32));
    NULL_IS("kind", ozarr_group_attr_kind(g, "number", NULL));
    NULL_IS("name", ozarr_group_attr_get_int64(g, NULL, &i64));
    NULL_IS("value", ozarr_group_attr_get_int64(g, "number", NULL));
    NULL_IS("name", ozarr_group_attr_get_double(g, NULL, &real));
    NULL_IS("value", ozarr_group_attr_get_double(g, "number", NULL));
    NULL_IS("name", ozarr_group_attr_get_string(g, NULL, buf, sizeof buf, &len));
    NULL_IS("buf", ozarr_group_attr_get_string(g, "text", NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_group_attr_get_string(g, "text", buf, sizeof buf, NULL));
    NULL_IS("name", ozarr_group_attr_get_json(g, NULL, buf, sizeof buf, &len));
    NULL_IS("buf", ozarr_group_attr_get_json(g, "number", NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_group_attr_get_json(g, "number", buf, sizeof buf, NULL));
    NULL_IS("name", ozarr_group_attr_set_int64(g, NULL, 1));
    NULL_IS("name", ozarr_group_attr_set_double(g, NULL, 1));
    NULL_IS("name", ozarr_group_attr_set_string(g, NULL, "x"));
    NULL_IS("value", ozarr_group_attr_set_string(g, "text", NULL));
    NULL_IS("name", ozarr_group_attr_set_json(g, NULL, "{}"));
    NULL_IS("json", ozarr_group_attr_set_json(g, "number", NULL));
    NULL_IS("name", ozarr_group_attr_erase(g, NULL));
    NULL_IS("buf", ozarr_group_attrs_get(g, NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_group_attrs_get(g, buf, sizeof buf, NULL));
    NULL_IS("json", ozarr_group_attrs_set(g, NULL));
    NULL_OK("region", ozarr_array_read_ex(a, NULL, &memory));
    NULL_IS("memory", ozarr_array_read_ex(a, &region, NULL));
    NULL_OK("region", ozarr_array_write_ex(a, NULL, &memory));
    NULL_IS("memory", ozarr_array_write_ex(a, &region, NULL));
    NULL_IS("shape", ozarr_spec_new(OZARR_INT8, 2, NULL, &os));
    NULL_IS("out", ozarr_spec_new(OZARR_INT8, 2, SHAPE, NULL));
    NULL_IS("document", ozarr_spec_from_json(NULL, &os));
    NULL_IS("out", ozarr_spec_from_json(DOCUMENT, NULL));
    NULL_IS("location", ozarr_array_create_ex(NULL, s, OZARR_OVERWRITE, &oa));
    NULL_IS("spec", ozarr_array_create_ex("nulls.zarr/made", NULL, OZARR_OVERWRITE, &oa));
    NULL_IS("out", ozarr_array_create_ex("nulls.zarr/made", s, OZARR_OVERWRITE, NULL));
    NULL_IS("chunks", ozarr_spec_set_chunks(s, NULL));
    NULL_IS("chunks", ozarr_spec_set_inner_chunks(s, NULL));
    NULL_IS("value", ozarr_spec_set_fill_value(s, OZARR_INT8, NULL));
    NULL_IS("json", ozarr_spec_set_fill_json(s, NULL));
    NULL_IS("names", ozarr_spec_set_dimension_names(s, NULL));
    NULL_IS("name", ozarr_spec_set_compressor(s, NULL, 1));
    NULL_IS("json", ozarr_spec_set_codecs_json(s, NULL));
    NULL_IS("json", ozarr_spec_set_compressor_json(s, NULL));
    NULL_IS("json", ozarr_spec_set_filters_json(s, NULL));
    NULL_IS("json", ozarr_spec_set_attributes_json(s, NULL));
    NULL_IS("buf", ozarr_spec_to_json(s, NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_spec_to_json(s, buf, sizeof buf, NULL));
    NULL_IS("buf", ozarr_spec_suggest(s, NULL, sizeof buf, &len));
    NULL_OK("len", ozarr_spec_suggest(s, buf, sizeof buf, NULL));
    NULL_IS("location", ozarr_store_open(NULL, "r", &ost));
    NULL_IS("mode", ozarr_store_open("nulls.zarr", NULL, &ost));
    NULL_IS("out", ozarr_store_open("nulls.zarr", "r", NULL));
    NULL_OK("context", ozarr_store_open_ex(NULL, "nulls.zarr", "r", OPTIONS, &ost));
    NULL_IS("location", ozarr_store_open_ex(c, NULL, "r", OPTIONS, &ost));
    NULL_IS("mode", ozarr_store_open_ex(c, "nulls.zarr", NULL, OPTIONS, &ost));
    NULL_OK("options", ozarr_store_open_ex(c, "nulls.zarr", "r", NULL, &ost));
    NULL_IS("out", ozarr_store_open_ex(c, "nulls.zarr", "r", OPTIONS, NULL));
    NULL_IS("out", ozarr_store_memory(NULL));
    NULL_IS("path", ozarr_array_create_at(st, NULL, s, OZARR_OVERWRITE, &oa));
    NULL_IS("spec", ozarr_array_create_at(st, "made", NULL, OZARR_OVERWRITE, &oa));
    NULL_IS("out", ozarr_array_create_at(st, "made", s, OZARR_OVERWRITE, NULL));
    NULL_IS("path", ozarr_array_open_at(st, NULL, &oa));
    NULL_IS("out", ozarr_array_open_at(st, "a", NULL));
    NULL_IS("path", ozarr_group_create_at(st, NULL, 0, OZARR_OVERWRITE, &og));
    NULL_IS("out", ozarr_group_create_at(st, "made", 0, OZARR_OVERWRITE, NULL));
    NULL_IS("path", ozarr_group_open_at(st, NULL, &og));
    NULL_IS("out", ozarr_group_open_at(st, "sub", NULL));
    NULL_IS("path", ozarr_store_node_kind(st, NULL, &i32));
    NULL_IS("kind", ozarr_store_node_kind(st, "a", NULL));
    NULL_IS("path", ozarr_store_node_erase(st, NULL));
    NULL_IS("location", ozarr_node_open(NULL, "r", &oa, &og));
    NULL_IS("mode", ozarr_node_open("nulls.zarr", NULL, &oa, &og));
    NULL_IS("array", ozarr_node_open("nulls.zarr", "r", NULL, &og));
    NULL_IS("group", ozarr_node_open("nulls.zarr", "r", &oa, NULL));
    NULL_IS("location", ozarr_node_erase(NULL));
    NULL_IS("out", ozarr_context_new(NULL));
    NULL_IS("key", ozarr_context_set(c, NULL, "1"));
    NULL_IS("value", ozarr_context_set(c, "threads", NULL));
    NULL_OK("user", ozarr_context_set_log(c, OZARR_LOG_OFF, NULL, NULL));

    CHECK(strstr(ozarr_last_error(), "`value`") != NULL);

    /* Nothing was made, nothing changed. */
    CHECK(ost == NULL && og == NULL && oa == NULL && os == NULL && oi == NULL && oc == NULL);
    CHECK(access("nulls.zarr/gone", F_OK) != 0 && access("nulls.zarr/a/zarr.json", F_OK) == 0);
    OK(ozarr_array_shape(a, numbers));
    EQUAL(numbers[0], 6);

    /* Members of structs; none at all where there is nothing to say; sizes that are not theirs. */
    ozarr_region r = OZARR_REGION_INIT;
    ozarr_memory m = OZARR_MEMORY_INIT;
    ERR_SAYS(OZARR_ERR_NULL, "region->start", "NULL", ozarr_array_read_ex(a, &r, &memory));
    r.start = START;
    ERR_SAYS(OZARR_ERR_NULL, "region->shape", "NULL", ozarr_array_write_ex(a, &r, &memory));
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "", "", ozarr_array_read_ex(a, NULL, &m));
    m.size = sizeof data;
    ERR_SAYS(OZARR_ERR_NULL, "memory->data", "NULL", ozarr_array_write_ex(a, NULL, &m));
    static const size_t SIZES[] = {0, 1, sizeof(size_t), sizeof(ozarr_region) - 1, 4097, SIZE_MAX};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        r = region, m = memory;
        r.struct_size = m.struct_size = info.struct_size = SIZES[i];
        ERR_SAYS(OZARR_ERR_ARGUMENT, "region", "struct_size", ozarr_array_read_ex(a, &r, &memory));
        ERR_SAYS(OZARR_ERR_ARGUMENT, "memory", "struct_size", ozarr_array_read_ex(a, &region, &m));
        ERR_SAYS(OZARR_ERR_ARGUMENT, "info", "struct_size", ozarr_last_error_info(&info));
    }
    union { ozarr_region region; char bytes[sizeof(ozarr_region) + 16]; } newer;
    memset(&newer, 0, sizeof newer);
    newer.region = region;
    newer.region.struct_size = sizeof newer;
    OK(ozarr_array_read_ex(a, &newer.region, &memory));
    newer.bytes[sizeof newer - 1] = 1;
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "region", "came after", ozarr_array_read_ex(a, &newer.region, &memory));

    /* Texts that are no UTF-8 (an overlong form, a half of a surrogate pair, a byte alone), wherever a text goes in. */
    static const char *const BAD[] = {"x\xff", "\xc0\xaf", "\xed\xa0\x80", "a\xc3"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        const char *bad = BAD[i], *names[] = {bad, NULL}, *key[] = {bad, "x", NULL}, *value[] = {"file.sync", bad, NULL};
#define BAD_TEXT(argument, call) ERR_SAYS(OZARR_ERR_ARGUMENT, "`" argument "`", "UTF-8", call)
        BAD_TEXT("location", ozarr_array_create(bad, OZARR_INT8, 2, SHAPE, NULL, OZARR_NEW, &oa));
        BAD_TEXT("location", ozarr_array_create_ex(bad, s, OZARR_NEW, &oa));
        BAD_TEXT("location", ozarr_group_create(bad, OZARR_NEW, &og));
        BAD_TEXT("location", ozarr_store_open(bad, "r", &ost));
        BAD_TEXT("location", ozarr_node_open(bad, "r", &oa, &og));
        BAD_TEXT("location", ozarr_node_erase(bad));
        BAD_TEXT("mode", ozarr_array_open("nulls.zarr/a", bad, &oa));
        BAD_TEXT("path", ozarr_array_create_at(st, bad, s, OZARR_NEW, &oa));
        BAD_TEXT("path", ozarr_group_open_group(g, bad, &og));
        BAD_TEXT("path", ozarr_store_node_kind(st, bad, &i32));
        BAD_TEXT("name", ozarr_array_attr_set_int64(a, bad, 1));
        BAD_TEXT("value", ozarr_array_attr_set_string(a, "text", bad));
        BAD_TEXT("json", ozarr_group_attr_set_json(g, "text", bad));
        BAD_TEXT("json", ozarr_group_attrs_set(g, bad));
        BAD_TEXT("document", ozarr_spec_from_json(bad, &os));
        BAD_TEXT("json", ozarr_spec_set_fill_json(s, bad));
        BAD_TEXT("names", ozarr_spec_set_dimension_names(s, names));
        BAD_TEXT("name", ozarr_spec_set_compressor(s, bad, 1));
        BAD_TEXT("options", ozarr_store_open_ex(NULL, "nulls.zarr", "r", key, &ost));
        BAD_TEXT("options", ozarr_store_open_ex(NULL, "nulls.zarr", "r", value, &ost));
        BAD_TEXT("key", ozarr_context_set(c, bad, "1"));
        BAD_TEXT("value", ozarr_array_set(a, "write_fill_chunks", bad));
        CHECK(!ozarr_has_feature(bad));
    }
    ozarr_iter_free(it);
    ozarr_spec_free(s);
    ozarr_context_free(c);
    ozarr_array_free(a);
    ozarr_group_free(g);
    OK(ozarr_store_close(st));
    return finish();
}
