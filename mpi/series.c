/* The steps of a run: boxes of a step wait until their chunks are whole. They are stored behind the end of their arrays, and then rank 0 makes
 * all variables longer, which readers see at once. */
#include "series.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void om_leave_floats(fenv_t *program) { fegetenv(program), fesetenv(FE_DFL_ENV); }

void om_enter_floats(const fenv_t *program) { fesetenv(program); }

/* Before anything of a step is stored: rank 0 looks whether the variables are as this series left them, and claims them where the store has no
 * locks. What another program has published is not written over. Collective, within a call. */
static ozarr_status look(ozarr_mpi *m, ozarr_mpi_series *s) {
    if (s->looked == s->position) return OZARR_OK;
    const ozarr_status status = om_agree(m, m->rank == 0 ? ozarr_series_declare(s->own, s->published) : OZARR_OK, NULL);
    if (status == OZARR_OK) s->looked = s->position;
    return status;
}

/* Gives the variables that the step leaves out the fill value there: a killed run, or a put that failed, may have stored others. Collective,
 * within a call. */
static ozarr_status fill_left_out(ozarr_mpi *m, ozarr_mpi_series *s) {
    bool any = false;
    for (size_t i = 0; i < s->count; i++) any |= !s->variables[i].given && !s->variables[i].last;
    ozarr_status status = any ? look(m, s) : OZARR_OK;
    if (status != OZARR_OK) return status;
    for (size_t i = 0; i < s->count; i++) {
        const variable *v = &s->variables[i];
        if (v->given || v->last) continue;
        if (status == OZARR_OK) status = om_grow(v->array, v->dim, s->position + 1);
        if (status == OZARR_OK) status = om_fill_slab(m, v->array, v->dim, s->position);
    }
    return any ? om_agree(m, status, NULL) : OZARR_OK;
}

/* Stores the boxes of a variable that wait in steps before `end`. A rank that failed in a step may have a shorter handle than the others: it makes
 * its handle as long as theirs. Collective. */
static ozarr_status store(ozarr_mpi *m, ozarr_mpi_series *s, const variable *v, int64_t end) {
    int64_t first = INT64_MAX, shape[PLAN_MAX_RANK] = {0};
    if (v->waiting.count > 0) first = v->waiting.boxes[0].start[v->dim];
    ozarr_status status = ozarr_array_shape(v->array, shape);
    om_compared length[2] = {{shape[v->dim] > end ? shape[v->dim] : end, 0, 0}, {OM_ANY, 0, 0}};
    status = om_enter(m, status, length, "storing the steps of a series");
    if (status != OZARR_OK) return status;
    status = om_agree(m, om_grow(v->array, v->dim, length[0].most), &first);
    if (status == OZARR_OK && first < end) status = look(m, s);
    om_leave(m, status);
    return status == OZARR_OK && first < end ? om_waiting_write(m, &v->waiting, v->array, v->dim, end) : status;
}

/* The coordinate, if it was put in a step: then all its values are among those of the variables. */
static variable *coordinate_of(const ozarr_mpi_series *s) {
    variable *v = om_series_find(s, s->dimension);
    return v != NULL && v->rank == 1 ? v : NULL;
}

/* Numbers of a step's dimensions with one for the series' dimension between them; NULL stays NULL. */
static const int64_t *with_dimension(const variable *v, const int64_t *numbers, int64_t at_dimension, int64_t with[PLAN_MAX_RANK]) {
    if (numbers == NULL) return NULL;
    for (int32_t d = 0, e = 0; d < v->rank; d++) with[d] = d == v->dim ? at_dimension : numbers[e++];
    return with;
}

/* Checks a box as storing it would: what waits must not be refused later. */
static ozarr_status check_box(const variable *v, const ozarr_region *region, const ozarr_memory *memory) {
    int64_t shape[PLAN_MAX_RANK];
    ozarr_status status = ozarr_array_shape(v->array, shape);
    shape[v->dim] = INT64_MAX;
    if (status == OZARR_OK) status = om_check_region(region, v->rank, shape);
    return status == OZARR_OK ? om_check_memory(memory, memory) : status;
}

static ozarr_status publish(ozarr_mpi *m, ozarr_mpi_series *s);

