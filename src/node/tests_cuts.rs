//! Tests of arrays that are cut while other threads, or processes, write to them, store what waits, or change the shape, too.

use super::resize::Outside;
use super::tests::{kind, own, read_all, spec, view, write_all};
use super::tests_growth::write_box;
use super::tests_meanwhile::stored;
use super::tests_store::Due;
use super::*;
use crate::engine::{self, Selection};
use crate::error::{ErrorKind, Result};
use crate::limits::Dims;
use crate::store::SharedStore;
use crate::store::memory::MemoryStore;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// The end of what another thread does.
type Other<T> = Arc<Mutex<Option<JoinHandle<T>>>>;

fn join<T>(other: &Other<T>) -> T {
    other.lock().unwrap().take().unwrap().join().unwrap()
}

/// Has another thread do something, and waits until that is done, or waits for a lock of this one.
fn beside<T: Send + 'static>(other: &Other<T>, task: impl FnOnce() -> T + Send + 'static) {
    let thread = spawn(task);
    wait(|| thread.is_finished());
    *other.lock().unwrap() = Some(thread);
}

/// Waits until something is so, but not for long.
fn wait(is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_millis(200);
    while !is_so() && Instant::now() < end {
        sleep(Duration::from_millis(1));
    }
}

/// Ten chunks that hold 1 to 10, in a group.
fn ten_chunks(store: &Store) -> Array {
    Group::create(store, "g", None, Create::New).unwrap();
    let array = Array::create(store, "g/a", &spec(&[100], &[10]), Create::New).unwrap();
    write_all(&array, &mut (0..100).map(|i| i / 10 + 1).collect::<Vec<_>>());
    array
}

/// Cuts it to 50, erases what is beyond, and has something done in between.
fn cut(array: &Array, between: impl FnOnce()) {
    assert!(array.resize_document(|_, _| Ok(Dims::from_slice(&[50])), Outside::Erased).unwrap().is_cut);
    between();
    array.erase_beyond(&|_| Ok(()), &mut |_, _| Ok(())).unwrap();
}

#[test]
fn a_cut_erases_nothing_that_a_call_which_came_before_its_end_has_kept() {
    for is_same in [false, true] {
        let store = tests::memory();
        let array = ten_chunks(&store);
        let second = if is_same { array.clone() } else { Array::open(&store, "g/a").unwrap() };
        cut(&array, || second.resize(&[30], true).unwrap());
        second.resize(&[50], false).unwrap();
        assert_eq!(stored(&array), (0..50).map(|i| i / 10 + 1).collect::<Vec<_>>(), "{is_same}");
    }
}

#[test]
fn a_cut_erases_no_step_that_another_process_appends_before_its_end() {
    let inner = Arc::new(MemoryStore::new()) as SharedStore;
    let process = || Store::from_shared(&Context::with_threads(1), inner.clone(), Mode::ReadWrite);
    let array = ten_chunks(&process());
    let mut appender = None;
    cut(&array, || {
        let mut new = Appender::open(&Array::open(&process(), "g/a").unwrap(), 0, 1000, 0).unwrap();
        own!(new.append(10, &view(&mut [77; 10], &[10]))).unwrap();
        appender = Some(new);
    });
    appender.unwrap().close().unwrap();
    assert_eq!(stored(&array), (0..50).map(|i| i / 10 + 1).chain([77; 10]).collect::<Vec<_>>());
}

