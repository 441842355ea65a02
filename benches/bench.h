/* The benchmark's adapters in C: one process that does timed operations as they are asked for on its standard input.
 *
 *   ADAPTER THREADS        a line "OP key=value ..." is one operation, and its answer one line of JSON
 *
 * An adapter defines `perform`, which does what `request` says and returns NULL, or says why not ("unsupported ..." where its library has no
 * such thing). Memory, clocks and checksums are here, the same for all. benches/run.py has the other side, benches/peers/python.py the same
 * protocol in Python. */
#ifndef BENCH_H
#define BENCH_H
#define _GNU_SOURCE
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ZSTD_LEVEL 3
#define BLOSC_LEVEL 5
#define GZIP_LEVEL 5

/* Elements start, start + step, ... of each dimension. */
typedef struct {
    int64_t start[3], count[3], step[3];
} region;

/* Arrays are float32 of rank 3. Regions lie in `data` one after the other. */
typedef struct {
    const char *op;       /* read, write (create and write the whole), update (regions of what is there), append, open, opens, list, data */
    const char *path;     /* the folder of the array or group */
    const char *meta;     /* its zarr.json or .zarray, as text */
    const char *codec;    /* none, zstd, gzip, or blosc's CNAME-shuffle, CNAME-bitshuffle */
    const char *memory;   /* touched, fresh or huge */
    const char *sync;     /* none, each, batch */
    const char *settings; /* KEY:VALUE of the library's context, or NULL */
    int64_t shape[3], chunk[3], shard[3]; /* of shards: 0 where there are none */
    int32_t format, threads, repeat;      /* repeat: opens of "open" */
    float fill;
    bool big, fortran, f64, reopen, consolidated, check, skip; /* reopen: the array is opened for each region; check: answer with the checksum; skip: nothing is done */
    region *regions;
    size_t count, bytes;  /* of regions; of data */
    char *data;
} request;

const char *perform(const request *r);

static inline double cpu_now(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + 1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static inline double wall_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline uint64_t checksum(const char *data, size_t bytes) {
    uint64_t s = 0, w;
    for (size_t i = 0; i < bytes / 8; i++) {
        memcpy(&w, data + 8 * i, 8);
        s += w * (2 * i + 1);
    }
    if (bytes % 8) {
        w = 0;
        memcpy(&w, data + bytes / 8 * 8, bytes % 8);
        s += w * (2 * (bytes / 8) + 1);
    }
    return s;
}

/* A line of /proc/self/status, in KiB. */
static inline long memory_kib(const char *name) {
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name))) kib = atol(line + strlen(name) + 1);
    if (f) fclose(f);
    return kib;
}

static inline void forget_peak(void) {
    malloc_trim(0);
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (f) {
        fputs("5", f);
        fclose(f);
    }
}

/* Huge pages where the kernel gives them: as numpy asks for its arrays. */
static inline char *huge_pages(size_t bytes) {
    size_t page = (size_t)2 << 20;
    char *p = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    p += (page - (uintptr_t)p % page) % page;
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

static inline char *whole_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    text = malloc(*size + 1);
    if (text && fread(text, 1, *size, f) == *size) text[*size] = 0;
    fclose(f);
    return text;
}

/* A file of lines of nine numbers; without one the whole array. */
static inline void get_regions(request *r, const char *path) {
    FILE *f = path ? fopen(path, "r") : NULL;
    region whole = {{0, 0, 0}, {r->shape[0], r->shape[1], r->shape[2]}, {1, 1, 1}}, q;
    r->count = 0;
    r->regions = malloc(sizeof q * 4096);
    while (f && r->count < 4096) {
        int64_t v[9];
        int n = 0;
        while (n < 9 && fscanf(f, "%ld", &v[n]) == 1) n++;
        if (n < 9) break;
        memcpy(&r->regions[r->count++], v, sizeof q);
    }
    if (f) fclose(f);
    if (!path) r->regions[r->count++] = whole;
    r->bytes = 0;
    for (size_t i = 0; i < r->count; i++) r->bytes += (size_t)(r->regions[i].count[0] * r->regions[i].count[1] * r->regions[i].count[2]) * (r->f64 ? 8 : 4);
}

static inline void three(int64_t *v, const char *text) { sscanf(text, "%ld,%ld,%ld", v, v + 1, v + 2); }

