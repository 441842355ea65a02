/* Writes an array of structs with one call, reads some of their fields into another struct, and one field into plain doubles. */
#include <ozarr.h>
#include <ozarr_advanced.h>
#include <stddef.h>
#include <stdio.h>

#define N 8

struct particle {
    double x, y, z;
    float mass;
    int32_t id;
    char kind[8];
};

/* What another program wants to know of them. */
struct point {
    int64_t id;
    float x, y, z;
};

static ozarr_dtype *f32, *f64, *i32, *i64, *text, *particle, *point;
static int64_t shape[] = {N};

static int failed(void) {
    printf("%s\n", ozarr_last_error());
    return 1;
}

/* Where the fields are, and what: the compiler knows. */
static int describe(void) {
    if (ozarr_dtype_of(OZARR_FLOAT32, &f32) || ozarr_dtype_of(OZARR_FLOAT64, &f64) || ozarr_dtype_of(OZARR_INT32, &i32)) return failed();
    if (ozarr_dtype_of(OZARR_INT64, &i64) || ozarr_dtype_chars(8, '\0', &text)) return failed();

    if (ozarr_dtype_struct(sizeof(struct particle), &particle)) return failed();
    if (ozarr_dtype_add_field(particle, "x", offsetof(struct particle, x), f64, 0, NULL)) return failed();
    if (ozarr_dtype_add_field(particle, "y", offsetof(struct particle, y), f64, 0, NULL)) return failed();
    if (ozarr_dtype_add_field(particle, "z", offsetof(struct particle, z), f64, 0, NULL)) return failed();
    if (ozarr_dtype_add_field(particle, "mass", offsetof(struct particle, mass), f32, 0, NULL)) return failed();
    if (ozarr_dtype_add_field(particle, "id", offsetof(struct particle, id), i32, 0, NULL)) return failed();
    if (ozarr_dtype_add_field(particle, "kind", offsetof(struct particle, kind), text, 0, NULL)) return failed();

    if (ozarr_dtype_struct(sizeof(struct point), &point)) return failed();
    if (ozarr_dtype_add_field(point, "id", offsetof(struct point, id), i64, 0, NULL)) return failed();
    if (ozarr_dtype_add_field(point, "x", offsetof(struct point, x), f32, 0, NULL)) return failed();
    if (ozarr_dtype_add_field(point, "y", offsetof(struct point, y), f32, 0, NULL)) return failed();
    if (ozarr_dtype_add_field(point, "z", offsetof(struct point, z), f32, 0, NULL)) return failed();
    return 0;
}

/* In format 2 NumPy's own structured types: zarr-python reads them as they are. */
static int write_particles(void) {
    struct particle all[N];
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    for (int i = 0; i < N; i++) {
        all[i] = (struct particle){0.5 * i, -i, 100 + i, (float)(1 + i % 3), i * i, ""};
        snprintf(all[i].kind, sizeof all[i].kind, i % 2 ? "star" : "gas");
    }
    if (ozarr_spec_new_dtype(particle, 1, shape, &spec) || ozarr_spec_set_zarr_format(spec, 2)) return failed();
    if (ozarr_array_create_ex("snapshot.zarr/particles", spec, OZARR_CREATE_OVERWRITE, &a)) return failed();
    ozarr_spec_free(spec);
    memory.data = all;
    memory.size = sizeof all;
    memory.type = OZARR_BY_DTYPE;
    memory.dtype = particle;
    if (ozarr_array_write_ex(a, NULL, &memory)) return failed();
    return ozarr_array_close(a) ? failed() : 0;
}

static int read_points(const ozarr_array *a) {
    struct point points[N];
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = points;
    memory.size = sizeof points;
    memory.type = OZARR_BY_DTYPE;
    memory.dtype = point;
    if (ozarr_array_read_ex(a, NULL, &memory)) return failed();
    for (int i = 1; i < N; i += 3)
        printf("particle %2d at (%g, %g, %g)\n", (int)points[i].id, points[i].x, points[i].y, points[i].z);
    return 0;
}

/* One field, of any number type, changed in place: the others stay as they are. */
static int change_masses(const ozarr_array *a) {
    double mass[N], sum = 0;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = mass;
    memory.size = sizeof mass;
    memory.type = OZARR_FLOAT64;
    memory.field = "mass";
    if (ozarr_array_read_ex(a, NULL, &memory)) return failed();
    for (int i = 0; i < N; i++) sum += mass[i];
    printf("total mass %g\n", sum);
    for (int i = 0; i < N; i++) mass[i] /= sum;
    if (ozarr_array_write_ex(a, NULL, &memory) || ozarr_array_read_ex(a, NULL, &memory)) return failed();
    printf("first mass now %.6f\n", mass[0]);
    memory.field = "charge";
    printf("%s: %s\n", ozarr_status_name(ozarr_array_read_ex(a, NULL, &memory)), ozarr_last_error());
    return 0;
}

int main(void) {
    ozarr_array *a = NULL;
    ozarr_dtype *stored = NULL;
    char json[256];
    if (describe() || write_particles()) return 1;
    if (ozarr_array_open("snapshot.zarr/particles", "r+", &a)) return failed();
    if (ozarr_array_copy_dtype(a, &stored) || ozarr_dtype_to_json(stored, 2, json, sizeof json, NULL)) return failed();
    printf("%s\n", json);
    if (read_points(a) || change_masses(a)) return 1;
    ozarr_dtype *made[] = {f32, f64, i32, i64, text, particle, point};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) ozarr_dtype_free(made[i]);
    ozarr_dtype_free(stored);
    return ozarr_array_close(a) ? failed() : 0;
}
