! Stores and groups, and what arrays and groups have in common: attributes.                     SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_nodes
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use ozarr_base
  use ozarr_c
  implicit none
  private
  public :: ozarr_node, ozarr_group, ozarr_store

  ! What arrays and groups have in common: attributes.
  type :: ozarr_node
    ! The C library's handle, for the functions of the module ozarr_c. It is freed by this object.
    type(c_ptr) :: handle = c_null_ptr
    logical :: is_array = .false.
  contains
    procedure :: is_open => node_is_open
    procedure :: flush => node_flush
    procedure :: close => node_close
    procedure :: refresh => node_refresh
    procedure :: metadata => node_metadata
    procedure :: attr_count => node_attr_count
    procedure :: attr_name => node_attr_name
    procedure :: attr_kind => node_attr_kind
    procedure :: has_attr => node_has_attr
    procedure :: erase_attr => node_erase_attr
    procedure :: get_attr_text => node_get_attr_text
    procedure :: get_attr_json => node_get_attr_json
    procedure :: set_attr_json => node_set_attr_json
    procedure :: begin_attrs => node_begin_attrs
    procedure :: commit_attrs => node_commit_attrs
    procedure, private :: set_int32, get_int32
    procedure, private :: set_int64, get_int64
    procedure, private :: set_real32, get_real32
    procedure, private :: set_real64, get_real64
    procedure, private :: set_logical, get_logical
    procedure, private :: set_text, get_text
    procedure, private :: set_int32s, get_int32s
    procedure, private :: set_int64s, get_int64s
    procedure, private :: set_real32s, get_real32s
    procedure, private :: set_real64s, get_real64s
    procedure, private :: set_texts
    generic :: set_attr => set_int32, set_int64, set_real32, set_real64, set_logical, set_text, &
      set_int32s, set_int64s, set_real32s, set_real64s, set_texts
    generic :: get_attr => get_int32, get_int64, get_real32, get_real64, get_logical, get_text, &
      get_int32s, get_int64s, get_real32s, get_real64s
  end type ozarr_node

  type, extends(ozarr_node) :: ozarr_group
  contains
    procedure, private :: open_location => group_open_location
    procedure, private :: open_group => group_open_group
    procedure, private :: open_store => group_open_store
    generic :: open => open_location, open_group, open_store
    procedure, private :: create_location => group_create_location
    procedure, private :: create_group => group_create_group
    procedure, private :: create_store => group_create_store
    generic :: create => create_location, create_group, create_store
    procedure :: children => group_children
    procedure :: consolidate => group_consolidate
    final :: group_final
  end type ozarr_group

  ! What holds a hierarchy: a directory, a zip archive, an object store, or memory.
  type :: ozarr_store
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: open => store_open
    procedure :: memory => store_memory
    procedure :: node_kind => store_node_kind
    procedure :: erase => store_erase
    procedure :: flush => store_flush
    procedure :: close => store_close
    final :: store_final
  end type ozarr_store

