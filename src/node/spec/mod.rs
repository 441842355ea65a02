//! What to create: a builder of array metadata. Settings are kept as they are given; `resolve` turns them into the model and the document
//! of the format that is asked for, or that of the enclosing group.

mod agree;
mod chunks;
mod codecs;
mod convert_fill;
mod like;
mod resolve;
mod retype;

use super::compression::Compression;
use crate::counting;
use crate::dtype::fill::Fill;
use crate::dtype::resolve::default_scalar;
use crate::dtype::{ByteOrder, DataType, ElementType};
use crate::error::{Result, bail, err};
use crate::grid::key::{KeyEncoding, Separator};
use crate::grid::rectilinear::Extents;
use crate::limits::{self, Dims};
use crate::metadata::extension::Extension;
use crate::metadata::json;
use crate::metadata::{Format, Map, Order, Value, v3, v3_grid};
pub(super) use chunks::suggested;
use convert_fill::convert_fill;
pub(super) use convert_fill::converted_fill;
pub(super) use like::undefined_fill;
pub(super) use resolve::v2_unnamed;
pub use retype::DIGEST;

/// What array to create. Without further settings: chunks of about 1 MiB, zstd, fill value 0, zarr_format 3 (or that of the
/// enclosing group).
#[derive(Clone, Debug)]
pub struct Spec {
    data_type: DataType,
    /// Zeros until it is set.
    shape: Dims,
    shape_is_set: bool,
    format: Option<Format>,
    chunks: Option<Dims>,
    /// Extents that `chunks` does not say, for each dimension that has them.
    extents: Vec<(usize, Extents)>,
    inner_chunks: Option<Dims>,
    fill: FillSetting,
    /// Whether the fill value was set, or is that of the type.
    fill_is_set: bool,
    dimension_names: Option<Vec<Option<String>>>,
    order: Order,
    byte_order: ByteOrder,
    keys: Option<KeyEncoding>,
    separator: Option<Separator>,
    /// v3: the whole list.
    codecs: Option<Vec<Extension>>,
    compression: Compression,
    /// v2.
    filters: Option<Vec<Extension>>,
    attributes: Map,
    /// Whether the elements, if they are bytes of length 1, are netCDF's `char`.
    is_nc_char: bool,
    /// The document that the settings come from, for its members that are not settings.
    document: Map,
    /// The codecs are those of an array that is copied: a setting changes one thing in the list, instead of contradicting it.
    loose: bool,
    /// The ids of codecs that the caller has named since, which are kept where the type changes.
    given: Vec<String>,
    /// What of the array that is copied was left out when the type changed, a line for each.
    left_out: Vec<String>,
    /// Whether attributes of the array that is copied have followed another type.
    has_followed: bool,
    /// Codecs of the array that is copied that were left out then, each with the type that it was made for.
    codecs_left_out: Vec<(String, DataType)>,
    /// The codecs of the array that is copied change its fill value; those of the copy may do so, too.
    changes_fill: bool,
    /// v3: further members.
    members: Map,
}

#[derive(Clone, Debug)]
enum FillSetting {
    Element(Fill),
    /// As in a document, to be read by the rules of the format.
    Json(Value),
}

impl Spec {
    /// An array of that type and shape.
    pub fn new(data_type: DataType, shape: &[u64]) -> Result<Spec> {
        limits::check_rank(shape.len()).map_err(|e| e.at_field("shape"))?;
        if let Some(d) = shape.iter().position(|&n| n > i64::MAX as u64) {
            return Err(err!(Limit, "{} is {}, the limit is 2^63 - 1", counting::dimension(d, shape.len()), shape[d]).at_field("shape"));
        }
        limits::element_count(shape).map_err(|e| e.at_field("shape"))?;
        if data_type.is_memory_only() {
            bail!(
                Type,
                "{} exists in memory only; an array has null_terminated_bytes, in words such as \"|S8\", or [[\"name\", \"|S8\"]] for a struct, \
                 which are parsed to a data type",
                DataType::Chars(1).name()
            );
        }
        // Structs are stored without gaps. Fields that are all in one order are so in this host's, and stored in the other.
        let mut data_type = data_type.packed()?;
        let byte_order = data_type.field_order().unwrap_or(ByteOrder::NATIVE);
        if data_type.field_order().is_some() {
            data_type = data_type.native();
        }
        Ok(Spec {
            data_type,
            shape: Dims::from_slice(shape),
            shape_is_set: true,
            format: None,
            chunks: None,
            extents: Vec::new(),
            inner_chunks: None,
            fill: FillSetting::Element(default_scalar(data_type)),
            fill_is_set: false,
            dimension_names: None,
            order: Order::C,
            byte_order,
            keys: None,
            separator: None,
            codecs: None,
            compression: Compression::new(),
            filters: None,
            attributes: Map::new(),
            is_nc_char: false,
            document: Map::new(),
            loose: false,
            given: Vec::new(),
            left_out: Vec::new(),
            has_followed: false,
            codecs_left_out: Vec::new(),
            changes_fill: false,
            members: Map::new(),
        })
    }

    /// Makes a spec of an array of that type and rank, whose shape is set later.
    pub fn without_shape(data_type: DataType, rank: usize) -> Result<Spec> {
        limits::check_rank(rank).map_err(|e| e.at_field("shape"))?;
        Ok(Spec { shape_is_set: false, ..Spec::new(data_type, &vec![0; rank])? })
    }

    /// The lengths of the dimensions, as many as there are.
    pub fn set_shape(&mut self, shape: &[u64]) -> Result<()> {
        if shape.len() != self.rank() {
            let e = err!(Rank, "found {} dimensions, expected {}", shape.len(), self.rank());
            return Err(e.at_field("shape"));
        }
        for (dim, extents) in &self.extents {
            if let Extents::Listed(list) = extents
                && list.end() < shape[*dim]
            {
                let e = err!(Argument, "dimension {dim} is {}, the extents of its chunks add up to {}", shape[*dim], list.end());
                return Err(e.at_field("shape"));
            }
        }
        self.shape = Spec::new(self.data_type, shape)?.shape;
        self.shape_is_set = true;
        Ok(())
    }

    fn need_shape(&self) -> Result<()> {
        if self.shape_is_set { Ok(()) } else { Err(err!(State, "the specification has no shape: give it one").at_field("shape")) }
    }

    /// Whether the shape was set.
    pub fn has_shape(&self) -> bool {
        self.shape_is_set
    }

    /// Returns the type of the elements in memory.
    pub fn data_type(&self) -> DataType {
        self.data_type.native()
    }

