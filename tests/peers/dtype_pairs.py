#!/usr/bin/env python3
"""Structs, text, raw bytes and times: both ways between the library and its peers, bit for bit; and their conversions against numpy's.

  dtype_pairs.py --library build/prefix/lib/libozarr.so --build DIR [--particles build/bin/particles]

Types x formats x byte orders x codecs. `out`: the library writes, zarr-python reads, and tensorstore the fields of structs. `in`: zarr-python
or tensorstore writes, the library reads: the elements, the fill value, and each field of a struct by itself. `time`: every pair of units,
read through the library and by `astype`. `text`: S and U in the other form. The last line is `N passed, N failed`.
"""
import argparse, base64, ctypes as C, itertools, json, shutil, subprocess, sys, warnings
from fractions import Fraction
from pathlib import Path

import numcodecs
import numpy as np
import tensorstore as ts
import zarr

warnings.simplefilter("ignore")
i64 = C.c_int64
BY_DTYPE = 100
UNITS = "Y M W D h m s ms us ns ps fs as 10s 25ns 3M 12h".split()
STRUCTS = {
    "flat": [("x", "<f8"), ("id", "<i4")],
    "mixed": [("a", ">i2"), ("b", "<f4"), ("c", "|u1")],
    "nested": [("field_a", ">i2"), ("field_b", [("subfield_c", ">f4"), ("subfield_d", "<i2")])],
    "others": [("s", "|S5"), ("u", "<U3"), ("t", "<M8[10s]"), ("z", "<c16"), ("f", "|b1"), ("v", "|V3")],
    "shapes": [("x", "<f4", (2, 3)), ("n", [("k", ">u2", (2,))], (2,)), ("y", "|i1")],
}
TYPES = [np.dtype(t) for t in "S1 S5 S33 U1 <U4 >U4 V1 V3 V16".split()] + [np.dtype(f"{k}8[{u}]") for k in "Mm" for u in UNITS] + [np.dtype(v) for v in STRUCTS.values()]
NAMES = {np.dtype(v): k for k, v in STRUCTS.items()}
ROOT = Path(__file__).resolve().parent.parent.parent
CTYPES = {"size_t": C.c_size_t} | {n: C.c_int32 for n in ("int32_t", "ozarr_order", "ozarr_type", "ozarr_overflow")}


class Library:
    def __init__(self, path):
        self.lib = C.CDLL(path)
        self.lib.ozarr_last_error.restype = C.c_char_p
        structs = json.loads((ROOT / "abi/ozarr.json").read_text())["structs"]
        members = next(s["members"] for s in structs if s["name"] == "ozarr_memory")
        fields = [(m["name"], C.c_void_p if "*" in m["c"] else CTYPES[m["c"]]) for m in members]
        self.Memory = type("Memory", (C.Structure,), {"_fields_": fields})

    def __call__(self, name, *args):
        status = getattr(self.lib, "ozarr_" + name)(*args)
        if status:
            raise AssertionError(f"{name}: {status}: {self.lib.ozarr_last_error().decode()}")

    def handle(self, name, *args):
        h = C.c_void_p()
        self(name, *args, C.byref(h))
        return h

    def dtype(self, d):
        return self.handle("dtype_parse", json.dumps(descr(d)).encode(), 2)

    def memory(self, a, d, field=None):
        m = self.Memory()
        C.memset(C.byref(m), 0, C.sizeof(m))
        m.struct_size, m.data, m.size, m.type = C.sizeof(m), a.ctypes.data, a.nbytes, BY_DTYPE
        m.dtype = d.value if d else None
        self.keep = field.encode() if field else None
        m.field = C.cast(C.c_char_p(self.keep), C.c_void_p).value if field else None
        return C.byref(m)

    def read(self, array, shape, d, field=None):
        """Elements as numpy's native type `d`, of the whole array or one field of it."""
        h, out = self.dtype(d), np.zeros(shape, d.newbyteorder("="))
        try:
            self("array_read_ex", array, None, self.memory(out, h, field))
        finally:
            self.lib.ozarr_dtype_free(h)
        return out

    def create(self, where, d, shape, chunks, fmt, fill, big=False, codecs=None, compressor=None, filters=None):
        h = self.dtype(d)
        spec = self.handle("spec_new_dtype", h, len(shape), (i64 * len(shape))(*shape))
        self("spec_set_zarr_format", spec, fmt)
        self("spec_set_chunks", spec, (i64 * len(chunks))(*chunks))
        native = np.ascontiguousarray(fill.astype(d.newbyteorder("=")))
        self("spec_set_fill_dtype", spec, h, C.c_void_p(native.ctypes.data), C.c_size_t(native.nbytes))
        if fmt == 2:
            self("spec_set_member_json", spec, b"compressor", json.dumps(compressor).encode())
            self("spec_set_member_json", spec, b"filters", json.dumps(filters).encode())
        else:
            self("spec_set_compressor", spec, (codecs or "none").encode(), -1)
        array = self.handle("array_create_ex", str(where).encode(), spec, 1)
        self.lib.ozarr_spec_free(spec)
        self.lib.ozarr_dtype_free(h)
        return array


