/* Sets five attributes of an array, as the CF conventions have them, and reads two. Seven calls. */
#include <ozarr.h>
#include <stdio.h>

#define TRY(call) do { if (call) return fprintf(stderr, "%s\n  in %s\n", ozarr_last_error(), #call), 1; } while (0)

int main(void) {
    const int64_t shape[] = {4};
    const float range[] = {0, 500};
    const char *meanings[] = {"land", "sea"};
    char units[16];
    double found[2];
    int64_t count;
    ozarr_array *a = NULL;
    TRY(ozarr_array_create("attributes.zarr/t", OZARR_FLOAT32, 1, shape, NULL, OZARR_CREATE_OVERWRITE, &a));

    ozarr_node *t = ozarr_array_node(a);
    TRY(ozarr_attr_set_string(t, "units", "K"));
    TRY(ozarr_attr_set_double(t, "dt", 0.25));
    TRY(ozarr_attr_set_bool(t, "restart", true));
    TRY(ozarr_attr_set_numbers(t, "valid_range", OZARR_AS_STORED, range, 2)); /* of the array's type, float */
    TRY(ozarr_attr_set_strings(t, "flag_meanings", meanings, 2));
    TRY(ozarr_attr_get_string(t, "units", units, sizeof units, NULL));
    TRY(ozarr_attr_get_numbers(t, "valid_range", OZARR_FLOAT64, found, 2, &count));
    printf("%g to %g %s\n", found[0], found[1], units);

    TRY(ozarr_array_close(a));
    return 0;
}
