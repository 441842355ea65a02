/* The ranks that work together: a communicator, settings, the threads of each rank; and which handles are valid. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "internal.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The objects of this library that are alive: a handle that was freed is an error, not a crash. */
static pthread_mutex_t living_lock = PTHREAD_MUTEX_INITIALIZER;
static const void **living;
static size_t living_count, living_capacity;

ozarr_status om_register(const void *object) {
    ozarr_status status = OZARR_OK;
    pthread_mutex_lock(&living_lock);
    if (living_count == living_capacity) {
        const size_t capacity = living_capacity ? 2 * living_capacity : 16;
        const void **more = realloc(living, capacity * sizeof *more);
        if (more == NULL) status = OZARR_ERR_NO_MEMORY;
        else living = more, living_capacity = capacity;
    }
    if (status == OZARR_OK) living[living_count++] = object;
    pthread_mutex_unlock(&living_lock);
    return status == OZARR_OK ? status : om_error(status, "no memory for a handle");
}

void om_forget(const void *object) {
    pthread_mutex_lock(&living_lock);
    for (size_t i = 0; i < living_count; i++)
        if (living[i] == object) {
            living[i] = living[--living_count];
            break;
        }
    if (living_count == 0) free(living), living = NULL, living_capacity = 0;
    pthread_mutex_unlock(&living_lock);
}

/* Whether MPI can be called. */
static ozarr_status running(void) {
    int begun = 0, ended = 0;
    if (MPI_Initialized(&begun) != MPI_SUCCESS || !begun) return om_error(OZARR_ERR_STATE, "MPI_Init was not called");
    if (MPI_Finalized(&ended) != MPI_SUCCESS || ended) return om_error(OZARR_ERR_STATE, "MPI_Finalize was called");
    return OZARR_OK;
}

ozarr_status om_valid(const void *object, const char *what) {
    if (object == NULL) return om_error(OZARR_ERR_NULL, "%s is NULL", what);
    bool found = false;
    pthread_mutex_lock(&living_lock);
    for (size_t i = 0; i < living_count; i++) found |= living[i] == object;
    pthread_mutex_unlock(&living_lock);
    return found ? running() : om_error(OZARR_ERR_INVALID_HANDLE, "the handle of an %s was freed, or is of another kind", what);
}

/* The processors that this process may run on, as bits. */
static void processors(uint64_t bits[16]) {
    memset(bits, 0, 16 * sizeof *bits);
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (size_t i = 0; i < 1024 && i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &set)) bits[i / 64] |= (uint64_t)1 << i % 64;
        return;
    }
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = 0; i < 1024 && i < (online > 0 ? online : 1); i++) bits[i / 64] |= (uint64_t)1 << i % 64;
}

static int count_bits(const uint64_t bits[16]) {
    int count = 0;
    for (int i = 0; i < 16; i++)
        for (uint64_t word = bits[i]; word != 0; word &= word - 1) count++;
    return count;
}

/* Gives the default context as many threads as this rank's share of the node's processors, unless the environment of this rank or the program says
 * how many. A communicator of fewer ranks does not raise what one of more ranks has set: those ranks still share the processors. */
static ozarr_status set_threads(MPI_Comm node) {
    static atomic_int share; /* what was set here; 0: nothing yet */
    uint64_t mine[16], all[16];
    int ranks = 1;
    processors(mine);
    ozarr_status status = om_check("MPI_Allreduce", MPI_Allreduce(mine, all, 16, MPI_UINT64_T, MPI_BOR, node));
    if (status == OZARR_OK) status = om_check("MPI_Comm_size", MPI_Comm_size(node, &ranks));
    if (status != OZARR_OK || getenv("OZARR_NUM_THREADS") != NULL) return status;
    int threads = count_bits(all) / ranks;
    if (threads > count_bits(mine)) threads = count_bits(mine);
    threads = threads < 1 ? 1 : threads > 4096 ? 4096 : threads;
    char text[16] = "";
    const int before = atomic_load(&share);
    status = ozarr_context_get(NULL, "threads", text, sizeof text, NULL);
    if (status != OZARR_OK || (before != 0 && (before <= threads || atoi(text) != before))) return status;
    atomic_store(&share, threads);
    snprintf(text, sizeof text, "%d", threads);
    return ozarr_context_set(NULL, "threads", text);
}

/* A rank, its number on its node, and the node's first rank. */
typedef struct seat {
    int on_node, node, rank;
} seat;

