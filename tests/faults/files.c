/* Fails the file calls of the library, one after the other, cuts transfers short and ends the process between and within them, and looks at
 * what is left; each with one thread and with four, where the n-th call is another one each time.
 *
 *   files FOLDER sample|all [judge] [WORKLOAD]      some points of each workload, or all
 *   files FOLDER one WORKLOAD MODE POINT ERROR      one point, with what it says, with OZARR_NUM_THREADS threads, else one; ERROR is the second
 *                                                   point where a process ends twice
 *   files FOLDER prepare WORKLOAD                   what is stored before a workload
 *   files FOLDER run WORKLOAD SYNC                  the workload by itself, between two calls of getppid, in a mode of "file.sync"
 *   files FOLDER look                               answers lines "FOLDER<tab>WORKLOAD<tab>NEW" by "ok" or what is wrong
 *
 * A call that fails: the status is OK, or an error that has the call's errno; what is stored is old or new; the same step on the same handle
 * then succeeds, and no descriptor is left open. A transfer that moves less: nothing fails. A process that ends: what is stored is old or new,
 * also where the one that does the workload again ends in the middle; done to its end it is as if nothing had been, without temporary files (where it
 * ended twice, after `ozarr_store_verify`).
 * With `judge` another program looks, too: a line "judge WORKLOAD NEW" on standard output, and its answer on standard input: "ok" or what is
 * wrong. Exit status 0: nothing was wrong. */
#define _GNU_SOURCE
#include "calls.h"
#include "workloads.h"
#include <dirent.h>
#include <ftw.h>
#include <ozarr_formats.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static const char *const MODE[] = {"count", "fail", "fail from", "half", "few", "kill", "kill within", "kill twice"};

typedef struct tally {
    long points, ok, told, killed, judged, wrong;
} tally;

static tally now, *shared;
static int judges;

/* What failed while it was made durable may be lost: later flushes say so, too. */
void disarm(void) {
    calls_disarm();
    if (calls.hit && (calls.kind == SYNC || calls.kind == CLOSE)) sticky = 1;
}

/* Opens an archive whose writer died, or could not write its list of keys, as its user does: after a repair. */
static void repair(void) {
    int64_t keys, lost;
    ozarr_store *store = NULL;
    if (strstr(current->location, ".zip") == NULL || access("array.zip", F_OK)) return;
    ozarr_status status = ozarr_store_open("array.zip", "r", &store);
    ozarr_store_free(store);
    if (status == OZARR_ERR_TRUNCATED) SURE(ozarr_zip_repair("array.zip", &keys, &lost));
}

static void judge(int all_new) {
    char answer[512];
    if (!judges || trouble[0]) return;
    shared->judged++;
    printf("judge %s %d\n", current->name, all_new);
    fflush(stdout);
    if (fgets(answer, sizeof answer, stdin) == NULL) wrong("the judge is gone");
    else if (strcmp(answer, "ok\n")) wrong("judge: %.*s", (int)strcspn(answer, "\n"), answer);
}

void look(int all_new) {
    /* What succeeded needs none. */
    if (first_failure != OZARR_OK || calls.mode >= KILL_BEFORE) repair();
    current->check(all_new);
    judge(all_new);
}

static void problem(const char *text) {
    now.wrong++;
    fprintf(stderr, "%s, %s %ld %s %s: %s: %s\n", current->name, MODE[calls.mode], calls.point, CALL[calls.kind], calls.hit ? strerror(calls.injected) : "", text,
            trouble[0] ? trouble : first_text);
}

static void begin(const workload *w) {
    current = w;
    trouble[0] = first_text[0] = 0;
    first_failure = OZARR_OK;
    retried = sticky = 0;
}

static void prepare(const workload *w) {
    begin(w);
    w->prepare();
    if (trouble[0]) problem("prepare");
}

/* Whether a status says what a failed call says, and no more. */
static int is_told(ozarr_status status) {
    if (status == OZARR_ERR_IO || status == OZARR_ERR_NO_SPACE || status == OZARR_ERR_PERMISSION || status == OZARR_ERR_READ_ONLY ||
        status == OZARR_ERR_TOO_MANY_FILES || status == OZARR_ERR_NO_MEMORY)
        return first_errno == calls.injected;
    return status == OZARR_ERR_CONFLICT && calls.kind == LOCK;
}

/* The descriptors that are open. */
static int descriptors(void) {
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) n++;
    if (folder) closedir(folder);
    return n;
}

static int open_before;

static void count_descriptors(void) {
    int open_now = descriptors();
    /* A thread of the library may still have those of the last request in its hands. */
    if (open_now > open_before && ozarr_shutdown() == OZARR_OK) open_now = descriptors();
    if (trouble[0] == 0 && open_now > open_before) wrong("%d descriptors are open, %d before", open_now, open_before);
    open_before = open_now;
}

