# Creating groups and arrays: specifications from options.

_mode(o) = o.open_if_same ? OZARR_CREATE_OPEN_IF_SAME : o.overwrite ? OZARR_CREATE_OVERWRITE : OZARR_CREATE_NEW

const _group_options = (overwrite = false, open_if_same = false)

"""
    OZarr.create_group(location; overwrite = false, open_if_same = false)
    OZarr.create_group(group_or_store, path; overwrite = false, open_if_same = false)

Creates a group, with the groups above it that are missing.
"""
create_group(location::AbstractString; options...) = _create_group((mode, out) -> ozarr_group_create(location, mode, out), options)
create_group(g::ZGroup, path::AbstractString; options...) = _create_group((mode, out) -> ozarr_group_create_group(g, path, mode, out), options)
create_group(s::Store, path::AbstractString; options...) = _create_group((mode, out) -> ozarr_group_create_at(s, path, 0, mode, out), options)
function _create_group(create, given)
    mode = _mode(_options("create_group", _group_options, given))
    return ZGroup(_opened(out -> create(mode, out)))
end

const _spec_options = (chunks = nothing, chunk_extents = nothing, inner_chunks = nothing, names = nothing, fill = nothing, compressor = nothing,
    level = -1, shuffle = nothing, keep_bits = nothing, zfp = nothing, checksum = nothing, codecs = nothing, members = nothing, order = nothing,
    separator = nothing, big_endian = nothing, attributes = nothing, zarr_format = 3)
const _create_options = merge(_spec_options, _group_options)

"""
    OZarr.create([group_or_store,] location, T, size...; options...)
    OZarr.create([group_or_store,] location, x; options...)
    OZarr.create([group_or_store,] location, OZarr.Document(json); options...)

Creates an array of elements `T`: numbers, `String`, `Vector{UInt8}`, a struct of numbers, or a text that names a type, such as
`"<M8[s]"`. From an array `x`, of its type and size, and writes it. From a metadata document, as that says. Options:

- `chunks` and `inner_chunks`: sizes; `chunk_extents`: `dim => extents` for chunks of uneven extents along a dimension;
- `names` of the dimensions; `fill`, the value of elements that were never written; `attributes`, a dictionary;
- `compressor` ("zstd", "gzip", "blosc", "lz4", "none", …) and its `level`; `shuffle` (`:byte`, `:bit`, `:none`); `keep_bits` of the mantissa;
  `zfp` (`:reversible`, or `(accuracy = 1e-3,)`, `(precision = 20,)`, `(rate = 8,)`); `checksum = true`;
- `codecs` (JSON) and `members` (a dictionary of further members of the document, as JSON);
- `order` (`:C` or `:F`), `separator` ('/' or '.'), `big_endian`, `zarr_format` (2 or 3);
- `overwrite = true` erases what is there; `open_if_same = true` opens it if it would be just so.
"""
create(location::AbstractString, what, dims...; options...) =
    _create("create", (spec, mode, out) -> ozarr_array_create_ex(location, spec, mode, out), what, dims, options)
create(g::ZGroup, path::AbstractString, what, dims...; options...) =
    _create("create", (spec, mode, out) -> ozarr_group_create_array(g, path, spec, mode, out), what, dims, options)
create(s::Store, path::AbstractString, what, dims...; options...) =
    _create("create", (spec, mode, out) -> ozarr_array_create_at(s, path, spec, mode, out), what, dims, options)

"A metadata document, for `OZarr.create`: an array is created as it says."
struct Document
    json::String
end

function _create(name, create, what, dims, given)
    o = _options(name, _create_options, given)
    return _with_spec(what, _size(what, dims), o) do spec
        z = _array(_opened(out -> create(spec, _mode(o), out)))
        T = what isa AbstractArray ? eltype(what) : what
        T isa Type && _type_number(T) == OZARR_BY_DTYPE && (z = typed(T, z))
        what isa AbstractArray && copyto!(z, what)
        return z
    end
