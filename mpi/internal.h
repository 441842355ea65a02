/* What the files of libozarr_mpi have in common. */
#ifndef OZARR_MPI_INTERNAL_H
#define OZARR_MPI_INTERNAL_H

#include "ozarr_mpi.h"
#include "plan.h"

#include <ozarr_advanced.h>
#include <ozarr_extend.h>

#define OM_UNUSED(x) ((void)(x))

enum { OM_MESSAGE = 2048, OM_PLANS = 8, OM_TAGS = 16384, OM_GIVEN_UP = OM_TAGS };

/* A node that was opened here: what the other ranks need to open it anew. */
typedef struct om_handle {
    const void *handle;
    char *name; /* its own location, which calls are compared by */
    ozarr_node *array; /* NULL: it is a group */
    int64_t number;    /* the same on all ranks */
    char mode[3];
} om_handle;

/* A plan that is used again, with the buffers of its last use. */
typedef struct om_cached {
    int64_t id; /* the same on all ranks */
    uint64_t key;
    plan *p;
    bool alone; /* on no rank is there anything to send */
    ozarr_array *encoder; /* where all of the shared shards is written: encodes their inner chunks, in memory */
    int users;
} om_cached;

/* The numbers that ranks compare as a call begins. */
enum { OM_COMPARED = 8 };

struct ozarr_mpi {
    MPI_Comm comm;
    int rank, size;
    bool busy;
    bool met; /* the last call that began could be compared with those of the other ranks */
    int32_t *spread; /* all ranks, those of different nodes after each other */
    int64_t aggregators, round_bytes, message_bytes, range_bytes;
    bool last_wins, check_writes;
    om_handle *handles;
    size_t handle_count;
    int64_t none_lost_at; /* rank 0: how many losses there were in the process when none of the handles was lost; -1: one may be */
    int64_t shared; /* nodes that all ranks were given so far */
    om_cached *plans[OM_PLANS];
    int64_t plan_count; /* made so far */
    int64_t requests;   /* that were not waited for */
    int64_t requests_begun;
    int64_t let_go;     /* requests that the next close completes */
    bool given_up;      /* one was let go of while other ranks did not move: its messages do not come any more */
    int64_t series;     /* that were not closed */
    ozarr_mpi_request *pending; /* these, in the order in which they began */
    int64_t compared[2][OM_COMPARED]; /* what ranks compare as a call begins, and what came of it, where requests go on */
    int tag;
};

/* --- agree.c: one status and one message for all ranks --- */

/* What went wrong: all that ozarr_last_error_info gives, as it is sent to other ranks and kept for later. */
typedef struct om_failure {
    int32_t status, os_errno, http_status;
    char message[1024]; /* without key and field */
    char key[1025];
    char field[256];
} om_failure;

/* Sets the thread's last error from a format and returns the status. */
__attribute__((format(printf, 2, 3))) ozarr_status om_error(ozarr_status status, const char *format, ...);

/* Takes over an error; the thread's last one, with this status. */
void om_failure_of(om_failure *f, const ozarr_error_info *info);
void om_failure_last(om_failure *f, ozarr_status status);
/* Adds to the message: in front, behind. */
void om_failure_begin(om_failure *f, const char *text);
void om_failure_add(om_failure *f, const char *text);
/* Makes it the thread's last error and returns its status. */
ozarr_status om_failure_set(const om_failure *f);
/* Makes that of rank `root` the last error of all. */
ozarr_status om_spread(ozarr_mpi *m, om_failure *f, int root);

/* OZARR_OK, or the error of a call of MPI. */
ozarr_status om_check(const char *call, int mpi_status);

/* A number that ranks compare as a call begins: `mine` may be OM_ANY, on ranks that have nothing to compare. Then `least` and `most` are
 * those of all ranks; both are OM_ANY if no rank has one. */
typedef struct om_compared {
    int64_t mine, least, most;
} om_compared;

#define OM_ANY INT64_MAX

/* Room for a text in the description of a call. */
typedef struct om_text {
    char text[1040];
} om_text;

/* A text for the description of a call: one of more than `most` (up to 1000) bytes is cut, and has a number behind it that all of them make. */
const char *om_cut(const char *text, size_t most, om_text *room);
#define OM_CUT(text, most) om_cut(text, most, &(om_text){""})

