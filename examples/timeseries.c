/* A run that writes a variable step by step, stops, and goes on where it stopped; and a program that follows it. Each step is one call.
 *
 *   timeseries                     writes 40 steps to series.zarr, goes on to 96, and reads them
 *   timeseries write OUT.zarr      writes 96 steps; started again, it goes on where it was killed
 *   timeseries follow OUT.zarr     prints the mean of each 16th step when it is there: at the same time, or later */
#include <ozarr.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 96, N = 64 };
#define TRY(call) do { if (call) return fprintf(stderr, "%s\n  in %s\n", ozarr_last_error(), #call), 1; } while (0)

static double field[N][N];

/* The dataset of the run. What is there already is opened: a new start goes on with it, and completes what a kill has left half defined. */
static int define(const char *location, ozarr_dataset **run) {
    const char *const dimensions[] = {"time", "y", "x"};
    TRY(ozarr_dataset_create(location, 0, OZARR_CREATE_OPEN_IF_SAME, run));
    TRY(ozarr_dataset_define_dimension(*run, "y", N));
    TRY(ozarr_dataset_define_dimension(*run, "x", N));
    TRY(ozarr_dataset_define_time(*run, "time", 0, 0, "seconds since 2026-01-01", NULL, NULL));
    TRY(ozarr_dataset_define_variable(*run, "t", OZARR_FLOAT64, 3, dimensions, NULL));
    return 0;
}

static int write_run(const char *location, int until) {
    ozarr_dataset *run = NULL;
    ozarr_series *steps = NULL;
    const char *const names[] = {"t"};
    ozarr_memory memory = OZARR_MEMORY_INIT; /* of each of the names */
    int64_t step;
    memory.data = field, memory.size = sizeof field, memory.type = OZARR_FLOAT64;
    if (define(location, &run)) return 1;
    TRY(ozarr_series_open(run, "time", -1, 32, 0, &steps)); /* readers see 32 steps at a time */
    TRY(ozarr_series_position(steps, &step, NULL));
    for (; step < until; step++) {
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) field[j][i] = (double)step + 0.25 * (i - j);
        TRY(ozarr_series_step(steps, 30.0 * (double)step, 1, names, &memory));
    }
    TRY(ozarr_series_close(steps));
    TRY(ozarr_dataset_close(run));
    printf("%d steps written\n", until);
    return 0;
}

static int follow_run(const char *location) {
    ozarr_dataset *run = NULL;
    ozarr_array *t = NULL, *time = NULL;
    TRY(ozarr_dataset_open(location, "r", &run));
    TRY(ozarr_dataset_open_variable(run, "time", &time));
    TRY(ozarr_dataset_open_variable(run, "t", &t));
    for (int64_t step = 0, length = 0; step < STEPS; step++) {
        const int64_t start[] = {step, 0, 0}, one[] = {1, N, N};
        double seconds, sum = 0;
        if (step == length) TRY(ozarr_dataset_wait_growth(run, "time", step, 60, &length));
        TRY(ozarr_array_read_region(time, start, one, OZARR_FLOAT64, &seconds, sizeof seconds));
        TRY(ozarr_array_read_region(t, start, one, OZARR_FLOAT64, field, sizeof field));
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) sum += field[j][i];
        if (step % 16 == 0) printf("  at %4g s the mean is %g\n", seconds, sum / (N * N));
    }
    ozarr_array_free(t);
    ozarr_array_free(time);
    ozarr_dataset_free(run);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 1) return write_run("series.zarr", 40) || write_run("series.zarr", STEPS) || follow_run("series.zarr");
    if (argc == 3 && strcmp(argv[1], "write") == 0) return write_run(argv[2], STEPS);
    if (argc == 3 && strcmp(argv[1], "follow") == 0) return follow_run(argv[2]);
    printf("usage: timeseries [write|follow OUT.zarr]\n");
    return 2;
}
