//! Tests of values that come in pieces: what waits beside the archive, and what is left of it.

use super::repair::repair;
use super::tests::{Folder, content, keys, named_archive, put, reader};
use super::value::MOST_WAITING;
use super::*;
use crate::error::ErrorKind;
use crate::store::fault::{self, Fault, fail};
use crate::store::file_options::SyncMode;
use crate::store::get;
use crate::store::os::Call;
use crate::store::suite::names_in;
use std::collections::BTreeSet;

const MANY: usize = 2 * MOST_WAITING + 77;

fn shared(path: &Path) -> Arc<ZipStore> {
    open_shared(path, true, SyncMode::Batch).unwrap()
}

/// Bytes of which each tells its place.
fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect()
}

fn staged(store: &ZipStore, key: &str, value: &[u8], piece: usize) -> Result<Staged> {
    let mut staged = store.stage(key)?;
    staged.expect(value.len() as u64);
    value.chunks(piece).try_for_each(|piece| staged.append(piece))?;
    Ok(staged)
}

fn publish(store: &ZipStore, key: &str, staged: Staged) -> Result<()> {
    (store as &dyn Storage).publish(key, staged)
}

fn names(path: &Path) -> Vec<String> {
    names_in(path.parent().unwrap())
}

#[test]
fn values_in_pieces_are_those_in_one_whatever_their_lengths() {
    let folder = Folder::new();
    let (path, mut expected) = (folder.file("x.zip"), Vec::new());
    let store = shared(&path);
    for len in [0, 1, MOST_WAITING, MOST_WAITING + 1, MANY] {
        for piece in [MOST_WAITING / 3, MOST_WAITING + 5] {
            for head in BTreeSet::from([0, 9, MOST_WAITING + 3, len]).into_iter().filter(|&head| head <= len) {
                let (key, mut value) = (format!("{len}/{piece}/{head}"), bytes(len));
                let mut staged = staged(&store, &key, &value, piece).unwrap();
                value[..head].fill(7);
                staged.replace_head(&value[..head]).unwrap();
                assert!(staged.replace_head(&vec![0; len + 1]).is_err(), "{key}: a head that is longer");
                assert!(store.slot(&key).is_none(), "{key}: before it is published");
                publish(&store, &key, staged).unwrap();
                assert!(get(&*store, &key, len).unwrap().unwrap() == value, "{key}");
                expected.push((key, value));
            }
        }
    }
    drop(store);
    expected.sort();
    assert!(content(&reader(&path).unwrap()) == expected);
    assert_eq!(names(&path), ["x.zip"]);
}

#[test]
fn what_is_given_up_half_way_leaves_nothing() {
    let folder = Folder::new();
    let path = folder.file("not/yet/x.zip");
    let store = shared(&path);
    let given_up = staged(&store, "k", &bytes(MANY), MOST_WAITING).unwrap();
    assert_eq!(names_in(&folder.file("")), [""; 0], "what waits has no name");
    drop(given_up);
    store.flush().unwrap();
    assert_eq!(names_in(&folder.file("")), [""; 0]);
    put(&*store, "k", b"1");
    store.flush().unwrap();
    let before = std::fs::read(&path).unwrap();
    let late = staged(&store, "k", &bytes(MANY), MOST_WAITING).unwrap();
    drop(store);
    let Staged::Other(late) = late else { panic!() };
    assert_eq!(late.publish().unwrap_err().kind(), ErrorKind::State, "the archive is closed");
    assert!(std::fs::read(&path).unwrap() == before);
    assert_eq!(names(&path), ["x.zip"]);
    assert_eq!(open_shared(&path, false, SyncMode::None).unwrap().stage("k").err().unwrap().kind(), ErrorKind::ReadOnly);
    assert_eq!(shared(&path).stage("k/.DS_Store").err().unwrap().kind(), ErrorKind::Name, "told before the first piece comes");
}

