/* Metadata that all ranks change together: only rank 0 touches documents, all know what it did; appending, checkpoints, series.
 *
 *   nodes FOLDER */
#include "check.h"

#include <inttypes.h>
#include <math.h>
#include <ozarr_advanced.h>
#include <ozarr_extend.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

static ozarr_mpi *m;

static void part(int64_t n, int64_t *start, int64_t *count) {
    *start = n * rank / ranks;
    *count = n * (rank + 1) / ranks - *start;
}

/* A resize and an attribute of rank 0 are known to all, who do not look at the store for it. */
static void changes(void) {
    ozarr_array *a = NULL;
    ozarr_group *g = NULL;
    ozarr_spec *spec = NULL;
    int64_t shape[] = {10}, found[1];
    char text[64];
    OK(ozarr_mpi_group_create(m, "tree.zarr", OZARR_CREATE_NEW, &g));
    OK(ozarr_spec_new(OZARR_FLOAT32, 1, shape, &spec));
    OK(ozarr_mpi_group_create_array(m, g, "fields/u", spec, OZARR_CREATE_NEW, &a));
    ERR(OZARR_ERR_EXISTS, "rank 0: ", ozarr_mpi_group_create_array(m, g, "fields/u", spec, OZARR_CREATE_NEW, &a));
    CHECK(a == NULL);
    OK(ozarr_mpi_group_open_array(m, g, "fields/u", &a));
    OK(ozarr_mpi_group_set_attr(m, g, "title", "\"both\""));
    OK(ozarr_attr_get_string(ozarr_group_node(g), "title", text, sizeof text, NULL));
    CHECK(strcmp(text, "both") == 0);
    OK(ozarr_mpi_array_set_attr(m, a, "units", "\"K\""));
    OK(ozarr_attr_get_string(ozarr_array_node(a), "units", text, sizeof text, NULL));
    CHECK(strcmp(text, "K") == 0);
    ERR(OZARR_ERR_ARGUMENT, "rank 0: ", ozarr_mpi_array_set_attr(m, a, "units", "{"));
    shape[0] = 25;
    OK(ozarr_mpi_array_resize(m, a, shape, 0));
    OK(ozarr_array_shape(a, found));
    CHECK(found[0] == 25);
    shape[0] = -1;
    ERR(OZARR_ERR_ARGUMENT, "rank 0: ", ozarr_mpi_array_resize(m, a, shape, 0));
    OK(ozarr_array_shape(a, found));
    CHECK(found[0] == 25);
    float u[25];
    int64_t start, count;
    part(25, &start, &count);
    for (int i = 0; i < 25; i++) u[i] = (float)(start + i);
    OK(ozarr_mpi_array_write_all(m, a, &start, &count, OZARR_FLOAT32, u, sizeof u));
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_group_close(m, g));
    OK(ozarr_mpi_group_open(m, "tree.zarr", "r", &g));
    OK(ozarr_mpi_group_get(m, g, "fields/u", OZARR_FLOAT32, &start, &count, u, sizeof u));
    for (int i = 0; i < count; i++) CHECK(u[i] == (float)(start + i));
    ERR(OZARR_ERR_NOT_FOUND, "rank 0: ", ozarr_mpi_group_open_array(m, g, "fields/v", &a));
    OK(ozarr_mpi_group_close(m, g));
    ozarr_spec_free(spec);
}

/* Rank 0 takes the document away: nobody reads it to write, for all know it, after a change, too. */
static void documents(void) {
    ozarr_array *a = NULL, *before;
    int64_t shape[] = {10, 8}, chunks[] = {3, 8}, start[2] = {0, 0}, count[2] = {0, 8};
    int32_t u[80];
    OK(ozarr_mpi_array_create(m, "known.zarr", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_NEW, &a));
    before = a;
    for (int k = 0; k < 3; k++) {
        if (k == 1) OK(ozarr_mpi_array_set_attr(m, a, "k", "1"));
        if (k == 2) shape[0] = 14, OK(ozarr_mpi_array_resize(m, a, shape, 0));
        CHECK(a == before);
        part(10, &start[0], &count[0]);
        start[0] += shape[0] - 10;
        for (int i = 0; i < 80; i++) u[i] = k * 1000 + (int)start[0] * 8 + i;
        if (rank == 0) CHECK(rename("known.zarr/zarr.json", "hidden") == 0);
        MPI_Barrier(MPI_COMM_WORLD);
        OK(ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, sizeof u));
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) CHECK(rename("hidden", "known.zarr/zarr.json") == 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(ozarr_mpi_array_close(m, a));
    int32_t all[14 * 8];
    OK(ozarr_array_open("known.zarr", "r", &a));
    OK(ozarr_array_read(a, OZARR_INT32, all, sizeof all));
    for (int i = 0; i < 14 * 8; i++) CHECK(all[i] == (i < 32 ? 1000 : 2000) + i);
    ozarr_array_free(a);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One shard that all ranks have a part of: nobody encodes its inner chunks but the ranks that have them, in memory, and the owner stores bytes. */
static void shards(void) {
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    int64_t shape[] = {64, 8}, inner[] = {2, 4}, start[2] = {0, 0}, count[2] = {0, 8};
    int32_t u[512], all[512];
    OK(ozarr_spec_new(OZARR_INT32, 2, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, shape));
    OK(ozarr_spec_set_inner_chunks(spec, inner));
    OK(ozarr_mpi_array_create_ex(m, "shards.zarr", spec, OZARR_CREATE_NEW, &a));
    ozarr_spec_free(spec);
    part(32, &start[0], &count[0]);
    start[0] *= 2, count[0] *= 2;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 512; i++) u[i] = k == 0 ? 0 : 1 + (int)start[0] * 8 + i;
        OK(ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, sizeof u));
        CHECK((access("shards.zarr/c/0/0", F_OK) == 0) == (k > 0));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ozarr_stats stats = OZARR_STATS_INIT;
    OK(ozarr_array_stats(a, &stats));
    CHECK(stats.encoded_chunks == (ranks == 1 ? 64 : 0));
    const int64_t zero[] = {0, 0};
    OK(ozarr_mpi_array_read_all(m, a, zero, shape, OZARR_INT32, all, sizeof all));
    for (int i = 0; i < 512; i++) CHECK(all[i] == 1 + i);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) CHECK(remove("shards.zarr/c/0/0") == 0 && mkdir("shards.zarr/c/0/0", 0777) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, sizeof u) != OZARR_OK);
    CHECK(strstr(ozarr_last_error(), "c/0/0") != NULL && strstr(ozarr_last_error(), "at least 0 of 1 chunks are stored") != NULL);
    CHECK(strstr(ozarr_last_error(), "c/0/0: rank ") != NULL && same_everywhere(ozarr_last_error()));
    OK(ozarr_mpi_array_close(m, a));
}

/* A column of a shard, an element of each rank: as many as the shard is long, but not all of it. The others stay. */
static void part_of_shard(void) {
    const int64_t shape[] = {ranks, 16}, inner[] = {1, 4}, whole[] = {0, 0}, start[] = {rank, 5}, count[] = {1, 1};
    int32_t *u = calloc((size_t)ranks, sizeof(int32_t[16]));
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    OK(ozarr_spec_new(OZARR_INT32, 2, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, shape));
    OK(ozarr_spec_set_inner_chunks(spec, inner));
    OK(ozarr_mpi_array_create_ex(m, "column.zarr", spec, OZARR_CREATE_NEW, &a));
    for (int i = 0; i < 16 * ranks; i++) u[i] = i + 1;
    OK(ozarr_mpi_array_write_all(m, a, whole, (int64_t[]){rank == 0 ? ranks : 0, 16}, OZARR_INT32, u, (size_t)ranks * sizeof(int32_t[16])));
    OK(ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, &(int32_t){-rank}, sizeof(int32_t)));
    OK(ozarr_mpi_array_read_all(m, a, whole, shape, OZARR_INT32, u, (size_t)ranks * sizeof(int32_t[16])));
    for (int i = 0; i < 16 * ranks; i++) CHECK(u[i] == (i % 16 == 5 ? -(i / 16) : i + 1));
    OK(ozarr_mpi_array_close(m, a));
    ozarr_spec_free(spec);
    free(u);
}

/* A shard that all ranks write, with a transpose or a compressor around its inner chunks. */
static void codecs_around_shards(void) {
#define INNER(shape) "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape ",\"index_location\":\"end\"," \
    "\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},{\"name\":\"crc32c\"}]," \
    "\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},{\"name\":\"crc32c\"}]}}"
    static const char *const codecs[] = {"[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}}," INNER("[4,1]") "]",
                                         "[" INNER("[1,4]") ",{\"name\":\"crc32c\"}]"};
#undef INNER
    const int64_t shape[] = {ranks, 16}, start[] = {rank, 0}, count[] = {1, 16}, whole[] = {0, 0};
    int32_t *u = calloc((size_t)ranks, sizeof(int32_t[16]));
    for (int k = 0; k < 2; k++) {
        ozarr_array *a = NULL;
        ozarr_spec *spec = NULL;
        OK(ozarr_spec_new(OZARR_INT32, 2, shape, &spec));
        OK(ozarr_spec_set_chunks(spec, shape));
        OK(ozarr_spec_set_member_json(spec, "codecs", codecs[k]));
        OK(ozarr_mpi_array_create_ex(m, "around.zarr", spec, OZARR_CREATE_OVERWRITE, &a));
        for (int i = 0; i < 16; i++) u[i] = rank * 16 + i + 1;
        OK(ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, sizeof(int32_t[16])));
        OK(ozarr_mpi_array_read_all(m, a, whole, shape, OZARR_INT32, u, (size_t)ranks * sizeof(int32_t[16])));
        for (int i = 0; i < 16 * ranks; i++) CHECK(u[i] == i + 1);
        OK(ozarr_mpi_array_close(m, a));
        ozarr_spec_free(spec);
    }
    free(u);
}

