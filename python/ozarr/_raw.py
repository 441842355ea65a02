# Generated from abi/ozarr.json by tools/bindings.py: a change here is lost.
"""The constants, structs and functions of the C library, as they are. A function is its result and its arguments, a letter each."""
import ctypes as C

OZARR_OK = 0
OZARR_ERR_ARGUMENT = -101
OZARR_ERR_NULL = -102
OZARR_ERR_BOUNDS = -103
OZARR_ERR_RANK = -104
OZARR_ERR_BUFFER_SIZE = -105
OZARR_ERR_TYPE = -106
OZARR_ERR_RANGE = -107
OZARR_ERR_NAME = -108
OZARR_ERR_LOCATION = -109
OZARR_ERR_INVALID_HANDLE = -110
OZARR_ERR_READ_ONLY = -201
OZARR_ERR_EXISTS = -202
OZARR_ERR_STATE = -203
OZARR_ERR_AGAIN = -204
OZARR_ERR_CANCELLED = -205
OZARR_ERR_FORKED = -206
OZARR_ERR_NOT_FOUND = -301
OZARR_ERR_NODE_KIND = -302
OZARR_ERR_METADATA = -303
OZARR_ERR_UNSUPPORTED = -304
OZARR_ERR_EXTENSION = -305
OZARR_ERR_CHUNK = -401
OZARR_ERR_CHECKSUM = -402
OZARR_ERR_SHARD_INDEX = -403
OZARR_ERR_MISSING = -404
OZARR_ERR_TRUNCATED = -405
OZARR_ERR_PERMISSION = -501
OZARR_ERR_CONFLICT = -502
OZARR_ERR_TIMEOUT = -503
OZARR_ERR_NETWORK = -504
OZARR_ERR_THROTTLED = -505
OZARR_ERR_RANGES = -506
OZARR_ERR_PARTIAL = -507
OZARR_ERR_IO = -601
OZARR_ERR_NO_SPACE = -602
OZARR_ERR_NO_MEMORY = -603
OZARR_ERR_TOO_MANY_FILES = -604
OZARR_ERR_LIMIT = -701
OZARR_ERR_INTERNAL = -901
OZARR_ERR_CALLBACK = -902
OZARR_ORDER_C = 0
OZARR_ORDER_F = 1
OZARR_VERSION_MAJOR = 0
OZARR_VERSION_MINOR = 2
OZARR_VERSION_PATCH = 0
OZARR_VERSION_NUMBER = 200
OZARR_ABI_VERSION = 1
OZARR_AS_STORED = 0
OZARR_BOOL = 1
OZARR_INT8 = 2
OZARR_INT16 = 3
OZARR_INT32 = 4
OZARR_INT64 = 5
OZARR_UINT8 = 6
OZARR_UINT16 = 7
OZARR_UINT32 = 8
OZARR_UINT64 = 9
OZARR_FLOAT16 = 10
OZARR_FLOAT32 = 11
OZARR_FLOAT64 = 12
OZARR_COMPLEX64 = 13
OZARR_COMPLEX128 = 14
OZARR_INT2 = 15
OZARR_INT4 = 16
OZARR_UINT2 = 17
OZARR_UINT4 = 18
OZARR_BFLOAT16 = 19
OZARR_FLOAT8_E3M4 = 20
OZARR_FLOAT8_E4M3 = 21
OZARR_FLOAT8_E4M3B11FNUZ = 22
OZARR_FLOAT8_E4M3FNUZ = 23
OZARR_FLOAT8_E4M3FN = 24
OZARR_FLOAT8_E5M2 = 25
OZARR_FLOAT8_E5M2FNUZ = 26
OZARR_FLOAT8_E8M0FNU = 27
OZARR_FLOAT6_E2M3FN = 28
OZARR_FLOAT6_E3M2FN = 29
OZARR_FLOAT4_E2M1FN = 30
OZARR_BY_DTYPE = 100
OZARR_STRING = 101
OZARR_BYTES = 102
OZARR_JSON = 103
OZARR_LIST = 104
OZARR_OVERFLOW_ERROR = 0
OZARR_OVERFLOW_WRAP = 1
OZARR_OVERFLOW_SATURATE = 2
OZARR_STORE_CAN_WRITE = 1
OZARR_STORE_CAN_LIST = 2
OZARR_STORE_CAN_ERASE = 4
OZARR_STORE_IS_REMOTE = 8
OZARR_CALLBACK_ANY_THREAD = 256
OZARR_CREATE_NEW = 0
OZARR_CREATE_OVERWRITE = 1
OZARR_CREATE_OPEN_IF_SAME = 2
OZARR_NODE_KIND_NONE = 0
OZARR_NODE_KIND_ARRAY = 1
OZARR_NODE_KIND_GROUP = 2
OZARR_NODE_KIND_UNKNOWN = 3
OZARR_JSON_KIND_NULL = 0
OZARR_JSON_KIND_BOOL = 1
OZARR_JSON_KIND_INTEGER = 2
OZARR_JSON_KIND_NUMBER = 3
OZARR_JSON_KIND_STRING = 4
OZARR_JSON_KIND_ARRAY = 5
OZARR_JSON_KIND_OBJECT = 6
OZARR_LOG_LEVEL_OFF = 0
OZARR_LOG_LEVEL_WARNING = 1
OZARR_LOG_LEVEL_INFO = 2
OZARR_RESIZE_KEEP = 1
OZARR_SINGLE = -1
OZARR_SHUFFLE_DEFAULT = 0
OZARR_SHUFFLE_NONE = 1
OZARR_SHUFFLE_BYTE = 2
OZARR_SHUFFLE_BIT = 3
OZARR_ZFP_REVERSIBLE = 0
OZARR_ZFP_ACCURACY = 1
OZARR_ZFP_PRECISION = 2
OZARR_ZFP_RATE = 3
OZARR_PARTITION_INNER = 1
OZARR_REQUEST_COPY = 1
OZARR_REQUEST_STATE_QUEUED = 0
OZARR_REQUEST_STATE_RUNNING = 1
OZARR_REQUEST_STATE_DONE = 2
OZARR_REQUEST_STATE_FAILED = 3
OZARR_DTYPE_KIND_BOOL = 1
OZARR_DTYPE_KIND_INT = 2
OZARR_DTYPE_KIND_UINT = 3
OZARR_DTYPE_KIND_FLOAT = 4
OZARR_DTYPE_KIND_COMPLEX = 5
OZARR_DTYPE_KIND_BYTES = 6
OZARR_DTYPE_KIND_TEXT = 7
OZARR_DTYPE_KIND_RAW = 8
OZARR_DTYPE_KIND_DATETIME = 9
OZARR_DTYPE_KIND_TIMEDELTA = 10
OZARR_DTYPE_KIND_STRUCT = 11
OZARR_DTYPE_KIND_VAR_TEXT = 12
OZARR_DTYPE_KIND_VAR_BYTES = 13
OZARR_DTYPE_KIND_VAR_JSON = 14
OZARR_DTYPE_KIND_VAR_LIST = 15
OZARR_DTYPE_KIND_CHARS = 16
OZARR_BYTE_ORDER_NONE = 0
OZARR_BYTE_ORDER_LITTLE = 1
OZARR_BYTE_ORDER_BIG = 2
OZARR_BYTE_ORDER_MIXED = 3
OZARR_COPY_RAW = 1
OZARR_COPY_VERIFY = 2
OZARR_COPY_LINK = 4
OZARR_MIGRATE_IN_PLACE = 1
OZARR_MIGRATE_LINK = 4
OZARR_VERIFY_QUICK = 1
OZARR_VERIFY_REPAIR = 2
OZARR_FAULT_KIND_DAMAGED = 1
OZARR_FAULT_KIND_UNREADABLE = 2
OZARR_FAULT_KIND_UNSUPPORTED = 3
OZARR_FAULT_KIND_OUTSIDE = 4
OZARR_FAULT_KIND_FOREIGN = 5
OZARR_FAULT_KIND_TEMPORARY = 6
OZARR_FAULT_KIND_STALE = 7
OZARR_BUFFER_SMALL_PAGES = 1
OZARR_STORE_HAS_VERSIONS = 512
OZARR_BYTE_RANGE_KIND_WHOLE = 0
OZARR_BYTE_RANGE_KIND_SPAN = 1
OZARR_BYTE_RANGE_KIND_SUFFIX = 2
OZARR_REGISTER_REPLACE = 1024
OZARR_EXTENSION_TRANSFORMER = 1
OZARR_EXTENSION_MEMBER = 2
OZARR_EXTENSION_CODEC = 3
OZARR_EXTENSION_DTYPE = 4
OZARR_EXTENSION_KEY_ENCODING = 5
OZARR_CODEC_KIND_BYTES = 1
OZARR_CODEC_KIND_ARRAY = 2
OZARR_CODEC_KIND_ARRAY_TO_BYTES = 3
OZARR_CODEC_IS_ELEMENTWISE = 2048
OZARR_DTYPE_HAS_BYTE_ORDER = 4096


