/* Files of several ranks: loads what knows MPI, and makes errors and lengths of dimensions the same on all ranks. */
#include "hierarchy.h"
#include "parallel.h"
#include "table.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The library beside this one; NULL without it. */
static const oz_parallel_functions *load(void) {
    static const oz_parallel_functions *loaded;
    static const char name[] = "libozarr_netcdf_mpi.so";
    Dl_info here;
    if (loaded) return loaded;
    const char *slash = dladdr((const void *)&oz_ranks_begin, &here) && here.dli_fname ? strrchr(here.dli_fname, '/') : NULL;
    size_t folder = slash ? (size_t)(slash - here.dli_fname) + 1 : 0;
    char *path = calloc(folder + sizeof name, 1);
    if (!path) return NULL;
    if (folder) memcpy(path, here.dli_fname, folder);
    strcpy(path + folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
    const oz_parallel_functions *found = library ? dlsym(library, OZ_PARALLEL_SYMBOL) : NULL;
    if (!found) oz_log("parallel access needs %s: %s", name, dlerror());
    else if (found->version != OZ_PARALLEL_VERSION) oz_log("%s is of another version of ozarr", name);
    else loaded = found;
    return loaded;
}

int oz_ranks_begin(oz_file *file, oz_comm_kind kind, const void *comm) {
    if (kind == OZ_COMM_NONE) return NC_NOERR;
    const oz_parallel_functions *functions = load();
    if (!functions) return NC_ENOPAR;
    ozarr_status status = functions->create(kind, comm, &file->ranks);
    if (!status) oz_share_processors();
    return status == OZARR_ERR_UNSUPPORTED || status == OZARR_ERR_STATE ? oz_error(status), NC_ENOPAR : oz_error(status);
}

void oz_ranks_free(oz_ranks *ranks) {
    if (ranks) load()->free(ranks);
}

bool oz_stores(const oz_file *file) { return !file->ranks || file->ranks->rank == 0; }

int oz_agree(oz_ranks *ranks, int status) {
    if (!ranks) return status;
    /* The lowest rank with an error has the largest number; its low half is the error. */
    int64_t word = status ? (int64_t)(INT32_MAX - ranks->rank) << 32 | (uint32_t)status : 0;
    ozarr_status failed = load()->largest(ranks, &word, 1);
    return failed ? oz_error(failed) : (int)(int32_t)(uint32_t)word;
}

int oz_agree_on_lengths(const oz_file *file) {
    if (!file->ranks) return NC_NOERR;
    int count = file->dim_count;
    int64_t *lengths = calloc(2 * (size_t)count + 1, sizeof *lengths), counts[3] = {count, -count, !lengths};
    int status = oz_error(load()->largest(file->ranks, counts, 3));
    if (!status && counts[2]) status = NC_ENOMEM;
    if (!status && counts[0] != -counts[1]) {
        oz_log("the ranks have read %d to %d dimensions of the file, which another program changes", (int)-counts[1], (int)counts[0]);
        status = NC_EIO;
    }
    for (int i = 0; i < count && !status; i++) lengths[i] = (int64_t)file->dims[i]->len, lengths[count + i] = file->dims[i]->published;
    if (!status) status = oz_error(load()->largest(file->ranks, lengths, 2 * count));
    for (int i = 0; i < count && !status; i++) {
        if (!file->dims[i]->unlimited && file->writable) continue;
        file->dims[i]->len = (size_t)lengths[i];
        file->dims[i]->published = lengths[count + i];
    }
    free(lengths);
    return status;
}

int oz_access_begin(const oz_file *file, int rank, int64_t *ends, int *how) {
    int64_t numbers[65];
    numbers[0] = *how;
    memcpy(numbers + 1, ends, (size_t)rank * sizeof *ends);
    int status = oz_error(load()->largest(file->ranks, numbers, rank + 1));
    if (status) return status;
    *how = (int)numbers[0];
    memcpy(ends, numbers + 1, (size_t)rank * sizeof *ends);
    return NC_NOERR;
}

int oz_access_move(const oz_file *file, const ozarr_array *array, bool write, const ozarr_region *region, const ozarr_memory *memory) {
    return oz_error(load()->move(file->ranks, array, write, region, memory));
}

int oz_var_par_access(int ncid, int varid, int access) {
    oz_group *group;
    oz_var *var = NULL;
    int status = oz_find_group(ncid, &group);
    if (!status && varid != NC_GLOBAL) status = oz_find_var(ncid, varid, &var);
    if (status) return status;
    oz_file *file = group->file;
    if (!file->ranks) return NC_ENOPAR;
    if (access != OZ_INDEPENDENT && access != OZ_COLLECTIVE) return NC_EINVAL;
    if (var) return var->collective = access == OZ_COLLECTIVE, NC_NOERR;
    file->collective = access == OZ_COLLECTIVE;
    while ((var = oz_next_var(file, var))) var->collective = file->collective;
    return NC_NOERR;
}
