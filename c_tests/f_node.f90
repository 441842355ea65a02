! The module `ozarr`: groups, children, attributes, stores.
program f_node
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use, intrinsic :: iso_c_binding, only: c_char, c_loc, c_null_char, c_null_ptr, c_ptr, c_size_t
  use ozarr
  use ozarr_c, only: ozarr_store_free, ozarr_store_key_put, ozarr_store_open
  use f_check
  implicit none
  type(ozarr_group) :: root
  type(ozarr_array) :: a

  call hierarchy()
  call root%create("attrs.zarr")
  call attributes(root)
  call a%create(root, "a", OZARR_INT32, [1])
  call attributes(a)
  call stores()
  call whole_arrays()
  call write_in_vain()
  call check(len(ozarr_library_version()) >= 5 .and. ozarr_name_of_status(OZARR_ERR_BOUNDS) == "OZARR_ERR_BOUNDS", "names")
  call finish()

contains

  subroutine hierarchy()
    type(ozarr_group) :: g, below
    type(ozarr_array) :: t
    character(:), allocatable :: names(:), json
    integer, allocatable :: kinds(:)
    integer :: stat
    character(300) :: message
    call g%create("run.zarr")
    call below%create(g, "fields/inner")
    call t%create(g, "time", OZARR_FLOAT64, [3])
    call t%create(below, "velocity_in_x", OZARR_FLOAT64, [3])
    call g%children(names, kinds)
    call check(size(names) == 2, "the number of children")
    call check(names(1) == "fields" .and. names(2) == "time" .and. all(kinds == [OZARR_NODE_KIND_GROUP, OZARR_NODE_KIND_ARRAY]), &
      "children")
    call below%children(names)
    call check(len(names) == 13 .and. names(1) == "velocity_in_x", "names as long as the longest")
    call g%consolidate()
    call g%metadata(json)
    call check(index(json, "consolidated_metadata") > 0, "consolidated")
    call t%open(g, "fields/inner/velocity_in_x")
    call check(t%rank() == 1, "an array below a group")
    call below%open(g, "fields")
    message = ""
    call below%open(g, "time", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NODE_KIND, message, "time", "an array opened as a group")
    call below%create(g, "fields", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_EXISTS, message, "fields", "create twice")
    call ozarr_erase("run.zarr/fields")
    call below%open("run.zarr", mode="r+")
    call below%children(names)
    call check(size(names) == 1, "erased")
    call g%close()
    call g%children(names, stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_NULL .and. size(names) == 0, "children of a closed group")
  end subroutine hierarchy

  subroutine attributes(node)
    class(ozarr_node), intent(inout) :: node
    integer :: i4, stat
    integer(int64) :: i8
    real(real32) :: r4
    real(real64) :: r8
    logical :: l
    character(10) :: text
    character(:), allocatable :: long, name
    character(300) :: message
    call node%set_attr("units", "K   ")
    call node%set_attr("dt", 0.25)
    call node%set_attr("steps", 12)
    call node%set_attr("bytes", 5000000000_int64)
    call node%set_attr("pi", 3.141592653589793d0)
    call node%set_attr("restart", .true.)
    call node%set_attr_json("list", "[1, 2]")
    call node%get_attr("units", text)
    call check(text == "K", "a text")
    call node%get_attr_text("units", long)
    call check(long == "K" .and. len(long) == 1, "blanks at the end are not stored")
    call node%get_attr("dt", r4); call check(r4 == 0.25, "real(4)")
    call node%get_attr("pi", r8); call check(r8 == 3.141592653589793d0, "real(8)")
    call node%get_attr("steps", i4); call check(i4 == 12, "integer(4)")
    call node%get_attr("bytes", i8); call check(i8 == 5000000000_int64, "integer(8)")
    call node%get_attr("restart", l); call check(l, "logical")
    call node%get_attr_json("list", long); call check(index(long, "2]") > 0, "JSON")
    call check(node%attr_count() == 7 .and. node%has_attr("dt") .and. .not. node%has_attr("nothing"), "count, has")
    call node%attr_name(1, name); call check(name == "units", "the first name")
    call node%attr_kind("steps", i4); call check(i4 == OZARR_JSON_KIND_INTEGER, "kind")
    message = ""
    call node%get_attr("bytes", i4, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANGE, message, "bytes", "an integer that does not fit")
    call check(i4 == OZARR_JSON_KIND_INTEGER, "a failed get leaves the variable alone")
    call node%get_attr("units", i4, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TYPE, message, "units", "a text as integer")
    call node%get_attr("units", l, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TYPE, message, "units", "a text as logical")
    call node%set_attr("name", "longer than the variable")
    call node%get_attr("name", text, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BUFFER_SIZE, message, "24 bytes", "a text that is too long")
    call node%get_attr("nothing", r8, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "nothing", "no such attribute")
    call node%set_attr("nul", "a" // achar(0) // "b", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "NUL", "a text with a NUL")
    call node%set_attr("a" // achar(0) // "b", 1, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "NUL", "a name with a NUL")
    call node%set_attr("nul", ["abc        ", "a" // achar(0) // "b        "], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "NUL", "a list with a NUL")
    call node%set_attr("ended" // achar(0), "as for C" // achar(0) // " ")
    call node%get_attr_text("ended", long)
    call check(long == "as for C", "a text that ends in NUL")
    call node%erase_attr("ended")
    call node%attr_name(0, name, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "i is 0, expected 1", "attribute 0")
    call node%attr_name(99, name, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "i is 99, expected 1", "an attribute behind the last one")
    call node%set_attr("text", repeat("x", 5000))
    call node%get_attr_text("text", long)
    call check(len(long) == 5000, "a long text")
    call node%get_attr("text", message, stat=stat, errmsg=long)
    call failed(stat, OZARR_ERR_BUFFER_SIZE, long, "text has 5000 bytes", "a text that is longer than the variable")
    call lists(node)
    call node%begin_attrs()
    call node%erase_attr("text")
    call node%set_attr("steps", 13)
    call node%commit_attrs()
    call node%get_attr("steps", i4); call check(i4 == 13 .and. .not. node%has_attr("text"), "set together")
    call node%set("attributes", '{"steps": 14, "levels": [1, 2]}')
    call node%get_attr("steps", i4); call node%get_attr("dt", r4)
    call check(i4 == 14 .and. r4 == 0.25 .and. node%has_attr("levels"), "several at once beside the others")
    call node%set("attributes", "[1]", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TYPE, message, "object", "attributes that are no object")
    call node%flush()
  end subroutine attributes

  subroutine lists(node)
    class(ozarr_node), intent(inout) :: node
    integer, allocatable :: i4(:)
    integer(int64), allocatable :: i8(:)
    real(real32), allocatable :: r4(:)
    real(real64), allocatable :: r8(:)
    integer :: stat, i
    character(:), allocatable :: json
    character(300) :: message
    call node%set_attr("valid_range", [0d0, 500d0])
    call node%get_attr("valid_range", r8)
    call check(size(r8) == 2 .and. all(r8 == [0d0, 500d0]), "a list of real(8)")
    call node%get_attr("valid_range", r4)
    call check(all(r4 == [0.0, 500.0]), "read as real(4)")
    call node%set_attr("levels", [(i, i=1, 100)])
    call node%get_attr("levels", i4)
    call check(size(i4) == 100 .and. i4(100) == 100, "a long list of integer(4)")
    call node%set_attr("bytes", [5000000000_int64, 1_int64])
    call node%get_attr("bytes", i8)
    call check(all(i8 == [5000000000_int64, 1_int64]), "a list of integer(8)")
    message = ""
    call node%get_attr("bytes", i4, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANGE, message, "", "a list with an integer that does not fit")
    call check(size(i4) == 0, "nothing of it")
    call node%set_attr("weights", [0.5, 0.25])
    call node%get_attr("weights", r4)
    call check(all(r4 == [0.5, 0.25]), "a list of real(4)")
    call node%set_attr("flags", [character(4) :: "land", "sea"])
    call node%get_attr_json("flags", json)
    call check(json == '["land","sea"]', "a list of texts")
    call node%set_attr("none", [real ::])
    call node%get_attr("none", r8)
    call check(size(r8) == 0, "a list of no numbers")
    call node%get_attr("units", r8, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TYPE, message, "units", "a text as list")
    call node%erase_attr("levels")
    call node%erase_attr("flags")
    call node%set_attr("bytes", 5000000000_int64)
  end subroutine lists

  subroutine whole_arrays()
    type(ozarr_store) :: store
    type(ozarr_group) :: g, closed
    real(real64) :: u(4, 3), back(4, 3), wide(6, 5)
    real(real32) :: four(4, 3)
    integer :: i, scalar, stat
    character(300) :: message
    logical :: flags(3), flags_back(3)
    call store%memory()
    call g%create(store, "g")
    u = reshape([(real(i, real64), i=1, 12)], [4, 3])
    call g%write("u", u)
    call g%read("u", back)
    call check(all(back == u), "an array")
    call g%read("u", four)
    call check(all(four == real(u)), "as another type")
    wide = 0
    wide(2:5, 2:4) = u
    call g%write("inner/w", wide(2:5, 2:4))
    wide = 0
    call g%read("inner/w", wide(2:5, 2:4))
    call check(all(wide(2:5, 2:4) == u) .and. wide(1, 1) == 0, "sections")
    call g%write("scalar", 7)
    call g%read("scalar", scalar)
    call check(scalar == 7, "a scalar")
    flags = [.true., .false., .true.]
    call g%write("flags", flags)
    call g%read("flags", flags_back)
    call check(all(flags .eqv. flags_back), "logicals")
    message = ""
    call g%write("u", u, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_EXISTS, message, "u", "an array that is there")
    call g%read("v", u, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "v", "no such array")
    call g%read("u", u(:2, :), stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "shape [2, 3], expected that of the array, [4, 3]", "another shape")
    call closed%write("u", u, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "write to a closed group")
    call closed%read("u", u, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "read from a closed group")
  end subroutine whole_arrays

  ! An array whose elements cannot be stored, because something else is where its chunks go, is not there afterwards.
  subroutine write_in_vain()
    type(ozarr_group) :: g
    type(ozarr_array) :: t
    type(c_ptr) :: store
    integer :: stat, u(3)
    character(kind=c_char), target :: nothing = "x"
    call g%create("vain.zarr")
    u = 1
    store = c_null_ptr
    call check(ozarr_store_open("vain.zarr" // c_null_char, "r+" // c_null_char, store) == OZARR_OK, "a store")
    call check(ozarr_store_key_put(store, "u/c" // c_null_char, c_loc(nothing), 1_c_size_t) == OZARR_OK, "a file in the way")
    call ozarr_store_free(store)
    call g%write("u", u, stat=stat)
    call check(stat /= OZARR_OK, "elements that cannot be stored")
    call t%open(g, "u", stat=stat)
    call check(stat == OZARR_ERR_NOT_FOUND, "an array without its elements is not there")
  end subroutine write_in_vain

  subroutine stores()
    type(ozarr_store) :: s
    type(ozarr_group) :: g
    type(ozarr_array) :: t
    integer :: stat, u(2)
    character(300) :: message
    call s%open("other.zarr", mode="r+")
    call g%create(s, "g")
    call t%create(s, "g/t", OZARR_INT32, [2])
    call check(s%node_kind("g/t") == OZARR_NODE_KIND_ARRAY .and. s%node_kind("x") == OZARR_NODE_KIND_NONE, "node_kind")
    call g%open(s, "g")
    call t%open(s, "g/t")
    call s%flush()
    call s%close()
    call t%write([1, 2])
    call t%read(u)
    call check(all(u == [1, 2]), "an array outlives its store's handle")
    message = ""
    call s%flush(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "a closed store")
    call s%open("other.zarr", mode="r+")
    call s%erase("g")
    call check(s%node_kind("g") == OZARR_NODE_KIND_NONE, "erase")
  end subroutine stores

end program f_node
