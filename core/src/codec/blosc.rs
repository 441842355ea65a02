//! `blosc`: c-blosc 1 chunks (a header of 16 bytes, blocks, a shuffle and an inner compressor).
//!
//! Specification: v3 core codecs, "blosc"; c-blosc `README_CHUNK_FORMAT.rst`; numcodecs `Blosc` (v2 id `blosc`; v3 names
//! `blosc`, `numcodecs.blosc`).
//! Example: `{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}}`
//!
//! Decoding follows the header alone; the configuration only says how to encode. The blocks are walked here: sizes, starts and counts
//! are checked before anything is decoded, each part goes to the decoder of its own format, and the shuffles are undone by
//! `shuffle.rs`. Frames are written by `blosc_encode.rs`.

use super::blosc_encode::{BITS_SHUFFLED, BLOSCLZ, BYTES_SHUFFLED, BlockCompressor, COPIED, Encoder, HEADER, LZ4, NOT_SPLIT, ZLIB};
use super::build::Built;
use super::config::Config;
use super::deflate::{Wrapper, inflate};
use super::stage::{Dest, FIRST_ROOM, Stage};
use super::streams::decode_known;
use super::{blosclz, lz4, shuffle, zstd};
use crate::dtype::ElementType;
use crate::error::{ErrorKind, Result, bail, err};
use crate::limits;
use crate::metadata::{Value, json::brief};
use crate::per_thread::{self, PerThread};
use std::ffi::c_int;

/// The flag that no version has.
const RESERVED: u8 = 0x08;
/// The inner compressors by the number in the header's flags: blosclz, lz4, snappy, zlib, zstd.
const FORMATS: u8 = 5;
/// The number of snappy, which is only read.
const SNAPPY: u8 = 2;

/// How to encode; `None`: with snappy, which is only read.
struct Blosc(Option<Encoder>);

/// Reads `cname`, `clevel`, `shuffle` (a name, a number, or -1: bits for single bytes, else bytes), `typesize` (the item's size where it is
/// missing or 0, and whatever else it is where nothing is shuffled: the specification ignores it there) and `blocksize`.
pub(super) fn build(config: &Config<'_>, item: ElementType) -> Result<Built> {
    let compressor = match config.text("cname")? {
        None | Some("lz4") => Some(BlockCompressor::Lz4),
        Some("lz4hc") => Some(BlockCompressor::Lz4Hc),
        Some("blosclz") => Some(BlockCompressor::BloscLz),
        Some("zlib") => Some(BlockCompressor::Zlib),
        Some("zstd") => Some(BlockCompressor::Zstd),
        Some("snappy") => None,
        Some(other) => return Err(config.error("cname", format!("found {other:?}, expected blosclz, lz4, lz4hc, zlib, zstd or snappy"))),
    };
    let said = config.int("typesize", 0, i64::MAX, 0).or_else(|e| if shuffle_of(config, 1)? == 0 { Ok(0) } else { Err(e) })?;
    let typesize = if said == 0 { item.size() } else { said as usize };
    let typesize = if typesize > 255 { 1 } else { typesize };
    let (level, shuffle) = (config.int("clevel", 0, 9, 5)? as c_int, shuffle_of(config, typesize)?);
    let blocksize = config.int("blocksize", 0, i64::from(i32::MAX), 0)? as usize;
    Ok(Built::bytes(Blosc(compressor.map(|compressor| Encoder { compressor, level, shuffle, typesize, blocksize }))))
}

fn shuffle_of(config: &Config<'_>, typesize: usize) -> Result<c_int> {
    let automatic = if typesize == 1 { 2 } else { 1 };
    match config.get("shuffle") {
        None => Ok(1),
        Some(v @ Value::String(s)) if config.number(v).is_none() => match s.as_str() {
            // The names in capitals are those that GDAL writes into v2.
            "noshuffle" | "NONE" => Ok(0),
            "shuffle" | "BYTE" => Ok(1),
            "bitshuffle" | "BIT" => Ok(2),
            other => Err(config.error("shuffle", format!("found {other:?}, expected noshuffle, shuffle or bitshuffle"))),
        },
        Some(v) => match config.number(v) {
            Some(-1) => Ok(automatic),
            Some(n @ 0..=2) => Ok(n as c_int),
            _ => Err(config.error("shuffle", format!("found {}, expected a name or a number from -1 to 2", brief(v)))),
        },
    }
}

