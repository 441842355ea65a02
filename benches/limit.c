/* The bare loop: what a program would do that knew the array beforehand. Open, pread, the codec's library, copy into place; and back.
 *
 * It is linked with the very codec objects that the library is made of. Nothing in it is general (float32, rank 3, little choice), and
 * nothing could be left out: one read a chunk into kept memory, codec contexts kept, only as much decoded as is wanted, and of uncompressed
 * chunks only as much read as pays. Writes gather rows, encode once and rename a temporary file, as every atomic write must. */
#include "bench.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

/* The codec libraries, declared here so that their headers are not needed. */
typedef struct { void *dst; size_t size, pos; } zstd_out;
typedef struct { const void *src; size_t size, pos; } zstd_in;
void *ZSTD_createDCtx(void);
void *ZSTD_createCCtx(void);
size_t ZSTD_initDStream(void *);
size_t ZSTD_decompressStream(void *, zstd_out *, zstd_in *);
size_t ZSTD_decompressDCtx(void *, void *, size_t, const void *, size_t);
size_t ZSTD_compressCCtx(void *, void *, size_t, const void *, size_t, int);
int blosc_decompress_ctx(const void *, void *, size_t, int);
int blosc_getitem(const void *, int, int, void *);
int blosc_compress_ctx(int, int, size_t, size_t, const void *, void *, size_t, const char *, size_t, int);
void *libdeflate_alloc_decompressor(void);
void *libdeflate_alloc_compressor(int);
int libdeflate_gzip_decompress(void *, const void *, size_t, void *, size_t, size_t *);
size_t libdeflate_gzip_compress(void *, const void *, size_t, void *, size_t);

enum codec { NONE, ZSTD, GZIP, BLOSC };

