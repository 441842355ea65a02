/* Series: all variables of a dataset grow together, a restart goes on behind the last step, and readers see whole steps. */
#include "table.h"
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* The run that a case of the table below is about. */
static char refused[32];

typedef ozarr_status refused_fn(ozarr_series *s);
static ozarr_status twice(ozarr_series *s) {
    float row[NX] = {0};
    OK(ozarr_series_put(s, "t", OZARR_FLOAT32, row, sizeof row));
    return ozarr_series_put(s, "t", OZARR_FLOAT32, row, sizeof row);
}
/* A step with a list of variables of which one is wrong takes none of them. */
static ozarr_status listed(ozarr_series *s, const char *second, size_t bytes, double value) {
    float row[NX] = {0};
    double energy = 0;
    const char *const names[] = {"t", second};
    ozarr_memory memories[] = {OZARR_MEMORY_INIT, OZARR_MEMORY_INIT};
    memories[0].data = row, memories[0].size = sizeof row, memories[0].type = OZARR_FLOAT32;
    memories[1].data = &energy, memories[1].size = bytes, memories[1].type = OZARR_FLOAT64;
    ozarr_status status = ozarr_series_step(s, value, 2, names, memories);
    OK(ozarr_series_put(s, "t", OZARR_FLOAT32, row, sizeof row)); /* keeps the message of the failed call */
    return status;
}
static ozarr_status listed_twice(ozarr_series *s) { return listed(s, "t", 8, 180); }
static ozarr_status listed_unknown(ozarr_series *s) { return listed(s, "energie", 8, 180); }
static ozarr_status listed_too_small(ozarr_series *s) { return listed(s, "energy", 4, 180); }
static ozarr_status listed_back(ozarr_series *s) { return listed(s, "energy", 8, 60); }
static ozarr_status unknown_variable(ozarr_series *s) { return ozarr_series_put(s, "energie", OZARR_FLOAT32, dims, 4); }
static ozarr_status no_time(ozarr_series *s) { return ozarr_series_put(s, "x", OZARR_FLOAT64, dims, 8); }
static ozarr_status too_small(ozarr_series *s) {
    float row[NX - 1] = {0};
    return ozarr_series_put(s, "t", OZARR_FLOAT32, row, sizeof row);
}
static ozarr_status back(ozarr_series *s) { return ozarr_series_step(s, 60, 0, NULL, NULL); }
static ozarr_status same(ozarr_series *s) { return ozarr_series_step(s, 120, 0, NULL, NULL); }
static ozarr_status not_a_number(ozarr_series *s) { return ozarr_series_step(s, NAN, 0, NULL, NULL); }
static ozarr_status fraction(ozarr_series *s) { return ozarr_series_step(s, 180.5, 0, NULL, NULL); }
static ozarr_status second_series(ozarr_series *s) {
    ozarr_dataset *ds = NULL;
    ozarr_series *second = NULL;
    OK(ozarr_dataset_open(refused, "r+", &ds));
    ozarr_status status = ozarr_series_open(ds, "time", 1, 1, 0, &second);
    ozarr_dataset_free(ds);
    CHECK(s != second && second == NULL);
    return status;
}
static ozarr_status other_process(ozarr_series *s) {
    int result = 0;
    pid_t child = fork();
    if (child == 0) {
        ozarr_dataset *ds = NULL;
        ozarr_series *second = NULL;
        if (ozarr_dataset_open(refused, "r+", &ds)) _exit(1);
        _exit(ozarr_series_open(ds, "time", -1, 1, 0, &second) == OZARR_ERR_AGAIN && strstr(ozarr_last_error(), "nothing was changed") ? 0 : 2);
    }
    CHECK(child > 0 && waitpid(child, &result, 0) == child);
    EQUAL(result, 0);
    return second_series(s);
}
/* A program that appends without a series. */
static ozarr_status other_writer(ozarr_series *s) {
    float row[NX] = {0};
    ozarr_array *a = NULL;
    char place[64];
    snprintf(place, sizeof place, "%s/t", refused);
    OK(ozarr_array_open(place, "r+", &a));
    OK(ozarr_array_append(a, 0, 1, OZARR_FLOAT32, row, sizeof row));
    OK(ozarr_array_close(a));
    return ozarr_series_step(s, 180, 0, NULL, NULL);
}
static ozarr_status other_shape(ozarr_series *s) {
    const int64_t wider[] = {3, NX + 1};
    ozarr_array *a = NULL;
    char place[64];
    snprintf(place, sizeof place, "%s/t", refused);
    OK(ozarr_array_open(place, "r+", &a));
    OK(ozarr_array_resize(a, wider, 0));
    OK(ozarr_array_close(a));
    return ozarr_series_step(s, 180, 0, NULL, NULL);
}

