"""What the codec pipeline for zarr-python (ozarr/zarr.py) does.

The chunks of a call are read, decoded and placed (or encoded and written) by the library in one batch, on all its threads. Of a LocalStore
the library reads the files itself; of any other store zarr-python moves the bytes, and the library decodes them. What it cannot do goes to
zarr-python's own pipeline (objects, structs of Python, codecs that only numcodecs has, lists of indices in writes); with the option
`codec_pipeline.strict` true that is an error.
"""
import asyncio
import ctypes as C
import json
import math
import os
import threading
import weakref

import numpy as np
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.core.config import config
from zarr.storage import LocalStore

from . import _raw as raw
from . import _types
from ._array import Array
from ._chunks import Item, Shards, Unsupported, entries_of, fetch, fetch_whole, lists_of, native, part, pick, portions, put, slices
from ._library import Error, handle, integers, lib
from ._nodes import Store

# The library's stores of folders, each while an array uses it: one keeps a file open, and programs open thousands of arrays.
FOLDERS = weakref.WeakValueDictionary()

# The engines of this process, whose locks a child of fork gets new ones for.
ENGINES = weakref.WeakSet()


def renew_locks():
    """Gives each engine a lock that is free: the thread that held the old one while the process forked is not in the child."""
    for engine in list(ENGINES):
        engine.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew_locks)


class Folder:
    """What arrays share of a store. It has no `__del__`: Python calls that one before weak references end, so that another thread could find a
    store that is being closed."""

    def __init__(self, store):
        self.store = store


def folder_at(root, read_only):
    """The store of the folder that is at a path now: one that was made anew is another one. zarr-python's root is a path, whatever it looks like."""
    try:
        path = os.path.abspath(root)
        found = os.stat(path)
        key = path, found.st_dev, found.st_ino, read_only
        folder = FOLDERS.get(key)
        if folder is None:
            store = Store(path, "r" if read_only else "r+", file__lock="none", file__sync="none", consolidated="never", consolidate="never")
            folder = FOLDERS[key] = Folder(store)
        return folder
    except (OSError, Error) as e:
        # A folder that is gone, or whose name is no text: zarr-python has its own way with these.
        raise Unsupported(str(e)) from None


