/* Data types as values; structs, text and times in memory. */
#include "table.h"
#include <stdbool.h>
#include <stddef.h>

static char buf[2048];

struct particle {
    double x;
    int16_t id;
    struct { float u, v; } flow;
    char name[6];
};

static ozarr_dtype *parsed(const char *text, int32_t format) {
    ozarr_dtype *d = NULL;
    OK(ozarr_dtype_parse(text, format, &d));
    return d;
}

static ozarr_memory memory_of(void *data, size_t size, const ozarr_dtype *dtype) {
    ozarr_memory m = OZARR_MEMORY_INIT;
    m.data = data, m.size = size, m.type = OZARR_BY_DTYPE, m.dtype = dtype;
    return m;
}

static void texts_become_types(void) {
    static const struct { const char *text; int32_t format, kind; size_t size, alignment; int32_t order; const char *v2, *v3; } TABLE[] = {
        {"<f8", 2, OZARR_DTYPE_KIND_FLOAT, 8, 8, OZARR_BYTE_ORDER_LITTLE, "\"<f8\"", "\"float64\""},
        {">i2", 2, OZARR_DTYPE_KIND_INT, 2, 2, OZARR_BYTE_ORDER_BIG, "\">i2\"", "\"int16\""},
        {"double", 0, OZARR_DTYPE_KIND_FLOAT, 8, 8, OZARR_BYTE_ORDER_LITTLE, "\"<f8\"", "\"float64\""},
        {"bool", 3, OZARR_DTYPE_KIND_BOOL, 1, 1, OZARR_BYTE_ORDER_NONE, "\"|b1\"", "\"bool\""},
        {"complex64", 3, OZARR_DTYPE_KIND_COMPLEX, 8, 4, OZARR_BYTE_ORDER_LITTLE, "\"<c8\"", "\"complex64\""},
        {"|S20", 2, OZARR_DTYPE_KIND_BYTES, 20, 1, OZARR_BYTE_ORDER_NONE, "\"|S20\"", "{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":20}}"},
        {">U3", 2, OZARR_DTYPE_KIND_TEXT, 12, 4, OZARR_BYTE_ORDER_BIG, "\">U3\"", "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":12}}"},
        {"r24", 3, OZARR_DTYPE_KIND_RAW, 3, 1, OZARR_BYTE_ORDER_NONE, "\"|V3\"", "{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":3}}"},
        {">M8[10s]", 2, OZARR_DTYPE_KIND_DATETIME, 8, 8, OZARR_BYTE_ORDER_BIG, "\">M8[10s]\"", "{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\",\"scale_factor\":10}}"},
        {"[[\"a\",\"<u1\"],[\"b\",[[\"c\",\"<f4\"]]]]", 0, OZARR_DTYPE_KIND_STRUCT, 5, 4, OZARR_BYTE_ORDER_LITTLE, "[[\"a\",\"|u1\"],[\"b\",[[\"c\",\"<f4\"]]]]",
         "{\"name\":\"struct\",\"configuration\":{\"fields\":[{\"name\":\"a\",\"data_type\":\"uint8\"},{\"name\":\"b\",\"data_type\":{\"name\":\"struct\",\"configuration\":{\"fields\":[{\"name\":\"c\",\"data_type\":\"float32\"}]}}}]}}"},
    };
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++) {
        ozarr_dtype *d = parsed(TABLE[i].text, TABLE[i].format), *again;
        int32_t n = 0;
        size_t size = 0;
        bool same = false;
        OK(ozarr_dtype_get_kind(d, &n));
        EQUAL(n, TABLE[i].kind);
        OK(ozarr_dtype_item_size(d, &size));
        EQUAL(size, TABLE[i].size);
        OK(ozarr_dtype_byte_order(d, &n));
        EQUAL(n, TABLE[i].order);
        OK(ozarr_dtype_to_json(d, 3, buf, sizeof buf, NULL));
        TEXT(buf, TABLE[i].v3);
        again = parsed(buf, 3);
        OK(ozarr_dtype_equal(d, again, &same));
        CHECK(same == (TABLE[i].order != OZARR_BYTE_ORDER_BIG));
        ozarr_dtype_free(again);
        OK(ozarr_dtype_to_json(d, 2, buf, sizeof buf, NULL));
        TEXT(buf, TABLE[i].v2);
        again = parsed(buf, 2);
        OK(ozarr_dtype_equal(d, again, &same));
        CHECK(same);
        ozarr_dtype_free(again);
        ozarr_dtype_free(d);
    }
    ozarr_dtype *d = NULL;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "<i4", "<i8", ozarr_dtype_parse("int", 0, &d));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "format", "7", ozarr_dtype_parse("<f8", 7, &d));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "JSON", "", ozarr_dtype_parse("[[", 0, &d));
    ERR_SAYS(OZARR_ERR_METADATA, "zarr_format 2", "", ozarr_dtype_parse("{\"name\":\"int8\"}", 2, &d));
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "quaternion", "", ozarr_dtype_parse("quaternion", 0, &d));
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "title", "", ozarr_dtype_parse("[[[\"t\",\"n\"],\"<i4\"]]", 2, &d));
    CHECK(d == NULL);
    d = parsed("[[\"a\",\">i2\"],[\"b\",\"<i2\",[2]]]", 2);
    int32_t n = 0;
    OK(ozarr_dtype_byte_order(d, &n));
    EQUAL(n, OZARR_BYTE_ORDER_MIXED);
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "byte orders", "", ozarr_dtype_to_json(d, 3, buf, sizeof buf, NULL));
    ozarr_dtype_free(d);
}

