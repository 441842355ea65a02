/* Writes a plain HDF5 file, without dimension scales: what programs with HDF5 write that know nothing of netCDF. */
#include <complex.h>
#include <hdf5.h>
#include <stdlib.h>

static void put(hid_t where, const char *name, hid_t type, int rank, const hsize_t *shape, const hsize_t *chunks, const void *data) {
    hid_t space = rank ? H5Screate_simple(rank, shape, NULL) : H5Screate(H5S_SCALAR), how = H5Pcreate(H5P_DATASET_CREATE);
    if (chunks) {
        H5Pset_chunk(how, rank, chunks);
        H5Pset_shuffle(how);
        H5Pset_deflate(how, 4);
    }
    hid_t set = H5Dcreate2(where, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    if (set < 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) exit(1);
    H5Dclose(set);
    H5Pclose(how);
    H5Sclose(space);
}

/* Gives a type a name in the file: netCDF-C shows no data sets of types without one. */
static hid_t named(hid_t file, const char *name, hid_t type) {
    if (H5Tcommit2(file, name, type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) < 0) exit(1);
    return type;
}

int main(int count, char **words) {
    if (count != 2) return 2;
    enum { N = 300, M = 400 };
    hid_t file = H5Fcreate(words[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, "fields", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    double *field = malloc(sizeof(double) * N * M);
    for (int i = 0; i < N * M; i++) field[i] = i * 0.25;
    put(group, "density", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){N, M}, (hsize_t[]){150, 100}, field);
    put(group, "big", H5T_STD_I32BE, 1, (hsize_t[]){4}, NULL, (unsigned char[]){0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 255, 255, 255, 255});
    put(file, "step", H5T_NATIVE_INT, 0, NULL, NULL, &(int){7});
    hid_t pair = H5Tcreate(H5T_COMPOUND, sizeof(double complex));
    H5Tinsert(pair, "r", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(pair, "i", sizeof(double), H5T_NATIVE_DOUBLE);
    put(file, "wave", named(file, "pair", pair), 1, (hsize_t[]){2}, NULL, (double complex[]){1 + 2 * I, -0.5});
    hid_t record = H5Tcreate(H5T_COMPOUND, 12);
    H5Tinsert(record, "x", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(record, "n", 8, H5T_NATIVE_INT);
    put(file, "records", named(file, "record", record), 1, (hsize_t[]){1}, NULL, (char[12]){0});
    hid_t space = H5Screate(H5S_SCALAR), units = H5Acreate2(group, "scale", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(units, H5T_NATIVE_FLOAT, &(float){0.1f});
    free(field);
    return H5Fclose(file) < 0;
}
