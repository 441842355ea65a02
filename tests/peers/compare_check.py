"""`ozarr stats`, `diff`, `digest`, `du`, `verify`, `tail` and `read` on a terminal, on stores that zarr-python, xarray and tensorstore wrote; numpy knows the figures.

  compare_check.py --program build/prefix/bin/ozarr --build build/compare
"""
import json, os, pty, re, shutil, subprocess

import numpy as np
import tensorstore as ts
import xarray as xr
import zarr

from program import BUILD, PROGRAM, check, run_parts

FRACTION = re.compile(r"\d+\.\d+(?:e-?\d+)?")


def run(*words, status=0):
    ran = subprocess.run([PROGRAM, *map(str, words)], cwd=BUILD, capture_output=True)
    assert ran.returncode == status, (words, ran.returncode, ran.stdout[-500:], ran.stderr)
    return ran.stdout.decode(errors="surrogateescape")


def verified(place):
    """`verify` decodes every chunk that is stored, and finds nothing wrong."""
    documents = {"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"}
    chunks = [f for f in (BUILD / place).rglob("*") if f.is_file() and f.name not in documents]
    told = json.loads(run("verify", place, "--json").splitlines()[-1])
    check(f"{place}: verified", (told["chunks"], told["faults"]), (len(chunks), 0))
    return chunks


def arrays():
    random = np.random.default_rng(7)
    field = random.normal(280, 9, (37, 50, 3)).astype("f4")
    field[3, 4, 1], field[9, 9, 0] = np.nan, np.inf
    yield "field", field
    for kind in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]:
        info = np.iinfo(kind)
        yield kind, random.integers(info.min, info.max, (300, 7), dtype=kind, endpoint=True)
    yield "f8", random.normal(size=(3, 5000))
    yield "f2", random.normal(size=600).astype("f2")
    yield "bool", random.random((40, 40)) > 0.3
    yield "one", np.array(2.5)
    yield "none", np.zeros((0, 4), "f8")
    yield "nan", np.full((5, 5), np.nan)
    yield "complex", (random.normal(size=400) + 1j).astype("c8")
    yield "times", np.arange(20).astype("M8[s]")
    yield "record", np.array([(1.5, 2, b"a"), (2.5, 3, b"b")] * 200, dtype=[("x", "<f4"), ("n", "<i2"), ("s", "S3")])
    yield "text", np.array(["a", "größe", ""] * 100, dtype="U5")


def figures(name, data, version):
    """The figures of one array are numpy's."""
    if data.dtype.kind in "cVU":
        run("stats", f"{name}.{version}.zarr", status=1)
        return
    told = json.loads(run("stats", f"{name}.{version}.zarr", "--json"))
    values = data.astype("i8") if data.dtype.kind in "bM" else data
    # In version 2 the fill value, which is 0 here, means "missing".
    missing = (data.view("i8") == 0 if data.dtype.kind == "M" else data == 0) if version == 2 and data.dtype.kind != "M" else np.zeros(data.shape, bool)
    finite = np.isfinite(values) & ~missing
    check(f"{name} NaN", told["nan"], int(np.isnan(values).sum()))
    check(f"{name} infinite", told["infinite"], int(np.isinf(values).sum()))
    check(f"{name} elements", told["elements"], data.size)
    check(f"{name} missing", told["missing"], int(missing.sum()))
    if not finite.any():
        check(f"{name} min", told["min"], None)
        return
    kept = values[finite]
    check(f"{name} min", told["min"], kept.min().item())
    check(f"{name} max", told["max"], kept.max().item())
    wide = kept.astype("f8")
    assert np.isclose(told["mean"], wide.mean(), rtol=1e-9, atol=1e-9), (name, told, wide.mean())
    assert np.isclose(told["std"], wide.std(), rtol=1e-6), (name, told, wide.std())


