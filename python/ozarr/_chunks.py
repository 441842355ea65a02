"""The chunks of a call of the codec pipeline: which of their elements are asked for, and what of them is fetched.

Memory is bounded by what a call returns, and by PORTION: a program may ask for a few elements of each of the chunks of an array that is larger
than all memory.
"""
import asyncio
import ctypes as C
import math

import numpy as np
from zarr.abc.store import RangeByteRequest
from zarr.codecs import ShardingCodec

from . import _raw as raw
from . import _types
from ._array import memory_of, region_of
from ._library import integers, lib

# Bytes of decoded chunks that are held together, where a call needs a part of each.
PORTION = 32 << 20

# A shard of so many bytes is fetched whole, whatever is needed of it.
SMALL = 1 << 20

# How far apart two parts of a shard may be that one request fetches.
GAP = 64 << 10

# So many times more elements has a box than are asked for of it, where they are picked one by one.
SPARSE = 64

# The longest dimension of an array.
LONGEST = (1 << 63) - 1


class Unsupported(Exception):
    """Why a call goes to zarr-python's own pipeline."""


class Shards:
    """What is known of an array's shards, so that of other stores only the inner chunks are fetched that a read needs."""

    def __init__(self, engine, codec, described):
        self.codec, self.chunk = codec, list(codec.chunk_shape)
        self.counts = tuple(n // inner for n, inner in zip(engine.chunk, self.chunk))
        # An array of the same elements whose chunks are the inner ones.
        grid = {"name": "regular", "configuration": {"chunk_shape": self.chunk}}
        self.document = {"chunk_grid": grid, "codecs": described["configuration"]["codecs"]}

    @classmethod
    def of(cls, engine):
        """None where there are no shards, or none of which a part can be read."""
        codecs = () if engine.v2 else engine.metadata.codecs
        if len(codecs) != 1 or not isinstance(codecs[0], ShardingCodec) or not hasattr(codecs[0], "_load_shard_index_maybe"):
            return None
        return cls(engine, codecs[0], engine.document["codecs"][0])

    def needed(self, item, engine):
        """The inner chunks of which an item has elements, counted in the shard; None where these are so many, or the shard is so small, that all is fetched."""
        if engine.nbytes <= SMALL or not (item.box or item.outer or item.points):
            return None
        if item.box or item.outer:
            each = [blocks_of(entry, inner, count) for entry, inner, count in zip(item.inside, self.chunk, self.counts)]
            if 2 * math.prod(map(len, each)) > math.prod(self.counts):
                return None
            return np.stack([values.ravel() for values in np.meshgrid(*each, indexing="ij")], axis=1)
        hit = np.zeros(self.counts, bool)
        hit[tuple(np.ravel(entry) // inner for entry, inner in zip(item.given, self.chunk))] = True
        return np.argwhere(hit) if 2 * np.count_nonzero(hit) <= hit.size else None

    async def fetch(self, item, needed, gate):
        """The stored ones of the needed inner chunks: for each its index in the array, and its bytes; None where no shard is stored.
        A shard that is not as its index says is a ValueError."""
        async with gate:
            index = await self.codec._load_shard_index_maybe(item.getter, self.counts)
        if index is None:
            return None
        places = index.offsets_and_lengths[tuple(needed.T)]
        stored = (places != (1 << 64) - 1).any(axis=1)
        needed, places = needed[stored], places[stored]
        if (places >= 1 << 62).any():
            raise ValueError("the index of a shard has places behind all ends")
        order = np.argsort(places[:, 0])
        needed, begins, ends = needed[order], places[order, 0].astype("i8"), places[order].sum(axis=1).astype("i8")
        reach = np.maximum.accumulate(ends)
        cuts = np.flatnonzero(begins[1:] > reach[:-1] + GAP) + 1
        runs = list(zip([0, *cuts], [*cuts, len(order)])) if len(order) else []
        ranges = [RangeByteRequest(int(begins[a]), int(reach[b - 1])) for a, b in runs]
        found = await asyncio.gather(*(fetch(item.getter, item.spec.prototype, gate, wanted) for wanted in ranges))
        if any(part is None or len(part) != wanted.end - wanted.start for part, wanted in zip(found, ranges)):
            raise ValueError("a shard ends before its index says")
        data = [part.as_numpy_array() for part in found]
        base = np.array(item.index) * self.counts
        return [((base + needed[k]).tolist(), part[begins[k] - wanted.start:ends[k] - wanted.start])
                for part, wanted, (a, b) in zip(data, ranges, runs) for k in range(a, b)]


def blocks_of(entry, length, count):
    """In which of `count` blocks of a length the indices of a range, or of a list, are: of a range without a look at each index."""
    if isinstance(entry, range) and 0 < entry.step <= length:
        return np.arange(entry[0] // length, entry[-1] // length + 1) if entry else np.arange(0)
    hit = np.zeros(count, bool)
    hit[(np.arange(entry.start, entry.stop, entry.step) if isinstance(entry, range) else np.ravel(entry)) // length] = True
    return np.flatnonzero(hit)


def run_of(entry, n):
    """The range that a slice of n, or a list without a gap, is; None for other lists."""
    if isinstance(entry, slice):
        return range(n)[entry]
    flat = np.ravel(entry)
    low, high = int(flat.min()), int(flat.max())
    return range(low, high + 1) if high - low + 1 == len(flat) and (flat[1:] > flat[:-1]).all() else None


class Kept:
    """A property that is asked for once. That of functools takes a lock of all objects before Python 3.12, which a child of fork could find held."""

    def __init__(self, function):
        self.function = function

    def __get__(self, item, kind):
        return item.__dict__.setdefault(self.function.__name__, self.function(item))


class Item:
    """One chunk of a call: where it is, and which of its elements are asked for."""

    def __init__(self, engine, info):
        self.getter, self.spec, self.selection, self.place, self.whole = info
        self.path, self.index = engine.place(self.getter.path)
        if tuple(self.spec.shape) != tuple(engine.chunk):
            raise Unsupported("chunks of another shape than the array's")
        selection = self.selection if isinstance(self.selection, tuple) else (self.selection,)
        self.box = all(isinstance(entry, (slice, int, np.integer)) for entry in selection) and len(selection) == len(engine.chunk)
        if not self.box:
            return self.around(selection, engine)
        self.start, self.count, self.step, self.inside, self.dropped = [], [], [], [], set()
        for dim, (entry, i, n) in enumerate(zip(selection, self.index, engine.chunk)):
            if isinstance(entry, slice):
                span = range(*entry.indices(n))
            else:
                span = range(int(entry), int(entry) + 1)
                self.dropped.add(dim)
            self.start.append(i * n + span.start), self.count.append(len(span)), self.step.append(span.step), self.inside.append(span)

    def around(self, selection, engine):
        """The box around lists of indices, and the lists counted in it."""
        if len(selection) != len(engine.chunk) or any(isinstance(entry, np.ndarray) and entry.dtype.kind not in "iu" for entry in selection):
            raise Unsupported(f"the selection {selection}")
        if any(np.size(entry) == 0 for entry in selection):
            raise Unsupported("a list of no indices")
        runs = [run_of(entry, n) for entry, n in zip(selection, engine.chunk)]
        self.inside = [entry if run is None else run for entry, run in zip(selection, runs)]
        spans = [range(int(np.min(entry)), int(np.max(entry)) + 1) if run is None else run for entry, run in zip(selection, runs)]
        self.start = [i * n + (span[0] if span else 0) for i, n, span in zip(self.index, engine.chunk, spans)]
        self.count, self.step, self.dropped = [len(span) for span in spans], [span.step for span in spans], set()
        self.given, self.firsts, self.base = selection, [span[0] if span else 0 for span in spans], [i * n for i, n in zip(self.index, engine.chunk)]

    def ends(self, writes):
        """How long an array has at least to be for this. A write of a part takes the chunk whole: zarr-python may have made the array longer, and
        behind the end that the engine knows are elements that other handles wrote."""
        if writes and not self.whole:
            return [min((i + 1) * n, LONGEST) for i, n in zip(self.index, self.spec.shape)]
        return [first + (count - 1) * max(by, 0) + 1 if count else 0 for first, count, by in zip(self.start, self.count, self.step)]

    def within(self):
        """The lists of indices, counted in the box. They are made where they are needed: they may be larger than all that is read."""
        return tuple(slice(None) if isinstance(entry, slice) else entry - first if first else entry for entry, first in zip(self.given, self.firsts))

    def listed(self, dim):
        """The list of indices along a dimension, counted in the array."""
        entry, base = self.inside[dim], self.base[dim]
        if isinstance(entry, range):
            return np.arange(base + entry.start, base + entry.stop, entry.step, "i8")
        return np.ascontiguousarray(entry.reshape(-1) + base, "i8")

    @Kept
    def lengths(self):
        return [len(entry) if isinstance(entry, range) else entry.size for entry in self.inside]

    @Kept
    def dense(self):
        """Whether all of a box is asked for, in its order."""
        return self.box or self.outer and all(isinstance(entry, range) for entry in self.inside)

    @Kept
    def outer(self):
        """Whether each list goes along its own dimension: as np.ix_ makes them, or, as zarr-python 3.4 has it, a single one among slices."""
        lists = [entry for entry in self.given if not isinstance(entry, slice)]
        if len(lists) == 1 and np.ndim(lists[0]) == 1:
            return True
        shapes = [np.shape(entry) for entry in self.given]
        return all(len(shape) == len(shapes) and shape[dim] == math.prod(shape) for dim, shape in enumerate(shapes))

    @Kept
    def points(self):
        """Whether the lists are those of points."""
        shapes = [np.shape(entry) for entry in self.given]
        return not self.outer and all(len(shape) == 1 and shape == shapes[0] for shape in shapes)

    def sparse(self, itemsize):
        """Whether the elements are so few in the box around them that they are picked one by one: numpy picks from a box much faster."""
        box = math.prod(self.count)
        if box * itemsize <= SMALL // 4 or not (self.outer or self.points):
            return False
        picked = math.prod(self.lengths) if self.outer else self.lengths[0]
        return box > SPARSE * picked or box * itemsize > PORTION and box > 8 * picked

    def strides(self, view, drop_axes):
        """The strides of the region in the part of numpy's array that the call names; None if the shapes differ."""
        kept = [dim for dim in range(len(self.count)) if dim not in self.dropped and dim not in drop_axes]
        if [self.count[dim] for dim in kept] != list(view.shape) or any(self.count[dim] != 1 for dim in drop_axes):
            return None
        out = [0] * len(self.count)
        for dim, stride in zip(kept, view.strides):
            out[dim] = stride
        return out


def entries_of(*parts):
    """Entries of a batch for the moves (item, numpy array, strides, type) of each array, and what they point to."""
    given = [(array, *move) for array, moves in parts for move in joined(moves)]
    entries, keep = (raw.ozarr_batch_entry * len(given))(), []
    size = C.sizeof(raw.ozarr_batch_entry)
    for entry, (array, item, view, strides, code) in zip(entries, given):
        region, lists = region_of(item.start, item.count, item.step)
        memory, held = memory_of(view, strides, code)
        # Another thread may need a longer array, in whose place this one ends.
        keep.append((array, region, lists, memory, held))
        entry.struct_size, entry.array = size, array._handle
        entry.region, entry.memory = C.addressof(region), C.addressof(memory)
    return entries, keep


class Box:
    """Elements of an array, one next to the other."""

    def __init__(self, start, count):
        self.start, self.count, self.step = start.tolist(), count.tolist(), [1] * len(start)


def joined(moves):
    """The moves as one, where the boxes of all chunks make up one box in the array and in memory: a call for a box of many chunks."""
    if len(moves) < 3 or any(by != 1 for item, *_ in moves for by in item.step):
        return moves
    starts, counts, strides = (np.array(part, "i8") for part in zip(*((item.start, item.count, strides) for item, _, strides, _ in moves)))
    low, high = starts.min(axis=0), (starts + counts).max(axis=0)
    first = int(np.argmin(starts.sum(axis=1)))
    # A stride says nothing where there is one element.
    given = [int(next((stride for stride, count in zip(strides[:, dim], counts[:, dim]) if count > 1), strides[first, dim])) for dim in range(len(low))]
    addresses = np.array([view.__array_interface__["data"][0] for _, view, _, _ in moves], "i8")
    if np.prod(high - low) != np.prod(counts, axis=1).sum() or (addresses - addresses[first] != (starts - low) @ given).any():
        return moves
    whole = np.lib.stride_tricks.as_strided(moves[first][1], tuple(high - low), given, writeable=False)
    return [(Box(low, high - low), whole, given, moves[0][3])]


def portions(items, sizes, least=1):
    """The items in lists of PORTION bytes, or of the least number where that is more."""
    out, held = [[]], 0
    for item, size in zip(items, sizes):
        if out[-1] and held + size > PORTION and len(out[-1]) >= least:
            out.append([])
            held = 0
        out[-1].append(item)
        held += size
    return out


def lists_of(items, array, drop_axes):
    """The lists of indices of all chunks together, in the order of numpy's array: points, or a list for each dimension. None for boxes, and where
    they are no such lists, or would take more than what they pick."""
    rank = len(items[0].count)
    kept = [dim for dim in range(rank) if dim not in drop_axes]
    if any(item.box for item in items):
        return None
    if all(item.points for item in items) and array.ndim == 1 and not drop_axes:
        if not any(item.sparse(array.itemsize) for item in items):
            return None
        points = np.full((len(array), rank), -1, "i8")
        for item in items:
            points[item.place] = np.stack([item.listed(dim) for dim in range(rank)], axis=1)
        return points if points.size and points.min() >= 0 else None
    if not all(item.outer for item in items) or len(kept) != array.ndim or any(item.lengths[dim] != 1 for item in items for dim in drop_axes):
        return None
    size = 8 * sum(array.shape)
    if size > SMALL and (size > array.nbytes or all(item.dense for item in items)) and not any(item.sparse(array.itemsize) for item in items):
        return None
    lists, seen = [np.full(1, -1, "i8") for _ in range(rank)], [set() for _ in range(rank)]
    for dim, length in zip(kept, array.shape):
        lists[dim] = np.full(length, -1, "i8")
    for item in items:
        places = dict(zip(kept, item.place if isinstance(item.place, tuple) else (item.place,)))
        for dim in range(rank):
            if item.index[dim] not in seen[dim]:
                seen[dim].add(item.index[dim])
                place = places.get(dim, slice(None))
                lists[dim][place if isinstance(place, slice) else np.ravel(place)] = item.listed(dim)
    if len(items) != math.prod(map(len, seen)) or any(values.min(initial=0) < 0 for values in lists):
        return None
    return lists


def pick(array, lists, into, drop_axes, code):
    """Reads the elements of lists: points in an array of two dimensions, or a list for each dimension."""
    if isinstance(lists, np.ndarray):
        memory, keep = memory_of(into, into.strides, code)
        lib.array_read_points(array._handle, _types.address(lists), len(lists), C.byref(memory))
    else:
        given = iter(into.strides)
        memory, keep = memory_of(into, [0 if dim in drop_axes else next(given) for dim in range(len(lists))], code)
        pointers = (C.c_void_p * len(lists))(*(_types.address(values) for values in lists))
        lib.array_read_orthogonal(array._handle, integers([len(values) for values in lists]), pointers, C.byref(memory))
    del keep


def slices(place):
    return all(isinstance(entry, slice) for entry in (place if isinstance(place, tuple) else (place,)))


def native(dtype):
    return dtype.newbyteorder("=") if dtype.kind in "iufcmM" else dtype


def part(array, place):
    """A view of the part of an array, also of one without dimensions."""
    return array[(*place, ...) if isinstance(place, tuple) else (place, ...)]


async def fetch(getter, prototype, gate, wanted=None):
    if getter is None:
        return None
    async with gate:
        return await (getter.get(prototype) if wanted is None else getter.get(prototype, wanted))


def fetch_whole(item, gate):
    return fetch(item.getter, item.spec.prototype, gate)


async def put(item, chunk, gate):
    async with gate:
        if chunk is None:
            await item.getter.delete()
        else:
            await item.getter.set(item.spec.prototype.buffer.from_array_like(chunk))
