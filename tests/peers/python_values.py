"""What the Python package makes of values: those that fit are kept to the last bit, others are refused. For python_check.py, whose `check` and
`same` count."""
import ctypes as C, datetime, decimal, json, mmap, os, pickle, warnings
import numpy as np, xarray as xr, zarr
import ozarr
from ozarr import _library, _raw as raw, _types
from ozarr.xarray import OzarrBackendEntrypoint


def exact(where, check, same):
    """What would become another number, text or place is an error; what fits is kept to the last bit."""
    z = ozarr.create(where / "big.zarr", (2,), "u8")
    z[...] = [2**63 + 1, 1]
    check(z[...].tolist() == [2**63 + 1, 1], "integers of 64 bits without a sign")
    # A list of floats and integers is an array of floats to numpy, which takes each by itself where it assigns them.
    for given in ([1.0, 2**53 + 1], (2**64 - 1, 0.5), [[np.float32(2), np.uint64(2**63 + 1)]]):
        z[...] = given
        check(z[...].tolist() == [int(one) for one in np.ravel(np.array(given, object))], f"{given} as integers: {z[...]}")
    z.append([1.0, 2**53 + 1])
    check(z[2:].tolist() == [1, 2**53 + 1], "integers beside floats that are appended")
    z.resize((2,))
    i1 = ozarr.create(where / "i1.zarr", (3,), "i1")
    table = ozarr.create(where / "table.zarr", (3, 300), "i4", chunks=(2, 100))
    model = np.arange(900).reshape(3, 300)
    table[...] = model
    names = ozarr.create(where / "names.zarr", (3, 2), str)
    words = np.array([["a", "b"], ["c", "d"], ["e", "f"]], object)
    names[...] = words
    raw = ozarr.create(where / "raw.zarr", (1,), bytes)
    flag, when, word = (ozarr.create(where / f"{name}.zarr", (1,), dtype) for name, dtype in (("flag", "?"), ("when", "M8[ns]"), ("word", "S3")))
    pair = ozarr.create(where / "pair.zarr", (1,), [("a", "i1"), ("b", "i8")])
    span, text, blob, single = (ozarr.create(where / f"{name}.zarr", (1,), dtype) for name, dtype in (("span", "m8[ns]"), ("text", "U3"), ("blob", "V3"), ("single", "f4")))
    mixed = ozarr.create(where / "mixed.zarr", (2,), [("a", "i1"), ("s", "S3"), ("t", "M8[ns]"), ("v", "f4", (2,))], zarr_format=2)
    objects = lambda *values: np.array([*values], object)
    late, long = datetime.datetime(3000, 1, 1), datetime.timedelta(days=365000)
    group = ozarr.create_group(where / "exact.zarr")
    create = lambda *given, **choices: lambda: ozarr.create(where / "refused.zarr", *given, **choices)
    for action in (create((2,), "i1", fill_value=300), create((2,), "u1", fill_value=-1), create((2,), "i4", fill_value=1.5), create((2,), "i4", fill_value=float("nan")), create((2,), np.dtype(("f4", (2,)))),
                   lambda: i1.append(np.array([300])), lambda: i1.oindex.__setitem__([0], np.array([300])), lambda: table.read(([0, 1], slice(None)), out=np.zeros((2, 300), "i1")),
                   lambda: table.read(([0, 1], slice(None)), out=np.zeros((5, 2, 300))), lambda: table.resize((1,)), lambda: table.resize((2**64 + 2, 1)), create((4.5,), "i4"),
                   create((3, 5), "i4", dimension_names=("x",)), create((4,), "i4", chunks=(2**64 + 2,)), create((4,), "i4", level=2**40, compressor="zstd"),
                   lambda: table.oindex[[[0, 1], [1, 2]], 0], lambda: table.oindex[np.ones((3, 300), bool)], lambda: raw.write(0, 5), lambda: names.write((0, 0), None),
                   lambda: ozarr.open(f"{where}/i1.zarr\0more"), lambda: group.attrs.__setitem__("a\0b", 1), lambda: group.create("a\0b", (2,)), lambda: ozarr.create(123, (3,)),
                   lambda: pickle.dumps(ozarr.Store.memory()),
                   # What the library has no type for is converted by numpy, which says nothing.
                   lambda: i1.write(0, np.longdouble(300.5)), lambda: i1.write(0, np.array([300.5], object)), lambda: i1.write(0, np.timedelta64(300, "s")), create((2,), "i1", fill_value=np.longdouble(300)),
                   lambda: i1.append(np.array([300], np.longdouble)), lambda: z.write(..., [np.uint64(2**63), np.int64(-1)]), lambda: z.write(0, np.longdouble(-1)), lambda: z.write(..., [1.0, 2**64]), lambda: z.write(..., [float("nan"), 2**53 + 1]), lambda: z.write(..., [1.0, -2**63 - 1]), lambda: flag.write(0, "False"),
                   lambda: when.write(0, np.datetime64("3000-01-01")), lambda: when.write(0, "3000-01-01"), create((2,), "M8[ns]", fill_value=np.datetime64("3000-01-01")),
                   lambda: group.attrs.__setitem__("when", np.datetime64("2000-01-01", "ns")), lambda: group.attrs.put({"when": np.array([5], "m8[ns]")}),
                   # What lies below a mask is nothing that a program wants stored.
                   lambda: i1.write(..., np.ma.array([1, 2, 3], mask=[0, 1, 0])), lambda: i1.write(0, np.ma.masked), lambda: i1.append(np.ma.array([1], mask=[1])), lambda: i1.oindex.__setitem__([0], np.ma.array([1], mask=[1])),
                   lambda: names.write(0, np.ma.array(["x", "y"], object, mask=[0, 1])), lambda: group.__setitem__("masked", np.ma.array([1], mask=[1])),
                   lambda: word.write(0, b"abcd"), lambda: word.append(np.array(["abcd"])), create((2,), "S2", fill_value=b"abc"), lambda: pair.write(0, np.array((300, 1), [("a", "i4"), ("b", "i4")])),
                   lambda: when.write(0, late), lambda: when.write(..., [late]), lambda: when.write(..., objects(late)), lambda: when.write(..., objects("3000-01-01")), lambda: when.append(objects(late)),
                   lambda: when.write(..., np.array(["3000-01-01"], _types.STRING)), lambda: when.write(0, np.timedelta64(5, "s")), lambda: when.write(0, np.uint64(2**63)), lambda: when.write(..., objects(decimal.Decimal(5))),
                   lambda: span.write(0, long), lambda: span.write(..., objects(long, long)[:1]), lambda: i1.write(0, np.datetime64("NaT")), lambda: single.write(0, "1e300"), lambda: single.write(..., objects("1e300")), lambda: single.write(0, np.timedelta64("NaT")),
                   lambda: text.write(..., objects("abcdef")), lambda: text.write(..., np.array(["abcdef"], _types.STRING)), lambda: text.write(0, 123456), lambda: text.write(0, 1.23456), lambda: text.append(objects("abcdef")), lambda: text.write(..., objects(None)), create((1,), "U3", fill_value=123456),
                   lambda: word.write(..., objects(b"abcdef")), lambda: word.write(0, np.datetime64("2020-01-01")), lambda: blob.write(0, b"abcdef"), lambda: blob.write(0, np.void(b"abcde")), lambda: blob.write(0, np.int64(5)), lambda: blob.write(..., objects(b"abcdef")),
                   lambda: mixed.write(0, (1, b"abcdef", 0, 0)), lambda: mixed.write(..., [(1, b"abc", 0, 0), (1, b"abc", late, 0)]), lambda: mixed.write(0, 3), lambda: mixed.write(0, np.array(3)), lambda: mixed.write(0, (1, b"", 0, (0, 1e300))), create((1,), [("a", "i1"), ("s", "S3")], fill_value=3),
                   lambda: pair.write(0, np.array((1, 2), [("b", "i4"), ("a", "i4")])), lambda: pair.write(..., [np.array((1, 2), [("b", "i4"), ("a", "i4")])[()]])):
        try:
            # In programs that make errors of numpy's warnings these come in no other's place.
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                action()
        except (TypeError, ValueError, OverflowError, IndexError, ozarr.Error, C.ArgumentError):
            check(True, "")
        else:
            raise AssertionError(f"not refused: {action.__code__.co_consts} {action.__code__.co_names}")
    same(table[...], model, "what was refused changed nothing")
    for array, value in ((z, np.array([2**63 + 1, 5], np.longdouble)), (i1, np.array([decimal.Decimal("1.5"), -2.5, 3], object)), (i1, np.array([1, 2, 3], "m8[s]")), (when, np.datetime64("NaT")), (when, "2000-01-01"),
                         (when, np.datetime64("2000-01-01")), (word, np.array(["abc"], "U9")), (pair, np.array((-3, 2**60), [("a", "i8"), ("b", "i8")])), (flag, np.longdouble(1)), (i1, np.ma.array([4, 5, 6])),
                         (when, datetime.datetime(2020, 1, 1, 3)), (when, objects(datetime.date(2020, 1, 1))), (when, objects(None)), (when, 5), (span, datetime.timedelta(days=3)), (span, "5"), (single, "1.5"), (single, objects(decimal.Decimal("1.5"))), (text, objects("abc")),
                         (text, np.array(["ab"], object)), (text, 12), (text, b"ab"), (word, "abc"), (word, objects("abc")), (blob, b"ab"), (blob, np.void(b"abc")), (blob, objects(b"abc")), (blob, np.array([b"abc"], "S9"))):
        array[...] = value
        same(array[...], np.broadcast_to(np.asarray(value).astype(array.dtype), array.shape), f"{value!r} fits")
    for array in (when, span, text, blob, pair, mixed, i1):
        array[0:0] = []
    text[...] = np.array(["ab"], _types.STRING)
    check(text[0] == "ab", "a text of any length that fits")
    for value in ([(1, b"abc", np.datetime64("2020-01-01"), (1, 2)), (2, "x", datetime.datetime(2020, 1, 2), [3, 4.5])], np.array([(1, "abc", "2020-01-01", (1, 2)), (2, "x", "2020-01-02", (3, 4.5))], [("a", "i8"), ("s", "U9"), ("t", "M8[s]"), ("v", "f8", (2,))])):
        mixed[...] = value
        same(mixed[...], np.array(value, mixed.dtype), f"{value} fits")
        mixed[1] = value[0]
        same(mixed[1], mixed[0], f"{value[0]} fits")
    check(len(group.attrs) == 0 and list(group) == [], "a group after names that were refused")
    for key in (np.s_[::2**70], np.s_[1::-2**70], np.s_[:0:2**70], ([1, 2], np.s_[::2**70]), (np.s_[::2**70], [3, 1])):
        same(table[key], model[key], f"{key}")
    same(table.oindex[::2**70, [3, 1]], model[::2**70, [3, 1]], "a step of any size by oindex")
    for key in (np.array([1, 2], "u1"), np.array([1, -2], "i1"), np.array([0, 2], "u8")):
        same(table[:, key], model[:, key], f"{key.dtype} as indices")
    for key in ((slice(None, None, -1), [0, 1]), (np.empty((2, 0), int), 0), (slice(0, 0), [1, 1]), ([], None, slice(None)), (None, [2, 0], slice(None, None, -1))):
        same(names[key], words[key], f"texts by {key}")
    table[0] = np.ones((1, 1, 300))
    check(table[0].sum() == 300, "values with more dimensions of length 1")
    table.append(np.zeros((3, 2)), axis=-1)
    check(table.shape == (3, 302), "the last dimension")
    for version in (2, 3):
        fill = ozarr.create(where / f"fill{version}.zarr", (1,), bytes, fill_value=b"\xff\0", zarr_format=version)
        check((fill.fill_value, fill[0]) == (b"\xff\0", b"\xff\0"), "a fill value of bytes")
        check(zarr.open_array(where / f"fill{version}.zarr", mode="r")[...].tolist() == [b"\xff\0"], "a fill value of bytes for zarr-python")
    z.set("write_fill_chunks", True), z.set("write_fill_chunks", np.False_), ozarr.set_option("strict", True), ozarr.set_option("strict", False)
    check(z.get_setting("write_fill_chunks") == ozarr.get_option("strict") == "0", "settings by True and False")
    ozarr.Store(where / "exact.zarr", cloud__anonymous=True, cloud__path_style=np.False_).close()
    check(ozarr.create(os.fsencode(where / "bytes.zarr"), (3,)).shape == (3,) and (where / "bytes.zarr").is_dir(), "a location as bytes")
    store = ozarr.Store(where / "exact.zarr", file__sync="none")
    ozarr.create(f"zip:{where}/pickled.zip/t", (3,), "i4", fill_value=7).close()
    same(pickle.loads(pickle.dumps(ozarr.open(f"zip:{where}/pickled.zip")["t"]))[...], [7, 7, 7], "a pickled array of an archive with a scheme")
    again = pickle.loads(pickle.dumps(store))
    del again
    check(store.open("").list() == {}, "a store whose copy has ended")
    ozarr.Store(where / "exact.zarr", "r+").create("inner/z", (2,), "i4", fill_value=4)
    for node in (store.open("inner/z"), store.open("inner")["z"]):
        same(pickle.loads(pickle.dumps(node))[...], [4, 4], "a pickled node of a store with options")


