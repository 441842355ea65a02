/* Specifications: every setter shows in the document, arrays made so read back what was written, and what cannot be is refused. */
#include "table.h"

#include <math.h>

static int64_t SHAPE[] = {10, 6}, CHUNKS[] = {4, 3};

/* The document of a specification contains a text. */
static void shows(const ozarr_spec *s, const char *part) {
    char document[4096], dense[4096];
    size_t n = 0;
    if (!OK(ozarr_spec_to_json(s, document, sizeof document, NULL))) return;
    for (const char *p = document; *p; p++)
        if (*p != ' ' && *p != '\n') dense[n++] = *p;
    dense[n] = 0;
    if (strstr(dense, part) == NULL) FAIL("no %s in %s", part, dense);
}

/* An array of that specification keeps what is written to it. */
static void works(const ozarr_spec *s) {
    ozarr_array *a = NULL;
    int16_t v[60], in[60];
    for (int i = 0; i < 60; i++) v[i] = (int16_t)(i * i - 300);
    if (!OK(ozarr_array_create_ex("spec.zarr", s, OZARR_CREATE_OVERWRITE, &a))) return;
    OK(ozarr_array_write(a, OZARR_INT16, v, sizeof v));
    OK(ozarr_array_close(a));
    OK(ozarr_array_open("spec.zarr", "r", &a));
    OK(ozarr_array_read(a, OZARR_INT16, in, sizeof in));
    CHECK(memcmp(in, v, sizeof v) == 0);
    ozarr_array_free(a);
}

static ozarr_spec *new_spec(int32_t format) {
    ozarr_spec *s = NULL;
    OK(ozarr_spec_new(OZARR_INT16, 2, SHAPE, &s));
    OK(ozarr_spec_set_zarr_format(s, format));
    OK(ozarr_spec_set_chunks(s, CHUNKS));
    return s;
}

static void format_3(void) {
    const char *names[] = {"time", NULL};
    int64_t inner[] = {2, 1};
    int16_t fill = -7;
    ozarr_spec *s = new_spec(3);
    shows(s, "\"zarr_format\":3");
    shows(s, "\"chunk_shape\":[4,3]");
    shows(s, "\"data_type\":\"int16\"");
    works(s);
    OK(ozarr_spec_set_fill_value(s, OZARR_AS_STORED, &fill));
    shows(s, "\"fill_value\":-7");
    OK(ozarr_spec_set_member_json(s, "fill_value", "12"));
    shows(s, "\"fill_value\":12");
    OK(ozarr_spec_set_dimension_names(s, names));
    shows(s, "\"dimension_names\":[\"time\",null]");
    OK(ozarr_spec_set_order(s, OZARR_ORDER_F));
    shows(s, "\"transpose\"");
    OK(ozarr_spec_set_big_endian(s, true));
    shows(s, "\"endian\":\"big\"");
    OK(ozarr_spec_set_separator(s, "."));
    shows(s, "\"separator\":\".\"");
    OK(ozarr_spec_set_member_json(s, "attributes", "{\"units\": \"K\"}"));
    shows(s, "\"units\":\"K\"");
    static const struct { const char *name; int32_t level; } compressors[] = {
        {"none", -1}, {"zstd", -1}, {"zstd", 9}, {"gzip", 1}, {"gzip", -1}, {"blosc", 5}, {"blosc", -1}};
    for (size_t i = 0; i < sizeof compressors / sizeof *compressors; i++) {
        OK(ozarr_spec_set_compressor(s, compressors[i].name, compressors[i].level));
        if (i > 0) shows(s, compressors[i].name);
        works(s);
    }
    OK(ozarr_spec_set_inner_chunks(s, inner));
    shows(s, "\"sharding_indexed\"");
    works(s);
    ozarr_spec_free(s);

    s = new_spec(3);
    OK(ozarr_spec_set_member_json(s, "codecs", "[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"crc32c\"}]"));
    shows(s, "crc32c");
    works(s);
    ozarr_spec_free(s);
}

