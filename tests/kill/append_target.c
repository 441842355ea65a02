/* What the kill sweep kills while it appends steps, and what checks the store afterwards.
 *
 *   append_target STORE prepare 2|3|s   an array of FIRST steps, which end inside a chunk (s: a shard)
 *   append_target STORE append EVERY    appends the others; the shape is published every EVERY steps (0: with each whole chunk)
 *   append_target STORE check           prints how many steps are published; all of them are right; then appends the rest
 *
 * The system calls between two calls of getppid() are those of the appender. */
#define _POSIX_C_SOURCE 200809L
#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST = 5, ALL = 23, DEPTH = 8, WIDTH = 6 };

static const char *store_path;
static int32_t data[ALL][WIDTH];

static void check(ozarr_status s, const char *what) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "append_target: %s: %s (%s)\n", what, ozarr_last_error(), ozarr_status_name(s));
    exit(1);
}

static int32_t value(int64_t step, int64_t cell) { return (int32_t)(step * 100 + cell + 1); }

static ozarr_array *open_array(ozarr_store **store) {
    ozarr_array *a = NULL;
    check(ozarr_store_open(store_path, "r+", store), "opening the store");
    check(ozarr_array_open_at(*store, "g/a", &a), "opening the array");
    return a;
}

static void append(ozarr_array *a, int64_t from, int64_t to, int64_t every) {
    ozarr_appender *out = NULL;
    int64_t position = -1;
    check(ozarr_appender_open(a, 0, every, 0, &out), "opening an appender");
    check(ozarr_appender_position(out, &position, NULL), "position");
    if (position != from) {
        fprintf(stderr, "append_target: the appender begins at %d, expected %d\n", (int)position, (int)from);
        exit(1);
    }
    for (int64_t step = from; step < to; step++) check(ozarr_appender_append(out, 1, OZARR_INT32, data[step], sizeof *data), "appending");
    check(ozarr_appender_close(out), "closing the appender");
}

static void prepare(const char *form) {
    int64_t shape[] = {0, WIDTH}, chunks[] = {DEPTH, 4}, inner[] = {DEPTH / 2, 2};
    ozarr_store *store = NULL;
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    check(ozarr_store_open(store_path, "r+", &store), "store");
    check(ozarr_spec_new(OZARR_INT32, 2, shape, &spec), "spec");
    check(ozarr_spec_set_zarr_format(spec, *form == '2' ? 2 : 3), "format");
    check(ozarr_spec_set_chunks(spec, chunks), "chunks");
    if (*form == 's') check(ozarr_spec_set_inner_chunks(spec, inner), "inner chunks");
    check(ozarr_array_create_at(store, "g/a", spec, OZARR_CREATE_NEW, &a), "array");
    append(a, 0, FIRST, 0);
    ozarr_spec_free(spec);
    check(ozarr_array_close(a), "closing the array");
    check(ozarr_store_close(store), "closing the store");
}

static int64_t length_of(const ozarr_array *a) {
    int64_t shape[2];
    check(ozarr_array_shape(a, shape), "shape");
    return shape[0];
}

static void check_steps(const ozarr_array *a) {
    int32_t found[ALL][WIDTH];
    int64_t length = length_of(a);
    if (length < FIRST || length > ALL) {
        fprintf(stderr, "append_target: %d steps\n", (int)length);
        exit(1);
    }
    check(ozarr_array_read(a, OZARR_INT32, found, sizeof found), "reading");
    for (int64_t i = 0; i < length * WIDTH; i++)
        if (found[i / WIDTH][i % WIDTH] != data[i / WIDTH][i % WIDTH]) {
            fprintf(stderr, "append_target: of %d steps, step %d holds %d\n", (int)length, (int)(i / WIDTH), (int)found[i / WIDTH][i % WIDTH]);
            exit(1);
        }
}

int main(int argc, char **argv) {
    ozarr_store *store = NULL;
    if (argc < 3) return 2;
    store_path = argv[1];
    for (int64_t i = 0; i < ALL * WIDTH; i++) data[i / WIDTH][i % WIDTH] = value(i / WIDTH, i % WIDTH);
    if (strcmp(argv[2], "prepare") == 0) {
        prepare(argv[3]);
        return 0;
    }
    ozarr_array *a = open_array(&store);
    if (strcmp(argv[2], "append") == 0) {
        (void)getppid();
        append(a, FIRST, ALL, atoi(argv[3]));
        (void)getppid();
    } else {
        int64_t length = length_of(a);
        check_steps(a);
        append(a, length, ALL, 3);
        check_steps(a);
        if (length_of(a) != ALL) return fprintf(stderr, "append_target: %d steps after all\n", (int)length_of(a)), 1;
        printf("%d\n", (int)length);
    }
    check(ozarr_array_close(a), "closing the array");
    check(ozarr_store_close(store), "closing the store");
    return 0;
}
