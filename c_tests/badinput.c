/* Bad input: wrong arguments, missing nodes, damaged documents and chunks. Each has its own status, a message that names key and
 * field, and changes nothing that is stored. (c_tests/run.cmake fails the test if anything is printed.) */
#include "table.h"
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t SHAPE[] = {6, 4}, CHUNKS[] = {3, 4};
static ozarr_array *a;
static ozarr_group *g;
static ozarr_spec *s;

/* -- arguments ---------------------------------------------------------------------------------------------------------- */

static void wrong_arguments(void) {
    int64_t negative[] = {-1, 4}, zero[] = {0, 4}, start[] = {5, 0}, count[] = {2, 4};
    int8_t v[24];
    ERR_SAYS(OZARR_ERR_ARGUMENT, "type", "99", ozarr_array_create("x.zarr", 99, 2, SHAPE, NULL, OZARR_CREATE_NEW, &a));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "type", "", ozarr_array_create("x.zarr", OZARR_AS_STORED, 2, SHAPE, NULL, OZARR_CREATE_NEW, &a));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "shape", "-1", ozarr_array_create("x.zarr", OZARR_INT8, 2, negative, NULL, OZARR_CREATE_NEW, &a));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "chunks", "0", ozarr_array_create("x.zarr", OZARR_INT8, 2, SHAPE, zero, OZARR_CREATE_NEW, &a));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "mode", "7", ozarr_array_create("x.zarr", OZARR_INT8, 2, SHAPE, NULL, 7, &a));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "w", "r+", ozarr_array_open("x.zarr", "w", &a));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "UTF-8", "location", ozarr_array_open("x\xff.zarr", "r", &a));
    ERR(OZARR_ERR_LOCATION, ozarr_array_open("", "r", &a));
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "gopher", "", ozarr_array_open("gopher://x/y.zarr", "r", &a));
    CHECK(a == NULL && access("x.zarr", F_OK) != 0);

    OK(ozarr_array_create("args.zarr", OZARR_INT8, 2, SHAPE, CHUNKS, OZARR_CREATE_NEW, &a));
    ERR_SAYS(OZARR_ERR_BOUNDS, "dimension 0", "6", ozarr_array_read_region(a, start, count, OZARR_INT8, v, sizeof v));
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "23", "24", ozarr_array_read(a, OZARR_INT8, v, 23));
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "24", "48", ozarr_array_write(a, OZARR_INT16, v, 24));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "type", "-3", ozarr_array_write(a, -3, v, 24));
    ERR(OZARR_ERR_ARGUMENT, ozarr_array_resize(a, negative, 0));
    OK(ozarr_array_close(a));
    a = NULL;
}

