/* Faults of one rank's system: a full disk, no files left, a store that refuses it. The call returns on all ranks with one status, one message
 * and one key; what is stored is old or new; and the next call works.
 *
 *   faults FOLDER */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIDE = 64, CHUNK = 16 };
typedef int32_t field[SIDE * SIDE];

static ozarr_mpi *m;
static const int64_t shape[] = {SIDE, SIDE}, chunks[] = {CHUNK, CHUNK};

/* --- faults --- */

/* Changes the soft limit of this process. */
static void limit(int resource, rlim_t to) {
    struct rlimit l;
    CHECK(getrlimit(resource, &l) == 0);
    l.rlim_cur = to == RLIM_INFINITY ? l.rlim_max : to;
    CHECK(setrlimit(resource, &l) == 0);
}

static void full_disk(bool on) { limit(RLIMIT_FSIZE, on ? 64 : RLIM_INFINITY); }
static void no_files(bool on) {
    static struct rlimit before;
    if (on) CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    limit(RLIMIT_NOFILE, on ? 0 : before.rlim_cur);
}
/* Another user, who may not write in the folder. */
static void refused(bool on) { CHECK(seteuid(on ? 65534 : 0) == 0); }

/* A disk that loses what is to be made durable: the library calls these functions in place of the system's, of files and of folders. */
static bool loses;
int fdatasync(int file) {
    if (loses) errno = EIO;
    return loses ? -1 : (int)syscall(SYS_fdatasync, file);
}
int fsync(int folder) {
    if (loses) errno = EIO;
    return loses ? -1 : (int)syscall(SYS_fsync, folder);
}

/* A disk that is full when so many files more were given their names: it has room again behind that, or gives one more its name and stays full. */
static int renames = -1;
static bool stays_full;
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    if (renames >= 0 && renames-- == 0) {
        if (!stays_full) return errno = ENOSPC, -1;
        full_disk(true);
    }
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

/* Another program makes an array that is twice as long as at first longer. */
static void grow_document(const char *name) {
    static char text[4096];
    FILE *file = fopen(name, "r+");
    char *number = file != NULL && fread(text, 1, sizeof text - 1, file) > 0 ? strstr(text, "128") : NULL;
    CHECK(number != NULL);
    if (number != NULL) memcpy(number, "192", 3), rewind(file), fputs(text, file);
    if (file != NULL) fclose(file);
}

/* A disk that once does not remove a document; and one that has room again when the first file that did not fit is removed, while another program makes the
 * array of this document longer. */
static bool keeps_document;
static const char *grows;
int unlinkat(int folder, const char *name, int flags) {
    const char *document = strstr(name, ".lock") == NULL ? __sync_lock_test_and_set(&grows, NULL) : NULL;
    if (document != NULL) full_disk(false), grow_document(document);
    if (keeps_document && strstr(name, "/zarr.json") != NULL) return keeps_document = false, errno = EIO, -1;
    return (int)syscall(SYS_unlinkat, folder, name, flags);
}

static const struct fault {
    const char *name;
    void (*set)(bool on);
    ozarr_status status;
    int os_errno;
    bool reads, root; /* it keeps a rank from reading, too; it needs to be root */
} faults[] = {
    {"a full disk", full_disk, OZARR_ERR_NO_SPACE, EFBIG, false, false},
    {"no files left", no_files, OZARR_ERR_TOO_MANY_FILES, EMFILE, true, false},
    {"a store that refuses", refused, OZARR_ERR_PERMISSION, EACCES, false, true},
};

/* --- calls --- */

/* The rows of this rank. */
static int64_t start[2], count[2];
static field u;

static void fill(uint64_t seed) {
    numbers n = {seed};
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int32_t value = (int32_t)(next_number(&n) >> 33);
        if (i >= start[0] * SIDE && i < (start[0] + count[0]) * SIDE) u[i - start[0] * SIDE] = value;
    }
}

static ozarr_status write_all(ozarr_array *a) { return ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, sizeof u); }

static ozarr_status iwrite_all(ozarr_array *a) {
    ozarr_mpi_request *request = NULL;
    const ozarr_status status = begin_write(m, a, start, count, u, sizeof u, &request);
    return status == OZARR_OK ? ozarr_mpi_request_wait(request) : status;
}

static ozarr_status read_all(ozarr_array *a) {
    static field all;
    const int64_t zero[2] = {0, 0};
    return ozarr_mpi_array_read_all(m, a, zero, shape, OZARR_INT32, all, sizeof all);
}