/* Uneven shards, of which the last is the largest, under the names that other programs give such a grid. */
static void uneven_shards(void) {
    static const char *const grids[] = {"\"rectilinear\",\"configuration\":{\"kind\":\"inline\",\"chunk_shapes\":[[2,18],[16]]}",
                                        "\"rectangular\",\"configuration\":{\"chunk_shape\":[[2,18],[16]]}",
                                        "\"regular\",\"configuration\":{\"chunk_shape\":[[2,18],16]}"};
    int32_t u[20 * 16];
    for (size_t k = 0; k < sizeof grids / sizeof *grids; k++) {
        ozarr_array *a = NULL;
        int64_t start[] = {0, 0}, count[] = {rank == 0 ? 20 : 0, 16};
        FILE *file = rank == 0 && (k > 0 || mkdir("uneven.zarr", 0777) == 0) ? fopen("uneven.zarr/zarr.json", "w") : NULL;
        CHECK(rank != 0 || file != NULL);
        if (file != NULL) {
            fprintf(file, "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[20,16],\"data_type\":\"int32\",\"chunk_grid\":{\"name\":%s},"
                    "\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,\"codecs\":[{\"name\":\"sharding_indexed\",\"configuration\":"
                    "{\"chunk_shape\":[2,4],\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}],\"index_codecs\":"
                    "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]}}]}", grids[k]);
            CHECK(fclose(file) == 0);
        }
        OK(ozarr_mpi_array_open(m, "uneven.zarr", "r+", &a));
        for (int i = 0; i < 320; i++) u[i] = i + 1;
        OK(ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, sizeof u));
        /* The last two rows are not all of the last shard. */
        part(16, &start[1], &count[1]);
        start[0] = 18, count[0] = 2;
        for (int i = 0; i < 32; i++) u[i] = -1;
        OK(ozarr_mpi_array_write_all(m, a, start, count, OZARR_INT32, u, sizeof u));
        start[0] = start[1] = 0, count[0] = 20, count[1] = 16;
        OK(ozarr_mpi_array_read_all(m, a, start, count, OZARR_INT32, u, sizeof u));
        for (int i = 0; i < 320; i++) CHECK(u[i] == (i < 288 ? i + 1 : -1));
        OK(ozarr_mpi_array_close(m, a));
    }
}

/* A struct of the program, of which the array has some members. */
typedef struct particle {
    double x, own;
    struct {
        int16_t key, unused;
        int32_t home;
    } at;
} particle;

/* Describes it; members that are left out stay as they are. */
static ozarr_dtype *particle_type(bool x, bool at) {
    ozarr_dtype *f64 = NULL, *i16 = NULL, *i32 = NULL, *inner = NULL, *type = NULL;
    OK(ozarr_dtype_of(OZARR_FLOAT64, &f64));
    OK(ozarr_dtype_of(OZARR_INT16, &i16));
    OK(ozarr_dtype_of(OZARR_INT32, &i32));
    OK(ozarr_dtype_struct(8, &inner));
    OK(ozarr_dtype_add_field(inner, "key", 0, i16, 0, NULL));
    OK(ozarr_dtype_add_field(inner, "home", 4, i32, 0, NULL));
    OK(ozarr_dtype_struct(sizeof(particle), &type));
    if (x) OK(ozarr_dtype_add_field(type, "x", offsetof(particle, x), f64, 0, NULL));
    if (at) OK(ozarr_dtype_add_field(type, "at", offsetof(particle, at), inner, 0, NULL));
    ozarr_dtype_free(f64), ozarr_dtype_free(i16), ozarr_dtype_free(i32), ozarr_dtype_free(inner);
    return type;
}

/* Structs in a chunk that all ranks have: what is no field of theirs is neither written nor read. */
static void structs(void) {
    const int64_t shape = 7 * ranks, start = 7 * rank, count = 7;
    particle p[7];
    ozarr_dtype *types[] = {particle_type(true, true), particle_type(true, false), particle_type(false, true)};
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = &start, region.shape = &count;
    memory.data = p, memory.size = sizeof p, memory.type = OZARR_BY_DTYPE;
    OK(ozarr_spec_new_dtype(types[0], 1, &shape, &spec));
    OK(ozarr_spec_set_chunks(spec, &shape));
    OK(ozarr_mpi_array_create_ex(m, "structs.zarr", spec, OZARR_CREATE_OVERWRITE, &a));
    ozarr_spec_free(spec);
    for (int k = 0; k < 3; k++) {
        const int64_t e = k == 0 ? 0 : 1000;
        for (int64_t i = start; i < start + 7; i++) p[i - start] = (particle){(double)(e + i), 1, {(int16_t)i, 2, (int32_t)(e - i)}};
        memory.dtype = types[k];
        if (k < 2) OK(ozarr_mpi_array_write_all_ex(m, a, 1, &region, &memory));
    }
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 7; i++) p[i] = (particle){-1, -2, {-3, -4, -5}};
        memory.dtype = types[k];
        OK(ozarr_mpi_array_read_all_ex(m, a, 1, &region, &memory));
        for (int i = 0; i < 7; i++) {
            CHECK(p[i].x == (k < 2 ? (double)(1000 + start + i) : -1) && p[i].own == -2 && p[i].at.unused == -4);
            CHECK(p[i].at.home == (k == 1 ? -5 : -(int32_t)(start + i)) && p[i].at.key == (k == 1 ? -3 : start + i));
        }
    }
    memory.dtype = types[rank == ranks - 1 ? 1 : 2];
    if (ranks > 1) ERR(OZARR_ERR_ARGUMENT, "the dtype", ozarr_mpi_array_write_all_ex(m, a, 1, &region, &memory));
    OK(ozarr_mpi_array_close(m, a));
    for (int k = 0; k < 3; k++) ozarr_dtype_free(types[k]);
}

/* Writes of different ranks that do not wait, and a write that does, have a chunk in common, where files have no locks: no elements are lost. */
static void in_flight(void) {
    enum { PARTS = 8, PART = 512 };
    static int32_t u[PARTS][PART], all[PARTS * PART];
    const int64_t shape = PARTS * PART;
    ozarr_array *a = NULL;
    ozarr_mpi_request *r[PARTS];
    OK(ozarr_context_set(NULL, "file.lock", "none"));
    OK(ozarr_mpi_array_create(m, "flight.zarr", OZARR_INT32, 1, &shape, &shape, OZARR_CREATE_NEW, &a));
    for (int k = 0; k < 5; k++) {
        int64_t start[PARTS], count[PARTS], bad = 0;
        for (int q = 0; q < PARTS; q++) {
            start[q] = PART * q, count[q] = (q + k) % ranks == rank ? PART - 3 : 0;
            for (int i = 0; i < PART; i++) u[q][i] = 1000000 * k + 1000 * q + i;
            if (q < PARTS - 1) OK(begin_write(m, a, &start[q], &count[q], u[q], sizeof u[q], &r[q]));
            else OK(ozarr_mpi_array_write_all(m, a, &start[q], &count[q], OZARR_INT32, u[q], sizeof u[q]));
        }
        for (int q = 0; q < PARTS - 1; q++) OK(ozarr_mpi_request_wait(r[q]));
        OK(ozarr_array_read(a, OZARR_INT32, all, sizeof all));
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < PARTS * PART; i++) bad += all[i] != (i % PART < PART - 3 ? 1000000 * k + 1000 * (i / PART) + i % PART : 0);
        if (bad > 0) FAIL("%d elements are lost", (int)bad);
    }
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_context_set(NULL, "file.lock", "try"));
}

