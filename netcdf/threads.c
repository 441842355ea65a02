/* Runs one function on many variables, in several threads. */
#include "hierarchy.h"

#include <ozarr_advanced.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* The variables that one thread takes at a time, the fewest for which another thread is worth its start, and the most threads: more of them
 * wait for the file system, which makes the folders of one group one after the other. Where each request takes its time, threads wait for one
 * variable each, and this many at most. */
enum { AT_A_TIME = 8, FEWEST = 32, MOST_THREADS = 8, MOST_WAITING = 32 };

typedef struct work {
    oz_var *const *vars;
    int count, next, at_a_time, status;
    int (*function)(oz_var *var, oz_templates *templates);
} work;

static void *run(void *argument) {
    work *w = argument;
    oz_templates templates = {0};
    for (;;) {
        int from = __atomic_fetch_add(&w->next, w->at_a_time, __ATOMIC_RELAXED);
        if (from >= w->count) break;
        for (int i = from; i < from + w->at_a_time && i < w->count; i++) {
            int expected = NC_NOERR, status = w->function(w->vars[i], &templates);
            if (status) __atomic_compare_exchange_n(&w->status, &expected, status, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        }
    }
    oz_templates_free(&templates);
    return NULL;
}

/* Runs a function in so many threads, this one among them. */
static void in_threads(int wanted, void *(*function)(void *work), void *work) {
    pthread_t threads[MOST_WAITING];
    int started = 0;
    if (wanted > 1) {
        /* The program's signals are for its own threads. */
        sigset_t all, before;
        sigfillset(&all);
        bool blocked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
        while (started < wanted - 1 && pthread_create(&threads[started], NULL, function, work) == 0) started++;
        if (blocked) pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    function(work);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

bool oz_is_remote(const oz_file *file) {
    uint32_t can = 0;
    return !ozarr_store_capabilities(file->store, &can) && (can & OZARR_STORE_IS_REMOTE);
}

/* Whether several requests to the store of a file are to be under way at the same time. */
static bool is_remote(const oz_file *file, int count) { return count > 1 && oz_is_remote(file); }

static int least(int a, int b) { return a < b ? a : b; }

int oz_for_each(oz_var *const *vars, int count, int (*function)(oz_var *var, oz_templates *templates)) {
    const bool remote = count && is_remote(vars[0]->group->file, count);
    work w = {vars, count, 0, remote ? 1 : AT_A_TIME, NC_NOERR, function};
    in_threads(remote ? least(count, MOST_WAITING) : least(count / FEWEST, least(oz_threads(), MOST_THREADS)), run, &w);
    return w.status;
}

int oz_together(oz_var *const *vars, int count, int (*function)(oz_var *var, oz_templates *templates)) {
    int first = NC_NOERR;
    if (count && is_remote(vars[0]->group->file, count)) return oz_for_each(vars, count, function);
    for (int i = 0; i < count; i++) {
        int status = function(vars[i], NULL);
        if (!first) first = status;
    }
    return first;
}

/* What is called with each number below a count. */
typedef struct turns {
    int (*function)(void *user, int turn);
    void *user;
    int count, next, status;
} turns;

static void *take_turns(void *argument) {
    turns *t = argument;
    while (!__atomic_load_n(&t->status, __ATOMIC_RELAXED)) {
        int turn = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED);
        if (turn >= t->count) break;
        int expected = NC_NOERR, status = t->function(t->user, turn);
        if (status) __atomic_compare_exchange_n(&t->status, &expected, status, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    return NULL;
}

int oz_at_once(const oz_file *file, int count, int (*function)(void *user, int turn), void *user) {
    turns t = {function, user, count, 0, NC_NOERR};
    in_threads(is_remote(file, count) ? least(count, MOST_WAITING) : 1, take_turns, &t);
    return t.status;
}
