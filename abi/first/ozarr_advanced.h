#ifndef OZARR_ADVANCED_H
#define OZARR_ADVANCED_H
#include "ozarr.h"
#ifdef __cplusplus
extern "C" {
#endif
OZARR_CHECKED ozarr_status ozarr_appender_open(ozarr_array *array, int32_t dim, int64_t publish_every,
    size_t memory, ozarr_appender **out);
OZARR_CHECKED ozarr_status ozarr_appender_append(ozarr_appender *appender, int64_t count, ozarr_type type,
    const void *data, size_t size);
OZARR_CHECKED ozarr_status ozarr_appender_append_ex(ozarr_appender *appender, int64_t count,
    const ozarr_memory *memory);
OZARR_CHECKED ozarr_status ozarr_appender_position(const ozarr_appender *appender, int64_t *position,
    int64_t *published);
OZARR_CHECKED ozarr_status ozarr_appender_flush(ozarr_appender *appender);
OZARR_CHECKED ozarr_status ozarr_appender_close(ozarr_appender *appender);
void ozarr_appender_free(ozarr_appender *appender);
OZARR_CHECKED ozarr_status ozarr_array_wait_growth(ozarr_array *array, int32_t dim, int64_t beyond,
    double seconds, int64_t *length);
OZARR_CHECKED ozarr_status ozarr_group_rename(ozarr_group *group, const char *path, const char *to_path);
OZARR_CHECKED ozarr_status ozarr_group_erase(ozarr_group *group, const char *path);
OZARR_CHECKED ozarr_status ozarr_group_consolidated_check(const ozarr_group *group, char *buf, size_t cap,
    size_t *len, bool *current);
typedef struct ozarr_info {
    size_t struct_size;
    int64_t chunks;
    int64_t possible_chunks;
    int64_t stored_bytes;
    int64_t element_bytes;
    double ratio;
} ozarr_info;
#define OZARR_INFO_INIT \
    {sizeof(ozarr_info), 0, 0, 0, 0, 0}
static inline void ozarr_info_init(ozarr_info *info) {
    const ozarr_info init = OZARR_INFO_INIT;
    *info = init;
}
OZARR_CHECKED ozarr_status ozarr_array_info(const ozarr_array *array, ozarr_info *info);
OZARR_CHECKED ozarr_status ozarr_array_read_orthogonal(const ozarr_array *array, const int64_t *counts,
    const int64_t *const *indices, const ozarr_memory *memory);
OZARR_CHECKED ozarr_status ozarr_array_write_orthogonal(const ozarr_array *array, const int64_t *counts,
    const int64_t *const *indices, const ozarr_memory *memory);
OZARR_CHECKED ozarr_status ozarr_array_read_points(const ozarr_array *array, const int64_t *points,
    int64_t count, const ozarr_memory *memory);
OZARR_CHECKED ozarr_status ozarr_array_write_points(const ozarr_array *array, const int64_t *points,
    int64_t count, const ozarr_memory *memory);
OZARR_CHECKED ozarr_status ozarr_array_read_mask(const ozarr_array *array, const ozarr_region *region,
    const uint8_t *mask, const ozarr_memory *memory);
OZARR_CHECKED ozarr_status ozarr_array_write_mask(const ozarr_array *array, const ozarr_region *region,
    const uint8_t *mask, const ozarr_memory *memory);
OZARR_CHECKED ozarr_status ozarr_array_fill(const ozarr_array *array, const ozarr_region *region,
    ozarr_type type, const void *value);
typedef struct ozarr_batch_entry {
    size_t struct_size;
    const struct ozarr_array *array;
    const struct ozarr_region *region;
    const struct ozarr_memory *memory;
} ozarr_batch_entry;
#define OZARR_BATCH_ENTRY_INIT \
    {sizeof(ozarr_batch_entry), NULL, NULL, NULL}
static inline void ozarr_batch_entry_init(ozarr_batch_entry *batch_entry) {
    const ozarr_batch_entry init = OZARR_BATCH_ENTRY_INIT;
    *batch_entry = init;
}
OZARR_CHECKED ozarr_status ozarr_read_many(const ozarr_batch_entry *entries, int64_t count);
OZARR_CHECKED ozarr_status ozarr_write_many(const ozarr_batch_entry *entries, int64_t count);
OZARR_CHECKED ozarr_status ozarr_iread_many(const ozarr_batch_entry *entries, int64_t count,
    const ozarr_request_options *options, ozarr_request **out);
OZARR_CHECKED ozarr_status ozarr_iwrite_many(const ozarr_batch_entry *entries, int64_t count,
    const ozarr_request_options *options, ozarr_request **out);
typedef struct ozarr_explanation {
    size_t struct_size;
    int64_t bytes;
    int64_t chunks;
    int64_t whole_chunks;
    int64_t partial_chunks;
    int64_t changed_chunks;
    int64_t inner_chunks;
    int64_t partial_inner_chunks;
    int64_t reads;
    int64_t whole_reads;
    int64_t read_bytes;
    int64_t writes;
    int64_t decoded_bytes;
    int64_t direct_chunks;
    int64_t threads;
    int64_t thread_bytes;
    int64_t objects;
    int64_t fewer_objects;
} ozarr_explanation;
#define OZARR_EXPLANATION_INIT \
    {sizeof(ozarr_explanation), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
static inline void ozarr_explanation_init(ozarr_explanation *explanation) {
    const ozarr_explanation init = OZARR_EXPLANATION_INIT;
    *explanation = init;
}
typedef struct ozarr_stats {
    size_t struct_size;
    int64_t reads;
    int64_t bytes_read;
    int64_t writes;
    int64_t bytes_written;
    int64_t erased;
    int64_t decoded_chunks;
    int64_t decoded_bytes;
    int64_t encoded_chunks;
    int64_t encoded_bytes;
    int64_t fill_chunks;
    int64_t copied_bytes;
    int64_t index_hits;
    int64_t index_reads;
    int64_t chunk_hits;
    int64_t retries;
    int64_t decode_ns;
    int64_t encode_ns;
} ozarr_stats;
#define OZARR_STATS_INIT \
    {sizeof(ozarr_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
static inline void ozarr_stats_init(ozarr_stats *stats) {
    const ozarr_stats init = OZARR_STATS_INIT;
    *stats = init;
}
OZARR_CHECKED ozarr_status ozarr_array_explain(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory, bool write, ozarr_explanation *explanation);
OZARR_CHECKED ozarr_status ozarr_array_stats(const ozarr_array *array, ozarr_stats *stats);
OZARR_CHECKED ozarr_status ozarr_store_stats(const ozarr_store *store, ozarr_stats *stats);
OZARR_CHECKED ozarr_status ozarr_context_stats(const ozarr_context *context, ozarr_stats *stats);
typedef struct ozarr_summary {
    size_t struct_size;
    int64_t elements;
    int64_t missing;
    int64_t nan;
    int64_t infinite;
    int64_t count;
    double min;
    double max;
    double mean;
    double std;
    int64_t min_integer;
    int64_t max_integer;
} ozarr_summary;
#define OZARR_SUMMARY_INIT \
    {sizeof(ozarr_summary), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
static inline void ozarr_summary_init(ozarr_summary *summary) {
    const ozarr_summary init = OZARR_SUMMARY_INIT;
    *summary = init;
}
typedef struct ozarr_comparison {
    size_t struct_size;
    int64_t elements;
    int64_t differing;
    double largest_absolute;
    double largest_relative;
} ozarr_comparison;
#define OZARR_COMPARISON_INIT \
    {sizeof(ozarr_comparison), 0, 0, 0, 0}
static inline void ozarr_comparison_init(ozarr_comparison *comparison) {
    const ozarr_comparison init = OZARR_COMPARISON_INIT;
    *comparison = init;
}
OZARR_CHECKED ozarr_status ozarr_array_summarize(const ozarr_array *array, const ozarr_region *region,
    ozarr_summary *summary);
OZARR_CHECKED ozarr_status ozarr_array_digest(const ozarr_array *array, const ozarr_region *region, char *buf,
    size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_array_compare(const ozarr_array *a, const ozarr_region *region_a,
    const ozarr_array *b, const ozarr_region *region_b, double absolute, double relative,
    ozarr_comparison *comparison, int64_t *first);
OZARR_CHECKED ozarr_status ozarr_array_read_varlen(const ozarr_array *array, const ozarr_region *region,
    ozarr_varlen **out);
OZARR_CHECKED ozarr_status ozarr_array_write_varlen(const ozarr_array *array, const ozarr_region *region,
    const int64_t *offsets, const void *data, size_t size);
OZARR_CHECKED ozarr_status ozarr_array_write_strings(const ozarr_array *array, const ozarr_region *region,
    const char *const *strings);
OZARR_CHECKED ozarr_status ozarr_array_list_type(const ozarr_array *array, ozarr_type *type);
OZARR_CHECKED ozarr_status ozarr_array_fill_text(const ozarr_array *array, char *buf, size_t cap,
    size_t *len);
OZARR_CHECKED ozarr_status ozarr_varlen_count(const ozarr_varlen *varlen, int64_t *count);
OZARR_CHECKED ozarr_status ozarr_varlen_get(const ozarr_varlen *varlen, int64_t index, const char **bytes,
    size_t *len);
OZARR_CHECKED ozarr_status ozarr_varlen_all(const ozarr_varlen *varlen, const int64_t **offsets,
    const char **data, size_t *size);
void ozarr_varlen_free(ozarr_varlen *varlen);
typedef int32_t ozarr_dtype_kind;
enum {
    OZARR_DTYPE_KIND_BOOL = 1,
    OZARR_DTYPE_KIND_INT = 2,
    OZARR_DTYPE_KIND_UINT = 3,
    OZARR_DTYPE_KIND_FLOAT = 4,
    OZARR_DTYPE_KIND_COMPLEX = 5,
    OZARR_DTYPE_KIND_BYTES = 6,
    OZARR_DTYPE_KIND_TEXT = 7,
    OZARR_DTYPE_KIND_RAW = 8,
    OZARR_DTYPE_KIND_DATETIME = 9,
    OZARR_DTYPE_KIND_TIMEDELTA = 10,
    OZARR_DTYPE_KIND_STRUCT = 11,
    OZARR_DTYPE_KIND_VAR_TEXT = 12,
    OZARR_DTYPE_KIND_VAR_BYTES = 13,
    OZARR_DTYPE_KIND_VAR_JSON = 14,
    OZARR_DTYPE_KIND_VAR_LIST = 15,
    OZARR_DTYPE_KIND_CHARS = 16
};
typedef int32_t ozarr_byte_order;
enum {
    OZARR_BYTE_ORDER_NONE = 0,
    OZARR_BYTE_ORDER_LITTLE = 1,
    OZARR_BYTE_ORDER_BIG = 2,
    OZARR_BYTE_ORDER_MIXED = 3
};
OZARR_CHECKED ozarr_status ozarr_dtype_get_kind(const ozarr_dtype *dtype, ozarr_dtype_kind *kind);
OZARR_CHECKED ozarr_status ozarr_dtype_type(const ozarr_dtype *dtype, ozarr_type *type);
OZARR_CHECKED ozarr_status ozarr_dtype_item_size(const ozarr_dtype *dtype, size_t *bytes);
OZARR_CHECKED ozarr_status ozarr_dtype_byte_order(const ozarr_dtype *dtype, ozarr_byte_order *order);
OZARR_CHECKED ozarr_status ozarr_dtype_unit(const ozarr_dtype *dtype, char *buf, size_t cap, size_t *len,
    int64_t *scale);
OZARR_CHECKED ozarr_status ozarr_dtype_equal(const ozarr_dtype *dtype, const ozarr_dtype *other, bool *equal);
OZARR_CHECKED ozarr_status ozarr_dtype_name(const ozarr_dtype *dtype, char *buf, size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_dtype_to_json(const ozarr_dtype *dtype, int32_t format, char *buf,
    size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_dtype_field_count(const ozarr_dtype *dtype, int64_t *count);
OZARR_CHECKED ozarr_status ozarr_dtype_field_name(const ozarr_dtype *dtype, int64_t index, char *buf,
    size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_dtype_field_offset(const ozarr_dtype *dtype, int64_t index, size_t *offset);
OZARR_CHECKED ozarr_status ozarr_dtype_copy_field_dtype(const ozarr_dtype *dtype, int64_t index,
    ozarr_dtype **out);
OZARR_CHECKED ozarr_status ozarr_dtype_field_shape(const ozarr_dtype *dtype, int64_t index, int64_t *shape,
    int64_t cap, int32_t *rank);
OZARR_CHECKED ozarr_status ozarr_dtype_scalar_to_json(const ozarr_dtype *dtype, int32_t format,
    const void *value, size_t size, char *buf, size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_dtype_scalar_from_json(const ozarr_dtype *dtype, int32_t format,
    const char *json, void *value, size_t size);
OZARR_CHECKED ozarr_status ozarr_array_grid_shape(const ozarr_array *array, int64_t *shape);
OZARR_CHECKED ozarr_status ozarr_array_chunk_extent(const ozarr_array *array, int32_t dim, int64_t index,
    int64_t *start, int64_t *extent);
OZARR_CHECKED ozarr_status ozarr_array_chunk_count(const ozarr_array *array, bool inner, int64_t *count);
OZARR_CHECKED ozarr_status ozarr_array_chunk_key(const ozarr_array *array, const int64_t *index, char *buf,
    size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_array_chunk_place(const ozarr_array *array, const int64_t *index, bool inner,
    bool *stored, int64_t *offset, int64_t *size);
OZARR_CHECKED ozarr_status ozarr_array_chunk_read(const ozarr_array *array, const int64_t *index, bool inner,
    void *buf, size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_array_chunk_write(const ozarr_array *array, const int64_t *index, bool inner,
    const void *data, size_t size);
OZARR_CHECKED ozarr_status ozarr_array_chunk_erase(const ozarr_array *array, const int64_t *index, bool inner,
    bool *stored);
OZARR_CHECKED ozarr_status ozarr_array_list_chunks(const ozarr_array *array, bool inner,
    ozarr_chunk_iter **out);
OZARR_CHECKED ozarr_status ozarr_chunk_iter_next(ozarr_chunk_iter *chunk_iter, bool *more);
OZARR_CHECKED ozarr_status ozarr_chunk_iter_index(const ozarr_chunk_iter *chunk_iter, int64_t *index);
OZARR_CHECKED ozarr_status ozarr_chunk_iter_place(const ozarr_chunk_iter *chunk_iter, int64_t *offset,
    int64_t *size);
void ozarr_chunk_iter_free(ozarr_chunk_iter *chunk_iter);
OZARR_CHECKED ozarr_status ozarr_shard_writer_new(const ozarr_array *array, const int64_t *index,
    ozarr_shard_writer **out);
OZARR_CHECKED ozarr_status ozarr_shard_writer_put(ozarr_shard_writer *shard_writer, const int64_t *index,
    bool encoded, ozarr_type type, const void *data, size_t size);
OZARR_CHECKED ozarr_status ozarr_shard_writer_finish(ozarr_shard_writer *shard_writer);
void ozarr_shard_writer_free(ozarr_shard_writer *shard_writer);
enum {
    OZARR_COPY_RAW = 1,
    OZARR_COPY_VERIFY = 2,
    OZARR_COPY_LINK = 4
};
typedef ozarr_status (*ozarr_progress_fn)(void *user, int64_t done, int64_t total);
typedef ozarr_status (*ozarr_copy_change_fn)(void *user, const char *path, ozarr_spec *spec);
typedef struct ozarr_copy_options {
    size_t struct_size;
    int32_t zarr_format;
    ozarr_create_mode mode;
    ozarr_overflow overflow;
    uint32_t flags;
    size_t memory;
    const struct ozarr_spec *spec;
    ozarr_copy_change_fn change;
    ozarr_progress_fn progress;
    void *user;
} ozarr_copy_options;
#define OZARR_COPY_OPTIONS_INIT \
    {sizeof(ozarr_copy_options), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL}
static inline void ozarr_copy_options_init(ozarr_copy_options *copy_options) {
    const ozarr_copy_options init = OZARR_COPY_OPTIONS_INIT;
    *copy_options = init;
}
OZARR_CHECKED ozarr_status ozarr_array_copy_spec(const ozarr_array *array, int32_t zarr_format,
    ozarr_spec **out);
OZARR_CHECKED ozarr_status ozarr_copy(const char *source, const char *dest,
    const ozarr_copy_options *options);
OZARR_CHECKED ozarr_status ozarr_copy_at(const ozarr_store *store, const char *path, ozarr_store *dest_store,
    const char *dest_path, const ozarr_copy_options *options);
enum {
    OZARR_MIGRATE_IN_PLACE = 1,
    OZARR_MIGRATE_LINK = 4
};
OZARR_CHECKED ozarr_status ozarr_migrate(const char *source, const char *dest, uint32_t flags,
    ozarr_progress_fn progress, void *user);
enum {
    OZARR_VERIFY_QUICK = 1,
    OZARR_VERIFY_REPAIR = 2
};
typedef int32_t ozarr_fault_kind;
enum {
    OZARR_FAULT_KIND_DAMAGED = 1,
    OZARR_FAULT_KIND_UNREADABLE = 2,
    OZARR_FAULT_KIND_UNSUPPORTED = 3,
    OZARR_FAULT_KIND_OUTSIDE = 4,
    OZARR_FAULT_KIND_FOREIGN = 5,
    OZARR_FAULT_KIND_TEMPORARY = 6,
    OZARR_FAULT_KIND_STALE = 7
};
typedef ozarr_status (*ozarr_fault_fn)(void *user, ozarr_fault_kind kind, const char *key,
    const char *message, int64_t bytes, bool repaired);
typedef struct ozarr_verified {
    size_t struct_size;
    int64_t nodes;
    int64_t chunks;
    int64_t faults;
    int64_t repaired;
} ozarr_verified;
#define OZARR_VERIFIED_INIT \
    {sizeof(ozarr_verified), 0, 0, 0, 0}
static inline void ozarr_verified_init(ozarr_verified *verified) {
    const ozarr_verified init = OZARR_VERIFIED_INIT;
    *verified = init;
}
OZARR_CHECKED ozarr_status ozarr_store_verify(ozarr_store *store, const char *path, uint32_t flags,
    ozarr_fault_fn each, ozarr_progress_fn progress, void *user, ozarr_verified *verified);
typedef ozarr_status (*ozarr_key_fn)(void *user, const char *key);
OZARR_CHECKED ozarr_status ozarr_store_below(const ozarr_store *store, const char *path, const char *mode,
    ozarr_store **out);
OZARR_CHECKED ozarr_status ozarr_store_cached(const ozarr_store *store, size_t bytes, const char *mode,
    ozarr_store **out);
OZARR_CHECKED ozarr_status ozarr_store_capabilities(const ozarr_store *store, uint32_t *capabilities);
OZARR_CHECKED ozarr_status ozarr_store_key_get(const ozarr_store *store, const char *key, void *buf,
    size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_store_key_put(ozarr_store *store, const char *key, const void *data,
    size_t size);
OZARR_CHECKED ozarr_status ozarr_store_key_erase(ozarr_store *store, const char *key, bool *erased);
OZARR_CHECKED ozarr_status ozarr_store_key_list(const ozarr_store *store, const char *prefix,
    ozarr_key_fn each, void *user);
enum {
    OZARR_BUFFER_SMALL_PAGES = 1
};
OZARR_CHECKED ozarr_status ozarr_buffer_alloc(size_t bytes, uint32_t flags, void **out);
void ozarr_buffer_free(void *buffer);
#ifdef __cplusplus
}
#endif
#endif
