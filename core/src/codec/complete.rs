//! What the document of a new array says of its codecs: every parameter that other libraries require, where the list that was given leaves some
//! to what they mean when they are missing; each number and boolean as what it was understood; and each codec inside of shards as an object, where
//! it was given by its name.

use super::blosc;
use super::config::{Config, Style};
use super::parse::{build_v2, entering};
use super::stage::BYTES;
use super::{registered, registry, transpose};
use crate::dtype::{DataType, ElementType};
use crate::limits;
use crate::metadata::codecs_to_v3::INTEGERS;
use crate::metadata::extension::{Extension, is_bare};
use crate::metadata::{Codecs, Map, Value};

/// What a missing parameter means.
enum Meant {
    Number(i64),
    Word(&'static str),
    False,
    /// The size of the items that enter, as blosc takes it.
    Typesize,
    /// The name of blosc's shuffle, which may be given as a number.
    Shuffle,
    /// The size of the items that enter, which 0 stands for, too: not so in numcodecs.
    Size,
    /// 4; but 0 is the size of the items that enter.
    FourOrSize,
    /// The type of the elements that enter.
    Type,
    /// What `dtype` says: zarr-python goes by this member alone where it reads big-endian bytes.
    Dtype,
}

use Meant::{Dtype, False, FourOrSize, Number, Shuffle, Size, Type, Typesize, Word};

/// The parameters of a codec, in the order in which they are written.
type Row = (&'static str, &'static [(&'static str, Meant)]);

/// The names of version 3.
const V3: &[Row] = &[
    ("blosc", &[("cname", Word("lz4")), ("clevel", Number(5)), ("shuffle", Shuffle), ("typesize", Typesize), ("blocksize", Number(0))]),
    ("gzip", &[("level", Number(5))]),
    ("numcodecs.astype", &[("decode_dtype", Type)]),
    ("numcodecs.delta", &[("dtype", Type), ("astype", Dtype)]),
    ("numcodecs.fixedscaleoffset", &[("dtype", Type), ("astype", Dtype)]),
    ("numcodecs.quantize", &[("dtype", Type)]),
    ("numcodecs.shuffle", &[("elementsize", Size)]),
    ("zstd", &[("level", Number(0)), ("checksum", False)]),
];

/// The ids of numcodecs, in version 2 and behind `numcodecs.`. Parameters that only newer releases know are left out where they say nothing
/// (NC-07), and those of codecs that no other library has.
const NUMCODECS: &[Row] = &[
    ("blosc", &[("cname", Word("lz4")), ("clevel", Number(5)), ("shuffle", Number(1)), ("blocksize", Number(0))]),
    ("bz2", &[("level", Number(1))]),
    ("gzip", &[("level", Number(1))]),
    ("lz4", &[("acceleration", Number(1))]),
    ("shuffle", &[("elementsize", FourOrSize)]),
    ("zlib", &[("level", Number(1))]),
    ("zstd", &[("level", Number(0))]),
];

/// The members of `table` for that name.
fn row(table: &'static [Row], name: &str) -> Option<&'static [(&'static str, Meant)]> {
    table.iter().find(|row| row.0 == name).map(|row| row.1)
}

/// Codecs as these, with all their parameters. What cannot be understood stays as it is.
pub fn completed(codecs: &Codecs, data_type: DataType, rank: usize) -> Codecs {
    let mut codecs = codecs.clone();
    match &mut codecs {
        Codecs::V3(list) => complete(list, data_type, rank, 0),
        Codecs::V2 { filters, compressor, .. } => {
            let mut item = ElementType::native(data_type);
            for codec in filters.iter_mut().chain(compressor) {
                if registered::find_v2(&codec.name).is_none() && registry::has_built_in(&codec.name) {
                    plain_numbers(&mut codec.configuration, Style::V2);
                    fill_in(&mut codec.configuration, row(NUMCODECS, &codec.name).unwrap_or_default(), Style::V2, item);
                }
                // What makes bytes of elements of any length is none of these.
                item = build_v2(&codec.name, &codec.configuration, item).map_or(BYTES, |built| built.item);
            }
        }
    }
    codecs
}

/// The codecs with all their parameters in the one form in which lists are compared, without what says nothing: writers differ in whether numcodecs'
/// zstd says that it has no checksum, and in whether blosc has a size of items that it does not shuffle.
pub fn compared(codecs: &Codecs, data_type: DataType, rank: usize) -> Codecs {
    let mut codecs = completed(codecs, data_type, rank);
    match &mut codecs {
        Codecs::V3(list) => list.iter_mut().for_each(without_idle),
        Codecs::V2 { filters, compressor, .. } => {
            filters
                .iter_mut()
                .chain(compressor)
                .filter(|codec| codec.name == "zstd")
                .for_each(|codec| without_no_checksum(codec, Style::V2));
        }
    }
    codecs
}

/// Takes from a codec of version 3, and from those inside of it, the parameters that say nothing.
fn without_idle(codec: &mut Extension) {
    match &*registry::canonical(&codec.name.clone()) {
        _ if registered::find_v3(&codec.name).is_some() => {}
        "numcodecs.zstd" => without_no_checksum(codec, Style::Numcodecs),
        "blosc" if codec.configuration.get("shuffle").is_some_and(|word| *word == "noshuffle") => {
            codec.configuration.shift_remove("typesize");
        }
        _ => ["codecs", "data_codecs", "index_codecs"].iter().for_each(|member| {
            change_list(&mut codec.configuration, member, |list| list.iter_mut().for_each(without_idle));
        }),
    }
}

fn without_no_checksum(zstd: &mut Extension, style: Style) {
    if matches!(Config::new(&zstd.configuration, style).flag("checksum", false), Ok(false)) {
        zstd.configuration.shift_remove("checksum");
    }
}

/// Completes a list of version 3, which is nested in `depth` others.
fn complete(list: &mut [Extension], data_type: DataType, rank: usize, depth: usize) {
    for at in 0..list.len() {
        let (before, rest) = list.split_at_mut(at);
        if let (Ok((data_type, item)), [codec, ..]) = (entering(before, data_type, rank, depth), rest) {
            complete_one(codec, (data_type, item), rank, depth);
        }
    }
}

fn complete_one(codec: &mut Extension, (data_type, item): (DataType, ElementType), rank: usize, depth: usize) {
    if registered::find_v3(&codec.name).is_some() || depth > limits::MAX_SHARD_NESTING {
        return;
    }
    if is_bare(&codec.name) {
        codec.name = format!("numcodecs.{}", codec.name).into();
    }
    let name = registry::canonical(&codec.name);
    let configuration = &mut codec.configuration;
    let mut nested = |member: &str, data_type, rank| {
        change_list(configuration, member, |list| complete(list, data_type, rank, depth + 1));
    };
    match &*name {
        "sharding_indexed" => {
            nested("codecs", data_type, rank);
            nested("index_codecs", DataType::UInt64, rank + 1);
        }
        "zarrs.vlen" | "vlen" => {
            nested("data_codecs", DataType::UInt8, 1);
            let index = configuration.get("index_data_type").and_then(Value::as_str);
            let index = if index == Some("uint32") { DataType::UInt32 } else { DataType::UInt64 };
            change_list(configuration, "index_codecs", |list| complete(list, index, 1, depth + 1));
        }
        "n5_default" => nested("codecs", data_type, rank),
        "conditional" => change_list(configuration, "codecs", |list| {
            // Behind the first one that is known there are plain bytes.
            let mut item = item;
            for codec in list.iter_mut().filter(|codec| !registry::is_ignored(codec)) {
                complete_one(codec, (data_type, item), rank, depth + 1);
                item = BYTES;
            }
        }),
        "transpose" if configuration.get("order").is_some_and(|order| order.as_str().is_some()) => {
            if let Ok(order) = transpose::parse(&Config::new(configuration, Style::V3), rank) {
                configuration.insert("order".into(), order.iter().map(|&dim| Value::from(dim)).collect());
            }
        }
        _ => {
            let numcodecs = name.strip_prefix("numcodecs.");
            let style = if numcodecs.is_some() { Style::Numcodecs } else { Style::V3 };
            if registry::has_built_in(&name) {
                plain_numbers(configuration, style);
            }
            if let Some(members) = row(V3, &name).or_else(|| row(NUMCODECS, numcodecs?)) {
                fill_in(configuration, members, style, item);
            }
        }
    }
}

/// Changes the codecs that a member lists, each of which becomes an object.
fn change_list(configuration: &mut Map, member: &str, change: impl FnOnce(&mut [Extension])) {
    let Some(Value::Array(list)) = configuration.get(member) else { return };
    if let Ok(mut list) = list.iter().map(Extension::from_v3).collect::<Result<Vec<_>, _>>() {
        change(&mut list);
        configuration.insert(member.into(), list.iter().map(Extension::to_v3).collect());
    }
}

/// Writes what was understood where Python's programs have another spelling, `true` for 1 or `3.0` for 3, or a writer of v2 a text (HD-14):
/// readers with types refuse these.
fn plain_numbers(configuration: &mut Map, style: Style) {
    let given = configuration.clone();
    let config = Config::new(&given, style);
    for (name, value) in &given {
        let plain = match name.as_str() {
            _ if value.is_null() => None,
            "checksum" => config.flag(name, false).ok().map(Value::from),
            // A factor that is no integer makes other numbers of integers, so `3.0` stays.
            "offset" | "scale" => value.as_bool().map(|is_true| i64::from(is_true).into()),
            name if INTEGERS.contains(&name) => config.number(value).map(Value::from),
            _ => None,
        };
        if let Some(plain) = plain {
            configuration.insert(name.clone(), plain);
        }
    }
}

/// Puts in front of what is given, in the order of `members`, what they mean where they are missing.
fn fill_in(configuration: &mut Map, members: &[(&str, Meant)], style: Style, item: ElementType) {
    let mut filled = Map::new();
    for (name, meant) in members {
        let config = Config::new(configuration, style);
        let typesize = || Some(item.size()).filter(|size| *size <= 255).unwrap_or(1).max(1);
        let missing = match meant {
            Number(n) => Some(Value::from(*n)),
            Word(word) => Some(Value::from(*word)),
            False => Some(Value::from(false)),
            Size => Some(Value::from(item.size())),
            FourOrSize => Some(Value::from(if config.get(name).is_some() { item.size() } else { 4 })),
            Type => DataType::NUMPY.contains(&item.data_type).then(|| Value::from(item.data_type.numpy())),
            Dtype => filled.get("dtype").cloned(),
            // Without a shuffle it says nothing.
            Typesize => (blosc::shuffle_word(&config, typesize()) != Some("noshuffle")).then(|| Value::from(typesize())),
            Shuffle => blosc::shuffle_word(&config, typesize()).map(Value::from),
        };
        let given = config.get(name).filter(|value| match meant {
            Shuffle => missing.is_none(),
            Typesize | Size | FourOrSize => value.as_u64() != Some(0),
            _ => true,
        });
        if let Some(value) = given.cloned().or(missing) {
            filled.insert((*name).into(), value);
        }
    }
    for (name, value) in &*configuration {
        if members.iter().all(|(known, _)| name != known) {
            filled.insert(name.clone(), value.clone());
        }
    }
    *configuration = filled;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{encoded, stage_v2, stage_v3};
    use crate::dtype::ByteOrder;
    use crate::json::{json, parse_text};
    use crate::metadata::v3::codec_list;

    fn v3(list: &str) -> Codecs {
        Codecs::V3(codec_list(&parse_text(list).unwrap()).unwrap())
    }

    #[test]
    fn version_3_says_every_parameter_at_every_depth() {
        let full = |text: &str| {
            let text = text.replace(
                "BLOSC4",
                r#"{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}}"#,
            );
            let text = text.replace("SHARDS", r#""name":"sharding_indexed","configuration":{"chunk_shape":[2,2],"codecs""#);
            let text = text.replace("ZSTD", r#"{"name":"zstd","configuration":{"level":0,"checksum":false}}"#);
            let text = text.replace("GZIP", r#"{"name":"gzip","configuration":{"level":5}}"#);
            text.replace("BYTES", r#"{"name":"bytes","configuration":{"endian":"little"}}"#)
        };
        for (data_type, given, written) in [
            (DataType::Int32, r#"[BYTES,"zstd"]"#, "[BYTES,ZSTD]"),
            (
                DataType::Int32,
                r#"[BYTES,{"name":"zstd","configuration":{"own":1,"level":3}}]"#,
                r#"[BYTES,{"name":"zstd","configuration":{"level":3,"checksum":false,"own":1}}]"#,
            ),
            (DataType::Int32, r#"[BYTES,{"name":"zstd","configuration":{"level":null}}]"#, "[BYTES,ZSTD]"),
            (DataType::Int32, r#"[BYTES,"gzip"]"#, "[BYTES,GZIP]"),
            (DataType::Int32, r#"[BYTES,"blosc"]"#, "[BYTES,BLOSC4]"),
            (
                DataType::UInt8,
                r#"["bytes",{"name":"blosc","configuration":{"shuffle":-1,"cname":"zstd"}}]"#,
                r#"[{"name":"bytes"},{"name":"blosc","configuration":{"cname":"zstd","clevel":5,"shuffle":"bitshuffle","typesize":1,"blocksize":0}}]"#,
            ),
            (
                DataType::Int32,
                r#"[BYTES,{"name":"blosc","configuration":{"typesize":2,"shuffle":0}}]"#,
                r#"[BYTES,{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"noshuffle","typesize":2,"blocksize":0}}]"#,
            ),
            // zarr-python refuses a size of 0.
            (
                DataType::Int32,
                r#"[BYTES,{"name":"blosc","configuration":{"typesize":0,"shuffle":"noshuffle"}}]"#,
                r#"[BYTES,{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"noshuffle","blocksize":0}}]"#,
            ),
            (
                DataType::Int32,
                r#"[BYTES,{"name":"blosc","configuration":{"typesize":null,"shuffle":"noshuffle"}}]"#,
                r#"[BYTES,{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"noshuffle","blocksize":0}}]"#,
            ),
            // Elements that are stored as they are have their byte order.
            (
                DataType::Int32,
                r#"[{"name":"numcodecs.delta","configuration":{"dtype":">i4"}},{"name":"bytes","configuration":{"endian":"big"}}]"#,
                r#"[{"name":"numcodecs.delta","configuration":{"dtype":">i4","astype":">i4"}},{"name":"bytes","configuration":{"endian":"big"}}]"#,
            ),
            (
                DataType::Float32,
                r#"[{SHARDS:[{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":1,"scale":9,"dtype":">f4","astype":null}},{"name":"bytes","configuration":{"endian":"big"}}],"index_codecs":[BYTES]}}]"#,
                r#"[{SHARDS:[{"name":"numcodecs.fixedscaleoffset","configuration":{"dtype":">f4","astype":">f4","offset":1,"scale":9}},{"name":"bytes","configuration":{"endian":"big"}}],"index_codecs":[BYTES]}}]"#,
            ),
            // The items are those that enter.
            (
                DataType::Int32,
                r#"[BYTES,"gzip","blosc"]"#,
                r#"[BYTES,GZIP,{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":1,"blocksize":0}}]"#,
            ),
            (
                DataType::Float64,
                r#"[{"name":"numcodecs.astype","configuration":{"encode_dtype":"<i2"}},BYTES,"numcodecs.shuffle"]"#,
                r#"[{"name":"numcodecs.astype","configuration":{"decode_dtype":"<f8","encode_dtype":"<i2"}},BYTES,{"name":"numcodecs.shuffle","configuration":{"elementsize":2}}]"#,
            ),
            (
                DataType::Int32,
                r#"["numcodecs.delta",BYTES,"numcodecs.zlib"]"#,
                r#"[{"name":"numcodecs.delta","configuration":{"dtype":"<i4","astype":"<i4"}},BYTES,{"name":"numcodecs.zlib","configuration":{"level":1}}]"#,
            ),
            // Others read the registered names only.
            (
                DataType::Int32,
                r#"[{SHARDS:[BYTES,"lz4"],"index_codecs":[BYTES,"crc32"]}},"zlib"]"#,
                r#"[{SHARDS:[BYTES,{"name":"numcodecs.lz4","configuration":{"acceleration":1}}],"index_codecs":[BYTES,{"name":"numcodecs.crc32","configuration":{}}]}},{"name":"numcodecs.zlib","configuration":{"level":1}}]"#,
            ),
            (
                DataType::Int32,
                r#"[{"name":"transpose","configuration":{"order":"F"}},BYTES]"#,
                r#"[{"name":"transpose","configuration":{"order":[1,0]}},BYTES]"#,
            ),
            (
                DataType::UInt8,
                r#"[{SHARDS:["bytes","crc32c"],"index_codecs":[BYTES,"crc32c"]}}]"#,
                r#"[{SHARDS:[{"name":"bytes"},{"name":"crc32c"}],"index_codecs":[BYTES,{"name":"crc32c"}]}}]"#,
            ),
            (
                DataType::Int32,
                r#"[{SHARDS:[{SHARDS:[BYTES,"blosc","crc32c"],"index_codecs":[BYTES,"crc32c"]}},"gzip"],"index_codecs":[BYTES]}}]"#,
                r#"[{SHARDS:[{SHARDS:[BYTES,BLOSC4,{"name":"crc32c"}],"index_codecs":[BYTES,{"name":"crc32c"}]}},GZIP],"index_codecs":[BYTES]}}]"#,
            ),
            (
                DataType::Int32,
                r#"[BYTES,{"name":"conditional","configuration":{"codecs":["blosc","zstd"]}}]"#,
                r#"[BYTES,{"name":"conditional","configuration":{"codecs":[BLOSC4,ZSTD]}}]"#,
            ),
            (
                DataType::Int32,
                r#"[BYTES,{"name":"conditional","configuration":{"codecs":["numcodecs.shuffle","numcodecs.shuffle"]}}]"#,
                r#"[BYTES,{"name":"conditional","configuration":{"codecs":[{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.shuffle","configuration":{"elementsize":1}}]}}]"#,
            ),
            (
                DataType::Int32,
                r#"[BYTES,{"name":"conditional","configuration":{"codecs":[{"name":"acme.note","must_understand":false},"blosc"]}}]"#,
                r#"[BYTES,{"name":"conditional","configuration":{"codecs":[{"name":"acme.note","must_understand":false},BLOSC4]}}]"#,
            ),
            (
                DataType::VarText,
                r#"[{"name":"zarrs.vlen","configuration":{"data_codecs":["bytes","zstd"],"index_codecs":[BYTES,"gzip"]}},"zstd"]"#,
                r#"[{"name":"zarrs.vlen","configuration":{"data_codecs":[{"name":"bytes"},ZSTD],"index_codecs":[BYTES,GZIP]}},ZSTD]"#,
            ),
            // Nobody here knows what these lack.
            (DataType::Int32, r#"["other","more"]"#, r#"[{"name":"other"},{"name":"more"}]"#),
        ] {
            let Codecs::V3(found) = completed(&v3(&full(given)), data_type, 2) else { panic!("{given}") };
            let found = found.iter().map(Extension::to_v3).collect::<Value>().to_string();
            assert_eq!(found, full(written), "{given}");
            assert_eq!(completed(&v3(&found), data_type, 2), v3(&found), "{given}");
        }
    }

    #[test]
    fn a_shuffle_says_the_size_that_zero_stands_for() {
        let shuffle = |size: &str| Extension::from_v2(&crate::json::parse_text(&format!(r#"{{"id":"shuffle"{size}}}"#)).unwrap()).unwrap();
        let astype = r#"{"id":"astype","decode_dtype":"<f8","encode_dtype":"<i2"}"#;
        let astype = Extension::from_v2(&crate::json::parse_text(astype).unwrap()).unwrap();
        let zero = r#","elementsize":0"#;
        for (filters, size) in [
            (vec![shuffle(zero)], 8),
            (vec![shuffle("")], 4),
            (vec![shuffle(r#","elementsize":2"#)], 2),
            (vec![astype, shuffle(zero)], 2),
            (vec![shuffle(zero), shuffle(zero)], 1),
        ] {
            let element = ElementType::native(DataType::Float64);
            let codecs = Codecs::V2 { order: crate::metadata::Order::C, element, filters, compressor: None };
            let Codecs::V2 { filters, .. } = completed(&codecs, DataType::Float64, 1) else { panic!("version 3") };
            assert_eq!(filters.last().unwrap().configuration["elementsize"].as_u64(), Some(size));
        }
        let three =
            v3(r#"[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":0}}]"#);
        let Codecs::V3(list) = completed(&three, DataType::Float64, 1) else { panic!("version 2") };
        assert_eq!(list[1].configuration["elementsize"].as_u64(), Some(8));
    }

    #[test]
    fn numbers_are_written_as_they_were_understood() {
        let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        for (name, given, written) in [
            ("gzip", r#"{"level":true}"#, r#"{"level":1}"#),
            ("zstd", r#"{"level":3.0,"checksum":1}"#, r#"{"level":3,"checksum":true}"#),
            (
                "blosc",
                r#"{"clevel":5.0,"shuffle":true,"typesize":false}"#,
                r#"{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}"#,
            ),
            ("numcodecs.shuffle", r#"{"elementsize":false}"#, r#"{"elementsize":4}"#),
            ("numcodecs.shuffle", r#"{"elementsize":0.0}"#, r#"{"elementsize":4}"#),
            ("numcodecs.lzma", r#"{"preset":true,"own":true}"#, r#"{"preset":1,"own":true}"#),
            (
                "conditional",
                r#"{"codecs":[{"name":"gzip","configuration":{"level":true}}]}"#,
                r#"{"codecs":[{"name":"gzip","configuration":{"level":1}}]}"#,
            ),
            // What each means is known of the codecs here alone.
            ("acme.gzip", r#"{"level":true}"#, r#"{"level":true}"#),
        ] {
            let list = |configuration: &str| format!(r#"[{bytes},{{"name":"{name}","configuration":{configuration}}}]"#);
            let Codecs::V3(found) = completed(&v3(&list(given)), DataType::Int32, 1) else { panic!("version 2") };
            assert_eq!(found.iter().map(Extension::to_v3).collect::<Value>().to_string(), list(written), "{name}");
        }
        for (name, given, written) in [
            ("scale_offset", r#"{"offset":false,"scale":true}"#, r#"{"offset":0,"scale":1}"#),
            ("scale_offset", r#"{"scale":2.0}"#, r#"{"scale":2.0}"#),
            ("bitround", r#"{"keepbits":3.0}"#, r#"{"keepbits":3}"#),
        ] {
            let list = |configuration: &str| format!(r#"[{{"name":"{name}","configuration":{configuration}}},{bytes}]"#);
            let Codecs::V3(found) = completed(&v3(&list(given)), DataType::Float32, 1) else { panic!("version 2") };
            assert_eq!(found.iter().map(Extension::to_v3).collect::<Value>().to_string(), list(written), "{name}");
        }
        for (given, written) in [
            (r#"{"id":"zlib","level":"5"}"#, r#"{"id":"zlib","level":5}"#),
            (r#"{"id":"zstd","level":true,"checksum":"YES"}"#, r#"{"id":"zstd","level":1,"checksum":true}"#),
            (r#"{"id":"shuffle","elementsize":"0"}"#, r#"{"id":"shuffle","elementsize":8}"#),
            (r#"{"id":"lzma","preset":2.0}"#, r#"{"id":"lzma","preset":2}"#),
            (r#"{"id":"acme","level":true}"#, r#"{"id":"acme","level":true}"#),
        ] {
            let compressor = Some(Extension::from_v2(&crate::json::parse_text(given).unwrap()).unwrap());
            let element = ElementType::native(DataType::Float64);
            let codecs = Codecs::V2 { order: crate::metadata::Order::C, element, filters: Vec::new(), compressor };
            let Codecs::V2 { compressor, .. } = completed(&codecs, DataType::Float64, 1) else { panic!("version 3") };
            assert_eq!(compressor.unwrap().to_v2().to_string(), written);
        }
    }

    #[test]
    fn lists_that_differ_in_what_says_nothing_are_alike() {
        let (bytes, plain) =
            (r#"{"name":"bytes","configuration":{"endian":"little"}}"#, |list: &str| compared(&v3(list), DataType::Int32, 1));
        for (one, other, alike) in [
            (
                r#""name":"blosc","configuration":{"shuffle":"noshuffle","typesize":4}"#,
                r#""name":"blosc","configuration":{"shuffle":"noshuffle"}"#,
                true,
            ),
            (
                r#""name":"blosc","configuration":{"shuffle":"shuffle","typesize":2}"#,
                r#""name":"blosc","configuration":{"shuffle":"shuffle"}"#,
                false,
            ),
            (r#""name":"numcodecs.zstd","configuration":{"checksum":false}"#, r#""name":"numcodecs.zstd""#, true),
            (r#""name":"numcodecs.zstd","configuration":{"checksum":true}"#, r#""name":"numcodecs.zstd""#, false),
        ] {
            let [one, other] = [one, other].map(|codec| format!("[{bytes},{{{codec}}}]"));
            assert_eq!(plain(&one) == plain(&other), alike, "{one}");
            let shards = |list: &str| {
                format!(r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[2],"codecs":{list},"index_codecs":[{bytes}]}}}}]"#)
            };
            assert_eq!(plain(&shards(&one)) == plain(&shards(&other)), alike, "{one}");
        }
    }

    #[test]
    fn parameters_that_are_filled_in_change_no_byte() {
        let data: Vec<u8> = (0..4000u32).flat_map(|n| (n / 3).to_le_bytes()).collect();
        let int32 = ElementType::new(DataType::Int32, ByteOrder::Little);
        for (table, is_v2) in [(V3, false), (NUMCODECS, false), (NUMCODECS, true)] {
            for (name, _) in table {
                let name = if std::ptr::eq(table, NUMCODECS) && !is_v2 { format!("numcodecs.{name}") } else { name.to_string() };
                let given = match name.as_str() {
                    "numcodecs.astype" => json!({"encode_dtype": "<i2"}),
                    "numcodecs.fixedscaleoffset" => json!({"offset": 1, "scale": 2}),
                    "numcodecs.quantize" => json!({"digits": 1}),
                    _ => json!({}),
                };
                let data_type = if name == "numcodecs.quantize" { DataType::Float32 } else { DataType::Int32 };
                let codec = Extension::new(name.as_str(), given.as_object().unwrap().clone());
                let mut full = codec.clone();
                if is_v2 {
                    fill_in(&mut full.configuration, row(NUMCODECS, &name).unwrap(), Style::V2, int32);
                } else {
                    complete_one(&mut full, (data_type, ElementType::native(data_type)), 1, 0);
                }
                assert!(full.configuration.len() > codec.configuration.len(), "{name}");
                let stage = |codec: &Extension| match is_v2 {
                    true => stage_v2(&name, &Value::Object(codec.configuration.clone()).to_string(), data_type),
                    false => stage_v3(&name, &codec.configuration, ElementType::native(data_type)).unwrap(),
                };
                assert_eq!(encoded(&stage(&codec), &data), encoded(&stage(&full), &data), "{name} {is_v2}");
            }
        }
    }
}
