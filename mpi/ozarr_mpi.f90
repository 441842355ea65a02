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
! The steps of a dataset that rank 0 has made:
!
!     type(ozarr_ranks_series) :: series
!     status = OZARR_OK
!     if (rank == 0) call define("run.zarr", status)
!     call ranks%agree(status)
!     call series%open(ranks, "run.zarr", "time")
!     call series%put("t", u(1:mx, 1:my), start=[first_x, first_y])
!     call series%step(60 * step)
!     call series%close()
!
! Every rank calls the procedures in the same order, with its own variable and start. Indices begin at 1; the box has the shape of the
! variable, and the length 1 along dimensions behind the variable's. After a call stat= and errmsg= are the same on all ranks; without stat=
! a failure stops the program. Memory may have gaps: a section is not copied. Variables are integer (1, 2, 4, 8 bytes), real (4, 8), complex
! or logical; logicals of more than one byte are copied to bytes, and iwrite and iread refuse them. What close, close_array, close_group, commit,
! abandon and wait end is closed after an error, too, but where the call was refused, as OZARR_ERR_ARGUMENT where a rank calls something else: then it
! stays open on all ranks, to be closed again.
module ozarr_mpi
  use, intrinsic :: ieee_arithmetic, only: ieee_quiet_nan, ieee_value
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08, only: MPI_Comm
  use ozarr_arrays, only: array_take, ozarr_array
  use ozarr_base, only: c_text, checked_memory, create_mode, done, integer_of, integers_of, keep_text, ozf_note_characters, &
    ozf_tell, real_of, refused, reverse
  use ozarr_constants
  use ozarr_groups, only: group_take, ozarr_group
  use ozarr_mpi_c
  use ozarr_specs, only: ozarr_spec
  implicit none
  private
  public :: ozarr_ranks, ozarr_ranks_request, ozarr_ranks_series

  ! The ranks of a communicator.
  type :: ozarr_ranks
    type(c_ptr), private :: handle = c_null_ptr
  contains
    procedure :: open => ranks_open
    procedure :: close => ranks_close
    procedure :: set => ranks_set
    procedure :: agree => ranks_agree
    procedure, private :: ranks_create, ranks_create_spec, ranks_create_array
    generic :: create => ranks_create, ranks_create_spec, ranks_create_array
    procedure, private :: ranks_open_array, ranks_open_below
    generic :: open_array => ranks_open_array, ranks_open_below
    procedure :: create_group => ranks_create_group
    procedure :: open_group => ranks_open_group
    procedure :: write => ranks_write
    procedure :: read => ranks_read
    procedure :: iwrite => ranks_iwrite
    procedure :: iread => ranks_iread
    procedure :: resize => ranks_resize
    procedure :: refresh => ranks_refresh
    procedure, private :: ranks_set_attr, ranks_set_group_attr
    generic :: set_attr_json => ranks_set_attr, ranks_set_group_attr
    procedure :: close_array => ranks_close_array
    procedure :: begin_checkpoint => ranks_begin_checkpoint
    procedure, private :: ranks_put, ranks_put_spec
    generic :: put => ranks_put, ranks_put_spec
    procedure :: get => ranks_get
    procedure :: commit => ranks_commit
    procedure :: abandon => ranks_abandon
    procedure :: open_latest => ranks_open_latest
    procedure :: close_group => ranks_close_group
  end type ozarr_ranks

  ! A collective read or write that goes on while the program computes. Its variable has the attribute asynchronous or target until the wait.
  ! It is to be no component of an array of a derived type, of which gfortran passes a copy.
  type :: ozarr_ranks_request
    type(c_ptr), private :: handle = c_null_ptr
  contains
    procedure :: test => request_test
    procedure :: wait => request_wait
    procedure :: let_go => request_let_go
  end type ozarr_ranks_request

  ! The steps of a dataset's variables along one dimension, written by all ranks. It is to be closed on all of them.
  type :: ozarr_ranks_series
    type(c_ptr), private :: handle = c_null_ptr, ranks = c_null_ptr
  contains
    procedure :: open => series_open
    procedure :: put => series_put
    procedure :: step => series_step
    procedure :: position => series_position
    procedure :: published => series_published
    procedure :: flush => series_flush
    procedure :: close => series_close
  end type ozarr_ranks_series

