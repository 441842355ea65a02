//! `ozarr verify` on stores with each damage planted.

mod program;

use program::Folder;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// A store with a plain array, a compressed one, a sharded one and one of version 2, all consolidated.
fn store(name: &str) -> Folder {
    let folder = Folder::new(name);
    let numbers: Vec<u8> = (1..=64u8).collect();
    for line in [
        "run.zarr/g/plain --compressor none",
        "run.zarr/g/zstd --compressor zstd",
        "run.zarr/g/sums --codec bytes --codec crc32c",
        "run.zarr/g/shards --inner-chunks 2,2",
    ] {
        folder.ok(&format!("create {line} --type uint8 --shape 7,8 --chunks 4,4"));
        folder.bytes(&format!("write {} --raw", line.split(' ').next().unwrap()), &numbers[..56]);
    }
    folder.ok("consolidate run.zarr");
    folder
}

/// The lines about faults, without the message behind the key.
fn faults(folder: &Folder, arguments: &str) -> (Vec<String>, Option<i32>) {
    let ran = folder.run_with(&format!("verify {arguments}"), &[]);
    let text = String::from_utf8(ran.out).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.pop();
    let mut found: Vec<String> = lines.iter().map(|line| line.split(": ").next().unwrap().to_string()).collect();
    found.sort();
    (found, ran.status)
}

fn change(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(file).unwrap();
    change(&mut bytes);
    std::fs::write(file, bytes).unwrap();
}

fn pipe(file: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(file).status().unwrap().success());
}

#[test]
fn a_store_without_faults_has_none() {
    let folder = store("verify-good");
    let all = "6 nodes, 16 chunks decoded, 0 faults, 0 mended\n";
    assert_eq!(folder.ok("verify run.zarr"), all);
    assert_eq!(folder.ok("verify run.zarr --quick"), all.replace("decoded", "listed"));
    assert_eq!(folder.ok("verify run.zarr/g/plain"), "1 node, 4 chunks decoded, 0 faults, 0 mended\n");
    assert_eq!(folder.ok("verify run.zarr g/plain --json"), "{\"nodes\":1,\"chunks\":4,\"faults\":0,\"repaired\":0}\n");
    folder.ok("cp run.zarr run.zip");
    assert_eq!(folder.ok("verify run.zip"), all);
    assert_eq!(folder.run_with("verify run.zarr/none", &[]).status, Some(1));
}