/* The request of a line; `kept` is the memory that lives from one request to the next. */
static inline const char *parse(request *r, char *line, const char **source, const char **regions) {
    size_t n;
    memset(r, 0, sizeof *r);
    r->format = 3, r->repeat = 1, r->codec = "none", r->memory = "touched", r->sync = "none";
    r->op = strtok(line, " \n");
    for (char *word; (word = strtok(NULL, " \n"));) {
        char *v = strchr(word, '=');
        if (!v) return "a word without =";
        *v++ = 0;
        if (!strcmp(word, "path")) r->path = v;
        else if (!strcmp(word, "meta")) r->meta = whole_file(v, &n);
        else if (!strcmp(word, "codec")) r->codec = v;
        else if (!strcmp(word, "memory")) r->memory = v;
        else if (!strcmp(word, "sync")) r->sync = v;
        else if (!strcmp(word, "settings")) r->settings = v;
        else if (!strcmp(word, "shape")) three(r->shape, v);
        else if (!strcmp(word, "chunk")) three(r->chunk, v);
        else if (!strcmp(word, "shard")) three(r->shard, v);
        else if (!strcmp(word, "format")) r->format = atoi(v);
        else if (!strcmp(word, "repeat")) r->repeat = atoi(v);
        else if (!strcmp(word, "fill")) r->fill = strtof(v, NULL);
        else if (!strcmp(word, "big")) r->big = true;
        else if (!strcmp(word, "fortran")) r->fortran = true;
        else if (!strcmp(word, "f64")) r->f64 = true;
        else if (!strcmp(word, "reopen")) r->reopen = true;
        else if (!strcmp(word, "consolidated")) r->consolidated = true;
        else if (!strcmp(word, "check")) r->check = true;
        else if (!strcmp(word, "skip")) r->skip = true;
        else if (!strcmp(word, "source")) *source = v;
        else if (!strcmp(word, "regions")) *regions = v;
        else return "an unknown key";
    }
    return NULL;
}

/* The elements that are written: the first bytes of `source`, or the fill value. */
static inline const char *load(request *r, char *kept, const char *source) {
    FILE *f = source ? fopen(source, "rb") : NULL;
    if (source && (!f || fread(kept, 1, r->bytes, f) != r->bytes)) return "the source is too short";
    if (f) fclose(f);
    for (size_t i = 0; !source && i < r->bytes / 4; i++) memcpy(kept + 4 * i, &r->fill, 4);
    return NULL;
}

static inline void answer_error(const char *text) {
    printf("{\"error\": \"");
    for (; *text; text++) putchar(*text == '"' || *text == '\\' || *text < ' ' ? '\'' : *text);
    printf("\"}\n");
}

static inline void serve_one(char *line, int threads) {
    static char *kept;
    static size_t kept_bytes;
    request r;
    const char *source = NULL, *regions = NULL, *wrong = parse(&r, line, &source, &regions);
    r.threads = threads;
    get_regions(&r, regions);
    bool has_data = !strcmp(r.op, "read") || !strcmp(r.op, "write") || !strcmp(r.op, "update") || !strcmp(r.op, "append");
    bool reading = !strcmp(r.op, "read"), touched = !reading || !strcmp(r.memory, "touched"), huge = !strcmp(r.memory, "huge");
    if (has_data && touched && r.bytes > kept_bytes) {
        free(kept);
        kept = malloc(r.bytes), kept_bytes = r.bytes;
        memset(kept, 1, r.bytes);
    }
    if (!wrong && has_data && !reading) wrong = load(&r, kept, source);
    if (has_data && reading && touched) memset(kept, 1, r.bytes);
    r.data = kept;
    forget_peak();
    long rss = memory_kib("VmRSS"), code = memory_kib("RssFile");
    syscall(SYS_getppid); /* a mark in a trace of system calls: the timed part lies between two */
    double wall = wall_now(), cpu = cpu_now();
    if (!touched) r.data = huge ? huge_pages(r.bytes) : malloc(r.bytes);
    if (!wrong && has_data && !r.data) wrong = "no memory";
    if (!wrong && !r.skip) wrong = perform(&r);
    cpu = cpu_now() - cpu, wall = wall_now() - wall;
    syscall(SYS_getppid);
    long peak = memory_kib("VmHWM") - rss - (memory_kib("RssFile") - code) - (touched ? 0 : (long)(r.bytes >> 10)); /* without the program's own pages */
    if (wrong) answer_error(wrong);
    else printf("{\"wall\": %.7f, \"cpu\": %.6f, \"peak_kib\": %ld, \"bytes\": %zu, \"sum\": \"%016llx\"}\n", wall, cpu, peak, r.bytes,
                (unsigned long long)(r.check && has_data ? checksum(r.data, r.bytes) : 0));
    fflush(stdout);
    if (!touched && huge && r.data) munmap(r.data, r.bytes);
    else if (!touched) free(r.data);
    free((char *)r.meta);
    free(r.regions);
}

int main(int argc, char **argv) {
    static char line[16384];
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    while (fgets(line, sizeof line, stdin) && strncmp(line, "quit", 4)) serve_one(line, threads);
    return 0;
}
#endif