class ozarr_error_info(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('status', C.c_int32),
        ('os_errno', C.c_int32),
        ('http_status', C.c_int32),
        ('reserved', C.c_int32),
        ('message', C.c_char_p),
        ('key', C.c_char_p),
        ('field', C.c_char_p),
    ]


class ozarr_region(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('start', C.c_void_p),
        ('shape', C.c_void_p),
        ('step', C.c_void_p),
        ('periodic', C.c_void_p),
    ]


class ozarr_memory(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('data', C.c_void_p),
        ('size', C.c_size_t),
        ('offset', C.c_size_t),
        ('strides', C.c_void_p),
        ('order', C.c_int32),
        ('type', C.c_int32),
        ('overflow', C.c_int32),
        ('reserved', C.c_int32),
        ('dtype', C.c_void_p),
        ('field', C.c_char_p),
        ('sizes', C.c_void_p),
        ('starts', C.c_void_p),
    ]


class ozarr_layout(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('chunks', C.c_void_p),
        ('inner_chunks', C.c_void_p),
        ('dimension_names', C.c_void_p),
        ('compressor', C.c_char_p),
        ('level', C.c_int32),
        ('shuffle', C.c_int32),
        ('keep_bits', C.c_int32),
        ('checksum', C.c_int32),
    ]


