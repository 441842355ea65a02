! Checkpoints: groups that are there as a whole or not at all, whatever is killed when.            SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_checkpoints
  use, intrinsic :: iso_c_binding
  use ozarr_base
  use ozarr_c
  use ozarr_groups
  implicit none
  private
  public :: ozarr_checkpoint, ozarr_list_checkpoints, ozarr_prune_checkpoints

  ! A checkpoint is a group: begin it, write arrays and attributes, commit it. A restart opens the newest one.
  type, extends(ozarr_group) :: ozarr_checkpoint
    ! The handle that begin gave, until commit or abandon.
    type(c_ptr), private :: begun = c_null_ptr
  contains
    procedure :: begin => checkpoint_begin
    procedure :: commit => checkpoint_commit
    procedure :: abandon => checkpoint_abandon
    procedure :: close => checkpoint_close
    procedure :: open_latest => checkpoint_open_latest
  end type ozarr_checkpoint

contains

  ! Begins a checkpoint in the group at a location, which is created if it is not there. Readers do not find it before commit. A committed
  ! one of the same name stays until then.
  subroutine checkpoint_begin(self, location, name, stat, errmsg)
    class(ozarr_checkpoint), intent(inout) :: self
    character(*), intent(in) :: location, name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_checkpoint_begin(c_text(location), c_text(name), handle)
    call group_take(self, handle, status)
    self%begun = self%handle
    call done(status, stat, errmsg)
  end subroutine checkpoint_begin

  ! Commits the checkpoint and closes it, whatever the status says. Close its arrays and groups before.
  subroutine checkpoint_commit(self, stat, errmsg)
    class(ozarr_checkpoint), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    self%begun = c_null_ptr
    call done(ozarr_checkpoint_commit(handle), stat, errmsg)
  end subroutine checkpoint_commit

  ! Gives the checkpoint up, removes what was written of it, and closes it.
  subroutine checkpoint_abandon(self, stat, errmsg)
    class(ozarr_checkpoint), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    self%begun = c_null_ptr
    call done(ozarr_checkpoint_abandon(handle), stat, errmsg)
  end subroutine checkpoint_abandon

  ! Closes one that open_latest opened. One that was begun stays open, with OZARR_ERR_STATE: closed, it would be gone. Not so where a copy of
  ! the handle has been committed.
  subroutine checkpoint_close(self, stat, errmsg)
    class(ozarr_checkpoint), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: format
    logical :: is_begun
    is_begun = c_associated(self%handle) .and. c_associated(self%handle, self%begun)
    if (is_begun) is_begun = ozarr_node_zarr_format(ozarr_group_node(self%handle), format) == OZARR_OK
    if (is_begun) then
      call done(refused(OZARR_ERR_STATE, "the checkpoint was begun: commit it, or abandon it"), stat, errmsg)
    else
      call self%ozarr_group%close(stat, errmsg)
    end if
  end subroutine checkpoint_close

  ! Opens the newest committed checkpoint for reading; its name is its path. OZARR_ERR_NOT_FOUND if there is none: a run then starts from
  ! the beginning.
  subroutine checkpoint_open_latest(self, location, stat, errmsg)
    class(ozarr_checkpoint), intent(inout) :: self
    character(*), intent(in) :: location
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_checkpoint_latest(c_text(location), handle)
    call group_take(self, handle, status)
    self%begun = c_null_ptr
    call done(status, stat, errmsg)
  end subroutine checkpoint_open_latest

  ! The names of the committed checkpoints at a location, the oldest first, padded with blanks.
  subroutine ozarr_list_checkpoints(location, names, stat, errmsg)
    character(*), intent(in) :: location
    character(:), allocatable, intent(out) :: names(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: messages(:)
    integer(c_int32_t), allocatable :: kinds(:)
    type(c_ptr) :: iter
    integer(c_int32_t) :: status
    iter = c_null_ptr
    status = ozarr_checkpoint_list(c_text(location), iter)
    call list_nodes(iter, names, kinds, messages, status)
    call ozarr_node_iter_free(iter)
    call done(status, stat, errmsg)
  end subroutine ozarr_list_checkpoints

  ! Removes all committed checkpoints at a location but the newest `keep`, and what killed ones have left.
  subroutine ozarr_prune_checkpoints(location, keep, stat, errmsg)
    character(*), intent(in) :: location
    integer, intent(in) :: keep
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    status = OZARR_OK
    if (keep < 0) status = refused(OZARR_ERR_ARGUMENT, "keep is ", n=int(keep, c_int64_t), after=", expected at least 0")
    if (status == OZARR_OK) status = ozarr_checkpoint_prune(c_text(location), int(keep, c_size_t))
    call done(status, stat, errmsg)
  end subroutine ozarr_prune_checkpoints

end module ozarr_checkpoints
