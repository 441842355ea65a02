//! `.zarray`, `.zgroup` and `.zattrs` ⇄ the model.
//! Specification: Zarr storage specification version 2, "Metadata", "Groups", "Attributes".

use super::extension::Extension;
use super::fields::{chunk_lengths, extents, number_list, separator, wrong_format};
use super::json::{self, member};
use super::{ArrayMeta, Codecs, Dialect, Format, GroupMeta, Map, Order, Value};
use crate::dtype::base64_text::is_padded_base64;
use crate::dtype::fill::{Fill, unsigned};
use crate::dtype::{DataType, ElementType, parse_v2};
use crate::error::{Result, bail};
use crate::grid::Grid;
use crate::grid::key::{KeyEncoding, Separator};
use crate::limits;

/// The name of an array's document, below the node's prefix.
pub const ARRAY: &str = ".zarray";
/// The name of a group's document.
pub const GROUP: &str = ".zgroup";
/// The name of the document of attributes.
pub const ATTRIBUTES: &str = ".zattrs";
/// The name of the document of consolidated metadata.
pub const CONSOLIDATED: &str = ".zmetadata";
/// The attribute in which arrays have the names of their dimensions (xarray's convention).
pub const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// How netCDF-C writes the type of its `char`: the order tells it from strings of that length, though a byte has none (NZ-09).
pub const NC_CHAR: &str = ">S1";
/// The member in which netCDF-C tells of an array, in newer and older writers' spelling.
pub const NCZARR_ARRAY: [&str; 2] = ["_nczarr_array", "_NCZARR_ARRAY"];

/// Reads a `.zarray`.
pub fn parse_array(bytes: &[u8]) -> Result<ArrayMeta> {
    array_from(json::parse_object(bytes, limits::MAX_DOCUMENT)?)
}

/// Reads a `.zgroup`; members beside `zarr_format` are ignored. The version may be the text `"2"` (HD-54).
pub fn parse_group(bytes: &[u8]) -> Result<GroupMeta> {
    let document = json::parse_object(bytes, limits::MAX_DOCUMENT)?;
    if !has_format_as_text(&document) {
        check_format(&document)?;
    }
    Ok(GroupMeta { format: Format::V2, dialect: Dialect::Final, document })
}

/// Whether a group's document has its version as a text, as the package webknossos writes it.
pub fn has_format_as_text(document: &Map) -> bool {
    document.get("zarr_format").and_then(Value::as_str) == Some("2")
}

/// Reads a `.zattrs`; no bytes at all are no attributes, and so is null (HD-19).
pub fn parse_attributes(bytes: &[u8]) -> Result<Map> {
    if bytes.is_empty() || is_null(bytes) { Ok(Map::new()) } else { json::parse_object(bytes, limits::MAX_DOCUMENT) }
}

/// Whether a document is null, as n5-zarr writes attributes of which none is left.
pub fn is_null(bytes: &[u8]) -> bool {
    bytes.trim_ascii() == b"null"
}

/// The model of an array's document. Missing `filters`, `compressor`, `fill_value` and `order` are null, null, null and "C";
/// unknown members are ignored and kept.
pub fn array_from(document: Map) -> Result<ArrayMeta> {
    check_format(&document)?;
    let shape = extents(member(&document, "shape")?).map_err(|e| e.at_field("shape"))?;
    let chunk = chunk_lengths(member(&document, "chunks")?, &shape, None).map_err(|e| e.at_field("chunks"))?;
    let grid = Grid::regular(chunk).map_err(|e| e.at_field("chunks"))?;
    let filters = filter_list(document.get("filters").unwrap_or(&Value::Null)).map_err(|e| e.at_field("filters"))?;
    let compressor = compressor(document.get("compressor").unwrap_or(&Value::Null)).map_err(|e| e.at_field("compressor"))?;
    let element = element_type(member(&document, "dtype")?, filters.first().or(compressor.as_ref())).map_err(|e| e.at_field("dtype"))?;
    let data_type = element.data_type.native();
    let fill = fill_value(&document, element).map_err(|e| e.at_field("fill_value"))?;
    let separator = match said_separator(&document) {
        None => Separator::Dot,
        Some(value) => separator(value).map_err(|e| e.at_field("dimension_separator"))?,
    };
    let codecs = Codecs::V2 { order: order(document.get("order")).map_err(|e| e.at_field("order"))?, element, filters, compressor };
    let keys = KeyEncoding::V2(separator);
    let (format, dialect) = (Format::V2, Dialect::Final);
    Ok(ArrayMeta { format, dialect, shape, data_type, grid, keys, fill, codecs, dimension_names: None, document })
}

