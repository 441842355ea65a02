//! Zarr v2 `dtype`: strings such as `<f8`, `>i4`, `|b1`, and lists of fields such as
//! `[["x", "<f8"], ["v", ">f4", [3]], ["n", [["a", "<i2"]]], ["", "|V4"]]`: no bytes between fields, each with its own order.
//! Specification: v2 "Data type encoding"; NumPy's array interface for the string itself.

use super::{ByteOrder, DataType, ElementType, Field, MAX_LENGTH, Struct, Unit, record, registered};
use crate::error::{Result, bail, err};
use crate::json::{Value, brief};

/// Reads the `dtype` member of a `.zarray`. What this library does not read is `Unsupported`, named.
pub fn parse(value: &Value) -> Result<ElementType> {
    match value {
        Value::String(text) => match registered::find_v2(text) {
            Some(registered) => Ok(ElementType::native(registered)),
            None => parse_text(text),
        },
        Value::Array(list) => Ok(ElementType::native(DataType::Struct(parse_list(list)?))),
        _ => bail!(Metadata, "found {}, expected a data type such as \"<f8\"", brief(value)),
    }
}

/// Reads the type of a number in each of its spellings in the configuration of a codec: zarr-python stores the one that its caller gave, GDAL
/// leaves the order of bytes out. Without an order, or with `=`, it is little-endian, as the hosts are that wrote it.
pub fn parse_spelling(value: &Value) -> Result<ElementType> {
    let Value::String(text) = value else { return parse(value) };
    if let Some(named) = DataType::NUMPY.iter().find(|t| t.name() == text.as_str()) {
        return Ok(ElementType::native(*named));
    }
    let bare = text.strip_prefix('=').unwrap_or(text);
    parse(value).or_else(|e| parse(&format!("<{bare}").into()).map_err(|_| e))
}

/// The number that NumPy does not have of that name. TensorStore and zarr-python's extensions write such names, without a byte
/// order: they are little-endian.
fn named(text: &str) -> Option<ElementType> {
    DataType::numbers().find(|t| t.name() == text && !DataType::NUMPY.contains(t)).map(ElementType::native)
}

fn parse_text(text: &str) -> Result<ElementType> {
    if let Some(element) = named(text) {
        return Ok(element);
    }
    let mut rest = text.chars();
    let order = match rest.next() {
        // `|i4` is how NCZarr says "native"; every host that wrote it was little-endian.
        Some('<' | '|') => ByteOrder::Little,
        Some('>') => ByteOrder::Big,
        Some('b' | 'i' | 'u' | 'f' | 'c') if text.len() <= 3 => {
            bail!(Metadata, "found {text:?}, expected a byte order before it, as in \"<f8\"")
        }
        Some('a'..='z' | 'A'..='Z') => bail!(Unsupported, "the data type {text:?} is not supported"),
        _ => bail!(Metadata, "found {text:?}, expected a data type such as \"<f8\""),
    };
    let kind = rest.next();
    match numeric(kind, rest.as_str()).or_else(|| opaque(kind, rest.as_str())) {
        Some(data_type) => Ok(ElementType::new(data_type, order)),
        None if known(kind, rest.as_str()) => bail!(Unsupported, "the data type {text:?} is not supported"),
        None => bail!(Metadata, "found {text:?}, expected a data type such as \"<f8\""),
    }
}

fn numeric(kind: Option<char>, size: &str) -> Option<DataType> {
    use DataType::*;
    Some(match (kind?, size) {
        ('b', "1") => Bool,
        ('i', "1") => Int8,
        ('i', "2") => Int16,
        ('i', "4") => Int32,
        ('i', "8") => Int64,
        ('u', "1") => UInt8,
        ('u', "2") => UInt16,
        ('u', "4") => UInt32,
        ('u', "8") => UInt64,
        ('f', "2") => Float16,
        ('f', "4") => Float32,
        ('f', "8") => Float64,
        ('c', "8") => Complex64,
        ('c', "16") => Complex128,
        _ => return None,
    })
}

/// Bytes, text and times; of elements without bytes there is nothing to read.
fn opaque(kind: Option<char>, size: &str) -> Option<DataType> {
    let length = || size.parse::<u32>().ok().filter(|n| (1..=MAX_LENGTH).contains(n));
    Some(match kind? {
        'S' | 'a' => DataType::Bytes(length()?),
        'U' => DataType::Text(length()?),
        'V' => DataType::Raw(length()?),
        'M' => DataType::DateTime(unit(size)?),
        'm' => DataType::TimeDelta(unit(size)?),
        _ => return None,
    })
}