#[test]
fn each_planted_fault_is_told_with_its_key() {
    type Plant = fn(&Path);
    // What is planted below `g`, the line that tells of it, and whether that needs the chunks to be read.
    let cases: &[(&str, Plant, &str, bool)] = &[
        ("a chunk is cut", |g| change(&g.join("plain/c/0/1"), |b| b.truncate(9)), "damaged  g/plain/c/0/1", true),
        ("a chunk at the edge is too long", |g| change(&g.join("plain/c/1/1"), |b| b.push(0)), "damaged  g/plain/c/1/1", true),
        ("a compressed chunk is cut", |g| change(&g.join("zstd/c/1/0"), |b| b.truncate(b.len() - 1)), "damaged  g/zstd/c/1/0", true),
        ("a bit changed under a checksum", |g| change(&g.join("sums/c/0/0"), |b| b[5] ^= 4), "damaged  g/sums/c/0/0", true),
        (
            "the index of a shard is damaged",
            |g| change(&g.join("shards/c/0/0"), |b| *b.last_mut().unwrap() ^= 1),
            "damaged  g/shards/c/0/0",
            true,
        ),
        ("a shard is empty", |g| change(&g.join("shards/c/1/1"), |b| b.clear()), "damaged  g/shards/c/1/1", true),
        ("a document is no JSON", |g| change(&g.join("zstd/zarr.json"), |b| b.truncate(30)), "damaged  g/zstd/zarr.json", false),
        (
            "a chunk's folder is a file",
            |g| {
                std::fs::remove_dir_all(g.join("plain/c/0")).unwrap();
                std::fs::write(g.join("plain/c/0"), b"x").unwrap();
            },
            "unreadable  g/plain/c/0",
            false,
        ),
        (
            "a chunk is a folder",
            |g| {
                std::fs::remove_file(g.join("plain/c/0/1")).unwrap();
                std::fs::create_dir(g.join("plain/c/0/1")).unwrap();
            },
            "unreadable  g/plain/c/0/1",
            false,
        ),
        (
            "a chunk is beyond the shape",
            |g| assert_eq!(std::fs::copy(g.join("plain/c/0/1"), g.join("plain/c/0/2")).unwrap(), 16),
            "outside  g/plain/c/0/2",
            false,
        ),
        ("a foreign file", |g| std::fs::write(g.join("plain/notes.txt"), b"x").unwrap(), "foreign  g/plain/notes.txt", false),
        (
            "a pipe is where a chunk is",
            |g| {
                std::fs::remove_file(g.join("plain/c/0/1")).unwrap();
                pipe(&g.join("plain/c/0/1"));
            },
            "unreadable  g/plain/c/0/1",
            false,
        ),
        ("a pipe is where nothing belongs", |g| pipe(&g.join("plain/p")), "foreign  g/plain/p", false),
        (
            "a pipe is where a document is",
            |g| {
                std::fs::remove_file(g.join("zstd/zarr.json")).unwrap();
                pipe(&g.join("zstd/zarr.json"));
            },
            "unreadable  g/zstd/zarr.json",
            false,
        ),
        ("a socket", |g| drop(UnixListener::bind(g.join("s")).unwrap()), "foreign  g/s", false),
        (
            "a chunk is a link to nothing",
            |g| {
                std::fs::remove_file(g.join("plain/c/1/0")).unwrap();
                symlink("nothing", g.join("plain/c/1/0")).unwrap();
            },
            "unreadable  g/plain/c/1/0",
            false,
        ),
        (
            "a chunk is a link in a circle",
            |g| {
                std::fs::remove_file(g.join("plain/c/1/0")).unwrap();
                symlink("0", g.join("plain/c/1/0")).unwrap();
            },
            "unreadable  g/plain/c/1/0",
            false,
        ),
        ("a link in a circle is where nothing belongs", |g| symlink("p", g.join("plain/p")).unwrap(), "foreign  g/plain/p", false),
        (
            "a name that is no text",
            |g| std::fs::write(g.join(OsStr::from_bytes(b"plain/n\xff")), b"x").unwrap(),
            "foreign  g/plain/n\\xff",
            false,
        ),
        (
            "a temporary file",
            |g| std::fs::write(g.join("plain/c/0/.ozarr-7-1-1-1.tmp"), b"x").unwrap(),
            "temporary  g/plain/c/0/.ozarr-7-1-1-1.tmp",
            false,
        ),
        (
            "stale consolidated metadata",
            |g| {
                change(&g.join("sums/zarr.json"), |b| {
                    let text = String::from_utf8(std::mem::take(b)).unwrap().replace("\"fill_value\": 0", "\"fill_value\": 1");
                    *b = text.into_bytes();
                })
            },
            "stale  zarr.json",
            false,
        ),
        (
            "a codec that nobody has",
            |g| {
                change(&g.join("zstd/zarr.json"), |b| {
                    let text = String::from_utf8(std::mem::take(b)).unwrap().replace("\"zstd\"", "\"none.such\"");
                    *b = text.into_bytes();
                })
            },
            "unsupported  g/zstd/zarr.json",
            false,
        ),
    ];
    for (i, (what, plant, line, is_read)) in cases.iter().enumerate() {
        let folder = store(&format!("verify-{i}"));
        plant(&folder.0.join("run.zarr/g"));
        let (found, status) = faults(&folder, "run.zarr");
        assert!(found.iter().any(|fault| fault == line), "{what}: found {found:?}, expected {line:?}");
        assert_eq!(status, Some(1), "{what}");
        let others: Vec<&String> = found.iter().filter(|fault| *fault != line && !fault.starts_with("stale")).collect();
        assert!(others.is_empty(), "{what}: {others:?}");
        let (quick, status) = faults(&folder, "run.zarr --quick");
        assert_eq!((quick.iter().any(|fault| fault == line), status), (!is_read, Some(i32::from(!is_read))), "{what}, quickly: {quick:?}");
    }
}

