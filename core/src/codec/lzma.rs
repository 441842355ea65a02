//! `lzma`: `.xz`, `.lzma` and raw streams of liblzma, with its chains of filters.
//!
//! Specification: numcodecs `LZMA` (v2 id `lzma`; v3 name `numcodecs.lzma`); its members are those of Python's `lzma` module.
//! Example: `{"name": "numcodecs.lzma", "configuration": {"format": 1, "check": -1, "preset": null, "filters": null}}`
//! Example of raw: `{"name": "numcodecs.lzma", "configuration": {"format": 3, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]}}`
//!
//! `format` is 0 (found when decoding; cannot encode), 1 (`.xz`), 2 (`.lzma`) or 3 (raw: only `filters` say how to decode).
//! Streams may be concatenated; after `.xz` zeros in fours are padding.

use super::build::Built;
use super::config::{Config, Style};
use super::stage::{Dest, Stage};
use super::streams::{Step, decode_growing, decode_stream, encode_stream};
use crate::dtype::ElementType;
use crate::error::{Error, Result, bail, err};
use crate::metadata::{Value, json::brief};
use liblzma::stream::{self, Action, Check, Filters, LzmaOptions, MatchFinder, Mode, Status, Stream};

/// What a decoder may allocate besides two times the decoded size: the dictionary of the highest preset, and its tables.
const MEMORY: u64 = 66 << 20;
/// The largest dictionary that an encoder names in a header: that of the highest preset, which is within [`MEMORY`] however little is decoded.
const MAX_NAMED: u32 = 64 << 20;
/// The smallest dictionary.
const MIN_DICTIONARY: u32 = 4096;
/// The largest dictionary that liblzma encodes with.
const MAX_DICTIONARY: i64 = 1536 << 20;

/// What liblzma's functions return.
type Outcome<T> = std::result::Result<T, stream::Error>;

#[derive(Clone, Copy, PartialEq)]
enum Container {
    Auto,
    Xz,
    Alone,
    Raw,
}

pub(super) struct Lzma {
    format: Container,
    check: Check,
    preset: u32,
    filters: Vec<Filter>,
}

/// One filter of a chain; what is missing is as in its preset.
enum Filter {
    Lzma(Box<LzmaFilter>),
    /// Its distance less 1, as a property.
    Delta(u8),
    /// The id of a filter for the code of a processor, and its start offset.
    Code(u64, u32),
}

struct LzmaFilter {
    second: bool,
    preset: u32,
    dict_size: Option<u32>,
    lc: Option<u32>,
    lp: Option<u32>,
    pb: Option<u32>,
    mode: Option<Mode>,
    nice_len: Option<u32>,
    mf: Option<MatchFinder>,
    depth: Option<u32>,
}

/// Reads `format`, `check`, `preset` and `filters`.
pub(super) fn build(config: &Config<'_>, _item: ElementType) -> Result<Built> {
    let format = match config.int("format", 0, 3, 1)? {
        0 => Container::Auto,
        1 => Container::Xz,
        2 => Container::Alone,
        _ => Container::Raw,
    };
    let check = match config.int("check", -1, 15, -1)? {
        -1 | 4 => Check::Crc64,
        0 => Check::None,
        1 => Check::Crc32,
        10 => Check::Sha256,
        other => return Err(config.error("check", format!("found {other}, expected -1, 0, 1, 4 or 10"))),
    };
    let filters = match config.get("filters") {
        None => Vec::new(),
        Some(Value::Array(list)) => {
            let read = |(i, f)| Filter::parse(f).map_err(|e| e.at_field(format!("{}[{i}]", config.path("filters"))));
            list.iter().take(5).enumerate().map(read).collect::<Result<_>>()?
        }
        Some(other) => return Err(config.error("filters", format!("found {}, expected a list of filters", brief(other)))),
    };
    let lzma = Lzma { format, check, preset: preset(config)?, filters };
    lzma.check_chain().map_err(|e| e.at_field(config.path("filters")))?;
    Ok(Built::bytes(lzma))
}

