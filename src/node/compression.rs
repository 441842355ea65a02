//! How chunks are compressed, as settings that have a name or a number each, and the codecs that the settings stand for.
//!
//! Codecs are named as in v3, by names that zarr-python and zarrs know; `metadata::codecs_to_v2` gives them their v2 form.

use crate::codec::bitround::mantissa;
use crate::dtype::{ByteOrder, DataType, Kind};
use crate::error::{Result, err};
use crate::metadata::Value;
use crate::metadata::extension::Extension;

/// What makes the bytes of a chunk fewer.
#[derive(Clone, Debug)]
pub(super) enum Compressor {
    /// Nothing.
    None,
    /// A codec with one number: its name in v3, the number's name, the number.
    Plain(&'static str, &'static str, i32),
    /// Blosc around a compressor of that name, with its level.
    Blosc(&'static str, i32),
    /// Numbers, not bytes.
    Zfp(Zfp),
    /// A codec of v2, in numcodecs' form.
    Json(Option<Extension>),
}

/// What zfp keeps of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Zfp {
    /// Every bit.
    Reversible,
    /// Each number to an error of at most this.
    Accuracy(f64),
    /// That many planes of bits of each block, 1 to 64.
    Precision(u32),
    /// That many bits for each number, on average.
    Rate(f64),
}

/// How the bytes of neighbouring elements are put together before compression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shuffle {
    /// As they are.
    None,
    /// Bytes of equal rank.
    Byte,
    /// Bits of equal rank.
    Bit,
}

