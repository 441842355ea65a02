! A whole run: a series of its steps, a checkpoint every 10 steps, and a restart from the newest one.
!
!   run [FOLDER]      runs to the end; killed and started again, it goes on from the newest checkpoint and ends with the same data
program run
  use ozarr
  implicit none
  integer, parameter :: steps = 80, every = 10, keep = 2, nx = 32, ny = 24
  character(1024) :: folder
  type(ozarr_dataset) :: ds
  type(ozarr_series) :: series
  real(8) :: t(nx, ny) = 0                              ! the state: a plate with a hot edge
  integer :: step

  call get_command_argument(1, folder)
  if (folder == "") folder = "."
  call define()
  ! No other run commits checkpoints while the series is open: it is opened before the newest one is read, then again, to cut off what is beyond.
  call series%open(ds, "time")
  call restore()
  call series%close()
  call series%open(ds, "time", keep=step, publish_every=4)
  ! Removes what a kill has left, now that the open series tells that no other run writes a checkpoint.
  call ozarr_prune_checkpoints(trim(folder) // "/restart.zarr", keep)
  do while (step < steps)
    call advance()
    call series%put("t", t)
    if (mod(step, 2) == 0) call series%put("corner", t(2, 2))
    call series%step(60 * step)
    step = step + 1
    if (mod(step, every) == 0) then
      call series%flush()
      call save()
    end if
  end do
  call series%close()
  call ds%close()
  print "(i0, a)", steps, " steps"

contains

  subroutine advance()
    real(8) :: old(nx, ny)
    integer :: i, j
    old = t
    do j = 2, ny - 1
      do i = 2, nx - 1
        t(i, j) = 0.25d0 * ((old(i - 1, j) + old(i + 1, j)) + (old(i, j - 1) + old(i, j + 1)))
      end do
    end do
  end subroutine advance

  ! Stores the state after `step` steps.
  subroutine save()
    type(ozarr_checkpoint) :: c
    character(12) :: name
    write (name, "(a, i4.4)") "step-", step
    call c%begin(trim(folder) // "/restart.zarr", trim(name))
    call c%write("t", t)
    call c%set_attr("step", step)
    call c%commit()
    call ozarr_prune_checkpoints(trim(folder) // "/restart.zarr", keep)
  end subroutine save

  ! Gets the state of the newest checkpoint, and how many steps it is after; without one that of the beginning.
  subroutine restore()
    type(ozarr_checkpoint) :: c
    integer :: stat
    character(300) :: why
    step = 0
    t(1, :) = 100
    call c%open_latest(trim(folder) // "/restart.zarr", stat=stat, errmsg=why)
    if (stat == OZARR_ERR_NOT_FOUND) return
    if (stat /= OZARR_OK) error stop "the newest checkpoint cannot be opened: " // trim(why)
    call c%read("t", t)
    call c%get_attr("step", step)
    call c%close()
  end subroutine restore

  ! Defines what the run writes: the field, and its value beside a corner in every second step. What is there already is opened: a new start goes
  ! on with it, completes what a kill has left half defined, and replaces no run that goes on.
  subroutine define()
    call ds%create(trim(folder) // "/run.zarr", mode=OZARR_CREATE_OPEN_IF_SAME)
    call ds%define_dimension("y", ny)
    call ds%define_dimension("x", nx)
    call ds%define_time("time", 0, "seconds since 2026-01-01")
    call ds%define_variable("t", OZARR_FLOAT32, ["x   ", "y   ", "time"])
    call ds%define_variable("corner", OZARR_FLOAT64, ["time"])
  end subroutine define

end program run
