#!/usr/bin/env python3
"""Runs a reader over the corpus: what exists must pass, what is still to come is parked by feature.

  run.py --reader BUILD/ozread [--build DIR] [--id TEXT] [--features]
  run.py --reader BUILD/ozarr --migrate "BUILD/ozarr migrate" --ref PYTHON     drafts also migrated, and read by zarr-python

The archive tests/corpus.tar.xz is unpacked below --build. A case is parked when one of its features stands in parked.txt. Besides the
features of cases.json a case has those that its metadata document shows (`codec:bz2`, `dtype:|S5`, `grid:rectilinear`, `store:zip`, ...).
A parked feature whose cases all pass fails the test: it has come, so its line has to go.
"""
import argparse, collections, fnmatch, importlib.util, json, re, shlex, subprocess, sys, tarfile, tempfile, types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ARCHIVE = HERE.parent / "corpus.tar.xz"


def unpack(build):
    """The folder with the corpus, unpacked once for each version of the archive."""
    at, stamp = build / "corpus", build / "corpus.stamp"
    now = f"{ARCHIVE.stat().st_size} {ARCHIVE.stat().st_mtime_ns}"
    if not stamp.exists() or stamp.read_text() != now:
        build.mkdir(parents=True, exist_ok=True)
        with tarfile.open(ARCHIVE) as t:
            t.extractall(at)
        stamp.write_text(now)
    return at


def name_of(x):
    return x if isinstance(x, str) else x.get("name", "") if isinstance(x, dict) else ""


def codecs_v3(codecs):
    """The codecs of a chain and of the chains within."""
    for c in codecs if isinstance(codecs, list) else []:
        name, conf = name_of(c), (c.get("configuration") or {}) if isinstance(c, dict) else {}
        yield f"codec:{name}"
        if name == "blosc":
            yield f"blosc:{conf.get('cname')}"
        for inner in ("codecs", "index_codecs"):
            yield from codecs_v3(conf.get(inner))


def codecs_v2(doc):
    for c in [*(doc.get("filters") or []), *([doc["compressor"]] if doc.get("compressor") else [])]:
        yield f"codec:{c.get('id')}"
        if c.get("id") == "blosc":
            yield f"blosc:{c.get('cname')}"


def draft_document(store, path):
    """The document of an array in a store of the draft d0, or None."""
    root = store / "zarr.json"
    entry = json.loads(root.read_text()) if root.exists() else {}
    if not isinstance(entry.get("zarr_format"), str):
        return None
    at = store / ("/".join(["meta/root", *path.strip("/").split("/")]).rstrip("/") + ".array" + entry.get("metadata_key_suffix", ".json"))
    return json.loads(at.read_text()) if at.exists() else None


def shown_by_document(store, path):
    """Features that a case's own files show. Of a document that cannot be understood: none."""
    if store.suffix == ".zip":
        return {"store:zip"}
    at = store / path.strip("/")
    try:
        if (draft := draft_document(store, path)) is not None:
            kind = draft["data_type"]
            kind = kind.get("type") if isinstance(kind, dict) else kind
            got = {f"codec:{c.get('id')}" for c in (draft.get("attributes") or {}).get("filters") or []}
            return got | {"dtype:structured" if isinstance(kind, list) else f"dtype:{kind}"}
        if (at / "zarr.json").exists():
            d = json.loads((at / "zarr.json").read_text())
            got = set(codecs_v3(d.get("codecs")))
            got |= {f"{k}:{name_of(d[m])}" for k, m in (("dtype", "data_type"), ("grid", "chunk_grid"), ("keys", "chunk_key_encoding")) if m in d}
            return got
        if (at / ".zarray").exists():
            d = json.loads((at / ".zarray").read_text())
            return set(codecs_v2(d)) | {"dtype:structured" if isinstance(d["dtype"], list) else f"dtype:{d['dtype']}"}
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        pass
    return set()


