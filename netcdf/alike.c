/* Variables that differ in names and attributes only: one array in memory encodes and decodes the chunk of each, where that is its only one. A
 * handle on each would take longer to open than that. */
#include "hierarchy.h"
#include "json.h"

#include <ozarr_advanced.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of the largest variable that is decoded here. */
enum { SMALL = 65536 };

/* The filters of two variables are the same. */
static bool same_filters(const oz_var *a, const oz_var *b) {
    bool same = a->filter_count == b->filter_count;
    for (int i = 0; i < a->filter_count && same; i++) {
        const oz_filter *one = &a->filters[i], *other = &b->filters[i];
        same = one->id == other->id && one->count == other->count;
        if (same && one->count) same = !memcmp(one->parameters, other->parameters, one->count * sizeof *one->parameters);
    }
    return same;
}

bool oz_alike(const oz_var *a, const oz_var *b) {
    if (a->type != b->type || a->rank != b->rank || a->big_endian != b->big_endian || !a->chunks != !b->chunks) return false;
    if (a->form == OZ_STRINGS || a->form == OZ_LISTS || memcmp(a->fill, b->fill, a->info->size)) return false;
    if (a->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims)) return false;
    if (a->chunks && memcmp(a->chunks, b->chunks, (size_t)a->rank * sizeof *a->chunks)) return false;
    return same_filters(a, b);
}

static void free_template(oz_template *template) {
    free(template->document);
    ozarr_array_free(template->encoder);
    ozarr_store_free(template->memory);
    free(template->key);
    free(template->chunk);
    *template = (oz_template){0};
}

enum { KINDS = sizeof ((oz_templates *)0)->kinds / sizeof(oz_template) };

oz_template *oz_templates_find(oz_templates *all, const oz_var *var) {
    for (int i = 0; i < KINDS; i++)
        if (all->kinds[i].var && oz_alike(all->kinds[i].var, var)) return &all->kinds[i];
    return NULL;
}

oz_template *oz_templates_take(oz_templates *all) {
    oz_template *template = &all->kinds[all->next++ % KINDS];
    free_template(template);
    return template;
}

void oz_templates_free(oz_templates *all) {
    for (int i = 0; i < KINDS; i++) free_template(&all->kinds[i]);
}

/* `bytes` are those of the elements. */
int oz_template_encoder(oz_template *template, const oz_var *var, size_t bytes) {
    int64_t shape[NC_MAX_VAR_DIMS], chunk[NC_MAX_VAR_DIMS], first[NC_MAX_VAR_DIMS] = {0};
    char key[256];
    size_t len = 0;
    template->tried = true;
    oz_var_lengths(var, shape);
    int status = oz_store_open("memory:", "r+", &template->memory);
    oz_place place = {template->memory, ""};
    if (!status) status = oz_array_import(&place, var->document, 3, var->rank, NULL, &template->encoder);
    if (!status) status = oz_error(ozarr_array_chunk_shape(template->encoder, chunk));
    for (int d = 0; d < var->rank && !status; d++)
        if (chunk[d] < shape[d]) return NC_NOERR;
    if (!status) status = oz_error(ozarr_array_chunk_key(template->encoder, first, key, sizeof key, &len));
    template->room = 2 * bytes;
    template->chunk = malloc(template->room);
    if (!status && template->chunk) template->key = strdup(key);
    return !status && !template->key ? NC_ENOMEM : status;
}

char *oz_template_key(const oz_template *template, const oz_var *var) {
    text key = {0};
    char *path = oz_var_path(var);
    if (path) text_put(&key, path), text_put(&key, "/"), text_put(&key, template->key);
    if (!path || key.failed) free(key.bytes), key.bytes = NULL;
    free(path);
    return key.bytes;
}

/* Whether a variable of a file that is open for reading, read for the first time, has one small chunk. */
static bool is_small(const oz_var *var, size_t *bytes) {
    const oz_file *file = var->group->file;
    *bytes = var->info->size;
    if (file->writable || file->ranks || var->decoded || var->array || !var->document || var->form != OZ_NUMBERS || var->scalar_of_one) return false;
    for (int d = 0; d < var->rank; d++) {
        if ((int64_t)var->dims[d]->len != var->shape[d]) return false;
        if (__builtin_mul_overflow(*bytes, var->dims[d]->len, bytes)) return false;
    }
    return *bytes && *bytes <= SMALL;
}

/* The template by which a variable like one before it is decoded; the first of a kind is read by its own handle. */
static oz_template *find_decoder(const oz_var *var, size_t bytes) {
    oz_file *file = var->group->file;
    if (!file->decoders) file->decoders = calloc(1, sizeof *file->decoders);
    if (!file->decoders) return NULL;
    for (int i = 0; i < KINDS; i++) {
        oz_template *decoder = &file->decoders->kinds[i];
        if (!decoder->document || strcmp(decoder->document, var->document) != 0) continue;
        if (!decoder->tried && oz_template_encoder(decoder, var, bytes)) return NULL;
        return decoder->key ? decoder : NULL;
    }
    oz_templates_take(file->decoders)->document = strdup(var->document);
    return NULL;
}

ozarr_array *oz_var_decoder(oz_var *var) {
    int64_t first[NC_MAX_VAR_DIMS] = {0};
    size_t bytes, len = 0;
    if (!is_small(var, &bytes)) return NULL;
    var->decoded = true;
    oz_template *decoder = find_decoder(var, bytes);
    char *key = decoder ? oz_template_key(decoder, var) : NULL;
    if (!key) return NULL;
    ozarr_status status = ozarr_store_key_get(var->group->file->store, key, decoder->chunk, decoder->room, &len);
    if (!status) status = ozarr_array_chunk_write(decoder->encoder, first, false, decoder->chunk, len);
    free(key);
    return status ? NULL : decoder->encoder;
}