/* Chunks that are not there, and what is no whole chunk. */
static void wrong_chunks(void) {
    int64_t outside[] = {2, 0}, negative[] = {0, -1}, first[] = {0, 0}, inner[] = {1, 4}, count = -1, offset, size;
    int8_t v[24] = {0};
    size_t used = 99;
    bool stored = true;
    ozarr_shard_writer *w = NULL;
    OK(ozarr_array_create("chunks.zarr", OZARR_INT8, 2, SHAPE, CHUNKS, OZARR_CREATE_NEW, &a));
    ERR_SAYS(OZARR_ERR_BOUNDS, "dimension 0", "2", ozarr_array_chunk_place(a, outside, false, &stored, &offset, &size));
    ERR_SAYS(OZARR_ERR_BOUNDS, "index", "-1", ozarr_array_chunk_write(a, negative, false, v, 1));
    ERR_SAYS(OZARR_ERR_MISSING, "c/0/0", "not stored", ozarr_array_chunk_read(a, first, false, v, sizeof v, &used));
    CHECK(stored && used == 99);
    OK(ozarr_array_chunk_write(a, first, false, v, 5));
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "4", "5", ozarr_array_chunk_read(a, first, true, v, 4, &used));
    EQUAL(used, 5);
    OK(ozarr_array_chunk_count(a, true, &count));
    EQUAL(count, 1);
    ERR_SAYS(OZARR_ERR_STATE, "not sharded", "", ozarr_shard_writer_new(a, first, &w));
    ozarr_array_free(a);
    OK(ozarr_spec_new(OZARR_INT8, 2, SHAPE, &s));
    OK(ozarr_spec_set_chunks(s, CHUNKS));
    OK(ozarr_spec_set_inner_chunks(s, inner));
    OK(ozarr_array_create_ex("inner.zarr/a", s, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(s);
    OK(ozarr_shard_writer_new(a, first, &w));
    int64_t third[] = {3, 0}, second[] = {1, 0};
    ERR_SAYS(OZARR_ERR_BOUNDS, "[3, 0]", "shard", ozarr_shard_writer_put(w, third, false, OZARR_INT8, v, 4));
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "3", "4", ozarr_shard_writer_put(w, second, false, OZARR_INT8, v, 3));
    v[0] = 1;
    OK(ozarr_shard_writer_put(w, second, false, OZARR_INT8, v, 4));
    ERR_SAYS(OZARR_ERR_STATE, "already", "", ozarr_shard_writer_put(w, second, false, OZARR_INT8, v, 4));
    OK(ozarr_array_chunk_count(a, true, &count));
    EQUAL(count, 0);
    OK(ozarr_shard_writer_finish(w));
    ERR(OZARR_ERR_STATE, ozarr_shard_writer_finish(w));
    ozarr_shard_writer_free(w);
    OK(ozarr_array_chunk_place(a, second, true, &stored, &offset, &size));
    CHECK(stored && offset == 0 && size > 0);
    OK(ozarr_array_chunk_erase(a, second, true, &stored));
    CHECK(stored && access("inner.zarr/a/c/0/0", F_OK) != 0);
    OK(ozarr_array_chunk_erase(a, second, true, &stored));
    CHECK(!stored);
    ozarr_array_free(a);
    a = NULL;
}

static void missing_nodes(void) {
    OK(ozarr_group_create("miss.zarr", OZARR_CREATE_NEW, &g));
    ozarr_group_free(g);
    g = NULL;
    int64_t shape[] = {1};
    OK(ozarr_array_create("miss.zarr/temperature", OZARR_INT8, 1, shape, NULL, OZARR_CREATE_NEW, &a));
    ozarr_array_free(a);
    a = NULL;
    ERR_SAYS(OZARR_ERR_NOT_FOUND, "temprature", "temperature", ozarr_array_open("miss.zarr/temprature", "r", &a));
    ERR_SAYS(OZARR_ERR_NOT_FOUND, "nowhere.zarr", "", ozarr_array_open("nowhere.zarr/x", "r", &a));
    ERR_SAYS(OZARR_ERR_NODE_KIND, "group", "array", ozarr_array_open("miss.zarr", "r", &a));
    ERR_SAYS(OZARR_ERR_NODE_KIND, "array", "group", ozarr_group_open("miss.zarr/temperature", "r", &g));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_node_erase("miss.zarr/nothing"));
    ERR(OZARR_ERR_NODE_KIND, ozarr_array_create("miss.zarr/temperature/below", OZARR_INT8, 1, shape, NULL, OZARR_CREATE_NEW, &a));
    CHECK(a == NULL && g == NULL);
}

/* -- documents ---------------------------------------------------------------------------------------------------------- */

#define V3(member) "{\"zarr_format\":3,\"node_type\":\"array\"," member \
    "\"shape\":[6,4],\"data_type\":\"int8\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[3,4]}}," \
    "\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,\"codecs\":[{\"name\":\"bytes\"}]}"
#define V3_WITH(shape, type, grid, keys, fill, codecs) "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":" shape \
    ",\"data_type\":" type ",\"chunk_grid\":" grid ",\"chunk_key_encoding\":" keys ",\"fill_value\":" fill ",\"codecs\":" codecs "}"
