# Generated from abi/ozarr.json by tools/bindings.py: a change here is lost.
#
# The functions and numbers of the C library, as they are.

const OZARR_OK = Int32(0)
const OZARR_ERR_ARGUMENT = Int32(-101)
const OZARR_ERR_NULL = Int32(-102)
const OZARR_ERR_BOUNDS = Int32(-103)
const OZARR_ERR_RANK = Int32(-104)
const OZARR_ERR_BUFFER_SIZE = Int32(-105)
const OZARR_ERR_TYPE = Int32(-106)
const OZARR_ERR_RANGE = Int32(-107)
const OZARR_ERR_NAME = Int32(-108)
const OZARR_ERR_LOCATION = Int32(-109)
const OZARR_ERR_INVALID_HANDLE = Int32(-110)
const OZARR_ERR_READ_ONLY = Int32(-201)
const OZARR_ERR_EXISTS = Int32(-202)
const OZARR_ERR_STATE = Int32(-203)
const OZARR_ERR_AGAIN = Int32(-204)
const OZARR_ERR_CANCELLED = Int32(-205)
const OZARR_ERR_FORKED = Int32(-206)
const OZARR_ERR_NOT_FOUND = Int32(-301)
const OZARR_ERR_NODE_KIND = Int32(-302)
const OZARR_ERR_METADATA = Int32(-303)
const OZARR_ERR_UNSUPPORTED = Int32(-304)
const OZARR_ERR_EXTENSION = Int32(-305)
const OZARR_ERR_CHUNK = Int32(-401)
const OZARR_ERR_CHECKSUM = Int32(-402)
const OZARR_ERR_SHARD_INDEX = Int32(-403)
const OZARR_ERR_MISSING = Int32(-404)
const OZARR_ERR_TRUNCATED = Int32(-405)
const OZARR_ERR_PERMISSION = Int32(-501)
const OZARR_ERR_CONFLICT = Int32(-502)
const OZARR_ERR_TIMEOUT = Int32(-503)
const OZARR_ERR_NETWORK = Int32(-504)
const OZARR_ERR_THROTTLED = Int32(-505)
const OZARR_ERR_RANGES = Int32(-506)
const OZARR_ERR_PARTIAL = Int32(-507)
const OZARR_ERR_IO = Int32(-601)
const OZARR_ERR_NO_SPACE = Int32(-602)
const OZARR_ERR_NO_MEMORY = Int32(-603)
const OZARR_ERR_TOO_MANY_FILES = Int32(-604)
const OZARR_ERR_LIMIT = Int32(-701)
const OZARR_ERR_INTERNAL = Int32(-901)
const OZARR_ERR_CALLBACK = Int32(-902)
const OZARR_ORDER_C = Int32(0)
const OZARR_ORDER_F = Int32(1)
const OZARR_VERSION_MAJOR = Int32(0)
const OZARR_VERSION_MINOR = Int32(2)
const OZARR_VERSION_PATCH = Int32(0)
const OZARR_VERSION_NUMBER = Int32(200)
const OZARR_ABI_VERSION = Int32(1)
const OZARR_AS_STORED = Int32(0)
const OZARR_BOOL = Int32(1)
const OZARR_INT8 = Int32(2)
const OZARR_INT16 = Int32(3)
const OZARR_INT32 = Int32(4)
const OZARR_INT64 = Int32(5)
const OZARR_UINT8 = Int32(6)
const OZARR_UINT16 = Int32(7)
const OZARR_UINT32 = Int32(8)
const OZARR_UINT64 = Int32(9)
const OZARR_FLOAT16 = Int32(10)
const OZARR_FLOAT32 = Int32(11)
const OZARR_FLOAT64 = Int32(12)
const OZARR_COMPLEX64 = Int32(13)
const OZARR_COMPLEX128 = Int32(14)
const OZARR_INT2 = Int32(15)
const OZARR_INT4 = Int32(16)
const OZARR_UINT2 = Int32(17)
const OZARR_UINT4 = Int32(18)
const OZARR_BFLOAT16 = Int32(19)
const OZARR_FLOAT8_E3M4 = Int32(20)
const OZARR_FLOAT8_E4M3 = Int32(21)
const OZARR_FLOAT8_E4M3B11FNUZ = Int32(22)
const OZARR_FLOAT8_E4M3FNUZ = Int32(23)
const OZARR_FLOAT8_E4M3FN = Int32(24)
const OZARR_FLOAT8_E5M2 = Int32(25)
const OZARR_FLOAT8_E5M2FNUZ = Int32(26)
const OZARR_FLOAT8_E8M0FNU = Int32(27)
const OZARR_FLOAT6_E2M3FN = Int32(28)
const OZARR_FLOAT6_E3M2FN = Int32(29)
const OZARR_FLOAT4_E2M1FN = Int32(30)
const OZARR_BY_DTYPE = Int32(100)
const OZARR_STRING = Int32(101)
const OZARR_BYTES = Int32(102)
const OZARR_JSON = Int32(103)
const OZARR_LIST = Int32(104)
const OZARR_OVERFLOW_ERROR = Int32(0)
const OZARR_OVERFLOW_WRAP = Int32(1)
const OZARR_OVERFLOW_SATURATE = Int32(2)
const OZARR_STORE_CAN_WRITE = Int32(1)
const OZARR_STORE_CAN_LIST = Int32(2)
const OZARR_STORE_CAN_ERASE = Int32(4)
const OZARR_STORE_IS_REMOTE = Int32(8)
const OZARR_CALLBACK_ANY_THREAD = Int32(256)
const OZARR_CREATE_NEW = Int32(0)
const OZARR_CREATE_OVERWRITE = Int32(1)
const OZARR_CREATE_OPEN_IF_SAME = Int32(2)
const OZARR_NODE_KIND_NONE = Int32(0)
const OZARR_NODE_KIND_ARRAY = Int32(1)
const OZARR_NODE_KIND_GROUP = Int32(2)
const OZARR_NODE_KIND_UNKNOWN = Int32(3)
const OZARR_JSON_KIND_NULL = Int32(0)
const OZARR_JSON_KIND_BOOL = Int32(1)
const OZARR_JSON_KIND_INTEGER = Int32(2)
const OZARR_JSON_KIND_NUMBER = Int32(3)
const OZARR_JSON_KIND_STRING = Int32(4)
const OZARR_JSON_KIND_ARRAY = Int32(5)
const OZARR_JSON_KIND_OBJECT = Int32(6)
const OZARR_LOG_LEVEL_OFF = Int32(0)
const OZARR_LOG_LEVEL_WARNING = Int32(1)
const OZARR_LOG_LEVEL_INFO = Int32(2)
const OZARR_RESIZE_KEEP = Int32(1)
const OZARR_SINGLE = Int32(-1)
const OZARR_SHUFFLE_DEFAULT = Int32(0)
const OZARR_SHUFFLE_NONE = Int32(1)
const OZARR_SHUFFLE_BYTE = Int32(2)
const OZARR_SHUFFLE_BIT = Int32(3)
const OZARR_ZFP_REVERSIBLE = Int32(0)
const OZARR_ZFP_ACCURACY = Int32(1)
const OZARR_ZFP_PRECISION = Int32(2)
const OZARR_ZFP_RATE = Int32(3)
const OZARR_PARTITION_INNER = Int32(1)
const OZARR_REQUEST_COPY = Int32(1)
const OZARR_REQUEST_STATE_QUEUED = Int32(0)
const OZARR_REQUEST_STATE_RUNNING = Int32(1)
const OZARR_REQUEST_STATE_DONE = Int32(2)
const OZARR_REQUEST_STATE_FAILED = Int32(3)
const OZARR_DTYPE_KIND_BOOL = Int32(1)
const OZARR_DTYPE_KIND_INT = Int32(2)
const OZARR_DTYPE_KIND_UINT = Int32(3)
const OZARR_DTYPE_KIND_FLOAT = Int32(4)
const OZARR_DTYPE_KIND_COMPLEX = Int32(5)
const OZARR_DTYPE_KIND_BYTES = Int32(6)
const OZARR_DTYPE_KIND_TEXT = Int32(7)
const OZARR_DTYPE_KIND_RAW = Int32(8)
const OZARR_DTYPE_KIND_DATETIME = Int32(9)
const OZARR_DTYPE_KIND_TIMEDELTA = Int32(10)
const OZARR_DTYPE_KIND_STRUCT = Int32(11)
const OZARR_DTYPE_KIND_VAR_TEXT = Int32(12)
const OZARR_DTYPE_KIND_VAR_BYTES = Int32(13)
const OZARR_DTYPE_KIND_VAR_JSON = Int32(14)
const OZARR_DTYPE_KIND_VAR_LIST = Int32(15)
const OZARR_DTYPE_KIND_CHARS = Int32(16)
const OZARR_BYTE_ORDER_NONE = Int32(0)
const OZARR_BYTE_ORDER_LITTLE = Int32(1)
const OZARR_BYTE_ORDER_BIG = Int32(2)
const OZARR_BYTE_ORDER_MIXED = Int32(3)
const OZARR_COPY_RAW = Int32(1)
const OZARR_COPY_VERIFY = Int32(2)
const OZARR_COPY_LINK = Int32(4)
const OZARR_MIGRATE_IN_PLACE = Int32(1)
const OZARR_MIGRATE_LINK = Int32(4)
const OZARR_VERIFY_QUICK = Int32(1)
const OZARR_VERIFY_REPAIR = Int32(2)
const OZARR_FAULT_KIND_DAMAGED = Int32(1)
const OZARR_FAULT_KIND_UNREADABLE = Int32(2)
const OZARR_FAULT_KIND_UNSUPPORTED = Int32(3)
const OZARR_FAULT_KIND_OUTSIDE = Int32(4)
const OZARR_FAULT_KIND_FOREIGN = Int32(5)
const OZARR_FAULT_KIND_TEMPORARY = Int32(6)
const OZARR_FAULT_KIND_STALE = Int32(7)
const OZARR_BUFFER_SMALL_PAGES = Int32(1)
const OZARR_STORE_HAS_VERSIONS = Int32(512)
const OZARR_BYTE_RANGE_KIND_WHOLE = Int32(0)
const OZARR_BYTE_RANGE_KIND_SPAN = Int32(1)
const OZARR_BYTE_RANGE_KIND_SUFFIX = Int32(2)
const OZARR_REGISTER_REPLACE = Int32(1024)
const OZARR_EXTENSION_TRANSFORMER = Int32(1)
const OZARR_EXTENSION_MEMBER = Int32(2)
const OZARR_EXTENSION_CODEC = Int32(3)
const OZARR_EXTENSION_DTYPE = Int32(4)
const OZARR_EXTENSION_KEY_ENCODING = Int32(5)
const OZARR_CODEC_KIND_BYTES = Int32(1)
const OZARR_CODEC_KIND_ARRAY = Int32(2)
const OZARR_CODEC_KIND_ARRAY_TO_BYTES = Int32(3)
const OZARR_CODEC_IS_ELEMENTWISE = Int32(2048)
const OZARR_DTYPE_HAS_BYTE_ORDER = Int32(4096)

