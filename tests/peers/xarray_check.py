#!/usr/bin/env python3
"""xarray opens what C wrote, without a warning: coordinates are coordinates, values, names, attributes and times agree.

  xarray_check.py --tool BUILD/xarray_write --build DIR [--heat STORE]

Each dataset is opened in a process of its own, in which warnings are errors. The last line is `N passed, N failed`.
"""
import argparse, os, shutil, subprocess, sys, tempfile, traceback, warnings
from pathlib import Path

warnings.simplefilter("error")
# Imported once, which takes longer than all the rest, and inherited by the processes that open datasets.
import dask.array  # noqa: E402, F401
import xarray  # noqa: E402, F401
import zarr  # noqa: E402, F401

FROM_C = """
import numpy as np, xarray as xr, zarr
d = xr.open_zarr(STORE)
assert zarr.open_group(STORE, mode="r").metadata.zarr_format == FORMAT
assert set(d.coords) == {"time", "y", "x", "mapping"} and set(d.data_vars) == {"temperature"}, d
t = d.temperature
assert t.dims == ("time", "y", "x") and t.shape == (3, 4, 5) and t.dtype == np.float32, t
want = 100 * np.arange(3)[:, None, None] + 10 * np.arange(4)[:, None] + np.arange(5.0)
want[2, 3, 4] = np.nan
np.testing.assert_array_equal(t.values, want)
assert t.attrs == {"units": "K"} and d.attrs == {"title": "from C", "levels": [1, 2, 3]}, (t.attrs, d.attrs)
assert list(d.time.values.astype("datetime64[D]").astype(str)) == ["2026-01-01", "2026-01-02", "2026-01-03"], d.time
np.testing.assert_array_equal(d.x.values, 0.25 * np.arange(5))
np.testing.assert_array_equal(d.y.values, 0.5 * np.arange(4))
assert d.mapping.dims == () and int(d.mapping) == 7
assert float(d.temperature.sel(x=0.5, y=1.5, time="2026-01-02")) == 132
c = xr.open_zarr(STORE + ".restart/step-7")
assert c.u.dims == ("y",) and c.attrs["step"] == 7, c
np.testing.assert_array_equal(c.u.values, 0.5 * np.arange(4))
assert set(xr.open_datatree(STORE + ".restart", engine="zarr").children) == {"step-7"}
"""

# What the example `dataset` wrote: packed numbers, missing ones, coordinates of any rank, times.
DATASET = """
import numpy as np, xarray as xr, zarr
d = xr.open_zarr(STORE)
assert zarr.open_group(STORE, mode="r").metadata.zarr_format == FORMAT
assert set(d.coords) == {"time", "lat", "lon", "height", "run"} and set(d.data_vars) == {"t"}, d
assert d.attrs == {"title": "six-hourly temperatures"}, d.attrs
t = d.t
assert t.dims == ("time", "lat", "lon") and t.dtype.kind == "f" and t.attrs == {"units": "K", "long_name": "temperature"}, (t, t.attrs)
want = 273.15 + np.arange(4)[:, None, None] + 0.1 * np.arange(3)[:, None] + 0.01 * np.arange(5)
want[1, 2, 3] = np.nan
np.testing.assert_allclose(t.values, want, rtol=0, atol=1e-9)
assert np.isnan(t.values[1, 2, 3]) and np.isnan(t.values).sum() == 1
assert t.encoding["scale_factor"] == 0.01 and t.encoding["add_offset"] == 273.15 and t.encoding["_FillValue"] == -32768, t.encoding
assert t.encoding["dtype"] == np.int16
assert list(d.time.values.astype("datetime64[h]").astype(str)) == ["2026-01-01T00", "2026-01-01T06", "2026-01-01T12", "2026-01-01T18"], d.time
np.testing.assert_array_equal(d.lat.values, [-10.0, 0, 10])
assert d.lat.attrs == {"units": "degrees_north"} and d.height.dims == ("lat", "lon") and d.height.attrs == {"units": "m"}
assert int(d.run) == 7 and d.run.dims == ()
np.testing.assert_allclose(float(t.sel(time="2026-01-01T18", lat=0, lon=144)), 276.27)
both = d.resample(time="12h").mean()
assert both.sizes["time"] == 2
# Written again by xarray and opened again it is the same.
with np.errstate(all="ignore"):
    d.load().to_zarr(STORE + ".again", zarr_format=FORMAT, mode="w", consolidated=(FORMAT == 2))
assert xr.open_zarr(STORE + ".again", consolidated=(FORMAT == 2)).equals(d)
"""