static ozarr_status append(ozarr_array *a) {
    int64_t from[2] = {SIDE + start[0], 0};
    return ozarr_mpi_array_append(m, a, 0, SIDE, from, count, OZARR_INT32, u, sizeof u);
}

static const struct call {
    const char *name;
    ozarr_status (*run)(ozarr_array *);
    bool shards, reads;
} calls[] = {
    {"write_all", write_all, false, false}, {"write_all of shards", write_all, true, false}, {"iwrite_all", iwrite_all, false, false},
    {"append", append, false, false},       {"read_all", read_all, false, true},             {"read_all of shards", read_all, true, true},
};

/* An array that is there as a whole, with elements of the seed. */
static ozarr_array *array_of(const char *location, bool shards, uint64_t seed) {
    static const int64_t shard[] = {2 * CHUNK, 2 * CHUNK};
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_spec_new(OZARR_INT32, 2, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, shards ? shard : chunks));
    if (shards) OK(ozarr_spec_set_inner_chunks(spec, chunks));
    OK(ozarr_mpi_array_create_ex(m, location, spec, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(spec);
    fill(seed);
    OK(write_all(a));
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_array_open(m, location, "r+", &a));
    return a;
}

/* Each chunk has the elements of one of two seeds. */
static void check_old_or_new(ozarr_array *a, uint64_t old, uint64_t new) {
    static field all;
    const int64_t zero[2] = {0, 0};
    OK(ozarr_mpi_array_read_all(m, a, zero, shape, OZARR_INT32, all, sizeof all));
    for (int c = 0; c < SIDE / CHUNK * (SIDE / CHUNK); c++) {
        bool is_old = true, is_new = true;
        numbers first = {old}, second = {new};
        for (int i = 0; i < SIDE * SIDE; i++) {
            const int32_t x = (int32_t)(next_number(&first) >> 33), y = (int32_t)(next_number(&second) >> 33);
            if (i / SIDE / CHUNK * (SIDE / CHUNK) + i % SIDE / CHUNK != c) continue;
            is_old &= all[i] == x, is_new &= all[i] == y;
        }
        if (!is_old && !is_new) FAIL("chunk %d is neither old nor new", c);
    }
}

/* The last error says it all, and the same on all ranks. */
static void check_error(const struct fault *f, const struct call *c, ozarr_status status, int who) {
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    char named[32];
    snprintf(named, sizeof named, "rank %d: ", who);
    OK(ozarr_last_error_info(&info));
    if (status != f->status || info.os_errno != f->os_errno)
        FAIL("%s, %s: %s, errno %d: %s", f->name, c->name, ozarr_status_name(status), info.os_errno, info.message);
    /* Rank 0 fails to store the new shape, before any chunk. */
    const bool document = c->run == append && who == 0;
    if (document ? strcmp(info.key, "zarr.json") != 0 : strncmp(info.key, "c/", 2) != 0) FAIL("%s, %s: the key is \"%s\"", f->name, c->name, info.key);
    if (strncmp(info.message, info.key, strlen(info.key)) != 0 || strstr(info.message, named) == NULL)
        FAIL("%s, %s: the message names no key, or not the rank: %s", f->name, c->name, info.message);
    if (!c->reads && !document && strstr(info.message, "chunks are stored") == NULL)
        FAIL("%s, %s: the message does not say what is stored: %s", f->name, c->name, info.message);
    CHECK(same_everywhere(info.message) && same_everywhere(info.key));
}

/* One rank has the fault in one call. */
static void provoke(const struct fault *f, const struct call *c, int who) {
    ozarr_array *a = array_of("fault.zarr", c->shards, 1);
    if (!c->reads) fill(2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == who) f->set(true);
    const ozarr_status status = c->run(a);
    if (rank == who) f->set(false);
    check_error(f, c, status, who);
    MPI_Barrier(MPI_COMM_WORLD);
    check_old_or_new(a, 1, 2);
    OK(c->run(a));
    OK(ozarr_mpi_array_close(m, a));
}

