/* Collective reads and writes of regions: their arguments, blocking and non-blocking. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#endif
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct ozarr_mpi_request {
    ozarr_mpi *m;
    const ozarr_array *array;
    om_cached *cached;
    om_view *views;
    om_fields fields;
    om_move *move; /* NULL: this rank found no memory, which it tells the others at the end; or it was let go of before this rank had done its part */
    int64_t number; /* of those that are waited for: the same on all ranks */
    int tag;        /* of its messages */
    bool write;
    bool shards; /* inner chunks are encoded by the ranks that have them */
    bool own;    /* the array is not the program's */
    bool let_go; /* the program has no handle any more */
    bool given_up; /* another rank has, and its messages do not come any more */
    int64_t moved; /* when something did last, or the word of another rank came that it gave up; seconds */
    ozarr_mpi_request *next; /* began later, and was not waited for either */
};

/* The arguments of a call. */
typedef struct arguments {
    const ozarr_array *array;
    bool write;
    int64_t count;
    const ozarr_region *regions;
    const ozarr_memory *memories;
    bool waits; /* the call ends with all stored */
    bool own;   /* the array is not the program's */
} arguments;

/* What a rank without a region has in memory. */
static ozarr_memory type_of(const arguments *a) {
    ozarr_memory memory = OZARR_MEMORY_INIT;
    if (a->count > 0 && a->memories != NULL) memory = a->memories[0];
    memory.struct_size = sizeof memory;
    return memory;
}

bool om_is_empty(int32_t rank, const int64_t *shape) {
    bool empty = false;
    for (int d = 0; d < rank; d++) empty |= shape[d] == 0;
    return empty;
}

ozarr_status om_check_region(const ozarr_region *region, int32_t rank, const int64_t *shape) {
    if (rank > 0 && (region->start == NULL || region->shape == NULL))
        return om_error(OZARR_ERR_NULL, "%s is NULL", region->start == NULL ? "start" : "shape");
    const bool empty = om_is_empty(rank, region->shape);
    for (int d = 0; d < rank; d++) {
        if (region->step != NULL && region->step[d] != 1)
            return om_error(OZARR_ERR_UNSUPPORTED, "region.step[%d] is %" PRId64 ", expected 1 in a collective call", d, region->step[d]);
        if (region->periodic != NULL && region->periodic[d])
            return om_error(OZARR_ERR_UNSUPPORTED, "region.periodic[%d] is true, expected false in a collective call", d);
        const int64_t start = region->start[d], count = region->shape[d];
        if (count < 0 || (!empty && (start < 0 || start > shape[d] || count > shape[d] - start)))
            return om_error(OZARR_ERR_BOUNDS, "elements %" PRId64 " to %" PRId64 " of dimension %d, expected 0 to its length, %" PRId64, start,
                            count <= 0 ? start : start > INT64_MAX - count ? INT64_MAX : start + count, d, shape[d]);
    }
    return OZARR_OK;
}

ozarr_status om_check_memory(const ozarr_memory *memory, const ozarr_memory *first) {
    if (memory->field != NULL) return om_error(OZARR_ERR_UNSUPPORTED, "memory.field is %.100s, expected NULL in a collective call", memory->field);
    if (memory->type != first->type || memory->overflow != first->overflow || memory->dtype != first->dtype)
        return om_error(OZARR_ERR_ARGUMENT, "the memories of a call differ in type, overflow or dtype, expected the same in all");
    return OZARR_OK;
}

/* Whether this rank may write; found before anything is sent. */
static ozarr_status check_mode(const ozarr_array *array) {
    char mode[8] = "";
    const ozarr_status status = ozarr_node_get(ozarr_array_node(array), "mode", mode, sizeof mode, NULL);
    if (status == OZARR_OK && strcmp(mode, "r+") != 0) return om_error(OZARR_ERR_READ_ONLY, "the array is open for reading only");
    return status;
}

