/* A random program of netCDF: prints what each call gives, to be compared between formats.
 *
 *   netcdf_random PATH SEED [CALLS [plain]]     plain: without types that the program defines */
#include "../../c_tests/random.h"
#include <inttypes.h>
#include <netcdf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 12, LIMIT = 4096, WIDEST = 40 };

static numbers state;

/* What counts of a status: netCDF-4 has its own choice among several errors. Its files fail by themselves now and then, as after renaming. */
static int told(int status) { return !status || status == NC_ERANGE || status == NC_EHDFERR ? status : -1; }

static const char *path;
static int file, mode;
static int groups[MOST], group_count;
static char group_names[MOST][256];
static struct { int group; char name[64]; } dims[MOST], vars[MOST];
static int dim_count, var_count, fresh_name;

/* Types that the program defines: a compound type of some fields, an enumeration, bytes, lists of int. */
static struct { int group; char name[64]; } user_types[MOST];
static int user_count;

static const nc_type TYPES[] = {NC_BYTE, NC_UBYTE, NC_SHORT, NC_USHORT, NC_INT, NC_UINT, NC_INT64, NC_UINT64, NC_FLOAT, NC_DOUBLE, NC_CHAR, NC_STRING};
static bool classic, plain;
static int format;
static const int types = 12;

static void name_for(char *name, const char *kind) { snprintf(name, 64, "%s%d%s", kind, fresh_name++, pick(&state, 0, 9) ? "" : " \xc3\xa9"); }

static bool is_user(nc_type t) { return t > NC_STRING; }

static int class_of(int g, nc_type t) {
    int class = 0;
    return is_user(t) && nc_inq_user_type(g, t, NULL, NULL, NULL, NULL, &class) == NC_NOERR ? class : 0;
}

/* Fills memory with elements of a type that the program defined. */
static void user_values(int g, nc_type t, void *memory, size_t n) {
    static int list[] = {1, 2, 3, 4, 5};
    size_t size = 0;
    const int class = class_of(g, t);
    nc_inq_type(g, t, NULL, &size);
    for (size_t i = 0; i < n; i++) {
        if (class == NC_VLEN) ((nc_vlen_t *)memory)[i] = (nc_vlen_t){(size_t)pick(&state, 0, 4), list};
        else if (class == NC_ENUM) ((int *)memory)[i] = (int)pick(&state, 0, 2);
        else for (size_t k = 0; k < size; k++) ((char *)memory)[i * size + k] = (char)pick(&state, 0, 63); /* no NaN */
    }
}

/* Which bytes of an element count: the room between the fields of a compound type does not. */
static void find_fields(int g, nc_type t, size_t size, bool *counts) {
    size_t fields = 0;
    const bool compound = class_of(g, t) == NC_COMPOUND && !nc_inq_compound_nfields(g, t, &fields);
    memset(counts, !compound, size);
    for (int f = 0; f < (int)fields; f++) {
        size_t offset = 0, bytes = 0;
        int rank = 0, length = 1;
        nc_type of = 0;
        nc_inq_compound_field(g, t, f, NULL, &offset, &of, &rank, &length);
        nc_inq_type(g, of, NULL, &bytes);
        memset(counts + offset, true, bytes * (rank ? (size_t)length : 1));
    }
}

static void show_user(int g, nc_type t, void *memory, size_t n) {
    size_t size = 0;
    const int class = class_of(g, t);
    bool counts[WIDEST];
    nc_inq_type(g, t, NULL, &size);
    find_fields(g, t, size, counts);
    for (size_t i = 0; i < n; i++) {
        putchar(' ');
        if (class == NC_VLEN) {
            const nc_vlen_t *v = &((nc_vlen_t *)memory)[i];
            for (size_t k = 0; k < v->len; k++) printf("%s%d", k ? "," : "", ((int *)v->p)[k]);
        } else for (size_t k = 0; k < size; k++) if (counts[k]) printf("%02x", ((unsigned char *)memory)[i * size + k]);
    }
    putchar('\n');
    if (class == NC_VLEN) nc_free_vlens(n, memory);
}

