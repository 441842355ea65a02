#!/usr/bin/env python3
"""The Python package against numpy, zarr-python and xarray: random indices, types and stores.

  python_check.py --build DIR [--arrays N] [--seed N]     with ozarr importable (the wheel, or PYTHONPATH and OZARR_LIBRARY)
"""
import argparse, json, os, pickle, random, re, shutil, subprocess, sys, threading, tracemalloc, warnings
from pathlib import Path
from collections.abc import Mapping
import ml_dtypes, numpy as np, xarray as xr, zarr
import ozarr
import python_values
from ozarr import _raw as raw

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ">f4", "S5", "U3", "M8[s]", "m8[10us]"]
V2_ONLY = {"struct": np.dtype([("x", "f8"), ("id", "i2"), ("c", "S3")])}
done = 0
# Of hierarchies without consolidated metadata, which xarray warns of.
warnings.simplefilter("ignore")


def check(good, what):
    global done
    done += 1
    if not good:
        raise AssertionError(what)


def same(a, b, what):
    a, b = np.asarray(a), np.asarray(b)
    check(a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}")
    for name in a.dtype.names or [None]:
        x, y = (a, b) if name is None else (a[name], b[name])
        check(np.array_equal(x, y) or np.array_equal(x, y, equal_nan=True), f"{what}: {x} is not {y}")


def values(r, dtype, shape):
    n = int(np.prod(shape))
    if dtype.names:
        out = np.zeros(shape, dtype)
        for name in dtype.names:
            out[name] = np.random.default_rng(r.randrange(1 << 30)).integers(0, 99, out[name].shape).astype(str if name == "c" else int)
        return out
    numbers = np.random.default_rng(r.randrange(1 << 30)).integers(0, 100, n)
    return (numbers.astype(str).astype(dtype) if dtype.kind in "SU" else numbers.astype(dtype.newbyteorder("="))).reshape(shape)


def index(r, shape, lists=True, none=True):
    """A random index of numpy: integers, slices of any step, `...`, None, lists and masks."""
    if lists and r.random() < 0.05:
        return np.random.default_rng(r.randrange(1 << 30)).random(shape) < 0.3 if shape else ...
    key = []
    for n in shape:
        kind = r.random()
        if kind < 0.25 and n:
            key.append(r.choice([int, np.int64])(r.randint(-n, n - 1)))
        elif kind < 0.35 and lists and n:
            key.append(r.choice([lambda x: x, np.array])([r.randint(-n, n - 1) for _ in range(r.randint(1, 4))][:3] * (1 if r.random() < 0.5 else 1)))
        elif kind < 0.4 and lists:
            key.append(np.random.default_rng(r.randrange(1 << 30)).random(n) < 0.5)
        else:
            end = lambda: r.choice([None, r.randint(-n - 2, n + 2)])
            key.append(slice(end(), end(), r.choice([None, 1, 1, 2, 3, -1, -2])))
    if r.random() < 0.3:
        at = r.randint(0, len(key))
        key[at:at + r.randint(0, 2)] = [Ellipsis]
    elif r.random() < 0.2:
        key = key[:r.randint(0, len(key))]
    if none and r.random() < 0.15:
        key.insert(r.randint(0, len(key)), None)
    return tuple(key)


def one_array(r, where, number):
    rank = r.choice([0, 1, 1, 2, 2, 3, 3, 4])
    shape = tuple(r.choice([0, 1]) if r.random() < 0.1 else r.randint(1, 11) for _ in range(rank))
    v2 = r.random() < 0.4
    dtype = np.dtype(r.choice(TYPES)) if not v2 or r.random() < 0.8 else V2_ONLY["struct"]
    inner = [r.randint(1, 4) for _ in range(rank)]
    choices = {"chunks": inner, "compressor": r.choice(["none", "zstd", "gzip", "blosc:lz4"]), "order": r.choice(["C", "F"]), "zarr_format": 2 if v2 else 3}
    if not v2 and r.random() < 0.4:
        choices |= {"chunks": [n * r.randint(1, 3) for n in inner], "inner_chunks": inner}
    location = where / f"a{number}.zarr"
    z = ozarr.create(location, shape, dtype, **choices)
    model = np.zeros(shape, z.dtype)
    model[...] = z.fill_value
    for _ in range(8):
        key = index(r, shape)
        try:
            selected = model[key]
        except IndexError:
            try:
                z[key]
            except IndexError:
                continue
            raise AssertionError(f"{key} of {shape}: numpy refuses it, ozarr does not")
        if r.random() < 0.6:
            given = values(r, dtype, selected.shape if r.random() < 0.7 else ())
            # A list that has an element twice keeps the last value in both, in the order of the list.
            z[key] = given
            model[key] = given
        same(z[key], model[key], f"array {number} {shape} {dtype} {choices}: {key}")
        out = np.empty(np.asarray(selected).shape, z.dtype)[..., None][..., 0]
        check(z.read(key, out=out) is out, "out is what is returned")
        same(out, model[key], f"out of {key}")
    same(z[...], model, "the whole")
    check(pickle.loads(pickle.dumps(z)).shape == shape, "pickle")
    z.close()
    theirs = zarr.open_array(location, mode="r")
    same(theirs[...], model, f"zarr-python reads array {number}: {dtype} {choices}")


