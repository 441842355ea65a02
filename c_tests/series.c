/* Series: all variables of a dataset grow together, a restart goes on behind the last step, and readers see whole steps. */
#include "small_run.h"

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
    ERR_SAYS(OZARR_ERR_RANGE, "360.5", "define the coordinate as float64", ozarr_series_step(s, 360.5, 0, NULL, NULL));
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

/* The way that the message of a value with a fraction, and docs/timesteps.md, name. */
static void values_with_fractions(void) {
    static const char *const dims[] = {"time"}, *const names[] = {"t"};
    ozarr_dataset *ds = NULL;
    ozarr_series *s = NULL;
    ozarr_variable axis = OZARR_VARIABLE_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    float value = 1;
    double days[2] = {0};
    ozarr_array *time = NULL;
    axis.type = OZARR_FLOAT64, axis.rank = 1, axis.dimensions = dims, axis.units = "days since 2026-01-01", axis.calendar = "noleap", axis.standard_name = "time";
    memory.data = &value, memory.size = sizeof value, memory.type = OZARR_FLOAT32;
    for (int start = 0; start < 2; start++) {
        OK(ozarr_dataset_create("fractions.zarr", 0, OZARR_CREATE_OPEN_IF_SAME, &ds));
        OK(ozarr_dataset_define_dimension(ds, "time", 0));
        OK(ozarr_dataset_define_variable_ex(ds, "time", &axis, OZARR_CREATE_NEW, NULL));
        OK(ozarr_dataset_define_variable(ds, "t", OZARR_FLOAT32, 1, dims, NULL));
        OK(ozarr_series_open(ds, "time", -1, 0, 0, &s));
        OK(ozarr_series_step(s, 0.5 + start, 1, names, &memory));
        OK(ozarr_series_close(s));
        OK(ozarr_dataset_close(ds));
    }
    OK(ozarr_array_open("fractions.zarr/time", "r", &time));
    OK(ozarr_array_read(time, OZARR_FLOAT64, days, sizeof days));
    CHECK(days[0] == 0.5 && days[1] == 1.5);
    ozarr_array_free(time);
}

int main(void) {
    grow("three.zarr/run", 3);
    grow("two.zarr", 2);
    many_steps_are_few_objects();
    values_with_fractions();
    return finish();
}
