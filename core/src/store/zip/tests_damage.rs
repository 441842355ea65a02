//! Tests of zip archives that are damaged, and of their repair.

use super::directory::*;
use super::records::{central_record, end_records};
use super::repair::{Repaired, repair};
use super::tests::*;
use super::*;
use crate::codec::Packing;
use crate::error::ErrorKind;
use crate::limits::memory_ended;
use crate::store::file_options::SyncMode;
use crate::store::{fault, get, os};

/// What a damaged archive gives: on opening, or on reading the key `k`.
fn outcome(bytes: &[u8]) -> Result<Vec<u8>> {
    let store = over_memory(bytes)?;
    get(&store, "k", 1 << 20)?.ok_or_else(|| err!(NotFound, "no key"))
}

#[test]
fn damage_is_told() {
    use ErrorKind::*;
    let good = [stored("a", b"before"), deflated("k", &[7; 5000]), stored("z", b"after")];
    assert_eq!(outcome(&archive(&good)).unwrap(), [7; 5000]);
    let with = |change: &dyn Fn(&mut Part)| {
        let mut parts = good.clone();
        change(&mut parts[1]);
        archive(&parts)
    };
    // The directory says something else than the local headers.
    let listed = |change: &dyn Fn(&mut Entry)| {
        let (bytes, _) = build(&good);
        let mut at = 0;
        let mut records = Vec::new();
        for (i, part) in good.iter().enumerate() {
            let mut entry = Entry { header: at, ..part.entry };
            at += LOCAL_LEN + part.name.len() as u64 + part.entry.stored;
            if i == 1 {
                change(&mut entry);
            }
            records.extend(central_record(&entry, &part.name));
        }
        finish(bytes, &records, 3)
    };
    let edited = |at_end: usize, bytes: &[u8]| {
        let mut whole = archive(&good);
        let at = whole.len() - at_end;
        whole[at..at + bytes.len()].copy_from_slice(bytes);
        whole
    };
    let long = |change: &dyn Fn(&mut Vec<u8>)| {
        let parts: Vec<Part> = (0..65_535).map(|i| stored(&format!("{i}"), b"")).chain([stored("k", b"1")]).collect();
        let mut whole = archive(&parts);
        change(&mut whole);
        whole
    };
    assert_eq!(outcome(&long(&|_| {})).unwrap(), b"1");
    let whole = archive(&good);
    let quoted = |inner: &[u8]| [&whole[..whole.len() - 2], &(inner.len() as u16).to_le_bytes(), inner].concat();
    let cases: Vec<(&str, Vec<u8>, ErrorKind, &str)> = vec![
        ("nothing", vec![], Truncated, "at least 22"),
        ("no archive", b"x".repeat(100), Metadata, "no zip archive"),
        ("cut in the end record", whole[..whole.len() - 1].to_vec(), Truncated, "ozarr zip-repair"),
        ("cut in the directory", whole[..whole.len() - 40].to_vec(), Truncated, "no end record"),
        ("bytes behind", [&whole[..], b"more"].concat(), Truncated, "bytes follow the end record"),
        ("bytes in front and no entry behind them", edited(6, &[90, 0, 0, 0]), Metadata, "do not agree"),
        ("two ends that fit", quoted(&whole[whole.len() - 22..]), Metadata, "two end records"),
        ("count too large", edited(14, &[4, 0, 4, 0]), Metadata, "4 entries in 141 bytes"),
        ("count too small", edited(14, &[2, 0, 2, 0]), Metadata, "2 entries, found 3"),
        ("another offset", edited(6, &[0, 0, 0, 0]), Metadata, "do not agree"),
        ("another size", edited(10, &[47, 0, 0, 0]), Metadata, "3 entries in 47 bytes"),
        ("huge size", edited(10, &[0xfe; 4]), Limit, "exceeds the limit"),
        ("a volume", edited(18, &[1, 0]), Unsupported, "volumes"),
        ("a volume's count", edited(14, &[1, 0]), Unsupported, "volumes"),
        ("zip64 disagrees", long(&|b| *b.iter_mut().nth_back(21 - 12).unwrap() = 1), Metadata, "disagree"),
        ("zip64 is elsewhere", long(&|b| *b.iter_mut().nth_back(41 - 8).unwrap() ^= 1), Metadata, "zip64 end record"),
        ("zip64 is behind the end", long(&|b| *b.iter_mut().nth_back(41 - 13).unwrap() = 1), Metadata, "after its place"),
        ("zip64 is nowhere", long(&|b| *b.iter_mut().nth_back(41 - 15).unwrap() = 0xff), Metadata, "after its place"),
        (
            "zip64 counts too many",
            long(&|b| (b.iter_mut().nth_back(97 - 24).map(|x| *x ^= 1), b.iter_mut().nth_back(97 - 32).map(|x| *x ^= 1)).0.unwrap()),
            Metadata,
            "entries, found",
        ),
        ("slip", archive(&[stored("../k", b"")]), Name, "../k"),
        ("outside", archive(&[stored("/../k", b"")]), Name, "/../k"),
        ("overlap", listed(&|e| e.header -= 3), Metadata, "overlap"),
        ("all at one place", listed(&|e| e.header = 0), Metadata, "overlap"),
        ("beyond the directory", listed(&|e| e.header = 1 << 31), Metadata, "reaches beyond"),
        ("wraps around", listed(&|e| (e.header, e.stored) = (1 << 33, u64::MAX - 10)), Metadata, "reaches beyond"),
        ("takes too much", listed(&|e| e.stored = 1 << 40), Metadata, "reaches beyond"),
        ("a bomb's ratio", listed(&|e| e.size = 1 << 40), Metadata, "cannot be"),
        (
            "a large bomb",
            archive(&[Part { entry: Entry { size: 0, ..deflated("k", &[0; 2 << 20]).entry }, ..deflated("k", &[0; 2 << 20]) }]),
            Chunk,
            "more than the 0 bytes",
        ),
        ("over the limit", archive(&[deflated("k", &[0; 2 << 20])]), Limit, "the limit is 1048576"),
        ("says less", with(&|p| p.entry.size = 4999), Chunk, "more than the 4999"),
        ("says more", with(&|p| p.entry.size = 5001), Chunk, "inflates to 5000 bytes, expected 5001"),
        ("stored that says more", archive(&[part("k", &[0; 9], vec![0; 5], STORED)]), Metadata, "cannot be"),
        ("wrong checksum", with(&|p| p.entry.crc ^= 1), Checksum, "CRC-32"),
        ("wrong checksum, stored", archive(&[Part { data: b"1x3".to_vec(), ..stored("k", b"123") }]), Checksum, "CRC-32"),
        ("damaged data", with(&|p| p.data[0] = 0xff), Chunk, "damaged"),
        ("encrypted", with(&|p| p.entry.flags |= ENCRYPTED), Unsupported, "encrypted"),
        ("another method", with(&|p| p.entry.method = 98), Unsupported, "method 98"),
        ("damaged bzip2", with(&|p| p.entry.method = 12), Chunk, "damaged"),
        ("damaged lzma", with(&|p| p.entry.method = 14), Chunk, "no header of LZMA"),
        ("bzip2 that says more", archive(&[part("k", b"12", Packing::Bzip2.pack(b"1"), 12)]), Chunk, "decoded to 1 bytes, expected 2"),
        ("zstd that says far more", archive(&[part("k", &[0; 2 << 20], vec![0; 5], 93)]), Metadata, "cannot be"),
        ("wrong checksum, xz", archive(&[part("k", b"1", Packing::Xz.pack(b"2"), 95)]), Checksum, "CRC-32"),
        ("other methods", listed(&|e| (e.method, e.size) = (STORED, e.stored)), Chunk, "the method is 8, expected 0"),
        ("other sizes", listed(&|e| e.size += 1), Chunk, "the size is 5000, expected 5001"),
        ("other stored sizes", listed(&|e| e.stored -= 1), Chunk, "the stored size"),
        ("no local header", listed(&|e| (e.header, e.stored) = (e.header + 1, e.stored - 1)), Chunk, "no local header"),
    ];
    for (what, bytes, kind, text) in cases {
        let e = outcome(&bytes).expect_err(what);
        assert!(e.kind() == kind && e.to_string().contains(text), "{what}: {e:?}, expected {kind:?} with {text:?}");
    }
    let mut other_name = archive(&good);
    let at = other_name.windows(31).position(|w| w.starts_with(LOCAL) && w[30] == b'k').unwrap();
    other_name[at + 30] = b'j';
    assert!(outcome(&other_name).unwrap_err().to_string().contains("has the name \"j\""));
    let mut link = archive(&good);
    let at = link.windows(47).position(|w| w.starts_with(CENTRAL) && w[46] == b'k').unwrap();
    link[at + 40..at + 42].copy_from_slice(&0o120_777u16.to_le_bytes());
    assert!(outcome(&link).unwrap_err().to_string().contains("symbolic link"));
    let nested = archive(&[stored("inner.zip", &whole), stored("k", b"1")]);
    assert_eq!(outcome(&nested).unwrap(), b"1", "an archive in an archive is a value");
}

