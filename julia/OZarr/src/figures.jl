# Statistics, digests and differences of regions, which the library computes block by block on all threads.

# `call(region)` with the region of the indices; without indices the whole array.
function _in_region(call, z::ZArray{T,N}, I::Tuple) where {T,N}
    isempty(I) && return _check(call(C_NULL))
    parts = _parts(z, I)
    start = Ref(ntuple(d -> parts[N+1-d][1] - Int64(1), Val(N)))
    shape = Ref(ntuple(d -> parts[N+1-d][2], Val(N)))
    step = Ref(ntuple(d -> parts[N+1-d][3], Val(N)))
    status = GC.@preserve start shape step call(Ref(ozarr_region(start = _pointer(start), shape = _pointer(shape), step = _pointer(step))))
    return _bounded(status, z, I)
end

const Span = Union{Integer,Colon,AbstractRange{<:Integer}}

"""
    OZarr.summarize(z, indices...)

The statistics of real numbers, truth values or times, of a region or of the whole array: a named tuple of the numbers of `elements`, of those that are
`missing`, `nan` and `infinite`, of those that are left (`count`), and of the latter `min`, `max`, `mean` and `std`, which are NaN where none is. `min` and
`max` of integers have all digits. Values are those that are stored, without scale factors and offsets; of times they are counts.
"""
function summarize(z::ZArray{T}, I::Span...) where {T}
    out = Ref(ozarr_summary())
    _in_region(region -> ozarr_array_summarize(z, region, out), z, I)
    found = out[]
    # Floats that Julia does not have are tuples of bytes here, as small integers are.
    number = _number(type_ -> ozarr_array_type(z, type_), Int32)
    is_float = T <: AbstractFloat || OZARR_BFLOAT16 <= number <= OZARR_FLOAT4_E2M1FN
    exact(double, integer) = found.count == 0 || is_float ? double : T <: Unsigned ? reinterpret(UInt64, integer) : integer
    return (elements = found.elements, missing = found.missing, nan = found.nan, infinite = found.infinite, count = found.count,
        min = exact(found.min, found.min_integer), max = exact(found.max, found.max_integer), mean = found.mean, std = found.std)
end

"""
    OZarr.digest(z, indices...)

A checksum of the elements, of a region or of the whole array, that depends on nothing else: 32 hexadecimal digits. It is that of `ozarr digest`
and of programs in C; docs/digest.md defines it.
"""
function digest(z::ZArray, I::Span...)
    digits = Vector{UInt8}(undef, 33)
    GC.@preserve digits _in_region(region -> ozarr_array_digest(z, region, pointer(digits), length(digits), C_NULL), z, I)
    return String(digits[1:32])
end

"""
    OZarr.compare(a, b; absolute = 0, relative = 0)

What differs between the elements of two arrays of one size by more than `absolute` plus `relative` times the larger number: a named tuple of the numbers
of `elements` and of those that are `differing`, of `largest_absolute`, `largest_relative`, and of `first`, the index of an element that differs (the first
one in the order of C; `nothing` if none does).
"""
function compare(a::ZArray{T,N}, b::ZArray; absolute::Real = 0, relative::Real = 0) where {T,N}
    out, first = Ref(ozarr_comparison()), zeros(Int64, max(N, 1))
    _check(ozarr_array_compare(a, C_NULL, b, C_NULL, absolute, relative, out, first))
    found = out[]
    at = found.differing == 0 ? nothing : CartesianIndex(ntuple(d -> Int(first[N+1-d]) + 1, Val(N)))
    return (elements = found.elements, differing = found.differing, largest_absolute = found.largest_absolute,
        largest_relative = found.largest_relative, first = at)
end
