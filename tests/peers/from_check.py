#!/usr/bin/env python3
"""`ozarr from` makes Zarr of netCDF and HDF5: xarray sees what it sees in the file, and ncdump what it prints of it.

    from_check.py --program PREFIX/bin/ozarr --build FOLDER
"""
import json, os, re, shutil, signal, subprocess, time
from pathlib import Path

import netCDF4
import numpy as np
import xarray as xr
import zarr

from program import BUILD, PROGRAM, check, run_parts


def run(*words, status=0, **environment):
    ran = subprocess.run([str(w) for w in words], cwd=BUILD, capture_output=True, text=True, env=os.environ | environment)
    assert ran.returncode == status, (words, ran.returncode, ran.stdout[-500:], ran.stderr)
    return ran.stderr if status else ran.stdout


def fill(d, classic):
    d.createDimension("time", None)
    d.createDimension("y", 30)
    d.createDimension("x", 40)
    d.createDimension("letters", 5)
    d.lines, d.end = "one\n\ntwo", "end\n"
    d.title, d.version, d.step = "a run", np.int32(3), np.float32(0.1)
    time = d.createVariable("time", "f8", ("time",))
    time.units, time[:] = "days since 2026-01-01", np.arange(7.0)
    t = d.createVariable("t", "f4", ("time", "y", "x"), fill_value=-999.0)
    t[:] = np.random.default_rng(1).normal(280, 9, (7, 30, 40)).astype("f4")
    t[2, 3, 4] = np.ma.masked
    # As programs in C write texts.
    t.long_name, t.nothing = "temperature\0", ""
    t.units, t.valid_range, t.levels = "K\0", np.array([100, 400], "f4"), np.array([1, 2], "i2")
    packed = d.createVariable("packed", "i2", ("y", "x"), fill_value=-32768)
    packed.set_auto_maskandscale(False)
    packed.scale_factor, packed.add_offset, packed[:] = 0.01, 273.15, np.arange(1200).reshape(30, 40)
    d.createVariable("name", "S1", ("y", "letters"))[:] = netCDF4.stringtochar(np.array(["abc", "de", ""] * 10, "S5"))
    d.createVariable("scalar", "i4", ())[...] = 42
    d.createVariable("late", "i4", ("time",))
    for kind in ("i1", "i2", "i4") if classic else ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        d.createVariable(kind, kind, ("x",))[:] = np.arange(40)
    if classic:
        return
    d.createVariable("text", str, ("y",))[:] = np.array(["a", "größe", ""] * 10, dtype=object)
    d.names, d.huge, d.nan = ["a", "b"], np.uint64(2**63 + 5), np.float64("nan")
    d.createVariable("chunked", "f8", ("y", "x"), zlib=True, shuffle=True, chunksizes=(10, 40))[:] = np.arange(1200.0).reshape(30, 40)
    d.createVariable("wide", "f8", ("y", "x", "letters", "x"), zlib=True, chunksizes=(10, 40, 5, 40))[:] = 1
    g = d.createGroup("inner")
    g.createDimension("z", 2)
    g.note = "in a group"
    g.createVariable("w", "f8", ("z", "x"), chunksizes=(1, 40))[:] = np.arange(80.0).reshape(2, 40)
    g.createGroup("empty")


def of_netcdf():
    for model in "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF4_CLASSIC", "NETCDF4":
        source = f"{model}.nc"
        with netCDF4.Dataset(BUILD / source, "w", format=model) as d:
            fill(d, model != "NETCDF4")
        for version in 3, 2:
            dest = f"{model}.{version}.zarr"
            check(f"{model}: what is told", run(PROGRAM, "from", source, dest, "--format", version), "")
            if version == 3:
                check(f"{model}: CDL", run(PROGRAM, "dump", dest, "-n", model), run("ncdump", source))
            for group in ([None, "inner"] if model == "NETCDF4" else [None]):
                with xr.open_dataset(BUILD / source, group=group) as wanted, xr.open_dataset(BUILD / dest, group=group, engine="zarr", consolidated=version == 2 or None) as found:
                    xr.testing.assert_identical(found.load(), wanted.load())
                    kinds = lambda data: {n: v.dtype.newbyteorder("=") for n, v in data.variables.items() if v.dtype.kind not in "UTO"}
                    check(f"{model}: types", kinds(found), kinds(wanted))
                    check(f"{model}: floats as doubles", {n: float(a) for n, a in found.attrs.items() if n == "step"}, {n: float(a) for n, a in wanted.attrs.items() if n == "step"})
    root = zarr.open_group(BUILD / "NETCDF4.3.zarr", mode="r")
    check("chunks that are kept, and small ones that are not", (root["wide"].chunks, root["chunked"].chunks), ((10, 40, 5, 40), (30, 40)))


