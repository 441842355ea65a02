/* Groups, children, stores, erasing, consolidated metadata. */
#include "table.h"
#include <stdbool.h>
#include <sys/stat.h>

/* The children of a group as "name:kind name:kind". */
static const char *children(const ozarr_group *g) {
    static char all[1024];
    ozarr_node_iter *it = NULL;
    bool more = false;
    size_t n = 0;
    all[0] = 0;
    if (!OK(ozarr_group_list_nodes(g, NULL, 1, &it))) return all;
    while (OK(ozarr_node_iter_next(it, &more)) && more) {
        char name[64];
        ozarr_node_kind kind = -1;
        size_t len = 0;
        OK(ozarr_node_iter_name(it, name, sizeof name, &len));
        EQUAL(len, strlen(name));
        OK(ozarr_node_iter_kind(it, &kind));
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s:%d", n ? " " : "", name, (int)kind);
    }
    OK(ozarr_node_iter_next(it, &more));
    CHECK(!more);
    char name[8];
    ERR(OZARR_ERR_STATE, ozarr_node_iter_name(it, name, sizeof name, NULL));
    ozarr_node_iter_free(it);
    return all;
}

static void by_location(void) {
    int64_t shape[] = {4};
    ozarr_group *g = NULL, *sub = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *s = NULL;
    int32_t format = 0;
    OK(ozarr_group_create("tree.zarr", OZARR_CREATE_NEW, &g));
    OK(ozarr_node_zarr_format(ozarr_group_node(g), &format));
    EQUAL(format, 3);
    TEXT(children(g), "");
    OK(ozarr_group_create_group(g, "deep/er", OZARR_CREATE_NEW, &sub));
    ozarr_group_free(sub);
    OK(ozarr_spec_new(OZARR_INT16, 1, shape, &s));
    OK(ozarr_group_create_array(g, "a", s, OZARR_CREATE_NEW, &a));
    ozarr_array_free(a);
    OK(ozarr_group_create_array(g, "deep/b", s, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_close(a));
    TEXT(children(g), "a:1 deep:2");
    ERR(OZARR_ERR_EXISTS, ozarr_group_create_group(g, "deep", OZARR_CREATE_NEW, &sub));
    OK(ozarr_group_create_group(g, "deep", OZARR_CREATE_OPEN_IF_SAME, &sub));
    TEXT(children(sub), "b:1 er:2");
    OK(ozarr_group_open_array(sub, "b", &a));
    ozarr_array_free(a);
    ozarr_group_free(sub);
    ERR_SAYS(OZARR_ERR_NODE_KIND, "a", "", ozarr_group_open_group(g, "a", &sub));
    ERR_SAYS(OZARR_ERR_NODE_KIND, "deep", "", ozarr_group_open_array(g, "deep", &a));
    ERR_SAYS(OZARR_ERR_NOT_FOUND, "depp", "deep", ozarr_group_open_group(g, "depp", &sub));
    static const char *const names[] = {"..", ".", "a/../b", "deep/../../x", "__x", "zarr.json", "x\ny"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!ERR(OZARR_ERR_NAME, ozarr_group_create_group(g, names[i], OZARR_CREATE_NEW, &sub))) FAIL("name \"%s\"", names[i]);
    }
    OK(ozarr_group_close(g));

    OK(ozarr_node_open("tree.zarr/a", "r", &a, &g));
    CHECK(a != NULL && g == NULL);
    ozarr_array_free(a);
    OK(ozarr_node_open("tree.zarr", "r", &a, &g));
    CHECK(a == NULL && g != NULL);
    ERR(OZARR_ERR_READ_ONLY, ozarr_group_create_group(g, "x", OZARR_CREATE_NEW, &sub));
    ozarr_group_free(g);
    ERR(OZARR_ERR_NOT_FOUND, ozarr_node_open("tree.zarr/nothing", "r", &a, &g));
    OK(ozarr_node_erase("tree.zarr/deep"));
    OK(ozarr_group_open("tree.zarr", "r", &g));
    TEXT(children(g), "a:1");
    ozarr_group_free(g);
    ozarr_spec_free(s);
}

