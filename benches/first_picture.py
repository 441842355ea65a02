#!/usr/bin/env python3
"""How long a person waits for the first picture of a plane of an array of 10 GiB, and for the next plane: `ozarr plot` and `ozarr view`, xarray with
matplotlib on the same store, and ncview on the same data in a netCDF-4 file.

  first_picture.py --program OZARR [--folder DIR] [--steps N] [--rounds N]

The array is float32, N (2560) planes of 1024 x 1024 in chunks of 512 x 512 (1 MiB), zstd; in the file zlib of level 1. It is made once in DIR and
removed at the end, unless DIR was named. All readers take turns, each a process of its own; the plane is another one each time, so that no reader finds
chunks that one before it has read. Medians and the least, in milliseconds. What is not installed is left out and said: matplotlib; netCDF4 (which
writes the file), ncview, Xvfb and xwininfo. Of ncview it is the time until the window of the picture is there.
"""
import argparse, os, shutil, statistics, subprocess, sys, tempfile, time, urllib.request
from pathlib import Path

SIDE, CHUNK, LIMIT = 1024, 512, 120
DRAW = """
import sys, xarray, matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
data = xarray.open_zarr(sys.argv[1], consolidated=False, chunks=None)["t"]
data[int(sys.argv[2])].plot()
plt.savefig(sys.argv[3])
"""
STEP = """
import sys, time, xarray, matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
data = xarray.open_zarr(sys.argv[1], consolidated=False, chunks=None)["t"]
figure, axes = plt.subplots()
first, *rest = map(int, sys.argv[3:])
image = axes.imshow(data[first].values)
figure.canvas.draw()
for step in rest:
    begun = time.perf_counter()
    image.set_data(data[step].values)
    figure.canvas.draw()
    print(time.perf_counter() - begun)
"""


def planes(steps):
    """Smooth fields with some noise, which compress as fields of simulations do."""
    import numpy as np

    y, x = np.meshgrid(np.linspace(0, 6, SIDE, dtype="f4"), np.linspace(0, 6, SIDE, dtype="f4"), indexing="ij")
    noise = np.random.default_rng(1).normal(size=(SIDE, SIDE)).astype("f4") * np.float32(0.01)
    for t in range(steps):
        yield np.round(280 + 10 * np.sin(x + t / 50) * np.cos(y) + np.roll(noise, t, axis=0), 2).astype("f4")


def make_store(place, steps):
    import zarr

    group = zarr.create_group(place)
    array = group.create_array("t", shape=(steps, SIDE, SIDE), chunks=(1, CHUNK, CHUNK), dtype="f4", dimension_names=("time", "y", "x"))
    for t, plane in enumerate(planes(steps)):
        array[t] = plane


def make_file(place, steps):
    """Whether netCDF4 is there to write it."""
    try:
        import netCDF4
    except ImportError:
        return False
    with netCDF4.Dataset(place, "w") as file:
        for name, length in (("time", steps), ("y", SIDE), ("x", SIDE)):
            file.createDimension(name, length)
        t = file.createVariable("t", "f4", ("time", "y", "x"), compression="zlib", complevel=1, chunksizes=(1, CHUNK, CHUNK))
        for i, plane in enumerate(planes(steps)):
            t[i] = plane
    return True