def fills(where, check, same):
    """Fill values of types without a number are what was given, in any order of bytes and with any places of fields; what is no single value is refused."""
    places = np.dtype({"names": ["a", "b"], "formats": ["i4", "f4"], "offsets": [4, 0]})
    aligned = np.dtype([("a", "i1"), ("b", "f8")], align=True)
    cases = [(">M8[s]", np.datetime64("2020-01-01")), (">m8[s]", np.timedelta64(5, "m")), (">U3", "abc"), ("S3", "abc"), ([("a", ">i4"), ("b", ">U2")], (1, "x")), (places, (1, 2.0)), (places, np.array((1, 2.0), places)), (aligned, (1, 2.0)),
             (aligned, np.array((1, 2.0), aligned)[()]), (">i4", 5), ("u8", 2**64 - 1), ("f4", np.array(1.5)), ("V4", b"abcd"), ([("a", "i4"), ("v", [("b", "V2")])], (1, (b"ab",)))]
    for version in (2, 3):
        for number, (dtype, value) in enumerate(cases):
            z = ozarr.create(where / f"f{number}.zarr", (2,), dtype, fill_value=value, zarr_format=version, mode="overwrite")
            want = np.array(value, dtype)
            for name in z.dtype.names or [None]:
                found, fill, expected = (part if name is None else part[name] for part in (z[1], z.fill_value, want))
                check(found == expected and fill == expected, f"{dtype} {value}, format {version}: {z[1]}")
            if z.dtype.names is None:
                same(zarr.open_array(where / f"f{number}.zarr", mode="r")[...], [want, want], f"{dtype} {value}, format {version}, for zarr-python")
            z[0] = value
            check(z[0] == z[1], f"{dtype} {value} written")
            if version == 3 and "V" in str(dtype):
                check('"raw_bytes"' in json.dumps(z.metadata["data_type"]), f"{dtype} by the name that zarr-python knows: {z.metadata['data_type']}")
    for choices in ({"fill_value": []}, {"fill_value": [1, 2]}, {"fill_value": np.arange(0)}, {"fill_value": [5]}, {"fill_value": np.ma.masked}, {"dtype": "U3", "fill_value": ["a"]}, {"dtype": "U3", "fill_value": np.ma.masked}, {"dtype": str, "fill_value": np.ma.masked},
                    {"level": 19}, {"level": 99999}, {"level": 0}):
        try:
            ozarr.create(where / "refused.zarr", (1,), **{"dtype": "i4"} | choices)
        except (TypeError, ValueError):
            continue
        raise AssertionError(f"not refused: {choices}")


