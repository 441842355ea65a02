# Options, settings, contexts, logs, requests, parallel programs, hierarchies.

@testset "options" begin
    s = OZarr.memory()
    wrong(call, word) = try call(); false catch e; e isa ArgumentError && occursin(word, e.msg) end
    @test wrong(() -> OZarr.create(s, "x", Int8, 2; chunk = 2), "no option chunk, expected one of attributes, big_endian, checksum, chunk_extents, chunks")
    @test wrong(() -> OZarr.create_group(s, "x"; overwrit = true), "no option overwrit, expected one of open_if_same, overwrite")
    @test wrong(() -> OZarr.document(Int8, 2; overwrite = true), "document has no option overwrite")
    @test wrong(() -> OZarr.create(s, "x", Int8, 2; shuffle = :bits), "shuffle is :bits, expected one of :none, :byte, :bit")
    @test wrong(() -> OZarr.create(s, "x", Int8, 2.5), "found the size (2.5,), expected integers")
    @test wrong(() -> OZarr.create(s, "x", [1], 2), "found a size beside an array")
    @test wrong(() -> OZarr.create(s, "x", 5, 2), "found Int64, expected a type")
    @test_throws DimensionMismatch OZarr.create(s, "x", Int8, 2, 2; chunks = 2)
    @test !haskey(s, "x")
    z = OZarr.create(s, "z", Float32, 8, 6; chunks = (4, 3), inner_chunks = (2, 3), compressor = "blosc:zstd", level = 5, shuffle = :bit,
        keep_bits = 12, checksum = true, order = :F, separator = '.', names = ("x", "y"), attributes = Dict("a" => 1))
    text = OZarr.metadata(z)
    @test all(word -> occursin(word, text), ("bitshuffle", "bitround", "crc32c", "transpose", "sharding_indexed")) && OZarr.inner_chunks(z) == (2, 3)
    again = OZarr.create(s, "again", OZarr.Document(text))
    @test OZarr.metadata(again) == text
    @test OZarr.create(s, "z", Float32, 8, 6; chunks = (4, 3), open_if_same = true, inner_chunks = (2, 3), compressor = "blosc:zstd", level = 5,
        shuffle = :bit, keep_bits = 12, checksum = true, order = :F, separator = '.', names = ("x", "y"), attributes = Dict("a" => 1)) isa ZArray
    @test occursin("zfp", OZarr.document(Float64, 16, 16; zfp = (accuracy = 1e-3,))) && occursin("zfp", OZarr.document(Float64, 16, 16; zfp = :reversible))
    uneven = OZarr.create(s, "uneven", Float32, 6, 10; chunks = (3, 4), chunk_extents = 2 => [4, 3, 3])
    @test OZarr.chunk_grid(uneven) == (2, 3) && OZarr.chunk_range(uneven, 2, 3) == 8:10
    @test OZarr.suggest(Float64, 1000, 1000).text != "" && OZarr.fill_value(OZarr.create(s, "f", Int16, 2; fill = 7)) === Int16(7)
    @test OZarr.set_dimension_names!(z, (nothing, "lat")) === z && dimension_names(z) == (nothing, "lat") && OZarr.zarr_format(z) == 3
end

@testset "statistics, digests and differences" begin
    s = OZarr.memory()
    large = typemax(Int64)
    values = reshape(large .- Int64.(1:12), 4, 3)
    a, b = OZarr.create(s, "a", values), OZarr.create(s, "b", Int64, 4, 3; chunks = (1, 2))
    b[:, :] = values
    found = OZarr.summarize(a)
    @test (found.elements, found.count, found.min, found.max) == (12, 12, large - 12, large - 1)
    found = OZarr.summarize(a, 2:2:4, 1:2:3)
    @test (found.elements, found.min, found.max) == (4, large - 12, large - 2)
    @test OZarr.summarize(OZarr.create(s, "u", [typemax(UInt64)])).max === typemax(UInt64)
    odd = OZarr.summarize(OZarr.create(s, "f", [1.5, NaN, Inf]))
    @test (odd.nan, odd.infinite, odd.count, odd.mean) == (1, 1, 1, 1.5)
    @test isnan(OZarr.summarize(a, 1:0, :).min)
    @test OZarr.digest(a) == OZarr.digest(b) && length(OZarr.digest(a)) == 32 && OZarr.digest(a, :, 1:2) != OZarr.digest(a)
    @test OZarr.compare(a, b) == (elements = 12, differing = 0, largest_absolute = 0.0, largest_relative = 0.0, first = nothing)
    b[3, 2] -= 100
    found = OZarr.compare(a, b)
    @test (found.differing, found.largest_absolute, found.first) == (1, 100.0, CartesianIndex(3, 2))
    @test OZarr.compare(a, b; absolute = 100).differing == 0
    @test_throws BoundsError OZarr.summarize(a, 1:5, 1)
    @test fails(() -> OZarr.summarize(OZarr.create(s, "t", ["text"])), OZarr.OZARR_ERR_TYPE, "string")
end

