/* What the kill sweep kills, and what checks the store afterwards.
 *
 *   kill_target STORE prepare 2|3|s   an array of two chunks (s: shards) with the old values, attribute step = 1
 *   kill_target STORE chunk           writes the new values over the first chunk
 *   kill_target STORE partial         writes the new values over half of the first chunk
 *   kill_target STORE stream          writes the new values over the first shard, inner chunk by inner chunk
 *   kill_target STORE attribute       sets the attribute step to 2
 *   kill_target STORE over-array      creates the array anew, over the old one
 *   kill_target STORE over-group      creates the root group anew, over all that is below it
 *   kill_target STORE over-root       creates an array at the root, over the group
 *   kill_target STORE check WHAT      old or new, nothing else; then writes again, as after a restart
 *
 * The system calls between two calls of getppid() are those of the operation. */
#define _POSIX_C_SOURCE 200809L
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 5000
#define INNER 1000

static const char *store_path;

static void check(ozarr_status s, const char *what) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "kill_target: %s: %s (%s)\n", what, ozarr_last_error(), ozarr_status_name(s));
    exit(1);
}

static void require(int truth, const char *what) {
    if (truth) return;
    fprintf(stderr, "kill_target: %s\n", what);
    exit(1);
}

/* The old values count up, the new ones down. */
static int32_t old_value(int i) { return i; }
static int32_t new_value(int i) { return -1 - i; }

static ozarr_array *open_array(ozarr_store **store, const char *mode) {
    ozarr_array *a = NULL;
    check(ozarr_store_open(store_path, mode, store), "opening the store");
    check(ozarr_array_open_at(*store, "a", &a), "opening the array");
    return a;
}

static void finish(ozarr_store *store, ozarr_array *a) {
    check(ozarr_array_close(a), "closing the array");
    check(ozarr_store_close(store), "closing the store");
}

static void prepare(const char *form) {
    int32_t format = *form == 's' ? 3 : atoi(form);
    static int32_t v[2 * CHUNK];
    int64_t shape = 2 * CHUNK, chunk = CHUNK, inner = INNER;
    ozarr_store *store = NULL;
    ozarr_group *g = NULL;
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    for (int i = 0; i < 2 * CHUNK; i++) v[i] = old_value(i);
    check(ozarr_store_open(store_path, "r+", &store), "store");
    check(ozarr_group_create_at(store, "", format, OZARR_CREATE_NEW, &g), "group");
    check(ozarr_spec_new(OZARR_INT32, 1, &shape, &spec), "spec");
    check(ozarr_spec_set_zarr_format(spec, format), "format");
    check(ozarr_spec_set_chunks(spec, &chunk), "chunks");
    if (*form == 's') check(ozarr_spec_set_inner_chunks(spec, &inner), "inner chunks");
    check(ozarr_group_create_array(g, "a", spec, OZARR_CREATE_NEW, &a), "array");
    check(ozarr_attr_set_int64(ozarr_array_node(a), "step", 1), "attribute");
    check(ozarr_array_write(a, OZARR_INT32, v, sizeof v), "writing");
    check(ozarr_group_consolidate(g), "consolidating");
    check(ozarr_group_close(g), "group");
    ozarr_spec_free(spec);
    finish(store, a);
}

/* Writes new values over elements 0 .. count. */
static void write_new(int64_t count) {
    static int32_t v[CHUNK];
    int64_t start = 0;
    ozarr_store *store = NULL;
    ozarr_array *a = open_array(&store, "r+");
    for (int i = 0; i < CHUNK; i++) v[i] = new_value(i);
    (void)getppid();
    check(ozarr_array_write_region(a, &start, &count, OZARR_INT32, v, (size_t)count * sizeof *v), "writing");
    check(ozarr_node_flush(ozarr_array_node(a)), "flushing");
    (void)getppid();
    finish(store, a);
}

