/* Odd files: the log, strict mode, the settings and options that decide what is made of them. */
#include "table.h"
#include <errno.h>
#include <fenv.h>

typedef struct {
    int count, level, seen_errno, seen_round;
    char first[256];
    ozarr_status inner;
} told;

static ozarr_status listen(void *user, ozarr_log_level level, const char *message) {
    told *t = (told *)user;
    ozarr_store *st = NULL;
    t->seen_errno = errno;
    t->seen_round = fegetround();
    if (t->count++ == 0) snprintf(t->first, sizeof t->first, "%s", message);
    t->level = (int)level;
    /* The library may be called from here. */
    t->inner = ozarr_store_open("never.zarr", "r", &st);
    ozarr_store_free(st);
    errno = 99;
    return OZARR_ERR_CANCELLED; /* of no effect */
}

static void file(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL);
    if (f == NULL) return;
    CHECK(fwrite(text, 1, strlen(text), f) == strlen(text));
    CHECK(fclose(f) == 0);
}

#define ZARRAY(more) "{\"zarr_format\": 2, \"shape\": [2, 2], \"chunks\": [2, 2], \"dtype\": \"|u1\", \"compressor\": null, \"fill_value\": 7, " \
                     "\"order\": \"C\", " more "}"

static ozarr_store *open_with(ozarr_context *ctx, const char *option, const char *value) {
    const char *options[] = {option, value, NULL};
    ozarr_store *st = NULL;
    OK(ozarr_store_open_ex(ctx, "odd.zarr", "r+", option == NULL ? NULL : options, &st));
    return st;
}

