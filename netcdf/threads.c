/* Runs one function on many variables, in several threads. */
#include "hierarchy.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* The variables that one thread takes at a time, the fewest for which another thread is worth its start, and the most threads: more of them
 * wait for the file system, which makes the folders of one group one after the other. */
enum { AT_A_TIME = 8, FEWEST = 32, MOST_THREADS = 8 };

typedef struct work {
    oz_var *const *vars;
    int count, next, status;
    int (*function)(oz_var *var, oz_templates *templates);
} work;

static void *run(void *argument) {
    work *w = argument;
    oz_templates templates = {0};
    for (;;) {
        int from = __atomic_fetch_add(&w->next, AT_A_TIME, __ATOMIC_RELAXED);
        if (from >= w->count) break;
        for (int i = from; i < from + AT_A_TIME && i < w->count; i++) {
            int expected = NC_NOERR, status = w->function(w->vars[i], &templates);
            if (status) __atomic_compare_exchange_n(&w->status, &expected, status, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        }
    }
    oz_templates_free(&templates);
    return NULL;
}

int oz_for_each(oz_var *const *vars, int count, int (*function)(oz_var *var, oz_templates *templates)) {
    work w = {vars, count, 0, NC_NOERR, function};
    pthread_t threads[MOST_THREADS];
    int wanted = count / FEWEST, most = oz_threads(), started = 0;
    if (wanted > most) wanted = most;
    if (wanted > MOST_THREADS) wanted = MOST_THREADS;
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
