/* The functions of the dispatch table, as netcdf_dispatch.h declares their types. */
#ifndef OZARR_NETCDF_TABLE_H
#define OZARR_NETCDF_TABLE_H

#include "model.h"

#include <netcdf_dispatch.h>

/* file.c: files, define and data mode. */
int oz_create(const char *path, int cmode, size_t initial, int basepe, size_t *hint, void *parameters, const NC_Dispatch *table, int ncid);
int oz_open(const char *path, int mode, int basepe, size_t *hint, void *parameters, const NC_Dispatch *table, int ncid);
int oz_redef(int ncid);
int oz_enddef(int ncid, size_t, size_t, size_t, size_t);
int oz_sync(int ncid);
int oz_abort(int ncid);
int oz_close(int ncid, void *memory);
int oz_set_fill(int ncid, int mode, int *old);
/* Removes the hierarchy at a location. */
int oz_delete(const char *location);
/* Sees that something may be defined: NC_EPERM, NC_ENOTINDEFINE of the classic model, else in define mode. */
int oz_to_define(oz_file *file);
/* Whether bytes with a sign and those without are one, as in the classic formats but CDF-5. */
bool oz_signs_are_free(const oz_file *file);
/* Whether the file's format has the type. */
bool oz_type_allowed(const oz_file *file, nc_type type);
/* Gives the status for what only netCDF-4 without the classic model has: `status` in files of the classic formats. */
int oz_not_classic(const oz_file *file, int status);
/* Sees that elements may be read and written. */
int oz_to_data(oz_file *file);

/* The location that the next call of create or open is about, and whether it opens; the preload says so. */
void oz_set_pending(const char *location, bool open);
/* The mode of that call, as the program gave it, and its communicator. */
void oz_set_pending_mode(int mode);
void oz_set_pending_ranks(int kind, const void *comm);

/* parallel.c */
int oz_var_par_access(int ncid, int varid, int access);

/* inquire.c */
int oz_inq_format(int ncid, int *format);
int oz_inq_format_extended(int ncid, int *format, int *mode);
int oz_inq(int ncid, int *dims, int *vars, int *atts, int *unlimited);
int oz_inq_dimid(int ncid, const char *name, int *id);
int oz_inq_dim(int ncid, int id, char *name, size_t *len);
int oz_inq_unlimdim(int ncid, int *id);
int oz_inq_unlimdims(int ncid, int *count, int *ids);
int oz_inq_varid(int ncid, const char *name, int *id);
int oz_inq_var_all(int ncid, int varid, char *name, nc_type *type, int *rank, int *dims, int *atts, int *shuffle, int *deflate, int *level,
    int *fletcher, int *contiguous, size_t *chunks, int *no_fill, void *fill, int *endian, unsigned *id, size_t *count, unsigned *parameters);
int oz_inq_ncid(int ncid, const char *name, int *group);
int oz_inq_grps(int ncid, int *count, int *ids);
int oz_inq_grpname(int ncid, char *name);
int oz_inq_grpname_full(int ncid, size_t *len, char *name);
int oz_inq_grp_parent(int ncid, int *parent);
int oz_inq_grp_full_ncid(int ncid, const char *name, int *group);
int oz_inq_varids(int ncid, int *count, int *ids);
int oz_inq_dimids(int ncid, int *count, int *ids, int parents);
int oz_inq_var_filter_ids(int ncid, int varid, size_t *count, unsigned *ids);
int oz_inq_var_filter_info(int ncid, int varid, unsigned id, size_t *count, unsigned *parameters);
int oz_inq_var_quantize(int ncid, int varid, int *mode, int *digits);
int oz_inq_filter_avail(int ncid, unsigned id);
int oz_get_var_chunk_cache(int ncid, int varid, size_t *size, size_t *slots, float *preemption);
int oz_show_metadata(int ncid);

