! Groups: opening, creating, listing.                                                            SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_groups
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use ozarr_base
  use ozarr_c
  use ozarr_nodes
  use ozarr_stores
  implicit none
  private
  public :: ozarr_group, group_take, list_nodes

  type, extends(ozarr_node) :: ozarr_group
  contains
    procedure, private :: open_location => group_open_location
    procedure, private :: open_group => group_open_group
    procedure, private :: open_store => group_open_store
    generic :: open => open_location, open_group, open_store
    procedure, private :: create_location => group_create_location
    procedure, private :: create_group => group_create_group
    procedure, private :: create_store => group_create_store
    generic :: create => create_location, create_group, create_store
    procedure, private :: write_int8, write_int16, write_int32, write_int64, &
      write_real32, write_real64, write_complex32, write_complex64, &
      write_logical8, write_logical16, write_logical32, write_logical64
    generic :: write => write_int8, write_int16, write_int32, write_int64, &
      write_real32, write_real64, write_complex32, write_complex64, &
      write_logical8, write_logical16, write_logical32, write_logical64
    procedure, private :: read_int8, read_int16, read_int32, read_int64, &
      read_real32, read_real64, read_complex32, read_complex64, &
      read_logical8, read_logical16, read_logical32, read_logical64
    generic :: read => read_int8, read_int16, read_int32, read_int64, &
      read_real32, read_real64, read_complex32, read_complex64, &
      read_logical8, read_logical16, read_logical32, read_logical64
    procedure :: children => group_children
    procedure :: nodes => group_nodes
    procedure :: consolidate => group_consolidate
    final :: group_final
  end type ozarr_group

  ! Of fortran/ozarr_shim.c.
  interface
    function ozf_group_write(group, path, u) bind(c, name="ozf_group_write") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: path(*)
      type(*), dimension(..), intent(in) :: u
      integer(c_int32_t) :: r
    end function ozf_group_write
    function ozf_group_read(group, path, u) bind(c, name="ozf_group_read") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: path(*)
      type(*), dimension(..), intent(inout) :: u
      integer(c_int32_t) :: r
    end function ozf_group_read
  end interface

