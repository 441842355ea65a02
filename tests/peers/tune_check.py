#!/usr/bin/env python3
"""`ozarr tune`: of arrays of zarr-python and tensorstore in layouts that do not suit an access it finds one that does, says so truly, and
gives the document of it.

    tune_check.py --program PREFIX/bin/ozarr --build FOLDER
"""
import json, subprocess

import numpy as np
import tensorstore as ts
import zarr

import program
from program import BUILD, PROGRAM, run_parts


def run(*words, status=0):
    ran = subprocess.run([str(w) for w in (PROGRAM, *words)], cwd=BUILD, capture_output=True, text=True)
    assert ran.returncode == status, (words, ran.returncode, ran.stdout[-500:], ran.stderr)
    return ran.stderr if status else ran.stdout


def check(what, right, told=""):
    program.check(what, bool(right) or told, True)


def reads(told, place, access):
    return next(a for a in told["layouts"][place]["accesses"] if a["access"] == access)["reads"]


def main():
    y, x = np.meshgrid(np.arange(96), np.arange(128), indexing="ij")
    field = np.stack([np.round(280 + 9 * np.sin(x / 20 + t / 9) * np.cos(y / 15), 2) for t in range(300)]).astype("f4")
    made = zarr.create_array(BUILD / "planes.zarr", shape=field.shape, dtype="f4", chunks=(1, 96, 128), dimension_names=("time", "y", "x"), attributes={"units": "K"})
    made[:] = field
    # Time series of an array in planes take a read for each plane.
    told = json.loads(run("tune", "planes.zarr", "--access", "series", "--json", "--output", "best.json"))
    best = told["best"]
    check("reads", reads(told, 0, "series") == 300 and reads(told, best, "series") <= 3, (reads(told, 0, "series"), reads(told, best, "series")))
    check("gain", told["gain"][0]["now_ms"] > 5 * told["gain"][0]["best_ms"], told["gain"])
    check("rows", len(told["layouts"]) > 8 and told["sample"] == [300, 96, 128] and told["layouts"][0]["chunks"] == [1, 96, 128])
    # The document makes the array, and what was told is what other layouts cost.
    run("create", "made.zarr", "--metadata", "best.json")
    new = zarr.open_array(BUILD / "made.zarr")
    check("the document", (list(new.chunks), new.shape, new.attrs["units"], new.metadata.dimension_names) == (told["layouts"][best]["chunks"], field.shape, "K", ("time", "y", "x")))
    text = run("tune", "planes.zarr", "--access", "series")
    command = text.splitlines()[-1].replace("NEW", "copied.zarr").split()
    check("the command", command[:2] == ["ozarr", "copy"], text)
    run(*command[1:])
    check("the copy", np.array_equal(zarr.open_array(BUILD / "copied.zarr")[:], field))
    check("the table", sum(line.startswith("*") for line in text.splitlines()) == 1 and "times as fast" in text, text)
    # An array that suits an access stays about as fast; several accesses are weighed.
    told = json.loads(run("tune", "planes.zarr", "--access", "time", "--json"))
    check("planes", reads(told, told["best"], "time") <= 4, told["layouts"][told["best"]])
    told = json.loads(run("tune", "planes.zarr", "--access", "time", "--access", "series", "--access", "box=10,20,20", "--access", "series=x", "--json", "--latency", "30"))
    b = told["best"]
    check("all together", reads(told, b, "time") + reads(told, b, "series") < 60, told["layouts"][b])
    # What tensorstore wrote, in shards, and as version 2; a sample smaller than the array.
    codecs = [{"name": "sharding_indexed", "configuration": {"chunk_shape": [300, 4, 4], "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]}}]
    grid = {"name": "regular", "configuration": {"chunk_shape": [300, 96, 128]}}
    ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(BUILD / "shards.zarr")}, "metadata": {"shape": list(field.shape), "data_type": "float32", "codecs": codecs, "chunk_grid": grid}}, create=True).result()[...] = field
    zarr.create_array(BUILD / "v2.zarr", shape=field.shape, dtype=">f4", chunks=(300, 4, 4), zarr_format=2)[:] = field
    for name in "shards", "v2":
        told = json.loads(run("tune", f"{name}.zarr", "--access", "0", "--json", "--sample", "4M"))
        check(f"{name}: the sample", np.prod(told["sample"]) * 4 <= 4 << 20 and told["layouts"][0]["chunks"] == [300, 4, 4], told["sample"])
        check(f"{name}: reads", reads(told, told["best"], "0") < reads(told, 0, "0"), told["gain"])
    # What cannot be tuned.
    zarr.create_array(BUILD / "empty.zarr", shape=(0, 4), dtype="f4")
    zarr.create_array(BUILD / "text.zarr", shape=(3,), dtype=str)
    zarr.create_group(BUILD / "group.zarr")
    for words, status, word in (["empty.zarr"], 1, "nothing to tune"), (["text.zarr"], 1, "nothing to tune"), (["group.zarr"], 1, "group"), (["planes.zarr", "--access", "z"], 2, "time, y, x"), (["planes.zarr", "--access", "box=1,2"], 2, "3 lengths"):
        err = run("tune", *words, status=status)
        check(f"{words}", word in err and err.count("\n") == 1, err)


run_parts(main)