/// Reads the fill value. Bytes are base64, unless the document tells that netCDF-C or Zarr.jl wrote it: no other writer gives bytes an order.
fn fill_value(document: &Map, element: ElementType) -> Result<Fill> {
    let value = document.get("fill_value").unwrap_or(&Value::Null);
    let dtype = document.get("dtype").and_then(Value::as_str).unwrap_or_default();
    if (dtype.starts_with(['<', '>']) || has_nczarr_keys(document) && !is_padded_base64(value))
        && let Some(fill) = Fill::from_text(element.data_type, value, dtype == NC_CHAR)?
    {
        return Ok(fill);
    }
    Fill::from_json_v2(element, unsigned(element.data_type, value).as_ref().unwrap_or(value))
}

/// What the fill value of an array means where it is the text itself, if that is another value than it was read as: the attributes may tell that
/// netCDF-C wrote the array.
pub fn fill_as_text(meta: &ArrayMeta) -> Result<Option<Fill>> {
    let value = meta.document.get("fill_value").filter(|_| (meta.format, meta.dialect) == (Format::V2, Dialect::Final));
    let Some(value) = value else { return Ok(None) };
    Ok(Fill::from_text(meta.data_type, value, false)?.filter(|fill| *fill != meta.fill))
}

/// Whether a document or attributes have what netCDF-C tells of an array, in the spelling of any of its versions.
pub fn has_nczarr_keys(members: &Map) -> bool {
    NCZARR_ARRAY.iter().any(|name| members.contains_key(name))
}

/// `dimension_separator` of an array's document. Null, and the empty text of n5-zarr, say nothing (V2-18).
pub fn said_separator(document: &Map) -> Option<&Value> {
    document.get("dimension_separator").filter(|value| !value.is_null() && *value != "")
}

/// A fresh document of an array.
pub fn write_array(meta: &ArrayMeta) -> Result<Map> {
    let mut out = Map::new();
    let chunk = meta.grid.largest(&meta.shape);
    let separator = meta.keys.separator();
    out.insert("zarr_format".into(), 2.into());
    out.insert("shape".into(), number_list(&meta.shape));
    out.insert("chunks".into(), number_list(&chunk));
    let mut stored = ElementType::native(meta.data_type);
    if let Codecs::V2 { order, element, filters, compressor } = &meta.codecs {
        stored = *element;
        out.insert("dtype".into(), parse_v2::to_json(*element));
        out.insert("order".into(), if *order == Order::F { "F" } else { "C" }.into());
        let filters: Vec<Value> = filters.iter().map(Extension::to_v2).collect();
        out.insert("filters".into(), if filters.is_empty() { Value::Null } else { Value::Array(filters.into()) });
        out.insert("compressor".into(), compressor.as_ref().map_or(Value::Null, Extension::to_v2));
    }
    out.insert("fill_value".into(), meta.fill.to_json_v2(stored)?);
    out.insert("dimension_separator".into(), separator.char().to_string().into());
    Ok(out)
}

/// A fresh `.zgroup`: exactly `{"zarr_format": 2}` (V2-10).
pub fn write_group() -> Map {
    let mut out = Map::new();
    out.insert("zarr_format".into(), 2.into());
    out
}

