/* A 3-D heat equation that stores each step in Zarr and restarts from what is stored.
 *
 *   heat OUT [steps] [n]      for example: heat heat.zarr 60 64
 *
 * OUT becomes a group with the coordinates x, y, z and time, and `temperature` (time, z, y, x), which grows by one step at a time.
 * The field lives in memory with a halo of one cell around it; a step is written straight out of its middle, by strides.
 * A step's data is stored first and its time after it: whatever moment the program is killed at, `time` counts whole steps only.
 * Started again with the same arguments it goes on after the last of them, and ends with the same bytes. */
#include <math.h>
#include <ozarr.h>
#include <stdio.h>
#include <stdlib.h>

#define ALPHA 1.0e-4     /* m2 s-1 */
#define ROOM 300.0       /* K, on the walls */
#define SUBSTEPS 4       /* steps of the scheme for each stored one */

typedef struct {
    int64_t n;           /* cells along each side */
    int64_t side;        /* the same with the halo */
    double dx, dt;
    double *now, *next;  /* side x side x side */
} field;

/* Whatever fails in the library ends the program, with the library's message. */
static void check(ozarr_status s, const char *what) {
    if (s == OZARR_OK) return;
    fprintf(stderr, "heat: %s: %s (%s)\n", what, ozarr_last_error(), ozarr_status_name(s));
    exit(1);
}

static double *cell(const field *f, double *u, int64_t k, int64_t j, int64_t i) { return u + (k * f->side + j) * f->side + i; }

/* ---- the physics ---- */

static double blob(double x, double y, double z, double cx, double cy, double cz, double width) {
    double r2 = (x - cx) * (x - cx) + (y - cy) * (y - cy) + (z - cz) * (z - cz);
    return exp(-r2 / (width * width));
}

static void start(field *f) {
    for (int64_t k = 0; k < f->side; k++)
        for (int64_t j = 0; j < f->side; j++)
            for (int64_t i = 0; i < f->side; i++) *cell(f, f->now, k, j, i) = *cell(f, f->next, k, j, i) = ROOM;
    for (int64_t k = 1; k <= f->n; k++)
        for (int64_t j = 1; j <= f->n; j++)
            for (int64_t i = 1; i <= f->n; i++) {
                double x = ((double)i - 0.5) * f->dx, y = ((double)j - 0.5) * f->dx, z = ((double)k - 0.5) * f->dx;
                double ring = sqrt((x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5)) - 0.3;
                *cell(f, f->now, k, j, i) = ROOM + 500.0 * blob(x, y, z, 0.35, 0.6, 0.5, 0.12) + 300.0 * blob(x, y, z, 0.62, 0.42, 0.55, 0.08) +
                                            250.0 * exp(-(ring * ring + (z - 0.5) * (z - 0.5)) / 0.0025);
            }
}

static void advance(field *f) {
    double r = ALPHA * f->dt / (f->dx * f->dx);
    int64_t row = f->side, plane = f->side * f->side;
    for (int s = 0; s < SUBSTEPS; s++) {
        for (int64_t k = 1; k <= f->n; k++)
            for (int64_t j = 1; j <= f->n; j++) {
                const double *u = cell(f, f->now, k, j, 0);
                double *v = cell(f, f->next, k, j, 0);
                for (int64_t i = 1; i <= f->n; i++)
                    v[i] = u[i] + r * (u[i - 1] + u[i + 1] + u[i - row] + u[i + row] + u[i - plane] + u[i + plane] - 6.0 * u[i]);
            }
        double *t = f->now;
        f->now = f->next;
        f->next = t;
    }
}

/* ---- what is stored ---- */