def of_options():
    run(PROGRAM, "from", "NETCDF4.nc", "options.zarr", "--chunks", "3,10,20", "--compressor", "gzip:1")
    made = zarr.open_group(BUILD / "options.zarr", mode="r")
    check("chunks of that rank", (made["t"].chunks, made["packed"].chunks), ((3, 10, 20), (30, 40)))
    assert "Gzip" in str(made["t"].compressors), made["t"].compressors
    for words, status, told in [(["NETCDF4.nc", "options.zarr"], 1, "options.zarr"), (["NETCDF4.nc", "memory:"], 1, "in memory"), (["NETCDF4.nc", "x.zarr", "--chunks", "1,2,3,4,5,6"], 2, "6 dimensions"),
                                (["none.nc", "x.zarr"], 1, "No such file"), (["options.zarr/zarr.json", "x.zarr"], 1, "cannot be opened as netCDF or HDF5")]:
        err = run(PROGRAM, "from", *words, status=status)
        check(f"{words}", (told in err, err.count("\n")), (True, 1))
    assert "libnetcdf" in run(PROGRAM, "from", "NETCDF4.nc", "x.zarr", status=1, OZARR_LIBNETCDF="/nowhere/libnetcdf.so")
    run(PROGRAM, "from", "NETCDF4.nc", "options.zarr", "--overwrite")
    shutil.copy(BUILD / "NETCDF4.nc", BUILD / "options.zarr" / "inside.nc")
    check("its own file", "holds" in run(PROGRAM, "from", "options.zarr/inside.nc", "options.zarr", "--overwrite", status=1), True)
    check("its own file stays", (BUILD / "options.zarr" / "inside.nc").exists() and "t" in zarr.open_group(BUILD / "options.zarr", mode="r"), True)


def of_program(name, dest):
    """Has a program with HDF5 write a file."""
    flags = next(f for name in ("hdf5-serial", "hdf5") if (f := subprocess.run(["pkg-config", "--cflags", "--libs", name], capture_output=True, text=True).stdout.split()))
    run("cc", "-o", name, Path(__file__).parent / f"{name}.c", *flags)
    run(f"./{name}", dest)


def of_hdf5():
    of_program("hdf5_write", "plain.h5")
    told = run(PROGRAM, "from", "plain.h5", "plain.zarr").splitlines()
    check("what is left out", [line.split(":")[0] for line in told], ["records"])
    root = zarr.open_group(BUILD / "plain.zarr", mode="r")
    check("arrays", sorted(name for name, _ in root.members(max_depth=None)), ["fields", "fields/big", "fields/density", "step", "wave"])
    assert np.array_equal(root["fields/density"][:], np.arange(300 * 400).reshape(300, 400) * 0.25)
    check("chunks", root["fields/density"].chunks, (150, 100))
    check("numbers", (root["fields/big"][:].tolist(), root["step"][...].item(), root["wave"][:].tolist()), ([1, 2, 3, -1], 7, [1 + 2j, -0.5]))
    check("attributes", dict(root["fields"].attrs)["scale"], float(np.float32(0.1)))
    with xr.open_dataset(BUILD / "plain.h5", group="fields", engine="netcdf4") as wanted, xr.open_dataset(BUILD / "plain.zarr", group="fields", engine="zarr") as found:
        xr.testing.assert_identical(found.load(), wanted.load())