def errors(where):
    def raises(kind, action, words):
        try:
            action()
        except kind as e:
            check(all(word in str(e) for word in words), f"the message is: {e}")
            return
        raise AssertionError(f"no {kind.__name__}")

    z = ozarr.create(where / "e.zarr", (4, 5), "i1")
    raises(IndexError, lambda: z[4], ["dimension 0", "4"])
    raises(IndexError, lambda: z[1, 2, 3], ["too many"])
    raises(IndexError, lambda: z[1.5], ["1.5"])
    for mask in (np.ones((3, 5), bool), np.ones((4, 4), bool), np.zeros((5, 4), bool), (..., np.ones((4, 6), bool)), np.ones((2, 1), bool)):
        raises(IndexError, lambda: z[mask], ["mask"])
        raises(IndexError, lambda: z.write(mask, 1), ["mask"])
    cube = ozarr.create(where / "cube.zarr", (2, 4, 5), "i1")
    raises(IndexError, lambda: cube[..., np.ones((2, 4), bool)], ["dimension 1", "(2, 4)", "(4, 5)"])
    check(cube[None, ..., np.ones((4, 5), bool)].shape == (1, 2, 20) and cube[1, np.ones((4, 5), bool)].shape == (20,), "masks of two dimensions")
    raises(OverflowError, lambda: z.write((0, 0), 300), ["300"])
    raises(ValueError, lambda: z.write(..., np.zeros((3, 3))), ["broadcast"])
    raises(ValueError, lambda: z.read(..., out=np.zeros(3)), ["(4, 5)"])
    raises(TypeError, lambda: list(ozarr.create(where / "point.zarr", (), "f8")), ["without dimensions"])
    check(bool(ozarr.open(where / "point.zarr")), "an array without dimensions is there")
    check([row.tolist() for row in z] == [[0] * 5] * 4, "rows one after the other")
    masked = np.ma.masked_all((4, 5), "f4")
    check(z.read(..., out=masked) is masked and not np.ma.is_masked(masked) and masked.sum() == 0, "what is read is not masked")
    raises(ValueError, lambda: z.read(0, out=np.ma.masked_all(3)), ["(3,)", "(5,)"])
    raises(KeyError, lambda: ozarr.open(where / "nothing.zarr"), ["nothing.zarr"])
    raises(FileNotFoundError, lambda: ozarr.open(where / "nothing.zarr"), ["nothing.zarr"])
    raises(FileExistsError, lambda: ozarr.create(where / "e.zarr", (4,), "i1"), ["e.zarr"])
    raises(PermissionError, lambda: ozarr.open(where / "e.zarr").write(0, 1), ["reading only"])
    raises(OSError, lambda: ozarr.create("/proc/e.zarr", (4,), "i1"), ["/proc/e.zarr"])
    for name, kind in {"PERMISSION": PermissionError, "NO_MEMORY": MemoryError, "TIMEOUT": TimeoutError, "NETWORK": OSError, "NO_SPACE": OSError}.items():
        found = ozarr._library.CLASSES[getattr(raw, f"OZARR_ERR_{name}")]("why", -5, f"OZARR_ERR_{name}", "k", "f", 13)
        again = pickle.loads(pickle.dumps(found))
        check(isinstance(found, kind) and isinstance(found, ozarr.Error) and type(found) is getattr(ozarr, type(found).__name__), f"{name} is {type(found)}")
        check((str(again), again.status, again.key, again.field, again.errno) == ("why", -5, "k", "f", 13), f"{again!r} pickled")
    raises(ValueError, lambda: ozarr.create(where / "f.zarr", (4,), "i1", chunk=3), ["chunk", "chunks"])
    raises(ValueError, lambda: ozarr.create(where / "f.zarr", (4,), "i1", chunks=(3, 3)), ["2", "1"])
    for name, value in {"chunks": (True, 3), "inner_chunks": True}.items():
        raises(ozarr.ArgumentError, lambda: ozarr.create(where / "f.zarr", (4, 4), "i1", **{name: value}), [name, "truth value"])
    for value, expected in ((True, ozarr.create(where / "chosen.zarr", (0, 5000), "f8").chunks), (False, (1, 5000)), (np.True_, None), ("auto", None)):
        found = ozarr.create(where / "chosen.zarr", (0, 5000), "f8", mode="overwrite", chunks=value).chunks
        check(found == expected or expected is None and found != (1, 1), f"chunks={value}: {found}")
    raises(TypeError, lambda: ozarr.create(where / "f.zarr", (4,), "O"), ["object"])
    for name, value in (("chunks", "22"), ("chunks", b"22"), ("inner_chunks", "auto"), ("dimension_names", "xy")):
        raises(ozarr.ValueTypeError, lambda: ozarr.create(where / "f.zarr", (4, 4), "i1", **{name: value}), [name, repr(value), "expected a list"])
    raises(ozarr.ValueTypeError, lambda: ozarr.create(where / "f.zarr", (4,), bytes, fill_value="YQ=="), ["fill_value", "YQ==", "expected bytes"])
    raises(ozarr.ValueTypeError, lambda: ozarr.create(where / "f.zarr", (4,), str, fill_value=b"a"), ["fill_value", "b'a'", "expected a text"])
    with ozarr.create(where / "line.zarr", 4, "i1") as line, ozarr.create(where / "plane.zarr", (4, 4), "i1") as plane:
        line.resize(6)
        line.resize(np.int64(7))
        check(line.shape == (7,), f"an array of rank 1 of a length that is a number: {line.shape}")
        raises(ozarr.ArgumentError, lambda: plane.resize(4), ["1", "expected 2"])
    for name, value in {"zarr_format": "3", "dimension_names": (1,), "compressor": 5, "separator": 5, "order": "Z"}.items():
        raises(ozarr.ArgumentError, lambda: ozarr.create(where / "f.zarr", (4,), "i1", **{name: value}), [name, "Z" if name == "order" else str(value if name != "dimension_names" else 1)])
    raises(ozarr.ArgumentError, lambda: ozarr.open(where / "e.zarr", 5), ["mode", "5"])
    raises(ozarr.ArgumentError, lambda: ozarr.open(f"{where}/e\0.zarr"), ["NUL"])
    raises(ozarr.ArgumentError, lambda: z.attrs[5], ["attribute", "5"])
    raises(ozarr.ArgumentError, lambda: z.attrs.update(x="\ud800"), ["surrogate"])
    for value in (np.longdouble(1), np.ones(2, "g"), np.clongdouble(1)):
        raises(TypeError, lambda: z.attrs.update(x=value), ["an attribute cannot be", "1"])
    with ozarr.Store(where / "e.zarr", "r+") as store:
        check("e.zarr" in repr(store) and "closed" not in repr(store), f"a store is {store!r}")
    check("e.zarr" in repr(store) and "closed" in repr(store), f"a closed store is {store!r}")
    raises(ValueError, store.flush, ["e.zarr", "is closed"])
    remote = ozarr.Store("http://user:secret@127.0.0.1:9/x.zarr?token=secret")
    check(repr(remote) == "<ozarr.Store 'http://127.0.0.1:9/x.zarr'>", f"a store on a server is {remote!r}")
    check(5 not in z.attrs and "x" not in z.attrs, "what is no name of an attribute")
    g = ozarr.create_group(where / "given.zarr")
    for given in (g, {"a": 1}, [1, "a"], [b"a", 1], [2**63 + 1, -1], [2**53 + 1, 0.5], [np.int64(2**53 + 1), 0.5], [np.uint64(2**63 + 1), -1], [2**53 + 1, 1j], ["a\0"], b"a\0"):
        raises(ozarr.Error, lambda: g.__setitem__("x", given), ["has no type in an array"])
        check("x" not in g, f"nothing is left of {given!r}")
    for given in ([1, 2.5], [2**63 + 1], [2**60, 1.0], ["a", "bb"], [True, False]):
        g["x"] = given
        check(g["x"][...].tolist() == given, f"{given!r} as an array")
        del g["x"]
    raises(IndexError, lambda: z.append([[1]], axis=2), ["axis 2", "2 dimensions"])
    g.close()
    raises(ValueError, lambda: g.list(), ["the group is closed"])
    z.close()
    raises(ValueError, lambda: z[0], ["the array is closed"])
    raises(ValueError, lambda: z.attrs["x"], ["array or group is closed"])
    check("closed" in repr(z), f"a closed array is {z!r}")
    code = "import ozarr; ozarr.version()"
    bad = subprocess.run([sys.executable, "-c", code], env={"OZARR_LIBRARY": "/nowhere.so", "PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True)
    check("OZARR_LIBRARY" in bad.stderr and bad.returncode, bad.stderr)
    # As the interpreter does when it ends; what is open then is freed behind it.
    code = """
import ozarr, sys
held = ozarr.Store("memory:q"), ozarr.create_group("memory:g"), ozarr.create("memory:a", (3,), "i4")
for module in [module for name, module in sys.modules.items() if name.split(".")[0] == "ozarr"]:
    vars(module).update((name, None) for name in list(vars(module)) if not name.startswith("__"))
del held
"""
    ended = subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True)
    check((ended.returncode, ended.stderr) == (0, ""), f"handles that are open when Python ends: {ended.stderr}")
    if given := os.environ.get("OZARR_LIBRARY"):
        code = "import ozarr, os; os.chdir('/'); ozarr.version()"
        near = {"OZARR_LIBRARY": f"./{os.path.basename(given)}", "PYTHONPATH": ":".join(map(os.path.abspath, sys.path))}
        ran = subprocess.run([sys.executable, "-c", code], env=near, cwd=os.path.dirname(given), capture_output=True, text=True)
        check(ran.returncode == 0, ran.stderr)


def groups(where):
    with ozarr.create_group(where / "g.zarr") as g:
        g.attrs.update(title="a run", list=[1, 2.5, None], numbers=np.arange(3), self=1)
        del g.attrs["self"]
        g["fields/t"] = np.arange(12.0).reshape(3, 4)
        g["names"] = np.array(["é", "", "long text"], object)
        g.create("texts", (3,), str)[...] = ["a", "bb", ""]
        b = g.create("bytes", (2, 2), bytes)
        b[0] = [b"\0\1", b""]
        check(b[0, 0] == b"\0\1" and b[...].shape == (2, 2), "bytes of any length")
        same(g["texts"][[2, 1, 1]], np.array(["", "bb", "bb"]), "texts by a list")
        check(sorted(g.list(depth=-1).items()) == [("bytes", "array"), ("fields", "group"), ("fields/t", "array"), ("names", "array"), ("texts", "array")], "list")
        check("fields" in g and "fields/u" not in g and list(g) == ["bytes", "fields", "names", "texts"], "mapping")
        check(isinstance(g, Mapping) and g == g and g in {g} and g.get("none", 5) == 5 and g.get("..") is None, "a group is a mapping")
        check(g.get("texts").shape == (3,) and [v.path for v in g.values()] == g.keys() == list(dict(g)) == [k for k, _ in g.items()], "what a group holds")
        check(not any(key in g for key in ("", "..", "/", "a\0", "\ud800", 5, None, ("a",))), "what is no path is not in a group")
        for odd in ([2**70], None, {}):
            try:
                g["odd"] = odd
            except TypeError as e:
                check(repr(odd[0] if isinstance(odd, list) else odd) in str(e) and "odd" not in g, f"the message is: {e}")
            else:
                raise AssertionError(f"an array of {odd} was made")
        del g.attrs["numbers"]
        g["fields/t"].append(np.zeros((2, 4)))
        del g["bytes"]
    theirs = zarr.open_group(where / "g.zarr", mode="r")
    check(dict(theirs.attrs) == {"title": "a run", "list": [1, 2.5, None]}, "attributes")
    check(theirs["fields/t"].shape == (5, 4) and theirs["names"][2] == "long text", "zarr-python reads the group")
    for version in (2, 3):
        with ozarr.Store(where / f"put{version}.zarr", "r+").create_group(zarr_format=version) as g:
            for number, given in enumerate((5, 2.5, np.bool_(True), [], [[1, 2], [3, 4]], np.arange(6, dtype=">i4").reshape(2, 3).T, np.arange(9.0)[::-2], np.array([1 + 2j], "c8"), np.ones((0, 3), "u2"), np.array(["x"]), np.array("2020-01-01", "M8[D]"))):
                g[f"deep/{number}"] = given
                found = g[f"deep/{number}"]
                same(found[...], given, f"{given!r} in a group")
                check(found.dtype == np.asarray(given).dtype.newbyteorder("=") and found.zarr_format == version, f"{given!r} in a group")
            for path in ("deep/0", "deep"):
                try:
                    g[path] = [1]
                except ozarr.Error:
                    continue
                raise AssertionError("a node was replaced")
            same(g["deep/0"][...], 5, "what was there")
    code = "import os, ozarr, ozarr._array; ozarr._array.Array.write = lambda *a: os._exit(9); ozarr.open('put3.zarr', 'r+')['killed'] = [1, 2]"
    subprocess.run([sys.executable, "-c", code], cwd=where, env=os.environ | {"PYTHONPATH": ":".join(sys.path)})
    g = ozarr.open(where / "put3.zarr")
    check("killed" not in g or g["killed"][...].tolist() == [1, 2], "an array whose values were not written when the program was killed")
    v = ozarr.create(where / "v.zarr", (3,), np.dtype([("x", "f8"), ("v", "f4", (2,))]), zarr_format=2)
    v[1] = (1.5, (2, 3))
    check(v[1]["x"] == 1.5 and v[...]["v"].tolist() == [[0, 0], [2, 3], [0, 0]], "structs with fields that have a shape")
    for name in ("bfloat16", "float8_e5m2", "int4"):
        # numpy says "<V2", "<f1" and "<V1" of them.
        narrow = np.dtype([("x", "f4"), ("n", getattr(ml_dtypes, name))])
        values = np.array([(1.5, 1), (2.5, -1)], narrow)
        for version in (2, 3):
            n = ozarr.create(where / "narrow.zarr", (3,), narrow, mode="overwrite", zarr_format=version, fill_value=values[1])
            n[:2] = values
            found = ozarr.open(where / "narrow.zarr")[...]
            check(found.dtype == narrow and bool((found == values[[0, 1, 1]]).all()), f"structs with fields of {name}: {found!r}")
            document = json.loads((where / "narrow.zarr" / ("zarr.json" if version == 3 else ".zarray")).read_text())
            check(name in json.dumps(document.get("data_type", document.get("dtype"))), f"fields of {name}: {document}")
    for dtype, told in (("V0", "give V and a length"), ("str", "give str for texts of any length"), ("U", "U8"), (np.str_, "give str"), ("S", "give bytes for any length"), ([("n", "i4"), ("a", "U")], "U8")):
        try:
            ozarr.create(where / "nothing.zarr", (3,), dtype)
            raise AssertionError(f"elements without bytes: {dtype}")
        except ozarr.ValueTypeError as e:
            check("0 have no bytes" in str(e) and told in str(e), str(e))
    closed = ozarr.create_group(where / "closed.zarr")
    closed.close()
    check("closed" in repr(closed), f"a closed group is {closed!r}")
    check(ozarr.__version__ == ozarr.version(), f"the package is of {ozarr.__version__}, the library of {ozarr.version()}")
    memory = ozarr.Store.memory()
    memory.create("a/b", (3,), "i4", fill_value=7)
    same(memory.open("a")["b"][...], [7, 7, 7], "a store in memory")
    z = ozarr.create(where / "threads.zarr", (64, 64), "f8", chunks=(8, 8))
    z[...] = np.arange(4096.0).reshape(64, 64)
    wrong = []
    workers = [threading.Thread(target=lambda i=i: [wrong.append(i) for _ in range(20) if z[i, i] != 65 * i]) for i in range(16)]
    [w.start() for w in workers], [w.join() for w in workers]
    check(not wrong, f"threads {wrong}")


def texts(where):
    """Texts are appended; values that are refused leave neither elements nor an array behind."""
    with ozarr.create_group(where / "texts.zarr") as g, g.create("t", (2, 0), str) as t:
        t.append([["a"], ["é"]], axis=-1)
        for action in (lambda: t.append([["b"], [3]], axis=1), lambda: t.append(["b", "c"]), lambda: g.__setitem__("new", np.array(["a", 3], object))):
            try:
                action()
            except (ValueError, TypeError):
                continue
            raise AssertionError(f"not refused: {action.__code__.co_consts}")
        check(t[...].tolist() == [["a"], ["é"]] and list(g) == ["t"], f"{t[...]} {list(g)}")


def single_elements(where):
    """An array without dimensions is one of its type and shape to numpy, and has the same element."""
    for number, (dtype, value) in enumerate((
        ("f8", 1.5), (">i4", 7), ("S4", b"ab"), ("U3", "é"), ("M8[s]", np.datetime64(5, "s")), ([("x", "f8"), ("y", "i2")], (1.5, 2)), (str, "é"), (bytes, b"a\0"))):
        with ozarr.create(where / f"single{number}.zarr", (), dtype) as z:
            z[()] = value
            found = np.asarray(z)
            check((found.shape, found.dtype) == ((), z.dtype) and found[()] == z[()] and np.asarray(z, object)[()] == value, f"{dtype}: {found!r}")
    (where / "list.zarr").mkdir()
    lists = {"id": "vlen-array", "dtype": "<i4"}
    (where / "list.zarr" / ".zarray").write_text(json.dumps({"zarr_format": 2, "shape": [], "chunks": [], "compressor": None, "order": "C", "fill_value": None, "dtype": "|O", "filters": [lists]}))
    with ozarr.open(where / "list.zarr", "r+") as z:
        z[()] = [1, 2]
        check(np.asarray(z).shape == () and np.asarray(z)[()].tolist() == [1, 2], f"{np.asarray(z)!r}")


def values_of_json(where):
    """A list can be an element itself: what lies deeper than the selection has dimensions."""
    json2 = {"id": "json2", "encoding": "utf-8", "strict": True, "separators": [",", ":"], "skipkeys": False, "ensure_ascii": True, "check_circular": True, "allow_nan": True, "sort_keys": True, "indent": None}
    for name, filters, cases in (
        ("json", [json2], [(0, [5]), (0, [5, 6]), (0, [[1]]), (slice(0, 2), [[1, 2], [3, 4]]), (slice(0, 1), [[1]]), (slice(0, 2), [{"a": 1}, "x"]), (1, {"b": [2]}), (slice(0, 3), ["a", [], None])]),
        ("lists", [{"id": "vlen-array", "dtype": "<i4"}], [(0, [1, 2]), (0, []), (slice(0, 2), [[1], [2, 3]]), (slice(0, 2), [[1, 5], [2, 3]])])):
        (where / f"{name}.zarr").mkdir()
        (where / f"{name}.zarr" / ".zarray").write_text(json.dumps({"zarr_format": 2, "shape": [4], "chunks": [2], "compressor": None, "order": "C", "fill_value": None, "dtype": "|O", "filters": filters}))
        z = ozarr.open(where / f"{name}.zarr", "r+")
        plain = lambda found: [one.tolist() if isinstance(one, np.ndarray) else one for one in found]
        for key, value in cases:
            z[key] = value
            check(plain(z[key] if isinstance(key, slice) else [z[key]]) == (value if isinstance(key, slice) else [value]), f"{name}[{key}] = {value!r}: {z[key]!r}")
            z[key] = z[key]
            check(plain(z[key] if isinstance(key, slice) else [z[key]]) == (value if isinstance(key, slice) else [value]), f"{name}[{key}] = itself: {z[key]!r}")
        z[...] = None if name == "json" else [[7]] * 4
        z.append([[1, 5], [2, 3]])
        check(plain(z[4:]) == [[1, 5], [2, 3]] and z.shape == (6,), f"{name} appended: {z[4:]!r}")
        try:
            z.write(slice(0, 3), [[1], [2]])
        except ValueError as e:
            check("(2,)" in str(e), f"the message is: {e}")
        else:
            raise AssertionError("two elements were written to three")


def far_apart(where, r):
    """Elements of any length by lists and points: those between them are not read, and an index means what it means to numpy."""
    import ozarr._array as module
    with ozarr.create(where / "far.zarr", (2 * 10**6,), str, chunks=(10**4,)) as t:
        t[0], t[1234567], t[-1] = "a", "é", "z"
        for read in (lambda: t[[-1, 0, 1234567, 0]], lambda: t.oindex[[2 * 10**6 - 1, 0, 1234567, 0]], lambda: t[np.array([[-1, 0], [1234567, 0]])].ravel()):
            tracemalloc.start()
            found = read()
            peak = tracemalloc.get_traced_memory()[1] >> 20
            tracemalloc.stop()
            same(found, np.array(["z", "a", "é", "a"], found.dtype), "far apart")
            check(peak < 4, f"texts that are far apart take {peak} MiB")
    usual = module.BOX
    for dtype, one in (("s", str), ("b", lambda n: str(n).encode())):
        model = np.empty((9, 11), object)
        model[...] = [[one(20 * i + j) for j in range(11)] for i in range(9)]
        with ozarr.create(where / f"far_{dtype}.zarr", model.shape, str if dtype == "s" else bytes, chunks=(r.randint(1, 4), r.randint(1, 4))) as z:
            z[...] = model
            for module.BOX in (1, 5, usual):
                for _ in range(60):
                    rows, columns = ([r.randrange(-n, n) for _ in range(r.randint(0, 4))] for n in model.shape)
                    span = slice(r.randint(0, 11), r.randint(0, 11), r.choice([1, 2, -1]))
                    short = min(len(rows), len(columns))
                    for key in ((rows, span), (span, columns), (rows[:short], columns[:short]), (np.array([rows, rows]), 3), (np.array(rows, int)[:, None], columns)):
                        try:
                            expected = model[key]
                        except IndexError:
                            continue
                        same(z[key].astype(object), expected, f"{key} of {dtype}")
                    same(z.oindex[rows, columns].astype(object), model[np.ix_(np.array(rows, int), np.array(columns, int))], f"oindex {rows} {columns}")
    module.BOX = usual


def lists_written(where):
    """Lists in writes: of a box around them, or one beside slices, none goes element by element; lists along each other take no memory for their product."""
    import ozarr._array as module
    lib, moved = module.lib, []
    model = np.arange(20 * 30 * 4.0).reshape(20, 30, 4)
    with ozarr.create(where / "lists_written.zarr", model.shape, "f8", chunks=(7, 8, 4)) as z:
        z[...] = model
        module.lib = type("Told", (), {"__getattr__": lambda self, name: moved.append(name) or getattr(lib, name)})()
        try:
            for key, function in {"one": (np.s_[:, [3, 5, 3]], "orthogonal"), "mask": (np.s_[..., np.arange(4) % 2 == 0], "orthogonal"),
                                  "beside an integer": (np.s_[2, ::-2, [1, 0, 1]], "orthogonal"), "a cross": (np.s_[np.array([[4], [-1]]), [0, 7], 1:], "orthogonal"),
                                  "along": (np.s_[[1, 5], :, [2, 3]], "points"), "twice": (np.s_[[1, 5, 1, 5], :, [2, 3, 2, 3]], "points"), "none": (np.s_[[], :], "orthogonal")}.values():
                given = np.random.default_rng(7).random(model[key].shape)
                z[key] = model[key] = given
                same(z[...], model, f"written at {key}")
                check([name for name in moved if name.startswith("array_write_")] == [f"array_write_{function}"], f"{key} is written by {moved}")
                moved.clear()
        finally:
            module.lib = lib
        for key in (np.s_[[1, 2], :, [0, 1, 2]], np.s_[[1, 2], [0, 1, 2], :]):
            for action in (lambda: z[key], lambda: z.write(key, 1)):
                try:
                    action()
                except IndexError as e:
                    check("(2,), (3,)" in str(e), f"the message is: {e}")
                    continue
                raise AssertionError(f"not refused: {key}")
    with ozarr.create(where / "along.zarr", (1500, 3, 1500), "f4", chunks=(100, 3, 100)) as z:
        line = np.arange(1500)
        tracemalloc.start()
        z[line, :, line] = line[:, None]
        found = z[line, :, line]
        peak = tracemalloc.get_traced_memory()[1] >> 20
        tracemalloc.stop()
        check((found == line[:, None]).all() and peak < 8, f"lists along each other take {peak} MiB")


def arrays_of_others(where):
    """What other packages' arrays select: the same elements as numpy's."""
    import pandas as pd

    model = np.arange(24.0).reshape(4, 6)
    with ozarr.create(where / "arrays_of_others.zarr", model.shape, "f8", chunks=(2, 4)) as z:
        z[...] = model
        rows = model[:, 0] > 6
        for name, key in {"index": pd.Index([0, 2]), "series": pd.Series([3, 1]), "series of bools": pd.Series(rows), "DataArray": xr.DataArray([2, 0], dims="x"),
                          "DataArray of bools": xr.DataArray(rows, dims="y"), "one": xr.DataArray(model[:, 1], dims="y").argmax(), "mask": xr.DataArray(model > 7)}.items():
            same(z[key], model[np.asarray(key)], name)
            if np.ndim(key) < 2:
                same(z.oindex[key, 1:3], model[np.asarray(key), 1:3], f"{name}, outer")
            z[key] = z[key] + 0
        same(z[...], model, "written by arrays of others")
        try:
            z[pd.Series(["a"] * 10000)]
        except IndexError as e:
            check(len(str(e)) < 200, f"a message of {len(str(e))} characters")


def folder_gone(where):
    """A program whose folder was removed works with paths from the root."""
    code = f"""
import os, ozarr
os.mkdir("gone"), os.chdir("gone"), os.rmdir("../gone")
for location in ({str(where / "gone.zarr")!r}, "file://" + {str(where / "gone2.zarr")!r}):
    ozarr.create(location, (3,), "i4").close()
    assert ozarr.open(location).shape == (3,) and ozarr.Store(location).open().shape == (3,)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=where, env=os.environ | {"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True)
    check(done.returncode == 0, f"a program whose folder is gone: {done.stderr}")


def paths(where):
    """A path object is never a URL, whatever it looks like."""
    here = os.getcwd()
    os.makedirs(where / "paths")
    os.chdir(where / "paths")
    try:
        names = ["run:1.zarr", "memory:q", "file:x.zarr", "zip:x", "s3:b", "a:b/c.zarr", "plain.zarr"]
        for name in map(Path, names):
            ozarr.create(name, (2,), "i4", fill_value=3).close()
            z, store = ozarr.open(name), ozarr.Store(name)
            check(name.is_dir() and z[0] == 3, f"an array at the path {name}")
            os.chdir("/")
            same(pickle.loads(pickle.dumps(z))[...], [3, 3], f"the pickled array at the path {name}")
            same(pickle.loads(pickle.dumps(store)).open()[...], [3, 3], f"the pickled store at the path {name}")
            os.chdir(where / "paths")
            ozarr.erase(name)
            check(not any(name.iterdir()), f"erased at the path {name}")
            with ozarr.create_group(name) as g:
                g.create("v", (2,), "i4", dimension_names=("x",), attributes={"a": 1}).close()
            for options in ({}, {"storage_options": {"consolidated": "never"}}):
                check(xr.open_dataset(name, engine="ozarr", **options)["v"].attrs == {"a": 1}, f"xarray at the path {name}")
        check({path.name for path in Path().iterdir()} == {Path(name).parts[0] for name in names}, f"paths: {list(Path().iterdir())}")
        ozarr.create("memory:as_text", (2,)).close()
        ozarr.create(b"memory:as_bytes", (2,)).close()
        check(not list(Path().glob("memory:as*")), "a text is a URL")
    finally:
        os.chdir(here)


def texts_written(where, r):
    """Texts and bytes of any length by lists, masks and outer indices, as numpy assigns them: of an element that is given twice the last one."""
    rng = np.random.default_rng(r.randrange(1 << 30))
    for number in range(40):
        shape = tuple(r.randint(1, 7) for _ in range(r.randint(1, 3)))
        for kind in (str, bytes):
            z = ozarr.Store.memory().create("z", shape, kind, chunks=tuple(r.randint(1, 4) for _ in shape))
            model = np.full(shape, kind(), object)
            for _ in range(6):
                outer = r.random() < 0.3
                entry = lambda n: r.choice([[r.randint(-n, n - 1) for _ in range(r.randint(0, 4))], rng.random(n) < 0.5, slice(None, None, r.choice([1, 2, -1])), r.randint(-n, n - 1)])
                key = tuple(entry(n) for n in shape) if outer or r.random() < 0.8 else rng.random(shape) < 0.4
                each = np.ix_(*(np.atleast_1d(np.arange(n)[one]) for one, n in zip(key, shape))) if outer else key
                try:
                    selected = np.shape(model[each])
                except IndexError:
                    continue
                dropped = tuple(dim for dim, one in enumerate(key) if isinstance(one, int)) if outer else ()
                words = np.full(selected, "é" if kind is str else b"\0", object)
                for place in np.ndindex(*selected) if r.random() < 0.8 else ():
                    word = str(r.randrange(10 ** r.randint(1, 6)))
                    words[place] = word if kind is str else word.encode()
                model[each] = words
                given = words.squeeze(dropped)
                (z.oindex if outer else z)[key] = given[()] if given.ndim == 0 else given
                same(np.asarray(z[...], object), model, f"{key} {outer} of {shape} is written")
    import ozarr._array as module
    lib, moved, at = module.lib, [], np.arange(40)
    z, model = ozarr.Store.memory().create("z", (3, 40), str, chunks=(2, 9)), np.full((3, 40), "", object)
    module.lib = type("Told", (), {"__getattr__": lambda self, name: moved.append(name) or getattr(lib, name)})()
    try:
        for key, writes in (((1, at % 2 == 0), 1), ((1, at[::-3]), 1), ((slice(None), at % 5 == 1), 3), ((1, [0, 1, 2, 10, 11, 12]), 2), ((1, [0, 10, 11, 12]), 2), ((1, [1, 3, 5, 6, 7, 9, 11, 30]), 4), (([0, 1, 2], [5, 5, 5]), 3), ((1, at), 1)):
            moved.clear()
            model[key] = np.arange(model[key].size).reshape(model[key].shape).astype(str)
            z[key] = model[key]
            same(np.asarray(z[...], object), model, f"{key} is written")
            check(moved.count("array_write_varlen") == writes, f"{key} is {moved.count('array_write_varlen')} writes, expected {writes}")
    finally:
        module.lib = lib
    with ozarr.create(where / "picked.zarr", (4,), str) as z:
        z[...] = list("abcd")
        for key, given in (([0, 1], ["x", 1]), ([0, 1], ["x"] * 3), ([True, False, True, False], [None, "x"])):
            try:
                z[np.array(key)] = given
            except (TypeError, ValueError):
                continue
            raise AssertionError(f"{given} was written")
        check(z[...].tolist() == list("abcd") and z[np.array(1)] == "b" and type(z[np.array(1)]) is str, "what was refused changed nothing")
        z[[3, 0, 3]] = "e"
        z[z[...] == "e"] = ["first", "last"]
    check(zarr.open_array(where / "picked.zarr")[...].tolist() == ["first", "b", "c", "last"], "zarr-python reads it")


def handles(where):
    """Two handles of one node: neither takes back what the other has stored."""
    ozarr.create(where / "handles.zarr", (0,), str).close()
    a, b = (ozarr.open(where / "handles.zarr", "r+") for _ in range(2))
    a.attrs["a"] = 1
    b.attrs.update(b=2)
    check(ozarr.open(where / "handles.zarr").attrs.asdict() == {"a": 1, "b": 2}, "attributes of two handles")
    for bad in ({"c": 3, "d": float("nan")}, {"c": 3, "": 4}, {"c": 3, "d": object()}):
        try:
            a.attrs.update(bad)
        except (ValueError, TypeError, ozarr.Error):
            a.attrs["e"] = 5
    check(ozarr.open(where / "handles.zarr").attrs.asdict() == {"a": 1, "b": 2, "e": 5}, "attributes after some that were refused")
    code = "import ozarr, sys; n = ozarr.open(sys.argv[1], 'r+'); [n.attrs.update({sys.argv[2] + str(i): i}) for i in range(20)]"
    others = [subprocess.Popen([sys.executable, "-c", code, where / "handles.zarr", letter], env=os.environ | {"PYTHONPATH": ":".join(sys.path)}) for letter in "xyz"]
    check([other.wait() for other in others] == [0, 0, 0] and len(ozarr.open(where / "handles.zarr").attrs) == 63, "attributes that several programs set")
    code = ("import os, ozarr, pickle; n = ozarr.open('handles.zarr', 'r+'); s = ozarr.Store('handles.zarr', 'r+').open(); os.mkdir('elsewhere'); os.chdir('elsewhere'); "
            "ozarr.create('handles.zarr', (1,)).close(); n.attrs.update(x0=7), s.attrs.update(y0=8); assert pickle.loads(pickle.dumps(n)).shape == (0,)")
    moved = subprocess.run([sys.executable, "-c", code], cwd=where, env=os.environ | {"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True)
    check(moved.returncode == 0 and ozarr.open(where / "handles.zarr").attrs["x0"] == 7 and ozarr.open(where / "handles.zarr").attrs["y0"] == 8, f"a program that changed its folder: {moved.stderr}")
    code = """
import os, ozarr, pickle, sys
os.makedirs("a%20b?/elsewhere")
os.chdir("a%20b?")
for location in ("zip:x.data", "zip:./x.zip", "ZIP:y.ozx", "file:x%20y.zarr", "File:z.zarr#mode=zarr,file"):
    for fill in (1, 2):
        store = ozarr.Store(location, "r+")
        store.create_group("g").create("t", (1,), "i4", fill_value=fill)
        store.close()
        os.chdir("elsewhere" if fill == 1 else "..")
    nodes = [ozarr.open(location, "r+")["g"]["t"], ozarr.Store(location, "r+").open("g/t")]
    os.chdir("elsewhere")
    for number, node in enumerate(nodes):
        node.attrs.update({str(number): 1})
        node.flush()
        assert pickle.loads(pickle.dumps(node)).fill_value == 1, location
    assert not ozarr.open(location)["g/t"].attrs, location
    os.chdir("..")
    assert len(ozarr.open(location)["g/t"].attrs) == 2, (location, ozarr.open(location)["g/t"].attrs)
"""
    moved = subprocess.run([sys.executable, "-c", code], cwd=where, env=os.environ | {"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True)
    check(moved.returncode == 0, f"locations with a scheme after a change of folder: {moved.stderr}")
    with ozarr.create_group(where / "a b.zarr") as g:
        g["x%20y/z"] = [1, 2]
    for location in (where / "a b.zarr", f"file://{where}/a%20b.zarr", f"file://{where}/a%20b.zarr#mode=zarr,file"):
        child = ozarr.open(location, "r+")["x%20y"]["z"]
        child.attrs.update({str(location): 1})
        again = pickle.loads(pickle.dumps(child))
        check(again.path == "x%20y/z" and str(location) in again.attrs and not ozarr.open(where / "a b.zarr").attrs, f"a child at {location}")
    code = """
import ozarr
class Last:
    def __init__(self): self.z = ozarr.create("last.zarr", (4,), "i4")
    def __del__(self):
        self.z[0] = 44
        self.z.append([1])
        self.z[[1, 2]] = 3
last = Last()
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=where, env=os.environ | {"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True)
    check(ozarr.open(where / "last.zarr")[...].tolist() == [44, 3, 3, 0, 1], f"what an object writes when the interpreter ends: {ended.stderr}")
    old = ozarr.create(where / "replaced.zarr", (1,), "i4")
    new = ozarr.create(where / "replaced.zarr", (1,), "f8", mode="overwrite")
    try:
        old.attrs.update(a=1)
    except ozarr.Error as e:
        check("replaced" in str(e) and not new.attrs and old.dtype == "i4", f"the message is: {e}")
    else:
        raise AssertionError("attributes of an array that was replaced were set on the new one")
    cleared, seen = ozarr.create_group(where / "cleared.zarr"), set()
    cleared.attrs.put({str(i): i for i in range(50)})
    watch = threading.Thread(target=lambda: [seen.add(len(ozarr.open(where / "cleared.zarr").attrs)) for _ in iter(lambda: 0 in seen, True)], daemon=True)
    watch.start()
    cleared.attrs.clear()
    watch.join()
    check(seen <= {0, 50} and cleared.attrs == {}, f"attributes that were cleared, as others see them: {seen}")
    memory = ozarr.Store.memory()
    memory.create_group().attrs.update(a=1)
    memory.open().attrs.update({"b": 2}, c=3)
    check(memory.open().attrs.asdict() == {"a": 1, "b": 2, "c": 3}, "attributes of a store in memory")
    a.append(["a", "b"])
    b.append(["c"])
    check(ozarr.open(where / "handles.zarr")[...].tolist() == ["a", "b", "c"], "texts that two handles append")
    code = "import ozarr, sys; z = ozarr.open(sys.argv[1], 'r+'); [z.append([sys.argv[2] + str(i)]) for i in range(30)]"
    for location in (where / "several.zarr", f"memory:several{os.getpid()}"):
        z = ozarr.create(location, (0,), str, chunks=(7,))
        z.append(["first"])
        mine = lambda letter, array: [array.append([letter + str(i)]) for i in range(30)]
        threads = [threading.Thread(target=mine, args=(letter, array)) for letter, array in (("p", z), ("q", z), ("r", ozarr.open(location, "r+")))]
        others = [] if isinstance(location, str) else [subprocess.Popen([sys.executable, "-c", code, location, letter], env=os.environ | {"PYTHONPATH": ":".join(sys.path)}) for letter in "xy"]
        [thread.start() for thread in threads], [thread.join() for thread in threads]
        check([other.wait() for other in others] == [0] * len(others), "programs that append")
        found = ozarr.open(location)[...].tolist()
        check(sorted(found) == sorted(["first"] + [letter + str(i) for letter in "pqr" + "xy"[:len(others)] for i in range(30)]), f"texts that several append at a time: {len(found)} in {location}")


def updates(where):
    """`attrs.update` is of the handle's own node, in one write, whatever is at its path by now."""
    code = """
import ozarr, sys
g = ozarr.create_group(sys.argv[1])
g.create("t", (1,), "i4"), g.create_group("g")
"""
    make = lambda at: subprocess.run([sys.executable, "-c", code, at], check=True, env=os.environ | {"PYTHONPATH": ":".join(sys.path)})
    make(where / "run.zarr")
    (where / "current").symlink_to("run.zarr")
    run, current = (ozarr.open(where / name, "r+") for name in ("run.zarr", "current"))
    nodes = [run, run["t"], run["g"], current, current["t"], current["g"], ozarr.open(where / "run.zarr/t", "r+"), ozarr.open(where / "current/g", "r+")]
    with ozarr.Store(where / "run.zarr", "r+") as store, ozarr.Store.memory() as memory:
        nodes += [store.open(path) for path in ("", "t", "g")]
        kept = [memory.create_group(), memory.create("t", (1,))]
    (where / "current").unlink()
    for number in range(2):
        for each, node in enumerate([*nodes, *kept]):
            node.attrs[f"one{number}/{each}"] = 1
            node.attrs.update({f"many{number}/{each}": 2}, last=number)
            check(node.attrs[f"many{number}/{each}"] == 2 and node.attrs["last"] == number, f"attributes of node {each}, where what is at its path is another one")
        os.rename(where / "run.zarr", where / f"moved{number}.zarr")
        if number == 0:
            make(where / "run.zarr")
            (where / "current").symlink_to("run.zarr")
    for path in ("", "t", "g"):
        ours, theirs = (ozarr.open(where / name / path) for name in ("moved0.zarr", "moved1.zarr"))
        check(theirs.attrs == {}, f"attributes of another program's {path!r}: {theirs.attrs}")
        found = [sum(name.startswith(kind) for name in ours.attrs) for kind in ("one0", "one1", "many0", "many1")]
        check(found == [4 if path else 3] * 4, f"attributes of {path!r}: {found}")
    z = ozarr.create(where / "refused.zarr", (1,), mode="overwrite", attributes={"kept": 1})
    for bad in ({"c": 3, "d": float("nan")}, {"c": 3, "": 4}, {"c": 3, "d": object()}, {"c": 3, 4: 4}, {"c": 3, "d\0": 4}, {"c": 3, "d": "\ud800"}):
        try:
            z.attrs.update(bad)
        except (ValueError, TypeError, ozarr.Error):
            check(z.attrs == {"kept": 1}, f"attributes after {bad}: {z.attrs}")
        else:
            raise AssertionError(f"{bad} was taken")
    (where / "refused.zarr" / "zarr.json").rename(where / "document")
    try:
        z.attrs.update(lost=1, c=3)
    except ozarr.NotFoundError:
        (where / "document").rename(where / "refused.zarr" / "zarr.json")
    z.attrs["d"] = 4
    check(z.attrs == ozarr.open(where / "refused.zarr").attrs == {"kept": 1, "d": 4}, f"attributes after an update that could not be stored: {z.attrs}")
    shared = ozarr.create_group(where / "shared.zarr")
    handles = [shared, shared, shared, ozarr.open(where / "shared.zarr", "r+")]
    def set_some(me, handle):
        for number in range(30):
            handle.attrs.update({f"{me}/{number}/{part}": part for part in "ab"}) if me % 2 else handle.attrs.__setitem__(f"{me}/{number}", 1)
    threads = [threading.Thread(target=set_some, args=given) for given in enumerate(handles)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    # What the other handle has set last is not in this one yet.
    shared.refresh()
    check(len(ozarr.open(where / "shared.zarr").attrs) == len(shared.attrs) == 180, f"attributes that threads set by one handle and two: {len(shared.attrs)}")


def xarrays(where, r):
    rng = np.random.default_rng(r.randrange(1 << 30))
    ds = xr.Dataset({"t": (("time", "y", "x"), rng.random((4, 5, 6)), {"units": "K"}), "packed": (("y", "x"), np.round(rng.random((5, 6)), 2)),
                     "name": ("x", np.array(list("abcdef"), object)), "n": ((), 3), "missing": ("x", np.array([1, np.nan, 3, 4, 5, 6])),
                     "flag": ("y", rng.random(5) < 0.5)},
                    coords={"time": np.array(["2020-01-01", "2020-01-02", "2020-01-03", "2021-01-01"], "M8[ns]"), "x": np.arange(6), "lat": (("y", "x"), rng.random((5, 6)))},
                    attrs={"title": "a run"})
    ds["lead"] = ("time", np.array([0, 6, 12, 18], "m8[h]").astype("m8[ns]"))
    ds["packed"].encoding = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 1.0, "_FillValue": -999}
    for version in (2, 3):
        location = str(where / f"x{version}.zarr")
        ds.to_zarr(location, zarr_format=version, mode="w", consolidated=False)
        ds.isel(time=0).to_zarr(location, group="inner/deep", zarr_format=version, consolidated=False)
        if version == 2:
            zarr.consolidate_metadata(location)
        for options in ({}, {"mask_and_scale": False}, {"decode_times": False}, {"decode_coords": False}, {"group": "inner/deep"}, {"chunks": {}}, {"consolidated": False}):
            theirs, ours = (xr.open_dataset(location, engine=engine, **options) for engine in ("zarr", "ozarr"))
            xr.testing.assert_identical(theirs, ours)
            check({n: v.dtype for n, v in theirs.variables.items()} == {n: v.dtype for n, v in ours.variables.items()}, f"types of format {version} {options}")
        ours = xr.open_dataset(location, engine="ozarr")
        for pick in ({"time": [2, 0]}, {"x": slice(None, None, -2), "y": 3}, {"y": [0, 0, 4], "x": [5, 1]}):
            xr.testing.assert_identical(ours.isel(pick).load(), ds_of(location).isel(pick).load())
        at = xr.DataArray([0, 2, 1], dims="p")
        xr.testing.assert_identical(ours.isel(y=at, x=at).load(), ds_of(location).isel(y=at, x=at).load())
        trees = [xr.open_datatree(location, engine=engine) for engine in ("zarr", "ozarr")]
        check(set(trees[0].to_dict()) == set(trees[1].to_dict()), "the same groups")
        for path in trees[0].to_dict():
            xr.testing.assert_identical(trees[0][path].to_dataset(), trees[1][path].to_dataset())


def trees(where):
    """Groups are read from one root, however many they are, and named as xarray's engine `zarr` names them."""
    import ozarr.xarray as module
    ds, usual, calls = xr.Dataset({"t": ("x", np.arange(3.0))}), module.open_node, []
    module.open_node = lambda *given: (calls.append(given), usual(*given))[1]
    try:
        for version in (2, 3):
            location = where / f"tree{version}.zarr"
            for path in ("g", "g/h", "g/h/i", "k"):
                ds.to_zarr(location, group=path, zarr_format=version, consolidated=False)
            for consolidated in (False, True):
                if consolidated:
                    zarr.consolidate_metadata(location)
                calls.clear()
                found = xr.open_datatree(location, engine="ozarr")
                check(len(calls) == 1 and len(found.groups) == 5, f"{len(calls)} roots are opened for {len(found.groups)} groups")
                xr.testing.assert_identical(pickle.loads(pickle.dumps(found)), found)
                for group in (None, "/", "g", "/g/h/"):
                    theirs, ours = (xr.open_groups(location, engine=engine, group=group, consolidated=consolidated) for engine in ("zarr", "ozarr"))
                    check(sorted(ours) == sorted(theirs), f"groups below {group}: {sorted(ours)}, expected {sorted(theirs)}")
                    theirs, ours = (xr.open_datatree(location, engine=engine, group=group, consolidated=consolidated) for engine in ("zarr", "ozarr"))
                    xr.testing.assert_identical(ours, theirs)
    finally:
        module.open_node = usual


def elsewhere(where):
    """A group by its path, in a location that is more than a path, and below one that is no node."""
    ds = xr.Dataset({"t": ("x", np.arange(3.0))})
    ds.to_zarr(where / "a c.zarr", group="g%20h", zarr_format=2, consolidated=False)
    (where / "a c.zarr" / ".zgroup").unlink(missing_ok=True)
    for location in (where / "a c.zarr", f"file://{where}/a%20c.zarr", f"file://{where}/a%20c.zarr#mode=zarr,file"):
        xr.testing.assert_identical(xr.open_dataset(location, engine="ozarr", group="g%20h").load(), ds)
    home, os.environ["HOME"] = os.environ.get("HOME"), str(where)
    try:
        for location in ("~/a c.zarr/g%20h", Path("~/a c.zarr/g%20h")):
            xr.testing.assert_identical(xr.open_dataset(location, engine="ozarr").load(), ds)
            check("t" in xr.open_datatree(location, engine="ozarr"), "a tree in the user's folder")
    finally:
        os.environ.pop("HOME") if home is None else os.environ.__setitem__("HOME", home)


def engines(where):
    """What names no engine stays with xarray's own; an element alone has the type of its variable."""
    from xarray.backends.plugins import guess_engine
    for location, engine in (("a.zarr", "zarr"), (Path("a.zarr/"), "zarr"), ("s3://b/a.zarr", "zarr"), ("simplecache::s3://b/a.zarr", "zarr"), ("a.ozx", "ozarr")):
        check(guess_engine(location) == engine, f"{location} by {guess_engine(location)}")
    with ozarr.create_group(where / "alone.zarr") as g:
        for name, dtype, values in (("s", str, ["a", "bb"]), ("b", bytes, [b"a\0", b""]), ("i", "i2", [1, 2]), ("w", "M8[s]", np.array([1, 2], "M8[s]"))):
            g.create(name, (2,), dtype, dimension_names=["x"])[...] = values
            g.create(f"{name}0", (), dtype)[...] = values[0]
    for chunks in (None, {}):
        ds = xr.open_dataset(where / "alone.zarr", engine="ozarr", chunks=chunks, decode_times=False)
        for name in "sbiw":
            for found in (ds[name][0], ds[f"{name}0"]):
                check(found.values.dtype == found.dtype == ds[name].dtype and found.values[()] == ds[name].values[0], f"{name} alone: {found.values!r}")


def uneven(where):
    """dask has the chunks of an array as they are stored; what writes without uneven ones chooses its own."""
    with ozarr.create(where / "uneven.zarr/t", (10, 9, 4), "f8", chunks=[5, 5, 2], dimension_names=["z", "y", "x"]):
        document = json.loads((where / "uneven.zarr/t/zarr.json").read_text())
    document["chunk_grid"] = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[[3, 2], 6], [4, 4, 4], 2]}}
    (where / "uneven.zarr/t/zarr.json").write_text(json.dumps(document))
    with ozarr.open(where / "uneven.zarr/t", "r+") as t:
        t[...] = np.arange(360).reshape(10, 9, 4)
    ds = xr.open_dataset(where / "uneven.zarr", engine="ozarr", chunks={}, consolidated=False)
    check(ds.t.chunks == ((3, 3, 4), (4, 4, 1), (2, 2)), f"uneven chunks: {ds.t.chunks}")
    preferred = ds.t.encoding["preferred_chunks"]
    check(preferred == {"z": (3, 3, 4), "y": 4, "x": 2}, f"uneven chunks are preferred: {preferred}")
    ds.load().to_zarr(where / "even.zarr", consolidated=False)
    same(zarr.open_array(where / "even.zarr/t", mode="r")[...], np.arange(360).reshape(10, 9, 4), "written from uneven chunks")


