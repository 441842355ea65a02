! Nodes: what arrays and groups have in common, attributes and settings.                       SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_nodes
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use ozarr_base
  use ozarr_c
  implicit none
  private
  public :: ozarr_node

  ! What arrays and groups have in common.
  type :: ozarr_node
    ! The C library's handle, for the functions of the module ozarr_c. It is freed by this object.
    type(c_ptr) :: handle = c_null_ptr
    logical :: is_array = .false.
  contains
    procedure :: is_open => node_is_open
    procedure :: flush => node_flush
    procedure :: close => node_close
    procedure :: refresh => node_refresh
    procedure :: path => node_path
    procedure :: metadata => node_metadata
    procedure :: zarr_format => node_zarr_format
    procedure :: set => node_set
    procedure :: get => node_get
    procedure :: export => node_export
    procedure :: attr_count => node_attr_count
    procedure :: attr_name => node_attr_name
    procedure :: attr_kind => node_attr_kind
    procedure :: has_attr => node_has_attr
    procedure :: erase_attr => node_erase_attr
    procedure :: get_attr_text => node_get_attr_text
    procedure :: get_attr_texts => node_get_attr_texts
    procedure :: get_attr_json => node_get_attr_json
    procedure :: set_attr_json => node_set_attr_json
    procedure :: get_attrs => node_get_attrs
    procedure :: set_attrs => node_set_attrs
    procedure :: begin_attrs => node_begin_attrs
    procedure :: commit_attrs => node_commit_attrs
    procedure, private :: set_int8, get_int8, set_int8s, get_int8s
    procedure, private :: set_int16, get_int16, set_int16s, get_int16s
    procedure, private :: set_int32, get_int32, set_int32s, get_int32s
    procedure, private :: set_int64, get_int64, set_int64s, get_int64s
    procedure, private :: set_real32, get_real32, set_real32s, get_real32s
    procedure, private :: set_real64, get_real64, set_real64s, get_real64s
    procedure, private :: set_logical, get_logical
    procedure, private :: set_text, get_text, set_texts
    generic :: set_attr => set_int8, set_int16, set_int32, set_int64, set_real32, set_real64, set_logical, set_text, &
      set_int8s, set_int16s, set_int32s, set_int64s, set_real32s, set_real64s, set_texts
    generic :: get_attr => get_int8, get_int16, get_int32, get_int64, get_real32, get_real64, get_logical, get_text, &
      get_int8s, get_int16s, get_int32s, get_int64s, get_real32s, get_real64s
  end type ozarr_node

