/* Data types that a program has registered: int2 in the place of the library's own, in v2 and v3; one that nobody has; raw ones. */
#include "extension.h"
#include <math.h>

static int lie;

/* int2, packed by no one: a byte in the file, as ml_dtypes has it, with all bits of the sign. */
static ozarr_status int2_encode(void *context, const void *src, void *dst, int64_t count) {
    (void)context;
    for (int64_t i = 0; i < count; i++) {
        signed char x = ((const signed char *)src)[i];
        if (x < -2 || x > 1) return ozarr_set_error(OZARR_ERR_RANGE, "an int2 is -2 to 1", NULL);
        ((unsigned char *)dst)[i] = (unsigned char)(x & 3);
    }
    return lie == 1 ? 5 : OZARR_OK;
}

static ozarr_status int2_decode(void *context, const void *src, void *dst, int64_t count) {
    (void)context;
    for (int64_t i = 0; i < count; i++) {
        unsigned char x = ((const unsigned char *)src)[i] & 3;
        ((signed char *)dst)[i] = (signed char)(x < 2 ? x : x - 4);
    }
    return OZARR_OK;
}

static ozarr_status int2_from_json(void *context, const char *json, void *element) {
    char *end = NULL;
    long x = strtol(json, &end, 10);
    (void)context;
    if (end == json || *end || x < -2 || x > 1) return ozarr_set_error(OZARR_ERR_METADATA, "expected an integer from -2 to 1", NULL);
    *(signed char *)element = (signed char)x;
    return OZARR_OK;
}

static ozarr_status int2_to_json(void *context, const void *element, char *buf, size_t cap, size_t *len) {
    (void)context;
    if (lie == 2) *len = cap + 7;
    else if (lie == 3) *len = (size_t)snprintf(buf, cap, "{");
    else *len = (size_t)snprintf(buf, cap, "%d", *(const signed char *)element);
    return OZARR_OK;
}

static ozarr_dtype_table int2_table(void) {
    ozarr_dtype_table t = OZARR_DTYPE_TABLE_INIT;
    t.type = OZARR_INT8;
    t.item_size = 1;
    t.name = "int2";
    t.name_v2 = "int2";
    t.destroy = count_gone;
    t.encode = int2_encode;
    t.decode = int2_decode;
    t.fill_from_json = int2_from_json;
    t.fill_to_json = int2_to_json;
    return t;
}

static ozarr_spec *spec_of(const char *name, int format, const char *fill) {
    ozarr_dtype *d = NULL;
    ozarr_spec *spec = NULL;
    int64_t shape[] = {6, 5}, chunks[] = {4, 5};
    OK(ozarr_dtype_parse(name, format, &d));
    OK(ozarr_spec_new_dtype(d, 2, shape, &spec));
    OK(ozarr_spec_set_zarr_format(spec, format));
    OK(ozarr_spec_set_chunks(spec, chunks));
    if (fill) OK(ozarr_spec_set_member_json(spec, "fill_value", fill));
    ozarr_dtype_free(d);
    return spec;
}

