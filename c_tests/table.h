/* A tiny test helper: checks that say where and what, counted; a program of tests ends with `return finish();`.
 * Nothing is printed unless a check fails. */
#ifndef TABLE_H
#define TABLE_H

#include <ozarr.h>
#include <ozarr_advanced.h>
#include <ozarr_formats.h>
#include <ozarr_extend.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define FAIL(...) (failures++, fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr))

/* A condition holds. */
#define CHECK(condition) ((condition) ? (void)0 : (void)FAIL("not so: %s", #condition))

/* Two integers are equal. */
#define EQUAL(found, expected) check_equal(__LINE__, #found, (int64_t)(found), (int64_t)(expected))

/* Two texts are equal. */
#define TEXT(found, expected) check_text(__LINE__, #found, (found), (expected))

/* A call succeeds. */
#define OK(call) check_status(__LINE__, #call, (call), OZARR_OK, "", "")

/* A call fails with that status. */
#define ERR(expected, call) check_status(__LINE__, #call, (call), (expected), "", "")

/* A call fails with that status, and a message that contains two words ("" for none). */
#define ERR_SAYS(expected, word1, word2, call) check_status(__LINE__, #call, (call), (expected), (word1), (word2))

static inline int check_equal(int line, const char *what, int64_t found, int64_t expected) {
    if (found == expected) return 1;
    failures++;
    fprintf(stderr, "line %d: %s is %" PRId64 ", expected %" PRId64 "\n", line, what, found, expected);
    return 0;
}

static inline int check_text(int line, const char *what, const char *found, const char *expected) {
    if (strcmp(found, expected) == 0) return 1;
    failures++;
    fprintf(stderr, "line %d: %s is \"%s\", expected \"%s\"\n", line, what, found, expected);
    return 0;
}

static inline int check_status(int line, const char *what, ozarr_status found, ozarr_status expected, const char *word1, const char *word2) {
    if (found != expected) {
        failures++;
        fprintf(stderr, "line %d: %s gave %s, expected %s; the last error is: %s\n", line, what, ozarr_status_name(found),
                ozarr_status_name(expected), ozarr_last_error());
        return 0;
    }
    if (expected != OZARR_OK && (strstr(ozarr_last_error(), word1) == NULL || strstr(ozarr_last_error(), word2) == NULL)) {
        failures++;
        fprintf(stderr, "line %d: the message of %s lacks \"%s\" or \"%s\": %s\n", line, what, word1, word2, ozarr_last_error());
        return 0;
    }
    return 1;
}

/* Contiguous memory, until the next call. */
static inline const ozarr_memory *dense(ozarr_type type, const void *data, size_t size) {
    static ozarr_memory memory;
    ozarr_memory_init(&memory);
    memory.data = (void *)(uintptr_t)data, memory.size = size, memory.type = type;
    return &memory;
}

static inline int finish(void) {
    if (failures > 0) fprintf(stderr, "%d checks failed\n", failures);
    return failures > 0;
}

/* The whole content of a file, to be freed; *size may be NULL. NULL if there is none. */
static inline char *file_content(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) return NULL;
    size_t room = 1 << 16, n = 0, got;
    char *content = (char *)malloc(room + 1);
    while ((got = fread(content + n, 1, room - n, f)) > 0) {
        n += got;
        if (n == room) content = (char *)realloc(content, (room *= 2) + 1);
    }
    fclose(f);
    content[n] = 0;
    if (size != NULL) *size = n;
    return content;
}

/* Makes a file hold these bytes. */
static inline void put_file(const char *path, const void *content, size_t size) {
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(content, 1, size, f) != size || fclose(f) != 0) {
        FAIL("cannot write %s", path);
        exit(2);
    }
}

#endif
