/* A dataset for xarray: dimensions, coordinates, a time axis, packed numbers with missing values; then read back as what they mean.
 *
 *   dataset OUT.zarr [2|3]
 *
 * python3 -c 'import xarray; print(xarray.open_zarr("OUT.zarr"))' shows time as dates, lat and lon as coordinates. */
#include <math.h>
#include <ozarr.h>
#include <stdio.h>
#include <stdlib.h>

enum { NT = 4, NY = 3, NX = 5 };

static void check(ozarr_status s, const char *what) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "dataset: %s: %s\n", what, ozarr_last_error());
    exit(1);
}

int main(int argc, char **argv) {
    static const char *const dims[] = {"time", "lat", "lon"};
    static double t[NT][NY][NX], back[NT][NY][NX];
    double lat[NY], lon[NX];
    float height[NY][NX];
    int64_t hours[NT], seconds[NT];
    int16_t missing = -32768;
    int32_t run = 7;
    ozarr_dataset *ds = NULL;
    ozarr_array *time = NULL, *a = NULL;
    ozarr_group *g = NULL;
    if (argc < 2) return fprintf(stderr, "usage: dataset OUT.zarr [2|3]\n"), 2;
    for (int j = 0; j < NY; j++) lat[j] = -10.0 + 10 * j;
    for (int i = 0; i < NX; i++) lon[i] = 72.0 * i;
    for (int k = 0; k < NT; k++) {
        hours[k] = 6 * k;
        for (int j = 0; j < NY; j++)
            for (int i = 0; i < NX; i++) t[k][j][i] = 273.15 + k + 0.1 * j + 0.01 * i;
    }
    t[1][2][3] = NAN; /* nothing was measured there */
    for (int j = 0; j < NY; j++)
        for (int i = 0; i < NX; i++) height[j][i] = (float)(100 * j + i);

    check(ozarr_dataset_create(argv[1], argc > 2 ? atoi(argv[2]) : 0, OZARR_CREATE_OVERWRITE, &ds), "create");
    check(ozarr_dataset_define_coordinate(ds, "lat", OZARR_FLOAT64, NY, 0, lat, sizeof lat, "degrees_north", NULL), "lat");
    check(ozarr_dataset_define_coordinate(ds, "lon", OZARR_FLOAT64, NX, 0, lon, sizeof lon, "degrees_east", NULL), "lon");
    check(ozarr_dataset_define_time(ds, "time", NT, 0, "hours since 2026-01-01", "standard", &time), "time");
    check(ozarr_array_write(time, OZARR_INT64, hours, sizeof hours), "time");

    /* Stored in 16 bits: 0.01 K apart, around 0 degrees Celsius. */
    ozarr_variable v = OZARR_VARIABLE_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    v.type = OZARR_INT16, v.rank = 3, v.dimensions = dims;
    v.units = "K", v.long_name = "temperature", v.missing = &missing, v.scale_factor = 0.01, v.add_offset = 273.15;
    check(ozarr_dataset_define_variable_ex(ds, "t", &v, OZARR_CREATE_NEW, &a), "t");
    memory.data = t, memory.size = sizeof t, memory.type = OZARR_FLOAT64;
    check(ozarr_array_write_packed(a, NULL, &memory), "t");
    ozarr_array_free(a);

    /* Coordinates beside those of the dimensions: one of two dimensions, and one number for all. */
    check(ozarr_dataset_define_variable(ds, "height", OZARR_FLOAT32, 2, dims + 1, &a), "height");
    check(ozarr_array_write(a, OZARR_FLOAT32, height, sizeof height), "height");
    check(ozarr_attr_set_string(ozarr_array_node(a), "units", "m"), "height");
    ozarr_array_free(a);
    check(ozarr_dataset_define_variable(ds, "run", OZARR_INT32, 0, NULL, &a), "run");
    check(ozarr_array_write(a, OZARR_INT32, &run, sizeof run), "run");
    ozarr_array_free(a);
    check(ozarr_dataset_set_coordinate(ds, "height"), "height");
    check(ozarr_dataset_set_coordinate(ds, "run"), "run");
    check(ozarr_dataset_open_group(ds, &g), "group");
    check(ozarr_attr_set_string(ozarr_group_node(g), "title", "six-hourly temperatures"), "title");
    ozarr_group_free(g);
    ozarr_array_free(time);
    check(ozarr_dataset_close(ds), "close");

    /* Another program reads what the numbers mean. */
    check(ozarr_dataset_open(argv[1], "r", &ds), "open");
    int64_t n = 0;
    check(ozarr_dataset_dimension_count(ds, &n), "dimensions");
    for (int64_t i = 0; i < n; i++) {
        char name[64];
        int64_t length = 0;
        check(ozarr_dataset_dimension(ds, i, name, sizeof name, NULL, &length), "dimension");
        printf("%s%s = %d", i ? ", " : "", name, (int)length);
    }
    check(ozarr_dataset_open_variable(ds, "time", &time), "time");
    check(ozarr_array_read_times(time, NULL, "seconds since 2026-01-01", seconds, sizeof seconds), "time");
    check(ozarr_dataset_open_variable(ds, "t", &a), "t");
    memory.data = back, memory.size = sizeof back;
    check(ozarr_array_read_unpacked(a, NULL, &memory), "t");
    printf("; the last time is %d s, t there %.2f K; %s\n", (int)seconds[NT - 1], back[NT - 1][0][0], isnan(back[1][2][3]) ? "one is missing" : "none is missing");
    ozarr_array_free(a);
    ozarr_array_free(time);
    check(ozarr_dataset_close(ds), "close");
    return 0;
}
