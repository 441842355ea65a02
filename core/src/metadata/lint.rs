//! Finds what in a document deviates from the specification and is read all the same, each finding with the id of its row in
//! docs/formats.md.
//!
//! The parsers are lenient and silent; this second look is taken only for a context with a log or in strict mode.

use super::extension::is_bare;
use super::json::{self, brief, has_non_finite};
use super::v2::{self, said_separator};
use super::v3::CONSOLIDATED;
use super::{ArrayMeta, Format, Map, Value, draft};
use crate::dtype::DataType;
use crate::dtype::base64_text::{is_base64, is_doubtful_base64};
use crate::dtype::fill::Fill;
use crate::error::beginning;

/// How far a document is from what the specification says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Allowed, but perhaps not what was meant: told at the level of information.
    Info,
    /// Allowed, and worth a warning.
    Warning,
    /// Not as the specification has it: a warning, and an error in strict mode.
    Deviation,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How far it is from the specification.
    pub severity: Severity,
    /// The id of its row in docs/formats.md.
    pub id: &'static str,
    /// What it is, and how it is read.
    pub text: String,
}

impl Finding {
    /// A finding of that severity.
    pub fn new(severity: Severity, id: &'static str, text: impl Into<String>) -> Finding {
        Finding { severity, id, text: text.into() }
    }
}

/// Collects findings.
struct Findings(Vec<Finding>);

impl Findings {
    fn deviation(&mut self, id: &'static str, text: impl Into<String>) {
        self.0.push(Finding::new(Severity::Deviation, id, text));
    }

    fn info(&mut self, id: &'static str, text: impl Into<String>) {
        self.0.push(Finding::new(Severity::Info, id, text));
    }
}

/// Of the bytes of a document that was read: a byte-order mark, repeated names.
pub fn in_text(bytes: &[u8]) -> Vec<Finding> {
    let mut findings = Findings(Vec::new());
    if bytes.starts_with(json::BYTE_ORDER_MARK) {
        findings.deviation("HD-01", "a byte-order mark is in front of the document");
    }
    for name in json::repeated_names(bytes) {
        findings.deviation("HD-02", format!("the member {:?} is there more than once; the last one counts", beginning(&name)));
    }
    findings.0
}

/// Of attributes: bare NaN and infinities, text that is no Unicode.
pub fn in_attributes(attributes: &Map) -> Vec<Finding> {
    let mut findings = Findings(Vec::new());
    for (name, value) in attributes {
        if has_non_finite(value) {
            findings.deviation("HD-05", format!("the attribute {:?} holds a bare NaN or Infinity", beginning(name)));
        }
        if json::has(value, |value| matches!(value, Value::HalfPairs(_))) {
            findings.deviation("HD-07", format!("the attribute {:?} holds half of a surrogate pair, which is no Unicode", beginning(name)));
        }
    }
    findings.0
}

/// Of a node's document.
pub fn in_document(format: Format, is_array: bool, document: &Map) -> Vec<Finding> {
    let mut findings = Findings(Vec::new());
    match (format, is_array) {
        (Format::V2, true) => array_v2(document, &mut findings),
        (Format::V2, false) => group_v2(document, &mut findings),
        (Format::V3, true) => array_v3(document, &mut findings),
        (Format::V3, false) => group_v3(document, &mut findings),
    }
    findings.0
}

/// Of a node's document in the first draft of version 3.
pub fn in_draft(is_array: bool, document: &Map) -> Vec<Finding> {
    let mut findings = Findings(Vec::new());
    if is_array && !document.contains_key("chunk_memory_layout") {
        findings.deviation("D0-29", "\"chunk_memory_layout\" is missing and taken as \"C\"");
    }
    if let Some(Value::Object(attributes)) = document.get("attributes") {
        findings.0.extend(in_attributes(attributes));
    }
    findings.0
}

