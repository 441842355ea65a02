# Reading and writing by indices: integers, colons and ranges, with steps, too. Dimensions are reversed here.

const Index = Union{Integer,Colon,AbstractRange{<:Integer}}

# (first, length, step) of an index along a dimension of that length.
@inline _part(i::Integer, n) = (Int64(i), Int64(1), Int64(1))
@inline _part(::Colon, n) = (Int64(1), Int64(n), Int64(1))
@inline _part(r::AbstractRange{<:Integer}, n) = isempty(r) ? (Int64(1), Int64(0), Int64(1)) : (Int64(first(r)), Int64(length(r)), Int64(step(r)))

@inline _inside(i::Integer, n) = 1 <= i <= n
@inline _inside(::Colon, n) = true
@inline _inside(r::AbstractRange{<:Integer}, n) = isempty(r) || (1 <= first(r) <= n && 1 <= last(r) <= n)

# The lengths of the result: an integer takes a dimension away.
@inline _lengths(::Tuple{}, ::Tuple{}) = ()
@inline _lengths(parts::Tuple, I::Tuple) =
    I[1] isa Integer ? _lengths(Base.tail(parts), Base.tail(I)) : (Int(parts[1][2]), _lengths(Base.tail(parts), Base.tail(I))...)

# What is known of a selection: its parts, checked against the size of the array.
@inline function _parts(z::ZArray{T,N}, I::Tuple) where {T,N}
    length(I) == N || throw(DimensionMismatch("found $(length(I)) indices, expected $N, the dimensions of the array"))
    # The library checks integers itself, and knows the size without another call.
    I isa NTuple{N,Integer} && return map(i -> _part(i, 1), I)
    n = size(z)
    all(map(_inside, I, n)) || throw(BoundsError(z, I))
    return map(_part, I, n)
end

# One call with memory that begins at `data`; `strides` in bytes for each dimension of the array, or nothing: contiguous.
@inline function _transfer(call, z::ZArray{T,N}, I, parts, ::Type{E}, data::Ptr, bytes, offset, strides) where {T,N,E}
    start = Ref(ntuple(d -> parts[N+1-d][1] - Int64(1), Val(N)))
    shape = Ref(ntuple(d -> parts[N+1-d][2], Val(N)))
    step = Ref(ntuple(d -> parts[N+1-d][3], Val(N)))
    apart = Ref(strides === nothing ? ntuple(_ -> Int64(0), Val(N)) : ntuple(d -> Int64(strides[N+1-d]), Val(N)))
    status = GC.@preserve start shape step apart begin
        region = Ref(ozarr_region(sizeof(ozarr_region), _pointer(start), _pointer(shape), _pointer(step)))
        memory = Ref(ozarr_memory(sizeof(ozarr_memory), data, bytes, offset, strides === nothing ? Ptr{Int64}(C_NULL) : _pointer(apart),
            OZARR_ORDER_C, _type_number(E), OZARR_OVERFLOW_ERROR, Int32(0), C_NULL, Cstring(C_NULL)))
        call(z, region, memory)
    end
    status == OZARR_OK && return nothing
    e = _error()
    status == OZARR_ERR_BOUNDS && throw(BoundsError(z, I))
    throw(e)
end

@inline _pointer(numbers::Ref) = Ptr{Int64}(Base.unsafe_convert(Ptr{Cvoid}, numbers))

# ---- reading -------------------------------------------------------------------------------------------------------

@inline function Base.getindex(z::ZArray{T,N}, I::Vararg{Integer,N}) where {T,N}
    value = Ref{T}()
    GC.@preserve value _transfer(ozarr_array_read_ex, z, I, _parts(z, I), T, Base.unsafe_convert(Ptr{Cvoid}, value), sizeof(T), 0, nothing)
    return value[]
end

function Base.getindex(z::ZArray{T,N}, I::Index...) where {T,N}
    parts = _parts(z, I)
    out = Array{T}(undef, _lengths(parts, I))
    GC.@preserve out _transfer(ozarr_array_read_ex, z, I, parts, T, Ptr{Cvoid}(pointer(out)), sizeof(out), 0, nothing)
    return out
end

Base.getindex(z::ZArray, I...) = throw(ArgumentError("the indices of a ZArray are integers, ranges and colons; found $(map(typeof, I))"))

"The whole array."
Base.Array(z::ZArray{T,N}) where {T,N} = N == 0 ? fill(z[]) : z[ntuple(_ -> Colon(), N)...]
Base.collect(z::ZArray) = Array(z)