static void format_2(void) {
    ozarr_spec *s = new_spec(2);
    shows(s, "\"zarr_format\":2");
    shows(s, "\"dtype\":\"<i2\"");
    OK(ozarr_spec_set_big_endian(s, true));
    shows(s, "\"dtype\":\">i2\"");
    OK(ozarr_spec_set_order(s, OZARR_ORDER_F));
    shows(s, "\"order\":\"F\"");
    OK(ozarr_spec_set_separator(s, "/"));
    shows(s, "\"dimension_separator\":\"/\"");
    OK(ozarr_spec_set_member_json(s, "fill_value", "null"));
    shows(s, "\"fill_value\":null");
    works(s);
    OK(ozarr_spec_set_compressor(s, "zlib", 3));
    shows(s, "\"id\":\"zlib\"");
    works(s);
    OK(ozarr_spec_set_member_json(s, "compressor", "{\"id\": \"zstd\", \"level\": 2}"));
    OK(ozarr_spec_set_member_json(s, "filters", "[{\"id\": \"delta\", \"dtype\": \">i2\"}]"));
    shows(s, "\"filters\":[{\"id\":\"delta\"");
    works(s);
    OK(ozarr_spec_set_member_json(s, "compressor", "null"));
    shows(s, "\"compressor\":null");
    works(s);
    ozarr_spec_free(s);
}