/* Rank 0 makes a dataset of which a chunk has so many steps (`user`), two where it is NULL. With so many there is a second field. */
static ozarr_status define(void *user) {
    const char *const dims[] = {"time", "y", "x"};
    const int64_t deep[] = {user != NULL ? *(const int64_t *)user : 2, CHUNK, CHUNK};
    ozarr_dataset *ds = NULL;
    ozarr_variable v = OZARR_VARIABLE_INIT;
    v.type = OZARR_INT32, v.rank = 3, v.dimensions = dims, v.chunks = deep;
    ozarr_status status = ozarr_dataset_create("steps.zarr", 0, OZARR_CREATE_OVERWRITE, &ds);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "y", SIDE);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "x", SIDE);
    if (status == OZARR_OK) status = ozarr_dataset_define_time(ds, "time", 0, 0, "seconds since 2026-01-01", NULL, NULL);
    if (status == OZARR_OK) status = ozarr_dataset_define_variable_ex(ds, "u", &v, OZARR_CREATE_NEW, NULL);
    if (status == OZARR_OK && user != NULL) status = ozarr_dataset_define_variable_ex(ds, "w", &v, OZARR_CREATE_NEW, NULL);
    return status == OZARR_OK ? ozarr_dataset_close(ds) : status;
}

/* How many steps readers see, and that each has the elements of its seed. */
static int64_t steps_seen(void) {
    static int32_t all[6][SIDE * SIDE];
    const int64_t zero[3] = {0, 0, 0};
    int64_t length[3] = {-1, SIDE, SIDE};
    ozarr_dataset *ds = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_dataset_open("steps.zarr", "r", &ds));
    OK(ozarr_dataset_dimension_length(ds, "time", &length[0], NULL));
    OK(ozarr_dataset_open_variable(ds, "u", &a));
    OK(ozarr_array_read_region(a, zero, length, OZARR_INT32, all, (size_t)length[0] * sizeof all[0]));
    for (int64_t k = 0; k < length[0]; k++) {
        numbers n = {(uint64_t)k + 1};
        for (int i = 0; i < SIDE * SIDE; i++) CHECK(all[k][i] == (int32_t)(next_number(&n) >> 33));
    }
    ozarr_array_free(a);
    ozarr_dataset_free(ds);
    return length[0];
}

/* A fault while steps are published: they were taken, and the flush publishes them when the fault is over. */
static void provoke_in_series(const struct fault *f, int who) {
    ozarr_mpi_series *s = NULL;
    int64_t position = 0, published = -1;
    OK(ozarr_mpi_once(m, define, NULL));
    OK(ozarr_mpi_series_open(m, "steps.zarr", "time", -1, 0, 0, &s));
    ozarr_status status = OZARR_OK;
    for (int k = 0; k < 4; k++) {
        fill((uint64_t)k + 1);
        OK(ozarr_mpi_series_put(m, s, "u", start, count, OZARR_INT32, u, sizeof u));
        if (k == 3 && rank == who) f->set(true);
        status = ozarr_mpi_series_step(m, s, k);
        if (k == 3 && rank == who) f->set(false);
        if (k < 3) CHECK(status == OZARR_OK);
    }
    if (status != f->status) FAIL("%s, a series: %s: %s", f->name, ozarr_status_name(status), ozarr_last_error());
    CHECK(same_everywhere(ozarr_last_error()));
    OK(ozarr_mpi_series_position(s, &position, &published));
    CHECK(position == 4 && published == 2);
    if (rank == 0) CHECK(steps_seen() == 2);
    OK(ozarr_mpi_series_flush(m, s));
    OK(ozarr_mpi_series_position(s, NULL, &published));
    CHECK(published == 4);
    OK(ozarr_mpi_series_close(m, s));
    if (rank == 0) CHECK(steps_seen() == 4);
}

static ozarr_status take_step(ozarr_mpi_series *s, int k) {
    fill((uint64_t)k + 1);
    OK(ozarr_mpi_series_put(m, s, "u", start, count, OZARR_INT32, u, sizeof u));
    return ozarr_mpi_series_step(m, s, k);
}

/* A step leaves both variables out, and one of them cannot be filled because of a fault: the steps that were taken before are published by the
 * next flush, or by the close. */
