# Failures of the library as exceptions; texts from it.

"""
What a function of the library reports: `status` (one of `OZarr.OZARR_ERR_...`), its `name`, the `message`, and the `key` in the store and
the `field` of the document that it is about, or empty texts.
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
    info = Ref(ozarr_error_info(sizeof(ozarr_error_info), 0, 0, 0, 0, C_NULL, C_NULL, C_NULL))
    status = ozarr_last_error_info(info)
    status == OZARR_OK || return OZarrError(status, unsafe_string(ozarr_status_name(status)), unsafe_string(ozarr_last_error()), "", "")
    i = info[]
    return OZarrError(i.status, unsafe_string(ozarr_status_name(i.status)), unsafe_string(i.message), unsafe_string(i.key), unsafe_string(i.field))
end

@inline _check(status::Int32) = status == OZARR_OK ? nothing : throw(_error())

# The text that `get(buffer, capacity, length)` writes.
function _text(get)
    buffer = Vector{UInt8}(undef, 256)
    len = Ref{Csize_t}(0)
    while true
        status = get(buffer, length(buffer), len)
        status == OZARR_OK && return String(resize!(buffer, len[]))
        status == OZARR_ERR_BUFFER_SIZE || throw(_error())
        resize!(buffer, len[] + 1)
    end
end
