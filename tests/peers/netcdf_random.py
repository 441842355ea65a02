#!/usr/bin/env python3
"""Random programs of netCDF give the same on Zarr, by libozarr_netcdf.so, as on files of netCDF-4 and of the classic formats; xarray reads the same of both.

    netcdf_random.py --prefix PREFIX --build FOLDER [--seed N] [--programs N]

Where netCDF-C itself fails (NC_EHDFERR after some renaming, a crash), the program counts as skipped. The last line is `N passed, N failed`.
"""
import argparse, difflib, itertools, os, re, shutil, subprocess, sys, warnings
from pathlib import Path

import numpy as np
import xarray as xr

ROOT = Path(__file__).resolve().parents[2]
SPECS = ["", "", "format=2", "chunk_bytes=300,shard_bytes=2k,buffer_bytes=1000", "compressor=none"]


def run(command, out, **environment):
    done = subprocess.run(command, stdout=open(out, "wb"), stderr=subprocess.PIPE, env=os.environ | environment, timeout=60)
    return done.returncode, done.stderr.decode(errors="replace")


def differences(one, other):
    lines = difflib.unified_diff(one.splitlines(), other.splitlines(), "netCDF", "Zarr", lineterm="", n=1)
    return "\n".join(line[:200] for line in itertools.islice(lines, 12))


def groups(told):
    """The groups, as the program tells them in the end."""
    return dict.fromkeys(line.split(": ")[0][6:] for line in told.splitlines() if line.startswith("group /"))


def values(ds):
    """The numbers of a dataset, None for what the two formats spell in two ways: text of single bytes, lists."""
    return {name: (v.dims, v.values) if v.dtype.kind in "iuf" else None for name, v in ds.variables.items()}


def compare(folder, told):
    if "kind 0: 0" in told:
        return "" # zarr-python 3.1 does not read structs of numbers as the specification has them
    for group in groups(told):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "Duplicate dimension names")
            try:
                with xr.open_dataset(folder / "x.nc", engine="netcdf4", group=group, decode_cf=False) as ds:
                    wanted = values(ds)
            except Exception:
                continue # such as a name that xarray does not take
            try:
                with xr.open_zarr(folder / "x.zarr", group=group, decode_cf=False) as ds:
                    found = values(ds)
            except Exception as error:
                return f"{group}: xarray: {error}"
        if found.keys() != wanted.keys():
            return f"{group}: xarray finds {sorted(found)}, expected {sorted(wanted)}"
        for name in wanted:
            if found[name] is None or wanted[name] is None:
                continue
            if found[name][0] != wanted[name][0] or not np.array_equal(found[name][1], wanted[name][1]):
                return f"{group}: xarray reads of {name}: {found[name]}, expected {wanted[name]}"
    return ""


def one(folder, program, prefix, seed):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # Format 2 has no types of the program's own.
    words = [str(seed), str(40 + seed % 7 * 20), *["plain"] * (SPECS[seed % len(SPECS)] == "format=2")]
    status, _ = run([program, folder / "x.nc", *words], folder / "nc.txt")
    told = (folder / "nc.txt").read_text()
    if status or "-101" in told or (told.startswith("format 1") and re.search(r"rename var .*: -1\n", told)):
        return None
    status, errors = run([prefix / "bin/ozarr-netcdf", program, folder / "x.zarr", *words], folder / "zarr.txt", OZARR_LOG="warning",
                         OZARR_NETCDF_SPEC=SPECS[seed % len(SPECS)])
    if status:
        return f"exit status {status}\n{errors}"
    also = (folder / "zarr.txt").read_text()
    return differences(told, also) + errors if told != also else compare(folder, told)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=60)
    args = parser.parse_args()
    args.build.mkdir(parents=True, exist_ok=True)
    program = args.build.resolve() / "netcdf_random"
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, ROOT / "tests/peers/netcdf_random.c", "-lnetcdf"], check=True)
    passed = failed = skipped = 0
    for seed in range(args.seed, args.seed + args.programs):
        wrong = one(args.build / "x", program, args.prefix.resolve(), seed)
        passed, failed, skipped = passed + (wrong == ""), failed + bool(wrong), skipped + (wrong is None)
        if wrong:
            print(f"FAILED seed {seed}: {wrong}")
    print(f"{skipped} skipped\n{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
