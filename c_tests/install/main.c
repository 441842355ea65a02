/* A stranger's C program: writes a field, reads a plane of it. */
#include <ozarr.h>
#include <stdio.h>
#include <string.h>
#ifdef STRANGER_UTIL
#error "the library is linked with the project's own target `util` in the place of the system's"
#endif

static double u[20][8][8];

int main(void) {
    double plane[8][8];
    int64_t shape[] = {20, 8, 8}, start[] = {10, 0, 0}, count[] = {1, 8, 8};
    ozarr_array *t = NULL;
    for (int i = 0; i < 20 * 64; i++) (&u[0][0][0])[i] = i * 0.5;
    if (ozarr_array_create("run.zarr/c", OZARR_FLOAT64, 3, shape, NULL, OZARR_CREATE_OVERWRITE, &t)) goto fail;
    if (ozarr_array_write(t, OZARR_FLOAT64, u, sizeof u)) goto fail;
    if (ozarr_array_close(t)) goto fail;
    if (ozarr_array_open("run.zarr/c", "r", &t)) goto fail;
    if (ozarr_array_read_region(t, start, count, OZARR_FLOAT64, plane, sizeof plane)) goto fail;
    ozarr_array_free(t);
    if (memcmp(plane, u[10], sizeof plane) != 0) return 1;
    printf("ozarr %s\n", ozarr_version());
    return 0;

fail:
    fprintf(stderr, "%s\n", ozarr_last_error());
    return 1;
}
