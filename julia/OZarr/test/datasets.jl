# Datasets, packing, times, time steps.
using Dates

@testset "datasets" begin
    ds = OZarr.create_dataset("run_ds.zarr")
    define_coordinate!(ds, "x", [0.5, 1.5, 2.5]; units = "m")
    @test_throws ArgumentError define_coordinate!(ds, "names", ["a", "bb"])
    define_dimension!(ds, "y", 2)
    time = define_time!(ds, "time", "hours since 2026-01-01")
    t = define_variable!(ds, "t", Float32, ("x", "y", "time"); units = "K", long_name = "temperature", attributes = Dict("cell" => "mean"),
        chunks = (3, 2, 4), compressor = "zstd", level = 7, shuffle = :byte)
    @test size(t) == (3, 2, 0) && dimension_names(t) == ("x", "y", "time") && t.attrs["units"] == "K" && t.attrs["cell"] == "mean"
    resize!(ds, "time", 2)
    t = ds["t"]
    @test size(t) == (3, 2, 2)
    t .= reshape(1:12, 3, 2, 2)
    write_times!(ds["time"], [DateTime(2026, 1, 1), DateTime(2026, 1, 2, 6)])
    ds.attrs["title"] = "a run"
    @test keys(ds) == ["x", "time", "t"] || Set(keys(ds)) == Set(["x", "time", "t"])
    @test Dict(OZarr.dimensions(ds)) == Dict("x" => 3, "y" => 2, "time" => 2) && OZarr.dimension_length(ds, "time") == 2 == OZarr.dimension_length(ds, "time"; longest = true)
    @test haskey(ds, "t") && !haskey(ds, "q") && "x" in OZarr.coordinates(ds) && !("t" in OZarr.coordinates(ds))
    close(ds)
    @test sprint(show, ds) == "closed Dataset"
    ds = OZarr.dataset("run_ds.zarr")
    @test read_times(ds["time"], "hours since 2026-01-01")[2] == 30
    @test ds["t"][2, 1, 2] == 8 && ds["time"][:] == [0, 30] && ds.attrs["title"] == "a run"
    @test read_times(DateTime, ds["time"]) == [DateTime(2026, 1, 1), DateTime(2026, 1, 2, 6)]
    @test read_times(ds["time"], "minutes since 2026-01-01", 2) == 1800 && read_times(DateTime, ds["time"], 2) == DateTime(2026, 1, 2, 6)
    @test OZarr.dataset(d -> length(d), OZarr.open("run_ds.zarr")) == 3
    @test fails(() -> ds["q"], OZarr.OZARR_ERR_NOT_FOUND)
    @test fails(() -> define_dimension!(ds, "z", 3), OZarr.OZARR_ERR_READ_ONLY)
    @test_throws ArgumentError define_variable!(ds, "v", Int8, ("x",); unit = "m")
    @test_throws ArgumentError OZarr.create_dataset("x.zarr"; format = 2)
end

@testset "packing, missing values and calendars" begin
    ds = OZarr.create_dataset("packed.zarr")
    define_dimension!(ds, "x", 4)
    p = define_variable!(ds, "p", Int16, "x"; scale_factor = 0.5, add_offset = 100, missing_value = -1)
    write_packed!(p, [100, 101.5, NaN, 90])
    @test p[:] == [0, 3, -1, -20] && isequal(read_unpacked(p), [100, 101.5, NaN, 90]) && read_unpacked(Float32, p, 2) === 101.5f0
    write_packed!(p, [missing, 110.0], 1:2)
    @test isequal(read_missing(p), [missing, 20, missing, -20]) && OZarr.missing_value(p) === Int16(-1) && ismissing(read_missing(p, 1))
    @test fails(() -> write_packed!(p, [1e9], 1:1), OZarr.OZARR_ERR_RANGE)
    @test_throws DimensionMismatch write_packed!(p, [1.0, 2.0], 1:3)
    t = define_time!(ds, "time", "days since 2000-01-01"; length = 2, calendar = "noleap")
    # In this calendar nothing would say that a time is missing.
    @test fails(() -> write_times!(t, [1, typemin(Int64)], "days since 2000-01-01"), OZarr.OZARR_ERR_RANGE)
    write_times!(t, [1, 2], "days since 2000-01-01")
    @test read_times(t, "hours since 2000-01-01") == [24, 48]
    @test_throws ArgumentError read_times(DateTime, t)
    u = define_time!(ds, "u", "days since 2000-01-01"; length = 2)
    @test_throws ArgumentError OZarr.create(OZarr.memory(), "x", [DateTime(2000)])
    @test_throws ArgumentError OZarr.create(OZarr.memory(), "x", Dates.Day, 2)
    write_times!(u, [DateTime(2000, 2, 1), missing])
    @test isequal(read_times(DateTime, u), [DateTime(2000, 2, 1), missing])
    @test fails(() -> write_times!(u, DateTime(2000, 1, 1, 5), 1), OZarr.OZARR_ERR_RANGE)
    # Before 1582-10-15 the standard calendar is not Julia's.
    @test_throws ArgumentError write_times!(u, DateTime(1500, 1, 1), 1)
    write_times!(u, DateTime(1582, 10, 15), 1)
    @test read_times(DateTime, u, 1) == DateTime(1582, 10, 15)
    write_times!(u, [-200_000], "days since 2000-01-01", 1:1)
    @test_throws ArgumentError read_times(DateTime, u)
    g = define_time!(ds, "g", "days since 2000-01-01"; length = 1, calendar = "proleptic_gregorian")
    write_times!(g, [DateTime(1500, 1, 1)])
    @test read_times(DateTime, g, 1) == DateTime(1500, 1, 1)
    @test OZarr.time_to_text("days since 2000-02-28", 1; calendar = "noleap") == OZarr.time_to_text("days since 2000-01-01", 60 - 1; calendar = "noleap")
    @test OZarr.time_from_text("days since 2000-01-01", OZarr.time_to_text("days since 2000-01-01", 45)) == 45
    close(ds)
