/* The plans of all ranks fit together: every element of every box is moved once, both sides of a message list the same pieces, each chunk has
 * one owner. And the simulator: the plan of some of many ranks, made by the code that the ranks run, without MPI.
 *
 *   plan_check                                   the checks
 *   plan_check RANKS CHUNKS [matched|shifted]    blocks in three dimensions: what a rank's plan costs, and what it moves */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <inttypes.h>
#include <plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures;

#define CHECK(condition) ((condition) ? (void)0 : (void)(failures++, fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition)))

static uint64_t state = 1;

static int64_t pick(int64_t low, int64_t high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (int64_t)((state >> 33) % (uint64_t)(high - low + 1));
}

/* Cuts the array among ranks, again and again in two; some ranks have nothing, some several boxes. */
static int64_t cut(const plan_grid *g, int32_t ranks, int64_t boxes, int64_t *corner, int32_t *owner) {
    const int n = g->rank;
    int64_t count = 1;
    for (int d = 0; d < n; d++) corner[d] = 0, corner[n + d] = g->shape[d];
    for (int tries = 0; count < boxes && tries < 1000; tries++) {
        int64_t *box = corner + 2 * n * pick(0, count - 1), *new = corner + 2 * n * count;
        const int d = (int)pick(0, n - 1);
        if (box[n + d] < 2) continue;
        const int64_t at = pick(1, box[n + d] - 1);
        memcpy(new, box, 2 * (size_t)n * sizeof *box);
        box[n + d] = at, new[d] += at, new[n + d] -= at;
        count++;
    }
    /* The boxes are in the order of their ranks. */
    for (int64_t b = 0; b < count; b++) owner[b] = (int32_t)(b * ranks / count);
    return count;
}

static void random_grid(plan_grid *g) {
    memset(g, 0, sizeof *g);
    g->rank = (int32_t)pick(1, 3);
    for (int d = 0; d < g->rank; d++) {
        g->shape[d] = pick(1, 40);
        g->chunk[d] = pick(1, 15);
        g->chunks[d] = (g->shape[d] + g->chunk[d] - 1) / g->chunk[d];
    }
}

static int64_t elements_of(const plan *p, const plan_piece *piece) {
    int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK];
    return plan_piece_box(p, piece->chunk, piece->box, start, shape);
}

static bool same_piece(const plan_piece *a, const plan_piece *b) { return a->chunk == b->chunk && a->box == b->box; }

/* What rank a sends to b is, piece by piece, what b expects of a. */
static void compare_messages(const plan *a, const plan *b) {
    int64_t j = 0;
    for (int64_t i = 0; i < a->out_count; i++) {
        if (a->out[i].peer != b->me) continue;
        while (j < b->in_count && b->in[j].peer != a->me) j++;
        CHECK(j < b->in_count && same_piece(&a->out[i], &b->in[j]));
        j++;
    }
    while (j < b->in_count && b->in[j].peer != a->me) j++;
    CHECK(j >= b->in_count);
}

