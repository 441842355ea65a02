/* Blocks with ghost cells: parts of larger arrays in memory, and periodic dimensions, against plain loops over random cases. */
#include "random.h"
#include "table.h"

enum { MOST = 4, LONG = 9, CELLS = 4096 };

static numbers any = {7};

static int64_t below(int64_t n) { return pick(&any, 0, n - 1); }

struct block {
    int rank;
    int64_t length[MOST], start[MOST], shape[MOST], step[MOST], sizes[MOST], starts[MOST];
    bool periodic[MOST];
};

/* A block that leaves the array along periodic dimensions only, somewhere in an array in memory. */
static struct block any_block(bool once) {
    struct block b = {0};
    b.rank = 1 + (int)below(MOST);
    for (int d = 0; d < b.rank; d++) {
        int64_t most = b.rank > 2 ? 4 : LONG;
        b.length[d] = 1 + below(most);
        b.periodic[d] = below(3) != 0;
        b.step[d] = 1;
        if (b.periodic[d]) {
            b.start[d] = below(4 * most) - 2 * most;
            b.shape[d] = below(once ? b.length[d] + 1 : b.length[d] + 4);
            if (!once && below(3) == 0) b.step[d] = below(2) ? -1 : 2;
        } else {
            b.start[d] = below(b.length[d]);
            b.shape[d] = below(b.length[d] - b.start[d] + 1);
        }
        b.starts[d] = below(3);
        b.sizes[d] = b.starts[d] + b.shape[d] + below(3);
    }
    return b;
}

static int64_t product(const int64_t *n, int rank) {
    int64_t all = 1;
    for (int d = 0; d < rank; d++) all *= n[d];
    return all;
}

/* Calls `each` for every element of the block with its place in the array and in memory (in elements, in either order). */
static void walk(const struct block *b, bool order_f, int *array, int *memory, bool to_memory) {
    int64_t i[MOST] = {0}, all = product(b->shape, b->rank);
    for (int64_t n = 0; n < all; n++) {
        int64_t rest = n, in_array = 0, in_memory = 0, stride = 1;
        for (int d = b->rank - 1; d >= 0; d--) i[d] = rest % b->shape[d], rest /= b->shape[d];
        for (int d = 0; d < b->rank; d++) {
            int64_t at = (b->start[d] + i[d] * b->step[d]) % b->length[d];
            in_array = in_array * b->length[d] + (at < 0 ? at + b->length[d] : at);
        }
        for (int k = 0; k < b->rank; k++) {
            int d = order_f ? k : b->rank - 1 - k;
            in_memory += stride * (b->starts[d] + i[d]);
            stride *= b->sizes[d];
        }
        if (to_memory) memory[in_memory] = array[in_array];
        else array[in_array] = memory[in_memory];
    }
}