static void stream_new(void) {
    static int32_t v[CHUNK];
    int64_t shard = 0;
    ozarr_store *store = NULL;
    ozarr_array *a = open_array(&store, "r+");
    ozarr_shard_writer *w = NULL;
    for (int i = 0; i < CHUNK; i++) v[i] = new_value(i);
    (void)getppid();
    check(ozarr_shard_writer_new(a, &shard, &w), "beginning a shard");
    for (int64_t i = CHUNK / INNER - 1; i >= 0; i--) check(ozarr_shard_writer_put(w, &i, false, OZARR_INT32, v + i * INNER, INNER * sizeof *v), "putting");
    check(ozarr_shard_writer_finish(w), "finishing");
    check(ozarr_node_flush(ozarr_array_node(a)), "flushing");
    (void)getppid();
    ozarr_shard_writer_free(w);
    finish(store, a);
}

static void set_attribute(void) {
    ozarr_store *store = NULL;
    ozarr_array *a = open_array(&store, "r+");
    (void)getppid();
    check(ozarr_attr_set_int64(ozarr_array_node(a), "step", 2), "attribute");
    check(ozarr_node_flush(ozarr_array_node(a)), "flushing");
    (void)getppid();
    finish(store, a);
}

/* Creates the array, the group or an array at the root, over what is there. */
static void create_over(const char *what) {
    int64_t shape = 2 * CHUNK, chunk = CHUNK;
    ozarr_store *store = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    ozarr_group *g = NULL;
    check(ozarr_spec_new(OZARR_INT32, 1, &shape, &spec), "spec");
    check(ozarr_spec_set_chunks(spec, &chunk), "chunks");
    check(ozarr_store_open(store_path, "r+", &store), "store");
    (void)getppid();
    if (!strcmp(what, "over-group")) check(ozarr_group_create_at(store, "", 0, OZARR_CREATE_OVERWRITE, &g), "group");
    else check(ozarr_array_create_at(store, !strcmp(what, "over-array") ? "a" : "", spec, OZARR_CREATE_OVERWRITE, &a), "array");
    (void)getppid();
    if (a) check(ozarr_array_close(a), "closing the array");
    if (g) check(ozarr_group_close(g), "closing the group");
    ozarr_spec_free(spec);
    check(ozarr_store_close(store), "closing the store");
}

/* Whether the new node is there, which is empty; the old one has all its values and its attribute. */
static int is_replaced(const char *what) {
    static int32_t v[2 * CHUNK];
    int64_t step = 0;
    ozarr_store *store = NULL;
    ozarr_array *a = NULL;
    ozarr_node_kind root, below;
    int is_new = 0;
    check(ozarr_store_open(store_path, "r", &store), "store");
    check(ozarr_store_node_kind(store, "", &root), "kind of the root");
    check(ozarr_store_node_kind(store, "a", &below), "kind of the array");
    if (!strcmp(what, "over-root") && root == OZARR_NODE_KIND_ARRAY) {
        require(below == OZARR_NODE_KIND_NONE, "the old array is there below the new one");
        check(ozarr_array_open_at(store, "", &a), "opening the new array");
    } else {
        require(root == OZARR_NODE_KIND_GROUP, "the root is neither old nor new");
        if (below == OZARR_NODE_KIND_ARRAY) check(ozarr_array_open_at(store, "a", &a), "opening the array");
        else require(!strcmp(what, "over-group"), "the array is neither old nor new");
    }
    if (a) {
        check(ozarr_array_read(a, OZARR_INT32, v, sizeof v), "reading");
        is_new = ozarr_attr_get_int64(ozarr_array_node(a), "step", &step) == OZARR_ERR_NOT_FOUND;
        require(is_new ? strcmp(what, "over-group") != 0 : step == 1, "the attribute is neither old nor new");
        for (int i = 0; i < 2 * CHUNK; i++) require(v[i] == (is_new ? 0 : old_value(i)), "the array is neither old nor new");
    }
    /* What is consolidated above it says the same: readers that go by it see no node that is half of each. */
    if (a && !strcmp(what, "over-array")) {
        ozarr_group *g = NULL;
        ozarr_array *listed = NULL;
        check(ozarr_group_open_at(store, "", &g), "opening the group");
        check(ozarr_group_open_array(g, "a", &listed), "opening the array by the group");
        require((ozarr_attr_get_int64(ozarr_array_node(listed), "step", &step) == OZARR_ERR_NOT_FOUND) == is_new, "the group lists another array than is there");
        ozarr_array_free(listed);
        ozarr_group_free(g);
    }
    ozarr_array_free(a);
    check(ozarr_store_close(store), "closing the store");
    return is_new || !a;
}

