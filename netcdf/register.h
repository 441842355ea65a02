/* What libozarr_netcdf.so exports: programs, and netCDF's configuration, register the format by it. */
#ifndef OZARR_NETCDF_H
#define OZARR_NETCDF_H

#ifdef __cplusplus
extern "C" {
#endif

/* Registers Zarr as netCDF's format NC_UDF0; netCDF's error. A program that is linked to the library calls it once, and then
 * opens with the mode `NC_UDF0`. */
__attribute__((visibility("default"))) int ozarr_netcdf_register(void);

/* Gives the table, for NETCDF.UDF0.INIT of netCDF's configuration file. */
__attribute__((visibility("default"))) void *ozarr_netcdf_initialize(void);

#ifdef __cplusplus
}
#endif

/* A function of the netCDF library that the program uses; NULL without one. */
__attribute__((visibility("hidden"))) void *oz_netcdf_function(const char *name);

#endif
