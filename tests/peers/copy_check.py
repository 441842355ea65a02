#!/usr/bin/env python3
"""Copies with other chunks, shards, codecs and formats hold the same in the peers.

  copy_check.py --program BUILD/ozarr [--build DIR]

zarr-python writes hierarchies of version 2 and 3: types, orders, compressors, shards, text, missing chunks, fill values, attributes, names.
The program copies them with every kind of change; zarr-python, and tensorstore as far as its codecs go, read the copies: the same
elements, attributes, names and fill values, in the chunks that were asked for. The last line is `N passed, N failed`.
"""
import argparse, json, shutil, subprocess, sys, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import numcodecs
import numpy as np
import tensorstore as ts
import xarray as xr
import zarr
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

SHAPE = (23, 17)
TYPES = "|b1 |i1 <i2 >i4 <u8 <f4 >f8 <c16 <M8[s] <U3 |S4 string".split()
# What is asked for, and what the copy then is: format, chunks, shards (None: as the source has it).
CHANGES = [
    ([], None, None, None),
    (["--format", "3"], 3, None, None),
    (["--format", "2", "--chunks", "5,17"], 2, (5, 17), None),
    (["--chunks", "23,1", "--format", "3", "--no-shards", "--memory", "1M"], 3, (23, 1), None),
    (["--chunks", "16,8", "--inner-chunks", "4,8", "--format", "3", "--compressor", "gzip:2"], 3, (4, 8), (16, 8)),
    (["--chunks", "24,32", "--inner-chunks", "3,2", "--format", "3", "--compressor", "none"], 3, (3, 2), (24, 32)),
    (["--order", "F", "--compressor", "blosc", "--chunks", "7,6", "--no-shards"], None, (7, 6), None),
]


def values(dtype, seed):
    rng = np.random.default_rng(seed)
    if dtype == "string":
        return np.array([["", "ab", "né☃ long"][i] for i in rng.integers(0, 3, SHAPE).ravel()], object).reshape(SHAPE)
    d = np.dtype(dtype)
    if d.kind in "US":
        return np.array([["", "ab", "xyz"][i] for i in rng.integers(0, 3, SHAPE).ravel()], d).reshape(SHAPE)
    return rng.integers(0, 2 if d.kind == "b" else 100, SHAPE).astype("i8").astype(d)


def sources(folder):
    """{location: the arrays of it by path}."""
    made = {}
    for fmt in (2, 3):
        where = folder / f"v{fmt}.zarr"
        root = zarr.open_group(where, mode="w", zarr_format=fmt)
        root.attrs["title"] = "τίτλος"
        arrays = made.setdefault(where, {})
        for i, dtype in enumerate(TYPES):
            for j in range(2):
                data = values(dtype, 10 * i + j)
                more = {"compressors": [numcodecs.Zlib(2), numcodecs.Blosc("zstd", 3)][j], "order": "CF"[j]} if fmt == 2 else \
                    {"compressors": [ZstdCodec(level=2), BloscCodec(cname="lz4", typesize=8)][j], "dimension_names": ["y", "x"], **({"shards": (12, 10)} if j else {})}
                if fmt == 2 and dtype == "string":
                    more["filters"] = [numcodecs.VLenUTF8()]
                path = f"{'ab'[j]}/t{i}"
                a = root.create_array(path, shape=SHAPE, chunks=(6, 5), dtype=str if dtype == "string" else dtype, **more)
                # Only a part is written.
                a[3:14, 2:] = data[3:14, 2:]
                a.attrs["units"] = "K"
                if fmt == 2:
                    a.attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
                arrays[path] = a[...]
    return made


def names(a):
    return list(a.attrs["_ARRAY_DIMENSIONS"]) if a.metadata.zarr_format == 2 else list(a.metadata.dimension_names)


def in_tensorstore(where, fmt):
    """The elements as tensorstore reads them, or None where it knows the type or a codec not."""
    try:
        spec = {"driver": "zarr3" if fmt == 3 else "zarr", "kvstore": {"driver": "file", "path": str(where)}}
        return ts.open(spec, read=True).result().read().result()
    except ValueError:
        return None


