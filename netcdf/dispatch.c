/* The dispatch table, and its registration with the netCDF-C that the program uses. */
#include "register.h"
#include "table.h"

#include <dlfcn.h>
#include <fenv.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

/* What a call leaves of the program's: whether its thread may be cancelled, by which files would stay locked and half changed, and the floating-point
 * environment, by which numbers become other texts, or stop the program. */
typedef struct world {
    int cancel;
    bool own_floats;
    unsigned control;
    fenv_t floats;
} world;

static void leave(world *w) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &w->cancel);
    w->own_floats = true;
#ifdef __x86_64__
    /* As almost always the default one, whose flags alone are to be kept: in few instructions. */
    enum { DEFAULT = 0x1f80, FLAGS = 0x3f };
    w->control = _mm_getcsr();
    w->own_floats = (w->control & ~(unsigned)FLAGS) != DEFAULT;
#endif
    if (w->own_floats) fegetenv(&w->floats), fesetenv(FE_DFL_ENV);
}

static void enter(const world *w) {
    if (w->own_floats) fesetenv(&w->floats);
#ifdef __x86_64__
    else if (_mm_getcsr() != w->control) _mm_setcsr(w->control);
#endif
    pthread_setcancelstate(w->cancel, NULL);
}

/* Each function of the table: its name, its parameters, and what is handed on. */
#define CALLS(CALL) \
    CALL(create, (const char *path, int cmode, size_t initial, int basepe, size_t *hint, void *parameters, const NC_Dispatch *table, int ncid), \
        (path, cmode, initial, basepe, hint, parameters, table, ncid)) \
    CALL(open, (const char *path, int mode, int basepe, size_t *hint, void *parameters, const NC_Dispatch *table, int ncid), \
        (path, mode, basepe, hint, parameters, table, ncid)) \
    CALL(redef, (int ncid), (ncid)) \
    CALL(sync, (int ncid), (ncid)) \
    CALL(abort, (int ncid), (ncid)) \
    CALL(close, (int ncid, void *memory), (ncid, memory)) \
    CALL(set_fill, (int ncid, int mode, int *old), (ncid, mode, old)) \
    CALL(inq_format, (int ncid, int *format), (ncid, format)) \
    CALL(inq_format_extended, (int ncid, int *format, int *mode), (ncid, format, mode)) \
    CALL(inq, (int ncid, int *dims, int *vars, int *atts, int *unlimited), (ncid, dims, vars, atts, unlimited)) \
    CALL(inq_type, (int ncid, nc_type type, char *name, size_t *size), (ncid, type, name, size)) \
    CALL(def_dim, (int ncid, const char *name, size_t len, int *id), (ncid, name, len, id)) \
    CALL(inq_dimid, (int ncid, const char *name, int *id), (ncid, name, id)) \
    CALL(inq_dim, (int ncid, int id, char *name, size_t *len), (ncid, id, name, len)) \
    CALL(inq_unlimdim, (int ncid, int *id), (ncid, id)) \
    CALL(rename_dim, (int ncid, int id, const char *name), (ncid, id, name)) \
    CALL(inq_att, (int ncid, int varid, const char *name, nc_type *type, size_t *len), (ncid, varid, name, type, len)) \
    CALL(inq_attid, (int ncid, int varid, const char *name, int *id), (ncid, varid, name, id)) \
    CALL(inq_attname, (int ncid, int varid, int id, char *name), (ncid, varid, id, name)) \
    CALL(rename_att, (int ncid, int varid, const char *name, const char *new_name), (ncid, varid, name, new_name)) \
    CALL(del_att, (int ncid, int varid, const char *name), (ncid, varid, name)) \
    CALL(get_att, (int ncid, int varid, const char *name, void *values, nc_type type), (ncid, varid, name, values, type)) \
    CALL(put_att, (int ncid, int varid, const char *name, nc_type type, size_t len, const void *values, nc_type memory_type), \
        (ncid, varid, name, type, len, values, memory_type)) \
    CALL(def_var, (int ncid, const char *name, nc_type type, int rank, const int *dims, int *id), (ncid, name, type, rank, dims, id)) \
    CALL(inq_varid, (int ncid, const char *name, int *id), (ncid, name, id)) \
    CALL(rename_var, (int ncid, int varid, const char *name), (ncid, varid, name)) \
    CALL(get_vara, (int ncid, int varid, const size_t *start, const size_t *count, void *values, nc_type type), \
        (ncid, varid, start, count, values, type)) \
    CALL(put_vara, (int ncid, int varid, const size_t *start, const size_t *count, const void *values, nc_type type), \
        (ncid, varid, start, count, values, type)) \
    CALL(get_vars, (int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, void *values, nc_type type), \
        (ncid, varid, start, count, stride, values, type)) \
    CALL(put_vars, (int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const void *values, nc_type type), \
        (ncid, varid, start, count, stride, values, type)) \
    CALL(get_varm, (int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const ptrdiff_t *map, void *values, \
        nc_type type), \
        (ncid, varid, start, count, stride, map, values, type)) \
    CALL(put_varm, (int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const ptrdiff_t *map, \
        const void *values, nc_type type), \
        (ncid, varid, start, count, stride, map, values, type)) \
    CALL(inq_var_all, (int ncid, int varid, char *name, nc_type *type, int *rank, int *dims, int *atts, int *shuffle, int *deflate, int *level, \
        int *fletcher, int *contiguous, size_t *chunks, int *no_fill, void *fill, int *endian, unsigned *id, size_t *count, unsigned *parameters), \
        (ncid, varid, name, type, rank, dims, atts, shuffle, deflate, level, fletcher, contiguous, chunks, no_fill, fill, endian, id, count, \
        parameters)) \
    CALL(var_par_access, (int ncid, int varid, int access), (ncid, varid, access)) \
    CALL(def_var_fill, (int ncid, int varid, int no_fill, const void *fill), (ncid, varid, no_fill, fill)) \
    CALL(show_metadata, (int ncid), (ncid)) \
    CALL(inq_unlimdims, (int ncid, int *count, int *ids), (ncid, count, ids)) \
    CALL(inq_ncid, (int ncid, const char *name, int *group), (ncid, name, group)) \
    CALL(inq_grps, (int ncid, int *count, int *ids), (ncid, count, ids)) \
    CALL(inq_grpname, (int ncid, char *name), (ncid, name)) \
    CALL(inq_grpname_full, (int ncid, size_t *len, char *name), (ncid, len, name)) \
    CALL(inq_grp_parent, (int ncid, int *parent), (ncid, parent)) \
    CALL(inq_grp_full_ncid, (int ncid, const char *name, int *group), (ncid, name, group)) \
    CALL(inq_varids, (int ncid, int *count, int *ids), (ncid, count, ids)) \
    CALL(inq_dimids, (int ncid, int *count, int *ids, int parents), (ncid, count, ids, parents)) \
    CALL(inq_typeids, (int ncid, int *count, int *ids), (ncid, count, ids)) \
    CALL(inq_type_equal, (int ncid, nc_type type, int other_ncid, nc_type other, int *equal), (ncid, type, other_ncid, other, equal)) \
    CALL(def_grp, (int ncid, const char *name, int *id), (ncid, name, id)) \
    CALL(rename_grp, (int ncid, const char *name), (ncid, name)) \
    CALL(inq_user_type, (int ncid, nc_type type, char *name, size_t *size, nc_type *base, size_t *fields, int *kind), \
        (ncid, type, name, size, base, fields, kind)) \
    CALL(inq_typeid, (int ncid, const char *name, nc_type *id), (ncid, name, id)) \
    CALL(def_compound, (int ncid, size_t size, const char *name, nc_type *id), (ncid, size, name, id)) \
    CALL(insert_compound, (int ncid, nc_type type, const char *name, size_t offset, nc_type field), (ncid, type, name, offset, field)) \
    CALL(insert_array_compound, (int ncid, nc_type type, const char *name, size_t offset, nc_type field, int rank, const int *shape), \
        (ncid, type, name, offset, field, rank, shape)) \
    CALL(inq_compound_field, (int ncid, nc_type type, int field, char *name, size_t *offset, nc_type *id, int *rank, int *shape), \
        (ncid, type, field, name, offset, id, rank, shape)) \
    CALL(inq_compound_fieldindex, (int ncid, nc_type type, const char *name, int *field), (ncid, type, name, field)) \
    CALL(def_vlen, (int ncid, const char *name, nc_type base, nc_type *id), (ncid, name, base, id)) \
    CALL(put_vlen_element, (int ncid, int type, void *element, size_t len, const void *values), (ncid, type, element, len, values)) \
    CALL(get_vlen_element, (int ncid, int type, const void *element, size_t *len, void *values), (ncid, type, element, len, values)) \
    CALL(def_enum, (int ncid, nc_type base, const char *name, nc_type *id), (ncid, base, name, id)) \
    CALL(insert_enum, (int ncid, nc_type type, const char *name, const void *value), (ncid, type, name, value)) \
    CALL(inq_enum_member, (int ncid, nc_type type, int index, char *name, void *value), (ncid, type, index, name, value)) \
    CALL(inq_enum_ident, (int ncid, nc_type type, long long value, char *name), (ncid, type, value, name)) \
    CALL(def_opaque, (int ncid, size_t size, const char *name, nc_type *id), (ncid, size, name, id)) \
    CALL(def_var_deflate, (int ncid, int varid, int shuffle, int deflate, int level), (ncid, varid, shuffle, deflate, level)) \
    CALL(def_var_fletcher32, (int ncid, int varid, int fletcher), (ncid, varid, fletcher)) \
    CALL(def_var_chunking, (int ncid, int varid, int storage, const size_t *chunks), (ncid, varid, storage, chunks)) \
    CALL(def_var_endian, (int ncid, int varid, int endian), (ncid, varid, endian)) \
    CALL(def_var_filter, (int ncid, int varid, unsigned id, size_t count, const unsigned *parameters), (ncid, varid, id, count, parameters)) \
    CALL(set_var_chunk_cache, (int ncid, int varid, size_t size, size_t slots, float preemption), (ncid, varid, size, slots, preemption)) \
    CALL(get_var_chunk_cache, (int ncid, int varid, size_t *size, size_t *slots, float *preemption), (ncid, varid, size, slots, preemption)) \
    CALL(inq_var_filter_ids, (int ncid, int varid, size_t *count, unsigned *ids), (ncid, varid, count, ids)) \
    CALL(inq_var_filter_info, (int ncid, int varid, unsigned id, size_t *count, unsigned *parameters), (ncid, varid, id, count, parameters)) \
    CALL(def_var_quantize, (int ncid, int varid, int mode, int digits), (ncid, varid, mode, digits)) \
    CALL(inq_var_quantize, (int ncid, int varid, int *mode, int *digits), (ncid, varid, mode, digits)) \
    CALL(inq_filter_avail, (int ncid, unsigned id), (ncid, id))

#define FUNCTION(name, parameters, arguments) \
    static int call_##name parameters { \
        world w; \
        leave(&w); \
        int status = oz_##name arguments; \
        enter(&w); \
        return status; \
    }
#define ENTRY(name, parameters, arguments) .name = call_##name,

CALLS(FUNCTION)
FUNCTION(enddef, (int ncid, size_t head, size_t align, size_t room, size_t record_align), (ncid, head, align, room, record_align))

static NC_Dispatch table = {
    .model = NC_FORMATX_UDF0,
    .dispatch_version = NC_DISPATCH_VERSION,
    ._enddef = call_enddef,
    CALLS(ENTRY)
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
