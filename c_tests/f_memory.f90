! The calls whose allocations each_allocation.c fails: most procedures of the Fortran modules that take memory themselves.
module f_memory
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int64, real64
  use ozarr
  implicit none
  private
  public :: number_of_calls, outcome, prepare, call, look      ! of each_allocation.c

  integer, parameter :: calls = 59
  character(4), parameter :: axes(2) = [character(4) :: "x", "time"]
  type(ozarr_store) :: store
  type(ozarr_group) :: group, other
  type(ozarr_array) :: a, b
  type(ozarr_dataset) :: dataset
  type(ozarr_series) :: series
  type(ozarr_appender) :: appender
  type(ozarr_batch) :: batch
  type(ozarr_checkpoint) :: checkpoint
  type(ozarr_spec) :: spec
  type(ozarr_dtype) :: dtype
  type(ozarr_indices) :: lists(2)
  type(ozarr_request) :: requests(2)
  character(:), allocatable :: text, names(:), more(:)
  integer(c_int32_t), allocatable :: kinds(:)
  integer(int64), allocatable :: numbers(:), others(:)
  real(real64), allocatable :: reals(:)
  logical, allocatable :: flags(:)
  integer(int8), allocatable :: bytes(:)
  integer, allocatable :: stats(:)
  real(real64), asynchronous :: u(4, 3), w(4, 3)
  real(real64) :: v(8, 6)
  integer(int64) :: count
  character(200) :: message
  character(12) :: word

