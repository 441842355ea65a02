//! `bz2`: bzip2 streams, one or more.
//!
//! Specification: numcodecs `BZ2` (v2 id `bz2`; v3 name `numcodecs.bz2`).
//! Example: `{"name": "numcodecs.bz2", "configuration": {"level": 1}}`

use super::build::Built;
use super::config::Config;
use super::stage::{Dest, Size, Stage};
use super::streams::{Step, compressed_size, decode_growing, decode_stream, encode_stream};
use crate::dtype::ElementType;
use crate::error::{Error, Result, bail, err};
use crate::limits::grow;
use bzip2::{Action, Compress, Compression, Decompress, Status};

struct Bz2 {
    level: u32,
}

/// Reads `level`, 1 to 9 (blocks of so many 100,000 bytes).
pub(super) fn build(config: &Config<'_>, _item: ElementType) -> Result<Built> {
    Ok(Built::bytes(Bz2 { level: config.int("level", 1, 9, 1)? as u32 }))
}

fn damaged(e: bzip2::Error) -> Error {
    err!(Chunk, "the bzip2 stream is damaged ({e})")
}

/// Decodes every stream; the number of decoded bytes, or `None` where the room is too small.
fn streams(mut src: &[u8], out: &mut [u8]) -> Result<Option<usize>> {
    let mut filled = 0;
    loop {
        if filled > 0 && !src.starts_with(b"BZh") {
            bail!(Chunk, "found {} bytes after the end of the bzip2 stream", src.len());
        }
        let mut stream = Decompress::new(false);
        let done = decode_stream("bzip2", src, out.get_mut(filled..).unwrap_or_default(), |src, out| {
            let (used, made) = (stream.total_in(), stream.total_out());
            let end = match stream.decompress(src, out).map_err(damaged)? {
                Status::StreamEnd => true,
                Status::MemNeeded => bail!(NoMemory, "no memory for a bzip2 decoder"),
                _ => false,
            };
            Ok(Step { used: (stream.total_in() - used) as usize, made: (stream.total_out() - made) as usize, end })
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

impl Bz2 {
    /// By the C library, whose encoder is faster than that in Rust (1.4 times).
    fn encode_at_once(&self, (src, len): (&[u8], u32), (dst, room): (&mut Vec<u8>, u32)) -> Result<()> {
        let out = grow(dst, room as usize)?;
        // SAFETY: all zero is a valid stream before it is begun.
        let mut stream: bzip2_sys::bz_stream = unsafe { std::mem::zeroed() };
        // SAFETY: the stream is begun, used and ended here; `out` has the room and `src` the length that are said, and the library
        // only reads `src`, whatever the pointer's type says.
        let status = unsafe {
            match bzip2_sys::BZ2_bzCompressInit(&raw mut stream, self.level as i32, 0, 0) {
                bzip2_sys::BZ_OK => {
                    (stream.next_in, stream.avail_in) = (src.as_ptr().cast_mut().cast(), len);
                    (stream.next_out, stream.avail_out) = (out.as_mut_ptr().cast(), room);
                    let status = bzip2_sys::BZ2_bzCompress(&raw mut stream, bzip2_sys::BZ_FINISH);
                    bzip2_sys::BZ2_bzCompressEnd(&raw mut stream);
                    status
                }
                failed => failed,
            }
        };
        match status {
            bzip2_sys::BZ_STREAM_END => {
                dst.truncate((room - stream.avail_out) as usize);
                Ok(())
            }
            bzip2_sys::BZ_MEM_ERROR => bail!(NoMemory, "no memory for a bzip2 encoder"),
            other => bail!(Internal, "bzip2 cannot encode (status {other})"),
        }
    }
}

impl Stage for Bz2 {
    fn name(&self) -> &'static str {
        "bz2"
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        compressed_size(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        if let (Ok(len), Ok(room)) = (u32::try_from(src.len()), u32::try_from(src.len() + src.len() / 100 + 600)) {
            return self.encode_at_once((src, len), (dst, room));
        }
        let mut stream = Compress::new(Compression::new(self.level), 0);
        encode_stream(src, dst, src.len() / 100 + 600, |src, out| {
            let (used, made) = (stream.total_in(), stream.total_out());
            let status = stream.compress(src, out, Action::Finish).map_err(|e| err!(Internal, "bzip2 cannot encode ({e})"))?;
            let end = matches!(status, Status::StreamEnd);
            Ok(Step { used: (stream.total_in() - used) as usize, made: (stream.total_out() - made) as usize, end })
        })
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        decode_growing(dst, src.len().saturating_mul(4), |out| streams(src, out))
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
