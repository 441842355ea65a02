//! Tests of calls of two processes that change the shape of one array at the same time, in a store without locks whose puts have conditions.

use super::cut::UNSEEN;
use super::resize::Outside;
use super::tests::{memory, own, read_all, spec, view, write_all};
use super::tests_store::{Next, Told, on};
use super::tests_swap::Overtaken;
use super::*;
use crate::engine::Selection;
use crate::error::{ErrorKind, Result};
use crate::settings::apart;
use crate::store::SharedStore;
use crate::store::memory::MemoryStore;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What a process does with the array.
type Work = fn(&Store) -> Result<()>;

/// The key of the change that was held up.
type HeldUp = Arc<Mutex<Option<String>>>;

/// The store of a process, named so that no other one here has its locks; it holds up the call that follows `after` others until `event` has ended.
fn held_up(inner: &SharedStore, name: &'static str, after: usize, event: impl FnOnce() + Send + 'static) -> (SharedStore, HeldUp) {
    let inner: SharedStore = Arc::new(Overtaken::alone(inner.clone(), false));
    let (left, event, key) = (AtomicUsize::new(after), Mutex::new(Some(event)), HeldUp::default());
    let seen = key.clone();
    let tell = move |next: Next<'_>| {
        if !matches!(next, Next::Opened(_)) && left.fetch_sub(1, Relaxed) == 0 {
            if let Next::Change(key) = next {
                *seen.lock().unwrap() = Some(key.to_string());
            }
            let event = event.lock().unwrap().take();
            event.into_iter().for_each(|event| event());
        }
        Ok(())
    };
    (Arc::new(Told { inner, tell, name: Some(name) }), key)
}

/// What two processes have done: how their work ended, and which changes of theirs were held up.
struct Ended {
    results: [Result<()>; 2],
    held_up: [HeldUp; 2],
    context: String,
}

impl Ended {
    /// Whether a change of that chunk, which has no condition, was on its way while the other one worked.
    fn was_on_its_way(&self, process: usize, chunk: usize) -> bool {
        self.held_up[process].lock().unwrap().as_ref().is_some_and(|key| *key == format!("a/c/{chunk}"))
    }
}

