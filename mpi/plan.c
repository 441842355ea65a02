/* Computes the plan of one rank: see plan.h. */
#include "plan.h"

#include "overlap.h"

#include <stdlib.h>
#include <string.h>

/* A range of chunks: first and last index of each dimension, counted in the block. */
typedef struct range {
    int64_t lo[PLAN_MAX_RANK], hi[PLAN_MAX_RANK];
} range;

/* A list of pieces that grows. */
typedef struct piece_list {
    plan_piece *items;
    int64_t count, capacity;
    bool full; /* no memory could be had */
} piece_list;

static void push(piece_list *list, int64_t chunk, int64_t box, int32_t peer) {
    if (list->count == list->capacity) {
        const int64_t capacity = list->capacity ? 2 * list->capacity : 64;
        plan_piece *items = realloc(list->items, (size_t)capacity * sizeof *items);
        if (items == NULL) {
            list->full = true;
            return;
        }
        list->items = items, list->capacity = capacity;
    }
    list->items[list->count++] = (plan_piece){.chunk = chunk, .box = box, .peer = peer};
}

static const int64_t *start_of(const plan *p, int64_t box) { return p->boxes.corner + 2 * box * p->grid.rank; }
static const int64_t *shape_of(const plan *p, int64_t box) { return start_of(p, box) + p->grid.rank; }

/* The chunk along dimension d that has element i. */
static int64_t chunk_at(const plan_grid *g, int d, int64_t i) {
    if (g->edges[d] == NULL) return i / g->chunk[d];
    int64_t lo = 0, hi = g->chunks[d] - 1;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo + 1) / 2;
        if (g->edges[d][mid] <= i) lo = mid;
        else hi = mid - 1;
    }
    return lo;
}

static int64_t chunk_start(const plan_grid *g, int d, int64_t k) { return g->edges[d] != NULL ? g->edges[d][k] : k * g->chunk[d]; }

static int64_t chunk_end(const plan_grid *g, int d, int64_t k) {
    const int64_t start = chunk_start(g, d, k);
    const int64_t end = g->edges[d] != NULL ? g->edges[d][k + 1] : (g->chunk[d] > g->shape[d] - start ? g->shape[d] : start + g->chunk[d]);
    return end < g->shape[d] ? end : g->shape[d];
}

static void range_of(const plan *p, int64_t box, range *r) {
    for (int d = 0; d < p->grid.rank; d++) {
        const int64_t start = start_of(p, box)[d];
        r->lo[d] = chunk_at(&p->grid, d, start) - p->first[d];
        r->hi[d] = chunk_at(&p->grid, d, start + shape_of(p, box)[d] - 1) - p->first[d];
    }
}

void plan_chunk_box(const plan *p, int64_t chunk, int64_t *start, int64_t *shape) {
    for (int d = p->grid.rank - 1; d >= 0; d--) {
        const int64_t k = p->first[d] + chunk % p->extent[d];
        chunk /= p->extent[d];
        start[d] = chunk_start(&p->grid, d, k);
        shape[d] = chunk_end(&p->grid, d, k) - start[d];
    }
}

int64_t plan_piece_box(const plan *p, int64_t chunk, int64_t box, int64_t *start, int64_t *shape) {
    plan_chunk_box(p, chunk, start, shape);
    int64_t elements = 1;
    for (int d = 0; d < p->grid.rank; d++) {
        const int64_t from = start_of(p, box)[d], to = from + shape_of(p, box)[d];
        const int64_t end = start[d] + shape[d] < to ? start[d] + shape[d] : to;
        start[d] = start[d] > from ? start[d] : from;
        shape[d] = end - start[d];
        elements *= shape[d];
    }
    return elements;
}

/* The interval of chunks of aggregator number a. */
static void interval(const plan *p, int64_t a, int64_t *begin, int64_t *end) {
    const int64_t each = p->chunk_count / p->aggregator_count, more = p->chunk_count % p->aggregator_count;
    *begin = a * each + (a < more ? a : more);
    *end = *begin + each + (a < more);
}

int64_t plan_aggregator(const plan *p, int64_t chunk) {
    const int64_t each = p->chunk_count / p->aggregator_count, more = p->chunk_count % p->aggregator_count;
    return chunk < more * (each + 1) ? chunk / (each + 1) : more + (chunk - more * (each + 1)) / each;
}

