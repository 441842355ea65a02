#!/usr/bin/env python3
"""Migrated hierarchies equal their sources in the peers.

  migrate_check.py --program BUILD/ozarr [--corpus DIR] [--build DIR]

zarr-python writes one v2 hierarchy: types, orders, byte orders, separators, compressors, filters, fill values, missing chunks, attributes,
consolidated metadata. The program migrates it into a new place and in place; zarr-python and tensorstore (as far as its codecs go) read
the same elements, attributes and names from the v3 one. Then each draft store of the corpus that can be read: tensorstore reads what the
program reads of the source (zarr-python is the corpus's own check). The last line is `N passed, N failed`.
"""
import argparse, json, shutil, subprocess, sys, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import numcodecs
import numpy as np
import tensorstore as ts
import zarr

# What stands in a v3 document that tensorstore does not read.
NOT_IN_TENSORSTORE = ("numcodecs.", "numpy.", "fixed_length", "null_terminated", "struct")
COMPRESSORS = [None, numcodecs.Zlib(3), numcodecs.GZip(4), numcodecs.Zstd(2), numcodecs.LZ4(), numcodecs.BZ2(2), numcodecs.LZMA(preset=1),
               numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE), numcodecs.Blosc("zstd", 3, numcodecs.Blosc.AUTOSHUFFLE), numcodecs.Blosc("zlib", 1, numcodecs.Blosc.NOSHUFFLE)]
TYPES = "|b1 |i1 |u1 <i2 >i2 <u4 >i4 <i8 >u8 <f2 >f4 <f8 >f8 <c8 >c16 <M8[s] >m8[ms] <U3".split()


def run(program, *args):
    p = subprocess.run([program, *map(str, args)], capture_output=True)
    if p.returncode:
        raise RuntimeError(f"ozarr {args[0]}: {p.stderr.decode().strip()[:300]}")
    return p.stdout


def values(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    d = np.dtype(dtype)
    if d.kind == "U":
        return np.array([["", "ab", "né☃"][i] for i in rng.integers(0, 3, shape).ravel()], d).reshape(shape)
    return rng.integers(0, 2 if d.kind == "b" else 100, shape).astype("i8").astype(d)


def write_v2(where):
    """The arrays that were written, by path."""
    root = zarr.open_group(where, mode="w", zarr_format=2)
    root.attrs.update({"title": "τίτλος", "n": [1, None, 2.5]})
    made = {}

    def array(path, data, chunks, keep=None, attributes=None, **more):
        a = root.create_array(path, shape=data.shape, chunks=chunks, dtype=data.dtype, **more)
        if keep is None:
            a[...] = data
        else:
            a[keep] = data[keep]
            data = np.where(np.isin(np.arange(data.shape[0]), np.arange(data.shape[0])[keep]).reshape(-1, *[1] * (data.ndim - 1)), data, np.asarray(a.fill_value if a.fill_value is not None else 0, data.dtype))
        a.attrs.update(attributes or {})
        made[path] = data

    for i, dtype in enumerate(TYPES):
        for j in range(3):
            compressor = COMPRESSORS[(i * 3 + j) % len(COMPRESSORS)]
            key = {"name": "v2", "separator": "./"[(i + j) % 2]}
            array(f"types/t{i}_{j}", values(dtype, (7, 5, 3), i * 10 + j), (3, 5, 2), order="CF"[(i + j) % 2], compressors=compressor, chunk_key_encoding=key)
    for i, compressor in enumerate(COMPRESSORS):
        array(f"compressors/c{i}", values("<i4", (40,), i), (16,), compressors=compressor)
    filters = [[numcodecs.Delta("<i4")], [numcodecs.Shuffle(4)], [numcodecs.AsType("<f8", "<i4")], [numcodecs.Delta("<i4", "<i8"), numcodecs.Shuffle(8)], [numcodecs.FixedScaleOffset(1, 2, "<i4", "<i8")],
               [numcodecs.Base64()], [numcodecs.Shuffle(4), numcodecs.Delta("<i4")], [numcodecs.CRC32()], [numcodecs.Adler32()], [numcodecs.Fletcher32()]]
    for i, f in enumerate(filters):
        array(f"filters/f{i}", values("<i4", (20,), 70 + i), (8,), filters=f, compressors=numcodecs.Zlib(1) if i % 2 else None)
    array("big_delta", values(">i4", (20,), 90), (8,), filters=[numcodecs.Delta(">i4")], compressors=None)
    array("scalar", np.array(7, "<f8"), ())
    array("missing", values("<f4", (9, 4), 91), (3, 4), keep=slice(3, 6), fill_value=np.nan)
    array("no_fill", values("<i2", (9,), 92), (3,), keep=slice(0, 3), fill_value=None)
    array("named", values("<i2", (3, 4), 93), (3, 2), attributes={"_ARRAY_DIMENSIONS": ["y", "x"], "units": "K"})
    root.create_group("empty/deep").attrs["d"] = [[]]
    zarr.consolidate_metadata(where, zarr_format=2)
    return made


def in_tensorstore(where, path):
    """The elements as tensorstore reads them, or None if it cannot read such an array."""
    document = json.loads(Path(where, path, "zarr.json").read_text())
    if any(word in json.dumps([document["data_type"], document["codecs"]]) for word in NOT_IN_TENSORSTORE):
        return None
    return ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(Path(where, path)) + "/"}}).result().read().result()


