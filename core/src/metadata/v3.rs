//! `zarr.json` ⇄ the model.
//! Specification: v3 core, "Metadata" (array metadata, group metadata, extension points), regular grid, chunk key encodings.

use super::extension::Extension;
use super::fields::{check_attributes, extents, number_list, wrong_format};
use super::json::{self, member, required};
use super::v3_grid::{chunk_grid, grid_to_json, key_encoding, keys_to_json};
use super::{ArrayMeta, Codecs, Dialect, Format, GroupMeta, Map, Value, registered};
use crate::dtype::fill::{Fill, unsigned};
use crate::dtype::{ByteOrder, DataType, Kind, parse_v3};
use crate::error::{Result, bail, err};
use crate::limits;

/// The name of the document of every v3 node, below the node's prefix.
pub const DOCUMENT: &str = "zarr.json";
/// The member of a group that holds consolidated metadata.
pub const CONSOLIDATED: &str = "consolidated_metadata";

/// Members of an array's document that the specification names.
const ARRAY_MEMBERS: &[&str; 11] = &[
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "storage_transformers",
    "dimension_names",
];
/// Members of a group's document that the specification names.
const GROUP_MEMBERS: &[&str; 4] = &["zarr_format", "node_type", "attributes", CONSOLIDATED];

/// A document of either kind of node.
#[derive(Clone, Debug)]
pub enum Document {
    /// `node_type` "array".
    Array(Box<ArrayMeta>),
    /// `node_type` "group".
    Group(GroupMeta),
}

/// Which kind of node a document says it is, before the rest is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeType {
    /// An array.
    Array,
    /// A group.
    Group,
}

/// Reads a `zarr.json` of either kind.
pub fn parse_node(bytes: &[u8]) -> Result<Document> {
    let document = json::parse_object(bytes, limits::MAX_CONSOLIDATED)?;
    match node_type(&document)? {
        NodeType::Array => Ok(Document::Array(Box::new(array_from(document)?))),
        NodeType::Group => Ok(Document::Group(group_from(document)?)),
    }
}

/// Reads a `zarr.json` that must be an array's.
pub fn parse_array(bytes: &[u8]) -> Result<ArrayMeta> {
    match parse_node(bytes)? {
        Document::Array(meta) => Ok(*meta),
        Document::Group(_) => bail!(NodeKind, "found a group, expected an array"),
    }
}

/// Reads a `zarr.json` that must be a group's.
pub fn parse_group(bytes: &[u8]) -> Result<GroupMeta> {
    match parse_node(bytes)? {
        Document::Group(meta) => Ok(meta),
        Document::Array(_) => bail!(NodeKind, "found an array, expected a group"),
    }
}

/// The kind of node of a document; checks `zarr_format` on the way. A document of 2023 without `node_type` but with a
/// `shape` is an array (HD-51).
pub fn node_type(document: &Map) -> Result<NodeType> {
    let format = member(document, "zarr_format")?;
    if !json::get_u64(format).is_ok_and(|n| n == 3) {
        return Err(wrong_format(format, 3, ""));
    }
    match document.get("node_type") {
        Some(Value::String(s)) if s == "array" => Ok(NodeType::Array),
        Some(Value::String(s)) if s == "group" => Ok(NodeType::Group),
        None if document.contains_key("shape") => Ok(NodeType::Array),
        None => Err(err!(Metadata, "the member is missing").at_field("node_type")),
        Some(other) => Err(err!(Metadata, "found {}, expected \"array\" or \"group\"", json::brief(other)).at_field("node_type")),
    }
}

/// Reads the fill value. GDAL writes null for numbers of which none is told to be missing, and reads them as 0 (HD-40).
fn fill_value(data_type: DataType, value: &Value) -> Result<Fill> {
    let is_number = matches!(data_type.kind(), Kind::Bool | Kind::Int | Kind::UInt | Kind::Float | Kind::Complex);
    match value {
        Value::Null if is_number && !matches!(data_type, DataType::Registered(_)) => Ok(Fill::undefined()),
        _ => Fill::from_json_v3(data_type, unsigned(data_type, value).as_ref().unwrap_or(value)),
    }
}

