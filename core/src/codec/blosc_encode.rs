//! Blosc frames are written here, as the C library writes them byte for byte (zstd's streams as small), in memory that is asked for and may be refused: its own
//! `blosc_compress_ctx` does not look whether `malloc` gave any.
//!
//! Of the library only the routines that allocate nothing are used: its shuffles, and the compressor that only `blosc` has.

use super::zstd;
use crate::error::{Result, bail, err};
use crate::limits;
use crate::per_thread::{self, PerThread};
use std::ffi::{c_int, c_ulong, c_void};
use std::mem::MaybeUninit;

unsafe extern "C" {
    fn blosc_internal_shuffle(item: usize, size: usize, src: *const u8, dst: *mut u8);
    fn blosc_internal_bitshuffle(item: usize, size: usize, src: *const u8, dst: *mut u8, room: *mut u8) -> c_int;
    fn blosclz_compress(level: c_int, src: *const c_void, len: c_int, dst: *mut c_void, room: c_int, split: c_int) -> c_int;
    fn compress2(dst: *mut u8, room: *mut c_ulong, src: *const u8, len: c_ulong, level: c_int) -> c_int;
    fn LZ4_sizeofStateHC() -> c_int;
    fn LZ4_compress_HC_extStateHC(state: *mut c_void, src: *const u8, dst: *mut u8, len: c_int, room: c_int, level: c_int) -> c_int;
}

/// Bytes of the header.
pub(super) const HEADER: usize = 16;
/// The flag of a plain copy.
pub(super) const COPIED: u8 = 0x02;
/// The numbers of the inner compressors in the header's flags.
pub(super) const BLOSCLZ: u8 = 0;
pub(super) const LZ4: u8 = 1;
pub(super) const ZLIB: u8 = 3;
pub(super) const ZSTD: u8 = 4;
/// The flag that the bytes of items are shuffled in each block.
pub(super) const BYTES_SHUFFLED: u8 = 0x01;
/// The flag that their bits are.
pub(super) const BITS_SHUFFLED: u8 = 0x04;
/// The flag that blocks are not split into one stream for each byte of an item.
pub(super) const NOT_SPLIT: u8 = 0x10;
/// zlib's answers to `compress2`.
const Z_OK: c_int = 0;
const Z_MEM_ERROR: c_int = -4;
/// Less than this is copied, and no block is smaller.
const SMALLEST: usize = 128;
/// Items of more bytes are not split.
const MOST_PARTS: usize = 16;
/// The largest block that can be asked for: of three, and of items of 255 bytes, the size is less than 2^31.
const LARGEST_BLOCK: usize = (i32::MAX as usize - 255 * 4) / 3;
/// Rooms of more bytes than this are given back.
const KEPT: usize = 4 << 20;

/// What compresses the parts of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockCompressor {
    BloscLz,
    Lz4,
    Lz4Hc,
    Zlib,
    Zstd,
}

impl BlockCompressor {
    /// The number of its format in the header's flags.
    fn format(self) -> u8 {
        match self {
            BlockCompressor::BloscLz => BLOSCLZ,
            BlockCompressor::Lz4 | BlockCompressor::Lz4Hc => LZ4,
            BlockCompressor::Zlib => ZLIB,
            BlockCompressor::Zstd => ZSTD,
        }
    }
}

/// How frames are written.
#[derive(Debug)]
pub(super) struct Encoder {
    pub(super) compressor: BlockCompressor,
    /// From 0, a plain copy, to 9.
    pub(super) level: c_int,
    /// Of nothing (0), the bytes (1) or the bits (2) of items.
    pub(super) shuffle: c_int,
    pub(super) typesize: usize,
    /// 0: as seems good.
    pub(super) blocksize: usize,
}

/// A shuffled block, what the shuffle of bits needs besides, and the state of lz4hc.
#[derive(Default)]
struct Rooms {
    shuffled: Vec<u8>,
    bits: Vec<u8>,
    state: Vec<u64>,
}

thread_local! {
    static ROOMS: PerThread<Rooms> = const { PerThread::new(Rooms { shuffled: Vec::new(), bits: Vec::new(), state: Vec::new() }) };
}

