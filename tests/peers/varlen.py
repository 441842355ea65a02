#!/usr/bin/env python3
"""Arrays of variable length, both ways between the library and zarr-python (numcodecs where zarr-python has no such type).

  varlen.py --library build/prefix/lib/libozarr.so --build DIR

For each codec x format x chain x shape: the library writes in two steps (all, then a region again), the peer must read the same; the
peer writes, the library must read the same. The last line is `N passed, N failed`.
"""
import argparse, ctypes as C, itertools, json, random, shutil, sys, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import numcodecs
import numpy as np
import zarr

from model import Library, Region, dims, i64

SHAPES = [((7,), (3,)), ((5, 6), (2, 4)), ((), ()), ((3, 4, 2), (2, 2, 2)), ((0, 3), (1, 2))]
WORDS = ["", "a", "naïve", "日本語", "x" * 300, "🐈 tab\t\"quote\\", "end"]
ZLIB, ZSTD, CRC = {"id": "zlib", "level": 1}, {"id": "zstd", "level": 3}, {"id": "crc32"}


def text(r):
    return r.choice(WORDS) + r.choice(WORDS)


def blob(r):
    # NumPy drops NULs at the end of a 0-d array of bytes.
    return bytes(r.randrange(256) for _ in range(r.choice([0, 1, 3, 40]))).rstrip(b"\0")


def value(r):
    return r.choice([None, True, 3, -7, 2.5, 1e300, text(r), [1, [text(r)]], {"k": r.randrange(99), "s": text(r)}, 2**63])


def encoded(kind, v):
    """What the library takes for an element."""
    return v.encode() if kind in ("text", "category") else v if kind == "bytes" else json.dumps(v).encode() if kind == "json" else v.tobytes()


def same(kind, got, want):
    if kind == "json":
        return json.loads(got) == want
    return got == encoded(kind, want)


MAKERS = {"text": text, "bytes": blob, "json": value, "list": lambda r: np.array([r.randrange(-9, 9) for _ in range(r.randrange(5))], "<i4"),
          "category": lambda r: r.choice(["a", "日本", ""])}


def cases():
    """(name, kind, format, document without shape and chunks)"""
    v2 = {"text": {"id": "vlen-utf8"}, "bytes": {"id": "vlen-bytes"}, "json": {"id": "json2"}, "list": {"id": "vlen-array", "dtype": "<i4"},
          "category": {"id": "categorize", "labels": ["a", "日本"], "dtype": "|O", "astype": "|u1"}}
    for (kind, codec), more, compressor, order in itertools.product(v2.items(), ([], [CRC]), (None, ZLIB, ZSTD), "CF"):
        fill = "" if kind in ("text", "bytes", "category") else None if kind == "json" else 0
        if order == "C" or (kind in ("text", "bytes") and not more):
            yield f"v2 {kind} {len(more)} {compressor and compressor['id']} {order}", kind, 2, {
                "zarr_format": 2, "dtype": "|O", "fill_value": fill, "order": order, "filters": [codec, *more], "compressor": compressor}
    for kind, tail, outer in itertools.product(("text", "bytes"), ([], ["zstd"], ["gzip", "crc32c"]), ("plain", "transpose", "shard")):
        yield f"v3 {kind} {tail} {outer}", kind, 3, (kind, tail, outer)


def document(case, shape, chunks):
    _, kind, form, rest = case
    if form == 2:
        return {**rest, "shape": shape, "chunks": chunks}
    _, tail, outer = rest
    codecs = [{"name": "vlen-utf8" if kind == "text" else "vlen-bytes"}]
    codecs += [{"name": t, "configuration": {"level": 3} if t != "crc32c" else {}} for t in tail]
    whole = [2 * c for c in chunks] if outer == "shard" else chunks
    if outer == "transpose":
        codecs.insert(0, {"name": "transpose", "configuration": {"order": list(range(len(shape)))[::-1]}})
    if outer == "shard":
        index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
        codecs = [{"name": "sharding_indexed", "configuration": {"chunk_shape": chunks, "codecs": codecs, "index_codecs": index}}]
    return {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "string" if kind == "text" else "variable_length_bytes",
            "fill_value": "", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": whole}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": codecs}


class Ours:
    def __init__(self, oz):
        self.oz = oz

    def create(self, where, doc):
        spec, self.a = C.c_void_p(), C.c_void_p()
        self.oz("spec_from_json", json.dumps(doc).encode(), C.byref(spec))
        self.oz("array_create_ex", str(where).encode(), spec, 1, C.byref(self.a))
        self.oz.lib.ozarr_spec_free(spec)

    def open(self, where):
        self.a = C.c_void_p()
        self.oz("array_open", str(where).encode(), b"r", C.byref(self.a))

    def region(self, start, count):
        return Region(C.sizeof(Region), dims(start), dims(count), None)

    def write(self, start, count, pieces):
        offsets = np.cumsum([0] + [len(p) for p in pieces], dtype="i8")
        data = b"".join(pieces)
        self.oz("array_write_varlen", self.a, C.byref(self.region(start, count)), (i64 * len(offsets))(*offsets.tolist()), data, C.c_size_t(len(data)))

    def read(self, start, count):
        v, offsets, data, size, n = C.c_void_p(), C.POINTER(i64)(), C.c_void_p(), C.c_size_t(), i64()
        self.oz("array_read_varlen", self.a, C.byref(self.region(start, count)), C.byref(v))
        self.oz("varlen_count", v, C.byref(n))
        self.oz("varlen_all", v, C.byref(offsets), C.byref(data), C.byref(size))
        all = C.string_at(data, size.value) if size.value else b""
        got = [all[offsets[i]:offsets[i + 1]] for i in range(n.value)]
        self.oz.lib.ozarr_varlen_free(v)
        return got

    def close(self):
        self.oz("array_close", self.a)