/// The model of an array's document.
pub fn array_from(document: Map) -> Result<ArrayMeta> {
    let [_, _, shape, type_name, grid, keys, fill, codecs, attributes, transformers, names] = known_members(&document, ARRAY_MEMBERS)?;
    check_attributes(attributes)?;
    check_storage_transformers(transformers).map_err(|e| e.at_field("storage_transformers"))?;
    let shape = extents(required(shape, "shape")?).map_err(|e| e.at_field("shape"))?;
    let type_name = required(type_name, "data_type")?;
    let data_type = parse_v3::parse(type_name).map_err(|e| e.at_field("data_type"))?;
    let grid = chunk_grid(required(grid, "chunk_grid")?, &shape, codecs).map_err(|e| e.at_field("chunk_grid"))?;
    let keys = key_encoding(required(keys, "chunk_key_encoding")?).map_err(|e| e.at_field("chunk_key_encoding"))?;
    let mut codecs = codec_list(required(codecs, "codecs")?).map_err(|e| e.at_field("codecs"))?;
    let mut packed = data_type;
    if data_type.has_order() && type_name.get("name").is_some_and(|name| *name == "structured") {
        let order = codecs.iter_mut().fold(None, |found, codec| order_of_structured(codec).or(found));
        packed = in_order(data_type, order.unwrap_or(ByteOrder::Little));
    }
    let fill = fill_value(packed, required(fill, "fill_value")?).map_err(|e| e.at_field("fill_value"))?;
    let dimension_names = dimension_names(names, shape.len()).map_err(|e| e.at_field("dimension_names"))?;
    let (format, dialect, codecs) = (Format::V3, Dialect::Final, Codecs::V3(codecs));
    Ok(ArrayMeta { format, dialect, shape, data_type, grid, keys, fill, codecs, dimension_names, document })
}

/// Returns the struct with its fields in that byte order, any other type as it is.
fn in_order(data_type: DataType, order: ByteOrder) -> DataType {
    if let DataType::Struct(fields) = data_type { DataType::Struct(fields.in_order(order)) } else { data_type }
}

/// Returns the byte order that a codec gives elements in the older form of structs; a packed fill value has it, too. `bytes` was written
/// without one, which means little-endian there and is filled in (DT-19).
fn order_of_structured(codec: &mut Extension) -> Option<ByteOrder> {
    match codec.name.as_str() {
        "bytes" => {
            if !codec.configuration.contains_key("endian") {
                codec.configuration.insert("endian".into(), "little".into());
            }
            let is_big = codec.configuration.get("endian").is_some_and(|endian| *endian == "big");
            Some(if is_big { ByteOrder::Big } else { ByteOrder::Little })
        }
        "sharding_indexed" => {
            let Some(Value::Array(inner)) = codec.configuration.get("codecs") else { return None };
            let mut order = None;
            let turned = inner.iter().map(|value| match Extension::from_v3(value) {
                Ok(mut inner) => {
                    order = order_of_structured(&mut inner).or(order);
                    inner.to_v3()
                }
                Err(_) => value.clone(),
            });
            let turned = turned.collect();
            codec.configuration.insert("codecs".into(), Value::Array(turned));
            order
        }
        _ => None,
    }
}

/// Returns a node's document without the members that must be understood and are not (V3-27); the rest may then mean something else.
pub fn without_unknown(node_type: NodeType, document: &Map) -> Map {
    let known = if node_type == NodeType::Array { &ARRAY_MEMBERS[..] } else { GROUP_MEMBERS };
    let mut known_only = document.clone();
    known_only.retain(|name, value| known.contains(&name.as_str()) || may_be_ignored(value) || registered::is_member(name));
    known_only
}

/// The model of a group's document.
pub fn group_from(document: Map) -> Result<GroupMeta> {
    let [_, _, attributes, _] = known_members(&document, GROUP_MEMBERS)?;
    check_attributes(attributes)?;
    Ok(GroupMeta { format: Format::V3, dialect: Dialect::Final, document })
}

