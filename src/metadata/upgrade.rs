//! What version 2 and the drafts say, said in version 3: the same elements in the same bytes of every chunk.
//! Specification: v3 core, "Array metadata"; codecs of numcodecs under the names that zarr-python 3 gives them (`numcodecs.…`).

use super::draft::{Dialect, filters};
use super::extension::Extension;
use super::json::{brief, get_i64};
use super::{ArrayMeta, Codecs, Format, Map, Order, Value, v3};
use crate::dtype::{ByteOrder, DataType, ElementType, parse_v2};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::grid::key::KeyEncoding;
use crate::json::json;

/// The attribute in which v2 arrays have the names of their dimensions (xarray's convention).
pub const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// The v3 array that reads the chunks of `meta` as they are, and its document. `attributes` are those of the old array; the names of
/// its dimensions among them become `dimension_names`, what else was told there alone (filters) goes.
///
/// Chunk keys are those of version 2 where it was v2, `default` where it was a draft. A fill value of null becomes 0.
/// Errors: `Unsupported` with the old field where v3 has no form for something; see [`recoded`].
pub fn array(meta: &ArrayMeta, attributes: Map) -> Result<ArrayMeta> {
    let codecs = codecs(&meta.codecs, meta.data_type, meta.shape.len())?;
    with_codecs(meta, attributes, codecs)
}

/// Upgrades like [`array()`], for chunks that are encoded anew: little-endian elements in C order, and the old compressor if v3 has it. The
/// keys are `default`, which no chunk of v2 has.
pub fn recoded(meta: &ArrayMeta, attributes: Map) -> Result<ArrayMeta> {
    let plain = match &meta.codecs {
        Codecs::V2 { compressor, .. } => {
            let element = ElementType::native(meta.data_type);
            let alone = |compressor| Codecs::V2 { order: Order::C, element, filters: Vec::new(), compressor };
            let rank = meta.shape.len();
            codecs(&alone(compressor.clone()), meta.data_type, rank).or_else(|_| codecs(&alone(None), meta.data_type, rank))?
        }
        Codecs::V3(list) => list.clone(),
    };
    let mut new = with_codecs(meta, attributes, plain)?;
    new.keys = KeyEncoding::Default(crate::grid::key::Separator::Slash);
    new.document = v3::write_array(&new);
    Ok(new)
}

fn with_codecs(meta: &ArrayMeta, mut attributes: Map, codecs: Vec<Extension>) -> Result<ArrayMeta> {
    let mut names = meta.dimension_names.clone();
    if names.is_none()
        && let Some(found) = attributes.get(DIMENSIONS).and_then(|value| dimension_names(value, meta.shape.len()))
    {
        names = Some(found);
        attributes.shift_remove(DIMENSIONS);
    }
    let mut document = Map::new();
    match (meta.format, meta.dialect) {
        (_, Dialect::D0) if filters(&meta.document).is_some() => drop(attributes.shift_remove("filters")),
        (_, Dialect::D0) => {}
        // NCZarr has its own members beside those of the specification; newer versions of it look among the attributes.
        (Format::V2, _) => {
            for (name, value) in meta.document.iter().filter(|(name, _)| name.to_ascii_lowercase().starts_with("_nczarr")) {
                if !attributes.contains_key(name) {
                    attributes.insert(name.clone(), value.clone());
                }
            }
        }
        (Format::V3, _) => document.clone_from(&meta.document),
    }
    document.insert("attributes".into(), Value::Object(attributes));
    let keys = match (meta.dialect, meta.keys) {
        (Dialect::D0, KeyEncoding::V2(separator)) => KeyEncoding::Default(separator),
        (_, keys) => keys,
    };
    let mut fill = meta.fill.clone();
    fill.defined = true;
    let new = ArrayMeta {
        format: Format::V3,
        dialect: Dialect::Final,
        keys,
        fill,
        codecs: Codecs::V3(codecs),
        dimension_names: names,
        document,
        ..meta.clone()
    };
    let again = v3::array_from(v3::write_array(&new)).map_err(|e| no_form(&e))?;
    if again.data_type != meta.data_type || again.fill.element(meta.data_type) != meta.fill.element(meta.data_type) {
        let field = if again.data_type == meta.data_type { "fill_value" } else { "data_type" };
        return Err(err!(Unsupported, "{} has no form in Zarr v3", meta.data_type.name()).at_field(field));
    }
    Ok(again)
}

/// Turns the error of a document that cannot be read again into one that says that v3 has no form for it.
fn no_form(e: &Error) -> Error {
    let fresh = err!(Unsupported, "no form in Zarr v3: {}", e.message());
    if let Some(field) = e.field() { fresh.at_field(field) } else { fresh }
}

