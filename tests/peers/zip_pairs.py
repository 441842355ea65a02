#!/usr/bin/env python3
"""Zip archives between ozarr and others: zarr-python's ZipStore, Python's zipfile, `zip`, `unzip` and `7z` (which some call `7zz`).

  zip_pairs.py --program PREFIX/bin/ozarr --build DIR

What they write is read by ozarr; what ozarr writes is read and tested by them, appended to, and read again. The last line is
`N passed, N failed`.
"""
import argparse, io, shutil, struct, subprocess, sys, traceback, zipfile
from pathlib import Path

import numpy as np
import zarr
from zarr.storage import ZipStore

SEVEN = next((name for name in ("7z", "7zz", "7za") if shutil.which(name)), "7z")
VALUES = np.arange(13 * 17, dtype="<i4").reshape(13, 17)


class Failed(Exception):
    pass


class Program:
    def __init__(self, path):
        self.path = path

    def run(self, *words, data=b"", ok=True):
        p = subprocess.run([self.path, *map(str, words)], input=data, capture_output=True)
        if ok and p.returncode:
            raise Failed(f"ozarr {' '.join(map(str, words))}: {p.stderr.decode().strip()}")
        return p

    def values(self, place, shape=VALUES.shape):
        return np.frombuffer(self.run("read", place, "--raw").stdout, "<i4").reshape(shape)

    def same(self, place):
        np.testing.assert_array_equal(self.values(place), VALUES)

    def write(self, place, *options):
        self.run("create", place, "--type", "<i4", "--shape", "13,17", "--chunks", "6,8", *options)
        self.run("write", place, "--raw", data=VALUES.tobytes())


def fill(store, fmt):
    root = zarr.create_group(store, zarr_format=fmt, attributes={"by": "zarr-python"})
    more = {"shards": (12, 16), "chunks": (3, 4)} if fmt == 3 else {"chunks": (6, 8)}
    a = root.create_array("deep/a", shape=VALUES.shape, dtype="i4", **more)
    a[:] = VALUES
    b = root.create_array("b", shape=VALUES.shape, dtype="i4", chunks=(6, 8))
    b[:] = VALUES
    b.attrs["n"] = 1
    b.attrs["n"] = 2  # a second entry of the same name
    b[:6, :8] = VALUES[:6, :8] + 1
    b[:6, :8] = VALUES[:6, :8]


def check(program, place):
    program.same(f"{place}/deep/a")
    program.same(f"{place}/b")
    if program.run("attrs", "get", f"{place}/b", "n").stdout != b"2\n":
        raise Failed("an older document was read")


def by_zarr_python(program, at, fmt, method):
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ZipStore(at / "x.zip", mode="w", compression=method) as store:
            fill(store, fmt)
    check(program, at / "x.zip")
    program.run("cp", at / "x.zip", at / "back.zarr")
    np.testing.assert_array_equal(zarr.open_array(at / "back.zarr/deep/a", mode="r")[:], VALUES)


def files_of(at, fmt):
    fill(str(at / "run.zarr"), fmt)
    return sorted(p for p in (at / "run.zarr").rglob("*") if p.is_file())


def by_zipfile(program, at, top, **options):
    """Entries by Python's zipfile: in a folder or not, streamed (sizes behind the data), zip64 by force."""
    class Pipe(io.RawIOBase):
        def __init__(self, f):
            self.f = f

        def writable(self):
            return True

        def write(self, b):
            return self.f.write(b)

    streamed, long = options.pop("streamed", False), options.pop("long", False)
    files = files_of(at, 2)
    with open(at / "x.zip", "wb") as f, zipfile.ZipFile(Pipe(f) if streamed else f, "w", **options) as z:
        if top:
            z.writestr(f"{top}/", b"")
            z.writestr("__MACOSX/._x", b"mac")
        for p in files:
            with z.open(f"{top}/{p.relative_to(at / 'run.zarr')}" if top else str(p.relative_to(at / "run.zarr")), "w", force_zip64=long) as e:
                e.write(p.read_bytes())
    check(program, at / "x.zip")