#[test]
fn no_changed_byte_gives_another_value() {
    let value: Vec<u8> = (0..400u32).map(|i| (i * i / 5) as u8).collect();
    let mut streamed = deflated("streamed", &value);
    streamed.streamed = true;
    let whole = archive(&[stored("a/k", &value), deflated("b", &value), streamed]);
    let before = content(&over_memory(&whole).unwrap());
    let look = |bytes: &[u8], what: String| {
        let Ok(store) = over_memory(bytes) else { return };
        for key in keys(&store) {
            match (get(&store, &key, 1 << 20), before.iter().find(|(k, _)| *k == key)) {
                (Ok(Some(found)), Some((_, expected))) => assert!(found == *expected, "{what}: {key} has another value"),
                (Ok(Some(_)), None) => panic!("{what}: found the value of a key {key:?} that is none"),
                _ => {}
            }
        }
    };
    for at in 0..whole.len() {
        look(&whole[..at], format!("cut at {at}"));
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            look(&bytes, format!("bit {bit} of byte {at}"));
        }
    }
}

#[test]
fn large_numbers_stand_in_zip64_fields() {
    let far = 5 << 32;
    for entry in [
        Entry { header: far, ..stored("k", b"1").entry },
        Entry { stored: far, size: far, ..stored("k", b"").entry },
        Entry { header: far, stored: far + 1, size: far + 1, ..stored("k", b"").entry },
        Entry { header: u32::MAX.into(), ..stored("k", b"").entry },
    ] {
        let bytes = central_record(&entry, b"k");
        let found = records(&bytes).next().unwrap().unwrap();
        assert_eq!(Entry { is_link: false, limit: 0, ..found.entry }, entry);
    }
    // A directory behind 20 GiB of nothing.
    let entry = Entry { header: far - 31, ..stored("k", b"").entry };
    let tail = [central_record(&entry, b"k"), end_records(1, 47, far).unwrap()].concat();
    let tail = if tail[46..].starts_with(b"k") && tail[47..].starts_with(&[1, 0]) {
        // its own zip64 field makes it longer
        [central_record(&entry, b"k"), end_records(1, 47 + 12, far).unwrap()].concat()
    } else {
        tail
    };
    let read = |at: u64, len: usize| match at.checked_sub(far) {
        Some(at) => read_slice(&tail, at, len),
        None if at + len as u64 <= far => Ok(vec![0; len]),
        None => Ok([vec![0; (far - at) as usize], read_slice(&tail, 0, len - (far - at) as usize)?].concat()),
    };
    let found = find(far + tail.len() as u64, &read).unwrap();
    assert_eq!((found.start, found.count), (far, 1));
    let mut all = Vec::new();
    let mut each = |key, entry: Entry| {
        all.push((key, entry.header));
        Ok(())
    };
    entries(&found, &mut each).unwrap();
    assert_eq!(all, [("k".to_string(), far - 31)]);
}