def of_fills_of_hdf5():
    """The fill value of HDF5 is Zarr's, without an attribute, and what the file never stored is not stored."""
    of_program("hdf5_fills", "filled.h5")
    fills = {"byte": (7, 0), "never": (7, 0), "real": (-9999, 1), "unset": (0, 1), "whole": (7, 1)}
    with netCDF4.Dataset(BUILD / "filled.h5") as d:
        d.set_auto_maskandscale(False)
        wanted = {name: d[name][...] for name in fills}
    for version in 3, 2:
        check("what is told", run(PROGRAM, "from", "filled.h5", "filled.zarr", "--overwrite", "--format", version), "")
        root = zarr.open_group(BUILD / "filled.zarr", mode="r")
        for name, (fill, stored) in fills.items():
            assert np.array_equal(root[name][...], wanted[name]), name
            found = json.loads(run(PROGRAM, "info", "filled.zarr", name, "--stored", "--json"))
            # In format 2 a fill value means "missing".
            known = (fill, stored) if version == 3 else (None, found["stored"]["chunks"])
            check(f"{name}: fill value, chunks", (found["fill_value"], found["stored"]["chunks"]), known)
            check(f"{name}: no attribute is made of it", "_FillValue" in root[name].attrs, False)
    with netCDF4.Dataset(BUILD / "bytes.nc", "w") as d:
        d.createDimension("x", 3)
        d.createVariable("b", "i1", ("x",))
        d.createVariable("_FillValue of none", "i4", ("x",), fill_value=False)
    run(PROGRAM, "from", "bytes.nc", "bytes.zarr")
    root = zarr.open_group(BUILD / "bytes.zarr", mode="r")
    check("what netCDF fills bytes with", (root["b"].fill_value.item(), root["_FillValue of none"].fill_value.item()), (-127, 0))


def of_types():
    """Enumerations are their numbers, or truth values; other types of a file's own are told."""
    with netCDF4.Dataset(BUILD / "types.nc", "w") as d:
        d.createDimension("x", 3)
        d.createVariable("truth", d.createEnumType("i1", "truth_t", {"FALSE": 0, "TRUE": 1}), ("x",))[:] = [1, 0, 1]
        d.createVariable("kind", d.createEnumType("i2", "kind_t", {"a": 1, "b": 300}), ("x",), fill_value=1)[:] = [1, 300, 1]
        d.createVariable("ragged", d.createVLType("i4", "ragged_t"), ("x",))
        d.createVariable("plain", "i4", ("x",))[:] = [1, 2, 3]
        pair = np.dtype([("r", "f8"), ("i", "f8")])
        d.createVariable("complex", d.createCompoundType(pair, "complex_t"), ("x",))[:] = np.array([(0, 0), (1, 2), (3, 0)], pair)
    told = run(PROGRAM, "from", "types.nc", "types.zarr").splitlines()
    check("what is left out", told, ["ragged: left out, for its elements have the type ragged_t"])
    root = zarr.open_group(BUILD / "types.zarr", mode="r")
    elements = [[True, False, True], [1, 300, 1], [1, 2, 3], [0, 1 + 2j, 3]]
    check("elements", [root[n][:].tolist() for n in ("truth", "kind", "plain", "complex")], elements)
    check("the names of an enumeration", {k: root["kind"].attrs[k] for k in ("flag_values", "flag_meanings")}, {"flag_values": [1, 300], "flag_meanings": "a b"})
    check("truth values have no names", "flag_values" in root["truth"].attrs, False)
    run(PROGRAM, "from", "types.nc", "types.2.zarr", "--format", "2")
    with xr.open_dataset(BUILD / "types.2.zarr", engine="zarr", consolidated=False, mask_and_scale=True) as found:
        check("nothing is missing in format 2", [found[n].values.tolist() for n in ("truth", "plain", "complex")], [elements[0], *elements[2:]])
    check("NCZarr opens no group with an object", type(zarr.open_group(BUILD / "types.2.zarr", mode="r").attrs["_nc_model"]), str)


def of_unwritten():
    """Truth values that were never written, or that a variable lacks along a dimension that others have made longer, are false."""
    with netCDF4.Dataset(BUILD / "unwritten.nc", "w") as d:
        d.createDimension("t", None)
        d.createVariable("long", "i1", ("t",))[:] = np.ones(5)
        truth = d.createEnumType("i1", "truth_t", {"FALSE": 0, "TRUE": 1})
        d.createVariable("short", truth, ("t",))[:3] = [1, 0, 1]
        d.createVariable("never", truth, ("t",))
    run(PROGRAM, "from", "unwritten.nc", "unwritten.zarr")
    root = zarr.open_group(BUILD / "unwritten.zarr", mode="r")
    check("truth values", [root[n][:].tolist() for n in ("short", "never")], [[True, False, True, False, False], [False] * 5])