def equal(found, want):
    if want.dtype == object:
        return np.array_equal(np.asarray(found, object), want)
    # "Not a time" is not different from itself.
    return np.ascontiguousarray(found).astype(want.dtype).tobytes() == want.tobytes()


def check(copied, want, fmt, chunks, shards, old):
    a = zarr.open_array(copied, mode="r")
    assert equal(a[...], want), "zarr-python reads other elements"
    assert a.attrs["units"] == "K" and names(a) == ["y", "x"], (dict(a.attrs), names(a))
    assert a.metadata.zarr_format == (fmt or old.metadata.zarr_format)
    # In version 2 a fill value means "missing" to xarray, and zero meant no such thing.
    is_null = (old.metadata.zarr_format, fmt) == (3, 2) and a.fill_value is None and not old.fill_value
    assert is_null or str(a.fill_value) == str(old.fill_value) or not fmt or a.fill_value == old.fill_value, (a.fill_value, old.fill_value)
    if chunks:
        assert (a.chunks, a.shards) == (chunks, shards), (a.chunks, a.shards)
    # It makes a dimension of the characters of a text.
    found = None if want.dtype.kind == "S" else in_tensorstore(copied, a.metadata.zarr_format)
    if found is not None:
        assert equal(found, want), "tensorstore reads other elements"
    return found is not None


def datasets(program, folder):
    """Faults of datasets of xarray that are copied into the other version, or migrated: what is missing, and nothing else, stays missing."""
    made = xr.Dataset({"packed": ("x", [1.5, np.nan, 3.0]), "counts": ("x", [0, 1, 2]), "real": ("x", np.array([np.nan, 0, 1], "f4")), "scalar": ((), 2.0),
                       "words": ("x", np.array(["", "b", "c"], object)), "time": ("x", np.array(["2000-01-01", "NaT", "2000-01-03"], "M8[ns]"))}, coords={"x": [0, 1, 2]})
    for fmt, command in ((2, ["copy", "--format", "3"]), (2, ["migrate"]), (3, ["copy", "--format", "2"])):
        source, dest = folder / f"dataset{fmt}.zarr", folder / f"dataset{fmt}-{command[0]}.zarr"
        made.to_zarr(source, mode="w", zarr_format=fmt, encoding={"packed": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -999}})
        ran = subprocess.run([program, command[0], source, dest, *command[1:]], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        old, new = (xr.open_dataset(where, engine="zarr").load() for where in (source, dest))
        yield f"dataset of version {fmt}: {' '.join(command)}", [name for name in old.variables if not old[name].identical(new[name])]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--program", required=True)
    p.add_argument("--build", default="build/copy")
    args = p.parse_args()
    folder = Path(args.build)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    passed, failed, by_tensorstore = 0, 0, 0
    for source, arrays in sources(folder).items():
        for n, (options, fmt, chunks, shards) in enumerate(CHANGES):
            dest = folder / f"{source.stem}-{n}.zarr"
            for group in "ab":
                ran = subprocess.run([args.program, "copy", source / group, dest / group, *options], capture_output=True, text=True)
                for path, want in arrays.items():
                    if not path.startswith(group):
                        continue
                    try:
                        assert ran.returncode == 0, ran.stderr.strip()
                        by_tensorstore += check(dest / path, want, fmt, chunks, shards, zarr.open_array(source / path, mode="r"))
                        passed += 1
                    except Exception as e:
                        failed += 1
                        print(f"{source.name}/{path} {' '.join(options)}: {type(e).__name__}: {e}")
    for what, differing in datasets(args.program, folder):
        passed, failed = passed + (not differing), failed + bool(differing)
        if differing:
            print(f"{what}: xarray reads {differing} otherwise")
    # As tensorstore does not know every type, that it read many is worth a look.
    if by_tensorstore < passed // 3:
        failed += 1
        print(f"tensorstore read {by_tensorstore} of {passed} copies only")
    print(f"{by_tensorstore} of them by tensorstore, too")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
