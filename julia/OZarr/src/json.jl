# JSON, as far as attributes need it. What is parsed comes from the library, which has checked it.

function json_parse(text::AbstractString)
    bytes = codeunits(String(text))
    value, at = _json_value(bytes, _json_skip(bytes, 1))
    _json_skip(bytes, at) > length(bytes) || error("JSON goes on after its value, at byte $at")
    return value
end

function _json_skip(b, at)
    while at <= length(b) && b[at] in (0x20, 0x09, 0x0a, 0x0d)
        at += 1
    end
    return at
end

_json_byte(b, at) = at <= length(b) ? b[at] : error("JSON ends too early")

function _json_value(b, at)
    c = _json_byte(b, at)
    c == UInt8('{') && return _json_object(b, at)
    c == UInt8('[') && return _json_list(b, at)
    c == UInt8('"') && return _json_string(b, at)
    stop = at
    while stop <= length(b) && !(b[stop] in (UInt8(','), UInt8(']'), UInt8('}'), 0x20, 0x09, 0x0a, 0x0d))
        stop += 1
    end
    return _json_word(String(b[at:stop-1])), stop
end

function _json_word(word)
    word == "true" && return true
    word == "false" && return false
    word == "null" && return nothing
    # An integer of any size; else a number.
    if !any(c -> c in ".eE", word)
        i = tryparse(Int64, word)
        i === nothing || return i
        i = tryparse(BigInt, word)
        i === nothing || return i
    end
    f = tryparse(Float64, word)
    f === nothing && error("this is no JSON: $word")
    return f
end

function _json_list(b, at)
    list = Any[]
    at = _json_skip(b, at + 1)
    _json_byte(b, at) == UInt8(']') && return list, at + 1
    while true
        value, at = _json_value(b, at)
        push!(list, value)
        at = _json_skip(b, at)
        c = _json_byte(b, at)
        c == UInt8(']') && return list, at + 1
        c == UInt8(',') || error("JSON: expected , or ] at byte $at")
        at = _json_skip(b, at + 1)
    end
end

# An object as pairs, in its own order.
function _json_pairs(b, at)
    pairs = Pair{String,Any}[]
    at = _json_skip(b, at + 1)
    _json_byte(b, at) == UInt8('}') && return pairs, at + 1
    while true
        key, at = _json_string(b, at)
        at = _json_skip(b, at)
        _json_byte(b, at) == UInt8(':') || error("JSON: expected : at byte $at")
        value, at = _json_value(b, _json_skip(b, at + 1))
        push!(pairs, key => value)
        at = _json_skip(b, at)
        c = _json_byte(b, at)
        c == UInt8('}') && return pairs, at + 1
        c == UInt8(',') || error("JSON: expected , or } at byte $at")
        at = _json_skip(b, at + 1)
    end
end

function _json_object(b, at)
    pairs, at = _json_pairs(b, at)
    return Dict{String,Any}(pairs), at
end

function _json_string(b, at)
    _json_byte(b, at) == UInt8('"') || error("JSON: expected \" at byte $at")
    out = IOBuffer()
    at += 1
    while (c = _json_byte(b, at)) != UInt8('"')
        if c != UInt8('\\')
            write(out, c)
            at += 1
        else
            e = Char(_json_byte(b, at + 1))
            at += 2
            if e == 'u'
                unit = parse(UInt32, String(b[at:at+3]); base = 16)
                at += 4
                # Two units are one character beyond U+FFFF; one of them alone is none.
                if 0xd800 <= unit < 0xdc00 && at + 5 <= length(b) && b[at] == UInt8('\\') && b[at+1] == UInt8('u')
                    low = parse(UInt32, String(b[at+2:at+5]); base = 16)
                    if 0xdc00 <= low < 0xe000
                        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
                        at += 6
                    end
                end
                print(out, 0xd800 <= unit < 0xe000 ? '\ufffd' : Char(unit))
            else
                print(out, e == 'n' ? '\n' : e == 't' ? '\t' : e == 'r' ? '\r' : e == 'b' ? '\b' : e == 'f' ? '\f' : e)
            end
        end
    end
    return String(take!(out)), at + 1
end

json_text(value) = sprint(_json_print, value)

_json_print(io::IO, ::Union{Nothing,Missing}) = print(io, "null")
_json_print(io::IO, x::Bool) = print(io, x)
_json_print(io::IO, x::Integer) = print(io, x)
function _json_print(io::IO, x::Real)
    f = Float64(x)
    isfinite(f) || throw(ArgumentError("$f has no place in JSON; store it as a text"))
    print(io, f)
end
_json_print(io::IO, x::Symbol) = _json_print(io, String(x))
function _json_print(io::IO, x::AbstractString)
    isvalid(x) || throw(ArgumentError("the text is not UTF-8"))
    print(io, '"')
    for c in x
        if c == '"' || c == '\\'
            print(io, '\\', c)
        elseif c < ' '
            print(io, "\\u", string(UInt32(c); base = 16, pad = 4))
        else
            print(io, c)
        end
    end
    print(io, '"')
end
function _json_print(io::IO, list::Union{AbstractVector,Tuple})
    print(io, '[')
    for (i, x) in enumerate(list)
        i == 1 || print(io, ',')
        _json_print(io, x)
    end
    print(io, ']')
end
function _json_print(io::IO, object::Union{AbstractDict,NamedTuple})
    print(io, '{')
    for (i, (k, x)) in enumerate(pairs(object))
        i == 1 || print(io, ',')
        _json_print(io, string(k))
        print(io, ':')
        _json_print(io, x)
    end
    print(io, '}')
end
_json_print(::IO, x) = throw(ArgumentError("a $(typeof(x)) cannot be an attribute; numbers, texts, lists and dictionaries can"))