contains

  impure elemental subroutine group_final(self)
    type(ozarr_group), intent(inout) :: self
    if (c_associated(self%handle)) call ozarr_group_free(self%handle)
    self%handle = c_null_ptr
  end subroutine group_final

  ! Takes over the handle of a call that opened or created; after a failure the object is closed.
  subroutine group_take(self, handle, status)
    class(ozarr_group), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    integer(c_int32_t), intent(in) :: status
    if (c_associated(self%handle)) call ozarr_group_free(self%handle)
    self%handle = c_null_ptr
    if (status /= OZARR_OK) return
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

  subroutine group_create_location(self, location, overwrite, mode, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    character(*), intent(in) :: location
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_create(c_text(location), create_mode(overwrite, mode), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_create_location

  subroutine group_create_group(self, group, path, overwrite, mode, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_create_group(group%handle, c_text(path), create_mode(overwrite, mode), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_create_group

  subroutine group_create_store(self, store, path, overwrite, mode, zarr_format, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    class(ozarr_store), intent(in) :: store
    character(*), intent(in) :: path
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode, zarr_format
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status, format
    format = 0
    if (present(zarr_format)) format = int(zarr_format, c_int32_t)
    handle = c_null_ptr
    status = ozarr_group_create_at(store%handle, c_text(path), format, create_mode(overwrite, mode), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_create_store

  ! One procedure for each type of variable: write_int8 and so on.
  include "group_kinds.inc"

  ! Creates the array `path` below the group, of the type and shape of u, and writes it.
  subroutine write_any(self, path, u, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    character(*), intent(in) :: path
    type(*), dimension(..), intent(in) :: u
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozf_group_write(self%handle, c_text(path), u), stat, errmsg)
  end subroutine write_any

  ! Reads all of the array `path` below the group.
  subroutine read_any(self, path, u, stat, errmsg)
    class(ozarr_group), intent(in) :: self
    character(*), intent(in) :: path
    type(*), dimension(..), intent(inout) :: u
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozf_group_read(self%handle, c_text(path), u), stat, errmsg)
  end subroutine read_any

  ! The names of the children, sorted, padded with blanks; and their kinds: OZARR_NODE_KIND_ARRAY, OZARR_NODE_KIND_GROUP,
  ! OZARR_NODE_KIND_UNKNOWN.
  subroutine group_children(self, names, kinds, stat, errmsg)
    class(ozarr_group), intent(in) :: self
    character(:), allocatable, intent(out) :: names(:)
    integer(c_int32_t), allocatable, intent(out), optional :: kinds(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call self%nodes(names, kinds, depth=1, stat=stat, errmsg=errmsg)
  end subroutine group_children

  ! The paths of the nodes below the group, sorted, padded with blanks, and their kinds: down to `depth` levels (all), and those that match
  ! `pattern` (all): "*" is any text without a slash, "?" one such letter, "**" any text. `errors` has the messages of nodes that cannot
  ! be understood, and blanks for others.
  subroutine group_nodes(self, paths, kinds, pattern, depth, errors, stat, errmsg)
    class(ozarr_group), intent(in) :: self
    character(:), allocatable, intent(out) :: paths(:)
    integer(c_int32_t), allocatable, intent(out), optional :: kinds(:)
    character(*), intent(in), optional :: pattern
    integer, intent(in), optional :: depth
    character(:), allocatable, intent(out), optional :: errors(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: names(:), messages(:)
    integer(c_int32_t), allocatable :: found(:)
    character(kind=c_char, len=:), allocatable :: only
    type(c_ptr) :: iter
    integer(c_int32_t) :: status, levels
    levels = -1
    if (present(depth)) levels = int(depth, c_int32_t)
    iter = c_null_ptr
    status = OZARR_OK
    call keep_text(pattern, only, status)
    if (status == OZARR_OK) status = ozarr_group_list_nodes(self%handle, only, levels, iter)
    call list_nodes(iter, names, found, messages, status)
    call ozarr_node_iter_free(iter)
    call move_alloc(names, paths)
    if (present(kinds)) call move_alloc(found, kinds)
    if (present(errors)) call move_alloc(messages, errors)
    call done(status, stat, errmsg)
  end subroutine group_nodes

  ! What a cursor gives; nothing after a failure.
  subroutine list_nodes(iter, names, kinds, messages, status)
    type(c_ptr), intent(in) :: iter
    character(:), allocatable, intent(out) :: names(:), messages(:)
    integer(c_int32_t), allocatable, intent(out) :: kinds(:)
    integer(c_int32_t), intent(inout) :: status
    type(name_list) :: found, errors
    type(text_buffer), target :: buffer
    integer(c_int32_t), allocatable :: all(:)
    integer(c_int32_t) :: kind
    logical(c_bool) :: more
    integer :: n, failed
    do while (status == OZARR_OK)
      more = .false.
      status = ozarr_node_iter_next(iter, more)
      if (status /= OZARR_OK .or. .not. more) exit
      call ask(ozarr_node_iter_name, iter, buffer, status)
      if (status == OZARR_OK) call found%add(buffer%letters(:buffer%length), status)
      if (status == OZARR_OK) status = ozarr_node_iter_kind(iter, kind)
      if (status == OZARR_OK) call add_kind(all, found%count, kind, status)
      if (status == OZARR_OK) call ask(ozarr_node_iter_error, iter, buffer, status)
      if (status == OZARR_OK) call errors%add(buffer%letters(:buffer%length), status)
    end do
    call found%give(names, status)
    call errors%give(messages, status)
    n = merge(found%count, 0, status == OZARR_OK)
    allocate (kinds(n), stat=failed)
    if (status == OZARR_OK) status = checked_memory(failed, "kinds")
    if (status == OZARR_OK .and. n > 0) kinds(:) = all(:n)
  end subroutine list_nodes

  ! Adds a kind as number n of a list; the memory grows by doubling.
  subroutine add_kind(all, n, kind, status)
    integer(c_int32_t), allocatable, intent(inout) :: all(:)
    integer, intent(in) :: n
    integer(c_int32_t), intent(in) :: kind
    integer(c_int32_t), intent(inout) :: status
    integer(c_int32_t), allocatable :: larger(:)
    integer :: room, failed
    room = 0
    if (allocated(all)) room = size(all)
    if (n > room) then
      allocate (larger(max(2 * room, 16)), stat=failed)
      status = checked_memory(failed, "kinds")
      if (status /= OZARR_OK) return
      if (room > 0) larger(:room) = all
      call move_alloc(larger, all)
    end if
    all(n) = kind
  end subroutine add_kind

  ! Collects the metadata of everything below into one document.
  subroutine group_consolidate(self, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_group_consolidate(self%handle), stat, errmsg)
  end subroutine group_consolidate

end module ozarr_groups