/* Fills memory with elements of a type. */
static void values(nc_type t, nc_type to, void *memory, size_t n) {
    static char *const strings[] = {"", "a", "\xc3\xa9t\xc3\xa9", "longer than a few letters, with \"quotes\" and\nlines"};
    /* What a number becomes that an integer cannot hold, C does not say; CDF-5 leaves what there was, or anything. */
    const bool fits = (t == NC_FLOAT || t == NC_DOUBLE || format == NC_64BIT_DATA) && to != NC_FLOAT && to != NC_DOUBLE, wild = !fits && pick(&state, 0, 19) == 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t v = wild ? pick(&state, -1000000, 1000000) : pick(&state, fits || t == NC_UINT || t == NC_UINT64 ? 0 : -20, 100);
        switch (t) {
        case NC_BYTE: ((signed char *)memory)[i] = (signed char)v; break;
        case NC_UBYTE: ((unsigned char *)memory)[i] = (unsigned char)v; break;
        case NC_SHORT: ((short *)memory)[i] = (short)v; break;
        case NC_USHORT: ((unsigned short *)memory)[i] = (unsigned short)v; break;
        case NC_INT: ((int *)memory)[i] = (int)v; break;
        case NC_UINT: ((unsigned *)memory)[i] = (unsigned)v; break;
        case NC_INT64: ((long long *)memory)[i] = wild ? v * 1000000 : v; break;
        case NC_UINT64: ((unsigned long long *)memory)[i] = (unsigned long long)(wild ? v * 1000000 : v); break;
        case NC_FLOAT: ((float *)memory)[i] = (float)v / 4; break;
        case NC_DOUBLE: ((double *)memory)[i] = wild ? (double)v * 1e9 : (double)v / 8; break;
        case NC_CHAR: ((char *)memory)[i] = (char)('a' + (v + 20) % 26); break;
        default: ((char **)memory)[i] = strings[(v + 1000000) % 4];
        }
    }
}

static void show(nc_type t, const void *memory, size_t n) {
    for (size_t i = 0; i < n; i++) {
        putchar(' ');
        switch (t) {
        case NC_BYTE: printf("%d", ((const signed char *)memory)[i]); break;
        case NC_UBYTE: printf("%d", ((const unsigned char *)memory)[i]); break;
        case NC_SHORT: printf("%d", ((const short *)memory)[i]); break;
        case NC_USHORT: printf("%d", ((const unsigned short *)memory)[i]); break;
        case NC_INT: printf("%d", ((const int *)memory)[i]); break;
        case NC_UINT: printf("%u", ((const unsigned *)memory)[i]); break;
        case NC_INT64: printf("%lld", ((const long long *)memory)[i]); break;
        case NC_UINT64: printf("%llu", ((const unsigned long long *)memory)[i]); break;
        case NC_FLOAT: printf("%.9g", (double)((const float *)memory)[i]); break;
        case NC_DOUBLE: printf("%.17g", ((const double *)memory)[i]); break;
        case NC_CHAR: printf("%02x", ((const unsigned char *)memory)[i]); break;
        default: {
            const char *s = ((char *const *)memory)[i];
            printf("%s", s ? "\"" : "NULL");
            for (; s && *s; s++) printf(*s < ' ' || *s == 127 ? "%02x" : "%c", *s);
        }
        }
    }
    putchar('\n');
}

/* Another type that the elements may have in memory. */
static nc_type memory_type(nc_type t) { return t == NC_CHAR || t >= NC_STRING || pick(&state, 0, 1) ? t : TYPES[pick(&state, 0, 9)]; }

/* The types, as functions of netCDF name them and as C does. */
#define CASES(X) \
    X(NC_BYTE, schar, signed char) X(NC_UBYTE, uchar, unsigned char) X(NC_SHORT, short, short) X(NC_USHORT, ushort, unsigned short) X(NC_INT, int, int) \
    X(NC_UINT, uint, unsigned) X(NC_INT64, longlong, long long) X(NC_UINT64, ulonglong, unsigned long long) X(NC_FLOAT, float, float) \
    X(NC_DOUBLE, double, double) X(NC_CHAR, text, char)

