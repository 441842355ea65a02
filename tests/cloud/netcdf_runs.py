#!/usr/bin/env python3
"""A program of netCDF-C on an S3 server, by libozarr_netcdf.so: which names are Zarr, what an error is, what is there of a file that is being made, and
which requests are under way at the same time.

  servers.py --build DIR -- netcdf_runs.py --build DIR --library LIBRARY

The program is killed before changes that it makes of the bucket (with OZARR_DEEP=1 before each): its file is there with all its variables or not at all, and
the same program, started again, ends well. The last line is `N passed, N failed`.
"""
import argparse, collections, contextlib, errno, http.client, http.server, json, os, re, subprocess, sys, threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import zarr
from zarr.storage import ObjectStore

from cases import KEYS, S3, bucket, expect, run_cases

DEFINED = {"time/zarr.json", "u/zarr.json", "more/zarr.json", "more/v/zarr.json"}
VARIABLES = {"time", "u"}
GROUPS = {"a", "b"}
REFUSED = b"<Error><Code>InvalidAccessKeyId</Code><Message>no such key</Message></Error>"


class Between(http.server.BaseHTTPRequestHandler):
    """Hands requests on to the server. Before the change of number `kills` the running program is killed."""

    # An answer leaves in one packet.
    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", -1, True
    changes, kills, running = 0, None, None
    # Whether all requests are refused, or those with a text in their URL; the number of the only one of these, where it is one alone.
    refuses, only, matched = False, None, 0
    # How often each document was read; where that is counted the server is overloaded from the second time on.
    read = None
    turn = threading.Lock()
    # While variables, or groups, are to be stored or read at the same time: how many requests of each kind have come about each, and one that was made alone.
    came, alone, another = None, None, threading.Condition()

    def meet(self):
        """Waits until as many requests of this kind have come about another variable, or group: none comes where they are made one after the other."""
        url = urlsplit(self.path)
        *above, last = parse_qs(url.query).get("prefix", [url.path])[0].split("/")
        all_of = next((names for names in (VARIABLES, GROUPS) if names & set(above)), None)
        variable = next((name for name in above if all_of and name in all_of), None)
        # The first conditional put asks the server by keys of its own whether it knows conditions.
        if Between.came is None or not variable or ".ozarr-" in last:
            return
        kind = self.command, last if last in (".zarray", ".zgroup", "zarr.json") else "chunk" if last else "list"
        with Between.another:
            Between.came[kind, variable] += 1
            Between.another.notify_all()
            wanted, others = Between.came[kind, variable], all_of - {variable}
            if not Between.another.wait_for(lambda: Between.alone or any(Between.came[kind, other] >= wanted for other in others), timeout=20):
                Between.alone = f"{self.command} {self.path}"

    @classmethod
    def is_refused(cls, path):
        with cls.turn:
            matches = cls.refuses is True or bool(cls.refuses and cls.refuses in path)
            cls.matched += matches
            return matches and cls.only in (None, cls.matched)

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        length = next((v for n, v in headers if n.lower() == "content-length"), "0") if self.command == "HEAD" else len(body)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def hand_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if Between.is_refused(self.path):
            return self.answer(403, [], b"" if self.command == "HEAD" else REFUSED)
        self.meet()
        if Between.read is not None and "/v" in self.path and self.path.endswith("zarr.json"):
            with Between.another:
                Between.read[self.path] += 1
            if Between.read[self.path] > 1:
                return self.answer(503, [], b"")
        with Between.turn:
            if self.command not in ("GET", "HEAD"):
                if Between.changes == Between.kills:
                    Between.running.kill()
                    self.close_connection = True
                    return None
                Between.changes += 1
            server = http.client.HTTPConnection(urlsplit(S3).netloc)
            server.request(self.command, self.path, body, dict(self.headers))
            came = server.getresponse()
            found = came.status, came.getheaders(), came.read()
            server.close()
        return self.answer(*found)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = hand_on

    def log_message(self, *_):
        pass