def lists(where, check, same):
    """What is read by lists, or of any length, into memory of another type, and lists of numbers as elements: as exact as the rest."""
    words = ozarr.create(where / "words.zarr", (2, 2), "U6", fill_value="abcdef")
    late = ozarr.create(where / "late.zarr", (1, 2), "M8[s]", fill_value=np.datetime64("3000-01-01", "s"))
    texts = ozarr.create(where / "any.zarr", (2,), str, fill_value="abcdef")
    location = where / "numbers.zarr"
    location.mkdir()
    (location / ".zarray").write_text('{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|O", "compressor": null, "fill_value": null, "order": "C", '
                                      '"filters": [{"id": "vlen-array", "dtype": "<i1"}]}')
    numbers = ozarr.open(location, "r+")

    def each(*values):
        out = np.empty(len(values), object)
        for index, value in enumerate(values):
            out[index] = value
        return out

    for action in (lambda: words.read(([0, 1], slice(None)), out=np.empty((2, 2), "U3")), lambda: late.read(([0], slice(None)), out=np.empty((1, 2), "M8[ns]")), lambda: late.read(([0], slice(None)), out=np.empty((1, 2), "i1")),
                   lambda: texts.read(..., out=np.empty(2, "U3")), lambda: texts.read([1], out=np.empty(1, "S4")), lambda: numbers.write(0, each(np.array([300]))), lambda: numbers.write(..., each([1], [-200])), lambda: numbers.write(0, each(np.array([[1, 2], [3, 4]]))), lambda: numbers.write(0, 5)):
        try:
            action()
        except (TypeError, OverflowError):
            continue
        raise AssertionError(f"not refused: {action.__code__.co_consts} {action.__code__.co_names}")
    check(words.read(([0, 1], slice(None)), out=np.empty((2, 2), "U9")).tolist() == [["abcdef"] * 2] * 2, "texts into longer ones")
    check(texts.read(..., out=np.empty(2, object)).tolist() == ["abcdef"] * 2 and texts.read([1], out=np.empty(1, "U6"))[0] == "abcdef", "texts of any length into others")
    for key in (([0], slice(None)), ..., ([[0, 0]], [[0, 1]])):
        same(late.read(key, out=np.empty((1, 2), "M8[D]")), np.array([["3000-01-01"] * 2], "M8[D]"), f"times into coarser ones by {key}")
        for unfit in ("M8[ns]", "i1"):
            try:
                late.read(key, out=np.empty((1, 2), unfit))
            except OverflowError:
                continue
            raise AssertionError(f"not refused: times into {unfit} by {key}")
    same(words.read(0, out=np.empty(2, "U9")[::-1]), ["abcdef"] * 2, "texts into longer ones in the other direction")
    check(late.read((0, 1), out=np.empty((), "M8[D]")) == np.datetime64("3000-01-01"), "one time into a coarser one")
    numbers[...] = each(np.array([1, -2]), [3, 4, 5])
    texts[0] = ["abc"]
    check(texts[0] == "abc", "a list of one text for one element")
    check([part.tolist() for part in numbers[...]] == [[1, -2], [3, 4, 5]], "lists of numbers")


