/* The life of handles: what is freed in any order, what outlives what, new handles in old places; and what calls leave as it was. Wrong handles
 * are given to every function by misuse/. */
#include "table.h"
#include <stdbool.h>
#include <errno.h>
#include <fenv.h>

static bool flag;
static int64_t extents[] = {2, 2};

int main(void) {
    ozarr_store *st = NULL;
    ozarr_group *g = NULL;
    ozarr_array *a = NULL, *later = NULL, *texts = NULL;
    ozarr_spec *s = NULL;
    ozarr_node_iter *it = NULL;
    ozarr_varlen *v = NULL;
    ozarr_chunk_iter *k = NULL;
    ozarr_shard_writer *w = NULL;
    ozarr_context *c = NULL;
    ozarr_dtype *d = NULL;
    ozarr_dataset *ds = NULL;
    ozarr_request *r = NULL;
    ozarr_appender *o = NULL;
    ozarr_dataset *run = NULL;
    ozarr_series *n = NULL;
    double read[4];
    int32_t rank = 0;

    /* The functions that make handles, and those that take none. */
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", OZARR_VERSION_MAJOR, OZARR_VERSION_MINOR, OZARR_VERSION_PATCH);
    CHECK(strcmp(ozarr_version(), version) == 0 && ozarr_abi_version() == OZARR_ABI_VERSION);
    CHECK(ozarr_has_feature("zip") && ozarr_has_feature("https") == ozarr_has_feature("cloud"));
    CHECK(ozarr_has_feature("zstd") && !ozarr_has_feature("none such") && !ozarr_has_feature(NULL));
    OK(ozarr_context_new(&c));
    OK(ozarr_dtype_parse("float64", 0, &d));
    ozarr_dtype_free(d);
    OK(ozarr_dtype_of(OZARR_FLOAT64, &d));
    ozarr_dtype_free(d);
    OK(ozarr_dtype_chars(3, ' ', &d));
    ozarr_dtype_free(d);
    OK(ozarr_dtype_struct(8, &d));
    OK(ozarr_store_memory(&st));
    OK(ozarr_spec_new(OZARR_FLOAT64, 2, extents, &s));
    OK(ozarr_spec_set_inner_chunks(s, extents));
    OK(ozarr_group_create_at(st, "", 0, OZARR_CREATE_NEW, &g));
    OK(ozarr_group_list_nodes(g, NULL, 1, &it));
    OK(ozarr_group_open_dataset(g, &ds));
    OK(ozarr_array_create_at(st, "a", s, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_list_chunks(a, true, &k));
    int64_t first[] = {0, 0};
    OK(ozarr_shard_writer_new(a, first, &w));
    OK(ozarr_array_iread_region(a, first, extents, OZARR_FLOAT64, read, sizeof read, &r));
    OK(ozarr_appender_open(a, 0, 0, 0, &o));
    OK(ozarr_dataset_create("run.zarr", 0, OZARR_CREATE_OVERWRITE, &run));
    OK(ozarr_dataset_define_time(run, "time", 0, 0, "days since 2026-01-01", NULL, NULL));
    OK(ozarr_series_open(run, "time", -1, 0, 0, &n));
    OK(ozarr_dataset_close(run));
    OK(ozarr_shutdown());

    OK(ozarr_array_create("texts.zarr", OZARR_STRING, 2, extents, NULL, OZARR_CREATE_OVERWRITE, &texts));
    OK(ozarr_array_read_varlen(texts, NULL, &v));
    OK(ozarr_array_close(texts));

    ERR_SAYS(OZARR_ERR_INVALID_HANDLE, "ozarr_group", "ozarr_array", ozarr_array_rank((ozarr_array *)g, &rank));

    /* What hangs on a handle outlives it. */
    ozarr_store_free(st);
    ozarr_group_free(g);
    OK(ozarr_array_rank(a, &rank));
    EQUAL(rank, 2);
    OK(ozarr_node_iter_next(it, &flag));
    ozarr_array_free(a);
    ozarr_spec_free(s);
    ozarr_node_iter_free(it);
    ozarr_varlen_free(v);
    ozarr_chunk_iter_free(k);
    ozarr_shard_writer_free(w);
    ozarr_context_free(c);
    ozarr_dtype_free(d);
    ozarr_dataset_free(ds);
    OK(ozarr_request_wait(r, -1));
    ozarr_request_free(r);
    ozarr_appender_free(o);
    ozarr_series_free(n);
    ERR_SAYS(OZARR_ERR_INVALID_HANDLE, "freed", "", ozarr_array_rank(a, &rank));

    /* A new handle in the old one's slot is another handle; a closed one is gone, even if closing it failed. */
    OK(ozarr_array_create("again.zarr", OZARR_FLOAT64, 2, extents, NULL, OZARR_CREATE_NEW, &later));
    CHECK(later != a);
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_array_rank(a, &rank));
    OK(ozarr_array_close(later));
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_array_close(later));
    ozarr_array_free(later);
    TEXT(ozarr_status_name(OZARR_ERR_INVALID_HANDLE), "OZARR_ERR_INVALID_HANDLE");

    /* errno and the floating-point environment are the caller's. */
    OK(ozarr_array_open("again.zarr", "r", &a));
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    errno = 42;
    double data[4];
    OK(ozarr_array_read(a, OZARR_FLOAT64, data, sizeof data));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_array_open("nothing.zarr", "r", &later));
    EQUAL(errno, 42);
    EQUAL(fegetround(), FE_UPWARD);
    EQUAL(fetestexcept(FE_ALL_EXCEPT), 0);
    ozarr_array_free(a);
    return finish();
}
