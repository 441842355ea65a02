//! `astype`: numbers of one type, stored as another as C casts them.
//!
//! Specification: numcodecs `AsType` (v2 id `astype`; v3 name `numcodecs.astype`).
//! Example: `{"name": "numcodecs.astype", "configuration": {"encode_dtype": "<f4", "decode_dtype": "<i4"}}`

use super::arithmetic::convert;
use super::build::ArrayCodec;
use super::config::Config;
use super::elementwise::Elementwise;
use super::scalar::map;
use crate::dtype::{ElementType, convert_times};
use crate::error::Result;
use std::sync::Arc;

/// Reads `decode_dtype`, the type of the array, and `encode_dtype`, the type that is stored.
pub(super) fn build(config: &Config<'_>, item: ElementType) -> Result<ArrayCodec> {
    let Some(encoded) = config.element("encode_dtype")? else {
        return Err(config.error("encode_dtype", "the member is missing".into()));
    };
    let decoded = config.element_or("decode_dtype", item)?;
    Ok(ArrayCodec::new(decoded, encoded, |from, to| Arc::new(AsType { from, to })))
}

struct AsType {
    from: ElementType,
    to: ElementType,
}

impl Elementwise for AsType {
    const NAME: &'static str = "astype";

    fn types(&self) -> (ElementType, ElementType) {
        (self.from, self.to)
    }

    fn encode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        cast(self.from, src, self.to, dst)
    }

    fn decode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        cast(self.to, src, self.from, dst)
    }
}

