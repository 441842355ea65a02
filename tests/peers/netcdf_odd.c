/* A file of netCDF-4 with what its Python package does not write: texts that are no UTF-8, and a variable along a dimension that its group does not
 * see, whose definition netCDF-C refuses, but stores. */
#include <netcdf.h>

int main(int argc, char **argv) {
    const char *texts[] = {"caf\xe9", "ok"};
    int file, a, b, x, y, type, var, good[2], bad[2];
    if (argc < 2 || nc_create(argv[1], NC_NETCDF4 | NC_CLOBBER, &file)) return 1;
    nc_def_dim(file, "y", 2, &y);
    nc_def_grp(file, "a", &a);
    nc_def_grp(file, "b", &b);
    nc_def_dim(a, "x", 5, &x);
    good[0] = bad[0] = y;
    good[1] = y;
    bad[1] = x;
    nc_def_var(file, "good", NC_INT, 2, good, &var);
    nc_put_att_string(file, var, "latin", 2, texts);
    nc_put_att_string(file, var, "utf8", 1, texts + 1);
    nc_put_var_int(file, var, (int[]){1, 2, 3, 4});
    nc_def_opaque(file, 3, "three", &type);
    nc_def_var(file, "opaque", type, 1, &y, &var);
    nc_put_var(file, var, "abcdef");
    nc_def_var(b, "lost", NC_INT, 2, bad, &var);
    nc_put_att_string(file, NC_GLOBAL, "latin", 1, texts);
    return nc_close(file) != 0;
}
