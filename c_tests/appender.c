/* Time steps: appenders, chunks that are written in parts, readers that follow a run, decoded chunks that are kept. */
#include "own.h"
#include <math.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 32, ROWS = 6, COLUMNS = 10, CELLS = ROWS * COLUMNS, MOST = 200, ACROSS = 4 };

static int32_t data[MOST * CELLS], back[MOST * CELLS];

static int32_t value(int64_t step, int64_t cell) { return (int32_t)(step * 1000 + cell + 1); }

static void fill_steps(int64_t first, int64_t count) {
    for (int64_t i = 0; i < count * CELLS; i++) data[i] = value(first + i / CELLS, i % CELLS);
}

static size_t bytes_of(int64_t steps) { return (size_t)steps * CELLS * sizeof *data; }

/* A store whose puts of chunks are counted, and fail when they are to. */
static own_store own;
static int puts_of_chunks;
static bool failing;

static ozarr_status counted_put(void *context, const char *key, const void *bytes, size_t size) {
    const char *name = strrchr(key, '/') ? strrchr(key, '/') + 1 : key;
    if (name[0] == '.' || strcmp(name, "zarr.json") == 0) return own_put(context, key, bytes, size);
    if (failing) return ozarr_set_error(OZARR_ERR_NO_SPACE, "planted: the disk is full", NULL);
    puts_of_chunks++;
    return own_put(context, key, bytes, size);
}

static ozarr_store *counting_store(void) {
    ozarr_store_table table = own_table(&own);
    ozarr_store *st = NULL;
    table.put = counted_put;
    table.put_if = NULL;
    OK(ozarr_store_from_table(NULL, &table, "r+", &st));
    puts_of_chunks = 0;
    failing = false;
    return st;
}

