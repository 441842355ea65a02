"""Data types of numpy and of the library, each from the other."""
import ctypes as C
import datetime
import json

import numpy as np
import numpy.ma  # else loaded by the first write, which a `__del__` may do when the interpreter ends and loads nothing more

from . import _raw as raw
from ._library import RangeError, ValueTypeError, handle, integers, lib, text, utf8

NUMBERS = {raw.OZARR_BOOL: "?", raw.OZARR_INT8: "i1", raw.OZARR_INT16: "i2", raw.OZARR_INT32: "i4", raw.OZARR_INT64: "i8",
           raw.OZARR_UINT8: "u1", raw.OZARR_UINT16: "u2", raw.OZARR_UINT32: "u4", raw.OZARR_UINT64: "u8", raw.OZARR_FLOAT16: "f2",
           raw.OZARR_FLOAT32: "f4", raw.OZARR_FLOAT64: "f8", raw.OZARR_COMPLEX64: "c8", raw.OZARR_COMPLEX128: "c16"}
NUMBERS = {number: np.dtype(name) for number, name in NUMBERS.items()}
CODES = {dtype: number for number, dtype in NUMBERS.items()}
# Types of the package ml_dtypes, where it is there.
SMALL = {raw.OZARR_INT2: "int2", raw.OZARR_INT4: "int4", raw.OZARR_UINT2: "uint2", raw.OZARR_UINT4: "uint4", raw.OZARR_BFLOAT16: "bfloat16"}
SMALL |= {getattr(raw, f"OZARR_{name.upper()}"): name for name in
          ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e4m3fn", "float8_e5m2", "float8_e5m2fnuz",
           "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")}
VARIABLE = {raw.OZARR_STRING, raw.OZARR_BYTES, raw.OZARR_JSON, raw.OZARR_LIST}
STRING = np.dtypes.StringDType() if hasattr(np.dtypes, "StringDType") else np.dtype(object)


def small(number):
    try:
        import ml_dtypes
    except ImportError:
        raise ValueTypeError(f"elements of the type {SMALL[number]} need the package ml_dtypes") from None
    return np.dtype(getattr(ml_dtypes, SMALL[number]))


def address(array):
    """Where the memory of an array is. `array.ctypes` looks for a module each time, which fails when the interpreter ends."""
    return array.__array_interface__["data"][0]


def code_of(dtype):
    """The number of a numpy type in the library; None if it has none."""
    dtype = np.dtype(dtype)
    code = CODES.get(dtype.newbyteorder("=") if dtype.kind in "iufc" else dtype)
    if code is None and dtype.name in SMALL.values():
        code = next(number for number, name in SMALL.items() if name == dtype.name)
    return code


def native_of(value, dtype):
    """Numbers in memory for elements of a type, which the library then converts: an array of numpy's own types in this machine's order."""
    given = np.asarray(value)
    if dtype.kind in "iu" and not isinstance(value, np.ndarray) and (given.dtype.kind == "O" or given.dtype.kind == "f" and (abs(given) >= 2**53).any()):
        # Large integers beside floats, or of which some need 64 bits without a sign, are floats, or objects, to numpy.
        objects = np.asarray(value, object)
        if any(isinstance(one, (int, np.integer)) for one in objects.flat):
            given = whole_numbers(objects, dtype)
    if code_of(given.dtype) is None:
        given = exact(given, dtype)
    return given if given.dtype.isnative else given.astype(given.dtype.newbyteorder("="))


def whole_numbers(objects, dtype):
    """Numbers of several classes as integers of a type: numpy takes each by itself."""
    try:
        return exact(objects, dtype)
    except RangeError:
        raise
    except (OverflowError, ValueError) as e:
        raise RangeError(f"some of the values do not fit into {dtype}: {e}") from None


def unmasked(value):
    """Refuses masked elements: numpy would store what lies below the mask, and readers could not tell."""
    if np.ma.is_masked(value):
        raise ValueTypeError("some elements are masked, which an array in a store has no mark for: give values.filled(...), with the fill value say")
    return value


def exact(value, dtype):
    """Values that numpy converts to a type. It makes other values of those that do not fit: here they are an error."""
    dtype = np.dtype(dtype)
    if dtype.names:
        return exact_structs(value, dtype)
    # What does not fit is an error here: numpy's warning would be one before it in programs that make errors of warnings.
    with np.errstate(all="ignore"):
        out = np.asarray(value, dtype)
    given = np.asarray(value)
    if given.size and given.dtype != out.dtype and changed(given, out):
        raise RangeError(f"values of the type {given.dtype} do not fit into {dtype}")
    return out