ozarr_status om_settle(const ozarr_array *array) {
    char bytes[32] = "";
    const ozarr_status status = ozarr_node_get(ozarr_array_node(array), "write_back", bytes, sizeof bytes, NULL);
    return status == OZARR_OK && strcmp(bytes, "0") != 0 ? ozarr_node_flush(ozarr_array_node(array)) : status;
}

/* Checks everything that this rank can check alone; `views` and `item` are what it finds out. */
static ozarr_status check_arguments(const arguments *a, om_view **views, size_t *item) {
    int32_t rank = 0;
    int64_t shape[PLAN_MAX_RANK];
    if (a->array == NULL) return om_error(OZARR_ERR_NULL, "array is NULL");
    if (a->count < 0) return om_error(OZARR_ERR_ARGUMENT, "count is %" PRId64 ", expected 0 or more", a->count);
    if (a->count > 0 && (a->regions == NULL || a->memories == NULL))
        return om_error(OZARR_ERR_NULL, "%s is NULL", a->regions == NULL ? "regions" : "memories");
    ozarr_status status = ozarr_array_rank(a->array, &rank);
    if (status == OZARR_OK) status = ozarr_array_shape(a->array, shape);
    if (status == OZARR_OK && a->write) status = check_mode(a->array);
    const ozarr_memory type = type_of(a);
    if (status == OZARR_OK) status = om_item_size(a->array, &type, item);
    *views = calloc((size_t)a->count + 1, sizeof **views);
    if (status == OZARR_OK && *views == NULL) status = om_error(OZARR_ERR_NO_MEMORY, "%" PRId64 " regions", a->count);
    for (int64_t i = 0, used = 0; i < a->count && status == OZARR_OK; i++) {
        status = om_check_region(&a->regions[i], rank, shape);
        if (status == OZARR_OK) status = om_check_memory(&a->memories[i], &type);
        if (status == OZARR_OK && !om_is_empty(rank, a->regions[i].shape)) status = om_view_of(&a->memories[i], rank, a->regions[i].shape, *item, !a->write, &(*views)[used++]);
    }
    return status;
}

/* The call in words; all of it is the same on all ranks. */
static void describe(const ozarr_mpi *m, const arguments *a, char text[OM_MESSAGE]) {
    int32_t rank = 0;
    int64_t shape[PLAN_MAX_RANK], chunk[PLAN_MAX_RANK];
    char path[512] = "";
    size_t at;
    snprintf(text, OM_MESSAGE, "a collective %s of no array", a->write ? "write" : "read");
    if (a->array == NULL || ozarr_array_rank(a->array, &rank) != OZARR_OK || ozarr_array_shape(a->array, shape) != OZARR_OK ||
        ozarr_array_chunk_shape(a->array, chunk) != OZARR_OK)
        return;
    /* What was not opened here is known by its path. */
    const char *name = om_name(m, a->array);
    if (name[0] == 0 && ozarr_node_path(ozarr_array_node(a->array), path, sizeof path, NULL) == OZARR_OK) name = path;
    at = (size_t)snprintf(text, OM_MESSAGE, "a collective %s of \"%s\" of shape [", a->write ? "write" : "read", OM_CUT(name, 1000));
    for (int d = 0; d < rank && at < OM_MESSAGE; d++)
        at += (size_t)snprintf(text + at, OM_MESSAGE - at, "%s%" PRId64, d ? ", " : "", shape[d]);
    for (int d = 0; d < rank && at < OM_MESSAGE; d++)
        at += (size_t)snprintf(text + at, OM_MESSAGE - at, "%s%" PRId64, d ? ", " : "] in chunks of [", chunk[d]);
    if (at < OM_MESSAGE) snprintf(text + at, OM_MESSAGE - at, "]");
}

/* What elements are in memory, as one number that all ranks with regions have in common. */
static int64_t type_number(const ozarr_memory *type, size_t item) {
    return (int64_t)item << 20 | (int64_t)(type->overflow & 7) << 17 | (int64_t)(type->dtype != NULL) << 16 | (type->type & 0xffff);
}

