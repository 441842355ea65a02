! A time series of two variables: nine calls, and one for each variable of a step.
program timeseries
  use ozarr
  implicit none
  type(ozarr_dataset) :: run
  type(ozarr_series) :: steps
  real :: t(4, 3), p(4, 3)
  integer :: k

  call run%create("run.zarr", overwrite=.true.)
  call run%define_coordinate("x", [0.5, 1.5, 2.5, 3.5], units="m")
  call run%define_dimension("y", 3)
  call run%define_time("time", 0, "hours since 2026-01-01")
  call run%define_variable("t", OZARR_FLOAT32, [character(4) :: "x", "y", "time"], units="K")
  call run%define_variable("p", OZARR_FLOAT32, [character(4) :: "x", "y", "time"], units="Pa")
  call steps%open(run, "time")
  do k = 1, 10
    t = 273 + k
    p = 1e5 - k
    call steps%put("t", t)
    call steps%step(6 * k, "p", p)
  end do
  call steps%close()
  print "(a, i0)", "steps: ", run%length("time")
  call run%close()
end program timeseries
