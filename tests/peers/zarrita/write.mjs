// Writes arrays of v3 with zarrita.js into a folder, as a list on standard input says: {path, shape, chunks, dtype, codecs, separator, fill, names}.
// Element i (C order) is i * 7 % 101 % `below`. For each, one line of JSON: the path, and the error if it was not written.
import { readFileSync } from "node:fs";
import FileSystemStore from "@zarrita/storage/fs";
import * as zarr from "zarrita";

const ARRAYS = {
  bool: Uint8Array, int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array, uint8: Uint8Array, uint16: Uint16Array,
  uint32: Uint32Array, uint64: BigUint64Array, float32: Float32Array, float64: Float64Array,
};

/** The elements, as zarrita.js takes them. */
function elements(dtype, count, below) {
  const wide = dtype.endsWith("int64");
  const values = Array.from({ length: count }, (_, i) => (wide ? BigInt(((i * 7) % 101) % below) : ((i * 7) % 101) % below));
  const data = ARRAYS[dtype].from(values);
  return dtype === "bool" ? new zarr.BoolArray(data.buffer) : data;
}

async function write(root, w) {
  const fillValue = w.dtype === "bool" ? Boolean(w.fill) : w.fill;
  const array = await zarr.create(root.resolve(w.path), {
    shape: w.shape, chunkShape: w.chunks, dtype: w.dtype, codecs: w.codecs, fillValue, chunkSeparator: w.separator, dimensionNames: w.names, attributes: { written: w.path },
  });
  const count = w.shape.reduce((a, b) => a * b, 1);
  const stride = w.shape.map((_, d) => w.shape.slice(d + 1).reduce((a, b) => a * b, 1));
  await zarr.set(array, null, { data: elements(w.dtype, count, w.below), shape: w.shape, stride });
}

const root = zarr.root(new FileSystemStore(process.argv[2]));
await zarr.create(root, { attributes: {} });
for (const w of JSON.parse(readFileSync(0, "utf8"))) {
  let error = null;
  try {
    await write(root, w);
  } catch (e) {
    error = `${e.name}: ${e.message}`;
  }
  console.log(JSON.stringify({ path: w.path, error }));
}
