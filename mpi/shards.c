/* Writes shards of which several ranks have elements: their inner chunks are encoded by the ranks, and only bytes go to a shard's owner.
 *
 * The inner chunks are the chunks of an array in memory (`om_cached.encoder`), which all ranks write together as any other: an inner chunk
 * that one rank has is encoded by it. What is then in the memory of each rank goes to the owners of the shards, round by round. */
#include "move.h"

#include <stdlib.h>
#include <string.h>

/* Encoded inner chunks, one behind the other: of each its index, the number of its bytes, and these, filled up to a multiple of 8. */
typedef struct stream {
    char *bytes;
    int64_t size, capacity;
    int source;
} stream;

/* An inner chunk in a stream. */
typedef struct encoded {
    int64_t shard;
    int32_t rank;
    const int64_t *index;
    const char *bytes;
    int64_t size;
} encoded;

/* What is at work on the shards of a call. */
typedef struct work {
    om_move *w;
    ozarr_array *encoder;
    int64_t inner[PLAN_MAX_RANK]; /* the shape of an inner chunk */
    int64_t next;                 /* the first piece of mine in a round that was not begun */
    stream *out;                  /* to each aggregator */
    stream *in;                   /* what came, by rank */
    int64_t in_count;
    bool lost;                    /* MPI may still read what was to be sent */
} work;

static bool make_room(stream *s, int64_t more) {
    if (s->capacity - s->size >= more) return true;
    const int64_t capacity = s->size + more > 2 * s->capacity ? s->size + more : 2 * s->capacity;
    char *bytes = realloc(s->bytes, (size_t)capacity);
    if (bytes == NULL) return false;
    s->bytes = bytes, s->capacity = capacity;
    return true;
}

static void streams_free(stream *streams, int64_t count) {
    for (int64_t i = 0; i < count && streams != NULL; i++) free(streams[i].bytes);
    free(streams);
}

/* The round of my next pieces; INT64_MAX behind the last. */
static int64_t next_round(const work *s) {
    const plan *p = s->w->job.p;
    return s->next < p->out_count ? plan_round(p, p->out[s->next].chunk) : INT64_MAX;
}

/* Encodes the inner chunks of a round's shards, with all ranks. */
static ozarr_status encode(work *s, int64_t round) {
    const plan *p = s->w->job.p;
    om_region_list list;
    int64_t end = s->next, start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK];
    while (end < p->out_count && plan_round(p, p->out[end].chunk) == round) end++;
    ozarr_status status = OZARR_OK;
    if (om_list_new(&list, end - s->next, p->grid.rank)) {
        for (; s->next < end; s->next++) {
            plan_piece_box(p, p->out[s->next].chunk, p->out[s->next].box, start, shape);
            om_list_mine(s->w, &list, p->out[s->next].box, start, shape);
        }
    } else {
        status = om_error(OZARR_ERR_NO_MEMORY, "a list of regions");
    }
    s->next = end;
    status = om_encode_all(s->w->job.m, s->encoder, list.count, list.regions, list.memories, status);
    om_list_free(&list);
    return status;
}

/* Takes an inner chunk out of the array in memory, into the stream to its shard's owner. */
static ozarr_status pack_one(work *s, const ozarr_chunk_iter *it) {
    const plan *p = s->w->job.p;
    const size_t rank = (size_t)p->grid.rank;
    int64_t index[PLAN_MAX_RANK], element[PLAN_MAX_RANK], offset = 0, size = 0;
    bool stored = false;
    ozarr_status status = ozarr_chunk_iter_index(it, index);
    if (status == OZARR_OK) status = ozarr_chunk_iter_place(it, &offset, &size);
    if (status != OZARR_OK) return status;
    for (size_t d = 0; d < rank; d++) element[d] = index[d] * s->inner[d];
    stream *to = &s->out[plan_aggregator(p, plan_chunk_of(p, element))];
    const int64_t head = (int64_t)((rank + 1) * sizeof *index), filled = (size + 7) / 8 * 8;
    if (!make_room(to, head + filled)) return om_error(OZARR_ERR_NO_MEMORY, "%lld bytes of encoded chunks", (long long)(to->size + head + filled));
    char *at = to->bytes + to->size;
    memcpy(at, index, rank * sizeof *index);
    memcpy(at + rank * sizeof *index, &size, sizeof size);
    memset(at + head + size, 0, (size_t)(filled - size));
    status = ozarr_array_chunk_read(s->encoder, index, false, at + head, (size_t)size, NULL);
    if (status == OZARR_OK) status = ozarr_array_chunk_erase(s->encoder, index, false, &stored);
    to->size += head + filled;
    return status;
}

