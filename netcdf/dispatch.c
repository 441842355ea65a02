/* The dispatch table, and its registration with the netCDF-C that the program uses. */
#include "register.h"
#include "table.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static NC_Dispatch table = {
    .model = NC_FORMATX_UDF0,
    .dispatch_version = NC_DISPATCH_VERSION,
    .create = oz_create,
    .open = oz_open,
    .redef = oz_redef,
    ._enddef = oz_enddef,
    .sync = oz_sync,
    .abort = oz_abort,
    .close = oz_close,
    .set_fill = oz_set_fill,
    .inq_format = oz_inq_format,
    .inq_format_extended = oz_inq_format_extended,
    .inq = oz_inq,
    .inq_type = oz_inq_type,
    .def_dim = oz_def_dim,
    .inq_dimid = oz_inq_dimid,
    .inq_dim = oz_inq_dim,
    .inq_unlimdim = oz_inq_unlimdim,
    .rename_dim = oz_rename_dim,
    .inq_att = oz_inq_att,
    .inq_attid = oz_inq_attid,
    .inq_attname = oz_inq_attname,
    .rename_att = oz_rename_att,
    .del_att = oz_del_att,
    .get_att = oz_get_att,
    .put_att = oz_put_att,
    .def_var = oz_def_var,
    .inq_varid = oz_inq_varid,
    .rename_var = oz_rename_var,
    .get_vara = oz_get_vara,
    .put_vara = oz_put_vara,
    .get_vars = oz_get_vars,
    .put_vars = oz_put_vars,
    .get_varm = oz_get_varm,
    .put_varm = oz_put_varm,
    .inq_var_all = oz_inq_var_all,
    .var_par_access = oz_var_par_access,
    .def_var_fill = oz_def_var_fill,
    .show_metadata = oz_show_metadata,
    .inq_unlimdims = oz_inq_unlimdims,
    .inq_ncid = oz_inq_ncid,
    .inq_grps = oz_inq_grps,
    .inq_grpname = oz_inq_grpname,
    .inq_grpname_full = oz_inq_grpname_full,
    .inq_grp_parent = oz_inq_grp_parent,
    .inq_grp_full_ncid = oz_inq_grp_full_ncid,
    .inq_varids = oz_inq_varids,
    .inq_dimids = oz_inq_dimids,
    .inq_typeids = oz_inq_typeids,
    .inq_type_equal = oz_inq_type_equal,
    .def_grp = oz_def_grp,
    .rename_grp = oz_rename_grp,
    .inq_user_type = oz_inq_user_type,
    .inq_typeid = oz_inq_typeid,
    .def_compound = oz_def_compound,
    .insert_compound = oz_insert_compound,
    .insert_array_compound = oz_insert_array_compound,
    .inq_compound_field = oz_inq_compound_field,
    .inq_compound_fieldindex = oz_inq_compound_fieldindex,
    .def_vlen = oz_def_vlen,
    .put_vlen_element = oz_put_vlen_element,
    .get_vlen_element = oz_get_vlen_element,
    .def_enum = oz_def_enum,
    .insert_enum = oz_insert_enum,
    .inq_enum_member = oz_inq_enum_member,
    .inq_enum_ident = oz_inq_enum_ident,
    .def_opaque = oz_def_opaque,
    .def_var_deflate = oz_def_var_deflate,
    .def_var_fletcher32 = oz_def_var_fletcher32,
    .def_var_chunking = oz_def_var_chunking,
    .def_var_endian = oz_def_var_endian,
    .def_var_filter = oz_def_var_filter,
    .set_var_chunk_cache = oz_set_var_chunk_cache,
    .get_var_chunk_cache = oz_get_var_chunk_cache,
    .inq_var_filter_ids = oz_inq_var_filter_ids,
    .inq_var_filter_info = oz_inq_var_filter_info,
    .def_var_quantize = oz_def_var_quantize,
    .inq_var_quantize = oz_inq_var_quantize,
    .inq_filter_avail = oz_inq_filter_avail,
};

/* The netCDF library among those that are loaded, also one that no other library sees, as in Python's wheels. */
static int look(struct dl_phdr_info *info, size_t size, void *found) {
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    name = name ? name + 1 : "";
    if (strncmp(name, "libnetcdf.", 10) != 0 && strncmp(name, "libnetcdf-", 10) != 0 && strncmp(name, "libnetcdf_", 10) != 0) return 0;
    *(void **)found = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
    return *(void **)found != NULL;
}

void *oz_netcdf_function(const char *name) {
    static void *library;
    void *function = dlsym(RTLD_NEXT, name);
    if (function) return function;
    if (!library) dl_iterate_phdr(look, &library);
    return library ? dlsym(library, name) : NULL;
}

int ozarr_netcdf_register(void) {
    typedef int define(int, NC_Dispatch *, char *);
    static bool done;
    if (done) return NC_NOERR;
    define *function = (define *)oz_netcdf_function("nc_def_user_format");
    char magic[] = "{";
    /* Without the flag of netCDF-4, which 4.9.0 refuses here. */
    int status = function ? function(NC_UDF0, &table, magic) : NC_ENOTBUILT;
    done = status == NC_NOERR;
    if (status) oz_log("netCDF-C does not take the table (%d): it is to be of version 4.9 or later", status);
    return status;
}

void *ozarr_netcdf_initialize(void) { return &table; }
