! Functions of a Fortran program as a codec: each byte is turned around, and put back.
module turning
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: calls = 0
contains
  function turned_size(context, state, decoded, bytes, exact) bind(c) result(status)
    type(c_ptr), value :: context, state
    integer(c_size_t), value :: decoded
    integer(c_size_t), intent(inout) :: bytes
    logical(c_bool), intent(inout) :: exact
    integer(c_int32_t) :: status
    bytes = decoded
    exact = .true.
    status = 0
    if (c_associated(context) .or. c_associated(state)) status = -101
  end function turned_size

  function turn(context, state, src, bytes, dst, cap, length) bind(c) result(status)
    type(c_ptr), value :: context, state, src, dst
    integer(c_size_t), value :: bytes, cap
    integer(c_size_t), intent(inout) :: length
    integer(c_int32_t) :: status
    integer(c_int8_t), pointer :: from(:), to(:)
    calls = calls + 1
    status = -105
    if (cap < bytes) return
    call c_f_pointer(src, from, [bytes])
    call c_f_pointer(dst, to, [bytes])
    to = not(from)
    length = bytes
    status = 0
    if (c_associated(context) .or. c_associated(state)) status = -101
  end function turn
end module turning

program f_own
  use, intrinsic :: iso_c_binding
  use ozarr_c
  use turning
  use f_check
  implicit none
  character(kind=c_char), target :: name(9) = [character(kind=c_char) :: "t", "e", "s", "t", ".", "n", "o", "t", c_null_char]
  type(ozarr_codec_table), target :: table
  type(c_ptr) :: store = c_null_ptr, spec = c_null_ptr, a = c_null_ptr
  integer(c_int16_t), target :: x(12), y(12), raw(12)
  integer(c_size_t), target :: length
  integer :: i
  character(*), parameter :: codecs = '[{"name": "bytes", "configuration": {"endian": "little"}}, "test.not"]'

  table%struct_size = c_sizeof(table)
  table%kind = OZARR_CODEC_KIND_BYTES
  table%name = c_loc(name)
  table%encoded_size = c_funloc(turned_size)
  table%encode = c_funloc(turn)
  table%decode = c_funloc(turn)
  call check(ozarr_register_codec(c_loc(table)) == OZARR_OK, "register")
  call check(ozarr_register_codec(c_loc(table)) == OZARR_ERR_EXISTS, "register again")
  call check(ozarr_store_memory(store) == OZARR_OK, "store")
  call check(ozarr_spec_new(OZARR_INT16, 1, [12_c_int64_t], spec) == OZARR_OK, "spec")
  call check(ozarr_spec_set_member_json(spec, "codecs" // c_null_char, codecs // c_null_char) == OZARR_OK, "codecs")
  call check(ozarr_array_create_at(store, "a" // c_null_char, spec, OZARR_CREATE_NEW, a) == OZARR_OK, "create")
  x = [(int(i, c_int16_t), i = 1, 12)]
  call check(ozarr_array_write(a, OZARR_INT16, c_loc(x), c_sizeof(x)) == OZARR_OK, "write")
  call check(ozarr_array_read(a, OZARR_INT16, c_loc(y), c_sizeof(y)) == OZARR_OK, "read")
  call check(all(x == y), "the values come back")
  call check(ozarr_store_key_get(store, "a/c/0" // c_null_char, c_loc(raw), c_sizeof(raw), length) == OZARR_OK, "raw")
  call check(all(raw == not(x)), "what is stored is turned around")
  call check(calls == 2, "the Fortran functions were called")
  call ozarr_array_free(a)
  call ozarr_spec_free(spec)
  call ozarr_store_free(store)
  call check(ozarr_unregister(OZARR_EXTENSION_CODEC, "test.not" // c_null_char) == OZARR_OK, "unregister")
  call finish()
end program f_own
