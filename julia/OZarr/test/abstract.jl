# A ZArray is an AbstractArray: what an Array does, it does, or throws.

# Does the same to an Array and to a ZArray, whose elements have to be equal afterwards.
function same(f, x::AbstractArray)
    z = OZarr.create(OZarr.memory(), "z", copy(x); chunks = map(n -> max(1, n ÷ 2), size(x)))
    y = copy(x)
    f(y)
    f(z)
    return Array(z) == y
end

@testset "broadcasting writes" begin
    x = reshape(collect(1.0:24), 4, 3, 2)
    v = [7.0, 8, 9, 10]
    @test same(z -> z[:, 1, 1] .= 3, x) && same(z -> z[:, 1, 2] .= v, x) && same(z -> z[:, 2:3, 1] .+= 1, x)
    @test same(z -> (@views z[:, 1, 1] .= 2 .* z[:, 2, 1]), x) && same(z -> (@views z[2:3, :, 1] .-= z[1:2, :, 1]), x)
    @test same(z -> z .= 5, x) && same(z -> z .= 5.0f0, x) && same(z -> z .*= 2, x) && same(z -> z .= z .^ 2 .+ v, x)
    @test same(z -> z .= reshape(1:24, 4, 3, 2), x) && same(z -> fill!(z, 4), x) && same(z -> z[:, :, :] .= v, x)
    @test same(z -> z[4:-2:1, [1, 3], 2] .= [1 2; 3 4], x) && same(z -> z[:, :, 1] .= 0, x) && same(z -> view(z, 1, 2, :) .= [1, 2], x)
    @test same(z -> (w = view(z, :, 2, :); w[2, 1] = 100; w[3:4, 2] .= 7; w[1, :] = [5, 6]), x)
    @test same(z -> copyto!(z, 2 .* x), x) && same(z -> fill!(view(z, 1, :, :), 0), x) && same(z -> z .= z .> 3, x)
    z = OZarr.create(OZarr.memory(), "z", x)
    @test_throws DimensionMismatch z[:, 1, 1] .= [1, 2]
    @test_throws DimensionMismatch z .= [1, 2]
    @test_throws DimensionMismatch copyto!(z, zeros(3))
    @test_throws BoundsError z[:, 4, 1] .= 1
    @test Array(z) == x
    @test z .+ 1 == x .+ 1 && z .* [1, 2, 3, 4] == x .* [1, 2, 3, 4] && (z[:, 1, 1] .+ z[:, 2, 1]) isa Vector{Float64}
    # As median and quantile do.
    @test copyto!(Vector{Float64}(undef, length(z)), z) == vec(x) && copyto!(zeros(Int, 2, 12), z) == reshape(x, 2, 12)
    @test copyto!(view(zeros(30), 30:-1:7), z) == vec(x)
    @test_throws DimensionMismatch copyto!(zeros(25), z)
    @test_throws DimensionMismatch copyto!(zeros(3, 4, 2), z)
    scalar = OZarr.create(OZarr.memory(), "s", Int32)
    scalar .= 7
    scalar .+= 1
    @test scalar[] === Int32(8)
end

