#!/usr/bin/env python3
"""Starts real servers on loopback, runs a command with their addresses in its environment, and ends them.

  servers.py --build DIR [--s3s-fs PROGRAM] -- COMMAND...

moto speaks S3 (buckets `bucket`, `empty`, and `public` for unsigned reads), azurite Azure (container `bucket`), nginx serves a folder by
HTTP and, as `localhost` with a certificate of an authority made here, by HTTPS. All take a free port, keep what they store in DIR or in
memory, and end with this program. With `--s3s-fs` that second S3 server, which keeps objects as files, is started, too.
"""
import argparse, base64, hashlib, hmac, os, shutil, signal, socket, subprocess, sys, time, urllib.error, urllib.request
from email.utils import formatdate
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


# moto looks at a condition and stores in two steps; one request after the other it is atomic, as S3 is. A body is read before the request has its turn:
# a client that is slow to send its own, or was stopped meanwhile, would have all others wait.
MOTO = """
import io, sys, threading
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple
inner, turn = DomainDispatcherApplication(create_backend_app), threading.Lock()
def app(environ, start_response):
    if environ.get("CONTENT_LENGTH"):
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
    with turn:
        return list(inner(environ, start_response))
run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def signal_all(server, number):
    try:
        os.killpg(server.pid, number)
    except ProcessLookupError:
        pass


# What ends this program early: the command and the servers end with it.
ENDS = signal.SIGTERM, signal.SIGHUP, signal.SIGINT


def end_early(number, _):
    sys.exit(128 + number)


def run(command, env):
    """Runs the command and gives its status; one that is still there when this program is to end is told so."""
    running = subprocess.Popen(command, env=env)
    try:
        return running.wait()
    finally:
        if running.poll() is None:
            running.terminate()
            try:
                running.wait(10)
            except subprocess.TimeoutExpired:
                running.kill()


class Servers:
    def __init__(self, build):
        self.build, self.running = Path(build).resolve(), []
        shutil.rmtree(self.build, ignore_errors=True)
        self.build.mkdir(parents=True)

    def start(self, name, command, port, **more):
        log = (self.build / f"{name}.log").open("wb")
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **more)
        self.running.append(server)
        until = time.monotonic() + 300
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if server.poll() is not None or time.monotonic() > until:
                    sys.exit(f"servers: {name} does not start:\n{(self.build / f'{name}.log').read_text(errors='replace')[-2000:]}")
                time.sleep(0.05)

    def stop(self):
        for number in ENDS:
            signal.signal(number, signal.SIG_IGN)
        # Each with the processes that it started: a wrapper of node ends without its node.
        for server in self.running:
            signal_all(server, signal.SIGTERM)
        for server in self.running:
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                pass
            signal_all(server, signal.SIGKILL)
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

    def s3s(self, program):
        port, folder = free_port(), self.build / "s3s"
        for bucket in ("bucket", "empty"):
            (folder / bucket).mkdir(parents=True)
        self.start("s3s-fs", [Path(program).resolve(), "--host", "127.0.0.1", "--port", str(port), "--access-key", "planted-id",
                              "--secret-key", "planted-secret", folder], port)
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
        port, secure, www = free_port(), free_port(), self.build / "www"
        www.mkdir()
        self.certificates()
        conf = self.build / "nginx.conf"
        temp = "".join(f"{kind}_temp_path {self.build}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        conf.write_text(f"""worker_processes 1; daemon off; master_process off; pid {self.build}/nginx.pid; error_log {self.build}/nginx-error.log;
events {{ worker_connections 512; }}
http {{ access_log off; {temp} keepalive_requests 100000;
  server {{ listen 127.0.0.1:{port}; location / {{ root {www}; }} location /norange/ {{ alias {www}/; max_ranges 0; }} }}
  server {{ listen 127.0.0.1:{secure} ssl; ssl_certificate {self.build}/server.pem; ssl_certificate_key {self.build}/server.key; root {www}; }} }}
""")
        (www / "ready").write_text("yes")
        nginx = shutil.which("nginx", path=os.environ["PATH"] + f":/usr/sbin:/sbin:{ROOT}/build/nginx/usr/sbin")
        if not nginx:
            sys.exit("servers: nginx is missing: tools/deps test")
        self.start("nginx", [nginx, "-e", self.build / "nginx-error.log", "-c", conf], port)
        return f"http://127.0.0.1:{port}", f"https://localhost:{secure}", www

    def certificates(self):
        """An authority (ca.pem), a server's certificate for `localhost` by it, and an authority that signed nothing (other.pem)."""
        def openssl(*command):
            subprocess.run(["openssl", *command], cwd=self.build, check=True, capture_output=True)

        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"]
        for name in ("ca", "other"):
            openssl("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN=ozarr test {name}")
        openssl("req", *key[:-2], "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
        (self.build / "server.ext").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n")
        openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30",
                "-extfile", "server.ext", "-out", "server.pem")


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
    parser.add_argument("--s3s-fs")
    args, command = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
    for number in ENDS:
        signal.signal(number, end_early)
    servers = Servers(args.build)
    try:
        env = dict(os.environ, OZARR_TEST_S3=servers.s3(), OZARR_TEST_AZURE=servers.azure(), OZARR_TEST_AZURE_KEY=KEY)
        url, secure, www = servers.http()
        env.update(OZARR_TEST_HTTP=url, OZARR_TEST_HTTPS=secure, OZARR_TEST_HTTP_ROOT=str(www), OZARR_TEST_CERTIFICATES=str(servers.build))
        if args.s3s_fs:
            env["OZARR_TEST_S3S"] = servers.s3s(args.s3s_fs)
        for name in [n for n in env if n.startswith(("AWS_", "AZURE_", "GOOGLE_")) or n.lower().endswith("_proxy") or n in ("SSL_CERT_FILE", "SSL_CERT_DIR")]:
            del env[name]
        env["AWS_SHARED_CREDENTIALS_FILE"] = env["AWS_CONFIG_FILE"] = "/nonexistent"
        return run(command, env)
    finally:
        servers.stop()


if __name__ == "__main__":
    sys.exit(main())
