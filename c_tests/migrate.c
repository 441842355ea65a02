/* Migration from C: of a v2 hierarchy that the library wrote, and of one in a draft; progress, cancelling, in place. */
#include "table.h"
#include <sys/stat.h>

#ifndef NO_LINKS_ARE_TOLD
#define NO_LINKS_ARE_TOLD 0
#endif

static const int64_t SHAPE[] = {6}, CHUNKS[] = {2};

struct told {
    int64_t calls, done, total, stop;
};

static ozarr_status tell(void *user, int64_t done, int64_t total) {
    struct told *told = user;
    told->calls++, told->done = done, told->total = total;
    return told->stop && done >= told->stop ? ozarr_set_error(OZARR_ERR_CANCELLED, "enough", NULL) : OZARR_OK;
}

static void write_v2(const char *location) {
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    ozarr_store *store = NULL;
    const int32_t values[6] = {1, 2, 3, 4, 5, 6};
    OK(ozarr_store_open(location, "r+", &store));
    OK(ozarr_spec_new(OZARR_INT32, 1, SHAPE, &spec));
    OK(ozarr_spec_set_chunks(spec, CHUNKS));
    OK(ozarr_spec_set_zarr_format(spec, 2));
    OK(ozarr_array_create_at(store, "g/a", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT32, values, sizeof values));
    OK(ozarr_attr_set_string(ozarr_array_node(a), "units", "K"));
    OK(ozarr_array_close(a));
    OK(ozarr_store_close(store));
    ozarr_spec_free(spec);
}

/* The array has the six values, and is of that format and draft. */
static void check(const char *location, int32_t format, const char *draft) {
    ozarr_array *a = NULL;
    int32_t values[6] = {0}, found;
    char text[8];
    size_t len = 99;
    if (!OK(ozarr_array_open(location, "r", &a))) return;
    OK(ozarr_node_zarr_format(ozarr_array_node(a), &found));
    EQUAL(found, format);
    OK(ozarr_node_get(ozarr_array_node(a), "draft", text, sizeof text, &len));
    TEXT(text, draft);
    EQUAL(len, strlen(draft));
    OK(ozarr_array_read(a, OZARR_INT32, values, sizeof values));
    for (int i = 0; i < 6; i++) EQUAL(values[i], i + 1);
    ozarr_array_free(a);
}

static void put(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

static void write_draft(void) {
    static const char *const folders[] = {"d.zarr", "d.zarr/meta", "d.zarr/meta/root", "d.zarr/data", "d.zarr/data/root", "d.zarr/data/root/a"};
    static const char uri[] = "https://purl.org/zarr/spec/protocol/core/3.0";
    static const char array[] = "{\"shape\": [6], \"data_type\": \"<i4\", \"chunk_grid\": {\"type\": \"regular\", \"chunk_shape\": [6], \"separator\": \"/\"},"
                                " \"chunk_memory_layout\": \"C\", \"fill_value\": 0, \"extensions\": [], \"attributes\": {}}";
    static const int32_t values[6] = {1, 2, 3, 4, 5, 6};
    char entry[200];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) CHECK(mkdir(folders[i], 0777) == 0);
    snprintf(entry, sizeof entry, "{\"zarr_format\": \"%s\", \"metadata_encoding\": \"%s\", \"extensions\": []}", uri, uri);
    put("d.zarr/zarr.json", entry, strlen(entry));
    put("d.zarr/meta/root/a.array.json", array, strlen(array));
    put("d.zarr/data/root/a/c0", values, sizeof values);
}

int main(void) {
    struct told told = {0, 0, 0, 0};
    struct stat st;

    /* v2: cancelled, completed, refused where something is. */
    write_v2("old.zarr");
    told.stop = 2;
    ERR_SAYS(OZARR_ERR_CANCELLED, "`progress`", "enough", ozarr_migrate("old.zarr", "new.zarr", 0, tell, &told));
    told.stop = 0;
    OK(ozarr_migrate("old.zarr", "new.zarr", 0, tell, &told));
    EQUAL(told.done, told.total);
    EQUAL(told.done, 6);
    check("new.zarr/g/a", 3, "");
    check("old.zarr/g/a", 2, "");
    CHECK(stat("new.zarr/g/a/0", &st) == 0 && st.st_nlink == 1);
    ERR_SAYS(OZARR_ERR_EXISTS, "new.zarr", "holds something", ozarr_migrate("old.zarr", "new.zarr", 0, NULL, NULL));
    OK(ozarr_migrate("old.zarr", "linked.zarr", OZARR_MIGRATE_LINK, NULL, NULL));
    CHECK(stat("linked.zarr/g/a/0", &st) == 0 && (st.st_nlink == 2 || NO_LINKS_ARE_TOLD));
    OK(ozarr_migrate("old.zarr", NULL, OZARR_MIGRATE_IN_PLACE, NULL, NULL));
    check("old.zarr/g/a", 3, "");
    CHECK(stat("old.zarr/g/a/.zarray", &st) != 0);

    /* A draft: read, not written, migrated. */
    ozarr_array *a = NULL;
    ozarr_group *g = NULL;
    char text[8];
    const int32_t values[6] = {0};
    write_draft();
    check("d.zarr/a", 3, "d0");
    OK(ozarr_group_open("d.zarr", "r+", &g));
    OK(ozarr_node_get(ozarr_group_node(g), "draft", text, sizeof text, NULL));
    TEXT(text, "d0");
    OK(ozarr_group_open_array(g, "a", &a));
    ERR_SAYS(OZARR_ERR_READ_ONLY, "(d0)", "ozarr migrate", ozarr_array_write(a, OZARR_INT32, values, sizeof values));
    ERR_SAYS(OZARR_ERR_READ_ONLY, "(d0)", "ozarr migrate", ozarr_attr_set_int64(ozarr_array_node(a), "x", 1));
    ozarr_array_free(a);
    ozarr_group_free(g);
    OK(ozarr_migrate("d.zarr", "e.zarr", 0, NULL, NULL));
    check("e.zarr/a", 3, "");
    check("d.zarr/a", 3, "d0");

    /* Arguments. */
    ERR_SAYS(OZARR_ERR_ARGUMENT, "flags", "8", ozarr_migrate("d.zarr", "f.zarr", 8, NULL, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "dest", "IN_PLACE", ozarr_migrate("d.zarr", "f.zarr", OZARR_MIGRATE_IN_PLACE, NULL, NULL));
    ERR_SAYS(OZARR_ERR_NULL, "dest", "NULL", ozarr_migrate("d.zarr", NULL, OZARR_MIGRATE_LINK, NULL, NULL));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_migrate("nothing.zarr", "f.zarr", 0, NULL, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "lies inside of", "", ozarr_migrate("d.zarr", "d.zarr/inside", 0, NULL, NULL));
    return finish();
}
