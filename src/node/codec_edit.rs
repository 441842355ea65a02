//! Changing one thing in a v3 list of codecs: the compressor, the shards, an order. Everything else in it stays.

use super::compression::{Shuffle, Stages, byte_shuffle, no_bits};
use crate::codec::{parse::takes_bytes, registry};
use crate::dtype::ByteOrder;
use crate::error::{Result, bail};
use crate::metadata::extension::Extension;
use crate::metadata::number_list;
use crate::metadata::{Map, Value, v3};

const SHARDS: &str = "sharding_indexed";

/// The list with the codecs before its shards as the first ones of the inner chunks, where they make the same of the elements.
fn with_all_inside(mut list: Vec<Extension>) -> Result<Vec<Extension>> {
    let Some(mut shards) = list.pop_if(|last| last.name == SHARDS) else { return Ok(list) };
    while let Some(codec) = list.pop() {
        if codec.name == "transpose" {
            let numbers = |map: &Map, name: &str| map.get(name)?.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>();
            let (order, inner) = (numbers(&codec.configuration, "order"), numbers(&shards.configuration, "chunk_shape"));
            let (Some(order), Some(inner)) = (order, inner) else {
                list.extend([codec, shards]);
                return Ok(list);
            };
            // The place of each dimension before the transpose.
            let mut before: Vec<(u64, u64)> = order.into_iter().zip(inner).collect();
            before.sort_unstable();
            let before: Vec<u64> = before.into_iter().map(|(_, length)| length).collect();
            shards.configuration.insert("chunk_shape".into(), number_list(&before));
        }
        let mut inner = v3::codec_list(shards.configuration.get("codecs").unwrap_or(&Value::Null))?;
        inner.insert(0, codec);
        shards.configuration.insert("codecs".into(), Value::Array(inner.iter().map(Extension::to_v3).collect()));
    }
    Ok(vec![shards])
}

/// Takes the codecs that have whole shards as their bytes from the end of a list.
fn split_behind_shards(list: &mut Vec<Extension>) -> Vec<Extension> {
    let end = list.iter().rposition(|codec| codec.name == SHARDS).map_or(list.len(), |shards| shards + 1);
    list.split_off(end)
}

/// The list with another one in the place of its codecs for elements: of the whole, or of the chunks in its shards.
pub(super) fn inside(list: Vec<Extension>, change: impl FnOnce(Vec<Extension>) -> Vec<Extension>) -> Result<Vec<Extension>> {
    inside_and_behind(list, Box::new(change), &|_| ())
}

/// What is done to a list of codecs; boxed, so that what looks for the list inside of shards is compiled once.
type Change<'a> = Box<dyn FnOnce(Vec<Extension>) -> Vec<Extension> + 'a>;

/// As the function above; `change_behind` is done to the codecs behind shards, which are apart from those inside.
fn inside_and_behind(list: Vec<Extension>, change: Change<'_>, change_behind: &dyn Fn(&mut Vec<Extension>)) -> Result<Vec<Extension>> {
    let mut moved = list.clone();
    let before = split_behind_shards(&mut moved);
    let mut behind = before.clone();
    change_behind(&mut behind);
    let moved = with_all_inside(moved)?;
    let mut changed = inside_shards(moved.clone(), change, change_behind)?;
    // What changes nothing leaves the list as it is.
    if changed == moved && behind == before {
        return Ok(list);
    }
    changed.extend(behind);
    Ok(changed)
}

fn inside_shards(list: Vec<Extension>, change: Change<'_>, change_behind: &dyn Fn(&mut Vec<Extension>)) -> Result<Vec<Extension>> {
    match list.as_slice() {
        [shards] if shards.name == SHARDS => {
            let mut shards = shards.clone();
            let codecs = v3::codec_list(shards.configuration.get("codecs").unwrap_or(&Value::Null))?;
            let changed = inside_and_behind(codecs, change, change_behind)?.iter().map(Extension::to_v3).collect();
            shards.configuration.insert("codecs".into(), Value::Array(changed));
            Ok(vec![shards])
        }
        _ => Ok(change(list)),
    }
}

