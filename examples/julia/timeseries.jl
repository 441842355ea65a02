# A run that writes two variables step by step, stops, and goes on where it stopped: readers see a step when both variables have it.
using OZarr

# Runs up to a step: of a new dataset, or of one that is there.
function run_until(ds, last)
    OZarr.series(ds, "time") do steps
        for step in position(steps):last-1
            OZarr.step!(steps, 60step, "t" => fill(Float32(step), 8), "p" => fill(Float32(-step), 8))
        end
    end
    close(ds)
end

ds = OZarr.create_dataset("series.zarr"; overwrite = true)
define_dimension!(ds, "x", 8)
define_time!(ds, "time", "seconds since 2026-01-01")
define_variable!(ds, "t", Float32, ("x", "time"); units = "K")
define_variable!(ds, "p", Float32, ("x", "time"); units = "Pa")
run_until(ds, 70)

run_until(OZarr.dataset("series.zarr"; mode = "r+"), 100)

OZarr.dataset("series.zarr") do all
    println(OZarr.dimension_length(all, "time"), " steps, the last at ", all["time"][end], " s: t = ", all["t"][1, end], ", p = ", all["p"][8, end])
end
