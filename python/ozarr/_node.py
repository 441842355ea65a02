"""What arrays and groups have in common: handles, attributes, metadata, settings."""
import ctypes as C
import json
from collections.abc import MutableMapping

import numpy as np

from ._library import Error, StoreError, Text, handle, lib, setting, text, utf8


NAME = "the name of an attribute"


class Attributes(MutableMapping):
    """The attributes of an array or group: a mapping of names to JSON values. Each assignment is stored at once."""

    def __init__(self, node):
        self._node = node

    def __getitem__(self, name):
        return json.loads(text(lib.attr_get_json, self._node._as_node(), utf8(name, NAME)))

    def __setitem__(self, name, value):
        lib.attr_set_json(self._node._as_node(), utf8(name, NAME), as_json(value))

    def __delitem__(self, name):
        lib.attr_erase(self._node._as_node(), utf8(name, NAME))

    def __contains__(self, name):
        return isinstance(name, str) and super().__contains__(name)

    def __iter__(self):
        return iter(self.asdict())

    def __len__(self):
        count = C.c_int64()
        lib.attr_count(self._node._as_node(), C.byref(count))
        return count.value

    def asdict(self):
        return json.loads(text(lib.attrs_get, self._node._as_node()))

    def put(self, values):
        """Replaces all attributes, in one write."""
        lib.attrs_set(self._node._as_node(), as_json(dict(values)))

    def clear(self):
        """Erases all attributes, in one write."""
        self.put({})

    def update(self, /, *values, **more):
        """Sets several attributes, in one write, or none of them. Those that other handles and programs have set meanwhile stay."""
        given = dict(*values, **more)
        # JSON would take other names, and any character in them.
        for name in given:
            Text.from_param(utf8(name, NAME))
        lib.node_set(self._node._as_node(), b"attributes", as_json(given))

    def __repr__(self):
        return repr(self.asdict())


def as_json(value):
    """Values of attributes as JSON."""
    return utf8(json.dumps(value, default=plain, ensure_ascii=False), "an attribute")


def plain(value):
    """numpy's numbers and arrays as JSON has them."""
    # Times of some units would become integers without the unit; numpy has no number of Python's for its long doubles.
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind not in "mM" and value.dtype.char not in "gG":
        return value.tolist()
    raise TypeError(f"an attribute cannot be {value!r}: JSON has numbers, strings, booleans, null, lists and objects")


class Closable:
    """What is closed by `close`, by `with`, or when it is collected."""

    _kind = None

    def close(self):
        """Stores what waits and frees the handle; an error of storing is raised."""
        if self._handle is not None:
            found, self._handle = self._handle, None
            getattr(lib, f"{self._kind}_close")(found)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    # When the interpreter ends, objects are freed when the module has lost its names.
    _lib = lib

    def __del__(self):
        found, self._handle = getattr(self, "_handle", None), None
        if found is not None:
            getattr(self._lib, f"{self._kind}_free")(found)


class Node(Closable):
    """What arrays and groups have in common."""

    def __init__(self, found, location=None, mode="r", store=None, inside=""):
        # `inside` is the path from the node at `location`: behind a fragment, a query or a percent code it could not be a part of that.
        self._handle, self._location, self._mode, self._store, self._inside = found, location, mode, store, inside

    def _as_node(self):
        return getattr(lib, f"{self._kind}_node")(self._handle)

    @property
    def attrs(self):
        return Attributes(self)

    @property
    def path(self):
        """The path in the store, "" for the root."""
        return text(lib.node_path, self._as_node())

    @property
    def metadata(self):
        """The metadata document (`zarr.json`, `.zarray`, `.zgroup`)."""
        return json.loads(text(lib.node_metadata, self._as_node()))

    @property
    def zarr_format(self):
        out = C.c_int32()
        lib.node_zarr_format(self._as_node(), C.byref(out))
        return out.value

    def set(self, key, value):
        """Changes a setting of this handle: see ozarr_node_set for the list."""
        lib.node_set(self._as_node(), utf8(key, "the name of a setting"), setting(value))

    def get_setting(self, key):
        return text(lib.node_get, self._as_node(), utf8(key, "the name of a setting"))

    def refresh(self):
        """Reads the metadata again, which other handles and processes may have changed."""
        lib.node_refresh(self._as_node(), None, 0)

    def flush(self):
        lib.node_flush(self._as_node())

    def __reduce__(self):
        if self._store is not None and self._store._location is not None:
            return reopen_in, (self._store, self.path)
        if self._location is None:
            raise TypeError(f"this {self._kind} is of a store without a location, and cannot be pickled")
        mode = "r+" if self._mode != "r" else "r"
        # The store's own root, which may be above that location, and has metadata of all nodes to be kept in step.
        root = (self.get_setting("location"), self.path) if self._kind == "array" and self._inside and self._handle is not None else ("", "")
        return reopen, (self._location, mode, self._inside, *root)

    def _child(self, kind, found, path, mode):
        """A node below, of a class and a handle."""
        return kind(found, self._location, mode, self._store, f"{self._inside}/{path}" if self._inside else path)


def reopen_in(store, path):
    """What a pickled node of a store becomes."""
    return store.open(path)


def reopen(location, mode, inside="", root="", path=""):
    """What a pickled node becomes. An array is opened from its store by its own document: that of the root may have those of thousands of nodes."""
    from . import Array, Store, open
    if root:
        try:
            store = Store(root, mode, consolidated="never")
            return Array(handle(lib.array_open_at, store._handle, utf8(path, "the path")), location, mode, inside=inside)
        except StoreError:
            raise
        except Error:
            # What is in the root's document only, has become a group, or was moved.
            pass
    found = open(location, mode)
    return found[inside] if inside else found
