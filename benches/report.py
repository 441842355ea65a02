"""The benchmark's report: docs/performance.md and its plots from what run.py measured.

A row's ratio is the median over the launches of ozarr's CPU time by the bare loop's, each the median of its launch's rounds. The control is another
process of the bare loop in each launch; its spread is the median distance of its ratios from 1. A target is met where the ratio is not above it plus this.
"""
import csv, math, os, platform, statistics, subprocess
from pathlib import Path

COLOURS = {"limit": "#222222", "ozarr": "#d62728", "zarrs": "#1f77b4", "zarrs_ffi": "#17becf", "tensorstore": "#2ca02c", "zarr-zarrs": "#9467bd", "zarr": "#8c564b", "h5py": "#ff7f0e", "netcdf4": "#bcbd22"}
NAMES = {"limit": "bare loop", "zarr": "zarr-python", "zarr-zarrs": "zarr-python + zarrs", "h5py": "HDF5 (h5py)", "netcdf4": "netCDF-C, HDF5", "nczarr": "netCDF-C, NCZarr"}


def name_of(adapter):
    return NAMES.get(adapter, adapter)


def measured(row, adapter):
    got = row["got"].get(adapter)
    return got if got and "error" not in got and got["cpu"] else None


def median(row, adapter, what="cpu"):
    got = measured(row, adapter)
    return statistics.median(got[what]) if got else None


def launches(got, what):
    """{launch: the median of its rounds}."""
    return {k: statistics.median(x for x, launch in zip(got[what], got["launch"]) if launch == k) for k in got.get("launch", [])}


def ratios(row, adapter, what="cpu"):
    """Of each launch; of all where an adapter has its first figure only."""
    a, b = measured(row, adapter), measured(row, "limit")
    if not a or not b:
        return None
    mine, bare = launches(a, what), launches(b, what)
    return [mine[k] / max(bare[k], 1e-9) for k in mine if k in bare] or [statistics.median(a[what]) / max(statistics.median(b[what]), 1e-9)]


def ratio(row, adapter, what="cpu"):
    r = ratios(row, adapter, what)
    return statistics.median(r) if r else None


def spread(row):
    """Of the control."""
    r = ratios(row, "limit again")
    return statistics.median(abs(x - 1) for x in r) if r else 0


def met(row):
    """True, False, or None where there is no target or no figure."""
    r = ratio(row, "ozarr")
    return None if not row["target"] or r is None else r <= row["target"] + spread(row)


def best_peer(row):
    """(ratio, name) of the quickest one."""
    return min(((ratio(row, p), p) for p in row["got"] if p not in ("limit", "limit again", "ozarr") and measured(row, p)), default=(None, ""))


def allowed_memory(row):
    """MiB: one encoded and one decoded chunk a thread, and 2 MiB; a shard that is written is encoded whole. What the codec's library needs itself is
    seen in the bare loop, which has it, too."""
    chunk = math.prod(row["chunk"]) * 4 / 2**20
    shard = math.prod(row["shard"]) * 4 / 2**20 if row["shard"] and row["op"] == "write" else 0
    return max(row["threads"] * (2 * chunk + shard), row["got"]["limit"]["peak_kib"] / 1024) + 2


def f(x, digits=2):
    return "" if x is None else f"{x:.{digits}f}"


def seconds(x):
    return "" if x is None else f"{x:.3f}" if x >= 0.1 else f"{x * 1000:.2f} ms"


def one_line(row):
    """What the terminal is told of a row."""
    errors = [f"{n}: {g['error'][:60]}" for n, g in row["got"].items() if "error" in g and not g["error"].startswith("unsupported")]
    words = [f"{row['title']}: bare {seconds(median(row, 'limit'))}, ozarr {f(ratio(row, 'ozarr'))} (A/A ± {f(spread(row))}" + (f", target {row['target']})" if row["target"] else ")")]
    words += [f"{n} {f(ratio(row, n))}" for n in row["got"] if n not in ("limit", "limit again", "ozarr") and measured(row, n)]
    return ", ".join(words) + (" **over**" if met(row) is False else "") + "".join(f" [{e}]" for e in errors)


