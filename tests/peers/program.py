"""What the checks of the program's subcommands share: the program and a new folder, as the command line names them, and how much was checked."""
import argparse, shutil
from pathlib import Path

arguments = argparse.ArgumentParser()
arguments.add_argument("--program", required=True)
arguments.add_argument("--build", required=True)
arguments = arguments.parse_args()
BUILD, PROGRAM = Path(arguments.build).resolve(), Path(arguments.program).absolute()
checked = 0


def check(what, found, wanted):
    global checked
    checked += 1
    assert found == wanted, f"{what}: found {found!r}, wanted {wanted!r}"


def run_parts(*parts, name=""):
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    for part in parts:
        part()
    print(f"{name}{checked} passed, 0 failed")
