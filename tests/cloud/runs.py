#!/usr/bin/env python3
"""A whole program that runs on an S3 server: started twice at once, killed, and started again, it ends with the numbers of an undisturbed run.

  servers.py --build DIR -- runs.py --build DIR PROGRAM     PROGRAM is one of the examples `run`, such as examples/fortran/run.f90

Of two runs at once each ends well or says that another one is at work. The last line is `N passed, N failed`.
"""
import argparse, os, shutil, subprocess, sys, time
from pathlib import Path

import numpy as np
import zarr
from zarr.storage import ObjectStore

from cases import KEYS, bucket, expect, run_cases

STEPS, WAIT = 80, 240


def numbers(store):
    group = zarr.open_consolidated(store)
    return {name: group[name][...] for name in ("time", "t", "corner")}


class Run:
    """A run at one place of the bucket."""

    def __init__(self, program, wanted, name):
        self.program, self.wanted, self.name = program, wanted, name

    def start(self):
        return subprocess.Popen([self.program, f"s3://bucket/{self.name}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ, **KEYS))

    def steps(self):
        """How many steps readers see: those of the undisturbed run, as many of each variable."""
        found = numbers(ObjectStore(bucket(f"{self.name}/run.zarr")))
        lengths = {len(values) for values in found.values()}
        expect(len(lengths) == 1, f"the variables have {lengths} steps")
        expect(all(np.array_equal(v, self.wanted[k][: len(v)], equal_nan=True) for k, v in found.items()), "other numbers than in a folder")
        return lengths.pop()

    def wait_for_checkpoint(self, program):
        """Waits for the first checkpoint: a run that is started then goes on from there."""
        checkpoints, until = bucket(f"{self.name}/restart.zarr"), time.monotonic() + WAIT
        while not any(key["path"].endswith("/zarr.json") and key["path"].count("/") == 1 for page in checkpoints.list() for key in page):
            expect(program.poll() is None, "the run ended before its first checkpoint")
            expect(time.monotonic() < until, "there is no checkpoint")
            time.sleep(0.1)

    def finish(self, program):
        told = program.communicate(timeout=WAIT)[0]
        expect(program.returncode == 0 and told.strip() == f"{STEPS} steps", f"exit status {program.returncode}: {told}")
        expect(self.steps() == STEPS, "not all steps")


def twice(run):
    """A second run begins where the first has come to, in the midst of it."""
    both = [run.start()]
    run.wait_for_checkpoint(both[0])
    both.append(run.start())
    told = [p.communicate(timeout=WAIT)[0] for p in both]
    for p, text in zip(both, told):
        expect(p.returncode == 0 or "another" in text, f"exit status {p.returncode}: {text}")
    run.steps()
    run.finish(run.start())
    return f"exit statuses {[p.returncode for p in both]}"


def killed(run):
    """A run that is killed goes on."""
    program = run.start()
    run.wait_for_checkpoint(program)
    program.kill()
    program.communicate()
    seen = run.steps()
    run.finish(run.start())
    return f"at {seen} steps"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("program")
    ap.add_argument("--build", required=True, help="folder for the undisturbed run")
    a = ap.parse_args()
    program, folder = Path(a.program).resolve(), Path(a.build).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run([program, folder], check=True, stdout=subprocess.DEVNULL)
    wanted = numbers(str(folder / "run.zarr"))
    return run_cases({case.__name__: lambda case=case: case(Run(program, wanted, f"runs/{case.__name__}")) for case in (twice, killed)})


if __name__ == "__main__":
    sys.exit(main())
