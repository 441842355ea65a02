/* Series: values that the coordinate cannot hold are refused with their step, and all that was taken is published; points in time; steps that
 * another program has published stay, and those that were not published leave nothing.
 *
 *   series FOLDER */
#define _GNU_SOURCE /* feenableexcept */
#include "check.h"

#include <fenv.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

static ozarr_mpi *m;

/* What rank 0 makes: a dataset of one field, and a coordinate of this type, or as the description of version 2 says. */
typedef struct coordinate {
    ozarr_type type;
    const char *dtype;
} coordinate;

static ozarr_status define(void *user) {
    const coordinate *c = user;
    const char *const dims[] = {"time", "x"};
    const int64_t none[] = {0};
    ozarr_dataset *ds = NULL;
    ozarr_dtype *dtype = NULL;
    ozarr_spec *spec = NULL;
    ozarr_variable v = OZARR_VARIABLE_INIT;
    ozarr_status status = ozarr_dataset_create("run.zarr", 0, OZARR_CREATE_OVERWRITE, &ds);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "time", 0);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "x", 4);
    if (status == OZARR_OK && c->dtype != NULL) status = ozarr_dtype_parse(c->dtype, 2, &dtype);
    if (status == OZARR_OK && c->dtype != NULL) status = ozarr_spec_new_dtype(dtype, 1, none, &spec);
    v.type = c->type, v.rank = 1, v.dimensions = dims, v.spec = spec;
    const bool late = c->type == OZARR_AS_STORED && c->dtype == NULL;
    if (status == OZARR_OK && !late) status = ozarr_dataset_define_variable_ex(ds, "time", &v, OZARR_CREATE_NEW, NULL);
    if (status == OZARR_OK) status = ozarr_dataset_define_variable(ds, "u", OZARR_FLOAT64, 2, dims, NULL);
    const ozarr_status closed = ds != NULL ? ozarr_dataset_close(ds) : OZARR_OK;
    ozarr_spec_free(spec);
    ozarr_dtype_free(dtype);
    return status == OZARR_OK ? closed : status;
}

static ozarr_mpi_series *open_run(int64_t expected) {
    ozarr_mpi_series *s = NULL;
    int64_t position = -1;
    OK(ozarr_mpi_series_open(m, "run.zarr", "time", -1, 10, 0, &s));
    OK(ozarr_mpi_series_position(s, &position, NULL));
    CHECK(position == expected);
    return s;
}

static void put_field(ozarr_mpi_series *s, double value) {
    const int64_t start = 0, count = rank == 0 ? 4 : 0;
    const double u[4] = {value, value, value, value};
    OK(ozarr_mpi_series_put(m, s, "u", &start, &count, OZARR_FLOAT64, u, sizeof u));
}

