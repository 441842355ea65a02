/* netCDF's atomic types: sizes, names, fill values, and the conversion from one to another. */
#include "types.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    oz_type type;
    ozarr_type stored;
} TYPES[] = {
    {{.name = "byte", .id = NC_BYTE, .size = 1, .base = NC_BYTE}, OZARR_INT8},
    {{.name = "char", .id = NC_CHAR, .size = 1, .base = NC_CHAR}, OZARR_BY_DTYPE},
    {{.name = "short", .id = NC_SHORT, .size = 2, .base = NC_SHORT}, OZARR_INT16},
    {{.name = "int", .id = NC_INT, .size = 4, .base = NC_INT}, OZARR_INT32},
    {{.name = "float", .id = NC_FLOAT, .size = 4, .base = NC_FLOAT}, OZARR_FLOAT32},
    {{.name = "double", .id = NC_DOUBLE, .size = 8, .base = NC_DOUBLE}, OZARR_FLOAT64},
    {{.name = "ubyte", .id = NC_UBYTE, .size = 1, .base = NC_UBYTE}, OZARR_UINT8},
    {{.name = "ushort", .id = NC_USHORT, .size = 2, .base = NC_USHORT}, OZARR_UINT16},
    {{.name = "uint", .id = NC_UINT, .size = 4, .base = NC_UINT}, OZARR_UINT32},
    {{.name = "int64", .id = NC_INT64, .size = 8, .base = NC_INT64}, OZARR_INT64},
    {{.name = "uint64", .id = NC_UINT64, .size = 8, .base = NC_UINT64}, OZARR_UINT64},
    {{.name = "string", .id = NC_STRING, .size = sizeof(char *), .base = NC_STRING}, OZARR_STRING},
};

enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

/* netCDF numbers its atomic types from 1, in the order of the table. */
static bool atomic(nc_type type) { return type >= NC_BYTE && type <= NC_STRING; }

const oz_type *oz_type_atomic(nc_type type) { return atomic(type) ? &TYPES[type - 1].type : NULL; }

size_t oz_type_size(nc_type type) { return atomic(type) ? TYPES[type - 1].type.size : 0; }

const char *oz_type_name(nc_type type) { return atomic(type) ? TYPES[type - 1].type.name : NULL; }

nc_type oz_type_by_name(const char *name) {
    for (int i = 0; i < TYPE_COUNT; i++)
        if (strcmp(TYPES[i].type.name, name) == 0) return TYPES[i].type.id;
    return NC_NAT;
}

ozarr_type oz_type_stored(nc_type type) { return atomic(type) ? TYPES[type - 1].stored : OZARR_AS_STORED; }

#define FILL(TYPE, C, VALUE)       \
    case TYPE: {                   \
        const C fill = VALUE;      \
        memcpy(value, &fill, sizeof fill); \
        break;                     \
    }

void oz_default_fill(nc_type type, void *value) {
    switch (type) {
        FILL(NC_BYTE, signed char, NC_FILL_BYTE)
        FILL(NC_CHAR, char, NC_FILL_CHAR)
        FILL(NC_SHORT, short, NC_FILL_SHORT)
        FILL(NC_INT, int, NC_FILL_INT)
        FILL(NC_FLOAT, float, NC_FILL_FLOAT)
        FILL(NC_DOUBLE, double, NC_FILL_DOUBLE)
        FILL(NC_UBYTE, unsigned char, NC_FILL_UBYTE)
        FILL(NC_USHORT, unsigned short, NC_FILL_USHORT)
        FILL(NC_UINT, unsigned, NC_FILL_UINT)
        FILL(NC_INT64, long long, NC_FILL_INT64)
        FILL(NC_UINT64, unsigned long long, NC_FILL_UINT64)
    default: break;
    }
}

/* One loop from C type S to C type D. FITS says whether `v` has a value in D; what does not fit is stored as BAD. */
#define LOOP(TYPE, S, D, FITS, BAD)                       \
    case TYPE: {                                          \
        const S *a = from;                                \
        D *b = to;                                        \
        for (size_t i = 0; i < count; i++) {              \
            S v = a[i];                                   \
            bool fits = (FITS);                           \
            outside += !fits && v == v;                   \
            b[i] = fits ? (D)v : (D)(BAD);                \
        }                                                 \
        break;                                            \
    }

