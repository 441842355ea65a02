"""Arrays, with numpy's indices."""
import base64
import ctypes as C
import itertools
import math
import operator

import numpy as np

from . import _index, _types
from . import _raw as raw
from ._library import ArgumentError, handle, integers, lib, memory_at, text
from ._node import Node
from ._types import address

# So many elements of variable length lie in a box that is read for the sake of some of them.
BOX = 1 << 16


def memory_of(array, strides, code, dtype=None):
    """An ozarr_memory for a numpy array (strides: of each dimension of the stored array), and what it points to."""
    low = sum((n - 1) * s for n, s in zip(array.shape, array.strides) if s < 0 and n)
    high = sum((n - 1) * s for n, s in zip(array.shape, array.strides) if s > 0 and n) + array.itemsize
    given = integers(strides)
    memory = raw.ozarr_memory(struct_size=C.sizeof(raw.ozarr_memory), data=address(array) + low, size=high - low if array.size else 0,
                              offset=-low, strides=C.cast(given, C.c_void_p), type=code, dtype=dtype)
    return memory, (array, given)


def checked_out(out, shape):
    """Memory that elements of a shape are read into."""
    if not isinstance(out, np.ndarray) or out.shape != shape or not out.flags.writeable:
        raise ValueError(f"out is {getattr(out, 'shape', type(out))}, expected a writeable array of the shape {shape}")
    return out


def region_of(start, count, step=None):
    lists = [integers(start), integers(count), integers(step) if step is not None else None]
    return raw.ozarr_region(C.sizeof(raw.ozarr_region), *(C.cast(x, C.c_void_p) if x is not None else None for x in lists), None), lists


