#!/usr/bin/env python3
"""A run is watched while it is written: by examples/watch.py (xarray under `-W error`, without a display) and by `ozarr tail`.

  watch_check.py --library libozarr.so --program ozarr --build DIR

The writer is a process of its own, which goes through the C interface. The last line is `N passed, N failed`.
"""
import argparse, ctypes, importlib.util, json, os, shutil, subprocess, sys, time
from pathlib import Path

STEPS, NX = 24, 16
ROOT = Path(__file__).resolve().parents[2]


def write(library, run):
    """A run of STEPS steps: u is the step's number everywhere, v twice that."""
    oz = ctypes.CDLL(library)
    oz.ozarr_last_error.restype = ctypes.c_char_p
    oz.ozarr_series_step.argtypes = [ctypes.c_void_p, ctypes.c_double]
    text = lambda s: s.encode()

    def call(function, *arguments):
        if getattr(oz, function)(*arguments):
            sys.exit(f"{function}: {oz.ozarr_last_error().decode()}")

    ds, series = ctypes.c_void_p(), ctypes.c_void_p()
    call("ozarr_dataset_create", text(run), 0, 1, ctypes.byref(ds))
    call("ozarr_dataset_define_time", ds, b"time", ctypes.c_int64(0), ctypes.c_int64(0), b"seconds since 2026-01-01", None, None)
    call("ozarr_dataset_define_dimension", ds, b"x", ctypes.c_int64(NX))
    names = (ctypes.c_char_p * 2)(b"time", b"x")
    for name in (b"u", b"v"):
        call("ozarr_dataset_define_variable", ds, name, FLOAT64, 2, names, None)
    call("ozarr_series_open", ds, b"time", ctypes.c_int64(-1), ctypes.c_int64(1), ctypes.c_size_t(0), ctypes.byref(series))
    for step in range(STEPS):
        for name, factor in ((b"u", 1), (b"v", 2)):
            values = (ctypes.c_double * NX)(*[factor * step] * NX)
            call("ozarr_series_put", series, name, FLOAT64, values, ctypes.c_size_t(ctypes.sizeof(values)))
        call("ozarr_series_step", series, 60.0 * step)
        time.sleep(0.05)
    call("ozarr_series_close", series)
    call("ozarr_dataset_close", ds)


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
    ends = ["--until", STEPS, "--timeout", 60]
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
    print(f"{3 - failed} passed, {failed} failed")
    return 1 if failed else 0


FLOAT64 = number("OZARR_FLOAT64")

if __name__ == "__main__":
    sys.exit(main())
