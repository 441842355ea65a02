//! The options that say how an array is stored: its chunks, shards, codecs and keys.

use crate::failure::{Failure, Outcome};
use crate::list::List;
use crate::place::lengths;
use clap::{Args, ValueEnum};
use ozarr::node::{Format, KeyEncoding, Map, Order, Separator, Spec, Value, json};
use std::str::FromStr;

/// How an array is stored.
#[derive(Args, Debug, Default)]
pub struct Layout {
    /// The shape of a chunk (of `create`: one of about 1 MiB); with --inner-chunks that of a shard. Zarr 3: with extents listed, [count times]
    /// in pairs, for a dimension: [[8,8,4],[[16,10],7],32]
    #[arg(long, value_name = "N,M,..|JSON")]
    chunks: Option<Chunks>,
    /// Zarr 3: chunks become shards that hold chunks of this shape
    #[arg(long, value_name = "N,M,..")]
    inner_chunks: Option<List>,
    /// A codec as its JSON, or a bare name, in the order of encoding; may be given again. In Zarr 3 they are all the codecs, in
    /// Zarr 2 filters and at the end the compressor
    #[arg(long, value_name = "JSON")]
    codec: Vec<String>,
    /// none, zstd, gzip, blosc or blosc:lz4, and its level (blosc:zstd:5); zlib, bz2, lzma, lz4, pcodec (in Zarr 3 numcodecs', at which
    /// zarr-python warns); in Zarr 2 also its JSON
    #[arg(long, value_name = "NAME[:LEVEL]")]
    compressor: Option<String>,
    /// The order of the elements in a chunk: C, or F (first index fastest)
    #[arg(long, value_name = "C|F")]
    order: Option<OrderName>,
    /// The character between the indices in the keys of chunks: / or . (/ in Zarr 3, . in Zarr 2)
    #[arg(long, value_name = "/|.", value_parser = separator)]
    separator: Option<Separator>,
    /// Zarr 3: keys of chunks as in Zarr 3 (default) or 2 (v2)
    #[arg(long, value_name = "default|v2")]
    key_encoding: Option<KeyName>,
}

/// Chunks of one shape, or extents as a rectilinear grid has them.
#[derive(Clone, Debug)]
enum Chunks {
    Shape(List),
    Json(String),
}

impl FromStr for Chunks {
    type Err = String;

    fn from_str(text: &str) -> Result<Chunks, String> {
        if text.trim_start().starts_with('[') { Ok(Chunks::Json(text.into())) } else { text.parse().map(Chunks::Shape) }
    }
}

