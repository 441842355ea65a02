//! `base64`: the standard alphabet with padding, as ASCII.
//!
//! Specification: numcodecs `Base64` (v2 id `base64`); RFC 4648, section 4.
//! Example of v2: `{"id": "base64"}`

use super::build::Built;
use super::config::Config;
use super::stage::{Dest, Size, Stage};
use super::streams::{decode_known, wrong_size};
use crate::dtype::ElementType;
use crate::error::{Result, bail, err};
use crate::limits;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

struct Base64;

/// There is no configuration.
pub(super) fn build(_config: &Config<'_>, _item: ElementType) -> Result<Built> {
    Ok(Built::bytes(Base64))
}

fn encoded(n: usize) -> usize {
    n.div_ceil(3).saturating_mul(4)
}

impl Stage for Base64 {
    fn name(&self) -> &'static str {
        "base64"
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        match decoded {
            Size::Exact(n) => Size::Exact(encoded(n)),
            Size::AtMost(n) => Size::AtMost(encoded(n)),
        }
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        let room = limits::grow(dst, encoded(src.len()))?;
        let made = STANDARD.encode_slice(src, room).map_err(|e| err!(Internal, "base64 cannot encode ({e})"))?;
        dst.truncate(made);
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        if !src.len().is_multiple_of(4) {
            bail!(Chunk, "found {} characters of base64, expected a multiple of 4", src.len());
        }
        let padding = src.iter().rev().take(2).take_while(|&&c| c == b'=').count();
        decode_known(dst, src.len() / 4 * 3 - padding, &mut |out| match STANDARD.decode_slice(src, out) {
            Ok(n) if n == out.len() => Ok(()),
            Ok(n) => Err(wrong_size(n, out.len())),
            Err(e) => bail!(Chunk, "the base64 text is damaged ({e})"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;

    #[test]
    fn every_size_round_trips() {
        let stage = stage_v2("base64", "{}", DataType::UInt8);
        round_trips(&*stage, SIZES);
        round_trips(&*stage, &[2, 3, 4, 5, 6]);
    }

    #[test]
    fn the_text_is_that_of_the_standard() {
        for (data, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("\u{7ff}\u{7ff}", "37/fvw==")] {
            let mut out = vec![1; 50];
            Base64.encode(data.as_bytes(), &mut out).unwrap();
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn damage_is_an_error() {
        refuses_damage(&Base64);
        for text in ["Zg=", "Zg", "Z===", "Zm9v\n", "Z_8=", "====", "Zh==", "Zg==Zg=="] {
            assert!(Base64.decode(text.as_bytes(), Dest::AtMost(&mut Vec::new(), 10)).is_err(), "{text:?}");
        }
    }
}
