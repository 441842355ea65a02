"""The memory and the bytes that reads of the codec pipeline take (for pipeline_check.py), and what both files check with."""
import os
import tracemalloc
import numpy as np, zarr
from zarr.codecs import BytesCodec, ShardingCodec
from zarr.storage import LocalStore, MemoryStore, WrapperStore

OURS, THEIRS = "ozarr.zarr.OzarrCodecPipeline", "zarr.core.codec_pipeline.BatchedCodecPipeline"
passed = []


def pipeline(path, **options):
    return zarr.config.set({"codec_pipeline.path": path} | {f"codec_pipeline.{k}": v for k, v in options.items()})


def check(good, what):
    passed.append(what)
    if not good:
        raise AssertionError(what)


def same(a, b, what):
    a, b = np.asarray(a), np.asarray(b)
    check(a.shape == b.shape and (np.array_equal(a, b) or np.array_equal(a, b, equal_nan=True)), f"{what}: {a} is not {b}")


class Counted(WrapperStore):
    """A store of which the library knows nothing, and how many bytes were fetched from it."""
    fetched = 0

    async def get(self, key, prototype, byte_range=None):
        found = await self._store.get(key, prototype, byte_range)
        self.fetched += len(found) if found else 0
        return found


def bounded(where):
    """A few elements of each of many chunks take neither the memory of all chunks nor, of other stores, the bytes of whole shards."""
    rows, columns = np.repeat(np.arange(24), 2), np.tile([0, (1 << 18) - 1], 24)
    for name, choices in {"chunks": {"chunks": (1, 1 << 18)}, "shards": {"chunks": (1, 1 << 10), "shards": (2, 1 << 18)}}.items():
        with pipeline(OURS, strict=True):
            z = zarr.create_array(LocalStore(where / name), shape=(24, 1 << 18), dtype="f8", compressors=None, **choices)
            for row in range(0, 24, 4):
                z[row:row + 4] = row + np.random.default_rng(row).random((4, 1 << 18))
            expected = z[...]
            for store in (LocalStore(where / name), Counted(LocalStore(where / name))):
                z = zarr.open_array(store, mode="r")
                for what, read, values in (("points", lambda: z.vindex[rows, columns], expected[rows, columns]),
                                           ("turned points", lambda: z.vindex[rows[::-1], columns], expected[rows[::-1], columns]),
                                           ("lists", lambda: z.oindex[[23, 0, 5], [7, (1 << 18) - 1]], expected[np.ix_([23, 0, 5], [7, (1 << 18) - 1])]),
                                           ("a list and an integer", lambda: z.oindex[np.arange(24), 5], expected[:, 5]),
                                           ("a column", lambda: z[:, 5], expected[:, 5]), ("a coarse step", lambda: z[::5, ::1 << 16], expected[::5, ::1 << 16])):
                    before = getattr(store, "fetched", 0)
                    tracemalloc.start()
                    found = read()
                    peak = tracemalloc.get_traced_memory()[1] >> 20
                    tracemalloc.stop()
                    same(found, values, f"{what} in {name} of {store}")
                    check(peak < 8 or (name == "chunks" and isinstance(store, Counted)), f"{what} in {name} of {store}: {peak} MiB")
                    if name == "shards" and isinstance(store, Counted):
                        check(store.fetched - before < 3 << 20, f"{what}: {store.fetched - before} bytes of shards were fetched")
    stored = where / "shards" / "c" / "0" / "0"
    data = bytearray(stored.read_bytes())
    for end, words in ((len(data) - 9, ["c/0/0"]), (1 << 20, ["c/0/0"])):
        stored.write_bytes(data[:end])
        with pipeline(OURS, strict=True):
            try:
                zarr.open_array(Counted(LocalStore(where / "shards")), mode="r")[:, 5]
            except Exception as e:
                check(all(word in str(e) for word in words), f"a torn shard: {e}")
            else:
                raise AssertionError("a torn shard was read")
    # A place in an index that has no checksum, which no memory is enough for: damaged only where a store is asked for the bytes.
    serializer = ShardingCodec(chunk_shape=(1 << 16,), codecs=[BytesCodec()], index_codecs=[BytesCodec()])
    with pipeline(OURS, strict=True):
        zarr.create_array(LocalStore(where / "length"), shape=(1 << 20,), chunks=(1 << 20,), dtype="f8", compressors=None, serializer=serializer)[...] = 1
        with open(where / "length" / "c" / "0", "r+b") as stored:
            stored.seek(-15 * 16 - 8, os.SEEK_END)
            stored.write((1 << 45).to_bytes(8, "little"))
        for store in (LocalStore(where / "length"), Counted(LocalStore(where / "length"))):
            try:
                zarr.open_array(store, mode="r")[3]
            except Exception as e:
                check("c/0" in str(e) and str(1 << 45) in str(e), f"a length of 2**45: {e!r}")
            else:
                raise AssertionError("a chunk of 2**45 bytes was read")


def wide(where):
    """What the pipeline takes of memory, beside what zarr-python gives it, is bound by what is returned, not by how many elements a dimension has."""
    import ozarr._pipeline as module
    inner, peaks = module.OzarrCodecPipeline.read, []

    async def measured(self, batch_info, out, drop_axes=()):
        batch_info = list(batch_info)
        tracemalloc.start()
        try:
            return await inner(self, batch_info, out, drop_axes)
        finally:
            peaks.append(tracemalloc.get_traced_memory()[1] >> 20)
            tracemalloc.stop()
    n = 1 << 22
    values = (np.arange(3)[:, None] + np.arange(n) % 251).astype("u1")
    for store in (MemoryStore(), LocalStore(where / "wide")):
        with pipeline(OURS, strict=True):
            z = zarr.create_array(store, shape=(3, n), chunks=(1, 1 << 16), shards=(3, n), dtype="u1", compressors=None)
            z[...] = values
            module.OzarrCodecPipeline.read = measured
            try:
                for what, read, expected, most in (
                        ("all", lambda: z[...], values, 4), ("a step", lambda: z[:, ::2], values[:, ::2], 4), ("a row", lambda: z[1], values[1], 5),
                        ("a list of a row", lambda: z.oindex[[1], :], values[1:2], 5), ("a list and a long slice", lambda: z.oindex[[1], 5:], values[1:2, 5:], 5),
                        ("a list with a gap", lambda: z.oindex[[0, 2], :], values[[0, 2]], 22)):
                    peaks.clear()
                    same(read(), expected, f"{what} of {store}")
                    check(peaks[0] <= most, f"{what} of {store}: {peaks[0]} MiB")
            finally:
                module.OzarrCodecPipeline.read = inner
