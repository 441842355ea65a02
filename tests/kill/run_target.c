/* A whole run that the kill sweep kills: steps of a series, and a checkpoint every EVERY steps, of which the newest KEEP stay.
 *
 *   run_target FOLDER FORM UNTIL   goes on from the newest checkpoint, or from the beginning, until step UNTIL
 *   run_target FOLDER FORM check   prints the steps that are published and the step of the newest checkpoint; all of both is right
 *
 * FORM: 2, 3, s (version 3, shards), l (version 3, a checkpoint's unchanged chunks are links to the one before), z (version 3, zip archives, which
 * are repaired first where a kill was). Checkpoints take two names in turn, so each commit takes the place of an older one. The system calls between two calls of getppid() are those of the run. */
#define _POSIX_C_SOURCE 200809L
#include <ozarr_formats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 6, EVERY = 3, KEEP = 1, MOST = 64 };
static char run[1024], points[1024];
static const char *form;
static double state[WIDTH];
static const double constant[WIDTH] = {5, 4, 3, 2, 1, 0};
static const char *const dims[] = {"time", "x"};

static void check(ozarr_status s, const char *what) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "run_target: %s: %s (%s)\n", what, ozarr_last_error(), ozarr_status_name(s));
    exit(1);
}

static void expect(int right, const char *what, int64_t step) {
    if (right) return;
    fprintf(stderr, "run_target: wrong: %s of step %d\n", what, (int)step);
    exit(1);
}

static void advance(int64_t step) {
    for (int i = 0; i < WIDTH; i++) state[i] += (double)(step * i + 1);
}

static ozarr_dataset *define(void) {
    ozarr_dataset *ds = NULL;
    ozarr_spec *spec = NULL;
    ozarr_variable v = OZARR_VARIABLE_INIT;
    int64_t chunks[] = {4, 4}, inner[] = {2, 2};
    double x[WIDTH] = {0, 1, 2, 3, 4, 5};
    check(ozarr_dataset_create(run, *form == '2' ? 2 : 3, OZARR_CREATE_OVERWRITE, &ds), "creating the run");
    check(ozarr_dataset_define_coordinate(ds, "x", OZARR_FLOAT64, WIDTH, 0, x, sizeof x, "m", NULL), "x");
    check(ozarr_dataset_define_time(ds, "time", 0, 8, "seconds since 2026-01-01", NULL, NULL), "time");
    check(ozarr_spec_new(OZARR_FLOAT64, 2, NULL, &spec), "spec");
    check(ozarr_spec_set_chunks(spec, chunks), "chunks");
    if (*form == 's') check(ozarr_spec_set_inner_chunks(spec, inner), "inner chunks");
    v.type = OZARR_FLOAT64, v.rank = 2, v.dimensions = dims, v.spec = spec;
    check(ozarr_dataset_define_variable_ex(ds, "u", &v, OZARR_CREATE_NEW, NULL), "u");
    check(ozarr_dataset_define_variable(ds, "sum", OZARR_FLOAT64, 1, dims, NULL), "sum");
    ozarr_spec_free(spec);
    return ds;
}

static void save(int64_t step) {
    const int64_t shape[] = {WIDTH};
    ozarr_group *g = NULL;
    check(ozarr_checkpoint_begin(points, step / EVERY % 2 ? "odd" : "even", &g), "beginning a checkpoint");
    if (*form == 'l') check(ozarr_node_set(ozarr_group_node(g), "link_unchanged", "1"), "linking what is unchanged");
    check(ozarr_group_put(g, "state", OZARR_FLOAT64, 1, shape, state, sizeof state), "state");
    check(ozarr_group_put(g, "constant", OZARR_FLOAT64, 1, shape, constant, sizeof constant), "constant");
    check(ozarr_attr_set_int64(ozarr_group_node(g), "step", step), "step");
    check(ozarr_checkpoint_commit(g), "committing a checkpoint");
    if (*form != 'z') check(ozarr_checkpoint_prune(points, KEEP), "pruning checkpoints");
}

/* Gets the state of the newest checkpoint and its step, 0 without one. */
static int64_t restore(void) {
    ozarr_group *g = NULL;
    int64_t step = 0;
    ozarr_status status = ozarr_checkpoint_latest(points, &g);
    if (status == OZARR_ERR_NOT_FOUND) return 0;
    check(status, "opening the newest checkpoint");
    check(ozarr_group_get(g, "state", OZARR_FLOAT64, state, sizeof state), "reading the state");
    double same[WIDTH];
    check(ozarr_group_get(g, "constant", OZARR_FLOAT64, same, sizeof same), "reading the constant");
    check(ozarr_attr_get_int64(ozarr_group_node(g), "step", &step), "reading the step");
    expect(memcmp(same, constant, sizeof same) == 0, "the constant", step);
    ozarr_group_free(g);
    return step;
}