/// A fresh document of an array. Members that must not be understood are carried over from `meta.document`, and its
/// `attributes`, and the name `r*` for raw bytes where it has that.
pub fn write_array(meta: &ArrayMeta) -> Result<Map> {
    let mut out = Map::new();
    out.insert("zarr_format".into(), 3.into());
    out.insert("node_type".into(), "array".into());
    out.insert("shape".into(), number_list(&meta.shape));
    let data_type = parse_v3::to_json_as(meta.data_type, &meta.document["data_type"]);
    let fill = meta.fill.to_json_v3_as(meta.data_type, &data_type)?;
    out.insert("data_type".into(), data_type);
    out.insert("chunk_grid".into(), grid_to_json(&meta.grid)?);
    out.insert("chunk_key_encoding".into(), keys_to_json(meta.keys)?);
    out.insert("fill_value".into(), fill);
    let codecs: &[Extension] = if let Codecs::V3(list) = &meta.codecs { list } else { &[] };
    out.insert("codecs".into(), Value::Array(codecs.iter().map(Extension::to_v3).collect()));
    if let Some(names) = &meta.dimension_names {
        let names = names.iter().map(|n| Value::from(n.clone())).collect();
        out.insert("dimension_names".into(), Value::Array(names));
    }
    for (name, value) in &meta.document {
        let stays = match value {
            Value::Array(list) if name == "storage_transformers" => !list.is_empty(),
            _ => !ARRAY_MEMBERS.contains(&name.as_str()) && (may_be_ignored(value) || registered::is_member(name)),
        };
        if stays {
            out.insert(name.clone(), value.clone());
        }
    }
    out.insert("attributes".into(), Value::Object(attributes(&meta.document).cloned().unwrap_or_default()));
    Ok(out)
}

/// A fresh document of a group with those attributes.
pub fn write_group(attributes: Map) -> Map {
    let mut out = Map::new();
    out.insert("zarr_format".into(), 3.into());
    out.insert("node_type".into(), "group".into());
    out.insert("attributes".into(), Value::Object(attributes));
    out
}

/// The attributes in a document; `None` where it has none (or null).
pub fn attributes(document: &Map) -> Option<&Map> {
    document.get("attributes").and_then(Value::as_object)
}

fn may_be_ignored(value: &Value) -> bool {
    value.get("must_understand") == Some(&Value::Bool(false))
}

/// The members of these names. V3-27: an unknown member is an extension that must be understood unless it says otherwise.
fn known_members<'a, const N: usize>(document: &'a Map, names: &[&str; N]) -> Result<[Option<&'a Value>; N]> {
    let mut found = [None; N];
    for (name, value) in document {
        if let Some(at) = names.iter().position(|known| name == known) {
            found[at] = Some(value);
        } else if !may_be_ignored(value) && !registered::understands(name, value).map_err(|e| e.at_field(name))? {
            let e = err!(Extension, "unknown member without \"must_understand\": false; it may change what the data mean");
            return Err(e.at_field(name));
        }
    }
    Ok(found)
}

fn check_storage_transformers(transformers: Option<&Value>) -> Result<()> {
    let list = match transformers {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(list)) => list,
        Some(other) => bail!(Metadata, "found {}, expected a list", json::brief(other)),
    };
    for (i, value) in list.iter().enumerate() {
        let extension = Extension::from_v3(value).map_err(|e| e.at_field(format!("[{i}]")))?;
        if extension.must_understand && registered::TRANSFORMERS.get().find("", &extension.name).is_none() {
            bail!(Extension, "unknown storage transformer {:?}; none is built in, and none of that name is registered", extension.name);
        }
    }
    Ok(())
}

/// The storage transformers of an array's document, the first one next to the array. Those that may be ignored are among them.
pub fn storage_transformers(document: &Map) -> Result<Vec<Extension>> {
    let Some(Value::Array(list)) = document.get("storage_transformers") else { return Ok(Vec::new()) };
    list.iter().map(Extension::from_v3).collect()
}

/// Checks a member that a new array's document shall have besides those that say what the array is.
pub fn check_further_member(name: &str, value: &Value) -> Result<()> {
    match name {
        "storage_transformers" => check_storage_transformers(Some(value)).map_err(|e| e.at_field(name)),
        _ if is_own_member(name) => Err(err!(Argument, "is set by a setter of its own").at_field(name)),
        _ => known_members(&Map::from_iter([(json::text(name)?, value.clone())]), &[]).map(|[]| ()),
    }
}

/// Whether the specification names a member of a document.
pub fn is_own_member(name: &str) -> bool {
    ARRAY_MEMBERS.contains(&name) || GROUP_MEMBERS.contains(&name)
}

/// Reads the list `codecs`.
pub fn codec_list(value: &Value) -> Result<Vec<Extension>> {
    let Value::Array(list) = value else { bail!(Metadata, "found {}, expected a list", json::brief(value)) };
    if list.len() > limits::MAX_CODECS {
        bail!(Limit, "found {} codecs, the limit is {}", list.len(), limits::MAX_CODECS);
    }
    let mut codecs = Vec::with_capacity(list.len());
    for (i, codec) in list.iter().enumerate() {
        codecs.push(Extension::from_v3(codec).map_err(|e| e.at_field(format!("[{i}]")))?);
    }
    Ok(codecs)
}

