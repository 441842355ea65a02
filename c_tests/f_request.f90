! Requests, contexts, settings, logs, threads.
module f_log
  implicit none
  integer :: messages = 0
  character(200) :: last = ""
contains
  subroutine note(level, message)
    integer, intent(in) :: level
    character(*), intent(in) :: message
    messages = messages + level
    last = message
  end subroutine note
end module f_log

program f_request
  use, intrinsic :: ieee_arithmetic, only: ieee_quiet_nan, ieee_value
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use ozarr
  use f_check
  use f_log
  implicit none

  call requests()
  call many()
  call waited_in_vain()
  call replaced()
  call cancelled()
  call batches()
  call contexts()
  call settings()
  call logs()
  call refusals()
  call ozarr_end_threads()
  call finish()

contains

  subroutine requests()
    type(ozarr_array) :: a
    type(ozarr_request) :: r
    real(real64), asynchronous :: u(20, 10), wide(22, 12), back(20, 10)
    real(real32), asynchronous :: four(20)
    integer :: i
    logical :: is_done
    call a%create("run.zarr/a", OZARR_FLOAT64, [20, 10], chunks=[5, 5])
    u = reshape([(real(i, real64), i=1, 200)], [20, 10])
    wide = 0
    wide(2:21, 2:11) = u
    call a%iwrite(wide(2:21, 2:11), r)
    call check(r%is_open(), "begun")
    call r%wait()
    call check(.not. r%is_open(), "a request that was waited for is closed")
    call a%iread(back, r, deadline=600d0)
    is_done = .false.
    do while (.not. is_done)
      call r%test(is_done)
    end do
    call check(all(back == u) .and. .not. r%is_open(), "read what was written")
    call a%iread(four, r, start=[1, 3], count=[20, 1])
    call r%wait(seconds=600d0)
    call check(all(four == real(u(:, 3))), "a region, converted")
    four = 7
    call a%iwrite(four, r, start=[1, 10], copy=.true.)
    four = 8
    call r%wait()
    call a%read(four, start=[1, 10])
    call check(all(four == 7), "the elements were copied")
  end subroutine requests

  subroutine many()
    type(ozarr_array) :: a
    type(ozarr_request) :: r(4)
    integer, asynchronous :: u(8, 4), back(8, 4)
    integer, allocatable :: stats(:)
    integer :: k, i, seen
    call a%create("run.zarr/many", OZARR_INT32, [8, 4], chunks=[8, 1])
    do k = 1, 4
      u(:, k) = k
      call a%iwrite(u(:, k), r(k), start=[1, k])
    end do
    call ozarr_wait_all(r, seconds=ieee_value(1d0, ieee_quiet_nan), stats=stats, stat=i)
    call check(i == OZARR_ERR_ARGUMENT .and. all(stats == OZARR_ERR_STATE) .and. all([(r(k)%is_open(), k=1, 4)]), &
      "a wait that is refused closes nothing")
    call ozarr_wait_all(r, stats=stats)
    call check(size(stats) == 4 .and. all(stats == OZARR_OK) .and. .not. any([(r(k)%is_open(), k=1, 4)]), "all are done")
    do k = 1, 4
      call a%iread(back(:, k), r(k), start=[1, k])
    end do
    seen = 0
    do
      call ozarr_wait_any(r, i)
      if (i == 0) exit
      seen = seen + i
    end do
    call check(seen == 10 .and. all(back == u), "each was done once")
    call ozarr_wait_all(r(1:0))
  end subroutine many

  ! A wait that is refused leaves the request as it is: here it goes on in waits only.
  subroutine waited_in_vain()
    type(ozarr_context) :: c
    type(ozarr_store) :: s
    type(ozarr_array) :: a
    type(ozarr_request) :: r
    integer, asynchronous :: u(8)
    integer :: back(8), stat
    call c%create()
    call c%set("threads", "1")
    call s%open("run.zarr", mode="r+", context=c)
    call a%create(s, "in_vain", OZARR_INT32, [8], chunks=[1])
    u = 5
    call a%iwrite(u, r)
    call r%wait(seconds=ieee_value(1d0, ieee_quiet_nan), stat=stat)
    call check(stat == OZARR_ERR_ARGUMENT .and. r%is_open(), "a wait that is refused closes nothing")
    if (r%is_open()) call r%wait()
    call a%read(back)
    call check(all(back == 5), "the request went on")
  end subroutine waited_in_vain

  ! The error of a write to an array that was replaced meanwhile is OZARR_ERR_STATE, which is also that of a request that is not done: such a
  ! request is closed all the same, and can be used again. Here it goes on in waits only.
  subroutine replaced()
    type(ozarr_context) :: c
    type(ozarr_store) :: s
    type(ozarr_array) :: old, new
    type(ozarr_request) :: r(2)
    integer, asynchronous :: u(8)
    integer, allocatable :: stats(:)
    integer :: back(8), stat
    ! By another path: of its own path a handle knows at once, and begins nothing.
    call execute_command_line("ln -s run.zarr link.zarr", exitstat=stat)
    if (stat /= 0) return
    call c%create()
    call c%set("threads", "1")
    call s%open("link.zarr", mode="r+", context=c)
    call old%create(s, "replaced", OZARR_INT32, [8], chunks=[1])
    u = 5
    call old%iwrite(u, r(1))
    call new%create("run.zarr/replaced", OZARR_INT32, [8], chunks=[1], overwrite=.true.)
    call new%iwrite(u, r(2))
    call ozarr_wait_all(r, stats=stats, stat=stat)
    call check(stat == OZARR_ERR_STATE .and. all(stats == [OZARR_ERR_STATE, OZARR_OK]), "a write to an array that was replaced")
    call check(.not. r(1)%is_open() .and. .not. r(2)%is_open(), "requests that are done are closed, whatever their errors")
    u = 6
    call new%iwrite(u, r(1), stat=stat)
    call check(stat == OZARR_OK, "it can be used again")
    call ozarr_wait_all(r)
    call new%read(back)
    call check(all(back == 6), "what it wrote then")
  end subroutine replaced

  subroutine cancelled()
    type(ozarr_array) :: a
    type(ozarr_request) :: r
    integer, asynchronous :: u(100)
    integer :: stat
    call a%create("run.zarr/cancelled", OZARR_INT32, [100], chunks=[1])
    u = 1
    call a%iwrite(u, r)
    call r%cancel()
    call check(r%state() >= OZARR_REQUEST_STATE_DONE, "a cancelled request is done")
    call r%wait(stat=stat)
    call check(stat == OZARR_OK .or. stat == OZARR_ERR_CANCELLED, "it says so")
    call a%iwrite(u, r)
    call r%close()
    call check(.not. r%is_open(), "close")
  end subroutine cancelled

  ! Regions of several arrays in one call: chunks that several regions share are read and stored once.
  subroutine batches()
    type(ozarr_batch) :: b, copy
    type(ozarr_array) :: t, p
    integer, asynchronous :: u(4, 6), v(6), back(4, 6), column(4), none(0)
    real(real64), asynchronous :: wide(6, 8)
    integer :: i, stat
    character(300) :: message
    call t%create("run.zarr/batch_t", OZARR_INT32, [4, 6], chunks=[4, 6])
    call p%create("run.zarr/batch_p", OZARR_INT16, [6], chunks=[4])
    u = reshape([(i, i=1, 24)], [4, 6])
    v = [(10 * i, i=1, 6)]
    do i = 1, 6                                            ! six columns of one chunk
      call b%write(t, u(:, i), start=[1, i])
    end do
    call b%write(p, v)
    call check(b%size() == 7, "regions of a batch")
    copy = b
    call b%run()
    call check(b%size() == 0 .and. copy%size() == 7, "run empties the batch, and no copy of it")
    call t%read(back)
    call check(all(back == u), "columns that were written together")
    wide = 0
    v = 0
    call b%read(t, wide(2:5, 2:7))                         ! the inside of a field with ghost cells
    call b%read(t, column, start=[4, 6], count=[4, 1], stride=[-1, 1])
    call b%read(p, v, start=[1])
    call b%read(p, none, start=[3])
    call b%run()
    call check(all(nint(wide(2:5, 2:7)) == u) .and. all(wide(1, :) == 0) .and. all(v == [(10 * i, i=1, 6)]), "read together")
    call check(all(column == [24, 23, 22, 21]), "backwards")
    call b%run()                                           ! without regions nothing happens

    message = ""
    call b%read(p, v)
    call b%write(p, v, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_STATE, message, "has regions to read", "expected another batch")
    call b%read(p, v, start=[0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "start(1) is 0", "at least 1")
    call check(b%size() == 1, "what is refused is not kept")
    call b%run()
    v = 1
    v(3) = 70000
    call b%write(t, u)
    call b%write(p, v)
    call b%run(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANGE, message, "entry 2", "element [3]")
    call check(b%size() == 0, "a batch that failed is empty")
    call b%read(p, v, start=[5])
    call b%run(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "entry 1", "dimension 1")
    call b%read(t, back)
    call b%read(p, v)
    call p%close()
    call b%run(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_INVALID_HANDLE, message, "entry 2: the argument `array`", "an array that was closed")
    call copy%write(p, v, stat=stat)
    call check(stat == OZARR_ERR_NULL .and. copy%size() == 7, "an array that is not open")
  end subroutine batches

  subroutine contexts()
    type(ozarr_context) :: c
    type(ozarr_store) :: s
    type(ozarr_array) :: a
    character(:), allocatable :: value
    integer :: u(3)
    call c%create()
    call c%set("threads", "2")
    call c%set("file.sync", "none")
    call c%get("threads", value)
    call check(value == "2", "a setting of a context")
    call s%open("other.zarr", mode="r+", context=c)
    call c%close()
    call check(.not. c%is_open(), "close")
    call a%create(s, "a", OZARR_INT32, [3])
    call a%write([1, 2, 3])
    call s%close()
    call s%open("other.zarr", options=[character(12) :: "consolidated", "never"])
    call a%open(s, "a")
    call a%read(u)
    call check(all(u == [1, 2, 3]), "a store with options")
  end subroutine contexts

  subroutine settings()
    type(ozarr_array) :: a
    character(:), allocatable :: value
    call ozarr_set("threads", "3")
    call ozarr_get("threads", value)
    call check(value == "3", "a setting of the default context")
    call a%create("run.zarr/set", OZARR_INT32, [8], chunks=[4])
    call a%set("write_back", "65536")
    call a%get("write_back", value)
    call check(value == "65536", "a setting of an array")
    call a%get("mode", value)
    call check(value == "r+", "its mode")
    call a%path(value)
    call check(value == "set" .and. a%zarr_format() == 3, "its path and format")
    call a%write([1, 2], start=[1])
    call a%flush()
    call check(ozarr_has("zstd") .and. .not. ozarr_has("snake"), "features")
  end subroutine settings

  ! An array of format 2 without the member "compressor" is read, and told.
  subroutine logs()
    type(ozarr_context) :: c
    type(ozarr_store) :: s
    type(ozarr_array) :: a
    integer :: unit
    call s%open("odd.zarr", mode="r+")
    call a%create(s, "b/c", OZARR_INT32, [2], zarr_format=2)
    open (newunit=unit, file="odd.zarr/b/c/.zarray")
    write (unit, "(a)") '{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i4","fill_value":0,"order":"C","filters":[]}'
    close (unit)
    call c%create()
    call c%set_log(OZARR_LOG_LEVEL_INFO, note)
    call s%open("odd.zarr", context=c)
    call a%open(s, "b/c")
    call check(messages == 2 .and. last(:6) == "HD-10:", "a deviation is told")
    call c%set_log(OZARR_LOG_LEVEL_OFF)
    call ozarr_set_log(OZARR_LOG_LEVEL_WARNING, note)
    call a%open("odd.zarr/b/c")
    call check(messages == 4, "and by the default context")
    call ozarr_set_log(OZARR_LOG_LEVEL_OFF)
    call a%open("odd.zarr/b/c")
    call check(messages == 4, "no more")
  end subroutine logs

  subroutine refusals()
    type(ozarr_request) :: r, none
    type(ozarr_context) :: c
    type(ozarr_store) :: s
    type(ozarr_array) :: a, closed
    integer, asynchronous :: u(4)
    integer :: stat
    logical :: is_done
    character(:), allocatable :: value
    character(300) :: message
    message = ""
    call none%wait(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "wait for nothing")
    call none%test(is_done, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "test nothing")
    call none%cancel(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "cancel nothing")
    call a%create("run.zarr/r", OZARR_INT32, [4])
    u = 1
    call a%iread(u, r, start=[0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "start(1) is 0", "a start of 0")
    call a%iread(u, r, start=[2], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "dimension 1", "beyond the end")
    call check(.not. r%is_open(), "a refused request is not begun")
    call closed%iread(u, r, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "not open", "an array that is not open")
    call a%iwrite(u, r)
    call a%iwrite(u, r, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_STATE, message, "in use", "a request in use")
    call r%wait()
    call c%set("threads", "2", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "context is not open", "a setting of no context")
    call c%get("threads", value, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "context is not open", "no context")
    call s%open("other.zarr", context=c, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "context is not open", "a store with no context")
    call s%open("other.zarr", options=["consolidated"], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "by turns", "an option without a value")
    call s%open("other.zarr", options=["snake", "never"], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "snake", "an unknown option")
    call c%create()
    call c%set("threads", "0", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "threads", "no threads")
    call ozarr_set("snake", "1", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "snake", "an unknown setting")
    call a%set("write_back", "x", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "write_back", "a setting that is no number")
  end subroutine refusals

end program f_request