/// With the codecs of a compressor in the place of all codecs behind that which makes bytes of elements, but for checksums at the end; one that
/// takes numbers takes that place, too, and `plain` takes it from one that did. Behind shards only checksums stay.
pub(super) fn with_compressor(list: Vec<Extension>, stages: Stages, plain: Extension) -> Result<Vec<Extension>> {
    let change = |mut list: Vec<Extension>| {
        let last = list.iter().rposition(|codec| !registry::is_checksum(&codec.name)).map_or(0, |last| last + 1);
        let checksums = list.split_off(last);
        while list.pop_if(|codec| takes_bytes(&codec.name)).is_some() {}
        if stages.serial.is_some() {
            list.pop();
        } else if list.pop_if(|codec| registry::compresses_numbers(&codec.name)).is_some() {
            list.push(plain);
        }
        list.extend(stages.serial.into_iter().chain(stages.bytes).chain(checksums));
        list
    };
    inside_and_behind(list, Box::new(change), &|behind| behind.retain(|codec| registry::is_checksum(&codec.name)))
}

/// With bytes shuffled that way: by blosc where the list has it, else by a codec in front of the first one that takes bytes.
pub(super) fn with_shuffle(list: Vec<Extension>, shuffle: Option<Shuffle>, item: usize) -> Result<Vec<Extension>> {
    let mut fits = true;
    let without = |list: &mut Vec<Extension>| list.retain(|codec| codec.name != "numcodecs.shuffle");
    let change = |mut list: Vec<Extension>| {
        without(&mut list);
        let first = list.iter().position(|codec| takes_bytes(&codec.name)).unwrap_or(list.len());
        match (list.iter_mut().find(|codec| codec.name == "blosc"), shuffle) {
            (Some(blosc), shuffle) => {
                let word = shuffle.unwrap_or(if item == 1 { Shuffle::Bit } else { Shuffle::Byte }).word();
                blosc.configuration.insert("shuffle".into(), word.into());
            }
            (None, Some(Shuffle::Byte)) if item > 1 => list.insert(first, byte_shuffle(item)),
            (None, Some(Shuffle::Bit)) => fits = false,
            _ => {}
        }
        list
    };
    let changed = inside_and_behind(list, Box::new(change), &without)?;
    if fits { Ok(changed) } else { Err(no_bits()) }
}

/// With numbers rounded by that codec, or not, before anything but their order changes.
pub(super) fn with_rounding(list: Vec<Extension>, rounding: Option<Extension>) -> Result<Vec<Extension>> {
    inside(list, |mut list| {
        list.retain(|codec| !is_rounding(codec));
        let first = list.iter().position(|codec| codec.name != "transpose").unwrap_or(list.len());
        if let Some(rounding) = rounding {
            list.insert(first, rounding);
        }
        list
    })
}

/// The bits of the mantissa to which a list rounds numbers, if it does.
pub(super) fn kept_bits(list: &[Extension]) -> Result<Option<u32>> {
    let mut bits = None;
    inside(list.to_vec(), |list| {
        let rounding = list.iter().find(|codec| is_rounding(codec));
        bits = rounding.and_then(|codec| codec.configuration.get("keepbits")?.as_u64()?.try_into().ok());
        list
    })?;
    Ok(bits)
}

/// The name that a codec has in version 2.
pub(super) fn id_of(name: &str) -> &str {
    name.strip_prefix("numcodecs.").unwrap_or(name)
}

/// The ids of the codecs in a list, also of those inside of shards.
pub(super) fn ids(list: &[Extension]) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    inside(list.to_vec(), |list| {
        ids.extend(list.iter().map(|codec| id_of(&codec.name).to_string()));
        list
    })?;
    Ok(ids)
}

/// Whether a codec, of v2 or of v3, rounds numbers to some bits of their mantissa.
pub(super) fn is_rounding(codec: &Extension) -> bool {
    matches!(codec.name.as_str(), "bitround" | "numcodecs.bitround")
}

/// With or without a CRC-32C behind all other codecs; one behind shards stays where there is to be one.
pub(super) fn with_checksum(list: Vec<Extension>, checksum: bool) -> Result<Vec<Extension>> {
    let without = |list: &mut Vec<Extension>| while list.pop_if(|codec| codec.name == "crc32c").is_some() {};
    let change = |mut list: Vec<Extension>| {
        without(&mut list);
        list.extend(checksum.then(|| Extension::new("crc32c", Map::new())));
        list
    };
    inside_and_behind(list, Box::new(change), if checksum { &|_| () } else { &without })
}

