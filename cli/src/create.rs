//! `ozarr create`: a new array or group.

use crate::failure::{Failure, Outcome};
use crate::list::List;
use crate::place::{Place, lengths, locate};
use clap::{Args, ValueEnum};
use ozarr::dtype::resolve::{self, Grammar};
use ozarr::dtype::{ByteOrder, DataType, ElementType};
use ozarr::node::{Array, Create, Format, Group, KeyEncoding, Map, Mode, Order, Separator, Spec, Value, json};
use std::str::FromStr;

/// Create an array, or a group with --group, and the groups above it
#[derive(Args)]
pub struct CreateNode {
    #[command(flatten)]
    place: Place,
    /// The type of the elements: float64, int32, complex64, bool, ..; numpy's <f8, >i4, |S5, <M8[s], too; bfloat16, int4, ..; fields as
    /// [["x", "<f8"], ["id", "<i4"]]; or the JSON of a metadata document
    #[arg(long = "type", alias = "dtype", value_name = "TYPE", value_parser = element_type, required_unless_present_any = ["group", "metadata"])]
    data_type: Option<ElementType>,
    /// The lengths of the dimensions; `--shape=` for none
    #[arg(long, value_name = "N,M,..", required_unless_present_any = ["group", "metadata"])]
    shape: Option<List>,
    /// The shape of a chunk (one of about 1 MiB); with --inner-chunks that of a shard. Zarr 3: with extents listed, [count times]
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
    /// none, zstd, gzip, zlib (Zarr 2) or blosc, and its level; in Zarr 2 also its JSON
    #[arg(long, value_name = "NAME[:LEVEL]")]
    compressor: Option<String>,
    /// The version of Zarr (that of the group above, else 3)
    #[arg(long, value_name = "2|3", value_parser = format)]
    format: Option<Format>,
    /// The fill value as in a document: 0, NaN, 0x7fc00001, [0, 1], null (Zarr 2)
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    fill: Option<String>,
    /// The names of the dimensions, nothing between commas for none: time,,x; also a JSON list
    #[arg(long, value_name = "NAME,..")]
    dims: Option<String>,
    /// The attributes: a JSON object
    #[arg(long, value_name = "JSON")]
    attrs: Option<String>,
    /// The order of the elements in a chunk: C, or F (first index fastest)
    #[arg(long, value_name = "C|F")]
    order: Option<OrderName>,
    /// Store the most significant bytes first
    #[arg(long)]
    big_endian: bool,
    /// What stands between the indices in the keys of chunks: / or . (/ in Zarr 3, . in Zarr 2)
    #[arg(long, value_name = "/|.", value_parser = separator)]
    separator: Option<Separator>,
    /// Zarr 3: keys of chunks as in Zarr 3 (default) or 2 (v2)
    #[arg(long, value_name = "default|v2")]
    key_encoding: Option<KeyName>,
    /// A file with a metadata document (.zarray, zarr.json) that says it all; the other options change it
    #[arg(long, value_name = "FILE")]
    metadata: Option<String>,
    /// Create a group
    #[arg(long, conflicts_with_all = ["data_type", "shape", "chunks", "inner_chunks", "codec", "compressor", "fill", "dims", "order",
        "big_endian", "separator", "key_encoding", "metadata"])]
    group: bool,
    /// Erase what stands there, with all below it
    #[arg(long)]
    overwrite: bool,
    /// No error if the very same array or a group stands there already
    #[arg(long, conflicts_with = "overwrite")]
    exists_ok: bool,
}

/// Chunks of one shape, or extents as a rectilinear grid has them.
#[derive(Clone)]
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

#[derive(Clone, Copy, ValueEnum)]
enum OrderName {
    #[value(name = "C")]
    C,
    #[value(name = "F")]
    F,
}

#[derive(Clone, Copy, ValueEnum)]
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

impl CreateNode {
    pub fn run(&self) -> Outcome {
        let (store, path) = locate(&self.place.location, &self.place.path, Mode::ReadWrite)?;
        let how = match (self.overwrite, self.exists_ok) {
            (true, _) => Create::Overwrite,
            (_, true) => Create::OpenIfSame,
            _ => Create::New,
        };
        if self.group {
            let group = Group::create(&store, &path, self.format, how)?;
            if let Some(attributes) = &self.attrs {
                group.attributes().replace_json(attributes)?;
            }
        } else {
            Array::create(&store, &path, &self.spec()?, how)?;
        }
        Ok(store.flush()?)
    }

    fn spec(&self) -> Outcome<Spec> {
        let mut spec = match (&self.metadata, self.data_type, &self.shape) {
            (Some(_), Some(_), _) | (Some(_), _, Some(_)) => {
                return Err(Failure::Usage("--metadata says the type and the shape; leave --type and --shape out".into()));
            }
            (Some(file), ..) => Spec::from_json(&std::fs::read_to_string(file).map_err(|e| Failure::file(file, &e))?)?,
            (None, Some(element), Some(shape)) => {
                let mut spec = Spec::new(element.data_type, &lengths("shape", &shape.0)?)?;
                if self.big_endian || element.swapped() {
                    spec.set_byte_order(ByteOrder::Big)?;
                }
                spec
            }
            _ => return Err(Failure::Usage("--type and --shape are needed".into())),
        };
        self.layout(&mut spec)?;
        self.codecs(&mut spec)?;
        if let Some(fill) = &self.fill {
            spec.set_fill_json(&json_or_string(fill))?;
        }
        if let Some(dims) = &self.dims {
            spec.set_dimension_names(names(dims)?)?;
        }
        if let Some(attributes) = &self.attrs {
            spec.set_attributes_json(attributes)?;
        }
        Ok(spec)
    }

