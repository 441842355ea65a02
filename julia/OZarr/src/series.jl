# The steps of all variables of a dataset.

"""
    OZarr.series(dataset, dimension; keep = -1, publish_every = 0, memory = 0)

The steps of all variables of a dataset that have a dimension: `steps["t"] = x` gives a variable its values of the next step, `OZarr.step!(steps,
value)` ends the step, `position(steps)` is the number of steps that were taken. Readers see a step when all variables have it; a run that was
killed goes on behind the last step that all have, or behind the first `keep` of them: those beyond are cut off. Readers see steps every `publish_every` of them (0: when chunks are whole); at most
`memory` bytes wait (0: no limit). Close it: only that tells what could not be stored.
"""
series(d::Dataset, dimension; keep::Integer = -1, publish_every::Integer = 0, memory::Integer = 0) =
    Series(_opened(out -> ozarr_series_open(d, String(dimension), keep, publish_every, memory, out)), d, String(dimension))
series(f::Function, d::Dataset, dimension; options...) = _closing(f, series(d, dimension; options...))

# The type of a variable, the size of a step, and where the dimension is.
function _variable(s::Series, name)
    return get!(s.variables, name) do
        z = s.dataset[name]
        at = findfirst(==(s.dimension), collect(dimension_names(z)))
        at === nothing && throw(ArgumentError("the variable $name has not the dimension $(s.dimension)"))
        found = (eltype(z), Tuple(n for (d, n) in enumerate(size(z)) if d != at), at)
        close(z)
        found
    end
end

"The values of a variable for the step that comes next; they are copied."
function Base.setindex!(s::Series, x, name::AbstractString)
    T, lengths, at = _variable(s, String(name))
    values = x isa AbstractArray ? x : fill(x)
    size(values) == lengths || throw(DimensionMismatch("the values of $name have the size $(size(values)), expected that of one step, $lengths"))
    y = _gives(values, T) ? values : convert(Array{T}, values)
    y isa Array || return _put_view(s, String(name), y, at)
    GC.@preserve y _check(ozarr_series_put(s, String(name), _type_number(eltype(y)), Ptr{Cvoid}(pointer(y)), sizeof(y)))
    return s
end

# A view of an Array: one stride in bytes for each dimension of the variable.
function _put_view(s, name, y, at)
    isempty(y) && return (s[name] = Array(y); s)
    E, N = eltype(y), ndims(y) + 1
    apart = Int64[d == at ? 0 : stride(y, d < at ? d : d - 1) * sizeof(E) for d in N:-1:1]
    reach = [(size(y, k) - 1) * stride(y, k) * sizeof(E) for k in 1:ndims(y)]
    below, above = -sum(min.(reach, 0)), sum(max.(reach, 0))
    GC.@preserve y apart begin
        memory = Ref(ozarr_memory(data = Ptr{Cvoid}(pointer(y)) - below, size = below + above + sizeof(E), offset = below, strides = pointer(apart),
            type_ = _type_number(E)))
        _check(ozarr_series_put_ex(s, name, memory))
    end
    return s
end

"Ends the step; `value` is that of the coordinate, unless it was given as a variable."
step!(s::Series, value::Real = NaN) = (_check(ozarr_series_step(s, value)); s)
"The number of steps that were taken, which is also the position of the last one."
Base.position(s::Series) = Int(_number(out -> ozarr_series_position(s, out, C_NULL), Int64))
published(s::Series) = Int(_number(out -> ozarr_series_position(s, C_NULL, out), Int64))
