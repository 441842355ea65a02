"""The xarray backend: `xarray.open_dataset(location, engine="ozarr")`. Variables are read when their values are needed, and decoded as
xarray's own engine for Zarr decodes them."""
import os
from importlib.util import find_spec

import numpy as np
from xarray import Variable
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint
from xarray.backends.zarr import FillValueCoder
from xarray.core import indexing

from . import _raw as raw
from ._array import Array
from ._library import NotFoundError
from ._nodes import Group, Store, given, open as open_node


class LazyArray(BackendArray):
    """An array whose elements are read by xarray's indices."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key):
        # In another process the array is opened anew, and may have become longer: what counts is the shape that xarray knows.
        key = tuple(map(within, key, self.shape))
        for entry, now, then in zip(key, self.array.shape, self.shape):
            if isinstance(entry, slice) and now < then and len(range(*entry.indices(now))) != len(range(*entry.indices(then))):
                raise IndexError(f"array {self.array.path!r} has the shape {self.array.shape} now, and had {self.shape} when it was opened")
        found = self.array.oindex[key] if any(isinstance(entry, np.ndarray) for entry in key) else self.array[key]
        if not all(isinstance(entry, (int, np.integer)) for entry in key):
            return found
        # A single element, of which numpy would make an array of another type: of texts one of their length.
        out = np.empty((), self.dtype)
        out[()] = found
        return out


def within(entry, length):
    """An index, slice or array of indices of a dimension of this length, without what is counted from its end."""
    if isinstance(entry, slice):
        start, stop, step = entry.indices(length)
        return slice(start, stop if stop >= 0 else None, step)
    return np.where(entry < 0, entry + length, entry) if isinstance(entry, np.ndarray) else entry + length if entry < 0 else entry


class OzarrDataStore(AbstractDataStore):
    """One group as xarray's decoders want it."""

    def __init__(self, group, fill_value_as_mask=None, left_out=()):
        self.group, self.left_out = group, {left_out} if isinstance(left_out, str) else set(left_out or ())
        self.mask = fill_value_as_mask if fill_value_as_mask is not None else group.zarr_format == 2

    def load(self):
        # What cannot be understood raises its error here, rather than be missing without a word.
        arrays = [(name, self.group._opened(name)) for name, kind in self.group.list().items() if kind != "group" and name not in self.left_out]
        return {name: self.variable(name, array) for name, array in arrays}, self.group.attrs.asdict()

    def variable(self, name, array):
        dimensions = array.dimension_names
        if None in dimensions:
            raise KeyError(f"variable {name!r} has no names of its dimensions, which xarray needs: "
                           "dimension_names of format 3, or the attribute _ARRAY_DIMENSIONS of format 2")
        attributes, fill = array.attrs.asdict(), array.fill_value
        pieces = array._extents()
        encoding = {"chunks": pieces, "preferred_chunks": dict(zip(dimensions, pieces)),
                    "shards": array.chunks if array.chunks != array.inner_chunks else None}
        if any(isinstance(lengths, tuple) for lengths in pieces):
            # Writers without uneven chunks refuse them; these choose their own.
            del encoding["chunks"]
        if array.dtype.kind == "T":
            encoding["dtype"] = array.dtype
        if self.mask:
            # Of lists and other JSON xarray cannot tell which are missing.
            if fill is not None and array._code not in (raw.OZARR_JSON, raw.OZARR_LIST):
                attributes["_FillValue"] = fill
        else:
            encoding["fill_value"] = fill
            if "_FillValue" in attributes:
                attributes["_FillValue"] = FillValueCoder.decode(attributes["_FillValue"], array.dtype)
        return Variable(dimensions, indexing.LazilyIndexedArray(LazyArray(array)), attributes, encoding)

    def close(self):
        """Handles end with the arrays that use them: what was opened lazily can still be read."""


class OzarrBackendEntrypoint(BackendEntrypoint):
    """Opens Zarr hierarchies by the library ozarr."""

    description = "Open Zarr stores (folders, archives, buckets) with the library ozarr"
    url = "https://ozarr.org"
    supports_groups = True
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "mask_and_scale", "decode_times", "concat_characters", "decode_coords",
                               "use_cftime", "decode_timedelta", "group", "use_zarr_fill_value_as_mask", "storage_options", "consolidated")

    def guess_can_open(self, filename_or_obj):
        # xarray asks in the order of names, and what its own engine opens is left to that, which has other options.
        endings = (".ozx",) if find_spec("zarr") else (".ozx", ".zarr")
        return isinstance(filename_or_obj, (str, os.PathLike)) and os.fspath(filename_or_obj).rstrip("/").endswith(endings)

    def open_dataset(self, filename_or_obj, *, drop_variables=None, mask_and_scale=True, decode_times=True, concat_characters=True,
                     decode_coords=True, use_cftime=None, decode_timedelta=None, group=None, use_zarr_fill_value_as_mask=None,
                     storage_options=None, consolidated=None):
        return decoded(opened(filename_or_obj, group, storage_options, consolidated), drop_variables, use_zarr_fill_value_as_mask,
                       mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters,
                       decode_coords=decode_coords, use_cftime=use_cftime, decode_timedelta=decode_timedelta)

    def open_groups_as_dict(self, filename_or_obj, *, group=None, storage_options=None, consolidated=None, drop_variables=None,
                            use_zarr_fill_value_as_mask=None, **options):
        # All from one root, whose consolidated metadata are those of all groups.
        root = opened(filename_or_obj, group, storage_options, consolidated)
        paths = ["", *(path for path, kind in root.list(depth=-1).items() if kind == "group")]
        # As xarray's own engines name them: below a group that was asked for by their paths from there.
        names = [path or "." if group else f"/{path}" for path in paths]
        return {name: decoded(root._opened(path) if path else root, drop_variables, use_zarr_fill_value_as_mask, **options) for name, path in zip(names, paths)}

    def open_datatree(self, filename_or_obj, **options):
        from xarray import DataTree
        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))


def decoded(group, drop_variables, fill_value_as_mask, **options):
    """A group as a dataset, by xarray's options of decoding."""
    store = OzarrDataStore(group, fill_value_as_mask, drop_variables)
    return StoreBackendEntrypoint().open_dataset(store, drop_variables=drop_variables, **options)


def found(location, path):
    """The node at a path in a location, which need not be a node itself."""
    try:
        node = open_node(location)
        return node[path] if path and isinstance(node, Group) else node
    except NotFoundError:
        if not path:
            raise
    return Store(location, "r").open(path)


def opened(location, group, options, consolidated):
    """The group at a path in a location, with the options of a store. Consolidated metadata are used where they are, unless that is False."""
    path = (group or "").strip("/")
    # As xarray's own engines take it; a URL begins with no `~`.
    location = os.path.expanduser(given(location))
    if consolidated is not None and not consolidated:
        options = {"consolidated": "never"} | (options or {})
    try:
        node = Store(location, "r", **options).open(path) if options else found(location, path)
    except NotFoundError as e:
        raise NotFoundError(str(e).replace("no array", "no group", 1), e.status, e.name, e.key, e.field) from None
    if isinstance(node, Array):
        raise ValueError(f"{location}/{path} is an array, expected a group of variables")
    assert isinstance(node, Group)
    return node
