/* Moves pieces between the ranks that have them in memory and the aggregators that store or fetch their chunks.
 *
 * Each rank has two parts. As one that has boxes it exchanges one message with each aggregator in each round in which they share chunks, as
 * many at once as it has buffers. As an aggregator it works on two rounds at once: pieces of one travel while the chunks of the other are
 * encoded and stored. All messages follow from the plan, and are sent and received whatever fails, so that nobody waits for ever: of all
 * rounds that are not done take the first; its aggregators have room for it, and every rank's next message is of it or of a later one. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#endif
#include "move.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* Copies a piece of mine between my memory and contiguous bytes. */
static int64_t copy_mine(const om_move *w, const plan_piece *piece, char *bytes, bool to_memory) {
    int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK], dense[PLAN_MAX_RANK];
    const plan *p = w->job.p;
    const int64_t elements = plan_piece_box(p, piece->chunk, piece->box, start, shape);
    char *memory = om_in_memory(w, piece->box, start);
    om_dense(p->grid.rank, shape, p->item_size, dense);
    if (to_memory) om_copy_fields(&w->job.fields, p->grid.rank, shape, p->item_size, memory, om_strides_of(w, piece->box), bytes, dense);
    else om_copy(p->grid.rank, shape, p->item_size, bytes, dense, memory, om_strides_of(w, piece->box));
    return elements * (int64_t)p->item_size;
}

/* Posts a message in parts; a send or a receive. */
void om_post(om_move *w, om_parts *all, char *bytes, int64_t size, int peer, bool send) {
    const int64_t most = w->job.message_bytes;
    all->send = send;
    for (int64_t at = 0; at < size; at += most) {
        const int n = (int)(size - at < most ? size - at : most);
        MPI_Request *request = &all->items[all->count];
        const int status = send ? MPI_Isend(bytes + at, n, MPI_BYTE, peer, w->job.tag, w->job.m->comm, request)
                                : MPI_Irecv(bytes + at, n, MPI_BYTE, peer, w->job.tag, w->job.m->comm, request);
        if (status == MPI_SUCCESS) all->count++;
        else om_note(w, om_check(send ? "MPI_Isend" : "MPI_Irecv", status));
    }
}

bool om_give_up(om_parts *all) {
    enum { TRIES = 1000 };
    int left = all->count;
    /* A send cannot be cancelled. */
    for (int i = 0; i < all->count && !all->send; i++)
        if (all->items[i] != MPI_REQUEST_NULL) MPI_Cancel(&all->items[i]);
    for (int tries = 0; tries < TRIES && left > 0; tries++) {
        left = 0;
        for (int i = 0; i < all->count; i++) {
            int done = 0;
            if (all->items[i] != MPI_REQUEST_NULL) MPI_Test(&all->items[i], &done, MPI_STATUS_IGNORE);
            left += all->items[i] != MPI_REQUEST_NULL;
        }
        if (left > 0) sched_yield();
    }
    all->count = 0;
    return left == 0;
}

bool om_arrived(om_move *w, om_parts *all) {
    int done = 1;
    if (all->count == 0) return true;
    const int status = MPI_Testall(all->count, all->items, &done, MPI_STATUSES_IGNORE);
    om_note(w, om_check("MPI_Testall", status));
    if (status != MPI_SUCCESS) w->lost |= !om_give_up(all);
    else if (done) all->count = 0;
    return all->count == 0;
}

/* A message of one contiguous piece is sent from and received in the memory itself. */
static char *direct(const om_move *w, const om_mail *letter) {
    int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK], bytes = (int64_t)w->job.p->item_size;
    const plan_piece *piece = &w->job.p->out[letter->begin];
    if (letter->end - letter->begin != 1 || (!w->job.write && om_has_gaps(&w->job.fields, w->job.p->item_size))) return NULL;
    plan_piece_box(w->job.p, piece->chunk, piece->box, start, shape);
    const int64_t *stride = om_strides_of(w, piece->box);
    for (int d = w->job.p->grid.rank - 1; d >= 0; d--) {
        if (shape[d] > 1 && stride[d] != bytes) return NULL;
        bytes *= shape[d];
    }
    return om_in_memory(w, piece->box, start);
}

/* Begins this rank's next message; false if there is none. */
static bool begin_mail(om_move *w, om_mail *letter) {
    const plan *p = w->job.p;
    while (w->next_out < p->out_count && p->out[w->next_out].peer == p->me) w->next_out++;
    if (w->next_out == p->out_count) return false;
    int64_t bytes = 0;
    letter->begin = w->next_out;
    letter->end = w->next_out = om_mail_end(w, p->out, p->out_count, letter->begin, &bytes);
    letter->active = true;
    char *at = direct(w, letter);
    if (at == NULL) {
        at = letter->buffer;
        for (int64_t i = letter->begin; w->job.write && i < letter->end; i++) at += copy_mine(w, &p->out[i], at, false);
        at = letter->buffer;
    }
    om_post(w, &letter->parts, at, bytes, p->out[letter->begin].peer, w->job.write);
    return true;
}

