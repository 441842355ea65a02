/* Plans of collective reads and writes: made from the boxes of all ranks, and kept for the next calls with the same boxes. */
#include "internal.h"
#include "overlap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t h, const void *bytes, size_t size) {
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; i++) h = (h ^ b[i]) * 1099511628211u;
    return h;
}

/* The node's document, to be freed. */
static ozarr_status metadata_of(const ozarr_array *array, char **text, size_t *length) {
    *text = NULL;
    ozarr_status status = ozarr_node_metadata(ozarr_array_node(array), NULL, 0, length);
    if (status != OZARR_OK) return status;
    *text = malloc(*length + 1);
    if (*text == NULL) return om_error(OZARR_ERR_NO_MEMORY, "%zu bytes of metadata", *length);
    return ozarr_node_metadata(ozarr_array_node(array), *text, *length + 1, NULL);
}

/* Whether a plan was made for these boxes of mine. */
static bool has_boxes(const ozarr_mpi *m, const plan *p, int64_t count, const ozarr_region *regions) {
    const size_t n = (size_t)p->grid.rank;
    int64_t b = 0;
    while (b < p->boxes.count && p->boxes.rank[b] != m->rank) b++;
    for (int64_t i = 0; i < count; i++) {
        if (om_is_empty(p->grid.rank, regions[i].shape)) continue;
        if (b >= p->boxes.count || p->boxes.rank[b] != m->rank) return false;
        const int64_t *corner = p->boxes.corner + 2 * b++ * p->grid.rank;
        if (n > 0 && (memcmp(corner, regions[i].start, n * sizeof *corner) != 0 || memcmp(corner + n, regions[i].shape, n * sizeof *corner) != 0))
            return false;
    }
    return b >= p->boxes.count || p->boxes.rank[b] != m->rank;
}

ozarr_status om_plan_key(const ozarr_mpi *m, const ozarr_array *array, bool write, int64_t count, const ozarr_region *regions,
                         uint64_t *key, int64_t *id) {
    char *text = NULL;
    size_t length = 0;
    *id = -1;
    const ozarr_status status = metadata_of(array, &text, &length);
    if (status == OZARR_OK) {
        const int64_t settings[] = {m->aggregators, m->round_bytes, m->range_bytes, write, write && !m->last_wins};
        *key = mix(mix(14695981039346656037u, text, length), settings, sizeof settings);
        for (int i = 0; i < OM_PLANS; i++) {
            const om_cached *c = m->plans[i];
            if (c != NULL && c->key == *key && has_boxes(m, c->p, count, regions) && c->id > *id) *id = c->id;
        }
    }
    free(text);
    return status;
}

/* The edges of chunks along a dimension whose chunks differ. */
static ozarr_status edges_of(const ozarr_array *array, int32_t d, plan_grid *grid) {
    int64_t *edges = malloc(((size_t)grid->chunks[d] + 1) * sizeof *edges), extent = 0;
    if (edges == NULL) return om_error(OZARR_ERR_NO_MEMORY, "the edges of %" PRId64 " chunks", grid->chunks[d]);
    grid->edges[d] = edges;
    ozarr_status status = OZARR_OK;
    edges[0] = 0;
    for (int64_t k = 0; k < grid->chunks[d] && status == OZARR_OK; k++) {
        status = ozarr_array_chunk_extent(array, d, k, &edges[k], &extent);
        edges[k + 1] = edges[k] + extent;
    }
    return status;
}

/* Lists the edges of chunks along a dimension if some in front of the last one differ: then the last does not begin behind as many of the largest
 * extent. What the metadata call the grid does not tell. */
static ozarr_status edges_if_uneven(const ozarr_array *array, int32_t d, plan_grid *grid) {
    int64_t start = 0, extent = 0;
    if (grid->chunks[d] < 2) return OZARR_OK;
    const ozarr_status status = ozarr_array_chunk_extent(array, d, grid->chunks[d] - 1, &start, &extent);
    const bool even = start % grid->chunk[d] == 0 && start / grid->chunk[d] == grid->chunks[d] - 1;
    return status == OZARR_OK && !even ? edges_of(array, d, grid) : status;
}

