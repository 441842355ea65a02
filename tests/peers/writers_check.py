"""Each command that shows or checks data, on one dataset as every writer stores it: zarr-python in both versions, zarrs, tensorstore, xarray,
NCZarr, and `ozarr from` of a netCDF file. numpy knows the figures; pictures, digests and differences are those of the first store.

  writers_check.py --program PREFIX/bin/ozarr --build FOLDER
"""
import json, subprocess, urllib.request

import netCDF4
import numpy as np
import tensorstore as ts
import xarray as xr
import zarr

from program import BUILD, PROGRAM, check, run_parts

LENGTHS = {"time": 4, "lat": 12, "lon": 20}
COORDINATES = {name: np.linspace(0, 90, n).round(3) for name, n in LENGTHS.items()}
FIELD = (280 + 9 * np.random.default_rng(21).normal(size=(4, 12, 20))).astype("f4")
FIELD[:, 3:5, 7:9] = np.nan
ARRAYS = {name: ((name,), values, {}) for name, values in COORDINATES.items()} | {"t": (tuple(LENGTHS), FIELD, {"units": "K"})}
CHUNKS = {"time": 1, "lat": 5, "lon": 8}


def zarr_python(place, version, **more):
    root = zarr.open_group(place, mode="w", zarr_format=version)
    for name, (dims, values, attributes) in ARRAYS.items():
        names = {"dimension_names": dims} if version == 3 else {}
        old = {"_ARRAY_DIMENSIONS": list(dims)} if version == 2 else {}
        made = root.create_array(name, shape=values.shape, dtype=values.dtype, chunks=[CHUNKS[d] for d in dims], fill_value=-1, attributes=attributes | old, **names,
                                 **({k: [n * CHUNKS[d] for d in dims] for k, n in more.items()}))
        made[...] = values


def zarrs(place):
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
        zarr_python(place, 3, shards=2)


def tensorstore(place):
    place.mkdir()
    (place / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))
    for name, (dims, values, attributes) in ARRAYS.items():
        metadata = {"shape": values.shape, "data_type": values.dtype.name, "dimension_names": dims, "attributes": attributes,
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [CHUNKS[d] for d in dims]}},
                    "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "gzip", "configuration": {"level": 1}}]}
        made = ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(place / name)}, "metadata": metadata}, create=True).result()
        made[...] = values


def xarray(place):
    xr.Dataset(ARRAYS).to_zarr(place, encoding={"t": {"chunks": tuple(CHUNKS.values())}})


def netcdf(address):
    with netCDF4.Dataset(address, "w") as file:
        for name, length in LENGTHS.items():
            file.createDimension(name, length)
        for name, (dims, values, attributes) in ARRAYS.items():
            made = file.createVariable(name, values.dtype, dims, chunksizes=[CHUNKS[d] for d in dims])
            made.setncatts(attributes)
            made[...] = values


def nczarr(place):
    netcdf(f"file://{place}#mode=nczarr,file")


def from_netcdf(place):
    netcdf(BUILD / "run.nc")
    run("from", BUILD / "run.nc", place, "--chunks", "1,5,8")


WRITERS = [lambda place: zarr_python(place, 3), lambda place: zarr_python(place, 2), zarrs, tensorstore, xarray, nczarr, from_netcdf]
NAMES = ["zarr-python 3", "zarr-python 2", "zarrs", "tensorstore", "xarray", "NCZarr", "ozarr from"]


def run(*words, status=0):
    ran = subprocess.run([str(w) for w in (PROGRAM, *words)], cwd=BUILD, capture_output=True)
    assert ran.returncode == status, (words, ran.returncode, ran.stdout[-500:], ran.stderr)
    return ran.stdout


def told(*words):
    return json.loads(run(*words, "--json"))


def figures(values):
    """As the numbers of doubles in few digits."""
    return [float(f"{f(values.astype('f8')):.6g}") for f in (np.nanmin, np.nanmax, np.nanmean)]


def few(found):
    return [float(f"{found[name]:.6g}") for name in ("min", "max", "mean")]


def dumped(value):
    return [dumped(v) for v in value] if isinstance(value, list) else np.nan if value in (None, "NaN") else value


