/* The steps of a run: rank 0 makes each variable longer as it is put, and the coordinate, by which a step counts, at the end. */
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A variable. */
typedef struct variable {
    char *name;
    ozarr_array *array;
    int32_t rank, dim; /* which dimension is the series' */
    bool given;        /* in this step */
} variable;

struct ozarr_mpi_series {
    ozarr_dataset *dataset;  /* on rank 0 */
    ozarr_array *coordinate; /* on rank 0; NULL: there is none */
    char *location, *dimension;
    int64_t position;
    variable *variables;
    size_t count;
};

static char *copy_of(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    if (copy != NULL) strcpy(copy, text);
    return copy;
}

static void free_series(ozarr_mpi *m, ozarr_mpi_series *s) {
    for (size_t i = 0; i < s->count; i++) {
        om_drop(m, s->variables[i].array);
        ozarr_array_free(s->variables[i].array);
        free(s->variables[i].name);
    }
    ozarr_array_free(s->coordinate);
    ozarr_dataset_free(s->dataset);
    free(s->variables), free(s->location), free(s->dimension);
    free(s);
}

/* Rank 0 opens the dataset and makes its variables equally long. */
static ozarr_status open_dataset(ozarr_mpi_series *s) {
    int64_t longest = 0;
    ozarr_status status = ozarr_dataset_open(s->location, "r+", &s->dataset);
    if (status == OZARR_OK) status = ozarr_dataset_dimension_length(s->dataset, s->dimension, &s->position, &longest);
    if (status == OZARR_OK && longest != s->position) status = ozarr_dataset_resize_dimension(s->dataset, s->dimension, s->position);
    if (status != OZARR_OK) return status;
    status = ozarr_dataset_open_variable(s->dataset, s->dimension, &s->coordinate);
    return status == OZARR_ERR_NOT_FOUND ? OZARR_OK : status;
}

ozarr_status ozarr_mpi_series_open(ozarr_mpi *m, const char *location, const char *dimension, ozarr_mpi_series **out) {
    char call[OM_MESSAGE];
    ozarr_status status = OZARR_OK;
    if (location == NULL || dimension == NULL || out == NULL)
        status = om_error(OZARR_ERR_NULL, "%s is NULL", location == NULL ? "location" : dimension == NULL ? "dimension" : "out");
    if (out != NULL) *out = NULL;
    ozarr_mpi_series *s = calloc(1, sizeof *s);
    if (s != NULL && status == OZARR_OK) s->location = copy_of(location), s->dimension = copy_of(dimension);
    if (status == OZARR_OK && (s == NULL || s->location == NULL || s->dimension == NULL)) status = om_error(OZARR_ERR_NO_MEMORY, "a series");
    snprintf(call, sizeof call, "ozarr_mpi_series_open of %.500s along %.500s", location ? location : "NULL", dimension ? dimension : "NULL");
    status = om_enter(m, status, NULL, call);
    if (status == OZARR_OK) {
        if (m->rank == 0) status = open_dataset(s);
        status = om_agree(m, status, NULL);
        if (status == OZARR_OK) status = om_check("MPI_Bcast", MPI_Bcast(&s->position, 1, MPI_INT64_T, 0, m->comm));
        if (status == OZARR_OK) status = om_agree(m, om_register(s), NULL);
        if (status != OZARR_OK) om_forget(s);
        om_leave(m, status);
    }
    if (status == OZARR_OK) *out = s;
    else if (s != NULL) free_series(m, s);
    return status;
}

/* Which dimension of a variable is the series'. */
static ozarr_status find_dimension(const ozarr_mpi_series *s, variable *v) {
    char name[1024];
    ozarr_status status = ozarr_array_rank(v->array, &v->rank);
    for (int32_t d = 0; d < v->rank && status == OZARR_OK; d++) {
        bool named = false;
        status = ozarr_array_dimension_name(v->array, d, name, sizeof name, NULL, &named);
        if (status == OZARR_OK && named && strcmp(name, s->dimension) == 0) {
            v->dim = d;
            return OZARR_OK;
        }
    }
    return status != OZARR_OK ? status : om_error(OZARR_ERR_ARGUMENT, "variable %.200s does not have dimension %.200s", v->name, s->dimension);
}

/* Opens a variable on all ranks. Collective, within a call. */
static ozarr_status add_variable(ozarr_mpi *m, ozarr_mpi_series *s, const char *name) {
    variable v = {.name = copy_of(name)}, *more = realloc(s->variables, (s->count + 1) * sizeof *more);
    if (more != NULL) s->variables = more;
    ozarr_status status = om_agree(m, more != NULL && v.name != NULL ? OZARR_OK : om_error(OZARR_ERR_NO_MEMORY, "a variable"), NULL);
    if (status == OZARR_OK) {
        if (m->rank == 0) status = ozarr_dataset_open_variable(s->dataset, name, &v.array);
        status = om_share(m, status, NULL, s->location, "r+", &v.array, NULL);
    }
    if (status == OZARR_OK) {
        status = om_agree(m, find_dimension(s, &v), NULL);
        if (status != OZARR_OK) om_drop(m, v.array), ozarr_array_free(v.array);
    }
    if (status == OZARR_OK) s->variables[s->count++] = v;
    else free(v.name);
    return status;
}

/* Makes a variable one step longer, unless it is that long already. Collective, within a call. */
static ozarr_status make_room(ozarr_mpi *m, const ozarr_mpi_series *s, variable *v) {
    int64_t shape[PLAN_MAX_RANK];
    ozarr_status status = om_agree(m, ozarr_array_shape(v->array, shape), NULL);
    if (status != OZARR_OK || shape[v->dim] > s->position) return status;
    shape[v->dim] = s->position + 1;
    if (m->rank == 0) status = ozarr_array_resize(v->array, shape, 0);
    return om_share_again(m, status, ozarr_array_node(v->array));
}

