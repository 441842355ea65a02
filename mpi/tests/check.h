/* Checks for programs that run on several ranks: what fails is printed with the rank, and the program ends with the number of failures. */
#ifndef OZARR_MPI_CHECK_H
#define OZARR_MPI_CHECK_H

#include "../../c_tests/random.h"
#include <ozarr_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, failures;

#define FAIL(...) (failures++, fprintf(stderr, "rank %d, line %d: ", rank, __LINE__), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr))
#define CHECK(condition) ((condition) ? (void)0 : (void)FAIL("not so: %s", #condition))
#define OK(call) check_status(__LINE__, #call, (call), OZARR_OK, "")
/* A call fails with that status on all ranks, with the same message, which has the word. */
#define ERR(expected, word, call) check_status(__LINE__, #call, (call), (expected), (word))

/* Whether all ranks have the same text. */
static inline int same_everywhere(const char *text) {
    char first[2048] = "", equal;
    snprintf(first, sizeof first, "%s", text);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
    equal = strncmp(first, text, sizeof first - 1) == 0;
    MPI_Allreduce(MPI_IN_PLACE, &equal, 1, MPI_CHAR, MPI_MIN, MPI_COMM_WORLD);
    return equal;
}

static inline int check_status(int line, const char *what, ozarr_status found, ozarr_status expected, const char *word) {
    if (found != expected) {
        failures++;
        fprintf(stderr, "rank %d, line %d: %s gave %s, expected %s; the last error is: %s\n", rank, line, what, ozarr_status_name(found),
                ozarr_status_name(expected), ozarr_last_error());
        return 0;
    }
    if (expected == OZARR_OK) return 1;
    if (strstr(ozarr_last_error(), word) == NULL) {
        failures++;
        fprintf(stderr, "rank %d, line %d: the message of %s lacks \"%s\": %s\n", rank, line, what, word, ozarr_last_error());
    }
    if (!same_everywhere(ozarr_last_error())) {
        failures++;
        fprintf(stderr, "rank %d, line %d: the ranks have different messages of %s: %s\n", rank, line, what, ozarr_last_error());
    }
    return 1;
}

/* Begins a collective write of a box of int32_t, `size` bytes in a row, that does not wait. */
static inline ozarr_status begin_write(ozarr_mpi *m, ozarr_array *a, const int64_t *start, const int64_t *count, int32_t *u, size_t size,
                                       ozarr_mpi_request **out) {
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start, region.shape = count;
    memory.data = u, memory.size = size, memory.type = OZARR_INT32;
    return ozarr_mpi_array_iwrite_all(m, a, 1, &region, &memory, out);
}

static inline void begin_ranks(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static inline int end_ranks(void) {
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0 && all > 0) fprintf(stderr, "%d checks failed\n", all);
    return all > 0;
}

#endif