/// `8` or `8[25us]`.
fn unit(size: &str) -> Option<Unit> {
    let rest = size.strip_prefix('8')?;
    if rest.is_empty() {
        return Unit::new("generic", 1);
    }
    let inside = rest.strip_prefix('[')?.strip_suffix(']')?;
    let name = inside.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &inside[..inside.len() - name.len()];
    Unit::new(name, if digits.is_empty() { 1 } else { digits.parse().ok()? })
}

/// Whether it is a data type that NumPy can write and this library does not read.
fn known(kind: Option<char>, size: &str) -> bool {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    match kind {
        Some('S' | 'U' | 'V' | 'a') => digits(size),
        Some('O') => size.is_empty() || digits(size),
        Some('M' | 'm') => size == "8" || (size.starts_with("8[") && size.ends_with(']')),
        Some('f') => matches!(size, "12" | "16"),
        Some('c') => matches!(size, "24" | "32"),
        _ => false,
    }
}

/// What follows `M8`: nothing for the generic unit.
fn brackets(unit: Unit) -> String {
    match (unit.name(), unit.scale) {
        ("generic", _) => String::new(),
        (name, 1) => format!("[{name}]"),
        (name, scale) => format!("[{scale}{name}]"),
    }
}

/// The `dtype` member for that type.
pub fn to_json(element: ElementType) -> Value {
    match element.data_type {
        DataType::Struct(s) => to_list(s),
        _ => text(element).into(),
    }
}

/// NumPy's name for that type.
pub(super) fn text(element: ElementType) -> String {
    use DataType::*;
    let code = match element.data_type {
        Bool => "b1",
        Int8 => "i1",
        Int16 => "i2",
        Int32 => "i4",
        Int64 => "i8",
        UInt8 => "u1",
        UInt16 => "u2",
        UInt32 => "u4",
        UInt64 => "u8",
        Float16 => "f2",
        Float32 => "f4",
        Float64 => "f8",
        Complex64 => "c8",
        Complex128 => "c16",
        Bytes(n) | CText(n) => &format!("S{n}"),
        Text(n) => &format!("U{n}"),
        Raw(n) => &format!("V{n}"),
        DateTime(unit) => &format!("M8{}", brackets(unit)),
        TimeDelta(unit) => &format!("m8{}", brackets(unit)),
        VarText | VarBytes | VarJson | VarArray(_) => return "|O".into(),
        Registered(f) => return f.name_v2().unwrap_or(f.name()).to_string(),
        other => return other.name().to_string(),
    };
    let order = match element.order {
        _ if element.data_type.swap_unit() == 1 => '|',
        ByteOrder::Little => '<',
        ByteOrder::Big => '>',
    };
    format!("{order}{code}")
}

/// The type, or that of a field, whose name does not say that its order is not the host's: names that are not NumPy's say none.
pub fn without_order(element: ElementType) -> Option<DataType> {
    match element.data_type {
        DataType::Struct(s) => s.fields().iter().find_map(|f| without_order(f.element)),
        DataType::Narrow(_) | DataType::ComplexNarrow(_) | DataType::Registered(_) if element.swapped() => Some(element.data_type),
        _ => None,
    }
}

impl DataType {
    /// The name that NumPy gives the type in this host's byte order, such as `<f8`.
    pub fn numpy(self) -> String {
        text(ElementType::native(self))
    }
}

/// Reads v2's list of fields.
fn parse_list(list: &[Value]) -> Result<&'static Struct> {
    parse_list_at(list, 1)
}

fn parse_list_at(list: &[Value], depth: usize) -> Result<&'static Struct> {
    if depth > record::MAX_DEPTH {
        bail!(Limit, "found structs more than {} deep", record::MAX_DEPTH);
    }
    let field = |(i, value): (usize, &Value)| field_v2(value, depth).map_err(|e| e.at_field(format!("[{i}]")));
    Struct::packed(list.iter().take(record::MAX_FIELDS + 1).enumerate().map(field).collect::<Result<_>>()?)
}

fn field_v2(value: &Value, depth: usize) -> Result<Field> {
    let (name, data_type, shape) = match value.as_array() {
        Some([name, data_type]) => (name, data_type, None),
        Some([name, data_type, shape]) => (name, data_type, Some(shape)),
        _ => bail!(Metadata, "found {}, expected [name, type] or [name, type, shape]", brief(value)),
    };
    let name = match name {
        Value::String(name) => name.clone(),
        Value::Array(_) => bail!(Unsupported, "found the name {}: fields with a title are not supported", brief(name)),
        other => bail!(Metadata, "found {}, expected the name of a field", brief(other)),
    };
    let element = match data_type {
        Value::Array(list) => ElementType::native(DataType::Struct(parse_list_at(list, depth + 1).map_err(|e| e.at_field("[1]"))?)),
        other => parse(other).map_err(|e| e.at_field("[1]"))?,
    };
    if name.is_empty() && !matches!(element.data_type, DataType::Raw(_)) {
        bail!(Metadata, "found a field without a name of type {}; padding is of type |V", brief(data_type));
    }
    let shape = shape.map_or(Ok(Vec::new()), |s| shape_v2(s).map_err(|e| e.at_field("[2]")))?;
    Ok(Field { name: name.to_string(), offset: 0, element, shape })
}