def of_zarr_python():
    for name, data in arrays():
        digests = set()
        for version in (2, 3):
            place = BUILD / f"{name}.{version}.zarr"
            chunks = tuple(max(1, n // (version + 1)) for n in data.shape)
            order = {} if data.dtype.kind in "U" or version == 3 else {"order": "F"}
            made = zarr.create_array(place, shape=data.shape, dtype=data.dtype, chunks=chunks, zarr_format=version, **order)
            made[...] = data
            figures(name, data, version)
            digests.add(run("digest", place.name).split()[0])
            verified(place.name)
        check(f"{name}: digests of both versions", len(digests), 1)
        run("diff", f"{name}.2.zarr", f"{name}.3.zarr", "--elements")
        if data.size > 1 and data.dtype.kind in "fi":
            changed = zarr.open_array(BUILD / f"{name}.3.zarr")
            at = tuple(n - 1 for n in data.shape)
            changed[at] = 1 if data[at] != 1 else 2
            told = json.loads(run("diff", f"{name}.2.zarr", f"{name}.3.zarr", "--elements", "--json", status=1))
            check(f"{name}: where it differs", (told["differences"][0]["differing"], tuple(told["differences"][0]["first"]["at"])), (1, at))
            assert run("digest", f"{name}.3.zarr").split()[0] not in digests


def of_tensorstore():
    data = np.arange(12 * 700, dtype="f8").reshape(12, 700)
    digests = set()
    for n, codecs in enumerate([[{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "gzip", "configuration": {"level": 1}}],
                                [{"name": "sharding_indexed", "configuration": {"chunk_shape": [3, 100], "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]]):
        metadata = {"shape": [12, 700], "data_type": "float64", "codecs": codecs,
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [6, 300] if n else [5, 41]}}}
        made = ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(BUILD / f"ts{n}.zarr")}, "metadata": metadata}, create=True).result()
        made[...] = data
        digests.add(run("digest", f"ts{n}.zarr").split()[0])
        chunks = verified(f"ts{n}.zarr")
    check("tensorstore: digests of a plain and a sharded array", len(digests), 1)
    run("diff", "ts0.zarr", "ts1.zarr")
    chunks[0].write_bytes(chunks[0].read_bytes()[:-20])
    told = json.loads(run("verify", "ts1.zarr", "--json", status=1).splitlines()[0])
    check("tensorstore: a shard that is cut short", (told["kind"], told["key"]), ("damaged", chunks[0].relative_to(BUILD / "ts1.zarr").as_posix()))


def of_xarray():
    values = np.where(np.arange(24) % 5 == 0, np.nan, np.arange(24.0)).reshape(4, 6)
    dataset = xr.Dataset({"t": (("time", "x"), values, {"units": "K"})}, {"time": np.arange(4), "x": np.arange(6.0)})
    for version in (2, 3):
        place = BUILD / f"dataset{version}.zarr"
        dataset.to_zarr(place, zarr_format=version, encoding={"t": {"_FillValue": -9.0}})
        told = json.loads(run("stats", place / "t", "--json"))
        check("xarray: missing", (told["missing"], told["nan"], told["min"], told["max"]), (5, 0, 1.0, 23.0))
        files = [f for f in place.rglob("*") if f.is_file()]
        whole = json.loads(run("du", place, "--json"))[0]
        verified(place.name)
        steps = [json.loads(text) for text in run("tail", place, "--json", "-n", 2, "--until", 4).splitlines()]
        want = [{"step": n, "time": float(n), "variables": {"t": {"min": np.nanmin(values[n]), "max": np.nanmax(values[n]), "mean": np.nanmean(values[n])}}} for n in (2, 3)]
        check("xarray: tail", steps, want)
        check("xarray: size", (whole["bytes"], whole["objects"]), (sum(f.stat().st_size for f in files), len(files)))
    told = run("digest", "dataset2.zarr"), run("digest", "dataset3.zarr")
    check("xarray: digests of both versions", told[0], told[1])
    shutil.copytree(BUILD / "dataset3.zarr", BUILD / "other.zarr")
    zarr.open_group(BUILD / "other.zarr")["t"].attrs["units"] = "C"
    check("xarray: an attribute", run("diff", "dataset3.zarr", "other.zarr", status=1), 't: attribute units: "K" and "C"\n')


def of_few_chunks():
    """What is not stored counts as if it were."""
    for name, config in (("few", None), ("all", {"write_empty_chunks": True})):
        made = zarr.create_array(BUILD / f"{name}.zarr", shape=(640, 2**17), chunks=(1, 2**17), dtype="f8", fill_value=7, config=config)
        row = np.full(2**17, 7.0)
        for n in range(640 if config else 0):
            made[n] = row
        made[300, 5] = 9
        check(f"{name}: chunks", len(verified(f"{name}.zarr")), 640 if config else 1)
    for command in ("digest", "stats", "stats --map", "stats --histogram --json"):
        one, *options = command.split()
        told = [run(one, f"{name}.zarr", *options).replace(f"{name}.zarr", "") for name in ("few", "all")]
        texts = [FRACTION.sub("", text) for text in told]
        check(f"{command} of few chunks", texts[0], texts[1])
        # A sum of the same values in another order may differ in the last digits.
        fractions = [[float(x) for x in FRACTION.findall(text)] for text in told]
        assert np.allclose(*fractions, rtol=1e-12, atol=0), (command, told)
    run("diff", "few.zarr", "all.zarr")
    zarr.open_array(BUILD / "few.zarr")[17, 3] = 8
    told = json.loads(run("diff", "few.zarr", "all.zarr", "--json", status=1))["differences"][0]
    check("a difference of few chunks", (told["differing"], told["first"]["at"]), (1, [17, 3]))


def terminal():
    """On a terminal `read` prints text, without a colour."""
    leader, follower = pty.openpty()
    child = subprocess.Popen([PROGRAM, "read", "dataset3.zarr/x", "--start", "-2"], cwd=BUILD, stdout=follower, stderr=follower)
    os.close(follower)
    check("text on a terminal", (child.wait(), os.read(leader, 1000)), (0, b"4.0\r\n5.0\r\n"))
    os.close(leader)


def names():
    """Names that are no UTF-8, and readers that go away."""
    ran = subprocess.run([str(PROGRAM).encode(), b"stats", b"n\xff.zarr"], cwd=BUILD, capture_output=True)
    assert ran.returncode in (1, 2) and ran.stderr.startswith(b"ozarr: ") and ran.stderr.count(b"\n") == 1, ran
    # The status tells of a difference all the same.
    for command, status in (("stats field.3.zarr --map", 0), ("digest dataset3.zarr", 0), ("du dataset3.zarr", 0), ("diff dataset3.zarr other.zarr", 1)):
        # The reader is gone before the program begins: one that leaves later may have got everything.
        reader, writer = os.pipe()
        os.close(reader)
        ran = subprocess.run([PROGRAM, *command.split()], cwd=BUILD, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        check(f"{command} | true", (ran.returncode, ran.stderr), (status, b""))


run_parts(of_zarr_python, of_tensorstore, of_xarray, of_few_chunks, terminal, names)