int64_t plan_chunk_of(const plan *p, const int64_t *element) {
    int64_t number = 0;
    for (int d = 0; d < p->grid.rank; d++) number = number * p->extent[d] + chunk_at(&p->grid, d, element[d]) - p->first[d];
    return number;
}

bool plan_covers(const plan *p) {
    int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK];
    for (int64_t i = 0, elements = 0; i < p->in_count; i++) {
        const int64_t chunk = p->in[p->by_chunk[i]].chunk;
        elements += plan_piece_box(p, chunk, p->in[p->by_chunk[i]].box, start, shape);
        if (i + 1 < p->in_count && p->in[p->by_chunk[i + 1]].chunk == chunk) continue;
        plan_chunk_box(p, chunk, start, shape);
        int d = 0;
        for (; d < p->grid.rank && elements % shape[d] == 0; d++) elements /= shape[d];
        if (d < p->grid.rank || elements != 1) return false;
        elements = 0;
    }
    return true;
}

int64_t plan_round(const plan *p, int64_t chunk) {
    int64_t begin, end;
    interval(p, plan_aggregator(p, chunk), &begin, &end);
    return (chunk - begin) / p->per_round;
}

/* The smallest block of chunks that holds all boxes. */
static enum plan_status find_block(plan *p) {
    range r;
    int64_t last[PLAN_MAX_RANK];
    memset(p->first, 0, sizeof p->first);
    for (int64_t b = 0; b < p->boxes.count; b++) {
        const int64_t *start = start_of(p, b), *shape = shape_of(p, b);
        for (int d = 0; d < p->grid.rank; d++) {
            const int64_t end = start[d] + shape[d] - 1;
            if (b == 0 || start[d] < r.lo[d]) r.lo[d] = start[d];
            if (b == 0 || end > r.hi[d]) r.hi[d] = end;
        }
    }
    p->chunk_count = p->boxes.count > 0;
    for (int d = 0; d < p->grid.rank && p->boxes.count > 0; d++) {
        p->first[d] = chunk_at(&p->grid, d, r.lo[d]);
        last[d] = chunk_at(&p->grid, d, r.hi[d]);
        p->extent[d] = last[d] - p->first[d] + 1;
        if (p->chunk_count > INT64_MAX / 2 / p->extent[d]) return PLAN_TOO_MANY_CHUNKS;
        p->chunk_count *= p->extent[d];
    }
    return PLAN_OK;
}

/* How many chunks are moved in a round. */
static void set_round(plan *p, int64_t round_bytes) {
    double bytes = (double)p->item_size;
    for (int d = 0; d < p->grid.rank; d++) bytes *= (double)p->grid.chunk[d];
    const double chunks = (double)round_bytes / (bytes > 0 ? bytes : 1);
    p->per_round = chunks < 1 ? 1 : chunks > (double)p->chunk_count ? p->chunk_count + 1 : (int64_t)chunks;
}

/* Collects the chunks of a range whose numbers are in [begin, end): every subtree of indices is an interval of numbers. */
static void collect(const plan *p, const range *r, int d, int64_t base, int64_t begin, int64_t end, int64_t box, piece_list *list) {
    if (d == p->grid.rank) {
        if (base >= begin && base < end) push(list, base, box, p->boxes.rank[box]);
        return;
    }
    int64_t below = 1;
    for (int e = d + 1; e < p->grid.rank; e++) below *= p->extent[e];
    int64_t lo = r->lo[d], hi = r->hi[d];
    if (begin > base && (begin - base) / below > lo) lo = (begin - base) / below;
    if (end - 1 < base) return;
    if ((end - 1 - base) / below < hi) hi = (end - 1 - base) / below;
    for (int64_t k = lo; k <= hi && !list->full; k++) collect(p, r, d + 1, base + k * below, begin, end, box, list);
}

static int64_t volume(const plan *p, const range *r) {
    int64_t chunks = 1;
    for (int d = 0; d < p->grid.rank; d++) chunks *= r->hi[d] - r->lo[d] + 1;
    return chunks;
}

int64_t plan_box_chunks(const plan *p, int64_t box) {
    range r;
    range_of(p, box, &r);
    return volume(p, &r);
}

