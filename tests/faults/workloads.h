/* The workloads of memory.c and files.c: what a program does with the library, in steps that may fail, and what must be stored then.
 *
 * Each begins with what `prepare` stored (generation 0) and stores generation 1. A step that fails is noted, what is stored is checked
 * (each chunk and each attribute is old or new), nothing fails any more, and the same step on the same handle must succeed. */
#ifndef WORKLOADS_H
#define WORKLOADS_H

#include <ftw.h>
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct workload {
    const char *name;
    void (*prepare)(void);
    void (*run)(void);
    void (*check)(int all_new);
    /* The compressor, the format, whether there are shards, and the array's location. */
    const char *codec;
    int format, shards;
    const char *location;
    int seed;
} workload;

enum { ROWS = 64, COLUMNS = 512, CHUNK_ROWS = 32, CHUNK_COLUMNS = 256, CELLS = ROWS * COLUMNS };

static const workload *current;
static ozarr_status first_failure;
static int retried, first_errno;
/* Set where a failure means that what was stored before may be lost, so that later steps may fail, too. */
static int sticky;
static char first_text[512], trouble[1024];
static double data[CELLS], back[CELLS];

void disarm(void);
/* Looks at what is stored, with more than the workload's own check. */
void look(int all_new);

/* Notes what is wrong, once. */
static void wrong(const char *format, ...) {
    va_list list;
    if (trouble[0]) return;
    va_start(list, format);
    vsnprintf(trouble, sizeof trouble, format, list);
    va_end(list);
}

static void note(ozarr_status status, int again) {
    ozarr_error_info info = {0};
    disarm();
    if (first_failure != OZARR_OK) return;
    first_failure = status;
    retried = again;
    snprintf(first_text, sizeof first_text, "%s", ozarr_last_error());
    info.struct_size = sizeof info;
    first_errno = ozarr_last_error_info(&info) == OZARR_OK ? info.os_errno : 0;
    if (first_text[0] == 0) wrong("no message");
}

/* A step that must succeed when it is done again. */
#define STEP(call) \
    do { \
        if (trouble[0]) break; \
        ozarr_status status_ = (call); \
        if (status_ == OZARR_OK) break; \
        note(status_, 1); \
        look(0); \
        if ((status_ = (call)) != OZARR_OK && !sticky) wrong("done again, %s is %s: %s", #call, ozarr_status_name(status_), ozarr_last_error()); \
    } while (0)

/* A step that ends a handle, so that it cannot be done again. */
#define LAST(call) \
    do { \
        ozarr_status status_ = (call); \
        if (status_ != OZARR_OK) note(status_, 0), retried = 0; \
    } while (0)

/* What prepares and checks: it must succeed. */
#define SURE(call) \
    do { \
        ozarr_status sure_ = (call); \
        if (sure_ != OZARR_OK) wrong("%s is %s: %s", #call, ozarr_status_name(sure_), ozarr_last_error()); \
    } while (0)

/* Where a workload's store is: a folder, or a place that is written to and read by URLs. */
static char root[256], read_root[256];

static const char *join(const char *folder, const char *name) {
    static char places[4][512];
    static int next;
    char *place = places[next++ % 4];
    snprintf(place, sizeof places[0], "%s%s", folder, name);
    return place;
}

static const char *at(const char *name) { return join(root, name); }

static double value(int i, int generation) { return generation * 1000.0 + (i % 977) * 0.5; }

static void fill(int generation) {
    for (int i = 0; i < CELLS; i++) data[i] = value(i, generation);
}

static const int64_t SHAPE[] = {ROWS, COLUMNS}, CHUNKS[] = {CHUNK_ROWS, CHUNK_COLUMNS}, INNER[] = {16, 64}, ORIGIN[] = {0, 0};

/* Each chunk is of one generation, the new one if `all_new`. */
static void check_values(const double *found, int all_new, const char *where) {
    for (int c = 0; c < CELLS / (CHUNK_ROWS * CHUNK_COLUMNS); c++) {
        int row = c / 2 * CHUNK_ROWS, column = c % 2 * CHUNK_COLUMNS, counts[3] = {0};
        for (int r = row; r < row + CHUNK_ROWS; r++)
            for (int k = column; k < column + CHUNK_COLUMNS; k++) {
                int i = r * COLUMNS + k;
                counts[found[i] == value(i, 0) ? 0 : found[i] == value(i, 1) ? 1 : 2]++;
            }
        if (counts[2] || (counts[0] && counts[1]) || (all_new && counts[0]))
            wrong("%s, chunk %d: %d old, %d new, %d other values", where, c, counts[0], counts[1], counts[2]);
    }
}

static void make_spec(ozarr_spec **spec) {
    STEP(ozarr_spec_new(OZARR_FLOAT64, 2, SHAPE, spec));
    if (*spec == NULL) return;
    if (current->format) STEP(ozarr_spec_set_zarr_format(*spec, current->format));
    STEP(ozarr_spec_set_chunks(*spec, CHUNKS));
    if (current->shards) STEP(ozarr_spec_set_inner_chunks(*spec, INNER));
    if (strcmp(current->codec, "zfp") == 0) STEP(ozarr_spec_set_zfp(*spec, OZARR_ZFP_REVERSIBLE, 0));
    else STEP(ozarr_spec_set_compressor(*spec, current->codec, -1));
}

/* Archives erase nothing: what a failed call created there is opened. */
static ozarr_status create(const ozarr_spec *spec, ozarr_array **out) {
    ozarr_status status = ozarr_array_create_ex(at(current->location), spec, OZARR_CREATE_OVERWRITE, out);
    return status == OZARR_ERR_UNSUPPORTED ? ozarr_array_open(at(current->location), "r+", out) : status;
}

static void make_array(void) {
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    make_spec(&spec);
    STEP(create(spec, &a));
    STEP(ozarr_array_write_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, data, sizeof data));
    LAST(ozarr_array_close(a));
    ozarr_spec_free(spec);
}

/* Makes the array of generation 0 beforehand. */
static void prepare_array(void) {
    remove("array.zip");
    fill(0);
    make_array();
    if (first_failure) wrong("prepare: %s", first_text);
}

/* Gets what is stored of the workload's array. */
static void read_back(void) {
    ozarr_array *a = NULL;
    memset(back, 0xff, sizeof back);
    SURE(ozarr_array_open(at(current->location), "r", &a));
    SURE(ozarr_array_read(a, OZARR_FLOAT64, back, sizeof back));
    ozarr_array_free(a);
}

static void check_array(int all_new) {
    read_back();
    check_values(back, all_new, "stored");
}

/* An array that is being replaced may be gone, but not half there. */
static void check_created(int all_new) {
    ozarr_array *a = NULL;
    if (!all_new && ozarr_array_open(at(current->location), "r", &a) == OZARR_ERR_NOT_FOUND) return;
    ozarr_array_free(a);
    if (all_new) check_array(1);
}

static void prepare_none(void) {}

static void run_create(void) {
    fill(1);
    make_array();
}

static void prepare_new(void) {
    ozarr_store *store = NULL;
    fill(1);
    SURE(ozarr_store_open(at("new.zarr"), "r+", &store));
    ozarr_status erased = ozarr_store_node_erase(store, "");
    if (erased != OZARR_ERR_NOT_FOUND) SURE(erased);
    ozarr_store_free(store);
    rmdir("new.zarr");
}

/* A folder that appears by a flush is not there, or whole. */
static void check_new(int all_new) {
    if (all_new || access("new.zarr", F_OK) == 0) check_array(1);
}

static void run_new(void) {
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    ozarr_store *store = NULL;
    static const char *const options[] = {"file.publish", "flush", NULL};
    fill(1);
    make_spec(&spec);
    STEP(ozarr_store_open_ex(NULL, at("new.zarr"), "r+", options, &store));
    STEP(ozarr_array_create_at(store, "a", spec, OZARR_CREATE_OPEN_IF_SAME, &a));
    STEP(ozarr_array_write_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, data, sizeof data));
    STEP(ozarr_store_flush(store));
    LAST(ozarr_array_close(a));
    LAST(ozarr_store_close(store));
    ozarr_spec_free(spec);
}

