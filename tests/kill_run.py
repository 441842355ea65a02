#!/usr/bin/env python3
"""The kill sweep of a whole run: steps of a series, checkpoints and their removal, killed before each change of a file, or a system call fails.

  kill_run.py --bin BUILD --build DIR [--most N]     BUILD holds run_target; N cases for each sweep, evenly chosen; 0 for all

A run that has checkpoints goes on for some steps: it publishes, flushes, commits checkpoints over older ones of the same name and removes others.
Whatever happens to it, ozarr, zarr-python, xarray (every warning is an error) and tensorstore open what is there: whole steps, whole checkpoints,
and never fewer than before. Begun again it ends with the bytes of an undisturbed run. A run that fails says so: none that succeeds lacks a step.
On folders (version 2, version 3, shards, checkpoints whose unchanged chunks are links), and in zip archives. The last line is `N passed, N failed`.
"""
import argparse, collections, shutil, sys, warnings
from pathlib import Path

import numpy as np
import tensorstore as ts
import xarray as xr
import zarr

from kill import Results, calls, expect, run, sample, strace, why

BEFORE, END, EVERY, WIDTH = 7, 16, 3, 6
KEPT, WHOLE = BEFORE - BEFORE % EVERY, END - END % EVERY
FORMS = {"2": "version 2", "3": "version 3", "s": "shards", "l": "linked checkpoints", "z": "archives"}
CONSTANT = np.arange(WIDTH)[::-1]
CHANGES = {"openat", "write", "pwrite64", "writev", "pwritev", "rename", "renameat", "renameat2", "linkat", "unlink", "unlinkat", "rmdir", "mkdirat",
           "ftruncate", "fallocate"}
OTHERS = {"read", "pread64", "preadv", "newfstatat", "fstat", "statx", "getdents64", "fsync", "fdatasync", "close", "fcntl"}


def states(count):
    """The state before each step, as run_target computes it."""
    found, state = [], np.zeros(WIDTH)
    for step in range(count):
        found.append(state.copy())
        state += step * np.arange(WIDTH) + 1
    return np.array(found).reshape(count, WIDTH)


STATES = states(END + 1)
SUMS = np.array([s[0] + s[1] if i % 2 == 0 else np.nan for i, s in enumerate(STATES)])
WANTED = {"u": STATES, "sum": SUMS, "time": 60 * np.arange(END + 1)}


def right_steps(values, name, who):
    n = len(values)
    expect(n <= END and np.array_equal(values, WANTED[name][:n], equal_nan=True), f"{who}: {name} of {n} steps is {values}")
    return n


def files(folder):
    """The bytes of each file, but for the library's own ones."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file() and not f.name.startswith(".ozarr")}


def opened(path):
    """What zarr-python and xarray open at a path."""
    return zarr.storage.ZipStore(path, mode="r") if path.suffix == ".zip" else str(path)


def check_run(path):
    """All variables have the same whole steps in xarray and zarr-python. tensorstore, which reads each array's own document, finds whole steps, and
    not fewer, but for those that a restart is cutting off."""
    with xr.open_zarr(opened(path), decode_times=False) as ds:
        steps = {right_steps(ds[name].values, name, "xarray") for name in WANTED}
    expect(len(steps) == 1, f"xarray: the variables have {steps} steps")
    group = zarr.open_group(opened(path), mode="r")
    expect({right_steps(group[name][...], name, "zarr-python") for name in WANTED} == steps, "zarr-python and xarray differ")
    published = steps.pop()
    for name in WANTED if path.suffix == ".zarr" else ():
        driver = "zarr3" if (path / "zarr.json").exists() else "zarr"
        array = ts.open({"driver": driver, "kvstore": {"driver": "file", "path": str(path / name)}}, read=True).result()
        n = right_steps(array.read().result(), name, "tensorstore")
        expect(n >= published or n == KEPT, f"tensorstore: {name} has {n} steps, the others {published}")
    return published


def check_points(path):
    """Each checkpoint that zarr-python lists is whole; gives the newest one's step."""
    newest = 0
    for name, group in zarr.open_group(opened(path), mode="r").groups():
        step = group.attrs["step"]
        expect(np.array_equal(group["state"][...], STATES[step]), f"zarr-python: the checkpoint {name} of step {step} holds {group['state'][...]}")
        expect(np.array_equal(group["constant"][...], CONSTANT), f"zarr-python: the constant of checkpoint {name} is {group['constant'][...]}")
        newest = max(newest, step)
        if path.suffix == ".zarr":
            driver = "zarr3" if (path / "zarr.json").exists() else "zarr"
            array = ts.open({"driver": driver, "kvstore": {"driver": "file", "path": str(path / name / "state")}}, read=True).result()
            expect(np.array_equal(array.read().result(), STATES[step]), f"tensorstore: the checkpoint {name} of step {step}")
    return newest


