/* Reading into every kind of memory that a system has: the values are right in each, and what cannot be written gives the same status whether
 * its pages are asked for beforehand or not. */
#define _GNU_SOURCE
#include "table.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEEP = 64, HIGH = 256, WIDE = 512, ELEMENTS = DEEP * HIGH * WIDE };
static const size_t SIZE = (size_t)ELEMENTS * 4;

/* Arrays whose chunks are contiguous in memory, or rows, or compressed, or in the other byte order, or not there. */
static const struct layout {
    const char *name, *compressor;
    int64_t chunk[3];
    bool big, stored;
} LAYOUTS[] = {
    {"planes", "none", {1, HIGH, WIDE}, false, true},  {"blocks", "none", {4, 64, 64}, false, true},      {"zstd", "zstd", {4, 64, 64}, false, true},
    {"zstd-planes", "zstd", {2, HIGH, WIDE}, false, true}, {"big", "none", {4, 64, 128}, true, true}, {"fill", "none", {4, 64, 64}, false, false},
};
enum { COUNT = sizeof LAYOUTS / sizeof *LAYOUTS };

static ozarr_array *arrays[COUNT];
static int32_t *expected[COUNT];

static void make_arrays(void) {
    static const int64_t SHAPE[] = {DEEP, HIGH, WIDE};
    for (int i = 0; i < COUNT; i++) {
        const struct layout *l = &LAYOUTS[i];
        char path[64];
        const int32_t fill = 77;
        ozarr_spec *spec = NULL;
        snprintf(path, sizeof path, "%s.zarr", l->name);
        OK(ozarr_spec_new(OZARR_INT32, 3, SHAPE, &spec));
        OK(ozarr_spec_set_chunks(spec, l->chunk));
        OK(ozarr_spec_set_compressor(spec, l->compressor, -1));
        OK(ozarr_spec_set_fill_value(spec, OZARR_INT32, &fill));
        if (l->big) OK(ozarr_spec_set_big_endian(spec, true));
        OK(ozarr_array_create_ex(path, spec, OZARR_CREATE_OVERWRITE, &arrays[i]));
        ozarr_spec_free(spec);
        expected[i] = malloc(SIZE);
        if (!expected[i]) exit(1);
        for (int64_t k = 0; k < ELEMENTS; k++) expected[i][k] = l->stored ? (int32_t)(k * 2654435761u >> 7) : fill;
        if (l->stored) OK(ozarr_array_write(arrays[i], OZARR_INT32, expected[i], SIZE));
    }
}

/* Memory of `SIZE` bytes and a page, whose first element is `from` bytes behind its beginning. */
static void read_all(const char *kind, char *memory, size_t from) {
    for (int i = 0; memory && i < COUNT; i++) {
        OK(ozarr_array_read(arrays[i], OZARR_INT32, memory + from, SIZE));
        if (memcmp(memory + from, expected[i], SIZE)) FAIL("%s: wrong values of %s", kind, LAYOUTS[i].name);
    }
}