static _Noreturn void bail(const char *what) {
    fprintf(stderr, "limit: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* A shard that was opened: its index is read once. */
typedef struct {
    int fd;
    size_t size;
    uint64_t *index;
} shard;

typedef struct {
    const request *r;
    enum codec codec;
    char cname[16];
    int shuffle, dir;
    size_t chunk_bytes;
    int64_t per[3], shards[3]; /* inner chunks of a shard; shards of the array */
    shard *open;
    pthread_mutex_t lock;
} array;

/* What a thread keeps from chunk to chunk, and from one operation to the next. */
typedef struct {
    void *zd, *zc, *gd, *gc;
    char *encoded, *decoded;
    size_t chunk_bytes, capacity;
    int64_t made[2]; /* the folders made last */
} context;

enum { MOST_THREADS = 256 };

static context *context_of(const array *a, int thread) {
    static context kept[MOST_THREADS];
    context *c = &kept[thread];
    if (c->chunk_bytes != a->chunk_bytes) {
        free(c->encoded);
        free(c->decoded);
        c->chunk_bytes = a->chunk_bytes, c->capacity = a->chunk_bytes + a->chunk_bytes / 64 + 4096;
        c->decoded = aligned_alloc(4096, (a->chunk_bytes + 4095) / 4096 * 4096), c->encoded = aligned_alloc(4096, (c->capacity + 4095) / 4096 * 4096);
        if (!c->encoded || !c->decoded) bail("memory");
    }
    if (!c->zd) c->zd = ZSTD_createDCtx(), c->zc = ZSTD_createCCtx(), c->gd = libdeflate_alloc_decompressor(), c->gc = libdeflate_alloc_compressor(GZIP_LEVEL);
    c->made[0] = c->made[1] = -1;
    return c;
}

/* ------------------------------------------------------------------------------------------------ codecs */

static void decode(const array *a, context *c, const char *from, size_t n) {
    size_t m = a->chunk_bytes, got = 0;
    switch (a->codec) {
    case NONE: memcpy(c->decoded, from, got = n); break;
    case ZSTD: got = ZSTD_decompressDCtx(c->zd, c->decoded, m, from, n); break;
    case BLOSC: got = (size_t)blosc_decompress_ctx(from, c->decoded, m, 1); break;
    case GZIP:
        if (libdeflate_gzip_decompress(c->gd, from, n, c->decoded, m, &got)) bail("gzip");
        break;
    }
    if (got != m) bail("decode");
}

/* At least the elements from `low` to before `high`: zstd stops after its block, blosc decodes the blocks that hold them. */
static void decode_part(const array *a, context *c, const char *from, size_t n, size_t low, size_t high) {
    size_t need = high * 4, m = a->chunk_bytes;
    if (a->codec == ZSTD && need + (128 << 10) <= m) {
        zstd_out out = {c->decoded, need, 0};
        zstd_in in = {from, n, 0};
        ZSTD_initDStream(c->zd);
        while (out.pos < need)
            if (ZSTD_decompressStream(c->zd, &out, &in) > ((size_t)1 << 62)) bail("zstd");
    } else if (a->codec == BLOSC && (high - low) * 4 * 8 <= m * 7) {
        if (blosc_getitem(from, (int)low, (int)(high - low), c->decoded + 4 * low) != (int)(4 * (high - low))) bail("blosc");
    } else decode(a, c, from, n);
}

/* The encoded bytes of `decoded`. */
static const char *encode(const array *a, context *c, size_t *size) {
    size_t n = a->chunk_bytes, m = n;
    switch (a->codec) {
    case NONE: *size = n; return c->decoded;
    case ZSTD: m = ZSTD_compressCCtx(c->zc, c->encoded, c->capacity, c->decoded, n, ZSTD_LEVEL); break;
    case BLOSC: m = (size_t)blosc_compress_ctx(BLOSC_LEVEL, a->shuffle, 4, n, c->decoded, c->encoded, c->capacity, a->cname, 0, 1); break;
    case GZIP: m = libdeflate_gzip_compress(c->gc, c->decoded, n, c->encoded, c->capacity); break;
    }
    if (!m || m > c->capacity) bail("encode");
    *size = m;
    return c->encoded;
}

/* ----------------------------------------------------------------------------------------------- geometry */

/* The part of a region in a chunk: its first index in the region, how many, and where it begins in the chunk. */
typedef struct {
    int64_t first[3], n[3], at[3];
} part;

static bool meet(const array *a, const region *q, const int64_t chunk[3], part *p) {
    for (int d = 0; d < 3; d++) {
        int64_t low = chunk[d] * a->r->chunk[d], high = low + a->r->chunk[d], step = q->step[d];
        p->first[d] = low > q->start[d] ? (low - q->start[d] + step - 1) / step : 0;
        int64_t end = high > q->start[d] ? (high - q->start[d] + step - 1) / step : 0;
        if (end > q->count[d]) end = q->count[d];
        p->n[d] = end - p->first[d];
        if (p->n[d] <= 0) return false;
        p->at[d] = q->start[d] + p->first[d] * step - low;
    }
    return true;
}

static size_t element(const array *a, int64_t z, int64_t y, int64_t x) { return (size_t)((z * a->r->chunk[1] + y) * a->r->chunk[2] + x); }

/* Rows are short: copied in line, which a call for each would cost more than. */
static inline __attribute__((always_inline)) void copy(char *to, const char *from, size_t n) {
    if (n > 4096 || n % 64) {
        memcpy(to, from, n);
        return;
    }
    for (size_t i = 0; i < n; i += 64) memcpy(to + i, from + i, 64);
}

static void place_row(const request *r, char *to, const uint32_t *from, int64_t n, int64_t step) {
    uint32_t *out = (uint32_t *)(void *)to;
    if (r->f64) {
        double *wide = (double *)(void *)to;
        for (int64_t i = 0; i < n; i++) {
            float v;
            memcpy(&v, &from[i * step], 4);
            wide[i] = v;
        }
    } else if (r->big)
        for (int64_t i = 0; i < n; i++) out[i] = __builtin_bswap32(from[i * step]);
    else if (step == 1) copy(to, (const char *)from, (size_t)n * 4);
    else
        for (int64_t i = 0; i < n; i++) out[i] = from[i * step];
}

/* Element (z, y, x) goes to z + nz (y + ny x): tiles of 16 x 16 over z and x. */
static void place_fortran(const array *a, const region *q, const part *p, char *data, const uint32_t *from) {
    uint32_t *out = (uint32_t *)(void *)data;
    enum { TILE = 16 };
    for (int64_t y = 0; y < p->n[1]; y++)
        for (int64_t zb = 0; zb < p->n[0]; zb += TILE)
            for (int64_t xb = 0; xb < p->n[2]; xb += TILE)
                for (int64_t x = xb; x < xb + TILE && x < p->n[2]; x++)
                    for (int64_t z = zb; z < zb + TILE && z < p->n[0]; z++)
                        out[p->first[0] + z + q->count[0] * (p->first[1] + y + q->count[1] * (p->first[2] + x))] = from[element(a, p->at[0] + z, p->at[1] + y, p->at[2] + x)];
}

/* Whole rows of one length, of an ordinary read, by the widest registers that the processor has. */
#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))
#endif
static void place_rows(const array *a, const region *q, const part *p, char *data, const char *chunk) {
    size_t row = (size_t)p->n[2] * 4;
    for (int64_t z = 0; z < p->n[0]; z++) {
        char *to = data + 4 * (size_t)(((p->first[0] + z) * q->count[1] + p->first[1]) * q->count[2] + p->first[2]);
        const char *from = chunk + 4 * element(a, p->at[0] + z * q->step[0], p->at[1], p->at[2]);
        for (int64_t y = 0; y < p->n[1]; y++, to += 4 * q->count[2], from += 4 * q->step[1] * a->r->chunk[2]) copy(to, from, row);
    }
}

static void place(const array *a, const region *q, const part *p, char *data, const char *chunk) {
    const uint32_t *from = (const uint32_t *)(const void *)chunk;
    size_t item = a->r->f64 ? 8 : 4;
    if (a->r->fortran) {
        place_fortran(a, q, p, data, from);
        return;
    }
    if (!a->r->f64 && !a->r->big && q->step[2] == 1) {
        place_rows(a, q, p, data, chunk);
        return;
    }
    for (int64_t z = 0; z < p->n[0]; z++)
        for (int64_t y = 0; y < p->n[1]; y++) {
            char *to = data + item * (size_t)(((p->first[0] + z) * q->count[1] + p->first[1] + y) * q->count[2] + p->first[2]);
            place_row(a->r, to, from + element(a, p->at[0] + z * q->step[0], p->at[1] + y * q->step[1], p->at[2]), p->n[2], q->step[2]);
        }
}

static void gather(const array *a, const region *q, const part *p, const char *data, char *chunk) {
    for (int64_t z = 0; z < p->n[0]; z++)
        for (int64_t y = 0; y < p->n[1]; y++)
            copy(chunk + 4 * element(a, p->at[0] + z, p->at[1] + y, p->at[2]),
                   data + 4 * (size_t)(((p->first[0] + z) * q->count[1] + p->first[1] + y) * q->count[2] + p->first[2]), (size_t)p->n[2] * 4);
}

static void place_fill(const array *a, const region *q, const part *p, char *data) {
    for (int64_t z = 0; z < p->n[0]; z++)
        for (int64_t y = 0; y < p->n[1]; y++) {
            float *to = (float *)(void *)data + ((p->first[0] + z) * q->count[1] + p->first[1] + y) * q->count[2] + p->first[2];
            for (int64_t x = 0; x < p->n[2]; x++) to[x] = a->r->fill;
        }
}

/* -------------------------------------------------------------------------------------------------- files */

static char *number(char *p, int64_t v) {
    char t[20];
    int n = 0;
    do t[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n) *p++ = t[--n];
    return p;
}

/* "i/j/k" of a chunk. */
static void key(char *p, const int64_t at[3]) {
    p = number(p, at[0]), *p++ = '/';
    p = number(p, at[1]), *p++ = '/';
    p = number(p, at[2]), *p = 0;
}

static void make_folders(const array *a, context *c, const int64_t at[3]) {
    char name[80];
    if (c->made[0] == at[0] && c->made[1] == at[1]) return;
    char *p = number(name, at[0]);
    *p = 0;
    if (mkdirat(a->dir, name, 0777) && errno != EEXIST) bail("mkdir");
    *p++ = '/';
    p = number(p, at[1]), *p = 0;
    if (mkdirat(a->dir, name, 0777) && errno != EEXIST) bail("mkdir");
    c->made[0] = at[0], c->made[1] = at[1];
}

static void sync_folder(const array *a, const char *name) {
    int fd = openat(a->dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) || close(fd)) bail(name);
}

/* Those of all chunks, once: what sync mode `batch` leaves to the end. */
static void sync_folders(const array *a) {
    char name[80];
    const request *r = a->r;
    for (int64_t z = 0; z * r->chunk[0] < r->shape[0]; z++) {
        char *p = number(name, z);
        *p = 0;
        sync_folder(a, name);
        *p++ = '/';
        for (int64_t y = 0; y * r->chunk[1] < r->shape[1]; y++) {
            *number(p, y) = 0;
            sync_folder(a, name);
        }
    }
    sync_folder(a, ".");
}

static void put(const array *a, const char *name, const char *from, size_t n) {
    char temporary[96];
    snprintf(temporary, sizeof temporary, "%s.tmp", name);
    int fd = openat(a->dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, from, n) != (ssize_t)n) bail(name);
    if (strcmp(a->r->sync, "none") && fdatasync(fd)) bail("sync");
    if (close(fd) || renameat(a->dir, temporary, a->dir, name)) bail(name);
    if (!strcmp(a->r->sync, "each")) {
        char *slash = strrchr(temporary, '/');
        snprintf(slash ? slash : temporary, 2, "%s", slash ? "" : ".");
        sync_folder(a, temporary);
    }
}

