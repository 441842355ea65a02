//! `chunk_grid` and `chunk_key_encoding` of a `zarr.json` ⇄ the model.
//! Specification: v3 core, "Regular grid", "Chunk key encoding"; zarr-extensions, "rectilinear".

use super::extension::{Extension, ExtensionRef};
use super::fields::{chunk_lengths, extents, number_list, separator};
use super::json::{self, List, member};
use super::{Map, Value};
use crate::error::{Result, bail, err};
use crate::grid::Grid;
use crate::grid::key::{KeyEncoding, Separator, Suffix};
use crate::grid::rectilinear::{Extents, Runs};
use crate::grid::registered::{self, RegisteredKeys};
use crate::limits::{Dims, collect, readable};

/// zarrs' name of the chunk keys with a text behind.
const SUFFIXED: &str = "zarrs.default_suffix";
/// Zarr.jl's name of keys of any encoding with a text behind.
const SUFFIX: &str = "suffix";

/// Reads `chunk_grid` of an array of that shape with those `codecs`.
pub(super) fn chunk_grid(value: &Value, shape: &[u64], codecs: Option<&Value>) -> Result<Grid> {
    let ExtensionRef { name, configuration, .. } = ExtensionRef::from_v3(value)?;
    let of = |known: &[&str], name: &'static str, read: &dyn Fn(&Value, &[u64]) -> Result<Grid>| {
        if let Some(other) = configuration.keys().find(|k| !known.contains(&k.as_str())) {
            return Err(err!(Metadata, "unknown member of the grid").at_field(other));
        }
        if known.contains(&"kind") {
            match member(configuration, "kind")? {
                Value::String(kind) if kind == "inline" => {}
                other => return Err(err!(Unsupported, "found {}, expected \"inline\"", json::brief(other)).at_field("kind")),
            }
        }
        read(member(configuration, name)?, shape).map_err(|e| e.at_field(name))
    };
    match name.as_str() {
        "regular" => of(&["chunk_shape"], "chunk_shape", &|value, shape| regular_grid(value, shape, codecs)),
        "rectilinear" => of(&["kind", "chunk_shapes"], "chunk_shapes", &rectilinear_grid),
        // The rectilinear grid in the form of ZEP 3, which zarrs wrote.
        "rectangular" => of(&["chunk_shape"], "chunk_shape", &rectilinear_grid),
        "zarrs.regular_bounded" => of(&["chunk_shape"], "chunk_shape", &bounded_grid),
        other => bail!(Unsupported, "chunk grid {other:?} is not supported; \"regular\" and \"rectilinear\" are"),
    }
    .map_err(|e| e.at_field("configuration"))
}

fn regular_grid(value: &Value, shape: &[u64], codecs: Option<&Value>) -> Result<Grid> {
    let is_list = |axis: &&Value| axis.as_array().is_some();
    match value.as_array().map(|axes| (axes.iter().filter(is_list).count(), axes.len())) {
        // zarr-python 3.2 wrote a rectilinear grid under this name where some dimensions have one extent.
        Some((lists, rank)) if lists > 0 && lists < rank => rectilinear_grid(value, shape),
        _ => Grid::regular(chunk_lengths(value, shape, codecs.and_then(inner_chunk).as_deref())?),
    }
}

/// The shape of the inner chunks of an array of shards.
fn inner_chunk(codecs: &Value) -> Option<Dims> {
    let shard = codecs.as_array()?.iter().find(|codec| codec.get("name").and_then(Value::as_str) == Some("sharding_indexed"))?;
    extents(shard.get("configuration")?.get("chunk_shape")?).ok()
}

/// zarrs' own: regular, but chunks that would reach over the array's end are cut there.
fn bounded_grid(value: &Value, shape: &[u64]) -> Result<Grid> {
    let chunk = chunk_lengths(value, shape, None)?;
    // None of them is 0 then.
    Grid::regular(chunk.clone())?;
    let axis = |(&extent, &length): (&u64, &u64)| {
        let (whole, rest) = (length / extent, length % extent);
        if rest == 0 {
            return Ok(Extents::Repeat(extent));
        }
        let mut list = Runs::new();
        if whole > 0 {
            list.push(extent, whole)?;
        }
        list.push(rest, 1).map(|()| Extents::Listed(list))
    };
    Grid::rectilinear(chunk.iter().zip(shape).map(axis).collect::<Result<_>>()?)
}

