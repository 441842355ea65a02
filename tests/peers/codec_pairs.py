#!/usr/bin/env python3
"""Every codec of numcodecs, both ways between the library and zarr-python, bit for bit.

  codec_pairs.py --tool BUILD/ozprod --build DIR [--only TEXT] [--every N]     of each configuration every N-th array

For each codec x configuration x type: zarr-python writes an array and reads it back (lossy filters change it); the library must read the
same from those files, write the same array from the same values, and read it back; zarr-python must read the same from the library's
files. Of filters and checksums the files themselves must be equal, byte for byte; of compressors their number is printed. The last line
is `N passed, N failed`.
"""
import argparse, itertools, json, random, shutil, sys, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import numcodecs
import numpy as np
import zarr
from zarr.codecs import BytesCodec
from zarr.registry import get_codec_class

from product import TYPES, Failures, Plan, chunk_variants, commas, same_bits

INTS = [t for t in TYPES if "int" in t]
FLOATS = ["float16", "float32", "float64"]
SOME = ["int16", "uint8", "float64", "complex64", "bool", "float32", "int64"]
SHAPES = [(33, 21), (100,), (), (7, 5, 6), (2000,), (1, 1)]
LZMA1, LZMA2, DELTA, X86 = 0x4000000000000001, 0x21, 0x03, 0x04

