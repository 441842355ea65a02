/* Copies from C: as they are and with other chunks, between stores in memory and files; changed by a function and by a specification;
   progress, cancelling, what is refused. */
#include "table.h"

static const int64_t SHAPE[] = {6, 4}, CHUNKS[] = {2, 4}, OTHER[] = {6, 2}, INNER[] = {3, 1};

struct told {
    int64_t calls, done, total, stop;
    int arrays;
    ozarr_status refuse;
    char path[32];
};

static ozarr_status tell(void *user, int64_t done, int64_t total) {
    struct told *told = user;
    told->calls++, told->done = done, told->total = total;
    return told->stop && done >= told->stop ? ozarr_set_error(OZARR_ERR_CANCELLED, "enough", NULL) : OZARR_OK;
}

/* Calls into the library are allowed in here. */
static ozarr_status change(void *user, const char *path, ozarr_spec *spec) {
    struct told *told = user;
    char json[2000];
    snprintf(told->path, sizeof told->path, "%s", path);
    told->arrays++;
    OK(ozarr_spec_set_chunks(spec, OTHER));
    OK(ozarr_spec_set_inner_chunks(spec, INNER));
    OK(ozarr_spec_set_compressor(spec, "gzip", 3));
    OK(ozarr_spec_to_json(spec, json, sizeof json, NULL));
    CHECK(strstr(json, "sharding_indexed") && strstr(json, "gzip") && !strstr(json, "zstd"));
    return told->refuse;
}

static void fill(ozarr_store *store, const char *path) {
    ozarr_spec *spec = NULL;
    ozarr_array *a = NULL;
    const char *names[] = {"y", "x"};
    int32_t values[24];
    for (int i = 0; i < 24; i++) values[i] = i + 1;
    OK(ozarr_spec_new(OZARR_INT32, 2, SHAPE, &spec));
    OK(ozarr_spec_set_chunks(spec, CHUNKS));
    OK(ozarr_spec_set_dimension_names(spec, names));
    OK(ozarr_spec_set_member_json(spec, "attributes", "{\"units\": \"K\"}"));
    OK(ozarr_array_create_at(store, path, spec, OZARR_CREATE_NEW, &a));
    OK(ozarr_array_write(a, OZARR_INT32, values, sizeof values));
    OK(ozarr_array_close(a));
    ozarr_spec_free(spec);
}

/* The array holds the values of `fill`, in chunks of that shape. */
static void check(ozarr_store *store, const char *path, const int64_t *chunks, int32_t format) {
    ozarr_array *a = NULL;
    int32_t found;
    int64_t shape[2];
    double values[24];
    char text[8];
    if (!OK(ozarr_array_open_at(store, path, &a))) return;
    OK(ozarr_array_chunk_shape(a, shape));
    EQUAL(shape[0], chunks[0]);
    EQUAL(shape[1], chunks[1]);
    OK(ozarr_node_zarr_format(ozarr_array_node(a), &found));
    EQUAL(found, format);
    OK(ozarr_array_dimension_name(a, 1, text, sizeof text, NULL, NULL));
    TEXT(text, "x");
    OK(ozarr_attr_get_string(ozarr_array_node(a), "units", text, sizeof text, NULL));
    TEXT(text, "K");
    OK(ozarr_array_read(a, OZARR_FLOAT64, values, sizeof values));
    for (int i = 0; i < 24; i++) EQUAL(values[i], i + 1);
    ozarr_array_free(a);
}

