//! The first draft of version 3 (d0), as zarrita, xtensor-zarr and zarr-python 2 wrote it ⇄ the model; naming all drafts.
//!
//! ZEP 1 and the core protocol's drafts of 2020 to 2022. A hierarchy has one entry point, `zarr.json`; an array's document has the
//! members of version 2 under other names, so it is read as such a one. What nodes and chunks are called is in `node/draft.rs`.

use super::extension::Extension;
use super::fields::{check_attributes, extents};
use super::json::{brief, get_u64, member};
use super::{ArrayMeta, Codecs, Dialect, Format, GroupMeta, Map, Value, codecs_to_v3, v2};
use crate::dtype::{DataType, Kind};
use crate::error::{Error, Result, bail, err};
use crate::grid::Grid;
use crate::json::json;
use crate::limits::Dims;

/// The authority of all names in the draft.
const AUTHORITY: &str = "https://purl.org/zarr/spec/";
/// What the names of zarr-python 2's own extensions begin with in the documents that it wrote: data in users' files, not a task for us.
const UNNAMED: &str = "TODO: ";
/// The suffix of all documents below the root of a hierarchy.
const SUFFIX: &str = ".json";

/// The entry point of a d0 hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// `metadata_key_suffix`: how the keys of the nodes' documents end.
    pub suffix: String,
}

/// Whether a `zarr.json` is the entry point of a hierarchy of a draft, of whichever.
pub fn is_entry(document: &Map) -> bool {
    document.get("zarr_format").and_then(Value::as_str).is_some_and(|s| s.starts_with(AUTHORITY))
}

impl EntryPoint {
    /// Reads an entry point. Other drafts than d0 are `Unsupported`, named.
    pub fn from_document(document: &Map) -> Result<EntryPoint> {
        let format = member(document, "zarr_format")?;
        let encoding = member(document, "metadata_encoding")?;
        check_format(format.as_str().unwrap_or_default(), encoding).map_err(|e| e.at_field("zarr_format"))?;
        if encoding != format {
            let e = err!(Unsupported, "found {}, expected {} as in \"zarr_format\"", brief(encoding), brief(format));
            return Err(e.at_field("metadata_encoding"));
        }
        check_extensions(document)?;
        match document.get("metadata_key_suffix") {
            None => Ok(EntryPoint { suffix: SUFFIX.into() }),
            Some(Value::String(s)) if !s.contains('/') => Ok(EntryPoint { suffix: s.to_string() }),
            Some(other) => Err(err!(Metadata, "found {}, expected the end of a name", brief(other)).at_field("metadata_key_suffix")),
        }
    }
}

/// `…/protocol/core/3.0` is d0, `…/core/3.0` d1.
fn check_format(uri: &str, encoding: &Value) -> Result<()> {
    let (protocol, version) = uri.strip_prefix(AUTHORITY).and_then(|rest| rest.rsplit_once('/')).unwrap_or_default();
    if version.split('.').next() != Some("3") {
        bail!(Unsupported, "found {uri:?}, a draft protocol of another version than 3");
    }
    match protocol {
        "protocol/core" if !encoding.is_object() => Ok(()),
        "protocol/core" | "core" => bail!(Unsupported, "a draft of Zarr v3 of late 2022 (d1), which is not read; the drafts d0 and d2 are"),
        _ => bail!(Unsupported, "found {uri:?}, expected {AUTHORITY}protocol/core/3.0"),
    }
}

/// Refuses extensions that must be understood: none is known.
fn check_extensions(document: &Map) -> Result<()> {
    let list = match document.get("extensions") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(list)) => list,
        Some(other) => return Err(err!(Metadata, "found {}, expected a list", brief(other)).at_field("extensions")),
    };
    for (i, extension) in list.iter().enumerate() {
        let at = |e: Error| e.at_field(format!("extensions[{i}]"));
        if !extension.is_object() {
            return Err(at(err!(Metadata, "found {}, expected an object", brief(extension))));
        }
        if extension.get("must_understand") != Some(&Value::Bool(false)) {
            let name = extension.get("extension").unwrap_or(&Value::Null);
            return Err(at(err!(Extension, "the extension {} must be understood; none is known", brief(name))));
        }
    }
    Ok(())
}

/// The model of a d0 group's document; an implicit group has an empty one.
pub fn group_from(document: Map) -> Result<GroupMeta> {
    check_extensions(&document)?;
    check_attributes(document.get("attributes"))?;
    Ok(GroupMeta { format: Format::V3, dialect: Dialect::D0, document })
}

/// The model of a d0 array's document. The keys of its chunks are those of version 2, behind a `c`.
pub fn array_from(document: Map) -> Result<ArrayMeta> {
    check_extensions(&document)?;
    check_attributes(document.get("attributes"))?;
    let as_v2 = to_v2(&document)?;
    let mut meta = v2::array_from(as_v2).map_err(|e| of_draft(&e))?;
    let per_shard = chunks_per_shard(&document, meta.shape.len()).map_err(|e| e.at_field("storage_transformers"))?;
    if let Some(per_shard) = per_shard {
        shard(&mut meta, &per_shard).map_err(|e| e.at_field("storage_transformers[0]"))?;
    }
    Ok(ArrayMeta { format: Format::V3, dialect: Dialect::D0, document, ..meta })
}

