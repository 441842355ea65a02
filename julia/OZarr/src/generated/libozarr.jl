# Generated from include/ozarr.h by tools/bindings.py: a change here is lost.
#
# The functions and numbers of the C library, as they are. `_symbol` finds a function in the library.

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
const OZARR_ORDER_C = Int32(0)
const OZARR_ORDER_F = Int32(1)
const OZARR_NEW = Int32(0)
const OZARR_OVERWRITE = Int32(1)
const OZARR_OPEN_IF_SAME = Int32(2)
const OZARR_NODE_NONE = Int32(0)
const OZARR_NODE_ARRAY = Int32(1)
const OZARR_NODE_GROUP = Int32(2)
const OZARR_NODE_UNKNOWN = Int32(3)
const OZARR_JSON_NULL = Int32(0)
const OZARR_JSON_BOOL = Int32(1)
const OZARR_JSON_INTEGER = Int32(2)
const OZARR_JSON_NUMBER = Int32(3)
const OZARR_JSON_STRING = Int32(4)
const OZARR_JSON_ARRAY = Int32(5)
const OZARR_JSON_OBJECT = Int32(6)
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
const OZARR_RESIZE_KEEP = Int32(1)

struct ozarr_error_info
    struct_size::Csize_t
    status::Int32
    os_errno::Int32
    http_status::Int32
    message::Cstring
    key::Cstring
    field::Cstring
end

struct ozarr_region
    struct_size::Csize_t
    start::Ptr{Int64}
    shape::Ptr{Int64}
    step::Ptr{Int64}
end

struct ozarr_memory
    struct_size::Csize_t
    data::Ptr{Cvoid}
    size::Csize_t
    offset::Csize_t
    strides::Ptr{Int64}
    order::Int32
    type_::Int32
end

ozarr_status_name(status) =
    ccall(_symbol(Val(:ozarr_status_name)), Cstring, (Int32,), status)

ozarr_last_error() =
    ccall(_symbol(Val(:ozarr_last_error)), Cstring, ())

ozarr_last_error_info(info) =
    ccall(_symbol(Val(:ozarr_last_error_info)), Int32, (Ptr{ozarr_error_info},), info)

ozarr_version() =
    ccall(_symbol(Val(:ozarr_version)), Cstring, ())

ozarr_abi_version() =
    ccall(_symbol(Val(:ozarr_abi_version)), Int32, ())

ozarr_has_feature(name) =
    ccall(_symbol(Val(:ozarr_has_feature)), Bool, (Cstring,), name)

ozarr_array_create(location, type_, rank, shape, chunks, flags, out) =
    ccall(_symbol(Val(:ozarr_array_create)), Int32, (Cstring, Int32, Int32, Ptr{Int64}, Ptr{Int64}, Int32, Ptr{Ptr{Cvoid}}), location, type_, rank, shape, chunks, flags, out)

ozarr_array_open(location, mode, out) =
    ccall(_symbol(Val(:ozarr_array_open)), Int32, (Cstring, Cstring, Ptr{Ptr{Cvoid}}), location, mode, out)

ozarr_array_read(array, type_, data, size) =
    ccall(_symbol(Val(:ozarr_array_read)), Int32, (Ptr{Cvoid}, Int32, Ptr{Cvoid}, Csize_t), array, type_, data, size)

ozarr_array_write(array, type_, data, size) =
    ccall(_symbol(Val(:ozarr_array_write)), Int32, (Ptr{Cvoid}, Int32, Ptr{Cvoid}, Csize_t), array, type_, data, size)

ozarr_array_read_region(array, start, shape, type_, data, size) =
    ccall(_symbol(Val(:ozarr_array_read_region)), Int32, (Ptr{Cvoid}, Ptr{Int64}, Ptr{Int64}, Int32, Ptr{Cvoid}, Csize_t), array, start, shape, type_, data, size)

ozarr_array_write_region(array, start, shape, type_, data, size) =
    ccall(_symbol(Val(:ozarr_array_write_region)), Int32, (Ptr{Cvoid}, Ptr{Int64}, Ptr{Int64}, Int32, Ptr{Cvoid}, Csize_t), array, start, shape, type_, data, size)

