/* Calls that fail, and conversions at the ends of types: prints the status of each, to be compared between formats. */
#include <math.h>
#include <netcdf.h>
#include <stdio.h>

/* What netCDF-Fortran calls; no header has them. */
int nc_inq_var_chunking_ints(int ncid, int varid, int *storage, int *chunks);
int nc_def_var_chunking_ints(int ncid, int varid, int storage, int *chunks);

#define SHOW(CALL) printf("%s: %d\n", #CALL, CALL)

static void define(int id) {
    int x, t, grp, v, w, two[2], level = 7;
    float fill = -1;
    size_t chunk = 99;
    SHOW(nc_def_dim(id, "x", 4, &x));
    SHOW(nc_def_dim(id, "t", NC_UNLIMITED, &t));
    SHOW(nc_def_dim(id, "x", 5, &t));
    SHOW(nc_def_dim(id, "a/b", 5, NULL));
    SHOW(nc_def_dim(id, "", 5, NULL));
    two[0] = t, two[1] = x;
    SHOW(nc_def_var(id, "v", NC_FLOAT, 2, two, &v));
    SHOW(nc_def_var(id, "v", NC_FLOAT, 2, two, NULL));
    SHOW(nc_def_var(id, "none", NC_NAT, 0, NULL, NULL));
    SHOW(nc_def_var(id, "b", NC_BYTE, 1, &x, &w));
    two[1] = 77;
    SHOW(nc_def_var(id, "bad", NC_FLOAT, 2, two, NULL));
    SHOW(nc_def_grp(id, "v", &grp));
    SHOW(nc_def_grp(id, NULL, &grp));
    SHOW(nc_def_grp(id, "g", &grp));
    SHOW(nc_def_var_chunking(id, w, NC_CHUNKED, &chunk));
    SHOW(nc_def_var_deflate(id, v, 1, 1, 10));
    SHOW(nc_put_att_float(id, v, "_FillValue", NC_DOUBLE, 1, &fill));
    SHOW(nc_put_att_float(id, v, "_FillValue", NC_FLOAT, 1, &fill));
    SHOW(nc_put_att_int(id, v, "text", NC_CHAR, 1, &level));
    SHOW(nc_put_att_int(id, v, "small", NC_BYTE, 1, (int[]){300}));
    SHOW(nc_put_att_text(id, 55, "units", 1, "K"));
    SHOW(nc_put_att_text(id, v, "long", (size_t)-1, "K"));
    SHOW(nc_redef(id));
    SHOW(nc_enddef(id));
    SHOW(nc_enddef(id));
}

static void move(int id) {
    size_t start[2] = {0, 0}, count[2] = {2, 4}, beyond[2] = {1, 3};
    ptrdiff_t stride[2] = {1, 0};
    float values[8] = {1, 2, 3, 4, 1e9f, -1e9f, 126.7f, NAN}, back[8], fill = -2;
    signed char bytes[8];
    unsigned numbers[8];
    char text[8];
    int found;
    SHOW(nc_put_vara_float(id, 0, start, count, values));
    SHOW(nc_get_vara_schar(id, 0, start, count, bytes));
    for (int i = 0; i < 7; i++) printf("%d ", i == 4 || i == 5 ? 0 : bytes[i]);
    SHOW(nc_get_vara_uint(id, 0, start, count, numbers));
    SHOW(nc_get_vara_text(id, 0, start, count, text));
    SHOW(nc_get_vara_float(id, 0, beyond, count, back));
    start[0] = 5;
    SHOW(nc_get_vara_float(id, 0, start, count, back));
    start[0] = 0;
    SHOW(nc_get_vars_float(id, 0, start, count, stride, back));
    SHOW(nc_get_varm_text(id, 0, start, count, stride, stride, text));
    SHOW(nc_get_vara_float(id, 9, start, count, back));
    /* Nothing is read from the program's memory, or written to it, that the variable does not have. */
    SHOW(nc_put_varm_schar(id, 1, start, (size_t[]){(size_t)1 << 33}, NULL, (ptrdiff_t[]){1}, bytes));
    SHOW(nc_put_varm_schar(id, 1, start, (size_t[]){100000000}, NULL, (ptrdiff_t[]){4}, bytes));
    SHOW(nc_put_varm_schar(id, 1, (size_t[]){9}, (size_t[]){100000000}, NULL, (ptrdiff_t[]){4}, bytes));
    SHOW(nc_get_varm_schar(id, 1, start, (size_t[]){(size_t)1 << 33}, NULL, (ptrdiff_t[]){1}, bytes));
    SHOW(nc_put_vara_int(id, 1, start, (size_t[]){4}, (int[]){1, -128, 127, 128}));
    SHOW(nc_put_vara_int(id, 1, start, (size_t[]){5}, (int[]){1, 2, 3, 4, 5}));
    SHOW(nc_put_att_float(id, 0, "_FillValue", NC_FLOAT, 1, &fill));
    SHOW(nc_del_att(id, 0, "nothing"));
    SHOW(nc_rename_var(id, 0, "b"));
    SHOW(nc_rename_dim(id, 0, "t"));
    SHOW(nc_rename_att(id, 0, "nothing", "x"));
    SHOW(nc_inq_varid(id, "nothing", &found));
    SHOW(nc_inq_varid(id, NULL, &found));
    SHOW(nc_inq_dimid(id, "nothing", NULL));
    SHOW(nc_inq_var(id, 12, NULL, NULL, NULL, NULL, NULL));
    SHOW(nc_inq_varid(id + 500, "v", &found));
    SHOW(nc_inq_grp_ncid(id, "h", NULL));
    SHOW(nc_inq_var_chunking_ints(id + 500, 0, &found, NULL));
    SHOW(nc_def_var_chunking_ints(id, 12, NC_CHUNKED, NULL));
}

int main(int argc, char **argv) {
    int id, again;
    if (argc != 2) return 2;
    if (nc_create(argv[1], NC_NETCDF4, &id)) return 1;
    define(id);
    move(id);
    SHOW(nc_close(id));
    SHOW(nc_inq_nvars(id, &again));
    SHOW(nc_create(argv[1], NC_NETCDF4 | NC_NOCLOBBER, &again));
    SHOW(nc_create(argv[1], NC_NETCDF4 | NC_64BIT_OFFSET, &again));
    if (nc_open(argv[1], NC_NOWRITE, &id)) return 1;
    SHOW(nc_redef(id));
    SHOW(nc_put_att_text(id, NC_GLOBAL, "t", 1, "x"));
    SHOW(nc_def_dim(id, "y", 1, NULL));
    SHOW(nc_rename_var(id, 0, "z"));
    SHOW(nc_close(id));
    SHOW(nc_open("nowhere.zarr", NC_NOWRITE, &id));
    return 0;
}
