/* The first program: writes one step of a field into run.zarr. */
#include <ozarr.h>
#include <stdio.h>

static double u[1][64][64];

int main(void) {
    ozarr_array *t = NULL;
    int64_t shape[] = {100, 64, 64};
    int64_t start[] = {10, 0, 0}, count[] = {1, 64, 64};

    for (int j = 0; j < 64; j++)
        for (int i = 0; i < 64; i++) u[0][j][i] = 300.0 + 0.1 * j + 0.01 * i;

    if (ozarr_array_create("run.zarr/temperature", OZARR_FLOAT64, 3, shape, NULL /* chunks: suggested */, OZARR_CREATE_NEW, &t)) goto fail;
    if (ozarr_array_write_region(t, start, count, OZARR_FLOAT64, u, sizeof u)) goto fail;
    if (ozarr_array_close(t)) goto fail;
    printf("step 10 is in run.zarr/temperature\n");
    return 0;
fail:
    fprintf(stderr, "%s\n", ozarr_last_error());
    return 1;
}