impl Encoder {
    /// Writes `src`, of fewer than 2^31 - 16 bytes, as one frame.
    pub(super) fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        dst.clear();
        limits::reserve(dst, src.len() + HEADER)?;
        let block = self.block_size(src.len());
        let split = self.is_split(block);
        self.write_header(src.len(), block, split, dst);
        let plain = self.level == 0 || src.len() < SMALLEST;
        let fits = !plain
            && per_thread::with(&ROOMS, |rooms| {
                let done = self.write_blocks(src, block, split, rooms, dst);
                if rooms.shuffled.capacity() + rooms.bits.capacity() > KEPT {
                    *rooms = Rooms::default();
                }
                done
            })?;
        if !fits {
            dst.truncate(HEADER);
            dst[2] |= COPIED;
            dst.extend_from_slice(src);
        }
        let size = dst.len() as u32;
        dst[12..HEADER].copy_from_slice(&size.to_le_bytes());
        Ok(())
    }

    fn write_header(&self, size: usize, block: usize, split: bool, dst: &mut Vec<u8>) {
        let shuffled = [0, BYTES_SHUFFLED, BITS_SHUFFLED][self.shuffle.clamp(0, 2) as usize];
        let flags = self.compressor.format() << 5 | shuffled | if split { 0 } else { NOT_SPLIT };
        dst.extend_from_slice(&[2, 1, flags, self.typesize as u8]);
        dst.extend_from_slice(&(size as u32).to_le_bytes());
        dst.extend_from_slice(&(block as u32).to_le_bytes());
        dst.extend_from_slice(&[0; 4]);
    }

    /// The size of blocks: half of a first-level cache and more the higher the level, in whole items.
    fn block_size(&self, size: usize) -> usize {
        let item = self.typesize;
        if size < item {
            return 1;
        }
        let slow = matches!(self.compressor, BlockCompressor::Lz4Hc | BlockCompressor::Zlib | BlockCompressor::Zstd);
        let mut block = match self.blocksize {
            0 if size < 32 << 10 => size,
            0 => {
                let base = if slow { 64 << 10 } else { 32 << 10 };
                match self.level {
                    0 => base / 4,
                    1 => base / 2,
                    2 => base,
                    3 => base * 2,
                    4 | 5 => base * 4,
                    9 if slow => base * 16,
                    _ => base * 8,
                }
            }
            asked => asked.clamp(SMALLEST, LARGEST_BLOCK),
        };
        if self.level > 0 && self.is_split(block) {
            block = (block.min(256 << 10) * item).clamp(64 << 10, 1 << 20);
        }
        block = block.min(size);
        if block > item { block / item * item } else { block }
    }

    /// Whether whole blocks of that size are split into one stream for each byte of an item.
    fn is_split(&self, block: usize) -> bool {
        self.compressor != BlockCompressor::Zstd && self.typesize <= MOST_PARTS && block / self.typesize >= SMALLEST
    }

    /// Writes where each block begins, and the blocks; `false` where they take more than the bytes themselves.
    fn write_blocks(&self, src: &[u8], block: usize, split: bool, rooms: &mut Rooms, dst: &mut Vec<u8>) -> Result<bool> {
        let (most, starts) = (src.len() + HEADER, dst.len());
        let first = starts + 4 * src.len().div_ceil(block);
        if first > most {
            return Ok(false);
        }
        dst.resize(first, 0);
        for (i, bytes) in src.chunks(block).enumerate() {
            let at = dst.len() as u32;
            dst[starts + 4 * i..starts + 4 * i + 4].copy_from_slice(&at.to_le_bytes());
            let Rooms { shuffled, bits, state } = rooms;
            let bytes = self.shuffled(bytes, shuffled, bits)?;
            let parts = if split && bytes.len() == block { self.typesize } else { 1 };
            for part in bytes.chunks_exact(bytes.len() / parts) {
                if !self.write_part(part, split, most, state, dst)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// A block with the bytes or bits of its items gathered.
    fn shuffled<'a>(&self, bytes: &'a [u8], shuffled: &'a mut Vec<u8>, bits: &mut Vec<u8>) -> Result<&'a [u8]> {
        let (item, size) = (self.typesize, bytes.len());
        if self.shuffle == 1 && item > 1 {
            let room = limits::grow(shuffled, size)?;
            // SAFETY: both buffers are live, apart, and of that size.
            unsafe { blosc_internal_shuffle(item, size, bytes.as_ptr(), room.as_mut_ptr()) };
            return Ok(room);
        }
        if self.shuffle == 2 && size >= item {
            let (room, more) = (limits::grow(shuffled, size)?, limits::grow(bits, size + 4 * item)?);
            // SAFETY: the buffers are live, apart, and of at least that size.
            let done = unsafe { blosc_internal_bitshuffle(item, size, bytes.as_ptr(), room.as_mut_ptr(), more.as_mut_ptr()) };
            if done < 0 {
                bail!(Internal, "the shuffle of bits returned {done} for {size} bytes in items of {item}");
            }
            return Ok(room);
        }
        Ok(bytes)
    }

    /// Writes the size of a part and the part, plain if it does not become smaller; `false` where `most` bytes are not enough.
    fn write_part(&self, part: &[u8], split: bool, most: usize, state: &mut Vec<u64>, dst: &mut Vec<u8>) -> Result<bool> {
        let body = dst.len() + 4;
        let room = part.len().min(most.saturating_sub(body));
        if room == 0 {
            return Ok(false);
        }
        dst.extend_from_slice(&[0; 4]);
        let made = self.compress(part, split, state, &mut dst.spare_capacity_mut()[..room])?;
        if made == 0 || made == part.len() {
            if body + part.len() > most {
                return Ok(false);
            }
            dst.extend_from_slice(part);
        } else {
            // SAFETY: the compressor has written that many bytes behind the length, into room that it was given.
            unsafe { dst.set_len(body + made) };
        }
        let size = (dst.len() - body) as u32;
        dst[body - 4..body].copy_from_slice(&size.to_le_bytes());
        Ok(true)
    }

    /// Compresses to the front of `room`: the number of bytes, 0 where they do not fit.
    fn compress(&self, part: &[u8], split: bool, state: &mut Vec<u64>, room: &mut [MaybeUninit<u8>]) -> Result<usize> {
        let (from, to) = (part.as_ptr(), room.as_mut_ptr().cast::<u8>());
        // Both are at most as long as a frame, whose sizes are below 2^31.
        let (len, most) = (part.len() as c_int, room.len() as c_int);
        let made = match self.compressor {
            // SAFETY: here and below, both buffers are live, apart, and of the stated sizes.
            BlockCompressor::BloscLz => unsafe { blosclz_compress(self.level, from.cast(), len, to.cast(), most, split.into()) },
            // SAFETY: as above.
            BlockCompressor::Lz4 => unsafe { lz4_sys::LZ4_compress_fast(from.cast(), to.cast(), len, most, 10 - self.level) },
            BlockCompressor::Lz4Hc => {
                // SAFETY: no preconditions.
                let words = unsafe { LZ4_sizeofStateHC() }.max(0) as usize / 8 + 1;
                if state.len() < words {
                    state.try_reserve_exact(words).map_err(|_| err!(NoMemory, "no memory for the state of lz4hc"))?;
                    state.resize(words, 0);
                }
                // SAFETY: as above; the state is of the size that is asked for and aligned to 8 bytes.
                unsafe { LZ4_compress_HC_extStateHC(state.as_mut_ptr().cast(), from, to, len, most, self.level) }
            }
            BlockCompressor::Zlib => {
                let mut size = room.len() as c_ulong;
                // SAFETY: as above; `size` holds the room's.
                match unsafe { compress2(to, &mut size, from, part.len() as c_ulong, self.level) } {
                    Z_OK => size as c_int,
                    Z_MEM_ERROR => bail!(NoMemory, "no memory for a zlib stream"),
                    _ => 0,
                }
            }
            BlockCompressor::Zstd => {
                let level = match self.level {
                    9 => zstd_safe::max_c_level(),
                    8 => zstd_safe::max_c_level() - 2,
                    level => level * 2 - 1,
                };
                return zstd::encode_frame(part, room, level);
            }
        };
        match usize::try_from(made) {
            Ok(n) if n <= room.len() => Ok(n),
            _ => bail!(Internal, "{:?} returned {made} for {len} bytes", self.compressor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::suite::Random;

    /// What the C library makes of it.
    fn by_the_library(encoder: &Encoder, name: &std::ffi::CStr, src: &[u8]) -> Vec<u8> {
        let mut out = vec![0; src.len() + HEADER];
        let (level, shuffle, item, block) = (encoder.level, encoder.shuffle, encoder.typesize, encoder.blocksize);
        let (from, to) = (src.as_ptr().cast(), out.as_mut_ptr().cast());
        // SAFETY: both buffers are live, apart, and of the stated sizes; the name is a C string.
        let made =
            unsafe { ::blosc::blosc_compress_ctx(level, shuffle, item, src.len(), from, to, src.len() + HEADER, name.as_ptr(), block, 1) };
        out.truncate(usize::try_from(made).unwrap());
        out
    }

    /// What the C library decodes.
    fn decoded(frame: &[u8], size: usize) -> Vec<u8> {
        let mut out = vec![0; size];
        // SAFETY: the frame has the length that its header says, and the buffer is of the stated size.
        let made = unsafe { ::blosc::blosc_decompress_ctx(frame.as_ptr().cast(), out.as_mut_ptr().cast(), size, 1) };
        assert_eq!(made, size as c_int);
        out
    }

    /// Whether a frame is the library's; with zstd, whose contexts remember what they did before, one that it decodes and that is as small.
    fn is_as_good(encoder: &Encoder, name: &std::ffi::CStr, src: &[u8], ours: &[u8]) -> bool {
        let theirs = by_the_library(encoder, name, src);
        match encoder.compressor {
            BlockCompressor::Zstd => decoded(ours, src.len()) == src && ours.len() <= theirs.len() + theirs.len() / 50 + 8,
            _ => ours == theirs,
        }
    }

    /// Numbers that compress well, then less and less, then not at all.
    fn sample(size: usize) -> Vec<u8> {
        let mut random = Random(1);
        (0..size.div_ceil(4))
            .flat_map(|i| ((i as u32 / 5) ^ (random.number() as u32 & (i as u32 >> 12))).to_le_bytes())
            .take(size)
            .collect()
    }

    #[test]
    fn frames_are_those_of_the_library_byte_for_byte() {
        let compressors = [
            (BlockCompressor::BloscLz, c"blosclz"),
            (BlockCompressor::Lz4, c"lz4"),
            (BlockCompressor::Lz4Hc, c"lz4hc"),
            (BlockCompressor::Zlib, c"zlib"),
            (BlockCompressor::Zstd, c"zstd"),
        ];
        let (mut ours, mut smaller) = (Vec::new(), 0);
        for (compressor, name) in compressors {
            for (i, size) in [0, 1, 7, 127, 128, 1000, 4099, 70_001, 150_000].into_iter().enumerate() {
                let data = sample(size);
                for (j, typesize) in [1, 2, 3, 4, 8, 16, 17, 200].into_iter().enumerate() {
                    for shuffle in 0..3 {
                        // Not every level with every size: those from 7 on are slow where blocks are large.
                        let level = ((i + j + shuffle as usize) % if size > 5000 { 7 } else { 10 }) as c_int;
                        let apart = if size > 5000 { crate::settings::apart(3) } else { 1 };
                        for blocksize in [0, 1, 1000, 65_536].into_iter().skip((i + j + shuffle as usize) % apart).step_by(apart) {
                            let encoder = Encoder { compressor, level, shuffle, typesize, blocksize };
                            encoder.encode(&data, &mut ours).unwrap();
                            smaller += usize::from(ours.len() < size);
                            let same = is_as_good(&encoder, name, &data, &ours);
                            assert!(same, "{encoder:?}, {size} bytes");
                        }
                    }
                }
            }
        }
        assert!(smaller > 1000, "{smaller} frames are smaller than their bytes");
        let data = sample(1 << 20);
        for level in 0..10 {
            for (compressor, name) in [(BlockCompressor::Lz4, c"lz4"), (BlockCompressor::BloscLz, c"blosclz")] {
                let encoder = Encoder { compressor, level, shuffle: 1, typesize: 8, blocksize: 0 };
                encoder.encode(&data, &mut ours).unwrap();
                assert!(is_as_good(&encoder, name, &data, &ours), "{encoder:?}");
            }
        }
    }
}
