#!/usr/bin/env python3
"""Random programs on the C ABI against a model in numpy, and at their ends against zarr-python.

  model.py --library build/prefix/lib/libozarr.so --build DIR [--seed N] [--arrays N]

Each program makes one array (type, rank, shape, chunks, format, codecs, order, fill value at random) and then writes, reads, resizes,
appends and reopens it: regions with steps, lists (orthogonal, points, masks), memory with strides of any order and sign, other types in
memory. At the end zarr-python reads the whole of it, and lists by oindex, vindex and masks. A failure prints the seed that repeats it.
"""
import argparse, ctypes as C, json, random, shutil, sys
from pathlib import Path
import numpy as np

TYPES = {1: "?", 2: "i1", 3: "i2", 4: "i4", 5: "i8", 6: "u1", 7: "u2", 8: "u4", 9: "u8", 10: "f2", 11: "f4", 12: "f8", 13: "c8", 14: "c16"}
i64 = C.c_int64


class Region(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("start", C.POINTER(i64)), ("shape", C.POINTER(i64)), ("step", C.POINTER(i64)), ("periodic", C.c_void_p)]


class Memory(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("data", C.c_void_p), ("size", C.c_size_t), ("offset", C.c_size_t),
                ("strides", C.POINTER(i64)), ("order", C.c_int32), ("type", C.c_int32), ("overflow", C.c_int32), ("reserved", C.c_int32),
                ("dtype", C.c_void_p), ("field", C.c_void_p), ("sizes", C.c_void_p), ("starts", C.c_void_p)]


def dims(values):
    return (i64 * max(1, len(values)))(*values)


class Library:
    def __init__(self, path):
        self.lib = C.CDLL(path)
        self.lib.ozarr_last_error.restype = C.c_char_p
        self.lib.ozarr_array_node.restype = C.c_void_p

    def __call__(self, name, *args):
        status = getattr(self.lib, "ozarr_" + name)(*args)
        if status:
            raise AssertionError(f"{name}: {status}: {self.lib.ozarr_last_error().decode()}")


