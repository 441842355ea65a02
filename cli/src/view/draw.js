// Draws numbers: planes in colours, lines, histograms, and maps of chunks.
"use strict";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A canvas with as many pixels as the screen gives it, cleared.
function prepared(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round((height || canvas.clientHeight) * ratio));
  const c = canvas.getContext("2d");
  c.font = `${12 * ratio}px system-ui, sans-serif`;
  c.fillStyle = css("--ink");
  return { c, w: canvas.width, h: canvas.height, ratio };
}

// A number in few digits, an integer in all.
const shown = (value) => (Number.isNaN(value) ? "missing" : String(Number.isSafeInteger(value) ? value : Number(value.toPrecision(6))));

// A number of an answer.
const shownAt = ({ values, exact }, i) => (exact && !Number.isNaN(values[i]) ? String(exact[i]) : shown(values[i]));

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) {
    if (Number.isFinite(v)) {
      if (v < low) low = v;
      if (v > high) high = v;
    }
  }
  return low > high ? [0, 1] : [low, high];
}

// The texts of the least and the greatest number of an answer.
function shownExtent({ values, exact }) {
  const known = exact && exact.filter((_, i) => !Number.isNaN(values[i]));
  if (!known || known.length === 0) return extent(values).map(shown);
  known.sort();
  return [String(known[0]), String(known[known.length - 1])];
}

// A table of 256 colours as bytes, from hexadecimal digits.
const colourTable = (hex) => Uint8Array.from(hex.match(/../g), (two) => parseInt(two, 16));

const missingColour = [190, 190, 190];

// Where a value is between two others, whose distance may be more than a number has room for.
function share(value, low, high) {
  const part = Number.isFinite(high - low) ? 1 : 0.5;
  return (value * part - low * part) / (high * part - low * part);
}

// The place of a value among 256 colours.
const place = (value, low, high) => Math.max(0, Math.min(255, Math.round(high > low ? share(value, low, high) * 255 : 128)));

// A picture of a plane, one pixel for a number, its first row at the bottom unless `falls`.
function planeImage(plane, table, [low, high]) {
  const { rows, columns, values } = plane;
  const canvas = new OffscreenCanvas(columns, rows);
  const image = new ImageData(columns, rows);
  for (let r = 0; r < rows; r++) {
    const row = plane.falls ? r : rows - 1 - r;
    for (let k = 0; k < columns; k++) {
      const value = values[r * columns + (plane.mirrored ? columns - 1 - k : k)];
      const at = (row * columns + k) * 4, i = place(value, low, high) * 3;
      const colour = Number.isNaN(value) ? missingColour : [table[i], table[i + 1], table[i + 2]];
      image.data[at] = colour[0];
      image.data[at + 1] = colour[1];
      image.data[at + 2] = colour[2];
      image.data[at + 3] = 255;
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

function drawScale(canvas, table, [low, high], unit) {
  const { c, w, ratio } = prepared(canvas, 34);
  const strip = new ImageData(256, 1);
  for (let i = 0; i < 256; i++) strip.data.set([table[i * 3], table[i * 3 + 1], table[i * 3 + 2], 255], i * 4);
  const one = new OffscreenCanvas(256, 1);
  one.getContext("2d").putImageData(strip, 0, 0);
  c.drawImage(one, 0, 4 * ratio, w, 10 * ratio);
  c.textBaseline = "bottom";
  for (const [text, x, align] of [[shown(low), 0, "left"], [unit, w / 2, "center"], [shown(high), w, "right"]]) {
    c.textAlign = align;
    c.fillText(text, x, 31 * ratio);
  }
}

function frame(canvas, low, high, left, right) {
  const { c, w, h, ratio } = prepared(canvas);
  c.fillStyle = css("--soft");
  c.textBaseline = "top";
  c.fillText(high, 4 * ratio, 3 * ratio);
  c.textBaseline = "bottom";
  c.fillText(low, 4 * ratio, h - 16 * ratio);
  c.fillText(left, 4 * ratio, h - 2);
  c.textAlign = "right";
  c.fillText(right, w - 4 * ratio, h - 2);
  return { c, w, h: h - 18 * ratio, ratio };
}

function drawLine(canvas, found, left, right) {
  const { values } = found, [low, high] = extent(values);
  const { c, w, h, ratio } = frame(canvas, ...shownExtent(found), left, right);
  c.strokeStyle = css("--mark");
  c.lineWidth = 1.5 * ratio;
  c.beginPath();
  let pen = false;
  values.forEach((v, i) => {
    const x = values.length > 1 ? (i / (values.length - 1)) * w : w / 2;
    const y = high > low ? h - share(v, low, high) * (h - 6) - 3 : h / 2;
    if (Number.isFinite(v)) pen ? c.lineTo(x, y) : (c.moveTo(x, y), c.lineTo(x + 0.5, y));
    pen = Number.isFinite(v);
  });
  c.stroke();
}

function drawHistogram(canvas, values, [low, high]) {
  const counts = new Array(64).fill(0);
  for (const v of values) if (v >= low && v <= high) counts[Math.min(63, Math.floor(high > low ? share(v, low, high) * 64 : 32))]++;
  const most = Math.max(1, ...counts);
  const { c, w, h } = frame(canvas, "0", String(most), shown(low), shown(high));
  c.fillStyle = css("--mark");
  counts.forEach((n, i) => c.fillRect((i / 64) * w, h - (n / most) * h, w / 64 - 1, (n / most) * h));
}

// Chunks of the plane that are stored, one cell each; `here` tells whether a chunk is in the plane.
function drawChunks(canvas, grid, stored, x, y, flip, here) {
  const columns = Math.min(grid[x] ?? 1, 512), rows = Math.min(grid[y] ?? 1, 512);
  const cell = Math.max(2, Math.floor(Math.min(24, 480 / Math.max(columns, rows))));
  canvas.width = columns * cell;
  canvas.height = rows * cell;
  const c = canvas.getContext("2d");
  c.fillStyle = css("--mark");
  for (const index of stored) {
    if (here(index)) {
      const row = index[y] ?? 0;
      c.fillRect((index[x] ?? 0) * cell, (flip ? rows - 1 - row : row) * cell, cell - 1, cell - 1);
    }
  }
}