def machine():
    model = next((x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")), platform.machine())
    memory = int(next(x for x in open("/proc/meminfo") if x.startswith("MemTotal")).split()[1]) // 1048576
    huge = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    pages = huge.read_text().split("[")[1].split("]")[0] if huge.exists() else "unknown"
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {memory} GiB, Linux {platform.release().split('-')[0]}, transparent huge pages: {pages}"


def versions(python):
    code = "import importlib.metadata as m\nfor p in ('zarr', 'zarrs', 'tensorstore', 'h5py', 'hdf5plugin', 'netCDF4', 'z5py', 'numpy'):\n  try: print(p, m.version(p))\n  except Exception: pass"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.splitlines() if python else []
    lock = Path(__file__).with_name("peers") / "zarrs" / "Cargo.lock"
    text = lock.read_text().split("[[package]]") if lock.exists() else []
    crates = [p.split('"')[1] + " crate " + p.split('"')[3] for p in text if 'name = "zarrs"' in p or 'name = "zarrs_ffi"' in p]
    return crates + found


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)] + ["| " + " | ".join(map(str, r)) + " |" for r in rows] + [""]


def worse(row):
    """How far ozarr is from where it should be: from its target, or where none is set from the bare loop."""
    return (ratio(row, "ozarr") or 0) / (row["target"] or 1)


def over_memory(row):
    """Whether more memory was taken than is allowed."""
    return row["got"]["ozarr"]["peak_kib"] / 1024 > allowed_memory(row)


def row_cells(r):
    """One row beside the bare loop."""
    if measured(r, "limit") is None or measured(r, "ozarr") is None:
        return [r["title"], "failed: " + " / ".join(g["error"] for g in r["got"].values() if "error" in g)[:120], "", "", "", "", ""]
    behind, peer = best_peer(r)
    mark = {True: "", False: " **not met**", None: ""}[met(r)] + (" **memory**" if over_memory(r) else "")
    return [r["title"], seconds(median(r, "limit")), f(ratio(r, "ozarr")), f(spread(r)), (f"{r['target']:.2f}" if r["target"] else "") + mark, f(ratio(r, "ozarr", "wall")), f"{f(behind)} {name_of(peer)}".strip()]


HEAD = ["workload", "bare loop, CPU", "ozarr", "A/A ±", "target", "by the wall", "best peer"]


def worst(results):
    """The rows that are furthest from their targets, and those in which a peer is quicker."""
    known = [r for r in results if measured(r, "limit") and measured(r, "ozarr")]
    far = sorted(known, key=worse, reverse=True)[:12]
    behind = [r for r in known if best_peer(r)[0] is not None and best_peer(r)[0] < 0.97 * ratio(r, "ozarr") and r not in far]
    behind.sort(key=lambda r: best_peer(r)[0] / ratio(r, "ozarr"))
    return table(HEAD, [row_cells(r) for r in far + behind[:8]])


COLUMNS = ["workload", "adapter", "threads", "memory", "rounds", "cpu_median_s", "cpu_least_s", "cpu_ratio", "wall_median_s", "wall_least_s", "wall_most_s", "peak_mib", "system_calls", "instructions", "unit", "target",
           "own_memory", "error"]


def csv_rows(results):
    """Everything that was measured: one line for each workload and adapter."""
    for r in results:
        for n, got in r["got"].items():
            line = {"workload": r["title"], "adapter": name_of(n), "threads": r["threads"], "memory": r["memory"], "unit": r["unit"], "target": r["target"] or "", "error": got.get("error", "")}
            if measured(r, n):
                cpu, wall = got["cpu"], got["wall"]
                line |= {"rounds": len(cpu), "cpu_median_s": f(statistics.median(cpu), 6), "cpu_least_s": f(min(cpu), 6), "cpu_ratio": f(ratio(r, n), 3), "wall_median_s": f(statistics.median(wall), 6),
                         "wall_least_s": f(min(wall), 6), "wall_most_s": f(max(wall), 6), "own_memory": int(got.get("own", False))}
                line |= {"peak_mib": f(got["peak_kib"] / 1024, 1)} if "peak_kib" in got else {}
                line |= {"system_calls": sum(got["calls"].values())} if got.get("calls") else {}
                line |= {"instructions": f(got["instructions"], 2)} if got.get("instructions") else {}
            yield line


def write_csv(results, path):
    with open(path, "w", newline="") as out:
        lines = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        lines.writeheader()
        lines.writerows(csv_rows(results))