def plane(place):
    """A plane and a line as the page of `ozarr view` gets them."""
    server = subprocess.Popen([PROGRAM, "view", place, "--no-browser", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        text = ""
        while not text.endswith("}\n"):
            text += server.stdout.readline()
        page = json.loads(text)["address"]
        get = lambda what: np.frombuffer(urllib.request.urlopen(page + "api/" + what, timeout=20).read(), "<f4")
        return get("plane?path=t&y=1&x=2&at=2,0,0&y0=0&y1=12&x0=0&x1=20&h=99&w=99"), get("line?path=t&dim=0&at=0,6,6&w=99")
    finally:
        server.kill()
        server.wait()


def commands(name, place, first):
    """Runs all of them; gives the picture and the digest."""
    check(f"{name}: tree", {n["path"] for n in told("tree", place)}, {"", *ARRAYS})
    check(f"{name}: ls", sorted(told("ls", place)), sorted(ARRAYS))
    info = told("info", place / "t")
    check(f"{name}: info", (info["shape"], info["dimension_names"], info["attributes"]["units"]), ([4, 12, 20], list(LENGTHS), "K"))
    check(f"{name}: read", told("read", place, "lat", "--start", "-2"), COORDINATES["lat"][-2:].tolist())
    found = told("stats", place / "t")
    check(f"{name}: stats", (found["elements"], found["missing"] + found["nan"], few(found)), (960, 16, figures(FIELD)))
    files = [f for f in place.rglob("*") if f.is_file()]
    du = told("du", place)[0]
    check(f"{name}: du", (du["objects"], du["bytes"]), (len(files), sum(f.stat().st_size for f in files)))
    end = json.loads(run("verify", place, "--json").splitlines()[-1])
    check(f"{name}: verify", (end["nodes"], end["faults"]), (5, 0))
    dump = told("dump", place)
    check(f"{name}: dump", ({d: dump["dimensions"][d] for d in LENGTHS}, dump["variables"]["t"]["shape"], dump["variables"]["lat"]["data"]), (LENGTHS, list(LENGTHS), COORDINATES["lat"].tolist()))
    assert np.array_equal(np.array(dumped(dump["variables"]["t"]["data"]), "f4"), FIELD, equal_nan=True), f"{name}: dump"
    check(f"{name}: the type in CDL", b"float t(time, lat, lon) ;" in run("dump", "-h", place), True)
    steps = [json.loads(line) for line in run("tail", place, "--until", "4", "-n", "2", "--json").splitlines()]
    check(f"{name}: tail", [(s["step"], s["time"], few(s["variables"]["t"])) for s in steps], [(n, COORDINATES["time"][n], figures(FIELD[n])) for n in (2, 3)])
    best = told("tune", place / "t", "--access", "series")
    check(f"{name}: tune", (best["sample"], best["layouts"][0]["accesses"][0]["reads"] > best["layouts"][best["best"]]["accesses"][0]["reads"]), ([4, 12, 20], True))
    check(f"{name}: explain", json.loads(run("explain", place, "t", "--json")).get("elements", 960), 960)
    for found, wanted in zip(plane(place), (FIELD[2].ravel(), FIELD[:, 6, 6])):
        assert np.array_equal(found, wanted, equal_nan=True), f"{name}: view"
    picture = BUILD / "t.png"
    run("plot", place / "t", "--index", "time=1", "--bare", "-o", picture)
    digest = told("digest", place)
    check(f"{name}: digests", set(digest), set(ARRAYS))
    told("digest", place, "--store")
    check(f"{name}: stored digests", told("digest", place, "--check")["equal"], True)
    if first is not None:
        check(f"{name}: diff", told("diff", BUILD / "0.zarr", place, "--elements")["equal"], True)
    return picture.read_bytes(), digest["t"]


def main():
    first = None
    for n, (name, write) in enumerate(zip(NAMES, WRITERS)):
        place = BUILD / f"{n}.zarr"
        write(place)
        found = commands(name, place, first)
        first = first or found
        check(f"{name}: picture and digest", found == first, True)


run_parts(main, name="writers: ")
