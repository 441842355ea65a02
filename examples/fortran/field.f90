! Writes a field, opens it again, reads every second row backwards, sees attributes, and shows an error.
program field
  use ozarr
  implicit none
  type(ozarr_array) :: t
  real(8) :: u(6, 4), rows(3, 2), dt
  real(4) :: halo(8, 6)
  integer :: i, j, k, status
  character(8) :: units
  character(200) :: message

  ! Dimensions in Fortran's order: C and Python see (3, 4, 6).
  call t%create("run.zarr/temperature", OZARR_FLOAT64, [6, 4, 3], chunks=[6, 4, 1], &
    names=["x   ", "y   ", "time"], overwrite=.true.)
  do k = 1, 3
    u = reshape([((100*(k - 1) + 10*(j - 1) + (i - 1), i=1, 6), j=1, 4)], [6, 4])
    call t%write(u, start=[1, 1, k])
  end do
  call t%set_attr("units", "K")
  call t%set_attr("dt", 0.25d0)
  call t%close()

  call t%open("run.zarr/temperature")
  call t%get_attr("units", units)
  call t%get_attr("dt", dt)
  print "(a, a, f4.2, a, *(i0, 1x))", trim(units), ", dt = ", dt, ", shape ", t%shape()

  ! Of the last step the rows 4 and 2, and there columns 1, 3 and 5.
  call t%read(rows, start=[1, 4, 3], count=[3, 2, 1], stride=[2, -2, 1])
  print "(*(f6.1))", rows

  ! Into the middle of memory with a halo around it, converted to real(4).
  halo = 0
  call t%read(halo(2:7, 2:5), start=[1, 1, 2])
  print "(*(f6.1))", halo(2, 2), halo(7, 5), halo(8, 6)

  call t%read(u, start=[1, 1, 4], stat=status, errmsg=message)
  print "(a, a, a)", ozarr_name_of_status(status), ": ", trim(message)
  if (status /= OZARR_ERR_BOUNDS) error stop
end program field
