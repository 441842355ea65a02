#!/usr/bin/env python3
"""Random hierarchies that ozarr and zarr-python change in turns, through many handles, against a model.

  hierarchies.py --build DIR [--seed N] [--programs N]     with ozarr importable (the wheel, or PYTHONPATH and OZARR_LIBRARY)

Each program keeps up to a dozen handles open, which were opened by the store, by their own locations, by other stores and by stores that begin
at the group above, some with settings (parts of chunks wait, chunks are kept). By one of them, or by zarr-python, it creates, writes,
resizes, appends, renames, copies, erases, overwrites, consolidates and sets attributes. Now and then all nodes, elements and attributes are
read by zarr-python, from the documents and from the consolidated metadata, and by every handle. A failure prints the last operations
and the seed that repeats them.
"""
import argparse, copy, ctypes as C, gc, os, random, shutil, sys, traceback, warnings
from pathlib import Path
import numpy as np, zarr
import ozarr
from ozarr import _raw as raw, _types
from ozarr._library import handle, lib

NAMES = ["a{}", "b {}", "é{}", "x.{}", "n{}"]
ATTRIBUTES = [1, -5, 2.5, "t", "é", [1, 2], {"k": 1}, None, True, 2**60, [], ""]
KINDS = ["f4", "f8", "i4", "u2", "i1", "c8"]


def below(path, top):
    return path == top or path.startswith(top + "/")


def split(path):
    group, _, name = path.rpartition("/")
    return group, name


def within(before, shape, fill):
    """What an array holds after a resize."""
    out = np.full(shape, fill, before.dtype)
    common = tuple(slice(0, min(a, b)) for a, b in zip(shape, before.shape))
    out[common] = before[common]
    return out


class Node:
    def __init__(self, values=None, fill=None):
        self.attrs, self.values, self.fill = {}, values, fill