/* user_dispatch.c */
int oz_inq_type(int ncid, nc_type type, char *name, size_t *size);
int oz_inq_typeids(int ncid, int *count, int *ids);
int oz_inq_type_equal(int ncid, nc_type type, int other_ncid, nc_type other, int *equal);
int oz_inq_typeid(int ncid, const char *name, nc_type *id);
int oz_inq_user_type(int ncid, nc_type type, char *name, size_t *size, nc_type *base, size_t *fields, int *kind);
int oz_def_compound(int ncid, size_t size, const char *name, nc_type *id);
int oz_insert_compound(int ncid, nc_type type, const char *name, size_t offset, nc_type field);
int oz_insert_array_compound(int ncid, nc_type type, const char *name, size_t offset, nc_type field, int rank, const int *shape);
int oz_inq_compound_field(int ncid, nc_type type, int field, char *name, size_t *offset, nc_type *id, int *rank, int *shape);
int oz_inq_compound_fieldindex(int ncid, nc_type type, const char *name, int *field);
int oz_def_enum(int ncid, nc_type base, const char *name, nc_type *id);
int oz_insert_enum(int ncid, nc_type type, const char *name, const void *value);
int oz_inq_enum_member(int ncid, nc_type type, int index, char *name, void *value);
int oz_inq_enum_ident(int ncid, nc_type type, long long value, char *name);
int oz_def_opaque(int ncid, size_t size, const char *name, nc_type *id);
int oz_def_vlen(int ncid, const char *name, nc_type base, nc_type *id);
int oz_put_vlen_element(int ncid, int type, void *element, size_t len, const void *values);
int oz_get_vlen_element(int ncid, int type, const void *element, size_t *len, void *values);

/* attributes.c */
int oz_inq_att(int ncid, int varid, const char *name, nc_type *type, size_t *len);
int oz_inq_attid(int ncid, int varid, const char *name, int *id);
int oz_inq_attname(int ncid, int varid, int id, char *name);
int oz_rename_att(int ncid, int varid, const char *name, const char *new_name);
int oz_del_att(int ncid, int varid, const char *name);
int oz_get_att(int ncid, int varid, const char *name, void *values, nc_type type);
int oz_put_att(int ncid, int varid, const char *name, nc_type type, size_t len, const void *values, nc_type memory_type);

/* define.c */
int oz_def_dim(int ncid, const char *name, size_t len, int *id);
int oz_rename_dim(int ncid, int id, const char *name);
int oz_def_var(int ncid, const char *name, nc_type type, int rank, const int *dims, int *id);
int oz_rename_var(int ncid, int varid, const char *name);
int oz_def_grp(int ncid, const char *name, int *id);
int oz_rename_grp(int ncid, const char *name);
int oz_def_var_fill(int ncid, int varid, int no_fill, const void *fill);
int oz_def_var_deflate(int ncid, int varid, int shuffle, int deflate, int level);
int oz_def_var_fletcher32(int ncid, int varid, int fletcher);
int oz_def_var_chunking(int ncid, int varid, int storage, const size_t *chunks);
int oz_def_var_endian(int ncid, int varid, int endian);
int oz_def_var_filter(int ncid, int varid, unsigned id, size_t count, const unsigned *parameters);
int oz_def_var_quantize(int ncid, int varid, int mode, int digits);
int oz_set_var_chunk_cache(int ncid, int varid, size_t size, size_t slots, float preemption);

/* data.c */
int oz_get_vara(int ncid, int varid, const size_t *start, const size_t *count, void *values, nc_type type);
int oz_put_vara(int ncid, int varid, const size_t *start, const size_t *count, const void *values, nc_type type);
int oz_get_vars(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, void *values, nc_type type);
int oz_put_vars(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const void *values, nc_type type);
int oz_get_varm(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const ptrdiff_t *map, void *values,
    nc_type type);
int oz_put_varm(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const ptrdiff_t *map,
    const void *values, nc_type type);

#endif
