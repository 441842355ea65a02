! Data types of text, structs and times, of which OZARR_FLOAT64 and its like say nothing.          SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_dtypes
  use, intrinsic :: iso_c_binding
  use ozarr_base
  use ozarr_c
  implicit none
  private
  public :: ozarr_dtype, dtype_take

  type :: ozarr_dtype
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: parse => dtype_parse
    procedure :: number => dtype_number
    procedure :: text => dtype_text
    procedure :: struct => dtype_struct
    procedure :: add_field => dtype_add_field
    procedure :: is_open => dtype_is_open
    procedure :: close => dtype_close
    final :: dtype_final
  end type ozarr_dtype

  ! Of fortran/ozarr_shim.c.
  interface
    function ozf_text(length, out) bind(c, name="ozf_text") result(r)
      import :: c_ptr, c_int32_t
      integer(c_int32_t), value :: length
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozf_text
    function ozf_struct(variable, out) bind(c, name="ozf_struct") result(r)
      import :: c_ptr, c_int32_t
      type(*), dimension(..), intent(in) :: variable
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozf_struct
    function ozf_add_field(dtype, name, variable, component, field) bind(c, name="ozf_add_field") result(r)
      import :: c_ptr, c_int32_t, c_char
      type(c_ptr), value :: dtype, field
      character(kind=c_char), intent(in) :: name(*)
      type(*), dimension(..), intent(in) :: variable, component
      integer(c_int32_t) :: r
    end function ozf_add_field
  end interface

contains

  impure elemental subroutine dtype_final(self)
    type(ozarr_dtype), intent(inout) :: self
    call ozarr_dtype_free(self%handle)
    self%handle = c_null_ptr
  end subroutine dtype_final

  ! Takes over the handle of a call of the library; after a failure the object is closed.
  subroutine dtype_take(self, handle, status)
    class(ozarr_dtype), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    integer(c_int32_t), intent(in) :: status
    call ozarr_dtype_free(self%handle)
    self%handle = c_null_ptr
    if (status == OZARR_OK) self%handle = handle
  end subroutine dtype_take

  ! The type that a text describes, in the words of Zarr format 2 ("|S20", "<M8[s]"), 3 or either (0).
  subroutine dtype_parse(self, text, zarr_format, stat, errmsg)
    class(ozarr_dtype), intent(inout) :: self
    character(*), intent(in) :: text
    integer, intent(in), optional :: zarr_format
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status, format
    format = 0
    if (present(zarr_format)) format = int(zarr_format, c_int32_t)
    handle = c_null_ptr
    status = ozarr_dtype_parse(c_text(text), format, handle)
    call dtype_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine dtype_parse

  ! The type OZARR_FLOAT64 and the like.
  subroutine dtype_number(self, type, stat, errmsg)
    class(ozarr_dtype), intent(inout) :: self
    integer(c_int32_t), intent(in) :: type
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_dtype_of(type, handle)
    call dtype_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine dtype_number

  ! Text of at most `length` bytes: arrays of it are read and written with character variables.
  subroutine dtype_text(self, length, stat, errmsg)
    class(ozarr_dtype), intent(inout) :: self
    integer, intent(in) :: length
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozf_text(int(length, c_int32_t), handle)
    call dtype_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine dtype_text

  ! Begins to describe a derived type, of which `variable` is one; add_field adds its components.
  subroutine dtype_struct(self, variable, stat, errmsg)
    class(ozarr_dtype), intent(inout) :: self
    type(*), dimension(..), intent(in) :: variable
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    call ozf_note_characters(variable)
    handle = c_null_ptr
    status = ozf_struct(variable, handle)
    call dtype_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine dtype_struct

  ! Adds a component of `variable`: its place and, for numbers, texts and arrays of them, its type are found out. One that is of a derived
  ! type itself is described by `field`. (Where it is a text errmsg stays as it was: see ozf_note_characters.)
  subroutine dtype_add_field(self, name, variable, component, field, stat, errmsg)
    class(ozarr_dtype), intent(inout) :: self
    character(*), intent(in) :: name
    type(*), dimension(..), intent(in) :: variable, component
    class(ozarr_dtype), intent(in), optional :: field
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: of
    integer(c_int32_t) :: status
    call ozf_note_characters(variable)
    call ozf_note_characters(component)
    of = c_null_ptr
    status = OZARR_OK
    if (present(field)) then
      of = field%handle
      if (.not. c_associated(of)) status = refused(OZARR_ERR_NULL, "field is not open, expected a data type")
    end if
    if (status == OZARR_OK) status = ozf_add_field(self%handle, c_text(name), variable, component, of)
    call done(status, stat, errmsg)
  end subroutine dtype_add_field

  pure function dtype_is_open(self) result(is_open)
    class(ozarr_dtype), intent(in) :: self
    logical :: is_open
    is_open = c_associated(self%handle)
  end function dtype_is_open

  subroutine dtype_close(self)
    class(ozarr_dtype), intent(inout) :: self
    call ozarr_dtype_free(self%handle)
    self%handle = c_null_ptr
  end subroutine dtype_close

end module ozarr_dtypes