def in_zarrs(where, path):
    """The elements as zarrs reads them, or None if its codecs have no such array. (zarrs 0.2.3 does not turn complex numbers around.)"""
    document = json.loads(Path(where, path, "zarr.json").read_text())
    if "complex" in str(document["data_type"]) and '"big"' in json.dumps(document["codecs"]):
        return None
    try:
        with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True}):
            return np.asarray(zarr.open_array(Path(where, path), mode="r")[...])
    except Exception as e:  # noqa: BLE001  # it stands nowhere to be imported from
        if type(e).__name__ not in ("UnsupportedMetadataError", "UnsupportedDataTypeError"):
            raise
        return None


def same(a, b):
    return a.shape == b.shape and np.array_equal(a, b.astype(a.dtype), equal_nan=a.dtype.kind in "fc")


def check_v2(where, made, result):
    root = zarr.open_group(where, mode="r", zarr_format=3)
    result("attributes of the root", dict(root.attrs) != {"title": "τίτλος", "n": [1, None, 2.5]} and dict(root.attrs))
    result("consolidated metadata", root.metadata.consolidated_metadata is None or len(root.metadata.consolidated_metadata.metadata) < 7)
    result("attributes of a group", dict(root["empty/deep"].attrs) != {"d": [[]]} and dict(root["empty/deep"].attrs))
    named = root["named"]
    result("names of dimensions", (named.metadata.dimension_names, dict(named.attrs)) != (("y", "x"), {"units": "K"}) and (named.metadata.dimension_names, dict(named.attrs)))
    old = [p.name for p in Path(where).rglob("*") if p.name in (".zarray", ".zgroup", ".zattrs", ".zmetadata", "ozarr-migration.json")]
    result("nothing of the old form", old)
    read = by_zarrs = 0
    for path, data in made.items():
        try:
            result(f"{path} in zarr-python", not same(data, np.asarray(root[path][...])) and "other elements")
            peer = in_tensorstore(where, path)
            read += peer is not None
            result(f"{path} in tensorstore", peer is not None and not same(data, peer) and "other elements")
            peer = in_zarrs(where, path)
            by_zarrs += peer is not None
            result(f"{path} in zarrs", peer is not None and not same(data, peer) and "other elements")
        except Exception as e:
            result(path, f"{type(e).__name__}: {e}"[:200])
    result("tensorstore reads a good part", read < 30 and f"{read} of {len(made)}")
    print(f"in zarrs: {by_zarrs} of {len(made)}")
    result("zarrs reads some", by_zarrs < 10 and f"{by_zarrs} of {len(made)}")


def check_drafts(program, corpus, build, result):
    cases = [c for c in json.loads((corpus / "cases.json").read_text()) if "d0" in c["features"] and c["expect"] == "raw" and c.get("migrate", True) and not c["store"].endswith(".zip")]
    for store in sorted({c["store"] for c in cases}):
        dest = build / "drafts" / Path(store).name
        try:
            run(program, "migrate", corpus / store, dest)
        except RuntimeError as e:
            result(store, str(e))
            continue
        for c in (c for c in cases if c["store"] == store):
            peer = in_tensorstore(dest, c["path"].strip("/"))
            if peer is not None:
                own = run(program, "read", corpus / store, c["path"], "--raw")
                result(f"{c['id']} in tensorstore", np.ascontiguousarray(peer).tobytes() != own and "other elements")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--program", required=True)
    ap.add_argument("--corpus", type=Path, default="build/corpus/corpus")
    ap.add_argument("--build", type=Path, default="build/migrate")
    a = ap.parse_args()
    shutil.rmtree(a.build, ignore_errors=True)
    a.build.mkdir(parents=True)
    counts = [0, 0]

    def result(name, wrong):
        counts[bool(wrong)] += 1
        if wrong:
            print(f"FAIL {name}: {wrong}", flush=True)

    made = write_v2(str(a.build / "v2.zarr"))
    before = {p: (p.stat().st_ino, p.read_bytes()) for p in sorted((a.build / "v2.zarr").rglob("*")) if p.is_file()}
    run(a.program, "migrate", a.build / "v2.zarr", a.build / "v3.zarr")
    check_v2(str(a.build / "v3.zarr"), made, result)
    result("the source", before != {p: (p.stat().st_ino, p.read_bytes()) for p in sorted((a.build / "v2.zarr").rglob("*")) if p.is_file()} and "has changed")
    shutil.copytree(a.build / "v2.zarr", a.build / "in_place.zarr")
    run(a.program, "migrate", a.build / "in_place.zarr", "--in-place")
    check_v2(str(a.build / "in_place.zarr"), made, result)
    if (a.corpus / "cases.json").exists():
        check_drafts(a.program, a.corpus, a.build, result)
    print(f"{counts[0]} passed, {counts[1]} failed")
    return 1 if counts[1] or not counts[0] else 0


if __name__ == "__main__":
    sys.exit(main())
