#!/usr/bin/env python3
"""An array on a web server that is far away: 1,000 chunks of 256 KiB, each answer 20 ms late.

  latency.py --library LIBOZARR.SO [--delay MS] [--chunks N] [--rounds N]

The server is this program's own, on loopback. Read by the library, by a bare loop of 64 connections (the ideal), by tensorstore, by
zarr-python over obstore and with zarrs, each in a process of its own, interleaved. The least of the rounds and its ratio to the bare
loop's, and the median: on loopback full windows of TCP stop a connection for a while now and then, for every reader alike.
"""
import argparse, asyncio, ctypes, json, os, shutil, socket, statistics, subprocess, sys, tempfile, threading, time
from pathlib import Path

CHUNK, FLIGHT = 65536, 64  # elements; connections


class Late(asyncio.Protocol):
    """Files of a folder, later."""

    root, delay = Path(), 0.0
    files = {}

    def connection_made(self, transport):
        self.transport, self.rest = transport, b""
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data):
        self.rest += data
        while b"\r\n\r\n" in self.rest:
            head, self.rest = self.rest.split(b"\r\n\r\n", 1)
            asyncio.get_running_loop().call_later(self.delay, self.answer, head.decode())

    def answer(self, head):
        lines = head.split("\r\n")
        method, path, _ = lines[0].split(" ")
        path = path.split("?")[0]
        if path not in self.files:
            file = self.root / path.lstrip("/")
            self.files[path] = file.read_bytes() if file.is_file() else None
        body, wanted = self.files[path], next((x.split(":", 1)[1].strip() for x in lines if x.lower().startswith("range:")), None)
        if body is None:
            self.transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        status, more, total = "200 OK", "", len(body)
        if wanted:
            first, last = wanted.removeprefix("bytes=").split("-")
            first, last = (int(first), min(int(last or total - 1), total - 1)) if first else (max(total - int(last), 0), total - 1)
            body, status, more = memoryview(body)[first:last + 1], "206 Partial Content", f"Content-Range: bytes {first}-{last}/{total}\r\n"
        tag = f'"{hash(path) & 0xffffffff:x}-{total}"'
        self.transport.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nAccept-Ranges: bytes\r\nETag: {tag}\r\n{more}\r\n".encode())
        if method == "GET":
            self.transport.write(body)


def serve(root, delay):
    Late.root, Late.delay = Path(root), delay / 1000

    async def run():
        server = await asyncio.get_running_loop().create_server(Late, "127.0.0.1", 0, backlog=512)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(run())