static void check_over(const char *what) {
    int is_new = is_replaced(what);
    create_over(what);
    require(is_replaced(what), "created again, but not there");
    printf("%s\n", is_new ? "new" : "old");
}

/* The group lists the one array, whatever files a kill has left. */
static void check_children(const ozarr_store *store) {
    ozarr_group *g = NULL;
    ozarr_node_iter *it = NULL;
    char name[64];
    bool more = false;
    int n = 0;
    ozarr_node_kind kind;
    check(ozarr_group_open_at(store, "", &g), "opening the group");
    for (check(ozarr_group_list_nodes(g, NULL, 1, &it), "listing"); check(ozarr_node_iter_next(it, &more), "listing"), more; n++) {
        check(ozarr_node_iter_name(it, name, sizeof name, NULL), "name");
        check(ozarr_node_iter_kind(it, &kind), "kind");
        require(!strcmp(name, "a") && kind == OZARR_NODE_KIND_ARRAY, "something else than the array is listed");
    }
    require(n == 1, "the array is not listed");
    ozarr_node_iter_free(it);
    ozarr_group_free(g);
}

static void check_after(const char *what) {
    static int32_t v[2 * CHUNK];
    int64_t step = 0, shape = 0;
    ozarr_store *store = NULL;
    ozarr_array *a = open_array(&store, "r");
    int changed = !strcmp(what, "chunk") || !strcmp(what, "stream") ? CHUNK : !strcmp(what, "partial") ? CHUNK / 2 : 0;
    check_children(store);
    check(ozarr_array_shape(a, &shape), "shape");
    require(shape == 2 * CHUNK, "the shape has changed");
    check(ozarr_array_read(a, OZARR_INT32, v, sizeof v), "reading");
    check(ozarr_attr_get_int64(ozarr_array_node(a), "step", &step), "attribute");
    int is_new = changed ? v[0] == new_value(0) : step == 2;
    require(step == 1 || (step == 2 && !changed), "the attribute is neither old nor new");
    for (int i = 0; i < 2 * CHUNK; i++)
        require(v[i] == (is_new && i < changed ? new_value(i) : old_value(i)), "the chunk is neither old nor new");
    finish(store, a);
    /* And on it goes, without any repair. */
    if (changed) write_new(changed);
    else set_attribute();
    a = open_array(&store, "r");
    check(ozarr_array_read(a, OZARR_INT32, v, sizeof v), "reading again");
    check(ozarr_attr_get_int64(ozarr_array_node(a), "step", &step), "attribute");
    for (int i = 0; i < 2 * CHUNK; i++) require(v[i] == (i < changed ? new_value(i) : old_value(i)), "written again, but not what is read");
    require(step == (changed ? 1 : 2), "set again, but not what is read");
    finish(store, a);
    printf("%s\n", is_new ? "new" : "old");
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: kill_target STORE prepare|chunk|partial|stream|attribute|over-array|over-group|over-root|check [2|3|s|WHAT]\n"), 2;
    store_path = argv[1];
    if (!strcmp(argv[2], "prepare")) prepare(argc > 3 ? argv[3] : "3");
    else if (!strcmp(argv[2], "chunk")) write_new(CHUNK);
    else if (!strcmp(argv[2], "partial")) write_new(CHUNK / 2);
    else if (!strcmp(argv[2], "stream")) stream_new();
    else if (!strcmp(argv[2], "attribute")) set_attribute();
    else if (!strncmp(argv[2], "over-", 5)) create_over(argv[2]);
    else if (!strcmp(argv[2], "check") && argc > 3 && !strncmp(argv[3], "over-", 5)) check_over(argv[3]);
    else if (!strcmp(argv[2], "check") && argc > 3) check_after(argv[3]);
    else return 2;
    return 0;
}