/// Converts an array document of draft 1 to a `.zarray`.
fn to_v2(document: &Map) -> Result<Map> {
    let grid = member(document, "chunk_grid")?;
    let (chunks, separator) = chunk_grid(grid).map_err(|e| e.at_field("chunk_grid"))?;
    let dtype = data_type(member(document, "data_type")?).map_err(|e| e.at_field("data_type"))?;
    let layout = document.get("chunk_memory_layout").unwrap_or(&Value::Null);
    let fill = document.get("fill_value").unwrap_or(&Value::Null);
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| drop(out.insert(name.into(), value));
    put("zarr_format", 2.into());
    put("shape", member(document, "shape")?.clone());
    put("chunks", chunks);
    put("fill_value", fill_value(fill, &dtype).map_err(|e| e.at_field("fill_value"))?);
    put("dtype", dtype);
    put("order", if layout.is_null() { "C".into() } else { layout.clone() });
    put("filters", filters(document).cloned().unwrap_or_default());
    put("compressor", compressor(document.get("compressor")).map_err(|e| e.at_field("compressor"))?);
    put("dimension_separator", separator);
    Ok(out)
}

/// An error of the `.zarray` with the name that the draft has for the member.
fn of_draft(e: &Error) -> Error {
    const NAMES: &[(&str, &str)] = &[
        ("chunks", "chunk_grid.chunk_shape"),
        ("dtype", "data_type"),
        ("order", "chunk_memory_layout"),
        ("filters", "attributes.filters"),
        ("dimension_separator", "chunk_grid.separator"),
    ];
    let fresh = Error::new(e.kind(), e.message());
    let Some(field) = e.field() else { return fresh };
    let renamed = NAMES.iter().find_map(|(old, new)| field.strip_prefix(old).map(|rest| format!("{new}{rest}")));
    fresh.at_field(renamed.unwrap_or_else(|| field.to_string()))
}

/// `chunk_shape` and `separator` (`/` where it is missing) of a regular grid.
fn chunk_grid(grid: &Value) -> Result<(Value, Value)> {
    let Value::Object(grid) = grid else { bail!(Metadata, "found {}, expected an object", brief(grid)) };
    let kind = member(grid, "type")?;
    if kind.as_str() != Some("regular") {
        return Err(err!(Unsupported, "the chunk grid {} is not supported; \"regular\" is", brief(kind)).at_field("type"));
    }
    let separator = grid.get("separator").filter(|s| !s.is_null()).cloned();
    Ok((member(grid, "chunk_shape")?.clone(), separator.unwrap_or_else(|| "/".into())))
}

/// The v2 `dtype` of a `data_type`: a name of the core, or an extension that zarr-python 2 made of a NumPy type, or its fallback.
fn data_type(value: &Value) -> Result<Value> {
    let object = match value {
        Value::String(name) => return core_type(name),
        Value::Object(object) => object,
        other => bail!(Metadata, "found {}, expected a data type", brief(other)),
    };
    let uri = member(object, "extension")?.as_str().unwrap_or_default();
    let known = uri.starts_with(UNNAMED) || uri.starts_with(AUTHORITY) || uri.contains("zarr-specs.readthedocs.io/");
    match object.get("type") {
        // A plain `|V3` is a structure of one field without a name.
        Some(Value::Array(fields)) if known => match fields.as_slice() {
            [Value::Array(only)] if only.len() == 2 && only[0].as_str() == Some("") => Ok(only[1].clone()),
            _ => Ok(Value::Array(fields.clone())),
        },
        Some(Value::String(dtype)) if known => Ok(Value::from(dtype.as_str())),
        _ => match object.get("fallback") {
            Some(Value::String(name)) => core_type(name).map_err(|e| e.at_field("fallback")),
            Some(Value::Array(_)) => {
                Err(err!(Unsupported, "a list of data types to fall back to, which only the draft d1 has").at_field("fallback"))
            }
            Some(Value::Object(_)) => Err(err!(Unsupported, "an extension to fall back to, expected a data type").at_field("fallback")),
            _ => bail!(Extension, "the data type {} is not known, and falls back to nothing", brief(&Value::from(uri))),
        },
    }
}

/// `bool`, `i1`, `u1`, `<f8`, `r16` (bits).
fn core_type(name: &str) -> Result<Value> {
    if let Some(digits) = name.strip_prefix('r').filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit())) {
        let bits = digits.parse::<u32>().ok().filter(|n| *n > 0 && n.is_multiple_of(8));
        let bits = bits.ok_or_else(|| err!(Metadata, "found {name:?}, expected r and a multiple of 8"))?;
        return Ok(format!("|V{}", bits / 8).into());
    }
    match name {
        "bool" => Ok("|b1".into()),
        "i1" | "u1" => Ok(format!("|{name}").into()),
        _ if name.starts_with(['<', '>', '|']) => Ok(name.into()),
        _ => bail!(Metadata, "found {name:?}, expected a data type such as \"bool\", \"i1\" or \"<f8\""),
    }
}

/// The filters and object codecs that zarr-python 2 kept among the attributes, if these are such.
pub(super) fn filters(document: &Map) -> Option<&Value> {
    let filters = document.get("attributes")?.get("filters")?;
    let named = |f: &Value| f.get("id").is_some_and(Value::is_string);
    filters.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(named)).then_some(filters)
}

