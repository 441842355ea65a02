/* What is where in a collective read or write: pieces in memory and in messages, lists of regions for ozarr, failures. */
#include "move.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t om_bytes_of(const om_move *w, const plan_piece *piece) {
    int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK];
    return plan_piece_box(w->job.p, piece->chunk, piece->box, start, shape) * (int64_t)w->job.p->item_size;
}

static bool same_mail(const plan *p, const plan_piece *a, const plan_piece *b) {
    return a->peer == b->peer && plan_round(p, a->chunk) == plan_round(p, b->chunk);
}

/* Where the message that begins with piece `begin` ends, and its bytes. */
int64_t om_mail_end(const om_move *w, const plan_piece *pieces, int64_t count, int64_t begin, int64_t *bytes) {
    int64_t end = begin;
    *bytes = 0;
    while (end < count && same_mail(w->job.p, &pieces[begin], &pieces[end])) *bytes += om_bytes_of(w, &pieces[end++]);
    return end;
}

int64_t om_round_end(const plan *p, int64_t begin) {
    int64_t end = begin;
    const int64_t round = begin < p->in_count ? plan_round(p, p->in[begin].chunk) : 0;
    while (end < p->in_count && plan_round(p, p->in[end].chunk) == round) end++;
    return end;
}

/* Where a part of one of my boxes begins in memory. */
char *om_in_memory(const om_move *w, int64_t box, const int64_t *start) {
    const om_view *view = &w->job.views[box - w->job.first_box];
    const int64_t *corner = w->job.p->boxes.corner + 2 * box * w->job.p->grid.rank;
    char *at = view->data + view->offset;
    for (int d = 0; d < w->job.p->grid.rank; d++) at += (start[d] - corner[d]) * view->stride[d];
    return at;
}

const int64_t *om_strides_of(const om_move *w, int64_t box) { return w->job.views[box - w->job.first_box].stride; }

void om_note(om_move *w, ozarr_status status) {
    if (w->failure.status == OZARR_OK && status != OZARR_OK) om_failure_last(&w->failure, status);
}

/* Makes the element that a message begins with, such as `element [3, 17]`, one of the array: its index counts from the region's first element. */
static void name_in_array(om_failure *f, int32_t rank, const int64_t *start) {
    static const char before[] = "element [";
    char text[sizeof f->message];
    const char *from = f->message + sizeof before - 1;
    size_t at = sizeof before - 1;
    if (rank == 0 || strncmp(f->message, before, at) != 0) return;
    memcpy(text, before, at);
    for (int d = 0; d < rank; d++) {
        char *end;
        const long long index = strtoll(from, &end, 10);
        if (end == from || *end != (d + 1 < rank ? ',' : ']') || at >= sizeof text) return;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld%s", d > 0 ? ", " : "", index + (long long)start[d], d + 1 < rank ? "" : "]");
        from = end + 1;
    }
    if (at < sizeof text) snprintf(text + at, sizeof text - at, "%s", from);
    memcpy(f->message, text, sizeof text);
    f->message[sizeof text - 1] = 0;
}

/* Keeps an error of storing or fetching chunks, if it is the first one. The list's entry that it names is none that the program made: the element
 * is told as one of the array. Where other ranks have elements of the chunks, what is wrong need not be this rank's. */
static void note_chunks(om_move *w, const om_failure *f, const om_storing *storing, const int64_t *numbers) {
    const int32_t rank = w->job.p->grid.rank;
    long long entry = 0;
    int digits = 0;
    if (w->failure.status != OZARR_OK) return;
    w->failure = *f;
    if (sscanf(f->message, "entry %lld: %n", &entry, &digits) == 1 && digits > 0) {
        snprintf(w->failure.message, sizeof w->failure.message, "%s", f->message + digits);
        name_in_array(&w->failure, rank, numbers + entry * 3 * (rank + 1));
    }
    if (storing->shared) om_failure_begin(&w->failure, "for all ranks that share the chunk: ");
}

/* Ends a request of ozarr: its error, and the objects that it stored. */
void om_end_request(om_move *w, om_storing *storing) {
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    om_failure f;
    const ozarr_status status = ozarr_request_wait(storing->request, -1);
    if (status == OZARR_OK) {
        w->stored += storing->objects;
    } else {
        if (ozarr_request_error(storing->request, &info) == OZARR_OK) om_failure_of(&f, &info);
        else om_failure_last(&f, status);
        note_chunks(w, &f, storing, storing->numbers);
    }
    om_storing_free(storing);
}