/* A region that is not of the new slab, on one rank, leaves the array as it is: elsewhere it would write over what is stored. */
static void append_outside_of_the_slab(void) {
    const int last = rank == ranks - 1;
    const struct {
        int32_t dim;
        int64_t length, start[2], count[2]; /* of the last rank; the others have none */
        ozarr_status status;
        const char *message;
    } cases[] = {
        {0, 2, {0, 0}, {2, 3}, OZARR_ERR_BOUNDS, "start[0] is 0, expected 4, the length before the append"}, /* counted in the slab */
        {0, 2, {3, 0}, {2, 3}, OZARR_ERR_BOUNDS, "start[0] is 3, expected 4"},
        {1, 3, {0, 0}, {4, 3}, OZARR_ERR_BOUNDS, "start[1] is 0, expected 3"},
        {0, 0, {0, 0}, {1, 1}, OZARR_ERR_BOUNDS, "start[0] is 0, expected 4"},
        {0, 0, {4, 0}, {1, 1}, OZARR_ERR_BOUNDS, "elements 4 to 5 of dimension 0"},
        {0, 2, {5, 0}, {2, 3}, OZARR_ERR_BOUNDS, "elements 5 to 7 of dimension 0, expected 0 to its length, 6"},
        {0, 2, {4, 1}, {2, 3}, OZARR_ERR_BOUNDS, "elements 1 to 4 of dimension 1"},
        {0, 2, {0, 0}, {0, 3}, OZARR_OK, ""}, /* nothing is nowhere */
        {0, 2, {-7, 9}, {1, 0}, OZARR_OK, ""},
        {0, 2, {5, 0}, {1, 3}, OZARR_OK, ""},
        {1, 2, {0, 4}, {4, 1}, OZARR_OK, ""},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ozarr_array *a = NULL;
        int64_t shape[] = {4, 3}, chunks[] = {3, 2}, zero[] = {0, 0}, found[2];
        int32_t u[12], v[12], all[36];
        for (int i = 0; i < 12; i++) u[i] = 1 + i, v[i] = -1;
        OK(ozarr_mpi_array_create(m, "append-slab.zarr", OZARR_INT32, 2, shape, chunks, OZARR_CREATE_OVERWRITE, &a));
        OK(ozarr_mpi_array_write_all(m, a, zero, rank == 0 ? shape : zero, OZARR_INT32, u, sizeof u));
        const int64_t *start = last ? cases[c].start : zero, *count = last ? cases[c].count : zero;
        const ozarr_status status = ozarr_mpi_array_append(m, a, cases[c].dim, cases[c].length, start, count, OZARR_INT32, v,
                                                           (size_t)(count[0] * count[1]) * sizeof *v);
        check_status(__LINE__, cases[c].message, status, cases[c].status, cases[c].message);
        OK(ozarr_array_shape(a, found));
        CHECK(found[cases[c].dim] == shape[cases[c].dim] + (status == OZARR_OK ? cases[c].length : 0));
        OK(ozarr_mpi_array_read_all(m, a, zero, shape, OZARR_INT32, all, sizeof u));
        CHECK(memcmp(all, u, sizeof u) == 0);
        OK(ozarr_mpi_array_close(m, a));
    }
}

static void appending(void) {
    ozarr_array *a = NULL, *other = NULL;
    int64_t shape[] = {0, 12}, chunks[] = {2, 5}, start[2], count[2], found[2];
    double u[3 * 12];
    OK(ozarr_mpi_array_create(m, "append.zarr/t", OZARR_FLOAT64, 2, shape, chunks, OZARR_CREATE_NEW, &a));
    for (int step = 0; step < 5; step++) {
        const int64_t deep = step % 2 + 1;
        OK(ozarr_array_shape(a, found));
        start[0] = found[0], count[0] = deep;
        part(12, &start[1], &count[1]);
        for (int64_t i = 0; i < deep; i++)
            for (int64_t j = 0; j < count[1]; j++) u[i * count[1] + j] = (double)((found[0] + i) * 100 + start[1] + j);
        OK(ozarr_mpi_array_append(m, a, 0, deep, start, count, OZARR_FLOAT64, u, sizeof u));
    }
    OK(ozarr_array_shape(a, found));
    CHECK(found[0] == 7);
    start[0] = 7, count[0] = rank == ranks - 1 ? 2 : 1;
    ERR(OZARR_ERR_BOUNDS, "elements 7 to 9", ozarr_mpi_array_append(m, a, 0, 1, start, count, OZARR_FLOAT64, u, sizeof u));
    OK(ozarr_array_shape(a, found));
    CHECK(found[0] == 7);
    ERR(OZARR_ERR_BOUNDS, "dim is 2", ozarr_mpi_array_append(m, a, 2, 1, start, count, OZARR_FLOAT64, u, sizeof u));
    /* What another handle appended is not cut off. */
    OK(ozarr_mpi_array_open(m, "append.zarr/t", "r+", &other));
    count[0] = rank == 0, count[1] = 2;
    start[1] = 0;
    OK(ozarr_mpi_array_append(m, other, 0, 3, start, count, OZARR_FLOAT64, u, sizeof u));
    ERR(OZARR_ERR_STATE, "10 elements by now, this handle knew 7", ozarr_mpi_array_append(m, a, 0, 1, start, count, OZARR_FLOAT64, u, sizeof u));
    OK(ozarr_array_shape(a, found));
    CHECK(found[0] == 10);
    start[0] = 10;
    OK(ozarr_mpi_array_append(m, a, 0, 1, start, count, OZARR_FLOAT64, u, sizeof u));
    found[0] = 7;
    OK(ozarr_mpi_array_resize(m, a, found, 0));
    OK(ozarr_mpi_array_close(m, other));
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_array_open("append.zarr/t", "r", &a));
    double all[7 * 12];
    OK(ozarr_array_read(a, OZARR_FLOAT64, all, sizeof all));
    for (int i = 0; i < 7 * 12; i++) CHECK(all[i] == i / 12 * 100 + i % 12);
    ozarr_array_free(a);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Where the metadata above cannot be stored, a change of the shape is told as failed: an append is taken back, and can be made again; after a resize all
 * ranks know the shape that the array has. */
static void changes_that_fail_above(void) {
    ozarr_array *a = NULL;
    ozarr_group *g = NULL;
    ozarr_spec *spec = NULL;
    int64_t shape[] = {0, 12}, chunks[] = {2, 5}, start[2] = {0}, count[2] = {1}, found[2];
    double u[12], all[4 * 12];
    part(12, &start[1], &count[1]);
    OK(ozarr_mpi_group_create(m, "above.zarr", OZARR_CREATE_NEW, &g));
    OK(ozarr_spec_new(OZARR_FLOAT64, 2, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    OK(ozarr_mpi_group_create_array(m, g, "t", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_mpi_agree(m, rank == 0 ? ozarr_group_consolidate(g) : OZARR_OK));
    for (int64_t k = 0; k < 4; k++) {
        for (int64_t j = 0; j < count[1]; j++) u[j] = (double)(k * 100 + start[1] + j);
        start[0] = k;
        for (int fails = k > 0; fails >= 0; fails--) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0 && fails) CHECK(rename("above.zarr/zarr.json", "kept") == 0 && mkdir("above.zarr/zarr.json", 0777) == 0);
            MPI_Barrier(MPI_COMM_WORLD);
            const ozarr_status status = ozarr_mpi_array_append(m, a, 0, 1, start, count, OZARR_FLOAT64, u, sizeof u);
            CHECK((status == OZARR_OK) == !fails);
            if (fails) CHECK(strstr(ozarr_last_error(), "has its old length again") != NULL && same_everywhere(ozarr_last_error()));
            OK(ozarr_array_shape(a, found));
            CHECK(found[0] == k + !fails);
            shape[0] = 9;
            if (fails) CHECK(ozarr_mpi_array_resize(m, a, shape, 0) != OZARR_OK);
            OK(ozarr_array_shape(a, found));
            CHECK(found[0] == (fails ? 9 : k + 1));
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0 && fails) CHECK(rmdir("above.zarr/zarr.json") == 0 && rename("kept", "above.zarr/zarr.json") == 0);
            MPI_Barrier(MPI_COMM_WORLD);
            shape[0] = k;
            if (fails) OK(ozarr_mpi_array_resize(m, a, shape, 0));
        }
    }
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_array_open("above.zarr/t", "r", &a));
    OK(ozarr_array_read(a, OZARR_FLOAT64, all, sizeof all));
    for (int i = 0; i < 4 * 12; i++) CHECK(all[i] == i / 12 * 100 + i % 12);
    ozarr_array_free(a);
    ozarr_spec_free(spec);
    OK(ozarr_mpi_group_close(m, g));
}

static void checkpoints(void) {
    ozarr_group *g = NULL;
    int64_t shape[] = {30, 4}, start[] = {0, 0}, count[] = {0, 4};
    int64_t u[120], step = 0;
    part(30, &start[0], &count[0]);
    ERR(OZARR_ERR_NOT_FOUND, "rank 0: ", ozarr_mpi_checkpoint_latest(m, "states.zarr", &g));
    for (int64_t k = 1; k <= 3; k++) {
        char name[32];
        snprintf(name, sizeof name, "step-%d", (int)k);
        for (int i = 0; i < 120; i++) u[i] = k * 1000 + start[0] * 4 + i;
        OK(ozarr_mpi_checkpoint_begin(m, "states.zarr", name, &g));
        OK(ozarr_mpi_group_put(m, g, "u", OZARR_INT64, 2, shape, start, count, u, sizeof u));
        OK(ozarr_mpi_group_set_attr(m, g, "step", k == 1 ? "1" : k == 2 ? "2" : "3"));
        if (k < 3) OK(ozarr_mpi_checkpoint_commit(m, g));
        else OK(ozarr_mpi_checkpoint_abandon(m, g));
    }
    OK(ozarr_mpi_checkpoint_latest(m, "states.zarr", &g));
    OK(ozarr_attr_get_int64(ozarr_group_node(g), "step", &step));
    CHECK(step == 2);
    OK(ozarr_mpi_group_get(m, g, "u", OZARR_INT64, start, count, u, sizeof u));
    for (int i = 0; i < 4 * count[0]; i++) CHECK(u[i] == 2000 + start[0] * 4 + i);
    OK(ozarr_mpi_group_close(m, g));
    ERR(OZARR_ERR_NAME, "rank 0: ", ozarr_mpi_checkpoint_begin(m, "states.zarr", "a/b", &g));
    /* Below the root of a store, and with a "/" at the end. */
    OK(ozarr_mpi_checkpoint_begin(m, "tree.zarr/states/", "one", &g));
    OK(ozarr_mpi_group_put(m, g, "u", OZARR_INT64, 2, shape, start, count, u, sizeof u));
    OK(ozarr_mpi_checkpoint_commit(m, g));
    OK(ozarr_mpi_checkpoint_latest(m, "tree.zarr/states/", &g));
    for (int i = 0; i < 120; i++) u[i] = -1;
    OK(ozarr_mpi_group_get(m, g, "u", OZARR_INT64, start, count, u, sizeof u));
    for (int i = 0; i < 4 * count[0]; i++) CHECK(u[i] == 2000 + start[0] * 4 + i);
    OK(ozarr_mpi_group_close(m, g));
}

