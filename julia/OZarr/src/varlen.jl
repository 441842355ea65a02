# Elements of variable length: text as String, bytes as Vector{UInt8}. They are read into an object of the library, and copied from there.

const Variable{N} = Union{ZArray{String,N},ZArray{Vector{UInt8},N}}

# Calls `use(region)` with the region of the parts; a failure of the call is an exception.
function _with_region(use, parts, I, z::Variable{N}) where {N}
    start = Int64[parts[N+1-d][1] - 1 for d in 1:N]
    shape = Int64[parts[N+1-d][2] for d in 1:N]
    step = Int64[parts[N+1-d][3] for d in 1:N]
    status = GC.@preserve start shape step use(Ref(ozarr_region(sizeof(ozarr_region), pointer(start), pointer(shape), pointer(step))))
    status == OZARR_OK && return nothing
    e = _error()
    status == OZARR_ERR_BOUNDS && throw(BoundsError(z, I))
    throw(e)
end

_element(::Type{String}, data, from, count) = unsafe_string(data + from, count)
_element(::Type{Vector{UInt8}}, data, from, count) = copy(unsafe_wrap(Array, data + from, count))

# The elements of the region; the first of Julia's dimensions runs fastest, as the last of C's.
function _read(z::Variable{N}, parts, I, T) where {N}
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

Base.getindex(z::ZArray{String,N}, I::Vararg{Integer,N}) where {N} = _read(z, _parts(z, I), I, String)[1]
Base.getindex(z::ZArray{Vector{UInt8},N}, I::Vararg{Integer,N}) where {N} = _read(z, _parts(z, I), I, Vector{UInt8})[1]
Base.getindex(z::ZArray{String,N}, I::Index...) where {N} = _shaped(z, I, String)
Base.getindex(z::ZArray{Vector{UInt8},N}, I::Index...) where {N} = _shaped(z, I, Vector{UInt8})

function _shaped(z, I, T)
    parts = _parts(z, I)
    return reshape(_read(z, parts, I, T), _lengths(parts, I))
end

Base.setindex!(z::ZArray{String,N}, x::AbstractArray, I::Index...) where {N} = _write(z, x, I)
Base.setindex!(z::ZArray{Vector{UInt8},N}, x::AbstractArray{<:AbstractVector{UInt8}}, I::Index...) where {N} = _write(z, x, I)
Base.setindex!(z::ZArray{String,N}, x::AbstractString, I::Index...) where {N} = (_write(z, fill(x, _lengths(_parts(z, I), I)), I); x)
Base.setindex!(z::ZArray{Vector{UInt8},N}, x::AbstractVector{UInt8}, I::Integer...) where {N} = (_write(z, fill(x), I); x)

function _write(z::Variable{N}, x, I) where {N}
    parts = _parts(z, I)
    Base.setindex_shape_check(x, _lengths(parts, I)...)
    pieces = [codeunits_of(e) for e in x]
    offsets = Int64[0; cumsum(Int64[length(p) for p in vec(pieces)])]
    data = reduce(vcat, vec(pieces); init = UInt8[])
    GC.@preserve offsets data _with_region(
        region -> ozarr_array_write_varlen(z, region, pointer(offsets), Ptr{Cvoid}(pointer(data)), length(data)), parts, I, z)
    return x
end

codeunits_of(text::AbstractString) = Vector{UInt8}(codeunits(String(text)))
codeunits_of(bytes::AbstractVector{UInt8}) = Vector{UInt8}(bytes)
