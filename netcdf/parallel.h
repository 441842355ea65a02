/* Files that the ranks of a communicator have open together; and what libozarr_netcdf_mpi.so, which knows MPI, does for them. */
#ifndef OZARR_NETCDF_PARALLEL_H
#define OZARR_NETCDF_PARALLEL_H

#include "model.h"

/* The ranks of a communicator, and the number of this one; libozarr_netcdf_mpi.so keeps more behind it. */
typedef struct oz_ranks {
    int rank;
} oz_ranks;

/* How a communicator is given: as C passes it (a number or an address), by the address where netCDF-C keeps it, or as Fortran's number. */
typedef enum oz_comm_kind { OZ_COMM_NONE, OZ_COMM_VALUE, OZ_COMM_POINTER, OZ_COMM_FORTRAN } oz_comm_kind;

/* The functions of libozarr_netcdf_mpi.so, which it gives by OZ_PARALLEL_SYMBOL. All are collective. */
typedef struct oz_parallel_functions {
    int version;
    ozarr_status (*create)(oz_comm_kind kind, const void *comm, oz_ranks **ranks);
    void (*free)(oz_ranks *ranks);
    /* Gives all ranks the largest of their numbers, in place. */
    ozarr_status (*largest)(oz_ranks *ranks, int64_t *numbers, int count);
    /* Reads or writes the regions of all ranks. */
    ozarr_status (*move)(oz_ranks *ranks, const ozarr_array *array, bool write, const ozarr_region *region, const ozarr_memory *memory);
} oz_parallel_functions;

#define OZ_PARALLEL_VERSION 1
#define OZ_PARALLEL_SYMBOL "ozarr_netcdf_parallel"

/* Gives the file its ranks; NC_ENOPAR without MPI. */
int oz_ranks_begin(oz_file *file, oz_comm_kind kind, const void *comm);
void oz_ranks_free(oz_ranks *ranks);

/* Whether this process stores the metadata of a file: alone, or as the first rank. */
bool oz_stores(const oz_file *file);

/* The error of the first rank that failed, on all of them; `status` in a file of one process. */
int oz_agree(oz_ranks *ranks, int status);

/* Gives all ranks the largest lengths of the dimensions that may grow, or of all in a file that is open for reading. */
int oz_agree_on_lengths(const oz_file *file);

/* The kinds of access, by the numbers of netcdf_par.h. */
enum { OZ_INDEPENDENT, OZ_COLLECTIVE };

/* What a rank brings to a collective access. */
enum { OZ_TOGETHER, OZ_ALONE, OZ_BROKEN };

/* Begins a collective access of a region that ends at `ends` (replaced by the largest of all ranks). `*how`: all together, each rank alone
 * because some need that, or nobody because one cannot. */
int oz_access_begin(const oz_file *file, int rank, int64_t *ends, int *how);
int oz_access_move(const oz_file *file, const ozarr_array *array, bool write, const ozarr_region *region, const ozarr_memory *memory);

#endif
