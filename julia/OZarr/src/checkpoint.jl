# Checkpoints: groups that are there as a whole or not at all.

"""
Creates an array below the group and writes it; `OZarr.create` has options for it. After an error, and of numbers also after a kill, the array has its
elements or is not there.
"""
function Base.setindex!(g::ZGroup, x::AbstractArray{T}, path::AbstractString) where {T}
    _has_number(T) || return _set_others(g, x, path)
    values = x isa Array ? x : Array(x)
    GC.@preserve values _check(ozarr_group_put(g, path, _type_number(T), ndims(values), _reversed(size(values)), Ptr{Cvoid}(pointer(values)), sizeof(values)))
    return g
end

# Texts, bytes and structs, which the library takes for an array that is there.
function _set_others(g, x, path)
    z = create(g, path, eltype(x), size(x))
    try
        copyto!(z, x)
        close(z)
    catch
        delete!(g, path)
        rethrow()
    end
    return g
end

"""
    OZarr.checkpoint(f, location, name)

Begins a checkpoint in the group at `location`, calls `f(group)`, which puts arrays, groups and attributes into it (`group["u"] = u`), and commits it:
then it is there for everybody at once. If `f` throws, nothing of it is. Close the arrays and groups that `f` opens.
"""
function checkpoint(f::Function, location::AbstractString, name::AbstractString)
    group = begin_checkpoint(location, name)
    try
        f(group)
    catch
        isopen(group) && abandon!(group)
        rethrow()
    end
    commit!(group)
end

"Begins a checkpoint: a group to fill, and to give to `OZarr.commit!` or `OZarr.abandon!`."
begin_checkpoint(location::AbstractString, name::AbstractString) = ZGroup(_opened(out -> ozarr_checkpoint_begin(location, name, out)))
"Commits a checkpoint and closes its group."
commit!(group::ZGroup) = isopen(group) ? _close(group, ozarr_checkpoint_commit) : _check(ozarr_checkpoint_commit(C_NULL))
"Removes what was written of a checkpoint, and closes its group."
abandon!(group::ZGroup) = isopen(group) ? _close(group, ozarr_checkpoint_abandon) : _check(ozarr_checkpoint_abandon(C_NULL))
"The newest committed checkpoint in the group at a location, for reading; an error of the status `OZARR_ERR_NOT_FOUND` if there is none."
latest_checkpoint(location::AbstractString) = ZGroup(_opened(out -> ozarr_checkpoint_latest(location, out)))
"The names of the committed checkpoints, the oldest first."
checkpoints(location::AbstractString) = [name for (name, _) in _listed(out -> ozarr_checkpoint_list(location, out))]
"Removes all committed checkpoints but the newest `keep`."
prune_checkpoints(location::AbstractString, keep::Integer) = _check(ozarr_checkpoint_prune(location, keep))
