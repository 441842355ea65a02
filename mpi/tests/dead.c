/* A rank that dies at a random moment, where MPI tells of it (ULFM): the others get a status in time, and each chunk is old or new.
 *
 *   dead FOLDER */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 64, COLUMNS = 50, STEPS = 100000, SECONDS = 60 };

/* A rank that is left in a call for ever ends the test. */
static void too_late(int unused) {
    static const char text[] = "rank ?, line 0: not out of the call in time\n";
    (void)unused;
    _exit(write(STDERR_FILENO, text, sizeof text - 1) == 0 ? 2 : 1);
}

/* Ends this process within 0.2 s. */
static void *die(void *unused) {
    (void)unused;
    struct timespec now, wait = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    wait.tv_nsec = now.tv_nsec % 200000000;
    nanosleep(&wait, NULL);
    raise(SIGKILL);
    return NULL;
}

/* Each chunk of ten rows has one number, and no two numbers are further apart than one step. */
static void check_chunks(void) {
    static double u[ROWS][COLUMNS];
    ozarr_array *a = NULL;
    double least = STEPS, most = 0;
    OK(ozarr_array_open("dead.zarr", "r", &a));
    OK(ozarr_array_read(a, OZARR_FLOAT64, u, sizeof u));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            CHECK(u[i][j] == u[i / 10 * 10][0]);
            least = u[i][j] < least ? u[i][j] : least, most = u[i][j] > most ? u[i][j] : most;
        }
    CHECK(most - least <= 1);
    ozarr_array_free(a);
}

int main(int argc, char **argv) {
    ozarr_mpi *m = NULL;
    ozarr_array *a = NULL;
    const int64_t shape[] = {ROWS, COLUMNS}, chunks[] = {10, COLUMNS};
    pthread_t thread;
    begin_ranks(&argc, &argv);
    signal(SIGALRM, too_late);
    alarm(SECONDS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    OK(ozarr_mpi_array_create(m, "dead.zarr", OZARR_FLOAT64, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &a));
    const int64_t start[] = {ROWS * rank / ranks, 0}, count[] = {ROWS * (rank + 1) / ranks - start[0], COLUMNS};
    const size_t size = (size_t)(count[0] * COLUMNS) * sizeof(double);
    double *u = malloc(size);
    ozarr_status status = u != NULL ? OZARR_OK : OZARR_ERR_NO_MEMORY;
    if (rank == ranks - 1 && pthread_create(&thread, NULL, die, NULL) != 0) abort();
    for (int step = 0; step < STEPS && status == OZARR_OK; step++) {
        for (int64_t i = 0; i < count[0] * COLUMNS; i++) u[i] = step;
        status = ozarr_mpi_array_write_all(m, a, start, count, OZARR_FLOAT64, u, size);
    }
    CHECK(status == OZARR_ERR_NETWORK && strstr(ozarr_last_error(), "MPI") != NULL);
    CHECK(ozarr_mpi_array_close(m, a) == OZARR_ERR_NETWORK);
    CHECK(ozarr_mpi_close(m) == OZARR_ERR_NETWORK);
    if (rank == 0) check_chunks();
    free(u);
    _exit(failures > 0); /* MPI_Finalize would wait for the dead one */
}