/* Rank 0 makes the dataset. */
static ozarr_status define(void *user) {
    ozarr_dataset *ds = NULL;
    const char *const dims[] = {"time", "x"};
    (void)user;
    ozarr_status status = ozarr_dataset_create("run.zarr", 0, OZARR_CREATE_NEW, &ds);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "x", 9);
    if (status == OZARR_OK) status = ozarr_dataset_define_time(ds, "time", 0, 0, "hours since 2026-01-01", NULL, NULL);
    if (status == OZARR_OK) status = ozarr_dataset_define_variable(ds, "t", OZARR_FLOAT32, 2, dims, NULL);
    if (status == OZARR_OK) status = ozarr_dataset_define_variable(ds, "p", OZARR_FLOAT64, 2, dims, NULL);
    return status == OZARR_OK ? ozarr_dataset_close(ds) : status;
}

static void steps(void) {
    ozarr_mpi_series *s = NULL;
    int64_t start, count, position = -1;
    float t[9];
    double p[9];
    part(9, &start, &count);
    OK(ozarr_mpi_once(m, define, NULL));
    for (int run = 0; run < 2; run++) {
        OK(ozarr_mpi_series_open(m, "run.zarr", "time", -1, 1, 0, &s));
        OK(ozarr_mpi_series_position(s, &position, NULL));
        CHECK(position == 2 * run);
        for (int k = 2 * run; k < 2 * run + 2; k++) {
            for (int i = 0; i < 9; i++) t[i] = (float)(k * 10 + start + i), p[i] = -t[i];
            OK(ozarr_mpi_series_put(m, s, "t", &start, &count, OZARR_FLOAT32, t, sizeof t));
            ERR(OZARR_ERR_STATE, "already", ozarr_mpi_series_put(m, s, "t", &start, &count, OZARR_FLOAT32, t, sizeof t));
            OK(ozarr_mpi_series_put(m, s, "p", &start, &count, OZARR_FLOAT64, p, sizeof p));
            const int64_t hours = k;
            if (run == 0) ERR(OZARR_ERR_RANGE, "has integers", ozarr_mpi_series_step(m, s, k + 0.5));
            else OK(ozarr_mpi_series_put(m, s, "time", NULL, NULL, OZARR_INT64, &hours, sizeof hours));
            OK(ozarr_mpi_series_step(m, s, k));
        }
        ERR(OZARR_ERR_NOT_FOUND, "rank 0: ", ozarr_mpi_series_put(m, s, "q", &start, &count, OZARR_FLOAT32, t, sizeof t));
        OK(ozarr_mpi_series_put(m, s, "t", &start, &count, OZARR_FLOAT32, t, sizeof t));
        OK(ozarr_mpi_series_close(m, s)); /* without the step that was not ended */
    }
    CHECK(ozarr_mpi_series_position(s, &position, NULL) == OZARR_ERR_INVALID_HANDLE);
    ozarr_group *g = NULL;
    float all[36];
    int64_t times[4];
    OK(ozarr_group_open("run.zarr", "r", &g));
    OK(ozarr_group_get(g, "t", OZARR_FLOAT32, all, sizeof all));
    for (int i = 0; i < 36; i++) CHECK(all[i] == (float)(i / 9 * 10 + i % 9));
    OK(ozarr_group_get(g, "time", OZARR_INT64, times, sizeof times));
    CHECK(times[0] == 0 && times[3] == 3);
    ozarr_group_free(g);
}

/* Rank 0 makes a dataset at the location `user`, of which the chunks of "t" have four steps, and those of "p" one. */
static ozarr_status define_deep(void *user) {
    ozarr_dataset *ds = NULL;
    const char *const dims[] = {"time", "y", "x"};
    const int64_t deep[] = {4, 3, 5}, flat[] = {1, 6, 5};
    ozarr_status status = ozarr_dataset_create(user, 0, OZARR_CREATE_NEW, &ds);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "y", 6);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "x", 5);
    if (status == OZARR_OK) status = ozarr_dataset_define_time(ds, "time", 0, 0, "hours since 2026-01-01", NULL, NULL);
    for (int i = 0; i < 2 && status == OZARR_OK; i++) {
        ozarr_variable v = OZARR_VARIABLE_INIT;
        v.type = i == 0 ? OZARR_FLOAT32 : OZARR_INT16, v.rank = 3, v.dimensions = dims, v.chunks = i == 0 ? deep : flat;
        status = ozarr_dataset_define_variable_ex(ds, i == 0 ? "t" : "p", &v, OZARR_CREATE_NEW, NULL);
    }
    return status == OZARR_OK ? ozarr_dataset_close(ds) : status;
}

static double deep_value(int64_t step, int64_t i) { return (double)(step * 100 + i); }

/* Gives both variables a step: "t" from memory with ghost cells, "p" of another type than the array's. */
static void put_deep(ozarr_mpi_series *s, int64_t step) {
    int64_t start[2] = {0, 0}, count[2] = {0, 5}, sizes[2], starts[2] = {1, 1};
    double u[8][7], p[6][5];
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    part(6, &start[0], &count[0]);
    for (int i = 0; i < 8 * 7; i++) (&u[0][0])[i] = -1e30;
    for (int64_t j = 0; j < count[0]; j++)
        for (int64_t i = 0; i < 5; i++) u[j + 1][i + 1] = p[j][i] = deep_value(step, (start[0] + j) * 5 + i);
    sizes[0] = count[0] + 2, sizes[1] = 7;
    region.start = start, region.shape = count;
    memory.data = u, memory.size = sizeof u, memory.type = OZARR_FLOAT64, memory.sizes = sizes, memory.starts = starts;
    OK(ozarr_mpi_series_put_ex(m, s, "t", 2, &region, &memory));
    ERR(OZARR_ERR_STATE, "already", ozarr_mpi_series_put_ex(m, s, "t", 2, &region, &memory));
    OK(ozarr_mpi_series_put(m, s, "p", start, count, OZARR_FLOAT64, p, (size_t)count[0] * sizeof p[0]));
}

/* What readers see: so many steps, with all their values. */
static void check_deep(int64_t steps) {
    ozarr_dataset *ds = NULL;
    ozarr_array *a = NULL;
    int64_t length = -1, times[32], start[3] = {0, 0, 0}, count[3] = {steps, 6, 5};
    const char *const names[] = {"t", "p"};
    static double values[2][32 * 30];
    OK(ozarr_dataset_open("deep.zarr", "r", &ds));
    OK(ozarr_dataset_dimension_length(ds, "time", &length, NULL));
    CHECK(length == steps);
    for (int i = 0; i < 2; i++) {
        OK(ozarr_dataset_open_variable(ds, names[i], &a));
        OK(ozarr_array_read_region(a, start, count, OZARR_FLOAT64, values[i], (size_t)steps * 30 * sizeof(double)));
        ozarr_array_free(a);
    }
    OK(ozarr_dataset_open_variable(ds, "time", &a));
    OK(ozarr_array_read(a, OZARR_INT64, times, (size_t)steps * sizeof *times));
    ozarr_array_free(a);
    OK(ozarr_dataset_close(ds));
    for (int64_t k = 0; k < steps; k++) {
        CHECK(times[k] == 6 * k);
        for (int i = 0; i < 30; i++) CHECK(values[0][k * 30 + i] == deep_value(k, i) && values[1][k * 30 + i] == deep_value(k, i));
    }
}

/* Values that a run left behind the steps that are published, as a killed one does, do not show in steps that leave the variable out. */
static void left_out(void) {
    ozarr_mpi_series *s = NULL;
    ozarr_array *a = NULL;
    int64_t shape[3] = {0, 6, 5}, start[3] = {0, 0, 0}, count[3] = {4, 6, 5};
    static float values[8 * 30];
    char location[] = "left.zarr";
    OK(ozarr_mpi_once(m, define_deep, location));
    for (int i = 0; i < 240; i++) values[i] = 9;
    for (int i = 0; i < 2 && rank == 0; i++) {
        /* Chunks of four steps, and of one, are stored behind the end. */
        OK(ozarr_array_open(i == 0 ? "left.zarr/t" : "left.zarr/p", "r+", &a));
        shape[0] = 4;
        OK(ozarr_array_resize(a, shape, 0));
        OK(ozarr_array_write_region(a, start, count, OZARR_FLOAT32, values, sizeof values));
        shape[0] = 0;
        OK(ozarr_array_resize(a, shape, OZARR_RESIZE_KEEP));
        OK(ozarr_array_close(a));
    }
    OK(ozarr_mpi_series_open(m, "left.zarr", "time", -1, 0, 0, &s));
    put_deep(s, 0);
    for (int k = 0; k < 3; k++) OK(ozarr_mpi_series_step(m, s, k));
    OK(ozarr_mpi_series_close(m, s));
    for (int i = 0; i < 2; i++) {
        OK(ozarr_array_open(i == 0 ? "left.zarr/t" : "left.zarr/p", "r", &a));
        OK(ozarr_array_read(a, OZARR_FLOAT32, values, 90 * sizeof *values));
        for (int k = 0; k < 90; k++) CHECK(k < 30 ? values[k] == (float)deep_value(0, k) : i == 0 ? values[k] != values[k] : values[k] == 0);
        ozarr_array_free(a);
    }
}