end

# The size in the arguments of `create`: integers, or a tuple of them.
_size(x::AbstractArray, dims) = isempty(dims) ? size(x) : throw(ArgumentError("found a size beside an array, expected only one of them"))
_size(::Document, dims) = isempty(dims) ? nothing : throw(ArgumentError("found a size beside a document, expected only one of them"))
function _size(what, dims)
    size = length(dims) == 1 && dims[1] isa Tuple ? dims[1] : dims
    size isa Tuple{Vararg{Integer}} || throw(ArgumentError("found the size $size, expected integers"))
    what isa Union{Type,AbstractString} || throw(ArgumentError("found $(typeof(what)), expected a type, a text that names one, an array, or an OZarr.Document"))
    return size
end

_reversed(dims) = Int64[d for d in reverse(collect(dims))]

"""
    OZarr.document(T, size...; options...)

The metadata document, as JSON, of an array that `OZarr.create` would make with these options.
"""
document(what, dims...; options...) = _with_spec(
    spec -> _text((buf, cap, len) -> ozarr_spec_to_json(spec, buf, cap, len)), what, _size(what, dims), _options("document", _spec_options, options))

"""
    OZarr.suggest(T, size...; options...)

Why `OZarr.create` chooses chunks as it does where none are given: the choice, and a text that explains it.
"""
function suggest(what, dims...; options...)
    size = _size(what, dims)
    return _with_spec(what, size, _options("suggest", _spec_options, options)) do spec
        text = _text((buf, cap, len) -> ozarr_spec_suggest(spec, buf, cap, len))
        return (document = _text((buf, cap, len) -> ozarr_spec_to_json(spec, buf, cap, len)), text = text)
    end
end

# `use(spec)` of a specification that has all options; it is freed afterwards.
function _with_spec(use, what, size, o)
    spec = _new_spec(what, size)
    try
        _layout(spec, what, size, o)
        _compression(spec, o)
        return use(spec)
    finally
        ozarr_spec_free(spec)
    end
end

_new_spec(x::AbstractArray, size) = _new_spec(eltype(x), size)
_new_spec(d::Document, ::Nothing) = _opened(out -> ozarr_spec_from_json(d.json, out))
_new_spec(text::AbstractString, size) =
    _with_dtype(d -> _opened(out -> ozarr_spec_new_dtype(d, length(size), _reversed(size), out)), out -> ozarr_dtype_parse(text, 0, out))
function _new_spec(T::Type, size)
    number = _not_times(T)
    number == OZARR_BY_DTYPE && return _opened(out -> ozarr_spec_new_dtype(_dtype_pointer(T), length(size), _reversed(size), out))
    return _opened(out -> ozarr_spec_new(number, length(size), _reversed(size), out))
end
# Without a size, for variables of a dataset.
_new_spec(T::Type, rank::Integer) = _opened(out -> ozarr_spec_new(_not_times(T), rank, C_NULL, out))
# The number of a type, which must not be one of Julia's times: as structs, which they are, no other program would know them.
_not_times(T) = T <: Dates.AbstractTime ? throw(ArgumentError("found $T, expected a type such as \"<M8[ms]\", for OZarr.write_times!")) : _type_number(T)

_rank(size::Tuple) = length(size)
_rank(rank::Integer) = rank
_rank(::Nothing) = throw(ArgumentError("chunks and names are those of the document"))

