! A run that writes a variable step by step, stops, and goes on where it stopped. Each step is one call.
program timeseries
  use ozarr
  implicit none
  type(ozarr_dataset) :: run

  call run%create("run.zarr", overwrite=.true.)
  call run%define_coordinate("x", [0.5, 1.5, 2.5, 3.5], units="m")
  call run%define_coordinate("y", [10, 20, 30], units="m")
  call run%define_time("time", 0, "hours since 2026-01-01")
  call run%define_variable("t", OZARR_FLOAT32, [character(4) :: "x", "y", "time"], units="K")
  call run_until(70)

  call run%open("run.zarr", mode="r+")
  call run_until(100)

  call show_last()

contains

  ! Runs up to a step: of a new dataset, or of one that is there.
  subroutine run_until(last)
    integer, intent(in) :: last
    type(ozarr_series) :: steps
    real :: t(4, 3)
    integer :: step
    call steps%open(run, "time")
    do step = int(steps%position()), last - 1
      t = 273 + step
      call steps%step(6 * step, "t", t)
    end do
    call steps%close()
    call run%close()
  end subroutine run_until

  subroutine show_last()
    type(ozarr_array) :: t
    real :: corner
    call run%open("run.zarr")
    call run%open_variable("t", t)
    call t%read(corner, start=[4, 3, 100])
    print "(i0, a, f5.1)", run%length("time"), " steps, the last with t = ", corner
  end subroutine show_last

end program timeseries