static int open_chunk(const array *a, const int64_t at[3]) {
    char name[80];
    key(name, at);
    return openat(a->dir, name, O_RDONLY | O_CLOEXEC);
}

/* -------------------------------------------------------------------------------------------- reading */

/* Of an uncompressed chunk: all from the first to the last byte, or each plane's, or each row's, whichever is the least work. */
static void read_pieces(const array *a, context *c, int fd, const region *q, const part *p) {
    int64_t span[3] = {(p->n[0] - 1) * q->step[0], (p->n[1] - 1) * q->step[1], (p->n[2] - 1) * q->step[2] + 1};
    size_t first = element(a, p->at[0], p->at[1], p->at[2]);
    int64_t row = span[2], plane = span[1] * a->r->chunk[2] + row, all = span[0] * a->r->chunk[1] * a->r->chunk[2] + plane;
    int64_t calls[3] = {1, p->n[0], p->n[0] * p->n[1]}, sizes[3] = {all, plane, row}, best = 0;
    double least = HUGE_VAL;
    for (int k = 0; k < 3; k++) {
        double cost = (double)calls[k] * (0.6e-6 + (double)sizes[k] * 4 / 9.5e9);
        if (cost < least) least = cost, best = k;
    }
    for (int64_t i = 0; i < calls[best]; i++) {
        int64_t z = best == 2 ? i / p->n[1] : i, y = best == 2 ? i % p->n[1] : 0;
        size_t at = first + (size_t)((z * q->step[0] * a->r->chunk[1] + y * q->step[1]) * a->r->chunk[2]);
        if (pread(fd, c->decoded + 4 * at, (size_t)sizes[best] * 4, (off_t)(4 * at)) != (ssize_t)(4 * sizes[best])) bail("read");
    }
}

