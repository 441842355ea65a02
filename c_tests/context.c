/* Contexts: the default one, settings and their values, what is told and where. */
#include "table.h"
#include <stdbool.h>
#include <unistd.h>

static char buf[256];

static void setting(ozarr_context *c, const char *key, const char *value, const char *shown) {
    OK(ozarr_context_set(c, key, value));
    OK(ozarr_context_get(c, key, buf, sizeof buf, NULL));
    TEXT(buf, shown);
}

/* Every setting is what was set, in one form of its value. */
static void settings(ozarr_context *c) {
    static const char *const truths[][2] = {{"1", "1"}, {"true", "1"}, {"on", "1"}, {"0", "0"}, {"false", "0"}, {"off", "0"}};
    static const char *const flags[] = {"strict", "non_finite", "huge_pages", "measure_time"};
    for (size_t f = 0; f < 4; f++) {
        for (size_t i = 0; i < 6; i++) setting(c, flags[f], truths[i][0], truths[i][1]);
        ERR_SAYS(OZARR_ERR_ARGUMENT, flags[f], "\"yes\"", ozarr_context_set(c, flags[f], "yes"));
    }
    setting(c, "threads", "2", "2");
    setting(c, "chunk_cache", "1000000", "1000000");
    setting(c, "chunk_cache", "0", "0");
    setting(c, "file.sync", "none", "none");
    setting(c, "file.sync", "batch", "batch");
    setting(c, "bytes_in_flight", "12345678", "12345678");
    setting(c, "when_full", "again", "again");
    setting(c, "when_full", "wait", "wait");
    ERR(OZARR_ERR_ARGUMENT, ozarr_context_set(c, "threads", "0"));
    ERR(OZARR_ERR_ARGUMENT, ozarr_context_set(c, "threads", "-1"));
    ERR(OZARR_ERR_ARGUMENT, ozarr_context_set(c, "threads", "99999999999999999999"));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "file.sync", "often", ozarr_context_set(c, "file.sync", "often"));
    setting(c, "file.lock", "require", "require");
    setting(c, "file.lock", "none", "none");
    setting(c, "file.lock", "try", "try");
    ERR_SAYS(OZARR_ERR_ARGUMENT, "file.lock", "sometimes", ozarr_context_set(c, "file.lock", "sometimes"));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "nothing", "threads", ozarr_context_set(c, "nothing", "1"));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "nothing", "threads", ozarr_context_get(c, "nothing", buf, sizeof buf, NULL));
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_context_get(c, "when_full", buf, 4, NULL));
}

/* How often arrays were lost. */
static long losses(void) {
    OK(ozarr_context_get(NULL, "lost", buf, sizeof buf, NULL));
    return strtol(buf, NULL, 10);
}

/* Settings of nodes take the same values, and give them back. */
static void of_nodes(void) {
    const int64_t shape[] = {4};
    ozarr_array *a = NULL;
    ozarr_group *g = NULL;
    OK(ozarr_array_create("nodes.zarr/a", OZARR_INT8, 1, shape, NULL, OZARR_CREATE_NEW, &a));
    OK(ozarr_group_open("nodes.zarr", "r", &g));
    static const char *const keys[] = {"raw_attributes", "write_fill_chunks", "measure_time", "list_changes"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        OK(ozarr_node_set(ozarr_array_node(a), keys[i], "on"));
        OK(ozarr_node_get(ozarr_array_node(a), keys[i], buf, sizeof buf, NULL));
        TEXT(buf, "1");
        OK(ozarr_node_set(ozarr_array_node(a), keys[i], "0"));
        OK(ozarr_node_get(ozarr_array_node(a), keys[i], buf, sizeof buf, NULL));
        TEXT(buf, "0");
    }
    /* The keys that the handle changes, from when they are listed. */
    static const int8_t four[] = {1, 2, 3, 4}, none[4];
    OK(ozarr_array_write(a, OZARR_INT8, four, sizeof four));
    OK(ozarr_node_get(ozarr_array_node(a), "changes", buf, sizeof buf, NULL));
    TEXT(buf, "");
    OK(ozarr_node_set(ozarr_array_node(a), "list_changes", "1"));
    OK(ozarr_array_read(a, OZARR_INT8, (int8_t[4]){0}, 4));
    OK(ozarr_node_get(ozarr_array_node(a), "changes", buf, sizeof buf, NULL));
    TEXT(buf, "");
    OK(ozarr_array_write(a, OZARR_INT8, none, sizeof none)); /* erases the chunk */
    OK(ozarr_array_write(a, OZARR_INT8, four, sizeof four));
    OK(ozarr_node_get(ozarr_array_node(a), "changes", buf, sizeof buf, NULL));
    TEXT(buf, "a/c/0\n");
    OK(ozarr_node_set(ozarr_array_node(a), "list_changes", "1"));
    OK(ozarr_node_get(ozarr_array_node(a), "changes", buf, sizeof buf, NULL));
    TEXT(buf, "");
    OK(ozarr_node_set(ozarr_array_node(a), "chunk_cache", "100000"));
    OK(ozarr_node_get(ozarr_array_node(a), "chunk_cache", buf, sizeof buf, NULL));
    TEXT(buf, "100000");
    OK(ozarr_node_get(ozarr_array_node(a), "write_back", buf, sizeof buf, NULL));
    TEXT(buf, "0");
    OK(ozarr_node_get(ozarr_array_node(a), "lost", buf, sizeof buf, NULL));
    TEXT(buf, "0");
    const long before = losses();
    ERR_SAYS(OZARR_ERR_ARGUMENT, "lost", "only be asked for", ozarr_context_set(NULL, "lost", "1"));
    CHECK(losses() == before);
    OK(ozarr_node_set(ozarr_array_node(a), "lost", "1"));
    CHECK(losses() > before);
    OK(ozarr_node_get(ozarr_array_node(a), "lost", buf, sizeof buf, NULL));
    TEXT(buf, "1");
    OK(ozarr_node_set(ozarr_array_node(a), "lost", "0"));
    ERR(OZARR_ERR_STATE, ozarr_array_write(a, OZARR_INT8, four, sizeof four));
    OK(ozarr_node_refresh(ozarr_array_node(a), NULL, 0));
    OK(ozarr_array_write(a, OZARR_INT8, four, sizeof four));
    OK(ozarr_node_get(ozarr_array_node(a), "mode", buf, sizeof buf, NULL));
    TEXT(buf, "r+");
    OK(ozarr_node_get(ozarr_group_node(g), "mode", buf, sizeof buf, NULL));
    TEXT(buf, "r");
    ERR_SAYS(OZARR_ERR_ARGUMENT, "write_back", "raw_attributes", ozarr_node_set(ozarr_group_node(g), "write_back", "0"));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "mode", "", ozarr_node_set(ozarr_array_node(a), "mode", "r"));
    OK(ozarr_node_path(ozarr_group_node(g), buf, sizeof buf, NULL));
    TEXT(buf, "");
    ozarr_array_free(a);
    ozarr_group_free(g);
}

