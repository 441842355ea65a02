/* The collective writes and reads of libozarr_mpi beside those of parallel HDF5, netCDF-4 and PnetCDF: one field, the same blocks on the same
 * ranks, in turn; of each the median of the time of the slowest rank and of the processor time of all ranks.
 *
 *   mpicc -O2 benches/mpi_peers.c $(pkg-config --cflags --libs ozarr-mpi hdf5-openmpi) -lpnetcdf -I.../netcdf/mpi/include -lnetcdf_mpi -lm
 *   mpirun -n 4 ./a.out FOLDER [RUNS]
 *
 * A write is timed from creating to closing, a read from opening to closing. Nothing is made durable; all files are in the page cache. */
#include <hdf5.h>
#include <math.h>
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <ozarr_mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { RANK = 3, CHUNK = 64, MOST = 101 };

/* Four layers of chunks, and as many as there are ranks where these are more. */
static int64_t extent[RANK] = {4 * CHUNK, 128, 128};
static const int64_t chunk[RANK] = {CHUNK, CHUNK, CHUNK}, layer[RANK] = {CHUNK, 128, 128};

/* A rank's block, and its elements. */
typedef struct block {
    int64_t start[RANK], count[RANK];
    double *u;
    size_t size;
} block;

static ozarr_mpi *ranks;
static char place[512];

static void stop_on(int failed, const char *what) {
    if (!failed) return;
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void ozarr_check(ozarr_status status) { stop_on(status != OZARR_OK, ozarr_last_error()); }
static void netcdf_check(int status) { stop_on(status != NC_NOERR, nc_strerror(status)); }
static void pnetcdf_check(int status) { stop_on(status != NC_NOERR, ncmpi_strerror(status)); }
static void hdf5_check(int64_t status) { stop_on(status < 0, "HDF5 failed"); }

static void make_ozarr(const char *how, ozarr_array **a) {
    ozarr_layout layout = OZARR_LAYOUT_INIT;
    ozarr_spec *spec = NULL;
    layout.chunks = strcmp(how, "layers") == 0 ? layer : chunk;
    layout.compressor = strcmp(how, "layers") == 0 ? "none" : how;
    if (strcmp(how, "gzip") == 0) layout.level = 1, layout.shuffle = OZARR_SHUFFLE_BYTE;
    ozarr_check(ozarr_spec_new_ex(OZARR_FLOAT64, RANK, extent, &layout, &spec));
    ozarr_check(ozarr_mpi_array_create_ex(ranks, place, spec, OZARR_CREATE_OVERWRITE, a));
    ozarr_spec_free(spec);
}

static void write_ozarr(const block *b, const char *how) {
    ozarr_array *a = NULL;
    make_ozarr(how, &a);
    ozarr_check(ozarr_mpi_array_write_all(ranks, a, b->start, b->count, OZARR_FLOAT64, b->u, b->size));
    ozarr_check(ozarr_mpi_array_close(ranks, a));
}

static void write_alone(const block *b, const char *how) {
    ozarr_array *a = NULL;
    make_ozarr(how, &a);
    ozarr_check(ozarr_array_write_region(a, b->start, b->count, OZARR_FLOAT64, b->u, b->size));
    ozarr_check(ozarr_mpi_array_close(ranks, a));
}

static void read_ozarr(const block *b, const char *how) {
    ozarr_array *a = NULL;
    (void)how;
    ozarr_check(ozarr_mpi_array_open(ranks, place, "r", &a));
    ozarr_check(ozarr_mpi_array_read_all(ranks, a, b->start, b->count, OZARR_FLOAT64, b->u, b->size));
    ozarr_check(ozarr_mpi_array_close(ranks, a));
}

/* Moves a block of an open dataset of HDF5, collectively. */
static void move_hdf5(hid_t set, const block *b, int write) {
    hsize_t start[RANK], count[RANK];
    for (int d = 0; d < RANK; d++) start[d] = (hsize_t)b->start[d], count[d] = (hsize_t)b->count[d];
    const hid_t file_space = H5Dget_space(set), memory = H5Screate_simple(RANK, count, NULL), transfer = H5Pcreate(H5P_DATASET_XFER);
    hdf5_check(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL));
    hdf5_check(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
    if (write) hdf5_check(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, file_space, transfer, b->u));
    else hdf5_check(H5Dread(set, H5T_NATIVE_DOUBLE, memory, file_space, transfer, b->u));
    H5Pclose(transfer), H5Sclose(memory), H5Sclose(file_space);
}

