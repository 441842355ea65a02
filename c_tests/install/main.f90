! The first program with the module.
program main
  use ozarr
  type(ozarr_array) :: t
  real(8) :: u(64, 64)
  u = 1.5d0
  call t%create("run.zarr/temperature", OZARR_FLOAT64, [64, 64, 100])
  call t%write(u, start=[1, 1, 11])
  call t%close()
  call t%open("run.zarr/temperature")
  u = 0
  call t%read(u, start=[1, 1, 11])
  if (any(u < 1.5d0)) error stop "other values"
end program main
