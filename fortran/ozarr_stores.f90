! Stores: what holds a hierarchy.                                                                SPDX-License-Identifier: MIT OR Apache-2.0
module ozarr_stores
  use, intrinsic :: iso_c_binding
  use ozarr_base
  use ozarr_c
  use ozarr_contexts
  implicit none
  private
  public :: ozarr_store

  ! What holds a hierarchy: a directory, a zip archive, an object store, or memory.
  type :: ozarr_store
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: open => store_open
    procedure :: memory => store_memory
    procedure :: is_open => store_is_open
    procedure :: node_kind => store_node_kind
    procedure :: erase => store_erase
    procedure :: flush => store_flush
    procedure :: close => store_close
    final :: store_final
  end type ozarr_store

contains

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

  ! Opens a location; mode "r" (the default) for reading, "r+" for reading and writing. `options` are names and values by turns, those of
  ! ozarr_store_open_ex in ozarr.h: options=[character(12) :: "consolidated", "never"].
  subroutine store_open(self, location, mode, options, context, stat, errmsg)
    class(ozarr_store), intent(inout) :: self
    character(*), intent(in) :: location
    character(*), intent(in), optional :: mode, options(:)
    type(ozarr_context), intent(in), optional :: context
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle, with
    integer(c_int32_t) :: status
    type(c_texts), target :: texts
    handle = c_null_ptr
    with = c_null_ptr
    status = OZARR_OK
    if (present(context)) with = context%handle
    if (present(context) .and. .not. c_associated(with)) status = refused(OZARR_ERR_NULL, "the context is not open")
    if (present(options) .and. status == OZARR_OK) then
      if (mod(size(options), 2) /= 0) then
        status = refused(OZARR_ERR_ARGUMENT, "options has ", n=size(options, kind=c_int64_t), &
          after=" texts, expected names and values by turns")
      else
        call make_texts(options, texts, status, reversed=.false., blank_is_null=.false., ended=.true.)
      end if
    end if
    if (status == OZARR_OK) status = ozarr_store_open_ex(with, c_text(location), mode_text(mode), texts%pointers, handle)
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

  pure function store_is_open(self) result(is_open)
    class(ozarr_store), intent(in) :: self
    logical :: is_open
    is_open = c_associated(self%handle)
  end function store_is_open

  ! The kind of the node at a path: OZARR_NODE_KIND_NONE, OZARR_NODE_KIND_ARRAY, ...
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

end module ozarr_stores
