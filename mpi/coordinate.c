/* The values of a series' coordinate: each goes on from those before, as the coordinate's type has them. */
#include "coordinate.h"

#include "waiting.h"

#include <inttypes.h>

ozarr_status om_coordinate_read(om_coordinate *c, int64_t steps) {
    const int64_t count = steps < 2 ? steps : 2, start = steps - count;
    if (count == 0) return OZARR_OK;
    const ozarr_status status = ozarr_array_read_region(c->array, &start, &count, OZARR_FLOAT64, c->last, (size_t)count * sizeof *c->last);
    if (status == OZARR_OK) c->known = (int)count;
    /* Steps before it was defined have the fill value. */
    if (c->known == 2 && c->last[0] != c->last[0]) c->last[0] = c->last[1], c->known = 1;
    if (c->known > 0 && c->last[c->known - 1] != c->last[c->known - 1]) c->known = 0;
    return status == OZARR_ERR_TYPE ? OZARR_OK : status;
}

/* Checks that a number goes on in the direction of the steps before, and can be told from the last one as the coordinate has it (`stored`). */
static ozarr_status check_order(const om_coordinate *c, const char *name, int64_t at, double value, double stored) {
    if (c->known == 0) return OZARR_OK;
    const double before = c->last[c->known - 1];
    const bool directed = c->known > 1 && before != c->last[0], falls = directed && before < c->last[0];
    if (stored == before && value != before)
        return om_error(OZARR_ERR_RANGE, "the coordinate %.200s cannot tell %.17g from %.17g, the value of the step before", name, value, before);
    if (stored == before || (directed && (stored < before) != falls))
        return om_error(OZARR_ERR_ARGUMENT, "found %.17g as the value of the coordinate %.200s for step %" PRId64 ", expected %s than %.17g, that "
                        "of the step before", value, name, at, falls ? "less" : "more", before);
    return OZARR_OK;
}

static ozarr_status check_nan(const char *name, int64_t at, double value) {
    if (value == value) return OZARR_OK;
    return om_error(OZARR_ERR_ARGUMENT, "the value of the coordinate %.200s for step %" PRId64 " is NaN", name, at);
}

ozarr_status om_coordinate_check(om_coordinate *c, const char *name, int64_t at, double value) {
    ozarr_type type = 0;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    c->is_known = false;
    if (c->array == NULL) return OZARR_OK;
    ozarr_status status = check_nan(name, at, value);
    if (status == OZARR_OK) status = ozarr_array_type(c->array, &type);
    if (status != OZARR_OK) return status;
    const bool whole = type < OZARR_FLOAT16 || (type >= OZARR_INT2 && type <= OZARR_UINT4);
    /* Beyond 2^63 no number has a fraction. */
    if (whole && value > -9e18 && value < 9e18 && value != (double)(int64_t)value)
        return om_error(OZARR_ERR_RANGE, "the coordinate %.200s has integers, and value is %.17g: define it as float64, or with smaller units", name, value);
    memory.data = &value, memory.size = sizeof value, memory.type = OZARR_FLOAT64;
    c->next = value;
    if (type != OZARR_FLOAT64) status = om_waiting_number(c->array, &memory, &c->next, NULL);
    if (status == OZARR_ERR_RANGE) return om_error(status, "the coordinate %.200s cannot hold %.17g", name, value);
    if (status == OZARR_OK) status = check_order(c, name, at, value, c->next);
    c->is_known = status == OZARR_OK;
    return status;
}

/* Whether a type, or the array's where that is asked for, is of real numbers. */
static bool is_float(const ozarr_array *array, ozarr_type type) {
    if (type == OZARR_AS_STORED && ozarr_array_type(array, &type) != OZARR_OK) return false;
    return type == OZARR_FLOAT16 || type == OZARR_FLOAT32 || type == OZARR_FLOAT64;
}

ozarr_status om_coordinate_check_put(om_coordinate *c, const char *name, int64_t at, const ozarr_memory *memory) {
    double value = 0, stored = 0;
    bool number = false;
    c->is_known = false;
    if (c->array == NULL) return OZARR_OK;
    const bool same = om_waiting_number(c->array, memory, &stored, &number) == OZARR_OK && memory->type == OZARR_AS_STORED;
    if (same && !number) return OZARR_OK;
    if (same) value = stored;
    else if (om_waiting_number(NULL, memory, &value, NULL) != OZARR_OK) return OZARR_OK;
    if (!number) stored = value;
    ozarr_status status = check_nan(name, at, value);
    /* Of integers beyond this a double tells only some from each other. */
    const bool exact = is_float(c->array, memory->type) || (value > -9007199254740992.0 && value < 9007199254740992.0);
    if (status == OZARR_OK && (exact || c->known == 0 || stored != c->last[c->known - 1])) status = check_order(c, name, at, value, stored);
    if (status == OZARR_OK) c->next = stored, c->is_known = true;
    return status;
}

void om_coordinate_take(om_coordinate *c, double value) {
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = &value, memory.size = sizeof value, memory.type = OZARR_FLOAT64;
    c->next = value;
    c->is_known = om_waiting_number(c->array, &memory, &c->next, NULL) == OZARR_OK && c->next == c->next;
    om_coordinate_remember(c);
}

void om_coordinate_remember(om_coordinate *c) {
    if (!c->is_known) return;
    if (c->known == 2) c->last[0] = c->last[1], c->known = 1;
    c->last[c->known++] = c->next;
    c->is_known = false;
}
