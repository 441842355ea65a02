# Growing: resizing, appending, time steps.

"Changes the size. What is cut off is erased; with `keep = true` it comes back when the array grows again."
Base.resize!(z::ZArray{T,N}, dims::Integer...; keep::Bool = false) where {T,N} = resize!(z, dims; keep = keep)
function Base.resize!(z::ZArray{T,N}, dims::Tuple{Vararg{Integer}}; keep::Bool = false) where {T,N}
    length(dims) == N || throw(DimensionMismatch("found $(length(dims)) lengths, expected $N, the dimensions of the array"))
    _check(ozarr_array_resize(z, _reversed(dims), keep ? OZARR_RESIZE_KEEP : 0))
    return z
end

# The elements of `x`, contiguous, and how many slabs of dimension `dim` they are.
function _slabs(z::ZArray{T,N}, x::AbstractArray, dim) where {T,N}
    1 <= dim <= N || throw(ArgumentError("dim is $dim, expected 1 to $N"))
    ndims(x) in (N, N - 1) || throw(DimensionMismatch("the variable has $(ndims(x)) dimensions, expected $N, or $(N - 1) for one slab"))
    n = size(z)
    count = ndims(x) == N ? size(x, dim) : 1
    slab = ntuple(d -> d == dim ? count : n[d], N)
    others = ndims(x) == N ? slab : ntuple(k -> slab[k < dim ? k : k + 1], N - 1)
    size(x) == others || throw(DimensionMismatch("the variable has the size $(size(x)), expected $others"))
    isbitstype(T) || throw(ArgumentError("cannot append elements of variable length: resize the array, and assign"))
    y = _gives(x, T) ? (x isa Array ? x : Array(x)) : convert(Array{T}, x)
    return y, count
end

"""
    append!(z, x; dim = ndims(z))

Makes dimension `dim` longer and writes `x` there: of as many dimensions as the array; or of one less, for one slab.
"""
function Base.append!(z::ZArray{T,N}, x::AbstractArray; dim::Integer = N) where {T,N}
    y, count = _slabs(z, x, dim)
    kept = _type_number(T) == OZARR_BY_DTYPE ? _as_stored(z, y) : y
    status = GC.@preserve kept ozarr_array_append(z, N - dim, count, _type_number(eltype(kept)), Ptr{Cvoid}(pointer(kept)), sizeof(kept))
    _bounded(status, z, (), eltype(kept))
    return z
end

# Structs as the bytes that the array stores for them: the call that appends takes no description of the program's struct, whose fields may lie
# elsewhere.
_as_stored(z::ZArray{T}, structs) where {T} = _with_dtype(out -> ozarr_array_copy_dtype(z, out)) do stored
    spec = _opened(out -> ozarr_spec_new_dtype(stored, 1, Int64[length(structs)], out))
    try
        _check(ozarr_spec_set_zarr_format(spec, zarr_format(z)))
        room = memory()
        copyto!(typed(T, _array(_opened(out -> ozarr_array_create_at(room, "structs", spec, OZARR_CREATE_NEW, out)))), vec(structs))
        return Array(room["structs"])
    finally
        ozarr_spec_free(spec)
    end
end
Base.append!(z::ZArray{T,1}, x::Number) where {T} = append!(z, fill(x))
Base.push!(z::ZArray{T,N}, x) where {T,N} = append!(z, x isa AbstractArray ? x : fill(x))

"""
    OZarr.appender(z; dim = ndims(z), publish_every = 0, memory = 0)

What makes `z` longer along `dim` step by step: `append!(a, x)`, `push!(a, slab)`, `position(a)`, `OZarr.published(a)`, `flush(a)`. Steps are
copied, and stored when chunks are whole. Readers see them every `publish_every` steps (0: when chunks are whole); at most `memory` bytes
wait (0: no limit). Close it: only that tells what could not be stored.
"""
appender(z::ZArray{T,N}; dim::Integer = N, publish_every::Integer = 0, memory::Integer = 0) where {T,N} =
    Appender(_opened(out -> ozarr_appender_open(z, _dimension(z, dim), publish_every, memory, out)), z, dim)
appender(f::Function, z::ZArray; options...) = _closing(f, appender(z; options...))

function Base.append!(a::Appender, x::AbstractArray)
    y, count = _slabs(a.array, x, a.dim)
    _bounded(GC.@preserve(y, ozarr_appender_append_ex(a, count, _contiguous(y))), a.array, (), eltype(y))
    return a
end
Base.push!(a::Appender, x) = append!(a, x isa AbstractArray ? x : fill(x))

_position(a) = (taken = Ref{Int64}(0), published = Ref{Int64}(0))
"The length of the dimension with all steps that were taken."
Base.position(a::Appender) = Int(_number(out -> ozarr_appender_position(a, out, C_NULL), Int64))
"The length of the dimension that readers see."
published(a::Appender) = Int(_number(out -> ozarr_appender_position(a, C_NULL, out), Int64))

"""
    OZarr.wait_growth(z, beyond; dim = ndims(z), seconds = -1)

Waits until dimension `dim` is longer than `beyond`, and gives its length; an error of the status `OZARR_ERR_TIMEOUT` after `seconds`.
"""
function wait_growth(z::ZArray{T,N}, beyond::Integer; dim::Integer = N, seconds::Real = -1) where {T,N}
    return Int(_number(out -> ozarr_array_wait_growth(z, _dimension(z, dim), beyond, seconds, out), Int64))
end
