! Writes a field of 100 steps, one after the other.
program first_write
  use ozarr
  implicit none
  type(ozarr_array) :: t
  real(8) :: u(64, 64)
  integer :: step

  call t%create("run.zarr/temperature", OZARR_FLOAT64, [64, 64, 100], overwrite=.true.)
  do step = 1, 100
    u = 0.5d0*step
    call t%write(u, start=[1, 1, step])
  end do
  call t%close()
end program first_write
