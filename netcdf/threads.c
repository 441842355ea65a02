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

/* Whether each request to the store of these variables takes its time. */
static bool is_remote(oz_var *const *vars, int count) {
    uint32_t can = 0;
    return count > 1 && !ozarr_store_capabilities(vars[0]->group->file->store, &can) && (can & OZARR_STORE_IS_REMOTE);
}

int oz_for_each(oz_var *const *vars, int count, int (*function)(oz_var *var, oz_templates *templates)) {
    const bool remote = is_remote(vars, count);
    work w = {vars, count, 0, remote ? 1 : AT_A_TIME, NC_NOERR, function};
    pthread_t threads[MOST_WAITING];
    int wanted = remote ? count : count / FEWEST, most = remote ? MOST_WAITING : oz_threads(), started = 0;
    if (wanted > most) wanted = most;
    if (!remote && wanted > MOST_THREADS) wanted = MOST_THREADS;
    if (wanted > 1) {
        /* The program's signals are for its own threads. */
        sigset_t all, before;
        sigfillset(&all);
        bool blocked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
        while (started < wanted - 1 && pthread_create(&threads[started], NULL, run, &w) == 0) started++;
        if (blocked) pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    run(&w);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    return w.status;
}

int oz_together(oz_var *const *vars, int count, int (*function)(oz_var *var, oz_templates *templates)) {
    int first = NC_NOERR;
    if (is_remote(vars, count)) return oz_for_each(vars, count, function);
    for (int i = 0; i < count; i++) {
        int status = function(vars[i], NULL);
        if (!first) first = status;
    }
    return first;
}
