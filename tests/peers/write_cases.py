#!/usr/bin/env python3
"""The corpus as write cases: the program makes each lossless array anew, the peers read it.

  write_cases.py --program BUILD/ozarr [--build DIR] [--id TEXT] [--sample]     in one of the ways, by turns

The metadata of a case become the options of `ozarr create`, its elements go through `ozarr write`: whole, as random boxes in random
order, and as partial chunks (every second element along a dimension, then the others). What `info` says must be what it says of the
original, and zarr-python and tensorstore must read the same bytes, each of them at least if it can read the original. Cases with parked features
are left out (tests/corpus/parked.txt). The last line is `N passed, N failed`.
"""
import argparse, base64, fnmatch, hashlib, importlib.util, io, json, random, re, shutil, subprocess, sys, warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

warnings.simplefilter("ignore")
import numpy as np
import tensorstore as ts
import zarr

spec = importlib.util.spec_from_file_location("corpus_run", Path(__file__).resolve().parent.parent / "corpus" / "run.py")
corpus = importlib.util.module_from_spec(spec)
spec.loader.exec_module(corpus)

WAYS = ("whole", "boxes", "partial")
# What `info` must say of the copy as of the original.
SAME = "zarr_format shape chunks inner_chunks dtype fill_value codecs order dimension_names attributes".split()


# Features that are read, but by design not written.
READ_ONLY = {"blosc:snappy", "draft"}
# Names of one vendor, which are read; the registered ones stand in other cases.
VENDORS = ("zarrs.", "rectangular")
# What no array is made with: a fill value that the codecs do not give back (cast_value, "fill value"), one that the type does not have (there
# is no zero in float8_e8m0fnu), elements of several bytes without an order.
REFUSED = {"v3-cast-uint8-float32", "v3-dtype-float8_e8m0fnu", "v3-dtype-structured", "v3-dtype-structured-nested"}


def lossy(document):
    """Whether a codec says by what it keeps that it does not keep all."""
    def one(c):
        name, x = (c.get("name", c.get("id")), c.get("configuration", c)) if isinstance(c, dict) else (c, {})
        return name.endswith("zfpy") or (name == "zfp" and x.get("mode") != "reversible")
    return any(one(c) for c in document.get("codecs") or [*(document.get("filters") or []), *filter(None, [document.get("compressor")])])


def writable(c, original):
    """Whether the case can be made anew: in a folder, with all its elements, by names that are written."""
    if c["id"] in REFUSED or not original.is_dir():
        return False
    document, _ = document_of(original)
    grid, keys = (document.get(k) or "" for k in ("chunk_grid", "chunk_key_encoding"))
    names = [x["name"] if isinstance(x, dict) else x for x in (grid, keys)]
    return not any(n.startswith(VENDORS) for n in names) and not lossy(document)


class Fault(Exception):
    pass


def run(program, *args, data=None):
    p = subprocess.run([program, *map(str, args)], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **({} if data is not None else {"stdin": subprocess.DEVNULL}))
    if p.returncode:
        raise Fault(f"ozarr {args[0]}: {p.stderr.decode().strip()[:200]}")
    return p.stdout


def commas(v):
    return ",".join(map(str, v))


def plain(values):
    """The elements as the corpus has them: packed, C order, little-endian, bits as they are."""
    a = np.array(values, order="C", copy=True)
    if a.dtype.byteorder == ">" or (a.dtype.byteorder == "=" and sys.byteorder == "big"):
        a = a.byteswap().view(a.dtype.newbyteorder("<"))
    elif a.dtype.names:
        a = a.astype(a.dtype.newbyteorder("<"))
    return a.tobytes()


def by_zarr(at):
    return plain(zarr.open_array(str(at), mode="r")[...])


def by_tensorstore(at):
    driver = "zarr3" if (at / "zarr.json").exists() else "zarr"
    a = ts.open({"driver": driver, "kvstore": {"driver": "file", "path": str(at) + "/"}}, open=True, read=True).result()
    if a.dtype.name in ("char", "byte"):
        raise TypeError("texts and raw bytes are something else to tensorstore")
    return plain(a.read().result())


PEERS = (("zarr-python", by_zarr), ("tensorstore", by_tensorstore))


