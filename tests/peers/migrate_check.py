#!/usr/bin/env python3
"""Migrated hierarchies equal their sources in the peers.

  migrate_check.py --program BUILD/ozarr --node FOLDER [--corpus DIR] [--build DIR]

zarr-python writes one v2 hierarchy: types, orders, byte orders, separators, compressors, filters, fill values, missing chunks, attributes,
consolidated metadata. The program migrates it into a new place and in place, and each draft store of the corpus that can be read into a
new place. zarr-python, tensorstore, zarrs and zarrita.js each read every array of the v3 hierarchies whose data type and codecs they have
(LACKS says which they have not): the elements are those that were written, the attributes and the dimension names too where the peer tells
them. FOLDER holds read.mjs and node_modules (`tools/zarrita install` makes it). The last line is `N passed, N failed`.
"""
import argparse, hashlib, itertools, json, shutil, subprocess, sys, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import numcodecs
import numpy as np
import tensorstore as ts
import zarr

from zarrita_check import by_zarrita

# Names of data types and codecs in a v3 document that a peer does not have: tensorstore 0.1, zarrs 0.2.3 (the codecs of zarr-python), zarrita.js 0.7.
NUMPY = {"fixed_length_utf32", "numpy.datetime64", "numpy.timedelta64"}
FILTERS = {f"numcodecs.{c}" for c in "astype crc32 adler32 fletcher32 lzma".split()}
LACKS = {
    "zarr-python": set(),
    "tensorstore": NUMPY | FILTERS | {f"numcodecs.{c}" for c in "zlib lz4 bz2 delta shuffle fixedscaleoffset".split()},
    "zarrs": NUMPY | FILTERS | {"numcodecs.lz4", "numcodecs.delta"},
    "zarrita.js": NUMPY | FILTERS | {"numcodecs.bz2", "numcodecs.fixedscaleoffset", "float16", "complex64", "complex128"},
}
# How many arrays each must at least have read: of the v2 hierarchy's 79, of the drafts' 101.
AT_LEAST = {"zarr-python": (79, 101), "tensorstore": (38, 75), "zarrs": (50, 87), "zarrita.js": (46, 81)}
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
    """What was written, by path: the arrays as they must be read from v3."""
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
        attributes = attributes or {}
        a.attrs.update(attributes)
        stay = {k: v for k, v in attributes.items() if k != "_ARRAY_DIMENSIONS"}
        # To xarray the fill value of a variable means "missing" in version 2, and the attribute does in version 3.
        missing = {"_FillValue": int(a.fill_value)} if "_ARRAY_DIMENSIONS" in attributes else {}
        made[path] = digest(data) | {"attributes": stay | missing, "dimension_names": attributes.get("_ARRAY_DIMENSIONS")}

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


def names(document):
    """The names of the data type and of all codecs."""

    def of(codecs):
        for c in codecs:
            yield c["name"]
            for key in ("codecs", "index_codecs"):
                yield from of(c.get("configuration", {}).get(key, []))

    data_type = document["data_type"]
    return {data_type if isinstance(data_type, str) else data_type["name"], *of(document["codecs"])}


def has(peer, document):
    """Whether a peer can read such an array."""
    # zarrs does not turn complex numbers around.
    if peer == "zarrs" and "complex" in str(document["data_type"]) and '"big"' in json.dumps(document["codecs"]):
        return False
    # zarrita.js selects nothing of an array without elements, and has integers of JSON as doubles.
    if peer == "zarrita.js" and (0 in document["shape"] or isinstance(document["fill_value"], int) and abs(document["fill_value"]) > 2**53):
        return False
    return not names(document) & LACKS[peer]


def digest(x):
    """What zarrita_check compares: the shape, and the SHA-256 of the elements in C order, little-endian."""
    x = np.asarray(x)
    return {"shape": list(x.shape), "sha256": hashlib.sha256(np.ascontiguousarray(x, x.dtype.newbyteorder("<")).tobytes()).hexdigest()}


def in_zarr_python(where, path):
    node = zarr.open(where, mode="r", zarr_format=3)  # through the consolidated metadata
    a = node[path] if path else node
    return digest(a[...]) | {"attributes": dict(a.attrs), "dimension_names": a.metadata.dimension_names and list(a.metadata.dimension_names)}