/// Reads `chunk_shapes` for an array of that shape: an integer or a list of extents for each dimension.
pub fn rectilinear_grid(value: &Value, shape: &[u64]) -> Result<Grid> {
    let Value::Array(list) = value else { bail!(Metadata, "found {}, expected a list", json::brief(value)) };
    if list.len() != shape.len() {
        bail!(Metadata, "found {} dimensions, expected {} as in \"shape\"", list.len(), shape.len());
    }
    let axes = list.iter().zip(shape).enumerate();
    Grid::rectilinear(axes.map(|(d, (v, &n))| axis_extents(v, n).map_err(|e| e.at_field(format!("[{d}]")))).collect::<Result<_>>()?)
}

/// An integer, or a list of extents, among them pairs `[extent, count]`.
fn axis_extents(value: &Value, length: u64) -> Result<Extents> {
    let items = match value {
        Value::Array(items) if items.is_empty() => bail!(Metadata, "found an empty list, expected at least one extent"),
        Value::Array(items) => items,
        other => return positive(other).map(Extents::Repeat),
    };
    let mut list = Runs::new();
    for (i, item) in items.iter().enumerate() {
        let pushed = match item {
            Value::Array(pair) => match pair.as_slice() {
                [extent, count] => positive(extent).and_then(|extent| list.push(extent, positive(count)?)),
                _ => Err(err!(Metadata, "found a list of {} values, expected [extent, count]", pair.len())),
            },
            one => positive(one).and_then(|extent| list.push(extent, 1)),
        };
        pushed.map_err(|e| e.at_field(format!("[{i}]")))?;
    }
    if list.end() < length {
        bail!(Metadata, "found extents of {} elements in all, expected at least the {length} of \"shape\"", list.end());
    }
    Ok(Extents::Listed(list))
}

/// A length or a number of chunks of a rectilinear grid. zarr-python 3.2 wrote 1 as `true`, and others as `4.0`.
fn positive(value: &Value) -> Result<u64> {
    let whole = |n: &f64| n.fract() == 0.0 && (1.0..9e15).contains(n);
    let as_float = || value.as_f64().filter(whole).map(|n| n as u64);
    let number = match value {
        Value::Bool(true) => 1,
        _ => json::get_u64(value).or_else(|e| as_float().ok_or(e))?,
    };
    match number {
        0 => bail!(Metadata, "found 0, expected an integer of at least 1"),
        n if n > i64::MAX as u64 => bail!(Limit, "found {n}, the limit is 2^63 - 1"),
        n => Ok(n),
    }
}

fn only_members(extension: ExtensionRef<'_>, known: &[&str]) -> Result<()> {
    match extension.configuration.keys().find(|k| !known.contains(&k.as_str())) {
        Some(name) => Err(err!(Metadata, "unknown member of {:?}", extension.name).at_field(name).at_field("configuration")),
        None => Ok(()),
    }
}