static void check_fit(void) {
    enum { RANKS = 9, BOXES = 24 };
    plan *plans[RANKS];
    plan_grid g;
    int64_t corner[2 * 3 * (BOXES + 1)], moved = 0, all = 1;
    int32_t owner[BOXES], aggregators[RANKS];
    random_grid(&g);
    const int32_t ranks = (int32_t)pick(1, RANKS);
    const plan_boxes boxes = {cut(&g, ranks, pick(1, BOXES), corner, owner), owner, corner};
    for (int r = 0; r < ranks; r++) aggregators[r] = (r + 3) % ranks;
    for (int d = 0; d < g.rank; d++) all *= g.shape[d];
    const int32_t some = (int32_t)pick(1, ranks);
    const int64_t bytes = pick(1, 4000), ranges = pick(0, 1) * pick(1, 400);
    for (int r = 0; r < ranks; r++) {
        plan_clash clash;
        const plan_options o = {.me = r, .aggregator_count = some, .aggregators = aggregators, .item_size = 4, .round_bytes = bytes, .refuse_overlap = true,
                                .range_bytes = ranges};
        CHECK(plan_new(&g, &boxes, &o, &plans[r], &clash) == PLAN_OK);
        for (int64_t i = 0; i < plans[r]->lone_count; i++) moved += elements_of(plans[r], &plans[r]->lone[i]);
        for (int64_t i = 0; i < plans[r]->in_count; i++) moved += elements_of(plans[r], &plans[r]->in[i]);
        for (int64_t i = 0; i < plans[r]->lone_box_count; i++) {
            int64_t part = 1;
            for (int d = 0; d < g.rank; d++) part *= corner[2 * g.rank * plans[r]->lone_boxes[i] + g.rank + d];
            moved += part;
        }
    }
    CHECK(moved == all);
    for (int a = 0; a < ranks; a++)
        for (int b = 0; b < ranks; b++) compare_messages(plans[a], plans[b]);
    for (int r = 0; r < ranks; r++) plan_free(plans[r]);
}

/* Of boxes that overlap by one element some rank finds two. */
static void check_overlap(void) {
    plan_grid g = {.rank = 2, .shape = {30, 30}, .chunk = {7, 7}, .chunks = {5, 5}};
    int64_t corner[10 * 10 * 4 + 4];
    int32_t owner[101], aggregators[] = {0, 1, 2};
    for (int b = 0; b < 100; b++) {
        const int64_t box[] = {b / 10 * 3, b % 10 * 3, 3, 3};
        memcpy(corner + 4 * b, box, sizeof box);
        owner[b] = b / 34;
    }
    for (int more = 0; more < 2; more++) {
        const int64_t last[] = {pick(0, 29), pick(0, 29), 1, 1};
        memcpy(corner + 400, last, sizeof last);
        owner[100] = 2;
        const plan_boxes boxes = {100 + more, owner, corner};
        int found = 0;
        for (int r = 0; r < 3; r++) {
            plan *p = NULL;
            plan_clash clash = {{-1, -1}};
            const plan_options o = {.me = r, .aggregator_count = 3, .aggregators = aggregators, .item_size = 8, .round_bytes = 1000, .refuse_overlap = true};
            const enum plan_status status = plan_new(&g, &boxes, &o, &p, &clash);
            if (status == PLAN_OVERLAP) {
                found++;
                CHECK(clash.box[1] == 100 && clash.box[0] >= 0 && clash.box[0] < 100);
            }
            plan_free(p);
        }
        CHECK((found > 0) == (more == 1));
    }
}