class Runs:
    def __init__(self, program, library, endpoint):
        # A program that does not know a name as Zarr's leaves it to netCDF-C, which then takes all memory.
        self.command = ["sh", "-c", 'ulimit -v 8000000; exec "$0" "$@"', program]
        self.env = os.environ | KEYS | {"LD_PRELOAD": str(library), "AWS_ENDPOINT_URL": endpoint}

    def run(self, url, *mode, kills=None, refuses=False, only=None):
        """What the program says, and how many changes it made. `refuses`, `only`: as in `Between`."""
        Between.changes, Between.kills, Between.refuses, Between.only, Between.matched = 0, kills, refuses, only, 0
        # The handler finds the program: it waits while that is started.
        with Between.turn:
            Between.running = subprocess.Popen([*self.command, url, *mode], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            told = Between.running.communicate(timeout=120)[0]
        finally:
            Between.running.kill()
        return told.strip(), Between.changes


    @contextlib.contextmanager
    def steps(self, url):
        """Gives a function that has a program do what a word says, and gives the error of that."""
        program = subprocess.Popen([*self.command, url, "steps"], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        late = threading.Timer(120, program.kill)
        late.start()
        try:
            yield lambda word: print(word, file=program.stdin, flush=True) or int(program.stdout.readline())
        finally:
            late.cancel()
            program.kill()
            program.communicate()


def keys(prefix):
    return {key["path"] for page in bucket(prefix).list() for key in page}


def names(runs):
    for name in "run1#mode=zarr", "x.zarr", "y.zarr#mode=zarr":
        for records in "1", "2":
            told, _ = runs.run(f"s3://bucket/names/{name}")
            expect(told == records, f"{name}: {told}")
        expect("zarr.json" in keys(f"names/{name.split('#')[0]}"), f"{name} is not there")


def refused(runs):
    told, _ = runs.run("s3://bucket/refused.zarr", refuses=True)
    expect(told.startswith(f"{errno.EACCES} "), told)


def refused_once(runs):
    """Where one request for a document of a variable is refused the call that needs it fails, and the next nc_sync stores all."""
    for spec, documents in {"format=2": [".zattrs", ".zarray"], "format=3": ["zarr.json"]}.items():
        runs.env["OZARR_NETCDF_SPEC"] = spec
        only, done = 0, False
        while not done:
            only += 1
            name = f"once/{spec}-{only}.zarr"
            told, _ = runs.run(f"s3://bucket/{name}", "sync", refuses=f"/time/{documents[0]}", only=only)
            done = Between.matched < only
            closes = "nc_close" in told
            if told.startswith(f"{errno.EACCES} ") and not closes:
                continue
            shape = json.loads(bytes(bucket(f"{name}/time").get(documents[-1]).bytes()))["shape"]
            expect((told == "1" or closes) and shape == [1] and keys(f"{name}/time") & {"0", "c.0", "c/0"}, f"{name}: {told}, {shape}")
        expect(only > 4, f"{spec}: {only} requests")
    del runs.env["OZARR_NETCDF_SPEC"]


def refused_below(runs):
    """Where consolidated metadata of a group cannot be read nobody knows whether they are current: nc_close tells it."""
    runs.env["OZARR_NETCDF_SPEC"], url = "format=2", "s3://bucket/below.zarr"
    expect([runs.run(url, "groups")[0] for _ in range(2)] == ["set", "set"] and "a/.zmetadata" in keys("below.zarr"), "there are no such metadata")
    only, done = 0, False
    while not done:
        only += 1
        told, _ = runs.run(url, "groups", refuses="/a/.zmetadata", only=only)
        done = Between.matched < only
        expect(told == "set" if done else told.startswith(f"{errno.EACCES} "), f"{only}: {told}")
    expect(only > 4, f"{only} requests")
    del runs.env["OZARR_NETCDF_SPEC"]


def killed(runs):
    told, changes = runs.run("s3://bucket/killed/whole.zarr")
    expect(told == "1" and changes > 6, f"{changes} changes: {told}")
    for kills in range(0, changes, 1 if os.environ.get("OZARR_DEEP") else 2):
        name = f"killed/{kills}.zarr"
        told, _ = runs.run(f"s3://bucket/{name}", kills=kills)
        there = keys(name)
        expect("zarr.json" not in there or DEFINED <= there, f"killed before the change {kills} it left {sorted(there)}")
        documents = {key: json.loads(bytes(bucket(name).get(key).bytes())) for key in DEFINED | {"zarr.json"}} if "zarr.json" in there else {}
        # Where the documents differ in their lengths readers go by consolidated metadata.
        below = documents.get("zarr.json", {}).get("consolidated_metadata", {"metadata": documents})["metadata"]
        lengths = {document["shape"][0] for document in below.values() if "shape" in document}
        expect(len(lengths) < 2, f"killed before the change {kills} it left the lengths {lengths}")
        again, _ = runs.run(f"s3://bucket/{name}")
        expect(again in ("1", "2"), f"after a kill before the change {kills}: {again}")


def together(runs):
    for records in "1", "2", "3":
        Between.came, Between.alone = collections.Counter(), None
        if records == "3":
            # Without consolidated metadata each array is opened.
            root = json.loads(bytes(bucket("together.zarr").get("zarr.json").bytes()))
            del root["consolidated_metadata"]
            bucket("together.zarr").put("zarr.json", json.dumps(root).encode())
        told, _ = runs.run("s3://bucket/together.zarr")
        came, Between.came = Between.came, None
        expect(not Between.alone, f"{Between.alone} was made before those of other variables")
        expect(told == records and len(came) >= 6, f"{told}, {came}")
        # For its kind and to open it, a second time where no consolidated metadata tell all that the documents do; for the attributes, before the
        # elements, and behind them for the length.
        expect(came[("GET", ".zarray"), "time"] == {"1": 0, "2": 3, "3": 4}[records], came)


ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int32", "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "chunk_key_encoding": {"name": "default"}, "attributes": {}}


def mixed(runs):
    """Of an array with documents of both versions that of version 3 is read, in a file of version 2, too."""
    old = {"zarr_format": 2, "shape": [8], "chunks": [4], "dtype": "<i4", "fill_value": 0, "order": "C", "compressor": None, "filters": None}
    for key, document in {".zgroup": {"zarr_format": 2}, "v/.zarray": old, "v/zarr.json": ARRAY}.items():
        bucket("mixed.zarr").put(key, json.dumps(document).encode())
    for mode in "0", "1":
        told, _ = runs.run("s3://bucket/mixed.zarr", mode)
        expect(told == "0 4", told)


def unlisted(runs):
    """A group that is left out for its name is not looked into, and may be one that the server refuses to list, or that is not there."""
    long = 300 * "n"
    for path in "", "a", long:
        bucket("unlisted.zarr").put(f"{path}/zarr.json".lstrip("/"), b'{"zarr_format": 3, "node_type": "group"}')
    for mode in "0", "1":
        told, _ = runs.run("s3://bucket/unlisted.zarr", mode, refuses=f"{long}%2F")
        expect(told == "1 0", told)
    # Names that only consolidated metadata have may be longer than those of keys.
    group = {"zarr_format": 3, "node_type": "group"}
    below = {"kind": "inline", "must_understand": False, "metadata": {name: group for name in ("a", 1100 * "n")}}
    bucket("unlisted.zarr").put("zarr.json", json.dumps(group | {"consolidated_metadata": below}).encode())
    told, _ = runs.run("s3://bucket/unlisted.zarr", "1", refuses="list-type=2")
    expect(told == "1 0", told)


def overloaded(runs):
    """A file whose server begins to answer 503 is given up by the first array for which it does so, with those that are read at the same time."""
    for path, document in {"": {"zarr_format": 3, "node_type": "group"}, **{f"v{i}": ARRAY for i in range(200)}}.items():
        bucket("overloaded.zarr").put(f"{path}/zarr.json".lstrip("/"), json.dumps(document).encode())
    runs.env["OZARR_CLOUD_OPTIONS"] = '{"retries": "0"}'
    Between.read = collections.Counter()
    told, _ = runs.run("s3://bucket/overloaded.zarr", "0")
    read, Between.read = Between.read, None
    del runs.env["OZARR_CLOUD_OPTIONS"]
    # Once to list it; 32 are read at the same time.
    again = sum(read.values()) - len(read)
    expect(told.startswith("-") and len(read) == 200 and 0 < again <= 64, f"{told}; {again} requests")


def groups(runs):
    """All groups of a file are listed, and their documents read, at the same time; by who writes none twice, though what is consolidated differs."""
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    below = {"a": group, "b": group, "a/v": ARRAY, "b/v": ARRAY}
    old = below | {"a/v": ARRAY | {"attributes": {"units": "K"}}}
    for consolidated in {}, {"consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": old}}:
        for path, document in (below | {"": group | consolidated}).items():
            bucket("groups.zarr").put(f"{path}/zarr.json".lstrip("/"), json.dumps(document).encode())
        for mode in "0", "1":
            Between.came, Between.alone = collections.Counter(), None
            told, _ = runs.run("s3://bucket/groups.zarr", mode)
            came, Between.came = Between.came, None
            expect(told == "2 0" and not Between.alone, f"{told}: {Between.alone} was made before those of other groups")
            expect(not consolidated or came[("GET", "zarr.json"), "a"] == {"0": 0, "1": 2}[mode], came)