# The reverse: what xarray writes, in the forms that it has for each version.
FROM_XARRAY = """
import numpy as np, xarray as xr, warnings
time = np.array(["2000-02-28", "2000-02-29", "NaT"], dtype="datetime64[ns]")
t = xr.DataArray(np.array([[1.5, np.nan], [2.5, 3.0], [-4.0, 0.5]]), dims=("time", "x"), attrs={"units": "K"})
d = xr.Dataset({"t": t, "f": ("x", np.array([np.nan, 2.0], dtype="f4"))}, coords={"x": [10.0, 20.0], "lat": ("x", [1.0, 2.0]), "stamp": ("time", time)})
d["stamp"].encoding = {"units": "hours since 2000-01-01", "dtype": "int64", "_FillValue": -1}
d["t"].encoding = {"dtype": "int16", "scale_factor": 0.5, "add_offset": 10.0, "_FillValue": -999}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # consolidated metadata of version 3 are no standard, it says
    d.to_zarr(STORE, zarr_format=FORMAT, mode="w")
"""

# Nothing is left in a hierarchy that zarr-python does not know: where warnings are errors one of `members` ends the program.
MEMBERS = """
import pathlib, zarr
left = [str(file) for file in pathlib.Path(STORE).rglob(".ozarr*")]
assert not left, left
assert list(zarr.open_group(STORE, mode="r", use_consolidated=False).members(max_depth=None))
"""

HEAT = """
import numpy as np, xarray as xr
d = xr.open_zarr(STORE)
assert set(d.coords) == {"time", "x", "y", "z"} and set(d.data_vars) == {"temperature"}, d
t = d.temperature
assert t.dims == ("time", "z", "y", "x") and t.sizes["time"] == d.sizes["time"] > 0, t
assert t.attrs["units"] == "K" and d.attrs["title"] == "Heat in a box" and d.x.attrs["units"] == "m"
n = d.sizes["x"]
np.testing.assert_array_equal(d.x.values, (np.arange(n) + 0.5) * (1 / n))
assert np.isfinite(t.values).all() and t.min() >= 300 and (np.diff(d.time.values) > 0).all()
assert t.isel(time=-1).max() < t.isel(time=0).max()
"""


def apart(program):
    """What a program in Python prints in a process of its own; its status, where it prints nothing and fails."""
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 1), os.dup2(said.fileno(), 2)
            status = 1
            try:
                exec(program, {"read_back": read_back})
                status = 0
            except BaseException:  # whatever it is, the parent tells
                traceback.print_exc()
            finally:
                sys.stdout.flush(), sys.stderr.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return said.read() or (f"exit status {status}" if status else "")


def read_back(library, store):
    """What ozarr finds in a dataset of FROM_XARRAY that is not as it was; an empty text if nothing is."""
    import numpy as np
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from datasets import Dataset, differences
    try:
        ds = Dataset(library, store)
        found = {"variables": ds.variables(), "length": ds.dimension("time"), "t": ds.unpacked("t", (3, 2)), "f": ds.unpacked("f", 2),
                 "stamp": ds.times("stamp", 3, "days since 2000-02-28")}
    except RuntimeError as e:
        return str(e)
    return differences(found, {
        "variables": {"f": False, "lat": True, "stamp": True, "t": False, "x": True}, "length": 3,
        "t": np.array([[1.5, np.nan], [2.5, 3.0], [-4.0, 0.5]]), "f": np.array([np.nan, 2.0]), "stamp": [0, 1, -2**63]})