/// A compressor that `set_compressor` knows: its name, the codec of v3, the name of its number, the number's range and default.
type Row = (&'static str, &'static str, &'static str, (i32, i32), i32);

const PLAIN: &[Row] = &[
    ("zstd", "zstd", "level", (-131_072, 22), 1),
    ("gzip", "gzip", "level", (0, 9), 5),
    ("zlib", "numcodecs.zlib", "level", (0, 9), 5),
    ("bz2", "numcodecs.bz2", "level", (1, 9), 5),
    ("lzma", "numcodecs.lzma", "preset", (0, 9), 6),
    ("lz4", "numcodecs.lz4", "acceleration", (1, 65_537), 1),
    ("pcodec", "numcodecs.pcodec", "level", (0, 12), 8),
];

/// The compressors inside of blosc.
const BLOSC: &[&str] = &["lz4", "lz4hc", "blosclz", "zlib", "zstd"];

impl Compressor {
    /// The compressor of that name; `None` is its default level.
    pub fn named(name: &str, level: Option<i32>) -> Result<Compressor> {
        let checked = |(low, high): (i32, i32), default: i32| match level {
            Some(l) if !(low..=high).contains(&l) => {
                Err(err!(Argument, "found level {l} of {name}, expected {low} to {high}").at_field("compressor"))
            }
            other => Ok(other.unwrap_or(default)),
        };
        if name == "none" {
            return Ok(Compressor::None);
        }
        if let Some((_, codec, number, range, default)) = PLAIN.iter().find(|row| row.0 == name) {
            return Ok(Compressor::Plain(codec, number, checked(*range, *default)?));
        }
        let inner = if name == "blosc" { Some("lz4") } else { name.strip_prefix("blosc:") };
        match inner.and_then(|inner| BLOSC.iter().find(|known| **known == inner)) {
            Some(inner) => Ok(Compressor::Blosc(inner, checked((0, 9), 5)?)),
            None => {
                let known: Vec<&str> = PLAIN.iter().map(|row| row.0).collect();
                let e = err!(
                    Unsupported,
                    "found {name:?}, expected none, {}, blosc or blosc: with one of {}; other codecs can be given as JSON",
                    known.join(", "),
                    BLOSC.join(", ")
                );
                Err(e.at_field("compressor"))
            }
        }
    }
}

/// All settings of compression.
#[derive(Clone, Debug)]
pub(super) struct Compression {
    /// What makes bytes fewer.
    pub compressor: Compressor,
    /// `None` leaves it to the compressor: blosc shuffles, others do not.
    pub shuffle: Option<Shuffle>,
    /// The bits of the mantissa that are kept; `None` keeps all.
    pub keep_bits: Option<u32>,
    /// Whether a CRC-32C follows each chunk.
    pub checksum: bool,
}

/// The codecs of some settings, by their place in a list.
#[derive(Default)]
pub(super) struct Stages {
    /// Changes elements.
    pub filter: Option<Extension>,
    /// Makes bytes of elements, in the place of `bytes`.
    pub serial: Option<Extension>,
    /// Change bytes: shuffle and compressor.
    pub bytes: Vec<Extension>,
    /// Behind all others.
    pub checksum: Option<Extension>,
}

impl Compression {
    /// zstd.
    pub fn new() -> Compression {
        Compression { compressor: Compressor::Plain("zstd", "level", 1), shuffle: None, keep_bits: None, checksum: false }
    }

    /// Which of the settings beside the compressor is made, by its name.
    pub fn beside_compressor(&self) -> Option<&'static str> {
        match (self.shuffle, self.keep_bits, self.checksum) {
            (Some(_), ..) => Some("shuffle"),
            (_, Some(_), _) => Some("keep_bits"),
            (.., true) => Some("checksum"),
            _ => None,
        }
    }

    /// The codecs for elements of that type, stored in that order.
    pub fn stages(&self, data_type: DataType, order: ByteOrder) -> Result<Stages> {
        let item = if data_type.is_variable() { 1 } else { data_type.size() };
        let mut stages = Stages {
            filter: self.keep_bits.map(|bits| rounding(bits, data_type)).transpose()?,
            checksum: self.checksum.then(|| configured("crc32c", [])),
            ..Stages::default()
        };
        match &self.compressor {
            // Blosc shuffles by itself.
            Compressor::Json(Some(codec)) if codec.name == "blosc" => {}
            Compressor::None | Compressor::Json(_) => stages.bytes.extend(self.shuffled(item)?),
            Compressor::Plain("numcodecs.pcodec", number, level) => {
                self.refuse_shuffle("pcodec")?;
                // Of complex numbers zarr-python reads neither; zarrs reads the registered one.
                let name = if data_type.kind() == Kind::Complex { "pcodec" } else { "numcodecs.pcodec" };
                stages.serial = Some(configured(name, [(number, (*level).into())]));
            }
            Compressor::Plain(codec, number, level) => {
                stages.bytes.extend(self.shuffled(item)?);
                let mut codec = configured(codec, [(number, (*level).into())]);
                if codec.name == "zstd" {
                    codec.configuration.insert("checksum".into(), false.into());
                }
                stages.bytes.push(codec);
            }
            Compressor::Blosc(inner, level) => stages.bytes.push(self.blosc(inner, *level, item)),
            Compressor::Zfp(zfp) => {
                self.refuse_shuffle("zfp")?;
                stages.serial = Some(zfp.codec(data_type, order));
            }
        }
        Ok(stages)
    }

    fn blosc(&self, inner: &str, level: i32, item: usize) -> Extension {
        let shuffle = self.shuffle.unwrap_or(if item == 1 { Shuffle::Bit } else { Shuffle::Byte });
        let members = [
            ("cname", inner.into()),
            ("clevel", level.into()),
            ("shuffle", shuffle.word().into()),
            ("typesize", item.into()),
            ("blocksize", 0.into()),
        ];
        configured("blosc", members)
    }

    /// The shuffle in front of a compressor that has none of its own.
    fn shuffled(&self, item: usize) -> Result<Option<Extension>> {
        match self.shuffle {
            Some(Shuffle::Byte) if item > 1 => Ok(Some(byte_shuffle(item))),
            Some(Shuffle::Bit) => Err(no_bits()),
            _ => Ok(None),
        }
    }

    fn refuse_shuffle(&self, name: &str) -> Result<()> {
        match self.shuffle {
            Some(Shuffle::Byte | Shuffle::Bit) => {
                Err(err!(Unsupported, "{name} takes numbers, which cannot be shuffled before").at_field("shuffle"))
            }
            _ => Ok(()),
        }
    }
}

