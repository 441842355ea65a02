"""The benchmark's workloads: one table, of which every row is the same work for the bare loop, ozarr and each peer.

A row has what an adapter is asked for (see bench.h), the target of ozarr's CPU time as a multiple of the bare loop's, and which peers can do it.
"""
import json, random
from dataclasses import dataclass, field
from pathlib import Path

CHUNKS = {"4 KiB": (4, 16, 16), "16 KiB": (16, 16, 16), "64 KiB": (16, 32, 32), "1 MiB": (64, 64, 64), "16 MiB": (64, 256, 256)}
CODECS = ["none", "zstd", "lz4-shuffle", "lz4-bitshuffle", "zstd-shuffle", "zstd-bitshuffle", "gzip"]
FILES = ["zarrs", "zarrs_ffi", "tensorstore", "zarr-zarrs", "zarr"]           # read and write format 3
OWN = ["h5py", "netcdf4"]                                                      # the same chunks and filters in a file of their own
V2 = ["zarrs", "tensorstore", "zarr-zarrs", "zarr", "nczarr", "z5py"]          # format 2
PEERS = ["zarrs", "zarrs_ffi", "tensorstore", "zarr-zarrs", "zarr", "h5py", "netcdf4", "nczarr", "z5py"]


@dataclass
class Workload:
    title: str
    op: str
    shape: tuple
    chunk: tuple = CHUNKS["1 MiB"]
    codec: str = "none"
    target: float = 0            # of the ratio to the bare loop; 0: none is set
    shard: tuple = ()
    format: int = 3
    memory: str = "touched"
    sync: str = "none"
    threads: int = 1
    regions: str = ""            # which, of `regions` below
    fill: float = 0.0            # not 0: nothing but this value
    flags: tuple = ()            # big, fortran, f64, reopen, consolidated
    settings: str = ""           # of ozarr's context, KEY:VALUE
    repeat: int = 1
    peers: list = field(default_factory=lambda: FILES)
    cold: bool = False           # the page cache is emptied before each run
    disk: bool = False           # on a disk, where the others are in memory
    quick: bool = False          # also in the quick run
    unit: str = "chunk"          # of the instructions: chunk, element, or step
    plot: str = ""               # the plot it is a point of, and its place there
    small: tuple = ()            # the shape in which instructions are counted; (): they are not

    @property
    def itemized(self):
        return {"shape": self.shape, "chunk": self.chunk, "codec": self.codec, "format": self.format}

    def chunks(self, shape=None):
        n = 1
        for s, c in zip(shape or self.shape, self.chunk):
            n *= -(-s // c)
        return n

    def rows(self):
        """[start, count, step] of each region, or None for the whole."""
        return REGIONS[self.regions](self.shape, self.chunk) if self.regions else None

    def elements(self):
        rows = self.rows()
        return sum(a * b * c for _, (a, b, c), _ in rows) if rows else self.shape[0] * self.shape[1] * self.shape[2]

    def meta(self):
        return meta(self)


ONE = (1, 1, 1)


def planes(axis):
    def rows(shape, chunk):
        out = []
        for k in (0.04, 0.3, 0.55, 0.8):
            start, count = [0, 0, 0], list(shape)
            start[axis], count[axis] = int(k * shape[axis]), 1
            out.append((start, count, ONE))
        return out
    return rows


def boxes(edge):
    def rows(shape, chunk):
        r = random.Random(99)
        return [([r.randrange(n - edge + 1) for n in shape], [edge] * 3, ONE) for _ in range(200 if edge > 1 and shape[1] < 512 else 1000)]
    return rows


def strided(shape, chunk):
    return [([0, 0, 0], [n // 4 for n in shape], (4, 4, 4))]


def parts(shape, chunk):
    """Half of a chunk along each axis, in 64 chunks."""
    r = random.Random(7)
    return [([r.randrange(n // c) * c + c // 4 for n, c in zip(shape, chunk)], [c // 2 for c in chunk], ONE) for _ in range(64)]


REGIONS = {"plane 0": planes(0), "plane 1": planes(1), "plane 2": planes(2), "boxes 20": boxes(20), "boxes 32": boxes(32), "elements": boxes(1), "strided": strided, "parts": parts,
           "one": lambda shape, chunk: [([shape[0] // 2] * 3, [1, 1, 1], ONE)]}


def codecs3(codec):
    if codec == "none":
        return []
    if codec == "zstd":
        return [{"name": "zstd", "configuration": {"level": 3, "checksum": False}}]
    if codec == "gzip":
        return [{"name": "gzip", "configuration": {"level": 5}}]
    name, shuffle = codec.split("-")
    return [{"name": "blosc", "configuration": {"typesize": 4, "cname": name, "clevel": 5, "shuffle": shuffle, "blocksize": 0}}]


def compressor2(codec):
    if codec == "none":
        return None
    if codec in ("zstd", "gzip"):
        return {"id": codec, "level": 3 if codec == "zstd" else 5}
    name, shuffle = codec.split("-")
    return {"id": "blosc", "cname": name, "clevel": 5, "shuffle": 2 if shuffle == "bitshuffle" else 1, "blocksize": 0}


def meta(w):
    """The array's metadata document."""
    if w.format == 2:
        return {"zarr_format": 2, "shape": list(w.shape), "chunks": list(w.chunk), "dtype": ">f4" if "big" in w.flags else "<f4", "compressor": compressor2(w.codec), "fill_value": w.fill,
                "order": "C", "filters": None, "dimension_separator": "/"}
    codecs = [{"name": "bytes", "configuration": {"endian": "big" if "big" in w.flags else "little"}}] + codecs3(w.codec)
    if w.shard:
        index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
        codecs = [{"name": "sharding_indexed", "configuration": {"chunk_shape": list(w.chunk), "codecs": codecs, "index_codecs": index, "index_location": "end"}}]
    return {"zarr_format": 3, "node_type": "array", "shape": list(w.shape), "data_type": "float32",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(w.shard or w.chunk)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": w.fill, "codecs": codecs, "attributes": {}}


def make_group(folder, consolidated, arrays=1000):
    """A group of arrays that have metadata only."""
    folder, nodes = Path(folder), {}
    w = Workload("", "", (100, 200, 300), (10, 20, 30), "lz4-shuffle")
    for i in range(arrays):
        name = f"var{i:04}"
        nodes[name] = dict(meta(w), attributes={"units": "K", "long_name": f"variable {i}"})
        (folder / name).mkdir(parents=True)
        (folder / name / "zarr.json").write_text(json.dumps(nodes[name], indent=2))
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    if consolidated:
        group["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": nodes}
    (folder / "zarr.json").write_text(json.dumps(group, indent=2))


def workloads(quick, cores):
    """All rows, or those of the quick run with less data."""
    big, tiny = ((64, 256, 256), (16, 256, 256)) if quick else ((64, 512, 512), (80, 512, 512))
    lean = (64, 256, 256 if quick else 512)
    wide = big if quick else (192, 512, 512)  # what two threads read in less than 20 ms says more of other programs than of them
    many = "200" if quick else "1,000"
    rows, add = [], lambda *a, **k: rows.append(Workload(*a, **k))
    chosen = {("none", "64 KiB"), ("none", "1 MiB"), ("zstd", "64 KiB"), ("zstd", "1 MiB"), ("lz4-shuffle", "1 MiB"), ("gzip", "1 MiB")}
    counted = {} if quick else {("read", "none", "16 KiB"): (32, 64, 64), ("read", "none", "64 KiB"): (32, 128, 128), ("read", "none", "1 MiB"): (64, 128, 128), ("read", "zstd", "64 KiB"): (32, 64, 64),
                                ("read", "lz4-shuffle", "64 KiB"): (32, 128, 128), ("write", "none", "64 KiB"): (32, 128, 128)}

    for op in ("read", "write"):
        for codec in CODECS:
            for size in ("16 KiB", "64 KiB", "1 MiB", "16 MiB"):
                target = 1.05 if codec == "gzip" or (op == "read" and size in ("1 MiB", "16 MiB")) else 1.10
                slow = op == "write" and codec.startswith(("zstd", "gzip"))
                add(f"{op} whole, {codec}, chunks of {size}", op, lean if slow else big, CHUNKS[size], codec, target, peers=FILES + OWN, quick=(codec, size) in chosen, plot=f"{op} {codec}|{size}",
                    small=counted.get((op, codec, size), ()))
        for codec in ("none", "lz4-shuffle"):
            add(f"{op} whole, {codec}, {'1,024' if quick else '20,480'} chunks of 4 KiB", op, tiny, CHUNKS["4 KiB"], codec, 1.15 if op == "read" else 1.10, peers=FILES + OWN, quick=op == "read", plot=f"{op} {codec}|4 KiB",
                small=() if quick else (16, 128, 128))
    for codec, size, memory in (("none", "1 MiB", "fresh"), ("none", "1 MiB", "huge"), ("none", "64 KiB", "fresh"), ("zstd", "1 MiB", "fresh"), ("zstd", "1 MiB", "huge"), ("lz4-shuffle", "1 MiB", "fresh")):
        add(f"read whole into {memory} memory, {codec}, chunks of {size}", "read", big, CHUNKS[size], codec, 1.05 if size == "1 MiB" else 1.10, memory=memory, peers=FILES + OWN, quick=codec == "none")
    for codec in ("none", "zstd", "lz4-shuffle"):
        for axis in range(3):
            add(f"4 planes across axis {axis}, {codec}", "read", big, codec=codec, target=1.2 if codec == "none" else 1.1, regions=f"plane {axis}", peers=FILES + OWN, unit="element", quick=codec != "lz4-shuffle",
                small=(64, 128, 128) if codec == "none" and not quick else ())
        add(f"{many} boxes of 20³, {codec}", "read", big, codec=codec, target=1.2 if codec == "none" else 1.1, regions="boxes 20", peers=FILES + OWN, unit="element", quick=codec == "none")
        add(f"every 4th along each axis, {codec}", "read", big, codec=codec, target=1.2 if codec == "none" else 1.1, regions="strided", peers=[p for p in FILES if p != "zarrs_ffi"] + OWN, unit="element",
            quick=codec == "none")
    no_ffi = [p for p in FILES if p != "zarrs_ffi"]
    for codec in ("none", "zstd"):
        add(f"into Fortran order, {codec}", "read", big, codec=codec, target=1.15, flags=("fortran",), peers=no_ffi + OWN, unit="element", quick=codec == "none", small=() if quick or codec != "none" else (64, 128, 128))
        add(f"float32 to float64, {codec}", "read", big, codec=codec, target=1.10, flags=("f64",), peers=no_ffi + OWN, unit="element", quick=codec == "none", small=() if quick or codec != "none" else (64, 128, 128))
        add(f"big-endian, {codec}", "read", big, codec=codec, target=1.10, flags=("big",), unit="element", quick=codec == "none", small=() if quick or codec != "none" else (64, 128, 128))
    shard = dict(chunk=CHUNKS["64 KiB"], codec="zstd", shard=(64, 128, 128) if quick else (64, 256, 512))
    add("sharded: read whole", "read", big, target=1.10, quick=True, **shard)
    add("sharded: write whole", "write", big, target=1.10, **shard)
    add(f"sharded: {many} boxes of 32³", "read", big, target=1.10, regions="boxes 32", quick=True, **shard)
    add(f"sharded: {many} boxes of 32³, chunk cache", "read", big, target=0.8, regions="boxes 32", settings="chunk_cache:67108864", peers=["tensorstore"], **shard)
    add("sharded: 1,000 elements", "read", big, target=1.10, regions="elements", quick=True, unit="element", **shard)
    add("sharded: 1,000 elements, opened for each", "read", big, target=1.2, regions="elements", flags=("reopen",), unit="element", **shard)
    add("unsharded: 1,000 elements, zstd, chunks of 64 KiB", "read", big, CHUNKS["64 KiB"], "zstd", 1.2, regions="elements", unit="element", peers=FILES + OWN)
    for codec in ("none", "zstd", "lz4-shuffle"):
        add(f"parts of 64 chunks written, {codec}", "update", big, codec=codec, target=1.10, regions="parts", peers=no_ffi + OWN, quick=codec == "lz4-shuffle", small=(64, 256, 256) if codec == "none" and not quick else ())
    steps, frame = (32, (256, 256)) if quick else (200, (512, 512))
    for codec in ("none", "zstd"):
        add(f"{steps} time steps appended, {codec}, a chunk each", "append", (steps, *frame), (1, *frame), codec, 1.05, peers=no_ffi + ["h5py", "netcdf4"], unit="step", quick=codec == "none")
    add("time steps appended, lz4-shuffle, chunks 32 steps deep", "append", (32 if quick else 192, *frame), (32, 64, 64), "lz4-shuffle", 1.2, peers=["zarrs", "tensorstore", "h5py", "netcdf4"], unit="step", quick=True)
    add("nothing stored: read whole", "read", big, codec="zstd", target=1.05, fill=1.5, quick=True)
    add("nothing but the fill value: write whole", "write", big, codec="zstd", target=1.2, fill=1.5, quick=True)
    for title, target, more in (("4 planes across axis 0, none", 1.2, dict(regions="plane 0")), ("4 planes across axis 2, none", 1.2, dict(regions="plane 2")), (f"{many} boxes of 20³, zstd", 1.1, dict(regions="boxes 20", codec="zstd")),
                                ("into Fortran order, none", 1.15, dict(flags=("fortran",))), ("float32 to float64, none", 1.1, dict(flags=("f64",))), ("float32 to float64, zstd", 1.1, dict(flags=("f64",), codec="zstd")),
                                ("big-endian, none", 1.1, dict(flags=("big",))), ("sharded: read whole", 1.1, shard), ("nothing stored: read whole", 1.05, dict(codec="zstd", fill=1.5))):
        add(f"{title}, fresh memory", "read", big, target=target, memory="fresh", peers=no_ffi, unit="element" if "regions" in more else "chunk", quick=title.startswith("float32") and "none" in title, **more)
    nodes = dict(shape=(100, 200, 300), chunk=(10, 20, 30), codec="lz4-shuffle")
    add("open an array 1,000 times", "open", target=1.2, repeat=1000, quick=True, peers=no_ffi + OWN, **nodes)
    add("open the 1,000 arrays of a group", "opens", target=1.5, quick=True, peers=no_ffi, **nodes)
    add("the same, consolidated", "opens", target=1.5, flags=("consolidated",), peers=["zarrs", "zarr-zarrs", "zarr"], **nodes)
    add("list the 1,000 arrays of a group", "list", peers=["zarrs", "zarr"], **nodes)
    for codec in ("none", "zstd", "lz4-shuffle"):
        add(f"format 2: read whole, {codec}", "read", big, codec=codec, target=1.05, format=2, peers=V2, quick=codec == "zstd")
    for threads in sorted({2, cores} | {t for t in (4, 8, 16) if t <= cores} - {1}):
        for op, codec, size, memory in (("read", "none", "1 MiB", "fresh"), ("read", "none", "1 MiB", "huge"), ("read", "none", "1 MiB", "touched"), ("read", "zstd", "1 MiB", "touched"), ("read", "zstd", "64 KiB", "touched"),
                                        ("read", "lz4-shuffle", "1 MiB", "touched"), ("write", "none", "1 MiB", "touched"), ("write", "zstd", "1 MiB", "touched")):
            where = "" if memory == "touched" else f" into {memory} memory"
            add(f"{op} whole{where}, {codec}, chunks of {size}, {threads} threads", op, lean if op == "write" and codec == "zstd" else wide if op == "read" and codec == "none" else big, CHUNKS[size], codec, 1.10,
                memory=memory, threads=threads,
                quick=codec == "zstd" and size == "1 MiB" and op == "read" and threads == 2)
    for codec, size in (("none", "1 MiB"), ("zstd", "64 KiB")):
        add(f"from cold files: read whole, {codec}, chunks of {size}", "read", big, CHUNKS[size], codec, cold=True, disk=True)
    for sync in ("none", "batch", "each"):
        add(f"write whole to a disk, none, sync {sync}", "write", big, target=1.10, sync=sync, disk=True, peers=["tensorstore", "zarrs"] if sync == "none" else ["tensorstore"])
    return [w for w in rows if w.quick] if quick else rows
