# Stores, groups and arrays: opening, listing, erasing, what they are like.

"""
    OZarr.open(location; mode = "r")
    OZarr.open(f, location; mode = "r")

Opens the array or the group at `location`; mode "r+" is for writing, too. With a function, calls it and closes afterwards.
"""
open(location::AbstractString; mode::AbstractString = "r") = _node((array, group) -> ozarr_node_open(location, mode, array, group))
open(f::Function, location::AbstractString; mode::AbstractString = "r") = _closing(f, open(location; mode = mode))

"""
    OZarr.store(location; mode = "r", context = nothing, options...)

Opens a store; mode "r+" is for writing, too. `options` are those of `ozarr_store_open_ex`, such as `var"file.sync" = "each"`, or a
dictionary: `OZarr.store("run.zarr", Dict("file.sync" => "each"))`.
"""
function store(location::AbstractString, options::AbstractDict = Dict{String,String}(); mode::AbstractString = "r", context::Union{Nothing,Context} = nothing, more...)
    context === nothing || _alive(context)
    texts = String[]
    for (key, value) in Iterators.flatten((options, more))
        push!(texts, String(key), string(value))
    end
    return Store(_with_texts(texts) do list
        push!(list, C_NULL)
        _opened(out -> ozarr_store_open_ex(something(context, C_NULL), location, mode, list, out))
    end)
end

"An empty store in memory."
memory() = Store(_opened(out -> ozarr_store_memory(out)))

# `use(pointers)` to texts that end in NUL, and live as long as the call.
function _with_texts(use, texts)
    kept = [Base.cconvert(Cstring, String(t)) for t in texts]
    return GC.@preserve kept use(Ptr{UInt8}[Base.unsafe_convert(Cstring, t) |> pointer_of for t in kept])
end
pointer_of(text::Cstring) = convert(Ptr{UInt8}, text)

function Base.getindex(s::Store, path::AbstractString)
    kind = _kind(s, path)
    kind == OZARR_NODE_KIND_GROUP && return ZGroup(_opened(out -> ozarr_group_open_at(s, path, out)))
    return _array(_opened(out -> ozarr_array_open_at(s, path, out)))
end

_kind(s::Store, path) = _number(out -> ozarr_store_node_kind(s, path, out), Int32)

Base.haskey(s::Store, path::AbstractString) = _kind(s, path) != OZARR_NODE_KIND_NONE
Base.delete!(s::Store, path::AbstractString) = (_check(ozarr_store_node_erase(s, path)); s)

function Base.getindex(g::ZGroup, path::AbstractString)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    status = ozarr_group_open_array(g, path, out)
    status == OZARR_OK && return _array(out[])
    status == OZARR_ERR_NODE_KIND || throw(_error())
    return ZGroup(_opened(o -> ozarr_group_open_group(g, path, o)))
end

# `f()`, or `default()` where nothing is there.
function _or_missing(f, default)
    try
        return f()
    catch e
        e isa OZarrError && e.status == OZARR_ERR_NOT_FOUND || rethrow()
    end
    return default()
end

Base.get(default::Base.Callable, g::Union{ZGroup,Store}, path::AbstractString) = _or_missing(() -> g[path], default)
Base.get(g::Union{ZGroup,Store}, path::AbstractString, default) = get(() -> default, g, path)
Base.haskey(g::ZGroup, path::AbstractString) = _or_missing(() -> (close(g[path]); true), () -> false)
"Erases the node at a path below the group, with everything below it."
Base.delete!(g::ZGroup, path::AbstractString) = (_check(ozarr_group_erase(g, path)); g)

const _kinds = Dict(OZARR_NODE_KIND_ARRAY => :array, OZARR_NODE_KIND_GROUP => :group)

"""
    OZarr.nodes(group; pattern = nothing, depth = 1)

The nodes below a group as a vector of `path => kind`, sorted by path: `:array`, `:group`, or the message why the node cannot be understood. A negative
`depth` is any; `pattern` is as for `ozarr_group_list_nodes`: `"*/t"`, `"**/t"`.
"""
nodes(g::ZGroup; pattern::Union{Nothing,AbstractString} = nothing, depth::Integer = 1) =
    _listed(out -> ozarr_group_list_nodes(g, something(pattern, C_NULL), depth, out))

# The nodes under the cursor that `open(reference)` makes.
function _listed(open)
    iter = _opened(open)
    found = Pair{String,Union{Symbol,String}}[]
    try
        more = Ref(false)
        while true
            _check(ozarr_node_iter_next(iter, more))
            more[] || return found
            name = _text((buf, cap, len) -> ozarr_node_iter_name(iter, buf, cap, len))
            kind = _number(out -> ozarr_node_iter_kind(iter, out), Int32)
            push!(found, name => get(() -> _text((buf, cap, len) -> ozarr_node_iter_error(iter, buf, cap, len)), _kinds, kind))
        end
    finally
        ozarr_node_iter_free(iter)
    end
end

Base.keys(g::ZGroup) = [name for (name, _) in nodes(g)]
Base.length(g::ZGroup) = length(keys(g))

"Iterates over `name => array or group`."
function Base.iterate(g::ZGroup, names = keys(g))
    isempty(names) && return nothing
    return names[1] => g[names[1]], names[2:end]
