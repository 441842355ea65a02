# What numbers mean by the CF conventions: packing, missing values, times.

# Reads the region to an Array of E by a call that takes a region and memory.
function _read_as(call, ::Type{E}, z::ZArray{T,N}, I) where {E,T,N}
    J = isempty(I) ? ntuple(_ -> Colon(), N) : I
    J isa Tuple{Vararg{Index}} || _refused(z, J)
    parts = _parts(z, J)
    out = Array{E}(undef, _lengths(parts, J))
    GC.@preserve out _transfer(call, z, J, parts, _value_type(E), Ptr{Cvoid}(pointer(out)), sizeof(out), 0, nothing)
    return J isa NTuple{N,Integer} ? out[] : out
end

# The type of each value of a field with a shape, which is a tuple; any other type is its own. Tuples of bytes are moved as they are stored.
_value_type(::Type{E}) where {E} = E <: NTuple && fieldcount(E) > 0 && eltype(E) !== UInt8 ? eltype(E) : E

# Writes `x` to the region, as elements of E, by a call that takes a region and memory.
function _write_as(call, ::Type{E}, z::ZArray{T,N}, x, I) where {E,T,N}
    J = isempty(I) ? ntuple(_ -> Colon(), N) : I
    J isa Tuple{Vararg{Index}} || _refused(z, J)
    parts = _parts(z, J)
    lengths = _lengths(parts, J)
    y = x isa AbstractArray ? convert(Array{E}, x) : fill(convert(E, x), lengths)
    size(y) == lengths || throw(DimensionMismatch("the variable has the size $(size(y)), expected that of the region, $lengths"))
    GC.@preserve y _transfer(call, z, J, parts, _value_type(E), Ptr{Cvoid}(pointer(y)), sizeof(y), 0, nothing)
    return z
end

"""
    OZarr.read_unpacked([T = Float64,] z, indices...)

The numbers that the stored ones stand for: times `scale_factor` plus `add_offset`, and NaN where they are missing. `T` is a floating-point type.
"""
read_unpacked(::Type{E}, z::ZArray, I...) where {E<:AbstractFloat} = _read_as(ozarr_array_read_unpacked, E, z, I)
read_unpacked(z::ZArray, I...) = read_unpacked(Float64, z, I...)

"""
    OZarr.write_packed!(z, x, indices...)

Packs numbers and writes them: the inverse of `OZarr.read_unpacked`. NaN and `missing` become the missing value.
"""
write_packed!(z::ZArray, x, I...) = _write_as(ozarr_array_write_packed, Float64, z, _nan(x), I)
_nan(x::AbstractArray) = Missing <: eltype(x) ? Float64[ismissing(e) ? NaN : e for e in x] : x
_nan(x) = ismissing(x) ? NaN : x

"""
    OZarr.read_field([T,] z, name, indices...)

One field of an array of structs, `"x"` or `"a.b"`, as an array of numbers; `T` may be left out where `OZarr.typed` knows the struct. Of a field with
several values it is an array of tuples of these, or of the one that is named: `"v[1]"` is the first.
"""
read_field(::Type{E}, z::ZArray, name, I...) where {E} = _naming(() -> _read_field(E, z, name, I), z, name)
read_field(z::ZArray, name, I...) = read_field(_field_type(eltype(z), name), z, name, I...)
function _read_field(::Type{E}, z, name, I) where {E}
    call, (F, count) = _of_field(ozarr_array_read_ex, name), _number_of_field(z, name)
    F === nothing && return _read_as(call, E, z, I)
    W = count == 1 || E <: Tuple ? E : NTuple{count,E}
    W <: Tuple && _check_count(name, W, count)
    T = _value_type(W)
    _has_number(T) && _is_lossy(T, F) || return _read_as(call, W, z, I)
    return _converted(W, _read_as(call, W <: Tuple ? NTuple{count,F} : F, z, I))
end

"""
    OZarr.write_field!(z, x, name, indices...)

Writes one field of an array of structs; the others stay as they are. A field with several values takes tuples of them.
"""
write_field!(z::ZArray, x, name, I...) = _naming(() -> _write_field(z, x, name, I), z, name)
function _write_field(z, x, name, I)
    E, (F, count) = x isa AbstractArray ? eltype(x) : typeof(x), _number_of_field(z, name)
    if F !== nothing && (E <: Tuple || count != 1)
        _check_count(name, E, count)
        return _write_as(_of_field(ozarr_array_write_ex, name), NTuple{count,F}, z, _converted(NTuple{count,F}, x), I)
    end
    F === nothing || !_has_number(E) || !_is_lossy(F, E) || return _write_field(z, _converted(F, x), name, I)
    return _write_as(_of_field(ozarr_array_write_ex, name), E, z, x, I)
