/* An aggregator's rounds: receives the pieces of chunks, stores the chunks; or fetches chunks, and sends the pieces. */
#include "move.h"

/* Posts the receives, or the sends, of a round: a message for each peer. */
static void post_round(om_move *w, om_round *round, bool send) {
    const plan *p = w->job.p;
    for (int64_t i = round->begin, j; i < round->end; i = j) {
        int64_t bytes = 0;
        j = om_mail_end(w, p->in, round->end, i, &bytes);
        if (p->in[i].peer != p->me) om_post(w, &round->parts, round->wire + w->place[i], bytes, p->in[i].peer, send);
    }
}

static void around(const plan *p, om_chunk_pieces *c) {
    int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK];
    for (int64_t i = c->begin; i < c->end; i++) {
        const plan_piece *piece = &p->in[p->by_chunk[i]];
        plan_piece_box(p, piece->chunk, piece->box, start, shape);
        for (int d = 0; d < p->grid.rank; d++) {
            if (i == c->begin) c->start[d] = start[d], c->shape[d] = shape[d];
            const int64_t end = c->start[d] + c->shape[d] > start[d] + shape[d] ? c->start[d] + c->shape[d] : start[d] + shape[d];
            c->start[d] = c->start[d] < start[d] ? c->start[d] : start[d];
            c->shape[d] = end - c->start[d];
        }
    }
}

/* The next chunk of a round, behind `c`; false at the end. */
bool om_next_chunk(const om_move *w, const om_round *round, om_chunk_pieces *c) {
    const plan *p = w->job.p;
    c->begin = c->end;
    if (c->begin == round->end) return false;
    const int64_t chunk = p->in[p->by_chunk[c->begin]].chunk;
    int64_t pieces = 0, elements = 1;
    for (; c->end < round->end && p->in[p->by_chunk[c->end]].chunk == chunk; c->end++) pieces += om_bytes_of(w, &p->in[p->by_chunk[c->end]]);
    plan_chunk_box(p, chunk, c->start, c->shape);
    if (!w->job.write) around(p, c);
    for (int d = 0; d < p->grid.rank; d++) elements *= c->shape[d];
    c->bytes = elements * (int64_t)p->item_size;
    c->whole = !w->job.write || (pieces == c->bytes && !w->job.last_wins);
    return true;
}

/* Copies a chunk's pieces between their messages (or my memory) and the chunk's elements. */
static void assemble(const om_move *w, const om_round *round, const om_chunk_pieces *c, char *chunk, bool into_chunk) {
    const plan *p = w->job.p;
    const int32_t rank = p->grid.rank;
    int64_t stride[PLAN_MAX_RANK], start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK], dense[PLAN_MAX_RANK];
    om_dense(rank, c->shape, p->item_size, stride);
    for (int64_t i = c->begin; i < c->end; i++) {
        const int64_t place = w->place[p->by_chunk[i]];
        const plan_piece *piece = &p->in[p->by_chunk[i]];
        plan_piece_box(p, piece->chunk, piece->box, start, shape);
        om_dense(rank, shape, p->item_size, dense);
        char *outside = place >= 0 ? round->wire + place : om_in_memory(w, piece->box, start), *inside = chunk;
        const int64_t *outside_stride = place >= 0 ? dense : om_strides_of(w, piece->box);
        for (int d = 0; d < rank; d++) inside += (start[d] - c->start[d]) * stride[d];
        if (into_chunk) om_copy(rank, shape, p->item_size, inside, stride, outside, outside_stride);
        else om_copy_fields(&w->job.fields, rank, shape, p->item_size, outside, outside_stride, inside, stride);
    }
}

/* Begins to store, or to fetch, the chunks of a round. */
static void store_round(om_move *w, om_round *round) {
    const plan *p = w->job.p;
    om_region_list list;
    om_chunk_pieces c = {.end = round->begin};
    char *chunk = round->chunks;
    round->storing.objects = 0, round->storing.shared = true;
    if (!om_list_new(&list, round->end - round->begin, p->grid.rank)) {
        om_note(w, om_error(OZARR_ERR_NO_MEMORY, "the regions of a round"));
    } else {
        for (; om_next_chunk(w, round, &c); round->storing.objects++) {
            if (c.whole) {
                if (w->job.write) assemble(w, round, &c, chunk, true);
                om_list_add(w, &list, c.start, c.shape, chunk, (size_t)c.bytes, 0, NULL);
                chunk += c.bytes;
                continue;
            }
            for (int64_t i = c.begin; i < c.end; i++) {
                int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK];
                const plan_piece *piece = &p->in[p->by_chunk[i]];
                const int64_t place = w->place[p->by_chunk[i]];
                plan_piece_box(p, piece->chunk, piece->box, start, shape);
                if (place < 0) om_list_mine(w, &list, piece->box, start, shape);
                else om_list_add(w, &list, start, shape, round->wire + place, (size_t)om_bytes_of(w, piece), 0, NULL);
            }
        }
        om_submit(w, &list, &round->storing);
    }
    om_list_free(&list);
}

/* Divides the chunks of a round that were read among messages and my memory. */
static void divide_round(om_move *w, om_round *round) {
    om_chunk_pieces c = {.end = round->begin};
    for (char *chunk = round->chunks; om_next_chunk(w, round, &c); chunk += c.bytes) assemble(w, round, &c, chunk, false);
}

static bool begin_round(om_move *w, om_round *round) {
    const plan *p = w->job.p;
    if (w->next_in == p->in_count) return false;
    round->begin = w->next_in;
    round->end = w->next_in = om_round_end(p, round->begin);
    if (w->job.write) post_round(w, round, false), round->state = ROUND_MAIL;
    else store_round(w, round), round->state = ROUND_STORE;
    return true;
}

/* Takes a round one step further, if it can; whether it could. */
bool om_move_round(om_move *w, om_round *round) {
    if (round->state == ROUND_FREE) return begin_round(w, round);
    if (round->state == ROUND_MAIL) {
        if (!om_arrived(w, &round->parts)) return false;
        if (w->job.write) store_round(w, round), round->state = ROUND_STORE;
        else round->state = ROUND_FREE;
        return true;
    }
    /* Messages of two rounds to one rank are told apart by their order alone. */
    if (!om_has_ended(round->storing.request) || (!w->job.write && round->begin != w->next_sent)) return false;
    if (round->storing.request != NULL) om_end_request(w, &round->storing);
    round->state = ROUND_FREE;
    if (!w->job.write) {
        divide_round(w, round);
        post_round(w, round, true);
        w->next_sent = round->end;
        round->state = ROUND_MAIL;
    }
    return true;
}
