// The page of `ozarr view`: what is chosen, what the program is asked for, and what is shown of it. Texts from the store become text, never markup.
"use strict";

const $ = (id) => document.getElementById(id);
// `at`: an index for each dimension; `part`: the elements that are seen, [y0, y1, x0, x1]; `turns`: how many nodes, planes and lines were asked for.
const state = { path: "", node: null, maps: {}, at: [], x: 0, y: 0, part: null, plane: null, line: null, image: null, playing: null, turns: { node: 0, plane: 0, line: 0 }, stored: null };

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function fail(error) {
  $("error").hidden = !error;
  $("error").textContent = error ? error.message || String(error) : "";
}

async function ask(what, parameters) {
  const query = new URLSearchParams(parameters).toString().replaceAll("+", "%20");
  let response;
  try {
    response = await fetch(`api/${what}?${query}`);
  } catch {
    throw new Error("The program does not answer any more: start `ozarr view` again.");
  }
  if (!response.ok) throw new Error(await response.text());
  return response;
}

const json = async (what, parameters) => (await ask(what, parameters)).json();

// Numbers of 4 or 8 bytes; behind them the integers of 64 bits that they round, where there are such.
async function numbers(what, parameters) {
  const response = await ask(what, parameters);
  const shape = response.headers.get("X-Shape").split(",").map(Number);
  const [type, integers] = response.headers.get("X-Numbers").split(",");
  const body = await response.arrayBuffer();
  if (type === "f4") return { shape, values: new Float32Array(body) };
  const values = new Float64Array(body, 0, body.byteLength / (integers ? 16 : 8));
  const Integers = { i8: BigInt64Array, u8: BigUint64Array }[integers];
  return { shape, values, exact: Integers && new Integers(body, values.byteLength) };
}

// The hierarchy.

const short = (array) => `${array.type} [${array.shape.join(", ")}]`;

async function branch(path, list, from = 0) {
  const answer = await json("tree", { path, from });
  for (const child of answer.children) {
    const below = path ? `${path}/${child.name}` : child.name;
    const item = element("li");
    const button = element("button", child.kind === "group" ? `▸ ${child.name}` : child.name, { "data-path": below });
    if (child.array) button.append(element("small", short(child.array)));
    if (child.error) button.append(element("small", child.error));
    button.onclick = async () => {
      if (child.kind === "group") {
        const inner = item.querySelector("ul");
        button.firstChild.textContent = `${inner ? "▸" : "▾"} ${child.name}`;
        if (inner) inner.remove();
        else {
          const made = element("ul");
          item.append(made);
          await branch(below, made).catch(fail);
        }
      }
      await choose(below);
    };
    item.append(button);
    list.append(item);
  }
  if (answer.more) {
    const more = element("button", `… ${answer.more} more`);
    more.onclick = () => {
      more.parentNode.remove();
      branch(path, list, from + answer.children.length).catch(fail);
    };
    const item = element("li");
    item.append(more);
    list.append(item);
  }
  return answer;
}

// A node.

async function choose(path) {
  stop();
  const turn = ++state.turns.node;
  try {
    const node = await json("node", { path });
    if (turn !== state.turns.node) return;
    const dims = node.dims || [];
    Object.assign(state, { path, node, part: null, plane: null, stored: null, at: dims.map(() => 0), x: dims.length - 1, y: dims.length - 2 });
    fail();
    for (const button of document.querySelectorAll("nav button")) button.setAttribute("aria-current", button.dataset.path === path);
    $("tree").classList.remove("open");
    $("table").replaceChildren();
    await look(true);
  } catch (error) {
    if (turn === state.turns.node) fail(error);
  }
}

// Shows what there is of the node, which is another one or has grown.
async function look(isOther) {
  const { node } = state, dims = node.dims || [];
  const drawable = dims.length > 0 && dims.every((d) => d.length > 0);
  $("picture").hidden = !(drawable && dims.length > 1);
  $("charts").hidden = !drawable;
  $("histogram-figure").hidden = dims.length < 2;
  $("table").hidden = drawable || !node.array;
  facts();
  if (drawable) controls();
  if (isOther) noLine();
  await show();
  if (node === state.node && drawable && dims.length === 1) await line();
  if (node === state.node && !$("table").hidden) await table();
  if (node === state.node && node.array) await stored();
}

function pairs(list, members) {
  list.replaceChildren();
  for (const [name, value] of members) list.append(element("dt", name), element("dd", value));
}

function facts() {
  const { node } = state;
  $("facts").hidden = !node.array;
  pairs($("attributes"), Object.entries(node.attributes));
  if (!node.array) return;
  const about = [["type", node.array.type], ["shape", `[${node.array.shape.join(", ")}]`], ["chunks", node.array.chunks], ["Zarr format", node.format]];
  for (const name of ["fill_value", "codecs", "compressor", "filters"]) if (node[name] !== undefined) about.push([name, node[name]]);
  pairs($("about"), about);
}

