/* The workloads of limit.c through the C ABI: opening or creating the array is inside the timed part. */
#include "bench.h"
#include <ozarr.h>

static void check(ozarr_status s, const char *what) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "ozarr_bench: %s: %s\n", what, ozarr_last_error());
    exit(1);
}

static void set_codec(ozarr_spec *spec, enum codec codec) {
    static const char *const json[] = {
        "[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}]",
        "[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"zstd\", \"configuration\": {\"level\": 3, \"checksum\": false}}]",
        "[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"blosc\", \"configuration\": "
        "{\"typesize\": 4, \"cname\": \"lz4\", \"clevel\": 5, \"shuffle\": \"shuffle\", \"blocksize\": 0}}]",
        "[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"gzip\", \"configuration\": {\"level\": 5}}]",
    };
    check(ozarr_spec_set_codecs_json(spec, json[codec]), "codecs");
}

static void operate(const workload *w, const ozarr_context *context, const char *path) {
    static const char *const options[] = {"file.sync", "none", NULL};
    ozarr_store *store = NULL;
    ozarr_array *a = NULL;
    int reading = !strcmp(w->op, "read");
    check(ozarr_store_open_ex(context, path, reading ? "r" : "r+", options, &store), path);
    if (reading) {
        check(ozarr_array_open_at(store, "", &a), "opening");
        check(ozarr_array_read(a, OZARR_FLOAT32, w->data, w->bytes), "reading");
    } else {
        ozarr_spec *spec = NULL;
        check(ozarr_spec_new(OZARR_FLOAT32, 3, w->shape, &spec), "spec");
        check(ozarr_spec_set_chunks(spec, w->chunk), "chunks");
        set_codec(spec, w->codec);
        check(ozarr_array_create_at(store, "", spec, OZARR_NEW, &a), "creating");
        check(ozarr_array_write(a, OZARR_FLOAT32, w->data, w->bytes), "writing");
        ozarr_spec_free(spec);
    }
    check(ozarr_array_close(a), "closing");
    check(ozarr_store_close(store), "closing");
}

int main(int argc, char **argv) {
    workload w;
    char text[4096];
    ozarr_context *context = NULL;
    parse(&w, argc, argv);
    check(ozarr_context_new(&context), "context");
    snprintf(text, sizeof text, "%d", w.threads);
    check(ozarr_context_set(context, "threads", text), "threads");
    for (int i = 0; i < w.times && strcmp(w.op, "noop"); i++) {
        if (!strcmp(w.op, "write")) snprintf(text, sizeof text, "%s-%d", w.store, i);
        else snprintf(text, sizeof text, "%s", w.store);
        clock_start();
        operate(&w, context, text);
        clock_stop(i);
    }
    ozarr_context_free(context);
    report(&w);
    return 0;
}
