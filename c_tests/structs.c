/* Structs of programs that were compiled with another header: as input, as output, and in lists. (The first size, and 0: interface.c.) */
#include "table.h"

#include <stddef.h>
#include <string.h>

static ozarr_array *made(const char *name) {
    const int64_t shape[] = {4};
    const int32_t data[] = {1, 2, 3, 4};
    ozarr_array *a = NULL;
    OK(ozarr_array_create(name, OZARR_INT32, 1, shape, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT32, data, sizeof data));
    return a;
}

/* What fills a hole must be 0. */
static void reserved_members_are_zero(void) {
    ozarr_array *a = made("reserved.zarr");
    int32_t in[4];
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = in, memory.size = sizeof in, memory.reserved = 1;
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "reserved", "1", ozarr_array_read_ex(a, NULL, &memory));
    OK(ozarr_array_close(a));
}

/* Outputs of a larger struct: what is not known here stays as it was, and must be 0. */
static void outputs_fill_the_smaller_of_both(void) {
    struct { ozarr_error_info known; int64_t later; } newer = {OZARR_ERROR_INFO_INIT, 0};
    ozarr_array *a = NULL;
    ERR(OZARR_ERR_NOT_FOUND, ozarr_array_open("nowhere.zarr", "r", &a));
    newer.known.struct_size = sizeof newer;
    OK(ozarr_last_error_info(&newer.known));
    CHECK(newer.known.status == OZARR_ERR_NOT_FOUND && newer.known.struct_size == sizeof newer && newer.later == 0);
    newer.later = 1;
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "info", "came after", ozarr_last_error_info(&newer.known));
    newer.later = 0, newer.known.struct_size = offsetof(ozarr_error_info, field);
    ERR_SAYS(OZARR_ERR_ARGUMENT, "info", "struct_size", ozarr_last_error_info(&newer.known));
}

/* The entries of a batch are as far apart as the first one says. */
static void entries_are_as_large_as_the_first(void) {
    struct { ozarr_batch_entry known; int64_t later; } newer[3];
    ozarr_array *a = made("entries.zarr");
    int32_t in[3][4] = {{0}};
    ozarr_memory memory[3];
    for (int i = 0; i < 3; i++) {
        ozarr_memory_init(&memory[i]);
        memory[i].data = in[i], memory[i].size = sizeof in[i];
        ozarr_batch_entry_init(&newer[i].known);
        newer[i].known.struct_size = sizeof newer[i];
        newer[i].known.array = a, newer[i].known.memory = &memory[i], newer[i].later = 0;
    }
    OK(ozarr_read_many(&newer[0].known, 3));
    for (int i = 0; i < 3; i++) EQUAL(in[i][3], 4);
    newer[2].later = 1;
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "entries[2]", "came after", ozarr_read_many(&newer[0].known, 3));
    newer[2].later = 0, newer[1].known.struct_size = sizeof(ozarr_batch_entry);
    ERR_SAYS(OZARR_ERR_ARGUMENT, "entries[1]", "that of the first one", ozarr_read_many(&newer[0].known, 3));
    newer[0].known.struct_size = 8;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "entries[0]", "struct_size", ozarr_read_many(&newer[0].known, 3));
    OK(ozarr_array_close(a));
}

/* What a member that is needed lacks is named, with the member. */
static void members_are_named(void) {
    static const int64_t start[] = {0}, shape[] = {4};
    ozarr_array *a = made("members.zarr");
    int32_t in[4];
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT, none = OZARR_MEMORY_INIT;
    memory.data = in, memory.size = sizeof in;
    ERR_SAYS(OZARR_ERR_NULL, "region->start", "NULL", ozarr_array_read_ex(a, &region, &memory));
    region.start = start;
    ERR_SAYS(OZARR_ERR_NULL, "region->shape", "NULL", ozarr_array_write_ex(a, &region, &memory));
    region.shape = shape;
    OK(ozarr_array_read_ex(a, &region, &memory));
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_read_ex(a, NULL, &none));
    none.size = sizeof in;
    ERR_SAYS(OZARR_ERR_NULL, "memory->data", "NULL", ozarr_array_write_ex(a, NULL, &none));
    memory.field = "x\xff";
    ERR_SAYS(OZARR_ERR_ARGUMENT, "memory->field", "UTF-8", ozarr_array_read_ex(a, NULL, &memory));
    OK(ozarr_array_close(a));
}

int main(void) {
    members_are_named();
    reserved_members_are_zero();
    outputs_fill_the_smaller_of_both();
    entries_are_as_large_as_the_first();
    return finish();
}
