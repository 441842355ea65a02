#!/usr/bin/env python3
"""Runs tests/faults/files.c, and looks by zarr-python at what it leaves after each point.

  files.py --program BUILD/files --build DIR sample|all [WORKLOAD]

The last line is that of `files`: the points of all workloads. The exit status is 0 if neither ozarr nor zarr-python found anything wrong.
"""
import argparse, shutil, subprocess, sys, warnings, zipfile
from pathlib import Path

import numpy as np
import zarr

ROWS, COLUMNS = 64, 512
INDEX = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
# What zarr-python has no codec for.
FOREIGN = ("zfp", "pcodec")


def value(generation):
    return generation * 1000.0 + (INDEX % 977) * 0.5


def chunks(found, all_new, may_be_empty=False):
    """Each chunk is of one generation, the new one if all are to be; or not stored."""
    generations = [value(g) for g in ((1,) if all_new else (0, 1))] + [np.zeros((ROWS, COLUMNS))] * may_be_empty
    for r in range(0, ROWS, 32):
        for c in range(0, COLUMNS, 256):
            box = np.s_[r:r + 32, c:c + 256]
            if not any(np.array_equal(found[box], whole[box]) for whole in generations):
                return f"the chunk at {r}, {c} is torn"


def array(path, all_new, may_be_gone, mixed=False):
    if not path.exists():
        return None if may_be_gone and not all_new else "there is no array"
    try:
        # An archive that was only begun has no directory yet.
        if path.suffix == ".zip" and may_be_gone and not all_new and not zipfile.is_zipfile(path):
            return None
        if path.suffix == ".zip":
            with zarr.storage.ZipStore(path, mode="r") as store:
                found = zarr.open_array(store, path="a", mode="r")[...]
        else:
            found = zarr.open_array(path, path="a", mode="r")[...]
    except (FileNotFoundError, zarr.errors.NodeNotFoundError) as e:
        return None if may_be_gone and not all_new else f"there is no array: {e}"
    if mixed and not all_new:
        return None if np.all((found == value(0)) | (found == value(1))) else "an element is neither old nor new"
    return chunks(found, all_new, may_be_gone and not all_new)


def attributes(path, all_new):
    attrs = zarr.open_group(path, mode="r").attrs
    for name in ("alpha", "beta", "gamma", "delta"):
        if attrs[name] not in ((1,) if all_new else (0, 1)):
            return f"{name} is {attrs[name]}"
    return None if attrs["text"] in (("new",) if all_new else ("old", "new")) else f"text is {attrs['text']}"


def tree(path, all_new, names):
    group = zarr.open_group(path, mode="r", use_consolidated=False)
    for name in names:
        if not np.array_equal(group[f"{name}/u"][...], [("alpha", "beta", "gamma", "delta").index(name), 1, 2]):
            return f"{name}/u is another"


def copy(path, all_new):
    return tree(path, all_new, ("alpha", "gamma")) if all_new else None


def checkpoints(path, all_new):
    """By consolidated metadata, too, which need not have the new one: what fails there is no error of the commit."""
    for consolidated in (False, None):
        # The folder of a checkpoint has its name, a dot and a number.
        found = {name.split(".")[0]: group for name, group in zarr.open_group(path, mode="r", use_consolidated=consolidated).groups()}
        if "base" not in found or (all_new and consolidated is False and "next" not in found):
            return f"there are {sorted(found)}"
        for name, group in found.items():
            if wrong := chunks(group["u"][...], name == "next"):
                return f"{name}: {wrong}"
            if group.attrs["step"] != (name == "next"):
                return f"{name}: step {group.attrs['step']}"


def row(step):
    return value(1).ravel()[step:step + COLUMNS]


def steps(array, least, most):
    found = array[...]
    if not least <= len(found) <= most or not all(np.array_equal(found[i], row(i)) for i in range(len(found))):
        return f"{array.name} of the shape {found.shape} is another"


def run(path, points, all_new):
    newest = max((group for _, group in zarr.open_group(points, mode="r").groups()), key=lambda g: g.attrs["step"])
    step = newest.attrs["step"]
    if not np.array_equal(newest["u"][...], row(step)) or not (9 if all_new else 3) <= step <= 9:
        return f"the checkpoint of step {step} is another"
    return steps(zarr.open_group(path, mode="r")["t"], step, 9)


def migrated(path, format):
    found = zarr.open_array(path, path="a", mode="r")
    if not np.array_equal(found[...], value(0)) or format not in (None, found.metadata.zarr_format):
        return f"{path} is another, or of another format"


def look(folder, name, all_new):
    """What zarr-python finds wrong, or None."""
    if any(codec in name for codec in FOREIGN):
        return None
    if name.startswith("zip"):
        return array(folder / "array.zip", all_new and name != "zip read", name == "zip create")
    if name.startswith("read") or name == "list":
        return None
    if name.startswith(("write", "create", "request", "update")):
        return array(folder / "array.zarr", all_new, name.startswith("create"), name.startswith("update"))
    if name == "publish":
        return array(folder / "new.zarr", True, False) if all_new or (folder / "new.zarr").exists() else None
    if name == "attributes":
        return attributes(folder / "attrs.zarr", all_new)
    if name == "consolidate":
        return tree(folder / "tree.zarr", all_new, ("alpha", "beta", "gamma"))
    if name == "copy":
        return copy(folder / "copied.zarr", all_new)
    if name == "checkpoint":
        return checkpoints(folder / "checkpoints.zarr", all_new)
    if name == "migrate":
        return migrated(folder / "array.zarr", 2) or (all_new and migrated(folder / "migrated.zarr", 3)) or None
    if name == "migrate in place":
        return migrated(folder / "array.zarr", 3 if all_new else None)
    if name == "series" and all_new:
        return steps(zarr.open_group(folder / "series.zarr", mode="r")["t"], 4, 4)
    if name == "append":
        return steps(zarr.open_array(folder / "append.zarr", mode="r"), 9 if all_new else 3, 9)
    if name == "run":
        return run(folder / "run.zarr", folder / "points.zarr", all_new)
    return None


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--program", required=True, help="the compiled tests/faults/files.c")
    ap.add_argument("--build", default="build/files", help="folder for the stores")
    ap.add_argument("points", choices=("sample", "all"))
    ap.add_argument("workload", nargs="?")
    a = ap.parse_args()
    folder = Path(a.build).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # zarr-python warns of files that are not its own, which a killed writer may have left.
    warnings.simplefilter("ignore")
    line = [Path(a.program).resolve(), folder, a.points, "judge", *([a.workload] if a.workload else [])]
    files = subprocess.Popen([str(x) for x in line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for text in files.stdout:
        if not text.startswith("judge "):
            print(text, end="", flush=True)
            continue
        name, all_new = text[6:].rstrip("\n").rsplit(" ", 1)
        try:
            wrong = look(folder, name, all_new == "1")
        except Exception as e:  # whatever zarr-python makes of it is to be told
            wrong = f"{type(e).__name__}: {e}".replace("\n", " ")
        files.stdin.write(f"{wrong or 'ok'}\n")
        files.stdin.flush()
    return files.wait()


if __name__ == "__main__":
    sys.exit(main())
