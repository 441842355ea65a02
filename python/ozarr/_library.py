"""Finds and loads the shared library, and calls its functions: a status that is an error becomes an exception with the library's message."""
import ctypes as C
import operator
import os
import re
import sys

from . import _raw as raw

NAMES = {"darwin": "libozarr.dylib", "win32": "ozarr.dll"}


class Error(Exception):
    """What the library could not do: its message, `status` (a number), `name` (such as "OZARR_ERR_BOUNDS"), `key` and `field`."""

    def __init__(self, message, status=0, name="", key="", field="", errno=0):
        super().__init__(message)
        self.status, self.name, self.key, self.field, self.errno = status, name, key, field, errno

    def __str__(self):
        return str(self.args[0])

    def __reduce__(self):
        return type(self), (self.args[0], self.status, self.name, self.key, self.field, self.errno)


class NotFoundError(Error, KeyError, FileNotFoundError):
    """There is no node, attribute or key of that name."""


class ExistsError(Error, FileExistsError):
    """There is a node already where one should be created."""


class AccessError(Error, PermissionError):
    """The store refuses access, or is open for reading only."""


class StoreError(Error, OSError):
    """The operating system or the network fails: `errno` is the system's number, where it has one."""


class StoreTimeoutError(StoreError, TimeoutError):
    """The store did not answer in time."""


class NoMemoryError(Error, MemoryError):
    """Memory cannot be had."""


class BoundsError(Error, IndexError):
    """A region or an index is outside of the array."""


class ValueTypeError(Error, TypeError):
    """A type cannot be converted into the other."""


class RangeError(Error, OverflowError):
    """A value does not fit into the type that it is converted to."""


class ArgumentError(Error, ValueError):
    """An argument, a name or a location is not allowed."""


class UnsupportedError(Error, NotImplementedError):
    """A codec, type or feature that this build does not have."""


CLASSES = {raw.OZARR_ERR_NOT_FOUND: NotFoundError, raw.OZARR_ERR_BOUNDS: BoundsError, raw.OZARR_ERR_TYPE: ValueTypeError,
           raw.OZARR_ERR_RANGE: RangeError, raw.OZARR_ERR_ARGUMENT: ArgumentError, raw.OZARR_ERR_NAME: ArgumentError,
           raw.OZARR_ERR_RANK: ArgumentError, raw.OZARR_ERR_LOCATION: ArgumentError, raw.OZARR_ERR_NULL: ArgumentError,
           raw.OZARR_ERR_UNSUPPORTED: UnsupportedError, raw.OZARR_ERR_EXISTS: ExistsError, raw.OZARR_ERR_PERMISSION: AccessError,
           raw.OZARR_ERR_READ_ONLY: AccessError, raw.OZARR_ERR_IO: StoreError, raw.OZARR_ERR_NO_SPACE: StoreError,
           raw.OZARR_ERR_TOO_MANY_FILES: StoreError, raw.OZARR_ERR_NETWORK: StoreError, raw.OZARR_ERR_THROTTLED: StoreError,
           raw.OZARR_ERR_TIMEOUT: StoreTimeoutError, raw.OZARR_ERR_NO_MEMORY: NoMemoryError}


# As the package was imported: a program may change its folder before the first call.
GIVEN = os.environ.get("OZARR_LIBRARY")
if GIVEN and "/" in GIVEN:
    GIVEN = os.path.abspath(GIVEN)


def candidates():
    """Where the library may be: OZARR_LIBRARY, in the package (a wheel), beside an installed package, or where the system looks."""
    name = NAMES.get(sys.platform, "libozarr.so")
    if GIVEN:
        return [GIVEN]
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    return [inside] if os.path.exists(inside) else [f"{name}.{raw.OZARR_ABI_VERSION}" if name.endswith(".so") else name]


def load():
    tried = []
    for path in candidates():
        try:
            library = C.CDLL(path)
        except OSError as e:
            tried.append(str(e))
            continue
        if not hasattr(library, "ozarr_abi_version"):
            raise ImportError(f"{path} is not the ozarr library: it has no function ozarr_abi_version")
        library.ozarr_abi_version.restype = C.c_int32
        found = library.ozarr_abi_version()
        if found != raw.OZARR_ABI_VERSION:
            raise ImportError(f"{path} has version {found} of the binary interface; this package needs {raw.OZARR_ABI_VERSION}: install the "
                              "library and the package of one release")
        return library
    raise ImportError(f"the ozarr library could not be loaded ({'; '.join(tried)}): install the wheel, or set OZARR_LIBRARY to the file")


class Text(C.c_char_p):
    """A text that the library takes. It ends at the first NUL there: one with a NUL inside would be another text."""

    @classmethod
    def from_param(cls, value):
        if isinstance(value, bytes) and b"\0" in value:
            raise ArgumentError(f"{value.decode(errors='replace')!r} has a NUL character, where it would be cut off")
        return C.c_char_p.from_param(value)


def whole(kind):
    """A number that the library takes in so many bits: one that has more is an error, where ctypes would cut them off."""
    bits = 8 * C.sizeof(kind)
    least = 0 if kind(-1).value > 0 else -(1 << bits - 1)

    class Whole(kind):
        @classmethod
        def from_param(cls, value):
            if isinstance(value, int) and not least <= value < least + (1 << bits):
                raise ArgumentError(f"the number {value} has more than {bits} bits")
            return kind.from_param(value)

    return Whole


