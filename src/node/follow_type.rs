//! Codecs of an array that is copied with elements of another type: those whose meaning is the same follow the elements, the others are left out.

use super::codec_edit::{id_of, inside, set_endian};
use crate::codec::bitround::mantissa;
use crate::codec::parse::takes_bytes;
use crate::codec::registry::{canonical, compresses_numbers};
use crate::dtype::{ByteOrder, DataType, ElementType, Kind, parse_v2, parse_v3};
use crate::error::Result;
use crate::metadata::extension::Extension;
use crate::metadata::{Map, Value};

/// A walk along the codecs, from the elements to the bytes.
pub(super) struct Walk<'a> {
    /// The types of the elements that enter the next codec, before and now; `None` where they are as they were.
    types: Option<(DataType, DataType)>,
    /// The ids of codecs that the caller named, which stay.
    given: &'a [String],
    /// The names of the codecs that are left out.
    pub left_out: Vec<String>,
}

impl Walk<'_> {
    pub fn new(types: (DataType, DataType), given: &[String]) -> Walk<'_> {
        Walk { types: Some(types), given, left_out: Vec::new() }
    }

    /// Whether a codec of version 2 stays; it follows its elements.
    pub fn keeps_v2(&mut self, codec: &mut Extension) -> bool {
        self.keeps(&format!("numcodecs.{}", codec.name), codec)
    }

    fn keeps(&mut self, name: &str, codec: &mut Extension) -> bool {
        let Some((old, new)) = self.types else { return true };
        let name = canonical(name);
        let id = id_of(&name);
        let means_same = match id {
            "delta" => [old, said(codec, "dtype").map_or(old, |t| t.data_type), new].into_iter().all(is_whole) && is_of(codec, old),
            "quantize" => widens(old, new) && is_of(codec, old),
            "bitround" => widens(old, new),
            "astype" | "cast_value" | "categorize" | "fixedscaleoffset" | "packbits" | "scale_offset" => false,
            _ => {
                !is_lossy_zfp(&name, &codec.configuration) || [old, new].iter().all(|t| matches!(t, DataType::Float32 | DataType::Float64))
            }
        };
        let stays = means_same || self.given.iter().any(|given| given == id);
        self.types = if stays { follow(&name, &mut codec.configuration, (old, new)) } else { leaving(&name, codec, old).map(|t| (t, new)) };
        if !stays {
            self.left_out.push(codec.name.to_string());
        }
        stays
    }

    /// The list of version 3 for elements of the new type, in that order of bytes where they have one; `serial` makes bytes of them.
    pub fn along(&mut self, list: Vec<Extension>, order: ByteOrder, serial: &Extension) -> Result<Vec<Extension>> {
        let Some((old, new)) = self.types else { return Ok(list) };
        inside(list, |list| {
            let mut kept = Vec::new();
            for mut codec in list {
                let name = canonical(&codec.name).into_owned();
                if is_shuffle_of_lengths(&name, (old, new)) {
                    continue;
                }
                let stays = self.keeps(&name, &mut codec);
                let is_other_kind = matches!(id_of(&name), "bytes" | "vlen-utf8" | "vlen-bytes") && serial.name != id_of(&name);
                match stays {
                    true if !is_other_kind => {}
                    false if name != "packbits" && !compresses_numbers(&name) => continue,
                    _ => codec = serial.clone(),
                }
                if codec.name == "bytes" {
                    let said = codec.configuration.contains_key("endian");
                    match (new.has_order(), said) {
                        (true, false) => set_endian(&mut codec, order),
                        (false, true) => drop(codec.configuration.shift_remove("endian")),
                        _ => {}
                    }
                }
                kept.push(codec);
            }
            kept
        })
    }
}

/// Whether a codec shuffles the bytes of elements of one length, which the lengths of others need not be multiples of.
pub(super) fn is_shuffle_of_lengths(name: &str, (old, new): (DataType, DataType)) -> bool {
    matches!(name, "shuffle" | "numcodecs.shuffle") && new.is_variable() && !old.is_variable()
}