/// The second process begins at each call of the first one in turn, and is held up at each of its own until the first one has ended. Each time `check`
/// looks at what they have left of an array of six elements, 1 to 6, in chunks of `chunk`. The stores have `names`.
fn at_each_call(names: [&'static str; 2], chunk: u64, [first, second]: [Work; 2], check: &dyn Fn(&Array, &Ended)) {
    for begins in (0..).step_by(apart(2)) {
        for waits in (0..).step_by(apart(3)) {
            let inner: SharedStore = Arc::new(MemoryStore::new());
            let array = Array::create(&on(inner.clone()), "a", &spec(&[6], &[chunk]), Create::New).unwrap();
            write_all(&array, &mut [1, 2, 3, 4, 5, 6]);
            let ((come, has_come), (go_on, goes_on)) = (channel(), channel());
            let comes = come.clone();
            let (theirs, their_key) = held_up(&inner, names[1], waits, move || {
                comes.send(false).unwrap();
                goes_on.recv().unwrap();
            });
            let work = move || {
                let done = second(&on(theirs));
                let _ = come.send(true);
                done
            };
            let thread = Arc::new(Mutex::new(None));
            let (begun, is_over) = (thread.clone(), Arc::new(AtomicUsize::new(0)));
            let over = is_over.clone();
            let (ours, our_key) = held_up(&inner, names[0], begins, move || {
                *begun.lock().unwrap() = Some(std::thread::spawn(work));
                over.store(usize::from(has_come.recv().unwrap()), Relaxed);
            });
            let done = first(&on(ours));
            let Some(thread) = thread.lock().unwrap().take() else { return assert!(begins > 3, "only {begins} calls") };
            let _ = go_on.send(());
            let results = [done, thread.join().unwrap()];
            let context = format!("chunks of {chunk}, {begins} {waits}: {results:?}");
            check(&Array::open(&on(inner), "a").unwrap(), &Ended { results, held_up: [our_key, their_key], context });
            if is_over.load(Relaxed) == 1 {
                break;
            }
        }
    }
}

fn open(store: &Store) -> Array {
    Array::open(store, "a").unwrap()
}

fn cut_to_two(store: &Store) -> Result<()> {
    open(store).resize(&[2], false)
}

fn grow(store: &Store) -> Result<()> {
    open(store).resize(&[8], false)
}

fn grow_and_write(store: &Store) -> Result<()> {
    let array = open(store);
    array.resize(&[8], false)?;
    let new = Selection::new(&[8], &[2], &[6], None)?;
    own!(array.write(&new, &view(&mut [13, 14, 15, 16, 17, 18], &[6])))
}

fn append_twice(store: &Store) -> Result<()> {
    (0..2).try_for_each(|_| own!(open(store).append(0, 1, &view(&mut [13], &[1]))))
}

fn append_by_appender(store: &Store) -> Result<()> {
    let mut appender = Appender::open(&open(store), 0, 0, 0)?;
    own!(appender.append(2, &view(&mut [13, 14], &[2])))?;
    appender.close()
}

fn open_an_appender(store: &Store) -> Result<()> {
    Appender::open(&open(store), 0, 0, 0)?.close()
}

#[test]
fn what_a_resize_cuts_off_does_not_come_back_when_another_process_opens_an_appender_meanwhile() {
    for chunk in [1, 4] {
        at_each_call(["first opened:", "second opened:"], chunk, [cut_to_two, open_an_appender], &|array, ended| {
            assert!(ended.results[0].is_ok() && array.shape().as_slice() == [2], "{}", ended.context);
            array.resize(&[8], false).unwrap();
            assert_eq!(read_all(array), [1, 2, 0, 0, 0, 0, 0, 0], "{}", ended.context);
        });
    }
}

#[test]
fn a_growth_beside_a_cut_waits_also_where_the_document_was_changed_between() {
    for is_changed in [false, true] {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        let process = || -> SharedStore { Arc::new(Overtaken::alone(inner.clone(), false)) };
        let array = Array::create(&on(process()), "a", &spec(&[6], &[1]), Create::New).unwrap();
        write_all(&array, &mut [1, 2, 3, 4, 5, 6]);
        assert!(array.resize_document(|_, _| Ok(crate::limits::Dims::from_slice(&[2])), Outside::Erased).unwrap().is_cut);
        let (other, left, last) = (on(inner.clone()), AtomicUsize::new(usize::from(is_changed)), Arc::new(Mutex::new(Instant::now())));
        let put = last.clone();
        let tell = move |next: Next<'_>| {
            if matches!(next, Next::Change("a/zarr.json")) {
                *put.lock().unwrap() = Instant::now();
                if left.swap(0, Relaxed) == 1 {
                    open(&other).attributes().set("history", 1.into()).unwrap();
                }
            }
            Ok(())
        };
        let grower: SharedStore = Arc::new(Told { inner: process(), tell, name: Some("grower:") });
        grow(&on(grower)).unwrap();
        assert!(last.lock().unwrap().elapsed() >= 2 * UNSEEN, "{is_changed}");
    }
}

#[test]
fn what_a_resize_cuts_off_does_not_come_back_when_another_process_makes_the_array_longer_meanwhile() {
    for (chunk, work) in [1, 4].into_iter().flat_map(|chunk| [(chunk, [cut_to_two as Work, grow]), (chunk, [grow, cut_to_two])]) {
        at_each_call(["first shape:", "second shape:"], chunk, work, &|array, ended| {
            assert!(ended.results.iter().all(Result::is_ok), "{}", ended.context);
            array.resize(&[8], false).unwrap();
            assert_eq!(read_all(array), [1, 2, 0, 0, 0, 0, 0, 0], "{}", ended.context);
        });
    }
}

