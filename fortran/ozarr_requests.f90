! Requests: reads and writes that go on while the program computes.                               SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_requests
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use ozarr_base
  use ozarr_c
  implicit none
  private
  public :: ozarr_request, ozarr_wait_all, ozarr_wait_any, ozarr_end_threads, request_is_free

  ! Begun by iread and iwrite of an array. Until it is done, its variable must not be touched (of a write: changed); give that variable
  ! the attribute ASYNCHRONOUS or TARGET. It is to be no component of an array of a derived type, cells%t: gfortran passes a copy of that, which
  ! is gone when the call returns. The end of the scope cancels a request that is not done; gfortran frees allocatable and automatic arrays of the
  ! same scope before, so that a request which may not be waited for belongs into a block inside of the scope of its variable.
  type :: ozarr_request
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: is_open => request_is_open
    procedure :: wait => request_wait
    procedure :: test => request_test
    procedure :: cancel => request_cancel
    procedure :: state => request_state
    procedure :: close => request_close
    final :: request_final
  end type ozarr_request

contains

  impure elemental subroutine request_final(self)
    type(ozarr_request), intent(inout) :: self
    call ozarr_request_free(self%handle)
    self%handle = c_null_ptr
  end subroutine request_final

  ! Refuses a request that is in use.
  function request_is_free(self) result(status)
    class(ozarr_request), intent(in) :: self
    integer(c_int32_t) :: status
    status = OZARR_OK
    if (c_associated(self%handle)) status = refused(OZARR_ERR_STATE, "the request is in use, expected one that was waited for")
  end function request_is_free

  ! Whether the request was begun, and neither waited for nor closed.
  pure function request_is_open(self) result(is_open)
    class(ozarr_request), intent(in) :: self
    logical :: is_open
    is_open = c_associated(self%handle)
  end function request_is_open

  ! Waits until the request is done, helping with the work; stat is the request's own. With `seconds`, OZARR_ERR_TIMEOUT after that time:
  ! the request goes on, as it does where the wait is refused. Else it is closed afterwards, and may be used for another read or write.
  subroutine request_wait(self, seconds, stat, errmsg)
    class(ozarr_request), intent(inout) :: self
    real(real64), intent(in), optional :: seconds
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    status = ozarr_request_wait(self%handle, limit_of(seconds))
    if (is_over(self%handle, status)) call self%close()
    call done(status, stat, errmsg)
  end subroutine request_wait

  ! Whether a request is done after a wait of this status: one goes on where the time ended before, or where the wait itself was refused, as
  ! within a callback or of NaN seconds.
  function is_over(handle, status)
    type(c_ptr), intent(in) :: handle
    integer(c_int32_t), intent(in) :: status
    logical :: is_over
    integer(c_int32_t) :: state
    state = OZARR_REQUEST_STATE_DONE
    if (status /= OZARR_OK .and. c_associated(handle)) then
      if (ozarr_request_get_state(handle, state) /= OZARR_OK) state = OZARR_REQUEST_STATE_FAILED
    end if
    is_over = state >= OZARR_REQUEST_STATE_DONE
  end function is_over

  ! Whether the request is done, in which case it is closed and stat is its own. It works on the request if no thread of the library does.
  subroutine request_test(self, is_done, stat, errmsg)
    class(ozarr_request), intent(inout) :: self
    logical, intent(out) :: is_done
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    logical(c_bool) :: found
    integer(c_int32_t) :: status
    found = .false.
    status = ozarr_request_test(self%handle, found)
    is_done = found
    if (is_done) call self%close()
    call done(status, stat, errmsg)
  end subroutine request_test

  ! Cancels the request unless it is done. Its variable is not touched any more.
  subroutine request_cancel(self, stat, errmsg)
    class(ozarr_request), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_request_cancel(self%handle), stat, errmsg)
  end subroutine request_cancel

  ! OZARR_REQUEST_STATE_QUEUED, OZARR_REQUEST_STATE_RUNNING, OZARR_REQUEST_STATE_DONE or OZARR_REQUEST_STATE_FAILED. A failure stops.
  function request_state(self) result(state)
    class(ozarr_request), intent(in) :: self
    integer :: state
    integer(c_int32_t) :: found
    found = OZARR_REQUEST_STATE_QUEUED
    call done(ozarr_request_get_state(self%handle, found))
    state = int(found)
  end function request_state

  ! Ends the use of the request: it is cancelled if it is not done, unless its elements were copied.
  subroutine request_close(self)
    class(ozarr_request), intent(inout) :: self
    call ozarr_request_free(self%handle)
    self%handle = c_null_ptr
  end subroutine request_close

  ! No time means: without end.
  pure function limit_of(seconds) result(limit)
    real(real64), intent(in), optional :: seconds
    real(c_double) :: limit
    limit = -1
    if (present(seconds)) limit = seconds
  end function limit_of

  ! Waits until all requests are done, for at most `seconds` (then OZARR_ERR_TIMEOUT). Those that were closed count as done. stat is that of
  ! the first that failed; `stats` has that of each: OZARR_ERR_STATE of those that are not done, and may be a request's own. Those that are done
  ! are closed.
  subroutine ozarr_wait_all(requests, seconds, stats, stat, errmsg)
    class(ozarr_request), intent(inout) :: requests(:)
    real(real64), intent(in), optional :: seconds
    integer, allocatable, intent(out), optional :: stats(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr), allocatable :: handles(:)
    integer(c_int32_t), allocatable :: each(:)
    integer(c_int32_t) :: status
    integer(c_int32_t), parameter :: refused_wait = huge(0_c_int32_t)
    integer :: i, failed
    allocate (each(max(size(requests), 1)), stat=failed)
    if (failed == 0 .and. present(stats)) allocate (stats(size(requests)), stat=failed)
    status = checked_memory(failed, "stats")
    if (status == OZARR_OK) call handles_of(requests, handles, status)
    if (status == OZARR_OK) then
      each = refused_wait                                 ! so it stays where the wait itself is refused: nothing is closed then
      status = ozarr_requests_wait_all(handles, size(requests, kind=c_int64_t), limit_of(seconds), each)
      do i = 1, size(requests)
        if (each(i) == refused_wait) then
          each(i) = OZARR_ERR_STATE
        else if (each(i) /= OZARR_ERR_STATE) then
          call requests(i)%close()
        else if (status /= OZARR_ERR_TIMEOUT) then        ! else it may be done only now, with an error that is not known yet
          if (is_over(requests(i)%handle, each(i))) call requests(i)%close()
        end if
      end do
      if (present(stats)) stats(:) = int(each(:size(requests)))
    end if
    call done(status, stat, errmsg)
  end subroutine ozarr_wait_all

  ! Waits until one of the requests is done, for at most `seconds` (then OZARR_ERR_TIMEOUT). `i` becomes its number, from 1, or 0 if there is
  ! none; stat is its own, and it is closed.
  subroutine ozarr_wait_any(requests, i, seconds, stat, errmsg)
    class(ozarr_request), intent(inout) :: requests(:)
    integer, intent(out) :: i
    real(real64), intent(in), optional :: seconds
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr), allocatable :: handles(:)
    integer(c_int64_t) :: index
    integer(c_int32_t) :: status
    index = -1
    call handles_of(requests, handles, status)
    if (status == OZARR_OK) &
      status = ozarr_requests_wait_any(handles, size(requests, kind=c_int64_t), limit_of(seconds), index)
    i = int(index) + 1
    if (i > 0) call requests(i)%close()
    call done(status, stat, errmsg)
  end subroutine ozarr_wait_any

  subroutine handles_of(requests, handles, status)
    class(ozarr_request), intent(in) :: requests(:)
    type(c_ptr), allocatable, intent(out) :: handles(:)
    integer(c_int32_t), intent(out) :: status
    integer :: i, failed
    allocate (handles(max(size(requests), 1)), stat=failed)
    status = checked_memory(failed, "a list of requests")
    if (status /= OZARR_OK) return
    handles = c_null_ptr
    do i = 1, size(requests)
      handles(i) = requests(i)%handle
    end do
  end subroutine handles_of

  ! Waits for all requests of the process and ends the threads of the library, as before MPI_Finalize. Later calls start them again.
  subroutine ozarr_end_threads(stat, errmsg)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_shutdown(), stat, errmsg)
  end subroutine ozarr_end_threads

end module ozarr_requests