def timed(*words):
    begun = time.perf_counter()
    subprocess.run([str(w) for w in words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT)
    return time.perf_counter() - begun


def address_of(server):
    return server.stdout.readline().strip()


def view_steps(program, store, steps):
    """The times of the first plane from the start of the program, and of the next ones."""
    begun = time.perf_counter()
    server = subprocess.Popen([program, "view", str(store), "--no-browser"], stdout=subprocess.PIPE, text=True)
    try:
        page, times = address_of(server), []
        for step in steps:
            query = f"api/plane?path=t&y=1&x=2&at={step},0,0&y0=0&y1={SIDE}&x0=0&x1={SIDE}&h={SIDE}&w={SIDE}"
            with urllib.request.urlopen(page + query, timeout=LIMIT) as answer:
                body = answer.read()
            assert len(body) == SIDE * SIDE * 4, len(body)
            times.append(time.perf_counter() - begun)
            begun = time.perf_counter()
        return times[0], times[1:]
    finally:
        server.kill()
        server.wait()


def ncview(file, display):
    """Until the window that ncview shows a picture in is there."""
    env = os.environ | {"DISPLAY": display}
    begun = time.perf_counter()
    program = subprocess.Popen(["ncview", file.name], cwd=file.parent, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while time.perf_counter() - begun < LIMIT and program.poll() is None:
            windows = subprocess.run(["xwininfo", "-root", "-tree"], env=env, capture_output=True, text=True, timeout=LIMIT).stdout
            if f'("{file.name}" "Ncview")' in windows:
                return time.perf_counter() - begun
        raise RuntimeError("ncview showed nothing")
    finally:
        program.kill()
        program.wait()


def screen():
    """A screen in memory, and its name; `None` if it cannot be had."""
    if not all(map(shutil.which, ("ncview", "Xvfb", "xwininfo"))):
        return None, None
    read, write = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-noreset", "-screen", "0", "1280x1024x24"], pass_fds=(write,), stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as told:
        number = told.readline().strip()
    return server, f":{number}"


def row(what, times):
    print(f"| {what} | {statistics.median(times) * 1e3:.0f} | {min(times) * 1e3:.0f} |")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", required=True, type=Path)
    arguments.add_argument("--folder", type=Path)
    arguments.add_argument("--steps", type=int, default=2560)
    arguments.add_argument("--rounds", type=int, default=7)
    options = arguments.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="ozarr-first-picture-"))
    folder.mkdir(parents=True, exist_ok=True)
    store, file, out, program = folder / "run.zarr", folder / "run.nc", folder / "plot.png", options.program.resolve()
    has_plots = subprocess.run([sys.executable, "-c", "import xarray, matplotlib"], capture_output=True).returncode == 0
    server, display = screen()
    try:
        if not store.exists():
            make_store(store, options.steps)
        has_file = file.exists() or (display is not None and make_file(file, options.steps))
        step = iter(range(options.steps // (8 * options.rounds + 8), options.steps))
        found = {}
        for _ in range(options.rounds):
            found.setdefault("`ozarr plot` to a PNG", []).append(timed(program, "plot", store / "t", "--index", f"time={next(step)}", "-o", out))
            first, rest = view_steps(program, store, [next(step) for _ in range(4)])
            found.setdefault("`ozarr view`: started, the first plane", []).append(first)
            found.setdefault("`ozarr view`: the next plane", []).extend(rest)
            if has_plots:
                found.setdefault("xarray and matplotlib to a PNG", []).append(timed(sys.executable, "-c", DRAW, store, next(step), out))
                told = subprocess.run([sys.executable, "-c", STEP, store, out, *(str(next(step)) for _ in range(4))], check=True, capture_output=True, text=True, timeout=LIMIT)
                found.setdefault("xarray and matplotlib: the next plane", []).extend(map(float, told.stdout.split()))
            if has_file:
                found.setdefault("ncview: the window of the picture", []).append(ncview(file, display))
        print(f"A plane of 4 MiB of an array of {options.steps * SIDE * SIDE * 4 / 2**30:.1f} GiB, {options.rounds} rounds by turns, in ms:\n")
        print("| | median | least |\n|---|---|---|")
        for what, times in found.items():
            row(what, times)
        for what, there in (("matplotlib", has_plots), ("ncview, Xvfb, xwininfo or netCDF4", has_file)):
            print(end="" if there else f"\nnot there: {what}\n")
    finally:
        if server:
            server.kill()
            server.wait()
        if options.folder is None:
            shutil.rmtree(folder)


main()