end

# The library's error of a field that is not there names it as the program does.
function _naming(call, z, name)
    try
        return call()
    catch e
        e isa OZarrError && e.status == OZARR_ERR_NOT_FOUND || rethrow()
        throw(OZarrError(e.status, e.name, replace(e.message, _field_name(z, name) => String(name)), e.key, e.field))
    end
end

function _check_count(name, ::Type{E}, count) where {E}
    E <: Tuple && fieldcount(E) == count && return nothing
    throw(DimensionMismatch("the field $name has $count values in each element, found the type $E"))
end

# As Julia converts: 2.7 to an integer is an InexactError, where the library would cut off its fraction.
_converted(::Type{E}, x::AbstractArray) where {E} = convert(Array{E}, x)
_converted(::Type{E}, x) where {E} = convert(E, x)

# The type of the numbers in a field, or nothing where it holds others, or is not there; and how many of them an element has.
_number_of_field(z::ZArray, name) = _with_dtype(d -> _number_in(d, split(String(name), ".")), out -> ozarr_array_copy_dtype(z, out))
function _number_in(d, parts)
    if isempty(parts)
        number = _number(out -> ozarr_dtype_type(d, out), Int32)
        at = findfirst(type -> type.second == number, _types)
        return at === nothing ? nothing : _types[at].first, 1
    end
    i, _, places = _part_in(d, parts[1])
    i === nothing && return nothing, 1
    F, count = _with_dtype(inner -> _number_in(inner, parts[2:end]), out -> ozarr_dtype_copy_field_dtype(d, i, out))
    return F, length(parts) > 1 || places !== nothing ? count : prod(_field_shape(d, i))
end

# The field that a part of a name means: its index, its name, and what is in the brackets behind that, if this is no part of the name itself. The index
# is nothing where there is no such field.
function _part_in(d, part)
    count = _number(out -> ozarr_dtype_field_count(d, out), Int64)
    names = [_text((buf, cap, len) -> ozarr_dtype_field_name(d, i, buf, cap, len)) for i in 0:count-1]
    at = findfirst(==(part), names)
    at === nothing || return at - 1, names[at], nothing
    whole, places = _without_places(part)
    at = places === nothing ? nothing : findfirst(==(whole), names)
    return at === nothing ? (nothing, part, nothing) : (at - 1, names[at], places)
end

function _without_places(part)
    found = match(r"^(.*)\[([^\[\]]*)\]$"s, part)
    return found === nothing ? (part, nothing) : (found[1], found[2])
end

function _field_shape(d, i)
    rank = Ref{Int32}(0)
    _check(ozarr_dtype_field_shape(d, i, C_NULL, 0, rank))
    shape = zeros(Int64, rank[])
    _check(ozarr_dtype_field_shape(d, i, shape, rank[], rank))
    return shape
end

# The name of a field as the library takes it: which value is meant it counts from 0, and the dimension that Julia has first it has last.
_field_name(z::ZArray, name) = _with_dtype(out -> ozarr_array_copy_dtype(z, out)) do d
    join(_library_parts(d, split(String(name), "."), name), ".")
end
function _library_parts(d, parts, name)
    i, field, places = isempty(parts) ? (nothing, "", nothing) : _part_in(d, parts[1])
    i === nothing && return parts
    rest = _with_dtype(inner -> _library_parts(inner, parts[2:end], name), out -> ozarr_dtype_copy_field_dtype(d, i, out))
    return [field * (places === nothing ? "" : _library_places(places, name)); rest]
end
function _library_places(text, name)
    places = map(part -> tryparse(Int, part), split(text, ","))
    all(i -> i isa Int && i > 0, places) || throw(ArgumentError("the field \"$name\" names the value [$text], expected numbers from 1"))
    return "[" * join(reverse(places) .- 1, ",") * "]"
end

# A call whose memory is of one field.
function _of_field(call, name)
    return (z, region, memory) -> begin
        text = _field_name(z, name)
        members = NamedTuple{fieldnames(ozarr_memory)}(map(n -> getfield(memory[], n), fieldnames(ozarr_memory)))
        GC.@preserve text call(z, region, Ref(ozarr_memory(; members..., field = Cstring(pointer(text)))))
    end