static void units_numbers_and_names(void) {
    ozarr_dtype *d = parsed("<m8[25us]", 2), *f = NULL;
    int64_t scale = 0;
    int32_t type = 0;
    OK(ozarr_dtype_unit(d, buf, sizeof buf, NULL, &scale));
    TEXT(buf, "us");
    EQUAL(scale, 25);
    OK(ozarr_dtype_type(d, &type));
    EQUAL(type, OZARR_BY_DTYPE);
    OK(ozarr_dtype_name(d, buf, sizeof buf, NULL));
    TEXT(buf, "numpy.timedelta64");
    ERR_SAYS(OZARR_ERR_TYPE, "no fields", "", ozarr_dtype_field_name(d, 0, buf, sizeof buf, NULL));
    OK(ozarr_dtype_of(OZARR_FLOAT16, &f));
    OK(ozarr_dtype_type(f, &type));
    EQUAL(type, OZARR_FLOAT16);
    ERR_SAYS(OZARR_ERR_TYPE, "unit", "float16", ozarr_dtype_unit(f, buf, sizeof buf, NULL, &scale));
    ozarr_dtype_free(f);
    ozarr_dtype_free(d);
    f = NULL;
    ERR(OZARR_ERR_ARGUMENT, ozarr_dtype_of(OZARR_AS_STORED, &f));
    ERR(OZARR_ERR_ARGUMENT, ozarr_dtype_chars(0, ' ', &f));
    ERR(OZARR_ERR_ARGUMENT, ozarr_dtype_chars(SIZE_MAX, ' ', &f));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "pad", "", ozarr_dtype_chars(4, '_', &f));
    ERR(OZARR_ERR_ARGUMENT, ozarr_dtype_struct(0, &f));
    CHECK(f == NULL);
}