static int put(int g, int v, nc_type t, const size_t *start, const size_t *count, const ptrdiff_t *stride, const void *data) {
#define CASE(TYPE, NAME, C) case TYPE: return stride ? nc_put_vars_##NAME(g, v, start, count, stride, (const C *)data) : nc_put_vara_##NAME(g, v, start, count, (const C *)data);
    switch (t) {
        CASES(CASE)
    case NC_STRING: return stride ? nc_put_vars_string(g, v, start, count, stride, (const char **)data) : nc_put_vara_string(g, v, start, count, (const char **)data);
    default: return stride ? nc_put_vars(g, v, start, count, stride, data) : nc_put_vara(g, v, start, count, data);
    }
#undef CASE
}

static int get(int g, int v, nc_type t, const size_t *start, const size_t *count, const ptrdiff_t *stride, void *data) {
#define CASE(TYPE, NAME, C) case TYPE: return stride ? nc_get_vars_##NAME(g, v, start, count, stride, (C *)data) : nc_get_vara_##NAME(g, v, start, count, (C *)data);
    switch (t) {
        CASES(CASE)
    case NC_STRING: return stride ? nc_get_vars_string(g, v, start, count, stride, (char **)data) : nc_get_vara_string(g, v, start, count, (char **)data);
    default: return stride ? nc_get_vars(g, v, start, count, stride, data) : nc_get_vara(g, v, start, count, data);
    }
#undef CASE
}

static int some_group(void) { return groups[pick(&state, 0, group_count - 1)]; }

/* Whether a dimension may grow. */
static bool grows(int g, int id) {
    for (;;) {
        int unlimited[MOST * 2], n = 0;
        nc_inq_unlimdims(g, &n, unlimited);
        for (int u = 0; u < n; u++)
            if (unlimited[u] == id) return true;
        if (nc_inq_grp_parent(g, &g)) return false;
    }
}

/* A variable, or none: NC_GLOBAL of some group. */
static bool some_var(int *g, int *v) {
    if (!var_count) return false;
    const int i = (int)pick(&state, 0, var_count - 1);
    *g = groups[vars[i].group];
    return nc_inq_varid(*g, vars[i].name, v) == NC_NOERR;
}

static void some_node(int *g, int *v) {
    if (pick(&state, 0, 2) == 0 || !some_var(g, v)) *g = some_group(), *v = NC_GLOBAL;
}

static void def_dim(void) {
    char name[64];
    int id = -1;
    if (dim_count == MOST) return;
    const int i = (int)pick(&state, 0, group_count - 1);
    name_for(name, "d");
    const size_t length = pick(&state, 0, 3) ? (size_t)pick(&state, 1, 7) : NC_UNLIMITED;
    const int status = nc_def_dim(groups[i], name, length, &id);
    printf("dim %s %zu: %d\n", name, length, told(status));
    if (status == NC_NOERR) dims[dim_count].group = i, strcpy(dims[dim_count++].name, name);
}

static void def_grp(void) {
    char name[64];
    if (group_count == MOST) return;
    const int i = (int)pick(&state, 0, group_count - 1);
    name_for(name, "g");
    const int status = nc_def_grp(groups[i], name, &groups[group_count]);
    printf("group %s: %d\n", name, told(status));
    if (status) return;
    snprintf(group_names[group_count], 256, "%.180s/%s", strcmp(group_names[i], "/") ? group_names[i] : "", name);
    group_count++;
}

