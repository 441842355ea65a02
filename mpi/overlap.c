/* Finds overlapping boxes: sorts them along a dimension and cuts the list where no box reaches across, dimension after dimension, so that
 * the boxes of a regular decomposition end up alone; what cannot be cut is compared pair by pair. */
#include "overlap.h"

#include <stdlib.h>

/* An interval along the dimension by which boxes are sorted. */
typedef struct span {
    int64_t start, end, box;
} span;

typedef struct search {
    const plan *p;
    plan_clash *clash;
} search;

static int by_start(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->box > y->box) - (x->box < y->box);
}

static bool disjoint(const plan *p, int64_t a, int64_t b) {
    const int n = p->grid.rank;
    const int64_t *x = p->boxes.corner + 2 * a * n, *y = p->boxes.corner + 2 * b * n;
    for (int d = 0; d < n; d++)
        if (x[d] + x[n + d] <= y[d] || y[d] + y[n + d] <= x[d]) return true;
    return false;
}

static int compare_pairs(const search *s, const span *spans, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = i + 1; j < count; j++)
            if (!disjoint(s->p, spans[i].box, spans[j].box)) {
                const bool swap = spans[i].box > spans[j].box;
                s->clash->box[swap] = spans[i].box, s->clash->box[!swap] = spans[j].box;
                return 1;
            }
    return 0;
}

/* `uncut`: how many dimensions in a row did not cut the list. */
static int search_spans(const search *s, span *spans, int64_t count, int d, int uncut) {
    const int n = s->p->grid.rank;
    if (count < 2) return 0;
    if (count <= 4 || uncut >= n) return compare_pairs(s, spans, count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t *corner = s->p->boxes.corner + 2 * spans[i].box * n;
        spans[i].start = corner[d], spans[i].end = corner[d] + corner[n + d];
    }
    qsort(spans, (size_t)count, sizeof *spans, by_start);
    for (int64_t i = 0, j; i < count; i = j) {
        int64_t end = spans[i].end;
        for (j = i + 1; j < count && spans[j].start < end; j++) end = spans[j].end > end ? spans[j].end : end;
        const int found = search_spans(s, spans + i, j - i, (d + 1) % n, j - i == count ? uncut + 1 : 0);
        if (found) return found;
    }
    return 0;
}

int overlap_find(const plan *p, const plan_piece *pieces, int64_t count, plan_clash *clash) {
    if (count < 2) return 0;
    span *spans = malloc((size_t)count * sizeof *spans);
    if (spans == NULL) return -1;
    for (int64_t i = 0; i < count; i++) spans[i] = (span){0, 0, pieces[i].box};
    const search s = {p, clash};
    const int found = search_spans(&s, spans, count, 0, 0);
    free(spans);
    return found;
}
