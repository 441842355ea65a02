! Heat in a square, in slabs, one for each rank, with ghost columns: each second step is one of the run heat.zarr, the state is saved each 10
! steps, and a new start goes on from the newest state that is there, with any number of ranks. The run does not depend on how many ranks
! there were, nor on where it was killed.
!
!     mpirun -n 4 heat_f 40 && mpirun -n 3 heat_f 80
program heat
  use mpi_f08
  use ozarr
  use ozarr_mpi
  implicit none
  integer, parameter :: n = 96
  type(ozarr_ranks) :: ranks
  type(ozarr_ranks_series) :: run
  real(8), allocatable :: u(:, :), v(:, :)
  integer :: rank, size, first, last, step, steps, status
  character(16) :: argument
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call get_command_argument(1, argument)
  read (argument, *) steps
  first = n * rank / size + 1                                   ! my columns
  last = n * (rank + 1) / size
  allocate (u(n, first - 1:last + 1), v(n, first - 1:last + 1), source=0d0)
  call ranks%open(MPI_COMM_WORLD)
  status = OZARR_OK
  if (rank == 0) call define_run(status)
  call ranks%agree(status)
  ! No other run commits checkpoints while the series is open: it is opened before the newest one is read, then again, to cut off what is beyond.
  call run%open(ranks, "heat.zarr", "time")
  call restart()
  call run%close()
  call run%open(ranks, "heat.zarr", "time", keep=step / 2)
  do while (step < steps)
    step = step + 1
    call exchange_ghosts()
    v = u                                                       ! the sides stay as they are
    v(2:n - 1, first:last) = u(2:n - 1, first:last) + 0.2d0 * (u(1:n - 2, first:last) + u(3:n, first:last) &
      + u(2:n - 1, first - 1:last - 1) + u(2:n - 1, first + 1:last + 1) - 4 * u(2:n - 1, first:last))
    if (first == 1) v(:, 1) = u(:, 1)
    if (last == n) v(:, n) = u(:, n)
    u = v
    if (mod(step, 2) == 0) then
      call run%put("t", u(:, first:last), start=[1, first])
      call run%step(step)
    end if
    if (mod(step, 10) == 0) then
      call run%flush()                                          ! the run has at least the steps of the state
      call save_state()
    end if
  end do
  call run%close()
  call ranks%close()
  call MPI_Finalize()

contains

  ! Defines what the run writes: four steps are in a chunk. What is there already is opened, so that a second start replaces no run that goes on.
  subroutine define_run(status)
    integer, intent(out) :: status
    type(ozarr_dataset) :: ds
    call ds%create("heat.zarr", mode=OZARR_CREATE_OPEN_IF_SAME, stat=status)
    if (status == OZARR_OK) call ds%define_dimension("x", n, stat=status)
    if (status == OZARR_OK) call ds%define_dimension("y", n, stat=status)
    if (status == OZARR_OK) call ds%define_time("time", 0, "seconds since 2026-01-01", stat=status)
    if (status == OZARR_OK) call ds%define_variable("t", OZARR_FLOAT64, ["x   ", "y   ", "time"], &
      chunks=[32, 32, 4], units="K", stat=status)
    if (status == OZARR_OK) call ds%close(stat=status)
  end subroutine define_run

  subroutine restart()
    type(ozarr_group) :: g
    integer :: stat
    character(300) :: why
    step = 0
    call ranks%open_latest(g, "heat-states.zarr", stat=stat, errmsg=why)
    if (stat == OZARR_OK) then
      call g%get_attr("step", step)
      call ranks%get(g, "u", u(:, first:last), start=[1, first])
      call ranks%close_group(g)
    else if (stat == OZARR_ERR_NOT_FOUND) then                  ! none yet: from the beginning, with one hot side
      u(1, :) = 100
    else
      error stop "the state cannot be read: " // trim(why)
    end if
  end subroutine restart

  subroutine save_state()
    type(ozarr_group) :: g
    character(12) :: name
    write (name, "(a, i6.6)") "step-", step
    call ranks%begin_checkpoint(g, "heat-states.zarr", name)
    call ranks%put(g, "u", [n, n], u(:, first:last), start=[1, first])
    if (rank == 0) call g%set_attr("step", step)
    call ranks%commit(g)
  end subroutine save_state

  subroutine exchange_ghosts()
    integer :: left, right
    left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    right = merge(rank + 1, MPI_PROC_NULL, rank < size - 1)
    call MPI_Sendrecv(u(:, last), n, MPI_DOUBLE_PRECISION, right, 1, u(:, first - 1), n, MPI_DOUBLE_PRECISION, left, 1, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(u(:, first), n, MPI_DOUBLE_PRECISION, left, 2, u(:, last + 1), n, MPI_DOUBLE_PRECISION, right, 2, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine exchange_ghosts

end program heat
