# What a call costs through OZarr beside the C function: reads of one element of an array in memory, in nanoseconds each.
using OZarr

const N, ROUNDS = 20000, 15

function best(f)
    shortest = Inf
    for _ in 1:ROUNDS
        began = time_ns()
        for i in 1:N
            f(i % 1000)
        end
        shortest = min(shortest, (time_ns() - began) / N)
    end
    return shortest
end

function main()
    z = OZarr.create(OZarr.memory(), "a", ones(1000, 10); chunks = (1000, 10), compressor = "none")
    h = getfield(z, :handle)
    x, sum = Ref(0.0), Ref(0.0)
    start, shape = Int64[3, 0], Int64[1, 1]
    c = best() do i
        start[2] = i
        OZarr.ozarr_array_read_region(h, start, shape, OZarr.OZARR_FLOAT64, Base.unsafe_convert(Ptr{Cvoid}, x), 8) == 0 || error("failed")
        sum[] += x[]
    end
    one = best(i -> (sum[] += z[i+1, 4]))
    range = best(i -> (sum[] += z[i+1:i+1, 4][1]))
    into = zeros(1)
    view_ = best(i -> (copyto!(into, z, i+1:i+1, 4); sum[] += into[1]))
    row(name, t) = println(rpad(name, 40), lpad(round(Int, t), 7), " ns  ", t >= c ? "+" : "", round(Int, t - c))
    row("C     ozarr_array_read_region", c)
    row("Julia z[i, j]", one)
    row("Julia z[i:i, j]", range)
    row("Julia copyto!(x, z, i:i, j)", view_)
end

main()
