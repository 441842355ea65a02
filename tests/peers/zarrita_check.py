#!/usr/bin/env python3
"""Arrays that the library writes, read by zarrita.js with all codecs that it has, element for element; and arrays of v3 that
zarrita.js writes, with all codecs that it can encode, read by the library.

  zarrita_check.py --library build/prefix/lib/libozarr.so --node FOLDER --build DIR

FOLDER holds read.mjs, write.mjs and node_modules (tools/zarrita makes it). The last line is `N passed, N failed`.
"""
import argparse, ctypes as C, hashlib, itertools, json, shutil, subprocess, sys
from pathlib import Path
import numpy as np

from model import TYPES, Library, dims

# zarrita.js has no complex numbers, and float16 only where the engine has Float16Array.
CODES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12]
SHAPES = [((13, 9), (5, 4)), ((7,), (3,)), ((), ()), ((3, 4, 5), (2, 4, 2)), ((64,), (100,)), ((6, 5, 4), (6, 5, 4))]
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
BLOSC = {"cname": "lz4", "clevel": 5, "blocksize": 0}


def v2(size, dtype):
    """(name, compressor, filters)"""
    yield "none", None, None
    yield "zlib", {"id": "zlib", "level": 6}, None
    yield "gzip", {"id": "gzip", "level": 1}, None
    yield "zstd", {"id": "zstd", "level": 3}, None
    yield "lz4", {"id": "lz4", "acceleration": 1}, None
    for cname, shuffle in itertools.product(("lz4", "zstd", "blosclz", "zlib"), (0, 1, 2)):
        yield f"blosc-{cname}-{shuffle}", {"id": "blosc", "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0}, None
    yield "shuffle", {"id": "zlib", "level": 1}, [{"id": "shuffle", "elementsize": size}]
    if dtype.kind in "iu":
        yield "delta", {"id": "zstd", "level": 1}, [{"id": "delta", "dtype": dtype.str, "astype": dtype.str}]


def v3(size, rank):
    """(name, codecs)"""
    yield "none", [BYTES]
    yield "big", [BIG]
    yield "gzip", [BYTES, {"name": "gzip", "configuration": {"level": 5}}]
    yield "zstd", [BYTES, {"name": "zstd", "configuration": {"level": 3, "checksum": False}}]
    yield "zstd-checksum", [BYTES, {"name": "zstd", "configuration": {"level": 3, "checksum": True}}]
    yield "crc32c", [BYTES, {"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"}]
    for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
        yield f"blosc-{shuffle}", [BYTES, {"name": "blosc", "configuration": BLOSC | {"shuffle": shuffle, "typesize": size}}]
    if rank:
        yield "transpose", [{"name": "transpose", "configuration": {"order": list(range(rank))[::-1]}}, BYTES]
    yield "numcodecs.zlib", [BYTES, {"name": "numcodecs.zlib", "configuration": {"level": 1}}]


class Writer:
    def __init__(self, oz, store):
        self.oz, self.store, self.expected, self.n = oz, store, {}, 0

    def write(self, name, code, shape, chunks, setup):
        oz, dtype = self.oz, np.dtype(TYPES[code])
        self.n += 1
        path = f"{name}-{dtype.name}-{self.n}"
        spec, a = C.c_void_p(), C.c_void_p()
        oz("spec_new", code, len(shape), dims(shape), C.byref(spec))
        oz("spec_set_chunks", spec, dims(chunks))
        fill = np.array(1 if self.n % 3 else 0).astype(dtype)
        oz("spec_set_fill_value", spec, code, fill.ctypes.data_as(C.c_void_p))
        setup(spec)
        oz("array_create_at", self.store, path.encode(), spec, 0, C.byref(a))
        oz.lib.ozarr_spec_free(spec)
        values = (np.arange(int(np.prod(shape))) * 7 % 101 % (2 if code == 1 else 128)).astype(dtype).reshape(shape)
        if self.n % 4 == 0 and shape:  # a chunk that is missing
            values[tuple(slice(0, n) for n in chunks)] = fill
        oz("array_write", a, code, values.ctypes.data_as(C.c_void_p), C.c_size_t(values.nbytes))
        oz("array_close", a)
        self.expected[path] = list(shape), hashlib.sha256(values.tobytes()).hexdigest()

    def all(self):
        """Every codec with some types, every type with some codecs and all shapes."""
        for i, (code, (shape, chunks)) in enumerate(itertools.product(CODES, SHAPES)):
            dtype = np.dtype(TYPES[code])
            for j, (name, compressor, filters) in enumerate(v2(dtype.itemsize, dtype)):
                if name == "shuffle" and dtype.itemsize == 1 or (i + j) % 3:
                    continue

                def setup(spec):
                    self.oz("spec_set_zarr_format", spec, 2)
                    self.oz("spec_set_member_json", spec, b"compressor", json.dumps(compressor).encode())
                    if filters:
                        self.oz("spec_set_member_json", spec, b"filters", json.dumps(filters).encode())
                    if self.n % 2:
                        self.oz("spec_set_separator", spec, b"/")
                    if self.n % 5 == 0 and not filters:
                        self.oz("spec_set_order", spec, 1)
                    if self.n % 7 == 0 and not filters:
                        self.oz("spec_set_big_endian", spec, C.c_bool(True))

                self.write(f"v2-{name}", code, shape, chunks, setup)
            for j, (name, codecs) in enumerate(v3(dtype.itemsize, len(shape))):
                # zarrita.js takes booleans of the big-endian order apart.
                if (i + j) % 2 or (name, code) == ("big", 1):
                    continue

                def setup(spec):
                    self.oz("spec_set_member_json", spec, b"codecs", json.dumps(codecs).encode())
                    if self.n % 3 == 0:
                        self.oz("spec_set_separator", spec, b".")

                self.write(f"v3-{name}", code, shape, chunks, setup)
            if shape:

                def setup(spec):
                    self.oz("spec_set_chunks", spec, dims([2 * n for n in chunks]))
                    self.oz("spec_set_inner_chunks", spec, dims(chunks))

                self.write("v3-sharded", code, shape, [2 * n for n in chunks], setup)


def by_zarrita(node, where, paths):
    """What read.mjs says of each of these arrays of a folder."""
    ran = subprocess.run(["node", "read.mjs", Path(where).resolve()], cwd=node, input=json.dumps(list(paths)), capture_output=True, text=True)
    found = {r.pop("path"): r for r in map(json.loads, ran.stdout.splitlines())}
    return {path: found.get(path, {"error": f"was not read: {ran.stderr[-2000:]}"}) for path in paths}


def zarrita_codecs(size, rank):
    """(name, codecs): what zarrita.js encodes. Without any it leaves the list empty, which is no valid v3 (HD-35)."""
    yield "bytes", [BYTES]
    yield "big", [BIG]
    for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
        yield f"blosc-{shuffle}", [BYTES, {"name": "blosc", "configuration": BLOSC | {"shuffle": shuffle, "typesize": size}}]
    yield "zstd", [BYTES, {"name": "zstd", "configuration": {"level": 3, "checksum": False}}]
    yield "lz4", [BYTES, {"name": "numcodecs.lz4", "configuration": {}}]
    yield "shuffle", [BYTES, {"name": "numcodecs.shuffle", "configuration": {"elementsize": size}}]
    if rank:
        yield "transpose", [{"name": "transpose", "configuration": {"order": list(range(rank))[::-1]}}, BYTES]


def written_by_zarrita(oz, node, where):
    """Has zarrita.js write arrays, and gives what is wrong with each when the library reads it; None where nothing is."""
    wanted = []
    for i, (code, (shape, chunks)) in enumerate(itertools.product(CODES, [s for s in SHAPES if s[0]])):
        dtype = np.dtype(TYPES[code])
        for j, (name, codecs) in enumerate(zarrita_codecs(dtype.itemsize, len(shape))):
            # zarrita.js takes booleans of the big-endian order apart.
            if (i + j) % 2 == 0 and (name, code) != ("big", 1):
                wanted.append({"path": f"{name}-{dtype.name}-{i}", "shape": shape, "chunks": chunks, "dtype": dtype.name, "codecs": codecs, "separator": "/."[i % 2],
                               "fill": i % 2, "names": [f"d{k}" for k in range(len(shape))], "below": 2 if code == 1 else 101, "code": code})
    ran = subprocess.run(["node", "write.mjs", where.resolve()], cwd=node, input=json.dumps(wanted), capture_output=True, text=True)
    errors = {r["path"]: r["error"] for r in map(json.loads, ran.stdout.splitlines())}
    store = C.c_void_p()
    oz("store_open", str(where).encode(), b"r", C.byref(store))
    for w in wanted:
        path, a = w["path"], C.c_void_p()
        if errors.get(path, f"was not written: {ran.stderr[-2000:]}"):
            yield path, f"zarrita.js: {errors.get(path) or ran.stderr[-2000:]}"
            continue
        values = (np.arange(int(np.prod(w["shape"]))) * 7 % 101 % w["below"]).astype(w["dtype"])
        found = np.zeros_like(values)
        try:
            oz("array_open_at", store, path.encode(), C.byref(a))
            oz("array_read", a, w["code"], found.ctypes.data_as(C.c_void_p), C.c_size_t(found.nbytes))
            oz("array_close", a)
        except Exception as e:  # noqa: BLE001
            yield path, str(e)
            continue
        yield path, None if found.tobytes() == values.tobytes() else "found other elements"
    oz("store_close", store)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--library", required=True)
    p.add_argument("--node", type=Path, required=True)
    p.add_argument("--build", type=Path, required=True)
    args = p.parse_args()
    where = args.build / "zarrita.zarr"
    shutil.rmtree(where, ignore_errors=True)
    oz, store = Library(args.library), C.c_void_p()
    oz("store_open", str(where).encode(), b"r+", C.byref(store))
    writer = Writer(oz, store)
    writer.all()
    oz("store_close", store)
    found = by_zarrita(args.node, where, writer.expected)
    failed = 0
    for path, (shape, sha256) in writer.expected.items():
        r = found[path]
        if r.get("shape") != shape or r.get("sha256") != sha256:
            failed += 1
            print(f"FAIL {path}: {r.get('error') or 'found other elements'}")
    other = args.build / "written.zarr"
    shutil.rmtree(other, ignore_errors=True)
    read = list(written_by_zarrita(oz, args.node, other))
    for path, wrong in read:
        if wrong:
            failed += 1
            print(f"FAIL {path} of zarrita.js: {wrong}")
    print(f"{len(writer.expected)} arrays of the library, {len(read)} of zarrita.js")
    print(f"{len(writer.expected) + len(read) - failed} passed, {failed} failed")
    return 1 if failed or not writer.expected or len(read) < 150 else 0


if __name__ == "__main__":
    sys.exit(main())