class ozarr_variable(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('type', C.c_int32),
        ('rank', C.c_int32),
        ('dimensions', C.c_void_p),
        ('chunks', C.c_void_p),
        ('spec', C.c_void_p),
        ('units', C.c_char_p),
        ('calendar', C.c_char_p),
        ('long_name', C.c_char_p),
        ('standard_name', C.c_char_p),
        ('attributes', C.c_char_p),
        ('missing', C.c_void_p),
        ('scale_factor', C.c_double),
        ('add_offset', C.c_double),
        ('compressor', C.c_char_p),
        ('level', C.c_int32),
        ('shuffle', C.c_int32),
        ('keep_bits', C.c_int32),
        ('reserved', C.c_int32),
    ]


class ozarr_request_options(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('flags', C.c_uint32),
        ('reserved', C.c_int32),
        ('seconds', C.c_double),
        ('done', C.c_void_p),
        ('user', C.c_void_p),
    ]


class ozarr_info(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('chunks', C.c_int64),
        ('possible_chunks', C.c_int64),
        ('stored_bytes', C.c_int64),
        ('element_bytes', C.c_int64),
        ('ratio', C.c_double),
    ]


class ozarr_batch_entry(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('array', C.c_void_p),
        ('region', C.c_void_p),
        ('memory', C.c_void_p),
    ]


class ozarr_explanation(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('bytes', C.c_int64),
        ('chunks', C.c_int64),
        ('whole_chunks', C.c_int64),
        ('partial_chunks', C.c_int64),
        ('changed_chunks', C.c_int64),
        ('inner_chunks', C.c_int64),
        ('partial_inner_chunks', C.c_int64),
        ('reads', C.c_int64),
        ('whole_reads', C.c_int64),
        ('read_bytes', C.c_int64),
        ('writes', C.c_int64),
        ('decoded_bytes', C.c_int64),
        ('direct_chunks', C.c_int64),
        ('threads', C.c_int64),
        ('thread_bytes', C.c_int64),
        ('objects', C.c_int64),
        ('fewer_objects', C.c_int64),
    ]