#[test]
fn a_failed_piece_or_publication_leaves_what_was_there() {
    let (_folder, path) = named_archive();
    let store = shared(&path);
    put(&*store, "k", b"1");
    store.flush().unwrap();
    drop(store);
    let (before, value) = (std::fs::read(&path).unwrap(), bytes(MANY));
    let calls = [(Call::Write, libc::ENOSPC), (Call::Open, libc::EMFILE), (Call::Unlink, libc::EIO), (Call::Read, libc::EIO)];
    for (call, errno) in calls {
        for after in 0.. {
            let store = shared(&path);
            let done = || publish(&store, "k", staged(&store, "k", &value, MOST_WAITING / 2)?);
            let (done, left) = fault::with(&[Fault { after, ..fail(call, errno) }], done);
            if left > 0 {
                done.unwrap();
                assert!(after > 0, "{call:?}");
                break;
            }
            let Err(e) = done else {
                assert!(call == Call::Open && after == 1, "the look for what was left may fail");
                drop(store);
                std::fs::write(&path, &before).unwrap();
                continue;
            };
            let place = path.parent().unwrap().to_str().unwrap();
            assert!(e.os_errno() == errno && e.message().contains(place), "{call:?} {after}: {e:?}");
            assert_eq!(get(&*store, "k", 9).unwrap().unwrap(), b"1");
            store.flush().unwrap();
            drop(store);
            assert!(std::fs::read(&path).unwrap() == before, "{call:?} {after}");
        }
        std::fs::write(&path, &before).unwrap();
    }
    // A short write is gone on with.
    let store = shared(&path);
    let short = Fault { effect: fault::Effect::Short(10_001), times: usize::MAX, ..fail(Call::Write, 0) };
    fault::with(&[short], || publish(&store, "k", staged(&store, "k", &value, MOST_WAITING / 2)?)).0.unwrap();
    drop(store);
    assert!(content(&reader(&path).unwrap()) == [("k".to_string(), value)]);
}

#[test]
fn where_the_folder_takes_no_file_the_value_waits_in_memory() {
    for errno in [libc::EACCES, libc::EPERM, libc::EROFS, libc::EDQUOT] {
        let (_folder, path) = named_archive();
        let store = shared(&path);
        put(&*store, "a", b"1");
        let value = bytes(MANY);
        let (waiting, left) = fault::with(&[fail(Call::Open, errno)], || staged(&store, "k", &value, MOST_WAITING));
        assert_eq!(left, 0);
        publish(&store, "k", waiting.unwrap()).unwrap();
        drop(store);
        assert!(get(&reader(&path).unwrap(), "k", MANY).unwrap().unwrap() == value);
    }
}

#[test]
fn an_archive_whose_writer_dies_before_or_while_a_value_is_published_has_the_old_one() {
    let (folder, path) = named_archive();
    let store = shared(&path);
    let (old, new) = (bytes(MOST_WAITING), bytes(MANY));
    put(&*store, "k", &old);
    store.flush().unwrap();
    let waiting = staged(&store, "k", &new, MOST_WAITING).unwrap();
    put(&*store, "l", b"1");
    let early = std::fs::read(&path).unwrap();
    publish(&store, "k", waiting).unwrap();
    let torn = std::fs::read(&path).unwrap();
    let data = torn.len() - new.len();
    for cut in [early.len(), early.len() + 5, data, data + 1, data + MOST_WAITING, torn.len() - 1, torn.len()] {
        let file = folder.with("cut.zip", &torn[..cut]);
        repair(&file).unwrap();
        let expected = if cut < torn.len() { &old } else { &new };
        let saved = reader(&file).unwrap();
        assert!(get(&saved, "k", MANY).unwrap().unwrap() == *expected, "{cut}");
        assert_eq!(keys(&saved), ["k", "l"]);
    }
}

#[test]
fn threads_stage_and_put_and_flush_at_the_same_time() {
    let (_folder, path) = named_archive();
    let store = shared(&path);
    std::thread::scope(|scope| {
        for i in 0..3 {
            let store = &store;
            scope.spawn(move || {
                let value = bytes(MANY + i);
                for round in 0..3 {
                    // Both are of one key, and both are whole.
                    let key = ["own".to_string() + &i.to_string(), "all".to_string()][round % 2].clone();
                    let waiting = staged(store, &key, &value, MOST_WAITING / 3).unwrap();
                    put(&**store, &format!("small/{i}/{round}"), &[i as u8]);
                    store.flush().unwrap();
                    publish(store, &key, waiting).unwrap();
                }
            });
        }
    });
    drop(store);
    let (found, numbers) = (content(&reader(&path).unwrap()), 0..3);
    assert_eq!(found.len(), 3 + 1 + 9);
    let value_of = |name: &str| found.iter().find(|(key, _)| key == name).map(|(_, value)| value).unwrap();
    assert!(numbers.clone().all(|i| *value_of(&format!("own{i}")) == bytes(MANY + i)));
    assert!(numbers.into_iter().any(|i| *value_of("all") == bytes(MANY + i)));
    assert_eq!(names(&path), ["x.zip"]);
}