static void leave_out(const struct fault *f, int who, bool flush) {
    int64_t depth = 4, position = 0, published = -1;
    ozarr_mpi_series *s = NULL;
    OK(ozarr_mpi_once(m, define, &depth));
    OK(ozarr_mpi_series_open(m, "steps.zarr", "time", -1, 0, 0, &s));
    for (int k = 0; k < 3; k++) {
        OK(ozarr_mpi_series_put(m, s, "w", start, count, OZARR_INT32, u, sizeof u));
        OK(take_step(s, k));
        if (k == 1) OK(ozarr_mpi_series_flush(m, s));
    }
    if (rank == who) f->set(true);
    const ozarr_status status = ozarr_mpi_series_step(m, s, 3);
    if (rank == who) f->set(false);
    if (status != f->status) FAIL("%s, a step of nothing: %s: %s", f->name, ozarr_status_name(status), ozarr_last_error());
    CHECK(same_everywhere(ozarr_last_error()));
    OK(ozarr_mpi_series_position(s, &position, &published));
    CHECK(position == 3 && published == 2);
    if (flush) OK(ozarr_mpi_series_flush(m, s));
    OK(ozarr_mpi_series_close(m, s));
    if (rank == 0) CHECK(steps_seen() == 3);
}

/* Whichever file rank 0 cannot give its name while steps are published, also the document of one variable behind that of another one: the next
 * step, flush or close (`next`) publishes them. Returns whether it was one. */
static bool refuse_rename(int number, int next) {
    ozarr_mpi_series *s = NULL;
    int64_t position = 0, published = -1;
    OK(ozarr_mpi_once(m, define, NULL));
    OK(ozarr_mpi_series_open(m, "steps.zarr", "time", -1, 0, 0, &s));
    for (int k = 0; k < 3; k++) OK(take_step(s, k));
    if (rank == 0) renames = number;
    const ozarr_status status = take_step(s, 3);
    renames = -1;
    CHECK(status == OZARR_OK || status == OZARR_ERR_NO_SPACE);
    OK(ozarr_mpi_series_position(s, &position, &published));
    CHECK(position == 4 && published == (status == OZARR_OK ? 4 : 2));
    if (rank == 0) CHECK(steps_seen() == published);
    for (int k = 4; k < 6 && next == 0; k++) OK(take_step(s, k));
    if (next == 1) OK(ozarr_mpi_series_flush(m, s));
    if (next < 2 && rank == 0) CHECK(steps_seen() == (next == 0 ? 6 : 4));
    OK(ozarr_mpi_series_close(m, s));
    if (rank == 0) CHECK(steps_seen() == (next == 0 ? 6 : 4));
    return status != OZARR_OK;
}

/* An append to a disk that stays full leaves the array long, as its message says; made shorter it is appended to again. */
static void append_to_a_full_disk(void) {
    ozarr_array *a = array_of("full.zarr", false, 1);
    const int64_t zero[2] = {SIDE, 0};
    int64_t now[2];
    static field all;
    fill(2);
    stays_full = true;
    /* The longer document gets its name. */
    if (rank == 0) renames = 0;
    ERR(OZARR_ERR_NO_SPACE, "no more: make it 64 long along dimension 0 before this is appended again", append(a));
    if (rank == 0) full_disk(false);
    stays_full = false;
    OK(ozarr_array_shape(a, now));
    CHECK(now[0] == 2 * SIDE);
    OK(ozarr_mpi_array_resize(m, a, shape, 0));
    OK(append(a));
    OK(ozarr_array_shape(a, now));
    CHECK(now[0] == 2 * SIDE);
    OK(ozarr_mpi_array_read_all(m, a, zero, shape, OZARR_INT32, all, sizeof all));
    numbers n = {2};
    for (int i = 0; i < SIDE * SIDE; i++) CHECK(all[i] == (int32_t)(next_number(&n) >> 33));
    OK(ozarr_mpi_array_close(m, a));
}

/* What another program appends while an append goes on, which fails, is not cut off. */
static void append_beside_another(void) {
    ozarr_array *a = array_of("beside.zarr", false, 1);
    int64_t now[2];
    fill(2);
    /* The longer document gets its name, and there is no room for a chunk. */
    stays_full = true;
    if (rank == 0) renames = 0, grows = "beside.zarr/zarr.json";
    ERR(OZARR_ERR_NO_SPACE, "; another handle has appended meanwhile: the slab stays", append(a));
    stays_full = false;
    OK(ozarr_array_shape(a, now));
    CHECK(now[0] == 3 * SIDE);
    OK(ozarr_mpi_array_refresh(m, a));
    OK(ozarr_array_shape(a, now));
    CHECK(now[0] == 3 * SIDE);
    OK(ozarr_mpi_array_close(m, a));
}

