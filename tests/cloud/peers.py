#!/usr/bin/env python3
"""Arrays between ozarr and others on the same servers: what ozarr puts is read by zarr-python over obstore and by tensorstore, and what
they put is read by ozarr.

  servers.py --build DIR -- peers.py --program PREFIX/bin/ozarr

The last line is `N passed, N failed`.
"""
import argparse, os, subprocess, sys
from pathlib import Path

import numpy as np
import obstore
import tensorstore as ts
import zarr
from obstore.store import AzureStore, HTTPStore
from zarr.storage import ObjectStore

from cases import KEYS, S3, bucket, run_cases

VALUES = np.arange(13 * 17, dtype="<i4").reshape(13, 17)
AZURE, AZURE_KEY = os.environ["OZARR_TEST_AZURE"], os.environ["OZARR_TEST_AZURE_KEY"]
HTTP, WWW = os.environ["OZARR_TEST_HTTP"], Path(os.environ["OZARR_TEST_HTTP_ROOT"])
ACCOUNT = {"AZURE_STORAGE_ACCOUNT": "devstoreaccount1", "AZURE_STORAGE_KEY": AZURE_KEY, "AZURE_STORAGE_ENDPOINT": AZURE}
LAYOUTS = {"plain-3": ["--chunks", "6,8"], "sharded-3": ["--chunks", "12,16", "--inner-chunks", "3,4"], "plain-2": ["--chunks", "6,8", "--format", "2"]}


class Program:
    def __init__(self, path):
        self.path = Path(path).resolve()

    def run(self, *words, data=b"", ok=True):
        p = subprocess.run([self.path, *map(str, words)], input=data, capture_output=True, env=dict(os.environ, **KEYS, **ACCOUNT), timeout=120)
        if ok and p.returncode:
            raise AssertionError(f"ozarr {' '.join(map(str, words))}: {p.stderr.decode().strip()}")
        return p

    def same(self, place):
        np.testing.assert_array_equal(np.frombuffer(self.run("read", place, "--raw").stdout, "<i4").reshape(VALUES.shape), VALUES)

    def write(self, place, *options):
        self.run("create", place, "--type", "<i4", "--shape", "13,17", *options)
        self.run("write", place, "--raw", data=VALUES.tobytes())


def fill(store, fmt):
    root = zarr.create_group(store, zarr_format=fmt)
    more = {"shards": (12, 16), "chunks": (3, 4)} if fmt == 3 else {"chunks": (6, 8)}
    root.create_array("deep/a", shape=VALUES.shape, dtype="i4", **more)[:] = VALUES


def azure_store(prefix):
    return ObjectStore(AzureStore("bucket", prefix=prefix, endpoint=AZURE, account_name="devstoreaccount1", account_key=AZURE_KEY,
                                  client_options={"allow_http": True}))


def both_ways(program, name, scheme, store):
    """What the program writes zarr-python reads, and the reverse."""
    for layout, options in LAYOUTS.items():
        place = f"peers/{layout}.zarr"
        program.write(f"{scheme}://bucket/{place}/g/a", *options)
        program.same(f"{scheme}://bucket/{place}/g/a")
        array = zarr.open_array(store(place), path="g/a", mode="r")
        np.testing.assert_array_equal(array[:], VALUES)
    for fmt in (2, 3):
        place = f"peers/theirs-{fmt}.zarr"
        fill(store(place), fmt)
        program.same(f"{scheme}://bucket/{place}/deep/a")
        listed = program.run("ls", f"{scheme}://bucket/{place}").stdout
        assert b"deep" in listed, listed


def tensorstore_s3(program):
    """What tensorstore puts over S3, and what it reads there of what ozarr put."""
    os.environ.update({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
    spec = {"driver": "zarr3", "kvstore": {"driver": "s3", "bucket": "bucket", "endpoint": S3, "aws_region": "us-east-1", "path": "peers/ts.zarr/"}}
    made = ts.open({**spec, "metadata": {"shape": [13, 17], "data_type": "int32", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [6, 8]}}}},
                   create=True, delete_existing=True).result()
    made.write(VALUES).result()
    program.same("s3://bucket/peers/ts.zarr")
    spec["kvstore"]["path"] = "peers/sharded-3.zarr/g/a/"
    np.testing.assert_array_equal(ts.open(spec, open=True, read=True).result().read().result(), VALUES)


def http(program):
    """What is written to a folder is read by ozarr and by others from the web server."""
    for layout, options in LAYOUTS.items():
        program.write(WWW / f"{layout}.zarr/g/a", *options)
        program.same(f"{HTTP}/{layout}.zarr/g/a")
        store = ObjectStore(HTTPStore(f"{HTTP}/{layout}.zarr", client_options={"allow_http": True}), read_only=True)
        np.testing.assert_array_equal(zarr.open_array(store, path="g/a", mode="r")[:], VALUES)
    failed = program.run("ls", f"{HTTP}/plain-3.zarr", ok=False)
    assert failed.returncode and b"cannot list" in failed.stderr, failed


def archive(program):
    """A zip archive in a bucket is read by ranges."""
    place = WWW / "x.zip"
    program.write(f"{place}/g/a", "--chunks", "6,8")
    program.same(f"{HTTP}/x.zip/g/a")
    obstore.put(bucket("peers"), "x.zip", place.read_bytes())
    program.same("s3://bucket/peers/x.zip/g/a")
    failed = program.run("create", "s3://bucket/peers/x.zip/g/b", "--type", "<i4", "--shape", "3", ok=False)
    assert failed.returncode and b"reading only" in failed.stderr, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    program = Program(parser.parse_args().program)
    return run_cases({
        "s3 and zarr-python": lambda: both_ways(program, "s3", "s3", lambda prefix: ObjectStore(bucket(prefix))),
        "azure and zarr-python": lambda: both_ways(program, "azure", "az", azure_store),
        "tensorstore": lambda: tensorstore_s3(program),
        "http": lambda: http(program),
        "zip": lambda: archive(program),
    })


if __name__ == "__main__":
    sys.exit(main())