/* Whether this rank's box is another one than that of the step before. */
static bool is_another(const variable *v, const ozarr_region *region) {
    bool other = !v->compared;
    for (int32_t d = 0; d < v->rank && !other; d++)
        other = d != v->dim && (region->start[d] != v->start[d] || region->shape[d] != v->shape[d]);
    return other;
}

/* Compares the boxes of all ranks: those that overlap would be refused when they are stored. Collective, within a call. */
static ozarr_status compare(ozarr_mpi *m, variable *v, const ozarr_region *region) {
    v->compared = false;
    const ozarr_status status = m->last_wins ? OZARR_OK : om_check_overlap(m, v->rank, region);
    if (status != OZARR_OK || m->last_wins) return status;
    for (int32_t d = 0; d < v->rank; d++) v->start[d] = region->start[d], v->shape[d] = region->shape[d];
    v->compared = true;
    return status;
}

/* Takes the box of a step to wait; steps that are whole are published before if there would be too many bytes. Collective. */
static ozarr_status keep_box(ozarr_mpi *m, ozarr_mpi_series *s, variable *v, const ozarr_region *region, const ozarr_memory *memory,
                             ozarr_status status) {
    if (status == OZARR_OK) status = check_box(v, region, memory);
    if (status == OZARR_OK) status = om_waiting_add(&v->waiting, v->array, v->rank, region->start, region->shape, memory);
    om_compared bytes[2] = {{s->waiting_bytes, 0, 0}, {status == OZARR_OK && is_another(v, region), 0, 0}};
    status = om_enter(m, status, bytes, "giving a variable of a series its values");
    if (status == OZARR_OK) {
        status = om_leave(m, bytes[1].most > 0 ? compare(m, v, region) : OZARR_OK);
        if (status == OZARR_OK && s->memory > 0 && bytes[0].most > s->memory && s->position > s->published) status = publish(m, s);
    }
    if (status != OZARR_OK) om_waiting_drop(&v->waiting, v->dim, s->position, INT64_MAX);
    return status;
}

/* The series is there, and was opened here. */
static ozarr_status check_series(const ozarr_mpi *m, const ozarr_mpi_series *s) {
    const ozarr_status status = om_valid(s, "ozarr_mpi_series");
    if (status != OZARR_OK || s->m == m) return status;
    return om_error(OZARR_ERR_ARGUMENT, "the series was not opened by this ozarr_mpi");
}

/* A call in words: what is done, and to which series. */
static void describe(const ozarr_mpi_series *s, const char *what, char call[OM_MESSAGE]) {
    if (om_valid(s, "ozarr_mpi_series") == OZARR_OK)
        snprintf(call, OM_MESSAGE, "%.600s, %s along %s", what, OM_CUT(s->location, 700), OM_CUT(s->dimension, 500));
    else
        snprintf(call, OM_MESSAGE, "%.600s, no series", what);
}

/* Lets the coordinate's value of step `at` wait, in the coordinate's type. */
static ozarr_status add_value(om_waiting *waiting, const ozarr_array *coordinate, int64_t count, int64_t at, double value) {
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = &value, memory.size = sizeof value, memory.type = OZARR_FLOAT64;
    return om_waiting_add(waiting, coordinate, 1, &at, &count, &memory);
}

/* Lets the value of step `at` wait with those of the coordinate that are put: that of rank 0 counts. */
static ozarr_status keep_value(const ozarr_mpi *m, variable *coordinate, int64_t at, double value) {
    return add_value(&coordinate->waiting, coordinate->array, m->rank == 0, at, value);
}

/* Opens a variable that is put for the first time. If it is the coordinate, it takes its values of the steps that are not published. */
static ozarr_status add_late(ozarr_mpi *m, ozarr_mpi_series *s, const char *name) {
    ozarr_status status = om_series_add(m, s, name);
    if (status != OZARR_OK || coordinate_of(s) != om_series_find(s, name)) return status;
    for (int64_t at = s->published; at < s->position && status == OZARR_OK; at++)
        status = keep_value(m, coordinate_of(s), at, s->values[at - s->published]);
    if (status == OZARR_OK && m->rank == 0 && s->coordinate.array == NULL) {
        status = om_series_open_coordinate(s, 0);
        for (int64_t at = s->published; at < s->position && s->coordinate.array != NULL; at++)
            om_coordinate_take(&s->coordinate, s->values[at - s->published]);
    }
    status = om_agree(m, status, NULL);
    if (status != OZARR_OK) om_series_drop_last(m, s);
    return status;
}

