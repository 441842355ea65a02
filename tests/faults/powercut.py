#!/usr/bin/env python3
"""Cuts the power: what a disk may keep of a workload's file calls, written down by strace, is put into a folder and looked at by ozarr.

  powercut.py --program BUILD/files --build DIR [--most N] [--peer PYTHON] [WORKLOAD...]

After each call of a workload (of tests/faults/workloads.h) some of the changes that were not synced are kept and others lost: all, none, names
without contents, contents without names, each single one lost or kept, and random choices. A change of a name is kept or lost as a whole; a
synced folder has its names, a synced file its bytes; of two changes of one name the later one holds. In the modes `batch` and `each` of
"file.sync" what was stored before is then there, old or new, and after the workload's last flush the new one is; `none` promises nothing: that
what is lost is seen there shows that the others are looked at. --most: crash states for each workload and mode, evenly chosen. --peer: also the same
writes by zarr-python, zarrs and TensorStore, in how many states ozarr finds neither old nor new, and in how many after the last call not the new
one, and such writes by HDF5 (through netCDF-4), as its own reader finds them; they count as nothing. The last line is `N passed, N failed`.
"""
import argparse, os, random, re, shutil, subprocess, sys
from pathlib import Path

CALLS = "openat,close,dup,dup3,write,writev,pwrite64,pwritev,pwritev2,ftruncate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,mkdir,mkdirat,fsync,fdatasync,getppid,fcntl"
# Of the workloads: each of their ways to the disk once.
WORKLOADS = ("create", "create v2", "write none", "write zstd", "write shards", "update", "update shards", "rewrite", "zip write", "attributes", "consolidate", "checkpoint", "series",
             "resize", "resize shards", "rename", "migrate in place")
ROOT = 0
# The same by other libraries, between two calls of getppid.
PEER = """
import os, numpy as np
i = np.arange(64 * 512).reshape(64, 512)
values = 1000.0 + (i % 977) * 0.5
{open}
os.getppid()
{write}
os.getppid()
"""
ZARR = {"open": "import zarr; a = zarr.open_array('array.zarr', path='a', mode='r+')", "write": "a[...] = values"}
ZARRS = {"open": "import zarr; zarr.config.set({'codec_pipeline.path': 'zarrs.ZarrsCodecPipeline'}); a = zarr.open_array('array.zarr', path='a', mode='r+')",
         "write": "a[...] = values"}
TENSORSTORE = {"open": "import tensorstore; a = tensorstore.open({'driver': 'zarr3', 'kvstore': 'file://' + os.getcwd() + '/array.zarr/a/'}).result()",
               "write": "a.write(values).result()"}
ATTRIBUTES = {"open": "import zarr; g = zarr.open_group('attrs.zarr', mode='r+')",
              "write": "g.attrs.update(alpha=1, beta=1, gamma=1, delta=1, text='new')"}
ARRAYS = ("write none", "write zstd", "write shards")
PEERS = [(name, w, code) for name, code in (("zarr-python", ZARR), ("zarrs", ZARRS), ("TensorStore", TENSORSTORE)) for w in ARRAYS]
PEERS.append(("zarr-python", "attributes", ATTRIBUTES))
# One file of HDF5, as netCDF-4 writes it: what is there before, the write between two calls of getppid, and who looks at what is left. A file that
# ends its reader is a damaged one.
HDF5_BEGINNING = """
import os, signal, sys, netCDF4, numpy as np
i = np.arange(64 * 512).reshape(64, 512)
OLD, NEW = ((i % 977) * 0.5 + 1000.0 * generation for generation in (0, 1))
"""
HDF5_PREPARE = HDF5_BEGINNING + """
with netCDF4.Dataset('array.nc', 'w') as d:
    d.createDimension('y', 64), d.createDimension('x', 512)
    d.createVariable('a', 'f8', ('y', 'x'), chunksizes=(32, 256), **{storage})[...] = OLD
    d.setncatts(dict(alpha=0, beta=0, gamma=0, delta=0, text='old'))
"""
HDF5_WRITE = HDF5_BEGINNING + """
os.getppid()
d = netCDF4.Dataset('array.nc', 'r+')
{write}
d.sync()
d.close()
os.getppid()
"""
HDF5_LOOK = HDF5_BEGINNING + """
def is_good(d, what, all_new):
    d.set_auto_mask(False)
    values, boxes = d['a'][...], [np.s_[r:r + 32, c:c + 256] for r in (0, 32) for c in (0, 256)]
    may_be_old = not (all_new and what == 'values')
    wanted = (1,) if all_new and what == 'attributes' else (0, 1)
    return (all(np.array_equal(values[b], NEW[b]) or may_be_old and np.array_equal(values[b], OLD[b]) for b in boxes)
            and all(d.getncattr(name) in wanted for name in ('alpha', 'beta', 'gamma', 'delta')))

for line in sys.stdin:
    place, what, all_new = line.split()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            with netCDF4.Dataset(place + '/array.nc') as d:
                os._exit(not is_good(d, what, int(all_new)))
        except BaseException:
            os._exit(1)
    print('ok' if os.waitpid(child, 0)[1] == 0 else 'damaged', flush=True)
"""
HDF5 = [("plain chunks", "values", "{}", "d['a'][...] = NEW"), ("chunks by zlib", "values", "dict(compression='zlib')", "d['a'][...] = NEW"),
        ("attributes", "attributes", "{}", "d.setncatts(dict(alpha=1, beta=1, gamma=1, delta=1, text='new'))")]