#[test]
fn memory_that_ends_while_keys_are_taken_in_or_listed_is_an_error() {
    let bytes = archive(&[stored("a/k", b"1"), stored("b", b"2")]);
    let found = find(bytes.len() as u64, &|at, len| read_slice(&bytes, at, len)).unwrap();
    let store = over_memory(&bytes).unwrap();
    let calls: [(&str, &dyn Fn() -> Result<()>); 3] = [
        ("opening", &|| map_of(&found).map(drop)),
        ("listing keys", &|| store.list("", &mut |_| Ok(()))),
        ("listing a folder", &|| store.list_dir("").map(drop)),
    ];
    for (what, call) in calls {
        memory_ended();
        assert_eq!(call().unwrap_err().kind(), ErrorKind::NoMemory, "{what}");
        call().unwrap();
    }
}

#[test]
fn a_repair_saves_what_is_whole() {
    let (folder, path, store) = new_archive();
    put(&store, "a", b"first");
    put(&store, "inner.zip", &archive(&[stored("k", b"1")]));
    store.flush().unwrap();
    let flushed = std::fs::metadata(&path).unwrap().len() as usize;
    let mut ends = vec![(flushed, content(&store))];
    for (key, value) in [("b", &b"b's value"[..]), ("a", b"second"), ("c", &[3; 300])] {
        put(&store, key, value);
        ends.push((std::fs::metadata(&path).unwrap().len() as usize, content(&store)));
    }
    let torn = std::fs::read(&path).unwrap();
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    for cut in flushed..whole.len() {
        let file = folder.with("cut.zip", &whole[..cut]);
        let done = repair(&file).unwrap();
        let (end, expected) = ends.iter().rev().find(|(end, _)| *end <= cut).unwrap();
        assert_eq!(content(&reader(&file).unwrap()), *expected, "cut at {cut}");
        assert_eq!((done.keys, done.cut), (expected.len() as u64, (cut - end) as u64), "cut at {cut}");
        assert!(!repair(&file).unwrap().changed);
    }
    // Before the first flush, with a value that was not written in the middle, and nothing at all.
    assert_eq!(repair(&folder.with("cut.zip", &torn[..flushed - 1])).unwrap().keys, 2);
    let mut hole = torn.clone();
    let at = hole.windows(9).position(|w| w == b"b's value").unwrap();
    hole[at..at + 9].fill(0);
    let done = repair(&folder.with("hole.zip", &hole)).unwrap();
    assert_eq!((done.keys, done.lost), (3, 1));
    assert_eq!(keys(&reader(&folder.file("hole.zip")).unwrap()), ["a", "c", "inner.zip"]);
    // A writer that died in its first entry, or before it.
    let first = torn.windows(5).position(|w| w == b"first").unwrap();
    for cut in 0..first + 5 {
        let file = folder.with("begun.zip", &torn[..cut]);
        assert_eq!(repair(&file).unwrap(), Repaired { keys: 0, lost: u64::from(cut >= 4), cut: cut as u64, changed: true }, "cut at {cut}");
        assert_eq!(keys(&reader(&file).unwrap()), [""; 0], "cut at {cut}");
    }
    assert_eq!(repair(&folder.with("no.zip", b"nothing of the kind")).unwrap_err().kind(), ErrorKind::Metadata);
    assert_eq!(repair(&folder.file("none.zip")).unwrap_err().os_errno(), libc::ENOENT);
}

