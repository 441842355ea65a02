/* Writes an archive in steps, and says after each flush that it returned: a byte on standard output.
 *
 *   PROGRAM ARCHIVE [again]
 *
 * An array `a` of STEPS chunks of four int32 (chunk i holds 10 i + 1 ... 10 i + 4), each followed by a flush; `again`: the archive is there, and
 * its chunks are replaced by ones that have 100 more. */
#include <ozarr.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 4 };

static int fail(void) {
    fprintf(stderr, "%s\n", ozarr_last_error());
    return 1;
}

int main(int argc, char **argv) {
    ozarr_store *store = NULL;
    ozarr_array *a = NULL;
    const int64_t shape[] = {4 * STEPS}, chunks[] = {4};
    int again = argc > 2;
    if (argc < 2 || ozarr_store_open(argv[1], "r+", &store)) return fail();
    if (again) {
        if (ozarr_array_open_at(store, "a", &a)) return fail();
    } else {
        ozarr_spec *spec = NULL;
        if (ozarr_spec_new(OZARR_INT32, 1, shape, &spec) || ozarr_spec_set_chunks(spec, chunks)) return fail();
        if (ozarr_array_create_at(store, "a", spec, OZARR_CREATE_NEW, &a)) return fail();
        ozarr_spec_free(spec);
    }
    if (ozarr_store_flush(store) || write(1, "f", 1) != 1) return fail();
    for (int i = 0; i < STEPS; i++) {
        int64_t start[] = {4 * i};
        int32_t values[4];
        for (int k = 0; k < 4; k++) values[k] = 10 * i + k + 1 + 100 * again;
        if (ozarr_array_write_region(a, start, chunks, OZARR_INT32, values, sizeof values)) return fail();
        if (ozarr_attr_set_int64(ozarr_array_node(a), "steps", i + 1)) return fail();
        if (ozarr_node_flush(ozarr_array_node(a)) || write(1, "f", 1) != 1) return fail();
    }
    if (ozarr_array_close(a) || ozarr_store_close(store)) return fail();
    return 0;
}
