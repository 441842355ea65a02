# Handles: stores, groups, arrays. Opening, creating, what they are like.

const _types = (Bool => OZARR_BOOL, Int8 => OZARR_INT8, Int16 => OZARR_INT16, Int32 => OZARR_INT32, Int64 => OZARR_INT64,
    UInt8 => OZARR_UINT8, UInt16 => OZARR_UINT16, UInt32 => OZARR_UINT32, UInt64 => OZARR_UINT64, Float16 => OZARR_FLOAT16,
    Float32 => OZARR_FLOAT32, Float64 => OZARR_FLOAT64, ComplexF32 => OZARR_COMPLEX64, ComplexF64 => OZARR_COMPLEX128)

for (T, number) in _types
    @eval _type_number(::Type{$T}) = $number
end
_type_number(T::Type) = throw(ArgumentError("Zarr arrays hold Bool, integers up to 64 bits, Float16 to Float64, ComplexF32 and ComplexF64; found $T"))

# Elements of variable length; see varlen.jl.
_type_number(::Type{String}) = OZARR_STRING
_type_number(::Type{Vector{UInt8}}) = OZARR_BYTES

# Bytes, text, times, numbers that Julia does not have: as they are stored.
_type_number(::Type{<:NTuple{N,UInt8}}) where {N} = OZARR_AS_STORED

_has_number(::Type{T}) where {T} = T <: Union{map(first, _types)...}

function _type_of(number)
    number in (OZARR_STRING, OZARR_JSON) && return String
    number in (OZARR_BYTES, OZARR_LIST) && return Vector{UInt8}
    for (T, n) in _types
        n == number && return T
    end
    error("the type number $number is none that this package knows")
end

"A place that holds a hierarchy: a folder (`OZarr.store`), or memory (`OZarr.memory`)."
mutable struct Store
    handle::Ptr{Cvoid}
    Store(handle::Ptr{Cvoid}) = finalizer(s -> _release(s, ozarr_store_free), new(handle))
end

"A group: a folder of arrays and groups. `g[\"name\"]`, `keys(g)`, `haskey(g, \"name\")`, `g.attrs`."
mutable struct ZGroup
    handle::Ptr{Cvoid}
    ZGroup(handle::Ptr{Cvoid}) = finalizer(g -> _release(g, ozarr_group_free), new(handle))
end

"""
An array of elements `T` and `N` dimensions: `z[:, 1, 2:3]`, `z[...] = x`, `size(z)`, `z.attrs`. Bytes and text of one length, times, and
numbers that Julia does not have are tuples of `UInt8`, as they are stored. Text of any length is `String`, JSON values are their text, bytes (and lists of numbers) of any
length are `Vector{UInt8}`.
"""
mutable struct ZArray{T,N}
    handle::Ptr{Cvoid}
    ZArray{T,N}(handle::Ptr{Cvoid}) where {T,N} = finalizer(z -> _release(z, ozarr_array_free), new{T,N}(handle))
end

# A node is passed to the library itself: so it lives as long as the call, and is not finalized in between.
Base.unsafe_convert(::Type{Ptr{Cvoid}}, node::Union{Store,ZGroup,ZArray}) = getfield(node, :handle)

function _release(node, free)
    handle, node.handle = getfield(node, :handle), C_NULL
    handle == C_NULL || free(handle)
    return nothing
end

function _array(handle::Ptr{Cvoid})
    rank, number, bytes = Ref{Int32}(0), Ref{Int32}(0), Ref{Csize_t}(0)
    status = ozarr_array_rank(handle, rank)
    status == OZARR_OK && (status = ozarr_array_type(handle, number))
    status == OZARR_OK && (status = ozarr_array_item_size(handle, bytes))
    if status != OZARR_OK
        e = _error()
        ozarr_array_free(handle)
        throw(e)
    end
    as_stored = OZARR_COMPLEX128 < number[] <= OZARR_BY_DTYPE
    return ZArray{as_stored ? NTuple{Int(bytes[]),UInt8} : _type_of(number[]),Int(rank[])}(handle)