/* A value that the coordinate cannot hold is refused on all ranks with nothing taken, whether the coordinate was put before or not. */
static void values_that_do_not_fit(void) {
    static const struct {
        ozarr_type type;
        double wrong;
    } cases[] = {
        {OZARR_INT32, 2147483700.0}, {OZARR_INT16, 40000}, {OZARR_UINT8, 256},   {OZARR_UINT8, 7.5},   {OZARR_INT64, 9.3e18},
        {OZARR_UINT64, 1.9e19},      {OZARR_INT4, 8},      {OZARR_INT4, 6.5},    {OZARR_FLOAT32, 1e39}, {OZARR_FLOAT16, 70000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int put = 0; put < 2; put++) {
            coordinate c = {cases[i].type, NULL};
            const double first = 5;
            double times[3] = {0};
            int64_t position = -1;
            ozarr_array *a = NULL;
            OK(ozarr_mpi_once(m, define, &c));
            ozarr_mpi_series *s = open_run(0);
            put_field(s, 5);
            if (put) OK(ozarr_mpi_series_put(m, s, "time", NULL, NULL, OZARR_FLOAT64, &first, sizeof first));
            OK(ozarr_mpi_series_step(m, s, first));
            put_field(s, 6);
            ERR(OZARR_ERR_RANGE, "rank 0: the coordinate time", ozarr_mpi_series_step(m, s, cases[i].wrong));
            OK(ozarr_mpi_series_position(s, &position, NULL));
            CHECK(position == 1);
            OK(ozarr_mpi_series_step(m, s, 6));
            OK(ozarr_mpi_series_step(m, s, 7));
            OK(ozarr_mpi_series_close(m, s));
            OK(ozarr_array_open("run.zarr/time", "r", &a));
            OK(ozarr_array_read(a, OZARR_FLOAT64, times, sizeof times));
            CHECK(times[0] == 5 && times[1] == 6 && times[2] == 7);
            ozarr_array_free(a);
            MPI_Barrier(MPI_COMM_WORLD);
        }
}

/* A value that the coordinate's type rounds to that of the step before would be twice in it. */
static void values_that_are_rounded_to_one(void) {
    static const struct {
        ozarr_type type;
        double first, same, next;
    } cases[] = {{OZARR_FLOAT32, 16777216, 16777217, 16777218}, {OZARR_FLOAT16, -2048, -2049, -2050}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        coordinate c = {cases[i].type, NULL};
        OK(ozarr_mpi_once(m, define, &c));
        ozarr_mpi_series *s = open_run(0);
        OK(ozarr_mpi_series_step(m, s, cases[i].first));
        ERR(OZARR_ERR_RANGE, "rank 0: the coordinate time cannot tell", ozarr_mpi_series_step(m, s, cases[i].same));
        OK(ozarr_mpi_series_step(m, s, cases[i].next));
        OK(ozarr_mpi_series_close(m, s));
    }
}

/* A real that was not set, as compilers for debugging make it: in a program that has traps it ends the program where it is compared. */
static void values_that_trap(void) {
    coordinate c = {OZARR_FLOAT64, NULL};
    const uint64_t bits = 0x7ff0000000000001;
    double unset;
    memcpy(&unset, &bits, sizeof unset);
    OK(ozarr_mpi_once(m, define, &c));
    ozarr_mpi_series *s = open_run(0);
    feenableexcept(FE_INVALID);
    const ozarr_status stepped = ozarr_mpi_series_step(m, s, unset);
    const ozarr_status put = ozarr_mpi_series_put(m, s, "time", NULL, NULL, OZARR_FLOAT64, &unset, sizeof unset);
    CHECK(fegetexcept() == FE_INVALID);
    fedisableexcept(FE_INVALID);
    CHECK(stepped == OZARR_ERR_ARGUMENT && put == OZARR_ERR_ARGUMENT);
    OK(ozarr_mpi_series_close(m, s));
}

/* Values that a program with fast arithmetic takes for 0 are told from each other. */
static void values_that_are_flushed_to_zero(void) {
#ifdef __x86_64__
    enum { FLUSH = 0x8000, ZEROS = 0x40 };
    coordinate c = {OZARR_FLOAT64, NULL};
    double times[2] = {0};
    ozarr_array *a = NULL;
    OK(ozarr_mpi_once(m, define, &c));
    ozarr_mpi_series *s = open_run(0);
    const unsigned as_usual = _mm_getcsr();
    _mm_setcsr(as_usual | FLUSH | ZEROS);
    OK(ozarr_mpi_series_step(m, s, 1e-310));
    OK(ozarr_mpi_series_step(m, s, 2e-310));
    _mm_setcsr(as_usual);
    OK(ozarr_mpi_series_close(m, s));
    OK(ozarr_array_open("run.zarr/time", "r", &a));
    OK(ozarr_array_read(a, OZARR_FLOAT64, times, sizeof times));
    CHECK(times[0] == 1e-310 && times[1] == 2e-310);
    ozarr_array_free(a);
    MPI_Barrier(MPI_COMM_WORLD);
#endif
}

static ozarr_status put_time(ozarr_mpi_series *s, ozarr_type type, const void *value, size_t size) {
    return ozarr_mpi_series_put(m, s, "time", NULL, NULL, type, value, size);
}

static ozarr_status put_number(ozarr_mpi_series *s, double value) { return put_time(s, OZARR_FLOAT64, &value, sizeof value); }

/* A number that is put goes on as the value of a step does, also behind a restart. */
static void numbers_that_are_put_go_on_as_those_of_steps(void) {
    static const ozarr_type types[] = {OZARR_FLOAT64, OZARR_FLOAT32, OZARR_INT32};
    for (int k = 0; k < 12; k++) {
        const double up = k % 2 == 0 ? 1 : -1;
        coordinate c = {types[k % 3], NULL};
        double times[5] = {0};
        ozarr_array *a = NULL;
        OK(ozarr_mpi_once(m, define, &c));
        ozarr_mpi_series *s = open_run(0);
        OK(ozarr_mpi_series_step(m, s, 10 * up));
        OK(ozarr_mpi_series_step(m, s, 20 * up));
        ERR(OZARR_ERR_ARGUMENT, "that of the step before", put_number(s, 15 * up));
        ERR(OZARR_ERR_ARGUMENT, "that of the step before", put_number(s, 20 * up));
        OK(put_number(s, 30 * up));
        OK(ozarr_mpi_series_step(m, s, 0));
        if (k >= 6) {
            OK(ozarr_mpi_series_close(m, s));
            s = open_run(3);
        }
        ERR(OZARR_ERR_ARGUMENT, "rank 0: found", ozarr_mpi_series_step(m, s, 25 * up));
        ERR(OZARR_ERR_ARGUMENT, "NaN", put_number(s, NAN));
        put_field(s, 5);
        /* What is refused is not remembered. */
        OK(ozarr_mpi_series_step(m, s, 40 * up));
        OK(put_number(s, 50 * up));
        OK(ozarr_mpi_series_step(m, s, 0));
        OK(ozarr_mpi_series_close(m, s));
        OK(ozarr_array_open("run.zarr/time", "r", &a));
        OK(ozarr_array_read(a, OZARR_FLOAT64, times, sizeof times));
        for (int i = 0; i < 5; i++) CHECK(times[i] == 10 * (i + 1) * up);
        ozarr_array_free(a);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static ozarr_status define_time(void *unused) {
    const char *const dims[] = {"time"};
    ozarr_dataset *ds = NULL;
    (void)unused;
    ozarr_status status = ozarr_dataset_open("run.zarr", "r+", &ds);
    if (status == OZARR_OK) status = ozarr_dataset_define_variable(ds, "time", OZARR_FLOAT64, 1, dims, NULL);
    const ozarr_status closed = ds != NULL ? ozarr_dataset_close(ds) : OZARR_OK;
    return status == OZARR_OK ? closed : status;
}

/* A coordinate that was defined since the series was opened is one from its first value on. */
static void numbers_of_a_coordinate_that_came_late(void) {
    coordinate none = {OZARR_AS_STORED, NULL};
    double times[3] = {0};
    ozarr_array *a = NULL;
    OK(ozarr_mpi_once(m, define, &none));
    ozarr_mpi_series *s = open_run(0);
    OK(ozarr_mpi_once(m, define_time, NULL));
    OK(put_number(s, 30));
    OK(ozarr_mpi_series_step(m, s, 0));
    ERR(OZARR_ERR_ARGUMENT, "NaN", put_number(s, NAN));
    ERR(OZARR_ERR_ARGUMENT, "that of the step before", put_number(s, 30));
    OK(put_number(s, 20));
    OK(ozarr_mpi_series_step(m, s, 0));
    ERR(OZARR_ERR_ARGUMENT, "that of the step before", put_number(s, 25));
    ERR(OZARR_ERR_ARGUMENT, "that of the step before", ozarr_mpi_series_step(m, s, 25));
    OK(ozarr_mpi_series_step(m, s, 10));
    OK(ozarr_mpi_series_close(m, s));
    OK(ozarr_array_open("run.zarr/time", "r", &a));
    OK(ozarr_array_read(a, OZARR_FLOAT64, times, sizeof times));
    CHECK(times[0] == 30 && times[1] == 20 && times[2] == 10);
    ozarr_array_free(a);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A coordinate that is defined behind steps takes the values of those that wait, and goes on from them. In what was published before it has the fill value. */
static void numbers_of_a_coordinate_that_came_behind_steps(void) {
    coordinate none = {OZARR_AS_STORED, NULL};
    OK(ozarr_mpi_once(m, define, &none));
    ozarr_mpi_series *s = open_run(0);
    for (int step = 1; step < 3; step++) {
        put_field(s, step);
        OK(ozarr_mpi_series_step(m, s, step));
    }
    OK(ozarr_mpi_once(m, define_time, NULL));
    ERR(OZARR_ERR_ARGUMENT, "that of the step before", put_number(s, 0.5));
    OK(put_number(s, 3));
    OK(ozarr_mpi_series_step(m, s, 0));
    ERR(OZARR_ERR_ARGUMENT, "that of the step before", put_number(s, 2.5));
    OK(ozarr_mpi_series_close(m, s));
    OK(ozarr_mpi_once(m, define, &none));
    s = open_run(0);
    put_field(s, 1);
    OK(ozarr_mpi_series_step(m, s, 0));
    OK(ozarr_mpi_series_flush(m, s));
    OK(ozarr_mpi_once(m, define_time, NULL));
    OK(put_number(s, 10));
    OK(ozarr_mpi_series_step(m, s, 0));
    OK(ozarr_mpi_series_close(m, s));
    s = open_run(2);
    OK(ozarr_mpi_series_step(m, s, 5));
    ERR(OZARR_ERR_ARGUMENT, "expected less than", ozarr_mpi_series_step(m, s, 7));
    OK(ozarr_mpi_series_close(m, s));
}

/* Numbers are compared as the coordinate has them; of integers that a double cannot tell from each other all are taken. */
static void numbers_that_are_put_in_another_type(void) {
    coordinate c = {OZARR_FLOAT32, NULL};
    const float as_stored = 0.1f, next = 0.2f;
    const double rounded = 0.1;
    OK(ozarr_mpi_once(m, define, &c));
    ozarr_mpi_series *s = open_run(0);
    OK(put_number(s, rounded));
    OK(ozarr_mpi_series_step(m, s, 0));
    ERR(OZARR_ERR_ARGUMENT, "that of the step before", put_time(s, OZARR_FLOAT32, &as_stored, sizeof as_stored));
    ERR(OZARR_ERR_RANGE, "cannot tell", put_number(s, rounded));
    ERR(OZARR_ERR_RANGE, "cannot tell", ozarr_mpi_series_step(m, s, rounded));
    OK(put_time(s, OZARR_AS_STORED, &next, sizeof next));
    OK(ozarr_mpi_series_step(m, s, 0));
    ERR(OZARR_ERR_ARGUMENT, "that of the step before", put_number(s, 0.15));
    OK(ozarr_mpi_series_close(m, s));
    c.type = OZARR_INT64;
    OK(ozarr_mpi_once(m, define, &c));
    s = open_run(0);
    for (int64_t now = ((int64_t)1 << 54) + 5; now > ((int64_t)1 << 54) + 2; now--) {
        OK(put_time(s, OZARR_INT64, &now, sizeof now));
        OK(ozarr_mpi_series_step(m, s, 0));
    }
    OK(ozarr_mpi_series_close(m, s));
}

/* Points in time are put, and no numbers: a dataset with steps is opened again, and a step whose point in time was not put is not taken. */
static void points_in_time(void) {
    coordinate c = {0, "<M8[s]"};
    int64_t times[4] = {0};
    ozarr_array *a = NULL;
    OK(ozarr_mpi_once(m, define, &c));
    for (int64_t k = 0; k < 4; k++) {
        const int64_t now = 1700000000 + k;
        ozarr_mpi_series *s = open_run(k);
        put_field(s, (double)k);
        ERR(OZARR_ERR_TYPE, "rank 0: ", ozarr_mpi_series_step(m, s, (double)k));
        OK(ozarr_mpi_series_put(m, s, "time", NULL, NULL, OZARR_INT64, &now, sizeof now));
        OK(ozarr_mpi_series_step(m, s, (double)k));
        OK(ozarr_mpi_series_close(m, s));
    }
    OK(ozarr_array_open("run.zarr/time", "r", &a));
    OK(ozarr_array_read(a, OZARR_INT64, times, sizeof times));
    for (int64_t k = 0; k < 4; k++) CHECK(times[k] == 1700000000 + k);
    ozarr_array_free(a);
}

/* Rank 0 makes a dataset of a field whose chunks have so many steps (`user`), without a coordinate where it is negative. */
static ozarr_status define_field(void *user) {
    const char *const dims[] = {"time", "x"};
    const int64_t depth = *(const int64_t *)user, chunks[] = {depth < 0 ? -depth : depth, 2};
    ozarr_dataset *ds = NULL;
    ozarr_variable v = OZARR_VARIABLE_INIT;
    ozarr_status status = ozarr_dataset_create("field.zarr", 0, OZARR_CREATE_OVERWRITE, &ds);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "time", 0);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "x", 12);
    if (status == OZARR_OK && depth > 0) status = ozarr_dataset_define_variable(ds, "time", OZARR_FLOAT64, 1, dims, NULL);
    v.type = OZARR_INT32, v.rank = 2, v.dimensions = dims, v.chunks = chunks;
    if (status == OZARR_OK) status = ozarr_dataset_define_variable_ex(ds, "u", &v, OZARR_CREATE_NEW, NULL);
    const ozarr_status closed = ds != NULL ? ozarr_dataset_close(ds) : OZARR_OK;
    return status == OZARR_OK ? closed : status;
}

/* Rank 0 makes the dataset so long (`user`), as another program. */
static ozarr_status lengthen(void *user) {
    ozarr_dataset *ds = NULL;
    ozarr_status status = ozarr_dataset_open("field.zarr", "r+", &ds);
    if (status == OZARR_OK) status = ozarr_dataset_resize_dimension(ds, "time", *(const int64_t *)user);
    const ozarr_status closed = ds != NULL ? ozarr_dataset_close(ds) : OZARR_OK;
    return status == OZARR_OK ? closed : status;
}

/* Each rank gives its part of a step. */
static ozarr_status put_part(ozarr_mpi_series *s, int32_t value) {
    const int64_t start = 12 * rank / ranks, count = 12 * (rank + 1) / ranks - start;
    int32_t u[12];
    for (int i = 0; i < 12; i++) u[i] = value;
    return ozarr_mpi_series_put(m, s, "u", &start, &count, OZARR_INT32, u, sizeof u);
}

/* The dataset is so long, and its steps have the value of `first`, as many as these are, and then 0. */
static void check_field(int64_t length, int64_t steps, int32_t first) {
    ozarr_dataset *ds = NULL;
    ozarr_array *a = NULL;
    int64_t found = -1;
    int32_t u[20 * 12];
    MPI_Barrier(MPI_COMM_WORLD);
    OK(ozarr_dataset_open("field.zarr", "r", &ds));
    OK(ozarr_dataset_dimension_length(ds, "time", &found, NULL));
    CHECK(found == length);
    OK(ozarr_dataset_open_variable(ds, "u", &a));
    if (length > 0 && found == length) OK(ozarr_array_read(a, OZARR_INT32, u, (size_t)length * 12 * sizeof *u));
    for (int64_t i = 0; i < 12 * length && found == length; i++)
        if (u[i] != (i / 12 < steps ? first : 0)) FAIL("step %d has %d", (int)i / 12, (int)u[i]), i = 12 * length;
    ozarr_array_free(a);
    OK(ozarr_dataset_close(ds));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A series that another program was faster than stores nothing, and cuts nothing off. */
static void another_program(void) {
    for (int64_t depth = -4; depth <= 4; depth += depth == -1 ? 2 : 1)
        for (int64_t every = 0; every < 3; every++) {
            int64_t longer = 9, position = -1, published = -1;
            ozarr_mpi_series *s = NULL;
            OK(ozarr_mpi_once(m, define_field, &depth));
            OK(ozarr_mpi_series_open(m, "field.zarr", "time", -1, every, 0, &s));
            for (int k = 0; k < 4; k++) {
                OK(put_part(s, 5));
                OK(ozarr_mpi_series_step(m, s, k));
            }
            OK(ozarr_mpi_series_flush(m, s));
            OK(ozarr_mpi_once(m, lengthen, &longer));
            /* Steps that wait are found when they are stored. */
            ozarr_status status = put_part(s, 7);
            if (status == OZARR_OK) status = ozarr_mpi_series_step(m, s, 4);
            if (status == OZARR_OK) status = ozarr_mpi_series_flush(m, s);
            CHECK(status == OZARR_ERR_STATE && same_everywhere(ozarr_last_error()));
            OK(ozarr_mpi_series_position(s, &position, &published));
            CHECK(published == 4);
            status = ozarr_mpi_series_close(m, s);
            CHECK(status == (position > 4 ? OZARR_ERR_STATE : OZARR_OK));
            check_field(9, 4, 5);
        }
}

/* What was stored of steps that are not published does not show when the dataset becomes longer. */
static void unpublished(void) {
    for (int64_t depth = 1; depth <= 4; depth++)
        for (int blocked = 0; blocked < 2; blocked++) {
            int64_t longer = 12;
            ozarr_mpi_series *s = NULL;
            OK(ozarr_mpi_once(m, define_field, &depth));
            OK(ozarr_mpi_series_open(m, "field.zarr", "time", -1, blocked ? 100 : 1, 0, &s));
            for (int k = 0; k < 2; k++) {
                OK(put_part(s, 5));
                OK(ozarr_mpi_series_step(m, s, k));
            }
            OK(ozarr_mpi_series_flush(m, s));
            for (int k = 2; k < 9 && blocked; k++) {
                OK(put_part(s, 6));
                OK(ozarr_mpi_series_step(m, s, k));
            }
            OK(put_part(s, 7));
            MPI_Barrier(MPI_COMM_WORLD);
            /* The coordinate cannot be stored. */
            if (blocked && rank == 0) CHECK(rename("field.zarr/time/c", "kept") == 0);
            FILE *file = blocked && rank == 0 ? fopen("field.zarr/time/c", "w") : NULL;
            CHECK(!blocked || rank != 0 || (file != NULL && fclose(file) == 0));
            MPI_Barrier(MPI_COMM_WORLD);
            CHECK((ozarr_mpi_series_close(m, s) == OZARR_OK) == !blocked);
            MPI_Barrier(MPI_COMM_WORLD);
            if (blocked && rank == 0) CHECK(remove("field.zarr/time/c") == 0 && rename("kept", "field.zarr/time/c") == 0);
            check_field(2, 2, 5);
            OK(ozarr_mpi_once(m, lengthen, &longer));
            check_field(12, 2, 5);
        }
}

/* What some ranks have stored of a step in a put that failed does not show, either: the series is closed, and the dataset becomes longer. */
static void unpublished_by_a_put_that_failed(void) {
    int64_t depth = 1, longer = 4;
    ozarr_mpi_series *s = NULL;
    const int64_t start = 12 * rank / ranks, count = 12 * (rank + 1) / ranks - start;
    double u[12];
    OK(ozarr_mpi_once(m, define_field, &depth));
    OK(ozarr_mpi_series_open(m, "field.zarr", "time", -1, 1, 0, &s));
    OK(put_part(s, 5));
    OK(ozarr_mpi_series_step(m, s, 0));
    for (int i = 0; i < 12; i++) u[i] = rank == ranks - 1 ? 1e12 : 77;
    ERR(OZARR_ERR_RANGE, "", ozarr_mpi_series_put(m, s, "u", &start, &count, OZARR_FLOAT64, u, sizeof u));
    OK(ozarr_mpi_series_close(m, s));
    check_field(1, 1, 5);
    OK(ozarr_mpi_once(m, lengthen, &longer));
    check_field(4, 1, 5);
}

/* Nor does it where the step is given other values, and a rank gives none of those: that has the fill value. */
static void less_than_a_put_that_failed(void) {
    for (int64_t depth = 1; depth < 4; depth++) {
        const int64_t start = 12 * rank / ranks, count = 12 * (rank + 1) / ranks - start, none = 0;
        ozarr_mpi_series *s = NULL;
        double u[12];
        OK(ozarr_mpi_once(m, define_field, &depth));
        OK(ozarr_mpi_series_open(m, "field.zarr", "time", -1, 1, 0, &s));
        for (int k = 0; k < 3; k++) {
            OK(put_part(s, 5));
            OK(ozarr_mpi_series_step(m, s, k));
        }
        for (int i = 0; i < 12; i++) u[i] = rank == 0 && i == 0 ? 1e12 : 77;
        ERR(OZARR_ERR_RANGE, "", ozarr_mpi_series_put(m, s, "u", &start, &count, OZARR_FLOAT64, u, sizeof u));
        u[0] = 0;
        OK(ozarr_mpi_series_put(m, s, "u", &none, &none, OZARR_FLOAT64, u, sizeof u));
        OK(ozarr_mpi_series_step(m, s, 3));
        OK(ozarr_mpi_series_close(m, s));
        check_field(4, 3, 5);
    }
}

/* Boxes of two ranks that overlap are refused when they are given, also where they wait; the steps before and behind are published. */
static void overlapping_boxes(void) {
    int64_t depth = 4;
    ozarr_mpi_series *s = NULL;
    if (ranks == 1) return;
    OK(ozarr_mpi_once(m, define_field, &depth));
    OK(ozarr_mpi_series_open(m, "field.zarr", "time", -1, 0, 0, &s));
    for (int k = 0; k < 6; k++) {
        const int64_t start = 0, count = rank < 2 ? 2 : 0;
        const int32_t u[2] = {1, 2};
        if (k % 2 == 0) ERR(OZARR_ERR_ARGUMENT, "overlap", ozarr_mpi_series_put(m, s, "u", &start, &count, OZARR_INT32, u, sizeof u));
        OK(put_part(s, 5));
        OK(ozarr_mpi_series_step(m, s, k));
    }
    OK(ozarr_mpi_series_close(m, s));
    check_field(6, 6, 5);
}

/* The ranks are not closed before a series, whose steps wait: nothing of it is lost. */
static void closed_before_the_series(void) {
    int64_t depth = 4;
    ozarr_mpi *own = NULL, *shared = m;
    ozarr_mpi_series *s = NULL;
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &own));
    m = own;
    OK(ozarr_mpi_once(m, define_field, &depth));
    OK(ozarr_mpi_series_open(m, "field.zarr", "time", -1, 0, 0, &s));
    OK(put_part(s, 5));
    OK(ozarr_mpi_series_step(m, s, 1));
    ERR(OZARR_ERR_STATE, "1 series were not closed", ozarr_mpi_close(m));
    OK(put_part(s, 5));
    OK(ozarr_mpi_series_step(m, s, 2));
    OK(ozarr_mpi_series_close(m, s));
    check_field(2, 2, 5);
    /* One that could not be opened does not keep the ranks from being closed. */
    ERR(OZARR_ERR_NOT_FOUND, "", ozarr_mpi_series_open(m, "none.zarr", "time", -1, 0, 0, &s));
    OK(ozarr_mpi_close(m));
    m = shared;
}

static ozarr_status put_whole(ozarr_mpi *with, ozarr_mpi_series *s) {
    const int64_t start = 0, count = 0;
    const int32_t none = 0;
    return ozarr_mpi_series_put(with, s, "u", &start, &count, OZARR_INT32, &none, sizeof none);
}
static ozarr_status step_on(ozarr_mpi *with, ozarr_mpi_series *s) { return ozarr_mpi_series_step(with, s, 2); }

/* A series that others opened is none of these ranks' to write or to close: it stays as it is, and keeps those from being closed that opened it. */
static void of_others(void) {
    static const struct {
        const char *name;
        ozarr_status (*call)(ozarr_mpi *with, ozarr_mpi_series *s);
    } calls[] = {{"put", put_whole}, {"step", step_on}, {"flush", ozarr_mpi_series_flush}, {"close", ozarr_mpi_series_close}};
    int64_t depth = 4;
    ozarr_mpi *own = NULL;
    ozarr_mpi_series *s = NULL;
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &own));
    OK(ozarr_mpi_once(m, define_field, &depth));
    OK(ozarr_mpi_series_open(m, "field.zarr", "time", -1, 0, 0, &s));
    OK(put_part(s, 5));
    OK(ozarr_mpi_series_step(m, s, 1));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const int before = failures;
        int64_t position = 0;
        ERR(OZARR_ERR_ARGUMENT, "the series was not opened by this ozarr_mpi", calls[i].call(own, s));
        OK(ozarr_mpi_series_position(s, &position, NULL));
        CHECK(position == 1);
        if (failures > before) FAIL("behind the %s", calls[i].name);
    }
    ERR(OZARR_ERR_STATE, "1 series were not closed", ozarr_mpi_close(m));
    OK(put_part(s, 5));
    OK(ozarr_mpi_series_step(m, s, 2));
    OK(ozarr_mpi_series_close(m, s));
    check_field(2, 2, 5);
    OK(ozarr_mpi_close(own));
}

int main(int argc, char **argv) {
    begin_ranks(&argc, &argv);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    values_that_do_not_fit();
    values_that_are_rounded_to_one();
    values_that_trap();
    values_that_are_flushed_to_zero();
    numbers_that_are_put_go_on_as_those_of_steps();
    numbers_that_are_put_in_another_type();
    numbers_of_a_coordinate_that_came_late();
    numbers_of_a_coordinate_that_came_behind_steps();
    points_in_time();
    another_program();
    unpublished();
    unpublished_by_a_put_that_failed();
    less_than_a_put_that_failed();
    overlapping_boxes();
    closed_before_the_series();
    of_others();
    OK(ozarr_mpi_close(m));
    return end_ranks();
}