    /// The version, where it is said.
    pub fn format(&self) -> Option<Format> {
        self.format
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Version 2 or 3. Without: that of the enclosing group, else 3.
    pub fn set_format(&mut self, format: Format) -> Result<()> {
        self.format = Some(format);
        Ok(())
    }

    /// The list of an array that is copied, to be changed.
    fn loose_codecs(&mut self) -> Option<Vec<Extension>> {
        if self.loose { self.codecs.take() } else { None }
    }

    /// The `data_type` that the type was made of, or null. A document of version 3 has raw bytes by the name `r*` where it is that (J-12).
    pub fn set_type_words(&mut self, words: Value) {
        if !words.is_null() {
            self.document.insert("data_type".into(), words);
        }
    }

    /// The fill value: one native element of type `data_type` (of text or bytes of variable length: its bytes), converted to the
    /// array's; one that does not fit is an error of kind `Range`.
    pub fn set_fill(&mut self, data_type: DataType, element: &[u8]) -> Result<()> {
        let fill = convert_fill(data_type, element, self.data_type.native().in_memory()).map_err(|e| e.at_field("fill_value"))?;
        self.fill = FillSetting::Element(fill);
        self.fill_is_set = true;
        Ok(())
    }

    /// The fill value as in a document: `"NaN"`, `"0x7fc00001"`, `[0, 1]`, null (v2).
    pub fn set_fill_json(&mut self, text: &str) -> Result<()> {
        let value = json::parse_text(text).map_err(|e| e.at_field("fill_value"))?;
        let v3 = self.read_fill(&value, Format::V3);
        let read = match self.format {
            Some(Format::V3) => v3,
            Some(Format::V2) => self.read_fill(&value, Format::V2),
            None => v3.or_else(|e| self.read_fill(&value, Format::V2).map_err(|_| e)),
        };
        read?;
        self.fill = FillSetting::Json(value);
        self.fill_is_set = true;
        Ok(())
    }

    /// A name or `None` for each dimension. In v2 they become the attribute `_ARRAY_DIMENSIONS`, which has no place for
    /// unnamed ones beside named ones.
    pub fn set_dimension_names(&mut self, names: Vec<Option<String>>) -> Result<()> {
        if names.len() != self.rank() {
            let e = err!(Rank, "found {} names, expected {}, one for each dimension", names.len(), self.rank());
            return Err(e.at_field("dimension_names"));
        }
        limits::check_dimension_names(names.iter().map(Option::as_deref)).map_err(|e| e.at_field("dimension_names"))?;
        self.dimension_names = Some(names);
        Ok(())
    }

    /// How the indices of a chunk become its key: v2 has `KeyEncoding::V2` only.
    pub fn set_key_encoding(&mut self, keys: KeyEncoding) -> Result<()> {
        self.keys = Some(keys);
        Ok(())
    }

    /// Sets the separator between the indices of a chunk's key. Default: `/` in v3, `.` in v2.
    pub fn set_separator(&mut self, separator: Separator) -> Result<()> {
        self.separator = Some(separator);
        Ok(())
    }

    /// A member as in a document: `codecs`, `compressor`, `filters`; of v3 also `storage_transformers`, `chunk_key_encoding`, one that a program has registered, or
    /// one with `"must_understand": false`.
    pub fn set_member_json(&mut self, name: &str, text: &str) -> Result<()> {
        match name {
            "fill_value" => return self.set_fill_json(text),
            "attributes" => return self.set_attributes_json(text),
            "codecs" => return self.set_codecs_json(text),
            "compressor" => return self.set_compressor_json(text),
            "filters" => return self.set_filters_json(text),
            _ => {}
        }
        let value = json::parse_text(text).map_err(|e| e.at_field(name))?;
        if name == "chunk_key_encoding" {
            self.keys = Some(v3_grid::key_encoding(&value).map_err(|e| e.at_field(name))?);
            return Ok(());
        }
        v3::check_further_member(name, &value)?;
        self.members.insert(json::text(name)?, value);
        Ok(())
    }

    /// The attributes: an object.
    pub fn set_attributes_json(&mut self, text: &str) -> Result<()> {
        // Bare NaN and infinities are refused when the array is created, unless the context allows them.
        self.attributes = json::given_attributes(text)?;
        Ok(())
    }

    /// The lengths of the dimensions.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Whether a fill value was set.
    pub(super) fn fill_is_set(&self) -> bool {
        self.fill_is_set
    }

    fn read_fill(&self, value: &Value, format: Format) -> Result<Fill> {
        let read = match format {
            Format::V3 => Fill::from_json_v3(self.data_type.native(), value),
            Format::V2 => Fill::from_json_v2(ElementType::new(self.data_type, self.byte_order), value),
        };
        read.map_err(|e| e.at_field("fill_value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::{Field, Struct};
    use crate::error::ErrorKind;
    use crate::metadata::{ArrayMeta, v2};
    use crate::node::{Shuffle, Zfp};

    fn spec() -> Spec {
        Spec::new(DataType::Float32, &[100, 64]).unwrap()
    }

    /// A struct of a field of that type and an integer.
    fn record(data_type: DataType) -> DataType {
        let field = |name: &str, t: DataType| Field { name: name.into(), offset: 0, element: t.into(), shape: vec![] };
        DataType::Struct(Struct::packed(vec![field("x", data_type), field("n", DataType::Int16)]).unwrap())
    }

    fn document(spec: &Spec) -> Map {
        json::parse_object(spec.to_json().unwrap().as_bytes(), 1 << 20).unwrap()
    }

    #[test]
    fn a_suggestion_is_set_and_explained() {
        let mut s = Spec::new(DataType::Float64, &[100, 64, 64]).unwrap();
        let why = s.suggest().unwrap();
        assert!(why.contains("[50 x 32 x 64] float64: 819200 bytes each, 4 of them"), "{why}");
        assert_eq!(s.chunks.unwrap().as_slice(), [50, 32, 64]);
    }

    #[test]
    fn the_default_is_version_3_with_zstd() {
        let d = document(&spec());
        let codecs =
            r#"[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1,"checksum":false}}]"#;
        assert_eq!(d["codecs"].to_string(), codecs);
        assert_eq!(d["chunk_key_encoding"].to_string(), r#"{"name":"default","configuration":{"separator":"/"}}"#);
        assert_eq!((d["zarr_format"].to_string(), d["attributes"].to_string()), ("3".into(), "{}".into()));
    }

    #[test]
    fn compressors_have_the_form_of_their_format() {
        let cases: &[(&str, Option<i32>, Format, &str)] = &[
            ("zstd", Some(3), Format::V2, r#"{"id":"zstd","level":3}"#),
            ("gzip", None, Format::V2, r#"{"id":"gzip","level":5}"#),
            ("zlib", Some(9), Format::V2, r#"{"id":"zlib","level":9}"#),
            ("blosc", None, Format::V2, r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#),
            ("none", None, Format::V2, "null"),
            ("gzip", Some(1), Format::V3, r#"{"name":"gzip","configuration":{"level":1}}"#),
            (
                "blosc",
                Some(9),
                Format::V3,
                r#"{"name":"blosc","configuration":{"cname":"lz4","clevel":9,"shuffle":"shuffle","typesize":4,"blocksize":0}}"#,
            ),
        ];
        for (name, level, format, want) in cases {
            let mut s = spec();
            s.set_compressor(name, *level).unwrap();
            s.set_format(*format).unwrap();
            let d = document(&s);
            let got = if *format == Format::V2 { &d["compressor"] } else { &d["codecs"][1] };
            assert_eq!(got.to_string(), *want);
        }
    }

    #[test]
    fn complex_numbers_have_the_pcodec_that_gives_them_back() {
        for (t, name) in [(DataType::Float32, "numcodecs.pcodec"), (DataType::Complex64, "pcodec")] {
            let mut s = Spec::new(t, &[4]).unwrap();
            s.set_compressor("pcodec", None).unwrap();
            assert_eq!(document(&s)["codecs"][0]["name"], name);
            s.set_format(Format::V2).unwrap();
            assert_eq!(document(&s)["compressor"]["id"], "pcodec");
        }
    }

    /// Settings of compression, and the list or the members that the setters of JSON would have been given.
    #[test]
    fn compression_is_typed_in_both_formats() {
        type Set = fn(&mut Spec) -> Result<()>;
        const BYTES: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        const ROUND: &str = r#"{"name":"numcodecs.bitround","configuration":{"keepbits":12}}"#;
        const SHUFFLE: &str = r#"{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}"#;
        // One codec of both formats: its name in version 2, and its members.
        let plain: &[(Set, &str, &str)] = &[
            (|s| s.set_compressor("lz4", None), "lz4", r#""acceleration":1"#),
            (|s| s.set_compressor("zlib", Some(2)), "zlib", r#""level":2"#),
            (|s| s.set_compressor("bz2", None), "bz2", r#""level":5"#),
            (|s| s.set_compressor("lzma", Some(1)), "lzma", r#""preset":1"#),
            (|s| s.set_compressor("pcodec", None), "pcodec", r#""level":8"#),
            (|s| s.set_zfp(Zfp::Accuracy(0.5)), "zfpy", r#""mode":4,"tolerance":0.5"#),
            (|s| s.set_zfp(Zfp::Precision(20)), "zfpy", r#""mode":3,"precision":20"#),
        ];
        let plain = plain.iter().map(|(set, id, members)| {
            let v3 = format!(r#"{{"name":"numcodecs.{id}","configuration":{{{members}}}}}"#);
            let bytes = if matches!(*id, "pcodec" | "zfpy") { String::new() } else { format!("{BYTES},") };
            (*set, format!("[{bytes}{v3}]"), "null".to_string(), format!(r#"{{"id":"{id}",{members}}}"#))
        });
        let cases: &[(Set, &[&str], &str, &str)] = &[
            (
                |s| s.set_compressor("blosc:zstd", Some(3)).and(s.set_shuffle(Some(Shuffle::Bit))).and(s.set_keep_bits(Some(12))),
                &[
                    ROUND,
                    BYTES,
                    r#"{"name":"blosc","configuration":{"cname":"zstd","clevel":3,"shuffle":"bitshuffle","typesize":4,"blocksize":0}}"#,
                ],
                r#"[{"id":"bitround","keepbits":12}]"#,
                r#"{"id":"blosc","cname":"zstd","clevel":3,"shuffle":2,"blocksize":0}"#,
            ),
            (
                |s| s.set_shuffle(Some(Shuffle::Byte)).and(s.set_checksum(true)),
                &[BYTES, SHUFFLE, r#"{"name":"zstd","configuration":{"level":1,"checksum":false}}"#, r#"{"name":"crc32c"}"#],
                r#"[{"id":"shuffle","elementsize":4},{"id":"zstd","level":1}]"#,
                r#"{"id":"crc32c","location":"end"}"#,
            ),
            (
                |s| s.set_compressor("none", None).and(s.set_keep_bits(Some(12))),
                &[ROUND, BYTES],
                r#"[{"id":"bitround","keepbits":12}]"#,
                "null",
            ),
        ];
        let cases = cases
            .iter()
            .map(|(set, v3, filters, compressor)| (*set, format!("[{}]", v3.join(",")), filters.to_string(), compressor.to_string()));
        for (set, codecs, filters, compressor) in plain.chain(cases) {
            let mut typed = spec();
            set(&mut typed).unwrap();
            let mut given = spec();
            given.set_codecs_json(&codecs).unwrap();
            assert_eq!(document(&typed), document(&given), "{codecs}");
            typed.set_chunks(&[50, 64]).unwrap();
            typed.set_inner_chunks(&[10, 32]).unwrap();
            assert_eq!(document(&typed)["codecs"][0]["configuration"]["codecs"].to_string(), codecs);
            let (mut typed, mut given) = (spec(), spec());
            set(&mut typed).unwrap();
            typed.set_format(Format::V2).unwrap();
            given.set_filters_json(&filters).unwrap();
            given.set_compressor_json(&compressor).unwrap();
            assert_eq!(document(&typed), document(&given), "{filters} {compressor}");
        }
        let mut other = Spec::new(DataType::Int16, &[8]).unwrap();
        other.set_zfp(Zfp::Reversible).unwrap();
        assert_eq!(document(&other)["codecs"].to_string(), r#"[{"name":"zfp","configuration":{"mode":"reversible"}}]"#);
        assert_eq!(other.set_keep_bits(Some(1)).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    /// A copy's list changes in one place.
    #[test]
    fn typed_compression_changes_the_list_of_a_copy() {
        let mut source = spec();
        source.set_chunks(&[50, 64]).unwrap();
        source.set_inner_chunks(&[10, 32]).unwrap();
        source.set_compressor("blosc", None).unwrap();
        let (meta, attributes) = source.resolve(None).unwrap();
        let mut copy = Spec::like(&meta, attributes, None, &mut Vec::new()).unwrap();
        let inner = |s: &Spec| {
            let list = document(s)["codecs"][0]["configuration"]["codecs"].clone();
            list.as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap().to_string()).collect::<Vec<_>>()
        };
        copy.set_shuffle(Some(Shuffle::Bit)).unwrap();
        assert_eq!(document(&copy)["codecs"][0]["configuration"]["codecs"][1]["configuration"]["shuffle"].to_string(), "\"bitshuffle\"");
        copy.set_keep_bits(Some(9)).unwrap();
        copy.set_checksum(true).unwrap();
        assert_eq!(inner(&copy), ["numcodecs.bitround", "bytes", "blosc", "crc32c"]);
        copy.set_compressor("zstd", None).unwrap();
        assert_eq!(copy.set_shuffle(Some(Shuffle::Bit)).unwrap_err().field(), Some("shuffle"));
    }

    fn like(source: &Spec, format: Format) -> Spec {
        let (meta, attributes) = source.resolve(None).unwrap();
        Spec::like(&meta, attributes, Some(format), &mut Vec::new()).unwrap()
    }

    /// The names of the codecs of version 3, or of the filters and the compressor of version 2.
    fn codec_names(spec: &Spec) -> Vec<String> {
        let d = document(spec);
        let list = |name: &str| d.get(name).and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default();
        let v2 = list("filters").into_iter().chain(d.get("compressor").cloned());
        let names = list("codecs").into_iter().chain(v2).filter(|codec| !codec.is_null());
        names.map(|codec| codec.get("name").or(codec.get("id")).unwrap().as_str().unwrap().to_string()).collect()
    }

    type Set = fn(&mut Spec) -> Result<()>;

    #[test]
    fn a_compressor_takes_the_place_of_that_of_a_copy_and_of_nothing_else() {
        let v3: &[(Set, Set, &[&str])] = &[
            (|s| s.set_zfp(Zfp::Rate(8.0)), |s| s.set_compressor("none", None), &["bytes"]),
            (|s| s.set_zfp(Zfp::Rate(8.0)), |s| s.set_compressor("zstd", None), &["bytes", "zstd"]),
            (|s| s.set_compressor("pcodec", None), |s| s.set_compressor("gzip", None), &["bytes", "gzip"]),
            (|s| s.set_compressor("pcodec", None), |s| s.set_zfp(Zfp::Reversible), &["numcodecs.zfpy"]),
            (|_| Ok(()), |s| s.set_compressor("pcodec", None).and(s.set_compressor("zstd", None)), &["bytes", "zstd"]),
            (|s| s.set_checksum(true), |s| s.set_compressor("gzip", None), &["bytes", "gzip", "crc32c"]),
            (|s| s.set_checksum(true), |s| s.set_compressor("pcodec", None), &["numcodecs.pcodec", "crc32c"]),
            (|_| Ok(()), |s| s.set_checksum(true).and(s.set_compressor("gzip", None)), &["bytes", "gzip", "crc32c"]),
            (
                |s| {
                    s.set_codecs_json(r#"[{"name":"bytes","configuration":{"endian":"little"}},"zstd",{"name":"numcodecs.fletcher32","configuration":{}}]"#)
                },
                |s| s.set_compressor("none", None),
                &["bytes", "numcodecs.fletcher32"],
            ),
        ];
        let v2: &[(Set, Set, &[&str])] = &[
            (|s| s.set_checksum(true), |s| s.set_compressor("gzip", None), &["gzip", "crc32c"]),
            (|s| s.set_checksum(true), |s| s.set_checksum(true), &["zstd", "crc32c"]),
            (|s| s.set_checksum(true), |s| s.set_checksum(false).and(s.set_compressor("gzip", None)), &["gzip"]),
            (|s| s.set_compressor("none", None).and(s.set_checksum(true)), |s| s.set_compressor("gzip", None), &["gzip", "crc32c"]),
            (|s| s.set_zfp(Zfp::Rate(8.0)), |s| s.set_compressor("zstd", None), &["zstd"]),
        ];
        for (format, cases) in [(Format::V3, v3), (Format::V2, v2)] {
            for (i, (make, change, names)) in cases.iter().enumerate() {
                let mut source = spec();
                source.set_format(format).unwrap();
                make(&mut source).unwrap();
                let mut copy = like(&source, format);
                assert_eq!(codec_names(&copy), codec_names(&source), "{format:?} {i}");
                change(&mut copy).unwrap();
                assert_eq!(codec_names(&copy), *names, "{format:?} {i}");
            }
        }
        let mut source = spec();
        source.set_zfp(Zfp::Rate(8.0)).unwrap();
        source.set_inner_chunks(&[10, 8]).unwrap();
        source.set_chunks(&[50, 64]).unwrap();
        let mut copy = like(&source, Format::V3);
        copy.set_compressor("none", None).unwrap();
        let inner = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;
        assert_eq!(document(&copy)["codecs"][0]["configuration"]["codecs"].to_string(), inner);
    }

    #[test]
    fn settings_change_the_filters_and_the_compressor_of_a_copy_in_version_2() {
        const BLOSC: &str = r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#;
        const NO_SHUFFLE: &str = r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":0,"blocksize":0}"#;
        const BITS: &str = r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":2,"blocksize":0}"#;
        let cases: &[(&str, &str, Set, &str, &str)] = &[
            (
                r#"[{"id":"delta","dtype":"<f4"}]"#,
                "null",
                |s| s.set_keep_bits(Some(12)),
                r#"[{"id":"bitround","keepbits":12},{"id":"delta","dtype":"<f4"}]"#,
                "null",
            ),
            (
                r#"[{"id":"bitround","keepbits":9},{"id":"delta","dtype":"<f4"}]"#,
                "null",
                |s| s.set_keep_bits(Some(12)),
                r#"[{"id":"bitround","keepbits":12},{"id":"delta","dtype":"<f4"}]"#,
                "null",
            ),
            (r#"[{"id":"bitround","keepbits":9}]"#, "null", |s| s.set_keep_bits(None), "null", "null"),
            ("null", BLOSC, |s| s.set_shuffle(Some(Shuffle::None)), "null", NO_SHUFFLE),
            ("null", BLOSC, |s| s.set_shuffle(Some(Shuffle::Bit)), "null", BITS),
            ("null", BLOSC, |s| s.set_shuffle(None), "null", BLOSC),
            (
                r#"[{"id":"shuffle","elementsize":4}]"#,
                r#"{"id":"gzip","level":5}"#,
                |s| s.set_shuffle(Some(Shuffle::None)),
                "null",
                r#"{"id":"gzip","level":5}"#,
            ),
            (
                r#"[{"id":"shuffle","elementsize":2}]"#,
                r#"{"id":"gzip","level":5}"#,
                |s| s.set_shuffle(Some(Shuffle::Byte)),
                r#"[{"id":"shuffle","elementsize":4}]"#,
                r#"{"id":"gzip","level":5}"#,
            ),
        ];
        for (i, (filters, compressor, change, new_filters, new_compressor)) in cases.iter().enumerate() {
            let mut source = spec();
            source.set_format(Format::V2).unwrap();
            source.set_filters_json(filters).unwrap();
            source.set_compressor_json(compressor).unwrap();
            let mut copy = like(&source, Format::V2);
            assert_eq!(codec_names(&copy), codec_names(&source), "{i}");
            change(&mut copy).unwrap();
            let d = document(&copy);
            assert_eq!(
                (d["filters"].to_string(), d["compressor"].to_string()),
                (new_filters.to_string(), new_compressor.to_string()),
                "{i}"
            );
        }
        let mut source = spec();
        source.set_format(Format::V2).unwrap();
        source.set_filters_json(r#"[{"id":"bitround","keepbits":9}]"#).unwrap();
        assert_eq!(like(&source, Format::V2).keep_bits().unwrap(), Some(9));
    }

    #[test]
    fn a_copy_keeps_the_fill_value_that_its_source_rounds() {
        let mut source = spec();
        source.set_keep_bits(Some(12)).unwrap();
        let (mut meta, attributes) = source.resolve(None).unwrap();
        let like = |meta: &ArrayMeta| Spec::like(meta, attributes.clone(), None, &mut Vec::new()).unwrap();
        let mut copy = like(&meta);
        copy.set_fill_json("1e20").unwrap();
        assert_eq!(copy.to_json().unwrap_err().field(), Some("fill_value"));
        meta.fill = Fill::from_json_v3(DataType::Float32, &Value::from(1e20)).unwrap();
        assert!(document(&like(&meta))["fill_value"].as_f64() == Some(1e20));
    }

    #[test]
    fn a_nan_is_the_fill_value_that_the_document_says() {
        let (odd, usual) = ([0xffc0_0001u32, 0x7fc0_0000], [0x7fc0_0000u32; 2]);
        for format in [Format::V2, Format::V3] {
            let mut s = Spec::new(DataType::Float32, &[4]).unwrap();
            s.set_format(format).unwrap();
            s.set_fill(DataType::Float32, &odd[0].to_ne_bytes()).unwrap();
            let (meta, _) = s.resolve(None).unwrap();
            let want = if format == Format::V2 { usual[0] } else { odd[0] };
            assert_eq!(meta.fill.element(meta.data_type)[..], want.to_ne_bytes(), "{format:?}");
            let bytes = |parts: [u32; 2]| parts.map(u32::to_ne_bytes).concat();
            let mut s = Spec::new(DataType::Complex64, &[4]).unwrap();
            s.set_format(format).unwrap();
            s.set_fill(DataType::Complex64, &bytes(odd)).unwrap();
            let (meta, _) = s.resolve(None).unwrap();
            assert_eq!(meta.fill.element(meta.data_type)[..], bytes(if format == Format::V2 { usual } else { odd }), "{format:?}");
        }
    }

    #[test]
    fn a_shape_may_come_later() {
        let mut s = Spec::without_shape(DataType::Float32, 2).unwrap();
        s.set_chunk_extents(0, &[3, 4]).unwrap();
        let e = s.to_json().unwrap_err();
        assert_eq!((e.kind(), e.field()), (ErrorKind::State, Some("shape")));
        assert_eq!(s.suggest().unwrap_err().kind(), ErrorKind::State);
        assert_eq!(s.set_shape(&[8, 5]).unwrap_err().field(), Some("shape"));
        s.set_shape(&[7, 5]).unwrap();
        assert_eq!(document(&s)["shape"].to_string(), "[7,5]");
    }

    #[test]
    fn listed_extents_that_are_no_whole_number_of_a_codecs_elements_are_refused() {
        let shuffle = r#"["bytes", {"name": "numcodecs.shuffle", "configuration": {"elementsize": 6}}]"#;
        let shards = r#"[{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 1], "codecs": ["bytes"], "index_codecs": [
            {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "numcodecs.shuffle", "configuration": {"elementsize": 3}}]}}]"#;
        for (codecs, rows, columns, fits) in [
            (shuffle, &[2, 4][..], &[3, 9][..], true),
            (shuffle, &[2, 3, 4], &[3, 9], false),
            (shuffle, &[2, 6], &[3, 1, 9], false),
            (shuffle, &[1, 4], &[3, 6], false),
            (shards, &[1, 2], &[3, 6], true),
            (shards, &[1, 3], &[2, 3], false),
        ] {
            let mut s = Spec::new(DataType::UInt8, &[rows.iter().sum(), columns.iter().sum()]).unwrap();
            s.set_codecs_json(codecs).unwrap();
            s.set_chunk_extents(0, rows).unwrap();
            s.set_chunk_extents(1, columns).unwrap();
            assert_eq!(
                s.to_json().map(drop).map_err(|e| e.kind()),
                if fits { Ok(()) } else { Err(ErrorKind::Unsupported) },
                "{rows:?} {columns:?}"
            );
        }
    }

    #[test]
    fn shards_hold_the_simple_chain() {
        let mut s = spec();
        s.set_chunks(&[50, 64]).unwrap();
        s.set_inner_chunks(&[10, 32]).unwrap();
        s.set_compressor("none", None).unwrap();
        let d = document(&s);
        let sharding = &d["codecs"][0]["configuration"];
        assert_eq!(d["codecs"].as_array().unwrap().len(), 1);
        assert_eq!(sharding["chunk_shape"].to_string(), "[10,32]");
        assert_eq!(sharding["codecs"].to_string(), r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#);
        assert_eq!(sharding["index_codecs"][1].to_string(), r#"{"name":"crc32c"}"#);
        s.set_inner_chunks(&[7, 32]).unwrap();
        assert_eq!(s.to_json().unwrap_err().field(), Some("inner_chunks"));
    }

    #[test]
    fn order_and_byte_order() {
        let mut s = spec();
        s.set_order(Order::F).unwrap();
        let mut narrow = Spec::new(DataType::Narrow(crate::dtype::Narrow::BFloat16), &[4]).unwrap();
        narrow.set_format(Format::V2).unwrap();
        assert!(narrow.to_json().is_ok());
        narrow.set_byte_order(ByteOrder::Big).unwrap();
        assert_eq!(narrow.to_json().unwrap_err().field(), Some("byte_order"));
        // In format 2 such a name in a struct says no order either.
        let half = DataType::ComplexNarrow(crate::dtype::Narrow::Float16);
        let mut records = Spec::new(record(record(half)), &[4]).unwrap();
        records.set_byte_order(ByteOrder::Big).unwrap();
        assert!(records.to_json().is_ok());
        let mut notes = Vec::new();
        let (meta, attributes) = records.resolve(None).unwrap();
        let copy = Spec::like(&meta, attributes, Some(Format::V2), &mut notes).unwrap();
        assert_eq!(document(&copy)["dtype"].to_string(), r#"[["x",[["x","complex_float16"],["n","<i2"]]],["n","<i2"]]"#);
        assert!(notes.iter().any(|note| note.contains("complex_float16")), "{notes:?}");
        records.set_format(Format::V2).unwrap();
        assert_eq!(records.to_json().unwrap_err().field(), Some("byte_order"));
        s.set_byte_order(ByteOrder::Big).unwrap();
        s.set_compressor("none", None).unwrap();
        assert_eq!(
            document(&s)["codecs"].to_string(),
            r#"[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}}]"#
        );
        s.set_format(Format::V2).unwrap();
        s.set_separator(Separator::Slash).unwrap();
        let d = document(&s);
        assert_eq!((d["dtype"].to_string(), d["order"].to_string()), ("\">f4\"".into(), "\"F\"".into()));
        assert_eq!(d["dimension_separator"].to_string(), "\"/\"");
    }

    #[test]
    fn wrong_settings_name_their_field() {
        use ErrorKind::*;
        type Set = fn(&mut Spec) -> Result<()>;
        let cases: &[(Set, ErrorKind, &str)] = &[
            (|s| s.set_chunks(&[1]), Rank, "chunks"),
            (|s| s.set_chunks(&[1, 0]), Argument, "chunks"),
            (|s| s.set_inner_chunks(&[0, 1]), Argument, "inner_chunks"),
            (|s| s.set_dimension_names(vec![None]), Rank, "dimension_names"),
            (|s| s.set_compressor("zstd", Some(23)), Argument, "compressor"),
            (|s| s.set_compressor("gzip", Some(10)), Argument, "compressor"),
            (|s| s.set_compressor("snappy", None), Unsupported, "compressor"),
            (|s| s.set_compressor("blosc:snappy", None), Unsupported, "compressor"),
            (|s| s.set_compressor("lz4", Some(0)), Argument, "compressor"),
            (|s| s.set_zfp(Zfp::Accuracy(f64::NAN)), Argument, "zfp"),
            (|s| s.set_zfp(Zfp::Precision(65)), Argument, "zfp"),
            (|s| s.set_keep_bits(Some(24)), Argument, "keep_bits"),
            (|s| s.set_keep_bits(Some(0)), Argument, "keep_bits"),
            (|s| s.set_shape(&[1]), Rank, "shape"),
            (|s| s.set_fill_json("\"x\""), Metadata, "fill_value"),
            (|s| s.set_fill_json("{"), Argument, "fill_value"),
            (|s| s.set_fill(DataType::Float64, &[0; 4]), BufferSize, "fill_value"),
            (|s| s.set_codecs_json("{}"), Metadata, "codecs"),
            (|s| s.set_filters_json("7"), Metadata, "filters"),
            (|s| s.set_compressor_json("\"zlib\""), Metadata, "compressor"),
            (|s| s.set_attributes_json("[]"), Type, "attributes"),
            (|s| s.set_attributes_json("{\"a\":NaN"), Argument, "attributes"),
            (|s| s.set_codecs_json("["), Argument, "codecs"),
        ];
        for (i, (set, kind, field)) in cases.iter().enumerate() {
            let e = set(&mut spec()).expect_err(field);
            assert_eq!((e.kind(), e.field().map(|f| f.starts_with(field))), (*kind, Some(true)), "{i}: {e}");
        }
    }

    #[test]
    fn settings_that_contradict_are_refused_at_the_end() {
        use ErrorKind::*;
        type Set = fn(&mut Spec);
        let cases: &[(Set, ErrorKind, &str)] = &[
            (|s| drop((s.set_format(Format::V2), s.set_inner_chunks(&[1, 1]))), Unsupported, "inner_chunks"),
            (|s| drop((s.set_format(Format::V2), s.set_codecs_json("[\"bytes\"]"))), Unsupported, "codecs"),
            (|s| drop((s.set_format(Format::V3), s.set_filters_json("null"))), Unsupported, "filters"),
            (|s| drop((s.set_format(Format::V3), s.set_compressor_json("null"))), Unsupported, "compressor"),
            (|s| drop((s.set_compressor("zstd", None), s.set_shuffle(Some(Shuffle::Bit)))), Unsupported, "shuffle"),
            (|s| drop((s.set_zfp(Zfp::Rate(8.0)), s.set_shuffle(Some(Shuffle::Byte)))), Unsupported, "shuffle"),
            (|s| drop((s.set_keep_bits(Some(20)), s.set_data_type(DataType::Float16))), Argument, "keep_bits"),
            (|s| drop((s.set_checksum(true), s.set_codecs_json("[\"bytes\"]"))), Argument, "checksum"),
            (|s| drop(s.set_inner_chunks(&[7, 32])), Argument, "inner_chunks"),
            (|s| drop(s.set_fill_json("null")), Metadata, "fill_value"),
            (|s| drop((s.set_keep_bits(Some(12)), s.set_fill_json("1e20"))), Metadata, "fill_value"),
            (|s| drop((s.set_format(Format::V2), s.set_keep_bits(Some(12)), s.set_fill_json("1e20"))), Metadata, "fill_value"),
            (|s| drop(s.set_filters_json(r#"[{"id":"delta","dtype":"<f8"}]"#)), Metadata, "filters[0]"),
            (|s| drop(s.set_filters_json(r#"[{"id":"delta","dtype":">f4"}]"#)), Metadata, "filters[0]"),
            (
                |s| {
                    drop((
                        s.set_filters_json("[]"),
                        s.set_compressor_json(r#"{"id":"fixedscaleoffset","offset":0,"scale":9,"dtype":"<i4"}"#),
                    ))
                },
                Metadata,
                "compressor",
            ),
            (|s| drop((s.set_codecs_json("[\"bytes\"]"), s.set_order(Order::F))), Argument, "order"),
            (|s| drop((s.set_codecs_json("[\"bytes\"]"), s.set_inner_chunks(&[1, 1]))), Argument, "inner_chunks"),
            (|s| drop((s.set_format(Format::V2), s.set_dimension_names(vec![None, Some("x".into())]))), Unsupported, "dimension_names"),
        ];
        for (i, (set, kind, field)) in cases.iter().enumerate() {
            let mut s = spec();
            set(&mut s);
            let e = s.to_json().expect_err(field);
            assert_eq!((e.kind(), e.field()), (*kind, Some(*field)), "{i}: {e}");
        }
        for data_type in [DataType::Chars(8), record(DataType::Chars(8)), record(record(DataType::Chars(8)))] {
            assert_eq!(Spec::new(data_type, &[1]).unwrap_err().kind(), Type, "{data_type:?}");
        }
        assert!(Spec::new(DataType::Int8, &[1; 65]).is_err());
        assert!(Spec::new(DataType::Int8, &[u64::MAX]).is_err());
    }

    #[test]
    fn fill_values_are_converted_and_checked() {
        let mut s = Spec::new(DataType::Int16, &[4]).unwrap();
        s.set_fill(DataType::Float64, &7f64.to_ne_bytes()).unwrap();
        assert_eq!(document(&s)["fill_value"].to_string(), "7");
        let e = s.set_fill(DataType::Int32, &70_000i32.to_ne_bytes()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Range);
        let e = s.set_fill(DataType::Float64, &1.5f64.to_ne_bytes()).unwrap_err();
        assert!(e.kind() == ErrorKind::Range && e.to_string().contains("fill_value: the value 1.5 has a fraction"), "{e}");
        s.set_format(Format::V2).unwrap();
        s.set_fill_json("null").unwrap();
        assert!(document(&s)["fill_value"].is_null());
    }

    #[test]
    fn text_that_json_has_no_form_for_is_no_fill_value() {
        let points = [0xd800u32, 97].map(u32::to_ne_bytes).concat();
        for (data_type, element, format, good) in [
            (DataType::Text(2), points.clone(), Format::V2, false),
            (DataType::Text(2), points.clone(), Format::V3, false),
            (record(DataType::Text(2)), [&points[..], &[0, 0]].concat(), Format::V3, false),
            // Bytes say it there.
            (record(DataType::Text(2)), [&points[..], &[0, 0]].concat(), Format::V2, true),
            (DataType::Text(2), [0x1f600u32, 0].map(u32::to_ne_bytes).concat(), Format::V3, true),
        ] {
            let mut s = Spec::new(data_type, &[4]).unwrap();
            s.set_format(format).unwrap();
            s.set_fill(data_type, &element).unwrap();
            let found = s.to_json().map(drop).map_err(|e| (e.kind(), e.field().is_some_and(|f| f.starts_with("fill_value"))));
            assert_eq!(found, if good { Ok(()) } else { Err((ErrorKind::Range, true)) }, "{data_type:?} {format:?}");
        }
    }

    #[test]
    fn the_char_of_netcdf_stays_one() {
        let text = |fill: &str| {
            format!(
                r#"{{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":">S1","order":"C","filters":null,"compressor":null,"fill_value":{fill}}}"#
            )
        };
        for (given, fill) in [
            ("\"\"", "\"\""),
            ("\"AA==\"", "\"\""),
            ("\"eA==\"", "\"x\""),
            ("\"x\"", "\"x\""),
            ("7", "\"7\""),
            ("\"6Q==\"", "\"6Q==\""),
            ("null", "null"),
        ] {
            let d = document(&Spec::from_json(&text(given)).unwrap());
            assert_eq!((d["dtype"].as_str(), d["fill_value"].to_string().as_str()), (Some(">S1"), fill), "{given}");
        }
        let mut other = Spec::from_json(&text("\"\"")).unwrap();
        other.set_data_type(DataType::UInt8).unwrap();
        assert_eq!(document(&other)["dtype"].as_str(), Some("|u1"));
    }

    #[test]
    fn fill_values_that_scaling_changes_are_refused_and_null_is_none() {
        let mut s = Spec::new(DataType::Float32, &[4]).unwrap();
        s.set_filters_json(r#"[{"id": "fixedscaleoffset", "offset": 1000, "scale": 10, "dtype": "<f4", "astype": "|u1"}]"#).unwrap();
        let e = s.to_json().unwrap_err();
        assert!(e.field() == Some("fill_value") && e.message().contains("set another fill value"), "{e}");
        for fill in ["null", "1000", "1012.5"] {
            s.set_fill_json(fill).unwrap();
            assert_eq!(
                document(&s)["fill_value"].to_string(),
                if fill == "null" { fill.into() } else { format!("{:?}", fill.parse::<f32>().unwrap()) }
            );
        }
    }

    #[test]
    fn a_document_gives_the_same_document() {
        let text = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
            "chunk_key_encoding":{"name":"v2","configuration":{"separator":"."}},"fill_value":1,"codecs":[{"name":"bytes"}],
            "dimension_names":["x"],"note":{"must_understand":false,"n":1},"attributes":{"a":12345678901234567890123}}"#;
        let d = document(&Spec::from_json(text).unwrap());
        let source = json::parse_object(text.as_bytes(), 1 << 20).unwrap();
        assert_eq!(Value::Object(d), Value::Object(source));
        let v2 = r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"|i1","order":"C","filters":null,
            "compressor":{"id":"zlib","level":1},"fill_value":null,"dimension_separator":"."}"#;
        let d = document(&Spec::from_json(v2).unwrap());
        assert_eq!(Value::Object(d), Value::Object(json::parse_object(v2.as_bytes(), 1 << 20).unwrap()));
        for (text, kind) in [("{", ErrorKind::Argument), ("[]", ErrorKind::Metadata), ("{}", ErrorKind::Metadata)] {
            assert_eq!(Spec::from_json(text).unwrap_err().kind(), kind, "{text}");
        }
        assert_eq!(Spec::from_json(r#"{"zarr_format":3,"node_type":"group"}"#).unwrap_err().kind(), ErrorKind::NodeKind);
    }

    /// What other libraries require is written, however the codecs were given.
    #[test]
    fn codecs_that_are_given_get_every_parameter() {
        let v3 = |codecs: &str| {
            format!(
                r#"{{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int16","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4]}}}},
                "chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":{codecs}}}"#
            )
        };
        let v2 = |compressor: &str, filters: &str| {
            format!(
                r#"{{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":"<i2","order":"C","filters":{filters},"compressor":{compressor},"fill_value":0}}"#
            )
        };
        let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        let zstd = r#"{"name":"zstd","configuration":{"level":0,"checksum":false}}"#;
        let (bare, full) = (format!(r#"[{bytes},"zstd"]"#), format!("[{bytes},{zstd}]"));
        let shards = |codecs: &str, crc: &str| {
            format!(
                r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[2],"codecs":{codecs},"index_codecs":[{bytes},{crc}]}}}}]"#
            )
        };
        let (bare_shards, full_shards) = (shards(&bare, "\"crc32c\""), shards(&full, r#"{"name":"crc32c"}"#));
        let set = |name: &str, text: &str| {
            let mut spec = Spec::new(DataType::Int16, &[4]).unwrap();
            spec.set_member_json(name, text).unwrap();
            spec
        };
        let like = |text: &str| {
            let meta = v3::array_from(json::parse_object(text.as_bytes(), 1 << 20).unwrap()).unwrap();
            Spec::like(&meta, Map::new(), None, &mut Vec::new()).unwrap()
        };
        for (spec, member, written) in [
            (set("codecs", &bare), "codecs", full.as_str()),
            (set("codecs", &bare_shards), "codecs", &full_shards),
            (Spec::from_json(&v3(&bare)).unwrap(), "codecs", &full),
            (Spec::from_json(&v3(&bare_shards)).unwrap(), "codecs", &full_shards),
            (like(&v3(&bare_shards)), "codecs", &full_shards),
            (set("compressor", r#"{"id":"zlib"}"#), "compressor", r#"{"id":"zlib","level":1}"#),
            (set("compressor", r#"{"id":"zstd"}"#), "compressor", r#"{"id":"zstd","level":0}"#),
            (set("compressor", r#"{"id":"zstd","level":3,"checksum":false}"#), "compressor", r#"{"id":"zstd","level":3,"checksum":false}"#),
            (set("filters", r#"[{"id":"shuffle"}]"#), "filters", r#"[{"id":"shuffle","elementsize":4}]"#),
            (
                Spec::from_json(&v2(r#"{"id":"blosc","cname":"zstd"}"#, r#"[{"id":"bz2"}]"#)).unwrap(),
                "compressor",
                r#"{"id":"blosc","cname":"zstd","clevel":5,"shuffle":1,"blocksize":0}"#,
            ),
            (Spec::from_json(&v2("null", r#"[{"id":"bz2"}]"#)).unwrap(), "filters", r#"[{"id":"bz2","level":1}]"#),
        ] {
            assert_eq!(document(&spec)[member].to_string(), written);
        }
    }

    #[test]
    fn raw_bytes_keep_the_name_that_they_were_given() {
        let raw = r#"{"name":"raw_bytes","configuration":{"length_bytes":3}}"#;
        let fields = |of: &str| {
            format!(
                r#"{{"name":"struct","configuration":{{"fields":[{{"name":"n","data_type":"int8"}},{{"name":"x","data_type":{of}}}]}}}}"#
            )
        };
        let text = |data_type: &str, fill: &str| {
            format!(
                r#"{{"zarr_format":3,"node_type":"array","shape":[4],"data_type":{data_type},"chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4]}}}},
                "chunk_key_encoding":{{"name":"default"}},"fill_value":{fill},"codecs":["bytes"]}}"#
            )
        };
        let (list, base64) = ("[1,2,255]", r#""AQL/""#);
        let in_struct = |fill: &str| format!(r#"{{"n":0,"x":{fill}}}"#);
        for (data_type, fill, written) in [
            (raw.to_string(), base64.to_string(), base64.to_string()),
            (raw.to_string(), list.to_string(), base64.to_string()),
            (r#""r24""#.into(), base64.into(), list.into()),
            (fields(raw), in_struct(list), in_struct(base64)),
            (fields(r#""r24""#), in_struct(base64), in_struct(list)),
            (fields(&fields(raw)), in_struct(&in_struct(base64)), in_struct(&in_struct(base64))),
        ] {
            let meta = v3::array_from(json::parse_object(text(&data_type, &fill).as_bytes(), 1 << 20).unwrap()).unwrap();
            let mut asked = Spec::new(meta.data_type, &[4]).unwrap();
            asked.set_fill_json(&fill).unwrap();
            asked.set_type_words(json::parse_text(&data_type).unwrap());
            let mut copy = Spec::like(&meta, Map::new(), None, &mut Vec::new()).unwrap();
            for spec in [&Spec::from_json(&text(&data_type, &fill)).unwrap(), &asked, &copy] {
                let d = document(spec);
                assert_eq!((d["data_type"].to_string(), d["fill_value"].to_string()), (data_type.clone(), written.clone()));
                assert_eq!(v3::array_from(d).unwrap().fill, meta.fill);
            }
            copy.set_data_type(DataType::Int16).unwrap();
            assert_eq!(document(&copy)["data_type"].to_string(), r#""int16""#);
        }
    }

    /// zarr-python opens nothing of a group with `r*` in its consolidated metadata.
    #[test]
    fn raw_bytes_of_version_2_have_the_name_that_others_know() {
        let raw = r#"{"name":"raw_bytes","configuration":{"length_bytes":3}}"#;
        let in_struct = format!(
            r#"{{"name":"struct","configuration":{{"fields":[{{"name":"n","data_type":"int8"}},{{"name":"x","data_type":{raw}}}]}}}}"#
        );
        for (dtype, fill, written) in [
            (r#""|V3""#, r#""AQL/""#, (raw, r#""AQL/""#)),
            (r#"[["n","|i1"],["x","|V3"]]"#, r#""AAEC/w==""#, (&in_struct, r#"{"n":0,"x":"AQL/"}"#)),
        ] {
            let text = format!(
                r#"{{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":{dtype},"fill_value":{fill},"order":"C","compressor":null,"filters":null}}"#
            );
            let meta = v2::array_from(json::parse_object(text.as_bytes(), 1 << 20).unwrap()).unwrap();
            let copy = Spec::like(&meta, Map::new(), Some(Format::V3), &mut Vec::new()).unwrap();
            let mut bare = Spec::new(meta.data_type, &[4]).unwrap();
            bare.set_fill_json(written.1).unwrap();
            let migrated = crate::metadata::upgrade::array(&meta, Map::new()).unwrap().document;
            for document in [document(&copy), document(&bare), migrated] {
                assert_eq!((document["data_type"].to_string(), document["fill_value"].to_string()), (written.0.into(), written.1.into()));
            }
        }
    }

    /// xarray and netCDF take the fill value of a named array of version 2 for "missing", and 0 is data (XR-11).
    #[test]
    fn named_arrays_of_version_2_have_no_fill_value_that_was_not_asked_for() {
        let pair = record(DataType::Int8);
        let fill = |data_type, edit: Set| {
            let mut s = Spec::new(data_type, &[4]).unwrap();
            s.set_format(Format::V2).unwrap();
            s.set_dimension_names(vec![Some("x".into())]).unwrap();
            edit(&mut s).unwrap();
            document(&s)["fill_value"].to_string()
        };
        for data_type in
            [DataType::Bool, DataType::Int32, DataType::Float32, DataType::Complex64, DataType::Text(2), DataType::VarText, pair]
        {
            assert_eq!(fill(data_type, |_| Ok(())), "null", "{data_type:?}");
        }
        let days = DataType::DateTime(crate::dtype::Unit::new("D", 1).unwrap());
        assert_eq!(fill(days, |_| Ok(())), i64::MIN.to_string());
        let cases: &[(Set, &str)] = &[
            (|s| s.set_fill(DataType::Int32, &0i32.to_ne_bytes()), "0"),
            (|s| s.set_fill_json("7"), "7"),
            (|s| s.set_dimension_names(vec![None]), "0"),
            (|s| s.set_dimension_names(vec![None]).and(s.set_attributes_json(r#"{"_ARRAY_DIMENSIONS":["x"]}"#)), "null"),
            (|s| s.set_format(Format::V3), "0"),
            (|s| s.set_data_type(DataType::Int8), "null"),
        ];
        for (at, (edit, wanted)) in cases.iter().enumerate() {
            assert_eq!(fill(DataType::Int32, *edit), *wanted, "{at}");
        }
        // The version may be that of the group.
        let mut s = spec();
        s.set_dimension_names(vec![Some("y".into()), Some("x".into())]).unwrap();
        assert!(!s.resolve(Some(Format::V2)).unwrap().0.fill.defined && s.resolve(Some(Format::V3)).unwrap().0.fill.defined);
    }

    #[test]
    fn v2_names_become_an_attribute() {
        let mut s = spec();
        s.set_format(Format::V2).unwrap();
        s.set_dimension_names(vec![Some("t".into()), Some("x".into())]).unwrap();
        let (_, attributes) = s.resolve(None).unwrap();
        assert_eq!(attributes[v2::DIMENSIONS].to_string(), r#"["t","x"]"#);
        s.set_dimension_names(vec![None, None]).unwrap();
        assert!(s.resolve(None).unwrap().1.is_empty());
        let mut scalar = Spec::new(DataType::Int32, &[]).unwrap();
        scalar.set_format(Format::V2).unwrap();
        assert!(scalar.resolve(None).unwrap().1.is_empty());
        scalar.set_dimension_names(vec![]).unwrap();
        assert_eq!(scalar.resolve(None).unwrap().1[v2::DIMENSIONS].to_string(), "[]");
    }

    #[test]
    fn a_copy_in_version_2_of_texts_as_those_of_another_kind_has_a_codec_of_objects_where_it_needs_one() {
        let (fixed, bytes) = (DataType::Text(5), DataType::Bytes(5));
        let cases: [(DataType, &str, DataType, &[&str]); 11] = [
            (DataType::VarText, r#"[{"id":"vlen-utf8"},{"id":"crc32"}]"#, DataType::VarBytes, &["vlen-bytes", "crc32"]),
            (DataType::VarBytes, r#"[{"id":"vlen-bytes"}]"#, DataType::VarText, &["vlen-utf8"]),
            (fixed, "[]", DataType::VarText, &["vlen-utf8"]),
            (bytes, "[]", DataType::VarText, &["vlen-utf8"]),
            (bytes, "[]", DataType::VarBytes, &["vlen-bytes"]),
            (fixed, r#"[{"id":"shuffle","elementsize":4}]"#, DataType::VarText, &["vlen-utf8"]),
            (fixed, r#"[{"id":"crc32"}]"#, DataType::VarText, &["vlen-utf8", "crc32"]),
            (fixed, r#"[{"id":"vlen-utf8"}]"#, DataType::VarText, &["vlen-utf8"]),
            (DataType::VarText, r#"[{"id":"vlen-utf8"}]"#, fixed, &[]),
            (DataType::VarText, r#"[{"id":"vlen-utf8"},{"id":"crc32"}]"#, fixed, &["crc32"]),
            (DataType::VarText, r#"[{"id":"categorize","labels":["a"],"dtype":"|O","astype":"|u1"}]"#, fixed, &[]),
        ];
        for (from, filters, to, wanted) in cases {
            let mut source = Spec::new(from, &[4]).unwrap();
            source.set_format(Format::V2).unwrap();
            source.set_filters_json(filters).unwrap();
            let mut copy = like(&source, Format::V2);
            copy.set_data_type(to).unwrap();
            let mut named = codec_names(&copy);
            assert_eq!(named.pop().as_deref(), Some("zstd"));
            assert_eq!(named, wanted, "{from:?} {filters} {to:?}");
        }
    }

    #[test]
    fn a_copy_of_texts_of_one_length_as_strings_has_no_shuffle_of_their_bytes_in_either_version() {
        let shuffle = r#"{"id":"shuffle","elementsize":4}"#;
        for (filters, compressor, wanted) in [
            (format!("[{shuffle}]"), r#"{"id":"zlib","level":1}"#, ["zlib", "numcodecs.zlib"].as_slice()),
            (format!(r#"[{shuffle},{{"id":"crc32"}}]"#), "null", &["crc32", "numcodecs.crc32"]),
            ("null".to_string(), shuffle, &[]),
        ] {
            for (format, serial) in [(Format::V2, "vlen-utf8"), (Format::V3, "vlen-utf8")] {
                let mut source = Spec::new(DataType::Text(6), &[4]).unwrap();
                source.set_format(Format::V2).unwrap();
                source.set_filters_json(&filters).unwrap();
                source.set_compressor_json(compressor).unwrap();
                let mut copy = like(&source, format);
                copy.set_data_type(DataType::VarText).unwrap();
                let named = codec_names(&copy);
                let codec = wanted.get(usize::from(format == Format::V3));
                assert_eq!(
                    named.iter().map(String::as_str).collect::<Vec<_>>(),
                    [serial].iter().chain(codec).copied().collect::<Vec<_>>(),
                    "{filters} {compressor} {format:?}"
                );
            }
        }
    }

    #[test]
    fn filters_of_a_copy_follow_its_type_from_and_to_each_version() {
        let quantize = r#""digits":1,"dtype":"<f4","astype":"<f4""#;
        let delta = r#""dtype":"<f4""#;
        let mut v2 = spec();
        v2.set_filters_json(&format!(r#"[{{"id":"quantize",{quantize}}},{{"id":"delta",{delta}}},{{"id":"shuffle","elementsize":4}}]"#))
            .unwrap();
        let mut v3 = spec();
        v3.set_codecs_json(&format!(
            r#"[{{"name":"numcodecs.quantize","configuration":{{{quantize}}}}},{{"name":"numcodecs.delta","configuration":{{{delta}}}}},{{"name":"bytes","configuration":{{"endian":"little"}}}},{{"name":"numcodecs.shuffle","configuration":{{"elementsize":4}}}},"zstd"]"#
        ))
        .unwrap();
        for source in [v2, v3] {
            for format in [Format::V2, Format::V3] {
                let mut copy = like(&source, format);
                copy.set_data_type(DataType::Float64).unwrap();
                let d = document(&copy);
                let text = d[if format == Format::V2 { "filters" } else { "codecs" }].to_string();
                let wanted = [r#""dtype":"<f8""#, r#""astype":"<f8""#, r#""elementsize":8"#];
                assert!(wanted.iter().all(|wanted| text.contains(wanted)) && !text.contains("<f4") && !text.contains("delta"), "{text}");
                assert_eq!(copy.left_out().len(), 1, "{:?}", copy.left_out());
            }
        }
        // An integer of the size changes nothing that is taken apart into differences.
        let mut whole = spec();
        whole.set_filters_json(r#"[{"id":"delta","dtype":"<i4"}]"#).unwrap();
        document(&whole);
    }

    #[test]
    fn codecs_that_the_caller_names_stay_in_a_copy_in_every_order() {
        type Set = fn(&mut Spec) -> Result<()>;
        let to_narrow: Set = |s| s.set_data_type(DataType::Float16);
        let cases: [(Set, Format, &[&str]); 6] = [
            (|_| Ok(()), Format::V2, &["zstd"]),
            (|_| Ok(()), Format::V3, &["bytes", "zstd"]),
            (|s| s.set_keep_bits(Some(5)), Format::V2, &["bitround", "zstd"]),
            (|s| s.set_keep_bits(Some(5)), Format::V3, &["numcodecs.bitround", "bytes", "zstd"]),
            (|s| s.set_filters_json(r#"[{"id":"astype","decode_dtype":"<f2","encode_dtype":"<i4"}]"#), Format::V2, &["astype", "zstd"]),
            (
                |s| {
                    s.set_codecs_json(
                        r#"[{"name":"scale_offset","configuration":{"scale":2}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
                    )
                },
                Format::V3,
                &["scale_offset", "bytes"],
            ),
        ];
        for (set, format, wanted) in cases {
            for set_first in [true, false] {
                let mut source = spec();
                source.set_filters_json(r#"[{"id":"bitround","keepbits":9}]"#).unwrap();
                source.set_compressor_json(r#"{"id":"zstd","level":1}"#).unwrap();
                let mut copy = like(&source, format);
                let sets = if set_first { [set, to_narrow] } else { [to_narrow, set] };
                sets.iter().for_each(|set| set(&mut copy).unwrap());
                let Ok((meta, _)) = copy.resolve_copy() else { panic!("{wanted:?} {set_first}: {}", copy.resolve_copy().unwrap_err()) };
                let names: Vec<String> = match &meta.codecs {
                    crate::metadata::Codecs::V2 { filters, compressor, .. } => {
                        filters.iter().chain(compressor).map(|c| c.name.to_string()).collect()
                    }
                    crate::metadata::Codecs::V3(list) => list.iter().map(|c| c.name.to_string()).collect(),
                };
                assert_eq!(names, wanted, "{set_first}");
                // What is there is not told to be left out.
                let has_bitround = names.iter().any(|name| name.ends_with("bitround"));
                assert!(!has_bitround || copy.left_out().is_empty(), "{wanted:?} {set_first}: {:?}", copy.left_out());
            }
        }
    }

    #[test]
    fn the_format_follows_the_settings_then_the_group() {
        let format = |s: &Spec| s.resolve(Some(Format::V2)).unwrap().0.format;
        let mut s = spec();
        assert_eq!((s.own_format().is_none(), format(&s)), (true, Format::V2));
        s.set_codecs_json("[\"bytes\"]").unwrap_or_default();
        let mut sharded = spec();
        sharded.set_inner_chunks(&[1, 1]).unwrap();
        assert_eq!((sharded.own_format().is_none(), format(&sharded)), (false, Format::V3));
        let mut filtered = spec();
        filtered.set_filters_json("null").unwrap();
        assert_eq!((filtered.own_format().is_none(), filtered.resolve(None).unwrap().0.format), (false, Format::V2));
        let mut fixed = spec();
        fixed.set_format(Format::V3).unwrap();
        assert_eq!((fixed.own_format().is_none(), format(&fixed)), (false, Format::V3));
    }
}