ozarr_array_flush(array) =
    ccall(_symbol(Val(:ozarr_array_flush)), Int32, (Ptr{Cvoid},), array)

ozarr_array_close(array) =
    ccall(_symbol(Val(:ozarr_array_close)), Int32, (Ptr{Cvoid},), array)

ozarr_array_free(array) =
    ccall(_symbol(Val(:ozarr_array_free)), Cvoid, (Ptr{Cvoid},), array)

ozarr_array_rank(array, rank) =
    ccall(_symbol(Val(:ozarr_array_rank)), Int32, (Ptr{Cvoid}, Ptr{Int32}), array, rank)

ozarr_array_shape(array, shape) =
    ccall(_symbol(Val(:ozarr_array_shape)), Int32, (Ptr{Cvoid}, Ptr{Int64}), array, shape)

ozarr_array_chunk_shape(array, shape) =
    ccall(_symbol(Val(:ozarr_array_chunk_shape)), Int32, (Ptr{Cvoid}, Ptr{Int64}), array, shape)

ozarr_array_inner_chunk_shape(array, shape) =
    ccall(_symbol(Val(:ozarr_array_inner_chunk_shape)), Int32, (Ptr{Cvoid}, Ptr{Int64}), array, shape)

ozarr_array_type(array, type_) =
    ccall(_symbol(Val(:ozarr_array_type)), Int32, (Ptr{Cvoid}, Ptr{Int32}), array, type_)

ozarr_array_item_size(array, bytes) =
    ccall(_symbol(Val(:ozarr_array_item_size)), Int32, (Ptr{Cvoid}, Ptr{Csize_t}), array, bytes)

ozarr_array_zarr_format(array, format) =
    ccall(_symbol(Val(:ozarr_array_zarr_format)), Int32, (Ptr{Cvoid}, Ptr{Int32}), array, format)

ozarr_array_dimension_name(array, dim, buf, cap, len, named) =
    ccall(_symbol(Val(:ozarr_array_dimension_name)), Int32, (Ptr{Cvoid}, Int32, Ptr{UInt8}, Csize_t, Ptr{Csize_t}, Ptr{Bool}), array, dim, buf, cap, len, named)

ozarr_array_fill_value(array, value, size, defined) =
    ccall(_symbol(Val(:ozarr_array_fill_value)), Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t, Ptr{Bool}), array, value, size, defined)

ozarr_array_path(array, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_array_path)), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), array, buf, cap, len)

ozarr_array_metadata(array, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_array_metadata)), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), array, buf, cap, len)

ozarr_array_resize(array, shape) =
    ccall(_symbol(Val(:ozarr_array_resize)), Int32, (Ptr{Cvoid}, Ptr{Int64}), array, shape)

ozarr_array_resize_ex(array, shape, flags) =
    ccall(_symbol(Val(:ozarr_array_resize_ex)), Int32, (Ptr{Cvoid}, Ptr{Int64}, UInt32), array, shape, flags)

ozarr_array_append(array, dim, count, type_, data, size) =
    ccall(_symbol(Val(:ozarr_array_append)), Int32, (Ptr{Cvoid}, Int32, Int64, Int32, Ptr{Cvoid}, Csize_t), array, dim, count, type_, data, size)

ozarr_array_set(array, key, value) =
    ccall(_symbol(Val(:ozarr_array_set)), Int32, (Ptr{Cvoid}, Cstring, Cstring), array, key, value)

ozarr_group_create(location, flags, out) =
    ccall(_symbol(Val(:ozarr_group_create)), Int32, (Cstring, Int32, Ptr{Ptr{Cvoid}}), location, flags, out)

ozarr_group_open(location, mode, out) =
    ccall(_symbol(Val(:ozarr_group_open)), Int32, (Cstring, Cstring, Ptr{Ptr{Cvoid}}), location, mode, out)

