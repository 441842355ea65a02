! The module `ozarr_c`: derived types and characters in arrays of structs and of text.
program f_types
  use, intrinsic :: iso_c_binding
  use ozarr_c
  use f_check
  implicit none

  type, bind(c) :: particle
    integer(c_int16_t) :: id
    real(c_double) :: x
    real(c_float) :: v(3)
  end type particle

  type(c_ptr) :: f32 = c_null_ptr, f64 = c_null_ptr, i16 = c_null_ptr
  integer(c_int64_t) :: no_shape(0)

  call done(ozarr_dtype_of(OZARR_FLOAT32, f32))
  call done(ozarr_dtype_of(OZARR_FLOAT64, f64))
  call done(ozarr_dtype_of(OZARR_INT16, i16))
  call derived_types()
  call characters()
  call ozarr_dtype_free(f32)
  call ozarr_dtype_free(f64)
  call ozarr_dtype_free(i16)
  call finish()

contains

  subroutine done(status)
    integer(c_int32_t), intent(in) :: status
    call check(status == OZARR_OK, "a status")
  end subroutine done

  ! The distance of two places, in bytes.
  function between(first, second)
    type(c_ptr), intent(in) :: first, second
    integer(c_size_t) :: between
    integer(c_intptr_t) :: a, b
    a = transfer(first, a)
    b = transfer(second, b)
    between = int(b - a, c_size_t)
  end function between

  function memory_of(data, bytes, what)
    type(c_ptr), intent(in) :: data, what
    integer(c_size_t), intent(in) :: bytes
    type(ozarr_memory) :: memory_of
    memory_of%struct_size = c_sizeof(memory_of)
    memory_of%data = data
    memory_of%bytes = bytes
    memory_of%type_ = OZARR_BY_DTYPE
    memory_of%dtype = what
  end function memory_of

  function array_of(where, what, n)
    character(*), intent(in) :: where
    type(c_ptr), intent(in) :: what
    integer, intent(in) :: n
    type(c_ptr) :: array_of, spec
    array_of = c_null_ptr
    spec = c_null_ptr
    call done(ozarr_spec_new_dtype(what, 1_c_int32_t, [int(n, c_int64_t)], spec))
    call done(ozarr_spec_set_zarr_format(spec, 2_c_int32_t))
    call done(ozarr_array_create_ex(where // c_null_char, spec, OZARR_CREATE_NEW, array_of))
    call ozarr_spec_free(spec)
  end function array_of

  subroutine derived_types()
    type(particle), target :: all(3), back(3)
    real(c_double), target :: x(3)
    character(kind=c_char), target :: field(2) = ["x", c_null_char]
    type(ozarr_memory), target :: memory
    type(c_ptr) :: what, array
    integer :: i
    what = c_null_ptr
    call done(ozarr_dtype_struct(c_sizeof(all(1)), what))
    call done(ozarr_dtype_add_field(what, "id" // c_null_char, 0_c_size_t, i16, 0_c_int32_t, no_shape))
    call done(ozarr_dtype_add_field(what, "x" // c_null_char, between(c_loc(all(1)), c_loc(all(1)%x)), f64, 0_c_int32_t, no_shape))
    call done(ozarr_dtype_add_field(what, "v" // c_null_char, between(c_loc(all(1)), c_loc(all(1)%v)), f32, 1_c_int32_t, &
      [3_c_int64_t]))
    array = array_of("particles.zarr", what, 3)
    do i = 1, 3
      all(i) = particle(int(i, c_int16_t), 1.5d0 * i, [1.0, 2.0, 3.0] * i)
    end do
    memory = memory_of(c_loc(all), c_sizeof(all), what)
    call done(ozarr_array_write_ex(array, c_null_ptr, c_loc(memory)))
    memory%data = c_loc(back)
    call done(ozarr_array_read_ex(array, c_null_ptr, c_loc(memory)))
    call check(back(1)%x == 1.5d0 .and. back(2)%id == 2 .and. back(3)%x == 4.5d0 .and. back(3)%v(3) == 9, "structs come back")
    memory = memory_of(c_loc(x), c_sizeof(x), c_null_ptr)
    memory%type_ = OZARR_FLOAT64
    memory%field = c_loc(field)
    call done(ozarr_array_read_ex(array, c_null_ptr, c_loc(memory)))
    call check(x(2) == 3, "one field")
    call done(ozarr_array_close(array))
    call ozarr_dtype_free(what)
  end subroutine derived_types

  subroutine characters()
    character(len=6), target :: names(3), back(3)
    type(ozarr_memory), target :: memory
    type(c_ptr) :: blanks, stored, array
    blanks = c_null_ptr
    stored = c_null_ptr
    names = [character(len=6) :: "a", "two wo", ""]
    call done(ozarr_dtype_chars(6_c_size_t, iachar(" "), blanks))
    call done(ozarr_dtype_parse("<U8" // c_null_char, 2_c_int32_t, stored))
    array = array_of("names.zarr", stored, 3)
    memory = memory_of(c_loc(names), 18_c_size_t, blanks)
    call done(ozarr_array_write_ex(array, c_null_ptr, c_loc(memory)))
    back = "______"
    memory%data = c_loc(back)
    call done(ozarr_array_read_ex(array, c_null_ptr, c_loc(memory)))
    call check(all(back == names), "characters come back")
    call done(ozarr_array_close(array))
    call ozarr_dtype_free(blanks)
    call ozarr_dtype_free(stored)
  end subroutine characters

end program f_types
