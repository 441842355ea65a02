"""What an array to be created is like."""
import base64
import json
import operator

import numpy as np

from . import _types
from . import _raw as raw
from ._library import ArgumentError, ValueTypeError, handle, integers, lib, texts, utf8
from ._node import as_json

CREATE = {"new": raw.OZARR_CREATE_NEW, "overwrite": raw.OZARR_CREATE_OVERWRITE, "open": raw.OZARR_CREATE_OPEN_IF_SAME}
SHUFFLES = {None: raw.OZARR_SHUFFLE_DEFAULT, "none": raw.OZARR_SHUFFLE_NONE, "byte": raw.OZARR_SHUFFLE_BYTE, "bit": raw.OZARR_SHUFFLE_BIT}


def choice(table, name, what):
    if name not in table:
        raise ArgumentError(f"{what} is {name!r}, expected one of {', '.join(repr(x) for x in table)}")
    return table[name]


def several(values, what):
    """A list, and no text, which Python takes for the list of its characters."""
    if isinstance(values, (str, bytes)):
        raise ValueTypeError(f"{what} is {values!r}, expected a list, not a text")
    return list(values)


class Spec:
    """What an array to be created is: a context manager that gives the library's specification."""

    def __init__(self, shape, dtype, **choices):
        self.shape, self.dtype, self.choices = tuple(operator.index(n) for n in (shape if np.iterable(shape) else (shape,))), dtype, choices

    def __enter__(self):
        rank, shape = len(self.shape), integers(self.shape)
        if self.dtype is not str and self.dtype is not bytes:
            self.dtype = np.dtype(self.dtype)
        if self.dtype is str or self.dtype is bytes or self.dtype.kind == "T":
            code = raw.OZARR_BYTES if self.dtype is bytes else raw.OZARR_STRING
        else:
            code = _types.code_of(self.dtype)
        if code is not None:
            self.spec = handle(lib.spec_new, code, rank, shape)
        else:
            dtype = _types.new_dtype(self.dtype)
            try:
                self.spec = handle(lib.spec_new_dtype, dtype, rank, shape)
            finally:
                lib.dtype_free(dtype)
        try:
            self.code = code
            if self.choices.get("level") is not None and self.choices.get("compressor") is None:
                raise ArgumentError("found a level without a compressor, expected both, or the compressor alone")
            for name, value in self.choices.items():
                if name not in SETTERS:
                    raise ArgumentError(f"there is no choice {name!r} about an array: {', '.join(SETTERS)}")
                if value is not None and name not in ("level", "fill_value"):
                    self.choose(name, value)
            # Last: it is converted to the type, and a format may not have one.
            if "fill_value" in self.choices:
                self.fill(self.choices["fill_value"])
        except BaseException:
            lib.spec_free(self.spec)
            raise
        return self.spec

    def __exit__(self, *error):
        lib.spec_free(self.spec)

    def choose(self, name, value):
        try:
            SETTERS[name](self, value)
        except ArgumentError as e:
            # Of what the library refuses it names the field.
            raise e if e.status else ArgumentError(f"{name}: {e}") from None

    def names(self, values):
        values = several(values, "dimension_names")
        if len(values) != len(self.shape):
            raise ArgumentError(f"{len(values)} names of dimensions are given, expected {len(self.shape)}")
        lib.spec_set_dimension_names(self.spec, texts(values))

    def chunks(self, values):
        # As h5py and zarr-python have it: True and "auto" are a choice of the library's, which it makes anyway, False one chunk of all.
        if isinstance(values, str) and values == "auto":
            return
        if not isinstance(values, (bool, np.bool_)):
            self.lengths("chunks", lib.spec_set_chunks, values)
        elif not values:
            self.lengths("chunks", lib.spec_set_chunks, [max(1, n) for n in self.shape])

    def lengths(self, name, function, values):
        values = several(values, name) if np.iterable(values) else [values] * len(self.shape)
        if any(isinstance(n, (bool, np.bool_)) for n in values):
            raise ArgumentError("found a truth value, expected lengths of chunks")
        if len(values) != len(self.shape):
            raise ArgumentError(f"{len(values)} lengths of chunks are given, expected {len(self.shape)}")
        function(self.spec, integers(values))

    def fill(self, value):
        _types.unmasked(value)
        if isinstance(value, {raw.OZARR_BYTES: str, raw.OZARR_STRING: bytes}.get(self.code, ())):
            raise ValueTypeError(f"fill_value is {value!r}, expected {'bytes' if self.code == raw.OZARR_BYTES else 'a text'}")
        if value is None or self.code in _types.VARIABLE:
            given = base64.b64encode(value).decode() if isinstance(value, bytes) else value
            return lib.spec_set_member_json(self.spec, b"fill_value", json.dumps(given).encode())
        if self.code is None:
            dtype = _types.new_dtype(self.dtype)
            try:
                # As it is in memory: the type that is stored may have another order of bytes, and numpy's fields other places.
                element = self.single(_types.exact(value, _types.of_dtype(dtype)))
                return lib.spec_set_fill_dtype(self.spec, dtype, _types.address(element), element.nbytes)
            finally:
                lib.dtype_free(dtype)
        element = self.single(_types.native_of(value, self.dtype))
        lib.spec_set_fill_value(self.spec, _types.code_of(element.dtype), _types.address(element))

    def single(self, element):
        if element.ndim:
            raise ArgumentError(f"fill_value has the shape {element.shape}, expected a single value")
        return element

    def members(self, values):
        for name, value in values.items():
            lib.spec_set_member_json(self.spec, utf8(name, "the name"), utf8(json.dumps(value, ensure_ascii=False), "the value"))


SETTERS = {
    "zarr_format": lambda s, v: lib.spec_set_zarr_format(s.spec, v),
    "chunks": lambda s, v: s.chunks(v),
    "inner_chunks": lambda s, v: s.lengths("inner_chunks", lib.spec_set_inner_chunks, v),
    "fill_value": None,
    "dimension_names": lambda s, v: s.names(v),
    "attributes": lambda s, v: lib.spec_set_member_json(s.spec, b"attributes", as_json(v)),
    "compressor": lambda s, v: lib.spec_set_compressor(s.spec, utf8(v, "the name"), -1 if s.choices.get("level") is None else s.choices["level"]),
    "level": None,
    "shuffle": lambda s, v: lib.spec_set_shuffle(s.spec, choice(SHUFFLES, v, "shuffle")),
    "keep_bits": lambda s, v: lib.spec_set_keep_bits(s.spec, v),
    "checksum": lambda s, v: lib.spec_set_checksum(s.spec, v),
    "order": lambda s, v: lib.spec_set_order(s.spec, choice({"C": raw.OZARR_ORDER_C, "F": raw.OZARR_ORDER_F}, v, "order")),
    "big_endian": lambda s, v: lib.spec_set_big_endian(s.spec, v),
    "separator": lambda s, v: lib.spec_set_separator(s.spec, utf8(v, "it")),
    "members": lambda s, v: s.members(v),
}
