! The raw layer, `ozarr_c`: arrays are arrays, numbers are numbers, and what may be NULL can be left out.
program f_raw
  use, intrinsic :: iso_c_binding
  use ozarr_c
  use f_check
  implicit none
  type(c_ptr) :: store = c_null_ptr, spec = c_null_ptr, array = c_null_ptr, appender = c_null_ptr, group = c_null_ptr
  type(c_ptr) :: request(1) = c_null_ptr
  integer(c_int64_t) :: position, where, low
  integer(c_int8_t), target :: data(10) = [1_c_int8_t, 2_c_int8_t, 3_c_int8_t, 4_c_int8_t, 5_c_int8_t, 6_c_int8_t, 7_c_int8_t, &
    8_c_int8_t, 9_c_int8_t, 10_c_int8_t]
  integer(c_int8_t), target :: back(10) = 0
  integer(c_size_t) :: length = 0

  call check(ozarr_store_memory(store) == OZARR_OK, "store")

  ! An array of extents, and a corner whose length nobody asks for.
  call check(ozarr_spec_new(OZARR_INT8, 1, [10_c_int64_t], spec) == OZARR_OK, "spec")
  call check(ozarr_spec_set_chunk_extents(spec, 0, [3_c_int64_t, 3_c_int64_t, 4_c_int64_t], 3_c_int64_t) == OZARR_OK, "extents")
  call check(ozarr_array_create_at(store, "a" // c_null_char, spec, OZARR_CREATE_NEW, array) == OZARR_OK, "create")
  call check(ozarr_array_chunk_extent(array, 0, 2_c_int64_t, low) == OZARR_OK, "extent")
  call check(low == 6, "the last chunk begins at 6")

  ! A list of requests, and the index of the one that ended.
  call check(ozarr_array_iwrite_region(array, [0_c_int64_t], [10_c_int64_t], OZARR_INT8, c_loc(data), 10_c_size_t, &
    0_c_int32_t, request(1)) == OZARR_OK, "iwrite")
  where = -1
  call check(ozarr_requests_wait_any(request, 1_c_int64_t, -1.0_c_double, where) == OZARR_OK, "wait_any")
  call check(where == 0, "the request ended")
  call ozarr_request_free(request(1))
  call check(ozarr_array_read(array, OZARR_INT8, c_loc(back), 10_c_size_t) == OZARR_OK, "read")
  call check(all(back == data), "what was written is read")
  call ozarr_array_free(array)
  call ozarr_spec_free(spec)

  ! One of two outputs.
  call check(ozarr_array_create("appended.zarr" // c_null_char, OZARR_INT8, 2, [0_c_int64_t, 5_c_int64_t], [1_c_int64_t, &
    5_c_int64_t], OZARR_CREATE_NEW, array) == OZARR_OK, "create with chunks")
  call check(ozarr_appender_open(array, 0, 1_c_int64_t, 0_c_int64_t, appender) == OZARR_OK, "appender")
  call check(ozarr_appender_append(appender, 2_c_int64_t, OZARR_INT8, c_loc(data), 10_c_size_t) == OZARR_OK, "append")
  call check(ozarr_appender_position(appender, position) == OZARR_OK, "position")
  call check(position == 2, "two steps were appended")
  call check(ozarr_appender_close(appender) == OZARR_OK, "close")
  call check(ozarr_array_close(array) == OZARR_OK, "close the array")
  call check(ozarr_array_create("whole.zarr" // c_null_char, OZARR_INT8, 1, [2_c_int64_t], mode=OZARR_CREATE_NEW, out=array) &
    == OZARR_OK, "create without chunks")
  call ozarr_array_free(array)

  ! Arrays of offsets, and of scales.
  call texts()
  call images()
  call check(ozarr_zip_repair("nowhere.zip" // c_null_char) /= OZARR_OK, "nothing to repair")
  call check(ozarr_store_key_get(store, "a/zarr.json" // c_null_char, c_null_ptr, 0_c_size_t, length) == OZARR_OK, "key")
  call check(length > 0, "the array has a document")
  call ozarr_store_free(store)

contains

  subroutine texts()
    character(kind=c_char), target :: letters(5) = ["a", "b", "c", "d", "e"]
    type(c_ptr) :: text
    text = c_null_ptr
    call check(ozarr_spec_new(OZARR_STRING, 1, [2_c_int64_t], text) == OZARR_OK, "spec of texts")
    call check(ozarr_array_create_at(store, "texts" // c_null_char, text, OZARR_CREATE_NEW, array) == OZARR_OK, "create texts")
    call check(ozarr_array_write_varlen(array, c_null_ptr, [0_c_int64_t, 2_c_int64_t, 5_c_int64_t], c_loc(letters), 5_c_size_t) &
      == OZARR_OK, "write texts")
    call ozarr_spec_free(text)
    call ozarr_array_free(array)
  end subroutine texts

  subroutine images()
    real(c_double) :: scale(2)
    call check(ozarr_group_create_at(store, "g" // c_null_char, 3, OZARR_CREATE_NEW, group) == OZARR_OK, "group")
    call check(ozarr_group_image_scale(group, 0_c_int64_t, 0_c_int64_t, scale, cap=2_c_int64_t) /= OZARR_OK, "it has no image")
    call ozarr_group_free(group)
  end subroutine images

end program f_raw