/// Of the fill value of bytes in version 2, which is base64 by the specification: some writers have the text itself there. `has_keys`: whether the
/// attributes say that the writer is netCDF-C, whose convention that is.
pub fn in_fill(meta: &ArrayMeta, has_keys: impl FnOnce() -> bool) -> Option<Finding> {
    let (DataType::Bytes(_), Format::V2) = (meta.data_type, meta.format) else { return None };
    let (value, dtype) = (meta.document.get("fill_value")?, meta.document.get("dtype")?.as_str()?);
    let text = value.as_str()?;
    if is_base64(text) && Fill::from_json_v2(meta.data_type, value).is_ok_and(|fill| fill == meta.fill) {
        let message = "is taken as base64 of bytes that are no text; its writer may have meant the text itself";
        let is_doubtful = is_doubtful_base64(text) && v2::fill_as_text(meta).is_ok_and(|fill| fill.is_some());
        return is_doubtful
            .then(|| Finding::new(Severity::Warning, "VM-55", format!("the fill value {:?} of {dtype:?} {message}", beginning(text))));
    }
    let by_netcdf = dtype == v2::NC_CHAR || v2::has_nczarr_keys(&meta.document) || has_keys();
    let message = || format!("the fill value {} of {dtype:?} is taken as the text itself, expected base64", brief(value));
    (!by_netcdf).then(|| Finding::new(Severity::Deviation, "VM-55", message()))
}

fn group_v2(document: &Map, findings: &mut Findings) {
    if v2::has_format_as_text(document) {
        findings.deviation("HD-54", "\"zarr_format\" is the text \"2\", expected the number 2");
    }
    for name in document.keys().filter(|name| *name != "zarr_format") {
        findings.deviation("HD-17", format!("the group's document has the member {:?}; expected only \"zarr_format\"", beginning(name)));
    }
}

/// The members of a `.zarray`.
const ARRAY_V2: &[&str] =
    &["zarr_format", "shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters", "dimension_separator"];

fn array_v2(document: &Map, findings: &mut Findings) {
    for (name, id, taken) in
        [("compressor", "HD-10", "null"), ("filters", "VM-01", "null"), ("fill_value", "VM-01", "null"), ("order", "VM-01", "\"C\"")]
    {
        if !document.contains_key(name) {
            findings.deviation(id, format!("the member {name:?} is missing and taken as {taken}"));
        }
    }
    for name in document.keys().filter(|name| !ARRAY_V2.contains(&name.as_str())) {
        findings.info("HD-17", format!("the unknown member {:?} is ignored", beginning(name)));
    }
    if let Some(value) = document.get("dimension_separator").filter(|_| said_separator(document).is_none()) {
        findings.deviation("V2-18", format!("\"dimension_separator\" is {} and taken as missing", brief(value)));
    }
    if document.get("chunks").is_some_and(|chunks| json::has(chunks, is_odd_length)) {
        findings.deviation("VM-04", "a chunk's length of 0 or true is taken as 1");
    }
    if document.get("filters").and_then(Value::as_array).is_some_and(<[Value]>::is_empty) {
        findings.deviation("HD-10", "\"filters\" is an empty list and taken as null");
    }
    let filters = document.get("filters").and_then(Value::as_array).into_iter().flatten();
    for codec in filters.chain(document.get("compressor")).filter_map(Value::as_object) {
        codec_v2(codec, findings);
    }
    if let Some(dtype) = document.get("dtype") {
        dtype_v2(dtype, findings);
        fill_v2(dtype.as_str().unwrap_or_default(), document.get("fill_value").unwrap_or(&Value::Null), findings);
    }
}

/// What zarr-python wrote for a length of a chunk, and what is no length.
fn is_odd_length(value: &Value) -> bool {
    match value {
        Value::Bool(is_true) => *is_true,
        Value::Number(number) => number.as_u64().is_none_or(|n| n == 0),
        _ => false,
    }
}