/* An array of no steps yet, in chunks of DEPTH steps; the form 's' is version 3 with shards. */
static ozarr_array *create(ozarr_store *st, const char *path, char form) {
    int64_t shape[] = {0, ROWS, COLUMNS}, chunks[] = {DEPTH, 4, 5}, inner[] = {DEPTH / 4, 2, 5};
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    OK(ozarr_spec_new(OZARR_INT32, 3, shape, &spec));
    OK(ozarr_spec_set_zarr_format(spec, form == '2' ? 2 : 3));
    OK(ozarr_spec_set_chunks(spec, chunks));
    if (form == 's') OK(ozarr_spec_set_inner_chunks(spec, inner));
    OK(ozarr_array_create_at(st, path, spec, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(spec);
    return a;
}

static char current = '?';

static void steps_are_there(ozarr_array *a, int64_t want) {
    int64_t shape[3] = {0}, start[] = {0, 0, 0};
    OK(ozarr_node_refresh(ozarr_array_node(a), NULL, 0));
    OK(ozarr_array_shape(a, shape));
    if (!EQUAL(shape[0], want) || want == 0) return;
    memset(back, 0, sizeof back);
    OK(ozarr_array_read_region(a, start, shape, OZARR_INT32, back, sizeof back));
    int64_t wrong = 0;
    for (int64_t i = 0; i < want * CELLS; i++) wrong += back[i] != value(i / CELLS, i % CELLS);
    if (!EQUAL(wrong, 0)) fprintf(stderr, "of %d steps, form %c\n", (int)want, current);
}

static void position_is(ozarr_appender *out, int64_t position, int64_t published) {
    int64_t p = -1, q = -1;
    OK(ozarr_appender_position(out, &p, &q));
    EQUAL(p, position);
    EQUAL(q, published);
}

static void append(ozarr_appender *out, int64_t first, int64_t count) {
    fill_steps(first, count);
    OK(ozarr_appender_append(out, count, OZARR_INT32, data, bytes_of(count)));
}

/* Each chunk is stored once, and the shape follows. */
static void each_chunk_once(char form) {
    ozarr_store *st = counting_store();
    ozarr_array *a = create(st, "run/t", form), *reader = NULL;
    ozarr_appender *out = NULL;
    OK(ozarr_array_open_at(st, "run/t", &reader));
    OK(ozarr_appender_open(a, 0, 0, 0, &out));
    for (int64_t step = 0; step < 70; step++) {
        EQUAL(puts_of_chunks, step / DEPTH * ACROSS);
        append(out, step, 1);
        memset(data, 7, sizeof data); /* it is ours again */
        position_is(out, step + 1, (step + 1) / DEPTH * DEPTH);
    }
    steps_are_there(reader, 64);
    steps_are_there(a, 64);
    OK(ozarr_appender_flush(out));
    EQUAL(puts_of_chunks, 3 * ACROSS);
    steps_are_there(reader, 70);
    OK(ozarr_appender_flush(out));
    EQUAL(puts_of_chunks, 3 * ACROSS);
    append(out, 70, 26); /* the rest of chunks that were stored in part: they are read back once */
    EQUAL(puts_of_chunks, 4 * ACROSS);
    position_is(out, 96, 96);
    static double wide[40 * CELLS];
    ozarr_memory memory = OZARR_MEMORY_INIT;
    int64_t strides[] = {8, 40 * COLUMNS * 8, 40 * 8}; /* the steps fastest */
    for (int64_t s = 0; s < 40; s++)
        for (int64_t c = 0; c < CELLS; c++) wide[c * 40 + s] = value(96 + s, c);
    memory.data = wide, memory.size = sizeof wide, memory.strides = strides, memory.type = OZARR_FLOAT64;
    OK(ozarr_appender_append_ex(out, 40, &memory));
    EQUAL(puts_of_chunks, 5 * ACROSS);
    position_is(out, 136, 128);
    wide[CELLS * 40 - 1] = 0.5e300;
    ERR_SAYS(OZARR_ERR_RANGE, "[39, 5, 9]", "int32", ozarr_appender_append_ex(out, 40, &memory));
    position_is(out, 136, 128);
    OK(ozarr_appender_close(out));
    /* What the failed append stored behind the end was written over with the fill value: at most two chunks deep. */
    CHECK(puts_of_chunks >= 6 * ACROSS && puts_of_chunks <= 8 * ACROSS);
    steps_are_there(reader, 136);
    /* Another one goes on. */
    OK(ozarr_appender_open(a, 0, 10, 0, &out));
    for (int64_t step = 136; step < MOST; step++) {
        append(out, step, 1);
        position_is(out, step + 1, step + 1 < 140 ? 136 : (step + 1) / 10 * 10);
    }
    OK(ozarr_appender_close(out));
    steps_are_there(reader, MOST);
    OK(ozarr_array_close(reader));
    OK(ozarr_array_close(a));
    OK(ozarr_store_close(st));
}

static void bad_input(void) {
    ozarr_store *st = counting_store(), *read_only = NULL;
    ozarr_array *a = create(st, "t", '3'), *b = NULL;
    ozarr_appender *out = NULL, *other = NULL;
    /* 32 steps of 8 * 10 elements of 4 bytes: chunks at the edge are whole in memory. */
    ERR_SAYS(OZARR_ERR_LIMIT, "10239", "10240", ozarr_appender_open(a, 0, 0, 10239, &out));
    ERR(OZARR_ERR_BOUNDS, ozarr_appender_open(a, 3, 0, 0, &out));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "publish_every", "-1", ozarr_appender_open(a, 0, -1, 0, &out));
    ERR(OZARR_ERR_NULL, ozarr_appender_open(a, 0, 0, 0, NULL));
    OK(ozarr_appender_open(a, 0, 0, 10240, &out));
    OK(ozarr_appender_open(a, 0, 0, 0, &other));
    fill_steps(0, 40);
    ERR_SAYS(OZARR_ERR_BUFFER_SIZE, "239", "240", ozarr_appender_append(out, 1, OZARR_INT32, data, 239));
    ERR(OZARR_ERR_ARGUMENT, ozarr_appender_append(out, -1, OZARR_INT32, data, sizeof data));
    ERR(OZARR_ERR_NULL, ozarr_appender_append(out, 1, OZARR_INT32, NULL, 240));
    OK(ozarr_appender_append(out, 0, OZARR_INT32, NULL, 0));
    OK(ozarr_appender_append(out, 40, OZARR_INT32, data, bytes_of(40)));
    OK(ozarr_appender_append(other, 2, OZARR_INT32, data, bytes_of(2)));
    ERR_SAYS(OZARR_ERR_STATE, "[32, 6, 10]", "[0, 6, 10]", ozarr_appender_close(other));
    OK(ozarr_appender_close(out));
    ERR(OZARR_ERR_INVALID_HANDLE, ozarr_appender_close(out));
    steps_are_there(a, 40);
    OK(ozarr_array_close(a));
    OK(ozarr_store_close(st));
    OK(ozarr_store_open("ro.zarr", "r+", &st));
    OK(ozarr_array_close(create(st, "t", '3')));
    OK(ozarr_store_open("ro.zarr", "r", &read_only));
    OK(ozarr_array_open_at(read_only, "t", &b));
    ERR(OZARR_ERR_READ_ONLY, ozarr_appender_open(b, 0, 0, 0, &out));
    OK(ozarr_array_close(b));
    OK(ozarr_store_close(read_only));
    OK(ozarr_store_close(st));
}

/* What cannot be stored goes on waiting, and every flush and the close tell of it. */
static void deferred_errors(void) {
    ozarr_store *st = counting_store();
    ozarr_array *a = create(st, "t", '3'), *w = NULL;
    ozarr_appender *out = NULL;
    OK(ozarr_appender_open(a, 0, 0, 0, &out));
    append(out, 0, 10);
    failing = true;
    for (int i = 0; i < 2; i++) ERR_SAYS(OZARR_ERR_NO_SPACE, "planted", "none of the 4 chunks", ozarr_appender_flush(out));
    position_is(out, 10, 0);
    append(out, 10, 1);
    steps_are_there(a, 0);
    failing = false;
    OK(ozarr_appender_flush(out));
    steps_are_there(a, 11);
    append(out, 11, 20);
    failing = true;
    fill_steps(31, 1);
    /* The step that makes chunks whole is told that they cannot be stored; it can be given again. */
    ERR(OZARR_ERR_NO_SPACE, ozarr_appender_append(out, 1, OZARR_INT32, data, bytes_of(1)));
    failing = false;
    OK(ozarr_appender_flush(out));
    steps_are_there(a, 32);
    append(out, 32, 31);
    failing = true;
    fill_steps(63, 1);
    ERR(OZARR_ERR_NO_SPACE, ozarr_appender_append(out, 1, OZARR_INT32, data, bytes_of(1)));
    position_is(out, 63, 32);
    failing = false;
    OK(ozarr_appender_append(out, 1, OZARR_INT32, data, bytes_of(1)));
    position_is(out, 64, 64);
    append(out, 64, 3);
    failing = true;
    ERR_SAYS(OZARR_ERR_NO_SPACE, "planted", "", ozarr_appender_close(out));
    failing = false;
    steps_are_there(a, 64);
    /* The same for a handle whose parts of chunks wait. */
    int64_t start[] = {5, 0, 0}, one[] = {1, ROWS, COLUMNS};
    OK(ozarr_array_open_at(st, "t", &w));
    OK(ozarr_node_set(ozarr_array_node(w), "write_back", "1000000"));
    fill_steps(5, 1);
    OK(ozarr_array_write_region(w, start, one, OZARR_INT32, data, bytes_of(1)));
    failing = true;
    ERR(OZARR_ERR_NO_SPACE, ozarr_node_flush(ozarr_array_node(w)));
    ERR_SAYS(OZARR_ERR_NO_SPACE, "planted", "none of the 4 chunks", ozarr_node_flush(ozarr_array_node(w)));
    ERR(OZARR_ERR_NO_SPACE, ozarr_array_close(w));
    failing = false;
    steps_are_there(a, 64);
    OK(ozarr_array_close(a));
    OK(ozarr_store_close(st));
}

/* An array that is written row by row, then in any boxes, with chunks that wait. */
static void parts_wait(void) {
    enum { SIDE = 64, CHUNK = 16 };
    static int16_t model[SIDE * SIDE], found[SIDE * SIDE];
    int64_t shape[] = {SIDE, SIDE}, chunks[] = {CHUNK, CHUNK}, inner[] = {4, 8};
    for (int sharded = 0; sharded < 2; sharded++) {
        ozarr_store *st = counting_store();
        ozarr_spec *spec = NULL;
        ozarr_array *a = NULL, *other = NULL;
        OK(ozarr_spec_new(OZARR_INT16, 2, shape, &spec));
        OK(ozarr_spec_set_chunks(spec, chunks));
        if (sharded) OK(ozarr_spec_set_inner_chunks(spec, inner));
        OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_NEW, &a));
        ozarr_spec_free(spec);
        OK(ozarr_array_open_at(st, "a", &other));
        ERR_SAYS(OZARR_ERR_LIMIT, "511", "512", ozarr_node_set(ozarr_array_node(a), "write_back", "511"));
        ERR_SAYS(OZARR_ERR_ARGUMENT, "write_back", "many", ozarr_node_set(ozarr_array_node(a), "write_back", "many"));
        OK(ozarr_node_set(ozarr_array_node(a), "write_back", "2048"));
        for (int i = 0; i < SIDE * SIDE; i++) model[i] = (int16_t)(i + 1);
        for (int64_t row = 0; row < SIDE; row++) {
            int64_t start[] = {row, 0}, one[] = {1, SIDE};
            OK(ozarr_array_write_region(a, start, one, OZARR_INT16, model + row * SIDE, SIDE * 2));
            EQUAL(puts_of_chunks, (row + 1) / CHUNK * (SIDE / CHUNK));
        }
        OK(ozarr_array_read(other, OZARR_INT16, found, sizeof found));
        CHECK(memcmp(model, found, sizeof model) == 0);
        /* Reading by the same handle sees what waits; another one after a flush. */
        int64_t at[] = {20, 20}, one[] = {1, 1};
        int16_t v = -9, seen = 0;
        OK(ozarr_array_write_region(a, at, one, OZARR_INT16, &v, 2));
        OK(ozarr_array_read_region(other, at, one, OZARR_INT16, &seen, 2));
        EQUAL(seen, model[20 * SIDE + 20]);
        OK(ozarr_array_read_region(a, at, one, OZARR_INT16, &seen, 2));
        EQUAL(seen, -9);
        model[20 * SIDE + 20] = -9;
        OK(ozarr_array_read_region(other, at, one, OZARR_INT16, &seen, 2));
        EQUAL(seen, -9);
        /* Boxes with any steps, now and then of another type or read back. */
        srand(1);
        for (int n = 0; n < 600; n++) {
            int64_t start[2], count[2], step[2], len = 1;
            static double wide[SIDE * SIDE];
            static int16_t narrow[SIDE * SIDE];
            for (int d = 0; d < 2; d++) {
                step[d] = rand() % 4 == 0 ? 1 + rand() % 3 : 1;
                if (rand() % 3 == 0) step[d] = -step[d];
                count[d] = 1 + rand() % (rand() % 4 ? 12 : SIDE / 3);
                int64_t reach = (count[d] - 1) * llabs(step[d]);
                if (reach >= SIDE) count[d] = 1, reach = 0;
                start[d] = rand() % (SIDE - reach) + (step[d] < 0 ? reach : 0);
                len *= count[d];
            }
            ozarr_region region = OZARR_REGION_INIT;
            ozarr_memory memory = OZARR_MEMORY_INIT;
            region.start = start, region.shape = count, region.step = step;
            bool other_type = rand() % 4 == 0;
            memory.type = other_type ? OZARR_FLOAT64 : OZARR_INT16;
            memory.data = other_type ? (void *)wide : (void *)narrow;
            memory.size = (size_t)len * (other_type ? 8 : 2);
            if (rand() % 8 == 0) {
                memory.data = narrow, memory.size = (size_t)len * 2, memory.type = OZARR_INT16;
                OK(ozarr_array_read_ex(a, &region, &memory));
                int wrong = 0;
                for (int64_t i = 0; i < len; i++)
                    wrong += narrow[i] != model[(start[0] + i / count[1] * step[0]) * SIDE + start[1] + i % count[1] * step[1]];
                EQUAL(wrong, 0);
                continue;
            }
            for (int64_t i = 0; i < len; i++) {
                narrow[i] = (int16_t)rand();
                wide[i] = narrow[i];
                model[(start[0] + i / count[1] * step[0]) * SIDE + start[1] + i % count[1] * step[1]] = narrow[i];
            }
            OK(ozarr_array_write_ex(a, &region, &memory));
        }
        OK(ozarr_node_flush(ozarr_array_node(a)));
        OK(ozarr_array_read(other, OZARR_INT16, found, sizeof found));
        CHECK(memcmp(model, found, sizeof model) == 0);
        /* What does not fit leaves what waits as it was. */
        double bad[] = {1, 1e9};
        int64_t pair[] = {1, 2};
        v = 77;
        OK(ozarr_array_write_region(a, at, one, OZARR_INT16, &v, 2));
        ERR_SAYS(OZARR_ERR_RANGE, "[0, 1]", "", ozarr_array_write_region(a, at, pair, OZARR_FLOAT64, bad, sizeof bad));
        model[20 * SIDE + 20] = 77;
        /* Shrinking, erasing a chunk, closing: all find what waited. */
        int64_t smaller[] = {SIDE, 40}, first[] = {0, 0};
        at[0] = 21;
        OK(ozarr_array_write_region(a, at, one, OZARR_INT16, &v, 2));
        model[21 * SIDE + 20] = 77;
        OK(ozarr_array_resize(a, smaller, 0));
        at[0] = 3, at[1] = 3;
        OK(ozarr_array_write_region(a, at, one, OZARR_INT16, &v, 2));
        bool there = false;
        OK(ozarr_array_chunk_erase(a, first, false, &there));
        CHECK(there);
        at[0] = 63, at[1] = 39;
        OK(ozarr_array_write_region(a, at, one, OZARR_INT16, &v, 2));
        model[63 * SIDE + 39] = 77;
        OK(ozarr_array_close(a));
        OK(ozarr_node_refresh(ozarr_array_node(other), NULL, 0));
        OK(ozarr_array_read(other, OZARR_INT16, found, sizeof found));
        int wrong = 0;
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < 40; j++) wrong += found[i * 40 + j] != (i < CHUNK && j < CHUNK ? 0 : model[i * SIDE + j]);
        EQUAL(wrong, 0);
        OK(ozarr_array_close(other));
        OK(ozarr_store_close(st));
    }
}