/* The array's chunk grid. */
static ozarr_status grid_of(const ozarr_array *array, plan_grid *grid) {
    memset(grid, 0, sizeof *grid);
    ozarr_status status = ozarr_array_rank(array, &grid->rank);
    if (status == OZARR_OK) status = ozarr_array_shape(array, grid->shape);
    if (status == OZARR_OK) status = ozarr_array_chunk_shape(array, grid->chunk);
    if (status == OZARR_OK) status = ozarr_array_grid_shape(array, grid->chunks);
    for (int32_t d = 0; d < grid->rank && status == OZARR_OK; d++) status = edges_if_uneven(array, d, grid);
    return status;
}

/* How many bytes a range of a chunk must have for its rank to read it: the setting, where chunks are files with their elements as they are, in
 * C order; else 0. A range of each length is asked about: the elements of the first chunk behind a first index in dimensions 0 to d. */
static int64_t range_bytes(const ozarr_mpi *m, const ozarr_array *array, int32_t rank) {
    int64_t start[PLAN_MAX_RANK] = {0}, shape[PLAN_MAX_RANK], length[PLAN_MAX_RANK], extent = 0;
    const om_handle *handle = om_find(m, array);
    if (handle == NULL || strstr(handle->name, "://") != NULL || ozarr_array_shape(array, length) != OZARR_OK) return 0;
    ozarr_region region = OZARR_REGION_INIT;
    region.start = start, region.shape = shape;
    for (int32_t d = 0; d < rank; d++) shape[d] = length[d] > 0;
    for (int32_t d = rank - 1; d >= 0; d--) {
        ozarr_explanation reading = OZARR_EXPLANATION_INIT;
        if (ozarr_array_chunk_extent(array, d, 0, &start[d], &extent) != OZARR_OK) return 0;
        shape[d] = extent < length[d] ? extent : length[d];
        if (ozarr_array_explain(array, &region, NULL, false, &reading) != OZARR_OK) return 0;
        if (reading.reads != 1 || reading.read_bytes != reading.bytes || reading.inner_chunks != 0) return 0;
    }
    return m->range_bytes;
}

/* The boxes of all ranks, to be freed. */
typedef struct gathered {
    int64_t count;
    int32_t *rank;
    int64_t *corner;
} gathered;

/* Which box counts each rank has, and where they go. */
static ozarr_status lay_out(const ozarr_mpi *m, int32_t rank, int *counts, int *places, gathered *all) {
    int64_t numbers = 0;
    const int each = rank > 0 ? 2 * rank : 1;
    for (int r = 0; r < m->size; r++) {
        all->count += counts[r];
        places[r] = (int)numbers;
        numbers += (int64_t)counts[r] * each;
        if (numbers > INT32_MAX) return om_error(OZARR_ERR_LIMIT, "the ranks have more than %" PRId64 " regions together", (int64_t)INT32_MAX / each);
    }
    all->rank = malloc(((size_t)all->count + 1) * sizeof *all->rank);
    all->corner = malloc(((size_t)numbers + 1) * sizeof *all->corner);
    if (all->rank == NULL || all->corner == NULL) return om_error(OZARR_ERR_NO_MEMORY, "the boxes of %d ranks", m->size);
    int64_t b = 0;
    for (int r = 0; r < m->size; r++)
        for (int i = 0; i < counts[r]; i++) all->rank[b++] = r;
    for (int r = 0; r < m->size; r++) counts[r] *= each;
    return OZARR_OK;
}

/* My boxes without the empty ones; a box of rank 0 is one number, of no meaning. */
static ozarr_status mine_of(int32_t rank, int64_t count, const ozarr_region *regions, int64_t **mine, int *boxes) {
    const size_t n = (size_t)rank, each = rank > 0 ? 2 * n : 1;
    *boxes = 0;
    if (count > INT32_MAX / (int64_t)each) return om_error(OZARR_ERR_LIMIT, "%" PRId64 " regions", count);
    *mine = calloc((size_t)count * each + 1, sizeof **mine);
    if (*mine == NULL) return om_error(OZARR_ERR_NO_MEMORY, "%" PRId64 " regions", count);
    for (int64_t i = 0; i < count; i++) {
        if (om_is_empty(rank, regions[i].shape)) continue;
        int64_t *to = *mine + (size_t)(*boxes)++ * each;
        if (n > 0) memcpy(to, regions[i].start, n * sizeof *to), memcpy(to + n, regions[i].shape, n * sizeof *to);
    }
    return OZARR_OK;
}

