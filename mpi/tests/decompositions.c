/* Random decompositions: what all ranks write together is what rank 0 alone writes, value by value and object by object; and every rank reads
 * with another decomposition what is stored.
 *
 *   decompositions FOLDER CASES [SEED] */
#include "check.h"

#include <inttypes.h>
#include <ozarr_advanced.h>
#include <ozarr_extend.h>

enum { MAX_DIMS = 4, MAX_BOXES = 64 };

/* A box of elements, and the rank that has it. */
typedef struct box {
    int64_t start[MAX_DIMS], shape[MAX_DIMS];
    int owner;
} box;

/* One array, and what it should hold. */
typedef struct field {
    int dims;
    int64_t shape[MAX_DIMS], elements;
    ozarr_type stored;
    double *expected;
} field;

static int64_t linear(const field *f, const int64_t *index) {
    int64_t i = 0;
    for (int d = 0; d < f->dims; d++) i = i * f->shape[d] + index[d];
    return i;
}

static double value_at(int64_t i, int salt) { return (double)((i * 7 + salt * 13) % 97 + 1); }

/* A random part of a box, or all of it. */
static box part_of(numbers *n, const field *f) {
    box b = {.owner = 0};
    const int whole = pick(n, 0, 1) == 0;
    for (int d = 0; d < f->dims; d++) {
        b.start[d] = whole ? 0 : pick(n, 0, f->shape[d] - 1);
        b.shape[d] = whole ? f->shape[d] : pick(n, 1, f->shape[d] - b.start[d]);
    }
    return b;
}

/* Cuts a box into some: a grid of blocks or pencils along one dimension, or again and again in two at random places. */
static int cut(numbers *n, int dims, const box *whole, int want, box *out) {
    int count = 1;
    out[0] = *whole;
    const int only = pick(n, 0, 2) == 0 ? (int)pick(n, 0, dims - 1) : -1;
    const int even = pick(n, 0, 1) == 0;
    for (int tries = 0; count < want && tries < 8 * want; tries++) {
        const int i = even ? tries % count : (int)pick(n, 0, count - 1), d = only >= 0 ? only : (int)pick(n, 0, dims - 1);
        if (out[i].shape[d] < 2) continue;
        const int64_t at = even ? out[i].shape[d] / 2 : pick(n, 1, out[i].shape[d] - 1);
        out[count] = out[i];
        out[i].shape[d] = at;
        out[count].start[d] += at, out[count].shape[d] -= at;
        count++;
    }
    for (int i = 0; i < count; i++) out[i].owner = pick(n, 0, 9) == 0 ? (int)pick(n, 0, ranks - 1) : i % ranks;
    return count;
}

/* Memory for a box: contiguous in either order, with a halo by sizes, or by strides with holes and backwards. */
typedef struct held {
    ozarr_memory memory;
    int64_t strides[MAX_DIMS], sizes[MAX_DIMS], starts[MAX_DIMS];
    int64_t place[MAX_DIMS]; /* the strides that it has in any case, and the first byte */
    int64_t first;
} held;

static void hold(numbers *n, int dims, const int64_t *shape, ozarr_type type, size_t item, held *h) {
    const int kind = (int)pick(n, 0, 3);
    int64_t bytes = (int64_t)item;
    memset(h, 0, sizeof *h);
    ozarr_memory_init(&h->memory);
    h->memory.type = type;
    h->memory.order = pick(n, 0, 1) == 0 ? OZARR_ORDER_C : OZARR_ORDER_F;
    for (int d = 0; d < dims; d++) {
        h->starts[d] = kind == 1 ? pick(n, 0, 2) : 0;
        h->sizes[d] = shape[d] + h->starts[d] + (kind == 1 ? pick(n, 0, 2) : 0);
    }
    for (int i = 0; i < dims; i++) {
        const int d = h->memory.order == OZARR_ORDER_C ? dims - 1 - i : i;
        h->place[d] = bytes;
        h->first += h->starts[d] * bytes;
        bytes *= h->sizes[d] + (kind == 2);
    }
    if (kind == 2 && dims > 0 && pick(n, 0, 1) == 0) {
        h->first += h->place[0] * (shape[0] - 1);
        h->place[0] = -h->place[0];
    }
    h->memory.size = (size_t)bytes;
    h->memory.data = malloc((size_t)bytes + 1);
    memset(h->memory.data, 0xAB, (size_t)bytes);
    if (kind == 1) h->memory.sizes = h->sizes, h->memory.starts = h->starts;
    if (kind == 2) {
        memcpy(h->strides, h->place, sizeof h->strides);
        h->memory.strides = h->strides, h->memory.offset = (size_t)h->first;
    }
}