static int by_seat(const void *a, const void *b) {
    const seat *x = a, *y = b;
    if (x->on_node != y->on_node) return x->on_node < y->on_node ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Orders the ranks so that the first ones are on different nodes. */
static ozarr_status spread_over_nodes(ozarr_mpi *m) {
    MPI_Comm node = MPI_COMM_NULL;
    seat mine = {0, m->rank, m->rank};
    seat *all = malloc((size_t)m->size * sizeof *all);
    m->spread = malloc((size_t)m->size * sizeof *m->spread);
    ozarr_status status = all != NULL && m->spread != NULL ? OZARR_OK : om_error(OZARR_ERR_NO_MEMORY, "a list of %d ranks", m->size);
    status = om_agree(m, status, NULL);
    if (status == OZARR_OK)
        status = om_check("MPI_Comm_split_type", MPI_Comm_split_type(m->comm, MPI_COMM_TYPE_SHARED, m->rank, MPI_INFO_NULL, &node));
    if (status == OZARR_OK) status = om_check("MPI_Comm_rank", MPI_Comm_rank(node, &mine.on_node));
    if (status == OZARR_OK) status = om_check("MPI_Bcast", MPI_Bcast(&mine.node, 1, MPI_INT, 0, node));
    if (status == OZARR_OK) status = om_check("MPI_Allgather", MPI_Allgather(&mine, 3, MPI_INT, all, 3, MPI_INT, m->comm));
    if (status == OZARR_OK) {
        qsort(all, (size_t)m->size, sizeof *all, by_seat);
        for (int i = 0; i < m->size; i++) m->spread[i] = all[i].rank;
        status = set_threads(node);
    }
    if (node != MPI_COMM_NULL) MPI_Comm_free(&node);
    free(all);
    return status;
}

static void destroy(ozarr_mpi *m) {
    om_forget(m);
    if (m->comm != MPI_COMM_NULL) MPI_Comm_free(&m->comm);
    for (size_t i = 0; i < m->handle_count; i++) free(m->handles[i].name);
    for (int i = 0; i < OM_PLANS; i++)
        if (m->plans[i] != NULL && m->plans[i]->users == 0) ozarr_array_free(m->plans[i]->encoder), plan_free(m->plans[i]->p), free(m->plans[i]);
    free(m->handles);
    free(m->spread);
    free(m);
}

static ozarr_status check_communicator(MPI_Comm comm) {
    ozarr_status status = running();
    if (status == OZARR_OK) status = om_check_thread();
    if (status != OZARR_OK) return status;
    if (comm == MPI_COMM_NULL) return om_error(OZARR_ERR_ARGUMENT, "comm is MPI_COMM_NULL, expected a communicator");
    int inter = 0;
    status = om_check("MPI_Comm_test_inter", MPI_Comm_test_inter(comm, &inter));
    if (status == OZARR_OK && inter) status = om_error(OZARR_ERR_ARGUMENT, "comm is an inter-communicator, expected one of a single group");
    return status;
}

ozarr_status ozarr_mpi_new(MPI_Comm comm, ozarr_mpi **out) {
    if (out != NULL) *out = NULL;
    ozarr_status status = check_communicator(comm);
    if (status != OZARR_OK) return status;
    ozarr_mpi made = {.comm = MPI_COMM_NULL, .round_bytes = 32 << 20, .message_bytes = 1 << 30, .range_bytes = 64 << 10};
    status = om_check("MPI_Comm_dup", MPI_Comm_dup(comm, &made.comm));
    if (status == OZARR_OK) status = om_check("MPI_Comm_set_errhandler", MPI_Comm_set_errhandler(made.comm, MPI_ERRORS_RETURN));
    if (status == OZARR_OK) status = om_check("MPI_Comm_rank", MPI_Comm_rank(made.comm, &made.rank));
    if (status == OZARR_OK) status = om_check("MPI_Comm_size", MPI_Comm_size(made.comm, &made.size));
    /* What this rank lacks is told to the others, which are in the call. */
    ozarr_mpi *m = out != NULL ? malloc(sizeof *m) : NULL;
    if (status == OZARR_OK && m == NULL)
        status = out == NULL ? om_error(OZARR_ERR_NULL, "out is NULL") : om_error(OZARR_ERR_NO_MEMORY, "an ozarr_mpi");
    if (made.comm != MPI_COMM_NULL) status = om_agree(&made, status, NULL);
    if (status != OZARR_OK) {
        if (made.comm != MPI_COMM_NULL) MPI_Comm_free(&made.comm);
        free(m);
        return status;
    }
    *m = made;
    status = spread_over_nodes(m);
    status = om_agree(m, status == OZARR_OK ? om_register(m) : status, NULL);
    if (status != OZARR_OK) destroy(m);
    else *out = m;
    return status;
}

/* A whole number from 1 to `most`. */
static ozarr_status whole_number(const char *key, const char *value, int64_t most, int64_t *number) {
    char *end = NULL;
    const long long found = strtoll(value, &end, 10);
    if (end == value || *end != 0 || found < 1 || found > most)
        return om_error(OZARR_ERR_ARGUMENT, "\"%s\" is \"%.100s\", expected 1 to %lld", key, value, (long long)most);
    *number = found;
    return OZARR_OK;
}

/* What is true or false. */
static ozarr_status truth(const char *key, const char *value, bool *on) {
    static const char *const values[] = {"0", "1", "false", "true", "off", "on"};
    for (int i = 0; i < 6; i++)
        if (strcmp(value, values[i]) == 0) {
            *on = i % 2 == 1;
            return OZARR_OK;
        }
    return om_error(OZARR_ERR_ARGUMENT, "\"%s\" is \"%.100s\", expected \"1\", \"true\", \"on\", \"0\", \"false\" or \"off\"", key, value);
}

ozarr_status ozarr_mpi_set(ozarr_mpi *m, const char *key, const char *value) {
    const ozarr_status status = om_valid(m, "ozarr_mpi");
    if (status != OZARR_OK) return status;
    if (key == NULL || value == NULL) return om_error(OZARR_ERR_NULL, "%s is NULL", key == NULL ? "key" : "value");
    if (strcmp(key, "aggregators") == 0) {
        if (strcmp(value, "auto") != 0) return whole_number(key, value, INT32_MAX, &m->aggregators);
        m->aggregators = 0;
        return OZARR_OK;
    }
    if (strcmp(key, "round_bytes") == 0) return whole_number(key, value, INT64_MAX, &m->round_bytes);
    if (strcmp(key, "message_bytes") == 0) return whole_number(key, value, 1 << 30, &m->message_bytes);
    if (strcmp(key, "range_bytes") == 0) return whole_number(key, value, INT64_MAX, &m->range_bytes);
    if (strcmp(key, "overlap") == 0) {
        if (strcmp(value, "refuse") != 0 && strcmp(value, "last") != 0)
            return om_error(OZARR_ERR_ARGUMENT, "\"overlap\" is \"%.100s\", expected \"refuse\" or \"last\"", value);
        m->last_wins = strcmp(value, "last") == 0;
        return OZARR_OK;
    }
    if (strcmp(key, "check_writes") == 0) {
        const bool before = m->check_writes;
        const ozarr_status set = truth(key, value, &m->check_writes);
        if (before && !m->check_writes) om_check_end(m);
        return set;
    }
    return om_error(OZARR_ERR_ARGUMENT, "there is no setting \"%.100s\", expected \"aggregators\", \"round_bytes\", \"message_bytes\", "
                    "\"range_bytes\", \"overlap\" or \"check_writes\"", key);
}

ozarr_status ozarr_mpi_rank(const ozarr_mpi *m, int *rank, int *size) {
    const ozarr_status status = om_valid(m, "ozarr_mpi");
    if (status != OZARR_OK) return status;
    if (rank != NULL) *rank = m->rank;
    if (size != NULL) *size = m->size;
    return OZARR_OK;
}

ozarr_status ozarr_mpi_close(ozarr_mpi *m) {
    ozarr_status status = om_valid(m, "ozarr_mpi");
    if (status == OZARR_OK && m->requests > 0)
        status = om_error(OZARR_ERR_STATE, "%lld requests were not waited for", (long long)m->requests);
    else if (status == OZARR_OK && m->series > 0)
        status = om_error(OZARR_ERR_STATE, "%lld series were not closed", (long long)m->series);
    char call[64];
    snprintf(call, sizeof call, "ozarr_mpi_close with %lld requests let go of", status == OZARR_OK ? (long long)m->let_go : 0);
    status = om_enter(m, status, NULL, call);
    if (status != OZARR_OK) return status;
    status = om_end_let_go(m);
    destroy(m);
    return status;
}