contains

  ! ==================================================================================================================
  ! Stores
  ! ==================================================================================================================

  impure elemental subroutine store_final(self)
    type(ozarr_store), intent(inout) :: self
    if (c_associated(self%handle)) call ozarr_store_free(self%handle)
    self%handle = c_null_ptr
  end subroutine store_final

  ! Takes over the handle of a call that opened or created; after a failure the object is closed.
  subroutine store_take(self, handle, status)
    class(ozarr_store), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    integer(c_int32_t), intent(in) :: status
    if (c_associated(self%handle)) call ozarr_store_free(self%handle)
    self%handle = c_null_ptr
    if (status /= OZARR_OK) return
    self%handle = handle
  end subroutine store_take

  ! Opens a place; mode "r" (the default) for reading, "r+" for reading and writing.
  subroutine store_open(self, location, mode, stat, errmsg)
    class(ozarr_store), intent(inout) :: self
    character(*), intent(in) :: location
    character(*), intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_store_open(c_text(location), mode_text(mode), handle)
    call store_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine store_open

  ! Makes an empty store in memory.
  subroutine store_memory(self, stat, errmsg)
    class(ozarr_store), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_store_memory(handle)
    call store_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine store_memory

  ! What stands at a path: OZARR_NODE_KIND_NONE, OZARR_NODE_KIND_ARRAY, ...
  function store_node_kind(self, path) result(kind)
    class(ozarr_store), intent(in) :: self
    character(*), intent(in) :: path
    integer(c_int32_t) :: kind
    kind = OZARR_NODE_KIND_NONE
    call done(ozarr_store_node_kind(self%handle, c_text(path), kind))
  end function store_node_kind

  ! Erases a node, with everything below it.
  subroutine store_erase(self, path, stat, errmsg)
    class(ozarr_store), intent(inout) :: self
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_store_node_erase(self%handle, c_text(path)), stat, errmsg)
  end subroutine store_erase

  ! Makes everything durable that was written through this store.
  subroutine store_flush(self, stat, errmsg)
    class(ozarr_store), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_store_flush(self%handle), stat, errmsg)
  end subroutine store_flush

  ! Flushes and frees.
  subroutine store_close(self, stat, errmsg)
    class(ozarr_store), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    call done(ozarr_store_close(handle), stat, errmsg)
  end subroutine store_close

  ! ==================================================================================================================
  ! Groups
  ! ==================================================================================================================

  impure elemental subroutine group_final(self)
    type(ozarr_group), intent(inout) :: self
    if (c_associated(self%handle)) call ozarr_group_free(self%handle)
    self%handle = c_null_ptr
  end subroutine group_final

  ! Takes over the handle of a call that opened or created; after a failure the object is closed.
  subroutine group_take(self, handle, status)
    class(ozarr_group), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    integer(c_int32_t), intent(in) :: status
    if (c_associated(self%handle)) call ozarr_group_free(self%handle)
    self%handle = c_null_ptr
    if (status /= OZARR_OK) return
    self%handle = handle
  end subroutine group_take

  subroutine group_open_location(self, location, mode, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    character(*), intent(in) :: location
    character(*), intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_open(c_text(location), mode_text(mode), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_open_location

  subroutine group_open_group(self, group, path, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_open_group(group%handle, c_text(path), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_open_group

  subroutine group_open_store(self, store, path, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    class(ozarr_store), intent(in) :: store
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_open_at(store%handle, c_text(path), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_open_store

  subroutine group_create_location(self, location, overwrite, mode, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    character(*), intent(in) :: location
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_create(c_text(location), create_mode(overwrite, mode), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_create_location

  subroutine group_create_group(self, group, path, overwrite, mode, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    class(ozarr_group), intent(in) :: group
    character(*), intent(in) :: path
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_create_group(group%handle, c_text(path), create_mode(overwrite, mode), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_create_group

  subroutine group_create_store(self, store, path, overwrite, mode, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    class(ozarr_store), intent(in) :: store
    character(*), intent(in) :: path
    logical, intent(in), optional :: overwrite
    integer, intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = ozarr_group_create_at(store%handle, c_text(path), 0_c_int32_t, create_mode(overwrite, mode), handle)
    call group_take(self, handle, status)
    call done(status, stat, errmsg)
  end subroutine group_create_store

  ! The names of the children, sorted, padded with blanks; and their kinds: OZARR_NODE_KIND_ARRAY, OZARR_NODE_KIND_GROUP,
  ! OZARR_NODE_KIND_UNKNOWN.
  subroutine group_children(self, names, kinds, stat, errmsg)
    class(ozarr_group), intent(in) :: self
    character(:), allocatable, intent(out) :: names(:)
    integer(c_int32_t), allocatable, intent(out), optional :: kinds(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: name
    integer(c_int32_t), allocatable :: found(:)
    type(c_ptr) :: iter
    integer(c_int32_t) :: status
    integer :: pass, n, longest
    longest = 0
    n = 0
    ! First how many and how long, then the names.
    do pass = 1, 2
      if (pass == 2) then
        allocate (character(len=longest) :: names(n))
        allocate (found(n))
        found = OZARR_NODE_KIND_NONE
      end if
      iter = c_null_ptr
      status = ozarr_group_list_nodes(self%handle, depth=1_c_int32_t, out=iter)
      if (status == OZARR_OK) call walk(iter, pass == 2, status)
      call ozarr_node_iter_free(iter)
      if (status /= OZARR_OK) exit
    end do
    if (.not. allocated(names)) allocate (character(len=0) :: names(0))
    if (.not. allocated(found)) allocate (found(0))
    if (present(kinds)) kinds = found
    call done(status, stat, errmsg)

  contains

    subroutine walk(iter, keep, status)
      type(c_ptr), intent(in) :: iter
      logical, intent(in) :: keep
      integer(c_int32_t), intent(out) :: status
      logical(c_bool) :: more
      integer :: i
      i = 0
      do
        more = .false.
        status = ozarr_node_iter_next(iter, more)
        if (status /= OZARR_OK .or. .not. more) exit
        call fetch(ozarr_node_iter_name, iter, name, status)
        if (status /= OZARR_OK) exit
        i = i + 1
        if (.not. keep) then
          longest = max(longest, len(name))
          n = i
        else if (i <= n) then
          names(i) = name
          status = ozarr_node_iter_kind(iter, found(i))
          if (status /= OZARR_OK) exit
        end if
      end do
    end subroutine walk

  end subroutine group_children

  ! Collects the metadata of everything below into one document.
  subroutine group_consolidate(self, stat, errmsg)
    class(ozarr_group), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_group_consolidate(self%handle), stat, errmsg)
  end subroutine group_consolidate

  ! ==================================================================================================================
  ! Arrays and groups: closing, attributes
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
    call done(ozarr_node_refresh(self%handle), stat, errmsg)
  end subroutine node_refresh

  ! Flushes and frees; the handle is gone, whatever the status says.
  subroutine node_close(self, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    if (self%is_array) then
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
    if (.not. allocated(json)) json = ""
    call done(status, stat, errmsg)
  end subroutine node_metadata

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
    character(kind=c_char), allocatable, target :: buf(:)
    integer(c_size_t) :: length, room
    integer(c_int32_t) :: status
    length = 255
    name = ""
    if (i < 1) then
      call ozf_note("the number of an attribute counts from 1" // c_null_char)
      call done(OZARR_ERR_BOUNDS, stat, errmsg)
      return
    end if
    do
      room = length + 1
      if (allocated(buf)) deallocate (buf)
      allocate (buf(room))
      status = ozarr_attr_name(self%handle, int(i - 1, c_int64_t), c_loc(buf), room, length)
      if (status /= OZARR_ERR_BUFFER_SIZE) exit
    end do
    if (status == OZARR_OK) name = text_at(c_loc(buf))
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

  subroutine set_int32(self, name, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    integer(int32), intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_int64(self%handle, c_text(name), int(value, c_int64_t)), stat, errmsg)
  end subroutine set_int32

  subroutine set_int64(self, name, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    integer(int64), intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_int64(self%handle, c_text(name), int(value, c_int64_t)), stat, errmsg)
  end subroutine set_int64

  subroutine set_real32(self, name, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    real(real32), intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_double(self%handle, c_text(name), real(value, c_double)), stat, errmsg)
  end subroutine set_real32

  subroutine set_real64(self, name, value, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    real(real64), intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_double(self%handle, c_text(name), real(value, c_double)), stat, errmsg)
  end subroutine set_real64

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
    integer(c_int32_t) :: status
    status = checked(value)
    if (status == OZARR_OK) then
      status = ozarr_attr_set_string(self%handle, c_text(name), c_text(value))
    end if
    call done(status, stat, errmsg)
  end subroutine set_text

  subroutine get_int32(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    integer(int32), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: found
    integer(c_int32_t) :: status
    found = 0
    status = ozarr_attr_get_int64(self%handle, c_text(name), found)
    if (status == OZARR_OK .and. (found > huge(value) .or. found < -int(huge(value), c_int64_t) - 1)) then
      call ozf_note("the attribute does not fit into this kind of number: " // c_text(name))
      status = OZARR_ERR_RANGE
    end if
    if (status == OZARR_OK) value = int(found, int32)
    call done(status, stat, errmsg)
  end subroutine get_int32

  subroutine get_int64(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    integer(int64), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: found
    integer(c_int32_t) :: status
    found = 0
    status = ozarr_attr_get_int64(self%handle, c_text(name), found)
    if (status == OZARR_OK) value = found
    call done(status, stat, errmsg)
  end subroutine get_int64

  subroutine get_real32(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    real(real32), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(c_double) :: found
    integer(c_int32_t) :: status
    found = 0
    status = ozarr_attr_get_double(self%handle, c_text(name), found)
    if (status == OZARR_OK .and. abs(found) > huge(value)) then
      call ozf_note("the attribute does not fit into this kind of number: " // c_text(name))
      status = OZARR_ERR_RANGE
    end if
    if (status == OZARR_OK) value = real(found, real32)
    call done(status, stat, errmsg)
  end subroutine get_real32

  subroutine get_real64(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    real(real64), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(c_double) :: found
    integer(c_int32_t) :: status
    found = 0
    status = ozarr_attr_get_double(self%handle, c_text(name), found)
    if (status == OZARR_OK) value = found
    call done(status, stat, errmsg)
  end subroutine get_real64

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

  ! Lists of numbers. A get allocates the list as long as the attribute is; a single number is a list of one.

  subroutine set_numbers(self, name, type, values, n, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    integer(c_int32_t), intent(in) :: type
    type(c_ptr), intent(in) :: values
    integer, intent(in) :: n
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call done(ozarr_attr_set_numbers(self%handle, c_text(name), type, values, int(n, c_int64_t)), stat, errmsg)
  end subroutine set_numbers

  ! The number of numbers of an attribute; 0 after a failure.
  function numbers_in(self, name, type, status) result(n)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    integer(c_int32_t), intent(in) :: type
    integer(c_int32_t), intent(out) :: status
    integer(c_int64_t) :: n
    n = 0
    status = ozarr_attr_get_numbers(self%handle, c_text(name), type, c_null_ptr, 0_c_int64_t, n)
    if (status == OZARR_ERR_BUFFER_SIZE) status = OZARR_OK
    if (status /= OZARR_OK) n = 0
  end function numbers_in

  subroutine set_int32s(self, name, values, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    integer(int32), intent(in) :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(int32), target :: list(max(size(values), 1))
    list(:size(values)) = values
    call set_numbers(self, name, OZARR_INT32, c_loc(list), size(values), stat, errmsg)
  end subroutine set_int32s

  subroutine get_int32s(self, name, values, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    integer(int32), allocatable, intent(out) :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(int32), allocatable, target :: list(:)
    integer(c_int64_t) :: n
    integer(c_int32_t) :: status
    n = numbers_in(self, name, OZARR_INT32, status)
    allocate (list(max(n, 1_c_int64_t)))
    if (status == OZARR_OK .and. n > 0) status = ozarr_attr_get_numbers(self%handle, c_text(name), OZARR_INT32, c_loc(list), n, n)
    if (status /= OZARR_OK) n = 0
    allocate (values(n), source=list(:n))
    call done(status, stat, errmsg)
  end subroutine get_int32s

  subroutine set_int64s(self, name, values, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    integer(int64), intent(in) :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(int64), target :: list(max(size(values), 1))
    list(:size(values)) = values
    call set_numbers(self, name, OZARR_INT64, c_loc(list), size(values), stat, errmsg)
  end subroutine set_int64s

  subroutine get_int64s(self, name, values, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    integer(int64), allocatable, intent(out) :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(int64), allocatable, target :: list(:)
    integer(c_int64_t) :: n
    integer(c_int32_t) :: status
    n = numbers_in(self, name, OZARR_INT64, status)
    allocate (list(max(n, 1_c_int64_t)))
    if (status == OZARR_OK .and. n > 0) status = ozarr_attr_get_numbers(self%handle, c_text(name), OZARR_INT64, c_loc(list), n, n)
    if (status /= OZARR_OK) n = 0
    allocate (values(n), source=list(:n))
    call done(status, stat, errmsg)
  end subroutine get_int64s

  subroutine set_real32s(self, name, values, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    real(real32), intent(in) :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real32), target :: list(max(size(values), 1))
    list(:size(values)) = values
    call set_numbers(self, name, OZARR_FLOAT32, c_loc(list), size(values), stat, errmsg)
  end subroutine set_real32s

  subroutine get_real32s(self, name, values, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    real(real32), allocatable, intent(out) :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real32), allocatable, target :: list(:)
    integer(c_int64_t) :: n
    integer(c_int32_t) :: status
    n = numbers_in(self, name, OZARR_FLOAT32, status)
    allocate (list(max(n, 1_c_int64_t)))
    if (status == OZARR_OK .and. n > 0) status = ozarr_attr_get_numbers(self%handle, c_text(name), OZARR_FLOAT32, c_loc(list), n, n)
    if (status /= OZARR_OK) n = 0
    allocate (values(n), source=list(:n))
    call done(status, stat, errmsg)
  end subroutine get_real32s

  subroutine set_real64s(self, name, values, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name
    real(real64), intent(in) :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real64), target :: list(max(size(values), 1))
    list(:size(values)) = values
    call set_numbers(self, name, OZARR_FLOAT64, c_loc(list), size(values), stat, errmsg)
  end subroutine set_real64s

  subroutine get_real64s(self, name, values, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    real(real64), allocatable, intent(out) :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real64), allocatable, target :: list(:)
    integer(c_int64_t) :: n
    integer(c_int32_t) :: status
    n = numbers_in(self, name, OZARR_FLOAT64, status)
    allocate (list(max(n, 1_c_int64_t)))
    if (status == OZARR_OK .and. n > 0) status = ozarr_attr_get_numbers(self%handle, c_text(name), OZARR_FLOAT64, c_loc(list), n, n)
    if (status /= OZARR_OK) n = 0
    allocate (values(n), source=list(:n))
    call done(status, stat, errmsg)
  end subroutine get_real64s

  ! A list of texts; blanks at their ends are not stored.
  subroutine set_texts(self, name, values, stat, errmsg)
    class(ozarr_node), intent(inout) :: self
    character(*), intent(in) :: name, values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_texts), target :: texts
    call make_texts(values, texts, reversed=.false., blank_is_null=.false.)
    call done(ozarr_attr_set_strings(self%handle, c_text(name), texts%pointers, size(values, kind=c_int64_t)), stat, errmsg)
  end subroutine set_texts

  ! A text that is longer than the variable is an error; a shorter one is padded with blanks.
  subroutine get_text(self, name, value, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(*), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: text
    character(100) :: note
    integer(c_int32_t) :: status
    call node_text(self, name, text, status)
    if (status == OZARR_OK) then
      if (len(text) > len(value)) then
        write (note, "(a, i0, a, i0)") "the text has ", len(text), " bytes, expected at most the variable's ", len(value)
        call ozf_note(c_text(note))
        status = OZARR_ERR_BUFFER_SIZE
      else
        value = text
      end if
    end if
    call done(status, stat, errmsg)
  end subroutine get_text

  subroutine node_text(self, name, text, status)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t), intent(out) :: status
    call fetch_named(ozarr_attr_get_string, self%handle, name, text, status)
    if (.not. allocated(text)) text = ""
  end subroutine node_text

  subroutine node_json(self, name, json, status)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: json
    integer(c_int32_t), intent(out) :: status
    call fetch_named(ozarr_attr_get_json, self%handle, name, json, status)
    if (.not. allocated(json)) json = ""
  end subroutine node_json

  ! The text of an attribute, as long as it is.
  subroutine node_get_attr_text(self, name, text, stat, errmsg)
    class(ozarr_node), intent(in) :: self
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: text
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    call node_text(self, name, text, status)
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
    call node_json(self, name, json, status)
    call done(status, stat, errmsg)
  end subroutine node_get_attr_json

end module ozarr_nodes
