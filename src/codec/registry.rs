//! Names of codecs to their constructors, and the small tools that every codec's file uses.
//!
//! A row for each codec that becomes a stage: its id in v2, its names in v3, its constructor. Codecs that change shapes
//! (`transpose`, `bytes`, `sharding_indexed`) are cases of [`super::chain`]; their names are here too.

use super::filters::{self, Kernel};
use super::{
    Dest, Size, StageRef, VariableCodec, base64, bitround, blosc, bz2, cast, categorize, checksum, conditional, foreign, gzip, lz4, lzma,
    objects, packbits, pcodec, scale, vlen, zfp, zlib, zstd,
};
use crate::dtype::{DataType, ElementType};
use crate::error::{Error, Result, bail, err};
use crate::limits;
use crate::metadata::{Map, Value, json::brief};

/// Whose conventions a configuration follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// v2: numcodecs parameters beside the id.
    V2,
    /// v3: a registered codec.
    V3,
    /// v3: `numcodecs.…`, with numcodecs parameters as its configuration.
    Numcodecs,
}

/// The configuration of one codec. Members that are null count as missing; unknown members are ignored.
#[derive(Clone, Copy)]
pub(super) struct Config<'a> {
    map: &'a Map,
    /// Whose conventions it follows.
    pub style: Style,
}

impl<'a> Config<'a> {
    /// A configuration of that style.
    pub fn new(map: &'a Map, style: Style) -> Config<'a> {
        Config { map, style }
    }

    /// The configuration of a registered v3 codec.
    #[cfg(test)]
    pub fn v3(map: &'a Map) -> Config<'a> {
        Config::new(map, Style::V3)
    }

    /// Where the member is, seen from the codec's object.
    pub fn path(&self, name: &str) -> String {
        if self.style == Style::V2 { name.into() } else { format!("configuration.{name}") }
    }

    /// An error of kind `Metadata` about that member.
    pub fn error(&self, name: &str, message: String) -> Error {
        err!(Metadata, "{message}").at_field(self.path(name))
    }

    /// The member, if it is there and not null.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|v| !v.is_null())
    }

    /// Refuses members of any other name, even if they are null.
    pub fn only(&self, names: &[&str]) -> Result<()> {
        match self.map.keys().find(|k| !names.contains(&k.as_str())) {
            None => Ok(()),
            Some(other) => Err(self.error(other, format!("an unknown member, expected {}", names.join(", ")))),
        }
    }

    /// An integer between `low` and `high`; `default` where it is missing.
    pub fn int(&self, name: &str, low: i64, high: i64, default: i64) -> Result<i64> {
        match self.get(name) {
            None => Ok(default),
            Some(v) => match self.number(v).filter(|n| (low..=high).contains(n)) {
                Some(n) => Ok(n),
                None => Err(self.error(name, format!("found {}, expected an integer from {low} to {high}", brief(v)))),
            },
        }
    }

    /// An integer; in v2 one writer puts them into texts (HD-14).
    fn number(&self, value: &Value) -> Option<i64> {
        match value {
            Value::String(text) if self.style == Style::V2 => text.parse().ok(),
            other => other.as_i64(),
        }
    }

    /// True or false; `default` where it is missing.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(b)) => Ok(*b),
            Some(v) => Err(self.error(name, format!("found {}, expected true or false", brief(v)))),
        }
    }

    /// A string, if it is there.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(s)) => Ok(Some(s)),
            Some(v) => Err(self.error(name, format!("found {}, expected a string", brief(v)))),
        }
    }
}

/// The elements of plain bytes.
pub(super) const BYTES: ElementType = ElementType { data_type: DataType::UInt8, order: crate::dtype::ByteOrder::NATIVE };

/// A stage, and what leaves it when encoding.
pub(super) struct Built {
    /// The stage.
    pub stage: StageRef,
    /// The elements of the buffer after it; [`BYTES`] where it makes plain bytes.
    pub item: ElementType,
}

