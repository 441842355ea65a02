#!/usr/bin/env python3
"""netCDF's own test programs on Zarr: each that passes on HDF5 as it is passes with every file that it creates as Zarr, or stands in a table of
docs/netcdf.md with what it expects that is not so here.

    netcdf_suite.py --prefix PREFIX --build FOLDER [--sources FOLDER]

The sources are the distribution's of netCDF-C and netCDF-Fortran, by apt-get, or they are in a FOLDER; they are compiled with its libraries.
"""
import argparse, os, re, shutil, subprocess, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What netCDF's configuration would say of the distribution's libraries.
CONFIG = "\n".join(f"#define {name} 1" for name in (
    "HAVE_UNISTD_H", "HAVE_FCNTL_H", "HAVE_SYS_STAT_H", "HAVE_DIRENT_H", "HAVE_STDINT_H", "HAVE_STRDUP", "HAVE_H5Z_SZIP", "USE_HDF5", "USE_NETCDF4", "ENABLE_CDF5", "ENABLE_NCZARR")) + "\n"
FORTRAN = [f"-D{name}" for name in (
    "NF_INT1_T=integer*1", "NF_INT2_T=integer*2", "NF_INT1_IS_C_SIGNED_CHAR=1", "NF_INT2_IS_C_SHORT=1", "NF_INT_IS_C_INT=1", "NF_REAL_IS_C_FLOAT=1", "NF_DOUBLEPRECISION_IS_C_DOUBLE=1", "NF_RELAX_COORD_BOUND=1")]
# Programs that are measurements, take gigabytes, or are for MPI, another format or the programs beside them.
NOT_TESTS = re.compile(r"bm_|tst_(large|ar4|create_files|files[23]$|ncf199|gfs|chunks3|attsperf|h5_|h_many|hdf4|h4_|interops[23]|parallel|nc4perf|simplerw|camrun|mode|mpi|.*_par$|chunk.*perf$)|large_files|quick_|parallel|test_filter|filter_example|f90tst_(flarge|io|parallel|nc4_par)|ftst_(parallel|filter)|test_hdf5_swmr")


def fetch(build, package):
    """Unpacks the sources of what is installed. Its lists are its own, so that those of the system stay as they are."""
    apt, folder = build / "apt", build / package
    for name in "parts", "lists/partial", "cache/archives/partial":
        (apt / name).mkdir(parents=True, exist_ok=True)
    folder.mkdir()
    for file in Path("/etc/apt").glob("sources.list.d/debian.sources"):
        (apt / "parts" / file.name).write_text(re.sub(r"^Types:.*$", "Types: deb-src", file.read_text(), flags=re.M))
    lines = [line for file in Path("/etc/apt").glob("sources.list") for line in file.read_text().splitlines()]
    (apt / "parts/own.list").write_text("".join(re.sub(r"^deb ", "deb-src ", line) + "\n" for line in lines if line.startswith("deb ")))
    options = [word for name, value in (("Dir::Etc::SourceList", "/dev/null"), ("Dir::Etc::SourceParts", apt / "parts"), ("Dir::State::Lists", apt / "lists"), ("Dir::Cache", apt / "cache"), ("APT::Sandbox::User", "root")) for word in ("-o", f"{name}={value}")]
    for words in (["update"], ["source", "--tar-only", "--download-only", package]):
        done = subprocess.run(["apt-get", "-q", *options, *words], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"apt-get {' '.join(words)}: {(done.stdout + done.stderr)[-600:]}\nWithout apt-get the sources come by --sources.")
    subprocess.run(["tar", "-xf", next(folder.glob("*.orig.tar.*"))], cwd=folder, check=True)
    return next(path for path in folder.iterdir() if path.is_dir())


def documented():
    """The programs that stand in the tables of docs/netcdf.md."""
    found = set()
    for table in re.findall(r"\| program \| expects \|\n\|---\|---\|\n((?:\|.*\n)+)", (ROOT / "docs/netcdf.md").read_text()):
        for row in table.splitlines():
            found.update(re.findall(r"`(\w+)`", row.split("|")[1]))
    return found


class Suite:
    """The programs of one package: how they are compiled, and where they run."""

    def __init__(self, build, library):
        self.build, self.library, self.failed, self.passed = build, library, set(), set()

    def compile(self, name, command):
        (self.build / "bin").mkdir(exist_ok=True)
        program = self.build / "bin" / name
        done = subprocess.run([*command, "-o", program], cwd=self.build, capture_output=True, text=True)
        return program if done.returncode == 0 else None

    def ends_well(self, program, folder, **environment):
        try:
            done = subprocess.run([program], cwd=folder, env=os.environ | {"srcdir": str(folder)} | environment, capture_output=True, timeout=300)
        except subprocess.TimeoutExpired:
            return False
        (folder / f"{program.name}.log").write_bytes(done.stdout + done.stderr)
        return done.returncode == 0 and b"FAILURES TESTING" not in done.stdout

    def run(self, name, program):
        """Runs a program on HDF5, and on Zarr where it passes there."""
        if program and self.ends_well(program, self.build / "hdf5"):
            right = self.ends_well(program, self.build / "zarr", LD_PRELOAD=str(self.library), OZARR_NETCDF="always")
            (self.passed if right else self.failed).add(name)

    def prepare(self, files):
        """The folders in which the programs run, with the files that they read."""
        for kind in "hdf5", "zarr":
            (self.build / kind).mkdir(exist_ok=True)
            for file in files:
                shutil.copy(file, self.build / kind)


