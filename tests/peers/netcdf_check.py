#!/usr/bin/env python3
"""netCDF-C, through netCDF4-python, opens what C wrote in version 2, and ozarr what it wrote, in its pure mode and with its own keys.

  netcdf_check.py --dataset BUILD/dataset --library LIBOZARR --build DIR
"""
import argparse, shutil, subprocess, sys
from pathlib import Path

import netCDF4
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from datasets import Dataset, differences

PACKED = np.array([[10.5, 11.0, np.nan], [12.0, np.nan, 13.0]])


def from_c(program, store):
    """What netCDF finds in the dataset of the example that is not as it should be. (It leaves variables without dimensions out.)"""
    subprocess.run([program, str(store), "2"], check=True, capture_output=True)
    with netCDF4.Dataset(f"file://{store}#mode=zarr,file") as d:
        t = d["t"]
        found = {"dimensions": {n: len(x) for n, x in d.dimensions.items()}, "variables": sorted(d.variables), "of t": list(t.dimensions),
                 "t": np.ma.filled(t[:], np.nan), "lat": d["lat"][:].data, "time": d["time"][:].data, "dates": [str(x) for x in netCDF4.num2date(d["time"][:], d["time"].units, d["time"].calendar)],
                 "units": [d["lat"].units, t.units, d["height"].units], "title": d.title, "stored": str(t.dtype)}
    want = 273.15 + np.arange(4)[:, None, None] + 0.1 * np.arange(3)[:, None] + 0.01 * np.arange(5)
    want[1, 2, 3] = np.nan
    near = np.allclose(found["t"], want, rtol=0, atol=1e-9, equal_nan=True)
    return differences(found, {
        "dimensions": {"lat": 3, "lon": 5, "time": 4}, "variables": ["height", "lat", "lon", "t", "time"], "of t": ["time", "lat", "lon"],
        "t": found["t"] if near else want, "lat": [-10.0, 0.0, 10.0], "time": [0, 6, 12, 18],
        "dates": [f"2026-01-01 {h:02}:00:00" for h in (0, 6, 12, 18)], "units": ["degrees_north", "K", "m"], "title": "six-hourly temperatures",
        "stored": "int16"})


def from_netcdf(library, store, mode):
    """What ozarr finds in a dataset of netCDF that is not as it was."""
    with netCDF4.Dataset(f"file://{store}#mode={mode},file", "w") as d:
        d.createDimension("x", 3)
        d.createDimension("time", 2)
        x = d.createVariable("x", "f8", ("x",))
        x[:] = [1, 2, 3]
        t = d.createVariable("t", "i2", ("time", "x"), fill_value=-99)
        t.scale_factor, t.add_offset = 0.5, 10.0
        t[:] = np.ma.masked_array(np.nan_to_num(PACKED), np.isnan(PACKED))
        time = d.createVariable("time", "i4", ("time",))
        time.units, time.calendar = "days since 2000-01-01", "noleap"
        time[:] = [58, 59]
        d.title = "from netCDF"
    ds = Dataset(library, store)
    found = {"variables": ds.variables(), "length": ds.dimension("x"), "t": ds.unpacked("t", (2, 3)), "x": ds.unpacked("x", 3),
             "time": ds.times("time", 2, "hours since 2000-02-28")}
    return differences(found, {"variables": {"t": False, "time": True, "x": True}, "length": 3, "t": PACKED, "x": [1.0, 2.0, 3.0], "time": [0, 24]})


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--dataset", required=True, help="the program of the example dataset")
    ap.add_argument("--library", required=True, help="libozarr.so")
    ap.add_argument("--build", default="build/netcdf")
    a = ap.parse_args()
    build = Path(a.build).resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    runs = [("netCDF opens the example dataset", lambda: from_c(a.dataset, build / "dataset.zarr"))]
    runs += [(f"ozarr opens what netCDF wrote in the mode {m}", lambda m=m: from_netcdf(a.library, build / f"{m}.zarr", m)) for m in ("zarr", "nczarr")]
    failed = 0
    for name, run in runs:
        try:
            wrong = run()
        except (RuntimeError, OSError, subprocess.CalledProcessError, IndexError, AttributeError) as e:
            wrong = repr(e)
        failed += bool(wrong)
        print(f"FAIL {name}: {wrong}" if wrong else f"ok   {name}")
    print(f"{len(runs) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
