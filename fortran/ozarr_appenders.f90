! Appenders: make an array longer along one dimension, step by step.                             SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_appenders
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use ozarr_base
  use ozarr_arrays
  use ozarr_c
  implicit none
  private
  public :: ozarr_appender

  ! Steps wait in memory until their chunks are whole; readers see whole steps only.
  type :: ozarr_appender
    type(c_ptr) :: handle = c_null_ptr
    type(c_ptr), private :: array = c_null_ptr
    integer(c_int32_t), private :: dimensions = 0, dim = 0
  contains
    procedure :: open => appender_open
    procedure :: is_open => appender_is_open
    procedure, private :: append_int8, append_int16, append_int32, append_int64, append_real32, append_real64, append_complex32, &
      append_complex64, append_logical8, append_logical16, append_logical32, append_logical64
    generic :: append => append_int8, append_int16, append_int32, append_int64, append_real32, append_real64, append_complex32, &
      append_complex64, append_logical8, append_logical16, append_logical32, append_logical64
    procedure :: position => appender_position
    procedure :: published => appender_published
    procedure :: flush => appender_flush
    procedure :: close => appender_close
    final :: appender_final
  end type ozarr_appender

  ! Of fortran/ozarr_shim.c.
  interface
    function ozf_appender_append(appender, array, rank, u, dim) bind(c, name="ozf_appender_append") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: appender, array
      integer(c_int32_t), value :: rank, dim
      type(*), dimension(..), intent(in) :: u
      integer(c_int32_t) :: r
    end function ozf_appender_append
  end interface

contains

  impure elemental subroutine appender_final(self)
    type(ozarr_appender), intent(inout) :: self
    call ozarr_appender_free(self%handle)
    self%handle = c_null_ptr
  end subroutine appender_final

  ! Begins to append behind the last step of dimension `dim` (the last one) of an array that is open for writing, and stays open until the
  ! appender is closed. `publish_every`: readers see the new length at multiples of it; without it when chunks are whole. `memory`: the
  ! most bytes that waiting steps may take.
  subroutine appender_open(self, array, dim, publish_every, memory, stat, errmsg)
    class(ozarr_appender), intent(inout) :: self
    type(ozarr_array), intent(in) :: array
    integer, intent(in), optional :: dim
    integer, intent(in), optional :: publish_every
    integer(int64), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    integer(c_int64_t) :: every
    integer(c_size_t) :: bytes
    call ozarr_appender_free(self%handle)
    self%handle = c_null_ptr
    self%array = array%handle
    self%dimensions = int(array%rank(), c_int32_t)
    self%dim = self%dimensions
    if (present(dim)) self%dim = int(dim, c_int32_t)
    every = 0
    if (present(publish_every)) every = publish_every
    bytes = 0
    if (present(memory)) bytes = memory
    handle = c_null_ptr
    if (.not. array%is_open()) self%dimensions = not_open
    status = checked_dim(int(self%dim), self%dimensions)
    if (status == OZARR_OK .and. bytes < 0) status = refused(OZARR_ERR_ARGUMENT, "memory is ", &
      n=int(bytes, c_int64_t), after=", expected at least 0")
    if (status == OZARR_OK) status = ozarr_appender_open(array%handle, self%dimensions - self%dim, every, bytes, handle)
    if (status == OZARR_OK) self%handle = handle
    call done(status, stat, errmsg)
  end subroutine appender_open

  pure function appender_is_open(self) result(is_open)
    class(ozarr_appender), intent(in) :: self
    logical :: is_open
    is_open = c_associated(self%handle)
  end function appender_is_open

  ! One procedure for each type of variable: append_int8 and so on.
  include "appender_kinds.inc"

  ! Appends u: one step, of one dimension less than the array, or several. It is copied.
  subroutine append_any(self, u, stat, errmsg)
    class(ozarr_appender), intent(inout) :: self
    type(*), dimension(..), intent(in) :: u
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozf_appender_append(self%handle, self%array, self%dimensions, u, self%dim), stat, errmsg)
  end subroutine append_any

  ! The length of the dimension with all appended steps. A failure stops.
  function appender_position(self) result(position)
    class(ozarr_appender), intent(in) :: self
    integer(int64) :: position
    position = 0
    call done(ozarr_appender_position(self%handle, position=position))
  end function appender_position

  ! The length that readers see. A failure stops.
  function appender_published(self) result(published)
    class(ozarr_appender), intent(in) :: self
    integer(int64) :: published
    published = 0
    call done(ozarr_appender_position(self%handle, published=published))
  end function appender_published

  ! Stores and publishes all appended steps, as at a checkpoint.
  subroutine appender_flush(self, stat, errmsg)
    class(ozarr_appender), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_appender_flush(self%handle), stat, errmsg)
  end subroutine appender_flush

  ! Flushes and frees; the handle is gone, whatever the status says.
  subroutine appender_close(self, stat, errmsg)
    class(ozarr_appender), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    call done(ozarr_appender_close(handle), stat, errmsg)
  end subroutine appender_close

end module ozarr_appenders
