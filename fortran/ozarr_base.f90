! What the modules of ozarr have in common: failures, texts, lists of integers, names of the library.   SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_base
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use ozarr_c
  implicit none
  public

  ! The most dimensions that an array has.
  integer(c_int32_t), parameter :: max_rank = 64

  ! Of fortran/ozarr_shim.c.
  interface
    function ozf_message() bind(c, name="ozf_message") result(r)
      import :: c_ptr
      type(c_ptr) :: r
    end function ozf_message
    subroutine ozf_note(text) bind(c, name="ozf_note")
      import :: c_char
      character(kind=c_char), intent(in) :: text(*)
    end subroutine ozf_note
    function ozf_strlen(text) bind(c, name="strlen") result(r)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: r
    end function ozf_strlen
  end interface

  ! Functions of the library that write a text to memory of the caller.
  abstract interface
    function text_call(handle, buf, cap, length) bind(c) result(r)
      import :: c_ptr, c_size_t, c_int32_t
      type(c_ptr), value :: handle, buf
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function text_call
    function named_text_call(handle, name, buf, cap, length) bind(c) result(r)
      import :: c_ptr, c_char, c_size_t, c_int32_t
      type(c_ptr), value :: handle, buf
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: cap
      integer(c_size_t), intent(inout), optional :: length
      integer(c_int32_t) :: r
    end function named_text_call
  end interface

  ! A list of texts as C has it: pointers to texts that end in NUL.
  type :: c_texts
    character(kind=c_char), allocatable :: letters(:, :)
    type(c_ptr), allocatable :: pointers(:)
  end type c_texts