static void int2_in_both_formats(void) {
    ozarr_dtype_table t = int2_table();
    gone = 0;
    ERR_SAYS(OZARR_ERR_EXISTS, "int2", "built in", ozarr_register_dtype(&t));
    EQUAL(gone, 0);
    t.flags = OZARR_REGISTER_REPLACE;
    OK(ozarr_register_dtype(&t));
    for (int format = 2; format <= 3; format++) {
        ozarr_store *st = NULL;
        ozarr_array *a = NULL;
        ozarr_spec *spec = spec_of("int2", format, "-1");
        signed char x[30], y[30], fill = 9;
        double z[30];
        unsigned char raw[20];
        size_t len = 0;
        for (int i = 0; i < 30; i++) x[i] = (signed char)(i % 4 - 2);
        OK(ozarr_store_memory(&st));
        OK(ozarr_spec_set_compressor(spec, "none", 0));
        OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
        document(st, format == 2 ? "a/.zarray" : "a/zarr.json", "\"int2\"", "\"fill_value\": -1");
        ozarr_type type = 99;
        OK(ozarr_array_type(a, &type));
        EQUAL(type, OZARR_INT8);
        OK(ozarr_array_read(a, OZARR_AS_STORED, y, sizeof y));
        EQUAL(y[29], -1);
        OK(ozarr_array_write(a, OZARR_INT8, x, sizeof x));
        OK(ozarr_store_key_get(st, format == 2 ? "a/0.0" : "a/c/0/0", raw, sizeof raw, &len));
        CHECK(len == 20 && raw[0] == 2 && raw[1] == 3 && raw[2] == 0 && raw[3] == 1);
        ozarr_array_free(a);
        OK(ozarr_array_open_at(st, "a", &a));
        OK(ozarr_array_read(a, OZARR_FLOAT64, z, sizeof z));
        CHECK(z[0] == -2 && z[29] == x[29]);
        for (int i = 0; i < 30; i++) z[i] = i == 7 ? -9 : 1;
        ERR_SAYS(OZARR_ERR_RANGE, "int2", "-2 to 1", ozarr_array_write(a, OZARR_FLOAT64, z, sizeof z));
        OK(ozarr_array_fill_value(a, &fill, 1, NULL));
        EQUAL(fill, -1);
        int64_t shape[] = {7, 5};
        OK(ozarr_array_resize(a, shape, 0));
        document(st, format == 2 ? "a/.zarray" : "a/zarr.json", "\"int2\"", "7");
        ozarr_array_free(a);
        ERR_SAYS(OZARR_ERR_METADATA, "fill_value", "-2 to 1", ozarr_spec_set_member_json(spec, "fill_value", "5"));
        lie = 2;
        ERR_SAYS(OZARR_ERR_CALLBACK, "fill_value", "fill_to_json", ozarr_array_create_at(st, "b", spec, OZARR_CREATE_NEW, &a));
        lie = 3;
        ERR_SAYS(OZARR_ERR_CALLBACK, "fill_value", "became", ozarr_array_create_at(st, "b", spec, OZARR_CREATE_NEW, &a));
        lie = 1;
        OK(ozarr_array_open_at(st, "a", &a));
        int64_t start[] = {0, 0}, count[] = {4, 5};
        ERR_SAYS(OZARR_ERR_CALLBACK, "5", "no status", ozarr_array_write_region(a, start, count, OZARR_INT8, x, 20));
        lie = 0;
        ozarr_array_free(a);
        ozarr_spec_free(spec);
        ozarr_store_free(st);
    }
    /* In shards, which leave the conversion to their inner chunks. */
    ozarr_store *st = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = spec_of("int2", 3, NULL);
    int64_t inner[] = {2, 5};
    signed char x[30] = {0}, y[30];
    x[17] = -2;
    OK(ozarr_store_memory(&st));
    OK(ozarr_spec_set_inner_chunks(spec, inner));
    OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT8, x, sizeof x));
    OK(ozarr_array_read(a, OZARR_INT8, y, sizeof y));
    CHECK(memcmp(x, y, sizeof x) == 0);
    /* The library's own int2 is back, and the open array keeps the other. */
    OK(ozarr_unregister(OZARR_EXTENSION_DTYPE, "int2"));
    EQUAL(gone, 0);
    OK(ozarr_array_write(a, OZARR_INT8, x, sizeof x));
    ozarr_array_free(a);
    EQUAL(gone, 1);
    OK(ozarr_array_open_at(st, "a", &a));
    ozarr_type type = 0;
    OK(ozarr_array_type(a, &type));
    EQUAL(type, OZARR_INT2);
    OK(ozarr_array_read(a, OZARR_INT8, y, sizeof y));
    CHECK(memcmp(x, y, sizeof x) == 0);
    ozarr_array_free(a);
    ozarr_spec_free(spec);
    ozarr_store_free(st);
}

/* Steps of 1/256 in three bytes, the least first: what nobody else has. */
static ozarr_status steps_encode(void *context, const void *src, void *dst, int64_t count) {
    (void)context;
    for (int64_t i = 0; i < count; i++) {
        double x;
        memcpy(&x, (const char *)src + 8 * i, 8);
        int32_t n = (int32_t)lrint(x * 256);
        for (int b = 0; b < 3; b++) ((unsigned char *)dst)[3 * i + (size_t)b] = (unsigned char)((uint32_t)n >> 8 * b);
    }
    return OZARR_OK;
}

static ozarr_status steps_decode(void *context, const void *src, void *dst, int64_t count) {
    (void)context;
    for (int64_t i = 0; i < count; i++) {
        const unsigned char *s = (const unsigned char *)src + 3 * i;
        int32_t n = (int32_t)((uint32_t)s[0] << 8 | (uint32_t)s[1] << 16 | (uint32_t)s[2] << 24) / 256;
        double x = n / 256.0;
        memcpy((char *)dst + 8 * i, &x, 8);
    }
    return OZARR_OK;
}