ozarr_group_create_group(group, path, flags, out) =
    ccall(_symbol(Val(:ozarr_group_create_group)), Int32, (Ptr{Cvoid}, Cstring, Int32, Ptr{Ptr{Cvoid}}), group, path, flags, out)

ozarr_group_open_group(group, path, out) =
    ccall(_symbol(Val(:ozarr_group_open_group)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Ptr{Cvoid}}), group, path, out)

ozarr_group_create_array(group, path, spec, flags, out) =
    ccall(_symbol(Val(:ozarr_group_create_array)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Cvoid}, Int32, Ptr{Ptr{Cvoid}}), group, path, spec, flags, out)

ozarr_group_open_array(group, path, out) =
    ccall(_symbol(Val(:ozarr_group_open_array)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Ptr{Cvoid}}), group, path, out)

ozarr_group_zarr_format(group, format) =
    ccall(_symbol(Val(:ozarr_group_zarr_format)), Int32, (Ptr{Cvoid}, Ptr{Int32}), group, format)

ozarr_group_metadata(group, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_group_metadata)), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), group, buf, cap, len)

ozarr_group_consolidate(group) =
    ccall(_symbol(Val(:ozarr_group_consolidate)), Int32, (Ptr{Cvoid},), group)

ozarr_group_flush(group) =
    ccall(_symbol(Val(:ozarr_group_flush)), Int32, (Ptr{Cvoid},), group)

ozarr_group_close(group) =
    ccall(_symbol(Val(:ozarr_group_close)), Int32, (Ptr{Cvoid},), group)

ozarr_group_free(group) =
    ccall(_symbol(Val(:ozarr_group_free)), Cvoid, (Ptr{Cvoid},), group)

ozarr_group_children(group, out) =
    ccall(_symbol(Val(:ozarr_group_children)), Int32, (Ptr{Cvoid}, Ptr{Ptr{Cvoid}}), group, out)

ozarr_iter_next(iter, more) =
    ccall(_symbol(Val(:ozarr_iter_next)), Int32, (Ptr{Cvoid}, Ptr{Bool}), iter, more)

ozarr_iter_name(iter, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_iter_name)), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), iter, buf, cap, len)

ozarr_iter_kind(iter, kind) =
    ccall(_symbol(Val(:ozarr_iter_kind)), Int32, (Ptr{Cvoid}, Ptr{Int32}), iter, kind)

ozarr_iter_error(iter, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_iter_error)), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), iter, buf, cap, len)

ozarr_iter_free(iter) =
    ccall(_symbol(Val(:ozarr_iter_free)), Cvoid, (Ptr{Cvoid},), iter)

ozarr_array_attr_count(array, count) =
    ccall(_symbol(Val(:ozarr_array_attr_count)), Int32, (Ptr{Cvoid}, Ptr{Csize_t}), array, count)

ozarr_array_attr_name(array, index, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_array_attr_name)), Int32, (Ptr{Cvoid}, Csize_t, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), array, index, buf, cap, len)

ozarr_array_attr_kind(array, name, kind) =
    ccall(_symbol(Val(:ozarr_array_attr_kind)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Int32}), array, name, kind)

ozarr_array_attr_get_int64(array, name, value) =
    ccall(_symbol(Val(:ozarr_array_attr_get_int64)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Int64}), array, name, value)

ozarr_array_attr_get_double(array, name, value) =
    ccall(_symbol(Val(:ozarr_array_attr_get_double)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Cdouble}), array, name, value)

ozarr_array_attr_get_string(array, name, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_array_attr_get_string)), Int32, (Ptr{Cvoid}, Cstring, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), array, name, buf, cap, len)

ozarr_array_attr_get_json(array, name, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_array_attr_get_json)), Int32, (Ptr{Cvoid}, Cstring, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), array, name, buf, cap, len)

ozarr_array_attr_set_int64(array, name, value) =
    ccall(_symbol(Val(:ozarr_array_attr_set_int64)), Int32, (Ptr{Cvoid}, Cstring, Int64), array, name, value)