/// A list in a list.
fn has_list(value: &Value) -> bool {
    value.as_array().is_some_and(|axes| axes.iter().any(|axis| axis.as_array().is_some()))
}

/// An order of bytes where there is nothing to order, or none where there is; units that are missing.
fn dtype_v2(dtype: &Value, findings: &mut Findings) {
    if let Value::Array(fields) = dtype {
        for field in fields.iter().filter_map(Value::as_array) {
            if let Some(dtype) = field.get(1) {
                dtype_v2(dtype, findings);
            }
        }
        return;
    }
    let Some(text) = dtype.as_str() else { return };
    let (Some(order), Some(kind), size) = (text.chars().next(), text.chars().nth(1), text.get(2..).unwrap_or_default()) else { return };
    let one_byte = matches!(kind, 'S' | 'V' | 'a' | 'b') || (matches!(kind, 'i' | 'u') && size == "1");
    match (order, one_byte) {
        ('<' | '>', true) => findings.deviation("HD-23", format!("the data type {text:?} has a byte order without a meaning")),
        ('|', false) if matches!(kind, 'i' | 'u' | 'f' | 'c' | 'U' | 'M' | 'm') => {
            findings.deviation("HD-23", format!("the data type {text:?} has no byte order; little-endian is taken"));
        }
        _ => {}
    }
    if matches!(kind, 'M' | 'm') && size == "8" {
        findings.deviation("VM-29", format!("the data type {text:?} has no unit"));
    }
}

/// Spellings of a fill value beside those of the specification.
fn fill_v2(dtype: &str, fill: &Value, findings: &mut Findings) {
    let kind = dtype.chars().nth(1).filter(|_| !dtype.contains("float") && !dtype.contains("int")).unwrap_or(' ');
    if has_non_finite(fill) {
        findings.deviation("VM-62", format!("the fill value is the bare token {}", brief(fill)));
        return;
    }
    let id = match (kind, fill) {
        ('f' | 'c', Value::Null) => {
            return findings.info("HD-13", "the fill value is null: missing chunks read as 0; the writer may have meant NaN");
        }
        (_, Value::Null) => return,
        (_, Value::Array(items)) if items.len() == 1 => "HD-12",
        ('c', Value::Array(parts)) if parts.iter().all(is_float_v2) => return,
        ('f', value) if is_float_v2(value) => return,
        ('f' | 'c', _) => "VM-61",
        ('u', Value::Number(n)) if n.as_i64().is_some_and(|n| n < 0) => "HD-12",
        ('i' | 'u', Value::Number(n)) if n.is_integer() => return,
        ('i' | 'u', _) => "HD-12",
        ('b', Value::Bool(_)) => return,
        ('b', _) => "VM-53",
        ('M' | 'm', Value::Number(_)) => return,
        ('M' | 'm', _) => "VM-58",
        ('S' | 'V' | 'U' | 'O' | 'a', Value::Number(_)) => "HD-12",
        _ => return,
    };
    findings.deviation(id, format!("the fill value {} of {dtype:?} is not as the specification writes it", brief(fill)));
}

fn is_float_v2(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity"),
        _ => false,
    }
}

/// The parameters that numcodecs gives each codec.
const CODECS_V2: &[(&str, &[&str])] = &[
    ("zlib", &["level"]),
    ("gzip", &["level"]),
    ("bz2", &["level"]),
    ("lzma", &["format", "check", "preset", "filters"]),
    ("zstd", &["level", "checksum"]),
    ("lz4", &["acceleration"]),
    ("blosc", &["cname", "clevel", "shuffle", "blocksize", "typesize"]),
    ("delta", &["dtype", "astype"]),
    ("fixedscaleoffset", &["offset", "scale", "dtype", "astype"]),
    ("quantize", &["digits", "dtype", "astype"]),
    ("bitround", &["keepbits"]),
    ("packbits", &[]),
    ("categorize", &["labels", "dtype", "astype"]),
    ("astype", &["encode_dtype", "decode_dtype"]),
    ("shuffle", &["elementsize"]),
    ("base64", &[]),
    ("crc32", &["location"]),
    ("crc32c", &["location"]),
    ("adler32", &["location"]),
    ("fletcher32", &[]),
    ("jenkins_lookup3", &["initval", "prefix"]),
    ("vlen-utf8", &[]),
    ("vlen-bytes", &[]),
    ("vlen-array", &["dtype"]),
];