#[test]
fn a_repair_leaves_an_archive_that_is_refused_for_another_reason_than_a_missing_end() {
    let folder = Folder::new();
    let odd = archive(&[stored("a", b"1"), stored("x//y", b"2")]);
    let mut volume = archive(&[stored("a", b"1")]);
    let at = volume.len() - 18;
    volume[at] = 1;
    let cases = [
        ("a name", &odd, ErrorKind::Name),
        ("a long name", &archive(&[stored(&"x".repeat(1025), b"")]), ErrorKind::Limit),
        ("a volume", &volume, ErrorKind::Unsupported),
    ];
    for (what, bytes, kind) in cases {
        let file = folder.with("x.zip", bytes);
        assert_eq!(repair(&file).unwrap_err().kind(), kind, "{what}");
        assert!(std::fs::read(&file).unwrap() == *bytes, "{what}");
    }
    // Where the end is missing, the names in the last whole directory stay.
    let (more, _) = build(&[stored("b", b"3")]);
    let file = folder.with("x.zip", &[odd, more].concat());
    assert_eq!(repair(&file).unwrap_err().kind(), ErrorKind::Name);
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(find(bytes.len() as u64, &|at, len| read_slice(&bytes, at, len)).unwrap().count, 3);
}

#[test]
fn a_damaged_zip64_locator_is_repaired() {
    let folder = Folder::new();
    let parts: Vec<Part> = (0..65_535).map(|i| stored(&format!("{i}"), b"")).chain([stored("k", b"1")]).collect();
    let whole = archive(&parts);
    for byte in (8..16).step_by(crate::settings::apart(8)) {
        let mut damaged = whole.clone();
        *damaged.iter_mut().nth_back(41 - byte).unwrap() ^= 0x80;
        let path = folder.with("damaged.zip", &damaged);
        assert_eq!(reader(&path).unwrap_err().kind(), ErrorKind::Metadata, "byte {byte}");
        let done = repair(&path).unwrap();
        assert_eq!((done.keys, done.lost, done.changed), (65_536, 0, true), "byte {byte}");
        assert_eq!(get(&reader(&path).unwrap(), "k", 9).unwrap().unwrap(), b"1");
    }
}

