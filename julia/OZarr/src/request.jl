# Requests and batches: reads and writes that go on while the program computes, and many of them in one call.

# What is moved between `x` and a region: the array, its indices, their parts, and `x`.
function _job(z::ZArray{T,N}, x, I) where {T,N}
    J = isempty(I) ? ntuple(_ -> Colon(), N) : I
    J isa Tuple{Vararg{Index}} || _refused(z, J)
    parts = _parts(z, J)
    lengths = _lengths(parts, J)
    size(x) == lengths || throw(DimensionMismatch("the variable has the size $(size(x)), expected that of the region, $lengths"))
    return z, J, parts, x
end

function _begin(call, z::ZArray, x, I, options)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    _strided((a, region, memory) -> call(a, region, memory, options, out), _job(z, x, I)...)
    return Request(out[], x)
end

_readable(x, ::ZArray{T}) where {T} =
    _takes(x, T) || throw(ArgumentError("cannot read elements of $T to a $(typeof(x)) in the background, expected an Array or a view of one, of numbers that hold them"))
_writable(x, ::ZArray{T}) where {T} = _gives(x, T) ? x : convert(Array{T}, x)

_limit(seconds) = seconds === nothing ? 0.0 : Float64(seconds)

"""
    OZarr.iread!(x, z, indices...; seconds = nothing)

Begins to read a region (without indices: the whole array) to `x`, an `Array` or a view of one, which means nothing until `wait(request)`. A
request that is not done after `seconds` fails with `OZARR_ERR_TIMEOUT`.
"""
function iread!(x::AbstractArray, z::ZArray, I...; seconds = nothing)
    _readable(x, z)
    return _begin(ozarr_array_iread_ex, z, x, I, Ref(ozarr_request_options(seconds = _limit(seconds))))
end

"""
    OZarr.iwrite(z, x, indices...; copy = false, seconds = nothing)

Begins to write `x` to a region (without indices: the whole array). `x` must not change until the request is done; or, with `copy = true`, until this returns.

Keep the request until it is done: one that the garbage collector takes is cancelled, unless `copy = true`. So is a read.
"""
iwrite(z::ZArray, x::AbstractArray, I...; copy::Bool = false, seconds = nothing) =
    _begin(ozarr_array_iwrite_ex, z, _writable(x, z), I, Ref(ozarr_request_options(flags = copy ? OZARR_REQUEST_COPY : 0, seconds = _limit(seconds))))

# The entry of a job. What it points to is copied to `kept`, for what `_strided` makes lives as long as its call only.
function _entry(kept, z::ZArray{T,N}, J, parts, x) where {T,N}
    entry = Ref{ozarr_batch_entry}()
    keep(p::Ptr) = p == C_NULL ? p : pointer(_keep(kept, copy(unsafe_wrap(Array, p, N))))
    _strided(z, J, parts, x) do a, region, memory
        r, m = region[], memory[]
        r = _keep(kept, Ref(ozarr_region(start = keep(r.start), shape = keep(r.shape), step = keep(r.step), periodic = keep(r.periodic))))
        m = _keep(kept, Ref(ozarr_memory(data = m.data, size = m.size, offset = m.offset, strides = keep(m.strides), type_ = m.type_, dtype = m.dtype)))
        entry[] = ozarr_batch_entry(array = Base.unsafe_convert(Ptr{Cvoid}, a),
            region = Base.unsafe_convert(Ptr{ozarr_region}, r), memory = Base.unsafe_convert(Ptr{ozarr_memory}, m))
        OZARR_OK
    end
    return entry[]
end
_keep(kept, x) = (push!(kept, x); x)

function _many(call, jobs)
    kept = Any[]
    entries = ozarr_batch_entry[_entry(kept, job...) for job in jobs]
    GC.@preserve kept jobs _check(call(entries, length(entries)))
end

"""
    OZarr.read_many!((x, z, indices...), ...)

Reads many regions, of one array or of several, in one call: each to its `x`, as `OZarr.iread!` takes them. They are planned together: a chunk that
several regions need is read and decoded once.
"""
read_many!(regions::Tuple...) = _many(ozarr_read_many, [_reading(r...) for r in regions])
_reading(x, z::ZArray, I...) = (_readable(x, z); _job(z, x, I))

"""
    OZarr.write_many((z, x, indices...), ...)

Writes many regions in one call: a chunk that several regions need is stored once. Where they overlap the last one wins.
"""
write_many(regions::Tuple...) = _many(ozarr_write_many, [_writing(r...) for r in regions])
_writing(z::ZArray, x, I...) = _job(z, _writable(x, z), I)

"Waits until the request is done; its error is an exception. After `seconds`: an error of the status `OZARR_ERR_TIMEOUT`, and the request goes on."
Base.wait(r::Request; seconds::Real = -1) =
    _check(ozarr_request_wait(r, seconds))
"Whether the request is done; its error is an exception."
isdone(r::Request) = _number_bool(out -> ozarr_request_test(r, out))
_number_bool(get) = (out = Ref(false); _check(get(out)); out[])
"Cancels the request; what is done is done."
cancel(r::Request) = _check(ozarr_request_cancel(r))
const _states = Dict(OZARR_REQUEST_STATE_QUEUED => :queued, OZARR_REQUEST_STATE_RUNNING => :running, OZARR_REQUEST_STATE_DONE => :done, OZARR_REQUEST_STATE_FAILED => :failed)
"`:queued`, `:running`, `:done` or `:failed`, without working on the request."
state(r::Request) = _states[_number(out -> ozarr_request_get_state(r, out), Int32)]
"The error of a request that is done, or `nothing`."
function error_of(r::Request)
    info = Ref(ozarr_error_info())
    _check(ozarr_request_error(r, info))
    i = info[]
    i.status == OZARR_OK && return nothing
    return OZarrError(i.status, unsafe_string(ozarr_status_name(i.status)), unsafe_string(i.message), unsafe_string(i.key), unsafe_string(i.field))
end
Base.close(r::Request) = _release(r, ozarr_request_free)

# `use(count, handles)`; the requests live as long as the call, also those that a generator makes.
function _with_requests(use, requests)
    kept = collect(Request, requests)
    return GC.@preserve kept use(length(kept), Ptr{Cvoid}[Base.unsafe_convert(Ptr{Cvoid}, r) for r in kept])
end

"Waits until all requests are done; the first error is an exception."
wait_all(requests; seconds::Real = -1) = _with_requests((n, list) -> _check(ozarr_requests_wait_all(list, n, seconds, C_NULL)), requests)
"Waits until one of the requests is done, and gives its index; the request's own error is an exception."
wait_any(requests; seconds::Real = -1) =
    Int(_number(out -> _with_requests((n, list) -> ozarr_requests_wait_any(list, n, seconds, out), requests), Int64)) + 1

"Ends the library's threads, after all requests; they are started anew where they are needed."
shutdown() = _check(ozarr_shutdown())