static void def_type(void) {
    static const struct { nc_type type; size_t size; int length; } FIELDS[] = {{NC_DOUBLE, 8, 0}, {NC_INT64, 8, 0}, {NC_INT, 4, 0}, {NC_FLOAT, 4, 0}, {NC_SHORT, 4, 2}, {NC_CHAR, 4, 4}};
    char name[64], field[16];
    nc_type id = 0;
    if (user_count == MOST || format != NC_NETCDF4 || plain) return;
    const int i = (int)pick(&state, 0, group_count - 1), kind = (int)pick(&state, 0, 3);
    int status = NC_NOERR;
    name_for(name, "T");
    if (kind == 0) {
        /* As C lays them out, with room between and behind the fields: netCDF-4 moves elements that lie otherwise to the wrong places. */
        size_t end = 0, offsets[6] = {0}, widest = 1;
        const int64_t which = pick(&state, 1, 63);
        const bool backwards = pick(&state, 0, 1);
        for (int k = 0; k < 6; k++) {
            const int f = backwards ? 5 - k : k;
            if (!(which >> f & 1)) continue;
            const size_t align = FIELDS[f].size / (size_t)(FIELDS[f].length ? FIELDS[f].length : 1);
            offsets[f] = (end + align - 1) / align * align, end = offsets[f] + FIELDS[f].size;
            if (align > widest) widest = align;
        }
        status = nc_def_compound(groups[i], (end + widest - 1) / widest * widest, name, &id);
        for (int k = 0; k < 6 && !status; k++) {
            const int f = backwards ? 5 - k : k;
            if (!(which >> f & 1)) continue;
            snprintf(field, sizeof field, "f%d", f);
            status = FIELDS[f].length ? nc_insert_array_compound(groups[i], id, field, offsets[f], FIELDS[f].type, 1, &FIELDS[f].length)
                                      : nc_insert_compound(groups[i], id, field, offsets[f], FIELDS[f].type);
        }
    } else if (kind == 1) {
        status = nc_def_enum(groups[i], NC_INT, name, &id);
        for (int m = 0; m < 3 && !status; m++) {
            snprintf(field, sizeof field, "m%d", m);
            status = nc_insert_enum(groups[i], id, field, &m);
        }
    } else if (kind == 2) status = nc_def_opaque(groups[i], (size_t)pick(&state, 1, 5), name, &id);
    else status = nc_def_vlen(groups[i], name, NC_INT, &id);
    printf("type %s kind %d: %d\n", name, kind, told(status));
    if (status == NC_NOERR) user_types[user_count].group = i, strcpy(user_types[user_count++].name, name);
}

static void def_var(void) {
    char name[64];
    int ids[4], rank = (int)pick(&state, 0, 3), id = -1;
    if (var_count == MOST) return;
    const int i = (int)pick(&state, 0, group_count - 1);
    for (int d = 0; d < rank; d++) {
        if (!dim_count) return;
        const int k = (int)pick(&state, 0, dim_count - 1);
        if (nc_inq_dimid(groups[i], dims[k].name, &ids[d])) return;
        /* Where another dimension than the first grows, netCDF-4 reads what is not there yet into the wrong places. */
        if (grows(groups[i], ids[d]) && d > 0) return;
    }
    /* A coordinate, at times. */
    if (rank == 1 && pick(&state, 0, 1)) {
        nc_inq_dimname(groups[i], ids[0], name);
    } else name_for(name, "v");
    nc_type t = TYPES[pick(&state, 0, types - 1)];
    const char *of = "";
    if (user_count && pick(&state, 0, 2) == 0) {
        const int k = (int)pick(&state, 0, user_count - 1);
        const char *above = group_names[user_types[k].group];
        of = user_types[k].name;
        /* Variables whose type is of a group beside or below theirs are lost in netCDF-4. */
        if (strncmp(above, group_names[i], strlen(above)) != 0 || nc_inq_typeid(groups[i], of, &t)) return;
    }
    const int status = nc_def_var(groups[i], name, t, rank, ids, &id);
    printf("var %s type %d%s rank %d: %d id %d\n", name, is_user(t) ? 0 : t, of, rank, told(status), id);
    if (status) return;
    vars[var_count].group = i, strcpy(vars[var_count++].name, name);
    size_t chunks[4];
    if (rank && (format & NC_NETCDF4) && pick(&state, 0, 2) == 0) {
        bool fits = true;
        for (int d = 0; d < rank; d++) {
            size_t length = 1;
            nc_inq_dimlen(groups[i], ids[d], &length);
            chunks[d] = (size_t)pick(&state, 1, 4);
            if (chunks[d] > length && !grows(groups[i], ids[d])) fits = false;
        }
        if (fits) printf("  chunking: %d\n", told(nc_def_var_chunking(groups[i], id, NC_CHUNKED, chunks)));
        if (t < NC_STRING && pick(&state, 0, 1)) printf("  deflate: %d\n", told(nc_def_var_deflate(groups[i], id, (int)pick(&state, 0, 1), 1, (int)pick(&state, 1, 3))));
        if (t < NC_STRING && pick(&state, 0, 3) == 0) printf("  fletcher32: %d\n", told(nc_def_var_fletcher32(groups[i], id, NC_FLETCHER32)));
    }
    if (t < NC_STRING && pick(&state, 0, 3) == 0) {
        double fill;
        values(t, t, &fill, 1);
        printf("  fill: %d\n", told(nc_def_var_fill(groups[i], id, NC_FILL, &fill)));
    }
}