def of_odd():
    """What the library stores and nobody can read is told and left out."""
    run("cc", "-o", "netcdf_odd", Path(__file__).parent / "netcdf_odd.c", "-lnetcdf")
    run("./netcdf_odd", "odd.nc")
    told = run(PROGRAM, "from", "odd.nc", "odd.zarr").splitlines()
    lost = "is left out"
    check("what is left out", told, [f"/: the attribute latin, whose text is not UTF-8, {lost}", f"good: the attribute latin, whose text is not UTF-8, {lost}",
                                     "b/lost: left out, for it has dimensions that no group around it has"])
    good = zarr.open_group(BUILD / "odd.zarr", mode="r")["good"]
    check("what is kept", (good[:].tolist(), dict(good.attrs)), ([[1, 2], [3, 4]], {"utf8": "ok"}))
    bytes3 = zarr.open_group(BUILD / "odd.zarr", mode="r")["opaque"]
    check("opaque elements by the name that others know", ('"raw_bytes"' in (BUILD / "odd.zarr/opaque/zarr.json").read_text(), bytes3[:].tobytes()), (True, b"abcdef"))


def of_odd_hdf5():
    """One data set that cannot be converted does not keep the others from it."""
    of_program("hdf5_odd", "texts.h5")
    for version in 3, 2:
        told = run(PROGRAM, "from", "texts.h5", "texts.zarr", "--overwrite", "--format", version).splitlines()
        check("what is left out", told, [f"{name}: left out, for its texts are not UTF-8" for name in ("latin", "latin0")])
        root = zarr.open_group(BUILD / "texts.zarr", mode="r")
        check("what is kept", sorted(name for name, _ in root.members(max_depth=None)), ["any", "g", "g/five", "g/one"])
        check("texts of any length", root["any"][:].tolist(), ["café", "", "ok"])
        check("texts of one length", (root["g/five"][:].tolist(), str(root["g/one"][...])), ([["abcde", "xy"], ["", "hello"]], "world"))
        run(PROGRAM, "dump", "texts.zarr")
    with netCDF4.Dataset(BUILD / "named.nc", "w") as d:
        d.createDimension("x", 2)
        d.createDimension("y", 3)
        d.createVariable("x", str, ("y",))[:] = np.array(["named as", "a dimension", "but not along it"], dtype=object)
    run(PROGRAM, "from", "named.nc", "named.zarr")
    check("texts of a variable named as a dimension", zarr.open_array(BUILD / "named.zarr/x", mode="r")[:].tolist(), ["named as", "a dimension", "but not along it"])
    newest = subprocess.run([PROGRAM, "from", "texts.h5.null", "null.zarr"], cwd=BUILD, capture_output=True, text=True)
    if "cannot be opened" not in newest.stderr:
        lost = "left out, for its element cannot be read, as of a data set of HDF5 without any"
        check("what is left out", newest.stdout.splitlines(), [f"no text: {lost}", f"nothing: {lost}"])
        check("what is kept", zarr.open_group(BUILD / "null.zarr", mode="r")["one"][...].item(), 1)
    lost = {line.split(": left out")[0] for line in run(PROGRAM, "from", "texts.h5.unseen", "unseen.zarr").splitlines()}
    kept = {name for name, _ in zarr.open_group(BUILD / "unseen.zarr", mode="r").members(max_depth=None)}
    told = run(PROGRAM, "from", "texts.h5.wide", "wide.zarr").splitlines()
    check("what netCDF has no type for", [line.split(": left out, for its numbers have more than 8 bytes")[0] for line in told], ["filled", "scalar", "g/integer", "g/six"])
    wide = zarr.open_group(BUILD / "wide.zarr", mode="r")
    check("what is kept", (sorted(wide), sorted(wide["g"]), wide["one"][...].item(), wide["g/double"][:].tolist()), (["g", "one"], ["double"], 1, [1, 2]))
    check("each data set is there or told", (lost & kept, lost | kept), (set(), {"g", "g/early", "g/late", "g/nameless", "nameless", "one"}))


