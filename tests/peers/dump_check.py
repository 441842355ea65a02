#!/usr/bin/env python3
"""`ozarr dump` prints what ncdump prints, byte for byte: of the same data as netCDF-4, of stores of NCZarr, and, by the netCDF format
of this library, of stores of xarray, zarr-python and tensorstore.

    dump_check.py --program PREFIX/bin/ozarr --build FOLDER
"""
import shutil, subprocess

import netCDF4
import numpy as np
import tensorstore as ts
import xarray as xr
import zarr

from program import BUILD, PROGRAM, check, run_parts

FORMAT = PROGRAM.parent / "ozarr-netcdf"


def run(*words, status=0):
    ran = subprocess.run([str(w) for w in words], cwd=BUILD, capture_output=True)
    assert ran.returncode == status, (words, ran.returncode, ran.stdout[-500:], ran.stderr)
    return ran.stdout


def same(what, found, wanted):
    check(what, True, True)
    if found != wanted:
        pairs = zip(found.splitlines() + [b"END"], wanted.splitlines() + [b"END"])
        raise AssertionError(f"{what}: " + next((f"found {a!r}, wanted {b!r}" for a, b in pairs if a != b), "the ends of lines"))


def dump(*words):
    return run(PROGRAM, "dump", *words)


def everything(d):
    """What netCDF-4 has and Zarr can say: types, braces of records, lines of every length, quoting, fill values, groups."""
    for name, length in {"time": None, "lat": 3, "lon": 4, "spare": 9, "len": 12, "none": None} .items():
        d.createDimension(name, length)
    d.createVariable("time", "f8", ("time",))[:] = [0, 1.5, 2]
    v = d.createVariable("t", "f4", ("time", "lat", "lon"), fill_value=-9)
    v[:] = np.arange(36).reshape(3, 3, 4) / 3
    v[1, 1, 1] = np.ma.masked
    many = {"one": np.float32(1), "big": np.float32(1e10), "digits": np.float32(16777216), "no": np.array([np.nan, np.inf, -np.inf]), "huge": [1e300, 1e10, 1 / 3],
            "b": np.array([1, -3], "i1"), "ub": np.uint8(200), "s": np.int16(-7), "us": np.uint16(1), "i": np.int32(5), "u": np.uint32(2**32 - 1), "l": np.int64(7), "ul": np.uint64(2**63 + 5)}
    for name, value in (many | {"words": "line 1\nline \"2\"\t'\\ é" + 20 * " long", "list": ["a\nb", "é", 90 * "x"], "a b:c": 1.0, "empty": ""}).items():
        v.setncattr(name, value)
    v.setncattr_string("str", "one")
    numbers = np.array([np.nan, np.inf, -np.inf, 1e-5, 1e10, 123456789, -0.0, 1e15, 1e16, 1 / 3, 0.1, 100])
    for kind in "f4", "f8":
        d.createVariable(f"real_{kind}", kind, ("len",))[:] = numbers
        d.createVariable(f"nan_{kind}", kind, ("len",), fill_value=np.nan)[:] = numbers
    for kind in "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8":
        info = np.iinfo(kind)
        d.createVariable(f"v_{kind}", kind, ("lon",))[:] = np.array([info.min, info.min + 1, info.max, info.max - 1], kind)
    d.createVariable("w", str, ("lat", "lon"))[:] = np.array([["", "a\"b", "new\nline", 70 * "x"]] * 3, dtype=object)
    d.createVariable("filled", str, ("lat",), fill_value="no")[:] = np.array(["no", "", "yes"], dtype=object)
    d.createVariable("scalar", "i4", ())[:] = 42
    d.createVariable("letter", "S1", ())[...] = "q"
    d.createVariable("name", "S1", ("lat", "len"))[:] = netCDF4.stringtochar(np.array(["abc", "", "two\nlines"], "S12"))
    d.createVariable("ends", "S1", ("lat",))[:] = np.array(list("ab\n"), "S1")
    d.createVariable("bytes", "S1", ("len",))[:4] = np.frombuffer("é\x01\x7f".encode(), "S1")
    d.createVariable("unwritten", "i4", ("time",))
    d.createVariable("nothing", "f4", ("time", "none"))
    d.createVariable("8 odd-name:x", "i4", ("lat",))[:] = 1
    d.createVariable("records", "i4", ("lat", "time", "lon"))[:] = np.arange(36).reshape(3, 3, 4)
    d.createVariable("text", "S1", ("lat", "time", "lat"))[:] = np.tile(np.array(list("abc"), "S1"), (3, 3, 1))
    d.createVariable("short", "i2", ("time",))[:2] = [1, 2]
    g = d.createGroup("a")
    g.createDimension("lat", 2)
    g.note = "in a"
    g.createVariable("lat", "f8", ("lat",))[:] = [9, 8]
    deep = g.createGroup("deep er")
    deep.createVariable("q", "i4", ("lat", "lon"))[:] = 5
    d.createGroup("void")


