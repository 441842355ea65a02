"""What the checks on a started S3 server share: the server, its bucket, and telling which cases passed."""
import os, sys, traceback

from obstore.store import S3Store

S3 = os.environ["OZARR_TEST_S3"]
KEYS = {"AWS_ACCESS_KEY_ID": "planted-id", "AWS_SECRET_ACCESS_KEY": "planted-secret", "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": S3}


def expect(right, what):
    if not right:
        raise AssertionError(what)


def bucket(prefix):
    return S3Store("bucket", prefix=prefix, endpoint=S3, access_key_id="a", secret_access_key="b", region="us-east-1", client_options={"allow_http": True})


def run_cases(cases):
    """Runs {name: case}; a case gives what it has to tell."""
    failed = 0
    for name, case in cases.items():
        try:
            told = case()
            print(f"ok      {name}{told and f': {told}' or ''}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED  {name}")
            traceback.print_exc(file=sys.stdout)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return bool(failed)
