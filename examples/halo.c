/* One of four ranks reads its quarter of a field into an array with room for a halo (ghost cells), those of its neighbours filled from the file,
 * converted from float to double. Three calls: open, read, free. */
#include <ozarr.h>
#include <stdio.h>

enum { G = 64, P = 2, N = G / P }; /* the field, the ranks along a dimension, the cells of a rank */
#define TRY(call) do { if (call) return fprintf(stderr, "%s\n  in %s\n", ozarr_last_error(), #call), 1; } while (0)

/* What another program wrote: 100 j + i at row j and column i. */
static int write_field(void) {
    static float all[G][G];
    const int64_t shape[] = {G, G}, tile[] = {N, N};
    ozarr_array *a = NULL;
    for (int j = 0; j < G; j++)
        for (int i = 0; i < G; i++) all[j][i] = (float)(100 * j + i);
    TRY(ozarr_array_create("halo.zarr/u", OZARR_FLOAT32, 2, shape, tile, OZARR_CREATE_OVERWRITE, &a));
    TRY(ozarr_array_write(a, OZARR_FLOAT32, all, sizeof all));
    TRY(ozarr_array_close(a));
    return 0;
}

static double u[N + 2][N + 2];

int main(void) {
    const int64_t rank[2] = {0, 1}, strides[2] = {sizeof u[0], sizeof u[0][0]};
    int64_t start[2], shape[2];
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    ozarr_array *a = NULL;
    if (write_field()) return 1;

    memory.data = u, memory.size = sizeof u, memory.strides = strides, memory.type = OZARR_FLOAT64;
    for (int d = 0; d < 2; d++) {
        int64_t first = rank[d] * N - 1, end = rank[d] * N + N + 1; /* with the halo */
        start[d] = first < 0 ? 0 : first; /* which ends where the field does */
        shape[d] = (end > G ? G : end) - start[d];
        memory.offset += (size_t)((start[d] - first) * strides[d]);
    }
    region.start = start, region.shape = shape;
    TRY(ozarr_array_open("halo.zarr/u", "r", &a));
    TRY(ozarr_array_read_ex(a, &region, &memory));
    ozarr_array_free(a);
    printf("u[1][0] = %g, u[1][1] = %g, u[%d][%d] = %g; beyond the field %g\n", u[1][0], u[1][1], N + 1, N, u[N + 1][N], u[0][0]);
    return 0;
}