/* Whether the boxes of a variable wait in this series. */
static bool is_kept(const ozarr_mpi_series *s, const variable *v) { return v->last || (v->waits && s->publish_every != 1); }

/* Finds a variable, which must not have its values of this step, and makes room for them: what a put that failed has stored of the step is given
 * the fill value. Collective. */
static ozarr_status find_for_step(ozarr_mpi *m, ozarr_mpi_series *s, const char *name, ozarr_status status, variable **v) {
    char what[600], call[OM_MESSAGE];
    snprintf(what, sizeof what, "ozarr_mpi_series_put of %s", OM_CUT(name, 500));
    describe(s, what, call);
    status = om_enter(m, status, NULL, call);
    if (status != OZARR_OK) return status;
    *v = om_series_find(s, name);
    if (*v == NULL) {
        status = add_late(m, s, name);
        *v = om_series_find(s, name);
    }
    if (status == OZARR_OK && (*v)->given)
        status = om_agree(m, om_error(OZARR_ERR_STATE, "variable %.200s has its values of step %" PRId64 " already", name, s->position), NULL);
    if (status == OZARR_OK) status = om_agree(m, om_grow((*v)->array, (*v)->dim, s->position + 1), NULL);
    if (status == OZARR_OK && !is_kept(s, *v)) status = look(m, s);
    if (status == OZARR_OK && (*v)->touched) status = om_agree(m, om_fill_slab(m, (*v)->array, (*v)->dim, s->position), NULL);
    return om_leave(m, status);
}

static const ozarr_region no_region = OZARR_REGION_INIT;

/* A box of one step, in the dimensions of the array; the lists of region and memory are its own. */
typedef struct step_box {
    ozarr_region region;
    ozarr_memory memory;
    int64_t numbers[6][PLAN_MAX_RANK];
    bool periodic[PLAN_MAX_RANK];
} step_box;

/* Makes a box of the step at `position` of one without the series' dimension. Of a variable that has no other, rank 0 has the value. */
static void in_step(const ozarr_mpi *m, const variable *v, int64_t position, const ozarr_region *region, const ozarr_memory *memory, step_box *b) {
    b->region = no_region;
    b->region.start = with_dimension(v, region->start, position, b->numbers[0]);
    b->region.shape = with_dimension(v, region->shape, 1, b->numbers[1]);
    b->region.step = with_dimension(v, region->step, 1, b->numbers[2]);
    for (int32_t d = 0, e = 0; d < v->rank && region->periodic != NULL; d++) b->periodic[d] = d != v->dim && region->periodic[e++];
    if (region->periodic != NULL) b->region.periodic = b->periodic;
    if (v->rank == 1) {
        b->region.start = b->numbers[0], b->region.shape = b->numbers[1];
        b->numbers[0][0] = position, b->numbers[1][0] = m->rank == 0;
    }
    b->memory = *memory;
    b->memory.strides = with_dimension(v, memory->strides, 0, b->numbers[3]);
    b->memory.sizes = with_dimension(v, memory->sizes, 1, b->numbers[4]);
    b->memory.starts = with_dimension(v, memory->starts, 0, b->numbers[5]);
}

/* Gives a variable a box of `rank` dimensions; negative: as many as it has. */
static ozarr_status put_box(ozarr_mpi *m, ozarr_mpi_series *series, const char *name, int32_t rank, const ozarr_region *region,
                            const ozarr_memory *memory) {
    step_box box;
    variable *v = NULL;
    ozarr_status status = check_series(m, series);
    if (status == OZARR_OK && (name == NULL || region == NULL || memory == NULL))
        status = om_error(OZARR_ERR_NULL, "%s is NULL", name == NULL ? "name" : region == NULL ? "region" : "memory");
    status = find_for_step(m, series, name, status, &v);
    if (status != OZARR_OK) return status;
    /* What is wrong with this rank's box is told to the others, which are in the call. */
    ozarr_memory given = *memory;
    if (rank >= 0 && rank != v->rank - 1) {
        status = om_error(OZARR_ERR_RANK, "the box has %d dimensions, expected the %d of %.200s without %.200s", (int)rank, (int)v->rank - 1,
                          name, series->dimension);
        region = &no_region;
        given.strides = given.sizes = given.starts = NULL;
    }
    in_step(m, v, series->position, region, &given, &box);
    if (status == OZARR_OK && (box.region.start == NULL || box.region.shape == NULL))
        status = om_error(OZARR_ERR_NULL, "%s is NULL", box.region.start == NULL ? "start" : "shape");
    if (status == OZARR_OK && v == coordinate_of(series))
        status = om_coordinate_check_put(&series->coordinate, name, series->position, &box.memory);
    v->touched |= !is_kept(series, v);
    status = is_kept(series, v) ? keep_box(m, series, v, &box.region, &box.memory, status)
                                : om_move_all(m, v->array, true, 1, &box.region, &box.memory, status);
    v->given = status == OZARR_OK;
    return status;
}

