! The module ozarr_mpi: arrays, groups, a specification, requests, steps with a restart, checkpoints; what differs on a rank is told to all.
!
!   fortran FOLDER

! A disk that loses what is to be made durable: the library calls this function in place of the system's.
module disk
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  logical :: loses = .false.
contains
  function fdatasync(file) bind(c) result(status)
    integer(c_int), value :: file
    integer(c_int) :: status
    status = merge(-1_c_int, 0_c_int, loses .and. file >= 0)
  end function fdatasync
end module disk

program fortran
  use mpi_f08
  use ozarr
  use ozarr_mpi
  use disk, only: loses
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  integer, parameter :: nx = 37, ny = 23
  type(ozarr_ranks) :: ranks
  integer :: rank, n, low, high, failures
  character(1000) :: folder
  real(8), allocatable, target :: u(:, :), v(:, :)

  call get_command_argument(1, folder)
  failures = 0
  rank = -1
  call outside("before MPI_Init")
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  low = rank * nx / n + 1
  high = (rank + 1) * nx / n
  allocate (u(low - 1:high + 1, 0:ny + 1), v(nx, ny))
  call ranks%open(MPI_COMM_WORLD)
  call opened
  call arrays
  call logicals
  call nowhere
  call replaced
  call groups
  call steps
  if (n > 1) call ends_that_differ
  call ranks%close()
  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  call outside("after MPI_Finalize")
  if (failures > 0) error stop 1

