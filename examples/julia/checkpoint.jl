# Writes checkpoints and restarts from the newest one. A run that is killed goes on from there.
using OZarr

const every = 5

function save(step, u, v)
    OZarr.checkpoint("checkpoints.zarr", "step-$(lpad(step, 6, '0'))") do group
        group["u"] = u
        group["v"] = v
        group.attrs["step"] = step
    end
    OZarr.prune_checkpoints("checkpoints.zarr", 2)
end

# Step and fields of the newest checkpoint; without any, the beginning.
function restart()
    group = try
        OZarr.latest_checkpoint("checkpoints.zarr")
    catch e
        e isa OZarrError && e.status == OZarr.OZARR_ERR_NOT_FOUND || rethrow()
        return 0, zeros(64, 64), zeros(64, 64)
    end
    state = group.attrs["step"], Array(group["u"]), Array(group["v"])
    close(group)
    return state
end

function run(steps) # of this run
    first, u, v = restart()
    for step in first+1:first+steps
        u .+= 1
        v .-= 1
        step % every == 0 && save(step, u, v)
    end
end

run(12)
step, u, v = restart()
println("restart at step ", step, ": ", u[1, 1], " ", v[64, 64])
