/* Random programs that end in the middle: they create, write, resize, append to, rename, copy and erase arrays of one hierarchy, and write the steps
 * of a run, until the process ends before a random file call. What is stored then is what was there before the call of the library in which it ended, or
 * what is there after it, for readers of the documents and of consolidated metadata; the next process goes on from there, and ends, too. In one of three
 * programs file calls fail instead, and in one of three allocations: there the same process goes on with the handles that it has. In one of two
 * programs two processes do so at the same time, each with nodes of its own, and both with one array, of which each has every other row.
 *
 *   kill_programs FOLDER [CASES] [SEED] [zip]
 *
 * `zip`: in zip archives, which one process writes, and which refuse to erase, rename, overwrite and shrink. They are opened after a repair where the
 * process ended before it had written their directory. */
#define _GNU_SOURCE
#include "allocations.h"
#include "calls.h"
#include "../../c_tests/model.h"
#include "../../c_tests/random.h"
#include "../../c_tests/table.h"
#include <ftw.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { NODES = 10, WIDE = 8, SIZE = WIDE * WIDE, ENDS = 12, CALLS_EACH = 25, STEPS = 12, PAST = 12 * CALLS_EACH };

/* The arrays of each of two processes; the last one is a store of its own. */
static const char *const PATHS[2][NODES] = {{"a", "b", "k", "g/a", "g/b", "g/h/a", "m/a", "m/b", "m/h/a", "solo.zarr"},
                                            {"a2", "b2", "k2", "g2/a", "g2/b", "g2/h/a", "m2/a", "m2/b", "m2/h/a", "solo2.zarr"}};
static const char *const GROUP_G[] = {"g", "g2"}, *const GROUP_M[] = {"m", "m2"}, *const RUN[] = {"s.zarr/run", "s.zarr/run2"};
enum { IN_G = 3, IN_M = 6, IN_GROUP = 3, SOLO = 9 };

/* An array, and what it holds: shape[0] rows of shape[1]. */
typedef struct node {
    int there;
    /* An append to it was interrupted: what it stored shows where the array grows by a resize, as the header says. */
    int appended;
    int64_t shape[2], attribute;
    int32_t fill, values[SIZE];
} node;

typedef struct model {
    node nodes[NODES];
    /* The steps of the run that readers may see: at least, at most. */
    int64_t least, most;
    /* Of the array that two processes write: every other row of it, and an attribute. */
    int32_t rows[WIDE / 2][WIDE];
    int64_t number;
} model;

/* What the process says before and after each call: whether the call may be seen in part. */
typedef struct diary {
    model before, after;
    int under_way, in_part, which;
    /* Of a renamed array: one of its places has it. Where something lies in its new place it is copied, then erased. */
    int moved[2];
    /* What the archives have held, and from where on since their directories were last known to be written: of the one with all, of the one with one
     * array. Where a directory cannot be written to the last, an archive is cut back to the one before. */
    model past[PAST];
    int pasts, from[2], is_written[2];
    char what[100];
} diary;

static diary *diaries, *shared;
/* Which of the processes this is, and how many there are. */
static int who, processes;
/* What is in front of all locations: nothing, or a place on a server. */
static char base[100];
static int is_remote, is_zip;
static numbers state;
static uint64_t seed_now;
static const char *consolidate;
static int format;
/* What happens: the process ends, or file calls or allocations fail, and it goes on. */
static enum { ENDS_IT, CALLS_FAIL, MEMORY_ENDS } failing;
/* A call of the library has failed; consolidated metadata were current before. */
static int told, current;
/* A call has failed while another process was at work: what that consolidates may name a node that the call has erased. */
static int failed_beside;
/* A file could not be closed: each flush of the store says so. */
static int lasting;

/* Whether something has failed since it was armed. */
static int is_hit(void) { return failing == CALLS_FAIL ? calls.hit : failing == MEMORY_ENDS && point > 0 && seen >= point; }

static void disarm(void) {
    calls_disarm();
    armed = 0;
}

/* Whether a call may fail with that status. */
static int may_fail(ozarr_status status) {
    const int hit = is_hit();
    disarm();
    if (failing == MEMORY_ENDS) return hit && status == OZARR_ERR_NO_MEMORY;
    return hit || lasting;
}

