# What makes a ZArray an AbstractArray that is quick: broadcasting, views, iteration and reductions move regions, not single elements.

const ZView{T,N} = SubArray{T,N,<:ZArray}
const Stored{T,N} = Union{ZArray{T,N},ZView{T,N}}

Base.IndexStyle(::Type{<:ZArray}) = IndexCartesian()

# ---- views ---------------------------------------------------------------------------------------------------------

Base.Array(v::ZView{T,N}) where {T,N} = N == 0 ? fill(parent(v)[parentindices(v)...]) : parent(v)[parentindices(v)...]
Base.collect(v::ZView) = Array(v)
Base.copyto!(x::AbstractArray, v::ZView) = copyto!(x, Array(v))
Base.copyto!(x::ZArray, v::ZView) = copyto!(x, Array(v))
Base.copyto!(x::PermutedDimsArray, v::ZView) = copyto!(x, Array(v))
Base.getindex(v::ZView{T,N}, I::Vararg{Int,N}) where {T,N} = parent(v)[Base.reindex(parentindices(v), I)...]
Base.getindex(v::ZView{T,N}, I::Vararg{Index,N}) where {T,N} = parent(v)[_within(v, I)...]
Base.setindex!(v::ZView{T,N}, x, I::Vararg{Int,N}) where {T,N} = (parent(v)[Base.reindex(parentindices(v), I)...] = x; v)
Base.setindex!(v::ZView{T,N}, x, I::Vararg{Index,N}) where {T,N} = (parent(v)[_within(v, I)...] = x; v)
function _within(v, I)
    any(i -> i isa Periodic, I) && _refused(parent(v), I)
    checkbounds(v, I...)
    return Base.reindex(parentindices(v), to_indices(v, I))
end
Base.fill!(v::ZView{T,N}, value) where {T,N} = (_store(v, value); v)

_store(z::ZArray{T,N}, x) where {T,N} = _write(z, x, ntuple(_ -> Colon(), N))
_store(v::ZView, x) = (parent(v)[parentindices(v)...] = x)
_store(v::ZView{T,0}, x::AbstractArray) where {T} = (parent(v)[parentindices(v)...] = x[])
_store(z::ZArray{T,0}, x::AbstractArray) where {T} = (z[] = x[])

# ---- broadcasting --------------------------------------------------------------------------------------------------

# What is read is read whole; what is written is computed in memory first.
Base.broadcastable(z::Stored) = Array(z)

Base.copyto!(z::Stored, bc::Broadcast.Broadcasted) = _assign(z, bc)
Base.copyto!(z::Stored, bc::Broadcast.Broadcasted{Nothing}) = _assign(z, bc)
Base.copyto!(z::Stored, bc::Broadcast.Broadcasted{<:Broadcast.AbstractArrayStyle{0}}) = _assign(z, bc)
function _assign(z::Stored{T,N}, bc) where {T,N}
    if bc.f === identity && bc.args isa Tuple{Union{Number,AbstractString,Ref}}
        _store(z, convert(T, bc.args[1] isa Ref ? bc.args[1][] : bc.args[1]))
    else
        _store(z, copyto!(Array{T,N}(undef, size(z)), bc))
    end
    return z
end

# ---- iteration and reductions --------------------------------------------------------------------------------------

# Slabs of the last dimension, as thick as the chunks: as the elements follow each other in memory.
function Base.iterate(z::ZArray{T,N}, state = (T[], 1, 0)) where {T,N}
    slab, i, done = state
    if i > length(slab)
        n = N == 0 ? 1 : size(z, N)
        (done >= n || isempty(z)) && return nothing
        last = N == 0 ? 1 : min(n, done + chunks(z)[N])
        slab = N == 0 ? [z[]] : vec(_read(z, ntuple(d -> d == N ? (done+1:last) : Colon(), N)))
        i, done = 1, last
    end
    return slab[i], (slab, i + 1, done)
end
Base.iterate(v::ZView) = _iterate_whole(Array(v), 1)
Base.iterate(::ZView, (x, i)) = _iterate_whole(x, i)
_iterate_whole(x, i) = i > length(x) ? nothing : (x[i], (x, i + 1))

# Along dimensions, or of a view: in memory. Of all elements: slab by slab, each as Julia reduces an Array, because a sum of floats that adds one
# element after the other to all before is off by percents for millions of them. With a first value Julia folds from the left.
function Base.mapreduce(f, op, z::ZArray; dims = :, options...)
    dims isa Colon || return mapreduce(f, op, Array(z); dims = dims, options...)
    isempty(options) || return mapfoldl(f, op, z; options...)
    isempty(z) && return mapreduce(f, op, Array(z))
    return reduce(op, [mapreduce(f, op, slab) for slab in _slabs(z)])
end
# The slabs of an array that is not empty, each read when it is asked for.
function _slabs(z::ZArray{T,N}) where {T,N}
    N == 0 && return (fill(z[]),)
    thick, n = chunks(z)[N], size(z, N)
    return (_read(z, ntuple(d -> d == N ? (from:min(from + thick - 1, n)) : Colon(), N)) for from in 1:thick:n)
end
Base.mapreduce(f, op, v::ZView; options...) = mapreduce(f, op, Array(v); options...)
Base.map(f, z::Stored) = map(f, Array(z))
Base.similar(z::Stored, ::Type{T}, dims::Dims) where {T} = Array{T}(undef, dims)
