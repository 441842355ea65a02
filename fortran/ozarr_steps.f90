! Series: the steps of all variables of a dataset together.                                      SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_steps
  use, intrinsic :: ieee_arithmetic, only: ieee_quiet_nan, ieee_value
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use ozarr_base
  use ozarr_c
  use ozarr_datasets
  implicit none
  private
  public :: ozarr_series

  ! A variable that grows: its array, and the dimension that grows. (The array is a bare handle, because the compiler takes memory to
  ! finalize a list of objects.)
  type :: growing
    type(c_ptr) :: array = c_null_ptr
    integer(c_int32_t) :: rank = 0, dim = 0
  end type growing

  ! Readers see a step when all variables have it; a run that was killed goes on behind the last such step.
  type :: ozarr_series
    type(c_ptr) :: handle = c_null_ptr
    ! The program's handle of the dataset, for variables that are defined later; once it is closed the library refuses it.
    type(c_ptr), private :: dataset = c_null_ptr
    ! A list of one: gfortran 12 cannot read the module of a type with a single text of any length twice with -fcoarray.
    character(:), allocatable, private :: dimension(:)
    ! The variables that are known, and their names: the first `count` of each list. Threads that put values may add some.
    integer, private :: count = 0
    type(growing), allocatable, private :: variables(:)
    character(:), allocatable, private :: names(:)
  contains
    procedure :: open => series_open
    procedure :: is_open => series_is_open
    procedure, private :: put_int8, put_int16, put_int32, put_int64, &
      put_real32, put_real64, put_complex32, put_complex64, &
      put_logical8, put_logical16, put_logical32, put_logical64
    generic :: put => put_int8, put_int16, put_int32, put_int64, &
      put_real32, put_real64, put_complex32, put_complex64, &
      put_logical8, put_logical16, put_logical32, put_logical64
    procedure, private :: series_step, step_int8, step_int16, step_int32, step_int64, &
      step_real32, step_real64, step_complex32, step_complex64, &
      step_logical8, step_logical16, step_logical32, step_logical64
    generic :: step => series_step, step_int8, step_int16, step_int32, step_int64, &
      step_real32, step_real64, step_complex32, step_complex64, &
      step_logical8, step_logical16, step_logical32, step_logical64
    procedure :: position => series_position
    procedure :: published => series_published
    procedure :: flush => series_flush
    procedure :: close => series_close
    final :: series_final
  end type ozarr_series

  ! Of fortran/ozarr_shim.c.
  interface
    function ozf_series_put(series, name, array, rank, u, dim) bind(c, name="ozf_series_put") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: series, array
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: rank, dim
      type(*), dimension(..), intent(in) :: u
      integer(c_int32_t) :: r
    end function ozf_series_put

    function ozf_series_step(series, value, name, array, rank, u, dim) bind(c, name="ozf_series_step") result(r)
      import :: c_ptr, c_char, c_int32_t, c_double
      type(c_ptr), value :: series, array
      real(c_double), value :: value
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: rank, dim
      type(*), dimension(..), intent(in) :: u
      integer(c_int32_t) :: r
    end function ozf_series_step
  end interface

