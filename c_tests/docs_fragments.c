/* The C blocks of docs/ that are no whole programs, each in a function of its own, with the variables that they take for granted. They are compiled. */
#include <ozarr_advanced.h>
#include <stdlib.h>

int asynchronous(ozarr_array *a, int64_t steps, int64_t *start, const int64_t *count, size_t size);
int appending(ozarr_array *t, int steps);
int fractions(ozarr_dataset *ds);
void compute(double **u, int *now, int busy);

static void check(ozarr_status status) {
    if (status) exit(1);
}

int asynchronous(ozarr_array *a, int64_t steps, int64_t *start, const int64_t *count, size_t size) {
#include "asynchronous_1.inc"
    return 0;
}

int fractions(ozarr_dataset *ds) {
#include "timesteps_2.inc"
    return 0;
fail:
    return 1;
}

int appending(ozarr_array *t, int steps) {
    static double field[16];
#include "timesteps_3.inc"
    return 0;
fail:
    return 1;
}
