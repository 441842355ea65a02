#!/usr/bin/env python3
"""Writes the declarations of the C functions for Fortran and Julia from the headers in include/.

  tools/bindings.py            writes fortran/generated/ozarr_c.f90 and julia/OZarr/src/generated/libozarr.jl
  tools/bindings.py --check    fails if they are not what would be written
"""
import re, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = [ROOT / "include" / name for name in ("ozarr.h", "ozarr_advanced.h", "ozarr_formats.h", "ozarr_extend.h")]
FORTRAN = ROOT / "fortran" / "generated" / "ozarr_c.f90"
JULIA = ROOT / "julia" / "OZarr" / "src" / "generated" / "libozarr.jl"

HANDLES = ["ozarr_array", "ozarr_group", "ozarr_node", "ozarr_spec", "ozarr_store", "ozarr_node_iter", "ozarr_varlen", "ozarr_context", "ozarr_dtype",
           "ozarr_chunk_iter", "ozarr_shard_writer", "ozarr_appender", "ozarr_dataset", "ozarr_request", "ozarr_answer", "ozarr_keys"]
STRUCTS = ["ozarr_copy_options", "ozarr_error_info", "ozarr_region", "ozarr_memory", "ozarr_explanation", "ozarr_stats", "ozarr_info", "ozarr_variable", "ozarr_byte_range",
           "ozarr_store_table", "ozarr_transformer_table", "ozarr_codec_table", "ozarr_dtype_table", "ozarr_key_encoding_table",
           "ozarr_request_options", "ozarr_entry"]
NUMBERS = {"ozarr_type", "ozarr_order", "ozarr_create", "ozarr_overflow", "ozarr_node_kind", "ozarr_json_kind", "ozarr_status", "ozarr_dtype_kind",
           "ozarr_byte_order", "ozarr_log_level", "ozarr_state", "ozarr_shuffle", "ozarr_zfp"}
# A C scalar in Fortran and in Julia; the named numbers are int32_t.
SCALARS = {"int32_t": ("integer(c_int32_t)", "Int32"), "uint32_t": ("integer(c_int32_t)", "UInt32"), "int64_t": ("integer(c_int64_t)", "Int64"), "uint64_t": ("integer(c_int64_t)", "UInt64"),
           "uint8_t": ("integer(c_int8_t)", "UInt8"), "size_t": ("integer(c_size_t)", "Csize_t"), "double": ("real(c_double)", "Cdouble"), "bool": ("logical(c_bool)", "Bool"),
           "char": ("character(kind=c_char)", "Cchar"), "ozarr_progress": ("type(c_funptr)", "Ptr{Cvoid}"),
           "ozarr_copy_change": ("type(c_funptr)", "Ptr{Cvoid}")} | {n: ("integer(c_int32_t)", "Int32") for n in NUMBERS}
JULIA_NAMES = {"type": "type_", "end": "end_"}


CALLBACKS = {"ozarr_log_fn", "ozarr_key_fn"}


def parse(text):
    """(functions, constants, structs): [(name, result, [(type, name)])], [(name, value)], {name: [(type, name)]}."""
    constants = re.findall(r"^    (OZARR_[A-Z0-9_]+) = (-?\d+)", text, re.M)
    bare = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    bare = "\n".join(line for line in bare.splitlines() if not line.startswith("#"))
    CALLBACKS.update(re.findall(r"^typedef [^;{]*?\(\*(\w+)\)\(", bare, re.M))
    structs = {}
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", bare, re.S):
        structs[name] = [declaration(x) for x in body.split(";") if x.strip()]
    functions = []
    for result, name, arguments in re.findall(r"^(?:OZARR_CHECKED )?((?:const )?\w+ \*?)\s*(ozarr_\w+)\(([^)]*)\);", bare, re.M):
        given = [] if arguments.strip() == "void" else [declaration(x) for x in arguments.split(",")]
        functions.append((name, " ".join(result.split()), given))
    return functions, constants, structs


def declaration(text):
    """"const char *const *names" -> ("const char *const *", "names")."""
    kind, name = re.fullmatch(r"(.*?)(\w+)", " ".join(text.replace("struct ", "").split())).groups()
    return kind.strip(), name


def fortran_argument(kind, name):
    """The declaration of one dummy argument, and the kinds that it needs."""
    stars, base = kind.count("*"), kind.replace("const", "").replace("*", "").strip()
    if base in CALLBACKS:
        return f"type(c_funptr), value :: {name}", ["c_funptr"]
    if stars == 0:
        return f"{SCALARS[base][0]}, value :: {name}", re.findall(r"c_\w+", SCALARS[base][0])
    if base == "char" and stars == 1 and "const" in kind and name not in ("dest", "pattern"):  # these may be NULL
        return f"character(kind=c_char), intent(in) :: {name}(*)", ["c_char"]
    if stars == 1 and base in SCALARS and base != "char":
        kinds = re.findall(r"c_\w+", SCALARS[base][0])
        intent = "in" if "const" in kind else "inout"  # an output is written on success only
        if name in ("shape", "start", "index", "counts", "values", "points", "mask"):
            return f"{SCALARS[base][0]}, intent({intent}) :: {name}(*)", kinds
        if name in ("chunks", "named", "defined", "statuses", "selected"):  # may be NULL
            return f"type(c_ptr), value :: {name}", ["c_ptr"]
        return f"{SCALARS[base][0]}, intent({intent}) :: {name}", kinds
    if stars == 2 and base in HANDLES and "const *" in kind:  # a list
        return f"type(c_ptr), intent(in) :: {name}(*)", ["c_ptr"]
    if stars == 2 and base in HANDLES:
        return f"type(c_ptr), intent(inout) :: {name}", ["c_ptr"]
    return f"type(c_ptr), value :: {name}", ["c_ptr"]