def groups_that_are_stored(runs):
    """What is defined and set in groups of one level is stored at the same time, in a new file and in an older one."""
    for spec in "format=3", "format=2":
        runs.env["OZARR_NETCDF_SPEC"] = spec
        for name, mode in ("new", "groups"), ("new", "groups"), ("older", None), ("older", "groups"), ("older", "groups"):
            Between.came, Between.alone = mode and collections.Counter(), None
            told, _ = runs.run(f"s3://bucket/stored/{spec}/{name}.zarr", *[mode] if mode else [])
            Between.came = None
            expect(told == ("set" if mode else "1") and not Between.alone, f"{spec}, {name}: {told}: {Between.alone} was made before those of another group")
    del runs.env["OZARR_NETCDF_SPEC"]


def spoilt(runs):
    """Of a variable whose document another program has spoilt nc_sync tells it; what is put waits until the document can be understood. All others are stored."""
    last = {"time": 2, "u": 6, "more/v": 7}
    error = -51
    for spec, variable, document in ("format=3", "u", "zarr.json"), ("format=2", "more/v", ".zarray"), ("format=2", "time", ".zattrs"):
        runs.env["OZARR_NETCDF_SPEC"] = spec
        name, store = f"spoilt/{spec}/{variable}.zarr", bucket(f"spoilt/{spec}/{variable}.zarr/{variable}")
        read = lambda one: zarr.open_array(ObjectStore(bucket(f"{name}/{one}")), mode="r")[:]
        told, _ = runs.run(f"s3://bucket/{name}")
        was = bytes(store.get(document).bytes())
        with runs.steps(f"s3://bucket/{name}") as step:
            expect([told, step("put"), store.put(document, was[:40]) and step("sync")] == ["1", 0, error], f"{name}: {told}, the first nc_sync")
            lengths = {one: len(read(one)) for one in last if one != variable}
            expect(set(lengths.values()) == {2}, f"{name}: {lengths} behind the first nc_sync")
            expect([step("put"), step("sync"), store.put(document, was) and step("sync"), step("close")] == [0, error, 0, 0], f"{name}: the later ones")
        arrays = {one: read(one) for one in last}
        expect(all(len(arrays[one]) == 3 and arrays[one].flat[-1] == last[one] for one in last), f"{name}: {arrays}")
    del runs.env["OZARR_NETCDF_SPEC"]


