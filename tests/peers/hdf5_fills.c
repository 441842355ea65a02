/* A program with HDF5 that sets fill values, and writes few elements: hdf5_fills FILE. */
#include <hdf5.h>

/* A data set of 512 x 512 elements in 16 chunks, with a fill value unless that is NULL; its first elements, so many, are 1. */
static void make(hid_t file, const char *name, hid_t type, const void *fill, hsize_t written) {
    hsize_t shape[2] = {512, 512}, chunk[2] = {128, 128}, start[2] = {0, 0}, count[2] = {1, written};
    hid_t space = H5Screate_simple(2, shape, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(how, 2, chunk);
    if (fill) H5Pset_fill_value(how, type, fill);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    if (written > 0) {
        int ones[2] = {1, 1};
        hid_t memory = H5Screate_simple(1, &written, NULL);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        H5Dwrite(set, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, ones);
        H5Sclose(memory);
    }
    H5Dclose(set);
    H5Pclose(how);
    H5Sclose(space);
}

int main(int count, char **words) {
    if (count != 2) return 2;
    const float real = -9999;
    const int whole = 7;
    const signed char byte = 7;
    hid_t file = H5Fcreate(words[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    make(file, "real", H5T_NATIVE_FLOAT, &real, 2);
    make(file, "unset", H5T_NATIVE_FLOAT, NULL, 2);
    make(file, "whole", H5T_NATIVE_INT, &whole, 1);
    make(file, "never", H5T_NATIVE_INT, &whole, 0);
    make(file, "byte", H5T_NATIVE_SCHAR, &byte, 0);
    return H5Fclose(file) < 0;
}
