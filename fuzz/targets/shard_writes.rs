//! Shards that are written in parts, in any order: regions, points, lists, inner chunks that are erased or put back as bytes, shards that are
//! written piece by piece, and shards that another program has laid out. What is read must be what was written; where inner chunks are
//! plain bytes, a decoder of this file says so, too.
//! Run: tools/fuzz shard_writes 60
use crate::model::{self, Cells, Region, Script, memory};
use ozarr::dtype::DataType;
use ozarr::engine::CoordinateSelection;
use ozarr::error::ErrorKind;
use ozarr::node::{Array, Context, Create, Mode, Spec, Store};
use ozarr::store::{Condition, SharedStore, get};

const SHAPE: [u64; 2] = [11, 13];
const SHARD: [u64; 2] = [8, 6];
/// The inner chunks of plain shards.
const INNER: [u64; 2] = [2, 3];
/// Those of a shard along each dimension.
const COUNTS: [u64; 2] = [SHARD[0] / INNER[0], SHARD[1] / INNER[1]];
const BYTES: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
const BIG: &str = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
const ZSTD: &str = r#"{"name":"zstd","configuration":{"level":1}}"#;
const GZIP: &str = r#"{"name":"gzip","configuration":{"level":1}}"#;
const CRC: &str = r#"{"name":"crc32c"}"#;
const TRANSPOSE: &str = r#"{"name":"transpose","configuration":{"order":[1,0]}}"#;
const BLOSC: &str = r#"{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}}"#;

/// How many kinds of shards, the first ones, have plain inner chunks.
const PLAIN: usize = 3;
/// How many have inner chunks that can be told apart; others are compressed as a whole.
const DIVIDED: usize = 7;

/// The codecs of all kinds of shards.
fn chains() -> [String; 9] {
    let shard = |inner: &str, chunk: &str, location: &str, index: &str| {
        format!(
            r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":{chunk},"codecs":[{inner}],"index_codecs":[{BYTES}{index}],"index_location":"{location}"}}}}"#
        )
    };
    let checked = format!(",{CRC}");
    let nested = shard(&format!("{BYTES},{ZSTD}"), "[2,3]", "start", &checked);
    [
        shard(BYTES, "[2,3]", "end", ""),
        shard(BYTES, "[2,3]", "start", ""),
        shard(BYTES, "[2,3]", "end", &checked),
        shard(&format!("{BYTES},{ZSTD}"), "[2,3]", "end", &checked),
        shard(&format!("{TRANSPOSE},{BIG},{GZIP},{CRC}"), "[2,3]", "start", &checked),
        shard(&format!("{BYTES},{BLOSC}"), "[2,3]", "end", ""),
        shard(&nested, "[4,6]", "end", &checked),
        format!("{},{CRC}", shard(&format!("{BYTES},{ZSTD}"), "[2,3]", "end", &checked)),
        format!("{},{GZIP}", shard(BYTES, "[2,3]", "end", "")),
    ]
}

struct Run<'a> {
    script: Script<'a>,
    chain: usize,
    threads: usize,
    shared: SharedStore,
    array: Array,
    /// The parts that the library tells apart: inner chunks, of nested shards the larger ones, or shards.
    inner: [u64; 2],
    cells: Cells,
    last: i32,
}