static ozarr_status gather(ozarr_mpi *m, int32_t rank, int64_t count, const ozarr_region *regions, gathered *all) {
    int64_t *mine = NULL;
    int boxes = 0, *counts = malloc((size_t)m->size * sizeof *counts), *places = malloc((size_t)m->size * sizeof *places);
    memset(all, 0, sizeof *all);
    ozarr_status status = counts != NULL && places != NULL ? mine_of(rank, count, regions, &mine, &boxes)
                                                           : om_error(OZARR_ERR_NO_MEMORY, "lists of %d ranks", m->size);
    status = om_agree(m, status, NULL);
    if (status == OZARR_OK) status = om_check("MPI_Allgather", MPI_Allgather(&boxes, 1, MPI_INT, counts, 1, MPI_INT, m->comm));
    if (status == OZARR_OK) status = om_agree(m, lay_out(m, rank, counts, places, all), NULL);
    if (status == OZARR_OK)
        status = om_check("MPI_Allgatherv", MPI_Allgatherv(mine, counts[m->rank], MPI_INT64_T, all->corner, counts, places, MPI_INT64_T, m->comm));
    free(mine);
    free(counts);
    free(places);
    return status;
}

/* A box for a message: "[0, 4] to [7, 8]". */
static void describe(const gathered *all, int32_t rank, int64_t box, char *text, size_t size) {
    const int64_t *corner = all->corner + 2 * box * rank;
    size_t at = 0;
    for (int side = 0; side < 2; side++)
        for (int d = 0; d < rank && at < size; d++)
            at += (size_t)snprintf(text + at, size - at, "%s%" PRId64 "%s", d == 0 ? (side ? " to [" : "[") : ", ",
                                   corner[d] + (side ? corner[rank + d] - 1 : 0), d == rank - 1 ? "]" : "");
}

static ozarr_status tell_overlap(const gathered *all, int32_t rank, const plan_clash *clash) {
    char first[256] = "the element", second[256] = "the element";
    describe(all, rank, clash->box[0], first, sizeof first);
    describe(all, rank, clash->box[1], second, sizeof second);
    return om_error(OZARR_ERR_ARGUMENT, "the regions of ranks %d (%s) and %d (%s) overlap, expected regions without common elements, or the "
                    "setting \"overlap\" as \"last\"", (int)all->rank[clash->box[0]], first, (int)all->rank[clash->box[1]], second);
}

/* Makes this rank's plan. */
static ozarr_status make(const ozarr_mpi *m, const ozarr_array *array, size_t item, bool write, int64_t ranges, const gathered *all, plan **out) {
    plan_grid grid;
    plan_clash clash = {{0, 0}};
    ozarr_status status = grid_of(array, &grid);
    if (status != OZARR_OK) {
        for (int d = 0; d < grid.rank; d++) free(grid.edges[d]);
        return status;
    }
    const plan_boxes boxes = {all->count, all->rank, all->corner};
    const plan_options options = {
        .me = m->rank,
        .aggregator_count = m->aggregators == 0 || m->aggregators > m->size ? m->size : (int32_t)m->aggregators,
        .aggregators = m->spread,
        .item_size = item,
        .round_bytes = m->round_bytes,
        .refuse_overlap = write && !m->last_wins,
        .range_bytes = ranges,
    };
    switch (plan_new(&grid, &boxes, &options, out, &clash)) {
    case PLAN_OK: return OZARR_OK;
    case PLAN_NO_MEMORY: return om_error(OZARR_ERR_NO_MEMORY, "the plan of %" PRId64 " regions", all->count);
    case PLAN_TOO_MANY_CHUNKS: return om_error(OZARR_ERR_LIMIT, "the regions are in more than 2^62 chunks");
    case PLAN_OVERLAP: break;
    }
    return tell_overlap(all, grid.rank, &clash);
}

