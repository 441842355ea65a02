# Requests: reads and writes that go on while the program computes.

function _begin(call, z::ZArray{T,N}, x, I, options) where {T,N}
    J = isempty(I) ? ntuple(_ -> Colon(), N) : I
    J isa Tuple{Vararg{Index}} || _refused(z, J)
    parts = _parts(z, J)
    lengths = _lengths(parts, J)
    size(x) == lengths || throw(DimensionMismatch("the variable has the size $(size(x)), expected that of the region, $lengths"))
    out = Ref{Ptr{Cvoid}}(C_NULL)
    _strided((a, region, memory) -> call(a, region, memory, options, out), z, J, parts, x)
    return Request(out[], x)
end

_limit(seconds) = seconds === nothing ? 0.0 : Float64(seconds)

"""
    OZarr.iread!(x, z, indices...; seconds = nothing)

Begins to read a region (without indices: the whole array) to `x`, an `Array` or a view of one, which means nothing until `wait(request)`. A
request that is not done after `seconds` fails with `OZARR_ERR_TIMEOUT`.
"""
function iread!(x::AbstractArray, z::ZArray{T}, I...; seconds = nothing) where {T}
    _takes(x, T) || throw(ArgumentError("cannot read elements of $T to a $(typeof(x)) in the background, expected an Array or a view of one, of numbers that hold them"))
    return _begin(ozarr_array_iread_ex, z, x, I, Ref(ozarr_request_options(seconds = _limit(seconds))))
end

"""
    OZarr.iwrite(z, x, indices...; copy = false, seconds = nothing)

Begins to write `x` to a region (without indices: the whole array). `x` must not change until the request is done; or, with `copy = true`, until this returns.
"""
function iwrite(z::ZArray{T}, x::AbstractArray, I...; copy::Bool = false, seconds = nothing) where {T}
    y = _gives(x, T) ? x : convert(Array{T}, x)
    return _begin(ozarr_array_iwrite_ex, z, y, I, Ref(ozarr_request_options(flags = copy ? OZARR_REQUEST_COPY : 0, seconds = _limit(seconds))))
end

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

# `use(count, handles)`; the requests live as long as the call.
_with_requests(use, requests) = GC.@preserve requests use(length(requests), Ptr{Cvoid}[Base.unsafe_convert(Ptr{Cvoid}, r) for r in requests])

"Waits until all requests are done; the first error is an exception."
wait_all(requests; seconds::Real = -1) = _with_requests((n, list) -> _check(ozarr_requests_wait_all(list, n, seconds, C_NULL)), requests)
"Waits until one of the requests is done, and gives its index; the request's own error is an exception."
wait_any(requests; seconds::Real = -1) =
    Int(_number(out -> _with_requests((n, list) -> ozarr_requests_wait_any(list, n, seconds, out), requests), Int64)) + 1

"Ends the library's threads, after all requests; they are started anew where they are needed."
shutdown() = _check(ozarr_shutdown())