class File:
    def __init__(self, data=b""):
        self.durable, self.changes = bytearray(data), []


class Disk:
    """Files and folders by number; names of folders map to numbers. What is not durable is a list of changes."""

    def __init__(self, folder):
        self.folder, self.inodes, self.names, self.pending, self.now = folder, {}, {}, [], {}
        self.add(folder, ROOT)
        self.durable = {k: dict(v) for k, v in self.names.items()}
        self.now = {k: dict(v) for k, v in self.names.items()}

    def add(self, path, number):
        self.names[number] = {}
        for entry in os.scandir(path):
            child = self.names[number][entry.name] = self.number()
            if entry.is_dir(follow_symlinks=False):
                self.add(entry.path, child)
            else:
                self.inodes[child] = File(Path(entry.path).read_bytes())

    def number(self):
        self.last = getattr(self, "last", ROOT) + 1
        return self.last

    def find(self, path):
        """The folder's number and the name of a path below the root, and the number that it has now."""
        parts = [p for p in os.path.relpath(path, self.folder).split("/") if p != "."]
        if parts[:1] == [".."]:
            return None
        at = ROOT
        for part in parts[:-1]:
            at = self.now[at][part]
        return (at, parts[-1], self.now[at].get(parts[-1])) if parts else (None, None, ROOT)

    def change(self, *effects):
        """Names that change together: (folder, name, number or None)."""
        for folder, name, number in effects:
            self.now[folder][name] = number
            if number is None:
                del self.now[folder][name]
        self.pending.append(effects)

    def make_folder(self, path):
        folder, name, _ = self.find(path)
        number = self.number()
        self.now[number], self.durable[number] = {}, {}
        self.change((folder, name, number))

    def sync(self, number):
        if number in self.inodes:
            file = self.inodes[number]
            for change in file.changes:
                apply(file.durable, change)
            file.changes.clear()
            return
        kept = []
        for effects in self.pending:
            if any(folder == number for folder, _, _ in effects):
                self.keep(self.durable, effects)
            else:
                kept.append(effects)
        self.pending = kept

    @staticmethod
    def keep(names, effects):
        for folder, name, number in effects:
            if number is None:
                names[folder].pop(name, None)
            else:
                names[folder][name] = number

    def count(self):
        return len(self.pending) + sum(len(f.changes) for f in self.inodes.values())

    def put(self, place, chosen):
        """Writes what is left into a folder, of the changes those that are chosen by number; names first, then bytes."""
        names, n = {k: dict(v) for k, v in self.durable.items()}, 0
        for effects in self.pending:
            if chosen[n]:
                self.keep(names, effects)
            n += 1
        data = {}
        for number, file in self.inodes.items():
            data[number] = file.durable
            if file.changes:
                data[number] = bytearray(file.durable)
                for change in file.changes:
                    if chosen[n]:
                        apply(data[number], change)
                    n += 1
        shutil.rmtree(place, ignore_errors=True)
        self.write(place, names, data, ROOT)

    def write(self, place, names, data, number):
        os.mkdir(place)
        for name, child in names[number].items():
            if child in names:
                self.write(f"{place}/{name}", names, data, child)
            else:
                with open(f"{place}/{name}", "wb") as f:
                    f.write(data[child])


def apply(data, change):
    if isinstance(change, int):
        data.extend(bytes(max(0, change - len(data))))
        del data[change:]
    else:
        at, piece = change
        data.extend(bytes(max(0, at - len(data))))
        data[at:at + len(piece)] = piece


def text(found):
    return bytes.fromhex(found.replace("\\x", ""))


STRING = r'"((?:\\x[0-9a-f]{2})*)"'


