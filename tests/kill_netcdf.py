#!/usr/bin/env python3
"""The kill sweep of a program of netCDF-C that writes Zarr by libozarr_netcdf.so: killed before each change of a file, or with calls that fail.

  kill_netcdf.py --prefix PREFIX --build DIR [--most N]     N cases for each sweep, evenly chosen; 0 for all

A model writes steps and synchronises some of them. Whatever happens to it, xarray (every warning is an error) opens what nc_sync gave out, and finds
those steps whole, and none that is wrong. Begun again it goes on, and ends with the data of an undisturbed run. Then programs rename and define in a file: what
is there by then has the types that it was given, and a program that defines what it does not find ends with the file of an undisturbed run. The last line is `N passed, N failed`.
"""
import argparse, collections, json, shutil, subprocess, sys, warnings
from pathlib import Path

import numpy as np
import xarray as xr

from kill import Results, calls, expect, run, sample, strace, why

STEPS, BEFORE = 11, 5
WANTED = {"time": 60.0 * np.arange(STEPS), "mean": np.arange(STEPS, dtype="f4")}
CHANGES = {"openat", "write", "pwrite64", "writev", "pwritev", "rename", "renameat", "renameat2", "linkat", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat",
           "ftruncate", "fallocate"}
# The settings, and the macros for the target.
FORMS = {"version 3": ("", []), "version 2": ("format=2", []), "shards": ("shard_bytes=4K,chunk_bytes=100", []), "large records": ("compressor=none", ["-DLARGE"])}


def set_wanted(rows, columns):
    WANTED["t"] = 100 * np.arange(STEPS)[:, None, None] + np.arange(rows * columns).reshape(1, rows, columns) + 1


def steps_in(store):
    """How many whole steps xarray finds; None before the metadata are consolidated for the first time, by the first nc_sync."""
    root = store / "zarr.json"
    if not (store / ".zmetadata").exists() and not (root.exists() and "consolidated_metadata" in json.loads(root.read_text())):
        return None
    with xr.open_dataset(store, engine="zarr", decode_times=False) as data:
        steps = {name: len(data[name]) for name in WANTED if name in data}
        for name, count in steps.items():
            values = data[name].values
            expect(np.array_equal(values, WANTED[name][:count]), f"{name} of {count} steps is {values}")
    expect(len(steps) == len(WANTED) and len(set(steps.values())) == 1, f"the variables have {steps} steps")
    return steps.popitem()[1]


