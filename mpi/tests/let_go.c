/* A rank that lets go of a request which the others do not move on: those that test it then are told, instead of testing for ever,
 * unless they wait for other ranks only, which move on.
 *
 *   let_go FOLDER */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "check.h"
#include <time.h>

enum { ROWS = 6, HALF = 1 << 17, SMALL = 64, MANY = 16 };

/* Tests until the request is done, or fails. */
static ozarr_status test_on(ozarr_mpi_request *request, bool *done) {
    ozarr_status status = OZARR_OK;
    for (*done = false; status == OZARR_OK && !*done;) status = ozarr_mpi_request_test(request, done);
    return status;
}

/* Rank 0 cannot go on while the last rank lets go. */
static void told(void) {
    ozarr_mpi *m = NULL;
    ozarr_array *a = NULL;
    ozarr_mpi_request *request = NULL;
    bool done = false;
    const bool first = rank == 0, last = rank == ranks - 1;
    /* Rank 0 reads row after row, two of them at once: it has rows left when the last rank lets go, whose halves are too long to be sent before
     * they are received. */
    const int64_t shape[] = {ROWS, 2 * HALF}, chunks[] = {1, 2 * HALF}, start[] = {0, last ? HALF : 0}, count[] = {ROWS, first || last ? HALF : 0};
    char round[16];
    double *u = calloc(ROWS * HALF, sizeof *u);
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start, region.shape = count;
    memory.data = u, memory.size = ROWS * HALF * sizeof *u, memory.type = OZARR_FLOAT64;
    snprintf(round, sizeof round, "%zu", 2 * HALF * sizeof *u);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    OK(ozarr_mpi_set(m, "aggregators", "1"));
    OK(ozarr_mpi_set(m, "round_bytes", round));
    OK(ozarr_mpi_array_create(m, "let_go.zarr", OZARR_FLOAT64, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_mpi_array_iread_all(m, a, 1, &region, &memory, &request));
    if (last) CHECK(ozarr_mpi_request_free(request) == OZARR_ERR_STATE && strstr(ozarr_last_error(), "was let go of") != NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (first) {
        CHECK(test_on(request, &done) == OZARR_ERR_STATE && strstr(ozarr_last_error(), "another rank has let go of request 0") != NULL);
        CHECK(ozarr_mpi_request_free(request) == OZARR_ERR_STATE);
    } else if (!last) {
        CHECK(test_on(request, &done) == OZARR_OK && ozarr_mpi_request_free(request) == OZARR_OK);
    }
    ERR(OZARR_ERR_STATE, "was let go of", ozarr_mpi_array_close(m, a));
    /* MPI still has the halves that nobody received. */
}

static void pause_for(int seconds) {
    const struct timespec pause = {seconds, 0};
    nanosleep(&pause, NULL);
}

/* Rank 0 stores row after row. The last rank has a part of the fourth only, which is under way when it lets go. Rank 1 has a part of each, in
 * messages that are sent at once, four whenever it tests. */
static void waits_for_another(void) {
    enum { WIDTH = 2 * SMALL + HALF, TESTS = 100 };
    ozarr_mpi *m = NULL;
    ozarr_array *a = NULL;
    ozarr_mpi_request *request = NULL;
    bool done = false;
    const bool last = rank == 2;
    const int64_t shape[] = {MANY, WIDTH}, chunks[] = {1, WIDTH}, start[] = {last ? 3 : 0, rank * SMALL}, count[] = {last ? 1 : MANY, last ? HALF : SMALL};
    char round[16];
    static double u[MANY * SMALL], stored[MANY * SMALL], half[HALF];
    for (int i = 0; i < MANY * SMALL; i++) u[i] = 1 + i;
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start, region.shape = count;
    memory.data = last ? half : u, memory.size = last ? sizeof half : sizeof u, memory.type = OZARR_FLOAT64;
    snprintf(round, sizeof round, "%zu", WIDTH * sizeof *u);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    OK(ozarr_mpi_set(m, "aggregators", "1"));
    OK(ozarr_mpi_set(m, "round_bytes", round));
    OK(ozarr_mpi_array_create(m, "another.zarr", OZARR_FLOAT64, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_mpi_array_iwrite_all(m, a, 1, &region, &memory, &request));
    if (last) CHECK(ozarr_mpi_request_free(request) == OZARR_ERR_STATE && strstr(ozarr_last_error(), "was let go of") != NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        const int64_t from[] = {0, SMALL};
        for (int i = 0; i < TESTS; i++) CHECK(ozarr_mpi_request_test(request, &done) == OZARR_OK && !done);
        CHECK(ozarr_mpi_request_free(request) == OZARR_OK);
        CHECK(ozarr_array_read_region(a, from, count, OZARR_FLOAT64, stored, sizeof stored) == OZARR_OK && memcmp(stored, u, sizeof u) == 0);
    }
    while (rank == 1 && !done) {
        pause_for(5);
        CHECK(ozarr_mpi_request_test(request, &done) == OZARR_OK);
    }
    if (rank == 1) CHECK(ozarr_mpi_request_free(request) == OZARR_OK);
    ERR(OZARR_ERR_STATE, "was let go of", ozarr_mpi_array_close(m, a));
}

/* The last rank receives something every five seconds, which rank 0 has read. */
static void receives_slowly(void) {
    enum { WIDTH = 2 * SMALL };
    ozarr_mpi *m = NULL;
    ozarr_array *a = NULL;
    ozarr_mpi_request *request = NULL;
    const int64_t shape[] = {ROWS, WIDTH}, chunks[] = {1, WIDTH}, start[] = {0, rank * SMALL}, count[] = {ROWS, SMALL};
    char round[16];
    static double u[ROWS * SMALL];
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start, region.shape = count;
    memory.data = u, memory.size = sizeof u, memory.type = OZARR_FLOAT64;
    snprintf(round, sizeof round, "%zu", WIDTH * sizeof *u);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    OK(ozarr_mpi_set(m, "aggregators", "1"));
    OK(ozarr_mpi_set(m, "round_bytes", round));
    OK(ozarr_mpi_array_create(m, "slow.zarr", OZARR_FLOAT64, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &a));
    OK(ozarr_mpi_array_iread_all(m, a, 1, &region, &memory, &request));
    for (bool done = rank > 0; !done;) {
        pause_for(5);
        CHECK(ozarr_mpi_request_test(request, &done) == OZARR_OK);
    }
    CHECK(ozarr_mpi_request_free(request) == OZARR_OK);
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_close(m));
}

int main(int argc, char **argv) {
    begin_ranks(&argc, &argv);
    told();
    if (ranks == 2) receives_slowly();
    if (ranks == 3) waits_for_another();
    return end_ranks();
}