/* Integers that do not fit keep their low bits, as in netCDF-C. */
#define FROM_INTEGER(NAME, S, NEGATIVE)                                                             \
    static int NAME(const S *from, void *to, nc_type type, size_t count) {                          \
        size_t outside = 0;                                                                         \
        switch (type) {                                                                             \
            LOOP(NC_BYTE, S, signed char, (S)(signed char)v == v && (NEGATIVE) == ((signed char)v < 0), v)   \
            LOOP(NC_SHORT, S, short, (S)(short)v == v && (NEGATIVE) == ((short)v < 0), v)           \
            LOOP(NC_INT, S, int, (S)(int)v == v && (NEGATIVE) == ((int)v < 0), v)                   \
            LOOP(NC_INT64, S, long long, (NEGATIVE) == ((long long)v < 0), v)                       \
            LOOP(NC_UBYTE, S, unsigned char, (S)(unsigned char)v == v && !(NEGATIVE), v)            \
            LOOP(NC_USHORT, S, unsigned short, (S)(unsigned short)v == v && !(NEGATIVE), v)         \
            LOOP(NC_UINT, S, unsigned, (S)(unsigned)v == v && !(NEGATIVE), v)                       \
            LOOP(NC_UINT64, S, unsigned long long, !(NEGATIVE), v)                                  \
            LOOP(NC_FLOAT, S, float, true, v)                                                       \
            LOOP(NC_DOUBLE, S, double, true, v)                                                     \
        default: return NC_EBADTYPE;                                                                \
        }                                                                                           \
        return outside ? NC_ERANGE : NC_NOERR;                                                      \
    }

FROM_INTEGER(from_byte, signed char, v < 0)
FROM_INTEGER(from_short, short, v < 0)
FROM_INTEGER(from_int, int, v < 0)
FROM_INTEGER(from_int64, long long, v < 0)
FROM_INTEGER(from_ubyte, unsigned char, false)
FROM_INTEGER(from_ushort, unsigned short, false)
FROM_INTEGER(from_uint, unsigned, false)
FROM_INTEGER(from_uint64, unsigned long long, false)

/* What does not fit becomes what processors make of it: the low bits of an integer of 64 bits. */
static long long low_bits(double v) { return v >= -0x1p63 && v < 0x1p63 ? (long long)v : LLONG_MIN; }

/* Real numbers lose their fraction. NaN has no integer, which netCDF does not tell. */
#define WITHIN(LOW, HIGH) (v >= (LOW) && v <= (HIGH))
#define FROM_REAL(NAME, S)                                                                          \
    static int NAME(const S *from, void *to, nc_type type, size_t count) {                          \
        size_t outside = 0;                                                                         \
        switch (type) {                                                                             \
            LOOP(NC_BYTE, S, signed char, WITHIN(SCHAR_MIN, SCHAR_MAX), low_bits(v))                \
            LOOP(NC_SHORT, S, short, WITHIN(SHRT_MIN, SHRT_MAX), low_bits(v))                       \
            LOOP(NC_INT, S, int, WITHIN((double)INT_MIN, (double)INT_MAX), INT_MIN)                 \
            LOOP(NC_INT64, S, long long, v >= -0x1p63 && v < 0x1p63, LLONG_MIN)                     \
            LOOP(NC_UBYTE, S, unsigned char, WITHIN(0, UCHAR_MAX), low_bits(v))                     \
            LOOP(NC_USHORT, S, unsigned short, WITHIN(0, USHRT_MAX), low_bits(v))                   \
            LOOP(NC_UINT, S, unsigned, WITHIN(0, (double)UINT_MAX), low_bits(v))                    \
            LOOP(NC_UINT64, S, unsigned long long, v >= 0 && v < 0x1p64, low_bits(v))               \
            LOOP(NC_FLOAT, S, float, !(v > FLT_MAX || v < -FLT_MAX), v > 0 ? HUGE_VALF : -HUGE_VALF) \
            LOOP(NC_DOUBLE, S, double, true, v)                                                     \
        default: return NC_EBADTYPE;                                                                \
        }                                                                                           \
        return outside ? NC_ERANGE : NC_NOERR;                                                      \
    }

FROM_REAL(from_float, float)
FROM_REAL(from_double, double)

int oz_convert(const void *from, nc_type from_type, void *to, nc_type to_type, size_t count) {
    switch (from_type) {
    case NC_BYTE: return from_byte(from, to, to_type, count);
    case NC_SHORT: return from_short(from, to, to_type, count);
    case NC_INT: return from_int(from, to, to_type, count);
    case NC_INT64: return from_int64(from, to, to_type, count);
    case NC_UBYTE: return from_ubyte(from, to, to_type, count);
    case NC_USHORT: return from_ushort(from, to, to_type, count);
    case NC_UINT: return from_uint(from, to, to_type, count);
    case NC_UINT64: return from_uint64(from, to, to_type, count);
    case NC_FLOAT: return from_float(from, to, to_type, count);
    case NC_DOUBLE: return from_double(from, to, to_type, count);
    default: return NC_EBADTYPE;
    }
}