/// `[2, 3]`, or a bare `2`.
fn shape_v2(value: &Value) -> Result<Vec<u64>> {
    let length =
        |v: &Value| v.as_u64().filter(|n| *n >= 1).ok_or_else(|| err!(Metadata, "found {}, expected a length of at least 1", brief(v)));
    match value {
        Value::Array(list) if list.len() > crate::limits::MAX_RANK => {
            bail!(Limit, "found a shape of rank {}, the limit is {}", list.len(), crate::limits::MAX_RANK)
        }
        Value::Array(list) => list.iter().map(length).collect(),
        bare => Ok(vec![length(bare)?]),
    }
}

/// v2's list of fields.
fn to_list(s: &Struct) -> Value {
    let field = |f: &Field| {
        let mut entry = vec![Value::from(f.name.as_str()), to_json(f.element)];
        if !f.shape.is_empty() {
            entry.push(Value::from(f.shape.clone()));
        }
        Value::Array(entry.into())
    };
    s.fields().iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::json::json;

    #[test]
    fn every_type_comes_back_in_both_orders() {
        for &data_type in DataType::NUMPY {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let element = ElementType::new(data_type, order);
                assert_eq!(parse(&to_json(element)).unwrap(), element);
            }
        }
        for data_type in DataType::numbers().filter(|t| !DataType::NUMPY.contains(t)) {
            assert_eq!(to_json(ElementType::native(data_type)), json!(data_type.name()));
            assert_eq!(parse(&json!(data_type.name())).unwrap(), ElementType::native(data_type));
        }
        assert_eq!(to_json(ElementType::new(DataType::Complex128, ByteOrder::Big)), json!(">c16"));
        assert_eq!(to_json(ElementType::new(DataType::Int8, ByteOrder::Big)), json!("|i1"));
    }

    #[test]
    fn bytes_text_and_times_are_read_and_written() {
        let unit = |name, scale| Unit::new(name, scale).unwrap();
        for (text, data_type) in [
            ("|S12", DataType::Bytes(12)),
            ("|V3", DataType::Raw(3)),
            ("<U3", DataType::Text(3)),
            ("<M8[ns]", DataType::DateTime(unit("ns", 1))),
            ("<m8[25us]", DataType::TimeDelta(unit("us", 25))),
            ("<M8", DataType::DateTime(unit("generic", 1))),
        ] {
            assert_eq!(parse(&json!(text)).unwrap(), ElementType::native(data_type), "{text}");
            assert_eq!(to_json(ElementType::native(data_type)), json!(text));
            let big = text.replace('<', ">");
            assert_eq!(parse(&json!(big.as_str())).unwrap(), ElementType::new(data_type, ByteOrder::Big), "{big}");
        }
        assert_eq!(parse(&json!("<M8[μs]")).unwrap().data_type, DataType::DateTime(unit("us", 1)));
        assert_eq!(parse(&json!("|a4")).unwrap().data_type, DataType::Bytes(4));
        assert_eq!((DataType::Text(3).size(), DataType::Text(3).swap_unit()), (12, 4));
    }

    #[test]
    fn needless_and_missing_orders_are_read() {
        for (text, data_type) in [("<i1", DataType::Int8), (">u1", DataType::UInt8), ("<b1", DataType::Bool), ("|i4", DataType::Int32)] {
            assert_eq!(parse(&json!(text)).unwrap(), ElementType::native(data_type), "{text}");
        }
    }

    #[test]
    fn types_of_others_are_refused_by_name() {
        for text in
            ["|O", "<f16", ">c32", "bfloat8", "float8_e9m9", "int3", "float64", "|O8", "|S0", "<U99999999999", "<M8[lightyears]", "<M8[0s]"]
        {
            let e = parse(&json!(text)).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Unsupported, "{text}");
            assert!(e.message().contains(text), "{e}");
        }
    }

    #[test]
    fn what_is_no_type_is_a_metadata_error() {
        for value in [
            json!(""),
            json!("f8"),
            json!("<"),
            json!("<f"),
            json!("<f3"),
            json!("<f8 "),
            json!("=f8"),
            json!("<x4"),
            json!("<é"),
            json!(8),
            json!(null),
            json!({}),
        ] {
            assert_eq!(parse(&value).unwrap_err().kind(), ErrorKind::Metadata, "{value}");
        }
    }
}