ozarr_status om_check_overlap(ozarr_mpi *m, int32_t rank, const ozarr_region *region) {
    gathered all;
    plan_piece *pieces = NULL;
    plan_clash clash = {{0, 0}};
    ozarr_status status = gather(m, rank, 1, region, &all);
    if (status == OZARR_OK) {
        const plan boxes = {.grid = {.rank = rank}, .boxes = {all.count, all.rank, all.corner}};
        pieces = calloc((size_t)all.count + 1, sizeof *pieces);
        for (int64_t i = 0; i < all.count && pieces != NULL; i++) pieces[i].box = i;
        const int found = pieces != NULL ? overlap_find(&boxes, pieces, all.count, &clash) : -1;
        if (found < 0) status = om_error(OZARR_ERR_NO_MEMORY, "a list of %" PRId64 " regions", all.count);
        else if (found > 0) status = tell_overlap(&all, rank, &clash);
        status = om_agree(m, status, NULL);
    }
    free(pieces);
    free(all.rank);
    free(all.corner);
    return status;
}

static void discard(om_cached *c) {
    if (c == NULL) return;
    ozarr_array_free(c->encoder);
    plan_free(c->p);
    free(c);
}

/* Whether inner chunks of shards can be encoded by the ranks that have their elements: the shards are written as a whole, and have more than
 * one. Collective: yes on all ranks, or on none. */
static ozarr_status make_encoder(ozarr_mpi *m, const ozarr_array *array, om_cached *c) {
    const plan_grid *grid = &c->p->grid;
    int64_t inner[PLAN_MAX_RANK], can = ozarr_array_inner_chunk_shape(array, inner) == OZARR_OK;
    bool divided = false;
    for (int32_t d = 0; d < grid->rank && can; d++) {
        can = grid->edges[d] == NULL;
        divided |= inner[d] != grid->chunk[d];
    }
    can = can && divided && plan_covers(c->p) && om_encoder_new(array, &c->encoder) == OZARR_OK;
    const ozarr_status status = om_agree(m, OZARR_OK, &can);
    if (!can) ozarr_array_free(c->encoder), c->encoder = NULL;
    return status;
}

void om_plan_release(ozarr_mpi *m, om_cached *cached) {
    bool kept = false;
    cached->users--;
    for (int i = 0; i < OM_PLANS; i++) kept |= m->plans[i] == cached;
    if (!kept && cached->users == 0) discard(cached);
}

ozarr_status om_plan(ozarr_mpi *m, const ozarr_array *array, size_t item, bool write, int64_t count, const ozarr_region *regions,
                     uint64_t key, int64_t id, om_cached **out) {
    *out = NULL;
    for (int i = 0; i < OM_PLANS && id >= 0; i++)
        if (m->plans[i] != NULL && m->plans[i]->id == id && m->plans[i]->p->item_size == item) {
            m->plans[i]->users++;
            *out = m->plans[i];
            return OZARR_OK;
        }
    gathered all;
    int32_t rank = 0;
    om_cached *c = calloc(1, sizeof *c);
    ozarr_status status = c != NULL ? ozarr_array_rank(array, &rank) : om_error(OZARR_ERR_NO_MEMORY, "a plan");
    int64_t ranges = status == OZARR_OK && !write ? range_bytes(m, array, rank) : 0;
    status = om_agree(m, status, &ranges);
    if (status != OZARR_OK) {
        free(c);
        return status;
    }
    status = gather(m, rank, count, regions, &all);
    if (status == OZARR_OK) {
        int64_t alone = 0;
        status = make(m, array, item, write, ranges, &all, &c->p);
        if (status == OZARR_OK) alone = c->p->out_count == 0 && c->p->in_count == 0;
        status = om_agree(m, status, &alone);
        c->alone = alone != 0;
        if (status == OZARR_OK && write && !m->last_wins && !c->alone) status = make_encoder(m, array, c);
    }
    free(all.rank);
    free(all.corner);
    if (status != OZARR_OK) {
        discard(c);
        return status;
    }
    c->key = key, c->id = m->plan_count, c->users = 1;
    om_cached **place = &m->plans[m->plan_count++ % OM_PLANS], *old = *place;
    *place = c;
    if (old != NULL && old->users == 0) discard(old);
    *out = c;
    return OZARR_OK;
}