class ozarr_stats(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('reads', C.c_int64),
        ('bytes_read', C.c_int64),
        ('writes', C.c_int64),
        ('bytes_written', C.c_int64),
        ('erased', C.c_int64),
        ('decoded_chunks', C.c_int64),
        ('decoded_bytes', C.c_int64),
        ('encoded_chunks', C.c_int64),
        ('encoded_bytes', C.c_int64),
        ('fill_chunks', C.c_int64),
        ('copied_bytes', C.c_int64),
        ('index_hits', C.c_int64),
        ('index_reads', C.c_int64),
        ('chunk_hits', C.c_int64),
        ('retries', C.c_int64),
        ('decode_ns', C.c_int64),
        ('encode_ns', C.c_int64),
    ]


class ozarr_summary(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('elements', C.c_int64),
        ('missing', C.c_int64),
        ('nan', C.c_int64),
        ('infinite', C.c_int64),
        ('count', C.c_int64),
        ('min', C.c_double),
        ('max', C.c_double),
        ('mean', C.c_double),
        ('std', C.c_double),
        ('min_integer', C.c_int64),
        ('max_integer', C.c_int64),
    ]


class ozarr_comparison(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('elements', C.c_int64),
        ('differing', C.c_int64),
        ('largest_absolute', C.c_double),
        ('largest_relative', C.c_double),
    ]


class ozarr_copy_options(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('zarr_format', C.c_int32),
        ('mode', C.c_int32),
        ('overflow', C.c_int32),
        ('flags', C.c_uint32),
        ('memory', C.c_size_t),
        ('spec', C.c_void_p),
        ('change', C.c_void_p),
        ('progress', C.c_void_p),
        ('user', C.c_void_p),
    ]


class ozarr_verified(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('nodes', C.c_int64),
        ('chunks', C.c_int64),
        ('faults', C.c_int64),
        ('repaired', C.c_int64),
    ]


class ozarr_byte_range(C.Structure):
    _fields_ = [
        ('kind', C.c_int32),
        ('reserved', C.c_int32),
        ('offset', C.c_int64),
        ('size', C.c_int64),
    ]


class ozarr_store_table(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('flags', C.c_uint32),
        ('reserved', C.c_int32),
        ('name', C.c_char_p),
        ('user', C.c_void_p),
        ('destroy', C.c_void_p),
        ('get', C.c_void_p),
        ('get_ranges', C.c_void_p),
        ('start_get_ranges', C.c_void_p),
        ('put', C.c_void_p),
        ('put_if', C.c_void_p),
        ('erase', C.c_void_p),
        ('erase_prefix', C.c_void_p),
        ('list', C.c_void_p),
        ('list_dir', C.c_void_p),
        ('flush', C.c_void_p),
    ]


class ozarr_transformer_table(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('flags', C.c_uint32),
        ('reserved', C.c_int32),
        ('name', C.c_char_p),
        ('user', C.c_void_p),
        ('destroy', C.c_void_p),
        ('open', C.c_void_p),
    ]


class ozarr_key_encoding_table(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('flags', C.c_uint32),
        ('reserved', C.c_int32),
        ('name', C.c_char_p),
        ('user', C.c_void_p),
        ('destroy', C.c_void_p),
        ('check', C.c_void_p),
        ('encode', C.c_void_p),
        ('decode', C.c_void_p),
    ]


class ozarr_codec_table(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('flags', C.c_uint32),
        ('kind', C.c_int32),
        ('name', C.c_char_p),
        ('id', C.c_char_p),
        ('user', C.c_void_p),
        ('destroy', C.c_void_p),
        ('open', C.c_void_p),
        ('close', C.c_void_p),
        ('encoded_size', C.c_void_p),
        ('encode', C.c_void_p),
        ('decode', C.c_void_p),
    ]


class ozarr_dtype_table(C.Structure):
    _fields_ = [
        ('struct_size', C.c_size_t),
        ('flags', C.c_uint32),
        ('type', C.c_int32),
        ('item_size', C.c_size_t),
        ('name', C.c_char_p),
        ('name_v2', C.c_char_p),
        ('user', C.c_void_p),
        ('destroy', C.c_void_p),
        ('encode', C.c_void_p),
        ('decode', C.c_void_p),
        ('fill_from_json', C.c_void_p),
        ('fill_to_json', C.c_void_p),
    ]


