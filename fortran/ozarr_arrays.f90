! Arrays: opening, creating, reading, writing, growing.                                          SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_arrays
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use ozarr_base
  use ozarr_c
  use ozarr_dtypes
  use ozarr_groups
  use ozarr_nodes
  use ozarr_requests
  use ozarr_specs
  use ozarr_stores
  implicit none
  private
  public :: ozarr_array, ozarr_comparison, ozarr_indices, ozarr_summary, array_note, array_take, ozarr_open, ozarr_import

  type, extends(ozarr_node) :: ozarr_array
    integer(c_int32_t), private :: dimensions = not_open
  contains
    procedure, private :: open_location => array_open_location
    procedure, private :: open_group => array_open_group
    procedure, private :: open_store => array_open_store
    generic :: open => open_location, open_group, open_store
    procedure, private :: create_in_location, create_in_group, create_in_store, spec_in_location, spec_in_group, spec_in_store
    generic :: create => create_in_location, create_in_group, create_in_store, spec_in_location, spec_in_group, spec_in_store
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
    procedure, private :: iread_int8, iread_int16, iread_int32, iread_int64, &
      iread_real32, iread_real64, iread_complex32, iread_complex64, &
      iread_logical8
    generic :: iread => iread_int8, iread_int16, iread_int32, iread_int64, &
      iread_real32, iread_real64, iread_complex32, iread_complex64, &
      iread_logical8
    procedure, private :: iwrite_int8, iwrite_int16, iwrite_int32, iwrite_int64, &
      iwrite_real32, iwrite_real64, iwrite_complex32, iwrite_complex64, &
      iwrite_logical8
    generic :: iwrite => iwrite_int8, iwrite_int16, iwrite_int32, iwrite_int64, &
      iwrite_real32, iwrite_real64, iwrite_complex32, iwrite_complex64, &
      iwrite_logical8
    procedure, private :: read_unpacked_real32, read_unpacked_real64
    generic :: read_unpacked => read_unpacked_real32, read_unpacked_real64
    procedure, private :: write_packed_real32, write_packed_real64
    generic :: write_packed => write_packed_real32, write_packed_real64
    procedure, private :: read_points_int8, read_points_int16, read_points_int32, read_points_int64, &
      read_points_real32, read_points_real64, read_points_complex32, read_points_complex64, &
      read_points_logical8, read_points_logical16, read_points_logical32, read_points_logical64
    generic :: read_points => read_points_int8, read_points_int16, read_points_int32, read_points_int64, &
      read_points_real32, read_points_real64, read_points_complex32, read_points_complex64, &
      read_points_logical8, read_points_logical16, read_points_logical32, read_points_logical64
    procedure, private :: write_points_int8, write_points_int16, write_points_int32, write_points_int64, &
      write_points_real32, write_points_real64, write_points_complex32, write_points_complex64, &
      write_points_logical8, write_points_logical16, write_points_logical32, write_points_logical64
    generic :: write_points => write_points_int8, write_points_int16, write_points_int32, write_points_int64, &
      write_points_real32, write_points_real64, write_points_complex32, write_points_complex64, &
      write_points_logical8, write_points_logical16, write_points_logical32, write_points_logical64
    procedure, private :: read_lists_int8, read_lists_int16, read_lists_int32, read_lists_int64, &
      read_lists_real32, read_lists_real64, read_lists_complex32, read_lists_complex64, &
      read_lists_logical8, read_lists_logical16, read_lists_logical32, read_lists_logical64
    generic :: read_lists => read_lists_int8, read_lists_int16, read_lists_int32, read_lists_int64, &
      read_lists_real32, read_lists_real64, read_lists_complex32, read_lists_complex64, &
      read_lists_logical8, read_lists_logical16, read_lists_logical32, read_lists_logical64
    procedure, private :: write_lists_int8, write_lists_int16, write_lists_int32, write_lists_int64, &
      write_lists_real32, write_lists_real64, write_lists_complex32, write_lists_complex64, &
      write_lists_logical8, write_lists_logical16, write_lists_logical32, write_lists_logical64
    generic :: write_lists => write_lists_int8, write_lists_int16, write_lists_int32, write_lists_int64, &
      write_lists_real32, write_lists_real64, write_lists_complex32, write_lists_complex64, &
      write_lists_logical8, write_lists_logical16, write_lists_logical32, write_lists_logical64
    procedure, private :: read_mask_int8, read_mask_int16, read_mask_int32, read_mask_int64, &
      read_mask_real32, read_mask_real64, read_mask_complex32, read_mask_complex64, &
      read_mask_logical8, read_mask_logical16, read_mask_logical32, read_mask_logical64
    generic :: read_mask => read_mask_int8, read_mask_int16, read_mask_int32, read_mask_int64, &
      read_mask_real32, read_mask_real64, read_mask_complex32, read_mask_complex64, &
      read_mask_logical8, read_mask_logical16, read_mask_logical32, read_mask_logical64
    procedure, private :: write_mask_int8, write_mask_int16, write_mask_int32, write_mask_int64, &
      write_mask_real32, write_mask_real64, write_mask_complex32, write_mask_complex64, &
      write_mask_logical8, write_mask_logical16, write_mask_logical32, write_mask_logical64
    generic :: write_mask => write_mask_int8, write_mask_int16, write_mask_int32, write_mask_int64, &
      write_mask_real32, write_mask_real64, write_mask_complex32, write_mask_complex64, &
      write_mask_logical8, write_mask_logical16, write_mask_logical32, write_mask_logical64
    procedure :: read_chunk => array_read_chunk
    procedure :: write_chunk => array_write_chunk
    procedure :: read_text => array_read_text
    procedure :: write_text => array_write_text
    procedure :: read_struct => array_read_struct
    procedure :: write_struct => array_write_struct
    procedure :: read_times => array_read_times
    procedure :: write_times => array_write_times
    procedure :: summarize => array_summarize
    procedure :: digest => array_digest
    procedure :: compare => array_compare
    procedure :: fill_value => array_fill_value
    procedure :: missing_value => array_missing_value
    procedure :: resize => array_resize
    procedure :: wait_growth => array_wait_growth
    procedure :: partition => array_partition
    procedure :: rank => array_rank
    procedure :: shape => array_shape
    procedure :: chunks => array_chunks
    procedure :: chunk_extent => array_chunk_extent
    procedure :: inner_chunks => array_inner_chunks
    procedure :: grid_shape => array_grid_shape
    procedure :: type => array_type
    procedure :: dtype => array_dtype
    procedure :: item_size => array_item_size
    procedure :: dimension_name => array_dimension_name
    procedure :: set_dimension_names => array_set_dimension_names
    procedure :: get_spec => array_get_spec
    final :: array_final
  end type ozarr_array

  ! The indices along one dimension, from 1: lists(1) = ozarr_indices([1, 5, 7]). gfortran does not free those of [ozarr_indices(i), ...].
  type :: ozarr_indices
    integer(c_int64_t), allocatable, private :: indices(:)
  end type ozarr_indices
  interface ozarr_indices
    procedure list_of_int32, list_of_int64
  end interface ozarr_indices

  interface ozarr_import
    procedure import_location, import_store
  end interface ozarr_import

  ! What ozf_move does with elements; as in ozarr_shim.c.
  integer(c_int32_t), parameter :: to_read = 0, to_write = 1, to_unpack = 2, to_pack = 3, to_iread = 4, to_iwrite = 5, &
    to_read_times = 6, to_write_times = 7, to_note_read = 14, to_note_write = 15

  ! What a call may have besides its region; as in ozarr_shim.c.
  type, bind(c) :: move_options
    integer(c_int32_t) :: overflow = 0, copy = 0
    real(c_double) :: seconds = 0
    type(c_ptr) :: units = c_null_ptr, field = c_null_ptr, dtype = c_null_ptr
    integer(c_int64_t) :: periodic = 0                      ! bit i - 1: dimension i
  end type move_options

  ! A region as C has it.
  type :: place
    logical :: is_whole = .true.
    integer(c_int64_t) :: first(max_rank) = 0, extent(max_rank) = 0, step(max_rank) = 1
    type(ozarr_region) :: region
  end type place

  ! Of fortran/ozarr_shim.c.
  interface
    function ozf_move(array, rank, what, u, given, lists, more, request) bind(c, name="ozf_move") result(r)
      import :: c_ptr, c_int32_t, c_int64_t, move_options
      type(c_ptr), value :: array
      integer(c_int32_t), value :: rank, what, given
      type(*), dimension(..) :: u
      integer(c_int64_t), intent(in) :: lists(*)
      type(move_options), intent(in) :: more
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: r
    end function ozf_move
    function ozf_points(array, write, u, count, points) bind(c, name="ozf_points") result(r)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: write
      type(*), dimension(..) :: u
      integer(c_int64_t), value :: count
      integer(c_int64_t), intent(in) :: points(*)
      integer(c_int32_t) :: r
    end function ozf_points
    function ozf_mask(array, rank, write, u, mask, given, lists) bind(c, name="ozf_mask") result(r)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: rank, write, given
      type(*), dimension(..) :: u
      type(*), dimension(..), intent(in) :: mask
      integer(c_int64_t), intent(in) :: lists(*)
      integer(c_int32_t) :: r
    end function ozf_mask
    function ozf_lists(array, rank, write, u, counts, lists) bind(c, name="ozf_lists") result(r)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: rank, write
      type(*), dimension(..) :: u
      integer(c_int64_t), intent(in) :: counts(*)
      type(c_ptr), intent(in) :: lists(*)
      integer(c_int32_t) :: r
    end function ozf_lists
    function ozf_append(array, rank, u, dim) bind(c, name="ozf_append") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: array
      integer(c_int32_t), value :: rank, dim
      type(*), dimension(..), intent(in) :: u
      integer(c_int32_t) :: r
    end function ozf_append
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

  ! Creates an array: its type (OZARR_FLOAT64, ...) and shape, and what else is to be chosen (see spec_create_type): at a location, below a
  ! group, in a store. `overwrite` erases what is there; `mode` is OZARR_CREATE_NEW, OZARR_CREATE_OVERWRITE or OZARR_CREATE_OPEN_IF_SAME.
  include "array_places.inc"

  ! Opens an exported node (export) without reading its metadata, at the root of a store: as `array` or `group`, whichever it is; the other
  ! one is closed. A node of a kind that is not asked for is OZARR_ERR_NODE_KIND.
  subroutine import_location(location, bytes, array, group, mode, stat, errmsg)
    character(*), intent(in) :: location
    integer(int8), intent(in), target, contiguous :: bytes(:)
    type(ozarr_array), intent(inout), optional :: array
    type(ozarr_group), intent(inout), optional :: group
    character(*), intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: a, g
    integer(c_int32_t) :: status
    a = c_null_ptr
    g = c_null_ptr
    status = ozarr_node_import(c_text(location), mode_text(mode), c_loc(bytes), size(bytes, kind=c_size_t), a, g)
    call take_either(a, g, status, array, group)
    call done(status, stat, errmsg)
  end subroutine import_location

  ! Opens an exported node in an open store.
  subroutine import_store(store, bytes, array, group, stat, errmsg)
    class(ozarr_store), intent(in) :: store
    integer(int8), intent(in), target, contiguous :: bytes(:)
    type(ozarr_array), intent(inout), optional :: array
    type(ozarr_group), intent(inout), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: a, g
    integer(c_int32_t) :: status
    a = c_null_ptr
    g = c_null_ptr
    status = ozarr_node_import_at(store%handle, c_loc(bytes), size(bytes, kind=c_size_t), a, g)
    call take_either(a, g, status, array, group)
    call done(status, stat, errmsg)
  end subroutine import_store

  ! Opens the node at a location, whatever it is: as `array` or `group`; the other one is closed.
  subroutine ozarr_open(location, array, group, mode, stat, errmsg)
    character(*), intent(in) :: location
    type(ozarr_array), intent(inout), optional :: array
    type(ozarr_group), intent(inout), optional :: group
    character(*), intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: a, g
    integer(c_int32_t) :: status
    a = c_null_ptr
    g = c_null_ptr
    status = ozarr_node_open(c_text(location), mode_text(mode), a, g)
    call take_either(a, g, status, array, group)
    call done(status, stat, errmsg)
  end subroutine ozarr_open

  ! Gives each object that is there its handle, or closes it.
  subroutine take_either(a, g, status, array, group)
    type(c_ptr), intent(in) :: a, g
    integer(c_int32_t), intent(inout) :: status
    type(ozarr_array), intent(inout), optional :: array
    type(ozarr_group), intent(inout), optional :: group
    integer(c_int32_t) :: taken
    if (c_associated(a) .and. .not. present(array)) then
      call ozarr_array_free(a)
      status = refused(OZARR_ERR_NODE_KIND, "the node is an array, expected a group")
    else if (c_associated(g) .and. .not. present(group)) then
      call ozarr_group_free(g)
      status = refused(OZARR_ERR_NODE_KIND, "the node is a group, expected an array")
    end if
    if (present(array)) then
      taken = merge(status, OZARR_ERR_NODE_KIND, c_associated(a))
      call array_take(array, a, taken)
    end if
    if (present(group)) call group_take(group, g, merge(status, OZARR_ERR_NODE_KIND, c_associated(g)))
  end subroutine take_either

  include "array_moves.inc"

  include "array_picks.inc"

  include "array_raw.inc"

  ! ==================================================================================================================
  ! Growing, and parts for parallel programs
  ! ==================================================================================================================

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

  ! Changes the shape. What is cut off is erased, unless `keep`: then it comes back if the array grows again.
  subroutine array_resize(self, shape, keep, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    type(*), dimension(..), intent(in) :: shape
    logical, intent(in), optional :: keep
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: dims(max_rank)
    integer(c_int32_t) :: status, found, flags
    flags = 0
    if (present(keep)) flags = merge(OZARR_RESIZE_KEEP, 0_c_int32_t, keep)
    call reversed_numbers_of(shape, "shape", self%dimensions, dims, found, status)
    if (status == OZARR_OK) status = ozarr_array_resize(self%handle, dims, flags)
    call done(status, stat, errmsg)
  end subroutine array_resize

  ! Waits until dimension `dim` (the last one) is longer than `beyond`, for at most `seconds` (0 looks once, a negative number sets no
  ! limit), then OZARR_ERR_TIMEOUT.
  ! `length` is its length then, and the array's shape is up to date.
  subroutine array_wait_growth(self, beyond, seconds, length, dim, stat, errmsg)
    class(ozarr_array), intent(inout) :: self
    integer(int64), intent(in) :: beyond
    real(real64), intent(in) :: seconds
    integer(int64), intent(out), optional :: length
    integer, intent(in), optional :: dim
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: found
    integer(c_int32_t) :: status, along
    along = self%dimensions
    if (present(dim)) along = int(dim, c_int32_t)
    found = 0
    status = checked_dim(int(along), self%dimensions)
    if (status == OZARR_OK) status = ozarr_array_wait_growth(self%handle, self%dimensions - along, beyond, &
      seconds, found)
    if (present(length)) length = found
    call done(status, stat, errmsg)
  end subroutine array_wait_growth

  ! The part of worker number `worker`, from 1, of `workers`: start and count for read and write, with borders of chunks only, so that
  ! workers need not wait for each other. It is a part of the whole array, or of the region of region_start and region_count (one step of
  ! a series, say). Parts without elements have a count of 0. `inner` cuts between inner chunks, too: for reading.
  subroutine array_partition(self, worker, workers, start, count, region_start, region_count, inner, stat, errmsg)
    class(ozarr_array), intent(in) :: self
    integer, intent(in) :: worker, workers
    integer(int64), allocatable, intent(out) :: start(:), count(:)
    type(*), dimension(..), intent(in), optional :: region_start, region_count
    logical, intent(in), optional :: inner
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: first(max_rank), counts(max_rank)
    integer(c_int64_t), target :: from(max_rank), extent(max_rank)
    type(ozarr_region), target :: region
    type(c_ptr) :: within
    integer(c_int32_t) :: status, flags, found
    integer :: n, failed
    flags = 0
    if (present(inner)) flags = merge(OZARR_PARTITION_INNER, 0_c_int32_t, inner)
    n = max(self%dimensions, 0_c_int)
    first = 0
    counts = 0
    within = c_null_ptr
    status = OZARR_OK
    if (worker < 1 .or. worker > workers) status = refused(OZARR_ERR_ARGUMENT, "worker is ", &
      n=int(worker, c_int64_t), after=", expected 1 to ", m=int(workers, c_int64_t), ending=", the number of workers")
    if (status == OZARR_OK .and. (present(region_start) .neqv. present(region_count))) status = refused(OZARR_ERR_ARGUMENT, &
      "found one of region_start and region_count, expected both or none")
    if (status == OZARR_OK .and. present(region_start)) then
      call reversed_numbers_of(region_start, "region_start", self%dimensions, from, found, status)
      if (status == OZARR_OK) call reversed_numbers_of(region_count, "region_count", self%dimensions, extent, found, status)
      if (status == OZARR_OK) from(:n) = from(:n) - 1
      region%struct_size = c_sizeof(region)
      region%start = c_loc(from)
      region%shape = c_loc(extent)
      within = c_loc(region)
    end if
    if (status == OZARR_OK) status = ozarr_array_partition(self%handle, within, int(workers, c_int64_t), &
      int(worker - 1, c_int64_t), flags, first, counts)
    allocate (start(n), count(n), stat=failed)
    if (failed == 0) then
      start(:) = first(n:1:-1) + 1
      count(:) = counts(n:1:-1)
    else if (status == OZARR_OK) then
      status = checked_memory(failed, "start and count")
    end if
    call done(status, stat, errmsg)
  end subroutine array_partition

  include "array_about.inc"

  include "array_figures.inc"

end module ozarr_arrays
