/* The opening of a series: rank 0 opens the dataset, and all ranks the variables along the dimension. */
#include "series.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy_of(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    if (copy != NULL) strcpy(copy, text);
    return copy;
}

static void free_variable(ozarr_mpi *m, variable *v) {
    om_waiting_drop(&v->waiting, v->dim, 0, INT64_MAX);
    om_drop(m, v->array);
    ozarr_array_free(v->array);
    free(v->name);
}

/* Where the number of a variable of that name is among the sorted ones, or would be. */
static size_t place_of(const ozarr_mpi_series *s, const char *name) {
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(s->variables[s->sorted[middle]].name, name) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

variable *om_series_find(const ozarr_mpi_series *s, const char *name) {
    const size_t at = place_of(s, name);
    variable *v = at < s->count ? &s->variables[s->sorted[at]] : NULL;
    return v != NULL && strcmp(v->name, name) == 0 ? v : NULL;
}

/* Adds a variable, for which there is room. */
static void add(ozarr_mpi_series *s, const variable *v) {
    size_t *place = s->sorted + place_of(s, v->name);
    memmove(place + 1, place, (size_t)(s->sorted + s->count - place) * sizeof *place);
    *place = s->count;
    s->variables[s->count++] = *v;
}

void om_series_drop_last(ozarr_mpi *m, ozarr_mpi_series *s) {
    size_t *place = s->sorted + place_of(s, s->variables[s->count - 1].name);
    s->count--;
    memmove(place, place + 1, (size_t)(s->sorted + s->count - place) * sizeof *place);
    free_variable(m, &s->variables[s->count]);
}

void om_series_free(ozarr_mpi *m, ozarr_mpi_series *s) {
    for (size_t i = 0; i < s->count; i++) free_variable(m, &s->variables[i]);
    ozarr_array_free(s->coordinate.array);
    ozarr_group_free(s->group);
    ozarr_series_free(s->own);
    ozarr_dataset_free(s->dataset);
    free(s->variables), free(s->sorted), free(s->values), free(s->location), free(s->dimension);
    free(s);
}

/* The claim of rank 0's series of a variable; empty where the store has locks, or the variable is none of the series'. */
static ozarr_status claim_of(const ozarr_mpi_series *s, const char *name, char *claim, size_t size) {
    ozarr_array *known = NULL;
    ozarr_status status = ozarr_dataset_open_variable(s->dataset, name, &known);
    /* The series takes a variable that came late before its next look. */
    if (status == OZARR_OK && s->m != NULL) status = ozarr_series_declare(s->own, s->published);
    if (status == OZARR_OK) status = ozarr_node_get(ozarr_array_node(known), "claim", claim, size, NULL);
    ozarr_array_free(known);
    return status == OZARR_ERR_NOT_FOUND ? OZARR_OK : status;
}

/* Gives this rank's handle of a variable the claim: where the store has no locks, what ranks put replaces nothing of a series that takes the run
 * over. Collective, within a call. */
static ozarr_status share_claim(ozarr_mpi *m, const ozarr_mpi_series *s, const char *name, ozarr_array *array) {
    char claim[256] = "";
    ozarr_status status = om_agree(m, m->rank == 0 ? claim_of(s, name, claim, sizeof claim) : OZARR_OK, NULL);
    if (status == OZARR_OK) status = om_check("MPI_Bcast", MPI_Bcast(claim, sizeof claim, MPI_CHAR, 0, m->comm));
    return om_agree(m, status == OZARR_OK ? ozarr_node_set(ozarr_array_node(array), "claim", claim) : status, NULL);
}

ozarr_status om_series_open_coordinate(ozarr_mpi_series *s, int64_t steps) {
    int32_t rank = 0;
    ozarr_status status = ozarr_group_open_array(s->group, s->dimension, &s->coordinate.array);
    if (status != OZARR_OK) return status == OZARR_ERR_NOT_FOUND ? OZARR_OK : status;
    status = ozarr_array_rank(s->coordinate.array, &rank);
    if (status == OZARR_OK && rank == 1) {
        char claim[256] = "";
        status = claim_of(s, s->dimension, claim, sizeof claim);
        if (status == OZARR_OK) status = ozarr_node_set(ozarr_array_node(s->coordinate.array), "claim", claim);
        return status == OZARR_OK ? om_coordinate_read(&s->coordinate, steps) : status;
    }
    ozarr_array_free(s->coordinate.array);
    s->coordinate.array = NULL;
    return status;
}

/* Rank 0 opens the dataset and makes its variables equally long. */
static ozarr_status open_dataset(const ozarr_mpi *m, ozarr_mpi_series *s, int64_t keep) {
    ozarr_status status = om_check_place(m, s->location, "r+");
    if (status == OZARR_OK) status = ozarr_dataset_open(s->location, "r+", &s->dataset);
    if (status == OZARR_OK) status = ozarr_series_open(s->dataset, s->dimension, keep, 0, 0, &s->own);
    if (status == OZARR_OK) status = ozarr_series_position(s->own, &s->position, NULL);
    if (status == OZARR_OK) status = ozarr_dataset_open_group(s->dataset, &s->group);
    if (status != OZARR_OK) return status;
    return om_series_open_coordinate(s, s->position);
}

/* A series with its arguments; NULL, and the status, without memory. */
static ozarr_mpi_series *new_series(const char *location, const char *dimension, int64_t publish_every, size_t memory, ozarr_status *status) {
    if (*status != OZARR_OK) return NULL;
    ozarr_mpi_series *s = calloc(1, sizeof *s);
    if (s != NULL) {
        s->location = copy_of(location), s->dimension = copy_of(dimension);
        s->looked = -1, s->publish_every = publish_every, s->memory = memory > INT64_MAX ? INT64_MAX : (int64_t)memory;
        if (s->location != NULL && s->dimension != NULL) return s;
        free(s->location), free(s->dimension), free(s);
    }
    *status = om_error(OZARR_ERR_NO_MEMORY, "a series");
    return NULL;
}

/* Which dimension of a variable is the series'. */
static ozarr_status find_dimension(const ozarr_mpi_series *s, variable *v) {
    char name[1024];
    int64_t chunk[PLAN_MAX_RANK];
    ozarr_status status = ozarr_array_rank(v->array, &v->rank);
    for (int32_t d = 0; d < v->rank && status == OZARR_OK; d++) {
        bool named = false;
        status = ozarr_array_dimension_name(v->array, d, name, sizeof name, NULL, &named);
        if (status == OZARR_OK && named && strcmp(name, s->dimension) == 0) {
            status = ozarr_array_chunk_shape(v->array, chunk);
            v->dim = d, v->depth = chunk[d];
            v->last = v->rank == 1 && strcmp(v->name, s->dimension) == 0 && om_can_wait(v->array);
            v->waits = v->last || (v->depth > 1 && om_can_wait(v->array));
            return status;
        }
    }
    return status != OZARR_OK ? status : om_error(OZARR_ERR_ARGUMENT, "variable %.200s does not have dimension %.200s", v->name, s->dimension);
}

/* Opens a variable of the dataset on rank 0; the dataset looks for one that was defined since. */
static ozarr_status open_variable(const ozarr_mpi_series *s, const char *name, ozarr_array **out) {
    ozarr_array *known = NULL;
    const ozarr_status status = ozarr_dataset_open_variable(s->dataset, name, &known);
    ozarr_array_free(known);
    return status == OZARR_OK ? ozarr_group_open_array(s->group, name, out) : status;
}

ozarr_status om_series_add(ozarr_mpi *m, ozarr_mpi_series *s, const char *name) {
    variable v = {.name = copy_of(name), .waiting = {.bytes = &s->waiting_bytes}}, *more = realloc(s->variables, (s->count + 1) * sizeof *more);
    size_t *numbers = realloc(s->sorted, (s->count + 1) * sizeof *numbers);
    if (more != NULL) s->variables = more;
    if (numbers != NULL) s->sorted = numbers;
    const bool room = more != NULL && numbers != NULL && v.name != NULL;
    ozarr_status status = om_agree(m, room ? OZARR_OK : om_error(OZARR_ERR_NO_MEMORY, "a variable"), NULL);
    if (status == OZARR_OK) {
        if (m->rank == 0) status = open_variable(s, name, &v.array);
        status = om_share(m, status, "r+", &v.array, NULL);
    }
    if (status == OZARR_OK) {
        status = om_agree(m, find_dimension(s, &v), NULL);
        if (status == OZARR_OK) status = share_claim(m, s, name, v.array);
        if (status != OZARR_OK) om_drop(m, v.array), ozarr_array_free(v.array);
    }
    if (status == OZARR_OK) add(s, &v);
    else free(v.name);
    return status;
}

/* The name of a variable of the dataset, to be freed; `*size` is 0 if it is the coordinate, or does not have the dimension. */
static ozarr_status name_along(const ozarr_mpi_series *s, int64_t index, char **name, size_t *size) {
    ozarr_status status = ozarr_dataset_variable(s->dataset, index, NULL, 0, size, NULL);
    if (status != OZARR_OK && status != OZARR_ERR_BUFFER_SIZE) return status;
    variable v = {.name = *name = malloc(*size + 1)};
    if (*name == NULL) return om_error(OZARR_ERR_NO_MEMORY, "the name of a variable");
    status = ozarr_dataset_variable(s->dataset, index, *name, *size + 1, size, NULL);
    if (status == OZARR_OK) status = ozarr_dataset_open_variable(s->dataset, *name, &v.array);
    if (status == OZARR_OK) status = find_dimension(s, &v);
    if (status == OZARR_ERR_ARGUMENT || (v.rank == 1 && strcmp(*name, s->dimension) == 0)) *size = 0;
    ozarr_array_free(v.array);
    return status == OZARR_ERR_ARGUMENT ? OZARR_OK : status;
}

/* Opens all variables along the dimension but the coordinate, on all ranks: those that a step leaves out are filled. Collective, within a call. */
static ozarr_status add_variables(ozarr_mpi *m, ozarr_mpi_series *s) {
    int64_t count = 0;
    ozarr_status status = om_agree(m, m->rank == 0 ? ozarr_dataset_variable_count(s->dataset, &count) : OZARR_OK, NULL);
    if (status == OZARR_OK) status = om_check("MPI_Bcast", MPI_Bcast(&count, 1, MPI_INT64_T, 0, m->comm));
    for (int64_t i = 0; i < count && status == OZARR_OK; i++) {
        char *name = NULL;
        size_t size = 0;
        if (m->rank == 0) status = name_along(s, i, &name, &size);
        status = om_broadcast(m, status, &name, &size);
        if (status == OZARR_OK && size > 0) status = om_series_add(m, s, name);
        free(name);
    }
    return status;
}

ozarr_status ozarr_mpi_series_open(ozarr_mpi *m, const char *location, const char *dimension, int64_t keep, int64_t publish_every, size_t memory,
                                   ozarr_mpi_series **out) {
    char call[OM_MESSAGE];
    fenv_t program;
    ozarr_status status = OZARR_OK;
    om_leave_floats(&program);
    if (location == NULL || dimension == NULL || out == NULL)
        status = om_error(OZARR_ERR_NULL, "%s is NULL", location == NULL ? "location" : dimension == NULL ? "dimension" : "out");
    else if (publish_every < 0)
        status = om_error(OZARR_ERR_ARGUMENT, "publish_every is %" PRId64 ", expected 0 or more", publish_every);
    if (out != NULL) *out = NULL;
    ozarr_mpi_series *s = new_series(location, dimension, publish_every, memory, &status);
    snprintf(call, sizeof call, "ozarr_mpi_series_open of %s along %s, keep %" PRId64 ", publish_every %" PRId64 ", memory %zu",
             OM_CUT(location, 500), OM_CUT(dimension, 500), keep, publish_every, memory);
    status = om_enter(m, status, NULL, call);
    if (status == OZARR_OK) {
        /* Writes that were not waited for are done before steps are cut off: later they would show in those that come again. Their waits tell what
         * failed. */
        const ozarr_status finished = om_finish(m, NULL);
        OM_UNUSED(finished);
        if (m->rank == 0) status = open_dataset(m, s, keep);
        status = om_agree(m, status, NULL);
        if (status == OZARR_OK) status = om_check("MPI_Bcast", MPI_Bcast(&s->position, 1, MPI_INT64_T, 0, m->comm));
        if (status == OZARR_OK) status = add_variables(m, s);
        if (status == OZARR_OK) status = om_agree(m, om_register(s), NULL);
        if (status != OZARR_OK && s != NULL) om_forget(s);
        om_leave(m, status);
    }
    if (s != NULL) s->published = s->position;
    if (status == OZARR_OK) *out = s, s->m = m, m->series++;
    else if (s != NULL) om_series_free(m, s);
    om_enter_floats(&program);
    return status;
}
