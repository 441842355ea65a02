/* The header in C11, and the sizes and offsets that callers compile into their programs. */
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <ozarr_formats.h>
#include <ozarr_extend.h>
#include <stddef.h>

int c11(void);

/* The version is known to the preprocessor. */
#if OZARR_VERSION_NUMBER != 10000 * OZARR_VERSION_MAJOR + 100 * OZARR_VERSION_MINOR + OZARR_VERSION_PATCH || OZARR_ABI_VERSION < 1
#error "the version's macros contradict each other"
#endif

_Static_assert(sizeof(ozarr_status) == 4, "a status has 32 bits");
_Static_assert(sizeof(ozarr_region) == 40, "ozarr_region");
_Static_assert(sizeof(ozarr_memory) == 88, "ozarr_memory");
_Static_assert(sizeof(ozarr_explanation) == 144, "ozarr_explanation");
_Static_assert(sizeof(ozarr_stats) == 144, "ozarr_stats");
_Static_assert(sizeof(ozarr_summary) == 96, "ozarr_summary");
_Static_assert(sizeof(ozarr_comparison) == 40, "ozarr_comparison");
_Static_assert(sizeof(ozarr_copy_options) == 64, "ozarr_copy_options");
_Static_assert(sizeof(ozarr_error_info) == 48, "ozarr_error_info");
_Static_assert(offsetof(ozarr_region, step) == 24, "ozarr_region.step");
_Static_assert(offsetof(ozarr_memory, strides) == 32, "ozarr_memory.strides");
_Static_assert(offsetof(ozarr_memory, type) == 44, "ozarr_memory.type");
_Static_assert(offsetof(ozarr_error_info, message) == 24, "ozarr_error_info.message");
_Static_assert(OZARR_OK == 0 && OZARR_ERR_ARGUMENT == -101 && OZARR_ERR_CALLBACK == -902, "statuses");

int c11(void) {
    static ozarr_memory memory = OZARR_MEMORY_INIT;
    return memory.data == NULL && ozarr_abi_version() == OZARR_ABI_VERSION;
}