/* Two boxes of one chunk cover it only where they are all of it: not a row, a column or a plane of it. */
static void check_covers(void) {
    const int32_t owner[] = {0, 1}, aggregators[] = {0};
    plan_grid g = {.rank = 3, .shape = {4, 3, 5}, .chunk = {4, 3, 5}, .chunks = {1, 1, 1}};
    /* The bits of `whole` are the dimensions that are covered; the first one by both boxes together. */
    for (int whole = 0; whole < 8; whole++) {
        int64_t corner[12] = {0};
        for (int d = 0; d < 3; d++) corner[3 + d] = corner[9 + d] = (whole >> d & 1) ? g.shape[d] : 1;
        corner[3] = corner[9] = corner[6] = (whole & 1) ? 2 : 1;
        const plan_boxes boxes = {2, owner, corner};
        const plan_options o = {.aggregator_count = 1, .aggregators = aggregators, .item_size = 8, .round_bytes = 1000, .refuse_overlap = true};
        plan *p = NULL;
        plan_clash clash;
        CHECK(plan_new(&g, &boxes, &o, &p, &clash) == PLAN_OK);
        CHECK(plan_covers(p) == (whole == 7));
        plan_free(p);
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The plan of one rank, in one line. */
static void report(const plan *p, double time) {
    int64_t messages = 0, received = 0, bytes = 0, last_round = -1, rounds = 0;
    for (int64_t i = 0; i < p->out_count; i++)
        if (i == 0 || p->out[i].peer != p->out[i - 1].peer || plan_round(p, p->out[i].chunk) != plan_round(p, p->out[i - 1].chunk)) messages++;
    for (int64_t i = 0; i < p->in_count; i++) {
        const int64_t round = plan_round(p, p->in[i].chunk);
        if (i == 0 || p->in[i].peer != p->in[i - 1].peer || round != plan_round(p, p->in[i - 1].chunk)) received++;
        rounds += round != last_round;
        last_round = round;
        bytes += elements_of(p, &p->in[i]) * (int64_t)p->item_size;
    }
    printf("rank %7d: %.3f s, %5.1f MB of plan; sends %" PRId64 " messages, receives %" PRId64 " with %.1f MB in %" PRId64 " rounds; %" PRId64
           " boxes and %" PRId64 " chunks alone\n", (int)p->me, time, (double)plan_memory(p) / 1e6, messages, received, (double)bytes / 1e6, rounds,
           p->lone_box_count, p->lone_count);
}

/* Blocks of a cube, one a rank; chunks of 32 elements along each side, so many that there are about CHUNKS. */
static void simulate(int32_t ranks, int64_t chunks, bool shifted) {
    int64_t side = 1, parts[3] = {1, 1, 1};
    while (side * side * side < chunks) side++;
    for (int32_t left = ranks, d = 0; left > 1; d = (d + 1) % 3) {
        int32_t f = 2;
        while (left % f != 0) f++;
        parts[d] *= f, left /= f;
    }
    plan_grid g = {.rank = 3};
    for (int d = 0; d < 3; d++) g.shape[d] = 32 * side - (shifted ? 17 : 0), g.chunk[d] = 32, g.chunks[d] = side;
    int64_t *corner = malloc((size_t)ranks * 6 * sizeof *corner);
    int32_t *owner = malloc((size_t)ranks * sizeof *owner), *aggregators = malloc((size_t)ranks * sizeof *aggregators);
    for (int32_t r = 0; r < ranks; r++) {
        const int64_t at[3] = {r / (parts[1] * parts[2]), r / parts[2] % parts[1], r % parts[2]};
        for (int d = 0; d < 3; d++) {
            const int64_t unit = shifted ? 1 : 32, n = g.shape[d] / unit;
            corner[6 * r + d] = n * at[d] / parts[d] * unit;
            corner[6 * r + 3 + d] = n * (at[d] + 1) / parts[d] * unit - corner[6 * r + d];
        }
        owner[r] = aggregators[r] = r;
    }
    const plan_boxes boxes = {ranks, owner, corner};
    printf("%d ranks as %" PRId64 " x %" PRId64 " x %" PRId64 " blocks, %" PRId64 " chunks, %s\n", (int)ranks, parts[0], parts[1], parts[2],
           side * side * side, shifted ? "blocks that cut chunks" : "blocks of whole chunks");
    for (int i = 0; i < 4; i++) {
        plan *p = NULL;
        plan_clash clash;
        const plan_options o = {.me = (int32_t)((int64_t)(ranks - 1) * i / 3), .aggregator_count = ranks, .aggregators = aggregators,
                                .item_size = 8, .round_bytes = 32 << 20, .refuse_overlap = true};
        const double began = seconds();
        if (plan_new(&g, &boxes, &o, &p, &clash) != PLAN_OK) {
            failures++;
            break;
        }
        report(p, seconds() - began);
        plan_free(p);
    }
    free(corner), free(owner), free(aggregators);
}

int main(int argc, char **argv) {
    if (argc > 2) {
        simulate((int32_t)atoi(argv[1]), strtoll(argv[2], NULL, 10), argc > 3 && strcmp(argv[3], "shifted") == 0);
        return failures > 0;
    }
    for (int i = 0; i < 400 && failures == 0; i++) {
        check_fit();
        check_overlap();
    }
    check_covers();
    simulate(1000, 10000, true);
    return failures > 0;
}