def by_command(program, at, *command):
    files_of(at, 3)
    subprocess.run([*command, "x.zip", "run.zarr"], cwd=at, check=True, capture_output=True)
    check(program, at / "x.zip")
    check(program, at / "x.zip/run.zarr")
    program.write(at / "x.zip/new")
    program.same(at / "x.zip/run.zarr/new")
    proven(at / "x.zip")


def proven(path):
    """What others say of an archive as such."""
    with zipfile.ZipFile(path) as z:
        if bad := z.testzip():
            raise Failed(f"zipfile: {bad} is damaged")
        names = z.namelist()
        if len(names) != len(set(names)):
            raise Failed(f"names stand twice in the directory: {names}")
    # Of the large one, one opinion is enough.
    for command in (["unzip", "-tqq"], [SEVEN, "t"])[:1 if path.stat().st_size > 1 << 28 else 2]:
        p = subprocess.run([*command, path], capture_output=True, text=True)
        if p.returncode:
            raise Failed(f"{' '.join(command)}: {p.stdout} {p.stderr}")


def by_ozarr(program, at, fmt):
    place = at / "x.zip"
    program.write(f"{place}/deep/a", "--format", fmt, "--compressor", "zstd")
    program.write(f"{place}/b", "--format", fmt, "--compressor", "none", *(["--inner-chunks", "3,4"] if fmt == 3 else []))
    program.run("attrs", "set", place, "b", "n", "1")
    program.run("attrs", "set", place, "b", "n", "2")
    proven(place)
    with ZipStore(place, mode="r") as store:
        root = zarr.open_group(store, mode="r")
        np.testing.assert_array_equal(root["deep/a"][:], VALUES)
        np.testing.assert_array_equal(root["b"][:], VALUES)
        assert dict(root["b"].attrs) == {"n": 2}
    # zarr-python goes on, then ozarr again.
    with ZipStore(place, mode="a") as store:
        c = zarr.open_group(store, mode="a", zarr_format=fmt).create_array("c", shape=VALUES.shape, dtype="i4", chunks=(6, 8))
        c[:] = VALUES
    for name in ("deep/a", "b", "c"):
        program.same(f"{place}/{name}")
    program.write(f"{place}/d", "--format", fmt)
    for name in ("deep/a", "b", "c", "d"):
        program.same(f"{place}/{name}")
    proven(place)


def copied(program, at):
    files = files_of(at, 3)
    program.run("cp", at / "run.zarr", at / "x.ozx")
    proven(at / "x.ozx")
    with zipfile.ZipFile(at / "x.ozx") as z:
        assert sorted(z.namelist()) == [str(p.relative_to(at / "run.zarr")) for p in files], z.namelist()
        for p in files:
            assert z.read(str(p.relative_to(at / "run.zarr"))) == p.read_bytes(), p


def many(program, at):
    """More entries than fit into 16 bits: zip64 in both directions."""
    (at / "run.zarr/t/c").mkdir(parents=True)
    one = zarr.create_array(at / "run.zarr/t", shape=(70_000,), dtype="i1", chunks=(1,), compressors=None, overwrite=True)
    one[:3] = 1
    for i in range(3, 70_000):
        (at / f"run.zarr/t/c/{i}").write_bytes(b"\1")
    zarr.open_group(at / "run.zarr", mode="a", zarr_format=3)
    program.run("cp", at / "run.zarr", at / "x.zip")
    with zipfile.ZipFile(at / "x.zip") as z:
        assert len(z.namelist()) == 70_002, len(z.namelist())
        assert z.read("t/c/69999") == b"\1"
    with zipfile.ZipFile(at / "y.zip", "w") as z:
        for p in sorted((at / "run.zarr").rglob("*")):
            z.write(p, p.relative_to(at / "run.zarr"))
    for name in ("x", "y"):
        assert program.run("read", at / f"{name}.zip/t", "--raw").stdout == b"\1" * 70_000