/// The name of the shuffle that a configuration says for items of that size.
pub(super) fn shuffle_word(config: &Config<'_>, typesize: usize) -> Option<&'static str> {
    let typesize = config.int("typesize", 1, 255, typesize as i64).map_or(typesize, |said| said as usize);
    ["noshuffle", "shuffle", "bitshuffle"].get(shuffle_of(config, typesize).ok()? as usize).copied()
}

/// The checked numbers of a header.
struct Header {
    flags: u8,
    typesize: usize,
    nbytes: usize,
    blocksize: usize,
}

impl Header {
    /// Reads and checks everything that is known before decoding: the numbers, and the starts of the blocks.
    fn read(src: &[u8]) -> Result<Header> {
        let Some((head, _)) = src.split_first_chunk::<HEADER>() else {
            bail!(Truncated, "found {} bytes, expected at least the {HEADER} of a blosc header", src.len());
        };
        let [version, _, flags, typesize, n0, n1, n2, n3, b0, b1, b2, b3, c0, c1, c2, c3] = *head;
        let number = |bytes| u32::from_le_bytes(bytes) as usize;
        let (nbytes, blocksize, cbytes) = (number([n0, n1, n2, n3]), number([b0, b1, b2, b3]), number([c0, c1, c2, c3]));
        if version != 2 || flags & RESERVED != 0 {
            bail!(Chunk, "found blosc format version {version} with flags 0x{flags:02x}, expected version 2");
        }
        if cbytes > src.len() {
            bail!(Truncated, "the blosc header says {cbytes} bytes, found {}", src.len());
        }
        if cbytes != src.len() {
            bail!(Chunk, "the blosc header says {cbytes} bytes, found {}", src.len());
        }
        let header = Header { flags, typesize: typesize.into(), nbytes, blocksize };
        if nbytes > 0 {
            header.check(src)?;
        }
        Ok(header)
    }

    fn check(&self, src: &[u8]) -> Result<()> {
        let Header { flags, typesize, nbytes, blocksize } = *self;
        if nbytes > i32::MAX as usize - HEADER || typesize == 0 || blocksize == 0 || blocksize > nbytes {
            bail!(Chunk, "the blosc header says {nbytes} bytes in blocks of {blocksize} with items of {typesize}");
        }
        if flags & COPIED != 0 {
            if nbytes + HEADER != src.len() {
                bail!(Chunk, "the blosc header says {nbytes} copied bytes, found {}", src.len() - HEADER);
            }
            return Ok(());
        }
        if flags >> 5 >= FORMATS {
            bail!(Chunk, "the blosc header names compressor {}, expected at most 4", flags >> 5);
        }
        self.check_blocks(src)
    }

    /// The start of each block, and the size of its first part, must be inside.
    fn check_blocks(&self, src: &[u8]) -> Result<()> {
        let blocks = self.nbytes.div_ceil(self.blocksize);
        let Some(starts) = blocks.checked_mul(4).and_then(|n| src.get(HEADER..HEADER.checked_add(n)?)) else {
            bail!(Chunk, "found {} bytes, expected the starts of {blocks} blosc blocks", src.len());
        };
        for (i, start) in starts.as_chunks::<4>().0.iter().enumerate() {
            let start = u32::from_le_bytes(*start) as usize;
            let first = src.get(start..).filter(|_| start >= HEADER + starts.len()).and_then(|s| s.split_first_chunk::<4>());
            if first.is_none_or(|(size, rest)| u32::from_le_bytes(*size) as usize > rest.len()) {
                bail!(Chunk, "blosc block {i} at byte {start} lies outside of {} bytes", src.len());
            }
        }
        Ok(())
    }
}

/// What the decoding of blocks needs besides its source and destination: a block before each of its shuffles is undone, and a whole
/// block of which a part is wanted.
#[derive(Default)]
struct Rooms {
    shuffled: Vec<u8>,
    bits: Vec<u8>,
    block: Vec<u8>,
}

thread_local! {
    static ROOMS: PerThread<Rooms> = const { PerThread::new(Rooms { shuffled: Vec::new(), bits: Vec::new(), block: Vec::new() }) };
}

/// Rooms of more bytes than this are given back.
const KEPT: usize = 4 << 20;

/// Calls with this thread's rooms.
fn with_rooms<T>(f: impl FnOnce(&mut Rooms) -> T) -> T {
    per_thread::with(&ROOMS, |rooms| {
        let result = f(rooms);
        if rooms.shuffled.capacity() + rooms.bits.capacity() + rooms.block.capacity() > KEPT {
            *rooms = Rooms::default();
        }
        result
    })
}

impl Header {
    fn is_copied(&self) -> bool {
        self.flags & COPIED != 0
    }

    /// Decodes the bytes from `offset` on, as many as `out` has room for.
    fn decode(&self, src: &[u8], offset: usize, out: &mut [u8]) -> Result<()> {
        if self.is_copied() {
            // Checked: there are as many bytes behind the header as it says.
            let plain = src.get(HEADER + offset..).and_then(|s| s.get(..out.len()));
            out.copy_from_slice(plain.ok_or_else(|| err!(Chunk, "found too few copied blosc bytes"))?);
            return Ok(());
        }
        with_rooms(|rooms| {
            let (mut at, mut out) = (offset, out);
            while !out.is_empty() {
                let block = at / self.blocksize;
                let (begin, size) = (block * self.blocksize, self.blocksize.min(self.nbytes - block * self.blocksize));
                let (part, rest) = out.split_at_mut(out.len().min(begin + size - at));
                if part.len() == size {
                    self.block(src, block, rooms, part)?;
                } else {
                    let mut whole = std::mem::take(&mut rooms.block);
                    let done = limits::grow(&mut whole, size).and_then(|whole| {
                        self.block(src, block, rooms, whole)?;
                        part.copy_from_slice(&whole[at - begin..][..part.len()]);
                        Ok(())
                    });
                    rooms.block = whole;
                    done?;
                }
                (at, out) = (at + part.len(), rest);
            }
            Ok(())
        })
    }

    /// Decodes one block.
    fn block(&self, src: &[u8], i: usize, rooms: &mut Rooms, out: &mut [u8]) -> Result<()> {
        let at = HEADER + 4 * i;
        let start = src.get(at..).and_then(<[u8]>::first_chunk).map_or(usize::MAX, |n| u32::from_le_bytes(*n) as usize);
        let parts = src.get(start..).unwrap_or_default();
        if self.flags & BYTES_SHUFFLED != 0 && self.typesize > 1 {
            let room = limits::grow(&mut rooms.shuffled, out.len())?;
            self.parts(i, parts, room)?;
            shuffle::unshuffle(self.typesize, room, out);
        } else if self.flags & BITS_SHUFFLED != 0 {
            let room = limits::grow(&mut rooms.shuffled, out.len())?;
            self.parts(i, parts, room)?;
            shuffle::unshuffle_bits(self.typesize, room, limits::grow(&mut rooms.bits, out.len())?, out);
        } else {
            self.parts(i, parts, out)?;
        }
        Ok(())
    }

    /// The parts of one block: each a size and that number of bytes, which are plain if there are as many as they decode to.
    fn parts(&self, block: usize, mut src: &[u8], out: &mut [u8]) -> Result<()> {
        let split = self.flags & NOT_SPLIT == 0 && self.typesize <= 16 && self.blocksize / self.typesize >= 128;
        let parts = if split && out.len() == self.blocksize { self.typesize } else { 1 };
        let n = out.len() / parts;
        if n * parts != out.len() {
            bail!(Chunk, "blosc block {block} of {} bytes is split into {parts}", out.len());
        }
        for part in out.chunks_exact_mut(n) {
            let sized = src.split_first_chunk::<4>().map(|(size, rest)| (u32::from_le_bytes(*size) as usize, rest));
            let Some((bytes, rest)) = sized.and_then(|(size, rest)| rest.split_at_checked(size)) else {
                bail!(Chunk, "a part of blosc block {block} lies outside of the chunk");
            };
            if bytes.len() == n {
                part.copy_from_slice(bytes);
            } else {
                match self.part(bytes, part)? {
                    Some(made) if made == n => {}
                    Some(made) => bail!(Chunk, "a part of blosc block {block} has {made} bytes, expected {n}"),
                    None => bail!(Chunk, "blosc block {block} is damaged, or has more than {n} bytes a part"),
                }
            }
            src = rest;
        }
        Ok(())
    }

    /// Decodes what one of the inner compressors made: the number of bytes, or `None` where it is damaged.
    fn part(&self, bytes: &[u8], out: &mut [u8]) -> Result<Option<usize>> {
        let done = match self.flags >> 5 {
            BLOSCLZ => return Ok(blosclz::decode(bytes, out)),
            SNAPPY => return Ok(snap::raw::Decoder::new().decompress(bytes, out).ok()),
            LZ4 => lz4::decode_block(bytes, out).map(Some),
            ZLIB => inflate(Wrapper::Zlib, bytes, out).map(|done| done.filter(|(used, _)| *used == bytes.len()).map(|(_, made)| made)),
            _ => zstd::decode_frames(bytes, out).map(Some),
        };
        match done {
            Err(e) if e.kind() != ErrorKind::NoMemory => Ok(None),
            done => done,
        }
    }
}

impl Stage for Blosc {
    fn name(&self) -> &'static str {
        "blosc"
    }

    fn most(&self) -> usize {
        blosc::BLOSC_MAX_BUFFERSIZE as usize
    }

    fn check_writing(&self) -> Result<()> {
        match self.0 {
            Some(_) => Ok(()),
            None => bail!(Unsupported, "blosc with snappy inside is read, but not written"),
        }
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        let Some(encoder) = &self.0 else { return self.check_writing() };
        if src.len() > self.most() {
            bail!(Limit, "found {} bytes, blosc takes at most {}", src.len(), self.most());
        }
        encoder.encode(src, dst)
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        let header = Header::read(src)?;
        // A block is decoded as a whole: to look at the first bytes gains nothing where one is long.
        let dst = if header.blocksize <= FIRST_ROOM { dst.check_first(header.nbytes, |first| header.decode(src, 0, first))? } else { dst };
        decode_known(dst, header.nbytes, &mut |out| header.decode(src, 0, out))
    }

    /// Decodes only the blocks that the range touches, if they are at most half of all.
    fn decode_range(&self, src: &[u8], total: usize, offset: usize, dst: &mut [u8]) -> Option<Result<()>> {
        let end = offset.checked_add(dst.len())?;
        let header = match Header::read(src) {
            Ok(header) => header,
            Err(e) => return Some(Err(e)),
        };
        // Where anything is unusual, a full decode finds the right error.
        if header.nbytes != total || end > total || dst.is_empty() {
            return None;
        }
        let touched = (end - 1) / header.blocksize - offset / header.blocksize + 1;
        if !header.is_copied() && touched * 2 > total.div_ceil(header.blocksize) {
            return None;
        }
        Some(header.decode(src, offset, dst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::config::Style;
    use crate::codec::testing::*;

    fn blosc(cname: &str, shuffle: i64, item: usize) -> super::super::StageRef {
        let json = format!(r#"{{"cname": "{cname}", "shuffle": {shuffle}, "blocksize": 4096}}"#);
        let t = match item {
            1 => DataType::UInt8,
            2 => DataType::Int16,
            4 => DataType::Int32,
            _ => DataType::Float64,
        };
        build(&Config::v3(&config_of(&json)), ElementType::native(t)).unwrap().stage
    }

    #[test]
    fn every_compressor_shuffle_and_size_round_trips() {
        round_trips(&*doc_stage(include_str!("blosc.rs")), SIZES);
        for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] {
            for shuffle in [-1, 0, 1, 2] {
                for item in [1, 2, 4, 8] {
                    round_trips(&*blosc(cname, shuffle, item), &[0, 1, 7, 100, 4096, 50_001]);
                }
            }
        }
        for clevel in 0..=9 {
            let stage =
                build(&Config::v3(&config_of(&format!(r#"{{"clevel": {clevel}}}"#))), ElementType::native(DataType::Int32)).unwrap().stage;
            round_trips(&*stage, SIZES);
        }
    }

    #[test]
    fn configurations_of_old_and_other_writers_are_read() {
        let resolved = |json: &str, item| shuffle_of(&Config::v3(&config_of(json)), item).unwrap();
        assert_eq!((resolved(r#"{"shuffle": -1}"#, 1), resolved(r#"{"shuffle": -1}"#, 4)), (2, 1));
        assert_eq!((resolved(r#"{"shuffle": true}"#, 4), resolved(r#"{"shuffle": 2.0}"#, 4)), (1, 2));
        assert_eq!(shuffle_of(&Config::new(&config_of(r#"{"shuffle": "0"}"#), Style::V2), 4).unwrap(), 0);
        assert_eq!((resolved(r#"{"shuffle": null}"#, 4), resolved(r#"{"shuffle": "bitshuffle"}"#, 4)), (1, 2));
        for json in [
            "{}",
            r#"{"typesize": null, "nthreads": 4}"#,
            r#"{"cname": "snappy"}"#,
            r#"{"typesize": 1000}"#,
            r#"{"typesize": 0}"#,
            r#"{"typesize": 0, "shuffle": "noshuffle"}"#,
            r#"{"typesize": -1, "shuffle": "noshuffle"}"#,
        ] {
            assert!(build(&Config::v3(&config_of(json)), ElementType::native(DataType::Int32)).is_ok(), "{json}");
        }
        for (json, field) in [
            (r#"{"cname": "lzma"}"#, "configuration.cname"),
            (r#"{"clevel": 10}"#, "configuration.clevel"),
            (r#"{"shuffle": 3}"#, "configuration.shuffle"),
            (r#"{"shuffle": "both"}"#, "configuration.shuffle"),
            (r#"{"typesize": -1}"#, "configuration.typesize"),
            (r#"{"blocksize": -1}"#, "configuration.blocksize"),
        ] {
            assert_eq!(
                build(&Config::v3(&config_of(json)), ElementType::native(DataType::Int32)).err().unwrap().field(),
                Some(field),
                "{json}"
            );
        }
    }

    #[test]
    fn damage_is_an_error() {
        for stage in [blosc("lz4", 1, 4), blosc("zstd", 2, 8), blosc("zlib", 0, 1), blosc("blosclz", 1, 2)] {
            refuses_damage(&*stage);
        }
    }

    #[test]
    fn more_bytes_than_a_frame_holds_are_refused_before_any_is_read() {
        // Pages that nobody touches take no memory.
        let most = vec![0u8; blosc::BLOSC_MAX_BUFFERSIZE as usize + 1];
        let e = blosc("lz4", 1, 1).encode(&most, &mut Vec::new()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Limit, "{e}");
        assert!(e.message().contains("2147483632") && e.message().contains("2147483631"), "{e}");
    }

    #[test]
    fn lying_headers_are_refused() {
        let stage = blosc("lz4", 1, 4);
        let mut good = Vec::new();
        stage.encode(&sample(20_000), &mut good).unwrap();
        let edits: &[(&str, usize, &[u8], ErrorKind)] = &[
            ("version", 0, &[3], ErrorKind::Chunk),
            ("reserved flag", 2, &[0x29], ErrorKind::Chunk),
            ("snappy", 2, &[0x41], ErrorKind::Chunk),
            ("unknown compressor", 2, &[0xe1], ErrorKind::Chunk),
            ("item size 0", 3, &[0], ErrorKind::Chunk),
            ("negative size", 4, &[0, 0, 0, 0xff], ErrorKind::Chunk),
            ("block size 0", 8, &[0, 0, 0, 0], ErrorKind::Chunk),
            ("negative block size", 8, &[0, 0, 0, 0xff], ErrorKind::Chunk),
            ("tiny blocks", 8, &[1, 0, 0, 0], ErrorKind::Chunk),
            ("longer than it is", 12, &[0xff, 0xff, 0, 0], ErrorKind::Truncated),
            ("shorter than it is", 12, &[20, 0, 0, 0], ErrorKind::Chunk),
            ("block in the starts", 16, &[16, 0, 0, 0], ErrorKind::Chunk),
            ("block outside", 16, &[0xff, 0xff, 0xff, 0x7f], ErrorKind::Chunk),
        ];
        for (what, at, bytes, kind) in edits {
            let mut bad = good.clone();
            bad[*at..at + bytes.len()].copy_from_slice(bytes);
            let e = stage.decode(&bad, Dest::Exact(&mut vec![0; 20_000])).unwrap_err();
            assert_eq!(e.kind(), *kind, "{what}: {e}");
            assert!(*at != 16 || e.message().contains("lies outside"), "{what}: {e}");
            let part = stage.decode_range(&bad, 20_000, 0, &mut [0; 8]);
            assert!(part.is_none_or(|done| done.is_err()), "{what}");
        }
    }

    #[test]
    fn parts_decode_only_their_blocks() {
        for stage in [blosc("lz4", 1, 4), blosc("zstd", 2, 8), blosc("zlib", 0, 1)] {
            let n = 1 << 18;
            assert_eq!(ranges_agree(&*stage, n, &[(0, 8), (n - 8, 8), (n / 2, 4096), (4088, 16), (8, n / 4)]), 5);
            assert_eq!(ranges_agree(&*stage, n, &[(0, n), (8, n / 2 + 8192)]), 0);
        }
        assert_eq!(ranges_agree(&*blosc("lz4", 1, 8), 1 << 18, &[(4, 8), (8, 4), (4095, 8190)]), 3);
        assert_eq!(
            ranges_agree(
                &*build(&Config::v3(&config_of(r#"{"clevel": 0}"#)), ElementType::native(DataType::Int64)).unwrap().stage,
                1000,
                &[(3, 500), (0, 1000)]
            ),
            2
        );
    }

    #[test]
    fn a_part_of_a_block_for_which_there_is_no_memory_is_an_error() {
        // More than any system has.
        let bytes = isize::MAX as usize;
        let header = Header { flags: NOT_SPLIT, typesize: 1, nbytes: bytes, blocksize: bytes };
        assert_eq!(header.decode(&[], 8, &mut [0; 4]).unwrap_err().kind(), ErrorKind::NoMemory);
    }

    /// A frame as the C library makes it, with snappy inside.
    fn snappy_frame(data: &[u8], typesize: usize, blocksize: usize, flags: u8) -> Vec<u8> {
        let blocks: Vec<&[u8]> = data.chunks(blocksize).collect();
        let (mut starts, mut body) = (Vec::new(), Vec::new());
        for block in &blocks {
            starts.extend(((HEADER + 4 * blocks.len() + body.len()) as u32).to_le_bytes());
            let count = block.len() / typesize;
            let mut shuffled = block.to_vec();
            if flags & BYTES_SHUFFLED != 0 {
                for (i, item) in block.chunks_exact(typesize).enumerate() {
                    item.iter().enumerate().for_each(|(b, byte)| shuffled[b * count + i] = *byte);
                }
            } else if flags & BITS_SHUFFLED != 0 && count.is_multiple_of(8) {
                shuffled[..count * typesize].fill(0);
                for i in 0..count {
                    for bit in 0..typesize * 8 {
                        let value = block[i * typesize + bit / 8] >> (bit % 8) & 1;
                        shuffled[bit * (count / 8) + i / 8] |= value << (i % 8);
                    }
                }
            }
            let split = flags & NOT_SPLIT == 0 && typesize <= 16 && blocksize / typesize >= 128 && block.len() == blocksize;
            for part in shuffled.chunks_exact(if split { block.len() / typesize } else { block.len() }) {
                let packed = snap::raw::Encoder::new().compress_vec(part).unwrap();
                let stored = if packed.len() < part.len() { &packed[..] } else { part };
                body.extend((stored.len() as u32).to_le_bytes());
                body.extend(stored);
            }
        }
        let mut frame = vec![2, 1, flags | SNAPPY << 5, typesize as u8];
        for n in [data.len(), blocksize, HEADER + starts.len() + body.len()] {
            frame.extend((n as u32).to_le_bytes());
        }
        frame.extend(starts);
        frame.extend(body);
        frame
    }

    #[test]
    fn snappy_is_read_but_not_written() {
        let stage = build(&Config::v3(&config_of(r#"{"cname": "snappy"}"#)), BYTES).unwrap().stage;
        let e = stage.encode(&[1, 2, 3], &mut Vec::new()).unwrap_err();
        assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("snappy"));
        for flags in [0, BYTES_SHUFFLED, BITS_SHUFFLED, NOT_SPLIT, NOT_SPLIT | BYTES_SHUFFLED, NOT_SPLIT | BITS_SHUFFLED] {
            for typesize in [1, 2, 3, 4, 8, 17] {
                for (n, blocksize) in [(1, 1), (100, 100), (5000, 17 * 64), (70_001, 17 * 1024)] {
                    let blocksize = if blocksize >= typesize { blocksize / typesize * typesize } else { blocksize };
                    let (data, mut out) = (sample(n), vec![0; n]);
                    let frame = snappy_frame(&data, typesize, blocksize, flags);
                    stage.decode(&frame, Dest::Exact(&mut out)).unwrap();
                    assert!(out == data, "flags {flags} type {typesize} {n}");
                }
            }
        }
    }

    /// A frame of the C library with lz4 inside, each part packed by snappy instead.
    fn repacked(frame: &[u8]) -> Vec<u8> {
        let header = Header::read(frame).unwrap();
        let word = |at: usize| u32::from_le_bytes(frame[at..at + 4].try_into().unwrap()) as usize;
        let blocks = header.nbytes.div_ceil(header.blocksize);
        let (mut starts, mut body) = (Vec::new(), Vec::new());
        for i in 0..blocks {
            starts.extend(((HEADER + 4 * blocks + body.len()) as u32).to_le_bytes());
            let whole = header.blocksize.min(header.nbytes - i * header.blocksize);
            let split = header.flags & NOT_SPLIT == 0 && header.typesize <= 16 && header.blocksize / header.typesize >= 128;
            let parts = if split && whole == header.blocksize { header.typesize } else { 1 };
            let (mut at, n) = (word(HEADER + 4 * i), whole / parts);
            for _ in 0..parts {
                let (size, from) = (word(at), at + 4);
                at = from + size;
                let mut part = frame[from..at].to_vec();
                if size != n {
                    part = vec![0; n];
                    assert_eq!(lz4::decode_block(&frame[from..at], &mut part).unwrap(), n);
                }
                let packed = snap::raw::Encoder::new().compress_vec(&part).unwrap();
                let stored = if packed.len() < n { packed } else { part };
                body.extend((stored.len() as u32).to_le_bytes());
                body.extend(stored);
            }
        }
        let mut out = frame[..HEADER].to_vec();
        out[2] = header.flags & 0x1f | SNAPPY << 5;
        out[12..16].copy_from_slice(&((HEADER + starts.len() + body.len()) as u32).to_le_bytes());
        out.extend(starts);
        out.extend(body);
        out
    }

    #[test]
    fn the_shuffles_and_splits_are_those_of_the_library() {
        let mut shuffled = 0;
        for shuffle in [0, 1, 2] {
            for (t, blocksize) in [
                (DataType::UInt8, 0),
                (DataType::Int16, 4096),
                (DataType::Float64, 0),
                (DataType::Complex128, 1024),
                (DataType::Int32, 200),
            ] {
                let json = format!(r#"{{"cname": "lz4", "shuffle": {shuffle}, "blocksize": {blocksize}}}"#);
                let data: Vec<u8> = (0..10_003 * 4u32).flat_map(|i| (i / 3).to_le_bytes()).take(t.size() * 10_003).collect();
                let (mut frame, mut out) = (Vec::new(), vec![0; data.len()]);
                let stage = build(&Config::v3(&config_of(&json)), ElementType::native(t)).unwrap().stage;
                stage.encode(&data, &mut frame).unwrap();
                let flags = Header::read(&frame).unwrap().flags;
                if flags & COPIED != 0 {
                    continue;
                }
                shuffled += usize::from(flags & (BYTES_SHUFFLED | BITS_SHUFFLED) != 0);
                stage.decode(&repacked(&frame), Dest::Exact(&mut out)).unwrap();
                assert!(out == data, "{t:?} {shuffle}");
            }
        }
        assert!(shuffled >= 9);
    }

    #[test]
    fn damaged_snappy_is_an_error() {
        let stage = build(&Config::v3(&config_of(r#"{"cname": "snappy"}"#)), BYTES).unwrap().stage;
        let good = snappy_frame(&sample(3000), 4, 1024, BYTES_SHUFFLED);
        for cut in 0..good.len() {
            assert!(stage.decode(&good[..cut], Dest::Exact(&mut [0; 3000])).is_err());
            let mut short = good[..cut].to_vec();
            if cut >= HEADER {
                short[12..16].copy_from_slice(&(cut as u32).to_le_bytes());
                assert!(stage.decode(&short, Dest::Exact(&mut [0; 3000])).is_err(), "cut at {cut}");
            }
        }
        for at in 0..good.len() {
            for bit in [1u8, 0x10, 0x80] {
                let mut bad = good.clone();
                bad[at] ^= bit;
                let _ = stage.decode(&bad, Dest::Exact(&mut [0; 3000]));
            }
        }
    }
}
