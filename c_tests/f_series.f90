! Series: the steps of all variables of a dataset, restarts, what is refused.
program f_series
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use ozarr
  use f_check
  implicit none

  call steps()
  call restart()
  call late()
  call threads()
  call large_values()
  call refusals()
  call finish()

contains

  subroutine define(ds, location)
    type(ozarr_dataset), intent(inout) :: ds
    character(*), intent(in) :: location
    call ds%create(location)
    call ds%define_coordinate("x", [1d0, 2d0, 3d0])
    call ds%define_dimension("y", 2)
    call ds%define_time("time", 0, "hours since 2026-01-01")
    call ds%define_variable("t", OZARR_FLOAT32, [character(4) :: "x", "y", "time"], chunks=[3, 2, 4])
    call ds%define_variable("p", OZARR_FLOAT64, ["x   ", "time"], chunks=[3, 4])
  end subroutine define

  ! Halos, other types, variables that are left out, reading while it is written.
  subroutine steps()
    type(ozarr_dataset) :: ds, reader
    type(ozarr_series) :: s
    type(ozarr_array) :: a
    real(real64) :: halo(0:4, 0:3), back(3, 2, 6), p(3, 6)
    integer(int64) :: hours(6), length
    integer :: k, stat
    character(300) :: message
    message = ""
    call define(ds, "run.zarr")
    call s%open(ds, "time", publish_every=2)
    do k = 1, 5
      halo = -1
      halo(1:3, 1:2) = k
      call s%put("t", halo(1:3, 1:2))
      if (k == 3) then
        call s%step(6 * k)
      else
        call s%step(6 * k, "p", real([k, 2 * k, 3 * k]))
      end if
    end do
    call check(s%position() == 5 .and. s%published() == 4, "published in pairs")
    call reader%open("run.zarr")
    call check(reader%length("time") == 4, "readers see whole steps")
    call reader%wait_growth("time", 3, 5d0, length)
    call check(length == 4, "a reader waits for whole steps")
    call reader%wait_growth("time", 4, 0d0, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TIMEOUT, message, "more than 4", "no more steps yet")
    call s%put("time", 36_int64)
    call s%put("t", reshape([(6, k=1, 6)], [3, 2]))
    call s%step()
    call s%close()
    call check(.not. s%is_open(), "closed")
    call ds%close()
    call a%open("run.zarr/t")
    call a%read(back)
    call check(all([(all(back(:, :, k) == k), k=1, 6)]), "the steps of one variable")
    call a%open("run.zarr/p")
    call a%read(p)
    call check(all(p(:, 2) == [2, 4, 6]) .and. all(p(:, 3) /= p(:, 3)), "NaN where a variable was left out")
    call a%open("run.zarr/time")
    call a%read(hours)
    call check(all(hours == [(6 * k, k=1, 6)]), "the coordinate")
  end subroutine steps

  subroutine restart()
    type(ozarr_dataset) :: ds
    type(ozarr_series) :: s
    call ds%open("run.zarr", mode="r+")
    call s%open(ds, "time" // achar(0))
    call check(s%position() == 6, "a restart goes on behind the last step")
    call s%put("p" // achar(0), [1, 2, 3])
    call s%step(42.0)
    call s%flush()
    call check(s%published() == 7, "flush publishes")
    call s%close()
    call s%open(ds, "time", keep=3)
    call check(s%position() == 3 .and. ds%length("time") == 3, "steps beyond those to keep are cut off")
    call s%close()
    call ds%close()
  end subroutine restart

  ! A variable that is defined while the series is open, as in C; afterwards the dataset is closed.
  subroutine late()
    type(ozarr_dataset) :: ds
    type(ozarr_series) :: s
    type(ozarr_array) :: a
    real(real64) :: q(3)
    integer :: stat
    character(300) :: message
    message = ""
    call define(ds, "late.zarr")
    call s%open(ds, "time")
    call s%step(1, "p", [1.0, 2.0, 3.0])
    call ds%define_variable("a_longer_name", OZARR_FLOAT64, ["time"])
    call s%put("a_longer_name", 2.0)
    call s%step(2, "p", [1.0, 2.0, 3.0])
    call s%step(3, "a_longer_name", 3.0)
    call ds%close()
    call s%put("p", [1.0, 2.0, 3.0])
    call s%put("q", 1.0, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "variable q, and its dataset", "no such variable, and no dataset")
    call s%close()
    call a%open("late.zarr/a_longer_name")
    call a%read(q)
    call check(q(1) /= q(1) .and. all(q(2:) == [2, 3]), "a variable that was defined later")
  end subroutine late

  ! Threads put variables that were defined while the series is open, and others.
  subroutine threads()
    integer, parameter :: variables = 40, rounds = 10
    type(ozarr_dataset) :: ds
    type(ozarr_series) :: s
    type(ozarr_array) :: a
    character(8) :: name
    integer :: i, k, round, stat, failures_here, found(3, 2)
    failures_here = 0
    do round = 1, rounds
      call ozarr_erase("threads.zarr", stat=stat)
      call define(ds, "threads.zarr")
      call s%open(ds, "time")
      do i = 1, variables
        write (name, "(a, i2.2)") "v", i
        call ds%define_variable(name, OZARR_INT32, [character(4) :: "x", "time"])
      end do
      do k = 1, 2
        !$omp parallel do num_threads(8) private(name, stat) schedule(dynamic, 1) reduction(+:failures_here)
        do i = 0, variables
          write (name, "(a, i2.2)") "v", i
          if (i == 0) name = "p"
          call s%put(name, [i, 2*i, k], stat=stat)
          if (stat /= OZARR_OK) failures_here = failures_here + 1
        end do
        call s%step(k)
      end do
      call s%close()
      do i = 1, variables
        write (name, "(a, i2.2)") "v", i
        call ds%open_variable(name, a)
        call a%read(found)
        if (any(found /= reshape([i, 2*i, 1, i, 2*i, 2], [3, 2]))) failures_here = failures_here + 1
      end do
      call ds%close()
    end do
    call check(failures_here == 0, "variables that are defined later, from threads")
  end subroutine threads

  ! Integers as values of the coordinate are stored as they are, or refused: no double holds all of them.
  subroutine large_values()
    type(ozarr_dataset) :: ds
    type(ozarr_series) :: s
    type(ozarr_array) :: a
    integer(int64), parameter :: most = huge(1_int64), wide = 2_int64**53
    integer(int64), parameter :: exact(6) = [-most - 1, -wide, 0_int64, wide, wide + 2, most - 1023]
    integer(int64), parameter :: others(5) = [wide + 1, 1767225600123456789_int64, most, -most, -wide - 1]
    integer(int64) :: found(7)
    integer :: i, stat
    character(300) :: message
    message = ""
    call define(ds, "large.zarr")
    call s%open(ds, "time")
    do i = 1, size(others)
      call s%step(others(i), stat=stat, errmsg=message)
      call failed(stat, OZARR_ERR_RANGE, message, "put it", "a value that no real(8) holds")
      call s%step(others(i), "p", [1.0, 2.0, 3.0], stat=stat, errmsg=message)
      call failed(stat, OZARR_ERR_RANGE, message, "put it", "a value that no real(8) holds, with a variable")
    end do
    call s%step("1", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "for value, expected an integer or a real", "a value that is no number")
    call check(s%position() == 0, "no step was taken")
    do i = 1, size(exact)
      call s%step(exact(i))
    end do
    call s%put("time", most)
    call s%step()
    call s%close()
    call ds%close()
    call a%open("large.zarr/time")
    call a%read(found)
    call check(all(found(:6) == exact) .and. found(7) == most, "large values of the coordinate")
  end subroutine large_values

  subroutine refusals()
    type(ozarr_dataset) :: ds
    type(ozarr_series) :: s, closed
    integer :: stat
    character(300) :: message
    message = ""
    call define(ds, "refused.zarr")
    call s%open(ds, "z", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "z", "no such dimension")
    call check(.not. s%is_open(), "a failed open leaves nothing")
    call s%open(ds, "time", memory=-1_int64, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "memory is -1", "negative memory")
    call s%open(ds, "time", keep=1_int64, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "found 0 steps", "more steps to keep than there are")
    call closed%put("t", [1.0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "not open", "a series that is not open")
    call closed%step(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "a step of no series")
    call closed%close(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "close no series")
    call s%open(ds, "time")
    call s%put("q", [1.0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "q", "no such variable")
    call s%put("x", 1.0, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "x does not have the dimension time", "a variable that does not grow")
    call s%put("t", [1.0, 2.0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "", "a variable of another rank")
    call s%put("p", [1.0, 2.0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "shape [2]", "a variable of another shape")
    call s%put("p", reshape([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [3, 2]), stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "found 2 steps", "two steps")
    call s%put("p", [1.0, 2.0, 3.0])
    call s%put("p", [1.0, 2.0, 3.0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_STATE, message, '"p" has its values of step 1', "twice in a step")
    call s%step(1, "p", [1.0, 2.0, 3.0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_STATE, message, "p", "put, and given with the end of the step")
    call s%step(1, "t", [1.0, 2.0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "", "a step with a variable of another rank")
    call s%step("x", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "value", "a coordinate that is no number")
    call s%step(stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_ARGUMENT .and. index(message, '"time"') > 0 .and. s%position() == 0, "no value of the coordinate")
    call s%step(1)
    call s%step(2)
    call s%step(0, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "for step 3", "a coordinate that goes back")
    call check(s%position() == 2, "a refused step is not taken")
  end subroutine refusals

end program f_series
