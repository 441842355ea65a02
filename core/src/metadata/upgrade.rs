//! What version 2 and the drafts say, said in version 3: the same elements in the same bytes of every chunk.
//! Specification: v3 core, "Array metadata"; codecs of numcodecs under the names that zarr-python 3 gives them (`numcodecs.…`).

use super::codecs_to_v3::codecs;
use super::draft::filters;
use super::extension::Extension;
use super::json::brief;
use super::v2::DIMENSIONS;
use super::{ArrayMeta, Codecs, Dialect, Format, Map, Order, Value, v3};
use crate::dtype::{ByteOrder, ElementType, check_v3, parse_v2};
use crate::error::{Error, ErrorKind, Result, err};
use crate::grid::key::KeyEncoding;
use crate::limits::check_dimension_names;

/// The v3 array that reads the chunks of `meta` as they are, and its document. `attributes` are those of the old array; the names of
/// its dimensions among them become `dimension_names`, what else was told there alone (filters) goes.
///
/// Chunk keys are those of version 2 where it was v2, `default` where it was a draft. A fill value of null becomes 0.
/// Errors: `Unsupported` with the old field where v3 has no form for something; see [`recoded`].
pub fn array(meta: &ArrayMeta, attributes: Map) -> Result<ArrayMeta> {
    let codecs = codecs(&meta.codecs, meta.data_type, meta.shape.len())?;
    check_quantized(&meta.codecs)?;
    with_codecs(meta, attributes, codecs)
}