@testset "settings, contexts and logs" begin
    before = OZarr.settings["strict"]
    OZarr.settings["strict"] = true
    @test OZarr.settings["strict"] == "1"
    OZarr.settings["strict"] = before
    c = OZarr.Context(threads = 2, strict = false)
    @test c["threads"] == "2"
    @test fails(() -> c["colour"] = "red", OZarr.OZARR_ERR_ARGUMENT, "colour")
    z = OZarr.create("settings.zarr", Float64, 4)
    z.settings["write_fill_chunks"] = true
    @test z.settings["write_fill_chunks"] == "1"
    # A message for what is odd, in the call that finds it.
    write("settings.zarr/zarr.json", replace(read("settings.zarr/zarr.json", String), "\"node_type\":" => "\"node_type\": \"array\", \"node_type\":"))
    said = String[]
    OZarr.set_log((level, message) -> push!(said, "$level: $message"), c; level = :info)
    OZarr.store("settings.zarr"; context = c)[""]
    OZarr.set_log((level, message) -> error("not here"), c; level = :off)
    @test !isempty(said) && all(message -> occursin(r"^warning: .*node_type.*more than once", message), said)
    close(c)
    @test_throws ArgumentError c["threads"]
    @test_throws ArgumentError OZarr.set_log(println, c)
    s = OZarr.store("settings.zarr", Dict("file.sync" => "each"); mode = "r+")
    @test s[""] isa ZArray
    @test fails(() -> OZarr.store("settings.zarr"; colour = "red"), OZarr.OZARR_ERR_ARGUMENT, "colour")
end

@testset "requests" begin
    x = reshape(collect(1.0:64), 8, 8)
    z = OZarr.create(OZarr.memory(), "z", x; chunks = (4, 4))
    y = zeros(8, 2)
    r = OZarr.iread!(y, z, :, 3:4)
    wait(r)
    @test y == x[:, 3:4] && OZarr.isdone(r) && OZarr.state(r) == :done && OZarr.error_of(r) === nothing
    halo = zeros(Float32, 10, 10)
    more = [OZarr.iread!(view(halo, 2:9, 2:9), z), OZarr.iwrite(z, fill(-1, 2, 2), 1:2, 1:2; copy = true, seconds = 60)]
    OZarr.wait_all(more)
    columns = [zeros(8) for _ in 1:8]
    OZarr.wait_all(OZarr.iread!(columns[k], z, :, k) for k in 1:8)
    @test reduce(hcat, columns) == Array(z)
    @test OZarr.fill_value(OZarr.create(OZarr.memory(), "n", x; fill = "NaN")) === NaN
    @test OZarr.wait_any(more) in (1, 2) && z[1, 1] == -1 && halo[2:9, 2:9] in (x, Array(z)) && halo[1, 1] == 0
    @test_throws DimensionMismatch OZarr.iread!(zeros(3), z, :, 1)
    @test_throws ArgumentError OZarr.iread!(1:8, z, :, 1)
    @test_throws BoundsError OZarr.iread!(zeros(8), z, :, 9)
    late = OZarr.iwrite(z, zeros(8, 8))
    OZarr.cancel(late)
    @test try wait(late); true catch e; e isa OZarrError && e.status == OZarr.OZARR_ERR_CANCELLED end
    close(late)
    @test fails(() -> wait(late), OZarr.OZARR_ERR_NULL)
    OZarr.shutdown()
    @test sum(z) isa Float64
end

@testset "batches" begin
    s = OZarr.memory()
    x = reshape(collect(1:48), 8, 6)
    t, p = OZarr.create(s, "t", Int32, 8, 6; chunks = (8, 6)), OZarr.create(s, "p", Int16, 5)
    OZarr.write_many(((t, x[:, i], :, i) for i in 1:6)..., (p, 1:5))
    @test t[:, :] == x && p[:] == 1:5
    halo, column, five = zeros(10, 8), zeros(Int, 8), zeros(Int16, 5)
    OZarr.read_many!((view(halo, 2:9, 2:7), t), (column, t, 8:-1:1, 6), (five, p, :), (Int16[], p, 3:2))
    @test halo[2:9, 2:7] == x && sum(halo) == sum(x) && column == 48:-1:41 && five == 1:5
    OZarr.read_many!()
    # More than there is room for on the stack, if each took some.
    many = zeros(Int, 5_000)
    OZarr.read_many!(((view(many, i:i), t, 1:1, 1) for i in 1:5_000)...)
    @test all(==(1), many)
    @test_throws DimensionMismatch OZarr.read_many!((five, p), (five, t))
    @test_throws BoundsError OZarr.read_many!((zeros(8), t, :, 7))
    @test_throws ArgumentError OZarr.read_many!((1:5, p))
    e = try OZarr.write_many((t, x), (p, [1, 2, 70000, 4, 5])) catch e; e end
    @test e isa OZarrError && occursin("entry 2", e.message) && occursin("element [3]", e.message)
    close(p)
    @test fails(() -> OZarr.read_many!((five, p)), OZarr.OZARR_ERR_NULL)
end

