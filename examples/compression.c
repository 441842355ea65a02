/* Chooses how a field is stored: shards of 16 steps, chunks of one step in them, bits shuffled and compressed by zstd, 12 bits of the mantissa
 * kept, a checksum behind each chunk. Five calls. */
#include <math.h>
#include <ozarr.h>
#include <stdio.h>

enum { NT = 32, NY = 64, NX = 64 };
#define TRY(call) do { if (call) return fprintf(stderr, "%s\n  in %s\n", ozarr_last_error(), #call), 1; } while (0)

int main(void) {
    static float u[NT][NY][NX];
    const int64_t shape[] = {NT, NY, NX}, shard[] = {16, NY, NX}, chunk[] = {1, NY, NX};
    const char *names[] = {"time", "y", "x"};
    ozarr_layout layout = OZARR_LAYOUT_INIT;
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    for (int t = 0; t < NT; t++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) u[t][y][x] = sinf(0.1f * (float)x + 0.05f * (float)t) * cosf(0.07f * (float)y);

    layout.chunks = shard, layout.inner_chunks = chunk, layout.dimension_names = names;
    layout.compressor = "blosc:zstd", layout.level = 5, layout.shuffle = OZARR_SHUFFLE_BIT;
    layout.keep_bits = 12, layout.checksum = 1;
    TRY(ozarr_spec_new_ex(OZARR_FLOAT32, 3, shape, &layout, &spec));
    TRY(ozarr_array_create_ex("compression.zarr/u", spec, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(spec);
    TRY(ozarr_array_write(a, OZARR_FLOAT32, u, sizeof u));
    TRY(ozarr_array_close(a));
    printf("u is in compression.zarr\n");
    return 0;
}
