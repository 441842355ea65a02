/* The worked examples of the Zarr v2 specification, on a folder and in a zip archive, with the keys that are stored after each step. */
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>

static void check(ozarr_status status) {
    if (status == OZARR_OK) return;
    printf("%s: %s\n", ozarr_status_name(status), ozarr_last_error());
    exit(1);
}

static ozarr_status show(void *user, const char *key) {
    (void)user;
    printf("  %s\n", key);
    return OZARR_OK;
}

static void show_keys(const char *step, ozarr_store *store) {
    printf("%s\n", step);
    check(ozarr_store_key_list(store, "", show, NULL));
}

static void show_document(ozarr_store *store, const char *key) {
    char text[1024];
    size_t length;
    check(ozarr_store_key_get(store, key, text, sizeof text, &length));
    printf("%s: %.*s", key, (int)length, text);
}

static void fill(ozarr_array *array, int64_t row, int64_t column, int64_t rows, int64_t columns, int32_t value) {
    int32_t data[20 * 20];
    int64_t start[] = {row, column}, shape[] = {rows, columns};
    for (int i = 0; i < 20 * 20; i++) data[i] = value;
    check(ozarr_array_write_region(array, start, shape, OZARR_INT32, data, sizeof data[0] * (size_t)(rows * columns)));
}

/* "Storing a single array": 20 x 20 integers in chunks of 10 x 10. */
static void single_array(const char *location) {
    static const char document[] = "{\"chunks\": [10, 10], \"compressor\": {\"id\": \"zlib\", \"level\": 1}, \"dtype\": \"<i4\", \"fill_value\": 42,"
                                   " \"filters\": null, \"order\": \"C\", \"shape\": [20, 20], \"zarr_format\": 2}";
    ozarr_store *store = NULL;
    ozarr_spec *spec = NULL;
    ozarr_array *array = NULL;
    printf("== %s\n", location);
    check(ozarr_store_open(location, "r+", &store));
    check(ozarr_spec_from_json(document, &spec));
    check(ozarr_array_create_at(store, "", spec, OZARR_CREATE_NEW, &array));
    show_keys("created", store);
    show_document(store, ".zarray");
    fill(array, 0, 0, 10, 10, 1);
    show_keys("a[0:10, 0:10] = 1", store);
    fill(array, 0, 10, 10, 10, 2);
    fill(array, 10, 0, 10, 20, 3);
    show_keys("a[0:10, 10:20] = 2; a[10:20, :] = 3", store);
    check(ozarr_attr_set_int64(ozarr_array_node(array), "foo", 42));
    check(ozarr_attr_set_string(ozarr_array_node(array), "bar", "apples"));
    check(ozarr_attr_set_json(ozarr_array_node(array), "baz", "[1, 2, 3, 4]"));
    show_keys("attributes foo, bar, baz", store);
    show_document(store, ".zattrs");
    ozarr_array_free(array);
    ozarr_spec_free(spec);
    check(ozarr_store_close(store));
}

/* "Storing multiple arrays in a hierarchy". */
static void hierarchy(const char *location) {
    ozarr_store *store = NULL;
    ozarr_group *root = NULL, *foo = NULL;
    ozarr_spec *spec = NULL;
    ozarr_array *bar = NULL;
    int64_t shape[] = {20, 20}, chunks[] = {10, 10};
    double data[20 * 20];
    printf("== %s\n", location);
    check(ozarr_store_open(location, "r+", &store));
    check(ozarr_group_create_at(store, "", 2, OZARR_CREATE_NEW, &root));
    show_keys("root group", store);
    show_document(store, ".zgroup");
    check(ozarr_group_create_at(store, "foo", 0, OZARR_CREATE_NEW, &foo));
    show_keys("group foo", store);
    check(ozarr_spec_new(OZARR_FLOAT64, 2, shape, &spec));
    check(ozarr_spec_set_chunks(spec, chunks));
    check(ozarr_spec_set_zarr_format(spec, 2));
    check(ozarr_array_create_at(store, "foo/bar", spec, OZARR_CREATE_NEW, &bar));
    for (int i = 0; i < 20 * 20; i++) data[i] = 42;
    check(ozarr_array_write(bar, OZARR_FLOAT64, data, sizeof data));
    check(ozarr_attr_set_string(ozarr_array_node(bar), "comment", "answer to life, the universe and everything"));
    show_keys("array foo/bar = 42, with a comment", store);
    ozarr_array_free(bar);
    ozarr_spec_free(spec);
    ozarr_group_free(foo);
    ozarr_group_free(root);
    /* Finishes the archive: until then it has no directory. */
    check(ozarr_store_close(store));
    check(ozarr_store_open(location, "r", &store));
    show_keys("closed and opened again", store);
    ozarr_store_free(store);
}

/* What an archive cannot do, it says. */
static void erase(const char *location) {
    ozarr_store *store = NULL;
    uint32_t can;
    check(ozarr_store_open(location, "r+", &store));
    check(ozarr_store_capabilities(store, &can));
    printf("%s can erase: %s\n", location, can & OZARR_STORE_CAN_ERASE ? "yes" : "no");
    ozarr_status status = ozarr_store_key_erase(store, "foo/bar/1.1", NULL);
    printf("erasing a chunk: %s\n", ozarr_status_name(status));
    ozarr_store_free(store);
}

int main(void) {
    single_array("example.zarr");
    single_array("example.zip");
    hierarchy("group.zarr");
    hierarchy("group.zip");
    erase("group.zarr");
    erase("group.zip");
    return 0;
}
