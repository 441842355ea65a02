/* A run that grows, and a program that follows it:
 *
 *   timeseries write OUT.zarr      appends 96 steps of a field and their times; started again, it goes on where it was killed
 *   timeseries follow OUT.zarr     prints the mean of each step when it is there: at the same time, or later */
#include <ozarr_advanced.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 96, DEPTH = 32, N = 64 };

static int failed(void) {
    printf("%s\n", ozarr_last_error());
    return 1;
}

/* The array of that name with no steps yet, or as it was left. */
static ozarr_status open_or_create(const char *run, const char *name, int32_t rank, ozarr_array **out) {
    char location[1024];
    int64_t none[] = {0, N, N}, chunks[] = {DEPTH, N, N};
    snprintf(location, sizeof location, "%s/%s", run, name);
    ozarr_status status = ozarr_array_open(location, "r+", out);
    return status == OZARR_ERR_NOT_FOUND ? ozarr_array_create(location, OZARR_FLOAT64, rank, none, chunks, OZARR_CREATE_NEW, out) : status;
}

static int write_run(const char *run) {
    static double field[N][N];
    ozarr_array *t = NULL, *time = NULL;
    ozarr_appender *fields = NULL, *times = NULL;
    int64_t stored, step;
    if (open_or_create(run, "t", 3, &t) || open_or_create(run, "time", 1, &time)) return failed();

    /* Of both 32 steps are published at a time; the times last, so whoever follows them finds the fields. */
    if (ozarr_appender_open(t, 0, DEPTH, 0, &fields) || ozarr_appender_open(time, 0, DEPTH, 0, &times)) return failed();
    if (ozarr_appender_position(fields, &stored, NULL) || ozarr_appender_position(times, &step, NULL)) return failed();
    for (; step < STEPS; step++) {
        double seconds = 0.5 * (double)step;
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) field[j][i] = (double)step + 0.001 * (i - j);
        /* After a kill the field of this step may be there already. */
        if (step >= stored && ozarr_appender_append(fields, 1, OZARR_FLOAT64, field, sizeof field)) return failed();
        if (ozarr_appender_append(times, 1, OZARR_FLOAT64, &seconds, sizeof seconds)) return failed();
    }
    if (ozarr_appender_close(fields) || ozarr_appender_close(times)) return failed();
    if (ozarr_array_close(t) || ozarr_array_close(time)) return failed();
    printf("%d steps written\n", STEPS);
    return 0;
}

static int follow_run(const char *run) {
    static double field[N][N];
    ozarr_array *t = NULL, *time = NULL;
    char location[1024];
    snprintf(location, sizeof location, "%s/time", run);
    if (ozarr_array_open(location, "r", &time)) return failed();
    snprintf(location, sizeof location, "%s/t", run);
    if (ozarr_array_open(location, "r", &t)) return failed();
    for (int64_t step = 0, length = 0; step < STEPS; step++) {
        int64_t start[] = {step, 0, 0}, one[] = {1, N, N};
        double seconds, sum = 0;
        if (step == length) {
            if (ozarr_array_wait_growth(time, 0, step, 60, &length) || ozarr_node_refresh(ozarr_array_node(t))) return failed();
            printf("%d steps are there\n", (int)length);
        }
        if (ozarr_array_read_region(time, start, one, OZARR_FLOAT64, &seconds, sizeof seconds)) return failed();
        if (ozarr_array_read_region(t, start, one, OZARR_FLOAT64, field, sizeof field)) return failed();
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) sum += field[j][i];
        if (step % 16 == 0) printf("  at %4.1f s the mean is %g\n", seconds, sum / (N * N));
    }
    return ozarr_array_close(t) || ozarr_array_close(time) ? failed() : 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "write") == 0) return write_run(argv[2]);
    if (argc == 3 && strcmp(argv[1], "follow") == 0) return follow_run(argv[2]);
    printf("usage: timeseries write|follow OUT.zarr\n");
    return 2;
}
