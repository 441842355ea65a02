"""`ozarr view` on stores of zarr-python and xarray: its answers by their numbers, what it refuses, and the page in a headless browser.

Usage: view_check.py --program OZARR --build DIR [--pictures DIR]     (--pictures: renews the picture of the documentation there)
"""
import argparse, asyncio, base64, http.server, json, os, re, shutil, signal, socket, subprocess, sys, threading, time, urllib.error, urllib.request, warnings
from pathlib import Path
from urllib.parse import quote, urlsplit
import numpy as np, xarray, zarr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cloud"))
import servers

arguments = argparse.ArgumentParser()
arguments.add_argument("--program", required=True)
arguments.add_argument("--build", type=Path, required=True)
arguments.add_argument("--pictures", type=Path)
options = arguments.parse_args()
# Seconds in which what is waited for comes on a busy machine, too.
LONG = 120
BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
# A name and texts that would do something, were they not text. The picture of the documentation goes without.
HOSTILE = "notes" if options.pictures else "<img src=x onerror=document.title='hacked'>"

# Integers that floats of 4 bytes, or of 8, round.
EXACT = {"wide": np.array([[2**53 + 1, -(2**62) - 1, 7], [0, 2**63 - 1, 2**53 + 3]], "i8"), "most": np.array([[2**64 - 1, 0, 1], [2**63 + 1, 5, 6]], "u8"),
         "steps": np.array([[2**24 + 1, -(2**30) - 1, 3], [4, 5, 2**31 - 1]], "i4"), "moments": np.array([[1772323200123456789, 1, 2], [3, 4, 5]]).view("M8[ns]")}


def make(store):
    shutil.rmtree(store, ignore_errors=True)
    y, x = np.meshgrid(np.linspace(-1, 1, 60), np.linspace(-2, 2, 90), indexing="ij")
    steps = [np.exp(-((x - np.cos(t / 5)) ** 2 + (y - 0.4 * np.sin(t / 5)) ** 2) * 3) * 20 + 280 for t in range(30)]
    air = np.stack(steps).astype("f4")
    air[:, 50:55, 10:20] = np.nan
    data = xarray.Dataset({"temperature": (("time", "y", "x"), air, {"units": "K", "note": HOSTILE})},
                          {"time": np.datetime64("2026-03-01", "ns") + np.arange(30) * np.timedelta64(6, "h"), "y": np.linspace(-1, 1, 60), "x": np.linspace(-2, 2, 90)})
    data.to_zarr(store, encoding={"temperature": {"chunks": (1, 30, 45)}}, consolidated=False)
    root = zarr.open_group(store, mode="r+")
    root.create_group("below").create_array("n", shape=(3, 4), dtype="i4", chunks=(2, 2))[:2] = 7
    for name, data in EXACT.items():
        root["below"].create_array(name, shape=data.shape, dtype=data.dtype, chunks=(1, 2))[...] = data
    root.create_array("words", shape=(3,), dtype=str, chunks=(3,))[:] = ["one", HOSTILE, "three"]
    root.create_group(HOSTILE)
    image(root, (400, 600), 2, 3)
    # Numbers that a browser would round.
    root["below"].create_array("long", shape=(2**63 - 1, 2), dtype="i8", chunks=(1000, 2), fill_value=1 - 2**63, attributes={"id": 2**53 + 1, "ids": [2**53 + 1]})
    root["below"].create_array("empty", shape=(0, 3, 4), dtype="f4", chunks=(1, 3, 4))
    root["below"].create_array("line", shape=(4,), dtype="f4", chunks=(4,))[:] = [1, 2, 3, 4]
    return air