/* The structs in memory have the same fields in the same places on all ranks. */
static ozarr_status agree_on_fields(ozarr_mpi *m, ozarr_status status, const om_fields *fields) {
    const int64_t mine = (int64_t)(fields->hash >> 1);
    int64_t least = mine;
    status = om_agree(m, status, &least);
    if (status != OZARR_OK) return status;
    if (mine != least) status = om_error(OZARR_ERR_ARGUMENT, "the dtype of the elements in memory differs from that of another rank, expected the same on all");
    return om_agree(m, status, NULL);
}

/* The name of a type of elements; without one its number. */
static void name_of(int64_t type, char name[32]) {
    ozarr_dtype *dtype = NULL;
    snprintf(name, 32, "%" PRId64, type & 0xffff);
    if (ozarr_dtype_of((ozarr_type)(type & 0xffff), &dtype) == OZARR_OK && ozarr_dtype_name(dtype, name, 32, NULL) != OZARR_OK)
        snprintf(name, 32, "%" PRId64, type & 0xffff);
    ozarr_dtype_free(dtype);
}

/* The elements in memory are the same on all ranks; a rank without regions takes what the others have. */
static ozarr_status agree_on_type(ozarr_mpi *m, const om_compared *c, const om_fields *fields, ozarr_memory *type, size_t *item) {
    ozarr_status status = OZARR_OK;
    if (c->least == OM_ANY) return status;
    if (c->least != c->most) {
        const int64_t other = c->mine == c->most ? c->least : c->most;
        if (c->mine != OM_ANY && c->mine != c->least) {
            char name[32], others[32];
            name_of(c->mine, name), name_of(other, others);
            status = om_error(OZARR_ERR_ARGUMENT, "elements in memory are of type %s, overflow %d, %" PRId64 " bytes; those of another rank of "
                              "type %s, overflow %d, %" PRId64 " bytes; expected the same on all", name, (int)(c->mine >> 17 & 7), c->mine >> 20,
                              others, (int)(other >> 17 & 7), other >> 20);
        }
        return om_agree(m, status, NULL);
    }
    if ((c->least >> 16 & 1) != 0) {
        if (c->mine == OM_ANY) status = om_error(OZARR_ERR_ARGUMENT, "count is 0 where elements are of a dtype, expected a region without elements");
        return agree_on_fields(m, status, fields);
    }
    type->type = (ozarr_type)(c->least & 0xffff), type->overflow = (ozarr_overflow)(c->least >> 17 & 7);
    *item = (size_t)(c->least >> 20);
    return status;
}

static void request_free(ozarr_mpi_request *r) {
    om_move_free(r->move);
    if (r->cached != NULL) om_plan_release(r->m, r->cached);
    free(r->views);
    free(r->fields.runs);
    free(r);
}

static int64_t seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Goes on; false when this rank has done its part. */
static bool move_on(ozarr_mpi_request *r) {
    const bool goes_on = r->move != NULL && om_move_on(r->move);
    if (goes_on && !om_move_waits(r->move)) r->moved = seconds();
    return goes_on;
}

/* Whether nothing has moved for so long that it will not any more. */
static bool stands_still(const ozarr_mpi_request *r) {
    enum { SECONDS = 10 };
    return seconds() - r->moved > SECONDS;
}

/* The first error of this rank, as its last error; and chunks that it stored, of how many. */
static ozarr_status outcome(const ozarr_mpi_request *r, int64_t *stored, int64_t *total) {
    return r->move != NULL ? om_move_end(r->move, stored, total) : om_error(OZARR_ERR_NO_MEMORY, "the buffers of a collective call");
}

/* Whether two plans have a chunk of their blocks in common. */
static bool meet(const plan *p, const plan *q) {
    bool common = p->chunk_count > 0 && q->chunk_count > 0;
    for (int32_t d = 0; d < p->grid.rank && d < q->grid.rank; d++)
        common &= p->first[d] < q->first[d] + q->extent[d] && q->first[d] < p->first[d] + p->extent[d];
    return common;
}

