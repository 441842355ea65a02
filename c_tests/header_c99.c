/* The header in strict C99, included twice; the second file of the program is header_cxx.cpp. */
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <ozarr_formats.h>
#include <ozarr_extend.h>
#include <ozarr.h>

int c99(void);
int c11(void);

int c99(void) {
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    ozarr_explanation explanation = OZARR_EXPLANATION_INIT;
    ozarr_stats stats = OZARR_STATS_INIT;
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    ozarr_copy_options options = OZARR_COPY_OPTIONS_INIT;
    ozarr_request_options going = OZARR_REQUEST_OPTIONS_INIT;
    ozarr_batch_entry entry = OZARR_BATCH_ENTRY_INIT;
    return region.struct_size == sizeof region && memory.struct_size == sizeof memory && info.struct_size == sizeof info &&
           options.struct_size == sizeof options && going.struct_size == sizeof going && entry.struct_size == sizeof entry &&
           explanation.struct_size == sizeof explanation && stats.struct_size == sizeof stats &&
           memory.type == OZARR_AS_STORED && memory.order == OZARR_ORDER_C && region.step == NULL;
}