#define GRID "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[3,4]}}"
#define KEYS "{\"name\":\"default\"}"
#define V2(shape, chunks, dtype, compressor, fill, order, filters) "{\"zarr_format\":2,\"shape\":" shape ",\"chunks\":" chunks \
    ",\"dtype\":" dtype ",\"compressor\":" compressor ",\"fill_value\":" fill ",\"order\":" order ",\"filters\":" filters "}"

static const struct { const char *file, *document; ozarr_status status; const char *field; } DOCUMENTS[] = {
    {"zarr.json", "", OZARR_ERR_METADATA, ""},
    {"zarr.json", "{\"zarr_format\":3,\"node_type\":\"array\",\"sha", OZARR_ERR_METADATA, ""},
    {"zarr.json", "[1,2]", OZARR_ERR_METADATA, ""},
    {"zarr.json", "{\"zarr_format\":3}", OZARR_ERR_METADATA, "node_type"},
    {"zarr.json", "{\"zarr_format\":4,\"node_type\":\"array\"}", OZARR_ERR_UNSUPPORTED, "zarr_format"},
    {"zarr.json", "{\"zarr_format\":2,\"node_type\":\"array\"}", OZARR_ERR_METADATA, "zarr_format"},
    {"zarr.json", "{\"zarr_format\":3,\"node_type\":\"array\"}", OZARR_ERR_METADATA, "shape"},
    {".zarray", "{\"zarr_format\":4}", OZARR_ERR_UNSUPPORTED, "zarr_format"},
    {".zarray", "{\"zarr_format\":2}", OZARR_ERR_METADATA, "shape"},
    {"zarr.json", V3_WITH("[6,4]", "\"int8\"", "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[3,4],\"x\":1}}", KEYS, "0", "[{\"name\":\"bytes\"}]"), OZARR_ERR_METADATA, "chunk_grid.configuration.x"},
    {"zarr.json", V3_WITH("[6,4]", "\"int8\"", "{\"name\":\"regular\"}", KEYS, "0", "[{\"name\":\"bytes\"}]"), OZARR_ERR_METADATA, "chunk_grid.configuration.chunk_shape"},
    {"zarr.json", V3_WITH("[6,4]", "\"int8\"", GRID, "{\"name\":\"default\",\"x\":1}", "0", "[{\"name\":\"bytes\"}]"), OZARR_ERR_METADATA, "chunk_key_encoding.x"},
    {"zarr.json", V3_WITH("[6,4]", "\"int8\"", GRID, KEYS, "0", "[{\"name\":\"bytes\"},{}]"), OZARR_ERR_METADATA, "codecs[1].name"},
    {".zarray", V2("[6,4]", "[3,4]", "\"|i1\"", "{\"level\":1}", "0", "\"C\"", "null"), OZARR_ERR_METADATA, "compressor.id"},
    {"zarr.json", "{\"zarr_format\":3,\"node_type\":\"tree\"}", OZARR_ERR_METADATA, "node_type"},
    {"zarr.json", V3("\"new_thing\":{\"name\":\"x\"},"), OZARR_ERR_EXTENSION, "new_thing"},
    {"zarr.json", V3("\"storage_transformers\":[{\"name\":\"x\"}],"), OZARR_ERR_EXTENSION, "storage_transformers"},
    {"zarr.json", V3_WITH("[6]", "\"int8\"", GRID, KEYS, "0", "[{\"name\":\"bytes\"}]"), OZARR_ERR_METADATA, "chunk_grid.configuration.chunk_shape"},
    {"zarr.json", V3_WITH("[6,-4]", "\"int8\"", GRID, KEYS, "0", "[{\"name\":\"bytes\"}]"), OZARR_ERR_METADATA, "shape"},
    {"zarr.json", V3_WITH("\"6\"", "\"int8\"", GRID, KEYS, "0", "[{\"name\":\"bytes\"}]"), OZARR_ERR_METADATA, "shape"},
    {"zarr.json", V3_WITH("[6,4]", "\"int9\"", GRID, KEYS, "0", "[{\"name\":\"bytes\"}]"), OZARR_ERR_UNSUPPORTED, "data_type"},
    {"zarr.json", V3_WITH("[6,4]", "\"int8\"", "{\"name\":\"hexagonal\"}", KEYS, "0", "[{\"name\":\"bytes\"}]"), OZARR_ERR_UNSUPPORTED, "chunk_grid"},
    {"zarr.json", V3_WITH("[6,4]", "\"int8\"", GRID, "{\"name\":\"hilbert\"}", "0", "[{\"name\":\"bytes\"}]"), OZARR_ERR_UNSUPPORTED, "chunk_key_encoding"},
    {"zarr.json", V3_WITH("[6,4]", "\"int8\"", GRID, KEYS, "1000", "[{\"name\":\"bytes\"}]"), OZARR_ERR_METADATA, "fill_value"},
    {"zarr.json", V3_WITH("[6,4]", "\"int8\"", GRID, KEYS, "\"x\"", "[{\"name\":\"bytes\"}]"), OZARR_ERR_METADATA, "fill_value"},
    {"zarr.json", V3_WITH("[6,4]", "\"string\"", GRID, KEYS, "\"\"", "[]"), OZARR_ERR_METADATA, "codecs"},
    {"zarr.json", V3_WITH("[6,4]", "\"int8\"", GRID, KEYS, "0", "[{\"name\":\"bytes\"},{\"name\":\"middle-out\"}]"), OZARR_ERR_UNSUPPORTED, "codecs[1]"},
    {"zarr.json", V3_WITH("[6,4]", "\"string\"", GRID, KEYS, "\"\"", "[{\"name\":\"gzip\"}]"), OZARR_ERR_METADATA, "codecs"},
    {"zarr.json", V3_WITH("[6,4]", "\"int8\"", GRID, KEYS, "0", "[{\"name\":\"transpose\",\"configuration\":{\"order\":[0,0]}},{\"name\":\"bytes\"}]"), OZARR_ERR_METADATA, "codecs[0].configuration.order"},
    {".zarray", "{\"zarr_format\":2,\"shape\":[6,4]", OZARR_ERR_METADATA, ""},
    {".zarray", V2("[6,4]", "[3,4]", "\"|O\"", "null", "0", "\"C\"", "null"), OZARR_ERR_METADATA, "dtype"},
    {".zarray", V2("[6,4]", "[3]", "\"|i1\"", "null", "0", "\"C\"", "null"), OZARR_ERR_METADATA, "chunks"},
    {".zarray", V2("[6,4]", "[3,0]", "\"|i1\"", "null", "0", "\"C\"", "null"), OZARR_ERR_METADATA, "chunks"},
    {".zarray", V2("[6,4]", "[3,4]", "\"|i1\"", "{\"id\":\"middle-out\"}", "0", "\"C\"", "null"), OZARR_ERR_UNSUPPORTED, "compressor"},
    {".zarray", V2("[6,4]", "[3,4]", "\"|i1\"", "null", "0", "\"Q\"", "null"), OZARR_ERR_METADATA, "order"},
    {".zarray", V2("[6,4]", "[3,4]", "\"|i1\"", "null", "0", "\"C\"", "[{\"id\":\"middle-out\"}]"), OZARR_ERR_UNSUPPORTED, "filters"},
    {".zarray", V2("[6,4]", "[3,4]", "\"|i1\"", "null", "\"x\"", "\"C\"", "null"), OZARR_ERR_METADATA, "fill_value"},
};