/* Marks the chunks of `mine` that `other` has, too; how many are marked for the first time. */
static int64_t mark(const plan *p, const range *mine, const range *other, uint8_t *shared) {
    int64_t lo[PLAN_MAX_RANK], hi[PLAN_MAX_RANK], at[PLAN_MAX_RANK], marked = 0;
    const int n = p->grid.rank;
    for (int d = 0; d < n; d++) {
        lo[d] = mine->lo[d] > other->lo[d] ? mine->lo[d] : other->lo[d];
        hi[d] = mine->hi[d] < other->hi[d] ? mine->hi[d] : other->hi[d];
        if (lo[d] > hi[d]) return 0;
        at[d] = lo[d];
    }
    for (;;) {
        int64_t k = 0;
        for (int d = 0; d < n; d++) k = k * (mine->hi[d] - mine->lo[d] + 1) + at[d] - mine->lo[d];
        marked += !shared[k];
        shared[k] = 1;
        int d = n - 1;
        while (d >= 0 && at[d] == hi[d]) at[d] = lo[d], d--;
        if (d < 0) return marked;
        at[d]++;
    }
}

/* The number in the block of chunk number i of a range. */
static int64_t number_of(const plan *p, const range *r, int64_t i) {
    int64_t number = 0, below = 1;
    for (int d = p->grid.rank - 1; d >= 0; d--) {
        const int64_t n = r->hi[d] - r->lo[d] + 1;
        number += (r->lo[d] + i % n) * below;
        i /= n;
        below *= p->extent[d];
    }
    return number;
}

/* Whether a piece is ranges of the bytes of its chunk, in C order, that are long enough for its rank to read them. */
static bool is_ranges(const plan *p, int64_t chunk, int64_t box) {
    int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK], bytes = (int64_t)p->item_size;
    if (p->range_bytes == 0) return false;
    plan_piece_box(p, chunk, box, start, shape);
    for (int d = p->grid.rank - 1; d >= 0; d--) {
        const int64_t k = chunk_at(&p->grid, d, start[d]);
        const int64_t extent = p->grid.edges[d] != NULL ? p->grid.edges[d][k + 1] - p->grid.edges[d][k] : p->grid.chunk[d];
        bytes *= shape[d];
        if (shape[d] != extent) break;
    }
    return bytes >= p->range_bytes;
}

/* Sorts the chunks of one of my boxes into those that I move alone and those that go out. */
static enum plan_status split_box(plan *p, int64_t box, piece_list *lone, piece_list *out) {
    range mine, other;
    range_of(p, box, &mine);
    int64_t left = volume(p, &mine);
    uint8_t *shared = calloc((size_t)left, 1);
    if (shared == NULL) return PLAN_NO_MEMORY;
    const int64_t chunks = left;
    for (int64_t b = 0; b < p->boxes.count && left > 0; b++) {
        if (p->boxes.rank[b] == p->me) continue;
        range_of(p, b, &other);
        left -= mark(p, &mine, &other, shared);
    }
    for (int64_t i = 0; i < chunks && left < chunks; i++)
        if (shared[i] && is_ranges(p, number_of(p, &mine, i), box)) shared[i] = 0, left++;
    if (left == chunks) {
        p->lone_boxes[p->lone_box_count++] = box;
    } else {
        for (int64_t i = 0; i < chunks; i++) {
            const int64_t k = number_of(p, &mine, i);
            if (shared[i]) push(out, k, box, p->aggregators[plan_aggregator(p, k)]);
            else push(lone, k, box, p->me);
        }
    }
    free(shared);
    return lone->full || out->full ? PLAN_NO_MEMORY : PLAN_OK;
}

/* For comparing: the order of messages, by what round a piece is moved in. */
typedef struct sorted_piece {
    plan_piece piece;
    int64_t round;
} sorted_piece;

static int by_message(const void *a, const void *b) {
    const sorted_piece *x = a, *y = b;
    if (x->round != y->round) return x->round < y->round ? -1 : 1;
    if (x->piece.peer != y->piece.peer) return x->piece.peer < y->piece.peer ? -1 : 1;
    if (x->piece.chunk != y->piece.chunk) return x->piece.chunk < y->piece.chunk ? -1 : 1;
    return (x->piece.box > y->piece.box) - (x->piece.box < y->piece.box);
}

