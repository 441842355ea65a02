#!/usr/bin/env python3
"""The rate of each codec: the library through its C ABI beside numcodecs, in one process, interleaved, on one thread.

  codecs.py --library PREFIX/lib/libozarr.so [--out docs/performance.md] [--quick] [--only TEXT]

Each row is eight chunks of 1 MiB in a store in memory, whole arrays of one chunk each: encoding is writing them, decoding reading them; of
numcodecs it is `encode` of each chunk and `decode` into a buffer that is there. Rates are MiB of decoded data by second of CPU time, the
median of all rounds. The table replaces the section "Codecs" of the document, or is added to it.
"""
import argparse, ctypes as C, json, platform, statistics, sys, time, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import numcodecs
import numcodecs.blosc
import numpy as np

CHUNKS, BYTES = 8, 1 << 20
TYPES = {"float32": 11, "int32": 4, "bool": 1}
HEAD, END = "## Codecs", "\n## "


def field():
    """A smooth field with noise, rounded to 2^-10: what a simulation's output looks like."""
    n = CHUNKS * BYTES // 4
    rng, x = np.random.default_rng(20240801), np.linspace(0, 1, n)
    noise = (rng.random(n) + rng.random(n) + rng.random(n) - 1.5) * 0.04
    return (np.round((300 + 8 * np.sin(50 * x) + 4 * np.sin(7000 * x) * np.cos(3 * x) + noise) * 1024) / 1024).astype("f4")