/* The name of an attribute: one of some, that others may have. */
static const char *const ATTRIBUTES[] = {"units", "a", "b", "valid_range", "coordinates", "scale_factor", "add_offset", "missing_value", "long name", "\xc3\xa9"};

static const char *att_name(void) { return ATTRIBUTES[pick(&state, 0, 9)]; }

static void put_att(void) {
    int g, v;
    if (classic) nc_redef(file); /* Where one that takes no more room replaces another, it need not be. */
    char memory[8 * 16];
    some_node(&g, &v);
    const nc_type t = TYPES[pick(&state, 0, types - 1)];
    size_t n = (size_t)(pick(&state, 0, 1) ? 1 : pick(&state, 0, 6));
    const char *name = att_name();
    if (t == NC_CHAR && !n) n = 1; /* netCDF-4 does not replace one byte by none. */
    values(t, t, memory, n);
    const int status = t == NC_CHAR ? nc_put_att_text(g, v, name, n, memory) : nc_put_att(g, v, name, t, n, memory);
    printf("att %s var %d type %d n %zu: %d\n", name, v, t, n, told(status));
}

static void get_att_of(int g, int v, const char *name) {
    nc_type t = 0;
    size_t n = 0;
    int status = nc_inq_att(g, v, name, &t, &n);
    printf("att %s var %d: %d type %d n %zu", name, v, told(status), t, n);
    char memory[8 * 4096];
    memset(memory, 0, sizeof memory);
    if (status || n > 4000) {
        putchar('\n');
        return;
    }
    status = nc_get_att(g, v, name, memory);
    printf(" get %d:", told(status));
    show(t, memory, status ? 0 : n);
    if (!status && t == NC_STRING) nc_free_string(n, (char **)memory);
    if (t == NC_CHAR || t == NC_STRING) return;
    double as[4096];
    memset(as, 0, sizeof as);
    int small[4096] = {0};
    status = nc_get_att_double(g, v, name, as);
    printf("  as double %d:", told(status));
    show(NC_DOUBLE, as, status ? 0 : n);
    status = nc_get_att_int(g, v, name, small);
    printf("  as int %d\n", told(status));
}

static void get_att(void) {
    int g, v;
    some_node(&g, &v);
    get_att_of(g, v, att_name());
}

static void del_att(void) {
    int g, v;
    if (format & NC_NETCDF4) return; /* One that was stored, replaced and deleted is there again. */
    some_node(&g, &v);
    const char *name = att_name();
    printf("del att %s var %d: %d\n", name, v, told(nc_del_att(g, v, name)));
}

static void copy_att(void) {
    int g, v, h, w;
    some_node(&g, &v);
    some_node(&h, &w);
    const char *name = att_name();
    if (g == h && v == w) return;
    printf("copy att %s var %d to %d: %d\n", name, v, w, told(nc_copy_att(g, v, name, h, w)));
}

static void rename_var(void) {
    char name[64];
    int id;
    if (!var_count) return;
    const int i = (int)pick(&state, 0, var_count - 1);
    if (nc_inq_varid(groups[vars[i].group], vars[i].name, &id)) return;
    name_for(name, "w");
    if (classic) nc_redef(file); /* Where the name takes no more room than any before, it need not be. */
    const int status = nc_rename_var(groups[vars[i].group], id, name);
    printf("rename var %s to %s: %d\n", vars[i].name, name, told(status));
    if (!status) strcpy(vars[i].name, name);
}