static ozarr_status pack(work *s) {
    ozarr_chunk_iter *it = NULL;
    bool more = true;
    ozarr_status status = ozarr_array_list_chunks(s->encoder, false, &it);
    while (status == OZARR_OK) {
        status = ozarr_chunk_iter_next(it, &more);
        if (status != OZARR_OK || !more) break;
        status = pack_one(s, it);
    }
    ozarr_chunk_iter_free(it);
    return status;
}

static int64_t parts_of(const work *s, int64_t bytes) { return (bytes + s->w->job.message_bytes - 1) / s->w->job.message_bytes; }

/* Begins to send the streams; `*coming` becomes how many messages come here. */
static ozarr_status send(work *s, om_parts *sent, int *coming) {
    ozarr_mpi *m = s->w->job.m;
    const plan *p = s->w->job.p;
    int64_t parts = 0;
    int *counts = calloc((size_t)m->size, sizeof *counts);
    for (int32_t a = 0; a < p->aggregator_count; a++)
        if (p->aggregators[a] != p->me) parts += parts_of(s, s->out[a].size);
    sent->items = malloc(((size_t)parts + 1) * sizeof *sent->items);
    ozarr_status status = counts != NULL && sent->items != NULL ? OZARR_OK : om_error(OZARR_ERR_NO_MEMORY, "a list of messages");
    for (int32_t a = 0; a < p->aggregator_count && counts != NULL; a++)
        if (p->aggregators[a] != p->me) counts[p->aggregators[a]] = (int)parts_of(s, s->out[a].size);
    status = om_agree(m, status, NULL);
    if (status == OZARR_OK)
        status = om_check("MPI_Reduce_scatter_block", MPI_Reduce_scatter_block(counts, coming, 1, MPI_INT, MPI_SUM, m->comm));
    for (int32_t a = 0; a < p->aggregator_count && status == OZARR_OK; a++)
        if (p->aggregators[a] != p->me) om_post(s->w, sent, s->out[a].bytes, s->out[a].size, p->aggregators[a], true);
    free(counts);
    return status;
}

/* The stream of a rank, to which its next message is added. */
static stream *stream_from(work *s, int source) {
    for (int64_t i = 0; i < s->in_count; i++)
        if (s->in[i].source == source) return &s->in[i];
    stream *more = realloc(s->in, ((size_t)s->in_count + 1) * sizeof *more);
    if (more == NULL) return NULL;
    s->in = more;
    more[s->in_count] = (stream){.source = source};
    return &more[s->in_count++];
}

/* Receives a message, of whatever rank; also after a failure, so that its sender does not wait. */
static ozarr_status receive(work *s) {
    ozarr_mpi *m = s->w->job.m;
    MPI_Status about;
    int bytes = 0;
    ozarr_status status = om_check("MPI_Probe", MPI_Probe(MPI_ANY_SOURCE, s->w->job.tag, m->comm, &about));
    if (status == OZARR_OK) status = om_check("MPI_Get_count", MPI_Get_count(&about, MPI_BYTE, &bytes));
    if (status != OZARR_OK) return status;
    stream *from = stream_from(s, about.MPI_SOURCE);
    if (from == NULL || !make_room(from, bytes)) {
        /* MPI drops what is longer than the place for it, which is an error here, and none for the sender. */
        char lost;
        (void)MPI_Recv(&lost, 1, MPI_BYTE, about.MPI_SOURCE, s->w->job.tag, m->comm, MPI_STATUS_IGNORE);
        return om_error(OZARR_ERR_NO_MEMORY, "%d bytes of encoded chunks", bytes);
    }
    status = om_check("MPI_Recv", MPI_Recv(from->bytes + from->size, bytes, MPI_BYTE, about.MPI_SOURCE, s->w->job.tag, m->comm, MPI_STATUS_IGNORE));
    from->size += bytes;
    return status;
}