def threads_table(results):
    """How much quicker several threads are than one, by the wall: the median of rounds in each of which one came right after several."""
    rows = []
    for r in results:
        if r["threads"] > 1:
            gains = {n: [one / many for one, many in zip(r["got"][n]["alone"], r["got"][n]["wall"])] for n in ("limit", "ozarr", "zarrs", "tensorstore") if measured(r, n) and "alone" in r["got"][n]}
            rows.append([r["title"], *[f(statistics.median(gains[n])) if n in gains else "" for n in ("limit", "ozarr", "zarrs", "tensorstore")]])
    return table(["workload", "bare loop", "ozarr", "zarrs", "tensorstore"], rows) if rows else []


def svg(path, title, panels, x_title):
    """Small plots side by side: panels are (name, [labels of x], {adapter: {x index: GB/s}})."""
    width, height, left, top, gap = 250, 190, 46, 44, 30
    total, shown = max(2, len(panels)) * (width + gap) + left, [a for a in COLOURS if any(a in s for _, _, s in panels)]
    a_row = (total - left) // 135
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height + top + 45 + 16 * -(-len(shown) // a_row)}" font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{left}" y="16" font-size="13">{title}</text>']
    for k, (name, labels, series) in enumerate(panels):
        x0, most = left + k * (width + gap), max((v for s in series.values() for v in s.values()), default=1) * 1.08
        X = lambda i: x0 + 14 + i * (width - 28) / max(1, len(labels) - 1)  # noqa: E731
        Y = lambda v: top + height - v / most * height                      # noqa: E731
        out.append(f'<text x="{x0}" y="{top - 8}">{name}</text><path d="M{x0} {top}V{top + height}H{x0 + width}" fill="none" stroke="#888"/>')
        for v in (most * q for q in (0.25, 0.5, 0.75)):
            out.append(f'<path d="M{x0} {Y(v):.0f}H{x0 + width}" stroke="#ddd"/><text x="{x0 - 4}" y="{Y(v) + 4:.0f}" text-anchor="end">{v:.1f}</text>')
        out += [f'<text x="{X(i):.0f}" y="{top + height + 14}" text-anchor="middle">{label}</text>' for i, label in enumerate(labels)]
        for adapter, points in series.items():
            dots = sorted(points.items())
            out.append(f'<polyline points="{" ".join(f"{X(i):.0f},{Y(v):.0f}" for i, v in dots)}" fill="none" stroke="{COLOURS[adapter]}" stroke-width="{2.4 if adapter == "ozarr" else 1.3}"/>')
            out += [f'<circle cx="{X(i):.0f}" cy="{Y(v):.0f}" r="2.2" fill="{COLOURS[adapter]}"/>' for i, v in dots]
        out.append(f'<text x="{x0 + width / 2:.0f}" y="{top + height + 30}" text-anchor="middle">{x_title}</text>')
    for i, a in enumerate(shown):
        x, y = left + i % a_row * 135, top + height + 50 + i // a_row * 16
        out.append(f'<path d="M{x} {y - 4}h16" stroke="{COLOURS[a]}" stroke-width="2.4"/><text x="{x + 20}" y="{y}">{name_of(a)}</text>')
    path.write_text("\n".join(out + ["</svg>"]) + "\n")


def throughput(row, adapter):
    wall = median(row, adapter, "wall")
    return math.prod(row["shape"]) * 4 / 1e9 / wall if wall else None


def plot_chunks(results, folder):
    order, made = ["4 KiB", "16 KiB", "64 KiB", "1 MiB", "16 MiB"], []
    for op in ("read", "write"):
        panels = []
        for codec in ("none", "zstd", "lz4-shuffle", "gzip"):
            rows = {r["plot"].split("|")[1]: r for r in results if r["plot"].startswith(f"{op} {codec}|")}
            labels = [x for x in order if x in rows]
            series = {a: {i: throughput(rows[x], a) for i, x in enumerate(labels) if measured(rows[x], a)} for a in COLOURS}
            if len(labels) > 1:
                panels.append((codec, labels, {a: s for a, s in series.items() if s}))
        if panels:
            made.append(folder / f"throughput-{op}.svg")
            svg(made[-1], f"Whole {op}s, GB/s of elements, one thread", panels, "chunk")
    return made


def plot_threads(results, folder):
    panels = []
    for many in [r["title"] for r in results if r["threads"] == 2]:
        base = many.rsplit(", ", 1)[0]
        rows = sorted((r for r in results if r["title"] == base or r["title"].startswith(base + ", ") and r["title"].endswith("threads")), key=lambda r: r["threads"])
        if len(rows) > 1:
            series = {a: {i: throughput(r, a) for i, r in enumerate(rows) if measured(r, a)} for a in ("limit", "ozarr", "zarrs", "zarrs_ffi", "tensorstore", "zarr-zarrs")}
            panels.append((base.replace(" whole", "").replace("chunks of ", ""), [str(r["threads"]) for r in rows], {a: s for a, s in series.items() if s}))
    if not panels:
        return []
    svg(folder / "throughput-threads.svg", "GB/s of elements", panels, "threads")
    return [folder / "throughput-threads.svg"]


def unavailable(run):
    """Why an adapter has no figures, each reason once."""
    said = {}
    for r in run["results"]:
        for n, g in r["got"].items():
            if "error" in g and not g["error"].startswith("unsupported"):
                said.setdefault((n, g["error"]), []).append(r["title"])
    return [f"- {name_of(n)}: {len(t)} workload{'s' * (len(t) > 1)} (such as “{t[0]}”) failed: {e}" for (n, e), t in said.items()]


def write(run, out):
    results, quick = run["results"], run["quick"]
    judged = [met(r) for r in results if met(r) is not None]
    missed = [f"{r['title']} ({f(ratio(r, 'ozarr'))}, target {r['target']:.2f})" for r in results if met(r) is False]
    out.parent.mkdir(exist_ok=True, parents=True)
    plots = plot_chunks(results, out.parent) + plot_threads(results, out.parent)
    head = f"""## How it is measured

Programs of many ranks, beside parallel HDF5, netCDF-4 and PnetCDF: [scaling](scaling.md).

Machine: {machine()}. Files are in {'memory (tmpfs)' if run['memory'] == '/dev/shm' else run['memory']}, but for the rows that say otherwise.
Measured: {', '.join(run['versions'])}.

- Every adapter is a process that does what it is asked for on its standard input (`benches/bench.h`): its start is not counted, opening or
  creating the array is. The bare loop (`benches/limit.c`) is C for just these arrays: open, pread, the codec's library, rows copied into place;
  it is linked with the same codec objects as ozarr. ozarr is measured through its C ABI (`benches/ozarr.c`).
- All read the same stores, HDF5 and netCDF files of their own with the same chunks and filters, and write the same elements (float32, a smooth
  field with noise). What was read, and what was written, has the same checksum for all, or the row says “failed”.
- The destination is the same memory: touched before the clock starts, or fresh (malloc within it), or huge pages (mapped within it and advised).
  A peer that cannot read into given memory allocates its own: °.
- CPU time is user and system time of all threads. In each row the bare loop and ozarr are started anew five times (three times where that takes too
  long), because the memory that a process happens to get makes a difference in all of its rounds. The rounds of a launch, one to three, are
  interleaved in changing order. A launch's ratio is ozarr's median by the bare loop's, a row's the median of its launches. A peer is one process,
  with three rounds at most.
- A/A is the bare loop beside another process of itself, started and measured as ozarr's are: the median distance of the launches' ratios from 1. A
  target is met where the ratio is not above it plus this. Writes replace files atomically and do not sync, but where the row says so. zstd has level
  3, blosc and gzip level 5.
- Memory is the peak beyond the elements and the program itself. More than one encoded and one decoded chunk a thread and 2 MiB, and more than
  2 MiB above the bare loop's (which has what the codec's library takes): **memory**.

"""
    verdict = f"{sum(judged)} of {len(judged)} targets met." + (" Not met: " + "; ".join(missed) + "." if missed else "")
    data = out.with_suffix(".csv")
    write_csv(results, data)
    lines = ["# Performance\n", f"Written by `make bench{' QUICK=1' if quick else ''}` in {run['minutes']:.0f} minutes. {verdict}\n"]
    lines += ["The rows that are furthest from their targets, and those in which a peer is quicker; CPU time, a ratio is to the bare loop's:\n", *worst(results)]
    scaling = threads_table(results)
    lines += (["## Threads: how many times quicker than one, by the wall\n", *scaling] if scaling else [])
    lines += [f"![{p.stem}]({p.name})\n" for p in plots] + [head]
    lines += [f"## Every row\n\nWith every peer, wall times, memory, system calls and instructions: [{data.name}]({data.name}).\n", *table(HEAD, [row_cells(r) for r in results])]
    if failed := unavailable(run):
        lines += ["## What failed\n", *failed, ""]
    out.write_text("\n".join(lines).rstrip("\n") + "\n")
    print(f"{verdict}\nwritten: {out}, {data}" + "".join(f", {p}" for p in plots))
