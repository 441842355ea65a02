! The C functions of ozarr_mpi.h and of ozarr_mpi_shim.c, as the module ozarr_mpi calls them.       SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_mpi_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  interface
    function ozfm_new(comm, out) bind(c, name="ozfm_new") result(r)
      import :: c_ptr, c_int, c_int32_t
      integer(c_int), value :: comm
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozfm_new
    function ozfm_move(m, array, writes, u, start, numbers) bind(c, name="ozfm_move") result(r)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: m, array
      integer(c_int32_t), value :: writes
      type(*), dimension(..) :: u
      integer(c_int32_t), value :: numbers
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int32_t) :: r
    end function ozfm_move
    function ozfm_put(m, group, path, rank, shape, u, start, numbers) bind(c, name="ozfm_put") result(r)
      import :: c_ptr, c_char, c_int32_t, c_int64_t
      type(c_ptr), value :: m, group
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in) :: shape(*), start(*)
      type(*), dimension(..) :: u
      integer(c_int32_t), value :: numbers
      integer(c_int32_t) :: r
    end function ozfm_put
    function ozfm_get(m, group, path, u, start, numbers) bind(c, name="ozfm_get") result(r)
      import :: c_ptr, c_char, c_int32_t, c_int64_t
      type(c_ptr), value :: m, group
      character(kind=c_char), intent(in) :: path(*)
      type(*), dimension(..) :: u
      integer(c_int32_t), value :: numbers
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int32_t) :: r
    end function ozfm_get
    function ozarr_mpi_set(m, key, value) bind(c, name="ozarr_mpi_set") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m
      character(kind=c_char), intent(in) :: key(*), value(*)
      integer(c_int32_t) :: r
    end function ozarr_mpi_set
    function ozarr_mpi_array_create(m, location, type, rank, shape, chunks, mode, out) &
      bind(c, name="ozarr_mpi_array_create") result(r)
      import :: c_ptr, c_char, c_int32_t, c_int64_t
      type(c_ptr), value :: m, chunks
      character(kind=c_char), intent(in) :: location(*)
      integer(c_int32_t), value :: type, rank, mode
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_array_create
    function ozarr_mpi_array_open(m, location, mode, out) bind(c, name="ozarr_mpi_array_open") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m
      character(kind=c_char), intent(in) :: location(*), mode(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_array_open
    function ozarr_mpi_array_set_attr(m, array, name, json) bind(c, name="ozarr_mpi_array_set_attr") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m, array
      character(kind=c_char), intent(in) :: name(*), json(*)
      integer(c_int32_t) :: r
    end function ozarr_mpi_array_set_attr
    function ozarr_mpi_checkpoint_begin(m, location, name, out) bind(c, name="ozarr_mpi_checkpoint_begin") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m
      character(kind=c_char), intent(in) :: location(*), name(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_checkpoint_begin
    function ozarr_mpi_checkpoint_latest(m, location, out) bind(c, name="ozarr_mpi_checkpoint_latest") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m
      character(kind=c_char), intent(in) :: location(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_checkpoint_latest
    function ozfm_start(m, array, writes, u, start, numbers, out) bind(c, name="ozfm_start") result(r)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: m, array
      integer(c_int32_t), value :: writes
      type(*), dimension(..) :: u
      integer(c_int32_t), value :: numbers
      integer(c_int64_t), intent(in) :: start(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozfm_start
    function ozfm_end(m, kind, handle) bind(c, name="ozfm_end") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m
      character(kind=c_char), value :: kind
      type(c_ptr), intent(inout) :: handle
      integer(c_int32_t) :: r
    end function ozfm_end
    function ozfm_put_spec(m, group, path, spec, u, start, numbers) bind(c, name="ozfm_put_spec") result(r)
      import :: c_ptr, c_char, c_int32_t, c_int64_t
      type(c_ptr), value :: m, group, spec
      character(kind=c_char), intent(in) :: path(*)
      type(*), dimension(..) :: u
      integer(c_int32_t), value :: numbers
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int32_t) :: r
    end function ozfm_put_spec
    function ozfm_series_put(m, series, name, rank, u, start) bind(c, name="ozfm_series_put") result(r)
      import :: c_ptr, c_char, c_int32_t, c_int64_t
      type(c_ptr), value :: m, series
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: rank
      type(*), dimension(..) :: u
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int32_t) :: r
    end function ozfm_series_put
    function ozarr_mpi_agree(m, status) bind(c, name="ozarr_mpi_agree") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: m
      integer(c_int32_t), value :: status
      integer(c_int32_t) :: r
    end function ozarr_mpi_agree
    function ozarr_mpi_array_create_ex(m, location, spec, mode, out) bind(c, name="ozarr_mpi_array_create_ex") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m, spec
      character(kind=c_char), intent(in) :: location(*)
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_array_create_ex
    function ozarr_mpi_array_resize(m, array, shape, flags) bind(c, name="ozarr_mpi_array_resize") result(r)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: m, array
      integer(c_int64_t), intent(in) :: shape(*)
      integer(c_int32_t), value :: flags
      integer(c_int32_t) :: r
    end function ozarr_mpi_array_resize
    function ozarr_mpi_array_refresh(m, array) bind(c, name="ozarr_mpi_array_refresh") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: m, array
      integer(c_int32_t) :: r
    end function ozarr_mpi_array_refresh
    function ozarr_mpi_group_create(m, location, mode, out) bind(c, name="ozarr_mpi_group_create") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m
      character(kind=c_char), intent(in) :: location(*)
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_group_create
    function ozarr_mpi_group_open(m, location, mode, out) bind(c, name="ozarr_mpi_group_open") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m
      character(kind=c_char), intent(in) :: location(*), mode(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_group_open
    function ozarr_mpi_group_create_array(m, group, path, spec, mode, out) bind(c, name="ozarr_mpi_group_create_array") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m, group, spec
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_group_create_array
    function ozarr_mpi_group_open_array(m, group, path, out) bind(c, name="ozarr_mpi_group_open_array") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m, group
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_group_open_array
    function ozarr_mpi_group_set_attr(m, group, name, json) bind(c, name="ozarr_mpi_group_set_attr") result(r)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: m, group
      character(kind=c_char), intent(in) :: name(*), json(*)
      integer(c_int32_t) :: r
    end function ozarr_mpi_group_set_attr
    function ozarr_mpi_request_test(request, is_done) bind(c, name="ozarr_mpi_request_test") result(r)
      import :: c_ptr, c_int32_t, c_bool
      type(c_ptr), value :: request
      logical(c_bool), intent(out) :: is_done
      integer(c_int32_t) :: r
    end function ozarr_mpi_request_test
    function ozarr_mpi_series_open(m, location, dimension, keep, publish_every, memory, out) &
      bind(c, name="ozarr_mpi_series_open") result(r)
      import :: c_ptr, c_char, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: m
      character(kind=c_char), intent(in) :: location(*), dimension(*)
      integer(c_int64_t), value :: keep, publish_every
      integer(c_size_t), value :: memory
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function ozarr_mpi_series_open
    function ozarr_mpi_series_step(m, series, value) bind(c, name="ozarr_mpi_series_step") result(r)
      import :: c_ptr, c_int32_t, c_double
      type(c_ptr), value :: m, series
      real(c_double), value :: value
      integer(c_int32_t) :: r
    end function ozarr_mpi_series_step
    function ozarr_mpi_series_position(series, position, published) bind(c, name="ozarr_mpi_series_position") result(r)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: series
      integer(c_int64_t), intent(out) :: position, published
      integer(c_int32_t) :: r
    end function ozarr_mpi_series_position
    function ozarr_mpi_series_flush(m, series) bind(c, name="ozarr_mpi_series_flush") result(r)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: m, series
      integer(c_int32_t) :: r
    end function ozarr_mpi_series_flush
  end interface

end module ozarr_mpi_c
