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

The library is `libozarr`, found by the system, or the file that the environment variable `OZARR_LIBRARY` names.
"""
module OZarr

using Libdl

include("library.jl")
include("generated/libozarr.jl")
include("errors.jl")
include("json.jl")
include("nodes.jl")
include("attributes.jl")
include("indexing.jl")
include("varlen.jl")

"The version of the library that runs."
version() = VersionNumber(unsafe_string(ozarr_version()))

end
