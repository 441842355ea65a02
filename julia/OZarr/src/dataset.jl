# Datasets: dimensions, variables, coordinates, as netCDF and xarray have them.

const _dataset_options = merge(_group_options, (zarr_format = 0,))

"""
    OZarr.create_dataset(location; overwrite = false, open_if_same = false, zarr_format = 0)

Creates a dataset; a `zarr_format` of 0 is that of the group above.
"""
function create_dataset(location::AbstractString; options...)
    o = _options("create_dataset", _dataset_options, options)
    return Dataset(_opened(out -> ozarr_dataset_create(location, o.zarr_format, _mode(o), out)))
end

"""
    OZarr.dataset(location; mode = "r")
    OZarr.dataset(group)

Opens a dataset; with a function first, calls it and closes afterwards.
"""
dataset(location::AbstractString; mode::AbstractString = "r") = Dataset(_opened(out -> ozarr_dataset_open(location, mode, out)))
dataset(g::ZGroup) = Dataset(_opened(out -> ozarr_group_open_dataset(g, out)))
dataset(f::Function, what; options...) = _closing(f, dataset(what; options...))

"The group that a dataset is."
group(d::Dataset) = ZGroup(_opened(out -> ozarr_dataset_open_group(d, out)))
Base.getproperty(d::Dataset, name::Symbol) = name === :attrs ? Attributes(group(d)) : getfield(d, name)
Base.propertynames(::Dataset) = (:attrs,)

# ---- dimensions ----------------------------------------------------------------------------------------------------

"Defines a dimension."
define_dimension!(d::Dataset, name, length::Integer) = (_check(ozarr_dataset_define_dimension(d, String(name), length)); d)
"Resizes all variables that have the dimension."
Base.resize!(d::Dataset, name, length::Integer) = (_check(ozarr_dataset_resize_dimension(d, String(name), length)); d)

"The dimensions as `name => length`, in the order of their definition."
function dimensions(d::Dataset)
    count = _number(out -> ozarr_dataset_dimension_count(d, out), Int64)
    length = Ref{Int64}(0)
    return [_text((buf, cap, len) -> ozarr_dataset_dimension(d, i, buf, cap, len, length)) => Int(length[]) for i in 0:Int(count)-1]
end
"The length of a dimension: what all its variables have. With `longest = true` that of its longest variable, as steps of a run that ended early may be."
function dimension_length(d::Dataset, name; longest::Bool = false)
    shared, most = Ref{Int64}(0), Ref{Int64}(0)
    _check(ozarr_dataset_dimension_length(d, String(name), shared, most))
    return Int(longest ? most[] : shared[])
end

"""
    OZarr.wait_growth(dataset, dimension, beyond; seconds = -1)

Waits until all variables along a dimension are longer than `beyond`, and gives the length that all have; an error of the status
`OZARR_ERR_TIMEOUT` after `seconds`.
"""
wait_growth(d::Dataset, dimension, beyond::Integer; seconds::Real = -1) =
    Int(_number(out -> ozarr_dataset_wait_growth(d, String(dimension), beyond, seconds, out), Int64))

# ---- variables -----------------------------------------------------------------------------------------------------

function _variables(d::Dataset)
    count = _number(out -> ozarr_dataset_variable_count(d, out), Int64)
    coordinate = Ref(false)
    return [_text((buf, cap, len) -> ozarr_dataset_variable(d, i, buf, cap, len, coordinate)) => coordinate[] for i in 0:Int(count)-1]
end
"The names of all variables, coordinates among them."
Base.keys(d::Dataset) = [name for (name, _) in _variables(d)]
"The names of the variables that are coordinates."
coordinates(d::Dataset) = [name for (name, is) in _variables(d) if is]
Base.haskey(d::Dataset, name) = String(name) in keys(d)
Base.length(d::Dataset) = length(keys(d))
Base.getindex(d::Dataset, name) = _array(_opened(out -> ozarr_dataset_open_variable(d, String(name), out)))

