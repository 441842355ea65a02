// Reads arrays of a folder with zarrita.js: for each path of a list on standard input, one line of JSON with the shape, the type, the
// SHA-256 of the elements (C order, little-endian), the attributes and the dimension names, or the error.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import FileSystemStore from "@zarrita/storage/fs";
import * as zarr from "zarrita";

/** The bytes of the elements in C order; zarrita.js has them in the order of the chunks. */
function bytes(data, shape, stride) {
  const items = ArrayBuffer.isView(data) ? data : Uint8Array.from(data, Number); // booleans
  const out = new items.constructor(items.length);
  const index = shape.map(() => 0);
  for (let i = 0; i < out.length; i++) {
    out[i] = items[index.reduce((at, n, d) => at + n * stride[d], 0)];
    for (let d = shape.length - 1; d >= 0 && ++index[d] === shape[d]; d--) index[d] = 0;
  }
  return Buffer.from(out.buffer, out.byteOffset, out.byteLength);
}

async function read(root, path) {
  const array = await zarr.open(root.resolve(path), { kind: "array" });
  const { data, shape, stride } = array.shape.length ? await zarr.get(array) : await array.getChunk([]);
  const sha256 = createHash("sha256").update(bytes(data, shape, stride)).digest("hex");
  return { shape, dtype: array.dtype, sha256, attributes: array.attrs, dimension_names: array.dimensionNames ?? null };
}

const root = zarr.root(new FileSystemStore(process.argv[2]));
for (const path of JSON.parse(readFileSync(0, "utf8"))) {
  let result;
  try {
    result = await read(root, path);
  } catch (e) {
    result = { error: `${e.name}: ${e.message}${e.cause ? ` (${e.cause.message})` : ""}` };
  }
  console.log(JSON.stringify({ path, ...result }));
}