OF_PATHS = ("mkdir", "mkdirat", "unlink", "rmdir", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat")


class Trace:
    """Replays the calls of strace on a disk."""

    def __init__(self, disk):
        self.disk, self.files = disk, {}

    def path(self, where, name):
        name = text(name).decode()
        found = re.search(r"<(.*)>", where)
        base = found[1] if found else str(self.disk.folder)
        base = text(base).decode() if base.startswith("\\x") else base
        return name if name.startswith("/") else os.path.join(base, name)

    def paths(self, args):
        if found := re.findall(r"(AT_FDCWD(?:<[^>]*>)?|\d+<[^>]*>), " + STRING, args):
            return [self.path(*m) for m in found]
        return [self.path("", m) for m in re.findall(STRING, args)]

    def call(self, name, args, result):
        disk = self.disk
        fd = re.match(r"(\d+)", args)
        fd = int(fd[1]) if fd else None
        if name == "openat":
            self.opened(args, result)
        elif name == "close":
            self.files.pop(fd, None)
        elif name in ("dup", "fcntl", "dup3"):
            if name != "fcntl" or "F_DUPFD" in args:
                self.files[result] = list(self.files.get(fd, (None, 0)))
        elif name in OF_PATHS and None in map(disk.find, self.paths(args)):
            pass
        elif name in ("mkdir", "mkdirat"):
            disk.make_folder(self.paths(args)[0])
        elif name in ("unlink", "rmdir", "unlinkat"):
            folder, entry, _ = disk.find(self.paths(args)[0])
            disk.change((folder, entry, None))
        elif name in ("rename", "renameat", "renameat2"):
            (a, b, moved), (c, d, there) = map(disk.find, self.paths(args))
            other = there if "RENAME_EXCHANGE" in args else None
            disk.change((a, b, other), (c, d, moved))
        elif name in ("link", "linkat"):
            source, (c, d, _) = map(disk.find, self.paths(args)[:2])
            disk.change((c, d, source[2]))
        elif name in ("fsync", "fdatasync"):
            if fd in self.files and self.files[fd][0] is not None:
                disk.sync(self.files[fd][0])
        elif fd in self.files and self.files[fd][0] in disk.inodes:
            self.changed(name, args, result, self.files[fd])

    def opened(self, args, result):
        found = self.disk.find(self.paths(args)[0])
        if found is None:
            self.files.pop(result, None)
            return
        folder, name, number = found
        if number is None:
            number = self.disk.number()
            self.disk.inodes[number] = File()
            self.disk.change((folder, name, number))
        self.files[result] = [number, 0]

    def changed(self, name, args, result, file):
        changes = self.disk.inodes[file[0]].changes
        if name == "ftruncate":
            changes.append(int(args.rsplit(", ", 1)[1]))
            return
        if name not in ("write", "writev", "pwrite64", "pwritev"):
            raise ValueError(f"no model of {name}")
        data = b"".join(text(piece) for piece in re.findall(STRING, args))[:result]
        at = int(args.rsplit(", ", 1)[1]) if name.startswith("p") else file[1]
        if not name.startswith("p"):
            file[1] += result
        changes.append((at, data))


def calls_of(log):
    """[(call, arguments, result)] between the two calls of getppid, those that succeeded."""
    inside, found, begun = False, [], {}
    for line in log.read_text(errors="replace").splitlines():
        # Calls of several threads are written in two parts; a change is there when its call has ended.
        if m := re.match(r"(\d+) +(.*) <unfinished \.\.\.>$", line):
            begun[m[1]] = m[2]
            continue
        if m := re.match(r"(\d+) +<\.\.\. \w+ resumed>(.*)", line):
            line = f"{m[1]} {begun.pop(m[1])}{m[2]}"
        m = re.match(r"(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)", line)
        if m and m[1] == "getppid":
            inside = not inside
        elif m and inside and int(m[3]) >= 0:
            found.append((m[1], m[2], int(m[3])))
    return found


def choices(disk, rng):
    """Which of the pending changes are kept: the corners, single ones, and random ones."""
    names, n = len(disk.pending), disk.count()
    yield from ([False] * n, [True] * n, [i < names for i in range(n)], [i >= names for i in range(n)])
    for i in rng.sample(range(n), min(n, 3)):
        yield [k != i for k in range(n)]
        yield [k == i for k in range(n)]
    for _ in range(3):
        yield [rng.random() < 0.5 for _ in range(n)]


class Cuts:
    def __init__(self, program, build, most):
        self.program, self.build, self.most, self.passed, self.failed = program, build, most, 0, 0
        self.looker = subprocess.Popen([program, build, "look"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def look(self, place, workload, all_new):
        self.looker.stdin.write(f"{place}\t{workload}\t{int(all_new)}\n")
        self.looker.stdin.flush()
        return self.looker.stdout.readline().strip() or f"the program that looks ended: {self.looker.poll()}"

    def traced(self, prepare, *line):
        """The disk before a program runs, once another one has prepared it, and the program's calls."""
        folder, log = self.build / "run", self.build / "trace"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        subprocess.run(prepare, check=True, cwd=folder)
        disk = Disk(folder)
        how = ["strace", "-f", "-qq", "-y", "-xx", "-s", "100000000", "-e", f"trace={CALLS}", "-o", log]
        subprocess.run([*how, *line], check=True, env=os.environ | {"OZARR_NUM_THREADS": "1"}, cwd=folder)
        return disk, calls_of(log)

    def prepared(self, workload):
        return [self.program, self.build / "run", "prepare", workload]

    def states(self, name, disk, calls):
        """Puts what may be left into a folder, state by state: (the call before, whether it is the last one, what is kept)."""
        changes = [i for i, (call, _, _) in enumerate(calls) if call not in ("close", "fcntl", "dup", "dup3")]
        trace, rng, seen = Trace(disk), random.Random(name), set()
        wanted = set(changes[:: max(1, len(changes) * 12 // self.most)]) | {len(calls) - 1}
        for i, call in enumerate(calls):
            trace.call(*call)
            for chosen in choices(disk, rng) if i in wanted else ():
                if (i, tuple(chosen)) not in seen:
                    seen.add((i, tuple(chosen)))
                    disk.put(self.build / "cut", chosen)
                    yield i, i == len(calls) - 1, chosen

    def run(self, workload, mode):
        disk, calls = self.traced(self.prepared(workload), self.program, self.build / "run", "run", workload, mode)
        tried = 0
        for i, last, chosen in self.states(workload + mode, disk, calls):
            tried += 1
            if (found := self.look(self.build / "cut", workload, last)) != "ok":
                return tried, f"after {calls[i][0]} ({i + 1} of {len(calls)}), {sum(chosen)} of {len(chosen)} unsynced changes kept ({len(disk.pending)} names): {found}"
        return tried, "" if tried > 1 else "the trace shows nothing"

    def peer(self, workload, python, code):
        """The number of states of a write by another library, in how many what is stored is neither old nor new; the number of states after its
        last call, and in how many what is stored is not the new one."""
        disk, calls = self.traced(self.prepared(workload), python, "-c", PEER.format(**code))
        return self.count(workload, disk, calls, lambda all_new: self.look(self.build / "cut", workload, all_new))

    def hdf5(self, python, name, what, storage, write):
        """The same of a write by HDF5, as HDF5 itself finds it."""
        prepare = [python, "-c", HDF5_PREPARE.replace("{storage}", storage)]
        disk, calls = self.traced(prepare, python, "-c", HDF5_WRITE.format(write=write))
        with subprocess.Popen([python, "-c", HDF5_LOOK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as looker:
            def look(all_new):
                print(self.build / "cut", what, int(all_new), file=looker.stdin, flush=True)
                return looker.stdout.readline().strip()
            return self.count(f"HDF5 {name}", disk, calls, look)

    def count(self, name, disk, calls, look):
        found = [(last, look(False), last and look(True)) for _, last, _ in self.states(name, disk, calls)]
        return len(found), sum(x != "ok" for _, x, _ in found), sum(last for last, _, _ in found), sum(last and x != "ok" for last, _, x in found)


def compare(cuts, python):
    """Prints what is left of the writes of other libraries."""
    rows = [(f"{workload}, {name}", cuts.peer, (workload, python, code)) for name, workload, code in PEERS]
    rows += [(f"{row[0]}, HDF5", cuts.hdf5, (python, *row)) for row in HDF5]
    for name, run, given in rows:
        tried, damaged, ended, lost = run(*given)
        print(f"     {name}: {tried} states, {damaged} of them neither old nor new; {ended} after the last call, {lost} of them not new", flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--program", required=True, help="the compiled tests/faults/files.c")
    ap.add_argument("--build", default="build/powercut", help="folder for the stores")
    ap.add_argument("--most", type=int, default=120, help="states for each workload and mode, about")
    ap.add_argument("--peer", help="a Python with zarr")
    ap.add_argument("workloads", nargs="*", default=WORKLOADS)
    a = ap.parse_args()
    build = Path(a.build).resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    cuts = Cuts(Path(a.program).resolve(), build, a.most)
    states = 0
    for workload in a.workloads:
        for mode in ("batch", "each"):
            tried, wrong = cuts.run(workload, mode)
            states += tried
            cuts.failed += bool(wrong)
            cuts.passed += not wrong
            print(f"FAIL {workload}, {mode}: {wrong}" if wrong else f"ok   {workload}, {mode}: {tried} states", flush=True)
    if a.peer:
        compare(cuts, os.path.abspath(a.peer))
    tried, wrong = cuts.run("write none", "none")
    cuts.failed += not wrong
    cuts.passed += bool(wrong)
    print(f"ok   write none, none: loses, as it may: {wrong}" if wrong else f"FAIL write none, none: {tried} states, and nothing is lost", flush=True)
    print(f"{states} states: {cuts.passed} passed, {cuts.failed} failed")
    return cuts.failed > 0


if __name__ == "__main__":
    sys.exit(main())
