/* Runs the calls that tools/misuse made (RUNS), each with a new fixture: the wrong values of a function first, then its good call, which
 * succeeds, since none of the wrong ones changed anything; then what is right of the values that are wrong elsewhere. Whether it fails or not, no
 * call changes errno or the floating-point environment. */
#include <errno.h>
#include <fenv.h>
#include <stdio.h>

typedef struct run {
    void (*first)(void);
    void (*call)(void);
    int inside; /* ANSWER or KEYS: within a function of a store, which alone has such a handle; else 0 */
} run;

/* Makes the call within a read, or a listing, of a store of the program's own. */
static void call_inside(int kind, void (*call)(void)) {
    ozarr_store_table own = OZARR_STORE_TABLE_INIT;
    ozarr_store *store = NULL;
    size_t size = 0;
    own.get = get, own.list = kind == KEYS ? list_keys : NULL, inside_call = call;
    OK(ozarr_store_from_table(c, &own, "r", &store));
    if (kind == ANSWER) CHECK(ozarr_store_key_get(store, "k", NULL, 0, &size) <= OZARR_OK);
    else OK(ozarr_store_key_list(store, "", each_key, NULL));
    inside_call = NULL;
    ozarr_store_free(store);
}

/* What calls by location find. */
static void disk(void) {
    const int64_t two = 2;
    ozarr_group *made = NULL;
    ozarr_array *old = NULL;
    ozarr_spec *form = NULL;
    ozarr_dataset *of = NULL;
    ozarr_store *zip = NULL;
    make("d.zarr");
    OK(ozarr_array_create("d.zarr/a", OZARR_INT8, 1, &two, NULL, OZARR_CREATE_NEW, &old));
    ozarr_array_free(old);
    OK(ozarr_dataset_create("d.zarr/ds", 0, OZARR_CREATE_NEW, &of));
    define(of);
    OK(ozarr_dataset_close(of));
    OK(ozarr_spec_from_json(DOCUMENT, &form));
    OK(ozarr_array_create_ex("two.zarr", form, OZARR_CREATE_NEW, &old));
    ozarr_spec_free(form), ozarr_array_free(old);
    OK(ozarr_store_open("z.zip", "r+", &zip));
    OK(ozarr_store_key_put(zip, "raw", "x", 1));
    OK(ozarr_store_close(zip));
    OK(ozarr_checkpoint_begin("c.zarr", "first", &made));
    OK(ozarr_checkpoint_commit(made));
}

int main(void) {
    static const run ALL[] = {RUNS};
    disk();
    fresh();
    stale();
    for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
        fresh();
        if (ALL[i].first != NULL) ALL[i].first();
        poison();
        errno = 42, fesetround(FE_UPWARD), feclearexcept(FE_ALL_EXCEPT);
        if (ALL[i].inside == 0) ALL[i].call();
        else call_inside(ALL[i].inside, ALL[i].call);
        if (errno != 42 || fegetround() != FE_UPWARD || fetestexcept(FE_ALL_EXCEPT) != 0)
            FAIL("function %d: errno %d, rounding %d, exceptions %d", (int)i, errno, fegetround(), fetestexcept(FE_ALL_EXCEPT));
        fesetround(FE_TONEAREST);
        stale();
    }
    printf("%d functions: %d wrong values refused, %d right ones taken\n", functions, refusals, acceptances);
    return finish();
}