static void wanted(const array *a, const region *q, const part *p, size_t *low, size_t *high) {
    *low = element(a, p->at[0], p->at[1], p->at[2]);
    *high = element(a, p->at[0] + (p->n[0] - 1) * q->step[0], p->at[1] + (p->n[1] - 1) * q->step[1], p->at[2] + (p->n[2] - 1) * q->step[2]) + 1;
}

static void read_chunk(const array *a, context *c, const region *q, const int64_t at[3], char *data) {
    part p;
    size_t low, high;
    if (!meet(a, q, at, &p)) return;
    int fd = open_chunk(a, at);
    if (fd < 0) {
        if (errno != ENOENT) bail("open");
        place_fill(a, q, &p, data);
        return;
    }
    wanted(a, q, &p, &low, &high);
    bool whole = low == 0 && high * 4 == a->chunk_bytes && p.n[2] == a->r->chunk[2] && q->step[0] == 1 && q->step[1] == 1;
    if (a->codec == NONE && !whole) read_pieces(a, c, fd, q, &p);
    else {
        ssize_t n = pread(fd, a->codec == NONE ? c->decoded : c->encoded, a->codec == NONE ? a->chunk_bytes : c->capacity, 0);
        if (n <= 0) bail("read");
        if (a->codec != NONE) decode_part(a, c, c->encoded, (size_t)n, low, high);
    }
    close(fd);
    place(a, q, &p, data, c->decoded);
}

