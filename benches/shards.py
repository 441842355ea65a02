#!/usr/bin/env python3
"""Sharded arrays beside unsharded ones of the same inner chunks: time, system calls, memory.

  shards.py --bin DIR [--out FILE] [--rounds N]

DIR holds `shards` (benches/shards.c). Rows are interleaved: sharded, plain, sharded, ...; the median of all.
"""
import argparse, json, os, re, shutil, statistics, subprocess, sys, tempfile
from pathlib import Path

ROWS = [("whole read", "read", 1), ("whole write", "write", 1), ("1,000 boxes of 32³", "boxes", 1), ("1,000 elements, warm", "warm", 1),
        ("1,000 elements, cold", "cold", 1), ("64 inner chunks written", "partial", 1)]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True)
    ap.add_argument("--out")
    ap.add_argument("--rounds", type=int, default=5)
    a = ap.parse_args()
    program = str(Path(a.bin).resolve() / "shards")
    shm = Path("/dev/shm")
    work = Path(tempfile.mkdtemp(prefix="ozarr-shards-", dir=shm if shm.is_dir() and shutil.disk_usage(shm).free > 3 << 30 else None))
    os.environ["OZARR_BENCH_DATA"] = str(work / "data")

    def run(op, threads, times=1, wrap=()):
        p = subprocess.run([*wrap, program, op, str(work / "s"), str(threads), str(times)], capture_output=True, text=True)
        if p.returncode:
            sys.exit(f"{op}: {p.stderr.strip()}")
        return json.loads(p.stdout)

    def calls(op):
        """{name: number} of the calls on files."""
        with tempfile.NamedTemporaryFile("r") as f:
            run(op, 1, wrap=("strace", "-f", "-c", "-o", f.name))
            return {m[2]: int(m[1]) for m in re.finditer(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?!total)(\w+)$", f.read(), re.M)}

    table = []
    try:
        run("make", 2)
        empty = calls("noop") if shutil.which("strace") else {}
        for title, op, _ in ROWS:
            for threads in (1, 2):
                got = {"": [], "-plain": []}
                for _ in range(a.rounds):
                    for kind in got:
                        got[kind].append(run(op + kind, threads))
                cpu, wall = ({k: statistics.median(x for g in v for x in g[w]) for k, v in got.items()} for w in ("cpu", "wall"))
                rss = {k: min(g["rss_kib"] - g["bytes"] // 1024 for g in v) // 1024 for k, v in got.items()}
                seen = ["", ""]
                if threads == 1 and empty:
                    for i, kind in enumerate(got):
                        c = calls(op + kind)
                        names = [n for n in ("openat", "fstat", "newfstatat", "pread64", "preadv", "writev", "renameat", "renameat2", "close") if c.get(n, 0) > empty.get(n, 0)]
                        seen[i] = ", ".join(f"{n} {c[n] - empty.get(n, 0)}" for n in names)
                table.append([title, threads, f"{cpu['']:.3f}", f"{cpu['-plain']:.3f}", f"{cpu[''] / cpu['-plain']:.2f}", f"{wall['']:.3f}", f"{wall['-plain']:.3f}",
                              f"{wall[''] / wall['-plain']:.2f}", rss[""], rss["-plain"], *seen])
                print(" | ".join(map(str, table[-1])), flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if a.out:
        head = ["operation", "threads", "CPU s: sharded", "plain", "ratio", "wall s: sharded", "plain", "ratio", "MiB beyond the data: sharded", "plain", "calls: sharded", "plain"]
        lines = ["# Performance of shards", "", "256 MiB of float32; shards of 32 MiB with inner chunks of 64 KiB (zstd level 3), beside an unsharded array of the same chunks; on files",
                 "in memory, without syncs; medians. Opening an array for each cold element is not timed, but its calls are counted.", "",
                 "| " + " | ".join(head) + " |", "|" + " --- |" * len(head)] + ["| " + " | ".join(map(str, r)) + " |" for r in table]
        Path(a.out).write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