/* An array whose codecs are not known opens, for its metadata and attributes; reading it says what is missing. */
static ozarr_status open_and_read(const char *location, const char *mode) {
    int8_t v[24];
    ozarr_array *opened = NULL;
    ozarr_status status = ozarr_array_open(location, mode, &opened);
    if (status != OZARR_OK) return opened == NULL ? status : OZARR_OK;
    status = ozarr_array_read(opened, OZARR_INT8, v, sizeof v);
    ozarr_array_free(opened);
    return status;
}

/* Each document is refused with its status; key and field are named; the file is as it was. */
static void damaged_documents(void) {
    for (size_t i = 0; i < sizeof DOCUMENTS / sizeof *DOCUMENTS; i++) {
        char folder[32], path[64];
        int before = failures;
        snprintf(folder, sizeof folder, "doc%02d.zarr", (int)i);
        snprintf(path, sizeof path, "%s/%s", folder, DOCUMENTS[i].file);
        mkdir(folder, 0777);
        put_file(path, DOCUMENTS[i].document, strlen(DOCUMENTS[i].document));
        for (int write = 0; write < 2; write++)
            ERR_SAYS(DOCUMENTS[i].status, DOCUMENTS[i].file, DOCUMENTS[i].field, open_and_read(folder, write ? "r+" : "r"));
        ozarr_error_info info = OZARR_ERROR_INFO_INIT;
        OK(ozarr_last_error_info(&info));
        EQUAL(info.status, DOCUMENTS[i].status);
        CHECK(strstr(info.key, DOCUMENTS[i].file) != NULL);
        /* The member stands alone, too, unless the text is no JSON at all. */
        CHECK(strstr(info.field, DOCUMENTS[i].field) == info.field);
        char *after = file_content(path, NULL);
        CHECK(after != NULL && strcmp(after, DOCUMENTS[i].document) == 0);
        free(after);
        if (failures > before) FAIL("document %d: %s; the error: %s", (int)i, DOCUMENTS[i].document, info.message);
    }
}