/* A child that cannot be understood is listed with its reason, and hides no sibling. */
static void a_broken_child(void) {
    ozarr_group *g = NULL, *sub = NULL;
    OK(ozarr_group_create("odd.zarr", OZARR_CREATE_NEW, &g));
    OK(ozarr_group_create_group(g, "a", OZARR_CREATE_NEW, &sub));
    ozarr_group_free(sub);
    OK(ozarr_group_create_group(g, "z", OZARR_CREATE_NEW, &sub));
    ozarr_group_free(sub);
    mkdir("odd.zarr/m", 0777);
    put_file("odd.zarr/m/zarr.json", "{\"zarr_format\": 3, \"node_type\": \"arr", 36);
    TEXT(children(g), "a:2 m:3 z:2");
    ozarr_node_iter *it = NULL;
    bool more = false;
    char why[512];
    OK(ozarr_group_list_nodes(g, NULL, 1, &it));
    ERR(OZARR_ERR_STATE, ozarr_node_iter_error(it, why, sizeof why, NULL));
    OK(ozarr_node_iter_next(it, &more));
    OK(ozarr_node_iter_error(it, why, sizeof why, NULL));
    TEXT(why, "");
    OK(ozarr_node_iter_next(it, &more));
    OK(ozarr_node_iter_error(it, why, sizeof why, NULL));
    CHECK(strstr(why, "m/zarr.json") != NULL);
    ozarr_node_iter_free(it);
    ozarr_group_free(g);
}

/* Stores: memory, by path, both formats; what hangs on a store lives longer than its handle. */
static void stores(void) {
    int64_t shape[] = {4};
    int16_t values[] = {1, 2, 3, 4}, in[4];
    ozarr_store *st = NULL;
    ozarr_group *g = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *s = NULL;
    ozarr_node_kind kind = -1;
    int32_t format = 0;
    OK(ozarr_store_memory(&st));
    OK(ozarr_store_node_kind(st, "", &kind));
    EQUAL(kind, OZARR_NODE_KIND_NONE);
    OK(ozarr_group_create_at(st, "", 2, OZARR_CREATE_NEW, &g));
    ozarr_group_free(g);
    OK(ozarr_group_create_at(st, "sub", 0, OZARR_CREATE_NEW, &g));
    OK(ozarr_node_zarr_format(ozarr_group_node(g), &format));
    EQUAL(format, 2);
    ozarr_group_free(g);
    ERR_SAYS(OZARR_ERR_ARGUMENT, "4", "", ozarr_group_create_at(st, "four", 4, OZARR_CREATE_NEW, &g));
    OK(ozarr_spec_new(OZARR_INT16, 1, shape, &s));
    OK(ozarr_spec_set_zarr_format(s, 2));
    OK(ozarr_array_create_at(st, "sub/a", s, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(s);
    OK(ozarr_store_node_kind(st, "sub/a", &kind));
    EQUAL(kind, OZARR_NODE_KIND_ARRAY);
    OK(ozarr_store_node_kind(st, "sub", &kind));
    EQUAL(kind, OZARR_NODE_KIND_GROUP);
    OK(ozarr_store_close(st));
    OK(ozarr_array_write(a, OZARR_INT16, values, sizeof values));
    OK(ozarr_array_read(a, OZARR_INT16, in, sizeof in));
    CHECK(memcmp(in, values, sizeof in) == 0);
    ozarr_array_free(a);

    ozarr_context *ctx = NULL;
    const char *options[] = {"file.sync", "each", NULL}, *wrong[] = {"file.sink", "each", NULL}, *value[] = {"file.sync", "often", NULL};
    OK(ozarr_context_new(&ctx));
    OK(ozarr_context_set(ctx, "threads", "2"));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "threads", "0", ozarr_context_set(ctx, "threads", "0"));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "thread", "threads", ozarr_context_set(ctx, "thread", "1"));
    OK(ozarr_store_open_ex(ctx, "store.zarr", "r+", options, &st));
    ozarr_context_free(ctx);
    OK(ozarr_group_create_at(st, "g", 0, OZARR_CREATE_NEW, &g));
    ozarr_group_free(g);
    OK(ozarr_store_node_erase(st, "g"));
    OK(ozarr_store_node_kind(st, "g", &kind));
    EQUAL(kind, OZARR_NODE_KIND_NONE);
    OK(ozarr_store_flush(st));
    OK(ozarr_store_close(st));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "file.sink", "", ozarr_store_open_ex(NULL, "store.zarr", "r", wrong, &st));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "often", "", ozarr_store_open_ex(NULL, "store.zarr", "r", value, &st));
    OK(ozarr_store_open("store.zarr", "r", &st));
    ERR(OZARR_ERR_READ_ONLY, ozarr_group_create_at(st, "h", 0, OZARR_CREATE_NEW, &g));
    ERR(OZARR_ERR_READ_ONLY, ozarr_store_node_erase(st, "g"));
    ozarr_store_free(st);
}