def c_programs(suite, source):
    config = suite.build / "config"
    config.mkdir()
    (config / "config.h").write_text(CONFIG)
    # The one that netCDF-C is linked to, where the distribution has HDF5 with MPI, too.
    hdf5 = next((found.stdout.split() for name in ("hdf5-serial", "hdf5") if (found := subprocess.run(["pkg-config", "--cflags", "--libs", name], capture_output=True, text=True)).returncode == 0), [])
    suite.prepare([*source.glob("nc_test4/ref_*"), *source.glob("nctest/ref_*")])
    # What writes a file runs before what reads it.
    sources = sorted([*source.glob("nc_test4/*.c"), *source.glob("examples/C/*.c")], key=lambda file: file.stem.replace("_wr", "_"))
    words = ["cc", "-w", "-std=gnu11", "-D_GNU_SOURCE", f"-I{config}", f"-I{source}/include", f"-I{source}/nc_test4"]
    for file in sources:
        if not NOT_TESTS.match(file.stem):
            suite.run(file.stem, suite.compile(file.stem, [*words, file, "-lnetcdf", *hdf5, "-lm"]))
    whole = [file for file in source.glob("nctest/*.c") if file.stem != "tst_rename"]
    suite.run("nctest", suite.compile("nctest", [*words, f"-I{source}/nctest", *whole, "-lnetcdf", "-lm"]))


def fortran_programs(suite, source):
    flags = subprocess.run(["nf-config", "--fflags", "--flibs"], capture_output=True, text=True).stdout.split()
    include = subprocess.run(["nf-config", "--includedir"], capture_output=True, text=True).stdout.strip()
    words = ["gfortran", "-w", "-cpp", "-fallow-argument-mismatch", *FORTRAN, f"-I{include}", f"-I{source}/nf_test"]
    suite.prepare([])
    for kind in "hdf5", "zarr":
        shutil.copy(source / "nf_test/ref_fills.nc", suite.build / kind / "fills.nc")
    own = source / "nf_test"
    parts = [own / name for name in ("f03lib_f_interfaces.f90", "test_get.F", "test_put.F", "nf_error.F", "nf_test.F", "test_read.F", "test_write.F", "util.F")]
    subprocess.run(["cc", "-c", own / "f03lib.c", "-o", suite.build / "f03lib.o"], check=True)
    suite.run("nf_test", suite.compile("nf_test", [*words, *parts, suite.build / "f03lib.o", *flags]))
    for file in sorted(file for folder in ("nf_test4", "nf03_test", "nf03_test4") for file in (source / folder).glob("*.[fF]*")) + [own / "tst_f77_v2.F", own / "tst_int64.F", own / "ftest.F"]:
        if not NOT_TESTS.match(file.stem):
            more = [suite.build / "f03lib.o"] if file.stem == "ftest" else []
            suite.run(file.stem, suite.compile(file.stem, [*words, file, *more, *flags]))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--prefix", required=True, type=Path)
    arguments.add_argument("--build", required=True, type=Path)
    arguments.add_argument("--sources", type=Path)
    given = arguments.parse_args()
    build, library = given.build.resolve(), next(given.prefix.resolve().rglob("libozarr_netcdf.so"))
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    wrong, known, seen = 0, documented(), set()
    for package, run, least in (("netcdf", c_programs, 70), ("netcdf-fortran", fortran_programs, 28)):
        source = given.sources.resolve() / package if given.sources else fetch(build, package)
        (build / f"run-{package}").mkdir()
        suite = Suite(build / f"run-{package}", library)
        run(suite, source)
        seen |= suite.failed | suite.passed
        unknown, mended = suite.failed - known, suite.passed & known
        print(f"{package}: {len(suite.failed | suite.passed)} programs pass on HDF5, {len(suite.passed)} of them on Zarr; without a reason: {sorted(unknown)}; in the table, and pass: {sorted(mended)}")
        wrong += len(unknown) + len(mended) + (len(suite.passed) < least)
    if gone := known - seen:
        print(f"in the table, and not among the programs: {sorted(gone)}")
    print(f"{len(seen) - wrong} passed, {wrong + len(gone)} failed")
    sys.exit(bool(wrong or gone))


main()