def wide(d, groups=3):
    """Lines of every length near the end of a line, in groups in groups."""
    for n in range(20, 58):
        d.createDimension(f"n{n}", n)
    d.createDimension("two", 2)
    d.createDimension("rows", None)
    for level in range(groups):
        for n in range(20, 58):
            name = "w" * (n - 19)
            d.createVariable(name, "i4", (f"n{n}",))[:] = 1
            d.createVariable("x" + name, "f4", ("two", f"n{n}"))[:] = np.arange(2 * n).reshape(2, n) / 7
            if level == 0:
                d.createVariable("r" + name, "i1", ("rows", "two", f"n{n}"))[0:2] = 3
        d = d.createGroup("g")


def as_netcdf4():
    """Stores that nccopy made of netCDF-4, by ncdump of both."""
    for name, fill in ("all", everything), ("wide", wide):
        with netCDF4.Dataset(BUILD / f"{name}.nc", "w") as d:
            fill(d)
        run(FORMAT, "nccopy", f"{name}.nc", f"{name}.zarr")
        same(f"{name}: netCDF-4", dump(f"{name}.zarr"), run("ncdump", f"{name}.nc"))
        same(f"{name}: a zip archive", dump(zipped(name)), run("ncdump", f"{name}.nc"))
    for words in (["-h"], ["-c"], ["-v", "t,lat"], ["-v", "/a/lat"], ["-v", "a/lat"], ["-n", "x y", "-h"]):
        same(f"{words}", dump("all.zarr", *words), run("ncdump", *words, "all.nc"))
    # ncgen reads it. (Not all of the first file: ncgen does not take every name that ncdump prints.)
    (BUILD / "back.cdl").write_bytes(dump("wide.zarr"))
    run("ncgen", "-4", "-o", "back.nc", "back.cdl")
    same("ncgen", run("ncdump", "-n", "wide", "back.nc"), run("ncdump", "wide.nc"))


def zipped(name):
    store, archive = BUILD / f"{name}.zarr", BUILD / f"{name}.zip"
    shutil.make_archive(str(archive)[:-4], "zip", store)
    return archive.name


def nczarr():
    """What netCDF-C wrote itself: the newest one by the wheel, and the system's, which reads it by its own NCZarr, too."""
    def fill(d, strings):
        d.createDimension("time", None if strings else 2)
        d.createDimension("x", 4)
        t = d.createVariable("t", "f4", ("time", "x"), fill_value=-1.0)
        t[0:2] = np.arange(8).reshape(2, 4)
        for name, value in {"units": "K", "f": np.float32(0.5), "d": 2.5, "b": np.int8(-3), "l": np.int64(5), "s": np.array([1, 2], "i2"), "u": np.uint64(2**63 + 1)}.items():
            t.setncattr(name, value)
        for kind in "u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8":
            d.createVariable(kind, kind, ("x",))[:3] = [1, 2, 3]
        g = d.createGroup("g")
        g.createDimension("y", 2)
        g.createVariable("w", "f8", ("y", "x"))[:] = 1.5
        if strings:
            d.createVariable("c", "S1", ("x",))[:] = np.array(list("abcd"), "S1")
            d.createVariable("s", "i4", ())[...] = 7
            d.createVariable("names", str, ("x",))[:] = np.array(["aa", "b", "ccc", ""], dtype=object)

    for strings in True, False:
        with netCDF4.Dataset(BUILD / f"z{strings}.nc", "w") as d:
            fill(d, strings)
    with netCDF4.Dataset(f"file://{BUILD}/zTrue.zarr#mode=nczarr,file", "w") as d:
        fill(d, True)
    same("NCZarr of the wheel", dump("zTrue.zarr"), run("ncdump", "zTrue.nc"))
    url = f"file://{BUILD}/zFalse.zarr#mode=nczarr,file"
    run("nccopy", "zFalse.nc", url)
    same("NCZarr of the system", dump("zFalse.zarr"), run("ncdump", url))
    same("NCZarr of the system, as netCDF-4", dump("zFalse.zarr"), run("ncdump", "zFalse.nc"))