@testset "nothing is cut off silently" begin
    i = OZarr.create(OZarr.memory(), "i", Int32[1, 2, 3])
    @test_throws InexactError i[2] = 2.7
    @test_throws InexactError i[1:2] = [1.5, 2]
    @test_throws InexactError i .= 0.5
    @test_throws InexactError i .+= 0.5
    @test_throws InexactError i[[1, 3]] = [1, 2.5]
    @test_throws InexactError append!(i, [1.5])
    @test_throws InexactError i[1] = 2.0 + 1im
    @test_throws InexactError OZarr.create(OZarr.memory(), "x", Int32, 3; fill = 1.5)
    @test Array(i) == [1, 2, 3]
    f = OZarr.create(OZarr.memory(), "f", [1.0, 2.7])
    @test_throws InexactError copyto!(zeros(Int, 2), f)
    n = OZarr.create(OZarr.memory(), "n", Int8[1, 2, 3])
    for write in (z -> z[1] = 300, z -> z[1:1] = [300], z -> z[[1]] = [300], z -> z[[true, false, false]] = [300], z -> z[:] = UInt8[1, 2, 200],
        z -> append!(z, [300]), z -> OZarr.appender(a -> append!(a, [300]), z))
        @test_throws InexactError write(n)
    end
    @test Array(n) == [1, 2, 3]
    large = OZarr.create(OZarr.memory(), "l", [1, 300])
    @test_throws InexactError copyto!(Vector{Int8}(undef, 2), large)
    @test copyto!(Vector{Int8}(undef, 1), large, 1:1) == [1]
    b = OZarr.create(OZarr.memory(), "b", [true, false])
    @test_throws InexactError b[1] = 2
    @test_throws MethodError i[1] = "x"
    mixed = Union{Int,Float64}[4, 5.0, 6]
    i[:] = mixed
    @test Array(i) == [4, 5, 6] && copyto!(Vector{Union{Int,Float64}}(undef, 2), f) == [1.0, 2.7]
    mixed[2] = 5.5
    @test_throws InexactError i[:] = mixed
end

@testset "around the ends of a dimension" begin
    x = reshape(collect(1:20), 4, 5)
    z = OZarr.create(OZarr.memory(), "z", copy(x); chunks = (2, 5))
    around(i, n) = mod1.(i, n)
    for (i, j) in [(0:5, 0:6), (-7:2, 1:5), (3:9, 5:-1:-2), (4:4, -3:2:11)]
        @test z[Periodic(i), Periodic(j)] == x[around(i, 4), around(j, 5)]
    end
    @test z[Periodic(0:1), 2] == x[[4, 1], 2] && z[:, Periodic(5:6)] == x[:, [5, 1]] && z[Periodic(1:0), 1] == Int[]
    halo = fill(-1.0, 8, 9)
    copyto!(view(halo, 2:7, 2:8), z, Periodic(0:5), Periodic(0:6))
    @test halo[2:7, 2:8] == x[around(0:5, 4), around(0:6, 5)] && halo[1, 1] == halo[8, 9] == -1
    into = zeros(Int, 2, 5)
    wait(OZarr.iread!(into, z, Periodic(4:5), :))
    @test into == x[[4, 1], :]
    z[Periodic(0:1), 2] = [-4, -1]
    z[Periodic(4:5), 3] = [7, 7]
    @test_throws ArgumentError z[Periodic(4:5), 3] .= 7
    @test z[:, 2] == [-1, 6, 7, -4] && z[:, 3] == [7, 10, 11, 7]
    @test_throws BoundsError z[0:1, Periodic(1:2)]
    @test_throws ArgumentError z[Periodic(0:1), [1, 2]]
    @test_throws ArgumentError view(z, 1:2, :)[Periodic(0:1), 1]
    e = try z[Periodic(0:5), 1] = 1:6 catch e; e end
    @test e isa OZarrError && occursin("twice", e.message)
    small = OZarr.create(OZarr.memory(), "s", Int16, 4, 5; chunks = (2, 5))
    big = zeros(Int32, 2, 5)
    big[2, 3] = 70000
    e = try small[Periodic(4:5), Periodic(4:8)] = big catch e; e end
    @test e isa InexactError || occursin("element [2, 3] is 70000", e.message)
    texts = OZarr.create(OZarr.memory(), "t", ["a", "b"])
    @test_throws ArgumentError texts[Periodic(0:1)]
end

