#!/usr/bin/env python3
"""Random runs that ozarr writes in several processes, most of which end without closing anything, against a model, by zarr-python and xarray.

  runs.py --build DIR [--seed N] [--runs N]     with ozarr importable (the wheel, or PYTHONPATH and OZARR_LIBRARY)

Each process opens the dataset, defines variables, changes the length of a dimension, opens the series of one or two dimensions from a step on, and
writes steps: some variables before the step, some with it, some not at all; now and then it flushes, sets attributes through another
handle, defines a variable or ends. It tells what it did before it goes on. After each process every variable is read: it has the
steps that were published, with the values of the process that wrote them last. A failure prints what was done, and the seed.
"""
import argparse, ctypes as C, json, os, random, shutil, sys, traceback, warnings, zlib
from pathlib import Path
import numpy as np

LENGTHS, MISSING = {"y": 3, "x": 4}, -7


def values(seed, name, variable, step, writer):
    """What a process writes of a variable in a step."""
    numbers = np.random.default_rng([seed, zlib.crc32(name.encode()), step, writer])
    return np.asarray(numbers.integers(1, 90, tuple(LENGTHS[d] for d in variable["dims"][1:])), variable["type"])


class Writer:
    """What one process does. `run` is what the ones before it have left; `tell` says what is done."""

    def __init__(self, seed, number, root, run, tell):
        import ozarr
        from ozarr import _raw, _types
        from ozarr._library import handle, lib
        self.ozarr, self.raw, self.code_of, self.handle, self.lib = ozarr, _raw, _types.code_of, handle, lib
        self.seed, self.number, self.root, self.run, self.tell = seed, number, root, run, tell
        self.r, self.series = random.Random(seed * 1000 + number), {}

    def open(self):
        lib, r = self.lib, self.r
        if self.run["made"]:
            self.dataset = self.handle(lib.dataset_open, self.root.encode(), b"r+")
        else:
            self.dataset = self.handle(lib.dataset_create, self.root.encode(), self.run["format"], 0)
        # A dimension that no variable has is not stored.
        for name, length in [*LENGTHS.items(), *self.run["published"].items()]:
            lib.dataset_define_dimension(self.dataset, name.encode(), length)
        for name, has_coordinate in self.run["dims"].items():
            if has_coordinate and not self.run["made"]:
                lib.dataset_define_coordinate(self.dataset, name.encode(), self.raw.OZARR_FLOAT64, 0, r.choice([0, 1, 3]), None, 0, b"seconds", None)
        self.tell("made")

    def define(self):
        lib, r, raw, variables = self.lib, self.r, self.raw, self.run["variables"]
        name, kind = f"v{len(variables)}", r.choice(["f4", "f8", "i4"])
        dims = [r.choice(list(self.run["dims"])), *r.choice([[], ["x"], ["y", "x"], ["y"]])]
        names, chunks = (C.c_char_p * len(dims))(*[d.encode() for d in dims]), [r.randint(1, 4) for _ in dims]
        missing, given, spec = np.array(MISSING, kind), raw.ozarr_variable(struct_size=C.sizeof(raw.ozarr_variable)), None
        lengths = lambda numbers: (C.c_int64 * len(dims))(*numbers)
        given.type, given.rank, given.dimensions, given.missing = self.code_of(missing.dtype), len(dims), C.cast(names, C.c_void_p), missing.ctypes.data
        if self.run["format"] == 3 and r.random() < 0.4:
            spec = self.handle(lib.spec_new, given.type, len(dims), None)
            lib.spec_set_inner_chunks(spec, lengths(chunks))
            chunks, given.spec = [n * r.randint(1, 3) for n in chunks], spec
        kept = lengths(chunks)
        given.chunks = C.cast(kept, C.c_void_p)
        variables[name] = {"dims": dims, "type": kind}
        lib.dataset_define_variable_ex(self.dataset, name.encode(), C.byref(given), 0, None)
        if spec:
            lib.spec_free(spec)
        self.tell("define", name, variables[name])

    def of(self, dim):
        return [name for name, variable in self.run["variables"].items() if variable["dims"][0] == dim]

    def resize(self):
        dim = self.r.choice(list(self.run["dims"]))
        if self.of(dim) or self.run["dims"][dim]:
            # What a process that ended had stored beyond the published steps shows where an array is made longer so.
            length = max(0, self.run["published"][dim] + self.r.randint(-3, 0 if self.run["ended"] else 2))
            self.lib.dataset_resize_dimension(self.dataset, dim.encode(), length)
            self.run["published"][dim] = length
            self.tell("resize", dim, length)

    def position(self, dim):
        taken, published = C.c_int64(), C.c_int64()
        self.lib.series_position(self.series[dim], C.byref(taken), C.byref(published))
        return taken.value, published.value

    def begin(self, dim):
        keep = self.r.choice([-1, -1, self.r.randint(0, self.run["published"][dim])])
        self.series[dim] = self.handle(self.lib.series_open, self.dataset, dim.encode(), keep, self.r.choice([0, 1, 2, 3]), 0)
        self.tell("open", dim, keep, *self.position(dim))

    def step(self, dim):
        lib, r, series, (step, _) = self.lib, self.r, self.series[dim], self.position(dim)
        put = lambda name: values(self.seed, name, self.run["variables"][name], step, self.number)
        given = [name for name in self.of(dim) if r.random() < 0.85]
        late = [name for name in given if r.random() < 0.5]
        for name in given:
            if name not in late:
                numbers = put(name)
                lib.series_put(series, name.encode(), self.code_of(numbers.dtype), numbers.ctypes.data, numbers.nbytes)
        if r.random() < 0.08:
            self.end()
        numbers, memories = [put(name) for name in late], (self.raw.ozarr_memory * max(1, len(late)))()
        for memory, own in zip(memories, numbers):
            memory.struct_size, memory.data, memory.size, memory.type = C.sizeof(memory), own.ctypes.data, own.nbytes, self.code_of(own.dtype)
        lib.series_step(series, 10.0 * step, len(late), (C.c_char_p * max(1, len(late)))(*[name.encode() for name in late]), memories)
        self.tell("step", dim, step, {name: self.number for name in given}, *self.position(dim))
        self.between(dim, r.random())

    def between(self, dim, chance):
        if chance < 0.1:
            self.lib.series_flush(self.series[dim])
            self.tell("flush", dim, self.position(dim)[1])
        elif chance < 0.17:
            self.define()
        elif chance < 0.25:
            other, length = self.handle(self.lib.dataset_open, self.root.encode(), b"r"), C.c_int64()
            self.lib.dataset_dimension_length(other, dim.encode(), C.byref(length), None)
            self.lib.dataset_close(other)
            assert length.value == self.position(dim)[1], (dim, length.value, self.position(dim))
        elif chance < 0.3:
            with self.ozarr.open(f"{self.root}/{self.r.choice(list(self.run['variables']))}", "r+") as array:
                array.attrs["note"] = chance
        elif chance < 0.36:
            self.close(dim)

    def close(self, dim):
        self.lib.series_close(self.series.pop(dim))
        self.tell("close", dim)

    def end(self):
        self.tell("end")
        os._exit(0)

    def work(self):
        self.open()
        while not self.run["variables"] or self.r.random() < 0.5:
            self.define()
        if self.r.random() < 0.2:
            self.resize()
        for dim in self.run["dims"]:
            if self.of(dim) and self.r.random() < 0.8:
                self.begin(dim)
        for _ in range(self.r.randint(0, 12)):
            if self.series:
                self.step(self.r.choice(list(self.series)))
        if self.r.random() < 0.5:
            self.end()
        for dim in list(self.series):
            self.close(dim)
        self.lib.dataset_close(self.dataset)


