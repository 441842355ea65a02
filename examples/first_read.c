/* The second program: reads the step that first_write.c wrote. Three calls: open, read, free. */
#include <ozarr.h>
#include <stdio.h>

int main(void) {
    ozarr_array *t = NULL;
    if (ozarr_array_open("run.zarr/temperature", "r", &t) != OZARR_OK) {
        fprintf(stderr, "%s\n", ozarr_last_error());
        return 1;
    }
    double plane[64][64];
    int64_t start[] = {10, 0, 0}, count[] = {1, 64, 64};
    ozarr_status s = ozarr_array_read_region(t, start, count, OZARR_FLOAT64, plane, sizeof plane);
    ozarr_array_free(t);
    if (s != OZARR_OK) {
        fprintf(stderr, "%s\n", ozarr_last_error());
        return 1;
    }
    printf("temperature[10, 63, 63] = %g\n", plane[63][63]);
    return 0;
}