def others():
    """Stores of other writers, as the netCDF format of this library lets ncdump see them."""
    data = xr.Dataset(
        {"T": (("time", "lat", "lon"), np.arange(24, dtype="f4").reshape(2, 3, 4), {"units": "K", "range": [0, 100], "x": 1.5}), "n": ((), np.int32(7)),
         "s": (("lat",), np.array(["a", "bc", "déf"], dtype=object)), "w": (("lon",), np.array([1, 2, 3, 4], dtype="i2"), {"_FillValue": -1}),
         "day": (("time",), np.array(["2026-03-01", "2026-03-02"], "M8[ns]")), "flag": (("lon",), np.array([True, False] * 2))},
        coords={"time": ("time", [0, 1], {"standard_name": "time", "units": "days since 2026-03-01"}), "lat": [1.0, 2.0, 3.0]}, attrs={"title": "x", "k": 3, "l": ["a", "b"], "no": []})
    for version in 2, 3:
        data.to_zarr(BUILD / f"xarray{version}.zarr", zarr_format=version)
        data.transpose("lat", "lon", "time").to_zarr(BUILD / f"turned{version}.zarr", zarr_format=version)
    root = zarr.create_group(BUILD / "zp.zarr", attributes={"flags": [True, False], "one": True, "many": 123456789012345678901234567890, "some": [1, 2**70], "most": 2**64 - 1})
    for name, value in {"half": np.arange(4, dtype="f2") / 3, "bool": np.array([True, False]), "text": np.array(["a", "größe"]), "fixed": np.array([b"ab", b""], "S3"), "none": np.zeros((0, 4)), "time": np.arange(3).astype("M8[s]")}.items():
        made = root.create_array(name, shape=value.shape, dtype=value.dtype, chunks=tuple(max(1, n) for n in value.shape), fill_value=0 if value.dtype.kind in "fiub" else None)
        made[...] = value
    ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(BUILD / "ts.zarr" / "a")}, "metadata": {"shape": [3, 2], "data_type": "uint16", "dimension_names": ["y", None]}}, create=True).result()[...] = [[1, 2], [3, 4], [5, 65535]]
    (BUILD / "ts.zarr/zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    for name in "xarray2", "xarray3", "turned2", "turned3", "zp", "ts":
        same(name, dump(f"{name}.zarr"), run(FORMAT, "ncdump", f"{name}.zarr"))
        same(f"{name}: a time axis that grows", b"time = UNLIMITED ; // (2 currently)" in dump(f"{name}.zarr"), name.startswith("xarray"))


def what_netcdf_lacks():
    """Types that netCDF does not have are named, the rest is there; wrong names are told."""
    root = zarr.create_group(BUILD / "odd.zarr")
    root.create_array("z", shape=2, dtype="c8")
    root.create_array("r", shape=2, dtype=np.dtype([("a", "<i4"), ("b", "<f8")]))
    root.create_array("ok", shape=2, dtype="i4")[:] = [1, 2]
    text = dump("odd.zarr").decode()
    for line in ("\t// z is left out: complex64 [2]", "\t// r is left out: ", " ok = 1, 2 ;"):
        same(line, [x for x in text.splitlines() if x.startswith(line)] != [], True)
    same("an array alone", dump("odd.zarr/ok"), b"netcdf ok {\ndimensions:\n\t_Anonymous_Dim_2 = 2 ;\nvariables:\n\tint ok(_Anonymous_Dim_2) ;\ndata:\n\n ok = 1, 2 ;\n}\n")
    for words, told in (["all.zarr", "-v", "nope"], "no variable"), (["nowhere.zarr"], "no node"):
        ran = subprocess.run([PROGRAM, "dump", *words], cwd=BUILD, capture_output=True, text=True)
        same(f"{words}", (ran.returncode, told in ran.stderr, ran.stderr.count("\n")), (1, True, 1))
    child = subprocess.Popen([PROGRAM, "dump", "wide.zarr"], cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    same("a reader that goes away", (child.wait(), child.stderr.read()), (0, b""))


run_parts(as_netcdf4, nczarr, others, what_netcdf_lacks)
