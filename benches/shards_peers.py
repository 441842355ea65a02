#!/usr/bin/env python3
"""What benches/shards.c does, by the peers: shards_peers.py PEER OP STORE THREADS TIMES.

PEER: tensorstore, zarr (zarr-python) or zarrs (zarr-python with the codecs of zarrs). OP: noop, read, boxes, warm, cold, of STORE/sharded.
Prints one line of JSON as shards.c does; the places are the same ones. Ends with status 3 where the peer is not installed.
"""
import json, resource, sys, time

SHAPE = (256, 512, 512)
peer, op, store, threads, times = sys.argv[1], sys.argv[2], sys.argv[3] + "/sharded", int(sys.argv[4]), int(sys.argv[5])
seed = 7


def below(n):
    global seed
    seed = (seed * 6364136223846793005 + 1442695040888963407) % (1 << 64)
    return (seed >> 33) % n


try:
    import numpy as np
    if peer == "tensorstore":
        import tensorstore as ts
        context = ts.Context({"data_copy_concurrency": {"limit": threads}, "file_io_concurrency": {"limit": threads}, "cache_pool": {"total_bytes_limit": 64 << 20}})

        def open_array():
            return ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": store + "/"}}, open=True, read=True, context=context).result()

        def read(array, place):
            return array[place].read().result()
    else:
        import zarr
        settings = {"async.concurrency": threads, "threading.max_workers": threads}
        if peer == "zarrs":
            import zarrs
            settings["codec_pipeline.path"] = "zarrs.ZarrsCodecPipeline"
        zarr.config.set(settings)

        def open_array():
            return zarr.open_array(store, mode="r")

        def read(array, place):
            return np.asarray(array[place])
except ImportError as e:
    print(e, file=sys.stderr)
    sys.exit(3)


def cpu():
    r = resource.getrusage(resource.RUSAGE_SELF)
    return r.ru_utime + r.ru_stime


def once():
    """(wall, CPU) of the timed part; an array that is opened anew for an element is not in it, as in shards.c."""
    global seed
    seed, walls, cpus, array = 7, 0.0, 0.0, open_array()
    for _ in range(1 if op == "read" else 1000):
        extent = 32 if op == "boxes" else 1
        place = ... if op == "read" else tuple(slice(s, s + extent) for s in (below(n - extent + 1) for n in SHAPE))
        if op == "cold":
            array = open_array()
        a, b = time.perf_counter(), cpu()
        read(array, place)
        walls, cpus = walls + time.perf_counter() - a, cpus + cpu() - b
    return walls, cpus


timed = [once() for _ in range(0 if op == "noop" else times)]
print(json.dumps({"wall": [t[0] for t in timed], "cpu": [t[1] for t in timed], "rss_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "bytes": 256 << 20}))
