#!/usr/bin/env python3
"""The examples of a whole run (run.c, run.cpp, run.f90, run.jl), killed at random moments and with a full disk, end as an undisturbed run does.

  kill_examples.py --build DIR [--kills N] [--seed N] [--series PROGRAM] NAME=PROGRAM...     `NAME=julia` in place of a program: examples/julia/run.jl

With --series that program, examples/timeseries.c, is killed ten times as often: it is done soon.
Each is killed N times, goes on each time, is started beside one that goes on, and finds the disk full once: a small tmpfs where one can be mounted, else the size of files is limited. In
between xarray opens the run, with every warning as an error, and finds whole steps. In the end all files of the run have the bytes of an
undisturbed run (documents: the same members), and all programs the same numbers. The last line is `N passed, N failed`.
"""
import argparse, json, os, random, resource, shutil, signal, subprocess, sys, time, warnings
from pathlib import Path

import numpy as np
import xarray as xr
import zarr

from kill import Results, expect

STEPS, EVERY = 80, 10
ROOT = Path(__file__).resolve().parent.parent


def content(file):
    """The bytes of a file; of a document what it says, as consolidated metadata list nodes in the order in which they came."""
    return json.dumps(json.loads(file.read_bytes()), sort_keys=True).encode() if file.name == "zarr.json" else file.read_bytes()


def files(folder):
    """The content of each file, but for the library's own ones."""
    return {str(f.relative_to(folder)): content(f) for f in sorted(folder.rglob("*")) if f.is_file() and not f.name.startswith(".ozarr")}


def numbers(folder):
    """All variables, as xarray reads them; None where there is no run yet."""
    if not (folder / "run.zarr" / "zarr.json").exists():
        return None
    with xr.open_zarr(folder / "run.zarr", decode_times=False) as ds:
        return {name: ds[name].values for name in ("time", "t", "corner") if name in ds}