def exact_structs(value, dtype):
    """Structs, from such of the same fields, in any order of bytes, or from tuples: numpy would take others by their place, and one number for all."""
    with np.errstate(all="ignore"):
        leaves, out = [value], np.asarray(value, dtype)
    if not isinstance(value, (np.ndarray, np.void, tuple)) or getattr(value, "dtype", None) == object:
        for _ in range(out.ndim):
            leaves = [inner for outer in leaves for inner in outer]
    for leaf in leaves:
        names = getattr(getattr(leaf, "dtype", None), "names", None)
        if names != dtype.names and (not isinstance(leaf, tuple) or len(leaf) != len(dtype.names)):
            raise ValueTypeError(f"{leaf!r} is no struct with the fields {', '.join(dtype.names)}: give tuples, or an array of that type")
    for place, name in enumerate(dtype.names):
        column = [leaf[place] if isinstance(leaf, tuple) else leaf[name] for leaf in leaves]
        field = dtype[name]
        if len(column) != 1 or isinstance(leaves[0], tuple):
            for _ in field.shape:
                column = [inner for outer in column for inner in (outer if isinstance(outer, (list, tuple, np.ndarray)) else [outer])]
            column = [column if field.base.names else np.array(column, object)]
        exact(column[0], field.base)
    return out


def changed(given, out):
    """Whether a conversion has made other values of some. Numbers may be rounded to floats, and lose their fraction as integers, as times do."""
    kind, to = given.dtype.kind, out.dtype.kind
    if kind == "O" and to != "O":
        return changed_objects(given, out)
    if kind == "T":
        # Other types do not compare with these texts.
        return changed(np.array(given.tolist(), "U"), out) if to != "T" else False
    if out.dtype.name in SMALL.values() or given.dtype.name in SMALL.values():
        return changed(*(part.astype("i8" if "int" in part.dtype.name else "f8") if part.dtype.name in SMALL.values() else part for part in (given, out)))
    if to in "biu":
        return changed_integers(given, out)
    if to in "fc" and kind in "SU":
        given, kind = given.astype("G" if to == "c" else "g"), to
    if to in "fc" and kind in "biufc":
        return bool(np.any(np.isinf(out) & (given != out)) or (kind == "c" and to == "f" and np.any(given.imag)))
    if to in "fc" and kind in "Mm":
        return bool(np.any(np.isnat(given)))
    if to == "M" and kind in "SU":
        given, kind = given.astype("M8"), to
    if kind == to and to in "Mm":
        return np.can_cast(given.dtype, out.dtype) and bool(np.any((out.astype(given.dtype) != given) & ~np.isnat(given)))
    if to in "Mm" and kind in "biu":
        return bool(np.any(given != out.astype("i8")))
    if to in "SU" and kind != "V":
        # The whole text, of which a type of a fixed length keeps the beginning.
        full = given if kind in "SU" else given.astype(to)
        return bool(np.any(out.astype(full.dtype) != full))
    if to == "V" and kind in "SV":
        size, least = given.dtype.itemsize, min(given.dtype.itemsize, out.dtype.itemsize)
        return bool(np.frombuffer(given.tobytes(), "u1").reshape(-1, size)[:, least:].any()) if size else False
    return to != "O" and not (to == "T" and kind == "U") and not (kind in "SU" and to == "m")


def changed_integers(given, out):
    """Whether integers or bools are others than what they were made of."""
    kind = given.dtype.kind
    if kind in "SU":
        # Any text is true to numpy; of integers in a text it takes no others.
        return out.dtype.kind == "b"
    if kind in "Mm":
        return bool(np.any(np.isnat(given) | (given.astype("i8") != out)))
    if kind in "fO" and out.dtype.kind in "iu":
        found = out.astype(object) if kind == "O" else out
        return bool(np.any(np.logical_and(given != found, np.logical_not(np.abs(given - found) < 1))))
    return kind not in "biufcO" or bool(np.any(given != out))