/* Where step `k` lies in the array, and the middle of the halo'd memory. */
static void place(const field *f, double *u, int64_t k, int64_t at[4], int64_t shape[4], int64_t strides[4], ozarr_region *region, ozarr_memory *memory) {
    int64_t item = (int64_t)sizeof *u;
    at[0] = k, at[1] = at[2] = at[3] = 0;
    shape[0] = 1, shape[1] = shape[2] = shape[3] = f->n;
    strides[3] = item, strides[2] = f->side * item, strides[1] = f->side * strides[2], strides[0] = f->side * strides[1];
    region->start = at, region->shape = shape;
    memory->data = u, memory->size = (size_t)strides[0], memory->strides = strides, memory->type = OZARR_FLOAT64;
    memory->offset = (size_t)(strides[1] + strides[2] + strides[3]); /* the cell (1, 1, 1) */
}

static void write_step(const field *f, ozarr_array *temperature, int64_t k) {
    int64_t at[4], shape[4], strides[4];
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    place(f, f->now, k, at, shape, strides, &region, &memory);
    check(ozarr_array_write_ex(temperature, &region, &memory), "writing a step");
}

static void read_step(const field *f, const ozarr_array *temperature, int64_t k) {
    int64_t at[4], shape[4], strides[4];
    ozarr_region region = OZARR_REGION_INIT;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    place(f, f->now, k, at, shape, strides, &region, &memory);
    check(ozarr_array_read_ex(temperature, &region, &memory), "reading the last step");
}

/* A coordinate: the middles of the cells. */
static void create_axis(const field *f, ozarr_group *g, const char *name) {
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    double *v = malloc((size_t)f->n * sizeof *v);
    if (!v) exit(1);
    for (int64_t i = 0; i < f->n; i++) v[i] = ((double)i + 0.5) * f->dx;
    check(ozarr_spec_new(OZARR_FLOAT64, 1, &f->n, &spec), name);
    check(ozarr_spec_set_dimension_names(spec, &name), name);
    check(ozarr_spec_set_member_json(spec, "attributes", "{\"units\": \"m\"}"), name);
    check(ozarr_group_create_array(g, name, spec, OZARR_CREATE_OVERWRITE, &a), name);
    check(ozarr_array_write(a, OZARR_FLOAT64, v, (size_t)f->n * sizeof *v), name);
    check(ozarr_array_close(a), name);
    ozarr_spec_free(spec);
    free(v);
}

/* A growing array: no steps yet, one step (or 1024 times) to a chunk. It is there with its attributes, or not at all. */
static void create_growing(ozarr_group *g, const char *name, int32_t rank, const int64_t *shape, const int64_t *chunks, const char *attributes) {
    static const char *const names[] = {"time", "z", "y", "x"};
    static const double nan_fill = NAN;
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    check(ozarr_spec_new(OZARR_FLOAT64, rank, shape, &spec), name);
    check(ozarr_spec_set_chunks(spec, chunks), name);
    check(ozarr_spec_set_dimension_names(spec, names), name);
    check(ozarr_spec_set_fill_value(spec, OZARR_FLOAT64, &nan_fill), name);
    check(ozarr_spec_set_compressor(spec, "zstd", 3), name);
    check(ozarr_spec_set_member_json(spec, "attributes", attributes), name);
    check(ozarr_group_create_array(g, name, spec, OZARR_CREATE_OVERWRITE, &a), name);
    check(ozarr_array_close(a), name);
    ozarr_spec_free(spec);
}