/* An archive that is not there yet. */
static void run_zip(void) {
    remove("array.zip");
    run_create();
}

static void run_write(void) {
    ozarr_array *a = NULL;
    fill(1);
    STEP(ozarr_array_open(at(current->location), "r+", &a));
    STEP(ozarr_array_write_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, data, sizeof data));
    LAST(ozarr_array_close(a));
}

/* Erases the chunks by values that need none, and stores them again. */
static void run_rewrite(void) {
    ozarr_array *a = NULL;
    memset(data, 0, sizeof data);
    STEP(ozarr_array_open(at(current->location), "r+", &a));
    STEP(ozarr_array_write_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, data, sizeof data));
    fill(1);
    STEP(ozarr_array_write_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, data, sizeof data));
    LAST(ozarr_array_close(a));
}

/* Meanwhile each chunk is old, new, or not there. */
static void check_rewritten(int all_new) {
    read_back();
    for (int c = 0; c < CELLS / (CHUNK_ROWS * CHUNK_COLUMNS) && !all_new; c++) {
        int first = c / 2 * CHUNK_ROWS * COLUMNS + c % 2 * CHUNK_COLUMNS, there = 0;
        for (int pass = 0; pass < 2 && !there; pass++)
            for (int r = 0; r < CHUNK_ROWS; r++)
                for (int k = 0; k < CHUNK_COLUMNS; k++) {
                    int i = first + r * COLUMNS + k;
                    if (pass) back[i] = value(i, 0);
                    else there |= back[i] != 0;
                }
    }
    check_values(back, all_new, "stored");
}

/* Parts of chunks, so that chunks are read and encoded again. */
static void run_update(void) {
    ozarr_array *a = NULL;
    static const int64_t half[] = {ROWS, COLUMNS / 4};
    fill(1);
    STEP(ozarr_array_open(at(current->location), "r+", &a));
    for (int64_t i = 0; i < 4; i++) {
        const int64_t start[] = {0, i * half[1]}, counts[] = {ROWS, 1}, strides[] = {COLUMNS * 8, 8};
        ozarr_region region = OZARR_REGION_INIT;
        ozarr_memory memory = OZARR_MEMORY_INIT;
        (void)counts;
        region.start = start, region.shape = half;
        memory.data = data, memory.size = sizeof data, memory.type = OZARR_FLOAT64, memory.strides = strides, memory.offset = i * half[1] * 8;
        STEP(ozarr_array_write_ex(a, &region, &memory));
    }
    LAST(ozarr_array_close(a));
}

/* Between the parts chunks are of both generations. */
static void check_updated(int all_new) {
    if (all_new) check_array(1);
    ozarr_array *a = NULL;
    SURE(ozarr_array_open(at(current->location), "r", &a));
    SURE(ozarr_array_read(a, OZARR_FLOAT64, back, sizeof back));
    ozarr_array_free(a);
    for (int i = 0; i < CELLS; i++)
        if (back[i] != value(i, 0) && back[i] != value(i, 1)) wrong("element %d is %g", i, back[i]);
}

static const int64_t SHORT[] = {40, 300};

/* What is cut off shows as the fill value when the array grows again. */
static void run_resize(void) {
    ozarr_array *a = NULL;
    STEP(ozarr_array_open(at(current->location), "r+", &a));
    STEP(ozarr_array_resize(a, SHORT, 0));
    STEP(ozarr_array_resize(a, SHAPE, 0));
    LAST(ozarr_array_close(a));
}

static void check_resized(int all_new) {
    ozarr_array *a = NULL;
    int64_t shape[2] = {0};
    int old = 0, gone = 0;
    SURE(ozarr_array_open(at(current->location), "r", &a));
    SURE(ozarr_array_shape(a, shape));
    const int is_cut = shape[0] == SHORT[0];
    memset(back, 0xff, sizeof back);
    SURE(ozarr_array_read_region(a, ORIGIN, shape, OZARR_FLOAT64, back, (size_t)(shape[0] * shape[1]) * sizeof *back));
    ozarr_array_free(a);
    for (int64_t r = 0; r < shape[0]; r++)
        for (int64_t k = 0; k < shape[1]; k++) {
            const double found = back[r * shape[1] + k], was = value((int)(r * COLUMNS + k), 0);
            const int inside = r < SHORT[0] && k < SHORT[1];
            if (found != was && (inside || found != 0)) wrong("element %d, %d is %g", (int)r, (int)k, found);
            if (!inside && was != 0) found == was ? old++ : gone++;
        }
    if (old && (gone || all_new)) wrong("%d elements beyond the edge are there, %d are not", old, gone);
    if (is_cut && all_new) wrong("the array is %d long", (int)shape[0]);
}

static void run_read(void) {
    ozarr_array *a = NULL;
    memset(back, 0xff, sizeof back);
    STEP(ozarr_array_open(join(read_root, current->location), "r", &a));
    STEP(ozarr_array_read_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, back, sizeof back));
    ozarr_array_free(a);
    for (int i = 0; i < CELLS && trouble[0] == 0; i++)
        if (back[i] != value(i, 0)) wrong("element %d is %g", i, back[i]);
}