static variable *find(const ozarr_mpi_series *s, const char *name) {
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->variables[i].name, name) == 0) return &s->variables[i];
    return NULL;
}

/* A region of one step: the series' dimension put between the others. */
static void within_step(const ozarr_mpi_series *s, const variable *v, const int64_t *start, const int64_t *shape, int64_t *from, int64_t *count) {
    for (int32_t d = 0, e = 0; d < v->rank; d++) {
        from[d] = d == v->dim ? s->position : start[e];
        count[d] = d == v->dim ? 1 : shape[e];
        e += d != v->dim;
    }
}

ozarr_status ozarr_mpi_series_put(ozarr_mpi *m, ozarr_mpi_series *series, const char *name, const int64_t *start, const int64_t *shape,
                                  ozarr_type type, const void *data, size_t size) {
    char call[OM_MESSAGE];
    int64_t from[PLAN_MAX_RANK] = {0}, count[PLAN_MAX_RANK] = {0};
    ozarr_status status = om_valid(series, "ozarr_mpi_series");
    if (status == OZARR_OK && name == NULL) status = om_error(OZARR_ERR_NULL, "name is NULL");
    snprintf(call, sizeof call, "ozarr_mpi_series_put of %.500s", name ? name : "NULL");
    status = om_enter(m, status, NULL, call);
    if (status != OZARR_OK) return status;
    if (find(series, name) == NULL) status = add_variable(m, series, name);
    variable *v = find(series, name);
    if (status == OZARR_OK && v->given)
        status = om_agree(m, om_error(OZARR_ERR_STATE, "variable %.200s has its values of step %" PRId64 " already", name, series->position), NULL);
    if (status == OZARR_OK) status = make_room(m, series, v);
    om_leave(m, status);
    if (status != OZARR_OK) return status;
    if (v->rank > 1 && (start == NULL || shape == NULL)) status = om_error(OZARR_ERR_NULL, "%s is NULL", start ? "shape" : "start");
    else within_step(series, v, start, shape, from, count);
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = from, region.shape = count;
    memory.data = (void *)(uintptr_t)data, memory.size = size, memory.type = type;
    status = om_move_all(m, v->array, true, 1, &region, &memory, status);
    v->given = status == OZARR_OK;
    return status;
}

/* Whether a value can be one of a coordinate of that type. */
static ozarr_status check_value(const ozarr_mpi_series *s, double value) {
    ozarr_type type = 0;
    if (s->coordinate == NULL) return OZARR_OK;
    const ozarr_status status = ozarr_array_type(s->coordinate, &type);
    if (status == OZARR_OK && type < OZARR_FLOAT16 && !(value > -9e18 && value < 9e18 && value == (double)(int64_t)value))
        return om_error(OZARR_ERR_RANGE, "the coordinate %.200s has integers, and value is %.17g", s->dimension, value);
    return status;
}

/* Rank 0's part of ending a step: the coordinate, and what was left out. */
static ozarr_status publish(const ozarr_mpi_series *s, double value) {
    const variable *v = find(s, s->dimension);
    ozarr_status status = OZARR_OK;
    if (s->coordinate != NULL && (v == NULL || !v->given))
        status = ozarr_array_append(s->coordinate, 0, 1, OZARR_FLOAT64, &value, sizeof value);
    return status == OZARR_OK ? ozarr_dataset_resize_dimension(s->dataset, s->dimension, s->position + 1) : status;
}

ozarr_status ozarr_mpi_series_step(ozarr_mpi *m, ozarr_mpi_series *series, double value) {
    char call[OM_MESSAGE];
    ozarr_status status = om_valid(series, "ozarr_mpi_series");
    if (status == OZARR_OK) status = check_value(series, value);
    snprintf(call, sizeof call, "ozarr_mpi_series_step with value %.17g", value);
    status = om_enter(m, status, NULL, call);
    if (status != OZARR_OK) return status;
    for (size_t i = 0; i < series->count && status == OZARR_OK; i++)
        if (series->variables[i].given) status = ozarr_node_flush(ozarr_array_node(series->variables[i].array));
    status = om_agree(m, status, NULL);
    if (status != OZARR_OK) return om_leave(m, status);
    if (m->rank == 0) status = publish(series, value);
    status = om_agree(m, status, NULL);
    if (status == OZARR_OK) {
        series->position++;
        for (size_t i = 0; i < series->count; i++) series->variables[i].given = false;
    }
    return om_leave(m, status);
}

ozarr_status ozarr_mpi_series_position(const ozarr_mpi_series *series, int64_t *position) {
    const ozarr_status status = om_valid(series, "ozarr_mpi_series");
    if (status != OZARR_OK) return status;
    if (position == NULL) return om_error(OZARR_ERR_NULL, "position is NULL");
    *position = series->position;
    return status;
}

ozarr_status ozarr_mpi_series_close(ozarr_mpi *m, ozarr_mpi_series *series) {
    ozarr_status status = om_enter(m, om_valid(series, "ozarr_mpi_series"), NULL, "ozarr_mpi_series_close");
    if (status != OZARR_OK) return status;
    om_forget(series);
    bool begun = false;
    for (size_t i = 0; i < series->count; i++) begun |= series->variables[i].given;
    if (m->rank == 0) {
        if (begun) status = ozarr_dataset_resize_dimension(series->dataset, series->dimension, series->position);
        const ozarr_status closed = ozarr_dataset_close(series->dataset);
        if (status == OZARR_OK) status = closed;
        series->dataset = NULL;
    }
    free_series(m, series);
    return om_leave(m, om_agree(m, status, NULL));
}
