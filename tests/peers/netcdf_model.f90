! A model as many are: records of three fields through netcdf-fortran, a restart that is read back, and a check of every status.
program model
  use netcdf
  implicit none
  integer, parameter :: nx = 12, ny = 9, nz = 3, steps = 20
  integer :: id, x, y, z, t, ids(4), t_id, u_id, h_id, label_id, mask_id, step, k
  real :: u(nx, ny, nz), h(nx, ny), back(nx, ny)
  double precision :: hours
  character(len=200) :: path

  call get_command_argument(1, path)
  call check(nf90_create(trim(path), ior(nf90_netcdf4, nf90_clobber), id))
  call check(nf90_def_dim(id, "x", nx, x))
  call check(nf90_def_dim(id, "y", ny, y))
  call check(nf90_def_dim(id, "z", nz, z))
  call check(nf90_def_dim(id, "time", nf90_unlimited, t))
  call check(nf90_def_var(id, "time", nf90_double, [t], t_id))
  call check(nf90_put_att(id, t_id, "units", "hours since 2026-01-01"))
  call check(nf90_def_var(id, "u", nf90_float, [x, y, z, t], u_id, deflate_level=2, shuffle=.true.))
  call check(nf90_put_att(id, u_id, "_FillValue", -1e30))
  call check(nf90_def_var(id, "h", nf90_float, [x, y, t], h_id, chunksizes=[nx, ny, 4]))
  call check(nf90_put_att(id, h_id, "valid_range", [0.0, 100.0]))
  call check(nf90_def_var(id, "label", nf90_char, [x, t], label_id))
  call check(nf90_def_var(id, "mask", nf90_int, [x, y], mask_id, contiguous=.true.))
  call check(nf90_put_att(id, nf90_global, "title", "a model"))
  call check(nf90_enddef(id))
  call check(nf90_put_var(id, mask_id, reshape([(mod(k, 2), k = 1, nx * ny)], [nx, ny])))
  do step = 1, steps
    hours = 6.0 * step
    u = step + reshape([(0.1 * k, k = 1, size(u))], shape(u))
    h = 2 * step
    call check(nf90_put_var(id, t_id, hours, start=[step]))
    do k = 1, nz
      call check(nf90_put_var(id, u_id, u(:, :, k), start=[1, 1, k, step], count=[nx, ny, 1, 1]))
    end do
    call check(nf90_put_var(id, h_id, h, start=[1, 1, step], count=[nx, ny, 1]))
    call check(nf90_put_var(id, label_id, "step", start=[1, step], count=[4, 1]))
    if (step == steps / 2) call check(nf90_sync(id))
  end do
  call check(nf90_close(id))

  call check(nf90_open(trim(path), nf90_write, id))
  call check(nf90_inq_varid(id, "h", h_id))
  call check(nf90_get_var(id, h_id, back, start=[1, 1, 7], count=[nx, ny, 1]))
  if (any(back /= 14.0)) stop 2
  h = 100
  call check(nf90_put_var(id, h_id, h, start=[1, 1, steps + 1], count=[nx, ny, 1]))
  call check(nf90_redef(id))
  call check(nf90_put_att(id, nf90_global, "restarted", 1))
  call check(nf90_enddef(id))
  call check(nf90_close(id))
contains
  subroutine check(status)
    integer, intent(in) :: status
    if (status /= nf90_noerr) then
      print *, trim(nf90_strerror(status))
      stop 1
    end if
  end subroutine
end program
