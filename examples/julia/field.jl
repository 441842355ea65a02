# Writes a field, opens it again, reads every second row backwards, sees attributes, and shows an error.
using OZarr

# Dimensions in Julia's order: C and Python see (3, 4, 6).
t = OZarr.create("run.zarr/temperature", Float64, 6, 4, 3; chunks = (6, 4, 1), names = ("x", "y", "time"), overwrite = true)
for k in 1:3
    t[:, :, k] = [100 * (k - 1) + 10 * (j - 1) + (i - 1) for i in 1:6, j in 1:4]
end
t.attrs["units"] = "K"
t.attrs["dt"] = 0.25
close(t)

t = OZarr.open("run.zarr")["temperature"]
println(t, ", ", t.attrs["units"], ", dt = ", t.attrs["dt"])

# Of the last step the rows 4 and 2, and there columns 1, 3 and 5.
println(t[1:2:5, 4:-2:2, end])

# Into the middle of memory with a halo around it, converted to Float32.
halo = zeros(Float32, 8, 6)
copyto!(view(halo, 2:7, 2:5), t, :, :, 2)
println((halo[2, 2], halo[7, 5], halo[8, 6]))

try
    OZarr.open("run.zarr/pressure")
catch e
    showerror(stdout, e)
    println()
end