contains

  integer(c_int) function number_of_calls() bind(c)
    number_of_calls = calls
  end function number_of_calls

  ! How a call ends where there is memory.
  integer(c_int) function outcome(n) bind(c)
    integer(c_int), value :: n
    select case (n)
    case (24, 51)
      outcome = OZARR_ERR_NOT_FOUND
    case (36, 54)
      outcome = OZARR_ERR_RANK
    case (53)
      outcome = OZARR_ERR_TYPE
    case default
      outcome = OZARR_OK
    end select
  end function outcome

  ! What the calls work with, in memory.
  subroutine make_all()
    call store%memory()
    call group%create(store, "")
    call a%create(group, "a", OZARR_FLOAT64, [4, 3], chunks=[2, 3])
    u = reshape([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [4, 3])
    call a%write(u)
    call a%set_attr("units", "K")
    call a%set_attr("list", [character(5) :: "one", "three"])
    call a%set_attr("numbers", [1.5d0, 2.5d0])
    call group%set_attr("title", repeat("long ", 100) // "text")
    call other%create(group, "d")
    call dataset%open(other)
    call dataset%define_dimension("x", 4)
    call dataset%define_dimension("time", 0)
    lists = [ozarr_indices([1, 4]), ozarr_indices([1, 3])]
  end subroutine make_all

  subroutine prepare(n) bind(c)
    integer(c_int), value :: n
    call make_all()
    message = ""
    select case (n)
    case (20)
      call dataset%define_variable("t", OZARR_FLOAT64, axes)
    case (21:24)
      call dataset%define_variable("t", OZARR_FLOAT64, axes)
      call dataset%define_variable("p", OZARR_FLOAT64, axes)
      if (n > 21) call series%open(dataset, "time")
    case (25, 26)
      call b%create(group, "b", OZARR_FLOAT64, [4, 0], chunks=[4, 2])
      if (n == 26) call appender%open(b)
    case (30, 31)
      call checkpoint%begin("checkpoints.zarr", "s1")
      call checkpoint%write("u", u)
      call checkpoint%commit()
    case (39)
      call b%create(group, "b", OZARR_INT64, [4], chunks=[2])
    case (40)
      call dataset%define_time("t", 3, "hours since 2026-01-01", array=b)
      call b%write([0_int64, 1_int64, 2_int64])
      allocate (numbers(3))
    case (46)
      call batch%read(a, u)
    case (58)
      call a%iread(u, requests(1))
      call a%iread(w, requests(2))
    end select
  end subroutine prepare

  integer(c_int) function call(n) bind(c)
    integer(c_int), value :: n
    integer :: stat
    stat = OZARR_OK
    if (n < 21) then
      call call_nodes(n, stat)
    else if (n < 41) then
      call call_steps(n, stat)
    else
      call call_others(n, stat)
    end if
    call = stat
  end function call

  subroutine call_nodes(n, stat)
    integer, intent(in) :: n
    integer, intent(out) :: stat
    stat = OZARR_OK
    select case (n)
    case (1); call b%open(group, "a", stat=stat, errmsg=message)
    case (2); call other%open(store, "", stat=stat)
    case (3); call other%create(group, "new", stat=stat, errmsg=message)
    case (4); call b%create(group, "b", OZARR_FLOAT64, [4, 3], chunks=[2, 3], compressor="zstd", level=2, fill=1d0, &
      names=["x", " "], attributes='{"k": 1}', stat=stat, errmsg=message)
    case (5); call a%set_attr("units", "m", stat=stat, errmsg=message)
    case (6); call a%set_attr("many", [character(5) :: "a", "bb", "ccc"], stat=stat, errmsg=message)
    case (7); call a%get_attr("units", word, stat=stat, errmsg=message)
    case (8); call group%get_attr_text("title", text, stat=stat, errmsg=message)
    case (9); call a%get_attr_texts("list", names, stat=stat, errmsg=message)
    case (10); call a%get_attrs(text, stat=stat, errmsg=message)
    case (11); call a%set_attr("x", [1.5d0, 2d0, 3d0], stat=stat)
    case (12); call a%get_attr("numbers", reals, stat=stat)
    case (13); call a%export(bytes, stat=stat)
    case (14); call group%children(names, kinds, stat=stat, errmsg=message)
    case (15); call group%nodes(names, kinds, pattern="a*", errors=more, stat=stat, errmsg=message)
    case (16); call dataset%dimensions(names, numbers, stat=stat, errmsg=message)
    case (17); call dataset%variables(names, flags, stat=stat, errmsg=message)
    case (18); call dataset%define_variable("t", OZARR_FLOAT64, axes, b, units="K", long_name="temperature", &
      standard_name="air_temperature", attributes='{"k": [1]}', missing=-9d0, chunks=[4, 8], compressor="zstd", stat=stat, &
      errmsg=message)
    case (19); call dataset%define_coordinate("y", [1d0, 2d0], units="m", array=b, stat=stat, errmsg=message)
    case (20); call dataset%open_variable("t", b, stat=stat)
    end select
  end subroutine call_nodes

  subroutine call_steps(n, stat)
    integer, intent(in) :: n
    integer, intent(out) :: stat
    stat = OZARR_OK
    select case (n)
    case (21); call series%open(dataset, "time", stat=stat, errmsg=message)
    case (22); call series%put("t", u(:, 1), stat=stat, errmsg=message)
    case (23); call series%step(1, "t", u(:, 1), stat=stat, errmsg=message)
    case (24); call series%put("none", u(:, 1), stat=stat, errmsg=message)
    case (25); call appender%open(b, stat=stat)
    case (26); call appender%append(u(4:1:-1, 2), stat=stat)
    case (27); call ozarr_time_text(36_int64, "hours since 2026-01-01", text, stat=stat)
    case (28); call ozarr_time_count("2026-01-02", "hours since 2026-01-01", count, calendar="noleap", stat=stat)
    case (29); call store%open("store.zarr", "r+", options=[character(12) :: "consolidated", "never"], stat=stat, errmsg=message)
    case (30); call checkpoint%open_latest("checkpoints.zarr", stat=stat)
    case (31); call ozarr_list_checkpoints("checkpoints.zarr", names, stat=stat)
    case (32); call a%read(v(1:8:2, 6:1:-2), stat=stat)
    case (33); call a%write(u(4:1:-1, :), stat=stat)
    case (34); call a%read_points(u(:2, 1), reshape([1, 1, 4, 3], [2, 2]), stat=stat, errmsg=message)
    case (35); call a%read_lists(u(:2, :2), lists, stat=stat)
    case (36); call a%read_mask(u(:, 1), reshape([.true., .false.], [2, 1]), stat=stat)
    case (37); call a%read_chunk([1, 1], bytes, stat=stat)
    case (38); call a%dimension_name(1, text, stat=stat)
    case (39); call b%write([1_int64, 2_int64], start=[2], stat=stat)
    case (40); call b%read_times(numbers, "seconds since 2026-01-01", stat=stat)
    end select
  end subroutine call_steps

  subroutine call_others(n, stat)
    integer, intent(in) :: n
    integer, intent(out) :: stat
    real(real64) :: x
    stat = OZARR_OK
    select case (n)
    case (41); call spec%create(OZARR_INT16, rank=2, chunks=[2, 3], compressor="zstd", names=["x", "y"], stat=stat)
    case (42); call dtype%text(8, stat=stat)
    case (43); call ozarr_copy(store, "a", store, "c", stat=stat)
    case (44); call ozarr_set("threads", "2", stat=stat)
    case (45); call batch%read(a, u, stat=stat)
    case (46); call batch%run(stat=stat)
    case (47); call a%metadata(text, stat=stat)
    case (48); call a%path(text, stat=stat)
    case (49); call a%get("write_back", text, stat=stat)
    case (50); call a%partition(1, 2, numbers, others, stat=stat)
    case (51); call b%open(group, "none", stat=stat, errmsg=message)
    case (52); call a%set_dimension_names(["x ", "y "], stat=stat)
    case (53); call a%get_attr("list", x, stat=stat, errmsg=message)
    case (54); call a%read(u(:3, :3), stat=stat, errmsg=message)
    case (55); call a%attr_name(1, text, stat=stat, errmsg=message)
    case (56); call dataset%define_time("t", 3, "hours since 2026-01-01", calendar="noleap", array=b, stat=stat)
    case (57); call a%resize([5, 5], stat=stat)
    case (58); call ozarr_wait_all(requests, stats=stats, stat=stat)
    case (59); call dataset%close(stat=stat)
    end select
  end subroutine call_others

  ! The number of what is wrong: a failure without words, a success that is none, or the next call.
  integer(c_int) function look(n, status) bind(c)
    integer(c_int), value :: n, status
    integer :: stat
    look = 0
    if (status /= OZARR_OK) then
      if (has_words(n) .and. message == "") look = 1
    else if (.not. is_done(n)) then
      look = 2
    end if
    call group%get_attr_text("title", text, stat=stat)
    if (stat /= OZARR_OK) look = 3
    if (stat == OZARR_OK .and. text(1:5) /= "long ") look = 4
    call a%read(u(:, :1), start=[1, 1], stat=stat)
    if (stat /= OZARR_OK) look = 5
  end function look

  ! Whether the call has errmsg.
  pure logical function has_words(n)
    integer, intent(in) :: n
    has_words = any(n == [1, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 29, 34, 51, 53, 54, 55])
  end function has_words

  ! Whether what a call says to have done is there.
  logical function is_done(n)
    integer, intent(in) :: n
    is_done = .true.
    select case (n)
    case (4); is_done = text_of(b, "k") == "1"
    case (5); is_done = text_of(a, "units") == '"m"'
    case (6); is_done = text_of(a, "many") == '["a","bb","ccc"]'
    case (7); is_done = word == "K"
    case (9); is_done = all(names == ["one  ", "three"])
    case (11); is_done = text_of(a, "x") == "[1.5,2.0,3.0]"
    case (12); is_done = all(reals == [1.5d0, 2.5d0])
    case (14); is_done = all(names == ["a", "d"]) .and. all(kinds == [OZARR_NODE_KIND_ARRAY, OZARR_NODE_KIND_GROUP])
    case (15); is_done = all(names == ["a"]) .and. all(more == [""])
    case (16); is_done = all(names == axes) .and. all(numbers == [4, 0])
    case (17); is_done = size(names) == 0 .and. size(flags) == 0
    case (18); is_done = text_of(b, "units") == '"K"' .and. text_of(b, "k") == "[1]"
    case (19); is_done = text_of(b, "units") == '"m"'
    case (27); is_done = text == "2026-01-02 12:00:00"
    case (28); is_done = count == 24
    case (31); is_done = size(names) == 1 .and. index(names(1), "s1") == 1  ! with a number, as it is committed often
    case (32); is_done = all(v(1:8:2, 6) == [1, 2, 3, 4]) .and. all(v(1:8:2, 2) == [9, 10, 11, 12])
    case (34); is_done = all(u(:2, 1) == [1, 12])
    case (35); is_done = all(u(:2, 1) == [1, 4]) .and. all(u(:2, 2) == [9, 12])
    case (40); is_done = all(numbers == [0, 3600, 7200])
    case (46); is_done = all(u(:, 3) == [9, 10, 11, 12])
    case (50); is_done = all(numbers == [1, 1]) .and. all(others == [2, 3])
    case (56); is_done = text_of(b, "calendar") == '"noleap"'
    case (58); is_done = all(stats == 0) .and. all(u == w) .and. all(w(:, 1) == [1, 2, 3, 4])
    end select
  end function is_done

  function text_of(array, name) result(json)
    type(ozarr_array), intent(in) :: array
    character(*), intent(in) :: name
    character(:), allocatable :: json
    call array%get_attr_json(name, json)
  end function text_of

end module f_memory
