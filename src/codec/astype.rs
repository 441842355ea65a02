//! `astype`: numbers of one type, stored as another as C casts them.
//!
//! Specification: numcodecs `AsType` (v2 id `astype`; v3 name `numcodecs.astype`).
//! Example: `{"name": "numcodecs.astype", "configuration": {"encode_dtype": "<f4", "decode_dtype": "<i4"}}`

use super::arithmetic::convert;
use super::build::ArrayCodec;
use super::config::Config;
use super::scalar::map;
use super::stage::{Dest, Size, Stage};
use super::streams::{check_whole, converted, converted_size, decode_known, output};
use crate::dtype::ElementType;
use crate::error::Result;
use std::sync::Arc;

/// Reads `decode_dtype`, the type of the array, and `encode_dtype`, the type that is stored.
pub(super) fn build(config: &Config<'_>, item: ElementType) -> Result<ArrayCodec> {
    let Some(encoded) = config.element("encode_dtype")? else {
        return Err(config.error("encode_dtype", "the member is missing".into()));
    };
    Ok(ArrayCodec::new(config.element_or("decode_dtype", item)?, encoded, |from, to| Arc::new(AsType { from, to })))
}

struct AsType {
    from: ElementType,
    to: ElementType,
}

impl Stage for AsType {
    fn name(&self) -> &'static str {
        "astype"
    }

    fn elements(&self) -> Option<(ElementType, ElementType)> {
        Some((self.from, self.to))
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        converted_size(decoded, self.from, self.to)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        check_whole("astype", src.len(), self.from.size())?;
        let out = output(dst, converted(src.len(), self.from, self.to))?;
        if !convert(self.from, src, self.to, out) {
            map(src, self.from, out, self.to, |v| v);
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        check_whole("astype", src.len(), self.to.size())?;
        decode_known(dst, converted(src.len(), self.to, self.from), |out| {
            if !convert(self.to, src, self.from, out) {
                map(src, self.to, out, self.from, |v| v);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::StageRef;
    use crate::codec::parse::build_v2;
    use crate::codec::testing::*;
    use crate::dtype::ByteOrder;

    fn stage(json: &str) -> StageRef {
        stage_v2("astype", json, DataType::UInt8)
    }

    fn encode(stage: &StageRef, src: &[u8]) -> Vec<u8> {
        let mut out = vec![1; 1000];
        stage.encode(src, &mut out).unwrap();
        out
    }

    fn decode(stage: &StageRef, src: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        stage.decode(src, Dest::AtMost(&mut out, 1 << 20)).unwrap();
        out
    }

    macro_rules! bytes {
        ($order:ident, $t:ty, $($v:expr),*) => { { let v: Vec<u8> = [$($v as $t),*].iter().flat_map(|v| v.$order()).collect(); v } };
    }

    #[test]
    fn astype_casts_as_c_does() {
        let a = stage(r#"{"encode_dtype": "<f4", "decode_dtype": "<i2"}"#);
        assert_eq!(encode(&a, &bytes!(to_le_bytes, i16, -7, 300)), bytes!(to_le_bytes, f32, -7, 300));
        assert_eq!(decode(&a, &bytes!(to_le_bytes, f32, -7.9, 7.9, 65537.0)), bytes!(to_le_bytes, i16, -7, 7, 1));
        let a = stage(r#"{"encode_dtype": ">i4", "decode_dtype": "|u1"}"#);
        assert_eq!(decode(&a, &bytes!(to_be_bytes, i32, -1, 258, 5)), [255, 2, 5]);
        let a = stage(r#"{"encode_dtype": "<f8", "decode_dtype": "<u8"}"#);
        assert_eq!(decode(&a, &1e19f64.to_le_bytes()), 10_000_000_000_000_000_000u64.to_le_bytes());
        let a = stage(r#"{"encode_dtype": "<c8", "decode_dtype": "<f8"}"#);
        assert_eq!(decode(&a, &bytes!(to_le_bytes, f32, 1.5, 9)), 1.5f64.to_le_bytes());
        let a = stage(r#"{"encode_dtype": "<i8", "decode_dtype": "|b1"}"#);
        assert_eq!(decode(&a, &bytes!(to_le_bytes, i64, 256, 0)), [1, 0]);
    }

    #[test]
    fn every_type_survives_its_own_cast() {
        for &t in DataType::NUMPY {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let (from, to) = (ElementType::new(t, order), ElementType::native(t));
                let a: StageRef = Arc::new(AsType { from, to });
                // Bytes of 0 and 1 are valid and not NaN in every type.
                let data: Vec<u8> = (0..t.size() * 5).map(|i| (i % 3 == 0) as u8).collect();
                assert_eq!(decode(&a, &encode(&a, &data)), data, "{t:?}");
            }
        }
    }

    #[test]
    fn integers_become_binary32_with_one_rounding() {
        let a = stage(r#"{"encode_dtype": "<f4", "decode_dtype": "<i8"}"#);
        let n = (1i64 << 54) + (1 << 30) + 1;
        assert_eq!(encode(&a, &n.to_le_bytes()), (n as f32).to_le_bytes());
    }

    #[test]
    fn configurations_and_sizes_are_checked() {
        doc_stage(include_str!("astype.rs"));
        let e = build_v2("astype", &config_of(r#"{"encode_dtype": "<i4"}"#), BYTES).err().unwrap();
        assert_eq!(e.field(), Some("decode_dtype"));
        refuses_wrong_sizes(&*stage(r#"{"encode_dtype": "<i4", "decode_dtype": "<i8"}"#));
    }
}
