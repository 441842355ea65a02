"""
Zarr arrays for simulation codes.

    z = OZarr.open("run.zarr")["t"]
    plane = z[:, :, 11]

    z = OZarr.create("run.zarr/t", Float64, 64, 64, 100; chunks = (64, 64, 1))
    z[:, :, 3] = plane
    z.attrs["units"] = "K"
    close(z)

Dimensions are in Julia's order, the first one running fastest: an array of size (64, 64, 100) here has the shape (100, 64, 64) in C and
Python. Indices count from 1. Elements are converted between the array's type and the variable's.

Failures are exceptions: `OZarrError`, `BoundsError`, `InexactError`. docs/julia.md shows the rest.

The library is `libozarr`, found by the system, or the file that the environment variable `OZARR_LIBRARY` names.
"""
module OZarr

using Dates, Libdl

include("library.jl")
include("generated/libozarr.jl")
include("errors.jl")
include("handles.jl")
include("types.jl")
include("json.jl")
include("settings.jl")
include("nodes.jl")
include("create.jl")
include("attributes.jl")
include("indexing.jl")
include("figures.jl")
include("varlen.jl")
include("whole.jl")
include("steps.jl")
include("meaning.jl")
include("dataset.jl")
include("series.jl")
include("checkpoint.jl")
include("request.jl")
include("parallel.jl")
include("hierarchy.jl")

"The version of the library that runs."
version() = VersionNumber(unsafe_string(ozarr_version()))
"The number of the library's binary interface."
abi_version() = Int(ozarr_abi_version())
"Whether the library has a feature, such as \"cloud\" or a codec's name."
has_feature(name::AbstractString) = ozarr_has_feature(name)

export ZArray, ZGroup, Store, Dataset, Context, Appender, Series, Request, OZarrError, Periodic
export chunks, consolidate, dimension_names, partition
export read_unpacked, write_packed!, read_missing, read_times, write_times!
export define_dimension!, define_variable!, define_coordinate!, define_time!, set_coordinate!

end