# (codec, types): compressors of any bytes, in v2 and as numcodecs.* in v3.
COMPRESSORS = [
    *[({"id": "bz2", "level": n}, SOME[:4]) for n in (1, 9)],
    *[({"id": "zlib", "level": n}, SOME[:3]) for n in (-1, 0, 1, 9)],
    *[({"id": "gzip", "level": n}, SOME[:3]) for n in (0, 1, 9)],
    *[({"id": "zstd", "level": n}, SOME[:3]) for n in (-7, 0, 1, 22, 100)],
    ({"id": "zstd", "level": 3, "checksum": True}, SOME),
    *[({"id": "lz4", "acceleration": n}, SOME) for n in (-1, 1, 20)],
    ({"id": "lzma"}, SOME),
    *[({"id": "lzma", "format": 1, "check": c, "preset": p}, SOME[:3]) for c, p in ((-1, 0), (0, 6), (1, 1), (4, 9), (10, 2))],
    ({"id": "lzma", "format": 2, "preset": 3}, SOME),
    ({"id": "lzma", "format": 3, "filters": [{"id": LZMA1, "dict_size": 1 << 16, "lc": 0, "lp": 2, "pb": 1}]}, SOME[:2]),
    ({"id": "lzma", "format": 3, "filters": [{"id": LZMA2, "preset": 1}]}, SOME),
    ({"id": "lzma", "format": 3, "filters": [{"id": DELTA, "dist": 4}, {"id": LZMA2, "preset": 7, "mf": 0x14, "nice_len": 32}]}, SOME[:4]),
    ({"id": "lzma", "format": 3, "filters": [{"id": X86}, {"id": LZMA1, "preset": 2, "mode": 1, "mf": 3}]}, SOME[:2]),
    *[({"id": "blosc", "cname": c, "clevel": 5, "shuffle": s, "blocksize": b}, [SOME[s % 4], SOME[2 - s]])
      for c, s, b in itertools.product(("blosclz", "lz4", "lz4hc", "zlib", "zstd"), (-1, 0, 1, 2), (0, 512))],
]
# Filters that make the same bytes everywhere; "{d}" is the array's type string, "{n}" its item size.
EXACT = [
    *[({"id": i, **c}, SOME[n:n + 3]) for n, i in enumerate(("crc32", "adler32", "crc32c")) for c in ({}, {"location": "start"}, {"location": "end"})],
    ({"id": "fletcher32"}, SOME),
    *[({"id": "jenkins_lookup3", "initval": n}, SOME[:4]) for n in (0, 4000000000)],
    ({"id": "base64"}, TYPES),
    ({"id": "shuffle", "elementsize": "{n}"}, TYPES),
    ({"id": "delta", "dtype": "{d}"}, INTS),
    ({"id": "packbits"}, ["bool"]),
    *[({"id": "bitround", "keepbits": k}, [t for t in FLOATS if k <= {"float16": 10, "float32": 23, "float64": 52}[t]]) for k in (0, 1, 7, 10, 23, 51, 52)],
    *[({"id": "quantize", "digits": k, "dtype": "{d}"}, FLOATS) for k in (-1, 0, 1, 3)],
    ({"id": "quantize", "digits": 2, "dtype": "{d}", "astype": "<f4"}, ["float64"]),
    *[({"id": "fixedscaleoffset", "offset": o, "scale": s, "dtype": "{d}", **a}, FLOATS[n % 3:n % 3 + 2])
      for n, ((o, s), a) in enumerate(itertools.product(((0, 1), (3, 10), (-2.5, 0.1), (0.1, 7)), ({}, {"astype": "<i2"}, {"astype": ">i4"}, {"astype": "<f4"}, {"astype": "<i8"})))],
    *[({"id": "fixedscaleoffset", "offset": o, "scale": s, "dtype": "{d}", **a}, INTS[n % 3::3])
      for n, ((o, s), a) in enumerate(itertools.product(((0, 1), (3, 2), (2, 0.5), (0.5, 2), (1.5, 0.3)), ({}, {"astype": "<i4"}, {"astype": "<f4"}, {"astype": "<f8"})))],
    ({"id": "astype", "encode_dtype": "<f4", "decode_dtype": "{d}"}, ["float64", "int16", "int64"]),
]
# Chains of several filters, with a compressor behind.
CHAINS = [
    ([{"id": "fixedscaleoffset", "offset": 0, "scale": 10, "dtype": "{d}", "astype": "<i4"}, {"id": "delta", "dtype": "<i4"}, {"id": "shuffle", "elementsize": 4}], {"id": "zlib", "level": 3}, ["float64"]),
    ([{"id": "shuffle", "elementsize": "{n}"}, {"id": "zlib", "level": 2}, {"id": "fletcher32"}], None, SOME),
    ([{"id": "bitround", "keepbits": 5}, {"id": "crc32"}], {"id": "blosc", "cname": "zstd", "clevel": 1, "shuffle": 1, "blocksize": 0}, FLOATS),
    ([{"id": "packbits"}, {"id": "adler32"}], {"id": "bz2", "level": 1}, ["bool"]),
    ([{"id": "quantize", "digits": 2, "dtype": "{d}"}], {"id": "lz4", "acceleration": 1}, FLOATS),
    ([{"id": "base64"}, {"id": "jenkins_lookup3"}], {"id": "lzma", "preset": 1}, SOME),
]
CALCULATES = ("fixedscaleoffset", "quantize", "astype")
ARRAY_TO_ARRAY = ("delta", "bitround", "fixedscaleoffset", "quantize", "packbits", "astype")


def filled_in(codec, d):
    text = json.dumps(codec).replace('"{n}"', str(d.itemsize)).replace("{d}", d.str)
    return json.loads(text)