/// Reads `preset`: 0 to 9, with bit 31 for "extreme"; 6 where it is missing.
fn preset(config: &Config<'_>) -> Result<u32> {
    let preset = config.int("preset", 0, u32::MAX.into(), 6)? as u32;
    if preset & !stream::PRESET_EXTREME > 9 {
        return Err(config.error("preset", format!("found {preset}, expected 0 to 9, or {} more", stream::PRESET_EXTREME)));
    }
    Ok(preset)
}

impl Filter {
    fn parse(value: &Value) -> Result<Filter> {
        let Value::Object(map) = value else {
            bail!(Metadata, "found {}, expected an object with an id", brief(value));
        };
        // Errors name the member of the filter itself.
        let config = Config::new(map, Style::V2);
        match map.get("id").and_then(Value::as_u64) {
            Some(id @ (0x4000_0000_0000_0001 | 33)) => Ok(Filter::Lzma(Box::new(LzmaFilter::parse(&config, id == 33)?))),
            Some(3) => Ok(Filter::Delta((config.int("dist", 1, 256, 1)? - 1) as u8)),
            Some(id @ 4..=9) => Ok(Filter::Code(id, config.int("start_offset", 0, u32::MAX.into(), 0)? as u32)),
            _ => Err(config
                .error("id", format!("found {}, expected the id of a filter of liblzma", brief(map.get("id").unwrap_or(&Value::Null))))),
        }
    }

    /// Puts the filter behind those of the chain; a dictionary gets at most that size.
    fn push(&self, chain: &mut Filters, dictionary: u32) -> Outcome<()> {
        match self {
            Filter::Lzma(f) => {
                let options = f.options(dictionary)?;
                if f.second {
                    chain.lzma2(&options)
                } else {
                    chain.lzma1(&options)
                };
            }
            Filter::Delta(distance) => {
                chain.delta_properties(&[*distance])?;
            }
            Filter::Code(id, offset) => {
                let offset = offset.to_le_bytes();
                let properties = if offset == [0; 4] { &[][..] } else { &offset };
                match id {
                    4 => chain.x86_properties(properties)?,
                    5 => chain.powerpc_properties(properties)?,
                    6 => chain.ia64_properties(properties)?,
                    7 => chain.arm_properties(properties)?,
                    8 => chain.arm_thumb_properties(properties)?,
                    _ => chain.sparc_properties(properties)?,
                };
            }
        }
        Ok(())
    }
}

impl LzmaFilter {
    fn parse(config: &Config<'_>, second: bool) -> Result<LzmaFilter> {
        let number = |name: &str, low: i64, high: i64| -> Result<Option<u32>> {
            config.get(name).map(|_| config.int(name, low, high, low).map(|n| n as u32)).transpose()
        };
        let mode = match number("mode", 1, 2)? {
            None => None,
            Some(1) => Some(Mode::Fast),
            Some(_) => Some(Mode::Normal),
        };
        let mf = match number("mf", 0, 0x14)? {
            None => None,
            Some(3) => Some(MatchFinder::HashChain3),
            Some(4) => Some(MatchFinder::HashChain4),
            Some(0x12) => Some(MatchFinder::BinaryTree2),
            Some(0x13) => Some(MatchFinder::BinaryTree3),
            Some(0x14) => Some(MatchFinder::BinaryTree4),
            Some(other) => return Err(config.error("mf", format!("found {other}, expected 3, 4, 18, 19 or 20"))),
        };
        Ok(LzmaFilter {
            second,
            preset: preset(config)?,
            dict_size: number("dict_size", MIN_DICTIONARY.into(), MAX_DICTIONARY)?,
            lc: number("lc", 0, 4)?,
            lp: number("lp", 0, 4)?,
            pb: number("pb", 0, 4)?,
            mode,
            nice_len: number("nice_len", 2, 273)?,
            mf,
            depth: number("depth", 0, u32::MAX.into())?,
        })
    }