static ozarr_status put(ozarr_mpi *m, ozarr_mpi_series *series, const char *name, int32_t rank, const ozarr_region *region,
                        const ozarr_memory *memory) {
    fenv_t program;
    om_leave_floats(&program);
    const ozarr_status status = put_box(m, series, name, rank, region, memory);
    om_enter_floats(&program);
    return status;
}

ozarr_status ozarr_mpi_series_put_ex(ozarr_mpi *m, ozarr_mpi_series *series, const char *name, int32_t rank, const ozarr_region *region,
                                     const ozarr_memory *memory) {
    return put(m, series, name, rank < 0 ? INT32_MAX : rank, region, memory);
}

ozarr_status ozarr_mpi_series_put(ozarr_mpi *m, ozarr_mpi_series *series, const char *name, const int64_t *start, const int64_t *shape,
                                  ozarr_type type, const void *data, size_t size) {
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start, region.shape = shape;
    memory.data = (void *)(uintptr_t)data, memory.size = size, memory.type = type;
    return put(m, series, name, -1, &region, &memory);
}

/* Rank 0's part of publishing: the coordinate's values, then the documents of all variables, also of those that were left out; nothing where
 * another program has made one longer. */
static ozarr_status publish_coordinate(const ozarr_mpi_series *s) {
    const int64_t start = s->published, count = s->position - s->published;
    ozarr_status status = OZARR_OK;
    if (s->coordinate.array != NULL && coordinate_of(s) == NULL) {
        status = om_grow(s->coordinate.array, 0, s->position);
        if (status == OZARR_OK)
            status = ozarr_array_write_region(s->coordinate.array, &start, &count, OZARR_FLOAT64, s->values, (size_t)count * sizeof *s->values);
        if (status == OZARR_OK) status = ozarr_node_flush(ozarr_array_node(s->coordinate.array));
    }
    return status == OZARR_OK ? ozarr_series_declare(s->own, s->position) : status;
}

/* Stores what waits of the coordinate (`last`), or of all other variables. Collective. */
static ozarr_status store_variables(ozarr_mpi *m, ozarr_mpi_series *s, bool last) {
    ozarr_status status = OZARR_OK;
    for (size_t i = 0; i < s->count && status == OZARR_OK; i++)
        if (s->variables[i].last == last) status = store(m, s, &s->variables[i], s->position);
    return status;
}

/* Flushes what this rank stored of the variables; the status is the same on all ranks. Collective, within a call. */
static ozarr_status flush_variables(ozarr_mpi *m, const ozarr_mpi_series *s) {
    ozarr_status status = OZARR_OK;
    for (size_t i = 0; i < s->count && status == OZARR_OK; i++) status = ozarr_node_flush(ozarr_array_node(s->variables[i].array));
    return om_agree(m, status, NULL);
}

/* Stores what waits: the values of a coordinate that was put when all else is on the disk. Collective. */
static ozarr_status store_steps(ozarr_mpi *m, ozarr_mpi_series *s) {
    const variable *coordinate = coordinate_of(s);
    ozarr_status status = store_variables(m, s, false);
    if (status != OZARR_OK || coordinate == NULL || !coordinate->last) return status;
    status = om_enter(m, OZARR_OK, NULL, "flushing the variables of a series");
    if (status == OZARR_OK) status = om_leave(m, flush_variables(m, s));
    return status == OZARR_OK ? store_variables(m, s, true) : status;
}