class Engine:
    """The array of a pipeline in the library: described by the metadata that zarr-python has, not by what is stored."""

    def __init__(self, metadata, store):
        self.metadata, self.store, self.lock = metadata, store, threading.Lock()
        ENGINES.add(self)
        self.arrays, self.local, self.problem, self.paths = {}, None, None, {""}
        self.shape, self.v2 = list(metadata.shape), metadata.zarr_format == 2
        self.dtype = native((metadata.dtype if self.v2 else metadata.data_type).to_native_dtype())
        self.code = _types.code_of(self.dtype)
        if self.code is None:
            # zarr-python would warn of some of these types if it were asked for the document.
            self.problem = f"elements of the type {self.dtype}"
            return
        self.document = document = metadata.to_dict()
        document.pop("attributes", None), document.pop("consolidated_metadata", None)
        if not self.v2 and document["chunk_grid"]["name"] != "regular":
            self.problem = "a chunk grid that is not regular"
        elif self.v2 and metadata.fill_value is None:
            self.problem = "an undefined fill value"
        else:
            self.chunk = [int(n) for n in (document["chunks"] if self.v2 else document["chunk_grid"]["configuration"]["chunk_shape"])]
            self.nbytes = max(1, math.prod(self.chunk) * self.dtype.itemsize)
            self.shards = Shards.of(self)
            try:
                self.created("")
            except Error as e:
                self.problem = str(e)

    def __reduce__(self):
        return Engine, (self.metadata, self.store)

    def created(self, path, write_fill=False, shape=None, changes={}):
        """The array at a path in a new store in memory, which ends with the array."""
        spec = handle(lib.spec_from_json, json.dumps(self.document | {"shape": shape or self.shape} | changes, default=str).encode())
        memory = handle(lib.store_memory)
        try:
            out = Array(handle(lib.array_create_at, memory, path.encode(), spec, raw.OZARR_CREATE_NEW))
        finally:
            lib.spec_free(spec)
            lib.store_free(memory)
        if write_fill:
            out.set("write_fill_chunks", "1")
        return out

    def check_path(self, path):
        """The library creates no array at some paths that others give, as xarray gives `__xarray_dataarray_variable__`."""
        if path not in self.paths:
            try:
                self.created(path)
            except (Error, UnicodeEncodeError) as e:
                raise Unsupported(str(e)) from None
            self.paths.add(path)

    def exported(self, path, shape):
        """The array at a path as bytes from which any store can open it."""
        node, size = self.created(path, shape=shape), C.c_size_t()
        buffer = C.create_string_buffer(1 << 14)
        try:
            lib.node_export(node._as_node(), buffer, len(buffer), C.byref(size))
        except Error as e:
            if e.status != raw.OZARR_ERR_BUFFER_SIZE:
                raise
            buffer = C.create_string_buffer(size.value)
            lib.node_export(node._as_node(), buffer, len(buffer), C.byref(size))
        return buffer.raw[:size.value]

    def grow(self, ends):
        """Makes the shape large enough for a call: zarr-python resizes arrays without telling its pipeline."""
        self.shape = [max(pair) for pair in zip(ends, self.shape)]

    def open_local(self):
        """Finds the store of a LocalStore's folder as it is now."""
        folder = folder_at(self.store.root, self.store.read_only)
        with self.lock:
            if folder is not self.local:
                # In this order, so that a child of fork never finds the new folder beside the arrays of the old one.
                self.arrays, self.local = {}, folder

    def local_array(self, path, ends, write_fill, whole):
        """The array in the files of a LocalStore, opened once. One in which chunks are replaced as a whole ends where the last ones do: behind an
        end that is farther away there would be elements to be kept, for which the stored chunk would be read, damaged as it may be."""
        edge = tuple(end if end % n else 0 for end, n in zip(ends, self.chunk)) if whole else ()
        with self.lock:
            self.grow(ends)
            # A write brings the shape up to date with the stored one, which may be smaller than what is asked for later.
            found = self.arrays.get((path, write_fill, any(edge)))
            if found is None or any(end > length for end, length in zip(ends, found.shape)) or any(end and end < length for end, length in zip(edge, found.shape)):
                array, group = C.c_void_p(), C.c_void_p()
                exported = self.exported(path, [end or length for end, length in zip(edge or self.shape, self.shape)])
                lib.node_import_at(self.local.store._handle, exported, len(exported), C.byref(array), C.byref(group))
                found = Array(array.value)
                if write_fill:
                    found.set("write_fill_chunks", "1")
                self.arrays[path, write_fill, any(edge)] = found
            return found

    def memory_array(self, ends, write_fill, inner=False):
        """A new array in memory, for chunks whose bytes zarr-python moves; with `inner` one whose chunks are the inner ones of shards."""
        with self.lock:
            self.grow(ends)
            return self.created("", write_fill, changes=self.shards.document if inner else {})

    def place(self, key):
        """The path of the array and the index of the chunk that a key names."""
        rank, prefix = len(self.chunk), []
        if self.v2:
            separator = self.metadata.dimension_separator
        else:
            encoding = self.metadata.chunk_key_encoding
            if encoding.name not in ("default", "v2"):
                raise Unsupported(f"keys of the encoding {encoding.name}")
            separator, prefix = encoding.separator, ["c"] if encoding.name == "default" else []
        parts = key.split("/")
        words = rank + len(prefix) if separator == "/" and rank else 1
        numbers = "/".join(parts[-words:]).split(separator) if rank else []
        path, index = parts[:-words], [int(x) for x in numbers[len(prefix):]] if rank else []
        if len(index) != rank:
            raise Unsupported(f"the key {key}")
        return "/".join(path), index


async def ended(work):
    """Waits for the end of what goes on with the caller's memory, also where the call is cancelled meanwhile."""
    while not all(one.done() for one in work):
        try:
            await asyncio.wait(work)
        except asyncio.CancelledError:
            pass


async def in_thread(function, *arguments):
    """Calls a function in a thread. Where it is cancelled it ends with the function, which cannot be stopped."""
    work = asyncio.get_running_loop().run_in_executor(None, function, *arguments)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await ended([work])
        work.exception()
        raise


async def several(items, action, limit):
    """Does something with each item, with so many at a time. After an error, or where it is cancelled, it ends with the last one that was begun."""
    gate = asyncio.Semaphore(limit)

    async def one(item):
        async with gate:
            await action(*item)

    work = [asyncio.ensure_future(one(item)) for item in items]
    try:
        await asyncio.gather(*work)
    except BaseException:
        for task in work:
            task.cancel()
        await ended(work)
        raise