static double load(const char *at, ozarr_type type) {
    double d;
    float f;
    int32_t i;
    int16_t s;
    switch (type) {
    case OZARR_FLOAT64: memcpy(&d, at, 8); return d;
    case OZARR_FLOAT32: memcpy(&f, at, 4); return (double)f;
    case OZARR_INT32: memcpy(&i, at, 4); return i;
    default: memcpy(&s, at, 2); return s;
    }
}

static void keep(char *at, ozarr_type type, double value) {
    const float f = (float)value;
    const int32_t i = (int32_t)value;
    const int16_t s = (int16_t)value;
    switch (type) {
    case OZARR_FLOAT64: memcpy(at, &value, 8); break;
    case OZARR_FLOAT32: memcpy(at, &f, 4); break;
    case OZARR_INT32: memcpy(at, &i, 4); break;
    default: memcpy(at, &s, 2);
    }
}

static size_t size_of(ozarr_type type) { return type == OZARR_FLOAT64 ? 8 : type == OZARR_INT16 ? 2 : 4; }

/* Goes to the next index of a box; 0 behind the last. */
static int step(int dims, const int64_t *shape, int64_t *at) {
    int d = dims - 1;
    while (d >= 0 && at[d] == shape[d] - 1) at[d--] = 0;
    if (d < 0) return 0;
    at[d]++;
    return 1;
}

static int is_empty(int dims, const int64_t *shape) {
    for (int d = 0; d < dims; d++)
        if (shape[d] == 0) return 1;
    return 0;
}

static char *place_of(const held *h, int dims, const int64_t *at) {
    char *place = (char *)h->memory.data + h->first;
    for (int d = 0; d < dims; d++) place += at[d] * h->place[d];
    return place;
}

/* Writes boxes with all ranks, into what is expected, too. */
static void write_boxes(ozarr_mpi *m, numbers *n, ozarr_array *a, field *f, const box *boxes, int count, ozarr_type type, int salt) {
    ozarr_region regions[MAX_BOXES];
    ozarr_memory memories[MAX_BOXES];
    held holds[MAX_BOXES];
    int mine = 0;
    for (int i = 0; i < count; i++) {
        int64_t at[MAX_DIMS] = {0}, index[MAX_DIMS];
        held h;
        hold(n, f->dims, boxes[i].shape, type, size_of(type), &h);
        for (int more = !is_empty(f->dims, boxes[i].shape); more; more = step(f->dims, boxes[i].shape, at)) {
            for (int d = 0; d < f->dims; d++) index[d] = boxes[i].start[d] + at[d];
            const double value = value_at(linear(f, index), salt);
            f->expected[linear(f, index)] = value;
            keep(place_of(&h, f->dims, at), type, value);
        }
        if (boxes[i].owner != rank) {
            free(h.memory.data);
            continue;
        }
        ozarr_region_init(&regions[mine]);
        regions[mine].start = boxes[i].start, regions[mine].shape = boxes[i].shape;
        holds[mine] = h;
        mine++;
    }
    for (int i = 0; i < mine; i++) {
        memories[i] = holds[i].memory;
        if (memories[i].sizes != NULL) memories[i].sizes = holds[i].sizes, memories[i].starts = holds[i].starts;
        if (memories[i].strides != NULL) memories[i].strides = holds[i].strides;
    }
    if (pick(n, 0, 2) == 0) {
        ozarr_mpi_request *request = NULL;
        OK(ozarr_mpi_array_iwrite_all(m, a, mine, regions, memories, &request));
        for (bool done = false; !done && rank % 2 == 0;) OK(ozarr_mpi_request_test(request, &done));
        OK(ozarr_mpi_request_wait(request));
    } else {
        OK(ozarr_mpi_array_write_all_ex(m, a, mine, regions, memories));
    }
    for (int i = 0; i < mine; i++) free(holds[i].memory.data);
}

