/* The bare loop: open, pread, the codec's library, copy into place; and back. Nothing in it is general, and nothing could be left out.
 *
 * It is linked with the very codec objects that the library is made of. Reading: one open, one pread into a kept buffer, one decode, rows
 * copied into place. Writing: rows gathered, one encode, a temporary file renamed (as every atomic write must), folders made once. */
#include "bench.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

/* The codec libraries, declared here so that their headers are not needed. */
void *ZSTD_createDCtx(void);
void *ZSTD_createCCtx(void);
size_t ZSTD_decompressDCtx(void *, void *, size_t, const void *, size_t);
size_t ZSTD_compressCCtx(void *, void *, size_t, const void *, size_t, int);
size_t ZSTD_compressBound(size_t);
int blosc_decompress_ctx(const void *, void *, size_t, int);
int blosc_compress_ctx(int, int, size_t, size_t, const void *, void *, size_t, const char *, size_t, int);
void *libdeflate_alloc_decompressor(void);
void *libdeflate_alloc_compressor(int);
int libdeflate_gzip_decompress(void *, const void *, size_t, void *, size_t, size_t *);
size_t libdeflate_gzip_compress(void *, const void *, size_t, void *, size_t);
size_t libdeflate_gzip_compress_bound(void *, size_t);

typedef struct {
    const workload *w;
    int dir;             /* the folder `c` */
    atomic_llong *next;
    int64_t grid[3], chunks;
    size_t chunk_bytes;
} job;

typedef struct {
    void *zd, *zc, *gd, *gc;
    char *encoded, *decoded;
    size_t capacity;
    int64_t made[2];     /* the folder made last */
} context;

static void context_make(context *c, const job *j) {
    c->zd = ZSTD_createDCtx(), c->zc = ZSTD_createCCtx();
    c->gd = libdeflate_alloc_decompressor(), c->gc = libdeflate_alloc_compressor(GZIP_LEVEL);
    c->capacity = 2 * j->chunk_bytes + 65536;
    c->encoded = malloc(c->capacity), c->decoded = malloc(j->chunk_bytes);
    c->made[0] = c->made[1] = -1;
    if (!c->encoded || !c->decoded) bail("no memory");
}

static char *number(char *p, int64_t v) {
    char t[20];
    int n = 0;
    do t[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n) *p++ = t[--n];
    return p;
}

/* "i/j/k" of a chunk. */
static char *key(char *p, const int64_t at[3]) {
    p = number(p, at[0]), *p++ = '/';
    p = number(p, at[1]), *p++ = '/';
    p = number(p, at[2]), *p = 0;
    return p;
}

static float *corner(const job *j, const int64_t at[3]) {
    const workload *w = j->w;
    return w->data + (at[0] * w->chunk[0] * w->shape[1] + at[1] * w->chunk[1]) * w->shape[2] + at[2] * w->chunk[2];
}

static void copy_rows(const job *j, const int64_t at[3], char *chunk, int out) {
    const workload *w = j->w;
    size_t row = (size_t)w->chunk[2] * sizeof(float);
    float *base = corner(j, at);
    for (int64_t z = 0; z < w->chunk[0]; z++)
        for (int64_t y = 0; y < w->chunk[1]; y++, chunk += row) {
            float *p = base + (z * w->shape[1] + y) * w->shape[2];
            if (out) memcpy(p, chunk, row);
            else memcpy(chunk, p, row);
        }
}

static void read_chunk(const job *j, context *c, const int64_t at[3]) {
    char name[80];
    size_t n = j->chunk_bytes, got = 0;
    key(name, at);
    int fd = openat(j->dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) bail(name);
    char *to = j->w->codec == NONE ? c->decoded : c->encoded;
    ssize_t r = pread(fd, to, j->w->codec == NONE ? n : c->capacity, 0);
    close(fd);
    if (r <= 0) bail("read");
    switch (j->w->codec) {
    case NONE: got = (size_t)r; break;
    case ZSTD: got = ZSTD_decompressDCtx(c->zd, c->decoded, n, c->encoded, (size_t)r); break;
    case BLOSC: got = (size_t)blosc_decompress_ctx(c->encoded, c->decoded, n, 1); break;
    case GZIP:
        if (libdeflate_gzip_decompress(c->gd, c->encoded, (size_t)r, c->decoded, n, &got)) bail("gzip");
        break;
    }
    if (got != n) bail("decode");
    copy_rows(j, at, c->decoded, 1);
}

