! One of four ranks reads its quarter of a periodic field with a halo (ghost cells): those of its neighbours, and those from the other ends of
! the field, converted from real(4) to real(8). Three calls: open, read, close.
program halo
  use ozarr
  implicit none
  integer, parameter :: all = 64, n = 32                ! the field is all x all, a rank's part n x n
  integer, parameter :: rank(2) = [1, 0]                ! the part on the right, at the bottom
  type(ozarr_array) :: field
  real(8) :: u(0:n + 1, 0:n + 1)                        ! u(i, j) is the field's (rank(1) * n + i, rank(2) * n + j)

  call make_field()
  call field%open("halo.zarr/u")
  call field%read(u, start=rank * n, periodic=[.true., .true.])
  call field%close()
  print "(*(f8.1))", u(1, 1), u(0, 1), u(1, n + 1), u(n + 1, 0)

contains

  subroutine make_field()
    type(ozarr_array) :: whole
    integer :: i, j
    call whole%create("halo.zarr/u", OZARR_FLOAT32, [all, all], chunks=[n, n], overwrite=.true.)
    call whole%write(reshape([((100.0 * j + i, i=1, all), j=1, all)], [all, all]))
    call whole%close()
  end subroutine make_field

end program halo
