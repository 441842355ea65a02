/* Uses the interface as a program does that is compiled once and runs for years: every struct of the stable headers, with `{0}` and with its
 * size, and something of each section; no messages, which may change. abi/first/ keeps it and its headers as they were in the first release
 * (tools/first); they are compiled and run with every later library. */
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <ozarr_formats.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition) ((condition) ? (void)0 : (void)(failures++, fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition)))
#define OK(call) ((call) == OZARR_OK ? (void)0 : (void)(failures++, fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, ozarr_last_error())))

/* A struct of the type that begins with its size or, first, with 0. */
#define STRUCT(type, name) type name = {0}; name.struct_size = sized ? sizeof name : 0

enum { N = 4 };
static const int32_t DATA[N] = {1, 2, 3, 4};

static void arrays(bool sized, const char *store) {
    char path[64];
    int64_t shape[] = {N}, chunks[] = {2}, start[] = {1}, count[] = {2};
    int32_t in[N] = {0};
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    STRUCT(ozarr_layout, layout);
    STRUCT(ozarr_region, region);
    STRUCT(ozarr_memory, memory);
    STRUCT(ozarr_explanation, plan);
    STRUCT(ozarr_info, info);
    STRUCT(ozarr_stats, stats);
    STRUCT(ozarr_summary, summary);
    STRUCT(ozarr_comparison, comparison);
    snprintf(path, sizeof path, "%s/a", store);
    layout.chunks = chunks;
    OK(ozarr_spec_new_ex(OZARR_INT32, 1, shape, &layout, &spec));
    OK(ozarr_array_create_ex(path, spec, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(spec);
    OK(ozarr_array_write(a, OZARR_INT32, DATA, sizeof DATA));
    OK(ozarr_attr_set_string(ozarr_array_node(a), "units", "K"));
    region.start = start, region.shape = count;
    memory.data = in, memory.size = sizeof in;
    OK(ozarr_array_read_ex(a, &region, &memory));
    CHECK(in[0] == 2 && in[1] == 3);
    OK(ozarr_array_explain(a, &region, NULL, false, &plan));
    CHECK(plan.bytes == 8 && plan.struct_size == (sized ? sizeof plan : 0));
    OK(ozarr_array_info(a, &info));
    CHECK(info.chunks == 2);
    OK(ozarr_array_stats(a, &stats));
    CHECK(stats.reads > 0);
    OK(ozarr_array_summarize(a, &region, &summary));
    CHECK(summary.count == 2 && summary.mean == 2.5);
    OK(ozarr_array_compare(a, &region, a, &region, 0, 0, &comparison, NULL));
    CHECK(comparison.elements == 2 && comparison.differing == 0);

    STRUCT(ozarr_batch_entry, one);
    STRUCT(ozarr_request_options, options);
    STRUCT(ozarr_error_info, error);
    ozarr_batch_entry entries[2] = {one, one};
    ozarr_request *r = NULL;
    memset(in, 0, sizeof in);
    for (int i = 0; i < 2; i++) entries[i].array = a, entries[i].region = &region, entries[i].memory = &memory;
    OK(ozarr_read_many(entries, 2));
    CHECK(in[1] == 3);
    OK(ozarr_array_iread_ex(a, &region, &memory, &options, &r));
    OK(ozarr_request_wait(r, -1));
    OK(ozarr_request_error(r, &error));
    CHECK(error.status == OZARR_OK && error.message != NULL);
    ozarr_request_free(r);
    OK(ozarr_array_close(a));
    CHECK(ozarr_array_open("nowhere.zarr", "r", &a) == OZARR_ERR_NOT_FOUND);
}

static void datasets_and_copies(bool sized, const char *store) {
    char path[64], units[8];
    const char *dims[] = {"x"};
    int64_t count = 0;
    ozarr_dataset *ds = NULL;
    ozarr_array *v = NULL;
    ozarr_group *g = NULL;
    STRUCT(ozarr_variable, variable);
    STRUCT(ozarr_copy_options, copy);
    snprintf(path, sizeof path, "%s/ds", store);
    variable.type = OZARR_INT32, variable.rank = 1, variable.dimensions = dims, variable.units = "m";
    OK(ozarr_dataset_create(path, 3, OZARR_CREATE_NEW, &ds));
    OK(ozarr_dataset_define_dimension(ds, "x", N));
    OK(ozarr_dataset_define_variable_ex(ds, "v", &variable, OZARR_CREATE_NEW, &v));
    OK(ozarr_array_write(v, OZARR_INT32, DATA, sizeof DATA));
    OK(ozarr_array_close(v));
    OK(ozarr_dataset_close(ds));
    snprintf(path, sizeof path, "%s_copy", store);
    OK(ozarr_copy(store, path, &copy));
    OK(ozarr_group_open(path, "r", &g));
    OK(ozarr_group_open_array(g, "ds/v", &v));
    OK(ozarr_attr_get_string(ozarr_array_node(v), "units", units, sizeof units, NULL));
    CHECK(strcmp(units, "m") == 0);
    OK(ozarr_attr_count(ozarr_group_node(g), &count));
    ozarr_array_free(v);
    ozarr_group_free(g);
}

int main(void) {
    CHECK(ozarr_abi_version() == OZARR_ABI_VERSION);
    arrays(false, "zero.zarr");
    arrays(true, "sized.zarr");
    datasets_and_copies(false, "zero.zarr");
    datasets_and_copies(true, "sized.zarr");
    return failures != 0;
}