@testset "lists, masks and single indices" begin
    x = reshape(collect(1:60), 5, 4, 3)
    z = OZarr.create(OZarr.memory(), "z", x; chunks = (2, 2, 2))
    @test z[[5, 1, 1], 2:3, 1] == x[[5, 1, 1], 2:3, 1] && z[:, [4, 2], 3] == x[:, [4, 2], 3] && z[[2], [3], [1]] == x[[2], [3], [1]]
    @test z[2, [1 2; 3 4], 1] == x[2, [1 2; 3 4], 1] && z[Int[], :, 1] == x[Int[], :, 1] && z[:, x[1, :, 1] .> 6, 2] == x[:, x[1, :, 1] .> 6, 2]
    @test z[x .> 50] == x[x .> 50] && z[17] == x[17] && z[end] == 60 && z[[1, 60]] == [1, 60] && z[:] == x[:]
    @test z[CartesianIndex(2, 3), 1] == x[2, 3, 1] && z[CartesianIndex(2, 3, 1)] == x[2, 3, 1] && z[[CartesianIndex(1, 1, 1), CartesianIndex(5, 4, 3)]] == [1, 60]
    @test same(y -> y[[5, 1], :, 2] = fill(-1, 2, 4), x) && same(y -> y[y .> 30] .= 0, x) && same(y -> y[[1, 3], [2, 4], 1] .= 9, x)
    @test same(y -> y[x .> 55] = [1, 2, 3, 4, 5], x) && same(y -> y[7] = -7, x) && same(y -> y[:] = 60:-1:1, x)
    y = OZarr.create(OZarr.memory(), "y", [10, 20, 30])
    @test y[[CartesianIndex(3), CartesianIndex(1)]] == [30, 10] && same(w -> w[[CartesianIndex(2)]] = [5], [10, 20, 30])
    @test_throws BoundsError y[[CartesianIndex(4)]]
    @test_throws BoundsError z[[1, 6], 1, 1]
    @test_throws BoundsError z[61]
    @test_throws BoundsError z[trues(2, 2)]
    @test_throws BoundsError z[:, trues(5), 1]
    @test_throws BoundsError z[[0], 1, 1]
    @test_throws DimensionMismatch z[[1, 2], 1]
    @test_throws DimensionMismatch z[[1, 2], 1, 1] = [1, 2, 3]
    t = OZarr.create(OZarr.memory(), "t", ["a" "b"; "c" "d"])
    @test t[[2, 1], 1] == ["c", "a"] && t[:] == ["a", "c", "b", "d"] && t[[true, false], :] == ["a" "b"] && [t...] == ["a", "c", "b", "d"]
    t .= "e"
    t[1, :] .= ["f", "g"]
    @test Array(t) == ["f" "g"; "e" "e"]
    @test_throws MethodError t[1, 1] = 5
end

@testset "iteration, reductions and views" begin
    x = reshape(collect(1.0:30), 5, 6)
    z = OZarr.create(OZarr.memory(), "z", x; chunks = (2, 4))
    @test z == x && x == z && collect(z) == x && [e for e in z] == x && copy(z) isa Matrix{Float64} && vec(z) == vec(x)
    @test sum(z) == sum(x) && maximum(z) == 30 && extrema(z) == (1, 30) && sum(z; dims = 1) == sum(x; dims = 1) && count(>(3), z) == 27
    @test sum(abs2, z) == sum(abs2, x) && map(sqrt, z) == map(sqrt, x) && any(==(7), z) && mapreduce(-, +, z; init = 1.0) == 1 - sum(x)
    @test sum(view(z, :, 2)) == sum(x[:, 2]) && view(z, 2:3, :)[1, 4:6] == x[2, 4:6] && view(z, :, 2)[3] == x[3, 2] && collect(view(z, 1, :)) == x[1, :]
    @test eltype(z) == Float64 && axes(z) == axes(x) && z' == x' && Float32.(z) isa Matrix{Float32} && z isa AbstractMatrix
    @test isempty(OZarr.create(OZarr.memory(), "e", Float64, 0, 3)) && sum(OZarr.create(OZarr.memory(), "e", Float64, 0)) == 0
    @test findall(==(7), z) == [CartesianIndex(2, 2)] && eachindex(z) == CartesianIndices((5, 6)) && hcat(z, z) == hcat(x, x)
    @test sprint(show, MIME("text/plain"), z) == "5×6 ZArray{Float64,2} \"z\""
    @test_throws BoundsError view(z, :, 7)
    @test_throws BoundsError view(z, :, 1)[6:7]
