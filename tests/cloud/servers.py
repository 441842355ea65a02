#!/usr/bin/env python3
"""Starts real servers on loopback, runs a command with their addresses in its environment, and ends them.

  servers.py --build DIR -- COMMAND...

moto speaks S3 (buckets `bucket`, `empty`, and `public` for unsigned reads), azurite Azure (container `bucket`), nginx serves a folder by HTTP. All take a free port,
keep what they store in DIR or in memory, and end with this program.
"""
import argparse, base64, hashlib, hmac, os, shutil, signal, socket, subprocess, sys, time, urllib.error, urllib.request
from email.utils import formatdate
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


# moto looks at a condition and stores in two steps; one request after the other it is atomic, as S3 is.
MOTO = """
import sys, threading
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple
inner, turn = DomainDispatcherApplication(create_backend_app), threading.Lock()
def app(environ, start_response):
    with turn:
        return list(inner(environ, start_response))
run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Servers:
    def __init__(self, build):
        self.build, self.running = Path(build).resolve(), []
        shutil.rmtree(self.build, ignore_errors=True)
        self.build.mkdir(parents=True)

    def start(self, name, command, port, **more):
        log = (self.build / f"{name}.log").open("wb")
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, **more)
        self.running.append(server)
        until = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if server.poll() is not None or time.monotonic() > until:
                    sys.exit(f"servers: {name} does not start:\n{(self.build / f'{name}.log').read_text(errors='replace')[-2000:]}")
                time.sleep(0.05)

    def stop(self):
        for server in self.running:
            server.send_signal(signal.SIGTERM)
        for server in self.running:
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()

    def s3(self):
        port = free_port()
        self.start("moto", [ROOT / ".venv/bin/python", "-c", MOTO, str(port)], port)
        policy = ('{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject",'
                  ' "Resource": "arn:aws:s3:::public/*"}]}')
        headers = {"Content-Type": "application/json"}
        for place, data in (("bucket", b""), ("empty", b""), ("public", b""), ("public?policy", policy.encode())):
            urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/{place}", data=data, method="PUT", headers=headers)).read()
        return f"http://127.0.0.1:{port}"

    def azure(self):
        port, folder = free_port(), ROOT / "build/azurite"
        wanted = ROOT / "tests/cloud/azurite/package-lock.json"
        installed = folder / "installed"
        if not installed.exists() or installed.read_bytes() != wanted.read_bytes():
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(wanted.parent / name, folder)
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], cwd=folder, check=True)
            shutil.copy(wanted, installed)
        self.start("azurite", [folder / "node_modules/.bin/azurite-blob", "--disableTelemetry", "--skipApiVersionCheck", "--silent",
                               "--inMemoryPersistence", "--blobHost", "127.0.0.1", "--blobPort", str(port)], port, cwd=self.build)
        make_container(port, "bucket")
        return f"http://127.0.0.1:{port}/{ACCOUNT}"

    def http(self):
        port, www = free_port(), self.build / "www"
        www.mkdir()
        conf = self.build / "nginx.conf"
        temp = "".join(f"{kind}_temp_path {self.build}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        conf.write_text(f"""worker_processes 1; daemon off; master_process off; pid {self.build}/nginx.pid; error_log {self.build}/nginx-error.log;
events {{ worker_connections 512; }}
http {{ access_log off; {temp} keepalive_requests 100000;
  server {{ listen 127.0.0.1:{port}; location / {{ root {www}; }} location /norange/ {{ alias {www}/; max_ranges 0; }} }} }}
""")
        (www / "ready").write_text("yes")
        nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        if not nginx:
            sys.exit("servers: nginx is missing: apt-get install nginx-light")
        self.start("nginx", [nginx, "-e", self.build / "nginx-error.log", "-c", conf], port)
        return f"http://127.0.0.1:{port}", www


def make_container(port, name):
    """A signed request, as nothing unsigned makes a container."""
    date = formatdate(usegmt=True)
    headers = f"x-ms-date:{date}\nx-ms-version:2021-08-06"
    text = "PUT\n" + "\n" * 11 + f"{headers}\n/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    signed = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{ACCOUNT}/{name}?restype=container", data=b"", method="PUT")
    for key, value in {"x-ms-date": date, "x-ms-version": "2021-08-06", "Authorization": f"SharedKey {ACCOUNT}:{signed}"}.items():
        request.add_header(key, value)
    request.add_unredirected_header("Content-type", "")
    urllib.request.urlopen(request).read()


def main():
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    args, command = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
    servers = Servers(args.build)
    try:
        env = dict(os.environ, OZARR_TEST_S3=servers.s3(), OZARR_TEST_AZURE=servers.azure(), OZARR_TEST_AZURE_KEY=KEY)
        url, www = servers.http()
        env.update(OZARR_TEST_HTTP=url, OZARR_TEST_HTTP_ROOT=str(www))
        for name in [n for n in env if n.startswith(("AWS_", "AZURE_", "GOOGLE_")) or n.lower().endswith("_proxy")]:
            del env[name]
        env["AWS_SHARED_CREDENTIALS_FILE"] = env["AWS_CONFIG_FILE"] = "/nonexistent"
        return subprocess.run(command, env=env).returncode
    finally:
        servers.stop()


if __name__ == "__main__":
    sys.exit(main())
