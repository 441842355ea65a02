! Datasets: variables that share named dimensions, as netCDF and xarray see a group.               SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_datasets
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use ozarr_arrays
  use ozarr_base
  use ozarr_c
  use ozarr_groups
  use ozarr_specs
  implicit none
  private
  public :: ozarr_dataset, ozarr_time_text, ozarr_time_count
  ! Of the modules' own use.
  public :: list_variables

  ! Dimensions of variables are named in Fortran's order, as their indices are: dimensions=["x   ", "y   ", "time"].
  type :: ozarr_dataset
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure, private :: open_location => dataset_open_location
    procedure, private :: open_group => dataset_open_group
    generic :: open => open_location, open_group
    procedure :: create => dataset_create
    procedure :: is_open => dataset_is_open
    procedure :: group => dataset_group
    procedure :: define_dimension => dataset_define_dimension
    procedure :: resize_dimension => dataset_resize_dimension
    procedure :: dimensions => dataset_dimensions
    procedure :: length => dataset_length
    procedure :: longest => dataset_longest
    procedure :: wait_growth => dataset_wait_growth
    procedure :: define_variable => dataset_define_variable
    procedure, private :: define_coordinate_int8, define_coordinate_int16, define_coordinate_int32, define_coordinate_int64, &
      define_coordinate_real32, define_coordinate_real64
    generic :: define_coordinate => define_coordinate_int8, define_coordinate_int16, define_coordinate_int32, &
      define_coordinate_int64, define_coordinate_real32, define_coordinate_real64
    procedure :: define_time => dataset_define_time
    procedure :: set_coordinate => dataset_set_coordinate
    procedure :: variables => dataset_variables
    procedure :: open_variable => dataset_open_variable
    procedure :: close => dataset_close
    final :: dataset_final
  end type ozarr_dataset

