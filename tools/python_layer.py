"""The raw layer of the Python package, written from abi/ozarr.json by tools/bindings.py: constants, structs, and the functions' types."""
import re

# A C number as a letter in the functions' signatures, and as a type of ctypes.
LETTERS = {"int32_t": ("i", "C.c_int32"), "uint32_t": ("u", "C.c_uint32"), "int64_t": ("q", "C.c_int64"), "uint8_t": ("b", "C.c_uint8"),
           "size_t": ("z", "C.c_size_t"), "double": ("d", "C.c_double"), "bool": ("t", "C.c_bool")}
POINTER, TEXT = ("p", "C.c_void_p"), ("s", "C.c_char_p")


def of(abi, c):
    """What a C type is: its letter and its type of ctypes."""
    base = re.sub(r"\b(const|struct)\b|\*", " ", c).split()[0]
    if c.count("*"):
        return TEXT if base == "char" and c.count("*") == 1 and "const" in c else POINTER
    if base in abi.callbacks:
        return POINTER
    return LETTERS[abi.c_names.get(base, base)]


def python(abi):
    out = ["# Generated from abi/ozarr.json by tools/bindings.py: a change here is lost.",
           '"""The constants, structs and functions of the C library, as they are. A function is its result and its arguments, a letter each."""',
           "import ctypes as C", ""]
    out += [f"{c['name']} = {c['value']}" for c in abi.constants]
    for struct in abi.structs:
        out += ["", "", f"class {struct['name']}(C.Structure):", "    _fields_ = ["]
        out += [f"        ({m['name']!r}, {of(abi, m['c'])[1]})," for m in struct["members"]]
        out += ["    ]"]
    letters = {letter: kind for letter, kind in [*LETTERS.values(), POINTER, TEXT]}
    out += ["", "", "TYPES = {" + ", ".join(f"{letter!r}: {kind}" for letter, kind in letters.items()) + ", 'v': None}", "", "FUNCTIONS = {"]
    for function in abi.functions:
        result = "v" if function["result"] == "void" else of(abi, function["result"])[0]
        out.append(f"    {function['name']!r}: {result + ''.join(of(abi, p['c'])[0] for p in function['parameters'])!r},")
    return "\n".join(out + ["}", ""])
