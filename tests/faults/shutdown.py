#!/usr/bin/env python3
"""Shuts file systems down while the workloads of tests/faults/workloads.h write, as a power cut does, and looks at what is left by ozarr.

  shutdown.py --program BUILD/files --build DIR [--most N] [WORKLOAD...]

An image on a loop device is made and mounted for each of ext4 and XFS. At some of its changing calls a workload is killed by strace; the file
system is shut down at that moment without its log being written (the ioctl of xfs_io's `shutdown`), and mounted again, which replays the log: what
was only in memory is gone. In the modes `batch` and `each` of "file.sync" what was stored before is then there, old or new; after a whole
workload the new one is. `none` promises nothing: that what is lost is seen there shows that the cut is one. --most: points for each workload, mode and file system. Needs root, loop devices, mkfs and strace: a line says what is
missing. The last line is `N points: N failed`.
"""
import argparse, fcntl, os, re, shutil, struct, subprocess, sys, time
from pathlib import Path

CHANGES = "openat,write,writev,pwrite64,ftruncate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,fsync,fdatasync"
WORKLOADS = ("create", "write none", "write shards", "update", "zip write", "attributes", "consolidate", "checkpoint", "series")
# XFS_IOC_GOINGDOWN, which ext4 knows, too, and its flag for "without the log".
SHUTDOWN, NO_LOG = 0x8004587D, 2
# The smallest that mkfs.xfs makes; the file is sparse.
SIZE = 320 << 20


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


class Mounted:
    env = os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}

    def __init__(self, kind, build):
        self.image, self.place = build / f"{kind}.img", build / kind
        self.place.mkdir()
        with self.image.open("wb") as f:
            f.truncate(SIZE)
        force = "-f" if kind == "xfs" else "-F"
        self.lacks = self.tried(f"mkfs.{kind}", "-q", force, self.image) or self.tried("mount", "-o", "loop", self.image, self.place)

    def tried(self, *command):
        """Why a command cannot be done, or None."""
        if not shutil.which(command[0], path=self.env["PATH"]):
            return f"there is no {command[0]}"
        p = run(*command, env=self.env)
        return f"{command[0]}: {p.stderr.strip().splitlines()[-1]}" if p.returncode else None

    def cut(self):
        """What a power cut leaves."""
        fd = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", NO_LOG))
        finally:
            os.close(fd)
        why = self.tried("umount", self.place)
        # Processes with a mount table of their own may hold it a moment longer; mounted now it would be the one that is shut down.
        until = time.monotonic() + 120
        while not why and run("losetup", "-j", self.image, env=self.env).stdout:
            why = "the loop device stays in use" if time.monotonic() > until else time.sleep(0.05)
        if why := why or self.tried("mount", "-o", "loop", self.image, self.place):
            sys.exit(f"shutdown.py: {why}")

    def close(self):
        if not self.lacks:
            run("umount", self.place)
        self.image.unlink()


class Points:
    def __init__(self, program, build, most):
        self.program, self.build, self.most, self.points, self.failed = program, build, most, 0, 0

    def traced(self, folder, workload, mode, *how):
        """Runs a workload; returns how many of its calls change something, and whether it ended by itself."""
        log = self.build / "trace"
        env = os.environ | {"OZARR_NUM_THREADS": "1"}
        p = run("strace", "-f", "-qq", "-e", f"trace={CHANGES}", *how, "-o", log, self.program, folder, "run", workload, mode, env=env)
        return len(re.findall(r"^(?:\d+ +)?\w+\(", log.read_text(errors="replace"), re.M)), p.returncode == 0

    def prepared(self, disk, workload):
        folder = disk.place / "run"
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir()
        subprocess.run([self.program, folder, "prepare", workload], check=True)
        os.sync()
        return folder

    def run(self, disk, kind, workload, mode):
        calls, whole = self.traced(self.prepared(disk, workload), workload, mode)
        if not whole:
            sys.exit(f"shutdown.py: {workload}, {mode} fails by itself")
        step = max(1, -(-calls // self.most))
        wrong = None
        # The last one is after the whole workload, where `none` promises nothing.
        for when in [*range(1, calls + 1, step), calls + 1] if mode != "none" else [calls + 1]:
            folder = self.prepared(disk, workload)
            _, whole = self.traced(folder, workload, mode, "-e", f"inject={CHANGES}:signal=KILL:when={when}")
            disk.cut()
            line = f"{folder}\t{workload}\t{int(whole)}\n"
            found = run(self.program, self.build, "look", input=line).stdout.strip() or "the program that looks died"
            self.points += 1
            if found != "ok" and not wrong:
                wrong = f"{'after the workload' if whole else f'at call {when} of {calls}'}: {found}"
        if mode == "none":
            self.failed += not wrong
            return print(f"ok   {kind}, {workload}, none: loses, as it may: {wrong}" if wrong else f"FAIL {kind}, {workload}, none: nothing is lost", flush=True)
        self.failed += bool(wrong)
        print(f"FAIL {kind}, {workload}, {mode}: {wrong}" if wrong else f"ok   {kind}, {workload}, {mode}: {calls} calls", flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--program", required=True, help="the compiled tests/faults/files.c")
    ap.add_argument("--build", default="build/shutdown", help="folder for the images")
    ap.add_argument("--most", type=int, default=20, help="points for each workload, mode and file system, about")
    ap.add_argument("workloads", nargs="*", default=WORKLOADS)
    a = ap.parse_args()
    build = Path(a.build).resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    points = Points(Path(a.program).resolve(), build, a.most)
    for kind in ("ext4", "xfs"):
        disk = Mounted(kind, build)
        try:
            if disk.lacks:
                print(f"     {kind} is left out: {disk.lacks}", flush=True)
                continue
            for workload in a.workloads:
                for mode in ("batch", "each"):
                    points.run(disk, kind, workload, mode)
            points.run(disk, kind, "write none", "none")
        finally:
            disk.close()
    print(f"{points.points} points: {points.failed} failed")
    return points.failed > 0


if __name__ == "__main__":
    sys.exit(main())