class Sweep(Results):
    def __init__(self, preload, build, most):
        super().__init__(build)
        self.target, self.preload, self.most = self.build / "netcdf_target", preload, most

    def build_program(self, name, *macros):
        source, program = Path(__file__).resolve().parent / f"kill/{name}.c", self.build / name
        subprocess.run(["cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O1", "-Wall", "-Wextra", "-Werror", *macros, source, "-o", program, "-lnetcdf"], check=True)
        return program

    def compile(self, macros):
        self.build_program("netcdf_target", *macros)
        set_wanted(*((256, 128) if macros else (4, 6)))

    def command(self, spec, store, steps=STEPS):
        return ["env", f"LD_PRELOAD={self.preload}", f"OZARR_NETCDF_SPEC={spec}", self.target, store, steps]

    def disturb(self, spec, ready, inject, came):
        """One run that is disturbed, what is there then, and the one that goes on from there."""
        store = self.build / "now.zarr"
        shutil.rmtree(store, ignore_errors=True)
        if ready:
            shutil.copytree(ready, store)
        p = strace(*self.command(spec, store), inject=inject)
        given = int((p.stdout.split() or ["0"])[-1])
        found = steps_in(store)
        given = max(given, BEFORE if ready else 0)
        expect((found or 0) >= given, f"nc_sync gave out {given} steps, xarray finds {found}")
        if found is not None:
            shown = run("env", f"LD_PRELOAD={self.preload}", "ncdump", "-h", store)
            expect(f"({found} currently)" in shown.stdout, f"xarray finds {found} steps, ncdump says {why(shown) if shown.returncode else shown.stdout}")
        came["stopped" if p.returncode else "no effect"] += 1
        came[f"{found} steps"] += 1
        expect(p.returncode or found == STEPS, f"the run said that all is well, with {found} steps")
        p = run(*self.command(spec, store))
        expect(p.returncode == 0, f"started again: {why(p)}")
        expect(steps_in(store) == STEPS, f"started again it ends with {steps_in(store)} steps")
        left = [f.name for f in self.build.rglob(".ozarr-*.tmp")]
        expect(not left, f"started again, these are left: {left}")

    def sweep(self, name, spec, ready, injections):
        came = collections.Counter()
        for inject in injections:
            try:
                self.disturb(spec, ready, inject, came)
            except Exception as e:
                return self.result(name, f"{inject[2]} at {inject[0]} number {inject[1]}: {type(e).__name__}: {e}")
        self.result(name, "" if came["stopped"] else f"the sweep shows nothing: {dict(came)}", f"{len(injections)} cases: {dict(came)}")

    def form(self, name, goes_on):
        """The sweeps of one form, of a run that begins or of one that goes on with an older file."""
        (spec, macros), log, ready = FORMS[name], self.build / "trace", self.build / f"ready {name}.zarr" if goes_on else None
        store, name = self.build / f"undisturbed {name} {goes_on}.zarr", f"{name}, {'goes on' if goes_on else 'new'}"
        self.compile(macros)
        if ready:
            run(*self.command(spec, ready, BEFORE))
            shutil.copytree(ready, store)
        p = strace(*self.command(spec, store), log=log)
        if p.returncode or steps_in(store) != STEPS:
            return self.result(name, f"the undisturbed run: {why(p)}")
        changes = calls(log, True, lambda call, line: call in CHANGES and (call != "openat" or "O_CREAT" in line))
        self.sweep(f"{name}, killed", spec, ready, [(*c, "signal=KILL") for c in sample(changes, self.most)])
        fails = [(call, n, f"error={error}") for error in ("ENOSPC", "EIO") for call, n in changes if not call.startswith("unlink")]
        self.sweep(f"{name}, calls that fail", spec, ready, sample(fails, self.most))

    def definitions(self, what, version, tool, *arguments):
        """A file is defined on: whatever it has after a kill, or a call that fails, has the types that it was given."""
        log, ready, store, name = self.build / "trace", self.build / "defined.zarr", self.build / "now.zarr", f"{what}, version {version}"
        environment = ["env", f"LD_PRELOAD={self.preload}", f"OZARR_NETCDF_SPEC=format={version}"]
        source = "netcdf defined {{ dimensions: t = UNLIMITED ; variables: int {0}(t) ; {0}:n = 3s ; {0}:_FillValue = -1 ; data: {0} = 1, 2 ; group: {1} {{ variables: int w ; w:m = 4s ; }} }}"
        shutil.rmtree(ready, ignore_errors=True)
        for path, names in (ready, ("v", "g")), (self.build / "more.nc", ("more", "below")):
            (self.build / "defined.cdl").write_text(source.format(*names))
            run(*environment, "ncgen", "-4", "-o", path, self.build / "defined.cdl")
        command = [*environment, tool, "-h", *arguments, *([self.build / "more.nc"] if tool == "ncks" else []), store]

        def fresh():
            shutil.rmtree(store, ignore_errors=True)
            shutil.copytree(ready, store)

        fresh()
        p = strace(*command, log=log)
        if p.returncode:
            return self.result(name, why(p))
        changes = calls(log, False, lambda call, line: call in CHANGES and (call != "openat" or "O_CREAT" in line) and "/dev/" not in line)
        came = collections.Counter()
        for inject in [(*c, how) for how in ("signal=KILL", "error=ENOSPC") for c in sample(changes, 3 * self.most)]:
            fresh()
            strace(*command, inject=inject)
            # Consolidated metadata list what is renamed by one name or by none; the next writer mends them.
            p = run(*environment, "ncatted", "-O", "-h", "-a", "next,global,c,s,1", store)
            shown = run(*environment, "ncdump", store)
            lines = [line.strip() for line in shown.stdout.splitlines()]
            found = [variable for variable in ("v", "renamed", "more") if f"int {variable}(t) ;" in lines], [group for group in ("g", "h", "below") if f"group: {group} {{" in lines]
            wanted = [line for variable in found[0] for line in (f"{variable}:n = 3s ;", f"{variable}:_FillValue = -1 ;")]
            old = next((f"{variable} = 1, 2 ;" for variable in ("v", "renamed") if variable in found[0]), "v or renamed")
            missing = [line for line in (*wanted, old, "t = UNLIMITED ; // (2 currently)") if line not in lines]
            # A group or a scalar of it that is new may be there before the rest of it.
            missing += [line for line in lines if "w:m =" in line and line != "w:m = 4s ;"]
            if missing:
                return self.result(name, f"{inject[2]} at {inject[0]} number {inject[1]}: {missing} in {shown.stdout}{shown.stderr}{why(p) if p.returncode else ''}")
            came[" ".join(found[0] + found[1])] += 1
        self.result(name, "" if len(came) > 1 else f"the sweep shows nothing: {dict(came)}", f"{dict(came)}")

    def defines_on(self, version):
        """A program that is killed while it defines in an older file, or behind that, and is started again, leaves the file of one that was not."""
        ready, store, log, program = self.build / "older.zarr", self.build / "now.zarr", self.build / "trace", self.build_program("netcdf_defines")
        environment = ["env", f"LD_PRELOAD={self.preload}", f"OZARR_NETCDF_SPEC=format={version}"]
        shutil.rmtree(ready, ignore_errors=True)
        (self.build / "older.cdl").write_text("netcdf older { dimensions: t = UNLIMITED ; y = 2 ; variables: int v(t, y) ; data: v = 1, 2, 3, 4 ; group: g { variables: int w(t) ; w:n = 4s ; data: w = 5, 6 ; } }")
        run(*environment, "ncgen", "-4", "-o", ready, self.build / "older.cdl")
        command = [*environment, program, store]

        def fresh():
            shutil.rmtree(store, ignore_errors=True)
            shutil.copytree(ready, store)

        def dump():
            shown = run(*environment, "ncdump", store)
            expect(shown.returncode == 0, why(shown))
            return sorted(shown.stdout.splitlines())

        fresh()
        p = strace(*command, log=log)
        expect(p.returncode == 0, why(p))
        wanted = dump()
        expect("  \tquality state(step, x) ;" in wanted, f"the undisturbed run left {wanted}")
        changes = calls(log, True, lambda call, line: call in CHANGES and (call != "openat" or "O_CREAT" in line))
        cases = [None, *sample(changes, 3 * self.most)]
        for case in cases:
            fresh()
            if case:
                strace(*command, inject=(*case, "signal=KILL"))
            else:
                run(*command, "stop")
            dump()
            for group in None, "g":
                xr.open_dataset(store, engine="zarr", group=group).close()
            p = run(*command)
            expect(p.returncode == 0, f"killed at {case or 'the end of nc_enddef'} and started again: {why(p)}")
            found = dump()
            expect(found == wanted, f"killed at {case or 'the end of nc_enddef'} and started again it left {sorted(set(found) ^ set(wanted))}")
        if version == 2:
            fresh()
            listed, own = store / "g/.zmetadata", json.loads((store / "g/.zattrs").read_text())
            told = json.loads(listed.read_text())
            del told["metadata"][".zattrs"]["_nc_model"]
            listed.write_text(json.dumps(told))
            run(*environment, "ncatted", "-O", "-h", "-a", "next,global,c,s,1", store)
            expect(json.loads(listed.read_text())["metadata"][".zattrs"] == own, "the next program leaves a group's consolidated metadata as they were before a kill")
        return f"{len(cases)} cases"

    def locks(self):
        """While lengths are published all groups are locked, however many there are."""
        store, log, program, count = self.build / "many.zarr", self.build / "trace", self.build_program("netcdf_defines"), 100
        environment = ["env", f"LD_PRELOAD={self.preload}"]
        groups = " ".join(f"group: g{i} {{ dimensions: t = UNLIMITED ; variables: int v(t) ; }}" for i in range(count))
        (self.build / "many.cdl").write_text(f"netcdf many {{ {groups} }}")
        run(*environment, "ncgen", "-4", "-o", store, self.build / "many.cdl")
        p = strace(*environment, program, store, "lengthen", log=log)
        expect(p.returncode == 0, why(p))
        text = log.read_text()
        missing = [i for i in range(count) if f'/g{i}/.ozarr-netcdf.tmp", O_RDWR|O_CREAT' not in text]
        expect(not missing, f"groups that are not locked: {missing}")
        # Of 200 files that may be open, 100 are.
        held = 'import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)); [os.set_inheritable(os.open("/", os.O_RDONLY), True) for _ in range(100)]; os.execvp(sys.argv[1], sys.argv[1:])'
        p = run(sys.executable, "-c", held, *environment, "OZARR_LOG=warning", program, store, "lengthen")
        expect(p.returncode == 0 and "is not locked" in p.stderr, f"with many open files: {why(p)}")
        return f"{count} groups"


def main():
    warnings.simplefilter("error")
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--prefix", required=True, type=Path, help="where ozarr is installed")
    ap.add_argument("--build", default="build/kill-netcdf", help="folder for the stores")
    ap.add_argument("--most", type=int, default=12, help="the most cases for each sweep; 0: all")
    a = ap.parse_args()
    s = Sweep(next(a.prefix.resolve().rglob("libozarr_netcdf.so")), a.build, a.most)
    for form in FORMS:
        s.form(form, False)
        s.form(form, True)
    for version in 3, 2:
        s.definitions("renaming", version, "ncrename", "-O", "-v", "v,renamed", "-g", "g,h")
        s.definitions("definition", version, "ncks", "-A", "--no_tmp_fl")
        s.attempt(f"defines on, version {version}", lambda: s.defines_on(version))
    s.attempt("locks of many groups", s.locks)
    return s.finish()


if __name__ == "__main__":
    sys.exit(main())
