/* Output that costs a simulation almost nothing: the 3-D heat equation computes the next steps while the last one is compressed and
 * stored. Nothing is copied for it: of three buffers one is written from, and the computation goes on between the other two.
 *
 *     overlap OUT [steps] [n]
 *
 * runs the same steps three times: without output, with blocking writes, with requests; and prints how much of the time of the
 * blocking writes was hidden. It takes a core that has nothing else to do. The output of the last step has nothing left to hide behind:
 * of n steps at most (n - 1) / n can be hidden. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <ozarr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUBSTEPS = 40 };
enum how { NO_OUTPUT, BLOCKING, REQUESTS };

static void check(ozarr_status status) {
    if (status == OZARR_OK) return;
    fprintf(stderr, "overlap: %s\n", ozarr_last_error());
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One step from `a` to `b`; the walls stay as they are. */
static void advance(const double *a, double *b, int64_t n) {
    for (int64_t z = 1; z < n - 1; z++)
        for (int64_t y = 1; y < n - 1; y++)
            for (int64_t x = 1, i = (z * n + y) * n + 1; x < n - 1; x++, i++)
                b[i] = a[i] + 0.125 * (a[i - 1] + a[i + 1] + a[i - n] + a[i + n] + a[i - n * n] + a[i + n * n] - 6 * a[i]);
}

/* A buffer that is neither computed from nor written from. */
static int other(int now, int busy) {
    int next = 0;
    while (next == now || next == busy) next++;
    return next;
}

/* Runs all steps and gives the seconds that they took, up to the last byte stored. */
static double run(const char *location, int64_t steps, int64_t n, enum how how) {
    size_t cells = (size_t)(n * n * n), size = cells * sizeof(double);
    double *field[3] = {malloc(size), malloc(size), malloc(size)};
    int now_in = 0, busy = -1;
    int64_t shape[] = {steps, n, n, n}, chunks[] = {1, (n + 3) / 4, n, n}, start[] = {0, 0, 0, 0}, count[] = {1, n, n, n};
    ozarr_array *a = NULL;
    ozarr_request *request = NULL;
    if (!field[0] || !field[1] || !field[2]) exit(1);
    for (size_t i = 0; i < cells; i++) field[0][i] = 300 + 50 * sin((double)i * 0.001);
    memcpy(field[1], field[0], size);
    memcpy(field[2], field[0], size);
    if (how != NO_OUTPUT) check(ozarr_array_create(location, OZARR_FLOAT64, 4, shape, chunks, OZARR_CREATE_OVERWRITE, &a));

    double began = now();
    for (int64_t k = 0; k < steps; k++) {
        for (int s = 0; s < SUBSTEPS; s++) {
            int next = other(now_in, busy);
            advance(field[now_in], field[next], n);
            now_in = next;
        }
        start[0] = k;
        if (how == BLOCKING) check(ozarr_array_write_region(a, start, count, OZARR_FLOAT64, field[now_in], size));
        if (how == REQUESTS) {
            /* When the step before is stored its buffer is free again; this one's is only read until then, which the computation may, too. */
            if (request) check(ozarr_request_wait(request, -1));
            ozarr_request_free(request);
            check(ozarr_array_iwrite_region(a, start, count, OZARR_FLOAT64, field[now_in], size, 0, &request));
            busy = now_in;
        }
    }
    if (request) check(ozarr_request_wait(request, -1));
    ozarr_request_free(request);
    double seconds = now() - began;
    if (a) check(ozarr_array_close(a));
    for (int i = 0; i < 3; i++) free(field[i]);
    return seconds;
}

int main(int argc, char **argv) {
    int64_t steps = argc > 2 ? atoll(argv[2]) : 30, n = argc > 3 ? atoll(argv[3]) : 128;
    if (argc < 2 || steps < 1 || n < 3 || n > 1024) return fprintf(stderr, "usage: overlap OUT [steps] [n]\n"), 2;
    double none = run(argv[1], steps, n, NO_OUTPUT);
    double blocking = run(argv[1], steps, n, BLOCKING);
    double requests = run(argv[1], steps, n, REQUESTS);
    double output = blocking - none, left = requests - none;
    printf("computing alone %.3f s, with blocking writes %.3f s, with requests %.3f s\n", none, blocking, requests);
    printf("output takes %.3f s, of which %.0f %% are hidden behind computing\n", output, output > 0 ? 100 * (1 - left / output) : 0.0);
    check(ozarr_shutdown());
    return 0;
}