def cases():
    shapes, chunks, orders = itertools.cycle(SHAPES), itertools.cycle(range(5)), itertools.cycle("CCF")
    lists = [([], c, t, False) for c, t in COMPRESSORS] + [([c], None, t, True) for c, t in EXACT] + [(f, c, t, False) for f, c, t in CHAINS]
    for number, (filters, compressor, types, exact) in enumerate(lists):
        of_list = itertools.count(number)
        for t in types:
            ids = [f["id"] for f in filters]
            for fmt, big in ((2, False), (2, True), (3, False)):
                # numcodecs itself cannot round big-endian numbers, has no base64 in v3, and zarr-python misreads there what another
                # type than the array's is stored in, if its order is not that of `bytes`, or the filter is quantize.
                if big and (np.dtype(t).itemsize == 1 or "bitround" in ids or not filters and "blosc" not in compressor["id"]):
                    continue
                if fmt == 3 and ("base64" in ids or any(f.get("astype", "").startswith(">") or f["id"] == "quantize" and "astype" in f for f in filters)):
                    continue
                if fmt == 3 and np.dtype(t).itemsize == 1 and any("astype" in f for f in filters):
                    continue  # zarr-python gives `bytes` no byte order there
                d = np.dtype(t).newbyteorder(">" if big else "<")
                shape = next(shapes)
                if big and shape == () and "quantize" in ids:
                    shape = next(shapes)  # NumPy drops the byte order of what it calculates with rank 0
                a = {"type": t, "dtype": d, "format": fmt, "shape": shape, "chunks": list(chunk_variants(shape))[next(chunks)], "exact": exact,
                     "order": next(orders) if fmt == 2 else "C", "filters": filled_in(filters, d), "compressor": filled_in(compressor, d)}
                listed = a["filters"] + ([a["compressor"]] if compressor else [])
                a["id"] = f"{len(shape)}d-{t}-v{fmt}{'-big' if big else ''}-" + "+".join(c["id"] for c in listed)
                a["what"] = json.dumps(listed)
                a["number"] = next(of_list)
                yield a


def v3_codecs(a):
    listed = a["filters"] + ([a["compressor"]] if a["compressor"] else [])
    named = [{"name": "numcodecs." + c["id"], "configuration": {k: v for k, v in c.items() if k != "id"}} for c in listed]
    before = [c for c in named if c["name"][10:] in ARRAY_TO_ARRAY]
    serial = {"name": "bytes", "configuration": {"endian": "little"}}
    return before + [serial] + named[len(before):], before, named[len(before):]


def kept_fill(a):
    """A fill value that comes back from the filters: of 0, what they make of it; of 8 for integers that are scaled, which are in no range below 0."""
    codecs = [numcodecs.get_codec(dict(f)) for f in a["filters"] if f["id"] in CALCULATES]
    fill = np.array([8 if codecs and a["dtype"].kind in "iu" else 0], a["dtype"])
    for _ in range(4):
        encoded = [fill]
        for c in codecs:
            encoded.append(c.encode(encoded[-1]))
        back = encoded[-1]
        for c in reversed(codecs):
            back = c.decode(back)
        back = np.frombuffer(np.ascontiguousarray(back).tobytes(), a["dtype"])
        if back.tobytes() == fill.tobytes():
            return fill[0].astype(a["type"])
        fill = back
    raise AssertionError(f"{a['what']} keeps no fill value")


def values(rng, a):
    """Small numbers with fractions for filters that calculate; any bits else."""
    d, n = np.dtype(a["type"]), int(np.prod(a["shape"], dtype=np.int64))
    ids = {f["id"] for f in a["filters"]}
    if ids & set(CALCULATES):
        if d.kind == "f":
            # numcodecs makes infinities of 64 of float16 with three digits.
            return (np.array([rng.uniform(-60, 60) for _ in range(n)]) * rng.choice([1, 0.01])).astype(d).reshape(a["shape"])
        return np.array([rng.randint(5, 60) for _ in range(n)]).astype(d).reshape(a["shape"])
    if d.kind == "b":
        return np.array([rng.random() < 0.3 for _ in range(n)], bool).reshape(a["shape"])
    if rng.random() < 0.5:
        return (np.arange(n) % 57).astype(d).reshape(a["shape"])
    bits = np.frombuffer(rng.randbytes(n * d.itemsize), d).reshape(a["shape"]).copy()
    if "bitround" in ids:
        # numcodecs makes numbers of NaN, and infinities of the largest numbers.
        bits[np.isnan(bits) | (np.isfinite(bits) & (np.abs(bits) > np.finfo(d).max / 2))] = 1.5
    return bits