def changed_objects(given, out):
    """Whether objects were changed: those of each class are compared as numpy takes them on their own."""
    given, out, to = given.reshape(-1), out.reshape(-1), out.dtype.kind
    classes = np.fromiter((id(type(one)) for one in given), "u8", len(given))
    for number in np.unique(classes):
        at = np.flatnonzero(classes == number)
        part, found = natural(given[at]), out[at]
        if part.dtype != object:
            wrong = changed(part, found)
        elif to in "biu":
            wrong = changed_integers(part, found)
        elif to in "fc":
            wrong = bool(np.any(np.isinf(found) & (part != found)))
        else:
            # None is no time, and nothing else has a form of its own as a time, a text or bytes.
            wrong = to not in "Mm" or any(one is not None for one in part)
        if wrong:
            return True
    return False


def natural(objects):
    """Objects of one class as an array of the type that has all of their values; as they are where there is none."""
    one = type(objects[0])
    for name in ("to_datetime64", "to_timedelta64"):
        if hasattr(one, name):
            return np.array([getattr(value, name)() for value in objects])
    if issubclass(one, datetime.date):
        return objects.astype("M8[us]")
    if issubclass(one, datetime.timedelta):
        return objects.astype("m8[us]")
    try:
        found = np.array(objects.tolist())
    except ValueError:
        return objects
    return found if found.shape == objects.shape else objects


def broadcast(given, shape):
    """Values as a selection has them: numpy lets an assignment have more dimensions of length 1 in front."""
    while given.ndim > len(shape) and given.shape[0] == 1:
        given = given[0, ...]
    return np.broadcast_to(given, shape)


def elements(value, code, dimensions):
    """An array of objects; where an element can be a list itself, what lies deeper than that many dimensions are elements."""
    if isinstance(value, np.ndarray) and value.dtype.kind != "O" and value.ndim > dimensions and code in (raw.OZARR_JSON, raw.OZARR_LIST):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        whole = np.empty((), object)
        whole[()] = value
        return np.asarray(value, object) if isinstance(value, np.ndarray) else whole
    if code not in (raw.OZARR_JSON, raw.OZARR_LIST):
        return np.asarray(value, object)
    shape, level = [], value
    while len(shape) < dimensions and isinstance(level, (list, tuple)):
        shape.append(len(level))
        level = level[0] if len(level) else None
    whole = np.empty(shape, object)
    for index in np.ndindex(*shape):
        one = value
        for place, length in zip(index, shape):
            if not isinstance(one, (list, tuple)) or len(one) != length:
                raise ValueError(f"the lists are no array of {shape} elements: found {one!r}")
            one = one[place]
        whole[index] = one
    return whole


def of_array(array):
    """The numpy type, and the number, of an open array."""
    number = C.c_int32()
    lib.array_type(array, C.byref(number))
    if number.value in NUMBERS:
        return NUMBERS[number.value], number.value
    if number.value in SMALL:
        return small(number.value), number.value
    if number.value in VARIABLE:
        return STRING if number.value == raw.OZARR_STRING else np.dtype(object), number.value
    dtype = handle(lib.array_copy_dtype, array)
    try:
        return of_dtype(dtype), number.value
    finally:
        lib.dtype_free(dtype)


def get(function, dtype, kind, *arguments):
    out = kind()
    function(dtype, *arguments, C.byref(out))
    return out.value


def of_dtype(dtype):
    """The numpy type of a data type of the library, as its elements are in memory."""
    kind, size = get(lib.dtype_get_kind, dtype, C.c_int32), get(lib.dtype_item_size, dtype, C.c_size_t)
    if kind == raw.OZARR_DTYPE_KIND_BYTES:
        return np.dtype(f"S{size}")
    if kind == raw.OZARR_DTYPE_KIND_TEXT:
        return np.dtype(f"U{size // 4}")
    if kind == raw.OZARR_DTYPE_KIND_RAW:
        return np.dtype(f"V{size}")
    if kind in (raw.OZARR_DTYPE_KIND_DATETIME, raw.OZARR_DTYPE_KIND_TIMEDELTA):
        scale = C.c_int64()
        buffer = C.create_string_buffer(16)
        lib.dtype_unit(dtype, buffer, len(buffer), None, C.byref(scale))
        unit = buffer.value.decode()
        name = "M8" if kind == raw.OZARR_DTYPE_KIND_DATETIME else "m8"
        return np.dtype(name if unit == "generic" else f"{name}[{scale.value}{unit}]")
    if kind == raw.OZARR_DTYPE_KIND_STRUCT:
        return of_struct(dtype, size)
    number = get(lib.dtype_type, dtype, C.c_int32)
    return NUMBERS[number] if number in NUMBERS else small(number)