/// Takes a CRC-32C from the end of v2's filters and compressor; what is before it is the compressor then, if it is one. Returns whether there was
/// one.
pub(super) fn take_checksum(filters: &mut Vec<Extension>, compressor: &mut Option<Extension>) -> bool {
    let is_last = |codec: &mut Extension| codec.name == "crc32c";
    let found = match compressor {
        None => filters.pop_if(is_last).is_some(),
        Some(_) => compressor.take_if(is_last).is_some(),
    };
    if found {
        *compressor = filters.pop_if(|codec| is_compressor_v2(codec));
    }
    found
}

/// Whether a codec of v2 makes fewer bytes, or numbers' bytes fewer.
fn is_compressor_v2(codec: &Extension) -> bool {
    let name = format!("numcodecs.{}", codec.name);
    let of_bytes = takes_bytes(&name) && !registry::is_checksum(&name) && codec.name != "shuffle";
    of_bytes || registry::compresses_numbers(&name)
}

/// With inner chunks of that shape: of its shards, or of shards that it did not have.
pub(super) fn with_inner_chunks(mut list: Vec<Extension>, inner: &[u64], index: Value) -> Result<Vec<Extension>> {
    let behind = split_behind_shards(&mut list);
    let list = with_all_inside(list)?;
    let shards = match list.as_slice() {
        [shards] if shards.name == SHARDS => {
            let mut shards = shards.clone();
            shards.configuration.insert("chunk_shape".into(), number_list(inner));
            shards
        }
        _ => shards(inner, &list, index),
    };
    Ok(std::iter::once(shards).chain(behind).collect())
}