/* A struct as the compiler lays it out. */
static ozarr_dtype *particle_type(void) {
    ozarr_dtype *f64 = NULL, *i16 = NULL, *f32 = NULL, *name = NULL, *flow = NULL, *p = NULL;
    OK(ozarr_dtype_of(OZARR_FLOAT64, &f64));
    OK(ozarr_dtype_of(OZARR_INT16, &i16));
    OK(ozarr_dtype_of(OZARR_FLOAT32, &f32));
    OK(ozarr_dtype_chars(6, ' ', &name));
    OK(ozarr_dtype_struct(8, &flow));
    OK(ozarr_dtype_add_field(flow, "u", 0, f32, 0, NULL));
    OK(ozarr_dtype_add_field(flow, "v", 4, f32, 0, NULL));
    OK(ozarr_dtype_struct(sizeof(struct particle), &p));
    OK(ozarr_dtype_add_field(p, "x", offsetof(struct particle, x), f64, 0, NULL));
    OK(ozarr_dtype_add_field(p, "id", offsetof(struct particle, id), i16, 0, NULL));
    OK(ozarr_dtype_add_field(p, "flow", offsetof(struct particle, flow), flow, 0, NULL));
    OK(ozarr_dtype_add_field(p, "name", offsetof(struct particle, name), name, 0, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "twice", "x", ozarr_dtype_add_field(p, "x", 28, i16, 0, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "overlap", "", ozarr_dtype_add_field(p, "y", 7, i16, 0, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "ends beyond", "", ozarr_dtype_add_field(p, "y", sizeof(struct particle) - 1, i16, 0, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "ends beyond", "", ozarr_dtype_add_field(p, "y", SIZE_MAX, i16, 0, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "shape", "at least 1", ozarr_dtype_add_field(p, "y", 0, i16, 1, (int64_t[]){0}));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "empty", "", ozarr_dtype_add_field(p, "", 0, i16, 0, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "expected a struct", "", ozarr_dtype_add_field(i16, "y", 0, i16, 0, NULL));
    ERR_SAYS(OZARR_ERR_RANK, "65", "", ozarr_dtype_add_field(p, "y", 0, i16, 65, NULL));
    int64_t count = 0;
    size_t offset = 0;
    OK(ozarr_dtype_field_count(p, &count));
    EQUAL(count, 4);
    OK(ozarr_dtype_field_offset(p, 2, &offset));
    EQUAL(offset, offsetof(struct particle, flow));
    ERR(OZARR_ERR_BOUNDS, ozarr_dtype_field_offset(p, 4, &offset));
    ozarr_dtype_free(f64);
    ozarr_dtype_free(i16);
    ozarr_dtype_free(f32);
    ozarr_dtype_free(name);
    ozarr_dtype_free(flow);
    return p;
}

/* An array of structs whose bytes are in other orders and places, in several chunks, some of which are missing. */
static void structs_go_by_name(int32_t format) {
    int64_t shape[] = {5, 3}, chunks[] = {2, 3};
    const char *text = format == 2 ? "[[\"flow\",[[\"v\",\">f8\"],[\"u\",\"<f4\"]]],[\"name\",\"|S8\"],[\"\",\"|V3\"],[\"x\",\">f8\"],[\"id\",\"<i4\"]]"
                                   : "{\"name\":\"struct\",\"configuration\":{\"fields\":[{\"name\":\"flow\",\"data_type\":{\"name\":\"struct\",\"configuration\":"
                                     "{\"fields\":[{\"name\":\"v\",\"data_type\":\"float64\"},{\"name\":\"u\",\"data_type\":\"float32\"}]}}},{\"name\":\"name\",\"data_type\":"
                                     "{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":8}}},{\"name\":\"x\",\"data_type\":\"float64\"},"
                                     "{\"name\":\"id\",\"data_type\":\"int32\"}]}}";
    ozarr_dtype *stored = parsed(text, format), *p = particle_type(), *found = NULL;
    ozarr_spec *s = NULL;
    ozarr_array *a = NULL;
    struct particle in[15], out[15];
    bool same = false;
    OK(ozarr_spec_new_dtype(stored, 2, shape, &s));
    OK(ozarr_spec_set_zarr_format(s, format));
    OK(ozarr_spec_set_chunks(s, chunks));
    OK(ozarr_spec_set_member_json(s, "fill_value", "{\"x\": -1.5, \"id\": 7, \"name\": \"bm9uZQ==\"}"));
    OK(ozarr_array_create_ex(format == 2 ? "v2.zarr" : "v3.zarr", s, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_copy_dtype(a, &found));
    OK(ozarr_dtype_equal(stored, found, &same));
    CHECK(same);

    /* What was never written is the fill value; the bytes between the fields stay. */
    memset(out, 0x5a, sizeof out);
    ozarr_memory m = memory_of(out, sizeof out, p);
    OK(ozarr_array_read_ex(a, NULL, &m));
    for (int i = 0; i < 15; i++) {
        CHECK(out[i].x == -1.5 && out[i].id == 7 && out[i].flow.u == 0 && !memcmp(out[i].name, "none  ", 6));
        CHECK(((unsigned char *)&out[i])[10] == 0x5a && ((unsigned char *)&out[i])[sizeof *out - 1] == 0x5a);
    }
    memset(in, 0, sizeof in);
    for (int i = 0; i < 15; i++) {
        in[i] = (struct particle){0.25 * i, (int16_t)(-i), {(float)i, (float)(100 - i)}, ""};
        memcpy(in[i].name, i % 2 ? "odd   " : "even 2", 6);
    }
    m = memory_of(in, sizeof in, p);
    OK(ozarr_array_write_ex(a, NULL, &m));
    m = memory_of(out, sizeof out, p);
    OK(ozarr_array_read_ex(a, NULL, &m));
    for (int i = 0; i < 15; i++)
        CHECK(out[i].x == in[i].x && out[i].id == in[i].id && out[i].flow.v == in[i].flow.v && !memcmp(out[i].name, in[i].name, 6));

    /* One field, whole chunks of it: nothing else changes. */
    double v[15];
    m = memory_of(v, sizeof v, NULL);
    m.type = OZARR_FLOAT64, m.field = "flow.v";
    OK(ozarr_array_read_ex(a, NULL, &m));
    for (int i = 0; i < 15; i++) CHECK(v[i] == 100 - i), v[i] *= 2;
    OK(ozarr_array_write_ex(a, NULL, &m));
    m = memory_of(out, sizeof out, p);
    OK(ozarr_array_read_ex(a, NULL, &m));
    for (int i = 0; i < 15; i++) CHECK(out[i].flow.v == 200 - 2 * i && out[i].flow.u == i && out[i].x == in[i].x && out[i].id == in[i].id);
    int8_t small[15];
    m = memory_of(small, sizeof small, NULL);
    m.type = OZARR_INT8, m.field = "flow.v";
    ERR_SAYS(OZARR_ERR_RANGE, "\"v\"", "int8", ozarr_array_read_ex(a, NULL, &m));
    m.field = "flow.w";
    ERR_SAYS(OZARR_ERR_NOT_FOUND, "flow.w", "", ozarr_array_read_ex(a, NULL, &m));
    m.field = "";
    ERR(OZARR_ERR_NOT_FOUND, ozarr_array_read_ex(a, NULL, &m));
    m.field = "x.y";
    ERR(OZARR_ERR_NOT_FOUND, ozarr_array_read_ex(a, NULL, &m));
    m.field = NULL;
    ERR(OZARR_ERR_TYPE, ozarr_array_read_ex(a, NULL, &m));
    m.dtype = p;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "dtype", "OZARR_BY_DTYPE", ozarr_array_read_ex(a, NULL, &m));

    /* A field that the array does not have; a type that fields cannot become. */
    ozarr_dtype *other = parsed("[[\"x\",\"<f8\"],[\"z\",\"<f8\"]]", 2), *wrong = parsed("[[\"x\",\"|S8\"]]", 2);
    m = memory_of(out, sizeof out, other);
    ERR_SAYS(OZARR_ERR_TYPE, "\"z\"", "flow", ozarr_array_read_ex(a, NULL, &m));
    m = memory_of(out, sizeof out, wrong);
    ERR(OZARR_ERR_TYPE, ozarr_array_read_ex(a, NULL, &m));
    m = memory_of(out, sizeof out, NULL);
    m.dtype = NULL, m.size = sizeof(double);
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_read_ex(a, NULL, &m));
    ozarr_dtype_free(other);
    ozarr_dtype_free(wrong);
    ozarr_dtype_free(stored);
    ozarr_dtype_free(found);
    ozarr_dtype_free(p);
    ozarr_spec_free(s);
    OK(ozarr_array_close(a));
}

/* One value of a field that has a shape, here `w` of [1, 2], which was never written. */
static void components_by_index(ozarr_array *a) {
    float w[2] = {0, 0}, one = 9;
    ozarr_memory m = memory_of(&one, sizeof one, NULL);
    m.type = OZARR_FLOAT32, m.field = "w[0,1]";
    OK(ozarr_array_write_ex(a, NULL, &m));
    m = memory_of(w, sizeof w, NULL);
    m.type = OZARR_FLOAT32, m.field = "w";
    OK(ozarr_array_read_ex(a, NULL, &m));
    CHECK(w[0] == 2.5f && w[1] == 9);
    m = memory_of(&one, sizeof one, NULL);
    m.type = OZARR_FLOAT32, m.field = "w[0,0]";
    OK(ozarr_array_read_ex(a, NULL, &m));
    CHECK(one == 2.5f);
    static const char *const none[] = {"w[0,2]", "w[1]", "w[0,0,0]", "k[0]", "w[", "w[]"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        m.field = none[i];
        ERR_SAYS(OZARR_ERR_NOT_FOUND, none[i], "no field", ozarr_array_read_ex(a, NULL, &m));
    }
}

/* The struct itself as an array's type: the gaps go. */
static void arrays_have_no_gaps(void) {
    int64_t shape[] = {1};
    ozarr_dtype *p = NULL, *i16 = NULL, *f32 = NULL, *found = NULL, *field = NULL;
    ozarr_spec *s = NULL;
    size_t size = 0, offset = 0;
    int64_t lengths[2] = {0};
    int32_t rank = 0, fill[4] = {0};
    OK(ozarr_dtype_of(OZARR_INT16, &i16));
    OK(ozarr_dtype_of(OZARR_FLOAT32, &f32));
    OK(ozarr_dtype_struct(16, &p));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "no field", "", ozarr_spec_new_dtype(p, 1, shape, &s));
    ERR(OZARR_ERR_ARGUMENT, ozarr_dtype_to_json(p, 2, buf, sizeof buf, NULL));
    OK(ozarr_dtype_item_size(p, &size));
    EQUAL(size, 16);
    OK(ozarr_dtype_add_field(p, "w", 8, f32, 2, (int64_t[]){1, 2}));
    OK(ozarr_dtype_add_field(p, "k", 2, i16, 0, NULL));
    OK(ozarr_dtype_field_shape(p, 0, NULL, 0, &rank));
    EQUAL(rank, 2);
    OK(ozarr_dtype_field_shape(p, 0, lengths, 2, &rank));
    CHECK(lengths[0] == 1 && lengths[1] == 2);
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_dtype_field_shape(p, 0, lengths, 1, &rank));
    OK(ozarr_dtype_copy_field_dtype(p, 1, &field));
    OK(ozarr_dtype_name(field, buf, sizeof buf, NULL));
    TEXT(buf, "int16");
    OK(ozarr_spec_new_dtype(p, 1, shape, &s));
    OK(ozarr_spec_set_zarr_format(s, 2));
    fill[0] = 0x00050000, ((float *)fill)[2] = 2.5f;
    OK(ozarr_spec_set_fill_dtype(s, p, fill, sizeof fill));
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_spec_set_fill_dtype(s, p, fill, 15));
    OK(ozarr_spec_to_json(s, buf, sizeof buf, NULL));
    CHECK(strstr(buf, "\"fill_value\": \"AAAgQAAAAAAFAA==\"") != NULL);
    ozarr_array *a = NULL;
    OK(ozarr_array_create_ex("packed.zarr", s, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_item_size(a, &size));
    EQUAL(size, 10);
    OK(ozarr_array_copy_dtype(a, &found));
    OK(ozarr_dtype_field_offset(found, 1, &offset));
    EQUAL(offset, 8);
    components_by_index(a);
    OK(ozarr_array_close(a));
    OK(ozarr_spec_set_zarr_format(s, 3));
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "data_type", "has a shape, which zarr_format 3 cannot say: create the array in zarr_format 2", ozarr_spec_to_json(s, buf, sizeof buf, NULL));
    ozarr_spec_free(s);
    ozarr_dtype_free(p);
    ozarr_dtype_free(i16);
    ozarr_dtype_free(f32);
    ozarr_dtype_free(found);
    ozarr_dtype_free(field);
}

