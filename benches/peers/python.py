#!/usr/bin/env python3
"""The peers that have a Python interface, as adapters of the benchmark: python.py PEER THREADS, the protocol of benches/bench.h.

PEER: tensorstore, zarr (zarr-python), zarr-zarrs (with the codecs of zarrs), h5py, netcdf4 (HDF5 files), nczarr, z5py. The library is imported
once; a line "begin" forks a process that does what comes until the line "end", so that each workload begins with fresh memory.
What a library reads goes into the caller's memory where it can, otherwise into its own (`"own": true`).
"""
import ctypes, json, os, resource, sys, time

peer, threads = sys.argv[1], int(sys.argv[2])
os.environ.update(RAYON_NUM_THREADS=str(threads), OMP_NUM_THREADS=str(threads), BLOSC_NTHREADS=str(threads))
import numpy as np  # noqa: E402

libc = ctypes.CDLL(None)


class Unsupported(Exception):
    pass


def slices(q):
    return tuple(slice(s, s + (c - 1) * t + 1, t) for s, c, t in zip(*q))


def blosc_of(codec):
    name, _, shuffle = codec.partition("-")
    return name, shuffle


class TensorStore:
    def __init__(self):
        import tensorstore
        self.ts = tensorstore

    def context(self, r):
        limit = {"limit": threads}
        return self.ts.Context({"data_copy_concurrency": limit, "file_io_concurrency": limit, "file_io_sync": r["sync"] != "none",
                                "cache_pool": {"total_bytes_limit": (64 << 20) if "settings" in r or r["op"] == "append" else 0}})

    def spec(self, r, **more):
        return {"driver": "zarr3" if r["format"] == 3 else "zarr", "kvstore": {"driver": "file", "path": r["path"] + "/"}, **more}

    def open(self, r, writing=False):
        return self.ts.open(self.spec(r), open=True, read=True, write=writing, context=self.context(r)).result()

    def create(self, r, shape):
        meta = {k: v for k, v in json.loads(r["meta"]).items() if k != "attributes"}
        meta["shape"] = shape
        return self.ts.open(self.spec(r, metadata=meta), create=True, context=self.context(r)).result()

    def read(self, a, r, q, out):
        a = a if q is None else a[slices(q)]
        if r.get("f64"):
            a = self.ts.cast(a, self.ts.float64)
        if out is None:
            return a.read(order="F" if r.get("fortran") else "C").result()
        self.ts.array(out).write(a).result()
        return out

    def write(self, a, q, data):
        (a if q is None else a[slices(q)]).write(data).result()

    def grow(self, a, shape):
        return a.resize(exclusive_max=shape).result()

    def nodes(self, r):
        if r["op"] == "list" or "consolidated" in r:
            raise Unsupported("no groups")
        names, context = [e.name for e in os.scandir(r["path"]) if e.is_dir()], self.context(r)
        kept = [self.ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{r['path']}/{n}/"}}, open=True, read=True, context=context) for n in names]
        return sum(f.result().ndim for f in kept)


class ZarrPython:
    def __init__(self):
        import zarr
        from zarr.core.buffer import default_buffer_prototype
        self.zarr, self.wrap = zarr, default_buffer_prototype().nd_buffer.from_numpy_array
        settings = {"async.concurrency": threads, "threading.max_workers": threads}
        if peer == "zarr-zarrs":
            import zarrs  # noqa: F401
            settings.update({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.chunk_concurrent_maximum": threads, "codec_pipeline.chunk_concurrent_minimum": 1})
        zarr.config.set(settings)
        import numcodecs.blosc
        numcodecs.blosc.set_nthreads(threads)

    def open(self, r, writing=False):
        return self.zarr.open_array(r["path"], mode="r+" if writing else "r")

    def create(self, r, shape):
        os.makedirs(r["path"])
        with open(r["path"] + ("/zarr.json" if r["format"] == 3 else "/.zarray"), "w") as f:
            json.dump(dict(json.loads(r["meta"]), shape=shape), f)
        return self.open(r, True)

    def read(self, a, r, q, out):
        where = Ellipsis if q is None else slices(q)
        if r.get("f64"):
            return a[where].astype(np.float64)
        if r.get("fortran"):
            return np.asfortranarray(a[where])
        if out is None:
            return a[where]
        a.get_basic_selection(where, out=self.wrap(out))
        return out

    def write(self, a, q, data):
        a[Ellipsis if q is None else slices(q)] = data

    def grow(self, a, shape):
        a.resize(tuple(shape))
        return a

    def nodes(self, r):
        g = self.zarr.open_group(r["path"], mode="r", use_consolidated="consolidated" in r)
        return len(list(g.array_keys())) if r["op"] == "list" else sum(a.ndim for _, a in g.arrays())


class Hdf5:
    own = True

    def __init__(self):
        import h5py, hdf5plugin
        self.h5py, self.plugin = h5py, hdf5plugin

    def open(self, r, writing=False):
        return self.h5py.File(r["path"], "r+" if writing else "r")["v"]

    def create(self, r, shape):
        codec, filters = r["codec"], {}
        if "shard" in r or "big" in r:
            raise Unsupported("not in HDF5")
        if codec == "gzip":
            filters = {"compression": "gzip", "compression_opts": 5}
        elif codec == "zstd":
            filters = dict(self.plugin.Zstd(clevel=3))
        elif codec != "none":
            name, shuffle = blosc_of(codec)
            filters = dict(self.plugin.Blosc(cname=name, clevel=5, shuffle=2 if shuffle == "bitshuffle" else 1))
        return self.h5py.File(r["path"], "w").create_dataset("v", shape=shape, maxshape=(None, *shape[1:]), dtype="<f4", chunks=tuple(r["chunk"]), fillvalue=r["fill"], **filters)

    def read(self, a, r, q, out):
        if r.get("fortran"):
            return np.asfortranarray(a[...])
        if out is None:
            out = np.empty(r["shape"] if q is None else q[1], np.float64 if r.get("f64") else np.float32)
        a.read_direct(out, None if q is None else slices(q))
        return out

    def write(self, a, q, data):
        if q is None:
            a.write_direct(np.ascontiguousarray(data))
        else:
            a[slices(q)] = data

    def grow(self, a, shape):
        a.resize(tuple(shape))
        return a

    def close(self, a):
        a.file.close()

    def nodes(self, r):
        raise Unsupported("not made for HDF5")


class NetCdf:
    own = True
    made = False  # of HDF5 files the whole is this peer's own

    def __init__(self):
        import netCDF4
        self.nc = netCDF4

    def place(self, r):
        return r["path"] if peer == "netcdf4" else f"file://{os.path.dirname(r['path'])}#mode=zarr,file"

    def variable(self, d):
        v = d["v"]
        v.set_auto_maskandscale(False)
        v.set_auto_mask(False)
        return v

    def open(self, r, writing=False):
        return self.variable(self.nc.Dataset(self.place(r), "r+" if writing else "r"))

    def create(self, r, shape):
        codec, filters = r["codec"], {}
        if "shard" in r or "big" in r:
            raise Unsupported("not in netCDF")
        if codec in ("gzip", "zlib"):
            if peer == "nczarr":
                raise Unsupported("no gzip in NCZarr")
            filters = dict(compression="zlib", complevel=5, shuffle=False)
        elif codec == "zstd":
            filters = dict(compression="zstd", complevel=3, shuffle=False)
        elif codec != "none":
            name, shuffle = blosc_of(codec)
            filters = dict(compression="blosc_" + name, complevel=5, shuffle=False, blosc_shuffle=2 if shuffle == "bitshuffle" else 1)
        d = self.nc.Dataset(self.place(r), "w")
        for k, n in enumerate(shape):
            d.createDimension("zyx"[k], None if n == 0 else n)
        d.createVariable("v", "f4", ("z", "y", "x"), chunksizes=r["chunk"], fill_value=r["fill"], **filters)
        return self.variable(d)

    def read(self, a, r, q, out):
        x = a[...] if q is None else a[slices(q)]
        return x.astype(np.float64) if r.get("f64") else np.asfortranarray(x) if r.get("fortran") else x

    def write(self, a, q, data):
        a[... if q is None else slices(q)] = data

    def grow(self, a, shape):
        return a

    def close(self, a):
        a.group().close()

    def nodes(self, r):
        raise Unsupported("not made for netCDF")


class Z5:
    own = True

    def __init__(self):
        import z5py
        self.z5 = z5py

    def file(self, r, mode):
        return self.z5.File(os.path.dirname(r["path"]), use_zarr_format=True, mode=mode)

    def open(self, r, writing=False):
        if r["format"] == 3:
            raise Unsupported("format 2 only")
        a = self.file(r, "r+" if writing else "r")["v"]
        a.n_threads = threads
        return a

    def create(self, r, shape):
        if r["format"] == 3 or 0 in shape:
            raise Unsupported("format 2 only")
        name, shuffle = blosc_of(r["codec"])
        filters = {"none": dict(compression="raw"), "gzip": dict(compression="gzip", level=5), "zstd": dict(compression="zstd", level=3)}.get(
            r["codec"], dict(compression="blosc", codec=name, level=5, shuffle=2 if shuffle == "bitshuffle" else 1))
        a = self.file(r, "w").create_dataset("v", shape=tuple(shape), chunks=tuple(r["chunk"]), dtype="float32", **filters)
        a.n_threads = threads
        return a

    def read(self, a, r, q, out):
        x = a[:] if q is None else a[slices(q)]
        return x.astype(np.float64) if r.get("f64") else np.asfortranarray(x) if r.get("fortran") else x

    def write(self, a, q, data):
        a[slices(q) if q else slice(None)] = data

    def grow(self, a, shape):
        raise Unsupported("no append")

    def nodes(self, r):
        raise Unsupported("no groups")


PEERS = {"tensorstore": TensorStore, "zarr": ZarrPython, "zarr-zarrs": ZarrPython, "h5py": Hdf5, "netcdf4": NetCdf, "nczarr": NetCdf, "z5py": Z5}


def perform(lib, r, data):
    """The arrays that were read, or None."""
    op, close = r["op"], getattr(lib, "close", lambda a: None)
    if op == "noop":
        return None
    if op == "open":
        for _ in range(r["repeat"]):
            close(lib.open(r))
        return None
    if op in ("opens", "list"):
        lib.nodes(r)
        return None
    if op == "write":
        a = lib.create(r, r["shape"])
        lib.write(a, None, data)
        close(a)
        return None
    if op == "append":
        a = lib.create(r, [0, *r["shape"][1:]])
        for t in range(r["shape"][0]):
            a = lib.grow(a, [t + 1, *r["shape"][1:]])
            lib.write(a, ([t, 0, 0], [1, *r["shape"][1:]], [1, 1, 1]), data[t:t + 1])
        close(a)
        return None
    a, at, results = lib.open(r, op == "update"), 0, []
    for q in r["regions"] or [None]:
        shape = r["shape"] if q is None else q[1]
        n = int(np.prod(shape))
        if r.get("reopen") and results:
            close(a)
            a = lib.open(r)
        part = None if data is None or r.get("fortran") else data.reshape(-1)[at:at + n].reshape(shape)
        if op == "update":
            lib.write(a, q, part)
        else:
            results.append(lib.read(a, r, q, part))
        at += n
    close(a)
    return results


def status(name):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(name))


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def checksum(results):
    parts = [np.asarray(x).reshape(-1, order="F" if x.flags.f_contiguous and not x.flags.c_contiguous else "C") for x in results]
    v = (parts[0] if len(parts) == 1 else np.concatenate(parts)).view(np.uint8)
    v = np.concatenate([v, np.zeros(-v.size % 8, np.uint8)]).view(np.uint64) if v.size % 8 else v.view(np.uint64)
    total, block = 0, 1 << 18
    weights = np.arange(block, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    for i in range(0, v.size, block):
        w = v[i:i + block]
        total += int(np.dot(w, weights[:w.size])) + 2 * i * int(w.sum(dtype=np.uint64))
    return f"{total & (2**64 - 1):016x}"


def request(line):
    op, *words = line.split()
    r = {"op": op, "memory": "touched", "sync": "none", "codec": "none", "format": 3, "repeat": 1, "fill": 0.0, "regions": None}
    for k, v in (w.split("=", 1) for w in words):
        if k in ("shape", "chunk", "shard"):
            v = [int(x) for x in v.split(",")]
        elif k in ("format", "repeat"):
            v = int(v)
        elif k == "fill":
            v = float(v)
        elif k == "meta":
            with open(v) as f:
                v = f.read()
        elif k == "regions":
            with open(v) as f:
                rows = [[int(x) for x in row.split()] for row in f]
            v = [(x[:3], x[3:6], x[6:]) for x in rows]
        r[k] = v
    return r


kept = {}


def memory(r):
    """What is written, or the touched memory that is read into; None for fresh memory, which the library allocates."""
    if r["op"] not in ("read", "write", "update", "append"):
        return None
    n = sum(int(np.prod(q[1])) for q in r["regions"]) if r["regions"] else int(np.prod(r["shape"]))
    whole = (lambda x: x if r["regions"] else x.reshape(r["shape"]))
    if r["op"] != "read":
        return whole(np.fromfile(r["source"], np.float32, n) if "source" in r else np.full(n, r["fill"], np.float32))
    if r["memory"] != "touched":
        return None
    if "data" not in kept:
        kept["data"] = np.ones(n, np.float64 if r.get("f64") else np.float32)
    kept["data"].fill(1)
    return whole(kept["data"])


def serve_one(lib, line):
    r = request(line)
    data = memory(r)
    if r["op"] == "write" and os.path.exists(r["path"]):
        raise FileExistsError(r["path"])
    libc.malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    rss, code = status("VmRSS"), status("RssFile")
    os.getppid()
    wall, used = time.perf_counter(), cpu()
    results = perform(lib, r, data)
    used, wall = cpu() - used, time.perf_counter() - wall
    os.getppid()
    peak = status("VmHWM") - rss - (status("RssFile") - code)  # without the library's own pages
    results = results or None
    mine = results is not None and all(data is not None and np.shares_memory(x, data) for x in results)
    size = sum(x.nbytes for x in results) if results is not None else 0 if data is None else data.nbytes
    if results is not None and not mine:
        peak -= size >> 10
    return {"wall": wall, "cpu": used, "peak_kib": peak, "bytes": size, "own": results is not None and not mine,
            "sum": checksum(results) if "check" in r and results else "0"}


def serve(lib, lines):
    """Answers until "end" or the end of the input."""
    for line in lines:
        if line.strip() in (b"end", b"quit"):
            return
        try:
            answer = serve_one(lib, line.decode())
        except Unsupported as e:
            answer = {"error": f"unsupported: {e}"}
        except Exception as e:
            answer = {"error": f"{type(e).__name__}: {e}".splitlines()[0][:200].replace('"', "'")}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def main():
    try:
        lib = PEERS[peer]()
    except Exception as e:
        print(json.dumps({"error": f"not installed: {e}".splitlines()[0]}), flush=True)
        return
    print(json.dumps({"ready": peer}), flush=True)
    with open(0, "rb", buffering=0) as lines:
        for line in iter(lines.readline, b""):
            if line.strip() == b"quit":
                return
            if (child := os.fork()) == 0:
                serve(lib, iter(lines.readline, b""))
                os._exit(0)
            os.waitpid(child, 0)
            print(json.dumps({"ended": True}), flush=True)


main()