async function table() {
  const { node, path } = state, { shape, texts } = await json("table", { path });
  if (node !== state.node) return;
  const width = shape.length > 1 ? Math.max(1, shape[shape.length - 1]) : 1;
  $("table").replaceChildren();
  for (let i = 0; i < texts.length; i += width) {
    const row = element("tr");
    for (const text of texts.slice(i, i + width)) row.append(element("td", text));
    $("table").append(row);
  }
}

async function stored() {
  const { node, path } = state;
  $("stored").textContent = "…";
  try {
    const found = await json("stored", { path });
    if (node !== state.node) return;
    state.stored = found;
    const ratio = found.ratio === null ? "" : `, ratio ${Number(found.ratio.toPrecision(4))}`;
    $("stored").textContent = `${found.chunks} of ${found.possible} stored, ${found.bytes} bytes${ratio}`;
    chunkMap();
  } catch (error) {
    if (node === state.node) $("stored").textContent = error.message;
  }
}

function chunkMap() {
  const { stored: found, node, at, x, y } = state;
  if (!found) return;
  const inPlane = (index) => index.every((i, d) => d === x || d === y || !node.dims || i === Math.floor(at[d] / Math.max(1, node.array.chunk[d])));
  drawChunks($("chunks"), found.grid, found.stored, x, y, node.dims && y >= 0 && !node.dims[y].falls, inPlane);
}

// What is chosen of it.

const labelOf = (d, i) => (state.node.dims[d].labels ? state.node.dims[d].labels[i] : String(i));

function options(select, chosen) {
  select.replaceChildren(...state.node.dims.map((d, i) => element("option", d.name, { value: i })));
  select.value = chosen;
}

function controls() {
  options($("x"), state.x);
  options($("y"), state.y);
  const others = state.node.dims.map((_, d) => d).filter((d) => d !== state.x && d !== state.y);
  options($("along"), state.node.dims.length > 2 ? others[0] : state.x);
  if (state.node.dims.length < 2) others.length = 0;
  $("sliders").replaceChildren(...others.map(slider));
}

function slider(d) {
  const { name, length } = state.node.dims[d];
  const row = element("div", undefined, { class: "slider" });
  const input = element("input", undefined, { type: "range", min: 0, max: length - 1, value: state.at[d], "aria-label": name, "data-dim": d });
  const output = element("output", `${labelOf(d, state.at[d])}  (${state.at[d] + 1} of ${state.node.array.shape[d]})`);
  input.value = state.at[d];
  input.oninput = () => go(d, Number(input.value));
  const play = element("button", "▶", { "aria-label": `Play ${name}` });
  play.onclick = () => (state.playing ? stop() : start(d));
  row.append(element("span", name), input, output, play);
  return row;
}

async function go(d, index) {
  const { length } = state.node.dims[d];
  state.at[d] = ((index % length) + length) % length;
  const input = document.querySelector(`input[data-dim="${d}"]`);
  if (input) {
    input.value = state.at[d];
    input.nextSibling.textContent = `${labelOf(d, state.at[d])}  (${state.at[d] + 1} of ${state.node.array.shape[d]})`;
  }
  await show();
  chunkMap();
}

const firstSlider = () => Number(document.querySelector("input[data-dim]")?.dataset.dim ?? -1);

function start(d) {
  if (d < 0) return;
  const playing = (state.playing = {});
  const step = async () => {
    if (state.playing !== playing) return;
    await go(d, state.at[d] + 1);
    setTimeout(step, 80);
  };
  step();
}

function stop() {
  state.playing = null;
}

// The picture.

function whole() {
  const { dims } = state.node;
  return [0, dims[state.y].length, 0, dims[state.x].length];
}

async function show() {
  const turn = ++state.turns.plane;
  if ($("picture").hidden) return;
  state.part = state.part || whole();
  const [y0, y1, x0, x1] = state.part, [, rows, , columns] = whole();
  // The end of a very long dimension is no number that the page could name.
  const ends = { ...(y1 < rows && { y1 }), ...(x1 < columns && { x1 }) };
  const ratio = window.devicePixelRatio || 1;
  const size = { h: Math.round($("plane").clientHeight * ratio), w: Math.round($("plane").clientWidth * ratio) };
  try {
    const began = performance.now();
    const { shape, values, exact } = await numbers("plane", { path: state.path, y: state.y, x: state.x, at: state.at, y0, x0, ...ends, ...size });
    // Only the newest answer counts.
    if (turn !== state.turns.plane) return;
    const { dims } = state.node;
    state.plane = { rows: shape[0], columns: shape[1], by: shape[2], bx: shape[3], of: shape[4], y0: shape[5], x0: shape[6], values, exact, part: state.part, falls: dims[state.y].falls, mirrored: dims[state.x].falls };
    fail();
    paint();
    $("status").textContent = `${Math.round(performance.now() - began)} ms`;
  } catch (error) {
    if (turn === state.turns.plane) fail(error);
  }
}