def of_unknown_type(runs):
    """Where another program has put an array of a type that is unknown here in the place of a variable, nothing is stored with that: nc_sync tells that what was put is lost."""
    for spec, document in ("format=3", "zarr.json"), ("format=2", ".zarray"):
        runs.env["OZARR_NETCDF_SPEC"] = spec
        name, store = f"unknown/{spec}.zarr", bucket(f"unknown/{spec}.zarr/u")
        told, _ = runs.run(f"s3://bucket/{name}")
        stored = lambda: sorted((key["path"], key["e_tag"]) for page in store.list() for key in page)
        with runs.steps(f"s3://bucket/{name}") as step:
            expect([told, step("put")] == ["1", 0], f"{name}: {told}")
            store.put(document, re.sub(rb'(type": ?")(float|<)', rb"\1weird", bytes(store.get(document).bytes())))
            theirs = stored()
            expect([step("sync"), step("close"), stored()] == [-49, 0, theirs], f"{name}: {stored()}, not {theirs}")
        expect(zarr.open_array(ObjectStore(bucket(f"{name}/time")), mode="r").shape == (2,), f"{name}: the length of time")
    del runs.env["OZARR_NETCDF_SPEC"]


def twice(runs):
    """Of two programs that make a file of one name the one that began later has made it; the other one is told so, and leaves it alone."""
    for spec in "format=3", "format=2":
        runs.env["OZARR_NETCDF_SPEC"] = spec
        told, _ = runs.run(f"s3://bucket/twice/{spec}.zarr", "twice")
        expect(told == "-35 0 0 6", f"{spec}: {told}")
        shape = json.loads(bytes(bucket(f"twice/{spec}.zarr/v").get("zarr.json" if spec == "format=3" else ".zarray").bytes()))["shape"]
        expect(shape == [6], f"{spec}: {shape}")
    del runs.env["OZARR_NETCDF_SPEC"]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", required=True)
    ap.add_argument("--library", required=True)
    a = ap.parse_args()
    program = Path(a.build).resolve() / "netcdf_runs"
    program.parent.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).resolve().parent / "netcdf_runs.c"
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", program, "-lnetcdf"], check=True)
    between = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Between)
    threading.Thread(target=between.serve_forever, daemon=True).start()
    runs = Runs(program, Path(a.library).resolve(), f"http://127.0.0.1:{between.server_port}")
    return run_cases({case.__name__: lambda case=case: case(runs) for case in (names, refused, refused_once, refused_below, killed, together, mixed, unlisted, overloaded, groups,
                                                                              groups_that_are_stored, spoilt, of_unknown_type, twice)})


if __name__ == "__main__":
    sys.exit(main())