/* Every truncation of a good document is refused. */
static void truncated_documents(void) {
    int64_t shape[] = {1};
    size_t size = 0;
    OK(ozarr_array_create("cut.zarr", OZARR_FLOAT64, 1, shape, NULL, OZARR_CREATE_NEW, &a));
    ozarr_array_free(a);
    a = NULL;
    char *whole = file_content("cut.zarr/zarr.json", &size);
    size_t end = size;
    while (end > 0 && whole[end - 1] != '}') end--;
    for (size_t n = 0; n < end && failures == 0; n++) {
        put_file("cut.zarr/zarr.json", whole, n);
        if (!ERR_SAYS(OZARR_ERR_METADATA, "zarr.json", "", ozarr_array_open("cut.zarr", "r", &a))) FAIL("cut at %d", (int)n);
    }
    free(whole);
}

/* -- chunks ------------------------------------------------------------------------------------------------------------- */

static const char *const CHAINS[] = {
    "[{\"name\":\"bytes\"}]",
    "[{\"name\":\"bytes\"},{\"name\":\"gzip\",\"configuration\":{\"level\":5}}]",
    "[{\"name\":\"bytes\"},{\"name\":\"zstd\",\"configuration\":{\"level\":3,\"checksum\":true}}]",
    "[{\"name\":\"bytes\"},{\"name\":\"blosc\",\"configuration\":{\"cname\":\"lz4\",\"clevel\":5,\"shuffle\":\"noshuffle\",\"typesize\":1,\"blocksize\":0}}]",
    "[{\"name\":\"bytes\"},{\"name\":\"crc32c\"}]",
    ("[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[3,2],\"codecs\":[{\"name\":\"bytes\"},{\"name\":\"crc32c\"}],"
     "\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},{\"name\":\"crc32c\"}],\"index_location\":\"end\"}}]"),
};

static int is_data_error(ozarr_status status) {
    return status == OZARR_ERR_CHUNK || status == OZARR_ERR_CHECKSUM || status == OZARR_ERR_TRUNCATED || status == OZARR_ERR_SHARD_INDEX;
}

/* A chunk that is cut, longer, or has a changed byte: an error of the data (or, without a checksum, other values), never more; the
 * other chunk stays readable, and a write to a part of the damaged one stores nothing. */
