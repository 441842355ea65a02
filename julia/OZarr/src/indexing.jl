# Reading and writing by indices: integers, colons, ranges with steps, lists, masks. Dimensions are reversed here.

"""
    OZarr.Periodic(range)

An index along a dimension that is periodic: what lies before its first element or behind its last one is at the other end. `z[Periodic(0:33), :]`
is a block of 32 with its ghost cells. A write may reach no element twice.
"""
struct Periodic{R<:AbstractRange{<:Integer}}
    range::R
end

const Index = Union{Integer,Colon,AbstractRange{<:Integer},Periodic}

# ---- regions -------------------------------------------------------------------------------------------------------

# (first, length, step) of an index along a dimension of that length.
@inline _part(i::Integer, n) = (Int64(i), Int64(1), Int64(1))
@inline _part(::Colon, n) = (Int64(1), Int64(n), Int64(1))
@inline _part(r::AbstractRange{<:Integer}, n) = isempty(r) ? (Int64(1), Int64(0), Int64(1)) : (Int64(first(r)), Int64(length(r)), Int64(step(r)))

@inline _part(p::Periodic, n) = _part(p.range, n)

@inline _inside(i::Integer, n) = 1 <= i <= n
@inline _inside(::Colon, n) = true
@inline _inside(r::AbstractRange{<:Integer}, n) = isempty(r) || (1 <= first(r) <= n && 1 <= last(r) <= n)
@inline _inside(::Periodic, n) = true
_inside(list::AbstractArray{<:Integer}, n) = all(i -> 1 <= i <= n, list)

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
    around = Ref(ntuple(d -> I[N+1-d] isa Periodic, Val(N)))
    status = GC.@preserve start shape step apart around begin
        periodic = any(around[]) ? Ptr{Bool}(Base.unsafe_convert(Ptr{Cvoid}, around)) : Ptr{Bool}(C_NULL)
        region = Ref(ozarr_region(start = _pointer(start), shape = _pointer(shape), step = _pointer(step), periodic = periodic))
        memory = Ref(ozarr_memory(data = data, size = bytes, offset = offset, strides = strides === nothing ? Ptr{Int64}(C_NULL) : _pointer(apart),
            type_ = _type_number(E), dtype = _dtype_pointer(E)))
        call(z, region, memory)
    end
    return _bounded(status, z, I, call isa Plain ? E : Any)
end

@inline _pointer(numbers::Ref) = Ptr{Int64}(Base.unsafe_convert(Ptr{Cvoid}, numbers))

# The calls that only convert numbers from one type to the other.
const Plain = Union{typeof(ozarr_array_read_ex),typeof(ozarr_array_write_ex)}

# A failure as an exception, where elements of E are moved: a region outside of the array, and an integer that the other type does not hold, as
# Julia's own. Around an end there is another fault, which the message says.
@inline _bounded(status, z, I, E = Any) = status == OZARR_OK ? nothing : _unbounded(status, z, I, E)
@noinline function _unbounded(status, z, I, E)
    e = _error()
    status == OZARR_ERR_BOUNDS && !any(i -> i isa Periodic, I) && throw(BoundsError(z, I))
    status == OZARR_ERR_RANGE && E <: Integer && eltype(z) <: Integer && throw(InexactError(:convert, Integer, e.message))
    throw(e)
end

# ---- kinds of indices ----------------------------------------------------------------------------------------------

# Elements that are named one by one.
struct Points{A}
    at::A # of CartesianIndex
end

# What the indices select, in one of four forms: a tuple of `Index`; one with lists of integers, too; `Points`; `Whole` (`z[:]`).
struct Whole end
@inline _selection(z::ZArray{T,N}, I::NTuple{N,Index}) where {T,N} = any(i -> i isa Bool, I) ? _refused(z, I) : I
function _selection(z::ZArray{T,N}, I::Tuple) where {T,N}
    length(I) == 1 && I[1] isa AbstractArray{<:CartesianIndex{N}} && return Points(I[1])
    if length(I) == 1 && N != 1
        i = I[1]
        i isa Colon && return Whole()
        i isa AbstractArray{Bool} && return size(i) == size(z) ? Points(findall(i)) : throw(BoundsError(z, I))
        i isa Integer && !(i isa Bool) && return checkbounds(Bool, z, i) ? Tuple(CartesianIndices(size(z))[i]) : throw(BoundsError(z, I))
        i isa AbstractArray{<:Integer} && return checkbounds(Bool, z, i) ? Points(CartesianIndices(size(z))[i]) : throw(BoundsError(z, I))
    end
    any(i -> i isa Periodic, I) && _refused(z, I)
    all(i -> i isa Union{Index,AbstractArray{<:Integer},AbstractArray{Bool},CartesianIndex} && !(i isa Bool), I) || _refused(z, I)
    for (d, i) in enumerate(I)
        i isa AbstractArray{Bool} && length(I) == N && length(i) != size(z, d) && throw(BoundsError(z, I))
    end
    J = map(_list_or_range, to_indices(z, I))
    length(J) == N || throw(DimensionMismatch("found $(length(J)) indices, expected $N, the dimensions of the array"))
    return J
