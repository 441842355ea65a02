! The Fortran examples of docs/parallel.md, each in a BLOCK of its own, with the variables that they take for granted.
program docs
  use mpi_f08
  use ozarr
  use ozarr_mpi
  implicit none
  integer, parameter :: nx = 6, ny = 8, no_status = -12345
  type(ozarr_ranks) :: ranks
  integer :: rank, n, mx, my, first_x, first_y, step, status
  real(8), allocatable :: u(:, :)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  mx = nx
  first_x = 1
  first_y = ny * rank / n + 1
  my = ny * (rank + 1) / n + 1 - first_y
  allocate (u(0:mx + 1, 0:my + 1), source=-1d0)
  u(1:mx, 1:my) = 7
  block
    include "docs_fortran_1.inc"
  end block
  if (rank == 0) call check("run.zarr/t", .false.)
  u(1:mx, 1:my) = 8
  call ranks%open(MPI_COMM_WORLD)
  block
    include "docs_fortran_2.inc"
  end block
  call ranks%close()
  if (rank == 0) call check("run.zarr/t", .false., 8)
  u(1:mx, 1:my) = 7
  step = 1
  status = no_status                                            ! nobody has given it a value
  call ranks%open(MPI_COMM_WORLD)
  block
    include "docs_fortran_3.inc"
  end block
  call ranks%close()
  if (rank == 0) call check("run.zarr/u", .true.)
  call MPI_Finalize()

contains

  subroutine define(location, status)
    character(*), intent(in) :: location
    integer, intent(out) :: status
    type(ozarr_dataset) :: ds
    call ds%create(location, mode=OZARR_CREATE_OVERWRITE, stat=status)
    if (status == OZARR_OK) call ds%define_dimension("x", nx, stat=status)
    if (status == OZARR_OK) call ds%define_dimension("y", ny, stat=status)
    if (status == OZARR_OK) call ds%define_time("time", 0, "seconds since 2026-01-01", stat=status)
    if (status == OZARR_OK) call ds%define_variable("u", OZARR_FLOAT64, ["x   ", "y   ", "time"], stat=status)
    if (status == OZARR_OK) call ds%close(stat=status)
  end subroutine define

  ! The elements of all ranks are stored, each 7 or `value`, in one step where there are steps.
  subroutine check(location, is_series, value)
    character(*), intent(in) :: location
    logical, intent(in) :: is_series
    integer, intent(in), optional :: value
    type(ozarr_array) :: a
    real(8) :: field(nx, ny), steps(nx, ny, 1), expected
    steps = 0
    field = 0
    call a%open(location, mode="r")
    if (is_series) call a%read(steps)
    if (.not. is_series) call a%read(field)
    call a%close()
    expected = 7
    if (present(value)) expected = value
    if (any(merge(steps(:, :, 1), field, is_series) /= expected)) error stop "other elements"
  end subroutine check

end program docs
