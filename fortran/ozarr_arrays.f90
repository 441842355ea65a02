! Arrays: opening, creating, reading, writing, growing.                                          SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_arrays
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use ozarr_base
  use ozarr_c
  use ozarr_nodes
  implicit none
  private
  public :: ozarr_array

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
    procedure, private :: read_int8, read_int16, read_int32, read_int64, &
      read_real32, read_real64, read_complex32, read_complex64, &
      read_logical8, read_logical16, read_logical32, read_logical64
    generic :: read => read_int8, read_int16, read_int32, read_int64, &
      read_real32, read_real64, read_complex32, read_complex64, &
      read_logical8, read_logical16, read_logical32, read_logical64
    procedure, private :: write_int8, write_int16, write_int32, write_int64, &
      write_real32, write_real64, write_complex32, write_complex64, &
      write_logical8, write_logical16, write_logical32, write_logical64
    generic :: write => write_int8, write_int16, write_int32, write_int64, &
      write_real32, write_real64, write_complex32, write_complex64, &
      write_logical8, write_logical16, write_logical32, write_logical64
    procedure, private :: append_int8, append_int16, append_int32, append_int64, &
      append_real32, append_real64, append_complex32, append_complex64, &
      append_logical8, append_logical16, append_logical32, append_logical64
    generic :: append => append_int8, append_int16, append_int32, append_int64, &
      append_real32, append_real64, append_complex32, append_complex64, &
      append_logical8, append_logical16, append_logical32, append_logical64
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

  ! Of fortran/ozarr_shim.c.
  interface
    function ozf_read(array, rank, u, given, lists) bind(c, name="ozf_read") result(r)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: rank, given
      type(*), dimension(..), intent(inout) :: u
      integer(c_int64_t), intent(in) :: lists(*)
      integer(c_int32_t) :: r
    end function ozf_read
    function ozf_write(array, rank, u, given, lists) bind(c, name="ozf_write") result(r)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: rank, given
      type(*), dimension(..), intent(in) :: u
      integer(c_int64_t), intent(in) :: lists(*)
      integer(c_int32_t) :: r
    end function ozf_write
    function ozf_append(array, rank, u, dim) bind(c, name="ozf_append") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: rank, dim
      type(*), dimension(..), intent(in) :: u
      integer(c_int32_t) :: r
    end function ozf_append
    function ozf_set_fill(spec, value) bind(c, name="ozf_set_fill") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: spec
      type(*), dimension(..), intent(in) :: value
      integer(c_int32_t) :: r
    end function ozf_set_fill
  end interface

