#ifndef OZARR_H
#define OZARR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#ifndef OZARR_CHECKED
#if defined(__cplusplus) ? __cplusplus >= 201703L : defined(__STDC_VERSION__) && __STDC_VERSION__ > 201710L
#define OZARR_CHECKED [[nodiscard]]
#elif defined(__GNUC__)
#define OZARR_CHECKED __attribute__((warn_unused_result))
#else
#define OZARR_CHECKED
#endif
#endif
typedef int32_t ozarr_status;
enum {
    OZARR_OK = 0,
    OZARR_ERR_ARGUMENT = -101,
    OZARR_ERR_NULL = -102,
    OZARR_ERR_BOUNDS = -103,
    OZARR_ERR_RANK = -104,
    OZARR_ERR_BUFFER_SIZE = -105,
    OZARR_ERR_TYPE = -106,
    OZARR_ERR_RANGE = -107,
    OZARR_ERR_NAME = -108,
    OZARR_ERR_LOCATION = -109,
    OZARR_ERR_INVALID_HANDLE = -110,
    OZARR_ERR_READ_ONLY = -201,
    OZARR_ERR_EXISTS = -202,
    OZARR_ERR_STATE = -203,
    OZARR_ERR_AGAIN = -204,
    OZARR_ERR_CANCELLED = -205,
    OZARR_ERR_FORKED = -206,
    OZARR_ERR_NOT_FOUND = -301,
    OZARR_ERR_NODE_KIND = -302,
    OZARR_ERR_METADATA = -303,
    OZARR_ERR_UNSUPPORTED = -304,
    OZARR_ERR_EXTENSION = -305,
    OZARR_ERR_CHUNK = -401,
    OZARR_ERR_CHECKSUM = -402,
    OZARR_ERR_SHARD_INDEX = -403,
    OZARR_ERR_MISSING = -404,
    OZARR_ERR_TRUNCATED = -405,
    OZARR_ERR_PERMISSION = -501,
    OZARR_ERR_CONFLICT = -502,
    OZARR_ERR_TIMEOUT = -503,
    OZARR_ERR_NETWORK = -504,
    OZARR_ERR_THROTTLED = -505,
    OZARR_ERR_RANGES = -506,
    OZARR_ERR_PARTIAL = -507,
    OZARR_ERR_IO = -601,
    OZARR_ERR_NO_SPACE = -602,
    OZARR_ERR_NO_MEMORY = -603,
    OZARR_ERR_TOO_MANY_FILES = -604,
    OZARR_ERR_LIMIT = -701,
    OZARR_ERR_INTERNAL = -901,
    OZARR_ERR_CALLBACK = -902
};
const char *ozarr_status_name(ozarr_status status);
const char *ozarr_last_error(void);
typedef int32_t ozarr_order;
enum {
    OZARR_ORDER_C = 0,
    OZARR_ORDER_F = 1
};
const char *ozarr_last_error_in(ozarr_order order);
typedef struct ozarr_error_info {
    size_t struct_size;
    ozarr_status status;
    int32_t os_errno;
    int32_t http_status;
    int32_t reserved;
    const char *message;
    const char *key;
    const char *field;
} ozarr_error_info;
#define OZARR_ERROR_INFO_INIT \
    {sizeof(ozarr_error_info), 0, 0, 0, 0, NULL, NULL, NULL}