static void *map(int protection, int flags, int fd) {
    void *p = mmap(NULL, SIZE + 4096, protection, flags, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

static int file_of(const char *name, off_t bytes) {
    FILE *f = fopen(name, "w+b");
    int fd = f ? dup(fileno(f)) : -1;
    if (f) fclose(f);
    CHECK(fd >= 0 && ftruncate(fd, bytes) == 0);
    return fd;
}

/* Each layout into memory of its own, which nobody has touched. */
static void fresh_memory(int flags, const char *kind, size_t from, int advice) {
    for (int i = 0; i < COUNT; i++) {
        char *p = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1);
        CHECK(p);
        if (!p) return;
        if (advice >= 0) CHECK(madvise(p, SIZE + 4096, advice) == 0 || advice == 14);
        OK(ozarr_array_read(arrays[i], OZARR_INT32, p + from, SIZE));
        if (memcmp(p + from, expected[i], SIZE)) FAIL("%s: wrong values of %s", kind, LAYOUTS[i].name);
        for (size_t k = 0; k < from; k++) CHECK(p[k] == 0);
        for (size_t k = from + SIZE; k < SIZE + 4096; k++) CHECK(p[k] == 0);
        munmap(p, SIZE + 4096);
    }
}

/* What is in memory beside the elements stays, and pages between them are left alone. */
static void parts_of_memory(void) {
    const size_t row = (size_t)WIDE * 4, pitch = row + 16384, bytes = pitch * DEEP * HIGH;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char resident[8];
    const int64_t strides[] = {(int64_t)pitch * HIGH, (int64_t)pitch, 4};
    ozarr_memory memory = OZARR_MEMORY_INIT;
    CHECK(p != MAP_FAILED);
    if (p == MAP_FAILED) return;
    memory.data = p, memory.size = bytes, memory.strides = strides, memory.type = OZARR_INT32;
    OK(ozarr_array_read_ex(arrays[1], NULL, &memory));
    for (int64_t k = 0; k < DEEP * HIGH; k++)
        if (memcmp(p + (size_t)k * pitch, expected[1] + k * WIDE, row)) FAIL("wrong values in row %d", (int)k);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t gap = (row + page - 1) / page * page;
    if (page == 4096 && mincore(p + gap, 2 * page, resident) == 0) CHECK(!(resident[0] & 1) && !(resident[1] & 1));
    munmap(p, bytes);
}

/* Memory that cannot be written, or not to its end: the system's error. */
static void no_memory_to_write(void) {
    char *constant = map(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    ERR_SAYS(OZARR_ERR_IO, "Bad address", "", ozarr_array_read(arrays[0], OZARR_INT32, constant, SIZE));
    munmap(constant, SIZE + 4096);
    const int fd = file_of("short", (off_t)SIZE / 2);
    char *half = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    ERR_SAYS(OZARR_ERR_IO, "Bad address", "", ozarr_array_read(arrays[0], OZARR_INT32, half, SIZE));
    munmap(half, SIZE + 4096);
    close(fd);
}

/* A memory cgroup of three quarters of `SIZE` for this process' children, of the second version or of the first: its folder, or false where none can be made. */
static bool make_group(char *path, size_t room) {
#ifdef __SANITIZE_ADDRESS__
    return false; /* Its own memory is far more. */
#endif
    static const char *const ROOTS[][2] = {{"/sys/fs/cgroup", "memory.max"}, {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}};
    for (int i = 0; i < 2; i++) {
        char file[192];
        snprintf(path, room, "%s/ozarr-destinations-%d", ROOTS[i][0], (int)getpid());
        if (mkdir(path, 0700)) continue;
        snprintf(file, sizeof file, "%s/%s", path, ROOTS[i][1]);
        FILE *f = access(file, W_OK) ? NULL : fopen(file, "w");
        const bool limited = f && fprintf(f, "%zu", SIZE / 4 * 3) > 0;
        if (f && fclose(f) == 0 && limited) return true;
        rmdir(path);
    }
    return false;
}

/* In a memory cgroup at its limit the pages of a file are written back and taken again; where groups cannot be made, nothing is tried. */
static void group_at_its_limit(void) {
    char path[128], file[192];
    if (!make_group(path, sizeof path)) return;
    const int fd = file_of("limited", (off_t)SIZE + 4096);
    const pid_t child = fork();
    if (child == 0) {
        snprintf(file, sizeof file, "%s/cgroup.procs", path);
        FILE *f = fopen(file, "w");
        if (!f || fprintf(f, "%d", (int)getpid()) < 0 || fclose(f)) _exit(0);
        char *p = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
        _exit(p && ozarr_array_read(arrays[1], OZARR_INT32, p, SIZE) == OZARR_OK && !memcmp(p, expected[1], SIZE) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    /* A process that needs more than the group has for other things is killed by the system. */
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) EQUAL(status, 0);
    close(fd);
    rmdir(path);
}

/* What the system says of the mapping at an address: the bytes in huge pages, and whether it is asked for them (the flag `hg`). */
static struct pages { size_t huge; bool advised; } pages_at(const char *at) {
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[512];
    bool inside = false;
    struct pages found = {0, false};
    while (f && fgets(line, sizeof line, f)) {
        unsigned long first, end, kib;
        if (sscanf(line, "%lx-%lx ", &first, &end) == 2) inside = (unsigned long)at >= first && (unsigned long)at < end;
        if (inside && sscanf(line, "AnonHugePages: %lu kB", &kib) == 1) found.huge = kib << 10;
        if (inside && !strncmp(line, "VmFlags:", 8)) found.advised = strstr(line, " hg") != NULL;
    }
    if (f) fclose(f);
    return found;
}

/* Whether the system makes huge pages of memory for which it is asked. */
static bool waits_for_advice(void) {
    char modes[128] = "";
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (!f) return false;
    if (!fgets(modes, sizeof modes, f)) modes[0] = 0;
    fclose(f);
    return strstr(modes, "[madvise]") != NULL;
}

/* Whether the system has huge pages left for as much memory that asks for them: other programs may have cut up what is free. */
static bool has_huge_pages(void) {
    bool has = false;
#ifdef MADV_HUGEPAGE
    char *p = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (!p) return false;
    madvise(p, SIZE + 4096, MADV_HUGEPAGE);
    memset(p, 1, SIZE);
    has = pages_at(p + SIZE / 2).huge >= SIZE - ((size_t)2 << 21);
    munmap(p, SIZE + 4096);
#endif
    if (!has) fprintf(stderr, "the system has no huge pages left\n");
    return has;
}

/* With the setting `huge_pages`, large fresh memory that is wholly overwritten is made of huge pages, and nothing is asked for afterwards;
 * memory that was touched, or that a request writes to, stays as it was. */
static void advice(bool huge) {
    if (!waits_for_advice()) return;
    enum { FRESH, TOUCHED, REQUESTED, KINDS };
    for (int kind = FRESH; kind < KINDS; kind++) {
        char *p = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        CHECK(p);
        if (!p) return;
        if (kind == TOUCHED) memset(p, 1, SIZE);
        if (kind == REQUESTED) {
            static const int64_t start[3], shape[] = {DEEP, HIGH, WIDE};
            ozarr_request *r = NULL;
            OK(ozarr_array_iread_region(arrays[0], start, shape, OZARR_INT32, p, SIZE, &r));
            OK(ozarr_request_wait(r, -1));
            ozarr_request_free(r);
        } else {
            OK(ozarr_array_read(arrays[0], OZARR_INT32, p, SIZE));
        }
        const struct pages found = pages_at(p + SIZE / 2);
        /* The two at the ends, and one in whose middle a page was looked at. */
        if (!huge || kind != FRESH) EQUAL(found.huge, 0);
        else CHECK(found.huge >= SIZE - ((size_t)3 << 21) || !has_huge_pages());
        CHECK(!found.advised);
        munmap(p, SIZE + 4096);
    }
}

/* An allocation that was read into, as a whole or in part, grows as any other. */
static void grown_afterwards(void) {
    for (size_t before = 0; before < 2; before++) {
        char *p = malloc(SIZE + before * 100000), *grown = NULL;
        if (!p) exit(1);
        OK(ozarr_array_read(arrays[0], OZARR_INT32, p + before * 50000, SIZE));
        grown = realloc(p, 3 * SIZE);
        CHECK(grown);
        if (!grown) exit(1);
        CHECK(!memcmp(grown + before * 50000, expected[0], SIZE));
        memset(grown + 2 * SIZE, 1, SIZE);
        free(grown);
    }
}

/* Opens the arrays again, without the setting `huge_pages`. */
static void without_huge_pages(void) {
    ozarr_context *context = NULL;
    OK(ozarr_context_new(&context));
    OK(ozarr_context_set(context, "huge_pages", "0"));
    for (int i = 0; i < COUNT; i++) {
        char path[64];
        ozarr_store *store = NULL;
        ozarr_array_free(arrays[i]);
        snprintf(path, sizeof path, "%s.zarr", LAYOUTS[i].name);
        OK(ozarr_store_open_ex(context, path, "r", NULL, &store));
        OK(ozarr_array_open_at(store, "/", &arrays[i]));
        ozarr_store_free(store);
    }
    ozarr_context_free(context);
}

/* Every kind of memory. */
static void every_memory(void) {
    fresh_memory(0, "fresh", 0, -1);
    fresh_memory(0, "fresh, 4 bytes behind a page", 4, -1);
    fresh_memory(MAP_NORESERVE, "not reserved", 0, -1);
    fresh_memory(0, "huge pages", 0, 14 /* MADV_HUGEPAGE */);
    read_all("shared", map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1), 0);
    char *half = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (half) memset(half, 1, SIZE / 4);
    read_all("touched in part", half, 0);
    const int fd = file_of("mapped", (off_t)SIZE + 4096);
    read_all("a file's", map(PROT_READ | PROT_WRITE, MAP_SHARED, fd), 0);
    read_all("a file's, private", map(PROT_READ | PROT_WRITE, MAP_PRIVATE, fd), 0);
    char *locked = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (locked && mlock(locked, SIZE) == 0) read_all("locked", locked, 0);
    close(fd);
    parts_of_memory();
    no_memory_to_write();
    group_at_its_limit();
    advice(true);
    grown_afterwards();
}

int main(void) {
    make_arrays();
    every_memory();
    without_huge_pages();
    fresh_memory(0, "fresh, in small pages", 0, -1);
    advice(false);
    for (int i = 0; i < COUNT; i++) {
        ozarr_array_free(arrays[i]);
        free(expected[i]);
    }
    return finish();
}