def of_struct(dtype, size):
    names, formats, offsets = [], [], []
    for index in range(get(lib.dtype_field_count, dtype, C.c_int64)):
        field = handle(lib.dtype_copy_field_dtype, dtype, index)
        try:
            inside = of_dtype(field)
        finally:
            lib.dtype_free(field)
        rank = C.c_int32()
        lib.dtype_field_shape(dtype, index, None, 0, C.byref(rank))
        shape = (C.c_int64 * max(1, rank.value))()
        lib.dtype_field_shape(dtype, index, shape, rank.value, C.byref(rank))
        names.append(text(lib.dtype_field_name, dtype, index))
        formats.append((inside, tuple(shape[:rank.value])) if rank.value else inside)
        offsets.append(get(lib.dtype_field_offset, dtype, C.c_size_t, index))
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def new_dtype(dtype):
    """A data type of the library for a numpy type; free it with dtype_free."""
    dtype = np.dtype(dtype)
    if dtype.kind == "O":
        raise ValueTypeError("elements of the type object have no form in a store: give str, bytes or a type of fixed size")
    if dtype.subdtype is not None:
        raise ValueTypeError(f"elements of the type {dtype} are arrays themselves: give {dtype.base}, and a shape that is longer by {dtype.shape}")
    if dtype.names is not None:
        return new_struct(dtype)
    code = code_of(dtype)
    if code in SMALL:
        # numpy has no name of its own for it: "<V2" is that of two bytes.
        return handle(lib.dtype_of, code)
    if dtype.kind in "SUV" and dtype.itemsize == 0:
        # numpy has "str" and "U" for texts as long as the longest, which it cannot know here.
        instead = {"S": "bytes for any length, or ", "U": "str for texts of any length, or "}.get(dtype.kind, "")
        raise ValueTypeError(f"elements of the type {dtype.kind}0 have no bytes: give {instead}{dtype.kind} and a length, {dtype.kind}8 say")
    return handle(lib.dtype_parse, dtype.str.encode(), 2)


def new_struct(dtype):
    """A struct of the library, without gaps, for one of numpy."""
    fields = [(name, dtype.fields[name][0]) for name in dtype.names]
    struct, offset = handle(lib.dtype_struct, sum(field.itemsize for _, field in fields)), 0
    try:
        for name, field in fields:
            inside = new_dtype(field.base)
            try:
                lib.dtype_add_field(struct, utf8(name, "the name of a field"), offset, inside, len(field.shape), integers(field.shape))
            finally:
                lib.dtype_free(inside)
            offset += field.itemsize
    except BaseException:
        lib.dtype_free(struct)
        raise
    return struct


def converted(elements, number):
    """Elements of variable length as numpy has them: from (data, offsets), one object each."""
    data, offsets, list_type = elements
    parts = [data[a:b] for a, b in zip(offsets[:-1], offsets[1:])]
    if number == raw.OZARR_STRING:
        parts = [part.decode() for part in parts]
    elif number == raw.OZARR_JSON:
        parts = [json.loads(part) for part in parts]
    elif number == raw.OZARR_LIST:
        parts = [np.frombuffer(part, list_type) for part in parts]
    out = np.empty(len(parts), object)
    out[:] = parts if number != raw.OZARR_LIST else [None] * len(parts)
    if number == raw.OZARR_LIST:
        for index, part in enumerate(parts):
            out[index] = part
    return out.astype(STRING) if number == raw.OZARR_STRING and STRING.kind == "T" else out


def flattened(values, number, list_type):
    """The reverse: bytes and offsets of objects."""
    kinds = {raw.OZARR_STRING: str, raw.OZARR_BYTES: (bytes, bytearray, memoryview, np.ndarray)}.get(number, object)
    for value in values:
        if not isinstance(value, kinds):
            raise ValueTypeError(f"{value!r} is no {'text' if number == raw.OZARR_STRING else 'bytes'}")
    if number == raw.OZARR_STRING:
        parts = [value.encode() for value in values]
    elif number == raw.OZARR_JSON:
        parts = [json.dumps(value).encode() for value in values]
    elif number == raw.OZARR_LIST:
        parts = [exact(value, list_type) for value in values]
        if wrong := [part.shape for part in parts if part.ndim != 1]:
            raise ValueTypeError(f"a list has the shape {wrong[0]}, expected one dimension")
        parts = [part.tobytes() for part in parts]
    else:
        parts = [bytes(value) for value in values]
    return b"".join(parts), np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype="i8"))).astype("i8")
