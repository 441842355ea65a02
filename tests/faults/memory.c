/* Fails allocations of the library's calls, one after the other, and looks at what is left: the process is alive, the status is OK or
 * OZARR_ERR_NO_MEMORY, what is stored is whole, the same handle works when memory is back, and nothing leaks.
 *
 *   memory FOLDER sample            some points of each workload
 *   memory FOLDER all               every point: some minutes
 *   memory FOLDER all WORKLOAD      every point of one workload
 *   memory FOLDER one WORKLOAD MODE THREADS POINT      one point, in this process, with the stack of an abort ("http WORKLOAD": by HTTP)
 *
 * Where tests/cloud/servers.py has started servers, some of the workloads are done on S3, and others read by HTTP: at most 60 points of each kind.
 *
 * A point is a number n and a mode: the n-th allocation of a workload fails once, or all from the n-th on, or all of 32 KiB or more from the
 * n-th of these on. "cold" points are in a process that has not used the library before. */
#define _GNU_SOURCE
#include "allocations.h"
#include "workloads.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLACK = 8 };

/* What became of the points of one kind, shared by the processes. */
typedef struct tally {
    long at, points, ok, told, other, wrong, crashes, leaks;
} tally;

static tally *now;
static int verbose;

static void problem(const workload *w, const char *text) {
    fprintf(stderr, "%s, %s %ld: %s: %s\n", w->name, MODE[mode], point, text, trouble[0] ? trouble : ozarr_last_error());
}

static void prepare(const workload *w) {
    current = w;
    trouble[0] = 0;
    first_failure = OZARR_OK;
    w->prepare();
    if (trouble[0]) problem(w, "prepare");
}

/* Runs a workload with the present point failing; whether the point was reached. */
static int run_point(const workload *w) {
    current = w;
    trouble[0] = 0;
    first_failure = OZARR_OK;
    atomic_store(&seen, 0);
    atomic_store(&armed, 1);
    w->run();
    atomic_store(&armed, 0);
    long reached = atomic_load(&seen);
    if (trouble[0] == 0) w->check(first_failure == OZARR_OK || retried);
    if (trouble[0]) now->wrong++, problem(w, "wrong");
    if (point < 0 || reached < point) return 0;
    now->points++;
    if (first_failure == OZARR_OK) now->ok++;
    else if (first_failure == OZARR_ERR_NO_MEMORY) now->told++;
    else now->other++, fprintf(stderr, "%s, %s %ld: %s: %s\n", w->name, MODE[mode], point, ozarr_status_name(first_failure), first_text);
    return 1;
}

void disarm(void) { atomic_store(&armed, 0); }
void look(int all_new) { current->check(all_new); }

/* The number of allocations of a workload that does not fail. */
static long count_of(const workload *w) {
    point = -1;
    run_point(w);
    return atomic_load(&seen);
}

/* Ends the library's threads; those of the network end by themselves, a little later. */
static void rest(const workload *w) {
    if (ozarr_shutdown()) problem(w, "shutdown");
    for (int tries = 0, threads = 2; threads > 1 && tries < 30000; tries++) {
        DIR *folder = opendir("/proc/self/task");
        for (threads = -2; folder && readdir(folder);) threads++;
        if (folder) closedir(folder);
        if (threads > 1) nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* The points from now->at on, `step` apart, in a process that has used the library before. */
static void warm_points(const workload *w, long step) {
    long flat;
    prepare(w);
    for (int i = 0; i < 3; i++) count_of(w);
    rest(w);
    flat = atomic_load(&live);
    for (;; now->at += step) {
        point = now->at;
        prepare(w);
        alarm(60);
        if (!run_point(w)) return;
        point = -1;
        count_of(w);
        rest(w);
        long left = atomic_load(&live);
        point = now->at;
        /* What the library keeps may grow once: what leaks goes on. */
        if (left > flat + SLACK) {
            now->leaks++;
            fprintf(stderr, "%s, %s %ld: %ld blocks more than before\n", w->name, MODE[mode], point, left - flat);
            flat = left;
        }
    }
}

/* Calls `work` in a process of its own; its wait status. */
static int apart(void (*work)(const workload *, long), const workload *w, long step) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int null = verbose ? 2 : open("/dev/null", O_WRONLY);
        if (null >= 0 && !verbose) dup2(null, 1);
        alarm(60);
        work(w, step);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

static void only_prepare(const workload *w, long step) { (void)step, prepare(w); }
static void only_count(const workload *w, long step) { (void)step, now->at = count_of(w); }
static void cold_point(const workload *w, long step) { (void)step, now->at = run_point(w); }

static void crashed(const workload *w, int status, const char *kind) {
    now->crashes++;
    now->points++;
    fprintf(stderr, "%s, %s %s %ld: ended by signal %d\n", w->name, kind, MODE[mode], point, WTERMSIG(status));
}

/* The step that leaves at most `most` of `count` points. */
static long step_of(long count, long most) { return most <= 0 || count <= most ? 1 : (count + most - 1) / most; }

static void sweep_warm(const workload *w, long most) {
    point = -1;
    apart(only_prepare, w, 0);
    apart(only_count, w, 0);
    long step = step_of(now->at, most);
    now->at = 1 + (w->seed % step);
    for (int status; (status = apart(warm_points, w, step)) != 0; now->at += step) {
        point = now->at;
        crashed(w, status, "warm");
    }
}

static void sweep_cold(const workload *w, long most) {
    point = -1;
    apart(only_prepare, w, 0);
    apart(only_count, w, 0);
    long count = now->at, step = step_of(count, most);
    for (long n = 1 + (w->seed % step); n <= count; n += step) {
        point = -1;
        apart(only_prepare, w, 0);
        point = n;
        int status = apart(cold_point, w, 0);
        if (status) crashed(w, status, "cold");
    }
}

static void add(tally *all, const tally *one) {
    all->points += one->points, all->ok += one->ok, all->told += one->told, all->other += one->other;
    all->wrong += one->wrong, all->crashes += one->crashes, all->leaks += one->leaks;
}

static void print(const char *name, const tally *t) {
    printf("%-16s %6ld points: %6ld OK, %6ld NO_MEMORY, %ld others, %ld wrong, %ld crashes, %ld leaks\n", name, t->points, t->ok, t->told, t->other,
           t->wrong, t->crashes, t->leaks);
    fflush(stdout);
}

/* Prints the stack of an abort: offsets for addr2line. */
static void stack(int signal) {
    void *frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), 2);
    _exit(128 + signal);
}

