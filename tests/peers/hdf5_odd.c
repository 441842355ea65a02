/* Writes HDF5 that becomes Zarr in part: FILE has texts that are not UTF-8, and of one length, FILE.null data sets without an element,
   FILE.unseen some that netCDF-C does not show, FILE.wide numbers of more than 8 bytes. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

static void put(hid_t where, const char *name, hid_t type, hid_t space, const void *data) {
    hid_t set = H5Dcreate2(where, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (set < 0 || (data && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)) exit(1);
    H5Dclose(set);
    H5Sclose(space);
}

int main(int count, char **words) {
    if (count != 2) return 2;
    char other[4096];
    snprintf(other, sizeof(other), "%s.null", words[1]);
    hid_t file = H5Fcreate(words[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t any = H5Tcopy(H5T_C_S1), five = H5Tcopy(H5T_C_S1);
    H5Tset_size(any, H5T_VARIABLE);
    H5Tset_size(five, 5);
    H5Tset_strpad(five, H5T_STR_NULLPAD);
    put(group, "five", five, H5Screate_simple(2, (hsize_t[]){2, 2}, NULL), "abcdexy\0\0\0\0\0\0\0\0hello");
    put(group, "one", five, H5Screate(H5S_SCALAR), "world");
    put(file, "any", any, H5Screate_simple(1, (hsize_t[]){3}, NULL), (const char *[]){"caf\xc3\xa9", "", "ok"});
    put(file, "latin", any, H5Screate_simple(1, (hsize_t[]){3}, NULL), (const char *[]){"ok", "caf\xe9", ""});
    put(file, "latin0", any, H5Screate(H5S_SCALAR), (const char *[]){"caf\xe9"});
    if (H5Fclose(file) < 0) return 1;
    file = H5Fcreate(other, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put(file, "nothing", H5T_NATIVE_FLOAT, H5Screate(H5S_NULL), NULL);
    put(file, "no text", any, H5Screate(H5S_NULL), NULL);
    put(file, "one", H5T_NATIVE_INT, H5Screate(H5S_SCALAR), &(int){1});
    if (H5Fclose(file) < 0) return 1;
    snprintf(other, sizeof(other), "%s.unseen", words[1]);
    file = H5Fcreate(other, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    /* netCDF-C takes types that are equal for the same. */
    hid_t types[3];
    for (int i = 0; i < 3; i++) {
        types[i] = H5Tcreate(H5T_COMPOUND, 16);
        H5Tinsert(types[i], (const char *[]){"r", "x", "y"}[i], 0, H5T_NATIVE_DOUBLE);
        H5Tinsert(types[i], "i", 8, H5T_NATIVE_DOUBLE);
    }
    for (int i = 0; i < 2; i++)
        if (H5Tcommit2(group, (const char *[]){"a type", "type"}[i], types[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) < 0) return 1;
    double numbers[2] = {1, 2};
    put(group, "early", types[0], H5Screate(H5S_SCALAR), numbers);
    put(group, "late", types[1], H5Screate(H5S_SCALAR), numbers);
    put(group, "nameless", types[2], H5Screate(H5S_SCALAR), numbers);
    put(file, "nameless", types[2], H5Screate(H5S_SCALAR), numbers);
    put(file, "one", H5T_NATIVE_INT, H5Screate(H5S_SCALAR), &(int){1});
    if (H5Fclose(file) < 0) return 1;
    snprintf(other, sizeof(other), "%s.wide", words[1]);
    file = H5Fcreate(other, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    long double wide[6] = {1, 2, 3, 4, 5, 6};
    hid_t integer = H5Tcopy(H5T_STD_I64LE), three = H5Screate_simple(1, (hsize_t[]){3}, NULL), filled = H5Pcreate(H5P_DATASET_CREATE);
    H5Tset_size(integer, 16);
    H5Pset_fill_value(filled, H5T_NATIVE_LDOUBLE, wide);
    put(file, "scalar", H5T_NATIVE_LDOUBLE, H5Screate(H5S_SCALAR), wide);
    put(file, "one", H5T_NATIVE_INT, H5Screate(H5S_SCALAR), &(int){1});
    put(group, "six", H5T_NATIVE_LDOUBLE, H5Screate_simple(2, (hsize_t[]){2, 3}, NULL), wide);
    put(group, "double", H5T_NATIVE_DOUBLE, H5Screate_simple(1, (hsize_t[]){2}, NULL), numbers);
    put(group, "integer", integer, H5Screate_simple(1, (hsize_t[]){1}, NULL), (long long[]){-1, 7});
    if (H5Dcreate2(file, "filled", H5T_NATIVE_LDOUBLE, three, H5P_DEFAULT, filled, H5P_DEFAULT) < 0) return 1;
    if (H5Acreate2(file, "attribute", H5T_NATIVE_LDOUBLE, three, H5P_DEFAULT, H5P_DEFAULT) < 0) return 1;
    return H5close() < 0;
}