static void consolidated(void) {
    int64_t shape[] = {4};
    ozarr_array *a = NULL;
    ozarr_group *g = NULL;
    static char document[1 << 16];
    OK(ozarr_array_create("cons.zarr/x/a", OZARR_INT16, 1, shape, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_close(a));
    OK(ozarr_group_open("cons.zarr", "r+", &g));
    OK(ozarr_group_consolidate(g));
    OK(ozarr_node_flush(ozarr_group_node(g)));
    OK(ozarr_group_close(g));
    OK(ozarr_group_open("cons.zarr", "r", &g));
    OK(ozarr_node_metadata(ozarr_group_node(g), document, sizeof document, NULL));
    CHECK(strstr(document, "consolidated_metadata") != NULL && strstr(document, "x/a") != NULL);
    TEXT(children(g), "x:2");
    OK(ozarr_group_open_array(g, "x/a", &a));
    ozarr_array_free(a);
    ozarr_group_free(g);

    /* Another program changes the shape and leaves the consolidated metadata as they are. */
    char *text = file_content("cons.zarr/x/a/zarr.json", NULL), *at = text == NULL ? NULL : strstr(text, "\"shape\": [4]");
    if (at == NULL) {
        FAIL("the document of x/a is not as expected: %s", text == NULL ? "none" : text);
        return;
    }
    at[strlen("\"shape\": [")] = '6';
    put_file("cons.zarr/x/a/zarr.json", text, strlen(text));
    free(text);
    static const struct { const char *value; int64_t length; } options[] = {{"auto", 4}, {"never", 6}};
    for (int i = 0; i < 2; i++) {
        const char *list[] = {"consolidated", options[i].value, NULL};
        ozarr_store *st = NULL;
        ozarr_group *x = NULL;
        OK(ozarr_store_open_ex(NULL, "cons.zarr", "r", list, &st));
        OK(ozarr_group_open_at(st, "", &g));
        OK(ozarr_group_open_group(g, "x", &x));
        TEXT(children(x), "a:1");
        OK(ozarr_group_open_array(x, "a", &a));
        OK(ozarr_array_shape(a, shape));
        EQUAL(shape[0], options[i].length);
        ozarr_array_free(a);
        ozarr_group_free(x);
        ozarr_group_free(g);
        ozarr_store_free(st);
    }
    const char *wrong[] = {"consolidated", "perhaps", NULL};
    ozarr_store *none = NULL;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "perhaps", "never", ozarr_store_open_ex(NULL, "cons.zarr", "r", wrong, &none));
}

/* The dimensions of NCZarr, and the images of OME-Zarr, that a group has. */
static void conventions(void) {
    ozarr_store *st = NULL;
    ozarr_group *g = NULL;
    char name[16];
    size_t len = 0;
    int64_t count = 0, axes = 0;
    double scale = 0, translation = 1;
    bool unlimited = false;
    OK(ozarr_store_memory(&st));
    OK(ozarr_group_create_at(st, "", 2, OZARR_CREATE_NEW, &g));
    ERR(OZARR_ERR_ARGUMENT, ozarr_group_nc_define_dimension(g, "x", -1, false));
    OK(ozarr_group_nc_define_dimension(g, "x", 2, true));
    OK(ozarr_group_nc_dimension(g, 0, name, sizeof name, &len, &count, &unlimited));
    CHECK(count == 2 && unlimited && !strcmp(name, "x") && len == 1);
    ERR(OZARR_ERR_BOUNDS, ozarr_group_nc_dimension(g, 1, name, sizeof name, &len, &count, &unlimited));
    OK(ozarr_attr_set_json(ozarr_group_node(g), "multiscales", "[{\"axes\": [{\"name\": \"x\", \"type\": \"space\", \"unit\": \"m\"}],"
                                                               " \"datasets\": [{\"path\": \"s0\"}]}]"));
    OK(ozarr_group_image_count(g, &count));
    EQUAL(count, 1);
    OK(ozarr_group_image_size(g, 0, &count, &axes));
    CHECK(count == 1 && axes == 1);
    ERR(OZARR_ERR_BOUNDS, ozarr_group_image_size(g, 1, &count, &axes));
    OK(ozarr_group_image_level(g, 0, 0, name, sizeof name, &len));
    TEXT(name, "s0");
    ERR(OZARR_ERR_BOUNDS, ozarr_group_image_level(g, 0, 1, name, sizeof name, &len));
    OK(ozarr_group_image_scale(g, 0, 0, &scale, &translation, 1));
    CHECK(scale == 1 && translation == 0);
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_group_image_scale(g, 0, 0, &scale, NULL, 0));
    OK(ozarr_group_image_axis(g, 0, 0, "unit", name, sizeof name, &len));
    TEXT(name, "m");
    ERR_SAYS(OZARR_ERR_ARGUMENT, "colour", "unit", ozarr_group_image_axis(g, 0, 0, "colour", name, sizeof name, &len));
    OK(ozarr_group_image_axis(g, 0, 0, "type", name, sizeof name, &len));
    TEXT(name, "space");
    ERR(OZARR_ERR_BOUNDS, ozarr_group_image_axis(g, 0, 7, "name", name, sizeof name, &len));
    ozarr_group_free(g);
    ozarr_store_free(st);
}

int main(void) {
    conventions();
    by_location();
    a_broken_child();
    stores();
    consolidated();
    return finish();
}