#[test]
fn what_a_resize_cuts_off_does_not_come_back_when_another_process_stores_something_there_meanwhile() {
    for (other, chunk) in [append_twice as Work, grow_and_write, append_by_appender].into_iter().flat_map(|other| [(other, 1), (other, 4)])
    {
        for (work, cutter) in [([cut_to_two, other], 0), ([other, cut_to_two], 1)] {
            at_each_call(["first there:", "second there:"], chunk, work, &|array, ended| {
                assert!(ended.results[cutter].is_ok(), "{}", ended.context);
                array.resize(&[array.shape()[0].max(8)], false).unwrap();
                let found = read_all(array);
                assert!(
                    found.starts_with(&[1, 2]) && found[2..].iter().all(|value| *value == 0 || *value >= 13),
                    "{found:?} {}",
                    ended.context
                );
            });
        }
    }
}

/// Erasing has no condition: what is being erased at the moment of the growth may be gone.
#[test]
fn a_resize_that_makes_an_array_shorter_erases_nothing_of_what_another_process_stores_where_it_has_made_the_array_longer() {
    for (other, new) in [(grow_and_write as Work, [13, 14, 15, 16, 17, 18].as_slice()), (append_by_appender, &[13, 14])] {
        for (chunk, is_first) in [(1, true), (1, false), (4, true), (4, false)] {
            let (work, cutter) = if is_first { ([cut_to_two, other], 0) } else { ([other, cut_to_two], 1) };
            at_each_call(["first store:", "second store:"], chunk, work, &|array, ended| {
                // An appender may find that the array was cut meanwhile.
                let stored = &ended.results[1 - cutter];
                assert!(ended.results[cutter].is_ok(), "{}", ended.context);
                assert!(stored.as_ref().err().is_none_or(|e| e.kind() == ErrorKind::State), "{}", ended.context);
                // Which of the two shapes came last.
                if stored.is_err() || array.shape().as_slice() != [2 + new.len() as u64] {
                    return assert!(read_all(array).starts_with(&[1, 2]), "{}", ended.context);
                }
                let is_new = |(i, value): (usize, &i32)| {
                    let wanted = if i < 2 { i as i32 + 1 } else { new[i - 2] };
                    *value == wanted || *value == 0 && i >= 2 && ended.was_on_its_way(cutter, i / chunk as usize)
                };
                let found = read_all(array);
                assert!(found.iter().enumerate().all(is_new), "{found:?} {}", ended.context);
            });
        }
    }
}

