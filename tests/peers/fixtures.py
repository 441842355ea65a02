#!/usr/bin/env python3
"""zarr-python 2's own fixture tree, read by the library and by zarr-python 3: every element of every array the same.

  fixtures.py --library build/prefix/lib/libozarr.so --build DIR [--source FOLDER]

The tree is the folder `fixture` of the package zarr 2.18.7, which pip fetches; --source names a copy instead. The last line is
`N passed, N failed`.
"""
import argparse, ctypes as C, json, shutil, subprocess, sys, tarfile, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import numpy as np
import zarr

from model import Library

VERSION = "2.18.7"
# Arrays of one test of zarr-python 2; the last one does not say that its chunks are nested, so zarr-python itself reads only fill values.
SEPARATORS = {name: np.array([[1, 2], [3, 4]]) for name in ("flat", "flat_legacy", "nested", "nested_legacy")}


def fetch(build):
    """The fixture tree of the source package, unpacked."""
    folder = build / f"zarr-{VERSION}" / "fixture"
    if not (folder / ".zgroup").exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", "zarr",
                        "--dest", build, f"zarr=={VERSION}"], check=True)
        with tarfile.open(build / f"zarr-{VERSION}.tar.gz") as package:
            package.extractall(build, members=[m for m in package if m.name.startswith(f"zarr-{VERSION}/fixture/")], filter="data")
    return folder


def by_zarr(folder, build):
    """The elements as zarr-python 3 reads them. It refuses the fill value 0 of texts and bytes, so it is given a copy without."""
    document = json.loads((folder / ".zarray").read_text())
    if document["fill_value"] == 0 and document["dtype"][1] in "SU":
        copy = build / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        (copy / ".zarray").write_text(json.dumps(document | {"fill_value": None}))
        folder = copy
    return np.asarray(zarr.open_array(folder, mode="r", zarr_format=2)[...])


def check(oz, store, root, path, build):
    a, rank = C.c_void_p(), C.c_int32()
    oz("array_open_at", store, path.encode(), C.byref(a))
    want = SEPARATORS.get(path)
    if want is None:
        want = by_zarr(root / path, build)
    want = np.ascontiguousarray(want.astype(want.dtype.newbyteorder("=")))
    found = np.zeros_like(want)
    oz("array_read", a, 0, found.ctypes.data_as(C.c_void_p), C.c_size_t(found.nbytes))
    oz.lib.ozarr_array_free(a)
    assert found.tobytes() == want.tobytes(), "found other elements"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--library", required=True)
    p.add_argument("--build", type=Path, required=True)
    p.add_argument("--source", type=Path)
    args = p.parse_args()
    args.build.mkdir(parents=True, exist_ok=True)
    root = args.source or fetch(args.build)
    oz, store = Library(args.library), C.c_void_p()
    oz("store_open", str(root).encode(), b"r", C.byref(store))
    passed, failed = 0, 0
    for file in sorted(root.rglob(".zarray")):
        path = file.parent.relative_to(root).as_posix()
        try:
            check(oz, store, root, path, args.build)
            passed += 1
        except Exception as e:
            failed += 1
            print(f"FAIL {path}: {e}")
    group, length, text = C.c_void_p(), C.c_size_t(), C.create_string_buffer(100)
    oz("group_open_at", store, b"utf8attrs", C.byref(group))
    oz("attr_get_string", group, b"foo", text, C.c_size_t(100), C.byref(length))
    ok = text.value.decode() == "た"
    print(f"{passed + ok} passed, {failed + (not ok)} failed")
    return 1 if failed or not ok or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
