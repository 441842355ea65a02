#!/usr/bin/env python3
"""Unmodified programs of netCDF on Zarr: each command runs on files of netCDF-4 and on Zarr with the same content, by libozarr_netcdf.so;
what ncdump says of both results is to be the same.

    netcdf_format.py --prefix PREFIX --build FOLDER [--deep] [--sanitized LIBRARY]

LIBRARY is one that was built with the sanitizers of addresses and of undefined behaviour: any word of them is a failure.
"""
import argparse, errno, functools, http.server, inspect, json, os, re, shutil, struct, subprocess, sys, textwrap, threading, warnings
from pathlib import Path

import netCDF4
import numpy as np
import xarray as xr
import zarr

import netcdf_beside

FAILED = []
RAN = 0


def check(name, right, why=""):
    global RAN
    RAN += 1
    if not right:
        FAILED.append(name)
        print(f"FAILED {name}: {why}")


def run(command, cwd, **environment):
    done = subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def dump(path, cwd, *flags):
    """ncdump without the name, and without what programs note about themselves."""
    code, out, err = run(["ncdump", *flags, path], cwd, **PRELOAD)
    lines = [line for line in out.splitlines()[1:] if not re.search(r":(history|history_of\w+|NCO|CDO|CDI|_NCProperties|_SuperblockVersion|_IsNetcdf4) =", line)]
    return lines if code == 0 else [f"ncdump failed: {err}"]


def compare(name, cwd, first, second, *, sort=False, flags=()):
    a, b = dump(first, cwd, *flags), dump(second, cwd, *flags)
    if sort:
        a, b = sorted(a), sorted(b)
    difference = next((f"{x!r} and {y!r}" for x, y in zip(a, b) if x != y), f"{len(a)} and {len(b)} lines")
    check(name, a == b and len(a) > 1, difference)


def everything(path):
    """A file with all that netCDF-4 has and Zarr can say."""
    with netCDF4.Dataset(path, "w") as d:
        for name, length in ("time", None), ("lat", 3), ("lon", 4), ("spare", 9), ("len", 5):
            d.createDimension(name, length)
        v = d.createVariable("time", "f8", ("time",))
        v.units, v[:] = "days since 2000-01-01", [0, 1, 2]
        v = d.createVariable("lat", "f8", ("lat",))
        v.units, v[:] = "degrees_north", [1, 2, 3]
        v = d.createVariable("t", "f4", ("time", "lat", "lon"), fill_value=-9, zlib=True, shuffle=True, complevel=4)
        v[:] = np.arange(36).reshape(3, 3, 4)
        v[1, 1, 1] = np.ma.masked
        numbers = {"valid_range": np.array([0, 300.5], "f4"), "flags": np.array([1, 2, -3], "i1"), "u8": np.uint8(200), "u16": np.uint16(1), "u64": np.uint64(2**63 + 5),
                   "missing_value": np.float32("nan"), "i32": np.int32(5), "one": np.array([7], "i8"), "tenth": np.float32(0.1), "third": 1 / 3, "i16": np.array([1, 2], "i2")}
        for name, value in (numbers | {"strs": ["a", "b"], "empty": "", "nul": "a\0b", "umlaut": "Größe"}).items():
            v.setncattr(name, value)
        v.setncattr_string("str", "one")
        d.createVariable("name", "S1", ("lat", "len"))[:] = netCDF4.stringtochar(np.array(["abc", "de", "fghij"], "S5"))
        for kind in "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8":
            d.createVariable(f"v_{kind}", kind, ("lon",))[:] = [0, 1, 2, np.iinfo(kind).max if kind[0] in "iu" else 1e30]
        d.createVariable("sum", "i8", ("lon",), fletcher32=True, chunksizes=(2,))[:] = [1, 2, 3, 2**53 + 1]
        d.createVariable("big", ">i4", ("lon",), endian="big")[:] = [1, 2, 3, 255]
        d.createVariable("w", str, ("lat",))[:] = np.array(["x", "yy", "zéz"], dtype=object)
        d.createVariable("scalar", "i4", ())[:] = 42
        v = d.createVariable("packed", "i2", ("lon",))
        v.set_auto_maskandscale(False)
        v.scale_factor, v.add_offset, v[:] = np.float32(0.01), 273.15, [1, 2, 3, 30000]
        d.createVariable("unwritten", "i4", ("time",))
        d.title, d.n, d.q = "all", np.int32(5), np.float32(1.5)
        g = d.createGroup("a")
        g.createDimension("z", 2)
        g.createDimension("grows", None)
        g.note = "in a"
        p = g.createVariable("p", "f4", ("time", "z", "grows"))
        p.x, p[:3, :, :2] = np.int16(1), np.arange(12).reshape(3, 2, 2)
        g.createVariable("lat", "f8", ("lat",))[:] = [9, 8, 7]
        g.createGroup("b").createVariable("q", "i4", ("z",))[:] = [4, 5]
        d.createGroup("empty")


def climate(path, seed, plain=False):
    """Five days of two fields, as climate models write them; `plain`: with nothing that only netCDF has, as programs of Zarr write them."""
    with netCDF4.Dataset(path, "w") as d:
        for name, length in ("time", None), ("lat", 18), ("lon", 36):
            d.createDimension(name, length)
        axes = {"time": (np.arange(5.0) + 5 * seed, "days since 2000-01-01 00:00:00", "time"), "lat": (np.linspace(-85, 85, 18), "degrees_north", "latitude"),
                "lon": (np.arange(36) * 10.0, "degrees_east", "longitude")}
        for name, (values, units, standard) in axes.items():
            v = d.createVariable(name, "f8", (name,))
            v.units, v.standard_name = units, standard
            if name == "time":
                v.calendar, v.axis = "standard", "T"
            v[:] = values
        for name in "tas", "pr":
            v = d.createVariable(name, "f4", ("time", "lat", "lon"), fill_value=None if plain else -999.0)
            v.units, v.long_name = "K", name
            if plain:
                v.threshold = 271.5
            field = np.random.default_rng(seed).normal(280, 10, (5, 18, 36)).astype("f4")
            field[:, 3, 4] = 0 if plain else -999
            v[:] = field
        d.title = "t"


def by_nccopy(source, target):
    check(f"nccopy to {target.name}", run(["nccopy", source, target], target.parent, **PRELOAD)[0] == 0)


def by_ozarr(source, target):
    code, _, err = run([PROGRAM, "from", source, target], target.parent)
    check(f"ozarr from {source.name}", code == 0, err)


def by_xarray(version):
    def write(source, target):
        with xr.open_dataset(source, decode_cf=False) as data:
            data.to_zarr(target, zarr_format=version)
    return write


def by_zarr_python(version):
    def write(source, target):
        with netCDF4.Dataset(source) as nc:
            nc.set_auto_maskandscale(False)
            group = zarr.create_group(target, zarr_format=version, attributes=dict(nc.__dict__))
            for name, var in nc.variables.items():
                named = {"dimension_names": var.dimensions} if version == 3 else {}
                array = group.create_array(name, data=np.asarray(var[:]), fill_value=None, **named)
                array.attrs.update({k: v.item() if isinstance(v, np.generic) else v for k, v in var.__dict__.items()})
                if version == 2:
                    array.attrs["_ARRAY_DIMENSIONS"] = list(var.dimensions)
    return write


def by_netcdf4(source, target):
    """NCZarr of the wheel netCDF4, whose dimensions may grow."""
    with netCDF4.Dataset(source) as nc, netCDF4.Dataset(f"file://{target}#mode=nczarr,file", "w") as made:
        for name, dim in nc.dimensions.items():
            made.createDimension(name, None if dim.isunlimited() else len(dim))
        for name, var in nc.variables.items():
            copy = made.createVariable(name, var.dtype, var.dimensions, fill_value=getattr(var, "_FillValue", None))
            copy.setncatts({k: v for k, v in var.__dict__.items() if k != "_FillValue"})
            copy[:] = var[:]
        made.title = nc.title


def by_old_nczarr(source, target):
    """NCZarr of the distribution's nccopy, whose dimensions are fixed."""
    code, _, err = run(["nccopy", source, f"file://{target}#mode=nczarr,file"], target.parent)
    check(f"nccopy to NCZarr, {target.name}", code == 0, err)


# Who writes the stores, and the files of netCDF-4 that hold the same; NCO's records want a dimension that may grow, as the time axis may in
# all but one, which records that it does not.
WRITERS = {"zarr": ("in", by_nccopy), "ozarr": ("in", by_ozarr), "nczarr": ("in", by_netcdf4), "nczarr_old": ("fixed", by_old_nczarr),
           "xarray2": ("xarray", by_xarray(2)), "xarray3": ("xarray", by_xarray(3)), "python2": ("plain", by_zarr_python(2)), "python3": ("plain", by_zarr_python(3))}
# The kinds whose stores have no order of dimensions and variables but that of their names.
BY_NAME = {"xarray", "plain"}
# A command on the two files of a writer, whether only --deep runs it, and whether it wants records.
COMMANDS = [
    ("ncks", "ncks -O -h --no_tmp_fl {0} {out}", False, False),
    ("ncks slab", "ncks -O -h -v tas -d time,1,3 -d lat,2,,3 {0} {out}", False, False),
    ("ncks record", "ncks -O -h --mk_rec_dmn time {0} {out}", True, False),
    ("ncra", "ncra -O -h {0} {1} {out}", False, True),
    ("ncrcat", "ncrcat -O -h {0} {1} {out}", False, True),
    ("ncatted", "ncatted -O -h -a units,tas,m,c,degC -a new,tas,c,f,1.5 -a title,global,d,, {copy}", False, False),
    ("ncrename", "ncrename -O -h -v tas,temp -d lat,y {copy}", True, False),
    ("ncap2", "ncap2 -O -h -s x=tas*2 {0} {out}", True, False),
    ("ncwa", "ncwa -O -h -a lat {0} {out}", True, False),
    ("ncdiff", "ncdiff -O -h {0} {1} {out}", True, False),
    ("ncea", "ncea -O -h {0} {1} {out}", True, False),
    ("ncpdq", "ncpdq -O -h -a lon,lat {0} {out}", True, False),
    ("ncks append", "ncks -A -h --no_tmp_fl -v pr {1} {copy}", True, False),
    ("nccopy deflated", "nccopy -d 3 -s {0} {out}", False, False),
    ("nccopy chunked", "nccopy -c time/2,lat/9,lon/12 {0} {out}", True, False),
    *((f"cdo {operator}", f"cdo -s -O -f nc4 {operator} {{cdo}} {{out}}", deep, False) for deep, operators in (
        (False, "timmean selname,tas fldmean seltimestep,2/4"),
        (True, "copy zonmean mermean addc,3 mulc,2 yearmean timstd remapbil,r12x6 invertlat daymax monmean sellonlatbox,0,90,-30,30 gtc,280 settaxis,2001-01-01,12:00:00,1day"))
      for operator in operators.split()),
]
# What runs on the stores of every writer, without --deep, too.
ON_ALL = {"ncks slab", "ncrcat", "ncatted", "nccopy deflated", "cdo timmean"}


def prepare(build):
    """Two files of each kind, and the stores that hold the same."""
    for i in 0, 1:
        climate(build / f"in{i}.nc", i)
        climate(build / f"plain{i}.nc", i, plain=True)
        run(["ncks", "-O", "-h", "--fix_rec_dmn", "time", f"in{i}.nc", f"fixed{i}.nc"], build)
        with xr.open_dataset(build / f"in{i}.nc", decode_cf=False) as data:
            data.to_netcdf(build / f"xarray{i}.nc", unlimited_dims=("time",))
        for writer, (kind, write) in WRITERS.items():
            target = store_of(writer, i)
            write(build / f"{kind}{i}.nc", build / target)
            compare(f"ncdump {target}", build, f"{kind}{i}.nc", target, sort=kind in BY_NAME)


def store_of(writer, i):
    return f"in{i}.zarr" if writer == "zarr" else f"{writer}_in{i}.zarr"


def attempt(build, line, name, places):
    """Runs a command on two files or stores; gives its status, what it printed, and where the result is."""
    ending = places[0].rsplit(".", 1)[1]
    stem = f"{re.sub(r'[^a-z0-9]', '_', name)}_{places[0].rsplit('.', 1)[0][:-1]}"
    result = f"{stem}_copy.{ending}" if "{copy}" in line else f"{stem}.{ending}"
    if "{copy}" in line:
        (shutil.copytree if ending == "zarr" else shutil.copy)(build / places[0], build / result)
    cdo = f"file://{build}/{places[0]}#mode=zarr,file" if ending == "zarr" else places[0]
    code, _, err = run(line.format(*places, out=result, copy=result, cdo=cdo).split(), build, **PRELOAD)
    return code, err, result


def programs(build, deep):
    """Each command ends on the stores of each writer as it does on netCDF-4, with the same result."""
    prepare(build)
    for name, line, only_deep, records in COMMANDS:
        if only_deep and not deep:
            continue
        done = {}
        for writer, (kind, _) in WRITERS.items():
            if not deep and writer != "zarr" and name not in ON_ALL:
                continue
            if kind not in done:
                done[kind] = attempt(build, line, name, [f"{kind}{i}.nc" for i in (0, 1)])
            wanted, said, file = done[kind]
            check(f"{name} on {kind}0.nc", (wanted == 0) == (kind != "fixed" or not records), said[-300:])
            code, err, store = attempt(build, line, name, [store_of(writer, i) for i in (0, 1)])
            check(f"{name} on the store of {writer}", code == wanted, err[-300:])
            if not code:
                # netCDF-4 moves attributes that grow to the end.
                compare(f"{name} on the store of {writer}", build, file, store, sort="{copy}" in line or kind in BY_NAME)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for version in 2, 3:
            with xr.open_dataset(build / f"ncatted_xarray{version}_in_copy.zarr", engine="zarr") as data:
                check(f"xarray's store {version} by xarray after ncatted", data["tas"].attrs["units"] == "degC" and data["tas"].attrs["new"] == 1.5 and "title" not in data.attrs, data)


