"""Packs the wheel: the package's files, and the shared library beside them, which is not built here.

  python3 wheel.py DIR     writes the wheel to DIR and prints its name

The library is OZARR_LIBRARY, or that of build/prefix (tools/library), or what pkg-config finds.
"""
import base64, hashlib, os, re, subprocess, sys, sysconfig, zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = {
    "description": "Zarr arrays by the C library ozarr: numpy's indices, an xarray backend, a codec pipeline for zarr-python",
    "requires-python": ">=3.10",
    "license": "MIT OR Apache-2.0",
    "dependencies": ["numpy>=1.25"],
    "optional-dependencies": {"xarray": ["xarray"], "zarr": ["zarr>=3.1"]},
    "entry-points": {"xarray.backends": {"ozarr": "ozarr.xarray:OzarrBackendEntrypoint"},
                     "zarr.codec_pipeline": {"ozarr": "ozarr.zarr:OzarrCodecPipeline"}},
}
NAMES = {"darwin": "libozarr.dylib", "win32": "ozarr.dll"}


def library():
    """The file of the shared library."""
    name = NAMES.get(sys.platform, "libozarr.so")
    found = [Path(os.environ["OZARR_LIBRARY"])] if "OZARR_LIBRARY" in os.environ else sorted((HERE.parent / "build" / "prefix").glob(f"lib*/**/{name}"))
    if not found:
        told = subprocess.run(["pkg-config", "--variable=libdir", "ozarr"], capture_output=True, text=True) if which("pkg-config") else None
        found = [Path(told.stdout.strip()) / name] if told and told.returncode == 0 else []
    if not found or not found[0].exists():
        sys.exit(f"no {name} to put into the wheel: build it (tools/library), or name it: OZARR_LIBRARY=/path/to/{name}")
    return found[0].resolve(), name


def which(program):
    return any(os.access(Path(folder) / program, os.X_OK) for folder in os.get_exec_path())


def platform(data):
    """The wheel's platform: of glibc the version whose symbols the library needs."""
    machine = sysconfig.get_platform()
    if not machine.startswith("linux-"):
        return re.sub(r"[-.]", "_", machine)
    versions = [int(x) for x in re.findall(rb"\bGLIBC_2\.(\d+)", data)]
    return f"manylinux_2_{max(versions)}_{machine.removeprefix('linux-').replace('-', '_')}" if versions else re.sub(r"[-.]", "_", machine)


def version():
    return re.search(r'^version = "(.*)"', (HERE.parent / "Cargo.toml").read_text(), re.M)[1]


def metadata(project):
    lines = ["Metadata-Version: 2.4", "Name: ozarr", f"Version: {version()}", f"Summary: {project['description']}",
             f"Requires-Python: {project['requires-python']}", f"License-Expression: {project['license']}"]
    lines += [f"Requires-Dist: {name}" for name in project["dependencies"]]
    for extra, names in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}"] + [f'Requires-Dist: {name}; extra == "{extra}"' for name in names]
    return "\n".join(lines) + "\n"


def entry_points(project):
    return "\n".join(f"[{group}]\n" + "".join(f"{name} = {what}\n" for name, what in points.items()) for group, points in project["entry-points"].items())


def build_wheel(folder):
    """Writes the wheel to a folder; its name."""
    project = PROJECT
    file, name = library()
    shared = file.read_bytes()
    tag = f"py3-none-{platform(shared)}"
    about = f"ozarr-{version()}.dist-info"
    files = {f"ozarr/{path.name}": path.read_bytes() for path in sorted((HERE / "ozarr").glob("*.py"))}
    files |= {f"ozarr/{name}": shared}
    files |= {f"{about}/licenses/{path.name}": path.read_bytes() for path in sorted(HERE.parent.glob("LICENSE-*"))}
    files |= {f"{about}/licenses/{path.name}": path.read_bytes() for path in [HERE.parent / "build" / "THIRDPARTY"] if path.exists()}
    files |= {f"{about}/METADATA": metadata(project).encode(), f"{about}/entry_points.txt": entry_points(project).encode(),
              f"{about}/WHEEL": f"Wheel-Version: 1.0\nGenerator: ozarr\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()}
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n" for path, data in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    wheel = f"ozarr-{version()}-{tag}.whl"
    with zipfile.ZipFile(Path(folder) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if path.endswith((".so", ".dylib")) else 0o644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return wheel


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(build_wheel(sys.argv[1]))