def write_zarr(store, a):
    kw = dict(store=store, name=a["id"], shape=a["shape"], chunks=a["chunks"], zarr_format=a["format"])
    if a["format"] == 2:
        filters = [numcodecs.get_codec(dict(f)) for f in a["filters"]]
        compressor = numcodecs.get_codec(dict(a["compressor"])) if a["compressor"] else None
        z = zarr.create_array(dtype=a["dtype"], order=a["order"], filters=filters or None, compressors=compressor, fill_value=a["fill"],
                              chunk_key_encoding={"name": "v2", "separator": "."}, **kw)
    else:
        _, before, after = v3_codecs(a)
        make = lambda c: get_codec_class(c["name"]).from_dict(c)  # noqa: E731
        z = zarr.create_array(dtype=np.dtype(a["type"]), filters=[make(c) for c in before] or None, compressors=[make(c) for c in after] or None,
                              serializer=BytesCodec(endian="little"), fill_value=a["fill"], **kw)
    z[...] = a["values"]
    return z[...]


def plan_array(plan, a):
    t, v = a["type"], a["values"]
    plan("array", a["id"])
    plan("spec", t, commas(a["shape"]))
    plan("format", a["format"])
    plan("chunks", commas(a["chunks"]))
    plan("fill", t, a["fill"].tobytes().hex())
    if a["format"] == 2:
        plan("order", a["order"])
        plan("big", int(a["dtype"].byteorder == ">"))
        plan("compressorjson", json.dumps(a["compressor"]))
        plan("filters", json.dumps(a["filters"] or None))
    else:
        plan("codecs", json.dumps(v3_codecs(a)[0]))
    plan("create", a["id"])
    plan.whole("write", v, t)
    plan.whole("check", a["want"], t)


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name not in ("zarr.json", ".zarray", ".zattrs")}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tool", required=True, help="the program ozprod")
    ap.add_argument("--build", default="build/codecs", help="folder for the stores")
    ap.add_argument("--only", default="", help="arrays whose name contains this")
    ap.add_argument("--every", type=int, default=1, help="how far apart the arrays of a configuration are")
    args = ap.parse_args()
    build = Path(args.build).resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    rng, failures = random.Random(4), Failures()
    all_arrays = list(cases())
    arrays = [a for a in all_arrays if args.only in a["id"] and a["number"] % args.every == 0]
    for n, a in enumerate(arrays):
        a["id"], a["fill"] = f"{n:04}-{a['id']}", kept_fill(a)
        a["values"] = values(rng, a)

    store_in, store_out, reading, writing = build / "in.zarr", build / "out.zarr", Plan(), Plan()
    store_in.mkdir()
    for a in arrays:
        got = failures.attempt(f"zarr-python writes: {a['id']} {a['what']}", write_zarr, store_in, a)
        if got is None:
            continue
        a["want"] = np.asarray(got).astype(np.dtype(a["type"]))
        reading("array", a["id"])
        reading("open", a["id"])
        reading.whole("check", a["want"], a["type"])
        plan_array(writing, a)
    bad_in = reading.run(args.tool, store_in, "r", build, "in")
    bad_out = writing.run(args.tool, store_out, "r+", build, "out")
    what = {a["id"]: a["what"] for a in arrays}
    failures |= {f"in {k} {what.get(k)}": v for k, v in bad_in.items()} | {f"out {k} {what.get(k)}": v for k, v in bad_out.items()}
    passed = equal = 0
    for a in arrays:
        if "want" not in a or a["id"] in bad_in | bad_out:
            continue
        k = len(failures)
        failures.attempt(f"zarr-python reads: {a['id']} {a['what']}", lambda a=a: same_bits(zarr.open_array(store_out / a["id"], mode="r")[...], a["want"]))
        same = files(store_in / a["id"]) == files(store_out / a["id"])
        equal += same
        if a["exact"] and not same:
            failures[f"files {a['id']} {a['what']}"] = "differ"
        passed += len(failures) == k
    print(f"{len(arrays)} of {len(all_arrays)} arrays, of {equal} the files are equal byte for byte")
    return failures.finish(passed)


if __name__ == "__main__":
    sys.exit(main())
