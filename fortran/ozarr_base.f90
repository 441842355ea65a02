! What the modules of ozarr have in common: failures, texts, lists of integers, names of the library.   SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_base
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use ozarr_c
  implicit none
  public

  ! The most dimensions that an array has.
  integer(c_int32_t), parameter :: max_rank = 64
  ! In place of a rank: of what is not open.
  integer(c_int32_t), parameter :: not_open = -2

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

  ! Memory for a text of the library, asked for again where the text is longer:
  !
  !     do while (text%is_wanted(status))
  !       status = ozarr_x(handle, c_loc(text%letters), text%cap, text%length)
  !     end do
  type :: text_buffer
    character(kind=c_char), allocatable :: letters(:)
    integer(c_size_t) :: cap = 0, length = 255
  contains
    procedure :: is_wanted => text_is_wanted
    procedure :: text => text_of_buffer
  end type text_buffer

  ! Names of different lengths, collected one by one.
  type :: name_list
    character(:), allocatable :: names(:)
    integer :: count = 0
  contains
    procedure :: add => names_add
    procedure :: give => names_give
  end type name_list

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

  ! Whether this build of the library has the codec, store or format of that name: "zstd", "blosc", "cloud", ...
  function ozarr_has(name) result(has)
    character(*), intent(in) :: name
    logical :: has
    has = ozarr_has_feature(c_text(name))
  end function ozarr_has

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

  ! The text as C wants it: ended by NUL. Blanks at the end are not part of it, nor are NULs there, as programs append them for C. One with a
  ! NUL inside, which C would end there, becomes what the library refuses by OZARR_ERR_ARGUMENT.
  function c_text(text) result(c)
    character(*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: c
    integer :: n
    n = len_trim(text)
    do while (n > 0)
      if (text(n:n) /= c_null_char) exit
      n = n - 1
    end do
    c = text(:n) // c_null_char
    if (index(text(:n), c_null_char) > 0) c = char(192, c_char) // char(128, c_char) // c_null_char
  end function c_text

  ! The mode of an open: "r" where none is given.
  function mode_text(mode) result(text)
    character(*), intent(in), optional :: mode
    character(kind=c_char, len=:), allocatable :: text
    text = c_text("r")
    if (present(mode)) text = c_text(mode)
  end function mode_text

  ! A list of texts without the blanks at their ends, the last one first where `reversed`. A blank text is NULL where `blank_is_null`. One
  ! more pointer, NULL, is behind them where `ended`.
  subroutine make_texts(list, texts, reversed, blank_is_null, ended)
    character(*), intent(in) :: list(:)
    type(c_texts), intent(out), target :: texts
    logical, intent(in) :: reversed, blank_is_null
    logical, intent(in), optional :: ended
    character(kind=c_char, len=:), allocatable :: text
    integer :: i, c, n
    allocate (texts%letters(len(list) + 1, max(size(list), 1)), texts%pointers(max(size(list) + merge(1, 0, present(ended)), 1)))
    texts%pointers = c_null_ptr
    do i = 1, size(list)
      c = merge(size(list) + 1 - i, i, reversed)
      text = c_text(list(i))
      n = len(text)
      if (n == 1 .and. blank_is_null) cycle
      texts%letters(:n, c) = transfer(text, texts%letters(:, c), n)
      texts%pointers(c) = c_loc(texts%letters(1, c))
    end do
  end subroutine make_texts

  ! Whether to ask for the text: at first, and again where it was longer than the memory.
  function text_is_wanted(self, status) result(wanted)
    class(text_buffer), intent(inout) :: self
    integer(c_int32_t), intent(in) :: status
    logical :: wanted
    wanted = .not. allocated(self%letters)
    if (.not. wanted) wanted = status == OZARR_ERR_BUFFER_SIZE
    if (.not. wanted) return
    self%cap = self%length + 1
    if (allocated(self%letters)) deallocate (self%letters)
    allocate (self%letters(self%cap))
  end function text_is_wanted

  ! The text, or an empty one after a failure.
  function text_of_buffer(self, status) result(text)
    class(text_buffer), intent(in) :: self
    integer(c_int32_t), intent(in) :: status
    character(:), allocatable :: text
    integer(c_size_t) :: i
    text = ""
    if (status /= OZARR_OK .or. self%length >= self%cap) return
    deallocate (text)
    allocate (character(len=self%length) :: text)
    do i = 1, self%length
      text(i:i) = self%letters(i)
    end do
  end function text_of_buffer

  ! Asks the library for a text of a handle.
  subroutine fetch(call_, handle, text, status)
    procedure(text_call) :: call_
    type(c_ptr), intent(in) :: handle
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t), intent(out) :: status
    type(text_buffer), target :: buffer
    status = OZARR_OK
    do while (buffer%is_wanted(status))
      status = call_(handle, c_loc(buffer%letters), buffer%cap, buffer%length)
    end do
    text = buffer%text(status)
  end subroutine fetch

  ! Asks the library for a text that a name belongs to.
  subroutine fetch_named(call_, handle, name, text, status)
    procedure(named_text_call) :: call_
    type(c_ptr), intent(in) :: handle
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t), intent(out) :: status
    type(text_buffer), target :: buffer
    status = OZARR_OK
    do while (buffer%is_wanted(status))
      status = call_(handle, c_text(name), c_loc(buffer%letters), buffer%cap, buffer%length)
    end do
    text = buffer%text(status)
  end subroutine fetch_named

  ! Adds a name of any length; the memory grows by doubling.
  subroutine names_add(self, name)
    class(name_list), intent(inout) :: self
    character(*), intent(in) :: name
    character(:), allocatable :: larger(:)
    integer :: room, letters
    if (.not. allocated(self%names)) self%names = [character(0) ::]
    room = size(self%names)
    letters = len(self%names)
    if (self%count == room .or. len(name) > letters) then
      if (self%count == room) room = max(2 * room, 16)
      letters = max(letters, len(name))
      allocate (character(len=letters) :: larger(room))
      larger(:self%count) = self%names(:self%count)
      call move_alloc(larger, self%names)
    end if
    self%count = self%count + 1
    self%names(self%count) = name
  end subroutine names_add

  ! The names, padded with blanks; none after a failure.
  subroutine names_give(self, names, status)
    class(name_list), intent(in) :: self
    character(:), allocatable, intent(out) :: names(:)
    integer(c_int32_t), intent(in) :: status
    if (status == OZARR_OK .and. self%count > 0) then
      names = self%names(:self%count)
    else
      names = [character(0) ::]
    end if
  end subroutine names_give

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
    status = checked_rank(rank)
    if (status /= OZARR_OK) return
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

  ! A list of integers of any kind and any length.
  subroutine integers_of(list, what, out, status)
    class(*), intent(in) :: list(:)
    character(*), intent(in) :: what
    integer(c_int64_t), allocatable, intent(out) :: out(:)
    integer(c_int32_t), intent(out) :: status
    status = OZARR_OK
    select type (list)
    type is (integer(int8))
      out = list
    type is (integer(int16))
      out = list
    type is (integer(int32))
      out = list
    type is (integer(int64))
      out = list
    class default
      out = [integer(c_int64_t) ::]
      status = refused(OZARR_ERR_ARGUMENT, "found something else for " // what // ", expected a list of integers")
    end select
  end subroutine integers_of

  ! One integer of any kind.
  subroutine integer_of(number, what, out, status)
    class(*), intent(in) :: number
    character(*), intent(in) :: what
    integer(c_int64_t), intent(out) :: out
    integer(c_int32_t), intent(out) :: status
    status = OZARR_OK
    out = 0
    select type (number)
    type is (integer(int8))
      out = number
    type is (integer(int16))
      out = number
    type is (integer(int32))
      out = number
    type is (integer(int64))
      out = number
    class default
      status = refused(OZARR_ERR_ARGUMENT, "found something else for " // what // ", expected an integer")
    end select
  end subroutine integer_of

  ! An integer or a real as real(8).
  subroutine real_of(value, number, status)
    class(*), intent(in) :: value
    real(c_double), intent(out) :: number
    integer(c_int32_t), intent(out) :: status
    integer(c_int64_t) :: count
    status = OZARR_OK
    select type (value)
    type is (real(real32))
      number = value
    type is (real(real64))
      number = value
    class default
      call integer_of(value, "value", count, status)
      number = real(count, c_double)
    end select
  end subroutine real_of

  ! Refuses a dimension that an array of this rank does not have.
  function checked_dim(dim, rank) result(status)
    integer, intent(in) :: dim
    integer(c_int32_t), intent(in) :: rank
    integer(c_int32_t) :: status
    status = checked_rank(rank)
    if (status == OZARR_OK .and. (dim < 1 .or. dim > rank)) status = refused(OZARR_ERR_BOUNDS, &
      "dim is " // decimal(int(dim, c_int64_t)) // ", expected 1 to " // decimal(int(rank, c_int64_t)))
  end function checked_dim

  ! Refuses the rank of what is not open.
  function checked_rank(rank) result(status)
    integer(c_int32_t), intent(in) :: rank
    integer(c_int32_t) :: status
    status = OZARR_OK
    if (rank == not_open) status = refused(OZARR_ERR_NULL, "the array or specification is not open")
  end function checked_rank

  ! Refuses another number of names than there are dimensions.
  function checked_names(names, rank) result(status)
    character(*), intent(in) :: names(:)
    integer(c_int32_t), intent(in) :: rank
    integer(c_int32_t) :: status
    status = checked_rank(rank)
    if (status == OZARR_OK .and. size(names) /= rank) status = refused(OZARR_ERR_RANK, &
      "names has " // decimal(size(names, kind=c_int64_t)) // " texts, expected " // decimal(int(rank, c_int64_t)) // &
      ", the rank of the array")
  end function checked_names

  ! The bytes of one number or logical, and its type in memory.
  function scalar_of(value, what, type, bytes) result(status)
    class(*), intent(in) :: value
    character(*), intent(in) :: what
    integer(c_int32_t), intent(out) :: type
    integer(c_int64_t), intent(out) :: bytes(2)
    integer(c_int32_t) :: status
    status = OZARR_OK
    type = OZARR_AS_STORED
    bytes = 0
    select type (value)
    type is (integer(int8))
      call put(OZARR_INT8, transfer(value, 0_int8, 1))
    type is (integer(int16))
      call put(OZARR_INT16, transfer(value, 0_int8, 2))
    type is (integer(int32))
      call put(OZARR_INT32, transfer(value, 0_int8, 4))
    type is (integer(int64))
      call put(OZARR_INT64, transfer(value, 0_int8, 8))
    type is (real(real32))
      call put(OZARR_FLOAT32, transfer(value, 0_int8, 4))
    type is (real(real64))
      call put(OZARR_FLOAT64, transfer(value, 0_int8, 8))
    type is (complex(real32))
      call put(OZARR_COMPLEX64, transfer(value, 0_int8, 8))
    type is (complex(real64))
      call put(OZARR_COMPLEX128, transfer(value, 0_int8, 16))
    type is (logical(c_bool))
      call put(OZARR_BOOL, [merge(1_int8, 0_int8, logical(value))])
    type is (logical(int32))
      call put(OZARR_BOOL, [merge(1_int8, 0_int8, logical(value))])
    type is (logical(int64))
      call put(OZARR_BOOL, [merge(1_int8, 0_int8, logical(value))])
    class default
      status = refused(OZARR_ERR_TYPE, what // " is of a type that ozarr does not know, expected an integer (1, 2, 4, 8 bytes), &
        &a real (4, 8), a complex (2 x 4, 2 x 8) or a logical")
    end select

  contains

    subroutine put(found, letters)
      integer(c_int32_t), intent(in) :: found
      integer(int8), intent(in) :: letters(:)
      integer(int8) :: all(16)
      all = 0
      all(:size(letters)) = letters
      type = found
      bytes = transfer(all, bytes)
    end subroutine put

  end function scalar_of

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
