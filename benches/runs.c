/* What whole runs cost more than their parts: pairs of workloads, interleaved, the medians of their CPU seconds, and the ratio of these.
 *
 *   runs FOLDER [ROUNDS]          all pairs
 *   runs FOLDER 0 NAME            one workload once, for counts of instructions and of system calls (the preparation is the workload `none`)
 *
 * series/appenders: STEPS steps of FIELDS fields and their time. checkpoint/plain: ARRAYS arrays of 2 MiB into a group. dataset/group and changes/group:
 * opening a run of VARIABLES variables of 100,000 steps as a dataset (to read, to change), and its group with all arrays. Nothing is synced. */
#define _POSIX_C_SOURCE 200809L
#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 512, DEPTH = 32, FIELDS = 8, N = 64, ARRAYS = 8, SIDE = 64, VARIABLES = 100, MOST = 99 };
static const char *folder;
static float field[N][N];
static double state[SIDE][SIDE][SIDE];

static void check(ozarr_status s) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "runs: %s\n", ozarr_last_error());
    exit(1);
}

static const char *place(const char *name) {
    static char location[1024];
    snprintf(location, sizeof location, "%s/%s", folder, name);
    return location;
}

static const char *number(const char *name, int i) {
    static char text[32];
    snprintf(text, sizeof text, "%s%02d", name, i);
    return text;
}

static void change(int step) {
    for (int i = 0; i < N * N; i++) field[i / N][i % N] = (float)((i * 7 + step * 13) % 1000);
}

static ozarr_dataset *define(const char *name, int fields, int64_t length) {
    static const char *const dims[] = {"time", "y", "x"};
    const int64_t chunks[] = {DEPTH, N, N};
    ozarr_variable v = OZARR_VARIABLE_INIT;
    ozarr_dataset *ds = NULL;
    v.type = OZARR_FLOAT32, v.rank = 3, v.dimensions = dims, v.chunks = chunks;
    check(ozarr_dataset_create(place(name), 0, OZARR_CREATE_OVERWRITE, &ds));
    check(ozarr_dataset_define_dimension(ds, "y", N));
    check(ozarr_dataset_define_dimension(ds, "x", N));
    check(ozarr_dataset_define_time(ds, "time", length, DEPTH, "seconds since 2026-01-01", NULL, NULL));
    for (int i = 0; i < fields; i++) check(ozarr_dataset_define_variable_ex(ds, number("t", i), &v, OZARR_CREATE_NEW, NULL));
    return ds;
}

static void series(void) {
    ozarr_dataset *ds = define("series.zarr", FIELDS, 0);
    ozarr_series *s = NULL;
    check(ozarr_series_open(ds, "time", -1, 0, 0, &s));
    for (int step = 0; step < STEPS; step++) {
        change(step);
        for (int i = 0; i < FIELDS; i++) check(ozarr_series_put(s, number("t", i), OZARR_FLOAT32, field, sizeof field));
        check(ozarr_series_step(s, step, 0, NULL, NULL));
    }
    check(ozarr_series_close(s));
    check(ozarr_dataset_close(ds));
}

static void appenders(void) {
    ozarr_dataset *ds = define("appenders.zarr", FIELDS, 0);
    ozarr_array *arrays[FIELDS + 1];
    ozarr_appender *all[FIELDS + 1];
    for (int i = 0; i <= FIELDS; i++) {
        check(ozarr_dataset_open_variable(ds, i < FIELDS ? number("t", i) : "time", &arrays[i]));
        check(ozarr_appender_open(arrays[i], 0, 0, 0, &all[i]));
    }
    for (int64_t step = 0; step < STEPS; step++) {
        change((int)step);
        for (int i = 0; i < FIELDS; i++) check(ozarr_appender_append(all[i], 1, OZARR_FLOAT32, field, sizeof field));
        check(ozarr_appender_append(all[FIELDS], 1, OZARR_INT64, &step, sizeof step));
    }
    for (int i = 0; i <= FIELDS; i++) {
        check(ozarr_appender_close(all[i]));
        check(ozarr_array_close(arrays[i]));
    }
    check(ozarr_dataset_close(ds));
}