@testset "parallel programs" begin
    x = reshape(collect(1:120), 10, 12)
    z = OZarr.create("parts.zarr", Int64, 10, 12; chunks = (5, 3))
    for worker in 1:3
        part = partition(z, 3, worker)
        z[part...] = x[part...]
    end
    @test Array(z) == x && partition(z, 1, 1) == (1:10, 1:12) && partition(z, 1, 1, (:, 4:6)) == (1:10, 4:6)
    @test_throws ArgumentError partition(z, 3, 0)
    @test_throws ArgumentError partition(z, 3, 4)
    @test_throws BoundsError partition(z, 3, 1, (:, 1:13))
    bytes = OZarr.export_node(z)
    @test Array(OZarr.import_node("parts.zarr", bytes)) == x
    s = OZarr.store("parts.zarr")
    @test OZarr.import_node(s, bytes)[10, 12] == 120
    @test OZarr.import_node(OZarr.store("tree.zarr"), OZarr.export_node(OZarr.open("tree.zarr"))) isa ZGroup
    @test fails(() -> OZarr.import_node("parts.zarr", UInt8[1, 2]), OZarr.OZARR_ERR_METADATA)
end

@testset "hierarchies" begin
    g = OZarr.create_group("nodes.zarr")
    OZarr.create(g, "a/t", Int8, 2)
    OZarr.create(g, "b/t", Int8, 2)
    @test OZarr.nodes(g) == ["a" => :group, "b" => :group] && [n for (n, _) in OZarr.nodes(g; pattern = "*/t", depth = -1)] == ["a/t", "b/t"]
    @test get(g, "x", 5) == 5 && get(g, "a", nothing) isa ZGroup && OZarr.path(g["a/t"]) == "a/t"
    OZarr.rename!(g, "b", "c")
    seen = Int[]
    OZarr.copy_node("nodes.zarr/c/t", "nodes.zarr/a/u"; progress = (done, total) -> push!(seen, total))
    @test !isempty(seen)
    @test_throws DivideError OZarr.copy_node("nodes.zarr/c/t", "nodes.zarr/a/v"; progress = (done, total) -> done ÷ 0)
    @test_throws ArgumentError OZarr.copy_node("nodes.zarr/c/t", "nodes.zarr/a/v"; rwa = true)
    m = OZarr.memory()
    OZarr.copy_node(OZarr.store("nodes.zarr"), "c", m, "d"; raw = true, verify = true)
    @test m["d/t"][:] == [0, 0]
    delete!(g, "c")
    @test keys(g) == ["a"] && issubset(["t", "u"], keys(g["a"]))
    @test fails(() -> delete!(g, "x"), OZarr.OZARR_ERR_NOT_FOUND)
    z = g["a/t"]
    OZarr.together(z) do attrs
        attrs["valid_range"] = Float32[0.1, 2]
        attrs["many"] = ["a", "b"]
        attrs["yes"] = true
    end
    @test_throws DivideError OZarr.together(attrs -> (attrs["before"] = 1; attrs["after"] = 1 ÷ 0), z)
    @test OZarr.refresh!(z).attrs["before"] == 1 && !haskey(z.attrs, "after")
    z.attrs["stored"] = "at once, as before"
    @test OZarr.refresh!(z).attrs["stored"] == "at once, as before"
    @test OZarr.refresh!(z).attrs["valid_range"] == [0.1, 2] && z.attrs["many"] == ["a", "b"] && z.attrs["yes"] === true
    m = OZarr.memory()
    x = OZarr.create(m, "x", Float32, 2; attributes = Dict("_FillValue" => "AAAAAAAAIsA=", "other" => "AAAAAAAAIsA="))
    @test x.attrs["_FillValue"] === -9.0 && get(x.attrs, "_FillValue", 0) === -9.0 && x.attrs["other"] == "AAAAAAAAIsA="
    y = OZarr.create(m, "y", Float32, 2; attributes = Dict(x.attrs))
    @test Dict(y.attrs) == Dict(x.attrs) && y.attrs["_FillValue"] === -9.0
    y.attrs["_FillValue"] = NaN
    @test isnan(y.attrs["_FillValue"]) && Dict(y.attrs)["_FillValue"] == "AAAAAAAA+H8="
    @test OZarr.create(m, "z", Int32, 2; attributes = Dict("_FillValue" => "AAAAAAAAIsA=")).attrs["_FillValue"] == "AAAAAAAAIsA="
    z[:] = [1, 2]
    @test OZarr.info(z).chunks == 1 && OZarr.explain(z).chunks == 1 && OZarr.explain(z, 1:1; write = true).partial_chunks == 1
end

@testset "messages count as Julia does" begin
    s = OZarr.memory()
    said(call) = try call(); "" catch e; sprint(showerror, e) end
    z = OZarr.create(s, "z", Int8, 20, 30)
    x = zeros(Int, 20, 30)
    x[12, 15] = 1000
    @test occursin("[12, 15]", said(() -> z[:, :] = x))
    @test occursin("`chunks`[2]", said(() -> OZarr.create(s, "c", Int8, 20, 30; chunks = (5, 0))))
end
