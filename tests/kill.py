#!/usr/bin/env python3
"""The kill sweep: a program is killed before each of its system calls in turn; what is stored is old or new, never anything else.

  kill.py --bin BUILD --build DIR     BUILD holds kill_target, append_target, zip_target, two_processes, heat and heat_read
  … --program PREFIX/bin/ozarr        also what the program migrates and copies, and archives

One chunk written over an old one, a part of one, one attribute, and nodes created over others below consolidated metadata, which list the old node, the new
one or neither, never another than is there, in both versions of the format, and the same for a shard, also written
piece by piece: before every system call of the operation. The next writer leaves no temporary file of the one that was killed. Steps that are appended: those that are published are whole. Then the example heat, sampled: killed, started again, it ends with the same bytes. Then two processes on one chunk. Then a
migration from version 2, elsewhere and in place, and a copy into other chunks: killed, started again, it ends with the same files. Then zip
archives, new ones and with chunks that are replaced: after the kill the archive opens, or opens when it is repaired, and holds what was flushed.
The last line is `N passed, N failed`.
"""
import argparse, collections, os, re, shutil, struct, subprocess, sys
from pathlib import Path

ENV = dict(os.environ, OZARR_NUM_THREADS="1")
CHANGES = {"openat", "write", "pwrite64", "writev", "rename", "renameat", "renameat2", "linkat", "unlinkat", "mkdirat", "fsync", "fdatasync"}
MOST = 48  # kills for one program; more system calls are sampled evenly


def run(*argv):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, env=ENV)


def why(p):
    return p.stderr.strip() or f"exit status {p.returncode}"


def strace(*argv, log="/dev/null", inject=None):
    """Runs a program and writes down its system calls, or kills it before one: (name, how many-th[, what happens instead])."""
    name, when, what = (*(inject or ("", "")), "signal=KILL")[:3]
    how = ["-e", f"inject={name}:{what}:when={when}", "-e", f"trace={name}"] if inject else []
    return run("strace", "-f", "-qq", "-o", log, *how, *argv)


def calls(log, marked, wanted=lambda name, line: True):
    """[(system call, how many-th of its name)] of a trace, those that are wanted; if marked, only those between the two calls of getppid."""
    seen, found, inside = collections.Counter(), [], not marked
    for line in Path(log).read_text().splitlines():
        m = re.match(r"(?:\d+ +)?(\w+)\(", line)
        if not m:
            continue
        name = m[1]
        seen[name] += 1
        if name == "getppid" and marked:
            inside = not inside
        elif inside and name not in ("execve", "exit_group") and wanted(name, line):
            found.append((name, seen[name]))
    return found


