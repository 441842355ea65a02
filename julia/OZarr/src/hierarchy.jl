# Moving and copying nodes; what is stored.

"Renames the node at a path below the group; or moves it to another path there."
rename!(g::ZGroup, path::AbstractString, to::AbstractString) = (_check(ozarr_group_rename(g, path, to)); g)

const _copy_options = (overwrite = false, zarr_format = 0, raw = false, verify = false, link = false, memory = 0, progress = nothing)

"""
    OZarr.copy_node(source, dest; options...)
    OZarr.copy_node(store, path, dest_store, dest_path; options...)

Copies the node at a location, or at a path of a store, with everything below it. Options: `overwrite`; `zarr_format` 2 or 3 of the copy;
`raw` (the stored bytes, as they are), with `verify` (read and compared) and `link` (hard links where possible); `memory`, about, in bytes;
`progress`, a function that is called with what is done and the total.
"""
copy_node(source::AbstractString, dest::AbstractString; options...) = _copy((o) -> ozarr_copy(source, dest, o), options)
copy_node(s::Store, path::AbstractString, dest::Store, dest_path::AbstractString; options...) =
    _copy((o) -> ozarr_copy_at(s, path, dest, dest_path, o), options)

# A function that is called with the progress, which the library gets as `user`, and what it threw.
mutable struct Progress
    call::Any
    thrown::Any
end

function _progressed(user::Ptr{Cvoid}, done::Int64, total::Int64)::Int32
    progress = unsafe_pointer_to_objref(user)::Progress
    try
        progress.call(done, total)
    catch e
        progress.thrown = Some(e)
        return OZARR_ERR_CALLBACK
    end
    return OZARR_OK
end

function _copy(call, given)
    o = _options("copy_node", _copy_options, given)
    flags = (o.raw ? OZARR_COPY_RAW : 0) | (o.verify ? OZARR_COPY_VERIFY : 0) | (o.link ? OZARR_COPY_LINK : 0)
    mode = o.overwrite ? OZARR_CREATE_OVERWRITE : OZARR_CREATE_NEW
    o.progress === nothing &&
        return _check(call(Ref(ozarr_copy_options(zarr_format = o.zarr_format, mode = mode, flags = flags, memory = o.memory))))
    progress = Progress(o.progress, nothing)
    status = GC.@preserve progress call(Ref(ozarr_copy_options(zarr_format = o.zarr_format, mode = mode, flags = flags, memory = o.memory,
        user = pointer_from_objref(progress), progress = @cfunction(_progressed, Int32, (Ptr{Cvoid}, Int64, Int64)))))
    # What the function threw is thrown again now that the library has returned.
    progress.thrown === nothing || throw(something(progress.thrown))
    _check(status)
end

"""
    OZarr.info(z)

What is stored of an array: `chunks`, `possible_chunks`, `stored_bytes`, `element_bytes`, `ratio`.
"""
function info(z::ZArray)
    i = Ref(ozarr_info())
    _check(ozarr_array_info(z, i))
    return _members(i[])
end

"""
    OZarr.stats([x])

The counters of an array, a store or a context, or of all stores of the process: `reads`, `bytes_read`, `decoded_chunks` and others. They only grow:
what a part of a program did is the difference of two looks.
"""
stats(z::ZArray) = _stats(out -> ozarr_array_stats(z, out))
stats(s::Store) = _stats(out -> ozarr_store_stats(s, out))
stats(c::Context) = _alive(c) && _stats(out -> ozarr_context_stats(c, out))
stats() = _stats(out -> ozarr_context_stats(C_NULL, out))
_stats(fill) = (s = Ref(ozarr_stats()); _check(fill(s)); _members(s[]))

# A struct of the library as a NamedTuple, without what is no answer.
function _members(s)
    names = Tuple(n for n in fieldnames(typeof(s)) if !(n in (:struct_size, :reserved)))
    return NamedTuple{names}(map(n -> getfield(s, n), names))
end

"""
    OZarr.explain(z, indices...; write = false)

What reading (or writing) a region would do: how many chunks, reads, bytes and threads.
"""
function explain(z::ZArray{T,N}, I...; write::Bool = false) where {T,N}
    J = isempty(I) ? ntuple(_ -> Colon(), N) : I
    found = Ref(ozarr_explanation())
    parts = _parts(z, J)
    bytes = max(1, prod(_lengths(parts, J)) * sizeof(T))
    memory = Vector{UInt8}(undef, 1) # is not touched
    GC.@preserve memory _transfer((a, region, m) -> ozarr_array_explain(a, region, m, write, found), z, J, parts, T, Ptr{Cvoid}(pointer(memory)), bytes, 0, nothing)
    return _members(found[])
end
