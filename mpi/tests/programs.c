/* Random programs of collective calls: arrays that are created, written, read, resized, appended to, closed and opened again while writes are not
 * waited for, checkpoints, the steps of a run, and communicators of some ranks. What is read is what a model in each rank's memory has.
 *
 *   programs FOLDER CASES [SEED] */
#include "check.h"

#include <inttypes.h>

enum { DIMS = 3, SLOTS = 3, WAITING = 4, CALLS = 40, WIDE = 12, STEPS = 64 };

static ozarr_mpi *m;
static numbers n;          /* the same on all ranks */
static uint64_t seed_now;  /* of the case */
static int call_now;
static const char *what;   /* the call */

/* An array, and the elements that it should have: shape[0] * shape[1] * ..., the last index fastest. */
typedef struct slot {
    ozarr_array *array;
    char name[8];
    int dims;
    int64_t shape[DIMS];
    int32_t fill, *expected;
} slot;

/* A write that was not waited for. */
typedef struct waiting {
    ozarr_mpi_request *request;
    const slot *of;
    int32_t *data;
} waiting;

static slot slots[SLOTS];
static waiting writes[WAITING];
static int write_count;
static ozarr_group *top;

typedef struct box {
    int64_t start[DIMS], shape[DIMS];
} box;

static int64_t volume(int dims, const int64_t *shape) {
    int64_t v = 1;
    for (int d = 0; d < dims; d++) v *= shape[d];
    return v;
}

/* Goes to the next index of a box; 0 behind the last. */
static int step(int dims, const int64_t *shape, int64_t *at) {
    int d = dims - 1;
    while (d >= 0 && at[d] == shape[d] - 1) at[d--] = 0;
    if (d < 0) return 0;
    at[d]++;
    return 1;
}

static int64_t linear(int dims, const int64_t *shape, const int64_t *start, const int64_t *at) {
    int64_t i = 0;
    for (int d = 0; d < dims; d++) i = i * shape[d] + start[d] + at[d];
    return i;
}

/* Copies the elements of a box to contiguous memory, or the other way round. */
static void copy(int32_t *all, int dims, const int64_t *shape, const box *b, int32_t *part, int to_part) {
    int64_t at[DIMS] = {0}, i = 0;
    if (volume(dims, b->shape) == 0) return;
    do {
        int32_t *element = &all[linear(dims, shape, b->start, at)];
        if (to_part) part[i++] = *element;
        else *element = part[i++];
    } while (step(dims, b->shape, at));
}

static void compare(const int32_t *found, int32_t *all, int dims, const int64_t *shape, const box *b, const char *where) {
    const int64_t count = volume(dims, b->shape);
    int32_t *expected = malloc((size_t)count * sizeof *expected + 1);
    copy(all, dims, shape, b, expected, 1);
    for (int64_t i = 0; i < count; i++) {
        if (found[i] == expected[i]) continue;
        FAIL("seed %" PRIu64 ", call %d, %s: %s: element %" PRId64 " of the box is %d, expected %d", seed_now, call_now, what, where, i, (int)found[i],
             (int)expected[i]);
        break;
    }
    free(expected);
}

static int32_t *numbers_for(int64_t count) { return calloc((size_t)count + 1, sizeof(int32_t)); }

/* A random box within a shape, which may be empty. */
static box part_of(int dims, const int64_t *shape) {
    box b = {{0}, {0}};
    for (int d = 0; d < dims; d++) {
        b.start[d] = pick(&n, 0, shape[d]);
        b.shape[d] = pick(&n, 0, shape[d] - b.start[d]);
        if (pick(&n, 0, 2) == 0) b.start[d] = 0, b.shape[d] = shape[d];
    }
    return b;
}