static ozarr_array *array_of(const char *location, const char *type, int64_t n) {
    ozarr_dtype *d = parsed(type, 2);
    ozarr_spec *s = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_spec_new_dtype(d, 1, &n, &s));
    OK(ozarr_array_create_ex(location, s, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(s);
    ozarr_dtype_free(d);
    return a;
}

static void text_of_any_padding(void) {
    static const char *const TYPES[] = {"|S6", "<U6", ">U4"};
    for (int i = 0; i < 3; i++) {
        char where[16], out[3][5], nul[3][9];
        snprintf(where, sizeof where, "text%d.zarr", i);
        ozarr_array *a = array_of(where, TYPES[i], 3);
        ozarr_dtype *blank = NULL, *c = NULL, *narrow = NULL;
        OK(ozarr_dtype_chars(5, ' ', &blank));
        OK(ozarr_dtype_chars(9, '\0', &c));
        OK(ozarr_dtype_chars(2, ' ', &narrow));
        ozarr_memory m = memory_of((char[]){"ab   caf\xc3\xa9     "}, 15, blank);
        OK(ozarr_array_write_ex(a, NULL, &m));
        m = memory_of(out, sizeof out, blank);
        OK(ozarr_array_read_ex(a, NULL, &m));
        CHECK(!memcmp(out, "ab   caf\xc3\xa9     ", 15));
        m = memory_of(nul, sizeof nul, c);
        OK(ozarr_array_read_ex(a, NULL, &m));
        TEXT(nul[0], "ab");
        TEXT(nul[1], "caf\xc3\xa9");
        TEXT(nul[2], "");
        m = memory_of(out, 6, narrow);
        ERR_SAYS(OZARR_ERR_RANGE, "[1]", "2 bytes", ozarr_array_read_ex(a, NULL, &m));
        if (i == 1) {
            m = memory_of((char[]){"abcde\xff\xff\xff\xff\xff     "}, 15, blank);
            ERR_SAYS(OZARR_ERR_RANGE, "UTF-8", "[1]", ozarr_array_write_ex(a, NULL, &m));
        }
        /* What is behind the end of a text in C is not stored. */
        memset(nul, 'U', sizeof nul);
        for (int k = 0; k < 3; k++) snprintf(nul[k], sizeof nul[k], "n%d", k);
        m = memory_of(nul, sizeof nul, c);
        OK(ozarr_array_write_ex(a, NULL, &m));
        OK(ozarr_array_read_ex(a, NULL, &m));
        CHECK(!memcmp(nul[1], "n1\0\0\0\0\0\0", 9));
        m = memory_of(out, sizeof out, NULL);
        m.type = OZARR_FLOAT32;
        ERR(OZARR_ERR_TYPE, ozarr_array_read_ex(a, NULL, &m));
        ozarr_spec *s = NULL;
        int64_t n = 3;
        ERR_SAYS(OZARR_ERR_TYPE, "memory only", "", ozarr_spec_new_dtype(blank, 1, &n, &s));
        ozarr_dtype_free(blank);
        ozarr_dtype_free(c);
        ozarr_dtype_free(narrow);
        OK(ozarr_array_close(a));
    }
}

static void times_in_the_callers_unit(void) {
    ozarr_array *a = array_of("time.zarr", ">M8[ms]", 4);
    ozarr_dtype *seconds = parsed("<M8[s]", 2), *months = parsed("datetime64[M]", 0), *ns = parsed("<M8[ns]", 2), *span = parsed("<m8[s]", 2);
    int64_t in[] = {1577836800, -1, INT64_MIN, 951782400}, out[4];
    ozarr_memory m = memory_of(in, sizeof in, seconds);
    OK(ozarr_array_write_ex(a, NULL, &m));
    m = memory_of(out, sizeof out, months);
    OK(ozarr_array_read_ex(a, NULL, &m));
    CHECK(out[0] == 600 && out[1] == -1 && out[2] == INT64_MIN && out[3] == 361);
    OK(ozarr_array_read(a, OZARR_INT64, out, sizeof out));
    CHECK(out[0] == 1577836800000 && out[2] == INT64_MIN);
    m = memory_of(out, sizeof out, span);
    ERR(OZARR_ERR_TYPE, ozarr_array_read_ex(a, NULL, &m));
    out[0] = INT64_MAX / 2000, out[1] = 0;
    OK(ozarr_array_write(a, OZARR_INT64, out, sizeof out));
    m = memory_of(out, sizeof out, ns);
    ERR_SAYS(OZARR_ERR_RANGE, "[0]", "", ozarr_array_read_ex(a, NULL, &m));
    ozarr_dtype_free(seconds);
    ozarr_dtype_free(months);
    ozarr_dtype_free(ns);
    ozarr_dtype_free(span);
    OK(ozarr_array_close(a));
}

static void values_as_json(void) {
    static const struct { const char *type, *value, *v2, *v3; } TABLE[] = {
        {"|b1", "00", "false", "false"},
        {"<i2", "0000", "0", "0"},
        {"<f4", "00000000", "0.0", "0.0"},
        {"<c8", "0000000000000000", "[0.0,0.0]", "[0.0,0.0]"},
        {"|S2", "0000", "\"AAA=\"", "\"AAA=\""},
        {"|V2", "0000", "\"AAA=\"", "[0,0]"},
        {"<U1", "00000000", "\"\"", "\"\""},
        {"<M8[s]", "0000000000000080", "-9223372036854775808", "\"NaT\""},
        {"[[\"a\",\">i2\"],[\"b\",\"|S1\"]]", "000000", "\"AAAA\"", "{\"a\":0,\"b\":\"AA==\"}"},
    };
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++) {
        ozarr_dtype *d = parsed(TABLE[i].type, 2);
        unsigned char value[16], again[16];
        size_t size = 0;
        OK(ozarr_dtype_item_size(d, &size));
        memset(value, 0x77, sizeof value);
        for (size_t k = 0; k < size; k++) {
            unsigned byte = 0;
            CHECK(sscanf(TABLE[i].value + 2 * k, "%2x", &byte) == 1);
            value[k] = (unsigned char)byte;
        }
        for (int32_t format = 2; format < 4; format++) {
            OK(ozarr_dtype_scalar_to_json(d, format, value, size, buf, sizeof buf, NULL));
            TEXT(buf, format == 2 ? TABLE[i].v2 : TABLE[i].v3);
            OK(ozarr_dtype_scalar_from_json(d, format, buf, again, size));
            CHECK(!memcmp(value, again, size));
            ERR(OZARR_ERR_METADATA, ozarr_dtype_scalar_from_json(d, format, "{\"zz\": 1}", again, size));
            ERR(OZARR_ERR_BUFFER_SIZE, ozarr_dtype_scalar_from_json(d, format, buf, again, size - 1));
            ERR(OZARR_ERR_BUFFER_SIZE, ozarr_dtype_scalar_to_json(d, format, value, size - 1, buf, sizeof buf, NULL));
        }
        ERR(OZARR_ERR_ARGUMENT, ozarr_dtype_scalar_from_json(d, 3, "{", value, size));
        ERR(OZARR_ERR_ARGUMENT, ozarr_dtype_scalar_from_json(d, 1, "0", value, size));
        ozarr_dtype_free(d);
    }
    int8_t value = 5;
    ozarr_dtype *d = parsed("int8", 3);
    OK(ozarr_dtype_scalar_from_json(d, 3, "42", &value, 1));
    EQUAL(value, 42);
    ERR_SAYS(OZARR_ERR_METADATA, "128", "range", ozarr_dtype_scalar_from_json(d, 3, "128", &value, 1));
    EQUAL(value, 42);
    ozarr_dtype_free(d);
}