contains

  ! ==================================================================================================================
  ! Failures
  ! ==================================================================================================================

  ! Ends every procedure: sets stat and errmsg, or stops the program where a failure has no stat.
  subroutine done(status, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: message
    if (present(stat)) stat = status
    if (status == OZARR_OK) return
    message = text_at(ozf_message())
    if (present(errmsg)) errmsg = message
    if (.not. present(stat)) error stop "ozarr: " // message
  end subroutine done

  ! A failure that the module found itself.
  function refused(status, message) result(same)
    integer(c_int32_t), intent(in) :: status
    character(*), intent(in) :: message
    integer(c_int32_t) :: same
    call ozf_note(message // c_null_char)
    same = status
  end function refused

  ! Decimal digits for a message.
  function decimal(n) result(text)
    integer(c_int64_t), intent(in) :: n
    character(:), allocatable :: text
    character(20) :: buf
    write (buf, "(i0)") n
    text = trim(buf)
  end function decimal

  ! The version of the library that runs.
  function ozarr_library_version() result(text)
    character(:), allocatable :: text
    text = text_at(ozarr_version())
  end function ozarr_library_version

  ! The name of a status, such as "OZARR_ERR_BOUNDS".
  function ozarr_name_of_status(status) result(text)
    integer, intent(in) :: status
    character(:), allocatable :: text
    text = text_at(ozarr_status_name(int(status, c_int32_t)))
  end function ozarr_name_of_status

  ! Erases the node at a location, with everything below it.
  subroutine ozarr_erase(location, stat, errmsg)
    character(*), intent(in) :: location
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_node_erase(c_text(location)), stat, errmsg)
  end subroutine ozarr_erase

  ! ==================================================================================================================
  ! Texts
  ! ==================================================================================================================

  function text_at(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer(c_size_t) :: n, i
    n = ozf_strlen(address)
    call c_f_pointer(address, letters, [n])
    allocate (character(len=n) :: text)
    do i = 1, n
      text(i:i) = letters(i)
    end do
  end function text_at

  ! The text as C wants it: ended by NUL. Blanks at the end are not part of it.
  function c_text(text) result(c)
    character(*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: c
    c = trim(text) // c_null_char
  end function c_text

  ! The mode of an open: "r" where none is given.
  function mode_text(mode) result(text)
    character(*), intent(in), optional :: mode
    character(kind=c_char, len=:), allocatable :: text
    text = c_text("r")
    if (present(mode)) text = c_text(mode)
  end function mode_text

  ! Refuses a text with a NUL inside, where C would end it.
  function checked(text) result(status)
    character(*), intent(in) :: text
    integer(c_int32_t) :: status
    status = OZARR_OK
    if (index(text, c_null_char) > 0) status = refused(OZARR_ERR_ARGUMENT, "the text has a NUL inside, expected none")
  end function checked

  ! A list of texts without the blanks at their ends, the last one first where `reversed`. A blank text is NULL where `blank_is_null`.
  subroutine make_texts(list, texts, reversed, blank_is_null)
    character(*), intent(in) :: list(:)
    type(c_texts), intent(out), target :: texts
    logical, intent(in) :: reversed, blank_is_null
    integer :: i, c, n
    allocate (texts%letters(len(list) + 1, max(size(list), 1)), texts%pointers(max(size(list), 1)))
    texts%pointers = c_null_ptr
    do i = 1, size(list)
      c = merge(size(list) + 1 - i, i, reversed)
      n = len_trim(list(i))
      if (n == 0 .and. blank_is_null) cycle
      texts%letters(:n, c) = transfer(list(i)(:n), texts%letters(:, c), n)
      texts%letters(n + 1, c) = c_null_char
      texts%pointers(c) = c_loc(texts%letters(1, c))
    end do
  end subroutine make_texts

  ! Asks the library for a text, again with more memory where it is longer.
  subroutine fetch(call_, handle, text, status)
    procedure(text_call) :: call_
    type(c_ptr), intent(in) :: handle
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t), intent(out) :: status
    character(kind=c_char), allocatable, target :: buf(:)
    integer(c_size_t) :: length, cap
    length = 255
    do
      cap = length + 1
      if (allocated(buf)) deallocate (buf)
      allocate (buf(cap))
      status = call_(handle, c_loc(buf), cap, length)
      if (status /= OZARR_ERR_BUFFER_SIZE) exit
    end do
    text = ""
    if (status == OZARR_OK) text = text_at(c_loc(buf))
  end subroutine fetch

  ! Asks the library for a text that a name belongs to.
  subroutine fetch_named(call_, handle, name, text, status)
    procedure(named_text_call) :: call_
    type(c_ptr), intent(in) :: handle
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t), intent(out) :: status
    character(kind=c_char), allocatable, target :: buf(:)
    integer(c_size_t) :: length, cap
    length = 255
    do
      cap = length + 1
      if (allocated(buf)) deallocate (buf)
      allocate (buf(cap))
      status = call_(handle, c_text(name), c_loc(buf), cap, length)
      if (status /= OZARR_ERR_BUFFER_SIZE) exit
    end do
    text = ""
    if (status == OZARR_OK) text = text_at(c_loc(buf))
  end subroutine fetch_named

  ! ==================================================================================================================
  ! Lists of integers
  ! ==================================================================================================================

  ! A list of integers of any kind in its own order: `rank` of them, or any number where `rank` is negative.
  subroutine numbers_of(list, what, rank, out, found, status)
    class(*), intent(in) :: list(:)
    character(*), intent(in) :: what
    integer(c_int32_t), intent(in) :: rank
    integer(c_int64_t), intent(inout) :: out(max_rank)
    integer(c_int32_t), intent(out) :: found
    integer(c_int32_t), intent(out) :: status
    character(:), allocatable :: expected
    found = int(size(list), c_int32_t)
    status = OZARR_OK
    if ((rank >= 0 .and. found /= rank) .or. size(list) > max_rank) then
      expected = ", expected at most " // decimal(int(max_rank, c_int64_t))
      if (rank >= 0) expected = ", expected " // decimal(int(rank, c_int64_t)) // ", the rank of the array"
      status = refused(OZARR_ERR_RANK, what // " has " // decimal(size(list, kind=c_int64_t)) // " numbers" // expected)
      return
    end if
    if (size(list) == 0) return
    select type (list)
    type is (integer(int8))
      out(:found) = list
    type is (integer(int16))
      out(:found) = list
    type is (integer(int32))
      out(:found) = list
    type is (integer(int64))
      out(:found) = list
    class default
      status = refused(OZARR_ERR_ARGUMENT, "found something else for " // what // &
        ", expected a list of integers, one for each dimension")
    end select
  end subroutine numbers_of

  ! A list of integers in C's order.
  subroutine reversed_numbers_of(list, what, rank, out, found, status)
    class(*), intent(in) :: list(:)
    character(*), intent(in) :: what
    integer(c_int32_t), intent(in) :: rank
    integer(c_int64_t), intent(inout) :: out(max_rank)
    integer(c_int32_t), intent(out) :: found
    integer(c_int32_t), intent(out) :: status
    call numbers_of(list, what, rank, out, found, status)
    if (status == OZARR_OK) out(:found) = out(found:1:-1)
  end subroutine reversed_numbers_of

  ! What to do if there is a node already: `mode`, or OZARR_CREATE_OVERWRITE where `overwrite` is true, or OZARR_CREATE_NEW.
  pure function create_mode(overwrite, mode) result(chosen)
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer(c_int32_t) :: chosen
    chosen = OZARR_CREATE_NEW
    if (present(overwrite)) then
      if (overwrite) chosen = OZARR_CREATE_OVERWRITE
    end if
    if (present(mode)) chosen = int(mode, c_int32_t)
  end function create_mode

end module ozarr_base