end
_refused(z, I) = throw(ArgumentError("the indices of a ZArray are integers, ranges, colons, lists of integers and masks, or Periodic ranges with integers, ranges and colons; found $(map(typeof, I))"))

_list_or_range(i::Index) = i
_list_or_range(list::AbstractArray{<:Integer}) = list isa Array ? list : collect(list)

_shape(J) = map(length, Base.index_shape(J...))

# ---- reading -------------------------------------------------------------------------------------------------------

@inline function Base.getindex(z::ZArray{T,N}, I::Vararg{Integer,N}) where {T,N}
    I isa Tuple{Vararg{Int}} || any(i -> i isa Bool, I) && _refused(z, I)
    return _read_one(z, I)
end
Base.getindex(z::ZArray{T,N}, I...) where {T,N} = _read(z, _selection(z, I))

@inline function _read_one(z::ZArray{T,N}, I) where {T,N}
    value = Ref{T}()
    GC.@preserve value _transfer(ozarr_array_read_ex, z, I, _parts(z, I), T, Base.unsafe_convert(Ptr{Cvoid}, value), sizeof(T), 0, nothing)
    return value[]
end

_read(z::ZArray{T,N}, I::NTuple{N,Integer}) where {T,N} = _read_one(z, I)
_read(z::ZArray, ::Whole) = vec(Array(z))
function _read(z::ZArray{T,N}, I::NTuple{N,Index}) where {T,N}
    parts = _parts(z, I)
    out = Array{T}(undef, _lengths(parts, I))
    GC.@preserve out _transfer(ozarr_array_read_ex, z, I, parts, T, Ptr{Cvoid}(pointer(out)), sizeof(out), 0, nothing)
    return out
end

function _read(z::ZArray{T,N}, J::NTuple{N,Any}) where {T,N}
    out = Array{T}(undef, _shape(J))
    _listed(ozarr_array_read_orthogonal, z, J, out)
    return out
end

function _read(z::ZArray{T,N}, points::Points) where {T,N}
    out = Array{T}(undef, size(points.at))
    _at_points(ozarr_array_read_points, z, points, out)
    return out
end

# One call with a list of indices for each dimension, and contiguous memory.
function _listed(call, z::ZArray{T,N}, J, x::Array{E}) where {T,N,E}
    all(map(_inside, J, size(z))) || throw(BoundsError(z, J))
    lists = [Int64[i - 1 for i in (J[d] isa Colon ? (1:size(z, d)) : J[d])] for d in N:-1:1]
    counts = Int64[length(list) for list in lists]
    # The memory of an empty list may be nowhere, which would be all.
    pointers = Ptr{Int64}[pointer(isempty(list) ? push!(list, 0) : list) for list in lists]
    return GC.@preserve lists x _bounded(call(z, counts, pointers, _contiguous(x)), z, J, E)
end

# One call with the coordinates of points, and contiguous memory.
function _at_points(call, z::ZArray{T,N}, points::Points, x::Array{E}) where {T,N,E}
    at = Int64[p[N+1-d] - 1 for d in 1:N, p in vec(points.at)]
    return GC.@preserve x _bounded(call(z, at, length(points.at), _contiguous(x)), z, (points.at,), E)
end

_contiguous(x::Array{E}) where {E} = Ref(ozarr_memory(data = pointer(x), size = sizeof(x), type_ = _type_number(E), dtype = _dtype_pointer(E)))

"The whole array."
Base.Array(z::ZArray{T,N}) where {T,N} = N == 0 ? fill(z[]) : _read(z, ntuple(_ -> Colon(), N))
Base.collect(z::ZArray) = Array(z)