void om_storing_free(om_storing *storing) {
    ozarr_request_free(storing->request);
    free(storing->numbers);
    storing->request = NULL, storing->numbers = NULL;
}

/* Whether a request has ended; true without one. */
bool om_has_ended(const ozarr_request *request) {
    bool done = true;
    return request == NULL || ozarr_request_test(request, &done) != OZARR_OK || done;
}

bool om_list_new(om_region_list *list, int64_t capacity, int32_t rank) {
    const size_t n = (size_t)capacity + 1;
    list->count = 0;
    list->entries = malloc(n * sizeof *list->entries);
    list->regions = malloc(n * sizeof *list->regions);
    list->memories = malloc(n * sizeof *list->memories);
    list->numbers = malloc(n * 3 * ((size_t)rank + 1) * sizeof *list->numbers);
    return list->entries != NULL && list->regions != NULL && list->memories != NULL && list->numbers != NULL;
}

void om_list_free(om_region_list *list) {
    free(list->entries), free(list->regions), free(list->memories), free(list->numbers);
}

/* Adds a region whose first element is at byte `offset` of `data`; without strides it is contiguous. */
void om_list_add(const om_move *w, om_region_list *list, const int64_t *start, const int64_t *shape, char *data, size_t size, size_t offset,
                     const int64_t *stride) {
    const size_t rank = (size_t)w->job.p->grid.rank;
    const int64_t i = list->count++;
    int64_t *numbers = list->numbers + (size_t)i * 3 * (rank + 1);
    memcpy(numbers, start, rank * sizeof *numbers);
    memcpy(numbers + rank + 1, shape, rank * sizeof *numbers);
    if (stride != NULL) memcpy(numbers + 2 * (rank + 1), stride, rank * sizeof *numbers);
    ozarr_region_init(&list->regions[i]);
    list->regions[i].start = numbers, list->regions[i].shape = numbers + rank + 1;
    list->memories[i] = w->job.type;
    list->memories[i].data = data, list->memories[i].size = size, list->memories[i].offset = offset;
    list->memories[i].strides = stride != NULL ? numbers + 2 * (rank + 1) : NULL;
    list->memories[i].sizes = NULL, list->memories[i].starts = NULL, list->memories[i].order = OZARR_ORDER_C;
    const ozarr_batch_entry init = OZARR_BATCH_ENTRY_INIT;
    list->entries[i] = init;
    list->entries[i].array = w->job.array, list->entries[i].region = &list->regions[i], list->entries[i].memory = &list->memories[i];
}

/* Begins to read or write the regions, of which `storing` says the chunks. What requests have no room for is done at once, and so is what this rank
 * waits for while it has no messages: elements of a request pass through memory of the library, since it may be cancelled. */
void om_submit(om_move *w, om_region_list *list, om_storing *storing) {
    const plan *p = w->job.p;
    const bool waits = w->job.waits && !w->job.lone_only && p->in_count == 0 && p->out_count == 0;
    if (list->count == 0) return;
    ozarr_status status = OZARR_OK;
    if (!waits)
        status = w->job.write ? ozarr_iwrite_many(list->entries, list->count, NULL, &storing->request)
                              : ozarr_iread_many(list->entries, list->count, NULL, &storing->request);
    if (waits || status == OZARR_ERR_LIMIT || status == OZARR_ERR_AGAIN) {
        status = w->job.write ? ozarr_write_many(list->entries, list->count) : ozarr_read_many(list->entries, list->count);
        if (status == OZARR_OK) w->stored += storing->objects;
    }
    if (status != OZARR_OK) {
        om_failure f;
        om_failure_last(&f, status);
        note_chunks(w, &f, storing, list->numbers);
    }
    if (storing->request != NULL) storing->numbers = list->numbers, list->numbers = NULL;
}

/* Adds a part of one of my boxes. */
void om_list_mine(const om_move *w, om_region_list *list, int64_t box, const int64_t *start, const int64_t *shape) {
    const om_view *view = &w->job.views[box - w->job.first_box];
    om_list_add(w, list, start, shape, view->data, view->size, (size_t)(om_in_memory(w, box, start) - view->data), view->stride);
}
