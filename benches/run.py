#!/usr/bin/env python3
"""The benchmark: the library through its C ABI beside the bare loop on the same codec objects, interleaved.

  run.py --bin DIR [--out docs/performance.md] [--quick] [--only TEXT]

DIR holds `limit` and `ozarr_bench`. Every row is: the bare loop, the library, the bare loop again (the A/A control), in turning order,
over and over; CPU and wall time of the timed part, the least and the median; system calls of one operation (strace, less an empty run);
peak memory beyond the data. A target is met when the ratio of the medians is at most 1.15 plus the spread of the control.
"""
import argparse, json, os, platform, re, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

TARGET = 1.15
NAMES = ("limit", "ozarr", "limit again")

# (size of a chunk, array, chunk): 512 MiB each, the last one 20,000 chunks in 78 MiB
GRIDS = [("1 MiB", "512x512x512", "64x64x64"), ("64 KiB", "512x512x512", "16x32x32"), ("4 KiB", "80x400x640", "4x16x16")]
QUICK = {"512x512x512": "128x512x512"}


def rows(quick):
    for size, shape, chunk in GRIDS:
        for codec in ("none", "zstd", "blosc", "gzip"):
            if size == "4 KiB" and codec not in ("none", "blosc"):
                continue
            yield size, QUICK.get(shape, shape) if quick else shape, chunk, codec


