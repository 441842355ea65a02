# What numbers mean by the CF conventions: packing, missing values, times.

# Reads the region to an Array of E by a call that takes a region and memory.
function _read_as(call, ::Type{E}, z::ZArray{T,N}, I) where {E,T,N}
    J = isempty(I) ? ntuple(_ -> Colon(), N) : I
    J isa Tuple{Vararg{Index}} || _refused(z, J)
    parts = _parts(z, J)
    out = Array{E}(undef, _lengths(parts, J))
    GC.@preserve out _transfer(call, z, J, parts, E, Ptr{Cvoid}(pointer(out)), sizeof(out), 0, nothing)
    return J isa NTuple{N,Integer} ? out[] : out
end

# Writes `x` to the region, as elements of E, by a call that takes a region and memory.
function _write_as(call, ::Type{E}, z::ZArray{T,N}, x, I) where {E,T,N}
    J = isempty(I) ? ntuple(_ -> Colon(), N) : I
    J isa Tuple{Vararg{Index}} || _refused(z, J)
    parts = _parts(z, J)
    lengths = _lengths(parts, J)
    y = x isa AbstractArray ? convert(Array{E}, x) : fill(convert(E, x), lengths)
    size(y) == lengths || throw(DimensionMismatch("the variable has the size $(size(y)), expected that of the region, $lengths"))
    GC.@preserve y _transfer(call, z, J, parts, E, Ptr{Cvoid}(pointer(y)), sizeof(y), 0, nothing)
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

One field of an array of structs, `"x"` or `"a.b"`, as an array of numbers; `T` may be left out where `OZarr.typed` knows the struct.
"""
function read_field(::Type{E}, z::ZArray, name, I...) where {E}
    call, F = _of_field(ozarr_array_read_ex, name), _number_of_field(z, name)
    F === nothing || !_has_number(E) || !_is_lossy(E, F) || return _converted(E, _read_as(call, F, z, I))
    return _read_as(call, E, z, I)
end
read_field(z::ZArray, name, I...) = read_field(_field_type(eltype(z), name), z, name, I...)

"""
    OZarr.write_field!(z, x, name, indices...)

Writes one field of an array of structs; the others stay as they are.
"""
function write_field!(z::ZArray, x, name, I...)
    E, F = x isa AbstractArray ? eltype(x) : typeof(x), _number_of_field(z, name)
    F === nothing || !_has_number(E) || !_is_lossy(F, E) || return write_field!(z, _converted(F, x), name, I...)
    return _write_as(_of_field(ozarr_array_write_ex, name), E, z, x, I)
end

# As Julia converts: 2.7 to an integer is an InexactError, where the library would cut off its fraction.
_converted(::Type{E}, x::AbstractArray) where {E} = convert(Array{E}, x)
_converted(::Type{E}, x) where {E} = convert(E, x)

# The type of the numbers in a field, or nothing where it holds others, or is not there.
_number_of_field(z::ZArray, name) = _with_dtype(d -> _number_in(d, split(String(name), ".")), out -> ozarr_array_copy_dtype(z, out))
function _number_in(d, parts)
    if isempty(parts)
        number = _number(out -> ozarr_dtype_type(d, out), Int32)
        at = findfirst(type -> type.second == number, _types)
        return at === nothing ? nothing : _types[at].first
    end
    for i in 0:_number(out -> ozarr_dtype_field_count(d, out), Int64)-1
        _text((buf, cap, len) -> ozarr_dtype_field_name(d, i, buf, cap, len)) == first(split(parts[1], "[")) || continue
        return _with_dtype(inner -> _number_in(inner, parts[2:end]), out -> ozarr_dtype_copy_field_dtype(d, i, out))
    end
end

# A call whose memory is of one field.
function _of_field(call, name)
    text = String(name)
    return (z, region, memory) -> begin
        members = NamedTuple{fieldnames(ozarr_memory)}(map(n -> getfield(memory[], n), fieldnames(ozarr_memory)))
        GC.@preserve text call(z, region, Ref(ozarr_memory(; members..., field = Cstring(pointer(text)))))
    end
end

_field_type(S, name) = foldl((T, part) -> fieldtype(T, Symbol(part)), split(String(name), "."); init = S)

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
