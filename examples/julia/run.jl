# A whole run: a series of its steps, a checkpoint every 10 steps, and a restart from the newest one.
#
#   julia run.jl [FOLDER]      runs to the end; killed and started again, it goes on from the newest checkpoint and ends with the same data
using OZarr

const steps, every, keep, nx, ny = 80, 10, 2, 32, 24

# One step of the state: a plate with a hot edge.
function advance!(t)
    old = copy(t)
    for j in 2:ny-1, i in 2:nx-1
        t[i, j] = 0.25 * ((old[i-1, j] + old[i+1, j]) + (old[i, j-1] + old[i, j+1]))
    end
end

# Stores the state after that many steps.
function save(restart, t, step)
    OZarr.checkpoint(restart, "step-" * lpad(step, 4, "0")) do c
        c["t"] = t
        c.attrs["step"] = step
    end
    OZarr.prune_checkpoints(restart, keep)
end

# Gets the state of the newest checkpoint, and gives how many steps it is after; without one the state of the beginning.
function restore!(restart, t)
    t[1, :] .= 100
    newest = try
        OZarr.latest_checkpoint(restart)
    catch e
        e isa OZarr.OZarrError && e.status == OZarr.OZARR_ERR_NOT_FOUND || rethrow()
        return 0
    end
    t .= Array(newest["t"])
    step = Int(newest.attrs["step"])
    close(newest)
    return step
end

# Defines what the run writes: the field, and its value beside a corner in every second step. What is there already is opened: a new start goes on with
# it, completes what a kill has left half defined, and replaces no run that goes on.
function define(run)
    ds = OZarr.create_dataset(run; open_if_same = true)
    define_dimension!(ds, "y", ny)
    define_dimension!(ds, "x", nx)
    define_time!(ds, "time", "seconds since 2026-01-01")
    define_variable!(ds, "t", Float32, ("x", "y", "time"))
    define_variable!(ds, "corner", Float64, ("time",))
    return ds
end

function go_on(folder)
    run, restart, t = joinpath(folder, "run.zarr"), joinpath(folder, "restart.zarr"), zeros(nx, ny)
    ds = define(run)
    # No other run commits checkpoints while the series is open: it is opened before the newest one is read, then again, to cut off what is beyond.
    step = OZarr.series(_ -> restore!(restart, t), ds, "time")
    OZarr.series(ds, "time"; keep = step, publish_every = 4) do series
        # Removes what a kill has left, now that the open series tells that no other run writes a checkpoint.
        OZarr.prune_checkpoints(restart, keep)
        while step < steps
            advance!(t)
            series["t"] = t
            step % 2 == 0 && (series["corner"] = t[2, 2])
            OZarr.step!(series, 60step)
            step += 1
            if step % every == 0
                flush(series)
                save(restart, t, step)
            end
        end
    end
    close(ds)
    println(steps, " steps")
end

go_on(get(ARGS, 1, "."))
