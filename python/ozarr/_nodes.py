"""Groups and stores, and how nodes are opened and created."""
import ctypes as C
import os
import re
from collections.abc import Mapping
from urllib.parse import quote

import numpy as np

from . import _raw as raw
from ._array import Array
from ._library import ArgumentError, Error, NotFoundError, ValueTypeError, handle, integers, lib, setting, text, texts, utf8
from ._node import Attributes, Closable, Node
from ._spec import CREATE, Spec, choice
from ._types import address, code_of, unmasked


def given(location):
    """A location as text or bytes. What else names a path is no URL: with a colon before its first slash it begins with `./`."""
    path = os.fspath(location)
    is_like_url = not isinstance(location, (str, bytes)) and ":" in os.fsdecode(path).split("/")[0]
    return "./" + os.fsdecode(path) if is_like_url else path


def where(location):
    return os.fsencode(given(location))


def lasting(location):
    """A location as text: a path from the root, which means the same when the program has changed its folder; so it is behind `zip:` and `file:`."""
    scheme, path = re.fullmatch(r"([A-Za-z][A-Za-z0-9+.-]+:)?(.*)", os.fsdecode(given(location)), re.DOTALL).groups("")
    kind = scheme.lower()
    # The folder is not asked for where it is not needed: it may be gone.
    if kind not in ("", "zip:", "file:") or os.path.isabs(path):
        return scheme + path
    here = os.getcwd()
    return scheme + os.path.join(quote(os.fsencode(here)) if kind == "file:" else here, path)


def told(location):
    """A location for people to read: of a URL without a password and what is behind the path, which may be one."""
    is_url = re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", location)
    return re.sub(r"(?<=//)[^/]*@|[?#].*", "", location, flags=re.DOTALL) if is_url else location


def changed(given, values):
    """The first of the elements of lists, or the text, that numpy has made something else of, in a list."""
    if values.dtype.kind not in "OUSfc" or not isinstance(given, (list, tuple, str, bytes)) and values.dtype.kind != "O":
        return []
    kind = {"O": str, "U": str, "S": bytes}.get(values.dtype.kind, object)
    for one, kept in zip(np.asarray(given, object).flat, values.ravel().tolist()):
        # A number of numpy would be rounded to a float before it is compared with one.
        plain = one.item() if isinstance(one, np.generic) else one
        if not isinstance(one, kind) or plain != kept and plain == plain:
            return [one]
    return []


class Group(Node, Mapping):
    """A group: a mapping of names (or paths, "a/b") to arrays and groups, of which each is opened when it is asked for. Assigning makes a new
    array, and `del` erases; two groups are equal where they are one object."""

    _kind = "group"
    __eq__, __hash__ = object.__eq__, object.__hash__

    def __getitem__(self, path):
        found = self._opened(path)
        # A group that is refreshed goes by consolidated metadata no more.
        look = found if isinstance(found, Array) else self._opened(path)
        try:
            look.refresh()
        except NotFoundError:
            # Consolidated metadata may be out of date. Of a store that cannot be listed they are believed, as `list` does.
            inside = path.strip("/")
            if inside not in self.list(depth=inside.count("/") + 1):
                raise
        except Error:
            # What cannot be understood there says so where it is used.
            pass
        return found

    def _opened(self, path):
        """A node below that is listed, or was: consolidated metadata may name it."""
        try:
            return self._child(Array, handle(lib.group_open_array, self._handle, utf8(path, "the path")), path, self._mode)
        except Error as e:
            if e.status != raw.OZARR_ERR_NODE_KIND:
                raise
        return self._child(Group, handle(lib.group_open_group, self._handle, utf8(path, "the path")), path, self._mode)

    def __setitem__(self, path, values):
        """Creates an array of those values. None is left where they cannot be stored; of numbers also after a kill."""
        given, values = unmasked(values), None if isinstance(values, Mapping) else np.asarray(unmasked(values))
        code = None if values is None else code_of(values.dtype)
        if odd := [given] if values is None else changed(given, values):
            raise ValueTypeError(f"{odd[0]!r} has no type in an array: give numbers of at most 64 bits, texts, or an array")
        if code is not None:
            values = np.asarray(values, values.dtype if values.dtype.isnative else values.dtype.newbyteorder("="), order="C")
            return lib.group_put(self._handle, utf8(path, "the path"), code, values.ndim, integers(values.shape), address(values), values.nbytes)
        with self.create(path, values.shape, str if values.dtype.kind in "TO" else values.dtype) as array:
            try:
                array[...] = values
            except BaseException:
                del self[path]
                raise

    def __delitem__(self, path):
        lib.group_erase(self._handle, utf8(path, "the path"))

    def __contains__(self, path):
        found = self.get(path) if isinstance(path, str) else None
        if found is not None:
            found.close()
        return found is not None

    def get(self, path, default=None):
        try:
            return self[path]
        except NotFoundError:
            return default
        except ArgumentError as e:
            # What cannot be the path of a node is the path of none.
            if e.status not in (0, raw.OZARR_ERR_NAME):
                raise
            return default

    def list(self, pattern=None, depth=1):
        """The paths of the nodes below, and "array", "group" or "unknown": down to `depth` levels (-1: all), those that match `pattern`."""
        cursor = handle(lib.group_list_nodes, self._handle, utf8(pattern, "the pattern") if pattern else None, depth)
        kinds = {raw.OZARR_NODE_KIND_ARRAY: "array", raw.OZARR_NODE_KIND_GROUP: "group"}
        more, kind, out = C.c_bool(), C.c_int32(), {}
        try:
            while True:
                lib.node_iter_next(cursor, C.byref(more))
                if not more.value:
                    return out
                lib.node_iter_kind(cursor, C.byref(kind))
                out[text(lib.node_iter_name, cursor)] = kinds.get(kind.value, "unknown")
        finally:
            lib.node_iter_free(cursor)

    def keys(self):
        return list(self.list())

    def __iter__(self):
        return iter(self.list())

    def __len__(self):
        return len(self.list())

    def items(self):
        return [(name, self._opened(name)) for name in self.list()]

    def values(self):
        return [self._opened(name) for name in self.list()]

    def create(self, path, shape, dtype="f8", mode="new", **choices):
        """Creates an array below: `choices` as for `ozarr.create`."""
        with Spec(shape, dtype, **choices) as spec:
            found = handle(lib.group_create_array, self._handle, utf8(path, "the path"), spec, choice(CREATE, mode, "mode"))
        return self._child(Array, found, path, "r+")

    def create_group(self, path, mode="new"):
        found = handle(lib.group_create_group, self._handle, utf8(path, "the path"), choice(CREATE, mode, "mode"))
        return self._child(Group, found, path, "r+")

    def consolidate(self):
        """Collects the metadata of everything below in one document."""
        lib.group_consolidate(self._handle)

    def __repr__(self):
        return f"<ozarr.Group {self.path!r}: {', '.join(self.list())}>" if self._handle is not None else "<closed ozarr.Group>"