end
Base.eltype(::Type{ZGroup}) = Pair{String,Any}

"Erases the node at a location, with everything below it."
erase(location::AbstractString) = _check(ozarr_node_erase(location))

# ---- what nodes are like -------------------------------------------------------------------------------------------

function Base.getproperty(node::Node, name::Symbol)
    name === :attrs && return Attributes(node)
    name === :settings && return Settings(node)
    return getfield(node, name)
end
Base.propertynames(::Node) = (:attrs, :settings)

"The metadata document of an array or a group, as JSON."
metadata(node::Node) = _text((buf, cap, len) -> ozarr_node_metadata(node, buf, cap, len))
"The path of an array or a group in its store."
path(node::Node) = _text((buf, cap, len) -> ozarr_node_path(node, buf, cap, len))
"The format of Zarr of an array or a group, 2 or 3."
zarr_format(node::Node) = Int(_number(out -> ozarr_node_zarr_format(node, out), Int32))
"Reads the documents again: others may have changed the size, the attributes and all else."
refresh!(node::Node) = (_check(ozarr_node_refresh(node, C_NULL, 0)); node)

"Collects the metadata of everything below the group into one document."
consolidate(g::ZGroup) = _check(ozarr_group_consolidate(g))

Base.size(z::ZArray) = _numbers(z, ozarr_array_shape)
"The size of the chunks: what is stored as one object each."
chunks(z::ZArray) = _numbers(z, ozarr_array_chunk_shape)
"The size of the smallest piece that can be read by itself."
inner_chunks(z::ZArray) = _numbers(z, ozarr_array_inner_chunk_shape)
"The number of chunks along each dimension."
chunk_grid(z::ZArray) = _numbers(z, ozarr_array_grid_shape)

function _numbers(z::ZArray{T,N}, get) where {T,N}
    out = Vector{Int64}(undef, N)
    _check(get(z, out))
    return ntuple(d -> Int(out[N+1-d]), N)
end

# A dimension as the library counts it.
function _dimension(z::ZArray{T,N}, dim::Integer) where {T,N}
    1 <= dim <= N || throw(ArgumentError("dim is $dim, expected 1 to $N"))
    return N - dim
end

"The indices along dimension `dim` of the `i`-th chunk there."
function chunk_range(z::ZArray, dim::Integer, i::Integer)
    start, extent = Ref{Int64}(0), Ref{Int64}(0)
    _check(ozarr_array_chunk_extent(z, _dimension(z, dim), i - 1, start, extent))
    return Int(start[])+1:Int(start[] + extent[])
end

"The bytes of one element; 0 where they have any length."
item_size(z::ZArray) = Int(_number(out -> ozarr_array_item_size(z, out), Csize_t))

"The value that elements have which were never written; `nothing` if it is not defined."
fill_value(z::ZArray) = _one_value(z, ozarr_array_fill_value)
function _one_value(z::ZArray{T}, get) where {T}
    isbitstype(T) || throw(ArgumentError("the elements have any length ($T), expected numbers"))
    value, defined = Ref{T}(), Ref(false)
    _check(GC.@preserve value get(z, Base.unsafe_convert(Ptr{Cvoid}, value), sizeof(T), defined))
    return defined[] ? value[] : nothing
end

"The names of the dimensions; `nothing` for one without."
function dimension_names(z::ZArray{T,N}) where {T,N}
    named = Ref(false)
    return ntuple(N) do d
        name = _text((buf, cap, len) -> ozarr_array_dimension_name(z, N - d, buf, cap, len, named))
        named[] ? name : nothing
    end
end

"Changes the names of the dimensions, one for each; `nothing` for one without."
function set_dimension_names!(z::ZArray{T,N}, names) where {T,N}
    list = reverse(collect(Any, _each_dimension("the list of names", names, N)))
    _with_texts([something(n, "") for n in list]) do pointers
        for d in 1:N
            list[d] === nothing && (pointers[d] = C_NULL)
        end
        _check(ozarr_array_set_dimension_names(z, pointers))
    end
    return z
end

# ---- printing ------------------------------------------------------------------------------------------------------

function Base.show(io::IO, z::ZArray{T,N}) where {T,N}
    isopen(z) || return print(io, "closed ZArray{$T,$N}")
    print(io, N == 0 ? "0-dimensional" : join(size(z), "×"), " ZArray{$T,$N}")
    name = path(z)
    isempty(name) || print(io, " \"", name, '"')
end
Base.show(io::IO, ::MIME"text/plain", z::ZArray) = show(io, z)
Base.summary(io::IO, z::ZArray) = show(io, z)
function Base.show(io::IO, g::ZGroup)
    isopen(g) || return print(io, "closed ZGroup")
    print(io, "ZGroup(", join(keys(g), ", "), ")")
end
function Base.show(io::IO, d::Dataset)
    isopen(d) || return print(io, "closed Dataset")
    print(io, "Dataset(", join(["$name = $length" for (name, length) in dimensions(d)], ", "), "; ", join(keys(d), ", "), ")")
end
Base.show(io::IO, owned::Union{Store,Context,Appender,Series,Request}) = print(io, isopen(owned) ? "" : "closed ", "OZarr.", nameof(typeof(owned)))