/* Runs a workload in which one call fails or moves less; false if there is no such call. */
static int failing_point(const workload *w, call_mode mode, long point, int error, size_t most) {
    prepare(w);
    begin(w);
    calls_arm(mode, point, error, most);
    w->run();
    calls_disarm();
    int reached = atomic_load(&calls.seen) >= point;
    if (!calls.hit) return reached;
    now.points++;
    if (first_failure == OZARR_OK) now.ok++;
    else if (mode < SHORT_ONCE && is_told(first_failure)) now.told++;
    else problem(ozarr_status_name(first_failure));
    if (trouble[0] == 0) look(first_failure == OZARR_OK || (retried && !sticky));
    count_descriptors();
    if (trouble[0]) problem("wrong");
    return reached;
}

static int temporary(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind;
    if (strncmp(path + at->base, ".ozarr-", 7) == 0) wrong("%s is left", path);
    return 0;
}

static int remove_temporary(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return strstr(path, "/.ozarr-") ? remove(path) : 0;
}

static ozarr_status fault(void *user, ozarr_fault_kind kind, const char *key, const char *message, int64_t bytes, bool repaired) {
    (void)user, (void)bytes;
    /* What a call is to go on with stays. */
    if (!repaired && kind != OZARR_FAULT_KIND_TEMPORARY) wrong("%s: %s", key, message);
    return OZARR_OK;
}

/* Removes temporary files from folders in which nothing was written again, as a user does: the stores have no fault then. */
static void remove_left(void) {
    DIR *here = opendir(".");
    for (struct dirent *entry; here && (entry = readdir(here)) != NULL;) {
        ozarr_verified verified = OZARR_VERIFIED_INIT;
        ozarr_store *store = NULL;
        if (strstr(entry->d_name, ".zarr") == NULL || trouble[0]) continue;
        SURE(ozarr_store_open(entry->d_name, "r+", &store));
        SURE(ozarr_store_verify(store, "", OZARR_VERIFY_REPAIR, fault, NULL, NULL, &verified));
        SURE(ozarr_store_close(store));
    }
    if (here) closedir(here);
}

/* Runs a workload in a process of its own that is to end at a point: 2: it did; 1: there is such a point, but it was not reached; 0: there is none. */
static int ends_at(const workload *w, call_mode mode, long point) {
    begin(w);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        calls_arm(mode, point, 0, 0);
        w->run();
        calls_disarm();
        _exit(atomic_load(&calls.seen) >= point ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) < 2) return WEXITSTATUS(status);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 9) problem("ended by itself");
    return 2;
}

/* Ends a workload at a point, and where `second` is not 0 the process that does it again at that one; false if there is no such point. */
static int killing_point(const workload *w, call_mode mode, long point, long second) {
    prepare(w);
    call_mode how = mode == KILL_TWICE ? KILL_BEFORE : mode;
    int reached = ends_at(w, how, point);
    if (reached < 2) return reached;
    calls.mode = mode, calls.point = point;
    calls.hit = 0;
    now.points++, now.killed++;
    if (second) repair();
    if (second && ends_at(w, how, second) == 2) now.killed++;
    look(0);
    if (trouble[0] == 0) w->run();
    if (first_failure != OZARR_OK) problem("done again");
    if (trouble[0] == 0) w->check(1);
    if (second) remove_left();
    if (trouble[0] == 0) nftw(".", temporary, 16, FTW_PHYS);
    if (trouble[0]) problem("wrong");
    return 1;
}

/* The calls of a workload that have a point in a mode. */
static long count_of(const workload *w, call_mode mode) {
    prepare(w);
    begin(w);
    calls_arm(mode, 0, 0, 0);
    w->run();
    calls_disarm();
    if (first_failure != OZARR_OK || trouble[0]) problem("undisturbed");
    return atomic_load(&calls.seen);
}

/* The points of one mode, all or about `most`; each kind of call has several errors, of which a sample with threads takes one. */
static void sweep(const workload *w, call_mode mode, long most, int threads) {
    int errors = most && threads > 1 ? 1 : mode == FAIL_ONCE ? MOST_ERRNOS : mode == FAIL_FROM ? 2 : mode == KILL_TWICE && !most ? 6 : 1;
    long count = count_of(w, mode), step = most && count > most ? count / most : 1;
    /* What the n-th call is: with one thread it is the same each time, and has no errors behind the last of its list. */
    unsigned char *kinds = step == 1 && threads == 1 && mode == FAIL_ONCE ? calloc(1, (size_t)count + 1) : NULL;
    for (int error = 0; error < errors; error++) {
        long point = 1 + (w->seed + error * 7 + mode) % step, going = 1;
        for (; going && point <= 4 * count; point += step) {
            if (kinds && error && point <= count && ERRNOS[kinds[point]][error] == 0) continue;
            alarm(60);
            long second = mode == KILL_TWICE ? 1 + (point * 7919 + error * 104729) % count : 0;
            going = mode >= KILL_BEFORE ? killing_point(w, mode, point, second) : failing_point(w, mode, point, error, mode == SHORT_ONCE && error ? 1 : 0);
            if (kinds && !error && point <= count) kinds[point] = (unsigned char)calls.kind;
        }
    }
    free(kinds);
}