class OzarrCodecPipeline(BatchedCodecPipeline):
    """zarr-python's pipeline, with whole batches done by the library where it can."""

    _engine = None

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata, store):
        from zarr.codecs._v2 import V2Codec
        v2 = array_metadata.zarr_format == 2
        codecs = [V2Codec(filters=array_metadata.filters, compressor=array_metadata.compressor)] if v2 else array_metadata.codecs
        out = cls.from_codecs(codecs)
        object.__setattr__(out, "_engine", Engine(array_metadata, store))
        return out

    def _items(self, batch_info, buffer):
        """The chunks of a call as the library takes them, all of one array."""
        engine = self._engine
        if engine is None or engine.problem:
            raise Unsupported(engine.problem if engine else "chunks inside of a shard")
        array = buffer.as_ndarray_like()
        if not isinstance(array, np.ndarray) or native(array.dtype) != engine.dtype or not array.dtype.isnative:
            raise Unsupported(f"memory of the type {getattr(array, 'dtype', type(array))}")
        items = [Item(engine, info) for info in batch_info]
        if len({item.path for item in items}) > 1:
            raise Unsupported("chunks of several arrays")
        if type(engine.store) is LocalStore:
            engine.check_path(items[0].path)
            engine.open_local()
        return array, items

    async def read(self, batch_info, out, drop_axes=()):
        batch_info = list(batch_info)
        if not batch_info:
            return ()
        try:
            array, items = self._items(batch_info, out)
            if not getattr(items[0].spec.config, "read_missing_chunks", True):
                raise Unsupported("an error for each missing chunk")
        except Unsupported as e:
            unless_strict(e)
            return await super().read(batch_info, out, drop_axes)
        if not array.flags.writeable:
            raise ValueError("assignment destination is read-only")
        if type(self._engine.store) is not LocalStore:
            return await self._by_portions(items, lambda some, gate: self._read_items(some, array, drop_axes, gate))
        if all(item.box for item in items):
            return await self._read_items(items, array, drop_axes)
        lists = lists_of(items, array, drop_axes)
        if lists is not None:
            return await in_thread(self._pick_local, items, lists, array, drop_axes)
        for some in portions(items, [math.prod(item.count) * array.itemsize for item in items]):
            await self._read_items(some, array, drop_axes)

    async def _by_portions(self, items, action):
        """Does something with the chunks of a store other than a LocalStore, so that only some are held at a time."""
        limit = config.get("async.concurrency") or len(items)
        gate = asyncio.Semaphore(limit)
        parts = portions(items, [self._engine.nbytes] * len(items), -(-limit // 2))
        if len(parts) == 1:
            return await action(items, gate)
        # While one portion is decoded or encoded the next is fetched.
        await several([(some, gate) for some in parts], action, 2)

    async def _read_items(self, items, array, drop_axes, gate=None, parts=True):
        """Reads chunks, which are fetched where there is a gate; with `parts` no more of shards than is needed."""
        moves, copies, sparse = [], [], []
        for item in items:
            if gate and not item.box and item.sparse(array.itemsize):
                sparse.append(item)
                continue
            view = part(array, item.place) if item.dense and slices(item.place) else None
            strides = item.strides(view, drop_axes) if view is not None else None
            if strides is None:
                # Lists of indices: the box around them is read, and numpy picks.
                view = np.empty(item.count, array.dtype)
                strides = view.strides
                copies.append((item, view))
            moves.append((item, view, strides, self._engine.code))
        if not gate:
            await in_thread(self._read_local, moves)
        else:
            fetching = self._fetch if parts and self._engine.shards else fetch_whole
            fetched = await asyncio.gather(*(fetching(item, gate) for item in [item for item, *_ in moves] + sparse))
            try:
                await self._decode_all(moves, sparse, fetched, array, drop_axes)
            except Error:
                if not any(isinstance(chunk, list) for chunk in fetched):
                    raise
                # What is wrong with a shard the library says, which finds it in the whole one.
                return await self._read_items(items, array, drop_axes, gate, False)
        for item, view in copies:
            found = view.squeeze(tuple(item.dropped)) if item.dense else view[item.within()]
            array[item.place] = found.squeeze(drop_axes) if drop_axes else found

    async def _fetch(self, item, gate):
        """The bytes of a shard, or a list of inner chunks of one of which a part is read."""
        needed = self._engine.shards.needed(item, self._engine)
        if needed is not None:
            try:
                return await self._engine.shards.fetch(item, needed, gate)
            except Exception:
                # As above: the library says what is wrong. Each store has its own errors, of memory too, for a range that its bytes do not have; what
                # else is wrong with a store it says again.
                pass
        return await fetch_whole(item, gate)

    async def _decode_all(self, moves, sparse, fetched, array, drop_axes):
        if moves:
            await in_thread(self._decode, moves, fetched[:len(moves)])
        if sparse:
            chunks = [(self._decode_sparse, item, chunk, array, drop_axes) for item, chunk in zip(sparse, fetched[len(moves):])]
            await several(chunks, in_thread, os.cpu_count() or 1)

    def _pick_local(self, items, lists, array, drop_axes):
        pick(self._array([(item,) for item in items]), lists, array, drop_axes, self._engine.code)

    def _decode_sparse(self, item, chunk, array, drop_axes):
        """Places the elements of one chunk, without the box around them."""
        lists = [item.listed(dim) for dim in range(len(item.count))]
        found = np.empty(item.lengths if item.outer else item.lengths[0], array.dtype)
        (loaded, _), = self._loaded([(item,)], [chunk])
        pick(loaded, lists if item.outer else np.stack(lists, axis=1), found, (), self._engine.code)
        array[item.place] = found.squeeze(drop_axes) if drop_axes else found

    def _array(self, moves, write_fill=None, inner=False):
        """The array for a read, or for a write, of which `write_fill` says whether chunks of the fill value are stored."""
        writes = write_fill is not None
        ends = [max(column) for column in zip(*(item.ends(writes) for item, *_ in moves))]
        if type(self._engine.store) is LocalStore:
            return self._engine.local_array(moves[0][0].path, ends, bool(write_fill), writes and all(item.whole for item, *_ in moves))
        return self._engine.memory_array(ends, bool(write_fill), inner)

    def _loaded(self, moves, fetched, write_fill=None):
        """Arrays in memory that hold what was fetched, each with its moves: chunks, and inner chunks of shards of which no more was fetched."""
        out = []
        for inner in (False, True):
            some = [(move, chunk) for move, chunk in zip(moves, fetched) if isinstance(chunk, list) is inner]
            if not some:
                continue
            array = self._array([move for move, _ in some], write_fill, inner)
            for (item, *_), chunk in some:
                if inner:
                    parts = chunk
                else:
                    parts = [(item.index, chunk.as_numpy_array())] if chunk is not None else ()
                for index, data in parts:
                    lib.array_chunk_write(array._handle, integers(index), False, data.ctypes.data, data.nbytes)
            out.append((array, [move for move, _ in some]))
        return out

    def _read_local(self, moves):
        entries, keep = entries_of((self._array(moves), moves))
        lib.read_many(entries, len(entries))
        del keep

    def _decode(self, moves, fetched):
        entries, keep = entries_of(*self._loaded(moves, fetched))
        lib.read_many(entries, len(entries))
        del keep

    async def write(self, batch_info, value, drop_axes=()):
        batch_info = list(batch_info)
        if not batch_info:
            return None
        _types.unmasked(value.as_ndarray_like())
        try:
            array, items = self._items(batch_info, value)
            # A store that is for reading says so by an error of its own.
            self._engine.store._check_writable()
            moves = [self._write_move(item, array, drop_axes) for item in items]
        except Unsupported as e:
            unless_strict(e)
            return await super().write(batch_info, value, drop_axes)
        write_fill = items[0].spec.config.write_empty_chunks
        if type(self._engine.store) is LocalStore:
            return await in_thread(self._write_local, moves, write_fill)
        await self._by_portions(moves, lambda some, gate: self._write_moves(some, write_fill, gate))

    async def _write_moves(self, moves, write_fill, gate):
        fetched = await asyncio.gather(*(fetch(None if item.whole else item.getter, item.spec.prototype, gate) for item, *_ in moves))
        encoded = await in_thread(self._encode, moves, fetched, write_fill)
        await asyncio.gather(*(put(item, chunk, gate) for (item, *_), chunk in zip(moves, encoded)))

    def _write_move(self, item, array, drop_axes):
        if not item.box:
            raise Unsupported("lists of indices in a write")
        if array.shape == ():
            return item, array, [0] * len(item.count), self._engine.code
        if not slices(item.place):
            raise Unsupported("lists of indices in a write")
        view = part(array, item.place)
        strides = item.strides(view, drop_axes)
        if strides is None:
            raise Unsupported("values of another shape than the selection")
        return item, view, strides, self._engine.code

    def _write_local(self, moves, write_fill):
        # Chunks that are replaced as a whole end where zarr-python's array does, whatever the array of the others needs.
        parts = ([move for move in moves if bool(move[0].whole) is whole] for whole in (True, False))
        entries, keep = entries_of(*((self._array(some, write_fill), some) for some in parts if some))
        lib.write_many(entries, len(entries))
        del keep

    def _encode(self, moves, fetched, write_fill):
        (array, _), = self._loaded(moves, fetched, write_fill)
        entries, keep = entries_of((array, moves))
        lib.write_many(entries, len(entries))
        del keep
        return [encoded(array, item.index) for item, *_ in moves]


def encoded(array, index):
    """The bytes of a chunk as they are to be stored; None if nothing is."""
    stored, offset, size = C.c_bool(), C.c_int64(), C.c_int64()
    lib.array_chunk_place(array._handle, integers(index), False, C.byref(stored), C.byref(offset), C.byref(size))
    if not stored.value:
        return None
    out = np.empty(size.value, "u1")
    lib.array_chunk_read(array._handle, integers(index), False, out.ctypes.data, out.nbytes, None)
    return out


def unless_strict(reason):
    """With the option `codec_pipeline.strict`, what the library cannot do is an error."""
    if config.get("codec_pipeline.strict", False):
        raise NotImplementedError(f"ozarr's codec pipeline does not do this: {reason}") from None
