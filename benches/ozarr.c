/* ozarr through its C ABI, as an adapter of the benchmark (bench.h). Opening or creating the array is inside the timed part. */
#include "bench.h"
#include <ozarr_advanced.h>

/* A failed call ends the operation; what was open until then is left to the end of the process. */
#define TRY(call)                                       \
    do {                                                \
        if ((call) != OZARR_OK) return ozarr_last_error(); \
    } while (0)

static ozarr_context *context;

static const char *make_context(const request *r) {
    char text[256], *value;
    if (context) return NULL;
    TRY(ozarr_context_new(&context));
    snprintf(text, sizeof text, "%d", r->threads);
    TRY(ozarr_context_set(context, "threads", text));
    if (!r->settings) return NULL;
    snprintf(text, sizeof text, "%s", r->settings);
    if (!(value = strchr(text, ':'))) return "a setting without :";
    *value++ = 0;
    TRY(ozarr_context_set(context, text, value));
    return NULL;
}

static const char *open_store(const request *r, const char *mode, ozarr_store **out) {
    const char *const options[] = {"file.sync", r->sync, NULL};
    TRY(ozarr_store_open_ex(context, r->path, mode, options, out));
    return NULL;
}

/* One region (NULL: the whole) to or from `data`. */
static const char *move(const request *r, const ozarr_array *a, const region *q, char *data, bool writing) {
    ozarr_region where = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    if (q->step[0] * q->step[1] * q->step[2] == 1 && !r->fortran && !r->f64) {
        size_t bytes = (size_t)(q->count[0] * q->count[1] * q->count[2]) * 4;
        if (writing) TRY(ozarr_array_write_region(a, q->start, q->count, OZARR_FLOAT32, data, bytes));
        else TRY(ozarr_array_read_region(a, q->start, q->count, OZARR_FLOAT32, data, bytes));
        return NULL;
    }
    where.start = q->start, where.shape = q->count, where.step = q->step;
    memory.data = data, memory.size = (size_t)(q->count[0] * q->count[1] * q->count[2]) * (r->f64 ? 8 : 4);
    memory.type = r->f64 ? OZARR_FLOAT64 : OZARR_FLOAT32;
    memory.order = r->fortran ? OZARR_ORDER_F : OZARR_ORDER_C;
    TRY(ozarr_array_read_ex(a, &where, &memory));
    return NULL;
}

static const char *regions(const request *r, bool writing) {
    const char *wrong;
    ozarr_store *store = NULL;
    ozarr_array *a = NULL;
    char *data = r->data;
    if ((wrong = open_store(r, writing ? "r+" : "r", &store))) return wrong;
    TRY(ozarr_array_open_at(store, "", &a));
    for (size_t i = 0; i < r->count; i++) {
        const region *q = &r->regions[i];
        if (r->reopen && i) {
            TRY(ozarr_array_close(a));
            TRY(ozarr_array_open_at(store, "", &a));
        }
        if ((wrong = move(r, a, q, data, writing))) return wrong;
        data += (size_t)(q->count[0] * q->count[1] * q->count[2]) * (r->f64 ? 8 : 4);
    }
    TRY(ozarr_array_close(a));
    TRY(ozarr_store_close(store));
    return NULL;
}

static const char *create(const request *r, ozarr_store **store, ozarr_array **a, bool empty) {
    const char *wrong;
    ozarr_spec *spec = NULL;
    int64_t none[3] = {0, r->shape[1], r->shape[2]};
    if ((wrong = open_store(r, "r+", store))) return wrong;
    TRY(ozarr_spec_from_json(r->meta, &spec));
    if (empty) TRY(ozarr_spec_set_shape(spec, none));
    TRY(ozarr_array_create_at(*store, "", spec, OZARR_CREATE_NEW, a));
    ozarr_spec_free(spec);
    return NULL;
}

static const char *write_whole(const request *r) {
    const char *wrong;
    ozarr_store *store = NULL;
    ozarr_array *a = NULL;
    if ((wrong = create(r, &store, &a, false))) return wrong;
    TRY(ozarr_array_write(a, OZARR_FLOAT32, r->data, r->bytes));
    TRY(ozarr_array_close(a));
    TRY(ozarr_store_close(store));
    return NULL;
}

static const char *append(const request *r) {
    const char *wrong;
    ozarr_store *store = NULL;
    ozarr_array *a = NULL;
    size_t step = (size_t)(r->shape[1] * r->shape[2]) * 4;
    if ((wrong = create(r, &store, &a, true))) return wrong;
    ozarr_appender *steps = NULL;
    TRY(ozarr_appender_open(a, 0, 0, 0, &steps));
    for (int64_t t = 0; t < r->shape[0]; t++) TRY(ozarr_appender_append(steps, 1, OZARR_FLOAT32, r->data + (size_t)t * step, step));
    TRY(ozarr_appender_close(steps));
    TRY(ozarr_array_close(a));
    TRY(ozarr_store_close(store));
    return NULL;
}

static const char *nodes(const request *r) {
    const char *wrong;
    char name[300];
    ozarr_store *store = NULL;
    ozarr_group *group = NULL;
    ozarr_node_iter *children = NULL;
    ozarr_array *a = NULL;
    int32_t rank;
    bool more;
    if ((wrong = open_store(r, "r", &store))) return wrong;
    for (int i = 0; i < r->repeat && !strcmp(r->op, "open"); i++) {
        TRY(ozarr_array_open_at(store, "", &a));
        TRY(ozarr_array_rank(a, &rank));
        ozarr_array_free(a);
    }
    if (strcmp(r->op, "open")) {
        TRY(ozarr_group_open_at(store, "", &group));
        TRY(ozarr_group_list_nodes(group, NULL, 1, &children));
        for (;;) {
            TRY(ozarr_node_iter_next(children, &more));
            if (!more) break;
            TRY(ozarr_node_iter_name(children, name, sizeof name, NULL));
            if (strcmp(r->op, "opens")) continue;
            TRY(ozarr_group_open_array(group, name, &a));
            TRY(ozarr_array_rank(a, &rank));
            ozarr_array_free(a);
        }
        ozarr_node_iter_free(children);
        ozarr_group_free(group);
    }
    TRY(ozarr_store_close(store));
    return NULL;
}

const char *perform(const request *r) {
    const char *wrong = make_context(r);
    if (wrong) return wrong;
    if (!strcmp(r->op, "read")) return regions(r, false);
    if (!strcmp(r->op, "update")) return regions(r, true);
    if (!strcmp(r->op, "write")) return write_whole(r);
    if (!strcmp(r->op, "append")) return append(r);
    if (!strcmp(r->op, "open") || !strcmp(r->op, "opens") || !strcmp(r->op, "list")) return nodes(r);
    return strcmp(r->op, "noop") ? "unsupported operation" : NULL;
}