static enum plan_status sort_by_message(const plan *p, plan_piece *pieces, int64_t count) {
    sorted_piece *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    if (sorted == NULL) return PLAN_NO_MEMORY;
    for (int64_t i = 0; i < count; i++) sorted[i] = (sorted_piece){pieces[i], plan_round(p, pieces[i].chunk)};
    qsort(sorted, (size_t)count, sizeof *sorted, by_message);
    for (int64_t i = 0; i < count; i++) pieces[i] = sorted[i].piece;
    free(sorted);
    return PLAN_OK;
}

/* Divides all my boxes. */
static enum plan_status split_mine(plan *p) {
    piece_list lone = {0}, out = {0};
    int64_t mine = 0;
    for (int64_t b = 0; b < p->boxes.count; b++) mine += p->boxes.rank[b] == p->me;
    enum plan_status status = PLAN_OK;
    p->lone_boxes = malloc(((size_t)mine + 1) * sizeof *p->lone_boxes);
    if (p->lone_boxes == NULL) status = PLAN_NO_MEMORY;
    for (int64_t b = 0; b < p->boxes.count && status == PLAN_OK; b++)
        if (p->boxes.rank[b] == p->me) status = split_box(p, b, &lone, &out);
    p->lone = lone.items, p->lone_count = lone.count;
    p->out = out.items, p->out_count = out.count;
    return status == PLAN_OK ? sort_by_message(p, p->out, p->out_count) : status;
}

static int by_chunk_and_box(const void *a, const void *b) {
    const plan_piece *x = a, *y = b;
    if (x->chunk != y->chunk) return x->chunk < y->chunk ? -1 : 1;
    return (x->box > y->box) - (x->box < y->box);
}

/* Keeps the pieces that travel, of chunks that several ranks touch; whether they overlap is found on the way. */
static enum plan_status keep_shared(plan *p, piece_list *list, bool refuse_overlap, plan_clash *clash) {
    int64_t kept = 0;
    for (int64_t i = 0, j; i < list->count; i = j) {
        bool shared = false;
        for (j = i + 1; j < list->count && list->items[j].chunk == list->items[i].chunk; j++)
            shared |= list->items[j].peer != list->items[i].peer;
        if (!shared) continue;
        if (refuse_overlap) {
            const int found = overlap_find(p, list->items + i, j - i, clash);
            if (found != 0) return found < 0 ? PLAN_NO_MEMORY : PLAN_OVERLAP;
        }
        for (int64_t k = i; k < j; k++)
            if (!is_ranges(p, list->items[k].chunk, list->items[k].box)) list->items[kept++] = list->items[k];
    }
    list->count = kept;
    return PLAN_OK;
}

/* The order of the pieces by chunk, each as its place in the order of the messages. */
typedef struct placed {
    plan_piece piece;
    int64_t place;
} placed;

static enum plan_status order_by_chunk(plan *p) {
    placed *all = malloc(((size_t)p->in_count + 1) * sizeof *all);
    p->by_chunk = malloc(((size_t)p->in_count + 1) * sizeof *p->by_chunk);
    if (all != NULL && p->by_chunk != NULL) {
        for (int64_t i = 0; i < p->in_count; i++) all[i] = (placed){p->in[i], i};
        qsort(all, (size_t)p->in_count, sizeof *all, by_chunk_and_box);
        for (int64_t i = 0; i < p->in_count; i++) p->by_chunk[i] = all[i].place;
    }
    const bool failed = all == NULL || p->by_chunk == NULL;
    free(all);
    return failed ? PLAN_NO_MEMORY : PLAN_OK;
}

/* Finds what comes in for the chunks that I own as aggregator. */
static enum plan_status gather(plan *p, bool refuse_overlap, plan_clash *clash) {
    piece_list list = {0};
    enum plan_status status = PLAN_OK;
    for (int64_t a = 0; a < p->aggregator_count && p->chunk_count > 0; a++) {
        if (p->aggregators[a] != p->me) continue;
        int64_t begin, end;
        interval(p, a, &begin, &end);
        for (int64_t b = 0; b < p->boxes.count && begin < end && !list.full; b++) {
            range r;
            range_of(p, b, &r);
            collect(p, &r, 0, 0, begin, end, b, &list);
        }
    }
    if (list.full) status = PLAN_NO_MEMORY;
    if (status == PLAN_OK) {
        if (list.count > 0) qsort(list.items, (size_t)list.count, sizeof *list.items, by_chunk_and_box);
        status = keep_shared(p, &list, refuse_overlap, clash);
    }
    p->in = list.items, p->in_count = list.count;
    if (status == PLAN_OK) status = sort_by_message(p, p->in, p->in_count);
    return status == PLAN_OK ? order_by_chunk(p) : status;
}

