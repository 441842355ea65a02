//! `crc32c`, `crc32`, `adler32`, `fletcher32`: the bytes and a checksum of them, 4 bytes little-endian.
//!
//! Specification: v3 core codecs, "crc32c"; numcodecs `CRC32C`, `CRC32`, `Adler32`, `Fletcher32` (v2 ids
//! `crc32c`, `crc32`, `adler32`, `fletcher32`; v3 names `crc32c`, `numcodecs.` and the id).
//! Example: `{"name": "numcodecs.crc32c", "configuration": {"location": "end"}}`
//!
//! numcodecs' `location` is "end" for `crc32c` and "start" for `crc32` and `adler32`, if it is missing; the others have it at
//! the end always.

use super::build::Built;
use super::config::{Config, Style};
use super::stage::{Dest, Size, Stage, StageRef};
use super::streams::{decode_known, wrong_size};
use crate::dtype::ElementType;
use crate::error::{Result, bail};
use crate::limits;
use std::sync::Arc;

/// Bytes of the checksum.
const LEN: usize = 4;
/// Bytes that are summed and copied before the next: they stay in the first cache.
const BLOCK: usize = 16 << 10;

pub(super) struct Checksum {
    name: &'static str,
    /// Of which checksum, in messages.
    title: &'static str,
    at_start: bool,
    sum: Sum,
    /// Whether the sum is compared when decoding.
    compared: bool,
}

impl Checksum {
    pub(super) fn new(name: &'static str, title: &'static str, at_start: bool, sum: Sum) -> Checksum {
        Checksum { name, title, at_start, sum, compared: true }
    }
}

#[derive(Clone, Copy)]
pub(super) enum Sum {
    Of(fn(&[u8]) -> u32),
    /// CRC-32C, which goes along with the copy.
    Crc32c,
    /// A hash that begins with a number.
    From(fn(&[u8], u32) -> u32, u32),
}

/// `crc32c`; numcodecs' has a `location`, v3's has no configuration.
pub(super) fn build_crc32c(config: &Config<'_>, _item: ElementType) -> Result<Built> {
    let at_start = config.style != Style::V3 && location(config, false)?;
    Ok(Built::bytes(Checksum::new("crc32c", "CRC-32C", at_start, Sum::Crc32c)))
}

/// `crc32`, of zlib's polynomial.
pub(super) fn build_crc32(config: &Config<'_>, _item: ElementType) -> Result<Built> {
    let at_start = location(config, true)?;
    Ok(Built::bytes(Checksum::new("crc32", "CRC-32", at_start, Sum::Of(libdeflater::crc32))))
}

/// `adler32`, beginning with 1.
pub(super) fn build_adler32(config: &Config<'_>, _item: ElementType) -> Result<Built> {
    let at_start = location(config, true)?;
    Ok(Built::bytes(Checksum::new("adler32", "Adler-32", at_start, Sum::Of(libdeflater::adler32))))
}

/// `fletcher32`, as HDF5 and netCDF compute it.
pub(super) fn build_fletcher32(_config: &Config<'_>, _item: ElementType) -> Result<Built> {
    Ok(Built::bytes(Checksum::new("fletcher32", "Fletcher-32", false, Sum::Of(fletcher32))))
}

/// Reads numcodecs' `location`: whether the checksum is at the start.
fn location(config: &Config<'_>, default: bool) -> Result<bool> {
    match config.text("location")? {
        None => Ok(default),
        Some("start") => Ok(true),
        Some("end") => Ok(false),
        Some(other) => Err(config.error("location", format!("found {other:?}, expected \"start\" or \"end\""))),
    }
}

/// Sums of big-endian 16-bit words (an odd byte at the end is a high one), and sums of these sums, folded to 16 bits each.
fn fletcher32(data: &[u8]) -> u32 {
    // The words whose sums fit into 32 bits without a fold: 65535 + n * 65535 for the first sum, its triangle for the second.
    const WORDS: usize = 360;
    let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
    let (mut first, mut second) = (0u32, 0u32);
    for block in data.chunks(WORDS * 2) {
        let (words, odd) = block.as_chunks::<2>();
        for word in words {
            first += u32::from(u16::from_be_bytes(*word));
            second += first;
        }
        if let [byte] = odd {
            first += u32::from(*byte) << 8;
            second += first;
        }
        (first, second) = (fold(first), fold(second));
    }
    fold(second) << 16 | fold(first)
}