static void damaged_chunks(void) {
    int8_t v[24], in[24];
    int64_t start[] = {0, 0}, part[] = {1, 2}, second[] = {3, 0};
    for (int i = 0; i < 24; i++) v[i] = (int8_t)(i + 1);
    for (size_t c = 0; c < sizeof CHAINS / sizeof *CHAINS; c++) {
        size_t size = 0;
        OK(ozarr_spec_new(OZARR_INT8, 2, SHAPE, &s));
        OK(ozarr_spec_set_chunks(s, CHUNKS));
        OK(ozarr_spec_set_member_json(s, "codecs", CHAINS[c]));
        OK(ozarr_array_create_ex("chunk.zarr", s, OZARR_CREATE_OVERWRITE, &a));
        ozarr_spec_free(s);
        OK(ozarr_array_write(a, OZARR_INT8, v, sizeof v));
        OK(ozarr_array_close(a));
        char *whole = file_content("chunk.zarr/c/0/0", &size);
        if (whole == NULL) {
            FAIL("no chunk, chain %d", (int)c);
            continue;
        }
        int sharded = strstr(CHAINS[c], "sharding") != NULL;
        /* n < size: cut to n bytes; then byte n - size changed; then one byte more. */
        for (size_t n = 0; n < 2 * size + 1; n++) {
            char *bad = (char *)malloc(size + 1);
            size_t bad_size = n < size ? n : n == 2 * size ? size + 1 : size;
            /* Without a checksum a changed byte may be another value; in a shard a longer one may be a gap. */
            int must_fail = !sharded && (n < size || n == 2 * size || strstr(CHAINS[c], "crc32c") != NULL);
            memcpy(bad, whole, size);
            bad[size] = 0x5a;
            if (n >= size && n < 2 * size) bad[n - size] ^= 0x20;
            put_file("chunk.zarr/c/0/0", bad, bad_size);
            OK(ozarr_array_open("chunk.zarr", "r+", &a));
            ozarr_status status = ozarr_array_read(a, OZARR_INT8, in, sizeof in);

            if (status == OZARR_OK ? must_fail : !is_data_error(status))
                FAIL("chain %d, damage %d: %s, %s", (int)c, (int)n, ozarr_status_name(status), ozarr_last_error());
            if (status != OZARR_OK) {
                if (strstr(ozarr_last_error(), "c/0/0") == NULL) FAIL("no key in: %s", ozarr_last_error());
                status = ozarr_array_write_region(a, start, part, OZARR_INT8, v, 2);
                size_t after_size = 0;
                char *after = file_content("chunk.zarr/c/0/0", &after_size);
                if (status != OZARR_OK && (after_size != bad_size || memcmp(after, bad, bad_size) != 0)) FAIL("a failed write stored something");
                if (status != OZARR_OK && !is_data_error(status)) FAIL("writing a part: %s", ozarr_last_error());
                free(after);
            }
            OK(ozarr_array_read_region(a, second, CHUNKS, OZARR_INT8, in, 12));
            CHECK(memcmp(in, v + 12, 12) == 0);
            ozarr_array_free(a);
            free(bad);
        }
        free(whole);
    }
    a = NULL;
}

/* An error of the system is not a missing chunk. */
static void unreadable_chunks(void) {
    int8_t in[24];
    OK(ozarr_array_create("dir.zarr", OZARR_INT8, 2, SHAPE, CHUNKS, OZARR_CREATE_NEW, &a));
    mkdir("dir.zarr/c", 0777);
    mkdir("dir.zarr/c/0", 0777);
    mkdir("dir.zarr/c/0/0", 0777);
    CHECK(ozarr_array_read(a, OZARR_INT8, in, sizeof in) != OZARR_OK);
    CHECK(strstr(ozarr_last_error(), "c/0/0") != NULL);
    ozarr_array_free(a);
    a = NULL;
}

/* -- places ------------------------------------------------------------------------------------------------------------- */