static void end_mail(om_move *w, om_mail *letter) {
    const char *at = letter->buffer;
    if (!w->job.write && direct(w, letter) == NULL)
        for (int64_t i = letter->begin; i < letter->end; i++) at += copy_mine(w, &w->job.p->out[i], (char *)(uintptr_t)at, true);
    letter->active = false;
}

/* --- beginning and ending --- */

/* How far the elements of a piece along the last dimension go on in the next chunk of the same box. */
static bool continues(const plan *p, const plan_piece *a, const plan_piece *b) {
    const int32_t n = p->grid.rank;
    return n > 0 && a->box == b->box && b->chunk == a->chunk + 1 && b->chunk % p->extent[n - 1] != 0;
}

/* Adds a run of chunks that are mine alone, from plan.lone[i] on; the piece behind it. */
static int64_t list_run(om_move *w, om_region_list *list, int64_t i) {
    int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK], from[PLAN_MAX_RANK], more[PLAN_MAX_RANK], j;
    const plan *p = w->job.p;
    plan_piece_box(p, p->lone[i].chunk, p->lone[i].box, start, shape);
    for (j = i + 1; j < p->lone_count && continues(p, &p->lone[j - 1], &p->lone[j]); j++) {
        plan_piece_box(p, p->lone[j].chunk, p->lone[j].box, from, more);
        shape[p->grid.rank - 1] += more[p->grid.rank - 1];
    }
    om_list_mine(w, list, p->lone[i].box, start, shape);
    return j;
}

/* Begins to read or write the chunks that are mine alone, in the order of my boxes. */
static void begin_lone(om_move *w) {
    const plan *p = w->job.p;
    om_region_list list;
    w->lone.objects = p->lone_count;
    for (int64_t i = 0; i < p->lone_box_count; i++) w->lone.objects += plan_box_chunks(p, p->lone_boxes[i]);
    w->total += w->lone.objects;
    if (om_list_new(&list, p->lone_box_count + p->lone_count, p->grid.rank)) {
        for (int64_t i = 0, j = 0; i < p->lone_box_count || j < p->lone_count;) {
            if (j < p->lone_count && (i == p->lone_box_count || p->lone[j].box < p->lone_boxes[i])) {
                j = list_run(w, &list, j);
                continue;
            }
            const int64_t box = p->lone_boxes[i++], *corner = p->boxes.corner + 2 * box * p->grid.rank;
            om_list_mine(w, &list, box, corner, corner + p->grid.rank);
        }
        om_submit(w, &list, &w->lone);
    } else {
        om_note(w, om_error(OZARR_ERR_NO_MEMORY, "a list of regions"));
    }
    om_list_free(&list);
}

static bool parts_new(om_parts *all, int64_t capacity) {
    all->capacity = (int)capacity;
    all->items = capacity > INT32_MAX ? NULL : malloc(((size_t)capacity + 1) * sizeof *all->items);
    return all->items != NULL;
}

static int64_t parts_of(const om_move *w, int64_t bytes) { return (bytes + w->job.message_bytes - 1) / w->job.message_bytes; }

/* The buffers of this rank's own messages. */
static bool prepare_mails(om_move *w) {
    const plan *p = w->job.p;
    int64_t most = 0, count = 0, bytes = 0;
    for (int64_t i = 0; i < p->out_count; i = om_mail_end(w, p->out, p->out_count, i, &bytes)) {
        om_mail_end(w, p->out, p->out_count, i, &bytes);
        if (p->out[i].peer == p->me) continue;
        count++;
        most = bytes > most ? bytes : most;
    }
    w->mail_count = count < BUFFERS ? (int)count : BUFFERS;
    for (int i = 0; i < w->mail_count; i++) {
        w->mails[i].buffer = malloc((size_t)most);
        if (w->mails[i].buffer == NULL || !parts_new(&w->mails[i].parts, parts_of(w, most))) return false;
    }
    return true;
}

