/* A collective read or write under way: its state, for the files that move it. */
#ifndef OZARR_MPI_MOVE_H
#define OZARR_MPI_MOVE_H

#include "internal.h"

enum { BUFFERS = 4, ROUNDS = 2 };

/* The messages of MPI that are one message here: more bytes than a message may have are sent in parts. */
typedef struct om_parts {
    MPI_Request *items;
    int count, capacity;
    bool send;
} om_parts;

/* A message of this rank to or from an aggregator. */
typedef struct om_mail {
    char *buffer;
    int64_t begin, end; /* pieces of plan.out */
    om_parts parts;
    bool active;
} om_mail;

/* Chunks that a request stores or fetches. */
typedef struct om_storing {
    ozarr_request *request;
    int64_t objects;  /* chunks */
    int64_t *numbers; /* of its list of regions, by which its error names an element of the array */
    bool shared;      /* other ranks have elements of them, too */
} om_storing;

enum round_state { ROUND_FREE, ROUND_MAIL, ROUND_STORE };

/* A round of chunks of this rank as aggregator. */
typedef struct om_round {
    char *wire;   /* the pieces of all ranks, message after message */
    char *chunks; /* whole chunks (reading: the boxes around pieces) */
    int64_t begin, end; /* pieces of plan.in */
    om_parts parts;
    om_storing storing;
    enum round_state state;
} om_round;

struct om_move {
    om_job job;
    om_mail mails[BUFFERS];
    int mail_count;
    int64_t next_out;
    om_round rounds[ROUNDS];
    int64_t next_in, next_sent; /* the first piece of the next round to begin; and, reading, to send */
    int64_t *place; /* of each piece of plan.in: the bytes in front of it in its round; -1: it is mine, and does not travel */
    om_storing lone;
    om_failure failure; /* the first error; its status is OZARR_OK without one */
    int64_t stored, total;
    bool lost; /* messages that failed may still come: their memory is not used again */
    bool begun;
    int idle; /* how often nothing moved */
};

/* The pieces of one chunk in a round: those of plan.by_chunk from `begin` on. */
typedef struct om_chunk_pieces {
    int64_t begin, end;
    bool whole; /* they are all of it */
    int64_t start[PLAN_MAX_RANK], shape[PLAN_MAX_RANK]; /* the chunk (reading: the box around the pieces) */
    int64_t bytes;
} om_chunk_pieces;

/* Regions of the array, each with its memory, for one call of ozarr. */
typedef struct om_region_list {
    ozarr_batch_entry *entries;
    ozarr_region *regions;
    ozarr_memory *memories;
    int64_t *numbers; /* start, shape and strides of each */
    int64_t count;
} om_region_list;

/* --- pieces.c: what is where, failures, lists of regions --- */

int64_t om_bytes_of(const om_move *w, const plan_piece *piece);
/* Where the message that begins with piece `begin` ends, and its bytes. */
int64_t om_mail_end(const om_move *w, const plan_piece *pieces, int64_t count, int64_t begin, int64_t *bytes);
int64_t om_round_end(const plan *p, int64_t begin);
/* Where a part of one of my boxes begins in memory, and the strides there. */
char *om_in_memory(const om_move *w, int64_t box, const int64_t *start);
const int64_t *om_strides_of(const om_move *w, int64_t box);
/* Keeps the first failure: the thread's last error, if the status is one. */
void om_note(om_move *w, ozarr_status status);
bool om_list_new(om_region_list *list, int64_t capacity, int32_t rank);
void om_list_free(om_region_list *list);
/* Adds a region whose first element is at byte `offset` of `data`; without strides it is contiguous. */
void om_list_add(const om_move *w, om_region_list *list, const int64_t *start, const int64_t *shape, char *data, size_t size, size_t offset,
                 const int64_t *stride);
/* Adds a part of one of my boxes. */
void om_list_mine(const om_move *w, om_region_list *list, int64_t box, const int64_t *start, const int64_t *shape);
/* Begins to read or write the regions, of which `storing` says the chunks. What is too large for a request is done at once. */
void om_submit(om_move *w, om_region_list *list, om_storing *storing);
/* Whether a request has ended (true without one); ends it: its error, and the objects that it stored. */
bool om_has_ended(const ozarr_request *request);
void om_end_request(om_move *w, om_storing *storing);
void om_storing_free(om_storing *storing);

/* --- exchange.c --- */

/* Posts a message in parts; a send or a receive. */
void om_post(om_move *w, om_parts *all, char *bytes, int64_t size, int peer, bool send);
bool om_arrived(om_move *w, om_parts *all);
/* Gives up messages after MPI failed, as where a rank died; whether all have ended. Else MPI may still write to their memory, or read it. */
bool om_give_up(om_parts *all);

/* --- rounds.c: what an aggregator does --- */

/* The next chunk of a round, behind `c`; false at the end. */
bool om_next_chunk(const om_move *w, const om_round *round, om_chunk_pieces *c);
/* Takes a round one step further, if it can; whether it could. */
bool om_move_round(om_move *w, om_round *round);

#endif
