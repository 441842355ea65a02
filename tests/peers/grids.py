#!/usr/bin/env python3
"""Rectilinear grids, both ways between the program and zarr-python: random extents, shards, regions, resizing on either side.

  grids.py --program BUILD/ozarr --build DIR [--arrays N] [--seed N]

zarr-python has them from 3.2 on; with an older one nothing is compared. The last line is `N passed, N failed`.
"""
import argparse, json, random, shutil, subprocess, sys, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import numpy as np
import zarr


def cut(r, n, multiple):
    """Extents of n elements in all, or a few more; now and then further chunks beyond."""
    out = []
    while sum(out) < n or (out and r.random() < 0.1):
        out.append(multiple * r.randint(1, max(1, n // 2 // multiple)))
    if multiple == 1 and sum(out[:-1]) < n <= sum(out) and r.random() < 0.7:
        out[-1] -= sum(out) - n
    return out


def boxed(r, shape):
    start = [r.randrange(n) for n in shape]
    return start, [r.randint(1, n - s) for n, s in zip(shape, start)]


class Pair:
    def __init__(self, program, at):
        self.program, self.at = program, str(at)

    def run(self, *args, data=None):
        done = subprocess.run([self.program, args[0], self.at, *args[1:]], input=data, capture_output=True)
        if done.returncode:
            raise RuntimeError(f"{args}: {done.stderr.decode().strip()}")
        return done.stdout

    def theirs(self):
        return zarr.open_array(self.at, mode="r+")

    def create_here(self, shape, edges, inner):
        more = ["--inner-chunks", ",".join(map(str, inner))] if inner else []
        self.run("create", "--type", "int32", "--shape", ",".join(map(str, shape)), "--chunks", json.dumps(edges), *more)

    def create_there(self, shape, edges, inner):
        # As `shards`: zarr-python puts the extents into the grid and the inner chunks into the codec.
        chunks = {"chunks": tuple(inner), "shards": edges} if inner else {"chunks": edges}
        zarr.create_array(self.at, shape=tuple(shape), dtype="i4", fill_value=0, **chunks)

    def write_here(self, data, start):
        lists = [f"--{name}=" + ",".join(map(str, n)) for name, n in (("start", start), ("shape", data.shape))]
        self.run("write", "--raw", *lists, data=data.tobytes())

    def write_there(self, data, start):
        self.theirs()[tuple(slice(s, s + n) for s, n in zip(start, data.shape))] = data

    def resize_here(self, shape):
        self.run("resize", "--shape", ",".join(map(str, shape)))

    def resize_there(self, shape):
        self.theirs().resize(tuple(shape))

    def differs(self, model):
        ours = np.frombuffer(self.run("read", "--raw"), "<i4").reshape(model.shape)
        theirs = self.theirs()[...]
        return [name for name, got in (("here", ours), ("there", theirs)) if not np.array_equal(got, model)]


def case(r, program, at):
    rank = r.randint(1, 3)
    shape = [r.randint(1, 20) for _ in range(rank)]
    inner = [r.choice([1, 2, 3]) for _ in range(rank)] if r.random() < 0.4 else None
    edges = [cut(r, n, inner[d] if inner else 1) for d, n in enumerate(shape)]
    pair = Pair(program, at)
    told = [f"{shape} in {edges}, inner {inner}"]
    side = lambda: r.choice(["here", "there"])
    # zarr-python reads extents beyond the end, but does not create them.
    made = side() if all(sum(e) == n for e, n in zip(edges, shape)) else "here"
    told.append(f"create {made}")
    getattr(pair, f"create_{made}")(shape, edges, inner)
    model = np.zeros(shape, "<i4")
    for step in range(6):
        where = side()
        if step == 3:
            # Growing only: what zarr-python leaves of elements that are cut off comes back when it grows again.
            shape = [n + r.choice([0, 0, 1, 5]) for n in shape]
            where = "here" if inner else where
            told.append(f"resize {where} to {shape}")
            getattr(pair, f"resize_{where}")(shape)
            model = np.pad(model, [(0, n - m) for n, m in zip(shape, model.shape)])
        else:
            start, count = boxed(r, shape)
            data = np.frombuffer(r.randbytes(4 * int(np.prod(count))), "<i4").reshape(count)
            told.append(f"write {where} {count} at {start}")
            getattr(pair, f"write_{where}")(data, start)
            model[tuple(slice(s, s + n) for s, n in zip(start, count))] = data
        if wrong := pair.differs(model):
            return f"differs {' and '.join(wrong)}: {'; '.join(told)}"
    return None


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--program", required=True)
    ap.add_argument("--build", required=True)
    ap.add_argument("--arrays", type=int, default=60)
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    if "rectilinear_chunks" not in zarr.config.get("array"):
        print(f"zarr-python {zarr.__version__} has no rectilinear grids; nothing compared\n0 passed, 0 failed")
        return 0
    zarr.config.set({"array.rectilinear_chunks": True})
    shutil.rmtree(a.build, ignore_errors=True)
    passed = failed = 0
    for k in range(a.arrays):
        seed = a.seed + k
        try:
            wrong = case(random.Random(seed), a.program, Path(a.build) / f"{seed}.zarr")
        except Exception as e:
            wrong = f"{type(e).__name__}: {e}"
        if wrong:
            failed += 1
            print(f"FAIL seed {seed}: {wrong}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
