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

  ! A variable that grows: its array, the number of its name in `names`, and the dimension that grows. (The array is a bare handle, because
  ! the compiler takes memory to finalize a list of objects.)
  type :: growing
    type(c_ptr) :: array = c_null_ptr
    integer :: name = 0
    integer(c_int32_t) :: rank = 0, dim = 0
  end type growing

  ! Readers see a step when all variables have it; a run that was killed goes on behind the last such step.
  type :: ozarr_series
    type(c_ptr) :: handle = c_null_ptr
    ! The program's handle of the dataset, for variables that are defined later; once it is closed the library refuses it.
    type(c_ptr), private :: dataset = c_null_ptr
    ! A list of one: gfortran 12 cannot read the module of a type with a single text of any length twice with -fcoarray.
    character(:), allocatable, private :: dimension(:)
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
    if (.not. allocated(self%variables)) return
    do i = 1, size(self%variables)
      call ozarr_array_free(self%variables(i)%array)
    end do
    deallocate (self%variables)
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
    integer :: i, n, failed
    call free_variables(self)
    call list_variables(self%dataset, self%names, status)
    if (status /= OZARR_OK) return
    allocate (self%variables(size(self%names)), stat=failed)
    status = checked_memory(failed, "the variables of the series")
    n = 0
    do i = 1, size(self%names)
      if (status /= OZARR_OK) return
      found = growing(name=i)
      status = ozarr_dataset_open_variable(self%dataset, c_text(self%names(i)), found%array)
      if (status == OZARR_OK) call find_dimension(found, self%dimension(1), status)
      if (status == OZARR_OK .and. found%dim > 0) then
        n = n + 1
        self%variables(n) = found
      else
        call ozarr_array_free(found%array)
      end if
    end do
  end subroutine find_variables

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
    integer(c_int32_t) :: status
    integer :: i
    call find_variable(self, name, i, status)
    if (status == OZARR_OK) status = ozf_series_put(self%handle, c_text(name), self%variables(i)%array, &
      self%variables(i)%rank, u, self%variables(i)%dim)
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
    real(c_double) :: number
    integer(c_int32_t) :: status
    integer :: i
    call find_variable(self, name, i, status)
    if (status == OZARR_OK) call real_of(value, number, status)
    if (status == OZARR_OK) status = ozf_series_step(self%handle, number, c_text(name), self%variables(i)%array, &
      self%variables(i)%rank, u, self%variables(i)%dim)
    call done(status, stat, errmsg)
  end subroutine step_any

  ! The number of a variable, which may have been defined since the series was opened.
  subroutine find_variable(self, name, i, status)
    class(ozarr_series), intent(inout) :: self
    character(*), intent(in) :: name
    integer, intent(out) :: i
    integer(c_int32_t), intent(out) :: status
    i = 0
    status = OZARR_OK
    if (.not. c_associated(self%handle)) then
      status = refused(OZARR_ERR_NULL, "the series is not open")
      return
    end if
    i = place_of(self, name)
    if (i > 0) return
    call look_again(self, name, status)
    if (status == OZARR_OK) i = place_of(self, name)
    if (status == OZARR_OK .and. i == 0) status = refused(OZARR_ERR_NOT_FOUND, "the series has no variable ", name)
  end subroutine find_variable

  ! The number of a variable among those that are known, or 0.
  pure function place_of(self, name) result(i)
    class(ozarr_series), intent(in) :: self
    character(*), intent(in) :: name
    integer :: i
    if (allocated(self%variables)) then
      do i = 1, size(self%variables)
        if (self%variables(i)%name == 0) exit
        if (self%names(self%variables(i)%name) == name(:length_of(name))) return
      end do
    end if
    i = 0
  end function place_of

  ! Opens the arrays again if the dataset has a variable of that name by now. Where it is closed those that were there before are known.
  subroutine look_again(self, name, status)
    class(ozarr_series), intent(inout) :: self
    character(*), intent(in) :: name
    integer(c_int32_t), intent(out) :: status
    type(growing) :: found
    status = ozarr_dataset_open_variable(self%dataset, c_text(name), found%array)
    if (status == OZARR_ERR_INVALID_HANDLE) status = refused(OZARR_ERR_NOT_FOUND, "the series has no variable ", name, &
      ", and its dataset, which may have one by now, is closed")
    if (status /= OZARR_OK) return
    call find_dimension(found, self%dimension(1), status)
    call ozarr_array_free(found%array)
    if (status == OZARR_OK .and. found%dim == 0) status = refused(OZARR_ERR_ARGUMENT, "the variable ", name, &
      " does not have the dimension ", after=self%dimension(1)(:length_of(self%dimension(1))))
    if (status == OZARR_OK) call find_variables(self, status)
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
