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
    function ozf_outcome(status) bind(c, name="ozf_outcome") result(r)
      import :: c_int32_t
      integer(c_int32_t), value :: status
      integer(c_int32_t) :: r
    end function ozf_outcome
    subroutine ozf_no_memory() bind(c, name="ozf_no_memory")
    end subroutine ozf_no_memory
    subroutine ozf_tell(status) bind(c, name="ozf_tell")
      import :: c_int32_t
      integer(c_int32_t), value :: status
    end subroutine ozf_tell
    subroutine ozf_note_begin() bind(c, name="ozf_note_begin")
    end subroutine ozf_note_begin
    subroutine ozf_note_text(text, length) bind(c, name="ozf_note_text")
      import :: c_char, c_int64_t
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int64_t), value :: length
    end subroutine ozf_note_text
    subroutine ozf_note_number(number) bind(c, name="ozf_note_number")
      import :: c_int64_t
      integer(c_int64_t), value :: number
    end subroutine ozf_note_number
    subroutine ozf_copy(to, from, length) bind(c, name="ozf_copy")
      import :: c_int64_t, c_size_t
      integer(c_int64_t), intent(inout) :: to(*)
      type(*), intent(in) :: from
      integer(c_size_t), value :: length
    end subroutine ozf_copy
    subroutine ozf_note_characters(u) bind(c, name="ozf_note_characters")
      type(*), dimension(..), intent(in) :: u
    end subroutine ozf_note_characters
    function ozf_errmsg_is_known() bind(c, name="ozf_errmsg_is_known") result(r)
      import :: c_int32_t
      integer(c_int32_t) :: r
    end function ozf_errmsg_is_known
    function ozf_integers(list, rank, out) bind(c, name="ozf_integers") result(r)
      import :: c_int32_t, c_int64_t
      type(*), dimension(..), intent(in) :: list
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(inout) :: out(*)
      integer(c_int32_t) :: r
    end function ozf_integers
    subroutine ozf_lock() bind(c, name="ozf_lock")
    end subroutine ozf_lock
    subroutine ozf_unlock() bind(c, name="ozf_unlock")
    end subroutine ozf_unlock
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
    procedure :: give => text_give
  end type text_buffer

  ! Names of different lengths, collected one by one.
  type :: name_list
    character(:), allocatable :: names(:)
    integer :: count = 0, longest = 0
  contains
    procedure :: add => names_add
    procedure :: give => names_give
  end type name_list