/// Whether a codec is zfp that keeps not every bit.
pub(super) fn is_lossy_zfp(name: &str, configuration: &Map) -> bool {
    let given = |name| configuration.get(name).and_then(Value::as_f64).is_some_and(|x| x >= 0.0);
    match &*canonical(name) {
        "zfp" | "zarrs.zfp" => configuration.get("mode").and_then(Value::as_str) != Some("reversible"),
        "zfpy" | "numcodecs.zfpy" => ["tolerance", "rate", "precision"].into_iter().any(given),
        _ => false,
    }
}

/// The type that a member of a codec of numcodecs says.
fn said(codec: &Extension, member: &str) -> Option<ElementType> {
    parse_v2::parse_spelling(codec.configuration.get(member)?).ok()
}

/// Whether a codec takes elements of that type as they are, and gives such.
fn is_of(codec: &Extension, elements: DataType) -> bool {
    let (from, to) = (said(codec, "dtype"), said(codec, "astype"));
    let from = from.map_or(elements, |from| from.data_type);
    is_taken_as(elements, from) && to.is_none_or(|to| to.data_type == from)
}

/// Whether elements of a type are whole numbers to codecs.
fn is_whole(data_type: DataType) -> bool {
    number_of(data_type).is_some_and(|number| matches!(number.kind(), Kind::Int | Kind::UInt))
}

/// Whether a type has all numbers of another one, rounded ones among them, and more digits for each.
fn widens(old: DataType, new: DataType) -> bool {
    let part = |t: DataType| t.part().unwrap_or(t);
    old.kind() == new.kind() && mantissa(old).is_some() && mantissa(new).is_some() && part(new).size() > part(old).size()
}

/// The type of the elements that left a codec of arrays before it was left out.
fn leaving(name: &str, codec: &Extension, old: DataType) -> Option<DataType> {
    let first = |members: [&str; 2]| members.into_iter().find_map(|member| said(codec, member)).map_or(old, |t| t.data_type);
    match name {
        "cast_value" => parse_v3::parse(codec.configuration.get("data_type")?).ok(),
        "numcodecs.packbits" => Some(DataType::UInt8),
        "numcodecs.astype" => said(codec, "encode_dtype").map(|t| t.data_type),
        "numcodecs.delta" | "numcodecs.fixedscaleoffset" | "numcodecs.quantize" => Some(first(["astype", "dtype"])),
        "bitround" | "numcodecs.bitround" | "scale_offset" => Some(old),
        _ => None,
    }
}

/// Puts the new type of the elements that enter a codec, or its size, in place of the old one that its configuration says. Gives the types of those that
/// leave it, before and now; `None` where they are as they were.
fn follow(name: &str, configuration: &mut Map, (old, new): (DataType, DataType)) -> Option<(DataType, DataType)> {
    let size = |t: DataType| if t.is_variable() { 1 } else { t.size() };
    let id = id_of(name);
    let (entering, leaving) = match id {
        "shuffle" | "blosc" => {
            let member = if id == "blosc" { "typesize" } else { "elementsize" };
            if configuration.get(member) == Some(&size(old).into()) {
                configuration.insert(member.into(), size(new).into());
            }
            return Some((old, new)).filter(|_| id == "shuffle");
        }
        "astype" => ("decode_dtype", "encode_dtype"),
        "delta" | "fixedscaleoffset" | "quantize" => ("dtype", "astype"),
        "cast_value" | "packbits" => return None,
        _ if takes_bytes(name) || compresses_numbers(name) => return None,
        _ => return Some((old, new)),
    };
    let said = |member: &str| parse_v2::parse_spelling(configuration.get(member)?).ok();
    let (from, to) = (said(entering), said(leaving));
    if from.is_some_and(|from| !is_taken_as(old, from.data_type)) {
        return None;
    }
    let is_same = to.is_none_or(|to| to.data_type == from.map_or(old, |from| from.data_type));
    for (member, said) in [(entering, from), (leaving, to.filter(|_| is_same))] {
        if let (Some(said), Some(number)) = (said, number_of(new)) {
            configuration.insert(member.into(), parse_v2::to_json(ElementType::new(number, said.order)));
        }
    }
    Some((old, new)).filter(|_| is_same)
}

/// The number of NumPy that codecs take elements of a type for, if there is one: times are their counts, true and false are bytes.
fn number_of(data_type: DataType) -> Option<DataType> {
    match data_type {
        DataType::DateTime(_) | DataType::TimeDelta(_) => Some(DataType::Int64),
        DataType::Bool => Some(DataType::UInt8),
        other => Some(other).filter(|other| DataType::NUMPY.contains(other)),
    }
}