static void region_of(int g, int v, int rank, const int *ids, bool writes, size_t *start, size_t *count, ptrdiff_t *stride) {
    for (int d = 0; d < rank; d++) {
        size_t length = 0;
        nc_inq_dimlen(g, ids[d], &length);
        const bool more = grows(g, ids[d]);
        if (writes && more) length = length + 2 < 12 ? length + 2 : 12;
        stride[d] = pick(&state, 0, 2) ? 1 : (ptrdiff_t)pick(&state, 1, 3);
        if (more && !writes) stride[d] = 1; /* Beyond the end of a variable that is shorter than others netCDF-4 forgets elements. */
        if (pick(&state, 0, 39) == 0) start[d] = length + (size_t)pick(&state, 0, 1), count[d] = (size_t)pick(&state, 0, 2); /* outside */
        else {
            start[d] = length ? (size_t)pick(&state, 0, (int64_t)length - 1) : 0;
            const size_t most = length ? (length - start[d] + (size_t)stride[d] - 1) / (size_t)stride[d] : 0;
            count[d] = (size_t)pick(&state, pick(&state, 0, 5) ? 1 : 0, (int64_t)(most ? most : 0) < 1 ? 1 : (int64_t)most);
            if (!most) count[d] = 0;
        }
        if (count[d] > 12) count[d] = 12;
        if (!count[d] && !(format & NC_NETCDF4)) count[d] = 1; /* In the classic formats nothing that is written makes a dimension longer. */
    }
    (void)v;
}

static char memory[WIDEST * 2048];

static void access_var(bool writes) {
    int g, v, rank = 0, ids[4];
    nc_type t;
    size_t start[4] = {0}, count[4] = {0}, n = 1;
    ptrdiff_t stride[4] = {1, 1, 1, 1};
    if (!some_var(&g, &v)) return;
    const int found = nc_inq_var(g, v, NULL, &t, &rank, ids, NULL);
    if (found) {
        printf("var %d: %d\n", v, told(found));
        return;
    }
    region_of(g, v, rank, ids, writes, start, count, stride);
    bool strided = false;
    for (int d = 0; d < rank; d++) n *= count[d], strided |= stride[d] != 1;
    if (n > 2048) return;
    const nc_type of = memory_type(t);
    printf("%s var %d type %d memory %d", writes ? "put" : "get", v, is_user(t) ? 0 : t, is_user(t) ? 0 : of);
    for (int d = 0; d < rank; d++) printf(" [%zu %zu %td]", start[d], count[d], strided ? stride[d] : 1);
    memset(memory, 0, sizeof memory);
    if (writes) {
        if (is_user(t)) user_values(g, t, memory, n);
        else values(of, t, memory, n);
        printf(": %d\n", told(put(g, v, of, start, count, strided ? stride : NULL, memory)));
    } else {
        const int status = get(g, v, of, start, count, strided ? stride : NULL, memory);
        printf(": %d:", told(status));
        if (is_user(t)) show_user(g, t, memory, status ? 0 : n);
        else show(of, memory, status ? 0 : n);
        if (!status && t == NC_STRING) nc_free_string(n, (char **)memory);
    }
}

/* All of a file: what it has and its values. */
static void show_all(void) {
    for (int i = 0; i < group_count; i++) {
        int g = groups[i], nd = 0, nv = 0, na = 0, un = 0, unlimited[MOST], ids[MOST * 2];
        nc_inq_dimids(g, &nd, ids, 0);
        nc_inq_nvars(g, &nv);
        nc_inq_natts(g, &na);
        nc_inq_unlimdims(g, &un, unlimited);
        printf("group %s: %d dims %d vars %d atts %d unlimited\n", group_names[i], nd, nv, na, un);
        for (int d = 0; d < nd; d++) {
            char name[NC_MAX_NAME + 1] = "";
            size_t length = 0;
            nc_inq_dim(g, ids[d], name, &length);
            printf(" dim %s %zu %d\n", name, length, grows(g, ids[d]));
        }
        for (int v = -1; v < nv; v++) {
            char name[NC_MAX_NAME + 1] = "";
            int rank = 0, of[4] = {0}, atts = na;
            nc_type t = 0;
            if (v >= 0) {
                nc_inq_var(g, v, name, &t, &rank, of, &atts);
                /* Of several types that are alike netCDF-4 may name another. */
                printf(" var %d %s type %d atts %d dims", v, name, is_user(t) ? class_of(g, t) : t, atts);
                for (int d = 0; d < rank; d++) {
                    char dim[NC_MAX_NAME + 1] = "";
                    nc_inq_dimname(g, of[d], dim);
                    printf(" %s", dim);
                }
                putchar('\n');
            }
            /* An attribute that is replaced by one of another type is the last one in netCDF-4. */
            for (int k = 0; k < 11; k++) {
                for (int a = 0; a < atts; a++) {
                    char att[NC_MAX_NAME + 1] = "";
                    nc_inq_attname(g, v, a, att);
                    if (!strcmp(att, k < 10 ? ATTRIBUTES[k] : "_FillValue")) get_att_of(g, v, att);
                }
            }
            if (v < 0) continue;
            size_t start[4] = {0}, count[4], n = 1;
            for (int d = 0; d < rank; d++) {
                nc_inq_dimlen(g, of[d], &count[d]);
                n *= count[d];
            }
            if (t < NC_STRING) {
                int no_fill = -1;
                double fill = 0;
                printf("  fill %d", nc_inq_var_fill(g, v, &no_fill, &fill));
                printf(" %d", no_fill);
                if (!no_fill) show(t, &fill, 1);
                else putchar('\n');
            }
            if (n > 2048) continue;
            memset(memory, 0, sizeof memory);
            const int status = get(g, v, t, start, count, NULL, memory);
            printf("  values %d:", told(status));
            if (is_user(t)) show_user(g, t, memory, status ? 0 : n);
            else show(t, memory, status ? 0 : n);
            if (!status && t == NC_STRING) nc_free_string(n, (char **)memory);
        }
    }
}