static void go_on(int64_t until) {
    ozarr_dataset *ds = NULL;
    ozarr_series *steps = NULL;
    int64_t step = restore();
    if (step > 0) check(ozarr_dataset_open(run, "r+", &ds), "opening the run");
    else ds = define();
    check(ozarr_series_open(ds, "time", -1, 2, 0, &steps), "keeping other runs out");
    step = restore();
    ozarr_series_free(steps);
    check(ozarr_series_open(ds, "time", step, 2, 0, &steps), "opening the series");
    while (step < until) {
        double sum = state[0] + state[1];
        check(ozarr_series_put(steps, "u", OZARR_FLOAT64, state, sizeof state), "putting u");
        if (step % 2 == 0) check(ozarr_series_put(steps, "sum", OZARR_FLOAT64, &sum, sizeof sum), "putting the sum");
        check(ozarr_series_step(steps, (double)(60 * step), 0, NULL, NULL), "ending the step");
        advance(step++);
        if (step % EVERY) continue;
        check(ozarr_series_flush(steps), "flushing the series");
        save(step);
    }
    check(ozarr_series_close(steps), "closing the series");
    check(ozarr_dataset_close(ds), "closing the run");
}

static ozarr_array *variable(ozarr_dataset *ds, const char *name) {
    ozarr_array *a = NULL;
    check(ozarr_dataset_open_variable(ds, name, &a), name);
    return a;
}

/* Each step that is published, against the run as it goes without disturbance. Gives their number. */
static int64_t check_steps(void) {
    static double u[MOST * WIDTH], sum[MOST];
    static int64_t time[MOST];
    ozarr_dataset *ds = NULL;
    ozarr_array *a;
    int64_t steps = 0;
    ozarr_status status = ozarr_dataset_open(run, "r", &ds);
    if (status == OZARR_ERR_NOT_FOUND) return 0;
    check(status, "opening the run to read");
    check(ozarr_dataset_dimension_length(ds, "time", &steps, NULL), "the number of steps");
    expect(steps <= MOST, "the number", steps);
    size_t n = (size_t)steps;
    check(ozarr_array_read(a = variable(ds, "u"), OZARR_FLOAT64, u, n * WIDTH * sizeof *u), "reading u");
    ozarr_array_free(a);
    check(ozarr_array_read(a = variable(ds, "sum"), OZARR_FLOAT64, sum, n * sizeof *sum), "reading the sum");
    ozarr_array_free(a);
    check(ozarr_array_read(a = variable(ds, "time"), OZARR_INT64, time, n * sizeof *time), "reading the time");
    ozarr_array_free(a);
    memset(state, 0, sizeof state);
    for (int64_t step = 0; step < steps; advance(step++)) {
        expect(time[step] == 60 * step, "the time", step);
        expect(memcmp(&u[step * WIDTH], state, sizeof state) == 0, "u", step);
        expect(step % 2 ? sum[step] != sum[step] : sum[step] == state[0] + state[1], "the sum", step);
    }
    check(ozarr_dataset_close(ds), "closing the run");
    return steps;
}

/* The newest checkpoint, against the run as it goes without disturbance. Gives its step. */
static int64_t check_newest(void) {
    double found[WIDTH];
    int64_t newest;
    memset(state, 0, sizeof state);
    newest = restore();
    memcpy(found, state, sizeof state);
    memset(state, 0, sizeof state);
    for (int64_t step = 0; step < newest; step++) advance(step);
    expect(memcmp(found, state, sizeof state) == 0, "the checkpoint", newest);
    return newest;
}

/* Archives whose writer was killed have their list of keys written anew. */
static void repair(const char *archive) {
    int64_t keys, lost;
    if (access(archive, F_OK) == 0) check(ozarr_zip_repair(archive, &keys, &lost), "repairing an archive");
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    form = argv[2];
    snprintf(run, sizeof run, "%s/run.%s", argv[1], *form == 'z' ? "zip" : "zarr");
    snprintf(points, sizeof points, "%s/restart.%s", argv[1], *form == 'z' ? "zip" : "zarr");
    if (*form == 'z') repair(run), repair(points);
    if (strcmp(argv[3], "check") == 0) {
        int64_t newest = check_newest(), steps = check_steps();
        printf("%d %d\n", (int)steps, (int)newest);
        return 0;
    }
    (void)getppid();
    go_on(atoi(argv[3]));
    (void)getppid();
    return 0;
}
