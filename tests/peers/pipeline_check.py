#!/usr/bin/env python3
"""The codec pipeline for zarr-python: random arrays, indices and stores, with it and without it.

  pipeline_check.py --build DIR [--arrays N] [--seed N]     with ozarr importable
"""
import argparse, asyncio, gc, os, pickle, random, resource, shutil, signal, subprocess, sys, threading, time
from pathlib import Path
import warnings
import numcodecs, numpy as np, zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.core.buffer.cpu import NDBuffer
from zarr.storage import FsspecStore, LocalStore, MemoryStore, StorePath, ZipStore
from pipeline_bounds import OURS, THEIRS, bounded, check, passed, pipeline, same, wide

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ">i4", "S4", "M8[s]"]
tried = []
# Of types without a specification in format 3, which zarr-python warns of.
warnings.simplefilter("ignore")


def store_of(r, where):
    kind = r.choice(["local", "local", "local", "memory", "fsspec"])
    if kind == "local":
        return LocalStore(where)
    return MemoryStore() if kind == "memory" else FsspecStore.from_url(f"memory://pipeline{r.randrange(1 << 40)}")


def array_of(r, store):
    rank = r.choice([0, 1, 1, 2, 2, 3])
    shape, chunks = tuple(r.randint(1, 12) for _ in range(rank)), tuple(r.randint(1, 5) for _ in range(rank))
    version, dtype = r.choice([2, 3, 3]), r.choice(TYPES)
    given = {"store": store, "name": r.choice([None, "a/b"]), "shape": shape, "chunks": chunks, "dtype": dtype, "zarr_format": version, "config": {"write_empty_chunks": r.random() < 0.3}}
    if np.dtype(dtype).kind in "iuf":
        given["fill_value"] = r.choice([0, 0, 5])
    if version == 2:
        given["compressors"] = r.choice([None, "auto", numcodecs.Blosc("lz4"), numcodecs.GZip(1)])
        given["order"] = r.choice(["C", "F"])
        given["chunk_key_encoding"] = {"name": "v2", "separator": r.choice([".", "/"])}
    else:
        given["compressors"] = r.choice([None, "auto", GzipCodec(level=1), BloscCodec(), [ZstdCodec(level=1), Crc32cCodec()]])
        given["filters"] = r.choice([None, TransposeCodec(order=r.sample(range(rank), rank))]) if rank else None
        given["chunk_key_encoding"] = {"name": r.choice(["default", "v2"]), "separator": r.choice([".", "/"])}
        if r.random() < 0.35 and rank:
            given["shards"] = tuple(n * r.randint(1, 3) for n in chunks)
        if np.dtype(dtype).byteorder == ">":
            given["serializer"] = BytesCodec(endian="big")
    return zarr.create_array(**given), given