"""
    copyto!(x, z, indices...)

Reads a region (without indices: the whole array) to `x`, an array or a view of it, which has to have the region's size; or, of the whole array, as
many elements in another number of dimensions, in its order. Numbers are converted; one that an integer type of `x` cannot hold is an `InexactError`.
"""
Base.copyto!(x::AbstractArray, z::ZArray, I::Index...) = _copyto!(x, z, I)
Base.copyto!(x::AbstractArray, z::ZArray) = (_copyto!(ndims(x) != ndims(z) && length(x) == length(z) ? reshape(x, size(z)) : x, z, ()); x)
Base.copyto!(x::PermutedDimsArray, z::ZArray) = _copyto!(x, z, ())
function _copyto!(x, z::ZArray{T,N}, I) where {T,N}
    all_ = isempty(I) ? ntuple(_ -> Colon(), N) : I
    parts = _parts(z, all_)
    lengths = _lengths(parts, all_)
    size(x) == lengths || throw(DimensionMismatch("the variable has the size $(size(x)), expected that of the region, $lengths"))
    if _takes(x, T)
        _strided(ozarr_array_read_ex, z, all_, parts, x)
    elseif isempty(lengths)
        x[] = _read(z, all_)
    else
        copyto!(x, _read(z, all_))
    end
    return x
end

# Whether the library can read elements of T to where those of x lie, and write them from there; not those of variable length.
_takes(x, ::Type{T}) where {T} = _direct(x) && isbitstype(T) && (eltype(x) === T || _has_number(eltype(x)) && !_is_lossy(eltype(x), T))
_gives(x, ::Type{T}) where {T} = _direct(x) && isbitstype(T) && (eltype(x) === T || _has_number(eltype(x)) && !_is_lossy(T, eltype(x)))

_direct(::Array) = true
_direct(x::SubArray) = parent(x) isa Array && x isa StridedArray
_direct(::Any) = false

# ---- writing -------------------------------------------------------------------------------------------------------

# Values are converted as Julia does it: 2.7 into an array of integers is an InexactError, not 2.
Base.setindex!(z::ZArray, x, I...) = (_write(z, x, _selection(z, I)); z)

_write(z::ZArray, x, ::Whole) = _write(z, x isa AbstractArray ? reshape(x, size(z)) : x, ntuple(_ -> Colon(), ndims(z)))
function _write(z::ZArray{T,N}, x::AbstractArray, I::NTuple{N,Index}) where {T,N}
    parts = _parts(z, I)
    lengths = _lengths(parts, I)
    Base.setindex_shape_check(x, lengths...)
    # What the library cannot take as it lies is made an Array of the array's type first.
    y = _gives(x, T) ? x : convert(Array{T}, x)
    if size(y) == lengths
        _strided(ozarr_array_write_ex, z, I, parts, y)
    else # other dimensions of length 1
        y = y isa Array ? y : Array(y)
        GC.@preserve y _transfer(ozarr_array_write_ex, z, I, parts, eltype(y), Ptr{Cvoid}(pointer(y)), sizeof(y), 0, nothing)
    end
end

# One value for all elements of the region.
function _write(z::ZArray{T,N}, x, I::NTuple{N,Index}) where {T,N}
    parts = _parts(z, I)
    value = Ref(convert(T, x))
    GC.@preserve value _transfer(ozarr_array_write_ex, z, I, parts, T, Base.unsafe_convert(Ptr{Cvoid}, value), sizeof(T), 0, ntuple(_ -> 0, N))
end

function _write(z::ZArray{T,N}, x, J::NTuple{N,Any}) where {T,N}
    lengths = _shape(J)
    x isa AbstractArray && Base.setindex_shape_check(x, lengths...)
    _listed(ozarr_array_write_orthogonal, z, J, _values(T, x, lengths))
end

function _write(z::ZArray{T,N}, x, points::Points) where {T,N}
    x isa AbstractArray && _one_for_each(x, points)
    _at_points(ozarr_array_write_points, z, points, _values(T, x, size(points.at)))
end

# Refuses another number of values than there are points.
_one_for_each(x, points) = length(x) == length(points.at) ||
    throw(DimensionMismatch("found $(length(x)) values, expected $(length(points.at)), one for each point"))

_values(::Type{T}, x::AbstractArray, _) where {T} = x isa Array && _gives(x, T) ? x : convert(Array{T}, x)
_values(::Type{T}, x, lengths) where {T} = fill(convert(T, x), lengths)

"Writes the whole array."
Base.copyto!(z::ZArray, x::AbstractArray) = _fill_whole(z, x)
Base.copyto!(z::ZArray, x::ZArray) = _fill_whole(z, Array(x))
function _fill_whole(z::ZArray{T,N}, x) where {T,N}
    size(x) == size(z) || throw(DimensionMismatch("the variable has the size $(size(x)), expected that of the array, $(size(z))"))
    _write(z, N == 0 ? x[] : x, ntuple(_ -> Colon(), N))
    return z
end

"Writes one value to all elements."
Base.fill!(z::ZArray{T,N}, value) where {T,N} = (_write(z, convert(T, value), ntuple(_ -> Colon(), N)); z)

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