struct ozarr_error_info
    struct_size::Csize_t
    status::Int32
    os_errno::Int32
    http_status::Int32
    reserved::Int32
    message::Cstring
    key::Cstring
    field::Cstring
end
@inline ozarr_error_info(; struct_size = sizeof(ozarr_error_info), status = 0, os_errno = 0, http_status = 0, reserved = 0, message = Cstring(C_NULL), key = Cstring(C_NULL), field = Cstring(C_NULL)) =
    ozarr_error_info(struct_size, status, os_errno, http_status, reserved, message, key, field)

struct ozarr_region
    struct_size::Csize_t
    start::Ptr{Int64}
    shape::Ptr{Int64}
    step::Ptr{Int64}
    periodic::Ptr{Bool}
end
@inline ozarr_region(; struct_size = sizeof(ozarr_region), start = C_NULL, shape = C_NULL, step = C_NULL, periodic = C_NULL) =
    ozarr_region(struct_size, start, shape, step, periodic)

struct ozarr_memory
    struct_size::Csize_t
    data::Ptr{Cvoid}
    size::Csize_t
    offset::Csize_t
    strides::Ptr{Int64}
    order::Int32
    type_::Int32
    overflow::Int32
    reserved::Int32
    dtype::Ptr{Cvoid}
    field::Cstring
    sizes::Ptr{Int64}
    starts::Ptr{Int64}
end
@inline ozarr_memory(; struct_size = sizeof(ozarr_memory), data = C_NULL, size = 0, offset = 0, strides = C_NULL, order = 0, type_ = 0, overflow = 0, reserved = 0, dtype = C_NULL, field = Cstring(C_NULL), sizes = C_NULL, starts = C_NULL) =
    ozarr_memory(struct_size, data, size, offset, strides, order, type_, overflow, reserved, dtype, field, sizes, starts)

struct ozarr_layout
    struct_size::Csize_t
    chunks::Ptr{Int64}
    inner_chunks::Ptr{Int64}
    dimension_names::Ptr{Ptr{UInt8}}
    compressor::Cstring
    level::Int32
    shuffle::Int32
    keep_bits::Int32
    checksum::Int32
end
@inline ozarr_layout(; struct_size = sizeof(ozarr_layout), chunks = C_NULL, inner_chunks = C_NULL, dimension_names = C_NULL, compressor = Cstring(C_NULL), level = 0, shuffle = 0, keep_bits = 0, checksum = 0) =
    ozarr_layout(struct_size, chunks, inner_chunks, dimension_names, compressor, level, shuffle, keep_bits, checksum)

struct ozarr_variable
    struct_size::Csize_t
    type_::Int32
    rank::Int32
    dimensions::Ptr{Ptr{UInt8}}
    chunks::Ptr{Int64}
    spec::Ptr{Cvoid}
    units::Cstring
    calendar::Cstring
    long_name::Cstring
    standard_name::Cstring
    attributes::Cstring
    missing::Ptr{Cvoid}
    scale_factor::Cdouble
    add_offset::Cdouble
    compressor::Cstring
    level::Int32
    shuffle::Int32
    keep_bits::Int32
    reserved::Int32
end
@inline ozarr_variable(; struct_size = sizeof(ozarr_variable), type_ = 0, rank = 0, dimensions = C_NULL, chunks = C_NULL, spec = C_NULL, units = Cstring(C_NULL), calendar = Cstring(C_NULL), long_name = Cstring(C_NULL), standard_name = Cstring(C_NULL), attributes = Cstring(C_NULL), missing = C_NULL, scale_factor = 0, add_offset = 0, compressor = Cstring(C_NULL), level = 0, shuffle = 0, keep_bits = 0, reserved = 0) =
    ozarr_variable(struct_size, type_, rank, dimensions, chunks, spec, units, calendar, long_name, standard_name, attributes, missing, scale_factor, add_offset, compressor, level, shuffle, keep_bits, reserved)

