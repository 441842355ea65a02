! Specifications: every choice about a new array, and what is refused.
program f_spec
  use, intrinsic :: iso_fortran_env, only: int16, int64, real32, real64
  use ozarr
  use f_check
  implicit none
  type(ozarr_store) :: store

  call store%memory()
  call choices()
  call chunks_and_shards()
  call lossy()
  call copies()
  call options_of_create()
  call refusals()
  call finish()

contains

  ! Each setter is seen in the document.
  subroutine choices()
    type(ozarr_spec) :: s
    type(ozarr_array) :: a
    character(:), allocatable :: json, name
    real(real32) :: fill
    logical :: defined
    call s%create(OZARR_FLOAT32, [12, 8])
    call s%set_chunks([6, 4])
    call s%set_names(["x", "y"])
    call s%set_compressor("blosc:zstd", 5)
    call s%set_shuffle(OZARR_SHUFFLE_BIT)
    call s%set_checksum(.true.)
    call s%set_fill(-1.0)
    call s%set_attributes_json('{"units": "K"}')
    call s%set_order(OZARR_ORDER_F)
    call s%set_big_endian(.true.)
    call s%set_separator(".")
    call s%to_json(json)
    call check(has(json, '"bitshuffle"') .and. has(json, '"zstd"') .and. has(json, '"crc32c"'), "codecs")
    call check(has(json, '"transpose"') .and. has(json, '"big"') .and. has(json, '"separator":"."'), "layout")
    call check(has(json, '"dimension_names":["y","x"]'), "names in C's order")
    call a%create(store, "choices", s)
    call check(all(a%shape() == [12, 8]) .and. all(a%chunks() == [6, 4]), "shape and chunks")
    call a%dimension_name(1, name)
    call check(name == "x", "the name of the first dimension")
    call a%fill_value(fill, defined)
    call check(fill == -1 .and. defined, "the fill value")
    call s%set_type(OZARR_INT16)
    call s%set_shape([3, 5])
    call s%set_fill_json("7")
    call s%set_attributes_json("{}")
    call a%create(store, "another", s)
    call check(a%type() == OZARR_INT16 .and. all(a%shape() == [3, 5]), "the specification serves several arrays")
    call s%create(OZARR_INT32, [4], zarr_format=2)
    call s%set_member_json("compressor", "null")
    call s%to_json(json)
    call check(has(json, '"zarr_format":2') .and. has(json, '"compressor":null'), "format 2")
    call s%create(OZARR_INT32, [4], zarr_format=2)
    call s%set_zarr_format(3)
    call s%to_json(json)
    call check(has(json, '"zarr_format":3'), "format 3")
  end subroutine choices

  ! Whether a document has this text, blanks and lines aside.
  function has(json, text)
    character(*), intent(in) :: json, text
    logical :: has
    character(:), allocatable :: packed
    integer :: i
    packed = ""
    do i = 1, len(json)
      if (json(i:i) > " ") packed = packed // json(i:i)
    end do
    has = index(packed, text) > 0
  end function has

  subroutine chunks_and_shards()
    type(ozarr_spec) :: s
    type(ozarr_array) :: a
    character(:), allocatable :: text
    integer(int64) :: start, count
    call s%create(OZARR_FLOAT64, [8, 12], chunks=[8, 6])
    call s%set_inner_chunks([4, 3])
    call a%create(store, "shards", s)
    call check(all(a%inner_chunks() == [4, 3]) .and. all(a%chunks() == [8, 6]) .and. all(a%grid_shape() == [1, 2]), "shards")
    call s%unset_inner_chunks()
    call a%create(store, "whole", s)
    call check(all(a%inner_chunks() == [8, 6]), "no shards")
    call s%set_chunk_extents(2, [5_int64, 7_int64])
    call a%create(store, "uneven", s)
    call check(all(a%grid_shape() == [1, 2]) .and. all(a%chunks() == [8, 7]), "uneven chunks")
    call a%chunk_extent(2, 2, start, count)
    call check(start == 6 .and. count == 7, "the second chunk begins at element 6")
    call s%create(OZARR_FLOAT64, [1000, 1000])
    call s%suggest(text)
    call check(len(text) > 10, "a suggestion is explained")
  end subroutine chunks_and_shards

  subroutine lossy()
    type(ozarr_spec) :: s
    type(ozarr_array) :: a
    real(real64) :: u(16, 16), back(16, 16)
    integer :: i
    u = reshape([(sin(0.1d0 * i), i=1, 256)], [16, 16])
    call s%create(OZARR_FLOAT64, [16, 16], chunks=[16, 16])
    call s%set_zfp(accuracy=1d-3)
    call a%create(store, "zfp", s)
    call a%write(u)
    call a%read(back)
    call check(maxval(abs(u - back)) <= 1d-3 .and. any(u /= back), "zfp keeps its accuracy")
    call s%set_zfp(precision=20)
    call s%set_zfp(rate=16d0)
    call s%set_zfp()
    call a%create(store, "reversible", s)
    call a%write(u)
    call a%read(back)
    call check(all(u == back), "zfp without loss")
    call s%set_compressor("zstd")
    call s%set_keep_bits(10)
    call a%create(store, "bits", s)
    call a%write(u)
    call a%read(back)
    call check(maxval(abs(u - back)) < 1d-3 .and. any(u /= back), "bits of the mantissa")
  end subroutine lossy

  ! A specification of an array that is there, of a document, of a rank.
  subroutine copies()
    type(ozarr_array) :: a, b
    type(ozarr_spec) :: s, t
    character(:), allocatable :: json
    integer :: stat
    character(300) :: message
    call a%create(store, "original", OZARR_INT16, [7, 5], chunks=[3, 5], names=["x", "y"], fill=3_int16)
    call a%get_spec(s)
    call b%create(store, "copy", s)
    call check(all(b%shape() == [7, 5]) .and. all(b%chunks() == [3, 5]), "like another array")
    call a%metadata(json)
    call t%from_json(json)
    call t%set_chunks([7, 1])
    call b%create(store, "from_json", t)
    call check(all(b%chunks() == [7, 1]) .and. all(b%shape() == [7, 5]), "from a document")
    call b%create(store, "copy", s, mode=OZARR_CREATE_OPEN_IF_SAME)
    call s%set_chunks([1, 1])
    message = ""
    call b%create(store, "copy", s, mode=OZARR_CREATE_OPEN_IF_SAME, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_EXISTS, message, "copy", "another array is there")
    call s%create(OZARR_FLOAT32, rank=2, chunks=[4, 4])
    call s%set_shape([8, 8])
    call b%create(store, "later", s)
    call check(all(b%shape() == [8, 8]), "a shape that comes later")
    call t%close()
    call check(.not. t%is_open() .and. s%is_open(), "close")
  end subroutine copies

  subroutine options_of_create()
    type(ozarr_array) :: a
    character(:), allocatable :: json
    call a%create(store, "options", OZARR_FLOAT32, [64], chunks=[64], inner_chunks=[8], compressor="lz4", &
      shuffle=OZARR_SHUFFLE_BYTE, keep_bits=8, checksum=.true., attributes='{"a": 1}')
    call a%metadata(json)
    call check(has(json, "lz4") .and. has(json, "shuffle") .and. has(json, "crc32c"), "options of create")
  end subroutine options_of_create

  subroutine refusals()
    type(ozarr_spec) :: s, closed
    type(ozarr_array) :: a
    character(:), allocatable :: json
    integer :: stat
    character(300) :: message
    message = ""
    call s%create(OZARR_FLOAT64, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "neither shape nor rank", "no shape")
    call check(.not. s%is_open(), "a failed create leaves no specification")
    call s%create(OZARR_FLOAT64, [4, -1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "-1", "a negative length")
    call s%create(OZARR_FLOAT64, [4, 4])
    call s%set_chunks([2], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "chunks has 1 numbers, expected 2", "too few chunks")
    call s%set_names(["x"], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "names has 1 texts, expected 2", "too few names")
    call s%set_chunk_extents(3, [4], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "dim is 3, expected 1 to 2", "a dimension too many")
    call s%set_chunk_extents(1, [4.0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "expected a list of integers", "real extents")
    call s%set_compressor("snake", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_UNSUPPORTED, message, "snake", "an unknown compressor")
    call s%set_zfp(accuracy=1d0, rate=1d0, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "more than one", "two modes of zfp")
    call s%set_fill("x", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TYPE, message, "fill", "a fill value that is a text")
    call s%set_member_json("codecs", "[", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "", "malformed JSON")
    call closed%set_shuffle(OZARR_SHUFFLE_BYTE, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "a closed specification")
    call closed%to_json(json, stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_NULL .and. json == "", "the document of a closed specification")
    call a%create(store, "none", closed, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "an array of a closed specification")
  end subroutine refusals

end program f_spec
