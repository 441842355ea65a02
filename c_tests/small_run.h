/* A small run for tests of series: its dataset, its steps, and what must be stored after some of them. */
#ifndef SMALL_RUN_H
#define SMALL_RUN_H

#include "table.h"
#include <math.h>

enum { NX = 4, STEPS = 10, DEPTH = 4 };

static const char *const dims[] = {"time", "x"};

/* A run with a field, a number that is given in every third step, and its time. */
static void define(const char *location, int32_t format) {
    ozarr_dataset *ds = NULL;
    ozarr_variable v = OZARR_VARIABLE_INIT;
    const int64_t chunks[] = {DEPTH, NX};
    v.type = OZARR_FLOAT32, v.rank = 2, v.dimensions = dims, v.chunks = chunks, v.units = "K";
    OK(ozarr_dataset_create(location, format, OZARR_CREATE_NEW, &ds));
    OK(ozarr_dataset_define_dimension(ds, "x", NX));
    OK(ozarr_dataset_define_time(ds, "time", 0, 0, "seconds since 2026-01-01", NULL, NULL));
    OK(ozarr_dataset_define_variable_ex(ds, "t", &v, OZARR_CREATE_NEW, NULL));
    OK(ozarr_dataset_define_variable(ds, "energy", OZARR_FLOAT64, 1, dims, NULL));
    OK(ozarr_dataset_close(ds));
}

/* One step, in one call or in several: the field comes from the middle of a larger one, of another type. */
static void put_step(ozarr_series *s, int64_t step) {
    double field[NX + 2], energy = (double)step * 0.5;
    const char *const names[] = {"t", "energy"};
    ozarr_memory memories[] = {OZARR_MEMORY_INIT, OZARR_MEMORY_INIT};
    for (int i = 0; i < NX + 2; i++) field[i] = (double)(10 * step + i - 1);
    memories[0].data = field, memories[0].size = sizeof field, memories[0].offset = sizeof *field, memories[0].type = OZARR_FLOAT64;
    memories[1].data = &energy, memories[1].size = sizeof energy, memories[1].type = OZARR_FLOAT64;
    if (step % 2 == 0) {
        OK(ozarr_series_step(s, 60.0 * (double)step, step % 3 == 0 ? 2 : 1, names, memories));
        return;
    }
    OK(ozarr_series_put_ex(s, "t", &memories[0]));
    if (step % 3 == 0) OK(ozarr_series_put(s, "energy", OZARR_FLOAT64, &energy, sizeof energy));
    OK(ozarr_series_step(s, 60.0 * (double)step, 0, NULL, NULL));
}

static void check(const char *location, int64_t steps) {
    static float t[STEPS * NX];
    static double energy[STEPS];
    static int64_t time[STEPS];
    ozarr_dataset *ds = NULL;
    ozarr_array *a = NULL;
    int64_t length = -1, longest = -1;
    OK(ozarr_dataset_open(location, "r", &ds));
    OK(ozarr_dataset_dimension_length(ds, "time", &length, &longest));
    CHECK(length == steps && longest == steps);
    size_t n = (size_t)steps;
    OK(ozarr_dataset_open_variable(ds, "t", &a));
    OK(ozarr_array_read(a, OZARR_FLOAT32, t, n * NX * sizeof *t));
    ozarr_array_free(a);
    OK(ozarr_dataset_open_variable(ds, "energy", &a));
    OK(ozarr_array_read(a, OZARR_FLOAT64, energy, n * sizeof *energy));
    ozarr_array_free(a);
    OK(ozarr_dataset_open_variable(ds, "time", &a));
    OK(ozarr_array_read(a, OZARR_INT64, time, n * sizeof *time));
    ozarr_array_free(a);
    for (int64_t step = 0; step < steps; step++) {
        EQUAL(time[step], 60 * step);
        CHECK(step % 3 ? isnan(energy[step]) : energy[step] == (double)step * 0.5);
        for (int64_t i = 0; i < NX; i++) CHECK(t[step * NX + i] == (float)(10 * step + i));
    }
    OK(ozarr_dataset_close(ds));
}

#endif