/// Reads `filters`: null or a list; an empty list is null.
pub fn filter_list(value: &Value) -> Result<Vec<Extension>> {
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list,
        other => bail!(Metadata, "found {}, expected null or a list", json::brief(other)),
    };
    if list.len() > limits::MAX_CODECS {
        bail!(Limit, "found {} filters, the limit is {}", list.len(), limits::MAX_CODECS);
    }
    list.iter().enumerate().map(|(i, v)| Extension::from_v2(v).map_err(|e| e.at_field(format!("[{i}]")))).collect()
}

/// Reads `compressor`: null or an object with an `id`.
pub fn compressor(value: &Value) -> Result<Option<Extension>> {
    if value.is_null() { Ok(None) } else { Extension::from_v2(value).map(Some) }
}

/// The type that `dtype` means. That of objects (`|O`) is what their codec, the first of all, makes bytes of.
fn element_type(dtype: &Value, first: Option<&Extension>) -> Result<ElementType> {
    if !matches!(dtype, Value::String(s) if s == "|O") {
        return parse_v2::parse(dtype);
    }
    let data_type = match first.map(|codec| (codec.name.as_str(), codec)) {
        Some(("vlen-utf8" | "categorize", _)) => DataType::VarText,
        Some(("vlen-bytes", _)) => DataType::VarBytes,
        Some(("json2" | "msgpack2", _)) => DataType::VarJson,
        Some(("vlen-array", codec)) => array_type(codec.configuration.get("dtype").unwrap_or(&Value::Null))?,
        // The chain refuses it by name; metadata and attributes are of use all the same.
        Some(("pickle", _)) => DataType::VarBytes,
        Some((other, _)) => bail!(Unsupported, "found objects (\"|O\") with {other:?}, expected a codec of objects such as \"vlen-utf8\""),
        None => bail!(Metadata, "found objects (\"|O\") without a codec of objects such as \"vlen-utf8\" among the filters"),
    };
    Ok(ElementType::native(data_type))
}

/// The type of objects that are arrays of numbers.
fn array_type(dtype: &Value) -> Result<DataType> {
    let element = parse_v2::parse(dtype)?;
    match DataType::ALL.iter().find(|t| **t == element.data_type) {
        Some(number) => Ok(DataType::VarArray(number)),
        None => bail!(Unsupported, "found arrays of {}, expected the type of a number", element.data_type.name()),
    }
}

fn check_format(document: &Map) -> Result<()> {
    let format = member(document, "zarr_format")?;
    if json::get_u64(format).is_ok_and(|n| n == 2) {
        return Ok(());
    }
    let advice = if json::get_u64(format).is_ok_and(|n| n == 1) { " (version 1 is not supported)" } else { "" };
    Err(wrong_format(format, 2, advice))
}

/// Makes a document say the chunks of that grid; where it does already, it keeps its words.
pub fn keep_chunks(document: &mut Map, grid: &Grid) {
    let says = document.get("chunks").and_then(|value| extents(value).ok());
    if let Some(chunk) = grid.regular_shape().filter(|&chunk| says.as_deref() != Some(chunk)) {
        document.insert("chunks".into(), number_list(chunk));
    }
}