/* An array that was written, and could not be closed, is taken back: the call can be made again. */
static void put_again(void) {
    ozarr_group *g = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_mpi_group_create(m, "put.zarr", OZARR_CREATE_OVERWRITE, &g));
    fill(1);
    loses = rank == 0; /* who has the chunk */
    ERR(OZARR_ERR_IO, "", ozarr_mpi_group_put(m, g, "u", OZARR_INT32, 2, shape, start, count, u, sizeof u));
    loses = false;
    ERR(OZARR_ERR_NOT_FOUND, "", ozarr_mpi_group_open_array(m, g, "u", &a));
    /* A store that lost something tells it in all that comes, so it is opened again. */
    const ozarr_status closed = ozarr_mpi_group_close(m, g);
    (void)closed;
    OK(ozarr_mpi_group_open(m, "put.zarr", "r+", &g));
    OK(ozarr_mpi_group_put(m, g, "u", OZARR_INT32, 2, shape, start, count, u, sizeof u));
    OK(ozarr_mpi_group_close(m, g));
}

static ozarr_status consolidate(void *group) { return ozarr_group_consolidate(group); }

/* An array whose document is there, and of which the consolidated metadata above could not be told, is taken back, too, where the library could not do
 * that (`keeps`). One that was there before stays. */
static void make_again(bool keeps) {
    ozarr_group *g = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_mpi_group_create(m, "make.zarr", OZARR_CREATE_OVERWRITE, &g));
    OK(ozarr_mpi_once(m, consolidate, g));
    fill(1);
    if (rank == 0) renames = 0, keeps_document = keeps;
    ERR(OZARR_ERR_NO_SPACE, keeps ? "; the array was erased again" : "", ozarr_mpi_group_put(m, g, "u", OZARR_INT32, 2, shape, start, count, u, sizeof u));
    if (rank == 0) CHECK(renames < 0 && !keeps_document);
    ERR(OZARR_ERR_NOT_FOUND, "", ozarr_mpi_group_open_array(m, g, "u", &a));
    OK(ozarr_mpi_group_put(m, g, "u", OZARR_INT32, 2, shape, start, count, u, sizeof u));
    ERR(OZARR_ERR_EXISTS, "", ozarr_mpi_group_put(m, g, "u", OZARR_INT32, 2, shape, start, count, u, sizeof u));
    OK(ozarr_mpi_group_open_array(m, g, "u", &a));
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_group_close(m, g));
}

/* A flush makes durable what an earlier step has published, too: a disk that loses the names of the documents is told. */
static void flush_published(void) {
    ozarr_mpi_series *s = NULL;
    int64_t position = 0, published = 0;
    OK(ozarr_mpi_once(m, define, NULL));
    OK(ozarr_mpi_series_open(m, "steps.zarr", "time", -1, 1, 0, &s));
    fill(1);
    OK(ozarr_mpi_series_put(m, s, "u", start, count, OZARR_INT32, u, sizeof u));
    OK(ozarr_mpi_series_step(m, s, 0));
    OK(ozarr_mpi_series_position(s, &position, &published));
    CHECK(position == 1 && published == 1);
    loses = rank == 0;
    ERR(OZARR_ERR_IO, "", ozarr_mpi_series_flush(m, s));
    loses = false;
    /* A store that lost something tells it in all that comes. */
    const ozarr_status closed = ozarr_mpi_series_close(m, s);
    (void)closed;
}

int main(int argc, char **argv) {
    begin_ranks(&argc, &argv);
    signal(SIGXFSZ, SIG_IGN);
    start[0] = SIDE * rank / ranks, start[1] = 0;
    count[0] = SIDE * (rank + 1) / ranks - start[0], count[1] = SIDE;
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    if (rank == 0) CHECK(chmod(".", 0755) == 0);
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            if (calls[c].reads && !faults[f].reads) continue;
            if (faults[f].root && geteuid() != 0) continue;
            provoke(&faults[f], &calls[c], ranks - 1);
        }
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        if (!faults[f].root || geteuid() == 0) {
            provoke_in_series(&faults[f], ranks - 1);
            for (int k = 0; k < 4; k++) leave_out(&faults[f], k % 2 == 0 ? 0 : ranks - 1, k < 2);
        }
    for (int next = 0; next < 3; next++) {
        int number = 0;
        while (number < 99 && refuse_rename(number, next)) number++;
        CHECK(number >= 3 && number < 99);
    }
    append_to_a_full_disk();
    append_beside_another();
    put_again();
    make_again(false);
    make_again(true);
    flush_published();
    OK(ozarr_mpi_close(m));
    return end_ranks();
}