# What the small examples wrote, by their names.
EXAMPLES = {
    "compression": """
import numpy as np, warnings, zarr
# keep_bits is the codec numcodecs.bitround, about which zarr-python warns.
warnings.filterwarnings("ignore", message="Numcodecs codecs are not in the Zarr version 3")
a = zarr.open_array(STORE + "/u", mode="r")
t, y, x = np.ogrid[:32, :64, :64]
want = np.sin(0.1 * x + 0.05 * t) * np.cos(0.07 * y)
assert a.metadata.dimension_names == ("time", "y", "x") and a.dtype == np.float32 and np.abs(a[:] - want).max() < 2.0**-12
assert a.shards == (16, 64, 64) and a.chunks == (1, 64, 64), a.metadata
blosc, crc = a.compressors
assert (blosc.cname.value, blosc.clevel, blosc.shuffle.value) == ("zstd", 5, "bitshuffle") and type(crc).__name__ == "Crc32cCodec", a.compressors
""",
    "halo": """
import numpy as np, zarr
a = zarr.open_array(STORE + "/u", mode="r")
assert a.chunks == (32, 32) and (a[:] == 100 * np.arange(64)[:, None] + np.arange(64)).all()
""",
    "attributes": """
import zarr
a = zarr.open_group(STORE, mode="r")["t"]
assert dict(a.attrs) == {"units": "K", "dt": 0.25, "restart": True, "valid_range": [0, 500], "flag_meanings": ["land", "sea"]}, dict(a.attrs)
""",
}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tool", required=True, help="the program xarray_write")
    ap.add_argument("--build", default="build/xarray")
    ap.add_argument("--heat", help="a store that the example heat wrote")
    ap.add_argument("--dataset", help="the program of the example dataset")
    ap.add_argument("--examples", help="the folder of the small examples' programs")
    ap.add_argument("--library", help="libozarr.so, which reads what xarray writes")
    a = ap.parse_args()
    build = Path(a.build).resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    runs = []
    for f in (3, 2):
        store = build / f"v{f}.zarr"
        p = subprocess.run([a.tool, str(store), str(f)], capture_output=True, text=True)
        runs.append((f"a group of version {f}", p.stderr if p.returncode else "", f"STORE, FORMAT = {str(store)!r}, {f}{FROM_C}"))
        if a.dataset:
            store = build / f"dataset{f}.zarr"
            p = subprocess.run([a.dataset, str(store), str(f)], capture_output=True, text=True)
            wrong = p.stderr if p.returncode else ""
            if not wrong and p.stdout != "lat = 3, lon = 5, time = 4; the last time is 64800 s, t there 276.15 K; one is missing\n":
                wrong = f"the example printed {p.stdout!r}"
            runs.append((f"the example dataset of version {f}", wrong, f"STORE, FORMAT = {str(store)!r}, {f}{DATASET}"))
        if a.library:
            store = build / f"xarray{f}.zarr"
            written = apart(f"STORE, FORMAT = {str(store)!r}, {f}{FROM_XARRAY}")
            runs.append((f"in version {f}: ozarr reads what xarray wrote", written or apart(f"print(end=read_back({a.library!r}, {str(store)!r}))"), ""))
    if a.heat:
        runs.append(("the example heat", "", f"STORE = {str(Path(a.heat).resolve())!r}{HEAT}"))
    for name, program in EXAMPLES.items() if a.examples else ():
        p = subprocess.run([Path(a.examples).resolve() / name], cwd=build, capture_output=True, text=True)
        runs.append((f"the example {name}", p.stderr, f"STORE = {str(build / name) + '.zarr'!r}{program}"))
    failed = 0
    for name, wrong, program in runs:
        if not wrong and program:
            # A writer that was killed, as that of the example heat is, may leave a temporary file, which nothing sweeps yet.
            program += "" if name == "the example heat" else MEMBERS
            wrong = apart(program)
        failed += bool(wrong)
        print(f"FAIL {name}: {wrong.strip()[-600:]}" if wrong else f"ok   {name}")
    print(f"{len(runs) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