static void check_read(int all_new) { (void)all_new; }

static void run_request(void) {
    ozarr_array *a = NULL;
    ozarr_request *r = NULL;
    fill(1);
    STEP(ozarr_array_open(at(current->location), "r+", &a));
    STEP(ozarr_array_iwrite_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, data, sizeof data, OZARR_REQUEST_COPY, &r));
    LAST(ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    r = NULL;
    STEP(ozarr_array_iread_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, back, sizeof back, &r));
    LAST(ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    LAST(ozarr_array_close(a));
}

static char digits_before[33];
static const int64_t MANY[] = {1 << 27}, ONE_CHUNK[] = {1 << 20};

/* The array of generation 0, its digest, and a large array of which one chunk is stored. */
static void prepare_analysis(void) {
    static const double one = 7;
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    prepare_array();
    SURE(ozarr_array_open(at(current->location), "r", &a));
    SURE(ozarr_array_digest(a, NULL, digits_before, sizeof digits_before, NULL));
    ozarr_array_free(a);
    SURE(ozarr_spec_new(OZARR_FLOAT64, 1, MANY, &spec));
    SURE(ozarr_spec_set_chunks(spec, ONE_CHUNK));
    SURE(ozarr_array_create_ex(at("large.zarr"), spec, OZARR_CREATE_OVERWRITE, &a));
    SURE(ozarr_array_write_region(a, ONE_CHUNK, (const int64_t[]){1}, OZARR_FLOAT64, &one, sizeof one));
    ozarr_array_free(a);
    ozarr_spec_free(spec);
}

/* Statistics, a digest and differences of the halves, and statistics of an array that is mostly not stored. */
static void run_analysis(void) {
    static const int64_t half[] = {ROWS / 2, COLUMNS}, middle[] = {ROWS / 2, 0};
    enum { HALF = CELLS / 2 };
    ozarr_array *a = NULL, *large = NULL;
    ozarr_summary summary = OZARR_SUMMARY_INIT;
    ozarr_comparison found = OZARR_COMPARISON_INIT;
    ozarr_region upper = OZARR_REGION_INIT, lower = OZARR_REGION_INIT;
    char digits[33] = "";
    int64_t first[2] = {-1, -1}, differing = 0;
    upper.start = ORIGIN, upper.shape = lower.shape = half, lower.start = middle;
    for (int i = 0; i < HALF; i++) differing += value(i, 0) != value(i + HALF, 0);
    STEP(ozarr_array_open(at(current->location), "r", &a));
    STEP(ozarr_array_summarize(a, NULL, &summary));
    if (trouble[0] == 0 && (summary.count != CELLS || summary.min != 0 || summary.max != 488)) wrong("the statistics are others");
    STEP(ozarr_array_digest(a, NULL, digits, sizeof digits, NULL));
    if (trouble[0] == 0 && digits_before[0] && strcmp(digits, digits_before)) wrong("the digest is %s, before %s", digits, digits_before);
    STEP(ozarr_array_compare(a, &upper, a, &lower, 0, 0, &found, first));
    if (trouble[0] == 0 && (found.differing != differing || first[0] != 0 || first[1] != 0)) wrong("%d differ", (int)found.differing);
    STEP(ozarr_array_open(at("large.zarr"), "r", &large));
    STEP(ozarr_array_summarize(large, NULL, &summary));
    /* Where the chunks cannot be listed more blocks are looked at, and the mean may differ in its last bit. */
    double mean = summary.mean * (1 << 27);
    if (trouble[0] == 0 && (summary.count != MANY[0] || summary.max != 7 || mean < 7 - 1e-12 || mean > 7 + 1e-12)) wrong("the large array's are others");
    ozarr_array_free(large);
    ozarr_array_free(a);
}

static const char *const NAMES[] = {"alpha", "beta", "gamma", "delta"};

static void prepare_attrs(void) {
    ozarr_group *g = NULL;
    SURE(ozarr_group_create(at("attrs.zarr"), OZARR_CREATE_OVERWRITE, &g));
    for (int i = 0; i < 4; i++) SURE(ozarr_attr_set_int64(ozarr_group_node(g), NAMES[i], 0));
    SURE(ozarr_attr_set_string(ozarr_group_node(g), "text", "old"));
    ozarr_group_free(g);
}

static void run_attrs(void) {
    ozarr_group *g = NULL;
    char text[64];
    int64_t n;
    STEP(ozarr_group_open(at("attrs.zarr"), "r+", &g));
    for (int i = 0; i < 4; i++) STEP(ozarr_attr_set_int64(ozarr_group_node(g), NAMES[i], 1));
    STEP(ozarr_attr_set_string(ozarr_group_node(g), "text", "new"));
    STEP(ozarr_attr_get_int64(ozarr_group_node(g), "beta", &n));
    STEP(ozarr_attr_get_string(ozarr_group_node(g), "text", text, sizeof text, NULL));
    LAST(ozarr_group_close(g));
}

static void check_attrs(int all_new) {
    ozarr_group *g = NULL;
    char text[64] = "";
    SURE(ozarr_group_open(at("attrs.zarr"), "r", &g));
    for (int i = 0; i < 4; i++) {
        int64_t n = -1;
        SURE(ozarr_attr_get_int64(ozarr_group_node(g), NAMES[i], &n));
        if (n != 1 && (n != 0 || all_new)) wrong("attribute %s is %d", NAMES[i], (int)n);
    }
    SURE(ozarr_attr_get_string(ozarr_group_node(g), "text", text, sizeof text, NULL));
    if (strcmp(text, "new") && (all_new || strcmp(text, "old"))) wrong("text is %s", text);
    ozarr_group_free(g);
}

/* An attribute whose values take more than the reserve has in one block. */
enum { LONG = 100000 };
static int32_t long_numbers[LONG];

static void prepare_long(void) {
    ozarr_group *g = NULL;
    SURE(ozarr_group_create(at("long.zarr"), OZARR_CREATE_OVERWRITE, &g));
    SURE(ozarr_attr_set_int64(ozarr_group_node(g), "x", 7));
    ozarr_group_free(g);
}

static void run_long(void) {
    ozarr_group *g = NULL;
    int64_t n;
    for (int i = 0; i < LONG; i++) long_numbers[i] = 7 + i;
    STEP(ozarr_group_open(at("long.zarr"), "r+", &g));
    STEP(ozarr_attr_set_numbers(ozarr_group_node(g), "x", OZARR_INT32, long_numbers, LONG));
    STEP(ozarr_node_refresh(ozarr_group_node(g), NULL, 0));
    STEP(ozarr_attr_get_numbers(ozarr_group_node(g), "x", OZARR_INT32, long_numbers, LONG, &n));
    LAST(ozarr_group_close(g));
}