def indexed(r, z, shape):
    """A way of zarr-python to select, and an index for it."""
    def one(n, lists):
        if r.random() < 0.25:
            return r.randrange(n)
        if lists and r.random() < 0.5:
            return np.array([r.randrange(n) for _ in range(r.randint(1, 5))]) if lists == "any" else np.array(sorted(r.sample(range(n), r.randint(1, n))))
        return slice(r.randint(0, n), r.randint(0, n + 1), r.choice([None, 1, 2, 3]))

    way = r.choice(["basic"] * 3 + ["oindex", "vindex", "mask", "blocks"]) if shape else "basic"
    if way == "basic":
        key = tuple(one(n, None) for n in shape)
        return z, r.choice([key, (..., *key[len(key) // 2:])]), way
    if way == "oindex":
        return z.oindex, tuple(one(n, "sorted") for n in shape), way
    if way == "vindex":
        count = r.randint(1, 6)
        return z.vindex, tuple(np.array([r.randrange(n) for _ in range(count)]) for n in shape), way
    if way == "mask":
        return z.vindex, np.random.default_rng(r.randrange(1 << 30)).random(shape) < 0.4, way
    return z.blocks, tuple(0 for _ in shape), way


def one_case(r, where, number):
    store = store_of(r, where / f"a{number}")
    with pipeline(OURS):
        ours, given = array_of(r, store)
    with pipeline(THEIRS):
        theirs = zarr.open_array(store, path=given["name"] or "", config=given["config"])
    rng = np.random.default_rng(r.randrange(1 << 30))
    for step in range(8):
        view, key, way = indexed(r, ours, ours.shape)
        what = f"case {number} {given}: {way} {key}"
        tried[:] = [what]
        before = np.asarray(view[key])
        same(before, {"basic": theirs, "oindex": theirs.oindex, "vindex": theirs.vindex, "mask": theirs.vindex, "blocks": theirs.blocks}[way][key], f"{what}, reading")
        # zarr-python's own pipeline, to which lists go, fails in shards: "index 6 is out of bounds for axis 0 with size 6".
        if way != "mask" and (way in ("basic", "blocks") or "shards" not in given) and r.random() < 0.7:
            values = rng.integers(0, 9, before.shape).astype(ours.dtype) if r.random() < 0.7 else np.array(r.choice([0, 1])).astype(ours.dtype)[()]
            view[key] = values
            same(ours[...], theirs[...], f"{what}, after writing")
        if r.random() < 0.1 and ours.shape:
            shape = tuple(max(1, n + r.randint(-2, 4)) for n in ours.shape)
            ours.resize(shape)
            with pipeline(THEIRS):
                theirs = zarr.open_array(store, path=given["name"] or "", config=given["config"])
            same(ours[...], theirs[...], f"{what}, after resizing to {shape}")
    with pipeline(OURS):
        again = pickle.loads(pickle.dumps(ours)) if isinstance(store, LocalStore) else ours
        same(again[...], theirs[...], "pickled")


def used(where):
    """The library does the work, and what it does not do goes to zarr-python, or is an error."""
    import ozarr._pipeline as module
    calls = []
    inner = module.lib.read_many
    module.lib.read_many = lambda *a: (calls.append("read"), inner(*a))
    with pipeline(OURS, strict=True):
        z = zarr.create_array(LocalStore(where / "used"), shape=(20, 20), chunks=(5, 5), dtype="f4")
        z[...] = 1
        same(z[3:17, ::2], np.ones((14, 10)), "strict")
        check(calls, "the library read")
        for action in (lambda: z.vindex.__setitem__(([1, 2], [3, 4]), 5), lambda: zarr.create_array(MemoryStore(), shape=(2,), dtype=str)[...]):
            try:
                action()
            except NotImplementedError as e:
                check("codec pipeline" in str(e), str(e))
            else:
                raise AssertionError("strict has no effect")
    module.lib.read_many = inner
    with pipeline(OURS):
        z.vindex[[1, 2], [3, 4]] = 5
        check(z[1, 3] == 5 and z[2, 4] == 5, "without strict")
        s = zarr.create_array(MemoryStore(), shape=(2,), dtype=str)
        s[0] = "abc"
        check(s[...].tolist() == ["abc", ""], "texts")
        (where / "used" / "c" / "0" / "0").write_bytes(b"torn")
        try:
            z[...]
        except Exception as e:
            check("c/0/0" in str(e), f"a damaged chunk: {e}")
        else:
            raise AssertionError("a damaged chunk was read")
        with ZipStore(where / "z.zip", mode="w") as zipped:
            a = zarr.create_array(zipped, shape=(9,), chunks=(4,), dtype="i4")
            a[...] = np.arange(9)
            same(a[2:8:3], [2, 5], "a zip archive of zarr-python")


def masked(where):
    """What lies below a mask is not stored, whoever would store it."""
    for store in (LocalStore(where / "masked"), MemoryStore()):
        with pipeline(OURS):
            z = zarr.create_array(store, shape=(6,), chunks=(4,), dtype="f4", fill_value=9)
            for write in (lambda given: z.__setitem__(slice(None), given), lambda given: z.__setitem__(slice(1, 3), given[:2]), lambda given: z.vindex.__setitem__(([0, 5],), given[:2])):
                try:
                    write(np.ma.array(np.arange(6.0), mask=[0, 1, 0, 0, 0, 0]))
                except TypeError as e:
                    check("masked" in str(e), str(e))
                else:
                    raise AssertionError(f"masked elements were written: {z[...]}")
            same(z[...], [9] * 6, "masked elements that were refused")
            z[:] = np.ma.array(np.arange(6.0), mask=False)
            same(z[...], np.arange(6), "an array of numpy.ma without masked elements")


def quiet(where):
    """An array is opened without a warning that zarr-python's own pipeline does not give: of a type without a specification, say."""
    for dtype in ("S5", "U4", "V4", [("a", "i4"), ("b", "f8")], "M8[s]", str, "f4"):
        zarr.create_array(LocalStore(where / "quiet"), shape=(3,), dtype=dtype, overwrite=True)
        said = []
        for path in (THEIRS, OURS):
            with pipeline(path), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                zarr.open_array(LocalStore(where / "quiet"), mode="r")[...]
                said.append([str(one.message) for one in caught])
        check(said[0] == said[1], f"{dtype}: {said}")


def named(where):
    """Names that the library gives to no new array are read and written all the same."""
    for name in ("__xarray_dataarray_variable__", "g/__x", ".ozarr-x", "a\tb"):
        for store in (LocalStore(where / "named"), MemoryStore()):
            with pipeline(OURS):
                z = zarr.create_array(store, name=name, shape=(6,), chunks=(4,), dtype="i4", overwrite=True)
                z[...] = np.arange(6)
                z[5] = 7
                same(z[1:], [1, 2, 3, 4, 7], f"{name!r} by the library")
            with pipeline(THEIRS):
                same(zarr.open_array(store, path=name)[...], [0, 1, 2, 3, 4, 7], f"{name!r} by zarr-python")


def resized(where):
    """An array that zarr-python made longer: what another handle wrote behind the old end stays, whoever writes beside it."""
    for version in (2, 3):
        for store in (LocalStore(where / f"resized{version}"), MemoryStore()):
            with pipeline(OURS, strict=True):
                ours = zarr.create_array(store, shape=(10, 3), chunks=(4, 2), dtype="i4", zarr_format=version)
                ours[...] = 1
                ours.resize((12, 4))
                other = zarr.open_array(store, mode="r+")
                other[9:, :], other[:, 3] = 2, 3
                ours[8:10, :3] = 4
            with pipeline(THEIRS):
                same(zarr.open_array(store)[8:], [[4, 4, 4, 3], [4, 4, 4, 3], [2, 2, 2, 3], [2, 2, 2, 3]], f"resized, format {version}")


def opened(where):
    """Arrays that are opened again and again, or all at once, keep one file open for their folder."""
    with pipeline(OURS, strict=True):
        zarr.create_array(LocalStore(where / "opened"), shape=(3,), dtype="i4")[...] = 1
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, limit[1]))
        try:
            arrays = [zarr.open_array(where / "opened", mode=mode) for mode in ("r", "r+") * 200]
            check(all(z[0] == 1 for z in arrays), "400 arrays at once")
            arrays[1][0] = 2
            check(arrays[0][0] == 2, "what another array wrote")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def placed(where):
    """A folder is what zarr-python takes it for: relative, of a name that looks like a location, gone, made anew, or for reading only."""
    here = os.getcwd()
    os.chdir(where)
    try:
        with pipeline(OURS):
            for root in ("zip:foo", "memory:", "run:1.zarr", "s3:x", "file:", "a b%20c#d", *([os.fsdecode(b"\xff")] if sys.platform == "linux" else [])):
                store = LocalStore(root)
                ours = zarr.create_array(store, name="a", shape=(6,), chunks=(4,), dtype="i4")
                ours[...] = 1
                ours[5] = 7
                with pipeline(THEIRS):
                    same(zarr.open_array(store, path="a")[...], [1, 1, 1, 1, 1, 7], f"{root!r}")
                shutil.rmtree(root)
                check(ours[...].sum() == 0, f"{root!r} that is gone")
                ours[1:3] = 2
                zarr.create_array(store, name="a", shape=(6,), chunks=(4,), dtype="i4", overwrite=True)[4] = 3
                same(ours[...], [0, 0, 0, 0, 3, 0], f"{root!r} that was made anew")
            try:
                zarr.open_array("run:1.zarr/a", mode="r")[0] = 1
            except ValueError as e:
                check("read-only" in str(e), str(e))
            else:
                raise AssertionError("written to a store for reading")
    finally:
        os.chdir(here)


def together(where):
    """An array that one thread makes longer while another one is about to read or write by what was known before."""
    import ozarr._pipeline as module
    for name in ("read_many", "write_many"):
        with pipeline(OURS, strict=True):
            z = zarr.create_array(LocalStore(where / name), shape=(10, 9), chunks=(7, 2), dtype="i4")
            inner, first = getattr(module.lib, name), [True]

            def between(*a):
                if first:
                    first.clear()
                    z.append(np.ones((15, 9), "i4"))
                inner(*a)
            setattr(module.lib, name, between)
            try:
                z[2:5, :] if name == "read_many" else z.__setitem__((slice(2, 5), slice(None)), 1)
            finally:
                setattr(module.lib, name, inner)
            check(not first and z[...].sum() == 15 * 9 + (27 if name == "write_many" else 0), name)


def released(where):
    """An array that one thread reads while another one lets go of the last array of the same folder."""
    import ozarr._pipeline as module
    with pipeline(OURS, strict=True):
        z = zarr.create_array(LocalStore(where / "released"), shape=(4,), chunks=(2,), dtype="i4")
        z[:] = 3
        other, inner, found = zarr.open_array(LocalStore(where / "released"), mode="r+"), module.lib.store_free, []

        def between(handle):
            module.lib.store_free = inner
            inner(handle)
            found.append(other[:])
        z = zarr.open_array(LocalStore(where / "released"), mode="r+")
        z[:]
        module.lib.store_free = between
        try:
            del z
            for _ in range(1000):  # a thread of zarr-python's may hold the array for a moment yet
                gc.collect()
                if found:
                    break
                time.sleep(0.01)
        finally:
            module.lib.store_free = inner
        check(len(found) == 1 and found[0].tolist() == [3] * 4, f"an array read while a folder is let go of: {found}")


def whole(where):
    """A chunk that is replaced as a whole is not read before, so that one that is damaged can be, also at the end and behind other writes."""
    for chunks, index in (((4,), (8,)), ((4, 4), (8, 9))):
        with pipeline(OURS, strict=True):
            z = zarr.create_array(LocalStore(where / f"whole{len(chunks)}"), shape=(10,) * len(chunks), chunks=chunks, dtype="i4")
            z[...] = 1
            z[index] = 5
            (where / f"whole{len(chunks)}" / "c" / "/".join("2" for _ in chunks)).write_bytes(b"torn")
            z[tuple(slice(8, 10) for _ in chunks)] = 3
            check(z[...].sum() == 10 ** len(chunks) + 2 * 2 ** len(chunks), f"a damaged chunk of {chunks}")
    for version in (2, 3):
        for store in (LocalStore(where / f"clipped{version}"), MemoryStore()):
            with pipeline(OURS, strict=True):
                z = zarr.create_array(store, shape=(12,), chunks=(4,), dtype="i4", zarr_format=version)
                z[...] = 1
                z.resize((10,))
                z[2:10] = 2
                z.resize((12,))
                same(z[...], [1, 1] + [2] * 8 + [0, 0], "a clipped chunk replaced beside one of which a part is")
    for store in (LocalStore(where / "longest"), MemoryStore()):
        with pipeline(OURS, strict=True):
            z = zarr.create_array(store, shape=(2**63 - 1,), chunks=(1000,), dtype="i1")
            z[2**63 - 2] = 3
            check(z[2**63 - 2] == 3 and z[5] == 0, "the longest array")


def forked(where):
    """A child of fork reads and writes an array that a thread of its parent was opening, whose lock nobody gives back in the child."""
    import ozarr._pipeline as module
    if not hasattr(os, "fork"):
        return
    for store, name in ((LocalStore(where / "forked"), "node_import_at"), (MemoryStore(), "array_create_at")):
        with pipeline(OURS, strict=True):
            z = zarr.create_array(store, shape=(6,), chunks=(4,), dtype="i4")
            inner, inside, go_on = getattr(module.lib, name), threading.Event(), threading.Event()

            def between(*a):
                inside.set(), go_on.wait()
                return inner(*a)
            setattr(module.lib, name, between)
            thread = threading.Thread(target=lambda: z[...])
            thread.start()
            inside.wait()
            setattr(module.lib, name, inner)
            if not (child := os.fork()):
                signal.alarm(20)
                z[1:] = 3
                os._exit(0 if z[...].sum() == 15 else 1)
            status = os.waitpid(child, 0)[1]
            go_on.set(), thread.join()
            check(status == 0, f"a child of fork: {status}, {store}")
    inside, go_on = threading.Event(), threading.Event()

    class Chunk(module.Item):
        def __init__(self):
            pass

        @property
        def box(self):
            return inside.set() or go_on.wait()
    thread = threading.Thread(target=lambda: Chunk().dense)
    thread.start()
    inside.wait()
    if not (child := os.fork()):
        signal.alarm(20)
        Chunk.box = True
        os._exit(0 if Chunk().dense else 1)
    status = os.waitpid(child, 0)[1]
    go_on.set(), thread.join()
    check(status == 0, f"a child of fork asks of a chunk what a thread of its parent asks of another: {status}")


def cancelled(where):
    """A read that is cancelled ends before it returns: it does not go on filling the memory of its caller."""
    import ozarr._pipeline as module
    usual, calls = module.OzarrCodecPipeline.read, []

    async def noted(self, batch_info, out, drop_axes=()):
        calls.append((self, batch_info := list(batch_info), out, drop_axes))
        return await usual(self, batch_info, out, drop_axes)

    async def read(memory, inside, go_on, done):
        work = asyncio.ensure_future(usual(*calls[-1]))
        await asyncio.to_thread(inside.wait)
        work.cancel()
        asyncio.get_running_loop().call_later(0.1, go_on.set)
        try:
            await work
        except asyncio.CancelledError:
            found = memory.copy()
            await asyncio.to_thread(done.wait)
            same(memory, found, "memory after a read that was cancelled")
        else:
            raise AssertionError("a read was not cancelled")

    for store in (LocalStore(where / "cancelled"), MemoryStore()):
        with pipeline(OURS, strict=True):
            z = zarr.create_array(store, shape=(8,), chunks=(4,), dtype="i4")
            z[...] = 7
            module.OzarrCodecPipeline.read = noted
            try:
                z[...]
            finally:
                module.OzarrCodecPipeline.read = usual
            memory, inner, events = calls[-1][2].as_ndarray_like(), module.lib.read_many, [threading.Event() for _ in range(3)]
            memory[...] = 0

            def held(*a):
                events[0].set(), events[1].wait()
                inner(*a)
                events[2].set()
            module.lib.read_many = held
            try:
                asyncio.run(read(memory, *events))
            finally:
                module.lib.read_many = inner


def odd(where):
    """Memory for reading only is not written; an empty list writes nothing; a name that is no UTF-8 is zarr-python's."""
    for number, store in enumerate((LocalStore(where / "odd"), MemoryStore())):
        with pipeline(OURS):
            z = zarr.create_array(store, shape=(4, 4), chunks=(4, 4), dtype="i4")
            z[...] = 1
            memory = bytes(64)
            try:
                z.get_basic_selection(slice(None), out=NDBuffer.from_numpy_array(np.frombuffer(memory, "i4").reshape(4, 4)))
            except ValueError as e:
                check("read-only" in str(e) and memory == bytes(64), str(e))
            else:
                raise AssertionError("memory for reading only was written")
            z.oindex[slice(3, 1), np.array([0, 2])] = np.empty((0, 2), "i4")
            check(z[...].sum() == 16, "an empty list")
            if sys.platform == "linux" and number == 0:
                named = zarr.create_array(LocalStore(where / "names"), name=os.fsdecode(b"\xff"), shape=(6,), chunks=(2,), dtype="i4")
                named[...] = 1
                check(named[...].sum() == 6, "a name that is no UTF-8")


def missing(where):
    """Missing chunks are errors where zarr-python is told so, in versions that have such a setting."""
    if "read_missing_chunks" not in zarr.config.get("array"):
        return
    for store in (LocalStore(where / "missing"), MemoryStore()):
        with pipeline(OURS):
            z = zarr.create_array(store, shape=(8,), chunks=(4,), dtype="i4", config={"read_missing_chunks": False})
            z[:4] = 1
            check(z[:4].sum() == 4 and z[4:4].shape == (0,), "chunks that are there")
            try:
                z[...]
            except zarr.errors.ChunkNotFoundError as e:
                check("c/1" in str(e), str(e))
            else:
                raise AssertionError("a missing chunk was read")


ELSEWHERE = """
import sys, zarr, zarr.core.codec_pipeline
del zarr.core.codec_pipeline.BatchedCodecPipeline
import ozarr.zarr
zarr.open_array({}, mode="w", shape=(3,), dtype="i4")[...] = 1
zarr.config.set({"codec_pipeline.path": "ozarr.zarr.OzarrCodecPipeline"})
try:
    zarr.open_array({}, mode="w", shape=(3,), dtype="i4")
except ImportError as e:
    assert "ozarr's codec pipeline cannot be used" in str(e) and "BatchedCodecPipeline" in str(e), e
else:
    sys.exit("no error")
"""


UNLOADED = """
import sys, xarray, zarr
import ozarr.zarr
zarr.create_array({}, shape=(3,), dtype="i4")[...] = 1
zarr.config.set({"codec_pipeline.path": "ozarr.zarr.OzarrCodecPipeline"})
for action in (lambda: zarr.create_array({}, shape=(3,), dtype="i4"), lambda: zarr.create_array({}, shape=(3,), dtype=str), ozarr.version, lambda: xarray.open_dataset("none", engine="ozarr")):
    try:
        action()
    except ImportError as e:
        assert "the ozarr library could not be loaded (/none/libozarr.so" in str(e), e
    else:
        sys.exit("no error")
"""


def left_alone():
    """Where zarr-python's inner parts have other names, or the library cannot be loaded, it goes on without the pipeline, which it loads as all
    that are installed."""
    for code, more in ((ELSEWHERE, {}), (UNLOADED, {"OZARR_LIBRARY": "/none/libozarr.so"})):
        ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=os.environ | more, capture_output=True, text=True)
        check(ran.returncode == 0, ran.stderr)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", required=True, type=Path)
    a.add_argument("--arrays", type=int, default=80)
    a.add_argument("--seed", type=int, default=1)
    given = a.parse_args()
    where = given.build.resolve()
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    import ozarr._chunks as chunks
    usual = {name: getattr(chunks, name) for name in ("PORTION", "SMALL", "GAP", "SPARSE")}
    for number in range(given.arrays):
        # Every other array as if it were large.
        vars(chunks).update({"PORTION": 100, "SMALL": 0, "GAP": number % 3, "SPARSE": 1} if number % 2 else usual)
        try:
            one_case(random.Random(given.seed + number), where, number)
        except BaseException:
            print(f"seed {given.seed + number}: {tried}", file=sys.stderr)
            raise
    vars(chunks).update(usual)
    bounded(where)
    wide(where)
    used(where)
    masked(where)
    quiet(where)
    named(where)
    resized(where)
    opened(where)
    placed(where)
    together(where)
    released(where)
    whole(where)
    forked(where)
    cancelled(where)
    odd(where)
    missing(where)
    left_alone()
    print(f"pipeline: {len(passed)} passed, 0 failed ({given.arrays} arrays, zarr {zarr.__version__})")


main()