end

# Calls `open(reference)` and gives what it puts there.
function _opened(open)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    _check(open(out))
    return out[]
end

# ---- opening -------------------------------------------------------------------------------------------------------

"""
    OZarr.open(location; mode = "r")
    OZarr.open(f, location; mode = "r")

Opens what stands at `location`, an array or a group; mode "r+" is for writing, too. With a function, calls it and closes afterwards.
"""
function open(location::AbstractString; mode::AbstractString = "r")
    array, group = Ref{Ptr{Cvoid}}(C_NULL), Ref{Ptr{Cvoid}}(C_NULL)
    _check(ozarr_node_open(location, mode, array, group))
    return array[] != C_NULL ? _array(array[]) : ZGroup(group[])
end

function open(f::Function, location::AbstractString; mode::AbstractString = "r")
    node = open(location; mode = mode)
    try
        return f(node)
    finally
        close(node)
    end
end

"Opens a place that holds a hierarchy; mode \"r+\" is for writing, too."
store(location::AbstractString; mode::AbstractString = "r") = Store(_opened(out -> ozarr_store_open(location, mode, out)))

"An empty store in memory."
memory() = Store(_opened(out -> ozarr_store_memory(out)))

function Base.getindex(s::Store, path::AbstractString)
    kind = _kind(s, path)
    kind == OZARR_NODE_KIND_GROUP && return ZGroup(_opened(out -> ozarr_group_open_at(s, path, out)))
    return _array(_opened(out -> ozarr_array_open_at(s, path, out)))
end

function _kind(s::Store, path)
    kind = Ref{Int32}(0)
    _check(ozarr_store_node_kind(s, path, kind))
    return kind[]
end

Base.haskey(s::Store, path::AbstractString) = _kind(s, path) != OZARR_NODE_KIND_NONE
Base.delete!(s::Store, path::AbstractString) = (_check(ozarr_store_node_erase(s, path)); s)

function Base.getindex(g::ZGroup, path::AbstractString)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    status = ozarr_group_open_array(g, path, out)
    status == OZARR_OK && return _array(out[])
    status == OZARR_ERR_NODE_KIND || throw(_error())
    return ZGroup(_opened(o -> ozarr_group_open_group(g, path, o)))
end

# Calls `f(name, kind)` for every child.
function _children(f, g::ZGroup)
    iter = _opened(out -> ozarr_group_list_nodes(g, C_NULL, 1, out))
    try
        more, kind = Ref(false), Ref{Int32}(0)
        while true
            _check(ozarr_node_iter_next(iter, more))
            more[] || return
            _check(ozarr_node_iter_kind(iter, kind))
            f(_text((buf, cap, len) -> ozarr_node_iter_name(iter, buf, cap, len)), kind[])
        end
    finally
        ozarr_node_iter_free(iter)
    end
end

function Base.keys(g::ZGroup)
    names = String[]
    _children((name, _) -> push!(names, name), g)
    return names
end
Base.length(g::ZGroup) = length(keys(g))

function Base.haskey(g::ZGroup, path::AbstractString)
    try
        close(g[path])
        return true
    catch e
        e isa OZarrError && e.status == OZARR_ERR_NOT_FOUND || rethrow()
        return false
    end
end

"Iterates over `name => array or group`."
function Base.iterate(g::ZGroup, names = keys(g))
    isempty(names) && return nothing
    return names[1] => g[names[1]], names[2:end]
end
Base.eltype(::Type{ZGroup}) = Pair{String,Any}

# ---- creating ------------------------------------------------------------------------------------------------------

_flags(overwrite::Bool) = overwrite ? OZARR_CREATE_OVERWRITE : OZARR_CREATE_NEW

"""
    OZarr.create_group(location; overwrite = false)
    OZarr.create_group(group_or_store, path; overwrite = false)

Creates a group, with the groups above it that are missing.
"""
create_group(location::AbstractString; overwrite::Bool = false) = ZGroup(_opened(out -> ozarr_group_create(location, _flags(overwrite), out)))
create_group(g::ZGroup, path::AbstractString; overwrite::Bool = false) =
    ZGroup(_opened(out -> ozarr_group_create_group(g, path, _flags(overwrite), out)))
