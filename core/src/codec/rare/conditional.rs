//! `conditional`: bytes→bytes codecs of which each chunk uses some; a header says which.
//!
//! Specification: zarr-extensions, "conditional" (v3 name `conditional`): bit i of the little-endian header is set where
//! codec i is applied; the header has `header_bits` bits, by default as few bytes as the codecs need.
//! Example: `{"name": "conditional", "configuration": {"codecs": [{"name": "gzip", "configuration": {"level": 1}}, "crc32c"]}}`
//!
//! When encoding, a codec that can make the bytes fewer is applied where it does; one that cannot (a checksum) always.

use crate::codec::build::Built;
use crate::codec::config::Config;
use crate::codec::stage::{Dest, Size, Stage, StageRef};
use crate::codec::streams::decode_known;
use crate::dtype::ElementType;
use crate::error::{Result, bail, err};
use crate::limits;
use crate::metadata::{Value, json::brief};
use std::sync::Arc;

struct Conditional {
    /// `None` for a codec that nobody here knows and that may be ignored: a chunk that it was not applied to can be read.
    stages: Vec<Option<StageRef>>,
    /// Bytes of the header.
    header: usize,
}

/// Makes one of the codecs; `None` for one that is ignored.
type MakeOne = fn(&Value, ElementType) -> Result<Option<Built>>;

/// Reads `codecs` (bytes→bytes only, and no `conditional` among them), each of which `make` makes, and `header_bits`.
pub(in crate::codec) fn build(config: &Config<'_>, item: ElementType, make: MakeOne) -> Result<Built> {
    let list = match config.get("codecs") {
        Some(Value::Array(list)) => list,
        Some(other) => return Err(config.error("codecs", format!("found {}, expected a list of codecs", brief(other)))),
        None => return Err(config.error("codecs", "the member is missing".into())),
    };
    if list.len() > limits::MAX_CODECS {
        bail!(Limit, "found {} codecs, the limit is {}", list.len(), limits::MAX_CODECS);
    }
    let (mut stages, mut item) = (Vec::new(), item);
    for (i, codec) in list.iter().enumerate() {
        let built = make(codec, item).map_err(|e| e.at_field(format!("{}[{i}]", config.path("codecs"))))?;
        item = built.as_ref().map_or(item, |built| built.item);
        stages.push(built.map(|built| built.stage));
    }
    let least = (list.len().div_ceil(8) * 8) as i64;
    let bits = config.int("header_bits", list.len() as i64, 1 << 16, least)?;
    if bits % 8 != 0 {
        return Err(config.error("header_bits", format!("found {bits}, expected a multiple of 8")));
    }
    Ok(Built::bytes(Conditional { stages, header: (bits / 8) as usize }))
}

impl Conditional {
    /// The codecs whose bit is set, and the bytes behind the header.
    fn applied<'a>(&'a self, src: &'a [u8]) -> Result<(Vec<&'a StageRef>, &'a [u8])> {
        let Some((header, rest)) = src.split_at_checked(self.header) else {
            bail!(Truncated, "found {} bytes, expected at least the {} of the header", src.len(), self.header);
        };
        let set = |i: usize| header.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 == 1);
        if let Some(bit) = (self.stages.len()..self.header * 8).find(|&i| set(i)) {
            bail!(Chunk, "bit {bit} of the header is set, there are {} codecs", self.stages.len());
        }
        let known = |(i, stage): (usize, &'a Option<StageRef>)| match stage {
            Some(stage) => Ok(stage),
            None => Err(err!(Unsupported, "bit {i} of the header is set, and the codec {i} of the list is not known")),
        };
        Ok((self.stages.iter().enumerate().filter(|(i, _)| set(*i)).map(known).collect::<Result<_>>()?, rest))
    }
}

