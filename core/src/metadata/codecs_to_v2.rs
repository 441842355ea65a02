//! What a v3 list of codecs says, said in version 2: the same elements in the same bytes. The way back of `codecs_to_v3`.
//! Specification: v2, "Arrays"; codecs by numcodecs' ids.

use super::extension::{Extension, is_bare};
use super::json::{brief, u64_list};
use super::{Map, Order, Value, v3};
use crate::dtype::ByteOrder;
use crate::error::{Result, bail, err};
use crate::limits::Dims;

/// The members of a `.zarray` that a list of codecs becomes.
#[derive(Debug, Default, PartialEq)]
pub struct Members {
    /// Whether elements are in F order.
    pub fortran: bool,
    /// The byte order that the list says; `None` where elements have none.
    pub byte_order: Option<ByteOrder>,
    /// `filters`.
    pub filters: Vec<Extension>,
    /// `compressor`.
    pub compressor: Option<Extension>,
    /// Version 2 has no shards: the shape of the chunks inside of them, which become the chunks.
    pub inner: Option<Dims>,
}

impl Members {
    /// `order`.
    pub fn order(&self) -> Order {
        if self.fortran { Order::F } else { Order::C }
    }
}

/// Errors: `Unsupported` at `codecs[i]` where version 2 has no form for one.
pub fn codecs(list: &[Extension], rank: usize) -> Result<Members> {
    if let [shards] = list
        && shards.name == "sharding_indexed"
    {
        let at = |e: crate::error::Error| e.at_field("codecs[0].configuration");
        let member = |name: &str| shards.configuration.get(name).cloned().unwrap_or(Value::Null);
        let inner = u64_list(&member("chunk_shape")).map_err(at)?;
        let inside = v3::codec_list(&member("codecs")).map_err(at)?;
        if inside.iter().any(|c| c.name == "sharding_indexed") {
            bail!(Unsupported, "shards in shards have no form in Zarr v2");
        }
        return Ok(Members { inner: Some(inner), ..codecs(&inside, rank)? });
    }
    let (mut members, mut rest) = (Members::default(), Vec::new());
    let mut serial = false;
    for (i, codec) in list.iter().enumerate() {
        let at = |e: crate::error::Error| e.at_field(format!("codecs[{i}]"));
        match codec.name.as_str() {
            "transpose" if i == 0 => members.fortran = is_fortran(codec, rank).map_err(at)?,
            "bytes" => {
                serial = true;
                members.byte_order = match codec.configuration.get("endian").and_then(Value::as_str) {
                    None => None,
                    Some("big") => Some(ByteOrder::Big),
                    Some(_) => Some(ByteOrder::Little),
                };
                if members.byte_order == Some(ByteOrder::Big) && !rest.is_empty() {
                    return Err(at(err!(Unsupported, "big-endian elements behind a filter have no form in Zarr v2")));
                }
            }
            "vlen-utf8" | "vlen-bytes" => {
                serial = true;
                rest.push(codec.clone());
            }
            name if !serial && !name.starts_with("numcodecs.") && name != "pcodec" => {
                return Err(at(err!(Unsupported, "the codec {name:?} has no form in Zarr v2")));
            }
            _ => {
                serial |= matches!(codec.name.as_str(), "pcodec" | "numcodecs.pcodec" | "numcodecs.zfpy")
                    || codec.name.starts_with("numcodecs.vlen");
                rest.push(plain(codec).map_err(at)?);
            }
        }
    }
    // The last one that makes bytes of bytes is the compressor; filters of elements, and what makes bytes of text, stay filters.
    let filters_only = |c: &Extension| c.name.starts_with("vlen-") || FILTERS.contains(&c.name.as_str());
    members.compressor = rest.pop_if(|c| !filters_only(c));
    members.filters = rest;
    Ok(members)
}

/// numcodecs' codecs for elements.
const FILTERS: &[&str] = &["astype", "bitround", "delta", "fixedscaleoffset", "packbits", "quantize"];

/// Whether a transpose is that of F order; one that changes nothing is that of C order.
fn is_fortran(codec: &Extension, rank: usize) -> Result<bool> {
    let order = codec.configuration.get("order").cloned().unwrap_or(Value::Null);
    let Ok(list) = u64_list(&order) else { bail!(Unsupported, "the order {} has no form in Zarr v2", brief(&order)) };
    let same = |n: Vec<u64>| list.as_slice() == n;
    match (same((0..rank as u64).collect()), same((0..rank as u64).rev().collect())) {
        (true, _) => Ok(false),
        (false, true) => Ok(true),
        _ => bail!(Unsupported, "a transpose to {} has no form in Zarr v2", brief(&order)),
    }
}

/// A codec of v3 as numcodecs has it.
pub fn plain(codec: &Extension) -> Result<Extension> {
    let mut configuration = codec.configuration.clone();
    let name = match codec.name.as_str() {
        "gzip" => "gzip",
        "pcodec" => "pcodec",
        "zstd" => {
            // Other readers refuse the member (NC-07).
            if configuration.get("checksum").is_none_or(|c| c == &Value::Bool(false)) {
                configuration.shift_remove("checksum");
            }
            "zstd"
        }
        "crc32c" => {
            configuration.insert("location".into(), "end".into());
            "crc32c"
        }
        "blosc" => {
            configuration = blosc(configuration)?;
            "blosc"
        }
        name => match name.strip_prefix("numcodecs.") {
            Some(id) => id,
            None if is_bare(name) => name,
            None => bail!(Unsupported, "the codec {name:?} has no form in Zarr v2"),
        },
    };
    // zarrs has attempts with a parameter, which numcodecs refuses when it encodes; readers need none.
    if name == "pcodec" && configuration.get("mode_spec").is_some_and(Value::is_object) {
        configuration.insert("mode_spec".into(), "auto".into());
    }
    Ok(Extension::new(name, configuration))
}