/* Stores what waits, and then lets readers see the steps that were taken. Collective. */
static ozarr_status publish(ozarr_mpi *m, ozarr_mpi_series *s) {
    if (s->position == s->published) return OZARR_OK;
    ozarr_status status = store_steps(m, s);
    if (status != OZARR_OK) return status;
    status = om_enter(m, status, NULL, "publishing the steps of a series");
    if (status != OZARR_OK) return status;
    status = flush_variables(m, s);
    if (status == OZARR_OK) status = look(m, s);
    if (status == OZARR_OK) {
        if (m->rank == 0) status = publish_coordinate(s);
        status = om_agree(m, status, NULL);
    }
    s->looked = -1;
    if (status == OZARR_OK) {
        s->published = s->position;
        for (size_t i = 0; i < s->count; i++) om_waiting_drop(&s->variables[i].waiting, s->variables[i].dim, 0, s->published);
    }
    return om_leave(m, status);
}

/* Every how many steps readers see them. */
static int64_t interval(const ozarr_mpi_series *s) {
    int64_t deepest = 1;
    if (s->publish_every > 0) return s->publish_every;
    for (size_t i = 0; i < s->count; i++)
        if (s->variables[i].rank > 1 && s->variables[i].waits && s->variables[i].depth > deepest) deepest = s->variables[i].depth;
    return deepest;
}

/* Takes a step: the coordinate's value waits until it is published, unless it was put. */
static ozarr_status take_step(const ozarr_mpi *m, ozarr_mpi_series *s, double value) {
    variable *coordinate = coordinate_of(s);
    if (coordinate != NULL) return coordinate->given ? OZARR_OK : keep_value(m, coordinate, s->position, value);
    const size_t waiting = (size_t)(s->position - s->published);
    double *more = realloc(s->values, (waiting + 1) * sizeof *more);
    if (more == NULL) return om_error(OZARR_ERR_NO_MEMORY, "the coordinate's values");
    s->values = more;
    s->values[waiting] = value;
    return OZARR_OK;
}

/* Gives the value of a step up that was not taken. */
static void drop_value(ozarr_mpi_series *s) {
    variable *coordinate = coordinate_of(s);
    if (coordinate != NULL && !coordinate->given) om_waiting_drop(&coordinate->waiting, coordinate->dim, s->position, INT64_MAX);
}

/* Checks the coordinate's value, unless it was put. */
static ozarr_status check_value(ozarr_mpi_series *s, double value) {
    const variable *coordinate = coordinate_of(s);
    return coordinate != NULL && coordinate->given ? OZARR_OK : om_coordinate_check(&s->coordinate, s->dimension, s->position, value);
}

static ozarr_status step(ozarr_mpi *m, ozarr_mpi_series *series, double value) {
    char what[100], call[OM_MESSAGE];
    ozarr_status status = check_series(m, series);
    const bool valid = status == OZARR_OK;
    if (status == OZARR_OK) status = check_value(series, value);
    if (status == OZARR_OK) status = take_step(m, series, value);
    snprintf(what, sizeof what, "ozarr_mpi_series_step with value %.17g", value);
    describe(series, what, call);
    status = om_enter(m, status, NULL, call);
    if (status == OZARR_OK) status = om_leave(m, fill_left_out(m, series));
    if (status != OZARR_OK) {
        if (valid) drop_value(series);
        return status;
    }
    om_coordinate_remember(&series->coordinate);
    series->position++;
    for (size_t i = 0; i < series->count; i++) series->variables[i].given = series->variables[i].touched = false;
    const int64_t every = interval(series);
    /* What could not be published is tried again. */
    if (series->position / every > series->published / every) return publish(m, series);
    for (size_t i = 0; i < series->count && status == OZARR_OK; i++) {
        variable *v = &series->variables[i];
        if (!v->waits || v->last || series->position % v->depth != 0) continue;
        status = store(m, series, v, series->position);
        if (status == OZARR_OK) om_waiting_drop(&v->waiting, v->dim, 0, series->position);
    }
    return status;
}

ozarr_status ozarr_mpi_series_step(ozarr_mpi *m, ozarr_mpi_series *series, double value) {
    fenv_t program;
    om_leave_floats(&program);
    const ozarr_status status = step(m, series, value);
    om_enter_floats(&program);
    return status;
}