/* Moves all streams to the owners of the shards. */
static ozarr_status ship(work *s) {
    om_parts sent = {0};
    int coming = 0;
    const ozarr_status status = send(s, &sent, &coming);
    for (int i = 0; i < coming && status == OZARR_OK; i++) om_note(s->w, receive(s));
    const int ended = sent.count > 0 ? MPI_Waitall(sent.count, sent.items, MPI_STATUSES_IGNORE) : MPI_SUCCESS;
    om_note(s->w, om_check("MPI_Waitall", ended));
    s->lost = ended != MPI_SUCCESS && !om_give_up(&sent);
    free(sent.items);
    return status;
}

static int by_shard_and_index(const void *a, const void *b) {
    const encoded *x = a, *y = b;
    if (x->shard != y->shard) return x->shard < y->shard ? -1 : 1;
    for (int32_t d = 0; d < x->rank; d++)
        if (x->index[d] != y->index[d]) return x->index[d] < y->index[d] ? -1 : 1;
    return 0;
}

/* Adds the inner chunks of a stream to a list; without a list they are counted only. */
static int64_t parse(const work *s, const stream *from, encoded *list, int64_t count) {
    const plan *p = s->w->job.p;
    const size_t rank = (size_t)p->grid.rank, head = (rank + 1) * sizeof(int64_t);
    int64_t element[PLAN_MAX_RANK];
    for (int64_t at = 0; at < from->size; count++) {
        const int64_t *index = (const int64_t *)(const void *)(from->bytes + at);
        const int64_t size = index[rank];
        for (size_t d = 0; d < rank && list != NULL; d++) element[d] = index[d] * s->inner[d];
        if (list != NULL) list[count] = (encoded){plan_chunk_of(p, element), (int32_t)rank, index, from->bytes + at + head, size};
        at += (int64_t)head + (size + 7) / 8 * 8;
    }
    return count;
}

/* All inner chunks that are for shards of mine, in the order in which one rank would store them; to be freed. */
static encoded *gather(const work *s, int64_t *count) {
    const plan *p = s->w->job.p;
    encoded *list = NULL;
    for (int pass = 0; pass < 2; pass++) {
        int64_t n = 0;
        for (int64_t i = 0; i < s->in_count; i++) n = parse(s, &s->in[i], list, n);
        for (int32_t a = 0; a < p->aggregator_count; a++)
            if (p->aggregators[a] == p->me) n = parse(s, &s->out[a], list, n);
        *count = n;
        if (list == NULL) list = malloc(((size_t)n + 1) * sizeof *list);
        if (list == NULL) return NULL;
    }
    qsort(list, (size_t)*count, sizeof *list, by_shard_and_index);
    return list;
}

/* Stores a shard of the inner chunks of a list from `*at` on; without any it is erased. */
static ozarr_status store(const work *s, int64_t shard, const encoded *list, int64_t count, int64_t *at) {
    const plan *p = s->w->job.p;
    int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK];
    ozarr_shard_writer *writer = NULL;
    plan_chunk_box(p, shard, start, shape);
    for (int32_t d = 0; d < p->grid.rank; d++) start[d] /= p->grid.chunk[d];
    ozarr_status status = ozarr_shard_writer_new(s->w->job.array, start, &writer);
    for (; *at < count && list[*at].shard == shard; ++*at)
        if (status == OZARR_OK)
            status = ozarr_shard_writer_put(writer, list[*at].index, true, OZARR_AS_STORED, list[*at].bytes, (size_t)list[*at].size);
    if (status == OZARR_OK) status = ozarr_shard_writer_finish(writer);
    ozarr_shard_writer_free(writer);
    return status;
}

/* Stores the shards of mine of a round. */
static void store_round(work *s, int64_t round) {
    om_move *w = s->w;
    const plan *p = w->job.p;
    int64_t count = 0, at = 0, last = -1;
    encoded *list = gather(s, &count);
    if (list == NULL) om_note(w, om_error(OZARR_ERR_NO_MEMORY, "a list of encoded chunks"));
    for (int64_t i = 0; i < p->in_count && list != NULL; i++) {
        const int64_t shard = p->in[p->by_chunk[i]].chunk;
        if (shard == last || plan_round(p, shard) != round) continue;
        const ozarr_status status = store(s, shard, list, count, &at);
        if (status == OZARR_OK) w->stored++;
        else om_note(w, status);
        last = shard;
    }
    free(list);
}

