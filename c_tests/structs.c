/* Structs of programs that were compiled with another header: the first size, size 0, larger ones; as input, as output, and in lists. */
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

/* `{0}` is a struct of the first version. */
static void zero_is_the_first_size(void) {
    ozarr_array *a = made("zero.zarr");
    int64_t start[] = {1}, shape[] = {2};
    int32_t in[2] = {0};
    ozarr_region region = {0};
    ozarr_memory memory = {0};
    region.start = start, region.shape = shape;
    memory.data = in, memory.size = sizeof in;
    OK(ozarr_array_read_ex(a, &region, &memory));
    CHECK(in[0] == 2 && in[1] == 3);

    ozarr_batch_entry entries[2] = {{0}, {0}};
    entries[0].array = entries[1].array = a;
    entries[0].region = entries[1].region = &region;
    entries[0].memory = &memory;
    ozarr_memory second = {0};
    int32_t other[2] = {0};
    second.data = other, second.size = sizeof other;
    entries[1].memory = &second;
    OK(ozarr_read_many(2, entries));
    CHECK(other[1] == 3);

    ozarr_request_options options = {0};
    ozarr_request *r = NULL;
    OK(ozarr_array_iread_ex(a, &region, &memory, &options, &r));
    ozarr_error_info info = {0};
    while (ozarr_request_error(r, &info) == OZARR_ERR_STATE) OK(ozarr_request_wait(r, -1));
    CHECK(info.struct_size == 0 && info.status == OZARR_OK && info.message != NULL);
    ozarr_request_free(r);

    ozarr_explanation plan = {0};
    OK(ozarr_array_explain(a, &region, NULL, false, &plan));
    EQUAL(plan.bytes, 8);
    ozarr_stats stats = {0};
    OK(ozarr_array_stats(a, &stats));
    CHECK(stats.struct_size == 0 && stats.reads > 0);
    ozarr_info stored = {0};
    OK(ozarr_array_info(a, &stored));
    EQUAL(stored.chunks, 1);
    ozarr_copy_options copy = {0};
    OK(ozarr_copy("zero.zarr", "copy.zarr", &copy));

    ozarr_layout layout = {0};
    ozarr_spec *spec = NULL;
    OK(ozarr_spec_new_ex(OZARR_INT32, 1, shape, &layout, &spec));
    ozarr_spec_free(spec);

    const char *dims[] = {"x"};
    ozarr_variable variable = {0};
    variable.type = OZARR_INT16, variable.rank = 1, variable.dimensions = dims;
    ozarr_dataset *ds = NULL;
    OK(ozarr_dataset_create("zero_ds.zarr", 3, OZARR_CREATE_NEW, &ds));
    OK(ozarr_dataset_define_dimension(ds, "x", 3));
    OK(ozarr_dataset_define_variable_ex(ds, "v", &variable, OZARR_CREATE_NEW, NULL));
    OK(ozarr_dataset_close(ds));
    OK(ozarr_array_close(a));
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
    OK(ozarr_read_many(3, &newer[0].known));
    for (int i = 0; i < 3; i++) EQUAL(in[i][3], 4);
    newer[2].later = 1;
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "entries[2]", "came after", ozarr_read_many(3, &newer[0].known));
    newer[2].later = 0, newer[1].known.struct_size = sizeof(ozarr_batch_entry);
    ERR_SAYS(OZARR_ERR_ARGUMENT, "entries[1]", "first entry", ozarr_read_many(3, &newer[0].known));
    newer[0].known.struct_size = 8;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "entries[0]", "struct_size", ozarr_read_many(3, &newer[0].known));
    OK(ozarr_array_close(a));
}

int main(void) {
    zero_is_the_first_size();
    reserved_members_are_zero();
    outputs_fill_the_smaller_of_both();
    entries_are_as_large_as_the_first();
    return finish();
}
