! Writes checkpoints (six calls) and restarts from the newest one (five). A run that is killed goes on from there.
program checkpoint
  use ozarr
  implicit none
  integer, parameter :: every = 5
  real(8) :: u(64, 64), v(64, 64)
  integer :: step, last

  call restart()
  last = step + 12                                      ! 12 steps a run
  do while (step < last)
    step = step + 1
    u = u + 1
    v = v - 1
    if (mod(step, every) == 0) call save_state()
  end do
  call restart()
  print "(a, i0, a, 2f6.1)", "restart at step ", step, ": ", u(1, 1), v(64, 64)

contains

  subroutine save_state()
    type(ozarr_checkpoint) :: c
    character(12) :: name
    write (name, "(a, i6.6)") "step-", step
    call c%begin("checkpoints.zarr", name)
    call c%write("u", u)
    call c%write("v", v)
    call c%set_attr("step", step)
    call c%commit()
    call ozarr_prune_checkpoints("checkpoints.zarr", keep=2)
  end subroutine save_state

  subroutine restart()
    type(ozarr_checkpoint) :: c
    integer :: stat
    character(300) :: why
    call c%open_latest("checkpoints.zarr", stat=stat, errmsg=why)
    if (stat == OZARR_ERR_NOT_FOUND) then               ! none yet: from the beginning
      step = 0
      u = 0
      v = 0
      return
    else if (stat /= OZARR_OK) then
      error stop "the checkpoint cannot be opened: " // trim(why)
    end if
    call c%read("u", u)
    call c%read("v", v)
    call c%get_attr("step", step)
    call c%close()
  end subroutine restart

end program checkpoint
