/* Independent writes: finds chunks that two ranks changed between two collective calls with an array (the setting "check_writes"). */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys on their way to the ranks that compare them: a line for each. */
typedef struct lines {
    char *bytes;
    int *counts, *places; /* for each rank: its bytes, and where they begin */
    int64_t size;
} lines;

/* A key, and the rank that changed it. */
typedef struct changed {
    const char *key;
    int rank;
} changed;

ozarr_status om_check_begin(const ozarr_mpi *m, const ozarr_array *array) {
    return m->check_writes ? ozarr_node_set(ozarr_array_node(array), "list_changes", "1") : OZARR_OK;
}

void om_check_end(const ozarr_mpi *m) {
    for (size_t i = 0; i < m->handle_count; i++) {
        if (m->handles[i].array == NULL) continue;
        /* One that the program has freed lists nothing. */
        const ozarr_status ended = ozarr_node_set(m->handles[i].array, "list_changes", "0");
        OM_UNUSED(ended);
    }
}

static bool lines_new(lines *l, int size) {
    memset(l, 0, sizeof *l);
    l->counts = calloc((size_t)size, sizeof *l->counts);
    l->places = calloc((size_t)size, sizeof *l->places);
    return l->counts != NULL && l->places != NULL;
}

static void lines_free(lines *l) { free(l->bytes), free(l->counts), free(l->places); }

/* Where each rank's bytes begin, and memory for all. */
static ozarr_status lines_place(lines *l, int size) {
    for (int r = 0; r < size; r++) {
        if (l->size > INT32_MAX - l->counts[r]) return om_error(OZARR_ERR_LIMIT, "the keys of the chunks that were changed have 2^31 bytes and more");
        l->places[r] = (int)l->size;
        l->size += l->counts[r];
    }
    l->bytes = malloc((size_t)l->size + 1);
    return l->bytes != NULL ? OZARR_OK : om_error(OZARR_ERR_NO_MEMORY, "%lld bytes of keys", (long long)l->size);
}

/* The rank that compares a key of `length` bytes. */
static int comparer(const char *key, size_t length, int size) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)key[i]) * 1099511628211u;
    return (int)((h ^ h >> 32) % (uint64_t)size);
}

/* The keys that this rank changed, by the ranks that compare them. */
static ozarr_status sort_out(const char *text, int size, lines *out) {
    for (const char *at = text, *end; *at != 0; at = end + 1) {
        end = strchr(at, '\n');
        int *count = &out->counts[comparer(at, (size_t)(end - at), size)];
        if (*count > INT32_MAX - (int)(end - at + 1)) return om_error(OZARR_ERR_LIMIT, "the keys of the chunks that were changed have 2^31 bytes and more");
        *count += (int)(end - at + 1);
    }
    const ozarr_status status = lines_place(out, size);
    for (const char *at = text, *end; status == OZARR_OK && *at != 0; at = end + 1) {
        end = strchr(at, '\n');
        int *place = &out->places[comparer(at, (size_t)(end - at), size)];
        memcpy(out->bytes + *place, at, (size_t)(end - at + 1));
        *place += (int)(end - at + 1);
    }
    for (int r = 0; r < size && status == OZARR_OK; r++) out->places[r] -= out->counts[r];
    return status;
}

static ozarr_status list_mine(const ozarr_array *array, int size, lines *out) {
    size_t length = 0;
    ozarr_status status = ozarr_node_get(ozarr_array_node(array), "changes", NULL, 0, &length);
    if (status != OZARR_OK && status != OZARR_ERR_BUFFER_SIZE) return status;
    char *text = malloc(length + 1);
    if (text == NULL) return om_error(OZARR_ERR_NO_MEMORY, "%zu bytes of keys", length);
    status = ozarr_node_get(ozarr_array_node(array), "changes", text, length + 1, NULL);
    if (status == OZARR_OK) status = sort_out(text, size, out);
    free(text);
    return status;
}

static int by_key(const void *a, const void *b) {
    const changed *x = a, *y = b;
    const int order = strcmp(x->key, y->key);
    return order != 0 ? order : x->rank - y->rank;
}

/* Finds a key that came from two ranks; the lines become texts. */
static ozarr_status find(lines *in, int size, om_failure *found) {
    int64_t count = 0;
    for (int64_t i = 0; i < in->size; i++) count += in->bytes[i] == '\n';
    changed *all = malloc(((size_t)count + 1) * sizeof *all);
    if (all == NULL) return om_error(OZARR_ERR_NO_MEMORY, "a list of %lld keys", (long long)count);
    count = 0;
    for (int r = 0; r < size; r++)
        for (char *at = in->bytes + in->places[r], *end = at + in->counts[r]; at < end; at += strlen(at) + 1) {
            *(char *)memchr(at, '\n', (size_t)(end - at)) = 0;
            all[count++] = (changed){at, r};
        }
    qsort(all, (size_t)count, sizeof *all, by_key);
    for (int64_t i = 1; i < count && found->status == OZARR_OK; i++) {
        if (strcmp(all[i].key, all[i - 1].key) != 0) continue;
        found->status = OZARR_ERR_CONFLICT;
        snprintf(found->key, sizeof found->key, "%s", all[i].key);
        snprintf(found->message, sizeof found->message, "ranks %d and %d changed this chunk between two collective calls with the array, expected one rank "
                 "for each chunk, or a collective write", all[i - 1].rank, all[i].rank);
    }
    free(all);
    return OZARR_OK;
}

ozarr_status om_check_writes(ozarr_mpi *m, const ozarr_array *array) {
    if (!m->check_writes) return OZARR_OK;
    lines out, in;
    om_failure found;
    memset(&found, 0, sizeof found);
    bool room = lines_new(&out, m->size);
    room = lines_new(&in, m->size) && room;
    ozarr_status status = om_agree(m, room ? list_mine(array, m->size, &out) : om_error(OZARR_ERR_NO_MEMORY, "lists of %d ranks", m->size), NULL);
    if (status == OZARR_OK) status = om_check("MPI_Alltoall", MPI_Alltoall(out.counts, 1, MPI_INT, in.counts, 1, MPI_INT, m->comm));
    if (status == OZARR_OK) status = om_agree(m, lines_place(&in, m->size), NULL);
    if (status == OZARR_OK)
        status = om_check("MPI_Alltoallv", MPI_Alltoallv(out.bytes, out.counts, out.places, MPI_CHAR, in.bytes, in.counts, in.places, MPI_CHAR, m->comm));
    if (status == OZARR_OK) {
        status = find(&in, m->size, &found);
        if (status == OZARR_OK) status = om_check_begin(m, array);
        int64_t first = found.status != OZARR_OK ? m->rank : INT64_MAX;
        status = om_agree(m, status, &first);
        if (status == OZARR_OK && first != INT64_MAX) status = om_spread(m, &found, (int)first);
    }
    lines_free(&out), lines_free(&in);
    return status;
}