#[test]
fn what_waits_is_stored_by_any_call_while_the_array_is_cut() {
    type Call = fn(&Array) -> Result<()>;
    let calls: [(&str, Call); 6] = [
        ("resize", |array| array.resize(&[25], false)),
        ("flush", |array| array.flush()),
        ("read", |array| own!(array.read(&Selection::new(&[20], &[13], &[1], None)?, &view(&mut [0], &[1])))),
        ("append", |array| own!(array.append(0, 1, &view(&mut [9], &[1])))),
        ("close", |array| array.close()),
        ("write", |array| write_box(array, &[11], &[1], 8)),
    ];
    // The second one cuts off all that waits.
    for ((name, call), length) in calls.iter().flat_map(|call| [(*call, 15), (*call, 12)]) {
        let due = Due::default();
        let array = Array::create(&due.in_memory(), "a", &spec(&[20], &[10]), Create::New).unwrap();
        write_all(&array, &mut [1; 20]);
        // There is no room for bits of a chunk whose parts make no box: what waits is stored before the write.
        array.set_write_back(40).unwrap();
        let kept = array.state().bound("a").unwrap().write_back.clone().unwrap();
        let other = Other::default();
        let (theirs, begun, then, waiting) = (other.clone(), array.clone(), due.clone(), kept.clone());
        due.set("a/zarr.json opened", move || {
            write_box(&begun, &[13], &[5], 5).unwrap();
            let (at, is_at) = mpsc::channel();
            let cut = begun.clone();
            then.set("a/c/1 opened", move || {
                at.send(()).unwrap();
                wait(|| cut.shape()[0] == length);
                // What drops what is behind the end has the time to.
                sleep(Duration::from_millis(20));
                assert!(waiting.bytes() > 0, "what is used is given to nobody else");
            });
            *theirs.lock().unwrap() = Some(spawn(move || call(&begun)));
            is_at.recv().unwrap();
        });
        array.resize(&[length], false).unwrap();
        assert!(due.is_over());
        join(&other).unwrap_or_else(|e| panic!("{name}, {length}: {e}"));
        array.flush().unwrap();
        assert_eq!(kept.bytes(), 0, "{name}, {length}");
        let n = length as usize;
        let mut want = vec![1; n];
        (13..n).for_each(|i| want[i] = 5);
        match name {
            "resize" => want.resize(25, 0),
            "append" => want.push(9),
            "write" => want[11] = 8,
            _ => {}
        }
        assert_eq!(stored(&array), want, "{name}, {length}");
        array.resize(&[30], false).unwrap();
        want.resize(30, 0);
        assert_eq!(stored(&array), want, "{name}, {length}");
    }
}

#[test]
fn a_part_that_comes_to_wait_while_the_array_is_cut_is_erased_or_kept_or_refused() {
    const CHUNK: u64 = 1 << 22;
    let [long, cut, part, longer] = [7, 3, 5, 6].map(|n| n * CHUNK / 8);
    for keeps in [false, true] {
        let array = Array::create(&tests::memory(), "a", &spec(&[long], &[CHUNK]), Create::New).unwrap();
        array.set_write_back(1 << 30).unwrap();
        let writer = array.clone();
        let thread = spawn(move || write_box(&writer, &[0], &[part as i64], 5));
        // There is room for it, and it is on its way there.
        let kept = array.state().bound("a").unwrap().write_back.clone().unwrap();
        while kept.bytes() == 0 {
            std::hint::spin_loop();
        }
        array.resize(&[cut], keeps).unwrap();
        let written = thread.join().unwrap();
        let there = if written.is_ok() && keeps { part - cut } else { 0 };
        assert!(written.is_ok() || kind(written) == ErrorKind::Bounds);
        array.resize(&[longer], false).and_then(|()| array.flush()).unwrap();
        let beyond = stored(&array).iter().skip(cut as usize).filter(|&&value| value != 0).count();
        assert_eq!(beyond as u64, there, "{keeps}");
    }
}

#[test]
fn what_waits_behind_the_end_of_an_array_that_another_handle_has_cut_comes_back_no_more() {
    let store = tests::memory();
    let array = Array::create(&store, "a", &spec(&[10], &[16]), Create::New).unwrap();
    write_all(&array, &mut [1; 10]);
    array.set_write_back(1 << 20).unwrap();
    write_box(&array, &[5], &[4], 5).unwrap();
    Array::open(&store, "a").unwrap().resize(&[7], false).unwrap();
    array.refresh().and_then(|()| array.resize(&[12], false)).and_then(|()| array.flush()).unwrap();
    assert_eq!(stored(&array), [1, 1, 1, 1, 1, 5, 5, 0, 0, 0, 0, 0]);
}