/* What goes wrong in a run of three steps says what, and the three steps stay; a series that is opened then goes on. */
static void what_goes_wrong_is_told(void) {
    static const struct {
        const char *name;
        refused_fn *what;
        ozarr_status status;
        const char *says[2];
        int64_t steps; /* that are there afterwards */
    } CASES[] = {
        {"a variable twice in a step", twice, OZARR_ERR_STATE, {"\"t\" has its values of step 3", "end the step"}, 3},
        {"a variable twice in a list", listed_twice, OZARR_ERR_STATE, {"\"t\" has its values of step 3", "end the step"}, 3},
        {"no such variable in a list", listed_unknown, OZARR_ERR_NOT_FOUND, {"energie", "energy"}, 3},
        {"fewer values than a step has in a list", listed_too_small, OZARR_ERR_BUFFER_SIZE, {"8", "the variable \"energy\""}, 3},
        {"a list with a step that goes back", listed_back, OZARR_ERR_ARGUMENT, {"found 60", "more than 120"}, 3},
        {"no such variable", unknown_variable, OZARR_ERR_NOT_FOUND, {"energie", "energy"}, 3},
        {"a variable without the dimension", no_time, OZARR_ERR_NOT_FOUND, {"x", "energy"}, 3},
        {"fewer values than a step has", too_small, OZARR_ERR_BUFFER_SIZE, {"12", "16"}, 3},
        {"a step that goes back", back, OZARR_ERR_ARGUMENT, {"found 60", "more than 120"}, 3},
        {"the same step again", same, OZARR_ERR_ARGUMENT, {"found 120", "step 3"}, 3},
        {"a coordinate that is no number", not_a_number, OZARR_ERR_ARGUMENT, {"NaN", "time"}, 3},
        {"a fraction", fraction, OZARR_ERR_RANGE, {"180.5", "int64"}, 3},
        {"a second series", second_series, OZARR_ERR_AGAIN, {"another series of \"time\"", "nothing was changed"}, 3},
        {"a second process", other_process, OZARR_ERR_AGAIN, {"another series of \"time\"", "when that one is closed"}, 3},
        {"another writer", other_writer, OZARR_ERR_STATE, {"shape [4", "close this one"}, 3},
        {"a shape that changed", other_shape, OZARR_ERR_STATE, {"shape [3, 5]", "expected [3, 4]"}, 3},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ozarr_dataset *ds = NULL;
        ozarr_series *s = NULL;
        int64_t position = -1;
        snprintf(refused, sizeof refused, "refused-%d.zarr", (int)i);
        define(refused, 3);
        OK(ozarr_dataset_open(refused, "r+", &ds));
        OK(ozarr_series_open(ds, "time", -1, 1, 0, &s));
        for (int64_t step = 0; step < 3; step++) put_step(s, step);
        ozarr_status status = CASES[i].what(s);
        const char *said = ozarr_last_error();
        if (status != CASES[i].status || !strstr(said, CASES[i].says[0]) || !strstr(said, CASES[i].says[1])) {
            FAIL("%s: %s: %s", CASES[i].name, ozarr_status_name(status), said);
        }
        ozarr_series_free(s);
        OK(ozarr_dataset_close(ds));
        if (CASES[i].what == other_shape) continue;
        if (CASES[i].what != other_writer) check(refused, CASES[i].steps);
        OK(ozarr_dataset_open(refused, "r+", &ds));
        OK(ozarr_series_open(ds, "time", -1, 1, 0, &s));
        OK(ozarr_series_position(s, &position, NULL));
        EQUAL(position, CASES[i].steps);
        put_step(s, position);
        OK(ozarr_series_close(s));
        OK(ozarr_dataset_close(ds));
        check(refused, CASES[i].steps + 1);
    }
}

int main(void) {
    grow("three.zarr/run", 3);
    grow("two.zarr", 2);
    many_steps_are_few_objects();
    what_goes_wrong_is_told();
    return finish();
}