/* Whether one path ends in the other. */
static bool end_alike(const char *a, const char *b) {
    const size_t n = strlen(a), k = strlen(b);
    if (n < k) return end_alike(b, a);
    return strcmp(a + n - k, b) == 0 && (n == k || k == 0 || a[n - k - 1] == '/');
}

/* Whether two handles may be those of one array. What was not opened here is known by its path only, below whichever root. */
static bool are_same(const ozarr_mpi *m, const ozarr_array *a, const ozarr_array *b) {
    char *paths[2] = {NULL, NULL};
    if (a == b) return true;
    if (om_name(m, a)[0] != 0 && om_name(m, b)[0] != 0) return strcmp(om_name(m, a), om_name(m, b)) == 0;
    const bool known = om_path_of(ozarr_array_node(a), &paths[0]) == OZARR_OK && om_path_of(ozarr_array_node(b), &paths[1]) == OZARR_OK;
    const bool same = !known || end_alike(paths[0], paths[1]);
    free(paths[0]), free(paths[1]);
    return same;
}

/* Completes earlier writes that may have chunks in common with this call, up to their wait: a read would find what was there before, other ranks may
 * have been their writers, and two at a time lose elements where the store has no locks. The same is done on all ranks. */
static ozarr_status finish_earlier(const ozarr_mpi_request *r) {
    bool any = false;
    for (ozarr_mpi_request *earlier = r->m->pending; earlier != NULL && !r->own; earlier = earlier->next) {
        if (!earlier->write || !are_same(r->m, earlier->array, r->array) || !meet(earlier->cached->p, r->cached->p)) continue;
        any = true;
        while (move_on(earlier)) om_move_pause(earlier->move);
    }
    return any ? om_agree(r->m, OZARR_OK, NULL) : OZARR_OK;
}

/* Whether an array is below a group; one whose place is not known may be. */
static bool is_below(const ozarr_group *group, const ozarr_array *array) {
    char *above = om_place_of(ozarr_group_node(group)), *place = om_place_of(ozarr_array_node(array));
    const size_t n = above != NULL ? strlen(above) : 0;
    const bool below = n == 0 || place == NULL || place[0] == 0 || (strncmp(place, above, n) == 0 && (place[n] == '/' || place[n] == 0));
    free(above), free(place);
    return below;
}

ozarr_status om_finish(ozarr_mpi *m, const ozarr_group *group) {
    int64_t stored, total;
    bool any = false;
    om_failure first = {0};
    for (ozarr_mpi_request *earlier = m->pending; earlier != NULL; earlier = earlier->next) {
        if (!earlier->write) continue;
        any = true;
        while (move_on(earlier)) om_move_pause(earlier->move);
        const ozarr_status status = outcome(earlier, &stored, &total);
        if (status == OZARR_OK || first.status != OZARR_OK) continue;
        om_failure found;
        om_failure_last(&found, status);
        if (group == NULL || is_below(group, earlier->array)) first = found;
    }
    return any ? om_agree(m, first.status != OZARR_OK ? om_failure_set(&first) : OZARR_OK, NULL) : OZARR_OK;
}

void om_move_pending(ozarr_mpi *m, int tries) {
    for (ozarr_mpi_request *r = m->pending; r != NULL; r = r->next) (void)move_on(r);
    if (tries > 0) om_yield(tries);
}

/* Stores what waits (`"write_back"`) in an array below a group, of which this rank has a handle. One that was freed has nothing. */
static ozarr_status settle_below(const om_handle *known, const ozarr_group *group) {
    char bytes[32] = "0";
    if (known->array == NULL || strcmp(known->mode, "r+") != 0 || ozarr_node_get(known->array, "write_back", bytes, sizeof bytes, NULL) != OZARR_OK)
        return OZARR_OK;
    return strcmp(bytes, "0") != 0 && is_below(group, known->handle) ? ozarr_node_flush(known->array) : OZARR_OK;
}