def make(root, chunks):
    """The array, without a codec's work."""
    (root / "c").mkdir(parents=True)
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    (root / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [chunks * CHUNK], "data_type": "int32", "codecs": codecs, "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [CHUNK]}}, "chunk_key_encoding": {"name": "default"}, "attributes": {}}))
    for i in range(chunks):
        (root / "c" / str(i)).write_bytes(i.to_bytes(4, "little") * CHUNK)


def check(data, chunks):
    assert data.size == chunks * CHUNK and data[::CHUNK].tolist() == list(range(chunks)), "wrong data"


def bare(port, chunks, _):
    import numpy as np
    out = np.empty(chunks * CHUNK, "<i4")
    view, left, lock = memoryview(out).cast("B"), iter(range(chunks)), threading.Lock()

    def work():
        s = socket.create_connection(("127.0.0.1", port))
        while True:
            with lock:
                i = next(left, None)
            if i is None:
                return
            s.sendall(f"GET /a.zarr/c/{i} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            head = b""
            while b"\r\n\r\n" not in head:
                head += s.recv(4096)
            body = head.split(b"\r\n\r\n", 1)[1]
            at, end = i * CHUNK * 4 + len(body), (i + 1) * CHUNK * 4
            view[i * CHUNK * 4:at] = body
            while at < end:
                at += s.recv_into(view[at:end])

    began = time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(FLIGHT)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return time.perf_counter() - began, out


def ozarr(port, chunks, library):
    import numpy as np
    lib = ctypes.CDLL(library)
    lib.ozarr_last_error.restype = ctypes.c_char_p
    out, array = np.empty(chunks * CHUNK, "<i4"), ctypes.c_void_p()

    def ok(status):
        assert status == 0, lib.ozarr_last_error().decode()

    began = time.perf_counter()
    ok(lib.ozarr_array_open(f"http://127.0.0.1:{port}/a.zarr".encode(), b"r", ctypes.byref(array)))
    opened = time.perf_counter()
    ok(lib.ozarr_array_read_region(array, (ctypes.c_int64 * 1)(0), (ctypes.c_int64 * 1)(out.size), INT32, out.ctypes.data_as(ctypes.c_void_p),
                                   ctypes.c_size_t(out.nbytes)))
    return time.perf_counter() - opened, out


def tensorstore(port, chunks, _):
    import tensorstore as ts
    context = ts.Context({"http_request_concurrency": {"limit": FLIGHT}})
    spec = {"driver": "zarr3", "kvstore": {"driver": "http", "base_url": f"http://127.0.0.1:{port}/a.zarr/"}}
    array = ts.open(spec, context=context, open=True, read=True).result()
    began = time.perf_counter()
    out = array.read().result()
    return time.perf_counter() - began, out


def obstore(port, chunks, _):
    import zarr
    from obstore.store import HTTPStore
    from zarr.storage import ObjectStore
    zarr.config.set({"async.concurrency": FLIGHT})
    array = zarr.open_array(ObjectStore(HTTPStore(f"http://127.0.0.1:{port}/a.zarr", client_options={"allow_http": True}), read_only=True), mode="r")
    began = time.perf_counter()
    out = array[:]
    return time.perf_counter() - began, out


def zarrs(port, chunks, _):
    """zarr-python that hands chunks to zarrs, which fetches them itself: over the only HTTP store that it knows, one to a thread."""
    os.environ["RAYON_NUM_THREADS"] = str(FLIGHT)  # by itself it takes as many as there are cores
    import zarr
    import zarrs  # noqa: F401
    from zarr.storage import FsspecStore
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.chunk_concurrent_maximum": FLIGHT,
                     "codec_pipeline.chunk_concurrent_minimum": FLIGHT, "threading.max_workers": FLIGHT, "codec_pipeline.strict": True})
    array = zarr.open_array(FsspecStore.from_url(f"http://127.0.0.1:{port}/a.zarr", read_only=True), mode="r")
    began = time.perf_counter()
    out = array[:]
    return time.perf_counter() - began, out


INT32 = 4
READERS = {"bare": bare, "ozarr": ozarr, "tensorstore": tensorstore, "obstore": obstore, "zarrs": zarrs}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--library")
    ap.add_argument("--delay", type=float, default=20)
    ap.add_argument("--chunks", type=int, default=1000)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--only", default=",".join(READERS))
    ap.add_argument("--as", dest="reader", help=argparse.SUPPRESS)
    ap.add_argument("--port", type=int, help=argparse.SUPPRESS)
    ap.add_argument("--serve", help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.serve:
        return serve(a.serve, a.delay)
    if a.reader:
        took, out = READERS[a.reader](a.port, a.chunks, a.library)
        check(out, a.chunks)
        return print(took)
    work = Path(tempfile.mkdtemp(prefix="ozarr-latency-"))
    me = [sys.executable, __file__]
    server = None
    try:
        make(work / "a.zarr", a.chunks)
        server = subprocess.Popen([*me, "--serve", work, "--delay", str(a.delay)], stdout=subprocess.PIPE, text=True)
        port, times = server.stdout.readline().strip(), {name: [] for name in a.only.split(",")}
        for _ in range(a.rounds):
            for name, all_times in times.items():
                more = ["--library", a.library] if a.library else []
                p = subprocess.run([*me, "--as", name, "--port", port, "--chunks", str(a.chunks), *more], capture_output=True, text=True)
                if p.returncode:
                    sys.exit(f"{name}: {p.stderr[-2000:]}")
                all_times.append(float(p.stdout))
        ideal = min(times["bare"]) if "bare" in times else None
        print(f"{a.chunks} chunks of 256 KiB, {a.delay:g} ms: waiting alone takes {-(-a.chunks // FLIGHT) * a.delay / 1000:.2f} s")
        for name, all_times in times.items():
            ratio = f"  {min(all_times) / ideal:.2f} of the bare loop" if ideal else ""
            print(f"{name:12} {min(all_times):6.2f} s{ratio}  (median {statistics.median(all_times):.2f} s)")
    finally:
        if server:
            server.terminate()
            server.wait()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