/* The places of the pieces, and the buffers of the rounds. */
static bool prepare_rounds(om_move *w) {
    const plan *p = w->job.p;
    int64_t most_wire = 0, most_chunks = 0, most_parts = 0, rounds = 0;
    w->place = malloc(((size_t)p->in_count + 1) * sizeof *w->place);
    if (w->place == NULL) return false;
    for (om_round r = {0}; r.end < p->in_count; rounds++) {
        int64_t wire = 0, chunks = 0, all_parts = 0, bytes = 0;
        r.begin = r.end, r.end = om_round_end(p, r.begin);
        for (int64_t i = r.begin; i < r.end; i++) {
            w->place[i] = p->in[i].peer == p->me ? -1 : wire;
            if (p->in[i].peer != p->me) wire += om_bytes_of(w, &p->in[i]);
        }
        for (int64_t i = r.begin, j; i < r.end; i = j) {
            j = om_mail_end(w, p->in, r.end, i, &bytes);
            all_parts += parts_of(w, bytes);
        }
        for (om_chunk_pieces c = {.end = r.begin}; om_next_chunk(w, &r, &c); w->total++) chunks += c.whole ? c.bytes : 0;
        most_wire = wire > most_wire ? wire : most_wire;
        most_chunks = chunks > most_chunks ? chunks : most_chunks;
        most_parts = all_parts > most_parts ? all_parts : most_parts;
    }
    for (int i = 0; i < ROUNDS && i < rounds; i++) {
        w->rounds[i].wire = malloc((size_t)most_wire + 1);
        w->rounds[i].chunks = malloc((size_t)most_chunks + 1);
        if (w->rounds[i].wire == NULL || w->rounds[i].chunks == NULL || !parts_new(&w->rounds[i].parts, most_parts)) return false;
    }
    return true;
}

ozarr_status om_move_new(const om_job *job, om_move **out) {
    om_move *w = calloc(1, sizeof *w);
    *out = NULL;
    if (w == NULL) return om_error(OZARR_ERR_NO_MEMORY, "a collective call");
    w->job = *job;
    if (job->lone_only) {
        w->next_in = job->p->in_count, w->next_out = job->p->out_count;
        *out = w;
        return OZARR_OK;
    }
    if (!prepare_mails(w) || !prepare_rounds(w)) {
        om_move_free(w);
        return om_error(OZARR_ERR_NO_MEMORY, "the buffers of a collective call (the setting \"round_bytes\" bounds them)");
    }
    *out = w;
    return OZARR_OK;
}

bool om_move_on(om_move *w) {
    bool moved = false, active = false;
    for (int i = 0; i < ROUNDS; i++) {
        while (w->rounds[i].wire != NULL && om_move_round(w, &w->rounds[i])) moved = true;
        active |= w->rounds[i].state != ROUND_FREE;
    }
    for (int i = 0; i < w->mail_count; i++) {
        om_mail *letter = &w->mails[i];
        if (letter->active && om_arrived(w, &letter->parts)) end_mail(w, letter), moved = true;
        if (!letter->active) moved |= begin_mail(w, letter);
        active |= letter->active;
    }
    if (!w->begun) begin_lone(w), w->begun = moved = true;
    if (w->lone.request != NULL && om_has_ended(w->lone.request)) om_end_request(w, &w->lone), moved = true;
    active |= w->lone.request != NULL;
    w->idle = moved ? 0 : w->idle + 1;
    return active;
}

/* A request that stores or fetches chunks; NULL without one. */
static ozarr_request *storing_of(const om_move *w) {
    ozarr_request *storing = w->lone.request;
    for (int i = 0; i < ROUNDS; i++)
        if (w->rounds[i].storing.request != NULL) storing = w->rounds[i].storing.request;
    return storing;
}

bool om_move_waits(const om_move *w) { return w->idle > 0 && storing_of(w) == NULL; }

void om_move_pause(om_move *w) {
    if (w->idle == 0) return;
    ozarr_request *storing = storing_of(w);
    bool travels = false;
    for (int i = 0; i < ROUNDS; i++) travels |= w->rounds[i].state == ROUND_MAIL;
    for (int i = 0; i < w->mail_count; i++) travels |= w->mails[i].active;
    if (storing != NULL) {
        /* This thread helps; its status is asked for again by om_end_request. */
        const ozarr_status seen = ozarr_request_wait(storing, travels ? 0.0002 : -1);
        OM_UNUSED(seen);
        return;
    }
    om_yield(w->idle);
}

void om_yield(int tries) {
    const struct timespec pause = {0, tries < 1000 ? 20000 : 200000};
    if (tries < 100) sched_yield();
    else nanosleep(&pause, NULL);
}

ozarr_status om_move_end(om_move *w, int64_t *stored, int64_t *total) {
    *stored = w->stored, *total = w->total;
    return w->failure.status == OZARR_OK ? OZARR_OK : om_failure_set(&w->failure);
}

void om_move_free(om_move *w) {
    if (w == NULL) return;
    /* Messages that are under way here are those of a call that MPI ended. */
    for (int i = 0; i < BUFFERS; i++) w->lost |= !om_give_up(&w->mails[i].parts);
    for (int i = 0; i < ROUNDS; i++) w->lost |= !om_give_up(&w->rounds[i].parts);
    for (int i = 0; i < BUFFERS; i++) {
        if (!w->lost) free(w->mails[i].buffer);
        free(w->mails[i].parts.items);
    }
    for (int i = 0; i < ROUNDS; i++) {
        om_storing_free(&w->rounds[i].storing);
        if (!w->lost) free(w->rounds[i].wire);
        free(w->rounds[i].chunks), free(w->rounds[i].parts.items);
    }
    om_storing_free(&w->lone);
    free(w->place);
    free(w);
}