create_group(s::Store, path::AbstractString; overwrite::Bool = false) =
    ZGroup(_opened(out -> ozarr_group_create_at(s, path, 0, _flags(overwrite), out)))

"""
    OZarr.create([group_or_store,] location, T, size...; options...)
    OZarr.create([group_or_store,] location, x; options...)

Creates an array; from an array `x`, of its type and size, and writes it. Options: `chunks` and `inner_chunks` (sizes), `names` of the
dimensions, `fill`, `compressor` ("zstd", "gzip", "blosc", "none") and its `level`, `codecs` (JSON), `attributes` (a dictionary),
`zarr_format` (2 or 3), `overwrite`.
"""
create(location::AbstractString, T::Type, dims::Integer...; options...) = create(location, T, dims; options...)
create(parent::Union{ZGroup,Store}, path::AbstractString, T::Type, dims::Integer...; options...) = create(parent, path, T, dims; options...)

create(location::AbstractString, T::Type, dims::Tuple; overwrite::Bool = false, options...) =
    _with_spec(spec -> _array(_opened(out -> ozarr_array_create_ex(location, spec, _flags(overwrite), out))), T, dims; options...)
create(g::ZGroup, path::AbstractString, T::Type, dims::Tuple; overwrite::Bool = false, options...) =
    _with_spec(spec -> _array(_opened(out -> ozarr_group_create_array(g, path, spec, _flags(overwrite), out))), T, dims; options...)
create(s::Store, path::AbstractString, T::Type, dims::Tuple; overwrite::Bool = false, options...) =
    _with_spec(spec -> _array(_opened(out -> ozarr_array_create_at(s, path, spec, _flags(overwrite), out))), T, dims; options...)

create(location::AbstractString, x::AbstractArray; options...) = _written(create(location, eltype(x), size(x); options...), x)
create(parent::Union{ZGroup,Store}, path::AbstractString, x::AbstractArray; options...) =
    _written(create(parent, path, eltype(x), size(x); options...), x)

function _written(z::ZArray, x)
    z[ntuple(_ -> Colon(), ndims(x))...] = x
    return z
end

_reversed(dims) = Int64[d for d in reverse(collect(dims))]

function _with_spec(use, T::Type, dims::Tuple; chunks = nothing, inner_chunks = nothing, names = nothing, fill = nothing, compressor = nothing,
    level::Integer = -1, codecs = nothing, attributes = nothing, zarr_format::Integer = 3)
    for (what, list) in (("chunks", chunks), ("inner_chunks", inner_chunks), ("names", names))
        list === nothing || length(list) == length(dims) ||
            throw(DimensionMismatch("$what has $(length(list)) elements, expected $(length(dims)), one for each dimension"))
    end
    spec = _opened(out -> ozarr_spec_new(_type_number(T), length(dims), _reversed(dims), out))
    try
        zarr_format == 3 || _check(ozarr_spec_set_zarr_format(spec, zarr_format))
        chunks === nothing || _check(ozarr_spec_set_chunks(spec, _reversed(chunks)))
        inner_chunks === nothing || _check(ozarr_spec_set_inner_chunks(spec, _reversed(inner_chunks)))
        if names !== nothing
            texts = [Base.cconvert(Cstring, String(n)) for n in reverse(collect(names))]
            GC.@preserve texts _check(ozarr_spec_set_dimension_names(spec, Ptr{UInt8}[pointer(t) for t in texts]))
        end
        fill isa AbstractString ? _check(ozarr_spec_set_fill_json(spec, json_text(fill))) :
        fill === nothing || _check(ozarr_spec_set_fill_value(spec, _type_number(T), Ref(convert(T, fill))))
        compressor === nothing || _check(ozarr_spec_set_compressor(spec, String(compressor), level))
        codecs === nothing || _check(ozarr_spec_set_member_json(spec, "codecs", codecs))
        attributes === nothing || _check(ozarr_spec_set_attributes_json(spec, json_text(attributes)))
        return use(spec)
    finally
        ozarr_spec_free(spec)
    end
