/* Writes a field, opens it again, reads every second row backwards, sees an attribute, and shows an error. */
#include <ozarr.h>
#include <stdio.h>

static int failed(void) {
    printf("%s\n", ozarr_last_error());
    return 1;
}

static int write_field(void) {
    ozarr_array *t = NULL;
    int64_t shape[] = {3, 4, 6}, chunks[] = {1, 4, 6};
    if (ozarr_array_create("run.zarr/temperature", OZARR_FLOAT64, 3, shape, chunks, OZARR_CREATE_OVERWRITE, &t)) return failed();
    for (int64_t step = 0; step < 3; step++) {
        double plane[4][6];
        int64_t start[] = {step, 0, 0};
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 6; i++) plane[j][i] = 100.0 * (double)step + 10 * j + i;
        if (ozarr_array_write_region(t, start, chunks, OZARR_FLOAT64, plane, sizeof plane)) return failed();
    }
    if (ozarr_attr_set_string(ozarr_array_node(t), "units", "K")) return failed();
    if (ozarr_attr_set_double(ozarr_array_node(t), "dt", 0.25)) return failed();
    return ozarr_array_close(t) ? failed() : 0;
}

int main(void) {
    if (write_field()) return 1;

    ozarr_array *t = NULL;
    char units[16];
    double dt;
    if (ozarr_array_open("run.zarr/temperature", "r", &t)) return failed();
    if (ozarr_attr_get_string(ozarr_array_node(t), "units", units, sizeof units, NULL)) return failed();
    if (ozarr_attr_get_double(ozarr_array_node(t), "dt", &dt)) return failed();
    printf("%s, dt = %g\n", units, dt);

    /* Of step 2 the rows 3 and 1, and there columns 0, 2 and 4. */
    double rows[6];
    int64_t start[] = {2, 3, 0}, shape[] = {1, 2, 3}, step[] = {1, -2, 2};
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start;
    region.shape = shape;
    region.step = step;
    memory.data = rows;
    memory.size = sizeof rows;
    memory.type = OZARR_FLOAT64;
    if (ozarr_array_read_ex(t, &region, &memory)) return failed();
    for (int i = 0; i < 6; i++) printf(" %g", rows[i]);

    /* Into the middle of memory with a halo around it, converted to float. */
    float halo[6][8] = {{0}};
    int64_t first[] = {1, 0, 0}, plane[] = {1, 4, 6}, strides[] = {0, sizeof halo[0], sizeof halo[0][0]};
    region.start = first;
    region.shape = plane;
    region.step = NULL;
    memory.data = halo;
    memory.size = sizeof halo;
    memory.offset = sizeof halo[0] + sizeof halo[0][0];
    memory.strides = strides;
    memory.type = OZARR_FLOAT32;
    if (ozarr_array_read_ex(t, &region, &memory)) return failed();
    printf("\nhalo[1][1] = %g, halo[4][6] = %g, halo[5][7] = %g\n", halo[1][1], halo[4][6], halo[5][7]);

    /* There is no step 3. */
    first[0] = 3;
    ozarr_status status = ozarr_array_read_ex(t, &region, &memory);
    printf("%s: %s\n", ozarr_status_name(status), ozarr_last_error());
    ozarr_array_free(t);
    return status == OZARR_ERR_BOUNDS ? 0 : 1;
}