static void put_all(ozarr_group *g) {
    const int64_t shape[] = {SIDE, SIDE, SIDE};
    uint32_t noise = 1;
    for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
        noise = noise * 1664525u + 1013904223u;
        state[i / SIDE / SIDE][i / SIDE % SIDE][i % SIDE] = 1.0 + noise / 4294967296.0;
    }
    for (int i = 0; i < ARRAYS; i++) check(ozarr_group_put(g, number("u", i), OZARR_FLOAT64, 3, shape, state, sizeof state));
    check(ozarr_attr_set_int64(ozarr_group_node(g), "step", 1));
}

static void checkpoint(void) {
    ozarr_group *g = NULL;
    check(ozarr_checkpoint_begin(place("checkpoints.zarr"), "step", &g));
    put_all(g);
    check(ozarr_checkpoint_commit(g));
    check(ozarr_checkpoint_prune(place("checkpoints.zarr"), 0));
}

static void plain(void) {
    ozarr_group *above = NULL, *g = NULL;
    check(ozarr_group_create(place("plain.zarr"), OZARR_CREATE_OPEN_IF_SAME, &above));
    check(ozarr_group_create_group(above, "step", OZARR_CREATE_NEW, &g));
    put_all(g);
    check(ozarr_group_consolidate(g));
    check(ozarr_group_close(g));
    check(ozarr_group_erase(above, "step"));
    check(ozarr_group_close(above));
}

static void dataset(void) {
    ozarr_dataset *ds = NULL;
    check(ozarr_dataset_open(place("wide.zarr"), "r", &ds));
    check(ozarr_dataset_close(ds));
}

static void changes(void) {
    ozarr_dataset *ds = NULL;
    check(ozarr_dataset_open(place("wide.zarr"), "r+", &ds));
    ozarr_dataset_free(ds);
}

static void group(void) {
    ozarr_group *g = NULL;
    ozarr_array *all[VARIABLES];
    check(ozarr_group_open(place("wide.zarr"), "r", &g));
    for (int i = 0; i < VARIABLES; i++) check(ozarr_group_open_array(g, number("t", i), &all[i]));
    for (int i = 0; i < VARIABLES; i++) ozarr_array_free(all[i]);
    ozarr_group_free(g);
}

static void none(void) {}

typedef void work(void);
static const struct {
    const char *name;
    work *run;
} WORKS[] = {{"series", series}, {"appenders", appenders}, {"checkpoint", checkpoint}, {"plain", plain}, {"dataset", dataset}, {"group", group}, {"changes", changes}, {"group", group}, {"none", none}};

static double seconds(work *run) {
    struct timespec t[2];
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[0]);
    run();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[1]);
    return (double)(t[1].tv_sec - t[0].tv_sec) + 1e-9 * (double)(t[1].tv_nsec - t[0].tv_nsec);
}

static int rising(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "usage: runs FOLDER [ROUNDS [NAME]]\n"), 2;
    folder = argv[1];
    int rounds = argc > 2 ? atoi(argv[2]) : 9;
    check(ozarr_context_set(NULL, "file.sync", "none"));
    check(ozarr_context_set(NULL, "threads", "1"));
    check(ozarr_dataset_close(define("wide.zarr", VARIABLES, 100000)));
    for (size_t i = 0; i < sizeof WORKS / sizeof *WORKS; i++)
        if (argc > 3 && strcmp(argv[3], WORKS[i].name) == 0) {
            WORKS[i].run();
            break;
        }
    if (rounds < 1 || rounds > MOST) return 0;
    for (size_t pair = 0; pair < 4; pair++) {
        double taken[2][MOST];
        for (int i = 0; i < 2 * rounds; i++) taken[i % 2][i / 2] = seconds(WORKS[2 * pair + (size_t)(i % 2)].run);
        for (int k = 0; k < 2; k++) qsort(taken[k], (size_t)rounds, sizeof taken[k][0], rising);
        double first = taken[0][rounds / 2], second = taken[1][rounds / 2];
        printf("%-10s %8.2f ms   %-10s %8.2f ms   ratio %.3f\n", WORKS[2 * pair].name, 1e3 * first, WORKS[2 * pair + 1].name, 1e3 * second, first / second);
    }
    return 0;
}