/* How many shards this rank owns. */
static int64_t owned(const plan *p) {
    int64_t count = 0;
    for (int64_t i = 0; i < p->in_count; i++) count += i == 0 || p->in[p->by_chunk[i]].chunk != p->in[p->by_chunk[i - 1]].chunk;
    return count;
}

static ozarr_status one_round(work *s, int64_t round) {
    const plan *p = s->w->job.p;
    ozarr_mpi *m = s->w->job.m;
    ozarr_status status = encode(s, round);
    if (status != OZARR_OK) return status;
    s->out = calloc((size_t)p->aggregator_count + 1, sizeof *s->out);
    status = om_agree(m, s->out != NULL ? pack(s) : om_error(OZARR_ERR_NO_MEMORY, "a list of %d aggregators", (int)p->aggregator_count), NULL);
    if (status == OZARR_OK) status = ship(s);
    if (status == OZARR_OK && s->w->failure.status == OZARR_OK) store_round(s, round);
    if (!s->lost) streams_free(s->out, p->aggregator_count);
    streams_free(s->in, s->in_count);
    s->out = s->in = NULL, s->in_count = 0;
    return status;
}

ozarr_status om_shards(om_move *w, ozarr_array *encoder) {
    ozarr_mpi *m = w->job.m;
    work s = {.w = w, .encoder = encoder};
    char text[8];
    w->total += owned(w->job.p);
    ozarr_status status = ozarr_array_chunk_shape(encoder, s.inner);
    if (status == OZARR_OK) status = ozarr_node_get(ozarr_array_node(w->job.array), "write_fill_chunks", text, sizeof text, NULL);
    if (status == OZARR_OK) status = ozarr_node_set(ozarr_array_node(encoder), "write_fill_chunks", text);
    for (;;) {
        int64_t round = next_round(&s);
        status = om_agree(m, status, &round);
        if (status != OZARR_OK || round == INT64_MAX) return status;
        status = one_round(&s, round);
        if (status != OZARR_OK) return status;
    }
}

/* A specification as text, to be freed. */
static ozarr_status text_of(const ozarr_spec *spec, char **text) {
    size_t length = 0;
    *text = NULL;
    ozarr_status status = ozarr_spec_to_json(spec, NULL, 0, &length);
    if (status != OZARR_OK && status != OZARR_ERR_BUFFER_SIZE) return status;
    *text = malloc(length + 1);
    if (*text == NULL) return om_error(OZARR_ERR_NO_MEMORY, "%zu bytes of metadata", length);
    return ozarr_spec_to_json(spec, *text, length + 1, NULL);
}

/* Takes the shards out of a specification, so that the codecs of their inner chunks are left. Where others are around the shards (a transpose,
 * a compressor of whole shards) it keeps them as they are: OZARR_ERR_UNSUPPORTED. */
static ozarr_status without_shards(ozarr_spec *spec) {
    char *before = NULL, *after = NULL;
    ozarr_status status = text_of(spec, &before);
    if (status == OZARR_OK) status = ozarr_spec_set_inner_chunks(spec, NULL);
    if (status == OZARR_OK) status = text_of(spec, &after);
    if (status == OZARR_OK && strcmp(before, after) == 0)
        status = om_error(OZARR_ERR_UNSUPPORTED, "the shards have codecs around them");
    free(before);
    free(after);
    return status;
}

ozarr_status om_encoder_new(const ozarr_array *array, ozarr_array **encoder) {
    ozarr_store *store = NULL;
    ozarr_spec *spec = NULL;
    int64_t inner[PLAN_MAX_RANK];
    *encoder = NULL;
    ozarr_status status = ozarr_array_inner_chunk_shape(array, inner);
    if (status == OZARR_OK) status = ozarr_array_copy_spec(array, 0, &spec);
    if (status == OZARR_OK) status = without_shards(spec);
    if (status == OZARR_OK) status = ozarr_spec_set_chunks(spec, inner);
    if (status == OZARR_OK) status = ozarr_store_memory(&store);
    if (status == OZARR_OK) status = ozarr_array_create_at(store, "inner", spec, OZARR_CREATE_NEW, encoder);
    ozarr_spec_free(spec);
    ozarr_store_free(store);
    return status;
}
