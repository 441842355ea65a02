! Opens what is not there, without stat=.
program f_stop
  use ozarr
  type(ozarr_array) :: a
  call a%open("nowhere.zarr/x")
end program f_stop
