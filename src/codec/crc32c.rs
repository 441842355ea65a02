//! `crc32c`: the bytes and their CRC-32C (Castagnoli), 4 bytes little-endian.
//!
//! Specification: v3 core codecs, "crc32c"; numcodecs `CRC32C` (v2 id `crc32c`; v3 names `crc32c`, `numcodecs.crc32c`).
//! Example: `{"name": "numcodecs.crc32c", "configuration": {"location": "end"}}`
//!
//! The checksum is at the end; numcodecs can put it in front (`location`: "start").

use super::registry::{Built, Config, Style, decode_known};
use super::{Dest, Size, Stage};
use crate::error::{Result, bail};
use crate::limits;

/// Bytes of the checksum.
const LEN: usize = 4;

struct Crc32c {
    at_start: bool,
}

/// Reads numcodecs' `location`; v3's codec has no configuration.
pub(super) fn build(config: &Config<'_>, _item: usize) -> Result<Built> {
    let location = if config.style == Style::V3 { None } else { config.text("location")? };
    match location {
        None | Some("end") => Ok(Built::bytes(Crc32c { at_start: false })),
        Some("start") => Ok(Built::bytes(Crc32c { at_start: true })),
        Some(other) => Err(config.error("location", format!("found {other:?}, expected \"start\" or \"end\""))),
    }
}

impl Crc32c {
    /// The bytes without the checksum, which is verified.
    fn verified<'a>(&self, src: &'a [u8]) -> Result<&'a [u8]> {
        let split =
            if self.at_start { src.split_first_chunk::<LEN>().map(|(sum, data)| (data, sum)) } else { src.split_last_chunk::<LEN>() };
        let Some((data, sum)) = split else {
            bail!(Truncated, "found {} bytes, expected at least the {LEN} of a checksum", src.len());
        };
        let (stored, computed) = (u32::from_le_bytes(*sum), crc32c::crc32c(data));
        if stored != computed {
            bail!(Checksum, "the stored CRC-32C is 0x{stored:08x}, the bytes have 0x{computed:08x}");
        }
        Ok(data)
    }
}

impl Stage for Crc32c {
    fn name(&self) -> &'static str {
        "crc32c"
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        match decoded {
            Size::Exact(n) => Size::Exact(n.saturating_add(LEN)),
            Size::AtMost(n) => Size::AtMost(n.saturating_add(LEN)),
        }
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        dst.clear();
        limits::reserve(dst, src.len().saturating_add(LEN))?;
        let sum = crc32c::crc32c(src).to_le_bytes();
        if self.at_start {
            dst.extend_from_slice(&sum);
        }
        dst.extend_from_slice(src);
        if !self.at_start {
            dst.extend_from_slice(&sum);
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        let data = self.verified(src)?;
        decode_known(dst, data.len(), |out| {
            out.copy_from_slice(data);
            Ok(())
        })
    }

    /// The checksum is verified over all bytes; only the copy is saved.
    fn decode_range(&self, src: &[u8], total: usize, offset: usize, dst: &mut [u8]) -> Option<Result<()>> {
        Some(self.verified(src).and_then(|data| {
            let part = offset.checked_add(dst.len()).and_then(|end| data.get(offset..end));
            match part {
                Some(part) if data.len() == total => {
                    dst.copy_from_slice(part);
                    Ok(())
                }
                _ => Err(super::registry::wrong_size(data.len(), total)),
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::registry::{self, tests::*};
    use crate::error::ErrorKind;

    #[test]
    fn both_locations_round_trip() {
        round_trips(&*doc_stage(include_str!("crc32c.rs")), SIZES);
        round_trips(&Crc32c { at_start: true }, SIZES);
        refuses_damage(&Crc32c { at_start: true });
        refuses_damage(&Crc32c { at_start: false });
    }

    #[test]
    fn the_sum_is_the_published_one_and_at_the_end() {
        let mut out = Vec::new();
        registry::build_v3("crc32c", &config_of("{}"), 1).unwrap().unwrap().stage.encode(b"123456789", &mut out).unwrap();
        assert_eq!(out[9..], 0xe306_9283u32.to_le_bytes());
        registry::build_v2("crc32c", &config_of(r#"{"location": "start"}"#), 1).unwrap().stage.encode(b"123456789", &mut out).unwrap();
        assert_eq!(out[..4], 0xe306_9283u32.to_le_bytes());
        assert!(registry::build_v2("crc32c", &config_of(r#"{"location": "middle"}"#), 1).is_err());
    }

    #[test]
    fn a_mismatch_names_both_sums() {
        let e = Crc32c { at_start: false }.decode(b"123456789\x84\x92\x06\xe3", Dest::Exact(&mut [0; 9])).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Checksum);
        assert!(e.message().contains("0xe3069284") && e.message().contains("0xe3069283"), "{e}");
        assert_eq!(Crc32c { at_start: true }.decode(b"123", Dest::Exact(&mut [])).unwrap_err().kind(), ErrorKind::Truncated);
    }

    #[test]
    fn parts_are_verified_too() {
        let stage = Crc32c { at_start: true };
        assert_eq!(ranges_agree(&stage, 100, &[(0, 8), (92, 8), (0, 100)]), 3);
        let mut bytes = Vec::new();
        stage.encode(&sample(100), &mut bytes).unwrap();
        assert!(stage.decode_range(&bytes, 101, 0, &mut [0; 8]).unwrap().is_err());
        assert!(stage.decode_range(&bytes, 100, 95, &mut [0; 8]).unwrap().is_err());
        bytes[50] ^= 1;
        assert!(stage.decode_range(&bytes, 100, 0, &mut [0; 8]).unwrap().is_err());
    }
}