/// The v2 `compressor` of `{"codec": URI, "configuration": …}`; the codec's name is the last but one part of the URI.
fn compressor(value: Option<&Value>) -> Result<Value> {
    let object = match value {
        None | Some(Value::Null) => return Ok(Value::Null),
        Some(Value::Object(object)) => object,
        Some(other) => bail!(Metadata, "found {}, expected an object with a codec", brief(other)),
    };
    let uri = member(object, "codec")?;
    let Some(uri) = uri.as_str() else { return Err(err!(Metadata, "found {}, expected a URI", brief(uri)).at_field("codec")) };
    let name = uri.strip_prefix(AUTHORITY).and_then(|_| uri.rsplit('/').nth(1)).unwrap_or(uri);
    let mut out = Map::new();
    out.insert("id".into(), name.into());
    match object.get("configuration") {
        None | Some(Value::Null) => {}
        Some(Value::Object(configuration)) => out.extend(configuration.clone().into_iter().filter(|(name, _)| name != "id")),
        Some(other) => return Err(err!(Metadata, "found {}, expected an object", brief(other)).at_field("configuration")),
    }
    Ok(Value::Object(out))
}

/// The v2 `fill_value`: `"0b…"` becomes `"0x…"`, and either one the bytes of a raw type.
fn fill_value(value: &Value, dtype: &Value) -> Result<Value> {
    let Some(text) = value.as_str() else { return Ok(value.clone()) };
    let hex = match text.strip_prefix("0b") {
        Some(bits) if bits.len().is_multiple_of(4) && !bits.is_empty() => {
            let digit = |four: &[u8]| four.iter().try_fold(0, |n, b| matches!(b, b'0' | b'1').then(|| n * 2 + u32::from(b - b'0')));
            let digits: Option<String> = bits.as_bytes().chunks(4).map(|four| char::from_digit(digit(four)?, 16)).collect();
            format!("0x{}", digits.ok_or_else(|| err!(Metadata, "found {}, expected \"0b\" and digits 0 and 1", brief(value)))?)
        }
        Some(_) => bail!(Metadata, "found {}, expected \"0b\" and a digit for each bit", brief(value)),
        None => text.to_string(),
    };
    match (hex.strip_prefix("0x"), dtype.as_str().is_some_and(|d| d.starts_with("|V"))) {
        (Some(digits), true) if digits.is_ascii() => {
            let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok().filter(|_| two.len() == 2);
            let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
            Ok(bytes.ok_or_else(|| err!(Metadata, "found {}, expected \"0x\" and two digits for each byte", brief(value)))?.into())
        }
        _ => Ok(hex.into()),
    }
}

/// Of the one storage transformer that is known, how many chunks a shard has along each dimension.
fn chunks_per_shard(document: &Map, rank: usize) -> Result<Option<Dims>> {
    let list = match document.get("storage_transformers") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) => list,
        Some(other) => bail!(Metadata, "found {}, expected a list", brief(other)),
    };
    let transformer = match list.as_slice() {
        [] => return Ok(None),
        [Value::Object(transformer)] => transformer,
        [other] => bail!(Metadata, "found {}, expected an object", brief(other)),
        _ => bail!(Unsupported, "found {} storage transformers, expected one at most", list.len()),
    };
    let known = |name: &str| transformer.get(name).and_then(Value::as_str).unwrap_or_default();
    if known("extension") != format!("{AUTHORITY}storage_transformers/sharding/1.0") || known("type") != "indexed" {
        let name = |n: &str| brief(transformer.get(n).unwrap_or(&Value::Null));
        let e = err!(Extension, "the storage transformer {} of type {} is not known; sharding 1.0 is", name("extension"), name("type"));
        return Err(e.at_field("[0]"));
    }
    let at = |e: Error| e.at_field("[0].configuration.chunks_per_shard");
    let value = transformer.get("configuration").and_then(|c| c.get("chunks_per_shard")).unwrap_or(&Value::Null);
    let mut per_shard = extents(value).map_err(at)?;
    // zarr-python 2 makes one chunk of a scalar a list of one 1.
    if rank == 0 && per_shard.as_slice() == [1] {
        per_shard.clear();
    }
    if per_shard.len() != rank || per_shard.contains(&0) {
        return Err(at(err!(Metadata, "found {}, expected a positive integer for each of {rank} dimensions", brief(value))));
    }
    Ok(Some(per_shard))
}

/// Chunks become the inner chunks of shards: an index at the end, without a checksum.
fn shard(meta: &mut ArrayMeta, per_shard: &[u64]) -> Result<()> {
    let rank = meta.shape.len();
    let chunk: Dims = (0..rank).map(|d| meta.grid.extent(d, 0)).collect();
    let shape: Option<Dims> = chunk.iter().zip(per_shard).map(|(c, n)| c.checked_mul(*n).filter(|&n| n <= i64::MAX as u64)).collect();
    let shape = shape.ok_or_else(|| err!(Limit, "shards of {per_shard:?} chunks of shape {chunk:?} exceed the limit of 2^63 - 1"))?;
    let inner = codecs_to_v3::codecs(&meta.codecs, meta.data_type, rank)?;
    let configuration = json!({
        "chunk_shape": chunk.to_vec(),
        "codecs": inner.iter().map(Extension::to_v3).collect::<Vec<_>>(),
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_location": "end",
    });
    let Value::Object(configuration) = configuration else { return Ok(()) };
    meta.codecs = Codecs::V3(vec![Extension::new("sharding_indexed", configuration)]);
    meta.grid = Grid::regular(shape)?;
    Ok(())
}

/// The model of an array's `zarr.json`, final or of the draft d2. GDAL up to 3.10 and zarrita.js leave out the codec that makes bytes, where that is
/// `bytes` with "little": such a document is final but for that.
pub fn array_from_v3(document: Map) -> Result<ArrayMeta> {
    let Some(normal) = final_forms(&document, true) else { return super::v3::array_from(document) };
    let dialect = if final_forms(&document, false).is_some() { Dialect::D2 } else { Dialect::Final };
    Ok(ArrayMeta { dialect, document, ..super::v3::array_from(normal)? })
}