contains

  ! ==================================================================================================================
  ! Nodes
  ! ==================================================================================================================

  pure function node_is_open(self) result(is_open)
    class(ozarr_node), intent(in) :: self
    logical :: is_open
    is_open = c_associated(self%handle)
  end function node_is_open

  ! Makes durable what was written.
  subroutine node_flush(self, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_node_flush(self%handle), stat, errmsg)
  end subroutine node_flush

  ! Reads the node's document again: other handles and processes may have changed its attributes, and the shape of an array.
  subroutine node_refresh(self, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_node_refresh(self%handle, c_null_ptr, 0_c_size_t), stat, errmsg)
  end subroutine node_refresh

  ! Flushes and frees; the handle is gone, whatever the status says.
  subroutine node_close(self, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    if (.not. c_associated(handle)) then
      call done(refused(OZARR_ERR_NULL, "the array or group is not open"), stat, errmsg)
    else if (self%is_array) then
      call done(ozarr_array_close(handle), stat, errmsg)
    else
      call done(ozarr_group_close(handle), stat, errmsg)
    end if
  end subroutine node_close

  ! The metadata document as JSON.
  subroutine node_metadata(self, json, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(:), allocatable, intent(out) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call fetch(ozarr_node_metadata, self%handle, json, status)
    call done(status, stat, errmsg)
  end subroutine node_metadata

  ! The path in the store, such as "fields/temperature"; empty for the root.
  subroutine node_path(self, path, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(:), allocatable, intent(out) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call fetch(ozarr_node_path, self%handle, path, status)
    call done(status, stat, errmsg)
  end subroutine node_path

  ! The Zarr format, 2 or 3. A failure stops.
  function node_zarr_format(self) result(format)
    class(ozarr_node), intent(in) :: self
    integer :: format
    integer(c_int32_t) :: found
    found = 0
    call done(ozarr_node_zarr_format(self%handle, found))
    format = int(found)
  end function node_zarr_format

  ! Changes a setting of this handle: "write_back", "chunk_cache" and the others of ozarr_node_set in ozarr.h.
  subroutine node_set(self, key, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: key, value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_node_set(self%handle, c_text(key), c_text(value)), stat, errmsg)
  end subroutine node_set

  ! Gets a setting, in the form in which it can be set again.
  subroutine node_get(self, key, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: key
    character(:), allocatable, intent(out) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call fetch_named(ozarr_node_get, self%handle, key, value, status)
    call done(status, stat, errmsg)
  end subroutine node_get

  ! The metadata as bytes, a group's with those of all nodes below it: import opens the node from them in other processes.
  subroutine node_export(self, bytes, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    integer(int8), allocatable, intent(out) :: bytes(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(int8), allocatable, target :: list(:)
    integer(c_size_t) :: n, cap
    integer(c_int32_t) :: status
    integer :: failed
    n = 4096
    do
      cap = n
      if (allocated(list)) deallocate (list)
      allocate (list(cap), stat=failed)
      status = checked_memory(failed, "bytes")
      if (status == OZARR_OK) status = ozarr_node_export(self%handle, c_loc(list), cap, n)
      if (status /= OZARR_ERR_BUFFER_SIZE) exit
    end do
    if (status /= OZARR_OK) n = 0
    allocate (bytes(n), stat=failed)
    if (status == OZARR_OK) status = checked_memory(failed, "bytes")
    if (status == OZARR_OK) bytes(:) = list(:n)
    call done(status, stat, errmsg)
  end subroutine node_export

  ! ==================================================================================================================
  ! Attributes
  ! ==================================================================================================================

  function node_attr_count(self) result(n)
    class(ozarr_node), intent(in) :: self
    integer :: n
    integer(c_int64_t) :: count
    count = 0
    call done(ozarr_attr_count(self%handle, count))
    n = int(count)
  end function node_attr_count

  ! The name of attribute number i, from 1.
  subroutine node_attr_name(self, i, name, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    integer, intent(in) :: i
    character(:), allocatable, intent(out) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(text_buffer), target :: buffer
    integer(c_int64_t) :: count
    integer(c_int32_t) :: status
    logical :: is_there
    count = 0
    status = ozarr_attr_count(self%handle, count)
    is_there = i >= 1 .and. i <= count
    if (status == OZARR_OK .and. .not. is_there) status = refused(OZARR_ERR_BOUNDS, "i is ", n=int(i, c_int64_t), &
      after=", expected 1 or more and at most ", m=count, ending=", the number of attributes")
    if (is_there) then
      do while (buffer%is_wanted(status))
        status = ozarr_attr_name(self%handle, int(i - 1, c_int64_t), c_loc(buffer%letters), buffer%cap, buffer%length)
      end do
    end if
    call buffer%give(name, status)
    call done(status, stat, errmsg)
  end subroutine node_attr_name

  ! The kind of an attribute: OZARR_JSON_KIND_INTEGER, ...
  subroutine node_attr_kind(self, name, kind, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    integer(c_int32_t), intent(inout) :: kind
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_kind(self%handle, c_text(name), kind), stat, errmsg)
  end subroutine node_attr_kind

  function node_has_attr(self, name) result(has)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    logical :: has
    integer(c_int32_t) :: kind, status
    kind = 0
    status = ozarr_attr_kind(self%handle, c_text(name), kind)
    has = status == OZARR_OK
    if (status /= OZARR_ERR_NOT_FOUND) call done(status)
  end function node_has_attr

  ! Removes an attribute.
  subroutine node_erase_attr(self, name, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_erase(self%handle, c_text(name)), stat, errmsg)
  end subroutine node_erase_attr

  ! From here on setters are collected; commit_attrs stores them in one write.
  subroutine node_begin_attrs(self, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attrs_begin(self%handle), stat, errmsg)
  end subroutine node_begin_attrs

  subroutine node_commit_attrs(self, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attrs_commit(self%handle), stat, errmsg)
  end subroutine node_commit_attrs

  ! Sets an attribute to any value, given as JSON.
  subroutine node_set_attr_json(self, name, json, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name, json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_json(self%handle, c_text(name), c_text(json)), stat, errmsg)
  end subroutine node_set_attr_json

  ! All attributes, as one JSON object.
  subroutine node_get_attrs(self, json, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(:), allocatable, intent(out) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call fetch(ozarr_attrs_get, self%handle, json, status)
    call done(status, stat, errmsg)
  end subroutine node_get_attrs

  ! Replaces all attributes by those of a JSON object.
  subroutine node_set_attrs(self, json, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attrs_set(self%handle, c_text(json)), stat, errmsg)
  end subroutine node_set_attrs

  ! One procedure for each kind of number, and for lists of it: set_int8, get_int8, set_int8s, get_int8s and so on.
  include "attr_kinds.inc"

  subroutine set_logical(self, name, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    logical, intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_bool(self%handle, c_text(name), logical(value, c_bool)), stat, errmsg)
  end subroutine set_logical

  ! Blanks at the end are not stored.
  subroutine set_text(self, name, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name, value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_string(self%handle, c_text(name), c_text(value)), stat, errmsg)
  end subroutine set_text

  subroutine get_logical(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    logical, intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    logical(c_bool) :: found
    integer(c_int32_t) :: status
    found = .false.
    status = ozarr_attr_get_bool(self%handle, c_text(name), found)
    if (status == OZARR_OK) value = found
    call done(status, stat, errmsg)
  end subroutine get_logical

  ! A list of texts; blanks at their ends are not stored.
  subroutine set_texts(self, name, values, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name, values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_texts), target :: texts
    integer(c_int32_t) :: status
    call make_texts(values, texts, status, reversed=.false., blank_is_null=.false.)
    if (status == OZARR_OK) status = ozarr_attr_set_strings(self%handle, c_text(name), texts%pointers, size(values, kind=c_int64_t))
    call done(status, stat, errmsg)
  end subroutine set_texts

  ! A text that is longer than the variable is an error; a shorter one is padded with blanks.
  subroutine get_text(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(*), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: text
    integer(c_int32_t) :: status
    call fetch_named(ozarr_attr_get_string, self%handle, name, text, status)
    if (status == OZARR_OK) then
      if (len(text) > len(value)) then
        status = refused(OZARR_ERR_BUFFER_SIZE, "the attribute ", name, " has ", n=len(text, kind=c_int64_t), &
          after=" bytes, expected at most the variable's ", m=len(value, kind=c_int64_t))
      else
        value = text
      end if
    end if
    call done(status, stat, errmsg)
  end subroutine get_text

  ! The texts of an attribute that is a list of them, or one text, padded with blanks.
  subroutine node_get_attr_texts(self, name, values, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(text_buffer), target :: buffer
    type(name_list) :: list
    integer(c_int64_t) :: count, i
    integer(c_size_t) :: first, ends
    integer(c_int32_t) :: status
    count = 0
    status = OZARR_OK
    do while (buffer%is_wanted(status))
      status = ozarr_attr_get_strings(self%handle, c_text(name), c_loc(buffer%letters), buffer%cap, buffer%length, count)
    end do
    first = 1
    do i = 1, count
      if (status /= OZARR_OK) exit
      ends = first                                        ! each text ends in NUL, the last one behind the length
      do while (buffer%letters(ends) /= c_null_char)
        ends = ends + 1
      end do
      call list%add(buffer%letters(first:ends - 1), status)
      first = ends + 1
    end do
    call list%give(values, status)
    call done(status, stat, errmsg)
  end subroutine node_get_attr_texts

  ! The text of an attribute, as long as it is.
  subroutine node_get_attr_text(self, name, text, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: text
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call fetch_named(ozarr_attr_get_string, self%handle, name, text, status)
    call done(status, stat, errmsg)
  end subroutine node_get_attr_text

  ! The value of an attribute of any kind, as JSON.
  subroutine node_get_attr_json(self, name, json, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call fetch_named(ozarr_attr_get_json, self%handle, name, json, status)
    call done(status, stat, errmsg)
  end subroutine node_get_attr_json

end module ozarr_nodes