TYPES = raw.TYPES | {"s": Text} | {letter: whole(raw.TYPES[letter]) for letter in "iuqz"}


def utf8(value, what):
    """A text as the library takes it; `what` names the argument."""
    if not isinstance(value, str):
        raise ArgumentError(f"{what} is {value!r}, expected a text")
    try:
        return value.encode()
    except UnicodeEncodeError as e:
        raise ArgumentError(f"{what} has {value[e.start]!r}, half of a surrogate pair, which UTF-8 cannot store") from None


class Functions:
    """The functions of the library by their names without `ozarr_`, each declared when it is first used. One that returns a status
    raises the exception of an error; the interpreter's lock is released during each call. The first one loads the library: zarr-python and
    xarray import this package wherever it is installed, also where the library cannot be loaded."""

    def __getattr__(self, name):
        if name == "_library":
            self._library = load()
            # Handles that are still open when the interpreter ends are freed when modules have lost their names, by which others are declared.
            for free in raw.FUNCTIONS:
                if free.endswith("_free") and hasattr(self._library, free):
                    getattr(self, free.removeprefix("ozarr_"))
            return self._library
        signature = raw.FUNCTIONS.get(f"ozarr_{name}")
        if signature is None:
            raise AttributeError(f"the library has no function ozarr_{name}")
        function = getattr(self._library, f"ozarr_{name}", None)
        if function is None:
            self._library.ozarr_version.restype = C.c_char_p
            raise ImportError(f"the library {self._library._name}, version {self._library.ozarr_version().decode()}, has no function ozarr_{name}: it is "
                              "older than this package; install the library and the package of one release")
        function.restype = raw.TYPES[signature[0]]
        function.argtypes = [TYPES[letter] for letter in signature[1:]]
        if signature[0] == "i" and name != "abi_version":
            function.errcheck = check

        def call(*arguments):
            try:
                return function(*arguments)
            except C.ArgumentError as e:
                raise refused(name, arguments, str(e)) from None

        setattr(self, name, call)
        return call


def refused(name, arguments, message):
    """The exception of an argument that ctypes does not convert."""
    # "argument 2: ArgumentError: why"; before Python 3.11 with the whole name of the class.
    place, kind, why = message.split(": ", 2)
    if "ArgumentError" in kind:
        return ArgumentError(why)
    value = arguments[int(place.removeprefix("argument ")) - 1]
    return ArgumentError(f"{value!r} is of the type {type(value).__name__}, which ozarr_{name} does not take")


def check(status, function, arguments):
    """Raises the exception of a status that is an error."""
    if status == 0:
        return
    info = raw.ozarr_error_info(struct_size=C.sizeof(raw.ozarr_error_info))
    told = lib._library.ozarr_last_error_info
    told.argtypes = [C.c_void_p]
    told(C.byref(info))
    lib._library.ozarr_status_name.restype = C.c_char_p
    text = {m: (getattr(info, m) or b"").decode(errors="replace") for m in ("message", "key", "field")}
    # Of an object without a handle, in words of Python. What has attributes and settings is a node.
    if status == raw.OZARR_ERR_NULL and (gone := re.match("the argument `(array|group|node)` is NULL", text["message"])):
        text["message"] = f"the {gone[1].replace('node', 'array or group')} is closed"
    raise CLASSES.get(status, Error)(text["message"], status, lib._library.ozarr_status_name(status).decode(), text["key"], text["field"],
                                     info.os_errno)


lib = Functions()


def text(function, *arguments):
    """The text that a function writes to (buf, cap, len)."""
    size = C.c_size_t()
    buffer = C.create_string_buffer(512)
    while True:
        try:
            function(*arguments, buffer, len(buffer), C.byref(size))
            return buffer.raw[:size.value].decode()
        except Error as e:
            if e.status != raw.OZARR_ERR_BUFFER_SIZE or size.value < len(buffer):
                raise
        # Another thread may make it longer still before the next call.
        buffer = C.create_string_buffer(size.value + 1)


def memory_at(address, size):
    """So many bytes of the library's memory, as they are there. Those of `ctypes.string_at` are counted by a C int: of 4 GiB and more it gives a few."""
    return memoryview((C.c_char * size).from_address(address))


def integers(values):
    """A list of numbers as int64_t[]; of rank 0 an array of one, which is not read."""
    values = [operator.index(value) for value in values]
    if values and not -1 << 63 <= min(values) <= max(values) < 1 << 63:
        raise ArgumentError(f"the numbers {values} do not fit into 64 bits")
    return (C.c_int64 * max(1, len(values)))(*values)


def setting(value):
    """The text of a setting's value, for the library: Python writes True with a capital letter."""
    text = str(value)
    return (text.lower() if text in ("True", "False") else text).encode()


def handle(function, *arguments):
    """The new handle that a function gives by its last argument."""
    out = C.c_void_p()
    function(*arguments, C.byref(out))
    return out.value


def texts(values):
    """A list of strings or None as const char *const []."""
    given = [None if value is None else utf8(value, "an entry of a list") for value in values]
    for value in given:
        Text.from_param(value)
    return (C.c_char_p * max(1, len(given)))(*given)