static ozarr_array *array_of(ozarr_store *st, const struct block *b) {
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    int64_t chunks[MOST];
    for (int d = 0; d < b->rank; d++) chunks[d] = 1 + below(b->length[d]);
    OK(ozarr_spec_new(OZARR_INT32, b->rank, b->length, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(spec);
    return a;
}

static void against_loops(ozarr_store *st, int rounds) {
    static int model[CELLS], found[CELLS * 8], expected[CELLS * 8];
    for (int round = 0; round < rounds && failures == 0; round++) {
        bool writing = below(2) != 0, order_f = below(2) != 0;
        struct block b = any_block(writing);
        ozarr_array *a = array_of(st, &b);
        int64_t cells = product(b.length, b.rank), room = product(b.sizes, b.rank);
        for (int64_t i = 0; i < cells; i++) model[i] = (int)i + 1;
        for (int64_t i = 0; i < room; i++) found[i] = expected[i] = -(int)i - 1;
        OK(ozarr_array_write(a, OZARR_INT32, model, (size_t)cells * sizeof *model));
        ozarr_region region = OZARR_REGION_INIT;
        ozarr_memory memory = OZARR_MEMORY_INIT;
        region.start = b.start, region.shape = b.shape, region.step = b.step, region.periodic = b.periodic;
        memory.data = found, memory.size = (size_t)room * sizeof *found, memory.type = OZARR_INT32;
        memory.order = order_f ? OZARR_ORDER_F : OZARR_ORDER_C, memory.sizes = b.sizes, memory.starts = b.starts;
        if (below(4) == 0) {
            ozarr_request *request = NULL;
            OK(writing ? ozarr_array_iwrite_ex(a, &region, &memory, NULL, &request) : ozarr_array_iread_ex(a, &region, &memory, NULL, &request));
            OK(ozarr_request_wait(request, -1));
            ozarr_request_free(request);
        } else {
            OK(writing ? ozarr_array_write_ex(a, &region, &memory) : ozarr_array_read_ex(a, &region, &memory));
        }
        walk(&b, order_f, model, writing ? found : expected, !writing);
        if (writing) {
            OK(ozarr_array_read(a, OZARR_INT32, found, (size_t)cells * sizeof *found));
            CHECK(memcmp(found, model, (size_t)cells * sizeof *found) == 0);
        } else {
            CHECK(memcmp(found, expected, (size_t)room * sizeof *found) == 0);
        }
        ozarr_array_free(a);
    }
}

/* What is refused, and that nothing is touched then. */
static void refused(ozarr_store *st) {
    struct block b = {.rank = 2, .length = {4, 6}};
    ozarr_array *a = array_of(st, &b);
    int data[100];
    int64_t start[] = {-1, 0}, shape[] = {6, 6}, sizes[] = {6, 8}, starts[] = {0, 3}, strides[] = {24, 4}, minus[] = {-1, 0}, none[] = {0, 0};
    bool first[] = {true, false}, second[] = {false, true};
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start, region.shape = shape, region.periodic = first;
    memory.data = data, memory.size = sizeof data, memory.type = OZARR_INT32, memory.sizes = sizes, memory.starts = starts;
    ERR_SAYS(OZARR_ERR_BOUNDS, "dimension 1: 6 elements from 3", "8", ozarr_array_read_ex(a, &region, &memory));
    memory.starts = minus;
    ERR_SAYS(OZARR_ERR_BOUNDS, "dimension 0", "-1", ozarr_array_read_ex(a, &region, &memory));
    memory.starts = NULL, memory.strides = strides;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "memory->sizes", "memory->strides", ozarr_array_read_ex(a, &region, &memory));
    memory.strides = NULL, memory.sizes = NULL, memory.starts = none;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "memory->starts", "memory->sizes", ozarr_array_read_ex(a, &region, &memory));
    memory.starts = NULL, memory.sizes = sizes;
    OK(ozarr_array_read_ex(a, &region, &memory));
    ERR_SAYS(OZARR_ERR_BOUNDS, "dimension 0", "twice", ozarr_array_write_ex(a, &region, &memory));
    region.periodic = second;
    ERR_SAYS(OZARR_ERR_BOUNDS, "dimension 0", "-1", ozarr_array_read_ex(a, &region, &memory));
    region.periodic = first;
    memory.size = 6 * 8 * sizeof *data - 12;
    ERR(OZARR_ERR_BUFFER_SIZE, ozarr_array_read_ex(a, &region, &memory));
    ERR_SAYS(OZARR_ERR_ARGUMENT, "region->periodic", "", ozarr_array_fill(a, &region, OZARR_INT32, data));
    shape[0] = -1;
    ERR_SAYS(OZARR_ERR_BOUNDS, "dimension 0", "-1", ozarr_array_read_ex(a, &region, &memory));
    ozarr_array_free(a);
}