/* A document gives a specification that gives the document. */
static void documents(void) {
    ozarr_spec *s = new_spec(3), *copy = NULL;
    char first[4096], second[4096];
    OK(ozarr_spec_to_json(s, first, sizeof first, NULL));
    OK(ozarr_spec_from_json(first, &copy));
    OK(ozarr_spec_to_json(copy, second, sizeof second, NULL));
    TEXT(second, first);
    works(copy);
    ozarr_spec_free(copy);
    copy = NULL;
    static const struct { const char *document; ozarr_status status; const char *word; } bad[] = {
        {"", OZARR_ERR_ARGUMENT, "line 1, column 0"},
        {"{", OZARR_ERR_ARGUMENT, "line 1, column 1"},
        {"{\"zarr_format\": 3,\n  shape: [1]}", OZARR_ERR_ARGUMENT, "line 2, column 3"},
        {"[]", OZARR_ERR_METADATA, ""},
        {"{\"zarr_format\": 4}", OZARR_ERR_UNSUPPORTED, "zarr_format: found 4"},
        {"{}", OZARR_ERR_METADATA, "zarr_format"},
        {"{\"zarr_format\": 3, \"node_type\": \"group\"}", OZARR_ERR_NODE_KIND, "group"},
        {"{\"zarr_format\": 2, \"shape\": [1], \"chunks\": [1], \"dtype\": \"|O\", \"compressor\": null, \"fill_value\": 0, "
         "\"order\": \"C\", \"filters\": null}", OZARR_ERR_METADATA, "dtype"},
        {"{\"zarr_format\": 2, \"shape\": [1], \"chunks\": [0], \"dtype\": \"<i2\", \"compressor\": null, \"fill_value\": 0, "
         "\"order\": \"C\", \"filters\": null}", OZARR_ERR_METADATA, "chunks"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (!ERR_SAYS(bad[i].status, bad[i].word, "", ozarr_spec_from_json(bad[i].document, &copy))) FAIL("case %d", (int)i);
    }
    CHECK(copy == NULL);
    ozarr_spec_free(s);
}

static void suggestion(void) {
    int64_t big[] = {5000, 4000, 3000}, found[3] = {0, 0, 0};
    char why[1024] = "";
    ozarr_spec *s = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_spec_new(OZARR_FLOAT32, 3, big, &s));
    OK(ozarr_spec_suggest(s, why, sizeof why, NULL));
    CHECK(strlen(why) > 20);
    OK(ozarr_array_create_ex("suggest.zarr", s, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_array_inner_chunk_shape(a, found));
    double bytes = 4.0 * (double)found[0] * (double)found[1] * (double)found[2];
    CHECK(bytes >= 1 << 18 && bytes <= 1 << 22);
    ozarr_array_free(a);
    ozarr_spec_free(s);
}

/* Pieces of uneven extents: one stored object for each, found again by their place. */
static void uneven_pieces(void) {
    static const int64_t rows[] = {4, 3, 3}, columns[] = {5, 2}, even[] = {5, 5};
    int64_t start = -1, extent = -1, found[2] = {0, 0}, longer[2] = {15, 6};
    ozarr_spec *s = new_spec(3);
    OK(ozarr_spec_set_chunks(s, CHUNKS));
    OK(ozarr_spec_set_chunk_extents(s, 0, rows, 3));
    shows(s, "\"chunk_shapes\":[[4,3,3],3]");
    works(s);
    OK(ozarr_spec_set_chunk_extents(s, 1, columns, 2));
    OK(ozarr_spec_set_compressor(s, "none", -1));
    shows(s, "\"chunk_shapes\":[[4,3,3],[5,2]]");
    works(s);
    ozarr_array *a = NULL;
    OK(ozarr_array_open("spec.zarr", "r+", &a));
    OK(ozarr_array_grid_shape(a, found));
    CHECK(found[0] == 3 && found[1] == 2);
    OK(ozarr_array_chunk_shape(a, found));
    CHECK(found[0] == 4 && found[1] == 5);
    OK(ozarr_array_chunk_extent(a, 0, 2, &start, &extent));
    CHECK(start == 7 && extent == 3);
    OK(ozarr_array_chunk_extent(a, 1, 1, &start, &extent));
    CHECK(start == 5 && extent == 2);
    ERR_SAYS(OZARR_ERR_BOUNDS, "3", "", ozarr_array_chunk_extent(a, 0, 3, &start, &extent));
    ERR_SAYS(OZARR_ERR_BOUNDS, "dim", "2", ozarr_array_chunk_extent(a, 2, 0, &start, &extent));
    ERR_SAYS(OZARR_ERR_BOUNDS, "index", "-1", ozarr_array_chunk_extent(a, 0, -1, &start, &extent));
    OK(ozarr_array_resize(a, longer, 0));
    OK(ozarr_array_chunk_extent(a, 0, 3, &start, &extent));
    CHECK(start == 10 && extent == 5);
    ozarr_array_free(a);

    OK(ozarr_spec_set_chunk_extents(s, 0, even, 2));
    OK(ozarr_spec_set_chunk_extents(s, 1, &SHAPE[1], 1));
    shows(s, "\"chunk_shape\":[5,6]");
    ERR_SAYS(OZARR_ERR_BOUNDS, "dim", "2", ozarr_spec_set_chunk_extents(s, 2, rows, 3));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "count", "0", ozarr_spec_set_chunk_extents(s, 0, rows, 0));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "count", "", ozarr_spec_set_chunk_extents(s, 0, rows, INT64_MAX));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "7", "10", ozarr_spec_set_chunk_extents(s, 0, rows, 2));
    OK(ozarr_spec_set_chunk_extents(s, 0, rows, 3));
    OK(ozarr_spec_set_zarr_format(s, 2));
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "chunks", "2", ozarr_array_create_ex("refused.zarr", s, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(s);
}

