# One of four ranks reads its quarter of a periodic field with a halo (ghost cells): those of its neighbours, and those from the other ends of
# the field, converted from Float32 to Float64. Three calls: open, read, close.
using OZarr

const all_, n = 64, 32               # the field is all_ x all_, a rank's part n x n
OZarr.create("halo.zarr/u", [Float32(100j + i) for i in 1:all_, j in 1:all_]; chunks = (n, n), overwrite = true)

rank = (1, 0)                        # the part at the bottom, on the left
u = zeros(n + 2, n + 2)              # u[i + 1, j + 1] is the field's [rank[1] * n + i, rank[2] * n + j]
cells = map(r -> Periodic(r*n:r*n+n+1), rank)

field = OZarr.open("halo.zarr/u")
copyto!(u, field, cells...)
close(field)
println((u[2, 2], u[1, 2], u[2, n+2]), ", across the corner ", u[n+2, 1])
