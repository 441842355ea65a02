/* What is Windows's own: its paths, the names that it cannot have, files that others have open, and processes that change one chunk. The
 * arrays in formats/ are left for another library to read. */
#include "table.h"
#include <process.h>
#include <stdbool.h>
#include <stdint.h>
#include <windows.h>

static const int64_t SHAPE[] = {40, 30}, CHUNKS[] = {20, 16}, INNER[] = {10, 8};
static int32_t values[40 * 30], found[40 * 30];

static void round_trip(const char *location, int32_t format, const char *compressor, bool sharded) {
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_spec_new(OZARR_INT32, 2, SHAPE, &spec));
    OK(ozarr_spec_set_zarr_format(spec, format));
    OK(ozarr_spec_set_chunks(spec, CHUNKS));
    if (sharded) OK(ozarr_spec_set_inner_chunks(spec, INNER));
    OK(ozarr_spec_set_compressor(spec, compressor, -1));
    OK(ozarr_array_create_ex(location, spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT32, values, sizeof values));
    OK(ozarr_array_close(a));
    ozarr_spec_free(spec);
    memset(found, 0, sizeof found);
    if (!OK(ozarr_array_open(location, "r", &a))) return;
    OK(ozarr_array_read(a, OZARR_INT32, found, sizeof found));
    CHECK(memcmp(found, values, sizeof values) == 0);
    ozarr_array_free(a);
}

static void every_format(void) {
    static const char *const COMPRESSORS[] = {"none", "gzip", "zstd", "blosc"};
    char location[64];
    for (int i = 0; i < 40 * 30; i++) values[i] = i * 7 - 300;
    for (int i = 0; i < 4; i++) {
        snprintf(location, sizeof location, "formats/v2-%d.zarr", i);
        round_trip(location, 2, COMPRESSORS[i], false);
        snprintf(location, sizeof location, "formats/v3-%d.zarr", i);
        round_trip(location, 3, COMPRESSORS[i], false);
        snprintf(location, sizeof location, "formats/sharded-%d.zarr", i);
        round_trip(location, 3, COMPRESSORS[i], true);
        snprintf(location, sizeof location, "formats/zip-%d.zip", i);
        round_trip(location, 3, COMPRESSORS[i], false);
    }
}

/* The same store by each way to write its path. */
static void paths(void) {
    char here[1000], back[1100], forward[1100], url[1110];
    if (_getcwd(here, sizeof here) == NULL) FAIL("no current folder");
    snprintf(back, sizeof back, "%s\\sub\\p.zarr\\g\\a", here);
    snprintf(forward, sizeof forward, "%s/sub/p.zarr", here);
    for (char *c = forward; *c; c++) *c = *c == '\\' ? '/' : *c;
    snprintf(url, sizeof url, "file:///%s/g/a", forward);
    round_trip(back, 3, "none", false);
    const char *const SAME[] = {back, "sub/p.zarr/g/a", "sub\\p.zarr\\g\\a", ".\\sub/p.zarr/g/a", url};
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++) {
        ozarr_array *a = NULL;
        OK(ozarr_array_open(SAME[i], "r", &a));
        ozarr_array_free(a);
    }
    ozarr_store *st = NULL;
    OK(ozarr_store_open(forward, "r", &st));
    ozarr_store_free(st);
}

