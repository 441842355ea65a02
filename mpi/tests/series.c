/* The coordinate of a series: a value that it cannot hold is refused with its step, and all that was taken is published; points in time.
 *
 *   series FOLDER */
#include "check.h"

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
    if (status == OZARR_OK) status = ozarr_dataset_define_variable_ex(ds, "time", &v, OZARR_CREATE_NEW, NULL);
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

int main(int argc, char **argv) {
    begin_ranks(&argc, &argv);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    values_that_do_not_fit();
    points_in_time();
    OK(ozarr_mpi_close(m));
    return end_ranks();
}
