/* Writes an array into a SQLite database, and reads a part of it. */
#include "sqlite_store.h"

#include <stdio.h>

int main(void) {
    ozarr_store *store = NULL;
    ozarr_spec *spec = NULL;
    ozarr_array *t = NULL;
    static double field[60][50];
    int64_t shape[] = {60, 50}, chunks[] = {30, 50}, inner[] = {10, 10};
    for (int i = 0; i < 60; i++)
        for (int j = 0; j < 50; j++) field[i][j] = 100 * i + j;

    if (sqlite_store_open("run.db", "r+", &store)) goto fail;
    if (ozarr_spec_new(OZARR_FLOAT64, 2, shape, &spec)) goto fail;
    if (ozarr_spec_set_chunks(spec, chunks) || ozarr_spec_set_inner_chunks(spec, inner)) goto fail;
    if (ozarr_array_create_at(store, "run/temperature", spec, OZARR_CREATE_OVERWRITE, &t)) goto fail;
    if (ozarr_array_write(t, OZARR_FLOAT64, field, sizeof field)) goto fail;
    if (ozarr_attr_set_string(ozarr_array_node(t), "units", "K")) goto fail;

    double corner[2][3];
    int64_t start[] = {58, 47}, count[] = {2, 3};
    if (ozarr_array_read_region(t, start, count, OZARR_FLOAT64, corner, sizeof corner)) goto fail;
    printf("corner: %g to %g\n", corner[0][0], corner[1][2]);
    if (ozarr_array_close(t) || ozarr_store_close(store)) goto fail;
    ozarr_spec_free(spec);
    return 0;

fail:
    fprintf(stderr, "%s\n", ozarr_last_error());
    return 1;
}
