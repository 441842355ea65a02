! A program of all ranks, in a project of Fortran alone.
program main
  use mpi_f08
  use ozarr
  use ozarr_mpi
  type(ozarr_ranks) :: ranks
  type(ozarr_array) :: t
  real(8) :: u(4)
  u = 1.5d0
  call MPI_Init()
  call ranks%open(MPI_COMM_WORLD)
  call ranks%create(t, "run.zarr/mpi", OZARR_FLOAT64, [4], overwrite=.true.)
  call ranks%write(t, u, start=[1])
  call ranks%close_array(t)
  call ranks%close()
  call MPI_Finalize()
end program main