end

"Erases what stands at a location, with everything below it."
erase(location::AbstractString) = _check(ozarr_node_erase(location))

# ---- properties ----------------------------------------------------------------------------------------------------

const Node = Union{ZArray,ZGroup}

Base.getproperty(node::Node, name::Symbol) = name === :attrs ? Attributes(node) : getfield(node, name)
Base.propertynames(::Node) = (:attrs,)

"Flushes and frees; an error if something could not be stored. Without it, the garbage collector frees some time."
Base.close(z::ZArray) = _close(z, ozarr_array_close)
Base.close(g::ZGroup) = _close(g, ozarr_group_close)
Base.close(s::Store) = _close(s, ozarr_store_close)
function _close(node, close)
    handle, node.handle = getfield(node, :handle), C_NULL
    handle == C_NULL || _check(close(handle))
    return nothing
end

Base.isopen(node::Union{Node,Store}) = getfield(node, :handle) != C_NULL
Base.flush(node::Node) = _check(ozarr_node_flush(node))
Base.flush(s::Store) = _check(ozarr_store_flush(s))

"The metadata document of an array or a group, as JSON."
metadata(node::Node) = _text((buf, cap, len) -> ozarr_node_metadata(node, buf, cap, len))

"Collects the metadata of everything below the group into one document."
consolidate(g::ZGroup) = _check(ozarr_group_consolidate(g))

Base.eltype(::Type{ZArray{T,N}}) where {T,N} = T
Base.ndims(::Type{ZArray{T,N}}) where {T,N} = N
Base.ndims(::ZArray{T,N}) where {T,N} = N
Base.size(z::ZArray) = _numbers(z, ozarr_array_shape)
Base.size(z::ZArray, d::Integer) = d <= ndims(z) ? size(z)[d] : 1
Base.axes(z::ZArray) = map(Base.OneTo, size(z))
Base.axes(z::ZArray, d::Integer) = Base.OneTo(size(z, d))
Base.length(z::ZArray) = prod(size(z))
Base.isempty(z::ZArray) = any(iszero, size(z))
Base.firstindex(::ZArray) = 1
Base.firstindex(::ZArray, d::Integer) = 1
Base.lastindex(z::ZArray) = length(z)
Base.lastindex(z::ZArray, d::Integer) = size(z, d)

"The size of the pieces that are stored as one object each."
chunks(z::ZArray) = _numbers(z, ozarr_array_chunk_shape)

"The size of the smallest piece that can be read by itself."
inner_chunks(z::ZArray) = _numbers(z, ozarr_array_inner_chunk_shape)

function _numbers(z::ZArray{T,N}, get) where {T,N}
    out = Vector{Int64}(undef, N)
    _check(get(z, out))
    return ntuple(d -> Int(out[N+1-d]), N)
end

"The names of the dimensions; `nothing` for one without."
function dimension_names(z::ZArray{T,N}) where {T,N}
    named = Ref(false)
    return ntuple(N) do d
        name = _text((buf, cap, len) -> ozarr_array_dimension_name(z, N - d, buf, cap, len, named))
        named[] ? name : nothing
    end
end

function Base.show(io::IO, z::ZArray{T,N}) where {T,N}
    isopen(z) || return print(io, "closed ZArray{$T,$N}")
    print(io, N == 0 ? "0-dimensional" : join(size(z), "×"), " ZArray{$T,$N}")
    path = _text((buf, cap, len) -> ozarr_node_path(z, buf, cap, len))
    isempty(path) || print(io, " \"", path, '"')
end
Base.summary(io::IO, z::ZArray) = show(io, z)
function Base.show(io::IO, g::ZGroup)
    isopen(g) || return print(io, "closed ZGroup")
    print(io, "ZGroup(", join(keys(g), ", "), ")")
end
Base.show(io::IO, s::Store) = print(io, isopen(s) ? "OZarr.Store" : "closed OZarr.Store")