end

_field_type(S, name) = foldl(_part_type, split(String(name), "."); init = S)
_part_type(T, part) = hasfield(T, Symbol(part)) ? fieldtype(T, Symbol(part)) : eltype(fieldtype(T, Symbol(first(_without_places(part)))))

"The stored value that means \"missing\"; `nothing` if there is none."
missing_value(z::ZArray) = _one_value(z, ozarr_array_missing_value)

"""
    OZarr.read_missing(z, indices...)

The stored elements, with `missing` where they are the missing value.
"""
function read_missing(z::ZArray{T,N}, I...) where {T,N}
    none = missing_value(z)
    x = isempty(I) ? Array(z) : z[I...]
    none === nothing && return x isa AbstractArray ? convert(Array{Union{Missing,T}}, x) : x
    absent(e) = e === none || e == none || (e != e && none != none)
    return x isa AbstractArray ? Union{Missing,T}[absent(e) ? missing : e for e in x] : absent(x) ? missing : x
end

# ---- times ---------------------------------------------------------------------------------------------------------

"""
    OZarr.read_times(z, units, indices...)
    OZarr.read_times(DateTime, z, indices...)

The times of an array with an attribute `units` such as "days since 2000-01-01" (and perhaps `calendar`), or of points in time: as counts of
`units`, `typemin(Int64)` where they are missing; or as `DateTime`, with `missing`, where the calendar is Julia's (the standard one is from 1582-10-15 on).
"""
read_times(z::ZArray, units::AbstractString, I...) =
    _read_as((a, region, memory) -> ozarr_array_read_times(a, region, units, memory[].data, memory[].size), Int64, z, I)
function read_times(::Type{DateTime}, z::ZArray, I...)
    _check_calendar(z)
    counts = _gregorian(z, read_times(z, _milliseconds, I...))
    return counts isa AbstractArray ? Union{Missing,DateTime}[_moment(c) for c in counts] : _moment(counts)
end

"""
    OZarr.write_times!(z, counts, units, indices...)
    OZarr.write_times!(z, times, indices...)

Writes times: counts of `units`; or `DateTime` and `missing`.
"""
write_times!(z::ZArray, counts, units::AbstractString, I...) =
    _write_as((a, region, memory) -> ozarr_array_write_times(a, region, units, memory[].data, memory[].size), Int64, z, counts, I)
function write_times!(z::ZArray, times::Union{Missing,DateTime,AbstractArray{<:Union{Missing,DateTime}}}, I...)
    _check_calendar(z)
    counts = times isa AbstractArray ? Int64[_count(t) for t in times] : _count(times)
    return write_times!(z, _gregorian(z, counts), _milliseconds, I...)
end

const _milliseconds = "milliseconds since 1970-01-01"
const _reform = -12_219_292_800_000 # 1582-10-15 in these
_moment(count) = count == typemin(Int64) ? missing : DateTime(Dates.UTM(count + Dates.UNIXEPOCH))
_count(t) = ismissing(t) ? typemin(Int64) : Dates.value(t) - Dates.UNIXEPOCH

function _check_calendar(z)
    calendar = get(z.attrs, "calendar", "standard")
    lowercase(calendar) in ("standard", "gregorian", "proleptic_gregorian") ||
        throw(ArgumentError("the calendar is $calendar, expected standard or proleptic_gregorian for DateTime: take counts of units"))
end

# The counts, unless one is of a date that Julia has otherwise: before 1582-10-15 the calendar "standard" of an array of numbers is Julian.
function _gregorian(z, counts)
    eltype(z) <: Real && lowercase(get(z.attrs, "calendar", "standard")) != "proleptic_gregorian" || return counts
    for count in counts
        count == typemin(Int64) || count >= _reform ||
            throw(ArgumentError("found a time before 1582-10-15 in the calendar standard, expected later ones for DateTime: take counts of units"))
    end
    return counts
end

_calendar(calendar) = calendar === nothing ? Cstring(C_NULL) : calendar

"A count of `units` as a date and time, such as \"2026-01-31 12:30:00\"."
time_to_text(units::AbstractString, count::Integer; calendar = nothing) =
    _text((buf, cap, len) -> ozarr_time_to_text(units, _calendar(calendar), count, buf, cap, len))
"A date and time as a count of `units`."
time_from_text(units::AbstractString, moment::AbstractString; calendar = nothing) =
    Int(_number(out -> ozarr_time_from_text(units, _calendar(calendar), moment, out), Int64))
