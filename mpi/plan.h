/* Who stores which chunk of a collective write, and which pieces travel: integers only, neither MPI nor ozarr.
 *
 * Every rank computes its own part from the boxes of all ranks. A chunk (a stored object: a shard, where there are shards) that one rank
 * alone touches is that rank's. Any other belongs to an aggregator: the chunks of the smallest block of chunks that holds all boxes are
 * counted in row-major order, and each aggregator has an interval of the counts. The chunks of an interval are moved in rounds of as many
 * chunks as fit into a number of bytes. A read may leave out pieces that are long ranges of stored bytes: their ranks read them. Both sides
 * of a message list its pieces in the same order, so that none describes itself. */
#ifndef OZARR_MPI_PLAN_H
#define OZARR_MPI_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAN_MAX_RANK = 64 };

enum plan_status { PLAN_OK, PLAN_NO_MEMORY, PLAN_TOO_MANY_CHUNKS, PLAN_OVERLAP };

/* A chunk grid. */
typedef struct plan_grid {
    int32_t rank;
    int64_t shape[PLAN_MAX_RANK];  /* of the array */
    int64_t chunk[PLAN_MAX_RANK];  /* the extent of a chunk, the largest where they differ */
    int64_t chunks[PLAN_MAX_RANK]; /* how many chunks there are */
    int64_t *edges[PLAN_MAX_RANK]; /* where they differ: the first element of each chunk, and the end of the last; else NULL */
} plan_grid;

/* The boxes of all ranks, in the order of the ranks. None is empty. */
typedef struct plan_boxes {
    int64_t count;
    const int32_t *rank;  /* of each box */
    const int64_t *corner; /* of each box: its start, then its shape */
} plan_boxes;

/* What a plan depends on besides grid and boxes. */
typedef struct plan_options {
    int32_t me;
    int32_t aggregator_count;
    const int32_t *aggregators; /* their ranks */
    size_t item_size;           /* bytes of an element in a message */
    int64_t round_bytes;        /* about how many bytes of elements an aggregator moves in a round */
    bool refuse_overlap;        /* a write: two boxes with a common element are PLAN_OVERLAP */
    int64_t range_bytes;        /* a read of chunks that are stored as they are: pieces of ranges of at least so many bytes do not travel; or 0 */
} plan_options;

/* The part of a box in a chunk. */
typedef struct plan_piece {
    int64_t chunk; /* its number in the block of chunks */
    int64_t box;
    int32_t peer; /* of what goes out the chunk's owner, of what comes in the box's rank */
    int32_t unused;
} plan_piece;

/* What two boxes have in common. */
typedef struct plan_clash {
    int64_t box[2];
} plan_clash;

typedef struct plan {
    plan_grid grid; /* its edges belong to the plan */
    plan_boxes boxes;
    int32_t *box_rank;
    int64_t *box_corner;
    int32_t me;
    int32_t *aggregators;
    int32_t aggregator_count;
    int64_t first[PLAN_MAX_RANK], extent[PLAN_MAX_RANK]; /* the block of chunks */
    int64_t chunk_count;                                 /* of the block */
    int64_t per_round;                                   /* chunks of an interval in a round */
    size_t item_size;
    int64_t range_bytes;
    /* Boxes of mine all of whose pieces are moved by me alone; then such pieces of my other boxes: nobody else touches the chunk, or the
     * piece is long ranges of its bytes. */
    int64_t *lone_boxes, lone_box_count;
    plan_piece *lone;
    int64_t lone_count;
    /* What of my boxes is in chunks of others (or of mine as their aggregator), by round, owner, chunk and box. */
    plan_piece *out;
    int64_t out_count;
    /* What is in the chunks that I own as aggregator, by round, peer, chunk and box; and its order by chunk and box. */
    plan_piece *in;
    int64_t in_count;
    int64_t *by_chunk;
} plan;

/* Makes the plan of one rank; takes over what grid.edges points to, and copies the boxes. With PLAN_OVERLAP `clash` has two boxes with a
 * common element. */
enum plan_status plan_new(const plan_grid *grid, const plan_boxes *boxes, const plan_options *options, plan **out, plan_clash *clash);

void plan_free(plan *p);

/* The round in which a chunk is moved by its aggregator. */
int64_t plan_round(const plan *p, int64_t chunk);

/* The number in the block of the chunk that has an element; and of the aggregator that owns a chunk. */
int64_t plan_chunk_of(const plan *p, const int64_t *element);
int64_t plan_aggregator(const plan *p, int64_t chunk);

/* Whether the boxes are all of every chunk that I own as aggregator; none of them overlap. */
bool plan_covers(const plan *p);

/* The box of a chunk within the array: start and shape, PLAN_MAX_RANK apart. */
void plan_chunk_box(const plan *p, int64_t chunk, int64_t *start, int64_t *shape);

/* The part of a box in a chunk, and its number of elements. */
int64_t plan_piece_box(const plan *p, int64_t chunk, int64_t box, int64_t *start, int64_t *shape);

/* How many chunks a box touches. */
int64_t plan_box_chunks(const plan *p, int64_t box);

/* The bytes that the plan has in memory. */
size_t plan_memory(const plan *p);

#endif