/// Returns the names in a list that has one for each dimension, or `None` if `value` is anything else.
fn dimension_names(value: &Value, rank: usize) -> Option<Vec<Option<String>>> {
    let list = value.as_array().filter(|list| list.len() == rank)?;
    list.iter().map(|name| name.as_str().map(|s| Some(s.to_string()))).collect()
}

/// The attributes of a v3 group: those of the old one, and NCZarr's own members.
pub fn group_attributes(document: &Map, mut attributes: Map) -> Map {
    for (name, value) in document.iter().filter(|(name, _)| name.to_ascii_lowercase().starts_with("_nczarr")) {
        if !attributes.contains_key(name) {
            attributes.insert(name.clone(), value.clone());
        }
    }
    attributes
}

/// The place of a v2 codec in a v3 list, with the members that it keeps there; the others are dropped, as nothing is known to need them.
enum Place {
    /// array→array, with the name of the member that says its type after it.
    Array(&'static [&'static str], Option<&'static str>),
    /// array→bytes.
    Serial(&'static [&'static str]),
    /// bytes→bytes.
    Bytes(&'static [&'static str]),
}

fn place(id: &str) -> Option<Place> {
    use Place::*;
    Some(match id {
        "astype" => Array(&["encode_dtype", "decode_dtype"], Some("encode_dtype")),
        "bitround" => Array(&["keepbits"], None),
        "delta" => Array(&["dtype", "astype"], Some("astype")),
        "fixedscaleoffset" => Array(&["offset", "scale", "dtype", "astype"], Some("astype")),
        "packbits" => Array(&[], None),
        "quantize" => Array(&["digits", "dtype", "astype"], Some("astype")),
        "pcodec" => Serial(&["level", "mode_spec", "delta_spec", "paging_spec", "delta_encoding_order", "equal_pages_up_to"]),
        "vlen-utf8" | "vlen-bytes" => Serial(&[]),
        "adler32" | "crc32" | "crc32c" => Bytes(&["location"]),
        "blosc" => Bytes(&["cname", "clevel", "shuffle", "blocksize"]),
        "bz2" | "gzip" | "zlib" => Bytes(&["level"]),
        "fletcher32" => Bytes(&[]),
        "jenkins_lookup3" => Bytes(&["initval", "prefix"]),
        "lz4" => Bytes(&["acceleration"]),
        "lzma" => Bytes(&["format", "check", "preset", "filters"]),
        "shuffle" => Bytes(&["elementsize"]),
        "zstd" => Bytes(&["level", "checksum"]),
        _ => return None,
    })
}

/// The v3 codecs that make the same bytes. Errors: `Unsupported` at the field of v2 that has no form.
pub fn codecs(codecs: &Codecs, data_type: DataType, rank: usize) -> Result<Vec<Extension>> {
    let (order, element, filters, compressor) = match codecs {
        Codecs::V3(list) => return Ok(list.clone()),
        Codecs::V2 { order, element, filters, compressor } => (*order, *element, filters, compressor),
    };
    let mut list = List { out: Vec::new(), item: element, bytes: false };
    if order == Order::F && rank > 1 {
        list.push("transpose", json!({"order": (0..rank).rev().collect::<Vec<_>>()}));
    }
    for (i, filter) in filters.iter().enumerate() {
        list.codec(filter).map_err(|e| e.at_field(format!("filters[{i}]")))?;
    }
    if let Some(compressor) = compressor {
        list.codec(compressor).map_err(|e| e.at_field("compressor"))?;
    }
    if !list.bytes {
        list.elements(data_type)?;
    }
    Ok(list.out)
}

/// The v3 list so far.
struct List {
    out: Vec<Extension>,
    /// The elements of the buffer so far; bytes behind a codec that makes bytes.
    item: ElementType,
    bytes: bool,
}

impl List {
    fn push(&mut self, name: &str, configuration: Value) {
        let configuration = if let Value::Object(c) = configuration { c } else { Map::new() };
        self.out.push(Extension::new(name, configuration));
    }