def attempt(f, *x):
    """What `f` gives, or its error as a text."""
    try:
        return f(*x)
    except Exception as e:  # noqa: BLE001
        return f"{type(e).__name__}: {str(e).splitlines()[0][:200] if str(e) else ''}"


# ---- metadata as options

ALIASES = {"complex_float32": "complex64", "complex_float64": "complex128"}


def dtype_of(document):
    """(numpy's name, big-endian) of a document; as the JSON that it is where numpy has no name."""
    if isinstance(document.get("dtype"), list):
        return json.dumps(document["dtype"]), False
    if "dtype" in document:
        d = np.dtype(document["dtype"])
        return d.newbyteorder("<").str, document["dtype"][0] == ">"
    t = document["data_type"]
    name, configuration = (t["name"], t.get("configuration") or {}) if isinstance(t, dict) else (t, {})
    length = configuration.get("length_bytes", 0)
    if name.startswith("numpy."):
        unit = configuration["unit"]
        scale = configuration.get("scale_factor", 1)
        return f"<{'M' if 'date' in name else 'm'}8" + ("" if unit == "generic" else f"[{scale if scale != 1 else ''}{unit}]"), False
    if re.fullmatch(r"r\d+", name):
        return f"|V{int(name[1:]) // 8}", False
    opaque = {"fixed_length_utf32": f"<U{length // 4}", "null_terminated_bytes": f"|S{length}", "raw_bytes": f"|V{length}"}
    if name in opaque:
        return opaque[name], False
    try:
        known = np.dtype(ALIASES.get(name, name))
    except TypeError:
        known = None
    # A package of the peers makes numpy know narrow numbers, as bytes.
    if known is None or known.kind == "V" or known.str == "<f1":
        return (json.dumps(t) if isinstance(t, dict) else name), False
    return known.newbyteorder("<").str, False


def document_of(at):
    """The array's document (bare NaN as the string), and its attributes."""
    bare = lambda token: token  # noqa: E731
    if (at / "zarr.json").exists():
        d = json.loads((at / "zarr.json").read_text("utf-8-sig"), parse_constant=bare)
        return d, d.get("attributes") or {}
    d = json.loads((at / ".zarray").read_text("utf-8-sig"), parse_constant=bare)
    attributes = at / ".zattrs"
    return d, json.loads(attributes.read_text("utf-8-sig"), parse_constant=bare) if attributes.exists() else {}


def options(document, attributes):
    name, big = dtype_of(document)
    fill = document["fill_value"]
    out = ["--type", name, "--shape", commas(document["shape"]), "--format", document["zarr_format"], f"--fill={json.dumps(fill)}"]
    out += ["--attrs", json.dumps(attributes)] if attributes else []
    if document["zarr_format"] == 2:
        out += ["--chunks", commas(document["chunks"]), "--order", document["order"]] + (["--big-endian"] if big else [])
        for c in document["filters"] or []:
            out += ["--codec", json.dumps(c)]
        out += ["--compressor", json.dumps(document["compressor"])]
        out += ["--separator", document["dimension_separator"]] if "dimension_separator" in document else []
        return out
    grid, keys = document["chunk_grid"], document["chunk_key_encoding"]
    extents = grid["configuration"]
    out += ["--chunks", commas(extents["chunk_shape"]) if "chunk_shape" in extents else json.dumps(extents["chunk_shapes"])]
    for c in document["codecs"]:
        out += ["--codec", json.dumps(c)]
    keys = {"name": keys} if isinstance(keys, str) else keys
    out += ["--key-encoding", keys["name"]]
    separator = (keys.get("configuration") or {}).get("separator")
    out += ["--separator", separator] if separator else []
    if document.get("dimension_names") is not None:
        out += ["--dims", json.dumps(document["dimension_names"])]
    return out


# ---- boxes