fn dimension_names(value: Option<&Value>, rank: usize) -> Result<Option<Vec<Option<String>>>> {
    let list = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) => list,
        Some(other) => bail!(Metadata, "found {}, expected a list", json::brief(other)),
    };
    if list.len() != rank {
        bail!(Metadata, "found {} names, expected {rank} as in \"shape\"", list.len());
    }
    limits::check_dimension_names(list.iter().map(Value::as_str))?;
    let name = |(i, v): (usize, &Value)| match v {
        Value::Null => Ok(None),
        Value::String(s) => Ok(Some(s.to_string())),
        other => Err(err!(Metadata, "found {}, expected a string or null", json::brief(other)).at_field(format!("[{i}]"))),
    };
    Ok(Some(list.iter().enumerate().map(name).collect::<Result<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::super::v3_grid::chunk_shapes;
    use super::*;
    use crate::dtype::DataType;
    use crate::error::ErrorKind;
    use crate::grid::Grid;
    use crate::grid::key::{KeyEncoding, Separator, Suffix};
    use crate::limits::Dims;

    const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[7,150],"data_type":"float32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[5,20]}},
        "chunk_key_encoding":{"name":"default","configuration":{"separator":"."}},
        "fill_value":"NaN","codecs":["bytes",{"name":"crc32c"}],"dimension_names":["t",null],"attributes":{"a":1e400}}"#;

    fn edited(name: &str, value: Option<&str>) -> Vec<u8> {
        let mut document = json::parse_object(ARRAY.as_bytes(), 1 << 20).unwrap();
        match value {
            Some(v) => document.insert(name.into(), json::parse_text(v).unwrap()),
            None => document.shift_remove(name),
        };
        json::to_text(&Value::Object(document)).into_bytes()
    }

    #[test]
    fn an_array_is_read() {
        let meta = parse_array(ARRAY.as_bytes()).unwrap();
        assert_eq!(meta.shape.as_slice(), [7, 150]);
        assert_eq!(meta.data_type, DataType::Float32);
        assert_eq!(meta.keys, KeyEncoding::Default(Separator::Dot));
        assert_eq!(meta.dimension_names, Some(vec![Some("t".into()), None]));
        assert_eq!(meta.grid, Grid::regular(Dims::from_slice(&[5, 20])).unwrap());
        let Codecs::V3(codecs) = &meta.codecs else { panic!() };
        assert_eq!(codecs.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["bytes", "crc32c"]);
    }

    #[test]
    fn what_is_written_reads_as_the_same() {
        let a = parse_array(ARRAY.as_bytes()).unwrap();
        let b = array_from(write_array(&a).unwrap()).unwrap();
        assert_eq!((&a.shape, a.data_type, &a.grid, a.keys), (&b.shape, b.data_type, &b.grid, b.keys));
        assert_eq!((a.fill.value, &a.codecs, &a.dimension_names), (b.fill.value, &b.codecs, &b.dimension_names));
        assert_eq!(attributes(&b.document).unwrap()["a"].to_string(), "1e400");
    }

    #[test]
    fn each_mandatory_member_is_missed_by_name() {
        for name in ["zarr_format", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"] {
            let e = parse_node(&edited(name, None)).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Metadata, "{e}");
            assert!(e.to_string().contains(name), "{e}");
        }
    }

    #[test]
    fn tolerated_forms() {
        let cases: &[(&str, Option<&str>)] = &[
            ("attributes", None),
            ("attributes", Some("null")),
            ("dimension_names", Some("null")),
            ("dimension_names", Some(r#"["x","x"]"#)),
            ("storage_transformers", Some("null")),
            ("storage_transformers", Some("[]")),
            ("storage_transformers", Some(r#"[{"name":"z","must_understand":false}]"#)),
            ("node_type", None),
            ("data_type", Some(r#"{"name":"float32"}"#)),
            ("extra", Some(r#"{"must_understand":false,"n":1}"#)),
            ("chunk_key_encoding", Some(r#""default""#)),
            ("fill_value", Some("\"nan\"")),
            ("fill_value", Some("\"+Infinity\"")),
            ("fill_value", Some("\"0x7FC00000\"")),
            ("fill_value", Some("\"0x1\"")),
            ("fill_value", Some("null")),
            ("codecs", Some(r#"[{"name":"bytes","configuration":null}]"#)),
            ("codecs", Some(r#"["bytes",{"name":"crc32c","configuration":{}}]"#)),
        ];
        for (name, value) in cases {
            assert!(parse_array(&edited(name, *value)).is_ok(), "{name}: {value:?}");
        }
    }

    #[test]
    fn refused_forms_have_their_kind_and_field() {
        use ErrorKind::*;
        let cases: &[(&str, &str, ErrorKind, &str)] = &[
            ("zarr_format", "2", Metadata, "expected 3"),
            ("zarr_format", "4", Unsupported, "found 4"),
            ("zarr_format", "3.0", Metadata, "zarr_format"),
            ("zarr_format", "\"3\"", Metadata, "zarr_format"),
            ("node_type", "\"table\"", Metadata, "node_type"),
            ("shape", "[1]", Metadata, "found 2 extents, expected 1"),
            ("shape", "[-1,2]", Metadata, "shape"),
            ("shape", "[1.5,2]", Metadata, "shape"),
            ("shape", "{}", Metadata, "shape"),
            ("shape", "[9223372036854775808,1]", Limit, "shape"),
            ("data_type", "\"float99\"", Unsupported, "float99"),
            ("data_type", "7", Metadata, "data_type"),
            ("chunk_grid", "\"hexagonal\"", Unsupported, "hexagonal"),
            ("chunk_grid", "\"rectilinear\"", Metadata, "chunk_grid.configuration.kind"),
            ("chunk_grid", "\"regular\"", Metadata, "chunk_shape"),
            ("chunk_grid", r#"{"name":"regular","configuration":{"chunk_shape":[0,2]}}"#, Metadata, "dimension 0"),
            ("chunk_grid", r#"{"name":"regular","configuration":{"chunk_shape":[1,2],"x":1}}"#, Metadata, "chunk_grid.configuration.x"),
            ("chunk_key_encoding", "\"hashed\"", Unsupported, "hashed"),
            ("chunk_key_encoding", r#"{"name":"v2","configuration":{"separator":"-"}}"#, Metadata, "separator"),
            ("chunk_key_encoding", r#"{"name":"v2","configuration":{"suffix":".c"}}"#, Metadata, "chunk_key_encoding.configuration.suffix"),
            ("chunk_key_encoding", "\"zarrs.default_suffix\"", Metadata, "chunk_key_encoding.configuration.suffix"),
            (
                "chunk_key_encoding",
                r#"{"name":"zarrs.default_suffix","configuration":{"suffix":"/../x"}}"#,
                Unsupported,
                "chunk_key_encoding.configuration.suffix",
            ),
            ("chunk_key_encoding", r#"{"name":"new","must_understand":false}"#, Unsupported, "new"),
            ("fill_value", "\"x\"", Metadata, "fill_value"),
            ("codecs", "{}", Metadata, "codecs"),
            ("codecs", "[7]", Metadata, "codecs[0]"),
            ("dimension_names", r#"["x"]"#, Metadata, "expected 2"),
            ("dimension_names", r#"["x",7]"#, Metadata, "dimension_names[1]"),
            ("attributes", "[]", Metadata, "attributes"),
            ("storage_transformers", r#"["z"]"#, Extension, "\"z\""),
            ("extra", "1", Extension, "extra"),
            ("extra", r#"{"must_understand":true}"#, Extension, "extra"),
            ("consolidated_metadata", "null", Extension, "consolidated_metadata"),
        ];
        for (name, value, kind, text) in cases {
            let e = parse_array(&edited(name, Some(value))).expect_err(name);
            assert_eq!(e.kind(), *kind, "{name} {value}: {e}");
            assert!(e.to_string().contains(text), "{name} {value}: {e}");
        }
    }

    #[test]
    fn unknown_members_can_be_left_out() {
        let document = json::parse_object(&edited("extra", Some("1")), 1 << 20).unwrap();
        assert!(array_from(document.clone()).is_err());
        let rest = without_unknown(NodeType::Array, &document);
        assert!(!rest.contains_key("extra") && array_from(rest).is_ok());
        let ignorable = json::parse_object(&edited("extra", Some(r#"{"must_understand":false}"#)), 1 << 20).unwrap();
        assert!(without_unknown(NodeType::Array, &ignorable).contains_key("extra"));
    }

    #[test]
    fn missing_separators_have_the_default_of_their_encoding() {
        let suffixed = |separator| KeyEncoding::Suffixed(separator, Suffix::new(".tif").unwrap());
        let cases: &[(&str, KeyEncoding)] = &[
            (r#"{"name":"default"}"#, KeyEncoding::Default(Separator::Slash)),
            (r#"{"name":"default","configuration":{}}"#, KeyEncoding::Default(Separator::Slash)),
            (r#"{"name":"default","separator":"."}"#, KeyEncoding::Default(Separator::Dot)),
            (r#"{"name":"v2"}"#, KeyEncoding::V2(Separator::Dot)),
            (r#"{"name":"v2","configuration":{"separator":"/"}}"#, KeyEncoding::V2(Separator::Slash)),
            (r#"{"name":"suffix","configuration":{"suffix":".tif","base_encoding":"default"}}"#, suffixed(Separator::Slash)),
            (
                r#"{"name":"suffix","configuration":{"suffix":".tif","base_encoding":{"name":"default","configuration":{"separator":"."}}}}"#,
                suffixed(Separator::Dot),
            ),
            (
                r#"{"name":"suffix","configuration":{"suffix":".tif","base_encoding":"v2"}}"#,
                KeyEncoding::SuffixedV2(Separator::Dot, Suffix::new(".tif").unwrap()),
            ),
        ];
        for (text, want) in cases {
            assert_eq!(parse_array(&edited("chunk_key_encoding", Some(text))).unwrap().keys, *want, "{text}");
        }
        for (configuration, kind, field) in [
            (r#"{"suffix":".tif","base_encoding":"other"}"#, ErrorKind::Unsupported, "base_encoding"),
            (
                r#"{"suffix":".tif","base_encoding":{"name":"suffix","configuration":{"suffix":"x","base_encoding":"v2"}}}"#,
                ErrorKind::Unsupported,
                "base_encoding",
            ),
            (
                r#"{"suffix":".tif","base_encoding":{"name":"default","configuration":{"separator":"-"}}}"#,
                ErrorKind::Metadata,
                "base_encoding.configuration.separator",
            ),
            (r#"{"suffix":".tif"}"#, ErrorKind::Metadata, "base_encoding"),
            (r#"{"base_encoding":"default"}"#, ErrorKind::Metadata, "suffix"),
            (r#"{"suffix":"/x","base_encoding":"default"}"#, ErrorKind::Unsupported, "suffix"),
            (r#"{"suffix":".tif","base_encoding":"default","separator":"/"}"#, ErrorKind::Metadata, "separator"),
        ] {
            let text = format!(r#"{{"name":"suffix","configuration":{configuration}}}"#);
            let e = parse_array(&edited("chunk_key_encoding", Some(&text))).unwrap_err();
            assert_eq!((e.kind(), e.field()), (kind, Some(format!("chunk_key_encoding.configuration.{field}").as_str())), "{e}");
        }
    }

    /// `ARRAY`, of shape (7, 150), with that grid.
    fn with_grid(name: &str, members: &str) -> Result<ArrayMeta> {
        parse_array(&edited("chunk_grid", Some(&format!(r#"{{"name":"{name}","configuration":{{{members}}}}}"#))))
    }

    #[test]
    fn grids_with_extents_of_their_own_are_read() {
        let cases: &[(&str, &str, &[&[u64]])] = &[
            ("rectilinear", r#""kind":"inline","chunk_shapes":[[[2,2],3],50]"#, &[&[2, 2, 3], &[50, 50, 50]]),
            ("rectilinear", r#""kind":"inline","chunk_shapes":[[1,1,[4,1],9],[100,[25,2],1,1]]"#, &[&[1, 1, 4, 9], &[100, 25, 25]]),
            ("rectilinear", r#""kind":"inline","chunk_shapes":[4,60]"#, &[&[4, 4], &[60, 60, 60]]),
            ("rectilinear", r#""kind":"inline","chunk_shapes":[[true,6.0],[[75.0,2]]]"#, &[&[1, 6], &[75, 75]]),
            ("regular", r#""chunk_shape":[[3,4],75]"#, &[&[3, 4], &[75, 75]]),
            ("regular", r#""chunk_shape":[4,true]"#, &[&[4, 4]]),
            ("rectangular", r#""chunk_shape":[[3,4],75]"#, &[&[3, 4], &[75, 75]]),
            ("zarrs.regular_bounded", r#""chunk_shape":[3,200]"#, &[&[3, 3, 1], &[150]]),
            ("zarrs.regular_bounded", r#""chunk_shape":[7,75]"#, &[&[7], &[75, 75]]),
        ];
        for (name, members, want) in cases {
            let grid = with_grid(name, members).unwrap().grid;
            for (d, want) in want.iter().enumerate() {
                let got: Vec<u64> = (0..grid.count(d, [7, 150][d])).map(|i| grid.extent(d, i)).collect();
                assert_eq!(got, *want, "{name} {members}");
            }
        }
    }

    #[test]
    fn wrong_extents_are_refused_at_their_field() {
        use ErrorKind::*;
        let shapes = |text: &str| format!(r#""kind":"inline","chunk_shapes":{text}"#);
        let cases = [
            (r#""chunk_shapes":[4,60]"#.to_string(), Metadata, "kind"),
            (r#""kind":"url","chunk_shapes":[4,60]"#.to_string(), Unsupported, "kind"),
            (r#""kind":"inline""#.to_string(), Metadata, "chunk_shapes"),
            (r#""kind":"inline","chunk_shapes":[4,60],"x":1"#.to_string(), Metadata, "x"),
            (shapes("4"), Metadata, "chunk_shapes"),
            (shapes("[4]"), Metadata, "chunk_shapes"),
            (shapes("[4,[100,49]]"), Metadata, "chunk_shapes[1]"),
            (shapes("[0,150]"), Metadata, "chunk_shapes[0]"),
            (shapes("[[],150]"), Metadata, "chunk_shapes[0]"),
            (shapes("[[7,0],150]"), Metadata, "chunk_shapes[0][1]"),
            (shapes("[[[0,7]],150]"), Metadata, "chunk_shapes[0][0]"),
            (shapes("[[[7,0]],150]"), Metadata, "chunk_shapes[0][0]"),
            (shapes("[[[7]],150]"), Metadata, "chunk_shapes[0][0]"),
            (shapes("[[-7],150]"), Metadata, "chunk_shapes[0][0]"),
            (shapes("[[7.5],150]"), Metadata, "chunk_shapes[0][0]"),
            (shapes(r#"[7,"150"]"#), Metadata, "chunk_shapes[1]"),
            (shapes("[[7,[9223372036854775807,2]],150]"), Limit, "chunk_shapes[0][1]"),
            (shapes("[[[1099511627776,1099511627776]],150]"), Limit, "chunk_shapes[0][0]"),
            (shapes("[9223372036854775808,150]"), Limit, "chunk_shapes[0]"),
        ];
        for (members, kind, field) in cases {
            let e = with_grid("rectilinear", &members).unwrap_err();
            let field = format!("chunk_grid.configuration.{field}");
            assert_eq!((e.kind(), e.field()), (kind, Some(field.as_str())), "{members}: {e}");
        }
        for (lengths, field) in [("[[4,3],75]", "chunk_shape[0]"), ("[4]", "chunk_shape"), ("[0,75]", "chunk_shape")] {
            let e = with_grid("zarrs.regular_bounded", &format!(r#""chunk_shape":{lengths}"#)).unwrap_err();
            let field = format!("chunk_grid.configuration.{field}");
            assert_eq!((e.kind(), e.field()), (Metadata, Some(field.as_str())), "{lengths}: {e}");
        }
    }

    #[test]
    fn grids_and_keys_are_written_as_they_were_read() {
        for shapes in ["[[2,2,3],50]", "[[[1,7],9],[[50,3]]]", "[7,[150,1]]"] {
            let meta = with_grid("rectilinear", &format!(r#""kind":"inline","chunk_shapes":{shapes}"#)).unwrap();
            let out = write_array(&meta).unwrap();
            assert_eq!(out["chunk_grid"]["configuration"]["chunk_shapes"].to_string(), shapes);
            assert_eq!(array_from(out).unwrap().grid, meta.grid);
        }
        for keys in [
            r#"{"name":"zarrs.default_suffix","configuration":{"separator":".","suffix":".c"}}"#,
            r#"{"name":"suffix","configuration":{"suffix":".c","base_encoding":{"name":"v2","configuration":{"separator":"/"}}}}"#,
        ] {
            let meta = parse_array(&edited("chunk_key_encoding", Some(keys))).unwrap();
            assert_eq!(write_array(&meta).unwrap()["chunk_key_encoding"].to_string(), keys);
        }
    }

    #[test]
    fn a_count_of_two_to_the_40_takes_no_memory_in_proportion() {
        let grid = with_grid("rectilinear", r#""kind":"inline","chunk_shapes":[[[1,1099511627776]],[[3,1099511627776],1]]"#).unwrap().grid;
        assert_eq!((grid.count(0, 7), grid.count(1, 150)), (7, 50));
        assert_eq!(chunk_shapes(&grid).unwrap().to_string(), "[[[1,1099511627776]],[[3,1099511627776],1]]");
    }

    #[test]
    fn groups_may_hold_consolidated_metadata_and_nothing_unknown() {
        for ok in [
            r#"{"zarr_format":3,"node_type":"group"}"#,
            r#"{"zarr_format":3,"node_type":"group","attributes":null,"consolidated_metadata":null}"#,
            r#"{"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"other"}}"#,
        ] {
            assert!(parse_group(ok.as_bytes()).is_ok(), "{ok}");
        }
        let e = parse_group(br#"{"zarr_format":3,"node_type":"group","shape":[1]}"#).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Extension);
        assert_eq!(parse_group(ARRAY.as_bytes()).unwrap_err().kind(), ErrorKind::NodeKind);
        assert!(parse_node(br#"{"zarr_format":3}"#).unwrap_err().to_string().contains("node_type"));
    }

    #[test]
    fn packed_fill_values_of_the_older_form_of_structs_have_the_order_of_the_elements() {
        let fields = r#"{"fields":[["x","int32"],["y","int16"]]}"#;
        let within = |codec: &str| {
            format!(
                r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[1,1],"codecs":[{codec}],"index_codecs":["bytes"]}}}}]"#
            )
        };
        let (big, little) =
            (r#"{"name":"bytes","configuration":{"endian":"big"}}"#, r#"{"name":"bytes","configuration":{"endian":"little"}}"#);
        for (name, codecs, fill, want) in [
            ("structured", format!("[{big}]"), r#""AAAAAQAC""#, [1, 2]),
            ("structured", within(big), r#""AAAAAQAC""#, [1, 2]),
            ("structured", within(within(big).trim_matches(['[', ']'])), r#""AAAAAQAC""#, [1, 2]),
            ("structured", format!("[{big}]"), r#"{"x":1,"y":2}"#, [1, 2]),
            ("structured", format!("[{big}]"), "0", [0, 0]),
            // What zarr-python 3.1.6 writes.
            ("structured", r#"["bytes"]"#.into(), r#""AQAAAAIA""#, [1, 2]),
            ("structured", format!("[{little}]"), r#""AQAAAAIA""#, [1, 2]),
            ("structured", within(r#""bytes""#), r#""AQAAAAIA""#, [1, 2]),
            ("struct", format!("[{big}]"), r#""AQAAAAIA""#, [1, 2]),
        ] {
            let mut document = json::parse_object(ARRAY.as_bytes(), 1 << 20).unwrap();
            document.insert("data_type".into(), json::parse_text(&format!(r#"{{"name":"{name}","configuration":{fields}}}"#)).unwrap());
            document.insert("fill_value".into(), json::parse_text(fill).unwrap());
            document.insert("codecs".into(), json::parse_text(&codecs).unwrap());
            let meta = array_from(document).unwrap();
            let (x, y) = (i32::to_le_bytes(want[0]), i16::to_le_bytes(want[1] as i16));
            assert_eq!(meta.fill.element(meta.data_type).to_vec(), [&x[..], &y].concat(), "{name} {codecs} {fill}");
        }
    }

    #[test]
    fn structs_of_the_older_form_without_an_order_are_little_endian() {
        let fields = r#"{"fields":[["x","int32"],["s",{"name":"null_terminated_bytes","configuration":{"length_bytes":2}}]]}"#;
        let sharded =
            r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[1,1],"codecs":["bytes","crc32c"],"index_codecs":["bytes"]}}]"#;
        for (codecs, want) in [(r#"["bytes","crc32c"]"#, 1), (sharded, 1), (r#"[{"name":"bytes","configuration":{"endian":"big"}}]"#, 0)] {
            for (name, times) in [("structured", want), ("struct", 0)] {
                let mut document = json::parse_object(ARRAY.as_bytes(), 1 << 20).unwrap();
                let data_type = format!(r#"{{"name":"{name}","configuration":{fields}}}"#);
                document.insert("data_type".into(), json::parse_text(&data_type).unwrap());
                document.insert("fill_value".into(), Value::from("AAAAAAAA"));
                document.insert("codecs".into(), json::parse_text(codecs).unwrap());
                let meta = array_from(document.clone()).unwrap();
                assert_eq!(meta.data_type.size(), 6);
                assert_eq!(meta.document, document);
                let Codecs::V3(list) = &meta.codecs else { panic!() };
                let text = Value::Array(list.iter().map(Extension::to_v3).collect()).to_string();
                assert_eq!(text.matches(r#""endian":"little""#).count(), times, "{name} {codecs}: {text}");
            }
        }
    }
}