/* Packed numbers go around the ends as others do, both ways. */
static void packed(ozarr_store *st) {
    struct block b = {.rank = 2, .length = {4, 6}};
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    const int64_t start[] = {3, 5}, shape[] = {4, 6}, chunks[] = {3, 2}, before[] = {-2, -7}, wide[] = {9, 20};
    const bool both[] = {true, true};
    double all[4][6], found[9][20];
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    OK(ozarr_spec_new(OZARR_INT16, 2, b.length, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    OK(ozarr_array_create_at(st, "packed", spec, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(spec);
    OK(ozarr_attr_set_double(ozarr_array_node(a), "scale_factor", 0.5));
    OK(ozarr_attr_set_double(ozarr_array_node(a), "add_offset", -7.0));
    for (int i = 0; i < 24; i++) all[i / 6][i % 6] = 0.5 * ((3 + i / 6) % 4 * 10 + (5 + i % 6) % 6);
    region.start = start, region.shape = shape, region.periodic = both;
    memory.data = all, memory.size = sizeof all, memory.type = OZARR_FLOAT64;
    OK(ozarr_array_write_packed(a, &region, &memory));
    region.start = before, region.shape = wide;
    memory.data = found, memory.size = sizeof found;
    OK(ozarr_array_read_unpacked(a, &region, &memory));
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 20; j++) CHECK(found[i][j] == 0.5 * ((i + 2) % 4 * 10 + (j + 5) % 6));
    ERR_SAYS(OZARR_ERR_BOUNDS, "dimension 0", "twice", ozarr_array_write_packed(a, &region, &memory));
    ozarr_array_free(a);
}

/* Messages count from the first element of the region that was asked for, not from those of the parts that it was cut into. */
static void messages(ozarr_store *st) {
    static const int64_t shape[] = {4, 6}, chunkings[][2] = {{4, 6}, {2, 3}}, start[] = {2, 4}, block[] = {3, 4};
    static const bool both[] = {true, true};
    static const char *const text = "element [2, 3] is 70000", *const in_fortran = "element [4, 3] is 70000";
    for (int k = 0; k < 4; k++) {
        int32_t all[4][6] = {{0, 70000}}, wide[3][4] = {{0}};
        int16_t narrow[3][4];
        const bool writing = k % 2 != 0;
        ozarr_array *a = NULL;
        ozarr_spec *spec = NULL;
        ozarr_request *request = NULL;
        OK(ozarr_spec_new(writing ? OZARR_INT16 : OZARR_INT32, 2, shape, &spec));
        OK(ozarr_spec_set_chunks(spec, chunkings[k / 2]));
        OK(ozarr_array_create_at(st, "a", spec, OZARR_CREATE_OVERWRITE, &a));
        ozarr_spec_free(spec);
        if (!writing) OK(ozarr_array_write(a, OZARR_INT32, all, sizeof all));
        wide[2][3] = 70000;
        ozarr_region region = OZARR_REGION_INIT;
        ozarr_memory memory = OZARR_MEMORY_INIT;
        region.start = start, region.shape = block, region.periodic = both;
        memory.data = writing ? (void *)wide : (void *)narrow, memory.size = writing ? sizeof wide : sizeof narrow;
        memory.type = writing ? OZARR_INT32 : OZARR_INT16;
        ERR(OZARR_ERR_RANGE, writing ? ozarr_array_write_ex(a, &region, &memory) : ozarr_array_read_ex(a, &region, &memory));
        CHECK(strstr(ozarr_last_error(), text) != NULL && strstr(ozarr_last_error(), "entry") == NULL);
        CHECK(strstr(ozarr_last_error_in(OZARR_ORDER_F), in_fortran) != NULL);
        OK(writing ? ozarr_array_iwrite_ex(a, &region, &memory, NULL, &request) : ozarr_array_iread_ex(a, &region, &memory, NULL, &request));
        ERR(OZARR_ERR_RANGE, ozarr_request_wait(request, -1));
        CHECK(strstr(ozarr_last_error(), text) != NULL && strstr(ozarr_last_error(), "entry") == NULL);
        ozarr_request_free(request);
        ozarr_array_free(a);
    }
}

int main(void) {
    ozarr_store *st = NULL;
    OK(ozarr_store_memory(&st));
    against_loops(st, 3000);
    refused(st);
    packed(st);
    messages(st);
    ozarr_store_free(st);
    return finish();
}