function range() {
  const [low, high] = extent(state.plane.values);
  const given = (id, found) => ($(id).value.trim() === "" || Number.isNaN(Number($(id).value)) ? found : Number($(id).value));
  let ends = [given("low", low), given("high", high)];
  if ($("map").value === "rdbu" && $("low").value === "" && $("high").value === "" && low < 0 && high > 0) ends = [-Math.max(high, -low), Math.max(high, -low)];
  return ends;
}

function paint() {
  if (!state.plane) return;
  const table = colourTable(state.maps[$("map").value]), ends = range();
  const { c, w, h } = prepared($("plane"));
  c.imageSmoothingEnabled = false;
  c.drawImage(planeImage(state.plane, table, ends), 0, 0, w, h);
  drawScale($("scale"), table, ends, state.node.label);
  drawHistogram($("histogram"), state.plane.values, ends);
}

// The row and column of numbers at a point of the screen, and the elements there.
function under(event) {
  const { plane } = state, box = $("plane").getBoundingClientRect();
  const across = (event.clientX - box.left) / box.width, down = (event.clientY - box.top) / box.height;
  const part = (share, n) => Math.max(0, Math.min(n - 1, Math.floor(share * n)));
  const column = part(plane.mirrored ? 1 - across : across, plane.columns), row = part(plane.falls ? down : 1 - down, plane.rows);
  return { row, column, y: Math.min(plane.part[1] - 1, plane.y0 + row * plane.by), x: Math.min(plane.part[3] - 1, plane.x0 + column * plane.bx) };
}

function tell(event) {
  if (!state.plane) return;
  const { dims } = state.node, { row, column, y, x } = under(event);
  const value = shownAt(state.plane, row * state.plane.columns + column);
  const { by, bx, of } = state.plane, many = standsFor(of, by * bx, `${by} × ${bx}`);
  $("cursor").textContent = `${dims[state.y].name} ${labelOf(state.y, y)}, ${dims[state.x].name} ${labelOf(state.x, x)}: ${value}${many}`;
}

// What a number is that stands for several elements: their mean, the one in their middle, or that of a coarser level.
const standsFor = (of, n, text) => (n > 1 ? ` (${["mean", "one", "a coarser level"][of]} of ${text})` : "");

async function line() {
  const turn = ++state.turns.line, d = Number($("along").value), { path } = state, { dims } = state.node, at = [...state.at];
  try {
    const found = await numbers("line", { path, dim: d, at, w: Math.round($("line").clientWidth) });
    if (turn !== state.turns.line) return;
    state.line = { ...found, d };
    $("on-line").textContent = "";
    drawLine($("line"), found, labelOf(d, 0), labelOf(d, dims[d].length - 1));
    const others = dims.map((_, i) => i).filter((i) => i !== d);
    $("through").textContent = others.length ? `at ${others.map((i) => `${dims[i].name} ${labelOf(i, at[i])}`).join(", ")}` : "";
  } catch (error) {
    if (turn === state.turns.line) fail(error);
  }
}

// A line is read when a point is chosen: it may need many chunks.
function noLine() {
  state.turns.line++;
  state.line = null;
  prepared($("line"));
  $("through").textContent = $("picture").hidden ? "" : "through the point that is clicked";
  $("on-line").textContent = "";
}

// The value of the line under the cursor.
function tellLine(event) {
  if (!state.line) return;
  const { d, shape, values } = state.line, [, bin, of] = shape, box = $("line").getBoundingClientRect();
  const i = Math.max(0, Math.min(values.length - 1, Math.round(((event.clientX - box.left) / box.width) * (values.length - 1))));
  $("on-line").textContent = `${state.node.dims[d].name} ${labelOf(d, i * bin)}: ${shownAt(state.line, i)}${standsFor(of, bin, bin)}`;
}

// Moves and zooms: `factor` times as many elements around a share of the picture.
function zoom(factor, across = 0.5, down = 0.5) {
  const all = whole(), part = state.part || all, { dims } = state.node;
  const shares = [dims[state.y].falls ? down : 1 - down, dims[state.x].falls ? 1 - across : across];
  state.part = [0, 1].flatMap((k) => {
    const [from, to] = [part[k * 2], part[k * 2 + 1]], length = all[k * 2 + 1];
    const size = Math.max(Math.min(4, length), Math.min(length, Math.round((to - from) * factor)));
    const first = Math.max(0, Math.min(length - size, Math.round(from + (to - from - size) * shares[k])));
    return [first, first + size];
  });
  show();
}

