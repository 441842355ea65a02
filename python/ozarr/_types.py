"""Data types of numpy and of the library, each from the other."""
import ctypes as C
import json

import numpy as np

from . import _raw as raw
from ._library import RangeError, ValueTypeError, handle, lib, text

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
    if dtype.kind in "iu" and given.dtype.kind in "fO" and not isinstance(value, np.ndarray):
        # Integers of which some need 64 bits without a sign are floats, or objects, to numpy.
        objects = np.asarray(value, object)
        if all(isinstance(one, (int, np.integer)) for one in objects.flat):
            given = exact(objects, dtype)
    if code_of(given.dtype) is None:
        given = exact(given, dtype)
    return given if given.dtype.isnative else given.astype(given.dtype.newbyteorder("="))


def unmasked(value):
    """Refuses masked elements: numpy would store what lies below the mask, and readers could not tell."""
    if np.ma.is_masked(value):
        raise ValueTypeError("some elements are masked, which an array in a store has no mark for: give values.filled(...), with the fill value say")
    return value


def exact(value, dtype):
    """Values that numpy converts to a type. It makes other values of those that do not fit: here they are an error."""
    out = np.asarray(value, dtype)
    # Tuples are structs, of which an array without a type would be something else.
    if (out.dtype.names is None or isinstance(value, (np.ndarray, np.void))) and changed(np.asarray(value), out):
        raise RangeError(f"values of the type {np.asarray(value).dtype} do not fit into {dtype}")
    return out


def changed(given, out):
    """Whether a conversion has made other values of some. Numbers may be rounded to floats, and lose their fraction as integers, as times do."""
    kind, to = given.dtype.kind, out.dtype.kind
    if given.dtype.names and out.dtype.names:
        return any(changed(given[a], out[b]) for a, b in zip(given.dtype.names, out.dtype.names))
    if kind in "fO" and to in "iu":
        found = out.astype(object) if kind == "O" else out
        return bool(np.any(np.logical_and(given != found, np.logical_not(np.abs(given - found) < 1))))
    if kind in "biufcO" and to in "biu":
        return bool(np.any(given != out))
    if kind in "fcO" and to in "fc":
        return bool(np.any(np.isinf(out) & (given != out)) or (kind == "c" and to == "f" and np.any(given.imag)))
    if kind in "Mm" and to in "biu":
        return bool(np.any(given.astype("i8") != out))
    if kind in "Mm" and kind == to:
        return np.can_cast(given.dtype, out.dtype) and bool(np.any((out.astype(given.dtype) != given) & ~np.isnat(given)))
    if kind in "SU" and to == "M":
        return changed(given.astype("M8"), out)
    if kind in "SU" and to in "SU":
        return bool(np.any(out.astype(given.dtype) != given))
    # Any text is true to numpy.
    return kind in "SU" and to == "b"


def broadcast(given, shape):
    """Values as a selection has them: numpy lets an assignment have more dimensions of length 1 in front."""
    while given.ndim > len(shape) and given.shape[0] == 1:
        given = given[0]
    return np.broadcast_to(given, shape)


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


def described(dtype):
    """A numpy type as the JSON of format 2, which the library parses."""
    if dtype.names is None:
        return dtype.str
    return [[name, described(dtype.fields[name][0].base), *([list(dtype.fields[name][0].shape)] if dtype.fields[name][0].shape else [])]
            for name in dtype.names]


def new_dtype(dtype):
    """A data type of the library for a numpy type without a number; free it with dtype_free."""
    dtype = np.dtype(dtype)
    if dtype.kind == "O":
        raise ValueTypeError("elements of the type object have no form in a store: give str, bytes or a type of fixed size")
    return handle(lib.dtype_parse, (dtype.str if dtype.names is None else json.dumps(described(dtype))).encode(), 2)


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
        parts = [np.asarray(value, list_type).tobytes() for value in values]
    else:
        parts = [bytes(value) for value in values]
    return b"".join(parts), np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype="i8"))).astype("i8")
