! Each procedure with stat= of each type of the module on an object that is not open, and those that take lists or elements with wrong ones: a status
! and a message, and nothing done. tools/names.py checks that no procedure of the table of names is forgotten; functions stop the program (f_stop).
program f_closed
  use, intrinsic :: iso_fortran_env, only: int8, int64
  use ozarr
  use f_check
  implicit none
  type(ozarr_array) :: a, given, open
  type(ozarr_group) :: g, opened
  type(ozarr_dataset) :: ds
  type(ozarr_series) :: series
  type(ozarr_appender) :: appender
  type(ozarr_checkpoint) :: c
  type(ozarr_request) :: r
  type(ozarr_batch) :: batch
  type(ozarr_spec) :: s, three
  type(ozarr_store) :: st
  type(ozarr_context) :: ctx
  type(ozarr_dtype) :: d, e
  type(ozarr_summary) :: summary
  type(ozarr_comparison) :: comparison
  integer, asynchronous :: u(4, 3) = 1
  integer :: line(4), wrong(5, 3) = 1, stat, i, kind, refusals = 0
  integer(int64) :: counts(4), at, first(2), extent(2)
  integer(int8), allocatable :: bytes(:)
  integer, allocatable :: kinds(:)
  integer(int64), allocatable :: lengths(:), starts(:), extents(:)
  logical, allocatable :: flags(:)
  character(:), allocatable :: text, texts(:)
  character(200) :: message
  character(8) :: letters(4) = "x"
  real(8) :: x(4) = 1
  logical :: flag

  call arrays()
  call nodes()
  call groups_and_datasets()
  call steps_and_requests()
  call specs()
  call others()
  call wrong_lists()
  call finish()

