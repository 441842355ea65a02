! Batches: regions of many arrays that are read, or written, in one call.                        SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_batches
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use ozarr_arrays
  use ozarr_base
  use ozarr_c
  implicit none
  private
  public :: ozarr_batch

  ! What the shim keeps of one region; only it knows what is in there.
  type :: noted
    integer(c_int64_t) :: words(280) = 0
  end type noted

  ! Regions to read, or regions to write: `read` and `write` name them, `run` does all. They are planned together: a chunk that several of them
  ! need is read and decoded once, or stored once. Until then the arrays stay open, and the variables where they are: give these the
  ! attribute ASYNCHRONOUS or TARGET; components of arrays of a derived type are copied by gfortran, as for requests. Of regions to write that overlap the last one wins.
  type :: ozarr_batch
    type(noted), allocatable, private :: regions(:)
    integer, private :: length = 0
    logical, private :: writes = .false.
  contains
    procedure, private :: read_int8, read_int16, read_int32, read_int64, &
      read_real32, read_real64, read_complex32, read_complex64, &
      read_logical8
    generic :: read => read_int8, read_int16, read_int32, read_int64, &
      read_real32, read_real64, read_complex32, read_complex64, &
      read_logical8
    procedure, private :: write_int8, write_int16, write_int32, write_int64, &
      write_real32, write_real64, write_complex32, write_complex64, &
      write_logical8
    generic :: write => write_int8, write_int16, write_int32, write_int64, &
      write_real32, write_real64, write_complex32, write_complex64, &
      write_logical8
    procedure :: size => batch_size
    procedure :: run => batch_run
  end type ozarr_batch

  ! Of fortran/ozarr_shim.c.
  interface
    function ozf_batch(write, count, records, size) bind(c, name="ozf_batch") result(r)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      integer(c_int32_t), value :: write
      integer(c_int64_t), value :: count
      type(c_ptr), value :: records
      integer(c_size_t), value :: size
      integer(c_int32_t) :: r
    end function ozf_batch
  end interface

contains

  ! One procedure for each type of variable: read_int8 and so on.
  include "batch_kinds.inc"

  ! Names a region of an array, and the variable that it is to be read to.
  subroutine read_any(self, array, u, start, count, stride, stat, errmsg)
    class(ozarr_batch), intent(inout) :: self
    class(ozarr_array), intent(in) :: array
    type(*), dimension(..), asynchronous, intent(inout) :: u
    type(*), dimension(..), intent(in), optional :: start, count, stride
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call note(self, array, .false., u, start, count, stride, stat, errmsg)
  end subroutine read_any

  ! Names a region of an array, and the variable that it is to be written from.
  subroutine write_any(self, array, u, start, count, stride, stat, errmsg)
    class(ozarr_batch), intent(inout) :: self
    class(ozarr_array), intent(in) :: array
    type(*), dimension(..), asynchronous, intent(in) :: u
    type(*), dimension(..), intent(in), optional :: start, count, stride
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call note(self, array, .true., u, start, count, stride, stat, errmsg)
  end subroutine write_any

  ! Keeps a region; after a failure the batch is as it was.
  subroutine note(self, array, writes, u, start, count, stride, stat, errmsg)
    class(ozarr_batch), intent(inout), target :: self
    class(ozarr_array), intent(in) :: array
    logical, intent(in) :: writes
    type(*), dimension(..), asynchronous :: u
    type(*), dimension(..), intent(in), optional :: start, count, stride
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(noted), target :: region
    type(c_ptr) :: record
    integer(c_int32_t) :: status
    record = c_loc(region)
    call array_note(array, writes, u, record, start, count, stride, status)
    if (status == OZARR_OK) then
      call ozf_lock()
      call append(self, region, writes, status)
      call ozf_unlock()
    end if
    call done(status, stat, errmsg)
  end subroutine note

  ! (With `target`, as the compiler is to read the list again once the lock is taken.)
  subroutine append(self, region, writes, status)
    class(ozarr_batch), intent(inout), target :: self
    type(noted), intent(in) :: region
    logical, intent(in) :: writes
    integer(c_int32_t), intent(out) :: status
    type(noted), allocatable :: more(:)
    integer :: failed
    if (self%length > 0 .and. (self%writes .neqv. writes)) then
      if (writes) then
        status = refused(OZARR_ERR_STATE, "the batch has regions to read, expected another batch for those to write")
      else
        status = refused(OZARR_ERR_STATE, "the batch has regions to write, expected another batch for those to read")
      end if
      return
    end if
    failed = 0
    if (.not. allocated(self%regions)) then
      allocate (self%regions(4), stat=failed)
    else if (self%length == size(self%regions)) then
      allocate (more(2 * self%length), stat=failed)
    end if
    status = checked_memory(failed, "a batch")
    if (status /= OZARR_OK) return
    if (allocated(more)) then
      more(:self%length) = self%regions
      call move_alloc(more, self%regions)
    end if
    self%length = self%length + 1
    self%regions(self%length) = region
    self%writes = writes
  end subroutine append

  ! The number of regions that run would read or write.
  pure function batch_size(self) result(length)
    class(ozarr_batch), intent(in) :: self
    integer :: length
    length = self%length
  end function batch_size

  ! Reads or writes all regions. Afterwards the batch is empty, and can be used for others; also after a failure, whose message numbers the
  ! first region that failed.
  subroutine batch_run(self, stat, errmsg)
    class(ozarr_batch), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(noted), allocatable, target :: regions(:)
    integer(c_int32_t) :: status
    status = OZARR_OK
    call move_alloc(self%regions, regions)
    if (self%length > 0) status = ozf_batch(merge(1_c_int32_t, 0_c_int32_t, self%writes), int(self%length, c_int64_t), &
      c_loc(regions), storage_size(regions, c_size_t) / 8)
    self%length = 0
    call done(status, stat, errmsg)
  end subroutine batch_run

end module ozarr_batches