impl Shuffle {
    /// The name in a configuration of blosc.
    pub fn word(self) -> &'static str {
        match self {
            Shuffle::None => "noshuffle",
            Shuffle::Byte => "shuffle",
            Shuffle::Bit => "bitshuffle",
        }
    }
}

impl Zfp {
    /// A parameter that is no number or out of range is an error.
    pub fn check(self) -> Result<Zfp> {
        let found = match self {
            Zfp::Accuracy(x) | Zfp::Rate(x) if !(x.is_finite() && x > 0.0) => x.to_string(),
            Zfp::Precision(n) if !(1..=64).contains(&n) => n.to_string(),
            good => return Ok(good),
        };
        let expected = if matches!(self, Zfp::Precision(_)) { "1 to 64" } else { "a number above 0" };
        Err(err!(Argument, "found the parameter {found}, expected {expected}").at_field("zfp"))
    }

    /// As numcodecs' `zfpy` for its four types, which more libraries read; as the registered `zfp` for others.
    fn codec(self, data_type: DataType, order: ByteOrder) -> Extension {
        use DataType::{Float32, Float64, Int32, Int64};
        if matches!(data_type, Int32 | Int64 | Float32 | Float64) && order == ByteOrder::NATIVE {
            let (mode, name, value): (i32, _, Value) = match self {
                Zfp::Reversible => (4, "tolerance", (-1).into()),
                Zfp::Accuracy(x) => (4, "tolerance", x.into()),
                Zfp::Precision(n) => (3, "precision", n.into()),
                Zfp::Rate(x) => (2, "rate", x.into()),
            };
            return configured("numcodecs.zfpy", [("mode", mode.into()), (name, value)]);
        }
        match self {
            Zfp::Reversible => configured("zfp", [("mode", "reversible".into())]),
            Zfp::Accuracy(x) => configured("zfp", [("mode", "fixed_accuracy".into()), ("tolerance", x.into())]),
            Zfp::Precision(n) => configured("zfp", [("mode", "fixed_precision".into()), ("precision", n.into())]),
            Zfp::Rate(x) => configured("zfp", [("mode", "fixed_rate".into()), ("rate", x.into())]),
        }
    }
}

/// The codec that rounds to `bits` of the mantissa: numcodecs' for its three types, the registered one for others.
pub(super) fn rounding(bits: u32, data_type: DataType) -> Result<Extension> {
    let Some(most) = mantissa(data_type) else {
        let e = err!(Unsupported, "{} has no mantissa to round, expected floating-point numbers of 16 bits and more", data_type.name());
        return Err(e.at_field("keep_bits"));
    };
    if bits == 0 || bits > most {
        return Err(err!(Argument, "found {bits} bits to keep, expected 1 to {most}, those of {}", data_type.name()).at_field("keep_bits"));
    }
    let in_numcodecs = matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64);
    Ok(configured(if in_numcodecs { "numcodecs.bitround" } else { "bitround" }, [("keepbits", bits.into())]))
}

/// The codec that shuffles bytes of elements of that size.
pub(super) fn byte_shuffle(item: usize) -> Extension {
    configured("numcodecs.shuffle", [("elementsize", item.into())])
}

/// The error of bits that are to be shuffled outside of blosc.
pub(super) fn no_bits() -> crate::error::Error {
    err!(Unsupported, "only blosc shuffles bits: use a compressor such as \"blosc:zstd\"").at_field("shuffle")
}

/// A codec with these members.
pub(super) fn configured<const N: usize>(name: &str, members: [(&str, Value); N]) -> Extension {
    Extension::new(name, members.into_iter().map(|(k, v)| (k.to_string(), v)).collect())
}