def parked_features():
    """[(pattern, issue, reason)] of parked.txt; patterns as in file names, so that dtype:*U* is every text."""
    rows = []
    for line in (HERE / "parked.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            m = re.fullmatch(r"(\S+)\s+issue (\d+)\s+(.+)", line)
            if not m:
                sys.exit(f"parked.txt: not 'feature  issue N  reason': {line}")
            rows.append((m[1], int(m[2]), m[3]))
    return rows


# Reads the arrays that it is given as [store, path], all in one process: starting zarr-python takes longer than reading one.
READ_ALL = """
import hashlib, json, sys
sys.path.insert(0, sys.argv[1])
import ref_reader
for store, path in json.load(sys.stdin):
    status, read, error = ref_reader.run(["read", store, path, "--raw"])
    print(json.dumps([status, hashlib.sha256(read).hexdigest(), error]))
"""


def migrations(runner, check, cases, root, a):
    """{id: [what is wrong]}: each draft store once through the command STORE DEST (DEST is not there yet), then its arrays read from DEST by zarr-python."""
    cases = [c for c in cases if "draft" in c["features"] and c["expect"] == "raw" and c.get("migrate", True)]
    wrong = {}
    with tempfile.TemporaryDirectory() as t, ThreadPoolExecutor(a.jobs) as ex:
        stores = sorted({c["store"] for c in cases})
        dest = {s: str(Path(t, str(i))) for i, s in enumerate(stores)}
        done = dict(zip(stores, ex.map(lambda s: runner.spawn([str(root / s), dest[s]], shlex.split(a.migrate)), stores)))
        for c in cases:
            rc, _, err = done[c["store"]]
            if x := check.crashed(rc, err) or (f"exit {rc}: {err.strip()[-160:]}" if rc else None):
                wrong[c["id"]] = [f"migration {x}"]
        left = [c for c in cases if c["id"] not in wrong]
        p = subprocess.run([a.ref, "-c", READ_ALL, str(root)], input=json.dumps([[dest[c["store"]], c["path"]] for c in left]), stdout=subprocess.PIPE, text=True, check=True)
        for c, line in zip(left, p.stdout.splitlines(), strict=True):
            status, digest, error = json.loads(line)
            wrong[c["id"]] = [f"zarr-python on what was migrated: {error.strip()[-160:]}"] if status else [] if digest == c["sha256"] else ["migrated: bytes differ"]
    return wrong


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--reader", help="command of the reader")
    ap.add_argument("--build", default="build/corpus", help="folder to unpack into")
    ap.add_argument("--id", help="only cases whose id contains this")
    ap.add_argument("--features", action="store_true", help="only print each feature and the number of its cases")
    ap.add_argument("--migrate", help="command: CMD STORE DEST makes v3 of a draft store, which zarr-python then reads")
    ap.add_argument("--ref", default=sys.executable, help="python with zarr-python, for --migrate")
    ap.add_argument("--jobs", type=int, default=2)
    a = ap.parse_args()
    root = unpack(Path(a.build))
    cases = [c for c in json.loads((root / "cases.json").read_text()) if not a.id or a.id in c["id"]]
    for c in cases:
        if a.migrate and c["expect"] == "error":
            # The program counts negative indices from the end: what it must refuse is before the first element.
            c["args"] = [re.sub(r"^--start=-\d+$", "--start=-1000000", arg) for arg in c.get("args", [])]
        c["all"] = sorted({f"case:{c['id']}"} | set(c["features"]) | shown_by_document(root / c["store"], c["path"]))
    if a.features:
        for f, n in sorted(collections.Counter(f for c in cases for f in c["all"]).items()):
            print(f"{n:5} {f}")
        return 0

    spec = importlib.util.spec_from_file_location("corpus_check", root / "check.py")
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    runner = check.Check(types.SimpleNamespace(cases=str(root), reader=a.reader, inproc=None, migrate=a.migrate, ref=a.ref, jobs=a.jobs, timeout=30, mem_mib=4096, no_info=False, with_ls=True, quick=False))
    with ThreadPoolExecutor(a.jobs) as ex:
        wrong = list(ex.map(runner.case, cases))
    rows = parked_features()
    if a.migrate:
        is_parked = lambda c: any(fnmatch.fnmatchcase(f, p) for f in c["all"] for p, _, _ in rows)
        migrated = migrations(runner, check, [c for c in cases if not is_parked(c)], root, a)
        print(f"{len(migrated)} arrays of drafts migrated")
        wrong = [bad + migrated.get(c["id"], []) for c, bad in zip(cases, wrong)]
    passed = failed = parked = came = 0
    hits = {p: [0, 0] for p, _, _ in rows}
    for c, bad in zip(cases, wrong):
        by = [p for p, _, _ in rows if any(fnmatch.fnmatchcase(f, p) for f in c["all"])]
        for p in by:
            hits[p][0] += not bad
            hits[p][1] += 1
        if by:
            parked += 1
            # A parked case may fail, but never by a crash.
            crash = [b for b in bad if re.search(r"died of|a signal|panicked|timed out", b)]
            if crash:
                failed += 1
                print(f"FAIL {c['id']} (parked: {', '.join(by)}) {'; '.join(crash)[:300]}")
        elif bad:
            failed += 1
            print(f"FAIL {c['id']} [{', '.join(c['all'])[:120]}] {'; '.join(dict.fromkeys(bad))[:400]}")
        else:
            passed += 1
    for p, issue, reason in rows:
        ok, n = hits[p]
        if not a.id and ok == n:
            came += 1
            print(f"FAIL parked feature {p} (issue {issue}: {reason}): " + (f"all {n} cases pass; take it out of parked.txt" if n else "no case has it"))
    print(f"corpus: {passed} passed, {failed + came} failed, {parked} parked of {len(cases)} cases, by {len(rows)} features")
    print(f"{passed} passed, {failed + came} failed")
    return 1 if failed or came or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