#[test]
fn only_what_is_certainly_safe_is_mended() {
    let folder = store("verify-repair");
    let g = folder.0.join("run.zarr/g");
    std::fs::write(g.join("plain/c/0/.ozarr-7-1-1-1.tmp"), b"x").unwrap();
    change(&g.join("plain/c/0/1"), |b| b.truncate(9));
    change(&g.join("sums/zarr.json"), |b| {
        let text = String::from_utf8(std::mem::take(b)).unwrap().replace("\"fill_value\": 0", "\"fill_value\": 1");
        *b = text.into_bytes();
    });
    let ran = folder.run_with("verify run.zarr --repair", &[]);
    let text = String::from_utf8(ran.out).unwrap();
    assert!(text.contains("stale  zarr.json") && text.contains("(mended)"), "{text}");
    let json = String::from_utf8(folder.run_with("verify run.zarr/g/plain --json", &[]).out).unwrap();
    assert!(json.contains("\"kind\":\"damaged\",\"key\":\"g/plain/c/0/1\""), "{json}");
    assert!(json.contains("\"bytes\":9,\"repaired\":false}"), "{json}");
    assert!(json.contains("started; where none writes any more, erase it\",\"bytes\":1,\"repaired\":false}"), "{json}");
    // Nobody here can tell whether a process of another machine is gone; damage stays.
    let (left, status) = faults(&folder, "run.zarr");
    assert_eq!((left, status), (vec!["damaged  g/plain/c/0/1".to_string(), "temporary  g/plain/c/0/.ozarr-7-1-1-1.tmp".into()], Some(1)));
}

#[test]
fn of_more_arrays_than_are_open_at_a_time_each_is_looked_at() {
    const ARRAYS: usize = 2500;
    let folder = store("verify-many");
    let (sums, many) = (folder.0.join("run.zarr/g/sums"), folder.0.join("many.zarr"));
    folder.ok("create many.zarr --group");
    let (document, chunk) = (std::fs::read(sums.join("zarr.json")).unwrap(), std::fs::read(sums.join("c/0/0")).unwrap());
    for n in 0..ARRAYS {
        let array = many.join(format!("a{n}"));
        std::fs::create_dir_all(array.join("c/0")).unwrap();
        std::fs::write(array.join("zarr.json"), &document).unwrap();
        std::fs::write(array.join("c/0/0"), &chunk).unwrap();
    }
    assert_eq!(folder.ok("verify many.zarr"), "2501 nodes, 2500 chunks decoded, 0 faults, 0 mended\n");
    let damaged = [0, 1023, 1024, ARRAYS - 1].map(|n| format!("a{n}/c/0/0"));
    damaged.iter().for_each(|key| change(&many.join(key), |b| b[0] ^= 1));
    let mut want: Vec<String> = damaged.iter().map(|key| format!("damaged  {key}")).collect();
    want.sort();
    assert_eq!(faults(&folder, "many.zarr"), (want, Some(1)));
}

#[test]
fn links_back_to_a_group_above_are_not_followed() {
    let folder = Folder::new("links-back");
    folder.ok("create lp --group");
    folder.ok("create lp/g --group");
    folder.ok("create lp/g/a --shape 2 --type int8");
    symlink("../g", folder.0.join("lp/g/loop")).unwrap();
    symlink("../../lp", folder.0.join("lp/g/up")).unwrap();
    assert_eq!(folder.ok("verify lp"), "5 nodes, 0 chunks decoded, 0 faults, 0 mended\n");
    assert_eq!(folder.ok("tree lp").lines().count(), 5);
    let dump = folder.ok("dump lp");
    assert_eq!((dump.matches("group: ").count(), dump.matches(" a(").count()), (3, 1), "{dump}");
}

/// Consolidated metadata are compared with the documents that can be understood, and mended for these.
#[test]
fn a_damaged_document_hides_no_stale_entry_of_another_node() {
    let folder = Folder::new("verify-stale-damaged");
    for (format, document, listing) in [(3, "zarr.json", "zarr.json"), (2, ".zarray", ".zmetadata")] {
        let run = format!("run{format}.zarr");
        for name in ["lat", "mask", "time"] {
            folder.ok(&format!("create {run} {name} --type uint8 --shape 3 --dims x --attrs {{\"units\":\"right\"}} --format {format}"));
        }
        folder.ok(&format!("consolidate {run}"));
        let listed = || std::fs::read_to_string(folder.0.join(&run).join(listing)).unwrap();
        assert_eq!(listed().matches("right").count(), 3);
        // Of the first and the last node the entries are other ones.
        std::fs::write(folder.0.join(&run).join(listing), listed().replace("right", "wrong")).unwrap();
        std::fs::write(folder.0.join(&run).join("mask").join(document), "{").unwrap();
        let damaged = format!("damaged  mask/{document}");
        let stale = format!("stale  {listing}");
        assert_eq!(faults(&folder, &run), (vec![damaged.clone(), stale.clone()], Some(1)));
        assert_eq!(faults(&folder, &format!("{run} --repair")), (vec![damaged.clone(), stale], Some(1)));
        // What is listed of the damaged one stays.
        assert_eq!((listed().matches("right").count(), listed().matches("wrong").count()), (2, 1), "{}", listed());
        assert_eq!(faults(&folder, &run), (vec![damaged], Some(1)));
    }
}