/* Reads boxes with all ranks, each with a halo, and compares. */
static void read_boxes(ozarr_mpi *m, numbers *n, ozarr_array *a, const field *f, box *boxes, int count, ozarr_type type) {
    ozarr_region regions[MAX_BOXES];
    ozarr_memory memories[MAX_BOXES];
    held holds[MAX_BOXES];
    int which[MAX_BOXES], mine = 0;
    const int64_t halo = pick(n, 0, 2);
    for (int i = 0; i < count; i++) {
        for (int d = 0; d < f->dims; d++) {
            const int64_t low = boxes[i].start[d] < halo ? boxes[i].start[d] : halo, end = boxes[i].start[d] + boxes[i].shape[d];
            boxes[i].start[d] -= low;
            boxes[i].shape[d] = (end + halo > f->shape[d] ? f->shape[d] : end + halo) - boxes[i].start[d];
        }
        held h;
        hold(n, f->dims, boxes[i].shape, type, size_of(type), &h);
        if (boxes[i].owner != rank) {
            free(h.memory.data);
            continue;
        }
        ozarr_region_init(&regions[mine]);
        regions[mine].start = boxes[i].start, regions[mine].shape = boxes[i].shape;
        which[mine] = i;
        holds[mine++] = h;
    }
    for (int i = 0; i < mine; i++) {
        memories[i] = holds[i].memory;
        if (memories[i].sizes != NULL) memories[i].sizes = holds[i].sizes, memories[i].starts = holds[i].starts;
        if (memories[i].strides != NULL) memories[i].strides = holds[i].strides;
    }
    OK(ozarr_mpi_array_read_all_ex(m, a, mine, regions, memories));
    for (int i = 0; i < mine; i++) {
        const box *b = &boxes[which[i]];
        int64_t at[MAX_DIMS] = {0}, index[MAX_DIMS];
        for (int more = !is_empty(f->dims, b->shape); more; more = step(f->dims, b->shape, at)) {
            for (int d = 0; d < f->dims; d++) index[d] = b->start[d] + at[d];
            const double found = load(place_of(&holds[i], f->dims, at), type), expected = f->expected[linear(f, index)];
            if (found != expected) {
                FAIL("element %" PRId64 " is %g, expected %g", linear(f, index), found, expected);
                break;
            }
        }
        free(holds[i].memory.data);
    }
}

/* --- comparing what is stored --- */

typedef struct listing {
    char keys[4096][64];
    int count;
} listing;

static ozarr_status add_key(void *user, const char *key) {
    listing *l = user;
    if (l->count < 4096) snprintf(l->keys[l->count++], 64, "%s", key);
    return OZARR_OK;
}

/* Both folders have the same objects. */
static void compare_objects(const char *one, const char *other) {
    static listing a, b;
    ozarr_store *s = NULL, *t = NULL;
    a.count = b.count = 0;
    OK(ozarr_store_open(one, "r", &s));
    OK(ozarr_store_open(other, "r", &t));
    OK(ozarr_store_key_list(s, "", add_key, &a));
    OK(ozarr_store_key_list(t, "", add_key, &b));
    if (a.count != b.count) FAIL("%d objects, expected %d", a.count, b.count);
    for (int i = 0; i < a.count && i < b.count; i++) {
        size_t m = 0, n = 0;
        static char x[1 << 20], y[1 << 20];
        if (strcmp(a.keys[i], b.keys[i]) != 0) FAIL("object %s, expected %s", a.keys[i], b.keys[i]);
        OK(ozarr_store_key_get(s, a.keys[i], x, sizeof x, &m));
        OK(ozarr_store_key_get(t, b.keys[i], y, sizeof y, &n));
        if (m != n || memcmp(x, y, n) != 0) FAIL("object %s differs from that of a serial write", a.keys[i]);
    }
    ozarr_store_free(s);
    ozarr_store_free(t);
}

/* --- one case --- */

