! Chooses how a field is compressed: 12 bits of the mantissa (lossy), bits shuffled, zstd inside of Blosc. Three calls: create, write, close.
program compression
  use, intrinsic :: iso_fortran_env, only: int64
  use ozarr
  implicit none
  type(ozarr_array) :: rain
  real, allocatable :: u(:, :, :), back(:, :, :)
  integer :: i
  integer(int64) :: bytes

  allocate (u(64, 64, 100), back(64, 64, 100))
  u = reshape([(1 + sin(0.001 * i), i=1, size(u))], shape(u))
  call rain%create("rain.zarr", OZARR_FLOAT32, shape(u), chunks=[64, 64, 100], keep_bits=12, shuffle=OZARR_SHUFFLE_BIT, &
    compressor="blosc:zstd", level=5, overwrite=.true.)
  call rain%write(u)
  call rain%close()

  call rain%open("rain.zarr")
  call rain%read(back)
  inquire (file="rain.zarr/c/0/0/0", size=bytes)
  print "(a, l1, a, l1)", "to 4 digits: ", all(abs(back - u) < 2.0**(-12)), ", in half of the memory: ", bytes < 2 * size(u)
end program compression