    fn layout(&self, spec: &mut Spec) -> Outcome {
        if let Some(format) = self.format {
            spec.set_format(format)?;
        }
        match &self.chunks {
            Some(Chunks::Shape(list)) => spec.set_chunks(&lengths("chunks", &list.0)?)?,
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
        Ok(())
    }

    fn codecs(&self, spec: &mut Spec) -> Outcome {
        let mut codecs = Vec::new();
        for text in &self.codec {
            match json::parse_text(&json_or_string(text)).map_err(|e| e.at_field("--codec"))? {
                Value::Array(all) => codecs.extend(all),
                one => codecs.push(one),
            }
        }
        let is_v2 = self.format == Some(Format::V2) || codecs.iter().any(|c| c.get("id").is_some());
        let inner = self.inner_chunks.as_ref().map(|list| lengths("inner-chunks", &list.0)).transpose()?;
        match (&self.compressor, codecs.is_empty()) {
            (_, true) => {}
            (None, _) if is_v2 => {
                let is_filter = |c: &Value| c.get("id").and_then(Value::as_str).is_some_and(|id| FILTERS.contains(&id));
                let compressor = codecs.pop_if(|c| !is_filter(c));
                spec.set_compressor_json(&json::to_text(&compressor.unwrap_or(Value::Null)))?;
                spec.set_filters_json(&json::to_text(&Value::Array(codecs)))?;
            }
            (Some(_), _) if is_v2 => spec.set_filters_json(&json::to_text(&Value::Array(codecs)))?,
            (Some(_), _) => return Err(Failure::Usage("--codec gives all codecs in Zarr 3; leave --compressor out".into())),
            (None, _) => {
                let all = if let Some(inner) = &inner { vec![sharding(inner, codecs)] } else { codecs };
                return Ok(spec.set_codecs_json(&json::to_text(&Value::Array(all)))?);
            }
        }
        if let Some(inner) = inner {
            spec.set_inner_chunks(&inner)?;
        }
        match self.compressor.as_deref() {
            None => {}
            Some(text) if text.starts_with('{') || text == "null" => spec.set_compressor_json(text)?,
            Some(text) => {
                let (name, level) = match text.split_once(':') {
                    None => (text, None),
                    Some((name, level)) => {
                        let wrong = |_| Failure::Usage(format!("--compressor: the level {level:?} is not an integer"));
                        (name, Some(level.parse().map_err(wrong)?))
                    }
                };
                spec.set_compressor(name, level)?;
            }
        }
        Ok(())
    }
}

/// The codec of shards whose chunks of shape `inner` go through `codecs`.
fn sharding(inner: &[u64], codecs: Vec<Value>) -> Value {
    let object =
        |members: Vec<(&str, Value)>| -> Value { members.into_iter().map(|(k, v)| (k.to_string(), v)).collect::<Map<_, _>>().into() };
    let bytes = object(vec![("name", "bytes".into()), ("configuration", object(vec![("endian", "little".into())]))]);
    let configuration = object(vec![
        ("chunk_shape", Value::from(inner.to_vec())),
        ("codecs", Value::Array(codecs)),
        ("index_codecs", Value::Array(vec![bytes, object(vec![("name", "crc32c".into())])])),
        ("index_location", "end".into()),
    ]);
    object(vec![("name", "sharding_indexed".into()), ("configuration", configuration)])
}

/// JSON as it is; anything else that does not look like it as a JSON string: `NaN`, `crc32c`.
pub fn json_or_string(text: &str) -> String {
    let looks_like_json = text.trim_start().starts_with(['{', '[', '"']);
    if looks_like_json || json::parse_text(text).is_ok() { text.to_string() } else { json::to_compact(&Value::from(text)) }
}

fn names(text: &str) -> Outcome<Vec<Option<String>>> {
    if !text.starts_with('[') {
        let name = |n: &str| Some(n.to_string()).filter(|n| !n.is_empty());
        return Ok(if text.is_empty() { Vec::new() } else { text.split(',').map(name).collect() });
    }
    let Value::Array(items) = json::parse_text(text).map_err(|e| e.at_field("--dims"))? else { return Ok(Vec::new()) };
    let name = |item: Value| match item {
        Value::Null => Ok(None),
        Value::String(name) => Ok(Some(name)),
        other => Err(Failure::Error(format!("--dims: found {other}, expected a string or null"))),
    };
    items.into_iter().map(name).collect()
}

fn element_type(text: &str) -> Result<ElementType, String> {
    resolve::parse(text, Grammar::Any).map_err(|e| e.to_string())
}

/// A type in memory, which has no byte order.
pub fn native_type(text: &str) -> Result<DataType, String> {
    element_type(text).map(|element| element.data_type.native())
}

fn format(text: &str) -> Result<Format, String> {
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
