! Specifications: every choice about an array that is to be created.                              SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_specs
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real64
  use ozarr_base
  use ozarr_c
  use ozarr_dtypes
  implicit none
  private
  public :: ozarr_spec, spec_take, make_spec

  ! What an array is to be like. It stays usable after arrays were created with it.
  type :: ozarr_spec
    type(c_ptr) :: handle = c_null_ptr
    integer(c_int32_t) :: dimensions = not_open
  contains
    procedure, private :: create_type => spec_create_type
    procedure, private :: create_dtype => spec_create_dtype
    generic :: create => create_type, create_dtype
    procedure :: from_json => spec_from_json
    procedure :: is_open => spec_is_open
    procedure :: set_shape => spec_set_shape
    procedure :: set_chunks => spec_set_chunks
    procedure :: set_chunk_extents => spec_set_chunk_extents
    procedure :: set_inner_chunks => spec_set_inner_chunks
    procedure :: unset_inner_chunks => spec_unset_inner_chunks
    procedure :: suggest => spec_suggest
    procedure :: set_names => spec_set_names
    procedure :: set_type => spec_set_type
    procedure :: set_fill => spec_set_fill
    procedure :: set_fill_json => spec_set_fill_json
    procedure :: set_compressor => spec_set_compressor
    procedure :: set_shuffle => spec_set_shuffle
    procedure :: set_keep_bits => spec_set_keep_bits
    procedure :: set_zfp => spec_set_zfp
    procedure :: set_checksum => spec_set_checksum
    procedure :: set_order => spec_set_order
    procedure :: set_big_endian => spec_set_big_endian
    procedure :: set_separator => spec_set_separator
    procedure :: set_zarr_format => spec_set_zarr_format
    procedure :: set_member_json => spec_set_member_json
    procedure :: set_attributes_json => spec_set_attributes_json
    procedure :: to_json => spec_to_json
    procedure :: close => spec_close
    final :: spec_final
  end type ozarr_spec