/* The stores of tests/cloud/servers.py. */
static void use_s3(void) {
    setenv("AWS_ENDPOINT_URL", getenv("OZARR_TEST_S3"), 1);
    setenv("AWS_ACCESS_KEY_ID", "planted-id", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "planted-secret", 1);
    setenv("AWS_REGION", "us-east-1", 1);
    snprintf(root, sizeof root, "s3://bucket/memory/");
    snprintf(read_root, sizeof read_root, "%s", root);
}

static void use_http(void) {
    snprintf(root, sizeof root, "%s/", getenv("OZARR_TEST_HTTP_ROOT"));
    snprintf(read_root, sizeof read_root, "%s/", getenv("OZARR_TEST_HTTP"));
}

static int one(char **argv) {
    int is_http = strncmp(argv[0], "http ", 5) == 0;
    const workload *w = find_workload(argv[0] + 5 * is_http);
    void *warm[4];
    if (w == NULL) return 2;
    if (is_http) use_http();
    for (mode = 0; mode < LARGE && strcmp(MODE[mode], argv[1]); mode++) {}
    setenv("OZARR_NUM_THREADS", argv[2], 1);
    point = -1;
    verbose = 1;
    backtrace(warm, 4);
    apart(only_prepare, w, 0);
    signal(SIGABRT, stack);
    signal(SIGSEGV, stack);
    point = atol(argv[3]);
    printf("%s\n", run_point(w) ? "reached" : "not reached");
    print(w->name, now);
    return 0;
}

/* What object stores can hold, of every kind of call once. */
static const char *const ON_S3[] = {"create", "write zstd", "read zstd", "update", "update shards", "request", "attributes", "list", "consolidate", "verify", "series", "checkpoint", "append", "run", NULL};
static const char *const BY_HTTP[] = {"read zstd", "read none", "read shards", NULL};

static int is_one_of(const char *name, const char *const *names) {
    while (names && *names && strcmp(*names, name)) names++;
    return names == NULL || *names != NULL;
}

/* Sweeps over those of the workloads that are in `names` (NULL: all), or over the one that the caller wants. */
static void sweep(const char *where, const char *const *names, const char *only, int is_sample, tally *all) {
    /* A server takes its time. */
    long warm = is_sample ? 4 : names ? 60 : 0, cold = is_sample ? 2 : names ? 20 : 60;
    for (const workload *w = workloads; w->name; w++) {
        char name[64];
        if (!is_one_of(w->name, names) || (only && strcmp(only, w->name) != 0)) continue;
        tally mine = {0};
        for (int threads = 1; threads <= 4; threads += 3) {
            setenv("OZARR_NUM_THREADS", threads == 1 ? "1" : "4", 1);
            for (mode = 0; mode < MODES; mode++) {
                memset(now, 0, sizeof *now);
                sweep_warm(w, warm);
                if (threads == 1) sweep_cold(w, cold);
                add(&mine, now);
            }
        }
        snprintf(name, sizeof name, "%s%s", where, w->name);
        print(name, &mine);
        add(all, &mine);
    }
}

int main(int argc, char **argv) {
    if (argc < 3 || chdir(argv[1])) return fprintf(stderr, "usage: memory FOLDER sample|all|one …\n"), 2;
    find_pthread_create();
    now = mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const char *only = argc > 3 ? argv[3] : NULL;
    int is_sample = strcmp(argv[2], "all") != 0, is_remote = getenv("OZARR_TEST_S3") != NULL;
    if (is_remote) use_s3();
    if (argc == 7 && strcmp(argv[2], "one") == 0) return one(argv + 3);
    tally all = {0};
    sweep(is_remote ? "s3 " : "", is_remote ? ON_S3 : NULL, only, is_sample, &all);
    if (is_remote) use_http(), sweep("http ", BY_HTTP, only, is_sample, &all);
    print("all", &all);
    return all.points == 0 || all.other + all.wrong + all.crashes + all.leaks > 0;
}