ozarr_status om_flush_pending(ozarr_mpi *m, const ozarr_group *group) {
    om_failure first = {0};
    /* What waits in arrays that this rank opened by the group alone. */
    const ozarr_status settled = ozarr_node_flush(ozarr_group_node(group));
    if (settled != OZARR_OK) om_failure_last(&first, settled);
    for (size_t i = 0; i < m->handle_count && first.status == OZARR_OK; i++) {
        const ozarr_status status = settle_below(&m->handles[i], group);
        if (status != OZARR_OK) om_failure_last(&first, status);
    }
    for (const ozarr_mpi_request *earlier = m->pending; earlier != NULL && first.status == OZARR_OK; earlier = earlier->next) {
        om_failure found;
        const ozarr_status status = earlier->write ? ozarr_node_flush(ozarr_array_node(earlier->array)) : OZARR_OK;
        if (status == OZARR_OK) continue;
        om_failure_last(&found, status);
        if (is_below(group, earlier->array)) first = found;
    }
    return om_agree(m, first.status != OZARR_OK ? om_failure_set(&first) : OZARR_OK, NULL);
}

/* A tag that no request has which goes on: the messages of two would be taken for each other's. */
static int next_tag(ozarr_mpi *m) {
    bool taken = true;
    while (taken) {
        m->tag = (m->tag + 1) % OM_TAGS;
        taken = false;
        for (const ozarr_mpi_request *other = m->pending; other != NULL && m->requests + m->let_go < OM_TAGS; other = other->next) taken |= other->tag == m->tag;
    }
    return m->tag;
}

/* The parts of `begin` behind the first comparison. */
static ozarr_status begin_moving(ozarr_mpi_request *r, const arguments *a, const ozarr_memory *type, size_t item, uint64_t key, int64_t id) {
    ozarr_mpi *m = r->m;
    ozarr_status status = om_plan(m, a->array, item, a->write, a->count, a->regions, key, id, &r->cached);
    if (status == OZARR_OK) status = finish_earlier(r);
    /* Behind them: what they store is not compared with what this call stores. */
    if (status == OZARR_OK && !r->own) status = om_check_writes(m, a->array);
    if (status != OZARR_OK) return status;
    const plan *p = r->cached->p;
    om_job job = {.m = m, .array = a->array, .p = p, .write = a->write, .waits = a->waits, .type = *type, .views = r->views, .fields = r->fields,
                  .last_wins = m->last_wins, .message_bytes = m->message_bytes};
    while (job.first_box < p->boxes.count && p->boxes.rank[job.first_box] != m->rank) job.first_box++;
    r->shards = job.lone_only = a->waits && a->write && type->dtype == NULL && r->cached->encoder != NULL;
    job.tag = r->tag = next_tag(m);
    status = om_move_new(&job, &r->move);
    return r->cached->alone ? OZARR_OK : om_agree(m, status, NULL);
}

/* Begins a collective read or write; `status` is what the caller found already. After an error nothing is left. */
static ozarr_status begin(ozarr_mpi *m, const arguments *a, ozarr_status status, ozarr_mpi_request **out) {
    char call[OM_MESSAGE];
    uint64_t key = 0;
    size_t item = 0;
    *out = NULL;
    om_view *views = NULL;
    ozarr_mpi_request *r = calloc(1, sizeof *r);
    if (r == NULL) status = om_error(OZARR_ERR_NO_MEMORY, "a request");
    if (status == OZARR_OK) status = check_arguments(a, &views, &item);
    if (status == OZARR_OK && a->count > 0) status = om_fields_of(&a->memories[0], &r->fields);
    if (r != NULL) r->m = m, r->array = a->array, r->views = views, r->write = a->write, r->own = a->own;
    ozarr_memory type = type_of(a);
    om_compared compared[2] = {{OM_ANY, 0, 0}, {-1, 0, 0}};
    if (a->count > 0) compared[0].mine = type_number(&type, item);
    if (status == OZARR_OK) status = om_valid(m, "ozarr_mpi");
    /* Another rank may not know it: what that wrote would be taken for the array's that is there now. */
    if (status == OZARR_OK && a->write) status = om_check_there(m, a->array);
    if (status == OZARR_OK && !a->own) status = om_settle(a->array);
    if (status == OZARR_OK) status = om_plan_key(m, a->array, a->write, a->count, a->regions, &key, &compared[1].mine);
    describe(m, a, call);
    status = om_enter(m, status, compared, call);
    if (status == OZARR_OK) {
        status = agree_on_type(m, &compared[0], &r->fields, &type, &item);
        const int64_t id = compared[1].least == compared[1].most ? compared[1].least : -1;
        if (status == OZARR_OK) status = begin_moving(r, a, &type, item, key, id);
        om_leave(m, status);
    }
    if (status == OZARR_OK) *out = r;
    else if (r != NULL) request_free(r);
    return status;
}