static void pause_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Elements come from decoded chunks that are kept, and are never older than what is stored. */
static void chunks_are_kept(char form) {
    ozarr_context *context = NULL;
    ozarr_store *st = NULL;
    ozarr_store *other = NULL;
    OK(ozarr_context_new(&context));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "chunk_cache", "-1", ozarr_context_set(context, "chunk_cache", "-1"));
    OK(ozarr_context_set(context, "chunk_cache", "100000"));
    const char *options[] = {"file.sync", "none", NULL};
    OK(ozarr_store_open_ex(context, "cache.zarr", "r+", options, &st));
    ozarr_array *a = create(st, "t", form), *writer = NULL;
    ozarr_appender *out = NULL;
    OK(ozarr_appender_open(a, 0, 0, 0, &out));
    append(out, 0, 64);
    OK(ozarr_appender_close(out));
    OK(ozarr_store_open_ex(NULL, "cache.zarr", "r+", options, &other));
    OK(ozarr_array_open_at(other, "t", &writer));
    for (int own_cache = 0; own_cache < 2; own_cache++) {
        if (own_cache) {
            ERR_SAYS(OZARR_ERR_LIMIT, "100 ", form == 's' ? " 320 " : " 2560 ", ozarr_node_set(ozarr_array_node(a), "chunk_cache", "100"));
            OK(ozarr_node_set(ozarr_array_node(a), "chunk_cache", "20000"));
        }
        for (int round = 0; round < 3; round++) {
            pause_ms(round ? 40 : 0);
            for (int64_t i = 0; i < 500; i++) {
                int64_t at[] = {(i * 7) % 64, (i * 5) % ROWS, (i * 3) % COLUMNS}, one[] = {1, 1, 1};
                int32_t seen = 0, v = (int32_t)-i - 1;
                int64_t cell = at[1] * COLUMNS + at[2];
                OK(ozarr_array_read_region(a, at, one, OZARR_INT32, &seen, 4));
                EQUAL(seen, value(at[0], cell));
                if (i % 50) continue;
                OK(ozarr_array_write_region(writer, at, one, OZARR_INT32, &v, 4));
                OK(ozarr_array_read_region(a, at, one, OZARR_INT32, &seen, 4));
                EQUAL(seen, v);
                v = value(at[0], cell);
                OK(ozarr_array_write_region(writer, at, one, OZARR_INT32, &v, 4));
                OK(ozarr_array_read_region(a, at, one, OZARR_INT32, &seen, 4));
                EQUAL(seen, v);
            }
        }
        ozarr_stats done = OZARR_STATS_INIT;
        OK(ozarr_array_stats(a, &done));
        CHECK(done.chunk_hits > 0);
        steps_are_there(a, 64);
    }
    OK(ozarr_array_close(writer));
    OK(ozarr_array_close(a));
    OK(ozarr_store_close(other));
    OK(ozarr_store_close(st));
    ozarr_context_free(context);
}

