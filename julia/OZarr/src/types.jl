# The types of elements: which number each has in the library, and structs of the program's own.

const _types = (Bool => OZARR_BOOL, Int8 => OZARR_INT8, Int16 => OZARR_INT16, Int32 => OZARR_INT32, Int64 => OZARR_INT64,
    UInt8 => OZARR_UINT8, UInt16 => OZARR_UINT16, UInt32 => OZARR_UINT32, UInt64 => OZARR_UINT64, Float16 => OZARR_FLOAT16,
    Float32 => OZARR_FLOAT32, Float64 => OZARR_FLOAT64, ComplexF32 => OZARR_COMPLEX64, ComplexF64 => OZARR_COMPLEX128)

for (T, number) in _types
    @eval _type_number(::Type{$T}) = $number
end

# Elements of variable length; see varlen.jl.
_type_number(::Type{String}) = OZARR_STRING
_type_number(::Type{Vector{UInt8}}) = OZARR_BYTES

# Bytes, text, times, numbers that Julia does not have: as they are stored.
_type_number(::Type{<:NTuple{N,UInt8}}) where {N} = OZARR_AS_STORED
function _type_number(T::Type)
    isbitstype(T) && fieldcount(T) > 0 && !(T <: Number) && return OZARR_BY_DTYPE
    throw(ArgumentError("Zarr arrays hold Bool, integers up to 64 bits, Float16 to Float64, ComplexF32 and ComplexF64, String, Vector{UInt8} and structs of these; found $T"))
end

# Of a union of them each element may be of another one.
_has_number(::Type{T}) where {T} = isconcretetype(T) && T <: Union{map(first, _types)...}

# Whether elements of type E may lose something on their way to T that Julia would not let go.
_is_lossy(::Type{T}, ::Type{E}) where {T,E} = T === Bool ? E !== Bool : T <: Integer ? !(E <: Integer) : T <: Real && !(E <: Real)

function _type_of(number)
    number in (OZARR_STRING, OZARR_JSON) && return String
    number in (OZARR_BYTES, OZARR_LIST) && return Vector{UInt8}
    for (T, n) in _types
        n == number && return T
    end
    error("this package does not know the type number $number")
end

# ---- structs -------------------------------------------------------------------------------------------------------

# The library's description of a struct, made once for each type.
const _dtypes = Dict{Type,Ptr{Cvoid}}()
const _dtypes_lock = ReentrantLock()

@inline _dtype_pointer(::Type{E}) where {E} = _has_number(E) || E <: NTuple{K,UInt8} where {K} ? C_NULL : _dtype_of_struct(E)

function _dtype_of_struct(E::Type)
    lock(_dtypes_lock) do
        haskey(_dtypes, E) ? _dtypes[E] : (_dtypes[E] = _new_dtype(E))
    end
end

function _new_dtype(S::Type)
    _has_number(S) && return _opened(out -> ozarr_dtype_of(_type_number(S), out))
    S <: NTuple{K,UInt8} where {K} && return _opened(out -> ozarr_dtype_parse("|S$(sizeof(S))", 2, out))
    _type_number(S) == OZARR_BY_DTYPE || throw(ArgumentError("a field of a struct has the type $S, expected numbers, tuples of numbers and structs of these"))
    made = _opened(out -> ozarr_dtype_struct(sizeof(S), out))
    try
        for k in 1:fieldcount(S)
            F = fieldtype(S, k)
            values = F <: Tuple && !(F <: NTuple{K,UInt8} where {K})
            values && !(F <: NTuple) && throw(ArgumentError("the field $(fieldname(S, k)) is a $F, expected a tuple of equal numbers"))
            inner = _new_dtype(values ? eltype(F) : F)
            status = ozarr_dtype_add_field(made, String(fieldname(S, k)), fieldoffset(S, k), inner, values ? 1 : 0, Int64[fieldcount(F)])
            ozarr_dtype_free(inner)
            _check(status)
        end
    catch
        ozarr_dtype_free(made)
        rethrow()
    end
    return made
end

"""
    OZarr.typed(S, z)

The array of structs `z` as one whose elements are of the type `S`, a struct with the same fields. `z` is closed.
"""
function typed(::Type{S}, z::ZArray{T,N}) where {S,T,N}
    _type_number(S) == OZARR_BY_DTYPE || throw(ArgumentError("found $S, expected a struct of numbers"))
    handle, z.handle = getfield(z, :handle), C_NULL
    return ZArray{S,N}(handle)
end

"The type of the elements as a metadata document of that format has it, as JSON."
dtype(z::ZArray; format::Integer = zarr_format(z)) = _with_dtype(
    d -> _text((buf, cap, len) -> ozarr_dtype_to_json(d, format, buf, cap, len)), out -> ozarr_array_copy_dtype(z, out))

# `use(dtype)` of the dtype that `open(reference)` makes; it is freed afterwards.
function _with_dtype(use, open)
    d = _opened(open)
    try
        return use(d)
    finally
        ozarr_dtype_free(d)
    end
end