/* Divides a box among ranks: cut in two again and again; some have nothing. */
static void divide(int dims, box whole, int among, box *out) {
    int count = 1;
    memset(out, 0, (size_t)among * sizeof *out);
    out[0] = whole;
    for (int tries = 0; dims > 0 && count < among && tries < 4 * among; tries++) {
        const int i = (int)pick(&n, 0, count - 1), d = (int)pick(&n, 0, dims - 1);
        if (out[i].shape[d] < 2) continue;
        const int64_t at = pick(&n, 1, out[i].shape[d] - 1);
        out[count] = out[i];
        out[i].shape[d] = at;
        out[count].start[d] += at, out[count].shape[d] -= at;
        count++;
    }
    const int turn = (int)pick(&n, 0, among - 1);
    box last = out[0];
    out[0] = out[turn], out[turn] = last;
}

/* --- arrays --- */

static void wait_for(int which) {
    OK(ozarr_mpi_request_wait(writes[which].request));
    free(writes[which].data);
    write_count--;
    memmove(&writes[which], &writes[which + 1], (size_t)(write_count - which) * sizeof *writes);
}

static void wait_of(const slot *s) {
    for (int i = write_count - 1; i >= 0; i--)
        if (writes[i].of == s || s == NULL) wait_for(i);
}

static void forget(slot *s) {
    free(s->expected);
    s->expected = NULL, s->array = NULL;
}