class Store(Closable):
    """An open store: a folder, an archive, a bucket (`Store(location, mode, **options)`), or memory (`Store.memory()`)."""

    _kind = "store"

    def __init__(self, location=None, mode="r", **options):
        self._handle, self._location, self._mode, self._options = None, None, mode, options
        if location is None:
            return
        self._location = lasting(location)
        given = [x for key, value in options.items() for x in (key.replace("__", "."), setting(value).decode())]
        self._handle = handle(lib.store_open_ex, None, where(location), utf8(mode, "mode"), texts([*given, None]))

    def __reduce__(self):
        if self._location is None:
            raise TypeError("a store in memory cannot be pickled")
        return reopen_store, (self._location, self._mode, self._options)

    @classmethod
    def memory(cls):
        store = cls(mode="r+")
        store._handle = handle(lib.store_memory)
        return store

    def __repr__(self):
        closed = "closed " if self._handle is None else ""
        return f"<{closed}ozarr.Store {told(self._location)!r}>" if self._location is not None else f"<{closed}ozarr.Store in memory>"

    def _living(self):
        """The handle of the store, while it is open."""
        if self._handle is None:
            raise ValueError(f"the store {told(self._location or 'in memory')} is closed")
        return self._handle

    def open(self, path=""):
        """The array or group at a path."""
        kind = C.c_int32()
        lib.store_node_kind(self._living(), utf8(path, "the path"), C.byref(kind))
        if kind.value == raw.OZARR_NODE_KIND_GROUP:
            return Group(handle(lib.group_open_at, self._living(), utf8(path, "the path")), mode=self._mode, store=self)
        return Array(handle(lib.array_open_at, self._living(), utf8(path, "the path")), mode=self._mode, store=self)

    def create(self, path, shape, dtype="f8", mode="new", **choices):
        """Creates an array: `choices` as for `ozarr.create`."""
        with Spec(shape, dtype, **choices) as spec:
            return Array(handle(lib.array_create_at, self._living(), utf8(path, "the path"), spec, choice(CREATE, mode, "mode")), mode="r+", store=self)

    def create_group(self, path="", mode="new", zarr_format=3):
        found = handle(lib.group_create_at, self._living(), utf8(path, "the path"), zarr_format, choice(CREATE, mode, "mode"))
        return Group(found, mode="r+", store=self)

    def flush(self):
        lib.store_flush(self._living())


def reopen_store(location, mode, options):
    """What a pickled store becomes."""
    return Store(location, mode, **options)


def open(location, mode="r"):
    """Opens the array or the group at `location`, a path or a URL. `mode`: "r" for reading only, "r+" for reading and writing."""
    array, group = C.c_void_p(), C.c_void_p()
    lib.node_open(where(location), utf8(mode, "mode"), C.byref(array), C.byref(group))
    location = lasting(location)
    return Array(array.value, location, mode) if array.value else Group(group.value, location, mode)


def create(location, shape, dtype="f8", mode="new", **choices):
    """Creates an array at `location`. `mode`: "new", "overwrite", or "open" (if it would be just so). `dtype` is numpy's, `str` or
    `bytes`. Choices: chunks (True, the default, lets the library choose, False is one chunk), inner_chunks (chunks are then shards of these), fill_value, dimension_names, attributes, compressor
    ("zstd", "blosc:lz4", "gzip", "none", ...; None, the default, is "zstd", and not "none"), level, shuffle, keep_bits, checksum, order, big_endian, separator, zarr_format, members
    (parts of the metadata document, as JSON)."""
    with Spec(shape, dtype, **choices) as spec:
        found = handle(lib.array_create_ex, where(location), spec, choice(CREATE, mode, "mode"))
    return Array(found, lasting(location), "r+")


def create_group(location, mode="new"):
    """Creates a group at `location`, with those above it."""
    return Group(handle(lib.group_create, where(location), choice(CREATE, mode, "mode")), lasting(location), "r+")


def erase(location):
    """Erases the node at `location`, with everything below it."""
    lib.node_erase(where(location))