/// The codec of shards with inner chunks of that shape, which go through `codecs`.
pub(super) fn shards(inner: &[u64], codecs: &[Extension], index: Value) -> Extension {
    let members = [
        ("chunk_shape", number_list(inner)),
        ("codecs", Value::Array(codecs.iter().map(Extension::to_v3).collect())),
        ("index_codecs", index),
        ("index_location", "end".into()),
    ];
    Extension::new(SHARDS, members.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

/// Without shards: the list of their inner chunks. What is behind the shards has whole ones as its bytes: it stays, and so must they. Errors: `Unsupported`.
pub(super) fn without_shards(mut list: Vec<Extension>) -> Result<Vec<Extension>> {
    if let Some(codec) = split_behind_shards(&mut list).first() {
        bail!(
            Unsupported,
            "the shards have {:?} behind them, which is made for whole shards: give the codecs as a member instead",
            codec.name
        );
    }
    let list = with_all_inside(list)?;
    match list.as_slice() {
        [shards] if shards.name == SHARDS => v3::codec_list(shards.configuration.get("codecs").unwrap_or(&Value::Null)),
        _ => Ok(list),
    }
}

/// With elements in that order: `reversed` is the transpose of F order.
pub(super) fn with_order(list: Vec<Extension>, reversed: Option<Extension>) -> Result<Vec<Extension>> {
    inside(list, |mut list| {
        list.retain(|codec| codec.name != "transpose");
        reversed.into_iter().chain(list).collect()
    })
}

/// With bytes in that order.
pub(super) fn with_byte_order(list: Vec<Extension>, order: ByteOrder) -> Result<Vec<Extension>> {
    inside(list, |mut list| {
        list.iter_mut().filter(|c| c.name == "bytes" && c.configuration.contains_key("endian")).for_each(|c| set_endian(c, order));
        list
    })
}

pub(super) fn set_endian(codec: &mut Extension, order: ByteOrder) {
    let word = if order == ByteOrder::Big { "big" } else { "little" };
    let mut configuration = Map::new();
    configuration.insert("endian".into(), word.into());
    codec.configuration = configuration;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::registered::{self as registered_codec, Class, Codec, Opened};
    use crate::dtype::DataType;
    use crate::metadata::json;
    use crate::node::follow_type::Walk;
    use std::sync::Arc;

    fn list(text: &str) -> Vec<Extension> {
        v3::codec_list(&json::parse_text(text).unwrap()).unwrap()
    }

    fn text(list: &[Extension]) -> String {
        Value::Array(list.iter().map(Extension::to_v3).collect()).to_string()
    }

    #[test]
    fn codecs_before_shards_are_changed_with_those_inside() {
        let bits = r#"{"name":"bitround","configuration":{"keepbits":8}}"#;
        let turn = r#"{"name":"transpose","configuration":{"order":[2,0,1]}}"#;
        let shards = |shape: &str, codecs: &str| {
            format!(r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":{shape},"codecs":[{codecs}]}}}}"#)
        };
        let (bytes, gzip) = (r#"{"name":"bytes"}"#, r#"{"name":"gzip","configuration":{"level":1}}"#);
        let all = list(&format!("[{turn},{bits},{}]", shards("[4,1,3]", &format!("{bytes},{gzip}"))));
        let same = |got: Vec<Extension>, wanted: String| assert_eq!(text(&got), text(&list(&wanted)));
        assert_eq!(kept_bits(&all).unwrap(), Some(8));
        same(with_rounding(all.clone(), None).unwrap(), format!("[{}]", shards("[1,3,4]", &format!("{turn},{bytes},{gzip}"))));
        same(
            with_compressor(all.clone(), Stages::default(), list(&format!("[{bytes}]")).remove(0)).unwrap(),
            format!("[{}]", shards("[1,3,4]", &format!("{turn},{bits},{bytes}"))),
        );
        same(without_shards(all.clone()).unwrap(), format!("[{turn},{bits},{bytes},{gzip}]"));
        same(
            with_inner_chunks(all, &[2, 2, 2], Value::Null).unwrap(),
            format!("[{}]", shards("[2,2,2]", &format!("{turn},{bits},{bytes},{gzip}"))),
        );
        // What cannot go inside stays where it is.
        let behind = format!("[{bits},{},{gzip}]", shards("[2]", bytes));
        assert_eq!(text(&with_all_inside(list(&behind)).unwrap()), text(&list(&behind)));
    }

    #[test]
    fn codecs_behind_shards_stay_where_those_inside_are_changed() {
        let bytes = |order: &str| format!(r#"{{"name":"bytes","configuration":{{"endian":"{order}"}}}}"#);
        let shards = |shape: &str, codecs: &str| {
            format!(r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":{shape},"codecs":[{codecs}]}}}}"#)
        };
        let (little, zstd) = (bytes("little"), r#"{"name":"zstd","configuration":{"level":1,"checksum":false}}"#);
        let (gzip, sum) = (r#"{"name":"gzip","configuration":{"level":1}}"#, r#"{"name":"crc32c"}"#);
        let shuffle = r#"{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}"#;
        let inner = format!("{little},{zstd}");
        let stages = |serial: Option<&str>, bytes: &[&str]| {
            let of = |text: &str| list(&format!("[{text}]")).remove(0);
            Stages { serial: serial.map(of), bytes: bytes.iter().map(|text| of(text)).collect(), ..Stages::default() }
        };
        let plain = || list(&format!("[{little}]")).remove(0);
        let pcodec = r#"{"name":"numcodecs.pcodec","configuration":{"level":8}}"#;
        type Change<'a> = &'a dyn Fn(Vec<Extension>) -> Result<Vec<Extension>>;
        let compressor = |serial: Option<&'static str>, bytes: &'static [&'static str]| {
            move |list| with_compressor(list, stages(serial, bytes), plain())
        };
        let to_double = |list| {
            Walk::new((DataType::Float32, DataType::Float64), &[]).along(list, ByteOrder::Little, &Extension::new("bytes", Map::new()))
        };
        const GZIP: &[&str] = &[r#"{"name":"gzip","configuration":{"level":1}}"#];
        // The change, the codecs inside and behind that it is of, and those that it makes.
        let cases: &[(&str, Change<'_>, [&str; 2], [&str; 2])] = &[
            ("big", &|list| with_byte_order(list, ByteOrder::Big), [&inner, sum], [&format!("{},{zstd}", bytes("big")), sum]),
            ("none", &compressor(None, &[]), [&inner, sum], [&little, sum]),
            ("none, twice", &compressor(None, &[]), [&inner, &format!("{gzip},{sum}")], [&little, sum]),
            ("gzip", &compressor(None, GZIP), [&inner, sum], [&format!("{little},{gzip}"), sum]),
            ("pcodec", &compressor(Some(pcodec), &[]), [&inner, sum], [pcodec, sum]),
            ("shuffle", &|list| with_shuffle(list, Some(Shuffle::Byte), 4), [&inner, sum], [&format!("{little},{shuffle},{zstd}"), sum]),
            ("no shuffle", &|list| with_shuffle(list, None, 4), [&inner, &format!("{shuffle},{sum}")], [&inner, sum]),
            ("checksum", &|list| with_checksum(list, true), [&inner, sum], [&format!("{inner},{sum}"), sum]),
            ("no checksum", &|list| with_checksum(list, false), [&format!("{inner},{sum}"), &format!("{gzip},{sum}")], [&inner, gzip]),
            ("type", &to_double, [&inner, sum], [&inner, sum]),
            (
                "type in shards in shards",
                &to_double,
                [&format!("{},{sum}", shards("[1]", "\"bytes\"")), sum],
                [&format!("{},{sum}", shards("[1]", &little)), sum],
            ),
        ];
        for (name, change, [inside, behind], [changed_inside, changed_behind]) in cases {
            let of = |inside: &str, behind: &str| list(&format!("[{},{behind}]", shards("[2]", inside)));
            assert_eq!(text(&change(of(inside, behind)).unwrap()), text(&of(changed_inside, changed_behind)), "{name}");
        }
        let all = list(&format!("[{},{sum}]", shards("[2]", &inner)));
        let other = with_inner_chunks(all.clone(), &[4], Value::Null).unwrap();
        assert_eq!(text(&other), text(&list(&format!("[{},{sum}]", shards("[4]", &inner)))));
        assert_eq!(without_shards(all).unwrap_err().kind(), crate::error::ErrorKind::Unsupported);
    }

    #[test]
    fn a_registered_compressor_goes_as_others_do() {
        let add = |name: &str, class| registered_codec::register(Some(name), None, Arc::new(Unopened(class)), true).unwrap();
        add("test.edit_bytes", Class::Bytes);
        add("test.edit_array", Class::Array { elementwise: true });
        let (bytes, gzip) = (r#"{"name":"bytes","configuration":{"endian":"little"}}"#, r#"{"name":"gzip","configuration":{"level":1}}"#);
        let shuffle = r#"{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}"#;
        let own = format!(r#"["test.edit_array",{bytes},"test.edit_bytes","crc32c"]"#);
        let compressed = |given: &[&str]| {
            let bytes_codecs = given.iter().map(|text| list(&format!("[{text}]")).remove(0)).collect();
            with_compressor(list(&own), Stages { bytes: bytes_codecs, ..Stages::default() }, list(&format!("[{bytes}]")).remove(0))
        };
        for (got, want) in [
            (compressed(&[]), format!(r#"["test.edit_array",{bytes},"crc32c"]"#)),
            (compressed(&[gzip]), format!(r#"["test.edit_array",{bytes},{gzip},"crc32c"]"#)),
            (
                with_shuffle(list(&own), Some(Shuffle::Byte), 4),
                format!(r#"["test.edit_array",{bytes},{shuffle},"test.edit_bytes","crc32c"]"#),
            ),
        ] {
            assert_eq!(text(&got.unwrap()), text(&list(&want)));
        }
    }

    /// A registered codec that nothing goes through.
    struct Unopened(Class);

    impl Codec for Unopened {
        fn class(&self) -> Class {
            self.0
        }
        fn open(&self, _: &str, _: bool, input: DataType) -> Result<(Arc<dyn Opened>, DataType)> {
            crate::error::bail!(Unsupported, "found elements of {}, expected none", input.name())
        }
    }

    #[test]
    fn a_change_of_nothing_leaves_codecs_before_shards_where_they_are() {
        let all = list(
            r#"[{"name":"transpose","configuration":{"order":[1,0]}},
                {"name":"sharding_indexed","configuration":{"chunk_shape":[2,4],"codecs":[{"name":"bytes","configuration":{"endian":"big"}}]}}]"#,
        );
        assert_eq!(text(&with_byte_order(all.clone(), ByteOrder::Big).unwrap()), text(&all));
    }
}
