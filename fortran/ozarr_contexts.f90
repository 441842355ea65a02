! Contexts: settings, threads and the log of stores, and those that hold where no context is given. SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_contexts
  use, intrinsic :: iso_c_binding
  use ozarr_base
  use ozarr_c
  implicit none
  private
  public :: ozarr_context, ozarr_set, ozarr_get, ozarr_set_log, ozarr_log_procedure

  ! Settings that stores are opened with.
  type :: ozarr_context
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: create => context_create
    procedure :: is_open => context_is_open
    procedure :: set => context_set
    procedure :: get => context_get
    procedure :: set_log => context_set_log
    procedure :: close => context_close
    final :: context_final
  end type ozarr_context

  abstract interface
    ! Takes a message of one line: OZARR_LOG_LEVEL_WARNING or OZARR_LOG_LEVEL_INFO. Several threads may call it at once.
    subroutine ozarr_log_procedure(level, message)
      integer, intent(in) :: level
      character(*), intent(in) :: message
    end subroutine ozarr_log_procedure
  end interface

contains

  impure elemental subroutine context_final(self)
    type(ozarr_context), intent(inout) :: self
    call ozarr_context_free(self%handle)
    self%handle = c_null_ptr
  end subroutine context_final

  ! Makes a context with the default settings.
  subroutine context_create(self, stat, errmsg)
    class(ozarr_context), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_context_new(handle)
    call ozarr_context_free(self%handle)
    self%handle = handle
    call done(status, stat, errmsg)
  end subroutine context_create

  pure function context_is_open(self) result(is_open)
    class(ozarr_context), intent(in) :: self
    logical :: is_open
    is_open = c_associated(self%handle)
  end function context_is_open

  ! Changes a setting: "threads", "chunk_cache", "file.sync" and the others of ozarr_context_set in ozarr.h.
  subroutine context_set(self, key, value, stat, errmsg)
    class(ozarr_context), intent(inout) :: self
    character(*), intent(in) :: key, value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    status = checked_context(self)
    if (status == OZARR_OK) status = ozarr_context_set(self%handle, c_text(key), c_text(value))
    call done(status, stat, errmsg)
  end subroutine context_set

  ! Gets a setting, in the form in which it can be set again.
  subroutine context_get(self, key, value, stat, errmsg)
    class(ozarr_context), intent(in) :: self
    character(*), intent(in) :: key
    character(:), allocatable, intent(out) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    status = checked_context(self)
    if (status == OZARR_OK) call fetch_named(ozarr_context_get, self%handle, key, value, status)
    if (.not. allocated(value)) call new_text([character(kind=c_char) ::], value, status)
    call done(status, stat, errmsg)
  end subroutine context_get

  ! For the C library no context is the default one, which only ozarr_set and its like are to change.
  function checked_context(self) result(status)
    class(ozarr_context), intent(in) :: self
    integer(c_int32_t) :: status
    status = OZARR_OK
    if (.not. c_associated(self%handle)) status = refused(OZARR_ERR_NULL, "the context is not open")
  end function checked_context

  ! Has `write_message`, a procedure of a module, called for messages down to `level` of stores that are opened from now on. Without it
  ! there are no messages.
  subroutine context_set_log(self, level, write_message, stat, errmsg)
    class(ozarr_context), intent(inout) :: self
    integer, intent(in) :: level
    procedure(ozarr_log_procedure), optional :: write_message
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    status = checked_context(self)
    if (status == OZARR_OK) status = log_of(self%handle, level, write_message)
    call done(status, stat, errmsg)
  end subroutine context_set_log

  ! Registers pass_on, with the procedure to call as its user.
  function log_of(handle, level, write_message) result(status)
    type(c_ptr), intent(in) :: handle
    integer, intent(in) :: level
    procedure(ozarr_log_procedure), optional :: write_message
    integer(c_int32_t) :: status
    if (present(write_message)) then
      status = ozarr_context_set_log(handle, int(level, c_int32_t), c_funloc(pass_on), &
        transfer(c_funloc(write_message), c_null_ptr))
    else
      status = ozarr_context_set_log(handle, int(level, c_int32_t), c_null_funptr, c_null_ptr)
    end if
  end function log_of

  ! Frees the context; stores that were opened with it are not affected.
  subroutine context_close(self)
    class(ozarr_context), intent(inout) :: self
    call ozarr_context_free(self%handle)
    self%handle = c_null_ptr
  end subroutine context_close

  ! What the library calls: gives the message to the procedure at `user` as a Fortran text.
  function pass_on(user, level, message) bind(c) result(status)
    type(c_ptr), value :: user
    integer(c_int32_t), value :: level
    type(c_ptr), value :: message
    integer(c_int32_t) :: status
    procedure(ozarr_log_procedure), pointer :: write_message
    call c_f_procpointer(transfer(user, c_null_funptr), write_message)
    call write_text(letters_at(message), int(ozf_strlen(message)))
    status = OZARR_OK

  contains

    ! Takes the letters as one text, without a copy.
    subroutine write_text(text, n)
      integer, intent(in) :: n
      character(kind=c_char, len=n), intent(in) :: text(1)
      call write_message(int(level), text(1))
    end subroutine write_text

  end function pass_on

  ! Changes a setting of the default context, which is that of stores and locations without another.
  subroutine ozarr_set(key, value, stat, errmsg)
    character(*), intent(in) :: key, value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_context_set(c_null_ptr, c_text(key), c_text(value)), stat, errmsg)
  end subroutine ozarr_set

  ! Gets a setting of the default context.
  subroutine ozarr_get(key, value, stat, errmsg)
    character(*), intent(in) :: key
    character(:), allocatable, intent(out) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call fetch_named(ozarr_context_get, c_null_ptr, key, value, status)
    call done(status, stat, errmsg)
  end subroutine ozarr_get

  ! The log of the default context.
  subroutine ozarr_set_log(level, write_message, stat, errmsg)
    integer, intent(in) :: level
    procedure(ozarr_log_procedure), optional :: write_message
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(log_of(c_null_ptr, level, write_message), stat, errmsg)
  end subroutine ozarr_set_log

end module ozarr_contexts