impl Checksum {
    fn compute(&self, data: &[u8]) -> u32 {
        match self.sum {
            Sum::Of(function) => function(data),
            Sum::Crc32c => crc32c::crc32c(data),
            Sum::From(hash, initial) => hash(data, initial),
        }
    }

    /// The bytes without the checksum, and the checksum.
    fn split<'a>(&self, src: &'a [u8]) -> Result<(&'a [u8], u32)> {
        let split =
            if self.at_start { src.split_first_chunk::<LEN>().map(|(sum, data)| (data, sum)) } else { src.split_last_chunk::<LEN>() };
        match split {
            Some((data, sum)) => Ok((data, u32::from_le_bytes(*sum))),
            None => bail!(Truncated, "found {} bytes, expected at least the {LEN} of a checksum", src.len()),
        }
    }

    fn compare(&self, stored: u32, computed: u32) -> Result<()> {
        if self.compared && stored != computed {
            bail!(Checksum, "the stored {} is 0x{stored:08x}, the bytes have 0x{computed:08x}", self.title);
        }
        Ok(())
    }

    /// Fewer bytes than are expected end early: their checksum is none.
    fn check_length(src: &[u8], expected: usize) -> Result<()> {
        match src.len().checked_sub(LEN) {
            Some(found) if found < expected => bail!(Truncated, "decoded to {found} bytes, expected {expected}"),
            _ => Ok(()),
        }
    }

    /// The bytes without the checksum, which is verified.
    fn verified<'a>(&self, src: &'a [u8]) -> Result<&'a [u8]> {
        let (data, stored) = self.split(src)?;
        self.compare(stored, self.compute(data))?;
        Ok(data)
    }
}