class Program:
    def __init__(self, oz, where, seed):
        self.oz, self.r, self.where = oz, random.Random(seed), where
        self.a = C.c_void_p()
        self.log = []
        self.create()

    def create(self):
        r, oz = self.r, self.oz
        self.type = r.choice(list(TYPES))
        self.dtype = np.dtype(TYPES[self.type])
        rank = r.choice([0, 1, 1, 2, 2, 3, 3, 4, 5])
        self.shape = [r.choice([0, 1, 2, 5, 9, 12]) if r.random() < 0.2 else r.randint(1, 12) for _ in range(rank)]
        self.format = r.choice([2, 3])
        inner = [r.randint(1, 5) for _ in range(rank)]
        sharded = self.format == 3 and r.random() < 0.35
        chunks = [c * r.randint(1, 3) for c in inner] if sharded else [r.choice([1, 2, 3, 5, 20]) for _ in range(rank)]
        spec = C.c_void_p()
        oz("spec_new", self.type, rank, dims(self.shape), C.byref(spec))
        oz("spec_set_zarr_format", spec, self.format)
        oz("spec_set_chunks", spec, dims(chunks))
        if sharded:
            oz("spec_set_inner_chunks", spec, dims(inner))
        compressor = r.choice(["none", "zstd", "gzip", "blosc"] + ["zlib"] * (self.format == 2))
        oz("spec_set_compressor", spec, compressor.encode(), -1)
        if r.random() < 0.3:
            oz("spec_set_order", spec, 1)
        if r.random() < 0.3:
            oz("spec_set_big_endian", spec, C.c_bool(True))
        if r.random() < 0.3:
            oz("spec_set_separator", spec, r.choice([b".", b"/"]))
        self.fill = np.array(r.randint(0, 1) if self.type == 1 else r.randint(0, 3)).astype(self.dtype)
        oz("spec_set_fill_value", spec, self.type, self.fill.ctypes.data_as(C.c_void_p))
        self.log.append(("create", self.dtype.str, self.shape, chunks, inner if sharded else None, self.format, compressor))
        oz("array_create_ex", str(self.where).encode(), spec, 0, C.byref(self.a))
        oz.lib.ozarr_spec_free(spec)
        if r.random() < 0.3:
            oz("node_set", C.c_void_p(oz.lib.ozarr_array_node(self.a)), b"write_fill_chunks", b"true")
        self.model = np.full(self.shape, self.fill, self.dtype)

    def region(self):
        """A random region: starts, counts, steps; and as numpy slices."""
        start, count, step, slices = [], [], [], []
        for n in self.shape:
            s = self.r.choice([1, 1, 1, 2, 3, -1, -2]) if n else 1
            if n == 0 or self.r.random() < 0.05:
                first, c = self.r.randint(0, n), 0
            else:
                first = self.r.randrange(n)
                if self.r.random() < 0.4:
                    first = 0 if s > 0 else n - 1
                room = (n - 1 - first) // s if s > 0 else first // -s
                c = room + 1 if self.r.random() < 0.4 else self.r.randint(1, room + 1)
            start.append(first), count.append(c), step.append(s)
            slices.append([first + i * s for i in range(c)])
        return start, count, step, slices

    def memory(self, count, dtype, writing):
        """An array of that shape in memory of some layout: axes in any order, turned around, with gaps; and its bytes."""
        order = list(range(len(count)))
        self.r.shuffle(order)
        if self.r.random() < 0.4:
            order.sort()
        gaps = [self.r.choice([1, 1, 1, 2]) for _ in count]
        base = np.zeros([max(1, count[d]) * gaps[d] for d in order], dtype)
        view = base
        for k, d in enumerate(order):
            view = view[(slice(None),) * k + (slice(0, count[d] * gaps[d], gaps[d]),)]
        view = np.transpose(view, [order.index(d) for d in range(len(count))]) if count else view
        for d in range(len(count)):
            if self.r.random() < 0.2:
                view = view[(slice(None),) * d + (slice(None, None, -1),)]
        if writing and count and self.r.random() < 0.1:
            view = np.broadcast_to(base.reshape(-1)[:1].reshape([1] * len(count)), count)
        return base, view

    def call(self, name, region, base, view, code, count):
        start, shape, step = region
        r = Region(C.sizeof(Region), dims(start), dims(shape), dims(step))
        address = view.__array_interface__["data"][0]
        offset = address - base.ctypes.data if 0 not in count else 0
        m = Memory(C.sizeof(Memory), base.ctypes.data, base.nbytes, offset, dims(view.strides), 0, code)
        self.oz(name, self.a, C.byref(r), C.byref(m))

    def other_type(self, writing):
        """A type in memory, and whether it is a plain one."""
        if self.r.random() < 0.5:
            return self.type
        real = [t for t in TYPES if t < 13]
        if self.dtype.kind == "c":
            return self.r.choice([13, 14] if not writing else real + [13, 14])
        return self.r.choice(real + ([] if writing else [13, 14]))

    def values(self, shape, code):
        low = 0 if self.r.random() < 0.9 else int(self.fill.real)
        high = 1 if 1 in (code, self.type) or low else 100
        return np.array([self.r.randint(min(low, high), high) for _ in range(int(np.prod(shape)))]).reshape(shape)

    def write(self):
        start, count, step, slices = self.region()
        code = self.other_type(True)
        base, view = self.memory(count, TYPES[code], True)
        if view.flags.writeable:
            view[...] = self.values(count, code).astype(TYPES[code])
        else:
            base[...] = self.values([1], code).astype(TYPES[code])[0]
        self.log.append(("write", start, count, step, TYPES[code], view.strides))
        self.call("array_write_ex", (start, count, step), base, view, code, count)
        self.model[np.ix_(*slices)] = view.astype(self.dtype)

    def read(self):
        start, count, step, slices = self.region()
        want = self.model[np.ix_(*slices)] if count else self.model
        code = self.other_type(False)
        if code == 1 and self.type != 1 and not np.isin(want, [0, 1]).all():
            code = self.type
        if 1 in (code, self.type) and code != self.type and not np.isin(self.fill, [0, 1]):
            code = self.type
        base, view = self.memory(count, TYPES[code], False)
        self.log.append(("read", start, count, step, TYPES[code], view.strides))
        self.call("array_read_ex", (start, count, step), base, view, code, count)
        assert np.array_equal(view, want.astype(TYPES[code])), f"read: {view.tolist()} for {want.tolist()}"

    def simple(self):
        """The positional calls."""
        start, count, _, _ = self.region()
        start = [self.r.randint(0, n) for n in self.shape]
        count = [self.r.randint(0, n - s) for n, s in zip(self.shape, start)]
        slices = tuple(slice(s, s + c) for s, c in zip(start, count))
        data = np.zeros(count, self.dtype)
        self.log.append(("simple", start, count))
        self.oz("array_read_region", self.a, dims(start), dims(count), 0, data.ctypes.data_as(C.c_void_p), C.c_size_t(data.nbytes))
        assert np.array_equal(data, self.model[slices]), "read_region"
        data[...] = self.values(count, self.type)
        self.oz("array_write_region", self.a, dims(start), dims(count), 0, data.ctypes.data_as(C.c_void_p), C.c_size_t(data.nbytes))
        self.model[slices] = data

    def picks(self):
        """A random list: the call's name, its arguments, the shape of its result, and the same as an index of numpy."""
        kind = self.r.choice(["orthogonal", "orthogonal", "points", "mask"])
        if kind == "orthogonal":
            lists, given = [], []
            for n in self.shape:
                every = self.r.random() < 0.3
                one = list(range(n)) if every else [self.r.randrange(n) for _ in range(self.r.randint(0, n + 1))] if n else []
                if not every and self.r.random() < 0.4:
                    one.sort()
                lists.append(one)
                given.append(None if every else dims(one))
            pointers = (C.POINTER(i64) * max(1, len(given)))(*[g and C.cast(g, C.POINTER(i64)) for g in given])
            return kind, (dims([len(one) for one in lists]), pointers, given), [len(one) for one in lists], np.ix_(*lists) if lists else ()
        if kind == "points":
            n = self.r.choice([0, 1, 5, 60]) if 0 not in self.shape else 0
            points = [[self.r.randrange(m) for m in self.shape] for _ in range(n)]
            index = tuple(np.array([p[d] for p in points], np.int64) for d in range(len(self.shape)))
            return kind, (dims([i for p in points for i in p]), i64(n)), [n], index if self.shape else (np.zeros(n, np.int64),)
        start = [self.r.randint(0, n) if self.r.random() < 0.6 else 0 for n in self.shape]
        shape = [self.r.randint(0, n - s) if self.r.random() < 0.6 else n - s for n, s in zip(self.shape, start)]
        mask = np.random.RandomState(self.r.randrange(1 << 30)).rand(*shape) < self.r.choice([0.02, 0.5, 1.1])
        mask = np.asarray(mask)
        whole = np.zeros(self.shape, bool)
        whole[tuple(slice(s, s + c) for s, c in zip(start, shape))] = mask
        mask = np.ascontiguousarray(mask)
        region = Region(C.sizeof(Region), dims(start), dims(shape), None)
        return kind, (C.byref(region), mask.ctypes.data_as(C.c_void_p), (region, mask)), [int(mask.sum())], whole

    def pick(self):
        """Reads or writes a list."""
        kind, args, count, index = self.picks()
        writing = self.r.random() < 0.5
        code = self.other_type(writing)
        model = self.model if self.shape else self.model.reshape(1)
        index = index if self.shape or kind == "points" else np.array([bool(index)]) if kind == "mask" else (slice(None),)
        want = model[index].reshape(count)
        if not writing and 1 in (code, self.type) and code != self.type and not np.isin(self.model, [0, 1]).all():
            code = self.type
        base, view = self.memory(count, TYPES[code], writing)
        if writing and view.flags.writeable:
            view[...] = self.values(count, code).astype(TYPES[code])
        elif writing:
            base[...] = self.values([1], code).astype(TYPES[code])[0]
        self.log.append((("write " if writing else "read ") + kind, count, TYPES[code], view.strides, str(index)[:300]))
        offset = view.__array_interface__["data"][0] - base.ctypes.data if 0 not in count else 0
        m = Memory(C.sizeof(Memory), base.ctypes.data, base.nbytes, offset, dims(view.strides), 0, code)
        self.oz(f"array_{'write' if writing else 'read'}_{kind}", self.a, *args[:2], C.byref(m))
        if writing:
            model[index] = view.astype(self.dtype).reshape(model[index].shape)
            self.model = model.reshape(self.shape)
        else:
            assert np.array_equal(view, want.astype(TYPES[code])), f"read {kind}: {view.tolist()} for {want.tolist()}"

    def fill_region(self):
        """One value into a region."""
        start, count, step, slices = self.region()
        value = np.array(self.r.choice([self.fill, self.values([1], self.type)[0]])).astype(self.dtype)
        self.log.append(("fill", start, count, step, str(value)))
        region = Region(C.sizeof(Region), dims(start), dims(count), dims(step))
        self.oz("array_fill", self.a, C.byref(region), self.type, value.ctypes.data_as(C.c_void_p))
        self.model[np.ix_(*slices)] = value

    def against_zarr(self, z):
        """Lists, as zarr-python reads them."""
        for _ in range(3):
            kind, args, count, index = self.picks()
            if 0 in count or 0 in self.shape or not self.shape:
                continue
            data = np.zeros(count, self.dtype)
            m = Memory(C.sizeof(Memory), data.ctypes.data, data.nbytes, 0, None, 0, self.type)
            self.log.append(("read by both " + kind, str(index)[:300]))
            self.oz(f"array_read_{kind}", self.a, *args[:2], C.byref(m))
            if kind == "orthogonal":
                theirs = z.oindex[tuple(np.asarray(one).reshape(-1) for one in index)]
            else:
                theirs = z.vindex[index]
            assert np.array_equal(data, np.asarray(theirs).astype(self.dtype)), f"zarr-python reads another {kind}"

    def resize(self):
        if not self.shape:
            return
        new = [self.r.choice([n, n, self.r.randint(0, 14)]) for n in self.shape]
        self.log.append(("resize", self.shape, new))
        self.oz("array_resize", self.a, dims(new), C.c_uint32(0))
        model = np.full(new, self.fill, self.dtype)
        common = tuple(slice(0, min(a, b)) for a, b in zip(self.shape, new))
        model[common] = self.model[common]
        self.shape, self.model = new, model

    def append(self):
        if not self.shape:
            return
        d, n = self.r.randrange(len(self.shape)), self.r.randint(0, 4)
        slab = [n if i == d else m for i, m in enumerate(self.shape)]
        data = self.values(slab, self.type).astype(self.dtype)
        self.log.append(("append", d, n))
        self.oz("array_append", self.a, d, i64(n), self.type, data.ctypes.data_as(C.c_void_p), C.c_size_t(data.nbytes))
        self.model = np.concatenate([self.model, data], axis=d)
        self.shape = list(self.model.shape)

    def reopen(self):
        self.log.append(("reopen",))
        self.oz("array_close", self.a)
        self.a = C.c_void_p()
        self.oz("array_open", str(self.where).encode(), b"r+", C.byref(self.a))

    def run(self, steps):
        for _ in range(steps):
            self.r.choice([self.write] * 4 + [self.read] * 4 + [self.simple] * 2 + [self.pick] * 6 + [self.fill_region, self.resize, self.append, self.reopen])()
        import zarr
        z = zarr.open_array(str(self.where), mode="r")
        self.against_zarr(z)
        self.oz("array_close", self.a)
        assert list(z.shape) == self.shape, f"zarr-python: shape {z.shape} for {self.shape}"
        got = np.asarray(z[...])
        assert np.array_equal(got.astype(self.dtype), self.model), "zarr-python reads other values"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--library", required=True)
    p.add_argument("--build", required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--arrays", type=int, default=400)
    p.add_argument("--steps", type=int, default=25)
    a = p.parse_args()
    build = Path(a.build)
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    oz, failed = Library(a.library), 0
    for seed in range(a.seed, a.seed + a.arrays):
        program = None
        try:
            program = Program(oz, build / f"{seed}.zarr" / "x", seed)
            program.run(a.steps)
        except AssertionError as e:
            failed += 1
            print(f"FAIL seed {seed}: {str(e)[:300]}", flush=True)
            for line in (program.log if program else [])[:1] + (program.log if program else [])[-4:]:
                print("    ", json.dumps(line))
            if failed == 10:
                break
    print(f"{a.arrays - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