contains

  ! ==================================================================================================================
  ! Failures
  ! ==================================================================================================================

  ! Ends every procedure: sets stat and errmsg, or stops the program where a failure has no stat. It takes no memory, which may have ended.
  subroutine done(status, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(4096) :: line
    character(kind=c_char), pointer, contiguous :: letters(:)
    integer(c_int32_t) :: outcome
    logical :: is_known
    outcome = ozf_outcome(status)
    ! Asked in each call, which takes the mark of this call's arguments back.
    is_known = ozf_errmsg_is_known() /= 0
    if (present(stat)) stat = outcome
    if (outcome == OZARR_OK) return
    letters => letters_at(ozf_message())
    if (present(errmsg) .and. is_known) call put_letters(letters, errmsg)
    if (present(stat)) return
    line = "ozarr:"
    call put_letters(letters, line(8:))
    error stop line(:min(7 + size(letters), len(line)))
  end subroutine done

  ! A failure that the module found itself. Its message is text, name, behind, n, after, m and ending, of which those that are absent are
  ! left out. (It is put together without memory.)
  function refused(status, text, name, behind, n, after, m, ending) result(same)
    integer(c_int32_t), intent(in) :: status
    character(*), intent(in) :: text
    character(*), intent(in), optional :: name, behind, after, ending
    integer(c_int64_t), intent(in), optional :: n, m
    integer(c_int32_t) :: same
    call ozf_note_begin()
    call ozf_note_text(text, len(text, c_int64_t))
    if (present(name)) call ozf_note_text(name, len_trim(name, c_int64_t))
    if (present(behind)) call ozf_note_text(behind, len(behind, c_int64_t))
    if (present(n)) call ozf_note_number(n)
    if (present(after)) call ozf_note_text(after, len(after, c_int64_t))
    if (present(m)) call ozf_note_number(m)
    if (present(ending)) call ozf_note_text(ending, len(ending, c_int64_t))
    same = status
  end function refused

  ! Refuses what there was no memory for: `failed` is the stat of an allocate.
  function checked_memory(failed, what) result(status)
    integer, intent(in) :: failed
    character(*), intent(in) :: what
    integer(c_int32_t) :: status
    status = OZARR_OK
    if (failed /= 0) status = refused(OZARR_ERR_NO_MEMORY, "no memory for ", what)
  end function checked_memory

  ! The version of the library that runs.
  function ozarr_library_version() result(text)
    character(:), allocatable :: text
    call text_at(ozarr_version(), text)
    call done(OZARR_OK)
  end function ozarr_library_version

  ! Whether this build of the library has the codec, store or format of that name: "zstd", "blosc", "cloud", ...
  function ozarr_has(name) result(has)
    character(*), intent(in) :: name
    logical :: has
    has = ozarr_has_feature(c_text(name))
    call done(OZARR_OK)
  end function ozarr_has

  ! The name of a status, such as "OZARR_ERR_BOUNDS".
  function ozarr_name_of_status(status) result(text)
    integer, intent(in) :: status
    character(:), allocatable :: text
    call text_at(ozarr_status_name(int(status, c_int32_t)), text)
    call done(OZARR_OK)
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

  ! The letters of a text of the library.
  function letters_at(address) result(letters)
    type(c_ptr), intent(in) :: address
    character(kind=c_char), pointer, contiguous :: letters(:)
    call c_f_pointer(address, letters, [ozf_strlen(address)])
  end function letters_at

  ! Copies letters to a text, which is cut, or padded with blanks.
  pure subroutine put_letters(letters, text)
    character(kind=c_char), intent(in) :: letters(:)
    character(*), intent(inout) :: text
    integer :: i
    do i = 1, min(size(letters), len(text))
      text(i:i) = letters(i)
    end do
    if (len(text) > size(letters)) text(size(letters) + 1:) = ""
  end subroutine put_letters

  ! Copies letters to a new text; after a failure it is not allocated.
  subroutine new_text(letters, text, status)
    character(kind=c_char), intent(in) :: letters(:)
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t), intent(inout) :: status
    integer :: failed
    allocate (character(len=size(letters)) :: text, stat=failed)
    if (failed == 0) then
      call put_letters(letters, text)
    else if (status == OZARR_OK) then
      status = checked_memory(failed, "a text")
    end if
  end subroutine new_text

  ! A text of the library; done says where it had no memory.
  subroutine text_at(address, text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t) :: status
    status = OZARR_OK
    call new_text(letters_at(address), text, status)
    if (status /= OZARR_OK) call ozf_no_memory()
  end subroutine text_at

  ! The length of a text without the blanks at its end, and without NULs there, which programs append for C.
  pure function length_of(text) result(n)
    character(*), intent(in) :: text
    integer :: n
    n = len_trim(text)
    do while (n > 0)
      if (text(n:n) /= c_null_char) exit
      n = n - 1
    end do
  end function length_of

  ! Puts the first n letters of a text to where there is room for one more, a NUL. A text with a NUL inside, which C would end there,
  ! becomes what the library refuses by OZARR_ERR_ARGUMENT.
  pure subroutine put_text(text, n, c)
    character(*), intent(in) :: text
    integer, intent(in) :: n
    character(kind=c_char), intent(inout) :: c(*)
    integer :: i
    do i = 1, n
      c(i) = text(i:i)
    end do
    c(n + 1) = c_null_char
    if (index(text(:n), c_null_char) == 0) return
    c(1) = char(192, c_char)
    c(2) = char(128, c_char)
    c(3) = c_null_char
  end subroutine put_text

  ! The text as C wants it: without blanks at its end, and ended by NUL. One that had no memory is not allocated, which is NULL in C: done
  ! makes OZARR_ERR_NO_MEMORY of the call.
  function c_text(text) result(c)
    character(*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: c
    integer(c_int32_t) :: status
    status = OZARR_OK
    call keep_text(text, c, status)
    if (status /= OZARR_OK) call ozf_no_memory()
  end function c_text

  ! The mode of an open: "r" where none is given.
  function mode_text(mode) result(c)
    character(*), intent(in), optional :: mode
    character(kind=c_char, len=:), allocatable :: c
    integer(c_int32_t) :: status
    status = OZARR_OK
    if (present(mode)) then
      call keep_text(mode, c, status)
    else
      call keep_text("r", c, status)
    end if
    if (status /= OZARR_OK) call ozf_no_memory()
  end function mode_text

  ! Keeps a text, where one is given, as C wants it in `c`: for calls that take NULL for none.
  subroutine keep_text(text, c, status, address)
    character(*), intent(in), optional :: text
    character(kind=c_char, len=:), allocatable, intent(out), target :: c
    integer(c_int32_t), intent(inout) :: status
    type(c_ptr), intent(inout), optional :: address
    integer :: n, failed
    if (.not. present(text) .or. status /= OZARR_OK) return
    n = length_of(text)
    allocate (character(kind=c_char, len=n + 1) :: c, stat=failed)
    status = checked_memory(failed, "a text of the call")
    if (status /= OZARR_OK) return
    call put_text(text, n, c)
    if (present(address)) address = c_loc(c)
  end subroutine keep_text

  ! A list of texts without the blanks at their ends, the last one first where `reversed`. A blank text is NULL where `blank_is_null`. One
  ! more pointer, NULL, is behind them where `ended`.
  subroutine make_texts(list, texts, status, reversed, blank_is_null, ended)
    character(*), intent(in) :: list(:)
    type(c_texts), intent(out), target :: texts
    integer(c_int32_t), intent(out) :: status
    logical, intent(in) :: reversed, blank_is_null
    logical, intent(in), optional :: ended
    integer :: i, c, n, failed
    allocate (texts%letters(len(list) + 1, max(size(list), 1)), stat=failed)
    if (failed == 0) allocate (texts%pointers(max(size(list) + merge(1, 0, present(ended)), 1)), stat=failed)
    status = checked_memory(failed, "a list of texts")
    if (status /= OZARR_OK) return
    texts%pointers = c_null_ptr
    do i = 1, size(list)
      c = merge(size(list) + 1 - i, i, reversed)
      n = length_of(list(i))
      if (n == 0 .and. blank_is_null) cycle
      call put_text(list(i), n, texts%letters(1, c))
      texts%pointers(c) = c_loc(texts%letters(1, c))
    end do
  end subroutine make_texts

  ! Whether to ask for the text: at first, and again where it was longer than the memory.
  function text_is_wanted(self, status) result(wanted)
    class(text_buffer), intent(inout) :: self
    integer(c_int32_t), intent(inout) :: status
    logical :: wanted
    integer :: failed
    wanted = .not. allocated(self%letters)
    if (.not. wanted) wanted = status == OZARR_ERR_BUFFER_SIZE
    if (.not. wanted) return
    self%cap = self%length + 1
    if (allocated(self%letters)) deallocate (self%letters)
    allocate (self%letters(self%cap), stat=failed)
    if (failed == 0) return
    status = checked_memory(failed, "a text")
    wanted = .false.
  end function text_is_wanted

  ! Gives the text, or an empty one after a failure; without memory for it, none.
  subroutine text_give(self, text, status)
    class(text_buffer), intent(in) :: self
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t), intent(inout) :: status
    if (status == OZARR_OK .and. self%length < self%cap) then
      call new_text(self%letters(:self%length), text, status)
    else
      call new_text([character(kind=c_char) ::], text, status)
    end if
  end subroutine text_give

  ! Asks the library for a text of a handle.
  subroutine ask(call_, handle, buffer, status)
    procedure(text_call) :: call_
    type(c_ptr), intent(in) :: handle
    type(text_buffer), intent(out), target :: buffer
    integer(c_int32_t), intent(out) :: status
    status = OZARR_OK
    do while (buffer%is_wanted(status))
      status = call_(handle, c_loc(buffer%letters), buffer%cap, buffer%length)
    end do
  end subroutine ask

  ! Asks the library for a text of a handle, and gives it.
  subroutine fetch(call_, handle, text, status)
    procedure(text_call) :: call_
    type(c_ptr), intent(in) :: handle
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t), intent(out) :: status
    type(text_buffer), target :: buffer
    call ask(call_, handle, buffer, status)
    call buffer%give(text, status)
  end subroutine fetch

  ! Asks the library for a text that a name belongs to, and gives it.
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
    call buffer%give(text, status)
  end subroutine fetch_named

  ! Adds a name of any length; the memory grows by doubling.
  subroutine names_add(self, letters, status)
    class(name_list), intent(inout) :: self
    character(kind=c_char), intent(in) :: letters(:)
    integer(c_int32_t), intent(inout) :: status
    integer :: room
    room = 0
    if (allocated(self%names)) room = size(self%names)
    if (self%count == room) room = max(2 * room, 16)
    call names_grow(self, max(self%longest, size(letters)), room, status)
    if (status /= OZARR_OK) return
    self%count = self%count + 1
    call put_letters(letters, self%names(self%count))
  end subroutine names_add

  ! Makes room for this many names of this length, if there is less.
  subroutine names_grow(self, longest, room, status)
    class(name_list), intent(inout) :: self
    integer, intent(in) :: longest, room
    integer(c_int32_t), intent(inout) :: status
    character(:), allocatable :: larger(:)
    integer :: i, failed
    if (status /= OZARR_OK) return
    if (allocated(self%names)) then
      if (size(self%names) >= room .and. self%longest >= longest) return
    end if
    allocate (character(len=longest) :: larger(room), stat=failed)
    status = checked_memory(failed, "a list of names")
    if (status /= OZARR_OK) return
    do i = 1, self%count
      larger(i) = self%names(i)
    end do
    call move_alloc(larger, self%names)
    self%longest = longest
  end subroutine names_grow

  ! Gives the names, padded with blanks; none after a failure.
  subroutine names_give(self, names, status)
    class(name_list), intent(in) :: self
    character(:), allocatable, intent(out) :: names(:)
    integer(c_int32_t), intent(inout) :: status
    integer :: i, n, failed
    n = merge(self%count, 0, status == OZARR_OK)
    allocate (character(len=merge(self%longest, 0, n > 0)) :: names(n), stat=failed)
    if (failed /= 0) then
      if (status == OZARR_OK) status = checked_memory(failed, "a list of names")
      return
    end if
    do i = 1, n
      names(i) = self%names(i)
    end do
  end subroutine names_give

  ! ==================================================================================================================
  ! Lists of integers
  ! ==================================================================================================================

  ! Copies a list of integers of any kind. (Lists are of an assumed type, not polymorphic: of a component of an array of a derived type,
  ! such as boxes%lo, gfortran takes what lies behind the first element for the others where a dummy argument is class(*).)
  function copied_integers(list, what, expected, out) result(status)
    type(*), dimension(..), intent(in) :: list
    character(*), intent(in) :: what, expected
    integer(c_int64_t), intent(inout) :: out(*)
    integer(c_int32_t) :: status
    status = ozf_integers(list, 1_c_int32_t, out)
    if (status /= OZARR_OK) status = refused(status, "found something else for ", what, expected)
  end function copied_integers

  ! A list of integers of any kind in its own order: `rank` of them, or any number where `rank` is negative.
  subroutine numbers_of(list, what, rank, out, found, status)
    type(*), dimension(..), intent(in) :: list
    character(*), intent(in) :: what
    integer(c_int32_t), intent(in) :: rank
    integer(c_int64_t), intent(inout) :: out(max_rank)
    integer(c_int32_t), intent(out) :: found
    integer(c_int32_t), intent(out) :: status
    found = int(max(size(list), 0), c_int32_t)            ! gfortran has -1 for [integer ::]
    status = checked_rank(rank)
    if (status /= OZARR_OK) return
    if (rank >= 0 .and. found /= rank) then
      status = refused(OZARR_ERR_RANK, what, behind=" has ", n=int(found, c_int64_t), after=" numbers, expected ", &
        m=int(rank, c_int64_t), ending=", the rank of the array")
    else if (found > max_rank) then
      status = refused(OZARR_ERR_RANK, what, behind=" has ", n=int(found, c_int64_t), after=" numbers, expected at most ", &
        m=int(max_rank, c_int64_t))
    end if
    if (status == OZARR_OK .and. found > 0) status = copied_integers(list, what, &
      ", expected a list of integers, one for each dimension", out)
  end subroutine numbers_of

  ! A list of integers in C's order.
  subroutine reversed_numbers_of(list, what, rank, out, found, status)
    type(*), dimension(..), intent(in) :: list
    character(*), intent(in) :: what
    integer(c_int32_t), intent(in) :: rank
    integer(c_int64_t), intent(inout) :: out(max_rank)
    integer(c_int32_t), intent(out) :: found
    integer(c_int32_t), intent(out) :: status
    call numbers_of(list, what, rank, out, found, status)
    if (status == OZARR_OK) call reverse(out(:found))
  end subroutine reversed_numbers_of

  ! As reversed_numbers_of, of the lists of a new array. (A generic procedure needs their rank, and an empty list, [integer ::], would be
  ! none: gfortran takes it for absent where a dummy argument is of an assumed type and optional.)
  subroutine extents_of(list, what, rank, out, found, status)
    class(*), intent(in) :: list(:)
    character(*), intent(in) :: what
    integer(c_int32_t), intent(in) :: rank
    integer(c_int64_t), intent(inout) :: out(max_rank)
    integer(c_int32_t), intent(out) :: found
    integer(c_int32_t), intent(out) :: status
    found = 0
    select type (list)
    type is (integer(int8))
      call reversed_numbers_of(list, what, rank, out, found, status)
    type is (integer(int16))
      call reversed_numbers_of(list, what, rank, out, found, status)
    type is (integer(int32))
      call reversed_numbers_of(list, what, rank, out, found, status)
    type is (integer(int64))
      call reversed_numbers_of(list, what, rank, out, found, status)
    class default
      status = refused(OZARR_ERR_ARGUMENT, "found something else for ", what, &
        ", expected a list of integers, one for each dimension")
    end select
  end subroutine extents_of

  ! Turns a list round, without memory for a copy.
  pure subroutine reverse(list)
    integer(c_int64_t), intent(inout) :: list(:)
    integer(c_int64_t) :: number
    integer :: i, j
    do i = 1, size(list) / 2
      j = size(list) + 1 - i
      number = list(i)
      list(i) = list(j)
      list(j) = number
    end do
  end subroutine reverse

  ! A list of integers of any kind and any length; after a failure it is not allocated.
  subroutine integers_of(list, what, out, status)
    type(*), dimension(..), intent(in) :: list
    character(*), intent(in) :: what
    integer(c_int64_t), allocatable, intent(out) :: out(:)
    integer(c_int32_t), intent(out) :: status
    integer :: failed
    allocate (out(size(list)), stat=failed)
    status = checked_memory(failed, what)
    if (status /= OZARR_OK) return
    status = copied_integers(list, what, ", expected a list of integers", out)
    if (status /= OZARR_OK) deallocate (out)
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
      status = refused(OZARR_ERR_ARGUMENT, "found something else for ", what, ", expected an integer")
    end select
  end subroutine integer_of

  ! An integer or a real as real(8). An integer that it does not hold is refused: one with more than 53 bits from its first to its last.
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
      if (status /= OZARR_OK) status = refused(OZARR_ERR_ARGUMENT, "found something else for value, expected an integer or a real")
      if (status /= OZARR_OK) return
      if (bit_size(count) - leadz(merge(not(count), count, count < 0)) - trailz(count) > digits(number)) status = &
        refused(OZARR_ERR_RANGE, "value is ", n=count, after=", which no real(8) holds; put it as the coordinate's variable")
    end select
  end subroutine real_of

  ! Refuses a dimension that an array of this rank does not have.
  function checked_dim(dim, rank) result(status)
    integer, intent(in) :: dim
    integer(c_int32_t), intent(in) :: rank
    integer(c_int32_t) :: status
    status = checked_rank(rank)
    if (status == OZARR_OK .and. (dim < 1 .or. dim > rank)) status = refused(OZARR_ERR_BOUNDS, &
      "dim is ", n=int(dim, c_int64_t), after=", expected 1 to ", m=int(rank, c_int64_t))
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
      "names has ", n=size(names, kind=c_int64_t), after=" texts, expected ", m=int(rank, c_int64_t), &
      ending=", the rank of the array")
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
      call put(OZARR_INT8, value, 1)
    type is (integer(int16))
      call put(OZARR_INT16, value, 2)
    type is (integer(int32))
      call put(OZARR_INT32, value, 4)
    type is (integer(int64))
      call put(OZARR_INT64, value, 8)
    type is (real(real32))
      call put(OZARR_FLOAT32, value, 4)
    type is (real(real64))
      call put(OZARR_FLOAT64, value, 8)
    type is (complex(real32))
      call put(OZARR_COMPLEX64, value, 8)
    type is (complex(real64))
      call put(OZARR_COMPLEX128, value, 16)
    type is (logical(c_bool))
      call put(OZARR_BOOL, merge(1_int8, 0_int8, logical(value)), 1)
    type is (logical(int16))
      call put(OZARR_BOOL, merge(1_int8, 0_int8, logical(value)), 1)
    type is (logical(int32))
      call put(OZARR_BOOL, merge(1_int8, 0_int8, logical(value)), 1)
    type is (logical(int64))
      call put(OZARR_BOOL, merge(1_int8, 0_int8, logical(value)), 1)
    class default
      status = refused(OZARR_ERR_TYPE, what, behind=" is of a type that ozarr does not know, expected an &
        &integer (1, 2, 4, 8 bytes), a real (4, 8), a complex (2 x 4, 2 x 8) or a logical (1, 2, 4, 8)")
    end select

  contains

    subroutine put(found, number, length)
      integer(c_int32_t), intent(in) :: found
      type(*), intent(in) :: number
      integer, intent(in) :: length
      type = found
      call ozf_copy(bytes, number, int(length, c_size_t))
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
