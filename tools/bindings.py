#!/usr/bin/env python3
"""Writes the declarations of the C functions for Fortran, Julia and Python from abi/ozarr.json.

  tools/bindings.py            writes fortran/generated/ozarr_c.f90, ozarr_constants.f90, libozarr.jl of Julia, _raw.py of Python and docs/names.md
  tools/bindings.py --check    fails if they are not what would be written, or the tables of names are wrong (tools/names.py), or the
                               module of libozarr_mpi declares a C function otherwise than it is (tools/mpi_interface.py);
                               with --complete also if a table lacks a function of ozarr.h
"""
import json, re, sys
from pathlib import Path

import mpi_interface, names, python_layer

ROOT = Path(__file__).resolve().parent.parent
ABI = ROOT / "abi" / "ozarr.json"
FORTRAN = ROOT / "fortran" / "generated" / "ozarr_c.f90"
FORTRAN_CONSTANTS = FORTRAN.with_name("ozarr_constants.f90")
JULIA = ROOT / "julia" / "OZarr" / "src" / "generated" / "libozarr.jl"
PYTHON = ROOT / "python" / "ozarr" / "_raw.py"

# A C number in Fortran and in Julia. Fortran has no unsigned integers: the bits are the same.
NUMBERS = {"int32_t": ("integer(c_int32_t)", "Int32"), "uint32_t": ("integer(c_int32_t)", "UInt32"), "int64_t": ("integer(c_int64_t)", "Int64"),
           "uint64_t": ("integer(c_int64_t)", "UInt64"), "uint8_t": ("integer(c_int8_t)", "UInt8"), "size_t": ("integer(c_size_t)", "Csize_t"),
           "double": ("real(c_double)", "Cdouble"), "float": ("real(c_float)", "Cfloat"), "bool": ("logical(c_bool)", "Bool"),
           "char": ("character(kind=c_char)", "Cchar")}
# Names that an intrinsic or a keyword of the language has.
FORTRAN_NAMES = {"type": "type_", "size": "bytes", "len": "length"}
JULIA_NAMES = {"type": "type_", "end": "end_"}


def stars_and_base(c):
    """"const char *const *" -> (2, "char")."""
    return c.count("*"), re.sub(r"\b(const|struct)\b|\*", " ", c).split()[0]


class Abi:
    """abi/ozarr.json, and what its types are in the two languages."""

    def __init__(self, path):
        data = json.loads(path.read_text())
        self.functions, self.structs, self.constants = data["functions"], data["structs"], data["constants"]
        self.handles = {h["name"] for h in data["handles"]}
        self.callbacks = {c["name"] for c in data["callbacks"]}
        self.struct_names = {s["name"] for s in self.structs}
        self.c_names = {t["name"]: t["c"] for t in data["types"]}
        self.numbers = NUMBERS | {t["name"]: NUMBERS[t["c"]] for t in data["types"]}

    def fortran_value(self, c):
        """The type of a value, a member or a result."""
        stars, base = stars_and_base(c)
        return "type(c_ptr)" if stars else "type(c_funptr)" if base in self.callbacks else self.numbers[base][0]

    def fortran_argument(self, parameter, name):
        """The declaration of one dummy argument. What may be NULL is optional where it is not an address."""
        stars, base = stars_and_base(parameter["c"])
        kind, length = parameter["kind"], parameter.get("length")
        optional = ", optional" if parameter.get("null") else ""
        # An output is written on success only, so it keeps its value otherwise.
        intent = "in" if parameter["direction"] == "in" else "inout"
        shape = "(*)" if length else ""
        if kind == "number" and stars == 1:
            return f"{self.numbers[base][0]}, intent({intent}){optional} :: {name}{shape}"
        if kind == "text" and stars == 1 and intent == "in":
            return f"character(kind=c_char), intent(in){optional} :: {name}(*)"
        if stars == 2 and (length or kind == "handle"):
            return f"type(c_ptr), intent({intent}){optional} :: {name}{shape}"
        return f"{self.fortran_value(parameter['c'])}, value :: {name}"

    def julia_type(self, c):
        stars, base = stars_and_base(c)
        if base in self.callbacks:
            return "Ptr{Cvoid}"
        if stars == 0:
            return self.numbers[base][1]
        if base == "char":
            return "Cstring" if stars == 1 and "const" in c else "Ptr{UInt8}" if stars == 1 else "Ptr{Ptr{UInt8}}"
        inside = "Cvoid" if base in self.handles or base == "void" else base if base in self.struct_names else self.numbers[base][1]
        return "Ptr{" * stars + inside + "}" * stars

    def julia_result(self, c):
        stars, base = stars_and_base(c)
        if stars == 0:
            return "Cvoid" if base == "void" else self.numbers[base][1]
        return "Cstring" if base == "char" else self.julia_type(c)


def wrap(text, indent):
    """Fortran lines of at most 120 columns."""
    lines, line = [], ""
    for part in re.split(r"(?<=, )", text):
        if len(indent) + len(line) + len(part) > 116:
            lines.append(indent + line.rstrip() + " &")
            line = "  "
        line += part
    return "\n".join(lines + [indent + line.rstrip()])