static void check_long(int all_new) {
    ozarr_group *g = NULL;
    int64_t n = 0;
    SURE(ozarr_group_open(at("long.zarr"), "r", &g));
    SURE(ozarr_attr_get_numbers(ozarr_group_node(g), "x", OZARR_INT32, long_numbers, LONG, &n));
    if (n != LONG && (n != 1 || all_new)) wrong("the attribute has %d numbers", (int)n);
    for (int i = 0; i < n; i++) {
        if (long_numbers[i] != 7 + i) wrong("number %d is %d", i, (int)long_numbers[i]);
    }
    ozarr_group_free(g);
}

static void prepare_tree(void) {
    ozarr_group *g = NULL, *h = NULL;
    static const int64_t three[] = {3};
    SURE(ozarr_group_create(at("tree.zarr"), OZARR_CREATE_OVERWRITE, &g));
    for (int i = 0; i < 4; i++) {
        const double numbers[] = {i, 1, 2};
        char path[64];
        SURE(ozarr_group_create_group(g, NAMES[i], OZARR_CREATE_NEW, &h));
        ozarr_group_free(h);
        snprintf(path, sizeof path, "%s/u", NAMES[i]);
        SURE(ozarr_group_put(g, path, OZARR_FLOAT64, 1, three, numbers, sizeof numbers));
    }
    ozarr_group_free(g);
}

static int unknown;

static int nodes_of(const char *location) {
    ozarr_group *g = NULL;
    ozarr_node_iter *it = NULL;
    bool more = false;
    int n = 0;
    unknown = 0;
    STEP(ozarr_group_open(location, "r", &g));
    STEP(ozarr_group_list_nodes(g, NULL, -1, &it));
    for (;;) {
        char name[64];
        ozarr_node_kind kind;
        STEP(ozarr_node_iter_next(it, &more));
        if (!more || trouble[0]) break;
        n++;
        STEP(ozarr_node_iter_name(it, name, sizeof name, NULL));
        STEP(ozarr_node_iter_kind(it, &kind));
        /* A node that cannot be read is told as such, and none below it. */
        if (kind == OZARR_NODE_KIND_UNKNOWN) unknown++;
    }
    ozarr_node_iter_free(it);
    ozarr_group_free(g);
    return n;
}

static void run_list(void) {
    int n = nodes_of(at("tree.zarr"));
    if (n + unknown < 8 && trouble[0] == 0) wrong("%d nodes are listed", n);
}

/* A node that a failed call erased is gone. */
static ozarr_status erase(ozarr_group *g, const char *name) {
    ozarr_status status = ozarr_group_erase(g, name);
    return status == OZARR_ERR_NOT_FOUND ? OZARR_OK : status;
}

static void run_consolidate(void) {
    ozarr_group *g = NULL;
    STEP(ozarr_group_open(at("tree.zarr"), "r+", &g));
    STEP(ozarr_group_consolidate(g));
    STEP(ozarr_attr_set_json(ozarr_group_node(g), "history", "[{\"when\": 1, \"what\": \"made\"}, {\"when\": 2, \"what\": \"read\"}]"));
    STEP(erase(g, "delta"));
    LAST(ozarr_group_close(g));
}

static void check_tree(int all_new) {
    ozarr_group *g = NULL;
    double u[3] = {-1, -1, -1};
    SURE(ozarr_group_open(at("tree.zarr"), "r", &g));
    for (int i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/u", NAMES[i]);
        SURE(ozarr_group_get(g, path, OZARR_FLOAT64, u, sizeof u));
        if (u[0] != i || u[2] != 2) wrong("%s holds %g", path, u[0]);
    }
    /* An erasure that failed halfway leaves what is below the group, which is no node of it any more. */
    if (all_new && first_failure == OZARR_OK && ozarr_group_get(g, "delta/u", OZARR_FLOAT64, u, sizeof u) != OZARR_ERR_NOT_FOUND) wrong("delta is there");
    ozarr_group_free(g);
}

static void prepare_rename(void) {
    ozarr_group *g = NULL;
    prepare_tree();
    SURE(ozarr_group_open(at("tree.zarr"), "r+", &g));
    SURE(ozarr_group_consolidate(g));
    ozarr_group_free(g);
}

/* A node that a failed call moved is in its new place. */
static ozarr_status move_node(ozarr_group *g, const char *from, const char *to) {
    ozarr_group *moved = NULL;
    ozarr_status status = ozarr_group_rename(g, from, to);
    if (status != OZARR_ERR_NOT_FOUND) return status;
    status = ozarr_group_open_group(g, to, &moved);
    ozarr_group_free(moved);
    return status;
}

static void run_rename(void) {
    ozarr_group *g = NULL;
    STEP(ozarr_group_open(at("tree.zarr"), "r+", &g));
    STEP(move_node(g, "delta", "far/away"));
    LAST(ozarr_group_close(g));
}

static void check_renamed(int all_new) {
    ozarr_group *g = NULL;
    double there[3] = {-1, -1, -1}, here[3] = {-1, -1, -1};
    check_tree(0);
    SURE(ozarr_group_open(at("tree.zarr"), "r", &g));
    const ozarr_status old = ozarr_group_get(g, "delta/u", OZARR_FLOAT64, here, sizeof here);
    const ozarr_status new = ozarr_group_get(g, "far/away/u", OZARR_FLOAT64, there, sizeof there);
    if (old != OZARR_OK && new != OZARR_OK) wrong("the node is nowhere");
    if ((old == OZARR_OK && here[0] != 3) || (new == OZARR_OK && there[0] != 3)) wrong("the node holds %g, %g", here[0], there[0]);
    if (all_new && (old == OZARR_OK || new != OZARR_OK)) wrong("the node is where it was: %d, %d", (int)old, (int)new);
    ozarr_group_free(g);
}

static int unreadable;

static ozarr_status found(void *user, ozarr_fault_kind kind, const char *key, const char *message, int64_t bytes, bool repaired) {
    (void)user, (void)bytes, (void)repaired;
    if (kind != OZARR_FAULT_KIND_UNREADABLE) wrong("a whole store has a fault of kind %d: %s: %s", (int)kind, key, message);
    unreadable++;
    return OZARR_OK;
}