/* The message of an error of a write says what is stored. */
static ozarr_status tell_stored(ozarr_mpi *m, ozarr_status status, int64_t stored, int64_t total) {
    char text[128];
    om_failure f;
    int64_t mine[2] = {stored, total}, all[2];
    om_failure_last(&f, status);
    if (MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_SUM, m->comm) != MPI_SUCCESS) return status;
    snprintf(text, sizeof text, "; at least %" PRId64 " of %" PRId64 " chunks are stored, the others are old or new", all[0], all[1]);
    om_failure_add(&f, text);
    return om_failure_set(&f);
}

/* Completes what `begin` began. */
static ozarr_status end(ozarr_mpi_request *r) {
    int64_t stored = 0, total = 0;
    ozarr_mpi *m = r->m;
    om_failure failed;
    ozarr_status shards = OZARR_OK;
    if (r->shards && r->move != NULL) {
        (void)om_move_on(r->move);
        shards = om_shards(r->move, r->cached->encoder);
        if (shards != OZARR_OK) om_failure_last(&failed, shards);
    }
    while (move_on(r)) om_move_pause(r->move);
    ozarr_status status = outcome(r, &stored, &total);
    if (status == OZARR_OK && !r->own) status = om_check_begin(m, r->array);
    status = shards != OZARR_OK ? om_failure_set(&failed) : om_agree(m, status, NULL);
    if (status != OZARR_OK && status != OZARR_ERR_NETWORK && r->write && !r->own) status = tell_stored(m, status, stored, total);
    request_free(r);
    return status;
}

ozarr_status om_move_all(ozarr_mpi *m, const ozarr_array *array, bool write, int64_t count, const ozarr_region *regions,
                         const ozarr_memory *memories, ozarr_status status) {
    ozarr_mpi_request *r = NULL;
    const arguments a = {.array = array, .write = write, .count = count, .regions = regions, .memories = memories, .waits = true};
    status = begin(m, &a, status, &r);
    return status == OZARR_OK ? end(r) : status;
}

ozarr_status om_encode_all(ozarr_mpi *m, const ozarr_array *encoder, int64_t count, const ozarr_region *regions, const ozarr_memory *memories,
                           ozarr_status status) {
    ozarr_mpi_request *r = NULL;
    const arguments a = {.array = encoder, .write = true, .count = count, .regions = regions, .memories = memories, .own = true};
    status = begin(m, &a, status, &r);
    return status == OZARR_OK ? end(r) : status;
}

/* One contiguous box. */
static ozarr_status move_box(ozarr_mpi *m, const ozarr_array *array, bool write, const int64_t *start, const int64_t *shape, ozarr_type type,
                             void *data, size_t size) {
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start, region.shape = shape;
    memory.data = data, memory.size = size, memory.type = type;
    return om_move_all(m, array, write, 1, &region, &memory, OZARR_OK);
}

ozarr_status ozarr_mpi_array_write_all(ozarr_mpi *m, const ozarr_array *array, const int64_t *start, const int64_t *shape, ozarr_type type,
                                       const void *data, size_t size) {
    return move_box(m, array, true, start, shape, type, (void *)(uintptr_t)data, size);
}

