/* The worked examples of the Zarr version 2 specification ("Storing a single array", "Storing multiple arrays in a hierarchy"): the same
 * calls, and after each the names that are in the folder. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <ozarr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void check(ozarr_status s) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "%s\n", ozarr_last_error());
    exit(1);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Prints the sorted names in a folder; those that begin with .ozarr are the library's own. */
static void list(const char *folder) {
    char *names[64];
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strncmp(e->d_name, ".ozarr", 6) != 0 && n < 64) names[n++] = strdup(e->d_name);
    if (d != NULL) closedir(d);
    qsort(names, (size_t)n, sizeof names[0], by_name);
    printf("%s: [", folder);
    for (int i = 0; i < n; i++) {
        printf("%s'%s'", i > 0 ? ", " : "", names[i]);
        free(names[i]);
    }
    printf("]\n");
}

static void fill(ozarr_array *a, int64_t row, int64_t column, int64_t rows, int64_t columns, int32_t value) {
    int32_t values[400];
    int64_t start[] = {row, column}, count[] = {rows, columns};
    for (int64_t i = 0; i < rows * columns; i++) values[i] = value;
    check(ozarr_array_write_region(a, start, count, OZARR_INT32, values, (size_t)(rows * columns) * sizeof values[0]));
}

static void single_array(void) {
    ozarr_spec *s = NULL;
    ozarr_array *a = NULL;
    int64_t shape[] = {20, 20}, chunks[] = {10, 10};
    int32_t value = 42, first[2];
    int64_t start[] = {0, 9}, count[] = {1, 2};

    check(ozarr_spec_new(OZARR_INT32, 2, shape, &s));
    check(ozarr_spec_set_zarr_format(s, 2));
    check(ozarr_spec_set_chunks(s, chunks));
    check(ozarr_spec_set_fill_value(s, OZARR_INT32, &value));
    check(ozarr_spec_set_compressor(s, "zlib", 1));
    check(ozarr_array_create_ex("data/example.zarr", s, OZARR_OVERWRITE, &a));
    ozarr_spec_free(s);
    list("data/example.zarr");
    fill(a, 0, 0, 10, 10, 1);
    list("data/example.zarr");
    fill(a, 0, 10, 10, 10, 2);
    fill(a, 10, 0, 10, 20, 3);
    list("data/example.zarr");
    check(ozarr_array_read_region(a, start, count, OZARR_INT32, first, sizeof first));
    printf("a[0, 9:11] = [%d, %d]\n", (int)first[0], (int)first[1]);
    check(ozarr_array_attr_set_int64(a, "foo", 42));
    check(ozarr_array_attr_set_string(a, "bar", "apples"));
    check(ozarr_array_attr_set_json(a, "baz", "[1, 2, 3, 4]"));
    list("data/example.zarr");
    check(ozarr_array_close(a));
}

static void hierarchy(void) {
    ozarr_store *store = NULL;
    ozarr_group *root = NULL, *foo = NULL;
    ozarr_spec *s = NULL;
    ozarr_array *bar = NULL;
    int64_t shape[] = {20, 20}, chunks[] = {10, 10};
    double values[400];

    check(ozarr_store_open("data/group.zarr", "r+", &store));
    check(ozarr_group_create_at(store, "", 2, OZARR_NEW, &root));
    list("data/group.zarr");
    check(ozarr_group_create_at(store, "foo", 0, OZARR_NEW, &foo));
    list("data/group.zarr");
    list("data/group.zarr/foo");
    check(ozarr_spec_new(OZARR_FLOAT64, 2, shape, &s));
    check(ozarr_spec_set_zarr_format(s, 2));
    check(ozarr_spec_set_chunks(s, chunks));
    check(ozarr_array_create_at(store, "foo/bar", s, OZARR_NEW, &bar));
    ozarr_spec_free(s);
    for (int i = 0; i < 400; i++) values[i] = 42;
    check(ozarr_array_write(bar, OZARR_FLOAT64, values, sizeof values));
    check(ozarr_array_attr_set_string(bar, "comment", "answer to life, the universe and everything"));
    list("data/group.zarr");
    list("data/group.zarr/foo");
    list("data/group.zarr/foo/bar");
    ozarr_array_free(bar);
    ozarr_group_free(foo);
    ozarr_group_free(root);
    check(ozarr_store_close(store));
}

int main(void) {
    mkdir("data", 0777);
    single_array();
    hierarchy();
    return 0;
}