/* Looks for faults where none is. What cannot be read may be told as such, but nothing is left out. */
static ozarr_status verify(ozarr_store *store) {
    ozarr_verified all = OZARR_VERIFIED_INIT;
    unreadable = 0;
    ozarr_status status = ozarr_store_verify(store, "", 0, found, NULL, NULL, &all);
    if (status == OZARR_OK && unreadable == 0 && (all.nodes != 9 || all.chunks != 4 || all.faults != 0))
        wrong("%d nodes, %d chunks, %d faults", (int)all.nodes, (int)all.chunks, (int)all.faults);
    return status;
}

static void run_verify(void) {
    ozarr_store *store = NULL;
    STEP(ozarr_store_open(at("tree.zarr"), "r", &store));
    STEP(verify(store));
    if (trouble[0] == 0 && first_failure != OZARR_OK && unreadable > 0) wrong("done again, %d are unreadable", unreadable);
    ozarr_store_free(store);
}

static void run_copy(void) {
    ozarr_copy_options options = OZARR_COPY_OPTIONS_INIT;
    options.mode = OZARR_CREATE_OVERWRITE;
    STEP(ozarr_copy(at("tree.zarr"), at("copied.zarr"), &options));
}

/* Something else where the copy is to be. */
static void prepare_copy_over(void) {
    ozarr_group *g = NULL;
    static const int64_t three[] = {3};
    static const double numbers[] = {7, 8, 9};
    prepare_tree();
    SURE(ozarr_group_create(at("copied.zarr"), OZARR_CREATE_OVERWRITE, &g));
    SURE(ozarr_group_put(g, "old", OZARR_FLOAT64, 1, three, numbers, sizeof numbers));
    ozarr_group_free(g);
}

/* The old node or the whole copy. */
static void check_copy_over(int all_new) {
    ozarr_store *store = NULL;
    ozarr_group *g = NULL;
    ozarr_node_kind kind = 0;
    double u[3] = {-1, -1, -1};
    SURE(ozarr_store_open(at("copied.zarr"), "r", &store));
    SURE(ozarr_store_node_kind(store, "old", &kind));
    ozarr_store_free(store);
    const bool is_old = kind == OZARR_NODE_KIND_ARRAY;
    SURE(ozarr_group_open(at("copied.zarr"), "r", &g));
    if (is_old && all_new) wrong("the copy left what it replaced");
    for (int i = 0; i < (is_old ? 1 : 4); i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/u", NAMES[i]);
        SURE(ozarr_group_get(g, is_old ? "old" : path, OZARR_FLOAT64, u, sizeof u));
        if (u[0] != (is_old ? 7 : i)) wrong("%s holds %g", is_old ? "the old node" : path, u[0]);
    }
    ozarr_group_free(g);
}

static void check_copy(int all_new) {
    ozarr_group *g = NULL;
    double u[3] = {-1, -1, -1};
    if (!all_new) return;
    SURE(ozarr_group_open(at("copied.zarr"), "r", &g));
    SURE(ozarr_group_get(g, "gamma/u", OZARR_FLOAT64, u, sizeof u));
    if (u[0] != 2) wrong("the copy holds %g", u[0]);
    ozarr_group_free(g);
}


/* An array that holds what was stored beforehand. */
static void check_old(const char *location, int format) {
    ozarr_array *a = NULL;
    int32_t found = 0;
    memset(back, 0xff, sizeof back);
    SURE(ozarr_array_open(location, "r", &a));
    SURE(ozarr_array_read(a, OZARR_FLOAT64, back, sizeof back));
    SURE(ozarr_node_zarr_format(ozarr_array_node(a), &found));
    ozarr_array_free(a);
    for (int i = 0; i < CELLS; i++)
        if (back[i] != value(i, 0)) wrong("%s: element %d is %g", location, i, back[i]);
    if (format && found != format) wrong("%s has the format %d", location, found);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void remove_folder(const char *path) {
    if (access(path, F_OK) == 0 && nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS)) wrong("prepare: remove %s", path);
}

static void prepare_migrate(void) {
    remove_folder("array.zarr");
    remove_folder("migrated.zarr");
    prepare_array();
}

/* Another migration to a hierarchy that is whole, and one of what has no old documents any more, are errors. */
static void run_migrate(void) {
    /* The last thing that goes is the key that says that it is not whole. */
    if (access("migrated.zarr/zarr.json", F_OK) == 0 && access("migrated.zarr/ozarr-migration.json", F_OK)) return;
    STEP(ozarr_migrate("array.zarr", "migrated.zarr", 0, NULL, NULL));
}

static void run_migrate_in_place(void) {
    if (access("array.zarr/.zgroup", F_OK) && access("array.zarr/a/.zarray", F_OK)) return;
    STEP(ozarr_migrate("array.zarr", NULL, OZARR_MIGRATE_IN_PLACE, NULL, NULL));
}

static void check_migrated(int all_new) {
    check_old("array.zarr/a", 2);
    if (all_new) check_old("migrated.zarr/a", 3);
}

static void check_in_place(int all_new) { check_old("array.zarr/a", all_new ? 3 : 0); }

/* A variable that a failed call created is there: a definition is more than one document. */
static ozarr_status made(ozarr_status status) { return first_failure != OZARR_OK && status == OZARR_ERR_EXISTS ? OZARR_OK : status; }

static const int64_t ROW[] = {1, COLUMNS};

/* Each step that is there is whole: step i is the row of `data` from i on. Where a place is taken first, its chunks may be empty. Gives their number. */
static int64_t check_steps(ozarr_array *t, int may_be_empty) {
    static const double empty[CHUNK_COLUMNS];
    double row[COLUMNS];
    int64_t steps[] = {0, 0};
    fill(1);
    SURE(ozarr_array_shape(t, steps));
    for (int64_t i = 0; i < steps[0]; i++) {
        const int64_t start[] = {i, 0};
        SURE(ozarr_array_read_region(t, start, ROW, OZARR_FLOAT64, row, sizeof row));
        for (int k = 0; k < COLUMNS; k += CHUNK_COLUMNS)
            if (memcmp(row + k, data + i + k, sizeof empty) && !(may_be_empty && memcmp(row + k, empty, sizeof empty) == 0)) wrong("step %d is another", (int)i);
    }
    return steps[0];
}

/* Ends step i of a series. A step that failed while it was published is there all the same. */
static void end_step(ozarr_series *steps, int64_t i) {
    int64_t position = 0;
    ozarr_status status = trouble[0] ? OZARR_OK : ozarr_series_step(steps, 10.0 * (double)i, 0, NULL, NULL);
    if (status == OZARR_OK) return;
    note(status, 1);
    SURE(ozarr_series_position(steps, &position, NULL));
    if (position == i && (status = ozarr_series_step(steps, 10.0 * (double)i, 0, NULL, NULL)) != OZARR_OK && !sticky) wrong("the step again: %s", ozarr_last_error());
}