def large(program, at):
    """An archive of 5 GiB (nearly all of them a hole) that is appended to: offsets and sizes beyond 32 bits."""
    size, name = 5 << 30, b"hole"
    local = b"PK\3\4" + struct.pack("<5HL2L2H", 45, 0, 0, 0, 33, 0, 0xFFFFFFFF, 0xFFFFFFFF, len(name), 20) + name + struct.pack("<2H2Q", 1, 16, size, size)
    at_end = len(local) + size
    record = b"PK\1\2" + struct.pack("<6HL2L5H2L", 45, 45, 0, 0, 0, 33, 0, 0xFFFFFFFF, 0xFFFFFFFF, len(name), 20, 0, 0, 0, 0, 0) + name
    record += struct.pack("<2H2Q", 1, 16, size, size)
    end = b"PK\6\6" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, 1, 1, len(record), at_end)
    end += b"PK\6\7" + struct.pack("<LQL", 0, at_end + len(record), 1) + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, 1, 1, len(record), 0xFFFFFFFF, 0)
    with open(at / "x.zip", "wb") as f:
        f.write(local)
        f.seek(at_end)
        f.write(record + end)
    program.write(at / "x.zip/a")
    program.same(at / "x.zip/a")
    with zipfile.ZipFile(at / "x.zip") as z:
        assert z.getinfo("hole").file_size == size and z.getinfo("a/zarr.json").header_offset > size
        z.read("a/zarr.json")
    with ZipStore(at / "x.zip", mode="r") as store:
        np.testing.assert_array_equal(zarr.open_array(store, path="a", mode="r")[:], VALUES)
    (at / "x.zip").unlink()


def repaired(program, at):
    program.write(at / "x.zip/a")
    whole = (at / "x.zip").read_bytes()
    (at / "x.zip").write_bytes(whole[: whole.rindex(b"PK\1\2")])
    assert b"zip-repair" in program.run("ls", at / "x.zip", ok=False).stderr
    program.run("zip-repair", at / "x.zip")
    proven(at / "x.zip")
    program.same(at / "x.zip/a")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--program", required=True)
    ap.add_argument("--build", default="build/zip-pairs")
    a = ap.parse_args()
    build = Path(a.build).resolve()
    shutil.rmtree(build, ignore_errors=True)
    program = Program(str(Path(a.program).resolve()))
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    runs = [(f"by zarr-python, version {f}, method {m}", by_zarr_python, f, m) for f in (2, 3) for m in methods]
    runs += [(f"by zipfile in {top!r}, method {m}", by_zipfile, top, {"compression": m}) for top in ("", "run.zarr") for m in methods]
    runs += [(f"by zipfile, streamed, method {m}", by_zipfile, "top", {"compression": m, "streamed": True}) for m in methods]
    runs += [("by zipfile, zip64", by_zipfile, "", {"long": True}), ("by zipfile, zip64 and streamed", by_zipfile, "", {"long": True, "streamed": True})]
    commands = [("zip", "-qr"), ("zip", "-0qr"), ("zip", "-fd", "-qr"), (SEVEN, "a", "-tzip"), (SEVEN, "a", "-tzip", "-mx=0")]
    commands += [(SEVEN, "a", "-tzip", f"-mm={method}", "-mx=9") for method in ("Deflate", "BZip2")]
    runs += [(f"by {' '.join(c)}", by_command, *c) for c in commands]
    runs += [(f"by ozarr, version {f}", by_ozarr, f) for f in (2, 3)]
    runs += [("copied by ozarr", copied), ("70,002 entries", many), ("5 GiB", large), ("repaired", repaired)]
    failed = 0
    for i, (name, run, *arguments) in enumerate(runs):
        at = build / str(i)
        at.mkdir(parents=True)
        options = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
        try:
            run(program, at, *arguments, **options)
            print(f"ok    {name}")
        except Exception:
            failed += 1
            print(f"FAIL  {name}\n{traceback.format_exc()}")
    print(f"{len(runs) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