/* An array of a big-endian type is stored so, in both formats. */
static void arrays_have_the_byte_order_of_their_type(void) {
    static const struct { const char *type; int32_t format; const char *found; } TABLE[] = {
        {">i2", 2, "\">i2\""}, {"<i2", 2, "\"<i2\""}, {">i2", 3, "\"endian\": \"big\""}, {"<i2", 3, "\"endian\": \"little\""}};
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++) {
        ozarr_dtype *d = parsed(TABLE[i].type, 2);
        ozarr_spec *s = NULL;
        OK(ozarr_spec_new_dtype(d, 1, (int64_t[]){4}, &s));
        OK(ozarr_spec_set_zarr_format(s, TABLE[i].format));
        OK(ozarr_spec_to_json(s, buf, sizeof buf, NULL));
        if (!strstr(buf, TABLE[i].found)) FAIL("%s in format %d: %s", TABLE[i].type, (int)TABLE[i].format, buf);
        ozarr_spec_free(s);
        ozarr_dtype_free(d);
    }
}

int main(void) {
    texts_become_types();
    arrays_have_the_byte_order_of_their_type();
    units_numbers_and_names();
    structs_go_by_name(2);
    structs_go_by_name(3);
    arrays_have_no_gaps();
    text_of_any_padding();
    times_in_the_callers_unit();
    values_as_json();
    return finish();
}
