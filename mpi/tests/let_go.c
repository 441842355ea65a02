/* A rank that lets go of a request which the others do not move on: those that test it then are told, instead of testing for ever.
 *
 *   let_go FOLDER */
#include "check.h"

enum { ROWS = 6, HALF = 1 << 17 };

/* Tests until the request is done, or fails. */
static ozarr_status test_on(ozarr_mpi_request *request, bool *done) {
    ozarr_status status = OZARR_OK;
    for (*done = false; status == OZARR_OK && !*done;) status = ozarr_mpi_request_test(request, done);
    return status;
}

int main(int argc, char **argv) {
    ozarr_mpi *m = NULL;
    ozarr_array *a = NULL;
    ozarr_mpi_request *request = NULL;
    bool done = false;
    begin_ranks(&argc, &argv);
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
    return end_ranks();
}