/// Whether the document of an array of version 3 has other forms than those of the specification, or leaves something out.
pub fn is_odd(document: &Map) -> bool {
    final_forms(document, true).is_some()
}

/// The document of a d2 array in the forms of the specification; `None` where it has them already.
///
/// d2 forms: no `node_type`; no `chunk_key_encoding` (default); a codec called `endian`, with `type` in the place of `name`; `order`
/// "C" or "F" of `transpose`; `shuffle` of `blosc` as null, "byte", "bit" or a number. With `bytes`, the codec of that name is put where it is left
/// out, and elements have one byte or are numbers.
fn final_forms(document: &Map, bytes: bool) -> Option<Map> {
    let rank = document.get("shape").and_then(Value::as_array).map_or(0, <[Value]>::len);
    let data_type = || crate::dtype::parse_v3::parse(document.get("data_type")?).ok();
    let of = Of { data_type: &data_type, bytes };
    let no_type = !document.contains_key("node_type") && document.contains_key("shape");
    let (no_keys, codecs) = (!document.contains_key("chunk_key_encoding"), document.get("codecs"));
    let no_codecs = codecs.is_none() && bytes;
    let codecs = codecs.map_or(Some(&[][..]), |codecs| codecs.as_array());
    let codecs = codecs.and_then(|list| final_codecs(list, rank, of, 0));
    if !(no_type || no_keys || no_codecs || codecs.is_some()) {
        return None;
    }
    let mut out = document.clone();
    if no_type {
        out.insert("node_type".into(), "array".into());
    }
    if no_keys {
        out.insert("chunk_key_encoding".into(), json!({"name": "default", "configuration": {"separator": "/"}}));
    }
    if let Some(codecs) = codecs {
        out.insert("codecs".into(), codecs);
    } else if no_codecs {
        out.insert("codecs".into(), json!([]));
    }
    Some(out)
}

/// What a list of codecs is of.
#[derive(Clone, Copy)]
struct Of<'a> {
    /// The data type, where it is known; it is seldom asked for.
    data_type: &'a dyn Fn() -> Option<DataType>,
    /// The codec that makes bytes is put where it is left out.
    bytes: bool,
}

/// Whether a list of version 3 has no codec that makes bytes of elements, but transposes and codecs of which it is known that they take bytes.
pub(super) fn lacks_bytes<'a>(codecs: impl Iterator<Item = &'a Value>) -> bool {
    let mut rest = codecs.skip_while(|codec| name(codec) == Some("transpose"));
    rest.all(|codec| matches!(name(codec), Some("gzip" | "zstd" | "blosc" | "crc32c")))
}

/// The codec `bytes` for little-endian elements; `None` where other elements may be meant, or another codec.
fn little(data_type: DataType) -> Option<Value> {
    let is_number = matches!(data_type.kind(), Kind::Bool | Kind::Int | Kind::UInt | Kind::Float | Kind::Complex);
    match data_type {
        t if t.is_variable() => None,
        t if t.swap_unit() == 1 => Some(json!({"name": "bytes"})),
        DataType::Registered(_) => None,
        _ => is_number.then(|| json!({"name": "bytes", "configuration": {"endian": "little"}})),
    }
}

/// The name of a codec, which is an object or only a name.
fn name(codec: &Value) -> Option<&str> {
    codec.as_str().or_else(|| codec.get("name")?.as_str())
}

/// A list of codecs in the forms of the specification; `None` if it has them.
fn final_codecs(list: &[Value], rank: usize, of: Of<'_>, depth: usize) -> Option<Value> {
    let turned = list.iter().enumerate().filter_map(|(i, codec)| match codec {
        Value::Object(codec) => final_codec(codec, rank, of, depth).map(|new| (i, Value::Object(new))),
        Value::String(name) if name == "endian" => Some((i, "bytes".into())),
        _ => None,
    });
    // Of most lists none.
    let turned: Vec<(usize, Value)> = turned.collect();
    let new = |i| turned.binary_search_by_key(&i, |(at, _)| *at).ok().map(|found| &turned[found].1);
    let codecs = || list.iter().enumerate().map(|(i, old)| new(i).unwrap_or(old));
    let transposes = codecs().take_while(|c| name(c) == Some("transpose")).count();
    let bytes = if of.bytes && lacks_bytes(codecs()) { (of.data_type)().and_then(little) } else { None };
    if bytes.is_none() && turned.is_empty() {
        return None;
    }
    Some(codecs().take(transposes).chain(&bytes).chain(codecs().skip(transposes)).cloned().collect())
}

/// Returns a codec in the form of the specification, or `None` if it has that form already.
fn final_codec(codec: &Map, rank: usize, of: Of<'_>, depth: usize) -> Option<Map> {
    let own = codec.get("name");
    let said = own.or_else(|| codec.get("type").filter(|name| name.is_string())).and_then(Value::as_str).unwrap_or_default();
    let name = if said == "endian" { "bytes" } else { said };
    let is_renamed = name != said || own.is_none() && !said.is_empty();
    let configuration = match codec.get("configuration") {
        Some(Value::Object(configuration)) => final_configuration(name, configuration, rank, of, depth),
        _ => None,
    };
    if !is_renamed && configuration.is_none() {
        return None;
    }
    let mut turned = codec.clone();
    if is_renamed {
        if own.is_none() {
            turned.shift_remove("type");
        }
        turned.insert("name".into(), name.into());
    }
    if let Some(configuration) = configuration {
        turned.insert("configuration".into(), configuration.into());
    }
    Some(turned)
}

