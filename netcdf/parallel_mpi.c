/* libozarr_netcdf_mpi.so: what files of several ranks need of MPI, for libozarr_netcdf.so, which is not linked to any MPI. */
#include "parallel.h"

#include <ozarr_extend.h>
#include <ozarr_mpi.h>
#include <stdlib.h>
#include <string.h>

typedef struct ranks {
    oz_ranks head;
    MPI_Comm comm;
    ozarr_mpi *m;
} ranks;

/* Whether the program runs with the MPI that this library was compiled with. */
static ozarr_status check_mpi(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len = 0;
#ifdef OPEN_MPI
    const bool open_mpi = true;
#else
    const bool open_mpi = false;
#endif
    if (MPI_Get_library_version(version, &len) == MPI_SUCCESS && (strstr(version, "Open MPI") != NULL) == open_mpi) return OZARR_OK;
    return ozarr_set_error(OZARR_ERR_UNSUPPORTED, "libozarr_netcdf_mpi.so was compiled for another MPI than the program's", NULL);
}

static MPI_Comm communicator(oz_comm_kind kind, const void *comm) {
    if (kind == OZ_COMM_POINTER) return *(const MPI_Comm *)comm;
    return kind == OZ_COMM_FORTRAN ? MPI_Comm_f2c((MPI_Fint)(intptr_t)comm) : (MPI_Comm)(uintptr_t)comm;
}

static void free_ranks(oz_ranks *given) {
    ranks *r = (ranks *)given;
    if (r->m) (void)!ozarr_mpi_close(r->m);
    if (r->comm != MPI_COMM_NULL) MPI_Comm_free(&r->comm);
    free(r);
}

static ozarr_status create(oz_comm_kind kind, const void *comm, oz_ranks **out) {
    int begun = 0, ended = 0;
    ozarr_status status = check_mpi();
    if (status) return status;
    if (MPI_Initialized(&begun) != MPI_SUCCESS || !begun) return OZARR_ERR_STATE;
    if (MPI_Finalized(&ended) != MPI_SUCCESS || ended) return OZARR_ERR_STATE;
    ranks *r = calloc(1, sizeof *r);
    if (!r) return OZARR_ERR_NO_MEMORY;
    r->comm = MPI_COMM_NULL;
    status = ozarr_mpi_new(communicator(kind, comm), &r->m);
    if (!status) status = ozarr_mpi_rank(r->m, &r->head.rank, NULL);
    /* Ranks may write the same elements together: one of them is stored. */
    if (!status) status = ozarr_mpi_set(r->m, "overlap", "last");
    if (!status && MPI_Comm_dup(communicator(kind, comm), &r->comm) != MPI_SUCCESS) status = OZARR_ERR_NETWORK;
    if (!status && MPI_Comm_set_errhandler(r->comm, MPI_ERRORS_RETURN) != MPI_SUCCESS) status = OZARR_ERR_NETWORK;
    if (status) return free_ranks(&r->head), status;
    *out = &r->head;
    return OZARR_OK;
}

static ozarr_status largest(oz_ranks *given, int64_t *numbers, int count) {
    const ranks *r = (const ranks *)given;
    return MPI_Allreduce(MPI_IN_PLACE, numbers, count, MPI_INT64_T, MPI_MAX, r->comm) == MPI_SUCCESS ? OZARR_OK : OZARR_ERR_NETWORK;
}

static ozarr_status move(oz_ranks *given, const ozarr_array *array, bool write, const ozarr_region *region, const ozarr_memory *memory) {
    const ranks *r = (const ranks *)given;
    return write ? ozarr_mpi_array_write_all_ex(r->m, array, 1, region, memory) : ozarr_mpi_array_read_all_ex(r->m, array, 1, region, memory);
}

__attribute__((visibility("default"))) const oz_parallel_functions ozarr_netcdf_parallel = {OZ_PARALLEL_VERSION, create, free_ranks, largest, move};