end

@testset "growing" begin
    z = OZarr.create(OZarr.memory(), "g", Int64, 0; chunks = 4)
    append!(z, 3)
    push!(z, 4)
    append!(z, 5:6)
    @test Array(z) == [3, 4, 5, 6]
    resize!(z, (2,))
    resize!(z, 3)
    @test Array(z) == [3, 4, 0]
    resize!(z, 1; keep = true)
    resize!(z, 3)
    @test Array(z) == [3, 4, 0]
    @test_throws MethodError resize!(z, "3")
end

struct Particle
    x::Float64
    id::Int16
    v::NTuple{3,Float32}
    name::NTuple{4,UInt8}
end

@testset "structs" begin
    p = [Particle(1.5, 1, (1, 2, 3), Tuple(b"abc\0")), Particle(2.5, 2, (4, 5, 6), Tuple(b"d\0\0\0"))]
    z = OZarr.create("particles.zarr", p; zarr_format = 2)
    @test z isa ZArray{Particle,1} && z[:] == p && z[2] === p[2] && occursin("\"v\"", OZarr.dtype(z))
    z[1] = p[2]
    close(z)
    raw = OZarr.open("particles.zarr"; mode = "r+")
    @test eltype(raw) == NTuple{OZarr.item_size(raw),UInt8}
    typed = OZarr.typed(Particle, raw)
    @test typed[:] == [p[2], p[2]] && !isopen(raw)
    append!(typed, p)
    @test typed[:] == [p[2], p[2], p[1], p[2]] && append!(typed, Particle[])[4] === p[2]
    @test_throws ArgumentError OZarr.typed(Float64, typed)
    @test_throws ArgumentError OZarr.create(OZarr.memory(), "x", Rational{Int}, 3)
    when = OZarr.create(OZarr.memory(), "t", "<M8[s]", 3)
    @test OZarr.item_size(when) == 8 && occursin("numpy.datetime64", OZarr.metadata(when))
end

struct Sample
    x::Float64
    v::NTuple{3,Float32}
    id::Int32
end