#[test]
fn a_chunk_that_is_stored_for_the_first_time_while_the_array_is_cut_brings_nothing_back() {
    // More chunks are listed.
    for (length, write, key) in [(10, 10, "a/c/0"), (20_000, 30, "a/c/2"), (20_000, 10, "a/c/0")] {
        let due = Due::default();
        let array = Array::create(&due.in_memory(), "a", &spec(&[length], &[10]), Create::New).unwrap();
        let (cut, other) = (array.clone(), Other::default());
        let theirs = other.clone();
        due.set(key, move || beside(&theirs, move || cut.resize(&[7], false)));
        write_box(&array, &[0], &[write], 5).unwrap();
        assert!(due.is_over());
        join(&other).and_then(|()| array.resize(&[30], false)).unwrap();
        let want: Vec<i32> = (0..30).map(|i| if i < 7 { 5 } else { 0 }).collect();
        assert_eq!(stored(&array), want, "{length}, {key}");
    }
}

#[test]
fn what_waits_is_kept_outside_where_a_cut_keeps_what_is_outside() {
    for write_back in [0, 1 << 20] {
        for length in [7, 12, 15] {
            let due = Due::default();
            let array = Array::create(&due.in_memory(), "a", &spec(&[20], &[10]), Create::New).unwrap();
            write_all(&array, &mut [1; 20]);
            array.set_write_back(write_back).unwrap();
            let (other, old) = (array.clone(), array.state().bound("a").unwrap());
            due.set("a/zarr.json opened", move || write_box(&other, &[13], &[5], 5).unwrap());
            array.resize(&[length], true).unwrap();
            assert!(due.is_over());
            // One that began before would come too late.
            let part = Selection::new(&[20], &[14], &[3], None).unwrap();
            let late = own!(engine::write(&old, &part, &view(&mut [6; 3], &[3])));
            assert_eq!(kind(late), ErrorKind::Bounds, "{write_back}, {length}");
            array.flush().and_then(|()| array.resize(&[20], false)).and_then(|()| array.flush()).unwrap();
            let want: Vec<i32> = (0..20).map(|i| if (13..18).contains(&i) { 5 } else { 1 }).collect();
            assert_eq!((stored(&array), read_all(&array)), (want.clone(), want), "{write_back}, {length}");
        }
    }
}

/// A function of the program that runs meanwhile may change the array that is cut.
#[test]
fn a_cut_waits_for_no_chunk_of_another_array() {
    // More chunks are listed.
    for length in [20, 20_000] {
        let due = Due::default();
        let store = due.in_memory();
        let [array, other] = ["a", "b"].map(|path| Array::create(&store, path, &spec(&[length], &[10]), Create::New).unwrap());
        due.set("b/c/0", move || {
            let (cut, end) = (spawn(move || array.resize(&[7], false)), Instant::now() + Duration::from_secs(10));
            while !cut.is_finished() {
                assert!(Instant::now() < end, "{length}");
                sleep(Duration::from_millis(1));
            }
            cut.join().unwrap().unwrap();
        });
        write_box(&other, &[0], &[10], 5).unwrap();
        assert!(due.is_over());
    }
}

#[test]
fn a_shape_is_told_above_where_what_waits_outside_cannot_be_stored() {
    let due = Due::default();
    let store = due.in_memory();
    let root = Group::create(&store, "", None, Create::New).unwrap();
    let array = Array::create(&store, "a", &spec(&[20], &[10]), Create::New).unwrap();
    root.consolidate().unwrap();
    array.set_write_back(1 << 20).unwrap();
    let (other, then) = (array.clone(), due.clone());
    due.set("a/zarr.json opened", move || {
        write_box(&other, &[13], &[5], 5).unwrap();
        then.set("a/c/1", || std::panic::resume_unwind(Box::new("full")));
    });
    assert_eq!(kind(array.resize(&[12], true)), ErrorKind::Internal);
    assert!(due.is_over());
    let root = Group::open(&Store::from_shared(&Context::with_threads(1), store.shared().clone(), Mode::Read), "").unwrap();
    assert_eq!((array.shape().as_slice(), root.consolidated_differences().unwrap()), ([12].as_slice(), Some(vec![])));
}
