# What the library's handles are here: objects that own one each. The garbage collector frees it, `close` at once.

"A directory, an archive, a bucket (`OZarr.store`) or memory (`OZarr.memory`) that holds a hierarchy."
mutable struct Store
    handle::Ptr{Cvoid}
    Store(handle::Ptr{Cvoid}) = finalizer(s -> _release(s, ozarr_store_free), new(handle))
end

"""
A group of arrays and groups: `g["name"]`, `keys(g)`, `haskey(g, "name")`, `get(g, "name", default)`, `delete!(g, "name")`, `g.attrs`,
`g.settings`.
"""
mutable struct ZGroup
    handle::Ptr{Cvoid}
    ZGroup(handle::Ptr{Cvoid}) = finalizer(g -> _release(g, ozarr_group_free), new(handle))
end

"""
An array of elements `T` and `N` dimensions: `z[:, 1, 2:3]`, `z[...] = x`, `z[...] .= x`, `size(z)`, `z.attrs`, `z.settings`. It is an
`AbstractArray`: what reads it (broadcasting, `sum`, iteration) reads whole regions, not one element at a time.

Strings of any length are `String`, JSON values are their text, bytes (and lists of numbers) of any length are `Vector{UInt8}`. Times,
strings of one length, and numbers that Julia does not have are tuples of `UInt8`, as they are stored; `OZarr.typed` makes structs of them.
"""
mutable struct ZArray{T,N} <: AbstractArray{T,N}
    handle::Ptr{Cvoid}
    ZArray{T,N}(handle::Ptr{Cvoid}) where {T,N} = finalizer(z -> _release(z, ozarr_array_free), new{T,N}(handle))
end

"Settings for the stores that are opened with it: `OZarr.Context(threads = 4)`, `c[\"strict\"] = true`."
mutable struct Context
    handle::Ptr{Cvoid}
    Context(handle::Ptr{Cvoid}) = finalizer(c -> _release(c, ozarr_context_free), new(handle))
end

"""
A group as netCDF and xarray see it: named dimensions, variables, coordinates. `ds["t"]`, `keys(ds)`, `OZarr.dimensions(ds)`, `ds.attrs`.
Close it: only then is written which variables are coordinates, and are the metadata consolidated.
"""
mutable struct Dataset
    handle::Ptr{Cvoid}
    Dataset(handle::Ptr{Cvoid}) = finalizer(d -> _release(d, ozarr_dataset_free), new(handle))
end

"What makes an array longer along one dimension, step by step; see `OZarr.appender`."
mutable struct Appender{T,N}
    handle::Ptr{Cvoid}
    array::ZArray{T,N}
    dim::Int
    Appender(handle::Ptr{Cvoid}, z::ZArray{T,N}, dim) where {T,N} = finalizer(a -> _release(a, ozarr_appender_free), new{T,N}(handle, z, dim))
end

"The steps of all variables of a dataset along one dimension; see `OZarr.series`."
mutable struct Series
    handle::Ptr{Cvoid}
    dataset::Dataset
    dimension::String
    variables::Dict{String,Tuple{Type,Dims,Int}} # type, size and where the dimension is, of those that were given
    Series(handle::Ptr{Cvoid}, d, dimension) =
        finalizer(s -> _release(s, ozarr_series_free), new(handle, d, dimension, Dict{String,Tuple{Type,Dims,Int}}()))
end

"A read or a write that goes on while the program computes: `wait(r)`, `OZarr.isdone(r)`, `OZarr.cancel(r)`; see `OZarr.iread!`."
mutable struct Request
    handle::Ptr{Cvoid}
    memory::Any # is kept until the request is done
    Request(handle::Ptr{Cvoid}, memory) = finalizer(r -> _release(r, ozarr_request_free), new(handle, memory))
end

const Node = Union{ZArray,ZGroup}
const Owned = Union{Store,Node,Context,Dataset,Appender,Series,Request}

# An object is passed to the library itself: so it lives as long as the call, and is not finalized in between.
Base.unsafe_convert(::Type{Ptr{Cvoid}}, owned::Owned) = getfield(owned, :handle)

function _release(owned, free)
    handle, owned.handle = getfield(owned, :handle), C_NULL
    handle == C_NULL || free(handle)
    return nothing
end

"Flushes and frees; an error if something could not be stored. Without it, the garbage collector frees some time."
Base.close(z::ZArray) = _close(z, ozarr_array_close)
Base.close(g::ZGroup) = _close(g, ozarr_group_close)
Base.close(s::Store) = _close(s, ozarr_store_close)
Base.close(d::Dataset) = _close(d, ozarr_dataset_close)
Base.close(a::Appender) = _close(a, ozarr_appender_close)
Base.close(s::Series) = _close(s, ozarr_series_close)
Base.close(c::Context) = _release(c, ozarr_context_free)
function _close(owned, close)
    handle, owned.handle = getfield(owned, :handle), C_NULL
    handle == C_NULL || _check(close(handle))
    return nothing
end

Base.isopen(owned::Owned) = getfield(owned, :handle) != C_NULL
Base.flush(node::Node) = _check(ozarr_node_flush(node))
Base.flush(s::Store) = _check(ozarr_store_flush(s))
Base.flush(s::Series) = _check(ozarr_series_flush(s))
Base.flush(a::Appender) = _check(ozarr_appender_flush(a))

# Calls `open(reference)` and gives what it puts there.
function _opened(open)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    _check(open(out))
    return out[]
end

# `use(object)`, and closes it afterwards.
function _closing(use, owned)
    try
        return use(owned)
    finally
        close(owned)
    end
end

# An array's handle as a ZArray of its type and rank.
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

# A call that puts a handle either to its first or to its second argument.
function _node(open)
    array, group = Ref{Ptr{Cvoid}}(C_NULL), Ref{Ptr{Cvoid}}(C_NULL)
    _check(open(array, group))
    return array[] != C_NULL ? _array(array[]) : ZGroup(group[])
end