struct ozarr_request_options
    struct_size::Csize_t
    flags::UInt32
    reserved::Int32
    seconds::Cdouble
    done::Ptr{Cvoid}
    user::Ptr{Cvoid}
end
@inline ozarr_request_options(; struct_size = sizeof(ozarr_request_options), flags = 0, reserved = 0, seconds = 0, done = C_NULL, user = C_NULL) =
    ozarr_request_options(struct_size, flags, reserved, seconds, done, user)

struct ozarr_info
    struct_size::Csize_t
    chunks::Int64
    possible_chunks::Int64
    stored_bytes::Int64
    element_bytes::Int64
    ratio::Cdouble
end
@inline ozarr_info(; struct_size = sizeof(ozarr_info), chunks = 0, possible_chunks = 0, stored_bytes = 0, element_bytes = 0, ratio = 0) =
    ozarr_info(struct_size, chunks, possible_chunks, stored_bytes, element_bytes, ratio)

struct ozarr_batch_entry
    struct_size::Csize_t
    array::Ptr{Cvoid}
    region::Ptr{ozarr_region}
    memory::Ptr{ozarr_memory}
end
@inline ozarr_batch_entry(; struct_size = sizeof(ozarr_batch_entry), array = C_NULL, region = C_NULL, memory = C_NULL) =
    ozarr_batch_entry(struct_size, array, region, memory)

struct ozarr_explanation
    struct_size::Csize_t
    bytes::Int64
    chunks::Int64
    whole_chunks::Int64
    partial_chunks::Int64
    changed_chunks::Int64
    inner_chunks::Int64
    partial_inner_chunks::Int64
    reads::Int64
    whole_reads::Int64
    read_bytes::Int64
    writes::Int64
    decoded_bytes::Int64
    direct_chunks::Int64
    threads::Int64
    thread_bytes::Int64
    objects::Int64
    fewer_objects::Int64
end
@inline ozarr_explanation(; struct_size = sizeof(ozarr_explanation), bytes = 0, chunks = 0, whole_chunks = 0, partial_chunks = 0, changed_chunks = 0, inner_chunks = 0, partial_inner_chunks = 0, reads = 0, whole_reads = 0, read_bytes = 0, writes = 0, decoded_bytes = 0, direct_chunks = 0, threads = 0, thread_bytes = 0, objects = 0, fewer_objects = 0) =
    ozarr_explanation(struct_size, bytes, chunks, whole_chunks, partial_chunks, changed_chunks, inner_chunks, partial_inner_chunks, reads, whole_reads, read_bytes, writes, decoded_bytes, direct_chunks, threads, thread_bytes, objects, fewer_objects)

struct ozarr_stats
    struct_size::Csize_t
    reads::Int64
    bytes_read::Int64
    writes::Int64
    bytes_written::Int64
    erased::Int64
    decoded_chunks::Int64
    decoded_bytes::Int64
    encoded_chunks::Int64
    encoded_bytes::Int64
    fill_chunks::Int64
    copied_bytes::Int64
    index_hits::Int64
    index_reads::Int64
    chunk_hits::Int64
    retries::Int64
    decode_ns::Int64
    encode_ns::Int64
end
@inline ozarr_stats(; struct_size = sizeof(ozarr_stats), reads = 0, bytes_read = 0, writes = 0, bytes_written = 0, erased = 0, decoded_chunks = 0, decoded_bytes = 0, encoded_chunks = 0, encoded_bytes = 0, fill_chunks = 0, copied_bytes = 0, index_hits = 0, index_reads = 0, chunk_hits = 0, retries = 0, decode_ns = 0, encode_ns = 0) =
    ozarr_stats(struct_size, reads, bytes_read, writes, bytes_written, erased, decoded_chunks, decoded_bytes, encoded_chunks, encoded_bytes, fill_chunks, copied_bytes, index_hits, index_reads, chunk_hits, retries, decode_ns, encode_ns)

struct ozarr_summary
    struct_size::Csize_t
    elements::Int64
    missing::Int64
    nan::Int64
    infinite::Int64
    count::Int64
    min::Cdouble
    max::Cdouble
    mean::Cdouble
    std::Cdouble
    min_integer::Int64
    max_integer::Int64
end
@inline ozarr_summary(; struct_size = sizeof(ozarr_summary), elements = 0, missing = 0, nan = 0, infinite = 0, count = 0, min = 0, max = 0, mean = 0, std = 0, min_integer = 0, max_integer = 0) =
    ozarr_summary(struct_size, elements, missing, nan, infinite, count, min, max, mean, std, min_integer, max_integer)

struct ozarr_comparison
    struct_size::Csize_t
    elements::Int64
    differing::Int64
    largest_absolute::Cdouble
    largest_relative::Cdouble
end
@inline ozarr_comparison(; struct_size = sizeof(ozarr_comparison), elements = 0, differing = 0, largest_absolute = 0, largest_relative = 0) =
    ozarr_comparison(struct_size, elements, differing, largest_absolute, largest_relative)

struct ozarr_copy_options
    struct_size::Csize_t
    zarr_format::Int32
    mode::Int32
    overflow::Int32
    flags::UInt32
    memory::Csize_t
    spec::Ptr{Cvoid}
    change::Ptr{Cvoid}
    progress::Ptr{Cvoid}
    user::Ptr{Cvoid}
end
@inline ozarr_copy_options(; struct_size = sizeof(ozarr_copy_options), zarr_format = 0, mode = 0, overflow = 0, flags = 0, memory = 0, spec = C_NULL, change = C_NULL, progress = C_NULL, user = C_NULL) =
    ozarr_copy_options(struct_size, zarr_format, mode, overflow, flags, memory, spec, change, progress, user)

struct ozarr_verified
    struct_size::Csize_t
    nodes::Int64
    chunks::Int64
    faults::Int64
    repaired::Int64
end
@inline ozarr_verified(; struct_size = sizeof(ozarr_verified), nodes = 0, chunks = 0, faults = 0, repaired = 0) =
    ozarr_verified(struct_size, nodes, chunks, faults, repaired)

struct ozarr_byte_range
    kind::Int32
    reserved::Int32
    offset::Int64
    size::Int64
end
@inline ozarr_byte_range(; kind = 0, reserved = 0, offset = 0, size = 0) =
    ozarr_byte_range(kind, reserved, offset, size)

struct ozarr_store_table
    struct_size::Csize_t
    flags::UInt32
    reserved::Int32
    name::Cstring
    user::Ptr{Cvoid}
    destroy::Ptr{Cvoid}
    get::Ptr{Cvoid}
    get_ranges::Ptr{Cvoid}
    start_get_ranges::Ptr{Cvoid}
    put::Ptr{Cvoid}
    put_if::Ptr{Cvoid}
    erase::Ptr{Cvoid}
    erase_prefix::Ptr{Cvoid}
    list::Ptr{Cvoid}
    list_dir::Ptr{Cvoid}
    flush::Ptr{Cvoid}