/* Names of devices, of streams, what Windows takes off, and more than it has room for: refused, and nothing is made. Other stores have them. */
static void names(void) {
    static char longest[256], too_long[257];
    memset(longest, 'n', sizeof longest - 1);
    memset(too_long, 'n', sizeof too_long - 1);
    const char *const REFUSED[] = {"con", "a/NUL.txt", "Com1", "lpt9.x", "a:b", "a.", "a ", "what?", "a*", "\"a\"", "a<b", "a|b", too_long};
    const char *const TAKEN[] = {"console", "com10", "com", ".hidden", "a.b", "gr\xc3\xb6\xc3\x9f\x65", "a b", "100%", longest};
    ozarr_store *folder = NULL, *memory = NULL;
    OK(ozarr_store_open("names.zarr", "r+", &folder));
    OK(ozarr_store_open("memory:", "r+", &memory));
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        ozarr_group *g = NULL;
        ERR_SAYS(OZARR_ERR_NAME, REFUSED[i], "no file of this system can have this name", ozarr_group_create_at(folder, REFUSED[i], 3, OZARR_CREATE_NEW, &g));
        OK(ozarr_group_create_at(memory, REFUSED[i], 3, OZARR_CREATE_NEW, &g));
        ozarr_group_free(g);
    }
    for (size_t i = 0; i < sizeof TAKEN / sizeof *TAKEN; i++) {
        ozarr_group *g = NULL;
        OK(ozarr_group_create_at(folder, TAKEN[i], 3, OZARR_CREATE_NEW, &g));
        ozarr_group_free(g);
    }
    ozarr_store_free(memory);
    ozarr_store_free(folder);
    /* Names one below the other, longer than the 260 characters of Windows's older functions. */
    char deep[700] = "deep.zarr";
    for (int i = 0; i < 60; i++) strcat(deep, "/folder-ten");
    round_trip(deep, 3, "none", false);
}

static HANDLE reader;

static unsigned __stdcall stop_reading(void *unused) {
    (void)unused;
    Sleep(300);
    CloseHandle(reader);
    return 0;
}

