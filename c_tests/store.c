/* Stores below their nodes: raw keys in every kind of store, and what a zip archive can do and cannot. */
#include "table.h"
#include <fenv.h>
#include <stdbool.h>
#include <unistd.h>

static char listed[256];

static ozarr_status note(void *user, const char *key) {
    size_t at = strlen(listed);
    snprintf(listed + at, sizeof listed - at, "%s%s", at ? " " : "", key);
    return strcmp(key, (const char *)user) != 0 ? OZARR_OK : ozarr_set_error(OZARR_ERR_CANCELLED, "that was the last", NULL);
}

static const char *keys(ozarr_store *st, const char *prefix, const char *last) {
    listed[0] = 0;
    ozarr_status status = ozarr_store_key_list(st, prefix, note, (void *)(uintptr_t)last);
    if (status != OZARR_OK) ERR_SAYS(OZARR_ERR_CANCELLED, "`each`", "that was the last", status);
    return listed;
}

static void raw_keys(const char *location, uint32_t want) {
    ozarr_store *st = NULL;
    char buf[8] = "-------";
    size_t len = 99;
    bool flag = true;
    uint32_t can = 0;
    if (location) OK(ozarr_store_open(location, "r+", &st));
    else OK(ozarr_store_memory(&st));
    OK(ozarr_store_capabilities(st, &can));
    EQUAL(can, want);
    ERR(OZARR_ERR_NOT_FOUND, ozarr_store_key_get(st, "a/k", NULL, 0, NULL));
    ERR_SAYS(OZARR_ERR_NOT_FOUND, "a/k", "nothing", ozarr_store_key_get(st, "a/k", buf, sizeof buf, &len));
    EQUAL(len, 99);
    OK(ozarr_store_key_put(st, "a/k", "12345", 5));
    OK(ozarr_store_key_put(st, "a/k", "1234567", 7));
    OK(ozarr_store_key_put(st, "a/l", NULL, 0));
    OK(ozarr_store_key_put(st, "b", "x", 1));
    OK(ozarr_store_key_get(st, "a/k", NULL, 0, &len));
    EQUAL(len, 7);
    len = 0;
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_store_key_get(st, "a/k", buf, 6, &len));
    EQUAL(len, 7);
    TEXT(buf, "-------");
    OK(ozarr_store_key_get(st, "a/k", buf, 7, &len));
    TEXT(buf, "1234567");
    OK(ozarr_store_key_get(st, "a/l", buf, 7, &len));
    EQUAL(len, 0);
    TEXT(keys(st, "", ""), "a/k a/l b");
    TEXT(keys(st, "a/", ""), "a/k a/l");
    TEXT(keys(st, "none/", ""), "");
    TEXT(keys(st, "", "a/l"), "a/k a/l");
    ERR(OZARR_ERR_ARGUMENT, ozarr_store_key_list(st, "a", note, NULL));
    ERR(OZARR_ERR_NAME, ozarr_store_key_put(st, "../k", "x", 1));
    ERR(OZARR_ERR_NAME, ozarr_store_key_get(st, "a//k", buf, 7, &len));
    OK(ozarr_store_key_erase(st, "none", &flag));
    CHECK(!flag);
    if (can & OZARR_STORE_CAN_ERASE) {
        OK(ozarr_store_key_erase(st, "a/k", &flag));
        CHECK(flag);
        TEXT(keys(st, "", ""), "a/l b");
    } else {
        ERR_SAYS(OZARR_ERR_UNSUPPORTED, "keys.zip", "cannot erase", ozarr_store_key_erase(st, "a/k", &flag));
        TEXT(keys(st, "", ""), "a/k a/l b");
    }
    OK(ozarr_store_close(st));
    if (!location) return;
    OK(ozarr_store_open(location, "r", &st));
    OK(ozarr_store_capabilities(st, &can));
    EQUAL(can, OZARR_STORE_CAN_LIST);
    ERR(OZARR_ERR_READ_ONLY, ozarr_store_key_put(st, "b", "y", 1));
    ERR(OZARR_ERR_READ_ONLY, ozarr_store_key_erase(st, "b", &flag));
    ozarr_store_free(st);
}

static ozarr_status host_rounds_up(void *user, const char *key) {
    (void)key;
    *(bool *)user = fegetround() == FE_UPWARD;
    return OZARR_ERR_CANCELLED;
}