/* A run: a dataset with a series of 4 steps. */
static void run_series(void) {
    ozarr_dataset *run = NULL;
    ozarr_series *steps = NULL;
    static const char *const dimensions[] = {"time", "x"};
    fill(1);
    STEP(ozarr_dataset_create(at("series.zarr"), 0, OZARR_CREATE_OVERWRITE, &run));
    STEP(ozarr_dataset_define_dimension(run, "x", COLUMNS));
    STEP(made(ozarr_dataset_define_time(run, "time", 0, 2, "seconds since 2026-01-01", NULL, NULL)));
    STEP(made(ozarr_dataset_define_variable(run, "t", OZARR_FLOAT64, 2, dimensions, NULL)));
    STEP(ozarr_series_open(run, "time", -1, 2, 0, &steps));
    for (int i = 0; i < 4; i++) {
        STEP(ozarr_series_put(steps, "t", OZARR_FLOAT64, data + i, COLUMNS * 8));
        end_step(steps, i);
    }
    STEP(ozarr_series_flush(steps));
    LAST(ozarr_series_close(steps));
    LAST(ozarr_dataset_close(run));
}

static void check_series(int all_new) {
    ozarr_array *t = NULL;
    /* What is published is whole, however many steps it has. */
    if (!all_new && ozarr_array_open(at("series.zarr/t"), "r", &t) != OZARR_OK) return;
    if (all_new) SURE(ozarr_array_open(at("series.zarr/t"), "r", &t));
    int64_t steps = check_steps(t, 0);
    if (all_new && steps != 4) wrong("%d steps", (int)steps);
    ozarr_array_free(t);
}

static void put_checkpoint(const char *name, int generation) {
    ozarr_group *g = NULL;
    fill(generation);
    STEP(ozarr_checkpoint_begin(at("checkpoints.zarr"), name, &g));
    STEP(ozarr_attr_set_int64(ozarr_group_node(g), "step", generation));
    ozarr_status status = ozarr_group_put(g, "u", OZARR_FLOAT64, 2, SHAPE, data, sizeof data);
    if (status != OZARR_OK) {
        note(status, 0);
        LAST(ozarr_checkpoint_abandon(g));
        return;
    }
    LAST(ozarr_checkpoint_commit(g));
}

static void prepare_checkpoint(void) {
    put_checkpoint("base", 0);
    SURE(ozarr_checkpoint_prune(at("checkpoints.zarr"), 1));
}

static void run_checkpoint(void) { put_checkpoint("next", 1); }

static void check_checkpoint(int all_new) {
    ozarr_group *g = NULL;
    int64_t step = -1;
    SURE(ozarr_checkpoint_latest(at("checkpoints.zarr"), &g));
    SURE(ozarr_attr_get_int64(ozarr_group_node(g), "step", &step));
    SURE(ozarr_group_get(g, "u", OZARR_FLOAT64, back, sizeof back));
    ozarr_group_free(g);
    check_values(back, step == 1, "checkpoint");
    if (step != 0 && step != 1) wrong("step %d", (int)step);
    if (all_new && step != 1) wrong("the new checkpoint is not there");
}

enum { FIRST_STEPS = 3, LAST_STEPS = 9, SAVE_EVERY = 3 };

/* A checkpoint of a run: its state and its step, in the place of an older one of the same name; others are removed. */
static ozarr_status save(int64_t step) {
    ozarr_group *g = NULL;
    static const int64_t width[] = {COLUMNS};
    ozarr_status status = ozarr_checkpoint_begin(at("points.zarr"), step / SAVE_EVERY % 2 ? "odd" : "even", &g);
    if (status != OZARR_OK) return status;
    status = ozarr_attr_set_int64(ozarr_group_node(g), "step", step);
    if (status == OZARR_OK) status = ozarr_group_put(g, "u", OZARR_FLOAT64, 1, width, data + step, COLUMNS * 8);
    if (status != OZARR_OK) {
        note(status, 1);
        LAST(ozarr_checkpoint_abandon(g));
        return status;
    }
    status = ozarr_checkpoint_commit(g);
    return status == OZARR_OK ? ozarr_checkpoint_prune(at("points.zarr"), 1) : status;
}

/* Gets the state and the step of the newest checkpoint. */
static int64_t restore(double *u) {
    ozarr_group *g = NULL;
    int64_t step = -1;
    STEP(ozarr_checkpoint_latest(at("points.zarr"), &g));
    STEP(ozarr_attr_get_int64(ozarr_group_node(g), "step", &step));
    STEP(ozarr_group_get(g, "u", OZARR_FLOAT64, u, COLUMNS * 8));
    ozarr_group_free(g);
    return step;
}

/* Goes on with a run from its newest checkpoint: steps of a series, and a checkpoint after each third. */
static void run_on(ozarr_dataset *run, int64_t step, int64_t until) {
    ozarr_series *steps = NULL;
    STEP(ozarr_series_open(run, "time", step, 2, 0, &steps));
    while (step < until && trouble[0] == 0 && !sticky) {
        STEP(ozarr_series_put(steps, "t", OZARR_FLOAT64, data + step, COLUMNS * 8));
        STEP(ozarr_series_put(steps, "energy", OZARR_FLOAT64, data + step, 8));
        end_step(steps, step);
        if (++step % SAVE_EVERY || sticky) continue;
        STEP(ozarr_series_flush(steps));
        /* A checkpoint of steps that may be lost would be ahead of them. */
        if (!sticky) STEP(save(step));
    }
    LAST(ozarr_series_close(steps));
    LAST(ozarr_dataset_close(run));
}

static void prepare_run(void) {
    ozarr_dataset *run = NULL;
    static const char *const dimensions[] = {"time", "x"};
    fill(1);
    /* What could not be removed of older checkpoints goes with a later process only. */
    remove_folder("points.zarr");
    SURE(ozarr_dataset_create(at("run.zarr"), 0, OZARR_CREATE_OVERWRITE, &run));
    SURE(ozarr_dataset_define_dimension(run, "x", COLUMNS));
    SURE(ozarr_dataset_define_time(run, "time", 0, 2, "seconds since 2026-01-01", NULL, NULL));
    SURE(ozarr_dataset_define_variable(run, "t", OZARR_FLOAT64, 2, dimensions, NULL));
    SURE(ozarr_dataset_define_variable(run, "energy", OZARR_FLOAT64, 1, dimensions, NULL));
    run_on(run, 0, FIRST_STEPS);
    if (first_failure) wrong("prepare: %s", first_text);
}

