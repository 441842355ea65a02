# Failures of the library as exceptions; strings from it.

"""
What a function of the library reports: `status` (such as `OZarr.OZARR_ERR_BOUNDS`), its `name`, the `message`, and the `key` in the store and
the `field` of the document that it is about, or empty strings. The message has dimensions and indices in Julia's order, from 1.
"""
struct OZarrError <: Exception
    status::Int32
    name::String
    message::String
    key::String
    field::String
end

Base.showerror(io::IO, e::OZarrError) = print(io, "OZarrError: ", e.message, " (", e.name, ")")

# The message is copied at once: it lasts until the thread's next failure.
@noinline function _error()
    info = Ref(ozarr_error_info())
    status = ozarr_last_error_info(info)
    message = unsafe_string(ozarr_last_error_in(OZARR_ORDER_F))
    status == OZARR_OK || return OZarrError(status, unsafe_string(ozarr_status_name(status)), message, "", "")
    i = info[]
    return OZarrError(i.status, unsafe_string(ozarr_status_name(i.status)), message, unsafe_string(i.key), unsafe_string(i.field))
end

@inline _check(status::Int32) = status == OZARR_OK ? nothing : throw(_error())

# The string that `get(buffer, capacity, length)` writes; and bytes.
_text(get) = String(_bytes(get))
function _bytes(get)
    buffer = Vector{UInt8}(undef, 256)
    len = Ref{Csize_t}(0)
    while true
        status = get(buffer, length(buffer), len)
        status == OZARR_OK && return resize!(buffer, len[])
        status == OZARR_ERR_BUFFER_SIZE || throw(_error())
        resize!(buffer, len[] + 1)
    end
end

# The number that `get(reference)` writes.
function _number(get, ::Type{T}) where {T}
    out = Ref{T}(zero(T))
    _check(get(out))
    return out[]
end

# The given options over the defaults; an option that there is not is an error that names those that there are.
function _options(what::AbstractString, defaults::NamedTuple, given)
    for name in keys(given)
        haskey(defaults, name) || throw(ArgumentError("$what has no option $name, expected one of $(join(sort!(collect(String.(keys(defaults)))), ", "))"))
    end
    return merge(defaults, (; given...))
end

_list(a::Union{Tuple,AbstractArray}) = a
_list(a) = (a,)

# A list with a member for each dimension; one member alone will do for one dimension.
function _each_dimension(what::AbstractString, list, n::Integer)
    members = _list(list)
    length(members) == n || throw(DimensionMismatch("$what has $(length(members)) elements, expected $n, one for each dimension"))
    return members
end
