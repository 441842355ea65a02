#!/usr/bin/env python3
"""xarray opens what C wrote, without a warning: coordinates are coordinates, values, names, attributes and times agree.

  xarray_check.py --tool BUILD/xarray_write --build DIR [--heat STORE]

Each dataset is opened in a Python of its own under `-W error`. The last line is `N passed, N failed`.
"""
import argparse, shutil, subprocess, sys
from pathlib import Path

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


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tool", required=True, help="the program xarray_write")
    ap.add_argument("--build", default="build/xarray")
    ap.add_argument("--heat", help="a store that the example heat wrote")
    a = ap.parse_args()
    build = Path(a.build).resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    runs = []
    for f in (3, 2):
        store = build / f"v{f}.zarr"
        p = subprocess.run([a.tool, str(store), str(f)], capture_output=True, text=True)
        runs.append((f"a group of version {f}", p.stderr if p.returncode else "", f"STORE, FORMAT = {str(store)!r}, {f}{FROM_C}"))
    if a.heat:
        runs.append(("the example heat", "", f"STORE = {str(Path(a.heat).resolve())!r}{HEAT}"))
    failed = 0
    for name, wrong, program in runs:
        if not wrong:
            p = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
            wrong = (p.stderr or p.stdout or f"exit status {p.returncode}") if p.returncode or p.stderr else ""
        failed += bool(wrong)
        print(f"FAIL {name}: {wrong.strip()[-600:]}" if wrong else f"ok   xarray opens {name}")
    print(f"{len(runs) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