TYPES = {'i': C.c_int32, 'u': C.c_uint32, 'q': C.c_int64, 'b': C.c_uint8, 'z': C.c_size_t, 'd': C.c_double, 't': C.c_bool, 'p': C.c_void_p, 's': C.c_char_p, 'v': None}

FUNCTIONS = {
    'ozarr_status_name': 'si',
    'ozarr_last_error': 's',
    'ozarr_last_error_in': 'si',
    'ozarr_last_error_info': 'ip',
    'ozarr_version': 's',
    'ozarr_abi_version': 'i',
    'ozarr_has_feature': 'ts',
    'ozarr_context_new': 'ip',
    'ozarr_context_set': 'ipss',
    'ozarr_context_get': 'ipspzp',
    'ozarr_context_set_log': 'ipipp',
    'ozarr_context_free': 'vp',
    'ozarr_array_create': 'isiippip',
    'ozarr_array_open': 'issp',
    'ozarr_array_read': 'ipipz',
    'ozarr_array_write': 'ipipz',
    'ozarr_array_read_region': 'ipppipz',
    'ozarr_array_write_region': 'ipppipz',
    'ozarr_array_close': 'ip',
    'ozarr_array_free': 'vp',
    'ozarr_array_rank': 'ipp',
    'ozarr_array_shape': 'ipp',
    'ozarr_array_chunk_shape': 'ipp',
    'ozarr_array_inner_chunk_shape': 'ipp',
    'ozarr_array_type': 'ipp',
    'ozarr_array_item_size': 'ipp',
    'ozarr_array_dimension_name': 'ipipzpp',
    'ozarr_array_set_dimension_names': 'ipp',
    'ozarr_array_fill_value': 'ippzp',
    'ozarr_array_resize': 'ippu',
    'ozarr_array_append': 'ipiqipz',
    'ozarr_array_read_ex': 'ippp',
    'ozarr_array_write_ex': 'ippp',
    'ozarr_attr_count': 'ipp',
    'ozarr_attr_name': 'ipqpzp',
    'ozarr_attr_kind': 'ipsp',
    'ozarr_attr_get_int64': 'ipsp',
    'ozarr_attr_get_double': 'ipsp',
    'ozarr_attr_get_bool': 'ipsp',
    'ozarr_attr_get_string': 'ipspzp',
    'ozarr_attr_get_strings': 'ipspzpp',
    'ozarr_attr_get_numbers': 'ipsipqp',
    'ozarr_attr_get_json': 'ipspzp',
    'ozarr_attr_set_int64': 'ipsq',
    'ozarr_attr_set_double': 'ipsd',
    'ozarr_attr_set_bool': 'ipst',
    'ozarr_attr_set_string': 'ipss',
    'ozarr_attr_set_strings': 'ipspq',
    'ozarr_attr_set_numbers': 'ipsipq',
    'ozarr_attr_set_json': 'ipss',
    'ozarr_attr_erase': 'ips',
    'ozarr_attrs_get': 'ippzp',
    'ozarr_attrs_set': 'ips',
    'ozarr_attrs_begin': 'ip',
    'ozarr_attrs_commit': 'ip',
    'ozarr_group_create': 'isip',
    'ozarr_group_open': 'issp',
    'ozarr_group_create_group': 'ipsip',
    'ozarr_group_open_group': 'ipsp',
    'ozarr_group_create_array': 'ipspip',
    'ozarr_group_open_array': 'ipsp',
    'ozarr_group_consolidate': 'ip',
    'ozarr_group_close': 'ip',
    'ozarr_group_free': 'vp',
    'ozarr_group_put': 'ipsiippz',
    'ozarr_group_get': 'ipsipz',
    'ozarr_group_list_nodes': 'ipsip',
    'ozarr_node_iter_next': 'ipp',
    'ozarr_node_iter_name': 'ippzp',
    'ozarr_node_iter_kind': 'ipp',
    'ozarr_node_iter_error': 'ippzp',
    'ozarr_node_iter_free': 'vp',
    'ozarr_array_node': 'pp',
    'ozarr_group_node': 'pp',
    'ozarr_node_open': 'isspp',
    'ozarr_node_erase': 'is',
    'ozarr_node_path': 'ippzp',
    'ozarr_node_metadata': 'ippzp',
    'ozarr_node_zarr_format': 'ipp',
    'ozarr_node_set': 'ipss',
    'ozarr_node_get': 'ipspzp',
    'ozarr_node_refresh': 'ippz',
    'ozarr_node_flush': 'ip',
    'ozarr_spec_new': 'iiipp',
    'ozarr_spec_set_shape': 'ipp',
    'ozarr_spec_from_json': 'isp',
    'ozarr_array_create_ex': 'ispip',
    'ozarr_spec_set_zarr_format': 'ipi',
    'ozarr_spec_set_chunks': 'ipp',
    'ozarr_spec_set_chunk_extents': 'ipipq',
    'ozarr_spec_set_inner_chunks': 'ipp',
    'ozarr_spec_set_type': 'ipi',
    'ozarr_spec_set_fill_value': 'ipip',
    'ozarr_spec_set_member_json': 'ipss',
    'ozarr_spec_set_dimension_names': 'ipp',
    'ozarr_spec_set_order': 'ipi',
    'ozarr_spec_set_big_endian': 'ipt',
    'ozarr_spec_set_separator': 'ips',
    'ozarr_spec_set_compressor': 'ipsi',
    'ozarr_spec_set_shuffle': 'ipi',
    'ozarr_spec_set_keep_bits': 'ipi',
    'ozarr_spec_set_zfp': 'ipid',
    'ozarr_spec_set_checksum': 'ipt',
    'ozarr_spec_to_json': 'ippzp',
    'ozarr_spec_suggest': 'ippzp',
    'ozarr_spec_free': 'vp',
    'ozarr_spec_new_ex': 'iiippp',
    'ozarr_dtype_parse': 'isip',
    'ozarr_dtype_of': 'iip',
    'ozarr_dtype_chars': 'izip',
    'ozarr_dtype_struct': 'izp',
    'ozarr_dtype_add_field': 'ipszpip',
    'ozarr_dtype_free': 'vp',
    'ozarr_array_copy_dtype': 'ipp',
    'ozarr_spec_new_dtype': 'ipipp',
    'ozarr_spec_set_fill_dtype': 'ipppz',
    'ozarr_dataset_create': 'isiip',
    'ozarr_dataset_open': 'issp',
    'ozarr_group_open_dataset': 'ipp',
    'ozarr_dataset_open_group': 'ipp',
    'ozarr_dataset_define_dimension': 'ipsq',
    'ozarr_dataset_resize_dimension': 'ipsq',
    'ozarr_dataset_dimension_count': 'ipp',
    'ozarr_dataset_dimension': 'ipqpzpp',
    'ozarr_dataset_dimension_length': 'ipspp',
    'ozarr_dataset_define_variable': 'ipsiipp',
    'ozarr_dataset_define_variable_ex': 'ipspip',
    'ozarr_dataset_define_coordinate': 'ipsiqqpzsp',
    'ozarr_dataset_define_time': 'ipsqqssp',
    'ozarr_dataset_set_coordinate': 'ips',
    'ozarr_dataset_variable_count': 'ipp',
    'ozarr_dataset_variable': 'ipqpzpp',
    'ozarr_dataset_open_variable': 'ipsp',
    'ozarr_dataset_close': 'ip',
    'ozarr_dataset_free': 'vp',
    'ozarr_array_read_unpacked': 'ippp',
    'ozarr_array_write_packed': 'ippp',
    'ozarr_array_read_times': 'ippspz',
    'ozarr_array_write_times': 'ippspz',
    'ozarr_array_missing_value': 'ippzp',
    'ozarr_time_to_text': 'issqpzp',
    'ozarr_time_from_text': 'isssp',
    'ozarr_series_open': 'ipsqqzp',
    'ozarr_series_put': 'ipsipz',
    'ozarr_series_put_ex': 'ipsp',
    'ozarr_series_step': 'ipdqpp',
    'ozarr_series_position': 'ippp',
    'ozarr_series_flush': 'ip',
    'ozarr_series_close': 'ip',
    'ozarr_series_free': 'vp',
    'ozarr_dataset_wait_growth': 'ipsqdp',
    'ozarr_checkpoint_begin': 'issp',
    'ozarr_checkpoint_commit': 'ip',
    'ozarr_checkpoint_abandon': 'ip',
    'ozarr_checkpoint_latest': 'isp',
    'ozarr_checkpoint_list': 'isp',
    'ozarr_checkpoint_prune': 'isq',
    'ozarr_array_partition': 'ippqqupp',
    'ozarr_node_export': 'ippzp',
    'ozarr_node_import': 'isspzpp',
    'ozarr_node_import_at': 'ippzpp',
    'ozarr_array_iread_region': 'ipppipzp',
    'ozarr_array_iwrite_region': 'ipppipzup',
    'ozarr_array_iread_ex': 'ippppp',
    'ozarr_array_iwrite_ex': 'ippppp',
    'ozarr_request_test': 'ipp',
    'ozarr_request_wait': 'ipd',
    'ozarr_request_cancel': 'ip',
    'ozarr_request_free': 'vp',
    'ozarr_request_get_state': 'ipp',
    'ozarr_request_error': 'ipp',
    'ozarr_requests_wait_all': 'ipqdp',
    'ozarr_requests_wait_any': 'ipqdp',
    'ozarr_shutdown': 'i',
    'ozarr_store_open': 'issp',
    'ozarr_store_open_ex': 'ipsspp',
    'ozarr_store_memory': 'ip',
    'ozarr_array_create_at': 'ipspip',
    'ozarr_array_open_at': 'ipsp',
    'ozarr_group_create_at': 'ipsiip',
    'ozarr_group_open_at': 'ipsp',
    'ozarr_store_node_kind': 'ipsp',
    'ozarr_store_node_erase': 'ips',
    'ozarr_store_flush': 'ip',
    'ozarr_store_close': 'ip',
    'ozarr_store_free': 'vp',
    'ozarr_appender_open': 'ipiqzp',
    'ozarr_appender_append': 'ipqipz',
    'ozarr_appender_append_ex': 'ipqp',
    'ozarr_appender_position': 'ippp',
    'ozarr_appender_flush': 'ip',
    'ozarr_appender_close': 'ip',
    'ozarr_appender_free': 'vp',
    'ozarr_array_wait_growth': 'ipiqdp',
    'ozarr_series_declare': 'ipq',
    'ozarr_group_rename': 'ipss',
    'ozarr_group_erase': 'ips',
    'ozarr_group_consolidated_check': 'ippzpp',
    'ozarr_array_info': 'ipp',
    'ozarr_array_read_orthogonal': 'ipppp',
    'ozarr_array_write_orthogonal': 'ipppp',
    'ozarr_array_read_points': 'ippqp',
    'ozarr_array_write_points': 'ippqp',
    'ozarr_array_read_mask': 'ipppp',
    'ozarr_array_write_mask': 'ipppp',
    'ozarr_array_fill': 'ippip',
    'ozarr_read_many': 'ipq',
    'ozarr_write_many': 'ipq',
    'ozarr_iread_many': 'ipqpp',
    'ozarr_iwrite_many': 'ipqpp',
    'ozarr_array_explain': 'ippptp',
    'ozarr_array_stats': 'ipp',
    'ozarr_store_stats': 'ipp',
    'ozarr_context_stats': 'ipp',
    'ozarr_array_summarize': 'ippp',
    'ozarr_array_digest': 'ipppzp',
    'ozarr_array_compare': 'ippppddpp',
    'ozarr_array_read_varlen': 'ippp',
    'ozarr_array_write_varlen': 'ippppz',
    'ozarr_array_append_varlen': 'ipiqppz',
    'ozarr_array_write_strings': 'ippp',
    'ozarr_array_list_type': 'ipp',
    'ozarr_array_fill_text': 'ippzp',
    'ozarr_varlen_count': 'ipp',
    'ozarr_varlen_get': 'ipqpp',
    'ozarr_varlen_all': 'ipppp',
    'ozarr_varlen_free': 'vp',
    'ozarr_dtype_get_kind': 'ipp',
    'ozarr_dtype_type': 'ipp',
    'ozarr_dtype_item_size': 'ipp',
    'ozarr_dtype_byte_order': 'ipp',
    'ozarr_dtype_unit': 'ippzpp',
    'ozarr_dtype_equal': 'ippp',
    'ozarr_dtype_name': 'ippzp',
    'ozarr_dtype_to_json': 'ipipzp',
    'ozarr_dtype_field_count': 'ipp',
    'ozarr_dtype_field_name': 'ipqpzp',
    'ozarr_dtype_field_offset': 'ipqp',
    'ozarr_dtype_copy_field_dtype': 'ipqp',
    'ozarr_dtype_field_shape': 'ipqpqp',
    'ozarr_dtype_scalar_to_json': 'ipipzpzp',
    'ozarr_dtype_scalar_from_json': 'ipispz',
    'ozarr_array_grid_shape': 'ipp',
    'ozarr_array_chunk_extent': 'ipiqpp',
    'ozarr_array_chunk_count': 'iptp',
    'ozarr_array_chunk_key': 'ipppzp',
    'ozarr_array_chunk_place': 'ipptppp',
    'ozarr_array_chunk_read': 'ipptpzp',
    'ozarr_array_chunk_write': 'ipptpz',
    'ozarr_array_chunk_erase': 'ipptp',
    'ozarr_array_list_chunks': 'iptp',
    'ozarr_chunk_iter_next': 'ipp',
    'ozarr_chunk_iter_index': 'ipp',
    'ozarr_chunk_iter_place': 'ippp',
    'ozarr_chunk_iter_free': 'vp',
    'ozarr_shard_writer_new': 'ippp',
    'ozarr_shard_writer_put': 'ipptipz',
    'ozarr_shard_writer_finish': 'ip',
    'ozarr_shard_writer_free': 'vp',
    'ozarr_array_copy_spec': 'ipip',
    'ozarr_copy': 'issp',
    'ozarr_copy_at': 'ipspsp',
    'ozarr_migrate': 'issupp',
    'ozarr_store_verify': 'ipsupppp',
    'ozarr_store_below': 'ipssp',
    'ozarr_store_cached': 'ipzsp',
    'ozarr_store_capabilities': 'ipp',
    'ozarr_store_key_get': 'ipspzp',
    'ozarr_store_key_put': 'ipspz',
    'ozarr_store_key_erase': 'ipsp',
    'ozarr_store_key_list': 'ipspp',
    'ozarr_buffer_alloc': 'izup',
    'ozarr_buffer_free': 'vp',
    'ozarr_group_nc_version': 'ippzp',
    'ozarr_group_nc_dimension_count': 'ipp',
    'ozarr_group_nc_dimension': 'ipqpzppp',
    'ozarr_group_nc_define_dimension': 'ipsqt',
    'ozarr_array_nc_is_scalar': 'ipp',
    'ozarr_array_nc_type': 'ippzp',
    'ozarr_attr_nc_type': 'ipspzp',
    'ozarr_group_image_count': 'ipp',
    'ozarr_group_image_size': 'ipqpp',
    'ozarr_group_image_level': 'ipqqpzp',
    'ozarr_group_image_scale': 'ipqqppq',
    'ozarr_group_image_axis': 'ipqqspzp',
    'ozarr_zip_repair': 'ispp',
    'ozarr_store_from_table': 'ippsp',
    'ozarr_set_error': 'iisp',
    'ozarr_answer_put': 'ippz',
    'ozarr_answer_room': 'ipzp',
    'ozarr_answer_version': 'ippz',
    'ozarr_answer_size': 'ipq',
    'ozarr_answer_done': 'ipi',
    'ozarr_keys_add': 'ips',
    'ozarr_register_key_encoding': 'ip',
    'ozarr_register_transformer': 'ip',
    'ozarr_register_member': 'isuppp',
    'ozarr_unregister': 'iis',
    'ozarr_register_codec': 'ip',
    'ozarr_register_dtype': 'ip',
}