    fn options(&self, dictionary: u32) -> Outcome<LzmaOptions> {
        let mut options = LzmaOptions::new_preset(self.preset)?;
        // A preset's own dictionary: 256 KiB, 1, 2, 4, 4, 8, 8, 16, 32 or 64 MiB.
        let own = [18, 20, 21, 22, 22, 23, 23, 24, 25, 26]
            .get((self.preset & !stream::PRESET_EXTREME) as usize)
            .map_or(1 << 23, |bits| 1 << bits);
        options.dict_size(self.dict_size.unwrap_or(own).min(dictionary.max(MIN_DICTIONARY)));
        self.lc.map(|n| options.literal_context_bits(n));
        self.lp.map(|n| options.literal_position_bits(n));
        self.pb.map(|n| options.position_bits(n));
        self.mode.map(|m| options.mode(m));
        self.nice_len.map(|n| options.nice_len(n));
        self.mf.map(|m| options.match_finder(m));
        self.depth.map(|n| options.depth(n));
        Ok(options)
    }
}

fn failed(e: stream::Error) -> Error {
    match e {
        stream::Error::MemLimit => err!(Limit, "the lzma stream asks for a dictionary far larger than what it decodes to"),
        stream::Error::Mem => err!(NoMemory, "no memory for an lzma stream"),
        other => err!(Chunk, "the lzma stream is damaged ({other})"),
    }
}

impl Lzma {
    /// Of `.xz` files.
    pub fn xz() -> Lzma {
        Lzma { format: Container::Xz, check: Check::Crc64, preset: 6, filters: Vec::new() }
    }

    /// Of `.lzma` files.
    pub fn alone() -> Lzma {
        Lzma { format: Container::Alone, ..Lzma::xz() }
    }

    /// The rules of liblzma: at most four filters, and only the last one is LZMA.
    fn check_chain(&self) -> Result<()> {
        let is_lzma = |f: &Filter| matches!(f, Filter::Lzma(_));
        match self.filters.split_last() {
            None if self.format == Container::Raw => bail!(Metadata, "the member is missing; a raw stream (format 3) needs filters"),
            None => Ok(()),
            Some((last, before)) if before.len() < 4 && is_lzma(last) && !before.iter().any(is_lzma) => Ok(()),
            Some(_) => bail!(Metadata, "found {} filters, expected at most 4, of which the last one is LZMA", self.filters.len()),
        }
    }

    fn chain(&self, dictionary: u32) -> Outcome<Filters> {
        let mut chain = Filters::new();
        self.filters.iter().try_for_each(|f| f.push(&mut chain, dictionary))?;
        Ok(chain)
    }

    /// An encoder of `n` bytes: no dictionary needs to be larger, and a decoder refuses a header that names a far larger one.
    fn encoder(&self, n: usize) -> Outcome<Stream> {
        let needed = u32::try_from(n).unwrap_or(u32::MAX);
        let named = needed.min(MAX_NAMED);
        match (self.format, self.filters.as_slice()) {
            (Container::Xz, []) => Stream::new_easy_encoder(self.preset, self.check),
            (Container::Xz, _) => Stream::new_stream_encoder(&self.chain(named)?, self.check),
            (Container::Raw, _) => Stream::new_raw_encoder(&self.chain(needed)?),
            (_, []) => Stream::new_lzma_encoder(&LzmaOptions::new_preset(self.preset)?),
            (_, [Filter::Lzma(f)]) if !f.second => Stream::new_lzma_encoder(&f.options(named)?),
            _ => Err(stream::Error::Options),
        }
    }

    /// A decoder of `room` bytes at most: no dictionary needs to be larger.
    fn decoder(&self, room: usize) -> Outcome<Stream> {
        let memory = MEMORY.saturating_add((room as u64).saturating_mul(2));
        match self.format {
            Container::Auto => Stream::new_auto_decoder(memory, 0),
            Container::Xz => Stream::new_stream_decoder(memory, 0),
            Container::Alone => Stream::new_lzma_decoder(memory),
            Container::Raw => Stream::new_raw_decoder(&self.chain(u32::try_from(room).unwrap_or(u32::MAX))?),
        }
    }

    /// Decodes every stream; the number of decoded bytes, or `None` where the room is too small.
    fn streams(&self, mut src: &[u8], out: &mut [u8]) -> Result<Option<usize>> {
        let mut filled = 0;
        loop {
            let out = out.get_mut(filled..).unwrap_or_default();
            let mut stream = self.decoder(out.len()).map_err(failed)?;
            let done = decode_stream("lzma", src, out, |src, out| step(&mut stream, src, out, Action::Run).map_err(failed))?;
            let Some((used, made)) = done else { return Ok(None) };
            filled += made;
            src = self.after_padding(src.get(used..).unwrap_or_default());
            if src.is_empty() {
                return Ok(Some(filled));
            }
            let begins_another = match self.format {
                Container::Auto | Container::Xz => src.starts_with(b"\xfd7zXZ\0"),
                Container::Alone => src.first() == Some(&0x5d),
                Container::Raw => false,
            };
            if !begins_another {
                bail!(Chunk, "found {} bytes after the end of the lzma stream", src.len());
            }
        }
    }

