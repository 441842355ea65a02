#!/usr/bin/env python3
"""The table of names: docs/names.md, what each function of the headers is called in C++, Fortran and Julia. tools/bindings.py writes and checks it.

abi/languages/{cxx,fortran,julia}.txt have a line for each function of ozarr.h, and for those of the other headers that the language has,
mpi_{cxx,fortran}.txt for each of ozarr_mpi.h: its name, blanks, and how it is written in that language; or
its name, `-`, and the reason why that language needs no counterpart. Every word of two letters or more in the middle part must be in the
layer's source, so that the table cannot name what is not there.
"""
import re
from pathlib import Path

import mpi_interface

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "names.md"
# A language's title, and where its layer's source is: files that match, without those that are generated.
LANGUAGES = {"cxx": ("C++", ("include/ozarr.hpp", "include/ozarr/*.hpp")), "fortran": ("Fortran", ("fortran/*.f90", "fortran/generated/ozarr_*.f90")),
             "julia": ("Julia", ("julia/OZarr/src/*.jl",))}
# Those of libozarr_mpi: only these languages have a layer over it.
MPI_LANGUAGES = {"mpi_cxx": ("C++", ("mpi/ozarr_mpi.hpp",)), "mpi_fortran": ("Fortran", ("mpi/ozarr_mpi.f90",))}
RAW = {"ozarr_c.f90"}
# Procedures of Fortran that make something of nothing.
CANNOT_BE_WRONG = {("context", "create"), ("store", "memory"), ("dtype", "struct")}
# Members of C++ that take nothing that could be wrong, or that keep a problem for what is called next.
CXX_CANNOT = {"array::rank", "child::error", "child::kind", "child::name", "context::create", "defaults::set_log", "dtype::chars", "dtype::field", "dtype::of",
              "dtype::struct_of", "error::last", "error::name", "error::what", "ozarr::abi_version", "ozarr::has_feature", "ozarr::shutdown", "ozarr::version",
              "ozarr::wait_all", "ozarr::wait_any", "spec::of", "spec::spec", "store::memory"}
# What in Julia makes something of nothing, is of types, or stands for another entry.
JULIA_CANNOT = {
    "Array(g[path])", "OZarr.Context", "OZarr.Document", "OZarr.abi_version", "OZarr.cancel", "OZarr.checkpoint, OZarr.begin_checkpoint", "OZarr.checkpoints",
    "OZarr.create(location, text)", "OZarr.create_dataset", "OZarr.document", "OZarr.dtype", "OZarr.erase, delete!(g, name)", "OZarr.error_of", "OZarr.has_feature",
    "OZarr.isdone", "OZarr.latest_checkpoint", "OZarr.memory", "OZarr.open", "OZarr.prune_checkpoints", "OZarr.set_log", "OZarr.shutdown", "OZarr.state",
    "OZarr.store", "OZarr.suggest", "OZarr.time_from_text", "OZarr.time_to_text", "OZarr.typed", "OZarr.version", "OZarr.wait_all", "OZarr.wait_any", "OZarrError",
    "OZarrError.message", "OZarrError.name", "close", "copyto!(view, z)", "eltype", "ndims", "series[name] = view", "typeof(z.attrs[name])", "wait", "z.attrs",
    "z[1:3, 2] = view"}


def source_words(patterns):
    """Every word of a layer's source, in lower case (Fortran does not tell them apart)."""
    files = [f for p in patterns for f in sorted(ROOT.glob(p)) if f.name not in RAW]
    return set(re.findall(r"[a-z_][a-z0-9_]*", "\n".join(f.read_text() for f in files).lower()))


def read_table(language, functions):
    """The entries of a language by function, and what is wrong with them; `functions` are those that may have one."""
    path = ROOT / "abi" / "languages" / f"{language}.txt"
    entries, wrong, words = {}, [], source_words((LANGUAGES | MPI_LANGUAGES)[language][1])
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, entry = line.partition(" ")
        entry, where = entry.strip(), f"{path.relative_to(ROOT)}:{number}"
        if name not in functions:
            wrong.append(f"{where}: {name} is no function of the interface")
        elif name in entries:
            wrong.append(f"{where}: {name} has two lines")
        elif not entry or (entry.startswith("-") and len(entry[1:].split()) < 2):
            wrong.append(f"{where}: {name} has no name and no reason")
        elif not entry.startswith("-") and (unknown := [w for w in re.findall(r"[a-z_][a-z0-9_]+", entry.lower()) if w not in words]):
            wrong.append(f"{where}: found {entry!r} for {name}, but {', '.join(unknown)} is not in the source of the layer")
        entries[name] = entry
    return entries, wrong