const _variable_options = merge(_create_options, (units = nothing, calendar = nothing, long_name = nothing, standard_name = nothing,
    missing_value = nothing, scale_factor = 0.0, add_offset = 0.0))

"""
    OZarr.define_variable!(dataset, name, T, dimensions; options...)

Defines a variable of elements `T` along dimensions that are defined, given in Julia's order: `("x", "y", "time")`. Options: those of
`OZarr.create` (without `names`), and `units`, `calendar`, `long_name`, `standard_name`; `missing_value`, which is also the fill value; `scale_factor` and
`add_offset` for `OZarr.write_packed!`.
"""
function define_variable!(d::Dataset, name, T::Type, along; options...)
    o = _options("define_variable!", _variable_options, options)
    names = [String(n) for n in reverse(collect(_list(along)))]
    spec = _with_spec_kept(T, length(names), merge(o, (names = nothing,)))
    try
        return _define(d, String(name), T, names, spec, o)
    finally
        ozarr_spec_free(spec)
    end
end

# The specification of a variable, which is not freed.
function _with_spec_kept(T, rank, o)
    spec = _new_spec(T, rank)
    try
        _layout(spec, T, rank, merge(o, (attributes = nothing,)))
        _compression(spec, o)
    catch
        ozarr_spec_free(spec)
        rethrow()
    end
    return spec
end

function _define(d, name, T, names, spec, o)
    texts = map(t -> t === nothing ? nothing : Base.cconvert(Cstring, String(t)),
        (o.units, o.calendar, o.long_name, o.standard_name, o.attributes === nothing ? nothing : json_text(o.attributes)))
    at(t) = t === nothing ? Cstring(C_NULL) : Base.unsafe_convert(Cstring, t)
    o.missing_value === nothing || isbitstype(T) || throw(ArgumentError("found a missing_value for elements $T, expected none"))
    none = o.missing_value === nothing ? Ref(false) : Ref(convert(T, o.missing_value))
    return GC.@preserve texts none _with_texts(names) do list
        GC.@preserve list begin
            variable = Ref(ozarr_variable(type_ = _type_number(T), rank = length(names), dimensions = pointer(list), spec = spec, units = at(texts[1]),
                calendar = at(texts[2]), long_name = at(texts[3]), standard_name = at(texts[4]), attributes = at(texts[5]),
                missing = o.missing_value === nothing ? C_NULL : Base.unsafe_convert(Ptr{Cvoid}, none), scale_factor = o.scale_factor,
                add_offset = o.add_offset))
            _array(_opened(out -> ozarr_dataset_define_variable_ex(d, name, variable, _mode(o), out)))
        end
    end
end

"""
    OZarr.define_coordinate!(dataset, name, values; units = nothing, chunk = 0)

A dimension of as many values, numbers, and the variable that holds them, in chunks of `chunk` elements (0: suggested).
"""
function define_coordinate!(d::Dataset, name, values::AbstractVector; units = nothing, chunk::Integer = 0)
    x = collect(values)
    _has_number(eltype(x)) || throw(ArgumentError("the coordinate $name has elements of the type $(eltype(x)), expected numbers: of texts define the dimension and a variable"))
    return _array(_opened(out -> GC.@preserve x ozarr_dataset_define_coordinate(d, String(name), _type_number(eltype(x)), length(x), chunk,
        Ptr{Cvoid}(pointer(x)), sizeof(x), units === nothing ? Cstring(C_NULL) : units, out)))
end

"""
    OZarr.define_time!(dataset, name, units; length = 0, calendar = nothing, chunk = 0)

A time axis: counts of units such as "hours since 2026-01-01", in chunks of `chunk` elements (0: suggested); see `OZarr.write_times!`.
"""
define_time!(d::Dataset, name, units::AbstractString; length::Integer = 0, calendar = nothing, chunk::Integer = 0) =
    _array(_opened(out -> ozarr_dataset_define_time(d, String(name), length, chunk, units, _calendar(calendar), out)))

"Marks a variable as an auxiliary coordinate."
set_coordinate!(d::Dataset, name) = (_check(ozarr_dataset_set_coordinate(d, String(name))); d)