/* A chunk is replaced while another program reads it, at once or when that ends; the reader's bytes stay. */
static void open_files(void) {
    const int64_t one[] = {4};
    double x[4] = {1, 2, 3, 4}, y[4];
    ozarr_array *a = NULL;
    OK(ozarr_array_create("open.zarr", OZARR_FLOAT64, 1, one, one, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_FLOAT64, x, sizeof x));
    DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, got = 0;
    reader = CreateFileA("open.zarr/c/0", GENERIC_READ, share, NULL, OPEN_EXISTING, 0, NULL);
    CHECK(reader != INVALID_HANDLE_VALUE && ReadFile(reader, y, 1, &got, NULL) && got == 1);
    HANDLE thread = (HANDLE)_beginthreadex(NULL, 0, stop_reading, NULL, 0, NULL);
    x[0] = 9;
    OK(ozarr_array_write(a, OZARR_FLOAT64, x, sizeof x));
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    OK(ozarr_array_read(a, OZARR_FLOAT64, y, sizeof y));
    CHECK(y[0] == 9 && y[3] == 4);
    /* A reader that shares it with readers and writers only is in the way of a new file, and of none. */
    const double none[4] = {0};
    reader = CreateFileA("open.zarr/c/0", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
    CHECK(reader != INVALID_HANDLE_VALUE);
    ERR(OZARR_ERR_PERMISSION, ozarr_array_write(a, OZARR_FLOAT64, x, sizeof x));
    ERR(OZARR_ERR_PERMISSION, ozarr_array_write(a, OZARR_FLOAT64, none, sizeof none));
    CloseHandle(reader);
    OK(ozarr_array_read(a, OZARR_FLOAT64, y, sizeof y));
    CHECK(y[0] == 9 && y[3] == 4);
    OK(ozarr_array_close(a));
}

/* A program that loads the library, has its threads work, and frees it: they stay, and so does the library, which is a copy here, as a program
 * that was linked with it never frees that one. */
static void unloaded(void) {
    char file[1000];
    const int64_t shape[] = {64, 4096}, chunks[] = {1, 4096};
    double *x = calloc(64 * 4096, sizeof *x);
    for (int i = 0; i < 64 * 4096; i++) x[i] = i;
    CHECK(GetModuleFileNameA(GetModuleHandleA("ozarr.dll"), file, sizeof file) > 0 && CopyFileA(file, "again.dll", FALSE));
    HMODULE again = LoadLibraryA(".\\again.dll");
    if (again == NULL) FAIL("no second library");
    if (again == NULL) return;
    void (*found[4])(void);
    static const char *const NAMES[] = {"ozarr_context_set", "ozarr_array_create", "ozarr_array_write", "ozarr_array_close"};
    for (int i = 0; i < 4; i++) found[i] = (void (*)(void))GetProcAddress(again, NAMES[i]);
    __typeof__(ozarr_context_set) *set = (__typeof__(set))found[0];
    __typeof__(ozarr_array_create) *create = (__typeof__(create))found[1];
    __typeof__(ozarr_array_write) *put = (__typeof__(put))found[2];
    __typeof__(ozarr_array_close) *end = (__typeof__(end))found[3];
    ozarr_array *a = NULL;
    CHECK(set(NULL, "threads", "4") == OZARR_OK);
    CHECK(create("unloaded.zarr", OZARR_FLOAT64, 2, shape, chunks, OZARR_CREATE_NEW, &a) == OZARR_OK);
    CHECK(put(a, OZARR_FLOAT64, x, 64 * 4096 * sizeof *x) == OZARR_OK);
    CHECK(end(a) == OZARR_OK);
    FreeLibrary(again);
    Sleep(200);
    CHECK(GetModuleHandleA("again.dll") == again);
    free(x);
}

/* A chunk that was not changed just now is decoded once. */
static void cached(void) {
    const int64_t shape[] = {100}, chunk[] = {50}, one[] = {1};
    int32_t x[100], y = 0;
    ozarr_array *a = NULL;
    ozarr_stats before = OZARR_STATS_INIT, done = OZARR_STATS_INIT;
    for (int i = 0; i < 100; i++) x[i] = i;
    OK(ozarr_array_create("cached.zarr", OZARR_INT32, 1, shape, chunk, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT32, x, sizeof x));
    OK(ozarr_node_set(ozarr_array_node(a), "chunk_cache", "1000"));
    Sleep(100);
    for (int64_t i = 0; i < 10; i++) {
        OK(ozarr_array_read_region(a, &i, one, OZARR_INT32, &y, sizeof y));
        EQUAL(y, i);
        if (i == 0) OK(ozarr_array_stats(a, &before));
    }
    OK(ozarr_array_stats(a, &done));
    EQUAL(done.decoded_chunks, before.decoded_chunks);
    x[3] = -3;
    OK(ozarr_array_write(a, OZARR_INT32, x, sizeof x));
    OK(ozarr_array_read_region(a, (int64_t[]){3}, one, OZARR_INT32, &y, sizeof y));
    EQUAL(y, -3);
    OK(ozarr_array_close(a));
}

enum { PROCESSES = 2, EACH = 8, TIMES = 5 };

/* Changes elements of a chunk that another process changes, too, each by a read, a change and a write of the whole chunk. */
static int change(int64_t process) {
    ozarr_array *a = NULL;
    OK(ozarr_array_open("race.zarr", "r+", &a));
    for (int t = 1; t <= TIMES; t++)
        for (int64_t i = 0; i < EACH; i++) {
            int64_t start[] = {process * EACH + i}, count[] = {1};
            int32_t value = (int32_t)(100 * process + t);
            OK(ozarr_array_write_region(a, start, count, OZARR_INT32, &value, sizeof value));
            OK(ozarr_node_flush(ozarr_array_node(a)));
        }
    OK(ozarr_array_close(a));
    return finish();
}

static void race(const char *program) {
    const int64_t shape[] = {PROCESSES * EACH};
    int32_t all[PROCESSES * EACH];
    ozarr_array *a = NULL;
    intptr_t running[PROCESSES];
    OK(ozarr_array_create("race.zarr", OZARR_INT32, 1, shape, shape, OZARR_CREATE_NEW, &a));
    for (int p = 0; p < PROCESSES; p++) {
        char number[] = {(char)('0' + p), 0};
        running[p] = _spawnl(_P_NOWAIT, program, program, number, (char *)NULL);
        CHECK(running[p] != -1);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = 1;
        CHECK(_cwait(&status, running[p], 0) != -1 && status == 0);
    }
    OK(ozarr_array_read(a, OZARR_INT32, all, sizeof all));
    for (int i = 0; i < PROCESSES * EACH; i++) EQUAL(all[i], 100 * (i / EACH) + TIMES);
    OK(ozarr_array_close(a));
    CHECK(GetFileAttributesA("race.zarr\\.ozarr.lock") == INVALID_FILE_ATTRIBUTES);
}

int main(int argc, char **argv) {
    if (argc > 1) return change(argv[1][0] - '0');
    every_format();
    paths();
    names();
    open_files();
    cached();
    unloaded();
    race(argv[0]);
    return finish();
}
