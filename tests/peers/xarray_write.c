/* Writes a consolidated group as a user would for xarray: named dimensions, coordinates, attributes, a scalar, a time axis; and, below
 * OUT.restart, the checkpoint `step-7`, whose state is a dataset.
 *
 *   xarray_write OUT 2|3      the version of the format */
#include <math.h>
#include <ozarr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t format;

static void check(ozarr_status s, const char *what) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "xarray_write: %s: %s\n", what, ozarr_last_error());
    exit(1);
}

/* Creates and fills an array; `names` are its dimensions, `attributes` a JSON object. */
static void put(ozarr_group *g, const char *name, ozarr_type type, int32_t rank, const int64_t *shape, const char *const *names, const char *attributes, const void *data, size_t size) {
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    check(ozarr_spec_new(type, rank, shape, &spec), name);
    check(ozarr_spec_set_zarr_format(spec, format), name);
    check(ozarr_spec_set_dimension_names(spec, names), name);
    check(ozarr_spec_set_member_json(spec, "attributes", attributes), name);
    /* In version 2 xarray takes a fill value for "missing": integers have none. */
    if (type == OZARR_FLOAT32 || type == OZARR_FLOAT64) check(ozarr_spec_set_member_json(spec, "fill_value", "\"NaN\""), name);
    else if (format == 2) check(ozarr_spec_set_member_json(spec, "fill_value", "null"), name);
    check(ozarr_group_create_array(g, name, spec, OZARR_CREATE_NEW, &a), name);
    check(ozarr_array_write(a, type, data, size), name);
    check(ozarr_array_close(a), name);
    ozarr_spec_free(spec);
}

/* Commits a checkpoint with a dataset in it. */
static void save(const char *run, const double *y, int64_t length) {
    static const char *const dimensions[] = {"y"};
    char location[1024];
    ozarr_group *g = NULL;
    ozarr_dataset *state = NULL;
    ozarr_array *a = NULL;
    snprintf(location, sizeof location, "%s.restart", run);
    check(ozarr_checkpoint_begin(location, "step-7", &g), "checkpoint");
    check(ozarr_group_open_dataset(g, &state), "its dataset");
    check(ozarr_dataset_define_dimension(state, "y", length), "y");
    check(ozarr_dataset_define_variable(state, "u", OZARR_FLOAT64, 1, dimensions, &a), "u");
    check(ozarr_array_write(a, OZARR_FLOAT64, y, (size_t)length * sizeof *y), "u");
    check(ozarr_array_close(a), "u");
    check(ozarr_dataset_close(state), "its dataset");
    check(ozarr_attr_set_int64(ozarr_group_node(g), "step", 7), "step");
    check(ozarr_checkpoint_commit(g), "commit");
}

int main(int argc, char **argv) {
    static const char *const all[] = {"time", "y", "x"};
    static float t[3][4][5];
    int64_t shape[] = {3, 4, 5}, days[] = {0, 1, 2};
    double y[4], x[5];
    int32_t mapping = 7;
    ozarr_store *store = NULL;
    ozarr_group *g = NULL;
    if (argc != 3) return fprintf(stderr, "usage: xarray_write OUT 2|3\n"), 2;
    format = atoi(argv[2]);
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 5; i++) t[k][j][i] = (float)(100 * k + 10 * j + i);
    t[2][3][4] = NAN;
    for (int j = 0; j < 4; j++) y[j] = 0.5 * j;
    for (int i = 0; i < 5; i++) x[i] = 0.25 * i;

    check(ozarr_store_open(argv[1], "r+", &store), "store");
    check(ozarr_group_create_at(store, "", format, OZARR_CREATE_NEW, &g), "group");
    check(ozarr_attrs_set(ozarr_group_node(g), "{\"title\": \"from C\", \"levels\": [1, 2, 3]}"), "attributes");
    put(g, "temperature", OZARR_FLOAT32, 3, shape, all, "{\"units\": \"K\", \"coordinates\": \"mapping\"}", t, sizeof t);
    put(g, "time", OZARR_INT64, 1, shape, all, "{\"units\": \"days since 2026-01-01\", \"calendar\": \"standard\"}", days, sizeof days);
    put(g, "y", OZARR_FLOAT64, 1, shape + 1, all + 1, "{\"units\": \"m\"}", y, sizeof y);
    put(g, "x", OZARR_FLOAT64, 1, shape + 2, all + 2, "{\"units\": \"m\"}", x, sizeof x);
    put(g, "mapping", OZARR_INT32, 0, shape, all, "{}", &mapping, sizeof mapping);
    check(ozarr_group_consolidate(g), "consolidating");
    check(ozarr_group_close(g), "group");
    check(ozarr_store_close(store), "store");
    save(argv[1], y, 4);
    return 0;
}
