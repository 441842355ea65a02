/* Every struct that begins with its size, by its initialiser and by its function, in the common subset of C99 to C23 and C++98 to C++20. */
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <ozarr_extend.h>
#include <ozarr_formats.h>

#ifdef __cplusplus
extern "C"
#endif
int all_begin_with_their_size(void);

#define WITH_SIZE(name, INIT)                              \
    do {                                                   \
        name by_macro = INIT, by_function;                 \
        name##_init(&by_function);                         \
        if (by_macro.struct_size != sizeof(name)) return 0;    \
        if (by_function.struct_size != sizeof(name)) return 0; \
    } while (0)

int all_begin_with_their_size(void) {
    WITH_SIZE(ozarr_error_info, OZARR_ERROR_INFO_INIT);
    WITH_SIZE(ozarr_region, OZARR_REGION_INIT);
    WITH_SIZE(ozarr_memory, OZARR_MEMORY_INIT);
    WITH_SIZE(ozarr_request_options, OZARR_REQUEST_OPTIONS_INIT);
    WITH_SIZE(ozarr_batch_entry, OZARR_BATCH_ENTRY_INIT);
    WITH_SIZE(ozarr_explanation, OZARR_EXPLANATION_INIT);
    WITH_SIZE(ozarr_stats, OZARR_STATS_INIT);
    WITH_SIZE(ozarr_summary, OZARR_SUMMARY_INIT);
    WITH_SIZE(ozarr_comparison, OZARR_COMPARISON_INIT);
    WITH_SIZE(ozarr_layout, OZARR_LAYOUT_INIT);
    WITH_SIZE(ozarr_variable, OZARR_VARIABLE_INIT);
    WITH_SIZE(ozarr_info, OZARR_INFO_INIT);
    WITH_SIZE(ozarr_copy_options, OZARR_COPY_OPTIONS_INIT);
    WITH_SIZE(ozarr_store_table, OZARR_STORE_TABLE_INIT);
    WITH_SIZE(ozarr_transformer_table, OZARR_TRANSFORMER_TABLE_INIT);
    WITH_SIZE(ozarr_key_encoding_table, OZARR_KEY_ENCODING_TABLE_INIT);
    WITH_SIZE(ozarr_codec_table, OZARR_CODEC_TABLE_INIT);
    WITH_SIZE(ozarr_dtype_table, OZARR_DTYPE_TABLE_INIT);
    return 1;
}