/* Steps wait until chunks are whole; a flush and a close publish the rest; a restart keeps as many as its checkpoint has. */
static void deep_steps(void) {
    ozarr_mpi_series *s = NULL, *other = NULL;
    int64_t position = -1, published = -1, start[2] = {0, 0}, count[2] = {6, 5};
    double far[30] = {1e9};
    char location[] = "deep.zarr";
    OK(ozarr_mpi_once(m, define_deep, location));
    OK(ozarr_mpi_series_open(m, "deep.zarr", "time", -1, 0, 0, &s));
    ERR(OZARR_ERR_AGAIN, "rank 0: ", ozarr_mpi_series_open(m, "deep.zarr", "time", -1, 0, 0, &other));
    CHECK(other == NULL);
    for (int64_t k = 0; k < 7; k++) {
        put_deep(s, k);
        ERR(OZARR_ERR_RANGE, "has integers", ozarr_mpi_series_step(m, s, 0.5));
        ERR(OZARR_ERR_ARGUMENT, "NaN", ozarr_mpi_series_step(m, s, (double)NAN));
        if (k > 0) ERR(OZARR_ERR_ARGUMENT, "expected more than", ozarr_mpi_series_step(m, s, 6 * (double)(k - 1)));
        OK(ozarr_mpi_series_step(m, s, 6 * (double)k));
        OK(ozarr_mpi_series_position(s, &position, &published));
        CHECK(position == k + 1 && published == (k + 1) / 4 * 4);
        OK(ozarr_mpi_agree(m, rank == 0 ? (check_deep(published), OZARR_OK) : OZARR_OK));
    }
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    region.start = start, region.shape = count, memory.data = far, memory.size = sizeof far, memory.type = OZARR_FLOAT64;
    ERR(OZARR_ERR_RANK, "the box has 3 dimensions, expected the 2 of t", ozarr_mpi_series_put_ex(m, s, "t", 3, &region, &memory));
    const bool periodic[] = {false, true};
    region.periodic = periodic;
    ERR(OZARR_ERR_UNSUPPORTED, "region.periodic[2] is true", ozarr_mpi_series_put_ex(m, s, "t", 2, &region, &memory));
    ERR(OZARR_ERR_UNSUPPORTED, "region.periodic[2] is true", ozarr_mpi_series_put_ex(m, s, "p", 2, &region, &memory));
    start[0] = 5;
    ERR(OZARR_ERR_BOUNDS, "elements 5 to 11 of dimension 1", ozarr_mpi_series_put(m, s, "t", start, count, OZARR_FLOAT64, far, sizeof far));
    start[0] = 0, count[0] = rank == 0 ? 1 : 0;
    ERR(OZARR_ERR_RANGE, "1000000000", ozarr_mpi_series_put(m, s, "p", start, count, OZARR_FLOAT64, far, sizeof far));
    OK(ozarr_mpi_series_flush(m, s));
    OK(ozarr_mpi_agree(m, rank == 0 ? (check_deep(7), OZARR_OK) : OZARR_OK));
    put_deep(s, 7);
    OK(ozarr_mpi_series_close(m, s)); /* without the step that was not ended */
    OK(ozarr_mpi_agree(m, rank == 0 ? (check_deep(7), OZARR_OK) : OZARR_OK));
    ERR(OZARR_ERR_BOUNDS, "rank 0: ", ozarr_mpi_series_open(m, "deep.zarr", "time", 8, 0, 0, &s));
    OK(ozarr_mpi_series_open(m, "deep.zarr", "time", 5, 0, 1, &s));
    OK(ozarr_mpi_series_position(s, &position, &published));
    CHECK(position == 5 && published == 5);
    ERR(OZARR_ERR_ARGUMENT, "expected more than 24", ozarr_mpi_series_step(m, s, 12)); /* a restart at the wrong step */
    for (int64_t k = 5; k < 20; k++) {
        put_deep(s, k);
        OK(ozarr_mpi_series_step(m, s, 6 * (double)k));
        OK(ozarr_mpi_series_position(s, &position, &published));
        CHECK(position == k + 1 && published == ((k + 1) % 4 == 0 ? k + 1 : k)); /* no two steps may wait */
    }
    OK(ozarr_mpi_series_close(m, s));
    OK(ozarr_mpi_agree(m, rank == 0 ? (check_deep(20), OZARR_OK) : OZARR_OK));
}

/* All ranks store a dataset's steps where it is, which need not be the root of its store. */
static void steps_below(void) {
    static float t[60];
    ozarr_mpi_series *s = NULL;
    ozarr_array *a = NULL;
    char location[] = "tree.zarr/run";
    OK(ozarr_mpi_once(m, define_deep, location));
    OK(ozarr_mpi_series_open(m, "tree.zarr/run/", "time", -1, 0, 0, &s));
    for (int k = 0; k < 2; k++) {
        put_deep(s, k);
        OK(ozarr_mpi_series_step(m, s, k));
    }
    OK(ozarr_mpi_series_close(m, s));
    OK(ozarr_array_open("tree.zarr/run/t", "r", &a));
    OK(ozarr_array_read(a, OZARR_FLOAT32, t, sizeof t));
    for (int i = 0; i < 60; i++) CHECK(t[i] == (float)deep_value(i / 30, i % 30));
    ozarr_array_free(a);
}

/* A coordinate that is put is stored behind all other variables: not with its step, and not while "t" cannot be stored. */
static void coordinate_last(int64_t publish_every) {
    char location[] = "put-0.zarr", times_key[] = "put-0.zarr/time/c/0", blocked[] = "put-0.zarr/t/c";
    ozarr_mpi_series *s = NULL;
    ozarr_group *g = NULL;
    int64_t published = -1, times[4];
    location[4] = times_key[4] = blocked[4] = (char)('0' + publish_every);
    OK(ozarr_mpi_once(m, define_deep, location));
    OK(ozarr_mpi_series_open(m, location, "time", -1, publish_every, 0, &s));
    for (int64_t k = 0; k < 4; k++) {
        const int64_t hours = 6 * k;
        OK(ozarr_mpi_series_put(m, s, "time", NULL, NULL, OZARR_INT64, &hours, sizeof hours));
        put_deep(s, k);
        CHECK(fopen(times_key, "r") == NULL);
        if (k < 3) OK(ozarr_mpi_series_step(m, s, 0));
    }
    FILE *file = rank == 0 ? fopen(blocked, "w") : NULL;
    CHECK(rank != 0 || (file != NULL && fclose(file) == 0));
    CHECK(ozarr_mpi_series_step(m, s, 0) != OZARR_OK);
    CHECK(fopen(times_key, "r") == NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank != 0 || remove(blocked) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(ozarr_mpi_series_flush(m, s));
    OK(ozarr_mpi_series_position(s, NULL, &published));
    CHECK(published == 4);
    OK(ozarr_mpi_series_close(m, s));
    OK(ozarr_group_open(location, "r", &g));
    OK(ozarr_group_get(g, "time", OZARR_INT64, times, sizeof times));
    for (int64_t k = 0; k < 4; k++) CHECK(times[k] == 6 * k);
    ozarr_group_free(g);
}

/* What several ranks cannot write together is refused before anything is stored; one rank has it all, and archives are read by many. */
static void places(void) {
    const char *const refused[] = {"a.zip", "zip:a", "a.ozx/t", "run/a.zip", "file:a.nz#mode=nczarr,zip"};
    const char *const folders[] = {"a.zarr/b.zip", "folder.zip/t", "a.zipped"};
    const int64_t shape[] = {6};
    double u[6] = {0, 1, 2, 3, 4, 5}, got[6] = {0};
    int64_t start, count;
    ozarr_array *a = NULL;
    ozarr_group *g = NULL;
    ozarr_mpi_series *s = NULL;
    struct stat found;
    part(6, &start, &count);
    if (rank == 0) CHECK(mkdir("folder.zip", 0777) == 0);
    if (rank == 0) CHECK(ozarr_array_create("packed.zip/t", OZARR_FLOAT64, 1, shape, NULL, OZARR_CREATE_NEW, &a) == OZARR_OK);
    if (rank == 0) CHECK(ozarr_array_write(a, OZARR_FLOAT64, u, sizeof u) == OZARR_OK);
    if (rank == 0) CHECK(ozarr_array_close(a) == OZARR_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        OK(ozarr_mpi_array_create(m, folders[i], OZARR_FLOAT64, 1, shape, NULL, OZARR_CREATE_NEW, &a));
        OK(ozarr_mpi_array_write_all(m, a, &start, &count, OZARR_FLOAT64, u + start, (size_t)count * sizeof *u));
        OK(ozarr_mpi_array_close(m, a));
    }
    OK(ozarr_mpi_array_open(m, "packed.zip/t", "r", &a));
    OK(ozarr_mpi_array_read_all(m, a, &start, &count, OZARR_FLOAT64, got, (size_t)count * sizeof *got));
    OK(ozarr_mpi_array_close(m, a));
    CHECK(memcmp(got, u + start, (size_t)count * sizeof *got) == 0);
    if (ranks == 1) return;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ERR(OZARR_ERR_UNSUPPORTED, "is a zip archive", ozarr_mpi_array_create(m, refused[i], OZARR_FLOAT64, 1, shape, NULL, OZARR_CREATE_OVERWRITE, &a));
        ERR(OZARR_ERR_UNSUPPORTED, "expected a folder", ozarr_mpi_group_create(m, refused[i], OZARR_CREATE_OVERWRITE, &g));
        ERR(OZARR_ERR_UNSUPPORTED, "is a zip archive", ozarr_mpi_checkpoint_begin(m, refused[i], "1", &g));
        ERR(OZARR_ERR_UNSUPPORTED, "is a zip archive", ozarr_mpi_series_open(m, refused[i], "time", -1, 1, 0, &s));
        CHECK(a == NULL && g == NULL && s == NULL);
    }
    ERR(OZARR_ERR_UNSUPPORTED, "is a zip archive", ozarr_mpi_array_open(m, "packed.zip/t", "r+", &a));
    ERR(OZARR_ERR_UNSUPPORTED, "is a zip archive", ozarr_mpi_group_open(m, "packed.zip", "r+", &g));
    ERR(OZARR_ERR_UNSUPPORTED, "memory of one process", ozarr_mpi_array_create(m, "memory:run/t", OZARR_FLOAT64, 1, shape, NULL, OZARR_CREATE_NEW, &a));
    ERR(OZARR_ERR_UNSUPPORTED, "memory of one process", ozarr_mpi_group_open(m, "MEMORY:run", "r", &g));
    CHECK(stat("a.zip", &found) != 0 && stat("a", &found) != 0 && stat("run", &found) != 0);
}