/* Setters that refuse leave the specification as it was. */
static void refusals(void) {
    int64_t zero[] = {4, 0}, negative[] = {-1, 2}, inner[] = {3, 2};
    const char *names[] = {"a", "b\xff"};
    float out_of_range = 1e9f;
    ozarr_spec *s = new_spec(3), *other = NULL;
    char before[4096], after[4096];
    OK(ozarr_spec_to_json(s, before, sizeof before, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "chunks", "1", ozarr_spec_set_chunks(s, zero));
    ERR(OZARR_ERR_ARGUMENT, ozarr_spec_set_inner_chunks(s, zero));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "format", "5", ozarr_spec_set_zarr_format(s, 5));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "order", "", ozarr_spec_set_order(s, 9));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "separator", "-", ozarr_spec_set_separator(s, "-"));
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "lzo", "", ozarr_spec_set_compressor(s, "lzo", -1));
    ERR_SAYS(OZARR_ERR_RANGE, "int16", "", ozarr_spec_set_fill_value(s, OZARR_FLOAT32, &out_of_range));
    CHECK(ozarr_spec_set_member_json(s, "fill_value", "\"abc\"") != OZARR_OK);
    CHECK(ozarr_spec_set_member_json(s, "fill_value", "{") != OZARR_OK);
    CHECK(ozarr_spec_set_member_json(s, "codecs", "7") != OZARR_OK);
    ERR(OZARR_ERR_ARGUMENT, ozarr_spec_set_dimension_names(s, names));
    CHECK(ozarr_spec_set_member_json(s, "attributes", "[]") != OZARR_OK);
    OK(ozarr_spec_to_json(s, after, sizeof after, NULL));
    TEXT(after, before);
    works(s);
    OK(ozarr_spec_set_inner_chunks(s, inner));
    ozarr_array *a = NULL;
    CHECK(ozarr_array_create_ex("refused.zarr", s, OZARR_CREATE_NEW, &a) != OZARR_OK);
    CHECK(a == NULL && file_content("refused.zarr/zarr.json", NULL) == NULL);
    ERR_SAYS(OZARR_ERR_ARGUMENT, "shape", "-1", ozarr_spec_new(OZARR_INT16, 2, negative, &other));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "type", "77", ozarr_spec_new(77, 2, SHAPE, &other));
    ERR(OZARR_ERR_ARGUMENT, ozarr_spec_new(OZARR_AS_STORED, 2, SHAPE, &other));
    CHECK(other == NULL);
    ozarr_spec_free(s);
}

/* A layout gives the specification that the setters give, member by member and all together; what they refuse it refuses. */
static void layouts(void) {
    static const int64_t chunks[] = {2, 2}, inner[] = {1, 2}, zero[] = {0, 1};
    static const char *const names[] = {"y", NULL};
    static const ozarr_layout good[] = {
        {0}, {.chunks = chunks}, {.chunks = chunks, .inner_chunks = inner}, {.dimension_names = names}, {.compressor = "gzip"},
        {.compressor = "gzip", .level = 7}, {.shuffle = OZARR_SHUFFLE_BYTE}, {.keep_bits = 9}, {.checksum = 1},
        {sizeof(ozarr_layout), chunks, inner, names, "blosc:zstd", 3, OZARR_SHUFFLE_BIT, 12, 1},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const ozarr_layout *l = &good[i];
        ozarr_spec *one = NULL, *other = NULL;
        char found[4096], expected[4096];
        OK(ozarr_spec_new(OZARR_FLOAT32, 2, SHAPE, &one));
        if (l->chunks) OK(ozarr_spec_set_chunks(one, l->chunks));
        if (l->inner_chunks) OK(ozarr_spec_set_inner_chunks(one, l->inner_chunks));
        if (l->dimension_names) OK(ozarr_spec_set_dimension_names(one, l->dimension_names));
        if (l->compressor) OK(ozarr_spec_set_compressor(one, l->compressor, l->level ? l->level : -1));
        if (l->shuffle) OK(ozarr_spec_set_shuffle(one, l->shuffle));
        if (l->keep_bits) OK(ozarr_spec_set_keep_bits(one, l->keep_bits));
        if (l->checksum) OK(ozarr_spec_set_checksum(one, true));
        OK(ozarr_spec_new_ex(OZARR_FLOAT32, 2, SHAPE, l, &other));
        OK(ozarr_spec_to_json(one, expected, sizeof expected, NULL));
        OK(ozarr_spec_to_json(other, found, sizeof found, NULL));
        TEXT(found, expected);
        ozarr_spec_free(one);
        ozarr_spec_free(other);
    }
    static const struct { ozarr_layout layout; ozarr_status status; const char *word1, *word2; } bad[] = {
        {{.chunks = zero}, OZARR_ERR_ARGUMENT, "layout->chunks", "0"},
        {{.inner_chunks = zero}, OZARR_ERR_ARGUMENT, "layout->inner_chunks", "0"},
        {{.compressor = "lzo"}, OZARR_ERR_UNSUPPORTED, "lzo", ""},
        {{.level = 3}, OZARR_ERR_ARGUMENT, "layout->level", "layout->compressor"},
        {{.shuffle = 4}, OZARR_ERR_ARGUMENT, "layout->shuffle", "4"},
        {{.keep_bits = -1}, OZARR_ERR_ARGUMENT, "layout->keep_bits", "-1"},
        {{.checksum = 2}, OZARR_ERR_ARGUMENT, "layout->checksum", "2"},
        {{.struct_size = 7}, OZARR_ERR_ARGUMENT, "layout", "struct_size"},
    };
    ozarr_spec *none = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ERR_SAYS(bad[i].status, bad[i].word1, bad[i].word2, ozarr_spec_new_ex(OZARR_FLOAT32, 2, SHAPE, &bad[i].layout, &none));
    CHECK(none == NULL);
}