/* Goes on with a run, and reads its numbers back once it is closed. */
static void run_run(void) {
    ozarr_dataset *run = NULL;
    ozarr_array *a = NULL;
    double u[COLUMNS], energy[LAST_STEPS] = {0};
    fill(1);
    int64_t step = restore(u);
    /* What was killed may have begun to remove older ones. */
    STEP(ozarr_checkpoint_prune(at("points.zarr"), 1));
    STEP(ozarr_dataset_open(at("run.zarr"), "r+", &run));
    run_on(run, step, LAST_STEPS);
    STEP(ozarr_array_open(at("run.zarr/energy"), "r", &a));
    STEP(ozarr_array_read(a, OZARR_FLOAT64, energy, sizeof energy));
    ozarr_array_free(a);
    if (trouble[0] == 0 && !sticky && memcmp(energy, data, sizeof energy)) wrong("what is read back is another");
}

/* Steps and the newest checkpoint are whole, and there are not fewer steps than the checkpoint has. */
static void check_run(int all_new) {
    ozarr_array *t = NULL;
    double u[COLUMNS], energy[LAST_STEPS] = {0};
    int64_t numbers = 0;
    SURE(ozarr_array_open(at("run.zarr/t"), "r", &t));
    int64_t steps = check_steps(t, 0), step = restore(u);
    ozarr_array_free(t);
    SURE(ozarr_array_open(at("run.zarr/energy"), "r", &t));
    SURE(ozarr_array_shape(t, &numbers));
    if (numbers < step || numbers > LAST_STEPS) wrong("numbers of %d steps, the checkpoint of step %d", (int)numbers, (int)step), numbers = 0;
    SURE(ozarr_array_read_region(t, ORIGIN, &numbers, OZARR_FLOAT64, energy, (size_t)numbers * sizeof *energy));
    ozarr_array_free(t);
    if (memcmp(energy, data, (size_t)numbers * sizeof *energy)) wrong("the numbers of %d steps are others", (int)numbers);
    if (step < FIRST_STEPS || step > LAST_STEPS || memcmp(u, data + step, sizeof u)) wrong("the checkpoint of step %d is another", (int)step);
    if (steps < step || (all_new && (steps != LAST_STEPS || step != LAST_STEPS))) wrong("%d steps, the checkpoint of step %d", (int)steps, (int)step);
}

static void prepare_append(void) {
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    static const int64_t shape[] = {FIRST_STEPS, COLUMNS}, chunks[] = {2, CHUNK_COLUMNS};
    fill(1);
    SURE(ozarr_spec_new(OZARR_FLOAT64, 2, shape, &spec));
    SURE(ozarr_spec_set_chunks(spec, chunks));
    SURE(ozarr_array_create_ex(at("append.zarr"), spec, OZARR_CREATE_OVERWRITE, &a));
    for (int64_t i = 0; i < FIRST_STEPS; i++) {
        const int64_t start[] = {i, 0};
        SURE(ozarr_array_write_region(a, start, ROW, OZARR_FLOAT64, data + i, COLUMNS * 8));
    }
    SURE(ozarr_array_close(a));
    ozarr_spec_free(spec);
}

/* Appends step i by a call of its own, or by an appender. Where a failed call left the array longer, its step is written there. */
static void append(ozarr_array *a, ozarr_appender *out, int64_t i) {
    for (int again = 0; again < 2 && trouble[0] == 0; again++) {
        int64_t length[] = {i, 0};
        ozarr_status status = out ? ozarr_appender_append(out, 1, OZARR_FLOAT64, data + i, COLUMNS * 8)
                                  : ozarr_array_append(a, 0, 1, OZARR_FLOAT64, data + i, COLUMNS * 8);
        if (status == OZARR_OK) return;
        if (again && !sticky) wrong("step %d again: %s", (int)i, ozarr_last_error());
        note(status, 1);
        look(0);
        if (out) SURE(ozarr_appender_position(out, length, NULL));
        else {
            SURE(ozarr_node_refresh(ozarr_array_node(a), NULL, 0));
            SURE(ozarr_array_shape(a, length));
        }
        if (length[0] == i) continue;
        if (out == NULL) STEP(ozarr_array_write_region(a, (const int64_t[]){i, 0}, ROW, OZARR_FLOAT64, data + i, COLUMNS * 8));
        return;
    }
}

/* Goes on behind the last step: two steps by calls of their own, then an appender. */
static void run_append(void) {
    ozarr_array *a = NULL;
    ozarr_appender *out = NULL;
    int64_t step[] = {0, 0};
    fill(1);
    STEP(ozarr_array_open(at("append.zarr"), "r+", &a));
    STEP(ozarr_array_shape(a, step));
    for (; step[0] < FIRST_STEPS + 2; step[0]++) append(a, NULL, step[0]);
    STEP(ozarr_appender_open(a, 0, 0, 0, &out));
    for (; step[0] < LAST_STEPS; step[0]++) append(a, out, step[0]);
    STEP(ozarr_appender_flush(out));
    LAST(ozarr_appender_close(out));
    LAST(ozarr_array_close(a));
}

static void check_append(int all_new) {
    ozarr_array *a = NULL;
    SURE(ozarr_array_open(at("append.zarr"), "r", &a));
    /* On object stores an append takes its place before it stores its step. */
    int64_t steps = check_steps(a, root[0] && !all_new);
    ozarr_array_free(a);
    if (steps < FIRST_STEPS || (all_new && steps != LAST_STEPS)) wrong("%d steps", (int)steps);
}

/* Two uncompressed chunks of two records each, which are long enough to wait in the files of their chunks. */
enum { RECORD = CELLS / 2, RECORDS = 4 };

static const int64_t ONE_RECORD[] = {1, RECORD}, TWO_RECORDS[] = {2, RECORD};

static void prepare_records(void) {
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    static const int64_t shape[] = {RECORDS, RECORD};
    fill(0);
    SURE(ozarr_spec_new(OZARR_FLOAT64, 2, shape, &spec));
    SURE(ozarr_spec_set_chunks(spec, TWO_RECORDS));
    SURE(ozarr_spec_set_compressor(spec, "none", -1));
    SURE(ozarr_array_create_ex(at("records.zarr"), spec, OZARR_CREATE_OVERWRITE, &a));
    for (int64_t i = 0; i < RECORDS; i += 2) SURE(ozarr_array_write_region(a, (const int64_t[]){i, 0}, TWO_RECORDS, OZARR_FLOAT64, data, sizeof data));
    SURE(ozarr_array_close(a));
    ozarr_spec_free(spec);
}

