//! What the unit tests of all codecs use.

use super::build::Make;
use super::config::Config;
pub(super) use super::parse::build_v2;
use super::registry::find_v3;
pub(super) use super::stage::{BYTES, Dest, Size, Stage, StageRef};
pub(super) use crate::dtype::{ByteOrder, DataType, ElementType};
pub(super) use crate::error::ErrorKind;
use crate::error::Result;
use crate::metadata::{Map, Value};

/// The JSON object of that text.
pub(super) fn config_of(json: &str) -> Map {
    crate::metadata::json::parse_object(json.as_bytes(), 1 << 20).unwrap()
}

/// The configuration of the v3 example among the first lines of a codec's file; its name must be known.
pub(super) fn doc_example(source: &str) -> Map {
    let line = source.lines().find_map(|l| l.strip_prefix("//! Example: `")).expect("an example in the first lines");
    let object = config_of(line.strip_suffix('`').unwrap());
    let extension = crate::metadata::extension::Extension::from_v3(&Value::Object(object)).unwrap();
    assert!(super::parse::has(&extension.name), "{}", extension.name);
    extension.configuration
}

/// The stage that the v3 example among the first lines of a codec's file describes.
pub(super) fn doc_stage(source: &str) -> StageRef {
    let line = source.lines().find_map(|l| l.strip_prefix("//! Example: `")).unwrap();
    let name = config_of(line.strip_suffix('`').unwrap())["name"].as_str().unwrap().to_string();
    stage_v3(&name, &doc_example(source), ElementType::native(DataType::Int32)).unwrap()
}

/// The stage of a v3 codec over elements of four bytes; array→array codecs as in v2.
pub(super) fn stage_v3(name: &str, configuration: &Map, item: ElementType) -> Result<StageRef> {
    let (make, style) = find_v3(name).expect("a known name");
    let config = Config::new(configuration, style);
    match make {
        Make::Bytes(build) | Make::Serial(build) => build(&config, item).map(|built| built.stage),
        Make::Array(codec) => codec(&config, item).map(|codec| codec.built().stage),
    }
}

/// A stage of v2 over elements of that type.
pub(super) fn stage_v2(id: &str, json: &str, t: DataType) -> StageRef {
    build_v2(id, &config_of(json), ElementType::native(t)).unwrap().stage
}

/// Encodes, and checks the size that was stated.
pub(super) fn encoded(stage: &StageRef, data: &[u8]) -> Vec<u8> {
    let mut out = vec![1; 99];
    stage.encode(data, &mut out).unwrap();
    match stage.encoded_size(Size::Exact(data.len())) {
        Size::Exact(n) => assert_eq!(out.len(), n),
        Size::AtMost(n) => assert!(out.len() <= n),
    }
    out
}

/// Decodes to at most 1 MiB.
pub(super) fn decoded(stage: &StageRef, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    stage.decode(data, Dest::AtMost(&mut out, 1 << 20)).unwrap();
    out
}

/// The bytes that hexadecimal digits say: what another writer made.
pub(super) fn bytes_of_hex(digits: &str) -> Vec<u8> {
    digits.as_bytes().as_chunks::<2>().0.iter().map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The bytes of numbers of a type, the lowest first.
macro_rules! le {
    ($t:ty, $($v:expr),*) => { { let v: Vec<u8> = [$($v as $t),*].iter().flat_map(|v| v.to_le_bytes()).collect(); v } };
}
/// The bytes of numbers of a type, the highest first.
macro_rules! be {
    ($t:ty, $($v:expr),*) => { { let v: Vec<u8> = [$($v as $t),*].iter().flat_map(|v| v.to_be_bytes()).collect(); v } };
}
pub(super) use {be, le};

/// Bytes that compress, but not to nothing.
pub(super) fn sample(n: usize) -> Vec<u8> {
    (0..n).map(|i| ((i / 7) as u8).wrapping_mul(31) ^ (i % 5) as u8).collect()
}

/// Encodes and decodes at several sizes into both forms of destination, and checks the stated sizes.
pub(super) fn round_trips(stage: &dyn Stage, sizes: &[usize]) {
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
pub(super) const SIZES: &[usize] = &[0, 1, 7, 4096, 1 << 20];

/// Wrong sizes are errors that name both numbers, of kind `Chunk` where they are too large; bytes cut anywhere are errors.
pub(super) fn refuses_damage(stage: &dyn Stage) {
    let data = sample(600);
    let mut encoded = Vec::new();
    stage.encode(&data, &mut encoded).unwrap();
    let e = stage.decode(&encoded, Dest::Exact(&mut [0; 604])).unwrap_err();
    assert_eq!(e.message(), "decoded to 600 bytes, expected 604");
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

/// Bytes cut anywhere are errors of kind `Truncated`.
pub(super) fn tells_cuts(stage: &dyn Stage) {
    for n in [1, 600, 70_000] {
        let mut encoded = Vec::new();
        stage.encode(&sample(n), &mut encoded).unwrap();
        for cut in (0..encoded.len()).step_by(encoded.len() / 50 + 1).chain(encoded.len().saturating_sub(12)..encoded.len()) {
            let e = stage.decode(&encoded[..cut], Dest::Exact(&mut vec![0; n])).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Truncated, "cut at {cut} of {}: {e}", encoded.len());
        }
    }
}

/// `decode_range` agrees with a full decode wherever it answers; returns how often it did.
pub(super) fn ranges_agree(stage: &dyn Stage, n: usize, ranges: &[(usize, usize)]) -> usize {
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

/// Buffers that are no whole number of items of four bytes, or decode to another size than is expected, are errors.
pub(super) fn refuses_wrong_sizes(stage: &dyn Stage) {
    assert_eq!(stage.decode(&[0; 7], Dest::AtMost(&mut Vec::new(), 100)).unwrap_err().kind(), ErrorKind::Chunk);
    assert!(stage.decode(&[0; 8], Dest::Exact(&mut [0; 12])).unwrap_err().message().contains("expected 12"));
    assert!(stage.decode(&[0; 8], Dest::AtMost(&mut Vec::new(), 7)).is_err());
}
