# The attributes of an array or a group as a dictionary.

"""
The attributes of an array or a group, as `z.attrs`: a dictionary whose values are numbers, texts, `Bool`, `nothing`, vectors and
dictionaries. What is set is stored at once. `_FillValue` of a floating-point array is the number, which xarray stores as text; as a whole dictionary the
attributes are as they are stored, so that a copy of them is the same.
"""
struct Attributes{H<:Node} <: AbstractDict{String,Any}
    node::H
end

function Base.haskey(a::Attributes, name::AbstractString)
    status = ozarr_attr_kind(a.node, name, Ref{Int32}(0))
    status == OZARR_ERR_NOT_FOUND && return false
    _check(status)
    return true
end

Base.getindex(a::Attributes, name::AbstractString) = haskey(a, name) ? _value(a, name) : throw(KeyError(name))
Base.get(a::Attributes, name::AbstractString, default) = haskey(a, name) ? _value(a, name) : default
function _value(a, name)
    value = json_parse(_text((buf, cap, len) -> ozarr_attr_get_json(a.node, name, buf, cap, len)))
    number = Ref{Float64}(0)
    is_number = value isa AbstractString && name == "_FillValue" && ozarr_attr_get_double(a.node, name, number) == OZARR_OK
    return is_number ? number[] : value
end

Base.setindex!(a::Attributes, value, name::AbstractString) = (_check(_set_attribute(a.node, name, value)); a)

# Numbers keep their type's digits; and the library decides about NaN, which JSON does not have.
const _attribute_number = Union{Int8,Int16,Int32,Int64,UInt8,UInt16,UInt32,UInt64,Float32,Float64}
_set_attribute(node, name, value) = ozarr_attr_set_json(node, name, json_text(value))
_set_attribute(node, name, value::Bool) = ozarr_attr_set_bool(node, name, value)
function _set_attribute(node, name, value::T) where {T<:_attribute_number}
    one = Ref(value)
    return GC.@preserve one ozarr_attr_set_numbers(node, name, _type_number(T), Base.unsafe_convert(Ptr{Cvoid}, one), OZARR_SINGLE)
end
function _set_attribute(node, name, values::AbstractVector{T}) where {T<:_attribute_number}
    list = Vector(values)
    return GC.@preserve list ozarr_attr_set_numbers(node, name, _type_number(T), Ptr{Cvoid}(pointer(list)), length(list))
end

"""
    OZarr.together(f, node)

Calls `f(node.attrs)`; what it sets and deletes is stored in one write, afterwards. If `f` throws, what it had set and deleted by then is stored
all the same.
"""
function together(f, node::Node)
    _check(ozarr_attrs_begin(node))
    result = try
        f(node.attrs)
    catch
        ozarr_attrs_commit(node) # the exception of `f` is not to be hidden by another
        rethrow()
    end
    _check(ozarr_attrs_commit(node))
    return result
end

function Base.delete!(a::Attributes, name::AbstractString)
    haskey(a, name) && _check(ozarr_attr_erase(a.node, name))
    return a
end

Base.empty!(a::Attributes) = (_check(ozarr_attrs_set(a.node, "{}")); a)

function Base.length(a::Attributes)
    count = Ref{Int64}(0)
    _check(ozarr_attr_count(a.node, count))
    return Int(count[])
end

function Base.iterate(a::Attributes)
    bytes = codeunits(_text((buf, cap, len) -> ozarr_attrs_get(a.node, buf, cap, len)))
    return iterate(a, (_json_pairs(bytes, _json_skip(bytes, 1))[1], 1))
end
Base.iterate(::Attributes, (pairs, i)) = i > length(pairs) ? nothing : (pairs[i], (pairs, i + 1))

"Replaces all attributes by those of a dictionary, in one write."
replace_attrs!(node::Node, attributes::AbstractDict) = _check(ozarr_attrs_set(node, json_text(attributes)))