contains

  ! Frees the series; steps that wait are stored, but errors are not reported.
  impure elemental subroutine series_final(self)
    type(ozarr_series), intent(inout) :: self
    call ozarr_series_free(self%handle)
    self%handle = c_null_ptr
    call free_variables(self)
  end subroutine series_final

  subroutine free_variables(self)
    class(ozarr_series), intent(inout) :: self
    integer :: i
    do i = 1, self%count
      call ozarr_array_free(self%variables(i)%array)
    end do
    self%count = 0
  end subroutine free_variables

  ! Opens the steps of a dataset along a dimension, behind the last step that all its variables have: they are to be defined before.
  ! `keep`, an integer: how many steps stay, as a checkpoint tells; those beyond are cut off. `publish_every`: readers see steps at
  ! multiples of it; without it when chunks are whole. `memory`: the most bytes that waiting steps may take.
  subroutine series_open(self, dataset, dimension, keep, publish_every, memory, stat, errmsg)
    class(ozarr_series), intent(inout) :: self
    class(ozarr_dataset), intent(in) :: dataset
    character(*), intent(in) :: dimension
    class(*), intent(in), optional :: keep
    integer, intent(in), optional :: publish_every
    integer(int64), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    integer(c_int64_t) :: every, kept
    integer(c_size_t) :: bytes
    integer :: failed
    call ozarr_series_free(self%handle)
    self%handle = c_null_ptr
    every = 0
    if (present(publish_every)) every = publish_every
    bytes = 0
    if (present(memory)) bytes = memory
    handle = c_null_ptr
    status = OZARR_OK
    kept = -1
    if (present(keep)) call integer_of(keep, "keep", kept, status)
    if (bytes < 0) status = refused(OZARR_ERR_ARGUMENT, "memory is ", n=int(bytes, c_int64_t), after=", expected at least 0")
    if (status == OZARR_OK) status = ozarr_series_open(dataset%handle, c_text(dimension), kept, every, bytes, handle)
    self%dataset = dataset%handle
    if (allocated(self%dimension)) deallocate (self%dimension)
    failed = 0
    if (status == OZARR_OK) allocate (character(len(dimension)) :: self%dimension(1), stat=failed)
    if (failed /= 0) status = OZARR_ERR_NO_MEMORY
    if (status == OZARR_OK) then
      self%dimension(1) = dimension
      call find_variables(self, status)
    end if
    if (status == OZARR_ERR_NO_MEMORY) status = refused(status, "no memory for the series")
    if (status == OZARR_OK) then
      self%handle = handle
    else
      call ozarr_series_free(handle)
    end if
    call done(status, stat, errmsg)
  end subroutine series_open

  ! Opens the arrays that have the dimension.
  subroutine find_variables(self, status)
    class(ozarr_series), intent(inout) :: self
    integer(c_int32_t), intent(out) :: status
    type(growing) :: found
    character(:), allocatable :: names(:)
    integer :: i
    call free_variables(self)
    call list_variables(self%dataset, names, status)
    if (status /= OZARR_OK) return
    do i = 1, size(names)
      call open_variable(self, names(i), found, status)
      if (status == OZARR_OK .and. found%dim > 0) call add_variable(self, names(i), found, status)
      if (status /= OZARR_OK .or. found%dim == 0) call ozarr_array_free(found%array)
      if (status /= OZARR_OK) return
    end do
  end subroutine find_variables

  ! Opens the array of a variable, which may not have the dimension: `found%dim` is 0 then.
  subroutine open_variable(self, name, found, status)
    class(ozarr_series), intent(in) :: self
    character(*), intent(in) :: name
    type(growing), intent(out) :: found
    integer(c_int32_t), intent(out) :: status
    status = ozarr_dataset_open_variable(self%dataset, c_text(name), found%array)
    if (status == OZARR_OK) call find_dimension(found, self%dimension(1), status)
  end subroutine open_variable

  ! Adds a variable to those that are known. The arrays of the others stay open: other threads are using them. (With `target`, as the
  ! compiler is to read the lists again once the lock is taken.)
  subroutine add_variable(self, name, found, status)
    class(ozarr_series), intent(inout), target :: self
    character(*), intent(in) :: name
    type(growing), intent(in) :: found
    integer(c_int32_t), intent(inout) :: status
    call ozf_lock()
    call make_room(self, len(name), status)
    if (status == OZARR_OK) then
      self%count = self%count + 1
      self%variables(self%count) = found
      self%names(self%count) = name
    end if
    call ozf_unlock()
  end subroutine add_variable

  ! Makes room for one more variable, whose name has this length.
  subroutine make_room(self, length, status)
    class(ozarr_series), intent(inout), target :: self
    integer, intent(in) :: length
    integer(c_int32_t), intent(inout) :: status
    type(growing), allocatable :: variables(:)
    character(:), allocatable :: names(:)
    integer :: i, room, longest, failed
    room = 16
    longest = length
    if (allocated(self%variables)) then
      room = size(self%variables)
      longest = max(length, len(self%names))
      if (self%count < room .and. longest == len(self%names)) return
      if (self%count == room) room = 2*room
    end if
    allocate (variables(room), stat=failed)
    if (failed == 0) allocate (character(longest) :: names(room), stat=failed)
    status = checked_memory(failed, "the variables of the series")
    if (status /= OZARR_OK) return
    do i = 1, self%count
      variables(i) = self%variables(i)
      names(i) = self%names(i)
    end do
    call move_alloc(variables, self%variables)
    call move_alloc(names, self%names)
  end subroutine make_room

  ! Finds the rank of a variable, and the number of the dimension of that name, or 0.
  subroutine find_dimension(variable, name, status)
    type(growing), intent(inout) :: variable
    character(*), intent(in) :: name
    integer(c_int32_t), intent(inout) :: status
    type(text_buffer), target :: buffer
    character(:), allocatable :: found
    integer(c_int32_t) :: d
    status = ozarr_array_rank(variable%array, variable%rank)
    do d = variable%rank - 1, 0, -1
      if (allocated(buffer%letters)) deallocate (buffer%letters)
      do while (buffer%is_wanted(status))
        status = ozarr_array_dimension_name(variable%array, d, c_loc(buffer%letters), buffer%cap, buffer%length)
      end do
      call buffer%give(found, status)
      if (status /= OZARR_OK) return
      if (found == name(:length_of(name))) variable%dim = variable%rank - d
      if (variable%dim > 0) return
    end do
  end subroutine find_dimension

  pure function series_is_open(self) result(is_open)
    class(ozarr_series), intent(in) :: self
    logical :: is_open
    is_open = c_associated(self%handle)
  end function series_is_open

  ! Procedures for each type of variable: put_int8, step_int8 and so on.
  include "series_kinds.inc"

  ! Gives a variable its values of the step that comes next, with one dimension less than it has. They are copied.
  subroutine put_any(self, name, u, stat, errmsg)
    class(ozarr_series), intent(inout) :: self
    character(*), intent(in) :: name
    type(*), dimension(..), intent(in) :: u
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(growing) :: v
    integer(c_int32_t) :: status
    call find_variable(self, name, v, status)
    if (status == OZARR_OK) status = ozf_series_put(self%handle, c_text(name), v%array, v%rank, u, v%dim)
    call done(status, stat, errmsg)
  end subroutine put_any

  ! Gives a variable its values, as put does, and ends the step; the other variables are put before.
  subroutine step_any(self, value, name, u, stat, errmsg)
    class(ozarr_series), intent(inout) :: self
    class(*), intent(in) :: value
    character(*), intent(in) :: name
    type(*), dimension(..), intent(in) :: u
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(growing) :: v
    real(c_double) :: number
    integer(c_int32_t) :: status
    call find_variable(self, name, v, status)
    if (status == OZARR_OK) call real_of(value, number, status)
    if (status == OZARR_OK) status = ozf_series_step(self%handle, number, c_text(name), v%array, v%rank, u, v%dim)
    call done(status, stat, errmsg)
  end subroutine step_any

  ! Finds a variable, which may have been defined since the series was opened.
  subroutine find_variable(self, name, v, status)
    class(ozarr_series), intent(inout) :: self
    character(*), intent(in) :: name
    type(growing), intent(out) :: v
    integer(c_int32_t), intent(out) :: status
    status = OZARR_OK
    if (.not. c_associated(self%handle)) then
      status = refused(OZARR_ERR_NULL, "the series is not open")
      return
    end if
    call find_known(self, name(:length_of(name)), v)
    if (v%dim == 0) call look_again(self, name(:length_of(name)), v, status)
  end subroutine find_variable

  ! Finds a variable among those that are known; otherwise `v%dim` is 0.
  subroutine find_known(self, name, v)
    class(ozarr_series), intent(in), target :: self
    character(*), intent(in) :: name
    type(growing), intent(out) :: v
    integer :: i
    call ozf_lock()
    do i = 1, self%count
      if (self%names(i) /= name) cycle
      v = self%variables(i)
      exit
    end do
    call ozf_unlock()
  end subroutine find_known

  ! Opens the array of a variable that the dataset may have by now, and keeps it. Where the dataset is closed those that were there before are
  ! known. (Two threads may do it for one variable: then it is known twice.)
  subroutine look_again(self, name, v, status)
    class(ozarr_series), intent(inout) :: self
    character(*), intent(in) :: name
    type(growing), intent(out) :: v
    integer(c_int32_t), intent(out) :: status
    call open_variable(self, name, v, status)
    if (status == OZARR_ERR_INVALID_HANDLE) status = refused(OZARR_ERR_NOT_FOUND, "the series has no variable ", name, &
      ", and its dataset, which may have one by now, is closed")
    if (status == OZARR_OK .and. v%dim == 0) status = refused(OZARR_ERR_ARGUMENT, "the variable ", name, &
      " does not have the dimension ", after=self%dimension(1)(:length_of(self%dimension(1))))
    if (status == OZARR_OK) call add_variable(self, name, v, status)
    if (status /= OZARR_OK) call ozarr_array_free(v%array)
  end subroutine look_again

  ! Ends the step: `value`, a number, is that of the coordinate, unless put gave it or the dimension has no coordinate: put an integer that no
  ! real(8) holds, such as nanoseconds since 1970, which is OZARR_ERR_RANGE here. Variables that were left out have the fill value.
  subroutine series_step(self, value, stat, errmsg)
    class(ozarr_series), intent(inout) :: self
    class(*), intent(in), optional :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(c_double) :: number
    integer(c_int32_t) :: status
    status = OZARR_OK
    number = ieee_value(1d0, ieee_quiet_nan)              ! which the library refuses where it would be stored
    if (present(value)) call real_of(value, number, status)
    if (status == OZARR_OK) status = ozarr_series_step(self%handle, number, 0_c_int64_t, memories=c_null_ptr)
    call done(status, stat, errmsg)
  end subroutine series_step

  ! The number of steps that were taken: a restart goes on with step position() + 1. A failure stops.
  function series_position(self) result(position)
    class(ozarr_series), intent(in) :: self
    integer(int64) :: position
    position = 0
    call done(ozarr_series_position(self%handle, position=position))
  end function series_position

  ! The number of steps that readers see. A failure stops.
  function series_published(self) result(published)
    class(ozarr_series), intent(in) :: self
    integer(int64) :: published
    published = 0
    call done(ozarr_series_position(self%handle, published=published))
  end function series_published

  ! Stores and publishes all steps, as at a checkpoint.
  subroutine series_flush(self, stat, errmsg)
    class(ozarr_series), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_series_flush(self%handle), stat, errmsg)
  end subroutine series_flush

  ! Flushes and frees; the handle is gone, whatever the status says.
  subroutine series_close(self, stat, errmsg)
    class(ozarr_series), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    call free_variables(self)
    call done(ozarr_series_close(handle), stat, errmsg)
  end subroutine series_close

end module ozarr_steps