contains

  ! Duplicates a communicator, whose ranks then work together. Ranks that are open are OZARR_ERR_STATE, and stay as they are.
  subroutine ranks_open(self, comm, stat, errmsg)
    class(ozarr_ranks), intent(inout) :: self
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozfm_new(int(comm%MPI_VAL, c_int), self%handle), stat, errmsg)
  end subroutine ranks_open

  ! Refused by OZARR_ERR_STATE while there are requests that were not waited for, or series that were not closed, and by OZARR_ERR_ARGUMENT where a
  ! rank calls something else: then nothing is closed.
  subroutine ranks_close(self, stat, errmsg)
    class(ozarr_ranks), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozfm_end(self%handle, "m", self%handle), stat, errmsg)
  end subroutine ranks_close

  ! "aggregators", "round_bytes", "message_bytes", "range_bytes", "overlap", "check_writes": see ozarr_mpi.h.
  subroutine ranks_set(self, key, value, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    character(*), intent(in) :: key, value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_mpi_set(self%handle, c_text(key), c_text(value)), stat, errmsg)
  end subroutine ranks_set

  ! Makes the status of what ranks did by themselves the same on all: that of the first rank that failed, with its message.
  subroutine ranks_agree(self, status, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    integer, intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_mpi_agree(self%handle, int(status, c_int32_t)), stat, errmsg)
  end subroutine ranks_agree

  ! Creates an array.
  subroutine ranks_create(self, array, location, type, shape, chunks, overwrite, mode, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(inout) :: array
    character(*), intent(in) :: location
    integer, intent(in) :: type
    type(*), intent(in) :: shape(:)                       ! its rank tells it from a specification
    type(*), dimension(..), intent(in), optional :: chunks
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: extents(:)
    integer(c_int64_t), allocatable, target :: pieces(:)
    type(c_ptr) :: handle, at
    character(kind=c_char, len=:), allocatable :: c_location
    integer(c_int32_t) :: status
    handle = c_null_ptr
    at = c_null_ptr
    call integers_of(shape, "shape", extents, status)
    if (status == OZARR_OK) call reverse(extents)
    if (status == OZARR_OK .and. present(chunks)) then
      call integers_of(chunks, "chunks", pieces, status)
      if (status == OZARR_OK) then
        if (size(pieces) /= size(extents)) status = refused(OZARR_ERR_RANK, "the size of chunks is ", &
          n=size(pieces, kind=c_int64_t), after=", expected ", m=size(extents, kind=c_int64_t))
        call reverse(pieces)
        at = c_loc(pieces)
      end if
    end if
    call keep_text(location, c_location, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozarr_mpi_array_create(self%handle, c_location, int(type, c_int32_t), &
      size(extents, kind=c_int32_t), extents, at, create_mode(overwrite, mode), handle)
    call array_take(array, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_create

  ! Creates an array as a specification says: that of rank 0 counts.
  subroutine ranks_create_spec(self, array, location, spec, overwrite, mode, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(inout) :: array
    character(*), intent(in) :: location
    class(ozarr_spec), intent(in) :: spec
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    character(kind=c_char, len=:), allocatable :: c_location
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = OZARR_OK
    call keep_text(location, c_location, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozarr_mpi_array_create_ex(self%handle, c_location, spec%handle, &
      create_mode(overwrite, mode), handle)
    call array_take(array, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_create_spec

  ! Creates an array at a path below a group that was opened here.
  subroutine ranks_create_array(self, array, group, path, spec, overwrite, mode, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(inout) :: array
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    class(ozarr_spec), intent(in) :: spec
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    character(kind=c_char, len=:), allocatable :: c_path
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = OZARR_OK
    call keep_text(path, c_path, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozarr_mpi_group_create_array(self%handle, group%handle, c_path, spec%handle, &
      create_mode(overwrite, mode), handle)
    call array_take(array, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_create_array

  ! Opens an array: mode "r", or "r+" to write.
  subroutine ranks_open_array(self, array, location, mode, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(inout) :: array
    character(*), intent(in) :: location
    character(*), intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    character(kind=c_char, len=:), allocatable :: c_location, c_mode
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = OZARR_OK
    call keep_text(location, c_location, status)
    call keep_text(mode, c_mode, status)
    if (.not. present(mode)) call keep_text("r", c_mode, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozarr_mpi_array_open(self%handle, c_location, c_mode, handle)
    call array_take(array, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_open_array

  ! Opens the array at a path below a group that was opened here, in the group's mode.
  subroutine ranks_open_below(self, array, group, path, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(inout) :: array
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    character(kind=c_char, len=:), allocatable :: c_path
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = OZARR_OK
    call keep_text(path, c_path, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozarr_mpi_group_open_array(self%handle, group%handle, c_path, handle)
    call array_take(array, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_open_below

  ! Creates a group.
  subroutine ranks_create_group(self, group, location, overwrite, mode, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(inout) :: group
    character(*), intent(in) :: location
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    character(kind=c_char, len=:), allocatable :: c_location
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = OZARR_OK
    call keep_text(location, c_location, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozarr_mpi_group_create(self%handle, c_location, create_mode(overwrite, mode), handle)
    call group_take(group, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_create_group

  ! Opens a group: mode "r", or "r+" to write.
  subroutine ranks_open_group(self, group, location, mode, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(inout) :: group
    character(*), intent(in) :: location
    character(*), intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    character(kind=c_char, len=:), allocatable :: c_location, c_mode
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = OZARR_OK
    call keep_text(location, c_location, status)
    call keep_text(mode, c_mode, status)
    if (.not. present(mode)) call keep_text("r", c_mode, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozarr_mpi_group_open(self%handle, c_location, c_mode, handle)
    call group_take(group, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_open_group

  ! Tells the other ranks, which are in the call, what this one found wrong by itself.
  subroutine agreed(ranks, status)
    type(c_ptr), intent(in) :: ranks
    integer(c_int32_t), intent(inout) :: status
    if (status == OZARR_OK .or. .not. c_associated(ranks)) return
    call ozf_tell(status)
    status = ozarr_mpi_agree(ranks, status)
  end subroutine agreed

  ! Where a box begins: the array's first element where nothing is given. The move says what is wrong with an array that is not open.
  subroutine first_of(array, start, from, status)
    class(ozarr_array), intent(in) :: array
    type(*), dimension(..), intent(in), optional :: start
    integer(c_int64_t), allocatable, intent(out) :: from(:)
    integer(c_int32_t), intent(out) :: status
    integer :: failed
    if (present(start)) then
      call integers_of(start, "start", from, status)
    else
      allocate (from(merge(array%rank(), 0, array%is_open())), source=1_c_int64_t, stat=failed)
      status = checked_memory(failed, "start")
    end if
  end subroutine first_of

  ! Writes this rank's box from u.
  subroutine ranks_write(self, array, u, start, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(in) :: array
    type(*), dimension(..), intent(in) :: u
    type(*), dimension(..), intent(in), optional :: start
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: from(:)
    integer(c_int32_t) :: status
    call ozf_note_characters(u)
    call first_of(array, start, from, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozfm_move(self%handle, array%handle, 1_c_int32_t, u, from, &
      size(from, kind=c_int32_t))
    call done(status, stat, errmsg)
  end subroutine ranks_write

  ! Reads this rank's box to u; boxes may overlap, as those with ghost cells do.
  subroutine ranks_read(self, array, u, start, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(in) :: array
    type(*), dimension(..), intent(inout) :: u
    type(*), dimension(..), intent(in), optional :: start
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: from(:)
    integer(c_int32_t) :: status
    call ozf_note_characters(u)
    call first_of(array, start, from, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozfm_move(self%handle, array%handle, 0_c_int32_t, u, from, &
      size(from, kind=c_int32_t))
    call done(status, stat, errmsg)
  end subroutine ranks_read

  ! Refuses a request that is in use.
  function request_is_free(request) result(status)
    class(ozarr_ranks_request), intent(in) :: request
    integer(c_int32_t) :: status
    status = OZARR_OK
    if (c_associated(request%handle)) status = refused(OZARR_ERR_STATE, "the request is in use, expected one that was waited for")
  end function request_is_free

  ! Begins to write this rank's box from u, which must not change before the wait.
  subroutine ranks_iwrite(self, array, u, request, start, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(in) :: array
    type(*), dimension(..), asynchronous, intent(in) :: u
    class(ozarr_ranks_request), intent(inout) :: request
    type(*), dimension(..), intent(in), optional :: start
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: from(:)
    integer(c_int32_t) :: status
    call ozf_note_characters(u)
    call first_of(array, start, from, status)
    if (status == OZARR_OK) status = request_is_free(request)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozfm_start(self%handle, array%handle, 1_c_int32_t, u, from, &
      size(from, kind=c_int32_t), request%handle)
    call done(status, stat, errmsg)
  end subroutine ranks_iwrite

  ! Begins to read this rank's box to u, which is to be used after the wait.
  subroutine ranks_iread(self, array, u, request, start, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(in) :: array
    type(*), dimension(..), asynchronous, intent(inout) :: u
    class(ozarr_ranks_request), intent(inout) :: request
    type(*), dimension(..), intent(in), optional :: start
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: from(:)
    integer(c_int32_t) :: status
    call ozf_note_characters(u)
    call first_of(array, start, from, status)
    if (status == OZARR_OK) status = request_is_free(request)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozfm_start(self%handle, array%handle, 0_c_int32_t, u, from, &
      size(from, kind=c_int32_t), request%handle)
    call done(status, stat, errmsg)
  end subroutine ranks_iread

  ! Changes the shape.
  subroutine ranks_resize(self, array, shape, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(inout) :: array
    type(*), dimension(..), intent(in) :: shape
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: extents(:)
    integer(c_int32_t) :: status
    call integers_of(shape, "shape", extents, status)
    if (status == OZARR_OK) status = checked_size(array, "shape", extents)
    call agreed(self%handle, status)
    if (allocated(extents)) call reverse(extents)
    if (status == OZARR_OK) status = ozarr_mpi_array_resize(self%handle, array%handle, extents, 0_c_int32_t)
    call done(status, stat, errmsg)
  end subroutine ranks_resize

  ! Refuses a list that does not have one number for each dimension of an array.
  function checked_size(array, what, list) result(status)
    class(ozarr_array), intent(in) :: array
    character(*), intent(in) :: what
    integer(c_int64_t), intent(in) :: list(:)
    integer(c_int32_t) :: status
    status = OZARR_OK
    if (.not. array%is_open()) return
    if (size(list) /= array%rank()) status = refused(OZARR_ERR_RANK, "the size of ", what, " is ", n=size(list, kind=c_int64_t), &
      after=", expected ", m=int(array%rank(), c_int64_t))
  end function checked_size

  ! Reads the metadata again, on rank 0; the other ranks get what it found.
  subroutine ranks_refresh(self, array, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(inout) :: array
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_mpi_array_refresh(self%handle, array%handle), stat, errmsg)
  end subroutine ranks_refresh

  ! Sets an attribute of an array to a value that is given as JSON.
  subroutine ranks_set_attr(self, array, name, json, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(in) :: array
    character(*), intent(in) :: name, json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable :: c_name, c_json
    integer(c_int32_t) :: status
    status = OZARR_OK
    call keep_text(name, c_name, status)
    call keep_text(json, c_json, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozarr_mpi_array_set_attr(self%handle, array%handle, c_name, c_json)
    call done(status, stat, errmsg)
  end subroutine ranks_set_attr

  ! Sets an attribute of a group to a value that is given as JSON.
  subroutine ranks_set_group_attr(self, group, name, json, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: name, json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable :: c_name, c_json
    integer(c_int32_t) :: status
    status = OZARR_OK
    call keep_text(name, c_name, status)
    call keep_text(json, c_json, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozarr_mpi_group_set_attr(self%handle, group%handle, c_name, c_json)
    call done(status, stat, errmsg)
  end subroutine ranks_set_group_attr

  ! Flushes what each rank wrote, and closes.
  subroutine ranks_close_array(self, array, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_array), intent(inout) :: array
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozfm_end(self%handle, "a", array%handle), stat, errmsg)
  end subroutine ranks_close_array

  ! Begins a checkpoint: a group that is there as a whole or not at all.
  subroutine ranks_begin_checkpoint(self, group, location, name, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(inout) :: group
    character(*), intent(in) :: location, name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    character(kind=c_char, len=:), allocatable :: c_location, c_name
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = OZARR_OK
    call keep_text(location, c_location, status)
    call keep_text(name, c_name, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozarr_mpi_checkpoint_begin(self%handle, c_location, c_name, handle)
    call group_take(group, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_begin_checkpoint

  ! Creates an array in a group, of the variable's type, and writes this rank's box of it from u.
  subroutine ranks_put(self, group, path, shape, u, start, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    type(*), intent(in) :: shape(:)                       ! its rank tells it from a specification
    type(*), dimension(..), intent(in) :: start
    type(*), dimension(..), intent(in) :: u
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: extents(:), from(:)
    character(kind=c_char, len=:), allocatable :: c_path
    integer(c_int32_t) :: status
    call ozf_note_characters(u)
    call integers_of(shape, "shape", extents, status)
    if (status == OZARR_OK) call reverse(extents)
    if (status == OZARR_OK) call integers_of(start, "start", from, status)
    call keep_text(path, c_path, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozfm_put(self%handle, group%handle, c_path, &
      size(extents, kind=c_int32_t), extents, u, from, size(from, kind=c_int32_t))
    call done(status, stat, errmsg)
  end subroutine ranks_put

  ! Creates an array in a group as a specification says, that of rank 0, and writes this rank's box of it from u.
  subroutine ranks_put_spec(self, group, path, spec, u, start, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    class(ozarr_spec), intent(in) :: spec
    type(*), dimension(..), intent(in) :: start
    type(*), dimension(..), intent(in) :: u
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: from(:)
    character(kind=c_char, len=:), allocatable :: c_path
    integer(c_int32_t) :: status
    call ozf_note_characters(u)
    call integers_of(start, "start", from, status)
    call keep_text(path, c_path, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozfm_put_spec(self%handle, group%handle, c_path, spec%handle, u, from, &
      size(from, kind=c_int32_t))
    call done(status, stat, errmsg)
  end subroutine ranks_put_spec

  ! Reads this rank's box of an array in a group to u.
  subroutine ranks_get(self, group, path, u, start, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    type(*), dimension(..), intent(inout) :: u
    type(*), dimension(..), intent(in) :: start
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: from(:)
    character(kind=c_char, len=:), allocatable :: c_path
    integer(c_int32_t) :: status
    call ozf_note_characters(u)
    call integers_of(start, "start", from, status)
    call keep_text(path, c_path, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozfm_get(self%handle, group%handle, c_path, u, from, &
      size(from, kind=c_int32_t))
    call done(status, stat, errmsg)
  end subroutine ranks_get

  ! Commits the checkpoint and closes the group.
  subroutine ranks_commit(self, group, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(inout) :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozfm_end(self%handle, "c", group%handle), stat, errmsg)
  end subroutine ranks_commit

  ! Gives the checkpoint up and closes the group.
  subroutine ranks_abandon(self, group, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(inout) :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozfm_end(self%handle, "x", group%handle), stat, errmsg)
  end subroutine ranks_abandon

  ! Opens the newest committed checkpoint for reading; OZARR_ERR_NOT_FOUND if there is none.
  subroutine ranks_open_latest(self, group, location, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(inout) :: group
    character(*), intent(in) :: location
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    character(kind=c_char, len=:), allocatable :: c_location
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = OZARR_OK
    call keep_text(location, c_location, status)
    call agreed(self%handle, status)
    if (status == OZARR_OK) status = ozarr_mpi_checkpoint_latest(self%handle, c_location, handle)
    call group_take(group, handle, status)
    call done(status, stat, errmsg)
  end subroutine ranks_open_latest

  ! Closes a group.
  subroutine ranks_close_group(self, group, stat, errmsg)
    class(ozarr_ranks), intent(in) :: self
    class(ozarr_group), intent(inout) :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozfm_end(self%handle, "g", group%handle), stat, errmsg)
  end subroutine ranks_close_group

  ! Moves on without waiting, on this rank alone; whether this rank has done its part.
  subroutine request_test(self, is_done, stat, errmsg)
    class(ozarr_ranks_request), intent(in) :: self
    logical, intent(out) :: is_done
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    logical(c_bool) :: over
    integer(c_int32_t) :: status
    over = .false.
    status = ozarr_mpi_request_test(self%handle, over)
    is_done = over
    call done(status, stat, errmsg)
  end subroutine request_test

  ! Completes the request. Requests are waited for in the same order on all ranks. OZARR_ERR_ARGUMENT, where a rank calls something else, and
  ! OZARR_ERR_STATE of the call leave it as it is; after an error of its own, which may be the same, it can be used again.
  subroutine request_wait(self, stat, errmsg)
    class(ozarr_ranks_request), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozfm_end(c_null_ptr, "r", self%handle), stat, errmsg)
  end subroutine request_wait

  ! Lets go of a request that nobody will wait for, as after an error: on this rank alone, moves on until its memory is not touched any more. The
  ! next close of an array or of the ranks completes it. All ranks have to let go of the same requests.
  subroutine request_let_go(self, stat, errmsg)
    class(ozarr_ranks_request), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozfm_end(c_null_ptr, "f", self%handle), stat, errmsg)
  end subroutine request_let_go

  ! Opens the steps of a dataset along a dimension, behind the last step that all its variables have. `keep`, an integer: how many steps stay,
  ! as a checkpoint tells. `publish_every`: readers see steps at multiples of it; without it when the chunks of the fields are whole.
  ! `memory`: the most bytes that steps may wait in on a rank. A series that is open is OZARR_ERR_STATE, and stays as it is.
  subroutine series_open(self, ranks, location, dimension, keep, publish_every, memory, stat, errmsg)
    class(ozarr_ranks_series), intent(inout) :: self
    class(ozarr_ranks), intent(in) :: ranks
    character(*), intent(in) :: location, dimension
    class(*), intent(in), optional :: keep
    integer, intent(in), optional :: publish_every
    integer(int64), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: kept, every
    integer(c_size_t) :: bytes
    character(kind=c_char, len=:), allocatable :: c_location, c_dimension
    integer(c_int32_t) :: status
    status = is_free(self)
    kept = -1
    every = 0
    bytes = 0
    if (present(keep) .and. status == OZARR_OK) call integer_of(keep, "keep", kept, status)
    if (present(publish_every)) every = publish_every
    if (present(memory)) bytes = memory
    call keep_text(location, c_location, status)
    call keep_text(dimension, c_dimension, status)
    call agreed(ranks%handle, status)
    if (status == OZARR_OK) then
      self%ranks = ranks%handle
      status = ozarr_mpi_series_open(ranks%handle, c_location, c_dimension, kept, every, bytes, self%handle)
    end if
    call done(status, stat, errmsg)
  end subroutine series_open

  ! Refuses a series that is open; one whose handle another object had, and closed, is none.
  function is_free(self) result(status)
    class(ozarr_ranks_series), intent(in) :: self
    integer(c_int32_t) :: status
    integer(int64) :: position, published
    status = OZARR_OK
    if (.not. c_associated(self%handle)) return
    if (ozarr_mpi_series_position(self%handle, position, published) == OZARR_ERR_INVALID_HANDLE) return
    status = refused(OZARR_ERR_STATE, "the series is open, expected one that was closed")
  end function is_free

  ! Refuses a series that is not open.
  function is_open(self) result(status)
    class(ozarr_ranks_series), intent(in) :: self
    integer(c_int32_t) :: status
    status = OZARR_OK
    if (.not. c_associated(self%handle)) status = refused(OZARR_ERR_NULL, "the series is not open")
  end function is_open

  ! Gives a variable this rank's box of the step that comes next, from u; `start` lacks the dimension of the series.
  subroutine series_put(self, name, u, start, stat, errmsg)
    class(ozarr_ranks_series), intent(in) :: self
    character(*), intent(in) :: name
    type(*), dimension(..), intent(in) :: u
    type(*), dimension(..), intent(in) :: start
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: from(:)
    character(kind=c_char, len=:), allocatable :: c_name
    integer(c_int32_t) :: status
    call ozf_note_characters(u)
    status = is_open(self)
    if (status == OZARR_OK) call integers_of(start, "start", from, status)
    call keep_text(name, c_name, status)
    call agreed(self%ranks, status)
    if (status == OZARR_OK) status = ozfm_series_put(self%ranks, self%handle, c_name, size(from, kind=c_int32_t), u, from)
    call done(status, stat, errmsg)
  end subroutine series_put

  ! Ends the step: `value`, a number, is that of the coordinate, unless put gave it or the dimension has no coordinate. Variables that were left
  ! out have the fill value.
  subroutine series_step(self, value, stat, errmsg)
    class(ozarr_ranks_series), intent(in) :: self
    class(*), intent(in), optional :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(c_double) :: number
    integer(c_int32_t) :: status
    status = is_open(self)
    number = ieee_value(1d0, ieee_quiet_nan)              ! which the library refuses where it would be stored
    if (status == OZARR_OK .and. present(value)) call real_of(value, number, status)
    call agreed(self%ranks, status)
    if (status == OZARR_OK) status = ozarr_mpi_series_step(self%ranks, self%handle, number)
    call done(status, stat, errmsg)
  end subroutine series_step

  ! The number of steps that were taken: a restart goes on with step position() + 1. A failure stops.
  function series_position(self) result(position)
    class(ozarr_ranks_series), intent(in) :: self
    integer(int64) :: position, published
    integer(c_int32_t) :: status
    position = 0
    status = is_open(self)
    if (status == OZARR_OK) status = ozarr_mpi_series_position(self%handle, position, published)
    call done(status)
  end function series_position

  ! The number of steps that readers see. A failure stops.
  function series_published(self) result(published)
    class(ozarr_ranks_series), intent(in) :: self
    integer(int64) :: position, published
    integer(c_int32_t) :: status
    published = 0
    status = is_open(self)
    if (status == OZARR_OK) status = ozarr_mpi_series_position(self%handle, position, published)
    call done(status)
  end function series_published

  ! Stores and publishes all steps, as before a checkpoint is committed.
  subroutine series_flush(self, stat, errmsg)
    class(ozarr_ranks_series), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    status = is_open(self)
    call agreed(self%ranks, status)
    if (status == OZARR_OK) status = ozarr_mpi_series_flush(self%ranks, self%handle)
    call done(status, stat, errmsg)
  end subroutine series_flush

  ! Publishes and closes.
  subroutine series_close(self, stat, errmsg)
    class(ozarr_ranks_series), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    status = is_open(self)
    call agreed(self%ranks, status)
    if (status == OZARR_OK) status = ozfm_end(self%ranks, "s", self%handle)
    call done(status, stat, errmsg)
  end subroutine series_close

end module ozarr_mpi