def copies(build):
    """All that netCDF-4 has, through both directions, CDL, and xarray."""
    everything(build / "all.nc")
    for command, *names in (["nccopy {} {}", "all.nc", "all.zarr"], ["nccopy {} {}", "all.zarr", "back.nc"], ["nccopy {} {}", "all.zarr", "again.zarr"]):
        code, _, err = run(command.format(*names).split(), build, **PRELOAD)
        check(f"nccopy {names}", code == 0, err)
        compare(f"nccopy {names}", build, "all.nc", names[1])
    compare("storage of a copy", build, "back.nc", "all.zarr", flags=["-hs"])
    code, text, _ = run(["ncdump", "in0.zarr"], build, **PRELOAD)
    (build / "in.cdl").write_text(text)
    for kind in "nc", "zarr":
        code, _, err = run(["ncgen", "-4", "-o", f"cdl.{kind}", "in.cdl"], build, **PRELOAD)
        check(f"ncgen to {kind}", code == 0, err)
    compare("ncgen", build, "cdl.nc", "cdl.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in "all.zarr", "in0.zarr", "ncrcat_in.zarr", "cdl.zarr":
            with xr.open_dataset(build / name, engine="zarr") as data:
                data.load()
        for group in "a", "a/b":
            with xr.open_dataset(build / "all.zarr", group=group, engine="zarr") as ours, xr.open_dataset(build / "all.nc", group=group) as nc:
                xr.testing.assert_identical(ours.load(), nc.load())
        with xr.open_dataset(build / "all.zarr", engine="zarr") as ours, xr.open_dataset(build / "all.nc") as nc:
            xr.testing.assert_identical(ours["packed"].load(), nc["packed"].load())
        with xr.open_dataset(build / "in0.zarr", engine="zarr") as ours, xr.open_dataset(build / "in0.nc") as nc:
            xr.testing.assert_identical(ours.load(), nc.load())
            ours.to_netcdf(build / "from_xarray.nc")
    check("xarray reads what was written", True)


def others(build):
    """Stores of xarray, in both formats."""
    warnings.simplefilter("ignore")
    data = xr.Dataset(
        {"T": (("time", "lat", "lon"), np.arange(24, dtype="f4").reshape(2, 3, 4), {"units": "K", "valid_range": [0, 100], "x": 1.5}), "n": ((), np.int32(7)),
         "s": (("lat",), np.array(["a", "bc", "déf"], dtype=object)), "w": (("lon",), np.array([1, 2, 3, 4], dtype="i2"), {"_FillValue": -1})},
        coords={"time": [0, 1], "lat": [1.0, 2.0, 3.0]}, attrs={"title": "x", "k": 3, "l": ["a", "b"]})
    data.to_netcdf(build / "xarray.nc")
    for version in 2, 3:
        data.to_zarr(build / f"xarray{version}.zarr", zarr_format=version)
        compare(f"xarray's format {version}", build, "xarray.nc", f"xarray{version}.zarr", sort=True)


def types(build):
    """Compound, enum, opaque and vlen types: through CDL and copies, as zarr-python has them, and of its own arrays."""
    source = str(Path(__file__).parent / "netcdf_types.cdl")
    for command, first, second in [
            ("ncgen -4 -o {1} {0}", source, "types.nc"), ("ncgen -4 -o {1} {0}", source, "types.zarr"), ("nccopy {0} {1}", "types.nc", "types_copy.zarr"),
            ("nccopy {0} {1}", "types.zarr", "types_back.nc"), ("nccopy {0} {1}", "types_copy.zarr", "types_again.zarr")]:
        code, _, err = run(command.format(first, second).split(), build, **PRELOAD)
        check(f"{command} {second}", code == 0, err[-300:])
        compare(f"types in {second}", build, "types.nc", second)
    warnings.simplefilter("ignore")
    group = zarr.open_group(build / "types.zarr")
    for field, values in {"day": [1, 2, 3], "temp": [1.5, 2.5, 3.5], "c": [b"a", b"b", b"c"], "sky": [0, 1, 2]}.items():
        check(f"{field} by zarr-python", (group["obs"][1][field] == values).all(), group["obs"][1][field])
    check("an enumeration by zarr-python", dict(group["sky"].attrs)["flag_meanings"] == "clear cumulus stratus missing" and list(group["sky"][:]) == [0, 127, 2])
    check("opaque bytes by zarr-python", group["raw"][0].tobytes() == bytes(range(1, 7)))
    code, _, err = run(["nccopy", "types.nc", "types2.zarr"], build, **PRELOAD, OZARR_NETCDF_SPEC="format=2")
    check("format 2 refuses them", code != 0 and "netcdf-4 operation" in err, err)
    theirs = zarr.create_group(build / "theirs.zarr")
    for name, data in {"s": np.array([(1, 2.5, b"x")], dtype=[("a", "i2"), ("b", "f8"), ("c", "S1")]), "z": np.array([1 + 2j], "c8"), "v": np.array([b"ab"], "V2")}.items():
        theirs.create_array(name, data=data)
    lines = [line.strip() for line in dump("theirs.zarr", build)]
    for wanted in "short a ;", "double b ;", "s_t s(_Anonymous_Dim_1) ;", 's = {1, 2.5, "x"} ;', "complex64 z(_Anonymous_Dim_1) ;", "z = {1, 2} ;", "v = 0X6162 ;":
        check(f"zarr-python's {wanted}", wanted in lines, "\n".join(lines))


GROUP_TYPES = """netcdf group_types {
dimensions: x = 2 ;
group: g {
  types: byte enum sky_t {clear = 0, cloudy = 1} ; compound in_t { int n ; sky_t sky ; } ; compound obs_t { in_t a ; double d ; } ;
  variables: sky_t sky(x) ; obs_t obs(x) ; obs_t obs:one = {{1, cloudy}, 2.5} ; int n(x) ;
  data: sky = clear, cloudy ; obs = {{1, cloudy}, 2.5}, {{2, clear}, 3.5} ; n = 1, 2 ;
  group: below { variables: obs_t v(x) ; data: v = {{3, cloudy}, 4.5}, {{4, clear}, 5.5} ; }
}
group: other { variables: /g/obs_t w(x) ; /g/sky_t w:sky = cloudy ; data: w = {{5, cloudy}, 6.5}, {{6, clear}, 7.5} ; }
}
"""


def renamed_types(build):
    """A group with types is renamed, and all variables and attributes of these types stay what they are, in all groups, as if it had had that name from
    the beginning (HDF5 loses those that come before the group then); also where a kill left the records as they were."""
    for kind, definitions in ("zarr", GROUP_TYPES), ("nc", GROUP_TYPES.replace("group: g ", "group: h ").replace("/g/", "/h/")):
        (build / "group_types.cdl").write_text(definitions)
        code, _, err = run(["ncgen", "-4", "-o", f"group_types.{kind}", "group_types.cdl"], build, **PRELOAD)
        check(f"ncgen group_types.{kind}", code == 0, err)
    shutil.copytree(build / "group_types.zarr", build / "killed_types.zarr")
    code, _, err = run(["ncrename", "-O", "-h", "-g", "g,h", "group_types.zarr"], build, **PRELOAD)
    check("ncrename of a group with types", code == 0, err)
    compare("types of a renamed group", build, "group_types.nc", "group_types.zarr")
    (build / "killed_types.zarr/g").rename(build / "killed_types.zarr/h")
    root = build / "killed_types.zarr/zarr.json"
    root.write_text(json.dumps({k: v for k, v in json.loads(root.read_text()).items() if k != "consolidated_metadata"}))
    # Its record has no place for the new name, so that the group comes last.
    compare("types of a group whose renaming was killed", build, "group_types.nc", "killed_types.zarr", sort=True)


RENAMED = """
import netCDF4, sys
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createGroup("g").createVariable("v", "i4", ())[...] = 1
    d.createGroup("g/below").createVariable("w", "i4", ())[...] = 2
    d.sync()
    d.renameGroup("g", "h")
"""


def once(pairs):
    assert len(pairs) == len(dict(pairs)), [name for name, _ in pairs]
    return dict(pairs)


def renamed_group(build):
    """The documents of a group of a new file that is renamed after nc_sync have each member once, and tell of all below them."""
    code, _, err = run([sys.executable, "-c", RENAMED, "renamed.zarr"], build, **PRELOAD)
    check("a group is renamed", code == 0, err[-500:])
    for path, below in ("", {"h", "h/v", "h/below", "h/below/w"}), ("h", {"v", "below", "below/w"}), ("h/below", {"w"}):
        try:
            document = json.loads((build / "renamed.zarr" / path / "zarr.json").read_text(), object_pairs_hook=once)
            entries = document["consolidated_metadata"]["metadata"]
            check(f"what is below /{path}", set(entries) == below and not any("consolidated_metadata" in entry for entry in entries.values()), document)
        except AssertionError as twice:
            check(f"the document of /{path}", False, f"members: {twice}")


LENGTHS = """
import ctypes, sys
nc, one, length = ctypes.CDLL(None), ctypes.c_int(), ctypes.c_size_t()
assert nc.nc_open(sys.argv[1].encode(), 0, ctypes.byref(one)) == 0
for of in sys.argv[2:]:
    variable, attribute = of.encode().split(b":")
    number = ctypes.c_int()
    assert nc.nc_inq_varid(one, variable, ctypes.byref(number)) == 0
    assert nc.nc_inq_attlen(one, number, attribute, ctypes.byref(length)) == 0
    print(length.value)
"""


def texts_of_c(build):
    """Texts that programs in C store with the NUL at their end mean the same to xarray as in netCDF, and keep their length."""
    (build / "texts.cdl").write_text(textwrap.dedent(r"""
        netcdf texts { dimensions: t = 2 ;
        variables: double t(t) ; t:units = "days since 2000-01-01\000" ; t:calendar = "360_day\000" ; float lat(t) ; float a(t) ; a:coordinates = "lat\000" ; a:units = "K\000\000" ;
        data: t = 58, 59 ; lat = 3, 4 ; a = 1, 2 ; }"""))
    for kind, spec in (("nc", None), ("zarr", "format=3"), ("zarr", "format=2")):
        code, _, err = run(["ncgen", "-4", "-o", f"texts.{kind}", "texts.cdl"], build, **PRELOAD, **({"OZARR_NETCDF_SPEC": spec} if spec else {}))
        check(f"ncgen texts.{kind}, {spec}", code == 0, err)
        if spec:
            with xr.open_dataset(build / "texts.zarr", engine="zarr") as ours, xr.open_dataset(build / "texts.nc") as nc:
                xr.testing.assert_identical(ours.load(), nc.load())
            code, _, err = run(["nccopy", "texts.zarr", "back.nc"], build, **PRELOAD)
            check(f"nccopy texts.zarr, {spec}", code == 0, err)
            for path in "texts.nc", "texts.zarr", "back.nc":
                code, out, err = run([sys.executable, "-c", LENGTHS, path, "t:calendar", "a:units"], build, **with_netcdf())
                check(f"the lengths of texts in {path}, {spec}", (code, out.split()) == (0, ["8", "3"]), out + err)


def formats(build):
    """Where every file is Zarr, programs find the format that they asked for, with its rules."""
    for kind in "classic", "64-bit offset", "cdf5", "netCDF-4", "netCDF-4 classic model":
        name = kind.replace(" ", "_") + ".nc"
        code, _, err = run(["ncgen", "-k", kind, "-o", name, "in.cdl"], build, **PRELOAD, OZARR_NETCDF="always")
        check(f"ncgen -k {kind}", code == 0 and (build / name / "zarr.json").exists(), err)
        check(f"the format {kind}", run(["ncdump", "-k", name], build, **PRELOAD)[1].strip() == kind, run(["ncdump", "-k", name], build, **PRELOAD))
        compare(f"the file of the format {kind}", build, "in0.nc", name)


def large_programs(build):
    """R, GDAL and ncview, as the distribution has them, write and show what netCDF-4 has."""
    script = str(Path(__file__).parent / "netcdf_model.R")
    answers = [run(["Rscript", script, f"r.{kind}"], build, **PRELOAD) for kind in ("nc", "zarr")]
    check("R reads what it wrote", answers[0][:2] == answers[1][:2] and answers[0][0] == 0, answers)
    compare("R by ncdf4", build, "r.nc", "r.zarr")
    for kind in "nc", "zarr":
        code, _, err = run(["gdal_translate", "-q", "-of", "netCDF", "-co", "FORMAT=NC4", "NETCDF:in0.nc:tas", f"gdal.{kind}"], build, **PRELOAD)
        # GDAL opens again what it wrote, and takes files only: it ends with an error, with all of it written.
        check(f"GDAL writes {kind}", code == (kind == "zarr"), err)
    compare("GDAL", build, "gdal.nc", "gdal.zarr")
    # By its own driver GDAL reads format 2, and its netCDF driver writes it back; the rows of its images begin at the top.
    check("nccopy to format 2", run(["nccopy", "in0.nc", "format2.zarr"], build, **PRELOAD, OZARR_NETCDF_SPEC="format=2")[0] == 0)
    with netCDF4.Dataset(build / "in0.nc") as nc:
        nc.set_auto_mask(False)
        for step in range(5):
            band, wanted = f'ZARR:"format2.zarr":/tas:{step}', nc["tas"][step]
            code, _, err = run(["gdal_translate", "-q", "-of", "ENVI", band, f"band{step}.raw"], build)
            check(f"GDAL reads step {step}", code == 0 and (np.fromfile(build / f"band{step}.raw", "f4").reshape(wanted.shape) == wanted).all(), err)
            run(["gdal_translate", "-q", "-of", "netCDF", "-co", "FORMAT=NC4", band, f"band{step}.zarr"], build, **PRELOAD)
            back = zarr.open_group(build / f"band{step}.zarr", mode="r")["Band1"][:]
            check(f"GDAL writes step {step} back", (back[::-1] == wanted).all(), back)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in "r", "gdal":
            with xr.open_dataset(build / f"{name}.zarr", engine="zarr") as ours, xr.open_dataset(build / f"{name}.nc") as nc:
                for data in ours, nc:
                    data.attrs.pop("history", None)
                xr.testing.assert_identical(ours.load(), nc.load())
    # Waits for the window, and closes it: ncview that cannot read the file ends before it has one.
    shown = 'ncview "$1" & for i in $(seq 60); do sleep 0.5; xwininfo -root -tree | grep -q \'"Ncview"\' && { kill $!; exit 0; }; kill -0 $! || exit 1; done; kill $!; exit 2'
    for name, wanted in [("in0.nc", 0), ("nothing.zarr", 1), *((store_of(writer, 0), 0) for writer in WRITERS)]:
        code, out, err = run(["xvfb-run", "-a", "bash", "-c", shown, "bash", name], build, **PRELOAD)
        check(f"ncview {name}", code == wanted, (code, out[-300:], err[-300:]))


def damaged(build):
    """A damaged store is an error of netCDF, and the log says which key and what is wrong with it."""
    cases = [("the root's document", "zarr.json", lambda b: b[:40], "NetCDF: Unknown file format", "zarr.json"), ("an array's document", "tas/zarr.json", lambda b: b[:40], None, "tas/zarr.json"),
             ("a chunk", "tas/c/0/0/0", lambda b: b[:-9], "NetCDF: I/O failure", "tas/c/0/0/0"), ("a chunk's bytes", "tas/c/0/0/0", lambda b: bytes(9) + b[9:], "NetCDF: I/O failure", "tas/c/0/0/0"),
             ("a record that is a number", "zarr.json", lambda b: json.dumps((d := json.loads(b)) | {"attributes": d["attributes"] | {"_nc_model": 7}}).encode(), None, None),
             ("a type without fields", "zarr.json", lambda b: json.dumps((d := json.loads(b)) | {"attributes": d["attributes"] | {"_nc_model": {"user_types": {"t": {"class": "compound", "size": 8, "fields": []}}}}}).encode(), None, None),
             ("a name of 5,000 letters", "zarr.json", lambda b: json.dumps((d := json.loads(b)) | {"attributes": d["attributes"] | {"n" * 5000: 7}}).encode(), None, None),
             ("an unknown codec", "tas/zarr.json", lambda b: b.replace(b'"zstd"', b'"none-such"'), "NetCDF: Filter error", "none-such"), ("a type's record", "types.zarr/zarr.json", lambda b: b.replace(b'"offset": 24', b'"offset": 2400'), "NetCDF: Not a valid data type", "obs_t")]
    for number, (name, key, change, status, told) in enumerate(cases):
        store, key = (key.split("/", 1) if key.startswith("types.zarr/") else ("in0.zarr", key))
        place = build / f"damaged{number}.zarr"
        shutil.copytree(build / store, place)
        before = (place / key).read_bytes()
        (place / key).write_bytes(change(before))
        if key != "zarr.json":
            root = place / "zarr.json"
            root.write_text(json.dumps({k: v for k, v in json.loads(root.read_text()).items() if k != "consolidated_metadata"}))
        code, out, err = run(["ncdump", place.name], build, **PRELOAD, OZARR_LOG="warning")
        check(f"{name} is changed", change(before) != before)
        check(f"{name}: netCDF's error", (status or "") in err and (code != 0) == (status is not None), (code, err[-300:]))
        check(f"{name}: the log", told is None or any(told in line for line in err.splitlines() if line.startswith("ozarr")), err[-600:])


def oldest(build):
    """What the oldest NCZarr says of an array in an object that is damaged, the names of its dimensions, leaves the file readable."""
    place = build / "oldest.zarr"
    zarr.create_array(place, name="v", shape=(3,), dtype="i4", zarr_format=2)
    (place / ".nczarr").write_text("{}")
    (place / "v/.nczvar").write_text('{"dimrefs": ["/x"')
    code, out, err = run(["ncdump", "-h", place.name], build, **PRELOAD)
    check("a damaged object of the oldest NCZarr", code == 0 and "int v(" in out, (out, err[-300:]))


def unread(build):
    """A document that cannot be read is an error of netCDF for who reads and who writes: nobody would know of a variable that is left out."""
    for node in "t", "a":
        place = build / f"unread_{node}.zarr"
        shutil.copytree(build / "all.zarr", place)
        root = place / "zarr.json"
        root.write_text(json.dumps({k: v for k, v in json.loads(root.read_text()).items() if k != "consolidated_metadata"}))
        (place / node / "zarr.json").unlink()
        (place / node / "zarr.json").symlink_to("zarr.json")
        for mode in 0, 1:
            lines = f"import ctypes; print(ctypes.CDLL(None).nc_open(b'{place.name}', {mode}, ctypes.byref(ctypes.c_int())))"
            _, out, err = run([sys.executable, "-c", lines], build, LD_PRELOAD=f"{PRELOAD['LD_PRELOAD']} libnetcdf.so.19", OZARR_LOG="warning")
            check(f"the document of {node} cannot be read, mode {mode}", out == "-68\n" and f"{node}/zarr.json" in err, (out, err[-300:]))


def foreign(build):
    """A folder that this user may not enter is left out, as lost+found is, unless something says that it is a node; a document that he may not read is not."""
    def changed(name, change):
        place = build / f"foreign_{name}.zarr"
        shutil.copytree(build / "all.zarr", place)
        root = place / "zarr.json"
        document = json.loads(root.read_text())
        change(document)
        root.write_text(json.dumps(document))
        (place / "lost+found").mkdir(mode=0)
        return place

    def no_record(document):
        document["attributes"].pop("_nc_model")

    def alone(document):
        document.pop("consolidated_metadata")

    cases = {  # what of the root is taken away, the folder or document that is closed, what nc_open, or then a look for t, returns for who reads and who writes
        "recorded": (alone, "t", 13, 13),
        "recorded_group": (alone, "a", 13, 13),
        "consolidated": (no_record, "t", 0, 0),
        "in_a_group": (alone, "a/private", 0, 0),
        "document": (lambda document: (alone(document), no_record(document)), "t/zarr.json", 13, 13),
        "neither": (lambda document: (alone(document), no_record(document)), "t", -49, -49),
        "other": (alone, "private", 0, 0),
    }
    for name, (change, closed, *expected) in cases.items():
        place = changed(name, change)
        if closed.endswith("private"):
            (place / closed).mkdir()
        run(["chmod", "-R", "a+rwX", str(place)], build)
        (place / "lost+found").chmod(0)
        (place / closed).chmod(0)
        for mode, status in enumerate(expected):
            lines = f"""if True:
                import ctypes, os
                nc, i, v = ctypes.CDLL(None), ctypes.c_int(), ctypes.c_int()
                os.geteuid() or os.setuid(1101)
                status = nc.nc_open(b"{place.name}", {mode}, ctypes.byref(i))
                print(status or nc.nc_inq_varid(i, b"t", ctypes.byref(v)))"""
            _, out, err = run([sys.executable, "-c", lines], build, LD_PRELOAD=f"{PRELOAD['LD_PRELOAD']} libnetcdf.so.19", OZARR_LOG="warning")
            check(f"{closed} is closed ({name}), mode {mode}", out == f"{status}\n", (out, err[-300:]))
            listed = status == 13 or (name == "consolidated" and mode == 0)
            check(f"{closed} is closed ({name}), mode {mode}: the log", listed or "lost+found is left out" in err, err[-300:])
        for path in "lost+found", closed:
            (place / path).chmod(0o755)


def unlisted(build):
    """A folder whose files this user may not list is not taken for an empty one."""
    place = build / "unlisted.zarr"
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    place.chmod(0o333)
    lines = f"import ctypes, os; nc = ctypes.CDLL(None); os.geteuid() or os.setuid(1101); print(nc.nc_create(b'{place.name}', 0x1000, ctypes.byref(ctypes.c_int())))"
    _, out, err = run([sys.executable, "-c", lines], build, LD_PRELOAD=f"{PRELOAD['LD_PRELOAD']} libnetcdf.so.19")
    place.chmod(0o755)
    check("a folder that cannot be listed", out == "13\n" and os.listdir(place) == ["notes.txt"], (out, err[-300:], os.listdir(place)))


def hostile(build):
    """What no program writes ends no program: documents whose consolidated entries, record or codecs are of another kind than they should be."""
    def changed(name, change):
        place = build / f"hostile_{name}.zarr"
        shutil.copytree(build / "in0.zarr", place)
        document = json.loads((place / "zarr.json").read_text())
        change(document, document["consolidated_metadata"]["metadata"])
        (place / "zarr.json").write_text(json.dumps(document))
        return place.name

    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    lists = {"name": "blosc", "configuration": {"cname": [], "shuffle": {}, "clevel": [], "typesize": {}, "blocksize": 0}}
    cases = {
        "unnamed": lambda document, entries: entries.update({"": group}),
        "slashes": lambda document, entries: entries.update({"a": group, "a/": group, "a//b": group}),
        "backslash": lambda document, entries: entries.update({"p\\q": entries["tas"]}),
        "dimensions": lambda document, entries: document["attributes"].update({"_nc_model": {"dimensions": [1, {"size": 2}]}}),
        "codec": lambda document, entries: entries["tas"].update({"codecs": [entries["tas"]["codecs"][0], lists]}),
    }
    for name, change in cases.items():
        code, out, err = run(["ncdump", "-h", changed(name, change)], build, **PRELOAD)
        check(f"a document with {name}", code == 0 and "float tas(time, lat, lon) ;" in out and "group:  {" not in out and "q(time" not in out, (code, out[-300:], err[-300:]))
    session(build, "hostile_codec.zarr", 0, 'assert nc.nc_inq_var_deflate(id, var(b"tas"), ctypes.byref(number), ctypes.byref(number), ctypes.byref(number)) == 0')
    many = changed("groups", lambda document, entries: entries.update({f"g{i}": group for i in range(65536)}))
    code, _, err = run(["ncdump", "-h", many], build, **PRELOAD)
    check("more groups than IDs", code == 1 and "NetCDF: NC_MAX_DIMS exceeded" in err, (code, err[-300:]))


# Opens a store, calls, and closes it: the lines of a program in which `nc` are netCDF's functions and `id` is the file.
def with_netcdf():
    """The environment of a Python that calls netCDF-C's functions by ctypes."""
    return {**PRELOAD, "LD_PRELOAD": f"{PRELOAD['LD_PRELOAD']} libnetcdf.so.19"}


SESSION = """
import ctypes, sys
nc, id, number, length = ctypes.CDLL(None), ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
def var(name):
    assert nc.nc_inq_varid(id, name, ctypes.byref(number)) == 0
    return number.value
assert nc.nc_open(sys.argv[1].encode(), {mode}, ctypes.byref(id)) == 0
{lines}
assert nc.nc_close(id) == 0
"""


def session(build, store, mode, *lines):
    code, _, err = run([sys.executable, "-c", SESSION.format(mode=mode, lines="\n".join(lines)), store], build, **with_netcdf())
    check(f"a program calls netCDF on {store}", code == 0, (code, err[-500:]))


def theirs(build):
    """The stores of other programs stay what they are where a program of netCDF changes something else in them."""
    warnings.simplefilter("ignore")
    group = zarr.create_group(build / "pyramid.zarr", attributes={"a": {"b": 1}, "yes": True})
    for name, rows in ("0", 100), ("1", 50), ("2", 25):
        group.create_array(name, data=np.ones((rows, 8), "i2"), chunks=(10, 8), dimension_names=("y", "x"), compressors=zarr.codecs.GzipCodec())
    group.create_array("fixed", data=np.ones((4, 8), "i2"), chunks=(2, 8), dimension_names=("z", "x"), compressors=zarr.codecs.GzipCodec())
    for records in 100, 100, 101:
        lines = ['assert nc.nc_put_att_text(id, -1, b"title", 1, b"t") == 0']
        if records == 101:
            lines.append('assert nc.nc_put_vara_short(id, var(b"0"), (ctypes.c_size_t * 2)(100, 0), (ctypes.c_size_t * 2)(1, 8), (ctypes.c_short * 8)()) == 0')
        session(build, "pyramid.zarr", 1, *lines)
        shapes = [zarr.open_group(build / "pyramid.zarr", mode="r")[name].shape[0] for name in "012"]
        check("the levels of a pyramid", shapes == ([100, 50, 25] if records == 100 else [101] * 3), shapes)
    lines = [line.strip() for line in dump("pyramid.zarr", build, "-hs")]
    check("chunks of another program", 'fixed:_Storage = "chunked" ;' in lines and "fixed:_ChunkSizes = 2, 8 ;" in lines, lines)
    session(build, "pyramid.zarr", 1, 'assert nc.nc_rename_att(id, -1, b"a", b"c") == 0', 'assert nc.nc_rename_att(id, -1, b"yes", b"no") == 0')
    attributes = dict(zarr.open_group(build / "pyramid.zarr", mode="r").attrs)
    check("attributes that are renamed", attributes["c"] == {"b": 1} and attributes["no"] is True, attributes)


BY_API = """
import ctypes, sys
oz, ds, t, steps = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
oz.ozarr_last_error.restype, oz.ozarr_array_node.restype = ctypes.c_char_p, ctypes.c_void_p
def call(name, *given):
    assert getattr(oz, "ozarr_" + name)(*given) == 0, oz.ozarr_last_error()
call("dataset_create", b"api.zarr", 3, 0, ctypes.byref(ds))
for time, x, name in (b"time", b"x", b"a"), (b"later", b"y", b"b"):
    call("dataset_define_time", ds, time, ctypes.c_int64(0), ctypes.c_int64(0), b"hours since 2026-01-01", None, None)
    call("dataset_define_dimension", ds, x, ctypes.c_int64(3))
    call("dataset_define_variable", ds, name, 11, 2, (ctypes.c_char_p * 2)(*((time, x) if name == b"a" else (x, time))), None)
call("dataset_define_time", ds, b"fixed", ctypes.c_int64(2), ctypes.c_int64(0), b"days since 2026-01-01", None, ctypes.byref(t))
call("attr_set_string", ctypes.c_void_p(oz.ozarr_array_node(t)), b"units", b"days")
for time in b"time", b"later":
    call("series_open", ds, time, ctypes.c_int64(-1), ctypes.c_int64(0), ctypes.c_size_t(0), ctypes.byref(steps))
    for i in range(4):
        call("series_step", steps, ctypes.c_double(i), ctypes.c_int64(0), None, None)
    call("series_close", steps)
call("dataset_close", ds)
"""


def long_names(build):
    """An attribute whose name is longer than netCDF has room for is left out, and stays in the store when another one changes."""
    warnings.simplefilter("ignore")
    for version in 2, 3:
        for consolidated in False, True:
            store, name = f"long_names{version}{consolidated}.zarr", "long" * 75
            group = zarr.create_group(build / store, zarr_format=version, attributes={name: 1, "a": 2})
            group.create_array("v", data=np.ones(4, "i4"), attributes={name: 3, "b": 4})
            if consolidated:
                zarr.consolidate_metadata(build / store)
            code, out, err = run(["ncdump", "-h", store], build, **PRELOAD)
            check(f"ncdump {store}", code == 0 and ":a = 2" in out and "v:b = 4" in out and "long" not in out.replace(store[:-5], ""), (code, out, err))
            session(build, store, 1, *(f'assert nc.nc_put_att_text(id, {var}, b"new", 1, b"t") == 0' for var in ("-1", 'var(b"v")')))
            group = zarr.open_group(build / store, mode="r", use_consolidated=False)
            kept = group.attrs[name], group.attrs["new"], group["v"].attrs[name], group["v"].attrs["new"]
            check(f"long names stay in {store}", kept == (1, "t", 3, "t"), kept)


def continued(build, prefix):
    """A program of netCDF adds records to the dataset of a program of ozarr: its time axis may grow where it is the first dimension of all variables."""
    library = next(path for path in prefix.glob("lib*/libozarr.so"))
    code, _, err = run([sys.executable, "-c", BY_API, library], build)
    check("a dataset by ozarr's own functions", code == 0, err[-500:])
    grows = [line.strip() for line in dump("api.zarr", build, "-h") if "UNLIMITED" in line]
    check("time axes that may grow", grows == ["time = UNLIMITED ; // (4 currently)"], grows)
    one = "(ctypes.c_size_t * 2)(4, 0), (ctypes.c_size_t * 2)(1, 3), (ctypes.c_float * 3)(1, 2, 3)"
    session(build, "api.zarr", 1, f'assert nc.nc_put_vara_float(id, var(b"a"), {one}) == 0', 'assert nc.nc_put_vara_longlong(id, var(b"time"), (ctypes.c_size_t * 1)(4), (ctypes.c_size_t * 1)(1), (ctypes.c_longlong * 1)(4)) == 0',
            f'assert nc.nc_put_vara_float(id, var(b"b"), {one}) != 0')
    with xr.open_dataset(build / "api.zarr", engine="zarr", decode_times=False) as data:
        check("records behind those of ozarr", data["a"].values[4:].tolist() == [[1, 2, 3]] and data["time"].values.tolist() == [0, 1, 2, 3, 4] and data["b"].shape == (3, 4), data)


def their_names(build):
    """A dimension is renamed in the arrays that have it; what else other programs named, or did not name, stays."""
    warnings.simplefilter("ignore")
    group = zarr.create_group(build / "names.zarr")
    arrays = {"0": ((24, 24), ("y", "x")), "1": ((12, 12), ("y", "x")), "2": ((24, 5), ("y", None)), "3": ((5, 24), (None, "y" * 300)), "4": ((7,), None)}
    for name, (shape, names) in arrays.items():
        group.create_array(name, shape=shape, dtype="i2", dimension_names=names)
    old = zarr.create_group(build / "names2.zarr", zarr_format=2)
    old.create_array("0", shape=(24, 5), dtype="i2")
    for store, dim in ("names.zarr", "y"), ("names2.zarr", "_Anonymous_Dim_24"):
        session(build, store, 1, f'assert nc.nc_inq_dimid(id, b"{dim}", ctypes.byref(number)) == 0', 'assert nc.nc_rename_dim(id, number, b"lat") == 0')
    names = [zarr.open_group(build / "names.zarr", mode="r")[name].metadata.dimension_names for name in arrays]
    check("names of dimensions of other programs", names == [("lat", "x"), ("lat", "x"), ("lat", None), (None, "y" * 300), None], names)
    names = zarr.open_group(build / "names2.zarr", mode="r")["0"].attrs["_ARRAY_DIMENSIONS"]
    check("names of dimensions of format 2", names == ["lat", "_Anonymous_Dim_5"], names)


def deep_attributes(build):
    """Attributes of other programs that are nested deeply stay what they are beside one that a program of netCDF sets, and hide none of the others."""
    warnings.simplefilter("ignore")
    for version, levels in (3, 70), (2, 70), (3, 95):
        deep = json.loads("[" * levels + "1" + "]" * levels)
        name = f"deep{version}_{levels}.zarr"
        group = zarr.create_group(build / name, zarr_format=version, attributes={"units": "K", "deep": deep})
        group.create_array("v", data=np.ones(5, "i2"), fill_value=None).attrs.update({"units": "K", "deep": deep})
        zarr.consolidate_metadata(build / name)
        count = "[nc.nc_inq_varnatts(id, v, ctypes.byref(number)) or number.value for v in (-1, var(b'v'))]"
        session(build, name, 0, f"assert {count} == [2, 2], {count}")
        session(build, name, 1, *(f'assert nc.nc_put_att_text(id, {v}, b"title", 1, b"t") == 0' for v in ("-1", 'var(b"v")')), f"assert {count} == [3, 3], {count}",
                'assert nc.nc_put_vara_short(id, var(b"v"), (ctypes.c_size_t * 1)(1), (ctypes.c_size_t * 1)(1), (ctypes.c_short * 1)(7)) == 0')
        group = zarr.open_group(build / name, mode="r")
        right = all({k: node.attrs.asdict().get(k) for k in ("units", "deep", "title")} == {"units": "K", "deep": deep, "title": "t"} for node in (group, group["v"]))
        check(f"attributes of {levels} levels in format {version}", right and list(group["v"][:]) == [1, 7, 1, 1, 1], list(group.attrs))


def alike(build):
    """Small variables that differ in their names only are decoded by one array in memory: what is wrong with the chunk of one is told of that one, and a chunk that is not stored has the fill value."""
    definitions, values = ("\n".join(form.format(i) for i in range(5)) for form in ("float v{0}(x); v{0}:n = {0};", "v{0} = 1.5, {0}, 3;"))
    (build / "alike.cdl").write_text(f"netcdf alike {{ dimensions: x = 3; variables: {definitions}\ndata: {values}\n}}")
    for spec, codecs in ("", ["bytes"]), ("level=1", ["bytes", "zstd"]):
        shutil.rmtree(build / "alike.zarr", ignore_errors=True)
        code, _, err = run(["ncgen", "-4", "-o", "alike.zarr", "alike.cdl"], build, **PRELOAD, OZARR_NETCDF_SPEC=spec)
        check("variables that are alike are written", code == 0, err)
        stored = [[codec["name"] for codec in json.loads((build / f"alike.zarr/v{i}/zarr.json").read_text())["codecs"]] for i in range(5)]
        check("small ones are compressed if that was asked for", stored == 5 * [codecs], stored)
        alike_damaged(build, build / "alike.zarr/v3/c.0")


def alike_damaged(build, chunk):
    for name, variables, shown, told in ("missing", "v0,v1,v2,v3,v4", "v3 = _, _, _ ;", None), ("too short", "v0,v1,v2,v3", "v2 = 1.5, 2, 3 ;", "v3/c.0"), ("damaged", "v2,v3", "v2 = 1.5, 2, 3 ;", "v3/c.0"):
        before = chunk.read_bytes()
        chunk.unlink() if name == "missing" else chunk.write_bytes(before[:-2] if name == "too short" else b"damaged!")
        code, out, err = run(["ncdump", "-v", variables, "alike.zarr"], build, **PRELOAD, OZARR_LOG="warning")
        chunk.write_bytes(before)
        check(f"a chunk of a variable like others is {name}", shown in out and (code != 0) == (told is not None) and (not told or told in err), (code, out[-300:], err[-300:]))


def configured(build, prefix, deep):
    """netCDF-C from 4.10 on opens Zarr by its own configuration file, without a preload: here the one in the wheel netCDF4."""
    library = next(prefix.rglob("libozarr_netcdf.so"))
    (build / ".ncrc").write_text(f"NETCDF.UDF0.LIBRARY={library}\nNETCDF.UDF0.INIT=ozarr_netcdf_initialize\nNETCDF.UDF0.MAGIC={{\n")
    program = """
        import netCDF4, xarray
        with netCDF4.Dataset("in0.zarr/zarr.json") as ours, netCDF4.Dataset("in0.nc") as nc:
            assert list(ours.variables) == list(nc.variables)
            assert all((ours[name][:] == nc[name][:]).all() for name in nc.variables)
        with xarray.open_dataset("in0.zarr/zarr.json", engine="netcdf4") as ours, xarray.open_dataset("in0.nc") as nc:
            xarray.testing.assert_identical(ours.load(), nc.load())
    """
    code, _, err = run([sys.executable, "-c", textwrap.dedent(program)], build, NCRCENV_HOME=str(build))
    check("netCDF4 by .ncrc", code == 0, err[-500:])
    # Their first byte is that of a document; with MPI the parameters of the call were taken for a communicator.
    program_of_bytes = """
        import ctypes, netCDF4
        try:
            ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL).MPI_Init(None, None)
        except OSError:
            pass
        try:
            netCDF4.Dataset("x", memory=b'{"error": "no such file"}')
        except OSError as error:
            print(error.errno)
    """
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    code, out, err = run([sys.executable, "-c", textwrap.dedent(program_of_bytes)], build, NCRCENV_HOME=str(build), **allowed)
    check("netCDF4 by .ncrc takes bytes in memory for no store", code == 0 and out == "-51\n", (code, out, err[-500:]))
    for place in ("", "/zarr.json") if deep else ("",):
        code, _, err = run([sys.executable, "-c", textwrap.dedent(program.replace("/zarr.json", place))], build, **PRELOAD)
        check(f"netCDF4 by preload of in0.zarr{place}", code == 0, err[-500:])
    # Its files are netCDF-4 by nc_set_default_format, not by the mode.
    program = f"import netCDF4, numpy as np\n{inspect.getsource(everything)}\neverything('python.zarr')"
    code, _, err = run([sys.executable, "-c", program], build, **PRELOAD)
    check("netCDF4 writes by preload", code == 0, err[-500:])
    compare("what netCDF4 writes", build, "all.nc", "python.zarr")
    (build / ".ncrc").unlink()


def errors(build):
    """What netCDF documents as an error is that error: the same calls on both formats."""
    code, _, err = run(["cc", "-o", "errors", str(Path(__file__).parent / "netcdf_errors.c"), "-lnetcdf"], build)
    check("the calls compile", code == 0, err[-500:])
    answers = [run(["./errors", f"errors.{kind}"], build, **PRELOAD)[:2] for kind in ("nc", "zarr")]
    difference = next((f"{a!r} and {b!r}" for a, b in zip(answers[0][1].splitlines(), answers[1][1].splitlines()) if a != b), answers)
    check("errors", answers[0] == answers[1] and answers[0][0] == 0, difference)
    (build / "aborted.zarr").mkdir()
    program = "import ctypes, os; nc, id = ctypes.CDLL(None), ctypes.c_int(); print(nc.nc_create(b'aborted.zarr', 0x1000, ctypes.byref(id)), os.chdir('/'), nc.nc_abort(id))"
    code, out, err = run([sys.executable, "-c", program], build, **with_netcdf())
    check("nc_abort in another working directory", out == "0 None 0\n" and not (build / "aborted.zarr").exists(), (code, out, err[-500:]))


def in_memory(build):
    """A file that is opened to be changed in memory alone is not changed in the store: that is refused, unless the changes are to be kept."""
    program = """
import ctypes, sys
nc, id, values = ctypes.CDLL(None), ctypes.c_int(), (ctypes.c_int * 4)(9, 9, 9, 9)
status = nc.nc_open(sys.argv[1].encode(), int(sys.argv[2]), ctypes.byref(id))
print(status or (nc.nc_put_var_int(id, 0, values), nc.nc_close(id)))
"""
    write, diskless, persist = 0x1, 0x8, 0x4000
    cases = (diskless, "(-37, 0)", 1), (diskless | write, "-129", 1), (diskless | write | persist, "(0, 0)", 9)
    zarr.create_group(build / "in_memory.zarr").create_array("v", data=np.ones(4, "i4"), dimension_names=("x",))
    for mode, said, value in cases:
        code, out, err = run([sys.executable, "-c", program, "in_memory.zarr", str(mode)], build, **with_netcdf())
        found = zarr.open_group(build / "in_memory.zarr", mode="r")["v"][0]
        check(f"a program opens a file with the mode {mode}", out == f"{said}\n" and found == value, (code, out, err[-500:], found))
    code, _, err = run(["nccopy", "-w", "in_memory.zarr", "persistent.zarr"], build, **PRELOAD)
    check("nccopy makes a store that it has in memory first", code == 0 and zarr.open_group(build / "persistent.zarr", mode="r")["v"][0] == 9, (code, err[-500:]))


def in_the_way(build):
    """What is no file and no folder is not removed to make a file by its name."""
    program = "import ctypes, sys; nc, id = ctypes.CDLL(None), ctypes.c_int(); print([nc.nc_create(p.encode(), 0x1000, ctypes.byref(id)) for p in sys.argv[1:]])"
    for name in "pipe.zarr", "pipe.nc":
        os.mkfifo(build / name)
    code, out, err = run([sys.executable, "-c", program, "pipe.zarr", "pipe.nc"], build, **with_netcdf(), OZARR_NETCDF="always")
    check("nc_create by the name of a pipe", out == "[-35, -35]\n" and all((build / n).is_fifo() for n in ("pipe.zarr", "pipe.nc")), (code, out, err[-500:]))


def behind_links(build):
    """A file is made where a link leads to, also where nothing is there yet, and the link stays; in a folder of its own, too."""
    program = """
import ctypes, sys
nc, id, number = ctypes.CDLL(None), ctypes.c_int(), ctypes.c_int()
for path in sys.argv[1:]:
    made = nc.nc_create(path.encode(), 0x1000, ctypes.byref(id))
    print(path, made or (nc.nc_def_dim(id, b"x", 4, ctypes.byref(number)), nc.nc_close(id)))
"""
    (build / "scratch/deep").mkdir(parents=True)
    links = {"link.zarr": "scratch/first.zarr", "slash.zarr": "scratch/second.zarr/", "scratch/deep/up.zarr": "../../chain.zarr", "chain.zarr": "scratch/third.zarr",
             "whole.zarr": str((build / "scratch/fourth.zarr").resolve())}
    for name, target in links.items():
        (build / name).symlink_to(target)
    paths = "link.zarr", "slash.zarr/", "scratch/deep/up.zarr", "whole.zarr"
    said = "".join(f"{path} (0, 0)\n" for path in paths)
    for how in "new", "again":
        code, out, err = run([sys.executable, "-c", program, *paths], build, **with_netcdf())
        kept = all((build / name).is_symlink() for name in links) and all((build / f"scratch/{n}.zarr/zarr.json").is_file() for n in ("first", "second", "third", "fourth"))
        check(f"files behind links, {how}", out == said and kept, (code, out, err[-500:]))
    (build / "circle.zarr").symlink_to("circle.zarr")
    code, out, err = run([sys.executable, "-c", program, "circle.zarr"], build, **with_netcdf())
    check("a file behind a circle of links", code == 0 and out == f"circle.zarr {errno.ELOOP}\n", (code, out, err[-500:]))


def named_after(build):
    """What is made of a store and has its name with the end of netCDF's files is such a file, also by the name that a program has for it meanwhile."""
    program = "import ctypes, sys; nc, id = ctypes.CDLL(None), ctypes.c_int(); print([nc.nc_create(p.encode(), 0x1000, ctypes.byref(id)) or nc.nc_close(id) for p in sys.argv[1:]])"
    files = "named.zarr.nc", "named.zarr.nc4", "named.zarr.cdf", "named.zarr.nc.pid1.ncks.tmp"
    stores = "named.zarr", "named.zarr.pid1.ncks.tmp", "named.zarr.ncx", "named.nc.zarr"
    code, out, err = run([sys.executable, "-c", program, *files, *stores], build, **with_netcdf())
    right = all((build / f).is_file() for f in files) and all((build / s).is_dir() for s in stores)
    check("files and stores by their names", right and set(out) <= set("[0, ]\n"), (code, out, err[-500:]))


class Server(http.server.SimpleHTTPRequestHandler):
    """A web server, whose folder `bucket` is one of S3 that does not exist."""

    def do_GET(self):
        if not self.path.startswith("/bucket"):
            return super().do_GET()
        told = b"<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>"
        self.send_response(404)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *_):
        pass


