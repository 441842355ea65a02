//! `zlib`: one stream of RFC 1950.
//!
//! Specification: numcodecs `Zlib` (v2 id `zlib`; v3 name `numcodecs.zlib`).
//! Example: `{"name": "numcodecs.zlib", "configuration": {"level": 1}}`

use super::build::Built;
use super::config::Config;
use super::deflate::{Wrapper, compress, decode, inflate, level};
use super::stage::{Dest, Stage};
use crate::dtype::ElementType;
use crate::error::{Result, bail};
use libdeflater::CompressionLvl;

struct Zlib {
    level: CompressionLvl,
}

/// Reads `level`.
pub(super) fn build(config: &Config<'_>, _item: ElementType) -> Result<Built> {
    Ok(Built::bytes(Zlib { level: level(config)? }))
}

impl Stage for Zlib {
    fn name(&self) -> &'static str {
        "zlib"
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        compress(Wrapper::Zlib, self.level, src, dst)
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        decode(Wrapper::Zlib, src, dst, src.len().saturating_mul(4), &mut |out| match inflate(Wrapper::Zlib, src, out)? {
            None => Ok(None),
            Some((used, made)) if used == src.len() => Ok(Some(made)),
            Some((used, _)) => bail!(Chunk, "found {} bytes after the end of the zlib stream", src.len() - used),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;
    use std::io::Write;

    #[test]
    fn every_size_and_level_round_trips() {
        round_trips(&*doc_stage(include_str!("zlib.rs")), SIZES);
        for level in -1..=9 {
            let map = config_of(&format!(r#"{{"level": {level}}}"#));
            round_trips(&*build(&Config::v3(&map), BYTES).unwrap().stage, &[0, 1, 4096]);
        }
    }

    #[test]
    fn damage_and_bytes_after_the_stream_are_errors() {
        let zlib = Zlib { level: CompressionLvl::new(9).unwrap() };
        refuses_damage(&zlib);
        let mut bytes = Vec::new();
        zlib.encode(&sample(100), &mut bytes).unwrap();
        bytes.push(0);
        let e = zlib.decode(&bytes, Dest::Exact(&mut [0; 100])).unwrap_err();
        assert_eq!(e.message(), "found 1 bytes after the end of the zlib stream");
    }

    #[test]
    fn a_cut_stream_ends_early_at_every_level() {
        for level in [0, 1, 6, 9] {
            tells_cuts(&Zlib { level: CompressionLvl::new(level).unwrap() });
        }
    }

    #[test]
    fn streams_of_another_library_are_read() {
        let data = sample(100_000);
        let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(9));
        writer.write_all(&data).unwrap();
        let bytes = writer.finish().unwrap();
        let mut out = Vec::new();
        Zlib { level: CompressionLvl::default() }.decode(&bytes, Dest::AtMost(&mut out, 1 << 20)).unwrap();
        assert!(out == data);
    }
}