fn codec_v2(codec: &Map, findings: &mut Findings) {
    let Some(id) = codec.get("id").and_then(Value::as_str) else { return };
    if let Some((_, known)) = CODECS_V2.iter().find(|(name, _)| *name == id) {
        for name in codec.keys().filter(|name| *name != "id" && !known.contains(&name.as_str())) {
            findings.deviation("HD-14", format!("the unknown member {name:?} of the codec {id:?} is ignored"));
        }
    }
    if id == "blosc" && codec.get("shuffle").and_then(Value::as_i64) == Some(-1) {
        findings.deviation("HD-15", "the blosc shuffle -1 is decided by the writer; the stored bytes say how");
    }
    let numeric = ["level", "clevel", "blocksize", "shuffle", "elementsize", "keepbits", "digits", "acceleration", "preset"];
    for (name, value) in codec.iter().filter(|(name, value)| value.is_string() && numeric.contains(&name.as_str())) {
        findings.deviation("HD-14", format!("the number {} of the codec {id:?}, {name:?}, is written as a text", brief(value)));
    }
    if codec.get("checksum").is_some_and(Value::is_string) {
        findings.deviation("HD-14", format!("the codec {id:?} has \"checksum\" as a text, not as true or false"));
    }
}

/// What both kinds of v3 nodes have.
fn node_v3(document: &Map, findings: &mut Findings) {
    match document.get("attributes") {
        Some(Value::Null) => findings.deviation("HD-31", "\"attributes\" is null and taken as empty"),
        Some(Value::Object(attributes)) => findings.0.extend(in_attributes(attributes)),
        _ => {}
    }
    if !document.contains_key("node_type") {
        findings.deviation("HD-51", "\"node_type\" is missing; a document with a shape is an array's");
    }
}

fn group_v3(document: &Map, findings: &mut Findings) {
    node_v3(document, findings);
    match document.get(CONSOLIDATED) {
        None => {}
        Some(Value::Object(object)) => match (object.get("kind"), object.get("metadata")) {
            (None, _) => findings.deviation("HD-30", "the consolidated metadata have no \"kind\"; \"inline\" is taken"),
            (Some(kind), _) if kind.as_str() != Some("inline") => {
                let text = format!("consolidated metadata of the kind {} are ignored", brief(kind));
                findings.0.push(Finding::new(Severity::Warning, "HD-30", text));
            }
            (_, Some(Value::Object(_))) => {}
            _ => findings.deviation("HD-30", "the consolidated metadata hold no \"metadata\" and are ignored"),
        },
        Some(other) => findings.deviation("HD-30", format!("the consolidated metadata are {} and are ignored", brief(other))),
    }
}

/// Names of data types beside those of the registry, and what they are.
const TYPE_ALIASES: &[(&str, &str)] = &[
    ("complex_float32", "complex64"),
    ("complex_float64", "complex128"),
    ("binary", "bytes"),
    ("variable_length_bytes", "bytes"),
    ("structured", "struct"),
    ("raw_bytes", "r*"),
];

