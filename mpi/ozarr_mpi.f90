! Collective Zarr for programs of many ranks, over ozarr_mpi.h and the module ozarr.               SPDX-License-Identifier: MIT OR Apache-2.0
!
!     use mpi_f08
!     use ozarr
!     use ozarr_mpi
!     type(ozarr_ranks) :: ranks
!     type(ozarr_array) :: t
!     call ranks%open(MPI_COMM_WORLD)
!     call ranks%create(t, "run.zarr/t", OZARR_FLOAT64, [nx, ny], overwrite=.true.)
!     call ranks%write(t, u(1:mx, 1:my), start=[first_x, first_y])    ! the inside of a field with ghost cells
!     call ranks%close_array(t)
!     call ranks%close()
!
! Every rank calls the procedures in the same order, with its own variable and start. Indices begin at 1; the box has the shape of the
! variable, and the length 1 along dimensions behind the variable's. After a call stat= and errmsg= are the same on all ranks; without stat=
! a failure stops the program. Memory may have gaps: a section is not copied.
module ozarr_mpi
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08, only: MPI_Comm
  use ozarr_arrays, only: array_take, ozarr_array
  use ozarr_base, only: c_text, create_mode, done, integers_of, mode_text
  use ozarr_constants
  use ozarr_groups, only: group_take, ozarr_group
  implicit none
  private
  public :: ozarr_ranks

  ! The ranks of a communicator.
  type :: ozarr_ranks
    type(c_ptr), private :: handle = c_null_ptr
  contains
    procedure :: open => ranks_open
    procedure :: close => ranks_close
    procedure :: set => ranks_set
    procedure :: create => ranks_create
    procedure :: open_array => ranks_open_array
    procedure :: write => ranks_write
    procedure :: read => ranks_read
    procedure :: set_attr => ranks_set_attr
    procedure :: close_array => ranks_close_array
    procedure :: begin_checkpoint => ranks_begin_checkpoint
    procedure :: put => ranks_put
    procedure :: get => ranks_get
    procedure :: commit => ranks_commit
    procedure :: open_latest => ranks_open_latest
    procedure :: close_group => ranks_close_group
  end type ozarr_ranks

  interface
    function ozfm_new(comm, out) bind(c, name="ozfm_new") result(r)
      import :: c_ptr, c_int, c_int32_t
      integer(c_int), value :: comm
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozfm_new
    function ozfm_move(m, array, writes, u, start) bind(c, name="ozfm_move") result(r)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: m, array
      integer(c_int32_t), value :: writes
      type(*), dimension(..) :: u
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int32_t) :: r
    end function ozfm_move
    function ozfm_put(m, group, path, rank, shape, u, start) bind(c, name="ozfm_put") result(r)
      import :: c_ptr, c_char, c_int32_t, c_int64_t
      type(c_ptr), value :: m, group
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in) :: shape(*), start(*)
      type(*), dimension(..) :: u
      integer(c_int32_t) :: r
    end function ozfm_put
    function ozfm_get(m, group, path, u, start) bind(c, name="ozfm_get") result(r)
      import :: c_ptr, c_char, c_int32_t, c_int64_t
      type(c_ptr), value :: m, group
      character(kind=c_char), intent(in) :: path(*)
      type(*), dimension(..) :: u
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int32_t) :: r
    end function ozfm_get
    function ozarr_mpi_close(m) bind(c, name="ozarr_mpi_close") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: m
      integer(c_int32_t) :: r
    end function ozarr_mpi_close
    function ozarr_mpi_set(m, key, value) bind(c, name="ozarr_mpi_set") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m
      character(kind=c_char), intent(in) :: key(*), value(*)
      integer(c_int32_t) :: r
    end function ozarr_mpi_set
    function ozarr_mpi_array_create(m, location, type, rank, shape, chunks, mode, out) &
      bind(c, name="ozarr_mpi_array_create") result(r)
      import :: c_ptr, c_char, c_int32_t, c_int64_t
      type(c_ptr), value :: m, chunks
      character(kind=c_char), intent(in) :: location(*)
      integer(c_int32_t), value :: type, rank, mode
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_array_create
    function ozarr_mpi_array_open(m, location, mode, out) bind(c, name="ozarr_mpi_array_open") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m
      character(kind=c_char), intent(in) :: location(*), mode(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_array_open
    function ozarr_mpi_array_set_attr(m, array, name, json) bind(c, name="ozarr_mpi_array_set_attr") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m, array
      character(kind=c_char), intent(in) :: name(*), json(*)
      integer(c_int32_t) :: r
    end function ozarr_mpi_array_set_attr
    function ozarr_mpi_array_close(m, array) bind(c, name="ozarr_mpi_array_close") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: m, array
      integer(c_int32_t) :: r
    end function ozarr_mpi_array_close
    function ozarr_mpi_checkpoint_begin(m, location, name, out) bind(c, name="ozarr_mpi_checkpoint_begin") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m
      character(kind=c_char), intent(in) :: location(*), name(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_checkpoint_begin
    function ozarr_mpi_checkpoint_commit(m, group) bind(c, name="ozarr_mpi_checkpoint_commit") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: m, group
      integer(c_int32_t) :: r
    end function ozarr_mpi_checkpoint_commit
    function ozarr_mpi_checkpoint_latest(m, location, out) bind(c, name="ozarr_mpi_checkpoint_latest") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m
      character(kind=c_char), intent(in) :: location(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_checkpoint_latest
    function ozarr_mpi_group_close(m, group) bind(c, name="ozarr_mpi_group_close") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: m, group
      integer(c_int32_t) :: r
    end function ozarr_mpi_group_close
  end interface

contains

  ! Duplicates a communicator, whose ranks then work together.
  subroutine ranks_open(self, comm, stat, errmsg)
    class(ozarr_ranks), intent(inout) :: self
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozfm_new(int(comm%MPI_VAL, c_int), self%handle), stat, errmsg)
  end subroutine ranks_open

  subroutine ranks_close(self, stat, errmsg)
    class(ozarr_ranks), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    call done(ozarr_mpi_close(handle), stat, errmsg)
  end subroutine ranks_close

  ! "aggregators", "round_bytes", "message_bytes", "overlap": see ozarr_mpi.h.
  subroutine ranks_set(self, key, value, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    character(*), intent(in) :: key, value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_mpi_set(self%handle, c_text(key), c_text(value)), stat, errmsg)
  end subroutine ranks_set

  ! Creates an array.
  subroutine ranks_create(self, array, location, type, shape, chunks, overwrite, mode, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(inout) :: array
    character(*), intent(in) :: location
    integer, intent(in) :: type
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: chunks(:)
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: extents(:), numbers(:)
    integer(c_int64_t), allocatable, target :: pieces(:)
    type(c_ptr) :: handle, at
    integer(c_int32_t) :: status
    handle = c_null_ptr
    at = c_null_ptr
    call integers_of(shape, "shape", extents, status)
    extents = extents(size(extents):1:-1)
    if (status == OZARR_OK .and. present(chunks)) then
      call integers_of(chunks, "chunks", numbers, status)
      pieces = numbers(size(numbers):1:-1)
      at = c_loc(pieces)
    end if
    if (status == OZARR_OK) status = ozarr_mpi_array_create(self%handle, c_text(location), int(type, c_int32_t), &
      size(extents, kind=c_int32_t), extents, at, create_mode(overwrite, mode), handle)
    call array_take(array, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_create

  ! Opens an array: mode "r", or "r+" to write.
  subroutine ranks_open_array(self, array, location, mode, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(inout) :: array
    character(*), intent(in) :: location
    character(*), intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_mpi_array_open(self%handle, c_text(location), mode_text(mode), handle)
    call array_take(array, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_open_array

  ! Writes this rank's box from u.
  subroutine ranks_write(self, array, u, start, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(in) :: array
    type(*), dimension(..), intent(in) :: u
    class(*), intent(in) :: start(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: from(:)
    integer(c_int32_t) :: status
    call integers_of(start, "start", from, status)
    if (status == OZARR_OK) status = ozfm_move(self%handle, array%handle, 1_c_int32_t, u, from)
    call done(status, stat, errmsg)
  end subroutine ranks_write

  ! Reads this rank's box to u; boxes may overlap, as those with ghost cells do.
  subroutine ranks_read(self, array, u, start, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(in) :: array
    type(*), dimension(..), intent(inout) :: u
    class(*), intent(in) :: start(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: from(:)
    integer(c_int32_t) :: status
    call integers_of(start, "start", from, status)
    if (status == OZARR_OK) status = ozfm_move(self%handle, array%handle, 0_c_int32_t, u, from)
    call done(status, stat, errmsg)
  end subroutine ranks_read

  ! Sets an attribute to a value that is given as JSON.
  subroutine ranks_set_attr(self, array, name, json, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(in) :: array
    character(*), intent(in) :: name, json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_mpi_array_set_attr(self%handle, array%handle, c_text(name), c_text(json)), stat, errmsg)
  end subroutine ranks_set_attr

  ! Flushes what each rank wrote, and closes.
  subroutine ranks_close_array(self, array, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(inout) :: array
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = array%handle
    array%handle = c_null_ptr
    call done(ozarr_mpi_array_close(self%handle, handle), stat, errmsg)
  end subroutine ranks_close_array

  ! Begins a checkpoint: a group that is there as a whole or not at all.
  subroutine ranks_begin_checkpoint(self, group, location, name, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(inout) :: group
    character(*), intent(in) :: location, name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_mpi_checkpoint_begin(self%handle, c_text(location), c_text(name), handle)
    call group_take(group, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_begin_checkpoint

  ! Creates an array in a group, of the variable's type, and writes this rank's box of it from u.
  subroutine ranks_put(self, group, path, shape, u, start, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    class(*), intent(in) :: shape(:), start(:)
    type(*), dimension(..), intent(in) :: u
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: extents(:), from(:)
    integer(c_int32_t) :: status
    call integers_of(shape, "shape", extents, status)
    extents = extents(size(extents):1:-1)
    if (status == OZARR_OK) call integers_of(start, "start", from, status)
    if (status == OZARR_OK) status = ozfm_put(self%handle, group%handle, c_text(path), &
      size(extents, kind=c_int32_t), extents, u, from)
    call done(status, stat, errmsg)
  end subroutine ranks_put

  ! Reads this rank's box of an array in a group to u.
  subroutine ranks_get(self, group, path, u, start, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    type(*), dimension(..), intent(inout) :: u
    class(*), intent(in) :: start(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: from(:)
    integer(c_int32_t) :: status
    call integers_of(start, "start", from, status)
    if (status == OZARR_OK) status = ozfm_get(self%handle, group%handle, c_text(path), u, from)
    call done(status, stat, errmsg)
  end subroutine ranks_get

  ! Commits the checkpoint, and closes the group whatever the status says.
  subroutine ranks_commit(self, group, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(inout) :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = group%handle
    group%handle = c_null_ptr
    call done(ozarr_mpi_checkpoint_commit(self%handle, handle), stat, errmsg)
  end subroutine ranks_commit

  ! Opens the newest committed checkpoint for reading; OZARR_ERR_NOT_FOUND if there is none.
  subroutine ranks_open_latest(self, group, location, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(inout) :: group
    character(*), intent(in) :: location
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_mpi_checkpoint_latest(self%handle, c_text(location), handle)
    call group_take(group, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_open_latest

  ! Closes a group.
  subroutine ranks_close_group(self, group, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(inout) :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = group%handle
    group%handle = c_null_ptr
    call done(ozarr_mpi_group_close(self%handle, handle), stat, errmsg)
  end subroutine ranks_close_group

end module ozarr_mpi
