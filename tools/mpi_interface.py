"""Holds mpi/ozarr_mpi_c.f90, which is written by hand, against the C functions that it declares: how many parameters each has, and which of them
are numbers, pointers and descriptors. A Fortran compiler sees no header, and would call with what the interface says."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What Fortran passes by value, and the types of C that it is.
VALUES = {"integer(c_int)": "MPI_Fint int", "integer(c_int32_t)": "int32_t uint32_t", "integer(c_int64_t)": "int64_t", "integer(c_size_t)": "size_t",
          "real(c_double)": "double", "logical(c_bool)": "bool", "character(kind=c_char)": "char"}
BY_VALUE = {word for words in VALUES.values() for word in words.split()}


def prototypes(text):
    """The parameters of each function of a C source: the stars and the base of their types."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#.*?$", "", text, flags=re.S | re.M)
    found = {}
    for name, given in re.findall(r"^\w[\w ]*[ *](oz\w+)\(([^(){};]*)\)\s*[{;]", text, re.M):
        parts = [part for part in given.split(",") if part.strip() not in ("", "void")]
        found[name] = [(part.count("*"), re.sub(r"\bconst\b|\*", " ", part).split()[0]) for part in parts]
    return found


def interfaces(text):
    """The parameters of each function of the module: the declaration of each."""
    text = re.sub(r"&\s*\n\s*&?", "", text)
    for parameters, name, body in re.findall(r"^ *(?:function|subroutine) \w+\(([^)]*)\) *bind\(c, name=\"(\w+)\"\)(.*?)^ *end ", text, re.M | re.S):
        declared = dict(
            (variable.partition("(")[0].strip(), kind.strip() + ("(" if "(" in variable else ""))
            for kind, variables in re.findall(r"^ *(.+?) :: (.+)$", body, re.M)
            for variable in variables.split(",")
        )
        yield name, [declared[p.strip()] for p in parameters.split(",") if p.strip()]


def fits(fortran, stars, base):
    """Whether a declaration is of a parameter of C."""
    kind, _, how = fortran.partition(", ")
    if kind == "type(*)":
        return stars == 1 and base == "CFI_cdesc_t"
    if kind == "type(c_ptr)" and how != "value":
        return stars == 2
    if kind == "type(c_ptr)" or how != "value":
        return stars == 1
    # Choices such as `ozarr_type` are `int32_t`.
    return stars == 0 and (base if base in BY_VALUE else "int32_t") in VALUES[kind].split()


def problems():
    """What is wrong with the module: nothing, if it is as the C functions are."""
    folder = ROOT / "mpi"
    known = prototypes((folder / "ozarr_mpi.h").read_text()) | prototypes((folder / "ozarr_mpi_shim.c").read_text())
    found = list(interfaces((folder / "ozarr_mpi_c.f90").read_text()))
    if len(found) < 25:
        yield f"mpi/ozarr_mpi_c.f90: found {len(found)} functions"
    for name, declared in found:
        expected = known.get(name)
        if expected is None:
            yield f"mpi/ozarr_mpi_c.f90: {name} is no function of ozarr_mpi.h or ozarr_mpi_shim.c"
        elif len(expected) != len(declared) or not all(fits(f, *c) for f, c in zip(declared, expected)):
            yield f"mpi/ozarr_mpi_c.f90: {name} has {declared}, expected {expected}"