int main(void) {
    struct told told = {0};
    ozarr_store *memory = NULL, *files = NULL;
    ozarr_array *a = NULL;
    ozarr_spec *spec = NULL;
    ozarr_node_kind kind;
    ozarr_copy_options options = OZARR_COPY_OPTIONS_INIT;

    OK(ozarr_store_memory(&memory));
    OK(ozarr_store_open("files.zarr", "r+", &files));
    fill(memory, "g/a");

    /* With nothing said, and changed by a function: from memory into files. */
    OK(ozarr_copy_at(memory, "g", files, "same", NULL));
    check(files, "same/a", CHUNKS, 3);
    options.change = change, options.progress = tell, options.user = &told;
    OK(ozarr_copy_at(memory, "g", files, "new", &options));
    check(files, "new/a", OTHER, 3);
    EQUAL(told.arrays, 1);
    TEXT(told.path, "g/a");
    CHECK(told.calls > 0 && told.done == told.total);

    /* In format 2, with little memory; over what is there, if that is said. */
    options.change = NULL, options.zarr_format = 2, options.memory = 1;
    ERR(OZARR_ERR_EXISTS, ozarr_copy_at(memory, "g", files, "new", &options));
    options.mode = OZARR_CREATE_OVERWRITE;
    OK(ozarr_copy_at(memory, "g", files, "new", &options));
    check(files, "new/a", CHUNKS, 2);

    /* By locations, and by a specification. */
    OK(ozarr_array_open("files.zarr/new/a", "r", &a));
    OK(ozarr_array_copy_spec(a, 3, &spec));
    ozarr_array_free(a);
    OK(ozarr_spec_set_chunks(spec, OTHER));
    OK(ozarr_spec_set_type(spec, OZARR_FLOAT32));
    options = (ozarr_copy_options)OZARR_COPY_OPTIONS_INIT;
    options.spec = spec;
    OK(ozarr_copy("files.zarr/new/a", "files.zarr/by_spec", &options));
    check(files, "by_spec", OTHER, 3);
    ERR_SAYS(OZARR_ERR_ARGUMENT, "`options`->spec", "group", ozarr_copy("files.zarr/new", "files.zarr/x", &options));
    ozarr_spec_free(spec);
    options.spec = NULL, options.flags = OZARR_COPY_LINK;
    OK(ozarr_copy("files.zarr/by_spec", "files.zarr/linked", &options));
    check(files, "linked", OTHER, 3);

    /* Cancelled by either function: no node. */
    options = (ozarr_copy_options)OZARR_COPY_OPTIONS_INIT;
    options.progress = tell, options.user = &told, told.stop = 1;
    ERR_SAYS(OZARR_ERR_CANCELLED, "`progress`", "enough", ozarr_copy_at(memory, "g/a", files, "half", &options));
    OK(ozarr_store_node_kind(files, "half", &kind));
    EQUAL(kind, OZARR_NODE_KIND_NONE);
    options.progress = NULL, options.change = change, told.refuse = OZARR_ERR_STATE;
    ERR_SAYS(OZARR_ERR_STATE, "`change`", "", ozarr_copy_at(memory, "g/a", files, "none", &options));
    options.change = NULL;
    OK(ozarr_copy_at(memory, "g/a", files, "half", &options));
    check(files, "half", CHUNKS, 3);

    /* What is no option. */
    static const struct { uint32_t flags; int32_t format; const char *word; } BAD[] = {
        {8, 0, "is 8"}, {OZARR_COPY_VERIFY, 0, "OZARR_COPY_RAW"}, {OZARR_COPY_RAW | OZARR_COPY_LINK, 0, "at most"}, {OZARR_COPY_RAW, 2, "at most"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        options.flags = BAD[i].flags, options.zarr_format = BAD[i].format;
        ERR_SAYS(OZARR_ERR_ARGUMENT, "options", BAD[i].word, ozarr_copy("files.zarr", "y.zarr", &options));
    }
    options.flags = 0, options.zarr_format = 4;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "4", "2 or 3", ozarr_copy("files.zarr", "y.zarr", &options));
    options.zarr_format = 0, options.mode = OZARR_CREATE_OPEN_IF_SAME;
    ERR(OZARR_ERR_ARGUMENT, ozarr_copy("files.zarr", "y.zarr", &options));
    options.mode = OZARR_CREATE_NEW, options.overflow = 9;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "overflow", "9", ozarr_copy("files.zarr", "y.zarr", &options));
    options.overflow = 0, options.struct_size = 8;
    ERR_SAYS(OZARR_ERR_ARGUMENT, "options", "struct_size", ozarr_copy("files.zarr", "y.zarr", &options));

    /* Objects as they are: from memory to files and a zip archive and back, compared. */
    told = (struct told){0};
    options = (ozarr_copy_options)OZARR_COPY_OPTIONS_INIT;
    options.flags = OZARR_COPY_RAW | OZARR_COPY_VERIFY, options.progress = tell, options.user = &told;
    OK(ozarr_copy_at(memory, "g", files, "objects", &options));
    check(files, "objects/a", CHUNKS, 3);
    EQUAL(told.done, told.total);
    EQUAL(told.total, 2 * 5);
    options.flags = OZARR_COPY_RAW, options.progress = NULL;
    ERR(OZARR_ERR_EXISTS, ozarr_copy_at(memory, "g", files, "objects", &options));
    options.mode = OZARR_CREATE_OVERWRITE;
    OK(ozarr_copy_at(memory, "g", files, "objects", &options));
    options.flags = OZARR_COPY_RAW | OZARR_COPY_VERIFY, options.mode = OZARR_CREATE_NEW;
    OK(ozarr_copy("files.zarr/objects", "archive.zip", &options));
    OK(ozarr_copy("archive.zip/a", "back.zarr", &options));
    OK(ozarr_copy("archive.zip", "reshaped.zip", NULL));
    told.stop = 2, options.flags = OZARR_COPY_RAW, options.progress = tell;
    ERR_SAYS(OZARR_ERR_CANCELLED, "`progress`", "enough", ozarr_copy("back.zarr", "cut.zarr", &options));
    OK(ozarr_store_close(files));
    OK(ozarr_store_open("back.zarr", "r", &files));
    check(files, "", CHUNKS, 3);
    OK(ozarr_store_close(files));
    OK(ozarr_store_open("reshaped.zip", "r", &files));
    check(files, "a", CHUNKS, 3);
    OK(ozarr_store_close(files));
    ozarr_store_free(memory);
    return finish();
}