impl Stage for Conditional {
    fn name(&self) -> &'static str {
        "conditional"
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        // Any codec may be left out.
        let most = self.stages.iter().flatten().fold(decoded.max(), |n, stage| n.max(stage.encoded_size(Size::AtMost(n)).max()));
        Size::AtMost(most.saturating_add(self.header))
    }

    fn check_writing(&self) -> Result<()> {
        self.stages.iter().flatten().try_for_each(|stage| stage.check_writing())
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        let mut header = vec![0u8; self.header];
        let (mut current, mut next) = (None::<Vec<u8>>, Vec::new());
        for (i, stage) in self.stages.iter().enumerate().filter_map(|(i, stage)| Some((i, stage.as_ref()?))) {
            let bytes = current.as_deref().unwrap_or(src);
            stage.encode(bytes, &mut next)?;
            let always = matches!(stage.encoded_size(Size::Exact(bytes.len())), Size::Exact(_));
            if always || next.len() < bytes.len() {
                if let Some(byte) = header.get_mut(i / 8) {
                    *byte |= 1 << (i % 8);
                }
                next = current.replace(std::mem::take(&mut next)).unwrap_or_default();
            }
        }
        let bytes = current.as_deref().unwrap_or(src);
        dst.clear();
        limits::reserve(dst, self.header.saturating_add(bytes.len()))?;
        dst.extend_from_slice(&header);
        dst.extend_from_slice(bytes);
        Ok(())
    }

    fn unverified(&self) -> Option<StageRef> {
        let stages =
            self.stages.iter().map(|stage| stage.as_ref().map(|stage| stage.unverified().unwrap_or_else(|| stage.clone()))).collect();
        Some(Arc::new(Conditional { stages, header: self.header }))
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        let (stages, bytes) = self.applied(src)?;
        let Some((first, behind)) = stages.split_first() else {
            return decode_known(dst, bytes.len(), &mut |out| {
                out.copy_from_slice(bytes);
                Ok(())
            });
        };
        // What is known of the sizes between the codecs that are applied.
        let mut size = match &dst {
            Dest::Exact(d) => Size::Exact(d.len()),
            Dest::AtMost(_, max) | Dest::Checked(_, max, _) => Size::AtMost(*max),
        };
        let mut limits = Vec::with_capacity(behind.len());
        for stage in &stages {
            size = stage.encoded_size(size);
            limits.push(size.max());
        }
        let mut current = None::<Vec<u8>>;
        for (stage, limit) in behind.iter().zip(&limits).rev() {
            let mut out = Vec::new();
            stage.decode(current.as_deref().unwrap_or(bytes), Dest::AtMost(&mut out, *limit))?;
            current = Some(out);
        }
        first.decode(current.as_deref().unwrap_or(bytes), dst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;

    fn stage(json: &str) -> Result<StageRef> {
        stage_v3("conditional", &config_of(json), ElementType::native(DataType::Int32))
    }

    const TWO: &str = r#"{"codecs": [{"name": "gzip", "configuration": {"level": 9}}, "crc32c"]}"#;

    #[test]
    fn only_what_helps_is_applied() {
        let stage = stage(TWO).unwrap();
        let mut out = Vec::new();
        stage.encode(&[1, 2, 3], &mut out).unwrap();
        assert_eq!((&out[..4], out.len()), (&[2u8, 1, 2, 3][..], 8));
        stage.encode(&[7; 5000], &mut out).unwrap();
        assert!(out[0] == 3 && out.len() < 100);
        round_trips(&*stage, SIZES);
        round_trips(&*doc_stage(include_str!("conditional.rs")), SIZES);
    }

    #[test]
    fn any_set_of_codecs_is_read() {
        let json = r#"{"codecs": [{"name": "numcodecs.shuffle"}, {"name": "zstd"}, "crc32c"], "header_bits": 16}"#;
        let (all, data) = (stage(json).unwrap(), sample(4000));
        let one: Vec<StageRef> = ["numcodecs.shuffle", "zstd", "crc32c"]
            .iter()
            .map(|name| stage_v3(name, &config_of("{}"), ElementType::native(DataType::Int32)).unwrap())
            .collect();
        for mask in 0..8u8 {
            let mut bytes = data.clone();
            for (_, stage) in one.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1) {
                let mut out = Vec::new();
                stage.encode(&bytes, &mut out).unwrap();
                bytes = out;
            }
            bytes.splice(0..0, [mask, 0]);
            let mut out = vec![0; 4000];
            all.decode(&bytes, Dest::Exact(&mut out)).unwrap();
            assert!(out == data, "{mask}");
            bytes[0] |= 8;
            assert_eq!(all.decode(&bytes, Dest::Exact(&mut out)).unwrap_err().kind(), ErrorKind::Chunk);
        }
        assert_eq!(all.decode(&[0], Dest::Exact(&mut [])).unwrap_err().kind(), ErrorKind::Truncated);
    }

    #[test]
    fn a_codec_that_may_be_ignored_is_refused_in_the_chunks_that_have_it_only() {
        let json = r#"{"codecs": [{"name": "acme.note", "must_understand": false}, {"name": "zstd"}, {"name": "crc32c"}]}"#;
        let (all, data) = (stage(json).unwrap(), sample(4000));
        for stage in [all.clone(), all.unverified().unwrap()] {
            let mut bytes = Vec::new();
            stage.encode(&data, &mut bytes).unwrap();
            assert_eq!(bytes[0] & 5, 4, "the checksum, and not the first one");
            let mut out = vec![0; 4000];
            stage.decode(&bytes, Dest::Exact(&mut out)).unwrap();
            assert!(out == data);
            bytes[0] |= 1;
            assert_eq!(stage.decode(&bytes, Dest::Exact(&mut out)).unwrap_err().kind(), ErrorKind::Unsupported);
        }
        round_trips(&*all, SIZES);
    }

    #[test]
    fn configurations_are_checked() {
        for (json, field) in [
            ("{}", Some("configuration.codecs")),
            (r#"{"codecs": ["crc32c"], "header_bits": 4}"#, Some("configuration.header_bits")),
            (r#"{"codecs": ["crc32c"], "header_bits": 0}"#, Some("configuration.header_bits")),
            (r#"{"codecs": ["nosuch"]}"#, Some("configuration.codecs[0]")),
            (r#"{"codecs": ["packbits"]}"#, Some("configuration.codecs[0]")),
            (r#"{"codecs": [{"name": "bytes", "must_understand": false}]}"#, Some("configuration.codecs[0]")),
            (r#"{"codecs": [{"name": "conditional", "configuration": {"codecs": []}}]}"#, Some("configuration.codecs[0]")),
            (r#"{"codecs": [{"name": "gzip", "configuration": {"level": 99}}]}"#, Some("configuration.codecs[0].configuration.level")),
        ] {
            assert_eq!(stage(json).err().unwrap().field(), field, "{json}");
        }
    }
}