/// Whether a codec that says `said` takes elements of that type bit for bit.
fn is_taken_as(elements: DataType, said: DataType) -> bool {
    let is_integer = |t: DataType| matches!(t.kind(), Kind::Int | Kind::UInt) && t.size() == said.size();
    said == elements || (is_integer(said) && number_of(elements).is_some_and(is_integer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{json, v2, v3};

    /// The codecs of each list, v2's and v3's, for elements of another type.
    #[test]
    fn codecs_follow_the_elements_where_they_mean_the_same_of_them_and_are_left_out_elsewhere() {
        use DataType::{Bool, Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt64};
        let time = DataType::DateTime(crate::dtype::Unit::new("s", 1).unwrap());
        let bf16 = DataType::Narrow(crate::dtype::Narrow::BFloat16);
        let delta = |t: &str| format!(r#"{{"id":"delta","dtype":"{t}"}}"#);
        let delta_as = |t: &str, stored: &str| format!(r#"{{"id":"delta","dtype":"{t}","astype":"{stored}"}}"#);
        let quantize = |t: &str| format!(r#"{{"id":"quantize","digits":1,"dtype":"{t}"}}"#);
        let scaled = r#"{"id":"fixedscaleoffset","offset":0,"scale":9,"dtype":"<f4","astype":"<i4"}"#.to_string();
        let cast = r#"{"id":"astype","decode_dtype":"<f8","encode_dtype":"<f4"}"#.to_string();
        let (bits, shuffle) = (r#"{"id":"bitround","keepbits":5}"#.to_string(), |n| format!(r#"{{"id":"shuffle","elementsize":{n}}}"#));
        let (pack, none) = (r#"{"id":"packbits"}"#.to_string(), Vec::new());
        let zfp = |member: &str| format!(r#"{{"id":"zfpy","mode":2,{member}}}"#);
        let cases = [
            ((Int16, Int32), vec![delta(">i2"), shuffle(2)], vec![delta(">i4"), shuffle(4)]),
            ((Int16, Int32), vec![delta_as("<i2", "<i2")], vec![delta_as("<i4", "<i4")]),
            ((Int64, UInt8), vec![delta("<i8")], vec![delta("|u1")]),
            ((Int64, Bool), vec![delta("<i8")], vec![delta("|u1")]),
            ((UInt64, time), vec![delta("<i8")], vec![delta("<i8")]),
            // Differences of the new type's need not fit, or are rounded.
            ((Int32, Int64), vec![delta_as("<i4", "<i2")], none.clone()),
            ((Int32, Int16), vec![delta_as("<i4", "<i2"), shuffle(2)], vec![shuffle(2)]),
            ((Float32, Float64), vec![delta("<f4"), shuffle(4)], vec![shuffle(8)]),
            ((Int16, Float32), vec![delta("<i2")], none.clone()),
            ((Float32, Int16), vec![delta("<f4")], none.clone()),
            ((time, Float64), vec![delta("<i8")], none.clone()),
            // What is rounded is so in a wider type, too.
            ((Float32, Float64), vec![bits.clone(), shuffle(4)], vec![bits.clone(), shuffle(8)]),
            ((Float32, Float16), vec![bits.clone()], none.clone()),
            ((bf16, Float16), vec![bits.clone()], none.clone()),
            ((Float32, Int16), vec![bits.clone()], none.clone()),
            ((Int16, Int32), vec![bits.clone()], none.clone()),
            ((Float32, Float64), vec![quantize("<f4")], vec![quantize("<f8")]),
            ((Float64, Float32), vec![quantize("<f8")], none.clone()),
            ((Float32, Float64), vec![scaled.clone(), delta("<i4"), shuffle(4)], vec![shuffle(8)]),
            ((Float32, Int16), vec![scaled.clone(), delta("<i4"), shuffle(4)], vec![delta("<i2"), shuffle(2)]),
            ((Float64, Float32), vec![cast.clone()], none.clone()),
            ((Bool, Int8), vec![pack.clone()], none.clone()),
            ((Float32, Float64), vec![zfp("\"tolerance\":1.0")], vec![zfp("\"tolerance\":1.0")]),
            ((Float32, Int32), vec![zfp("\"tolerance\":1.0")], none.clone()),
            ((Float32, Int32), vec![zfp("\"tolerance\":-1")], vec![zfp("\"tolerance\":-1")]),
        ];
        for (types, given, wanted) in cases {
            let filters = |list: &[String]| v2::filter_list(&json::parse_text(&format!("[{}]", list.join(","))).unwrap()).unwrap();
            let (given, wanted) = (filters(&given), filters(&wanted));
            let mut walk = Walk::new(types, &[]);
            let mut changed = given.clone();
            changed.retain_mut(|codec| walk.keeps_v2(codec));
            assert_eq!(changed, wanted, "{types:?} {given:?}");
            assert_eq!(walk.left_out.len(), given.len() - wanted.len(), "{types:?} {given:?}");
            // In version 3, in shards.
            let bytes = Extension::new("bytes", Map::new());
            let list = |filters: &[Extension]| {
                let is_behind = |codec: &&Extension| matches!(codec.name.as_str(), "shuffle" | "zfpy");
                let named = |codec: &Extension| Extension::new(format!("numcodecs.{}", codec.name), codec.configuration.clone()).to_v3();
                let front = filters.iter().filter(|codec| !is_behind(codec)).map(named);
                let serial = filters.iter().find(|codec| codec.name == "zfpy").map_or(bytes.to_v3(), named);
                let behind = filters.iter().filter(|codec| codec.name == "shuffle").map(named);
                let mut shards = Extension::new("sharding_indexed", Map::new());
                shards.configuration.insert("chunk_shape".into(), crate::metadata::number_list(&[2]));
                shards.configuration.insert("codecs".into(), Value::Array(front.chain([serial]).chain(behind).collect()));
                vec![shards]
            };
            let mut walk = Walk::new(types, &[]);
            let changed = walk.along(list(&given), ByteOrder::Little, &bytes).unwrap();
            let text = |list: &[Extension]| Value::Array(list.iter().map(Extension::to_v3).collect()).to_string();
            let without_order = text(&changed).replace(r#"{"name":"bytes","configuration":{"endian":"little"}}"#, r#"{"name":"bytes"}"#);
            assert_eq!(without_order, text(&list(&wanted)), "{types:?}");
        }
    }

    #[test]
    fn codecs_of_version_3_alone_that_are_made_for_a_type_are_left_out_and_those_that_were_named_stay() {
        let list = |text: &str| v3::codec_list(&json::parse_text(text).unwrap()).unwrap();
        let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        let cast = r#"{"name":"cast_value","configuration":{"data_type":"uint8"}}"#;
        let scaled = r#"{"name":"scale_offset","configuration":{"scale":2}}"#;
        let packed = r#"{"name":"packbits","configuration":{"first_bit":0,"last_bit":3}}"#;
        let zfp = r#"{"name":"zfp","configuration":{"mode":"fixed_rate","rate":8}}"#;
        let by_url = |codec: &str, name: &str| codec.replace(name, &format!("https://codec.zarrs.dev/array_to_bytes/{name}"));
        for (given, named, wanted) in [
            (format!(r#"[{scaled},{cast},"bytes","crc32c"]"#), None, format!(r#"[{bytes},"crc32c"]"#)),
            (format!(r#"[{packed},"crc32c"]"#), None, format!(r#"[{bytes},"crc32c"]"#)),
            (format!("[{zfp}]"), None, format!("[{bytes}]")),
            (format!("[{}]", by_url(packed, "packbits")), None, format!("[{bytes}]")),
            (format!("[{}]", by_url(zfp, "zfp")), None, format!("[{bytes}]")),
            (format!("[{zfp}]"), Some("zfp"), format!("[{zfp}]")),
            (format!("[{scaled},{bytes}]"), Some("scale_offset"), format!("[{scaled},{bytes}]")),
        ] {
            let named: Vec<String> = named.into_iter().map(String::from).collect();
            let mut walk = Walk::new((DataType::Int16, DataType::Int32), &named);
            let changed = walk.along(list(&given), ByteOrder::Little, &Extension::new("bytes", Map::new())).unwrap();
            assert_eq!(changed, list(&wanted), "{given} {named:?}");
        }
    }
}
