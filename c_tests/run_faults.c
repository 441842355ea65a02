/* What goes wrong in a run, on either side: each fault has a status and a message that says what is safe to do next; doing that ends with the data
 * of a run that nothing disturbed. */
#include "small_run.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The run that a case of the table below is about. */
static char refused[32];

typedef ozarr_status refused_fn(ozarr_series *s);
static ozarr_status twice(ozarr_series *s) {
    float row[NX] = {0};
    OK(ozarr_series_put(s, "t", OZARR_FLOAT32, row, sizeof row));
    return ozarr_series_put(s, "t", OZARR_FLOAT32, row, sizeof row);
}
/* A step with a list of which one variable is wrong. */
static ozarr_status listed(ozarr_series *s, const char *second, size_t bytes, double value) {
    float row[NX] = {0};
    double energy = 0;
    const char *const names[] = {"t", second};
    ozarr_memory memories[] = {OZARR_MEMORY_INIT, OZARR_MEMORY_INIT};
    memories[0].data = row, memories[0].size = sizeof row, memories[0].type = OZARR_FLOAT32;
    memories[1].data = &energy, memories[1].size = bytes, memories[1].type = OZARR_FLOAT64;
    return ozarr_series_step(s, value, 2, names, memories);
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

/* A program that erases a variable of a run that goes on. */
static ozarr_status erased(ozarr_series *s) {
    char place[64];
    snprintf(place, sizeof place, "%s/t", refused);
    CHECK(s != NULL);
    return ozarr_node_erase(place);
}

/* From now on no file can become longer: the disk is full. */
static void fill_disk(bool full) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = full ? 0 : limit.rlim_max;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}
/* The values of step `step` on a full disk. */
static ozarr_status step_on_full_disk(ozarr_series *s, int64_t step) {
    float row[NX];
    const char *const names[] = {"t"};
    ozarr_memory memory = OZARR_MEMORY_INIT;
    for (int i = 0; i < NX; i++) row[i] = (float)(10 * step + i);
    memory.data = row, memory.size = sizeof row, memory.type = OZARR_FLOAT32;
    fill_disk(true);
    ozarr_status status = ozarr_series_step(s, 60.0 * (double)step, 1, names, &memory);
    fill_disk(false);
    return status;
}
/* The fourth step makes a chunk whole, which is stored before the step is taken. */
static ozarr_status full_while_put(ozarr_series *s) { return step_on_full_disk(s, 3); }
/* The fifth step waits in memory, and is stored when it is published. */
static ozarr_status full_while_published(ozarr_series *s) {
    put_step(s, 3);
    return step_on_full_disk(s, 4);
}

/* What is safe to do after a fault: the same series goes on, or it is closed and another one is opened. */
enum next { GO_ON, REOPEN, NOTHING };

