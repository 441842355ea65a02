//! The table of codecs: a row for each one that becomes a stage, with its id in v2, its names in v3 and its constructor.
//!
//! Codecs that change shapes (`transpose`, `bytes`, `sharding_indexed`) are cases of [`super::parse`]; their names are here too.

use super::build::{ArrayCodec, Built, Constructor, Make};
use super::config::{Config, Style};
use super::rare::{categorize, conditional, fixed_texts, jenkins, objects, packbits};
use super::stage::VariableCodec;
use super::{
    astype, base64, bitround, blosc, bz2, cast_value, checksum, delta, fixed_scale_offset, gzip, lz4, lzma, pcodec, quantize, scale_offset,
    shuffle, vlen, zfp, zlib, zstd,
};
use crate::dtype::{DataType, ElementType};
use crate::error::{Error, Result, bail, err};
use crate::metadata::extension::{Extension, is_bare};
use std::borrow::Cow;
use std::sync::Arc;

struct Row {
    v2: Option<&'static str>,
    v3: &'static [(&'static str, Style)],
    make: Make,
}

/// A bytes→bytes codec whose v3 name is that of numcodecs.
const fn bytes(id: &'static str, v3: &'static [(&'static str, Style)], constructor: Constructor) -> Row {
    Row { v2: Some(id), v3, make: Make::Bytes(constructor) }
}

const fn array(id: &'static str, v3: &'static [(&'static str, Style)], build: fn(&Config<'_>, ElementType) -> Result<ArrayCodec>) -> Row {
    Row { v2: Some(id), v3, make: Make::Array(build) }
}

use Style::{Numcodecs as N, V3};

const TABLE: &[Row] = &[
    bytes("adler32", &[("numcodecs.adler32", N)], checksum::build_adler32),
    bytes("base64", &[], base64::build),
    bytes("blosc", &[("blosc", V3), ("numcodecs.blosc", N)], blosc::build),
    bytes("bz2", &[("numcodecs.bz2", N)], bz2::build),
    bytes("crc32", &[("numcodecs.crc32", N)], checksum::build_crc32),
    bytes("crc32c", &[("crc32c", V3), ("numcodecs.crc32c", N)], checksum::build_crc32c),
    bytes("fletcher32", &[("numcodecs.fletcher32", N)], checksum::build_fletcher32),
    bytes("gzip", &[("gzip", V3), ("numcodecs.gzip", N)], gzip::build),
    bytes("jenkins_lookup3", &[("numcodecs.jenkins_lookup3", N)], jenkins::build),
    bytes("lz4", &[("numcodecs.lz4", N)], lz4::build),
    bytes("lzma", &[("numcodecs.lzma", N)], lzma::build),
    bytes("shuffle", &[("numcodecs.shuffle", N)], shuffle::build),
    bytes("zlib", &[("numcodecs.zlib", N)], zlib::build),
    bytes("zstd", &[("zstd", V3), ("numcodecs.zstd", N)], zstd::build),
    array("astype", &[("numcodecs.astype", N)], astype::build),
    Row { v2: Some("categorize"), v3: &[], make: Make::Bytes(categorize::build) },
    Row { v2: Some("vlen-bytes"), v3: &[], make: Make::Bytes(fixed_texts::build_bytes) },
    Row { v2: Some("vlen-utf8"), v3: &[], make: Make::Bytes(fixed_texts::build_utf8) },
    array("bitround", &[("bitround", V3), ("numcodecs.bitround", N)], bitround::build),
    array("delta", &[("numcodecs.delta", N)], delta::build),
    array("fixedscaleoffset", &[("numcodecs.fixedscaleoffset", N)], fixed_scale_offset::build),
    array("packbits", &[("numcodecs.packbits", N)], packbits::build_numcodecs),
    array("quantize", &[("numcodecs.quantize", N)], quantize::build),
    Row { v2: None, v3: &[("cast_value", V3)], make: Make::Array(cast_value::build) },
    Row { v2: None, v3: &[("conditional", V3)], make: Make::Bytes(build_conditional) },
    Row { v2: None, v3: &[("scale_offset", V3)], make: Make::Array(scale_offset::build) },
    Row { v2: None, v3: &[("packbits", V3)], make: Make::Serial(packbits::build) },
    Row { v2: Some("pcodec"), v3: &[("pcodec", V3), ("numcodecs.pcodec", N)], make: Make::Serial(pcodec::build) },
    Row { v2: Some("zfpy"), v3: &[("numcodecs.zfpy", N)], make: Make::Serial(zfp::build_zfpy) },
    Row { v2: None, v3: &[("zfp", V3), ("zarrs.zfp", V3)], make: Make::Serial(zfp::build) },
];

/// Makes the codec `conditional`, whose codecs are rows of this table.
fn build_conditional(config: &Config<'_>, item: ElementType) -> Result<Built> {
    conditional::build(config, item, |codec, item| {
        let codec = Extension::from_v3(codec)?;
        let name = canonical(&codec.name);
        match find_v3(&name) {
            Some(_) if name == "conditional" => bail!(Unsupported, "conditional codecs inside a conditional one are not supported"),
            Some((Make::Bytes(build), style)) => build(&Config::new(&codec.configuration, style), item).map(Some),
            Some(_) => bail!(Metadata, "{name:?} makes no bytes of bytes, expected a bytes→bytes codec"),
            None if is_ignored(&codec) => Ok(None),
            None => Err(unknown_v3(&codec.name)),
        }
    })
}

/// Whether a v3 codec that the library does not know says that it may be ignored.
pub(super) fn is_ignored(codec: &Extension) -> bool {
    let name = canonical(&codec.name);
    !codec.must_understand && find_v3(&name).is_none() && !is_structural(&name)
}

/// The array→bytes codecs of elements of variable length, in v2 and in v3.
const VARIABLE: &[&str] = &["vlen-utf8", "vlen-bytes", "vlen-array", "zarrs.vlen_v2", "json2", "msgpack2", "categorize"];

/// Whether that is the v3 name of a codec of elements of variable length.
pub(super) fn is_variable(name: &str) -> bool {
    VARIABLE.contains(&name.strip_prefix("numcodecs.").unwrap_or(name)) && name != "categorize"
}

/// The codec of that name for elements of that type, which is of variable length.
pub(super) fn build_variable(name: &str, config: &Config<'_>, data_type: DataType) -> Result<Arc<dyn VariableCodec>> {
    match name.strip_prefix("numcodecs.").unwrap_or(name) {
        "vlen-utf8" | "vlen-bytes" | "vlen-array" | "zarrs.vlen_v2" => vlen::build(name, config, data_type),
        "json2" => objects::build_json(config, data_type),
        "msgpack2" => objects::build_msgpack(data_type),
        "categorize" => categorize::build_objects(config, data_type),
        "pickle" => Err(pickle()),
        _ => Err(err!(Metadata, "found {name:?}, expected a codec of objects: {}", VARIABLE.join(", "))),
    }
}

fn pickle() -> Error {
    err!(Unsupported, "the codec \"pickle\" runs code that is in the data; it is never read or written")
}

/// The v3 names that [`super::parse`] handles itself.
const SHAPES: &[&str] = &["bytes", "endian", "n5_default", "reshape", "sharding_indexed", "transpose", "zarrs.squeeze", "zarrs.vlen"];

/// Returns the name that a v3 codec has here, which may be written as a URL, or without its "numcodecs.". Those of zarrs are of codecs that have since been registered, or
/// got a name with that of their project before it.
pub fn canonical(name: &str) -> Cow<'_, str> {
    if let Some(id) = name.strip_prefix("https://zarr.dev/numcodecs/") {
        return format!("numcodecs.{id}").into();
    }
    if is_bare(name) {
        return format!("numcodecs.{name}").into();
    }
    let Some((_kind, id)) = name.strip_prefix("https://codec.zarrs.dev/").and_then(|rest| rest.split_once('/')) else {
        return name.into();
    };
    let is_known = |name: &String| is_structural(name) || find_v3(name).is_some();
    let names = [id.to_string(), format!("zarrs.{id}"), format!("numcodecs.{id}")];
    names.into_iter().find(is_known).map_or(id.into(), Cow::Owned)
}

/// Whether a name is that of a codec which shapes, not values, are known by: it cannot be replaced.
pub(super) fn is_structural(name: &str) -> bool {
    SHAPES.contains(&name) || is_variable(name)
}

/// Whether the library itself has a codec of that name.
pub(super) fn has_built_in(name: &str) -> bool {
    SHAPES.contains(&name)
        || VARIABLE.contains(&name)
        || TABLE.iter().any(|row| row.v2 == Some(name) || row.v3.iter().any(|(n, _)| *n == name))
}

/// Whether a v3 codec of the library makes bytes of bytes.
pub(super) fn takes_bytes(name: &str) -> bool {
    matches!(find_v3(&canonical(name)), Some((Make::Bytes(_), _)))
}

/// Whether a v3 codec makes fewer bytes of numbers, in the place of `bytes`.
pub fn compresses_numbers(name: &str) -> bool {
    let name = canonical(name);
    name != "packbits" && matches!(find_v3(&name), Some((Make::Serial(_), _)))
}

/// Whether a v3 codec puts a checksum beside bytes.
pub fn is_checksum(name: &str) -> bool {
    let name = canonical(name);
    matches!(name.strip_prefix("numcodecs.").unwrap_or(&name), "adler32" | "crc32" | "crc32c" | "fletcher32" | "jenkins_lookup3")
}

/// How the codec of that v2 id is made. Errors: `Unsupported` for ids that are not known, `Metadata` for codecs of elements of variable
/// length.
pub(super) fn find_v2(id: &str, item: ElementType) -> Result<Make> {
    match TABLE.iter().find(|row| row.v2 == Some(id)) {
        Some(row) => Ok(row.make),
        None if id == "pickle" => Err(pickle()),
        None if VARIABLE.contains(&id) => {
            let found = item.data_type.name();
            // numcodecs encodes elements of one size by these, too.
            if matches!(id, "json2" | "msgpack2") {
                bail!(
                    Unsupported,
                    "{id:?} of elements of {found} is not supported; of elements of variable length (\"dtype\": \"|O\") it is"
                );
            }
            Err(err!(Metadata, "{id:?} takes elements of variable length (\"dtype\": \"|O\"), found {found}"))
        }
        None => Err(unknown(id, TABLE.iter().filter_map(|row| row.v2).chain(VARIABLE.iter().copied()))),
    }
}

/// How the v3 codec of that canonical name is made, and whose conventions its configuration follows.
pub(super) fn find_v3(name: &str) -> Option<(Make, Style)> {
    TABLE.iter().find_map(|row| row.v3.iter().find(|(n, _)| *n == name).map(|(_, style)| (row.make, *style)))
}

/// The error for a v3 name that nothing here knows.
pub(super) fn unknown_v3(name: &str) -> Error {
    let variable = ["vlen-utf8", "vlen-bytes"];
    unknown(name, SHAPES.iter().copied().chain(variable).chain(TABLE.iter().flat_map(|row| row.v3.iter().map(|(n, _)| *n))))
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    known.dedup();
    err!(Unsupported, "the codec {name:?} is not known; known are {}", known.join(", "))
}