def grown(where):
    """A dataset that was sent to another process has the steps that it had, however many there are by then."""
    with ozarr.create(where / "grown.zarr/t", (5, 2), "f8", dimension_names=["time", "x"]) as t:
        t[...] = np.arange(10).reshape(5, 2)
        ds = xr.open_dataset(where / "grown.zarr", engine="ozarr")
        sent, expected = pickle.dumps(ds), ds.t.values
        t.resize((7, 2))
    for key in (slice(None), slice(None, None, -1), slice(-2, None), slice(3, 0, -2), slice(None, 0, -1), -1, [-1, 0], np.int64(-5)):
        same(pickle.loads(sent).t.isel(time=key).values, expected[key], f"steps {key}")
    with ozarr.open(where / "grown.zarr/t", "r+") as t:
        t.resize((3, 2))
    raised = pickle.loads(sent).t
    for key in (slice(None), slice(None, None, -1), -1):
        try:
            found = raised.isel(time=key).values
        except IndexError as e:
            check("3" in str(e), f"the message is: {e}")
        else:
            raise AssertionError(f"steps {key} are not there any more, and are {found}")
    same(pickle.loads(sent).t.isel(time=slice(2, 0, -1)).values, expected[2:0:-1], "steps that are still there")


def erased_by_others(where):
    """A group says the same of a node by `in`, by its name and by its list, also where consolidated metadata are out of date."""
    location = where / "erased.zarr"
    for version in (2, 3):
        with ozarr.Store(location, "r+").create_group(mode="overwrite", zarr_format=version) as g:
            for path in ("x", "y", "below/x", "below/y"):
                g.create(path, (2,), "i4")
            g.create_group("empty")
            g.consolidate()
        for path in ("y", "below/y", "empty"):
            shutil.rmtree(location / path)
        with ozarr.open(location) as g:
            for group, gone in ((g, ["y", "below/y", "empty"]), (g["below"], ["y"])):
                check(not any(path in group or group.get(path) is not None for path in gone), f"what is gone from a group of format {version}")
                check(set(group) == {path for path in ("x", "y", "below", "empty") if path in group}, f"the names of format {version}")
                check(dict(group).keys() == dict(group.items()).keys() == set(group) and len(group) == len(list(group)), f"a mapping of format {version}")