#[test]
fn bytes_in_front_of_an_archive_move_it() {
    let folder = Folder::new();
    let small = [stored("a", b"before"), deflated("k", &[7; 5000]), stored("z", b"after")].to_vec();
    let many: Vec<Part> = (0..65_535).map(|i| stored(&format!("{i}"), b"")).chain([stored("k", b"1")]).collect();
    for parts in [small, many] {
        let whole = archive(&parts);
        let plain = folder.with("plain.zip", &whole);
        let script = [&b"#!/bin/sh\nexit 1\n"[..], &b"#\n".repeat(70_000)].concat();
        for front in [&b"\n"[..], b"#!/bin/sh\nexit 1\n", &script] {
            let moved = folder.with("moved.zip", &[front, &whole].concat());
            assert!(content(&reader(&moved).unwrap()) == content(&reader(&plain).unwrap()), "{} bytes in front", front.len());
            let e = ZipStore::open(&moved, true, SyncMode::None).unwrap_err();
            assert!(e.kind() == ErrorKind::Unsupported && e.to_string().contains(&format!("{} bytes are in front", front.len())), "{e}");
        }
    }
}

#[test]
fn an_archive_that_is_the_last_value_of_an_unfinished_one_is_not_taken_for_it() {
    let folder = Folder::new();
    let inner = archive(&[stored("zarr.json", b"inner"), deflated("k", &[7; 5000])]);
    for flushed in [false, true] {
        let path = folder.file("x.zip");
        let _ = std::fs::remove_file(&path);
        let store = writer(&path);
        put(&store, "zarr.json", GROUP);
        if flushed {
            store.flush().unwrap();
        }
        put(&store, "c/0", &inner);
        let torn = folder.with("torn.zip", &std::fs::read(&path).unwrap());
        drop(store);
        let e = reader(&torn).unwrap_err();
        assert!(e.kind() == ErrorKind::Truncated && e.message().contains("zip-repair"), "{e}");
        assert_eq!(repair(&torn).unwrap(), Repaired { keys: 2, lost: 0, cut: 0, changed: true });
        assert_eq!(content(&reader(&torn).unwrap()), content(&reader(&path).unwrap()));
    }
}

