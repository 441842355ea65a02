/* What layouts, byte orders, types and text cost beside the plain read of the same bytes, in one process by turns.
 *
 *   layouts [MIB [ROUNDS]]     prints a Markdown table: medians of CPU seconds, one thread, stores in memory
 *
 * Arrays with chunks of 1 MiB of stored elements. */
#define _GNU_SOURCE
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 512, MOST = 64 };

static void check(ozarr_status s) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "layouts: %s\n", ozarr_last_error());
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

static double median(double *times, int n) {
    qsort(times, (size_t)n, sizeof *times, by_size);
    return times[n / 2];
}

/* Whole numbers that int16 holds, twice their size too: a slow wave with noise, as fields are, and a sequence that a compressor halves
 * easily, so that decoding hides less of what comes after it. */
static float wave(size_t i) {
    size_t phase = i % 6000, height = phase < 3000 ? phase : 6000 - phase;
    return (float)(height * 5) - 7500.0f + (float)((unsigned)(i * 2654435761u) >> 22);
}

static float sequence(size_t i) { return (float)(((unsigned)(i * 2654435761u) >> 20) % 4096) - 2048.0f + (float)(i % 97); }

static const struct {
    const char *name;
    float (*at)(size_t);
} DATA[] = {{"wave with noise", wave}, {"sequence", sequence}};

/* What is stored is 2 x - 200 in every array of 16 bits. */
#define SCALED "{\"id\": \"fixedscaleoffset\", \"offset\": 100, \"scale\": 2, \"dtype\": \"<f4\", \"astype\": \"<i2\"}"
#define OFFSET "{\"name\": \"scale_offset\", \"configuration\": {\"offset\": 100, \"scale\": 2}}"
#define CAST "{\"name\": \"cast_value\", \"configuration\": {\"data_type\": \"int16\"}}"
#define BYTES "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}"
#define ZSTD "{\"name\": \"zstd\", \"configuration\": {\"level\": 1, \"checksum\": false}}"

/* An array, the way in which it is read, and the row that is the plain read of the same bytes. */
typedef struct {
    const char *name;
    ozarr_type stored, memory;
    int beside;
    bool big, f_stored, f_memory, halves;
    const char *filters, *codecs;
    ozarr_array *array;
    double times[MOST];
} layout;

enum { PLAIN, INT16, BFLOAT16 };

static layout LAYOUTS[] = {
    [PLAIN] = {.name = "float32", .stored = OZARR_FLOAT32, .memory = OZARR_FLOAT32, .beside = PLAIN},
    [INT16] = {.name = "int16", .stored = OZARR_INT16, .memory = OZARR_INT16, .beside = INT16, .halves = true},
    [BFLOAT16] = {.name = "bfloat16", .stored = OZARR_BFLOAT16, .memory = OZARR_BFLOAT16, .beside = BFLOAT16, .halves = true},
    {.name = "big-endian", .stored = OZARR_FLOAT32, .memory = OZARR_FLOAT32, .beside = PLAIN, .big = true},
    {.name = "stored in order F, read in C", .stored = OZARR_FLOAT32, .memory = OZARR_FLOAT32, .beside = PLAIN, .f_stored = true},
    {.name = "stored in order F, read in F", .stored = OZARR_FLOAT32, .memory = OZARR_FLOAT32, .beside = PLAIN, .f_stored = true, .f_memory = true},
    {.name = "read in order F", .stored = OZARR_FLOAT32, .memory = OZARR_FLOAT32, .beside = PLAIN, .f_memory = true},
    {.name = "float32 to float64", .stored = OZARR_FLOAT32, .memory = OZARR_FLOAT64, .beside = PLAIN},
    {.name = "int16 to float32", .stored = OZARR_INT16, .memory = OZARR_FLOAT32, .beside = INT16, .halves = true},
    {.name = "bfloat16 to float32", .stored = OZARR_BFLOAT16, .memory = OZARR_FLOAT32, .beside = BFLOAT16, .halves = true},
    {.name = "int16 to float32 by fixedscaleoffset", .stored = OZARR_FLOAT32, .memory = OZARR_FLOAT32, .beside = INT16, .halves = true, .filters = "[" SCALED "]"},
    {.name = "int16 to float32 by scale_offset and cast_value", .stored = OZARR_FLOAT32, .memory = OZARR_FLOAT32, .beside = INT16, .halves = true, .codecs = OFFSET "," CAST "," BYTES},
};
enum { COUNT = sizeof LAYOUTS / sizeof *LAYOUTS };