def descr(d):
    """What a `.zarray` has."""
    if d.fields is None:
        return d.str
    def one(name):
        f = d.fields[name][0]
        base, shape = f.subdtype or (f, ())
        return [name, descr(base)] + ([list(shape)] if shape else [])
    return [one(n) for n in d.names]


def has_shapes(d):
    return d.fields is not None and any(f.subdtype or has_shapes(f) for f, *_ in d.fields.values())


def orders(d):
    """The byte orders of all fields."""
    d = d.subdtype[0] if d.subdtype else d
    if d.fields is not None:
        return set().union(*(orders(f) for f, *_ in d.fields.values()))
    return {">"} if d.str[0] == ">" else {"<"} if d.str[0] == "<" else set()


def values(rng, d, shape):
    """Elements whose text is text and whose bools are 0 and 1."""
    base, sub = d.subdtype or (d, ())
    if sub:
        return values(rng, base, tuple(shape) + sub)
    out = np.zeros(shape, d)
    if d.fields is not None:
        for n in d.names:
            out[n] = values(rng, d.fields[n][0], shape)
    elif d.kind == "S":
        out[...] = np.array([bytes(rng.integers(1, 256, rng.integers(0, d.itemsize + 1), np.uint8)) for _ in range(out.size)], d).reshape(shape)
    elif d.kind == "U":
        letters = list("aé€𝄞z9")
        out[...] = np.array(["".join(rng.choice(letters, rng.integers(0, d.itemsize // 4 + 1))) for _ in range(out.size)], d).reshape(shape)
    elif d.kind == "b":
        out[...] = rng.integers(0, 2, shape).astype(bool)
    else:
        out = np.frombuffer(rng.bytes(out.nbytes), d).reshape(shape).copy()
    return out


def same(got, want):
    """The same bytes in native order."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    d = want.dtype.newbyteorder("=")
    got, want = np.ascontiguousarray(got.astype(d)), np.ascontiguousarray(want.astype(d))
    assert got.tobytes() == want.tobytes(), f"elements differ: {got.ravel()[:3]}, expected {want.ravel()[:3]}"


def by_tensorstore(where, d, fmt, want):
    for n in d.names:
        z = ts.open({"driver": "zarr3" if fmt == 3 else "zarr", "field": n, "kvstore": {"driver": "file", "path": f"{where}/"}}).result()
        same(z.read().result(), want[n])


def knows_tensorstore(d, fmt):
    """It reads structs of numbers, field by field; no text, no times, nothing nested."""
    return d.fields is not None and all((f.subdtype[0] if f.subdtype else f).kind in "biufc" for f, *_ in d.fields.values())


def cases():
    """(name, type, format, codec)."""
    for d, fmt, codec in itertools.product(TYPES, (2, 3), ("none", "zstd", "blosc")):
        for big in ([False, True] if fmt == 2 and d.kind in "UMm" and d.str[0] == "<" else [False]):
            if fmt == 3 and (has_shapes(d) or len(orders(d)) > 1):
                continue
            t = d.newbyteorder(">") if big else d
            yield f"{NAMES.get(d, t.str)}-v{fmt}-{codec}", t, fmt, codec


COMPRESSORS = {"none": None, "zstd": {"id": "zstd", "level": 1}, "blosc": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}}


def out_case(oz, where, rng, d, fmt, codec):
    shape, chunks = (7, 5), (3, 2)
    v, fill = values(rng, d, shape), values(rng, d, ())
    filters = [{"id": "shuffle", "elementsize": d.itemsize}] if codec == "zstd" and fmt == 2 and d.itemsize > 1 else None
    a = oz.create(where, d, shape, chunks, fmt, fill, codecs=codec, compressor=COMPRESSORS[codec], filters=filters)
    native, h = np.ascontiguousarray(v.astype(d.newbyteorder("="))), oz.dtype(d)
    part = np.ascontiguousarray(native[:6])
    keep = [(i64 * 2)(0, 0), (i64 * 2)(6, 5)]
    region = (C.c_size_t * 5)(40, C.addressof(keep[0]), C.addressof(keep[1]), 0, 0)
    oz("array_write_ex", a, C.byref(region), oz.memory(part, h))
    oz.lib.ozarr_dtype_free(h)
    oz("array_close", a)
    want = v.copy()
    want[6] = fill
    document = json.loads((where / (".zarray" if fmt == 2 else "zarr.json")).read_text())
    if fmt == 2:
        assert document["dtype"] == descr(d), f"dtype {document['dtype']}"
    if fmt == 3 and d.fields is not None:
        assert document["data_type"]["name"] == "struct"
    check_in(oz, where, d, fmt, want, fill)
    # zarr-python does not know `struct`, nor nested structs of format 2.
    if not has_shapes(d) and not (fmt == 3 and d.fields is not None) and NAMES.get(d) != "nested":
        z = zarr.open_array(where, mode="r")
        same(z[...], want)
        same(np.asarray(z.fill_value, d), fill)
    if knows_tensorstore(d, fmt) and not filters:
        by_tensorstore(where, d, fmt, want)
    if has_shapes(d):
        # numpy says what the bytes are.
        first = np.frombuffer((where / "0.0").read_bytes(), d).reshape(chunks) if codec == "none" else None
        if first is not None:
            assert first.tobytes() == np.ascontiguousarray(v[:3, :2]).tobytes()
        assert base64.b64decode(document["fill_value"]) == fill.tobytes()


def check_in(oz, where, d, fmt, want, fill):
    a = oz.handle("array_open", str(where).encode(), b"r")
    try:
        same(oz.read(a, want.shape, d), want)
        native = np.zeros((), d.newbyteorder("="))
        if fill is not None:
            oz("array_fill_value", a, C.c_void_p(native.ctypes.data), C.c_size_t(native.nbytes), None)
            same(native, fill)
        for n in d.names or ():
            f = d.fields[n][0]
            base, sub = f.subdtype or (f, ())
            h, out = oz.dtype(base), np.zeros(want.shape + sub, base.newbyteorder("="))
            oz("array_read_ex", a, None, oz.memory(out, h, n))
            oz.lib.ozarr_dtype_free(h)
            same(out, want[n])
    finally:
        oz("array_close", a)


def in_case(oz, where, rng, d, fmt, codec):
    if has_shapes(d):
        # zarr-python refuses fields with shapes, tensorstore reads and writes numbers only: numpy wrote this.
        return in_by_hand(oz, where, rng, d)
    v, fill = values(rng, d, (7, 5)), values(rng, d, ())
    compressors = None if codec == "none" else numcodecs.get_codec(dict(COMPRESSORS[codec])) if fmt == 2 else (
        zarr.codecs.ZstdCodec(level=1) if codec == "zstd" else zarr.codecs.BloscCodec(cname="lz4", typesize=d.itemsize, shuffle="shuffle"))
    z = zarr.create_array(str(where), shape=(7, 5), chunks=(3, 2), dtype=d, zarr_format=fmt, compressors=compressors, fill_value=fill[()])
    z[:6] = v[:6]
    want = v.copy()
    want[6] = fill
    check_in(oz, where, d, fmt, want, fill)


def in_by_hand(oz, where, rng, d):
    v, fill = values(rng, d, (4, 2)), values(rng, d, ())
    where.mkdir(parents=True)
    (where / ".zarray").write_text(json.dumps({"zarr_format": 2, "shape": [4, 2], "chunks": [2, 2], "dtype": descr(d), "order": "C", "filters": None,
                                               "compressor": None, "fill_value": base64.b64encode(fill.tobytes()).decode()}))
    (where / "0.0").write_bytes(np.ascontiguousarray(v[:2]).tobytes())
    v[2:] = fill
    check_in(oz, where, d, 2, v, fill)


def tensorstore_in(oz, where, rng, d, fmt):
    v = values(rng, d, (7, 5))
    for n in d.names:
        if fmt == 2:
            meta = {"shape": [7, 5], "chunks": [3, 2], "dtype": descr(d), "compressor": {"id": "zlib", "level": 1}, "order": "F"}
        else:
            fields = [{"name": n, "data_type": d.fields[n][0].newbyteorder("=").name} for n in d.names]
            meta = {"shape": [7, 5], "data_type": {"name": "struct", "configuration": {"fields": fields}},
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 2]}},
                    "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "gzip", "configuration": {"level": 1}}]}
        z = ts.open({"driver": "zarr3" if fmt == 3 else "zarr", "field": n, "kvstore": {"driver": "file", "path": f"{where}/"}, "metadata": meta}, create=True, open=True).result()
        z.write(np.ascontiguousarray(v[n])).result()
    check_in(oz, where, d, fmt, v, None)


def length(unit):
    """The length of a unit in seconds; a year is the mean one."""
    digits = "".join(c for c in unit if c.isdigit())
    day = 86400
    seconds = {"Y": Fraction(146097 * day, 400), "M": Fraction(146097 * day, 4800), "W": 7 * day, "D": day, "h": 3600, "m": 60, "s": 1}
    name = unit[len(digits):]
    return int(digits or 1) * Fraction(seconds[name] if name in seconds else Fraction(1, 1000 ** ("ms us ns ps fs as".split().index(name) + 1)))


def time_case(oz, where, rng, kind, a, b):
    """Counts of one unit in another. Where numpy's integers overflow on the way, exact fractions say what spans become."""
    src, dst = np.dtype(f"{kind}8[{a}]"), np.dtype(f"{kind}8[{b}]")
    n = np.concatenate([np.arange(-300, 300), rng.integers(-10**5, 10**5, 200), rng.integers(-10**9, 10**9, 100), [np.iinfo("i8").min]])
    ratio = length(a) / length(b)
    n = np.array([k for k in n if k == np.iinfo("i8").min or abs(int(k) * ratio) < 2**62])
    exact = np.array([k if k == np.iinfo("i8").min else int(k) * ratio // 1 for k in map(int, n)], "i8")
    months = [u.lstrip("0123456789") in "YM" for u in (a, b)]
    try:
        want = n.view(src).astype(dst).view("i8")
    except OverflowError:
        if kind == "M" and months[0] != months[1]:
            return
        want = exact
    if kind == "m" and months[0] != months[1]:
        want = exact
    # Between months and 25 ns numpy goes by way of a nanosecond count that wraps.
    if b == "25ns" and months[0]:
        n, want, exact = (x[np.abs(n) < 60] for x in (n, want, exact))
    array = oz.create(where, src, n.shape, (100,), 2, np.zeros((), src))
    h = oz.dtype(src)
    oz("array_write_ex", array, None, oz.memory(n, h))
    oz.lib.ozarr_dtype_free(h)
    got = oz.read(array, n.shape, dst).view("i8")
    oz("array_close", array)
    bad = np.flatnonzero(got != want)
    assert not bad.size, f"{n[bad[0]]} becomes {got[bad[0]]}, expected {want[bad[0]]} ({exact[bad[0]]})"


def text_case(oz, where, rng, src, dst):
    src, dst = np.dtype(src), np.dtype(dst)
    words = np.array(["", "a", "abc", "zzzz"], "U4")
    array = oz.create(where, src, words.shape, (3,), 2, np.zeros((), src))
    h, data = oz.dtype(src), np.ascontiguousarray(words.astype(src.newbyteorder("=")))
    oz("array_write_ex", array, None, oz.memory(data, h))
    oz.lib.ozarr_dtype_free(h)
    same(oz.read(array, words.shape, dst), words.astype(dst))
    oz("array_close", array)


def particles_case(oz, where, rng, program):
    """The example's own store, as zarr-python sees it."""
    where.mkdir()
    p = subprocess.run([Path(program).resolve()], cwd=where, capture_output=True, text=True)
    expected = Path(__file__).resolve().parent.parent.parent / "examples" / "particles.txt"
    assert p.returncode == 0 and p.stdout == expected.read_text(), f"printed {p.stdout!r} {p.stderr!r}"
    z = zarr.open_array(where / "snapshot.zarr" / "particles", mode="r")[...]
    i = np.arange(8)
    same(z["x"], 0.5 * i), same(z["y"], (-i).astype("f8")), same(z["z"], 100.0 + i), same(z["id"], (i * i).astype("i4"))
    mass = 1.0 + i % 3
    same(z["mass"], (mass / mass.sum()).astype("f4"))
    assert [k for k in z["kind"]] == [b"star" if k % 2 else b"gas" for k in i]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--library", required=True, help="libozarr.so")
    ap.add_argument("--build", default="build/dtypes", help="folder for the stores")
    ap.add_argument("--particles", help="the example particles, whose store zarr-python reads")
    ap.add_argument("--only", default="", help="cases whose name contains this")
    args = ap.parse_args()
    build = Path(args.build).resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    oz, passed, failed, count = Library(args.library), 0, 0, 0
    todo = []
    for name, d, fmt, codec in cases():
        todo.append((f"out {name}", out_case, (d, fmt, codec)))
        # numcodecs takes no times within structs.
        if not (NAMES.get(d) == "others" and fmt == 2 and codec != "none"):
            todo.append((f"in {name}", in_case, (d, fmt, codec)))
    for fmt, (k, v) in itertools.product((2, 3), STRUCTS.items()):
        d = np.dtype(v)
        if knows_tensorstore(d, fmt) and not (fmt == 3 and (has_shapes(d) or len(orders(d)) > 1)):
            todo.append((f"in tensorstore-{k}-v{fmt}", tensorstore_in, (d, fmt)))
    for kind, a, b in itertools.product("Mm", UNITS, UNITS):
        todo.append((f"time {kind}8 {a} {b}", time_case, (kind, a, b)))
    for src, dst in itertools.product(["S4", "S9", "U4", ">U6"], ["S4", "S5", "U4", "U7"]):
        todo.append((f"text {src} {dst}", text_case, (src, dst)))
    if args.particles:
        todo.append(("example particles", particles_case, (args.particles,)))
    for n, (name, f, given) in enumerate(todo):
        if args.only not in name:
            continue
        count += 1
        try:
            f(oz, build / f"{n}.zarr", np.random.default_rng(n), *given)
            passed += 1
        except Exception as e:  # noqa: BLE001
            failed += 1
            print(f"FAIL {name}: {type(e).__name__}: {str(e).splitlines()[0][:300] if str(e) else ''}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