static const shard *open_shard(array *a, const int64_t at[3]) {
    shard *s = &a->open[(at[0] * a->shards[1] + at[1]) * a->shards[2] + at[2]];
    pthread_mutex_lock(&a->lock);
    if (!s->index) {
        struct stat st;
        size_t n = (size_t)(a->per[0] * a->per[1] * a->per[2]) * 16 + 4;
        if ((s->fd = open_chunk(a, at)) < 0 || fstat(s->fd, &st)) bail("shard");
        s->size = (size_t)st.st_size, s->index = malloc(n);
        if (pread(s->fd, s->index, n, st.st_size - (off_t)n) != (ssize_t)n) bail("index");
    }
    pthread_mutex_unlock(&a->lock);
    return s;
}

static void read_inner(array *a, context *c, const region *q, const int64_t at[3], char *data) {
    part p;
    size_t low, high;
    int64_t outer[3], in[3];
    if (!meet(a, q, at, &p)) return;
    for (int d = 0; d < 3; d++) outer[d] = at[d] / a->per[d], in[d] = at[d] % a->per[d];
    const shard *s = open_shard(a, outer);
    const uint64_t *place_of = s->index + 2 * ((in[0] * a->per[1] + in[1]) * a->per[2] + in[2]);
    if (place_of[1] > c->capacity || pread(s->fd, c->encoded, place_of[1], (off_t)place_of[0]) != (ssize_t)place_of[1]) bail("inner chunk");
    wanted(a, q, &p, &low, &high);
    decode_part(a, c, c->encoded, place_of[1], low, high);
    place(a, q, &p, data, c->decoded);
}

/* -------------------------------------------------------------------------------------------- writing */

static void write_chunk(const array *a, context *c, const region *q, const int64_t at[3], const char *data) {
    char name[80];
    part p;
    if (!meet(a, q, at, &p)) return;
    if (p.n[0] * p.n[1] * p.n[2] * 4 != (int64_t)a->chunk_bytes) { /* a part: the rest is read before */
        int fd = open_chunk(a, at);
        ssize_t n = fd < 0 ? -1 : pread(fd, a->codec == NONE ? c->decoded : c->encoded, a->codec == NONE ? a->chunk_bytes : c->capacity, 0);
        if (n <= 0) bail("read");
        close(fd);
        if (a->codec != NONE) decode(a, c, c->encoded, (size_t)n);
    } else make_folders(a, c, at);
    gather(a, q, &p, data, c->decoded);
    size_t n;
    const char *encoded = encode(a, c, &n);
    key(name, at);
    put(a, name, encoded, n);
}

/* CRC-32C by the processor's instruction. */
static uint32_t crc32c(const char *p, size_t n) {
    uint64_t crc = 0xffffffff, w;
    for (size_t i = 0; i < n / 8; i++) {
        memcpy(&w, p + 8 * i, 8);
#if defined(__x86_64__)
        __asm__("crc32q %1, %0" : "+r"(crc) : "rm"(w));
#else
        for (int k = 0; k < 64; k++, w >>= 1) crc = (crc >> 1) ^ ((crc ^ w) & 1 ? 0x82f63b78u : 0);
#endif
    }
    return (uint32_t)~crc;
}

static void write_shard(const array *a, context *c, const region *q, const int64_t at[3], const char *data) {
    char name[80];
    size_t inner = (size_t)(a->per[0] * a->per[1] * a->per[2]), used = 0, room = inner * a->chunk_bytes / 2 + inner * 16 + 4096, k = 0;
    uint64_t *index = malloc(inner * 16);
    char *all = malloc(room);
    part p;
    for (int64_t z = 0; z < a->per[0]; z++)
        for (int64_t y = 0; y < a->per[1]; y++)
            for (int64_t x = 0; x < a->per[2]; x++, k++) {
                int64_t chunk[3] = {at[0] * a->per[0] + z, at[1] * a->per[1] + y, at[2] * a->per[2] + x};
                meet(a, q, chunk, &p);
                gather(a, q, &p, data, c->decoded);
                size_t n;
                const char *encoded = encode(a, c, &n);
                if (used + n + inner * 16 + 4 > room) all = realloc(all, room += room / 2 + n);
                memcpy(all + used, encoded, n);
                index[2 * k] = used, index[2 * k + 1] = n, used += n;
            }
    uint32_t crc = crc32c((char *)index, inner * 16);
    memcpy(all + used, index, inner * 16), used += inner * 16;
    memcpy(all + used, &crc, 4), used += 4;
    make_folders(a, c, at);
    key(name, at);
    put(a, name, all, used);
    free(all);
    free(index);
}