/* Makes durable what rank 0 has published: the names of documents that were replaced wait for a flush of the store. Collective. */
static ozarr_status flush_documents(ozarr_mpi *m, const ozarr_mpi_series *s) {
    ozarr_status status = om_enter(m, OZARR_OK, NULL, "flushing a series");
    if (status != OZARR_OK) return status;
    if (m->rank == 0) status = ozarr_node_flush(ozarr_group_node(s->group));
    return om_leave(m, om_agree(m, status, NULL));
}

ozarr_status ozarr_mpi_series_flush(ozarr_mpi *m, ozarr_mpi_series *series) {
    char call[OM_MESSAGE];
    describe(series, "ozarr_mpi_series_flush", call);
    ozarr_status status = om_enter(m, check_series(m, series), NULL, call);
    if (status != OZARR_OK) return status;
    om_leave(m, status);
    status = publish(m, series);
    return status == OZARR_OK ? flush_documents(m, series) : status;
}

ozarr_status ozarr_mpi_series_position(const ozarr_mpi_series *series, int64_t *position, int64_t *published) {
    const ozarr_status status = om_valid(series, "ozarr_mpi_series");
    if (status != OZARR_OK) return status;
    if (position != NULL) *position = series->position;
    if (published != NULL) *published = series->published;
    return status;
}

/* Gives what was stored of steps that are not published the fill value: it would show in an array that becomes longer. Nothing where another
 * program has made a variable longer. Collective, within a call. */
static ozarr_status clear_unpublished(ozarr_mpi *m, ozarr_mpi_series *s) {
    const ozarr_mpi alone = {.size = 1};
    s->looked = -1;
    ozarr_status status = look(m, s);
    if (status != OZARR_OK) return status;
    for (size_t i = 0; i < s->count && status == OZARR_OK; i++) {
        const variable *v = &s->variables[i];
        status = om_grow(v->array, v->dim, s->position + 1);
        for (int64_t at = s->published; at <= s->position && status == OZARR_OK; at++) status = om_fill_slab(m, v->array, v->dim, at);
    }
    if (status == OZARR_OK && s->coordinate.array != NULL) status = om_grow(s->coordinate.array, 0, s->position + 1);
    for (int64_t at = s->published; at <= s->position && status == OZARR_OK && s->coordinate.array != NULL; at++)
        status = om_fill_slab(&alone, s->coordinate.array, 0, at);
    return om_agree(m, status, NULL);
}

/* Rank 0's part of closing: cuts off what is not published, and gives variables that came meanwhile and were not put the steps of the others. */
static ozarr_status close_dataset(ozarr_mpi_series *s, bool cut, ozarr_status cleared) {
    ozarr_status status = OZARR_OK;
    if (!cut) {
        status = ozarr_series_close(s->own);
        s->own = NULL;
    } else if (cleared == OZARR_OK) {
        status = ozarr_dataset_resize_dimension(s->dataset, s->dimension, s->published);
    }
    const ozarr_status closed = ozarr_dataset_close(s->dataset);
    s->dataset = NULL;
    return status == OZARR_OK ? closed : status;
}

ozarr_status ozarr_mpi_series_close(ozarr_mpi *m, ozarr_mpi_series *series) {
    char call[OM_MESSAGE];
    om_failure failed;
    describe(series, "ozarr_mpi_series_close", call);
    ozarr_status status = om_enter(m, check_series(m, series), NULL, call);
    if (status != OZARR_OK) return status;
    om_leave(m, status);
    bool cut = false;
    for (size_t i = 0; i < series->count; i++) cut |= series->variables[i].given || series->variables[i].touched;
    const ozarr_status published = publish(m, series);
    if (published != OZARR_OK) om_failure_last(&failed, published);
    status = om_enter(m, OZARR_OK, NULL, "closing a series");
    om_forget(series);
    m->series--;
    if (status == OZARR_OK) {
        cut |= published != OZARR_OK;
        const ozarr_status cleared = cut ? clear_unpublished(m, series) : OZARR_OK;
        om_failure failure;
        if (cleared != OZARR_OK) om_failure_last(&failure, cleared);
        if (m->rank == 0) status = close_dataset(series, cut, cleared);
        if (cleared != OZARR_OK) status = om_failure_set(&failure);
        status = om_leave(m, om_agree(m, status, NULL));
    }
    om_series_free(m, series);
    return published != OZARR_OK ? om_failure_set(&failed) : status;
}
