/* Reads back what heat.c stored: what there is, its course in time, and one plane of the last step.
 *
 *   heat_read OUT [PLANE]      PLANE: a file for the plane in the middle of z, y by x float64 as they lie in memory */
#include <ozarr.h>
#include <stdio.h>
#include <stdlib.h>

static void check(ozarr_status s, const char *what) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "heat_read: %s: %s\n", what, ozarr_last_error());
    exit(1);
}

/* FNV-1a over the bytes of every step: two runs that print the same stored the same. */
static uint64_t checksum(uint64_t h, const void *data, size_t size) {
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}

static void describe(const ozarr_array *t, const char *out) {
    int64_t shape[4], chunks[4];
    char name[64], units[64];
    bool named;
    check(ozarr_array_shape(t, shape), out);
    check(ozarr_array_chunk_shape(t, chunks), out);
    check(ozarr_attr_get_string(ozarr_array_node(t), "units", units, sizeof units, NULL), "units");
    printf("%s/temperature in %s:", out, units);
    for (int32_t d = 0; d < 4; d++) {
        check(ozarr_array_dimension_name(t, d, name, sizeof name, NULL, &named), "dimension");
        printf(" %s=%lld", named ? name : "?", (long long)shape[d]);
    }
    printf(", chunks of %lld x %lld x %lld x %lld\n", (long long)chunks[0], (long long)chunks[1], (long long)chunks[2], (long long)chunks[3]);
}

int main(int argc, char **argv) {
    char location[4096];
    ozarr_array *t = NULL, *time = NULL;
    int64_t shape[4];
    uint64_t sum = 14695981039346656037u;
    if (argc < 2) return fprintf(stderr, "usage: heat_read OUT [PLANE]\n"), 2;

    snprintf(location, sizeof location, "%s/temperature", argv[1]);
    check(ozarr_array_open(location, "r", &t), argv[1]);
    snprintf(location, sizeof location, "%s/time", argv[1]);
    check(ozarr_array_open(location, "r", &time), argv[1]);
    describe(t, argv[1]);
    check(ozarr_array_shape(t, shape), "shape");
    check(ozarr_array_shape(time, shape), "time"); /* whole steps are those that have their time */
    if (shape[0] < 1) return fprintf(stderr, "heat_read: no steps yet\n"), 1;

    size_t cells = (size_t)(shape[1] * shape[2] * shape[3]), size = cells * sizeof(double);
    double *u = malloc(size), *seconds = malloc((size_t)shape[0] * sizeof *seconds);
    if (!u || !seconds) return fprintf(stderr, "heat_read: no memory\n"), 1;
    check(ozarr_array_read(time, OZARR_FLOAT64, seconds, (size_t)shape[0] * sizeof *seconds), "time");
    for (int64_t k = 0; k < shape[0]; k++) {
        int64_t start[] = {k, 0, 0, 0}, count[] = {1, shape[1], shape[2], shape[3]};
        double low = 1e300, high = -1e300, mean = 0;
        check(ozarr_array_read_region(t, start, count, OZARR_FLOAT64, u, size), "a step");
        for (size_t i = 0; i < cells; i++) {
            if (u[i] < low) low = u[i];
            if (u[i] > high) high = u[i];
            mean += u[i];
        }
        if (k % 10 == 0 || k == shape[0] - 1) printf("  %8.1f s: %.2f to %.2f, mean %.4f\n", seconds[k], low, high, mean / (double)cells);
        sum = checksum(sum, u, size);
    }
    printf("checksum of all %lld steps: %016llx\n", (long long)shape[0], (unsigned long long)sum);

    if (argc > 2) {
        /* One plane of the last step, without the rest of it. */
        int64_t start[] = {shape[0] - 1, shape[1] / 2, 0, 0}, count[] = {1, 1, shape[2], shape[3]};
        size = (size_t)(shape[2] * shape[3]) * sizeof(double);
        check(ozarr_array_read_region(t, start, count, OZARR_FLOAT64, u, size), "the plane");
        FILE *f = fopen(argv[2], "wb");
        if (!f || fwrite(u, 1, size, f) != size || fclose(f)) return fprintf(stderr, "heat_read: %s cannot be written\n", argv[2]), 1;
        printf("plane of %lld x %lld in %s\n", (long long)shape[2], (long long)shape[3], argv[2]);
    }
    ozarr_array_free(t);
    ozarr_array_free(time);
    free(u);
    free(seconds);
    return 0;
}