static void create(ozarr_store *store, layout *l, int number, const char *compressor, const int64_t *shape, const float *data, size_t n) {
    ozarr_spec *spec = NULL;
    char path[32], codecs[1024];
    int64_t chunks[] = {ROWS, l->halves ? 1024 : 512};
    snprintf(path, sizeof path, "a%d", number);
    check(ozarr_spec_new(l->stored, 2, shape, &spec));
    check(ozarr_spec_set_chunks(spec, chunks));
    if (l->codecs) {
        snprintf(codecs, sizeof codecs, "[%s%s]", l->codecs, strcmp(compressor, "none") ? "," ZSTD : "");
        check(ozarr_spec_set_member_json(spec, "codecs", codecs));
    } else {
        check(ozarr_spec_set_big_endian(spec, l->big));
        check(ozarr_spec_set_order(spec, l->f_stored ? OZARR_ORDER_F : OZARR_ORDER_C));
        check(ozarr_spec_set_compressor(spec, compressor, -1));
    }
    if (l->filters) {
        check(ozarr_spec_set_zarr_format(spec, 2));
        check(ozarr_spec_set_member_json(spec, "filters", l->filters));
    }
    check(ozarr_array_create_at(store, path, spec, OZARR_CREATE_OVERWRITE, &l->array));
    check(ozarr_array_write(l->array, OZARR_FLOAT32, data, n * sizeof *data));
    ozarr_spec_free(spec);
}

static void measure(ozarr_store *store, const char *compressor, size_t n, int rounds, int set, float *data, void *out) {
    int64_t shape[] = {ROWS, (int64_t)(n / ROWS)};
    for (int twice = 0; twice < 2; twice++) {
        for (size_t i = 0; i < n; i++) data[i] = twice ? 2 * DATA[set].at(i) - 200 : DATA[set].at(i);
        for (int i = 0; i < COUNT; i++)
            if (twice == (LAYOUTS[i].halves && LAYOUTS[i].stored != OZARR_FLOAT32)) create(store, &LAYOUTS[i], i, compressor, shape, data, n);
    }
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < COUNT; i++) {
            layout *l = &LAYOUTS[i];
            ozarr_memory memory = OZARR_MEMORY_INIT;
            memory.data = out, memory.size = n * sizeof(double), memory.type = l->memory;
            memory.order = l->f_memory ? OZARR_ORDER_F : OZARR_ORDER_C;
            double start = now();
            check(ozarr_array_read_ex(l->array, NULL, &memory));
            l->times[r] = now() - start;
        }
    for (int i = 0; i < COUNT; i++) {
        double time = median(LAYOUTS[i].times, rounds), beside = median(LAYOUTS[LAYOUTS[i].beside].times, rounds);
        printf("| %s | %s | %s | %.4f | %.2f |\n", LAYOUTS[i].name, DATA[set].name, compressor, time, time / beside);
        ozarr_array_free(LAYOUTS[i].array);
    }
}

/* Ten million short texts: the number for each byte says what one costs. */
static void texts(ozarr_store *store, int64_t count, int rounds) {
    int64_t *offsets = malloc(sizeof *offsets * (size_t)(count + 1)), chunk = 1 << 16;
    char *data = malloc((size_t)count * 8);
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    double times[MOST];
    size_t used = 0;
    if (!offsets || !data) exit(1);
    for (int64_t i = 0; i < count; i++) {
        offsets[i] = (int64_t)used;
        used += (size_t)sprintf(data + used, "s%d", (int)(i * 7919 % 1000000));
    }
    offsets[count] = (int64_t)used;
    check(ozarr_spec_new(OZARR_STRING, 1, &count, &spec));
    check(ozarr_spec_set_chunks(spec, &chunk));
    check(ozarr_array_create_at(store, "texts", spec, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(spec);
    double start = now();
    check(ozarr_array_write_varlen(a, NULL, offsets, data, used));
    printf("| %lld texts of %.1f bytes, written | | zstd | %.4f | %.0f ns a text |\n", (long long)count, (double)used / (double)count, now() - start,
           (now() - start) / (double)count * 1e9);
    for (int r = 0; r < rounds; r++) {
        ozarr_varlen *v = NULL;
        start = now();
        check(ozarr_array_read_varlen(a, NULL, &v));
        times[r] = now() - start;
        ozarr_varlen_free(v);
    }
    printf("| the same, read | | zstd | %.4f | %.0f ns a text |\n", median(times, rounds), median(times, rounds) / (double)count * 1e9);
    ozarr_array_free(a);
    free(offsets);
    free(data);
}

int main(int argc, char **argv) {
    size_t mib = argc > 1 ? (size_t)atoi(argv[1]) : 256, n = mib << 18;
    int rounds = argc > 2 ? atoi(argv[2]) : 9;
    if (mib < 4 || mib % 4 || rounds < 1 || rounds > MOST) return 2;
    setenv("OZARR_NUM_THREADS", "1", 1);
    float *data = malloc(n * sizeof *data);
    double *out = malloc(n * sizeof *out);
    ozarr_store *store = NULL;
    if (!data || !out) return 1;
    memset(out, 1, n * sizeof *out);
    check(ozarr_store_memory(&store));
    printf("| read | data | codec | CPU s | beside the plain read of the same bytes |\n| --- | --- | --- | --- | --- |\n");
    measure(store, "none", n, rounds, 0, data, out);
    for (int set = 0; set < 2; set++) measure(store, "zstd", n, rounds, set, data, out);
    texts(store, (int64_t)(mib * 40000), rounds);
    ozarr_store_free(store);
    free(data);
    free(out);
    return 0;
}