/// Casts as many elements as there are; times of another unit become the same point or span, as NumPy casts them.
fn cast(from: ElementType, src: &[u8], to: ElementType, dst: &mut [u8]) -> Result<()> {
    if convert_times(from, src, to, dst)?.is_none() && !convert(from, src, to, dst) {
        map(src, from, dst, to, |v| v);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::scalar::truncate;
    use crate::codec::testing::*;
    use crate::dtype::Kind;

    fn stage(json: &str) -> StageRef {
        stage_v2("astype", json, DataType::UInt8)
    }

    #[test]
    fn astype_casts_as_c_does() {
        let a = stage(r#"{"encode_dtype": "<f4", "decode_dtype": "<i2"}"#);
        assert_eq!(encoded(&a, &le!(i16, -7, 300)), le!(f32, -7, 300));
        assert_eq!(decoded(&a, &le!(f32, -7.9, 7.9, 65537.0)), le!(i16, -7, 7, 1));
        let a = stage(r#"{"encode_dtype": ">i4", "decode_dtype": "|u1"}"#);
        assert_eq!(decoded(&a, &be!(i32, -1, 258, 5)), [255, 2, 5]);
        let a = stage(r#"{"encode_dtype": "<f8", "decode_dtype": "<u8"}"#);
        assert_eq!(decoded(&a, &1e19f64.to_le_bytes()), 10_000_000_000_000_000_000u64.to_le_bytes());
        let a = stage(r#"{"encode_dtype": "<c8", "decode_dtype": "<f8"}"#);
        assert_eq!(decoded(&a, &le!(f32, 1.5, 9)), 1.5f64.to_le_bytes());
        let a = stage(r#"{"encode_dtype": "<i8", "decode_dtype": "|b1"}"#);
        assert_eq!(decoded(&a, &le!(i64, 256, 0)), [1, 0]);
    }

    #[test]
    fn times_change_their_counts_with_their_unit() {
        let none = i64::MIN;
        for (decoded_type, encoded_type, values, stored) in [
            ("<M8[ns]", "<M8[s]", [1_577_836_805_000_000_000, -1_000_000_000, none], [1_577_836_805, -1, none]),
            ("<M8[D]", "<M8[ns]", [18_262, -1, none], [1_577_836_800_000_000_000, -86_400_000_000_000, none]),
            ("<m8[s]", "<m8[ms]", [5, -7, none], [5000, -7000, none]),
            ("<M8[Y]", "<M8[D]", [50, 0, none], [18_262, 0, none]),
            // Points in time and spans are each other's counts.
            ("<M8[ns]", "<m8[s]", [5, -7, none], [5, -7, none]),
            ("<M8[ns]", "<i8", [5, -7, none], [5, -7, none]),
            ("<M8[ns]", "<M8[ns]", [5, -7, none], [5, -7, none]),
        ] {
            let bytes = |values: [i64; 3]| values.map(i64::to_le_bytes).concat();
            let a = stage(&format!(r#"{{"encode_dtype": "{encoded_type}", "decode_dtype": "{decoded_type}"}}"#));
            assert_eq!(encoded(&a, &bytes(values)), bytes(stored), "{decoded_type} to {encoded_type}");
            assert_eq!(decoded(&a, &bytes(stored)), bytes(values), "{decoded_type} from {encoded_type}");
        }
        let a = stage(r#"{"encode_dtype": ">M8[s]", "decode_dtype": "<M8[ms]"}"#);
        assert_eq!(encoded(&a, &1999i64.to_le_bytes()), 1i64.to_be_bytes());
        let mut out = Vec::new();
        let e = stage(r#"{"encode_dtype": "<M8[as]", "decode_dtype": "<M8[D]"}"#).encode(&18_262i64.to_le_bytes(), &mut out).unwrap_err();
        assert_eq!(e.kind(), crate::error::ErrorKind::Range, "{e}");
    }

    #[test]
    fn integers_of_every_type_wrap_in_every_other() {
        let integers = || DataType::NUMPY.iter().copied().filter(|t| matches!(t.kind(), Kind::Int | Kind::UInt));
        let edges: Vec<i64> =
            [0, 7, 8, 15, 16, 31, 32, 63].into_iter().flat_map(|bit| (-2..2).map(move |n| (1i64 << bit).wrapping_add(n))).collect();
        for (from, to) in integers().flat_map(|a| integers().map(move |b| (a, b))) {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let a: StageRef = Arc::new(AsType { from: ElementType::native(from), to: ElementType::new(to, order) });
                for value in edges.iter().map(|n| truncate(from, *n as u64)) {
                    let native = |t: DataType| value.bits().to_le_bytes()[..t.size()].to_vec();
                    let mut stored = native(to);
                    if order == ByteOrder::Big {
                        stored.reverse();
                    }
                    assert_eq!(encoded(&a, &native(from)), stored, "{value:?}: {from:?} to {to:?}");
                    let back = truncate(to, value.bits()).bits().to_le_bytes();
                    assert_eq!(decoded(&a, &stored), back[..from.size()], "{value:?}: {from:?} from {to:?}");
                }
            }
        }
    }

    #[test]
    fn every_type_survives_its_own_cast() {
        for &t in DataType::NUMPY {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let (from, to) = (ElementType::new(t, order), ElementType::native(t));
                let a: StageRef = Arc::new(AsType { from, to });
                // Bytes of 0 and 1 are valid and not NaN in every type.
                let data: Vec<u8> = (0..t.size() * 5).map(|i| (i % 3 == 0) as u8).collect();
                assert_eq!(decoded(&a, &encoded(&a, &data)), data, "{t:?}");
            }
        }
    }

    #[test]
    fn integers_become_binary32_with_one_rounding() {
        let a = stage(r#"{"encode_dtype": "<f4", "decode_dtype": "<i8"}"#);
        let n = (1i64 << 54) + (1 << 30) + 1;
        assert_eq!(encoded(&a, &n.to_le_bytes()), (n as f32).to_le_bytes());
    }

    #[test]
    fn configurations_and_sizes_are_checked() {
        doc_stage(include_str!("astype.rs"));
        let e = build_v2("astype", &config_of(r#"{"encode_dtype": "<i4"}"#), BYTES).err().unwrap();
        assert_eq!(e.field(), Some("decode_dtype"));
        refuses_wrong_sizes(&*stage(r#"{"encode_dtype": "<i4", "decode_dtype": "<i8"}"#));
    }
}
