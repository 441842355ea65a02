#!/usr/bin/env python3
"""numcodecs' own fixtures: what its releases encoded, decoded by the library.

  numcodecs_fixtures.py --reader BUILD/ozread --build DIR [--fixtures DIR] [--only TEXT]

Each `encoded.NN.dat` becomes the one chunk of an array of version 2 with that codec; the reader's elements must be those of
`array.NN.npy`, bit for bit; of codecs that lose digits, those that numcodecs decodes, and of zfpy, which numcodecs may lack, within its
tolerance. Without --fixtures the source distribution is fetched by pip into DIR (it is never committed). The last line is `N passed, N failed`.
"""
import argparse, base64, collections, json, os, shutil, subprocess, sys, tempfile, warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

warnings.simplefilter("ignore")
import numcodecs
import numpy as np

VERSION = "0.16.6"
# Codecs of objects; their arrays have text or bytes of any length.
OBJECTS = ("json2", "msgpack2", "vlen-array", "vlen-bytes", "vlen-utf8", "categorize")


def fetched(build):
    """The folder `fixture` of the source distribution, unpacked below `build`."""
    found = sorted(build.glob("sdist/**/fixture"))
    if not found:
        shutil.rmtree(build / "sdist", ignore_errors=True)
        (build / "sdist").mkdir(parents=True)
        # pip cannot just unpack: it fails when it asks the package for its metadata, and leaves the tree.
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-clean", "--no-build-isolation", "--no-binary", ":all:", "--no-deps", f"numcodecs=={VERSION}"]
        p = subprocess.run(command, cwd=build / "sdist", env={**os.environ, "TMPDIR": str(build / "sdist")}, capture_output=True, text=True, timeout=600)
        found = sorted(build.glob("sdist/**/fixture"))
        if not found:
            sys.exit(f"fixtures: the source distribution of numcodecs {VERSION} could not be fetched: {p.stderr.strip()[-500:]}")
    return found[0]


def chunk_of(array, config, encoded, folder):
    order = "F" if array.flags.f_contiguous else "C"
    dtype = array.dtype.descr if array.dtype.names else array.dtype.str
    document = {"zarr_format": 2, "shape": array.shape, "chunks": array.shape, "dtype": dtype, "compressor": config, "filters": None, "fill_value": None, "order": order}
    folder.mkdir(parents=True)
    (folder / ".zarray").write_text(json.dumps(document))
    (folder / (".".join(["0"] * array.ndim) or "0")).write_bytes(encoded)


def listed(array):
    """The objects of `array` in C order, as the reader prints them: bytes by their base64, arrays by their elements."""
    plain = {bytes: lambda x: base64.b64encode(x).decode(), np.ndarray: np.ndarray.tolist}
    return [plain.get(type(x), lambda x: x)(x) for x in array.reshape(-1)]


def wanted(array, config, encoded):
    """(elements, tolerance): those of the fixture, or what numcodecs makes of the bytes."""
    if config["id"] == "zfpy":
        return array, config.get("tolerance", -1) if config["mode"] == 4 else 1e-2 * float(np.abs(array.astype("f8")).max() or 1)
    if config["id"] in ("fixedscaleoffset", "quantize", "astype"):
        back = np.asarray(numcodecs.get_codec(dict(config)).decode(encoded))
        return back.reshape(-1, order="A").view(array.dtype).reshape(array.shape, order="F" if array.flags.f_contiguous else "C"), None
    return array, None


def one(a, fixture, file, folder):
    """None, or what is wrong."""
    config = json.loads((file.parent / "config.json").read_text())
    if config == {"id": "shuffle", "elementsize": 0}:
        return "left out: 0 bytes are those of the type here, as netCDF-C writes it"
    if config["id"] == "json":
        return "left out: numcodecs itself reads it no more"
    array = np.load(file.parent.parent / f"array.{file.name.split('.')[1]}.npy", allow_pickle=True)
    encoded = file.read_bytes()
    chunk_of(array, config, encoded, folder)
    p = subprocess.run([a.reader, "read", str(folder), "/", "--json" if array.dtype == object else "--raw"], capture_output=True, timeout=60)
    if p.returncode:
        return p.stderr.decode(errors="replace").strip().splitlines()[-1][:300]
    if array.dtype == object:
        got = json.loads(p.stdout)
        same = json.dumps(got, sort_keys=True) == json.dumps(listed(array), sort_keys=True)
        return None if same else f"found {str(got)[:100]}, expected {str(listed(array))[:100]}"
    want, tolerance = wanted(array, config, encoded)
    little = want.dtype.newbyteorder("<")
    if tolerance is not None:
        got = np.frombuffer(p.stdout, little).reshape(want.shape).astype("f8")
        worst = float(np.abs(got - want.astype("f8")).max())
        return None if worst <= max(tolerance, 0) else f"differs by {worst}, expected at most {tolerance}"
    return None if p.stdout == want.astype(little).tobytes() else "other elements"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--reader", required=True, help="the program ozread")
    ap.add_argument("--build", default="build/fixtures", help="folder for the sources and the arrays")
    ap.add_argument("--fixtures", help="the folder `fixture` of numcodecs, if it is there already")
    ap.add_argument("--only", default="", help="files whose path contains this")
    a = ap.parse_args()
    build = Path(a.build).resolve()
    build.mkdir(parents=True, exist_ok=True)
    fixture = Path(a.fixtures) if a.fixtures else fetched(build)
    files = [f for f in sorted(fixture.rglob("encoded.*.dat")) if a.only in str(f.relative_to(fixture))]
    left_out, tally, failures = collections.Counter(), collections.Counter(), []

    def attempt(n_file):
        n, file = n_file
        codec = str(file.relative_to(fixture)).split("/")[0]
        if codec == "pickle":
            return file, codec, "left out: it runs code that is in the data"
        try:
            wrong = one(a, fixture, file, Path(work) / str(n))
        except Exception as e:  # noqa: BLE001
            wrong = f"{type(e).__name__}: {e}"
        if wrong and codec in OBJECTS and any(w in wrong for w in ("not supported", "not known")):
            return file, codec, f"left out: {wrong}"
        return file, codec, wrong

    with tempfile.TemporaryDirectory(dir=build) as work, ThreadPoolExecutor(2) as pool:
        for file, codec, wrong in pool.map(attempt, enumerate(files)):
            if not wrong:
                tally[codec] += 1
            elif wrong.startswith("left out"):
                left_out[f"{codec} ({wrong[10:90]})"] += 1
            else:
                failures.append(f"FAIL {file.relative_to(fixture)}: {wrong}")
    for line in failures:
        print(line)
    print("decoded: " + ", ".join(f"{codec} {n}" for codec, n in sorted(tally.items())))
    for what, n in sorted(left_out.items()):
        print(f"left out: {n} of {what}")
    print(f"{sum(tally.values())} passed, {len(failures)} failed")
    return 1 if failures or not tally else 0


if __name__ == "__main__":
    sys.exit(main())
