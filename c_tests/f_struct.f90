! Texts, derived types and single fields of them.
program f_struct
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use ozarr
  use f_check
  implicit none

  type, bind(c) :: particle
    real(c_double) :: x
    real(c_float) :: v(3)
    integer(c_int32_t) :: id
  end type particle
  type, bind(c) :: pair
    type(particle) :: first, second
    logical(c_bool) :: bound
  end type pair
  type :: labelled
    integer :: id
    character(16) :: label
  end type labelled
  type :: around
    character(4) :: message = ""
    character(12) :: behind = "behind"
  end type around
  type(ozarr_store) :: store

  call store%memory()
  call texts()
  call structs()
  call nested()
  call times()
  call refusals()
  call finish()

contains

  subroutine texts()
    type(ozarr_dtype) :: text
    type(ozarr_spec) :: s
    type(ozarr_array) :: a
    character(8) :: names(2, 3), back(3, 2), one
    character(3) :: short(2)
    character(20) :: line
    integer :: stat, i
    character(300) :: message
    character(0) :: empty(2, 2)
    character(4), parameter :: fills(3) = ["none", "    ", "none"]
    call text%text(8)
    call s%create(text, [2, 3])
    call a%create(store, "texts", s)
    names = reshape([character(8) :: "a", "bb", "ccc", "dddd", "eeeee", "ffffffff"], [2, 3])
    call a%write_text(names)
    call a%read_text(one, start=[2, 3])
    call check(one == "ffffffff", "one text")
    back = "?"
    call a%read_text(back(1, :), start=[1, 2])
    call check(back(1, 1) == "ccc" .and. back(1, 2) == "dddd" .and. back(2, 1) == "?", "to a section")
    line = repeat(".", len(line))
    call a%read_text(line(3:10), start=[1, 2])
    call check(line == "..ccc     " // repeat(".", 10), "to a part of a text")
    back = repeat(".", 8)
    call a%read_text(back(2, 2)(:2), start=[1, 2], stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_RANGE .and. all(back == repeat(".", 8)), "a text that is too long for a part")
    call a%read_text(back(:2, 2)(2:7), start=[1, 1], stat=stat, errmsg=message)
    call check(stat == OZARR_OK, message)
    call check(all(back(:, 2) == [character(8) :: ".a     .", ".bb    .", "........"]), "to parts of elements")
    message = ""
    call a%read_text(short, start=[1, 3], stat=stat, errmsg=message)
    call check(stat /= OZARR_OK, "a text that is too long for the variable")
    call a%write_text(["x", "y"], start=[1, 1])
    call a%read_text(one, start=[1, 1])
    call check(one == "x", "shorter texts")
    one = "ab"
    call a%write_text("k", start=[1, 1])
    call read_back(a, "k", "a constant")
    call a%write_text(trim(one), start=[1, 1])
    call read_back(a, "ab", "a text that is trimmed")
    call a%write_text(one(:2) // "-" // one(2:2), start=[1, 1])
    call read_back(a, "ab-b", "texts that are joined")
    one = ""
    call a%write_text(trim(one), start=[1, 1])
    call read_back(a, "", "a text of length 0")
    call a%write_text(names)
    call a%write_text(empty, start=[1, 2])
    call a%read_text(names)
    call check(all(names(:, 1) == [character(8) :: "a", "bb"]) .and. all(names(:, 2:) == ""), "texts of length 0")
    message = ""
    call a%read_text(one(:0), start=[1, 1], stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_ARGUMENT .and. index(message, "length of 0") > 0, "a variable of length 0: " // message)
    do i = 1, 3
      call s%create(text, [2, 3])
      call s%set_fill(trim(fills(i)))
      if (i == 3) call s%create(OZARR_STRING, [2, 3], fill="none")
      call a%create(store, "filled", s, overwrite=.true.)
      call read_back(a, fills(i), "a text as the fill value")
    end do
    call s%create(text, [2, 3])
    call s%set_fill("much too long", stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_RANGE, "a fill value that is longer than the texts")
    call s%set_fill("a" // achar(0) // "b", stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_ARGUMENT .and. index(message, "NUL") > 0, "a fill value with a NUL inside: " // message)
  end subroutine texts

  subroutine read_back(a, expected, what)
    type(ozarr_array), intent(in) :: a
    character(*), intent(in) :: expected, what
    character(8) :: found
    call a%read_text(found, start=[1, 1])
    call check(found == expected, what)
  end subroutine read_back

  subroutine structs()
    type(ozarr_dtype) :: p
    type(ozarr_spec) :: s
    type(ozarr_array) :: a
    type(particle) :: all(5), back(5)
    real(real64) :: x(5), third(5)
    character(300) :: message
    integer :: stat, i
    call describe(p, all(1))
    call s%create(p, [5])
    call s%set_zarr_format(2)
    call a%create(store, "structs", s)
    call check(a%type() == OZARR_BY_DTYPE .and. a%item_size() == 24, "an array of structs")
    all = [(particle(0.5d0 * i, [real :: i, 2 * i, 3 * i], i), i=1, 5)]
    call a%write_struct(all, p)
    call a%read_struct(back, p)
    call check(all_equal(all, back), "written and read")
    call a%read_struct(back(5:1:-1), p)
    call check(all_equal(all, back(5:1:-1)), "mirrored")
    call a%read(x, field="x")
    call check(maxval(abs(x - [(0.5d0 * i, i=1, 5)])) == 0, "a field")
    call a%read(third, field="v[2]")
    call check(maxval(abs(third - [(3 * i, i=1, 5)])) == 0, "one value of a field that has a shape")
    message = ""
    call a%read(third, field="v", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BUFFER_SIZE, message, 'the field "v" has a shape', "a whole field that has a shape")
    call a%write(10 * x(2:3), start=[2], field="x")
    call a%read_struct(back(1:1), p, start=[3])
    call check(back(1)%x == 15 .and. back(1)%id == 3, "other fields stay")
  end subroutine structs

  subroutine describe(p, one)
    type(ozarr_dtype), intent(inout) :: p
    type(particle), intent(in), target :: one
    call p%struct(one)
    call p%add_field("x", one, one%x)
    call p%add_field("v", one, one%v)
    call p%add_field("id", one, one%id)
  end subroutine describe

  function all_equal(a, b) result(equal)
    type(particle), intent(in) :: a(:), b(:)
    logical :: equal
    integer :: i
    equal = all([(a(i)%x == b(i)%x .and. all(a(i)%v == b(i)%v) .and. a(i)%id == b(i)%id, i=1, size(a))])
  end function all_equal

  subroutine nested()
    type(ozarr_dtype) :: inner, outer
    type(ozarr_spec) :: s
    type(ozarr_array) :: a
    type(pair), target :: one, back
    integer :: id
    call describe(inner, one%first)
    call outer%struct(one)
    call outer%add_field("first", one, one%first, inner)
    call outer%add_field("second", one, one%second, inner)
    call outer%add_field("bound", one, one%bound)
    call s%create(outer, [1])
    call s%set_zarr_format(2)
    call a%create(store, "nested", s)
    one = pair(particle(1d0, [1., 2., 3.], 1), particle(2d0, [4., 5., 6.], 2), .true.)
    call a%write_struct(one, outer)
    call a%read_struct(back, outer)
    call check(back%second%id == 2 .and. all(back%second%v == [4., 5., 6.]) .and. back%bound, "a struct in a struct")
    call a%read(id, start=[1], field="second.id")
    call check(id == 2, "a field of a field")
  end subroutine nested

  subroutine times()
    type(ozarr_dtype) :: t, found
    type(ozarr_spec) :: s
    type(ozarr_array) :: a
    integer(int64) :: hours(2)
    call t%parse("<M8[s]", 2)
    call s%create(t, [2])
    call a%create(store, "times", s)
    call a%write([0_int64, 7200_int64])
    call a%read_times(hours, "hours since 1970-01-01")
    call check(all(hours == [0, 2]), "points in time")
    call a%dtype(found)
    call check(found%is_open(), "the type of an array")
    call found%close()
    call check(.not. found%is_open(), "close")
    call t%number(OZARR_FLOAT64)
    call s%create(t, [2])
  end subroutine times

  subroutine refusals()
    type(ozarr_dtype) :: p, none
    type(ozarr_spec) :: s
    type(ozarr_array) :: a
    type(particle), target :: one, other(2)
    type(around) :: memory
    type(labelled), target :: thing
    logical, target :: wide
    real(real64) :: x(2)
    integer :: stat
    character(300) :: message
    message = ""
    call p%parse("snake", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_UNSUPPORTED, message, "snake", "no type")
    call check(.not. p%is_open(), "a failed parse leaves nothing")
    call p%text(-1, stat=stat, errmsg=message)
    call check(stat /= OZARR_OK, "a negative length")
    call p%struct(one)
    call p%add_field("x", one, other(2)%x, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "not inside", "a component of another variable")
    call p%add_field("wide", wide, wide, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TYPE, message, "logical(c_bool)", "a logical of 4 bytes")
    call p%add_field("x", one, one%x)
    call p%add_field("x", one, one%x, stat=stat, errmsg=message)
    call check(stat /= OZARR_OK, "a name that is there")
    call p%struct(thing)
    call p%add_field("label", thing, thing%label)
    call p%add_field("label", thing, thing%label, stat=stat, errmsg=memory%message)
    call check(stat /= OZARR_OK .and. memory%behind == "behind", "errmsg has its own length where a component is a text")
    call p%struct(one)
    call p%add_field("x", one, one%x)
    call none%add_field("x", one, one%x, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "a type that is not open")
    call p%add_field("y", one, one%x, field=none, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "field is not open", "a component of a type that is not open")
    call s%create(none, [2], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "an array of no type")
    call s%create(p, [2])
    call a%create(store, "refused", s)
    call a%read_struct(other, none, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "data type is not open", "read as no type")
    call a%read_struct(x, p, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TYPE, message, "8 bytes, expected those of the data type, 24", "a variable of another type")
    call a%read(x, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TYPE, message, "", "structs as numbers")
    call a%read(x, field="y", stat=stat, errmsg=message)
    call check(stat /= OZARR_OK, "no such field")
  end subroutine refusals

end program f_struct