def in_tensorstore(where, path):
    a = ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(Path(where, path)) + "/"}}).result()
    return digest(a.read().result()) | {"attributes": a.spec().to_json()["metadata"].get("attributes", {})}


def in_zarrs(where, path):
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True}):
        return digest(zarr.open_array(Path(where, path), mode="r")[...])


def in_peers(where, expected, node, result):
    """Compares each array of a hierarchy (what is expected of it by its path) with what the peers read; how many each has read."""
    documents = {path: json.loads(Path(where, path, "zarr.json").read_text()) for path in expected}
    by_node = by_zarrita(node, where, [p for p, d in documents.items() if has("zarrita.js", d)])
    readers = {"zarr-python": in_zarr_python, "tensorstore": in_tensorstore, "zarrs": in_zarrs, "zarrita.js": lambda _, path: by_node[path]}
    count = dict.fromkeys(readers, 0)
    for (path, want), (peer, read) in itertools.product(expected.items(), readers.items()):
        if not has(peer, documents[path]):
            continue
        try:
            found = read(where, path)
            wrong = found.get("error") or {k: (found[k], v) for k, v in want.items() if k in found and found[k] != v}
        except Exception as e:
            wrong = f"{type(e).__name__}: {e}"
        result(f"{where}: {path} in {peer}", wrong and str(wrong)[:300])
        count[peer] += not wrong
    return count


def check_v2(where, made, node, result):
    root = zarr.open_group(where, mode="r", zarr_format=3)
    result("attributes of the root", dict(root.attrs) != {"title": "τίτλος", "n": [1, None, 2.5]} and dict(root.attrs))
    result("consolidated metadata", root.metadata.consolidated_metadata is None or len(root.metadata.consolidated_metadata.metadata) < 7)
    result("attributes of a group", dict(root["empty/deep"].attrs) != {"d": [[]]} and dict(root["empty/deep"].attrs))
    old = [p.name for p in Path(where).rglob("*") if p.name in (".zarray", ".zgroup", ".zattrs", ".zmetadata", "ozarr-migration.json")]
    result("nothing of the old form", old)
    enough(where, 0, in_peers(where, made, node, result), result)


def enough(where, which, count, result):
    print(f"{where}: {count}")
    for peer, n in count.items():
        result(f"{where}: how many arrays {peer} reads", n < AT_LEAST[peer][which] and f"{n} instead of {AT_LEAST[peer][which]}")


def check_drafts(program, corpus, build, node, result):
    cases = [c for c in json.loads((corpus / "cases.json").read_text()) if "draft" in c["features"] and c["expect"] == "raw" and c.get("migrate", True) and not c["store"].endswith(".zip")]
    count = dict.fromkeys(LACKS, 0)
    for store in sorted({c["store"] for c in cases}):
        dest = build / "drafts" / Path(store).name
        try:
            run(program, "migrate", corpus / store, dest)
        except RuntimeError as e:
            result(store, str(e))
            continue
        expected = {c["path"].strip("/"): {k: c[k] for k in ("shape", "sha256", "attributes") if k in c} for c in cases if c["store"] == store}
        for peer, n in in_peers(dest, expected, node, result).items():
            count[peer] += n
    enough("drafts", 1, count, result)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--program", required=True)
    ap.add_argument("--node", type=Path, required=True)
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
    check_v2(str(a.build / "v3.zarr"), made, a.node, result)
    result("the source", before != {p: (p.stat().st_ino, p.read_bytes()) for p in sorted((a.build / "v2.zarr").rglob("*")) if p.is_file()} and "has changed")
    shutil.copytree(a.build / "v2.zarr", a.build / "in_place.zarr")
    run(a.program, "migrate", a.build / "in_place.zarr", "--in-place")
    check_v2(str(a.build / "in_place.zarr"), made, a.node, result)
    check_drafts(a.program, a.corpus, a.build, a.node, result)
    print(f"{counts[0]} passed, {counts[1]} failed")
    return 1 if counts[1] or not counts[0] else 0


if __name__ == "__main__":
    sys.exit(main())
