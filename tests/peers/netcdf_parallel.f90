! A model of some ranks in Fortran: each writes its columns of every record, and reads those of the next rank. The same file for any
! number of ranks; with a second argument by one process, without parallel functions.
program model
  use mpi
  use netcdf
  implicit none
  integer, parameter :: nx = 8, ny = 9, steps = 4
  integer :: id, dims(3), u_id, n_id, rank, ranks, error, step, first, columns, from, many
  real :: u(nx, ny), back(nx, ny)
  character(len=200) :: path
  logical :: alone

  call mpi_init(error)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
  call mpi_comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  alone = command_argument_count() > 1
  if (alone) then
    call check(nf90_create(trim(path), ior(nf90_netcdf4, nf90_clobber), id))
  else
    call check(nf90_create(trim(path), ior(nf90_netcdf4, nf90_clobber), id, comm=MPI_COMM_WORLD, info=MPI_INFO_NULL))
  end if
  call check(nf90_def_dim(id, "x", nx, dims(1)))
  call check(nf90_def_dim(id, "y", ny, dims(2)))
  call check(nf90_def_dim(id, "time", nf90_unlimited, dims(3)))
  call check(nf90_def_var(id, "u", nf90_float, dims, u_id, chunksizes=[nx, 4, 2], deflate_level=1))
  call check(nf90_def_var(id, "n", nf90_int, dims(2:2), n_id))
  call check(nf90_put_att(id, u_id, "units", "m s-1"))
  call check(nf90_enddef(id))
  if (.not. alone) call check(nf90_var_par_access(id, u_id, nf90_collective))
  call mine(rank, first, columns)
  do step = 1, steps
    call fill(step)
    call check(nf90_put_var(id, u_id, u(:, first:first + columns - 1), start=[1, first, step], count=[nx, columns, 1]))
  end do
  call check(nf90_put_var(id, n_id, [(step, step = first, first + columns - 1)], start=[first], count=[columns]))
  call check(nf90_close(id))

  if (.not. alone) then
    call check(nf90_open_par(trim(path), nf90_nowrite, MPI_COMM_WORLD, MPI_INFO_NULL, id))
    call check(nf90_inq_varid(id, "u", u_id))
    call check(nf90_var_par_access(id, u_id, nf90_collective))
    call mine(mod(rank + 1, ranks), from, many)
    call fill(3)
    call check(nf90_get_var(id, u_id, back(:, from:from + many - 1), start=[1, from, 3], count=[nx, many, 1]))
    if (any(back(:, from:from + many - 1) /= u(:, from:from + many - 1))) call mpi_abort(MPI_COMM_WORLD, 2, error)
    call check(nf90_close(id))
  end if
  call mpi_finalize(error)
contains
  subroutine mine(number, begin, count)
    integer, intent(in) :: number
    integer, intent(out) :: begin, count
    begin = number * ny / ranks + 1
    count = (number + 1) * ny / ranks + 1 - begin
  end subroutine

  subroutine fill(record)
    integer, intent(in) :: record
    integer :: i, j
    do j = 1, ny
      do i = 1, nx
        u(i, j) = record * 100 + j * 10 + i
      end do
    end do
  end subroutine

  subroutine check(status)
    integer, intent(in) :: status
    if (status /= nf90_noerr) then
      print *, rank, trim(nf90_strerror(status))
      call mpi_abort(MPI_COMM_WORLD, 1, error)
    end if
  end subroutine
end program
