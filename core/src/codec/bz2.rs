//! `bz2`: bzip2 streams, one or more.
//!
//! Specification: numcodecs `BZ2` (v2 id `bz2`; v3 name `numcodecs.bz2`).
//! Example: `{"name": "numcodecs.bz2", "configuration": {"level": 1}}`

use super::build::Built;
use super::config::Config;
use super::stage::{Dest, Stage};
use super::streams::{Step, decode_growing, decode_stream, encode_stream};
use crate::dtype::ElementType;
use crate::error::{Error, Result, bail, err};
use bzip2_sys::{BZ_FINISH, BZ_FINISH_OK, BZ_MEM_ERROR, BZ_OK, BZ_RUN_OK, BZ_STREAM_END, bz_stream};
use std::ffi::{c_char, c_int, c_uint};

pub(super) struct Bz2 {
    level: u32,
}

impl Bz2 {
    /// Of one that only decodes the level does not matter.
    pub const DECODER: Bz2 = Bz2 { level: 1 };
}

/// Reads `level`, 1 to 9 (the size of blocks in units of 100,000 bytes).
pub(super) fn build(config: &Config<'_>, _item: ElementType) -> Result<Built> {
    Ok(Built::bytes(Bz2 { level: config.int("level", 1, 9, 1)? as u32 }))
}

/// A function that ends a stream, as the library's are called on this system.
#[cfg(not(windows))]
type End = unsafe extern "C" fn(*mut bz_stream) -> c_int;
#[cfg(windows)]
type End = unsafe extern "system" fn(*mut bz_stream) -> c_int;

/// A stream of the library, and the function that ends it.
///
/// The stream is boxed, because the library's state points back at it.
struct Stream {
    raw: Box<bz_stream>,
    end: End,
}

impl Stream {
    fn encoder(level: u32) -> Result<Stream> {
        // SAFETY: `begin` gets a stream of zeros.
        Stream::new(|raw| unsafe { bzip2_sys::BZ2_bzCompressInit(raw, level as c_int, 0, 0) }, bzip2_sys::BZ2_bzCompressEnd)
    }

    fn decoder() -> Result<Stream> {
        // SAFETY: as above.
        Stream::new(|raw| unsafe { bzip2_sys::BZ2_bzDecompressInit(raw, 0, 0) }, bzip2_sys::BZ2_bzDecompressEnd)
    }

    fn new(begin: impl FnOnce(*mut bz_stream) -> c_int, end: End) -> Result<Stream> {
        // SAFETY: zeros are a valid stream before it is begun, with the library's own allocation.
        let mut raw: Box<bz_stream> = Box::new(unsafe { std::mem::zeroed() });
        match begin(&raw mut *raw) {
            BZ_OK => Ok(Stream { raw, end }),
            failed => Err(failure(failed)),
        }
    }

    /// Lets `run` take from `src` and write to `out`; at most 4 GiB of each at once.
    fn step(&mut self, src: &[u8], out: &mut [u8], run: impl FnOnce(*mut bz_stream) -> c_int) -> Result<Step> {
        let most = |n: usize| c_uint::try_from(n).unwrap_or(c_uint::MAX);
        let (len, room) = (most(src.len()), most(out.len()));
        // The library only reads the source, whatever the pointer's type says.
        (self.raw.next_in, self.raw.avail_in) = (src.as_ptr().cast_mut().cast::<c_char>(), len);
        (self.raw.next_out, self.raw.avail_out) = (out.as_mut_ptr().cast::<c_char>(), room);
        let status = run(&raw mut *self.raw);
        let (used, made) = ((len - self.raw.avail_in) as usize, (room - self.raw.avail_out) as usize);
        match status {
            BZ_STREAM_END => Ok(Step { used, made, end: true }),
            BZ_OK | BZ_RUN_OK | BZ_FINISH_OK => Ok(Step { used, made, end: false }),
            failed => Err(failure(failed)),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream was begun, and is ended once by the function that belongs to it.
        unsafe { (self.end)(&raw mut *self.raw) };
    }
}

/// The error of a status: no memory, or damage.
fn failure(status: c_int) -> Error {
    match status {
        BZ_MEM_ERROR => err!(NoMemory, "no memory for a bzip2 stream"),
        other => err!(Chunk, "the bzip2 stream is damaged (status {other})"),
    }
}

/// Decodes every stream; the number of decoded bytes, or `None` where the room is too small.
fn streams(mut src: &[u8], out: &mut [u8]) -> Result<Option<usize>> {
    let mut filled = 0;
    loop {
        if filled > 0 && !src.starts_with(b"BZh") {
            bail!(Chunk, "found {} bytes after the end of the bzip2 stream", src.len());
        }
        let mut stream = Stream::decoder()?;
        let done = decode_stream("bzip2", src, out.get_mut(filled..).unwrap_or_default(), |src, out| {
            // SAFETY: the stream is one of a decoder; its pointers and lengths are those of live slices.
            stream.step(src, out, |raw| unsafe { bzip2_sys::BZ2_bzDecompress(raw) })
        })?;
        let Some((used, made)) = done else { return Ok(None) };
        filled += made;
        src = src.get(used..).unwrap_or_default();
        if src.is_empty() {
            return Ok(Some(filled));
        }
        if made == 0 && !src.starts_with(b"BZh") {
            bail!(Chunk, "found {} bytes after the end of the bzip2 stream", src.len());
        }
    }
}

impl Stage for Bz2 {
    fn name(&self) -> &'static str {
        "bz2"
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        let mut stream = Stream::encoder(self.level)?;
        encode_stream(src, dst, src.len() / 100 + 600, |rest, out| {
            // The end is announced once all that is left fits into one step.
            let action = if c_uint::try_from(rest.len()).is_ok() { BZ_FINISH } else { bzip2_sys::BZ_RUN };
            // SAFETY: the stream is one of an encoder; its pointers and lengths are those of live slices.
            stream.step(rest, out, |raw| unsafe { bzip2_sys::BZ2_bzCompress(raw, action) })
        })
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        decode_growing(dst, src.len().saturating_mul(4), &mut |out| streams(src, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;

    #[test]
    fn every_size_and_level_round_trips() {
        round_trips(&*doc_stage(include_str!("bz2.rs")), SIZES);
        for level in 1..=9 {
            round_trips(&*stage_v2("bz2", &format!(r#"{{"level": {level}}}"#), DataType::UInt8), &[0, 1, 4096]);
        }
        assert_eq!(build(&Config::v3(&config_of(r#"{"level": 0}"#)), BYTES).err().unwrap().field(), Some("configuration.level"));
    }

    #[test]
    fn streams_are_concatenated_and_other_bytes_after_them_refused() {
        let (stage, data) = (Bz2 { level: 9 }, sample(1000));
        let mut bytes = Vec::new();
        for part in [&data[..300], &[], &data[300..]] {
            let mut out = Vec::new();
            stage.encode(part, &mut out).unwrap();
            bytes.extend(out);
        }
        let mut out = vec![0; 1000];
        stage.decode(&bytes, Dest::Exact(&mut out)).unwrap();
        assert_eq!(out, data);
        bytes.push(0);
        let e = stage.decode(&bytes, Dest::Exact(&mut out)).unwrap_err();
        assert_eq!(e.message(), "found 1 bytes after the end of the bzip2 stream");
    }

    #[test]
    fn damage_is_an_error() {
        refuses_damage(&Bz2 { level: 1 });
    }
}