def counts():
    """Numbers of cells, slowly rising with jumps: what an index or a mask of materials looks like."""
    rng = np.random.default_rng(7)
    return np.cumsum(rng.integers(0, 9, CHUNKS * BYTES // 4)).astype("i4")


def flags():
    return np.repeat(np.random.default_rng(3).random(CHUNKS * BYTES // 16) < 0.3, 16)


# (data, filters, compressor). What writes other bytes in numcodecs than it reads is left to the tests.
ROWS = [
    ("float32", [], None),
    *[(d, [], {"id": "blosc", "cname": c, "clevel": 5, "shuffle": s, "blocksize": 0}) for d, c, s in (
        ("float32", "lz4", 1), ("int32", "lz4", 1), ("float32", "lz4", 2), ("float32", "lz4", 0), ("float32", "zstd", 1), ("float32", "zstd", 2),
        ("float32", "zlib", 1), ("float32", "blosclz", 1), ("float32", "lz4hc", 1))],
    *[("float32", [], {"id": "zstd", "level": n}) for n in (1, 3, 9)],
    ("int32", [], {"id": "zstd", "level": 3}),
    ("float32", [], {"id": "zlib", "level": 1}), ("float32", [], {"id": "zlib", "level": 6}), ("int32", [], {"id": "zlib", "level": 6}),
    ("float32", [], {"id": "gzip", "level": 1}), ("float32", [], {"id": "gzip", "level": 6}),
    ("float32", [], {"id": "lz4", "acceleration": 1}), ("int32", [], {"id": "lz4", "acceleration": 1}),
    ("float32", [], {"id": "bz2", "level": 1}),
    ("float32", [], {"id": "lzma", "preset": 1}),
    ("float32", [], {"id": "pcodec", "level": 8}), ("int32", [], {"id": "pcodec", "level": 8}),
    ("float32", [], {"id": "zfpy", "mode": 4, "tolerance": 0.01}),
    *[("int32", [f], None) for f in (
        {"id": "shuffle", "elementsize": 4}, {"id": "delta", "dtype": "<i4"}, {"id": "crc32"}, {"id": "adler32"}, {"id": "crc32c"},
        {"id": "fletcher32"}, {"id": "jenkins_lookup3"}, {"id": "base64"}, {"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<i4"})],
    *[("float32", [f], None) for f in (
        {"id": "delta", "dtype": "<f4"}, {"id": "bitround", "keepbits": 10}, {"id": "quantize", "digits": 2, "dtype": "<f4"},
        {"id": "fixedscaleoffset", "offset": 300, "scale": 1024, "dtype": "<f4", "astype": "<i4"}, {"id": "astype", "encode_dtype": "<f8", "decode_dtype": "<f4"})],
    ("bool", [{"id": "packbits"}], None),
]


class Library:
    """Eight arrays of one chunk in a store in memory."""

    def __init__(self, path, kind, filters, compressor, chunks):
        self.lib, self.type, self.chunks = C.CDLL(path), TYPES[kind], chunks
        self.lib.ozarr_last_error.restype = C.c_char_p
        self.store, self.arrays = C.c_void_p(), []
        self("store_memory", C.byref(self.store))
        for i in range(CHUNKS):
            spec, array, shape = C.c_void_p(), C.c_void_p(), (C.c_int64 * 1)(len(chunks[0]))
            self("spec_new", self.type, 1, shape, C.byref(spec))
            self("spec_set_zarr_format", spec, 2)
            self("spec_set_chunks", spec, shape)
            self("spec_set_member_json", spec, b"compressor", json.dumps(compressor).encode())
            if filters:
                self("spec_set_member_json", spec, b"filters", json.dumps(filters).encode())
            self("array_create_at", self.store, f"a{i}".encode(), spec, 0, C.byref(array))
            self.lib.ozarr_spec_free(spec)
            self.arrays.append(array)

    def __call__(self, name, *args):
        if getattr(self.lib, "ozarr_" + name)(*args):
            raise RuntimeError(f"{name}: {self.lib.ozarr_last_error().decode()}")

    def encode(self):
        for array, chunk in zip(self.arrays, self.chunks):
            self("array_write", array, self.type, C.c_void_p(chunk.ctypes.data), C.c_size_t(chunk.nbytes))

    def decode(self, out):
        for array, chunk in zip(self.arrays, out):
            self("array_read", array, self.type, C.c_void_p(chunk.ctypes.data), C.c_size_t(chunk.nbytes))

    def close(self):
        for array in self.arrays:
            self("array_close", array)
        self("store_close", self.store)


class Copy:
    """No codec: the floor under the filters and checksums."""

    def encode(self, chunk):
        return chunk.tobytes()

    def decode(self, stored, out):
        out.view("u1")[:] = np.frombuffer(stored, "u1")


class Numcodecs:
    def __init__(self, kind, filters, compressor, chunks):
        chosen = filters[0] if filters else compressor
        self.codec, self.chunks = numcodecs.get_codec(dict(chosen)) if chosen else Copy(), chunks
        self.stored = [None] * CHUNKS

    def encode(self):
        for i, chunk in enumerate(self.chunks):
            self.stored[i] = self.codec.encode(chunk)

    def decode(self, out):
        for stored, chunk in zip(self.stored, out):
            self.codec.decode(stored, out=chunk)


def timed(f, *args):
    began = time.thread_time()
    f(*args)
    return time.thread_time() - began


def row(a, kind, filters, compressor, data):
    """[encode of numcodecs, of the library, decode of numcodecs, of the library]: seconds of every round. numcodecs may lack the codec."""
    chunks = np.split(data, CHUNKS)
    ours = Library(a.library, kind, filters, compressor, chunks)
    try:
        peer = Numcodecs(kind, filters, compressor, chunks)
    except ValueError:
        peer = None
    one, two = [[np.ones_like(c) for c in chunks] for _ in range(2)]
    got, began = [[], [], [], []], time.monotonic()
    seconds, fewest = (1, 3) if a.quick else (4, 7)
    while len(got[1]) < fewest or time.monotonic() - began < seconds and len(got[1]) < 200:
        sides = [(0, peer, one), (1, ours, two)]
        for k, side, out in sides if len(got[1]) % 2 else sides[::-1]:
            if side:
                got[k].append(timed(side.encode))
                got[k + 2].append(timed(side.decode, out))
    if peer and not any(f["id"] == "quantize" for f in filters):
        assert all((x.view("u1") == y.view("u1")).all() for x, y in zip(one, two)), f"{filters} {compressor}: the data differ"
    ours.close()
    # The stored bytes, which the row without a codec copies, too.
    return [*got, sum(memoryview(x).nbytes for x in peer.stored) if peer else data.nbytes]


def shown(filters, compressor):
    c = dict(filters[0] if filters else compressor or {"id": "none (a copy)"})
    return c.pop("id") + "".join(f", {k} {v}" for k, v in c.items() if k not in ("dtype", "blocksize", "elementsize", "mode", "clevel"))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--library", required=True)
    ap.add_argument("--out")
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--only", default="", help="rows that contain this, as in 'blosc'")
    a = ap.parse_args()
    numcodecs.blosc.set_nthreads(1)
    numcodecs.blosc.use_threads = False
    data, table, slow = {"float32": field(), "int32": counts(), "bool": flags()}, [], []
    floor = None
    print(f"{'codec':60} {'encode MiB/s: numcodecs':>24} {'ozarr':>7} {'ratio':>6} {'decode: numcodecs':>18} {'ozarr':>7} {'ratio':>6}")
    for kind, filters, compressor in ROWS:
        name = shown(filters, compressor)
        if (filters or compressor) and a.only not in f"{name} {kind}":
            continue
        got = row(a, kind, filters, compressor, data[kind])
        seconds, size, cells = [statistics.median(g) if g else None for g in got[:4]], data[kind].nbytes, [name, kind]
        if not filters and not compressor:
            floor = [seconds[1] / size, seconds[3] / size]
        for k, what in enumerate(("encode", "decode")):
            peer, ours = seconds[2 * k], seconds[2 * k + 1]
            # What the store's copies of so many bytes take is no part of the codec.
            net = ours - (floor[k] * got[4] if floor and (filters or compressor) else 0)
            cells += [f"{size / 2**20 / peer:.0f}" if peer else "", f"{size / 2**20 / ours:.0f}", f"{peer / net:.2f}" if peer else ""]
            if peer and (filters or compressor) and net > peer / 0.9:
                slow.append(f"{what} {name} of {kind}: {peer / net:.2f}")
        table.append(cells)
        print(f"{name + ' ' + kind:60} {cells[2]:>24} {cells[3]:>7} {cells[4]:>6} {cells[5]:>18} {cells[6]:>7} {cells[7]:>6}", flush=True)
    verdict = f"{len(table)} codecs." + (" More than a tenth slower than numcodecs: " + "; ".join(slow) + "." if slow else " None is more than a tenth slower than numcodecs.")
    print(verdict)
    if a.out:
        model = next((x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")), platform.machine())
        lines = [HEAD, "", f"Each codec through the C ABI beside numcodecs {numcodecs.__version__} (`benches/codecs.py`): eight chunks of 1 MiB in memory, one thread, both in",
                 "one process by turns. MiB of decoded data by second of CPU time, the median of all rounds. A ratio above 1 is faster than numcodecs; in it the",
                 "library's time is less what the store takes for as many bytes without a codec (the first row), because numcodecs has no store.",
                 f"Machine: {model}.", "", verdict, "", "| codec | data | encode: numcodecs | ozarr | ratio | decode: numcodecs | ozarr | ratio |", "|" + " --- |" * 8]
        lines += ["| " + " | ".join(r) + " |" for r in table]
        path = Path(a.out)
        text = path.read_text() if path.exists() else "# Performance\n"
        at = text.find(HEAD)
        if at >= 0:
            end = text.find(END, at + 1)
            text = text[:at].rstrip("\n") + "\n" + (text[end:] if end >= 0 else "")
        path.write_text(text.rstrip("\n") + "\n\n" + "\n".join(lines) + "\n")
        print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