/* Begins a collective call. `status` is what this rank found wrong with its arguments; `call` describes the call with all arguments that
 * have to be the same on all ranks. The status is the same on all ranks. If it is not OZARR_OK the call has ended. */
ozarr_status om_enter(ozarr_mpi *m, ozarr_status status, om_compared compared[2], const char *call);

/* Whether the thread may call MPI. */
ozarr_status om_check_thread(void);

/* Ends a collective call on this rank. */
ozarr_status om_leave(ozarr_mpi *m, ozarr_status status);

/* Makes the status of the first rank that failed, and its message, that of all. `*least` (unless NULL) becomes the least of all ranks'. */
ozarr_status om_agree(ozarr_mpi *m, ozarr_status status, int64_t *least);

/* Rank 0's status and bytes for all. Of other ranks `*bytes` is allocated; all free it. */
ozarr_status om_broadcast(ozarr_mpi *m, ozarr_status status, char **bytes, size_t *size);

/* --- session.c --- */

/* Whether handles of this library are valid, and may be used now. */
ozarr_status om_valid(const void *object, const char *what);
ozarr_status om_register(const void *object);
void om_forget(const void *object);

/* --- handles.c: nodes that all ranks have --- */

void om_drop(ozarr_mpi *m, const void *handle);
const om_handle *om_find(const ozarr_mpi *m, const void *handle);
/* The location of a node that was opened here, for the description of a call; "" of any other. */
const char *om_name(const ozarr_mpi *m, const void *handle);

/* The node's path in its store, to be freed. */
ozarr_status om_path_of(const ozarr_node *node, char **path);

/* The node's place: the location of its store, `/` and its path; "" where it has none. To be freed; NULL, and an error, without memory. */
char *om_place_of(const ozarr_node *node);

/* What other ranks need to open a node: the store's location, NUL, and the exported node; to be freed. */
ozarr_status om_pack(const ozarr_node *node, const char *root, size_t root_size, char **bytes, size_t *size);

/* Ends opening: rank 0 has opened a node (or failed with `status`), all others get it, in the store that rank 0's is in. Of `array` and `group`
 * one is NULL. */
ozarr_status om_share(ozarr_mpi *m, ozarr_status status, const char *mode, ozarr_array **array, ozarr_group **group);

/* Gives all other ranks what rank 0 has of a node now, after it did something to it, also where that failed: the status is that of all then. */
ozarr_status om_share_again(ozarr_mpi *m, ozarr_status status, ozarr_node *node);
/* Shares a node like `om_share_again` after rank 0 has refreshed it, as the program asks: it is the one that is there, for all. */
ozarr_status om_share_found(ozarr_mpi *m, ozarr_status status, ozarr_node *node);

/* Refuses what would change an array that is lost to this rank's handle, though the others may not know it. Errors: OZARR_ERR_STATE. */
ozarr_status om_check_there(const ozarr_mpi *m, const ozarr_array *array);
/* Gives a handle what was exported of its node. One that has lost its array stays without it. */
ozarr_status om_take(ozarr_node *node, const char *bytes, size_t size);

/* How many of rank 0's handles are of arrays that it erased or replaced since; 0 on other ranks. */
int64_t om_count_lost(ozarr_mpi *m);
/* Tells the other ranks' handles of these arrays, so that nothing is stored by them. Collective, within a call. */
ozarr_status om_tell_lost(ozarr_mpi *m, int64_t count);
/* Does both, after rank 0 may have erased or replaced something, with `status` and its message; that is the result, unless MPI fails. */
ozarr_status om_share_lost(ozarr_mpi *m, ozarr_status status);

/* --- nodes.c --- */

/* OZARR_ERR_NULL, and OZARR_ERR_ARGUMENT for a handle that was not opened here. */
ozarr_status om_check_known(const ozarr_mpi *m, const void *handle, const char *name);

/* Creates an array below a group; `more` says what else the ranks have to agree on. */
ozarr_status om_create_below(ozarr_mpi *m, ozarr_group *group, const char *path, const ozarr_spec *spec, ozarr_create_mode mode, const char *more,
                             ozarr_array **out);