/* The other process: it sees more and more steps, each of them whole. */
static int follow(void) {
    ozarr_array *a = NULL;
    int64_t seen = 0, length = 0, rounds = 0;
    OK(ozarr_array_open("live.zarr/t", "r", &a));
    while (seen < MOST && !failures) {
        OK(ozarr_array_wait_growth(a, 0, seen, 30, &length));
        CHECK(length > seen);
        int64_t start[] = {seen, 0, 0}, count[] = {length - seen, ROWS, COLUMNS};
        memset(back, 0, sizeof back);
        OK(ozarr_array_read_region(a, start, count, OZARR_INT32, back, sizeof back));
        int64_t wrong = 0;
        for (int64_t i = 0; i < (length - seen) * CELLS; i++) wrong += back[i] != value(seen + i / CELLS, i % CELLS);
        EQUAL(wrong, 0);
        seen = length;
        rounds++;
    }
    CHECK(rounds > 2);
    steps_are_there(a, MOST);
    OK(ozarr_array_close(a));
    return finish();
}

static void live(const char *program, char form) {
    ozarr_store *st = NULL;
    const char *options[] = {"file.sync", form == '3' ? "batch" : "none", NULL};
    OK(ozarr_store_open_ex(NULL, "live.zarr", "r+", options, &st));
    ozarr_array *a = create(st, "t", form);
    ozarr_appender *out = NULL;
    pid_t reader = fork();
    if (reader == 0) {
        execl(program, program, "follow", (char *)NULL);
        _exit(9);
    }
    OK(ozarr_appender_open(a, 0, 1, 0, &out));
    for (int64_t step = 0; step < MOST; step += 1 + step % 3) {
        int64_t count = 1 + step % 3;
        append(out, step, step + count > MOST ? MOST - step : count);
        if (step % 20 == 0) pause_ms(5);
    }
    OK(ozarr_appender_close(out));
    int status = -1;
    CHECK(waitpid(reader, &status, 0) == reader && WIFEXITED(status));
    EQUAL(WEXITSTATUS(status), 0);
    int64_t length = -7;
    ERR_SAYS(OZARR_ERR_TIMEOUT, "200", "", ozarr_array_wait_growth(a, 0, MOST, 0.003, &length));
    ERR(OZARR_ERR_TIMEOUT, ozarr_array_wait_growth(a, 0, MOST, 0, &length));
    ERR(OZARR_ERR_ARGUMENT, ozarr_array_wait_growth(a, 0, MOST, NAN, &length));
    ERR(OZARR_ERR_BOUNDS, ozarr_array_wait_growth(a, 3, MOST, 0, &length));
    EQUAL(length, -7);
    OK(ozarr_array_wait_growth(a, 0, MOST - 1, 0, &length));
    OK(ozarr_array_wait_growth(a, 0, MOST - 1, -1, &length));
    EQUAL(length, MOST);
    OK(ozarr_array_wait_growth(a, 0, MOST - 1, -1, &length));
    OK(ozarr_store_node_erase(st, "t"));
    ERR(OZARR_ERR_NOT_FOUND, ozarr_array_wait_growth(a, 0, MOST, -1, &length));
    ozarr_array_free(a);
    OK(ozarr_store_close(st));
}