static ozarr_spec *random_spec(numbers *n, field *f) {
    const ozarr_type types[] = {OZARR_FLOAT64, OZARR_FLOAT32, OZARR_INT32, OZARR_INT16};
    const char *const compressors[] = {"none", "zstd", "gzip", "blosc:lz4"};
    ozarr_spec *spec = NULL;
    int64_t chunks[MAX_DIMS], inner[MAX_DIMS];
    const int64_t most[] = {0, 200, 40, 14, 7};
    f->dims = (int)pick(n, 1, MAX_DIMS);
    f->elements = 1;
    for (int d = 0; d < f->dims; d++) {
        f->shape[d] = pick(n, 1, most[f->dims]);
        f->elements *= f->shape[d];
        inner[d] = pick(n, 1, 4);
        chunks[d] = pick(n, 0, 1) ? inner[d] * pick(n, 1, 4) : pick(n, 0, 1) ? f->shape[d] + inner[d] - f->shape[d] % inner[d] : inner[d];
    }
    f->stored = types[pick(n, 0, 3)];
    const int kind = (int)pick(n, 0, 3);
    OK(ozarr_spec_new(f->stored, f->dims, f->shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    if (kind == 1) OK(ozarr_spec_set_zarr_format(spec, 2));
    if (kind == 2) OK(ozarr_spec_set_inner_chunks(spec, inner));
    if (kind == 3) {
        int64_t extents[256], count = 0, left = f->shape[0];
        for (; left > 0; left -= extents[count++]) extents[count] = pick(n, 1, left < 9 ? left : 9);
        OK(ozarr_spec_set_chunk_extents(spec, 0, extents, count));
    }
    OK(ozarr_spec_set_compressor(spec, compressors[pick(n, 0, 3)], -1));
    if (pick(n, 0, 3) == 0 && kind != 1) OK(ozarr_spec_set_checksum(spec, true));
    return spec;
}

static void random_settings(ozarr_mpi *m, numbers *n) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, pick(n, 1, ranks + 1));
    OK(ozarr_mpi_set(m, "aggregators", pick(n, 0, 1) ? "auto" : text));
    snprintf(text, sizeof text, "%" PRId64, pick(n, 0, 1) ? 1 << 20 : pick(n, 1, 3000));
    OK(ozarr_mpi_set(m, "round_bytes", text));
    snprintf(text, sizeof text, "%" PRId64, pick(n, 0, 1) ? 1 << 30 : pick(n, 1, 500));
    OK(ozarr_mpi_set(m, "message_bytes", text));
    snprintf(text, sizeof text, "%" PRId64, pick(n, 0, 1) ? 64 << 10 : pick(n, 1, 500));
    OK(ozarr_mpi_set(m, "range_bytes", text));
}

static void one_case(ozarr_mpi *m, const char *folder, uint64_t seed) {
    const ozarr_type memory_types[] = {OZARR_FLOAT64, OZARR_FLOAT32, OZARR_INT32, OZARR_INT16};
    numbers n = {seed};
    field f;
    char together[512], alone[512];
    ozarr_array *a = NULL, *b = NULL;
    box boxes[MAX_BOXES];
    const int before = failures;
    ozarr_spec *spec = random_spec(&n, &f);
    random_settings(m, &n);
    f.expected = calloc((size_t)f.elements, sizeof *f.expected);
    snprintf(together, sizeof together, "%s/case.zarr", folder);
    snprintf(alone, sizeof alone, "%s/alone.zarr", folder);
    OK(ozarr_mpi_array_create_ex(m, together, spec, OZARR_CREATE_OVERWRITE, &a));
    if (rank == 0) OK(ozarr_array_create_ex(alone, spec, OZARR_CREATE_OVERWRITE, &b));
    for (int round = 0; round < 2; round++) {
        const box whole = part_of(&n, &f);
        const ozarr_type type = memory_types[pick(&n, 0, 3)];
        const int count = cut(&n, f.dims, &whole, (int)pick(&n, 1, pick(&n, 0, 1) ? ranks : 3 * ranks), boxes);
        write_boxes(m, &n, a, &f, boxes, count, type, round);
        if (rank == 0) {
            ozarr_region region = OZARR_REGION_INIT;
            ozarr_memory memory = OZARR_MEMORY_INIT;
            region.start = whole.start, region.shape = whole.shape;
            memory.data = f.expected, memory.size = (size_t)f.elements * sizeof *f.expected, memory.type = OZARR_FLOAT64;
            memory.sizes = f.shape, memory.starts = whole.start;
            OK(ozarr_array_write_ex(b, &region, &memory));
        }
        const box all = part_of(&n, &f);
        const int parts = cut(&n, f.dims, &all, (int)pick(&n, 1, 2 * ranks), boxes);
        read_boxes(m, &n, a, &f, boxes, parts, memory_types[pick(&n, 0, 3)]);
    }
    OK(ozarr_mpi_array_close(m, a));
    if (rank == 0) {
        OK(ozarr_array_close(b));
        compare_objects(together, alone);
    }
    ozarr_spec_free(spec);
    free(f.expected);
    if (failures > before) fprintf(stderr, "rank %d: in the case of seed %" PRIu64 "\n", rank, seed);
}

int main(int argc, char **argv) {
    ozarr_mpi *m = NULL;
    begin_ranks(&argc, &argv);
    const int cases = argc > 2 ? atoi(argv[2]) : 50;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    OK(ozarr_context_set(NULL, "file.sync", "none"));
    for (int i = 0; i < cases && failures < 5; i++) {
        one_case(m, argc > 1 ? argv[1] : ".", seed * 100000 + (uint64_t)i);
        int any = 0;
        MPI_Allreduce(&failures, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (any > 4) break;
    }
    OK(ozarr_mpi_close(m));
    if (rank == 0) printf("%d decompositions on %d ranks\n", cases, ranks);
    return end_ranks();
}