end
@inline ozarr_store_table(; struct_size = sizeof(ozarr_store_table), flags = 0, reserved = 0, name = Cstring(C_NULL), user = C_NULL, destroy = C_NULL, get = C_NULL, get_ranges = C_NULL, start_get_ranges = C_NULL, put = C_NULL, put_if = C_NULL, erase = C_NULL, erase_prefix = C_NULL, list = C_NULL, list_dir = C_NULL, flush = C_NULL) =
    ozarr_store_table(struct_size, flags, reserved, name, user, destroy, get, get_ranges, start_get_ranges, put, put_if, erase, erase_prefix, list, list_dir, flush)

struct ozarr_transformer_table
    struct_size::Csize_t
    flags::UInt32
    reserved::Int32
    name::Cstring
    user::Ptr{Cvoid}
    destroy::Ptr{Cvoid}
    open::Ptr{Cvoid}
end
@inline ozarr_transformer_table(; struct_size = sizeof(ozarr_transformer_table), flags = 0, reserved = 0, name = Cstring(C_NULL), user = C_NULL, destroy = C_NULL, open = C_NULL) =
    ozarr_transformer_table(struct_size, flags, reserved, name, user, destroy, open)

struct ozarr_key_encoding_table
    struct_size::Csize_t
    flags::UInt32
    reserved::Int32
    name::Cstring
    user::Ptr{Cvoid}
    destroy::Ptr{Cvoid}
    check::Ptr{Cvoid}
    encode::Ptr{Cvoid}
    decode::Ptr{Cvoid}
end
@inline ozarr_key_encoding_table(; struct_size = sizeof(ozarr_key_encoding_table), flags = 0, reserved = 0, name = Cstring(C_NULL), user = C_NULL, destroy = C_NULL, check = C_NULL, encode = C_NULL, decode = C_NULL) =
    ozarr_key_encoding_table(struct_size, flags, reserved, name, user, destroy, check, encode, decode)

struct ozarr_codec_table
    struct_size::Csize_t
    flags::UInt32
    kind::Int32
    name::Cstring
    id::Cstring
    user::Ptr{Cvoid}
    destroy::Ptr{Cvoid}
    open::Ptr{Cvoid}
    close::Ptr{Cvoid}
    encoded_size::Ptr{Cvoid}
    encode::Ptr{Cvoid}
    decode::Ptr{Cvoid}
end
@inline ozarr_codec_table(; struct_size = sizeof(ozarr_codec_table), flags = 0, kind = 0, name = Cstring(C_NULL), id = Cstring(C_NULL), user = C_NULL, destroy = C_NULL, open = C_NULL, close = C_NULL, encoded_size = C_NULL, encode = C_NULL, decode = C_NULL) =
    ozarr_codec_table(struct_size, flags, kind, name, id, user, destroy, open, close, encoded_size, encode, decode)

struct ozarr_dtype_table
    struct_size::Csize_t
    flags::UInt32
    type_::Int32
    item_size::Csize_t
    name::Cstring
    name_v2::Cstring
    user::Ptr{Cvoid}
    destroy::Ptr{Cvoid}
    encode::Ptr{Cvoid}
    decode::Ptr{Cvoid}
    fill_from_json::Ptr{Cvoid}
    fill_to_json::Ptr{Cvoid}
end
@inline ozarr_dtype_table(; struct_size = sizeof(ozarr_dtype_table), flags = 0, type_ = 0, item_size = 0, name = Cstring(C_NULL), name_v2 = Cstring(C_NULL), user = C_NULL, destroy = C_NULL, encode = C_NULL, decode = C_NULL, fill_from_json = C_NULL, fill_to_json = C_NULL) =
    ozarr_dtype_table(struct_size, flags, type_, item_size, name, name_v2, user, destroy, encode, decode, fill_from_json, fill_to_json)

