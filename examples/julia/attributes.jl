# Attributes of each kind, set and read with seven calls.
using OZarr

t = OZarr.create("attributes.zarr/t", Float32, 4; overwrite = true)
t.attrs["units"] = "K"
t.attrs["scale"] = 0.25
t.attrs["valid_range"] = Float32[0, 500]
t.attrs["restart"] = true
t.attrs["flag_meanings"] = ["land", "sea"]
println(t.attrs["units"], " ", Float64.(t.attrs["valid_range"]))
close(t)