def image(root, shape, step, levels):
    """An image, each of whose levels has its number, so that it is seen which one was read."""
    made = root.create_group("image", overwrite=True, attributes={"ome": {"version": "0.5", "multiscales": [{"axes": [{"name": n, "type": "space"} for n in "yx"], "datasets": [
        {"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": [0.5 * step**level] * 2}]} for level in range(levels)]}]}})
    for level in range(levels):
        made.create_array(str(level), shape=[n // step**level for n in shape], chunks=(100, 100), dtype="f4")[:] = level


def get(address, host=None, method="GET"):
    request = urllib.request.Request(address, method=method, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=LONG) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def answers(page, air, store):
    """What the program answers, without a browser; gives how many things were compared."""
    tree = json.loads(get(page + "api/tree?path=")[1])
    assert {c["name"]: c["kind"] for c in tree["children"]} | {"temperature": "array", "below": "group"} == {c["name"]: c["kind"] for c in tree["children"]}, tree
    plane = "api/plane?path=temperature&y=1&x=2&at=3,0,0"
    status, body, headers = get(page + plane + "&y0=10&y1=50&x0=5&x1=85&h=100&w=100")
    assert status == 200 and headers["X-Shape"] == "40,80,1,1,0,10,5", headers
    assert np.array_equal(np.frombuffer(body, "<f4").reshape(40, 80), air[3, 10:50, 5:85], equal_nan=True)
    body = get(page + plane + "&y0=0&y1=60&x0=0&x1=90&h=30&w=30")[1]
    assert np.allclose(np.frombuffer(body, "<f4").reshape(30, 30), np.nanmean(air[3].astype("f8").reshape(30, 2, 30, 3), axis=(1, 3)), equal_nan=True, rtol=1e-6)
    for pixels, level, shape in [(600, 0, "400,600,1,1,0,0,0"), (300, 1, "200,300,2,2,2,0,0"), (150, 2, "100,150,4,4,2,0,0"), (75, 2, "50,75,8,8,2,0,0")]:
        _, body, headers = get(page + f"api/plane?path=image/0&y=0&x=1&at=0,0&y0=0&y1=400&x0=0&x1=600&h={pixels * 2 // 3}&w={pixels}")
        assert set(np.frombuffer(body, "<f4")) == {level} and headers["X-Shape"] == shape, (pixels, headers["X-Shape"], body[:8])
    # Written anew, with a level of another size, it is another one as soon as it is chosen.
    image(zarr.open_group(store, mode="r+"), (200, 300), 4, 2)
    get(page + "api/node?path=image/0")
    _, body, headers = get(page + "api/plane?path=image/0&y=0&x=1&at=0,0&y0=0&y1=200&x0=0&x1=300&h=50&w=75")
    assert set(np.frombuffer(body, "<f4")) == {1} and headers["X-Shape"] == "50,75,4,4,2,0,0", (headers["X-Shape"], body[:8])
    # Where a number of a coarser level begins before the first element, that is said.
    headers = get(page + "api/plane?path=image/0&y=0&x=1&at=0,0&y0=3&y1=199&x0=5&x1=300&h=49&w=74")[2]
    assert headers["X-Shape"] == "50,74,4,4,2,0,4", headers["X-Shape"]
    turned = get(page + "api/plane?path=temperature&y=2&x=0&at=0,7,0&y0=0&y1=90&x0=0&x1=30&h=90&w=30")[1]
    assert np.array_equal(np.frombuffer(turned, "<f4").reshape(90, 30), air[:, 7, :].T, equal_nan=True)
    assert np.array_equal(np.frombuffer(get(page + "api/line?path=temperature&dim=0&at=0,20,30&w=500")[1], "<f4"), air[:, 20, 30])
    for name, data in EXACT.items():
        kind = "i8" if data.dtype.kind == "M" else data.dtype.str[1:]
        for y, x, end, want in [(0, 1, "y1=2&x1=3", data), (1, 0, "y1=3&x1=2", data.T)]:
            assert integers(get(page + f"api/plane?path=below/{name}&y={y}&x={x}&at=0,0&y0=0&x0=0&{end}&h=9&w=9"), kind) == want.ravel().view(kind).tolist(), name
        assert integers(get(page + f"api/line?path=below/{name}&dim=1&at=0,0&w=9"), kind) == data[0].view(kind).tolist(), name
    stored = json.loads(get(page + "api/stored?path=below/n")[1])
    assert (stored["chunks"], stored["possible"], stored["stored"]) == (2, "4", [[0, 0], [0, 1]]), stored
    assert json.loads(get(page + "api/table?path=words")[1])["texts"] == ['"one"', json.dumps(HOSTILE), '"three"']
    node = json.loads(get(page + "api/node?path=temperature")[1])
    assert node["dims"][0]["labels"][1] == "2026-03-01 06:00:00" and node["attributes"]["note"] == HOSTILE, node
    node = json.loads(get(page + "api/node?path=below/long")[1])
    assert node["attributes"] == {"id": "9007199254740993", "ids": "[9007199254740993]"} and node["fill_value"] == "-9223372036854775807" and node["array"]["shape"] == ["9223372036854775807", "2"], node
    assert integers(get(page + "api/plane?path=below/long&y=0&x=1&at=0,0&y0=0&x0=0&h=4&w=2"), "i8") == [1 - 2**63] * 8
    wrong = ["plane?path=temperature&y=1&x=1&at=0,0,0", "plane?path=temperature&y=1&x=2&at=0&y0=0&y1=1&x0=0&x1=1&h=1&w=1", "line?path=temperature&dim=9&at=0,0,0&w=9", "node?path=none", "stored?path=below", "table?path=",
             "plane?path=temperature&y=1&x=2&at=99,0,0&y0=0&y1=9&x0=0&x1=9&h=9&w=9", "plane?path=temperature&y=1&x=2&at=0,0,0&y0=9&y1=1&x0=0&x1=9&h=9&w=9", "plane?path=words&y=0&x=1&at=0", "line?path=../..&dim=0&at=0&w=9"]
    for query in wrong:
        status, body, _ = get(page + "api/" + query)
        assert status == 400 and body, (query, status, body)
    place = urlsplit(page)
    outside = f"http://{place.netloc}/"
    for address, host, method, want in [(outside, None, "GET", 403), (outside + "0" * 32 + "/", None, "GET", 403), (page, "evil.example", "GET", 403), (page, None, "POST", 405), (page + "no", None, "GET", 404), (page + "../page.js", None, "GET", 404)]:
        found = get(address, host, method)[0]
        assert found == want, (address, host, method, found)
    assert "script-src 'self'" in get(page)[2]["Content-Security-Policy"]
    return 14 + 3 * len(EXACT) + len(wrong) + 6 + crowded(page)


def crowded(page):
    """What other users of the machine send does not end the program, nor keep it from its own user; gives how many kinds of that were tried."""
    place, held = urlsplit(page), []
    kinds = [b"", b"GET /", b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc", b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\n",
             b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", b"GET /" + b"a" * 1_000_000]
    for sent in kinds:
        for _ in range(20):
            held.append(socket.create_connection((place.hostname, place.port)))
            try:
                held[-1].sendall(sent)
            except ConnectionError:
                pass  # It may be refused before all is sent.
        assert get(page)[0] == 200, sent[:70]
    for one in held:
        one.close()
    return len(kinds)


def integers(answer, kind):
    """The integers of an answer: those of 64 bits are behind the floats that round them."""
    status, body, headers = answer
    assert status == 200 and headers["X-Numbers"] == ("f8" if kind == "i4" else f"f8,{kind}"), headers
    return np.frombuffer(body, "<f8").astype("i8").tolist() if kind == "i4" else np.frombuffer(body[len(body) // 2 :], f"<{kind}").tolist()


def elsewhere(store, air):
    """The same planes of an archive, of S3, and of a web server, which lists nothing: the hierarchy comes from consolidated metadata."""
    archive = Path(shutil.make_archive(str(options.build / "run"), "zip", store))
    served = options.build / "served.zarr"
    shutil.rmtree(served, ignore_errors=True)
    shutil.copytree(store, served)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(served)
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *words):
            super().__init__(*words, directory=options.build)
        def log_message(self, *words):
            pass
        # As object stores do it: no page for a folder.
        def list_directory(self, path):
            self.send_error(404)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    passed, clouds = 0, servers.Servers(options.build / "cloud")
    try:
        keys = put(clouds.s3(), served)
        for place in (str(archive), "s3://bucket/run.zarr", f"http://127.0.0.1:{server.server_port}/served.zarr"):
            passed += looked_at(place, keys, air)
    finally:
        server.shutdown()
        clouds.stop()
    return passed


def put(address, store):
    """Puts a store into a bucket; gives the environment that reads it."""
    for file in filter(Path.is_file, store.rglob("*")):
        key = quote(f"run.zarr/{file.relative_to(store)}")
        headers = {"Content-Type": "application/octet-stream"}
        urllib.request.urlopen(urllib.request.Request(f"{address}/bucket/{key}", file.read_bytes(), headers, method="PUT"), timeout=LONG).read()
    return os.environ | {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": address}


def looked_at(place, environment, air):
    program = subprocess.Popen([options.program, "view", place, "--no-browser"], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        page = program.stdout.readline().strip()
        children = {c["name"] for c in json.loads(get(page + "api/tree?path=")[1])["children"]}
        assert {"temperature", "below", "words"} <= children, (place, children)
        body = get(page + "api/plane?path=temperature&y=1&x=2&at=3,0,0&y0=10&y1=50&x0=5&x1=85&h=100&w=100")[1]
        assert np.array_equal(np.frombuffer(body, "<f4").reshape(40, 80), air[3, 10:50, 5:85], equal_nan=True), place
        status, body, _ = get(page + "api/stored?path=below/n")
        assert (status == 200 and json.loads(body)["chunks"] == 2) or (place.startswith("http") and status == 400 and body), (place, status, body)
        return 3
    finally:
        program.kill()
        program.wait()


class Tab:
    """A page of the browser, by its debugging protocol."""

    def __init__(self, socket):
        self.socket, self.number = socket, 0

    async def call(self, method, **parameters):
        self.number += 1
        await self.socket.send_json({"id": self.number, "method": method, "params": parameters})
        while (message := await self.socket.receive_json(timeout=LONG)).get("id") != self.number:
            pass
        assert "error" not in message, message
        return message["result"]

    async def value(self, code):
        result = await self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def until(self, code):
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            if found := await self.value(code):
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(f"{code}: not in {LONG} s; {await self.value('document.body.innerText')}")

    async def key(self, key):
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key=key)

    async def picture(self, file):
        file.write_bytes(base64.b64decode((await self.call("Page.captureScreenshot", format="png"))["data"]))


async def in_browser(program, page, air, store):
    import aiohttp

    profile = options.build / "profile"
    browser = subprocess.Popen([program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        listening = next(line for line in browser.stderr if "DevTools listening" in line)
        port = re.search(r":(\d+)/", listening)[1]
        async with aiohttp.ClientSession() as session:
            async with session.put(f"http://127.0.0.1:{port}/json/new?{quote('about:blank')}") as made:
                target = (await made.json(content_type=None))["webSocketDebuggerUrl"]
            async with session.ws_connect(target, max_msg_size=0) as socket:
                return await drive(Tab(socket), page, air, store)
    finally:
        # Its helpers, too: they would keep the output open.
        os.killpg(browser.pid, signal.SIGKILL)
        browser.wait()


async def drive(tab, page, air, store):
    await tab.call("Page.enable")
    await tab.call("Emulation.setDeviceMetricsOverride", width=1100, height=1010, deviceScaleFactor=1, mobile=False)
    await tab.call("Page.navigate", url=page)
    await tab.until("typeof state !== 'undefined' && state.plane && document.getElementById('stored').textContent.includes('120 of 120')")
    colour = """((row, column) => { const c = document.getElementById('plane'), d = state.plane, i = place(d.values[row * d.columns + column], ...range()) * 3, t = colourTable(state.maps[document.getElementById('map').value]);
        const p = c.getContext('2d').getImageData((column + 0.5) * c.width / d.columns, (d.rows - row - 0.5) * c.height / d.rows, 1, 1).data;
        return [d.values[row * d.columns + column], p[0] - t[i], p[1] - t[i + 1], p[2] - t[i + 2]]; })"""
    for row, column in [(0, 0), (30, 45), (59, 89), (10, 70)]:
        value, *off = await tab.value(f"{colour}({row}, {column})")
        assert np.float32(value) == air[0, row, column] and off == [0, 0, 0], (row, column, value, off)
    await tab.key("ArrowRight")
    await tab.until(f"Math.abs(state.plane.values[30 * 90 + 45] - {air[1, 30, 45]}) < 1e-4 && document.querySelector('output').textContent.startsWith('2026-03-01 06:00:00')")
    box = await tab.value("(({left, top, width, height}) => [left, top, width, height])(document.getElementById('plane').getBoundingClientRect())")
    x, y = box[0] + box[2] * 45.5 / 90, box[1] + box[3] * (60 - 30.5) / 60
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        await tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if kind != "mouseMoved" else "none", clickCount=1)
    told = await tab.value("document.getElementById('cursor').textContent")
    assert told.endswith(f"{float(np.format_float_positional(air[1, 30, 45], 6, fractional=False)):g}"), (told, air[1, 30, 45])
    await tab.until("document.getElementById('through').textContent.includes('x ')")
    # The value of the line under the cursor.
    left, top, width, height = await tab.value("(({left, top, width, height}) => [left, top, width, height])(document.getElementById('line').getBoundingClientRect())")
    await tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + width * 10.1 / 29, y=top + height / 2)
    told = await tab.value("document.getElementById('on-line').textContent")
    assert told == f"time 2026-03-03 12:00:00: {float(np.format_float_positional(air[10, 30, 45], 6, fractional=False)):g}", told
    if options.pictures:
        await tab.picture(options.pictures / "view.png")
    await tab.key("+")
    await tab.until("state.plane.part[1] - state.plane.part[0] === 30 && state.plane.part[3] - state.plane.part[2] === 45")
    await tab.key("0")
    await tab.key("c")
    assert await tab.value("document.getElementById('map').value") != "viridis"
    # Integers have all digits, under the cursor and at the ends of the line.
    await tab.value("choose('below/wide')")
    await tab.until("state.path === 'below/wide' && state.plane && !state.line")
    for row, column in [(0, 0), (1, 1)]:
        x, y = box[0] + box[2] * (column + 0.5) / 3, box[1] + box[3] * (1.5 - row) / 2
        await tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        told = await tab.value("document.getElementById('cursor').textContent")
        assert told.endswith(f": {EXACT['wide'][row, column]}"), told
    assert await tab.value("line().then(() => shownExtent(state.line))") == [str(-(2**62) - 1), str(2**53 + 1)]
    await tab.value("choose('temperature')")
    # Names and attributes are text.
    assert await tab.value("document.querySelectorAll('img').length") == 0 and "hacked" not in await tab.value("document.title")
    assert HOSTILE in await tab.value("document.getElementById('attributes').textContent")
    # New steps appear, and a slider at the end goes with them.
    await tab.value("go(0, 29)")
    xarray.Dataset({"temperature": (("time", "y", "x"), air[:1] + 5)}, {"time": [np.datetime64("2026-03-09", "ns")]}).to_zarr(store, append_dim="time", consolidated=False)
    await tab.until(f"state.at[0] === 30 && Math.abs(state.plane.values[0] - {air[0, 0, 0] + 5}) < 1e-3")
    await tab.value("choose('words')")
    await tab.until("document.getElementById('table').textContent.includes('three')")
    await grows(tab, store)
    await late(tab)
    # A dimension that is longer than a number of the page can say.
    await tab.value("choose('below/long')")
    assert await tab.value("state.path === 'below/long' && Boolean(state.plane) && document.getElementById('error').hidden && document.getElementById('about').textContent.includes('9223372036854775807, 2')")
    await tab.value("choose('words')")
    assert await tab.value("document.querySelectorAll('img').length") == 0
    await tab.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=2, mobile=True)
    await tab.value("choose('temperature')")
    assert await tab.until("document.documentElement.scrollWidth") <= 390
    # A store that goes away is told, and the page stays.
    shutil.rmtree(store)
    await tab.value("choose('temperature')")
    await tab.until("!document.getElementById('error').hidden && document.getElementById('error').textContent.length > 10")
    return 18 + 3 + 3 + 1


async def grows(tab, store):
    """What is written appears, be it texts, a line, or the first step of an array."""
    def write(name, shape, region, value):
        array = zarr.open_array(store / name, mode="r+")
        array.resize(shape)
        array[region] = value
    write("words", (4,), slice(3, 4), np.array(["four"]))
    await tab.until("document.getElementById('table').textContent.includes('four') && document.getElementById('error').hidden")
    await tab.value("choose('below/line')")
    assert await tab.value("state.line.values.length") == 4
    write("below/line", (6,), slice(4, 6), 9)
    await tab.until("state.line.values.length === 6 && state.line.values[5] === 9")
    await tab.value("choose('below/empty')")
    assert await tab.value("document.getElementById('picture').hidden")
    write("below/empty", (2, 3, 4), slice(0, 2), np.arange(24).reshape(2, 3, 4))
    await tab.until("!document.getElementById('picture').hidden && state.at[0] === 1 && state.plane?.values[0] === 12 && document.getElementById('table').hidden")


async def late(tab):
    """Answers that come late, or in another order than they were asked for, are not shown as those of what is chosen."""
    # What is asked for with `held` in it waits until it is let go.
    await tab.value("""globalThis.plain = fetch; globalThis.waiting = []; globalThis.held = 'none such';
        globalThis.fetch = async (what) => { const answer = await plain(what); if (String(what).includes(held)) await new Promise((go) => waiting.push(go)); return answer; }; 0""")
    async def hold(part):
        await tab.value(f"held = '{part}'; 0")
    async def let_go(order="waiting"):
        await tab.value(f"held = 'none such'; {order}.forEach((go) => go()); waiting = []; new Promise((done) => setTimeout(done, 200))")
    # A table, and the line of what was chosen after it.
    await hold("table?path=words")
    await tab.value("choose('words'); 0")
    await tab.until("waiting.length === 1")
    await tab.value("choose('below/line')")
    await let_go()
    assert await tab.value("state.path === 'below/line' && document.getElementById('table').hidden && Boolean(state.line)"), "a late table is shown"
    # Of two points the second, with its own labels, whichever answer comes last.
    await tab.value("choose('temperature')")
    await hold("line?")
    await tab.value("state.at[1] = 5; line(); state.at[1] = 7; line(); state.at[1] = 9; 0")
    await tab.until("waiting.length === 2")
    await let_go("waiting.reverse()")
    through, want = await tab.value("[document.getElementById('through').textContent, labelOf(1, 7)]")
    assert f"y {want}," in through, (through, want)
    # A picture that is drawn anew meanwhile does not undo the choice.
    await hold("node?path=below%2Fn")
    await tab.value("choose('below/n'); 0")
    await tab.until("waiting.length === 1")
    await tab.value("show()")
    await let_go()
    assert await tab.value("state.path") == "below/n"


def main():
    options.build.mkdir(parents=True, exist_ok=True)
    store = options.build / "run.zarr"
    air = make(store)
    server = subprocess.Popen([options.program, "view", str(store), "--no-browser"], stdout=subprocess.PIPE, text=True)
    try:
        page = server.stdout.readline().strip()
        passed = answers(page, air, store) + elsewhere(store, air)
        program = next(filter(None, map(shutil.which, BROWSERS)), None)
        if program is None:
            print("no browser is there, so that the page itself was not tried: apt-get install chromium-headless-shell")
        else:
            passed += asyncio.run(in_browser(program, page, air, store))
        print(f"view: {passed} passed, 0 failed")
    finally:
        server.kill()


main()
