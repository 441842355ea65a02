/* Chunks as they are: copied from one array to another without a codec; a shard written piece by piece; what is aligned. */
#include "table.h"
#include <stdbool.h>

static int64_t SHAPE[] = {20, 30}, CHUNKS[] = {8, 12}, INNER[] = {4, 6};
static int32_t v[600], in[600];

static ozarr_array *make(const char *location) {
    ozarr_spec *s = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_spec_new(OZARR_INT32, 2, SHAPE, &s));
    OK(ozarr_spec_set_chunks(s, CHUNKS));
    OK(ozarr_spec_set_inner_chunks(s, INNER));
    OK(ozarr_array_create_ex(location, s, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(s);
    return a;
}

static int copy(ozarr_array *from, ozarr_array *to, bool inner) {
    ozarr_chunk_iter *it = NULL;
    bool more = false, stored = false;
    int n = 0;
    int64_t last = -1;
    OK(ozarr_array_list_chunks(from, inner, &it));
    ERR(OZARR_ERR_STATE, ozarr_chunk_iter_index(it, SHAPE));
    while (OK(ozarr_chunk_iter_next(it, &more)) && more) {
        int64_t index[2], offset, size, offset2, size2;
        size_t used = 0;
        char bytes[4096];
        OK(ozarr_chunk_iter_index(it, index));
        OK(ozarr_chunk_iter_place(it, &offset, &size));
        CHECK(inner || index[0] * 100 + index[1] > last);
        last = index[0] * 100 + index[1];
        OK(ozarr_array_chunk_read(from, index, inner, bytes, sizeof bytes, &used));
        EQUAL(used, size);
        OK(ozarr_array_chunk_write(to, index, inner, bytes, used));
        OK(ozarr_array_chunk_place(to, index, inner, &stored, &offset2, &size2));
        CHECK(stored && size2 == size);
        n++;
    }
    OK(ozarr_chunk_iter_next(it, &more));
    CHECK(!more);
    ozarr_chunk_iter_free(it);
    return n;
}

static void same(ozarr_array *a) {
    memset(in, 0, sizeof in);
    OK(ozarr_array_read(a, OZARR_INT32, in, sizeof in));
    CHECK(memcmp(in, v, sizeof v) == 0);
}

int main(void) {
    for (int i = 0; i < 600; i++) v[i] = i % 30 < 24 ? i + 1 : 0; /* the columns from 24 on are the fill value */
    ozarr_array *a = make("a.zarr"), *b = make("b.zarr"), *c = make("c.zarr"), *d = make("d.zarr");
    int64_t n = 0, index[] = {2, 1};
    char key[64];
    OK(ozarr_array_write(a, OZARR_INT32, v, sizeof v));
    OK(ozarr_array_chunk_count(a, false, &n));
    EQUAL(n, 6);
    OK(ozarr_array_chunk_count(a, true, &n));
    EQUAL(n, 20);
    OK(ozarr_array_chunk_key(a, index, key, sizeof key, NULL));
    TEXT(key, "c/2/1");
    EQUAL(copy(a, b, false), 6);
    same(b);
    EQUAL(copy(a, c, true), 20);
    same(c);

    /* Shards from the last inner chunk to the first; of the shards at the edge only what is inside. */
    for (int64_t si = 2; si >= 0; si--)
        for (int64_t sj = 2; sj >= 0; sj--) {
            ozarr_shard_writer *w = NULL;
            int64_t shard[] = {si, sj};
            OK(ozarr_shard_writer_new(d, shard, &w));
            for (int64_t i = 2 * si + 1; i >= 2 * si; i--)
                for (int64_t j = 2 * sj + 1; j >= 2 * sj; j--) {
                    int64_t inner[] = {i, j};
                    int32_t piece[24];
                    if (i >= 5 || j >= 5) {
                        ERR(OZARR_ERR_BOUNDS, ozarr_shard_writer_put(w, inner, false, OZARR_INT32, piece, sizeof piece));
                        continue;
                    }
                    for (int64_t y = 0; y < 4; y++)
                        for (int64_t x = 0; x < 6; x++) piece[y * 6 + x] = v[(i * 4 + y) * 30 + j * 6 + x];
                    OK(ozarr_shard_writer_put(w, inner, false, OZARR_INT32, piece, sizeof piece));
                }
            OK(ozarr_shard_writer_finish(w));
            ozarr_shard_writer_free(w);
        }
    same(d);
    OK(ozarr_array_chunk_count(d, false, &n));
    EQUAL(n, 6);

    /* A writer that is not finished leaves the shard as it was. */
    ozarr_shard_writer *w = NULL;
    int64_t first[] = {0, 0};
    OK(ozarr_shard_writer_new(d, first, &w));
    OK(ozarr_shard_writer_put(w, first, false, OZARR_INT32, in + 1, 24 * sizeof *in));
    ozarr_shard_writer_free(w);
    same(d);

    /* A shard of the bytes of its inner chunks, as other processes may have encoded them. */
    OK(ozarr_shard_writer_new(d, first, &w));
    for (int64_t k = 0; k < 4; k++) {
        const int64_t inner[] = {k / 2, k % 2};
        char bytes[4096];
        size_t used = 0;
        OK(ozarr_array_chunk_read(d, inner, true, bytes, sizeof bytes, &used));
        OK(ozarr_shard_writer_put(w, inner, true, OZARR_AS_STORED, bytes, used));
        ERR(OZARR_ERR_STATE, ozarr_shard_writer_put(w, inner, true, OZARR_AS_STORED, bytes, used));
    }
    OK(ozarr_shard_writer_finish(w));
    ERR(OZARR_ERR_STATE, ozarr_shard_writer_put(w, first, true, OZARR_AS_STORED, "", 0));
    ozarr_shard_writer_free(w);
    same(d);

    ozarr_array_free(a);
    ozarr_array_free(b);
    ozarr_array_free(c);
    OK(ozarr_array_close(d));
    return finish();
}
