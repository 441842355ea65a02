#!/usr/bin/env python3
"""netCDF-C opens what C wrote, with NCZarr's keys and as pure Zarr, by netCDF4-python and by ncdump; and the program tells what
netCDF-C wrote.

  nczarr_check.py --tool BUILD/nczarr_write --program BUILD/ozarr --build DIR

Values, dimensions (unlimited ones too), groups, attributes and their types are compared. The last line is `N passed, N failed`.
"""
import argparse, io, json, shutil, subprocess
from pathlib import Path
import netCDF4, numpy as np, zarr


# Variables that are not written: the fill value is the text itself, of char one digit a number.
FILLS = {"none": "none", "nines": "9999", "dashed": "no-data", "nothing": "", "char_x": "x", "char_5": "5", "char_0": "0", "char_quote": '"'}


def equal(what, found, expected):
    if not (np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f") if isinstance(expected, np.ndarray) else found == expected):
        raise AssertionError(f"{what}: found {found!r}, expected {expected!r}")


def from_c(store, keys):
    """What nczarr_write wrote, as netCDF-C sees it."""
    with netCDF4.Dataset(f"file://{store}#mode={'nczarr' if keys else 'zarr'},file", "r") as d:
        equal("variables", set(d.variables), {"t", "x", "s", "names"})
        t = d["t"]
        equal("dimensions of t", t.dimensions, ("time", "x"))
        equal("t", np.asarray(t[:]), 0.5 * np.arange(12, dtype="f4").reshape(3, 4))
        equal("units", t.units, "K")
        equal("levels", np.asarray(t.levels), np.array([1, 2, 3]))
        equal("scale", float(t.getncattr("scale")), 0.25)
        equal("title", d.title, "from C")
        equal("x", np.asarray(d["x"][:]), np.array([0.0, 10, 20, 30]))
        equal("s", int(d["s"][...]), 7)
        equal("names", [str(n) for n in d["names"][:]], ["a", "bcd", "", "efghi"])
        equal("w", np.asarray(d["g/w"][:]), np.arange(1, 9, dtype="i2").reshape(4, 2))
        equal("u", np.asarray(d["g/u"][:]), np.array([9, 8, 7, 6, 5, 4], "u1"))
        if keys:
            equal("time is unlimited", (d.dimensions["time"].isunlimited(), len(d.dimensions["time"])), (True, 3))
            equal("dimensions of the root", {n for n in d.dimensions if not n.startswith("_")}, {"time", "x"})
            equal("dimensions of g", set(d["g"].dimensions), {"y"})
            equal("dimensions of w", d["g/w"].dimensions, ("x", "y"))
            equal("dimensions of s", d["s"].dimensions, ())
            equal("type of levels", t.levels.dtype, np.dtype("i4"))
            equal("other JSON", (int(t.forecast), t.grid, t.nothing, t.none, t.flags), (1, '{"a": 1}', "null", "[]", ["a", "b"]))


def write_netcdf(store):
    """Everything that NCZarr can hold."""
    with netCDF4.Dataset(f"file://{store}#mode=nczarr,file", "w") as d:
        d.createDimension("x", 4)
        d.createDimension("time", None)
        d.title = "from netCDF"
        t = d.createVariable("t", "f4", ("time", "x"), fill_value=-1.0, chunksizes=(1, 4))
        t.units, t.small = "K", np.array([1, 2, 3], "i2")
        t[0:2] = np.arange(8).reshape(2, 4)
        c = d.createVariable("c", "S1", ("x",))
        c[:] = np.array(list("abcd"), "S1")
        d.createVariable("s", "i4", ())[...] = 7
        g = d.createGroup("g")
        g.createDimension("y", 2)
        g.createVariable("w", "f8", ("y", "x"))[:] = 1.5
        names = d.createVariable("names", str, ("x",))
        names[:] = np.array(["aa", "b", "ccc", "dddd"], dtype=object)
        for name, fill in FILLS.items():
            d.createVariable(name, "S1" if name.startswith("char") else str, ("x",), fill_value=fill)


def to_program(program, store):
    run = lambda *a: subprocess.run([program, *a], check=True, capture_output=True, text=True).stdout
    root = json.loads(run("info", "--json", str(store)))
    equal("dimensions", root["netcdf_dimensions"], {"x": 4, "time": {"size": 2, "unlimited": True}})
    t = json.loads(run("info", "--json", f"{store}/t"))
    equal("names of t", t["dimension_names"], ["time", "x"])
    equal("dimensions of g", json.loads(run("info", "--json", f"{store}/g"))["netcdf_dimensions"], {"y": 2})
    equal("names of w", json.loads(run("info", "--json", f"{store}/g/w"))["dimension_names"], ["y", "x"])
    for name, want in [("t", np.arange(8, dtype="f4").reshape(2, 4)), ("g/w", np.full((2, 4), 1.5)), ("s", np.array([7], "i4")),
                       ("c", np.array(list("abcd"), "S1")), ("names", np.array(["aa", "b", "ccc", "dddd"], "S128"))]:
        npy = subprocess.run([program, "read", "--npy", f"{store}/{name}"], check=True, capture_output=True).stdout
        equal(name, np.load(io.BytesIO(npy)), want)
    for name, fill in FILLS.items():
        equal(name, json.loads(run("read", "--json", f"{store}/{name}")), [fill] * 4)


def copied(program, build):
    """netCDF-C fills what is not stored in a copy by the documents (the attributes _FillValue go), as far as zarr-python understands the same; that
    opens the copy and fills strings, those that the program made, too."""
    store, copy = build / "fills.zarr", build / "copied.zarr"
    write_netcdf(store)
    subprocess.run([program, "copy", str(store), str(copy)], check=True)
    subprocess.run([program, "create", f"{copy}/own", "--type", "|S8", "--shape", "4", "--dims", "x", "--fill", '"bm9uZQ=="'], check=True)
    for file in copy.glob("*/.zattrs"):
        attributes = json.loads(file.read_text())
        for all_of_them in (attributes, attributes.get("_nczarr_attr", {}).get("types", {})):
            all_of_them.pop("_FillValue", None)
        file.write_text(json.dumps(attributes))
    with netCDF4.Dataset(f"file://{copy}#mode=nczarr,file", "r") as d:
        d.set_auto_maskandscale(False)
        for name in ("nothing", *(name for name in FILLS if name.startswith("char"))):
            equal(name, [v.decode() if isinstance(v, bytes) else v for v in d[name][:].tolist()], [FILLS[name]] * 4)
    for name, fill in {**FILLS, "own": "none"}.items():
        if not name.startswith("char"):
            equal(name, zarr.open_array(f"{copy}/{name}", mode="r")[:].tolist(), [fill.encode()] * 4)


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--tool", required=True)
    args.add_argument("--program", required=True)
    args.add_argument("--build", required=True, type=Path)
    args = args.parse_args()
    build = args.build.resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)

    def c(keys):
        store = build / f"c-{keys}.zarr"
        subprocess.run([args.tool, str(store), keys], check=True)
        from_c(store, keys == "on")

    def dumped(keys):
        """ncdump prints what C wrote. (It is of the system's packages, and older: netCDF-C 4.9.0 ends by a signal at text of a fixed
        length, in stores of netCDF-C 4.10 too; it has no codecs there, and takes keys of 4.10 for attributes.)"""
        store = build / f"dump-{keys}.zarr"
        subprocess.run([args.tool, str(store), keys, "old"], check=True)
        url = f"file://{store}#mode={'nczarr' if keys == 'on' else 'zarr'},file"
        text = subprocess.run(["ncdump", url], check=True, capture_output=True, text=True).stdout
        lines = {" ".join(line.split()) for line in text.splitlines()}
        # netCDF-C 4.9.3 knows scalars by their keys, and makes attributes of whole numbers int where 4.9.0 makes them byte.
        newer = "t:levels = 1, 2, 3 ;" in lines
        scalar = "int s ;" if newer and keys == "on" else "int s(_scalar_) ;"
        expected = ["x = 0, 10, 20, 30 ;", "s = 7 ;", "float t(time, x) ;", "double x(x) ;", scalar, 't:units = "K" ;',
                    "t:levels = 1, 2, 3 ;" if newer else "t:levels = 1b, 2b, 3b ;", ':title = "from C" ;', "short w(x, y) ;", "group: g {", "y = 2 ;", "x = 4 ;",
                    "0, 0.5, 1, 1.5,", "4, 4.5, 5, 5.5 ;", "u = 9, 8, 7, 6, 5, 4 ;", "7, 8 ;"]
        equal("lines that ncdump does not print", [line for line in expected if line not in lines], [])

    def grown():
        """The program makes a variable longer along the unlimited dimension of what netCDF-C wrote, and netCDF-C sees it. (The other
        way round cannot be asked: netCDF-C 4.10.1 finds no variables in what it opens for appending, its own files among them.)"""
        store = build / "grown.zarr"
        write_netcdf(store)
        subprocess.run([args.program, "resize", f"{store}/t", "--shape", "3,4"], check=True)
        with netCDF4.Dataset(f"file://{store}#mode=nczarr,file", "r") as d:
            equal("time", (len(d.dimensions["time"]), d.dimensions["time"].isunlimited()), (3, True))
            equal("t", np.ma.filled(d["t"][:], np.nan), np.vstack([np.arange(8, dtype="f4").reshape(2, 4), np.full((1, 4), np.nan, "f4")]))

    def netcdf():
        store = build / "netcdf.zarr"
        write_netcdf(store)
        to_program(args.program, store)

    failed = 0
    cases = [("C with keys", lambda: c("on")), ("C, pure", lambda: c("off")), ("ncdump, C with keys", lambda: dumped("on")),
             ("ncdump, C, pure", lambda: dumped("off")), ("netCDF, grown by the program", grown), ("netCDF", netcdf),
             ("netCDF, fill values of text", lambda: copied(args.program, build))]
    for name, case in cases:
        try:
            case()
            print(f"ok      {name}")
        except Exception as e:  # noqa: BLE001  # every failure is one of the case
            failed += 1
            print(f"FAILED  {name}: {e}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    raise SystemExit(failed > 0)


main()