/* ---------------------------------------------------------------------------------------------- the loop */

typedef struct {
    array *a;
    const region *q;
    char *data;
    atomic_llong next;
    int64_t low[3], n[3];
    atomic_int thread;
    bool writing;
} job;

static void work(job *j, context *c) {
    for (;;) {
        int64_t i = atomic_fetch_add(&j->next, 1);
        if (i >= j->n[0] * j->n[1] * j->n[2]) break;
        int64_t at[3] = {j->low[0] + i / (j->n[1] * j->n[2]), j->low[1] + i / j->n[2] % j->n[1], j->low[2] + i % j->n[2]};
        if (!j->writing && j->a->open) read_inner(j->a, c, j->q, at, j->data);
        else if (!j->writing) read_chunk(j->a, c, j->q, at, j->data);
        else if (j->a->open) write_shard(j->a, c, j->q, at, j->data);
        else write_chunk(j->a, c, j->q, at, j->data);
    }
}

static void *worker(void *arg) {
    job *j = arg;
    work(j, context_of(j->a, atomic_fetch_add(&j->thread, 1)));
    return NULL;
}

static void operate(array *a, context *c, const region *q, char *data, bool writing) {
    pthread_t t[MOST_THREADS];
    job j = {.a = a, .q = q, .data = data, .writing = writing, .thread = 1};
    const int64_t *by = writing && a->open ? a->r->shard : a->r->chunk;
    for (int d = 0; d < 3; d++) {
        j.low[d] = q->start[d] / by[d];
        j.n[d] = (q->start[d] + (q->count[d] - 1) * q->step[d]) / by[d] - j.low[d] + 1;
    }
    int threads = j.n[0] * j.n[1] * j.n[2] > 1 ? a->r->threads : 1;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    for (int i = 1; i < threads; i++)
        if (pthread_create(&t[i], NULL, worker, &j)) bail("thread");
    work(&j, c);
    for (int i = 1; i < threads; i++) pthread_join(t[i], NULL);
}

