// The header in C++17, included twice; the initialisers in all the forms that C++ has.
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <ozarr_formats.h>
#include <ozarr_extend.h>
#include <ozarr.h>

#include <cstring>

extern "C" int c99(void);
extern "C" int c11(void);
extern "C" int all_begin_with_their_size(void);

// The initialisers say NULL, as C does.
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"

static const ozarr_region whole = OZARR_REGION_INIT;

// A status that is dropped on purpose draws no warning.
static void dropped() { (void)ozarr_array_close(nullptr); }

static bool cxx() {
    dropped();
    ozarr_memory memory = OZARR_MEMORY_INIT;
    ozarr_error_info info OZARR_ERROR_INFO_INIT;
    ozarr_copy_options options OZARR_COPY_OPTIONS_INIT;
    ozarr_request_options going OZARR_REQUEST_OPTIONS_INIT;
    ozarr_batch_entry entry OZARR_BATCH_ENTRY_INIT;
    ozarr_array *array = nullptr;
    ozarr_status status = ozarr_array_open("nowhere.zarr", "r", &array);
    return whole.struct_size == sizeof whole && memory.struct_size == sizeof memory && info.struct_size == sizeof info && options.struct_size == sizeof options &&
           going.struct_size == sizeof going && entry.struct_size == sizeof entry && status == OZARR_ERR_NOT_FOUND && array == nullptr && std::strcmp(ozarr_status_name(status), "OZARR_ERR_NOT_FOUND") == 0;
}

int main() { return c99() && c11() && all_begin_with_their_size() && cxx() ? 0 : 1; }