int main(void) {
    ozarr_store *st = NULL;
    ozarr_group *g = NULL;
    ozarr_array *a = NULL;
    ozarr_context *ctx = NULL;
    told t = {0, 0, 0, 0, "", OZARR_OK};
    uint8_t in[4];
    double x = 0;

    OK(ozarr_store_open("odd.zarr", "r+", &st));
    OK(ozarr_group_create_at(st, "empty", 2, OZARR_CREATE_NEW, &g));
    ozarr_group_free(g);
    OK(ozarr_group_create_at(st, "nested", 2, OZARR_CREATE_NEW, &g));
    ozarr_group_free(g);
    ozarr_store_free(st);
    CHECK(remove("odd.zarr/empty/.zgroup") == 0);
    CHECK(remove("odd.zarr/nested/.zgroup") == 0);
    file("odd.zarr/empty/.zarray", ZARRAY("\"filters\": []"));
    file("odd.zarr/empty/.zattrs", "{\"x\": NaN}");
    file("odd.zarr/empty/0.0", "");

    /* The log is told once for each open, in the host's own world. */
    OK(ozarr_context_new(&ctx));
    OK(ozarr_context_set_log(ctx, OZARR_LOG_LEVEL_WARNING, listen, &t));
    st = open_with(ctx, NULL, NULL);
    EQUAL(t.count, 0);
    errno = 42;
    CHECK(fesetround(FE_UPWARD) == 0);
    OK(ozarr_array_open_at(st, "empty", &a));
    EQUAL(t.seen_errno, 42);
    EQUAL(t.seen_round, FE_UPWARD);
    EQUAL(errno, 99);
    EQUAL(fegetround(), FE_UPWARD);
    CHECK(fesetround(FE_TONEAREST) == 0);
    EQUAL(t.count, 1);
    EQUAL(t.level, OZARR_LOG_LEVEL_WARNING);
    EQUAL(t.inner, OZARR_OK);
    CHECK(strstr(t.first, "HD-10: empty/.zarray: ") == t.first);
    ERR(OZARR_ERR_TRUNCATED, ozarr_array_read(a, OZARR_AS_STORED, in, sizeof in));
    EQUAL(t.count, 1);
    OK(ozarr_attr_get_double(ozarr_array_node(a), "x", &x));
    CHECK(x != x);
    EQUAL(t.count, 2);
    ozarr_array_free(a);

    /* A store keeps what its context said; without a function, or at level 0, nothing is told. */
    OK(ozarr_context_set_log(ctx, OZARR_LOG_LEVEL_WARNING, NULL, NULL));
    OK(ozarr_array_open_at(st, "empty", &a));
    EQUAL(t.count, 3);
    ozarr_array_free(a);
    ozarr_store_free(st);
    for (int i = 0; i < 2; i++) {
        st = open_with(ctx, NULL, NULL);
        OK(ozarr_array_open_at(st, "empty", &a));
        EQUAL(t.count, 3);
        ozarr_array_free(a);
        ozarr_store_free(st);
        OK(ozarr_context_set_log(ctx, OZARR_LOG_LEVEL_OFF, listen, &t));
    }
    ERR_SAYS(OZARR_ERR_ARGUMENT, "level", "3", ozarr_context_set_log(ctx, 3, listen, &t));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "level", "-1", ozarr_context_set_log(ctx, -1, listen, &t));

    /* Strict mode refuses. */
    ERR_SAYS(OZARR_ERR_ARGUMENT, "strict", "yes", ozarr_context_set(ctx, "strict", "yes"));
    OK(ozarr_context_set(ctx, "strict", "1"));
    st = open_with(ctx, NULL, NULL);
    ERR_SAYS(OZARR_ERR_METADATA, "HD-10", "strict", ozarr_array_open_at(st, "empty", &a));
    ozarr_store_free(st);
    OK(ozarr_context_set(ctx, "strict", "0"));

    /* Options of a store. */
    st = open_with(ctx, "empty_chunks", "missing");
    OK(ozarr_array_open_at(st, "empty", &a));
    OK(ozarr_array_read(a, OZARR_AS_STORED, in, sizeof in));
    EQUAL(in[3], 7);
    ozarr_array_free(a);
    ozarr_store_free(st);
    static const char *const wrong[][2] = {{"empty_chunks", "yes"}, {"bytes_fill", "auto"}, {"clipped_chunks", "1"}, {"checksums", ""},
                                           {"unknown_members", "x"}, {"dimension_separator", "-"}, {"zarr_format", "4"},
                                           {"consolidated", "x"}, {"nothing", "x"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *options[] = {wrong[i][0], wrong[i][1], NULL};
        ERR_SAYS(OZARR_ERR_ARGUMENT, wrong[i][0], "expected", ozarr_store_open_ex(ctx, "odd.zarr", "r", options, &st));
    }
    file("odd.zarr/nested/.zarray", ZARRAY("\"filters\": null, \"chunks\": [1, 2]"));
    st = open_with(ctx, "dimension_separator", "/");
    OK(ozarr_array_open_at(st, "nested", &a));
    memset(in, 5, sizeof in);
    OK(ozarr_array_write(a, OZARR_AS_STORED, in, sizeof in));
    ozarr_array_free(a);
    ozarr_store_free(st);
    remove("odd.zarr/nested/0/0");
    file("odd.zarr/nested/1/0", "ab");
    st = open_with(ctx, NULL, NULL);
    OK(ozarr_array_open_at(st, "nested", &a));
    OK(ozarr_array_read(a, OZARR_AS_STORED, in, sizeof in));
    CHECK(in[0] == 7 && in[2] == 'a' && in[3] == 'b');
    ozarr_array_free(a);

    /* New bare numbers are refused, unless they are allowed. */
    OK(ozarr_group_create_at(st, "g", 3, OZARR_CREATE_NEW, &g));
    ERR_SAYS(OZARR_ERR_RANGE, "non_finite", "NaN", ozarr_attr_set_double(ozarr_group_node(g), "nan", x));
    ERR_SAYS(OZARR_ERR_RANGE, "non_finite", "NaN", ozarr_attr_set_json(ozarr_group_node(g), "nan", "[NaN]"));
    ozarr_group_free(g);
    ozarr_store_free(st);
    OK(ozarr_context_set(ctx, "non_finite", "true"));
    st = open_with(ctx, NULL, NULL);
    OK(ozarr_group_open_at(st, "g", &g));
    OK(ozarr_attr_set_double(ozarr_group_node(g), "nan", x));
    OK(ozarr_attr_set_json(ozarr_group_node(g), "list", "[NaN, -Infinity]"));
    ozarr_group_free(g);
    OK(ozarr_context_set(ctx, "non_finite", "0"));
    OK(ozarr_group_open_at(st, "g", &g));
    x = 0;
    OK(ozarr_attr_get_double(ozarr_group_node(g), "nan", &x));
    CHECK(x != x);
    ozarr_group_free(g);
    ozarr_store_free(st);
    ozarr_context_free(ctx);
    return finish();
}