def of_missing_in_format_2():
    """The missing value of numbers is seen by xarray, by the program and by NCZarr, which reads it as an attribute."""
    fills = {"i": ("i4", -9), "f": ("f4", 0.1), "whole": ("f8", -999), "b": ("u1", 200), "u": ("u8", 2**64 - 2), "l": ("i8", -2**63 + 2), "n": ("f8", np.nan), "e": ("f8", -np.inf)}
    with netCDF4.Dataset(BUILD / "missing.nc", "w") as d:
        d.createDimension("x", 2)
        for name, (kind, fill) in fills.items():
            d.createVariable(name, kind, ("x",), fill_value=fill).set_auto_mask(False)
            d[name][:] = np.array([1, fill], kind)
        d.createVariable("plain", "i4", ("x",))[:] = [1, 2]
    run(PROGRAM, "from", "missing.nc", "missing.zarr", "--format", "2")
    check("CDL", run(PROGRAM, "dump", "missing.zarr", "-n", "missing"), run("ncdump", "missing.nc"))
    with xr.open_dataset(BUILD / "missing.nc") as wanted, xr.open_dataset(BUILD / "missing.zarr", engine="zarr", consolidated=False) as found:
        xr.testing.assert_identical(found.load(), wanted.load())
    with netCDF4.Dataset(f"file://{BUILD}/missing.zarr#mode=zarr,file") as d:
        missing = {name: np.ma.getmaskarray(d[name][...]).tolist() for name in d.variables}
    # NaN and infinities have no form in JSON.
    check("what NCZarr takes for missing", missing, {name: [False, name in fills and name not in "ne"] for name in [*fills, "plain"]})
    odd = [place.parent.name for place in BUILD.glob("missing.zarr/**/.zattrs") if re.search("NaN|Infinity", place.read_text())]
    check("attributes that strict readers of JSON refuse", odd, [])


FAILING = """
#include <stdlib.h>
const char *nc_inq_libvers(void) { return "4.9.3"; }
int nc_get_vara(int file, int variable, const size_t *start, const size_t *count, void *values) { return atoi(getenv("STATUS")); }
"""


def of_failures():
    """An element that a full memory or a broken disk keeps from being read, and not the data set itself, is not left out: the copy ends."""
    (BUILD / "failing.c").write_text(FAILING)
    # What it lacks is found in the library that it is linked to.
    run("cc", "-shared", "-fPIC", "-o", "failing.so", "failing.c", "-Wl,--no-as-needed", "-lnetcdf")
    with netCDF4.Dataset(BUILD / "scalars.nc", "w") as d:
        d.createVariable("number", "i4", ())[...] = 1
        d.createGroup("g").createVariable("text", str, ())[...] = "one"
    for status, told in ("-61", "Memory"), ("5", "Input/output error"):
        err = run(PROGRAM, "from", "scalars.nc", "failed.zarr", status=1, OZARR_LIBNETCDF=str(BUILD / "failing.so"), STATUS=status)
        check(f"status {status}", (told in err, "number" in err, err.count("\n"), (BUILD / "failed.zarr").exists()), (True, True, 1, False))
    told = run(PROGRAM, "from", "scalars.nc", "failed.zarr", OZARR_LIBNETCDF=str(BUILD / "failing.so"), STATUS="-101").splitlines()
    check("what HDF5 cannot read", [line.split(": left out")[0] for line in told], ["number", "g/text"])