/// Refuses big-endian elements of `quantize`, the one codec whose type zarr-python 3.4 does not go by: it takes them for little-endian ones.
fn check_quantized(codecs: &Codecs) -> Result<()> {
    let Codecs::V2 { filters, .. } = codecs else { return Ok(()) };
    for (i, filter) in filters.iter().enumerate().filter(|(_, filter)| filter.name == "quantize") {
        let said = ["astype", "dtype"].iter().find_map(|member| filter.configuration.get(member).filter(|value| !value.is_null()));
        if let Some(value) = said
            && parse_v2::parse_spelling(value)?.order == ByteOrder::Big
        {
            let e = err!(Unsupported, "\"quantize\" of {} has no form in Zarr v3: zarr-python reads other numbers", brief(value));
            return Err(e.at_field(format!("filters[{i}]")));
        }
    }
    Ok(())
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
    new.document = v3::write_array(&new)?;
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
        (Format::V2, _) => attributes = with_nczarr_members(&meta.document, attributes),
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
    check_v3(new.data_type).map_err(|e| e.at_field("dtype"))?;
    let again = v3::array_from(v3::write_array(&new)?).map_err(|e| no_form(&e))?;
    if again.data_type != meta.data_type || again.fill.try_element(meta.data_type)? != meta.fill.try_element(meta.data_type)? {
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
    check_dimension_names(list.iter().map(Value::as_str)).ok()?;
    list.iter().map(|name| name.as_str().map(|s| Some(s.to_string()))).collect()
}

/// Returns `attributes` with the members that NCZarr has in a v2 document beside those of the specification: newer versions of it look
/// among the attributes.
pub fn with_nczarr_members(document: &Map, mut attributes: Map) -> Map {
    for (name, value) in document.iter().filter(|(name, _)| name.to_ascii_lowercase().starts_with("_nczarr")) {
        if !attributes.contains_key(name) {
            attributes.insert(name.clone(), value.clone());
        }
    }
    attributes
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
            (
                r#","dtype":"<f4","compressor":{"id":"zfpy","mode":4,"tolerance":0.5,"rate":-1,"precision":-1,"other":1}"#,
                r#"[{"name":"numcodecs.zfpy","configuration":{"mode":4,"tolerance":0.5,"rate":-1,"precision":-1}}]"#,
            ),
            // GDAL leaves a member there.
            (
                r#","dtype":"|u1","compressor":{"id":"lzma","preset":2,"delta":1}"#,
                r#"[{"name":"bytes"},{"name":"numcodecs.lzma","configuration":{"preset":2}}]"#,
            ),
            // Numbers in texts, as netCDF-C has written them, and GDAL's "YES".
            (
                r#","filters":[{"id":"shuffle","elementsize":"4"}],"compressor":{"id":"zlib","level":"5"}"#,
                r#"[{"name":"bytes","configuration":{"endian":"big"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.zlib","configuration":{"level":5}}]"#,
            ),
            (
                r#","dtype":"|u1","compressor":{"id":"blosc","cname":"zstd","clevel":"3","shuffle":"bitshuffle","blocksize":"0"}"#,
                r#"[{"name":"bytes"},{"name":"blosc","configuration":{"cname":"zstd","clevel":3,"shuffle":"bitshuffle","typesize":1,"blocksize":0}}]"#,
            ),
            (
                r#","dtype":"|u1","compressor":{"id":"zstd","level":"-3","checksum":"YES"}"#,
                r#"[{"name":"bytes"},{"name":"zstd","configuration":{"level":-3,"checksum":true}}]"#,
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
            (
                r#","filters":[{"id":"delta","dtype":">i4"}]"#,
                r#"[{"name":"numcodecs.delta","configuration":{"dtype":">i4","astype":">i4"}},{"name":"bytes","configuration":{"endian":"big"}}]"#,
            ),
            (
                r#","dtype":">f4","filters":[{"id":"fixedscaleoffset","offset":1,"scale":9,"dtype":">f4","astype":null}]"#,
                r#"[{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":1,"scale":9,"dtype":">f4","astype":">f4"}},{"name":"bytes","configuration":{"endian":"big"}}]"#,
            ),
            (
                r#","dtype":"<f4","filters":[{"id":"quantize","digits":2,"dtype":"<f4"}]"#,
                r#"[{"name":"numcodecs.quantize","configuration":{"digits":2,"dtype":"<f4"}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
            ),
            // GDAL's of bytes, and NumPy's name of a type.
            (
                r#","dtype":"|u1","filters":[{"id":"delta","dtype":"u1"}]"#,
                r#"[{"name":"numcodecs.delta","configuration":{"dtype":"u1","astype":"u1"}},{"name":"bytes"}]"#,
            ),
            (
                r#","dtype":"<f8","filters":[{"id":"fixedscaleoffset","offset":0,"scale":10,"dtype":"float64","astype":"i2"}]"#,
                r#"[{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":0,"scale":10,"dtype":"float64","astype":"i2"}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
            ),
            (
                r#","dtype":"<i4","compressor":{"id":"pcodec","level":8,"delta_spec":"no_op"}"#,
                r#"[{"name":"numcodecs.pcodec","configuration":{"level":8,"delta_spec":"none"}}]"#,
            ),
            // zarr-python reads no complex numbers of its own.
            (r#","dtype":"<c8","compressor":{"id":"pcodec","level":8}"#, r#"[{"name":"pcodec","configuration":{"level":8}}]"#),
            (
                r#","dtype":"<f4","filters":[{"id":"bitround","keepbits":3}]"#,
                r#"[{"name":"numcodecs.bitround","configuration":{"keepbits":3}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
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
            (r#","dtype":"<i4","filters":[{"id":"bitround","keepbits":3}]"#, "filters[0]"),
            (r#","dtype":">f4","filters":[{"id":"quantize","digits":2,"dtype":">f4"}]"#, "filters[0]"),
            (r#","dtype":">f4","filters":[{"id":"quantize","digits":2,"dtype":">f4","astype":">f4"}]"#, "filters[0]"),
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
        let strange = r#","dtype":"|u1","filters":[{"id":"delta","dtype":"i1"}]"#;
        assert!(may_recode(&array(&v2_array(strange), Map::new()).unwrap_err()));
        let e = array(&v2_array(r#","compressor":{"id":"blosc","shuffle":7}"#), Map::new()).unwrap_err();
        assert!(!may_recode(&e), "{e}");
    }

    #[test]
    fn fields_that_have_no_form_are_named() {
        for (dtype, said) in [
            (r#"[["x","<f4",[3]],["y","<i4"]]"#, "the field \"x\" has a shape"),
            (r#"[["a",[["x","<f4",[3]]]],["y","<i4"]]"#, "the field \"x\" has a shape"),
            (r#"[["x","|i1"],["","|V3"],["y","<i4"]]"#, "padding between the fields"),
        ] {
            let mut meta = v2_array(&format!(r#","dtype":{dtype}"#));
            meta.fill = crate::dtype::fill::Fill::undefined();
            for e in [array(&meta, Map::new()), recoded(&meta, Map::new())].map(Result::unwrap_err) {
                assert!(e.field() == Some("dtype") && e.message().contains(said) && !may_recode(&e), "{e}");
            }
        }
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
        let attributes = with_nczarr_members(&document, object(r#"{"a":1}"#));
        assert_eq!(Value::Object(attributes).to_string(), r#"{"a":1,"_NCZARR_GROUP":{"dims":{}}}"#);
    }
}