static hid_t access_hdf5(void) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hdf5_check(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    hdf5_check(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    return access;
}

static void write_hdf5(const block *b, const char *how) {
    hsize_t shape[RANK], chunks[RANK];
    for (int d = 0; d < RANK; d++) shape[d] = (hsize_t)extent[d], chunks[d] = (hsize_t)chunk[d];
    const hid_t access = access_hdf5(), creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(RANK, shape, NULL);
    const hid_t file = H5Fcreate(place, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hdf5_check(file);
    hdf5_check(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER));
    if (strcmp(how, "contiguous") != 0) hdf5_check(H5Pset_chunk(creation, RANK, chunks));
    if (strcmp(how, "gzip") == 0) hdf5_check(H5Pset_shuffle(creation)), hdf5_check(H5Pset_deflate(creation, 1));
    const hid_t set = H5Dcreate2(file, "t", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    hdf5_check(set);
    move_hdf5(set, b, 1);
    H5Dclose(set), H5Sclose(space), H5Pclose(creation), H5Pclose(access);
    hdf5_check(H5Fclose(file));
}

static void read_hdf5(const block *b, const char *how) {
    const hid_t access = access_hdf5(), file = H5Fopen(place, H5F_ACC_RDONLY, access);
    (void)how;
    hdf5_check(file);
    const hid_t set = H5Dopen2(file, "t", H5P_DEFAULT);
    hdf5_check(set);
    move_hdf5(set, b, 0);
    H5Dclose(set), H5Pclose(access);
    hdf5_check(H5Fclose(file));
}

static void write_netcdf(const block *b, const char *how) {
    int id, dims[RANK], var;
    size_t chunks[RANK], start[RANK], count[RANK];
    netcdf_check(nc_create_par(place, NC_CLOBBER | NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &id));
    for (int d = 0; d < RANK; d++) {
        const char name[] = {"zyx"[d], 0};
        netcdf_check(nc_def_dim(id, name, (size_t)extent[d], &dims[d]));
        chunks[d] = (size_t)chunk[d], start[d] = (size_t)b->start[d], count[d] = (size_t)b->count[d];
    }
    netcdf_check(nc_def_var(id, "t", NC_DOUBLE, RANK, dims, &var));
    netcdf_check(nc_def_var_fill(id, var, NC_NOFILL, NULL));
    netcdf_check(nc_def_var_chunking(id, var, NC_CHUNKED, chunks));
    if (strcmp(how, "gzip") == 0) netcdf_check(nc_def_var_deflate(id, var, 1, 1, 1));
    netcdf_check(nc_var_par_access(id, var, NC_COLLECTIVE));
    netcdf_check(nc_enddef(id));
    netcdf_check(nc_put_vara_double(id, var, start, count, b->u));
    netcdf_check(nc_close(id));
}

static void read_netcdf(const block *b, const char *how) {
    int id, var;
    size_t start[RANK], count[RANK];
    (void)how;
    for (int d = 0; d < RANK; d++) start[d] = (size_t)b->start[d], count[d] = (size_t)b->count[d];
    netcdf_check(nc_open_par(place, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &id));
    netcdf_check(nc_inq_varid(id, "t", &var));
    netcdf_check(nc_var_par_access(id, var, NC_COLLECTIVE));
    netcdf_check(nc_get_vara_double(id, var, start, count, b->u));
    netcdf_check(nc_close(id));
}

static void write_pnetcdf(const block *b, const char *how) {
    int id, dims[RANK], var;
    MPI_Offset start[RANK], count[RANK];
    (void)how;
    pnetcdf_check(ncmpi_create(MPI_COMM_WORLD, place, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id));
    for (int d = 0; d < RANK; d++) {
        const char name[] = {"zyx"[d], 0};
        pnetcdf_check(ncmpi_def_dim(id, name, extent[d], &dims[d]));
        start[d] = b->start[d], count[d] = b->count[d];
    }
    pnetcdf_check(ncmpi_def_var(id, "t", NC_DOUBLE, RANK, dims, &var));
    pnetcdf_check(ncmpi_enddef(id));
    pnetcdf_check(ncmpi_put_vara_double_all(id, var, start, count, b->u));
    pnetcdf_check(ncmpi_close(id));
}

static void read_pnetcdf(const block *b, const char *how) {
    int id, var;
    MPI_Offset start[RANK], count[RANK];
    (void)how;
    for (int d = 0; d < RANK; d++) start[d] = b->start[d], count[d] = b->count[d];
    pnetcdf_check(ncmpi_open(MPI_COMM_WORLD, place, NC_NOWRITE, MPI_INFO_NULL, &id));
    pnetcdf_check(ncmpi_inq_varid(id, "t", &var));
    pnetcdf_check(ncmpi_get_vara_double_all(id, var, start, count, b->u));
    pnetcdf_check(ncmpi_close(id));
}

/* One way of storing the field. `aligned`: only where blocks are whole chunks. */
static const struct way {
    const char *name, *how;
    void (*write)(const block *, const char *);
    void (*read)(const block *, const char *);
    int aligned;
} ways[] = {
    {"ozarr, zstd", "zstd", write_ozarr, read_ozarr, 0},
    {"ozarr, zstd, each rank alone", "zstd", write_alone, read_ozarr, 1},
    {"ozarr, shuffle and gzip 1", "gzip", write_ozarr, read_ozarr, 0},
    {"ozarr, uncompressed", "none", write_ozarr, read_ozarr, 0},
    {"ozarr, uncompressed, layers", "layers", write_ozarr, read_ozarr, 0},
    {"HDF5, shuffle and gzip 1", "gzip", write_hdf5, read_hdf5, 0},
    {"netCDF-4, shuffle and gzip 1", "gzip", write_netcdf, read_netcdf, 0},
    {"HDF5, uncompressed, chunks", "chunked", write_hdf5, read_hdf5, 0},
    {"HDF5, uncompressed, contiguous", "contiguous", write_hdf5, read_hdf5, 0},
    {"netCDF-4, uncompressed, chunks", "chunked", write_netcdf, read_netcdf, 0},
    {"PnetCDF, uncompressed", "", write_pnetcdf, read_pnetcdf, 0},
};
enum { WAYS = sizeof ways / sizeof *ways };

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static double processor_time(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/* The time of the slowest rank, and the processor time of all. */
static void measure(void (*call)(const block *, const char *), const block *b, const char *how, double took[2]) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double used = processor_time(), began = MPI_Wtime();
    call(b, how);
    double mine[2] = {MPI_Wtime() - began, processor_time() - used};
    MPI_Allreduce(&mine[0], &took[0], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&mine[1], &took[1], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int ascending(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

static double value_at(int64_t z, int64_t y, int64_t x) {
    return (double)(float)(sin(0.05 * (double)x) * cos(0.07 * (double)y) + 0.01 * (double)z);
}

/* The block of a rank: layers of chunks, `shift` elements beside their borders. */
static void block_of(int rank, int size, int64_t shift, block *b) {
    const int64_t layers = extent[0] / chunk[0];
    memset(b, 0, sizeof *b);
    memcpy(b->count, extent, sizeof b->count);
    b->start[0] = rank == 0 ? 0 : layers * rank / size * chunk[0] + shift;
    b->count[0] = (rank == size - 1 ? extent[0] : layers * (rank + 1) / size * chunk[0] + shift) - b->start[0];
    b->size = (size_t)(b->count[0] * b->count[1] * b->count[2]) * sizeof *b->u;
    b->u = malloc(b->size);
    stop_on(b->u == NULL, "memory is needed");
}

static void fill(const block *b, int check) {
    double *u = b->u;
    for (int64_t z = 0; z < b->count[0]; z++)
        for (int64_t y = 0; y < b->count[1]; y++)
            for (int64_t x = 0; x < b->count[2]; x++, u++) {
                const double value = value_at(b->start[0] + z, y, x);
                stop_on(check && *u != value, "another value was read than was written");
                *u = value;
            }
}

/* Every way in turn, again and again; medians. */
static void compare(int rank, int size, const char *folder, int runs, int64_t shift) {
    static double took[WAYS][2][2][MOST]; /* writing and reading, wall and processor */
    block b;
    block_of(rank, size, shift, &b);
    fill(&b, 0);
    for (int i = -1; i < runs; i++)
        for (int w = 0; w < WAYS; w++) {
            if (shift != 0 && ways[w].aligned) continue;
            snprintf(place, sizeof place, "%s/way-%d", folder, w);
            double t[2][2];
            measure(ways[w].write, &b, ways[w].how, t[0]);
            if (i < 0) memset(b.u, 0, b.size);
            measure(ways[w].read, &b, ways[w].how, t[1]);
            if (i < 0) fill(&b, 1);
            for (int k = 0; k < 4 && i >= 0; k++) took[w][k / 2][k % 2][i] = t[k / 2][k % 2];
        }
    for (int w = 0; w < WAYS && rank == 0; w++) {
        if (shift != 0 && ways[w].aligned) continue;
        printf("| %-31s |", ways[w].name);
        for (int k = 0; k < 4; k++) printf(" %6.1f |", 1e3 * median(took[w][k / 2][k % 2], runs));
        printf("\n");
    }
    free(b.u);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int runs = argc > 2 ? atoi(argv[2]) : 9;
    stop_on(argc < 2 || runs < 1 || runs > MOST, "a folder and 1 to 101 runs are needed");
    if (size > 4) extent[0] = size * CHUNK;
    ozarr_check(ozarr_mpi_new(MPI_COMM_WORLD, &ranks));
    ozarr_check(ozarr_context_set(NULL, "file.sync", "none"));
    for (int64_t shift = 0; shift <= CHUNK / 2; shift += CHUNK / 2) {
        if (rank == 0)
            printf("%d ranks, blocks %s, %d runs; medians in ms\n| | write | cpu | read | cpu |\n|---|---:|---:|---:|---:|\n", size,
                   shift == 0 ? "of whole chunks" : "that cut chunks", runs);
        compare(rank, size, argv[1], runs, shift);
    }
    ozarr_check(ozarr_mpi_close(ranks));
    MPI_Finalize();
    return 0;
}
