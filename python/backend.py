"""What pip asks to build the package (PEP 517), and alone: python3 backend.py DIR writes the wheel to DIR and prints its name.

The shared library that goes into the wheel is OZARR_LIBRARY; without it CMake and cargo build it in build/python-library. Settings are
CMake's: pip install ./python -C OZARR_CLOUD=OFF -C OZARR_PROFILE=quick.
"""
import base64, gzip, hashlib, io, os, re, shutil, subprocess, sys, sysconfig, tarfile, zipfile
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NAMES = {"darwin": "libozarr.dylib", "win32": "ozarr.dll"}
NAME = NAMES.get(sys.platform, "libozarr.so")
WITHOUT = ("TESTS", "PROGRAM", "STATIC", "FORTRAN", "MPI", "NETCDF")


def version():
    return re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]


def project():
    return tomllib.loads((HERE / "pyproject.toml").read_text())["project"]


def licences():
    return [*sorted(ROOT.glob("LICENSE-*")), ROOT / "THIRDPARTY"]


def run(*command):
    """Runs a command of the build; its own output says what failed."""
    if subprocess.run(command, cwd=ROOT, stdout=sys.stderr).returncode:
        sys.exit(f"ozarr: failed: {' '.join(map(str, command[:3]))} … (what it said is above)")


def library(settings):
    """The file of the shared library, built where none is named."""
    if given := os.environ.get("OZARR_LIBRARY"):
        if not Path(given).is_file():
            sys.exit(f"ozarr: OZARR_LIBRARY is {given}, expected the file {NAME}")
        return Path(given).resolve()
    if unknown := [key for key in settings if not re.fullmatch(r"(OZARR|CMAKE)_\w+", key)]:
        sys.exit(f"ozarr: unknown setting {unknown[0]}, expected CMake's: OZARR_… or CMAKE_…, as in `-C OZARR_CLOUD=OFF`")
    folder = ROOT / "build" / "python-library"
    choices = {"CMAKE_BUILD_TYPE": "Release", "OZARR_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", ROOT / "target")}
    choices |= {f"OZARR_{part}": "OFF" for part in WITHOUT} | settings
    run("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *(f"-D{key}={value}" for key, value in choices.items()))
    run("cmake", "--build", folder)
    return (folder / "lib" / NAME).resolve()


def platform(data):
    """The wheel's platform: of glibc the version whose symbols the library needs."""
    machine = sysconfig.get_platform()
    if not machine.startswith("linux-"):
        return re.sub(r"[-.]", "_", machine)
    versions = [int(x) for x in re.findall(rb"\bGLIBC_2\.(\d+)", data)]
    return f"manylinux_2_{max(versions)}_{machine.removeprefix('linux-').replace('-', '_')}" if versions else re.sub(r"[-.]", "_", machine)


def metadata():
    about = project()
    lines = ["Metadata-Version: 2.4", f"Name: {about['name']}", f"Version: {version()}", f"Summary: {about['description']}",
             f"Author: {', '.join(author['name'] for author in about['authors'])}", f"Keywords: {','.join(about['keywords'])}",
             f"Requires-Python: {about['requires-python']}", f"License-Expression: {about['license']}"]
    lines += [f"License-File: {path.name}" for path in licences()]
    lines += [f"Classifier: {name}" for name in about["classifiers"]]
    lines += [f"Project-URL: {name}, {url}" for name, url in about["urls"].items()]
    lines += [f"Requires-Dist: {name}" for name in about["dependencies"]]
    for extra, names in about["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}"] + [f'Requires-Dist: {name}; extra == "{extra}"' for name in names]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", (HERE / "README.md").read_text()])


def described():
    """The files that describe the package, by their names below `ozarr-VERSION.dist-info`."""
    points = "\n".join(f"[{group}]\n" + "".join(f"{name} = {what}\n" for name, what in points.items()) for group, points in project()["entry-points"].items())
    return {"METADATA": metadata().encode(), "entry_points.txt": points.encode()}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel to a folder; its name."""
    shared = library(config_settings or {}).read_bytes()
    tag = f"py3-none-{platform(shared)}"
    about = f"ozarr-{version()}.dist-info"
    sources = sorted(path for path in (HERE / "ozarr").iterdir() if path.suffix in (".py", ".pyi", ".typed"))
    files = {f"ozarr/{path.name}": path.read_bytes() for path in sources} | {f"ozarr/{NAME}": shared}
    files |= {f"{about}/licenses/{path.name}": path.read_bytes() for path in licences()}
    files |= {f"{about}/{name}": data for name, data in described().items()}
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: ozarr\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n" for path, data in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    wheel = f"ozarr-{version()}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if path.endswith((".so", ".dylib")) else 0o644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return wheel


def get_requires_for_build_wheel(config_settings=None):
    """PyPI's CMake and Ninja where the machine has none; Rust and a C compiler it has to have."""
    return [] if "OZARR_LIBRARY" in os.environ else [name for name in ("cmake", "ninja") if not shutil.which(name)]


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Writes what describes the wheel, without building the library."""
    about = Path(metadata_directory) / f"ozarr-{version()}.dist-info"
    about.mkdir()
    for name, data in described().items():
        (about / name).write_bytes(data)
    return about.name


def build_sdist(sdist_directory, config_settings=None):
    """Writes the sources that pip can install from: what git tracks but the tests, with pyproject.toml at the root."""
    told = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True)
    if told.returncode:
        sys.exit(f"ozarr: the sources are packed from a checkout of git: {told.stderr.strip()}")
    files = {path: (ROOT / path).read_bytes() for path in told.stdout.split("\0") if path and not path.startswith(("tests/", "."))}
    rooted = files["python/pyproject.toml"].replace(b'backend-path = ["."]', b'backend-path = ["python"]').replace(b'"README.md"', b'"python/README.md"')
    files |= {"pyproject.toml": rooted, "PKG-INFO": metadata().encode()}
    name = f"ozarr-{version()}"
    with open(Path(sdist_directory) / f"{name}.tar.gz", "wb") as out, gzip.GzipFile("", "wb", mtime=0, fileobj=out) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mode = len(data), 0o755 if os.access(ROOT / path, os.X_OK) else 0o644
            archive.addfile(entry, io.BytesIO(data))
    return f"{name}.tar.gz"


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(build_wheel(sys.argv[1]))