function move(across, down) {
  const all = whole(), { dims } = state.node;
  const shares = [dims[state.y].falls ? -down : down, dims[state.x].falls ? across : -across];
  state.part = [0, 1].flatMap((k) => {
    const size = state.part[k * 2 + 1] - state.part[k * 2];
    const first = Math.max(0, Math.min(all[k * 2 + 1] - size, state.part[k * 2] + Math.round(shares[k] * size)));
    return [first, first + size];
  });
  show();
}

function pointers() {
  const canvas = $("plane"), down = new Map();
  let moved = 0;
  canvas.onwheel = (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  };
  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, event);
    moved = 0;
  };
  canvas.onpointermove = (event) => {
    tell(event);
    const last = down.get(event.pointerId);
    if (!last) return;
    const box = canvas.getBoundingClientRect();
    const far = Math.hypot(event.clientX - last.clientX, event.clientY - last.clientY);
    if (down.size === 2) {
      const other = [...down].find(([id]) => id !== event.pointerId)[1];
      const apart = (e) => Math.hypot(e.clientX - other.clientX, e.clientY - other.clientY);
      if (far > 6) {
        zoom(apart(last) / Math.max(1, apart(event)));
        down.set(event.pointerId, event);
      }
    } else if (far > 6) {
      move((event.clientX - last.clientX) / box.width, (event.clientY - last.clientY) / box.height);
      down.set(event.pointerId, event);
    }
    moved += far;
  };
  canvas.onpointerup = canvas.onpointercancel = (event) => {
    down.delete(event.pointerId);
    if (event.type === "pointerup" && moved < 6 && state.plane) {
      const { y, x } = under(event);
      state.at[state.y] = y;
      state.at[state.x] = x;
      line();
    }
  };
}

function keys(event) {
  if (["INPUT", "SELECT"].includes(event.target.tagName) || event.ctrlKey || event.metaKey || $("picture").hidden) return;
  const d = firstSlider();
  const act = {
    ArrowLeft: () => d >= 0 && go(d, state.at[d] - 1),
    ArrowRight: () => d >= 0 && go(d, state.at[d] + 1),
    "+": () => zoom(0.5),
    "-": () => zoom(2),
    0: () => $("reset").click(),
    c: () => {
      $("map").selectedIndex = ($("map").selectedIndex + 1) % $("map").length;
      paint();
    },
    " ": () => event.target.tagName !== "BUTTON" && (state.playing ? stop() : start(d)),
  }[event.key];
  if (act && act() !== false) event.preventDefault();
}

// Looks again whether the array has grown: a slider at its end goes with the end.
async function follow() {
  const { path, node: before } = state;
  try {
    const node = before?.array && !document.hidden ? await json("node", { path }) : before;
    if (before === state.node && node !== before && String(node.array?.shape) !== String(before.array.shape)) await grown(node);
  } catch (error) {
    if (path === state.path) fail(error);
  }
  setTimeout(follow, 2000);
}

async function grown(node) {
  const before = state.node.dims || [], dims = node.dims || [];
  if (dims.length !== before.length) return choose(state.path);
  Object.assign(state, { node, part: null });
  dims.forEach(({ length }, d) => {
    if (state.at[d] >= before[d].length - 1 && d !== state.x && d !== state.y) state.at[d] = length - 1;
    state.at[d] = Math.max(0, Math.min(state.at[d], length - 1));
  });
  await look(false);
}

async function begin() {
  state.maps = await json("maps", {});
  $("map").replaceChildren(...Object.keys(state.maps).map((name) => element("option", name, { value: name })));
  $("map").value = "viridis";
  $("map").onchange = $("low").oninput = $("high").oninput = paint;
  $("along").onchange = line;
  $("line").onpointermove = tellLine;
  $("reset").onclick = () => {
    state.part = null;
    show();
  };
  for (const [one, other] of [["x", "y"], ["y", "x"]]) {
    $(one).onchange = () => {
      if (state[other] === Number($(one).value)) state[other] = state[one];
      state[one] = Number($(one).value);
      state.part = null;
      controls();
      show().then(chunkMap);
    };
  }
  $("menu").onclick = () => $("tree").classList.toggle("open");
  document.onkeydown = keys;
  window.onresize = () => show();
  matchMedia("(prefers-color-scheme: dark)").onchange = paint;
  pointers();
  const list = element("ul");
  $("tree").append(list);
  const root = await branch("", list);
  $("title").textContent = root.name;
  document.title = `${root.name} · ozarr view`;
  const first = root.array ? "" : root.children.find((c) => c.array && c.array.shape.length > 1);
  await choose(first ? first.name : "");
  setTimeout(follow, 2000);
}

begin().catch(fail);