ozarr_array_attr_set_double(array, name, value) =
    ccall(_symbol(Val(:ozarr_array_attr_set_double)), Int32, (Ptr{Cvoid}, Cstring, Cdouble), array, name, value)

ozarr_array_attr_set_string(array, name, value) =
    ccall(_symbol(Val(:ozarr_array_attr_set_string)), Int32, (Ptr{Cvoid}, Cstring, Cstring), array, name, value)

ozarr_array_attr_set_json(array, name, json) =
    ccall(_symbol(Val(:ozarr_array_attr_set_json)), Int32, (Ptr{Cvoid}, Cstring, Cstring), array, name, json)

ozarr_array_attr_erase(array, name) =
    ccall(_symbol(Val(:ozarr_array_attr_erase)), Int32, (Ptr{Cvoid}, Cstring), array, name)

ozarr_array_attrs_get(array, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_array_attrs_get)), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), array, buf, cap, len)

ozarr_array_attrs_set(array, json) =
    ccall(_symbol(Val(:ozarr_array_attrs_set)), Int32, (Ptr{Cvoid}, Cstring), array, json)

ozarr_array_attrs_begin(array) =
    ccall(_symbol(Val(:ozarr_array_attrs_begin)), Int32, (Ptr{Cvoid},), array)

ozarr_array_attrs_commit(array) =
    ccall(_symbol(Val(:ozarr_array_attrs_commit)), Int32, (Ptr{Cvoid},), array)

ozarr_group_attr_count(group, count) =
    ccall(_symbol(Val(:ozarr_group_attr_count)), Int32, (Ptr{Cvoid}, Ptr{Csize_t}), group, count)

ozarr_group_attr_name(group, index, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_group_attr_name)), Int32, (Ptr{Cvoid}, Csize_t, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), group, index, buf, cap, len)

ozarr_group_attr_kind(group, name, kind) =
    ccall(_symbol(Val(:ozarr_group_attr_kind)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Int32}), group, name, kind)

ozarr_group_attr_get_int64(group, name, value) =
    ccall(_symbol(Val(:ozarr_group_attr_get_int64)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Int64}), group, name, value)

ozarr_group_attr_get_double(group, name, value) =
    ccall(_symbol(Val(:ozarr_group_attr_get_double)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Cdouble}), group, name, value)

ozarr_group_attr_get_string(group, name, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_group_attr_get_string)), Int32, (Ptr{Cvoid}, Cstring, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), group, name, buf, cap, len)

ozarr_group_attr_get_json(group, name, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_group_attr_get_json)), Int32, (Ptr{Cvoid}, Cstring, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), group, name, buf, cap, len)

ozarr_group_attr_set_int64(group, name, value) =
    ccall(_symbol(Val(:ozarr_group_attr_set_int64)), Int32, (Ptr{Cvoid}, Cstring, Int64), group, name, value)

ozarr_group_attr_set_double(group, name, value) =
    ccall(_symbol(Val(:ozarr_group_attr_set_double)), Int32, (Ptr{Cvoid}, Cstring, Cdouble), group, name, value)

ozarr_group_attr_set_string(group, name, value) =
    ccall(_symbol(Val(:ozarr_group_attr_set_string)), Int32, (Ptr{Cvoid}, Cstring, Cstring), group, name, value)

ozarr_group_attr_set_json(group, name, json) =
    ccall(_symbol(Val(:ozarr_group_attr_set_json)), Int32, (Ptr{Cvoid}, Cstring, Cstring), group, name, json)

ozarr_group_attr_erase(group, name) =
    ccall(_symbol(Val(:ozarr_group_attr_erase)), Int32, (Ptr{Cvoid}, Cstring), group, name)

ozarr_group_attrs_get(group, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_group_attrs_get)), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), group, buf, cap, len)

ozarr_group_attrs_set(group, json) =
    ccall(_symbol(Val(:ozarr_group_attrs_set)), Int32, (Ptr{Cvoid}, Cstring), group, json)

ozarr_group_attrs_begin(group) =
    ccall(_symbol(Val(:ozarr_group_attrs_begin)), Int32, (Ptr{Cvoid},), group)