def any_length(where, check, same):
    """Fill values of elements of any length are what an element is; so are those of zarr-python 2, which has 0 for nothing."""
    cases = [({"id": "vlen-bytes"}, 0, b""), ({"id": "vlen-bytes"}, "YWI=", b"ab"), ({"id": "vlen-utf8"}, 0, ""), ({"id": "json2"}, {"a": [1]}, {"a": [1]}), ({"id": "json2"}, 0, 0), ({"id": "vlen-array", "dtype": "<i4"}, 0, [])]
    for number, (codec, fill, want) in enumerate(cases):
        location = where / f"any_length{number}.zarr"
        location.mkdir()
        (location / ".zgroup").write_text('{"zarr_format": 2}')
        (location / "v").mkdir()
        (location / "v/.zattrs").write_text('{"_ARRAY_DIMENSIONS": ["x"]}')
        (location / "v/.zarray").write_text(json.dumps({"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|O", "compressor": None, "fill_value": fill, "order": "C", "filters": [codec]}))
        z = ozarr.open(location / "v")
        found = [one.tolist() if isinstance(one, np.ndarray) else one for one in (z.fill_value, z[0])]
        check(found == [want, want], f"the fill value {fill!r} of {codec['id']}, and an element: {found}")
        with xr.open_dataset(location, engine=OzarrBackendEntrypoint) as ds:
            found = ds.v.values.tolist()
            check(len(found) == 2 and ("vlen-" in codec["id"] or found == [want, want]), f"{codec['id']} of {fill!r} by xarray: {found}")


def memory(check):
    """Texts that another thread makes longer between two calls, and more bytes than a C int counts."""
    lengths = [600, 5000, 5000]

    def growing(buffer, capacity, size):
        size._obj.value = lengths.pop(0)
        if size._obj.value >= capacity:
            raise ozarr.Error("too small", raw.OZARR_ERR_BUFFER_SIZE)
        buffer.value = b"x" * size._obj.value

    check(_library.text(growing) == "x" * 5000 and not lengths, "a text that becomes longer while it is read")
    size = 2**32 + 5
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)) as room:
        room[-2:] = b"yz"
        first = C.c_char.from_buffer(room)
        found = _library.memory_at(C.addressof(first), size)
        check(found.nbytes == size and found[-2:].tobytes() == b"yz", f"{size} bytes of memory: {found.nbytes}")
        del found, first
