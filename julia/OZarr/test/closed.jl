# Every function on what is closed, and with wrong lists: an exception that says so. tools/names.py checks that none of the table of names is forgotten.

# Whether the call throws: an OZarrError of that status, or an ArgumentError for a closed context, which the package itself finds.
function refused(call, status)
    try
        call()
    catch e
        e isa OZarr.OZarrError && return e.status == status && occursin(" ", e.message)
        return e isa ArgumentError && occursin("closed", e.msg)
    end
    return false
end

@testset "what is closed" begin
    null = OZarr.OZARR_ERR_NULL
    z, g, ds = OZarr.create("closed.zarr/a", [1, 2, 3, 4]), OZarr.create_group("closed_group.zarr"), OZarr.create_dataset("closed_ds.zarr")
    define_time!(ds, "time", "days since 2026-01-01")
    steps, st, c = OZarr.series(ds, "time"), OZarr.memory(), OZarr.Context()
    made, kept = OZarr.create("closed_grows.zarr", Int64, (0,)), OZarr.begin_checkpoint("closed_c.zarr", "one")
    rows = OZarr.appender(made)
    plane, open = OZarr.create("closed_plane.zarr", [1 2; 3 4]), OZarr.create("open.zarr", [1 2; 3 4; 5 6])
    foreach(close, (z, g, steps, ds, st, c, rows, kept, plane))
    x = [1, 2, 3, 4]
    calls = [
        "Array(z)" => () -> Array(z), "z[1:3, 2]" => () -> z[1:2], "z[1:3, 2] = x" => () -> z[1:2] = [1, 2], "z .= x" => () -> z .= x,
        "copyto!" => () -> copyto!(z, x), "size" => () -> size(z), "chunks" => () -> OZarr.chunks(z), "OZarr.inner_chunks" => () -> OZarr.inner_chunks(z),
        "OZarr.chunk_grid" => () -> OZarr.chunk_grid(z), "OZarr.chunk_range" => () -> OZarr.chunk_range(z, 1, 1), "OZarr.item_size" => () -> OZarr.item_size(z),
        "OZarr.fill_value" => () -> OZarr.fill_value(z), "OZarr.missing_value" => () -> OZarr.missing_value(z), "dimension_names" => () -> OZarr.dimension_names(z),
        "OZarr.set_dimension_names!" => () -> OZarr.set_dimension_names!(z, ("x",)), "resize!" => () -> resize!(z, (5,)), "append!" => () -> append!(z, x),
        "OZarr.wait_growth" => () -> OZarr.wait_growth(z, 0; seconds = 0), "partition" => () -> OZarr.partition(z, 2, 1),
        "OZarr.iread!" => () -> OZarr.iread!(zeros(Int, 4), z), "OZarr.iwrite" => () -> OZarr.iwrite(z, x), "read_unpacked" => () -> read_unpacked(z),
        "write_packed!" => () -> write_packed!(z, [1.0, 2, 3, 4]), "read_times" => () -> read_times(z, "days since 2026-01-01"),
        "write_times!" => () -> write_times!(z, x, "days since 2026-01-01"), "OZarr.appender" => () -> OZarr.appender(z),
        "OZarr.path" => () -> OZarr.path(z), "OZarr.metadata" => () -> OZarr.metadata(z), "OZarr.zarr_format" => () -> OZarr.zarr_format(z),
        "OZarr.refresh!" => () -> OZarr.refresh!(z), "OZarr.export_node" => () -> OZarr.export_node(z), "flush" => () -> flush(z),
        "z.attrs[name]" => () -> z.attrs["x"], "z.attrs[name] = value" => () -> z.attrs["x"] = 1, "keys(z.attrs)" => () -> collect(z.attrs),
        "length(z.attrs)" => () -> length(z.attrs), "delete!(z.attrs, name)" => () -> delete!(z.attrs, "x"), "OZarr.replace_attrs!" => () -> OZarr.replace_attrs!(z, Dict()),
        "OZarr.together" => () -> OZarr.together(() -> 1, z), "z.settings[key]" => () -> z.settings["mode"], "z.settings[key] = value" => () -> z.settings["write_back"] = 1,
        "g[name]" => () -> g["x"], "g[path] = x" => () -> g["x"] = x, "keys(g)" => () -> keys(g), "OZarr.nodes" => () -> OZarr.nodes(g),
        "delete!(g, name)" => () -> delete!(g, "x"), "consolidate" => () -> OZarr.consolidate(g), "OZarr.dataset" => () -> OZarr.dataset(g),
        "OZarr.create" => () -> OZarr.create(g, "x", x), "OZarr.create_group" => () -> OZarr.create_group(g, "x"),
        "OZarr.commit!" => () -> OZarr.commit!(kept), "OZarr.abandon!" => () -> OZarr.abandon!(kept),
        "OZarr.group" => () -> OZarr.group(ds), "define_dimension!" => () -> define_dimension!(ds, "x", 1), "resize!" => () -> resize!(ds, "x", 1),
        "OZarr.dimensions" => () -> OZarr.dimensions(ds), "OZarr.dimension_length" => () -> OZarr.dimension_length(ds, "x"),
        "define_variable!" => () -> define_variable!(ds, "v", Float32, ("x",)), "define_coordinate!" => () -> define_coordinate!(ds, "x", [1.0]),
        "define_time!" => () -> define_time!(ds, "t", "days since 2026-01-01"), "set_coordinate!" => () -> set_coordinate!(ds, "x"),
        "keys(dataset)" => () -> keys(ds), "OZarr.coordinates" => () -> OZarr.coordinates(ds), "length(dataset)" => () -> length(ds), "dataset[name]" => () -> ds["x"],
        "OZarr.series" => () -> OZarr.series(ds, "time"), "series[name] = x" => () -> steps["v"] = x, "OZarr.step!" => () -> OZarr.step!(steps, 1),
        "position" => () -> position(steps), "OZarr.published" => () -> OZarr.published(steps), "flush" => () -> flush(steps),
        "append!" => () -> append!(rows, x), "position" => () -> position(rows), "flush" => () -> flush(rows), "store[path]" => () -> st["x"],
        "haskey(store, path)" => () -> haskey(st, "x"), "delete!(store, path)" => () -> delete!(st, "x"), "flush" => () -> flush(st),
        "z[[1, 5], :]" => () -> z[[1, 3]], "z[[1, 5], :] = x" => () -> z[[1, 3]] = [1, 2], "z[[CartesianIndex(1, 2)]]" => () -> plane[[CartesianIndex(1, 2)]],
        "z[[CartesianIndex(1, 2)]] = x" => () -> plane[[CartesianIndex(1, 2)]] = [1],
        "OZarr.read_many!" => () -> OZarr.read_many!((zeros(Int, 4), z)), "OZarr.write_many" => () -> OZarr.write_many((z, x)),
        "OZarr.info" => () -> OZarr.info(z), "OZarr.stats" => () -> OZarr.stats(z), "OZarr.stats" => () -> OZarr.stats(st), "OZarr.stats" => () -> OZarr.stats(c),
        "OZarr.explain" => () -> OZarr.explain(z), "OZarr.summarize" => () -> OZarr.summarize(z), "OZarr.digest" => () -> OZarr.digest(z),
        "OZarr.compare" => () -> OZarr.compare(z, z), "OZarr.rename!" => () -> OZarr.rename!(g, "x", "y"),
        "OZarr.copy_node" => () -> OZarr.copy_node(st, "x", st, "y"), "OZarr.import_node" => () -> OZarr.import_node(st, UInt8[1]), "context[key]" => () -> c["threads"], "context[key] = value" => () -> c["threads"] = 1,
    ]
    for (what, call) in calls
        is_right = refused(call, null)
        is_right || println("on what is closed: ", what)
        @test is_right
    end
    foreach(close, (z, g, steps, ds, st, c, rows, kept)) # again: it is closed already
    @test_throws BoundsError open[1:9, 1]
    @test_throws DimensionMismatch open[1, 1, 2]
    @test_throws DimensionMismatch open[1:2, 1] = [1, 2, 3]
    @test_throws DimensionMismatch open .= ones(Int, 2, 2)
    @test_throws Union{ArgumentError,DimensionMismatch,OZarrError} resize!(open, (1, 2, 3))
    @test_throws Union{ArgumentError,DimensionMismatch,OZarrError} OZarr.set_dimension_names!(open, ("x",))
    @test_throws Union{ArgumentError,DimensionMismatch} copyto!(zeros(2, 2), open)
    @test Array(open) == [1 2; 3 4; 5 6]
end
