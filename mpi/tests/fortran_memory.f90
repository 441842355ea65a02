! Memory that ends on one rank: each allocation of the module ozarr_mpi fails in turn, of calls that all ranks make. They fail on all of them
! with one status and message, nobody waits for ever, and the same call succeeds afterwards.
!
!   fortran_memory FOLDER
program fortran_memory
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use ozarr
  use ozarr_mpi
  implicit none
  type, bind(c) :: in_use
    integer(c_int) :: before(7), bytes, behind(2)
  end type in_use
  ! Of allocations.c.
  interface
    subroutine fail_allocation(n) bind(c)
      import :: c_long
      integer(c_long), value :: n
    end subroutine fail_allocation
    function end_failing() bind(c) result(failed)
      import :: c_int
      integer(c_int) :: failed
    end function end_failing
    ! Of glibc.
    function mallinfo() bind(c) result(info)
      import :: in_use
      type(in_use) :: info
    end function mallinfo
  end interface
  integer, parameter :: calls = 14
  type(ozarr_ranks) :: ranks
  type(ozarr_ranks_series) :: series
  type(ozarr_array) :: field
  type(ozarr_group) :: group
  type(ozarr_spec) :: spec
  integer :: rank, n, call_number, failures
  character(1000) :: folder, field_place, state_place, run_place
  character(300) :: message
  real(8) :: u(4, 3)

  call get_command_argument(1, folder)
  field_place = trim(folder) // "/field.zarr"
  state_place = trim(folder) // "/states.zarr"
  run_place = trim(folder) // "/run.zarr"
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  failures = 0
  u = rank
  call ranks%open(MPI_COMM_WORLD)
  call spec%create(OZARR_FLOAT64, [4, 3 * n], chunks=[4, 3])
  if (rank == 0) call define()
  call MPI_Barrier(MPI_COMM_WORLD)
  call series%open(ranks, run_place, "time")
  do call_number = 1, calls
    call sweep(call_number)
  end do
  call series%close()
  call get_in_vain()
  call ranks%close()
  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (failures > 0) error stop 1

contains

  subroutine define()
    type(ozarr_dataset) :: dataset
    call dataset%create(run_place, overwrite=.true.)
    call dataset%define_dimension("x", 4 * n)
    call dataset%define_time("time", 0, "hours since 2026-01-01")
    call dataset%define_variable("t", OZARR_FLOAT64, [character(4) :: "x", "time"])
    call dataset%close()
  end subroutine define

  ! Does a call with each allocation of the last rank failing, until none is left that did.
  subroutine sweep(i)
    integer, intent(in) :: i
    integer :: point, stat, expected
    integer(c_int) :: failed
    point = 0
    failed = 1
    do while (failed /= 0)
      message = ""
      if (rank == n - 1) call fail_allocation(int(point, c_long))
      call do_call(i, stat)
      failed = 0
      if (rank == n - 1) failed = end_failing()
      call MPI_Bcast(failed, 1, MPI_INTEGER, n - 1, MPI_COMM_WORLD)
      expected = merge(OZARR_ERR_NO_MEMORY, OZARR_OK, failed /= 0)
      if (stat /= expected .or. .not. is_same()) then
        print "(3(a, i0), 2a)", "call ", i, ", allocation ", point, " gave ", stat, " ", trim(message)
        failures = failures + 1
      end if
      point = point + 1
    end do
  end subroutine sweep

  ! Calls that fail after they have opened an array leave nothing of it in memory.
  subroutine get_in_vain()
    integer, parameter :: times = 400, most = 16384
    type(in_use) :: before, after
    integer :: i, stat
    call ranks%open_group(group, field_place, "r+")
    call ranks%put(group, "got", [4, 3 * n], u, [1, 1 + 3 * rank])
    do i = 1, 2 * times
      if (i == times) before = mallinfo()
      call ranks%get(group, "got", u, [0, 1 + 3 * rank], stat=stat, errmsg=message)
      if (stat /= OZARR_ERR_BOUNDS .or. .not. is_same()) failures = failures + 1
    end do
    after = mallinfo()
    if (after%bytes - before%bytes > most) then
      print "(a, i0, a)", "calls that failed keep ", after%bytes - before%bytes, " bytes"
      failures = failures + 1
    end if
    call ranks%close_group(group)
  end subroutine get_in_vain

  ! Whether all ranks have the message of rank 0.
  logical function is_same()
    character(300) :: first
    first = message
    call MPI_Bcast(first, len(first), MPI_CHARACTER, 0, MPI_COMM_WORLD)
    is_same = first == message
  end function is_same

  subroutine do_call(i, stat)
    integer, intent(in) :: i
    integer, intent(out) :: stat
    stat = OZARR_OK
    select case (i)
    case (1); call ranks%create(field, field_place, OZARR_FLOAT64, [4, 3 * n], chunks=[4, 3], overwrite=.true., &
      stat=stat, errmsg=message)
    case (2); call ranks%write(field, u, start=[1, 1 + 3 * rank], stat=stat, errmsg=message)
    case (3); call ranks%read(field, u, start=[1, 1 + 3 * rank], stat=stat, errmsg=message)
    case (4); call ranks%resize(field, [4, 3 * n], stat=stat, errmsg=message)
    case (5); call ranks%set_attr_json(field, "k", "[1]", stat=stat, errmsg=message)
    case (6); call ranks%close_array(field, stat=stat, errmsg=message)
    case (7); call ranks%open_array(field, field_place, "r+", stat=stat, errmsg=message)
    case (8); call series%put("t", u(:, 1), start=[1 + 4 * rank], stat=stat, errmsg=message)
    case (9); call series%step(1, stat=stat, errmsg=message)
    case (10); call ranks%create(field, field_place, spec, overwrite=.true., stat=stat, errmsg=message)
    case (11); call ranks%create_group(group, field_place, overwrite=.true., stat=stat, errmsg=message)
    case (12); call ranks%begin_checkpoint(group, state_place, "s", stat=stat, errmsg=message)
    case (13); call ranks%put(group, "u", [4, 3 * n], u, [1, 1 + 3 * rank], stat=stat, errmsg=message)
    case (14); call ranks%commit(group, stat=stat, errmsg=message)
    end select
  end subroutine do_call
end program fortran_memory
