# The package against a library: julia --project=julia/OZarr julia/OZarr/test/runtests.jl
using OZarr, Test

# The call throws an OZarrError of that status, whose message has that word.
function fails(call, status, word = "")
    try
        call()
    catch e
        e isa OZarr.OZarrError || rethrow()
        return e.status == status && occursin(word, e.message) && occursin(e.message, sprint(showerror, e))
    end
    return false
end

bare(json) = filter(c -> !isspace(c), json)

@testset "OZarr" begin cd(mktempdir()) do
    @testset "dimensions are reversed" begin
        x = reshape(collect(1.0:24), 4, 3, 2)
        z = OZarr.create("run.zarr/t", x; chunks = (4, 3, 1), names = ("lon", "lat", "time"))
        @test size(z) == (4, 3, 2) && OZarr.chunks(z) == OZarr.inner_chunks(z) == (4, 3, 1) && ndims(z) == 3 && eltype(z) == Float64
        @test OZarr.dimension_names(z) == ("lon", "lat", "time") && length(z) == 24 && size(z, 4) == 1 && !isempty(z)
        @test occursin("\"shape\":[2,3,4]", bare(OZarr.metadata(z)))
        @test sprint(show, z) == "4×3×2 ZArray{Float64,3} \"t\""
        close(z)
        @test !isopen(z) && sprint(show, z) == "closed ZArray{Float64,3}"
        z = OZarr.open("run.zarr")["t"]
        @test Array(z) == collect(z) == x
    end

    @testset "reading" begin
        x = reshape(collect(1.0:24), 4, 3, 2)
        z = OZarr.open("run.zarr/t")
        @test z[:, :, 2] == x[:, :, 2] && z[2, 3, 1] === 10.0 && z[end, end, end] == 24
        @test z[1:2:4, 3, :] == x[1:2:4, 3, :] && z[4:-2:1, 3:-1:2, 1] == x[4:-2:1, 3:-1:2, 1]
        @test z[2:3, 2, 1:1] == x[2:3, 2, 1:1] && z[:, 5:4, 1] == x[:, 3:2, 1] && z[Base.OneTo(2), 1, 1] == [1, 2]
        y = zeros(Float32, 8, 3)
        copyto!(view(y, 8:-2:1, :), z, :, :, 1)
        @test y[8:-2:1, :] == x[:, :, 1] && all(iszero, y[1:2:7, :])
        @test copyto!(zeros(Int, 4, 3, 2), z) == x
        @test_throws DimensionMismatch copyto!(zeros(3), z, :, 1, 1)
        y = zeros(8)
        copyto!(reshape(view(y, 1:2:8), 2, 2), z, 1:2, 1:2, 1)
        @test y[1:2:8] == vec(x[1:2, 1:2, 1])
    end

    @testset "writing by assignment" begin
        z = OZarr.create("run.zarr/w", Int32, 4, 3; fill = -1, compressor = "none")
        z[:, 2] = [1, 2, 3, 4]
        z[1, :] = 7:9
        z[4:-1:3, 3] = Float32[5, 6]
        z[2, 1] = 1.0
        @test Array(z) == [7 8 9; 1 2 -1; -1 3 6; -1 4 5]
        z[:, 1] = 0
        @test z[:, 1] == zeros(4)
        y = collect(reshape(1:48, 8, 6))
        z[:, :] = view(y, 1:2:8, 6:-2:1)
        @test Array(z) == y[1:2:8, 6:-2:1]
        z[2:3, 1:1] = [70, 80]
        @test z[2:3, 1] == [70, 80]
        z[1:2, 1] = Any[5, 6]
        @test z[1:2, 1] == [5, 6]
        @test_throws DimensionMismatch z[:, 1] = [1, 2, 3]
        @test_throws InexactError z[1, 1] = 3e9
        @test_throws InexactError z[1:1, 1] = Any[1.5]
    end

    @testset "every type" begin
        s = OZarr.memory()
        for (i, T) in enumerate((Bool, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, Float32, Float64, ComplexF32, ComplexF64))
            z = OZarr.create(s, "t$i", T[1, 0, 1])
            @test z[:] == T[1, 0, 1] && z[1] === T(1) && eltype(z) === T && eltype(s["t$i"]) === T
        end
        scalar = OZarr.create(s, "s", Float64; fill = NaN)
        @test isnan(scalar[])
        scalar[] = 2.5
        @test scalar[] == 2.5 && Array(scalar) == fill(2.5) && size(scalar) == ()
        many = OZarr.create(s, "many", Int8, ntuple(_ -> 1, 20))
        many[ntuple(_ -> 1, 20)...] = 3
        @test many[ntuple(_ -> 1, 20)...] == 3
        @test_throws ArgumentError OZarr.create(s, "x", Symbol, 3)
    end

    @testset "texts are bytes" begin
        mkpath("texts.zarr")
        write("texts.zarr/.zarray", """{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|S3","compressor":null,"fill_value":"","order":"C","filters":null}""")
        write("texts.zarr/0", "abcde\0")
        z = OZarr.open("texts.zarr"; mode = "r+")
        @test String(collect(z[1])) == "abc" && z[:] == [Tuple(b"abc"), Tuple(b"de\0")]
        z[2:2] = [Tuple(b"xyz")]
        @test read("texts.zarr/0", String) == "abcxyz"
    end

    @testset "growing and emptiness" begin
        z = OZarr.create(OZarr.memory(), "g", Float64, 2, 0; chunks = (2, 2))
        @test isempty(z) && Array(z) == zeros(2, 0)
        z[:, :] = zeros(2, 0)
        append!(z, [1.0 3.0; 2.0 4.0])
        append!(z, [5, 6])
        append!(z, view([0 7; 0 8], :, 2))
        @test Array(z) == [1 3 5 7; 2 4 6 8]
        append!(z, [9 9 9 9]; dim = 1)
        @test size(z) == (3, 4)
        resize!(z, 1, 2)
        @test Array(z) == [1.0 3.0]
        @test_throws DimensionMismatch append!(z, zeros(3, 3))
        @test_throws DimensionMismatch resize!(z, 1)
        @test_throws ArgumentError append!(z, [1]; dim = 3)
    end

    @testset "groups" begin
        g = OZarr.create_group("tree.zarr")
        OZarr.create_group(g, "a/b")
        OZarr.create(g, "t", Int16, 3)
        @test keys(g) == ["a", "t"] && length(g) == 2 && haskey(g, "t") && !haskey(g, "x") && g["a"]["b"] isa OZarr.ZGroup
        @test [name for (name, _) in g] == ["a", "t"] && sprint(show, g) == "ZGroup(a, t)"
        OZarr.consolidate(g)
        @test occursin("consolidated_metadata", OZarr.metadata(g))
        @test fails(() -> g["x"], OZarr.OZARR_ERR_NOT_FOUND, "x")
        @test fails(() -> OZarr.create_group(g, "a"), OZarr.OZARR_ERR_EXISTS)
        flush(g)
        close(g)
        @test fails(() -> keys(g), OZarr.OZARR_ERR_NULL)
        OZarr.erase("tree.zarr/a")
        @test OZarr.open(keys, "tree.zarr") == ["t"]
        s = OZarr.store("tree.zarr"; mode = "r+")
        @test haskey(s, "t") && s["t"] isa OZarr.ZArray && s[""] isa OZarr.ZGroup
        delete!(s, "t")
        @test !haskey(s, "t")
        close(s)
    end

    @testset "attributes are a dictionary" begin
        for node in (OZarr.create_group("attrs.zarr"), OZarr.create("attrs.zarr/a", Int8, 1))
            a = node.attrs
            @test isempty(a)
            a["units"] = "K \"é\" \n 😀"
            a["dt"] = 0.25
            a["steps"] = 12
            a["restart"] = true
            a["none"] = nothing
            a["list"] = [1, 2.5, "x", Any[]]
            a["nested"] = Dict("a" => (b = [1],))
            a["big"] = typemax(UInt64)
            @test a["units"] == "K \"é\" \n 😀" && a["dt"] === 0.25 && a["steps"] === 12 && a["restart"] === true && a["none"] === nothing
            @test a["list"] == [1, 2.5, "x", []] && a["nested"] == Dict("a" => Dict("b" => [1])) && a["big"] == typemax(UInt64)
            @test length(a) == 8 && first(a) == ("units" => "K \"é\" \n 😀") && haskey(a, "dt") && get(a, "x", 1) == 1
            @test Set(keys(a)) == Set(["units", "dt", "steps", "restart", "none", "list", "nested", "big"])
            delete!(a, "list")
            @test !haskey(a, "list")
            @test_throws KeyError a["list"]
            @test fails(() -> a["nan"] = NaN, OZarr.OZARR_ERR_RANGE)
            @test_throws ArgumentError a["f"] = sin
            @test_throws ArgumentError a["n\0"] = 1
            OZarr.replace_attrs!(node, Dict("only" => 1))
            @test collect(a) == ["only" => 1]
            @test isempty(empty!(a))
        end
        z = OZarr.create("attrs.zarr/b", Int8, 1; attributes = Dict("units" => "m"), zarr_format = 3)
        @test OZarr.open("attrs.zarr/b").attrs["units"] == "m"
        @test OZarr.json_parse(" { \"a\" : [ -1e3 , \"\\u00e9\\ud83d\\ude00\\n\" ] } ") == Dict("a" => [-1000.0, "é😀\n"])
        @test OZarr.json_parse("[\"\\ud800\\u0041\", \"\\ud83d\\ud83d\\ude00\"]") == ["\ufffdA", "\ufffd😀"]
    end

    @testset "text and bytes of any length" begin
        z = OZarr.create("names.zarr", String, 2, 3; fill = "none")
        @test z isa OZarr.ZArray{String,2} && z[2, 3] == "none"
        z[:, :] = ["a" "" "Zürich"; "b\0c" "d" "日本"]
        @test z[1, :] == ["a", "", "Zürich"] && z[2, 1] == "b\0c" && Array(z)[:, 3] == ["Zürich", "日本"]
        z[2, 2:3] = "x"
        @test z[2, :] == ["b\0c", "x", "x"]
        @test_throws BoundsError z[3, 1]
        @test_throws DimensionMismatch z[[true true false; false false true]] = ["one", "two"]
        @test_throws DimensionMismatch z[[CartesianIndex(1, 1)]] = ["one", "two"]
        @test "one" ∉ Array(z)
        @test fails(() -> z[1, 1] = String([0xff]), OZarr.OZARR_ERR_RANGE, "UTF-8")
        # Memory for many texts grows as they do: each was copied behind all that came before it.
        many = OZarr.create("many.zarr", String, 6000)
        texts = ["text number $i" for i in 1:6000]
        many[:] = texts
        @test @allocated(many[:] = texts) < 100_000_000 && many[:] == texts
        close(many)
        y = OZarr.create("blobs.zarr", [UInt8[1, 2], UInt8[]])
        @test y[:] == [UInt8[1, 2], UInt8[]] && y[1] == UInt8[1, 2]
    end

    @testset "failures are exceptions with the message" begin
        z = OZarr.open("run.zarr/t")
        @test_throws BoundsError z[:, :, 3]
        @test_throws BoundsError z[0, 1, 1]
        @test_throws BoundsError z[1, 1, 3]
        @test_throws BoundsError z[typemax(Int), typemin(Int), 1]
        @test_throws BoundsError z[1:5, 1, 1]
        @test_throws DimensionMismatch z[1, 1]
        @test_throws ArgumentError z["a", 1, 1]
        @test_throws ArgumentError z[true, 1, 1]
        @test_throws ArgumentError z[1.5, 1, 1]
        @test fails(() -> z[1, 1, 1] = 5, OZarr.OZARR_ERR_READ_ONLY)
        @test fails(() -> OZarr.open("nowhere.zarr"), OZarr.OZARR_ERR_NOT_FOUND, "nowhere.zarr")
        @test fails(() -> OZarr.create("run.zarr/t", Int8, 1), OZarr.OZARR_ERR_EXISTS)
        @test fails(() -> OZarr.create("run.zarr/x", Int8, -1), OZarr.OZARR_ERR_ARGUMENT, "-1")
        @test fails(() -> OZarr.create("run.zarr/x", Int8, 1; compressor = "squeeze"), OZarr.OZARR_ERR_UNSUPPORTED, "squeeze")
        @test_throws DimensionMismatch OZarr.create("run.zarr/x", Int8, 1, 2; chunks = (1,))
        @test_throws ArgumentError OZarr.open("a\0b")
        close(z)
        close(z)
        @test fails(() -> z[1, 1, 1], OZarr.OZARR_ERR_NULL)
        write("run.zarr/w/zarr.json", "{")
        @test fails(() -> OZarr.open("run.zarr/w"), OZarr.OZARR_ERR_METADATA)
        # The message of each thread and call is its own.
        @test all(i -> fails(() -> OZarr.open("nowhere$i.zarr"), OZarr.OZARR_ERR_NOT_FOUND, "nowhere$i.zarr"), 1:100)
    end

    @testset "finalizers free" begin
        for i in 1:3000
            OZarr.open("run.zarr/t")
        end
        GC.gc()
        @test OZarr.open(z -> z[1, 1, 1], "run.zarr/t") == 1
    end

    @test OZarr.version() >= v"0.2" && OZarr.abi_version() >= 0 && !OZarr.has_feature("time travel")
    include("abstract.jl")
    include("library.jl")
    include("datasets.jl")
    include("closed.jl")
    include("docs.jl")
end end