class Array(Node):
    """An array. Indices are numpy's: integers, slices with any step, `...`, None, and arrays of integers or bools."""

    _kind = "array"

    def __init__(self, found, location=None, mode="r", store=None, inside=""):
        super().__init__(found, location, mode, store, inside)
        self._look()

    def _look(self):
        self.dtype, self._code = _types.of_array(self._handle)
        rank = C.c_int32()
        lib.array_rank(self._handle, C.byref(rank))
        self.ndim = rank.value

    def refresh(self):
        super().refresh()
        # Another program may have replaced the array by one of another type or rank.
        self._look()

    def _shape(self, function):
        out = (C.c_int64 * max(1, self.ndim))()
        function(self._handle, out)
        return tuple(out[:self.ndim])

    @property
    def shape(self):
        return self._shape(lib.array_shape)

    @property
    def chunks(self):
        """The shape of a chunk; of a shard, where there are inner chunks."""
        return self._shape(lib.array_chunk_shape)

    @property
    def inner_chunks(self):
        """The shape of the smallest piece that can be read on its own."""
        return self._shape(lib.array_inner_chunk_shape)

    def _extents(self):
        """The lengths of the pieces that can be read on their own, for each dimension a number, or a tuple of all of them where they are uneven."""
        grid, pieces = self.metadata.get("chunk_grid"), self.inner_chunks
        if not isinstance(grid, dict) or grid.get("name", "regular") == "regular" or pieces != self.chunks:
            return pieces
        start, extent, out = C.c_int64(), C.c_int64(), []
        for dim, (count, length) in enumerate(zip(self._shape(lib.array_grid_shape), self.shape)):
            extents = []
            for index in range(count):
                lib.array_chunk_extent(self._handle, dim, index, C.byref(start), C.byref(extent))
                extents.append(min(extent.value, length - start.value))
            even = len(set(extents[:-1])) <= 1 and extents[-1:] <= extents[:1]
            out.append(extents[0] if extents and even else pieces[dim] if even else tuple(extents))
        return tuple(out)

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=object))

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    @property
    def dimension_names(self):
        """The dimensions' names, None for each that has none."""
        named, out = C.c_bool(), []
        for dim in range(self.ndim):
            name = text(lambda *buffer: lib.array_dimension_name(self._handle, dim, *buffer, C.byref(named)))
            out.append(name if named.value else None)
        return tuple(out)

    @property
    def fill_value(self):
        """The value of elements that were never written; None where format 2 leaves it undefined."""
        if self._code in _types.VARIABLE:
            fill = self.metadata.get("fill_value")
            if fill is None or self._code == raw.OZARR_JSON:
                return fill
            if self._code == raw.OZARR_BYTES:
                # zarr-python 2 has 0 for no bytes.
                return bytes(fill) if isinstance(fill, list) else base64.b64decode(fill or b"")
            return text(lib.array_fill_text, self._handle) if self._code == raw.OZARR_STRING else np.empty(0, self._list_type())
        out, defined = np.zeros((), self.dtype), C.c_bool()
        lib.array_fill_value(self._handle, address(out), out.nbytes, C.byref(defined))
        return out[()] if defined.value else None

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __bool__(self):
        # Else that of __len__, which some arrays do not have.
        return True

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("an array without dimensions has no elements to go through")
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        if self._handle is None:
            return "<closed ozarr.Array>"
        return f"<ozarr.Array {self.path!r} shape={self.shape} dtype={self.dtype} chunks={self.chunks}>"

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("an array in a store is read: there is no memory to share")
        out = self[...]
        if self.ndim == 0:
            # Of the element alone numpy would make an array of a type of its own: of bytes one that ends before their last NULs.
            whole = np.empty((), self.dtype)
            whole[()] = out
            out = whole
        return np.asarray(out, dtype)

    def __getitem__(self, key):
        return self.read(key)

    def __setitem__(self, key, value):
        self.write(key, value)

    @property
    def oindex(self):
        """Indices of which each is taken on its own (outer): `z.oindex[[1, 5], :, [2, 2]]` has the shape (2, n, 2)."""
        return Outer(self)

    def read(self, key=..., out=None):
        """The elements at `key`. With `out` they go into that array, of any strides and of any type that they convert to."""
        if isinstance(out, np.ma.MaskedArray):
            # By numpy's assignment, which takes the mask away.
            out[...] = self.read(key, np.empty(out.shape, out.dtype))
            return out
        selection = _index.parse(key, self.shape)
        if self._code in _types.VARIABLE:
            return self._given(self._read_variable(selection), out)
        if isinstance(selection, _index.Lists):
            dtype = self.dtype if out is None or self._code == raw.OZARR_BY_DTYPE else np.asarray(out).dtype
            block = np.empty([len(values) for values in selection.lists], dtype if dtype.isnative else dtype.newbyteorder("="))
            self._move_lists(lib.array_read_orthogonal, selection.lists, block)
            return self._given(block[selection.key], out)
        if out is None:
            result = np.empty(selection.shape, self.dtype)
        else:
            result = checked_out(out, selection.shape)
            if self._code == raw.OZARR_BY_DTYPE and result.dtype != self.dtype:
                return self._given(self.read(key), out)
        into = result if result.dtype.isnative else np.empty(result.shape, result.dtype.newbyteorder("="))
        if isinstance(selection, _index.Points):
            self._move_points(lib.array_read_points, selection, into)
        else:
            self._move_box(lib.array_read_ex, selection, into)
        if into is not result:
            result[...] = into
        return result[()] if out is None and result.ndim == 0 else result

    def write(self, key, value):
        """Writes `value`, broadcast as numpy does it, to the elements at `key`."""
        selection = _index.parse(key, self.shape)
        if self._code in _types.VARIABLE:
            return self._write_variable(selection, value)
        given = self._values(value)
        if isinstance(selection, _index.Lists):
            if _index.fills(selection):
                block = np.empty([len(values) for values in selection.lists], given.dtype)
                block[selection.key] = given
                return self._move_lists(lib.array_write_orthogonal, selection.lists, block)
            selection = _index.points_of(selection)
        given = _types.broadcast(given, selection.shape)
        if isinstance(selection, _index.Points):
            self._move_points(lib.array_write_points, selection, given)
        else:
            self._move_box(lib.array_write_ex, selection, given)

    def _values(self, value):
        """Values that are to be written, as they lie in memory."""
        _types.unmasked(value)
        return _types.exact(value, self.dtype) if self._code == raw.OZARR_BY_DTYPE else _types.native_of(value, self.dtype)

    def _given(self, result, out):
        if out is None:
            return result
        checked_out(out, np.shape(result))[...] = _types.exact(result, out.dtype)
        return out

    def _memory(self, array, strides):
        """The memory of an array, and a data type to free where its own has no number."""
        if self._code == raw.OZARR_BY_DTYPE:
            if array.dtype != self.dtype:
                raise _types.ValueTypeError(f"the memory has elements of the type {array.dtype}, expected {self.dtype}")
            return memory_of(array, strides, raw.OZARR_BY_DTYPE)
        code = _types.code_of(array.dtype)
        if code is None:
            raise _types.ValueTypeError(f"elements of the type {array.dtype} do not convert to and from {self.dtype}")
        return memory_of(array, strides, code)

    def _move_box(self, function, box, array):
        memory, keep = self._memory(array, box.strides(array))
        region, lists = region_of(box.start, box.count, box.step)
        function(self._handle, C.byref(region), C.byref(memory))
        del keep, lists

    def _move_points(self, function, points, array):
        flat = np.ascontiguousarray(array).reshape(-1)
        memory, keep = self._memory(flat, flat.strides)
        function(self._handle, address(points.points), len(points.points), C.byref(memory))
        if function is lib.array_read_points and not np.shares_memory(flat, array):
            array[...] = flat.reshape(array.shape)
        del keep

    def _move_lists(self, function, lists, array):
        counts = integers([len(values) for values in lists])
        pointers = (C.c_void_p * max(1, len(lists)))(*(address(values) for values in lists))
        memory, keep = self._memory(array, array.strides)
        function(self._handle, counts, pointers, C.byref(memory))
        del keep

    def _read_variable(self, selection):
        """Elements of variable length: boxes around the selection are read."""
        if isinstance(selection, _index.Points):
            out = self._variable_points(selection.points).reshape(selection.shape)
        elif isinstance(selection, _index.Lists):
            out = self._variable_lists(selection.lists)[selection.key]
        else:
            out = self._variable_box(selection.start, selection.count, selection.step).reshape(selection.shape)
        return out[()] if isinstance(out, np.ndarray) and out.ndim == 0 else out

    def _variable_points(self, points):
        out = np.empty(len(points), self.dtype)
        cells = points // self._cells(list(points.T), len(points)) if len(points) else points
        order = np.lexsort(cells.T[::-1])
        cuts = np.flatnonzero((cells[order[1:]] != cells[order[:-1]]).any(axis=1)) + 1
        for group in np.split(order, cuts) if len(points) else ():
            low = points[group].min(axis=0)
            block = self._variable_box(low, points[group].max(axis=0) + 1 - low, [1] * self.ndim)
            out[group] = block[tuple((points[group] - low).T)]
        return out

    def _variable_lists(self, lists):
        out = np.empty([len(values) for values in lists], self.dtype)
        if not out.size:
            return out
        groups = []
        for values, cell in zip(lists, self._cells(lists, out.size)):
            order = np.argsort(values // cell, kind="stable")
            groups.append(np.split(order, np.flatnonzero(np.diff(values[order] // cell)) + 1))
        for places in itertools.product(*groups):
            parts = [values[place] for values, place in zip(lists, places)]
            low = [int(part.min()) for part in parts]
            block = self._variable_box(low, [int(part.max()) + 1 - first for part, first in zip(parts, low)], [1] * self.ndim)
            out[np.ix_(*places)] = block[np.ix_(*(part - first for part, first in zip(parts, low)))]
        return out

    def _cells(self, lists, number):
        """How long the boxes are at most by which elements of lists are read. One box holds them all where it is small, or most of it is asked for;
        else they are about as large as BOX, and end where chunks do, of which each is decoded once."""
        spans = [int(values.max()) - int(values.min()) + 1 for values in lists]
        if math.prod(spans) <= max(BOX, 4 * number):
            return [int(values.max()) + 1 for values in lists]
        cells, left = [], BOX
        for span, chunk in zip(spans[::-1], self.inner_chunks[::-1]):
            cells.insert(0, -(-max(chunk, left) // max(chunk, 1)) * max(chunk, 1))
            left = max(1, left // min(span, cells[0]))
        return cells

    def _list_type(self):
        if self._code != raw.OZARR_LIST:
            return None
        return _types.NUMBERS[_types.get(lib.array_list_type, self._handle, C.c_int32)]

    def _variable_box(self, start, count, step):
        region, lists = region_of(start, count, step)
        elements = handle(lib.array_read_varlen, self._handle, C.byref(region))
        try:
            offsets, data, size, number = C.c_void_p(), C.c_void_p(), C.c_size_t(), C.c_int64()
            lib.varlen_count(elements, C.byref(number))
            lib.varlen_all(elements, C.byref(offsets), C.byref(data), C.byref(size))
            ends = (C.c_int64 * (number.value + 1)).from_address(offsets.value)[:] if offsets.value else [0]
            found = memory_at(data.value, size.value).tobytes() if size.value else b""
            return _types.converted((found, ends, self._list_type()), self._code).reshape(count)
        finally:
            lib.varlen_free(elements)
            del lists

    def _write_variable(self, selection, value):
        """Elements of variable length. Of single elements each run along the last dimension, of neighbours or in equal steps, is a write of
        its own: one of the box around them would take back what other programs write between them meanwhile."""
        if isinstance(selection, _index.Lists):
            selection = _index.points_of(selection)
        given = _types.elements(_types.unmasked(value), self._code, len(selection.shape))
        given = _types.broadcast(given, selection.shape)
        if isinstance(selection, _index.Box):
            # In the order of the region, with the dimensions that integers took away.
            given = given.reshape(selection.count)
            boxes = [(selection, 0, given.size)]
        else:
            boxes, order = _index.runs_of(selection.points)
            given = given.ravel()[order]
        data, offsets = _types.flattened(given.ravel(), self._code, self._list_type())
        for box, first, end in boxes:
            region, lists = region_of(box.start, box.count, box.step)
            ends, part = offsets[first:end + 1] - offsets[first], data[offsets[first]:offsets[end]]
            lib.array_write_varlen(self._handle, C.byref(region), address(ends), part, len(part))
            del lists

    def resize(self, shape, keep=False):
        """Changes the shape. Elements beyond it are erased, unless `keep`."""
        shape = tuple(shape) if np.iterable(shape) else (shape,)
        if len(shape) != self.ndim:
            raise ArgumentError(f"{len(shape)} lengths are given, expected {self.ndim}, one for each dimension")
        lib.array_resize(self._handle, integers(shape), raw.OZARR_RESIZE_KEEP if keep else 0)

    def append(self, values, axis=0):
        """Makes the array longer along `axis` by `values`, behind what other handles and programs have appended."""
        is_variable = self._code in _types.VARIABLE
        values = _types.elements(_types.unmasked(values), self._code, self.ndim) if is_variable else np.asarray(self._values(values), order="C")
        if not -self.ndim <= operator.index(axis) < self.ndim:
            raise IndexError(f"axis {axis} is out of bounds: the array has {self.ndim} dimensions")
        axis, shape = axis % self.ndim, self.shape
        if values.ndim != self.ndim or values.shape[:axis] + values.shape[axis + 1:] != shape[:axis] + shape[axis + 1:]:
            raise ValueError(f"the values have the shape {values.shape}, the array {shape}: all but dimension {axis} must agree")
        if not is_variable:
            return lib.array_append(self._handle, axis, values.shape[axis], _types.code_of(values.dtype) or self._code, address(values), values.nbytes)
        data, offsets = _types.flattened(values.ravel(), self._code, self._list_type())
        lib.array_append_varlen(self._handle, axis, values.shape[axis], address(offsets), data, len(data))


class Outer:
    """Outer indices of an array."""

    def __init__(self, array):
        self.array = array

    def _lists(self, key):
        for entry in key if isinstance(key, tuple) else (key,):
            if _index.is_array(entry) and np.ndim(entry) > 1:
                raise IndexError(f"an outer index has the shape {np.shape(entry)}, expected a list for one dimension")
        entries = [entry for entry in _index.full(key, self.array.shape) if entry is not Ellipsis]
        lists, dropped = [], []
        for dim, (entry, length) in enumerate(zip(entries, self.array.shape)):
            if isinstance(entry, slice):
                span = _index.span_of(entry, length)
                lists.append(np.arange(span.start, span.stop, span.step))
            elif isinstance(entry, np.ndarray) and entry.ndim:
                lists.append(_index.array_index(entry, length, dim))
            else:
                lists.append(np.array([_index.integer(entry, length, dim)]))
                dropped.append(dim)
        return [np.ascontiguousarray(values, "i8") for values in lists], tuple(dropped)

    def __getitem__(self, key):
        array = self.array
        lists, dropped = self._lists(key)
        if array._code in _types.VARIABLE:
            found = array._variable_lists([np.unique(x) for x in lists])
            block = found[np.ix_(*(np.searchsorted(np.unique(x), x) for x in lists))]
        else:
            block = np.empty([len(values) for values in lists], array.dtype)
            array._move_lists(lib.array_read_orthogonal, lists, block)
        return block.squeeze(dropped)[()]

    def __setitem__(self, key, value):
        lists, dropped = self._lists(key)
        shape = [len(values) for dim, values in enumerate(lists) if dim not in dropped]
        if self.array._code in _types.VARIABLE:
            return self.array._write_variable(_index.outer_points(lists, shape) if lists else _index.parse(..., ()), value)
        given = np.ascontiguousarray(_types.broadcast(self.array._values(value), shape)).reshape([len(x) for x in lists])
        self.array._move_lists(lib.array_write_orthogonal, lists, given)
