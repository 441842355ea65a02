//! `gzip`: members of RFC 1952.
//!
//! Specification: v3 core codecs, "gzip"; numcodecs `GZip` (v2 id `gzip`; v3 names `gzip`, `numcodecs.gzip`).
//! Example: `{"name": "gzip", "configuration": {"level": 5}}`
//!
//! All members are decoded, and zeros after the last one are accepted; anything else there is an error.

use super::build::Built;
use super::config::Config;
use super::deflate::{Wrapper, compress, decode, inflate, level};
use super::stage::{Dest, Stage};
use crate::dtype::ElementType;
use crate::error::{Result, bail};
use libdeflater::CompressionLvl;

struct Gzip {
    level: CompressionLvl,
}

/// Reads `level`.
pub(super) fn build(config: &Config<'_>, _item: ElementType) -> Result<Built> {
    Ok(Built::bytes(Gzip { level: level(config)? }))
}

impl Stage for Gzip {
    fn name(&self) -> &'static str {
        "gzip"
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        compress(Wrapper::Gzip, self.level, src, dst)
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        let stated = src.last_chunk::<4>().map_or(0, |n| u32::from_le_bytes(*n) as usize);
        decode(Wrapper::Gzip, src, dst, stated.min(src.len().saturating_mul(MAX_RATIO)), &mut |out| members(src, out))
    }
}

/// No byte of deflate makes more bytes than this.
const MAX_RATIO: usize = 1032;

/// Decodes every member; the number of decoded bytes, or `None` where the room is too small.
fn members(mut src: &[u8], out: &mut [u8]) -> Result<Option<usize>> {
    let mut filled = 0;
    loop {
        let Some((used, made)) = inflate(Wrapper::Gzip, src, out.get_mut(filled..).unwrap_or_default())? else {
            return Ok(None);
        };
        filled += made;
        src = src.get(used..).unwrap_or_default();
        if src.iter().all(|&b| b == 0) {
            return Ok(Some(filled));
        }
        if !src.starts_with(&[0x1f, 0x8b]) {
            bail!(Chunk, "found {} bytes after the last gzip member that begin no other", src.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;
    use std::io::Write;

    fn gzip() -> Gzip {
        Gzip { level: CompressionLvl::new(1).unwrap() }
    }

    fn encoded(data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        gzip().encode(data, &mut out).unwrap();
        out
    }

    #[test]
    fn every_size_and_level_round_trips() {
        round_trips(&*doc_stage(include_str!("gzip.rs")), SIZES);
        for level in -1..=9 {
            let map = config_of(&format!(r#"{{"level": {level}}}"#));
            round_trips(&*build(&Config::v3(&map), BYTES).unwrap().stage, &[0, 1, 4096]);
        }
        assert!(build(&Config::v3(&config_of(r#"{"level": 10}"#)), BYTES).is_err());
        assert!(build(&Config::v3(&config_of("{}")), BYTES).is_ok());
    }

    #[test]
    fn damage_is_an_error() {
        refuses_damage(&gzip());
    }

    #[test]
    fn a_cut_stream_ends_early_at_every_level() {
        for level in [0, 1, 6, 9] {
            tells_cuts(&Gzip { level: CompressionLvl::new(level).unwrap() });
        }
        let e = gzip().decode(&encoded(&sample(4000))[..100], Dest::AtMost(&mut Vec::new(), 1 << 20)).unwrap_err();
        assert_eq!((e.kind(), e.message()), (ErrorKind::Truncated, "the gzip stream ends early (100 bytes)"));
    }

    #[test]
    fn members_are_concatenated_and_zeros_after_them_accepted() {
        let data = sample(1000);
        let mut bytes = encoded(&data[..300]);
        bytes.extend(encoded(&[]));
        bytes.extend(encoded(&data[300..]));
        bytes.extend([0; 50]);
        let mut out = vec![0; 1000];
        gzip().decode(&bytes, Dest::Exact(&mut out)).unwrap();
        assert_eq!(out, data);
        let mut out = Vec::new();
        gzip().decode(&bytes, Dest::AtMost(&mut out, 5000)).unwrap();
        assert_eq!(out, data);
        *bytes.last_mut().unwrap() = 1;
        assert!(gzip().decode(&bytes, Dest::Exact(&mut out)).is_err());
    }

    #[test]
    fn streams_of_another_library_are_read_and_ours_by_it() {
        let data = sample(100_000);
        let mut writer = flate2::GzBuilder::new().filename("name").mtime(7).write(Vec::new(), flate2::Compression::new(6));
        writer.write_all(&data).unwrap();
        let mut out = vec![0; data.len()];
        gzip().decode(&writer.finish().unwrap(), Dest::Exact(&mut out)).unwrap();
        assert!(out == data);
        let mut back = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&encoded(&data)[..]), &mut back).unwrap();
        assert!(back == data);
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let bytes = encoded(&vec![0; 10 << 20]);
        let mut out = Vec::new();
        assert!(gzip().decode(&bytes, Dest::AtMost(&mut out, 10_000)).is_err());
        assert!(out.capacity() <= 16_384);
        assert!(gzip().decode(&bytes, Dest::Exact(&mut [0; 10_000])).is_err());
    }
}