/* Takes back an array below a group (NULL: it is closed) that was created, as rank 0 knows, after a failure whose status and message
 * stay; the message tells what became of the array. Collective. */
ozarr_status om_take_back(ozarr_mpi *m, ozarr_group *group, const char *path, ozarr_array *array, bool created, ozarr_status status);

/* --- grow.c --- */

/* Makes an array at least `length` long along a dimension, in this handle alone. */
ozarr_status om_grow(ozarr_array *array, int32_t dim, int64_t length);

/* Writes the fill value to all elements with index `at` along a dimension: this rank's part, which ends where chunks end; none of variable length. */
ozarr_status om_fill_slab(const ozarr_mpi *m, const ozarr_array *array, int32_t dim, int64_t at);

/* --- check.c: chunks that two ranks changed --- */

/* Begins to list the chunks that this rank changes, if writes are to be checked. */
ozarr_status om_check_begin(const ozarr_mpi *m, const ozarr_array *array);
/* Ends all lists of the arrays that were opened here: what is written while the setting is off is not compared. */
void om_check_end(const ozarr_mpi *m);
/* OZARR_ERR_CONFLICT on all ranks if two changed one chunk since; begins anew. Collective, inside of a call. */
ozarr_status om_check_writes(ozarr_mpi *m, const ozarr_array *array);

/* --- places.c: locations that several ranks cannot have in common --- */

/* Refuses memory, which each process has its own of, and with mode "r+" zip archives, if there are several ranks. Rank 0 asks. */
ozarr_status om_check_place(const ozarr_mpi *m, const char *location, const char *mode);

/* --- layout.c: elements in memory --- */

/* A box of elements in memory. */
typedef struct om_view {
    char *data;
    size_t size;
    size_t offset;
    int64_t stride[PLAN_MAX_RANK];
} om_view;

/* The bytes of an element in memory, as `memory` describes it for the array; OZARR_ERR_TYPE for those without a size. */
ozarr_status om_item_size(const ozarr_array *array, const ozarr_memory *memory, size_t *size);

/* Checks memory for a box. `distinct`: no two elements may overlap. */
ozarr_status om_view_of(const ozarr_memory *memory, int32_t rank, const int64_t *shape, size_t item, bool distinct, om_view *view);

/* Copies a box of elements. */
void om_copy(int32_t rank, const int64_t *shape, size_t item, char *to, const int64_t *to_stride, const char *from,
             const int64_t *from_stride);

/* The strides of contiguous memory. */
void om_dense(int32_t rank, const int64_t *shape, size_t item, int64_t *stride);

/* --- fields.c: structs in memory --- */

/* Bytes of an element, one behind the other. */
typedef struct om_run {
    size_t offset, size;
} om_run;

/* The bytes of an element that its dtype describes: all, but for those between the fields of a struct; without a dtype none are listed. */
typedef struct om_fields {
    om_run *runs; /* to be freed */
    size_t count, bytes;
    uint64_t hash; /* of names, places and types */
} om_fields;

ozarr_status om_fields_of(const ozarr_memory *memory, om_fields *fields);

static inline bool om_has_gaps(const om_fields *fields, size_t item) { return fields->count > 0 && fields->bytes < item; }

/* Copies a box of elements, but for the bytes that are no fields. */
void om_copy_fields(const om_fields *fields, int32_t rank, const int64_t *shape, size_t item, char *to, const int64_t *to_stride, const char *from,
                    const int64_t *from_stride);

/* --- planning.c --- */

/* The plan for these boxes, made anew or used again. Collective; call after om_enter with the key of om_plan_key. */
ozarr_status om_plan(ozarr_mpi *m, const ozarr_array *array, size_t item, bool write, int64_t count, const ozarr_region *regions,
                     uint64_t key, int64_t id, om_cached **out);

/* What a plan of this array depends on, and the number of the plan that this rank has for these boxes, or -1. */
ozarr_status om_plan_key(const ozarr_mpi *m, const ozarr_array *array, bool write, int64_t count, const ozarr_region *regions,
                         uint64_t *key, int64_t *id);

void om_plan_release(ozarr_mpi *m, om_cached *cached);