fn order(value: Option<&Value>) -> Result<Order> {
    match value {
        None => Ok(Order::C),
        Some(Value::String(s)) if s == "C" => Ok(Order::C),
        Some(Value::String(s)) if s == "F" => Ok(Order::F),
        Some(other) => bail!(Metadata, "found {}, expected \"C\" or \"F\"", json::brief(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::{ByteOrder, DataType};
    use crate::error::ErrorKind;

    const DOCUMENT: &str = r#"{"zarr_format":2,"shape":[20,0],"chunks":[10,10],"dtype":">f8","order":"F","fill_value":"NaN",
        "filters":[{"id":"delta","dtype":"<f8"}],"compressor":{"id":"zlib","level":1},"dimension_separator":"/","_nczarr_array":{"x":1}}"#;

    fn edited(name: &str, value: Option<&str>) -> Vec<u8> {
        let mut document = json::parse_object(DOCUMENT.as_bytes(), 1 << 20).unwrap();
        match value {
            Some(v) => document.insert(name.into(), json::parse_text(v).unwrap()),
            None => document.shift_remove(name),
        };
        json::to_text(&Value::Object(document)).into_bytes()
    }

    #[test]
    fn an_array_is_read_and_written_as_the_same() {
        let a = parse_array(DOCUMENT.as_bytes()).unwrap();
        assert_eq!((a.data_type, a.keys), (DataType::Float64, KeyEncoding::V2(Separator::Slash)));
        let Codecs::V2 { order, element, filters, compressor } = &a.codecs else { panic!() };
        assert_eq!((*order, element.order), (Order::F, ByteOrder::Big));
        assert_eq!((filters[0].name.as_str(), compressor.as_ref().unwrap().name.as_str()), ("delta", "zlib"));
        assert!(a.document.contains_key("_nczarr_array"));
        let written = write_array(&a).unwrap();
        assert!(!written.contains_key("_nczarr_array"));
        let b = array_from(written).unwrap();
        assert_eq!((&a.shape, &a.grid, a.keys, &a.codecs, a.fill.value), (&b.shape, &b.grid, b.keys, &b.codecs, b.fill.value));
    }

    #[test]
    fn tolerated_forms() {
        let cases: &[(&str, Option<&str>)] = &[
            ("filters", None),
            ("filters", Some("[]")),
            ("compressor", None),
            ("fill_value", None),
            ("order", None),
            ("dimension_separator", None),
            ("dimension_separator", Some("null")),
            ("dimension_separator", Some("\"\"")),
            ("chunks", Some("[10,0]")),
            ("chunks", Some("[true,0]")),
            ("chunks", Some("[100,1]")),
        ];
        for (name, value) in cases {
            let meta = parse_array(&edited(name, *value)).unwrap_or_else(|e| panic!("{name} {value:?}: {e}"));
            if *name == "fill_value" {
                assert!(!meta.fill.defined);
            }
            if *name == "filters" {
                assert!(matches!(&meta.codecs, Codecs::V2 { filters, .. } if filters.is_empty()));
                assert!(write_array(&meta).unwrap()["filters"].is_null());
            }
            if *name == "dimension_separator" {
                assert_eq!(meta.keys, KeyEncoding::V2(Separator::Dot));
            }
        }
    }

    #[test]
    fn refused_forms_have_their_kind_and_field() {
        use ErrorKind::*;
        let cases: &[(&str, Option<&str>, ErrorKind, &str)] = &[
            ("zarr_format", None, Metadata, "zarr_format"),
            ("zarr_format", Some("1"), Metadata, "version 1"),
            ("zarr_format", Some("3"), Metadata, "expected 2"),
            ("zarr_format", Some("4"), Unsupported, "found 4"),
            ("zarr_format", Some("2.0"), Metadata, "2.0"),
            ("zarr_format", Some("\"2\""), Metadata, "zarr_format"),
            ("shape", None, Metadata, "shape"),
            ("chunks", None, Metadata, "chunks"),
            ("dtype", None, Metadata, "dtype"),
            ("chunks", Some("[10]"), Metadata, "found 1 extents, expected 2"),
            ("chunks", Some("[0,10]"), Metadata, "dimension 0"),
            ("order", Some("\"A\""), Metadata, "order"),
            ("filters", Some("{}"), Metadata, "filters"),
            ("filters", Some("[{}]"), Metadata, "filters[0]"),
            ("compressor", Some("\"zlib\""), Metadata, "compressor"),
            ("dimension_separator", Some("\"-\""), Metadata, "dimension_separator"),
        ];
        for (name, value, kind, text) in cases {
            let e = parse_array(&edited(name, *value)).expect_err(name);
            assert_eq!(e.kind(), *kind, "{name} {value:?}: {e}");
            assert!(e.to_string().contains(text), "{name} {value:?}: {e}");
        }
    }

    #[test]
    fn fill_values_of_bytes_are_text_where_the_document_tells_the_writer() {
        let none: &[u8] = b"\x9e\x89\xde";
        let cases: &[(&str, &str, bool, &[u8])] = &[
            ("|S8", "\"none\"", false, none),
            ("|S8", "\"none\"", true, b"none"),
            ("|S8", "[\"none\"]", true, b"none"),
            ("<S8", "\"none\"", false, b"none"),
            ("|S8", "\"no-data\"", false, b"no-data"),
            ("|S8", "\"\"", true, b""),
            // As zarr-python writes it, beside keys of netCDF-C.
            ("|S8", "\"bm9uZQ==\"", true, b"none"),
            ("|S12", "\"bm8tZGF0YQ==\"", true, b"no-data"),
            ("|S8", "\"a=b==\"", true, b"a=b=="),
            ("|S3", "\"none\"", true, none),
            // As this library wrote it before: longer than the element.
            ("|S8", "\"bm9uZQAAAAA=\"", true, b"none"),
            ("|S8", "0", true, b""),
            (">S1", "7", false, b"7"),
            (">S1", "0", false, b"0"),
            (">S1", "\"0\"", false, b"0"),
            (">S1", "\"\"", false, b""),
            (">S1", "\"eA==\"", false, b"x"),
            ("|S1", "0", false, b""),
        ];
        for (dtype, fill, nczarr, want) in cases {
            let keys = if *nczarr { r#","_NCZARR_ARRAY":{}"# } else { "" };
            let members = r#""zarr_format":2,"shape":[2],"chunks":[2],"order":"C","filters":null,"compressor":null"#;
            let text = format!(r#"{{{members},"dtype":"{dtype}","fill_value":{fill}{keys}}}"#);
            let meta = parse_array(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"));
            let found = meta.fill.element(meta.data_type);
            assert_eq!(found.to_vec(), [want, &vec![0; found.len() - want.len()][..]].concat(), "{text}");
            let is_padded = fill.starts_with("\"bm") && fill.ends_with("==\"");
            assert_eq!(fill_as_text(&meta).unwrap().is_some(), *want == none && *dtype == "|S8" || is_padded, "{text}");
        }
    }

    #[test]
    fn lists_of_what_is_no_number_are_refused_by_name() {
        let document = |dtype: &str| {
            let filters = format!(r#"[{{"id":"vlen-array","dtype":"{dtype}"}}]"#);
            let mut document = json::parse_object(&edited("filters", Some(&filters)), 1 << 20).unwrap();
            document.insert("dtype".into(), "|O".into());
            document.insert("fill_value".into(), 0.into());
            document
        };
        assert_eq!(array_from(document(">i2")).unwrap().data_type, DataType::VarArray(&DataType::Int16));
        for dtype in ["<U3", "|S3", "|V4", "<M8[s]", ">m8[ms]", "|O"] {
            let e = array_from(document(dtype)).expect_err(dtype);
            assert!(matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::Metadata), "{dtype}: {e}");
            assert!(e.to_string().contains("dtype"), "{dtype}: {e}");
        }
    }

    #[test]
    fn groups_and_attributes() {
        assert!(parse_group(br#"{"zarr_format":2,"_nczarr_group":{}}"#).is_ok());
        assert!(parse_group(br#"{"zarr_format":"2"}"#).is_ok());
        for other in [r#"{"zarr_format":3}"#, r#"{"zarr_format":"3"}"#, r#"{"zarr_format":2.0}"#] {
            assert_eq!(parse_group(other.as_bytes()).unwrap_err().kind(), ErrorKind::Metadata, "{other}");
        }
        assert!(parse_group(b"").is_err());
        assert_eq!(write_group().len(), 1);
        assert!(parse_attributes(b"").unwrap().is_empty());
        assert!(parse_attributes(b"null").unwrap().is_empty() && parse_attributes(b" null\n").unwrap().is_empty());
        assert!(parse_attributes(b"[]").is_err() && parse_attributes(b"nulls").is_err());
        assert_eq!(parse_attributes(br#"{"a":NaN}"#).unwrap().len(), 1);
    }
}