def process(*arguments):
    """Runs a writer in a process of its own, and gives what it told."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(told)
        say = lambda *what: os.write(tell, (json.dumps(what) + "\n").encode())
        try:
            Writer(*arguments, say).work()
        except BaseException:
            say("failed", traceback.format_exc())
        os._exit(0)
    os.close(tell)
    with os.fdopen(told) as lines:
        done = [json.loads(line) for line in lines]
    assert os.waitpid(child, 0)[1] == 0, "the process was killed by a signal"
    return done


def follow(run, steps, what, *told):
    """Does to the model what a process told of."""
    assert what != "failed", told[0]
    if what == "made":
        run["made"] = True
    elif what == "end":
        run["ended"] = True
    elif what == "define":
        run["variables"][told[0]] = told[1]
    elif what in ("resize", "flush", "close"):
        dim = told[0]
        length = len(steps[dim]) if what == "close" else told[1]
        assert what != "flush" or length == len(steps[dim]), "a flush publishes all steps"
        steps[dim] = steps[dim][:length] + [None] * (length - len(steps[dim]))
        run["published"][dim] = length
    elif what == "open":
        dim, keep, taken, published = told
        expected = run["published"][dim] if keep < 0 else keep
        assert (taken, published) == (expected, expected), f"{dim} opens at {taken}, {published}, expected {expected}"
        steps[dim] = steps[dim][:expected]
        run["published"][dim] = expected
    elif what == "step":
        dim, step, given, taken, published = told
        assert (step, taken) == (len(steps[dim]), step + 1) and published <= taken, told
        steps[dim].append(given)
        run["published"][dim] = published


def check(seed, root, run, steps):
    import xarray, zarr
    data = xarray.open_zarr(root, mask_and_scale=False, decode_times=False, chunks=None)
    coordinates = [dim for dim, has_coordinate in run["dims"].items() if has_coordinate]
    assert set(data.variables) == {*run["variables"], *coordinates}, f"xarray has {sorted(data.variables)}, expected {sorted(run['variables'])}"
    for name, variable in run["variables"].items():
        dim = variable["dims"][0]
        expected = np.full((run["published"][dim], *(LENGTHS[d] for d in variable["dims"][1:])), MISSING, variable["type"])
        for step, given in enumerate(steps[dim]):
            if given and name in given:
                expected[step] = values(seed, name, variable, step, given[name])
        found = zarr.open_array(f"{root}/{name}", mode="r", zarr_format=run["format"])[...]
        assert found.shape == expected.shape and np.array_equal(found, expected), f"{name}: {found}, expected {expected}"
        assert data[name].shape == expected.shape, f"consolidated metadata: {name}: {data[name].shape}, expected {expected.shape}"
    for dim in coordinates:
        found, taken = data[dim].values, np.array([given is not None for given in steps[dim]], bool)
        assert len(found) == run["published"][dim] and np.array_equal(found[taken], 10.0 * np.flatnonzero(taken)), f"{dim}: {found}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", required=True)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--runs", type=int, default=40)
    given = arguments.parse_args()
    warnings.simplefilter("error")
    folder, processes, taken = Path(given.build), 0, 0
    for seed in range(given.seed, given.seed + given.runs):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        r = random.Random(seed)
        root = str(folder / r.choice(["run", "run", "below/run"]))
        dims = {"time": True} if r.random() < 0.5 else {"time": r.random() < 0.7, "obs": r.random() < 0.5}
        run = {"made": False, "ended": False, "format": r.choice([2, 3]), "dims": dims, "variables": {}, "published": dict.fromkeys(dims, 0)}
        steps, log = {dim: [] for dim in dims}, []
        for number in range(r.randint(1, 6)):
            done = process(seed, number, root, json.loads(json.dumps(run)))
            log += [["process", number], *done]
            try:
                for told in done:
                    follow(run, steps, *told)
                # Steps that were not published are lost with the process.
                steps = {dim: all_steps[:run["published"][dim]] for dim, all_steps in steps.items()}
                check(seed, root, run, steps)
            except Exception:
                traceback.print_exc()
                sys.exit("\n".join([*map(str, log[-30:]), f"runs: seed {seed} of version {run['format']}"]))
            processes, taken = processes + 1, taken + sum(told[0] == "step" for told in done)
    print(f"runs: {given.runs} runs of {processes} processes and {taken} steps agree with the model, zarr-python and xarray reading")


if __name__ == "__main__":
    main()
