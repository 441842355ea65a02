//! What a v2 order, filters and compressor say, said as a v3 list of codecs that make the same bytes. The way back is `codecs_to_v2`.
//! Names: those that zarr-python 3 gives the codecs of numcodecs (`numcodecs.…`).

use super::extension::Extension;
use super::json::{brief, get_i64};
use super::{Codecs, Map, Order, Value};
use crate::dtype::{ByteOrder, DataType, ElementType, Kind, parse_v2};
use crate::error::{Result, bail, err};
use crate::json::json;

/// The position of a v2 codec in a v3 list, with the members that it keeps there; the others are dropped, as nothing is known to need them.
enum Position {
    /// array→array, with the name of the member that says its type after it.
    Array(&'static [&'static str], Option<&'static str>),
    /// array→bytes.
    Serial(&'static [&'static str]),
    /// bytes→bytes.
    Bytes(&'static [&'static str]),
}

fn position(id: &str) -> Option<Position> {
    use Position::*;
    Some(match id {
        "astype" => Array(&["encode_dtype", "decode_dtype"], Some("encode_dtype")),
        "bitround" => Array(&["keepbits"], None),
        "delta" => Array(&["dtype", "astype"], Some("astype")),
        "fixedscaleoffset" => Array(&["offset", "scale", "dtype", "astype"], Some("astype")),
        "packbits" => Array(&[], None),
        "quantize" => Array(&["digits", "dtype", "astype"], Some("astype")),
        "pcodec" => Serial(&["level", "mode_spec", "delta_spec", "paging_spec", "delta_encoding_order", "equal_pages_up_to"]),
        "zfpy" => Serial(&["mode", "tolerance", "rate", "precision"]),
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
    let mut list = CodecList { out: Vec::new(), item: element, bytes: false };
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
struct CodecList {
    out: Vec<Extension>,
    /// The elements of the buffer so far; bytes behind a codec that makes bytes.
    item: ElementType,
    bytes: bool,
}

impl CodecList {
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
        // Of elements of one length, `vlen-utf8` and `vlen-bytes` are codecs of v2 alone.
        let is_foreign =
            matches!(position(id), Some(Position::Serial(members)) if members.is_empty()) && !self.item.data_type.is_variable();
        let Some(position) = position(id).filter(|_| !is_foreign) else { bail!(Unsupported, "the codec {id:?} has no form in Zarr v3") };
        let (Position::Array(members, _) | Position::Serial(members) | Position::Bytes(members)) = position;
        let mut configuration = codec.configuration.clone();
        configuration.retain(|name, value| members.contains(&name.as_str()) && !(value.is_null() && name == "astype"));
        for name in members {
            configuration.get_mut(name).into_iter().for_each(|value| without_texts(name, value));
        }
        match position {
            Position::Array(_, after) => {
                if self.bytes {
                    bail!(Unsupported, "{id:?} behind a codec that makes bytes has no form in Zarr v3");
                }
                if id == "bitround" && self.item.data_type.kind() == Kind::Int {
                    let name = self.item.data_type.name();
                    bail!(Unsupported, "{id:?} of {name} has no form in Zarr v3: zarr-python reads other numbers");
                }
                self.check_type(&configuration)?;
                say_astype(id, &mut configuration);
                self.item = match (id, after.and_then(|member| configuration.get(member))) {
                    ("packbits", _) => ElementType::native(DataType::UInt8),
                    (_, Some(value)) => parse_v2::parse_spelling(value)?,
                    (_, None) => self.item,
                };
                self.push(&format!("numcodecs.{id}"), Value::Object(configuration));
            }
            Position::Serial(_) => {
                if self.bytes || (self.item.order == ByteOrder::Big && !self.item.data_type.is_variable()) {
                    bail!(Unsupported, "{id:?} behind a codec that makes bytes, or of big-endian elements, has no form in Zarr v3");
                }
                self.bytes = true;
                // numcodecs' newer name, which its older releases and zarrs refuse.
                if id == "pcodec" && configuration.get("delta_spec").is_some_and(|spec| *spec == "no_op") {
                    configuration.insert("delta_spec".into(), "none".into());
                }
                // The codecs for elements of variable length are registered under their own names; so is that for complex numbers, which
                // zarr-python does not read under the name of numcodecs.
                let is_registered = id.starts_with("vlen") || id == "pcodec" && self.item.data_type.kind() == Kind::Complex;
                let name = if is_registered { id.to_string() } else { format!("numcodecs.{id}") };
                self.push(&name, Value::Object(configuration));
                self.item = ElementType::native(DataType::UInt8);
            }
            Position::Bytes(_) => {
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
        if parse_v2::parse_spelling(value)? != self.item {
            bail!(Unsupported, "a filter of {} where the elements are {} has no form in Zarr v3", brief(value), self.item.data_type.name());
        }
        Ok(())
    }
}

/// The members of codecs that are integers, which v2 may have as texts.
pub const INTEGERS: &[&str] = &[
    "acceleration",
    "blocksize",
    "check",
    "clevel",
    "delta_encoding_order",
    "digits",
    "elementsize",
    "equal_pages_up_to",
    "format",
    "initval",
    "keepbits",
    "level",
    "maxbits",
    "maxprec",
    "minbits",
    "minexp",
    "mode",
    "precision",
    "preset",
    "shuffle",
    "typesize",
];

/// Makes a number, or true or false, of a text that v2 has instead (HD-14), or of what Python's programs have for it; v3 does not take these.
fn without_texts(name: &str, value: &mut Value) {
    let is_integer = INTEGERS.contains(&name);
    let plain = match &*value {
        Value::String(text) if name == "checksum" && matches!(text.as_str(), "YES" | "NO") => Some(Value::from(text == "YES")),
        Value::String(text) if is_integer => text.parse::<i64>().ok().map(Value::from),
        Value::Bool(is_true) if is_integer => Some(i64::from(*is_true).into()),
        Value::Number(n) if name == "checksum" => n.as_i64().filter(|n| (0..=1).contains(n)).map(|n| Value::from(n == 1)),
        Value::Number(n) if is_integer && n.as_i64().is_none() => {
            n.as_f64().filter(|x| x.fract() == 0.0 && x.abs() < 1e15).map(|x| Value::from(x as i64))
        }
        _ => None,
    };
    if let Some(plain) = plain {
        *value = plain;
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

/// Gives codecs whose `dtype` is also the type that they make that one as `astype`: zarr-python goes by it alone where it reads big-endian bytes.
fn say_astype(id: &str, configuration: &mut Map) {
    if matches!(id, "delta" | "fixedscaleoffset")
        && let (Some(dtype), None) = (configuration.get("dtype").cloned(), configuration.get("astype"))
    {
        configuration.insert("astype".into(), dtype);
    }
}
