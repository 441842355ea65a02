/* One of four ranks reads its quarter of a periodic field with a halo (ghost cells): those of its neighbours, and those from the other ends of the
 * field, converted from float to double. Three calls: open, read, free. */
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
    const int64_t rank[2] = {0, 1}, start[2] = {rank[0] * N - 1, rank[1] * N - 1}, shape[2] = {N + 2, N + 2};
    const bool periodic[2] = {true, true};
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    ozarr_array *a = NULL;
    if (write_field()) return 1;

    memory.data = u, memory.size = sizeof u, memory.type = OZARR_FLOAT64;
    region.start = start, region.shape = shape, region.periodic = periodic;
    TRY(ozarr_array_open("halo.zarr/u", "r", &a));
    TRY(ozarr_array_read_ex(a, &region, &memory));
    ozarr_array_free(a);
    printf("u[1][0] = %g, u[1][1] = %g, u[%d][%d] = %g; across the corner u[0][0] = %g\n", u[1][0], u[1][1], N + 1, N, u[N + 1][N], u[0][0]);
    return 0;
}
