/* A program with functions of its own that have the names of zstd's, Blosc's, zlib's and others': linked with ozarr's archive it has both.
 * Its own are called by itself, and by the library never. */
#include "table.h"

/* What the program defines, as its own copy of such a library would; each counts its calls. */
#define NAMES(X) \
    X(ZSTD_versionNumber) X(ZSTD_compressBound) X(ZSTD_compress2) X(ZSTD_compressStream2) X(ZSTD_decompress) X(ZSTD_decompressDCtx) \
    X(LZ4_compress_default) X(LZ4_compress_fast) X(LZ4_decompress_safe) X(blosc_init) X(blosc_compress_ctx) X(blosc_decompress_ctx) \
    X(deflate) X(deflateInit2_) X(inflate) X(inflateInit2_) X(adler32) X(crc32) X(BZ2_bzCompress) X(BZ2_bzDecompress) X(lzma_code) \
    X(lzma_stream_decoder) X(libdeflate_zlib_compress) X(libdeflate_zlib_decompress) X(libdeflate_crc32) X(rust_eh_personality)

static int calls;
#define DEFINE(name) int name(void); int name(void) { return ++calls; }
NAMES(DEFINE)

enum { N = 512 };

/* What an array with a compressor gives back is what was written. */
static void round_trip(const char *compressor) {
    char path[64];
    snprintf(path, sizeof path, "own.zarr/%s", compressor);
    const int64_t shape[] = {N};
    int32_t out[N], in[N] = {0};
    for (int i = 0; i < N; i++) out[i] = i / 7;
    ozarr_spec *spec = NULL;
    ozarr_array *array = NULL;
    OK(ozarr_spec_new(OZARR_INT32, 1, shape, &spec));
    OK(ozarr_spec_set_compressor(spec, compressor, 5));
    OK(ozarr_spec_set_checksum(spec, true));
    OK(ozarr_array_create_ex(path, spec, OZARR_CREATE_NEW, &array));
    OK(ozarr_array_write(array, OZARR_INT32, out, sizeof out));
    OK(ozarr_array_close(array));
    OK(ozarr_array_open(path, "r", &array));
    OK(ozarr_array_read(array, OZARR_INT32, in, sizeof in));
    CHECK(memcmp(in, out, sizeof in) == 0);
    OK(ozarr_array_close(array));
    ozarr_spec_free(spec);
}

int main(void) {
    const char *compressors[] = {"zstd", "gzip", "zlib", "bz2", "lzma", "lz4", "blosc:lz4", "blosc:zlib", "blosc:zstd"};
    for (size_t i = 0; i < sizeof compressors / sizeof *compressors; i++) round_trip(compressors[i]);
    EQUAL(calls, 0);
    int expected = 0;
#define CALL(name) EQUAL(name(), ++expected);
    NAMES(CALL)
    return finish();
}