def peer_reads(where, case, doc, want):
    """The elements as the peer reads them: zarr-python, or numcodecs chunk by chunk."""
    kind = case[1]
    if kind in ("text", "bytes"):
        return list(np.asarray(zarr.open_array(where, mode="r")[...], dtype=object).reshape(-1))
    shape, chunks = doc["shape"], doc["chunks"]
    codecs = [numcodecs.get_codec(c) for c in [*doc["filters"], *([doc["compressor"]] if doc["compressor"] else [])]]
    out = np.empty(shape, dtype=object)
    for index in np.ndindex(*[-(-n // c) for n, c in zip(shape, chunks)]):
        data = (where / (".".join(map(str, index)) or "0")).read_bytes() if (where / (".".join(map(str, index)) or "0")).exists() else None
        part = np.empty(chunks, dtype=object)
        if data is not None:
            for c in reversed(codecs):
                data = c.decode(data)
            flat = np.asarray(data, dtype=object).reshape(-1) if kind != "list" else data.reshape(-1)
            for i, v in zip(np.ndindex(*chunks), flat):
                part[i] = v
        else:
            for i in np.ndindex(*chunks):
                part[i] = "" if kind == "category" else None if kind == "json" else np.array([], "<i4")
        place = tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in zip(index, chunks, shape))
        out[place] = part[tuple(slice(0, p.stop - p.start) for p in place)]
    return list(out.reshape(-1))


def peer_writes(where, case, doc, want):
    """Chunks and document as the peer makes them; False where it has no such type."""
    kind = case[1]
    if kind not in ("text", "bytes"):
        shape, chunks = doc["shape"], doc["chunks"]
        codecs = [numcodecs.get_codec(c) for c in [*doc["filters"], *([doc["compressor"]] if doc["compressor"] else [])]]
        where.mkdir(parents=True)
        (where / ".zarray").write_text(json.dumps(doc))
        whole = np.empty(shape, dtype=object)
        for i, v in zip(np.ndindex(*shape), want):
            whole[i] = v
        for index in np.ndindex(*[-(-n // c) for n, c in zip(shape, chunks)]):
            part = np.empty(chunks, dtype=object)
            for i in np.ndindex(*chunks):
                at = tuple(j * c + k for j, c, k in zip(index, chunks, i))
                part[i] = whole[at] if all(p < n for p, n in zip(at, shape)) else want[0]
            data = part
            for c in codecs:
                data = c.encode(data)
            (where / (".".join(map(str, index)) or "0")).write_bytes(bytes(data))
        return True
    where.mkdir(parents=True)
    (where / (".zarray" if case[2] == 2 else "zarr.json")).write_text(json.dumps(doc))
    a = zarr.open_array(where, mode="r+")
    whole = np.empty(doc["shape"], dtype=object)
    for i, v in zip(np.ndindex(*doc["shape"]), want):
        whole[i] = v
    a[...] = whole
    # zarr-python 3.1 writes transposed chunks of variable length in the order of memory, and then reads them wrongly itself.
    return list(np.asarray(zarr.open_array(where, mode="r")[...], dtype=object).reshape(-1)) == want


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--library", required=True)
    ap.add_argument("--build", type=Path, required=True)
    ap.add_argument("--only", default="")
    a = ap.parse_args()
    shutil.rmtree(a.build, ignore_errors=True)
    a.build.mkdir(parents=True)
    ours, passed, failed = Ours(Library(a.library)), 0, 0
    for n, (case, (shape, chunks)) in enumerate(itertools.product(cases(), SHAPES)):
        name, kind = f"{case[0]} {list(shape)}", case[1]
        # zarr-python 3.1 cannot read shards of rank 0 whose elements are of variable length.
        if a.only not in name or (not shape and "shard" in name):
            continue
        r = random.Random(n)
        want = [MAKERS[kind](r) for _ in range(int(np.prod(shape)))]
        doc, faults = document(case, list(shape), list(chunks)), []
        try:
            ours.create(a.build / f"{n}-ours", doc)
            ours.write([0] * len(shape), shape, [encoded(kind, v) for v in want])
            if want:
                start = [r.randrange(s) for s in shape]
                count = [r.randint(1, s - b) for s, b in zip(shape, start)]
                where = [int(np.ravel_multi_index(i, shape)) if shape else 0
                         for i in itertools.product(*[range(b, b + c) for b, c in zip(start, count)])]
                for w in where:
                    want[w] = MAKERS[kind](r)
                ours.write(start, count, [encoded(kind, want[w]) for w in where])
            got = ours.read([0] * len(shape), shape)
            if not all(same(kind, g, w) for g, w in zip(got, want, strict=True)):
                faults.append("read back otherwise than written")
            ours.close()
            got = peer_reads(a.build / f"{n}-ours", case, doc, want)
            plain = lambda v: v.tolist() if isinstance(v, np.ndarray) else v
            if [plain(g) for g in got] != [plain(w) for w in want]:
                faults.append("the peer reads otherwise")
            if want and peer_writes(a.build / f"{n}-peer", case, doc, want):
                ours.open(a.build / f"{n}-peer")
                got = ours.read([0] * len(shape), shape)
                if not all(same(kind, g, w) for g, w in zip(got, want, strict=True)):
                    faults.append("the peer's array reads otherwise")
                ours.close()
        except Exception as e:
            faults.append(f"{type(e).__name__}: {e}")
        passed, failed = passed + (not faults), failed + bool(faults)
        if faults:
            print(f"FAIL {n} {name}: {'; '.join(faults)[:300]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
