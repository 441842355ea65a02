/* Series: all variables of a dataset grow together, a restart goes on behind the last step, and readers see whole steps. */
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

static void grow(const char *location, int32_t format) {
    ozarr_dataset *ds = NULL;
    ozarr_series *s = NULL;
    int64_t position = -1, published = -1, length = -1;
    float row[NX] = {0};
    define(location, format);
    OK(ozarr_dataset_open(location, "r+", &ds));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_series_open(ds, "tmie", -1, 0, 0, &s));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "publish_every", "-1", ozarr_series_open(ds, "time", -1, -1, 0, &s));
    ERR_SAYS(OZARR_ERR_LIMIT, "100", "16448", ozarr_series_open(ds, "time", -1, 0, 100, &s));
    OK(ozarr_series_open(ds, "time", -1, 0, 0, &s));
    for (int64_t step = 0; step < 6; step++) put_step(s, step);
    OK(ozarr_series_position(s, &position, &published));
    CHECK(position == 6 && published == 4);
    OK(ozarr_dataset_dimension_length(ds, "time", &length, NULL));
    EQUAL(length, 4);
    check(location, 4);
    OK(ozarr_series_put(s, "t", OZARR_FLOAT32, row, sizeof row));
    ERR_SAYS(OZARR_ERR_STATE, "\"t\"", "step 6", ozarr_series_put(s, "t", OZARR_FLOAT32, row, sizeof row));
    ERR_SAYS(OZARR_ERR_NOT_FOUND, "energie", "energy", ozarr_series_put(s, "energie", OZARR_FLOAT64, &length, 8));
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "4", "8", ozarr_series_put(s, "energy", OZARR_FLOAT64, row, 4));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "found 300", "more than 300", ozarr_series_step(s, 300, 0, NULL, NULL));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "NaN", "time", ozarr_series_step(s, NAN, 0, NULL, NULL));
    ERR_SAYS(OZARR_ERR_RANGE, "360.5", "int64", ozarr_series_step(s, 360.5, 0, NULL, NULL));
    /* The values of a step that was not ended are not kept. */
    OK(ozarr_series_close(s));
    check(location, 6);
    OK(ozarr_dataset_close(ds));

    /* The run goes on, in another process. */
    OK(ozarr_dataset_open(location, "r+", &ds));
    OK(ozarr_series_open(ds, "time", -1, 1, 0, &s));
    OK(ozarr_dataset_close(ds));
    OK(ozarr_series_position(s, &position, NULL));
    EQUAL(position, 6);
    for (int64_t step = 6; step < STEPS - 1; step++) {
        put_step(s, step);
        check(location, step + 1);
    }
    put_step(s, STEPS - 1);
    ozarr_series_free(s);
    check(location, STEPS);
    OK(ozarr_dataset_open(location, "r", &ds));
    ERR(OZARR_ERR_READ_ONLY, ozarr_series_open(ds, "time", -1, 0, 0, &s));
    OK(ozarr_dataset_close(ds));
}

static ozarr_status count_one(void *user, const char *key) {
    ++*(int64_t *)user;
    return key[0] ? OZARR_OK : OZARR_ERR_NAME;
}

/* A time axis of one number a step has some hundred objects, not one a step. */
static void many_steps_are_few_objects(void) {
    enum { MANY = 100000 };
    ozarr_store *store = NULL;
    ozarr_group *g = NULL;
    ozarr_dataset *ds = NULL;
    ozarr_series *s = NULL;
    int64_t length = 0, objects = 0;
    OK(ozarr_store_memory(&store));
    OK(ozarr_group_create_at(store, "", 0, OZARR_CREATE_NEW, &g));
    OK(ozarr_group_open_dataset(g, &ds));
    OK(ozarr_dataset_define_time(ds, "time", 0, 0, "seconds since 2026-01-01", NULL, NULL));
    OK(ozarr_series_open(ds, "time", -1, 0, 0, &s));
    for (int64_t step = 0; step < MANY; step++) OK(ozarr_series_step(s, (double)step, 0, NULL, NULL));
    OK(ozarr_series_close(s));
    OK(ozarr_dataset_dimension_length(ds, "time", &length, NULL));
    EQUAL(length, MANY);
    OK(ozarr_dataset_close(ds));
    ozarr_group_free(g);
    OK(ozarr_store_key_list(store, "", count_one, &objects));
    CHECK(objects > 2 && objects <= 100);
    OK(ozarr_store_close(store));
}

int main(void) {
    grow("three.zarr/run", 3);
    grow("two.zarr", 2);
    many_steps_are_few_objects();
    return finish();
}
