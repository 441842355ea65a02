//! `bytes`: elements in C order, in one byte order. Costs no stage: it decides the element type of the layout.
//!
//! Specification: v3 core codecs, "bytes" (v3 names `bytes`, formerly `endian`; in v2 the byte order is part of `dtype`).
//! Example: `{"name": "bytes", "configuration": {"endian": "little"}}`

use super::config::Config;
use crate::dtype::{ByteOrder, DataType};
use crate::error::{Result, err};

/// Reads the configuration: the byte order, which may be missing only where an element has no order.
pub(super) fn parse(config: &Config<'_>, data_type: DataType) -> Result<ByteOrder> {
    match config.text("endian")? {
        Some("little") => Ok(ByteOrder::Little),
        Some("big") => Ok(ByteOrder::Big),
        Some(other) => Err(config.error("endian", format!("found {other:?}, expected \"little\" or \"big\""))),
        None if !data_type.has_order() => Ok(ByteOrder::NATIVE),
        None => Err(err!(Metadata, "the member is missing; {} has more than one byte", data_type.name()).at_field(config.path("endian"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{config_of, doc_example};

    #[test]
    fn the_byte_order_is_read() {
        assert_eq!(parse(&Config::v3(&doc_example(include_str!("bytes.rs"))), DataType::Int32).unwrap(), ByteOrder::Little);
        assert_eq!(parse(&Config::v3(&config_of(r#"{"endian": "big"}"#)), DataType::Float64).unwrap(), ByteOrder::Big);
    }

    #[test]
    fn it_may_be_missing_only_for_single_bytes() {
        let empty = config_of("{}");
        assert_eq!(parse(&Config::v3(&empty), DataType::Bool).unwrap(), ByteOrder::Little);
        let e = parse(&Config::v3(&empty), DataType::Int16).unwrap_err();
        assert_eq!(e.field(), Some("configuration.endian"));
        let of = |part: DataType| crate::dtype::Field { name: "x".into(), offset: 0, element: part.into(), shape: vec![2] };
        let of = |part: DataType| DataType::Struct(crate::dtype::Struct::packed(vec![of(part)]).unwrap());
        assert_eq!(parse(&Config::v3(&empty), of(DataType::Int8)).unwrap(), ByteOrder::Little);
        assert!(parse(&Config::v3(&empty), of(DataType::Int16)).is_err());
        assert!(parse(&Config::v3(&config_of(r#"{"endian": "middle"}"#)), DataType::Int16).is_err());
        assert!(parse(&Config::v3(&config_of(r#"{"endian": 1}"#)), DataType::Int8).is_err());
    }
}