static void open_again(void) {
    printf("close: %d\n", told(nc_close(file)));
    mode = pick(&state, 0, 3) ? NC_WRITE : NC_NOWRITE;
    printf("open %d: %d\n", mode, told(nc_open(path, mode, &file)));
    groups[0] = file;
    for (int i = 1; i < group_count; i++)
        if (nc_inq_grp_full_ncid(file, group_names[i], &groups[i])) printf("group %s is not there\n", group_names[i]);
    show_all();
    if (mode == NC_NOWRITE) {
        access_var(false);
        get_att();
        printf("close: %d\n", told(nc_close(file)));
        printf("open: %d\n", told(nc_open(path, NC_WRITE, &file)));
        groups[0] = file;
        for (int i = 1; i < group_count; i++)
            if (nc_inq_grp_full_ncid(file, group_names[i], &groups[i])) printf("group %s is not there\n", group_names[i]);
    }
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    path = argv[1];
    state.state = strtoull(argv[2], NULL, 10);
    const int calls = argc > 3 ? atoi(argv[3]) : 60;
    plain = argc > 4;
    static const int FORMATS[] = {NC_NETCDF4, NC_NETCDF4, NC_NETCDF4, NC_NETCDF4 | NC_CLASSIC_MODEL, 0, NC_64BIT_OFFSET, NC_64BIT_DATA};
    format = FORMATS[pick(&state, 0, 6)];
    classic = format != NC_NETCDF4;
    if (nc_create(path, NC_CLOBBER | format, &file)) return 1;
    printf("format %x\n", format);
    groups[0] = file, group_count = 1;
    strcpy(group_names[0], "/");
    for (int i = 0; i < calls; i++) {
        const int64_t kind = pick(&state, 0, 41);
        printf("%d ", i);
        if (classic && (kind < 10 || kind == 12) && pick(&state, 0, 4)) printf("redef: %d\n", told(nc_redef(file)));
        if (classic && kind > 22 && pick(&state, 0, 4)) printf("enddef\n"), nc_enddef(file);
        if (kind < 4) def_dim();
        else if (kind < 9) def_var();
        else if (kind < 10) def_grp();
        else if (kind < 14) put_att();
        else if (kind < 16) get_att();
        else if (kind == 16) del_att();
        else if (kind == 17) copy_att();
        else if (kind == 18) rename_var();
        else if (kind == 19) printf("sync: %d\n", told(nc_sync(file)));
        else if (kind == 20) printf("redef: %d\n", told(nc_redef(file)));
        else if (kind == 21) printf("enddef\n"), nc_enddef(file);
        else if (kind == 22) open_again();
        else if (kind < 33) access_var(true);
        else if (kind < 40) access_var(false);
        else def_type();
        fflush(stdout);
    }
    nc_enddef(file);
    show_all();
    open_again();
    printf("close: %d\n", told(nc_close(file)));
    return 0;
}
