#!/usr/bin/env python3
"""Two jobs of several ranks at one run on an S3 server: what the newer one has published stays, however late the chunks of the other come.

  servers.py --build DIR -- mpi_runs.py --build DIR --prefix PREFIX     PREFIX has libozarr_mpi.so

While a chunk of the first job is on its way, the second job goes on with the run; the chunk comes when that one has ended. This is done for each chunk that
the first job puts, some of them without OZARR_DEEP=1. The last line is `N passed, N failed`.
"""
import argparse, http.client, http.server, os, subprocess, sys, threading
from pathlib import Path
from urllib.parse import urlsplit

import zarr
from zarr.storage import ObjectStore

from cases import KEYS, S3, bucket, expect, run_cases

RANKS, WAIT = 2, 120
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
       "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
       "OMPI_MCA_hwloc_base_binding_policy": "none", "OZARR_NUM_THREADS": "2"}


class Between(http.server.BaseHTTPRequestHandler):
    """Hands requests on to the server. Before the change of number `late` of a chunk, `meanwhile` is called."""

    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", -1, True
    changes, late, meanwhile, turn = 0, None, None, threading.Lock()

    def hand_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.command in ("PUT", "POST", "DELETE") and "/c/" in self.path:
            with Between.turn:
                Between.changes += 1
                is_late = Between.changes - 1 == Between.late
            if is_late:
                Between.meanwhile()
        server = http.client.HTTPConnection(urlsplit(S3).netloc)
        server.request(self.command, self.path, body, dict(self.headers))
        came = server.getresponse()
        data = came.read()
        self.send_response(came.status)
        for name, value in came.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", came.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        server.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = hand_on

    def log_message(self, *_):
        pass


def go_on(program, endpoint, location, job, steps):
    """The status that ended the job."""
    command = ["mpirun", "-np", str(RANKS), program, f"s3://bucket/{location}", str(job), str(steps)]
    done = subprocess.run(command, env=os.environ | KEYS | MPI | {"AWS_ENDPOINT_URL": endpoint}, capture_output=True, text=True, timeout=WAIT)
    expect(done.returncode == 0, f"job {job}: {done.stdout} {done.stderr}")
    return done.stdout.strip()


def jobs(location):
    """The job of each step that readers see; each is whole, and of one job."""
    group = zarr.open_consolidated(ObjectStore(bucket(location)))
    found = {name: group[name][...] for name in ("time", "t", "p", "s")}
    expect(len({len(values) for values in found.values()}) == 1, f"{location}: { {name: len(values) for name, values in found.items()} } steps")
    expect(list(found.pop("time")) == list(range(len(found["t"]))), "the values of time")
    for step in range(len(found["t"])):
        values = {int(value) for of in found.values() for value in of[step]}
        expect(len(values) == 1 and values.pop() % 100 == step, f"{location}: step {step} is {[of[step].tolist() for of in found.values()]}")
    return [int(row[0]) // 100 for row in found["t"]]


def late(program, endpoint, number):
    """The second job comes before the chunk of that number of the first one is stored. Returns how many the first one has stored without that."""
    location = f"mpi/late-{number}.zarr"
    expect(go_on(program, S3, location, 0, 1) == "OZARR_OK", "the run was not made")
    seen = []

    def meanwhile():
        seen.append(go_on(program, S3, location, 2, 3))
        seen.append(jobs(location))

    Between.changes, Between.late, Between.meanwhile = 0, number, meanwhile
    ended = go_on(program, endpoint, location, 1, 4)
    if not seen:
        expect(ended == "OZARR_OK" and jobs(location) == [0, 1, 1, 1, 1], f"{ended}: {jobs(location)}")
        return Between.changes
    expect(ended in ("OZARR_OK", "OZARR_ERR_STATE") and seen[0] in ("OZARR_OK", "OZARR_ERR_STATE"), f"{ended}, {seen}")
    published, found = seen[1], jobs(location)
    expect(found[: len(published)] == published, f"after the change {number} there was {published}, by the end {found}: {ended}, {seen[0]}")
    expect(go_on(program, S3, location, 3, 1) == "OZARR_OK" and jobs(location) == found + [3], f"nobody goes on: {jobs(location)}")
    return None


def all_late(program, endpoint):
    changes = late(program, endpoint, None)
    for number in range(0, changes, 1 if os.environ.get("OZARR_DEEP") else 11):
        late(program, endpoint, number)
    return f"{changes} changes"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", required=True)
    ap.add_argument("--prefix", required=True)
    a = ap.parse_args()
    program, prefix = Path(a.build).resolve() / "mpi_runs", Path(a.prefix).resolve()
    program.parent.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).resolve().parent / "mpi_runs.c"
    subprocess.run(["mpicc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{prefix}/include", source, "-o", program, f"-L{prefix}/lib",
                    f"-Wl,-rpath,{prefix}/lib", "-lozarr_mpi", "-lozarr"], check=True)
    between = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Between)
    threading.Thread(target=between.serve_forever, daemon=True).start()
    return run_cases({"late": lambda: all_late(program, f"http://127.0.0.1:{between.server_port}")})


if __name__ == "__main__":
    sys.exit(main())
