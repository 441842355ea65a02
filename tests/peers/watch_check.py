#!/usr/bin/env python3
"""A run is watched while it is written: by examples/watch.py (xarray under `-W error`, without a display) and by `ozarr tail`; and xarray opens one in
an archive, every warning an error, after each call.

  watch_check.py --library libozarr.so --program ozarr --build DIR

The writer is a process of its own, which goes through the C interface. The last line is `N passed, N failed`.
"""
import argparse, ctypes, importlib.util, json, os, shutil, subprocess, sys, time, warnings
from pathlib import Path

import xarray as xr
import zarr

STEPS, NX = 24, 16
ROOT = Path(__file__).resolve().parents[2]


def write(library, run, steps=STEPS, pause=0.05, look=None):
    """A run of some steps: u is the step's number everywhere, v twice that. `look` is called after each call, when all is flushed."""
    oz = ctypes.CDLL(library)
    oz.ozarr_last_error.restype = ctypes.c_char_p
    oz.ozarr_series_step.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
    text = lambda s: s.encode()

    def call(function, *arguments):
        if getattr(oz, function)(*arguments):
            sys.exit(f"{function}: {oz.ozarr_last_error().decode()}")
        if look and ds.value and not function.endswith("close"):
            group = ctypes.c_void_p()
            oz.ozarr_group_node.restype = ctypes.c_void_p
            if oz.ozarr_dataset_open_group(ds, ctypes.byref(group)) or oz.ozarr_node_flush(ctypes.c_void_p(oz.ozarr_group_node(group))):
                sys.exit(f"flushing after {function}: {oz.ozarr_last_error().decode()}")
            oz.ozarr_group_free(group)
            look(function)

    ds, series = ctypes.c_void_p(), ctypes.c_void_p()
    call("ozarr_dataset_create", text(run), 0, 1, ctypes.byref(ds))
    call("ozarr_dataset_define_time", ds, b"time", ctypes.c_int64(0), ctypes.c_int64(0), b"seconds since 2026-01-01", None, None)
    call("ozarr_dataset_define_dimension", ds, b"x", ctypes.c_int64(NX))
    names = (ctypes.c_char_p * 2)(b"time", b"x")
    for name in (b"u", b"v"):
        call("ozarr_dataset_define_variable", ds, name, FLOAT64, 2, names, None)
    call("ozarr_series_open", ds, b"time", ctypes.c_int64(-1), ctypes.c_int64(1), ctypes.c_size_t(0), ctypes.byref(series))
    for step in range(steps):
        for name, factor in ((b"u", 1), (b"v", 2)):
            values = (ctypes.c_double * NX)(*[factor * step] * NX)
            call("ozarr_series_put", series, name, FLOAT64, values, ctypes.c_size_t(ctypes.sizeof(values)))
        call("ozarr_series_step", series, 60.0 * step, 0, None, None)
        time.sleep(pause)
    call("ozarr_series_close", series)
    call("ozarr_dataset_close", ds)


def archive(library, run):
    """What xarray finds in an archive that is being written, after each call: the variables that are there, with all steps that are published."""
    warnings.simplefilter("error")
    found = []

    def look(function):
        with xr.open_zarr(zarr.storage.ZipStore(run, mode="r"), decode_times=False) as ds:
            found.append((function, sorted(ds.variables), ds.sizes.get("time", 0), ds["time"].size if "time" in ds else 0))

    write(library, str(run), 3, 0, look)
    wanted = {(("time", "u", "v"), n, n) for n in range(4)} | {((), 0, 0), (("time",), 0, 0), (("time", "u"), 0, 0)}
    seen = {(tuple(names), steps, values) for _, names, steps, values in found}
    return "" if seen == wanted else f"found {found}"


def number(name):
    """A constant of the interface."""
    for constants in json.loads((ROOT / "abi/ozarr.json").read_text())["constants"]:
        if constants["name"] == name:
            return int(constants["value"])
    sys.exit(f"abi/ozarr.json has no {name}")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--library", required=True)
    ap.add_argument("--program", required=True)
    ap.add_argument("--build", default="build/watch")
    ap.add_argument("--write", help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.write:
        return write(a.library, a.write)
    build = Path(a.build).resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    run, env = build / "run.zarr", {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    begin = lambda *argv: subprocess.Popen([str(x) for x in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    ends = ["--until", STEPS, "--timeout", 300]
    watch = begin(sys.executable, "-W", "error", ROOT / "examples/watch.py", run, "u", *ends, "--save", build / "plot.png")
    writer = begin(sys.executable, __file__, "--library", a.library, "--program", a.program, "--write", run)
    while not (run / "v/zarr.json").exists() and writer.poll() is None:
        time.sleep(0.01)
    tail = begin(a.program, "tail", run, "--json", "-n", STEPS, *ends)
    failed = 0
    for name, process in (("the writer", writer), ("examples/watch.py", watch), ("ozarr tail", tail)):
        out, err = process.communicate()
        wrong = err.strip()[-600:] if process.returncode or err else ""
        if not wrong and name == "ozarr tail":
            want = [{"step": i, "time": 60.0 * i, "variables": {n: {"min": f * i, "max": f * i, "mean": f * i} for n, f in (("u", 1.0), ("v", 2.0))}} for i in range(STEPS)]
            found = [json.loads(line) for line in out.splitlines()]
            wrong = "" if found == want else f"found {found}, expected {want}"
        if not wrong and name == "examples/watch.py" and importlib.util.find_spec("matplotlib"):
            wrong = "" if (build / "plot.png").exists() and (build / "plot.png").read_bytes().startswith(b"\x89PNG") else "it drew nothing"
        elif not wrong and name == "examples/watch.py":
            means = [line.split()[-1] for line in out.splitlines()]
            wrong = "" if means == [str(i) for i in range(STEPS)] else f"it printed {out!r}"
        failed += bool(wrong)
        print(f"FAIL {name}: {wrong}" if wrong else f"ok   {name}")
    wrong = archive(a.library, build / "run.zip")
    failed += bool(wrong)
    print(f"FAIL xarray on an archive: {wrong}" if wrong else "ok   xarray on an archive")
    print(f"{4 - failed} passed, {failed} failed")
    return 1 if failed else 0


FLOAT64 = number("OZARR_FLOAT64")

if __name__ == "__main__":
    sys.exit(main())