/* The callback runs in the host's own floating-point environment. */
static void the_hosts_environment(void) {
    ozarr_store *st = NULL;
    bool same = false;
    OK(ozarr_store_memory(&st));
    OK(ozarr_store_key_put(st, "k", "x", 1));
    fesetround(FE_UPWARD);
    ERR(OZARR_ERR_CANCELLED, ozarr_store_key_list(st, "", host_rounds_up, &same));
    CHECK(same);
    CHECK(fegetround() == FE_UPWARD);
    fesetround(FE_TONEAREST);
    ozarr_store_free(st);
}

/* Arrays in an archive: written in parts, filled again, read by others after the flush, and not erased. */
static void arrays_in_an_archive(void) {
    int64_t shape[] = {4, 4}, chunks[] = {2, 2}, start[] = {0, 0}, part[] = {2, 2}, smaller[] = {2, 4};
    int32_t values[16], in[16], fill[4] = {0};
    ozarr_array *a = NULL, *b = NULL;
    for (int i = 0; i < 16; i++) values[i] = i + 1;
    OK(ozarr_array_create("arrays.zip/deep/a", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT32, values, sizeof values));
    OK(ozarr_array_write_region(a, start, part, OZARR_INT32, fill, sizeof fill));
    OK(ozarr_attr_set_int64(ozarr_array_node(a), "n", 1));
    OK(ozarr_attr_set_int64(ozarr_array_node(a), "n", 2));
    OK(ozarr_array_open("arrays.zip/deep/a", "r", &b));
    OK(ozarr_array_read(b, OZARR_INT32, in, sizeof in));
    EQUAL(in[0], 0);
    EQUAL(in[5], 0);
    EQUAL(in[15], 16);
    ozarr_array_free(b);
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "arrays.zip", "cannot erase", ozarr_array_resize(a, smaller, 0));
    OK(ozarr_array_shape(a, smaller));
    EQUAL(smaller[0], 4);
    OK(ozarr_array_close(a));
    ERR(OZARR_ERR_EXISTS, ozarr_array_create("arrays.zip/deep/a", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_NEW, &a));
    ERR_SAYS(OZARR_ERR_UNSUPPORTED, "arrays.zip", "cannot erase", ozarr_array_create("arrays.zip/deep/a", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &a));
    ERR(OZARR_ERR_UNSUPPORTED, ozarr_node_erase("arrays.zip/deep"));
    OK(ozarr_array_create("arrays.zip/b", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &b));
    OK(ozarr_array_close(b));
    OK(ozarr_array_open("arrays.zip/deep/a", "r", &a));
    memset(in, 0x55, sizeof in);
    OK(ozarr_array_read(a, OZARR_INT32, in, sizeof in));
    EQUAL(in[0], 0);
    EQUAL(in[15], 16);
    ozarr_array_free(a);
    ERR_SAYS(OZARR_ERR_NOT_FOUND, "none.zip", "no zip archive", ozarr_array_open("none.zip/a", "r", &a));
}

/* An archive that was cut is refused, repaired, and read. */
static void repair(void) {
    ozarr_store *st = NULL;
    int64_t kept = 0, lost = 0;
    OK(ozarr_store_open("cut.zip", "r+", &st));
    OK(ozarr_store_key_put(st, "a", "first", 5));
    OK(ozarr_store_key_put(st, "b", "second", 6));
    OK(ozarr_store_close(st));
    CHECK(truncate("cut.zip", 31 + 5 + 31 + 3) == 0);
    ERR_SAYS(OZARR_ERR_TRUNCATED, "cut.zip", "zip-repair", ozarr_store_open("cut.zip", "r", &st));
    OK(ozarr_zip_repair("cut.zip", &kept, &lost));
    EQUAL(kept, 1);
    EQUAL(lost, 1);
    OK(ozarr_store_open("cut.zip", "r", &st));
    TEXT(keys(st, "", ""), "a");
    ozarr_store_free(st);
    ERR(OZARR_ERR_IO, ozarr_zip_repair("none.zip", &kept, &lost));
}

int main(void) {
    raw_keys(NULL, OZARR_STORE_CAN_WRITE | OZARR_STORE_CAN_LIST | OZARR_STORE_CAN_ERASE);
    raw_keys("keys.zarr", OZARR_STORE_CAN_WRITE | OZARR_STORE_CAN_LIST | OZARR_STORE_CAN_ERASE);
    raw_keys("keys.zip", OZARR_STORE_CAN_WRITE | OZARR_STORE_CAN_LIST);
    the_hosts_environment();
    arrays_in_an_archive();
    repair();
    return finish();
}
