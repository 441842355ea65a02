/* Uses the library over and over: memory in use, open files and threads stay as they are.
 *
 *   cycles FOLDER NUMBER     so many cycles, in turn of each kind; the last line has what grew, the exit status is 0 if nothing did
 *
 * A tenth of them goes first, in which the library fills what it keeps. */
#define _GNU_SOURCE
#include <dirent.h>
#include <malloc.h>
#include <ozarr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 8, COLUMNS = 64, CELLS = ROWS * COLUMNS };

static const int64_t SHAPE[] = {ROWS, COLUMNS}, CHUNKS[] = {4, 32}, ORIGIN[] = {0, 0};
static double data[CELLS], back[CELLS];
static ozarr_store *store;

static void sure(ozarr_status status, const char *call) {
    if (status == OZARR_OK) return;
    fprintf(stderr, "%s: %s: %s\n", call, ozarr_status_name(status), ozarr_last_error());
    exit(1);
}
#define SURE(call) sure(call, #call)

static ozarr_array *opened(void) {
    ozarr_array *a = NULL;
    SURE(ozarr_array_open_at(store, "a", &a));
    return a;
}

static ozarr_array *created(const char *path) {
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    SURE(ozarr_spec_new(OZARR_FLOAT64, 2, SHAPE, &spec));
    SURE(ozarr_spec_set_chunks(spec, CHUNKS));
    SURE(ozarr_spec_set_compressor(spec, "zstd", -1));
    SURE(ozarr_array_create_at(store, path, spec, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(spec);
    SURE(ozarr_array_write(a, OZARR_FLOAT64, data, sizeof data));
    return a;
}

static void create(void) { SURE(ozarr_array_close(created("a"))); }

static void create_and_remove(void) {
    ozarr_array_free(created("b/c"));
    SURE(ozarr_store_node_erase(store, "b"));
}

static void write_and_read(void) {
    ozarr_array *a = opened();
    SURE(ozarr_array_write_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, data, sizeof data));
    SURE(ozarr_array_read_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, back, sizeof back));
    if (memcmp(data, back, sizeof data)) fprintf(stderr, "other elements\n"), exit(1);
    SURE(ozarr_array_close(a));
}

static void request(void) {
    ozarr_array *a = opened();
    ozarr_request *r = NULL;
    SURE(ozarr_array_iread_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, back, sizeof back, &r));
    SURE(ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    ozarr_array_free(a);
}

/* Requests that are cancelled, or forgotten, at whatever point they have come to. */
static void cancel(void) {
    ozarr_array *a = opened();
    ozarr_request *r[3] = {NULL};
    SURE(ozarr_array_iread_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, back, sizeof back, &r[0]));
    SURE(ozarr_request_cancel(r[0]));
    SURE(ozarr_array_iwrite_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, data, sizeof data, OZARR_REQUEST_COPY, &r[1]));
    SURE(ozarr_request_cancel(r[1]));
    SURE(ozarr_array_iread_region(a, ORIGIN, SHAPE, OZARR_FLOAT64, back, sizeof back, &r[2]));
    for (int i = 0; i < 3; i++) ozarr_request_free(r[i]);
    SURE(ozarr_array_close(a));
}

/* Handles of each kind that are made and closed. */
static void handles(void) {
    ozarr_array *a = opened();
    ozarr_context *context = NULL;
    ozarr_store *other = NULL;
    ozarr_group *g = NULL;
    ozarr_node_iter *nodes = NULL;
    bool more = false;
    SURE(ozarr_context_new(&context));
    SURE(ozarr_context_set(context, "threads", "2"));
    SURE(ozarr_store_open_ex(context, "memory:handles.zarr", "r+", NULL, &other));
    ozarr_context_free(context);
    SURE(ozarr_group_create_at(other, "", 0, OZARR_CREATE_OVERWRITE, &g));
    SURE(ozarr_group_list_nodes(g, NULL, -1, &nodes));
    SURE(ozarr_node_iter_next(nodes, &more));
    ozarr_node_iter_free(nodes);
    ozarr_group_free(g);
    SURE(ozarr_store_close(other));
    ozarr_array_free(a);
}

static void attributes(void) {
    ozarr_array *a = opened();
    static int64_t n;
    int64_t found = 0;
    SURE(ozarr_attr_set_int64(ozarr_array_node(a), "n", ++n));
    SURE(ozarr_attr_get_int64(ozarr_array_node(a), "n", &found));
    if (found != n) fprintf(stderr, "another attribute\n"), exit(1);
    SURE(ozarr_array_close(a));
}

static void errors(void) {
    ozarr_array *a = NULL;
    const int64_t outside[] = {ROWS, 0};
    if (ozarr_array_open("/nonexistent/a.zarr", "r", &a) == OZARR_OK || ozarr_last_error()[0] == 0) fprintf(stderr, "no error\n"), exit(1);
    a = opened();
    if (ozarr_array_read_region(a, outside, SHAPE, OZARR_FLOAT64, back, sizeof back) != OZARR_ERR_BOUNDS) fprintf(stderr, "no error\n"), exit(1);
    ozarr_array_free(a);
}

static void (*const KINDS[])(void) = {write_and_read, request, cancel, attributes, errors, handles, create_and_remove, create};

static int entries(const char *folder) {
    DIR *d = opendir(folder);
    int n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

static void cycle(long from, long to) {
    for (long i = from; i < to; i++) KINDS[i % (long)(sizeof KINDS / sizeof *KINDS)]();
}

/* The bytes in use, when no thread of the library holds any for a request that was given up. */
static size_t in_use(void) {
    SURE(ozarr_store_flush(store));
    SURE(ozarr_shutdown());
    const struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

/* Whether nothing grows in `all` cycles on the store. */
static int stays(const char *name, long all) {
    const long first = all / 10;
    create();
    cycle(0, first);
    const size_t memory = in_use();
    const int files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    cycle(first, all);
    const long more = (long)(in_use() - memory);
    const int more_files = entries("/proc/self/fd") - files, more_threads = entries("/proc/self/task") - threads;
    const int is_flat = more < 256 << 10 && more_files == 0 && more_threads <= 0;
    printf("%-7s %ld cycles: %ld bytes, %d files, %d threads more%s\n", name, all, more, more_files, more_threads, is_flat ? "" : ": IT GROWS");
    SURE(ozarr_store_close(store));
    return is_flat;
}

int main(int argc, char **argv) {
    if (argc != 3 || chdir(argv[1])) return fprintf(stderr, "usage: cycles FOLDER NUMBER\n"), 2;
    static const char *const options[] = {"file.sync", "none", NULL};
    const long all = atol(argv[2]) / 2;
    for (int i = 0; i < CELLS; i++) data[i] = i * 0.5;
    SURE(ozarr_store_memory(&store));
    int flat = stays("memory", all);
    SURE(ozarr_store_open_ex(NULL, "cycles.zarr", "r+", options, &store));
    flat += stays("files", all);
    printf("%d passed, %d failed\n", flat, 2 - flat);
    return flat != 2;
}