/// The part of a box that is inside of the array.
fn inside(first: [u64; 2], extent: [u64; 2]) -> Region {
    let count = [0, 1].map(|d| extent[d].min(SHAPE[d].saturating_sub(first[d])));
    Region::boxed(&first, &count)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

impl Run<'_> {
    fn open(&self) -> Array {
        let store = Store::from_shared(&Context::with_threads(self.threads), self.shared.clone(), Mode::ReadWrite);
        Array::open(&store, "a").unwrap()
    }

    fn write(&mut self) {
        let region = self.script.region(&SHAPE);
        let values = self.script.values(region.len(), self.cells.fill, &mut self.last);
        region.write(&self.array, &values).unwrap();
        self.cells.write(region.indices(), &values);
    }

    fn read(&mut self) {
        let region = self.script.region(&SHAPE);
        let found = region.read(&self.array).unwrap();
        self.cells.check(region.indices(), &found, "a region");
    }

    /// Writes points, or the product of two lists.
    fn write_picks(&mut self) {
        let (a, b) = (self.script.below(6), self.script.below(6));
        let rows: Vec<i64> = (0..a).map(|_| self.script.below(SHAPE[0]) as i64).collect();
        let columns: Vec<i64> = (0..b).map(|_| self.script.below(SHAPE[1]) as i64).collect();
        if self.script.below(2) == 0 {
            let points: Vec<i64> = rows.iter().zip(&columns).flat_map(|(&i, &j)| [i, j]).collect();
            let count = points.len() as u64 / 2;
            self.put_picks(&CoordinateSelection::Points { count, coordinates: &points }, &[count], points.chunks(2));
        } else {
            let product: Vec<[i64; 2]> = rows.iter().flat_map(|&i| columns.iter().map(move |&j| [i, j])).collect();
            let lists = [Some(&rows[..]), Some(&columns[..])];
            self.put_picks(&CoordinateSelection::Orthogonal(&lists), &[a, b], product.iter().map(|point| &point[..]));
        }
    }

    fn put_picks<'p>(&mut self, picks: &CoordinateSelection<'_>, shape: &[u64], points: impl Iterator<Item = &'p [i64]>) {
        let mut values = self.script.values(shape.iter().product::<u64>() as usize, self.cells.fill, &mut self.last);
        // SAFETY: the memory lives as long as the call.
        unsafe { self.array.write_picks(picks, &memory(&mut values, shape)) }.unwrap();
        self.cells.write(points.map(|point| point.iter().map(|&i| i as u64).collect()).collect(), &values);
    }

    /// The index of an inner chunk, and what it holds.
    fn inner_chunk(&mut self) -> ([u64; 2], Region) {
        let index = [0, 1].map(|d| self.script.below(SHAPE[d].div_ceil(self.inner[d])));
        (index, inside([0, 1].map(|d| index[d] * self.inner[d]), self.inner))
    }

    fn erase(&mut self) {
        if self.script.below(3) == 0 {
            let index = [self.script.below(2), self.script.below(3)];
            self.array.chunk_erase(&index, false).unwrap();
            self.cells.erase(&inside([0, 1].map(|d| index[d] * SHARD[d]), SHARD));
        } else {
            let (index, region) = self.inner_chunk();
            self.array.chunk_erase(&index, self.chain < DIVIDED).unwrap();
            self.cells.erase(&region);
        }
    }

    /// Takes the bytes of an inner chunk, changes it, and puts the bytes back.
    fn put_back(&mut self) {
        let (index, region) = self.inner_chunk();
        let (before, mut bytes, mut size) = (self.cells.clone(), vec![0; 4096], 0);
        if let Err(e) = self.array.chunk_read(&index, self.chain < DIVIDED, &mut bytes, &mut size) {
            assert_eq!(e.kind(), ErrorKind::Missing, "{e}");
            return before.check(region.indices(), &vec![before.fill; region.len()], "an inner chunk that is not stored");
        }
        let old = region.read(&self.array).unwrap();
        let values = self.script.values(region.len(), self.cells.fill, &mut self.last);
        region.write(&self.array, &values).unwrap();
        self.array.chunk_write(&index, self.chain < DIVIDED, &bytes[..size as usize]).unwrap();
        before.check(region.indices(), &old, "before the bytes are put back");
        assert_eq!(region.read(&self.array).unwrap(), old, "after the bytes were put back");
    }

    /// Writes a shard piece by piece, or gives it up halfway.
    fn piecewise(&mut self) {
        let shard = [self.script.below(2), self.script.below(3)];
        if self.chain >= DIVIDED {
            assert_eq!(self.array.shard_writer(&shard).err().map(|e| e.kind()), Some(ErrorKind::Unsupported));
            return;
        }
        let (first, mut cells) = ([0, 1].map(|d| shard[d] * SHARD[d]), self.cells.clone());
        cells.erase(&inside(first, SHARD));
        let mut writer = self.array.shard_writer(&shard).unwrap();
        let mut given = Vec::new();
        for _ in 0..self.script.below(9) {
            let index = [0, 1].map(|d| (first[d] / self.inner[d]) + self.script.below(SHARD[d] / self.inner[d]));
            let region = inside([0, 1].map(|d| index[d] * self.inner[d]), self.inner);
            if region.len() == 0 || given.contains(&index) {
                continue;
            }
            let extent = writer.inside(&index).unwrap();
            let mut values = self.script.values(region.len(), self.cells.fill, &mut self.last);
            // SAFETY: the memory lives as long as the call.
            unsafe { writer.put(&index, &memory(&mut values, &extent)) }.unwrap();
            cells.write(region.indices(), &values);
            given.push(index);
        }
        if self.script.below(4) > 0 {
            writer.finish().unwrap();
            self.cells = cells;
        }
    }

    /// Lays a shard out anew as another program may: inner chunks in another order, with bytes between them that belong to nothing.
    fn lay_out(&mut self) {
        let key = format!("a/c/{}/{}", self.script.below(2), self.script.below(3));
        self.array.flush().unwrap();
        let Some(old) = get(&*self.shared, &key, usize::MAX).unwrap() else { return };
        let n = (COUNTS[0] * COUNTS[1]) as usize;
        // Only where entries are not checked: the first two kinds.
        let (index_at, data_at) = match self.chain {
            0 => (old.len() - 16 * n, 0),
            1 => (0, 16 * n),
            _ => return,
        };
        let mut index = old[index_at..index_at + 16 * n].to_vec();
        let mut data = Vec::new();
        let turn = self.script.below(n as u64) as usize;
        for i in (0..n).map(|i| (i * 3 + turn) % n) {
            let (offset, len) = (word(&old, index_at + 16 * i), word(&old, index_at + 16 * i + 8));
            if offset == u64::MAX {
                continue;
            }
            data.resize(data.len() + self.script.below(5) as usize, 0xee);
            let place = (data_at + data.len()) as u64;
            index[16 * i..16 * i + 8].copy_from_slice(&place.to_le_bytes());
            data.extend_from_slice(&old[offset as usize..(offset + len) as usize]);
        }
        let parts: [&[u8]; 2] = if self.chain == 0 { [&data, &index] } else { [&index, &data] };
        self.shared.put(&key, &parts, Condition::None).unwrap();
    }

    fn settings(&mut self) {
        let on = usize::from(self.script.below(2) == 1) << 20;
        match self.script.below(3) {
            0 => self.array.set_write_back(on).unwrap(),
            1 => self.array.set_chunk_cache(on).unwrap(),
            _ => self.array.set_write_fill_chunks(on > 0),
        }
    }

    /// Reads all through a handle of its own, and decodes plain shards.
    fn check(&mut self) {
        self.array.flush().unwrap();
        self.array = self.open();
        self.cells.check_all(&self.array, "all");
        if self.chain < PLAIN {
            (0..2).for_each(|i| (0..3).for_each(|j| self.check_bytes([i, j])));
        }
    }

    /// Decodes a stored shard as the specification has it.
    fn check_bytes(&self, shard: [u64; 2]) {
        let first = [0, 1].map(|d| shard[d] * SHARD[d]);
        let all = inside(first, SHARD);
        let Some(bytes) = get(&*self.shared, &format!("a/c/{}/{}", shard[0], shard[1]), usize::MAX).unwrap() else {
            return self.cells.check(all.indices(), &vec![self.cells.fill; all.len()], "a shard that is not stored");
        };
        let (n, size) = ((COUNTS[0] * COUNTS[1]) as usize, (INNER[0] * INNER[1] * 4) as usize);
        let index = [bytes.len().wrapping_sub(16 * n), 0, bytes.len().wrapping_sub(16 * n + 4)][self.chain];
        let mut taken = vec![(index, index + 16 * n)];
        for i in 0..n {
            let (offset, len) = (word(&bytes, index + 16 * i), word(&bytes, index + 16 * i + 8));
            let place = [i as u64 / COUNTS[1], i as u64 % COUNTS[1]];
            let box_at = [0, 1].map(|d| first[d] + place[d] * INNER[d]);
            let region = inside(box_at, INNER);
            if (offset, len) == (u64::MAX, u64::MAX) {
                self.cells.check(region.indices(), &vec![self.cells.fill; region.len()], "an inner chunk that is not stored");
                continue;
            }
            assert_eq!(len as usize, size, "the bytes of an inner chunk");
            let chunk = &bytes[offset as usize..offset as usize + size];
            taken.push((offset as usize, offset as usize + size));
            let value = |at: &Vec<u64>| {
                let at = ((at[0] - box_at[0]) * INNER[1] + at[1] - box_at[1]) as usize * 4;
                i32::from_le_bytes(chunk[at..at + 4].try_into().unwrap())
            };
            let found: Vec<i32> = region.indices().iter().map(value).collect();
            self.cells.check(region.indices(), &found, "an inner chunk as it is stored");
        }
        taken.sort_unstable();
        assert!(taken.windows(2).all(|two| two[0].1 <= two[1].0), "inner chunks overlap: {taken:?}");
    }

    fn step(&mut self) {
        match self.script.below(12) {
            0..=3 => self.write(),
            4 => self.read(),
            5 => self.write_picks(),
            6 => self.erase(),
            7 => self.put_back(),
            8 => self.piecewise(),
            9 => self.lay_out(),
            10 => self.settings(),
            _ => self.check(),
        }
    }
}

/// Runs one input. Its first number chooses the codecs, the second the fill value, the number of threads and the kind of
/// store.
pub fn run(bytes: &[u8]) {
    let [first, second, rest @ ..] = bytes else { return };
    let chain = usize::from(*first) % chains().len();
    let (fill, threads) = ([0i32, -3][usize::from(second & 1)], 1 + usize::from(second >> 1 & 1));
    let shared = model::store(second >> 2);
    let store = Store::from_shared(&Context::with_threads(threads), shared.clone(), Mode::ReadWrite);
    let mut spec = Spec::new(DataType::Int32, &SHAPE).unwrap();
    spec.set_fill(DataType::Int32, &fill.to_ne_bytes()).unwrap();
    spec.set_chunks(&SHARD).unwrap();
    spec.set_codecs_json(&format!("[{}]", chains()[chain])).unwrap();
    let array = Array::create(&store, "a", &spec, Create::New).unwrap();
    let inner = if chain < DIVIDED { [0, 1].map(|d| array.inner_chunk_shape()[d]) } else { SHARD };
    let mut run = Run { script: Script(rest), chain, threads, shared, array, inner, cells: Cells::new(&SHAPE, fill), last: 0 };
    while !run.script.is_over() {
        run.step();
    }
    run.check();
}