contains

  ! The call before failed, and said why.
  subroutine refuses(what, expected)
    character(*), intent(in) :: what
    integer, intent(in), optional :: expected
    logical :: is_right
    refusals = refusals + 1
    is_right = stat == OZARR_ERR_NULL .or. stat == OZARR_ERR_INVALID_HANDLE
    if (present(expected)) is_right = stat == expected
    call check(is_right .and. len_trim(message) > 0, what // " gave " // ozarr_name_of_status(stat) // " " // trim(message))
    stat = 0
    message = ""
  end subroutine refuses

  subroutine arrays()
    call a%read(u, stat=stat, errmsg=message); call refuses("array%read")
    call a%write(u, stat=stat, errmsg=message); call refuses("array%write")
    call a%append(line, stat=stat, errmsg=message); call refuses("array%append")
    call a%iread(u, r, stat=stat, errmsg=message); call refuses("array%iread")
    call a%iwrite(u, r, stat=stat, errmsg=message); call refuses("array%iwrite")
    call a%read_unpacked(x, stat=stat, errmsg=message); call refuses("array%read_unpacked")
    call a%write_packed(x, stat=stat, errmsg=message); call refuses("array%write_packed")
    call a%read_times(counts, "days since 2026-01-01", stat=stat, errmsg=message); call refuses("array%read_times")
    call a%write_times(counts, "days since 2026-01-01", stat=stat, errmsg=message); call refuses("array%write_times")
    call a%read_text(letters, stat=stat, errmsg=message); call refuses("array%read_text")
    call a%write_text(letters, stat=stat, errmsg=message); call refuses("array%write_text")
    call a%read_points(line, reshape([1, 1], [2, 1]), stat=stat, errmsg=message); call refuses("array%read_points")
    call a%write_points(line, reshape([1, 1], [2, 1]), stat=stat, errmsg=message); call refuses("array%write_points")
    call a%read_mask(line, u == 1, stat=stat, errmsg=message); call refuses("array%read_mask")
    call a%write_mask(line, u == 1, stat=stat, errmsg=message); call refuses("array%write_mask")
    call a%read_lists(u, [ozarr_indices([1, 2])], stat=stat, errmsg=message); call refuses("array%read_lists")
    call a%write_lists(u, [ozarr_indices([1, 2])], stat=stat, errmsg=message); call refuses("array%write_lists")
    call a%read_chunk([1, 1], bytes, stat=stat, errmsg=message); call refuses("array%read_chunk")
    call a%write_chunk([1, 1], [1_int8], stat=stat, errmsg=message); call refuses("array%write_chunk")
    call batch%read(a, u, stat=stat, errmsg=message); call refuses("batch%read")
    call batch%write(a, u, stat=stat, errmsg=message); call refuses("batch%write")
    call a%resize([4, 3], stat=stat, errmsg=message); call refuses("array%resize")
    call a%wait_growth(0_int64, 0d0, at, stat=stat, errmsg=message); call refuses("array%wait_growth")
    call a%partition(1, 2, starts, extents, stat=stat, errmsg=message); call refuses("array%partition")
    call a%chunk_extent(1, 1, first(1), extent(1), stat=stat, errmsg=message); call refuses("array%chunk_extent")
    call a%summarize(summary, stat=stat, errmsg=message); call refuses("array%summarize")
    call a%digest(text, stat=stat, errmsg=message); call refuses("array%digest")
    call a%compare(a, comparison, stat=stat, errmsg=message); call refuses("array%compare")
    call a%fill_value(i, stat=stat, errmsg=message); call refuses("array%fill_value")
    call a%missing_value(i, flag, stat=stat, errmsg=message); call refuses("array%missing_value")
    call a%dimension_name(1, text, stat=stat, errmsg=message); call refuses("array%dimension_name")
    call a%set_dimension_names(["x", "y"], stat=stat, errmsg=message); call refuses("array%set_dimension_names")
    call a%dtype(d, stat=stat, errmsg=message); call refuses("array%dtype")
    call a%get_spec(s, stat=stat, errmsg=message); call refuses("array%get_spec")
    call a%close(stat=stat, errmsg=message)
    call check(index(message, "array") > 0, "an array that was never open: " // message)
    call refuses("array%close")
    call a%open(g, "x", stat=stat, errmsg=message); call refuses("array%open")
    call a%create(g, "x", OZARR_INT32, [4], stat=stat, errmsg=message); call refuses("array%create")
    call a%create("closed.zarr", s, stat=stat, errmsg=message); call refuses("array%create")
  end subroutine arrays

  subroutine nodes()
    call a%flush(stat, message); call refuses("node%flush")
    call a%refresh(stat, message); call refuses("node%refresh")
    call a%path(text, stat, message); call refuses("node%path")
    call a%metadata(text, stat, message); call refuses("node%metadata")
    call a%set("write_back", "1", stat, message); call refuses("node%set")
    call a%get("mode", text, stat, message); call refuses("node%get")
    call a%export(bytes, stat, message); call refuses("node%export")
    call a%attr_name(1, text, stat, message); call refuses("node%attr_name")
    call a%attr_kind("x", kind, stat, message); call refuses("node%attr_kind")
    call a%erase_attr("x", stat, message); call refuses("node%erase_attr")
    call a%get_attr("x", i, stat, message); call refuses("node%get_attr")
    call a%get_attr("x", x(1), stat, message); call refuses("node%get_attr")
    call a%get_attr("x", flag, stat, message); call refuses("node%get_attr")
    call a%get_attr_text("x", text, stat, message); call refuses("node%get_attr_text")
    call a%get_attr_texts("x", texts, stat, message); call refuses("node%get_attr_texts")
    call a%get_attr_json("x", text, stat, message); call refuses("node%get_attr_json")
    call a%get_attrs(text, stat, message); call refuses("node%get_attrs")
    call a%set_attr("x", 1, stat, message); call refuses("node%set_attr")
    call a%set_attr("x", [1d0, 2d0], stat, message); call refuses("node%set_attr")
    call a%set_attr("x", .true., stat, message); call refuses("node%set_attr")
    call a%set_attr("x", "y", stat, message); call refuses("node%set_attr")
    call a%set_attr_json("x", "1", stat, message); call refuses("node%set_attr_json")
    call a%set_attrs("{}", stat, message); call refuses("node%set_attrs")
    call a%begin_attrs(stat, message); call refuses("node%begin_attrs")
    call a%commit_attrs(stat, message); call refuses("node%commit_attrs")
  end subroutine nodes

  subroutine groups_and_datasets()
    call g%open(g, "x", stat=stat, errmsg=message); call refuses("group%open")
    call g%create(g, "x", stat=stat, errmsg=message); call refuses("group%create")
    call g%write("x", u, stat, message); call refuses("group%write")
    call g%read("x", u, stat, message); call refuses("group%read")
    call g%children(texts, stat=stat, errmsg=message); call refuses("group%children")
    call g%nodes(texts, kinds, stat=stat, errmsg=message); call refuses("group%nodes")
    call g%consolidate(stat, message); call refuses("group%consolidate")
    call g%close(stat, message); call refuses("group%close")
    call ds%open(g, stat, message); call refuses("dataset%open")
    call ds%group(opened, stat, message); call refuses("dataset%group")
    call ds%define_dimension("x", 4, stat, message); call refuses("dataset%define_dimension")
    call ds%resize_dimension("x", 4, stat, message); call refuses("dataset%resize_dimension")
    call ds%wait_growth("x", 0, 0d0, stat=stat, errmsg=message); call refuses("dataset%wait_growth")
    call ds%dimensions(texts, lengths, stat, message); call refuses("dataset%dimensions")
    call ds%define_variable("v", OZARR_INT32, ["x"], stat=stat, errmsg=message); call refuses("dataset%define_variable")
    call ds%define_coordinate("x", x, stat=stat, errmsg=message); call refuses("dataset%define_coordinate")
    call ds%define_time("t", 0, "days since 2026-01-01", stat=stat, errmsg=message); call refuses("dataset%define_time")
    call ds%set_coordinate("x", stat, message); call refuses("dataset%set_coordinate")
    call ds%variables(texts, flags, stat, message); call refuses("dataset%variables")
    call ds%open_variable("v", given, stat, message); call refuses("dataset%open_variable")
    call ds%close(stat, message); call refuses("dataset%close")
    call c%commit(stat, message); call refuses("checkpoint%commit")
    call c%abandon(stat, message); call refuses("checkpoint%abandon")
  end subroutine groups_and_datasets

  subroutine steps_and_requests()
    call series%open(ds, "time", stat=stat, errmsg=message); call refuses("series%open")
    call series%put("v", line, stat, message); call refuses("series%put")
    call series%step(1, stat, message); call refuses("series%step")
    call series%step(1, "v", line, stat, message); call refuses("series%step")
    call series%flush(stat, message); call refuses("series%flush")
    call series%close(stat, message); call refuses("series%close")
    call appender%open(a, stat=stat, errmsg=message); call refuses("appender%open")
    call appender%append(line, stat, message); call refuses("appender%append")
    call appender%flush(stat, message); call refuses("appender%flush")
    call appender%close(stat, message); call refuses("appender%close")
    call r%wait(stat=stat, errmsg=message); call refuses("request%wait")
    call r%test(flag, stat, message); call refuses("request%test")
    call r%cancel(stat, message); call refuses("request%cancel")
  end subroutine steps_and_requests

  subroutine specs()
    call s%set_shape([4], stat, message); call refuses("spec%set_shape")
    call s%set_chunks([4], stat, message); call refuses("spec%set_chunks")
    call s%set_inner_chunks([4], stat, message); call refuses("spec%set_inner_chunks")
    call s%set_chunk_extents(1, [4], stat, message); call refuses("spec%set_chunk_extents")
    call s%set_names(["x"], stat, message); call refuses("spec%set_names")
    call s%set_type(OZARR_INT8, stat, message); call refuses("spec%set_type")
    call s%set_fill(1, stat, message); call refuses("spec%set_fill")
    call s%set_fill_json("1", stat, message); call refuses("spec%set_fill_json")
    call s%set_compressor("zstd", stat=stat, errmsg=message); call refuses("spec%set_compressor")
    call s%set_shuffle(OZARR_SHUFFLE_BIT, stat, message); call refuses("spec%set_shuffle")
    call s%set_keep_bits(5, stat, message); call refuses("spec%set_keep_bits")
    call s%set_zfp(accuracy=0.5d0, stat=stat, errmsg=message); call refuses("spec%set_zfp")
    call s%set_checksum(.true., stat, message); call refuses("spec%set_checksum")
    call s%set_order(OZARR_ORDER_F, stat, message); call refuses("spec%set_order")
    call s%set_big_endian(.true., stat, message); call refuses("spec%set_big_endian")
    call s%set_separator(".", stat, message); call refuses("spec%set_separator")
    call s%set_zarr_format(2, stat, message); call refuses("spec%set_zarr_format")
    call s%set_member_json("x", "1", stat, message); call refuses("spec%set_member_json")
    call s%set_attributes_json("{}", stat, message); call refuses("spec%set_attributes_json")
    call s%to_json(text, stat, message); call refuses("spec%to_json")
    call s%suggest(text, stat, message); call refuses("spec%suggest")
    call given%create("source.zarr", OZARR_INT32, [4])
    call ozarr_copy("source.zarr", "never.zarr", spec=s, stat=stat, errmsg=message); call refuses("copy, spec")
    call st%memory()
    call given%create(st, "a", OZARR_INT32, [4])
    call ozarr_copy(st, "a", st, "b", spec=s, stat=stat, errmsg=message); call refuses("copy, spec")
    call st%close()
    call given%close()
  end subroutine specs

  subroutine others()
    call st%erase("x", stat, message); call refuses("store%erase")
    call st%flush(stat, message); call refuses("store%flush")
    call st%close(stat, message); call refuses("store%close")
    call ctx%set("threads", "1", stat, message); call refuses("context%set")
    call ctx%get("threads", text, stat, message); call refuses("context%get")
    call ctx%set_log(OZARR_LOG_LEVEL_OFF, stat=stat, errmsg=message); call refuses("context%set_log")
    call d%add_field("x", u, u(1, 1), stat=stat, errmsg=message); call refuses("dtype%add_field")
    call d%parse("quaternion", stat=stat, errmsg=message); call refuses("dtype%parse", OZARR_ERR_UNSUPPORTED)
    call d%number(99, stat, message); call refuses("dtype%number", OZARR_ERR_ARGUMENT)
    call s%create(e, [4], stat, message); call refuses("spec%create")
    call s%from_json("{", stat, message); call refuses("spec%from_json", OZARR_ERR_ARGUMENT)
    call st%open("gopher://x", stat=stat, errmsg=message); call refuses("store%open", OZARR_ERR_UNSUPPORTED)
    call c%begin("closed.zarr", "", stat, message); call refuses("checkpoint%begin", OZARR_ERR_NAME)
    call c%open_latest("none.zarr", stat, message); call refuses("checkpoint%open_latest", OZARR_ERR_NOT_FOUND)
    call ds%create("gopher://x", stat=stat, errmsg=message); call refuses("dataset%create", OZARR_ERR_UNSUPPORTED)
  end subroutine others

  ! Lists that have not one number for each dimension, and elements that are not as many.
  subroutine wrong_lists()
    call open%create("open.zarr", OZARR_INT32, [4, 3], chunks=[2, 3])
    call batch%read(open, u)
    call open%close()
    call batch%run(stat, message); call refuses("batch%run")
    call open%open("open.zarr", mode="r+")
    call open%read(line, stat=stat, errmsg=message); call refuses("read", OZARR_ERR_RANK)
    call open%write(line, stat=stat, errmsg=message); call refuses("write", OZARR_ERR_RANK)
    call open%read(u, start=[1], stat=stat, errmsg=message); call refuses("read, start", OZARR_ERR_RANK)
    call open%read(u, count=[4, 3, 1], stat=stat, errmsg=message); call refuses("read, count", OZARR_ERR_RANK)
    call open%write(u, start=[2, 1], stat=stat, errmsg=message); call refuses("write, start", OZARR_ERR_BOUNDS)
    call open%write(wrong, stat=stat, errmsg=message); call refuses("write", OZARR_ERR_RANK)
    call open%resize([4], stat=stat, errmsg=message); call refuses("resize", OZARR_ERR_RANK)
    call open%set_dimension_names(["x"], stat=stat, errmsg=message); call refuses("set_dimension_names", OZARR_ERR_RANK)
    call open%dimension_name(3, text, stat=stat, errmsg=message); call refuses("dimension_name", OZARR_ERR_BOUNDS)
    call three%create(OZARR_INT32, [4, 3])
    call three%set_chunks([4], stat, message); call refuses("set_chunks", OZARR_ERR_RANK)
    call three%set_shape([4, 3, 1], stat, message); call refuses("set_shape", OZARR_ERR_RANK)
    call given%create("one.zarr", OZARR_INT32, [4])
    call given%read_text(letters, field="none", stat=stat, errmsg=message)
    call check(index(message, '"none"') > 0, "the name of the field")
    call refuses("read_text, field", OZARR_ERR_NOT_FOUND)
    call open%read(u)
    call check(all(u == 0), "nothing was written")
    call open%close()
  end subroutine wrong_lists
end program f_closed
