"""`ozarr plot` on stores that xarray and zarr-python wrote: pictures by their pixels, against the values that xarray gives.

Usage: plot_check.py --program OZARR --build DIR [--pictures DIR]     (--pictures: renews the picture of the documentation there)
"""
import argparse, io, re, subprocess, base64
from pathlib import Path
import numpy as np, xarray, zarr
from PIL import Image

arguments = argparse.ArgumentParser()
arguments.add_argument("--program", required=True)
arguments.add_argument("--build", type=Path, required=True)
arguments.add_argument("--pictures", type=Path)
options = arguments.parse_args()
options.build.mkdir(parents=True, exist_ok=True)
passed = 0


def plot(*words):
    subprocess.run([options.program, "plot", *map(str, words)], check=True)


def table(name):
    """The 256 colours of a map, by the picture of a ramp."""
    ramp = options.build / "ramp.zarr"
    zarr.save_array(ramp, np.tile(np.arange(256.0), (2, 1)), mode="w") if not ramp.exists() else None
    plot(ramp, "--bare", "--colors", name, "-o", options.build / "ramp.png")
    return np.asarray(Image.open(options.build / "ramp.png"))[0]


def same(what, picture, values, colours, low=None, high=None):
    """Compares the pixels of a bare picture, its greatest row on top, with the colours of values."""
    global passed
    low, high = np.nanmin(values) if low is None else low, np.nanmax(values) if high is None else high
    place = np.nan_to_num((values - low) / (high - low) * 255)
    # Values halfway between two colours may have either.
    near = [colours[np.clip(np.floor(place + d), 0, 255).astype(int)] for d in (0.499, 0.501)]
    missing = np.isnan(values)[..., None]
    want = [np.where(missing, 190, n) for n in near]
    found = np.asarray(Image.open(picture))
    assert found.shape == want[0].shape, (what, found.shape, want[0].shape)
    ok = ((found == want[0]) | (found == want[1])).all(axis=-1)
    assert ok.all(), (what, np.argwhere(~ok)[:5], found[~ok][:5])
    passed += 1


def dataset():
    time = np.datetime64("2026-03-01", "ns") + np.arange(20) * np.timedelta64(12, "h")
    lat, lon = np.linspace(60, -60, 49), np.linspace(-180, 177.5, 144)
    t, y, x = np.meshgrid(np.arange(20), np.radians(lat), np.radians(lon), indexing="ij")
    air = 288 - 35 * np.sin(y) ** 2 + 6 * np.sin(3 * x + t / 4) * np.cos(y) ** 2
    air[:, 20:26, 100:112] = np.nan
    return xarray.Dataset({"air": (("time", "lat", "lon"), air, {"units": "K", "long_name": "air temperature"})},
                          {"time": time, "lat": ("lat", lat, {"units": "degrees_north", "long_name": "latitude"}), "lon": ("lon", lon, {"units": "degrees_east", "long_name": "longitude"})})


def main():
    data, viridis, out = dataset(), table("viridis"), options.build / "p.png"
    packed = {"air": {"dtype": "int16", "scale_factor": 0.01, "add_offset": 280.0, "_FillValue": -9999, "chunks": (4, 20, 50)}, "time": {"units": "hours since 2026-01-01"}}
    for format in (2, 3):
        store = options.build / f"data{format}.zarr"
        data.to_zarr(store, mode="w", zarr_format=format, encoding=packed, consolidated=False)
        read = xarray.open_zarr(store, consolidated=False, chunks=None)["air"].astype("f8")
        for what, words, values in [
            ("by date", ["--at", "time=2026-03-05 12:00:00"], read.sel(time="2026-03-05T12:00")),
            ("from the end", ["--index", "time=-1"], read[-1]),
            ("a box", ["--at", "lat=-10:30", "--at", "lon=0:90"], read[0].sel(lat=slice(30, -10), lon=slice(0, 90))),
            ("the greatest", ["--max", "time"], read.max("time")),
            ("a mean of latitudes", ["--mean", "lat", "--index", "time=0:10"], read[:10].mean("lat")[::-1]),
        ]:
            plot(store, "air", *words, "--bare", "-o", out)
            same(f"{what}, format {format}", out, values.values, viridis)
    big = np.add.outer(np.arange(3000.0), np.arange(2000.0))
    zarr.save_array(options.build / "big.zarr", big, mode="w")
    plot(options.build / "big.zarr", "--bare", "--size", "400,300", "-o", out)
    same("means of bins", out, big.reshape(300, 10, 400, 5).mean(axis=(1, 3))[::-1], viridis)
    svg, png = options.build / "p.svg", options.pictures / "plot.png" if options.pictures else out
    for name in (svg, png):
        plot(store, "air", "--at", "time=2026-03-05", "--contours" if name == png else "--colors=viridis", "--size", "800,420", "-o", name)
    x, y, w, h = (float(re.search(rf'<image [^>]*\b{n}="([\d.]+)"', svg.read_text())[1]) for n in ("x", "y", "width", "height"))
    picture = np.asarray(Image.open(png))[int(y):int(y + h), int(x):int(x + w)]
    inner = np.asarray(Image.open(io.BytesIO(base64.b64decode(re.search(r"base64,([^\"]+)", svg.read_text())[1]))))
    # Most points are on no contour: there the PNG has what the image in the SVG has.
    assert picture.shape == inner.shape and (picture == inner).all(axis=-1).mean() > 0.8
    frames = options.build / "a.png"
    plot(store, "air", "--animate", "time", "--bare", "-o", frames)
    animation = Image.open(frames)
    assert animation.n_frames == 20
    animation.seek(7)
    animation.convert("RGB").save(options.build / "frame.png")
    same("a picture of an animation", options.build / "frame.png", read[7].values, viridis, read.min().item(), read.max().item())
    print(f"plot: {passed} passed, 0 failed")


main()