/* Looks for overlaps among my own boxes, which no aggregator may see. */
static enum plan_status check_mine(plan *p, plan_clash *clash) {
    piece_list list = {0};
    for (int64_t b = 0; b < p->boxes.count; b++)
        if (p->boxes.rank[b] == p->me) push(&list, -1, b, p->me);
    const int found = list.full ? -1 : overlap_find(p, list.items, list.count, clash);
    free(list.items);
    return found < 0 ? PLAN_NO_MEMORY : found > 0 ? PLAN_OVERLAP : PLAN_OK;
}

static enum plan_status copy_arguments(plan *p, const plan_boxes *boxes, const plan_options *options) {
    const size_t n = (size_t)boxes->count, numbers = 2 * (size_t)p->grid.rank * n;
    p->box_rank = malloc((n + 1) * sizeof *p->box_rank);
    p->box_corner = malloc((numbers + 1) * sizeof *p->box_corner);
    p->aggregators = malloc(((size_t)options->aggregator_count + 1) * sizeof *p->aggregators);
    if (p->box_rank == NULL || p->box_corner == NULL || p->aggregators == NULL) return PLAN_NO_MEMORY;
    if (n > 0) memcpy(p->box_rank, boxes->rank, n * sizeof *p->box_rank);
    if (numbers > 0) memcpy(p->box_corner, boxes->corner, numbers * sizeof *p->box_corner);
    memcpy(p->aggregators, options->aggregators, (size_t)options->aggregator_count * sizeof *p->aggregators);
    p->boxes = (plan_boxes){boxes->count, p->box_rank, p->box_corner};
    p->aggregator_count = options->aggregator_count;
    p->me = options->me, p->item_size = options->item_size, p->range_bytes = options->range_bytes;
    return PLAN_OK;
}

enum plan_status plan_new(const plan_grid *grid, const plan_boxes *boxes, const plan_options *options, plan **out, plan_clash *clash) {
    *out = NULL;
    plan *p = calloc(1, sizeof *p);
    if (p == NULL) {
        for (int d = 0; d < grid->rank; d++) free(grid->edges[d]);
        return PLAN_NO_MEMORY;
    }
    p->grid = *grid;
    enum plan_status status = copy_arguments(p, boxes, options);
    if (status == PLAN_OK) status = find_block(p);
    if (status == PLAN_OK) {
        if (p->aggregator_count > p->chunk_count) p->aggregator_count = p->chunk_count > 0 ? (int32_t)p->chunk_count : 1;
        set_round(p, options->round_bytes);
        if (options->refuse_overlap) status = check_mine(p, clash);
    }
    if (status == PLAN_OK) status = split_mine(p);
    if (status == PLAN_OK) status = gather(p, options->refuse_overlap, clash);
    if (status != PLAN_OK) {
        plan_free(p);
        return status;
    }
    *out = p;
    return PLAN_OK;
}

void plan_free(plan *p) {
    if (p == NULL) return;
    for (int d = 0; d < p->grid.rank; d++) free(p->grid.edges[d]);
    free(p->box_rank), free(p->box_corner), free(p->aggregators);
    free(p->lone_boxes), free(p->lone), free(p->out), free(p->in), free(p->by_chunk);
    free(p);
}

size_t plan_memory(const plan *p) {
    const size_t pieces = (size_t)(p->lone_count + p->out_count + p->in_count);
    return sizeof *p + (size_t)p->boxes.count * (sizeof *p->box_rank + 2 * (size_t)p->grid.rank * sizeof *p->box_corner) +
           pieces * sizeof(plan_piece) + (size_t)p->in_count * sizeof *p->by_chunk + (size_t)p->aggregator_count * sizeof *p->aggregators;
}