def sent(where):
    """A pickled array is opened by its own document, where it has one; consolidated metadata stay in step with what it changes."""
    location = where / "sent.zarr"
    for version in (2, 3):
        with ozarr.Store(location, "r+").create_group(mode="overwrite", zarr_format=version) as g:
            g.create("a/t", (2,), "i4", fill_value=7)
            g.consolidate()
        root = location / (".zmetadata" if version == 2 else "zarr.json")
        again = pickle.loads(pickle.dumps(ozarr.open(location, "r+")["a"]["t"]))
        again.attrs.update(a=1)
        again.resize((3,))
        check(again.path == "a/t" and again.metadata["shape"] == [3], f"a pickled array of format {version}")
        below = pickle.loads(pickle.dumps(ozarr.open(location / "a", "r+")["t"]))
        below.attrs.update(b=2)
        check(below.path == "a/t" and zarr.open_group(location, mode="r", use_consolidated=True)["a/t"].attrs["b"] == 2, "an array of a group below the root")
        del below.attrs["b"]
        same(zarr.open_group(location, mode="r", use_consolidated=True)["a/t"][...], [7, 7, 7], f"zarr-python by consolidated metadata of format {version}")
        document = root.read_text()
        check(ozarr.open(location)["a/t"].attrs.asdict() == {"a": 1}, "attributes by consolidated metadata")
        pickled = pickle.dumps(ozarr.open(location)["a/t"])
        root.write_text("{")
        same(pickle.loads(pickled)[...], [7, 7, 7], f"a pickled array below a root of format {version} that is not read")
        root.write_text(document)
        for name in (".zarray", ".zattrs", "zarr.json"):
            (location / "a/t" / name).unlink(missing_ok=True)
        same(pickle.loads(pickled)[...], [7, 7, 7], f"a pickled array that is in the root's document of format {version} only")
        shutil.rmtree(location / "a/t")
        root.write_text(document.replace("a/t", "a/u"))
        try:
            pickle.loads(pickled)
        except KeyError as e:
            check("a/t" in str(e), f"the message is: {e}")
        else:
            raise AssertionError("an array that is gone")