static ozarr_status count(void *user, ozarr_log_level level, const char *message) {
    CHECK(level == OZARR_LOG_LEVEL_WARNING && strstr(message, "a/zarr.json") != NULL);
    ++*(int *)user;
    return OZARR_OK;
}

/* Functions that take a location do as the default context says. */
static void locations_obey(void) {
    static const char odd[] = "{\"zarr_format\": 3, \"node_type\": \"group\", \"node_type\": \"group\"}";
    ozarr_group *g = NULL;
    int told = 0;
    OK(ozarr_group_create("odd.zarr/a", OZARR_CREATE_NEW, &g));
    ozarr_group_free(g);
    put_file("odd.zarr/a/zarr.json", odd, sizeof odd - 1);

    OK(ozarr_group_open("odd.zarr/a", "r", &g)); /* OZARR_LOG: one line on standard error */
    ozarr_group_free(g);
    OK(ozarr_context_set_log(NULL, OZARR_LOG_LEVEL_WARNING, count, &told));
    OK(ozarr_group_open("odd.zarr/a", "r", &g));
    ozarr_group_free(g);
    EQUAL(told, 1);
    OK(ozarr_context_set_log(NULL, OZARR_LOG_LEVEL_OFF, NULL, NULL));
    OK(ozarr_context_set(NULL, "strict", "true"));
    ERR(OZARR_ERR_METADATA, ozarr_group_open("odd.zarr/a", "r", &g));
    OK(ozarr_context_set(NULL, "strict", "false"));
    OK(ozarr_context_set(NULL, "non_finite", "on"));
    OK(ozarr_group_open("odd.zarr", "r+", &g));
    OK(ozarr_attr_set_double(ozarr_group_node(g), "nan", 0.0 / 0.0));
    ozarr_group_free(g);
    OK(ozarr_context_set(NULL, "non_finite", "off"));
    OK(ozarr_group_open("odd.zarr", "r+", &g));
    ERR(OZARR_ERR_RANGE, ozarr_attr_set_double(ozarr_group_node(g), "nan", 0.0 / 0.0));
    ozarr_group_free(g);
}

int main(void) {
    ozarr_context *c = NULL;
    OK(setenv("OZARR_LOG", "warning", 1));
    OK(setenv("OZARR_NUM_THREADS", "many", 1));
    fflush(stderr);
    int screen = dup(2);
    CHECK(freopen("stderr.txt", "w", stderr) != NULL);
    of_nodes();
    locations_obey();
    fflush(stderr);
    dup2(screen, 2);
    char *lines = file_content("stderr.txt", NULL);
    CHECK(lines != NULL && strncmp(lines, "ozarr: OZARR_NUM_THREADS is \"many\", expected a number from 1 to 4096", 67) == 0);
    const char *second = strchr(lines, '\n') + 1;
    CHECK(strncmp(second, "ozarr: ", 7) == 0 && strstr(second, "a/zarr.json") != NULL && strchr(second, '\n')[1] == 0);
    free(lines);
    settings(NULL);
    OK(ozarr_context_new(&c));
    settings(c);
    ozarr_context_free(c);
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_context_get(c, "threads", buf, sizeof buf, NULL));
    return finish();
}
