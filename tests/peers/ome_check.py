#!/usr/bin/env python3
"""ome-zarr opens the images that the program wrote, and the program tells of those that ome-zarr wrote, in both of its versions.

  ome_check.py --program BUILD/ozarr --build DIR

Pixels, axes, levels and scales are compared. The last line is `N passed, N failed`.
"""
import argparse, io, json, shutil, subprocess
from pathlib import Path
import numpy as np
import zarr
from ome_zarr.format import FormatV04, FormatV05
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from ome_zarr.writer import write_image

AXES = [{"name": "c", "type": "channel"}, {"name": "y", "type": "space", "unit": "micrometer"}, {"name": "x", "type": "space", "unit": "micrometer"}]
IMAGE = (np.arange(2 * 16 * 24, dtype="u2") * 7 % 1000).reshape(2, 16, 24)
FORMATS = {2: FormatV04(), 3: FormatV05()}


def equal(what, found, expected):
    same = np.array_equal(found, expected) if isinstance(expected, np.ndarray) else found == expected
    if not same:
        raise AssertionError(f"{what}: found {found!r}, expected {expected!r}")


def image(version):
    levels = [{"path": f"s{i}", "coordinateTransformations": [{"type": "scale", "scale": [1, 0.5 * 2**i, 0.5 * 2**i]}]} for i in (0, 1)]
    body = {"multiscales": [{"name": "im", "axes": AXES, "datasets": levels} | ({"version": "0.4"} if version == 2 else {})]}
    return body if version == 2 else {"ome": {"version": "0.5"} | body}


def to_ome(run, store, version):
    run("create", str(store), "--group", "--format", str(version), "--attrs", json.dumps(image(version)))
    for i in (0, 1):
        pixels = IMAGE[:, :: 2**i, :: 2**i]
        # OME-Zarr has nested chunks in both versions.
        run("create", str(store), f"s{i}", "--type", "uint16", "--shape", ",".join(map(str, pixels.shape)), "--chunks", "1,8,8",
            "--format", str(version), "--separator", "/", "--dims", "c,y,x")
        npy = io.BytesIO()
        np.save(npy, np.ascontiguousarray(pixels))
        run("write", str(store), f"s{i}", "--npy", input=npy.getvalue())
    location = parse_url(str(store), mode="r", fmt=FORMATS[version])
    node = list(Reader(location)())[0]
    equal("levels", len(node.data), 2)
    for i in (0, 1):
        equal(f"pixels of level {i}", np.asarray(node.data[i]), IMAGE[:, :: 2**i, :: 2**i])
    equal("axes", [(a["name"], a["type"]) for a in node.metadata["axes"]], [(a["name"], a["type"]) for a in AXES])
    scales = [t[0]["scale"] for t in node.metadata["coordinateTransformations"]]
    equal("scales", scales, [[1, 0.5, 0.5], [1, 1.0, 1.0]])


def from_ome(run, store, version):
    group = zarr.open_group(str(store), mode="w", zarr_format=version)
    write_image(IMAGE, group, axes=AXES, fmt=FORMATS[version], scale_factors=[2])
    attributes = zarr.open_group(str(store), mode="r").attrs.asdict()
    wrote = attributes.get("ome", attributes)["multiscales"][0]
    [found] = json.loads(run("info", "--json", str(store)))["images"]
    equal("version", found["version"], FORMATS[version].version)
    equal("axes", found["axes"], [[a["name"], a["type"], a.get("unit", "")] for a in wrote["axes"]])
    equal("names of axes", [a[0] for a in found["axes"]], ["c", "y", "x"])
    equal("shapes", [level["shape"] for level in found["levels"]], [[2, 16, 24], [2, 8, 12]])
    scales = [[t["scale"] for t in d["coordinateTransformations"] if t["type"] == "scale"][0] for d in wrote["datasets"]]
    equal("scales", [level["scale"] for level in found["levels"]], scales)
    for level in found["levels"]:
        expected = np.asarray(group[level["path"]][:])
        npy = run("read", str(store), level["path"], "--npy")
        equal(level["path"], np.load(io.BytesIO(npy)), expected)
    equal("pixels", np.asarray(group[found["levels"][0]["path"]][:]), IMAGE)


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--program", required=True)
    args.add_argument("--build", required=True, type=Path)
    args = args.parse_args()
    build = args.build.resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)

    def run(*words, input=None):
        done = subprocess.run([args.program, *words], input=input, capture_output=True)
        if done.returncode:
            raise AssertionError(f"ozarr {' '.join(words)}: {done.stderr.decode()}")
        return done.stdout

    failed, cases = 0, [(f"{way.__name__} {version}", way, version) for version in (2, 3) for way in (to_ome, from_ome)]
    for name, way, version in cases:
        try:
            way(run, build / f"{way.__name__}-{version}.zarr", version)
            print(f"ok      {name}")
        except Exception as e:  # noqa: BLE001  # every failure is one of the case
            failed += 1
            print(f"FAILED  {name}: {type(e).__name__}: {e}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    raise SystemExit(failed > 0)


main()