function _layout(spec, what, size, o)
    what isa Document || o.zarr_format == 3 || _check(ozarr_spec_set_zarr_format(spec, o.zarr_format))
    o.chunks === nothing || _check(ozarr_spec_set_chunks(spec, _reversed(_each_dimension("chunks", o.chunks, _rank(size)))))
    o.inner_chunks === nothing || _check(ozarr_spec_set_inner_chunks(spec, _reversed(_each_dimension("inner_chunks", o.inner_chunks, _rank(size)))))
    if o.chunk_extents !== nothing
        dim, extents = o.chunk_extents
        _check(ozarr_spec_set_chunk_extents(spec, _rank(size) - dim, collect(Int64, extents), length(extents)))
    end
    o.names === nothing || _with_texts([String(n) for n in reverse(collect(_each_dimension("names", o.names, _rank(size))))]) do list
        _check(ozarr_spec_set_dimension_names(spec, list))
    end
    o.order === nothing || _check(ozarr_spec_set_order(spec, _choice("order", o.order, (C = OZARR_ORDER_C, F = OZARR_ORDER_F))))
    o.separator === nothing || _check(ozarr_spec_set_separator(spec, string(o.separator)))
    o.big_endian === nothing || _check(ozarr_spec_set_big_endian(spec, o.big_endian))
    o.fill === nothing || _fill(spec, what, o.fill)
    o.attributes === nothing || _check(ozarr_spec_set_member_json(spec, "attributes", json_text(o.attributes)))
    o.members === nothing || for (name, json) in pairs(o.members)
        _check(ozarr_spec_set_member_json(spec, String(name), json))
    end
end

_fill(spec, x::AbstractArray, fill) = _fill(spec, eltype(x), fill)
_fill(spec, x::AbstractArray, fill::AbstractString) = _fill(spec, eltype(x), fill)
_fill(spec, what, fill::AbstractString) = _check(ozarr_spec_set_member_json(spec, "fill_value", json_text(fill)))
_fill(spec, what, fill) = _check(ozarr_spec_set_member_json(spec, "fill_value", json_text(fill)))
_fill(spec, T::Type, fill::AbstractString) = _check(ozarr_spec_set_member_json(spec, "fill_value", json_text(fill)))
function _fill(spec, T::Type, fill)
    value = Ref(convert(T, fill))
    number = _type_number(T)
    GC.@preserve value begin
        at = Base.unsafe_convert(Ptr{Cvoid}, value)
        _check(number == OZARR_BY_DTYPE ? ozarr_spec_set_fill_dtype(spec, _dtype_pointer(T), at, sizeof(T)) : ozarr_spec_set_fill_value(spec, number, at))
    end
end

# One of the names of a table.
_choice(what, name, table) = haskey(table, Symbol(name)) ? table[Symbol(name)] :
    throw(ArgumentError("$what is $(repr(name)), expected one of $(join(map(repr, keys(table)), ", "))"))

const _shuffles = (none = OZARR_SHUFFLE_NONE, byte = OZARR_SHUFFLE_BYTE, bit = OZARR_SHUFFLE_BIT)
const _zfps = (reversible = OZARR_ZFP_REVERSIBLE, accuracy = OZARR_ZFP_ACCURACY, precision = OZARR_ZFP_PRECISION, rate = OZARR_ZFP_RATE)

function _compression(spec, o)
    o.compressor === nothing && o.level != -1 && throw(ArgumentError("found the level $(o.level) without a compressor, expected both, or the compressor alone"))
    o.compressor === nothing || _check(ozarr_spec_set_compressor(spec, String(o.compressor), o.level))
    o.shuffle === nothing || _check(ozarr_spec_set_shuffle(spec, _choice("shuffle", o.shuffle, _shuffles)))
    o.keep_bits === nothing || _check(ozarr_spec_set_keep_bits(spec, o.keep_bits))
    if o.zfp !== nothing
        mode, parameter = o.zfp isa NamedTuple && length(o.zfp) == 1 ? (keys(o.zfp)[1], o.zfp[1]) : (o.zfp, 0)
        _check(ozarr_spec_set_zfp(spec, _choice("zfp", mode, _zfps), parameter))
    end
    o.checksum === nothing || _check(ozarr_spec_set_checksum(spec, o.checksum))
    o.codecs === nothing || _check(ozarr_spec_set_member_json(spec, "codecs", o.codecs))
end
