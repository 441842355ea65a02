# Chooses how a field is compressed: 12 bits of the mantissa (lossy), bits shuffled, zstd inside of Blosc. Two calls: create, close.
using OZarr

u = reshape([1 + sin(0.001f0 * i) for i in 1:64*64*100], 64, 64, 100)
rain = OZarr.create("rain.zarr", u; chunks = (64, 64, 100), keep_bits = 12, shuffle = :bit, compressor = "blosc:zstd", level = 5, overwrite = true)
close(rain)

OZarr.open("rain.zarr") do stored
    println("to 4 digits: ", maximum(abs.(stored .- u)) < 2.0^-12, ", in half of the memory: ", OZarr.info(stored).ratio > 2)
end
