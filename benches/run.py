#!/usr/bin/env python3
"""The benchmark: every workload by the bare loop, by ozarr and by each peer that is there, interleaved, into one report.

  run.py --bin DIR [--python PYTHON] [--out FILE] [--json FILE] [--quick] [--only TEXT] [--seconds N] [--no-counts]

DIR holds the adapters limit, ozarr, zarrs, zarrs_ffi (benches/bench.h); PYTHON has the peers of benches/peers/python.py. An adapter that is
missing or fails has no figures but the reason. --only: the workloads whose title has this.
"""
import argparse, json, os, random, select, shutil, subprocess, sys, tempfile, time, zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
sys.path.insert(0, str(Path(__file__).resolve().parent))
import count, report  # noqa: E402
from workloads import OWN, PEERS, make_group, workloads  # noqa: E402

SCALED = ("limit", "ozarr", "zarrs", "tensorstore")  # of which rows of several threads say how many times quicker they are than one
LAUNCHED = ("limit", "limit again", "ozarr")  # whose processes are started anew for each row, and in it again
LAUNCHES, MOST_ROUNDS = 5, 3  # of a row; of a launch, and of a peer in all launches
ENOUGH = 4  # seconds of a row's launches, after which three have to do
LONG = 0.03  # seconds of the bare loop, from which on what a process does for the first time does not matter
LONGEST = 40  # seconds that one operation may take


class Failed(Exception):
    pass