/* What is no store, or cannot be reached, is not taken for an empty one. */
static void strange_places(void) {
    int8_t v[24] = {0};
    put_file("file.zarr", "x", 1);
    mkdir("inside.zarr", 0777);
    put_file("inside.zarr/file", "x", 1);
    CHECK(symlink("nothing there", "broken.zarr") == 0 && symlink("loop.zarr", "loop.zarr") == 0);
    static const char *const PLACES[] = {"file.zarr", "file.zarr/a", "inside.zarr/file", "broken.zarr", "loop.zarr", "loop.zarr/a", "plain.txt", "plain.txt/a.zarr", "inside.zarr/file/b/c"};
    static const ozarr_status STATUS[] = {OZARR_ERR_LOCATION, OZARR_ERR_LOCATION, OZARR_ERR_LOCATION, OZARR_ERR_NOT_FOUND, OZARR_ERR_IO, OZARR_ERR_IO, OZARR_ERR_LOCATION, OZARR_ERR_LOCATION, OZARR_ERR_LOCATION};
    static const char *const FILES[] = {"/file.zarr is a file, expected a directory (or a zip archive, as \"zip:", "/file.zarr is a file", "/inside.zarr/file is a file, expected a directory", ".zarr", ".zarr", ".zarr",
                                        "/plain.txt is a file, expected a directory (or a zip archive, as \"zip:", "/plain.txt is a file, expected a directory", "/inside.zarr/file is a file, expected a directory"};
    put_file("plain.txt", "x", 1);
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        ozarr_dataset *d = NULL;
        ERR_SAYS(STATUS[i], FILES[i], "", ozarr_array_open(PLACES[i], "r", &a));
        ERR_SAYS(STATUS[i], FILES[i], "", ozarr_group_open(PLACES[i], "r+", &g));
        ERR_SAYS(STATUS[i], FILES[i], "", ozarr_dataset_open(PLACES[i], "r", &d));
        ERR(STATUS[i], ozarr_node_open(PLACES[i], "r", &a, &g));
        CHECK(d == NULL);
        if (ozarr_array_create(PLACES[i], OZARR_INT8, 2, SHAPE, NULL, OZARR_CREATE_NEW, &a) == OZARR_OK) FAIL("made in %s", PLACES[i]);
        if (ozarr_array_create(PLACES[i], OZARR_INT8, 2, SHAPE, NULL, OZARR_CREATE_OVERWRITE, &a) == OZARR_OK) FAIL("made in %s", PLACES[i]);
        if (ozarr_node_erase(PLACES[i]) == OZARR_OK) FAIL("erased in %s", PLACES[i]);
    }
    char *content = file_content("file.zarr", NULL);
    CHECK(content != NULL && strcmp(content, "x") == 0);
    free(content);
    struct stat link;
    CHECK(lstat("broken.zarr", &link) == 0 && S_ISLNK(link.st_mode));
    CHECK(a == NULL && g == NULL);

    if (geteuid() == 0) return; /* for whom there is no closed door */
    OK(ozarr_array_create("closed.zarr/a", OZARR_INT8, 2, SHAPE, CHUNKS, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT8, v, sizeof v));
    chmod("closed.zarr/a", 0);
    ERR(OZARR_ERR_PERMISSION, ozarr_array_read(a, OZARR_INT8, v, sizeof v));
    ozarr_array_free(a);
    a = NULL;
    ERR_SAYS(OZARR_ERR_PERMISSION, "a/zarr.json", "", ozarr_array_open("closed.zarr/a", "r", &a));
    ERR(OZARR_ERR_PERMISSION, ozarr_array_create("closed.zarr/a", OZARR_INT8, 2, SHAPE, NULL, OZARR_CREATE_OVERWRITE, &a));
    chmod("closed.zarr", 0);
    ERR_SAYS(OZARR_ERR_PERMISSION, "a/zarr.json", "", ozarr_array_open("closed.zarr/a", "r", &a));
    ERR(OZARR_ERR_PERMISSION, ozarr_array_create("closed.zarr/b", OZARR_INT8, 2, SHAPE, NULL, OZARR_CREATE_NEW, &a));
    chmod("closed.zarr", 0777);
    chmod("closed.zarr/a", 0777);
    CHECK(a == NULL);
}

int main(void) {
    wrong_arguments();
    wrong_chunks();
    missing_nodes();
    damaged_documents();
    truncated_documents();
    damaged_chunks();
    unreadable_chunks();
    strange_places();
    return finish();
}