ozarr_group_attrs_commit(group) =
    ccall(_symbol(Val(:ozarr_group_attrs_commit)), Int32, (Ptr{Cvoid},), group)

ozarr_array_read_ex(array, region, memory) =
    ccall(_symbol(Val(:ozarr_array_read_ex)), Int32, (Ptr{Cvoid}, Ptr{ozarr_region}, Ptr{ozarr_memory}), array, region, memory)

ozarr_array_write_ex(array, region, memory) =
    ccall(_symbol(Val(:ozarr_array_write_ex)), Int32, (Ptr{Cvoid}, Ptr{ozarr_region}, Ptr{ozarr_memory}), array, region, memory)

ozarr_spec_new(type_, rank, shape, out) =
    ccall(_symbol(Val(:ozarr_spec_new)), Int32, (Int32, Int32, Ptr{Int64}, Ptr{Ptr{Cvoid}}), type_, rank, shape, out)

ozarr_spec_from_json(document, out) =
    ccall(_symbol(Val(:ozarr_spec_from_json)), Int32, (Cstring, Ptr{Ptr{Cvoid}}), document, out)

ozarr_array_create_ex(location, spec, flags, out) =
    ccall(_symbol(Val(:ozarr_array_create_ex)), Int32, (Cstring, Ptr{Cvoid}, Int32, Ptr{Ptr{Cvoid}}), location, spec, flags, out)

ozarr_spec_set_zarr_format(spec, format) =
    ccall(_symbol(Val(:ozarr_spec_set_zarr_format)), Int32, (Ptr{Cvoid}, Int32), spec, format)

ozarr_spec_set_chunks(spec, chunks) =
    ccall(_symbol(Val(:ozarr_spec_set_chunks)), Int32, (Ptr{Cvoid}, Ptr{Int64}), spec, chunks)

ozarr_spec_set_inner_chunks(spec, chunks) =
    ccall(_symbol(Val(:ozarr_spec_set_inner_chunks)), Int32, (Ptr{Cvoid}, Ptr{Int64}), spec, chunks)

ozarr_spec_set_fill_value(spec, type_, value) =
    ccall(_symbol(Val(:ozarr_spec_set_fill_value)), Int32, (Ptr{Cvoid}, Int32, Ptr{Cvoid}), spec, type_, value)

ozarr_spec_set_fill_json(spec, json) =
    ccall(_symbol(Val(:ozarr_spec_set_fill_json)), Int32, (Ptr{Cvoid}, Cstring), spec, json)

ozarr_spec_set_dimension_names(spec, names) =
    ccall(_symbol(Val(:ozarr_spec_set_dimension_names)), Int32, (Ptr{Cvoid}, Ptr{Ptr{UInt8}}), spec, names)

ozarr_spec_set_order(spec, order) =
    ccall(_symbol(Val(:ozarr_spec_set_order)), Int32, (Ptr{Cvoid}, Int32), spec, order)

ozarr_spec_set_big_endian(spec, big) =
    ccall(_symbol(Val(:ozarr_spec_set_big_endian)), Int32, (Ptr{Cvoid}, Bool), spec, big)

ozarr_spec_set_separator(spec, separator) =
    ccall(_symbol(Val(:ozarr_spec_set_separator)), Int32, (Ptr{Cvoid}, Cchar), spec, separator)

ozarr_spec_set_compressor(spec, name, level) =
    ccall(_symbol(Val(:ozarr_spec_set_compressor)), Int32, (Ptr{Cvoid}, Cstring, Int32), spec, name, level)

ozarr_spec_set_codecs_json(spec, json) =
    ccall(_symbol(Val(:ozarr_spec_set_codecs_json)), Int32, (Ptr{Cvoid}, Cstring), spec, json)

ozarr_spec_set_compressor_json(spec, json) =
    ccall(_symbol(Val(:ozarr_spec_set_compressor_json)), Int32, (Ptr{Cvoid}, Cstring), spec, json)