/* Copies what a value points to: the string, or the elements of a list. */
static int copy_one(const oz_type *type, void *to, const void *from) {
    if (type->id == NC_STRING) {
        const char *string = *(const char *const *)from;
        char *copy = string ? strdup(string) : NULL;
        memcpy(to, &copy, sizeof copy);
        return string && !copy ? NC_ENOMEM : NC_NOERR;
    }
    const nc_vlen_t *list = from;
    nc_vlen_t copy = {list->len, NULL};
    size_t size = list->p ? list->len * oz_type_size(type->base) : 0;
    if (!size) copy.len = 0;
    else if ((copy.p = malloc(size))) memcpy(copy.p, list->p, size);
    else return NC_ENOMEM;
    memcpy(to, &copy, sizeof copy);
    return NC_NOERR;
}

bool oz_type_has_members(const oz_type *type) {
    if (type->kind != NC_COMPOUND && type->kind != NC_ENUM) return true;
    bool all = type->fields.count > 0;
    for (int i = 0; i < type->fields.count && type->kind == NC_COMPOUND; i++) {
        const oz_field *field = type->fields.items[i];
        all = all && oz_type_has_members(field->type);
    }
    return all;
}

int oz_copy_values(const oz_type *type, void *to, const void *from, size_t count) {
    if (type->id != NC_STRING && type->kind != NC_VLEN) {
        if (count) memcpy(to, from, count * type->size);
        return NC_NOERR;
    }
    for (size_t i = 0; i < count; i++) {
        if (!copy_one(type, (char *)to + i * type->size, (const char *)from + i * type->size)) continue;
        oz_clear_values(type, to, i);
        return NC_ENOMEM;
    }
    return NC_NOERR;
}

void oz_clear_values(const oz_type *type, void *values, size_t count) {
    if (!type || !values) return;
    for (size_t i = 0; i < count && type->id == NC_STRING; i++) free(((char **)values)[i]);
    for (size_t i = 0; i < count && type->kind == NC_VLEN; i++) free(((nc_vlen_t *)values)[i].p);
}

/* The bits of the mantissa to drop for a number of significant digits (BitGroom: decimal; BitRound: binary). */
static int dropped_bits(int mode, int digits, int mantissa) {
    int kept = mode == NC_QUANTIZE_BITROUND ? digits : (int)ceil(digits * 3.321928094887362) + 1;
    return kept >= mantissa ? 0 : mantissa - kept;
}

/* Granular BitRound keeps what the decimal digits of each number need. */
static int granular_bits(double value, int digits, int mantissa) {
    int exponent;
    double fraction = frexp(value, &exponent);
    int decimal = (int)floor(exponent * 0.30102999566398120 + log10(fabs(fraction))) + 1;
    int power = (int)floor(3.321928094887362 * (decimal - digits));
    int explicit_bits = abs((int)floor(exponent - 3.321928094887362 * log10(fabs(fraction))) - power) - 1;
    return explicit_bits >= mantissa ? 0 : mantissa - explicit_bits;
}

#define QUANTIZE(NAME, C, BITS, MANTISSA)                                                              \
    static void NAME(int mode, int digits, C *values, size_t count, const C *missing, C fill) {        \
        for (size_t i = 0; i < count; i++) {                                                           \
            BITS bits;                                                                                 \
            if (!isfinite(values[i]) || values[i] == 0 || values[i] == (missing ? *missing : fill)) continue; \
            int drop = mode == NC_QUANTIZE_GRANULARBR ? granular_bits(values[i], digits, MANTISSA)     \
                                                      : dropped_bits(mode, digits, MANTISSA);          \
            if (drop <= 0) continue;                                                                   \
            memcpy(&bits, &values[i], sizeof bits);                                                    \
            BITS low = ((BITS)1 << drop) - 1;                                                          \
            if (mode == NC_QUANTIZE_BITGROOM) bits = i % 2 ? bits | low : bits & ~low;                 \
            else bits = (bits + ((BITS)1 << (drop - 1))) & ~low;                                       \
            memcpy(&values[i], &bits, sizeof bits);                                                    \
        }                                                                                              \
    }

QUANTIZE(quantize_float, float, uint32_t, 23)
QUANTIZE(quantize_double, double, uint64_t, 52)

void oz_quantize(int mode, int digits, nc_type type, void *values, size_t count, const void *missing) {
    if (type == NC_FLOAT) quantize_float(mode, digits, values, count, missing, NC_FILL_FLOAT);
    if (type == NC_DOUBLE) quantize_double(mode, digits, values, count, missing, NC_FILL_DOUBLE);
}

void oz_to_little_endian(void *values, size_t size, size_t count) {
    const uint16_t probe = 1;
    unsigned char *bytes = values;
    if (*(const unsigned char *)&probe) return;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < size / 2; k++) {
            unsigned char *a = bytes + i * size + k, *b = bytes + (i + 1) * size - 1 - k, c = *a;
            *a = *b;
            *b = c;
        }
}