/* Writes record after record through memory for parts of chunks. */
static void run_records(void) {
    ozarr_array *a = NULL;
    fill(1);
    STEP(ozarr_array_open(at("records.zarr"), "r+", &a));
    STEP(ozarr_node_set(ozarr_array_node(a), "write_back", "1048576"));
    for (int64_t i = 0; i < RECORDS; i++) {
        const int64_t start[] = {i, 0};
        STEP(ozarr_array_write_region(a, start, ONE_RECORD, OZARR_FLOAT64, data + i % 2 * RECORD, RECORD * sizeof *data));
    }
    STEP(ozarr_node_flush(ozarr_array_node(a)));
    LAST(ozarr_array_close(a));
}

static void check_records(int all_new) {
    ozarr_array *a = NULL;
    SURE(ozarr_array_open(at("records.zarr"), "r", &a));
    for (int64_t i = 0; i < RECORDS; i += 2) {
        memset(back, 0xff, sizeof back);
        SURE(ozarr_array_read_region(a, (const int64_t[]){i, 0}, TWO_RECORDS, OZARR_FLOAT64, back, sizeof back));
        check_values(back, all_new, "records");
        if ((back[0] == value(0, 0)) != (back[CELLS - 1] == value(CELLS - 1, 0))) wrong("records %d and %d: one is old, one new", (int)i, (int)i + 1);
    }
    ozarr_array_free(a);
}

static void run_strings(void) {
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    ozarr_varlen *texts = NULL;
    const char *bytes = NULL;
    size_t len = 0;
    static const int64_t four[] = {4};
    STEP(ozarr_spec_new(OZARR_STRING, 1, four, &spec));
    STEP(ozarr_array_create_ex(at("strings.zarr"), spec, OZARR_CREATE_OVERWRITE, &a));
    STEP(ozarr_array_write_strings(a, NULL, NAMES));
    STEP(ozarr_array_read_varlen(a, NULL, &texts));
    STEP(ozarr_varlen_get(texts, 3, &bytes, &len));
    if (trouble[0] == 0 && (len != 5 || memcmp(bytes, "delta", 5))) wrong("element 3 is %.*s", (int)len, bytes);
    ozarr_varlen_free(texts);
    LAST(ozarr_array_close(a));
    ozarr_spec_free(spec);
}

#define CODEC(codec, number) \
    {"write " codec, prepare_array, run_write, check_array, codec, 0, 0, "array.zarr/a", number}, \
    {"read " codec, prepare_array, run_read, check_read, codec, 0, 0, "array.zarr/a", number + 1}

static const workload workloads[] = {
    {"create", prepare_array, run_create, check_created, "zstd", 0, 0, "array.zarr/a", 0},
    {"create v2", prepare_array, run_create, check_created, "lz4", 2, 0, "array.zarr/a", 1},
    {"publish", prepare_new, run_new, check_new, "zstd", 0, 0, "new.zarr/a", 52},
    CODEC("none", 2), CODEC("zstd", 4), CODEC("gzip", 6), CODEC("zlib", 8), CODEC("bz2", 10), CODEC("lzma", 12), CODEC("lz4", 14),
    CODEC("blosc:lz4", 16), CODEC("blosc:lz4hc", 18), CODEC("blosc:blosclz", 20), CODEC("blosc:zlib", 22), CODEC("blosc:zstd", 24),
    CODEC("pcodec", 26), CODEC("zfp", 28),
    {"write shards", prepare_array, run_write, check_array, "zstd", 0, 1, "array.zarr/a", 30},
    {"read shards", prepare_array, run_read, check_read, "zstd", 0, 1, "array.zarr/a", 31},
    {"update", prepare_array, run_update, check_updated, "zstd", 0, 0, "array.zarr/a", 32},
    {"update shards", prepare_array, run_update, check_updated, "gzip", 0, 1, "array.zarr/a", 33},
    {"rewrite", prepare_array, run_rewrite, check_rewritten, "zstd", 0, 0, "array.zarr/a", 57},
    {"resize", prepare_array, run_resize, check_resized, "zstd", 0, 0, "array.zarr/a", 54},
    {"resize shards", prepare_array, run_resize, check_resized, "zstd", 0, 1, "array.zarr/a", 55},
    {"rename", prepare_rename, run_rename, check_renamed, "", 0, 0, "", 56},
    {"request", prepare_array, run_request, check_array, "zstd", 0, 0, "array.zarr/a", 34},
    {"zip create", prepare_none, run_zip, check_created, "zstd", 0, 0, "array.zip/a", 35},
    {"zip write", prepare_array, run_write, check_array, "zstd", 0, 0, "array.zip/a", 36},
    {"zip read", prepare_array, run_read, check_read, "zstd", 0, 0, "array.zip/a", 37},
    {"attributes", prepare_attrs, run_attrs, check_attrs, "", 0, 0, "", 38},
    {"long attributes", prepare_long, run_long, check_long, "", 0, 0, "", 59},
    {"list", prepare_tree, run_list, check_read, "", 0, 0, "", 39},
    {"consolidate", prepare_tree, run_consolidate, check_tree, "", 0, 0, "", 40},
    {"verify", prepare_tree, run_verify, check_read, "", 0, 0, "", 48},
    {"copy", prepare_tree, run_copy, check_copy, "", 0, 0, "", 41},
    {"copy over", prepare_copy_over, run_copy, check_copy_over, "", 0, 0, "", 53},
    {"migrate", prepare_migrate, run_migrate, check_migrated, "gzip", 2, 0, "array.zarr/a", 45},
    {"migrate in place", prepare_migrate, run_migrate_in_place, check_in_place, "zlib", 2, 0, "array.zarr/a", 46},
    {"series", prepare_none, run_series, check_series, "", 0, 0, "", 42},
    {"checkpoint", prepare_checkpoint, run_checkpoint, check_checkpoint, "", 0, 0, "", 43},
    {"append", prepare_append, run_append, check_append, "", 0, 0, "", 49},
    {"run", prepare_run, run_run, check_run, "", 0, 0, "", 50},
    {"records", prepare_records, run_records, check_records, "", 0, 0, "", 51},
    {"analysis", prepare_analysis, run_analysis, check_read, "zstd", 0, 1, "array.zarr/a", 47},
    {"strings", prepare_none, run_strings, check_read, "", 0, 0, "", 44},
    {0},
};

static const workload *find_workload(const char *name) {
    const workload *w = workloads;
    while (w->name && strcmp(w->name, name)) w++;
    return w->name ? w : NULL;
}

#endif