    /// `bytes`, in the order that the elements have.
    fn elements(&mut self, data_type: DataType) -> Result<()> {
        self.bytes = true;
        if data_type.is_variable() {
            bail!(Unsupported, "elements of variable length without a codec for them have no form in Zarr v3");
        }
        let endian = match self.item.data_type {
            DataType::Struct(s) if s == s.in_order(ByteOrder::Little) => Some(ByteOrder::Little),
            DataType::Struct(s) if s == s.in_order(ByteOrder::Big) => Some(ByteOrder::Big),
            DataType::Struct(_) => bail!(Unsupported, "a struct whose fields have different byte orders has no form in Zarr v3"),
            other => (other.swap_unit() > 1).then_some(self.item.order),
        };
        let word = |order| if order == ByteOrder::Big { "big" } else { "little" };
        self.push("bytes", endian.map_or(Value::Null, |order| json!({"endian": word(order)})));
        Ok(())
    }

    fn codec(&mut self, codec: &Extension) -> Result<()> {
        let id = codec.name.as_str();
        let Some(place) = place(id) else { bail!(Unsupported, "the codec {id:?} has no form in Zarr v3") };
        let (Place::Array(members, _) | Place::Serial(members) | Place::Bytes(members)) = place;
        let mut configuration = codec.configuration.clone();
        configuration.retain(|name, value| members.contains(&name.as_str()) && !(value.is_null() && name == "astype"));
        match place {
            Place::Array(_, after) => {
                if self.bytes {
                    bail!(Unsupported, "{id:?} behind a codec that makes bytes has no form in Zarr v3");
                }
                self.check_type(&configuration)?;
                self.item = match (id, after.and_then(|member| configuration.get(member))) {
                    ("packbits", _) => ElementType::native(DataType::UInt8),
                    (_, Some(value)) => parse_v2::parse(value)?,
                    (_, None) => self.item,
                };
                self.push(&format!("numcodecs.{id}"), Value::Object(configuration));
            }
            Place::Serial(_) => {
                if self.bytes || (self.item.order == ByteOrder::Big && !self.item.data_type.is_variable()) {
                    bail!(Unsupported, "{id:?} behind a codec that makes bytes, or of big-endian elements, has no form in Zarr v3");
                }
                self.bytes = true;
                // The codecs for elements of variable length are registered under their own names.
                let name = if id.starts_with("vlen") { id.to_string() } else { format!("numcodecs.{id}") };
                self.push(&name, Value::Object(configuration));
                self.item = ElementType::native(DataType::UInt8);
            }
            Place::Bytes(_) => {
                if !self.bytes {
                    self.elements(self.item.data_type)?;
                }
                let (name, configuration) = byte_codec(id, configuration, self.item.size())?;
                self.push(&name, Value::Object(configuration));
                if !matches!(id, "shuffle") {
                    self.item = ElementType::native(DataType::UInt8);
                }
            }
        }
        Ok(())
    }

    /// A filter that takes the elements for something else than they are moves bytes in a way that v3 has no form for.
    fn check_type(&self, configuration: &Map) -> Result<()> {
        let Some(value) = configuration.get("dtype").or_else(|| configuration.get("decode_dtype")) else { return Ok(()) };
        if parse_v2::parse(value)? != self.item {
            bail!(Unsupported, "a filter of {} where the elements are {} has no form in Zarr v3", brief(value), self.item.data_type.name());
        }
        Ok(())
    }
}

/// The v3 name and configuration of a bytes→bytes codec over items of that size.
fn byte_codec(id: &str, mut configuration: Map, size: usize) -> Result<(String, Map)> {
    let int = |c: &Map, name: &str, default: i64| match c.get(name) {
        None | Some(Value::Null) => Ok(default),
        Some(value) => get_i64(value).map_err(|e| e.at_field(name)),
    };
    match id {
        "gzip" => {
            let level = int(&configuration, "level", 1)?;
            if (0..=9).contains(&level) {
                configuration.insert("level".into(), level.into());
                return Ok(("gzip".into(), configuration));
            }
        }
        "zstd" => {
            let checksum = configuration.get("checksum").and_then(Value::as_bool).unwrap_or(false);
            let level = int(&configuration, "level", 0)?;
            configuration = Map::new();
            configuration.insert("level".into(), level.into());
            configuration.insert("checksum".into(), checksum.into());
            return Ok(("zstd".into(), configuration));
        }
        "blosc" => return Ok(("blosc".into(), blosc(&configuration, size)?)),
        // netCDF-C: 0 is the size of the type.
        "shuffle" => {
            let element = int(&configuration, "elementsize", 4)?;
            configuration.insert("elementsize".into(), if element == 0 { size.into() } else { element.into() });
        }
        _ => {}
    }
    Ok((format!("numcodecs.{id}"), configuration))
}