contains

  ! ==================================================================================================================
  ! Making
  ! ==================================================================================================================

  impure elemental subroutine spec_final(self)
    type(ozarr_spec), intent(inout) :: self
    call ozarr_spec_free(self%handle)
    self%handle = c_null_ptr
  end subroutine spec_final

  ! Takes over the handle of a call of the library; after a failure the object is closed.
  subroutine spec_take(self, handle, rank, status)
    class(ozarr_spec), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    integer(c_int32_t), intent(in) :: rank, status
    call ozarr_spec_free(self%handle)
    self%handle = c_null_ptr
    if (status /= OZARR_OK) then
      call ozarr_spec_free(handle)
      return
    end if
    self%handle = handle
    self%dimensions = rank
  end subroutine spec_take

  ! Makes a specification of arrays with elements of `type` (OZARR_FLOAT64, ...) and a shape. A variable of a dataset has the shape of its
  ! dimensions: then `rank` alone is given. The rest are choices that have setters below, too.
  subroutine spec_create_type(self, type, shape, rank, chunks, names, fill, compressor, level, shuffle, keep_bits, checksum, &
    inner_chunks, codecs, attributes, zarr_format, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    integer(c_int32_t), intent(in) :: type
    class(*), intent(in), optional :: shape(:)
    integer, intent(in), optional :: rank
    include "spec_options.inc"
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status, dimensions
    dimensions = -1
    if (present(rank)) dimensions = int(rank, c_int32_t)
    call make_spec(handle, dimensions, status, type, shape, chunks, names, fill, compressor, level, shuffle, keep_bits, checksum, &
      inner_chunks, codecs, attributes, zarr_format)
    call spec_take(self, handle, dimensions, status)
    call done(status, stat, errmsg)
  end subroutine spec_create_type

  ! Makes a specification of arrays of text, structs or times; `rank` as above.
  subroutine spec_create_dtype(self, dtype, shape, stat, errmsg, rank)
    class(ozarr_spec), intent(inout) :: self
    class(ozarr_dtype), intent(in) :: dtype
    class(*), intent(in), optional :: shape(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer, intent(in), optional :: rank
    integer(c_int64_t) :: dims(max_rank)
    type(c_ptr) :: handle
    integer(c_int32_t) :: status, dimensions, expected
    handle = c_null_ptr
    dimensions = -1
    if (present(rank)) dimensions = int(rank, c_int32_t)
    if (present(shape)) then
      expected = dimensions
      call extents_of(shape, "shape", expected, dims, dimensions, status)
      if (status == OZARR_OK) status = ozarr_spec_new_dtype(dtype%handle, dimensions, dims, handle)
    else if (present(rank)) then
      status = ozarr_spec_new_dtype(dtype%handle, dimensions, out=handle)
    else
      status = refused(OZARR_ERR_ARGUMENT, "found neither shape nor rank, expected one of them")
    end if
    call spec_take(self, handle, dimensions, status)
    call done(status, stat, errmsg)
  end subroutine spec_create_dtype

  ! Makes a specification from a metadata document, such as that of `metadata` of an array.
  subroutine spec_from_json(self, json, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    character(*), intent(in) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status, rank
    character(:), allocatable :: document
    handle = c_null_ptr
    rank = 0
    status = ozarr_spec_from_json(c_text(json), handle)
    if (status == OZARR_OK) call fetch(ozarr_spec_to_json, handle, document, status)
    if (status == OZARR_OK) rank = rank_of_document(document)
    call spec_take(self, handle, rank, status)
    call done(status, stat, errmsg)
  end subroutine spec_from_json

  ! The length of the member "shape" of a document that the library wrote.
  pure function rank_of_document(document) result(rank)
    character(*), intent(in) :: document
    integer(c_int32_t) :: rank
    integer :: first, last, i
    logical :: is_empty
    rank = 0
    first = index(document, '"shape"')
    if (first == 0) return
    first = first + index(document(first:), "[")
    last = first + index(document(first:), "]") - 2
    is_empty = .true.
    do i = first, last
      if (document(i:i) == ",") rank = rank + 1
      if (document(i:i) /= " ") is_empty = .false.
    end do
    if (.not. is_empty) rank = rank + 1
  end function rank_of_document

  ! A new handle with these choices; null after a failure. A negative `rank` becomes that of `shape`.
  subroutine make_spec(spec, rank, status, type, shape, chunks, names, fill, compressor, level, shuffle, keep_bits, checksum, &
    inner_chunks, codecs, attributes, zarr_format)
    type(c_ptr), intent(out) :: spec
    integer(c_int32_t), intent(inout) :: rank
    integer(c_int32_t), intent(out) :: status
    integer(c_int32_t), intent(in) :: type
    class(*), intent(in), optional :: shape(:)
    include "spec_options.inc"
    integer(c_int64_t) :: dims(max_rank)
    integer(c_int32_t) :: expected
    spec = c_null_ptr
    status = OZARR_OK
    if (present(shape)) then
      expected = rank
      call extents_of(shape, "shape", expected, dims, rank, status)
      if (status == OZARR_OK) status = ozarr_spec_new(type, rank, dims, spec)
    else if (rank < 0) then
      status = refused(OZARR_ERR_ARGUMENT, "found neither shape nor rank, expected one of them")
    else
      status = ozarr_spec_new(type, rank, out=spec)
    end if
    if (status == OZARR_OK .and. present(level) .and. .not. present(compressor)) &
      status = refused(OZARR_ERR_ARGUMENT, "found a level without a compressor, expected both, or the compressor alone")
    if (status == OZARR_OK .and. present(zarr_format)) status = ozarr_spec_set_zarr_format(spec, int(zarr_format, c_int32_t))
    if (status == OZARR_OK .and. present(chunks)) status = numbers_to(ozarr_spec_set_chunks, spec, chunks, "chunks", rank)
    if (status == OZARR_OK .and. present(inner_chunks)) &
      status = inner_chunks_to(spec, inner_chunks, "inner_chunks", rank)
    if (status == OZARR_OK .and. present(fill)) status = fill_to(spec, fill)
    if (status == OZARR_OK .and. present(names)) status = names_to(spec, rank, names)
    if (status == OZARR_OK .and. present(compressor)) status = ozarr_spec_set_compressor(spec, c_text(compressor), level_of(level))
    if (status == OZARR_OK .and. present(shuffle)) status = ozarr_spec_set_shuffle(spec, int(shuffle, c_int32_t))
    if (status == OZARR_OK .and. present(keep_bits)) status = ozarr_spec_set_keep_bits(spec, int(keep_bits, c_int32_t))
    if (status == OZARR_OK .and. present(checksum)) status = ozarr_spec_set_checksum(spec, logical(checksum, c_bool))
    if (status == OZARR_OK .and. present(codecs)) status = ozarr_spec_set_member_json(spec, "codecs" // c_null_char, c_text(codecs))
    if (status == OZARR_OK .and. present(attributes)) status = &
      ozarr_spec_set_member_json(spec, "attributes" // c_null_char, c_text(attributes))
    if (status == OZARR_OK) return
    call ozarr_spec_free(spec)
    spec = c_null_ptr
  end subroutine make_spec

  ! A compressor's level; -1 is its default.
  pure function level_of(level) result(number)
    integer, intent(in), optional :: level
    integer(c_int32_t) :: number
    number = -1
    if (present(level)) number = int(level, c_int32_t)
  end function level_of

  ! Gives a function of the library a list of numbers, one for each dimension.
  function numbers_to(call_, spec, list, what, rank) result(status)
    interface
      function call_(spec, list) bind(c) result(r)
        import :: c_ptr, c_int32_t, c_int64_t
        type(c_ptr), value :: spec
        integer(c_int64_t), intent(in) :: list(*)
        integer(c_int32_t) :: r
      end function call_
    end interface
    type(c_ptr), intent(in) :: spec
    class(*), intent(in) :: list(:)
    character(*), intent(in) :: what
    integer(c_int32_t), intent(in) :: rank
    integer(c_int64_t) :: dims(max_rank)
    integer(c_int32_t) :: status, found
    call extents_of(list, what, rank, dims, found, status)
    if (status == OZARR_OK) status = call_(spec, dims)
  end function numbers_to

  ! Gives the shape of inner chunks. (Its list may be left out in the library, so numbers_to does not take the function.)
  function inner_chunks_to(spec, list, what, rank) result(status)
    type(c_ptr), intent(in) :: spec
    class(*), intent(in) :: list(:)
    character(*), intent(in) :: what
    integer(c_int32_t), intent(in) :: rank
    integer(c_int64_t) :: dims(max_rank)
    integer(c_int32_t) :: status, found
    call extents_of(list, what, rank, dims, found, status)
    if (status == OZARR_OK) status = ozarr_spec_set_inner_chunks(spec, dims)
  end function inner_chunks_to

  ! Gives the fill value: a number or a logical of any kind that ozarr has, or a text.
  function fill_to(spec, fill) result(status)
    type(c_ptr), intent(in) :: spec
    class(*), intent(in) :: fill
    integer(c_int64_t), target :: bytes(2)
    integer(c_int32_t) :: status, type
    select type (fill)
    type is (character(*))
      status = text_to(spec, fill)
    class default
      status = scalar_of(fill, "fill", type, bytes)
      if (status == OZARR_OK) status = ozarr_spec_set_fill_value(spec, type, c_loc(bytes))
    end select
  end function fill_to

  ! Gives the fill value of texts, without the blanks at its end.
  function text_to(spec, fill) result(status)
    type(c_ptr), intent(in) :: spec
    character(*), intent(in) :: fill
    character(kind=c_char, len=:), allocatable, target :: letters
    type(c_ptr) :: dtype, address
    integer(c_int32_t) :: status
    integer(c_size_t) :: n
    dtype = c_null_ptr
    address = c_null_ptr
    status = OZARR_OK
    ! What the library takes as bytes it does not look at.
    if (index(fill(:length_of(fill)), c_null_char) > 0) &
      status = refused(OZARR_ERR_ARGUMENT, "fill has a NUL inside, expected none")
    call keep_text(fill, letters, status, address)
    if (status /= OZARR_OK) return
    n = max(len(letters) - 1, 1)                          ! of an empty text its NUL
    status = ozarr_dtype_chars(n, 0_c_int32_t, dtype)
    if (status == OZARR_OK) status = ozarr_spec_set_fill_dtype(spec, dtype, address, n)
    if (status == OZARR_ERR_TYPE) status = refused(status, "fill is a text, and the elements of the array are not")
    call ozarr_dtype_free(dtype)
  end function text_to

  ! Gives the dimensions' names in C's order; a blank one is no name.
  function names_to(spec, rank, names) result(status)
    type(c_ptr), intent(in) :: spec
    integer(c_int32_t), intent(in) :: rank
    character(*), intent(in) :: names(:)
    integer(c_int32_t) :: status
    type(c_texts), target :: texts
    status = checked_names(names, rank)
    if (status /= OZARR_OK) return
    call make_texts(names, texts, status, reversed=.true., blank_is_null=.true.)
    if (status == OZARR_OK) status = ozarr_spec_set_dimension_names(spec, texts%pointers)
  end function names_to

  ! ==================================================================================================================
  ! Shapes and chunks
  ! ==================================================================================================================

  pure function spec_is_open(self) result(is_open)
    class(ozarr_spec), intent(in) :: self
    logical :: is_open
    is_open = c_associated(self%handle)
  end function spec_is_open

  ! Changes the shape; the rank stays.
  subroutine spec_set_shape(self, shape, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    class(*), intent(in) :: shape(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(numbers_to(ozarr_spec_set_shape, self%handle, shape, "shape", self%dimensions), stat, errmsg)
  end subroutine spec_set_shape

  ! Sets the chunks' shape. With inner chunks, chunks are shards.
  subroutine spec_set_chunks(self, chunks, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    class(*), intent(in) :: chunks(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(numbers_to(ozarr_spec_set_chunks, self%handle, chunks, "chunks", self%dimensions), stat, errmsg)
  end subroutine spec_set_chunks

  ! Sets the shape of inner chunks, many of which are stored in one object.
  subroutine spec_set_inner_chunks(self, chunks, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    class(*), intent(in) :: chunks(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(inner_chunks_to(self%handle, chunks, "chunks", self%dimensions), stat, errmsg)
  end subroutine spec_set_inner_chunks

  ! Sets chunks of uneven extents along dimension `dim`, such as the domains of a parallel program.
  subroutine spec_set_chunk_extents(self, dim, extents, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    integer, intent(in) :: dim
    type(*), dimension(..), intent(in) :: extents
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: list(:)
    integer(c_int32_t) :: status
    status = checked_dim(dim, self%dimensions)
    if (status == OZARR_OK) call integers_of(extents, "extents", list, status)
    if (status == OZARR_OK) status = ozarr_spec_set_chunk_extents(self%handle, self%dimensions - int(dim, c_int32_t), &
      list, size(list, kind=c_int64_t))
    call done(status, stat, errmsg)
  end subroutine spec_set_chunk_extents

  ! Removes the inner chunks.
  subroutine spec_unset_inner_chunks(self, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_inner_chunks(self%handle), stat, errmsg)
  end subroutine spec_unset_inner_chunks

  ! Sets chunks of a suggested shape, and explains the choice in a short text.
  subroutine spec_suggest(self, text, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    character(:), allocatable, intent(out) :: text
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call fetch(ozarr_spec_suggest, self%handle, text, status)
    call done(status, stat, errmsg)
  end subroutine spec_suggest

  ! Sets the names of the dimensions; a blank one is no name.
  subroutine spec_set_names(self, names, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    character(*), intent(in) :: names(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(names_to(self%handle, self%dimensions, names), stat, errmsg)
  end subroutine spec_set_names

  ! ==================================================================================================================
  ! Elements and codecs
  ! ==================================================================================================================

  ! Changes the type of the elements; the fill value is converted.
  subroutine spec_set_type(self, type, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    integer(c_int32_t), intent(in) :: type
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_type(self%handle, type), stat, errmsg)
  end subroutine spec_set_type

  ! Sets the fill value: a number, a logical or a text.
  subroutine spec_set_fill(self, fill, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    class(*), intent(in) :: fill
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(fill_to(self%handle, fill), stat, errmsg)
  end subroutine spec_set_fill

  ! Sets the fill value as a metadata document has it: that of texts of a length is base64 there.
  subroutine spec_set_fill_json(self, json, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    character(*), intent(in) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_member_json(self%handle, "fill_value" // c_null_char, c_text(json)), stat, errmsg)
  end subroutine spec_set_fill_json

  ! Sets the compressor: "zstd", "gzip", "lz4", "blosc:zstd", "none" and the others of ozarr_spec_set_compressor in ozarr.h.
  subroutine spec_set_compressor(self, name, level, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    character(*), intent(in) :: name
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_compressor(self%handle, c_text(name), level_of(level)), stat, errmsg)
  end subroutine spec_set_compressor

  ! Sets the shuffle before compression: OZARR_SHUFFLE_NONE, OZARR_SHUFFLE_BYTE, OZARR_SHUFFLE_BIT (Blosc only).
  subroutine spec_set_shuffle(self, shuffle, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    integer, intent(in) :: shuffle
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_shuffle(self%handle, int(shuffle, c_int32_t)), stat, errmsg)
  end subroutine spec_set_shuffle

  ! Lossy: rounds floating-point numbers to this many bits of their mantissa; 0 keeps all.
  subroutine spec_set_keep_bits(self, bits, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    integer, intent(in) :: bits
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_keep_bits(self%handle, int(bits, c_int32_t)), stat, errmsg)
  end subroutine spec_set_keep_bits

  ! Compresses by zfp: lossy with the largest `accuracy` (error) of a number, the `precision` in bit planes, or the `rate` in bits a number;
  ! without any of them it keeps every bit.
  subroutine spec_set_zfp(self, accuracy, precision, rate, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    real(real64), intent(in), optional :: accuracy, rate
    integer, intent(in), optional :: precision
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    if (count([present(accuracy), present(precision), present(rate)]) > 1) then
      status = refused(OZARR_ERR_ARGUMENT, "found more than one of accuracy, precision and rate, expected at most one")
    else if (present(accuracy)) then
      status = ozarr_spec_set_zfp(self%handle, OZARR_ZFP_ACCURACY, real(accuracy, c_double))
    else if (present(precision)) then
      status = ozarr_spec_set_zfp(self%handle, OZARR_ZFP_PRECISION, real(precision, c_double))
    else if (present(rate)) then
      status = ozarr_spec_set_zfp(self%handle, OZARR_ZFP_RATE, real(rate, c_double))
    else
      status = ozarr_spec_set_zfp(self%handle, OZARR_ZFP_REVERSIBLE, 0.0_c_double)
    end if
    call done(status, stat, errmsg)
  end subroutine spec_set_zfp

  ! Sets whether a CRC-32C is stored after each chunk, which readers verify.
  subroutine spec_set_checksum(self, checksum, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    logical, intent(in) :: checksum
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_checksum(self%handle, logical(checksum, c_bool)), stat, errmsg)
  end subroutine spec_set_checksum

  ! Sets the order of the elements in a stored chunk. OZARR_ORDER_C, the default, is that of Fortran's memory, because dimensions are
  ! reversed.
  subroutine spec_set_order(self, order, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    integer, intent(in) :: order
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_order(self%handle, int(order, c_int32_t)), stat, errmsg)
  end subroutine spec_set_order

  ! Sets whether the elements are stored big-endian.
  subroutine spec_set_big_endian(self, big, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    logical, intent(in) :: big
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_big_endian(self%handle, logical(big, c_bool)), stat, errmsg)
  end subroutine spec_set_big_endian

  ! Sets the separator between the numbers in a chunk's key: "/" or ".".
  subroutine spec_set_separator(self, separator, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    character(1), intent(in) :: separator
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_separator(self%handle, separator // c_null_char), stat, errmsg)
  end subroutine spec_set_separator

  ! Sets the Zarr format: 3 (the default) or 2.
  subroutine spec_set_zarr_format(self, format, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    integer, intent(in) :: format
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_zarr_format(self%handle, int(format, c_int32_t)), stat, errmsg)
  end subroutine spec_set_zarr_format

  ! Sets a member of the metadata document as JSON, such as "codecs".
  subroutine spec_set_member_json(self, name, json, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    character(*), intent(in) :: name, json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_member_json(self%handle, c_text(name), c_text(json)), stat, errmsg)
  end subroutine spec_set_member_json

  ! Sets the attributes that arrays are created with, as a JSON object.
  subroutine spec_set_attributes_json(self, json, stat, errmsg)
    class(ozarr_spec), intent(inout) :: self
    character(*), intent(in) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_spec_set_member_json(self%handle, "attributes" // c_null_char, c_text(json)), stat, errmsg)
  end subroutine spec_set_attributes_json

  ! The metadata document that an array created now would have.
  subroutine spec_to_json(self, json, stat, errmsg)
    class(ozarr_spec), intent(in) :: self
    character(:), allocatable, intent(out) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call fetch(ozarr_spec_to_json, self%handle, json, status)
    call done(status, stat, errmsg)
  end subroutine spec_to_json

  subroutine spec_close(self)
    class(ozarr_spec), intent(inout) :: self
    call ozarr_spec_free(self%handle)
    self%handle = c_null_ptr
  end subroutine spec_close

end module ozarr_specs