/* What goes wrong in a run of three steps says what, the steps stay, and what is safe next ends with the right data. */
static void faults_of_the_writer_say_what_is_safe_next(void) {
    static const struct {
        const char *name;
        refused_fn *what;
        ozarr_status status;
        const char *says[2];
        int64_t steps; /* that the series has then */
        enum next next;
        int64_t every; /* 0: each step is published */
    } CASES[] = {
        {"a variable twice in a step", twice, OZARR_ERR_STATE, {"\"t\" has its values of step 3", "end the step"}, 3, REOPEN, 0},
        {"a variable twice in a list", listed_twice, OZARR_ERR_STATE, {"\"t\" has its values of step 3", "end the step"}, 3, GO_ON, 0},
        {"no such variable in a list", listed_unknown, OZARR_ERR_NOT_FOUND, {"energie", "energy"}, 3, GO_ON, 0},
        {"fewer values than a step has in a list", listed_too_small, OZARR_ERR_BUFFER_SIZE, {"8", "the variable \"energy\""}, 3, GO_ON, 0},
        {"a list with a step that goes back", listed_back, OZARR_ERR_ARGUMENT, {"found 60", "more than 120"}, 3, GO_ON, 0},
        {"no such variable", unknown_variable, OZARR_ERR_NOT_FOUND, {"energie", "energy"}, 3, GO_ON, 0},
        {"a variable without the dimension", no_time, OZARR_ERR_NOT_FOUND, {"x", "energy"}, 3, GO_ON, 0},
        {"fewer values than a step has", too_small, OZARR_ERR_BUFFER_SIZE, {"12", "16"}, 3, GO_ON, 0},
        {"a step that goes back", back, OZARR_ERR_ARGUMENT, {"found 60", "more than 120"}, 3, GO_ON, 0},
        {"the same step again", same, OZARR_ERR_ARGUMENT, {"found 120", "step 3"}, 3, GO_ON, 0},
        {"a coordinate that is no number", not_a_number, OZARR_ERR_ARGUMENT, {"NaN", "time"}, 3, GO_ON, 0},
        {"a fraction", fraction, OZARR_ERR_RANGE, {"180.5", "int64"}, 3, GO_ON, 0},
        {"a second series", second_series, OZARR_ERR_AGAIN, {"another series of \"time\"", "nothing was changed"}, 3, GO_ON, 0},
        {"a second process", other_process, OZARR_ERR_AGAIN, {"another series of \"time\"", "when that one is closed"}, 3, GO_ON, 0},
        {"the disk is full while a step is put", full_while_put, OZARR_ERR_NO_SPACE, {"\"t\" of step 3", "give them again"}, 3, GO_ON, 100},
        {"the disk is full while steps are published", full_while_published, OZARR_ERR_NO_SPACE, {"4 steps", "the next step, flush or close"}, 5, GO_ON, 0},
        {"another writer", other_writer, OZARR_ERR_STATE, {"shape [4", "close this series"}, 4, REOPEN, 0},
        {"a shape that changed", other_shape, OZARR_ERR_STATE, {"shape [3, 5]", "expected [3, 4]"}, 4, NOTHING, 0},
        {"a variable that is erased", erased, OZARR_ERR_AGAIN, {"a series of \"time\"", "nothing was changed"}, 3, GO_ON, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ozarr_dataset *ds = NULL;
        ozarr_series *s = NULL;
        int64_t position = -1;
        snprintf(refused, sizeof refused, "refused-%d.zarr", (int)i);
        define(refused, 3);
        OK(ozarr_dataset_open(refused, "r+", &ds));
        OK(ozarr_series_open(ds, "time", -1, CASES[i].every ? CASES[i].every : 1, 0, &s));
        for (int64_t step = 0; step < 3; step++) put_step(s, step);
        ozarr_status status = CASES[i].what(s);
        const char *said = ozarr_last_error();
        if (status != CASES[i].status || !strstr(said, CASES[i].says[0]) || !strstr(said, CASES[i].says[1])) {
            FAIL("%s: %s: %s", CASES[i].name, ozarr_status_name(status), said);
        }
        OK(ozarr_series_position(s, &position, NULL));
        if (position != CASES[i].steps) FAIL("%s: the series has %d steps", CASES[i].name, (int)position);
        if (CASES[i].next == GO_ON) put_step(s, position);
        ozarr_series_free(s);
        OK(ozarr_dataset_close(ds));
        if (CASES[i].next == NOTHING) continue;
        OK(ozarr_dataset_open(refused, "r+", &ds));
        OK(ozarr_series_open(ds, "time", CASES[i].what == other_writer ? 3 : -1, 1, 0, &s));
        OK(ozarr_series_position(s, &position, NULL));
        while (position < STEPS) put_step(s, position++);
        OK(ozarr_series_close(s));
        OK(ozarr_dataset_close(ds));
        check(refused, STEPS);
    }
}

static void save(const char *name, int64_t step, ozarr_status expected) {
    const int64_t shape[] = {NX};
    double state[NX];
    ozarr_group *g = NULL;
    for (int i = 0; i < NX; i++) state[i] = (double)(10 * step + i);
    ozarr_status status = ozarr_checkpoint_begin("points.zarr", name, &g);
    if (status == OZARR_OK) status = ozarr_group_put(g, "state", OZARR_FLOAT64, 1, shape, state, sizeof state);
    if (status == OZARR_OK) status = ozarr_attr_set_int64(ozarr_group_node(g), "step", step);
    if (status == OZARR_OK) status = ozarr_checkpoint_commit(g);
    else ozarr_group_free(g);
    EQUAL(status, expected);
}
static void newest(int64_t expected) {
    double state[NX] = {0};
    int64_t step = 0;
    ozarr_group *g = NULL;
    OK(ozarr_checkpoint_latest("points.zarr", &g));
    OK(ozarr_attr_get_int64(ozarr_group_node(g), "step", &step));
    OK(ozarr_group_get(g, "state", OZARR_FLOAT64, state, sizeof state));
    EQUAL(step, expected);
    CHECK(state[1] == (double)(10 * expected + 1));
    ozarr_group_free(g);
}

/* A checkpoint on a full disk leaves the one before, and can be written again when there is room. */
static void a_full_disk_leaves_the_checkpoint_before(void) {
    save("one", 1, OZARR_OK);
    for (int again = 0; again < 2; again++) {
        fill_disk(true);
        save("two", 2, OZARR_ERR_NO_SPACE);
        fill_disk(false);
        newest(1);
    }
    save("two", 2, OZARR_OK);
    newest(2);
}

/* A reader that is faster than the writer waits, reads whole steps, and is told when none came; no step is lost. */
static void a_reader_may_be_faster_than_the_writer(void) {
    ozarr_dataset *ds = NULL;
    ozarr_array *t = NULL;
    int64_t length = 0;
    int result = 0;
    float row[NX];
    define("fast.zarr", 3);
    OK(ozarr_dataset_open("fast.zarr", "r", &ds));
    OK(ozarr_dataset_open_variable(ds, "t", &t));
    ERR_SAYS(OZARR_ERR_TIMEOUT, "expected more than 0", "", ozarr_dataset_wait_growth(ds, "time", 0, 0, &length));
    ERR_SAYS(OZARR_ERR_TIMEOUT, "tmie", "time", ozarr_dataset_wait_growth(ds, "tmie", 0, 0, &length));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "beyond", "-1", ozarr_dataset_wait_growth(ds, "time", -1, 0, &length));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "seconds", "NaN", ozarr_dataset_wait_growth(ds, "time", 0, NAN, &length));
    pid_t child = fork();
    if (child == 0) {
        ozarr_dataset *run = NULL;
        ozarr_series *s = NULL;
        if (ozarr_dataset_open("fast.zarr", "r+", &run) || ozarr_series_open(run, "time", -1, 1, 0, &s)) _exit(1);
        for (int64_t step = 0; step < STEPS; step++) put_step(s, step);
        _exit(ozarr_series_close(s) || ozarr_dataset_close(run) || failures ? 1 : 0);
    }
    for (int64_t step = 0; step < STEPS; step++) {
        const int64_t start[] = {step, 0}, one[] = {1, NX};
        if (step == length) OK(ozarr_dataset_wait_growth(ds, "time", step, 60, &length));
        CHECK(length > step);
        OK(ozarr_array_read_region(t, start, one, OZARR_FLOAT32, row, sizeof row));
        for (int i = 0; i < NX; i++) CHECK(row[i] == (float)(10 * step + i));
    }
    CHECK(child > 0 && waitpid(child, &result, 0) == child);
    EQUAL(result, 0);
    const int64_t beyond[] = {STEPS, 0}, one[] = {1, NX};
    ERR(OZARR_ERR_BOUNDS, ozarr_array_read_region(t, beyond, one, OZARR_FLOAT32, row, sizeof row));
    ERR_SAYS(OZARR_ERR_TIMEOUT, "10 long", "expected more than 10", ozarr_dataset_wait_growth(ds, "time", STEPS, 0, NULL));
    ozarr_array_free(t);
    ozarr_dataset_free(ds);
}

int main(void) {
    signal(SIGXFSZ, SIG_IGN);
    faults_of_the_writer_say_what_is_safe_next();
    a_full_disk_leaves_the_checkpoint_before();
    a_reader_may_be_faster_than_the_writer();
    return finish();
}