@c_function ozarr_status_name(status::Int32)::Cstring
@c_function ozarr_last_error()::Cstring
@c_function ozarr_last_error_in(order::Int32)::Cstring
@c_function ozarr_last_error_info(info::Ptr{ozarr_error_info})::Int32
@c_function ozarr_version()::Cstring
@c_function ozarr_abi_version()::Int32
@c_function ozarr_has_feature(name::Cstring)::Bool
@c_function ozarr_context_new(out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_context_set(context::Ptr{Cvoid}, key::Cstring, value::Cstring)::Int32
@c_function ozarr_context_get(context::Ptr{Cvoid}, key::Cstring, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_context_set_log(context::Ptr{Cvoid}, level::Int32, fn::Ptr{Cvoid}, user::Ptr{Cvoid})::Int32
@c_function ozarr_context_free(context::Ptr{Cvoid})::Cvoid
@c_function ozarr_array_create(location::Cstring, type_::Int32, rank::Int32, shape::Ptr{Int64}, chunks::Ptr{Int64}, mode::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_array_open(location::Cstring, mode::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_array_read(array::Ptr{Cvoid}, type_::Int32, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_array_write(array::Ptr{Cvoid}, type_::Int32, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_array_read_region(array::Ptr{Cvoid}, start::Ptr{Int64}, shape::Ptr{Int64}, type_::Int32, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_array_write_region(array::Ptr{Cvoid}, start::Ptr{Int64}, shape::Ptr{Int64}, type_::Int32, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_array_close(array::Ptr{Cvoid})::Int32
@c_function ozarr_array_free(array::Ptr{Cvoid})::Cvoid
@c_function ozarr_array_rank(array::Ptr{Cvoid}, rank::Ptr{Int32})::Int32
@c_function ozarr_array_shape(array::Ptr{Cvoid}, shape::Ptr{Int64})::Int32
@c_function ozarr_array_chunk_shape(array::Ptr{Cvoid}, shape::Ptr{Int64})::Int32
@c_function ozarr_array_inner_chunk_shape(array::Ptr{Cvoid}, shape::Ptr{Int64})::Int32
@c_function ozarr_array_type(array::Ptr{Cvoid}, type_::Ptr{Int32})::Int32
@c_function ozarr_array_item_size(array::Ptr{Cvoid}, bytes::Ptr{Csize_t})::Int32
@c_function ozarr_array_dimension_name(array::Ptr{Cvoid}, dim::Int32, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t}, named::Ptr{Bool})::Int32
@c_function ozarr_array_set_dimension_names(array::Ptr{Cvoid}, names::Ptr{Ptr{UInt8}})::Int32
@c_function ozarr_array_fill_value(array::Ptr{Cvoid}, value::Ptr{Cvoid}, size::Csize_t, defined::Ptr{Bool})::Int32
@c_function ozarr_array_resize(array::Ptr{Cvoid}, shape::Ptr{Int64}, flags::UInt32)::Int32
@c_function ozarr_array_append(array::Ptr{Cvoid}, dim::Int32, count::Int64, type_::Int32, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_array_read_ex(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, memory::Ptr{ozarr_memory})::Int32
@c_function ozarr_array_write_ex(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, memory::Ptr{ozarr_memory})::Int32
@c_function ozarr_attr_count(node::Ptr{Cvoid}, count::Ptr{Int64})::Int32
@c_function ozarr_attr_name(node::Ptr{Cvoid}, index::Int64, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_attr_kind(node::Ptr{Cvoid}, name::Cstring, kind::Ptr{Int32})::Int32
@c_function ozarr_attr_get_int64(node::Ptr{Cvoid}, name::Cstring, value::Ptr{Int64})::Int32
@c_function ozarr_attr_get_double(node::Ptr{Cvoid}, name::Cstring, value::Ptr{Cdouble})::Int32
@c_function ozarr_attr_get_bool(node::Ptr{Cvoid}, name::Cstring, value::Ptr{Bool})::Int32
@c_function ozarr_attr_get_string(node::Ptr{Cvoid}, name::Cstring, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_attr_get_strings(node::Ptr{Cvoid}, name::Cstring, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t}, count::Ptr{Int64})::Int32
@c_function ozarr_attr_get_numbers(node::Ptr{Cvoid}, name::Cstring, type_::Int32, values::Ptr{Cvoid}, cap::Int64, count::Ptr{Int64})::Int32
@c_function ozarr_attr_get_json(node::Ptr{Cvoid}, name::Cstring, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_attr_set_int64(node::Ptr{Cvoid}, name::Cstring, value::Int64)::Int32
@c_function ozarr_attr_set_double(node::Ptr{Cvoid}, name::Cstring, value::Cdouble)::Int32
@c_function ozarr_attr_set_bool(node::Ptr{Cvoid}, name::Cstring, value::Bool)::Int32
@c_function ozarr_attr_set_string(node::Ptr{Cvoid}, name::Cstring, value::Cstring)::Int32
@c_function ozarr_attr_set_strings(node::Ptr{Cvoid}, name::Cstring, values::Ptr{Ptr{UInt8}}, count::Int64)::Int32
@c_function ozarr_attr_set_numbers(node::Ptr{Cvoid}, name::Cstring, type_::Int32, values::Ptr{Cvoid}, count::Int64)::Int32
@c_function ozarr_attr_set_json(node::Ptr{Cvoid}, name::Cstring, json::Cstring)::Int32
@c_function ozarr_attr_erase(node::Ptr{Cvoid}, name::Cstring)::Int32
@c_function ozarr_attrs_get(node::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_attrs_set(node::Ptr{Cvoid}, json::Cstring)::Int32
@c_function ozarr_attrs_begin(node::Ptr{Cvoid})::Int32
@c_function ozarr_attrs_commit(node::Ptr{Cvoid})::Int32
@c_function ozarr_group_create(location::Cstring, mode::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_group_open(location::Cstring, mode::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_group_create_group(group::Ptr{Cvoid}, path::Cstring, mode::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_group_open_group(group::Ptr{Cvoid}, path::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_group_create_array(group::Ptr{Cvoid}, path::Cstring, spec::Ptr{Cvoid}, mode::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_group_open_array(group::Ptr{Cvoid}, path::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_group_consolidate(group::Ptr{Cvoid})::Int32
@c_function ozarr_group_close(group::Ptr{Cvoid})::Int32
@c_function ozarr_group_free(group::Ptr{Cvoid})::Cvoid
@c_function ozarr_group_put(group::Ptr{Cvoid}, path::Cstring, type_::Int32, rank::Int32, shape::Ptr{Int64}, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_group_get(group::Ptr{Cvoid}, path::Cstring, type_::Int32, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_group_list_nodes(group::Ptr{Cvoid}, pattern::Cstring, depth::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_node_iter_next(iter::Ptr{Cvoid}, more::Ptr{Bool})::Int32
@c_function ozarr_node_iter_name(iter::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_node_iter_kind(iter::Ptr{Cvoid}, kind::Ptr{Int32})::Int32
@c_function ozarr_node_iter_error(iter::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_node_iter_free(iter::Ptr{Cvoid})::Cvoid
@c_function ozarr_array_node(array::Ptr{Cvoid})::Ptr{Cvoid}
@c_function ozarr_group_node(group::Ptr{Cvoid})::Ptr{Cvoid}
@c_function ozarr_node_open(location::Cstring, mode::Cstring, array::Ptr{Ptr{Cvoid}}, group::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_node_erase(location::Cstring)::Int32
@c_function ozarr_node_path(node::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_node_metadata(node::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_node_zarr_format(node::Ptr{Cvoid}, format::Ptr{Int32})::Int32
@c_function ozarr_node_set(node::Ptr{Cvoid}, key::Cstring, value::Cstring)::Int32
@c_function ozarr_node_get(node::Ptr{Cvoid}, key::Cstring, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_node_refresh(node::Ptr{Cvoid}, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_node_flush(node::Ptr{Cvoid})::Int32
@c_function ozarr_spec_new(type_::Int32, rank::Int32, shape::Ptr{Int64}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_spec_set_shape(spec::Ptr{Cvoid}, shape::Ptr{Int64})::Int32
@c_function ozarr_spec_from_json(document::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_array_create_ex(location::Cstring, spec::Ptr{Cvoid}, mode::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_spec_set_zarr_format(spec::Ptr{Cvoid}, format::Int32)::Int32
@c_function ozarr_spec_set_chunks(spec::Ptr{Cvoid}, chunks::Ptr{Int64})::Int32
@c_function ozarr_spec_set_chunk_extents(spec::Ptr{Cvoid}, dim::Int32, extents::Ptr{Int64}, count::Int64)::Int32
@c_function ozarr_spec_set_inner_chunks(spec::Ptr{Cvoid}, chunks::Ptr{Int64})::Int32
@c_function ozarr_spec_set_type(spec::Ptr{Cvoid}, type_::Int32)::Int32
@c_function ozarr_spec_set_fill_value(spec::Ptr{Cvoid}, type_::Int32, value::Ptr{Cvoid})::Int32
@c_function ozarr_spec_set_member_json(spec::Ptr{Cvoid}, name::Cstring, json::Cstring)::Int32
@c_function ozarr_spec_set_dimension_names(spec::Ptr{Cvoid}, names::Ptr{Ptr{UInt8}})::Int32
@c_function ozarr_spec_set_order(spec::Ptr{Cvoid}, order::Int32)::Int32
@c_function ozarr_spec_set_big_endian(spec::Ptr{Cvoid}, big::Bool)::Int32
@c_function ozarr_spec_set_separator(spec::Ptr{Cvoid}, separator::Cstring)::Int32
@c_function ozarr_spec_set_compressor(spec::Ptr{Cvoid}, name::Cstring, level::Int32)::Int32
@c_function ozarr_spec_set_shuffle(spec::Ptr{Cvoid}, shuffle::Int32)::Int32
@c_function ozarr_spec_set_keep_bits(spec::Ptr{Cvoid}, bits::Int32)::Int32
@c_function ozarr_spec_set_zfp(spec::Ptr{Cvoid}, mode::Int32, parameter::Cdouble)::Int32
@c_function ozarr_spec_set_checksum(spec::Ptr{Cvoid}, checksum::Bool)::Int32
@c_function ozarr_spec_to_json(spec::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_spec_suggest(spec::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_spec_free(spec::Ptr{Cvoid})::Cvoid
@c_function ozarr_spec_new_ex(type_::Int32, rank::Int32, shape::Ptr{Int64}, layout::Ptr{ozarr_layout}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dtype_parse(text::Cstring, format::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dtype_of(type_::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dtype_chars(size::Csize_t, pad::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dtype_struct(size::Csize_t, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dtype_add_field(dtype::Ptr{Cvoid}, name::Cstring, offset::Csize_t, field::Ptr{Cvoid}, rank::Int32, shape::Ptr{Int64})::Int32
@c_function ozarr_dtype_free(dtype::Ptr{Cvoid})::Cvoid
@c_function ozarr_array_copy_dtype(array::Ptr{Cvoid}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_spec_new_dtype(dtype::Ptr{Cvoid}, rank::Int32, shape::Ptr{Int64}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_spec_set_fill_dtype(spec::Ptr{Cvoid}, dtype::Ptr{Cvoid}, value::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_dataset_create(location::Cstring, zarr_format::Int32, mode::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dataset_open(location::Cstring, mode::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_group_open_dataset(group::Ptr{Cvoid}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dataset_open_group(dataset::Ptr{Cvoid}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dataset_define_dimension(dataset::Ptr{Cvoid}, name::Cstring, length::Int64)::Int32
@c_function ozarr_dataset_resize_dimension(dataset::Ptr{Cvoid}, name::Cstring, length::Int64)::Int32
@c_function ozarr_dataset_dimension_count(dataset::Ptr{Cvoid}, count::Ptr{Int64})::Int32
@c_function ozarr_dataset_dimension(dataset::Ptr{Cvoid}, index::Int64, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t}, extent::Ptr{Int64})::Int32
@c_function ozarr_dataset_dimension_length(dataset::Ptr{Cvoid}, name::Cstring, length::Ptr{Int64}, longest::Ptr{Int64})::Int32
@c_function ozarr_dataset_define_variable(dataset::Ptr{Cvoid}, name::Cstring, type_::Int32, rank::Int32, dimensions::Ptr{Ptr{UInt8}}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dataset_define_variable_ex(dataset::Ptr{Cvoid}, name::Cstring, variable::Ptr{ozarr_variable}, mode::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dataset_define_coordinate(dataset::Ptr{Cvoid}, name::Cstring, type_::Int32, length::Int64, chunk::Int64, data::Ptr{Cvoid}, size::Csize_t, units::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dataset_define_time(dataset::Ptr{Cvoid}, name::Cstring, length::Int64, chunk::Int64, units::Cstring, calendar::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dataset_set_coordinate(dataset::Ptr{Cvoid}, name::Cstring)::Int32
@c_function ozarr_dataset_variable_count(dataset::Ptr{Cvoid}, count::Ptr{Int64})::Int32
@c_function ozarr_dataset_variable(dataset::Ptr{Cvoid}, index::Int64, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t}, coordinate::Ptr{Bool})::Int32
@c_function ozarr_dataset_open_variable(dataset::Ptr{Cvoid}, name::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dataset_close(dataset::Ptr{Cvoid})::Int32
@c_function ozarr_dataset_free(dataset::Ptr{Cvoid})::Cvoid
@c_function ozarr_array_read_unpacked(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, memory::Ptr{ozarr_memory})::Int32
@c_function ozarr_array_write_packed(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, memory::Ptr{ozarr_memory})::Int32
@c_function ozarr_array_read_times(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, units::Cstring, counts::Ptr{Int64}, size::Csize_t)::Int32
@c_function ozarr_array_write_times(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, units::Cstring, counts::Ptr{Int64}, size::Csize_t)::Int32
@c_function ozarr_array_missing_value(array::Ptr{Cvoid}, value::Ptr{Cvoid}, size::Csize_t, defined::Ptr{Bool})::Int32
@c_function ozarr_time_to_text(units::Cstring, calendar::Cstring, count::Int64, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_time_from_text(units::Cstring, calendar::Cstring, moment::Cstring, count::Ptr{Int64})::Int32
@c_function ozarr_series_open(dataset::Ptr{Cvoid}, dimension::Cstring, keep::Int64, publish_every::Int64, memory::Csize_t, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_series_put(series::Ptr{Cvoid}, name::Cstring, type_::Int32, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_series_put_ex(series::Ptr{Cvoid}, name::Cstring, memory::Ptr{ozarr_memory})::Int32
@c_function ozarr_series_step(series::Ptr{Cvoid}, value::Cdouble, count::Int64, names::Ptr{Ptr{UInt8}}, memories::Ptr{ozarr_memory})::Int32
@c_function ozarr_series_position(series::Ptr{Cvoid}, position::Ptr{Int64}, published::Ptr{Int64})::Int32
@c_function ozarr_series_flush(series::Ptr{Cvoid})::Int32
@c_function ozarr_series_close(series::Ptr{Cvoid})::Int32
@c_function ozarr_series_free(series::Ptr{Cvoid})::Cvoid
@c_function ozarr_dataset_wait_growth(dataset::Ptr{Cvoid}, dimension::Cstring, beyond::Int64, seconds::Cdouble, length::Ptr{Int64})::Int32
@c_function ozarr_checkpoint_begin(location::Cstring, name::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_checkpoint_commit(group::Ptr{Cvoid})::Int32
@c_function ozarr_checkpoint_abandon(group::Ptr{Cvoid})::Int32
@c_function ozarr_checkpoint_latest(location::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_checkpoint_list(location::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_checkpoint_prune(location::Cstring, keep::Int64)::Int32
@c_function ozarr_array_partition(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, workers::Int64, index::Int64, flags::UInt32, start::Ptr{Int64}, shape::Ptr{Int64})::Int32
@c_function ozarr_node_export(node::Ptr{Cvoid}, buf::Ptr{Cvoid}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_node_import(location::Cstring, mode::Cstring, data::Ptr{Cvoid}, size::Csize_t, array::Ptr{Ptr{Cvoid}}, group::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_node_import_at(store::Ptr{Cvoid}, data::Ptr{Cvoid}, size::Csize_t, array::Ptr{Ptr{Cvoid}}, group::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_array_iread_region(array::Ptr{Cvoid}, start::Ptr{Int64}, shape::Ptr{Int64}, type_::Int32, data::Ptr{Cvoid}, size::Csize_t, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_array_iwrite_region(array::Ptr{Cvoid}, start::Ptr{Int64}, shape::Ptr{Int64}, type_::Int32, data::Ptr{Cvoid}, size::Csize_t, flags::UInt32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_array_iread_ex(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, memory::Ptr{ozarr_memory}, options::Ptr{ozarr_request_options}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_array_iwrite_ex(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, memory::Ptr{ozarr_memory}, options::Ptr{ozarr_request_options}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_request_test(request::Ptr{Cvoid}, done::Ptr{Bool})::Int32
@c_function ozarr_request_wait(request::Ptr{Cvoid}, seconds::Cdouble)::Int32
@c_function ozarr_request_cancel(request::Ptr{Cvoid})::Int32
@c_function ozarr_request_free(request::Ptr{Cvoid})::Cvoid
@c_function ozarr_request_get_state(request::Ptr{Cvoid}, state::Ptr{Int32})::Int32
@c_function ozarr_request_error(request::Ptr{Cvoid}, info::Ptr{ozarr_error_info})::Int32
@c_function ozarr_requests_wait_all(requests::Ptr{Ptr{Cvoid}}, count::Int64, seconds::Cdouble, statuses::Ptr{Int32})::Int32
@c_function ozarr_requests_wait_any(requests::Ptr{Ptr{Cvoid}}, count::Int64, seconds::Cdouble, index::Ptr{Int64})::Int32
@c_function ozarr_shutdown()::Int32
@c_function ozarr_store_open(location::Cstring, mode::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_store_open_ex(context::Ptr{Cvoid}, location::Cstring, mode::Cstring, options::Ptr{Ptr{UInt8}}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_store_memory(out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_array_create_at(store::Ptr{Cvoid}, path::Cstring, spec::Ptr{Cvoid}, mode::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_array_open_at(store::Ptr{Cvoid}, path::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_group_create_at(store::Ptr{Cvoid}, path::Cstring, zarr_format::Int32, mode::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_group_open_at(store::Ptr{Cvoid}, path::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_store_node_kind(store::Ptr{Cvoid}, path::Cstring, kind::Ptr{Int32})::Int32
@c_function ozarr_store_node_erase(store::Ptr{Cvoid}, path::Cstring)::Int32
@c_function ozarr_store_flush(store::Ptr{Cvoid})::Int32
@c_function ozarr_store_close(store::Ptr{Cvoid})::Int32
@c_function ozarr_store_free(store::Ptr{Cvoid})::Cvoid
@c_function ozarr_appender_open(array::Ptr{Cvoid}, dim::Int32, publish_every::Int64, memory::Csize_t, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_appender_append(appender::Ptr{Cvoid}, count::Int64, type_::Int32, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_appender_append_ex(appender::Ptr{Cvoid}, count::Int64, memory::Ptr{ozarr_memory})::Int32
@c_function ozarr_appender_position(appender::Ptr{Cvoid}, position::Ptr{Int64}, published::Ptr{Int64})::Int32
@c_function ozarr_appender_flush(appender::Ptr{Cvoid})::Int32
@c_function ozarr_appender_close(appender::Ptr{Cvoid})::Int32
@c_function ozarr_appender_free(appender::Ptr{Cvoid})::Cvoid
@c_function ozarr_array_wait_growth(array::Ptr{Cvoid}, dim::Int32, beyond::Int64, seconds::Cdouble, length::Ptr{Int64})::Int32
@c_function ozarr_series_declare(series::Ptr{Cvoid}, position::Int64)::Int32
@c_function ozarr_group_rename(group::Ptr{Cvoid}, path::Cstring, to_path::Cstring)::Int32
@c_function ozarr_group_erase(group::Ptr{Cvoid}, path::Cstring)::Int32
@c_function ozarr_group_consolidated_check(group::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t}, current::Ptr{Bool})::Int32
@c_function ozarr_array_info(array::Ptr{Cvoid}, info::Ptr{ozarr_info})::Int32
@c_function ozarr_array_read_orthogonal(array::Ptr{Cvoid}, counts::Ptr{Int64}, indices::Ptr{Ptr{Int64}}, memory::Ptr{ozarr_memory})::Int32
@c_function ozarr_array_write_orthogonal(array::Ptr{Cvoid}, counts::Ptr{Int64}, indices::Ptr{Ptr{Int64}}, memory::Ptr{ozarr_memory})::Int32
@c_function ozarr_array_read_points(array::Ptr{Cvoid}, points::Ptr{Int64}, count::Int64, memory::Ptr{ozarr_memory})::Int32
@c_function ozarr_array_write_points(array::Ptr{Cvoid}, points::Ptr{Int64}, count::Int64, memory::Ptr{ozarr_memory})::Int32
@c_function ozarr_array_read_mask(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, mask::Ptr{UInt8}, memory::Ptr{ozarr_memory})::Int32
@c_function ozarr_array_write_mask(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, mask::Ptr{UInt8}, memory::Ptr{ozarr_memory})::Int32
@c_function ozarr_array_fill(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, type_::Int32, value::Ptr{Cvoid})::Int32
@c_function ozarr_read_many(entries::Ptr{ozarr_batch_entry}, count::Int64)::Int32
@c_function ozarr_write_many(entries::Ptr{ozarr_batch_entry}, count::Int64)::Int32
@c_function ozarr_iread_many(entries::Ptr{ozarr_batch_entry}, count::Int64, options::Ptr{ozarr_request_options}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_iwrite_many(entries::Ptr{ozarr_batch_entry}, count::Int64, options::Ptr{ozarr_request_options}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_array_explain(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, memory::Ptr{ozarr_memory}, write::Bool, explanation::Ptr{ozarr_explanation})::Int32
@c_function ozarr_array_stats(array::Ptr{Cvoid}, stats::Ptr{ozarr_stats})::Int32
@c_function ozarr_store_stats(store::Ptr{Cvoid}, stats::Ptr{ozarr_stats})::Int32
@c_function ozarr_context_stats(context::Ptr{Cvoid}, stats::Ptr{ozarr_stats})::Int32
@c_function ozarr_array_summarize(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, summary::Ptr{ozarr_summary})::Int32
@c_function ozarr_array_digest(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_array_compare(a::Ptr{Cvoid}, region_a::Ptr{ozarr_region}, b::Ptr{Cvoid}, region_b::Ptr{ozarr_region}, absolute::Cdouble, relative::Cdouble, comparison::Ptr{ozarr_comparison}, first::Ptr{Int64})::Int32
@c_function ozarr_array_read_varlen(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_array_write_varlen(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, offsets::Ptr{Int64}, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_array_append_varlen(array::Ptr{Cvoid}, dim::Int32, count::Int64, offsets::Ptr{Int64}, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_array_write_strings(array::Ptr{Cvoid}, region::Ptr{ozarr_region}, strings::Ptr{Ptr{UInt8}})::Int32
@c_function ozarr_array_list_type(array::Ptr{Cvoid}, type_::Ptr{Int32})::Int32
@c_function ozarr_array_fill_text(array::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_varlen_count(varlen::Ptr{Cvoid}, count::Ptr{Int64})::Int32
@c_function ozarr_varlen_get(varlen::Ptr{Cvoid}, index::Int64, bytes::Ptr{Ptr{UInt8}}, len::Ptr{Csize_t})::Int32
@c_function ozarr_varlen_all(varlen::Ptr{Cvoid}, offsets::Ptr{Ptr{Int64}}, data::Ptr{Ptr{UInt8}}, size::Ptr{Csize_t})::Int32
@c_function ozarr_varlen_free(varlen::Ptr{Cvoid})::Cvoid
@c_function ozarr_dtype_get_kind(dtype::Ptr{Cvoid}, kind::Ptr{Int32})::Int32
@c_function ozarr_dtype_type(dtype::Ptr{Cvoid}, type_::Ptr{Int32})::Int32
@c_function ozarr_dtype_item_size(dtype::Ptr{Cvoid}, bytes::Ptr{Csize_t})::Int32
@c_function ozarr_dtype_byte_order(dtype::Ptr{Cvoid}, order::Ptr{Int32})::Int32
@c_function ozarr_dtype_unit(dtype::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t}, scale::Ptr{Int64})::Int32
@c_function ozarr_dtype_equal(dtype::Ptr{Cvoid}, other::Ptr{Cvoid}, equal::Ptr{Bool})::Int32
@c_function ozarr_dtype_name(dtype::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_dtype_to_json(dtype::Ptr{Cvoid}, format::Int32, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_dtype_field_count(dtype::Ptr{Cvoid}, count::Ptr{Int64})::Int32
@c_function ozarr_dtype_field_name(dtype::Ptr{Cvoid}, index::Int64, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_dtype_field_offset(dtype::Ptr{Cvoid}, index::Int64, offset::Ptr{Csize_t})::Int32
@c_function ozarr_dtype_copy_field_dtype(dtype::Ptr{Cvoid}, index::Int64, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_dtype_field_shape(dtype::Ptr{Cvoid}, index::Int64, shape::Ptr{Int64}, cap::Int64, rank::Ptr{Int32})::Int32
@c_function ozarr_dtype_scalar_to_json(dtype::Ptr{Cvoid}, format::Int32, value::Ptr{Cvoid}, size::Csize_t, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_dtype_scalar_from_json(dtype::Ptr{Cvoid}, format::Int32, json::Cstring, value::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_array_grid_shape(array::Ptr{Cvoid}, shape::Ptr{Int64})::Int32
@c_function ozarr_array_chunk_extent(array::Ptr{Cvoid}, dim::Int32, index::Int64, start::Ptr{Int64}, extent::Ptr{Int64})::Int32
@c_function ozarr_array_chunk_count(array::Ptr{Cvoid}, inner::Bool, count::Ptr{Int64})::Int32
@c_function ozarr_array_chunk_key(array::Ptr{Cvoid}, index::Ptr{Int64}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_array_chunk_place(array::Ptr{Cvoid}, index::Ptr{Int64}, inner::Bool, stored::Ptr{Bool}, offset::Ptr{Int64}, size::Ptr{Int64})::Int32
@c_function ozarr_array_chunk_read(array::Ptr{Cvoid}, index::Ptr{Int64}, inner::Bool, buf::Ptr{Cvoid}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_array_chunk_write(array::Ptr{Cvoid}, index::Ptr{Int64}, inner::Bool, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_array_chunk_erase(array::Ptr{Cvoid}, index::Ptr{Int64}, inner::Bool, stored::Ptr{Bool})::Int32
@c_function ozarr_array_list_chunks(array::Ptr{Cvoid}, inner::Bool, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_chunk_iter_next(chunk_iter::Ptr{Cvoid}, more::Ptr{Bool})::Int32
@c_function ozarr_chunk_iter_index(chunk_iter::Ptr{Cvoid}, index::Ptr{Int64})::Int32
@c_function ozarr_chunk_iter_place(chunk_iter::Ptr{Cvoid}, offset::Ptr{Int64}, size::Ptr{Int64})::Int32
@c_function ozarr_chunk_iter_free(chunk_iter::Ptr{Cvoid})::Cvoid
@c_function ozarr_shard_writer_new(array::Ptr{Cvoid}, index::Ptr{Int64}, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_shard_writer_put(shard_writer::Ptr{Cvoid}, index::Ptr{Int64}, encoded::Bool, type_::Int32, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_shard_writer_finish(shard_writer::Ptr{Cvoid})::Int32
@c_function ozarr_shard_writer_free(shard_writer::Ptr{Cvoid})::Cvoid
@c_function ozarr_array_copy_spec(array::Ptr{Cvoid}, zarr_format::Int32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_copy(source::Cstring, dest::Cstring, options::Ptr{ozarr_copy_options})::Int32
@c_function ozarr_copy_at(store::Ptr{Cvoid}, path::Cstring, dest_store::Ptr{Cvoid}, dest_path::Cstring, options::Ptr{ozarr_copy_options})::Int32
@c_function ozarr_migrate(source::Cstring, dest::Cstring, flags::UInt32, progress::Ptr{Cvoid}, user::Ptr{Cvoid})::Int32
@c_function ozarr_store_verify(store::Ptr{Cvoid}, path::Cstring, flags::UInt32, each::Ptr{Cvoid}, progress::Ptr{Cvoid}, user::Ptr{Cvoid}, verified::Ptr{ozarr_verified})::Int32
@c_function ozarr_store_below(store::Ptr{Cvoid}, path::Cstring, mode::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_store_cached(store::Ptr{Cvoid}, bytes::Csize_t, mode::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_store_capabilities(store::Ptr{Cvoid}, capabilities::Ptr{UInt32})::Int32
@c_function ozarr_store_key_get(store::Ptr{Cvoid}, key::Cstring, buf::Ptr{Cvoid}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_store_key_put(store::Ptr{Cvoid}, key::Cstring, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_store_key_erase(store::Ptr{Cvoid}, key::Cstring, erased::Ptr{Bool})::Int32
@c_function ozarr_store_key_list(store::Ptr{Cvoid}, prefix::Cstring, each::Ptr{Cvoid}, user::Ptr{Cvoid})::Int32
@c_function ozarr_buffer_alloc(bytes::Csize_t, flags::UInt32, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_buffer_free(buffer::Ptr{Cvoid})::Cvoid
@c_function ozarr_group_nc_version(group::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_group_nc_dimension_count(group::Ptr{Cvoid}, count::Ptr{Int64})::Int32
@c_function ozarr_group_nc_dimension(group::Ptr{Cvoid}, index::Int64, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t}, extent::Ptr{Int64}, unlimited::Ptr{Bool})::Int32
@c_function ozarr_group_nc_define_dimension(group::Ptr{Cvoid}, name::Cstring, length::Int64, unlimited::Bool)::Int32
@c_function ozarr_array_nc_is_scalar(array::Ptr{Cvoid}, scalar::Ptr{Bool})::Int32
@c_function ozarr_array_nc_type(array::Ptr{Cvoid}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_attr_nc_type(node::Ptr{Cvoid}, name::Cstring, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_group_image_count(group::Ptr{Cvoid}, count::Ptr{Int64})::Int32
@c_function ozarr_group_image_size(group::Ptr{Cvoid}, image::Int64, levels::Ptr{Int64}, axes::Ptr{Int64})::Int32
@c_function ozarr_group_image_level(group::Ptr{Cvoid}, image::Int64, level::Int64, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_group_image_scale(group::Ptr{Cvoid}, image::Int64, level::Int64, scale::Ptr{Cdouble}, translation::Ptr{Cdouble}, cap::Int64)::Int32
@c_function ozarr_group_image_axis(group::Ptr{Cvoid}, image::Int64, axis::Int64, member::Cstring, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c_function ozarr_zip_repair(path::Cstring, keys::Ptr{Int64}, lost::Ptr{Int64})::Int32
@c_function ozarr_store_from_table(context::Ptr{Cvoid}, table::Ptr{ozarr_store_table}, mode::Cstring, out::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_set_error(status::Int32, message::Cstring, details::Ptr{ozarr_error_info})::Int32
@c_function ozarr_answer_put(answer::Ptr{Cvoid}, data::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_answer_room(answer::Ptr{Cvoid}, size::Csize_t, data::Ptr{Ptr{Cvoid}})::Int32
@c_function ozarr_answer_version(answer::Ptr{Cvoid}, version::Ptr{Cvoid}, size::Csize_t)::Int32
@c_function ozarr_answer_size(answer::Ptr{Cvoid}, size::Int64)::Int32
@c_function ozarr_answer_done(answer::Ptr{Cvoid}, status::Int32)::Int32
@c_function ozarr_keys_add(keys::Ptr{Cvoid}, key::Cstring)::Int32
@c_function ozarr_register_key_encoding(table::Ptr{ozarr_key_encoding_table})::Int32
@c_function ozarr_register_transformer(table::Ptr{ozarr_transformer_table})::Int32
@c_function ozarr_register_member(name::Cstring, flags::UInt32, check::Ptr{Cvoid}, user::Ptr{Cvoid}, destroy::Ptr{Cvoid})::Int32
@c_function ozarr_unregister(extension::Int32, name::Cstring)::Int32
@c_function ozarr_register_codec(table::Ptr{ozarr_codec_table})::Int32
@c_function ozarr_register_dtype(table::Ptr{ozarr_dtype_table})::Int32
