"""ozarr: Zarr arrays by the C library of that name.

    import ozarr
    with ozarr.create("run.zarr/t", (100, 64, 64), "f4", chunks=(10, 64, 64)) as t:
        t[0] = 1.5
    ozarr.open("run.zarr/t")[0, ::2, 5]

What needs numpy is loaded when it is first used.
"""
from . import _raw
from ._library import (AccessError, ArgumentError, BoundsError, Error, ExistsError, NoMemoryError, NotFoundError, RangeError, StoreError,
                       StoreTimeoutError, UnsupportedError, ValueTypeError, lib)

_NODES = ("Array", "Attributes", "Group", "Store", "create", "create_group", "erase", "open")
__all__ = ["AccessError", "ArgumentError", "BoundsError", "Error", "ExistsError", "NoMemoryError", "NotFoundError", "RangeError", "StoreError",
           "StoreTimeoutError", "UnsupportedError", "ValueTypeError", "has_feature", "set_option", "get_option", "version", *_NODES]
# That of the package; version() is that of the library which it has loaded.
__version__ = f"{_raw.OZARR_VERSION_MAJOR}.{_raw.OZARR_VERSION_MINOR}.{_raw.OZARR_VERSION_PATCH}"


def version():
    """The version of the library that runs."""
    return lib.version().decode()


def has_feature(name):
    """Whether this build has the codec, store or format `name`."""
    from ._library import utf8
    return lib.has_feature(utf8(name, "the name of a feature"))


def set_option(key, value):
    """Changes a setting of the default context: "threads", "strict", "chunk_cache" and the others of ozarr_context_set."""
    from ._library import setting, utf8
    lib.context_set(None, utf8(key, "the name of a setting"), setting(value))


def get_option(key):
    from ._library import text, utf8
    return text(lib.context_get, None, utf8(key, "the name of a setting"))


def __getattr__(name):
    if name not in _NODES:
        raise AttributeError(f"module 'ozarr' has no attribute {name!r}")
    from . import _nodes
    globals().update({node: getattr(_nodes, node) for node in _NODES})
    return globals()[name]