class Adapter:
    """One process that does what it is asked for. Python's stay from workload to workload and fork for each."""

    def __init__(self, name, command, forks):
        self.name, self.command, self.forks, self.process, self.is_ready = name, command, forks, None, False

    def start(self):
        if self.process is None:
            self.buffer = b""
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE if not self.forks else subprocess.DEVNULL, start_new_session=True)
            if self.forks:
                self.receive()
        if self.forks:
            self.send("begin")
        self.is_ready = True

    def stop(self):
        self.is_ready = False
        if self.process is None:
            return
        try:
            if self.forks:
                self.send("end")
                self.receive()
            else:
                self.send("quit")
                self.process.wait(10)
                self.process = None
        except (Failed, OSError, subprocess.TimeoutExpired):
            self.kill()

    def kill(self):
        self.is_ready = False
        if self.process:
            try:
                os.killpg(self.process.pid, 9)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process = None

    def send(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Failed("ended") from None

    def receive(self):
        end = time.monotonic() + LONGEST
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                self.kill()
                raise Failed(f"more than {LONGEST} s")
            got = os.read(self.process.stdout.fileno(), 65536)
            if not got:
                words = b"" if self.forks else self.process.stderr.read()
                self.kill()
                raise Failed((words.decode(errors="replace").strip().splitlines() or ["ended"])[-1][:160])
            self.buffer += got
        line, self.buffer = self.buffer.split(b"\n", 1)
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def ask(self, line):
        self.send(line)
        return self.receive()


class Bench:
    def __init__(self, args, work, disk):
        self.args, self.work, self.disk, self.adapters, self.made = args, work, disk, {}, {}
        self.absent = {}

    def adapter(self, name, threads, use=""):
        """The adapter of that name, or None where it is not there; one for each use, so that what is measured is left alone by the rest."""
        if name in self.absent:
            return None
        if (name, threads, use) not in self.adapters:
            program = Path(self.args.bin).resolve() / name.split()[0]
            forks = name in PEERS and not name.startswith("zarrs")
            command = [self.args.python, str(Path(__file__).with_name("peers") / "python.py"), name, str(threads)] if forks else [str(program), str(threads)]
            if not (self.args.python if forks else program.exists()):
                self.absent[name] = "not built" if not forks else "no Python with the peers"
                return None
            self.adapters[name, threads, use] = Adapter(name, command, forks)
        return self.adapters[name, threads, use]

    def source(self, w):
        """The file of elements that are written."""
        path = self.work / f"data-{w.shape[1]}x{w.shape[2]}"
        n = w.shape[0] * w.shape[1] * w.shape[2] * 4
        if not path.exists() or path.stat().st_size < n:
            path.unlink(missing_ok=True)
            self.once("limit", f"data path={path} shape={max(64, w.shape[0]) if w.shape[1] < 512 else 200},{w.shape[1]},{w.shape[2]}")
        return path

    def once(self, name, line, threads=1):
        """One request that is not measured."""
        a = self.adapter(name, threads, "aside")
        if a is None:
            raise Failed(self.absent[name])
        a.start()
        try:
            return a.ask(line)
        finally:
            a.stop()

    def file(self, folder, name, text):
        """A small file that an adapter is given, by its content."""
        path = folder / f"{name}-{zlib.crc32(text.encode()):08x}"
        if not path.exists():
            path.write_text(text)
        return path

    def line(self, w, op, path, shape=None, **more):
        """The request of a workload."""
        shape, base = shape or w.shape, self.work
        meta = self.file(base, "meta", json.dumps({**w.meta(), "shape": list(shape)}))
        words = {"path": path, "meta": meta, "shape": ",".join(map(str, shape)), "chunk": ",".join(map(str, w.chunk)), "codec": w.codec, "format": w.format, "memory": w.memory, "sync": w.sync,
                 "fill": w.fill, "repeat": w.repeat, **{f: 1 for f in w.flags}}
        if w.shard:
            words["shard"] = ",".join(map(str, w.shard))
        if w.settings:
            words["settings"] = w.settings
        if op in ("write", "update", "append") and not w.fill:
            words["source"] = self.source(w)
        if w.regions and op in ("read", "update"):
            rows = w.rows() if shape == w.shape else type(w)(**{**w.__dict__, "shape": shape}).rows()
            words["regions"] = self.file(base, "regions", "".join(" ".join(map(str, [*s, *c, *t])) + "\n" for s, c, t in rows))
        return " ".join([op, *(f"{k}={v}" for k, v in {**words, **more}.items())])

    def plain(self, w, op, path, **more):
        """The request of all of an array, whatever the workload is."""
        return self.line(type(w)(**{**w.__dict__, "op": op, "regions": "", "flags": tuple(f for f in w.flags if f == "big"), "memory": "touched", "settings": "", "repeat": 1}), op, path, **more)

    def place(self, w, name):
        folder = (self.disk if w.disk else self.work) / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if w.format == 2:
            (folder / ".zgroup").write_text('{"zarr_format": 2}')
        return folder / "v"

    def store(self, w, name):
        """The array (or group) that is read, made once for workloads that follow each other; HDF5's and netCDF's are their own."""
        own = name in OWN
        what = json.dumps([w.op in ("opens", "list"), w.flags if "consolidated" in w.flags or "big" in w.flags else (), w.shape, w.chunk, w.shard, w.codec, w.format, w.fill, w.disk, w.op == "open"])
        key = name if own else "small" if w.shape == w.small else "all"
        if self.made.get(key, ("",))[0] != what:
            self.made.pop(key, None)
            path = self.place(w, f"store-{key}")
            if w.op in ("opens", "list"):
                make_group(path, "consolidated" in w.flags)
            elif w.op == "open" and not own:
                path.mkdir()
                (path / "zarr.json").write_text(json.dumps(w.meta()))
            elif w.fill and not own:
                path.mkdir()
                (path / ("zarr.json" if w.format == 3 else ".zarray")).write_text(json.dumps(w.meta()))
            elif w.op == "open":
                self.once(name, self.plain(type(w)(**{**w.__dict__, "fill": 1.0}), "write", path))
            else:
                self.once(name if own else "ozarr", self.plain(w, "write", path, big=1) if "big" in w.flags else self.plain(w, "write", path))
            if w.disk:
                os.sync()
            self.made[key] = (what, path)
        return self.made[key][1]

    def target(self, w, name, i):
        """Where an adapter's operation number i goes to or comes from."""
        if w.op in ("write", "append"):
            return self.place(w, f"out-{name.replace(' ', '-')}")
        if w.op == "update":
            path = (self.disk if w.disk else self.work) / f"{'small' if w.shape == w.small else 'out'}-{name.replace(' ', '-')}" / "v"
            if i == 0:
                source = self.store(w, name)
                self.place(w, path.parent.name)
                (shutil.copytree if source.is_dir() else shutil.copyfile)(source, path)
            return path
        return self.store(w, name)

    def verify(self, w, name, path, first):
        """The checksum of what is there after a write, read by the bare loop, or by a library of its own format itself."""
        if w.op not in ("write", "append", "update"):
            return first["sum"]
        return self.once(name if name in (*OWN, "nczarr", "z5py") else "limit", self.plain(w, "read", path, check=1))["sum"]

    def process(self, w, name):
        """The adapter of a figure: "limit again" is a process of its own."""
        base, _, use = name.partition(" ")
        return self.adapter(base, w.threads, use)

    def operate(self, w, name, path, **more):
        """One operation of a workload."""
        if w.cold:
            self.cool(path)
        return self.process(w, name).ask(self.line(w, w.op, path, **more))

    def first(self, w, names):
        """Of each adapter what its first operation takes, if the data are right, or why there are no figures."""
        got, expected = {}, None
        for name in names:
            a = self.process(w, name)
            if a is None:
                got[name] = {"error": self.absent[name]}
                continue
            try:
                a.start()
                path = self.target(w, name, 0)
                first = self.operate(w, name, path, check=1)
                got[name] = {"wall": [], "cpu": [], "launch": [], "first": [first["wall"], first["cpu"]], "peak_kib": max(0, first["peak_kib"]), "own": first.get("own", False)}
                total = self.verify(w, name, path, first)
                expected = expected or total
                if w.op in ("read", "write", "append", "update") and total != expected:
                    raise Failed("wrong data")
            except (Failed, OSError, ValueError) as e:
                got[name] = {"error": str(e)[:160]}
                a.stop()
        return got

    def measure(self, w, seconds):
        """{adapter: what was measured, or {"error": why not}}."""
        began = time.monotonic()
        got = self.first(w, ["limit", "ozarr", *[p for p in w.peers if not (w.threads > 1 and p in OWN)]])
        running = [n for n in got if "error" not in got[n]]
        spent = {n: got[n]["first"][0] for n in running}
        if "limit" in running:
            got["limit again"], spent["limit again"] = {"wall": [], "cpu": [], "launch": []}, 0
            running.append("limit again")
        launched, is_long = time.monotonic(), spent.get("limit", 0) > LONG
        for launch in range(LAUNCHES):
            self.launch(w, running, got, is_long)
            rounds, least = 0, 2 if w.threads > 1 else 1  # a busy moment is soon as long as what two threads save
            while rounds < least or time.monotonic() - began < seconds * (launch + 1) / LAUNCHES and rounds < MOST_ROUNDS:
                late = time.monotonic() - began > seconds  # then a peer's first figure has to do
                order = [n for n in running if n in LAUNCHED or not late and len(got[n]["wall"]) < MOST_ROUNDS and spent[n] < seconds / (5 if got[n]["wall"] else 1)]
                random.Random(MOST_ROUNDS * launch + rounds).shuffle(order)
                for n in order:
                    self.one_round(w, n, launch, got, running, spent)
                rounds += 1
            if time.monotonic() - launched > ENOUGH and launch >= 2:
                break
        for n in running:
            self.process(w, n).stop()
            if "alone" in got[n]:
                self.adapter(n, 1, "alone").stop()
            if not got[n]["wall"]:
                got[n]["wall"], got[n]["cpu"] = [got[n]["first"][0]], [got[n]["first"][1]]
        for folder in [*self.work.glob("out-*"), *self.disk.glob("out-*")]:
            shutil.rmtree(folder, ignore_errors=True)
        return got

    def launch(self, w, running, got, is_long):
        """Starts the bare loop's processes and ozarr's anew: where a process has its memory makes more difference than one round beside the next. The first
        operation of each is not counted, but where it is so long that what it finds for the first time does not matter."""
        for n in [n for n in running if n in LAUNCHED]:
            try:
                self.process(w, n).stop()
                self.process(w, n).start()
                if not is_long:
                    self.operate(w, n, self.target(w, n.split()[0], 1))
            except (Failed, OSError) as e:
                self.give_up(n, e, got, running)

    def one_round(self, w, name, launch, got, running, spent):
        """One operation of an adapter, whose times are added to its own."""
        try:
            answer = self.operate(w, name, self.target(w, name.split()[0], 1))
            for k, figure in (("wall", answer["wall"]), ("cpu", answer["cpu"]), ("launch", launch)):
                got[name][k].append(figure)
            if w.threads > 1 and name in SCALED:
                got[name].setdefault("alone", []).append(self.alone(w, name))
            spent[name] += answer["wall"]
        except (Failed, OSError) as e:
            self.give_up(name, e, got, running)

    def give_up(self, name, why, got, running):
        got[name] = {"error": str(why)[:160]}
        running.remove(name)

    def alone(self, w, name):
        """The wall time of the same operation by one thread, right after that by several; the first time is after one that does not count."""
        a = self.adapter(name, 1, "alone")
        if not a.is_ready:
            a.start()
            a.ask(self.line(w, w.op, self.target(w, name, 1)))
        return a.ask(self.line(w, w.op, self.target(w, name, 1)))["wall"]

    def cool(self, path):
        """Takes a store's files out of the page cache."""
        for file in [path] if path.is_file() else path.rglob("*"):
            if file.is_file():
                fd = os.open(file, os.O_RDONLY)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(fd)

    def count(self, w, got, callers, counters):
        """Adds system calls and, with less data, instructions; these need no quiet machine, and are counted on all cores at once."""
        small = type(w)(**{**w.__dict__, "shape": w.small})
        units = {"chunk": small.chunks(), "element": small.elements(), "step": w.small[0]}[w.unit] if w.small else 1
        fresh = w.op in ("write", "append")

        def lines(w, name, n):
            return [self.line(w, w.op, self.place(w, f"out-{name}-{i}") if fresh else self.target(w, name, i)) for i in range(n)]

        def calls(name, todo):
            a = self.adapter(name, w.threads)
            return name, "calls", dict(count.system_calls(a.command, ["begin", *todo, "end"] if a.forks else todo, timeout=25))

        def instructions(name, todo):
            return name, "instructions", count.instructions(self.adapter(name, 1).command, todo, timeout=100) / units

        jobs = [(calls, n, lines(w, n, 2)) for n in callers] + [(instructions, n, lines(small, n, 3)) for n in counters if not fresh]
        jobs += [(instructions, n, [x.replace("out-", "small-") for x in lines(small, n, 3)]) for n in counters if fresh]
        for i in range(3):
            for n in counters if fresh else ():
                self.place(small, f"small-{n}-{i}")
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for name, job in [(n, pool.submit(what, n, todo)) for what, n, todo in jobs]:
                try:
                    name, what, figure = job.result()
                    got[name][what] = figure
                except (RuntimeError, Failed, subprocess.TimeoutExpired, OSError, IndexError) as e:
                    print(f"  not counted, {name}: {str(e)[:100]}", flush=True)
        for folder in [*self.work.glob("out-*"), *self.work.glob("small-*"), *self.disk.glob("out-*")]:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self):
        for a in self.adapters.values():
            a.kill()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True)
    ap.add_argument("--python")
    ap.add_argument("--out")
    ap.add_argument("--json")
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--only", default="")
    ap.add_argument("--seconds", type=float, help="for all workloads together, about")
    ap.add_argument("--no-counts", action="store_true")
    a = ap.parse_args()
    memory = Path(os.environ.get("OZARR_BENCH_DIR", "/dev/shm"))
    build = Path(__file__).resolve().parent.parent / "build"
    build.mkdir(exist_ok=True)
    work, disk = Path(tempfile.mkdtemp(prefix="ozarr-bench-", dir=memory if memory.is_dir() else build)), Path(tempfile.mkdtemp(prefix="bench-", dir=build))
    cores = len(os.sched_getaffinity(0))
    todo = [w for w in workloads(a.quick, cores) if a.only in w.title]
    seconds = a.seconds or (95 if a.quick else 600)
    bench, results, began, left = Bench(a, work, disk), [], time.monotonic(), time.monotonic() + seconds
    traced = {"limit", "ozarr"} if a.quick else {"limit", "ozarr", "zarrs", "tensorstore"}
    try:
        for i, w in enumerate(todo):
            share = max(0.3 if a.quick else 1, min((left - time.monotonic()) / (len(todo) - i), 0.6 * seconds))
            try:
                got = bench.measure(w, 0.7 * share)
                if not a.no_counts:
                    good = [n for n in ("limit", "ozarr", *w.peers) if "error" not in got[n] and got[n]["first"][0] < 1.5]  # longer ones are traced for too long
                    bench.count(w, got, [n for n in good if n in traced and shutil.which("strace") and (w.chunks() < 10000 or n != "tensorstore")], [n for n in good if n in ("limit", "ozarr", "zarrs") and w.small and shutil.which("valgrind")])
            except (Failed, OSError) as e:
                got = {"limit": {"error": str(e)[:200]}, "ozarr": {"error": str(e)[:200]}}
            results.append({**w.__dict__, "chunks": w.chunks(), "unit_count": {"chunk": w.chunks(), "element": w.elements(), "step": w.shape[0]}[w.unit], "got": got})
            print(f"{time.monotonic() - began:5.0f} s  {report.one_line(results[-1])}", flush=True)
    finally:
        bench.close()
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(disk, ignore_errors=True)
    run = {"quick": a.quick, "minutes": (time.monotonic() - began) / 60, "memory": str(memory), "results": results, "absent": bench.absent, "versions": report.versions(a.python)}
    if a.json:
        Path(a.json).write_text(json.dumps(run))
    if a.out:
        report.write(run, Path(a.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
