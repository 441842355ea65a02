/* Two processes change parts of one chunk at the same time, 200 times each: nothing is lost.
 *
 *   two_processes STORE
 *
 * Process p writes the elements 2 i + p, one call for each; all lie in one compressed chunk. */
#define _POSIX_C_SOURCE 200809L
#include <ozarr.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES 200

static void check(ozarr_status s, const char *what) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "two_processes: %s: %s (%s)\n", what, ozarr_last_error(), ozarr_status_name(s));
    exit(1);
}

static int writer(const char *path, int64_t p) {
    ozarr_store *store = NULL;
    ozarr_array *a = NULL;
    check(ozarr_store_open(path, "r+", &store), "store");
    check(ozarr_array_open_at(store, "a", &a), "array");
    for (int64_t i = 0; i < TIMES; i++) {
        int64_t at = 2 * i + p, one = 1, value = 1000 + at;
        check(ozarr_array_write_region(a, &at, &one, OZARR_INT64, &value, sizeof value), "writing");
    }
    check(ozarr_array_close(a), "array");
    check(ozarr_store_close(store), "store");
    return 0;
}

int main(int argc, char **argv) {
    int64_t shape = 2 * TIMES, v[2 * TIMES];
    ozarr_store *store = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    pid_t child[2];
    int status, lost = 0;
    if (argc != 2) return fprintf(stderr, "usage: two_processes STORE\n"), 2;
    check(ozarr_store_open(argv[1], "r+", &store), "store");
    check(ozarr_spec_new(OZARR_INT64, 1, &shape, &spec), "spec");
    check(ozarr_spec_set_chunks(spec, &shape), "chunks");
    check(ozarr_array_create_at(store, "a", spec, OZARR_CREATE_NEW, &a), "array");
    ozarr_spec_free(spec);
    check(ozarr_array_close(a), "array");
    for (int p = 0; p < 2; p++) {
        if ((child[p] = fork()) < 0) return perror("fork"), 1;
        if (!child[p]) _exit(writer(argv[1], p));
    }
    for (int p = 0; p < 2; p++)
        if (waitpid(child[p], &status, 0) < 0 || status) return fprintf(stderr, "two_processes: process %d failed\n", p), 1;
    check(ozarr_array_open_at(store, "a", &a), "array");
    check(ozarr_array_read(a, OZARR_INT64, v, sizeof v), "reading");
    for (int i = 0; i < 2 * TIMES; i++) lost += v[i] != 1000 + i;
    check(ozarr_array_close(a), "array");
    check(ozarr_store_close(store), "store");
    if (lost) return fprintf(stderr, "two_processes: %d of %d elements are lost\n", lost, 2 * TIMES), 1;
    printf("two processes, %d partial writes each of one chunk: nothing lost\n", TIMES);
    return 0;
}