impl Chunks {
    fn rank(&self) -> usize {
        match self {
            Chunks::Shape(list) => list.0.len(),
            Chunks::Json(text) => json::parse_text(text).ok().and_then(|v| v.as_array().map(<[_]>::len)).unwrap_or(usize::MAX),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OrderName {
    #[value(name = "C")]
    C,
    #[value(name = "F")]
    F,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KeyName {
    Default,
    V2,
}

/// numcodecs' filters: at the end of `--codec` they stay filters, where any other codec is the compressor.
const FILTERS: &[&str] = &[
    "delta",
    "astype",
    "shuffle",
    "fixedscaleoffset",
    "quantize",
    "bitround",
    "categorize",
    "packbits",
    "json2",
    "msgpack2",
    "pickle",
    "vlen-utf8",
    "vlen-bytes",
    "vlen-array",
];

impl Layout {
    /// Sets what is given, in the array of `spec`, which gets that version where it is said.
    pub fn apply(&self, spec: &mut Spec, format: Option<Format>) -> Outcome {
        if let Some(format) = format {
            spec.set_format(format)?;
        }
        self.set(spec, self.chunks.as_ref(), self.inner_chunks.as_ref())
    }

    /// Returns the numbers of dimensions that the given chunks and inner chunks are for.
    pub fn ranks(&self) -> Vec<usize> {
        self.chunks.as_ref().map(Chunks::rank).into_iter().chain(self.inner_chunks.as_ref().map(|list| list.0.len())).collect()
    }

    /// Whether chunks are given, and inner chunks are not.
    pub fn leaves_inner_chunks(&self) -> bool {
        self.chunks.is_some() && self.inner_chunks.is_none()
    }

    /// Whether no codec is given.
    pub fn leaves_codecs(&self) -> bool {
        self.codec.is_empty() && self.compressor.is_none()
    }

    /// Changes what is given in the copy of an array. One array of a group whose rank is not that of the chunks keeps its own.
    pub fn apply_to_copy(&self, spec: &mut Spec, in_group: bool) -> Outcome {
        let fits = |rank: usize| !in_group || rank == spec.rank();
        let chunks = self.chunks.as_ref().filter(|c| fits(c.rank()));
        let inner = self.inner_chunks.as_ref().filter(|list| fits(list.0.len()));
        self.set(spec, chunks, inner)
    }

    fn set(&self, spec: &mut Spec, chunks: Option<&Chunks>, inner: Option<&List>) -> Outcome {
        match chunks {
            Some(Chunks::Shape(list)) => spec.set_chunks(&lengths("chunks", &list.0, 1)?)?,
            Some(Chunks::Json(text)) => spec.set_chunks_json(text)?,
            None => {}
        }
        if let Some(order) = self.order {
            spec.set_order(if matches!(order, OrderName::F) { Order::F } else { Order::C })?;
        }
        match self.key_encoding {
            Some(KeyName::V2) => spec.set_key_encoding(KeyEncoding::V2(Separator::Dot))?,
            Some(KeyName::Default) => spec.set_key_encoding(KeyEncoding::Default(Separator::Slash))?,
            None => {}
        }
        if let Some(separator) = self.separator {
            spec.set_separator(separator)?;
        }
        self.codecs(spec, inner)
    }

    fn codecs(&self, spec: &mut Spec, inner: Option<&List>) -> Outcome {
        let mut codecs = Vec::new();
        for text in &self.codec {
            match json::parse_text(&json_or_string(text)).map_err(|e| Failure::from(e.at_field("--codec")).of_usage())? {
                Value::Array(all) => codecs.extend(all.iter().cloned()),
                one => codecs.push(one),
            }
        }
        let is_v2 = spec.format() == Some(Format::V2) || codecs.iter().any(|c| c.get("id").is_some());
        let inner = inner.map(|list| lengths("inner-chunks", &list.0, 1)).transpose()?;
        match (&self.compressor, codecs.is_empty()) {
            (_, true) => {}
            (None, _) if is_v2 => {
                let is_filter = |c: &Value| c.get("id").and_then(Value::as_str).is_some_and(|id| FILTERS.contains(&id));
                let compressor = codecs.pop_if(|c| !is_filter(c));
                spec.set_compressor_json(&json::to_text(&compressor.unwrap_or(Value::Null)))?;
                spec.set_filters_json(&json::to_text(&Value::Array(codecs.into())))?;
            }
            (Some(_), _) if is_v2 => spec.set_filters_json(&json::to_text(&Value::Array(codecs.into())))?,
            (Some(_), _) => return Err(Failure::Usage("--codec gives all codecs in Zarr 3; leave --compressor out".into())),
            (None, _) => {
                let all = if let Some(inner) = &inner { vec![sharding(inner, codecs)] } else { codecs };
                return Ok(spec.set_codecs_json(&json::to_text(&Value::Array(all.into())))?);
            }
        }
        if let Some(inner) = inner {
            spec.set_inner_chunks(&inner)?;
        }
        match self.compressor.as_deref() {
            None => {}
            Some(text) if text.starts_with('{') || text == "null" => spec.set_compressor_json(text)?,
            Some(text) => {
                // What is behind the last colon is a level, or part of a name such as blosc:lz4.
                let (name, level) = match text.rsplit_once(':') {
                    Some((name, level)) if !matches!(level, "lz4" | "lz4hc" | "zstd" | "zlib" | "blosclz" | "snappy") => {
                        let wrong = |_| Failure::Usage(format!("--compressor: the level {level:?} is not an integer"));
                        (name, Some(level.parse().map_err(wrong)?))
                    }
                    _ => (text, None),
                };
                spec.set_compressor(name, level).map_err(|e| Failure::from(e).of_usage())?;
            }
        }
        Ok(())
    }
}

/// The codec of shards whose chunks of shape `inner` go through `codecs`.
fn sharding(inner: &[u64], codecs: Vec<Value>) -> Value {
    let object = |members: Vec<(&str, Value)>| -> Value { members.into_iter().collect::<Map>().into() };
    let bytes = object(vec![("name", "bytes".into()), ("configuration", object(vec![("endian", "little".into())]))]);
    let configuration = object(vec![
        ("chunk_shape", Value::from(inner.to_vec())),
        ("codecs", Value::Array(codecs.into())),
        ("index_codecs", Value::from_iter([bytes, object(vec![("name", "crc32c".into())])])),
        ("index_location", "end".into()),
    ]);
    object(vec![("name", "sharding_indexed".into()), ("configuration", configuration)])
}

/// JSON as it is; anything else that does not look like it as a JSON string: `NaN`, `crc32c`.
pub fn json_or_string(text: &str) -> String {
    let looks_like_json = text.trim_start().starts_with(['{', '[', '"']);
    if looks_like_json || json::parse_text(text).is_ok() { text.to_string() } else { json::to_compact(&Value::from(text)) }
}

/// `2` or `3`.
pub fn format(text: &str) -> Result<Format, String> {
    match text {
        "2" => Ok(Format::V2),
        "3" => Ok(Format::V3),
        _ => Err("expected 2 or 3".into()),
    }
}

fn separator(text: &str) -> Result<Separator, String> {
    match text {
        "/" => Ok(Separator::Slash),
        "." => Ok(Separator::Dot),
        _ => Err("expected / or .".into()),
    }
}