/* Steps that could not be published are published by the next one. */
static void published_next(void) {
    char location[] = "next.zarr";
    ozarr_mpi_series *s = NULL;
    int64_t position = -1, published = -1;
    OK(ozarr_mpi_once(m, define_deep, location));
    OK(ozarr_mpi_series_open(m, location, "time", -1, 2, 0, &s));
    FILE *file = rank == 0 ? fopen("next.zarr/t/c", "w") : NULL;
    CHECK(rank != 0 || (file != NULL && fclose(file) == 0));
    for (int64_t k = 0; k < 3; k++) {
        put_deep(s, k);
        CHECK((ozarr_mpi_series_step(m, s, 6 * (double)k) == OZARR_OK) == (k != 1));
        OK(ozarr_mpi_series_position(s, &position, &published));
        CHECK(position == k + 1 && published == (k < 2 ? 0 : 3));
        MPI_Barrier(MPI_COMM_WORLD);
        if (k == 1) CHECK(rank != 0 || remove("next.zarr/t/c") == 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(ozarr_mpi_series_close(m, s));
}

/* Rank 0 makes a dataset whose variable "time" has a further dimension. */
static ozarr_status define_times(void *user) {
    ozarr_dataset *ds = NULL;
    const char *const dims[] = {"time", "x"};
    (void)user;
    ozarr_status status = ozarr_dataset_create("times.zarr", 0, OZARR_CREATE_NEW, &ds);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "time", 0);
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(ds, "x", 9);
    if (status == OZARR_OK) status = ozarr_dataset_define_variable(ds, "time", OZARR_INT32, 2, dims, NULL);
    return status == OZARR_OK ? ozarr_dataset_close(ds) : status;
}

/* A variable of the dimension's name that has another dimension, too, is no coordinate. */
static void no_coordinate(void) {
    ozarr_mpi_series *s = NULL;
    ozarr_array *a = NULL;
    int64_t start, count;
    int32_t u[27];
    part(9, &start, &count);
    OK(ozarr_mpi_once(m, define_times, NULL));
    for (int k = 0; k < 3; k++) {
        OK(ozarr_mpi_series_open(m, "times.zarr", "time", -1, 0, 0, &s));
        for (int i = 0; i < 9; i++) u[i] = k * 10 + (int)start + i;
        if (k != 1) OK(ozarr_mpi_series_put(m, s, "time", &start, &count, OZARR_INT32, u, sizeof u));
        OK(ozarr_mpi_series_step(m, s, k));
        OK(ozarr_mpi_series_close(m, s));
    }
    OK(ozarr_array_open("times.zarr/time", "r", &a));
    OK(ozarr_array_read(a, OZARR_INT32, u, sizeof u));
    for (int i = 0; i < 27; i++) CHECK(u[i] == (i / 9 == 1 ? 0 : i / 9 * 10 + i % 9));
    ozarr_array_free(a);
}

/* Rank 0 defines a further variable, and an array that is none of the dataset's. */
static ozarr_status define_late(void *user) {
    ozarr_dataset *ds = NULL;
    ozarr_group *g = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    const int64_t shape[] = {0, 6, 5};
    const char *const dims[] = {"time", "y", "x"};
    ozarr_status status = ozarr_dataset_open(user, "r+", &ds);
    if (status == OZARR_OK) status = ozarr_dataset_define_variable(ds, "q", OZARR_INT32, 3, dims, NULL);
    if (status == OZARR_OK) status = ozarr_dataset_close(ds);
    if (status == OZARR_OK) status = ozarr_spec_new(OZARR_INT32, 3, shape, &spec);
    if (status == OZARR_OK) status = ozarr_spec_set_dimension_names(spec, dims);
    if (status == OZARR_OK) status = ozarr_group_open(user, "r+", &g);
    if (status == OZARR_OK) status = ozarr_group_create_array(g, "inner/q", spec, OZARR_CREATE_NEW, &a);
    ozarr_spec_free(spec);
    ozarr_array_free(a);
    return status == OZARR_OK ? ozarr_group_close(g) : status;
}

/* A variable that is defined while the series is open becomes as long as the others; what is no variable of the dataset is not put. */
static void late_variable(void) {
    char location[] = "late.zarr";
    ozarr_mpi_series *s = NULL;
    ozarr_array *a = NULL;
    int64_t start[2] = {0, 0}, count[2] = {0, 5}, shape[3] = {0, 0, 0};
    int32_t u[90];
    part(6, &start[0], &count[0]);
    OK(ozarr_mpi_once(m, define_deep, location));
    OK(ozarr_mpi_series_open(m, location, "time", -1, 1, 0, &s));
    for (int k = 0; k < 3; k++) {
        if (k == 1) OK(ozarr_mpi_once(m, define_late, location));
        for (int i = 0; i < 30; i++) u[i] = k * 100 + (int)start[0] * 5 + i;
        put_deep(s, k);
        if (k > 0) OK(ozarr_mpi_series_put(m, s, "q", start, count, OZARR_INT32, u, sizeof u));
        ERR(OZARR_ERR_NOT_FOUND, "rank 0: no variable", ozarr_mpi_series_put(m, s, "inner/q", start, count, OZARR_INT32, u, sizeof u));
        OK(ozarr_mpi_series_step(m, s, k));
    }
    OK(ozarr_mpi_agree(m, rank == 0 ? ozarr_array_open("late.zarr/q", "r", &a) : OZARR_OK));
    if (rank == 0) {
        OK(ozarr_array_shape(a, shape));
        CHECK(shape[0] == 3);
        OK(ozarr_array_read(a, OZARR_INT32, u, sizeof u));
        for (int i = 0; i < 90; i++) CHECK(u[i] == (i < 30 ? 0 : i / 30 * 100 + i % 30));
        ozarr_array_free(a);
    }
    OK(ozarr_mpi_series_close(m, s));
}

/* A coordinate that is put in some steps has the values of the others, too: those of steps before it was put, and behind. */
static void coordinate_in_part(void) {
    char location[] = "part.zarr";
    ozarr_mpi_series *s = NULL;
    ozarr_array *a = NULL;
    int64_t times[7];
    OK(ozarr_mpi_once(m, define_deep, location));
    OK(ozarr_mpi_series_open(m, location, "time", -1, 0, 0, &s));
    for (int64_t k = 0; k < 7; k++) {
        const int64_t hours = 6 * k;
        if (k == 2 || k == 5) OK(ozarr_mpi_series_put(m, s, "time", NULL, NULL, OZARR_INT64, &hours, sizeof hours));
        else ERR(OZARR_ERR_RANGE, "has integers", ozarr_mpi_series_step(m, s, 6 * (double)k + 0.5));
        if (k == 4) ERR(OZARR_ERR_ARGUMENT, "expected that of rank 0", ranks > 1 ? ozarr_mpi_series_step(m, s, 24 + rank)
                                                                            : ozarr_set_error(OZARR_ERR_ARGUMENT, "expected that of rank 0", NULL));
        OK(ozarr_mpi_series_step(m, s, k == 2 || k == 5 ? 0 : 6 * (double)k));
    }
    OK(ozarr_mpi_series_close(m, s));
    OK(ozarr_array_open("part.zarr/time", "r", &a));
    OK(ozarr_array_read(a, OZARR_INT64, times, sizeof times));
    for (int64_t k = 0; k < 7; k++) CHECK(times[k] == 6 * k);
    ozarr_array_free(a);
}

enum { ROWS = 200, COLUMNS = 64 };

/* Whether all ranks find `sign` times the numbers from 1 on in the first rows, and 0 in the others. */
static void check_rows(const ozarr_array *a, double sign, int64_t rows) {
    static double found[ROWS * COLUMNS];
    const int64_t zero[] = {0, 0}, shape[] = {ROWS, COLUMNS};
    int64_t others = 0;
    OK(ozarr_mpi_array_read_all(m, a, zero, shape, OZARR_FLOAT64, found, sizeof found));
    for (int64_t i = 0; i < ROWS * COLUMNS; i++) others += found[i] != (i < rows * COLUMNS ? sign * (double)(i + 1) : 0);
    if (others > 0) FAIL("%d elements are others", (int)others);
}

/* This rank's columns of all rows, and the numbers of their elements from 1 on. */
static double *own_columns(ozarr_region *region, ozarr_memory *memory) {
    static double mine[ROWS * COLUMNS];
    static int64_t start[2], count[2] = {ROWS};
    part(COLUMNS, &start[1], &count[1]);
    for (int64_t i = 0; i < ROWS * count[1]; i++) mine[i] = (double)(i / count[1] * COLUMNS + start[1] + i % count[1] + 1);
    region->start = start, region->shape = count, memory->data = mine, memory->size = sizeof mine, memory->type = OZARR_FLOAT64;
    return mine;
}

/* What comes behind a write that was not waited for finds it done: a read, the end of a checkpoint, a resize, and another array. All ranks have
 * a part of each chunk, and move one chunk at a time. */
static void behind_what_is_under_way(void) {
    const int64_t shape[] = {ROWS, COLUMNS}, chunk[] = {1, COLUMNS}, half[] = {ROWS / 2, COLUMNS};
    ozarr_array *a = NULL;
    ozarr_group *g = NULL;
    ozarr_spec *spec = NULL;
    ozarr_mpi_request *q = NULL;
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    double *mine = own_columns(&region, &memory);
    OK(ozarr_mpi_set(m, "round_bytes", "512"));
    OK(ozarr_spec_new(OZARR_FLOAT64, 2, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunk));
    OK(ozarr_mpi_checkpoint_begin(m, "behind.zarr", "c", &g));
    OK(ozarr_mpi_group_create_array(m, g, "u", spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_mpi_array_iwrite_all(m, a, 1, &region, &memory, &q));
    check_rows(a, 1, ROWS);
    OK(ozarr_mpi_request_wait(q));
    for (int i = 0; i < ROWS * COLUMNS; i++) mine[i] = -mine[i];
    OK(ozarr_mpi_array_iwrite_all(m, a, 1, &region, &memory, &q));
    OK(ozarr_mpi_checkpoint_commit(m, g));
    ozarr_array *committed = NULL;
    OK(ozarr_mpi_array_open(m, "behind.zarr/c/u", "r", &committed));
    check_rows(committed, -1, ROWS);
    OK(ozarr_mpi_array_close(m, committed));
    OK(ozarr_mpi_request_wait(q));
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_array_open(m, "behind.zarr/c/u", "r+", &a));
    OK(ozarr_mpi_array_iwrite_all(m, a, 1, &region, &memory, &q));
    OK(ozarr_mpi_array_resize(m, a, half, 0));
    OK(ozarr_mpi_request_wait(q));
    OK(ozarr_mpi_array_resize(m, a, shape, 0));
    check_rows(a, -1, ROWS / 2);
    OK(ozarr_mpi_array_iwrite_all(m, a, 1, &region, &memory, &q));
    ozarr_array *other = NULL;
    OK(ozarr_mpi_array_create_ex(m, "behind.zarr/c/u", spec, OZARR_CREATE_OVERWRITE, &other));
    OK(ozarr_mpi_request_wait(q));
    check_rows(other, 0, 0);
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_array_close(m, other));
    OK(ozarr_mpi_set(m, "round_bytes", "33554432"));
    ozarr_spec_free(spec);
}

