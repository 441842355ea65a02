#!/usr/bin/env python3
"""Guards the cost of five fixed workloads: instructions (valgrind's callgrind) and system calls (strace), which do not depend on the load.
All but one are uncompressed, so that what is counted is the library's own work and not a codec's.

  guard.py --adapter ADAPTER [--update]

ADAPTER is benches/ozarr.c, linked with the library. Each workload is done once to warm up and then again; what the second costs is compared with
tests/guard.json, and a count that has grown by more than a tenth fails. --update writes what was counted there. One thread; of the C library's
copies the variants are pinned. Instructions are compared on x86-64 with AVX2 and BMI2 only, for which the table holds.
"""
import argparse, json, os, platform, sys, tempfile
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benches"))
import count  # noqa: E402
from workloads import Workload  # noqa: E402

TABLE = Path(__file__).with_name("guard.json")
MOST = 1.10
WORKLOADS = [
    Workload("read 1,024 chunks of 4 KiB", "read", (16, 256, 256), (4, 16, 16)),
    Workload("read whole, zstd, chunks of 64 KiB", "read", (16, 128, 256), (16, 32, 32), "zstd"),
    Workload("parts of 64 chunks of 16 KiB written", "update", (16, 128, 256), (16, 16, 16), regions="parts"),
    Workload("200 boxes out of shards of chunks of 8 KiB", "read", (64, 128, 128), (8, 16, 16), shard=(64, 64, 64), regions="boxes 20"),
    Workload("open and read one element", "read", (16, 64, 64), (4, 16, 16), regions="one"),
]


def make_source(path, elements):
    """A slow wave with noise."""
    seed, values = 1, array("f")
    for i in range(elements):
        seed = (seed * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        values.append(abs(i % 6000 - 3000) + (seed >> 57))
    path.write_bytes(values.tobytes())


def request(work, name, w, op):
    words = {"path": work / name, "meta": work / f"{name}.json", "source": work / "source", "shape": w.shape, "chunk": w.chunk, "codec": w.codec}
    (work / f"{name}.json").write_text(json.dumps(w.meta()))
    if op != "write" and w.regions:
        (work / f"{name}.txt").write_text("".join(" ".join(map(str, [*s, *c, *t])) + "\n" for s, c, t in w.rows()))
        words["regions"] = work / f"{name}.txt"
    if op == "read":
        words.pop("source")
    return " ".join([op, *(f"{k}={','.join(map(str, v)) if isinstance(v, tuple) else v}" for k, v in words.items())])


def measure(adapter, work, number, w, most):
    """What a workload costs; once more, up to five times in all, as long as its instructions are more than `most`."""
    command, name, env = [str(adapter), "1"], f"store{number}", {"OZARR_NUM_THREADS": "1"}
    count.answers(command, [request(work, name, w, "write")], env)
    lines = [request(work, name, w, w.op)] * 3
    # Random seeds of tables make one run a little longer than another one.
    fewest = round(count.instructions(command, lines, env=env))
    for _ in range(4):
        if fewest > most:
            fewest = min(fewest, round(count.instructions(command, lines, env=env)))
    return {"instructions": fewest, "system calls": sum(count.system_calls(command, lines[:2], env).values())}


def comparable():
    flags = next((x for x in open("/proc/cpuinfo") if x.startswith("flags")), "").split()
    return platform.machine() == "x86_64" and "avx2" in flags and "bmi2" in flags


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--adapter", required=True, type=Path)
    ap.add_argument("--update", action="store_true")
    a = ap.parse_args()
    wanted = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    with tempfile.TemporaryDirectory(prefix="ozarr-guard-") as work, ThreadPoolExecutor(2) as pool:
        make_source(Path(work) / "source", max(w.shape[0] * w.shape[1] * w.shape[2] for w in WORKLOADS))
        # Of what goes into the table all five are tried.
        most = [0 if a.update else MOST * wanted.get(w.title, {}).get("instructions", 0) for w in WORKLOADS]
        found = dict(zip([w.title for w in WORKLOADS], pool.map(lambda *p: measure(a.adapter.resolve(), Path(work), *p), range(len(WORKLOADS)), WORKLOADS, most)))
    if a.update:
        TABLE.write_text(json.dumps(found, indent=1) + "\n")
    failed = 0
    for title, counts in found.items():
        for what, n in counts.items():
            was = wanted.get(title, {}).get(what)
            judged = what != "instructions" or comparable()
            grown = bool(was) and judged and n > was * MOST
            failed += grown or (was is None and not a.update)
            print(f"{title}: {n:,} {what}" + (f", {n / was - 1:+.1%} of {was:,}" if was else ", not in the table") + ("" if judged else " (not judged: another kind of processor)") + (" GREW" if grown and not a.update else ""))
    print("updated" if a.update else f"{len(WORKLOADS)} workloads, {failed} failed")
    return 1 if failed and not a.update else 0


if __name__ == "__main__":
    sys.exit(main())
