# Parallel programs: parts of an array for each process, and metadata that one process reads for all.

"""
    OZarr.partition(z, workers, worker[, ranges]; inner = false)

The part of the array (of the region `ranges`) for a worker, from 1 to `workers`, as a tuple of ranges: `z[OZarr.partition(z, 4, 1)...]`. The parts
end only where chunks end, so that workers write without waiting for each other; with `inner`, where inner chunks end, for reading.
"""
function partition(z::ZArray{T,N}, workers::Integer, worker::Integer, ranges = ntuple(_ -> Colon(), N); inner::Bool = false) where {T,N}
    1 <= worker <= workers || throw(ArgumentError("worker is $worker, expected 1 to $workers"))
    all(r -> r isa Union{Colon,AbstractUnitRange}, ranges) || _refused(z, ranges)
    parts = _parts(z, Tuple(ranges))
    first = Int64[parts[N+1-d][1] - 1 for d in 1:N]
    lengths = Int64[parts[N+1-d][2] for d in 1:N]
    start, shape = zeros(Int64, N), zeros(Int64, N)
    GC.@preserve first lengths begin
        region = Ref(ozarr_region(start = pointer(first), shape = pointer(lengths)))
        _check(ozarr_array_partition(z, region, workers, worker - 1, inner ? OZARR_PARTITION_INNER : 0, start, shape))
    end
    return ntuple(d -> Int(start[N+1-d])+1:Int(start[N+1-d] + shape[N+1-d]), N)
end

"""
    OZarr.export_node(node)

The metadata of an array, or of a group with all below it, as bytes: one process reads and sends them, the others open the node by `OZarr.import_node`.
"""
export_node(node::Node) = _bytes((buf, cap, len) -> ozarr_node_export(node, Ptr{Cvoid}(pointer(buf)), cap, len))

"""
    OZarr.import_node(location, bytes; mode = "r")
    OZarr.import_node(store, bytes)

Opens what `OZarr.export_node` gave, in the store at `location` or in an open one, without reading any metadata.
"""
import_node(location::AbstractString, bytes::Vector{UInt8}; mode::AbstractString = "r") =
    _node((array, group) -> GC.@preserve bytes ozarr_node_import(location, mode, Ptr{Cvoid}(pointer(bytes)), length(bytes), array, group))
import_node(s::Store, bytes::Vector{UInt8}) =
    _node((array, group) -> GC.@preserve bytes ozarr_node_import_at(s, Ptr{Cvoid}(pointer(bytes)), length(bytes), array, group))
