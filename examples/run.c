/* A whole run: a series of its steps, a checkpoint every 10 steps, and a restart from the newest one.
 *
 *   run [FOLDER]      runs to the end; killed and started again, it goes on from the newest checkpoint and ends with the same data */
#include <ozarr.h>
#include <stdio.h>

enum { STEPS = 80, EVERY = 10, KEEP = 2, NY = 24, NX = 32 };
static char run[1024], restart[1024];
static double t[NY][NX]; /* the state: a plate with a hot edge */

static int failed(void) {
    fprintf(stderr, "%s\n", ozarr_last_error());
    return 1;
}

static void advance(void) {
    static double next[NY][NX];
    for (int j = 1; j < NY - 1; j++)
        for (int i = 1; i < NX - 1; i++) next[j][i] = 0.25 * ((t[j][i - 1] + t[j][i + 1]) + (t[j - 1][i] + t[j + 1][i]));
    for (int j = 1; j < NY - 1; j++)
        for (int i = 1; i < NX - 1; i++) t[j][i] = next[j][i];
}

/* Stores the state after that many steps. */
static int save(int64_t step) {
    const int64_t shape[] = {NY, NX};
    char name[32];
    ozarr_group *g = NULL;
    snprintf(name, sizeof name, "step-%04d", (int)step);
    if (ozarr_checkpoint_begin(restart, name, &g)) return failed();
    if (ozarr_group_put(g, "t", OZARR_FLOAT64, 2, shape, t, sizeof t)) return failed();
    if (ozarr_attr_set_int64(ozarr_group_node(g), "step", step)) return failed();
    if (ozarr_checkpoint_commit(g)) return failed();
    return ozarr_checkpoint_prune(restart, KEEP) ? failed() : 0;
}

/* Gets the state of the newest checkpoint, and how many steps it is after; without one that of the beginning. */
static int restore(int64_t *step) {
    ozarr_group *g = NULL;
    for (int j = 0; j < NY; j++) t[j][0] = 100;
    *step = 0;
    ozarr_status status = ozarr_checkpoint_latest(restart, &g);
    if (status == OZARR_ERR_NOT_FOUND) return 0;
    if (status || ozarr_group_get(g, "t", OZARR_FLOAT64, t, sizeof t)) return failed();
    if (ozarr_attr_get_int64(ozarr_group_node(g), "step", step)) return failed();
    ozarr_group_free(g);
    return 0;
}

/* Defines what the run writes: the field, and its value beside a corner in every second step. What is there already is opened: a new start goes on with
 * it, completes what a kill has left half defined, and replaces no run that goes on. */
static int define(ozarr_dataset **ds) {
    const char *const dims[] = {"time", "y", "x"};
    if (ozarr_dataset_create(run, 0, OZARR_CREATE_OPEN_IF_SAME, ds)) return failed();
    if (ozarr_dataset_define_dimension(*ds, "y", NY) || ozarr_dataset_define_dimension(*ds, "x", NX)) return failed();
    if (ozarr_dataset_define_time(*ds, "time", 0, 0, "seconds since 2026-01-01", NULL, NULL)) return failed();
    if (ozarr_dataset_define_variable(*ds, "t", OZARR_FLOAT32, 3, dims, NULL)) return failed();
    return ozarr_dataset_define_variable(*ds, "corner", OZARR_FLOAT64, 1, dims, NULL) ? failed() : 0;
}

int main(int argc, char **argv) {
    ozarr_dataset *ds = NULL;
    ozarr_series *series = NULL;
    int64_t step;
    const char *folder = argc > 1 ? argv[1] : ".";
    snprintf(run, sizeof run, "%s/run.zarr", folder);
    snprintf(restart, sizeof restart, "%s/restart.zarr", folder);
    /* No other run commits checkpoints while the series is open: it is opened before the newest one is read, then again, to cut off what is beyond. */
    if (define(&ds)) return 1;
    if (ozarr_series_open(ds, "time", -1, 4, 0, &series)) return failed();
    if (restore(&step)) return 1;
    ozarr_series_free(series);
    if (ozarr_series_open(ds, "time", step, 4, 0, &series)) return failed();
    /* Removes what a kill has left, now that the open series tells that no other run writes a checkpoint. */
    if (ozarr_checkpoint_prune(restart, KEEP)) return failed();
    while (step < STEPS) {
        advance();
        if (ozarr_series_put(series, "t", OZARR_FLOAT64, t, sizeof t)) return failed();
        if (step % 2 == 0 && ozarr_series_put(series, "corner", OZARR_FLOAT64, &t[1][1], sizeof t[1][1])) return failed();
        if (ozarr_series_step(series, 60.0 * (double)step, 0, NULL, NULL)) return failed();
        step++;
        if (step % EVERY == 0 && (ozarr_series_flush(series) ? failed() : save(step))) return 1;
    }
    if (ozarr_series_close(series) || ozarr_dataset_close(ds)) return failed();
    printf("%d steps\n", STEPS);
    return 0;
}