contains

  ! Where MPI cannot be called, that is told, and the job goes on.
  subroutine outside(when)
    character(*), intent(in) :: when
    type(ozarr_ranks) :: none
    integer :: status
    character(200) :: message
    call none%open(MPI_COMM_WORLD, stat=status, errmsg=message)
    call check(status == OZARR_ERR_STATE .and. index(message, "MPI_") > 0, "open " // when // ": " // trim(message))
  end subroutine outside

  subroutine check(is_so, what)
    logical, intent(in) :: is_so
    character(*), intent(in) :: what
    if (is_so) return
    print "(a, i0, 2a)", "rank ", rank, ": not so: ", what
    failures = failures + 1
  end subroutine check

  ! Ranks that are open, on all ranks or on the last one alone, are refused and work as before.
  subroutine opened
    type(ozarr_ranks) :: second
    integer :: status
    character(300) :: message
    call ranks%open(MPI_COMM_WORLD, stat=status, errmsg=message)
    call check(status == OZARR_ERR_STATE .and. index(message, "the ranks are open") > 0, "ranks that are open")
    if (rank == n - 1) call ranks%open(MPI_COMM_WORLD, stat=status)
    if (rank /= n - 1) call second%open(MPI_COMM_WORLD, stat=status)
    call check(status == OZARR_ERR_STATE, "ranks that are open on one rank")
    call ranks%agree(OZARR_OK, stat=status)
    call check(status == OZARR_OK, "ranks that were to be opened again")
    second = ranks
    call second%close()
    call ranks%open(MPI_COMM_WORLD, stat=status)
    call check(status == OZARR_OK, "ranks whose copy was closed")
    call ranks%close()
    call ranks%open(MPI_COMM_WORLD)
  end subroutine opened

  function place(name) result(location)
    character(*), intent(in) :: name
    character(:), allocatable :: location
    location = trim(folder) // "/" // name
  end function place

  ! A value of each element and step; this rank's part of u, with ghost cells that nobody stores.
  subroutine fill(step)
    integer, intent(in) :: step
    integer :: i, j
    u = -1
    do j = 1, ny
      do i = low, high
        u(i, j) = element(i, j, step)
      end do
    end do
  end subroutine fill

  pure function element(i, j, step) result(value)
    integer, intent(in) :: i, j, step
    real(8) :: value
    value = i + 100 * j + 10000 * step
  end function element

  function is_step(step) result(is_so)
    integer, intent(in) :: step
    logical :: is_so
    integer :: i, j
    is_so = .true.
    do j = 1, ny
      do i = 1, nx
        is_so = is_so .and. v(i, j) == element(i, j, step)
      end do
    end do
  end function is_step

  subroutine arrays
    type(ozarr_array) :: t
    type(ozarr_ranks_request) :: request, other
    integer :: status, mine
    logical :: is_done
    character(300) :: message
    character(:), allocatable :: units
    call ranks%create(t, place("a.zarr"), OZARR_FLOAT64, [nx, ny], chunks=[10, 10])
    call fill(1)
    call ranks%write(t, u(low:high, 1:ny), start=[low, 1])
    call ranks%read(t, v)
    call check(is_step(1), "a whole array is read without start")
    call fill(2)
    call ranks%iwrite(t, u(low:high, 1:ny), request, start=[low, 1])
    call request%test(is_done)
    call request%wait()
    v = 0
    call ranks%iread(t, v, request)
    call request%wait()
    call check(is_step(2), "requests")
    call fill(3)
    call ranks%iwrite(t, u(low:high, 1:ny), request, start=[low, 1])
    call request%let_go()
    call ranks%read(t, v)
    call check(is_step(3), "a request that was let go of")
    call fill(2)
    call ranks%write(t, u(low:high, 1:ny), start=[low, 1])
    call ranks%read(t, v)
    call request%wait(stat=status)
    call check(status == OZARR_ERR_NULL, "a request that has ended")
    call ranks%iwrite(t, u(low:high, 1:ny), request, start=[low, 1])
    call ranks%iwrite(t, u(low:high, 1:ny), request, start=[low, 1], stat=status)
    call check(status == OZARR_ERR_STATE, "a request that is in use, for a write")
    if (rank == n - 1) call ranks%iread(t, v, request, stat=status)
    if (rank /= n - 1) call ranks%iread(t, v, other, stat=status)
    call check(status == OZARR_ERR_STATE, "a request that is in use on one rank, for a read")
    call ranks%close(stat=status)
    call check(status == OZARR_ERR_STATE, "ranks with a request under way")
    call request%wait()
    if (n > 1) then
      call ranks%write(t, v, stat=status, errmsg=message)
      call check(status /= OZARR_OK, "regions of all ranks with common elements")
      call check(is_step(2), "the variable")
    end if
    call ranks%resize(t, [nx, ny + 7])
    call check(all(t%shape() == [nx, ny + 7]), "the new shape on all ranks")
    call ranks%resize(t, [nx], stat=status)
    call check(status == OZARR_ERR_RANK, "a shape of another rank")
    call ranks%set_attr_json(t, "units", '"K"')
    call t%get_attr_text("units", units)
    call check(units == "K", "the attribute on all ranks")
    call ranks%refresh(t)
    call ranks%close_array(t)
    call ranks%open_array(t, place("nothing.zarr"), stat=status, errmsg=message)
    call check(status == OZARR_ERR_NOT_FOUND .and. index(message, "rank 0: ") == 1, "an array that is not there")
    mine = OZARR_OK
    if (rank == n - 1) mine = OZARR_ERR_STATE
    call ranks%agree(mine, stat=status)
    call check(status == OZARR_ERR_STATE, "a status of one rank")
  end subroutine arrays

  ! Logicals of each kind: sections, with gaps and backwards, and one value of all.
  subroutine logicals
    type(ozarr_array) :: t
    type(ozarr_group) :: g
    type(ozarr_ranks_request) :: request
    logical, allocatable :: whole(:, :), part(:, :)
    logical(c_bool), allocatable :: bytes(:, :)
    logical(8), allocatable :: long(:, :)
    integer :: status, i, j
    allocate (whole(nx, ny), part(low:high, 2*ny), bytes(nx, ny), long(nx, ny))
    part = .false.
    do j = 1, ny
      part(:, 2*j) = [(is_true(i, j), i=low, high)]
    end do
    call ranks%create(t, place("l.zarr"), OZARR_BOOL, [nx, ny], chunks=[10, 10])
    call ranks%write(t, part(high:low:-1, 2::2), start=[low, 1])
    call ranks%read(t, bytes)
    do j = 1, ny
      call check(all(bytes(low:high, j) .eqv. [(is_true(high + low - i, j), i=low, high)]), "logicals that are written backwards")
    end do
    call ranks%write(t, part(:, 2::2), start=[low, 1])
    whole = .false.
    call ranks%read(t, whole)
    call ranks%read(t, bytes)
    long = .false.
    call ranks%read(t, long)
    do j = 1, ny
      call check(all(whole(:, j) .eqv. [(is_true(i, j), i=1, nx)]), "logicals")
    end do
    call check(all(whole .eqv. logical(bytes)) .and. all(whole .eqv. logical(long)), "logicals of each kind")
    call ranks%write(t, whole(:, :merge(ny, 0, rank == 0)))
    call ranks%read(t, long)
    call check(all(whole .eqv. logical(long)), "logicals of one rank alone")
    call ranks%iread(t, whole, request, stat=status)
    call check(status == OZARR_ERR_TYPE, "a request for logicals of four bytes")
    bytes = .false.
    call ranks%iread(t, bytes, request)
    call request%wait()
    call check(all(whole .eqv. logical(bytes)), "a request for logicals of one byte")
    call ranks%close_array(t)
    call ranks%begin_checkpoint(g, place("masks.zarr"), "one")
    call ranks%put(g, "mask", [nx, ny], part(:, 2::2), start=[low, 1])
    call ranks%commit(g)
    call ranks%open_latest(g, place("masks.zarr"))
    whole = .false.
    call ranks%get(g, "mask", whole(low:high, :), start=[low, 1])
    call ranks%close_group(g)
    call check(all(whole(low:high, :) .eqv. part(:, 2::2)), "logicals of a checkpoint")
  end subroutine logicals

  ! Variables of the last rank that have no elements, of whatever bounds; or no memory, which is an error on all ranks.
  subroutine nowhere
    type(ozarr_array) :: t, l
    type(ozarr_group) :: g
    real(8), allocatable :: own(:, :)
    real(8), pointer :: gone(:, :)
    logical, allocatable :: mask(:, :)
    integer :: status, i, last(4) = [0, -2, -3, -9]
    logical :: is_mine
    is_mine = rank == n - 1
    call ranks%create(t, place("nowhere.zarr"), OZARR_FLOAT64, [nx, ny], chunks=[10, 10])
    call ranks%create(l, place("nowhere-l.zarr"), OZARR_BOOL, [nx, ny], chunks=[10, 10])
    call fill(4)
    do i = 1, size(last)
      call ranks%write(t, u(low:high, 1:merge(last(i), ny, is_mine)), start=[low, 1], stat=status)
      call check(status == OZARR_OK, "a write without elements on one rank")
      call ranks%write(l, u(low:merge(low + last(i) - 1, high, is_mine), 1:ny) > 0, start=[low, 1], stat=status)
      call check(status == OZARR_OK, "a write of logicals without elements on one rank")
    end do
    call ranks%write(t, u(low:merge(low - 2, high, is_mine), 1:ny), start=[low, 1], stat=status)
    call check(status == OZARR_OK, "a write without rows on one rank")
    nullify (gone)
    allocate (own(low:high, ny), source=0d0)
    allocate (mask(low:high, ny), source=.false.)
    if (is_mine) deallocate (own, mask)
    call ranks%write(t, own, start=[low, 1], stat=status)
    call check(status == OZARR_ERR_NULL, "a variable that is not allocated on one rank")
    call ranks%read(t, own, start=[low, 1], stat=status)
    call check(status == OZARR_ERR_NULL, "a variable to read to that is not allocated on one rank")
    call ranks%write(t, gone, start=[low, 1], stat=status)
    call check(status == OZARR_ERR_NULL, "a pointer to nothing")
    call ranks%write(l, mask, start=[low, 1], stat=status)
    call check(status == OZARR_ERR_NULL, "logicals that are not allocated on one rank")
    call ranks%read(l, mask, start=[low, 1], stat=status)
    call check(status == OZARR_ERR_NULL, "logicals to read to that are not allocated on one rank")
    call ranks%create_group(g, place("nowhere-g.zarr"))
    call ranks%put(g, "mask", [nx, ny], mask, start=[low, 1], stat=status)
    call check(status == OZARR_ERR_NULL, "logicals to put that are not allocated on one rank")
    call ranks%close_group(g)
    call ranks%close_array(t)
    call ranks%close_array(l)
  end subroutine nowhere

  ! A request whose own error is OZARR_ERR_STATE, as that of a wait that leaves it, is gone and can be used again.
  subroutine replaced
    type(ozarr_array) :: old, new
    type(ozarr_ranks_request) :: request
    integer :: status
    character(300) :: message
    call ranks%create(old, place("replaced.zarr"), OZARR_FLOAT64, [nx, ny], chunks=[10, 10])
    call ranks%create(new, place("replaced.zarr"), OZARR_FLOAT64, [nx, ny], chunks=[10, 10], overwrite=.true.)
    call fill(5)
    message = ""
    call ranks%iwrite(old, u(low:high, 1:ny), request, start=[low, 1], stat=status)
    if (status == OZARR_OK) call request%wait(stat=status, errmsg=message)
    call check(status == OZARR_ERR_STATE .and. index(message, "freed") == 0, message)
    call ranks%iwrite(new, u(low:high, 1:ny), request, start=[low, 1], stat=status)
    call check(status == OZARR_OK, "a request that failed is used again")
    call request%wait(stat=status)
    call check(status == OZARR_OK, "what it writes then")
    call ranks%read(new, v)
    call check(is_step(5), "the values that it wrote")
    call ranks%close_array(old, stat=status)
    call ranks%close_array(new)
  end subroutine replaced

  pure function is_true(i, j) result(value)
    integer, intent(in) :: i, j
    logical :: value
    value = mod(i*j, 3) == 1
  end function is_true

  subroutine groups
    type(ozarr_group) :: g
    type(ozarr_array) :: t
    type(ozarr_spec) :: spec
    integer :: status
    call spec%create(OZARR_FLOAT32, [nx, ny], chunks=[20, 20])
    call spec%set_compressor("gzip", level=6)
    call spec%set_shuffle(OZARR_SHUFFLE_BYTE)
    call fill(3)
    call ranks%create_group(g, place("g.zarr"))
    call ranks%set_attr_json(g, "title", '"both"')
    call ranks%create(t, g, "below/t", spec)
    call ranks%write(t, u(low:high, 1:ny), start=[low, 1])
    call ranks%close_array(t)
    call ranks%put(g, "s", spec, u(low:high, 1:ny), start=[low, 1])
    call ranks%close_group(g)
    call ranks%open_group(g, place("g.zarr"))
    call ranks%open_array(t, g, "below/t")
    call ranks%read(t, v)
    call check(is_step(3) .and. t%type() == OZARR_FLOAT32, "an array below a group, by a specification")
    call ranks%close_array(t)
    v = 0
    call ranks%get(g, "s", v, start=[1, 1])
    call check(is_step(3), "an array that was put by a specification")
    call ranks%close_group(g)
    call ranks%create_group(g, place("lost.zarr"))
    loses = .true.
    call ranks%put(g, "s", spec, u(low:high, 1:ny), start=[low, 1], stat=status)
    loses = .false.
    call check(status == OZARR_ERR_IO, "an array that cannot be made durable")
    call ranks%open_array(t, g, "s", stat=status)
    call check(status == OZARR_ERR_NOT_FOUND, "it is taken back")
    call ranks%close_group(g, stat=status)
    call ranks%begin_checkpoint(g, place("states.zarr"), "first")
    call ranks%put(g, "u", [nx, ny], u(low:high, 1:ny), start=[low], stat=status)
    call check(status == OZARR_ERR_RANK, "a start of too few numbers")
    if (n > 1) then
      call ranks%put(g, "u", [nx, ny + min(rank, 1)], u(low:high, 1:ny), start=[low, 1], stat=status)
      call check(status == OZARR_ERR_ARGUMENT, "a shape that is another one on some ranks")
    end if
    call ranks%put(g, "u", [nx, ny], u(low:high, 1:ny), start=[low, 1])
    call ranks%abandon(g)
    call ranks%open_latest(g, place("states.zarr"), stat=status)
    call check(status == OZARR_ERR_NOT_FOUND, "a checkpoint that was given up")
    call ranks%create(t, place("s.zarr"), spec)
    call ranks%close_array(t)
  end subroutine groups

  ! Rank 0 makes the dataset; a restart keeps the steps of its checkpoint.
  subroutine steps
    type(ozarr_ranks_series) :: series, copy
    integer :: status, step
    character(300) :: message
    call series%step(0, stat=status, errmsg=message)
    call check(status == OZARR_ERR_NULL .and. message == "the series is not open", message)
    status = OZARR_OK
    if (rank == 0) call define(status)
    call ranks%agree(status)
    call series%open(ranks, place("run.zarr"), "time")
    do step = 0, 6
      call fill(step)
      call series%put("u", u(low:high, 1:ny), start=[low, 1])
      call series%put("first", u(low, 1), start=[integer ::])
      call series%put("mask", u(low:high, 1) > 20005, start=[low])
      if (step == 3) then
        call series%step(stat=status, errmsg=message)
        call check(status == OZARR_ERR_ARGUMENT .and. index(message, "NaN") > 0, message)
        call series%put("time", 180_int64, start=[integer ::])
        call series%step()
      else
        call series%step(60 * step)
      end if
    end do
    call check(series%position() == 7 .and. series%published() == 4, "steps wait until their chunks are whole")
    call series%open(ranks, place("run.zarr"), "time", stat=status, errmsg=message)
    call check(status == OZARR_ERR_STATE .and. index(message, "the series is open") > 0, message)
    call check(series%position() == 7, "a series that is open stays as it is")
    call ranks%close(stat=status)
    call check(status == OZARR_ERR_STATE, "ranks are not closed before a series")
    call series%flush()
    call check(series%published() == 7, "a flush publishes them")
    copy = series
    call copy%close()
    call series%open(ranks, place("run.zarr"), "time", keep=5_int64, publish_every=2)
    call check(series%position() == 5, "a restart keeps as many steps as it says")
    call fill(5)
    call series%put("u", u(low:high, 1:ny), start=[low, 1])
    call series%put("u", u(low:high, 1:ny), start=[low, 1], stat=status)
    call check(status == OZARR_ERR_STATE, "a variable that was given twice")
    call series%put("u", u(low:high, 1:ny), start=[(1, step=1, 500)], stat=status)
    call check(status == OZARR_ERR_RANK, "a start of more numbers than an array has dimensions")
    call series%put("u", u(low:high, 1:ny), start=[low], stat=status, errmsg=message)
    call check(status == OZARR_ERR_RANK .and. index(message, "u: the values have rank 2, expected at most 1") > 0, message)
    call series%put("mask", u(low:high, 1) > 20005, start=[low])
    call series%step(300.0)
    call check(series%published() == 6, "every second step")
    call series%close()
    call series%put("u", u(low:high, 1:ny), start=[low, 1], stat=status, errmsg=message)
    call check(status == OZARR_ERR_NULL .and. index(message, "the series is not open") > 0, message)
    call series%flush(stat=status, errmsg=message)
    call check(status == OZARR_ERR_NULL .and. index(message, "the series is not open") > 0, message)
    call series%close(stat=status, errmsg=message)
    call check(status == OZARR_ERR_NULL .and. index(message, "the series is not open") > 0, message)
    call see(6)
  end subroutine steps

  subroutine define(status)
    integer, intent(out) :: status
    type(ozarr_dataset) :: ds
    call ds%create(place("run.zarr"), stat=status)
    if (status == OZARR_OK) call ds%define_dimension("x", nx, stat=status)
    if (status == OZARR_OK) call ds%define_dimension("y", ny, stat=status)
    if (status == OZARR_OK) call ds%define_time("time", 0, "seconds since 2026-01-01", stat=status)
    if (status == OZARR_OK) call ds%define_variable("u", OZARR_FLOAT64, ["x   ", "y   ", "time"], chunks=[nx, 8, 4], stat=status)
    if (status == OZARR_OK) call ds%define_variable("first", OZARR_FLOAT64, ["time"], stat=status)
    if (status == OZARR_OK) call ds%define_variable("mask", OZARR_BOOL, ["x   ", "time"], chunks=[nx, 4], stat=status)
    if (status == OZARR_OK) call ds%close(stat=status)
  end subroutine define

  ! The run as another program sees it.
  subroutine see(count)
    integer, intent(in) :: count
    type(ozarr_dataset) :: ds
    type(ozarr_array) :: t
    integer :: step
    real(8) :: firsts(count)
    logical :: mask(nx, count)
    call ds%open(place("run.zarr"))
    call ds%open_variable("u", t)
    call check(all(t%shape() == [nx, ny, count]), "the shape of the run")
    do step = 1, count
      call t%read(v, start=[1, 1, step])
      call check(is_step(step - 1), "the values of a step")
    end do
    call t%close()
    call ds%open_variable("mask", t)
    call t%read(mask)
    call check(is_mask(mask, count), "the logicals of a step")
    call t%close()
    call ds%open_variable("first", t)
    call t%read(firsts)
    call check(all(firsts(:5) == [(element(1, 1, step), step=0, 4)]) .and. firsts(6) /= firsts(6), &
      "the values of rank 0 of a variable without other dimensions")
    call t%close()
    call ds%close()
  end subroutine see

  ! Objects that one rank closes while the others call something else are still open on all, and can be closed then.
  subroutine ends_that_differ
    type(ozarr_ranks) :: others
    type(ozarr_array) :: t
    type(ozarr_group) :: g
    type(ozarr_ranks_series) :: run
    integer :: status, differ
    call ranks%create(t, place("differ.zarr"), OZARR_FLOAT64, [nx, ny])
    call alone(ranks, differ)
    if (rank == 0) call ranks%close_array(t, stat=differ)
    call check(differ == OZARR_ERR_ARGUMENT .and. t%is_open(), "an array that one rank closes")
    call ranks%close_array(t, stat=status)
    call check(status == OZARR_OK .and. .not. t%is_open(), "an array that all close then")
    call ranks%create_group(g, place("differ-group.zarr"))
    call alone(ranks, differ)
    if (rank == 0) call ranks%close_group(g, stat=differ)
    call check(differ == OZARR_ERR_ARGUMENT .and. g%is_open(), "a group that one rank closes")
    call ranks%close_group(g, stat=status)
    call check(status == OZARR_OK .and. .not. g%is_open(), "a group that all close then")
    call checkpoints_that_differ
    call run%open(ranks, place("run.zarr"), "time", keep=0_int64)
    call fill(0)
    call run%put("u", u(low:high, 1:ny), start=[low, 1])
    call run%step(0)
    if (rank == 0) call run%close(stat=differ)
    if (rank /= 0) call run%flush(stat=differ)
    call check(differ == OZARR_ERR_ARGUMENT, "a series that one rank closes")
    call run%close(stat=status)
    call check(status == OZARR_OK, "a series that all close then")
    call ranks%open_array(t, place("run.zarr/u"))
    call check(all(t%shape() == [nx, ny, 1]), "no step is lost")
    call ranks%close_array(t)
    call others%open(MPI_COMM_WORLD)
    call alone(others, differ)
    if (rank == 0) call others%close(stat=differ)
    call check(differ == OZARR_ERR_ARGUMENT, "ranks that one rank closes")
    call others%agree(0, stat=status)
    call check(status == OZARR_OK, "they work together all the same")
    if (status == OZARR_OK) call others%close(stat=status)
    call check(status == OZARR_OK, "ranks that all close then")
  end subroutine ends_that_differ

  ! What other ranks call than rank 0 does.
  subroutine alone(which, status)
    type(ozarr_ranks), intent(in) :: which
    integer, intent(out) :: status
    status = OZARR_OK
    if (rank /= 0) call which%agree(0, stat=status)
  end subroutine alone

  subroutine checkpoints_that_differ
    type(ozarr_group) :: g
    integer :: status, differ, times
    do times = 1, 2
      call ranks%begin_checkpoint(g, place("differ-states.zarr"), "first")
      call ranks%put(g, "u", [nx, ny], u(low:high, 1:ny), start=[low, 1])
      call alone(ranks, differ)
      if (rank == 0 .and. times == 1) call ranks%abandon(g, stat=differ)
      if (rank == 0 .and. times == 2) call ranks%commit(g, stat=differ)
      call check(differ == OZARR_ERR_ARGUMENT .and. g%is_open(), "a checkpoint that one rank ends")
      if (times == 1) call ranks%abandon(g, stat=status)
      if (times == 2) call ranks%commit(g, stat=status)
      call check(status == OZARR_OK .and. .not. g%is_open(), "a checkpoint that all end then")
    end do
  end subroutine checkpoints_that_differ

  ! Whether the logicals of each step are those of its values.
  function is_mask(mask, steps) result(is_so)
    logical, intent(in) :: mask(:, :)
    integer, intent(in) :: steps
    logical :: is_so
    integer :: i, step
    is_so = .true.
    do step = 1, steps
      is_so = is_so .and. all(mask(:, step) .eqv. [(element(i, 1, step - 1) > 20005, i=1, nx)])
    end do
  end function is_mask

end program fortran
