//! Every codec against every kind of damage: an error, never a panic, and no more memory than what is expected asks for.
//!
//! One table of codecs, one function for each kind of damage. All memory is counted, that of the codecs' C libraries, too.

use ozarr::codec::chain::Chain;
use ozarr::codec::{BoundChain, Dest, FIRST_BYTES, Leaf};
use ozarr::dtype::{DataType, ElementType};
use ozarr::error::{Error, ErrorKind};
use ozarr::metadata::extension::Extension;
use ozarr::metadata::{Codecs, Order};
use ozarr::settings::apart;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

thread_local! {
    /// The bytes that the thread holds, and the most that it held.
    static HELD: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
}

fn count(bytes: i64) {
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

// The C library's allocator under the names that everything calls, the codecs' C libraries, too; each passes on and counts.
unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(n: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(p: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(p: *mut c_void);
    fn malloc_usable_size(p: *mut c_void) -> usize;
}

fn counted(p: *mut c_void) -> *mut c_void {
    // SAFETY: NULL, or a block of the allocator.
    count(unsafe { malloc_usable_size(p) } as i64);
    p
}

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: passed on.
    counted(unsafe { __libc_malloc(size) })
}

#[unsafe(no_mangle)]
extern "C" fn calloc(n: usize, size: usize) -> *mut c_void {
    // SAFETY: passed on.
    counted(unsafe { __libc_calloc(n, size) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(p: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        let before = malloc_usable_size(p) as i64;
        let new = __libc_realloc(p, size);
        if !new.is_null() {
            count(malloc_usable_size(new) as i64 - before);
        }
        new
    }
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: passed on.
    counted(unsafe { __libc_memalign(alignment, size) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    let p = aligned_alloc(alignment, size);
    // SAFETY: the caller's promise.
    unsafe { *out = p };
    if p.is_null() { 12 } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(p: *mut c_void) {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        count(-(malloc_usable_size(p) as i64));
        __libc_free(p);
    }
}

/// The most bytes held while `f` runs, beyond those before.
fn most_held<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get().0;
    HELD.set((before, before));
    let result = f();
    (result, (HELD.get().1 - before).max(0) as usize)
}

/// What a flip of any bit must do.
#[derive(Clone, Copy, PartialEq)]
enum Flips {
    /// An error, or the same data.
    Found,
    /// Anything but a panic.
    Survived,
}
use Flips::*;

/// (the type, the v2 codec or the v3 list, what flips do); the last codec is the one that is damaged.
const TABLE: &[(DataType, &str, Flips)] = &[
    (DataType::Int32, r#"{"id": "adler32"}"#, Found),
    (DataType::Float32, r#"{"id": "astype", "encode_dtype": "<f8", "decode_dtype": "<f4"}"#, Survived),
    (DataType::Int32, r#"{"id": "base64"}"#, Survived),
    (DataType::Float64, r#"{"id": "bitround", "keepbits": 9}"#, Survived),
    (DataType::Int32, r#"{"id": "blosc", "cname": "lz4"}"#, Survived),
    (DataType::Int32, r#"{"id": "blosc", "cname": "blosclz", "shuffle": 2, "blocksize": 256}"#, Survived),
    (DataType::Int16, r#"{"id": "blosc", "cname": "zlib", "shuffle": 0}"#, Survived),
    (DataType::Float64, r#"{"id": "blosc", "cname": "zstd"}"#, Survived),
    (DataType::Int32, r#"{"id": "bz2", "level": 9}"#, Survived),
    (DataType::Int32, r#"{"id": "crc32"}"#, Found),
    (DataType::Int32, r#"{"id": "crc32", "location": "end"}"#, Found),
    (DataType::Int32, r#"{"id": "crc32c"}"#, Found),
    (DataType::Int32, r#"{"id": "delta", "dtype": "<i4", "astype": "<i2"}"#, Survived),
    (DataType::Float64, r#"{"id": "fixedscaleoffset", "offset": 1, "scale": 4, "dtype": "<f8", "astype": "<i2"}"#, Survived),
    (DataType::Int32, r#"{"id": "fletcher32"}"#, Found),
    (DataType::Int32, r#"{"id": "gzip", "level": 6}"#, Survived),
    (DataType::Int32, r#"{"id": "jenkins_lookup3", "initval": 5}"#, Found),
    (DataType::Int32, r#"{"id": "lz4"}"#, Survived),
    (DataType::Int32, r#"{"id": "lzma"}"#, Found),
    (DataType::Int32, r#"{"id": "lzma", "check": 0, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 0}]}"#, Survived),
    (DataType::Int32, r#"{"id": "lzma", "format": 2}"#, Survived),
    (DataType::Int32, r#"{"id": "lzma", "format": 3, "filters": [{"id": 33}]}"#, Survived),
    (DataType::Bool, r#"{"id": "packbits"}"#, Survived),
    (DataType::Int32, r#"{"id": "pcodec"}"#, Survived),
    (DataType::Float64, r#"{"id": "pcodec", "delta_spec": "try_lookback"}"#, Survived),
    (DataType::Float64, r#"{"id": "pcodec", "mode_spec": {"try_float_mult": 0.5}}"#, Survived),
    (DataType::Float32, r#"{"id": "quantize", "digits": 1, "dtype": "<f4"}"#, Survived),
    (DataType::Int32, r#"{"id": "shuffle"}"#, Survived),
    (DataType::Int32, r#"{"id": "zlib", "level": 9}"#, Found),
    (DataType::Int32, r#"{"id": "zstd"}"#, Survived),
    (DataType::Int32, r#"{"id": "zstd", "checksum": true}"#, Survived),
    (DataType::Float32, r#"{"id": "zfpy", "mode": 4, "tolerance": 0.01}"#, Survived),
    (DataType::Float64, r#"{"id": "zfpy", "mode": 5}"#, Survived),
    (DataType::Float64, r#"[{"name": "zfp", "configuration": {"mode": "reversible"}}]"#, Survived),
    (DataType::Int32, r#"[{"name": "zfp", "configuration": {"mode": "fixed_rate", "rate": 12}}]"#, Survived),
    (
        DataType::Int32,
        r#"[{"name": "n5_default", "configuration": {"codecs": [{"name": "transpose", "configuration": {"order": [0]}}, {"name": "bytes", "configuration": {"endian": "big"}}, "crc32c"]}}]"#,
        Survived,
    ),
    (
        DataType::Float64,
        r#"[{"name": "cast_value", "configuration": {"data_type": "int16"}}, {"name": "bytes", "configuration": {"endian": "big"}}]"#,
        Survived,
    ),
    (DataType::Bool, r#"["packbits"]"#, Survived),
    (DataType::Int32, r#"[{"name": "packbits", "configuration": {"last_bit": 20, "padding_encoding": "last_byte"}}]"#, Survived),
    (
        DataType::Int32,
        r#"[{"name": "scale_offset", "configuration": {"scale": 3}}, {"name": "bytes", "configuration": {"endian": "big"}}]"#,
        Survived,
    ),
    (
        DataType::Int32,
        r#"[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "conditional", "configuration": {"codecs": ["gzip", "crc32c"]}}]"#,
        Survived,
    ),
];

fn leaf(t: DataType, json: &str, elements: u64) -> Leaf {
    let value = ozarr::metadata::json::parse_text(json).unwrap();
    let codecs = match &value {
        ozarr::metadata::json::Value::Array(list) => Codecs::V3(list.iter().map(|c| Extension::from_v3(c).unwrap()).collect()),
        one => {
            let filters = vec![Extension::from_v2(one).unwrap()];
            Codecs::V2 { order: Order::C, element: ElementType::native(t), filters, compressor: None }
        }
    };
    match Chain::parse(&codecs, t, 1).unwrap().bind(&[elements]).unwrap() {
        BoundChain::Leaf(leaf) => leaf,
        BoundChain::Sharded(_) => unreachable!(),
    }
}

/// Small numbers of that type, some of them repeated.
fn elements(t: DataType, n: usize) -> Vec<u8> {
    let number = |i: usize| (i / 3 % 29) as u8;
    match t {
        DataType::Bool => (0..n).map(|i| number(i) % 2).collect(),
        DataType::Float32 => (0..n).flat_map(|i| f32::from(number(i)).to_le_bytes()).collect(),
        DataType::Float64 => (0..n).flat_map(|i| f64::from(number(i)).to_le_bytes()).collect(),
        _ => (0..n).flat_map(|i| (0..t.size()).map(move |b| if b == 0 { number(i) } else { 0 })).collect(),
    }
}

/// One codec with a good frame of 100 elements.
struct Case {
    leaf: Leaf,
    json: &'static str,
    data: Vec<u8>,
    frame: Vec<u8>,
    flips: Flips,
}

impl Case {
    fn all() -> impl Iterator<Item = Case> {
        TABLE.iter().map(|&(t, json, flips)| {
            let (leaf, data, mut frame) = (leaf(t, json, 100), elements(t, 100), Vec::new());
            assert_eq!(leaf.stages.len(), 1, "{json}");
            leaf.stages[0].encode(&data, &mut frame).unwrap();
            let mut case = Case { leaf, json, data, frame, flips };
            if json.contains("zfp") {
                // What is not kept exactly: the data are what comes back.
                case.data = case.decode(&case.frame, case.data.len()).unwrap();
            }
            case
        })
    }

    /// Decodes to so many bytes, in both ways; checks the memory. `None` where both fail.
    fn decode(&self, frame: &[u8], n: usize) -> Option<Vec<u8>> {
        let stage = &self.leaf.stages[0];
        // What a decoder needs besides its result; more where its format says so: blocks of bzip2 of up to 900,000 bytes, dictionaries of
        // lzma as long as their header says, up to a limit. Of the latter only what is used is ever touched.
        let constant = match stage.name() {
            "bz2" => 5 << 20,
            "lzma" => 67 << 20,
            _ => 1 << 20,
        };
        let mut exact = vec![0; n];
        let (one, held) = most_held(|| stage.decode(frame, Dest::Exact(&mut exact)));
        assert!(held <= 2 * n + constant, "{}: {held} bytes held for {n}", self.json);
        let mut grown = Vec::new();
        let (two, held) = most_held(|| stage.decode(frame, Dest::AtMost(&mut grown, n)));
        assert!(held <= 3 * n + constant, "{}: {held} bytes held for {n}", self.json);
        for e in [&one, &two].into_iter().filter_map(|r| r.as_ref().err()) {
            assert!(!e.message().is_empty(), "{}", self.json);
        }
        match (one, two) {
            (Ok(()), two) => {
                assert!(two.is_ok() && exact == grown, "{}", self.json);
                Some(exact)
            }
            // Fewer bytes than expected: the chunk's own size check, in the engine, finds it.
            (Err(_), Ok(())) => Some(grown).filter(|g| g.len() == n),
            (Err(_), Err(_)) => None,
        }
    }

    fn refuses(&self, frame: &[u8], what: &str) {
        assert_eq!(self.decode(frame, self.data.len()), None, "{}: {what} is not found", self.json);
    }
}

#[test]
fn the_table_has_every_codec() {
    let known = |codecs: Codecs| {
        let e = Chain::parse(&codecs, DataType::Int32, 1).err().unwrap();
        e.message().split("known are ").nth(1).unwrap().split(", ").map(str::to_string).collect::<Vec<_>>()
    };
    let v2 = known(Codecs::V2 {
        order: Order::C,
        element: ElementType::native(DataType::Int32),
        filters: vec![Extension::new("nosuch", Default::default())],
        compressor: None,
    });
    assert!(v2.len() > 20, "{v2:?}");
    // Those of variable length have such tests of their own, beside them.
    let variable = ["vlen-utf8", "vlen-bytes", "vlen_v2", "zarrs.vlen_v2", "vlen-array", "json2", "msgpack2", "categorize", "vlen"];
    for id in v2.into_iter().filter(|id| !variable.contains(&id.as_str())) {
        assert!(TABLE.iter().any(|(_, json, _)| json.contains(&format!(r#""id": "{id}""#))), "no row for {id}");
    }
    for name in known(Codecs::V3(vec![Extension::new("nosuch", Default::default())])) {
        let id = name.strip_prefix("numcodecs.").or(name.strip_prefix("zarrs.")).unwrap_or(&name);
        let shapes = ["bytes", "endian", "reshape", "sharding_indexed", "squeeze", "transpose"].contains(&id) || variable.contains(&id);
        assert!(shapes || TABLE.iter().any(|(_, json, _)| json.contains(&format!(r#""{id}""#))), "no row for {name}");
    }
}

#[test]
fn good_frames_decode() {
    for case in Case::all() {
        assert_eq!(case.decode(&case.frame, case.data.len()).as_ref(), Some(&case.data), "{}", case.json);
    }
}

#[test]
fn cuts_at_every_byte_are_found() {
    for case in Case::all() {
        for cut in 0..case.frame.len() {
            // A zfp stream may end at a byte instead of a word: without padding it is whole.
            let padding = case.json.contains("zfp") && case.frame[cut..].iter().all(|b| *b == 0) && case.frame.len() - cut < 8;
            let whole = padding && case.decode(&case.frame[..cut], case.data.len()).is_some_and(|d| d == case.data);
            if !whole {
                case.refuses(&case.frame[..cut], &format!("a cut at {cut} of {}", case.frame.len()));
            }
        }
    }
}

#[test]
fn bytes_behind_the_end_are_found() {
    for case in Case::all() {
        for tail in [&[0xaa][..], &[0xff; 16], &case.frame] {
            case.refuses(&[&case.frame, tail].concat(), &format!("a tail of {} bytes", tail.len()));
        }
    }
}

#[test]
fn flipped_bits_are_survived_and_by_checksums_found() {
    for case in Case::all() {
        for at in (0..case.frame.len() * 8).step_by(apart(3)) {
            let mut bad = case.frame.clone();
            bad[at / 8] ^= 1 << (at % 8);
            let decoded = case.decode(&bad, case.data.len());
            // A bit that decides nothing (of lzma's context, say) may leave the data as they are.
            assert!(case.flips == Survived || decoded.is_none_or(|d| d == case.data), "{}: bit {at}", case.json);
        }
    }
}

#[test]
fn lying_numbers_are_survived() {
    for case in Case::all() {
        for at in 0..case.frame.len().saturating_sub(3).min(64) {
            for lie in [[0; 4], [0xff; 4], [0xff, 0xff, 0xff, 0x7f], [1, 0, 0, 0], [0, 0, 0, 0x80], [0, 0, 0x10, 0]] {
                let mut bad = case.frame.clone();
                bad[at..at + 4].copy_from_slice(&lie);
                let _ = case.decode(&bad, case.data.len());
            }
        }
    }
}

#[test]
fn other_sizes_than_expected_are_found() {
    for case in Case::all() {
        let unit = case.leaf.layout.element.size();
        for n in [0, case.data.len() - unit, case.data.len() + unit, case.data.len() * 100] {
            // In v3's packbits without a count, the size is what is expected of it.
            assert_eq!(
                case.decode(&case.frame, n).filter(|d| !case.json.starts_with(r#"["packbits"#) || d.len().div_ceil(8) != 13),
                None,
                "{}: {n}",
                case.json
            );
        }
    }
}

#[test]
fn more_than_expected_is_found_without_its_memory() {
    for &(t, json, flips) in TABLE {
        let n = (4 << 20) / apart(4);
        let leaf = leaf(t, json, n as u64 / t.size() as u64);
        let (data, mut frame) = (vec![0; n], Vec::new());
        leaf.stages[0].encode(&data, &mut frame).unwrap();
        let case = Case { leaf, json, data, frame, flips };
        for expected in [0, 1600, 64_000] {
            assert_eq!(case.decode(&case.frame, expected), None, "{json}: {expected}");
        }
    }
}

#[test]
fn the_first_bytes_are_looked_at_before_the_memory_for_all_is_taken() {
    let names = ["blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd"];
    let compresses = |json: &str| names.iter().any(|name| json.starts_with(&format!(r#"{{"id": "{name}""#)));
    for &(_, json, _) in TABLE.iter().filter(|row| compresses(row.1)) {
        let n = 6 << 20;
        let (stage, mut frame) = (leaf(DataType::UInt8, json, n as u64).stages[0].clone(), Vec::new());
        let data: Vec<u8> = (0..n).map(|i| if i < 100_000 { (i / 64) as u8 } else { 0 }).collect();
        stage.encode(&data, &mut frame).unwrap();
        let (mut out, looks) = (Vec::new(), Cell::new(0));
        let good = |first: &[u8]| {
            looks.set(looks.get() + 1);
            assert!(*first == data[..FIRST_BYTES], "{json}");
            Ok(())
        };
        stage.decode(&frame, Dest::Checked(&mut out, 1 << 30, &good)).unwrap();
        assert!(out == data && looks.get() == 1, "{json}: {} looks", looks.get());
        let refuse = |_: &[u8]| Err(Error::new(ErrorKind::Chunk, "too few elements"));
        let (result, held) = most_held(|| stage.decode(&frame, Dest::Checked(&mut Vec::new(), 1 << 30, &refuse)));
        assert_eq!(result.unwrap_err().message(), "too few elements", "{json}");
        let constant = match json {
            json if json.contains("lzma") => 67 << 20,
            json if json.contains("bz2") => 5 << 20,
            _ => 2 << 20,
        };
        assert!(held <= constant, "{json}: {held} bytes held");
        let (result, _) = most_held(|| stage.decode(&frame, Dest::Checked(&mut Vec::new(), n - 1, &good)));
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Chunk, "{json}: more than allowed");
    }
}
