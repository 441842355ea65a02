#!/usr/bin/env python3
"""The codec pipelines of zarr-python in one run: its own, zarrs' and ozarr's; and the package ozarr without zarr-python.

  pipelines.py --build DIR [--mebibytes 256] [--runs 7]     prints a table for docs/python.md: the least milliseconds of the runs, which take turns
"""
import argparse, os, shutil, time
from pathlib import Path
import numpy as np, zarr
import ozarr

PIPELINES = {"zarr-python": "zarr.core.codec_pipeline.BatchedCodecPipeline", "zarrs": "zarrs.ZarrsCodecPipeline", "ozarr": "ozarr.zarr.OzarrCodecPipeline"}


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", required=True, type=Path)
    a.add_argument("--mebibytes", type=int, default=256)
    a.add_argument("--runs", type=int, default=7)
    given = a.parse_args()
    given.build.mkdir(parents=True, exist_ok=True)
    planes = max(1, given.mebibytes // 64) * 64
    rng = np.random.default_rng(1)
    data = np.cumsum(rng.normal(size=(planes, 512, 512)).astype("f4"), axis=2).round(2)
    layouts = {"64³, zstd": {"chunks": (64, 64, 64)}, "16×32×32, zstd": {"chunks": (16, 32, 32)}, "shards of 64³, 16³ inside": {"chunks": (16, 16, 16), "shards": (64, 64, 64)}}
    print("| " + " | ".join(["", *PIPELINES, "ozarr.open"]) + " |\n|---|" + "---|" * (len(PIPELINES) + 1))
    for layout, choices in layouts.items():
        folder = given.build / "pipelines.zarr"
        times = {}
        arrays = {}
        for name, path in PIPELINES.items():
            with zarr.config.set({"codec_pipeline.path": path}):
                arrays[name] = zarr.create_array(str(folder / name), shape=data.shape, dtype="f4", overwrite=True, **choices)
        arrays["ozarr.open"] = ozarr.create(folder / "own", data.shape, "f4", mode="overwrite", compressor="zstd", level=0,
                                            chunks=choices.get("shards", choices["chunks"]), inner_chunks=choices["chunks"] if "shards" in choices else None)
        cases = {"write": lambda z: z.__setitem__(..., data), "read": lambda z: z[...], "read a plane": lambda z: z[:, 100, :], "read a box of 40³": lambda z: z[10:50, 10:50, 10:50]}
        for run in range(given.runs):
            for case, action in cases.items():
                if case == "write" and run > 2:
                    continue
                for name, z in arrays.items():
                    began = time.perf_counter()
                    action(z)
                    times.setdefault((case, name), []).append(time.perf_counter() - began)
        for name, z in arrays.items():
            assert np.array_equal(z[...], data), name
        for case in cases:
            print(f"| {case}, {layout} | " + " | ".join(f"{1000 * min(times[case, name]):.1f}" for name in arrays) + " |")
        for z in arrays.values():
            if isinstance(z, ozarr.Array):
                z.close()
        shutil.rmtree(folder)
    print(f"\n{data.nbytes >> 20} MiB of float32, {os.cpu_count()} threads; zarr {zarr.__version__}, load {os.getloadavg()[0]:.1f}")


main()