ozarr_status ozarr_mpi_array_read_all(ozarr_mpi *m, const ozarr_array *array, const int64_t *start, const int64_t *shape, ozarr_type type,
                                      void *data, size_t size) {
    return move_box(m, array, false, start, shape, type, data, size);
}

ozarr_status ozarr_mpi_array_write_all_ex(ozarr_mpi *m, const ozarr_array *array, int64_t count, const ozarr_region *regions,
                                          const ozarr_memory *memories) {
    return om_move_all(m, array, true, count, regions, memories, OZARR_OK);
}

ozarr_status ozarr_mpi_array_read_all_ex(ozarr_mpi *m, const ozarr_array *array, int64_t count, const ozarr_region *regions,
                                         const ozarr_memory *memories) {
    return om_move_all(m, array, false, count, regions, memories, OZARR_OK);
}

/* Takes a request out of those that go on. */
static void unlink_request(ozarr_mpi_request *request) {
    ozarr_mpi *m = request->m;
    ozarr_mpi_request **place = &m->pending;
    while (*place != request) place = &(*place)->next;
    *place = request->next;
    if (request->let_go) m->let_go--;
    else m->requests--;
}

/* Begins, and moves as far as it goes at once. */
static ozarr_status start(ozarr_mpi *m, const arguments *a, ozarr_mpi_request **out) {
    ozarr_mpi_request *r = NULL;
    ozarr_status status = out != NULL ? OZARR_OK : om_error(OZARR_ERR_NULL, "out is NULL");
    if (out != NULL) *out = NULL;
    status = begin(m, a, status, &r);
    if (status != OZARR_OK) return status;
    status = om_agree(m, om_register(r), NULL);
    if (status != OZARR_OK) {
        om_forget(r);
        request_free(r);
        return status;
    }
    *out = r;
    m->requests++;
    r->number = m->requests_begun++;
    ozarr_mpi_request **last = &m->pending;
    while (*last != NULL) last = &(*last)->next;
    *last = r;
    (void)move_on(r);
    return OZARR_OK;
}

ozarr_status ozarr_mpi_array_iwrite_all(ozarr_mpi *m, const ozarr_array *array, int64_t count, const ozarr_region *regions,
                                        const ozarr_memory *memories, ozarr_mpi_request **out) {
    const arguments a = {.array = array, .write = true, .count = count, .regions = regions, .memories = memories};
    return start(m, &a, out);
}

ozarr_status ozarr_mpi_array_iread_all(ozarr_mpi *m, const ozarr_array *array, int64_t count, const ozarr_region *regions,
                                       const ozarr_memory *memories, ozarr_mpi_request **out) {
    const arguments a = {.array = array, .count = count, .regions = regions, .memories = memories};
    return start(m, &a, out);
}

/* Tells the other ranks that the messages of a request do not come any more, which they find when they test it. */
static void tell_given_up(const ozarr_mpi_request *r) {
    for (int peer = 0; peer < r->m->size; peer++) {
        MPI_Request sent = MPI_REQUEST_NULL;
        if (peer == r->m->rank) continue;
        /* The request stays where it is: without it nothing can be closed. */
        MPI_Isend(&r->number, 1, MPI_INT64_T, peer, OM_GIVEN_UP, r->m->comm, &sent);
        if (sent != MPI_REQUEST_NULL) MPI_Request_free(&sent);
    }
}

/* Takes what other ranks have told of requests that they gave up. */
static ozarr_status note_given_up(ozarr_mpi *m) {
    int found = 1;
    while (found) {
        int64_t number = -1;
        MPI_Status from;
        ozarr_status status = om_check("MPI_Iprobe", MPI_Iprobe(MPI_ANY_SOURCE, OM_GIVEN_UP, m->comm, &found, &from));
        if (status == OZARR_OK && found)
            status = om_check("MPI_Recv", MPI_Recv(&number, 1, MPI_INT64_T, from.MPI_SOURCE, OM_GIVEN_UP, m->comm, MPI_STATUS_IGNORE));
        if (status != OZARR_OK) return status;
        for (ozarr_mpi_request *r = m->pending; r != NULL; r = r->next)
            if (r->number == number) r->given_up = true, r->moved = seconds();
    }
    return OZARR_OK;
}