    fn after_padding<'a>(&self, src: &'a [u8]) -> &'a [u8] {
        let zeros = src.iter().take_while(|&&b| b == 0).count();
        let padding = if matches!(self.format, Container::Auto | Container::Xz) && zeros.is_multiple_of(4) { zeros } else { 0 };
        src.get(padding..).unwrap_or_default()
    }
}

fn step(stream: &mut Stream, src: &[u8], out: &mut [u8], action: Action) -> Outcome<Step> {
    let (used, made) = (stream.total_in(), stream.total_out());
    let end = matches!(stream.process(src, out, action)?, Status::StreamEnd);
    Ok(Step { used: (stream.total_in() - used) as usize, made: (stream.total_out() - made) as usize, end })
}

impl Stage for Lzma {
    fn name(&self) -> &'static str {
        "lzma"
    }

    fn check_writing(&self) -> Result<()> {
        if self.format == Container::Auto {
            bail!(Unsupported, "lzma of format 0 cannot be written, only found when reading; expected 1, 2 or 3");
        }
        Ok(())
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        self.check_writing()?;
        let refused = |e| match e {
            stream::Error::Mem => err!(NoMemory, "no memory for an lzma encoder"),
            other => err!(Unsupported, "liblzma cannot encode with this configuration ({other})"),
        };
        let mut stream = self.encoder(src.len()).map_err(refused)?;
        encode_stream(src, dst, src.len() / 64 + 1024, |src, out| step(&mut stream, src, out, Action::Finish).map_err(refused))
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        decode_growing(dst, src.len().saturating_mul(4), &mut |out| self.streams(src, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;

    fn stage(json: &str) -> StageRef {
        stage_v2("lzma", json, DataType::UInt8)
    }

    const CONFIGURATIONS: &[&str] = &[
        "{}",
        r#"{"preset": 0, "delta": 1}"#,
        r#"{"preset": 2147483657}"#,
        r#"{"format": 1, "check": 0}"#,
        r#"{"format": 1, "check": 1}"#,
        r#"{"format": 1, "check": 10, "preset": 9}"#,
        r#"{"format": 1, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 7, "lp": 1, "lc": 3, "mf": 20, "nice_len": 64, "mode": 2, "depth": 0}]}"#,
        r#"{"format": 2, "preset": 1}"#,
        r#"{"format": 2, "filters": [{"id": 4611686018427387905, "dict_size": 65536, "pb": 0}]}"#,
        r#"{"format": 3, "filters": [{"id": 33, "preset": 1}]}"#,
        r#"{"format": 3, "filters": [{"id": 4611686018427387905}]}"#,
        r#"{"format": 3, "filters": [{"id": 3}, {"id": 4, "start_offset": 16}, {"id": 33}]}"#,
        r#"{"format": 3, "filters": [{"id": 5}, {"id": 7}, {"id": 9}, {"id": 33}]}"#,
    ];

    #[test]
    fn every_format_check_and_chain_round_trips() {
        round_trips(&*doc_stage(include_str!("lzma.rs")), SIZES);
        for json in CONFIGURATIONS {
            round_trips(&*stage(json), &[0, 1, 1000, 300_000]);
        }
    }

    #[test]
    fn damage_is_an_error() {
        for json in CONFIGURATIONS.iter().filter(|c| c.contains("format")) {
            refuses_damage(&*stage(json));
        }
    }

    #[test]
    fn the_format_is_found() {
        let any = stage(r#"{"format": 0}"#);
        for json in [r#"{"format": 1}"#, r#"{"format": 2}"#] {
            let (mut bytes, mut out) = (Vec::new(), vec![0; 500]);
            stage(json).encode(&sample(500), &mut bytes).unwrap();
            any.decode(&bytes, Dest::Exact(&mut out)).unwrap();
            assert_eq!(out, sample(500));
        }
        assert_eq!(any.encode(&[1], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn streams_are_concatenated_padding_accepted_and_other_bytes_refused() {
        let (stage, data) = (stage("{}"), sample(1000));
        let mut bytes = Vec::new();
        for part in [&data[..300], &data[300..]] {
            let mut out = Vec::new();
            stage.encode(part, &mut out).unwrap();
            bytes.extend(out);
            bytes.extend([0; 8]);
        }
        let mut out = vec![0; 1000];
        stage.decode(&bytes, Dest::Exact(&mut out)).unwrap();
        assert_eq!(out, data);
        bytes.push(0);
        assert_eq!(stage.decode(&bytes, Dest::Exact(&mut out)).unwrap_err().message(), "found 9 bytes after the end of the lzma stream");
    }

    #[test]
    fn dictionaries_are_limited_by_what_is_decoded() {
        let mut bytes = Vec::new();
        stage(r#"{"format": 2}"#).encode(&sample(1000), &mut bytes).unwrap();
        bytes[1..5].copy_from_slice(&(1u32 << 30).to_le_bytes());
        let e = stage(r#"{"format": 2}"#).decode(&bytes, Dest::Exact(&mut [0; 1000])).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Limit, "{e}");
        let raw = stage(r#"{"format": 3, "filters": [{"id": 33, "dict_size": 1073741824, "nice_len": 8, "mf": 3, "mode": 1}]}"#);
        let small = stage(r#"{"format": 3, "filters": [{"id": 33, "dict_size": 4096, "nice_len": 8, "mf": 3, "mode": 1}]}"#);
        small.encode(&sample(100_000), &mut bytes).unwrap();
        let mut out = vec![0; 100_000];
        raw.decode(&bytes, Dest::Exact(&mut out)).unwrap();
        assert!(out == sample(100_000));
    }

    #[test]
    fn what_is_encoded_with_a_large_dictionary_is_decoded() {
        const FAST: &str = r#""dict_size": 134217728, "nice_len": 8, "mf": 3, "mode": 1"#;
        let chains = [(1, "33"), (2, "4611686018427387905"), (3, "33")];
        for (format, id) in chains.into_iter().step_by(crate::settings::apart(2)) {
            let stage = stage(&format!(r#"{{"format": {format}, "filters": [{{"id": {id}, {FAST}}}]}}"#));
            round_trips(&*stage, &[0, 1, 5000, 1 << 20]);
            // Where the size is not known before, decoding begins with little room.
            let (mut bytes, mut out) = (Vec::new(), Vec::new());
            let data = vec![7; 70 << 20];
            stage.encode(&data, &mut bytes).unwrap();
            stage.decode(&bytes, Dest::AtMost(&mut out, 1 << 28)).unwrap();
            assert!(out == data, "{format}");
        }
    }

    #[test]
    fn configurations_are_checked() {
        for (json, field) in [
            (r#"{"format": 4}"#, "format"),
            (r#"{"check": 2}"#, "check"),
            (r#"{"preset": 10}"#, "preset"),
            (r#"{"format": 3}"#, "filters"),
            (r#"{"filters": 3}"#, "filters"),
            (r#"{"filters": [{"id": 3}]}"#, "filters"),
            (r#"{"filters": [{"id": 33}, {"id": 33}]}"#, "filters"),
            (r#"{"filters": [{"id": 3}, {"id": 3}, {"id": 3}, {"id": 3}, {"id": 33}]}"#, "filters"),
            (r#"{"filters": [{"id": 34}]}"#, "filters[0].id"),
            (r#"{"filters": [{"id": 3, "dist": 0}, {"id": 33}]}"#, "filters[0].dist"),
            (r#"{"filters": [{"id": 33, "mf": 5}]}"#, "filters[0].mf"),
            (r#"{"filters": [{"id": 33, "dict_size": 1}]}"#, "filters[0].dict_size"),
        ] {
            assert_eq!(build_v2("lzma", &config_of(json), BYTES).err().unwrap().field(), Some(field), "{json}");
        }
        let e = stage(r#"{"format": 2, "filters": [{"id": 33}]}"#).encode(&[1], &mut Vec::new()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
    }
}