/* Makes the group and its arrays; `time` last, for a restart looks for it. */
static void create_all(const field *f, ozarr_store *store) {
    ozarr_group *g = NULL;
    int64_t shape[] = {0, f->n, f->n, f->n}, chunks[] = {1, f->n < 64 ? f->n : 64, f->n < 64 ? f->n : 64, f->n < 64 ? f->n : 64}, times = 1024;
    check(ozarr_group_create_at(store, "", 3, OZARR_CREATE_OPEN_IF_SAME, &g), "creating the group");
    check(ozarr_attrs_begin(ozarr_group_node(g)), "attributes");
    check(ozarr_attr_set_string(ozarr_group_node(g), "title", "Heat in a box"), "attributes");
    check(ozarr_attr_set_double(ozarr_group_node(g), "diffusivity", ALPHA), "attributes");
    check(ozarr_attr_set_double(ozarr_group_node(g), "cell", f->dx), "attributes");
    check(ozarr_attr_set_int64(ozarr_group_node(g), "substeps", SUBSTEPS), "attributes");
    check(ozarr_attrs_commit(ozarr_group_node(g)), "attributes");
    create_axis(f, g, "x");
    create_axis(f, g, "y");
    create_axis(f, g, "z");
    create_growing(g, "temperature", 4, shape, chunks, "{\"units\": \"K\", \"long_name\": \"temperature\"}");
    create_growing(g, "time", 1, shape, &times, "{\"units\": \"s\"}");
    check(ozarr_group_close(g), "the group");
}

int main(int argc, char **argv) {
    int64_t steps = argc > 2 ? atoll(argv[2]) : 60, shape[4], done = 0;
    field f = {argc > 3 ? atoll(argv[3]) : 64, 0, 0, 0, NULL, NULL};
    ozarr_store *store = NULL;
    ozarr_group *group = NULL;
    ozarr_array *temperature = NULL, *time = NULL;
    ozarr_node_kind kind;
    if (argc < 2 || steps < 1 || f.n < 1 || f.n > 1024) return fprintf(stderr, "usage: heat OUT [steps] [n]\n"), 2;
    f.side = f.n + 2;
    f.dx = 1.0 / (double)f.n;
    f.dt = 0.125 * f.dx * f.dx / ALPHA;
    f.now = malloc((size_t)(f.side * f.side * f.side) * sizeof(double));
    f.next = malloc((size_t)(f.side * f.side * f.side) * sizeof(double));
    if (!f.now || !f.next) return fprintf(stderr, "heat: no memory for %lld cells a side\n", (long long)f.n), 1;
    start(&f);

    check(ozarr_store_open(argv[1], "r+", &store), argv[1]);
    check(ozarr_store_node_kind(store, "time", &kind), argv[1]);
    if (kind != OZARR_NODE_KIND_ARRAY) create_all(&f, store);
    check(ozarr_array_open_at(store, "temperature", &temperature), "temperature");
    check(ozarr_array_open_at(store, "time", &time), "time");
    check(ozarr_array_shape(time, &done), "time");
    check(ozarr_array_shape(temperature, shape), "temperature");
    if (shape[1] != f.n) return fprintf(stderr, "heat: %s has %lld cells a side, not %lld\n", argv[1], (long long)shape[1], (long long)f.n), 1;
    if (done > 0) {
        printf("restart after step %lld\n", (long long)done - 1);
        read_step(&f, temperature, done - 1);
    }

    for (int64_t k = done; k < steps; k++) {
        double seconds = (double)(k * SUBSTEPS) * f.dt;
        if (k > 0) advance(&f);
        shape[0] = k + 1;
        check(ozarr_array_resize(temperature, shape, 0), "growing temperature");
        write_step(&f, temperature, k);
        check(ozarr_array_append(time, 0, 1, OZARR_FLOAT64, &seconds, sizeof seconds), "appending to time");
        if (k % 10 == 0 || k == steps - 1) {
            printf("step %lld, %.1f s, %.3f K in the middle\n", (long long)k, seconds, *cell(&f, f.now, f.side / 2, f.side / 2, f.side / 2));
            fflush(stdout);
        }
    }

    check(ozarr_array_close(temperature), "temperature");
    check(ozarr_array_close(time), "time");
    check(ozarr_group_open_at(store, "", &group), "the group");
    check(ozarr_group_consolidate(group), "consolidating");
    check(ozarr_group_close(group), "the group");
    check(ozarr_store_close(store), argv[1]);
    free(f.now);
    free(f.next);
    return 0;
}
