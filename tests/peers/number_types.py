#!/usr/bin/env python3
"""The numbers that NumPy does not have: ml_dtypes' values as truth for every bit pattern, and arrays both ways with tensorstore and
zarr-python.

  number_types.py --tool BUILD/ozprod --build DIR [--only TEXT]

Truth: an array of every code of a type is read as float64, float32 and every integer that has its numbers; values at, between and beside
all neighbouring numbers are written as float32 and float64, rounded once. Pairs: arrays of any codes in v2 and v3, plain and compressed,
are written by one side and read by the other. zarr-python has none of these types itself; they are registered as its documentation
shows for int2. The last line is `N passed, N failed`.
"""
import argparse, itertools, json, random, shutil, sys, warnings
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

warnings.simplefilter("ignore")
import ml_dtypes
import numcodecs
import numpy as np
import tensorstore as ts
import zarr
from zarr.core.dtype import data_type_registry
from zarr.core.dtype.common import DataTypeValidationError, HasEndianness, HasItemSize
from zarr.core.dtype.wrapper import ZDType

from product import Failures, Plan, commas

INTS = ["int2", "int4", "uint2", "uint4"]
FLOATS = ["bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e4m3fn", "float8_e5m2", "float8_e5m2fnuz",
          "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
TYPES = INTS + FLOATS
BITS = {t: int("".join(c for c in t.split("_")[0] if c.isdigit())) for t in TYPES}
# What tensorstore knows.
TS = {t for t in TYPES if t not in ("uint2", "uint4", "float8_e4m3", "float6_e2m3fn", "float6_e3m2fn")}
SHAPES = [(16, 16), (256,), (5, 7, 3), (65536,), ()]


def dtype(t):
    return np.dtype(getattr(ml_dtypes, t))


def raw(t):
    """The unsigned type of the codes."""
    return np.dtype(f"u{dtype(t).itemsize}")


def codes(t):
    """Every bit pattern, as the library stores it: integers with their sign in the upper bits."""
    c = np.arange(1 << BITS[t]).astype(raw(t))
    return c | np.where(c >> (BITS[t] - 1), 0xFF << BITS[t] & 0xFF, 0).astype(raw(t)) if t in ("int2", "int4") else c


def numbers(t):
    """(codes, their values as float64), without NaN."""
    c = codes(t)
    v = c.view(dtype(t)).astype(np.float64)
    keep = ~np.isnan(v)
    return c[keep], v[keep]


def tidy(t, a):
    """What the library makes of a peer's bytes: only the low bits count."""
    low = np.ascontiguousarray(a).view(raw(t)) & np.array((1 << BITS[t]) - 1, raw(t))
    return codes(t)[low] if t in INTS else low


# ---- truth ----

def nearest(t, x, c, v):
    """The code of the nearest of the values (sorted, with their codes), exactly; ties to even codes. None: beyond them."""
    i = int(np.searchsorted(v, x))
    if i < len(v) and v[i] == x:
        return c[i]
    if i == 0 or i == len(v):
        return None
    below, above = Fraction(float(x)) - Fraction(float(v[i - 1])), Fraction(float(v[i])) - Fraction(float(x))
    up = above < below or above == below and (t == "float8_e8m0fnu" or c[i] % 2 == 0)
    return c[i] if up else c[i - 1]


def plan_truth(plan, t):
    """Every code read as wider types, and values around every number written."""
    c, v = numbers(t)
    n = len(c)

    def array(name, n, kind):
        plan("array", name)
        plan("spec", t, n)
        plan("chunks", max(1, n // 3))
        plan("create", name)

    array(f"{t}-read", n, t)
    plan.whole("write", c, t)
    plan.whole("check", c, t)
    plan.whole("check", v, "float64")
    plan.whole("check", v.astype(np.float32), "float32")
    if np.all(np.isfinite(v)) and np.all(np.abs(v) < 2**15):
        plan.whole("check", np.trunc(v).astype(np.int16), "int16")
        plan.whole("check", np.trunc(v).astype(np.int64), "int64")
    plan.whole("check", v.astype(np.complex128), "complex128")
    for wide in ("float64", "float32"):
        array(f"{t}-written-{wide}", n, t)
        plan.whole("write", v.astype(wide), wide)
        plan.whole("check", c, t)
    if t in INTS:
        for wide in "int8 int16 int32 int64 float16".split() if t[0] == "i" else "uint8 int8 uint32 int64 float16".split():
            array(f"{t}-written-{wide}", n, t)
            plan.whole("write", v.astype(wide), wide)
            plan.whole("check", c, t)
        return

    # Between neighbours: the tie, and the numbers beside it and beside the neighbours. float32 as ml_dtypes rounds it.
    finite = np.isfinite(v)
    order = np.lexsort((c[finite] >> (BITS[t] - 1) if t != "float8_e8m0fnu" else c[finite], v[finite]))
    sc, sv = c[finite][order], v[finite][order]
    keep = np.append(True, sv[1:] != sv[:-1])  # one zero
    if t == "bfloat16":
        some = sorted({int(i) for i in np.linspace(1, len(sv) - 2, 1500)} | set(range(len(sv) // 2 - 200, len(sv) // 2 + 200)))
    sc, sv = sc[keep], sv[keep]
    ties = (sv[1:] + sv[:-1]) / 2
    if t == "bfloat16":
        ties = ties[[i for i in some if i < len(ties)]]
    inf = np.inf
    for wide in ("float64", "float32"):
        w = np.dtype(wide).type
        near = [ties.astype(w)] + [np.nextafter(a.astype(w), w(s)) for a in (ties, sv) for s in (-inf, inf)]
        x = np.unique(np.concatenate(near))
        x = x[(x > sv[0]) & (x < sv[-1])]
        if t == "float8_e8m0fnu":
            x = x[x >= 2.0**-127]
        if wide == "float32":
            want = x.astype(dtype(t)).view(raw(t))
            if t == "float8_e8m0fnu":  # ml_dtypes rounds binary32's subnormal numbers up
                x, want = x[x >= 2.0**-126], want[x >= 2.0**-126]
        else:
            want = np.array([nearest(t, y, sc, sv) for y in x], raw(t))
        # Zeros have the sign of the number that was rounded, where the type has negative zeros.
        value = want.view(dtype(t)).astype(np.float64)
        zero = 0 if "fnuz" in t else 1 << (BITS[t] - 1)
        want = np.where(value == 0, np.where(x < 0, zero, 0), want).astype(raw(t))
        array(f"{t}-rounded-{wide}", len(x), t)
        plan.whole("write", x, wide)
        plan.whole("check", want, t)


# ---- zarr-python's types ----

def registered(t):
    """A data type of zarr-python for one of ml_dtypes."""
    native = dtype(t)

    def to_json(self, zarr_format):
        return {"name": t, "object_codec_id": None} if zarr_format == 2 else t

    def from_json_v2(cls, data):
        if isinstance(data, dict) and data.get("name") == t:
            return cls()
        raise DataTypeValidationError(f"not {t}")

    def from_json_v3(cls, data):
        if data == t:
            return cls()
        raise DataTypeValidationError(f"not {t}")

    def from_native(cls, d):
        if d == native:
            return cls()
        raise DataTypeValidationError(f"not {t}")

    def scalar_from_json(self, data, *, zarr_format):
        if isinstance(data, str) and data.startswith("0x"):
            return np.array([int(data, 16)], raw(t)).view(native)[0]
        return np.array([float(data)]).astype(native)[0]

    def scalar_to_json(self, data, *, zarr_format):
        if t in INTS:
            return int(data)
        f = float(data)
        return "NaN" if f != f else "Infinity" if f == np.inf else "-Infinity" if f == -np.inf else f

    body = dict(
        _zarr_v3_name=t, _zarr_v2_name=t, dtype_cls=type(native), to_json=to_json, _from_json_v2=classmethod(from_json_v2),
        _from_json_v3=classmethod(from_json_v3), from_native_dtype=classmethod(from_native), to_native_dtype=lambda self: native,
        _check_scalar=lambda self, data: True, cast_scalar=lambda self, data: np.array([data]).astype(native)[0],
        default_scalar=lambda self: np.zeros(1, native)[0], from_json_scalar=scalar_from_json, to_json_scalar=scalar_to_json,
        item_size=property(lambda self: native.itemsize))
    if "_check_json_v2" in ZDType.__dict__:
        body |= dict(_check_json_v2=classmethod(lambda cls, data: True), _check_json_v3=classmethod(lambda cls, data: data == t))
    return dataclass(frozen=True, kw_only=True)(type(t, (ZDType, HasItemSize) + ((HasEndianness,) if native.itemsize > 1 else ()), body))


# ---- pairs ----

def fill_of(t, n):
    """A fill value: (its code, its JSON)."""
    if t in INTS:
        return [(codes(t)[0], 0), (codes(t)[-1], int(codes(t)[-1:].view(dtype(t)).astype(int)[0])), (codes(t)[1], 1)][n % 3]
    some = [(codes(t)[i], float(codes(t)[i:i + 1].view(dtype(t)).astype(float)[0])) for i in (1, (1 << BITS[t] - 1) // 2)]
    nan = np.array([np.nan]).astype(dtype(t)).view(raw(t))[0]
    if t[:6] not in ("float6", "float4"):
        some.append((nan & np.array(0x7FFF if BITS[t] == 16 else 0x80 if "fnuz" in t else 0xFF if "e8" in t else 0x7F, raw(t)), "NaN"))
    return some[n % len(some)]


def cases():
    shapes = itertools.cycle(SHAPES)
    for n, (t, fmt, codec, peer) in enumerate(itertools.product(TYPES, (2, 3), ("none", "zstd"), ("tensorstore", "zarr-python"))):
        if peer == "tensorstore" and t not in TS or fmt == 2 and peer == "tensorstore" and t == "float4_e2m1fn" and codec == "zstd":
            continue
        shape = next(shapes)
        (fill, fill_json), whole = fill_of(t, n), False
        # tensorstore has no fill values of v2 for float4, and takes the bits of float8_e8m0fnu's for a float32's.
        if peer == "tensorstore" and t == "float4_e2m1fn" and fmt == 2:
            fill_json = None
        if peer == "tensorstore" and t == "float8_e8m0fnu":
            fill, fill_json, whole = np.array(127, np.uint8), 1.0, True
        yield dict(id=f"{t}-v{fmt}-{codec}-{peer}", type=t, format=fmt, codec=codec, peer=peer, shape=shape, fill=fill, fill_json=fill_json, whole=whole,
                   chunks=tuple(max(1, -(-n // 2)) for n in shape))


def metadata(a):
    serial = {"name": "bytes", "configuration": {"endian": "little"}} if raw(a["type"]).itemsize > 1 else {"name": "bytes"}
    if a["format"] == 3:
        zstd = [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}] if a["codec"] == "zstd" else []
        return {"shape": list(a["shape"]), "data_type": a["type"], "fill_value": a["fill_json"], "codecs": [serial] + zstd,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(a["chunks"])}}}
    return {"shape": list(a["shape"]), "chunks": list(a["chunks"]), "dtype": a["type"], "fill_value": a["fill_json"], "filters": None, "order": "C",
            "compressor": {"id": "zstd", "level": 1} if a["codec"] == "zstd" else None, "zarr_format": 2, "dimension_separator": "."}


def open_ts(store, a, **kw):
    spec = {"driver": "zarr3" if a["format"] == 3 else "zarr", "kvstore": {"driver": "file", "path": f"{store / a['id']}/"}}
    return ts.open(spec | kw.pop("spec", {}), **kw).result()


def write_peer(store, a):
    v = a["values"].view(dtype(a["type"]))
    if a["peer"] == "tensorstore":
        z = open_ts(store, a, spec={"metadata": metadata(a)}, create=True, open=False)
        where = tuple(slice(0, n) for n in a["written"])
        z[where].write(v[where]).result() if a["shape"] else z.write(v).result()
        return True
    compressor = {2: numcodecs.Zstd(level=1), 3: zarr.codecs.ZstdCodec(level=1)}[a["format"]] if a["codec"] == "zstd" else None
    z = zarr.create_array(store=store, name=a["id"], shape=a["shape"], chunks=a["chunks"], dtype=dtype(a["type"]), zarr_format=a["format"],
                          compressors=compressor, fill_value=a["fill"].reshape(1).view(dtype(a["type"]))[0])
    z[tuple(slice(0, n) for n in a["written"])] = v[tuple(slice(0, n) for n in a["written"])]
    return True


def read_peer(store, a):
    z = open_ts(store, a, open=True, read=True).read().result() if a["peer"] == "tensorstore" else zarr.open_array(store / a["id"], mode="r")[...]
    z = np.asarray(z)
    assert z.dtype == dtype(a["type"]), f"type {z.dtype}"
    got, want = tidy(a["type"], np.ascontiguousarray(z).reshape(-1)), a["want"].reshape(-1)
    # Upper bits are the peer's own matter, values are not.
    values = np.ascontiguousarray(z).reshape(-1).astype(np.float64), want.view(dtype(a["type"])).astype(np.float64)
    bad = np.flatnonzero((got != want) | ~((values[0] == values[1]) | np.isnan(values[1])))
    assert z.shape == a["shape"] and not bad.size, f"{bad.size} of {want.size} differ, the first at {bad[:1]}: {got[bad[:1]]}, expected {want[bad[:1]]}"
    return True


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tool", required=True, help="the program ozprod")
    ap.add_argument("--build", default="build/number-types", help="folder for the stores")
    ap.add_argument("--only", default="", help="arrays whose name contains this")
    args = ap.parse_args()
    build = Path(args.build).resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    failures, passed, rng = Failures(), 0, random.Random(6)
    for t in TYPES:
        data_type_registry.register(t, registered(t))

    plan = Plan()
    for t in TYPES:
        plan_truth(plan, t)
    count = sum(x.startswith("array\t") for x in plan.lines)
    bad = plan.run(args.tool, build / "truth.zarr", "r+", build, "truth")
    failures |= {f"truth {k}": v for k, v in bad.items()}
    passed += 0 if "(run)" in bad else count - len(bad)
    print(f"{count} arrays against the values of ml_dtypes")

    arrays = [a for a in cases() if args.only in a["id"]]
    for a in arrays:
        n = int(np.prod(a["shape"]))
        all_codes = codes(a["type"])
        a["values"] = np.array([all_codes[rng.randrange(len(all_codes))] for _ in range(n)], raw(a["type"])).reshape(a["shape"])
        # A part is written, the rest is the fill value.
        a["written"] = tuple(max(1, n // 2) if d == 0 and not a["whole"] else n for d, n in enumerate(a["shape"]))
        a["want"] = np.full(a["shape"], 0 if a["fill_json"] is None else a["fill"], raw(a["type"]))
        where = tuple(slice(0, n) for n in a["written"])
        a["want"][where] = a["values"][where]

    store_in, store_out, reading, writing = build / "in.zarr", build / "out.zarr", Plan(), Plan()
    store_in.mkdir()
    for a in arrays:
        writing("array", a["id"])
        writing("spec", a["type"], commas(a["shape"]))
        writing("format", a["format"])
        writing("chunks", commas(a["chunks"]))
        writing("filljson", json.dumps(a["fill_json"]))
        m = metadata(a)
        writing(*(("codecs", json.dumps(m["codecs"])) if a["format"] == 3 else ("compressorjson", json.dumps(m["compressor"]))))
        writing("create", a["id"])
        if a["shape"]:
            where = tuple(slice(0, n) for n in a["written"])
            writing.region("wregion", a["values"][where], a["type"], "C", ([0] * len(a["shape"]), a["written"], [1] * len(a["shape"])))
        else:
            writing.whole("write", a["values"], a["type"])
        writing.whole("check", a["want"], a["type"])
        # numcodecs cannot compress what is not NumPy's own.
        a["out"] = a["peer"] == "zarr-python" and a["format"] == 2 and a["codec"] != "none"
        if not a["out"] and failures.attempt(f"the peer writes: {a['id']}", write_peer, store_in, a):
            a["in"] = True
            reading("array", a["id"])
            reading("open", a["id"])
            reading("typeis", a["type"])
            if a["fill_json"] is not None:
                reading("fillis", np.array(a["fill"]).tobytes().hex())
            reading.whole("check", a["want"], a["type"])
    bad_in = reading.run(args.tool, store_in, "r", build, "in")
    bad_out = writing.run(args.tool, store_out, "r+", build, "out")
    failures |= {f"in {k}": v for k, v in bad_in.items()} | {f"out {k}": v for k, v in bad_out.items()}
    for a in arrays:
        if a["id"] in bad_out or "(run)" in bad_out or not failures.attempt(f"the peer reads: {a['id']}", read_peer, store_out, a):
            continue
        passed += a["out"] or a["id"] not in bad_in and "in" in a
    print(f"{len(arrays)} arrays both ways with tensorstore and zarr-python")
    return failures.finish(passed)


if __name__ == "__main__":
    sys.exit(main())
