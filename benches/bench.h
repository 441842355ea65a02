/* What the bare loop and the library's benchmark share: the workload, the data, the clocks, and how they report.
 *
 *   PROGRAM OP STORE CODEC SHAPE CHUNK THREADS TIMES
 *
 * OP: noop, read, write. CODEC: none, zstd, blosc, gzip. SHAPE and CHUNK: three lengths, as 512x512x512. A write goes to STORE-0, STORE-1, ...
 * TIMES: how often the operation is done and timed. Prints one line of JSON. */
#ifndef BENCH_H
#define BENCH_H
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define ZSTD_LEVEL 3
#define BLOSC_LEVEL 5
#define GZIP_LEVEL 5

enum codec { NONE, ZSTD, BLOSC, GZIP };

typedef struct {
    const char *op, *store;
    enum codec codec;
    int64_t shape[3], chunk[3];
    int threads, times;
    float *data; /* the whole array, C order; its pages are there before the clock starts */
    size_t bytes;
} workload;

static double wall[64], cpu[64];
static struct timespec began;
static double cpu_began;

static inline double cpu_now(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + 1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static inline void clock_start(void) {
    cpu_began = cpu_now();
    clock_gettime(CLOCK_MONOTONIC, &began);
}

static inline void clock_stop(int i) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    cpu[i] = cpu_now() - cpu_began;
    wall[i] = (double)(now.tv_sec - began.tv_sec) + 1e-9 * (double)(now.tv_nsec - began.tv_nsec);
}

static inline void bail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* A smooth field with noise, rounded to 2^-10: what a simulation's output looks like to a codec. The same on every run.
 * Kept in the file that OZARR_BENCH_DATA names, if it does, for the next process. */
static inline void make_data(workload *w) {
    const char *kept = getenv("OZARR_BENCH_DATA");
    FILE *f = kept ? fopen(kept, "rb") : NULL;
    if (f) {
        if (fread(w->data, 1, w->bytes, f) != w->bytes) bail("OZARR_BENCH_DATA holds other data");
        fclose(f);
        return;
    }
    uint64_t seed = 20240801;
    int64_t nz = w->shape[0], ny = w->shape[1], nx = w->shape[2];
    double *plane = malloc((size_t)(2 * ny * nx) * sizeof *plane);
    if (!plane) bail("no memory");
    for (int64_t j = 0; j < ny; j++)
        for (int64_t i = 0; i < nx; i++) {
            double y = (double)j / (double)ny, x = (double)i / (double)nx;
            plane[2 * (j * nx + i)] = 4 * sin(11 * y) * cos(7 * x);
            plane[2 * (j * nx + i) + 1] = 1.5 * sin(23 * (y + 0.6 * x));
        }
    for (int64_t k = 0; k < nz; k++) {
        double z = (double)k / (double)nz, a = 300 + 8 * sin(5 * z), b = cos(9 * z), c = sin(3 * z);
        float *out = w->data + k * ny * nx;
        for (int64_t i = 0; i < ny * nx; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            double noise = ((double)(seed >> 48) + (double)((seed >> 32) & 0xffff) + (double)((seed >> 16) & 0xffff)) / 65536.0 - 1.5; /* deviation 0.5 */
            double v = a + b * plane[2 * i] + c * plane[2 * i + 1] + 0.04 * noise;
            out[i] = (float)(floor(v * 1024 + 0.5) / 1024);
        }
    }
    free(plane);
    if (kept && (!(f = fopen(kept, "wb")) || fwrite(w->data, 1, w->bytes, f) != w->bytes || fclose(f))) bail("OZARR_BENCH_DATA cannot be written");
}

static inline uint64_t checksum(const workload *w) {
    const uint64_t *p = (const uint64_t *)(const void *)w->data;
    uint64_t s = 0;
    for (size_t i = 0; i < w->bytes / 8; i++) s += p[i] * (2 * i + 1);
    return s;
}

static inline void parse(workload *w, int argc, char **argv) {
    static const char *const names[] = {"none", "zstd", "blosc", "gzip"};
    if (argc != 8) bail("usage: PROGRAM noop|read|write STORE CODEC SHAPE CHUNK THREADS TIMES");
    w->op = argv[1], w->store = argv[2], w->threads = atoi(argv[6]), w->times = atoi(argv[7]);
    if (w->threads < 1 || w->threads > 64 || w->times < 1 || w->times > 64) bail("THREADS and TIMES: 1 to 64");
    int codec = 0;
    while (codec < 4 && strcmp(names[codec], argv[3])) codec++;
    if (codec == 4) bail("no such codec");
    w->codec = (enum codec)codec;
    long long s[3], c[3];
    if (sscanf(argv[4], "%lldx%lldx%lld", s, s + 1, s + 2) != 3 || sscanf(argv[5], "%lldx%lldx%lld", c, c + 1, c + 2) != 3) bail("SHAPE, CHUNK: as 512x512x512");
    w->bytes = sizeof(float);
    for (int d = 0; d < 3; d++) {
        w->shape[d] = s[d], w->chunk[d] = c[d];
        if (c[d] < 1 || s[d] < c[d] || s[d] % c[d]) bail("the chunk must divide the array");
        w->bytes *= (size_t)s[d];
    }
    w->data = malloc(w->bytes);
    if (!w->data) bail("no memory");
    if (!strcmp(w->op, "write")) make_data(w);
    else if (!strcmp(w->op, "read")) memset(w->data, 1, w->bytes);
}

static inline void report(const workload *w) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    int n = strcmp(w->op, "noop") ? w->times : 0;
    printf("{\"wall\": [");
    for (int i = 0; i < n; i++) printf("%s%.6f", i ? ", " : "", wall[i]);
    printf("], \"cpu\": [");
    for (int i = 0; i < n; i++) printf("%s%.6f", i ? ", " : "", cpu[i]);
    printf("], \"rss_kib\": %ld, \"bytes\": %zu, \"checksum\": \"%016llx\"}\n", r.ru_maxrss, w->bytes, n ? (unsigned long long)checksum(w) : 0ull);
}
#endif