fn array_v3(document: &Map, findings: &mut Findings) {
    node_v3(document, findings);
    for name in ["dimension_names", "storage_transformers"] {
        if document.get(name).is_some_and(Value::is_null) {
            findings.deviation("HD-32", format!("{name:?} is null and taken as missing"));
        }
    }
    let data_type = document.get("data_type").and_then(name_of).unwrap_or_default();
    if let Some((alias, name)) = TYPE_ALIASES.iter().find(|(alias, _)| *alias == data_type) {
        findings.0.push(Finding::new(Severity::Warning, "HD-36", format!("the data type {alias:?} is another name of {name:?}")));
    }
    fill_v3(data_type, document.get("fill_value").unwrap_or(&Value::Bool(false)), findings);
    let grid = document.get("chunk_grid");
    if grid.is_some_and(|grid| json::has(grid, is_odd_length)) {
        findings.deviation("V3-40", "a chunk's length of 0, true or with a fraction is taken as the least, 1 or without it");
    }
    let lengths = grid.and_then(|grid| grid.get("configuration")).and_then(|configuration| configuration.get("chunk_shape"));
    if grid.and_then(name_of) == Some("regular") && lengths.is_some_and(has_list) {
        findings.deviation("V3-40", "the regular grid lists lengths of chunks and is taken as a rectilinear one");
    }
    key_encoding(document.get("chunk_key_encoding"), findings);
    match document.get("codecs") {
        None => findings.deviation("HD-35", "\"codecs\" is missing; the elements are taken as little-endian"),
        Some(Value::Array(codecs)) => {
            bytes_v3(codecs, findings);
            codecs.iter().for_each(|codec| codec_v3(codec, findings));
        }
        _ => {}
    }
}

fn bytes_v3(codecs: &[Value], findings: &mut Findings) {
    if draft::lacks_bytes(codecs.iter()) {
        findings.deviation("HD-35", "no codec makes bytes of the elements; they are taken as little-endian");
    }
}

/// Returns the name of an extension, which is an object or only a name; `None` if it is neither.
fn name_of(extension: &Value) -> Option<&str> {
    extension.as_str().or_else(|| extension.get("name")?.as_str())
}

fn fill_v3(data_type: &str, fill: &Value, findings: &mut Findings) {
    if has_non_finite(fill) {
        return findings.deviation("HD-40", format!("the fill value is the bare token {}", brief(fill)));
    }
    if fill.is_null() && !matches!(data_type, "string" | "bytes" | "variable_length_bytes" | "variable_length_utf8") {
        return findings.deviation("HD-40", "the fill value is null and taken as 0");
    }
    let digits = match data_type {
        "float16" => 4,
        "float32" | "complex64" => 8,
        "float64" | "complex128" => 16,
        _ => 0,
    };
    let is_usual = |value: &Value| match value {
        Value::Number(_) => true,
        Value::String(text) if digits > 0 => {
            let hex = |h: &str| h.len() == digits && h.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
            matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity") || text.strip_prefix("0x").is_some_and(hex)
        }
        _ => false,
    };
    let odd = match (digits, fill) {
        (0, Value::Number(n)) if data_type.starts_with("uint") && n.as_i64().is_some_and(|n| n < 0) => true,
        (0, Value::Number(n)) => data_type.contains("int") && n.text().contains(['.', 'e', 'E']),
        (0, Value::String(_)) => data_type.contains("int") && !data_type.starts_with('r'),
        (0, _) => false,
        (_, Value::Array(parts)) => !parts.iter().all(is_usual),
        (_, value) => !is_usual(value),
    };
    if odd {
        findings.deviation("HD-40", format!("the fill value {} of {data_type} is not as the specification writes it", brief(fill)));
    }
}

fn key_encoding(value: Option<&Value>, findings: &mut Findings) {
    let Some(Value::Object(object)) = value else { return };
    if object.contains_key("separator") {
        findings.deviation("HD-42", "the separator of the chunk keys is beside the name of the encoding, expected in its configuration");
    }
    if object.get("configuration").is_some_and(Value::is_null) {
        findings.deviation("HD-42", "the configuration of the chunk keys is null");
    }
}