/* OZARR_ERR_ARGUMENT on all ranks if the regions of two have common elements. Collective, within a call. */
ozarr_status om_check_overlap(ozarr_mpi *m, int32_t rank, const ozarr_region *region);

/* --- exchange.c --- */

/* A collective read or write that is under way. */
typedef struct om_move om_move;

/* What is moved. */
typedef struct om_job {
    ozarr_mpi *m;
    const ozarr_array *array;
    const plan *p;
    bool write;
    ozarr_memory type;    /* type, overflow, dtype of the elements in memory */
    om_view *views;       /* of my boxes */
    om_fields fields;     /* of the elements in memory; the call's own */
    int64_t first_box;    /* the number of the first of them */
    bool waits;           /* the call ends when all is done */
    bool lone_only;       /* chunks that several ranks have are not moved */
    bool last_wins;       /* the settings as the call began: its buffers are made for them */
    int64_t message_bytes;
    int tag;
} om_job;

ozarr_status om_move_new(const om_job *job, om_move **out);
/* Posts and stores what can be; false when all is done. */
bool om_move_on(om_move *move);
/* Waits a little for something to happen. */
void om_move_pause(om_move *move);
/* Lets others run, the longer the more often it was tried. */
void om_yield(int tries);
/* Whether nothing moved at the last try, and nothing is being stored or fetched: other ranks are waited for. */
bool om_move_waits(const om_move *move);
/* The first error of this rank, as its last error; and chunks that it stored, of how many. */
ozarr_status om_move_end(om_move *move, int64_t *stored, int64_t *total);
void om_move_free(om_move *move);

/* --- shards.c: shards of which several ranks have elements --- */

/* Makes the array in memory that encodes an array's inner chunks; OZARR_ERR_UNSUPPORTED where shards are encoded otherwise. */
ozarr_status om_encoder_new(const ozarr_array *array, ozarr_array **encoder);
/* Writes the shards of a move that several ranks have. The status is the same on all ranks; failures of storing are noted in the move. */
ozarr_status om_shards(om_move *move, ozarr_array *encoder);

/* --- regions.c --- */

/* Stores what this rank wrote by itself and still waits (the setting "write_back"): a collective call comes behind that on all ranks. */
ozarr_status om_settle(const ozarr_array *array);

/* Completes all writes that were not waited for; the error is that of the first that failed, which its wait tells, too: of those to arrays below a
 * group, if one is given. Collective, within a call. */
ozarr_status om_finish(ozarr_mpi *m, const ozarr_group *group);
/* OZARR_ERR_STATE while there are requests of an array that were neither waited for nor let go of. */
ozarr_status om_check_no_requests(const ozarr_mpi *m, const ozarr_array *array);
/* Completes the requests that were let go of: the error is that of the first that failed. Collective, within a call. */
ozarr_status om_end_let_go(ozarr_mpi *m);
/* Moves all requests on that were not waited for, and waits a little from the second try on. */
void om_move_pending(ozarr_mpi *m, int tries);
/* Stores what waits in arrays below a group, and makes durable what they stored, as far as the stores of their arrays promise it; the error is that of
 * an array below the group. Collective, within a call. */
ozarr_status om_flush_pending(ozarr_mpi *m, const ozarr_group *group);

/* Whether a box has no elements: it is nowhere then, as a rank without cells has often 1 to 0, or 0 to -1. */
bool om_is_empty(int32_t rank, const int64_t *shape);
/* Checks a box against the shape of its array; its memory against that of the first box of the call. */
ozarr_status om_check_region(const ozarr_region *region, int32_t rank, const int64_t *shape);
ozarr_status om_check_memory(const ozarr_memory *memory, const ozarr_memory *first);

/* Writes boxes to an array in memory, with all ranks; `status` is what the caller found already. */
ozarr_status om_encode_all(ozarr_mpi *m, const ozarr_array *encoder, int64_t count, const ozarr_region *regions, const ozarr_memory *memories,
                           ozarr_status status);
ozarr_status om_move_all(ozarr_mpi *m, const ozarr_array *array, bool write, int64_t count, const ozarr_region *regions,
                         const ozarr_memory *memories, ozarr_status status);

#endif