/* Compression by typed setters: what is written is read back within what was asked for, in both formats, with and without inner chunks. */
static void compression_by_setters(void) {
    static const struct { const char *name; int32_t shuffle, bits, zfp; double parameter, error; const char *v3, *v2; } cases[] = {
        {"lz4", OZARR_SHUFFLE_BYTE, 0, -1, 0, 0, "numcodecs.lz4", "\"id\":\"shuffle\""},
        {"bz2", OZARR_SHUFFLE_DEFAULT, 0, -1, 0, 0, "numcodecs.bz2", "\"id\":\"bz2\""},
        {"lzma", OZARR_SHUFFLE_NONE, 0, -1, 0, 0, "numcodecs.lzma", "\"id\":\"lzma\""},
        {"zlib", OZARR_SHUFFLE_BYTE, 0, -1, 0, 0, "numcodecs.zlib", "\"id\":\"zlib\""},
        {"gzip", OZARR_SHUFFLE_BYTE, 10, -1, 0, 1, "numcodecs.shuffle", "\"id\":\"bitround\""},
        {"pcodec", OZARR_SHUFFLE_DEFAULT, 0, -1, 0, 0, "numcodecs.pcodec", "\"id\":\"pcodec\""},
        {"blosc:zstd", OZARR_SHUFFLE_BIT, 12, -1, 0, 0.1, "\"bitshuffle\"", "\"shuffle\":2"},
        {"blosc:lz4hc", OZARR_SHUFFLE_NONE, 0, -1, 0, 0, "\"noshuffle\"", "\"shuffle\":0"},
        {"none", OZARR_SHUFFLE_DEFAULT, 0, OZARR_ZFP_ACCURACY, 0.5, 0.5, "numcodecs.zfpy", "\"id\":\"zfpy\""},
        {"none", OZARR_SHUFFLE_DEFAULT, 0, OZARR_ZFP_PRECISION, 20, 1, "numcodecs.zfpy", "\"id\":\"zfpy\""},
        {"none", OZARR_SHUFFLE_DEFAULT, 0, OZARR_ZFP_REVERSIBLE, 0, 0, "numcodecs.zfpy", "\"id\":\"zfpy\""},
    };
    static const int64_t shape[] = {32, 32}, chunks[] = {16, 16}, inner[] = {8, 16};
    static float x[32 * 32], in[32 * 32];
    for (int i = 0; i < 32 * 32; i++) x[i] = (float)(i % 37) * 3.1f;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int kind = 0; kind < 3; kind++) { /* format 2, format 3, format 3 with inner chunks */
            ozarr_spec *s = NULL;
            ozarr_array *a = NULL;
            OK(ozarr_spec_new(OZARR_FLOAT32, 2, NULL, &s));
            OK(ozarr_spec_set_zarr_format(s, kind == 0 ? 2 : 3));
            OK(ozarr_spec_set_chunks(s, chunks));
            OK(ozarr_spec_set_compressor(s, cases[i].name, -1));
            OK(ozarr_spec_set_shuffle(s, cases[i].shuffle));
            OK(ozarr_spec_set_keep_bits(s, cases[i].bits));
            if (cases[i].zfp >= 0) OK(ozarr_spec_set_zfp(s, cases[i].zfp, cases[i].parameter));
            OK(ozarr_spec_set_checksum(s, true));
            if (kind == 2) OK(ozarr_spec_set_inner_chunks(s, inner));
            ERR_SAYS(OZARR_ERR_STATE, "shape", "", ozarr_array_create_ex("typed.zarr", s, OZARR_CREATE_OVERWRITE, &a));
            OK(ozarr_spec_set_shape(s, shape));
            shows(s, kind == 0 ? cases[i].v2 : cases[i].v3);
            shows(s, kind == 0 ? "\"id\":\"crc32c\"" : "\"crc32c\"");
            OK(ozarr_array_create_ex("typed.zarr", s, OZARR_CREATE_OVERWRITE, &a));
            ozarr_spec_free(s);
            OK(ozarr_array_write(a, OZARR_FLOAT32, x, sizeof x));
            OK(ozarr_array_close(a));
            OK(ozarr_array_open("typed.zarr", "r", &a));
            memset(in, 0, sizeof in);
            OK(ozarr_array_read(a, OZARR_FLOAT32, in, sizeof in));
            ozarr_array_free(a);
            double worst = 0;
            for (int k = 0; k < 32 * 32; k++) worst = fabs((double)x[k] - in[k]) > worst ? fabs((double)x[k] - in[k]) : worst;
            if (worst > cases[i].error) FAIL("%s, kind %d: an error of %g", cases[i].name, kind, worst);
        }
    }
    ozarr_spec *s = NULL;
    OK(ozarr_spec_new(OZARR_FLOAT32, 2, shape, &s));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "shuffle", "9", ozarr_spec_set_shuffle(s, 9));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "keep_bits", "23", ozarr_spec_set_keep_bits(s, 24));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "bits", "-1", ozarr_spec_set_keep_bits(s, -1));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "mode", "7", ozarr_spec_set_zfp(s, 7, 0));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "zfp", "-1", ozarr_spec_set_zfp(s, OZARR_ZFP_RATE, -1));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "parameter", "1.5", ozarr_spec_set_zfp(s, OZARR_ZFP_PRECISION, 1.5));
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "snappy", "blosc", ozarr_spec_set_compressor(s, "snappy", -1));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "-1", "shape", ozarr_spec_set_shape(s, (const int64_t[]){4, -1}));
    ozarr_spec_free(s);

    /* Inner chunks of which the suggested chunks are no multiple: the message names what was given. */
    OK(ozarr_spec_new(OZARR_FLOAT32, 2, shape, &s));
    OK(ozarr_spec_set_inner_chunks(s, (const int64_t[]){7, 8}));
    ozarr_array *a = NULL;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "dimension 0 is 7", "no chunks are set", ozarr_array_create_ex("inner.zarr", s, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(s);
}

int main(void) {
    layouts();
    compression_by_setters();
    format_3();
    format_2();
    documents();
    suggestion();
    uneven_pieces();
    refusals();
    return finish();
}