class Sweep(Results):
    def __init__(self, bin, build, most):
        super().__init__(build)
        self.target, self.most = bin / "run_target", most

    def prepare(self, form):
        """A run with steps and checkpoints; what it holds at the end; and the system calls of the way there."""
        ready, end, log = self.build / f"ready{form}", self.build / f"end{form}", self.build / f"trace{form}"
        ready.mkdir()
        p = run(self.target, ready, form, BEFORE)
        expect(p.returncode == 0, why(p))
        shutil.copytree(ready, end)
        p = strace(self.target, end, form, END, log=log)
        expect(p.returncode == 0, why(p))
        expect(self.look(end, form) == (END, WHOLE), "the undisturbed run is not whole")
        links = [line for line in log.read_text().splitlines() if " linkat(" in line and "constant/" in line]
        expect((form == "l") == bool(links), f"{len(links)} chunks were linked")
        return ready, end, log

    def look(self, folder, form):
        """How many steps and which checkpoint readers find, all of which are right."""
        p = run(self.target, folder, form, "check")
        expect(p.returncode == 0, why(p))
        steps, newest = map(int, p.stdout.split())
        ending = "zip" if form == "z" else "zarr"
        found = check_run(folder / f"run.{ending}"), check_points(folder / f"restart.{ending}")
        # Others list checkpoints by the consolidated metadata above them, which follow the commit.
        expect(found in ((steps, newest), (steps, newest - EVERY)), f"ozarr finds {steps} steps and checkpoint {newest}, the others {found}")
        return steps, newest

    def disturb(self, form, ready, end, inject, came):
        """One run that is disturbed, what is there then, and the one that goes on from there."""
        folder = self.build / "now"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ready, folder)
        p = strace(self.target, folder, form, END, inject=inject)
        steps, newest = self.look(folder, form)
        expect(steps >= newest >= KEPT, f"{steps} steps, the newest checkpoint of step {newest}")
        if p.returncode == 0:
            came["no effect"] += 1
            expect((steps, newest) == (END, WHOLE), f"the run said that all is well, with {steps} steps and checkpoint {newest}")
        else:
            came["stopped"] += 1
            came[newest] += 1
            expect("error" not in inject[2] or p.stderr.startswith("run_target: "), f"no message but {p.stderr!r}")
        p = run(self.target, folder, form, END)
        expect(p.returncode == 0, f"started again: {why(p)}")
        expect(self.look(folder, form) == (END, WHOLE), "started again it ends otherwise")
        if form != "z":
            now, wanted = files(folder / "run.zarr"), files(end / "run.zarr")
            differing = sorted(k for k in now.keys() | wanted.keys() if now.get(k) != wanted.get(k))
            expect(not differing, f"started again, these files are not those of an undisturbed run: {differing}")

    def sweep(self, name, form, injections, prepared):
        ready, end, _ = prepared
        came = collections.Counter()
        for inject in injections:
            try:
                self.disturb(form, ready, end, inject, came)
            except Exception as e:
                return self.result(name, f"{inject[2]} at {inject[0]} number {inject[1]}: {type(e).__name__}: {e}")
        newest = sorted(k for k in came if isinstance(k, int))
        wrong = "" if came["stopped"] and (len(injections) < 50 or len(newest) > 1) else f"the sweep shows nothing: {dict(came)}"
        self.result(name, wrong, f"{len(injections)} cases, {came['stopped']} stopped, newest checkpoints {newest}")

    def form(self, form):
        try:
            prepared = self.prepare(form)
        except Exception as e:
            return self.result(FORMS[form], f"{type(e).__name__}: {e}")
        # A kill before any other call leaves what a kill before the next one of these leaves.
        changes = calls(prepared[2], True, lambda name, line: name in CHANGES and (name != "openat" or "O_CREAT" in line))
        self.sweep(f"{FORMS[form]}, killed", form, [(*c, "signal=KILL") for c in sample(changes, self.most)], prepared)
        others = calls(prepared[2], True, lambda name, line: name in OTHERS or name == "openat")
        fails = [(name, n, f"error={error}") for error in ("ENOSPC", "EDQUOT", "EIO") for name, n in changes]
        fails += [(name, n, "error=EIO") for name, n in others]
        fails += [(name, f"{n}+", "error=ENOSPC") for name, n in changes if not name.startswith("unlink")]
        self.sweep(f"{FORMS[form]}, calls that fail", form, sample(fails, self.most), prepared)


def main():
    warnings.simplefilter("error")
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True, help="folder with run_target")
    ap.add_argument("--build", default="build/kill-run", help="folder for the stores")
    ap.add_argument("--most", type=int, default=12, help="the most cases for each sweep; 0: all")
    ap.add_argument("--forms", default="".join(FORMS), help="letters of the forms")
    a = ap.parse_args()
    s = Sweep(Path(a.bin).resolve(), a.build, a.most)
    for form in a.forms:
        s.form(form)
    return s.finish()


if __name__ == "__main__":
    sys.exit(main())
