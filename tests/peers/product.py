#!/usr/bin/env python3
"""The generated product: hundreds of arrays, both ways between the library and its peers, bit for bit.

  product.py --tool BUILD/ozprod --build DIR [--only TEXT]

Types x codecs x formats, and along with them orders, separators, fill values, shapes and ways of writing, each chosen by its own
sequence so that neighbours differ in all. Direction `out`: the library writes; zarr-python, tensorstore and zarrs (as far as they know the
codecs) read. Direction `in`: zarr-python, tensorstore or zarrs writes, the library reads: whole, and regions with steps into memory of several
layouts. The plan format is in ozprod.c. The last line is `N passed, N failed`.
"""
import argparse, itertools, json, random, shutil, subprocess, sys, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import numcodecs
import numpy as np
import tensorstore as ts
import zarr
from zarr import codecs as zc

TYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
SHAPES = [(13, 9), (7,), (), (3, 4, 5), (0,), (64,), (9, 17, 5), (1,), (4, 0, 3), (2, 3, 4, 2), (33, 70), (2, 2, 3, 1, 2, 2), (1000,)]
MEMORY = "CFPN"

# (name, v2 compressor, v2 filters) and (name, v3 codecs after `bytes`, before `bytes`); {size} is the element's, {rev} the reversed dimensions
V2 = [
    ("none", None, None),
    ("zlib", {"id": "zlib", "level": 6}, None),
    ("gzip", {"id": "gzip", "level": 1}, None),
    ("zstd", {"id": "zstd", "level": 3}, None),
    ("blosc-lz4", {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}, None),
    ("blosc-zstd", {"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0}, None),
    ("blosc-lz4hc", {"id": "blosc", "cname": "lz4hc", "clevel": 9, "shuffle": 0, "blocksize": 256}, None),
    ("blosc-zlib", {"id": "blosc", "cname": "zlib", "clevel": 1, "shuffle": 1, "blocksize": 0}, None),
    ("shuffle-zlib", {"id": "zlib", "level": 1}, "shuffle"),
    ("delta", {"id": "zstd", "level": 1}, "delta"),
    ("astype-delta", None, "astype-delta"),
]
V3 = [
    ("none", [], []),
    ("gzip", [{"name": "gzip", "configuration": {"level": 5}}], []),
    ("zstd", [{"name": "zstd", "configuration": {"level": 3, "checksum": False}}], []),
    ("zstd-checksum", [{"name": "zstd", "configuration": {"level": -3, "checksum": True}}], []),
    ("blosc-lz4", [{"name": "blosc", "configuration": {"typesize": "{size}", "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0}}], []),
    ("blosc-zstd", [{"name": "blosc", "configuration": {"typesize": "{size}", "cname": "zstd", "clevel": 5, "shuffle": "bitshuffle", "blocksize": 0}}], []),
    ("crc32c", [{"name": "crc32c"}], []),
    ("gzip-crc32c", [{"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"}], []),
    ("transpose", [], [{"name": "transpose", "configuration": {"order": "{rev}"}}]),
    ("transpose-zstd", [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}], [{"name": "transpose", "configuration": {"order": "{rev}"}}]),
]
# The same by the setters of the builder instead of by JSON: (format, name, level); only written.
SETTERS = [(2, "none", -1), (2, "zlib", 6), (2, "zstd", -1), (2, "blosc", -1), (3, "none", -1), (3, "gzip", 1), (3, "zstd", -1), (3, "blosc", -1)]
SHARDED = ["sharded", "sharded-start", "sharded-zstd", "sharded-nested", "sharded-transposed"]


def fills(t):
    """Fill values as one element in native bytes, with a name."""
    d = np.dtype(t)
    if d.kind == "b":
        return [("0", np.zeros((), d)), ("true", np.ones((), d))]
    if d.kind in "iu":
        return [("0", np.zeros((), d)), ("min", np.array(np.iinfo(d).min, d)), ("max", np.array(np.iinfo(d).max, d))]
    f = [("0", 0.0), ("nan", np.nan), ("inf", np.inf), ("-inf", -np.inf), ("-0", -0.0), ("1.1", 1.1)]
    if d.kind == "f":
        payload = {2: 0x7E01, 4: 0x7FC00123, 8: 0x7FF8000000000123}[d.itemsize]
        return [(n, np.array(v, d)) for n, v in f] + [("payload", np.array(payload, f"u{d.itemsize}").view(d))]
    return [(n, np.array(complex(v, 2.5), d)) for n, v in f] + [("2nan", np.array(complex(-np.inf, np.nan), d))]


def chunk_variants(shape):
    yield tuple(max(1, (n + 1) // 2) for n in shape)
    yield tuple(max(1, n) for n in shape)
    yield tuple(max(1, n // 3) for n in shape)
    yield tuple(n + 2 for n in shape)
    yield tuple(max(1, min(n, 3 + i)) for i, n in enumerate(shape))


def values(rng, t, shape, fill, kind):
    """Elements: any bits, small counting numbers, or mostly the fill value."""
    d, n = np.dtype(t), int(np.prod(shape, dtype=np.int64))
    if kind == "small":
        return (np.arange(n) % 100).astype(d).reshape(shape)
    if d.kind == "b":
        v = (np.frombuffer(rng.randbytes(n), np.uint8) & 1).astype(bool).reshape(shape)
    else:
        v = np.frombuffer(rng.randbytes(n * d.itemsize), d).reshape(shape).copy()
    if kind == "sparse":
        out = np.empty(shape, d)
        out[...] = fill
        at = tuple(slice(0, max(1, (s + 2) // 3)) for s in shape)
        out[at] = v[at]
        return out
    return v


def regions(rng, shape, how_many):
    """(start, shape, step) with positive and negative steps; only of arrays with elements."""
    for _ in range(how_many if 0 not in shape else 0):
        start, count, step = [], [], []
        for n in shape:
            s = rng.choice([1, 1, 1, 2, 3, -1, -2])
            k = rng.randint(1, (n - 1) // abs(s) + 1)
            room = n - 1 - (k - 1) * abs(s)
            lo = rng.randint(0, room)
            start.append(lo if s > 0 else lo + (k - 1) * -s)
            count.append(k)
            step.append(s)
        yield start, count, step


def pick(a, region):
    return a[np.ix_(*[np.arange(k) * s + o for o, k, s in zip(*region)])] if region[0] else a


def commas(v):
    return ",".join(map(str, v))


class Failures(dict):
    """What failed, and why."""

    def attempt(self, name, f, *given):
        """What `f` gives; None where it fails."""
        try:
            return f(*given)
        except Exception as e:  # noqa: BLE001
            self[name] = f"{type(e).__name__}: {str(e).splitlines()[0][:300] if str(e) else ''}"

    def finish(self, passed):
        for k, v in self.items():
            print(f"FAIL {k}: {v}")
        print(f"{passed} passed, {len(self)} failed")
        return 1 if self or not passed else 0


class Plan:
    """The lines and the data of one run of ozprod."""

    def __init__(self):
        self.lines, self.data = [], bytearray()

    def __call__(self, *words):
        self.lines.append("\t".join(map(str, words)))

    def bytes(self, a):
        b = np.ascontiguousarray(a).tobytes()
        at = len(self.data)
        self.data += b
        return at, len(b)

    def whole(self, op, a, t):
        self(op, *self.bytes(a), t)

    def region(self, op, a, t, memory, region):
        self(op, *self.bytes(a), t, memory, *map(commas, region))

    def run(self, tool, store, mode, build, tag):
        """{id: why} of the arrays that failed."""
        (build / f"{tag}.plan").write_text("".join(x + "\n" for x in self.lines))
        (build / f"{tag}.data").write_bytes(self.data)
        p = subprocess.run([tool, str(store), mode, build / f"{tag}.plan", build / f"{tag}.data"], capture_output=True, text=True, errors="replace")
        bad = dict(line[5:].split(": ", 1) for line in p.stdout.splitlines() if line.startswith("FAIL "))
        last = p.stdout.splitlines()[-1] if p.stdout else ""
        if "passed" not in last:
            bad["(run)"] = f"{tag}: ozprod ended with {p.returncode}: {p.stderr.strip()[-300:]} {last[-200:]}"
        return bad


def substituted(codecs, size, rank):
    """A list of codecs with the element's size and the reversed dimensions put in."""
    text = json.dumps(codecs).replace('"{size}"', str(size)).replace('"{rev}"', json.dumps(list(range(rank))[::-1]))
    return json.loads(text)


def filters_v2(kind, t, big):
    d = np.dtype(t).newbyteorder(">" if big else "<").str
    if kind == "shuffle":
        return [{"id": "shuffle", "elementsize": np.dtype(t).itemsize}]
    if kind == "delta":
        return [{"id": "delta", "dtype": d}]
    if kind == "astype-delta":
        return [{"id": "astype", "encode_dtype": "<i2", "decode_dtype": d}, {"id": "delta", "dtype": "<i2"}]
    return None


def by_setter(a):
    return a["codec"][0].startswith("set-")


def product():
    """Every array of the product, as a dictionary."""
    seq = {k: itertools.cycle(v) for k, v in dict(shape=SHAPES, chunk=range(5), order="CFCCF", sep="./", big=[0, 0, 1], how=["whole", "boxes", "steps"], kind=["random", "sparse", "random"]).items()}
    turn = {t: itertools.cycle(fills(t)) for t in TYPES}
    for t, (fmt, codec) in itertools.product(TYPES, [(2, c) for c in V2] + [(3, c) for c in V3] + [(3, (s,)) for s in SHARDED] + [(f, (f"set-{n}", n, None, level)) for f, n, level in SETTERS]):
        d = np.dtype(t)
        if fmt == 2 and codec[2] in ("delta", "astype-delta") and d.kind not in ("iu" if codec[2] == "delta" else "iuf"):
            continue
        if fmt == 2 and codec[2] == "astype-delta" and d.itemsize == 1:
            continue
        a = dict(type=t, format=fmt, codec=codec, **{k: next(s) for k, s in seq.items()})
        a["big"] = a["big"] and d.itemsize > 1
        a["fill_name"], a["fill"] = next(turn[t])
        if fmt == 2 and codec[2] == "astype-delta":
            a["kind"], a["fill_name"], a["fill"] = "small", "0", np.zeros((), d)
        if fmt == 2 and a["fill_name"] == "payload":
            a["fill_name"], a["fill"] = "null", np.zeros((), d)
        a["chunks"] = list(chunk_variants(a["shape"]))[a["chunk"]]
        a["id"] = f"{t}-v{fmt}-{codec[0]}-{len(a['shape'])}d-{a['fill_name']}"
        a["codecs"] = None
        if fmt == 3 and codec[0] not in SHARDED and not by_setter(a):
            before, after = substituted(codec[2], d.itemsize, len(a["shape"])), substituted(codec[1], d.itemsize, len(a["shape"]))
            serial = {"name": "bytes", "configuration": {"endian": "big" if a["big"] else "little"}} if d.itemsize > 1 else {"name": "bytes"}
            a["codecs"] = before + [serial] + after
        yield a


# ---- direction out: the library writes ----

def plan_out(plan, a, rng):
    t, shape, v = a["type"], a["shape"], a["values"]
    plan("array", a["id"])
    plan("spec", t, commas(shape))
    plan("format", a["format"])
    plan("chunks", commas(a["chunks"]))
    if a["fill_name"] == "null":
        plan("filljson", "null")
    elif a["fill_name"] == "payload":
        plan("filljson", json.dumps("0x" + a["fill"].tobytes()[::-1].hex()))
    else:
        plan("fill", t, a["fill"].tobytes().hex())
    plan("separator", a["sep"])
    if a["format"] == 2 or by_setter(a):
        plan("order", a["order"])
        plan("big", int(a["big"]))
    if by_setter(a):
        plan("compressor", a["codec"][1], a["codec"][3])
    elif a["format"] == 2:
        plan("compressorjson", json.dumps(a["codec"][1]))
        f = filters_v2(a["codec"][2], t, a["big"])
        plan("filters", json.dumps(f))
    else:
        plan("codecs", json.dumps(a["codecs"]))
    if a["format"] == 3 and shape:
        plan("dims", ",".join(["", "y", "x"][i % 3] + (str(i) if i % 3 else "") for i in range(len(shape))))
    plan("attributes", json.dumps({"name": a["id"], "n": 3, "list": [1, 2.5, None, "µ"]}, ensure_ascii=False))
    plan("create", a["id"])
    start = np.empty(shape, t)
    start[...] = a["fill"]
    if a["how"] == "whole" or 0 in shape or not shape:
        plan.whole("write", v, t)
        want = v
    else:
        # Overlapping boxes, so that chunks are rewritten in part; or regions with steps.
        want = start
        for r in regions(rng, shape, 4):
            if a["how"] == "boxes":
                r = ([min(o, o + (k - 1) * s) for o, k, s in zip(*r)], r[1], [1] * len(shape))
            at = np.ix_(*[np.arange(k) * s + o for o, k, s in zip(*r)])
            want[at] = v[at]
            plan.region("wregion", v[at], t, rng.choice(MEMORY), r)
    plan.whole("check", want, t)
    a["want"] = want


def zarr_doc(where):
    return json.loads((where / "zarr.json" if (where / "zarr.json").exists() else where / ".zarray").read_text())


def same_bits(got, want):
    got = np.asarray(got)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    assert got.dtype.newbyteorder("=") == want.dtype, f"type {got.dtype}, expected {want.dtype}"
    got = got.astype(want.dtype.newbyteorder("=")) if got.dtype.byteorder not in "=|<" else got
    x, y = np.ascontiguousarray(got).reshape(-1).view(np.uint8), np.ascontiguousarray(want).reshape(-1).view(np.uint8)
    bad = np.flatnonzero(x != y)
    assert not bad.size, f"{bad.size} bytes differ, the first at {bad[0]}"


def by_zarr(store, a):
    z = zarr.open_array(store / a["id"], mode="r")
    assert z.metadata.zarr_format == a["format"] and z.chunks == tuple(a["chunks"]), f"chunks {z.chunks}"
    assert dict(z.attrs)["list"] == [1, 2.5, None, "µ"], f"attributes {dict(z.attrs)}"
    if a["format"] == 3 and a["shape"]:
        names = [None if i % 3 == 0 else ["", "y", "x"][i % 3] + str(i) for i in range(len(a["shape"]))]
        assert list(z.metadata.dimension_names) == names, f"dimension names {z.metadata.dimension_names}"
    if a["fill_name"] not in ("null", "payload"):
        same_bits(np.asarray(z.fill_value, a["type"]), a["fill"])
    same_bits(z[...], a["want"])


def by_tensorstore(store, a):
    if a["format"] == 2 and a["codec"][2]:
        return False
    z = ts.open({"driver": "zarr3" if a["format"] == 3 else "zarr", "kvstore": {"driver": "file", "path": f"{store / a['id']}/"}}, read=True, open=True).result()
    same_bits(z.read().result(), a["want"])
    return True


def with_zarrs():
    """What zarr-python does with the codecs of zarrs, and with no others."""
    return zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True})


def zarrs_has(a):
    # zarrs 0.2.3 does not turn complex numbers around.
    return a["format"] == 3 and not (a["big"] and np.dtype(a["type"]).kind == "c")


def by_zarrs(store, a):
    if not zarrs_has(a):
        return False
    try:
        with with_zarrs():
            got = zarr.open_array(store / a["id"], mode="r")[...]
    except Exception as e:  # noqa: BLE001  # it stands nowhere to be imported from
        if type(e).__name__ != "UnsupportedMetadataError":
            raise
        return False
    same_bits(got, a["want"])
    return True


# ---- direction in: a peer writes ----

def codec_objects(codecs):
    """zarr-python's objects of a v3 list of codecs: (filters, serializer, compressors)."""
    make = {"gzip": zc.GzipCodec, "zstd": zc.ZstdCodec, "blosc": zc.BloscCodec, "crc32c": zc.Crc32cCodec, "transpose": zc.TransposeCodec, "bytes": zc.BytesCodec}
    names = [c["name"] for c in codecs]
    at = names.index("bytes")
    objects = [make[c["name"]](**c.get("configuration", {})) for c in codecs]
    return objects[:at], objects[at], objects[at + 1:]


def shard_codecs(a):
    """(outer chunk, the list of codecs) of a sharded array."""
    inner = a["chunks"]
    serial = [{"name": "bytes", "configuration": {"endian": "big" if a["big"] else "little"}}] if np.dtype(a["type"]).itemsize > 1 else [{"name": "bytes"}]
    index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    kind = a["codec"][0]
    if kind == "sharded-zstd":
        serial = serial + [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}]
    if kind == "sharded-transposed":
        serial = [{"name": "transpose", "configuration": {"order": list(range(len(inner)))[::-1]}}] + serial

    def shard(chunk, codecs):
        return [{"name": "sharding_indexed", "configuration": {"chunk_shape": list(chunk), "codecs": codecs, "index_codecs": index, "index_location": "start" if kind == "sharded-start" else "end"}}]

    codecs, outer = shard(inner, serial), tuple(2 * n for n in inner)
    if kind == "sharded-nested":
        codecs, outer = shard(outer, codecs), tuple(2 * n for n in outer)
    return outer, codecs


def fill_json(a):
    """The fill value as v3 metadata spells it."""
    def real(x, d):
        if np.isnan(x):
            return "NaN"
        return "Infinity" if x == np.inf else "-Infinity" if x == -np.inf else float(x)

    f, d = a["fill"], np.dtype(a["type"])
    if a["fill_name"] == "payload":
        return "0x" + f.tobytes()[::-1].hex()
    if d.kind == "c":
        return [real(f.real, d), real(f.imag, d)]
    return real(f, d) if d.kind == "f" else f.item()


def write_zarr(store, a):
    d = np.dtype(a["type"])
    kw = dict(store=store, name=a["id"], shape=a["shape"], chunks=a["chunks"], zarr_format=a["format"], attributes={"n": 1})
    kw["chunk_key_encoding"] = {"name": "v2" if a["format"] == 2 else "default", "separator": a["sep"]}
    if a["format"] == 2:
        filters = [numcodecs.get_codec(f) for f in filters_v2(a["codec"][2], a["type"], a["big"]) or []]
        comp = numcodecs.get_codec(dict(a["codec"][1])) if a["codec"][1] else None
        z = zarr.create_array(dtype=d.newbyteorder(">" if a["big"] else "="), order=a["order"], filters=filters or None, compressors=comp,
                              fill_value=None if a["fill_name"] == "null" else a["fill"][()], **kw)
    else:
        filters, serializer, compressors = codec_objects(a["codecs"])
        z = zarr.create_array(dtype=d, filters=filters or None, serializer=serializer, compressors=compressors or None, fill_value=a["fill"][()], **kw)
    z[...] = a["values"]


def write_tensorstore(store, a):
    outer, codecs = shard_codecs(a) if a["codec"][0] in SHARDED else (a["chunks"], a["codecs"])
    if a["format"] == 3:
        spec = {"driver": "zarr3", "metadata": {"shape": list(a["shape"]), "data_type": a["type"], "fill_value": fill_json(a), "codecs": codecs,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(outer)}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": a["sep"]}}}}
    else:
        d = np.dtype(a["type"]).newbyteorder(">" if a["big"] else "<").str
        spec = {"driver": "zarr", "metadata": {"shape": list(a["shape"]), "chunks": list(a["chunks"]), "dtype": d, "filters": None, "order": a["order"] if len(a["shape"]) > 1 else "C",
                "compressor": a["codec"][1], "fill_value": None if a["fill_name"] == "null" else fill_json(a), "dimension_separator": a["sep"], "zarr_format": 2}}
    spec["kvstore"] = {"driver": "file", "path": f"{store / a['id']}/"}
    z = ts.open(spec, create=True, open=False).result()
    z.write(a["values"]).result()


def write_zarrs(store, a):
    with with_zarrs():
        write_zarr(store, a)


def writer_of(a, n):
    """Which peer writes an array: each where only it can, else in turn."""
    if a["format"] == 2:
        only_zarr = a["codec"][2] or np.dtype(a["type"]).kind == "c" or a["shape"] == ()  # tensorstore: no filters, no complex fill values
        return write_zarr if only_zarr or n % 2 else write_tensorstore
    if a["codec"][0] in SHARDED:
        return write_tensorstore
    if n % 3 == 2 and zarrs_has(a) and not a["codec"][0].startswith("transpose"):
        return write_zarrs
    return write_tensorstore if n % 2 else write_zarr


def plan_in(plan, a, rng):
    t, v = a["type"], a["values"]
    plan("array", a["id"])
    plan("open", a["id"])
    plan("shapeis", commas(a["shape"]))
    plan("chunksare", commas(shard_codecs(a)[0] if a["codec"][0] in SHARDED else a["chunks"]))
    plan("typeis", t)
    if a["fill_name"] != "null" and not (a["fill_name"] == "payload" and a["writer"] in (write_zarr, write_zarrs)):
        plan("fillis", a["fill"].tobytes().hex())
    plan.whole("check", v, t)
    for i, r in enumerate(regions(rng, a["shape"], 4)):
        plan.region("cregion", pick(v, r), t, MEMORY[i], r)
    d = np.dtype(t)
    if d.kind in "iu" and d.itemsize <= 4:
        plan.whole("check", v.astype(np.float64), "float64")


def numbered(arrays):
    """Equal names get a number."""
    seen = {}
    for a in arrays:
        seen[a["id"]] = n = seen.get(a["id"], 0) + 1
        a["id"] += f"-{n}" if n > 1 else ""
    return arrays


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tool", required=True, help="the program ozprod")
    ap.add_argument("--build", default="build/peers", help="folder for the stores")
    ap.add_argument("--only", default="", help="arrays whose name contains this")
    a0 = ap.parse_args()
    build = Path(a0.build).resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    passed, failures = 0, Failures()

    # out
    rng, plan = random.Random(1), Plan()
    arrays = numbered([a for a in product() if a["codec"][0] not in SHARDED])
    arrays = [a for a in arrays if a0.only in a["id"]]
    for a in arrays:
        a["values"] = values(rng, a["type"], a["shape"], a["fill"], a["kind"])
        plan_out(plan, a, rng)
    store = build / "out.zarr"
    bad = plan.run(a0.tool, store, "r+", build, "out")
    failures |= {f"out {k}": v for k, v in bad.items()}
    by_ts = by_zs = 0
    for a in arrays:
        if a["id"] in bad or "(run)" in bad:
            continue
        n = len(failures)
        failures.attempt(f"out, read by zarr-python: {a['id']}", by_zarr, store, a)
        by_ts += bool(failures.attempt(f"out, read by tensorstore: {a['id']}", by_tensorstore, store, a))
        by_zs += bool(failures.attempt(f"out, read by zarrs: {a['id']}", by_zarrs, store, a))
        passed += len(failures) == n
    print(f"written by the library: {len(arrays)} arrays, read by zarr-python, {by_ts} of them by tensorstore, {by_zs} by zarrs too")

    # in
    rng, plan, store = random.Random(2), Plan(), build / "in.zarr"
    store.mkdir()
    arrays = numbered([a for a in product() if not by_setter(a)])
    arrays = [a for a in arrays if a0.only in a["id"]]
    count = {write_zarr: 0, write_tensorstore: 0, write_zarrs: 0}
    for n, a in enumerate(arrays):
        a["values"] = values(rng, a["type"], a["shape"], a["fill"], a["kind"])
        a["writer"] = writer_of(a, n)
        k = len(failures)
        failures.attempt(f"in, {a['writer'].__name__}: {a['id']}", a["writer"], store, a)
        if len(failures) == k:
            count[a["writer"]] += 1
            plan_in(plan, a, rng)
    bad = plan.run(a0.tool, store, "r", build, "in")
    failures |= {f"in {k}": v for k, v in bad.items()}
    passed += 0 if "(run)" in bad else sum(count.values()) - len(bad)
    print(f"read by the library: {count[write_zarr]} arrays of zarr-python, {count[write_tensorstore]} of tensorstore, {count[write_zarrs]} of zarrs")
    return failures.finish(passed)


if __name__ == "__main__":
    sys.exit(main())