class Program:
    def __init__(self, root, seed):
        self.r, self.root, self.log, self.handles, self.made = random.Random(seed), str(root), [], [], 0
        self.format, self.nodes = self.r.choice([2, 3]), {"": Node()}
        # The groups with consolidated metadata, and whether zarr-python, which does not keep them right, has changed something since.
        self.consolidated, self.stale = set(), False
        self.store = ozarr.Store(self.root, "r+")
        self.store.create_group("", zarr_format=self.format).close()

    def at(self, path):
        return os.path.join(self.root, path) if path else self.root

    def told(self, *operation):
        self.log.append(operation)

    def paths(self, arrays):
        return [path for path, node in self.nodes.items() if (node.values is not None) == arrays]

    def new_path(self):
        self.made += 1
        group, name = self.r.choice(self.paths(False)), self.r.choice(NAMES).format(self.made)
        return f"{group}/{name}" if group else name

    def numbers(self, like, shape):
        return np.ascontiguousarray(np.random.default_rng(self.r.randrange(1 << 30)).integers(0, 4, shape).astype(like.dtype))

    def zarr(self, path=""):
        self.stale = True
        root = zarr.open_group(self.root, mode="r+", use_consolidated=False)
        return root[path] if path else root

    def open(self, path):
        """A handle of a node: one that is open, or another."""
        known = [found for kept, found in self.handles if kept == path]
        if known and self.r.random() < 0.6:
            return self.r.choice(known)
        way, group = self.r.randrange(4), split(path)[0]
        if way == 0:
            found = self.store.open(path)
        elif way == 1:
            found = ozarr.open(self.at(path), "r+")
        elif way == 2:
            found = ozarr.Store(self.root, "r+").open(path)
        else:
            found = ozarr.Store(self.at(group), "r+").open(path[len(group):].lstrip("/"))
        if len(self.handles) > 12:
            self.handles.pop(self.r.randrange(len(self.handles)))[1].close()
        self.handles.append((path, found))
        return found

    def close_below(self, top):
        for kept, found in [entry for entry in self.handles if below(entry[0], top)]:
            self.handles.remove((kept, found))
            found.close()

    def settle(self, path=None, writer=None):
        """Stores what waits in the handles; of those of an array in all but the one that is about to write, which would come before it."""
        for kept, found in self.handles:
            if path is None or kept == path and found is not writer:
                found.flush()

    def create(self, by_ozarr, path, mode="new"):
        r, rank = self.r, self.r.choice([1, 1, 2, 2, 3])
        shape, chunks = [r.randint(r.random() >= 0.1, 9) for _ in range(rank)], [r.randint(1, 4) for _ in range(rank)]
        kind, fill, sharded = r.choice(KINDS), r.choice([0, 1, 3]), self.format == 3 and r.random() < 0.4
        self.told("ozarr" if by_ozarr else "zarr", "create", mode, path, shape, chunks, kind, fill, sharded)
        outer = [n * r.randint(1, 3) for n in chunks]
        if by_ozarr:
            choices = dict(chunks=outer if sharded else chunks, fill_value=fill, compressor=r.choice(["none", "zstd", "gzip"]),
                           order=r.choice("CF"), big_endian=r.random() < 0.3, zarr_format=self.format, mode=mode)
            if sharded:
                choices["inner_chunks"] = chunks
            way, (group, name) = r.randrange(3), split(path)
            made = self.store.create(path, shape, kind, **choices) if way == 0 else \
                self.open(group).create(name, shape, kind, **choices) if way == 1 else ozarr.create(self.at(path), shape, kind, **choices)
            self.handles.append((path, made))
        else:
            shards = dict(shards=outer) if sharded else {}
            self.zarr().create_array(path, shape=shape, chunks=chunks, dtype=kind, fill_value=fill, overwrite=mode == "overwrite", **shards)
        self.nodes[path] = Node(np.full(shape, fill, kind), fill)

    def op_create(self, by_ozarr):
        self.create(by_ozarr, self.new_path())

    def op_overwrite(self, by_ozarr, path):
        self.settle()
        known = [entry for entry in self.handles if entry[0] == path]
        self.create(by_ozarr, path, "overwrite")
        for entry in known:
            if entry not in self.handles:
                continue
            if self.r.random() < 0.5:
                self.handles.remove(entry)
                entry[1].close()
            elif entry[1].ndim == self.nodes[path].values.ndim:
                entry[1].refresh()
            else:
                self.keeps_rank(entry)

    def keeps_rank(self, entry):
        try:
            entry[1].refresh()
        except ozarr.Error as e:
            assert e.name == "OZARR_ERR_STATE" and "open it again" in str(e), e
        else:
            raise AssertionError("a handle became one of an array of another number of dimensions")
        self.handles.remove(entry)
        entry[1].close()

    def op_group(self, by_ozarr):
        path = self.new_path()
        self.told("ozarr" if by_ozarr else "zarr", "group", path)
        group, name = split(path)
        if not by_ozarr:
            self.zarr().create_group(path)
        elif self.r.random() < 0.5:
            self.store.create_group(path, zarr_format=self.format).close()
        else:
            self.open(group).create_group(name).close()
        self.nodes[path] = Node()

    def op_put(self, by_ozarr):
        group, name = split(path := self.new_path())
        values = np.arange(self.r.randint(1, 7), dtype=self.r.choice(["f8", "i4"]))
        self.told("put", path)
        lib.group_put(self.open(group)._handle, name.encode(), _types.code_of(values.dtype), 1, (C.c_int64 * 1)(len(values)), values.ctypes.data, values.nbytes)
        self.nodes[path] = Node(values, zarr.open_array(self.at(path), mode="r", zarr_format=self.format).fill_value)

    def op_write(self, by_ozarr, path):
        node, r = self.nodes[path], self.r
        ends = [sorted((r.randint(0, n), r.randint(0, n))) for n in node.values.shape]
        region = tuple(slice(a, b, r.choice([1, 1, 2])) for a, b in ends)
        values = self.numbers(node.values, node.values[region].shape)
        if r.random() < 0.15:
            values[...] = node.fill
        self.told("ozarr" if by_ozarr else "zarr", "write", path, region)
        if by_ozarr:
            found = self.open(path)
            if found.shape != node.values.shape:
                found.refresh()
            self.settle(path, found)
            found[region] = values
        else:
            self.zarr(path)[region] = values
        node.values[region] = values

    def op_append(self, by_ozarr, path):
        node, axis = self.nodes[path], self.r.randrange(self.nodes[path].values.ndim)
        others = lambda shape: shape[:axis] + shape[axis + 1:]
        if max(node.values.shape) > 20:
            return
        shape = list(node.values.shape)
        shape[axis] = self.r.randint(1, 3)
        values = self.numbers(node.values, shape)
        self.told("ozarr" if by_ozarr else "zarr", "append", path, axis, shape)
        if by_ozarr:
            found = self.open(path)
            # A handle need not know how long the axis is by now.
            if others(found.shape) != others(node.values.shape):
                found.refresh()
            self.settle(path, found)
            found.append(values, axis)
        else:
            self.zarr(path).append(values, axis)
        node.values = np.concatenate([node.values, values], axis)

    def op_appender(self, by_ozarr, path):
        node, axis, every = self.nodes[path], self.r.randrange(self.nodes[path].values.ndim), self.r.choice([0, 0, 1, 2, 3])
        if max(node.values.shape) > 20:
            return
        self.told("appender", path, axis, every)
        self.settle()
        appender, position, published = handle(lib.appender_open, self.open(path)._handle, axis, every, 0), C.c_int64(), C.c_int64()
        for _ in range(self.r.randint(1, 6)):
            shape = list(node.values.shape)
            shape[axis] = self.r.randint(1, 2)
            values = self.numbers(node.values, shape)
            lib.appender_append(appender, shape[axis], _types.code_of(values.dtype), values.ctypes.data, values.nbytes)
            node.values = np.concatenate([node.values, values], axis)
            if self.r.random() < 0.2:
                lib.appender_flush(appender)
            lib.appender_position(appender, C.byref(position), C.byref(published))
            assert position.value == node.values.shape[axis], (position, node.values.shape)
            seen = zarr.open_array(self.at(path), mode="r", zarr_format=self.format)[...]
            assert np.array_equal(seen, node.values[(slice(None),) * axis + (slice(0, published.value),)]), (published, seen, node.values)
        lib.appender_close(appender)

    def op_resize(self, by_ozarr, path):
        node = self.nodes[path]
        shape = [max(0, n + self.r.randint(-4, 4)) for n in node.values.shape]
        if not by_ozarr:
            # What zarr-python cuts off within a chunk comes back.
            shape = [max(a, b) for a, b in zip(shape, node.values.shape)]
        self.told("ozarr" if by_ozarr else "zarr", "resize", path, shape)
        (self.open(path) if by_ozarr else self.zarr(path)).resize(shape)
        node.values = within(node.values, shape, node.fill)

    def op_attribute(self, by_ozarr):
        path, r = self.r.choice(list(self.nodes)), self.r
        node, key, values = self.nodes[path], r.choice("abc"), {r.choice("abc"): r.choice(ATTRIBUTES) for _ in range(r.randint(1, 2))}
        attrs = (self.open(path) if by_ozarr else self.zarr(path)).attrs
        if key in node.attrs and r.random() < 0.3:
            self.told("ozarr" if by_ozarr else "zarr", "remove", path, key)
            del attrs[key], node.attrs[key]
        else:
            self.told("ozarr" if by_ozarr else "zarr", "set", path, values)
            attrs.update(values)
            node.attrs.update(values)

    def op_setting(self, by_ozarr, path):
        key, value = self.r.choice([("write_back", 0), ("write_back", 1 << 20), ("chunk_cache", 0), ("chunk_cache", 1 << 20), ("write_fill_chunks", 1)])
        self.told("set", path, key, value)
        self.open(path).set(key, value)

    def op_erase(self, by_ozarr):
        others = [path for path in self.nodes if path]
        if not others or self.r.random() < 0.6:
            return
        path = self.r.choice(others)
        self.told("ozarr" if by_ozarr else "zarr", "erase", path)
        self.close_below(path)
        group, name = split(path)
        if not by_ozarr:
            del self.zarr(group)[name]
        elif self.r.random() < 0.5:
            ozarr.erase(self.at(path))
        else:
            del self.open(group)[name]
        self.nodes = {other: node for other, node in self.nodes.items() if not below(other, path)}
        self.consolidated &= set(self.nodes)

    def op_rename(self, by_ozarr):
        path, to = self.r.choice(list(self.nodes)), self.new_path()
        if not path or below(to, path):
            return
        self.told("rename", path, to)
        self.close_below(path)
        root = self.store.open("") if self.r.random() < 0.5 else ozarr.Store(self.root, "r+").open("")
        lib.group_rename(root._handle, path.encode(), to.encode())
        moved = lambda other: to + other[len(path):] if below(other, path) else other
        self.nodes = {moved(other): node for other, node in self.nodes.items()}
        self.consolidated = {moved(other) for other in self.consolidated}

    def op_copy(self, by_ozarr):
        path, to = self.r.choice(list(self.nodes)), self.new_path()
        over = [other for other in self.paths(True) if other != path and not below(path, other) and not below(other, path)]
        options = raw.ozarr_copy_options(struct_size=C.sizeof(raw.ozarr_copy_options), flags=self.r.choice([0, raw.OZARR_COPY_RAW]))
        if over and self.r.random() < 0.3:
            to, options.mode = self.r.choice(over), raw.OZARR_CREATE_OVERWRITE
        if not path or below(to, path) or len(self.nodes) > 14:
            return
        self.told("copy", path, to, options.mode, options.flags)
        self.settle()
        self.close_below(to)
        if self.r.random() < 0.5:
            lib.copy(self.at(path).encode(), self.at(to).encode(), C.byref(options))
        else:
            lib.copy_at(self.store._handle, path.encode(), self.store._handle, to.encode(), C.byref(options))
        for other in [other for other in self.nodes if below(other, path)]:
            self.nodes[to + other[len(path):]] = copy.deepcopy(self.nodes[other])
        self.consolidated |= {to + other[len(path):] for other in self.consolidated if other and below(other, path)}

    def op_consolidate(self, by_ozarr):
        if self.r.random() < 0.6:
            return
        path = self.r.choice(self.paths(False))
        self.told("ozarr" if by_ozarr else "zarr", "consolidate", path)
        if by_ozarr:
            self.open(path).consolidate()
        else:
            zarr.consolidate_metadata(self.root, path=path or None, zarr_format=self.format)
        self.consolidated.add(path)
        self.stale &= bool(path)

    def op_close(self, by_ozarr):
        if self.handles:
            path, found = self.handles.pop(self.r.randrange(len(self.handles)))
            self.told("close", path)
            found.close()

    def step(self):
        # Groups below the root whose consolidated metadata zarr-python believes, and does not keep right, are ozarr's alone.
        by_ozarr = self.r.random() < 0.75 or any(self.consolidated)
        name = self.r.choice(OPERATIONS)
        arrays = self.paths(True)
        if name in OF_ARRAYS:
            if arrays:
                # Others see what waits when it was flushed.
                if not by_ozarr:
                    self.settle()
                getattr(self, f"op_{name}")(by_ozarr, self.r.choice(arrays))
        else:
            getattr(self, f"op_{name}")(by_ozarr)

    def check_zarr(self, group, top, what):
        found = {(f"{top}/{name}" if top else name): node for name, node in group.members(max_depth=None)}
        expected = {path for path in self.nodes if path != top and (not top or below(path, top))}
        assert set(found) == expected, f"{what}: {set(found) ^ expected} differ"
        for path, node in [(top, group), *found.items()]:
            own = self.nodes[path]
            assert dict(node.attrs) == own.attrs, f"{what}: attributes of {path}: {dict(node.attrs)}, expected {own.attrs}"
            if own.values is not None:
                assert node.shape == own.values.shape, f"{what}: shape of {path}: {node.shape}, expected {own.values.shape}"
                assert np.array_equal(node[...], own.values), f"{what}: {path}: {node[...]}, expected {own.values}"

    def check(self):
        self.settle()
        self.check_zarr(zarr.open_group(self.root, mode="r", use_consolidated=False), "", "documents")
        for path in self.consolidated if not self.stale else ():
            with warnings.catch_warnings():
                # zarr-python says that version 3 does not speak of them.
                warnings.simplefilter("ignore")
                group = zarr.open_group(self.root, path=path or None, mode="r", use_consolidated=True)
            self.check_zarr(group, path, "consolidated metadata")
        for path, own in self.nodes.items():
            found = self.open(path)
            found.refresh()
            assert found.attrs.asdict() == own.attrs, f"ozarr: attributes of {path}: {found.attrs.asdict()}, expected {own.attrs}"
            if own.values is None:
                expected = {split(other)[1] for other in self.nodes if other and split(other)[0] == path}
                assert set(found.keys()) == expected, f"ozarr: {path} has {found.keys()}, expected {expected}"
            else:
                assert found.shape == own.values.shape and np.array_equal(found[...], own.values), f"ozarr: {path}: {found[...]}, expected {own.values}"

    def run(self):
        for _ in range(self.r.randint(5, 60)):
            self.step()
            if self.r.random() < 0.15:
                self.check()
        self.check()
        self.close_below("")
        for _, found in self.handles:
            found.close()
        self.handles = []
        self.store.close()


OF_ARRAYS = ["write", "append", "appender", "resize", "overwrite", "setting"]
OPERATIONS = OF_ARRAYS + ["write", "create", "group", "put", "attribute", "attribute", "erase", "rename", "copy", "consolidate", "close"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", required=True)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--programs", type=int, default=40)
    given = arguments.parse_args()
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "Consolidated metadata is currently not part")
    root, operations = Path(given.build) / "store", 0
    for seed in range(given.seed, given.seed + given.programs):
        shutil.rmtree(root, ignore_errors=True)
        root.parent.mkdir(parents=True, exist_ok=True)
        program = Program(root, seed)
        try:
            program.run()
        except Exception:
            traceback.print_exc()
            sys.exit("\n".join([*map(str, program.log[-12:]), f"hierarchies: seed {seed} of version {program.format}"]))
        operations += len(program.log)
        del program
        # Handles in reference cycles would keep their stores to a later program.
        gc.collect()
    print(f"hierarchies: {given.programs} programs of {operations} operations agree with the model, zarr-python {zarr.__version__} reading")


if __name__ == "__main__":
    main()