def split(rng, start, shape, n):
    """The box in up to `n` boxes, cut at random places."""
    wide = [d for d, k in enumerate(shape) if k > 1]
    if n < 2 or not wide:
        return [(start, shape, [1] * len(shape))]
    d = rng.choice(wide)
    k = rng.randrange(1, shape[d])
    low, high = list(shape), list(shape)
    low[d], high[d] = k, shape[d] - k
    begin = list(start)
    begin[d] += k
    return split(rng, start, low, n // 2) + split(rng, begin, high, n - n // 2)


def interleaved(rng, shape):
    """Every second element along a dimension, and the others."""
    wide = [d for d, k in enumerate(shape) if k > 1]
    if not wide:
        return split(rng, [0] * len(shape), shape, 1)
    d = rng.choice(wide)
    out = []
    for first in (1, 0):
        start, count, step = [0] * len(shape), list(shape), [1] * len(shape)
        start[d], count[d], step[d] = first, (shape[d] - first + 1) // 2, 2
        out.append((start, count, step))
    return out


def parts(rng, way, shape):
    if way == "whole" or 0 in shape:
        return [None]
    if way == "partial":
        return interleaved(rng, shape)
    boxes = split(rng, [0] * len(shape), list(shape), 5)
    rng.shuffle(boxes)
    return boxes


def write(program, at, values, part, npy):
    args = ["write", at, "--npy" if npy else "--raw"]
    if part is not None:
        start, count, step = part
        values = values[tuple(slice(s, s + (n - 1) * t + 1, t) for s, n, t in zip(start, count, step))]
        args += [f"--start={commas(start)}", f"--shape={commas(count)}", f"--step={commas(step)}"]
    if npy:
        # numpy files come in both orders of elements and of bytes.
        values = np.asarray(values, order="F" if values.size % 2 else "C")
        f = io.BytesIO()
        np.save(f, values.astype(values.dtype.newbyteorder(">"), order="K") if values.dtype.kind in "iu" and values.ndim % 2 else values)
        return run(program, *args, data=f.getvalue())
    return run(program, *args, data=np.ascontiguousarray(values).tobytes())


def make(program, c, original, folder, ways):
    """The case made anew in each of the numbered ways; [(way, place)]."""
    rng = random.Random(c["id"])
    raw = run(program, "read", original, "--raw")
    if hashlib.sha256(raw).hexdigest() != c["sha256"]:
        raise Fault("the original is not read rightly")
    document, attributes = document_of(original)
    info = json.loads(run(program, "info", original, "--json"))
    loaded = np.load(io.BytesIO(run(program, "read", original, "--npy")))
    name = dtype_of(document)[0]
    data_type = np.dtype(name) if name[0] in "<|" else loaded.dtype
    values = np.frombuffer(raw, data_type).reshape(c["shape"])
    if loaded.dtype != values.dtype or loaded.shape != values.shape or plain(loaded) != raw:
        raise Fault("what `read --npy` gives is not what numpy should load")
    made = []
    for n, way in ways:
        at = folder / f"{way}.zarr"
        run(program, "create", at, *options(document, attributes))
        got = json.loads(run(program, "info", at, "--json"))
        for k in SAME:
            if got.get(k) != info.get(k) and not equal(k, got.get(k), info.get(k)):
                raise Fault(f"{way}: {k} is {json.dumps(got.get(k))[:100]} instead of {json.dumps(info.get(k))[:100]}")
        for i, part in enumerate(parts(rng, way, c["shape"])):
            write(program, at, values, part, npy=(n + i) % 3 == 1)
        made.append((way, at))
    return made, raw


def equal(name, got, want):
    """Whether two spellings say the same."""
    bare = lambda x: x["name"] if isinstance(x, dict) and not x.get("configuration") and "name" in x else x  # noqa: E731
    if name == "codecs":
        # A new array says the size that an elementsize of 0 stands for.
        sized = [{**x, "elementsize": y["elementsize"]} if isinstance(x, dict) and x.get("elementsize") == 0 and isinstance(y, dict) and "elementsize" in y else x for x, y in zip(want, got)]
        return [bare(x) for x in got] == [bare(with_astype(x)) for x in sized] and len(got) == len(want)
    if name == "fill_value":
        # The bits of a number that has digits, too; no time; bytes with the NULs that pad them, or without.
        nat = (got, want) == ("NaT", -(2**63))
        return nat or isinstance(want, str) and want.startswith("0x") or isinstance(want, (str, list)) and unpadded(got) == unpadded(want) != None  # noqa: E711
    if name == "dtype":
        got, want = bare(got), bare(want)
        # Bytes have no order: "<i1" is "|i1".
        one_byte = isinstance(want, str) and (want[1:] in ("i1", "u1", "b1") or want[1:2] == "S") and got[1:] == want[1:]
        return one_byte or got == (want if isinstance(want, dict) else ALIASES.get(want, want)) or raw_bits(got) == raw_bits(want) != None  # noqa: E711
    return False


def with_astype(codec):
    """A codec of version 3 as a new array says it: `astype`, by which zarr-python reads big-endian elements, where it is the `dtype`."""
    configuration = codec.get("configuration") if isinstance(codec, dict) else None
    if not configuration or codec.get("name") not in ("numcodecs.delta", "numcodecs.fixedscaleoffset") or "dtype" not in configuration:
        return codec
    return {**codec, "configuration": {"astype": configuration["dtype"], **configuration}}


def raw_bits(t):
    """The length of a type of raw bits in either of its spellings."""
    if isinstance(t, dict) and t.get("name") == "raw_bytes":
        return 8 * t["configuration"]["length_bytes"]
    return int(t[1:]) if isinstance(t, str) and re.fullmatch(r"r\d+", t) else None


def unpadded(text):
    """The bytes of a fill value, base64 or a list, without NULs at the end; None if it is none."""
    try:
        if isinstance(text, list):
            return bytes(text).rstrip(b"\0")
        return base64.b64decode(text, validate=True).rstrip(b"\0")
    except (ValueError, TypeError):
        return None


def by_peers(case, ways, original, raw):
    """([what is wrong], the names of those that read all ways). A peer that cannot read the original need not read the copies, but what it
    reads must be right."""
    wrong, readers = [], []
    for name, f in PEERS:
        able = attempt(f, original)
        got = [(way, attempt(f, at)) for way, at in ways]
        for way, g in got:
            if g != raw and (able == raw or (isinstance(g, bytes) and g != able)):
                wrong.append(f"{way}, read by {name}: {g if isinstance(g, str) else 'bytes differ'}")
        if all(g == raw for _, g in got):
            readers.append(name)
    return wrong, readers


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--program", required=True, help="the program ozarr")
    ap.add_argument("--build", default="build/write-cases", help="folder for the stores")
    ap.add_argument("--id", default="", help="only cases whose id contains this")
    ap.add_argument("--sample", action="store_true", help="each case in one of the ways")
    ap.add_argument("--jobs", type=int, default=2)
    a = ap.parse_args()
    build = Path(a.build).resolve()
    program = str(Path(a.program).resolve())
    root = corpus.unpack(build.parent / "corpus")
    shutil.rmtree(build, ignore_errors=True)
    rows = corpus.parked_features()
    cases = []
    for c in json.loads((root / "cases.json").read_text()):
        features = set(c["features"]) | corpus.shown_by_document(root / c["store"], c["path"])
        if c["expect"] == "raw" and "sha256" in c and a.id in c["id"] and not features & READ_ONLY and not any(fnmatch.fnmatchcase(f, p) for f in features for p, _, _ in rows):
            if writable(c, root / c["store"] / c["path"].strip("/")):
                cases.append(c)
    originals = [root / c["store"] / c["path"].strip("/") for c in cases]
    ways = list(enumerate(WAYS))
    of_case = lambda n: ways[n % len(ways):][:1] if a.sample else ways  # noqa: E731
    with ThreadPoolExecutor(a.jobs) as ex:
        made = list(ex.map(lambda n: attempt(make, program, cases[n], originals[n], build / str(n), of_case(n)), range(len(cases))))
    passed, failures, alone, reads = 0, [], [], {name: 0 for name, _ in PEERS}
    for c, original, done in zip(cases, originals, made):
        if isinstance(done, str):
            failures.append(f"{c['id']}: {done}")
            continue
        ways, raw = done
        wrong, readers = by_peers(c["id"], ways, original, raw)
        for name in readers:
            reads[name] += 1
        if not wrong and not readers:
            # No peer knows it: the program's own reading has to do.
            alone.append(c["id"])
            wrong = [f"{way}: bytes differ" for way, at in ways if run(program, "read", at, "--raw") != raw]
        failures += [f"{c['id']}: {'; '.join(wrong)}"] if wrong else []
        passed += not wrong
    for f in failures:
        print(f"FAIL {f[:400]}")
    print(f"{len(cases)} cases in {len(of_case(0))} of {len(WAYS)} ways; read by " + ", ".join(f"{k} {n}" for k, n in reads.items()) + f"; by no peer: {', '.join(alone) or 'none'}")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
