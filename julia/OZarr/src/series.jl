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

# The values of a variable as memory that the library reads: an Array or a view of one.
function _step_values(s::Series, x, name)
    T, lengths, at = _variable(s, name)
    values = x isa AbstractArray ? x : fill(x)
    size(values) == lengths || throw(DimensionMismatch("the values of $name have the size $(size(values)), expected that of one step, $lengths"))
    y = _gives(values, T) && !isempty(values) ? values : convert(Array{T}, values)
    return y, at
end

# That memory for C, with one stride in bytes for each dimension of the variable, and what is to be kept from the garbage collector.
function _step_memory(y, at)
    E = eltype(y)
    y isa Array && return (ozarr_memory(data = Ptr{Cvoid}(pointer(y)), size = sizeof(y), type_ = _type_number(E)), y)
    apart = Int64[d == at ? 0 : stride(y, d < at ? d : d - 1) * sizeof(E) for d in (ndims(y) + 1):-1:1]
    reach = Int64[(size(y, k) - 1) * stride(y, k) * sizeof(E) for k in 1:ndims(y)]
    below, above = -sum(min.(reach, 0)), sum(max.(reach, 0))
    memory = ozarr_memory(data = Ptr{Cvoid}(pointer(y)) - below, size = below + above + sizeof(E), offset = below, strides = pointer(apart),
        type_ = _type_number(E))
    return memory, (y, apart)
end

"The values of a variable for the step that comes next; they are copied."
function Base.setindex!(s::Series, x, name::AbstractString)
    memory, kept = _step_memory(_step_values(s, x, String(name))...)
    GC.@preserve kept _check(ozarr_series_put_ex(s, String(name), Ref(memory)))
    return s
end

"""
    OZarr.step!(steps, value, "t" => t, "p" => p)

Gives variables their values and ends the step, in one call. `value` is that of the coordinate, unless it was given as a variable; variables may
also be given before, by `steps["t"] = t`: so is an integer that no `Float64` holds, as nanoseconds since 1970 are, which is an `ArgumentError` here.
"""
function step!(s::Series, value::Real = NaN, variables::Pair{<:AbstractString}...)
    coordinate = Float64(value)
    value isa Integer && coordinate != value &&
        throw(ArgumentError("the value of the coordinate is $value, which no Float64 holds; give it as a variable, steps[\"$(s.dimension)\"] = $value"))
    names = String[name for (name, _) in variables]
    found = [_step_memory(_step_values(s, x, String(name))...) for (name, x) in variables]
    memories, kept = ozarr_memory[memory for (memory, _) in found], [k for (_, k) in found]
    pointers = Ptr{UInt8}[pointer(name) for name in names]
    GC.@preserve names kept _check(ozarr_series_step(s, coordinate, length(names), pointers, memories))
    return s
end
"The number of steps that were taken, which is also the position of the last one."
Base.position(s::Series) = Int(_number(out -> ozarr_series_position(s, out, C_NULL), Int64))
published(s::Series) = Int(_number(out -> ozarr_series_position(s, C_NULL, out), Int64))