def of_fills():
    """A `_FillValue` of another type than its variable, as classic files have them, means the same."""
    cases = [("h", "f8", -999, True), ("h", "f4", -999, True), ("i4", "i2", -999, True), ("f4", "f8", -999, True), ("f4", "i4", -999, True), ("f4", "f8", 0.1, False), ("f8", "f4", -999, True),
             ("i2", "f8", 0.5, None), ("f4", "f8", 1e300, None), ("i2", "i4", 70000, None), ("i2", "i2", [1, 2], None), ("f4", "f8", np.nan, False)]
    with netCDF4.Dataset(BUILD / "fills.nc", "w", format="NETCDF3_CLASSIC") as d:
        d.createDimension("x", 3)
        for i, (kind, other, value, _) in enumerate(cases):
            v = d.createVariable(f"v{i:02}", kind, ("x",))
            v[:] = [1, -999, 3]
            # The package sets no such value.
            v.setncattr("XFillValue", np.array(value, other))
    (BUILD / "fills.nc").write_bytes((BUILD / "fills.nc").read_bytes().replace(b"XFillValue", b"_FillValue"))
    lost = [f"v{i:02}: the attribute _FillValue, which is no value of the variable's type, is left out" for i, case in enumerate(cases) if case[3] is None]
    for version in 3, 2:
        check("what is told", run(PROGRAM, "from", "fills.nc", "fills.zarr", "--overwrite", "--format", version).splitlines(), lost)
        with xr.open_dataset(BUILD / "fills.zarr", engine="zarr", consolidated=False) as found:
            check(f"what is missing in format {version}", [bool(np.isnan(found[name].values[1])) for name in sorted(found)], [case[3] is True for case in cases])
            check("what is not", all(v.values[[0, 2]].tolist() == [1, 3] for v in found.values()), True)


def of_records():
    """Variables that are shorter than the dimensions along which they grow, also where these are not the first."""
    with netCDF4.Dataset(BUILD / "records.nc", "w") as d:
        for name, length in ("t", None), ("u", None), ("x", 3):
            d.createDimension(name, length)
        for name, dims in ("tx", "tx"), ("long", "tx"), ("xt", "xt"), ("tu", "tu"), ("ut", "ut"), ("xtu", "xtu"), ("utx", "utx"):
            d.createVariable(name, "f4", tuple(dims), fill_value=-5)
        d.createVariable("text", str, ("x", "t"))
        d["long"][:5] = np.arange(15).reshape(5, 3) + 1
        d["tx"][:2] = np.arange(6).reshape(2, 3) + 1
        d["xt"][:, :2] = np.arange(6).reshape(3, 2) + 1
        d["tu"][:2, :4] = np.arange(8).reshape(2, 4) + 1
        d["ut"][:3, :2] = np.arange(6).reshape(3, 2) + 1
        d["xtu"][:, :2, :2] = np.arange(12).reshape(3, 2, 2) + 1
        d["utx"][:2, :2] = np.arange(12).reshape(2, 2, 3) + 1
        d["text"][:, :2] = np.array([["a", "b"], ["c", "d"], ["e", "f"]], dtype=object)
    for chunks in [], ["--chunks", "2,2,2"]:
        run(PROGRAM, "from", "records.nc", "records.zarr", "--overwrite", *chunks)
        check(f"CDL {chunks}", run(PROGRAM, "dump", "records.zarr", "-n", "records"), run("ncdump", "records.nc"))
    root = zarr.open_group(BUILD / "records.zarr", mode="r")
    check("elements", root["xt"][:].tolist(), [[1, 2, -5, -5, -5], [3, 4, -5, -5, -5], [5, 6, -5, -5, -5]])
    check("texts", root["text"][:].tolist(), [["a", "b", "", "", ""], ["c", "d", "", "", ""], ["e", "f", "", "", ""]])


def of_columns():
    """Rows that cross more chunks than netCDF-C keeps decoded, of variables that grow along the second dimension: each chunk is decoded once."""
    spent = {}
    for name, lengths in ("fixed", (500, 4400)), ("grows", (None, None)), ("short", (None, None)):
        with netCDF4.Dataset(BUILD / f"{name}.nc", "w") as d:
            for dim, length in zip("tx", lengths):
                d.createDimension(dim, length)
            d.createVariable("v", "f8", ("t", "x"), chunksizes=(500, 1100), zlib=True, complevel=1)[:500, :4400] = np.arange(4400.0)[None, :]
            if name == "short":
                d.createVariable("x", "i1", ("x",))[:] = np.ones(4401)
        child = subprocess.Popen([PROGRAM, "from", f"{name}.nc", f"{name}.zarr"], cwd=BUILD)
        _, child.returncode, usage = os.wait4(child.pid, 0)
        spent[name] = usage.ru_utime
        made = zarr.open_array(BUILD / f"{name}.zarr/v", mode="r")[:]
        check(f"elements of {name}", (child.returncode, bool((made[:, :4400] == np.arange(4400.0)).all()), made.shape[1]), (0, True, 4400 + (name == "short")))
    check(f"seconds {spent}", max(spent.values()) < 4 * spent["fixed"] + 1, True)