contains

  ! ==================================================================================================================
  ! Opening and creating
  ! ==================================================================================================================

  ! Frees the handle, without what close writes.
  impure elemental subroutine dataset_final(self)
    type(ozarr_dataset), intent(inout) :: self
    call ozarr_dataset_free(self%handle)
    self%handle = c_null_ptr
  end subroutine dataset_final

  ! Takes over the handle of a call that opened or created; after a failure the object is closed.
  subroutine dataset_take(self, handle, status)
    class(ozarr_dataset), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    integer(c_int32_t), intent(in) :: status
    call ozarr_dataset_free(self%handle)
    self%handle = c_null_ptr
    if (status == OZARR_OK) self%handle = handle
  end subroutine dataset_take

  ! Opens the dataset at a location; mode "r" (the default) or "r+".
  subroutine dataset_open_location(self, location, mode, stat, errmsg)
    class(ozarr_dataset), intent(inout) :: self
    character(*), intent(in) :: location
    character(*), intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_dataset_open(c_text(location), mode_text(mode), handle)
    call dataset_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine dataset_open_location

  ! Opens a group as a dataset, in the group's mode.
  subroutine dataset_open_group(self, group, stat, errmsg)
    class(ozarr_dataset), intent(inout) :: self
    class(ozarr_group), intent(in) :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_open_dataset(group%handle, handle)
    call dataset_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine dataset_open_group

  ! Creates a group for a dataset.
  subroutine dataset_create(self, location, overwrite, mode, zarr_format, stat, errmsg)
    class(ozarr_dataset), intent(inout) :: self
    character(*), intent(in) :: location
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode, zarr_format
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status, format
    format = 0
    if (present(zarr_format)) format = int(zarr_format, c_int32_t)
    handle = c_null_ptr
    status = ozarr_dataset_create(c_text(location), format, create_mode(overwrite, mode), handle)
    call dataset_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine dataset_create

  pure function dataset_is_open(self) result(is_open)
    class(ozarr_dataset), intent(in) :: self
    logical :: is_open
    is_open = c_associated(self%handle)
  end function dataset_is_open

  ! Opens the dataset's group, for its attributes.
  subroutine dataset_group(self, group, stat, errmsg)
    class(ozarr_dataset), intent(in) :: self
    class(ozarr_group), intent(inout) :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_dataset_open_group(self%handle, handle)
    call group_take(group, handle, status)
    call done(status, stat, errmsg)
  end subroutine dataset_group

  ! Writes which variables are coordinates, consolidates the metadata, flushes and frees; the handle is gone, whatever the status says.
  subroutine dataset_close(self, stat, errmsg)
    class(ozarr_dataset), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    call done(ozarr_dataset_close(handle), stat, errmsg)
  end subroutine dataset_close

  ! ==================================================================================================================
  ! Dimensions
  ! ==================================================================================================================

  ! Defines a dimension; it may exist already with this length.
  subroutine dataset_define_dimension(self, name, length, stat, errmsg)
    class(ozarr_dataset), intent(inout) :: self
    character(*), intent(in) :: name
    class(*), intent(in) :: length
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: number
    integer(c_int32_t) :: status
    call integer_of(length, "length", number, status)
    if (status == OZARR_OK) status = ozarr_dataset_define_dimension(self%handle, c_text(name), number)
    call done(status, stat, errmsg)
  end subroutine dataset_define_dimension

  ! Changes the length of a dimension, and the shapes of all variables that have it.
  subroutine dataset_resize_dimension(self, name, length, stat, errmsg)
    class(ozarr_dataset), intent(inout) :: self
    character(*), intent(in) :: name
    class(*), intent(in) :: length
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: number
    integer(c_int32_t) :: status
    call integer_of(length, "length", number, status)
    if (status == OZARR_OK) status = ozarr_dataset_resize_dimension(self%handle, c_text(name), number)
    call done(status, stat, errmsg)
  end subroutine dataset_resize_dimension

  ! The names of the dimensions, padded with blanks, and their lengths.
  subroutine dataset_dimensions(self, names, lengths, stat, errmsg)
    class(ozarr_dataset), intent(in) :: self
    character(:), allocatable, intent(out) :: names(:)
    integer(int64), allocatable, intent(out), optional :: lengths(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(name_list) :: list
    integer(int64), allocatable :: found(:)
    integer(c_int64_t) :: count, i
    integer(c_int32_t) :: status
    integer :: failed
    count = 0
    status = ozarr_dataset_dimension_count(self%handle, count)
    allocate (found(count), stat=failed)
    if (status == OZARR_OK) status = checked_memory(failed, "lengths")
    do i = 1, count
      if (status == OZARR_OK) call add_dimension()
    end do
    call list%give(names, status)
    if (status /= OZARR_OK .and. allocated(found)) deallocate (found)
    if (.not. allocated(found)) allocate (found(0), stat=failed)
    if (present(lengths)) call move_alloc(found, lengths)
    call done(status, stat, errmsg)

  contains

    subroutine add_dimension()
      type(text_buffer), target :: buffer
      do while (buffer%is_wanted(status))
        status = ozarr_dataset_dimension(self%handle, i - 1, c_loc(buffer%letters), buffer%cap, buffer%length, found(i))
      end do
      if (status == OZARR_OK) call list%add(buffer%letters(:buffer%length), status)
    end subroutine add_dimension

  end subroutine dataset_dimensions

  ! The length of a dimension, which all its variables have. A failure stops.
  function dataset_length(self, name) result(length)
    class(ozarr_dataset), intent(in) :: self
    character(*), intent(in) :: name
    integer(int64) :: length
    length = 0
    call done(ozarr_dataset_dimension_length(self%handle, c_text(name), length))
  end function dataset_length

  ! The length of the longest variable along a dimension, while they are appended to one after the other. A failure stops.
  function dataset_longest(self, name) result(longest)
    class(ozarr_dataset), intent(in) :: self
    character(*), intent(in) :: name
    integer(int64) :: longest, length
    longest = 0
    call done(ozarr_dataset_dimension_length(self%handle, c_text(name), length, longest))
  end function dataset_longest

  ! Waits until all variables along a dimension are longer than `beyond`, an integer, for at most `seconds` (0 looks once, a negative number
  ! sets no limit), then OZARR_ERR_TIMEOUT. `length` is what all have then.
  subroutine dataset_wait_growth(self, name, beyond, seconds, length, stat, errmsg)
    class(ozarr_dataset), intent(inout) :: self
    character(*), intent(in) :: name
    class(*), intent(in) :: beyond
    real(real64), intent(in) :: seconds
    integer(int64), intent(out), optional :: length
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: there, found
    integer(c_int32_t) :: status
    found = 0
    status = OZARR_OK
    call integer_of(beyond, "beyond", there, status)
    if (status == OZARR_OK) status = ozarr_dataset_wait_growth(self%handle, c_text(name), there, seconds, found)
    if (present(length)) length = found
    call done(status, stat, errmsg)
  end subroutine dataset_wait_growth

  ! ==================================================================================================================
  ! Variables
  ! ==================================================================================================================

  ! Defines a variable of dimensions that are defined before: its type and their names; the attributes that the CF conventions have;
  ! `missing`, a value of the variable's type that means "missing", and is that of elements that were never written; what packed numbers
  ! are multiplied with and what is added; the compressor. `spec` has all other choices. `array` is opened, where it is given.
  subroutine dataset_define_variable(self, name, type, dimensions, array, units, calendar, long_name, standard_name, attributes, &
    missing, scale_factor, add_offset, chunks, compressor, level, shuffle, keep_bits, spec, overwrite, mode, stat, errmsg)
    class(ozarr_dataset), intent(inout) :: self
    character(*), intent(in) :: name, dimensions(:)
    integer(c_int32_t), intent(in) :: type
    class(ozarr_array), intent(inout), optional :: array
    character(*), intent(in), optional :: units, calendar, long_name, standard_name, attributes, compressor
    class(*), intent(in), optional :: missing, chunks(:)
    real(real64), intent(in), optional :: scale_factor, add_offset
    integer, intent(in), optional :: level, shuffle, keep_bits, mode
    class(ozarr_spec), intent(in), optional :: spec
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(ozarr_variable), target :: variable
    type(c_texts), target :: names
    character(kind=c_char, len=:), allocatable, target :: unit, days, long, standard, json, codec
    integer(c_int64_t), target :: value(2), dims(max_rank)
    integer(c_int32_t) :: status, found
    call make_texts(dimensions, names, status, reversed=.true., blank_is_null=.false.)
    variable%struct_size = c_sizeof(variable)
    variable%type_ = type
    variable%rank = size(dimensions, kind=c_int32_t)
    if (status == OZARR_OK) variable%dimensions = c_loc(names%pointers)
    call keep_text(units, unit, status, variable%units)
    call keep_text(calendar, days, status, variable%calendar)
    call keep_text(long_name, long, status, variable%long_name)
    call keep_text(standard_name, standard, status, variable%standard_name)
    call keep_text(attributes, json, status, variable%attributes)
    call keep_text(compressor, codec, status, variable%compressor)
    if (present(scale_factor)) variable%scale_factor = scale_factor
    if (present(add_offset)) variable%add_offset = add_offset
    if (present(level)) variable%level = int(level, c_int32_t)
    if (present(shuffle)) variable%shuffle = int(shuffle, c_int32_t)
    if (present(keep_bits)) variable%keep_bits = int(keep_bits, c_int32_t)
    if (present(spec)) variable%spec = spec%handle
    if (present(missing) .and. status == OZARR_OK) call missing_to(variable, missing, value, status)
    if (present(chunks) .and. status == OZARR_OK) then
      call extents_of(chunks, "chunks", variable%rank, dims, found, status)
      variable%chunks = c_loc(dims)
    end if
    if (present(spec) .and. status == OZARR_OK) then
      if (.not. spec%is_open()) status = refused(OZARR_ERR_NULL, "the specification is not open")
    end if
    if (status == OZARR_OK) status = define(self, name, variable, create_mode(overwrite, mode), array)
    call done(status, stat, errmsg)
  end subroutine dataset_define_variable

  ! The name of a type of numbers.
  pure function name_of(type) result(name)
    integer(c_int32_t), intent(in) :: type
    character(10) :: name
    character(10), parameter :: names(OZARR_BOOL:OZARR_COMPLEX128) = [character(10) :: "bool", "int8", "int16", "int32", "int64", &
      "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
    name = "another"
    if (type >= OZARR_BOOL .and. type <= OZARR_COMPLEX128) name = names(type)
  end function name_of

  ! Sets the missing value, which has to be of the variable's type. Of integers without a sign, which Fortran has not, it is the
  ! one with a sign that has the same bits.
  subroutine missing_to(variable, missing, value, status)
    type(ozarr_variable), intent(inout) :: variable
    class(*), intent(in) :: missing
    integer(c_int64_t), intent(out), target :: value(2)
    integer(c_int32_t), intent(out) :: status
    integer(c_int32_t) :: type
    status = scalar_of(missing, "missing", type, value)
    select case (variable%type_)
    case (OZARR_UINT8, OZARR_UINT16, OZARR_UINT32, OZARR_UINT64)
      if (type == variable%type_ - OZARR_UINT8 + OZARR_INT8) type = variable%type_
    end select
    if (status == OZARR_OK .and. type /= variable%type_) status = refused(OZARR_ERR_TYPE, "missing is of type ", &
      name_of(type), ", expected that of the variable, ", ending=name_of(variable%type_))
    variable%missing = c_loc(value)
  end subroutine missing_to

  ! Makes the variable, and opens its array where one is given.
  function define(self, name, variable, mode, array) result(status)
    class(ozarr_dataset), intent(inout) :: self
    character(*), intent(in) :: name
    type(ozarr_variable), intent(in), target :: variable
    integer(c_int32_t), intent(in) :: mode
    class(ozarr_array), intent(inout), optional :: array
    integer(c_int32_t) :: status
    type(c_ptr) :: handle
    handle = c_null_ptr
    status = ozarr_dataset_define_variable_ex(self%handle, c_text(name), c_loc(variable), mode, handle)
    call give(handle, array, status)
  end function define

  ! Gives the handle to the array, or frees it without one.
  subroutine give(handle, array, status)
    type(c_ptr), intent(in) :: handle
    class(ozarr_array), intent(inout), optional :: array
    integer(c_int32_t), intent(inout) :: status
    if (present(array)) then
      call array_take(array, handle, status)
    else if (status == OZARR_OK) then
      call ozarr_array_free(handle)
    end if
  end subroutine give

  ! One procedure for each kind of number: define_coordinate_int8 and so on.
  include "coordinate_kinds.inc"

  ! Defines a dimension with a coordinate, which has these values: `count` numbers of `bytes` each; their units; and how many are in a chunk.
  ! `failed` is not 0 where there was no memory for the values.
  subroutine define_coordinate_any(self, name, type, count, values, failed, bytes, units, chunk, array, stat, errmsg)
    class(ozarr_dataset), intent(inout) :: self
    character(*), intent(in) :: name
    integer(c_int32_t), intent(in) :: type
    integer, intent(in) :: count, failed
    type(c_ptr), intent(in) :: values
    integer(c_size_t), intent(in) :: bytes
    character(*), intent(in), optional :: units
    integer, intent(in), optional :: chunk
    class(ozarr_array), intent(inout), optional :: array
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    character(kind=c_char, len=:), allocatable :: unit
    integer(c_int32_t) :: status
    integer(c_int64_t) :: depth
    depth = 0
    if (present(chunk)) depth = chunk
    handle = c_null_ptr
    status = checked_memory(failed, "values")
    call keep_text(units, unit, status)
    if (status == OZARR_OK) status = ozarr_dataset_define_coordinate(self%handle, c_text(name), type, int(count, c_int64_t), &
      depth, values, count * bytes, unit, handle)
    call give(handle, array, status)
    call done(status, stat, errmsg)
  end subroutine define_coordinate_any

  ! Defines a time axis of `length` counts of 64 bits of `units`, such as "hours since 2026-01-01", and its dimension; with `chunk` counts in
  ! a chunk.
  subroutine dataset_define_time(self, name, length, units, calendar, chunk, array, stat, errmsg)
    class(ozarr_dataset), intent(inout) :: self
    character(*), intent(in) :: name, units
    class(*), intent(in) :: length
    character(*), intent(in), optional :: calendar
    integer, intent(in), optional :: chunk
    class(ozarr_array), intent(inout), optional :: array
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: number, depth
    type(c_ptr) :: handle
    character(kind=c_char, len=:), allocatable :: days
    integer(c_int32_t) :: status
    depth = 0
    if (present(chunk)) depth = chunk
    handle = c_null_ptr
    call integer_of(length, "length", number, status)
    call keep_text(calendar, days, status)
    if (status == OZARR_OK) status = ozarr_dataset_define_time(self%handle, c_text(name), number, depth, c_text(units), days, &
      handle)
    call give(handle, array, status)
    call done(status, stat, errmsg)
  end subroutine dataset_define_time

  ! Marks a variable as a coordinate that is not named after its dimension.
  subroutine dataset_set_coordinate(self, name, stat, errmsg)
    class(ozarr_dataset), intent(inout) :: self
    character(*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_dataset_set_coordinate(self%handle, c_text(name)), stat, errmsg)
  end subroutine dataset_set_coordinate

  ! The names of the variables, coordinates included, padded with blanks; and which of them are coordinates.
  subroutine dataset_variables(self, names, are_coordinates, stat, errmsg)
    class(ozarr_dataset), intent(in) :: self
    character(:), allocatable, intent(out) :: names(:)
    logical, allocatable, intent(out), optional :: are_coordinates(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call list_variables(self%handle, names, status, are_coordinates)
    call done(status, stat, errmsg)
  end subroutine dataset_variables

  ! The names of the variables of a dataset, by its handle.
  subroutine list_variables(handle, names, status, are_coordinates)
    type(c_ptr), intent(in) :: handle
    character(:), allocatable, intent(out) :: names(:)
    integer(c_int32_t), intent(out) :: status
    logical, allocatable, intent(out), optional :: are_coordinates(:)
    type(name_list) :: list
    logical, allocatable :: found(:)
    logical(c_bool) :: coordinate
    integer(c_int64_t) :: count, i
    integer :: failed
    count = 0
    status = ozarr_dataset_variable_count(handle, count)
    allocate (found(count), stat=failed)
    if (status == OZARR_OK) status = checked_memory(failed, "are_coordinates")
    do i = 1, count
      if (status == OZARR_OK) call add_variable()
    end do
    call list%give(names, status)
    if (status /= OZARR_OK .and. allocated(found)) deallocate (found)
    if (.not. allocated(found)) allocate (found(0), stat=failed)
    if (present(are_coordinates)) call move_alloc(found, are_coordinates)

  contains

    subroutine add_variable()
      type(text_buffer), target :: buffer
      do while (buffer%is_wanted(status))
        status = ozarr_dataset_variable(handle, i - 1, c_loc(buffer%letters), buffer%cap, buffer%length, coordinate)
      end do
      if (status == OZARR_OK) call list%add(buffer%letters(:buffer%length), status)
      if (status == OZARR_OK) found(i) = coordinate
    end subroutine add_variable

  end subroutine list_variables

  ! Opens the array of a variable.
  subroutine dataset_open_variable(self, name, array, stat, errmsg)
    class(ozarr_dataset), intent(in) :: self
    character(*), intent(in) :: name
    class(ozarr_array), intent(inout) :: array
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_dataset_open_variable(self%handle, c_text(name), handle)
    call array_take(array, handle, status)
    call done(status, stat, errmsg)
  end subroutine dataset_open_variable

  ! ==================================================================================================================
  ! Times
  ! ==================================================================================================================

  ! The date and time, such as "2026-01-31 12:30:00", that `count` of `units` is.
  subroutine ozarr_time_text(count, units, text, calendar, stat, errmsg)
    integer(int64), intent(in) :: count
    character(*), intent(in) :: units
    character(:), allocatable, intent(out) :: text
    character(*), intent(in), optional :: calendar
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(text_buffer), target :: buffer
    character(kind=c_char, len=:), allocatable :: days
    integer(c_int32_t) :: status
    status = OZARR_OK
    call keep_text(calendar, days, status)
    if (status == OZARR_OK) then
      do while (buffer%is_wanted(status))
        status = ozarr_time_to_text(c_text(units), days, count, c_loc(buffer%letters), buffer%cap, buffer%length)
      end do
    end if
    call buffer%give(text, status)
    call done(status, stat, errmsg)
  end subroutine ozarr_time_text

  ! The count of `units`, rounded down, that a date and time is.
  subroutine ozarr_time_count(moment, units, count, calendar, stat, errmsg)
    character(*), intent(in) :: moment, units
    integer(int64), intent(out) :: count
    character(*), intent(in), optional :: calendar
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable :: days
    integer(c_int32_t) :: status
    count = 0
    status = OZARR_OK
    call keep_text(calendar, days, status)
    if (status == OZARR_OK) status = ozarr_time_from_text(c_text(units), days, c_text(moment), count)
    call done(status, stat, errmsg)
  end subroutine ozarr_time_count

end module ozarr_datasets
