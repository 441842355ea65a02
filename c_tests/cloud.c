/* Object stores without a network: what a library that has them says, and one that was built without. */
#include "table.h"
#include <dirent.h>
#include <pthread.h>
#include <time.h>

/* Nobody listens there. */
#define NOWHERE "http://127.0.0.1:9"

/* The threads of this process whose names begin so. */
static int threads(const char *name) {
    int found = 0;
    DIR *all = opendir("/proc/self/task");
    struct dirent *one;
    CHECK(all != NULL);
    while (all && (one = readdir(all))) {
        char path[300], text[32] = "";
        FILE *f;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", one->d_name);
        f = fopen(path, "r");
        if (!f) continue;
        if (fgets(text, sizeof text, f)) found += !strncmp(text, name, strlen(name));
        fclose(f);
    }
    if (all) closedir(all);
    return found;
}

static pthread_key_t key;
static int rounds;

/* Asks, and once more in the round that the system makes behind the destructors of the library's own keys. */
static void ask_nowhere(void *unused) {
    ozarr_array *a = NULL;
    (void)unused;
    ERR(OZARR_ERR_NETWORK, ozarr_array_open(NOWHERE "/x.zarr/t", "r", &a));
    if (rounds++ < 2) pthread_setspecific(key, &rounds);
}

static void *ask_at_end(void *unused) {
    ask_nowhere(unused);
    return NULL;
}

int main(void) {
    ozarr_store *st = NULL;
    ozarr_array *a = NULL;
    const char *options[] = {"cloud.endpoint", NOWHERE, "cloud.access_key_id", "planted-id", "cloud.secret_access_key", "planted-secret",
                             "cloud.retries", "1", "cloud.deadline", "5", NULL};
    const char *unknown[] = {"cloud.secret", "planted-secret", NULL};
    const char *wrong[] = {"cloud.requests", "0", NULL};
    ozarr_status status = ozarr_store_open_ex(NULL, "s3://bucket/x.zarr", "r", options, &st);
    int has_cloud = status == OZARR_OK;
#ifdef OZARR_TEST_CLOUD
    EQUAL(has_cloud, OZARR_TEST_CLOUD);
#endif
    EQUAL(ozarr_has_feature("cloud"), has_cloud);
    if (has_cloud) {
        uint32_t can = 0;
        OK(ozarr_store_capabilities(st, &can));
        CHECK(can & OZARR_STORE_IS_REMOTE);
        ERR(OZARR_ERR_NETWORK, ozarr_array_open_at(st, "t", &a));
        CHECK(!strstr(ozarr_last_error(), "planted"));
        ERR(OZARR_ERR_READ_ONLY, ozarr_store_key_put(st, "k", "x", 1));
        CHECK(threads("ozarr-net") > 0);
        ozarr_store_free(st);
        for (int i = 0; i < 6000 && threads("ozarr-net"); i++) nanosleep(&(struct timespec){0, 10000000}, NULL);
        EQUAL(threads("ozarr-net"), 0);
        /* Calls that take no options. */
        setenv("OZARR_CLOUD_OPTIONS", "{\"retries\": 1, \"connect_timeout\": \"2\", \"endpoint\": \"http://127.0.0.1:9\", \"region\": \"r\"}", 1);
        ERR(OZARR_ERR_NETWORK, ozarr_array_open(NOWHERE "/x.zarr/t", "r", &a));
        pthread_t thread;
        pthread_key_create(&key, ask_nowhere);
        pthread_create(&thread, NULL, ask_at_end, NULL);
        pthread_join(thread, NULL);
        EQUAL(rounds, 3);
    } else {
        static const char *locations[] = {"s3://b/x.zarr", "gs://b/x.zarr", "az://c/x.zarr", "http://h/x.zarr", "https://u:planted@h/x.zarr"};
        for (size_t i = 0; i < sizeof locations / sizeof *locations; i++) {
            ERR_SAYS(OZARR_ERR_UNSUPPORTED, "", "cloud", ozarr_array_open(locations[i], "r", &a));
            CHECK(!strstr(ozarr_last_error(), "planted"));
        }
    }
    setenv("OZARR_CLOUD_OPTIONS", "{\"secret_access_key\": \"planted\"", 1);
    ERR_SAYS(OZARR_ERR_ARGUMENT, "OZARR_CLOUD_OPTIONS", "JSON", ozarr_array_open("s3://b/x.zarr", "r", &a));
    CHECK(!strstr(ozarr_last_error(), "planted"));
    unsetenv("OZARR_CLOUD_OPTIONS");
    /* Names and values are checked, whatever the library has. */
    ERR(OZARR_ERR_ARGUMENT, ozarr_store_open_ex(NULL, "memory:", "r+", unknown, &st));
    CHECK(strstr(ozarr_last_error(), "cloud.secret") && !strstr(ozarr_last_error(), "planted"));
    ERR(OZARR_ERR_ARGUMENT, ozarr_store_open_ex(NULL, "memory:", "r+", wrong, &st));
    ERR(OZARR_ERR_LOCATION, ozarr_array_open("s3://key:planted@bucket/x.zarr", "r", &a));
    CHECK(!strstr(ozarr_last_error(), "planted"));
    return finish();
}
