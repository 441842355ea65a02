# Reads a rank's part of a field with the cells around it (ghost cells, halo), into the middle of memory that has room for all of them.
# What is beyond the end of the field is left alone. Three calls: open, read, close.
using OZarr

const all_, n = 64, 32               # the field is all_ x all_, a rank's part n x n
OZarr.create("halo.zarr/u", [Float32(100j + i) for i in 1:all_, j in 1:all_]; overwrite = true)

rank = (1, 0)                        # the part at the bottom, on the left
cells = map(r -> max(r * n, 1):min((r + 1) * n + 1, all_), rank)
u = fill(-1.0, n + 2, n + 2)         # u[i + 1, j + 1] is the field's [rank[1] * n + i, rank[2] * n + j]
inside = map((c, r) -> c .- (r * n - 1), cells, rank)

field = OZarr.open("halo.zarr/u")
copyto!(view(u, inside...), field, cells...)
close(field)
println((u[2, 2], u[1, 2], u[2, n+2], u[n+2, 2]))