#[test]
fn a_repair_keeps_the_entries_of_other_writers() {
    let folder = Folder::new();
    let mut streamed = deflated("s/streamed", &[5; 3000]);
    streamed.streamed = true;
    let path = folder.with("x.zip", &archive(&[streamed.clone(), deflated("d", &[6; 300]), stored("s/", b"")]));
    let store = writer(&path);
    put(&store, "new", b"1");
    let torn = std::fs::read(&path).unwrap();
    drop(store);
    let file = folder.with("torn.zip", &torn);
    assert_eq!(repair(&file).unwrap().keys, 3);
    assert_eq!(content(&reader(&file).unwrap()), content(&reader(&path).unwrap()));
    let (bytes, _) = build(&[deflated("d", &[6; 300]), streamed]);
    let done = repair(&folder.with("torn.zip", &bytes)).unwrap();
    assert_eq!((done.keys, done.lost), (1, 1), "without a directory nobody knows where streamed entries end");
}

/// The local header of an entry of an archive that `build` made.
fn header_of(bytes: &[u8], name: &str) -> usize {
    let is_header = |w: &[u8]| w.starts_with(LOCAL) && w[30..].starts_with(name.as_bytes());
    bytes.windows(30 + name.len()).position(is_header).unwrap()
}

#[test]
fn a_repair_goes_on_behind_what_cannot_be_read() {
    let folder = Folder::new();
    let inner = archive(&[stored("k", b"1"), stored("a", b"of the inner one")]);
    let streamed = |name| Part { streamed: true, ..deflated(name, &[5; 3000]) };
    let parts =
        [streamed("s"), stored("a", &[1; 40]), deflated("b", &[2; 3000]), stored("z.zip", &inner), stored("c", &[3; 9]), streamed("t")];
    let expected = ["a", "b", "c", "s", "t", "z.zip"];
    let (mut whole, records) = build(&parts);
    let all = whole.len();
    whole.extend(&records[..50]);
    // Without the end of its directory.
    let done = repair(&folder.with("cut.zip", &whole)).unwrap();
    assert_eq!(
        (done, keys(&reader(&folder.file("cut.zip")).unwrap())),
        (Repaired { keys: 6, lost: 0, cut: 50, changed: true }, expected.map(String::from).to_vec())
    );
    // What a damaged header makes of the entries: it alone is lost, whatever it says.
    let changes: &[(usize, &[u8])] =
        &[(0, b"XX"), (18, &[0xff, 0xff]), (20, &[1]), (18, &[1]), (18, &[49]), (26, &[0xff, 0xff]), (28, &[41]), (14, &[7]), (22, &[1])];
    for lost in ["s", "a", "b", "z.zip", "c"] {
        for (at, bytes) in changes.iter().filter(|(at, _)| lost != "s" || ![14, 18, 20, 22].contains(at)) {
            let (what, mut damaged) = (format!("{bytes:?} at {at} of {lost}"), whole.clone());
            let place = header_of(&whole, lost) + at;
            damaged[place..place + bytes.len()].copy_from_slice(bytes);
            let done = repair(&folder.with("damaged.zip", &damaged)).unwrap();
            let kept: Vec<_> = content(&reader(&folder.file("damaged.zip")).unwrap());
            let rest: Vec<_> = content(&reader(&folder.file("cut.zip")).unwrap()).into_iter().filter(|(key, _)| key != lost).collect();
            assert!(kept == rest, "{what}: {:?}", kept.iter().map(|(key, _)| key).collect::<Vec<_>>());
            assert_eq!((done.keys, done.lost, done.cut), (5, 1, 50), "{what}");
        }
    }
    // The bytes of the last entry are missing.
    let cut = folder.with("cut.zip", &whole[..all - 20]);
    assert_eq!((repair(&cut).unwrap().lost, keys(&reader(&cut).unwrap()).len()), (1, 5));
}

#[test]
fn a_repair_looks_through_the_rest_once_and_not_for_each_damaged_entry() {
    const ENTRIES: usize = 60;
    let folder = Folder::new();
    let (values, names): (Vec<Vec<u8>>, Vec<String>) = (0..ENTRIES).map(|i| (vec![1 + i as u8; 100_000], format!("k{i:03}"))).unzip();
    let parts: Vec<Part> = names.iter().zip(&values).map(|(name, value)| stored(name, value)).collect();
    let (mut whole, _) = build(&parts);
    for name in names.iter().skip(1).step_by(2) {
        let at = header_of(&whole, name);
        whole[at..at + 30].fill(0);
    }
    let path = folder.with("holes.zip", &whole);
    let reads = fault::count(os::Call::Read, || assert_eq!(repair(&path).unwrap().keys as usize, ENTRIES / 2));
    // For each entry: its header and its name, whether it is whole, and for a damaged one where the next begins.
    assert!(reads < 6 * ENTRIES, "{reads} reads");
}