ozarr_spec_set_filters_json(spec, json) =
    ccall(_symbol(Val(:ozarr_spec_set_filters_json)), Int32, (Ptr{Cvoid}, Cstring), spec, json)

ozarr_spec_set_attributes_json(spec, json) =
    ccall(_symbol(Val(:ozarr_spec_set_attributes_json)), Int32, (Ptr{Cvoid}, Cstring), spec, json)

ozarr_spec_to_json(spec, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_spec_to_json)), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), spec, buf, cap, len)

ozarr_spec_suggest(spec, buf, cap, len) =
    ccall(_symbol(Val(:ozarr_spec_suggest)), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), spec, buf, cap, len)

ozarr_spec_free(spec) =
    ccall(_symbol(Val(:ozarr_spec_free)), Cvoid, (Ptr{Cvoid},), spec)

ozarr_store_open(location, mode, out) =
    ccall(_symbol(Val(:ozarr_store_open)), Int32, (Cstring, Cstring, Ptr{Ptr{Cvoid}}), location, mode, out)

ozarr_store_open_ex(context, location, mode, options, out) =
    ccall(_symbol(Val(:ozarr_store_open_ex)), Int32, (Ptr{Cvoid}, Cstring, Cstring, Ptr{Ptr{UInt8}}, Ptr{Ptr{Cvoid}}), context, location, mode, options, out)

ozarr_store_memory(out) =
    ccall(_symbol(Val(:ozarr_store_memory)), Int32, (Ptr{Ptr{Cvoid}},), out)

ozarr_array_create_at(store, path, spec, flags, out) =
    ccall(_symbol(Val(:ozarr_array_create_at)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Cvoid}, Int32, Ptr{Ptr{Cvoid}}), store, path, spec, flags, out)

ozarr_array_open_at(store, path, out) =
    ccall(_symbol(Val(:ozarr_array_open_at)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Ptr{Cvoid}}), store, path, out)

ozarr_group_create_at(store, path, zarr_format, flags, out) =
    ccall(_symbol(Val(:ozarr_group_create_at)), Int32, (Ptr{Cvoid}, Cstring, Int32, Int32, Ptr{Ptr{Cvoid}}), store, path, zarr_format, flags, out)

ozarr_group_open_at(store, path, out) =
    ccall(_symbol(Val(:ozarr_group_open_at)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Ptr{Cvoid}}), store, path, out)

ozarr_store_node_kind(store, path, kind) =
    ccall(_symbol(Val(:ozarr_store_node_kind)), Int32, (Ptr{Cvoid}, Cstring, Ptr{Int32}), store, path, kind)

ozarr_store_node_erase(store, path) =
    ccall(_symbol(Val(:ozarr_store_node_erase)), Int32, (Ptr{Cvoid}, Cstring), store, path)

ozarr_store_flush(store) =
    ccall(_symbol(Val(:ozarr_store_flush)), Int32, (Ptr{Cvoid},), store)

ozarr_store_close(store) =
    ccall(_symbol(Val(:ozarr_store_close)), Int32, (Ptr{Cvoid},), store)

ozarr_store_free(store) =
    ccall(_symbol(Val(:ozarr_store_free)), Cvoid, (Ptr{Cvoid},), store)

ozarr_node_open(location, mode, array, group) =
    ccall(_symbol(Val(:ozarr_node_open)), Int32, (Cstring, Cstring, Ptr{Ptr{Cvoid}}, Ptr{Ptr{Cvoid}}), location, mode, array, group)

ozarr_node_erase(location) =
    ccall(_symbol(Val(:ozarr_node_erase)), Int32, (Cstring,), location)

ozarr_context_new(out) =
    ccall(_symbol(Val(:ozarr_context_new)), Int32, (Ptr{Ptr{Cvoid}},), out)

ozarr_context_set(context, key, value) =
    ccall(_symbol(Val(:ozarr_context_set)), Int32, (Ptr{Cvoid}, Cstring, Cstring), context, key, value)

ozarr_context_free(context) =
    ccall(_symbol(Val(:ozarr_context_free)), Cvoid, (Ptr{Cvoid},), context)