class Example:
    def __init__(self, command, build, kills, chance):
        self.command, self.build, self.kills, self.chance = command, build, kills, chance

    def fresh(self, name):
        folder = self.build / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def whole(self, folder):
        began = time.monotonic()
        p = subprocess.run([*self.command, folder], capture_output=True, text=True)
        expect(p.returncode == 0 and p.stdout == f"{STEPS} steps\n", f"exit status {p.returncode}: {p.stdout}{p.stderr}")
        return time.monotonic() - began

    def check_prefix(self, folder, wanted):
        """Readers see the first steps of the undisturbed run; gives how many."""
        found = numbers(folder)
        if not found:
            return 0
        steps = {len(values) for values in found.values()}
        expect(len(steps) == 1, f"the variables have {steps} steps")
        expect(all(np.array_equal(values, wanted[name][: len(values)], equal_nan=True) for name, values in found.items()), "other numbers")
        return steps.pop()

    def check_end(self, folder, undisturbed):
        self.whole(folder)
        now, wanted = files(folder / "run.zarr"), files(undisturbed / "run.zarr")
        differing = sorted(k for k in now.keys() | wanted.keys() if now.get(k) != wanted.get(k))
        expect(not differing, f"other bytes than in an undisturbed run: {differing}")
        points = zarr.open_group(folder / "restart.zarr", mode="r")
        found = sorted(g.attrs["step"] for _, g in points.groups())
        expect(found == [STEPS - EVERY, STEPS], f"the checkpoints are of the steps {found}")

    def killed(self, undisturbed, wanted, seconds):
        folder, seen = self.fresh("killed"), []
        for _ in range(self.kills):
            p = subprocess.Popen([*self.command, folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(self.chance.uniform(0, seconds))
            p.kill()
            p.wait()
            seen.append(self.check_prefix(folder, wanted))
            if seen[-1] == STEPS:
                self.check_end(folder, undisturbed)
                folder = self.fresh("killed")
        self.check_end(folder, undisturbed)
        return f"killed {self.kills} times, with {seen} steps"

    def stopped(self):
        """A run that was stopped behind its first checkpoint, and its folder."""
        while True:
            folder = self.fresh("twice")
            p = subprocess.Popen([*self.command, folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while p.poll() is None and not any(folder.glob("restart.zarr/*/zarr.json")):
                time.sleep(0.001)
            p.send_signal(signal.SIGSTOP)
            if p.returncode is None and os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT).si_code == os.CLD_STOPPED:
                if len(numbers(folder)["time"]) < STEPS:
                    return p, folder
                p.send_signal(signal.SIGCONT)
            # It was done before it could be stopped.
            expect(p.wait() == 0, f"exit status {p.returncode}")

    def twice(self, undisturbed):
        """A second start ends at the series, before it reads a checkpoint: that may not be the newest when the first is done."""
        second = None
        while second is None:
            p, folder = self.stopped()
            points, aside = folder / "restart.zarr", folder / "aside"
            try:
                points.rename(aside)
                shutil.copytree(aside, points)
                for chunk in points.rglob("c/0/0"):
                    chunk.write_text("damaged")
                # It waits where the first one was stopped while it has the lock of a document.
                second = subprocess.run([*self.command, folder], capture_output=True, text=True, timeout=20)
            except subprocess.TimeoutExpired:
                pass
            finally:
                if aside.exists():
                    shutil.rmtree(points)
                    aside.rename(points)
                p.send_signal(signal.SIGCONT)
                p.wait()
        expect(second.returncode != 0 and "another series" in second.stderr, f"a second start: {second.returncode}, {second.stderr!r}")
        expect(p.returncode == 0, f"the first start: exit status {p.returncode}")
        self.check_end(folder, undisturbed)
        return "a second start ends at the series"

    def full(self, undisturbed, wanted):
        folder = self.fresh("full")
        size = sum(f.stat().st_blocks * 512 for f in undisturbed.rglob("*"))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size // 2048}k", "none", folder], capture_output=True).returncode == 0
        limit = max(len(b) for b in files(undisturbed / "run.zarr").values()) - 1
        try:
            limited = lambda: None if mounted else resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            # Python ignores SIGXFSZ, and so does the program then.
            p = subprocess.run([*self.command, folder], capture_output=True, text=True, preexec_fn=limited, restore_signals=False)
            expect(p.returncode not in (0, None) and p.returncode > 0 and p.stderr.strip(), f"with a full disk: exit status {p.returncode}, {p.stderr!r}")
            steps = self.check_prefix(folder, wanted)
            if mounted:
                subprocess.run(["mount", "-o", "remount,size=1g", folder], check=True)
            self.check_end(folder, undisturbed)
        finally:
            if mounted:
                subprocess.run(["umount", folder], check=True)
        return f"{'a full disk' if mounted else 'limited files'} at {steps} steps: {p.stderr.strip()[:70]}"

    def run(self):
        undisturbed = self.fresh("undisturbed")
        self.whole(undisturbed)
        wanted = numbers(undisturbed)
        expect(len(wanted["t"]) == STEPS, "the undisturbed run is not whole")
        seconds = self.whole(self.fresh("again"))
        return wanted, f"{self.killed(undisturbed, wanted, seconds)}; {self.twice(undisturbed)}; {self.full(undisturbed, wanted)}"


class Series(Example):
    """examples/timeseries.c: a series without checkpoints."""

    def whole(self, folder):
        began = time.monotonic()
        p = subprocess.run([*self.command, folder / "run.zarr"], capture_output=True, text=True)
        expect(p.returncode == 0 and p.stdout == "96 steps written\n", f"exit status {p.returncode}: {p.stdout}{p.stderr}")
        return time.monotonic() - began

    def run(self):
        undisturbed = self.fresh("undisturbed")
        seconds = self.whole(undisturbed)
        wanted, folder, seen = numbers(undisturbed), self.fresh("killed"), []
        for _ in range(self.kills):
            p = subprocess.Popen([*self.command, folder / "run.zarr"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # Early ones come more often: in the definitions.
            time.sleep(seconds * self.chance.random() ** 3)
            p.kill()
            p.wait()
            seen.append(self.check_prefix(folder, wanted))
            if self.chance.random() < 0.3:
                self.whole(folder)
                expect(files(folder) == files(undisturbed), "other bytes than in an undisturbed run")
                folder = self.fresh("killed")
        return f"killed {self.kills} times, with {sorted(set(seen))} steps"


def command_of(program):
    """The command line of a program; None for Julia where there is none."""
    if program != "julia":
        return [str(Path(program).resolve())]
    p = subprocess.run([ROOT / "tools/julia", "--where"], capture_output=True, text=True)
    package = next((ROOT / "build/prefix").rglob("share/ozarr/julia/OZarr"), None)
    # Most of the time is compiling.
    return [p.stdout.strip(), "-O0", "--compile=min", f"--project={package}", str(ROOT / "examples/julia/run.jl")] if p.returncode == 0 and package else None


def main():
    warnings.simplefilter("error")
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("programs", nargs="+", metavar="NAME=PROGRAM")
    ap.add_argument("--build", default="build/kill-examples", help="folder for the stores")
    ap.add_argument("--series", metavar="PROGRAM", help="the built examples/timeseries.c")
    ap.add_argument("--kills", type=int, default=4, help="how often each program is killed")
    ap.add_argument("--seed", type=int, default=os.getpid(), help="of the random moments")
    a = ap.parse_args()
    print(f"seed {a.seed}")
    chance, results, all_numbers = random.Random(a.seed), Results(a.build), {}
    for name, program in (x.split("=", 1) for x in a.programs):
        command = command_of(program)
        if not command:
            print(f"{name}: SKIPPED, there is no Julia here")
            continue

        def check():
            found, told = Example(command, results.build / name, a.kills, chance).run()
            expect(all(np.array_equal(v, found[k], equal_nan=True) for k, v in all_numbers.items()), "other numbers than the first program")
            all_numbers.update(found)
            return told

        results.attempt(name, check)
    if a.series:
        results.attempt("series", Series([str(Path(a.series).resolve()), "write"], results.build / "series", 10 * a.kills, chance).run)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
