/* Writes a hierarchy that netCDF-C is to open: groups, dimensions (one of them unlimited), coordinates, text, a scalar, attributes.
 *
 *   nczarr_write PATH on|off [old]   with NCZarr's keys, or as pure Zarr; old: without what netCDF-C of the system's packages lacks,
 *                                    a compressor and text of a fixed length */
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <ozarr_formats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(ozarr_status s) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "nczarr_write: %s\n", ozarr_last_error());
    exit(1);
}

static int old;

static ozarr_array *create(ozarr_store *store, const char *path, const char *type, int32_t rank, const int64_t *shape, const char *const *names) {
    ozarr_dtype *dtype = NULL;
    ozarr_spec *spec = NULL;
    ozarr_array *array = NULL;
    check(ozarr_dtype_parse(type, 2, &dtype));
    check(ozarr_spec_new_dtype(dtype, rank, shape, &spec));
    check(ozarr_spec_set_zarr_format(spec, 2));
    if (names) check(ozarr_spec_set_dimension_names(spec, names));
    check(ozarr_spec_set_compressor(spec, old ? "none" : "zlib", old ? 0 : 4));
    check(ozarr_array_create_at(store, path, spec, OZARR_CREATE_NEW, &array));
    ozarr_spec_free(spec);
    ozarr_dtype_free(dtype);
    return array;
}

int main(int argc, char **argv) {
    const char *tx[] = {"time", "x"}, *x[] = {"x"}, *xy[] = {"x", "y"};
    const int64_t shape_tx[] = {3, 4}, four = 4, shape_xy[] = {4, 2}, six = 6, one = 1;
    const char *scalar[] = {"_scalar_"};
    if (argc != 3 && argc != 4) return 2;
    old = argc == 4;
    const char *options[] = {"nczarr", argv[2], NULL};
    ozarr_store *store = NULL;
    ozarr_group *root = NULL;
    check(ozarr_store_open_ex(NULL, argv[1], "r+", options, &store));
    check(ozarr_group_create_at(store, "", 2, OZARR_CREATE_NEW, &root));
    check(ozarr_attr_set_string(ozarr_group_node(root), "title", "from C"));
    if (!strcmp(argv[2], "on")) check(ozarr_group_nc_define_dimension(root, "time", 0, true));

    float values[12];
    for (int i = 0; i < 12; i++) values[i] = 0.5f * (float)i;
    ozarr_array *t = create(store, "t", "<f4", 2, shape_tx, tx);
    check(ozarr_array_write(t, OZARR_FLOAT32, values, sizeof values));
    check(ozarr_attr_set_string(ozarr_array_node(t), "units", "K"));
    check(ozarr_attr_set_json(ozarr_array_node(t), "levels", "[1, 2, 3]"));
    check(ozarr_attr_set_double(ozarr_array_node(t), "scale", 0.25));
    /* What netCDF has no type for. (Without the keys netCDF-C reads no attribute of a node that has null or lists of texts.) */
    if (!old && !strcmp(argv[2], "on")) {
        check(ozarr_attr_set_json(ozarr_array_node(t), "forecast", "true"));
        check(ozarr_attr_set_json(ozarr_array_node(t), "grid", "{\"a\": 1}"));
        check(ozarr_attr_set_json(ozarr_array_node(t), "nothing", "null"));
        check(ozarr_attr_set_json(ozarr_array_node(t), "none", "[]"));
        check(ozarr_attr_set_json(ozarr_array_node(t), "flags", "[\"a\", \"b\"]"));
    }

    double places[] = {0, 10, 20, 30};
    ozarr_array *xs = create(store, "x", "<f8", 1, &four, x);
    check(ozarr_array_write(xs, OZARR_FLOAT64, places, sizeof places));

    int16_t words[] = {1, 2, 3, 4, 5, 6, 7, 8};
    ozarr_array *w = create(store, "g/w", "<i2", 2, shape_xy, xy);
    check(ozarr_array_write(w, OZARR_INT16, words, sizeof words));

    uint8_t bytes[] = {9, 8, 7, 6, 5, 4};
    ozarr_array *u = create(store, "g/u", "|u1", 1, &six, NULL);
    check(ozarr_array_write(u, OZARR_UINT8, bytes, sizeof bytes));

    int32_t seven = 7;
    ozarr_array *s = create(store, "s", "<i4", 1, &one, scalar);
    check(ozarr_array_write(s, OZARR_INT32, &seven, sizeof seven));

    const char *const names[] = {"a", "bcd", "", "efghi"};
    ozarr_array *n = old ? NULL : create(store, "names", "|S8", 1, &four, x);
    if (n) check(ozarr_array_write_strings(n, NULL, names));

    ozarr_array *all[] = {t, xs, w, u, s, n};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ozarr_array_free(all[i]);
    ozarr_group_free(root);
    check(ozarr_store_close(store));
    return 0;
}
