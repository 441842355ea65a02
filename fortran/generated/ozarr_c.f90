! Generated from abi/ozarr.json by tools/bindings.py: a change here is lost.
!
! The functions of the C library, as they are, and its constants: texts end in c_null_char, indices count from 0, dimensions are
! in C's order. An argument that may be NULL is optional, or a type(c_ptr). The module `ozarr` is what a program wants; this one is
! for what it leaves out.
module ozarr_c
  use, intrinsic :: iso_c_binding
  use ozarr_constants
  implicit none
  public

  type, bind(c) :: ozarr_error_info
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: status = 0
    integer(c_int32_t) :: os_errno = 0
    integer(c_int32_t) :: http_status = 0
    integer(c_int32_t) :: reserved = 0
    type(c_ptr) :: message = c_null_ptr
    type(c_ptr) :: key = c_null_ptr
    type(c_ptr) :: field = c_null_ptr
  end type ozarr_error_info

  type, bind(c) :: ozarr_region
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: start = c_null_ptr
    type(c_ptr) :: shape = c_null_ptr
    type(c_ptr) :: step = c_null_ptr
    type(c_ptr) :: periodic = c_null_ptr
  end type ozarr_region

  type, bind(c) :: ozarr_memory
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: data = c_null_ptr
    integer(c_size_t) :: bytes = 0
    integer(c_size_t) :: offset = 0
    type(c_ptr) :: strides = c_null_ptr
    integer(c_int32_t) :: order = 0
    integer(c_int32_t) :: type_ = 0
    integer(c_int32_t) :: overflow = 0
    integer(c_int32_t) :: reserved = 0
    type(c_ptr) :: dtype = c_null_ptr
    type(c_ptr) :: field = c_null_ptr
    type(c_ptr) :: sizes = c_null_ptr
    type(c_ptr) :: starts = c_null_ptr
  end type ozarr_memory

  type, bind(c) :: ozarr_layout
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: chunks = c_null_ptr
    type(c_ptr) :: inner_chunks = c_null_ptr
    type(c_ptr) :: dimension_names = c_null_ptr
    type(c_ptr) :: compressor = c_null_ptr
    integer(c_int32_t) :: level = 0
    integer(c_int32_t) :: shuffle = 0
    integer(c_int32_t) :: keep_bits = 0
    integer(c_int32_t) :: checksum = 0
  end type ozarr_layout

  type, bind(c) :: ozarr_variable
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: type_ = 0
    integer(c_int32_t) :: rank = 0
    type(c_ptr) :: dimensions = c_null_ptr
    type(c_ptr) :: chunks = c_null_ptr
    type(c_ptr) :: spec = c_null_ptr
    type(c_ptr) :: units = c_null_ptr
    type(c_ptr) :: calendar = c_null_ptr
    type(c_ptr) :: long_name = c_null_ptr
    type(c_ptr) :: standard_name = c_null_ptr
    type(c_ptr) :: attributes = c_null_ptr
    type(c_ptr) :: missing = c_null_ptr
    real(c_double) :: scale_factor = 0
    real(c_double) :: add_offset = 0
    type(c_ptr) :: compressor = c_null_ptr
    integer(c_int32_t) :: level = 0
    integer(c_int32_t) :: shuffle = 0
    integer(c_int32_t) :: keep_bits = 0
    integer(c_int32_t) :: reserved = 0
  end type ozarr_variable

  type, bind(c) :: ozarr_request_options
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: flags = 0
    integer(c_int32_t) :: reserved = 0
    real(c_double) :: seconds = 0
    type(c_funptr) :: done = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
  end type ozarr_request_options

  type, bind(c) :: ozarr_info
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: chunks = 0
    integer(c_int64_t) :: possible_chunks = 0
    integer(c_int64_t) :: stored_bytes = 0
    integer(c_int64_t) :: element_bytes = 0
    real(c_double) :: ratio = 0
  end type ozarr_info

  type, bind(c) :: ozarr_batch_entry
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: array = c_null_ptr
    type(c_ptr) :: region = c_null_ptr
    type(c_ptr) :: memory = c_null_ptr
  end type ozarr_batch_entry

  type, bind(c) :: ozarr_explanation
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: chunks = 0
    integer(c_int64_t) :: whole_chunks = 0
    integer(c_int64_t) :: partial_chunks = 0
    integer(c_int64_t) :: changed_chunks = 0
    integer(c_int64_t) :: inner_chunks = 0
    integer(c_int64_t) :: partial_inner_chunks = 0
    integer(c_int64_t) :: reads = 0
    integer(c_int64_t) :: whole_reads = 0
    integer(c_int64_t) :: read_bytes = 0
    integer(c_int64_t) :: writes = 0
    integer(c_int64_t) :: decoded_bytes = 0
    integer(c_int64_t) :: direct_chunks = 0
    integer(c_int64_t) :: threads = 0
    integer(c_int64_t) :: thread_bytes = 0
    integer(c_int64_t) :: objects = 0
    integer(c_int64_t) :: fewer_objects = 0
  end type ozarr_explanation

  type, bind(c) :: ozarr_stats
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: reads = 0
    integer(c_int64_t) :: bytes_read = 0
    integer(c_int64_t) :: writes = 0
    integer(c_int64_t) :: bytes_written = 0
    integer(c_int64_t) :: erased = 0
    integer(c_int64_t) :: decoded_chunks = 0
    integer(c_int64_t) :: decoded_bytes = 0
    integer(c_int64_t) :: encoded_chunks = 0
    integer(c_int64_t) :: encoded_bytes = 0
    integer(c_int64_t) :: fill_chunks = 0
    integer(c_int64_t) :: copied_bytes = 0
    integer(c_int64_t) :: index_hits = 0
    integer(c_int64_t) :: index_reads = 0
    integer(c_int64_t) :: chunk_hits = 0
    integer(c_int64_t) :: retries = 0
    integer(c_int64_t) :: decode_ns = 0
    integer(c_int64_t) :: encode_ns = 0
  end type ozarr_stats

  type, bind(c) :: ozarr_summary
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: elements = 0
    integer(c_int64_t) :: missing = 0
    integer(c_int64_t) :: nan = 0
    integer(c_int64_t) :: infinite = 0
    integer(c_int64_t) :: count = 0
    real(c_double) :: min = 0
    real(c_double) :: max = 0
    real(c_double) :: mean = 0
    real(c_double) :: std = 0
    integer(c_int64_t) :: min_integer = 0
    integer(c_int64_t) :: max_integer = 0
  end type ozarr_summary

  type, bind(c) :: ozarr_comparison
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: elements = 0
    integer(c_int64_t) :: differing = 0
    real(c_double) :: largest_absolute = 0
    real(c_double) :: largest_relative = 0
  end type ozarr_comparison

  type, bind(c) :: ozarr_copy_options
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: zarr_format = 0
    integer(c_int32_t) :: mode = 0
    integer(c_int32_t) :: overflow = 0
    integer(c_int32_t) :: flags = 0
    integer(c_size_t) :: memory = 0
    type(c_ptr) :: spec = c_null_ptr
    type(c_funptr) :: change = c_null_funptr
    type(c_funptr) :: progress = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
  end type ozarr_copy_options

  type, bind(c) :: ozarr_verified
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: nodes = 0
    integer(c_int64_t) :: chunks = 0
    integer(c_int64_t) :: faults = 0
    integer(c_int64_t) :: repaired = 0
  end type ozarr_verified

  type, bind(c) :: ozarr_byte_range
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: offset = 0
    integer(c_int64_t) :: bytes = 0
  end type ozarr_byte_range

  type, bind(c) :: ozarr_store_table
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: flags = 0
    integer(c_int32_t) :: reserved = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: user = c_null_ptr
    type(c_funptr) :: destroy = c_null_funptr
    type(c_funptr) :: get = c_null_funptr
    type(c_funptr) :: get_ranges = c_null_funptr
    type(c_funptr) :: start_get_ranges = c_null_funptr
    type(c_funptr) :: put = c_null_funptr
    type(c_funptr) :: put_if = c_null_funptr
    type(c_funptr) :: erase = c_null_funptr
    type(c_funptr) :: erase_prefix = c_null_funptr
    type(c_funptr) :: list = c_null_funptr
    type(c_funptr) :: list_dir = c_null_funptr
    type(c_funptr) :: flush = c_null_funptr
  end type ozarr_store_table

  type, bind(c) :: ozarr_transformer_table
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: flags = 0
    integer(c_int32_t) :: reserved = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: user = c_null_ptr
    type(c_funptr) :: destroy = c_null_funptr
    type(c_funptr) :: open = c_null_funptr
  end type ozarr_transformer_table

  type, bind(c) :: ozarr_key_encoding_table
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: flags = 0
    integer(c_int32_t) :: reserved = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: user = c_null_ptr
    type(c_funptr) :: destroy = c_null_funptr
    type(c_funptr) :: check = c_null_funptr
    type(c_funptr) :: encode = c_null_funptr
    type(c_funptr) :: decode = c_null_funptr
  end type ozarr_key_encoding_table

  type, bind(c) :: ozarr_codec_table
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: flags = 0
    integer(c_int32_t) :: kind = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: id = c_null_ptr
    type(c_ptr) :: user = c_null_ptr
    type(c_funptr) :: destroy = c_null_funptr
    type(c_funptr) :: open = c_null_funptr
    type(c_funptr) :: close = c_null_funptr
    type(c_funptr) :: encoded_size = c_null_funptr
    type(c_funptr) :: encode = c_null_funptr
    type(c_funptr) :: decode = c_null_funptr
  end type ozarr_codec_table

  type, bind(c) :: ozarr_dtype_table
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: flags = 0
    integer(c_int32_t) :: type_ = 0
    integer(c_size_t) :: item_size = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: name_v2 = c_null_ptr
    type(c_ptr) :: user = c_null_ptr
    type(c_funptr) :: destroy = c_null_funptr
    type(c_funptr) :: encode = c_null_funptr
    type(c_funptr) :: decode = c_null_funptr
    type(c_funptr) :: fill_from_json = c_null_funptr
    type(c_funptr) :: fill_to_json = c_null_funptr
  end type ozarr_dtype_table

  interface
    function ozarr_status_name(status) bind(c, name="ozarr_status_name") result(r)
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: status
      type(c_ptr) :: r
    end function ozarr_status_name
    function ozarr_last_error() bind(c, name="ozarr_last_error") result(r)
      import :: c_ptr
      type(c_ptr) :: r
    end function ozarr_last_error
    function ozarr_last_error_in(order) bind(c, name="ozarr_last_error_in") result(r)
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: order
      type(c_ptr) :: r
    end function ozarr_last_error_in
    function ozarr_last_error_info(info) bind(c, name="ozarr_last_error_info") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: info
      integer(c_int32_t) :: r
    end function ozarr_last_error_info
    function ozarr_version() bind(c, name="ozarr_version") result(r)
      import :: c_ptr
      type(c_ptr) :: r
    end function ozarr_version
    function ozarr_abi_version() bind(c, name="ozarr_abi_version") result(r)
      import :: c_int32_t
      integer(c_int32_t) :: r
    end function ozarr_abi_version
    function ozarr_has_feature(name) bind(c, name="ozarr_has_feature") result(r)
      import :: c_bool, c_char
      character(kind=c_char), intent(in) :: name(*)
      logical(c_bool) :: r
    end function ozarr_has_feature
    function ozarr_context_new(out) bind(c, name="ozarr_context_new") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_context_new
    function ozarr_context_set(context, key, value) bind(c, name="ozarr_context_set") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: context
      character(kind=c_char), intent(in) :: key(*)
      character(kind=c_char), intent(in) :: value(*)
      integer(c_int32_t) :: r
    end function ozarr_context_set
    function ozarr_context_get(context, key, buf, cap, length) bind(c, name="ozarr_context_get") result(r)
      import :: c_char, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: context
      character(kind=c_char), intent(in) :: key(*)
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_context_get
    function ozarr_context_set_log(context, level, fn, user) bind(c, name="ozarr_context_set_log") result(r)
      import :: c_funptr, c_int32_t, c_ptr
      type(c_ptr), value :: context
      integer(c_int32_t), value :: level
      type(c_funptr), value :: fn
      type(c_ptr), value :: user
      integer(c_int32_t) :: r
    end function ozarr_context_set_log
    subroutine ozarr_context_free(context) bind(c, name="ozarr_context_free")
      import :: c_ptr
      type(c_ptr), value :: context
    end subroutine ozarr_context_free
    function ozarr_array_create(location, type_, rank, shape, chunks, mode, out) bind(c, &
      name="ozarr_array_create") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      character(kind=c_char), intent(in) :: location(*)
      integer(c_int32_t), value :: type_
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in) :: shape(*)
      integer(c_int64_t), intent(in), optional :: chunks(*)
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_create
    function ozarr_array_open(location, mode, out) bind(c, name="ozarr_array_open") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: location(*)
      character(kind=c_char), intent(in) :: mode(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_open
    function ozarr_array_read(array, type_, data, bytes) bind(c, name="ozarr_array_read") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_array_read
    function ozarr_array_write(array, type_, data, bytes) bind(c, name="ozarr_array_write") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_array_write
    function ozarr_array_read_region(array, start, shape, type_, data, bytes) bind(c, &
      name="ozarr_array_read_region") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int64_t), intent(in) :: shape(*)
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_array_read_region
    function ozarr_array_write_region(array, start, shape, type_, data, bytes) bind(c, &
      name="ozarr_array_write_region") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int64_t), intent(in) :: shape(*)
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_array_write_region
    function ozarr_array_close(array) bind(c, name="ozarr_array_close") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int32_t) :: r
    end function ozarr_array_close
    subroutine ozarr_array_free(array) bind(c, name="ozarr_array_free")
      import :: c_ptr
      type(c_ptr), value :: array
    end subroutine ozarr_array_free
    function ozarr_array_rank(array, rank) bind(c, name="ozarr_array_rank") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int32_t), intent(inout) :: rank
      integer(c_int32_t) :: r
    end function ozarr_array_rank
    function ozarr_array_shape(array, shape) bind(c, name="ozarr_array_shape") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(inout) :: shape(*)
      integer(c_int32_t) :: r
    end function ozarr_array_shape
    function ozarr_array_chunk_shape(array, shape) bind(c, name="ozarr_array_chunk_shape") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(inout) :: shape(*)
      integer(c_int32_t) :: r
    end function ozarr_array_chunk_shape
    function ozarr_array_inner_chunk_shape(array, shape) bind(c, name="ozarr_array_inner_chunk_shape") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(inout) :: shape(*)
      integer(c_int32_t) :: r
    end function ozarr_array_inner_chunk_shape
    function ozarr_array_type(array, type_) bind(c, name="ozarr_array_type") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int32_t), intent(inout) :: type_
      integer(c_int32_t) :: r
    end function ozarr_array_type
    function ozarr_array_item_size(array, bytes) bind(c, name="ozarr_array_item_size") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_size_t), intent(inout) :: bytes
      integer(c_int32_t) :: r
    end function ozarr_array_item_size
    function ozarr_array_dimension_name(array, dim, buf, cap, length, named) bind(c, &
      name="ozarr_array_dimension_name") result(r)
      import :: c_bool, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: dim
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      logical(c_bool), intent(inout), optional :: named
      integer(c_int32_t) :: r
    end function ozarr_array_dimension_name
    function ozarr_array_set_dimension_names(array, names) bind(c, name="ozarr_array_set_dimension_names") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), intent(in), optional :: names(*)
      integer(c_int32_t) :: r
    end function ozarr_array_set_dimension_names
    function ozarr_array_fill_value(array, value, bytes, defined) bind(c, name="ozarr_array_fill_value") result(r)
      import :: c_bool, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      type(c_ptr), value :: value
      integer(c_size_t), value :: bytes
      logical(c_bool), intent(inout), optional :: defined
      integer(c_int32_t) :: r
    end function ozarr_array_fill_value
    function ozarr_array_resize(array, shape, flags) bind(c, name="ozarr_array_resize") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: shape(*)
      integer(c_int32_t), value :: flags
      integer(c_int32_t) :: r
    end function ozarr_array_resize
    function ozarr_array_append(array, dim, count, type_, data, bytes) bind(c, name="ozarr_array_append") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: dim
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_array_append
    function ozarr_array_read_ex(array, region, memory) bind(c, name="ozarr_array_read_ex") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      type(c_ptr), value :: memory
      integer(c_int32_t) :: r
    end function ozarr_array_read_ex
    function ozarr_array_write_ex(array, region, memory) bind(c, name="ozarr_array_write_ex") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      type(c_ptr), value :: memory
      integer(c_int32_t) :: r
    end function ozarr_array_write_ex
    function ozarr_attr_count(node, count) bind(c, name="ozarr_attr_count") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: node
      integer(c_int64_t), intent(inout) :: count
      integer(c_int32_t) :: r
    end function ozarr_attr_count
    function ozarr_attr_name(node, index, buf, cap, length) bind(c, name="ozarr_attr_name") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: node
      integer(c_int64_t), value :: index
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_attr_name
    function ozarr_attr_kind(node, name, kind) bind(c, name="ozarr_attr_kind") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), intent(inout) :: kind
      integer(c_int32_t) :: r
    end function ozarr_attr_kind
    function ozarr_attr_get_int64(node, name, value) bind(c, name="ozarr_attr_get_int64") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(inout) :: value
      integer(c_int32_t) :: r
    end function ozarr_attr_get_int64
    function ozarr_attr_get_double(node, name, value) bind(c, name="ozarr_attr_get_double") result(r)
      import :: c_char, c_double, c_int32_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), intent(inout) :: value
      integer(c_int32_t) :: r
    end function ozarr_attr_get_double
    function ozarr_attr_get_bool(node, name, value) bind(c, name="ozarr_attr_get_bool") result(r)
      import :: c_bool, c_char, c_int32_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      logical(c_bool), intent(inout) :: value
      integer(c_int32_t) :: r
    end function ozarr_attr_get_bool
    function ozarr_attr_get_string(node, name, buf, cap, length) bind(c, name="ozarr_attr_get_string") result(r)
      import :: c_char, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_attr_get_string
    function ozarr_attr_get_strings(node, name, buf, cap, length, count) bind(c, &
      name="ozarr_attr_get_strings") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int64_t), intent(inout), optional :: count
      integer(c_int32_t) :: r
    end function ozarr_attr_get_strings
    function ozarr_attr_get_numbers(node, name, type_, values, cap, count) bind(c, &
      name="ozarr_attr_get_numbers") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: values
      integer(c_int64_t), value :: cap
      integer(c_int64_t), intent(inout) :: count
      integer(c_int32_t) :: r
    end function ozarr_attr_get_numbers
    function ozarr_attr_get_json(node, name, buf, cap, length) bind(c, name="ozarr_attr_get_json") result(r)
      import :: c_char, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_attr_get_json
    function ozarr_attr_set_int64(node, name, value) bind(c, name="ozarr_attr_set_int64") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: value
      integer(c_int32_t) :: r
    end function ozarr_attr_set_int64
    function ozarr_attr_set_double(node, name, value) bind(c, name="ozarr_attr_set_double") result(r)
      import :: c_char, c_double, c_int32_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: value
      integer(c_int32_t) :: r
    end function ozarr_attr_set_double
    function ozarr_attr_set_bool(node, name, value) bind(c, name="ozarr_attr_set_bool") result(r)
      import :: c_bool, c_char, c_int32_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      logical(c_bool), value :: value
      integer(c_int32_t) :: r
    end function ozarr_attr_set_bool
    function ozarr_attr_set_string(node, name, value) bind(c, name="ozarr_attr_set_string") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      character(kind=c_char), intent(in) :: value(*)
      integer(c_int32_t) :: r
    end function ozarr_attr_set_string
    function ozarr_attr_set_strings(node, name, values, count) bind(c, name="ozarr_attr_set_strings") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(in) :: values(*)
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: r
    end function ozarr_attr_set_strings
    function ozarr_attr_set_numbers(node, name, type_, values, count) bind(c, &
      name="ozarr_attr_set_numbers") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: values
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: r
    end function ozarr_attr_set_numbers
    function ozarr_attr_set_json(node, name, json) bind(c, name="ozarr_attr_set_json") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      character(kind=c_char), intent(in) :: json(*)
      integer(c_int32_t) :: r
    end function ozarr_attr_set_json
    function ozarr_attr_erase(node, name) bind(c, name="ozarr_attr_erase") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t) :: r
    end function ozarr_attr_erase
    function ozarr_attrs_get(node, buf, cap, length) bind(c, name="ozarr_attrs_get") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: node
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_attrs_get
    function ozarr_attrs_set(node, json) bind(c, name="ozarr_attrs_set") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: json(*)
      integer(c_int32_t) :: r
    end function ozarr_attrs_set
    function ozarr_attrs_begin(node) bind(c, name="ozarr_attrs_begin") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: node
      integer(c_int32_t) :: r
    end function ozarr_attrs_begin
    function ozarr_attrs_commit(node) bind(c, name="ozarr_attrs_commit") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: node
      integer(c_int32_t) :: r
    end function ozarr_attrs_commit
    function ozarr_group_create(location, mode, out) bind(c, name="ozarr_group_create") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: location(*)
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_group_create
    function ozarr_group_open(location, mode, out) bind(c, name="ozarr_group_open") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: location(*)
      character(kind=c_char), intent(in) :: mode(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_group_open
    function ozarr_group_create_group(group, path, mode, out) bind(c, name="ozarr_group_create_group") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_group_create_group
    function ozarr_group_open_group(group, path, out) bind(c, name="ozarr_group_open_group") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_group_open_group
    function ozarr_group_create_array(group, path, spec, mode, out) bind(c, &
      name="ozarr_group_create_array") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: spec
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_group_create_array
    function ozarr_group_open_array(group, path, out) bind(c, name="ozarr_group_open_array") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_group_open_array
    function ozarr_group_consolidate(group) bind(c, name="ozarr_group_consolidate") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: group
      integer(c_int32_t) :: r
    end function ozarr_group_consolidate
    function ozarr_group_close(group) bind(c, name="ozarr_group_close") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: group
      integer(c_int32_t) :: r
    end function ozarr_group_close
    subroutine ozarr_group_free(group) bind(c, name="ozarr_group_free")
      import :: c_ptr
      type(c_ptr), value :: group
    end subroutine ozarr_group_free
    function ozarr_group_put(group, path, type_, rank, shape, data, bytes) bind(c, name="ozarr_group_put") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), value :: type_
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_group_put
    function ozarr_group_get(group, path, type_, data, bytes) bind(c, name="ozarr_group_get") result(r)
      import :: c_char, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_group_get
    function ozarr_group_list_nodes(group, pattern, depth, out) bind(c, name="ozarr_group_list_nodes") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: group
      character(kind=c_char), intent(in), optional :: pattern(*)
      integer(c_int32_t), value :: depth
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_group_list_nodes
    function ozarr_node_iter_next(iter, more) bind(c, name="ozarr_node_iter_next") result(r)
      import :: c_bool, c_int32_t, c_ptr
      type(c_ptr), value :: iter
      logical(c_bool), intent(inout) :: more
      integer(c_int32_t) :: r
    end function ozarr_node_iter_next
    function ozarr_node_iter_name(iter, buf, cap, length) bind(c, name="ozarr_node_iter_name") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: iter
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_node_iter_name
    function ozarr_node_iter_kind(iter, kind) bind(c, name="ozarr_node_iter_kind") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: iter
      integer(c_int32_t), intent(inout) :: kind
      integer(c_int32_t) :: r
    end function ozarr_node_iter_kind
    function ozarr_node_iter_error(iter, buf, cap, length) bind(c, name="ozarr_node_iter_error") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: iter
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_node_iter_error
    subroutine ozarr_node_iter_free(iter) bind(c, name="ozarr_node_iter_free")
      import :: c_ptr
      type(c_ptr), value :: iter
    end subroutine ozarr_node_iter_free
    function ozarr_array_node(array) bind(c, name="ozarr_array_node") result(r)
      import :: c_ptr
      type(c_ptr), value :: array
      type(c_ptr) :: r
    end function ozarr_array_node
    function ozarr_group_node(group) bind(c, name="ozarr_group_node") result(r)
      import :: c_ptr
      type(c_ptr), value :: group
      type(c_ptr) :: r
    end function ozarr_group_node
    function ozarr_node_open(location, mode, array, group) bind(c, name="ozarr_node_open") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: location(*)
      character(kind=c_char), intent(in) :: mode(*)
      type(c_ptr), intent(inout) :: array
      type(c_ptr), intent(inout) :: group
      integer(c_int32_t) :: r
    end function ozarr_node_open
    function ozarr_node_erase(location) bind(c, name="ozarr_node_erase") result(r)
      import :: c_char, c_int32_t
      character(kind=c_char), intent(in) :: location(*)
      integer(c_int32_t) :: r
    end function ozarr_node_erase
    function ozarr_node_path(node, buf, cap, length) bind(c, name="ozarr_node_path") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: node
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_node_path
    function ozarr_node_metadata(node, buf, cap, length) bind(c, name="ozarr_node_metadata") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: node
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_node_metadata
    function ozarr_node_zarr_format(node, format) bind(c, name="ozarr_node_zarr_format") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: node
      integer(c_int32_t), intent(inout) :: format
      integer(c_int32_t) :: r
    end function ozarr_node_zarr_format
    function ozarr_node_set(node, key, value) bind(c, name="ozarr_node_set") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: key(*)
      character(kind=c_char), intent(in) :: value(*)
      integer(c_int32_t) :: r
    end function ozarr_node_set
    function ozarr_node_get(node, key, buf, cap, length) bind(c, name="ozarr_node_get") result(r)
      import :: c_char, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: key(*)
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_node_get
    function ozarr_node_refresh(node, data, bytes) bind(c, name="ozarr_node_refresh") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: node
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_node_refresh
    function ozarr_node_flush(node) bind(c, name="ozarr_node_flush") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: node
      integer(c_int32_t) :: r
    end function ozarr_node_flush
    function ozarr_spec_new(type_, rank, shape, out) bind(c, name="ozarr_spec_new") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      integer(c_int32_t), value :: type_
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in), optional :: shape(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_spec_new
    function ozarr_spec_set_shape(spec, shape) bind(c, name="ozarr_spec_set_shape") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: spec
      integer(c_int64_t), intent(in) :: shape(*)
      integer(c_int32_t) :: r
    end function ozarr_spec_set_shape
    function ozarr_spec_from_json(document, out) bind(c, name="ozarr_spec_from_json") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: document(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_spec_from_json
    function ozarr_array_create_ex(location, spec, mode, out) bind(c, name="ozarr_array_create_ex") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: location(*)
      type(c_ptr), value :: spec
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_create_ex
    function ozarr_spec_set_zarr_format(spec, format) bind(c, name="ozarr_spec_set_zarr_format") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: spec
      integer(c_int32_t), value :: format
      integer(c_int32_t) :: r
    end function ozarr_spec_set_zarr_format
    function ozarr_spec_set_chunks(spec, chunks) bind(c, name="ozarr_spec_set_chunks") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: spec
      integer(c_int64_t), intent(in) :: chunks(*)
      integer(c_int32_t) :: r
    end function ozarr_spec_set_chunks
    function ozarr_spec_set_chunk_extents(spec, dim, extents, count) bind(c, &
      name="ozarr_spec_set_chunk_extents") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: spec
      integer(c_int32_t), value :: dim
      integer(c_int64_t), intent(in) :: extents(*)
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: r
    end function ozarr_spec_set_chunk_extents
    function ozarr_spec_set_inner_chunks(spec, chunks) bind(c, name="ozarr_spec_set_inner_chunks") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: spec
      integer(c_int64_t), intent(in), optional :: chunks(*)
      integer(c_int32_t) :: r
    end function ozarr_spec_set_inner_chunks
    function ozarr_spec_set_type(spec, type_) bind(c, name="ozarr_spec_set_type") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: spec
      integer(c_int32_t), value :: type_
      integer(c_int32_t) :: r
    end function ozarr_spec_set_type
    function ozarr_spec_set_fill_value(spec, type_, value) bind(c, name="ozarr_spec_set_fill_value") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: spec
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: value
      integer(c_int32_t) :: r
    end function ozarr_spec_set_fill_value
    function ozarr_spec_set_member_json(spec, name, json) bind(c, name="ozarr_spec_set_member_json") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: spec
      character(kind=c_char), intent(in) :: name(*)
      character(kind=c_char), intent(in) :: json(*)
      integer(c_int32_t) :: r
    end function ozarr_spec_set_member_json
    function ozarr_spec_set_dimension_names(spec, names) bind(c, name="ozarr_spec_set_dimension_names") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: spec
      type(c_ptr), intent(in) :: names(*)
      integer(c_int32_t) :: r
    end function ozarr_spec_set_dimension_names
    function ozarr_spec_set_order(spec, order) bind(c, name="ozarr_spec_set_order") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: spec
      integer(c_int32_t), value :: order
      integer(c_int32_t) :: r
    end function ozarr_spec_set_order
    function ozarr_spec_set_big_endian(spec, big) bind(c, name="ozarr_spec_set_big_endian") result(r)
      import :: c_bool, c_int32_t, c_ptr
      type(c_ptr), value :: spec
      logical(c_bool), value :: big
      integer(c_int32_t) :: r
    end function ozarr_spec_set_big_endian
    function ozarr_spec_set_separator(spec, separator) bind(c, name="ozarr_spec_set_separator") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: spec
      character(kind=c_char), intent(in) :: separator(*)
      integer(c_int32_t) :: r
    end function ozarr_spec_set_separator
    function ozarr_spec_set_compressor(spec, name, level) bind(c, name="ozarr_spec_set_compressor") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: spec
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: level
      integer(c_int32_t) :: r
    end function ozarr_spec_set_compressor
    function ozarr_spec_set_shuffle(spec, shuffle) bind(c, name="ozarr_spec_set_shuffle") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: spec
      integer(c_int32_t), value :: shuffle
      integer(c_int32_t) :: r
    end function ozarr_spec_set_shuffle
    function ozarr_spec_set_keep_bits(spec, bits) bind(c, name="ozarr_spec_set_keep_bits") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: spec
      integer(c_int32_t), value :: bits
      integer(c_int32_t) :: r
    end function ozarr_spec_set_keep_bits
    function ozarr_spec_set_zfp(spec, mode, parameter) bind(c, name="ozarr_spec_set_zfp") result(r)
      import :: c_double, c_int32_t, c_ptr
      type(c_ptr), value :: spec
      integer(c_int32_t), value :: mode
      real(c_double), value :: parameter
      integer(c_int32_t) :: r
    end function ozarr_spec_set_zfp
    function ozarr_spec_set_checksum(spec, checksum) bind(c, name="ozarr_spec_set_checksum") result(r)
      import :: c_bool, c_int32_t, c_ptr
      type(c_ptr), value :: spec
      logical(c_bool), value :: checksum
      integer(c_int32_t) :: r
    end function ozarr_spec_set_checksum
    function ozarr_spec_to_json(spec, buf, cap, length) bind(c, name="ozarr_spec_to_json") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: spec
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_spec_to_json
    function ozarr_spec_suggest(spec, buf, cap, length) bind(c, name="ozarr_spec_suggest") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: spec
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_spec_suggest
    subroutine ozarr_spec_free(spec) bind(c, name="ozarr_spec_free")
      import :: c_ptr
      type(c_ptr), value :: spec
    end subroutine ozarr_spec_free
    function ozarr_spec_new_ex(type_, rank, shape, layout, out) bind(c, name="ozarr_spec_new_ex") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      integer(c_int32_t), value :: type_
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in), optional :: shape(*)
      type(c_ptr), value :: layout
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_spec_new_ex
    function ozarr_dtype_parse(text, format, out) bind(c, name="ozarr_dtype_parse") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int32_t), value :: format
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_dtype_parse
    function ozarr_dtype_of(type_, out) bind(c, name="ozarr_dtype_of") result(r)
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: type_
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_dtype_of
    function ozarr_dtype_chars(bytes, pad, out) bind(c, name="ozarr_dtype_chars") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      integer(c_size_t), value :: bytes
      integer(c_int32_t), value :: pad
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_dtype_chars
    function ozarr_dtype_struct(bytes, out) bind(c, name="ozarr_dtype_struct") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_dtype_struct
    function ozarr_dtype_add_field(dtype, name, offset, field, rank, shape) bind(c, &
      name="ozarr_dtype_add_field") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: dtype
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: offset
      type(c_ptr), value :: field
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in) :: shape(*)
      integer(c_int32_t) :: r
    end function ozarr_dtype_add_field
    subroutine ozarr_dtype_free(dtype) bind(c, name="ozarr_dtype_free")
      import :: c_ptr
      type(c_ptr), value :: dtype
    end subroutine ozarr_dtype_free
    function ozarr_array_copy_dtype(array, out) bind(c, name="ozarr_array_copy_dtype") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_copy_dtype
    function ozarr_spec_new_dtype(dtype, rank, shape, out) bind(c, name="ozarr_spec_new_dtype") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: dtype
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in), optional :: shape(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_spec_new_dtype
    function ozarr_spec_set_fill_dtype(spec, dtype, value, bytes) bind(c, &
      name="ozarr_spec_set_fill_dtype") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: spec
      type(c_ptr), value :: dtype
      type(c_ptr), value :: value
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_spec_set_fill_dtype
    function ozarr_dataset_create(location, zarr_format, mode, out) bind(c, name="ozarr_dataset_create") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: location(*)
      integer(c_int32_t), value :: zarr_format
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_dataset_create
    function ozarr_dataset_open(location, mode, out) bind(c, name="ozarr_dataset_open") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: location(*)
      character(kind=c_char), intent(in) :: mode(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_dataset_open
    function ozarr_group_open_dataset(group, out) bind(c, name="ozarr_group_open_dataset") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_group_open_dataset
    function ozarr_dataset_open_group(dataset, out) bind(c, name="ozarr_dataset_open_group") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: dataset
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_dataset_open_group
    function ozarr_dataset_define_dimension(dataset, name, length) bind(c, &
      name="ozarr_dataset_define_dimension") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: dataset
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: length
      integer(c_int32_t) :: r
    end function ozarr_dataset_define_dimension
    function ozarr_dataset_resize_dimension(dataset, name, length) bind(c, &
      name="ozarr_dataset_resize_dimension") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: dataset
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: length
      integer(c_int32_t) :: r
    end function ozarr_dataset_resize_dimension
    function ozarr_dataset_dimension_count(dataset, count) bind(c, name="ozarr_dataset_dimension_count") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: dataset
      integer(c_int64_t), intent(inout) :: count
      integer(c_int32_t) :: r
    end function ozarr_dataset_dimension_count
    function ozarr_dataset_dimension(dataset, index, buf, cap, length, extent) bind(c, &
      name="ozarr_dataset_dimension") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: dataset
      integer(c_int64_t), value :: index
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int64_t), intent(inout), optional :: extent
      integer(c_int32_t) :: r
    end function ozarr_dataset_dimension
    function ozarr_dataset_dimension_length(dataset, name, length, longest) bind(c, &
      name="ozarr_dataset_dimension_length") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: dataset
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(inout) :: length
      integer(c_int64_t), intent(inout), optional :: longest
      integer(c_int32_t) :: r
    end function ozarr_dataset_dimension_length
    function ozarr_dataset_define_variable(dataset, name, type_, rank, dimensions, out) bind(c, &
      name="ozarr_dataset_define_variable") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: dataset
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: type_
      integer(c_int32_t), value :: rank
      type(c_ptr), intent(in) :: dimensions(*)
      type(c_ptr), intent(inout), optional :: out
      integer(c_int32_t) :: r
    end function ozarr_dataset_define_variable
    function ozarr_dataset_define_variable_ex(dataset, name, variable, mode, out) bind(c, &
      name="ozarr_dataset_define_variable_ex") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: dataset
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: variable
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout), optional :: out
      integer(c_int32_t) :: r
    end function ozarr_dataset_define_variable_ex
    function ozarr_dataset_define_coordinate(dataset, name, type_, length, chunk, data, bytes, units, out) bind(c, &
      name="ozarr_dataset_define_coordinate") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: dataset
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: type_
      integer(c_int64_t), value :: length
      integer(c_int64_t), value :: chunk
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      character(kind=c_char), intent(in), optional :: units(*)
      type(c_ptr), intent(inout), optional :: out
      integer(c_int32_t) :: r
    end function ozarr_dataset_define_coordinate
    function ozarr_dataset_define_time(dataset, name, length, chunk, units, calendar, out) bind(c, &
      name="ozarr_dataset_define_time") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: dataset
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: length
      integer(c_int64_t), value :: chunk
      character(kind=c_char), intent(in) :: units(*)
      character(kind=c_char), intent(in), optional :: calendar(*)
      type(c_ptr), intent(inout), optional :: out
      integer(c_int32_t) :: r
    end function ozarr_dataset_define_time
    function ozarr_dataset_set_coordinate(dataset, name) bind(c, name="ozarr_dataset_set_coordinate") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: dataset
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t) :: r
    end function ozarr_dataset_set_coordinate
    function ozarr_dataset_variable_count(dataset, count) bind(c, name="ozarr_dataset_variable_count") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: dataset
      integer(c_int64_t), intent(inout) :: count
      integer(c_int32_t) :: r
    end function ozarr_dataset_variable_count
    function ozarr_dataset_variable(dataset, index, buf, cap, length, coordinate) bind(c, &
      name="ozarr_dataset_variable") result(r)
      import :: c_bool, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: dataset
      integer(c_int64_t), value :: index
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      logical(c_bool), intent(inout), optional :: coordinate
      integer(c_int32_t) :: r
    end function ozarr_dataset_variable
    function ozarr_dataset_open_variable(dataset, name, out) bind(c, name="ozarr_dataset_open_variable") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: dataset
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_dataset_open_variable
    function ozarr_dataset_close(dataset) bind(c, name="ozarr_dataset_close") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: dataset
      integer(c_int32_t) :: r
    end function ozarr_dataset_close
    subroutine ozarr_dataset_free(dataset) bind(c, name="ozarr_dataset_free")
      import :: c_ptr
      type(c_ptr), value :: dataset
    end subroutine ozarr_dataset_free
    function ozarr_array_read_unpacked(array, region, memory) bind(c, name="ozarr_array_read_unpacked") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      type(c_ptr), value :: memory
      integer(c_int32_t) :: r
    end function ozarr_array_read_unpacked
    function ozarr_array_write_packed(array, region, memory) bind(c, name="ozarr_array_write_packed") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      type(c_ptr), value :: memory
      integer(c_int32_t) :: r
    end function ozarr_array_write_packed
    function ozarr_array_read_times(array, region, units, counts, bytes) bind(c, &
      name="ozarr_array_read_times") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      character(kind=c_char), intent(in) :: units(*)
      integer(c_int64_t), intent(inout) :: counts(*)
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_array_read_times
    function ozarr_array_write_times(array, region, units, counts, bytes) bind(c, &
      name="ozarr_array_write_times") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      character(kind=c_char), intent(in) :: units(*)
      integer(c_int64_t), intent(in) :: counts(*)
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_array_write_times
    function ozarr_array_missing_value(array, value, bytes, defined) bind(c, &
      name="ozarr_array_missing_value") result(r)
      import :: c_bool, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      type(c_ptr), value :: value
      integer(c_size_t), value :: bytes
      logical(c_bool), intent(inout) :: defined
      integer(c_int32_t) :: r
    end function ozarr_array_missing_value
    function ozarr_time_to_text(units, calendar, count, buf, cap, length) bind(c, &
      name="ozarr_time_to_text") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr, c_size_t
      character(kind=c_char), intent(in) :: units(*)
      character(kind=c_char), intent(in), optional :: calendar(*)
      integer(c_int64_t), value :: count
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_time_to_text
    function ozarr_time_from_text(units, calendar, moment, count) bind(c, name="ozarr_time_from_text") result(r)
      import :: c_char, c_int32_t, c_int64_t
      character(kind=c_char), intent(in) :: units(*)
      character(kind=c_char), intent(in), optional :: calendar(*)
      character(kind=c_char), intent(in) :: moment(*)
      integer(c_int64_t), intent(inout) :: count
      integer(c_int32_t) :: r
    end function ozarr_time_from_text
    function ozarr_series_open(dataset, dimension, keep, publish_every, memory, out) bind(c, &
      name="ozarr_series_open") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: dataset
      character(kind=c_char), intent(in) :: dimension(*)
      integer(c_int64_t), value :: keep
      integer(c_int64_t), value :: publish_every
      integer(c_size_t), value :: memory
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_series_open
    function ozarr_series_put(series, name, type_, data, bytes) bind(c, name="ozarr_series_put") result(r)
      import :: c_char, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: series
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_series_put
    function ozarr_series_put_ex(series, name, memory) bind(c, name="ozarr_series_put_ex") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: series
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: memory
      integer(c_int32_t) :: r
    end function ozarr_series_put_ex
    function ozarr_series_step(series, value, count, names, memories) bind(c, name="ozarr_series_step") result(r)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: series
      real(c_double), value :: value
      integer(c_int64_t), value :: count
      type(c_ptr), intent(in), optional :: names(*)
      type(c_ptr), value :: memories
      integer(c_int32_t) :: r
    end function ozarr_series_step
    function ozarr_series_position(series, position, published) bind(c, name="ozarr_series_position") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: series
      integer(c_int64_t), intent(inout), optional :: position
      integer(c_int64_t), intent(inout), optional :: published
      integer(c_int32_t) :: r
    end function ozarr_series_position
    function ozarr_series_flush(series) bind(c, name="ozarr_series_flush") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: series
      integer(c_int32_t) :: r
    end function ozarr_series_flush
    function ozarr_series_close(series) bind(c, name="ozarr_series_close") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: series
      integer(c_int32_t) :: r
    end function ozarr_series_close
    subroutine ozarr_series_free(series) bind(c, name="ozarr_series_free")
      import :: c_ptr
      type(c_ptr), value :: series
    end subroutine ozarr_series_free
    function ozarr_dataset_wait_growth(dataset, dimension, beyond, seconds, length) bind(c, &
      name="ozarr_dataset_wait_growth") result(r)
      import :: c_char, c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: dataset
      character(kind=c_char), intent(in) :: dimension(*)
      integer(c_int64_t), value :: beyond
      real(c_double), value :: seconds
      integer(c_int64_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_dataset_wait_growth
    function ozarr_checkpoint_begin(location, name, out) bind(c, name="ozarr_checkpoint_begin") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: location(*)
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_checkpoint_begin
    function ozarr_checkpoint_commit(group) bind(c, name="ozarr_checkpoint_commit") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: group
      integer(c_int32_t) :: r
    end function ozarr_checkpoint_commit
    function ozarr_checkpoint_abandon(group) bind(c, name="ozarr_checkpoint_abandon") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: group
      integer(c_int32_t) :: r
    end function ozarr_checkpoint_abandon
    function ozarr_checkpoint_latest(location, out) bind(c, name="ozarr_checkpoint_latest") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: location(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_checkpoint_latest
    function ozarr_checkpoint_list(location, out) bind(c, name="ozarr_checkpoint_list") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: location(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_checkpoint_list
    function ozarr_checkpoint_prune(location, keep) bind(c, name="ozarr_checkpoint_prune") result(r)
      import :: c_char, c_int32_t, c_int64_t
      character(kind=c_char), intent(in) :: location(*)
      integer(c_int64_t), value :: keep
      integer(c_int32_t) :: r
    end function ozarr_checkpoint_prune
    function ozarr_array_partition(array, region, workers, index, flags, start, shape) bind(c, &
      name="ozarr_array_partition") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      integer(c_int64_t), value :: workers
      integer(c_int64_t), value :: index
      integer(c_int32_t), value :: flags
      integer(c_int64_t), intent(inout) :: start(*)
      integer(c_int64_t), intent(inout) :: shape(*)
      integer(c_int32_t) :: r
    end function ozarr_array_partition
    function ozarr_node_export(node, buf, cap, length) bind(c, name="ozarr_node_export") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: node
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_node_export
    function ozarr_node_import(location, mode, data, bytes, array, group) bind(c, &
      name="ozarr_node_import") result(r)
      import :: c_char, c_int32_t, c_ptr, c_size_t
      character(kind=c_char), intent(in) :: location(*)
      character(kind=c_char), intent(in) :: mode(*)
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(inout) :: array
      type(c_ptr), intent(inout) :: group
      integer(c_int32_t) :: r
    end function ozarr_node_import
    function ozarr_node_import_at(store, data, bytes, array, group) bind(c, name="ozarr_node_import_at") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: store
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(inout) :: array
      type(c_ptr), intent(inout) :: group
      integer(c_int32_t) :: r
    end function ozarr_node_import_at
    function ozarr_array_iread_region(array, start, shape, type_, data, bytes, out) bind(c, &
      name="ozarr_array_iread_region") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int64_t), intent(in) :: shape(*)
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_iread_region
    function ozarr_array_iwrite_region(array, start, shape, type_, data, bytes, flags, out) bind(c, &
      name="ozarr_array_iwrite_region") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int64_t), intent(in) :: shape(*)
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t), value :: flags
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_iwrite_region
    function ozarr_array_iread_ex(array, region, memory, options, out) bind(c, &
      name="ozarr_array_iread_ex") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      type(c_ptr), value :: memory
      type(c_ptr), value :: options
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_iread_ex
    function ozarr_array_iwrite_ex(array, region, memory, options, out) bind(c, &
      name="ozarr_array_iwrite_ex") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      type(c_ptr), value :: memory
      type(c_ptr), value :: options
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_iwrite_ex
    function ozarr_request_test(request, done) bind(c, name="ozarr_request_test") result(r)
      import :: c_bool, c_int32_t, c_ptr
      type(c_ptr), value :: request
      logical(c_bool), intent(inout) :: done
      integer(c_int32_t) :: r
    end function ozarr_request_test
    function ozarr_request_wait(request, seconds) bind(c, name="ozarr_request_wait") result(r)
      import :: c_double, c_int32_t, c_ptr
      type(c_ptr), value :: request
      real(c_double), value :: seconds
      integer(c_int32_t) :: r
    end function ozarr_request_wait
    function ozarr_request_cancel(request) bind(c, name="ozarr_request_cancel") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: request
      integer(c_int32_t) :: r
    end function ozarr_request_cancel
    subroutine ozarr_request_free(request) bind(c, name="ozarr_request_free")
      import :: c_ptr
      type(c_ptr), value :: request
    end subroutine ozarr_request_free
    function ozarr_request_get_state(request, state) bind(c, name="ozarr_request_get_state") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: request
      integer(c_int32_t), intent(inout) :: state
      integer(c_int32_t) :: r
    end function ozarr_request_get_state
    function ozarr_request_error(request, info) bind(c, name="ozarr_request_error") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: request
      type(c_ptr), value :: info
      integer(c_int32_t) :: r
    end function ozarr_request_error
    function ozarr_requests_wait_all(requests, count, seconds, statuses) bind(c, &
      name="ozarr_requests_wait_all") result(r)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), intent(in) :: requests(*)
      integer(c_int64_t), value :: count
      real(c_double), value :: seconds
      integer(c_int32_t), intent(inout), optional :: statuses(*)
      integer(c_int32_t) :: r
    end function ozarr_requests_wait_all
    function ozarr_requests_wait_any(requests, count, seconds, index) bind(c, &
      name="ozarr_requests_wait_any") result(r)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), intent(in) :: requests(*)
      integer(c_int64_t), value :: count
      real(c_double), value :: seconds
      integer(c_int64_t), intent(inout) :: index
      integer(c_int32_t) :: r
    end function ozarr_requests_wait_any
    function ozarr_shutdown() bind(c, name="ozarr_shutdown") result(r)
      import :: c_int32_t
      integer(c_int32_t) :: r
    end function ozarr_shutdown
    function ozarr_store_open(location, mode, out) bind(c, name="ozarr_store_open") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: location(*)
      character(kind=c_char), intent(in) :: mode(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_store_open
    function ozarr_store_open_ex(context, location, mode, options, out) bind(c, &
      name="ozarr_store_open_ex") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: context
      character(kind=c_char), intent(in) :: location(*)
      character(kind=c_char), intent(in) :: mode(*)
      type(c_ptr), intent(in), optional :: options(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_store_open_ex
    function ozarr_store_memory(out) bind(c, name="ozarr_store_memory") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_store_memory
    function ozarr_array_create_at(store, path, spec, mode, out) bind(c, name="ozarr_array_create_at") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: spec
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_create_at
    function ozarr_array_open_at(store, path, out) bind(c, name="ozarr_array_open_at") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_open_at
    function ozarr_group_create_at(store, path, zarr_format, mode, out) bind(c, &
      name="ozarr_group_create_at") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), value :: zarr_format
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_group_create_at
    function ozarr_group_open_at(store, path, out) bind(c, name="ozarr_group_open_at") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_group_open_at
    function ozarr_store_node_kind(store, path, kind) bind(c, name="ozarr_store_node_kind") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), intent(inout) :: kind
      integer(c_int32_t) :: r
    end function ozarr_store_node_kind
    function ozarr_store_node_erase(store, path) bind(c, name="ozarr_store_node_erase") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t) :: r
    end function ozarr_store_node_erase
    function ozarr_store_flush(store) bind(c, name="ozarr_store_flush") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: store
      integer(c_int32_t) :: r
    end function ozarr_store_flush
    function ozarr_store_close(store) bind(c, name="ozarr_store_close") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: store
      integer(c_int32_t) :: r
    end function ozarr_store_close
    subroutine ozarr_store_free(store) bind(c, name="ozarr_store_free")
      import :: c_ptr
      type(c_ptr), value :: store
    end subroutine ozarr_store_free
    function ozarr_appender_open(array, dim, publish_every, memory, out) bind(c, &
      name="ozarr_appender_open") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: dim
      integer(c_int64_t), value :: publish_every
      integer(c_size_t), value :: memory
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_appender_open
    function ozarr_appender_append(appender, count, type_, data, bytes) bind(c, &
      name="ozarr_appender_append") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: appender
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_appender_append
    function ozarr_appender_append_ex(appender, count, memory) bind(c, name="ozarr_appender_append_ex") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: appender
      integer(c_int64_t), value :: count
      type(c_ptr), value :: memory
      integer(c_int32_t) :: r
    end function ozarr_appender_append_ex
    function ozarr_appender_position(appender, position, published) bind(c, &
      name="ozarr_appender_position") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: appender
      integer(c_int64_t), intent(inout), optional :: position
      integer(c_int64_t), intent(inout), optional :: published
      integer(c_int32_t) :: r
    end function ozarr_appender_position
    function ozarr_appender_flush(appender) bind(c, name="ozarr_appender_flush") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: appender
      integer(c_int32_t) :: r
    end function ozarr_appender_flush
    function ozarr_appender_close(appender) bind(c, name="ozarr_appender_close") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: appender
      integer(c_int32_t) :: r
    end function ozarr_appender_close
    subroutine ozarr_appender_free(appender) bind(c, name="ozarr_appender_free")
      import :: c_ptr
      type(c_ptr), value :: appender
    end subroutine ozarr_appender_free
    function ozarr_array_wait_growth(array, dim, beyond, seconds, length) bind(c, &
      name="ozarr_array_wait_growth") result(r)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int32_t), value :: dim
      integer(c_int64_t), value :: beyond
      real(c_double), value :: seconds
      integer(c_int64_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_array_wait_growth
    function ozarr_series_declare(series, position) bind(c, name="ozarr_series_declare") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: series
      integer(c_int64_t), value :: position
      integer(c_int32_t) :: r
    end function ozarr_series_declare
    function ozarr_group_rename(group, path, to_path) bind(c, name="ozarr_group_rename") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: path(*)
      character(kind=c_char), intent(in) :: to_path(*)
      integer(c_int32_t) :: r
    end function ozarr_group_rename
    function ozarr_group_erase(group, path) bind(c, name="ozarr_group_erase") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t) :: r
    end function ozarr_group_erase
    function ozarr_group_consolidated_check(group, buf, cap, length, current) bind(c, &
      name="ozarr_group_consolidated_check") result(r)
      import :: c_bool, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: group
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      logical(c_bool), intent(inout) :: current
      integer(c_int32_t) :: r
    end function ozarr_group_consolidated_check
    function ozarr_array_info(array, info) bind(c, name="ozarr_array_info") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: info
      integer(c_int32_t) :: r
    end function ozarr_array_info
    function ozarr_array_read_orthogonal(array, counts, indices, memory) bind(c, &
      name="ozarr_array_read_orthogonal") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: counts(*)
      type(c_ptr), intent(in) :: indices(*)
      type(c_ptr), value :: memory
      integer(c_int32_t) :: r
    end function ozarr_array_read_orthogonal
    function ozarr_array_write_orthogonal(array, counts, indices, memory) bind(c, &
      name="ozarr_array_write_orthogonal") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: counts(*)
      type(c_ptr), intent(in) :: indices(*)
      type(c_ptr), value :: memory
      integer(c_int32_t) :: r
    end function ozarr_array_write_orthogonal
    function ozarr_array_read_points(array, points, count, memory) bind(c, name="ozarr_array_read_points") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: points(*)
      integer(c_int64_t), value :: count
      type(c_ptr), value :: memory
      integer(c_int32_t) :: r
    end function ozarr_array_read_points
    function ozarr_array_write_points(array, points, count, memory) bind(c, &
      name="ozarr_array_write_points") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: points(*)
      integer(c_int64_t), value :: count
      type(c_ptr), value :: memory
      integer(c_int32_t) :: r
    end function ozarr_array_write_points
    function ozarr_array_read_mask(array, region, mask, memory) bind(c, name="ozarr_array_read_mask") result(r)
      import :: c_int32_t, c_int8_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      integer(c_int8_t), intent(in) :: mask(*)
      type(c_ptr), value :: memory
      integer(c_int32_t) :: r
    end function ozarr_array_read_mask
    function ozarr_array_write_mask(array, region, mask, memory) bind(c, name="ozarr_array_write_mask") result(r)
      import :: c_int32_t, c_int8_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      integer(c_int8_t), intent(in) :: mask(*)
      type(c_ptr), value :: memory
      integer(c_int32_t) :: r
    end function ozarr_array_write_mask
    function ozarr_array_fill(array, region, type_, value) bind(c, name="ozarr_array_fill") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: value
      integer(c_int32_t) :: r
    end function ozarr_array_fill
    function ozarr_read_many(entries, count) bind(c, name="ozarr_read_many") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: entries
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: r
    end function ozarr_read_many
    function ozarr_write_many(entries, count) bind(c, name="ozarr_write_many") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: entries
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: r
    end function ozarr_write_many
    function ozarr_iread_many(entries, count, options, out) bind(c, name="ozarr_iread_many") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: entries
      integer(c_int64_t), value :: count
      type(c_ptr), value :: options
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_iread_many
    function ozarr_iwrite_many(entries, count, options, out) bind(c, name="ozarr_iwrite_many") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: entries
      integer(c_int64_t), value :: count
      type(c_ptr), value :: options
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_iwrite_many
    function ozarr_array_explain(array, region, memory, write, explanation) bind(c, &
      name="ozarr_array_explain") result(r)
      import :: c_bool, c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      type(c_ptr), value :: memory
      logical(c_bool), value :: write
      type(c_ptr), value :: explanation
      integer(c_int32_t) :: r
    end function ozarr_array_explain
    function ozarr_array_stats(array, stats) bind(c, name="ozarr_array_stats") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: stats
      integer(c_int32_t) :: r
    end function ozarr_array_stats
    function ozarr_store_stats(store, stats) bind(c, name="ozarr_store_stats") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: store
      type(c_ptr), value :: stats
      integer(c_int32_t) :: r
    end function ozarr_store_stats
    function ozarr_context_stats(context, stats) bind(c, name="ozarr_context_stats") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: context
      type(c_ptr), value :: stats
      integer(c_int32_t) :: r
    end function ozarr_context_stats
    function ozarr_array_summarize(array, region, summary) bind(c, name="ozarr_array_summarize") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      type(c_ptr), value :: summary
      integer(c_int32_t) :: r
    end function ozarr_array_summarize
    function ozarr_array_digest(array, region, buf, cap, length) bind(c, name="ozarr_array_digest") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_array_digest
    function ozarr_array_compare(a, region_a, b, region_b, absolute, relative, comparison, first) bind(c, &
      name="ozarr_array_compare") result(r)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: a
      type(c_ptr), value :: region_a
      type(c_ptr), value :: b
      type(c_ptr), value :: region_b
      real(c_double), value :: absolute
      real(c_double), value :: relative
      type(c_ptr), value :: comparison
      integer(c_int64_t), intent(inout), optional :: first(*)
      integer(c_int32_t) :: r
    end function ozarr_array_compare
    function ozarr_array_read_varlen(array, region, out) bind(c, name="ozarr_array_read_varlen") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_read_varlen
    function ozarr_array_write_varlen(array, region, offsets, data, bytes) bind(c, &
      name="ozarr_array_write_varlen") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      integer(c_int64_t), intent(in) :: offsets(*)
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_array_write_varlen
    function ozarr_array_append_varlen(array, dim, count, offsets, data, bytes) bind(c, &
      name="ozarr_array_append_varlen") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: dim
      integer(c_int64_t), value :: count
      integer(c_int64_t), intent(in) :: offsets(*)
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_array_append_varlen
    function ozarr_array_write_strings(array, region, strings) bind(c, name="ozarr_array_write_strings") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      type(c_ptr), value :: region
      type(c_ptr), intent(in) :: strings(*)
      integer(c_int32_t) :: r
    end function ozarr_array_write_strings
    function ozarr_array_list_type(array, type_) bind(c, name="ozarr_array_list_type") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int32_t), intent(inout) :: type_
      integer(c_int32_t) :: r
    end function ozarr_array_list_type
    function ozarr_array_fill_text(array, buf, cap, length) bind(c, name="ozarr_array_fill_text") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_array_fill_text
    function ozarr_varlen_count(varlen, count) bind(c, name="ozarr_varlen_count") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: varlen
      integer(c_int64_t), intent(inout) :: count
      integer(c_int32_t) :: r
    end function ozarr_varlen_count
    function ozarr_varlen_get(varlen, index, bytes, length) bind(c, name="ozarr_varlen_get") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: varlen
      integer(c_int64_t), value :: index
      type(c_ptr), value :: bytes
      integer(c_size_t), intent(inout) :: length
      integer(c_int32_t) :: r
    end function ozarr_varlen_get
    function ozarr_varlen_all(varlen, offsets, data, bytes) bind(c, name="ozarr_varlen_all") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: varlen
      type(c_ptr), value :: offsets
      type(c_ptr), value :: data
      integer(c_size_t), intent(inout) :: bytes
      integer(c_int32_t) :: r
    end function ozarr_varlen_all
    subroutine ozarr_varlen_free(varlen) bind(c, name="ozarr_varlen_free")
      import :: c_ptr
      type(c_ptr), value :: varlen
    end subroutine ozarr_varlen_free
    function ozarr_dtype_get_kind(dtype, kind) bind(c, name="ozarr_dtype_get_kind") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: dtype
      integer(c_int32_t), intent(inout) :: kind
      integer(c_int32_t) :: r
    end function ozarr_dtype_get_kind
    function ozarr_dtype_type(dtype, type_) bind(c, name="ozarr_dtype_type") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: dtype
      integer(c_int32_t), intent(inout) :: type_
      integer(c_int32_t) :: r
    end function ozarr_dtype_type
    function ozarr_dtype_item_size(dtype, bytes) bind(c, name="ozarr_dtype_item_size") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: dtype
      integer(c_size_t), intent(inout) :: bytes
      integer(c_int32_t) :: r
    end function ozarr_dtype_item_size
    function ozarr_dtype_byte_order(dtype, order) bind(c, name="ozarr_dtype_byte_order") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: dtype
      integer(c_int32_t), intent(inout) :: order
      integer(c_int32_t) :: r
    end function ozarr_dtype_byte_order
    function ozarr_dtype_unit(dtype, buf, cap, length, scale) bind(c, name="ozarr_dtype_unit") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: dtype
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int64_t), intent(inout) :: scale
      integer(c_int32_t) :: r
    end function ozarr_dtype_unit
    function ozarr_dtype_equal(dtype, other, equal) bind(c, name="ozarr_dtype_equal") result(r)
      import :: c_bool, c_int32_t, c_ptr
      type(c_ptr), value :: dtype
      type(c_ptr), value :: other
      logical(c_bool), intent(inout) :: equal
      integer(c_int32_t) :: r
    end function ozarr_dtype_equal
    function ozarr_dtype_name(dtype, buf, cap, length) bind(c, name="ozarr_dtype_name") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: dtype
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_dtype_name
    function ozarr_dtype_to_json(dtype, format, buf, cap, length) bind(c, name="ozarr_dtype_to_json") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: dtype
      integer(c_int32_t), value :: format
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_dtype_to_json
    function ozarr_dtype_field_count(dtype, count) bind(c, name="ozarr_dtype_field_count") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: dtype
      integer(c_int64_t), intent(inout) :: count
      integer(c_int32_t) :: r
    end function ozarr_dtype_field_count
    function ozarr_dtype_field_name(dtype, index, buf, cap, length) bind(c, name="ozarr_dtype_field_name") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: dtype
      integer(c_int64_t), value :: index
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_dtype_field_name
    function ozarr_dtype_field_offset(dtype, index, offset) bind(c, name="ozarr_dtype_field_offset") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: dtype
      integer(c_int64_t), value :: index
      integer(c_size_t), intent(inout) :: offset
      integer(c_int32_t) :: r
    end function ozarr_dtype_field_offset
    function ozarr_dtype_copy_field_dtype(dtype, index, out) bind(c, name="ozarr_dtype_copy_field_dtype") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: dtype
      integer(c_int64_t), value :: index
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_dtype_copy_field_dtype
    function ozarr_dtype_field_shape(dtype, index, shape, cap, rank) bind(c, &
      name="ozarr_dtype_field_shape") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: dtype
      integer(c_int64_t), value :: index
      integer(c_int64_t), intent(inout), optional :: shape(*)
      integer(c_int64_t), value :: cap
      integer(c_int32_t), intent(inout) :: rank
      integer(c_int32_t) :: r
    end function ozarr_dtype_field_shape
    function ozarr_dtype_scalar_to_json(dtype, format, value, bytes, buf, cap, length) bind(c, &
      name="ozarr_dtype_scalar_to_json") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: dtype
      integer(c_int32_t), value :: format
      type(c_ptr), value :: value
      integer(c_size_t), value :: bytes
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_dtype_scalar_to_json
    function ozarr_dtype_scalar_from_json(dtype, format, json, value, bytes) bind(c, &
      name="ozarr_dtype_scalar_from_json") result(r)
      import :: c_char, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: dtype
      integer(c_int32_t), value :: format
      character(kind=c_char), intent(in) :: json(*)
      type(c_ptr), value :: value
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_dtype_scalar_from_json
    function ozarr_array_grid_shape(array, shape) bind(c, name="ozarr_array_grid_shape") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(inout) :: shape(*)
      integer(c_int32_t) :: r
    end function ozarr_array_grid_shape
    function ozarr_array_chunk_extent(array, dim, index, start, extent) bind(c, &
      name="ozarr_array_chunk_extent") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int32_t), value :: dim
      integer(c_int64_t), value :: index
      integer(c_int64_t), intent(inout) :: start
      integer(c_int64_t), intent(inout), optional :: extent
      integer(c_int32_t) :: r
    end function ozarr_array_chunk_extent
    function ozarr_array_chunk_count(array, inner, count) bind(c, name="ozarr_array_chunk_count") result(r)
      import :: c_bool, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      logical(c_bool), value :: inner
      integer(c_int64_t), intent(inout) :: count
      integer(c_int32_t) :: r
    end function ozarr_array_chunk_count
    function ozarr_array_chunk_key(array, index, buf, cap, length) bind(c, name="ozarr_array_chunk_key") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: index(*)
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_array_chunk_key
    function ozarr_array_chunk_place(array, index, inner, stored, offset, bytes) bind(c, &
      name="ozarr_array_chunk_place") result(r)
      import :: c_bool, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: index(*)
      logical(c_bool), value :: inner
      logical(c_bool), intent(inout) :: stored
      integer(c_int64_t), intent(inout) :: offset
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int32_t) :: r
    end function ozarr_array_chunk_place
    function ozarr_array_chunk_read(array, index, inner, buf, cap, length) bind(c, &
      name="ozarr_array_chunk_read") result(r)
      import :: c_bool, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: index(*)
      logical(c_bool), value :: inner
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_array_chunk_read
    function ozarr_array_chunk_write(array, index, inner, data, bytes) bind(c, &
      name="ozarr_array_chunk_write") result(r)
      import :: c_bool, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: index(*)
      logical(c_bool), value :: inner
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_array_chunk_write
    function ozarr_array_chunk_erase(array, index, inner, stored) bind(c, name="ozarr_array_chunk_erase") result(r)
      import :: c_bool, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: index(*)
      logical(c_bool), value :: inner
      logical(c_bool), intent(inout) :: stored
      integer(c_int32_t) :: r
    end function ozarr_array_chunk_erase
    function ozarr_array_list_chunks(array, inner, out) bind(c, name="ozarr_array_list_chunks") result(r)
      import :: c_bool, c_int32_t, c_ptr
      type(c_ptr), value :: array
      logical(c_bool), value :: inner
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_list_chunks
    function ozarr_chunk_iter_next(chunk_iter, more) bind(c, name="ozarr_chunk_iter_next") result(r)
      import :: c_bool, c_int32_t, c_ptr
      type(c_ptr), value :: chunk_iter
      logical(c_bool), intent(inout) :: more
      integer(c_int32_t) :: r
    end function ozarr_chunk_iter_next
    function ozarr_chunk_iter_index(chunk_iter, index) bind(c, name="ozarr_chunk_iter_index") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: chunk_iter
      integer(c_int64_t), intent(inout) :: index(*)
      integer(c_int32_t) :: r
    end function ozarr_chunk_iter_index
    function ozarr_chunk_iter_place(chunk_iter, offset, bytes) bind(c, name="ozarr_chunk_iter_place") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: chunk_iter
      integer(c_int64_t), intent(inout) :: offset
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int32_t) :: r
    end function ozarr_chunk_iter_place
    subroutine ozarr_chunk_iter_free(chunk_iter) bind(c, name="ozarr_chunk_iter_free")
      import :: c_ptr
      type(c_ptr), value :: chunk_iter
    end subroutine ozarr_chunk_iter_free
    function ozarr_shard_writer_new(array, index, out) bind(c, name="ozarr_shard_writer_new") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in) :: index(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_shard_writer_new
    function ozarr_shard_writer_put(shard_writer, index, encoded, type_, data, bytes) bind(c, &
      name="ozarr_shard_writer_put") result(r)
      import :: c_bool, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: shard_writer
      integer(c_int64_t), intent(in) :: index(*)
      logical(c_bool), value :: encoded
      integer(c_int32_t), value :: type_
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_shard_writer_put
    function ozarr_shard_writer_finish(shard_writer) bind(c, name="ozarr_shard_writer_finish") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: shard_writer
      integer(c_int32_t) :: r
    end function ozarr_shard_writer_finish
    subroutine ozarr_shard_writer_free(shard_writer) bind(c, name="ozarr_shard_writer_free")
      import :: c_ptr
      type(c_ptr), value :: shard_writer
    end subroutine ozarr_shard_writer_free
    function ozarr_array_copy_spec(array, zarr_format, out) bind(c, name="ozarr_array_copy_spec") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int32_t), value :: zarr_format
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_array_copy_spec
    function ozarr_copy(source, dest, options) bind(c, name="ozarr_copy") result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: source(*)
      character(kind=c_char), intent(in) :: dest(*)
      type(c_ptr), value :: options
      integer(c_int32_t) :: r
    end function ozarr_copy
    function ozarr_copy_at(store, path, dest_store, dest_path, options) bind(c, name="ozarr_copy_at") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: dest_store
      character(kind=c_char), intent(in) :: dest_path(*)
      type(c_ptr), value :: options
      integer(c_int32_t) :: r
    end function ozarr_copy_at
    function ozarr_migrate(source, dest, flags, progress, user) bind(c, name="ozarr_migrate") result(r)
      import :: c_char, c_funptr, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: source(*)
      character(kind=c_char), intent(in) :: dest(*)
      integer(c_int32_t), value :: flags
      type(c_funptr), value :: progress
      type(c_ptr), value :: user
      integer(c_int32_t) :: r
    end function ozarr_migrate
    function ozarr_store_verify(store, path, flags, each, progress, user, verified) bind(c, &
      name="ozarr_store_verify") result(r)
      import :: c_char, c_funptr, c_int32_t, c_ptr
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), value :: flags
      type(c_funptr), value :: each
      type(c_funptr), value :: progress
      type(c_ptr), value :: user
      type(c_ptr), value :: verified
      integer(c_int32_t) :: r
    end function ozarr_store_verify
    function ozarr_store_below(store, path, mode, out) bind(c, name="ozarr_store_below") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: path(*)
      character(kind=c_char), intent(in) :: mode(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_store_below
    function ozarr_store_cached(store, bytes, mode, out) bind(c, name="ozarr_store_cached") result(r)
      import :: c_char, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: store
      integer(c_size_t), value :: bytes
      character(kind=c_char), intent(in) :: mode(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_store_cached
    function ozarr_store_capabilities(store, capabilities) bind(c, name="ozarr_store_capabilities") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: store
      integer(c_int32_t), intent(inout) :: capabilities
      integer(c_int32_t) :: r
    end function ozarr_store_capabilities
    function ozarr_store_key_get(store, key, buf, cap, length) bind(c, name="ozarr_store_key_get") result(r)
      import :: c_char, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: key(*)
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_store_key_get
    function ozarr_store_key_put(store, key, data, bytes) bind(c, name="ozarr_store_key_put") result(r)
      import :: c_char, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: key(*)
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_store_key_put
    function ozarr_store_key_erase(store, key, erased) bind(c, name="ozarr_store_key_erase") result(r)
      import :: c_bool, c_char, c_int32_t, c_ptr
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: key(*)
      logical(c_bool), intent(inout), optional :: erased
      integer(c_int32_t) :: r
    end function ozarr_store_key_erase
    function ozarr_store_key_list(store, prefix, each, user) bind(c, name="ozarr_store_key_list") result(r)
      import :: c_char, c_funptr, c_int32_t, c_ptr
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: prefix(*)
      type(c_funptr), value :: each
      type(c_ptr), value :: user
      integer(c_int32_t) :: r
    end function ozarr_store_key_list
    function ozarr_buffer_alloc(bytes, flags, out) bind(c, name="ozarr_buffer_alloc") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      integer(c_size_t), value :: bytes
      integer(c_int32_t), value :: flags
      type(c_ptr), value :: out
      integer(c_int32_t) :: r
    end function ozarr_buffer_alloc
    subroutine ozarr_buffer_free(buffer) bind(c, name="ozarr_buffer_free")
      import :: c_ptr
      type(c_ptr), value :: buffer
    end subroutine ozarr_buffer_free
    function ozarr_group_nc_version(group, buf, cap, length) bind(c, name="ozarr_group_nc_version") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: group
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_group_nc_version
    function ozarr_group_nc_dimension_count(group, count) bind(c, name="ozarr_group_nc_dimension_count") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      integer(c_int64_t), intent(inout) :: count
      integer(c_int32_t) :: r
    end function ozarr_group_nc_dimension_count
    function ozarr_group_nc_dimension(group, index, buf, cap, length, extent, unlimited) bind(c, &
      name="ozarr_group_nc_dimension") result(r)
      import :: c_bool, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: group
      integer(c_int64_t), value :: index
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int64_t), intent(inout), optional :: extent
      logical(c_bool), intent(inout), optional :: unlimited
      integer(c_int32_t) :: r
    end function ozarr_group_nc_dimension
    function ozarr_group_nc_define_dimension(group, name, length, unlimited) bind(c, &
      name="ozarr_group_nc_define_dimension") result(r)
      import :: c_bool, c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: length
      logical(c_bool), value :: unlimited
      integer(c_int32_t) :: r
    end function ozarr_group_nc_define_dimension
    function ozarr_array_nc_is_scalar(array, scalar) bind(c, name="ozarr_array_nc_is_scalar") result(r)
      import :: c_bool, c_int32_t, c_ptr
      type(c_ptr), value :: array
      logical(c_bool), intent(inout) :: scalar
      integer(c_int32_t) :: r
    end function ozarr_array_nc_is_scalar
    function ozarr_array_nc_type(array, buf, cap, length) bind(c, name="ozarr_array_nc_type") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: array
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_array_nc_type
    function ozarr_attr_nc_type(node, name, buf, cap, length) bind(c, name="ozarr_attr_nc_type") result(r)
      import :: c_char, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: node
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_attr_nc_type
    function ozarr_group_image_count(group, count) bind(c, name="ozarr_group_image_count") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      integer(c_int64_t), intent(inout) :: count
      integer(c_int32_t) :: r
    end function ozarr_group_image_count
    function ozarr_group_image_size(group, image, levels, axes) bind(c, name="ozarr_group_image_size") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      integer(c_int64_t), value :: image
      integer(c_int64_t), intent(inout), optional :: levels
      integer(c_int64_t), intent(inout), optional :: axes
      integer(c_int32_t) :: r
    end function ozarr_group_image_size
    function ozarr_group_image_level(group, image, level, buf, cap, length) bind(c, &
      name="ozarr_group_image_level") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: group
      integer(c_int64_t), value :: image
      integer(c_int64_t), value :: level
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_group_image_level
    function ozarr_group_image_scale(group, image, level, scale, translation, cap) bind(c, &
      name="ozarr_group_image_scale") result(r)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      integer(c_int64_t), value :: image
      integer(c_int64_t), value :: level
      real(c_double), intent(inout), optional :: scale(*)
      real(c_double), intent(inout), optional :: translation(*)
      integer(c_int64_t), value :: cap
      integer(c_int32_t) :: r
    end function ozarr_group_image_scale
    function ozarr_group_image_axis(group, image, axis, member, buf, cap, length) bind(c, &
      name="ozarr_group_image_axis") result(r)
      import :: c_char, c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: group
      integer(c_int64_t), value :: image
      integer(c_int64_t), value :: axis
      character(kind=c_char), intent(in) :: member(*)
      type(c_ptr), value :: buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function ozarr_group_image_axis
    function ozarr_zip_repair(path, keys, lost) bind(c, name="ozarr_zip_repair") result(r)
      import :: c_char, c_int32_t, c_int64_t
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int64_t), intent(inout), optional :: keys
      integer(c_int64_t), intent(inout), optional :: lost
      integer(c_int32_t) :: r
    end function ozarr_zip_repair
    function ozarr_store_from_table(context, table, mode, out) bind(c, name="ozarr_store_from_table") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: context
      type(c_ptr), value :: table
      character(kind=c_char), intent(in) :: mode(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_store_from_table
    function ozarr_set_error(status, message, details) bind(c, name="ozarr_set_error") result(r)
      import :: c_char, c_int32_t, c_ptr
      integer(c_int32_t), value :: status
      character(kind=c_char), intent(in), optional :: message(*)
      type(c_ptr), value :: details
      integer(c_int32_t) :: r
    end function ozarr_set_error
    function ozarr_answer_put(answer, data, bytes) bind(c, name="ozarr_answer_put") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: answer
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_answer_put
    function ozarr_answer_room(answer, bytes, data) bind(c, name="ozarr_answer_room") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: answer
      integer(c_size_t), value :: bytes
      type(c_ptr), value :: data
      integer(c_int32_t) :: r
    end function ozarr_answer_room
    function ozarr_answer_version(answer, version, bytes) bind(c, name="ozarr_answer_version") result(r)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: answer
      type(c_ptr), value :: version
      integer(c_size_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_answer_version
    function ozarr_answer_size(answer, bytes) bind(c, name="ozarr_answer_size") result(r)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: answer
      integer(c_int64_t), value :: bytes
      integer(c_int32_t) :: r
    end function ozarr_answer_size
    function ozarr_answer_done(answer, status) bind(c, name="ozarr_answer_done") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: answer
      integer(c_int32_t), value :: status
      integer(c_int32_t) :: r
    end function ozarr_answer_done
    function ozarr_keys_add(keys, key) bind(c, name="ozarr_keys_add") result(r)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: keys
      character(kind=c_char), intent(in) :: key(*)
      integer(c_int32_t) :: r
    end function ozarr_keys_add
    function ozarr_register_key_encoding(table) bind(c, name="ozarr_register_key_encoding") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: table
      integer(c_int32_t) :: r
    end function ozarr_register_key_encoding
    function ozarr_register_transformer(table) bind(c, name="ozarr_register_transformer") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: table
      integer(c_int32_t) :: r
    end function ozarr_register_transformer
    function ozarr_register_member(name, flags, check, user, destroy) bind(c, &
      name="ozarr_register_member") result(r)
      import :: c_char, c_funptr, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: flags
      type(c_funptr), value :: check
      type(c_ptr), value :: user
      type(c_funptr), value :: destroy
      integer(c_int32_t) :: r
    end function ozarr_register_member
    function ozarr_unregister(extension, name) bind(c, name="ozarr_unregister") result(r)
      import :: c_char, c_int32_t
      integer(c_int32_t), value :: extension
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t) :: r
    end function ozarr_unregister
    function ozarr_register_codec(table) bind(c, name="ozarr_register_codec") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: table
      integer(c_int32_t) :: r
    end function ozarr_register_codec
    function ozarr_register_dtype(table) bind(c, name="ozarr_register_dtype") result(r)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: table
      integer(c_int32_t) :: r
    end function ozarr_register_dtype
  end interface
end module ozarr_c