#[test]
fn a_resize_that_makes_an_array_shorter_erases_nothing_that_another_process_keeps_outside_of_the_same_shape() {
    for begins in 0.. {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        let array = Array::create(&on(inner.clone()), "a", &spec(&[6], &[1]), Create::New).unwrap();
        write_all(&array, &mut [1, 2, 3, 4, 5, 6]);
        let (other, has_kept) = (inner.clone(), Arc::new(AtomicUsize::new(0)));
        let (keeps, over) = (has_kept.clone(), Arc::new(AtomicUsize::new(0)));
        let begun = over.clone();
        let (ours, key) = held_up(&inner, "first keeps:", begins, move || {
            begun.store(1, Relaxed);
            if open(&on(other.clone())).shape().as_slice() == [2] {
                let other: SharedStore = Arc::new(Overtaken::alone(other, false));
                let other = on(Arc::new(Told { inner: other, tell: |_: Next<'_>| Ok(()), name: Some("second keeps:") }));
                grow_and_write(&other).and_then(|()| open(&other).resize(&[2], true)).unwrap();
                keeps.store(1, Relaxed);
            }
        });
        cut_to_two(&on(ours)).unwrap();
        if over.load(Relaxed) == 0 {
            return assert!(begins > 10, "only {begins} calls");
        }
        array.refresh().unwrap();
        array.resize(&[8], false).unwrap();
        let want = if has_kept.load(Relaxed) == 1 { [1, 2, 13, 14, 15, 16, 17, 18] } else { [1, 2, 0, 0, 0, 0, 0, 0] };
        let held = key.lock().unwrap().clone().unwrap_or_default();
        let differs = read_all(&array).iter().zip(want).enumerate().any(|(i, (now, want))| *now != want && held != format!("a/c/{i}"));
        assert!(!differs, "{begins}: {:?}, {held}", read_all(&array));
    }
}

/// The store of a process, which tells `tell` what it does, and has locks of its own.
fn process(inner: &SharedStore, name: &'static str, tell: impl Fn(Next<'_>) -> Result<()> + Send + Sync + 'static) -> Store {
    let inner: SharedStore = Arc::new(Overtaken::alone(inner.clone(), false));
    on(Arc::new(Told { inner, tell, name: Some(name) }))
}

#[test]
fn a_chunk_whose_turn_a_cut_waits_for_stays_where_another_process_has_made_the_array_longer_meanwhile() {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    write_all(&Array::create(&on(inner.clone()), "a", &spec(&[6], &[1]), Create::New).unwrap(), &mut [1, 2, 3, 4, 5, 6]);
    let (cutter, grower) = (open(&process(&inner, "first turn:", |_| Ok(()))), process(&inner, "second turn:", |_| Ok(())));
    let bound = cutter.state().bound("a").unwrap();
    let turn = bound.locks.wait(bound.lock_name("a/c/3"));
    let cutting = std::thread::spawn(move || cutter.resize(&[2], false));
    while inner.open("a/c/2").unwrap().is_some() {
        std::thread::sleep(UNSEEN);
    }
    std::thread::spawn(move || grow_and_write(&grower)).join().unwrap().unwrap();
    drop(turn);
    cutting.join().unwrap().unwrap();
    assert_eq!(read_all(&open(&on(inner))), [1, 2, 13, 14, 15, 16, 17, 18]);
}

#[test]
fn an_appender_that_has_lost_its_array_tells_what_has_taken_it() {
    let others: [(Work, &str); 2] = [
        (append_by_appender, "another appender or series has begun to store steps of the array"),
        (|store| open(store).resize(&[2], true), "a resize that keeps what is outside has made the array shorter"),
    ];
    for ((other, by), has_begun) in others.into_iter().flat_map(|other| [(other, false), (other, true)]) {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        write_all(&Array::create(&on(inner.clone()), "a", &spec(&[6], &[1]), Create::New).unwrap(), &mut [1, 2, 3, 4, 5, 6]);
        let mut appender = Appender::open(&open(&process(&inner, "first taken:", |_| Ok(()))), 0, 0, 0).unwrap();
        let mut append = || own!(appender.append(1, &view(&mut [9], &[1])));
        if has_begun {
            append().unwrap();
        }
        other(&process(&inner, "second taken:", |_| Ok(()))).unwrap();
        let lost = append().and_then(|()| appender.close()).unwrap_err();
        assert!(lost.kind() == ErrorKind::State && lost.to_string().contains(by), "{has_begun}: {lost}");
    }
}

#[test]
fn a_cursor_of_chunks_leaves_out_those_that_the_array_lost_since() {
    for inner in [false, true] {
        let mut spec = spec(&[12], &[4]);
        if inner {
            spec.set_inner_chunks(&[2]).unwrap();
        }
        let array = Array::create(&memory(), "a", &spec, Create::New).unwrap();
        write_all(&array, &mut [1; 12]);
        let mut chunks = array.chunks(inner).unwrap();
        array.resize(&[4], false).unwrap();
        let mut left = 0;
        while chunks.step().unwrap_or_else(|e| panic!("{inner}: {e}")).is_some() {
            left += 1;
        }
        assert_eq!(left, if inner { 2 } else { 1 });
    }
}
