/* Hierarchies: cursors, search, move, copy, erase; what is stored; export and import. */
#include "table.h"
#include <math.h>
#include <stdbool.h>

static char buf[8192];
static size_t len;

/* What a cursor gives, as "path:kind path:kind". */
static const char *all(ozarr_node_iter *it) {
    static char text[1024];
    bool more = false;
    size_t n = 0;
    text[0] = 0;
    while (OK(ozarr_node_iter_next(it, &more)) && more) {
        ozarr_node_kind kind = -1;
        OK(ozarr_node_iter_name(it, buf, sizeof buf, &len));
        OK(ozarr_node_iter_kind(it, &kind));
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s:%d", n ? " " : "", buf, (int)kind);
    }
    ozarr_node_iter_free(it);
    return text;
}

static void hierarchy(int32_t format) {
    static const char *const paths[] = {"a", "b/c/d", "b/e", "größe/ü"};
    int64_t shape[] = {10, 10}, chunks[] = {4, 5};
    ozarr_store *st = NULL, *other = NULL;
    ozarr_group *g = NULL, *to = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *s = NULL;
    ozarr_node_iter *it = NULL;
    char place[32];
    snprintf(place, sizeof place, "v%d.zarr", (int)format);
    OK(ozarr_store_open(place, "r+", &st));
    OK(ozarr_group_create_at(st, "", format, OZARR_CREATE_NEW, &g));
    OK(ozarr_spec_new(OZARR_INT16, 2, shape, &s));
    OK(ozarr_spec_set_chunks(s, chunks));
    OK(ozarr_spec_set_zarr_format(s, format));
    for (size_t i = 0; i < 4; i++) {
        OK(ozarr_group_create_array(g, paths[i], s, OZARR_CREATE_NEW, &a));
        ozarr_array_free(a);
    }
    OK(ozarr_group_list_nodes(g, NULL, -1, &it));
    TEXT(all(it), "a:1 b:2 b/c:2 b/c/d:1 b/e:1 größe:2 größe/ü:1");
    OK(ozarr_group_list_nodes(g, NULL, 1, &it));
    TEXT(all(it), "a:1 b:2 größe:2");
    OK(ozarr_group_list_nodes(g, "**/?", -1, &it));
    TEXT(all(it), "a:1 b:2 b/c:2 b/c/d:1 b/e:1 größe/ü:1");
    OK(ozarr_group_list_nodes(g, "**/?", 2, &it));
    TEXT(all(it), "a:1 b:2 b/c:2 b/e:1 größe/ü:1");
    OK(ozarr_group_list_nodes(g, "b/*", -1, &it));
    TEXT(all(it), "b/c:2 b/e:1");
    OK(ozarr_group_list_nodes(g, "none", 0, &it));
    TEXT(all(it), "");
    it = (ozarr_node_iter *)&shape;
    ERR(OZARR_ERR_ARGUMENT, ozarr_group_list_nodes(g, "\xff", -1, &it));
    CHECK(it == NULL);

    OK(ozarr_group_consolidate(g));
    OK(ozarr_group_rename(g, "b/c", "moved/to"));
    ERR_SAYS(OZARR_ERR_EXISTS, "moved", "", ozarr_group_rename(g, "a", "moved"));
    ERR_SAYS(OZARR_ERR_NOT_FOUND, "nothing", "", ozarr_group_rename(g, "nothing", "x"));
    ERR(OZARR_ERR_ARGUMENT, ozarr_group_rename(g, "b", "b/x"));
    ERR(OZARR_ERR_NAME, ozarr_group_rename(g, "b", "__x"));
    OK(ozarr_store_memory(&other));
    OK(ozarr_group_create_at(other, "", format, OZARR_CREATE_NEW, &to));
    ozarr_copy_options raw = OZARR_COPY_OPTIONS_INIT;
    raw.flags = OZARR_COPY_RAW;
    OK(ozarr_copy_at(st, "moved", other, "copy", &raw));
    OK(ozarr_group_list_nodes(to, NULL, -1, &it));
    TEXT(all(it), "copy:2 copy/to:2 copy/to/d:1");
    OK(ozarr_group_erase(g, "größe"));
    bool current = false;
    OK(ozarr_group_consolidated_check(g, buf, sizeof buf, &len, &current));
    CHECK(current);
    OK(ozarr_group_list_nodes(g, NULL, -1, &it));
    TEXT(all(it), "a:1 b:2 b/e:1 moved:2 moved/to:2 moved/to/d:1");

    /* What is stored. */
    static int16_t data[100];
    for (int i = 0; i < 100; i++) data[i] = (int16_t)(i + 1);
    ozarr_info info = OZARR_INFO_INIT;
    int64_t start[] = {0, 0};
    OK(ozarr_group_open_array(g, "a", &a));
    OK(ozarr_array_write_region(a, start, chunks, OZARR_INT16, data, sizeof data));
    OK(ozarr_array_info(a, &info));
    CHECK(info.chunks == 1 && info.possible_chunks == 6 && info.element_bytes == 200 && info.stored_bytes > 0);
    CHECK(fabs(info.ratio * (double)info.stored_bytes - 200) < 1e-9);
    info.struct_size = 3;
    ERR(OZARR_ERR_ARGUMENT, ozarr_array_info(a, &info));

    /* One reads, another opens what it tells. */
    static char one[8192], tree[16384];
    size_t one_size = 0, tree_size = 0;
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_node_export(ozarr_array_node(a), one, 10, &one_size));
    OK(ozarr_node_export(ozarr_array_node(a), one, one_size, &one_size));
    OK(ozarr_node_export(ozarr_group_node(g), NULL, 0, &tree_size));
    OK(ozarr_node_export(ozarr_group_node(g), tree, sizeof tree, &tree_size));
    OK(ozarr_array_close(a));
    OK(ozarr_group_close(g));
    ozarr_group *g2 = NULL;
    ozarr_array *a2 = NULL;
    int16_t got = 0;
    int64_t single[] = {1, 1};
    OK(ozarr_node_import(place, "r", one, one_size, &a2, &g2));
    CHECK(a2 != NULL && g2 == NULL);
    OK(ozarr_array_read_region(a2, start, single, OZARR_INT16, &got, sizeof got));
    EQUAL(got, 1);
    OK(ozarr_node_refresh(ozarr_array_node(a2), one, one_size));
    ERR(OZARR_ERR_ARGUMENT, ozarr_node_refresh(ozarr_array_node(a2), tree, tree_size));
    ERR(OZARR_ERR_METADATA, ozarr_node_refresh(ozarr_array_node(a2), "{}", 2));
    ozarr_array_free(a2);
    ERR(OZARR_ERR_METADATA, ozarr_node_import_at(st, "{}", 2, &a2, &g2));
    CHECK(a2 == NULL && g2 == NULL);
    OK(ozarr_node_import_at(st, tree, tree_size, &a2, &g2));
    CHECK(a2 == NULL && g2 != NULL);
    OK(ozarr_group_open_array(g2, "moved/to/d", &a2));
    ozarr_array_free(a2);
    ozarr_group_free(g2);
    ozarr_group_free(to);
    ozarr_store_free(other);
    ozarr_store_free(st);
    ozarr_spec_free(s);
}

int main(void) {
    hierarchy(3);
    hierarchy(2);
    return finish();
}