static void a_type_that_nobody_has(void) {
    ozarr_dtype_table t = OZARR_DTYPE_TABLE_INIT;
    ozarr_store *st = NULL;
    ozarr_array *a = NULL;
    double x[30], y[30];
    t.type = OZARR_FLOAT64;
    t.item_size = 3;
    t.name = "acme.steps";
    t.flags = OZARR_CALLBACK_ANY_THREAD;
    t.encode = steps_encode;
    t.decode = steps_decode;
    OK(ozarr_register_dtype(&t));
    ozarr_spec *spec = spec_of("acme.steps", 3, "-1.5");
    for (int i = 0; i < 30; i++) x[i] = (i - 15) / 256.0 * 1000;
    OK(ozarr_store_memory(&st));
    OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
    document(st, "a/zarr.json", "\"acme.steps\"", "-1.5");
    OK(ozarr_array_write(a, OZARR_FLOAT64, x, sizeof x));
    OK(ozarr_array_read(a, OZARR_FLOAT64, y, sizeof y));
    CHECK(memcmp(x, y, sizeof x) == 0);
    ozarr_array_free(a);
    OK(ozarr_spec_set_zarr_format(spec, 2));
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "acme.steps", "zarr_format 2", ozarr_array_create_at(st, "b", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_unregister(OZARR_EXTENSION_DTYPE, "acme.steps"));
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "data_type", "acme.steps", ozarr_array_open_at(st, "a", &a));
    ozarr_spec_free(spec);
    ozarr_store_free(st);
}

/* Without conversion: bytes, or unsigned integers whose order "bytes" turns. */
static void raw_types(void) {
    for (int ordered = 0; ordered < 2; ordered++) {
        ozarr_dtype_table t = OZARR_DTYPE_TABLE_INIT;
        ozarr_store *st = NULL;
        ozarr_array *a = NULL;
        unsigned char x[60], y[60], raw[40];
        size_t len = 0;
        t.item_size = 2;
        t.name = "acme.pair";
        t.flags = ordered ? OZARR_DTYPE_HAS_BYTE_ORDER : 0;
        OK(ozarr_register_dtype(&t));
        ozarr_spec *spec = spec_of("acme.pair", 3, ordered ? "258" : "[1, 2]");
        for (int i = 0; i < 60; i++) x[i] = (unsigned char)(i + 1);
        OK(ozarr_store_memory(&st));
        OK(ozarr_spec_set_member_json(spec, "codecs", ordered ? "[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"big\"}}]" : "[\"bytes\"]"));
        OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
        OK(ozarr_array_write(a, OZARR_AS_STORED, x, sizeof x));
        OK(ozarr_array_read(a, OZARR_AS_STORED, y, sizeof y));
        CHECK(memcmp(x, y, sizeof x) == 0);
        OK(ozarr_store_key_get(st, "a/c/0/0", raw, sizeof raw, &len));
        CHECK(len == 40 && raw[0] == (ordered ? 2 : 1));
        ozarr_array_free(a);
        ozarr_spec_free(spec);
        ozarr_store_free(st);
        OK(ozarr_unregister(OZARR_EXTENSION_DTYPE, "acme.pair"));
    }
}

static void bad_types(void) {
    ozarr_dtype_table good = int2_table(), t;
    good.name = good.name_v2 = "acme.bad";
    gone = 0;
    ERR_SAYS(OZARR_ERR_NULL, "table", "", ozarr_register_dtype(NULL));
    t = good, t.struct_size = 8;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "struct_size", "", ozarr_register_dtype(&t));
    t = good, t.encode = NULL;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "encode", "NULL", ozarr_register_dtype(&t));
    t = good, t.decode = NULL;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "decode", "NULL", ozarr_register_dtype(&t));
    t = good, t.fill_to_json = NULL;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "fill_to_json", "NULL", ozarr_register_dtype(&t));
    t = good, t.type = OZARR_AS_STORED;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "encode", "given", ozarr_register_dtype(&t));
    t = good, t.type = 999;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "type", "999", ozarr_register_dtype(&t));
    t = good, t.item_size = 0;
    ERR(OZARR_ERR_ARGUMENT, ozarr_register_dtype(&t));
    t = good, t.item_size = SIZE_MAX;
    ERR(OZARR_ERR_LIMIT, ozarr_register_dtype(&t));
    t = good, t.item_size = 3, t.flags = OZARR_DTYPE_HAS_BYTE_ORDER;
    ERR(OZARR_ERR_ARGUMENT, ozarr_register_dtype(&t));
    t = good, t.flags = 8;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "flags", "8", ozarr_register_dtype(&t));
    t = good, t.name = t.name_v2 = NULL;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "name", "", ozarr_register_dtype(&t));
    EQUAL(gone, 0);
}

int main(void) {
    int2_in_both_formats();
    a_type_that_nobody_has();
    raw_types();
    bad_types();
    return finish();
}