static void workload_points(const workload *w, int threads, long most) {
    if (ozarr_context_set(NULL, "threads", threads == 1 ? "1" : "4")) now.wrong++;
    count_of(w, COUNT);
    open_before = descriptors();
    static const size_t FEW[] = {1, 7, 1000, 4096};
    for (int mode = FAIL_ONCE; mode < CALL_MODES; mode++) {
        /* What this process could not remove is left to others, and would be looked for behind each end of another process. */
        if (mode == KILL_BEFORE) nftw(".", remove_temporary, 16, FTW_DEPTH | FTW_PHYS);
        if (mode == SHORT_ALL)
            /* A byte at a time takes long. */
            for (int i = !most ? 0 : threads > 1 ? 3 : 2; i < 4; i++) alarm(200), failing_point(w, SHORT_ALL, 1, 0, FEW[i]);
        else sweep(w, mode, most, threads);
    }
}

static void print(const char *name, const tally *t) {
    printf("%-16s %6ld points: %6ld OK, %6ld told, %5ld killed, %5ld judged, %ld wrong\n", name, t->points, t->ok, t->told, t->killed, t->judged, t->wrong);
    fflush(stdout);
}

static int one(char **argv) {
    const workload *w = find_workload(argv[0]);
    int mode = 0;
    while (mode < CALL_MODES - 1 && strcmp(MODE[mode], argv[1])) mode++;
    if (w == NULL) return 2;
    if (mode >= KILL_BEFORE) killing_point(w, mode, atol(argv[2]), atol(argv[3]));
    else failing_point(w, mode, atol(argv[2]), atoi(argv[3]), mode == SHORT_ALL ? (size_t)atol(argv[3]) : 0);
    printf("%s: %s %s: %s\n", calls.hit ? "reached" : "not reached", CALL[calls.kind], strerror(calls.injected), first_text);
    print(w->name, &now);
    return now.wrong > 0;
}

static int undisturbed(const workload *w, const char *sync) {
    if (w == NULL || ozarr_context_set(NULL, "file.sync", sync)) return 2;
    begin(w);
    getppid();
    w->run();
    getppid();
    if (first_failure != OZARR_OK || trouble[0]) problem("undisturbed");
    return now.wrong > 0;
}

static int answer_lines(void) {
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        char *folder = strtok(line, "\t"), *name = strtok(NULL, "\t"), *all_new = strtok(NULL, "\n");
        if (all_new == NULL || find_workload(name) == NULL || chdir(folder)) return 2;
        begin(find_workload(name));
        repair();
        if (trouble[0] == 0) current->check(atoi(all_new));
        printf("%s\n", trouble[0] ? trouble : "ok");
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3 || chdir(argv[1])) return fprintf(stderr, "usage: files FOLDER sample|all|one …\n"), 2;
    setenv("OZARR_NUM_THREADS", "1", 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc == 7 && strcmp(argv[2], "one") == 0) return one(argv + 3);
    if (argc == 5 && strcmp(argv[2], "run") == 0) return undisturbed(find_workload(argv[3]), argv[4]);
    if (argc == 4 && strcmp(argv[2], "prepare") == 0 && find_workload(argv[3])) return prepare(find_workload(argv[3])), now.wrong > 0;
    if (strcmp(argv[2], "look") == 0) return answer_lines();
    long most = strcmp(argv[2], "all") == 0 ? 0 : 2, left_out = 0;
    judges = argc > 3 && strcmp(argv[3], "judge") == 0;
    tally all = {0};
    for (const workload *w = workloads; w->name; w++) {
        int is_named = argc > 3 + judges;
        if (is_named && strcmp(argv[3 + judges], w->name) != 0) continue;
        /* What is done with files is the same whatever the codec: a sample has each third. */
        if (most && !is_named && !w->shards && w->seed % 3 && (strncmp(w->name, "write ", 6) == 0 || strncmp(w->name, "read ", 5) == 0)) {
            left_out++;
            continue;
        }
        memset(&now, 0, sizeof now), memset(shared, 0, sizeof *shared);
        workload_points(w, 1, most);
        workload_points(w, 4, most / 2);
        now.judged = shared->judged;
        print(w->name, &now);
        all.points += now.points, all.ok += now.ok, all.told += now.told, all.killed += now.killed, all.judged += now.judged, all.wrong += now.wrong;
    }
    if (left_out) printf("left out: %ld workloads with other codecs\n", left_out);
    print("all", &all);
    return all.points == 0 || all.wrong > 0;
}