static void create(slot *s) {
    static const char *const compressors[] = {"none", "zstd", "blosc:lz4", "gzip"};
    int64_t chunks[DIMS], inner[DIMS];
    ozarr_spec *spec = NULL;
    what = "create";
    if (s->array) {
        wait_of(s);
        OK(ozarr_mpi_array_close(m, s->array));
        forget(s);
    }
    s->dims = (int)pick(&n, 0, DIMS);
    for (int d = 0; d < s->dims; d++) {
        s->shape[d] = pick(&n, 0, WIDE);
        inner[d] = pick(&n, 1, 3);
        chunks[d] = inner[d] * pick(&n, 1, 3);
    }
    s->fill = (int32_t)pick(&n, -2, 2);
    OK(ozarr_spec_new(OZARR_INT32, s->dims, s->shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    OK(ozarr_spec_set_fill_value(spec, OZARR_INT32, &s->fill));
    OK(ozarr_spec_set_compressor(spec, compressors[pick(&n, 0, 3)], -1));
    if (s->dims > 0 && pick(&n, 0, 2) == 0) OK(ozarr_spec_set_inner_chunks(spec, inner));
    OK(ozarr_mpi_group_create_array(m, top, s->name, spec, OZARR_CREATE_OVERWRITE, &s->array));
    ozarr_spec_free(spec);
    s->expected = numbers_for(volume(s->dims, s->shape));
    for (int64_t i = 0; i < volume(s->dims, s->shape); i++) s->expected[i] = s->fill;
}

/* All ranks write a box together, at once or while the program goes on. */
static void write_together(slot *s) {
    box parts[64];
    const int32_t salt = (int32_t)pick(&n, 1, 1 << 20), plain = pick(&n, 0, 4) == 0;
    what = "write";
    divide(s->dims, part_of(s->dims, s->shape), ranks, parts);
    if (s->dims == 0) parts[0] = (box){{0}, {0}};
    int32_t *mine = NULL;
    for (int r = 0; r < (s->dims == 0 ? 1 : ranks); r++) {
        const int64_t count = volume(s->dims, parts[r].shape);
        int32_t *data = numbers_for(count);
        for (int64_t i = 0; i < count; i++) data[i] = plain ? s->fill : salt + (int32_t)i;
        copy(s->expected, s->dims, s->shape, &parts[r], data, 0);
        if (r == rank) mine = data;
        else free(data);
    }
    const int takes_part = mine != NULL;
    const int64_t count = takes_part ? volume(s->dims, parts[rank].shape) : 0;
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = parts[rank].start, region.shape = parts[rank].shape;
    memory.data = mine, memory.size = (size_t)count * sizeof *mine, memory.type = OZARR_INT32;
    if (write_count < WAITING && pick(&n, 0, 1)) {
        writes[write_count].data = mine;
        writes[write_count].of = s;
        OK(ozarr_mpi_array_iwrite_all(m, s->array, takes_part, &region, &memory, &writes[write_count].request));
        write_count++;
        return;
    }
    OK(ozarr_mpi_array_write_all_ex(m, s->array, takes_part, &region, &memory));
    free(mine);
}

static void read_together(slot *s) {
    box b = {{0}, {0}};
    what = "read";
    for (int r = 0; r < ranks; r++) {
        const box some = part_of(s->dims, s->shape);
        if (r == rank) b = some;
    }
    const int64_t count = volume(s->dims, b.shape);
    int32_t *found = numbers_for(count);
    if (pick(&n, 0, 2) == 0) {
        ozarr_mpi_request *request = NULL;
        ozarr_region region = OZARR_REGION_INIT;
        ozarr_memory memory = OZARR_MEMORY_INIT;
        region.start = b.start, region.shape = b.shape;
        memory.data = found, memory.size = (size_t)count * sizeof *found, memory.type = OZARR_INT32;
        OK(ozarr_mpi_array_iread_all(m, s->array, 1, &region, &memory, &request));
        for (bool done = false; !done && rank % 2 == 0;) OK(ozarr_mpi_request_test(request, &done));
        OK(ozarr_mpi_request_wait(request));
    } else {
        OK(ozarr_mpi_array_read_all(m, s->array, b.start, b.shape, OZARR_INT32, found, (size_t)count * sizeof *found));
    }
    compare(found, s->expected, s->dims, s->shape, &b, s->name);
    free(found);
}

/* Each rank reads all by itself, through its handle or one of its own. */
static void read_alone(slot *s) {
    const box b = {{0}, {s->shape[0], s->shape[1], s->shape[2]}};
    const int64_t count = volume(s->dims, s->shape);
    int32_t *found = numbers_for(count);
    ozarr_array *own = s->array;
    char path[64];
    int64_t shape[DIMS] = {0};
    what = "read alone";
    wait_of(s);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(path, sizeof path, "top.zarr/%s", s->name);
    if (rank % 2) OK(ozarr_array_open(path, "r", &own));
    OK(ozarr_array_shape(own, shape));
    for (int d = 0; d < s->dims; d++) CHECK(shape[d] == s->shape[d]);
    OK(ozarr_array_read(own, OZARR_INT32, found, (size_t)count * sizeof *found));
    compare(found, s->expected, s->dims, s->shape, &b, s->name);
    if (own != s->array) ozarr_array_free(own);
    free(found);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One rank writes all by itself. */
static void write_alone(slot *s) {
    const int who = (int)pick(&n, 0, ranks - 1);
    const int32_t salt = (int32_t)pick(&n, 1, 1 << 20);
    const int64_t count = volume(s->dims, s->shape);
    what = "write alone";
    wait_of(s);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int64_t i = 0; i < count; i++) s->expected[i] = salt - (int32_t)i;
    if (rank == who) OK(ozarr_array_write(s->array, OZARR_INT32, s->expected, (size_t)count * sizeof *s->expected));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Gives the model another shape: what is in both stays, all else is the fill value. */
static void reshape(slot *s, const int64_t *shape) {
    const int64_t count = volume(s->dims, shape);
    int32_t *next = numbers_for(count);
    box both = {{0}, {0}};
    for (int64_t i = 0; i < count; i++) next[i] = s->fill;
    for (int d = 0; d < s->dims; d++) both.shape[d] = shape[d] < s->shape[d] ? shape[d] : s->shape[d];
    int32_t *kept = numbers_for(volume(s->dims, both.shape));
    copy(s->expected, s->dims, s->shape, &both, kept, 1);
    copy(next, s->dims, shape, &both, kept, 0);
    free(kept);
    free(s->expected);
    s->expected = next;
    memcpy(s->shape, shape, sizeof s->shape);
}

static void resize(slot *s) {
    int64_t shape[DIMS] = {0};
    what = "resize";
    for (int d = 0; d < s->dims; d++) shape[d] = pick(&n, 0, 2) ? s->shape[d] : pick(&n, 0, WIDE);
    OK(ozarr_mpi_array_resize(m, s->array, shape, 0));
    reshape(s, shape);
}

static void append(slot *s) {
    box parts[64], slab = {{0}, {0}};
    if (s->dims == 0) return;
    const int dim = (int)pick(&n, 0, s->dims - 1);
    const int64_t length = pick(&n, 1, 3), before = s->shape[dim];
    const int32_t salt = (int32_t)pick(&n, 1, 1 << 20);
    int64_t shape[DIMS];
    what = "append";
    if (before + length > WIDE) return;
    memcpy(shape, s->shape, sizeof shape);
    shape[dim] += length;
    reshape(s, shape);
    memcpy(slab.shape, shape, sizeof slab.shape);
    slab.start[dim] = before, slab.shape[dim] = length;
    if (pick(&n, 0, 3) == 0) slab.shape[dim] = pick(&n, 0, length); /* a part of the slab: the rest has the fill value */
    divide(s->dims, slab, ranks, parts);
    int32_t *mine = NULL;
    for (int r = 0; r < ranks; r++) {
        int32_t *data = numbers_for(volume(s->dims, parts[r].shape));
        for (int64_t i = 0; i < volume(s->dims, parts[r].shape); i++) data[i] = salt + (int32_t)i;
        copy(s->expected, s->dims, s->shape, &parts[r], data, 0);
        if (r == rank) mine = data;
        else free(data);
    }
    OK(ozarr_mpi_array_append(m, s->array, dim, length, parts[rank].start, parts[rank].shape, OZARR_INT32, mine,
                              (size_t)volume(s->dims, parts[rank].shape) * sizeof *mine));
    free(mine);
}

/* One rank gives a box that leaves the array: all get the error, and nothing changes, nor what is still being written. */
static void refused(slot *s) {
    const int who = (int)pick(&n, 0, ranks - 1), kind = (int)pick(&n, 0, 3), dim = (int)pick(&n, 0, DIMS - 1);
    int64_t start[DIMS] = {0}, shape[DIMS] = {0};
    int32_t data[WIDE + 2] = {0};
    ozarr_mpi_request *request = NULL;
    what = "refused";
    if (dim >= s->dims || volume(s->dims, s->shape) == 0) return;
    if (rank == who) {
        for (int d = 0; d < s->dims; d++) shape[d] = 1;
        shape[dim] = s->shape[dim] + 2;
    }
    const size_t size = rank == who ? (size_t)shape[dim] * sizeof *data : 0;
    if (kind == 0) ERR(OZARR_ERR_BOUNDS, "", ozarr_mpi_array_write_all(m, s->array, start, shape, OZARR_INT32, data, size));
    else if (kind == 1) ERR(OZARR_ERR_BOUNDS, "", ozarr_mpi_array_read_all(m, s->array, start, shape, OZARR_INT32, data, size));
    else if (kind == 2) ERR(OZARR_ERR_BOUNDS, "", begin_write(m, s->array, start, shape, data, size, &request));
    else ERR(OZARR_ERR_BOUNDS, "", ozarr_mpi_array_append(m, s->array, dim, 1, start, shape, OZARR_INT32, data, size));
}

static void attribute(slot *s) {
    char json[32];
    int64_t found = 0;
    what = "attribute";
    const int64_t value = pick(&n, 0, 1000);
    snprintf(json, sizeof json, "%" PRId64, value);
    OK(ozarr_mpi_array_set_attr(m, s->array, "value", json));
    OK(ozarr_attr_get_int64(ozarr_array_node(s->array), "value", &found));
    CHECK(found == value);
}

static void open_again(slot *s) {
    char path[64];
    what = "open again";
    wait_of(s);
    snprintf(path, sizeof path, "top.zarr/%s", s->name);
    OK(ozarr_mpi_array_close(m, s->array));
    s->array = NULL;
    if (pick(&n, 0, 1)) OK(ozarr_mpi_array_open(m, path, "r+", &s->array));
    else OK(ozarr_mpi_group_open_array(m, top, s->name, &s->array));
}

/* --- checkpoints --- */

static int32_t state[WIDE]; /* the newest that was committed */
static int committed;

static void checkpoint(void) {
    ozarr_group *g = NULL;
    char name[16];
    box parts[64], whole = {{0}, {WIDE}};
    int32_t now[WIDE];
    const int64_t shape[] = {WIDE};
    what = "checkpoint";
    snprintf(name, sizeof name, "c%d", call_now);
    for (int i = 0; i < WIDE; i++) now[i] = (int32_t)pick(&n, 1, 1000);
    OK(ozarr_mpi_checkpoint_begin(m, "states.zarr", name, &g));
    divide(1, whole, ranks, parts);
    OK(ozarr_mpi_group_put(m, g, "u", OZARR_INT32, 1, shape, parts[rank].start, parts[rank].shape, now + parts[rank].start[0],
                           (size_t)parts[rank].shape[0] * sizeof *now));
    if (pick(&n, 0, 2) == 0) {
        OK(ozarr_mpi_checkpoint_abandon(m, g));
    } else {
        OK(ozarr_mpi_checkpoint_commit(m, g));
        memcpy(state, now, sizeof now);
        committed = 1;
    }
    if (!committed) return;
    divide(1, whole, ranks, parts);
    OK(ozarr_mpi_checkpoint_latest(m, "states.zarr", &g));
    OK(ozarr_mpi_group_get(m, g, "u", OZARR_INT32, parts[rank].start, parts[rank].shape, now, sizeof now));
    compare(now, state, 1, shape, &parts[rank], "the newest state");
    OK(ozarr_mpi_group_close(m, g));
}

/* --- series --- */

static ozarr_mpi_series *series;
static int32_t u_steps[STEPS][WIDE], s_steps[STEPS];
static int64_t position;

static ozarr_status define(void *user) {
    static const char *const dims[] = {"time", "x"};
    ozarr_dataset *ds = NULL;
    ozarr_variable u = OZARR_VARIABLE_INIT;
    const int64_t *chunks = user;
    u.type = OZARR_INT32, u.rank = 2, u.dimensions = dims, u.chunks = chunks;
    ozarr_status status = ozarr_dataset_create("run.zarr", 0, OZARR_CREATE_OVERWRITE, &ds);
    if (!status) status = ozarr_dataset_define_time(ds, "time", 0, chunks[0], "hours since 2026-01-01", NULL, NULL);
    if (!status) status = ozarr_dataset_define_dimension(ds, "x", WIDE);
    if (!status) status = ozarr_dataset_define_variable_ex(ds, "u", &u, OZARR_CREATE_NEW, NULL);
    if (!status) status = ozarr_dataset_define_variable(ds, "s", OZARR_INT32, 1, dims, NULL);
    const ozarr_status closed = ds ? ozarr_dataset_close(ds) : OZARR_OK;
    return status ? status : closed;
}

static void open_series(void) {
    int64_t at = -1, keep = pick(&n, 0, 2) ? -1 : pick(&n, 0, position);
    what = "open a series";
    OK(ozarr_mpi_series_open(m, "run.zarr", "time", keep, pick(&n, 0, 3), (size_t)(pick(&n, 0, 1) ? 0 : 4096), &series));
    OK(ozarr_mpi_series_position(series, &at, NULL));
    if (keep >= 0) position = keep;
    CHECK(at == position);
    position = at;
}

static void put_step(void) {
    box parts[64], whole = {{0}, {WIDE}};
    what = "step";
    if (position >= STEPS) return;
    int32_t *u = u_steps[position];
    const int with_u = pick(&n, 0, 5) > 0, with_s = pick(&n, 0, 3) > 0, ends = pick(&n, 0, 9) > 0;
    divide(1, whole, ranks, parts);
    for (int i = 0; i < WIDE; i++) u[i] = with_u ? (int32_t)pick(&n, 1, 1000) : 0;
    s_steps[position] = with_s ? (int32_t)pick(&n, 1, 1000) : 0;
    if (with_s && pick(&n, 0, 1)) OK(ozarr_mpi_series_put(m, series, "s", NULL, NULL, OZARR_INT32, &s_steps[position], sizeof(int32_t)));
    else s_steps[position] = 0;
    if (with_u)
        OK(ozarr_mpi_series_put(m, series, "u", parts[rank].start, parts[rank].shape, OZARR_INT32, u + parts[rank].start[0],
                                (size_t)parts[rank].shape[0] * sizeof *u));
    if (ends) {
        OK(ozarr_mpi_series_step(m, series, (double)position));
        position++;
        if (pick(&n, 0, 4) == 0) OK(ozarr_mpi_series_flush(m, series));
    } else { /* a step that was not ended is cut off */
        OK(ozarr_mpi_series_close(m, series));
        series = NULL;
    }
}

/* Each rank reads the whole run by itself, in which fewer steps may be published. */
static void read_series(void) {
    ozarr_dataset *ds = NULL;
    ozarr_array *a = NULL;
    int64_t published = position, length = -1;
    what = "read the run";
    if (series) OK(ozarr_mpi_series_position(series, NULL, &published));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(ozarr_dataset_open("run.zarr", "r", &ds));
    OK(ozarr_dataset_dimension_length(ds, "time", &length, NULL));
    CHECK(length == published);
    const int64_t start[] = {0, 0}, shape[] = {published, WIDE}, all[] = {STEPS, WIDE};
    const box b = {{0}, {published, WIDE}};
    int32_t found[STEPS * WIDE];
    OK(ozarr_array_open("run.zarr/u", "r", &a));
    OK(ozarr_array_read_region(a, start, shape, OZARR_INT32, found, sizeof found));
    compare(found, u_steps[0], 2, all, &b, "u");
    ozarr_array_free(a);
    OK(ozarr_array_open("run.zarr/s", "r", &a));
    OK(ozarr_array_read_region(a, start, shape, OZARR_INT32, found, sizeof found));
    compare(found, s_steps, 1, all, &b, "s");
    ozarr_array_free(a);
    OK(ozarr_dataset_close(ds));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void run(void) {
    if (!series) open_series();
    else if (pick(&n, 0, 5) == 0) {
        what = "close a series";
        OK(ozarr_mpi_series_close(m, series));
        series = NULL;
    } else put_step();
    if (pick(&n, 0, 3) == 0) read_series();
}

/* --- communicators of some ranks --- */

/* Two halves of the ranks write arrays of their own at the same time; then all read both. */
static void halves(void) {
    const int low = (int)pick(&n, 0, ranks - 1), mine = rank > low;
    const int64_t shape[] = {WIDE}, zero[] = {0}, chunks[] = {5};
    MPI_Comm part;
    ozarr_mpi *half = NULL;
    ozarr_array *a = NULL;
    char path[32];
    int32_t data[WIDE], salt = (int32_t)pick(&n, 1, 1000);
    what = "halves";
    MPI_Comm_split(MPI_COMM_WORLD, mine, -rank, &part);
    const int64_t size = mine ? ranks - low - 1 : low + 1;
    int turn = 0;
    MPI_Comm_rank(part, &turn);
    OK(ozarr_mpi_new(part, &half));
    snprintf(path, sizeof path, "half%d.zarr", mine);
    const int64_t start[] = {WIDE * turn / size}, count[] = {WIDE * (turn + 1) / size - start[0]};
    for (int i = 0; i < WIDE; i++) data[i] = salt + 100 * mine + (int32_t)start[0] + i;
    if (ozarr_mpi_array_create(half, path, OZARR_INT32, 1, shape, chunks, OZARR_CREATE_OVERWRITE, &a) ||
        ozarr_mpi_array_write_all(half, a, start, count, OZARR_INT32, data, (size_t)count[0] * sizeof *data) || ozarr_mpi_array_close(half, a) ||
        ozarr_mpi_close(half))
        FAIL("seed %" PRIu64 ", call %d: half %d: %s", seed_now, call_now, mine, ozarr_last_error());
    MPI_Comm_free(&part);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k <= (low < ranks - 1); k++) {
        snprintf(path, sizeof path, "half%d.zarr", k);
        OK(ozarr_mpi_array_open(m, path, "r", &a));
        OK(ozarr_mpi_array_read_all(m, a, zero, shape, OZARR_INT32, data, sizeof data));
        for (int i = 0; i < WIDE; i++) CHECK(data[i] == salt + 100 * k + i);
        OK(ozarr_mpi_array_close(m, a));
    }
}

static void settings(void) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, pick(&n, 1, ranks + 1));
    OK(ozarr_mpi_set(m, "aggregators", pick(&n, 0, 1) ? "auto" : text));
    snprintf(text, sizeof text, "%" PRId64, pick(&n, 0, 1) ? 1 << 20 : pick(&n, 1, 300));
    OK(ozarr_mpi_set(m, "round_bytes", text));
    snprintf(text, sizeof text, "%" PRId64, pick(&n, 0, 1) ? 1 << 30 : pick(&n, 1, 100));
    OK(ozarr_mpi_set(m, "message_bytes", text));
}

static void any_call(void) {
    slot *s = &slots[pick(&n, 0, SLOTS - 1)];
    const int64_t kind = pick(&n, 0, 32);
    if (kind == 0 || !s->array) create(s);
    else if (kind < 8) write_together(s);
    else if (kind < 13) read_together(s);
    else if (kind == 13) read_alone(s);
    else if (kind == 14) write_alone(s);
    else if (kind < 17) resize(s);
    else if (kind < 20) append(s);
    else if (kind == 20) attribute(s);
    else if (kind == 21) open_again(s);
    else if (kind == 22) checkpoint();
    else if (kind < 28) run();
    else if (kind == 28) halves();
    else if (kind == 29) settings();
    else if (kind < 32) refused(s);
    else if (write_count > 0) what = "wait", wait_for((int)pick(&n, 0, write_count - 1));
}

static void one_case(uint64_t seed) {
    int64_t chunks[2];
    n = (numbers){seed};
    seed_now = seed, committed = 0, position = 0;
    chunks[0] = pick(&n, 1, 4), chunks[1] = pick(&n, 1, WIDE);
    settings();
    OK(ozarr_mpi_group_create(m, "top.zarr", OZARR_CREATE_OVERWRITE, &top));
    OK(ozarr_mpi_group_create(m, "states.zarr", OZARR_CREATE_OVERWRITE, &(ozarr_group *){NULL}));
    OK(ozarr_mpi_once(m, define, chunks));
    for (int i = 0; i < SLOTS; i++) snprintf(slots[i].name, sizeof slots[i].name, "a%d", i);
    int any = 0;
    for (call_now = 0; call_now < CALLS && !any; call_now++) {
        any_call();
        MPI_Allreduce(&failures, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (any) fprintf(stderr, "rank %d: seed %" PRIu64 ", call %d, %s\n", rank, seed, call_now, what);
    }
    if (any) return;
    if (series) OK(ozarr_mpi_series_close(m, series));
    series = NULL;
    read_series();
    for (int i = 0; i < SLOTS; i++) {
        if (!slots[i].array) continue;
        read_alone(&slots[i]);
        OK(ozarr_mpi_array_close(m, slots[i].array));
        forget(&slots[i]);
    }
    OK(ozarr_mpi_group_close(m, top));
}

int main(int argc, char **argv) {
    begin_ranks(&argc, &argv);
    const int cases = argc > 2 ? atoi(argv[2]) : 20;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    OK(ozarr_context_set(NULL, "file.sync", "none"));
    int any = 0;
    for (int i = 0; i < cases && !any; i++) {
        one_case(seed * 100000 + (uint64_t)i);
        MPI_Allreduce(&failures, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    if (any) MPI_Abort(MPI_COMM_WORLD, 1);
    OK(ozarr_mpi_close(m));
    if (rank == 0) printf("%d programs on %d ranks\n", cases, ranks);
    return end_ranks();
}