ozarr_status ozarr_mpi_request_test(ozarr_mpi_request *request, bool *done) {
    if (done == NULL) return om_error(OZARR_ERR_NULL, "done is NULL");
    ozarr_status status = om_valid(request, "ozarr_mpi_request");
    if (status == OZARR_OK) status = om_check_thread();
    if (status != OZARR_OK) return status;
    /* All of them: the other ranks may test another one first. */
    om_move_pending(request->m, 0);
    *done = !move_on(request);
    if (*done) return status;
    status = note_given_up(request->m);
    /* Its messages may be here already, and those of other ranks still come. */
    if (status == OZARR_OK && request->given_up && stands_still(request))
        status = om_error(OZARR_ERR_STATE, "another rank has let go of request %" PRId64 ", which this rank did not move on", request->number);
    return status;
}

ozarr_status ozarr_mpi_request_wait(ozarr_mpi_request *request) {
    char call[OM_MESSAGE];
    ozarr_status status = om_valid(request, "ozarr_mpi_request");
    if (status != OZARR_OK) return status;
    ozarr_mpi *m = request->m;
    snprintf(call, sizeof call, "ozarr_mpi_request_wait of request %" PRId64, request->number);
    status = om_enter(m, status, NULL, call);
    /* Where MPI itself fails the request ends all the same. That status may be of the call of another rank, too. */
    if (status != OZARR_OK && m->met) return status;
    om_forget(request);
    unlink_request(request);
    if (status == OZARR_OK) return om_leave(m, end(request));
    request_free(request);
    return status;
}

/* Moves all requests on until this rank has done its part of one; false where nothing has moved for some seconds. */
static bool do_own_part(ozarr_mpi_request *r) {
    r->moved = seconds();
    while (move_on(r)) {
        om_move_pending(r->m, 0);
        if (stands_still(r)) return false;
        om_move_pause(r->move);
    }
    return true;
}

ozarr_status ozarr_mpi_request_free(ozarr_mpi_request *request) {
    if (request == NULL) return OZARR_OK;
    ozarr_status status = om_valid(request, "ozarr_mpi_request");
    if (status == OZARR_OK) status = om_check_thread();
    if (status != OZARR_OK) return status;
    ozarr_mpi *m = request->m;
    om_forget(request);
    m->requests--, m->let_go++;
    request->let_go = true;
    if (do_own_part(request)) return OZARR_OK;
    m->given_up = true;
    tell_given_up(request);
    /* Takes back what would be received into its memory. */
    om_move_free(request->move);
    request->move = NULL;
    return om_error(OZARR_ERR_STATE, "request %" PRId64 " was let go of, and other ranks did not move it on", request->number);
}

ozarr_status om_check_no_requests(const ozarr_mpi *m, const ozarr_array *array) {
    for (const ozarr_mpi_request *r = m->pending; r != NULL; r = r->next)
        if (r->array == array && !r->let_go) return om_error(OZARR_ERR_STATE, "request %" PRId64 " of the array was not waited for", r->number);
    return OZARR_OK;
}

ozarr_status om_end_let_go(ozarr_mpi *m) {
    om_failure first = {0};
    for (ozarr_mpi_request *r = m->pending, *next; r != NULL; r = next) {
        next = r->next;
        if (!r->let_go) continue;
        unlink_request(r);
        const ozarr_status status = end(r);
        if (status != OZARR_OK && first.status == OZARR_OK) om_failure_last(&first, status);
    }
    return first.status == OZARR_OK ? OZARR_OK : om_failure_set(&first);
}
