! Copies of arrays and groups.                                                                    SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_copies
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use ozarr_base, copy_call => ozarr_copy
  use ozarr_c, copy_call => ozarr_copy
  use ozarr_specs
  use ozarr_stores
  implicit none
  private
  public :: ozarr_copy

  interface ozarr_copy
    procedure copy_location, copy_store
  end interface ozarr_copy

contains

  ! Copies the array at a location, or the group with all below it: in `zarr_format` 2 or 3 (that which each node has); an array as `spec` says.
  ! `raw` copies stored objects as they are, and with `verify` reads and compares them; `link` makes hard links of files; `overflow` says what
  ! becomes of numbers that do not fit into another type. `memory` is the most bytes to use, about.
  subroutine copy_location(source, dest, overwrite, zarr_format, spec, raw, link, overflow, memory, verify, stat, errmsg)
    character(*), intent(in) :: source, dest
    include "copy_options.inc"
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(ozarr_copy_options), target :: options
    integer(c_int32_t) :: status
    call options_of(options, status, overwrite, zarr_format, spec, raw, link, overflow, memory, verify)
    if (status == OZARR_OK) status = copy_call(c_text(source), c_text(dest), c_loc(options))
    call done(status, stat, errmsg)
  end subroutine copy_location

  ! Copies from a path in one open store to a path in another, or in the same one.
  subroutine copy_store(store, path, dest_store, dest_path, overwrite, zarr_format, spec, raw, link, overflow, memory, verify, &
    stat, errmsg)
    class(ozarr_store), intent(in) :: store
    class(ozarr_store), intent(in) :: dest_store
    character(*), intent(in) :: path, dest_path
    include "copy_options.inc"
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(ozarr_copy_options), target :: options
    integer(c_int32_t) :: status
    call options_of(options, status, overwrite, zarr_format, spec, raw, link, overflow, memory, verify)
    if (status == OZARR_OK) status = ozarr_copy_at(store%handle, c_text(path), dest_store%handle, c_text(dest_path), c_loc(options))
    call done(status, stat, errmsg)
  end subroutine copy_store

  subroutine options_of(options, status, overwrite, zarr_format, spec, raw, link, overflow, memory, verify)
    type(ozarr_copy_options), intent(out), target :: options
    integer(c_int32_t), intent(out) :: status
    include "copy_options.inc"
    status = OZARR_OK
    options%struct_size = c_sizeof(options)
    options%mode = create_mode(overwrite)
    if (present(zarr_format)) options%zarr_format = int(zarr_format, c_int32_t)
    if (present(spec)) then
      ! No handle would be "as the source is".
      if (.not. spec%is_open()) status = refused(OZARR_ERR_NULL, "the specification is not open")
      options%spec = spec%handle
    end if
    if (present(raw)) options%flags = ior(options%flags, merge(OZARR_COPY_RAW, 0_c_int32_t, raw))
    if (present(verify)) options%flags = ior(options%flags, merge(OZARR_COPY_VERIFY, 0_c_int32_t, verify))
    if (present(link)) options%flags = ior(options%flags, merge(OZARR_COPY_LINK, 0_c_int32_t, link))
    if (present(overflow)) options%overflow = int(overflow, c_int32_t)
    if (present(memory)) then
      if (memory < 0) status = refused(OZARR_ERR_ARGUMENT, "memory is ", n=memory, after=", expected at least 0")
      options%memory = memory
    end if
  end subroutine options_of

end module ozarr_copies