def of_hidden():
    """A variable of a group along a dimension of the group above, which the group's own of the same name hides."""
    with netCDF4.Dataset(BUILD / "hidden.nc", "w") as d:
        x, t, g = d.createDimension("x", 3), d.createDimension("t", None), d.createGroup("g")
        own, grows = g.createDimension("x", 2), g.createDimension("t", None)
        d.createVariable("root", "i4", ("x",))[:] = [1, 2, 3]
        g.createVariable("own", "i4", (own,))[:] = [1, 2]
        d.createVariable("steps", "i4", (t,))[:] = range(5)
        # The package takes the lengths of the nearest dimensions for those of these variables.
        g.createVariable("outer", "i4", (x,))
        g.createVariable("short", "i4", (grows,))[:] = [1, 2]
        g.createVariable("both", "i4", (t, own))
        g.createGroup("h").createVariable("far", "i4", (t, x))
    for version in 3, 2:
        run(PROGRAM, "from", "hidden.nc", "hidden.zarr", "--overwrite", "--format", version)
        check(f"CDL of format {version}", run(PROGRAM, "dump", "hidden.zarr", "-n", "hidden"), run("ncdump", "hidden.nc"))


def of_names():
    """Variables and groups with names that Zarr does not allow are told and left out."""
    with netCDF4.Dataset(BUILD / "names.nc", "w") as d:
        d.createDimension("x", 3)
        for group in d, d.createGroup("g"), d.createGroup("__h"):
            for name in "a", "a\\b", "g\\b", "zarr.json", "z":
                group.createVariable(name, "i4", ("x",))[:] = [1, 2, 3]
    told = run(PROGRAM, "from", "names.nc", "names.zarr").splitlines()
    check("what is left out", [line.split(": left out")[0] for line in told], ["a\\b", "g\\b", "zarr.json", "g/a\\b", "g/g\\b", "g/zarr.json", "__h"])
    check("what is kept", sorted(name for name, _ in zarr.open_group(BUILD / "names.zarr", mode="r").members(max_depth=None)), ["a", "g", "g/a", "g/z", "z"])
    # xarray names a variable without a name so.
    xr.DataArray([1.0, 2.0], dims="x").to_netcdf(BUILD / "unnamed.nc")
    for version in 3, 2:
        check("what is told", run(PROGRAM, "from", "unnamed.nc", "unnamed.zarr", "--overwrite", "--format", version), "")
        check("a name of xarray", xr.open_dataarray(BUILD / "unnamed.zarr", engine="zarr", consolidated=False).values.tolist(), [1, 2])


def fixed(d):
    d.createDimension("x", 500)
    for name in "first", "second":
        d.createVariable(name, "f8", ("x",))[:] = np.arange(500.0)


def odd_end(d):
    d.createDimension("x", 3)
    for name in "first", "second":
        d.createVariable(name, "i1", ("x",))[:] = [1, 2, 3]


def one_of_records(kind):
    def define(d):
        d.createDimension("t", None)
        d.createDimension("x", 3)
        d.createVariable("first", kind, ("t", "x"))[:] = np.arange(1, 16).reshape(5, 3)
    return define


def many_of_records(d):
    d.title = "odd"
    d.createDimension("t", None)
    for i in range(9):
        v = d.createVariable(f"v{i}", "i1", ("t",))
        v.units, v[:] = "m", 1
    d.createVariable("last", "i2", ("t",))[:] = np.ones(1000)


def no_records(d):
    d.createDimension("t", None)
    d.createVariable("first", "i2", ("t",))
    d.createVariable("second", "f8", ("t",))


def no_variables(d):
    d.title = "nothing"
    d.createDimension("x", 500)


