/* The two programs that README and header begin with, as they stand there. */
#include <ozarr.h>
#include <stdio.h>
#include <string.h>

static double u[100][64][64];

static int write_field(void) {
    int64_t start[] = {0, 0, 0}, count[] = {100, 64, 64};

    ozarr_array *t = NULL;
    int64_t shape[] = {100, 64, 64};
    if (ozarr_array_create("run.zarr/temperature", OZARR_FLOAT64, 3, shape, NULL /* chunks: suggested */, OZARR_CREATE_NEW, &t)) goto fail;
    if (ozarr_array_write_region(t, start, count, OZARR_FLOAT64, u, sizeof u)) goto fail;
    if (ozarr_array_close(t)) goto fail;
    return 0;

fail:
    fprintf(stderr, "%s\n", ozarr_last_error());
    return 1;
}

static int read_plane(void) {
    ozarr_array *t = NULL;

    if (ozarr_array_open("run.zarr/temperature", "r", &t) != OZARR_OK) { fprintf(stderr, "%s\n", ozarr_last_error()); return 1; }
    double plane[64][64];
    int64_t start[] = {10, 0, 0}, count[] = {1, 64, 64};
    ozarr_status s = ozarr_array_read_region(t, start, count, OZARR_FLOAT64, plane, sizeof plane);
    ozarr_array_free(t);

    if (s != OZARR_OK || memcmp(plane, u[10], sizeof plane) != 0) {
        fprintf(stderr, "%s\n", s != OZARR_OK ? ozarr_last_error() : "the plane differs from what was written");
        return 1;
    }
    return 0;
}

int main(void) {
    for (int k = 0; k < 100; k++)
        for (int j = 0; j < 64; j++)
            for (int i = 0; i < 64; i++) u[k][j][i] = k + 0.01 * j - 0.3 * i;
    return write_field() || read_plane();
}
