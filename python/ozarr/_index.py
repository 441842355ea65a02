"""What numpy's indices mean for a read or write of an array: a box with steps, points, or lists along dimensions."""
import math
import operator

import numpy as np

# Where lists that go along together have so many times fewer elements than their product, these are moved one by one.
SPARSE = 8


class Box:
    """A region: first elements, counts and steps; `shape` is that of the result, `dropped` the dimensions that integers took away."""

    def __init__(self, start, count, step, dropped, places):
        self.start, self.count, self.step, self.dropped, self.places = start, count, step, dropped, places
        self.shape = tuple(1 if dim is None else count[dim] for dim in places)

    def strides(self, memory):
        """The strides of the region's dimensions in an array of the result's shape."""
        out = [0] * len(self.count)
        for dim, stride in zip(self.places, memory.strides):
            if dim is not None:
                out[dim] = stride
        return out


class Lists:
    """Lists along dimensions: the elements that have to be moved (`lists`, sorted, each once), and the index into their block. Of that `joined`
    elements are selected along the dimensions that have no slice, where it has `product`."""

    def __init__(self, lists, key, joined):
        self.lists, self.key, self.joined = lists, key, joined
        self.product = math.prod(len(values) for entry, values in self.entries() if not isinstance(entry, slice))

    def entries(self):
        """The index of each dimension, with its list."""
        return zip((entry for entry in self.key if entry is not None and entry is not Ellipsis), self.lists)


class Points:
    """Single elements: an integer array of (points, rank), and the shape of the result."""

    def __init__(self, points, shape):
        self.points, self.shape = points, shape


def is_array(entry):
    """Whether an entry of an index is a list, or makes an array of itself, as those of numpy, pandas, xarray and dask do."""
    return isinstance(entry, list) or hasattr(entry, "__array__") and not isinstance(entry, np.generic)