def unknown_words(known):
    """The names of C that Julia's layer uses and the interface does not have: Julia tells them only where it runs into them."""
    return [f"{path.relative_to(ROOT)}: {word} is not in abi/ozarr.json" for path in sorted(ROOT.glob("julia/OZarr/*/*.jl"))
            for word in sorted(set(re.findall(r"\b(?:ozarr|OZARR)_[A-Za-z0-9_]*[A-Za-z0-9]\b(?!\.)", path.read_text())) - known - {"OZARR_LIBRARY", "OZARR_DOCS"})]


def unrefused():
    """What f_closed.f90, cxx_closed.cpp and closed.jl do not call on what is not open. Functions of Fortran stop the program instead."""
    read = lambda pattern: "\n".join(f.read_text() for f in sorted(ROOT.glob(pattern)))
    stop = set(re.findall(r"function (\w+?)_(\w+)\(self", read("fortran/*.f90") + read("fortran/*.inc")))
    named = set(re.findall(r"\b([a-z]+)%([a-z_0-9]+)", read("abi/languages/fortran.txt")))
    called = set(re.findall(r'refuses\("([a-z]+)%(\w+)"', read("c_tests/f_closed.f90")))
    members = set(re.findall(r"\b(\w+::\w+)|\b((?:set_|has_|erase_|begin_|commit_)?attrs?(?:_\w+)?)\b",
                             "\n".join(line.partition(" ")[2] for line in read("abi/languages/cxx.txt").splitlines() if "  -  " not in line)))
    members = {a or b for a, b in members}
    tried = set(re.findall(r'(?:REFUSES|REFUSES_SPEC|WRONG)\((?:OZARR_ERR_\w+, )?"([a-z_:]+)', read("c_tests/cxx_closed.cpp")))
    entries = {e for e in (line.partition(" ")[2].strip() for line in read("abi/languages/julia.txt").splitlines()) if not e.startswith("-") and not e.endswith("=")}
    closed = set(re.findall(r'"([^"]+)" => \(\)', read("julia/OZarr/test/closed.jl")))
    untried = {e for e in entries - JULIA_CANNOT if not closed & {e, *e.split(", ")}}
    return [f"julia/OZarr/test/closed.jl: no call of {entry}" for entry in sorted(untried)] + [f"c_tests/f_closed.f90: no call of {kind}%{name}" for kind, name in sorted(named - stop - called - CANNOT_BE_WRONG)] + \
        [f"c_tests/cxx_closed.cpp: no call of {name}" for name in sorted(members - tried - CXX_CANNOT)]


def page(functions, complete=False):
    """docs/names.md, and what is wrong with the tables; `complete`: also which functions they lack. `functions` are those of abi/ozarr.json."""
    front = {f["name"]: f["section"] for f in functions if f["header"] == "ozarr.h"}
    others = {f["name"]: f"{f['section']} (`{f['header']}`)" for f in functions if f["header"] != "ozarr.h"}
    mpi = dict.fromkeys(mpi_interface.prototypes((ROOT / "mpi" / "ozarr_mpi.h").read_text()), "Programs of many ranks (`ozarr_mpi.h`)")
    notes, problems = {}, []
    out = ["# The names of the functions in each language", "",
           "Generated by `tools/bindings.py` from `abi/ozarr.json` and `abi/languages/`. `-` with a number refers to the reason at the end. Sections",
           "without a header are those of `ozarr.h`. A function that has no name in a language, or is not here at all, is called as it is in C there:",
           "in C++ with the headers, in Fortran by `use ozarr_c`, in Julia as `OZarr.ozarr_…`, in Python by [`ozarr._library.lib`](python.md)."]
    for languages, known, needed in ((LANGUAGES, front | others, front), (MPI_LANGUAGES, mpi, mpi)):
        tables = {}
        for language in languages:
            tables[language], wrong = read_table(language, known)
            missing = [f"abi/languages/{language}.txt: no line for {name}" for name in needed if name not in tables[language]]
            problems += wrong + (missing if complete else [])
        shown = {name: section for name, section in known.items()
                 if name in needed or any(not table.get(name, "-").startswith("-") for table in tables.values())}
        for section in dict.fromkeys(shown.values()):
            out += ["", f"## {section}", "", "| C | " + " | ".join(t for t, _ in languages.values()) + " |", "|---" * (len(languages) + 1) + "|"]
            for name in (n for n, s in shown.items() if s == section):
                cells = [cell(tables[language].get(name), notes) for language in languages]
                out.append(f"| `{name}` | " + " | ".join(cells) + " |")
    if notes:
        out += ["", "## Reasons", ""] + [f"{number}. {reason}" for reason, number in notes.items()]
    return "\n".join(out) + "\n", problems


def cell(entry, notes):
    """An entry as the table shows it."""
    if entry is None:
        return ""
    if entry.startswith("-"):
        reason = entry[1:].strip()
        return f"- ({notes.setdefault(reason, len(notes) + 1)})"
    return "`" + entry.replace("|", "\\|") + "`"
