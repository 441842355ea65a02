/* Writes checkpoints (six calls) and restarts from the newest one (five). A run that is killed goes on from there. */
#include <ozarr.h>
#include <stdio.h>

enum { N = 64, EVERY = 5 };
#define TRY(call) do { if (call) return fprintf(stderr, "%s\n  in %s\n", ozarr_last_error(), #call), 1; } while (0)

static double u[N][N], v[N][N];

static int save_state(int64_t step) {
    static const int64_t shape[] = {N, N};
    char name[32];
    ozarr_group *g = NULL;
    snprintf(name, sizeof name, "step-%06d", (int)step);
    TRY(ozarr_checkpoint_begin("checkpoints.zarr", name, &g));
    TRY(ozarr_group_put(g, "u", OZARR_FLOAT64, 2, shape, u, sizeof u));
    TRY(ozarr_group_put(g, "v", OZARR_FLOAT64, 2, shape, v, sizeof v));
    TRY(ozarr_attr_set_int64(ozarr_group_node(g), "step", step));
    TRY(ozarr_checkpoint_commit(g));
    TRY(ozarr_checkpoint_prune("checkpoints.zarr", 2));
    return 0;
}

static int restart(int64_t *step) {
    ozarr_group *g = NULL;
    ozarr_status status = ozarr_checkpoint_latest("checkpoints.zarr", &g);
    if (status == OZARR_ERR_NOT_FOUND) return 0; /* none yet: from the beginning */
    TRY(status);
    TRY(ozarr_group_get(g, "u", OZARR_FLOAT64, u, sizeof u));
    TRY(ozarr_group_get(g, "v", OZARR_FLOAT64, v, sizeof v));
    TRY(ozarr_attr_get_int64(ozarr_group_node(g), "step", step));
    ozarr_group_free(g);
    return 0;
}

int main(void) {
    int64_t step = 0;
    if (restart(&step)) return 1;
    for (const int64_t last = step + 12; step < last;) { /* 12 steps a run */
        step++;
        for (int i = 0; i < N * N; i++) u[i / N][i % N] += 1, v[i / N][i % N] -= 1;
        if (step % EVERY == 0 && save_state(step)) return 1;
    }
    if (restart(&step)) return 1;
    printf("restart at step %d: %.1f %.1f\n", (int)step, u[0][0], v[N - 1][N - 1]);
    return 0;
}
