/* Fails each allocation of the calls of a program that is linked with this, once and all from there on: a call says that there is no memory, or does
 * all, and the program goes on. The calls are in f_memory.f90 and cxx_memory.cpp. Each point is a process of its own.
 *
 *   PROGRAM                    every fifth point, others for each call and mode; every point where the environment has OZARR_DEEP
 *   PROGRAM CALL MODE POINT    one point, in this process; MODE is 0 for once, 1 for from there on */
#include <errno.h>
#include <ozarr.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

/* Of the program: how many calls there are, how call number n ends with memory, what it needs, the call, and what is wrong afterwards (0: nothing). */
extern int number_of_calls(void), outcome(int n), call(int n), look(int n, int status);
extern void prepare(int n);

enum { BEYOND = 77, WRONG = 78, OTHER_STATUS = 79, MOST_POINTS = 2000 };

static int armed, mode;
static long seen, point;

static int fails(void) {
    if (!armed) return 0;
    seen++;
    if (point == 0 || (seen != point && (mode == 0 || seen < point))) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return fails() ? NULL : __libc_realloc(p, size); }

/* Does a call with the present point failing, which is to end with `expected` or without memory. */
static int one(int n, int expected) {
    prepare(n);
    seen = 0;
    armed = 1;
    const int status = call(n);
    armed = 0;
    if (point == 0) return status == expected ? 0 : OTHER_STATUS;
    if (seen < point) return BEYOND;
    if (status != expected && status != OZARR_ERR_NO_MEMORY) {
        fprintf(stderr, "found the status %s, expected %s\n", ozarr_status_name(status), ozarr_status_name(expected));
        return OTHER_STATUS;
    }
    const int wrong = look(n, status);
    if (wrong != 0) fprintf(stderr, "found fault %d after %s\n", wrong, ozarr_status_name(status));
    return wrong != 0 ? WRONG : 0;
}

/* One point in a process of its own: what wait says of it. */
static int in_child(int n, int expected) {
    int state = -1;
    const pid_t child = fork();
    if (child == 0) _exit(one(n, expected));
    if (child < 0 || waitpid(child, &state, 0) != child) return -1;
    return state;
}

/* The first point of a call in a mode, and others `step` apart; how many are bad. */
static long sweep(int n, int expected, int step, long *points) {
    long bad = 0;
    for (point = mode; point < MOST_POINTS; point += point > mode ? step : 1 + (2 * n + mode) % step) {
        const int state = in_child(n, expected);
        if (WIFEXITED(state) && WEXITSTATUS(state) == BEYOND) return bad;
        ++*points;
        if (WIFEXITED(state) && WEXITSTATUS(state) == 0) continue;
        bad++;
        fprintf(stderr, "call %d, mode %d, point %ld: %s %d\n", n, mode, point, WIFSIGNALED(state) ? "signal" : "exit",
                WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
    }
    fprintf(stderr, "call %d, mode %d: more points than %d\n", n, mode, MOST_POINTS);
    return bad + 1;
}

int main(int argc, char **argv) {
    if (argc == 4) {
        const int n = atoi(argv[1]);
        mode = atoi(argv[2]), point = atol(argv[3]);
        return one(n, outcome(n));
    }
    long points = 0, bad = 0;
    const int step = getenv("OZARR_DEEP") ? 1 : 5;
    for (int n = 1; n <= number_of_calls(); n++)
        for (mode = 0; mode < 2; mode++) bad += sweep(n, outcome(n), step, &points);
    if (bad != 0) printf("%ld points in %d calls, %ld bad\n", points, number_of_calls(), bad);
    return bad != 0;
}