/* A call that must succeed, unless something has failed in it. */
#define DO(call) \
    do { \
        const ozarr_status status_ = (call); \
        if (status_ == OZARR_OK) break; \
        told = may_fail(status_); \
        if (told) return; \
        fprintf(stderr, "seed %" PRIu64 ", %s: %s: %s\n", seed_now, shared->what, #call, ozarr_last_error()); \
        _exit(3); \
    } while (0)

/* A call that archives may refuse, which leaves all as it was. */
#define DO_OR_REFUSE(call) \
    do { \
        const ozarr_status answer_ = (call); \
        if (is_zip && (answer_ == OZARR_ERR_UNSUPPORTED || answer_ == OZARR_ERR_EXISTS)) { \
            shared->after = shared->before; \
            return; \
        } \
        DO(answer_); \
    } while (0)

/* A call that must succeed in the one that looks. */
#define SURE(call) \
    do { \
        if ((call) != OZARR_OK) FAIL("seed %" PRIu64 ", %s: %s: %s", seed_now, shared->what, #call, ozarr_last_error()); \
    } while (0)

static void settle(ozarr_array *array, int which);
static const char *at(const char *name);

static void open_store(ozarr_store **store) {
    const char *const options[] = {"consolidate", consolidate, "file.sync", "none", NULL};
    *store = NULL, lasting &= is_zip;
    DO(ozarr_store_open_ex(NULL, at("s.zarr"), "r+", options, store));
}

/* A location, until the fourth call from now. */
static const char *at(const char *name) {
    static char locations[4][200];
    static int next;
    char *location = locations[next++ % 4];
    const char *root = strstr(name, ".zarr") + strlen(".zarr");
    snprintf(location, sizeof locations[0], "%s%.*s%s%s", base, (int)(root - name), name, is_zip ? ".zip" : "", root);
    return location;
}

/* That of one of the arrays. */
static const char *at_node(int which) {
    char name[100];
    snprintf(name, sizeof name, "%s%s", which == SOLO ? "" : "s.zarr/", PATHS[who][which]);
    return at(name);
}

/* --- the calls: each is planned, with what is there after it, before it begins --- */

static void say(int in_part, int which, const char *what, const char *path) {
    shared->in_part = in_part, shared->which = which;
    shared->moved[0] = shared->moved[1] = 0;
    snprintf(shared->what, sizeof shared->what, "%s %s", what, path);
    shared->under_way = 1;
}

/* One of the arrays that are there, or are not; -1 if there is none. */
static int any(int there) {
    int found[NODES], n = 0;
    for (int i = 0; i < NODES; i++)
        if (shared->before.nodes[i].there == there) found[n++] = i;
    return n ? found[pick(&state, 0, n - 1)] : -1;
}

static void close_array(ozarr_array *array, int which) {
    DO(ozarr_array_close(array));
    shared->is_written[1] = which == SOLO;
}

static void create(ozarr_store *store) {
    const int which = (int)pick(&state, 0, NODES - 1);
    const int64_t inner[] = {pick(&state, 1, 3), pick(&state, 1, 3)}, chunks[] = {inner[0] * pick(&state, 1, 2), inner[1] * pick(&state, 1, 2)};
    node *n = &shared->after.nodes[which];
    ozarr_spec *spec = NULL;
    ozarr_array *array = NULL;
    memset(n, 0, sizeof *n);
    n->there = 1, n->shape[0] = pick(&state, 0, WIDE), n->shape[1] = pick(&state, 1, WIDE), n->fill = (int32_t)pick(&state, -2, 2);
    for (int i = 0; i < SIZE; i++) n->values[i] = n->fill;
    DO(ozarr_spec_new(OZARR_INT32, 2, n->shape, &spec));
    if (format == 2) DO(ozarr_spec_set_zarr_format(spec, 2));
    DO(ozarr_spec_set_chunks(spec, chunks));
    if (format == 3 && pick(&state, 0, 2) == 0) DO(ozarr_spec_set_inner_chunks(spec, inner));
    DO(ozarr_spec_set_compressor(spec, pick(&state, 0, 1) ? "none" : "zstd", -1));
    DO(ozarr_spec_set_fill_value(spec, OZARR_INT32, &n->fill));
    say(0, which, "create", PATHS[who][which]);
    if (which == SOLO) DO_OR_REFUSE(ozarr_array_create_ex(at_node(SOLO), spec, OZARR_CREATE_OVERWRITE, &array));
    else DO_OR_REFUSE(ozarr_array_create_at(store, PATHS[who][which], spec, OZARR_CREATE_OVERWRITE, &array));
    close_array(array, which);
    ozarr_spec_free(spec);
}

static void write_some(ozarr_array *array, int which) {
    node *n = &shared->after.nodes[which];
    int64_t start[2], shape[2];
    int32_t data[SIZE];
    const int32_t salt = (int32_t)pick(&state, 1, 1 << 20);
    for (int d = 0; d < 2; d++) {
        start[d] = n->shape[d] ? pick(&state, 0, n->shape[d] - 1) : 0;
        shape[d] = pick(&state, 0, n->shape[d] - start[d]);
    }
    for (int64_t i = 0; i < shape[0] * shape[1]; i++)
        n->values[(start[0] + i / shape[1]) * n->shape[1] + start[1] + i % shape[1]] = data[i] = salt + (int32_t)i;
    say(1, which, "write", PATHS[who][which]);
    DO(ozarr_array_write_region(array, start, shape, OZARR_INT32, data, sizeof data));
}

static void resize(ozarr_array *array, int which) {
    int64_t shape[] = {pick(&state, 0, WIDE), pick(&state, 1, WIDE)};
    for (int d = 0; d < 2; d++)
        if (shared->before.nodes[which].appended && shape[d] > shared->before.nodes[which].shape[d]) shape[d] = shared->before.nodes[which].shape[d];
    node *n = &shared->after.nodes[which];
    /* Most of what archives would refuse is not asked for. */
    for (int d = 0; is_zip && !shared->before.nodes[which].appended && d < 2; d++)
        if (shape[d] < n->shape[d] && pick(&state, 0, 7)) shape[d] = n->shape[d];
    reshape(n->values, SIZE, n->shape, n->fill, shape[0], shape[1]);
    say(1, which, "resize", PATHS[who][which]);
    DO_OR_REFUSE(ozarr_array_resize(array, shape, 0));
}

static void append(ozarr_array *array, int which) {
    node *n = &shared->after.nodes[which];
    const int64_t before = n->shape[0], count = pick(&state, 1, 3), every = pick(&state, -1, 2);
    int32_t data[SIZE];
    if (before + count > WIDE) return;
    reshape(n->values, SIZE, n->shape, n->fill, before + count, n->shape[1]);
    for (int64_t i = 0; i < count * n->shape[1]; i++) n->values[before * n->shape[1] + i] = data[i] = (int32_t)pick(&state, 1, 1 << 20);
    say(1, which, every < 0 ? "append to" : "append steps to", PATHS[who][which]);
    if (every < 0) {
        DO(ozarr_array_append(array, 0, count, OZARR_INT32, data, sizeof data));
        return;
    }
    ozarr_appender *appender = NULL;
    DO(ozarr_appender_open(array, 0, every, 0, &appender));
    for (int64_t i = 0; i < count; i++) DO(ozarr_appender_append(appender, 1, OZARR_INT32, data + i * n->shape[1], (size_t)n->shape[1] * sizeof *data));
    DO(ozarr_appender_close(appender));
}

static void set_attribute(ozarr_array *array, int which) {
    shared->after.nodes[which].attribute = pick(&state, 1, 1000);
    say(1, which, "set the attribute of", PATHS[who][which]);
    DO(ozarr_attr_set_int64(ozarr_array_node(array), "number", shared->after.nodes[which].attribute));
}

/* Several of these by one handle. */
static void change(ozarr_store *store) {
    const int which = any(1);
    ozarr_array *array = NULL;
    if (which < 0) return;
    if (which == SOLO) DO(ozarr_array_open(at_node(SOLO), "r+", &array));
    else DO(ozarr_array_open_at(store, PATHS[who][which], &array));
    for (int64_t calls = pick(&state, 1, 3); calls > 0; calls--) {
        const int64_t kind = pick(&state, 0, 9);
        if (kind < 4) write_some(array, which);
        else if (kind < 6) resize(array, which);
        else if (kind < 9) append(array, which);
        else set_attribute(array, which);
        settle(array, which);
    }
    close_array(array, which);
}

static void erase(ozarr_store *store) {
    const int which = any(1);
    if (which < 0) return;
    memset(&shared->after.nodes[which], 0, sizeof(node));
    say(0, which, "erase", PATHS[who][which]);
    if (which == SOLO) DO_OR_REFUSE(ozarr_node_erase(at_node(SOLO)));
    else DO_OR_REFUSE(ozarr_store_node_erase(store, PATHS[who][which]));
}

static void rename_or_copy(ozarr_store *store) {
    const int from = any(1), renames = (int)pick(&state, 0, 1), to = renames ? any(0) : (int)pick(&state, 0, NODES - 1);
    ozarr_copy_options options = OZARR_COPY_OPTIONS_INIT;
    ozarr_group *root = NULL;
    if (from < 0 || to < 0 || to == from || (renames && (from == SOLO || to == SOLO))) return;
    shared->after.nodes[to] = shared->after.nodes[from];
    if (renames) memset(&shared->after.nodes[from], 0, sizeof(node));
    say(renames, renames ? -1 : to, renames ? "rename to" : "copy to", PATHS[who][to]);
    if (renames) shared->moved[0] = from, shared->moved[1] = to;
    options.mode = OZARR_CREATE_OVERWRITE;
    if (!renames) {
        if (from == SOLO || to == SOLO || pick(&state, 0, 1)) DO_OR_REFUSE(ozarr_copy(at_node(from), at_node(to), &options));
        else DO_OR_REFUSE(ozarr_copy_at(store, PATHS[who][from], store, PATHS[who][to], &options));
        return;
    }
    DO(ozarr_group_open_at(store, "", &root));
    /* What an interrupted copy of another array has left in its place is to be overwritten first. */
    ozarr_status status = ozarr_group_rename(root, PATHS[who][from], PATHS[who][to]);
    if (status == OZARR_ERR_EXISTS || (is_zip && status == OZARR_ERR_UNSUPPORTED)) shared->after = shared->before;
    else DO(status);
    DO(ozarr_group_close(root));
}

/* The group g with all of it is copied to m, or m is erased. */
static void whole_group(ozarr_store *store) {
    static const char *const what[] = {"copy g to", "erase"};
    const int kind = (int)pick(&state, 0, 1);
    ozarr_node_kind there = OZARR_NODE_KIND_NONE;
    ozarr_copy_options options = OZARR_COPY_OPTIONS_INIT;
    DO(ozarr_store_node_kind(store, kind ? GROUP_M[who] : GROUP_G[who], &there));
    if (there == OZARR_NODE_KIND_NONE) return;
    for (int i = 0; i < IN_GROUP; i++) {
        shared->after.nodes[IN_M + i] = shared->after.nodes[IN_G + i];
        if (kind) memset(&shared->after.nodes[IN_M + i], 0, sizeof(node));
    }
    /* Where there is no group m, what is there is left from a copy that was interrupted: it goes, and comes again. */
    ozarr_node_kind m = OZARR_NODE_KIND_NONE;
    DO(ozarr_store_node_kind(store, GROUP_M[who], &m));
    say(m == OZARR_NODE_KIND_NONE ? 2 : 0, -1, what[kind], GROUP_M[who]);
    options.mode = OZARR_CREATE_OVERWRITE;
    if (kind) DO_OR_REFUSE(ozarr_store_node_erase(store, GROUP_M[who]));
    else DO_OR_REFUSE(ozarr_copy_at(store, GROUP_G[who], store, GROUP_M[who], &options));
}

/* Writes parts of rows of the array that both write, or its own attribute of it. */
static void change_both(ozarr_store *store) {
    static const char *const names[] = {"first", "second"};
    ozarr_array *array = NULL;
    DO(ozarr_array_open_at(store, "both", &array));
    for (int64_t calls = pick(&state, 1, 4); calls > 0; calls--) {
        const int64_t row = pick(&state, 0, WIDE / 2 - 1), start[] = {2 * row + who, pick(&state, 0, WIDE - 1)}, shape[] = {1, pick(&state, 1, WIDE - start[1])};
        int32_t *values = shared->after.rows[row] + start[1];
        if (pick(&state, 0, 3) == 0) {
            shared->after.number = pick(&state, 1, 1000);
            say(1, -1, "set an attribute of", "both");
            DO(ozarr_attr_set_int64(ozarr_array_node(array), names[who], shared->after.number));
        } else {
            for (int64_t i = 0; i < shape[1]; i++) values[i] = (int32_t)pick(&state, 1, 1 << 20);
            say(1, -1, "write", "both");
            DO(ozarr_array_write_region(array, start, shape, OZARR_INT32, values, (size_t)shape[1] * sizeof *values));
        }
        settle(NULL, 0);
    }
    DO(ozarr_array_close(array));
}

static void consolidate_root(ozarr_store *store) {
    ozarr_group *root = NULL;
    DO(ozarr_group_open_at(store, "", &root));
    DO(ozarr_group_consolidate(root));
    DO(ozarr_group_close(root));
}

static double step_value(int64_t step, int x) { return (double)(100 * step + x); }

/* Writes steps of the run; what it has opened stays open where a call fails. */
static void write_steps(ozarr_dataset **run, ozarr_series **series, int64_t keep, int64_t more) {
    int64_t step = keep, published;
    const int64_t every = pick(&state, 0, 3);
    DO(ozarr_dataset_open(at(RUN[who]), "r+", run));
    DO(ozarr_series_open(*run, "time", keep, every, 0, series));
    DO(ozarr_series_position(*series, &step, &published));
    for (int64_t end = step + more < STEPS ? step + more : STEPS; step < end; step++) {
        const double t[] = {step_value(step, 0), step_value(step, 1), step_value(step, 2)};
        DO(ozarr_series_put(*series, "t", OZARR_FLOAT64, t, sizeof t));
        DO(ozarr_series_put(*series, "mean", OZARR_FLOAT64, t, sizeof *t));
        DO(ozarr_series_step(*series, (double)step, 0, NULL, NULL));
        if (pick(&state, 0, 5) == 0) DO(ozarr_series_flush(*series));
    }
    ozarr_series *closed = *series;
    *series = NULL;
    DO(ozarr_series_close(closed));
    shared->after.least = shared->after.most = step;
}

/* Cuts the run back, perhaps, and goes on. */
static void go_on(void) {
    const model *before = &shared->before;
    const int64_t keep = pick(&state, 0, 1) && !is_zip ? pick(&state, 0, before->least) : -1, more = pick(&state, 0, 6);
    ozarr_dataset *run = NULL;
    ozarr_series *series = NULL;
    /* Documents may tell of steps that consolidated metadata do not have yet. */
    shared->before.least = keep < 0 || keep > before->least ? before->least : keep;
    shared->after.most = (keep < 0 ? before->most : keep) + more < STEPS ? (keep < 0 ? before->most : keep) + more : STEPS;
    shared->after.least = shared->before.least;
    say(1, -1, "the steps of", RUN[who]);
    write_steps(&run, &series, keep, more);
    ozarr_series_free(series);
    ozarr_dataset_free(run);
}

/* The root, and the array that both write. */
static void begin(void) {
    const int64_t shape[] = {WIDE, WIDE}, inner[] = {pick(&state, 1, 2), pick(&state, 1, 4)}, chunks[] = {inner[0] * pick(&state, 1, 4), inner[1] * pick(&state, 1, 2)};
    ozarr_array *both = NULL;
    ozarr_group *root = NULL;
    ozarr_spec *spec = NULL;
    ozarr_store *store;
    open_store(&store);
    DO(ozarr_group_create_at(store, "", format, OZARR_CREATE_NEW, &root));
    DO(ozarr_group_close(root));
    DO(ozarr_spec_new(OZARR_INT32, 2, shape, &spec));
    if (format == 2) DO(ozarr_spec_set_zarr_format(spec, 2));
    DO(ozarr_spec_set_chunks(spec, chunks));
    if (format == 3 && pick(&state, 0, 1)) DO(ozarr_spec_set_inner_chunks(spec, inner));
    DO(ozarr_array_create_at(store, "both", spec, OZARR_CREATE_NEW, &both));
    DO(ozarr_array_close(both));
    ozarr_spec_free(spec);
    DO(ozarr_store_close(store));
}

static void begin_run(void) {
    static const char *const t[] = {"time", "x"}, *const mean[] = {"time"};
    ozarr_dataset *run = NULL;
    ozarr_array *none = NULL;
    DO(ozarr_dataset_create(at(RUN[who]), format, OZARR_CREATE_OVERWRITE, &run));
    DO(ozarr_dataset_define_dimension(run, "x", 3));
    DO(ozarr_dataset_define_time(run, "time", 0, 4, "seconds since 2026-01-01", NULL, &none));
    ozarr_array_free(none);
    none = NULL;
    DO(ozarr_dataset_define_variable(run, "t", OZARR_FLOAT64, 2, t, &none));
    ozarr_array_free(none);
    none = NULL;
    DO(ozarr_dataset_define_variable(run, "mean", OZARR_FLOAT64, 1, mean, &none));
    ozarr_array_free(none);
    DO(ozarr_dataset_close(run));
}

/* Writes the directory of the archive, or closes it and opens it again. */
static void finish_store(ozarr_store **store) {
    ozarr_store *closed = *store;
    if (is_zip && pick(&state, 0, 1)) {
        DO(ozarr_store_flush(*store));
    } else {
        *store = NULL;
        DO(ozarr_store_close(closed));
    }
    shared->is_written[0] = 1;
    if (!*store) open_store(store);
}

/* A call of a program. */
static void one_call(ozarr_store **store) {
    const int64_t kind = pick(&state, 0, 19);
    if (kind < 4) create(*store);
    else if (kind < 11) change(*store);
    else if (kind < 12) erase(*store);
    else if (kind < 15) rename_or_copy(*store);
    else if (kind < 16) whole_group(*store);
    else if (kind < 17) consolidate_root(*store);
    else if (kind < 18) change_both(*store);
    else if (kind < 19) go_on();
    else finish_store(store);
}

/* What a process does until it ends. */
static void program(void) {
    ozarr_store *store = NULL;
    for (int i = 0; i < CALLS_EACH; i++) {
        shared->after = shared->before;
        if (!store) open_store(&store);
        else one_call(&store);
        settle(NULL, 0);
    }
    if (store) DO(ozarr_store_close(store));
}

/* --- what is stored --- */

/* An array as a reader finds it. */
static void look_at(ozarr_array *array, node *n) {
    int32_t values[SIZE];
    bool has_fill = false;
    memset(n, 0, sizeof *n);
    if (array == NULL) return;
    n->there = 1;
    SURE(ozarr_array_shape(array, n->shape));
    if (n->shape[0] > WIDE || n->shape[1] > WIDE) FAIL("seed %" PRIu64 ", %s: a shape is too large", seed_now, shared->what);
    else SURE(ozarr_array_read(array, OZARR_INT32, values, sizeof values));
    SURE(ozarr_array_fill_value(array, &n->fill, sizeof n->fill, &has_fill));
    for (int i = 0; i < SIZE; i++) n->values[i] = n->fill;
    for (int64_t i = 0; i < n->shape[0] * n->shape[1] && i < SIZE; i++) n->values[i] = values[i];
    ozarr_status status = ozarr_attr_get_int64(ozarr_array_node(array), "number", &n->attribute);
    if (status != OZARR_ERR_NOT_FOUND) SURE(status);
}

static int same(const node *a, const node *b) {
    return a->there == b->there && a->shape[0] == b->shape[0] && a->shape[1] == b->shape[1] && a->attribute == b->attribute && a->fill == b->fill &&
           memcmp(a->values, b->values, sizeof a->values) == 0;
}

static int is_element(const node *n, int64_t r, int64_t c, int32_t value) {
    return r < n->shape[0] && c < n->shape[1] && n->values[r * n->shape[1] + c] == value;
}

/* Whether an array is between two of its states: a write, a resize or an append that was begun. */
static int between(const node *found, const node *before, const node *after) {
    const int64_t low = before->shape[0] < after->shape[0] ? before->shape[0] : after->shape[0], high = before->shape[0] + after->shape[0] - low;
    const int rows = strncmp(shared->what, "append", 6) == 0 ? found->shape[0] >= low && found->shape[0] <= high
                                                             : found->shape[0] == before->shape[0] || found->shape[0] == after->shape[0];
    if (!found->there || !rows || (found->shape[1] != before->shape[1] && found->shape[1] != after->shape[1])) return 0;
    if (found->attribute != before->attribute && found->attribute != after->attribute) return 0;
    for (int64_t r = 0; r < found->shape[0]; r++)
        for (int64_t c = 0; c < found->shape[1]; c++) {
            const int32_t value = found->values[r * found->shape[1] + c];
            /* On a server the place is taken first. */
            const int is_taken = is_remote && r >= before->shape[0] && value == found->fill;
            if (!is_taken && !is_element(before, r, c, value) && !is_element(after, r, c, value)) return 0;
        }
    return 1;
}

static void print_node(const char *name, const node *n) {
    fprintf(stderr, "  %s: %d, %d x %d, attribute %d, fill %d:", name, n->there, (int)n->shape[0], (int)n->shape[1], (int)n->attribute, (int)n->fill);
    for (int64_t i = 0; n->there && i < n->shape[0] * n->shape[1] && i < SIZE; i++) fprintf(stderr, " %d", (int)n->values[i]);
    fputc('\n', stderr);
}

/* Whether what is overwritten may be gone: where no folder can be made, replaced or emptied from some call on, nothing takes its place at once, and it
 * goes first. */
static int clears_first(void) {
    if (is_remote) return shared->under_way && (strncmp(shared->what, "create", 6) == 0 || strncmp(shared->what, "copy", 4) == 0);
    if (failing != CALLS_FAIL || !shared->under_way || calls.mode != FAIL_FROM) return 0;
    if (calls.kind != MKDIR && calls.kind != RENAME_NEW && calls.kind != UNLINK) return 0;
    return strncmp(shared->what, "create", 6) == 0 || strncmp(shared->what, "copy", 4) == 0;
}

/* Whether an erased node has left a full disk that stays full: consolidated metadata cannot be told of that. */
static int erased_from_full_disk(void) {
    const int is_full = calls.injected == ENOSPC || calls.injected == EDQUOT;
    return failing == CALLS_FAIL && shared->under_way && calls.mode == FAIL_FROM && is_full && strncmp(shared->what, "erase", 5) == 0;
}

/* Whether one of the archives holds what a model has: the one with all else, or the one with one array. */
static int holds(int solo, const model *found, const model *m) {
    int right = solo || (found->number == m->number && memcmp(found->rows, m->rows, sizeof m->rows) == 0);
    for (int i = solo ? SOLO : 0; i < (solo ? NODES : SOLO); i++) right &= same(&found->nodes[i], &m->nodes[i]);
    return right;
}

/* Takes for known what an archive was cut back to. */
static void take_past(const model *found) {
    for (int solo = 0; solo < 2; solo++) {
        const int first = solo ? SOLO : 0, is_known = holds(solo, found, &shared->before) || holds(solo, found, &shared->after);
        for (int i = shared->pasts - 1; i >= shared->from[solo]; i--) {
            const model *m = &shared->past[i];
            if (!holds(solo, found, m)) continue;
            if (!solo && m->least < shared->before.least) shared->before.least = m->least;
            if (is_known) continue;
            memcpy(shared->before.nodes + first, m->nodes + first, (solo ? 1 : SOLO) * sizeof(node));
            memcpy(shared->after.nodes + first, m->nodes + first, (solo ? 1 : SOLO) * sizeof(node));
            if (solo) continue;
            memcpy(shared->before.rows, m->rows, sizeof m->rows);
            shared->before.number = m->number;
        }
    }
}

/* What is known of the archives now is among what they have held. */
static void add_past(void) {
    for (int solo = 0; solo < 2; solo++)
        if (shared->is_written[solo]) shared->from[solo] = shared->pasts, shared->is_written[solo] = 0;
    if (shared->pasts < PAST) shared->past[shared->pasts++] = shared->before;
}

/* All arrays are as before the call or as after it, or the changed one is between. The copy of a group has its arrays one after the other. */
static void compare(const char *reader, const model *found) {
    int before = 1, after = 1, rest = 1;
    const int cleared = clears_first();
    for (int i = 0; i < NODES; i++) {
        const node *n = &found->nodes[i];
        before &= same(n, &shared->before.nodes[i]), after &= same(n, &shared->after.nodes[i]);
        const int either = same(n, &shared->before.nodes[i]) || same(n, &shared->after.nodes[i]);
        if (shared->which < 0) rest &= either || ((shared->in_part == 2 || cleared) && i >= IN_M && i < IN_M + IN_GROUP && !n->there);
        else rest &= i == shared->which ? (cleared && !n->there) || between(n, &shared->before.nodes[i], &shared->after.nodes[i]) : same(n, &shared->before.nodes[i]);
    }
    if (shared->moved[0] != shared->moved[1]) rest &= found->nodes[shared->moved[0]].there || found->nodes[shared->moved[1]].there;
    if (before || (shared->under_way && (after || ((shared->in_part || cleared) && rest)))) return;
    FAIL("seed %" PRIu64 ", %s%s: %s find something else", seed_now, shared->what, shared->under_way ? " under way" : "", reader);
    for (int i = 0; i < NODES; i++) {
        if (same(&found->nodes[i], &shared->before.nodes[i]) && same(&found->nodes[i], &shared->after.nodes[i])) continue;
        fprintf(stderr, " %s\n", PATHS[who][i]);
        print_node("found", &found->nodes[i]), print_node("before", &shared->before.nodes[i]), print_node("after", &shared->after.nodes[i]);
    }
}

/* What readers of the documents find, or those that go by consolidated metadata. */
static void look(int consolidated, model *found) {
    const char *const options[] = {"consolidated", consolidated ? "auto" : "never", NULL};
    ozarr_store *store = NULL;
    ozarr_group *root = NULL;
    SURE(ozarr_store_open_ex(NULL, at("s.zarr"), "r", options, &store));
    SURE(ozarr_group_open_at(store, "", &root));
    for (int i = 0; i < NODES; i++) {
        ozarr_array *array = NULL;
        ozarr_status status = i == SOLO ? ozarr_array_open(at_node(SOLO), "r", &array) : ozarr_group_open_array(root, PATHS[who][i], &array);
        if (status != OZARR_ERR_NOT_FOUND) SURE(status);
        look_at(array, &found->nodes[i]);
        ozarr_array_free(array);
    }
    ozarr_group_free(root);
    ozarr_store_free(store);
}

/* The array that both write: the rows and the attribute of this one. */
static void read_both(model *found) {
    static const char *const names[] = {"first", "second"};
    ozarr_array *array = NULL;
    int32_t values[WIDE][WIDE];
    found->number = 0;
    SURE(ozarr_array_open(at("s.zarr/both"), "r", &array));
    SURE(ozarr_array_read(array, OZARR_INT32, values, sizeof values));
    const ozarr_status status = ozarr_attr_get_int64(ozarr_array_node(array), names[who], &found->number);
    if (status != OZARR_ERR_NOT_FOUND) SURE(status);
    ozarr_array_free(array);
    for (int row = 0; row < WIDE / 2; row++) memcpy(found->rows[row], values[2 * row + who], sizeof *found->rows);
}

static void compare_both(const model *found) {
    const model *before = &shared->before, *after = &shared->after;
    int right = found->number == before->number || (shared->under_way && found->number == after->number);
    for (int row = 0; row < WIDE / 2; row++)
        for (int x = 0; x < WIDE; x++) {
            const int32_t value = found->rows[row][x];
            right &= value == before->rows[row][x] || (shared->under_way && value == after->rows[row][x]);
        }
    if (!right) FAIL("seed %" PRIu64 ", %s: of what process %d has put into both something is lost", seed_now, shared->what, who);
}

/* The steps of the run: whole ones, of all variables. */
static void look_at_run(void) {
    ozarr_dataset *run = NULL;
    double found[3][STEPS * 3];
    int64_t length[3] = {-1, -1, -1}, shape[2];
    static const char *const names[] = {"time", "mean", "t"};
    SURE(ozarr_dataset_open(at(RUN[who]), "r", &run));
    for (int i = 0; i < 3; i++) {
        ozarr_array *array = NULL;
        SURE(ozarr_dataset_open_variable(run, names[i], &array));
        SURE(ozarr_array_shape(array, shape));
        length[i] = shape[0];
        SURE(ozarr_array_read(array, OZARR_FLOAT64, found[i], sizeof found[i]));
        ozarr_array_free(array);
    }
    ozarr_dataset_free(run);
    if (length[1] != length[0] || length[2] != length[0]) FAIL("seed %" PRIu64 ", %s: the run has %d, %d, %d steps", seed_now, shared->what, (int)length[0], (int)length[1], (int)length[2]);
    for (int64_t step = 0; step < length[0]; step++) {
        int right = found[0][step] == (double)step && found[1][step] == step_value(step, 0);
        for (int x = 0; x < 3; x++) right &= found[2][3 * step + x] == step_value(step, x);
        if (!right) FAIL("seed %" PRIu64 ", %s: step %d of %d is another one", seed_now, shared->what, (int)step, (int)length[0]);
    }
    const model *before = &shared->before, *after = &shared->after;
    const int64_t least = before->least < after->least ? before->least : after->least, most = before->most > after->most ? before->most : after->most;
    if (shared->under_way ? length[0] < least || length[0] > most : length[0] < before->least || length[0] > before->most)
        FAIL("seed %" PRIu64 ", %s: found %d steps of %d to %d", seed_now, shared->what, (int)length[0], (int)least, (int)most);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static ozarr_status print_fault(void *user, ozarr_fault_kind kind, const char *key, const char *message, int64_t bytes, bool repaired) {
    (void)user, (void)bytes;
    /* What a killed run was publishing is left to its next start, and told until then. */
    if (kind == OZARR_FAULT_KIND_STALE && strstr(message, "are left to its series") != NULL) return OZARR_OK;
    /* Chunks of an append or a copy that was interrupted are not part of a node. */
    if (!repaired && kind != OZARR_FAULT_KIND_OUTSIDE && kind != OZARR_FAULT_KIND_FOREIGN && kind != OZARR_FAULT_KIND_TEMPORARY)
        FAIL("seed %" PRIu64 ", %s: %s: %s", seed_now, shared->what, key, message);
    return OZARR_OK;
}

/* Whether consolidated metadata say what the documents do, or there are none. */
static int is_current(void) {
    ozarr_group *root = NULL;
    bool current = false;
    char text[500] = "";
    SURE(ozarr_group_open(at("s.zarr"), "r", &root));
    SURE(ozarr_group_consolidated_check(root, text, sizeof text, NULL, &current));
    ozarr_group_free(root);
    return current;
}

/* Repairs an archive whose writer has ended, or could not write its directory, as its user does; perhaps not to the end at first. */
static void repair(const char *path) {
    int64_t keys, lost;
    const pid_t child = failing == ENDS_IT ? fork() : -1;
    if (child == 0) {
        calls_arm(pick(&state, 0, 1) ? KILL_BEFORE : KILL_WITHIN, pick(&state, 1, 20), 0, 0);
        _exit(ozarr_zip_repair(path, &keys, &lost) == OZARR_OK ? 0 : 4);
    }
    if (child > 0) waitpid(child, NULL, 0);
    SURE(ozarr_zip_repair(path, &keys, &lost));
    if (failing == ENDS_IT && lost > 1) FAIL("seed %" PRIu64 ", %s: %d entries of %s are lost", seed_now, shared->what, (int)lost, path);
}

static void repair_archives(void) {
    for (int solo = 0; is_zip && solo < 2; solo++) {
        ozarr_store *store = NULL;
        const char *path = solo ? at_node(SOLO) : at("s.zarr");
        const ozarr_status status = ozarr_store_open(path, "r", &store);
        if (status == OZARR_ERR_TRUNCATED) repair(path);
        else if (!solo || status != OZARR_ERR_NOT_FOUND) SURE(status);
        ozarr_store_free(store);
    }
}

/* Compares what is stored with what may be there, which is known from then on. */
static void compare_all(void) {
    model found = shared->before, through = found;
    repair_archives();
    look(0, &found);
    read_both(&found);
    if (is_zip && failing) take_past(&found);
    compare("readers of the documents", &found);
    look(1, &through);
    if (current && !erased_from_full_disk()) compare("readers of consolidated metadata", &through);
    look_at_run();
    compare_both(&found);
    for (int n = 0; n < NODES; n++) {
        found.nodes[n].appended = shared->after.nodes[n].appended | shared->before.nodes[n].appended;
        if (n == shared->which && shared->under_way) found.nodes[n].appended |= strncmp(shared->what, "append", 6) == 0;
    }
    /* Documents may have fewer or more steps than consolidated metadata. */
    found.least = shared->before.least, found.most = shared->before.most;
    if (shared->under_way && shared->after.least < found.least) found.least = shared->after.least;
    if (shared->under_way && shared->after.most > found.most) found.most = shared->after.most;
    shared->before = shared->after = found;
    shared->under_way = 0;
    add_past();
}

static void arm(void) {
    /* Those that are brought up to date when a handle is closed are not in between. */
    current = !failed_beside && is_current() && !(failing && (strcmp(consolidate, "close") == 0 || strcmp(consolidate, "step") == 0));
    if (failing == CALLS_FAIL) calls_arm(pick(&state, 0, 1) || is_remote ? FAIL_ONCE : FAIL_FROM, pick(&state, 1, 150), (int)pick(&state, 0, 4), 0);
    else if (failing == ENDS_IT && is_zip) calls_arm(pick(&state, 0, 1) ? KILL_BEFORE : KILL_WITHIN, pick(&state, 1, 150), 0, 0);
    else if (failing == ENDS_IT) calls_arm(KILL_BEFORE, pick(&state, 1, 400), 0, 0);
    else {
        mode = pick(&state, 0, 1) ? ONCE : FROM, point = pick(&state, 1, 1000), seen = 0;
        armed = 1;
    }
}

/* Behind a call: what is known, and, where file calls have failed in it, whether that is stored, and what the handle finds that it was called on. */
static void settle(ozarr_array *array, int which) {
    const int failed = told, wrong = failures;
    node found;
    if (!failed) shared->before = shared->after, shared->under_way = 0;
    else if (!shared->under_way) shared->after = shared->before;
    told = 0;
    add_past();
    if (failed && processes > 1) failed_beside = 1, current = 0;
    if (!failing || (!is_hit() && !failed)) return;
    disarm();
    lasting |= failing == CALLS_FAIL && (calls.kind == CLOSE || calls.kind == SYNC);
    compare_all();
    if (array) look_at(array, &found);
    if (array && !same(&found, &shared->before.nodes[which])) {
        FAIL("seed %" PRIu64 ", %s: the handle finds something else", seed_now, shared->what);
        print_node("found", &found), print_node("stored", &shared->before.nodes[which]);
    }
    if (failures > wrong) {
        if (failing == CALLS_FAIL) fprintf(stderr, "  %s failed with %d, %s", CALL[calls.kind], calls.injected, calls.mode == FAIL_ONCE ? "once" : "from there on");
        else fprintf(stderr, "  memory ended at %ld, %s", point, MODE[mode]);
        fprintf(stderr, "; the last error: %s\n", failed ? ozarr_last_error() : "none");
    }
    arm();
}

/* Whose nodes are looked at and changed from now on. */
static void be(int process) {
    who = process;
    shared = &diaries[process];
}

/* Runs the processes until they end. */
static void run_processes(void) {
    pid_t children[2];
    fflush(NULL);
    for (int i = 0; i < processes; i++) {
        children[i] = fork();
        if (children[i]) continue;
        be(i);
        state.state += (uint64_t)i << 32;
        alarm(is_remote ? 300 : 60);
        failures = 0;
        /* Without locks two processes undo what each other writes. */
        if (processes > 1 && ozarr_context_set(NULL, "file.lock", "require")) FAIL("%s", ozarr_last_error());
        arm();
        program();
        _exit(failures ? 4 : 0);
    }
    for (int i = 0; i < processes; i++) {
        int status = 0;
        waitpid(children[i], &status, 0);
        be(i);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 9)) FAIL("seed %" PRIu64 ", %s: the process ended with %d", seed_now, shared->what, status);
    }
}

static void one_case(uint64_t seed) {
    static const char *const modes[] = {"named", "close", "step", "never"};
    const int before = failures;
    seed_now = seed, state.state = seed * 0x2545f4914f6cdd1du;
    consolidate = modes[pick(&state, 0, 3)], format = (int)pick(&state, 2, 3), failing = seed % 3;
    processes = is_zip ? 1 : 1 + (int)(seed / 3 % 2);
    memset(diaries, 0, 2 * sizeof *diaries);
    if (is_remote) snprintf(base, sizeof base, "s3://bucket/kill%" PRIu64 "-%d/", seed, (int)getpid());
    nftw(at(PATHS[0][SOLO]), remove_one, 16, FTW_DEPTH | FTW_PHYS);
    nftw(at(PATHS[1][SOLO]), remove_one, 16, FTW_DEPTH | FTW_PHYS);
    nftw(at("s.zarr"), remove_one, 16, FTW_DEPTH | FTW_PHYS);
    be(0);
    strcpy(shared->what, "begin");
    begin();
    for (int i = 0; i < processes; i++) be(i), begin_run();
    ozarr_store *store;
    open_store(&store);
    if (pick(&state, 0, 1)) consolidate_root(store);
    SURE(ozarr_store_close(store));
    for (int i = 0; i < ENDS && failures == before; i++) {
        const uint64_t kept = state.state;
        current = !failing && is_current();
        run_processes();
        state.state = kept + (uint64_t)i + 1;
        for (int i = 0; i < processes && failures == before; i++) {
            be(i);
            compare_all();
            shared->pasts = shared->from[0] = shared->from[1] = 0;
            add_past();
        }
    }
    open_store(&store);
    ozarr_verified verified = OZARR_VERIFIED_INIT;
    SURE(ozarr_store_verify(store, "", OZARR_VERIFY_REPAIR, print_fault, NULL, NULL, &verified));
    SURE(ozarr_store_close(store));
}

int main(int argc, char **argv) {
    const long cases = argc > 2 ? atol(argv[2]) : 10;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    is_zip = argc > 4 && strcmp(argv[4], "zip") == 0;
    if (argc < 2 || chdir(argv[1])) return fprintf(stderr, "usage: kill_programs FOLDER [CASES] [SEED] [zip]\n"), 2;
    setenv("OZARR_NUM_THREADS", "1", 0);
    find_pthread_create();
    is_remote = getenv("OZARR_TEST_S3") != NULL;
    if (is_remote) {
        setenv("AWS_ENDPOINT_URL", getenv("OZARR_TEST_S3"), 1);
        setenv("AWS_ACCESS_KEY_ID", "planted-id", 1);
        setenv("AWS_SECRET_ACCESS_KEY", "planted-secret", 1);
        setenv("AWS_REGION", "us-east-1", 1);
    }
    diaries = mmap(NULL, 2 * sizeof *diaries, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < cases && failures < 5; i++) one_case(seed + (uint64_t)i);
    printf("%ld programs%s, %d ends each: %d wrong\n", cases, is_zip ? " in archives" : "", ENDS, failures);
    return finish();
}