def fortran_function(abi, function):
    """The interface of one function."""
    name, result = function["name"], function["result"]
    given = [(p, FORTRAN_NAMES.get(p["name"], p["name"])) for p in function["parameters"]]
    word, tail = ("subroutine", "") if result == "void" else ("function", " result(r)")
    lines = [abi.fortran_argument(p, a) for p, a in given] + ([] if result == "void" else [f"{abi.fortran_value(result)} :: r"])
    kinds = sorted(set(re.findall(r"\bc_\w+(?=[,)])", " ".join(lines))))
    out = [wrap(f"{word} {name}({', '.join(a for _, a in given)}) bind(c, name=\"{name}\"){tail}", "    ")]
    out += [f"      import :: {', '.join(kinds)}"] if kinds else []
    return out + [f"      {line}" for line in lines] + [f"    end {word} {name}"]


def fortran(abi):
    out = ["! Generated from abi/ozarr.json by tools/bindings.py: a change here is lost.",
           "!", "! The functions of the C library, as they are, and its constants: texts end in c_null_char, indices count from 0, dimensions are",
           "! in C's order. An argument that may be NULL is optional, or a type(c_ptr). The module `ozarr` is what a program wants; this one is",
           "! for what it leaves out.",
           "module ozarr_c", "  use, intrinsic :: iso_c_binding", "  use ozarr_constants", "  implicit none", "  public"]
    for struct in abi.structs:
        out += ["", f"  type, bind(c) :: {struct['name']}"]
        for member in struct["members"]:
            what = abi.fortran_value(member["c"])
            default = {"type(c_ptr)": "c_null_ptr", "type(c_funptr)": "c_null_funptr", "logical(c_bool)": ".false._c_bool"}.get(what, "0")
            out.append(f"    {what} :: {FORTRAN_NAMES.get(member['name'], member['name'])} = {default}")
        out.append(f"  end type {struct['name']}")
    out += ["", "  interface"] + [line for function in abi.functions for line in fortran_function(abi, function)]
    return "\n".join(out + ["  end interface", "end module ozarr_c", ""])


def fortran_constants(abi):
    out = ["! Generated from abi/ozarr.json by tools/bindings.py: a change here is lost.", "!", "! The constants of the C library.",
           "module ozarr_constants", "  use, intrinsic :: iso_c_binding, only: c_int32_t", "  implicit none", "  private", ""]
    # Fortran does not tell OZARR_ABI_VERSION from the function ozarr_abi_version.
    functions = {f["name"] for f in abi.functions}
    out += [f"  integer(c_int32_t), parameter, public :: {c['name']} = {c['value']}_c_int32_t" for c in abi.constants
            if c["name"].lower() not in functions]
    return "\n".join(out + ["end module ozarr_constants", ""])


def julia(abi):
    out = ["# Generated from abi/ozarr.json by tools/bindings.py: a change here is lost.",
           "#", "# The functions and numbers of the C library, as they are.", ""]
    out += [f"const {c['name']} = Int32({c['value']})" for c in abi.constants]
    for struct in abi.structs:
        out += ["", f"struct {struct['name']}"]
        out += [f"    {JULIA_NAMES.get(m['name'], m['name'])}::{abi.julia_type(m['c'])}" for m in struct["members"]] + ["end"]
        # With keywords, so that a program names the members that it sets, and all others are 0.
        given = [(JULIA_NAMES.get(m["name"], m["name"]), abi.julia_type(m["c"])) for m in struct["members"]]
        default = lambda name, kind: f"sizeof({struct['name']})" if name == "struct_size" else "C_NULL" if kind.startswith("Ptr") else \
            "Cstring(C_NULL)" if kind == "Cstring" else "false" if kind == "Bool" else "0"
        out += [f"@inline {struct['name']}(; {', '.join(f'{n} = {default(n, k)}' for n, k in given)}) =",
                f"    {struct['name']}({', '.join(n for n, _ in given)})"]
    out.append("")
    for function in abi.functions:
        given = ", ".join(f"{JULIA_NAMES.get(p['name'], p['name'])}::{abi.julia_type(p['c'])}" for p in function["parameters"])
        out.append(f"@c_function {function['name']}({given})::{abi.julia_result(function['result'])}")
    return "\n".join(out) + "\n"


def main():
    abi = Abi(ABI)
    stale = []
    table, problems = names.page(abi.functions, "--complete" in sys.argv)
    problems += names.unknown_words({f["name"] for f in abi.functions} | {c["name"] for c in abi.constants} | abi.struct_names)
    problems += names.unrefused()
    problems += mpi_interface.problems()
    for path, text in ((FORTRAN, fortran(abi)), (FORTRAN_CONSTANTS, fortran_constants(abi)), (JULIA, julia(abi)), (PYTHON, python_layer.python(abi)), (names.PAGE, table)):
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.relative_to(ROOT))
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if "--check" in sys.argv and stale:
        sys.exit(f"tools/bindings.py: stale: {', '.join(map(str, stale))}; run tools/bindings.py")
    if problems:
        sys.exit("tools/bindings.py:\n  " + "\n  ".join(problems))
    print(f"{len(abi.functions)} functions, {len(abi.constants)} constants, {len(abi.structs)} structs"
          + (f"; written: {', '.join(map(str, stale))}" if stale else ""))


if __name__ == "__main__":
    main()