/// Returns the configuration of the codec `name` in the form of the specification, or `None` if it has that form already.
fn final_configuration(name: &str, old: &Map, rank: usize, of: Of<'_>, depth: usize) -> Option<Map> {
    let mut changes: Vec<(&str, Value)> = Vec::new();
    match name {
        "transpose" => match old.get("order").and_then(Value::as_str) {
            Some("C") => changes.push(("order", (0..rank).collect())),
            Some("F") => changes.push(("order", (0..rank).rev().collect())),
            _ => {}
        },
        "blosc" => {
            let word = match old.get("shuffle") {
                Some(Value::Null) => Some("noshuffle"),
                Some(Value::String(s)) if s == "byte" => Some("shuffle"),
                Some(Value::String(s)) if s == "bit" => Some("bitshuffle"),
                Some(n @ Value::Number(_)) => get_u64(n).ok().and_then(|n| ["noshuffle", "shuffle", "bitshuffle"].get(n as usize).copied()),
                _ => None,
            };
            if let Some(word) = word {
                changes.push(("shuffle", word.into()));
                let missing = if old.contains_key("typesize") { None } else { (of.data_type)() };
                changes.extend(missing.map(|data_type| ("typesize", data_type.size().into())));
            }
        }
        "sharding_indexed" if depth < crate::limits::MAX_SHARD_NESTING => {
            let list = |member, rank, of: Of<'_>| final_codecs(old.get(member)?.as_array()?, rank, of, depth + 1);
            changes.extend(list("codecs", rank, of).map(|list| ("codecs", list)));
            let of = Of { data_type: &|| Some(DataType::UInt64), ..of };
            changes.extend(list("index_codecs", rank + 1, of).map(|list| ("index_codecs", list)));
        }
        _ => {}
    }
    if changes.is_empty() {
        return None;
    }
    let mut configuration = old.clone();
    configuration.extend(changes);
    Some(configuration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::ByteOrder;
    use crate::error::ErrorKind;
    use crate::grid::key::{KeyEncoding, Separator};
    use crate::metadata::{Order, json};

    const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";
    const ARRAY: &str = r#"{"shape":[20,0],"data_type":">f8","chunk_grid":{"type":"regular","chunk_shape":[10,10],"separator":"."},
        "chunk_memory_layout":"F","compressor":{"codec":"https://purl.org/zarr/spec/codec/zlib/1.0","configuration":{"level":2}},
        "fill_value":"NaN","extensions":[],"attributes":{"a":1}}"#;
    const FINAL: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4,6],"data_type":"int16",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,3]}},"chunk_key_encoding":{"name":"default"},
        "fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"big"}}]}"#;

    fn object(text: &str) -> Map {
        json::parse_object(text.as_bytes(), 1 << 20).unwrap()
    }

    fn entry(edit: &[(&str, &str)]) -> Result<EntryPoint> {
        let mut document = object(&format!(r#"{{"zarr_format":"{CORE}","metadata_encoding":"{CORE}","metadata_key_suffix":".json"}}"#));
        for (name, value) in edit {
            document.insert((*name).into(), json::parse_text(value).unwrap());
        }
        assert!(is_entry(&document));
        EntryPoint::from_document(&document)
    }

    /// The document with some members changed (`""`: gone).
    fn edited(text: &str, edit: &[(&str, &str)]) -> Map {
        let mut document = object(text);
        for (name, value) in edit {
            match *value {
                "" => drop(document.shift_remove(name)),
                value => drop(document.insert((*name).into(), json::parse_text(value).unwrap())),
            }
        }
        document
    }

    fn read(edit: &[(&str, &str)]) -> Result<ArrayMeta> {
        array_from(edited(ARRAY, edit))
    }

    #[test]
    fn entry_points_tell_the_dialect() {
        assert_eq!(entry(&[]).unwrap().suffix, ".json");
        assert_eq!(entry(&[("metadata_key_suffix", "\"\"")]).unwrap().suffix, "");
        assert_eq!(entry(&[("metadata_key_suffix", "\".v3\""), ("extensions", r#"[{"must_understand":false}]"#)]).unwrap().suffix, ".v3");
        let other = |path: &str| format!("\"https://purl.org/zarr/spec/{path}\"");
        let cases: &[(&str, &str, ErrorKind, &str)] = &[
            ("zarr_format", &other("core/3.0"), ErrorKind::Unsupported, "(d1)"),
            ("metadata_encoding", r#"{"type":"json"}"#, ErrorKind::Unsupported, "(d1)"),
            ("zarr_format", &other("protocol/core/4.0"), ErrorKind::Unsupported, "another version"),
            ("zarr_format", &other("protocol/core/2.0"), ErrorKind::Unsupported, "another version"),
            ("zarr_format", &other("protocol/store/3.0"), ErrorKind::Unsupported, "protocol/store"),
            ("zarr_format", &other(""), ErrorKind::Unsupported, "zarr_format"),
            ("metadata_encoding", "\"https://example.org/cbor\"", ErrorKind::Unsupported, "metadata_encoding"),
            ("metadata_key_suffix", "\"/x\"", ErrorKind::Metadata, "metadata_key_suffix"),
            ("metadata_key_suffix", "1", ErrorKind::Metadata, "metadata_key_suffix"),
            ("extensions", r#"[{"extension":"https://example.org/e","must_understand":true}]"#, ErrorKind::Extension, "example.org/e"),
            ("extensions", r#"[{"extension":"e"}]"#, ErrorKind::Extension, "extensions[0]"),
            ("extensions", "[1]", ErrorKind::Metadata, "extensions[0]"),
            ("extensions", "{}", ErrorKind::Metadata, "extensions"),
        ];
        for (name, value, kind, text) in cases {
            let e = entry(&[(name, value)]).unwrap_err();
            assert_eq!(e.kind(), *kind, "{name} {value}: {e}");
            assert!(e.to_string().contains(text), "{name} {value}: {e}");
        }
        assert!(!is_entry(&object(FINAL)));
    }

    #[test]
    fn a_d0_array_is_read() {
        let meta = read(&[]).unwrap();
        assert_eq!((meta.format, meta.dialect, meta.data_type), (Format::V3, Dialect::D0, DataType::Float64));
        assert_eq!((meta.shape.as_slice(), meta.keys), ([20, 0].as_slice(), KeyEncoding::V2(Separator::Dot)));
        let Codecs::V2 { order, element, filters, compressor } = &meta.codecs else { panic!() };
        assert_eq!((*order, element.order, filters.len()), (Order::F, ByteOrder::Big, 0));
        let compressor = compressor.as_ref().unwrap();
        assert_eq!((compressor.name.as_str(), compressor.configuration["level"].to_string()), ("zlib", "2".into()));
        assert!(meta.document.contains_key("chunk_memory_layout"));
    }

    #[test]
    fn d0_data_types() {
        let extension = |uri: &str, dtype: &str, fallback: &str| format!(r#"{{"extension":"{uri}","type":{dtype},"fallback":{fallback}}}"#);
        let cases: &[(&str, DataType)] = &[
            ("\"bool\"", DataType::Bool),
            ("\"i1\"", DataType::Int8),
            ("\"u1\"", DataType::UInt8),
            ("\"<u4\"", DataType::UInt32),
            ("\"r24\"", DataType::Raw(3)),
            (&extension(&format!("{UNNAMED}unicode"), "\">U4\"", "null"), DataType::Text(4)),
            (&extension(&format!("{UNNAMED}structured"), r#"[["","|V3"]]"#, "null"), DataType::Raw(3)),
            (&extension("https://zarr-specs.readthedocs.io/en/x/complex", "\"<c8\"", "null"), DataType::Complex64),
            (&extension("https://example.org/t", "\"fixed-point\"", "\"<i2\""), DataType::Int16),
            (&extension("https://example.org/t", r#"{"any":1}"#, "\"r16\""), DataType::Raw(2)),
        ];
        for (value, want) in cases {
            assert_eq!(read(&[("data_type", value), ("fill_value", "null")]).unwrap().data_type, *want, "{value}");
        }
        let refused: &[(&str, ErrorKind)] = &[
            ("\"<i3\"", ErrorKind::Metadata),
            ("\"r12\"", ErrorKind::Metadata),
            ("\"r0\"", ErrorKind::Metadata),
            ("\"f8\"", ErrorKind::Metadata),
            ("7", ErrorKind::Metadata),
            ("{}", ErrorKind::Metadata),
            (&extension("https://example.org/t", "\"<i2\"", "null"), ErrorKind::Extension),
            (&extension("https://example.org/t", "\"x\"", r#"["<i2"]"#), ErrorKind::Unsupported),
        ];
        for (value, kind) in refused {
            let e = read(&[("data_type", value), ("fill_value", "null")]).unwrap_err();
            assert_eq!(e.kind(), *kind, "{value}: {e}");
            assert!(e.field().unwrap().starts_with("data_type"), "{value}: {e}");
        }
    }

    #[test]
    fn d0_fill_values() {
        let bits = |x: f64| x.to_bits();
        let cases: &[(&str, u64)] = &[
            ("0.5", bits(0.5)),
            ("\"+Infinity\"", bits(f64::INFINITY)),
            ("\"Infinity\"", bits(f64::INFINITY)),
            ("\"-Infinity\"", bits(f64::NEG_INFINITY)),
            ("\"0x7ff0000000000000\"", bits(f64::INFINITY)),
            ("\"0b0111111111110000000000000000000000000000000000000000000000000000\"", bits(f64::INFINITY)),
            ("null", 0),
        ];
        for (value, want) in cases {
            let fill = read(&[("fill_value", value)]).unwrap().fill;
            assert_eq!((&fill.value[..8], fill.defined), (want.to_ne_bytes().as_slice(), *value != "null"), "{value}");
        }
        let raw = read(&[("data_type", "\"r24\""), ("fill_value", "\"0x0102ff\"")]).unwrap().fill;
        assert_eq!(&raw.value[..3], [1, 2, 255]);
        for value in ["\"0b012\"", "\"0b0112\"", "\"0x\"", "\"0xg\"", "[1, 2]"] {
            assert_eq!(read(&[("fill_value", value)]).unwrap_err().field(), Some("fill_value"), "{value}");
        }
        assert!(read(&[("data_type", "\"i1\"")]).is_err());
    }

    #[test]
    fn d0_forms_that_are_tolerated() {
        let cases: &[&[(&str, &str)]] = &[
            &[("compressor", "null")],
            &[("compressor", "")],
            &[("storage_transformers", "[]")],
            &[("extensions", "")],
            &[("attributes", "null")],
            &[("dimension_separator", "\".\"")],
            &[("chunk_grid", r#"{"type":"regular","chunk_shape":[10,0],"separator":null}"#)],
            &[("compressor", r#"{"codec":"https://purl.org/zarr/spec/codecs/gzip/1.0"}"#)],
        ];
        for edit in cases {
            assert!(read(edit).is_ok(), "{edit:?}");
        }
        let no_separator = read(&[("chunk_grid", r#"{"type":"regular","chunk_shape":[10,10]}"#)]).unwrap();
        assert_eq!(no_separator.keys, KeyEncoding::V2(Separator::Slash));
    }

    #[test]
    fn d0_forms_that_are_refused_have_their_kind_and_field() {
        use ErrorKind::*;
        let cases: &[(&str, &str, ErrorKind, &str)] = &[
            ("shape", "", Metadata, "shape"),
            ("data_type", "", Metadata, "data_type"),
            ("chunk_grid", "", Metadata, "chunk_grid"),
            ("chunk_grid", r#"{"type":"hexagonal","chunk_shape":[1,1]}"#, Unsupported, "chunk_grid.type"),
            ("chunk_grid", r#"{"type":"regular","chunk_shape":[1]}"#, Metadata, "chunk_grid.chunk_shape"),
            ("chunk_grid", r#"{"type":"regular","chunk_shape":[0,1]}"#, Metadata, "chunk_grid.chunk_shape"),
            ("chunk_grid", r#"{"type":"regular","chunk_shape":[1,1],"separator":"-"}"#, Metadata, "chunk_grid.separator"),
            ("chunk_memory_layout", "\"K\"", Metadata, "chunk_memory_layout"),
            ("compressor", "{}", Metadata, "compressor.codec"),
            ("compressor", "\"gzip\"", Metadata, "compressor"),
            ("extensions", r#"[{"extension":"e","must_understand":true}]"#, Extension, "extensions[0]"),
            ("storage_transformers", r#"[{"extension":"https://example.org/encrypt","type":"aes"}]"#, Extension, "storage_transformers[0]"),
            ("storage_transformers", "[{},{}]", Unsupported, "storage_transformers"),
            ("attributes", "[]", Metadata, "attributes"),
        ];
        for (name, value, kind, field) in cases {
            let e = read(&[(name, value)]).expect_err(name);
            assert_eq!((e.kind(), e.field()), (*kind, Some(*field)), "{name} {value}: {e}");
        }
    }

    #[test]
    fn filters_of_zarr_python_2_are_among_the_attributes() {
        let count = |attributes: &str| match read(&[("attributes", attributes)]).unwrap().codecs {
            Codecs::V2 { filters, .. } => filters.len(),
            Codecs::V3(_) => panic!(),
        };
        assert_eq!(count(r#"{"filters":[{"id":"delta","dtype":">f8"}]}"#), 1);
        for own in [r#"{"filters":["red","green"]}"#, r#"{"filters":[]}"#, r#"{"filters":{"id":"delta"}}"#, "{}"] {
            assert_eq!(count(own), 0, "{own}");
        }
    }

    #[test]
    fn draft_shards_become_a_codec() {
        let transformer = |per: &str| {
            format!(
                r#"[{{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"indexed",
                "configuration":{{"chunks_per_shard":{per}}}}}]"#
            )
        };
        let meta = read(&[("storage_transformers", &transformer("[2,3]"))]).unwrap();
        assert_eq!(meta.grid, Grid::regular(Dims::from_slice(&[20, 30])).unwrap());
        let Codecs::V3(codecs) = &meta.codecs else { panic!() };
        let c = &codecs[0].configuration;
        assert_eq!((codecs.len(), codecs[0].name.as_str(), c["chunk_shape"].to_string()), (1, "sharding_indexed", "[10,10]".into()));
        assert_eq!(c["index_codecs"].to_string(), r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#);
        let names: Vec<&str> = c["codecs"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["transpose", "bytes", "numcodecs.zlib"]);
        let scalar = [("shape", "[]"), ("chunk_grid", r#"{"type":"regular","chunk_shape":[]}"#)];
        assert!(read(&[scalar[0], scalar[1], ("storage_transformers", &transformer("[1]"))]).is_ok());
        for per in ["[2]", "[2,0]", "null", "[2,-1]", "[2,9223372036854775807]"] {
            let e = read(&[("storage_transformers", &transformer(per))]).unwrap_err();
            assert!(e.field().unwrap().starts_with("storage_transformers[0]"), "{per}: {e}");
        }
    }

    #[test]
    fn d2_forms_become_final_and_final_ones_stay() {
        assert_eq!(final_forms(&object(FINAL), true), None);
        assert_eq!(array_from_v3(object(FINAL)).unwrap().dialect, Dialect::Final);
        let bytes = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
        let big = |codecs: &str| format!("[{codecs},{bytes}]");
        let blosc = |shuffle: &str| {
            format!(
                r#"[{bytes},{{"name":"blosc","configuration":{{"cname":"lz4","clevel":5,"shuffle":{shuffle},"blocksize":0,"typesize":2}}}}]"#
            )
        };
        let byte = |codecs: &'static str| [("data_type", "\"uint8\""), ("codecs", codecs)];
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[("node_type", "")], "[bytes]"),
            (&[("chunk_key_encoding", "")], "[bytes]"),
            (&[("codecs", r#"[{"name":"endian","configuration":{"endian":"big"}}]"#)], "[bytes]"),
            (&[("codecs", r#"[{"type":"endian","configuration":{"endian":"big"}},{"type":"gzip"}]"#)], "[bytes, gzip]"),
            (&[("codecs", &big(r#"{"name":"transpose","configuration":{"order":"F"}}"#))], "[transpose[1,0], bytes]"),
            (&[("codecs", &big(r#"{"name":"transpose","configuration":{"order":"C"}}"#))], "[transpose[0,1], bytes]"),
            (&[("codecs", &blosc("null"))], "[bytes, blosc\"noshuffle\"]"),
            (&[("codecs", &blosc("\"byte\""))], "[bytes, blosc\"shuffle\"]"),
            (&[("codecs", &blosc("\"bit\""))], "[bytes, blosc\"bitshuffle\"]"),
            (&[("codecs", &blosc("0"))], "[bytes, blosc\"noshuffle\"]"),
            (&[("codecs", &blosc("1"))], "[bytes, blosc\"shuffle\"]"),
            (&[("codecs", &blosc("2"))], "[bytes, blosc\"bitshuffle\"]"),
            (&byte(r#"["endian"]"#), "[bytes]"),
            (&[("node_type", ""), ("codecs", "")], "[bytes]"),
        ];
        for (edit, want) in cases {
            let document = edited(FINAL, edit);
            let meta = array_from_v3(document.clone()).unwrap_or_else(|e| panic!("{edit:?}: {e}"));
            assert_eq!((meta.dialect, &meta.document), (Dialect::D2, &document), "{edit:?}");
            let Codecs::V3(codecs) = &meta.codecs else { panic!() };
            let show = |c: &Extension| {
                let member = c.configuration.get(if c.name == "blosc" { "shuffle" } else { "order" });
                format!("{}{}", c.name, member.map(Value::to_string).unwrap_or_default())
            };
            assert_eq!(format!("[{}]", codecs.iter().map(show).collect::<Vec<_>>().join(", ")), *want, "{edit:?}");
        }
        let meta = array_from_v3(edited(FINAL, &[("codecs", &blosc("\"nibble\""))])).unwrap();
        assert!(crate::metadata::upgrade::array(&meta, Map::new()).is_ok());
    }

    #[test]
    fn the_codec_that_makes_bytes_is_little_endian_where_it_is_left_out() {
        let plain = r#"{"name":"bytes"}"#;
        let little = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        let (gzip, turn) = (r#"{"name":"gzip","configuration":{"level":6}}"#, r#"{"name":"transpose","configuration":{"order":[1,0]}}"#);
        let shards = |inner: &str, index: &str| {
            format!(r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[2,3],"codecs":[{inner}],"index_codecs":[{index}]}}}}"#)
        };
        // The type, the list as it is written, without its brackets (`None`: not at all), and as it is meant.
        let cases: &[(&str, Option<String>, String)] = &[
            ("int16", None, little.into()),
            ("int16", Some(String::new()), little.into()),
            ("uint8", None, plain.into()),
            ("float64", Some(gzip.into()), format!("{little},{gzip}")),
            ("complex64", Some(turn.into()), format!("{turn},{little}")),
            ("bool", Some(format!("{turn},{gzip}")), format!("{turn},{plain},{gzip}")),
            ("int32", Some(shards("", "")), shards(little, little)),
            ("int32", Some(shards(gzip, little)), shards(&format!("{little},{gzip}"), little)),
            // What may mean something else.
            ("string", Some(String::new()), String::new()),
            ("numpy.x", None, String::new()),
            ("int16", Some(r#"{"name":"acme"}"#.into()), r#"{"name":"acme"}"#.into()),
            ("int16", Some(format!("{gzip},{little}")), format!("{gzip},{little}")),
        ];
        for (data_type, written, meant) in cases {
            let list = written.as_ref().map(|list| format!("[{list}]")).unwrap_or_default();
            let fill = if *data_type == "string" { "\"\"" } else { "null" };
            let data_type = format!("\"{data_type}\"");
            let document = edited(FINAL, &[("data_type", &data_type), ("fill_value", fill), ("codecs", &list)]);
            let Ok(meta) = array_from_v3(document.clone()) else {
                assert_eq!(data_type, "\"numpy.x\"");
                continue;
            };
            assert_eq!((meta.dialect, &meta.document), (Dialect::Final, &document), "{data_type} {list}");
            let Codecs::V3(codecs) = &meta.codecs else { panic!() };
            let found: Vec<String> = codecs.iter().map(|codec| codec.to_v3().to_string()).collect();
            assert_eq!(found.join(","), *meant, "{data_type} {list}");
        }
    }

    #[test]
    fn d2_forms_inside_of_shards_become_final_too() {
        let shards = r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,3],
            "codecs":[{"name":"endian","configuration":{"endian":"little"}}],
            "index_codecs":[{"name":"endian","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]"#;
        let Codecs::V3(codecs) = array_from_v3(edited(FINAL, &[("codecs", shards)])).unwrap().codecs else { panic!() };
        let text = Value::Object(codecs[0].configuration.clone()).to_string();
        assert!(!text.contains("\"name\":\"endian\"") && text.matches("\"name\":\"bytes\"").count() == 2, "{text}");
    }

    #[test]
    fn drafts_are_not_written() {
        assert!(Dialect::Final.refuse().is_ok());
        for dialect in [Dialect::D0, Dialect::D2] {
            let e = dialect.refuse().unwrap_err();
            assert_eq!(e.kind(), ErrorKind::ReadOnly);
            assert!(e.message().contains(dialect.draft().unwrap()) && e.message().contains("ozarr migrate"), "{e}");
        }
    }
}
