# Opens an array and reads one step of it: three calls.
using OZarr

OZarr.create("read.zarr/t", [Float64(k) for i in 1:6, j in 1:4, k in 1:5]; chunks = (6, 4, 1), overwrite = true)

t = OZarr.open("read.zarr/t")
plane = t[:, :, 3]
close(t)
println(size(plane), " all ", plane[6, 4])