def told_of_servers(build):
    """What cannot be opened or created on a server is told as what it is, and a codec that is not known as a filter."""
    warnings.simplefilter("ignore")
    zarr.create_group(build / "web.zarr").create_array("v", data=np.ones(4, "i4"))
    document = build / "web.zarr/v/zarr.json"
    document.write_text(document.read_text().replace('"zstd"', '"strange"'))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=build))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    web = f"http://127.0.0.1:{server.server_port}"
    lines = [
        "numbers = (ctypes.c_int * 4)()",
        'print(nc.nc_get_var_int(id, var(b"v"), numbers))',
        f'print(nc.nc_open(b"{web}/web.zarr", 0, ctypes.byref(number)))',
        *(f'print(nc.nc_create(b"{name}", 0x1000, ctypes.byref(number)))' for name in (f"{web}/new.zarr", "s3://bucket/new.zarr")),
    ]
    keys = {"AWS_ENDPOINT_URL": web, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    code, out, err = run([sys.executable, "-c", SESSION.format(mode=0, lines="\n".join(lines)), "web.zarr"], build, **with_netcdf(), **keys)
    server.shutdown()
    wanted = ["NC_ENOFILTER -136", "NC_ENOTBUILT -128", "NC_EPERM -37", "ENOENT 2"]
    check("errors of servers", code == 0 and out.split() == [number.split()[1] for number in wanted], (out, wanted, err[-500:]))


SETTINGS = """netcdf settings {
dimensions: x = 2 ; t = UNLIMITED ;
variables:
  int deflated(t, x) ; deflated:_DeflateLevel = 1 ;
  int plain(t, x) ;
  string s(x) ; string s:_FillValue = "none" ;
  char c(x) ; c:_FillValue = "-" ;
  byte small(t) ;
  int crs ; crs:grid_mapping_name = "latitude_longitude" ;
data: deflated = 1, 2, 3, 4 ; plain = 9, 10, 11, 12 ; s = "a", _ ; c = "a-" ; small = 1, 2 ; crs = 7 ;
group: g { dimensions: x = 5 ; variables: int hides(x) ; data: hides = 1, 2, 3, 4, 5 ; }
}
"""


FORMAT_2 = """netcdf nczarr {
dimensions: x = 2 ; len = 2 ;
variables:
  int v(x) ; int i(x) ; i:_FillValue = -9 ; float f(x) ; f:_FillValue = 0.1f ; double n(x) ; n:_FillValue = NaN ;
  double e(x) ; e:_FillValue = -Infinity ; ubyte b(x) ; b:_FillValue = 200UB ;
  char c(x, len) ; string s(x) ; int z(x) ; z:_NoFill = "true" ; char u(x) ; string w(x) ;
data: v = 1, 2 ; i = 1, -9 ; f = 1, 0.1f ; n = 1, NaN ; e = 1, -Infinity ; b = 1, 200UB ; c = "a", "bc" ; s = "a", "" ; z = 5, -2147483647 ;
group: g { dimensions: y = 3 ; variables: short w(y) ; data: w = 3, 4, 5 ; }
}
"""


def settings(build):
    """What the setting says is for the variables about which the program says nothing; both formats keep the fill value of text, and
    format 2 a dimension that hides another one; xarray reads all, NCZarr format 2."""
    (build / "settings.cdl").write_text(SETTINGS)
    (build / "nczarr.cdl").write_text(FORMAT_2)
    check("ncgen settings.nc", run(["ncgen", "-4", "-o", "settings.nc", "settings.cdl"], build)[0] == 0)
    for number, spec in enumerate(("compressor=blosc:zstd,level=5,shuffle=bit", "compressor=blosc:lz4,shuffle=byte", "format=2", "compressor=pcodec,level=12")):
        code, _, err = run(["ncgen", "-4", "-o", f"settings{number}.zarr", "settings.cdl"], build, **PRELOAD, OZARR_NETCDF_SPEC=spec)
        check(f"ncgen with {spec}", code == 0, err)
        compare(f"the file with {spec}", build, "settings.nc", f"settings{number}.zarr")
        answers = [run([*program, f"settings{number}.zarr"], build, **more)[1] for program, more in ((["ncdump"], PRELOAD), ([PROGRAM, "dump"], {}))]
        check(f"ozarr dump with {spec}", answers[0] == answers[1] != "", answers)
        code, _, err = run([PROGRAM, "from", "settings.nc", f"from{number}.zarr", *(["--format", "2"] if number == 2 else [])], build)
        check(f"ozarr from for {spec}", code == 0, err)
        compare(f"what ozarr from makes for {spec}", build, "settings.nc", f"from{number}.zarr")
        # zarr-python has no Pcodec of its own.
        for name in () if "pcodec" in spec else (f"settings{number}.zarr", f"from{number}.zarr"):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with xr.open_dataset(build / name, engine="zarr") as data:
                    check(f"xarray reads {name}", data["crs"].item() == 7 and data["s"].values[0] == "a" and data["c"].values[0] == b"a", data.load())
    code, out, err = run(["ncgen", "-4", "-o", "nczarr.zarr", "nczarr.cdl"], build, **PRELOAD, OZARR_NETCDF_SPEC="format=2")
    check("ncgen in format 2", code == 0, out + err)
    with netCDF4.Dataset(f"file://{build}/nczarr.zarr#mode=nczarr,file") as file:
        check("NCZarr reads format 2", (file["v"][...] == [1, 2]).all() and (file["g/w"][...] == [3, 4, 5]).all(), file)
        missing = {name: np.ma.getmaskarray(file[name][...]).tolist() for name in "vifb"}
        text = [file[name][...].tolist() for name in "cu"]
        check("NCZarr reads text of format 2", text == [[["a", ""], ["b", "c"]], ["", ""]], text)
        check("NCZarr reads fill values of format 2", missing == {name: [False, name != "v"] for name in "vifb"}, missing)
    odd = [path.name for path in [build / "nczarr.zarr/.zmetadata", *(build / "nczarr.zarr").rglob(".zattrs")] if re.search(r":\s*-?(NaN|Infinity)", path.read_text())]
    check("fill values of format 2 that JSON has no number for are in no attribute", not odd, odd)
    with xr.open_dataset(build / "nczarr.zarr", engine="zarr") as data:
        check("xarray reads fill values of format 2", all(np.isnan(data[name].values).tolist() == [False, True] for name in "ifneb"), data.load())
        plain = {name: data[name].values.tolist() for name in "cszuw"}
        right = {"c": [b"a", b"bc"], "s": ["a", ""], "z": [5, -2147483647], "u": [b"", b""], "w": ["", ""]}
        check("xarray takes no element of format 2 for missing in text and where nothing is filled", plain == right, plain)


def calls(build):
    """Names (also with `#`), strings that are NULL, renaming, rounding, fill modes, define mode, many variables, deletion, threads, watching and appending, call by call as netCDF-4 has it, or
    (watching, as HDF5 locks its files) the classic format; in both formats of Zarr."""
    code, _, err = run(["cc", "-o", "calls", str(Path(__file__).parent / "netcdf_calls.c"), "-lnetcdf", "-lpthread", "-lm"], build)
    check("the calls of netcdf_calls.c compile", code == 0, err[-500:])
    (build / "locales").mkdir()
    if not shutil.which("localedef") or run(["localedef", "-i", "de_DE", "-f", "UTF-8", "locales/de_DE.UTF-8"], build)[0]:
        print("numbers in a locale with a decimal comma are tested where the machine has de_DE.UTF-8 only: localedef cannot make it (Debian: locales)")
    else:
        os.environ["LOCPATH"] = str(build / "locales")
    for name in run(["./calls"], build)[1].split():
        # NCZarr's keys of format 2 say dimensions by their names alone, and have no lists and structs.
        versions = ["3"] if name in ("hidden_dimensions", "filled_lists", "types_of_groups", "types_of_two_files", "padded_types", "types_without_members", "types_in_circles", "types_of_older_files", "largest_numbers", "overlapping_fields", "decimal_comma") else ["3", "2", "3,level=19", "3,level=-5", "2,level=19"] if name == "shuffled_levels" else ["3", "2"]
        wanted = run(["./calls", f"calls_{name}.nc", name], build, **PRELOAD)[:2]
        for version in versions:
            found = run(["./calls", f"calls_{name}{version}.zarr", name], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")[:2]
            difference = next((f"{a!r} and {b!r}" for a, b in zip(wanted[1].splitlines(), found[1].splitlines()) if a != b), (wanted, found))
            check(f"calls: {name} in format {version}", wanted == found and wanted[0] == 0 and wanted[1], difference)
    for version in "3", "2":
        with warnings.catch_warnings(), xr.open_dataset(build / f"calls_null_strings{version}.zarr", engine="zarr") as data:
            warnings.simplefilter("error")
            check(f"xarray reads a fill value that is NULL in format {version}", data["none"].values[3] == "a", data["none"].values)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with xr.open_dataset(build / f"calls_late_fill_values_beyond_json{version}.zarr", engine="zarr") as data:
                check(f"xarray reads a fill value beside the array that JSON has no number for in format {version}", data["d"].values.tolist() == [1, 2, 3], data["d"].values)
        for name in "late_fill_values_of_text", "late_fill_values_of_text_classic":
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with xr.open_dataset(build / f"calls_{name}{version}.zarr", engine="zarr") as data:
                    check(f"xarray reads text with {name} in format {version}", b"".join(data["c"].values.ravel().tolist()) == b"a-b", data["c"].values)
    warnings.simplefilter("ignore")
    older = dict(zarr.open_group(build / "calls_types_of_older_files3.zarr", mode="r").arrays())
    check("zarr-python reads types that were defined in an older file", len(older) == 12 and all(a[1]["n"] == 4 for n, a in older.items() if a.dtype.names), older)
    code, out, err = run([sys.executable, "-c", "import sys, xarray; print(len(xarray.open_zarr(sys.argv[1]).load()))", "calls_types_of_older_files3.zarr"], build)
    check("xarray opens a file with fill values of compound, opaque and vlen types", code == 0 and out == "12\n", err[-300:])


def nczarr_changed(build):
    """What a session changes in a file of netCDF-C's own NCZarr takes no fill value away from NCZarr."""
    place = f"file://{build}/of_nczarr.zarr#mode=nczarr,file"
    values = {"i": np.array([1, -9, 3], "i4"), "f": np.array([1, 0.1, 3], "f4"), "c": np.array([b"a", b"-", b"b"], "S1")}
    with netCDF4.Dataset(place, "w") as d:
        d.createDimension("x", 3)
        for name, data in values.items():
            d.createVariable(name, data.dtype, ("x",), fill_value=data[1])[:] = data
    code, _, err = run([sys.executable, "-c", "import netCDF4\nwith netCDF4.Dataset('of_nczarr.zarr', 'a') as d:\n    for v in d.variables.values(): v.units = 'm'"], build, **PRELOAD)
    check("attributes are set in a file of NCZarr", code == 0, err[-500:])
    with netCDF4.Dataset(place) as d:
        left = {name: (d[name].units, d[name].getncattr("_FillValue") if "_FillValue" in d[name].ncattrs() else None) for name in values}
    check("fill values stay in a file of NCZarr", all(left[name][1] == data[1] for name, data in values.items()), left)


TOLD_TO_NCZARR = """
import netCDF4, numpy as np, sys
path, step = sys.argv[1], int(sys.argv[2])
with netCDF4.Dataset(path, "w" if step == 0 else "a") as d:
    if step == 0:
        for name, length in ("t", None), ("x", 2), ("spare", 9), ("empty", None):
            d.createDimension(name, length)
        v = d.createVariable("v", "f4", ("t", "x"), chunksizes=(1, 2))
        v[:3] = np.arange(6).reshape(3, 2)
        kinds = {kind: np.array([1, 2], kind) for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")}
        for one in d, v:
            one.setncatts(kinds | {"short": np.int16(-5), "nan": np.float32("nan"), "whole": np.float64(5), "large": np.uint64(2**63), "text": "a", "texts": ["a", "b"]})
        d.createVariable("s", "i2", ("t",), chunksizes=(1,))
        d.createVariable("e", "i2", ("empty",), chunksizes=(1,))
        g = d.createGroup("g")
        g.createDimension("own", None), g.createDimension("y", 3)
        g.createVariable("w", "i4", ("t", "y"), chunksizes=(1, 3))[:2] = 7
        g.createVariable("z", "i4", ("own",), chunksizes=(1,))[:2] = 7
        g.i2 = np.int16(3)
    elif step == 1:
        d["s"][4], d["g/w"][3], d["g/z"][3] = 8, 9, 9
        d["v"].short, d["v"].i8 = np.float64(5), np.int32(7)
        d["v"].delncattr("u4"), d.delncattr("text")
        d["g"].createDimension("later", 4), d["g"].setncattr("i2", np.int8(3))
    else:
        d.renameDimension("t", "time"), d["g"].renameDimension("own", "depth"), d.renameVariable("s", "short"), d.renameGroup("g", "h")
        d["h"].createVariable("late", "f8", ("time",), chunksizes=(1,))[6] = 1
        d["v"].renameAttribute("i1", "byte")
"""


def described(group):
    """What netCDF-C says of a group and all that is in it, but for the record."""
    def attributes(node):
        values = {name: np.asarray(node.getncattr(name)) for name in node.ncattrs() if name not in ("_nc_model", "_NCProperties")}
        return {name: ("text" if value.dtype.kind == "U" else value.dtype.str, value.tolist()) for name, value in values.items()}
    group.set_auto_mask(False)
    found = {"dimensions": {name: (len(dim), dim.isunlimited()) for name, dim in group.dimensions.items()}, "attributes": attributes(group)}
    found["variables"] = {name: (v.dimensions, v.dtype.str, attributes(v), v[...].tolist()) for name, v in group.variables.items()}
    return found | {"groups": {name: described(below) for name, below in group.groups.items()}}


def told_to_nczarr(build):
    """NCZarr of netCDF-C finds the dimensions and the types of attributes in a file of format 2 as in netCDF-4, also after changes."""
    for step in range(3):
        for kind in "nc", "zarr":
            code, _, err = run([sys.executable, "-c", TOLD_TO_NCZARR, f"told.{kind}", str(step)], build, **PRELOAD, OZARR_NETCDF_SPEC="format=2,compressor=none")
            check(f"step {step} of told.{kind}", code == 0, err[-500:])
        with netCDF4.Dataset(build / "told.nc") as nc, netCDF4.Dataset(f"file://{build}/told.zarr#mode=nczarr,file") as ours:
            wanted, found = (json.dumps(described(d), sort_keys=True) for d in (nc, ours))
            check(f"what NCZarr finds after step {step}", wanted == found, (wanted, found))


def unfit(build):
    """A number that another program has set and that the recorded type of the attribute does not have is read as it is."""
    cases = {  # the type, what was set by it, what is set then, what CDL has
        "short": ("i2", 7, 70000, "70000LL"),
        "fraction": ("i2", 7, 1.5, "1.5"),
        "whole": ("i2", 7, -5.0, "-5s"),
        "byte": ("i1", [0, -2], [0, 254], "0LL, 254LL"),
        "negative": ("u8", 1, -1, "-1LL"),
        "large": ("i4", 1, 2**64 - 1, "18446744073709551615ULL"),
        "float": ("f4", 1, 1e40, "1.e+40"),
        "rounded": ("f4", 1, 0.7, "0.7f"),
    }
    for version in "3", "2":
        name = f"unfit{version}.zarr"
        lines = f"""if True:
            import netCDF4, numpy as np
            with netCDF4.Dataset({name!r}, "w") as d:
                for name, (kind, value, *_) in {cases!r}.items():
                    d.setncattr(name, np.array(value, kind))"""
        code, _, err = run([sys.executable, "-c", lines], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        check(f"attributes of small types in format {version}", code == 0, err[-500:])
        zarr.open_group(build / name, use_consolidated=False).attrs.update({n: c[2] for n, c in cases.items()})
        zarr.consolidate_metadata(build / name, zarr_format=int(version))
        for program, (_, out, err) in ("ncdump", run(["ncdump", "-h", name], build, **PRELOAD)), ("ozarr dump", run([str(PROGRAM), "dump", "-h", name], build)):
            found = dict(re.findall(r":(\w+) = (.*) ;", out))
            wrong = {n: found.get(n) for n, c in cases.items() if found.get(n) != c[3]}
            check(f"{program}: numbers that recorded types do not have, format {version}", not wrong, (wrong, err[-300:]))


LATE_TEXT = """
import netCDF4, numpy as np, sys
path, step = sys.argv[1:]
if step == "new":
    with netCDF4.Dataset(path, "w") as d:
        d.createDimension("x", 3)
        for name, kind, values in ("c", "S1", [b"a", b"-", b"b"]), ("s", str, ["a", "zz", "b"]):
            d.createVariable(name, kind, ("x",)).first = "1"
            (d[name].setncattr_string if name == "s" else d[name].setncattr)("missing_value", values[1] if name == "s" else "-")
            d[name].last = "2"
            d[name][:] = np.array(values, object if kind is str else kind)
a, b, c = (netCDF4.Dataset(path, "a") for _ in range(3))
for name in "c", "s":
    if step == "new":
        a[name].renameAttribute("missing_value", "_FillValue")
    elif step == "gone":
        a[name].delncattr("_FillValue")
a.sync()
if step != "gone":
    for name in "c", "s":
        b[name].units = step
    b.sync()
c.title = step
for d in c, b, a:
    d.close()
"""


def late_text(build):
    """A fill value that text gets when it has elements stays in view of all: xarray, another process and another open file, `ozarr dump` and copies."""
    for version in "3", "2":
        name, copies = f"late_text{version}.zarr", {to: f"late_text{version}_in_{to}.zarr" for to in ("3", "2")}
        for step in "new", "again", "gone":
            code, _, err = run([sys.executable, "-c", LATE_TEXT, name, step], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
            check(f"late fill values of text: {step} in format {version}", code == 0, err[-500:])
            for to, copy in copies.items():
                shutil.rmtree(build / copy, ignore_errors=True)
                code, _, err = run([PROGRAM, "copy", name, copy, "--format", to], build)
                check(f"late fill values of text: {step} in format {version} are copied to {to}", code == 0, err)
            for path in name, *copies.values():
                lines = [line.strip() for line in dump(path, build)]
                shown = [line.strip() for line in run([PROGRAM, "dump", path], build)[1].splitlines()[1:]]
                wanted = ['c:_FillValue = "-" ;', 'string s:_FillValue = "zz" ;']
                for what, found in ("netCDF", lines), ("ozarr dump", shown):
                    fills = [line for line in found if re.search(r":(_FillValue|_nc_fill_value) =", line)]
                    check(f"{what} shows late fill values of text of {path}: {step}", len(fills) == len(set(wanted) & set(fills)) == (0 if step == "gone" else 2), found)
                if path == name and step != "gone" and version == "3":
                    order = [found[1] for line in lines if (found := re.match(r"(?:string )?[cs]:(\w+) =", line))]
                    check(f"late fill values of text keep their place: {step}", order == ["first", "_FillValue", "last", "units"] * 2, order)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    try:
                        with xr.open_dataset(build / path, engine="zarr") as data:
                            found = [data[n].values[0] for n in "cs"]
                    except Exception as e:
                        found = e
                check(f"xarray reads {path}: {step}", found == [b"a", "a"], found)


TWO_WRITERS = """
import netCDF4, numpy as np, sys
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createDimension("t", None), d.createDimension("x", None)
    d.createVariable("a", "i4", ("t",)), d.createVariable("b", "i4", ("t",)), d.createVariable("c", "i4", ("t", "x"))
a, b = (netCDF4.Dataset(sys.argv[1], "a") for _ in range(2))
a["a"][:10], a["c"][:2, :4] = range(10), np.full((2, 4), 7)
a.sync()
b["b"][:5] = range(5)
b.close(), a.close()
"""


SAME_RECORD = """
import netCDF4, numpy as np, os, sys
path, kind, value = sys.argv[1:]
with netCDF4.Dataset(path, "w") as d:
    d.createDimension("x", 4)
    d.createVariable("v", "f4", ("x",)).units = "K"
with netCDF4.Dataset(path, "a") as d:
    seen = lambda: (lambda found: (found.st_ino, found.st_mtime_ns))(os.stat(os.path.join(path, ".zattrs")))
    before = seen()
    d["v"].units = value if kind == "str" else np.dtype(kind).type(value)
    d.sync()
    print(seen() == before)
with netCDF4.Dataset(path) as d:
    assert str(d["v"].units) == value, d["v"].units
"""


def same_record(build):
    """A group's record is not stored again where it says what it said before: an attribute whose type JSON tells is not in it. (In format 2 it has a document of its own.)"""
    for kind, stays in ("str", "True"), ("i2", "False"):
        code, out, err = run([sys.executable, "-c", SAME_RECORD, f"same_{kind}.zarr", kind, "7"], build, **PRELOAD, OZARR_NETCDF_SPEC="format=2")
        check(f"a record that stays as it was: attribute of {kind}", code == 0 and out.split() == [stays], out + err[-500:])


TWO_DEFINERS = """
import netCDF4, numpy as np, sys
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createDimension("t", None), d.createDimension("x", 3)
    d.createVariable("v", "i4", ("t",)).setncatts({"units": "K", "old": 1, "long_name": "v"})
    d.createVariable("early", "i4", ("x",))
    d.setncatts({"title": "a", "source": "b", "kept": "c"})
a, b = (netCDF4.Dataset(sys.argv[1], "a") for _ in range(2))
b.story, b.title = "changed", "z"
b["v"].comment, b["v"].units, b["v"].number = "said", "degC", np.int16(3)
b["early"].number = np.int16(4)
b.delncattr("source")
b.createDimension("obs", None), b.createDimension("y", 4)
b.createVariable("o", "f4", ("obs",), fill_value=-1)[:2] = [1, 2]
b.createVariable("u", "i2", ("y",))[:2] = 5
b["o"].short = np.int16(7)
b.createGroup("g").createVariable("w", "i4", ("y",))[:] = [1, 2, 3, 4]
sky = b.createEnumType(np.int8, "sky", {"clear": 1})
b.createVariable("e", sky, ("y",))[:] = 1
b.close()
a["v"].long_name = "mine"
a["v"].renameAttribute("old", "new")
a.renameVariable("early", "late")
a.version = np.int16(2)
a.createDimension("z", 2)
a.createVariable("mine", "i2", ("z",))[:] = 9
a["v"][:4] = [1, 2, 3, 4]
a.close()
with netCDF4.Dataset(sys.argv[1], "a") as d:
    d["o"][2:5] = np.array([3, 4, 5], "f4")
"""


def two_definers(build):
    """Two programs that have a file open at a time, and set attributes of the same group and variable and define others: nothing of either is lost."""
    for version in "3", "2":
        name = f"definers{version}.zarr"
        code, _, err = run([sys.executable, "-c", TWO_DEFINERS, name], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        check(f"two programs define in {name}", code == 0, err[-500:])
        lines = [line.strip() for line in dump(name, build)]
        wanted = ['v:units = "degC" ;', 'v:comment = "said" ;', "v:number = 3s ;", "late:number = 4s ;", 'v:long_name = "mine" ;', "v:new = 1LL ;", ':title = "z" ;', ':story = "changed" ;', ':kept = "c" ;', ":version = 2s ;",
                  "t = UNLIMITED ; // (4 currently)", "obs = UNLIMITED ; // (5 currently)", "o = 1, 2, 3, 4, 5 ;", "o:short = 7s ;", "o:_FillValue = -1.f ;", "byte enum sky {clear = 1} ;", "sky e(y) ;",
                  "short mine(z) ;", "mine = 9, 9 ;", "y = 4 ;", "w = 1, 2, 3, 4 ;", "v = 1, 2, 3, 4 ;"]
        missing = [line for line in wanted if line not in lines]
        check(f"what two programs defined in {name}", not missing and not any("source =" in line or "v:old" in line for line in lines), (missing, "\n".join(lines)))


RACING_DEFINERS = """
import netCDF4, numpy as np, os, sys
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createDimension("t", None), d.createVariable("v", "i4", ("t",))
    d["v"][0] = 0
for folder, *_ in os.walk(sys.argv[1]):
    os.chmod(folder, 0o777)
processes = []
for first, name in enumerate("ab"):
    processes.append(os.fork())
    if processes[-1] == 0:
        if len(sys.argv) > 2:
            os.umask(int(sys.argv[2], 8)), os.setuid(1101 + first)
        with netCDF4.Dataset(sys.argv[1], "a") as d:
            os.chdir("/")
            for i in range(40):
                d["v"][2 * i + first] = i
                d.setncattr(f"{name}{i}", np.int16(i)), d["v"].setncattr(f"{name}{i}", np.int16(i))
                d.sync()
        os._exit(0)
if any(os.waitpid(process, 0)[1] for process in processes):
    sys.exit(1)
with netCDF4.Dataset(sys.argv[1]) as d:
    for name in "a", "b":
        for i in range(40):
            print(f"{name}{i}: {getattr(d, f'{name}{i}', None)!r} {getattr(d['v'], f'{name}{i}', None)!r}")
    print(d["v"][:].tolist())
"""


def racing_definers(build):
    """Two programs that set attributes of one group and one variable, and write records of that, at the very same time, and change their working directory,
    of one user or, where the folders are for all, of two: nothing is lost."""
    reachable = all(folder.stat().st_mode & 1 for folder in (build, *build.parents))
    for version, *mask in ("3",), ("2",), *(("3", mask) for mask in ("022", "077") if os.getuid() == 0 and reachable):
        code, out, err = run([sys.executable, "-c", RACING_DEFINERS, f"racing{version}.zarr", *mask], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        wanted = [f"{name}{i}: {np.int16(i)!r} {np.int16(i)!r}" for name in "ab" for i in range(40)] + [str([i // 2 for i in range(80)])]
        check(f"two programs{' of two users' if mask else ''} write at once in format {version}", code == 0 and out.splitlines() == wanted, (err[-500:], [line for line in out.splitlines() if line not in wanted]))


RACING_PROGRAMS = """
import netCDF4, numpy as np, subprocess, sys
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createDimension("t", None), d.createVariable("v", "i4", ("t",))
script = " && ".join(f"{sys.argv[2]} attrs set {sys.argv[1]}{path} o{i} {i}" for i in range(20) for path in ("", "/v"))
other = subprocess.Popen(["sh", "-c", script])
d = netCDF4.Dataset(sys.argv[1], "a")
while other.poll() is None:
    for node in d, d["v"]:
        node.setncattr("n", np.int16(d.getncattr("n") + 1 if "n" in d.ncattrs() else 0))
    d.sync()
d.close()
print(other.returncode)
with netCDF4.Dataset(sys.argv[1]) as d:
    print([f"o{i} of {node}" for i in range(20) for node in (d, d["v"]) if f"o{i}" not in node.ncattrs()], d.n.dtype, d["v"].n.dtype)
"""


def racing_programs(build):
    """A program of ozarr sets attributes of a group and a variable while one of netCDF sets others all the time: nothing is lost, though it knows no lock of netCDF's."""
    for version in "3", "2":
        code, out, err = run([sys.executable, "-c", RACING_PROGRAMS, f"programs{version}.zarr", PROGRAM], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        check(f"programs of netCDF and ozarr at once in format {version}", code == 0 and out == "0\n[] int16 int16\n", (out, err[-500:]))


CLOSED_FOLDER = """
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int access(const char *path, int how) {
    const char *closed = getenv("CLOSED_FOLDER");
    if (!closed || how != W_OK || strcmp(path, closed)) return faccessat(-100, path, how, 0);
    errno = EACCES;
    return -1;
}
"""


RACING_GROUPS = """
import netCDF4, numpy as np, os, sys
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createGroup("g")
processes = []
for path, name in (sys.argv[1] + sys.argv[2], "a"), (sys.argv[1] + "/g", "b"):
    processes.append(os.fork())
    if processes[-1] == 0:
        if name == "b" and sys.argv[3:]:
            os.environ["CLOSED_FOLDER"] = os.path.realpath(sys.argv[1])
        for i in range(20):
            with netCDF4.Dataset(path, "a") as d:
                (d["g"] if "g" in d.groups else d).setncattr(f"{name}{i}", np.int16(i))
        os._exit(0)
if any(os.waitpid(process, 0)[1] for process in processes):
    sys.exit(1)
with netCDF4.Dataset(sys.argv[1]) as d:
    print(*[f"{name}{i}" for name in "ab" for i in range(20) if np.result_type(getattr(d["g"], f"{name}{i}", 0.5)) != np.int16])
"""


def racing_groups(build):
    """Two programs that set attributes of one group at the same time, of which one has opened the group as a file of its own, also where it may not write
    in the group above, as another user: nothing is lost."""
    (build / "closed_folder.c").write_text(CLOSED_FOLDER)
    code, _, err = run(["cc", "-shared", "-fPIC", "-o", "closed_folder.so", "closed_folder.c"], build)
    check("closed_folder.c compiles", code == 0, err[-500:])
    preloaded = {**PRELOAD, "LD_PRELOAD": f"{PRELOAD['LD_PRELOAD']} {build.resolve() / 'closed_folder.so'}", "OZARR_NETCDF": "always"}
    for version in "3", "2":
        for opened, closed in ("", ()), ("", ("closed",)), ("/g", ("closed",)):
            name = f"groups{version}{opened[1:]}{len(closed)}.zarr"
            code, out, err = run([sys.executable, "-c", RACING_GROUPS, name, opened, *closed], build, **preloaded, OZARR_NETCDF_SPEC=f"format={version}")
            check(f"a file{opened} and its group at once in format {version}", code == 0 and out == "\n", (closed, out, err[-500:]))


STOPPED_HOLDER = """
import fcntl, json, netCDF4, numpy as np, sys, time
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createDimension("t", None)
    for i in range(4):
        d.createVariable(f"v{i}", "i4", ("t",))
with netCDF4.Dataset(sys.argv[1], "a") as d, open(f"{sys.argv[1]}/.ozarr-netcdf.tmp", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    start = time.monotonic()
    d.sync()
    print("nothing to store" if time.monotonic() - start < 5 else "waits for nothing")
    document = json.load(open(f"{sys.argv[1]}/zarr.json"))
    document["attributes"]["_nc_model"]["variables"]["coming"] = {"types": {"n": "short"}}
    document["attributes"]["_nc_model"]["groups"].append("coming_too")
    json.dump(document, open(f"{sys.argv[1]}/zarr.json", "w"))
    for i in range(4):
        d[f"v{i}"].number, d[f"v{i}"][:2] = np.int16(i), [1, 2]
    d.sync()
    print("waits once" if 5 < time.monotonic() - start < 30 else f"waits for {time.monotonic() - start} s")
with netCDF4.Dataset(sys.argv[1]) as d:
    print([(d[f"v{i}"].number.item(), d[f"v{i}"][:].tolist()) for i in range(4)])
record = json.load(open(f"{sys.argv[1]}/zarr.json"))["attributes"]["_nc_model"]
print(record["variables"].get("coming"), record["groups"])
"""


def stopped_holder(build):
    """A program that stands still while it has the lock of a file holds others up once, and not for each variable; what they store is stored, and the record
    keeps what it says of variables and groups that the holder is still to make."""
    code, out, err = run([sys.executable, "-c", STOPPED_HOLDER, "stopped.zarr"], build, **PRELOAD, OZARR_LOG="warn")
    right = out.splitlines() == ["nothing to store", "waits once", str([(i, [1, 2]) for i in range(4)]), "{'types': {'n': 'short'}} ['coming_too']"]
    check("a lock that does not become free", code == 0 and right and err.count("stays locked by another program") == 1, (out, err[-500:]))


STOPPED_IN_GROUPS = """
import fcntl, netCDF4, sys, time
path, names = sys.argv[1], "abc"
with netCDF4.Dataset(path, "w") as d:
    d.createDimension("t", None)
    for name in names:
        d.createGroup(name).createVariable("v", "i4", ("t",))
locks = [open(f"{path}{name}/.ozarr-netcdf.tmp", "w") for name in ("", *(f"/{name}" for name in names))]
for lock in locks:
    fcntl.flock(lock, fcntl.LOCK_EX)
with netCDF4.Dataset(path, "a") as d:
    for i in range(2):
        for name in names:
            d[name]["v"][i] = i
        start = time.monotonic()
        d.sync()
        taken = time.monotonic() - start
        print("waits once" if 5 < taken < 25 else "waits for nothing" if taken < 5 else f"waits for {taken} s")
"""


LOCKED_IN_ORDER = """
import fcntl, netCDF4, os, sys, time
path = sys.argv[1]
with netCDF4.Dataset(path, "w") as d:
    d.createGroup("a").createDimension("t", None), d.createGroup("a/x")
d = netCDF4.Dataset(path, "a")
grown = [d.createGroup(name).createVariable("v", "i4", ("t",)) for name in ("a/y", "a/x/k")]
d.sync()
with open(f"{path}/a/x/k/.ozarr-netcdf.tmp", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    child = os.fork()
    if child == 0:
        lock.close()
        for v in grown:
            v[0] = 1
        d.sync()
        os._exit(0)
    time.sleep(2)
    print([name for name in ("", "/a/y") if os.path.exists(f"{path}{name}/.ozarr-netcdf.tmp")])
print(os.waitpid(child, 0)[1])
"""


def stopped_in_groups(build):
    """A program that stands still while it has the locks of many groups holds others up once, and not for each group. They lock groups in the order of their
    paths, and not in that of their definition: two that have opened different groups above would wait for each other."""
    code, out, err = run([sys.executable, "-c", STOPPED_IN_GROUPS, "stopped_groups.zarr"], build, **PRELOAD, OZARR_LOG="warn")
    right = out.splitlines() == ["waits once", "waits for nothing"]
    check("locks of groups that do not become free", code == 0 and right and err.count("stays locked by another program") == 1, (out, err[-500:]))
    code, out, err = run([sys.executable, "-c", LOCKED_IN_ORDER, "locked_in_order.zarr"], build, **PRELOAD, OZARR_LOG="warn")
    check("groups are locked in the order of their paths", code == 0 and out == "['']\n0\n" and "stays locked" not in err, (out, err[-500:]))


UNLOCKED_WRITER = """
import netCDF4, sys
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createDimension("t", None)
    for i in range(4):
        d.createVariable(f"v{i}", "i4", ("t",))
with netCDF4.Dataset(sys.argv[1], "a") as d:
    for i in range(4):
        d[f"v{i}"][:2] = [1, 2]
        d.sync()
with netCDF4.Dataset(sys.argv[1]) as d:
    print([d[f"v{i}"][:].tolist() for i in range(4)])
"""


def refused_lock(build):
    """NFS locks no file of another user's, which is open for reading only: each file that is stored without a lock is told once."""
    (build / "refused_lock.c").write_text("#include <errno.h>\nint flock(int file, int how) { errno = EBADF; return file + how ? -1 : 0; }\n")
    code, _, err = run(["cc", "-shared", "-fPIC", "-o", "refused_lock.so", "refused_lock.c"], build)
    check("refused_lock.c compiles", code == 0, err[-500:])
    preloaded = f"{PRELOAD['LD_PRELOAD']} {build.resolve() / 'refused_lock.so'}"
    code, out, err = run([sys.executable, "-c", UNLOCKED_WRITER, "refused.zarr"], build, **{**PRELOAD, "LD_PRELOAD": preloaded}, OZARR_LOG="warn")
    right = code == 0 and out == f"{[[1, 2]] * 4}\n"
    check("a lock that is refused is told", right and err.count("which cannot be locked here") == 1, (out, err[-500:]))


LEFT_LOCK = """
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static int is_lock(const char *path) { return strstr(path, "/.ozarr-netcdf.tmp") != NULL; }
int unlink(const char *path) {
    if (is_lock(path) && getenv("KILLED")) raise(SIGKILL);
    return unlinkat(AT_FDCWD, path, 0);
}
int open(const char *path, int flags, ...) {
    struct stat is;
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    if (!is_lock(path) || stat(path, &is) || is.st_mode & 0777) return openat(AT_FDCWD, path, flags, mode);
    errno = EACCES;
    return -1;
}
"""

SETS_ATTRIBUTE = """
import netCDF4, sys
with netCDF4.Dataset(sys.argv[1], "a") as d:
    d.setncattr(sys.argv[2], 1)
"""


def left_locks(build):
    """The lock of a killed program has the access list of its folder, by which other users may write there; one that may not be opened is removed after a while."""
    (build / "left_lock.c").write_text(LEFT_LOCK)
    code, _, err = run(["cc", "-shared", "-fPIC", "-o", "left_lock.so", "left_lock.c"], build)
    check("left_lock.c compiles", code == 0, err[-500:])
    preloaded = {**PRELOAD, "LD_PRELOAD": f"{PRELOAD['LD_PRELOAD']} {build.resolve() / 'left_lock.so'}", "OZARR_LOG": "warn"}
    netCDF4.Dataset(build / "left.nc", "w").close()
    run(["nccopy", "left.nc", "left.zarr"], build, **PRELOAD)
    lock, name = build / "left.zarr/.ozarr-netcdf.tmp", "system.posix_acl_access"
    entries = [(1, 7, -1), (2, 7, 12345), (4, 0, -1), (16, 7, -1), (32, 0, -1)]
    try:
        os.setxattr(lock.parent, name, struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries))
    except OSError:
        print("not tried: access lists, which this file system does not have")
    else:
        code, out, err = run([sys.executable, "-c", SETS_ATTRIBUTE, "left.zarr", "a"], build, **preloaded, KILLED="1")
        found = list(struct.iter_unpack("<HHi", os.getxattr(lock, name)[4:])) if name in os.listxattr(lock) else []
        check("the lock of a killed program has the folder's access list", (2, 6, 12345) in found, (code, found, err[-500:]))
    lock.touch()
    lock.chmod(0)
    code, out, err = run([sys.executable, "-c", SETS_ATTRIBUTE, "left.zarr", "b"], build, **preloaded)
    check("a lock that may not be opened is removed", code == 0 and err == "" and not lock.exists(), (code, err[-500:]))


LATE_ARRAY = """
import netCDF4, sys, zarr
path, version = sys.argv[1], int(sys.argv[2])
with netCDF4.Dataset(path, "w") as d:
    d.createDimension("t", None)
    d.createVariable("v", "i4", ("t",))[:] = range(3)
    d.createGroup("g").createVariable("v", "i4", ("t",))
    d.createGroup("h").createDimension("t", None)
a = netCDF4.Dataset(path, "a")
root = zarr.open_group(path, mode="r+", zarr_format=version, use_consolidated=False)
def define(name, length, *dims):
    named = {"dimension_names": dims} if version == 3 else {"attributes": {"_ARRAY_DIMENSIONS": dims}}
    return root.create_array(name, shape=(length,) * len(dims), chunks=(4,) * len(dims), dtype="i4", **named)
for name, dims in ("w", ("t",)), ("g/w", ("x", "t")), ("h/other", ("t",)), ("fixed", ("x",)):
    define(name, 3, *dims)
apart = define("apart", 2, "t")
for i in range(3, 7):
    if i == 4:
        define("later", 4, "t")
    if i == 6:
        apart.resize((6,))
    if i != 4:
        zarr.consolidate_metadata(path, zarr_format=version)
    a["v"][i] = i
    a.sync()
    listed = zarr.open_group(path, mode="r", zarr_format=version, use_consolidated=True)
    print(*(listed[name].shape for name in ("v", "g/v", "w", "g/w", "h/other", "fixed", "apart", "later") if name in listed))
a.close()
"""


def late_array(build):
    """Arrays that programs without netCDF have defined since grow with all others, also where consolidated metadata tell of them later; one with steps of its own
    stays as it is until it has those of all others."""
    wanted = [f"({n},) ({n},) ({n},) (3, {n}) (3,) (3,) ({apart},)" + f" ({later},)" * bool(later) for n, apart, later in ((4, 2, None), (5, 2, None), (6, 2, 6), (7, 7, 7))]
    for version in "3", "2":
        code, out, err = run([sys.executable, "-c", LATE_ARRAY, f"late_array{version}.zarr", version], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        check(f"arrays of other programs are as long as all others in format {version}", code == 0 and out.splitlines() == wanted, (out, err[-500:]))


def longer_below(build):
    """A program of netCDF-C that goes on with an array in a group keeps the records that another program has added, and of which the root's consolidated metadata alone tell."""
    (build / "below.cdl").write_text("netcdf below { group: g { dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = 1, 2, 3 ; } }")
    for version in 3, 2:
        path = build / f"below{version}.zarr"
        code, _, err = run(["ncgen", "-4", "-o", path, "below.cdl"], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        array = zarr.open_group(path, mode="r+", use_consolidated=False)["g/v"]
        array.resize((5,))
        array[3:] = 77, 78
        zarr.consolidate_metadata(path, zarr_format=version)
        goes_on = f'import netCDF4; d = netCDF4.Dataset("{path.name}", "a"); v = d["g/v"]; v[len(v)] = 6; d.close()'
        code, _, err = run([sys.executable, "-c", goes_on], build, **PRELOAD)
        values = [line.strip() for line in dump(path, build) if " v =" in line]
        check(f"records of other programs in a group of format {version}", code == 0 and values == ["v = 1, 2, 3, 77, 78, 6 ;"], (values, err[-500:]))
        (path / "g/.zgroup" if version == 2 else path / "g/zarr.json").unlink()
        code, _, err = run([sys.executable, "-c", 'import netCDF4; netCDF4.Dataset("%s", "a").close()' % path.name], build, **PRELOAD)
        check(f"a file of format {version} is opened to be written without the document of a group", code == 0, err[-500:])


LATE_DEFINER = """
import netCDF4, numpy as np, sys
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createDimension("t", None), d.createVariable("v", "i4", ("t",)), d.createGroup("g")
a, b, c = (netCDF4.Dataset(sys.argv[1], "a") for _ in range(3))
b.createVariable("q", "i4", ("t",))[0] = 7
b.createGroup("g/new").createVariable("q", "i4", ("t",))[0] = 8
b["g"].createDimension("t", None), b["g"].createVariable("own", "i4", ("t",)).__setitem__(slice(2), 5)
b.close()
for i in range(5):
    a["v"][i] = i
    a.sync()
c.createVariable("late", "i4", ("t",))
c.sync()
a["v"][5] = 5
a.close()
c["late"][1] = 9
c.close()
"""


def late_definer(build):
    """A program that adds records takes those variables along that others have defined since, and variables of one that knows fewer records are as long."""
    for version in "3", "2":
        name = f"late{version}.zarr"
        code, out, err = run([sys.executable, "-c", LATE_DEFINER, name], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}", OZARR_LOG="warning")
        check(f"variables are defined beside a run in {name}", code == 0, (out, err[-500:]))
        group = zarr.open_group(build / name, mode="r")
        lengths = {path: group[path].shape[0] for path in ("v", "q", "g/new/q", "late", "g/own")}
        check(f"the lengths in {name}", lengths == {"v": 6, "q": 6, "g/new/q": 6, "late": 6, "g/own": 2}, lengths)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for path in "", "g", "g/new":
                with xr.open_dataset(build / name, engine="zarr", group=path, mask_and_scale=False) as data:
                    data.load()
        right = [group[path][:2].tolist() for path in ("v", "q", "g/new/q", "late")]
        fill = netCDF4.default_fillvals["i4"]
        check(f"the values in {name}", right == [[0, 1], [7, fill], [8, fill], [fill, 9]], right)


LATE_SPOILT = """
import netCDF4, pathlib, sys
path = sys.argv[1]
with netCDF4.Dataset(path, "w") as d:
    d.createDimension("t", None), d.createVariable("v", "i4", ("t",))
a = netCDF4.Dataset(path, "a")
a["v"][0] = 0
a.sync()
with netCDF4.Dataset(path, "a") as b:
    b.createVariable("q", "i4", ("t",))[0] = 7
document = pathlib.Path(path, "q", sys.argv[2])
was = document.read_text()
a["v"][1] = 1
document.write_text(was[:20])
try:
    a.sync()
except RuntimeError as e:
    print(e, '2' in pathlib.Path(path, "v", sys.argv[2]).read_text())
document.write_text(was)
a["v"][2] = 2
a.close()
"""


def late_spoilt(build):
    """Of a variable that another program has defined since, and whose document was spoilt then, nc_sync tells it: it is not as long as all others, which are published."""
    for version, document in ("3", "zarr.json"), ("2", ".zarray"):
        name = f"spoilt{version}.zarr"
        code, out, err = run([sys.executable, "-c", LATE_SPOILT, name, document], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        check(f"a variable of another program is spoilt in {name}", code == 0 and out == "NetCDF: Unknown file format True\n", (out, err[-500:]))
        lengths = {one: zarr.open_group(build / name, mode="r")[one].shape for one in "vq"}
        check(f"the lengths in {name} once it is mended", lengths == {"v": (3,), "q": (3,)}, lengths)


MENDED = """
import netCDF4, pathlib, sys
path = sys.argv[1]
with netCDF4.Dataset(path, "w") as d:
    d.createDimension("t", None)
    for name in "vq":
        d.createVariable(name, "i4", ("t",))[0] = 0
a = netCDF4.Dataset(path, "a")
document = pathlib.Path(path, "q", sys.argv[2])
was = document.read_text()
for name in "vq":
    a[name][1] = 1
document.write_text(was[:20])
for call in a.sync, lambda: a.renameVariable("v", "w"):
    try:
        call()
    except RuntimeError as e:
        print(e)
document.write_text(was)
a.renameVariable("v", "w")
a.sync()
a.close()
"""


def mended(build):
    """While a variable's document is spoilt no variable can be renamed; once it is mended, that and nc_sync tell of no error."""
    for version, document in ("3", "zarr.json"), ("2", ".zarray"):
        name = f"mended{version}.zarr"
        code, out, err = run([sys.executable, "-c", MENDED, name, document], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        check(f"{name} is spoilt and mended", code == 0 and out == 2 * "NetCDF: Unknown file format\n", (out, err[-500:]))
        values = {one: zarr.open_group(build / name, mode="r")[one][:].tolist() for one in "wq"}
        check(f"the values in {name}", values == {"w": [0, 1], "q": [0, 1]}, values)


def untold_lengths(build):
    """Where a program was killed before consolidated metadata told of its last records, the next writer tells of them, also if it has nothing to write."""
    program = "import netCDF4, sys\nwith netCDF4.Dataset(sys.argv[1], 'w') as d:\n    d.createDimension('t', None), d.createVariable('v', 'i4', ('t',)).__setitem__(slice(3), 1)"
    for version, document in ("3", "zarr.json"), ("2", ".zmetadata"):
        name = f"untold{version}.zarr"
        code, _, err = run([sys.executable, "-c", program, name], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        place = build / name / document
        text = place.read_text()
        entries = (json.loads(text).get("consolidated_metadata") or json.loads(text))["metadata"]
        behind = re.sub(r'("shape": *\[\s*)3', r"\g<1>2", text)
        check(f"{name} is written", code == 0 and behind != text and len(entries), (err[-500:], text))
        place.write_text(behind)
        session(build, name, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with xr.open_dataset(build / name, engine="zarr") as data:
                check(f"the next writer tells of all records of {name}", data.sizes["t"] == 3, data.sizes)


RENAMED_MEANWHILE = """
import netCDF4, subprocess, sys
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createDimension("t", None), d.createDimension("x", 2)
    for name, dim in ("grows", "t"), ("fixed", "x"), ("stays", "t"):
        d.createVariable(name, "i4", (dim,))
    d.createGroup("g")
a, r = (netCDF4.Dataset(sys.argv[1], mode) for mode in "ar")
a["fixed"][:] = 7
a.sync()
if sys.argv[2] == "here":
    with netCDF4.Dataset(sys.argv[1], "a") as b:
        b.renameVariable("fixed", "mended")
    try:
        a["fixed"][:] = [1, 2]
    except Exception as error:
        print("write", error)
    a["stays"][:2] = [3, 4]
    a.sync(), a.close(), r.close()
    with netCDF4.Dataset(sys.argv[1]) as d:
        print({name: v[:].tolist() for name, v in d.variables.items()})
    sys.exit()
subprocess.run([sys.executable, "-c", '''if True:
    import netCDF4, sys
    with netCDF4.Dataset(sys.argv[1], "a") as b:
        b.renameVariable("grows", "grown"), b.renameVariable("fixed", "mended"), b.renameGroup("g", "h")''', sys.argv[1]], check=True)
def tell(what, call):
    try:
        call()
        print(what, "well")
    except Exception as error:
        print(what, error)
for name in "grows", "fixed":
    a[name][:2], a["stays"][:2] = [1, 2], [3, 4]
    tell("sync", a.sync)
    tell("again", a.sync)
    tell("write", lambda: a[name].__setitem__(0, 5))
a["stays"][2] = 5
tell("close", a.close)
tell("sync", r.sync)
print(r["stays"][:].tolist())
tell("read", lambda: r["grows"][:])
r.close()
with netCDF4.Dataset(sys.argv[1]) as d:
    print({name: v[:].tolist() for name, v in d.variables.items()})
"""


def renamed_meanwhile(build):
    """A program that writes a variable which another one has renamed is told so, and all else that it writes is stored."""
    wanted = [line for name in ("grows", "fixed") for line in ("sync NetCDF: Variable not found", "again well", "write NetCDF: Variable not found")]
    wanted += ["close well", "sync well", "[3, 4, 5]", "read NetCDF: Variable not found", "{'grown': [None, None, None], 'mended': [7, 7], 'stays': [3, 4, 5]}"]
    for version in "3", "2":
        env = dict(PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        code, out, err = run([sys.executable, "-c", RENAMED_MEANWHILE, f"here{version}.zarr", "here"], build, **env)
        here = ["write NetCDF: Variable not found", "{'grows': [None, None], 'mended': [7, 7], 'stays': [3, 4]}"]
        check(f"a variable is renamed by another file of the process in format {version}", code == 0 and out.splitlines() == here, (out, err[-500:]))
        code, out, err = run([sys.executable, "-c", RENAMED_MEANWHILE, f"meanwhile{version}.zarr", "elsewhere"], build, **env)
        check(f"variables are renamed beside a run in format {version}", code == 0 and out.splitlines() == wanted, (out, err[-500:]))


RENAMED_ONTO = """
import netCDF4, numpy as np, sys
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createDimension("x", 2)
    d.createVariable("v", "i2", ("x",)).setncattr("n", np.int8(1))
    d.createGroup("g").setncattr("n", np.int8(1))
a = netCDF4.Dataset(sys.argv[1], "a")
with netCDF4.Dataset(sys.argv[1], "a") as b:
    kind = b.createEnumType("i1", "kind", {"zero": 0, "one": 1})
    b.createVariable("taken", kind, ("x",)).setncattr("n", np.int16(5))
    b.createGroup("held").createVariable("w", "i4").setncattr("n", np.int16(6))
for name, call in ("taken", a.renameVariable), ("held", a.renameGroup):
    try:
        call({"taken": "v", "held": "g"}[name], name)
        print(name, "is renamed")
    except Exception as error:
        print(error)
a.close()
with netCDF4.Dataset(sys.argv[1]) as d:
    print(sorted(d.variables), sorted(d.groups), d["taken"].datatype.name, [d[place].getncattr("n").dtype.name for place in ("v", "taken", "g", "held/w")])
"""


def renamed_onto(build):
    """What another program has by the name onto which something is to be renamed stays all that it is."""
    wanted = ["NetCDF: String match to name in use"] * 2 + ["['taken', 'v'] ['g', 'held'] kind ['int8', 'int16', 'int8', 'int16']"]
    for version in "3", "2":
        code, out, err = run([sys.executable, "-c", RENAMED_ONTO, f"onto{version}.zarr"], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        check(f"nothing is renamed onto what another program has in format {version}", code == 0 and out.splitlines() == wanted, (out, err[-500:]))


RENAMED_AND_KILLED = """
import netCDF4, os, sys
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createDimension("x", 2)
    for group, name in (d, "v"), (d, "stays"), (d.createGroup("g"), "w"):
        group.createVariable(name, "i4", ("x",))[:] = [1, 2]
d = netCDF4.Dataset(sys.argv[1], "a")
if sys.argv[2] == "define":
    d._redef()
d.renameVariable("v", "new")
d["g"].renameVariable("w", "below")
d.renameGroup("g", "h")
os._exit(0)
"""


def renamed_and_killed(build):
    """Readers find what is renamed by its new name from then on, in consolidated metadata, too: also where the program is killed, which stores nothing else."""
    for version, mode in [(version, mode) for version in "32" for mode in ("data", "define")]:
        name = f"killed_{mode}{version}.zarr"
        code, _, err = run([sys.executable, "-c", RENAMED_AND_KILLED, name, mode], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        found = sorted(path for path, _ in zarr.open_consolidated(build / name).members(max_depth=None))
        check(f"what is renamed in {mode} mode in format {version} is listed", code == 0 and found == ["h", "h/below", "new", "stays"], (found, err[-500:]))


RENAMED_FULL = """
import itertools, netCDF4, os, resource, sys
outcomes = set()
for (kind, old), mode, room in itertools.product((("Variable", "v"), ("Group", "g")), "aw", range(-100, 1300, 100)):
    new = old * 250
    place = new if kind == "Variable" else new + "/w"
    d = netCDF4.Dataset("full.zarr", "w")
    d.createDimension("x", 2)
    for group, name in (d, "v"), (d.createGroup("g"), "w"):
        group.createVariable(name, "i4", ("x",))[:] = [1, 2]
    d.sync()
    if mode == "a":
        d.close()
        d = netCDF4.Dataset("full.zarr", "a")
    size = max(file.stat().st_size for file in os.scandir("full.zarr") if file.is_file())
    refused = False
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
    try:
        getattr(d, "rename" + kind)(old, new)
    except Exception:
        refused = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    outcomes.add(refused)
    try:
        if refused:
            getattr(d, "rename" + kind)(old, new)
        d.sync()
        with netCDF4.Dataset("full.zarr") as r:
            assert r[place][:].tolist() == [1, 2] and old not in {**r.variables, **r.groups}, list(r.variables)
    except Exception as error:
        print(kind, mode, room, refused, repr(error)[:300])
    d.close()
print(sorted(outcomes))
"""


def renamed_on_a_full_disk(build):
    """A renaming that finds no room for a document is done, or is done by the next call: nothing is lost to readers."""
    for version in "3", "2":
        code, out, err = run([sys.executable, "-c", RENAMED_FULL], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        check(f"a renaming on a full disk in format {version}", code == 0 and out.splitlines() == ["[False, True]"], (out[:2000], err[-500:]))


def unreachable(build):
    """A call during which the folder cannot be reached any more is done, or is done by the same call later; nothing is lost."""
    code, _, err = run(["cc", "-Wall", "-Wextra", "-Werror", "-o", "unreachable", str(Path(__file__).parent / "netcdf_unreachable.c"), "-lnetcdf"], build)
    check("netcdf_unreachable.c compiles", code == 0, err[-500:])
    for version in "3", "2":
        code, out, err = run(["./unreachable", f"unreachable{version}.zarr"], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        told = ["a renamed variable: told", "a renamed group: told", "new definitions: told", "a new file: told"]
        check(f"a folder that cannot be reached in format {version}", code == 0 and out.splitlines() == told, (out[:2000], err[-500:]))


def beside(build, deep):
    """Two programs have a file open at a time, and one of them renames and defines what the other one knows by other names; without --deep in the
    formats by turns."""
    for number, (name, (lines, wanted)) in enumerate(netcdf_beside.PROGRAMS.items()):
        for version in ("3", "2") if deep else "32"[number % 2]:
            code, out, err = run([sys.executable, "-c", netcdf_beside.PROLOGUE + lines, f"beside{number}_{version}.zarr"], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
            check(f"beside another program in format {version}: {name}", code == 0 and out.splitlines() == wanted.splitlines(), (out, err[-500:]))


def two_writers(build):
    """Two programs that have a file open at a time, and write records of different variables: neither cuts off what the other has published."""
    for version in "3", "2":
        name = f"writers{version}.zarr"
        code, _, err = run([sys.executable, "-c", TWO_WRITERS, name], build, **PRELOAD, OZARR_NETCDF_SPEC=f"format={version}")
        check(f"two programs write {name}", code == 0, err[-500:])
        with xr.open_dataset(build / name, engine="zarr") as data:
            right = data["a"].values.tolist() == list(range(10)) and data["b"].values[:5].tolist() == list(range(5)) and (data["c"].values[:2] == 7).all()
            check(f"what two programs wrote to {name}", right and dict(data.sizes) == {"t": 10, "x": 4}, data.load())


def fortran(build):
    """A model in Fortran, started with another environment, and the same file as netCDF-4."""
    source = Path(__file__).parent / "netcdf_model.f90"
    flags = subprocess.run(["nf-config", "--fflags", "--flibs"], capture_output=True, text=True).stdout.split()
    code, _, err = run(["gfortran", "-o", "model", str(source), *flags], build)
    check("the model compiles", code == 0, err[-500:])
    (build / "always").mkdir()
    check("the model writes netCDF-4", run(["./model", "model.nc"], build)[0] == 0)
    for name, environment in ("model.zarr", {}), ("always/model.nc", {"OZARR_NETCDF": "always"}):
        code, out, err = run(["./model", name], build, **PRELOAD, **environment)
        check(f"the model writes {name}", code == 0, out + err)
        check(f"{name} is Zarr", (build / name / "zarr.json").exists())
        compare(f"the model's {name}", build, "model.nc", name)


def parallel(build, deep):
    """Ranks write one file by nc_create_par and nf90_create: it is the one that one process writes as netCDF-4. Neither library of the
    distribution is built with MPI here."""
    mpi = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_btl": "self,vader",
           "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none", "OZARR_NUM_THREADS": "2"}
    flags = subprocess.run(["nf-config", "--fflags", "--flibs"], capture_output=True, text=True).stdout.split()
    for language, compiler, libraries in ("c", "mpicc", ["-lnetcdf"]), ("f90", "mpif90", flags):
        program = f"./parallel_{language}"
        code, _, err = run([compiler, "-o", program, str(Path(__file__).parent / f"netcdf_parallel.{language}"), *libraries], build)
        check(f"{program} compiles", code == 0, err[-500:])
        code, out, err = run([program, f"{program}.nc", "alone"], build, **mpi)
        check(f"{program} writes netCDF-4 alone", code == 0, (out + err)[-500:])
        for ranks in "1", "2", "3":
            name = f"{program}_{ranks}.zarr"
            code, out, err = run(["mpirun", "-n", ranks, program, name], build, **PRELOAD, **mpi)
            check(f"{program} on {ranks} ranks", code == 0, (out + err)[-500:])
            compare(f"{program} on {ranks} ranks", build, f"{program}.nc", name)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                xr.open_dataset(build / name, engine="zarr", decode_times=False).load()
    code, _, err = run(["mpicc", "-Wall", "-Wextra", "-Werror", "-o", "parallel_random", str(Path(__file__).parent / "netcdf_parallel_random.c"), "-lnetcdf"], build)
    check("netcdf_parallel_random.c compiles", code == 0, err[-500:])
    for ranks in "1", "3":
        code, out, err = run(["mpirun", "-n", ranks, "./parallel_random", "random.zarr", "400" if deep else "20"], build, **PRELOAD, **mpi)
        check(f"random programs on {ranks} ranks", code == 0 and f"on {ranks} ranks" in out, (out + err)[-500:])


def alone(build, prefix):
    """netcdf/ is a project of its own over an installed ozarr, with MPI and without."""
    source = str(Path(__file__).resolve().parents[2] / "netcdf")
    code, out, err = run(["cmake", "-S", source, "-B", "alone", f"-DCMAKE_PREFIX_PATH={prefix}"], build)
    check("netcdf/ is configured over an installed ozarr", code == 0, (out + err)[-500:])


def preloaded(build, prefix):
    """A program does not run where its library would not be loaded: it would write netCDF's own format."""
    place = build / "a prefix"
    place.mkdir()
    library = next(prefix.resolve().rglob("libozarr_netcdf.so"))
    (place / library.name).symlink_to(library)
    named = [(f"{folder}/{library.name}", False) for folder in (place, f"{place}:x", build / "nowhere", f"{library.parent}/$LIB/..")]
    for named, runs in (*named, (__file__, False), (library.parent, False), (library, True)):
        code, out, err = run([prefix / "bin/ozarr-netcdf", "echo", "runs"], build, OZARR_NETCDF_LIBRARY=named)
        said = (code, out) == (0, "runs\n") if runs else code == 1 and not out and err.startswith(f"ozarr-netcdf: {named}: ")
        check(f"ozarr-netcdf with the library {named}", said, f"{code} {out}{err}")


def sanitized(build, library):
    """The environment that preloads a library with sanitizers; what netCDF-C and the programs leave at their end is theirs. Undefined behaviour is
    a trap: with the sanitizer's own library netCDF-C's programs stand still at their end, in a lock of the C library."""
    runtime = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    return {"LD_PRELOAD": f"{runtime} {library.resolve()}", "ASAN_OPTIONS": f"detect_leaks=0:log_path={build}/sanitizer"}


def main():
    global PRELOAD, PROGRAM
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--prefix", required=True, type=Path)
    arguments.add_argument("--build", required=True, type=Path)
    arguments.add_argument("--deep", action="store_true")
    arguments.add_argument("--sanitized", type=Path, metavar="LIBRARY")
    given = arguments.parse_args()
    missing = [program for program in ("ncdump", "ncks", "cdo", "nf-config", "mpirun", "mpif90", *(("Rscript", "gdal_translate", "ncview", "xvfb-run", "xwininfo") if given.deep else ())) if not shutil.which(program)]
    library = next(given.prefix.resolve().rglob("libozarr_netcdf.so"), None)
    if not library:
        missing.append("libozarr_netcdf.so (the headers of netCDF-C 4.9: libnetcdf-dev)")
    if not next(given.prefix.resolve().rglob("libozarr_netcdf_mpi.so"), None):
        missing.append("libozarr_netcdf_mpi.so (MPI: libopenmpi-dev)")
    if missing:
        sys.exit(f"missing: {', '.join(missing)}; tools/deps test installs it")
    build = given.build.resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    PRELOAD, PROGRAM = sanitized(build, given.sanitized) if given.sanitized else {"LD_PRELOAD": str(library)}, given.prefix.resolve() / "bin/ozarr"
    programs(build, given.deep)
    copies(build)
    others(build)
    types(build)
    renamed_types(build)
    renamed_group(build)
    texts_of_c(build)
    formats(build)
    damaged(build)
    oldest(build)
    unread(build)
    foreign(build)
    unlisted(build)
    hostile(build)
    theirs(build)
    long_names(build)
    continued(build, given.prefix.resolve())
    their_names(build)
    deep_attributes(build)
    alike(build)
    configured(build, given.prefix.resolve(), given.deep)
    alone(build, given.prefix.resolve())
    preloaded(build, given.prefix.resolve())
    errors(build)
    in_memory(build)
    in_the_way(build)
    named_after(build)
    behind_links(build)
    told_of_servers(build)
    calls(build)
    late_text(build)
    same_record(build)
    two_writers(build)
    two_definers(build)
    late_definer(build)
    late_spoilt(build)
    mended(build)
    late_array(build)
    longer_below(build)
    untold_lengths(build)
    renamed_meanwhile(build)
    renamed_onto(build)
    renamed_and_killed(build)
    renamed_on_a_full_disk(build)
    unreachable(build)
    beside(build, given.deep)
    racing_definers(build)
    racing_programs(build)
    racing_groups(build)
    stopped_holder(build)
    stopped_in_groups(build)
    refused_lock(build)
    left_locks(build)
    settings(build)
    nczarr_changed(build)
    told_to_nczarr(build)
    unfit(build)
    fortran(build)
    parallel(build, given.deep)
    if given.deep:
        large_programs(build)
    for report in build.glob("sanitizer.*"):
        check(report.name, False, report.read_text()[:3000])
    print(f"{RAN} checks, {len(FAILED)} failed")
    sys.exit(bool(FAILED))


main()