class Bench:
    def __init__(self, a):
        self.a, self.bin = a, Path(a.bin).resolve()
        self.noop = {}

    def program(self, name):
        return str(self.bin / ("ozarr_bench" if name == "ozarr" else "limit"))

    def run(self, name, op, store, codec, shape, chunk, threads, times, wrap=()):
        p = subprocess.run([*wrap, self.program(name), op, str(store), codec, shape, chunk, str(threads), str(times)], capture_output=True, text=True)
        if p.returncode:
            sys.exit(f"{name} {op} {codec} {chunk}: {p.stderr.strip()}")
        return json.loads(p.stdout)

    def calls(self, name, *args):
        """System calls of one operation: all of a run, less those of an empty one."""
        def count(op, *rest):
            with tempfile.NamedTemporaryFile("r") as f:
                self.run(name, op, *rest, wrap=("strace", "-f", "-c", "-o", f.name))
                return sum(int(m[1]) for m in re.finditer(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?!total)\w+$", f.read(), re.M))

        return count(*args) - count("noop", *args[1:])

    def effort(self, work, op, shape, chunk, codec, threads):
        """(times, rounds) that fill about the seconds meant for a row."""
        began = time.time()
        self.run("limit", op, work / "source" if op == "read" else work / "written", codec, shape, chunk, threads, 1)
        took = time.time() - began
        for d in work.glob("written-*"):
            shutil.rmtree(d)
        seconds, fewest = (3, 2) if self.a.quick else (12, 3)
        times = max(1, min(3, int(seconds / fewest / len(NAMES) / took)))
        return times, max(fewest, min(7, int(seconds / len(NAMES) / times / took)))

    def measure(self, work, op, shape, chunk, codec, threads, times, rounds):
        """One row: {name: {wall: [...], cpu: [...], rss, calls}}; each store of a write is removed at once."""
        source, got = work / "source", {n: dict(wall=[], cpu=[], rss=[], bytes=0) for n in NAMES}
        sums = set()
        for r in range(rounds):
            order = NAMES[r % 3:] + NAMES[:r % 3]
            for name in order:
                store = source if op == "read" else work / "written"
                x = self.run(name, op, store, codec, shape, chunk, threads, times)
                got[name]["wall"] += x["wall"]
                got[name]["cpu"] += x["cpu"]
                got[name]["rss"].append(x["rss_kib"] - x["bytes"] // 1024)
                sums.add(x["checksum"])
                if op == "write":
                    if r == 0:
                        got[name]["stored"] = sum(f.stat().st_size for f in (work / "written-0" / "c").rglob("*") if f.is_file())
                    for d in work.glob("written-*"):
                        shutil.rmtree(d)
        if len(sums) != 1:
            sys.exit(f"{op} {codec} {chunk}: the programs do not agree on the data: {sums}")
        if op == "write" and len({got[n]["stored"] for n in NAMES}) != 1:
            print(f"note: {codec} {chunk}: bytes stored differ: " + ", ".join(f"{n} {got[n]['stored']}" for n in NAMES), file=sys.stderr)
        if threads == 1 and shutil.which("strace"):
            for name in NAMES[:2]:
                got[name]["calls"] = self.calls(name, op, source if op == "read" else work / "written", codec, shape, chunk, threads, 1)
                for d in work.glob("written-*"):
                    shutil.rmtree(d)
        return got


def ratio(got, what, how, a="ozarr", b="limit"):
    return how(got[a][what]) / max(how(got[b][what]), 1e-9)


def spread(got):
    """How far the control is from 1, by the medians of its CPU time."""
    return abs(ratio(got, "cpu", statistics.median, "limit again") - 1)


def machine():
    model = next((x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")), platform.machine())
    memory = int(next(x for x in open("/proc/meminfo") if x.startswith("MemTotal")).split()[1]) // 1048576
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {memory} GiB, Linux {platform.release().split('-')[0]}"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True)
    ap.add_argument("--out")
    ap.add_argument("--json", help="also write every figure here")
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--only", default="", help="rows that contain this, as in 'read zstd'")
    a = ap.parse_args()
    root = Path(os.environ.get("OZARR_BENCH_DIR", "/dev/shm"))
    work = Path(tempfile.mkdtemp(prefix="ozarr-bench-", dir=root))
    bench, table, missed, raw, began = Bench(a), [], [], [], time.time()
    head = ["operation", "chunks", "codec", "threads", "CPU s: bare", "ozarr", "ratio of medians", "of minima", "A/A", "wall s: bare", "ozarr", "ratio of medians", "system calls: bare", "ozarr", "memory beyond the data, MiB: bare", "ozarr"]
    try:
        for size, shape, chunk, codec in rows(a.quick):
            made = False
            os.environ["OZARR_BENCH_DATA"] = str(work / f"data-{shape}")
            for op in ("read", "write"):
                for threads in (1, 2):
                    if a.only not in f"{op} {codec} {size} {threads}":
                        continue
                    if not made:
                        bench.run("ozarr", "write", work / "made", codec, shape, chunk, 2, 1)
                        shutil.rmtree(work / "source", ignore_errors=True)
                        (work / "made-0").rename(work / "source")
                        made = True
                    got = bench.measure(work, op, shape, chunk, codec, threads, *bench.effort(work, op, shape, chunk, codec, threads))
                    cpu, wall, control = ratio(got, "cpu", statistics.median), ratio(got, "wall", statistics.median), spread(got)
                    met = cpu <= TARGET + control
                    if not met:
                        missed.append(f"{op} {codec}, chunks of {size}, {threads} thread{'s' if threads > 1 else ''}: {cpu:.2f}")
                    m = lambda n, w: f"{statistics.median(got[n][w]):.3f}"  # noqa: E731
                    table.append([op, size, codec, threads, m("limit", "cpu"), m("ozarr", "cpu"), f"{cpu:.2f}" + ("" if met else " **over**"), f"{ratio(got, 'cpu', min):.2f}", f"{1 + control:.2f}",
                                  m("limit", "wall"), m("ozarr", "wall"), f"{wall:.2f}", got["limit"].get("calls", ""), got["ozarr"].get("calls", ""),
                                  f"{min(got['limit']['rss']) / 1024:.0f}", f"{min(got['ozarr']['rss']) / 1024:.0f}"])
                    raw.append(dict(op=op, size=size, codec=codec, threads=threads, shape=shape, chunk=chunk, got=got))
                    print(f"{op:5} {size:7} {codec:5} {threads}: CPU {table[-1][4]} -> {table[-1][5]} = {table[-1][6]} (minima {table[-1][7]}, A/A {table[-1][8]}), wall {wall:.2f}, calls {table[-1][12]} -> {table[-1][13]}", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if a.json:
        Path(a.json).write_text(json.dumps(raw))
    verdict = f"{len(table) - len(missed)} of {len(table)} rows within {TARGET} of the bare loop (and the control's spread)." + ("" if not missed else " Over it: " + "; ".join(missed) + ".")
    print(verdict)
    if a.out:
        lines = ["# Performance", "", "The library through its C ABI beside a bare loop in C (`benches/limit.c`, -O3): open, pread, the codec's library, rows copied into",
                 "place, and back; linked with the same codec objects. Both read into and write from the same memory, whose pages are there before the",
                 "clock starts; opening or creating the array is inside ozarr's time. Writes replace files atomically and do not sync, in both.",
                 "", f"Array: float32, {'128 MiB (quick run)' if a.quick else '512 MiB'}; with chunks of 4 KiB 20,000 chunks in 78 MiB. zstd level 3, blosc lz4 level 5 with byte shuffle, gzip level 5.",
                 "Runs are interleaved; times are medians of all runs, for all threads together. A/A is the bare loop measured against itself.",
                 "System calls are those of one operation on one thread. Memory is the peak beyond the array itself.", "",
                 f"Machine: {machine()}. Files in {'memory (tmpfs)' if str(root) == '/dev/shm' else root}. Measured in {(time.time() - began) / 60:.0f} minutes by", "",
                 f"    make bench{' QUICK=1' if a.quick else ''}", "", verdict, "", "| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        lines += ["| " + " | ".join(map(str, r)) + " |" for r in table]
        Path(a.out).parent.mkdir(exist_ok=True)
        Path(a.out).write_text("\n".join(lines) + "\n")
        print(f"written: {a.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