def unreadable(where):
    """A variable that cannot be understood is an error, unless it is not wanted."""
    location = where / "unreadable.zarr"
    xr.Dataset({"t": ("x", np.arange(3.0)), "u": ("x", np.arange(3.0))}).to_zarr(location, group="g", consolidated=False)
    document = location / "g" / "u" / "zarr.json"
    for damage in ("{", document.read_text().replace("float64", "float65")):
        document.write_text(damage)
        for action in (lambda: xr.open_dataset(location, engine="ozarr", group="g"), lambda: xr.open_datatree(location, engine="ozarr")):
            try:
                action()
            except ozarr.Error as e:
                check("g/u" in str(e), f"the message is: {e}")
            else:
                raise AssertionError("a variable was left out silently")
        check(list(xr.open_dataset(location, engine="ozarr", group="g", drop_variables="u")) == ["t"], "a variable that is dropped")


def page(where):
    """The blocks of docs/python.md are one program."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (Path(__file__).parents[2] / "docs" / "python.md").read_text(), re.M | re.S)
    check(len(blocks) == 3, f"{len(blocks)} blocks in docs/python.md")
    here = os.getcwd()
    os.chdir(where)
    try:
        with zarr.config.set({}):
            names = {}
            for block in blocks:
                exec(block, names)
            check(names["plane"][0, 0] == 1 and names["ds"]["t"].sum() == 4096 + 2 * 32 * 7.5, "what docs/python.md shows")
    finally:
        os.chdir(here)


def ds_of(location):
    return xr.open_dataset(location, engine="zarr")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", required=True, type=Path)
    a.add_argument("--arrays", type=int, default=120)
    a.add_argument("--seed", type=int, default=1)
    given = a.parse_args()
    where = given.build.resolve()
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    for number in range(given.arrays):
        try:
            one_array(random.Random(given.seed + number), where, number)
        except BaseException:
            print(f"seed {given.seed + number}", file=sys.stderr)
            raise
        shutil.rmtree(where / f"a{number}.zarr")
    errors(where)
    python_values.exact(where, check, same)
    python_values.fills(where, check, same)
    python_values.lists(where, check, same)
    python_values.any_length(where, check, same)
    python_values.memory(check)
    groups(where)
    texts(where)
    single_elements(where)
    values_of_json(where)
    far_apart(where, random.Random(given.seed))
    lists_written(where)
    arrays_of_others(where)
    folder_gone(where)
    paths(where)
    texts_written(where, random.Random(given.seed))
    handles(where)
    updates(where)
    xarrays(where, random.Random(given.seed))
    trees(where)
    elsewhere(where)
    engines(where)
    uneven(where)
    grown(where)
    erased_by_others(where)
    sent(where)
    unreadable(where)
    page(where)
    print(f"python: {done} passed, 0 failed ({given.arrays} arrays, library {ozarr.version()})")


main()
