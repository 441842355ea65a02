! ozarr: Zarr arrays for simulation codes, in Fortran 2018.                       SPDX-License-Identifier: MIT OR Apache-2.0
!
!     use ozarr
!     type(ozarr_array) :: t
!     real(8) :: u(64, 64)
!
!     call t%create("run.zarr/temperature", OZARR_FLOAT64, [64, 64, 100], chunks=[64, 64, 1])
!     call t%write(u, start=[1, 1, 11])
!     call t%set_attr("units", "K")
!     call t%close()
!
!     call t%open("run.zarr/temperature", stat=status, errmsg=message)
!     call t%read(u(2:63, :), start=[2, 1, 11])
!
! Dimensions   are in Fortran's order, the first one running fastest: an array of shape [64, 64, 100] here has the shape
!              (100, 64, 64) in C and Python. So it is with netCDF, too. Indices and dimensions count from 1.
! Variables    may be integer, real, complex and logical of any kind that Zarr has, of rank 0 to 15, sections with any
!              strides; elements are converted from and to the array's type, and nothing is copied in between (but logicals
!              of more than one byte).
! Regions      are start, count and stride, lists of any integer kind. Without them, the variable has the shape of the array.
!              With start alone, the region has the shape of the variable, and is 1 long in the dimensions after it. With
!              count, the variable has that shape; dimensions of length 1 may be left out.
! Failures     with stat= present, a status other than 0 (OZARR_OK) is there afterwards, and the message in errmsg=, which is
!              left alone on success. Without stat=, a failure stops the program with the message.
! Handles      free themselves at the end of their scope; close also stores, and says whether that worked. A copy made by
!              assignment is another name for the same handle: once one of them is gone, the other gives an error.
module ozarr
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use ozarr_c
  implicit none
  private

  public :: ozarr_node, ozarr_array, ozarr_group, ozarr_store, ozarr_erase, ozarr_library_version, ozarr_name_of_status
  public :: OZARR_AS_STORED, OZARR_BOOL, OZARR_INT8, OZARR_INT16, OZARR_INT32, OZARR_INT64, OZARR_UINT8
  public :: OZARR_UINT16, OZARR_UINT32, OZARR_UINT64, OZARR_FLOAT16, OZARR_FLOAT32, OZARR_FLOAT64
  public :: OZARR_INT2, OZARR_INT4, OZARR_UINT2, OZARR_UINT4, OZARR_BFLOAT16, OZARR_FLOAT8_E3M4, OZARR_FLOAT8_E4M3
  public :: OZARR_FLOAT8_E4M3B11FNUZ, OZARR_FLOAT8_E4M3FNUZ, OZARR_FLOAT8_E4M3FN, OZARR_FLOAT8_E5M2, OZARR_FLOAT8_E5M2FNUZ
  public :: OZARR_FLOAT8_E8M0FNU, OZARR_FLOAT6_E2M3FN, OZARR_FLOAT6_E3M2FN, OZARR_FLOAT4_E2M1FN
  public :: OZARR_COMPLEX64, OZARR_COMPLEX128, OZARR_ORDER_C, OZARR_ORDER_F, OZARR_NEW, OZARR_OVERWRITE
  public :: OZARR_OPEN_IF_SAME, OZARR_NODE_NONE, OZARR_NODE_ARRAY, OZARR_NODE_GROUP, OZARR_NODE_UNKNOWN
  public :: OZARR_JSON_NULL, OZARR_JSON_BOOL, OZARR_JSON_INTEGER, OZARR_JSON_NUMBER, OZARR_JSON_STRING
  public :: OZARR_JSON_ARRAY, OZARR_JSON_OBJECT, OZARR_OK, OZARR_ERR_ARGUMENT, OZARR_ERR_NULL, OZARR_ERR_BOUNDS
  public :: OZARR_ERR_RANK, OZARR_ERR_BUFFER_SIZE, OZARR_ERR_TYPE, OZARR_ERR_RANGE, OZARR_ERR_NAME
  public :: OZARR_ERR_LOCATION, OZARR_ERR_INVALID_HANDLE, OZARR_ERR_READ_ONLY, OZARR_ERR_EXISTS, OZARR_ERR_STATE
  public :: OZARR_ERR_AGAIN, OZARR_ERR_CANCELLED, OZARR_ERR_FORKED, OZARR_ERR_NOT_FOUND, OZARR_ERR_NODE_KIND
  public :: OZARR_ERR_METADATA, OZARR_ERR_UNSUPPORTED, OZARR_ERR_EXTENSION, OZARR_ERR_CHUNK, OZARR_ERR_CHECKSUM
  public :: OZARR_ERR_SHARD_INDEX, OZARR_ERR_MISSING, OZARR_ERR_TRUNCATED, OZARR_ERR_PERMISSION
  public :: OZARR_ERR_CONFLICT, OZARR_ERR_TIMEOUT, OZARR_ERR_NETWORK, OZARR_ERR_THROTTLED, OZARR_ERR_RANGES
  public :: OZARR_ERR_PARTIAL, OZARR_ERR_IO, OZARR_ERR_NO_SPACE, OZARR_ERR_NO_MEMORY, OZARR_ERR_TOO_MANY_FILES
  public :: OZARR_ERR_LIMIT, OZARR_ERR_INTERNAL, OZARR_ERR_CALLBACK, OZARR_RESIZE_KEEP

  ! What arrays and groups have in common: attributes.
  type :: ozarr_node
    private
    type(c_ptr) :: handle = c_null_ptr
    logical :: is_array = .false.
  contains
    procedure :: is_open => node_is_open
    procedure :: flush => node_flush
    procedure :: close => node_close
    procedure :: metadata => node_metadata
    procedure :: attr_count => node_attr_count
    procedure :: attr_name => node_attr_name
    procedure :: attr_kind => node_attr_kind
    procedure :: has_attr => node_has_attr
    procedure :: erase_attr => node_erase_attr
    procedure :: get_attr_text => node_get_attr_text
    procedure :: get_attr_json => node_get_attr_json
    procedure :: set_attr_json => node_set_attr_json
    procedure :: begin_attrs => node_begin_attrs
    procedure :: commit_attrs => node_commit_attrs
    procedure, private :: set_int32, get_int32
    procedure, private :: set_int64, get_int64
    procedure, private :: set_real32, get_real32
    procedure, private :: set_real64, get_real64
    procedure, private :: set_logical, get_logical
    procedure, private :: set_text, get_text
    generic :: set_attr => set_int32, set_int64, set_real32, set_real64, set_logical, set_text
    generic :: get_attr => get_int32, get_int64, get_real32, get_real64, get_logical, get_text
  end type ozarr_node

  type, extends(ozarr_node) :: ozarr_array
    private
    integer(c_int32_t) :: dimensions = 0
  contains
    procedure, private :: open_location => array_open_location
    procedure, private :: open_group => array_open_group
    procedure, private :: open_store => array_open_store
    generic :: open => open_location, open_group, open_store
    procedure, private :: create_location => array_create_location
    procedure, private :: create_group => array_create_group
    procedure, private :: create_store => array_create_store
    generic :: create => create_location, create_group, create_store
    procedure :: read => array_read
    procedure :: write => array_write
    procedure :: append => array_append
    procedure :: resize => array_resize
    procedure :: rank => array_rank
    procedure :: shape => array_shape
    procedure :: chunks => array_chunks
    procedure :: inner_chunks => array_inner_chunks
    procedure :: grid_shape => array_grid_shape
    procedure :: type => array_type
    procedure :: dimension_name => array_dimension_name
    final :: array_final
  end type ozarr_array

  type, extends(ozarr_node) :: ozarr_group
    private
  contains
    procedure, private :: open_location => group_open_location
    procedure, private :: open_group => group_open_group
    procedure, private :: open_store => group_open_store
    generic :: open => open_location, open_group, open_store
    procedure, private :: create_location => group_create_location
    procedure, private :: create_group => group_create_group
    procedure, private :: create_store => group_create_store
    generic :: create => create_location, create_group, create_store
    procedure :: children => group_children
    procedure :: consolidate => group_consolidate
    final :: group_final
  end type ozarr_group

  ! A place that holds a hierarchy: a folder, or memory.
  type :: ozarr_store
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: open => store_open
    procedure :: memory => store_memory
    procedure :: node_kind => store_node_kind
    procedure :: erase => store_erase
    procedure :: flush => store_flush
    procedure :: close => store_close
    final :: store_final
  end type ozarr_store

  ! fortran/ozarr_shim.c
  interface
    function ozf_read(array, rank, u, start, count, stride) bind(c, name="ozf_read") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: rank
      type(*), dimension(..), intent(inout) :: u
      type(*), dimension(..), intent(in), optional :: start, count, stride
      integer(c_int32_t) :: r
    end function ozf_read
    function ozf_write(array, rank, u, start, count, stride) bind(c, name="ozf_write") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: rank
      type(*), dimension(..), intent(in) :: u
      type(*), dimension(..), intent(in), optional :: start, count, stride
      integer(c_int32_t) :: r
    end function ozf_write
    function ozf_append(array, rank, u, dim) bind(c, name="ozf_append") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: rank, dim
      type(*), dimension(..), intent(in) :: u
      integer(c_int32_t) :: r
    end function ozf_append
    function ozf_dims(list, what, rank, dims, found) bind(c, name="ozf_dims") result(r)
      import :: c_char, c_int32_t, c_int64_t
      type(*), dimension(..), intent(in) :: list
      character(kind=c_char), intent(in) :: what(*)
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(inout) :: dims(*)
      integer(c_int32_t), intent(inout) :: found
      integer(c_int32_t) :: r
    end function ozf_dims
    function ozf_set_fill(spec, value) bind(c, name="ozf_set_fill") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: spec
      type(*), dimension(..), intent(in) :: value
      integer(c_int32_t) :: r
    end function ozf_set_fill
    function ozf_characters() bind(c, name="ozf_characters") result(r)
      import :: c_int32_t
      integer(c_int32_t) :: r
    end function ozf_characters
    function ozf_message() bind(c, name="ozf_message") result(r)
      import :: c_ptr
      type(c_ptr) :: r
    end function ozf_message
    subroutine ozf_note(text) bind(c, name="ozf_note")
      import :: c_char
      character(kind=c_char), intent(in) :: text(*)
    end subroutine ozf_note
    function ozf_strlen(text) bind(c, name="strlen") result(r)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: r
    end function ozf_strlen
  end interface

  ! Asks the library for a text: with no memory for its length, then with enough.
  abstract interface
    function text_call(handle, buf, cap, length) bind(c) result(r)
      import :: c_ptr, c_size_t, c_int32_t
      type(c_ptr), value :: handle, buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function text_call
    function named_text_call(handle, name, buf, cap, length) bind(c) result(r)
      import :: c_ptr, c_char, c_size_t, c_int32_t
      type(c_ptr), value :: handle, buf
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function named_text_call
  end interface