@testset "fields of structs, and counters" begin
    p = OZarr.create(OZarr.memory(), "p", [Sample(i, (0, 0, i), 10i) for i in 1:5]; zarr_format = 2)
    before = OZarr.stats(p)
    @test OZarr.read_field(p, "x") == 1:5 && OZarr.read_field(p, "id", 2:3) == Int32[20, 30] && OZarr.read_field(Float32, p, "x", 4) === 4.0f0
    after = OZarr.stats(p)
    @test after.reads > before.reads && OZarr.stats().reads >= after.reads && OZarr.stats(OZarr.Context()).reads == 0
    OZarr.write_field!(p, [7.5, 8.5], "x", 1:2)
    @test p[1].x == 7.5 && p[1].id == 10 && OZarr.read_field(p, "x") == [7.5, 8.5, 3, 4, 5]
    @test_throws OZarrError OZarr.read_field(Float64, p, "y")
    @test_throws InexactError OZarr.write_field!(p, [1.5, 2.5], "id", 1:2)
    @test_throws InexactError OZarr.write_field!(p, 1.5, "id", 1)
    @test_throws InexactError OZarr.read_field(Int, p, "x")
    @test OZarr.read_field(Int, p, "x", 3:5) == 3:5 && OZarr.read_field(Int, p, "x", 3) === 3 && OZarr.read_field(p, "id") == 10:10:50
    OZarr.write_field!(p, [1.0, 2.0], "id", 1:2)
    @test OZarr.read_field(p, "id", 1:2) == 1:2 && OZarr.read_field(Float32, p, "v[3]", 4:5) == 4:5
    @test OZarr.read_field(p, "v", 4:5) == [(0, 0, 4), (0, 0, 5)] && OZarr.read_field(p, "v", 4) === (0.0f0, 0.0f0, 4.0f0) && OZarr.read_field(p, "v[3]", 4) === 4.0f0
    @test OZarr.read_field(Float64, p, "v", 4:5) == OZarr.read_field(NTuple{3,Int}, p, "v", 4:5) == [(0, 0, 4), (0, 0, 5)]
    OZarr.write_field!(p, [(1.0f0, 2.0f0, 3.0f0), (4.0f0, 5.0f0, 6.0f0)], "v", 1:2)
    OZarr.write_field!(p, (7, 8, 9), "v", 3)
    OZarr.write_field!(p, [70, 80], "v[1]", 4:5)
    @test OZarr.read_field(p, "v") == [(1, 2, 3), (4, 5, 6), (7, 8, 9), (70, 0, 4), (80, 0, 5)] && OZarr.read_field(p, "id") == [1, 2, 30, 40, 50]
    OZarr.write_field!(p, (0.5, 2, 3), "v", 1)
    @test_throws InexactError OZarr.read_field(NTuple{3,Int8}, p, "v", 1)
    @test_throws DimensionMismatch OZarr.read_field(NTuple{2,Float32}, p, "v")
    @test_throws DimensionMismatch OZarr.write_field!(p, [1, 2, 3, 4, 5], "v")
    @test_throws DimensionMismatch OZarr.write_field!(p, (1, 2), "v", 1)
    @test_throws ArgumentError OZarr.read_field(Float32, p, "v[0]")
    @test fails(() -> OZarr.read_field(Float32, p, "v[4]"), OZarr.OZARR_ERR_NOT_FOUND, "\"v[4]\"")
    @test fails(() -> OZarr.write_field!(p, 1, "w[1]"), OZarr.OZARR_ERR_NOT_FOUND, "\"w[1]\"")
    # Brackets may be part of a name.
    b = OZarr.create(OZarr.memory(), "b", """[["flux [Jy]", "<f4"], ["v[1]", "<i4"], ["w", "<i2", [2]]]""", 2; zarr_format = 2)
    foreach((x, name) -> OZarr.write_field!(b, x, name), ([1.5, 2.5], [7, 8], [3, 4]), ("flux [Jy]", "v[1]", "w[2]"))
    @test OZarr.read_field(Float32, b, "flux [Jy]") == [1.5, 2.5] && OZarr.read_field(Int32, b, "v[1]") == [7, 8] && OZarr.read_field(Int16, b, "w") == [(0, 3), (0, 4)]
    @test fails(() -> OZarr.read_field(Float32, b, "flux [K]"), OZarr.OZARR_ERR_NOT_FOUND, "\"flux [K]\"")
    @test OZarr._field_type(NamedTuple{(Symbol("flux [Jy]"), :v),Tuple{Float32,NTuple{2,Int16}}}, "flux [Jy]") == Float32
    # Of several dimensions Julia's first is the last one of the document.
    m = OZarr.create(OZarr.memory(), "m", """[["m", "<i4", [2, 3]], ["w", "|u1", [2]]]""", 1; zarr_format = 2)
    foreach((k, name) -> OZarr.write_field!(m, k, name), 1:6, ("m[$i,$j]" for j in 1:2 for i in 1:3))
    OZarr.write_field!(m, [(0x01, 0x02)], "w")
    @test OZarr.read_field(Int32, m, "m") == [(1, 2, 3, 4, 5, 6)] && OZarr.read_field(Int, m, "m[3,1]") == [3] && OZarr.read_field(NTuple{2,UInt8}, m, "w", 1) == (1, 2)
end