/// Runs `child` in a child of `fork`; returns whether it said so.
fn in_child(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child touches the store and its files only, and ends by `_exit`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let said = child();
        // SAFETY: ends the child.
        unsafe { libc::_exit(if said { 42 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: `status` is an int.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    libc::WEXITSTATUS(status) == 42
}

#[test]
fn a_child_of_fork_leaves_what_waits_to_its_parent() {
    let (_folder, path) = named_archive();
    let store = shared(&path);
    let value = bytes(MANY);
    let mut waiting = staged(&store, "k", &value[..MANY - 5], MOST_WAITING).unwrap();
    let is_forked = |done: Result<()>| done.is_err_and(|e| e.kind() == ErrorKind::Forked);
    let refused = in_child(|| {
        let changes = is_forked(waiting.replace_head(b"x")) && is_forked(waiting.append(&[1; MOST_WAITING]));
        let published = match staged(&store, "l", b"1", 9) {
            Ok(small) => is_forked(publish(&store, "l", small)),
            Err(_) => false,
        };
        drop(std::mem::replace(&mut waiting, Staged::Memory(Vec::new())));
        changes && published
    });
    assert!(refused);
    waiting.append(&value[MANY - 5..]).unwrap();
    publish(&store, "k", waiting).unwrap();
    drop(store);
    assert!(content(&reader(&path).unwrap()) == [("k".to_string(), value)]);
}

#[test]
fn what_a_killed_process_left_that_made_a_file_goes_with_the_next() {
    let (_folder, path) = named_archive();
    let value = bytes(MANY);
    let left = in_child(|| {
        let store = shared(&path);
        let (failed, _) = fault::with(&[fail(Call::Unlink, libc::EIO)], || staged(&store, "k", &value, MOST_WAITING));
        failed.is_err()
    });
    assert!(left && names(&path).len() == 1, "{:?}", names(&path));
    let store = shared(&path);
    drop(staged(&store, "k", &value, MOST_WAITING).unwrap());
    assert_eq!(names(&path), [""; 0]);
    assert_eq!(store.capabilities().swept, 1);
}

#[test]
fn what_waits_by_a_descriptor_that_is_another_files_by_now_is_not_put() {
    // The archive's own, or one of the program.
    for taken in [0, 16] {
        let folder = Folder::new();
        let (path, value) = (folder.file("x.zip"), bytes(MANY));
        let mine = folder.with("mine", &bytes(3 * MANY));
        let is_refused = in_child(|| {
            // SAFETY: nothing else is at work in the child.
            let close_all = || (3..1024).for_each(|fd| _ = unsafe { libc::close(fd) });
            close_all();
            let store = shared(&path);
            let waiting = staged(&store, "k", &value, MOST_WAITING).unwrap();
            close_all();
            let files: Vec<_> = (0..taken).map(|_| std::fs::File::open(&mine).unwrap()).collect();
            let refused = publish(&store, "k", waiting).is_err_and(|e| e.os_errno() == libc::EBADF);
            put(&*store, "l", b"1");
            refused && files.iter().all(|file| file.metadata().is_ok()) && store.flush().is_ok() && get(&*store, "l", 9).is_ok()
        });
        assert!(is_refused, "{taken}");
        assert_eq!(keys(&reader(&path).unwrap()), ["l"], "{taken}");
    }
}

#[test]
fn an_archive_that_opens_for_reading_at_the_second_try_is_looked_at_again() {
    let (_folder, path) = named_archive();
    put(&*shared(&path), "a", b"1");
    let (opened, left) = fault::with(&[fail(Call::Open, libc::EIO)], || open_shared(&path, false, SyncMode::None));
    let reader = opened.unwrap();
    assert_eq!(left, 0);
    put(&*shared(&path), "b", b"2");
    assert_eq!(get(&*reader, "b", 9).unwrap().unwrap(), b"2");
}