/// Numcodecs' blosc with another shuffle, by its name in v3.
pub fn with_shuffle(blosc: &Extension, word: &str) -> Result<Extension> {
    let mut blosc = blosc.clone();
    blosc.configuration.insert("shuffle".into(), shuffle(word)?.into());
    Ok(blosc)
}

fn blosc(mut configuration: Map) -> Result<Map> {
    let number = shuffle(configuration.get("shuffle").and_then(Value::as_str).unwrap_or("shuffle"))?;
    configuration.insert("shuffle".into(), number.into());
    configuration.shift_remove("typesize");
    Ok(configuration)
}

fn shuffle(word: &str) -> Result<i32> {
    match word {
        "noshuffle" => Ok(0),
        "shuffle" => Ok(1),
        "bitshuffle" => Ok(2),
        other => bail!(Unsupported, "the shuffle {other:?} has no form in Zarr v2"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::{DataType, ElementType};
    use crate::metadata::{Codecs, codecs_to_v3, json};

    fn list(text: &str) -> Vec<Extension> {
        v3::codec_list(&json::parse_text(text).unwrap()).unwrap()
    }

    /// What goes down comes up as it was.
    #[test]
    fn lists_have_these_forms_and_come_back() {
        let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        let cases = [
            ("[BYTES]", "null", "[]"),
            (r#"[BYTES,{"name":"zstd","configuration":{"level":3,"checksum":false}}]"#, r#"{"id":"zstd","level":3}"#, "[]"),
            (r#"[BYTES,{"name":"gzip","configuration":{"level":6}}]"#, r#"{"id":"gzip","level":6}"#, "[]"),
            (
                r#"[{"name":"transpose","configuration":{"order":[1,0]}},BYTES,{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"bitshuffle","typesize":4,"blocksize":0}}]"#,
                r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":2,"blocksize":0}"#,
                "[]",
            ),
            (
                r#"[{"name":"numcodecs.delta","configuration":{"dtype":"<i4","astype":"<i4"}},BYTES,{"name":"numcodecs.zlib","configuration":{"level":1}}]"#,
                r#"{"id":"zlib","level":1}"#,
                r#"[{"id":"delta","dtype":"<i4","astype":"<i4"}]"#,
            ),
            (
                r#"[{"name":"numcodecs.delta","configuration":{"dtype":"<i4","astype":"<i4"}},BYTES]"#,
                "null",
                r#"[{"id":"delta","dtype":"<i4","astype":"<i4"}]"#,
            ),
        ];
        for (text, compressor, filters) in cases {
            let from = list(&text.replace("BYTES", bytes));
            let members = codecs(&from, 2).unwrap();
            let show = |c: &Extension| json::to_compact(&c.to_v2());
            assert_eq!(members.compressor.as_ref().map_or("null".into(), show), compressor, "{text}");
            assert_eq!(format!("[{}]", members.filters.iter().map(show).collect::<Vec<_>>().join(",")), filters, "{text}");
            let element = ElementType::new(DataType::Int32, members.byte_order.unwrap());
            let down = Codecs::V2 { order: members.order(), element, filters: members.filters, compressor: members.compressor };
            assert_eq!(codecs_to_v3::codecs(&down, DataType::Int32, 2).unwrap(), from, "{text}");
        }
    }

    #[test]
    fn bare_names_are_ids() {
        let members = codecs(&list(r#"["bytes",{"name":"zlib","configuration":{"level":2}}]"#), 1).unwrap();
        assert_eq!(members.compressor.unwrap().name, "zlib");
    }

    #[test]
    fn pcodec_has_a_mode_that_numcodecs_knows() {
        for (given, kept) in [(r#"{"try_float_mult":0.1}"#, r#""auto""#), (r#""classic""#, r#""classic""#)] {
            for name in ["pcodec", "numcodecs.pcodec"] {
                let members =
                    codecs(&list(&format!(r#"[{{"name":"{name}","configuration":{{"level":8,"mode_spec":{given}}}}}]"#)), 1).unwrap();
                let found = json::to_compact(&members.compressor.unwrap().to_v2());
                assert_eq!(found, format!(r#"{{"id":"pcodec","level":8,"mode_spec":{kept}}}"#), "{name}");
            }
        }
    }

    #[test]
    fn shards_leave_their_inner_chunks_and_what_has_no_form_is_named() {
        let shards =
            r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,3],"codecs":["bytes","crc32c"],"index_codecs":["bytes"]}}]"#;
        let members = codecs(&list(shards), 2).unwrap();
        assert_eq!((members.inner.as_deref(), members.compressor.unwrap().name), (Some([2, 3].as_slice()), "crc32c".into()));
        for (text, field) in [
            (r#"["bitround","bytes"]"#, "codecs[0]"),
            (r#"["bytes","zfp"]"#, "codecs[1]"),
            (r#"[{"name":"transpose","configuration":{"order":[1,2,0]}},"bytes"]"#, "codecs[0]"),
        ] {
            assert_eq!(codecs(&list(text), 3).unwrap_err().field(), Some(field), "{text}");
        }
    }
}
