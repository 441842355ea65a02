# Elements of variable length: text as String, bytes as Vector{UInt8}. They are read into an object of the library, and copied from there.

const Variable{N} = Union{ZArray{String,N},ZArray{Vector{UInt8},N}}

# Calls `use(region)` with the region of the parts; a failure of the call is an exception.
function _with_region(use, parts, I, z::Variable{N}) where {N}
    any(i -> i isa Periodic, I) && throw(ArgumentError("elements of variable length are not read or written around the ends of a dimension"))
    start = Int64[parts[N+1-d][1] - 1 for d in 1:N]
    shape = Int64[parts[N+1-d][2] for d in 1:N]
    step = Int64[parts[N+1-d][3] for d in 1:N]
    status = GC.@preserve start shape step use(Ref(ozarr_region(start = pointer(start), shape = pointer(shape), step = pointer(step))))
    return _bounded(status, z, I)
end

_element(::Type{String}, data, from, count) = unsafe_string(data + from, count)
_element(::Type{Vector{UInt8}}, data, from, count) = copy(unsafe_wrap(Array, data + from, count))

# The elements of the region; the first of Julia's dimensions runs fastest, as the last of C's.
function _read_region(z::Variable{N}, I) where {N}
    parts, T = _parts(z, I), eltype(z)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    _with_region(region -> ozarr_array_read_varlen(z, region, out), parts, I, z)
    try
        count, size = Ref{Int64}(0), Ref{Csize_t}(0)
        offsets, data = Ref{Ptr{Int64}}(C_NULL), Ref{Ptr{UInt8}}(C_NULL)
        _check(ozarr_varlen_count(out[], count))
        _check(ozarr_varlen_all(out[], offsets, data, size))
        at(i) = unsafe_load(offsets[], i)
        return T[_element(T, data[], at(i), at(i + 1) - at(i)) for i in 1:count[]]
    finally
        ozarr_varlen_free(out[])
    end
end

_read_one(z::Variable, I) = _read_region(z, I)[1]
_read(z::Variable{N}, I::NTuple{N,Integer}) where {N} = _read_one(z, I)
_read(z::Variable, ::Whole) = vec(Array(z))
_read(z::Variable{N}, I::NTuple{N,Index}) where {N} = reshape(_read_region(z, I), _lengths(_parts(z, I), I))
_read(z::Variable, points::Points) = [_read_one(z, Tuple(p)) for p in points.at]

# Lists of indices: the box around them is read.
function _read(z::Variable{N}, J::NTuple{N,Any}) where {N}
    all(map(_inside, J, size(z))) || throw(BoundsError(z, J))
    any(j -> !(j isa Union{Integer,Colon}) && isempty(j), J) && return Array{eltype(z)}(undef, _shape(map((j, n) -> j isa Colon ? (1:n) : j, J, size(z))))
    box = map(j -> j isa Union{Integer,Colon} ? j : (minimum(j):maximum(j)), J)
    inside = [b isa Colon ? b : j .- (first(b) - 1) for (j, b) in zip(J, box) if !(j isa Integer)]
    return _read(z, box)[inside...]
end

_write(z::Variable{N}, x, I::NTuple{N,Integer}) where {N} = _write_region(z, fill(x), I)
_write(z::Variable{N}, x::AbstractArray, I::NTuple{N,Index}) where {N} = eltype(z) === Vector{UInt8} && x isa AbstractVector{UInt8} ?
    _write_region(z, fill(x, _lengths(_parts(z, I), I)), I) : _write_region(z, x, I)
_write(z::Variable{N}, x::AbstractArray, I::NTuple{N,Integer}) where {N} = _write_region(z, fill(x), I)
_write(z::Variable{N}, x, I::NTuple{N,Index}) where {N} = _write_region(z, fill(x, _lengths(_parts(z, I), I)), I)
function _write(z::Variable, x::AbstractArray, points::Points)
    _one_for_each(x, points)
    foreach((p, e) -> _write(z, e, Tuple(p)), points.at, x)
end
_write(z::Variable, x, points::Points) = foreach(p -> _write(z, x, Tuple(p)), points.at)
_write(z::Variable{N}, x, J::NTuple{N,Any}) where {N} =
    throw(ArgumentError("texts and bytes are written to integers, ranges and colons; found $(map(typeof, J))"))

function _write_region(z::Variable{N}, x, I) where {N}
    parts = _parts(z, I)
    Base.setindex_shape_check(x, _lengths(parts, I)...)
    pieces = [codeunits_of(e) for e in x]
    offsets = Int64[0; cumsum(Int64[length(p) for p in vec(pieces)])]
    data = sizehint!(UInt8[], offsets[end])
    foreach(piece -> append!(data, piece), pieces)
    GC.@preserve offsets data _with_region(
        region -> ozarr_array_write_varlen(z, region, pointer(offsets), Ptr{Cvoid}(pointer(data)), length(data)), parts, I, z)
end

codeunits_of(text::AbstractString) = Vector{UInt8}(codeunits(String(text)))
codeunits_of(bytes::AbstractVector{UInt8}) = Vector{UInt8}(bytes)