/// The encoding that a program has registered under that name.
fn registered_keys(extension: ExtensionRef<'_>) -> Result<Option<&'static RegisteredKeys>> {
    registered::find(extension.name, || json::to_compact(&Value::Object(extension.configuration.clone())))
}

/// Reads a chunk key encoding. HD-42: some writers put `separator` beside the name instead of into the configuration.
pub fn key_encoding(value: &Value) -> Result<KeyEncoding> {
    let moved;
    let extension = match value {
        Value::Object(object) if object.contains_key("separator") && !object.contains_key("configuration") => {
            let mut rest = object.clone();
            let separator = rest.shift_remove("separator").unwrap_or_default();
            let mut extension = Extension::from_v3(&Value::Object(rest))?;
            extension.configuration.insert("separator".into(), separator);
            moved = extension;
            moved.borrowed()
        }
        _ => ExtensionRef::from_v3(value)?,
    };
    if let Some(keys) = registered_keys(extension)? {
        return Ok(KeyEncoding::Registered(keys));
    }
    let (plain, known): (KeyEncoding, &[&str]) = match extension.name.as_str() {
        "default" => (KeyEncoding::Default(Separator::Slash), &["separator"]),
        "v2" => (KeyEncoding::V2(Separator::Dot), &["separator"]),
        SUFFIXED => (KeyEncoding::Suffixed(Separator::Slash, suffix(extension)?), &["separator", "suffix"]),
        SUFFIX => (with_suffix(extension)?, &["suffix", "base_encoding"]),
        other => bail!(Unsupported, "chunk key encoding {other:?} is not supported; \"default\" and \"v2\" are"),
    };
    only_members(extension, known)?;
    match extension.configuration.get("separator") {
        None | Some(Value::Null) => Ok(plain),
        Some(value) => Ok(plain.with_separator(separator(value).map_err(|e| e.at_field("configuration.separator"))?)),
    }
}

/// The keys of the encoding `base_encoding` with a text behind.
fn with_suffix(extension: ExtensionRef<'_>) -> Result<KeyEncoding> {
    let base = member(extension.configuration, "base_encoding").map_err(|e| e.at_field("configuration"))?;
    let read = key_encoding(base).and_then(|keys| match keys {
        KeyEncoding::Default(separator) => Ok(KeyEncoding::Suffixed(separator, suffix(extension)?)),
        KeyEncoding::V2(separator) => Ok(KeyEncoding::SuffixedV2(separator, suffix(extension)?)),
        _ => bail!(Unsupported, "found {}, expected \"default\" or \"v2\"", json::brief(base)),
    });
    read.map_err(
        |e| if e.field().is_some_and(|field| field == "configuration.suffix") { e } else { e.at_field("configuration.base_encoding") },
    )
}

fn suffix(extension: ExtensionRef<'_>) -> Result<Suffix> {
    let value = member(extension.configuration, "suffix").map_err(|e| e.at_field("configuration"))?;
    let text = value.as_str().ok_or_else(|| err!(Metadata, "found {}, expected a string", json::brief(value)));
    let suffix = text.and_then(|text| {
        Suffix::new(text).ok_or_else(|| err!(Unsupported, "found {text:?}, expected up to {} bytes without slashes", Suffix::MAX))
    });
    suffix.map_err(|e| e.at_field("configuration.suffix"))
}

pub(super) fn grid_to_json(grid: &Grid) -> Result<Value> {
    let mut configuration = Map::new();
    let Grid::Rectilinear { .. } = grid else {
        configuration.insert("chunk_shape".into(), chunk_shapes(grid)?);
        return Ok(Extension::new("regular", configuration).to_v3());
    };
    configuration.insert("kind".into(), "inline".into());
    configuration.insert("chunk_shapes".into(), chunk_shapes(grid)?);
    Ok(Extension::new("rectilinear", configuration).to_v3())
}

/// The extents along each dimension, as a document has them: one number, or a list in which runs of three and more are pairs.
pub fn chunk_shapes(grid: &Grid) -> Result<Value> {
    let axis = |extents: &Extents| match extents {
        Extents::Repeat(extent) => Ok(Value::from(*extent)),
        Extents::Listed(list) => List::of(collect(list.iter().flat_map(run_to_json))?).map(Value::Array),
    };
    match grid {
        Grid::Regular { chunk } => Ok(number_list(chunk)),
        Grid::Rectilinear { extents } => Ok(Value::Array(extents.iter().map(axis).collect::<Result<_>>()?)),
    }
}

fn run_to_json((extent, count): (u64, u64)) -> impl Iterator<Item = Value> {
    let (value, times) = if count <= 2 { (extent.into(), count as usize) } else { (number_list(&[extent, count]), 1) };
    std::iter::repeat_n(value, times)
}

/// Makes a document of an array of that shape say that grid; where it does already, it keeps its words.
pub fn keep_grid(document: &mut Map, grid: &Grid, shape: &[u64]) -> Result<()> {
    let says = document.get("chunk_grid").map(|value| readable(chunk_grid(value, shape, None))).transpose()?.flatten();
    if says.as_ref() != Some(grid) {
        document.insert("chunk_grid".into(), grid_to_json(grid)?);
    }
    Ok(())
}

pub(super) fn keys_to_json(keys: KeyEncoding) -> Result<Value> {
    let name = match keys {
        KeyEncoding::Registered(own) => {
            let configuration = readable(json::parse_text(own.configuration()))?.and_then(|c| c.as_object().cloned());
            return Ok(Extension::new(own.name(), configuration.unwrap_or_default()).to_v3());
        }
        KeyEncoding::Default(_) => "default",
        KeyEncoding::V2(_) => "v2",
        KeyEncoding::Suffixed(..) => SUFFIXED,
        KeyEncoding::SuffixedV2(separator, suffix) => {
            let mut configuration = Map::new();
            configuration.insert("suffix".into(), suffix.as_str().into());
            configuration.insert("base_encoding".into(), keys_to_json(KeyEncoding::V2(separator))?);
            return Ok(Extension::new(SUFFIX, configuration).to_v3());
        }
    };
    let mut configuration = Map::new();
    configuration.insert("separator".into(), keys.separator().char().to_string().into());
    if let KeyEncoding::Suffixed(_, suffix) = keys {
        configuration.insert("suffix".into(), suffix.as_str().into());
    }
    Ok(Extension::new(name, configuration).to_v3())
}
