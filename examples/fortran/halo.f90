! Reads a rank's part of a field with the cells around it (ghost cells, halo), into the middle of memory that has room for all of them.
! What is beyond the end of the field is left alone. Three calls: open, read, close.
program halo
  use ozarr
  implicit none
  integer, parameter :: all = 64, n = 32                ! the field is all x all, a rank's part n x n
  integer, parameter :: rank(2) = [1, 0]                ! the part on the right, at the bottom
  type(ozarr_array) :: field
  real(8) :: u(0:n + 1, 0:n + 1)
  integer :: from(2), to(2), part(2)

  call make_field()
  part = rank * n                                       ! u(i, j) is the field's (part(1) + i, part(2) + j)
  from = max(part, 1)
  to = min(part + n + 1, all)
  u = -1
  call field%open("halo.zarr/u")
  call field%read(u(from(1) - part(1):to(1) - part(1), from(2) - part(2):to(2) - part(2)), start=from)
  call field%close()
  print "(*(f8.1))", u(1, 1), u(0, 1), u(1, n + 1), u(n + 1, 1)

contains

  subroutine make_field()
    type(ozarr_array) :: whole
    integer :: i, j
    call whole%create("halo.zarr/u", OZARR_FLOAT32, [all, all], overwrite=.true.)
    call whole%write(reshape([((100.0 * j + i, i=1, all), j=1, all)], [all, all]))
    call whole%close()
  end subroutine make_field

end program halo