/* A read finds done what was written by another handle of the array, however that was opened. */
static void read_by_another_handle(void) {
    const int64_t shape[] = {ROWS, COLUMNS}, chunk[] = {1, COLUMNS};
    static double mine[ROWS * COLUMNS];
    char home[4096], places[6][4300];
    int64_t start[2] = {0}, count[2] = {ROWS};
    ozarr_spec *spec = NULL;
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    part(COLUMNS, &start[1], &count[1]);
    region.start = start, region.shape = count, memory.data = mine, memory.size = sizeof mine, memory.type = OZARR_FLOAT64;
    CHECK(getcwd(home, sizeof home) != NULL);
    if (rank == 0) CHECK((mkdir("by-link", 0777) == 0 && symlink("../handles.zarr", "by-link/h.zarr") == 0) || access("by-link/h.zarr", F_OK) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(places[0], sizeof places[0], "./handles.zarr/t");
    snprintf(places[1], sizeof places[1], "%s/handles.zarr//t", home);
    snprintf(places[2], sizeof places[2], "file://%s/handles.zarr/t", home);
    snprintf(places[3], sizeof places[3], "by-link/h.zarr/t");
    snprintf(places[4], sizeof places[4], "by-link/../handles.zarr/t");
    snprintf(places[5], sizeof places[5], "handles.zarr/t"); /* opened by each rank itself */
    OK(ozarr_spec_new(OZARR_FLOAT64, 2, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunk));
    OK(ozarr_mpi_set(m, "aggregators", "1"));
    OK(ozarr_mpi_set(m, "round_bytes", "512"));
    for (int k = 0; k < 6; k++) {
        ozarr_array *a = NULL, *b = NULL;
        ozarr_mpi_request *q = NULL;
        const double sign = k % 2 == 0 ? 1 : -1;
        for (int64_t i = 0; i < ROWS * count[1]; i++) mine[i] = sign * (double)(i / count[1] * COLUMNS + start[1] + i % count[1] + 1);
        OK(ozarr_mpi_array_create_ex(m, "handles.zarr/t", spec, OZARR_CREATE_OVERWRITE, &a));
        OK(k < 5 ? ozarr_mpi_array_open(m, places[k], "r", &b) : ozarr_array_open(places[k], "r", &b));
        OK(ozarr_mpi_array_iwrite_all(m, a, 1, &region, &memory, &q));
        check_rows(b, sign, ROWS);
        OK(ozarr_mpi_request_wait(q));
        OK(ozarr_mpi_array_close(m, a));
        OK(k < 5 ? ozarr_mpi_array_close(m, b) : ozarr_array_close(b));
    }
    OK(ozarr_mpi_set(m, "aggregators", "auto"));
    OK(ozarr_mpi_set(m, "round_bytes", "33554432"));
    ozarr_spec_free(spec);
}

static ozarr_status define_rows(void *user) {
    static const char *const dims[] = {"row", "column"};
    ozarr_dataset *ds = NULL;
    ozarr_variable u = OZARR_VARIABLE_INIT;
    ozarr_array *a = NULL;
    const int64_t chunks[] = {1, COLUMNS};
    const double zero = 0;
    (void)user;
    u.type = OZARR_FLOAT64, u.rank = 2, u.dimensions = dims, u.chunks = chunks, u.missing = &zero;
    ozarr_status status = ozarr_dataset_create("rows.zarr", 0, OZARR_CREATE_NEW, &ds);
    if (!status) status = ozarr_dataset_define_dimension(ds, "row", ROWS);
    if (!status) status = ozarr_dataset_define_dimension(ds, "column", COLUMNS);
    if (!status) status = ozarr_dataset_define_variable_ex(ds, "u", &u, OZARR_CREATE_NEW, &a);
    ozarr_array_free(a);
    const ozarr_status closed = ozarr_dataset_close(ds);
    return status ? status : closed;
}

/* A series that cuts off the steps of a write that was not waited for finds it done: nothing of it shows in the steps that come again. */
static void cut_behind_what_is_under_way(void) {
    ozarr_array *a = NULL;
    ozarr_mpi_request *q = NULL;
    ozarr_mpi_series *s = NULL;
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    own_columns(&region, &memory);
    OK(ozarr_mpi_once(m, define_rows, NULL));
    OK(ozarr_mpi_set(m, "round_bytes", "512"));
    OK(ozarr_mpi_array_open(m, "rows.zarr/u", "r+", &a));
    OK(ozarr_mpi_array_iwrite_all(m, a, 1, &region, &memory, &q));
    OK(ozarr_mpi_series_open(m, "rows.zarr", "row", ROWS / 2, 0, 0, &s));
    for (int k = ROWS / 2; k < ROWS; k++) OK(ozarr_mpi_series_step(m, s, k));
    OK(ozarr_mpi_series_close(m, s));
    OK(ozarr_mpi_request_wait(q));
    OK(ozarr_mpi_array_refresh(m, a));
    check_rows(a, 1, ROWS / 2);
    OK(ozarr_mpi_array_close(m, a));
    OK(ozarr_mpi_set(m, "round_bytes", "33554432"));
}

/* The current folder of a rank is none of the others' business: all write and read where rank 0 opened, also after a change of the folder. */
static void other_folders(void) {
    ozarr_group *g = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    char home[4096], place[4200];
    const int64_t shape[] = {12}, chunks[] = {1};
    int64_t start, count;
    int32_t u[12], all[12];
    CHECK(getcwd(home, sizeof home) != NULL);
    CHECK(mkdir("aside", 0777) == 0 || access("aside", F_OK) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    part(12, &start, &count);
    for (int i = 0; i < 12; i++) u[i] = 1 + (int32_t)start + i;
    OK(ozarr_spec_new(OZARR_INT32, 1, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    for (int k = 0; k < 3; k++) {
        if (k == 1 && rank > 0) CHECK(chdir("aside") == 0);
        OK(ozarr_mpi_group_create(m, "homes.zarr", OZARR_CREATE_OVERWRITE, &g));
        if (k == 0) CHECK(chdir("aside") == 0);
        OK(ozarr_mpi_group_create_array(m, g, "t", spec, OZARR_CREATE_NEW, &a));
        if (k == 2) CHECK(chdir("aside") == 0);
        OK(ozarr_mpi_array_write_all(m, a, &start, &count, OZARR_INT32, u, sizeof u));
        OK(ozarr_mpi_array_close(m, a));
        OK(ozarr_mpi_group_close(m, g));
        CHECK(chdir(home) == 0 && access("aside/homes.zarr", F_OK) != 0);
        snprintf(place, sizeof place, "%s/homes.zarr/t", home);
        OK(ozarr_array_open(place, "r", &a));
        OK(ozarr_array_read(a, OZARR_INT32, all, sizeof all));
        for (int i = 0; i < 12; i++) CHECK(all[i] == 1 + i);
        ozarr_array_free(a);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(ozarr_mpi_checkpoint_begin(m, "home-states.zarr", "one", &g));
    if (rank > 0) CHECK(chdir("aside") == 0);
    OK(ozarr_mpi_group_put(m, g, "t", OZARR_INT32, 1, shape, &start, &count, u, sizeof u));
    OK(ozarr_mpi_checkpoint_commit(m, g));
    OK(ozarr_mpi_checkpoint_latest(m, "home-states.zarr", &g));
    CHECK(chdir(home) == 0 && chdir("aside") == 0);
    const int64_t zero = 0, twelve = 12;
    OK(ozarr_mpi_group_get(m, g, "t", OZARR_INT32, &zero, &twelve, all, sizeof all));
    for (int i = 0; i < 12; i++) CHECK(all[i] == 1 + i);
    OK(ozarr_mpi_group_close(m, g));
    CHECK(chdir(home) == 0);
    ozarr_spec_free(spec);
}

static ozarr_status erase_lost(void *group) { return ozarr_group_erase(group, "t"); }

/* Erases an array, or puts another one in its place. */
static void lose(ozarr_group *g, const ozarr_spec *spec, int how, ozarr_array **b) {
    if (how == 0) OK(ozarr_mpi_group_create_array(m, g, "t", spec, OZARR_CREATE_OVERWRITE, b));
    if (how == 1) OK(ozarr_mpi_array_create_ex(m, "lost.zarr/t", spec, OZARR_CREATE_OVERWRITE, b));
    if (how == 2) OK(ozarr_mpi_once(m, erase_lost, g));
    if (how == 3 && rank == 0) OK(ozarr_group_erase(g, "t"));
    if (how == 4) OK(ozarr_mpi_group_create(m, "lost.zarr", OZARR_CREATE_OVERWRITE, &g)), OK(ozarr_mpi_group_close(m, g));
    if (how == 5 && rank == ranks - 1) {
        ozarr_mpi *alone = NULL;
        OK(ozarr_mpi_new(MPI_COMM_SELF, &alone));
        OK(ozarr_mpi_array_create_ex(alone, "lost.zarr/t", spec, OZARR_CREATE_OVERWRITE, b));
        OK(ozarr_mpi_array_close(alone, *b));
        OK(ozarr_mpi_close(alone));
        *b = NULL;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Makes the handles of all ranks ones of the array that is there now, where one is. */
static void refresh_lost(ozarr_array *a, bool is_there, int64_t start) {
    const int64_t two = 2;
    const int32_t zeros[2] = {0};
    const ozarr_status refreshed = ozarr_mpi_array_refresh(m, a);
    CHECK(refreshed == (is_there ? OZARR_OK : OZARR_ERR_NOT_FOUND));
    CHECK(ozarr_array_write_region(a, &start, &two, OZARR_INT32, zeros, sizeof zeros) == (is_there ? OZARR_OK : OZARR_ERR_STATE));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Nothing is stored by handles of an array that was erased or replaced, on any rank, whoever has elements. */
static void lost(void) {
    const int64_t shape[] = {10}, chunks[] = {2};
    ozarr_spec *spec = NULL;
    int32_t u[10], all[10];
    for (int i = 0; i < 10; i++) u[i] = 77;
    OK(ozarr_spec_new(OZARR_INT32, 1, shape, &spec));
    OK(ozarr_spec_set_chunks(spec, chunks));
    for (int how = 0; how < 6; how++)
        for (int what = 0; what < 7; what++) {
            /* What one rank alone has replaced the others know by what is refused. */
            const bool known = how < 5;
            if (!known && (what == 2 || what == 3 || what == 6)) continue;
            ozarr_group *g = NULL;
            ozarr_array *a = NULL, *b = NULL;
            const int64_t none = 0, two = 2, *some = rank == ranks - 1 || what == 1 ? &two : &none, start = 2 * rank;
            OK(ozarr_mpi_group_create(m, "lost.zarr", OZARR_CREATE_OVERWRITE, &g));
            OK(ozarr_mpi_group_create_array(m, g, "t", spec, OZARR_CREATE_NEW, &a));
            if (what == 2) OK(ozarr_node_set(ozarr_array_node(a), "write_back", "100000"));
            const int64_t one = 1;
            if (what == 2 && rank == ranks - 1) OK(ozarr_array_write_region(a, &start, &one, OZARR_INT32, u, sizeof *u));
            lose(g, spec, how, &b);
            if (what < 2) ERR(OZARR_ERR_STATE, "erased, renamed or replaced", ozarr_mpi_array_write_all(m, a, &start, some, OZARR_INT32, u, sizeof u));
            /* Of what rank 0 does by itself other ranks know in the next call that all make. */
            if (what == 3 && how == 3) OK(ozarr_mpi_agree(m, OZARR_OK));
            /* Changes that are refused make the handle of no rank one of what is there. */
            const int64_t end = 10, longer = 12, *last = rank == 0 ? &two : &none;
            if (what == 4) ERR(OZARR_ERR_STATE, "erased, renamed or replaced", ozarr_mpi_array_append(m, a, 0, 2, &end, last, OZARR_INT32, u, sizeof u));
            if (what == 5) ERR(OZARR_ERR_STATE, "erased, renamed or replaced", ozarr_mpi_array_set_attr(m, a, "x", "1"));
            if (what == 5) ERR(OZARR_ERR_STATE, "erased, renamed or replaced", ozarr_mpi_array_resize(m, a, &longer, 0));
            if (what == 6) refresh_lost(a, b != NULL, start);
            else if (what >= 3 && known) CHECK(ozarr_array_write_region(a, &start, &two, OZARR_INT32, u, sizeof u) == OZARR_ERR_STATE);
            const ozarr_status closed = ozarr_mpi_array_close(m, a);
            CHECK(closed == (what == 2 ? OZARR_ERR_STATE : OZARR_OK));
            if (!known) OK(ozarr_mpi_array_open(m, "lost.zarr/t", "r+", &b));
            else if (b == NULL) OK(ozarr_mpi_group_create_array(m, g, "t", spec, OZARR_CREATE_NEW, &b));
            OK(ozarr_mpi_array_read_all(m, b, &none, shape, OZARR_INT32, all, sizeof all));
            for (int i = 0; i < 10; i++)
                if (all[i] != 0) FAIL("way %d, %d: element %d is %d", how, what, i, (int)all[i]);
            OK(ozarr_mpi_array_write_all(m, b, &start, some, OZARR_INT32, u, sizeof u));
            OK(ozarr_mpi_array_close(m, b));
            OK(ozarr_mpi_group_close(m, g));
        }
    ozarr_spec_free(spec);
}

/* Rank 0 tells the others of a group whose document is long. */
static void long_document(void) {
    enum { LONG = 100000 };
    ozarr_group *g = NULL;
    char *json = malloc(LONG + 3);
    CHECK(json != NULL);
    memset(json, 'x', LONG + 2), json[0] = json[LONG + 1] = '"', json[LONG + 2] = 0;
    OK(ozarr_mpi_group_create(m, "long.zarr", OZARR_CREATE_OVERWRITE, &g));
    OK(ozarr_mpi_group_set_attr(m, g, "text", json));
    OK(ozarr_mpi_group_close(m, g));
    OK(ozarr_mpi_group_open(m, "long.zarr", "r", &g));
    size_t length = 0;
    CHECK(ozarr_attr_get_string(ozarr_group_node(g), "text", NULL, 0, &length) != OZARR_ERR_NOT_FOUND && length == LONG);
    OK(ozarr_mpi_group_close(m, g));
    free(json);
}

int main(int argc, char **argv) {
    begin_ranks(&argc, &argv);
    OK(ozarr_mpi_new(MPI_COMM_WORLD, &m));
    changes();
    documents();
    shards();
    part_of_shard();
    codecs_around_shards();
    uneven_shards();
    structs();
    in_flight();
    append_outside_of_the_slab();
    appending();
    changes_that_fail_above();
    checkpoints();
    steps();
    deep_steps();
    left_out();
    steps_below();
    coordinate_last(0);
    coordinate_last(4);
    published_next();
    late_variable();
    no_coordinate();
    coordinate_in_part();
    behind_what_is_under_way();
    read_by_another_handle();
    cut_behind_what_is_under_way();
    places();
    other_folders();
    lost();
    long_document();
    OK(ozarr_mpi_close(m));
    return end_ranks();
}
