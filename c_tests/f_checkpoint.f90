! Checkpoints: begun, committed, given up, listed, pruned.
program f_checkpoint
  use, intrinsic :: iso_fortran_env, only: real64
  use ozarr
  use f_check
  implicit none

  call checkpoints()
  call pruned_while_open()
  call refusals()
  call finish()

contains

  subroutine checkpoints()
    type(ozarr_checkpoint) :: c
    real(real64) :: u(5)
    character(:), allocatable :: names(:), name
    character(8) :: step
    integer :: k, stat, found
    call c%open_latest("chk.zarr", stat=stat)
    call check(stat == OZARR_ERR_NOT_FOUND .and. .not. c%is_open(), "none yet")
    do k = 1, 3
      write (step, "(a, i0)") "step-", k
      call c%begin("chk.zarr", step)
      u = k
      call c%write("u", u)
      call c%set_attr("step", k)
      call c%commit()
    end do
    call check(.not. c%is_open(), "commit closes")
    call c%begin("chk.zarr", "step-4")
    call c%write("u", u)
    call c%abandon()
    call ozarr_list_checkpoints("chk.zarr", names)
    call check(size(names) == 3 .and. names(1) == "step-1" .and. names(3) == "step-3", "the committed ones")
    call c%open_latest("chk.zarr")
    call c%get_attr("step", found)
    call c%read("u", u)
    call c%path(name)
    call check(found == 3 .and. all(u == 3) .and. index(name, "step-3") > 0, "the newest one")
    call c%close()
    call closed_too_early()
    call ozarr_prune_checkpoints("chk.zarr", keep=1)
    call ozarr_list_checkpoints("chk.zarr", names)
    call check(size(names) == 1 .and. names(1) == "step-3", "pruned")
  end subroutine checkpoints

  ! Closed, a checkpoint that was begun would be gone, with a status that says all is well.
  subroutine closed_too_early()
    type(ozarr_checkpoint) :: c, copy
    integer :: stat
    character(300) :: message
    message = ""
    call c%begin("early.zarr", "step-1")
    call c%write("u", [1d0, 2d0])
    call c%close(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_STATE, message, "commit it, or abandon it", "a begun checkpoint is not closed")
    call check(c%is_open(), "it can still be committed")
    call c%commit()
    call c%open_latest("early.zarr")
    call c%close(stat=stat)
    call check(stat == OZARR_OK .and. .not. c%is_open(), "one that is read is closed")
    call c%begin("early.zarr", "step-2")
    call c%open("early.zarr/step-1")
    call c%close(stat=stat)
    call check(stat == OZARR_OK .and. .not. c%is_open(), "a group that took its place is closed")
    call c%begin("early.zarr", "step-3")
    copy = c
    call copy%commit()
    call c%close(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_INVALID_HANDLE, message, "", "the copy was committed")
    call check(.not. c%is_open(), "what its copy committed is closed")
  end subroutine closed_too_early

  ! Chunks of a checkpoint that another process removes read as the fill value: the look at the end has to notice.
  subroutine pruned_while_open()
    type(ozarr_checkpoint) :: c
    real(real64) :: u(5), v(5)
    integer :: stat
    character(300) :: message
    call c%begin("pruned.zarr", "step-1")
    u = 1
    call c%write("u", u)
    call c%read("u", v)
    call check(all(v == 1), "read before the commit")
    call c%commit()
    call c%open_latest("pruned.zarr")
    call c%read("u", v)
    call check(all(v == 1), "read after it")
    call remove("pruned.zarr/step-1/zarr.json")
    call remove("pruned.zarr/step-1/u/c/0")
    message = ""
    call c%read("u", v, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "removed while it was read", "a checkpoint that was removed")
  end subroutine pruned_while_open

  ! Removes a file as another process does.
  subroutine remove(path)
    character(*), intent(in) :: path
    integer :: unit
    open (newunit=unit, file=path, status="old", access="stream")
    close (unit, status="delete")
  end subroutine remove

  subroutine refusals()
    type(ozarr_checkpoint) :: c
    real(real64) :: u(2)
    integer :: stat
    character(300) :: message
    message = ""
    call c%commit(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "commit nothing")
    call c%abandon(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "give up nothing")
    call ozarr_prune_checkpoints("chk.zarr", keep=-1, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "keep is -1", "a negative number")
    call c%begin("chk.zarr", "", stat=stat, errmsg=message)
    call check(stat /= OZARR_OK .and. .not. c%is_open(), "no name")
    call c%open_latest("chk.zarr")
    call c%read("u", u, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "shape [2], expected that of the array, [5]", "a variable of another shape")
    call c%read("v", u, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "v", "no such array")
  end subroutine refusals

end program f_checkpoint