def full(key, shape):
    """The index as a list: an entry for each dimension, and None for each new one. An ellipsis of no dimensions stays, as it parts lists."""
    key = list(key) if isinstance(key, tuple) else [key]
    rank, out, masks = len(shape), [], []
    for entry in key:
        if isinstance(entry, (bool, np.bool_)):
            raise IndexError("a single True or False is no index of an array")
        if is_array(entry):
            entry = np.asarray(entry)
            if entry.dtype == bool and entry.ndim > 1:
                masks.append((len(out), entry.shape))
                out.extend(entry.nonzero())
                continue
            if entry.size == 0 and entry.dtype.kind == "f":
                entry = entry.astype("i8")
        out.append(entry)
    ellipses = [i for i, entry in enumerate(out) if entry is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index can have a single ellipsis ('...')")
    given = sum(entry is not None and entry is not Ellipsis for entry in out)
    if given > rank:
        raise IndexError(f"too many indices: the array has {rank} dimensions, {given} were indexed")
    at = ellipses[0] if ellipses else len(out)
    for place, lengths in masks:
        dim = sum(entry is not None and entry is not Ellipsis for entry in out[:place]) + (rank - given if place > at else 0)
        if tuple(shape[dim:dim + len(lengths)]) != lengths:
            raise IndexError(f"dimension {dim}: the mask has the shape {lengths}, the dimensions the lengths {tuple(shape[dim:dim + len(lengths)])}")
    return out[:at] + ([slice(None)] * (rank - given) or out[at:at + 1]) + out[at + 1:]


def integer(entry, length, dim):
    """An index of one element, counted from the front."""
    try:
        value = operator.index(entry)
    except TypeError:
        raise IndexError(f"dimension {dim}: {entry!r:.80} is no index: integers, slices, '...', None and arrays of integers or bools are") from None
    if not -length <= value < length:
        raise IndexError(f"dimension {dim}: index {value} is out of bounds for the length {length}")
    return value + length if value < 0 else value


def span_of(entry, length):
    """The elements that a slice selects. A step that leaves none or one may be of any size to Python: it is 1."""
    span = range(*entry.indices(length))
    return span if len(span) > 1 else range(span.start, span.start + len(span))


def array_index(entry, length, dim):
    """An array of integers or bools as an array of integers, counted from the front."""
    if entry.dtype == bool:
        if entry.shape != (length,):
            raise IndexError(f"dimension {dim}: the mask has the shape {entry.shape}, the dimension the length {length}")
        return entry.nonzero()[0]
    if entry.dtype.kind not in "iu":
        raise IndexError(f"dimension {dim}: an index of the type {entry.dtype} is no array of integers or bools")
    given, entry = entry, entry.astype("i8")
    outside = (given < -length) | (given >= length)
    if np.count_nonzero(outside):
        raise IndexError(f"dimension {dim}: index {given[outside].flat[0]} is out of bounds for the length {length}")
    return np.where(entry < 0, entry + length, entry)


def parse(key, shape):
    """A Box, Points or Lists for `key` in an array of that shape, as numpy understands it."""
    entries = full(key, shape)
    if any(isinstance(entry, np.ndarray) for entry in entries):
        return parse_arrays(entries, shape)
    start, count, step, dropped, places = [], [], [], [], []
    for entry in entries:
        dim = len(start)
        if entry is Ellipsis:
            continue
        if entry is None:
            places.append(None)
        elif isinstance(entry, slice):
            span = span_of(entry, shape[dim])
            start.append(span.start), count.append(len(span)), step.append(span.step)
            places.append(dim)
        else:
            start.append(integer(entry, shape[dim], dim)), count.append(1), step.append(1)
            dropped.append(dim)
    # Where nothing is selected the first element may be behind the last one, which a region's may not.
    start = [first if number else 0 for first, number in zip(start, count)]
    return Box(start, count, step, dropped, places)


def parse_arrays(entries, shape):
    lists, inside, dim = [], [], 0
    for entry in entries:
        if entry is None or entry is Ellipsis:
            inside.append(entry)
            continue
        if isinstance(entry, slice):
            span = span_of(entry, shape[dim])
            lists.append(np.arange(span.start, span.stop, span.step))
            inside.append(slice(None))
        elif isinstance(entry, np.ndarray):
            lists.append(array_index(entry, shape[dim], dim))
            inside.append(lists[-1])
        else:
            lists.append(np.array(integer(entry, shape[dim], dim)))
            inside.append(lists[-1])
        dim += 1
    joined = [entry for entry in inside if isinstance(entry, np.ndarray)]
    try:
        shape = np.broadcast_shapes(*(entry.shape for entry in joined))
    except ValueError:
        shapes = ", ".join(str(entry.shape) for entry in joined)
        raise IndexError(f"arrays of indices with the shapes {shapes} do not fit together") from None
    if len(joined) == len(inside):
        return Points(np.stack([part.ravel() for part in np.broadcast_arrays(*joined)], axis=1).astype("i8"), shape)
    key, unique, dim = [], [], 0
    for entry in inside:
        if entry is None or entry is Ellipsis:
            key.append(entry)
            continue
        if isinstance(entry, slice):
            unique.append(lists[dim])
            key.append(entry)
        else:
            values, inverse = np.unique(entry, return_inverse=True)
            unique.append(values)
            key.append(int(inverse.reshape(())) if entry.ndim == 0 else inverse.reshape(entry.shape))
        dim += 1
    out = Lists([np.ascontiguousarray(values, "i8") for values in unique], tuple(key), math.prod(shape))
    return points_of(out) if out.product > SPARSE * out.joined else out


def fills(lists):
    """Whether Lists select each element of their block, so that a write needs none of those that are stored."""
    if lists.product > lists.joined:
        return False
    hit = np.zeros([1 if isinstance(entry, slice) else len(values) for entry, values in lists.entries()], bool)
    hit[lists.key] = True
    return bool(hit.all())


def points_of(lists):
    """The points that Lists select, each as often as numpy would, and the shape of the selection."""
    return outer_points(lists.lists, None, lists.key)


def outer_points(lists, shape=None, key=...):
    """All combinations of the indices in lists, or those of them that an index selects."""
    parts = [grid[key] for grid in np.meshgrid(*lists, indexing="ij", copy=False)]
    return Points(np.stack([part.ravel() for part in parts], axis=1).astype("i8"), parts[0].shape if shape is None else tuple(shape))


def runs_of(points):
    """Points as boxes, each with where its values begin and end: of those that follow each other along the last dimension, one by one or in
    equal steps. Then the order of the values, without those of points that come again later, as numpy keeps the last one."""
    if not len(points):
        return [], np.arange(0)
    order = np.lexsort(points.T[::-1])
    order = order[np.append(np.diff(points[order], axis=0).any(axis=1), True)]
    points = points[order]
    step = np.diff(points, axis=0)
    # 0 where a point is followed by one that differs along another dimension.
    steps = np.append(np.where(step[:, :-1].any(axis=1), 0, step[:, -1]), 0)
    stops = np.append(np.flatnonzero(np.diff(steps)) + 1, len(steps))
    ones, boxes, a = [1] * (points.shape[1] - 1), [], 0
    while a < len(points):
        b, by = a + 1, max(1, int(steps[a]))
        if steps[a]:
            b += int(stops[np.searchsorted(stops, a, "right")]) - a
            # One that neighbours follow goes with them: there are never more boxes than runs of neighbours.
            b -= by > 1 and steps[b - 1] == 1
        boxes.append((Box(points[a], [*ones, b - a], [*ones, by], [], []), a, b))
        a = b
    return boxes, order