def of_short():
    """What a classic file that was cut off has is read, and told to be short; a whole one is not."""
    cases = [
        # How the file is made, and the padding at its end.
        (fixed, 0), (odd_end, 1), (many_of_records, 2), (no_records, None), (no_variables, None),
        (one_of_records("i1"), 0), (one_of_records("i2"), 0), (one_of_records("S1"), 0), (one_of_records("f8"), 0),
    ]
    place = BUILD / "short.nc"
    for model in "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA":
        for define, padding in cases:
            with netCDF4.Dataset(place, "w", format=model) as d:
                define(d)
            whole = place.read_bytes()

            def told_of(length, status=0):
                place.write_bytes(whole[:length])
                return run(PROGRAM, "from", "short.nc", "short.zarr", "--overwrite", status=status)

            check("a whole file", told_of(len(whole)), "")
            for length in (4, 7, 20, 40, 60):
                check("a cut header", told_of(length, status=1), "ozarr: short.nc: it was cut off in its header\n")
            if padding is None:
                check("a header without its end", told_of(len(whole) - 1, status=1), "ozarr: short.nc: it was cut off in its header\n")
                continue
            least = len(whole) - padding
            check("a file without padding at its end", told_of(least), "")
            for length in (least - 1, least * 3 // 4) if least > 1000 else (least - 1,):
                wanted = f"/: the file has {length} bytes, expected {least} or more: it was cut off, and what it lacks is 0\n"
                check(f"what is told of {model}", told_of(length), wanted)
            if define is fixed:
                check("what is there", zarr.open_array(BUILD / "short.zarr/first", mode="r")[:].tolist(), list(range(500)))
    # The number of records is unknown.
    with netCDF4.Dataset(place, "w", format="NETCDF3_CLASSIC") as d:
        many_of_records(d)
    whole = place.read_bytes()
    place.write_bytes(whole[:4] + b"\xff" * 4 + whole[8:])
    told = run(PROGRAM, "from", "short.nc", "short.zarr", "--overwrite", status=1)
    check("a stream", told, "ozarr: short.nc: it was written as a stream, which states no number of records\n")


def of_much():
    """A file larger than the memory that is allowed; and Ctrl-C and a kill, after which nothing is there, and the same command makes all of it."""
    with netCDF4.Dataset(BUILD / "much.nc", "w") as d:
        d.createDimension("time", 96)
        d.createDimension("x", 1 << 20)
        v = d.createVariable("v", "f8", ("time", "x"), zlib=True, complevel=1, chunksizes=(1, 1 << 20))
        for i in range(0, 96, 8):
            v[i:i + 8] = i
    child = subprocess.Popen([PROGRAM, "from", "much.nc", "much.zarr"], cwd=BUILD)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    check(f"memory: {usage.ru_maxrss >> 10} MiB", (status, usage.ru_maxrss < 450 << 10), (0, True))
    print(f"768 MiB through {usage.ru_maxrss >> 10} MiB")
    check("elements", zarr.open_group(BUILD / "much.zarr", mode="r")["v"][:, 7].tolist(), [float(i // 8 * 8) for i in range(96)])
    shutil.rmtree(BUILD / "much.zarr")
    for sent in signal.SIGINT, signal.SIGKILL:
        child = subprocess.Popen([PROGRAM, "from", "much.nc", "much.zarr"], cwd=BUILD, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        while not (BUILD / "much.zarr/v/zarr.json").exists():
            time.sleep(0.01)
        child.send_signal(sent)
        err = child.communicate()[1]
        check("how it ended", (child.returncode, "the same command begins anew" in err), (-sent, sent == signal.SIGINT))
        run(PROGRAM, "tree", "much.zarr", status=1)
    run(PROGRAM, "from", "much.nc", "much.zarr")
    check("elements of the second run", zarr.open_group(BUILD / "much.zarr", mode="r")["v"][:, 7].tolist(), [float(i // 8 * 8) for i in range(96)])
    run(PROGRAM, "verify", "much.zarr")
    for name in "much.nc", "much.zarr":
        place = BUILD / name
        shutil.rmtree(place) if place.is_dir() else place.unlink()


run_parts(of_netcdf, of_options, of_hdf5, of_fills_of_hdf5, of_types, of_unwritten, of_odd, of_odd_hdf5, of_missing_in_format_2, of_failures, of_fills, of_records, of_columns, of_hidden, of_names, of_short, of_much)
