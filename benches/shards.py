#!/usr/bin/env python3
"""Sharded arrays beside unsharded ones of the same inner chunks, and beside the peers: time, system calls, memory.

  shards.py --bin DIR [--out FILE] [--rounds N] [--python PYTHON]

DIR holds `shards` (benches/shards.c). Rows are interleaved: sharded, plain, sharded, ...; the median of all. The peers
(benches/shards_peers.py) are those that PYTHON can import; memory is what the process has beyond an idle one and the array's elements, where
these are in memory.
"""
import argparse, json, os, re, shutil, statistics, subprocess, sys, tempfile
from pathlib import Path

# What is done, and whether all elements of the array are in memory meanwhile.
ROWS = [("whole read", "read", True), ("whole write", "write", True), ("1,000 boxes of 32³", "boxes", False), ("1,000 elements, warm", "warm", False),
        ("1,000 elements, cold", "cold", False), ("64 inner chunks written", "partial", True)]
PEERS = ["tensorstore", "zarrs", "zarr"]
READS = ("read", "boxes", "warm", "cold")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True)
    ap.add_argument("--out")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--python", help="the Python that has the peers; without it they are left out")
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

    def beyond(got, idle, holds):
        """MiB that a process had at most, beyond an idle one and what it holds itself."""
        held = lambda g: g["bytes"] // 1024 if holds else 0
        return max(0, min(g["rss_kib"] - held(g) for g in got) - idle) // 1024

    def peer(name, op, threads):
        """What shards_peers.py says, or None where the peer is not there."""
        p = subprocess.run([a.python, str(Path(__file__).with_name("shards_peers.py")), name, op, str(work / "s"), str(threads), "1"], capture_output=True, text=True)
        if p.returncode not in (0, 3):
            sys.exit(f"{name}: {op}: {p.stderr.strip()[-500:]}")
        return json.loads(p.stdout) if p.returncode == 0 else None

    def calls(op):
        """{name: number} of the calls on files."""
        with tempfile.NamedTemporaryFile("r") as f:
            run(op, 1, wrap=("strace", "-f", "-c", "-o", f.name))
            return {m[2]: int(m[1]) for m in re.finditer(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?!total)(\w+)$", f.read(), re.M)}

    table, beside = [], []
    try:
        run("make", 2)
        idle = run("noop", 1)["rss_kib"]
        at_rest = {name: got["rss_kib"] for name in PEERS if a.python and (got := peer(name, "noop", 1))}
        if missing := [name for name in PEERS if a.python and name not in at_rest]:
            print(f"not installed: {', '.join(missing)}", flush=True)
        empty = calls("noop") if shutil.which("strace") else {}
        for title, op, holds in ROWS:
            for threads in (1, 2):
                got = {"": [], "-plain": []}
                others = {name: [] for name in at_rest if op in READS}
                for _ in range(a.rounds):
                    for kind in got:
                        got[kind].append(run(op + kind, threads))
                    for name in others:
                        others[name].append(peer(name, op, threads))
                cpu, wall = ({k: statistics.median(x for g in v for x in g[w]) for k, v in got.items()} for w in ("cpu", "wall"))
                rss = {k: beyond(v, idle, holds) for k, v in got.items()}
                for name, v in others.items():
                    c, w = (statistics.median(x for g in v for x in g[what]) for what in ("cpu", "wall"))
                    beside.append([title, threads, name, f"{c:.3f}", f"{c / cpu['']:.1f}", f"{w:.3f}", f"{w / wall['']:.1f}", beyond(v, at_rest[name], holds)])
                    print(" | ".join(map(str, beside[-1])), flush=True)
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
        if beside:
            head = ["operation", "threads", "peer", "CPU s", "times ozarr's", "wall s", "times ozarr's", "MiB beyond the data"]
            lines += ["", "The peers on the sharded array, in the same rounds (zarrs: zarr-python with its codecs):", "",
                      "| " + " | ".join(head) + " |", "|" + " --- |" * len(head)] + ["| " + " | ".join(map(str, r)) + " |" for r in beside]
        Path(a.out).write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