"""
    copyto!(x, z, indices...)

Reads a region (without indices: the whole array) to `x`, an array or a view of it, which has to have the region's size.
"""
function Base.copyto!(x::AbstractArray, z::ZArray{T,N}, I::Index...) where {T,N}
    all_ = isempty(I) ? ntuple(_ -> Colon(), N) : I
    parts = _parts(z, all_)
    lengths = _lengths(parts, all_)
    size(x) == lengths || throw(DimensionMismatch("the variable has the size $(size(x)), expected that of the region, $lengths"))
    _direct(x) || throw(ArgumentError("cannot read to a $(typeof(x)), expected an Array or a view of one"))
    _strided(ozarr_array_read_ex, z, all_, parts, x)
    return x
end

# ---- writing -------------------------------------------------------------------------------------------------------

function Base.setindex!(z::ZArray{T,N}, x::AbstractArray, I::Index...) where {T,N}
    parts = _parts(z, I)
    lengths = _lengths(parts, I)
    Base.setindex_shape_check(x, lengths...)
    # What the library cannot take as it lies is made an Array of the array's type first.
    y = _direct(x) && _has_number(eltype(x)) ? x : convert(Array{T}, x)
    if size(y) == lengths
        _strided(ozarr_array_write_ex, z, I, parts, y)
    else # other dimensions of length 1
        y = y isa Array ? y : Array(y)
        GC.@preserve y _transfer(ozarr_array_write_ex, z, I, parts, eltype(y), Ptr{Cvoid}(pointer(y)), sizeof(y), 0, nothing)
    end
    return x
end

# One value for all elements of the region.
function Base.setindex!(z::ZArray{T,N}, x::Number, I::Index...) where {T,N}
    parts = _parts(z, I)
    value = Ref(_has_number(typeof(x)) ? x : convert(T, x))
    GC.@preserve value _transfer(ozarr_array_write_ex, z, I, parts, typeof(value[]), Base.unsafe_convert(Ptr{Cvoid}, value), sizeof(value[]), 0,
        ntuple(_ -> 0, N))
    return x
end

Base.setindex!(z::ZArray, x, I...) = throw(ArgumentError("the indices of a ZArray are integers, ranges and colons, and the value a number or an array; found $(typeof(x)) at $(map(typeof, I))"))

# Whether the library can take the elements where they lie.
_direct(::Array) = true
_direct(x::SubArray) = parent(x) isa Array && x isa StridedArray
_direct(::Any) = false

# Moves an Array or a view, whose dimensions are those of the region that are not integers.
function _strided(call, z::ZArray{T,N}, I, parts, x) where {T,N}
    E = eltype(x)
    x isa Array && return GC.@preserve x _transfer(call, z, I, parts, E, Ptr{Cvoid}(pointer(x)), sizeof(x), 0, nothing)
    apart = zeros(Int64, N)
    below = above = 0
    k = 0
    for d in 1:N
        I[d] isa Integer && continue
        k += 1
        apart[d] = stride(x, k) * sizeof(E)
        reach = (size(x, k) - 1) * apart[d]
        reach < 0 ? (below -= reach) : (above += reach)
    end
    isempty(x) && return _strided(call, z, I, parts, Array{E}(undef, size(x)))
    GC.@preserve x _transfer(call, z, I, parts, E, Ptr{Cvoid}(pointer(x)) - below, below + above + sizeof(E), below, apart)
    return nothing
end

# ---- growing -------------------------------------------------------------------------------------------------------

"Changes the size. What is cut off is erased."
function Base.resize!(z::ZArray{T,N}, dims::Integer...) where {T,N}
    length(dims) == N || throw(DimensionMismatch("found $(length(dims)) lengths, expected $N, the dimensions of the array"))
    _check(ozarr_array_resize(z, _reversed(dims), 0))
    return z
end

"""
    append!(z, x; dim = ndims(z))

Makes dimension `dim` longer and writes `x` there: of as many dimensions as the array; or of one less, for one slab.
"""
function Base.append!(z::ZArray{T,N}, x::AbstractArray; dim::Integer = N) where {T,N}
    1 <= dim <= N || throw(ArgumentError("dim is $dim, expected 1 to $N"))
    ndims(x) in (N, N - 1) || throw(DimensionMismatch("the variable has $(ndims(x)) dimensions, expected $N, or $(N - 1) for one slab"))
    n = size(z)
    count = ndims(x) == N ? size(x, dim) : 1
    slab = ntuple(d -> d == dim ? count : n[d], N)
    others = ndims(x) == N ? slab : ntuple(k -> slab[k < dim ? k : k + 1], N - 1)
    size(x) == others || throw(DimensionMismatch("the variable has the size $(size(x)), expected $others"))
    y = x isa Array && _has_number(eltype(x)) ? x : _has_number(eltype(x)) ? Array(x) : convert(Array{T}, x)
    GC.@preserve y _check(ozarr_array_append(z, N - dim, count, _type_number(eltype(y)), Ptr{Cvoid}(pointer(y)), sizeof(y)))
    return z
end