impl Stage for Checksum {
    fn name(&self) -> &'static str {
        self.name
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
        if matches!(self.sum, Sum::Crc32c) && !self.at_start {
            // Each block is copied while the cache still has it.
            let mut sum = 0;
            for block in src.chunks(BLOCK) {
                sum = crc32c::crc32c_append(sum, block);
                dst.extend_from_slice(block);
            }
            dst.extend_from_slice(&sum.to_le_bytes());
            return Ok(());
        }
        let sum = self.compute(src).to_le_bytes();
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
        if let Dest::Exact(d) = &dst {
            Checksum::check_length(src, d.len())?;
        }
        if matches!(self.sum, Sum::Crc32c) {
            let (data, stored) = self.split(src)?;
            return decode_known(dst, data.len(), &mut |out| {
                let mut sum = 0;
                for (from, to) in data.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
                    sum = crc32c::crc32c_append(sum, from);
                    to.copy_from_slice(from);
                }
                self.compare(stored, sum)
            });
        }
        let data = self.verified(src)?;
        decode_known(dst, data.len(), &mut |out| {
            out.copy_from_slice(data);
            Ok(())
        })
    }

    fn unverified(&self) -> Option<StageRef> {
        Some(Arc::new(Checksum { compared: false, ..*self }))
    }

    /// The checksum is verified over all bytes; only the copy is saved.
    fn decode_range(&self, src: &[u8], total: usize, offset: usize, dst: &mut [u8]) -> Option<Result<()>> {
        Some(Checksum::check_length(src, total).and_then(|()| self.verified(src)).and_then(|data| {
            let part = offset.checked_add(dst.len()).and_then(|end| data.get(offset..end));
            match part {
                Some(part) if data.len() == total => {
                    dst.copy_from_slice(part);
                    Ok(())
                }
                _ => Err(wrong_size(data.len(), total)),
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::bound::Leaf;
    use crate::codec::chain::Chain;
    use crate::codec::testing::*;
    use crate::dtype::variable::VarItem;
    use crate::metadata::Codecs;
    use crate::metadata::v3::codec_list;

    fn stage(id: &str, json: &str) -> StageRef {
        stage_v2(id, json, DataType::UInt8)
    }

    #[test]
    fn every_checksum_and_location_round_trips() {
        round_trips(&*doc_stage(include_str!("checksum.rs")), SIZES);
        for (id, json) in [
            ("crc32c", r#"{"location": "start"}"#),
            ("crc32c", "{}"),
            ("crc32", "{}"),
            ("crc32", r#"{"location": "end"}"#),
            ("adler32", r#"{"location": "start"}"#),
            ("adler32", r#"{"location": "end"}"#),
            ("fletcher32", "{}"),
        ] {
            round_trips(&*stage(id, json), SIZES);
            refuses_damage(&*stage(id, json));
            tells_cuts(&*stage(id, json));
        }
    }

    #[test]
    fn a_bit_that_changed_in_any_block_is_found() {
        let data = sample(3 * BLOCK + 100);
        for (id, json) in [
            ("crc32c", "{}"),
            ("crc32c", r#"{"location": "start"}"#),
            ("crc32", "{}"),
            ("adler32", "{}"),
            ("fletcher32", "{}"),
            ("jenkins_lookup3", "{}"),
        ] {
            let stage = stage(id, json);
            let mut bytes = encoded(&stage, &data);
            for at in [0, LEN, BLOCK, 2 * BLOCK + 1, bytes.len() - LEN - 1, bytes.len() - 1] {
                bytes[at] ^= 0x10;
                let exact = stage.decode(&bytes, Dest::Exact(&mut vec![0; data.len()])).unwrap_err();
                let growing = stage.decode(&bytes, Dest::AtMost(&mut Vec::new(), data.len())).unwrap_err();
                assert_eq!((exact.kind(), growing.kind()), (ErrorKind::Checksum, ErrorKind::Checksum), "{id} {json} byte {at}");
                bytes[at] ^= 0x10;
            }
            stage.decode(&bytes, Dest::Exact(&mut vec![0; data.len()])).unwrap();
        }
    }

    #[test]
    fn the_sums_are_the_published_ones_at_their_places() {
        let nine = b"123456789";
        assert_eq!(encoded(&stage_v3("crc32c", &config_of("{}"), BYTES).unwrap(), nine)[9..], 0xe306_9283u32.to_le_bytes());
        assert_eq!(encoded(&stage("crc32c", r#"{"location": "start"}"#), nine)[..4], 0xe306_9283u32.to_le_bytes());
        assert_eq!(encoded(&stage("crc32", "{}"), nine)[..4], 0xcbf4_3926u32.to_le_bytes());
        assert_eq!(encoded(&stage("adler32", r#"{"location": "end"}"#), nine)[9..], 0x091e_01deu32.to_le_bytes());
        assert_eq!(encoded(&stage("fletcher32", "{}"), nine)[9..], 0x09df_09d5u32.to_le_bytes());
    }

    #[test]
    fn sums_of_many_lengths_are_those_of_numcodecs() {
        let long: Vec<u8> = (0..9).flat_map(|_| 0..=255u8).chain([b'x']).collect();
        for (data, fletcher) in
            [(&b""[..], 0), (&[1], 0x0100_0100), (&[1, 2], 0x0102_0102), (&long, 0xb6e2_3a3e), (&[0xff; 1443], 0xff00_ff00)]
        {
            assert_eq!(fletcher32(data), fletcher, "{}", data.len());
        }
    }

    #[test]
    fn configurations_are_checked() {
        for (id, json, field) in
            [("crc32c", r#"{"location": "middle"}"#, Some("location")), ("adler32", r#"{"location": 3}"#, Some("location"))]
        {
            let e = build_v2(id, &config_of(json), BYTES).err().unwrap();
            assert_eq!(e.field(), field, "{id} {json}");
        }
    }

    #[test]
    fn a_mismatch_names_both_sums() {
        let e = stage("crc32c", "{}").decode(b"123456789\x84\x92\x06\xe3", Dest::Exact(&mut [0; 9])).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Checksum);
        assert!(e.message().contains("0xe3069284") && e.message().contains("0xe3069283"), "{e}");
        assert_eq!(stage("crc32", "{}").decode(b"123", Dest::Exact(&mut [])).unwrap_err().kind(), ErrorKind::Truncated);
    }

    #[test]
    fn parts_are_verified_too() {
        let stage = stage("crc32c", r#"{"location": "start"}"#);
        assert_eq!(ranges_agree(&*stage, 100, &[(0, 8), (92, 8), (0, 100)]), 3);
        let mut bytes = encoded(&stage, &sample(100));
        assert!(stage.decode_range(&bytes, 101, 0, &mut [0; 8]).unwrap().is_err());
        assert!(stage.decode_range(&bytes, 100, 95, &mut [0; 8]).unwrap().is_err());
        bytes[50] ^= 1;
        assert!(stage.decode_range(&bytes, 100, 0, &mut [0; 8]).unwrap().is_err());
    }

    /// Decodes with a leaf's codecs: the elements, or the bytes of all texts.
    fn decoded(leaf: &Leaf, stored: &[u8]) -> Result<Vec<u8>> {
        let mut bytes = stored.to_vec();
        for stage in leaf.stages.iter().rev() {
            let mut out = Vec::new();
            stage.decode(&bytes, Dest::AtMost(&mut out, 100))?;
            bytes = out;
        }
        leaf.variable.as_ref().map_or(Ok(bytes.clone()), |codec| codec.decode(bytes, &mut VarItem::EMPTY.to_element()))
    }

    #[test]
    fn checksums_inside_other_codecs_are_left_out_too() {
        let conditional = r#"{"name": "conditional", "configuration": {"codecs": ["crc32c"]}}"#;
        let vlen = |members: &str| format!(r#"[{{"name": "zarrs.vlen", "configuration": {{{members}}}}}]"#);
        let little = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
        // The last byte of the checksum is that many bytes from the end.
        let cases = [
            (DataType::UInt8, r#"["bytes", "crc32c"]"#.to_string(), 1),
            (DataType::UInt8, format!(r#"["bytes", {conditional}]"#), 1),
            (DataType::UInt8, r#"[{"name": "n5_default", "configuration": {"codecs": [{"name": "transpose", "configuration": {"order": [0]}}, {"name": "bytes", "configuration": {"endian": "big"}}, "crc32c"]}}]"#.to_string(), 1),
            (DataType::VarText, vlen(&format!(r#""data_codecs": ["bytes", {conditional}], "index_codecs": [{little}]"#)), 1),
            (DataType::VarText, vlen(&format!(r#""data_codecs": ["bytes"], "index_codecs": [{little}, "crc32c"], "index_location": "end""#)), 9),
        ];
        for (data_type, list, from_end) in cases {
            let codecs = Codecs::V3(codec_list(&crate::json::parse_text(&list).unwrap()).unwrap());
            let chain = Chain::parse(&codecs, data_type, 1).unwrap();
            let (leaf, unverified) = (chain.bind_leaf(&[1]).unwrap(), chain.unverified().bind_leaf(&[1]).unwrap());
            let mut stored = b"a".to_vec();
            if let Some(codec) = &leaf.variable {
                codec.encode(&VarItem::new(b"a").to_element(), &[1], &mut stored).unwrap();
            }
            for stage in &leaf.stages {
                let mut out = Vec::new();
                stage.encode(&stored, &mut out).unwrap();
                stored = out;
            }
            assert_eq!(decoded(&leaf, &stored).unwrap(), b"a", "{list}");
            let last = stored.len() - from_end;
            stored[last] ^= 1;
            assert_eq!(decoded(&leaf, &stored).unwrap_err().kind(), ErrorKind::Checksum, "{list}");
            assert_eq!(decoded(&unverified, &stored).unwrap(), b"a", "{list}");
        }
    }
}
