/* What fresh memory costs: an uncompressed array of 256 MiB is read into memory that was just allocated, by malloc and by
 * ozarr_buffer_alloc, and into memory that was touched before. Allocating and freeing are inside the time. Prints a table in Markdown. */
#define _GNU_SOURCE
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { ROUNDS = 15, KINDS = 5 };
static const size_t SIZE = (size_t)256 << 20;

static void check(ozarr_status status, const char *what) {
    if (!status) return;
    fprintf(stderr, "%s: %s\n", what, ozarr_last_error());
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static double cpu(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void read_to(const ozarr_array *a, int kind, void *touched) {
    void *data = touched;
    if (kind == 1 || kind == 4) data = malloc(SIZE);
    if (kind == 2) check(ozarr_buffer_alloc(SIZE, OZARR_BUFFER_SMALL_PAGES, &data), "buffer");
    if (kind == 3) check(ozarr_buffer_alloc(SIZE, 0, &data), "buffer");
    check(ozarr_array_read(a, OZARR_FLOAT32, data, SIZE), "reading");
    if (kind == 1 || kind == 4) free(data);
    if (kind == 2 || kind == 3) ozarr_buffer_free(data);
}

int main(int argc, char **argv) {
    static const char *const NAMES[] = {"touched before", "malloc", "ozarr_buffer_alloc, small pages", "ozarr_buffer_alloc",
                                       "malloc, with the setting huge_pages, the default"};
    const char *where = argc > 1 ? argv[1] : "/dev/shm/ozarr_fresh.zarr";
    const int64_t shape[] = {256, 512, 512}, chunks[] = {1, 512, 512};
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    void *touched = malloc(SIZE);
    if (!touched) return 1;
    memset(touched, 1, SIZE);
    check(ozarr_spec_new(OZARR_FLOAT32, 3, shape, &spec), "specification");
    check(ozarr_spec_set_chunks(spec, chunks), "chunks");
    check(ozarr_spec_set_compressor(spec, "none", -1), "compressor");
    check(ozarr_array_create_ex(where, spec, OZARR_CREATE_OVERWRITE, &a), "creating");
    ozarr_spec_free(spec);
    check(ozarr_array_write(a, OZARR_FLOAT32, touched, SIZE), "writing");
    check(ozarr_array_close(a), "closing");
    printf("# What fresh memory costs\n\nWritten by `make bench` (`benches/fresh.c`): an uncompressed array of 256 MiB in chunks of 1 MiB, in memory\n"
           "(tmpfs), is read into memory that was just allocated; allocating and freeing are inside the time. %d rounds, by turns;\n"
           "where other programs are at work as well, the least counts.\n\n"
           "| threads | memory | wall s: median | least | CPU s: median | least | page faults |\n| --- | --- | --- | --- | --- | --- | --- |\n", ROUNDS);
    for (int threads = 1; threads <= 2; threads++) {
        double wall[KINDS][ROUNDS], used[KINDS][ROUNDS];
        long count[KINDS] = {0};
        ozarr_context *context = NULL;
        ozarr_store *store = NULL, *huge_store = NULL;
        ozarr_array *huge = NULL;
        check(ozarr_context_new(&context), "context");
        check(ozarr_context_set(context, "threads", threads == 1 ? "1" : "2"), "threads");
        check(ozarr_context_set(context, "huge_pages", "0"), "huge pages");
        check(ozarr_store_open_ex(context, where, "r", NULL, &store), "opening");
        check(ozarr_array_open_at(store, "/", &a), "opening");
        check(ozarr_context_set(context, "huge_pages", "1"), "huge pages");
        check(ozarr_store_open_ex(context, where, "r", NULL, &huge_store), "opening");
        check(ozarr_array_open_at(huge_store, "/", &huge), "opening");
        for (int round = 0; round < ROUNDS; round++)
            for (int kind = 0; kind < KINDS; kind++) {
                double t = now(), c = cpu();
                long f = faults();
                read_to(kind == 4 ? huge : a, kind, touched);
                wall[kind][round] = now() - t, used[kind][round] = cpu() - c, count[kind] = faults() - f;
            }
        for (int kind = 0; kind < KINDS; kind++) {
            qsort(wall[kind], ROUNDS, sizeof **wall, by_size);
            qsort(used[kind], ROUNDS, sizeof **used, by_size);
            printf("| %d | %s | %.3f | %.3f | %.3f | %.3f | %ld |\n", threads, NAMES[kind], wall[kind][ROUNDS / 2], wall[kind][0], used[kind][ROUNDS / 2],
                   used[kind][0], count[kind]);
        }
        ozarr_array_free(a);
        ozarr_array_free(huge);
        ozarr_store_free(huge_store);
        ozarr_store_free(store);
        ozarr_context_free(context);
    }
    check(ozarr_node_erase(where), "erasing");
    free(touched);
    return 0;
}