impl Built {
    /// A stage that makes plain bytes.
    pub fn bytes(stage: impl super::Stage + 'static) -> Built {
        Built { stage: std::sync::Arc::new(stage), item: BYTES }
    }
}

/// Makes a stage from its configuration and the elements of the buffer that enters it ([`BYTES`] for plain bytes).
type Constructor = fn(&Config<'_>, ElementType) -> Result<Built>;

/// How a codec is made. v2 knows no classes: there, each is a stage at its place.
#[derive(Clone, Copy)]
pub(super) enum Make {
    /// v3: bytes→bytes.
    Bytes(Constructor),
    /// v3: array→bytes, over the elements in native order.
    Serial(Constructor),
    /// v3: array→array, changing values but no shape.
    Array(fn(&Config<'_>, ElementType) -> Result<Kernel>),
}

struct Row {
    v2: Option<&'static str>,
    v3: &'static [(&'static str, Style)],
    make: Make,
}

/// A bytes→bytes codec whose v3 name is that of numcodecs.
const fn bytes(id: &'static str, v3: &'static [(&'static str, Style)], constructor: Constructor) -> Row {
    Row { v2: Some(id), v3, make: Make::Bytes(constructor) }
}

const fn array(id: &'static str, v3: &'static [(&'static str, Style)], kernel: fn(&Config<'_>, ElementType) -> Result<Kernel>) -> Row {
    Row { v2: Some(id), v3, make: Make::Array(kernel) }
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
    bytes("jenkins_lookup3", &[("numcodecs.jenkins_lookup3", N)], checksum::build_jenkins),
    bytes("lz4", &[("numcodecs.lz4", N)], lz4::build),
    bytes("lzma", &[("numcodecs.lzma", N)], lzma::build),
    bytes("shuffle", &[("numcodecs.shuffle", N)], filters::build_shuffle),
    bytes("zlib", &[("numcodecs.zlib", N)], zlib::build),
    bytes("zstd", &[("zstd", V3), ("numcodecs.zstd", N)], zstd::build),
    array("astype", &[("numcodecs.astype", N)], filters::astype),
    Row { v2: Some("categorize"), v3: &[], make: Make::Bytes(categorize::build) },
    array("bitround", &[("bitround", V3), ("numcodecs.bitround", N)], bitround::kernel),
    array("delta", &[("numcodecs.delta", N)], filters::delta),
    array("fixedscaleoffset", &[("numcodecs.fixedscaleoffset", N)], scale::fixed_scale_offset),
    array("packbits", &[("numcodecs.packbits", N)], packbits::kernel),
    array("quantize", &[("numcodecs.quantize", N)], scale::quantize),
    Row { v2: None, v3: &[("cast_value", V3)], make: Make::Array(cast::kernel) },
    Row { v2: None, v3: &[("conditional", V3)], make: Make::Bytes(conditional::build) },
    Row { v2: None, v3: &[("scale_offset", V3)], make: Make::Array(scale::scale_offset) },
    Row { v2: None, v3: &[("packbits", V3)], make: Make::Serial(packbits::build) },
    Row { v2: Some("pcodec"), v3: &[("pcodec", V3), ("numcodecs.pcodec", N)], make: Make::Serial(pcodec::build) },
    Row { v2: Some("zfpy"), v3: &[("numcodecs.zfpy", N)], make: Make::Serial(zfp::build_zfpy) },
    Row { v2: None, v3: &[("zfp", V3), ("zarrs.zfp", V3)], make: Make::Serial(zfp::build) },
];

/// The array→bytes codecs of elements of variable length, in v2 and in v3.
const VARIABLE: &[&str] = &["vlen-utf8", "vlen-bytes", "vlen-array", "json2", "msgpack2", "categorize"];

/// Whether that is the v3 name of a codec of elements of variable length.
pub(super) fn is_variable(name: &str) -> bool {
    VARIABLE.contains(&name.strip_prefix("numcodecs.").unwrap_or(name)) && name != "categorize"
}

/// The codec of that name for elements of that type, which is of variable length.
pub(super) fn build_variable(name: &str, config: &Config<'_>, data_type: DataType) -> Result<std::sync::Arc<dyn VariableCodec>> {
    match name.strip_prefix("numcodecs.").unwrap_or(name) {
        "vlen-utf8" | "vlen-bytes" | "vlen-array" => vlen::build(name, config, data_type),
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

/// The v3 names that [`super::chain`] handles itself.
const SHAPES: &[&str] = &["bytes", "endian", "n5_default", "reshape", "sharding_indexed", "transpose", "zarrs.squeeze", "zarrs.vlen"];

/// The registered name of a v3 codec that may be written as a URL.
pub(super) fn canonical(name: &str) -> String {
    if let Some(id) = name.strip_prefix("https://zarr.dev/numcodecs/") {
        return format!("numcodecs.{id}");
    }
    match name.strip_prefix("https://codec.zarrs.dev/").and_then(|rest| rest.split_once('/')) {
        Some((_kind, id)) => id.into(),
        None => name.into(),
    }
}

/// Whether a codec of that name can be used, in v2 or in v3.
pub fn has(name: &str) -> bool {
    let name = canonical(name);
    has_built_in(&name) || foreign::find_v3(&name).is_some() || foreign::find_v2(&name).is_some()
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

/// Whether a v3 codec makes bytes of bytes.
pub fn takes_bytes(name: &str) -> bool {
    matches!(find_v3(&canonical(name)), Some((Make::Bytes(_), _)))
}

/// The stage of a v2 filter or compressor.
pub(super) fn build_v2(id: &str, configuration: &Map, item: ElementType) -> Result<Built> {
    if let Some(codec) = foreign::find_v2(id) {
        return foreign::build(id, &*codec, configuration, true, item);
    }
    let config = Config::new(configuration, Style::V2);
    match TABLE.iter().find(|row| row.v2 == Some(id)).map(|row| row.make) {
        Some(Make::Bytes(build) | Make::Serial(build)) => build(&config, item),
        Some(Make::Array(kernel)) => kernel(&config, item).map(|kernel| kernel.built()),
        None if id == "pickle" => Err(pickle()),
        None if VARIABLE.contains(&id) => {
            bail!(Metadata, "{id:?} takes elements of variable length (\"dtype\": \"|O\"), found {}", item.data_type.name())
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
    err!(Unsupported, "the codec {name:?} is not known; known are {}", known.join(", "))
}

/// The bound on the encoded size that compressors state. Looser than any one library's own, because the bytes may come
/// from another writer; it only bounds what a damaged chunk can make the library allocate.
pub(super) fn compressed_size(decoded: Size) -> Size {
    let n = decoded.max();
    Size::AtMost(n.saturating_add(n / 4).saturating_add(1 << 16))
}

/// A decoded size that differs from what is expected.
#[cold]
pub(super) fn wrong_size(found: usize, expected: usize) -> Error {
    err!(Chunk, "decoded to {found} bytes, expected {expected}")
}

/// A decoded size that exceeds what is expected.
#[cold]
pub(super) fn too_large(dest: &Dest<'_>) -> Error {
    match dest {
        Dest::Exact(d) => err!(Chunk, "decodes to more than {0} bytes, expected {0}", d.len()),
        Dest::AtMost(_, max) => err!(Chunk, "decodes to more than {max} bytes, the most that was expected"),
    }
}

/// Decodes where the size is known before: `fill` gets exactly `n` bytes to write.
pub(super) fn decode_known(dest: Dest<'_>, n: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
    match dest {
        Dest::Exact(d) if d.len() == n => fill(d),
        Dest::Exact(d) => Err(wrong_size(n, d.len())),
        Dest::AtMost(_, max) if n > max => Err(err!(Chunk, "decoded to {n} bytes, expected at most {max}")),
        Dest::AtMost(buf, _) => {
            let done = limits::grow(buf, n).and_then(fill);
            buf.truncate(if done.is_ok() { n } else { 0 });
            done
        }
    }
}

/// Decodes where the size may be unknown: `attempt` writes to the front of what it gets and says how many bytes, or `None`
/// where the room is too small. A destination that can grow starts at `hint` bytes and doubles up to its limit.
pub(super) fn decode_growing(dest: Dest<'_>, hint: usize, mut attempt: impl FnMut(&mut [u8]) -> Result<Option<usize>>) -> Result<()> {
    let (buf, max) = match dest {
        Dest::Exact(d) => {
            let expected = d.len();
            return match attempt(d)? {
                Some(n) if n == expected => Ok(()),
                Some(n) => Err(wrong_size(n, expected)),
                None => Err(too_large(&Dest::Exact(d))),
            };
        }
        Dest::AtMost(buf, max) => (buf, max),
    };
    let mut room = hint.max(1 << 12).min(max);
    loop {
        let done = limits::grow(buf, room).and_then(&mut attempt);
        match done {
            Ok(Some(n)) => {
                buf.truncate(n);
                return Ok(());
            }
            Ok(None) if room < max => room = room.saturating_mul(2).min(max),
            Ok(None) => {
                buf.clear();
                bail!(Chunk, "decodes to more than {max} bytes, the most that was expected");
            }
            Err(e) => {
                buf.clear();
                return Err(e);
            }
        }
    }
}

/// What one step of a streaming codec did.
pub(super) struct Step {
    /// Bytes taken.
    pub used: usize,
    /// Bytes written.
    pub made: usize,
    /// Whether the stream is at its end.
    pub end: bool,
}

/// Decodes one stream at the start of `src` to the front of `out`, step by step: the bytes used and made, or `None` where the
/// room is too small. A step that does nothing means that the stream is cut.
pub(super) fn decode_stream(
    name: &str,
    src: &[u8],
    out: &mut [u8],
    mut step: impl FnMut(&[u8], &mut [u8]) -> Result<Step>,
) -> Result<Option<(usize, usize)>> {
    let (mut used, mut made, mut spill) = (0, 0, [0]);
    loop {
        let room = out.get_mut(made..).unwrap_or_default();
        let full = room.is_empty();
        // The end of a stream may come after its last byte is there: one byte of room tells it from more bytes.
        let done = step(src.get(used..).unwrap_or_default(), if full { &mut spill } else { room })?;
        if full && done.made > 0 {
            return Ok(None);
        }
        (used, made) = (used + done.used, made + done.made);
        if done.end {
            return Ok(Some((used, made)));
        }
        if done.used == 0 && done.made == 0 {
            bail!(Truncated, "the {name} stream ends early ({} bytes)", src.len());
        }
    }
}

/// Encodes all of `src` as one stream; room for that many bytes more than `src` has is made first, and more when it is needed.
pub(super) fn encode_stream(
    src: &[u8],
    dst: &mut Vec<u8>,
    overhead: usize,
    mut step: impl FnMut(&[u8], &mut [u8]) -> Result<Step>,
) -> Result<()> {
    let (mut used, mut made) = (0, 0);
    let mut room = src.len().saturating_add(overhead);
    loop {
        let out = limits::grow(dst, room)?;
        let done = step(src.get(used..).unwrap_or_default(), out.get_mut(made..).unwrap_or_default())?;
        (used, made) = (used + done.used, made + done.made);
        if done.end {
            dst.truncate(made);
            return Ok(());
        }
        if made == room {
            room = room.saturating_mul(2);
        } else if done.used == 0 && done.made == 0 {
            bail!(Internal, "the encoder stopped after {used} of {} bytes", src.len());
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    pub(in crate::codec) use super::BYTES;
    use super::*;
    use crate::codec::Stage;
    pub(in crate::codec) use crate::dtype::{DataType, ElementType};
    use crate::error::ErrorKind;

    /// The JSON object of that text.
    pub fn config_of(json: &str) -> Map {
        crate::metadata::json::parse_object(json.as_bytes(), 1 << 20).unwrap()
    }

    /// The configuration of the v3 example among the first lines of a codec's file; its name must be known.
    pub fn doc_example(source: &str) -> Map {
        let line = source.lines().find_map(|l| l.strip_prefix("//! Example: `")).expect("an example in the first lines");
        let object = config_of(line.strip_suffix('`').unwrap());
        let extension = crate::metadata::extension::Extension::from_v3(&Value::Object(object)).unwrap();
        assert!(has(&extension.name), "{}", extension.name);
        extension.configuration
    }

    /// The stage that the v3 example among the first lines of a codec's file describes.
    pub fn doc_stage(source: &str) -> StageRef {
        let line = source.lines().find_map(|l| l.strip_prefix("//! Example: `")).unwrap();
        let name = config_of(line.strip_suffix('`').unwrap())["name"].as_str().unwrap().to_string();
        stage_v3(&name, &doc_example(source), ElementType::native(DataType::Int32)).unwrap()
    }

    /// The stage of a v3 codec over elements of four bytes; array→array codecs as in v2.
    pub fn stage_v3(name: &str, configuration: &Map, item: ElementType) -> Result<StageRef> {
        let (make, style) = find_v3(name).expect("a known name");
        let config = Config::new(configuration, style);
        match make {
            Make::Bytes(build) | Make::Serial(build) => build(&config, item).map(|built| built.stage),
            Make::Array(kernel) => kernel(&config, item).map(|kernel| kernel.built().stage),
        }
    }

    /// A stage of v2 over elements of that type.
    pub fn stage_v2(id: &str, json: &str, t: DataType) -> StageRef {
        build_v2(id, &config_of(json), ElementType::native(t)).unwrap().stage
    }

    /// Bytes that compress, but not to nothing.
    pub fn sample(n: usize) -> Vec<u8> {
        (0..n).map(|i| ((i / 7) as u8).wrapping_mul(31) ^ (i % 5) as u8).collect()
    }

    /// Encodes and decodes at several sizes into both forms of destination, and checks the stated sizes.
    pub fn round_trips(stage: &dyn Stage, sizes: &[usize]) {
        for &n in sizes {
            let data = sample(n);
            let mut encoded = vec![7; 3];
            stage.encode(&data, &mut encoded).unwrap();
            match stage.encoded_size(Size::Exact(n)) {
                Size::Exact(m) => assert_eq!(encoded.len(), m, "{n}"),
                Size::AtMost(m) => assert!(encoded.len() <= m, "{n}"),
            }
            let mut out = vec![9; n];
            stage.decode(&encoded, Dest::Exact(&mut out)).unwrap();
            assert!(out == data, "{n}");
            let mut out = vec![1, 2, 3];
            stage.decode(&encoded, Dest::AtMost(&mut out, n + 100)).unwrap();
            assert!(out == data, "{n}");
            stage.decode(&encoded, Dest::AtMost(&mut out, n)).unwrap();
            assert!(out == data, "{n}");
        }
    }

    /// The sizes that every codec is tried with.
    pub const SIZES: &[usize] = &[0, 1, 7, 4096, 1 << 20];

    /// Wrong sizes are errors of kind `Chunk` that name both numbers; bytes cut anywhere are errors.
    pub fn refuses_damage(stage: &dyn Stage) {
        let data = sample(600);
        let mut encoded = Vec::new();
        stage.encode(&data, &mut encoded).unwrap();
        let e = stage.decode(&encoded, Dest::Exact(&mut [0; 604])).unwrap_err();
        assert_eq!((e.kind(), e.message()), (ErrorKind::Chunk, "decoded to 600 bytes, expected 604"));
        let e = stage.decode(&encoded, Dest::Exact(&mut [0; 596])).unwrap_err();
        assert!(e.kind() == ErrorKind::Chunk && e.message().contains("596"), "{e}");
        let e = stage.decode(&encoded, Dest::AtMost(&mut Vec::new(), 596)).unwrap_err();
        assert!(e.kind() == ErrorKind::Chunk && e.message().contains("596"), "{e}");
        for cut in 0..encoded.len() {
            assert!(stage.decode(&encoded[..cut], Dest::Exact(&mut [0; 600])).is_err(), "cut at {cut}");
            let mut out = Vec::new();
            let done = stage.decode(&encoded[..cut], Dest::AtMost(&mut out, 1000));
            assert!(done.is_err() || out.len() < 600, "cut at {cut}");
        }
        for at in 0..encoded.len() {
            for bit in [1u8, 0x10, 0x80] {
                encoded[at] ^= bit;
                let _ = stage.decode(&encoded, Dest::Exact(&mut [0; 600]));
                let _ = stage.decode(&encoded, Dest::AtMost(&mut Vec::new(), 1000));
                encoded[at] ^= bit;
            }
        }
    }

    /// `decode_range` agrees with a full decode wherever it answers; returns how often it did.
    pub fn ranges_agree(stage: &dyn Stage, n: usize, ranges: &[(usize, usize)]) -> usize {
        let data = sample(n);
        let mut encoded = Vec::new();
        stage.encode(&data, &mut encoded).unwrap();
        let mut answers = 0;
        for &(offset, len) in ranges {
            let mut out = vec![0xEE; len];
            if let Some(done) = stage.decode_range(&encoded, n, offset, &mut out) {
                done.unwrap();
                assert!(out == data[offset..offset + len], "{offset}+{len}");
                answers += 1;
            }
        }
        answers
    }

    #[test]
    fn names_of_both_versions_are_known() {
        for name in [
            "zstd",
            "zlib",
            "numcodecs.zlib",
            "bytes",
            "endian",
            "transpose",
            "sharding_indexed",
            "delta",
            "https://zarr.dev/numcodecs/shuffle",
        ] {
            assert!(has(name), "{name}");
        }
        assert!(!has("pickle"));
        assert_eq!(canonical("https://codec.zarrs.dev/bytes_to_bytes/zstd"), "zstd");
    }

    #[test]
    fn unknown_names_are_listed_with_the_known_ones() {
        let e = build_v2("nosuch", &Map::new(), BYTES).err().unwrap();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
        assert!(e.message().starts_with("the codec \"nosuch\" is not known; known are adler32, astype, b"), "{e}");
        let e = build_v2("pickle", &Map::new(), BYTES).err().unwrap();
        assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("runs code"), "{e}");
        assert!(find_v3("zlib").is_none());
        assert!(unknown_v3("foo").message().contains("transpose"));
    }

    #[test]
    fn configuration_members_are_checked() {
        let map = config_of(r#"{"a": 3, "b": null, "c": "x", "d": 1.5, "e": true}"#);
        let c = Config::v3(&map);
        assert_eq!(c.int("a", 0, 9, 1).unwrap(), 3);
        assert_eq!(c.int("b", 0, 9, 1).unwrap(), 1);
        assert_eq!(c.int("d", 0, 9, 1).unwrap_err().field(), Some("configuration.d"));
        assert!(c.int("a", 0, 2, 1).is_err());
        assert_eq!(c.text("c").unwrap(), Some("x"));
        assert!(c.text("a").is_err() && c.flag("a", true).is_err());
        assert!(c.flag("e", false).unwrap());
        let texts = config_of(r#"{"a": "3", "b": "-1", "c": "x"}"#);
        let c = Config::new(&texts, Style::V2);
        assert_eq!((c.int("a", 0, 9, 1).unwrap(), c.int("b", -1, 9, 1).unwrap()), (3, -1));
        assert!(c.int("c", 0, 9, 1).is_err() && c.int("b", 0, 9, 1).is_err());
        assert!(Config::v3(&texts).int("a", 0, 9, 1).is_err());
    }
}