static void array_open(array *a, const request *r) {
    char folder[4200];
    memset(a, 0, sizeof *a);
    a->r = r;
    a->codec = !strcmp(r->codec, "none") ? NONE : !strcmp(r->codec, "zstd") ? ZSTD : !strcmp(r->codec, "gzip") ? GZIP : BLOSC;
    if (a->codec == BLOSC) {
        a->shuffle = strstr(r->codec, "-bitshuffle") ? 2 : 1;
        snprintf(a->cname, sizeof a->cname, "%.*s", (int)strcspn(r->codec, "-"), r->codec);
    }
    a->chunk_bytes = (size_t)(r->chunk[0] * r->chunk[1] * r->chunk[2]) * 4;
    pthread_mutex_init(&a->lock, NULL);
    snprintf(folder, sizeof folder, "%s/c", r->path);
    if (!strcmp(r->op, "write") || !strcmp(r->op, "append")) {
        if (mkdir(r->path, 0777)) bail(r->path);
        a->dir = open(r->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        put(a, r->format == 2 ? ".zarray" : "zarr.json", r->meta, strlen(r->meta));
        if (r->format == 3) {
            close(a->dir);
            mkdir(folder, 0777);
            a->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
    } else {
        a->dir = open(r->format == 2 ? r->path : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (a->dir < 0) a->dir = open(r->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* nothing was ever stored */
    }
    if (a->dir < 0) bail(folder);
    if (r->shard[0]) {
        for (int d = 0; d < 3; d++) a->per[d] = r->shard[d] / r->chunk[d], a->shards[d] = r->shape[d] / r->shard[d];
        a->open = calloc((size_t)(a->shards[0] * a->shards[1] * a->shards[2]), sizeof *a->open);
    }
}

static void array_close(array *a) {
    for (int64_t i = 0; a->open && i < a->shards[0] * a->shards[1] * a->shards[2]; i++)
        if (a->open[i].index) {
            close(a->open[i].fd);
            free(a->open[i].index);
        }
    free(a->open);
    close(a->dir);
}

static void regions(const request *r, bool writing) {
    array a;
    char *data = r->data;
    size_t item = r->f64 ? 8 : 4;
    array_open(&a, r);
    context *c = context_of(&a, 0);
    for (size_t i = 0; i < r->count; i++) {
        const region *q = &r->regions[i];
        if (r->reopen && i) {
            array_close(&a);
            array_open(&a, r);
        }
        operate(&a, c, q, data, writing);
        data += (size_t)(q->count[0] * q->count[1] * q->count[2]) * item;
    }
    if (writing && !strcmp(r->sync, "batch")) sync_folders(&a);
    array_close(&a);
}

/* The whole is the fill value: it is looked at once, and nothing but the metadata is stored. */
static void write_fill(const request *r) {
    const uint32_t *p = (const uint32_t *)(const void *)r->data;
    uint32_t fill, differ = 0;
    array a;
    memcpy(&fill, &r->fill, 4);
    for (size_t i = 0; i < r->bytes / 4; i++) differ |= p[i] ^ fill;
    if (differ) bail("not the fill value");
    array_open(&a, r);
    array_close(&a);
}

/* One step at a time; the metadata say so after each. Chunks of many steps are gathered and encoded once: a write of the whole. */
static void append(const request *r) {
    array a;
    if (r->chunk[0] > 1) {
        regions(r, true);
        return;
    }
    array_open(&a, r);
    context *c = context_of(&a, 0);
    int root = open(r->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), chunks = a.dir;
    size_t step = (size_t)(r->shape[1] * r->shape[2]) * 4;
    for (int64_t t = 0; t < r->shape[0]; t++) {
        region q = {{t, 0, 0}, {1, r->shape[1], r->shape[2]}, {1, 1, 1}};
        operate(&a, c, &q, r->data + (size_t)t * step, true);
        a.dir = root;
        put(&a, "zarr.json", r->meta, strlen(r->meta));
        a.dir = chunks;
    }
    close(root);
    array_close(&a);
}

/* --------------------------------------------------------------------------------------------- metadata */

/* A value of JSON in a tree of its own: texts copied and unescaped, numbers converted. */
typedef struct value {
    char *name, *text;
    double number;
    struct value *child, *next;
} value;

static const char *skip(const char *p) {
    while (*p == ' ' || *p == '\n' || *p == ',' || *p == ':') p++;
    return p;
}

static char *copy_text(const char **p) {
    const char *begin = ++*p, *end = begin;
    while (*end != '"') end += *end == '\\' ? 2 : 1;
    char *copy = malloc((size_t)(end - begin) + 1), *to = copy;
    for (const char *from = begin; from < end; from++) *to++ = *from == '\\' ? *++from : *from; /* no \\u in these documents */
    *to = 0, *p = end + 1;
    return copy;
}

static value *parse_value(const char **p) {
    value *v = calloc(1, sizeof *v), **last = &v->child;
    *p = skip(*p);
    if (**p == '"') v->text = copy_text(p);
    else if (**p == '{' || **p == '[') {
        bool object = *(*p)++ == '{';
        for (*p = skip(*p); **p != '}' && **p != ']'; *p = skip(*p)) {
            char *name = object ? copy_text(p) : NULL;
            *last = parse_value(p), (*last)->name = name, last = &(*last)->next;
        }
        (*p)++;
    } else if (**p == '-' || (**p >= '0' && **p <= '9')) {
        char *end;
        v->number = strtod(*p, &end), *p = end;
    } else
        while (**p >= 'a' && **p <= 'z') (*p)++;
    return v;
}

static void free_value(value *v) {
    while (v) {
        value *next = v->next;
        free_value(v->child);
        free(v->name);
        free(v->text);
        free(v);
        v = next;
    }
}

static const value *member(const value *v, const char *name) {
    for (v = v ? v->child : NULL; v; v = v->next)
        if (v->name && !strcmp(v->name, name)) return v;
    return NULL;
}

static int64_t rank_of(const value *document) {
    int64_t rank = 0;
    const value *shape = member(document, "shape");
    for (const value *v = shape ? shape->child : NULL; v; v = v->next) rank++;
    return rank;
}

static value *read_document(int dir, const char *name, char *buffer, size_t room) {
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, buffer, room - 1, 0);
    if (n <= 0) bail(name);
    close(fd);
    buffer[n] = 0;
    const char *p = buffer;
    return parse_value(&p);
}

static int64_t document_rank(int dir, const char *name, char *buffer, size_t room) {
    value *document = read_document(dir, name, buffer, room);
    int64_t rank = rank_of(document);
    free_value(document);
    return rank;
}

/* Opening is reading and parsing the document; listing is knowing the names and that there is a document. */
static void nodes(const request *r) {
    size_t room = (size_t)4 << 20;
    char *buffer = malloc(room), name[300];
    int dir = open(r->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int64_t ranks = 0, seen = 0;
    if (!strcmp(r->op, "open"))
        for (; seen < r->repeat; seen++) ranks += document_rank(dir, "zarr.json", buffer, room);
    else if (r->consolidated) {
        value *root = read_document(dir, "zarr.json", buffer, room);
        const value *m = member(member(root, "consolidated_metadata"), "metadata");
        for (const value *v = m ? m->child : NULL; v; v = v->next) ranks += rank_of(v), seen++;
        free_value(root);
    } else {
        DIR *d = fdopendir(dup(dir));
        if (!d) bail(r->path);
        for (struct dirent *e; (e = readdir(d));) {
            if (e->d_type != DT_DIR || e->d_name[0] == '.') continue;
            snprintf(name, sizeof name, "%s/zarr.json", e->d_name);
            if (!strcmp(r->op, "opens")) ranks += document_rank(dir, name, buffer, room);
            else if (faccessat(dir, name, R_OK, 0)) bail(name);
            else ranks += 3;
            seen++;
        }
        closedir(d);
    }
    if (!seen || ranks != 3 * seen) bail("ranks");
    close(dir);
    free(buffer);
}

/* A smooth field with noise, rounded to 2^-10: what a simulation's output looks like to a codec. The same on every run. */
static void make_data(const request *r) {
    uint64_t seed = 20240801;
    int64_t nz = r->shape[0], ny = r->shape[1], nx = r->shape[2];
    float *plane = malloc((size_t)(2 * ny * nx) * sizeof *plane), *out = malloc((size_t)(ny * nx) * sizeof *out);
    FILE *f = fopen(r->path, "wb");
    if (!f || !plane || !out) bail(r->path);
    for (int64_t j = 0; j < ny; j++)
        for (int64_t i = 0; i < nx; i++) {
            double y = (double)j / (double)ny, x = (double)i / (double)nx;
            plane[2 * (j * nx + i)] = (float)(4 * sin(11 * y) * cos(7 * x));
            plane[2 * (j * nx + i) + 1] = (float)(1.5 * sin(23 * (y + 0.6 * x)));
        }
    for (int64_t k = 0; k < nz; k++) {
        double z = (double)k / 512, a = 300 + 8 * sin(5 * z), b = cos(9 * z), c = sin(3 * z);
        for (int64_t i = 0; i < ny * nx; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            double noise = ((double)(seed >> 48) + (double)((seed >> 32) & 0xffff) + (double)((seed >> 16) & 0xffff)) / 65536.0 - 1.5; /* deviation 0.5 */
            out[i] = (float)(floor((a + b * plane[2 * i] + c * plane[2 * i + 1] + 0.04 * noise) * 1024 + 0.5) / 1024);
        }
        if (fwrite(out, sizeof *out, (size_t)(ny * nx), f) != (size_t)(ny * nx)) bail(r->path);
    }
    if (fclose(f)) bail(r->path);
    free(plane);
    free(out);
}

const char *perform(const request *r) {
    if (!strcmp(r->op, "read")) regions(r, false);
    else if (!strcmp(r->op, "write") && r->fill != 0) write_fill(r);
    else if (!strcmp(r->op, "write") || !strcmp(r->op, "update")) regions(r, true);
    else if (!strcmp(r->op, "append")) append(r);
    else if (!strcmp(r->op, "open") || !strcmp(r->op, "opens") || !strcmp(r->op, "list")) nodes(r);
    else if (!strcmp(r->op, "data")) make_data(r);
    else if (strcmp(r->op, "noop")) return "unsupported operation";
    return NULL;
}