contains

  ! ==================================================================================================================
  ! Arrays: opening and creating
  ! ==================================================================================================================

  impure elemental subroutine array_final(self)
    type(ozarr_array), intent(inout) :: self
    if (c_associated(self%handle)) call ozarr_array_free(self%handle)
    self%handle = c_null_ptr
  end subroutine array_final

  ! Takes over the handle of a call that opened or created; after a failure the object is closed.
  subroutine array_take(self, handle, status)
    class(ozarr_array), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    integer(c_int32_t), intent(inout) :: status
    if (c_associated(self%handle)) call ozarr_array_free(self%handle)
    self%handle = c_null_ptr
    if (status /= OZARR_OK) return
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
    inner_chunks, codecs, attributes, zarr_format, overwrite, mode, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    character(*), intent(in) :: location
    integer(c_int32_t), intent(in) :: type
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: chunks(:), inner_chunks(:)
    character(*), intent(in), optional :: names(:)
    class(*), intent(in), optional :: fill
    character(*), intent(in), optional :: compressor, codecs, attributes
    integer, intent(in), optional :: level, zarr_format
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle, spec
    integer(c_int32_t) :: status
    call make_spec(spec, status, type, shape, chunks, names, fill, compressor, level, inner_chunks, codecs, attributes, &
      zarr_format)
    handle = c_null_ptr
    if (status == OZARR_OK) status = ozarr_array_create_ex(c_text(location), spec, &
      create_mode(overwrite, mode), handle)
    call ozarr_spec_free(spec)
    call array_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine array_create_location

  subroutine array_create_group(self, group, path, type, shape, chunks, names, fill, compressor, level, &
    inner_chunks, codecs, attributes, zarr_format, overwrite, mode, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    integer(c_int32_t), intent(in) :: type
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: chunks(:), inner_chunks(:)
    character(*), intent(in), optional :: names(:)
    class(*), intent(in), optional :: fill
    character(*), intent(in), optional :: compressor, codecs, attributes
    integer, intent(in), optional :: level, zarr_format
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle, spec
    integer(c_int32_t) :: status
    call make_spec(spec, status, type, shape, chunks, names, fill, compressor, level, inner_chunks, codecs, attributes, &
      zarr_format)
    handle = c_null_ptr
    if (status == OZARR_OK) status = ozarr_group_create_array(group%handle, c_text(path), spec, &
      create_mode(overwrite, mode), handle)
    call ozarr_spec_free(spec)
    call array_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine array_create_group

  subroutine array_create_store(self, store, path, type, shape, chunks, names, fill, compressor, level, &
    inner_chunks, codecs, attributes, zarr_format, overwrite, mode, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    class(ozarr_store), intent(in) :: store
    character(*), intent(in) :: path
    integer(c_int32_t), intent(in) :: type
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: chunks(:), inner_chunks(:)
    character(*), intent(in), optional :: names(:)
    class(*), intent(in), optional :: fill
    character(*), intent(in), optional :: compressor, codecs, attributes
    integer, intent(in), optional :: level, zarr_format
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle, spec
    integer(c_int32_t) :: status
    call make_spec(spec, status, type, shape, chunks, names, fill, compressor, level, inner_chunks, codecs, attributes, &
      zarr_format)
    handle = c_null_ptr
    if (status == OZARR_OK) status = ozarr_array_create_at(store%handle, c_text(path), spec, &
      create_mode(overwrite, mode), handle)
    call ozarr_spec_free(spec)
    call array_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine array_create_store

  subroutine make_spec(spec, status, type, shape, chunks, names, fill, compressor, level, inner_chunks, codecs, attributes, &
    zarr_format)
    type(c_ptr), intent(out) :: spec
    integer(c_int32_t), intent(out) :: status
    integer(c_int32_t), intent(in) :: type
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: chunks(:), inner_chunks(:)
    character(*), intent(in), optional :: names(:)
    class(*), intent(in), optional :: fill
    character(*), intent(in), optional :: compressor, codecs, attributes
    integer, intent(in), optional :: level, zarr_format
    integer(c_int64_t), target :: dims(max_rank)
    integer(c_int32_t) :: rank, found, compression
    spec = c_null_ptr
    call reversed_numbers_of(shape, "shape", -1_c_int32_t, dims, rank, status)
    if (status == OZARR_OK) status = ozarr_spec_new(type, rank, dims, spec)
    if (status == OZARR_OK .and. present(zarr_format)) status = ozarr_spec_set_zarr_format(spec, int(zarr_format, c_int32_t))
    if (status == OZARR_OK .and. present(chunks)) then
      call reversed_numbers_of(chunks, "chunks", rank, dims, found, status)
      if (status == OZARR_OK) status = ozarr_spec_set_chunks(spec, dims)
    end if
    if (status == OZARR_OK .and. present(inner_chunks)) then
      call reversed_numbers_of(inner_chunks, "inner_chunks", rank, dims, found, status)
      if (status == OZARR_OK) status = ozarr_spec_set_inner_chunks(spec, dims)
    end if
    if (status == OZARR_OK .and. present(fill)) call set_fill(spec, fill, status)
    if (status == OZARR_OK .and. present(names)) call set_names(spec, rank, names, status)
    if (status == OZARR_OK .and. present(compressor)) then
      compression = -1
      if (present(level)) compression = int(level, c_int32_t)
      status = ozarr_spec_set_compressor(spec, c_text(compressor), compression)
    end if
    if (status == OZARR_OK .and. present(codecs)) status = ozarr_spec_set_member_json(spec, "codecs" // c_null_char, c_text(codecs))
    if (status == OZARR_OK .and. present(attributes)) status = ozarr_spec_set_attributes_json(spec, c_text(attributes))
  end subroutine make_spec

  ! The fill value: a number or a logical of any kind that ozarr has.
  subroutine set_fill(spec, fill, status)
    type(c_ptr), intent(in) :: spec
    class(*), intent(in) :: fill
    integer(c_int32_t), intent(out) :: status
    select type (fill)
    type is (integer(int8))
      status = ozf_set_fill(spec, fill)
    type is (integer(int16))
      status = ozf_set_fill(spec, fill)
    type is (integer(int32))
      status = ozf_set_fill(spec, fill)
    type is (integer(int64))
      status = ozf_set_fill(spec, fill)
    type is (real(real32))
      status = ozf_set_fill(spec, fill)
    type is (real(real64))
      status = ozf_set_fill(spec, fill)
    type is (complex(real32))
      status = ozf_set_fill(spec, fill)
    type is (complex(real64))
      status = ozf_set_fill(spec, fill)
    type is (logical(c_bool))
      status = ozf_set_fill(spec, fill)
    type is (logical(int32))
      status = ozf_set_fill(spec, fill)
    type is (logical(int64))
      status = ozf_set_fill(spec, fill)
    class default
      status = refused(OZARR_ERR_TYPE, "fill is of a type that ozarr does not know, expected an integer (1, 2, 4, 8 bytes), &
        &a real (4, 8), a complex (2 x 4, 2 x 8) or a logical")
    end select
  end subroutine set_fill

  ! The dimensions' names in C's order; a blank one is no name.
  subroutine set_names(spec, rank, names, status)
    type(c_ptr), intent(in) :: spec
    integer(c_int32_t), intent(in) :: rank
    character(*), intent(in) :: names(:)
    integer(c_int32_t), intent(inout) :: status
    type(c_texts), target :: texts
    if (size(names) /= rank) then
      status = refused(OZARR_ERR_RANK, "names has " // decimal(size(names, kind=c_int64_t)) // " texts, expected " // &
        decimal(int(rank, c_int64_t)) // ", the rank of the array")
      return
    end if
    call make_texts(names, texts, reversed=.true., blank_is_null=.true.)
    status = ozarr_spec_set_dimension_names(spec, texts%pointers)
  end subroutine set_names

  ! ==================================================================================================================
  ! Arrays: reading, writing, growing
  ! ==================================================================================================================

  ! One procedure for each type of variable: read_int8 and so on.
  include "array_kinds.inc"

  ! Reads to u: the whole array, or the region of start, count and stride.
  subroutine read_any(self, u, start, count, stride, stat, errmsg)
    class(ozarr_array), intent(in) :: self
    type(*), dimension(..), intent(inout) :: u
    class(*), intent(in), optional :: start(:), count(:), stride(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: lists(max_rank, 3)
    integer(c_int32_t) :: status, given
    call region_of(self, lists, given, status, start, count, stride)
    if (status == OZARR_OK) status = ozf_read(self%handle, self%dimensions, u, given, lists)
    call done(status, stat, errmsg)
  end subroutine read_any

  ! Writes from u: the whole array, or the region of start, count and stride.
  subroutine write_any(self, u, start, count, stride, stat, errmsg)
    class(ozarr_array), intent(in) :: self
    type(*), dimension(..), intent(in) :: u
    class(*), intent(in), optional :: start(:), count(:), stride(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: lists(max_rank, 3)
    integer(c_int32_t) :: status, given
    call region_of(self, lists, given, status, start, count, stride)
    if (status == OZARR_OK) status = ozf_write(self%handle, self%dimensions, u, given, lists)
    call done(status, stat, errmsg)
  end subroutine write_any

  ! The lists of a region for the shim: a column each for start, count and stride. `given` is a sum of 1, 2 and 4, which says which ones are.
  subroutine region_of(self, lists, given, status, start, count, stride)
    class(ozarr_array), intent(in) :: self
    integer(c_int64_t), intent(out) :: lists(max_rank, 3)
    integer(c_int32_t), intent(out) :: given, status
    class(*), intent(in), optional :: start(:), count(:), stride(:)
    integer(c_int32_t) :: found
    given = 0
    status = OZARR_OK
    if (present(start)) then
      given = given + 1
      call numbers_of(start, "start", self%dimensions, lists(:, 1), found, status)
    end if
    if (present(count) .and. status == OZARR_OK) then
      given = given + 2
      call numbers_of(count, "count", self%dimensions, lists(:, 2), found, status)
    end if
    if (present(stride) .and. status == OZARR_OK) then
      given = given + 4
      call numbers_of(stride, "stride", self%dimensions, lists(:, 3), found, status)
    end if
  end subroutine region_of

  ! Makes dimension `dim` (the last one) longer and writes u there: of the array's rank, or of one less for one slab. What other handles
  ! and processes have appended stays: u comes after it.
  subroutine append_any(self, u, dim, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    type(*), dimension(..), intent(in) :: u
    integer, intent(in), optional :: dim
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: along
    along = self%dimensions
    if (present(dim)) along = int(dim, c_int32_t)
    call done(ozf_append(self%handle, self%dimensions, u, along), stat, errmsg)
  end subroutine append_any

  ! Changes the shape. What is cut off is erased.
  subroutine array_resize(self, shape, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    class(*), intent(in) :: shape(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: dims(max_rank)
    integer(c_int32_t) :: status, found
    call reversed_numbers_of(shape, "shape", self%dimensions, dims, found, status)
    if (status == OZARR_OK) status = ozarr_array_resize(self%handle, dims, 0_c_int32_t)
    call done(status, stat, errmsg)
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

end module ozarr_arrays