static inline void ozarr_error_info_init(ozarr_error_info *error_info) {
    const ozarr_error_info init = OZARR_ERROR_INFO_INIT;
    *error_info = init;
}
OZARR_CHECKED ozarr_status ozarr_last_error_info(ozarr_error_info *info);
#define OZARR_VERSION_MAJOR 0
#define OZARR_VERSION_MINOR 2
#define OZARR_VERSION_PATCH 0
#define OZARR_VERSION_NUMBER 200
#define OZARR_ABI_VERSION 1
const char *ozarr_version(void);
int32_t ozarr_abi_version(void);
bool ozarr_has_feature(const char *name);
typedef struct ozarr_array ozarr_array;
typedef struct ozarr_group ozarr_group;
typedef struct ozarr_node ozarr_node;
typedef struct ozarr_spec ozarr_spec;
typedef struct ozarr_store ozarr_store;
typedef struct ozarr_node_iter ozarr_node_iter;
typedef struct ozarr_varlen ozarr_varlen;
typedef struct ozarr_chunk_iter ozarr_chunk_iter;
typedef struct ozarr_shard_writer ozarr_shard_writer;
typedef struct ozarr_appender ozarr_appender;
typedef struct ozarr_series ozarr_series;
typedef struct ozarr_dataset ozarr_dataset;
typedef struct ozarr_request ozarr_request;
typedef struct ozarr_context ozarr_context;
typedef struct ozarr_dtype ozarr_dtype;
typedef struct ozarr_answer ozarr_answer;
typedef struct ozarr_keys ozarr_keys;
typedef int32_t ozarr_type;
enum {
    OZARR_AS_STORED = 0,
    OZARR_BOOL = 1,
    OZARR_INT8 = 2,
    OZARR_INT16 = 3,
    OZARR_INT32 = 4,
    OZARR_INT64 = 5,
    OZARR_UINT8 = 6,
    OZARR_UINT16 = 7,
    OZARR_UINT32 = 8,
    OZARR_UINT64 = 9,
    OZARR_FLOAT16 = 10,
    OZARR_FLOAT32 = 11,
    OZARR_FLOAT64 = 12,
    OZARR_COMPLEX64 = 13,
    OZARR_COMPLEX128 = 14,
    OZARR_INT2 = 15,
    OZARR_INT4 = 16,
    OZARR_UINT2 = 17,
    OZARR_UINT4 = 18,
    OZARR_BFLOAT16 = 19,
    OZARR_FLOAT8_E3M4 = 20,
    OZARR_FLOAT8_E4M3 = 21,
    OZARR_FLOAT8_E4M3B11FNUZ = 22,
    OZARR_FLOAT8_E4M3FNUZ = 23,
    OZARR_FLOAT8_E4M3FN = 24,
    OZARR_FLOAT8_E5M2 = 25,
    OZARR_FLOAT8_E5M2FNUZ = 26,
    OZARR_FLOAT8_E8M0FNU = 27,
    OZARR_FLOAT6_E2M3FN = 28,
    OZARR_FLOAT6_E3M2FN = 29,
    OZARR_FLOAT4_E2M1FN = 30,
    OZARR_BY_DTYPE = 100,
    OZARR_STRING = 101,
    OZARR_BYTES = 102,
    OZARR_JSON = 103,
    OZARR_LIST = 104
};
typedef int32_t ozarr_overflow;
enum {
    OZARR_OVERFLOW_ERROR = 0,
    OZARR_OVERFLOW_WRAP = 1,
    OZARR_OVERFLOW_SATURATE = 2
};
enum {
    OZARR_STORE_CAN_WRITE = 1,
    OZARR_STORE_CAN_LIST = 2,
    OZARR_STORE_CAN_ERASE = 4,
    OZARR_STORE_IS_REMOTE = 8
};
typedef int32_t ozarr_create_mode;
enum {
    OZARR_CREATE_NEW = 0,
    OZARR_CREATE_OVERWRITE = 1,
    OZARR_CREATE_OPEN_IF_SAME = 2
};
typedef int32_t ozarr_node_kind;
enum {
    OZARR_NODE_KIND_NONE = 0,
    OZARR_NODE_KIND_ARRAY = 1,
    OZARR_NODE_KIND_GROUP = 2,
    OZARR_NODE_KIND_UNKNOWN = 3
};
typedef int32_t ozarr_json_kind;
enum {
    OZARR_JSON_KIND_NULL = 0,
    OZARR_JSON_KIND_BOOL = 1,
    OZARR_JSON_KIND_INTEGER = 2,
    OZARR_JSON_KIND_NUMBER = 3,
    OZARR_JSON_KIND_STRING = 4,
    OZARR_JSON_KIND_ARRAY = 5,
    OZARR_JSON_KIND_OBJECT = 6
};
typedef int32_t ozarr_log_level;
enum {
    OZARR_LOG_LEVEL_OFF = 0,
    OZARR_LOG_LEVEL_WARNING = 1,
    OZARR_LOG_LEVEL_INFO = 2
};
typedef ozarr_status (*ozarr_log_fn)(void *user, ozarr_log_level level, const char *message);
OZARR_CHECKED ozarr_status ozarr_context_new(ozarr_context **out);
OZARR_CHECKED ozarr_status ozarr_context_set(ozarr_context *context, const char *key, const char *value);
OZARR_CHECKED ozarr_status ozarr_context_get(const ozarr_context *context, const char *key, char *buf,
    size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_context_set_log(ozarr_context *context, ozarr_log_level level,
    ozarr_log_fn fn, void *user);
void ozarr_context_free(ozarr_context *context);
OZARR_CHECKED ozarr_status ozarr_array_create(const char *location, ozarr_type type, int32_t rank,
    const int64_t *shape, const int64_t *chunks, ozarr_create_mode mode, ozarr_array **out);
OZARR_CHECKED ozarr_status ozarr_array_open(const char *location, const char *mode, ozarr_array **out);
OZARR_CHECKED ozarr_status ozarr_array_read(const ozarr_array *array, ozarr_type type, void *data,
    size_t size);
OZARR_CHECKED ozarr_status ozarr_array_write(const ozarr_array *array, ozarr_type type, const void *data,
    size_t size);
OZARR_CHECKED ozarr_status ozarr_array_read_region(const ozarr_array *array, const int64_t *start,
    const int64_t *shape, ozarr_type type, void *data, size_t size);
OZARR_CHECKED ozarr_status ozarr_array_write_region(const ozarr_array *array, const int64_t *start,
    const int64_t *shape, ozarr_type type, const void *data, size_t size);
OZARR_CHECKED ozarr_status ozarr_array_close(ozarr_array *array);
void ozarr_array_free(ozarr_array *array);
OZARR_CHECKED ozarr_status ozarr_array_rank(const ozarr_array *array, int32_t *rank);
OZARR_CHECKED ozarr_status ozarr_array_shape(const ozarr_array *array, int64_t *shape);
OZARR_CHECKED ozarr_status ozarr_array_chunk_shape(const ozarr_array *array, int64_t *shape);
OZARR_CHECKED ozarr_status ozarr_array_inner_chunk_shape(const ozarr_array *array, int64_t *shape);
OZARR_CHECKED ozarr_status ozarr_array_type(const ozarr_array *array, ozarr_type *type);
OZARR_CHECKED ozarr_status ozarr_array_item_size(const ozarr_array *array, size_t *bytes);
OZARR_CHECKED ozarr_status ozarr_array_dimension_name(const ozarr_array *array, int32_t dim, char *buf,
    size_t cap, size_t *len, bool *named);
OZARR_CHECKED ozarr_status ozarr_array_set_dimension_names(ozarr_array *array, const char *const *names);
OZARR_CHECKED ozarr_status ozarr_array_fill_value(const ozarr_array *array, void *value, size_t size,
    bool *defined);
enum {
    OZARR_RESIZE_KEEP = 1
};
OZARR_CHECKED ozarr_status ozarr_array_resize(ozarr_array *array, const int64_t *shape, uint32_t flags);
OZARR_CHECKED ozarr_status ozarr_array_append(ozarr_array *array, int32_t dim, int64_t count, ozarr_type type,
    const void *data, size_t size);
typedef struct ozarr_region {
    size_t struct_size;
    const int64_t *start;
    const int64_t *shape;
    const int64_t *step;
    const bool *periodic;
} ozarr_region;
#define OZARR_REGION_INIT \
    {sizeof(ozarr_region), NULL, NULL, NULL, NULL}
static inline void ozarr_region_init(ozarr_region *region) {
    const ozarr_region init = OZARR_REGION_INIT;
    *region = init;
}
typedef struct ozarr_memory {
    size_t struct_size;
    void *data;
    size_t size;
    size_t offset;
    const int64_t *strides;
    ozarr_order order;
    ozarr_type type;
    ozarr_overflow overflow;
    int32_t reserved;
    const struct ozarr_dtype *dtype;
    const char *field;
    const int64_t *sizes;
    const int64_t *starts;
} ozarr_memory;
#define OZARR_MEMORY_INIT \
    {sizeof(ozarr_memory), NULL, 0, 0, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL}
static inline void ozarr_memory_init(ozarr_memory *memory) {
    const ozarr_memory init = OZARR_MEMORY_INIT;
    *memory = init;
}
OZARR_CHECKED ozarr_status ozarr_array_read_ex(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory);
OZARR_CHECKED ozarr_status ozarr_array_write_ex(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory);
enum {
    OZARR_SINGLE = -1
};
OZARR_CHECKED ozarr_status ozarr_attr_count(const ozarr_node *node, int64_t *count);
OZARR_CHECKED ozarr_status ozarr_attr_name(const ozarr_node *node, int64_t index, char *buf, size_t cap,
    size_t *len);
OZARR_CHECKED ozarr_status ozarr_attr_kind(const ozarr_node *node, const char *name, ozarr_json_kind *kind);
OZARR_CHECKED ozarr_status ozarr_attr_get_int64(const ozarr_node *node, const char *name, int64_t *value);
OZARR_CHECKED ozarr_status ozarr_attr_get_double(const ozarr_node *node, const char *name, double *value);
OZARR_CHECKED ozarr_status ozarr_attr_get_bool(const ozarr_node *node, const char *name, bool *value);
OZARR_CHECKED ozarr_status ozarr_attr_get_string(const ozarr_node *node, const char *name, char *buf,
    size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_attr_get_strings(const ozarr_node *node, const char *name, char *buf,
    size_t cap, size_t *len, int64_t *count);
OZARR_CHECKED ozarr_status ozarr_attr_get_numbers(const ozarr_node *node, const char *name, ozarr_type type,
    void *values, int64_t cap, int64_t *count);
OZARR_CHECKED ozarr_status ozarr_attr_get_json(const ozarr_node *node, const char *name, char *buf,
    size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_attr_set_int64(ozarr_node *node, const char *name, int64_t value);
OZARR_CHECKED ozarr_status ozarr_attr_set_double(ozarr_node *node, const char *name, double value);
OZARR_CHECKED ozarr_status ozarr_attr_set_bool(ozarr_node *node, const char *name, bool value);
OZARR_CHECKED ozarr_status ozarr_attr_set_string(ozarr_node *node, const char *name, const char *value);
OZARR_CHECKED ozarr_status ozarr_attr_set_strings(ozarr_node *node, const char *name,
    const char *const *values, int64_t count);
OZARR_CHECKED ozarr_status ozarr_attr_set_numbers(ozarr_node *node, const char *name, ozarr_type type,
    const void *values, int64_t count);
OZARR_CHECKED ozarr_status ozarr_attr_set_json(ozarr_node *node, const char *name, const char *json);
OZARR_CHECKED ozarr_status ozarr_attr_erase(ozarr_node *node, const char *name);
OZARR_CHECKED ozarr_status ozarr_attrs_get(const ozarr_node *node, char *buf, size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_attrs_set(ozarr_node *node, const char *json);
OZARR_CHECKED ozarr_status ozarr_attrs_begin(ozarr_node *node);
OZARR_CHECKED ozarr_status ozarr_attrs_commit(ozarr_node *node);
OZARR_CHECKED ozarr_status ozarr_group_create(const char *location, ozarr_create_mode mode,
    ozarr_group **out);
OZARR_CHECKED ozarr_status ozarr_group_open(const char *location, const char *mode, ozarr_group **out);
OZARR_CHECKED ozarr_status ozarr_group_create_group(ozarr_group *group, const char *path,
    ozarr_create_mode mode, ozarr_group **out);
OZARR_CHECKED ozarr_status ozarr_group_open_group(const ozarr_group *group, const char *path,
    ozarr_group **out);
OZARR_CHECKED ozarr_status ozarr_group_create_array(ozarr_group *group, const char *path,
    const ozarr_spec *spec, ozarr_create_mode mode, ozarr_array **out);
OZARR_CHECKED ozarr_status ozarr_group_open_array(const ozarr_group *group, const char *path,
    ozarr_array **out);
OZARR_CHECKED ozarr_status ozarr_group_consolidate(ozarr_group *group);
OZARR_CHECKED ozarr_status ozarr_group_close(ozarr_group *group);
void ozarr_group_free(ozarr_group *group);
OZARR_CHECKED ozarr_status ozarr_group_put(ozarr_group *group, const char *path, ozarr_type type,
    int32_t rank, const int64_t *shape, const void *data, size_t size);
OZARR_CHECKED ozarr_status ozarr_group_get(const ozarr_group *group, const char *path, ozarr_type type,
    void *data, size_t size);
OZARR_CHECKED ozarr_status ozarr_group_list_nodes(const ozarr_group *group, const char *pattern,
    int32_t depth, ozarr_node_iter **out);
OZARR_CHECKED ozarr_status ozarr_node_iter_next(ozarr_node_iter *iter, bool *more);
OZARR_CHECKED ozarr_status ozarr_node_iter_name(const ozarr_node_iter *iter, char *buf, size_t cap,
    size_t *len);
OZARR_CHECKED ozarr_status ozarr_node_iter_kind(const ozarr_node_iter *iter, ozarr_node_kind *kind);
OZARR_CHECKED ozarr_status ozarr_node_iter_error(const ozarr_node_iter *iter, char *buf, size_t cap,
    size_t *len);
void ozarr_node_iter_free(ozarr_node_iter *iter);
ozarr_node *ozarr_array_node(const ozarr_array *array);
ozarr_node *ozarr_group_node(const ozarr_group *group);
OZARR_CHECKED ozarr_status ozarr_node_open(const char *location, const char *mode, ozarr_array **array,
    ozarr_group **group);
OZARR_CHECKED ozarr_status ozarr_node_erase(const char *location);
OZARR_CHECKED ozarr_status ozarr_node_path(const ozarr_node *node, char *buf, size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_node_metadata(const ozarr_node *node, char *buf, size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_node_zarr_format(const ozarr_node *node, int32_t *format);
OZARR_CHECKED ozarr_status ozarr_node_set(ozarr_node *node, const char *key, const char *value);
OZARR_CHECKED ozarr_status ozarr_node_get(const ozarr_node *node, const char *key, char *buf, size_t cap,
    size_t *len);
OZARR_CHECKED ozarr_status ozarr_node_refresh(ozarr_node *node, const void *data, size_t size);
OZARR_CHECKED ozarr_status ozarr_node_flush(ozarr_node *node);
OZARR_CHECKED ozarr_status ozarr_spec_new(ozarr_type type, int32_t rank, const int64_t *shape,
    ozarr_spec **out);
OZARR_CHECKED ozarr_status ozarr_spec_set_shape(ozarr_spec *spec, const int64_t *shape);
OZARR_CHECKED ozarr_status ozarr_spec_from_json(const char *document, ozarr_spec **out);
OZARR_CHECKED ozarr_status ozarr_array_create_ex(const char *location, const ozarr_spec *spec,
    ozarr_create_mode mode, ozarr_array **out);
OZARR_CHECKED ozarr_status ozarr_spec_set_zarr_format(ozarr_spec *spec, int32_t format);
OZARR_CHECKED ozarr_status ozarr_spec_set_chunks(ozarr_spec *spec, const int64_t *chunks);
OZARR_CHECKED ozarr_status ozarr_spec_set_chunk_extents(ozarr_spec *spec, int32_t dim, const int64_t *extents,
    int64_t count);
OZARR_CHECKED ozarr_status ozarr_spec_set_inner_chunks(ozarr_spec *spec, const int64_t *chunks);
OZARR_CHECKED ozarr_status ozarr_spec_set_type(ozarr_spec *spec, ozarr_type type);
OZARR_CHECKED ozarr_status ozarr_spec_set_fill_value(ozarr_spec *spec, ozarr_type type, const void *value);
OZARR_CHECKED ozarr_status ozarr_spec_set_member_json(ozarr_spec *spec, const char *name, const char *json);
OZARR_CHECKED ozarr_status ozarr_spec_set_dimension_names(ozarr_spec *spec, const char *const *names);
OZARR_CHECKED ozarr_status ozarr_spec_set_order(ozarr_spec *spec, ozarr_order order);
OZARR_CHECKED ozarr_status ozarr_spec_set_big_endian(ozarr_spec *spec, bool big);
OZARR_CHECKED ozarr_status ozarr_spec_set_separator(ozarr_spec *spec, const char *separator);
OZARR_CHECKED ozarr_status ozarr_spec_set_compressor(ozarr_spec *spec, const char *name, int32_t level);
typedef int32_t ozarr_shuffle;
enum {
    OZARR_SHUFFLE_DEFAULT = 0,
    OZARR_SHUFFLE_NONE = 1,
    OZARR_SHUFFLE_BYTE = 2,
    OZARR_SHUFFLE_BIT = 3
};
OZARR_CHECKED ozarr_status ozarr_spec_set_shuffle(ozarr_spec *spec, ozarr_shuffle shuffle);
OZARR_CHECKED ozarr_status ozarr_spec_set_keep_bits(ozarr_spec *spec, int32_t bits);
typedef int32_t ozarr_zfp;
enum {
    OZARR_ZFP_REVERSIBLE = 0,
    OZARR_ZFP_ACCURACY = 1,
    OZARR_ZFP_PRECISION = 2,
    OZARR_ZFP_RATE = 3
};
OZARR_CHECKED ozarr_status ozarr_spec_set_zfp(ozarr_spec *spec, ozarr_zfp mode, double parameter);
OZARR_CHECKED ozarr_status ozarr_spec_set_checksum(ozarr_spec *spec, bool checksum);
OZARR_CHECKED ozarr_status ozarr_spec_to_json(const ozarr_spec *spec, char *buf, size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_spec_suggest(ozarr_spec *spec, char *buf, size_t cap, size_t *len);
void ozarr_spec_free(ozarr_spec *spec);
typedef struct ozarr_layout {
    size_t struct_size;
    const int64_t *chunks;
    const int64_t *inner_chunks;
    const char *const *dimension_names;
    const char *compressor;
    int32_t level;
    ozarr_shuffle shuffle;
    int32_t keep_bits;
    int32_t checksum;
} ozarr_layout;
#define OZARR_LAYOUT_INIT \
    {sizeof(ozarr_layout), NULL, NULL, NULL, NULL, 0, 0, 0, 0}
static inline void ozarr_layout_init(ozarr_layout *layout) {
    const ozarr_layout init = OZARR_LAYOUT_INIT;
    *layout = init;
}
OZARR_CHECKED ozarr_status ozarr_spec_new_ex(ozarr_type type, int32_t rank, const int64_t *shape,
    const ozarr_layout *layout, ozarr_spec **out);
OZARR_CHECKED ozarr_status ozarr_dtype_parse(const char *text, int32_t format, ozarr_dtype **out);
OZARR_CHECKED ozarr_status ozarr_dtype_of(ozarr_type type, ozarr_dtype **out);
OZARR_CHECKED ozarr_status ozarr_dtype_chars(size_t size, int32_t pad, ozarr_dtype **out);
OZARR_CHECKED ozarr_status ozarr_dtype_struct(size_t size, ozarr_dtype **out);
OZARR_CHECKED ozarr_status ozarr_dtype_add_field(ozarr_dtype *dtype, const char *name, size_t offset,
    const ozarr_dtype *field, int32_t rank, const int64_t *shape);
void ozarr_dtype_free(ozarr_dtype *dtype);
OZARR_CHECKED ozarr_status ozarr_array_copy_dtype(const ozarr_array *array, ozarr_dtype **out);
OZARR_CHECKED ozarr_status ozarr_spec_new_dtype(const ozarr_dtype *dtype, int32_t rank, const int64_t *shape,
    ozarr_spec **out);
OZARR_CHECKED ozarr_status ozarr_spec_set_fill_dtype(ozarr_spec *spec, const ozarr_dtype *dtype,
    const void *value, size_t size);
OZARR_CHECKED ozarr_status ozarr_dataset_create(const char *location, int32_t zarr_format,
    ozarr_create_mode mode, ozarr_dataset **out);
OZARR_CHECKED ozarr_status ozarr_dataset_open(const char *location, const char *mode, ozarr_dataset **out);
OZARR_CHECKED ozarr_status ozarr_group_open_dataset(const ozarr_group *group, ozarr_dataset **out);
OZARR_CHECKED ozarr_status ozarr_dataset_open_group(const ozarr_dataset *dataset, ozarr_group **out);
OZARR_CHECKED ozarr_status ozarr_dataset_define_dimension(ozarr_dataset *dataset, const char *name,
    int64_t length);
OZARR_CHECKED ozarr_status ozarr_dataset_resize_dimension(ozarr_dataset *dataset, const char *name,
    int64_t length);
OZARR_CHECKED ozarr_status ozarr_dataset_dimension_count(const ozarr_dataset *dataset, int64_t *count);
OZARR_CHECKED ozarr_status ozarr_dataset_dimension(const ozarr_dataset *dataset, int64_t index, char *buf,
    size_t cap, size_t *len, int64_t *extent);
OZARR_CHECKED ozarr_status ozarr_dataset_dimension_length(const ozarr_dataset *dataset, const char *name,
    int64_t *length, int64_t *longest);
OZARR_CHECKED ozarr_status ozarr_dataset_define_variable(ozarr_dataset *dataset, const char *name,
    ozarr_type type, int32_t rank, const char *const *dimensions, ozarr_array **out);
typedef struct ozarr_variable {
    size_t struct_size;
    ozarr_type type;
    int32_t rank;
    const char *const *dimensions;
    const int64_t *chunks;
    const struct ozarr_spec *spec;
    const char *units;
    const char *calendar;
    const char *long_name;
    const char *standard_name;
    const char *attributes;
    const void *missing;
    double scale_factor;
    double add_offset;
    const char *compressor;
    int32_t level;
    ozarr_shuffle shuffle;
    int32_t keep_bits;
    int32_t reserved;
} ozarr_variable;
#define OZARR_VARIABLE_INIT \
    {sizeof(ozarr_variable), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, 0, 0, \
    0, 0}
static inline void ozarr_variable_init(ozarr_variable *variable) {
    const ozarr_variable init = OZARR_VARIABLE_INIT;
    *variable = init;
}
OZARR_CHECKED ozarr_status ozarr_dataset_define_variable_ex(ozarr_dataset *dataset, const char *name,
    const ozarr_variable *variable, ozarr_create_mode mode, ozarr_array **out);
OZARR_CHECKED ozarr_status ozarr_dataset_define_coordinate(ozarr_dataset *dataset, const char *name,
    ozarr_type type, int64_t length, int64_t chunk, const void *data, size_t size, const char *units,
    ozarr_array **out);
OZARR_CHECKED ozarr_status ozarr_dataset_define_time(ozarr_dataset *dataset, const char *name, int64_t length,
    int64_t chunk, const char *units, const char *calendar, ozarr_array **out);
OZARR_CHECKED ozarr_status ozarr_dataset_set_coordinate(ozarr_dataset *dataset, const char *name);
OZARR_CHECKED ozarr_status ozarr_dataset_variable_count(const ozarr_dataset *dataset, int64_t *count);
OZARR_CHECKED ozarr_status ozarr_dataset_variable(const ozarr_dataset *dataset, int64_t index, char *buf,
    size_t cap, size_t *len, bool *coordinate);
OZARR_CHECKED ozarr_status ozarr_dataset_open_variable(const ozarr_dataset *dataset, const char *name,
    ozarr_array **out);
OZARR_CHECKED ozarr_status ozarr_dataset_close(ozarr_dataset *dataset);
void ozarr_dataset_free(ozarr_dataset *dataset);
OZARR_CHECKED ozarr_status ozarr_array_read_unpacked(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory);
OZARR_CHECKED ozarr_status ozarr_array_write_packed(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory);
OZARR_CHECKED ozarr_status ozarr_array_read_times(const ozarr_array *array, const ozarr_region *region,
    const char *units, int64_t *counts, size_t size);
OZARR_CHECKED ozarr_status ozarr_array_write_times(const ozarr_array *array, const ozarr_region *region,
    const char *units, const int64_t *counts, size_t size);
OZARR_CHECKED ozarr_status ozarr_array_missing_value(const ozarr_array *array, void *value, size_t size,
    bool *defined);
OZARR_CHECKED ozarr_status ozarr_time_to_text(const char *units, const char *calendar, int64_t count,
    char *buf, size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_time_from_text(const char *units, const char *calendar, const char *moment,
    int64_t *count);
OZARR_CHECKED ozarr_status ozarr_series_open(ozarr_dataset *dataset, const char *dimension, int64_t keep,
    int64_t publish_every, size_t memory, ozarr_series **out);
OZARR_CHECKED ozarr_status ozarr_series_put(ozarr_series *series, const char *name, ozarr_type type,
    const void *data, size_t size);
OZARR_CHECKED ozarr_status ozarr_series_put_ex(ozarr_series *series, const char *name,
    const ozarr_memory *memory);
OZARR_CHECKED ozarr_status ozarr_series_step(ozarr_series *series, double value, int64_t count,
    const char *const *names, const ozarr_memory *memories);
OZARR_CHECKED ozarr_status ozarr_series_position(ozarr_series *series, int64_t *position, int64_t *published);
OZARR_CHECKED ozarr_status ozarr_series_flush(ozarr_series *series);
OZARR_CHECKED ozarr_status ozarr_series_close(ozarr_series *series);
void ozarr_series_free(ozarr_series *series);
OZARR_CHECKED ozarr_status ozarr_dataset_wait_growth(ozarr_dataset *dataset, const char *dimension,
    int64_t beyond, double seconds, int64_t *length);
OZARR_CHECKED ozarr_status ozarr_checkpoint_begin(const char *location, const char *name, ozarr_group **out);
OZARR_CHECKED ozarr_status ozarr_checkpoint_commit(ozarr_group *group);
OZARR_CHECKED ozarr_status ozarr_checkpoint_abandon(ozarr_group *group);
OZARR_CHECKED ozarr_status ozarr_checkpoint_latest(const char *location, ozarr_group **out);
OZARR_CHECKED ozarr_status ozarr_checkpoint_list(const char *location, ozarr_node_iter **out);
OZARR_CHECKED ozarr_status ozarr_checkpoint_prune(const char *location, int64_t keep);
enum {
    OZARR_PARTITION_INNER = 1
};
OZARR_CHECKED ozarr_status ozarr_array_partition(const ozarr_array *array, const ozarr_region *region,
    int64_t workers, int64_t index, uint32_t flags, int64_t *start, int64_t *shape);
OZARR_CHECKED ozarr_status ozarr_node_export(const ozarr_node *node, void *buf, size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_node_import(const char *location, const char *mode, const void *data,
    size_t size, ozarr_array **array, ozarr_group **group);
OZARR_CHECKED ozarr_status ozarr_node_import_at(const ozarr_store *store, const void *data, size_t size,
    ozarr_array **array, ozarr_group **group);
enum {
    OZARR_REQUEST_COPY = 1
};
typedef int32_t ozarr_request_state;
enum {
    OZARR_REQUEST_STATE_QUEUED = 0,
    OZARR_REQUEST_STATE_RUNNING = 1,
    OZARR_REQUEST_STATE_DONE = 2,
    OZARR_REQUEST_STATE_FAILED = 3
};
typedef ozarr_status (*ozarr_request_done_fn)(void *user, ozarr_status status, const char *message);
typedef struct ozarr_request_options {
    size_t struct_size;
    uint32_t flags;
    int32_t reserved;
    double seconds;
    ozarr_request_done_fn done;
    void *user;
} ozarr_request_options;
#define OZARR_REQUEST_OPTIONS_INIT \
    {sizeof(ozarr_request_options), 0, 0, 0, NULL, NULL}
static inline void ozarr_request_options_init(ozarr_request_options *request_options) {
    const ozarr_request_options init = OZARR_REQUEST_OPTIONS_INIT;
    *request_options = init;
}
OZARR_CHECKED ozarr_status ozarr_array_iread_region(const ozarr_array *array, const int64_t *start,
    const int64_t *shape, ozarr_type type, void *data, size_t size, ozarr_request **out);
OZARR_CHECKED ozarr_status ozarr_array_iwrite_region(const ozarr_array *array, const int64_t *start,
    const int64_t *shape, ozarr_type type, const void *data, size_t size, uint32_t flags,
    ozarr_request **out);
OZARR_CHECKED ozarr_status ozarr_array_iread_ex(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory, const ozarr_request_options *options, ozarr_request **out);
OZARR_CHECKED ozarr_status ozarr_array_iwrite_ex(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory, const ozarr_request_options *options, ozarr_request **out);
OZARR_CHECKED ozarr_status ozarr_request_test(const ozarr_request *request, bool *done);
OZARR_CHECKED ozarr_status ozarr_request_wait(const ozarr_request *request, double seconds);
OZARR_CHECKED ozarr_status ozarr_request_cancel(const ozarr_request *request);
void ozarr_request_free(ozarr_request *request);
OZARR_CHECKED ozarr_status ozarr_request_get_state(const ozarr_request *request, ozarr_request_state *state);
OZARR_CHECKED ozarr_status ozarr_request_error(const ozarr_request *request, ozarr_error_info *info);
OZARR_CHECKED ozarr_status ozarr_requests_wait_all(ozarr_request *const *requests, int64_t count,
    double seconds, ozarr_status *statuses);
OZARR_CHECKED ozarr_status ozarr_requests_wait_any(ozarr_request *const *requests, int64_t count,
    double seconds, int64_t *index);
OZARR_CHECKED ozarr_status ozarr_shutdown(void);
OZARR_CHECKED ozarr_status ozarr_store_open(const char *location, const char *mode, ozarr_store **out);
OZARR_CHECKED ozarr_status ozarr_store_open_ex(const ozarr_context *context, const char *location,
    const char *mode, const char *const *options, ozarr_store **out);
OZARR_CHECKED ozarr_status ozarr_store_memory(ozarr_store **out);
OZARR_CHECKED ozarr_status ozarr_array_create_at(ozarr_store *store, const char *path, const ozarr_spec *spec,
    ozarr_create_mode mode, ozarr_array **out);
OZARR_CHECKED ozarr_status ozarr_array_open_at(const ozarr_store *store, const char *path, ozarr_array **out);
OZARR_CHECKED ozarr_status ozarr_group_create_at(ozarr_store *store, const char *path, int32_t zarr_format,
    ozarr_create_mode mode, ozarr_group **out);
OZARR_CHECKED ozarr_status ozarr_group_open_at(const ozarr_store *store, const char *path, ozarr_group **out);
OZARR_CHECKED ozarr_status ozarr_store_node_kind(const ozarr_store *store, const char *path,
    ozarr_node_kind *kind);
OZARR_CHECKED ozarr_status ozarr_store_node_erase(ozarr_store *store, const char *path);
OZARR_CHECKED ozarr_status ozarr_store_flush(ozarr_store *store);
OZARR_CHECKED ozarr_status ozarr_store_close(ozarr_store *store);
void ozarr_store_free(ozarr_store *store);
#ifdef __cplusplus
}
#endif
#endif