contains

  ! ==================================================================================================================
  ! Failures and texts
  ! ==================================================================================================================

  ! Every procedure ends here: gives the status away, or stops.
  subroutine done(status, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: message
    if (present(stat)) stat = status
    if (status == OZARR_OK) return
    message = text_at(ozf_message())
    if (present(errmsg)) errmsg = message
    if (.not. present(stat)) error stop "ozarr: " // message
  end subroutine done

  ! The same for procedures with arguments of any type. gfortran shifts the length of errmsg if one of them is of characters
  ! (it should
  ! not be, and that is the failure): then errmsg is left alone.
  subroutine done_any(status, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (status /= OZARR_OK) then
      if (ozf_characters() /= 0) then
        call done(status, stat)
        return
      end if
    end if
    call done(status, stat, errmsg)
  end subroutine done_any

  function text_at(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer(c_size_t) :: n, i
    n = ozf_strlen(address)
    call c_f_pointer(address, letters, [n])
    allocate (character(len=n) :: text)
    do i = 1, n
      text(i:i) = letters(i)
    end do
  end function text_at

  ! The text as C wants it. Blanks at the end are not part of it.
  function c_text(text) result(c)
    character(*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: c
    c = trim(text) // c_null_char
  end function c_text

  ! A text has no NUL inside, where C would end it.
  function checked(text) result(status)
    character(*), intent(in) :: text
    integer(c_int32_t) :: status
    status = OZARR_OK
    if (index(text, c_null_char) == 0) return
    call ozf_note("the text has a NUL inside, expected none" // c_null_char)
    status = OZARR_ERR_ARGUMENT
  end function checked

  subroutine fetch(call_, handle, text, status)
    procedure(text_call) :: call_
    type(c_ptr), intent(in) :: handle
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t), intent(out) :: status
    character(kind=c_char), allocatable, target :: buf(:)
    integer(c_size_t) :: length, room
    length = 255
    do
      room = length + 1
      if (allocated(buf)) deallocate (buf)
      allocate (buf(room))
      status = call_(handle, c_loc(buf), room, length)
      if (status /= OZARR_ERR_BUFFER_SIZE) exit
    end do
    if (status == OZARR_OK) text = text_at(c_loc(buf))
  end subroutine fetch

  subroutine fetch_named(call_, handle, name, text, status)
    procedure(named_text_call) :: call_
    type(c_ptr), intent(in) :: handle
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t), intent(out) :: status
    character(kind=c_char), allocatable, target :: buf(:)
    integer(c_size_t) :: length, room
    length = 255
    do
      room = length + 1
      if (allocated(buf)) deallocate (buf)
      allocate (buf(room))
      status = call_(handle, c_text(name), c_loc(buf), room, length)
      if (status /= OZARR_ERR_BUFFER_SIZE) exit
    end do
    if (status == OZARR_OK) text = text_at(c_loc(buf))
  end subroutine fetch_named

  ! OZARR_NEW, or OZARR_OVERWRITE.
  pure function flags_of(overwrite) result(flags)
    logical, intent(in), optional :: overwrite
    integer(c_int32_t) :: flags
    flags = OZARR_NEW
    if (present(overwrite)) then
      if (overwrite) flags = OZARR_OVERWRITE
    end if
  end function flags_of

  ! The version of the library that runs.
  function ozarr_library_version() result(text)
    character(:), allocatable :: text
    text = text_at(ozarr_version())
  end function ozarr_library_version

  ! The name of a status, such as "OZARR_ERR_BOUNDS".
  function ozarr_name_of_status(status) result(text)
    integer, intent(in) :: status
    character(:), allocatable :: text
    text = text_at(ozarr_status_name(int(status, c_int32_t)))
  end function ozarr_name_of_status

  ! Erases what stands at a location, with everything below it.
  subroutine ozarr_erase(location, stat, errmsg)
    character(*), intent(in) :: location
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_node_erase(c_text(location)), stat, errmsg)
  end subroutine ozarr_erase

  ! ==================================================================================================================
  ! Arrays: opening and creating
  ! ==================================================================================================================

  subroutine array_final(self)
    type(ozarr_array), intent(inout) :: self
    if (c_associated(self%handle)) call ozarr_array_free(self%handle)
    self%handle = c_null_ptr
  end subroutine array_final

  ! Takes over what an opening call gave; its status decides whether it gave anything.
  subroutine array_take(self, handle, status)
    class(ozarr_array), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    integer(c_int32_t), intent(inout) :: status
    if (status /= OZARR_OK) return
    if (c_associated(self%handle)) call ozarr_array_free(self%handle)
    self%handle = handle
    self%is_array = .true.
    status = ozarr_array_rank(handle, self%dimensions)
  end subroutine array_take

  ! Opens an array; mode "r" (the default) for reading, "r+" for reading and writing.
  subroutine array_open_location(self, location, mode, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    character(*), intent(in) :: location
    character(*), intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_array_open(c_text(location), mode_text(mode), handle)
    call array_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine array_open_location

  function mode_text(mode) result(text)
    character(*), intent(in), optional :: mode
    character(kind=c_char, len=:), allocatable :: text
    text = c_text("r")
    if (present(mode)) text = c_text(mode)
  end function mode_text

  ! Opens an array below a group, in the group's mode.
  subroutine array_open_group(self, group, path, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_open_array(group%handle, c_text(path), handle)
    call array_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine array_open_group

  ! Opens an array in a store, in the store's mode.
  subroutine array_open_store(self, store, path, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    class(ozarr_store), intent(in) :: store
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_array_open_at(store%handle, c_text(path), handle)
    call array_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine array_open_store

  ! Creates an array: its type (OZARR_FLOAT64, ...) and shape; and, where given: the shape of its chunks, the names of its
  ! dimensions,
  ! its fill value, the compressor ("zstd", "gzip", "blosc", "none") and its level; the shape of the inner chunks of shards;
  ! the codecs
  ! and the attributes as JSON; the Zarr format, 2 or 3; whether to overwrite what stands there.
  subroutine array_create_location(self, location, type, shape, chunks, names, fill, compressor, level, &
    inner_chunks, codecs, attributes, zarr_format, overwrite, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    character(*), intent(in) :: location
    integer(c_int32_t), intent(in) :: type
    type(*), dimension(..), intent(in) :: shape
    type(*), dimension(..), intent(in), optional :: chunks, inner_chunks
    character(*), intent(in), optional :: names(:)
    type(*), dimension(..), intent(in), optional :: fill
    character(*), intent(in), optional :: compressor, codecs, attributes
    integer, intent(in), optional :: level, zarr_format
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle, spec
    integer(c_int32_t) :: status
    call make_spec(spec, status, type, shape, chunks, names, fill, compressor, level, inner_chunks, codecs, attributes, &
      zarr_format)
    handle = c_null_ptr
    if (status == OZARR_OK) status = ozarr_array_create_ex(c_text(location), spec, flags_of(overwrite), handle)
    call ozarr_spec_free(spec)
    call array_take(self, handle, status)
    call done_any(status, stat, errmsg)
  end subroutine array_create_location

  subroutine array_create_group(self, group, path, type, shape, chunks, names, fill, compressor, level, &
    inner_chunks, codecs, attributes, zarr_format, overwrite, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    integer(c_int32_t), intent(in) :: type
    type(*), dimension(..), intent(in) :: shape
    type(*), dimension(..), intent(in), optional :: chunks, inner_chunks
    character(*), intent(in), optional :: names(:)
    type(*), dimension(..), intent(in), optional :: fill
    character(*), intent(in), optional :: compressor, codecs, attributes
    integer, intent(in), optional :: level, zarr_format
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle, spec
    integer(c_int32_t) :: status
    call make_spec(spec, status, type, shape, chunks, names, fill, compressor, level, inner_chunks, codecs, attributes, &
      zarr_format)
    handle = c_null_ptr
    if (status == OZARR_OK) status = ozarr_group_create_array(group%handle, c_text(path), spec, flags_of(overwrite), handle)
    call ozarr_spec_free(spec)
    call array_take(self, handle, status)
    call done_any(status, stat, errmsg)
  end subroutine array_create_group

  subroutine array_create_store(self, store, path, type, shape, chunks, names, fill, compressor, level, &
    inner_chunks, codecs, attributes, zarr_format, overwrite, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    class(ozarr_store), intent(in) :: store
    character(*), intent(in) :: path
    integer(c_int32_t), intent(in) :: type
    type(*), dimension(..), intent(in) :: shape
    type(*), dimension(..), intent(in), optional :: chunks, inner_chunks
    character(*), intent(in), optional :: names(:)
    type(*), dimension(..), intent(in), optional :: fill
    character(*), intent(in), optional :: compressor, codecs, attributes
    integer, intent(in), optional :: level, zarr_format
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle, spec
    integer(c_int32_t) :: status
    call make_spec(spec, status, type, shape, chunks, names, fill, compressor, level, inner_chunks, codecs, attributes, &
      zarr_format)
    handle = c_null_ptr
    if (status == OZARR_OK) status = ozarr_array_create_at(store%handle, c_text(path), spec, flags_of(overwrite), handle)
    call ozarr_spec_free(spec)
    call array_take(self, handle, status)
    call done_any(status, stat, errmsg)
  end subroutine array_create_store

  subroutine make_spec(spec, status, type, shape, chunks, names, fill, compressor, level, inner_chunks, codecs, attributes, &
    zarr_format)
    type(c_ptr), intent(out) :: spec
    integer(c_int32_t), intent(out) :: status
    integer(c_int32_t), intent(in) :: type
    type(*), dimension(..), intent(in) :: shape
    type(*), dimension(..), intent(in), optional :: chunks, inner_chunks
    character(*), intent(in), optional :: names(:)
    type(*), dimension(..), intent(in), optional :: fill
    character(*), intent(in), optional :: compressor, codecs, attributes
    integer, intent(in), optional :: level, zarr_format
    integer(c_int64_t), target :: dims(64)
    integer(c_int32_t) :: rank, found, compression
    spec = c_null_ptr
    status = ozf_dims(shape, "shape" // c_null_char, -1_c_int32_t, dims, rank)
    if (status == OZARR_OK) status = ozarr_spec_new(type, rank, dims, spec)
    if (status == OZARR_OK .and. present(zarr_format)) status = ozarr_spec_set_zarr_format(spec, int(zarr_format, c_int32_t))
    if (present(chunks)) then
      if (status == OZARR_OK) status = ozf_dims(chunks, "chunks" // c_null_char, rank, dims, found)
      if (status == OZARR_OK) status = ozarr_spec_set_chunks(spec, dims)
    end if
    if (present(inner_chunks)) then
      if (status == OZARR_OK) status = ozf_dims(inner_chunks, "inner_chunks" // c_null_char, rank, dims, found)
      if (status == OZARR_OK) status = ozarr_spec_set_inner_chunks(spec, dims)
    end if
    if (present(fill)) then
      if (status == OZARR_OK) status = ozf_set_fill(spec, fill)
    end if
    ! Texts come last: see done_any.
    if (status == OZARR_OK .and. present(names)) call set_names(spec, rank, names, status)
    if (present(compressor)) then
      compression = -1
      if (present(level)) compression = int(level, c_int32_t)
      if (status == OZARR_OK) status = ozarr_spec_set_compressor(spec, c_text(compressor), compression)
    end if
    if (present(codecs)) then
      if (status == OZARR_OK) status = ozarr_spec_set_member_json(spec, "codecs" // c_null_char, c_text(codecs))
    end if
    if (present(attributes)) then
      if (status == OZARR_OK) status = ozarr_spec_set_attributes_json(spec, c_text(attributes))
    end if
  end subroutine make_spec

  ! The dimensions' names, reversed; a blank one is no name.
  subroutine set_names(spec, rank, names, status)
    type(c_ptr), intent(in) :: spec
    integer(c_int32_t), intent(in) :: rank
    character(*), intent(in) :: names(:)
    integer(c_int32_t), intent(inout) :: status
    character(kind=c_char), allocatable, target :: letters(:, :)
    type(c_ptr), target :: pointers(64)
    integer :: d, i, c
    if (size(names) /= rank) then
      call ozf_note("names has another length than shape" // c_null_char)
      status = OZARR_ERR_RANK
      return
    end if
    allocate (letters(len(names) + 1, max(rank, 1)))
    pointers = c_null_ptr
    do d = 1, rank
      c = rank + 1 - d
      if (len_trim(names(d)) == 0) cycle
      do i = 1, len_trim(names(d))
        letters(i, c) = names(d)(i:i)
      end do
      letters(len_trim(names(d)) + 1, c) = c_null_char
      pointers(c) = c_loc(letters(1, c))
    end do
    status = ozarr_spec_set_dimension_names(spec, pointers)
  end subroutine set_names

  ! ==================================================================================================================
  ! Arrays: reading, writing, growing
  ! ==================================================================================================================

  ! Reads to u: the whole array, or the region of start, count and stride.
  subroutine array_read(self, u, start, count, stride, stat, errmsg)
    class(ozarr_array), intent(in) :: self
    type(*), dimension(..), intent(inout) :: u
    type(*), dimension(..), intent(in), optional :: start, count, stride
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done_any(ozf_read(self%handle, self%dimensions, u, start, count, stride), stat, errmsg)
  end subroutine array_read

  ! Writes from u: the whole array, or the region of start, count and stride.
  subroutine array_write(self, u, start, count, stride, stat, errmsg)
    class(ozarr_array), intent(in) :: self
    type(*), dimension(..), intent(in) :: u
    type(*), dimension(..), intent(in), optional :: start, count, stride
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done_any(ozf_write(self%handle, self%dimensions, u, start, count, stride), stat, errmsg)
  end subroutine array_write

  ! Makes dimension dim (the last one) longer and writes u there: of the array's rank, or of one less for one slab.
  subroutine array_append(self, u, dim, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    type(*), dimension(..), intent(in) :: u
    integer, intent(in), optional :: dim
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: along
    along = self%dimensions
    if (present(dim)) along = int(dim, c_int32_t)
    call done_any(ozf_append(self%handle, self%dimensions, u, along), stat, errmsg)
  end subroutine array_append

  ! Changes the shape. What is cut off is erased.
  subroutine array_resize(self, shape, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    type(*), dimension(..), intent(in) :: shape
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: dims(64)
    integer(c_int32_t) :: status, found
    status = ozf_dims(shape, "shape" // c_null_char, self%dimensions, dims, found)
    if (status == OZARR_OK) status = ozarr_array_resize(self%handle, dims)
    call done_any(status, stat, errmsg)
  end subroutine array_resize

  ! ==================================================================================================================
  ! Arrays: what they are like. A failure (an array that is not open) stops.
  ! ==================================================================================================================

  pure function array_rank(self) result(rank)
    class(ozarr_array), intent(in) :: self
    integer :: rank
    rank = self%dimensions
  end function array_rank

  function array_shape(self) result(dims)
    class(ozarr_array), intent(in) :: self
    integer(int64) :: dims(self%dimensions)
    call done(ozarr_array_shape(self%handle, dims))
    dims = dims(size(dims):1:-1)
  end function array_shape

  ! The shape of the pieces that are stored as one object each; of the largest one where their extents differ.
  function array_chunks(self) result(dims)
    class(ozarr_array), intent(in) :: self
    integer(int64) :: dims(self%dimensions)
    call done(ozarr_array_chunk_shape(self%handle, dims))
    dims = dims(size(dims):1:-1)
  end function array_chunks

  ! The shape of the smallest piece that can be read by itself.
  function array_inner_chunks(self) result(dims)
    class(ozarr_array), intent(in) :: self
    integer(int64) :: dims(self%dimensions)
    call done(ozarr_array_inner_chunk_shape(self%handle, dims))
    dims = dims(size(dims):1:-1)
  end function array_inner_chunks

  ! The number of chunks along each dimension.
  function array_grid_shape(self) result(dims)
    class(ozarr_array), intent(in) :: self
    integer(int64) :: dims(self%dimensions)
    call done(ozarr_array_grid_shape(self%handle, dims))
    dims = dims(size(dims):1:-1)
  end function array_grid_shape

  ! OZARR_FLOAT64 and so on.
  function array_type(self) result(type)
    class(ozarr_array), intent(in) :: self
    integer(c_int32_t) :: type
    type = 0
    call done(ozarr_array_type(self%handle, type))
  end function array_type

  ! The name of a dimension, from 1; an empty text if it has none.
  subroutine array_dimension_name(self, dim, name, stat, errmsg)
    class(ozarr_array), intent(in) :: self
    integer, intent(in) :: dim
    character(:), allocatable, intent(out) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: buf(:)
    integer(c_size_t) :: length, room
    integer(c_int32_t) :: status
    name = ""
    if (dim < 1 .or. dim > self%dimensions) then
      call ozf_note("dim is not one of the dimensions, which count from 1" // c_null_char)
      call done(OZARR_ERR_BOUNDS, stat, errmsg)
      return
    end if
    length = 255
    do
      room = length + 1
      if (allocated(buf)) deallocate (buf)
      allocate (buf(room))
      status = ozarr_array_dimension_name(self%handle, self%dimensions - int(dim, c_int32_t), c_loc(buf), room, length)
      if (status /= OZARR_ERR_BUFFER_SIZE) exit
    end do
    if (status == OZARR_OK) name = text_at(c_loc(buf))
    call done(status, stat, errmsg)
  end subroutine array_dimension_name

  ! ==================================================================================================================
  ! Groups
  ! ==================================================================================================================

  subroutine group_final(self)
    type(ozarr_group), intent(inout) :: self
    if (c_associated(self%handle)) call ozarr_group_free(self%handle)
    self%handle = c_null_ptr
  end subroutine group_final

  subroutine group_take(self, handle, status)
    class(ozarr_group), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    integer(c_int32_t), intent(in) :: status
    if (status /= OZARR_OK) return
    if (c_associated(self%handle)) call ozarr_group_free(self%handle)
    self%handle = handle
  end subroutine group_take

  subroutine group_open_location(self, location, mode, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    character(*), intent(in) :: location
    character(*), intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_open(c_text(location), mode_text(mode), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_open_location

  subroutine group_open_group(self, group, path, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_open_group(group%handle, c_text(path), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_open_group

  subroutine group_open_store(self, store, path, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    class(ozarr_store), intent(in) :: store
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_open_at(store%handle, c_text(path), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_open_store

  subroutine group_create_location(self, location, overwrite, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    character(*), intent(in) :: location
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_create(c_text(location), flags_of(overwrite), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_create_location

  subroutine group_create_group(self, group, path, overwrite, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_create_group(group%handle, c_text(path), flags_of(overwrite), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_create_group

  subroutine group_create_store(self, store, path, overwrite, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    class(ozarr_store), intent(in) :: store
    character(*), intent(in) :: path
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_create_at(store%handle, c_text(path), 0_c_int32_t, flags_of(overwrite), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_create_store

  ! The names of the children, sorted, padded with blanks; and their kinds: OZARR_NODE_ARRAY, OZARR_NODE_GROUP,
  ! OZARR_NODE_UNKNOWN.
  subroutine group_children(self, names, kinds, stat, errmsg)
    class(ozarr_group), intent(in) :: self
    character(:), allocatable, intent(out) :: names(:)
    integer(c_int32_t), allocatable, intent(out), optional :: kinds(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: name
    integer(c_int32_t), allocatable :: found(:)
    type(c_ptr) :: iter
    integer(c_int32_t) :: status
    integer :: pass, n, longest
    longest = 0
    n = 0
    ! First how many and how long, then the names.
    do pass = 1, 2
      if (pass == 2) then
        allocate (character(len=longest) :: names(n))
        allocate (found(n))
        found = OZARR_NODE_NONE
      end if
      iter = c_null_ptr
      status = ozarr_group_nodes(self%handle, c_null_ptr, 1_c_int32_t, iter)
      if (status == OZARR_OK) call walk(iter, pass == 2, status)
      call ozarr_node_iter_free(iter)
      if (status /= OZARR_OK) exit
    end do
    if (.not. allocated(names)) allocate (character(len=0) :: names(0))
    if (.not. allocated(found)) allocate (found(0))
    if (present(kinds)) kinds = found
    call done(status, stat, errmsg)

  contains

    subroutine walk(iter, keep, status)
      type(c_ptr), intent(in) :: iter
      logical, intent(in) :: keep
      integer(c_int32_t), intent(out) :: status
      logical(c_bool) :: more
      integer :: i
      i = 0
      do
        more = .false.
        status = ozarr_node_iter_next(iter, more)
        if (status /= OZARR_OK .or. .not. more) exit
        call fetch(ozarr_node_iter_name, iter, name, status)
        if (status /= OZARR_OK) exit
        i = i + 1
        if (.not. keep) then
          longest = max(longest, len(name))
          n = i
        else if (i <= n) then
          names(i) = name
          status = ozarr_node_iter_kind(iter, found(i))
          if (status /= OZARR_OK) exit
        end if
      end do
    end subroutine walk

  end subroutine group_children

  ! Collects the metadata of everything below into one document.
  subroutine group_consolidate(self, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_group_consolidate(self%handle), stat, errmsg)
  end subroutine group_consolidate

  ! ==================================================================================================================
  ! Stores
  ! ==================================================================================================================

  subroutine store_final(self)
    type(ozarr_store), intent(inout) :: self
    if (c_associated(self%handle)) call ozarr_store_free(self%handle)
    self%handle = c_null_ptr
  end subroutine store_final

  subroutine store_take(self, handle, status)
    class(ozarr_store), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    integer(c_int32_t), intent(in) :: status
    if (status /= OZARR_OK) return
    if (c_associated(self%handle)) call ozarr_store_free(self%handle)
    self%handle = handle
  end subroutine store_take

  ! Opens a place; mode "r" (the default) for reading, "r+" for reading and writing.
  subroutine store_open(self, location, mode, stat, errmsg)
    class(ozarr_store), intent(inout) :: self
    character(*), intent(in) :: location
    character(*), intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_store_open(c_text(location), mode_text(mode), handle)
    call store_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine store_open

  ! Makes an empty store in memory.
  subroutine store_memory(self, stat, errmsg)
    class(ozarr_store), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_store_memory(handle)
    call store_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine store_memory

  ! What stands at a path: OZARR_NODE_NONE, OZARR_NODE_ARRAY, ...
  function store_node_kind(self, path) result(kind)
    class(ozarr_store), intent(in) :: self
    character(*), intent(in) :: path
    integer(c_int32_t) :: kind
    kind = OZARR_NODE_NONE
    call done(ozarr_store_node_kind(self%handle, c_text(path), kind))
  end function store_node_kind

  ! Erases a node, with everything below it.
  subroutine store_erase(self, path, stat, errmsg)
    class(ozarr_store), intent(inout) :: self
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_store_node_erase(self%handle, c_text(path)), stat, errmsg)
  end subroutine store_erase

  ! Makes everything durable that was written through this store.
  subroutine store_flush(self, stat, errmsg)
    class(ozarr_store), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_store_flush(self%handle), stat, errmsg)
  end subroutine store_flush

  ! Flushes and frees.
  subroutine store_close(self, stat, errmsg)
    class(ozarr_store), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    call done(ozarr_store_close(handle), stat, errmsg)
  end subroutine store_close

  ! ==================================================================================================================
  ! Arrays and groups: closing, attributes
  ! ==================================================================================================================

  pure function node_is_open(self) result(is_open)
    class(ozarr_node), intent(in) :: self
    logical :: is_open
    is_open = c_associated(self%handle)
  end function node_is_open

  ! Makes durable what was written.
  subroutine node_flush(self, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_node_flush(self%handle), stat, errmsg)
  end subroutine node_flush

  ! Flushes and frees; the handle is gone, whatever the status says.
  subroutine node_close(self, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    if (self%is_array) then
      call done(ozarr_array_close(handle), stat, errmsg)
    else
      call done(ozarr_group_close(handle), stat, errmsg)
    end if
  end subroutine node_close

  ! The metadata document as JSON.
  subroutine node_metadata(self, json, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(:), allocatable, intent(out) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call fetch(ozarr_node_metadata, self%handle, json, status)
    if (.not. allocated(json)) json = ""
    call done(status, stat, errmsg)
  end subroutine node_metadata

  function node_attr_count(self) result(n)
    class(ozarr_node), intent(in) :: self
    integer :: n
    integer(c_int64_t) :: count
    count = 0
    call done(ozarr_attr_count(self%handle, count))
    n = int(count)
  end function node_attr_count

  ! The name of attribute number i, from 1.
  subroutine node_attr_name(self, i, name, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    integer, intent(in) :: i
    character(:), allocatable, intent(out) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: buf(:)
    integer(c_size_t) :: length, room
    integer(c_int32_t) :: status
    length = 255
    name = ""
    if (i < 1) then
      call ozf_note("the number of an attribute counts from 1" // c_null_char)
      call done(OZARR_ERR_BOUNDS, stat, errmsg)
      return
    end if
    do
      room = length + 1
      if (allocated(buf)) deallocate (buf)
      allocate (buf(room))
      status = ozarr_attr_name(self%handle, int(i - 1, c_int64_t), c_loc(buf), room, length)
      if (status /= OZARR_ERR_BUFFER_SIZE) exit
    end do
    if (status == OZARR_OK) name = text_at(c_loc(buf))
    call done(status, stat, errmsg)
  end subroutine node_attr_name

  ! The kind of an attribute: OZARR_JSON_INTEGER, ...
  subroutine node_attr_kind(self, name, kind, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    integer(c_int32_t), intent(inout) :: kind
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_kind(self%handle, c_text(name), kind), stat, errmsg)
  end subroutine node_attr_kind

  function node_has_attr(self, name) result(has)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    logical :: has
    integer(c_int32_t) :: kind, status
    kind = 0
    status = ozarr_attr_kind(self%handle, c_text(name), kind)
    has = status == OZARR_OK
    if (status /= OZARR_ERR_NOT_FOUND) call done(status)
  end function node_has_attr

  ! Removes an attribute.
  subroutine node_erase_attr(self, name, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_erase(self%handle, c_text(name)), stat, errmsg)
  end subroutine node_erase_attr

  ! From here on setters are collected; commit_attrs stores them in one write.
  subroutine node_begin_attrs(self, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attrs_begin(self%handle), stat, errmsg)
  end subroutine node_begin_attrs

  subroutine node_commit_attrs(self, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attrs_commit(self%handle), stat, errmsg)
  end subroutine node_commit_attrs

  ! Sets an attribute to any value, given as JSON.
  subroutine node_set_attr_json(self, name, json, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name, json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_json(self%handle, c_text(name), c_text(json)), stat, errmsg)
  end subroutine node_set_attr_json

  subroutine set_int32(self, name, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    integer(int32), intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_int64(self%handle, c_text(name), int(value, c_int64_t)), stat, errmsg)
  end subroutine set_int32

  subroutine set_int64(self, name, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    integer(int64), intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_int64(self%handle, c_text(name), int(value, c_int64_t)), stat, errmsg)
  end subroutine set_int64

  subroutine set_real32(self, name, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    real(real32), intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_double(self%handle, c_text(name), real(value, c_double)), stat, errmsg)
  end subroutine set_real32

  subroutine set_real64(self, name, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    real(real64), intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_double(self%handle, c_text(name), real(value, c_double)), stat, errmsg)
  end subroutine set_real64

  subroutine set_logical(self, name, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    logical, intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_bool(self%handle, c_text(name), logical(value, c_bool)), stat, errmsg)
  end subroutine set_logical

  ! Blanks at the end are not stored.
  subroutine set_text(self, name, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name, value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    status = checked(value)
    if (status == OZARR_OK) then
      status = ozarr_attr_set_string(self%handle, c_text(name), c_text(value))
    end if
    call done(status, stat, errmsg)
  end subroutine set_text

  subroutine get_int32(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    integer(int32), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: found
    integer(c_int32_t) :: status
    found = 0
    status = ozarr_attr_get_int64(self%handle, c_text(name), found)
    if (status == OZARR_OK .and. (found > huge(value) .or. found < -int(huge(value), c_int64_t) - 1)) then
      call ozf_note("the attribute does not fit into this kind of number: " // c_text(name))
      status = OZARR_ERR_RANGE
    end if
    if (status == OZARR_OK) value = int(found, int32)
    call done(status, stat, errmsg)
  end subroutine get_int32

  subroutine get_int64(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    integer(int64), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: found
    integer(c_int32_t) :: status
    found = 0
    status = ozarr_attr_get_int64(self%handle, c_text(name), found)
    if (status == OZARR_OK) value = found
    call done(status, stat, errmsg)
  end subroutine get_int64

  subroutine get_real32(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    real(real32), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(c_double) :: found
    integer(c_int32_t) :: status
    found = 0
    status = ozarr_attr_get_double(self%handle, c_text(name), found)
    if (status == OZARR_OK .and. abs(found) > huge(value)) then
      call ozf_note("the attribute does not fit into this kind of number: " // c_text(name))
      status = OZARR_ERR_RANGE
    end if
    if (status == OZARR_OK) value = real(found, real32)
    call done(status, stat, errmsg)
  end subroutine get_real32

  subroutine get_real64(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    real(real64), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(c_double) :: found
    integer(c_int32_t) :: status
    found = 0
    status = ozarr_attr_get_double(self%handle, c_text(name), found)
    if (status == OZARR_OK) value = found
    call done(status, stat, errmsg)
  end subroutine get_real64

  subroutine get_logical(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    logical, intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    logical(c_bool) :: found
    integer(c_int32_t) :: status
    found = .false.
    status = ozarr_attr_get_bool(self%handle, c_text(name), found)
    if (status == OZARR_OK) value = found
    call done(status, stat, errmsg)
  end subroutine get_logical

  ! A text that is longer than the variable is an error; a shorter one is padded with blanks.
  subroutine get_text(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(*), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: text
    character(100) :: note
    integer(c_int32_t) :: status
    call node_text(self, name, text, status)
    if (status == OZARR_OK) then
      if (len(text) > len(value)) then
        write (note, "(a, i0, a, i0)") "the text has ", len(text), " bytes, expected at most the variable's ", len(value)
        call ozf_note(c_text(note))
        status = OZARR_ERR_BUFFER_SIZE
      else
        value = text
      end if
    end if
    call done(status, stat, errmsg)
  end subroutine get_text

  subroutine node_text(self, name, text, status)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t), intent(out) :: status
    call fetch_named(ozarr_attr_get_string, self%handle, name, text, status)
    if (.not. allocated(text)) text = ""
  end subroutine node_text

  subroutine node_json(self, name, json, status)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: json
    integer(c_int32_t), intent(out) :: status
    call fetch_named(ozarr_attr_get_json, self%handle, name, json, status)
    if (.not. allocated(json)) json = ""
  end subroutine node_json

  ! The text of an attribute, as long as it is.
  subroutine node_get_attr_text(self, name, text, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: text
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call node_text(self, name, text, status)
    call done(status, stat, errmsg)
  end subroutine node_get_attr_text

  ! The value of an attribute of any kind, as JSON.
  subroutine node_get_attr_json(self, name, json, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call node_json(self, name, json, status)
    call done(status, stat, errmsg)
  end subroutine node_get_attr_json

end module ozarr