fn blosc(old: &Map, size: usize) -> Result<Map> {
    let given = |name: &str, default: Value| old.get(name).filter(|v| !v.is_null()).cloned().unwrap_or(default);
    let shuffle = match given("shuffle", 1.into()) {
        Value::String(word) => match word.as_str() {
            "noshuffle" | "NONE" => 0,
            "shuffle" | "BYTE" => 1,
            "bitshuffle" | "BIT" => 2,
            other => return Err(err!(Metadata, "found {other:?}, expected a number from -1 to 2").at_field("shuffle")),
        },
        number => get_i64(&number).map_err(|e| e.at_field("shuffle"))?,
    };
    let shuffle = match shuffle {
        0 => "noshuffle",
        -1 if size == 1 => "bitshuffle",
        -1 | 1 => "shuffle",
        2 => "bitshuffle",
        other => return Err(err!(Metadata, "found {other}, expected a number from -1 to 2").at_field("shuffle")),
    };
    let mut new = Map::new();
    new.insert("cname".into(), given("cname", "lz4".into()));
    new.insert("clevel".into(), given("clevel", 5.into()));
    new.insert("shuffle".into(), shuffle.into());
    // The header of a chunk knows it; c-blosc takes none beyond 255.
    new.insert("typesize".into(), if size > 255 { 1 } else { size.max(1) }.into());
    new.insert("blocksize".into(), given("blocksize", 0.into()));
    Ok(new)
}