static void make_folders(const job *j, context *c, const int64_t at[3], char *name) {
    if (c->made[0] == at[0] && c->made[1] == at[1]) return;
    char *p = number(name, at[0]);
    *p = 0;
    if (mkdirat(j->dir, name, 0777) && errno != EEXIST) bail("mkdir");
    *p++ = '/';
    p = number(p, at[1]), *p = 0;
    if (mkdirat(j->dir, name, 0777) && errno != EEXIST) bail("mkdir");
    c->made[0] = at[0], c->made[1] = at[1];
}

static void write_chunk(const job *j, context *c, const int64_t at[3]) {
    char name[80], temporary[96];
    size_t n = j->chunk_bytes, m = n;
    char *from = c->encoded;
    copy_rows(j, at, c->decoded, 0);
    switch (j->w->codec) {
    case NONE: from = c->decoded; break;
    case ZSTD: m = ZSTD_compressCCtx(c->zc, c->encoded, c->capacity, c->decoded, n, ZSTD_LEVEL); break;
    case BLOSC: m = (size_t)blosc_compress_ctx(BLOSC_LEVEL, 1, sizeof(float), n, c->decoded, c->encoded, c->capacity, "lz4", 0, 1); break;
    case GZIP: m = libdeflate_gzip_compress(c->gc, c->decoded, n, c->encoded, c->capacity); break;
    }
    if (!m || m > c->capacity) bail("encode");
    make_folders(j, c, at, name);
    key(name, at);
    snprintf(temporary, sizeof temporary, "%s.tmp", name);
    int fd = openat(j->dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, from, m) != (ssize_t)m || close(fd) || renameat(j->dir, temporary, j->dir, name)) bail("write");
}

static void *worker(void *arg) {
    const job *j = arg;
    context c;
    int reading = !strcmp(j->w->op, "read");
    context_make(&c, j);
    for (;;) {
        int64_t i = atomic_fetch_add(j->next, 1);
        if (i >= j->chunks) break;
        int64_t at[3] = {i / (j->grid[1] * j->grid[2]), i / j->grid[2] % j->grid[1], i % j->grid[2]};
        if (reading) read_chunk(j, &c, at);
        else write_chunk(j, &c, at);
    }
    free(c.encoded);
    free(c.decoded);
    return NULL;
}

static void operate(const workload *w, const char *store) {
    char folder[4200];
    atomic_llong next = 0;
    job j = {w, 0, &next, {0, 0, 0}, 1, sizeof(float)};
    pthread_t t[64];
    for (int d = 0; d < 3; d++) {
        j.grid[d] = w->shape[d] / w->chunk[d];
        j.chunks *= j.grid[d];
        j.chunk_bytes *= (size_t)w->chunk[d];
    }
    snprintf(folder, sizeof folder, "%s/c", store);
    if (!strcmp(w->op, "write") && (mkdir(store, 0777) || mkdir(folder, 0777))) bail("mkdir");
    j.dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (j.dir < 0) bail(folder);
    for (int i = 1; i < w->threads; i++)
        if (pthread_create(&t[i], NULL, worker, &j)) bail("thread");
    worker(&j);
    for (int i = 1; i < w->threads; i++) pthread_join(t[i], NULL);
    close(j.dir);
}

int main(int argc, char **argv) {
    workload w;
    char store[4096];
    parse(&w, argc, argv);
    for (int i = 0; i < w.times && strcmp(w.op, "noop"); i++) {
        if (!strcmp(w.op, "write")) snprintf(store, sizeof store, "%s-%d", w.store, i);
        else snprintf(store, sizeof store, "%s", w.store);
        clock_start();
        operate(&w, store);
        clock_stop(i);
    }
    report(&w);
    return 0;
}