/* A child has nothing that waits, and flushes nothing of its parent's. */
static void forks(void) {
    ozarr_store *st = NULL;
    OK(ozarr_store_open("fork.zarr", "r+", &st));
    ozarr_array *a = create(st, "t", '3'), *b = NULL;
    ozarr_appender *out = NULL;
    int64_t start[] = {0, 0, 0}, one[] = {1, ROWS, COLUMNS};
    OK(ozarr_appender_open(a, 0, 0, 0, &out));
    append(out, 0, 40);
    OK(ozarr_array_open_at(st, "t", &b));
    OK(ozarr_node_set(ozarr_array_node(b), "write_back", "100000"));
    for (int i = 0; i < CELLS; i++) data[i] = -1;
    OK(ozarr_array_write_region(b, start, one, OZARR_INT32, data, bytes_of(1)));
    pid_t child = fork();
    if (child == 0) {
        failures = 0;
        ERR(OZARR_ERR_FORKED, ozarr_appender_append(out, 1, OZARR_INT32, data, bytes_of(1)));
        ERR(OZARR_ERR_FORKED, ozarr_appender_flush(out));
        ERR(OZARR_ERR_FORKED, ozarr_appender_close(out));
        OK(ozarr_node_flush(ozarr_array_node(b)));
        OK(ozarr_array_close(b));
        steps_are_there(a, 32);
        _exit(failures != 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    EQUAL(WEXITSTATUS(status), 0);
    steps_are_there(a, 32);
    fill_steps(0, 1);
    OK(ozarr_array_write_region(b, start, one, OZARR_INT32, data, bytes_of(1)));
    OK(ozarr_array_close(b));
    ozarr_appender_free(out); /* stores and publishes, too */
    steps_are_there(a, 40);
    OK(ozarr_array_close(a));
    OK(ozarr_store_close(st));
}

enum { LONG = 32768, RECORDS = 24 };

static float record_value(int array, int64_t record, int64_t i) { return (float)(array * 100000 + record * 1000 + i % 997); }

typedef struct {
    ozarr_store *store;
    int number;
} records_job;

/* Writes records, two of which are a chunk of 256 KiB, into an array of its own. After some chunks another handle reads, a child begins
 * and ends, and the handle is freed without a flush. */
static void *write_records(void *argument) {
    records_job *job = argument;
    static const int64_t shape[] = {RECORDS, LONG}, chunks[] = {2, LONG};
    float *record = malloc(LONG * sizeof *record), seen[2];
    char name[8];
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL, *other = NULL;
    snprintf(name, sizeof name, "r%d", job->number);
    OK(ozarr_spec_new(OZARR_FLOAT32, 2, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    OK(ozarr_spec_set_compressor(spec, job->number % 2 ? "zstd" : "none", -1));
    OK(ozarr_array_create_at(job->store, name, spec, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(spec);
    OK(ozarr_node_set(ozarr_array_node(a), "write_back", "1048576"));
    OK(ozarr_array_open_at(job->store, name, &other));
    for (int64_t r = 0; r < RECORDS; r++) {
        int64_t start[] = {r, 0}, one[] = {1, LONG}, at[] = {r - 1, LONG - 2}, pair[] = {1, 2};
        for (int64_t i = 0; i < LONG; i++) record[i] = record_value(job->number, r, i);
        OK(ozarr_array_write_region(a, start, one, OZARR_FLOAT32, record, LONG * sizeof *record));
        if (r % 8 == 5) {
            OK(ozarr_array_read_region(other, at, pair, OZARR_FLOAT32, seen, sizeof seen));
            CHECK(seen[0] == record_value(job->number, r - 1, LONG - 2) && seen[1] == record_value(job->number, r - 1, LONG - 1));
        }
        if (job->number == 0 && r == 13) {
            pid_t child = fork();
            if (child == 0) {
                failures = 0;
                OK(ozarr_node_flush(ozarr_array_node(a)));
                OK(ozarr_array_close(a));
                _exit(failures != 0);
            }
            int status = -1;
            CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
    }
    free(record);
    OK(ozarr_array_close(other));
    if (job->number == 1) ozarr_array_free(a);
    else OK(ozarr_array_close(a));
    return NULL;
}

/* Large chunks that became whole are stored by other threads while the program goes on. */
static void large_chunks_are_stored_behind(void) {
    enum { ARRAYS = 3 };
    static float all[RECORDS * LONG];
    pthread_t threads[ARRAYS];
    records_job jobs[ARRAYS];
    ozarr_context *context = NULL;
    ozarr_store *st = NULL;
    OK(ozarr_context_new(&context));
    OK(ozarr_context_set(context, "threads", "3"));
    OK(ozarr_store_open_ex(context, "behind.zarr", "r+", NULL, &st));
    for (int i = 0; i < ARRAYS; i++) {
        jobs[i] = (records_job){st, i};
        CHECK(pthread_create(&threads[i], NULL, write_records, &jobs[i]) == 0);
    }
    for (int i = 0; i < ARRAYS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    OK(ozarr_store_close(st));
    OK(ozarr_store_open("behind.zarr", "r", &st));
    for (int n = 0; n < ARRAYS; n++) {
        char name[8];
        ozarr_array *a = NULL;
        snprintf(name, sizeof name, "r%d", n);
        OK(ozarr_array_open_at(st, name, &a));
        memset(all, 0, sizeof all);
        OK(ozarr_array_read(a, OZARR_FLOAT32, all, sizeof all));
        int64_t wrong = 0;
        for (int64_t i = 0; i < RECORDS * LONG; i++) wrong += all[i] != record_value(n, i / LONG, i % LONG);
        EQUAL(wrong, 0);
        OK(ozarr_array_close(a));
    }
    OK(ozarr_store_close(st));
    ozarr_context_free(context);
    OK(ozarr_shutdown());
}

int main(int count, char **arguments) {
    if (count > 1) return follow();
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    CHECK(n > 0);
    program[n > 0 ? n : 0] = 0;
    (void)arguments;
    for (const char *form = "23s"; *form; form++) {
        current = *form;
        each_chunk_once(*form);
        chunks_are_kept(*form);
        live(program, *form);
    }
    bad_input();
    deferred_errors();
    parts_wait();
    forks();
    large_chunks_are_stored_behind();
    return finish();
}