fn codec_v3(codec: &Value, findings: &mut Findings) {
    let Some(name) = name_of(codec) else { return };
    let configuration = codec.get("configuration");
    let member = |member: &str| configuration.and_then(|c| c.get(member));
    if configuration.is_some_and(Value::is_null) {
        findings.deviation("HD-33", format!("the configuration of the codec {name:?} is null"));
    }
    if name == "endian" {
        findings.deviation("HD-35", "the codec \"endian\" is \"bytes\" by now");
    }
    if is_bare(name) || name.starts_with("numcodecs.") || name.starts_with("https://") || name.starts_with("zarrs.") {
        findings.0.push(Finding::new(Severity::Warning, "HD-37", format!("the codec {name:?} has a name of one writer's own")));
    }
    let missing = |members: &[&str]| members.iter().any(|m| member(m).is_none());
    match name {
        "blosc" if !member("shuffle").is_some_and(Value::is_string) => {
            findings.deviation("HD-38", "\"shuffle\" of blosc is no text; the bytes say it")
        }
        "blosc"
            if member("typesize").is_none_or(|n| n.as_u64() == Some(0))
                && member("shuffle").and_then(Value::as_str) != Some("noshuffle") =>
        {
            findings.deviation("HD-38", "\"typesize\" of blosc is missing or 0; the stored bytes say it");
        }
        "zstd" if missing(&["level", "checksum"]) => findings.deviation("HD-39", "a parameter of zstd is missing"),
        "gzip" if missing(&["level"]) => findings.deviation("HD-39", "\"level\" of gzip is missing"),
        "transpose" if member("order").is_some_and(Value::is_string) => {
            findings.deviation("HD-33", "the order of transpose is a letter, as before the final version 3");
        }
        _ => {}
    }
    for list in ["codecs", "index_codecs"] {
        let inner = member(list).and_then(Value::as_array).unwrap_or_default();
        if name == "sharding_indexed" && member(list).is_some() {
            bytes_v3(inner, findings);
        }
        inner.iter().for_each(|codec| codec_v3(codec, findings));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Map {
        json::parse_object(text.as_bytes(), 1 << 20).unwrap()
    }

    fn ids(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|n| n.id).collect()
    }

    /// The ids for a document in which one member is replaced, or removed where the value is empty.
    fn edited(base: &str, format: Format, name: &str, value: &str) -> Vec<&'static str> {
        let mut document = document(base);
        if value.is_empty() {
            document.shift_remove(name);
        } else {
            document.insert(name.into(), json::parse(value.as_bytes(), 999).unwrap());
        }
        in_document(format, true, &document).iter().map(|n| n.id).collect()
    }

    #[test]
    fn texts_are_odd_by_their_bytes() {
        assert_eq!(ids(&in_text(b"\xEF\xBB\xBF{\"a\":1,\"a\":2}")), ["HD-01", "HD-02"]);
        assert!(in_text(b"{\r\n\"a\": 1}\r\n\n").is_empty());
        assert_eq!(ids(&in_attributes(&document(r#"{"a":[1,{"b":-Infinity}],"c":"NaN"}"#))), ["HD-05"]);
    }

    #[test]
    fn arrays_of_version_2_are_odd_by_their_members() {
        let base =
            r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<f8","compressor":null,"fill_value":0,"order":"C","filters":null}"#;
        assert!(in_document(Format::V2, true, &document(base)).is_empty());
        let cases: &[(&str, &str, &[&str])] = &[
            ("compressor", "", &["HD-10"]),
            ("filters", "", &["VM-01"]),
            ("filters", "[]", &["HD-10"]),
            ("order", "", &["VM-01"]),
            ("fill_value", "", &["VM-01", "HD-13"]),
            ("fill_value", "null", &["HD-13"]),
            ("fill_value", "NaN", &["VM-62"]),
            ("fill_value", "\"NaN\"", &[]),
            ("fill_value", "\"+Infinity\"", &["VM-61"]),
            ("fill_value", "\"1.5\"", &["VM-61"]),
            ("fill_value", "[1]", &["HD-12"]),
            ("dimension_separator", "null", &["V2-18"]),
            ("dimension_separator", "\"\"", &["V2-18"]),
            ("dimension_separator", "\"/\"", &[]),
            ("chunks", "[0]", &["VM-04"]),
            ("chunks", "[true]", &["VM-04"]),
            ("_nczarr_array", "{}", &["HD-17"]),
            ("dtype", "\"|f8\"", &["HD-23"]),
            ("dtype", "\"<u1\"", &["HD-23"]),
            ("dtype", "\"<S5\"", &["HD-23", "HD-12"]),
            ("dtype", "\"|i4\"", &["HD-23"]),
            ("dtype", "\"<M8\"", &["VM-29"]),
            ("dtype", "\"|b1\"", &["VM-53"]),
            ("dtype", r#"[["a",">u1"],["b","<f4"]]"#, &["HD-23"]),
            ("compressor", r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":-1,"nthreads":2}"#, &["HD-14", "HD-15"]),
            ("compressor", r#"{"id":"zlib","level":"1"}"#, &["HD-14"]),
            ("compressor", r#"{"id":"zstd","level":1,"checksum":"NO"}"#, &["HD-14"]),
            ("compressor", r#"{"id":"zstd","level":1,"checksum":true}"#, &[]),
            ("filters", r#"[{"id":"delta","dtype":"<f8","x":1}]"#, &["HD-14"]),
        ];
        for (name, value, want) in cases {
            assert_eq!(edited(base, Format::V2, name, value), *want, "{name}: {value}");
        }
        let fills: &[(&str, &str, &[&str])] = &[
            ("<i4", "0.0", &["HD-12"]),
            ("<i4", "\"0\"", &["HD-12"]),
            ("<i4", "-7", &[]),
            ("<u4", "-7", &["HD-12"]),
            ("<c8", "[0,\"NaN\"]", &[]),
            ("<c8", "1", &["VM-61"]),
            ("<m8[s]", "\"NaT\"", &["VM-58"]),
            ("<m8[s]", "-9223372036854775808", &[]),
            ("|S3", "\"QUJD\"", &[]),
            // What bytes have is told with how it was read.
            ("|S3", "\"a-c\"", &[]),
            ("|V3", "0", &["HD-12"]),
            ("<U3", "\"abc\"", &[]),
            ("bfloat16", "0.5", &[]),
        ];
        for (dtype, fill, want) in fills {
            let base = base.replace("<f8", dtype);
            assert_eq!(edited(&base, Format::V2, "fill_value", fill), *want, "{dtype}: {fill}");
        }
        assert_eq!(ids(&in_document(Format::V2, false, &document(r#"{"zarr_format":2,"_nczarr_group":{}}"#))), ["HD-17"]);
        assert_eq!(ids(&in_document(Format::V2, false, &document(r#"{"zarr_format":"2"}"#))), ["HD-54"]);
        assert!(in_document(Format::V2, false, &document(r#"{"zarr_format":2}"#)).is_empty());
    }

    #[test]
    fn arrays_of_version_3_are_odd_by_their_members() {
        let base = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"float32","chunk_grid":{"name":"regular",
            "configuration":{"chunk_shape":[2]}},"chunk_key_encoding":"default","fill_value":0,"codecs":["bytes"]}"#;
        assert!(in_document(Format::V3, true, &document(base)).is_empty());
        let cases: &[(&str, &str, &[&str])] = &[
            ("node_type", "", &["HD-51"]),
            ("attributes", "null", &["HD-31"]),
            ("attributes", r#"{"a":NaN}"#, &["HD-05"]),
            ("dimension_names", "null", &["HD-32"]),
            ("storage_transformers", "null", &["HD-32"]),
            ("storage_transformers", "[]", &[]),
            ("fill_value", "NaN", &["HD-40"]),
            ("fill_value", "\"nan\"", &["HD-40"]),
            ("fill_value", "\"0x7fc00000\"", &[]),
            ("fill_value", "\"0x7FC00000\"", &["HD-40"]),
            ("fill_value", "\"0x7f\"", &["HD-40"]),
            ("fill_value", "null", &["HD-40"]),
            ("data_type", "\"complex_float32\"", &["HD-36"]),
            ("chunk_key_encoding", r#"{"name":"default","separator":"/"}"#, &["HD-42"]),
            ("chunk_key_encoding", r#"{"name":"default"}"#, &[]),
            ("chunk_grid", r#"{"name":"regular","configuration":{"chunk_shape":[true]}}"#, &["V3-40"]),
            ("chunk_grid", r#"{"name":"regular","configuration":{"chunk_shape":[2,[1,3]]}}"#, &["V3-40"]),
            ("chunk_grid", r#"{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[1,3.0]]}}"#, &["V3-40"]),
            ("chunk_grid", r#"{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[1,[3,1]]]}}"#, &[]),
            ("codecs", "[]", &["HD-35"]),
            ("codecs", r#"[{"name":"gzip","configuration":{"level":1}}]"#, &["HD-35"]),
            ("codecs", r#"[{"name":"transpose","configuration":{"order":[0]}},"crc32c"]"#, &["HD-35"]),
            ("codecs", r#"[{"name":"sharding_indexed","configuration":{"codecs":[],"index_codecs":["bytes"]}}]"#, &["HD-35"]),
            ("codecs", r#"["zarrs.acme"]"#, &["HD-37"]),
            ("codecs", r#"[{"name":"endian","configuration":{"endian":"little"}}]"#, &["HD-35"]),
            ("codecs", r#"[{"name":"bytes","configuration":null}]"#, &["HD-33"]),
            ("codecs", r#"["bytes",{"name":"numcodecs.zlib","configuration":{"level":1}}]"#, &["HD-37"]),
            ("codecs", r#"["bytes","lz4"]"#, &["HD-37"]),
            ("codecs", r#"["bytes",{"name":"zstd"}]"#, &["HD-39"]),
            ("codecs", r#"["bytes",{"name":"gzip","configuration":{"level":1}}]"#, &[]),
            ("codecs", r#"["bytes",{"name":"blosc","configuration":{"cname":"lz4","clevel":1,"shuffle":"shuffle"}}]"#, &["HD-38"]),
            ("codecs", r#"["bytes",{"name":"blosc","configuration":{"cname":"lz4","clevel":1,"shuffle":1}}]"#, &["HD-38"]),
            ("codecs", r#"["bytes",{"name":"blosc","configuration":{"shuffle":"shuffle","typesize":0}}]"#, &["HD-38"]),
            ("codecs", r#"["bytes",{"name":"blosc","configuration":{"shuffle":"noshuffle","typesize":0}}]"#, &[]),
            ("codecs", r#"[{"name":"sharding_indexed","configuration":{"codecs":["bytes","gzip"]}}]"#, &["HD-39"]),
        ];
        for (name, value, want) in cases {
            assert_eq!(edited(base, Format::V3, name, value), *want, "{name}: {value}");
        }
        let groups: &[(&str, &[&str])] = &[
            ("null", &["HD-30"]),
            (r#"{"kind":"inline","metadata":{}}"#, &[]),
            (r#"{"metadata":{}}"#, &["HD-30"]),
            (r#"{"kind":"other","metadata":{}}"#, &["HD-30"]),
            (r#"{"kind":"inline","metadata":null}"#, &["HD-30"]),
        ];
        for (value, want) in groups {
            let group = format!(r#"{{"zarr_format":3,"node_type":"group","consolidated_metadata":{value}}}"#);
            assert_eq!(ids(&in_document(Format::V3, false, &document(&group))), *want, "{value}");
        }
    }
}