def fortran_name(name):
    """A dummy argument that is not named like an intrinsic or a keyword."""
    return {"type": "type_", "size": "bytes", "len": "length"}.get(name, name)


def wrap(text, indent):
    """Fortran lines of at most 120 columns."""
    lines, line = [], ""
    for part in re.split(r"(?<=, )", text):
        if len(indent) + len(line) + len(part) > 116:
            lines.append(indent + line.rstrip() + " &")
            line = "  "
        line += part
    return "\n".join(lines + [indent + line.rstrip()])


def fortran(functions, constants, structs):
    out = ["! Generated from the headers in include/ by tools/bindings.py: a change here is lost.",
           "!", "! The functions and numbers of the C library, as they are: texts end in c_null_char, indices count from 0, dimensions are in",
           "! C's order. The module `ozarr` is what a program wants; this one is for what it leaves out.",
           "module ozarr_c", "  use, intrinsic :: iso_c_binding", "  implicit none", "  public", ""]
    out += [f"  integer(c_int32_t), parameter :: {n} = {v}_c_int32_t" for n, v in constants]
    for name in structs:
        out += ["", f"  type, bind(c) :: {name}"]
        for kind, member in structs[name]:
            what = "type(c_ptr)" if "*" in kind else "type(c_funptr)" if kind in CALLBACKS else SCALARS[kind][0]
            default = "c_null_ptr" if "*" in kind else "c_null_funptr" if "funptr" in what else "0"
            out.append(f"    {what} :: {fortran_name(member)} = {default}")
        out.append(f"  end type {name}")
    out += ["", "  interface"]
    for name, result, arguments in functions:
        given = [(kind, fortran_name(a)) for kind, a in arguments]
        word = "subroutine" if result == "void" else "function"
        tail = "" if result == "void" else " result(r)"
        out += [wrap(f"{word} {name}({', '.join(a for _, a in given)}) bind(c, name=\"{name}\"){tail}", "    ")]
        lines, kinds = [], set()
        for kind, a in given:
            line, needs = fortran_argument(kind, a)
            lines.append(line)
            kinds |= set(needs)
        if result != "void":
            what = "type(c_ptr)" if "*" in result else SCALARS[result][0]
            lines.append(f"{what} :: r")
            kinds |= set(re.findall(r"c_\w+", what))
        if kinds:
            out.append(f"      import :: {', '.join(sorted(kinds))}")
        out += [f"      {x}" for x in lines] + [f"    end {word} {name}"]
    out += ["  end interface", "end module ozarr_c", ""]
    return "\n".join(out)


def julia_type(kind):
    stars, base = kind.count("*"), kind.replace("const", "").replace("*", "").strip()
    if base in CALLBACKS:
        return "Ptr{Cvoid}"
    if stars == 0:
        return SCALARS[base][1]
    if base == "char":
        return "Cstring" if stars == 1 and "const" in kind else "Ptr{UInt8}" if stars == 1 else "Ptr{Ptr{UInt8}}"
    if base in HANDLES or base == "void":
        return "Ptr{Cvoid}" if stars == 1 else "Ptr{Ptr{Cvoid}}"
    one = f"Ptr{{{base if base in STRUCTS else SCALARS[base][1]}}}"
    return one if stars == 1 else f"Ptr{{{one}}}"


def julia(functions, constants, structs):
    out = ["# Generated from the headers in include/ by tools/bindings.py: a change here is lost.",
           "#", "# The functions and numbers of the C library, as they are.", ""]
    out += [f"const {n} = Int32({v})" for n, v in constants]
    for name in structs:
        out += ["", f"struct {name}"]
        for kind, member in structs[name]:
            out.append(f"    {JULIA_NAMES.get(member, member)}::{'Cstring' if kind == 'const char *' else julia_type(kind)}")
        out.append("end")
    for name, result, arguments in functions:
        names = [JULIA_NAMES.get(a, a) for _, a in arguments]
        types = [julia_type(kind) for kind, _ in arguments]
        returned = "Cvoid" if result == "void" else "Cstring" if "*" in result else SCALARS[result][1]
        given = ", ".join(f"{n}::{t}" for n, t in zip(names, types))
        out += ["", f"@c_function {name}({given})::{returned}"] if name == functions[0][0] else [f"@c_function {name}({given})::{returned}"]
    return "\n".join(out) + "\n"


def main():
    functions, constants, structs = parse("\n".join(h.read_text() for h in HEADERS))
    exported = (ROOT / "abi" / "ozarr.symbols").read_text().split()
    if missing := set(exported) ^ {n for n, _, _ in functions}:
        sys.exit(f"tools/bindings.py: found {len(functions)} functions in the headers, expected those of abi/ozarr.symbols; they differ in {sorted(missing)}")
    stale = []
    for path, text in ((FORTRAN, fortran(functions, constants, structs)), (JULIA, julia(functions, constants, structs))):
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.relative_to(ROOT))
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if "--check" in sys.argv and stale:
        sys.exit(f"tools/bindings.py: stale: {', '.join(map(str, stale))}; run tools/bindings.py")
    print(f"{len(functions)} functions, {len(constants)} constants, {len(structs)} structs" + (f"; written: {', '.join(map(str, stale))}" if stale else ""))


if __name__ == "__main__":
    main()
