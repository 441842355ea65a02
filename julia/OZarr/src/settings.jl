# Settings of nodes, of contexts and of the default context, as dictionaries; logs.

"""
The settings of an array, a group or a context as a dictionary of strings: `z.settings["chunk_cache"] = 1 << 20`, `OZarr.settings["threads"]`.
The names are those of `ozarr_node_set` and `ozarr_context_set`.
"""
struct Settings{H}
    owner::H
end

"The settings of the default context, which functions that take a location use: `OZarr.settings[\"threads\"] = 4`."
const settings = Settings(nothing)

_set(n::Node, key, value) = ozarr_node_set(n, key, value)
_set(c::Context, key, value) = _alive(c) && ozarr_context_set(c, key, value)
_set(::Nothing, key, value) = ozarr_context_set(C_NULL, key, value)
_get(n::Node, key, buf, cap, len) = ozarr_node_get(n, key, buf, cap, len)
_get(c::Context, key, buf, cap, len) = _alive(c) && ozarr_context_get(c, key, buf, cap, len)
_get(::Nothing, key, buf, cap, len) = ozarr_context_get(C_NULL, key, buf, cap, len)
# No handle would be the default context.
_alive(c::Context) = isopen(c) || throw(ArgumentError("the context is closed"))

Base.getindex(s::Settings, key) = _text((buf, cap, len) -> _get(s.owner, String(key), buf, cap, len))
Base.setindex!(s::Settings, value, key) = (_check(_set(s.owner, String(key), string(value))); s)
Base.getindex(c::Context, key) = Settings(c)[key]
Base.setindex!(c::Context, value, key) = (Settings(c)[key] = value; c)

function Context(; values...)
    c = Context(_opened(out -> ozarr_context_new(out)))
    for (key, value) in values
        c[key] = value
    end
    return c
end

# ---- logs ----------------------------------------------------------------------------------------------------------

# The functions that log, each in an object that the library gets as `user`; a context's stores may outlive it, so they stay.
const _logs = Base.RefValue{Function}[]
const _logs_lock = ReentrantLock()

function _logged(user::Ptr{Cvoid}, level::Int32, message::Cstring)::Int32
    try
        (unsafe_pointer_to_objref(user)::Base.RefValue{Function})[](level == OZARR_LOG_LEVEL_WARNING ? :warning : :info, unsafe_string(message))
    catch
        return OZARR_ERR_CALLBACK
    end
    return OZARR_OK
end

"""
    OZarr.set_log(f, context = nothing; level = :warning)

Calls `f(level, message)` for what is odd in files (`:warning`) or of interest (`:info`); with `level = :off` no more. Without a context:
the default one's. It runs in the call that finds it.
"""
function set_log(f::Function, context::Union{Nothing,Context} = nothing; level::Symbol = :warning)
    context === nothing || _alive(context)
    kept = Ref{Function}(f)
    lock(() -> push!(_logs, kept), _logs_lock)
    number = _choice("level", level, (off = OZARR_LOG_LEVEL_OFF, warning = OZARR_LOG_LEVEL_WARNING, info = OZARR_LOG_LEVEL_INFO))
    _check(ozarr_context_set_log(something(context, C_NULL), number, @cfunction(_logged, Int32, (Ptr{Cvoid}, Int32, Cstring)), pointer_from_objref(kept)))
end