/// Whether an error of [`array()`] says that chunks could be encoded anew.
pub fn may_recode(e: &Error) -> bool {
    let codec = e.field().is_some_and(|f| f.starts_with("filters") || f.starts_with("compressor"));
    e.kind() == ErrorKind::Unsupported && (codec || e.field().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::key::Separator;
    use crate::metadata::{json, v2};

    fn v2_array(members: &str) -> ArrayMeta {
        let text = format!(r#"{{"zarr_format":2,"shape":[6,4],"chunks":[3,2],"fill_value":0{members}}}"#);
        let mut document = json::parse_object(text.as_bytes(), 1 << 20).unwrap();
        if !document.contains_key("dtype") {
            document.insert("dtype".into(), ">i4".into());
        }
        v2::array_from(document).unwrap()
    }

    fn object(text: &str) -> Map {
        json::parse_object(text.as_bytes(), 1 << 20).unwrap()
    }

    #[test]
    fn codecs_of_v2_have_these_forms() {
        let cases: &[(&str, &str)] = &[
            ("", r#"[{"name":"bytes","configuration":{"endian":"big"}}]"#),
            (r#","dtype":"|u1""#, r#"[{"name":"bytes"}]"#),
            (
                r#","dtype":"<c8","order":"F""#,
                r#"[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
            ),
            (r#","dtype":"|u1","compressor":{"id":"zlib"}"#, r#"[{"name":"bytes"},{"name":"numcodecs.zlib","configuration":{}}]"#),
            (r#","dtype":"|u1","compressor":{"id":"gzip","level":3}"#, r#"[{"name":"bytes"},{"name":"gzip","configuration":{"level":3}}]"#),
            (
                r#","dtype":"|u1","compressor":{"id":"gzip","level":-1}"#,
                r#"[{"name":"bytes"},{"name":"numcodecs.gzip","configuration":{"level":-1}}]"#,
            ),
            (
                r#","dtype":"|u1","compressor":{"id":"zstd","level":3}"#,
                r#"[{"name":"bytes"},{"name":"zstd","configuration":{"level":3,"checksum":false}}]"#,
            ),
            (
                r#","dtype":"<f8","compressor":{"id":"blosc","cname":"zstd","clevel":3,"shuffle":-1,"blocksize":0}"#,
                r#"[{"name":"bytes","configuration":{"endian":"little"}},{"name":"blosc","configuration":{"cname":"zstd","clevel":3,"shuffle":"shuffle","typesize":8,"blocksize":0}}]"#,
            ),
            (
                r#","dtype":"|u1","compressor":{"id":"blosc","shuffle":-1}"#,
                r#"[{"name":"bytes"},{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"bitshuffle","typesize":1,"blocksize":0}}]"#,
            ),
            // GDAL leaves a member there.
            (
                r#","dtype":"|u1","compressor":{"id":"lzma","preset":2,"delta":1}"#,
                r#"[{"name":"bytes"},{"name":"numcodecs.lzma","configuration":{"preset":2}}]"#,
            ),
            // netCDF-C's size of the type; then the bytes have elements of one byte.
            (
                r#","filters":[{"id":"shuffle","elementsize":0},{"id":"fletcher32"}]"#,
                r#"[{"name":"bytes","configuration":{"endian":"big"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.fletcher32","configuration":{}}]"#,
            ),
            (
                r#","filters":[{"id":"delta","dtype":">i4","astype":"<i2"}],"compressor":{"id":"lz4","acceleration":1}"#,
                r#"[{"name":"numcodecs.delta","configuration":{"dtype":">i4","astype":"<i2"}},{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.lz4","configuration":{"acceleration":1}}]"#,
            ),
            (
                r#","filters":[{"id":"astype","encode_dtype":">f8","decode_dtype":">i4"}]"#,
                r#"[{"name":"numcodecs.astype","configuration":{"encode_dtype":">f8","decode_dtype":">i4"}},{"name":"bytes","configuration":{"endian":"big"}}]"#,
            ),
            (r#","dtype":"|b1","filters":[{"id":"packbits"}]"#, r#"[{"name":"numcodecs.packbits","configuration":{}},{"name":"bytes"}]"#),
        ];
        for (members, want) in cases {
            let new = array(&v2_array(members), Map::new()).unwrap_or_else(|e| panic!("{members}: {e}"));
            assert_eq!(new.document["codecs"].to_string(), *want, "{members}");
        }
    }

    #[test]
    fn what_has_no_form_is_named_and_may_be_encoded_anew() {
        let cases: &[(&str, &str)] = &[
            (r#","compressor":{"id":"base64"}"#, "compressor"),
            (r#","compressor":{"id":"snake-oil"}"#, "compressor"),
            (r#","filters":[{"id":"shuffle"},{"id":"delta","dtype":">i4"}]"#, "filters[1]"),
            (r#","filters":[{"id":"delta","dtype":"<i4"}]"#, "filters[0]"),
        ];
        for (members, field) in cases {
            let meta = v2_array(members);
            let e = array(&meta, Map::new()).unwrap_err();
            assert_eq!((e.field(), may_recode(&e)), (Some(*field), true), "{members}: {e}");
            let new = recoded(&meta, Map::new()).unwrap();
            assert_eq!(new.document["codecs"].to_string(), r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#, "{members}");
            assert_eq!(new.keys, KeyEncoding::Default(Separator::Slash));
        }
        let kept = recoded(&v2_array(r#","filters":[{"id":"base64"}],"compressor":{"id":"zlib","level":1}"#), Map::new()).unwrap();
        assert_eq!(kept.document["codecs"][1]["name"], "numcodecs.zlib");
        let pcodec = r#","compressor":{"id":"pcodec"}"#;
        assert!(array(&v2_array(pcodec), Map::new()).is_err(), "of big-endian elements");
        assert_eq!(recoded(&v2_array(pcodec), Map::new()).unwrap().document["codecs"][0]["name"], "numcodecs.pcodec");
        let e = array(&v2_array(r#","compressor":{"id":"blosc","shuffle":7}"#), Map::new()).unwrap_err();
        assert!(!may_recode(&e), "{e}");
    }

    #[test]
    fn the_other_members_have_these_forms() {
        let meta = v2_array(r#","dimension_separator":"/","fill_value":null,"_nczarr_array":{"x":1},"unknown":2"#);
        let new = array(&meta, object(r#"{"_ARRAY_DIMENSIONS":["y","x"],"units":"K"}"#)).unwrap();
        assert_eq!(new.document["chunk_key_encoding"].to_string(), r#"{"name":"v2","configuration":{"separator":"/"}}"#);
        assert_eq!(new.document["fill_value"].to_string(), "0");
        assert_eq!(new.document["dimension_names"].to_string(), r#"["y","x"]"#);
        assert_eq!(new.document["attributes"].to_string(), r#"{"units":"K","_nczarr_array":{"x":1}}"#);
        assert!(!new.document.contains_key("unknown"));
        // What is no list of names, one for each dimension, stays an attribute.
        for odd in [r#"["y"]"#, r#"["y",null]"#, "\"y\""] {
            let new = array(&meta, object(&format!(r#"{{"_ARRAY_DIMENSIONS":{odd}}}"#))).unwrap();
            assert_eq!((new.dimension_names, new.document["attributes"]["_ARRAY_DIMENSIONS"].to_string()), (None, odd.to_string()));
        }
    }

    #[test]
    fn groups_keep_their_attributes_and_what_nczarr_put_beside_them() {
        let document = object(r#"{"zarr_format":2,"_NCZARR_GROUP":{"dims":{}},"other":1}"#);
        let attributes = group_attributes(&document, object(r#"{"a":1}"#));
        assert_eq!(Value::Object(attributes).to_string(), r#"{"a":1,"_NCZARR_GROUP":{"dims":{}}}"#);
    }
}