def sample(found, most=MOST):
    """So many of them, evenly chosen; 0: all."""
    return found if not most or len(found) <= most else [found[i * len(found) // most] for i in range(most)]


def expect(right, what):
    if not right:
        raise AssertionError(what)


class Results:
    """What came of each check, told and counted, and the folder for what is stored, which is new."""

    def __init__(self, build):
        self.build, self.passed, self.failed = Path(build).resolve(), 0, 0
        shutil.rmtree(self.build, ignore_errors=True)
        self.build.mkdir(parents=True)

    def result(self, name, wrong, ok=""):
        self.failed += bool(wrong)
        self.passed += not wrong
        print(f"FAIL {name}: {wrong}" if wrong else f"ok   {name}: {ok}", flush=True)

    def attempt(self, name, check):
        """A check that gives what it has to tell, or raises."""
        try:
            wrong, ok = "", check()
        except Exception as e:
            wrong, ok = f"{type(e).__name__}: {e}", ""
        self.result(name, wrong, ok)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


class Sweep(Results):
    def __init__(self, bin, build):
        super().__init__(build)
        self.bin = bin

    def operation(self, what, form):
        target, ready, store, log = self.bin / "kill_target", self.build / f"ready{form}", self.build / "store", self.build / "trace"
        if not ready.exists() and (p := run(target, ready, "prepare", form)).returncode:
            return self.result(f"{what}, version {form}", why(p))

        def fresh():
            shutil.rmtree(store, ignore_errors=True)
            shutil.copytree(ready, store)

        fresh()
        if (p := strace(target, store, what, log=log)).returncode:
            return self.result(f"{what}, version {form}", why(p))
        found, came = calls(log, True), collections.Counter()
        for inject in sample(found):
            fresh()
            p = strace(target, store, what, inject=inject)
            came["killed"] += p.returncode != 0
            c = run(target, store, "check", what)
            if c.returncode:
                return self.result(f"{what}, version {form}", f"killed before {inject[0]} number {inject[1]}: {why(c)}")
            if left := [f.name for f in [*store.rglob(".ozarr-*.tmp"), *self.build.glob(".ozarr-*.tmp")]]:
                return self.result(f"{what}, version {form}", f"killed before {inject[0]} number {inject[1]}: the next writer leaves {left}")
            came[c.stdout.strip()] += 1
        wrong = "" if came["killed"] and came["old"] else f"the sweep shows nothing: {dict(came)} of {found}"
        self.result(f"{what}, version {form}", wrong, f"{came['killed']} kills in {len(found)} system calls: {came['old']} times old, {came['new']} new")

    def heat(self):
        store, log, heat, args = self.build / "heat.zarr", self.build / "trace", self.bin / "heat", (5, 6)

        def checksum():
            p = run(self.bin / "heat_read", store)
            m = re.search(r"checksum of all 5 steps: (\w+)", p.stdout)
            return m[1] if m else f"heat_read: {why(p)}"

        if (p := strace(heat, store, *args, log=log)).returncode:
            return self.result("heat", why(p))
        want, found, killed = checksum(), calls(log, False), 0
        if "heat_read" in want:
            return self.result("heat", want)
        for inject in sample(found):
            shutil.rmtree(store, ignore_errors=True)
            killed += strace(heat, store, *args, inject=inject).returncode != 0
            p = run(heat, store, *args)
            if p.returncode or checksum() != want:
                return self.result("heat", f"killed before {inject[0]} number {inject[1]}, started again: {why(p) if p.returncode else checksum()}, expected {want}")
        self.result("heat", "" if killed else "nothing was killed", f"{killed} kills and restarts, the same bytes each time")

    def migration(self, program, in_place):
        name, ready, old, new, log = f"migration{' in place' if in_place else ''}", self.build / "v2", self.build / "old.zarr", self.build / "new.zarr", self.build / "trace"
        if not ready.exists():
            # The second one has a filter that version 3 has no form for: its chunks are encoded anew.
            for array, codecs in (("g/a", []), ("g/b", ["--codec", '{"id": "base64"}', "--codec", '{"id": "zlib", "level": 1}'])):
                if (p := run(program, "create", ready, array, "--format", "2", "--type", ">i2", "--shape", "5", "--chunks", "2", "--fill", "1", *codecs)).returncode:
                    return self.result(name, why(p))
                subprocess.run([program, "write", ready, array, "--raw"], input=bytes(range(10)), env=ENV)
        line = [program, "migrate", old, *(["--in-place"] if in_place else [new])]

        def fresh():
            for store in (old, new):
                shutil.rmtree(store, ignore_errors=True)
            shutil.copytree(ready, old)

        def files():
            """The bytes of each file, but for the library's own ones."""
            store = old if in_place else new
            return {str(f.relative_to(store)): f.read_bytes() for f in sorted(store.rglob("*")) if f.is_file() and not f.name.startswith(".ozarr")}

        fresh()
        if (p := strace(*line, log=log)).returncode:
            return self.result(name, why(p))
        want, killed = files(), 0
        found = [c for c in calls(log, False) if c[0] in CHANGES]
        if "g/a/zarr.json" not in want or any("/.z" in f for f in want):
            return self.result(name, f"the migration left {sorted(want)}")
        for inject in sample(found):
            fresh()
            killed += strace(*line, inject=inject).returncode != 0
            p = run(*line)
            # What was complete when the last flush was killed is found there by the second run.
            complete = not in_place and "holds something already" in p.stderr
            if (p.returncode and not complete) or files() != want:
                return self.result(name, f"killed before {inject[0]} number {inject[1]}, started again: {why(p) if p.returncode else sorted(files())}")
        self.result(name, "" if killed else "nothing was killed", f"{killed} kills and restarts in {len(found)} changes, the same files each time")

    def copy(self, program):
        """A copy into other chunks: before it is whole it is no node; the same call begins it anew."""
        name, old, new, log = "copy", self.build / "source.zarr", self.build / "copy.zarr", self.build / "trace"
        if (p := run(program, "create", old, "g/a", "--type", "int16", "--shape", "6", "--chunks", "2", "--compressor", "none")).returncode:
            return self.result(name, why(p))
        subprocess.run([program, "write", old, "g/a", "--raw"], input=bytes(range(12)), env=ENV)
        line = [program, "copy", old, new, "--chunks", "3"]

        def files(store):
            return {str(f.relative_to(store)): f.read_bytes() for f in sorted(store.rglob("*")) if f.is_file() and not f.name.startswith(".ozarr")}

        if (p := strace(*line, log=log)).returncode:
            return self.result(name, why(p))
        want, source, killed = files(new), files(old), 0
        found = [c for c in calls(log, False) if c[0] in CHANGES]
        for inject in sample(found):
            shutil.rmtree(new, ignore_errors=True)
            killed += strace(*line, inject=inject).returncode != 0
            p = run(*line)
            # What was complete when the last flush was killed is found there by the second run.
            complete = "is already at" in p.stderr
            left = {f: b for f, b in files(new).items() if f != "ozarr-copy.json"}
            if (p.returncode and not complete) or left != want or files(old) != source:
                return self.result(name, f"killed before {inject[0]} number {inject[1]}, started again: {why(p) if p.returncode else sorted(left)}")
        self.result(name, "" if killed else "nothing was killed", f"{killed} kills and restarts in {len(found)} changes, the same files each time")

    def archive(self, program, again):
        """What was flushed is in an archive whose writer died, at the latest when it is repaired."""
        name, target, ready, store, log = f"archive{', replaced' if again else ''}", self.bin / "zip_target", self.build / "ready.zip", self.build / "run.zip", self.build / "trace"
        line, steps, came = [target, store, *(["again"] if again else [])], 4, collections.Counter()

        def fresh():
            store.unlink(missing_ok=True)
            if again:
                shutil.copy(ready, store)

        if not ready.exists() and (p := run(target, ready)).returncode:
            return self.result(name, why(p))
        fresh()
        if (p := strace(*line, log=log)).returncode or p.stdout.count("f") != steps + 1:
            return self.result(name, why(p))
        found = [c for c in calls(log, False) if c[0] in CHANGES | {"ftruncate", "close", "pwritev", "fallocate"}]
        read = lambda: subprocess.run([program, "read", store, "a", "--raw"], capture_output=True, env=ENV)
        for inject in sample(found, 2 * MOST):
            fresh()
            p = strace(*line, inject=inject)
            flushed, where = p.stdout.count("f") - 1, f"killed before {inject[0]} number {inject[1]}"
            came["killed"] += p.returncode != 0
            r = read()
            if r.returncode:
                came["repaired"] += 1
                if store.exists() and (q := run(program, "zip-repair", store)).returncode and (flushed >= 0 or again):
                    return self.result(name, f"{where}: {why(q)}")
                r = read()
            if r.returncode:
                # Nothing was promised before the first flush of a new archive.
                if flushed >= 0 or again:
                    return self.result(name, f"{where}, {flushed} steps flushed: {r.stderr.decode().strip()}")
                came["empty"] += 1
                continue
            values = struct.unpack(f"<{4 * steps}i", r.stdout)
            for i in range(steps):
                new, old = ([10 * i + k + 1 + more for k in range(4)] for more in (100 * again, 0))
                chunk = list(values[4 * i:4 * i + 4])
                if chunk != new and (i < flushed or chunk != (old if again else [0] * 4)):
                    return self.result(name, f"{where}, {flushed} steps flushed: chunk {i} holds {chunk}")
        wrong = "" if came["killed"] and came["repaired"] else f"the sweep shows nothing: {dict(came)} of {found}"
        self.result(name, wrong, f"{came['killed']} kills in {len(found)} system calls, {came['repaired']} repairs, what was flushed each time")

    def append(self, form, every):
        """Whatever step is published is right, and a new appender goes on behind it."""
        name, target, ready, store, log = f"append, version {form}, published every {every}", self.bin / "append_target", self.build / f"steps{form}", self.build / "steps", self.build / "trace"
        if not ready.exists() and (p := run(target, ready, "prepare", form)).returncode:
            return self.result(name, why(p))

        def fresh():
            shutil.rmtree(store, ignore_errors=True)
            shutil.copytree(ready, store)

        fresh()
        if (p := strace(target, store, "append", every, log=log)).returncode:
            return self.result(name, why(p))
        found, killed, lengths = calls(log, True), 0, set()
        for inject in sample(found):
            fresh()
            killed += strace(target, store, "append", every, inject=inject).returncode != 0
            c = run(target, store, "check")
            if c.returncode:
                return self.result(name, f"killed before {inject[0]} number {inject[1]}: {why(c)}")
            lengths.add(int(c.stdout))
        wrong = "" if killed and len(lengths) > 2 else f"the sweep shows nothing: lengths {sorted(lengths)} of {found}"
        self.result(name, wrong, f"{killed} kills in {len(found)} system calls, {len(lengths)} lengths, whole steps each time")

    def two_processes(self):
        store = self.build / "two.zarr"
        p = run(self.bin / "two_processes", store)
        self.result("two processes", why(p) if p.returncode else "", p.stdout.strip())


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True, help="folder with the programs")
    ap.add_argument("--program", help="the program ozarr")
    ap.add_argument("--build", default="build/kill", help="folder for the stores")
    a = ap.parse_args()
    s = Sweep(Path(a.bin).resolve(), a.build)
    for what in ("chunk", "partial", "attribute", "over-array", "over-group", "over-root"):
        for form in (2, 3):
            s.operation(what, form)
    for what in ("chunk", "partial", "stream"):
        s.operation(what, "s")
    for form, every in ((2, 0), (3, 1), ("s", 4)):
        s.append(form, every)
    s.heat()
    s.two_processes()
    for in_place in (False, True) if a.program else ():
        s.migration(Path(a.program).resolve(), in_place)
    if a.program:
        s.copy(Path(a.program).resolve())
        for again in (False, True):
            s.archive(Path(a.program).resolve(), again)
    return s.finish()


if __name__ == "__main__":
    sys.exit(main())