#[test]
fn a_repair_empties_only_what_ends_in_its_first_entry() {
    let folder = Folder::new();
    let first = |streamed| build(&[Part { streamed, ..stored("first", &[5; 3000]) }, stored("second", b"2")]);
    let (bytes, _) = first(true);
    let file = folder.with("streamed.zip", &bytes[..2000]);
    assert_eq!(repair(&file).unwrap_err().kind(), ErrorKind::Metadata);
    assert_eq!(std::fs::read(&file).unwrap(), bytes[..2000]);
    let done = repair(&folder.with("streamed.zip", &bytes)).unwrap();
    assert_eq!((done.keys, done.lost, done.cut), (2, 0, 0));
    let (mut bytes, _) = first(false);
    let file = folder.with("plain.zip", &bytes[..2000]);
    assert_eq!(repair(&file).unwrap(), Repaired { keys: 0, lost: 1, cut: 2000, changed: true });
    bytes[20] = 1;
    let done = repair(&folder.with("plain.zip", &bytes)).unwrap();
    assert_eq!((done.keys, done.lost, done.cut), (1, 1, 0));
    // Whole archives within an entry that is torn are a part of its value.
    let inner = archive(&[stored("k", b"1"), stored("first", b"2")]);
    let (bytes, _) = build(&[stored("first", b"1"), stored("inner.zip", &[&inner[..], &[0; 100]].concat())]);
    let file = folder.with("inner.zip", &bytes[..bytes.len() - 50]);
    assert_eq!((repair(&file).unwrap().lost, content(&reader(&file).unwrap())), (1, vec![("first".to_string(), b"1".to_vec())]));
}

/// Python's `zipfile` puts a header that tells of no bytes ahead of what is written by an open file, and the right one when that is closed.
#[test]
fn a_repair_leaves_out_an_entry_that_a_writer_did_not_come_to_close() {
    let folder = Folder::new();
    let (old, other) = (stored("c/3", b"old value"), stored("c/2", b"other"));
    let (whole, records) = build(&[old.clone(), other.clone()]);
    let (alone, _) = build(std::slice::from_ref(&other));
    let remains = |header: &[u8]| records.get(header.len()..).unwrap_or_default().to_vec();
    // Behind an archive that is whole; in place of its directory, of which something may be left; and where there is no older value.
    for (what, before, kept) in [("behind", archive(&[old, other.clone()]), 2), ("instead", whole, 2), ("alone", alone, 1)] {
        for (method, data) in
            [STORED, DEFLATED].into_iter().flat_map(|method| [(method, &b"n"[..]), (method, b"new value"), (method, &[0; 5000])])
        {
            let mut begun = stored("c/3", b"");
            begun.entry.method = method;
            let torn = [build(&[begun]).0, data.to_vec()].concat();
            let file = folder.with("torn.zip", &[&before[..], &torn, &remains(&torn)].concat());
            let (done, case) = (repair(&file).unwrap(), format!("{what} {method} {}", data.len()));
            assert_eq!((done.keys, done.lost), (kept, 1), "{case}");
            let expected = [("c/2".to_string(), b"other".to_vec()), ("c/3".to_string(), b"old value".to_vec())];
            assert_eq!(content(&reader(&file).unwrap()), expected[..kept as usize], "{case}");
        }
    }
    // An empty value that ends where another entry begins is one.
    let (bytes, _) = build(&[stored("empty", b""), other]);
    let file = folder.with("empty.zip", &bytes);
    assert_eq!((repair(&file).unwrap().lost, keys(&reader(&file).unwrap()).len()), (0, 2));
}