end

@testset "time steps" begin
    z = OZarr.create("steps.zarr", Float64, 3, 0; chunks = (3, 2))
    reader = OZarr.open("steps.zarr")
    a = OZarr.appender(z)
    push!(a, [1, 2, 3])
    @test position(a) == 1 && OZarr.published(a) == 0
    @test fails(() -> OZarr.wait_growth(reader, 0; seconds = 0.001), OZarr.OZARR_ERR_TIMEOUT)
    append!(a, [4 7; 5 8; 6 9])
    @test OZarr.published(a) == 2 && OZarr.wait_growth(reader, 0; seconds = 5) == 2
    @test_throws DimensionMismatch push!(a, [1])
    close(a)
    @test Array(OZarr.refresh!(reader)) == [1 4 7; 2 5 8; 3 6 9]
    OZarr.appender(z; publish_every = 1) do b
        push!(b, Float32[0, 0, 0])
        flush(b)
        @test OZarr.published(b) == 4
    end
    @test_throws ArgumentError OZarr.appender(z; dim = 3)
end

@testset "series" begin
    ds = OZarr.create_dataset("series.zarr")
    define_dimension!(ds, "x", 3)
    define_time!(ds, "time", "seconds since 2026-01-01")
    for name in ("t", "p")
        define_variable!(ds, name, Float32, ("x", "time"))
    end
    steps = OZarr.series(ds, "time"; publish_every = 1)
    halo = [-1.0, 7, 8, 9, -1]
    for step in 0:2
        p = view(halo, 4:-1:2)
        if step == 0
            steps["t"] = [1, 2, 3]
            steps["p"] = p
            OZarr.step!(steps, 0)
        else
            OZarr.step!(steps, 60step, "t" => [1, 2, 3], (step == 1 ? () : ("p" => p,))...)
        end
    end
    @test position(steps) == OZarr.published(steps) == 3
    OZarr.dataset("series.zarr") do reader
        @test OZarr.wait_growth(reader, "time", 2) == 3
        @test fails(() -> OZarr.wait_growth(reader, "time", 3; seconds = 0), OZarr.OZARR_ERR_TIMEOUT)
    end
    @test fails(() -> steps["q"] = [1, 2, 3], OZarr.OZARR_ERR_NOT_FOUND)
    @test_throws DimensionMismatch steps["t"] = [1, 2]
    @test fails(() -> OZarr.step!(steps, 60), OZarr.OZARR_ERR_ARGUMENT)
    @test fails(() -> OZarr.step!(steps, 180, "t" => [1, 2, 3], "t" => [1, 2, 3]), OZarr.OZARR_ERR_STATE)
    close(steps)
    close(ds)
    ds = OZarr.dataset("series.zarr"; mode = "r+")
    @test ds["p"][:, 3] == [9, 8, 7] && ds["time"][:] == [0, 60, 120]
    @test OZarr.series(position, ds, "time") == 3
    @test fails(() -> OZarr.series(ds, "time"; keep = 4), OZarr.OZARR_ERR_BOUNDS)
    @test OZarr.series(position, ds, "time"; keep = 2) == 2
    @test fails(() -> OZarr.series(ds, "height"), OZarr.OZARR_ERR_NOT_FOUND)
    # One number for each step, and values of the coordinate that no Float64 holds.
    define_variable!(ds, "total", Float64, ("time",))
    OZarr.series(ds, "time"; keep = 0) do steps
        totals = [1.0, 2.0, 3.0]
        @views steps["total"] = totals[2]
        OZarr.step!(steps, 2^53)
        steps["total"] = view(totals, 3)
        for value in (2^53 + 1, 1767225600123456789, typemax(Int), big(2)^64 + 1)
            @test_throws ArgumentError OZarr.step!(steps, value, "p" => [1, 2, 3])
        end
        steps["time"] = 2^53 + 1
        OZarr.step!(steps)
    end
    @test ds["total"][:] == [2, 3] && ds["time"][:] == [2^53, 2^53 + 1]
    close(ds)
end

@testset "checkpoints" begin
    for step in 1:3
        OZarr.checkpoint("points.zarr", "step-$step") do g
            g["u"] = fill(Float64(step), 4, 2)
            g.attrs["step"] = step
        end
    end
    @test_throws DivideError OZarr.checkpoint(g -> (g["u"] = [1]; 1 ÷ 0), "points.zarr", "step-4")
    @test OZarr.checkpoints("points.zarr") == ["step-1", "step-2", "step-3"]
    g = OZarr.latest_checkpoint("points.zarr")
    @test Array(g["u"]) == fill(3, 4, 2) && g.attrs["step"] == 3
    OZarr.prune_checkpoints("points.zarr", 1)
    @test OZarr.checkpoints("points.zarr") == ["step-3"]
    @test fails(() -> OZarr.latest_checkpoint("none.zarr"), OZarr.OZARR_ERR_NOT_FOUND)
    @test fails(() -> OZarr.commit!(OZarr.open("points.zarr"; mode = "r+")), OZarr.OZARR_ERR_ARGUMENT)
end
