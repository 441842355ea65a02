//! The arrays of a store in which parts of chunks may wait to be written (`"write_back"`), for what flushes or closes the store.

use crate::error::Result;
use crate::fork::ForkPreserved;
use crate::limits;
use std::sync::{Arc, Weak};

/// An open array in which parts of chunks may wait.
pub(super) trait MayWait: Send + Sync {
    /// Whether it is at a place or below.
    fn is_below(&self, place: &str) -> bool;

    /// Stores what waits, unless the array was erased or replaced by this process: that is told where the array's own handle is flushed or closed.
    fn store_if_there(&self) -> Result<()>;
}

/// Those of one store, its parts and caches.
#[derive(Default)]
pub(super) struct WaitingArrays(ForkPreserved<Vec<Weak<dyn MayWait>>>);

impl WaitingArrays {
    /// Knows an array, which is told once, for as long as it is open.
    pub fn note<A: MayWait + 'static>(&self, array: &Arc<A>) {
        let array: Arc<dyn MayWait> = array.clone();
        self.0.write(|all| {
            // Now and then, so that no array takes longer for those before it.
            if all.len().is_power_of_two() {
                all.retain(|other| other.strong_count() > 0);
            }
            all.push(Arc::downgrade(&array));
        });
    }

    /// Stores what waits in those at a place or below. No lock is held meanwhile, nor any array but the one whose turn it is.
    pub fn store(&self, place: &str) -> Result<()> {
        let all = self.0.read(|all| limits::collect(all.iter().cloned()))?;
        let below = all.iter().filter_map(Weak::upgrade).filter(|array| array.is_below(place));
        below.map(|array| array.store_if_there()).fold(Ok(()), Result::and)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{kind, memory, own, read_all, spec, view};
    use super::super::tests_store::{Next, Told};
    use crate::engine::{RequestOptions, Selection};
    use crate::error::{ErrorKind, Result, bail};
    use crate::node::{Appender, Array, Context, Create, Group, Mode, Store};
    use std::any::Any;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex, mpsc};
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    /// An array of 8 elements whose elements 2 and 3 wait.
    fn waiting(store: &Store, path: &str) -> Array {
        let array = Array::create(store, path, &spec(&[8], &[4]), Create::New).unwrap();
        (0..2).for_each(|_| array.set_write_back(1 << 20).unwrap());
        let part = Selection::new(&[8], &[2], &[2], None).unwrap();
        own!(array.write(&part, &view(&mut [9, 9], &[2]))).unwrap();
        array
    }

    fn write(array: &Array, at: i64, value: i32) -> Result<()> {
        let part = Selection::new(&array.shape(), &[at], &[1], None)?;
        own!(array.write(&part, &view(&mut [value], &[1])))
    }

    type End = fn(&Store) -> Result<()>;

    const ENDS: [(&str, End); 6] = [
        ("flush", |store| store.flush_all()),
        ("close", |store| store.close(None)),
        ("flush a group", |store| Group::open(store, "other")?.flush()),
        ("close a group", |store| Group::open(store, "g")?.close()),
        ("flush a part", |store| store.below("g", Mode::ReadWrite)?.flush_all()),
        ("flush a cache", |store| store.cached(1 << 20, Mode::ReadWrite)?.flush_all()),
    ];

    #[test]
    fn what_flushes_or_closes_a_store_or_a_group_stores_what_waits_in_arrays() {
        for (name, end) in ENDS {
            let store = memory();
            Group::create(&store, "other", None, Create::New).unwrap();
            let array = waiting(&store, "g/a");
            let in_part = waiting(&store.below("g", Mode::ReadWrite).unwrap(), "b");
            let stored = || ["g/a", "g/b"].map(|path| read_all(&Array::open(&store, path).unwrap())[2]);
            assert_eq!(stored(), [0, 0]);
            end(&store).unwrap();
            assert_eq!(stored(), [9, 9], "{name}");
            drop((array, in_part));
        }
    }

    #[test]
    fn what_waited_for_an_array_that_was_replaced_is_told_by_its_own_handle_alone() {
        let store = memory();
        Group::create(&store, "other", None, Create::New).unwrap();
        let array = waiting(&store, "g/a");
        Array::create(&store, "g/a", &spec(&[8], &[4]), Create::Overwrite).unwrap();
        array.refresh().unwrap();
        for (value, (name, end)) in (1..).zip(ENDS) {
            write(&array, 6, value).unwrap();
            end(&store).unwrap();
            assert_eq!(read_all(&Array::open(&store, "g/a").unwrap()), [0, 0, 0, 0, 0, 0, value, 0], "{name}");
        }
        assert_eq!(kind(array.flush()), ErrorKind::State);
    }

    #[test]
    fn what_waited_for_an_array_that_was_replaced_is_told_once_and_dropped() {
        type Call = fn(&Array) -> Result<()>;
        let calls: [(&str, Call); 8] = [
            ("flush", |array| array.flush()),
            ("close", |array| array.close()),
            ("append", |array| own!(array.append(0, 1, &view(&mut [0], &[1])))),
            ("resize", |array| array.resize(&[9], false)),
            ("count", |array| array.chunks(false).map(drop)),
            ("setting", |array| array.set_write_back(0)),
            ("read", |array| own!(array.read(&Selection::all(&[8]), &view(&mut [0; 8], &[8])))),
            ("write", |array| write(array, 3, 5)),
        ];
        for (name, call) in calls {
            let store = memory();
            let array = waiting(&store, "a");
            Array::create(&store, "a", &spec(&[8], &[4]), Create::Overwrite).unwrap();
            assert_eq!([kind(array.flush()), kind(array.flush())], [ErrorKind::State; 2], "before it is refreshed");
            array.refresh().unwrap();
            write(&array, 6, 7).unwrap();
            assert_eq!(kind(call(&array)), ErrorKind::State, "{name}");
            call(&array).and_then(|()| array.flush()).unwrap();
            let expected = if name == "write" { 5 } else { 0 };
            assert_eq!(read_all(&Array::open(&store, "a").unwrap())[..8], [0, 0, 0, expected, 0, 0, 7, 0], "{name}");
        }
    }

    #[test]
    fn what_waits_in_an_array_is_stored_when_it_ends_or_never_though_its_store_is_being_flushed() {
        // Where the flush is meanwhile, and whether the array cannot be stored when it ends.
        for (during, fails) in [("b/c/0", false), ("b/c/0", true), ("a/c/0", false)] {
            let (due, is_full) = (Arc::new(Mutex::new(None::<Box<dyn FnOnce() + Send>>)), Arc::new(AtomicBool::new(false)));
            let (then, full) = (due.clone(), is_full.clone());
            let tell = move |next: Next<'_>| {
                match next {
                    Next::Change(key) if key == during => then.lock().unwrap().take().into_iter().for_each(|work| work()),
                    Next::Change(key) if key.starts_with("a/c") && full.load(Ordering::Acquire) => bail!(NoSpace, "the disk is full"),
                    _ => {}
                }
                Ok(())
            };
            let told = Told { inner: Arc::new(crate::store::memory::MemoryStore::new()), tell, name: None };
            let store = Store::from_shared(&Context::with_threads(1), Arc::new(told), Mode::ReadWrite);
            let (_b, a, other) = (waiting(&store, "b"), waiting(&store, "a"), store.clone());
            let end = move || {
                write(&a, 6, 9).unwrap();
                is_full.store(fails, Ordering::Release);
                assert!(!fails || a.close().is_err());
                drop(a);
                is_full.store(false, Ordering::Release);
                let again = Array::open(&other, "a").unwrap();
                let waited = if fails { 0 } else { 9 };
                assert_eq!(read_all(&again), [0, 0, waited, waited, 0, 0, waited, 0]);
                (2..7).for_each(|at| write(&again, at, 5).unwrap());
            };
            let (thread, ended) = (Arc::new(Mutex::new(None::<JoinHandle<()>>)), mpsc::channel());
            let begun = thread.clone();
            *due.lock().unwrap() = Some(Box::new(move || {
                let tell = ended.0;
                *begun.lock().unwrap() = Some(thread::spawn(move || (end(), tell.send(()).unwrap_or_default()).1));
                // It may wait for the chunk that is being stored.
                let _ = ended.1.recv_timeout(Duration::from_millis(500));
            }));
            store.flush_all().unwrap();
            let thread = thread.lock().unwrap().take().unwrap();
            thread.join().unwrap();
            assert_eq!(read_all(&Array::open(&store, "a").unwrap()), [0, 0, 5, 5, 5, 5, 5, 0], "{during} {fails}");
        }
    }

    #[test]
    fn what_waits_is_stored_by_the_end_of_the_last_handle_whatever_else_works_on_the_array() {
        type Begin = fn(&Array) -> Box<dyn Any>;
        let begins: [(&str, Begin); 3] = [
            ("chunks", |array| Box::new(array.chunks(false).unwrap())),
            ("a shard writer", |array| Box::new(array.shard_writer(&[1]).unwrap())),
            ("an appender", |array| Box::new(Appender::open(array, 0, 0, 0).unwrap())),
        ];
        for (name, begin) in begins {
            let store = memory();
            let mut sharded = spec(&[8], &[4]);
            sharded.set_inner_chunks(&[2]).unwrap();
            let array = Array::create(&store, "a", &sharded, Create::New).unwrap();
            array.set_write_back(1 << 20).unwrap();
            let other = begin(&array);
            write(&array, 2, 9).unwrap();
            drop(array);
            let again = Array::open(&store, "a").unwrap();
            assert_eq!(read_all(&again)[2], 9, "{name}");
            write(&again, 2, 5).unwrap();
            drop(other);
            assert_eq!(read_all(&again)[2], 5, "{name}");
        }
    }

    #[test]
    fn a_shard_that_is_finished_takes_the_place_of_what_was_written_to_it_before() {
        for (name, write_back) in [("waits", 1 << 20), ("is under way", 0)] {
            let context = Context::with_threads(1);
            let store = Store::from_shared(&context, Arc::new(crate::store::memory::MemoryStore::new()), Mode::ReadWrite);
            let mut sharded = spec(&[8], &[4]);
            sharded.set_inner_chunks(&[2]).unwrap();
            let array = Array::create(&store, "a", &sharded, Create::New).unwrap();
            array.set_write_back(write_back).unwrap();
            let mut writer = array.shard_writer(&[0]).unwrap();
            let (part, mut values) = (Selection::new(&[8], &[1], &[2], None).unwrap(), [9, 9]);
            let under_way = match write_back {
                0 => {
                    let options = RequestOptions { copy: true, ..RequestOptions::default() };
                    Some(own!(array.start_write(&part, &view(&mut values, &[2]), options)).unwrap())
                }
                _ => own!(array.write(&part, &view(&mut values, &[2]))).map(|()| None).unwrap(),
            };
            (0..2).for_each(|inner| own!(writer.put(&[inner], &view(&mut [5, 5], &[2]))).unwrap());
            writer.finish().unwrap();
            assert!(under_way.is_none_or(|request| request.wait(None).unwrap()));
            array.flush().unwrap();
            assert_eq!(read_all(&Array::open(&store, "a").unwrap()), [5, 5, 5, 5, 0, 0, 0, 0], "{name}");
        }
    }

    #[test]
    fn a_flush_tells_of_what_cannot_be_stored_and_not_of_arrays_that_are_gone() {
        let is_full = Arc::new(AtomicBool::new(false));
        let full = is_full.clone();
        let tell = move |next: Next<'_>| match next {
            Next::Change("a/c/0") if full.load(Ordering::Acquire) => bail!(NoSpace, "the disk is full"),
            _ => Ok(()),
        };
        let told = Told { inner: Arc::new(crate::store::memory::MemoryStore::new()), tell, name: None };
        let store = Store::from_shared(&Context::with_threads(1), Arc::new(told), Mode::ReadWrite);
        let arrays = ["a", "b", "gone"].map(|path| waiting(&store, path));
        store.erase_node("gone").unwrap();
        is_full.store(true, Ordering::Release);
        for (name, end) in &ENDS[..3] {
            Group::create(&store, "other", None, Create::OpenIfSame).unwrap();
            assert_eq!(kind(end(&store)), ErrorKind::NoSpace, "{name}");
        }
        assert_eq!(read_all(&Array::open(&store, "b").unwrap())[2], 9, "one that fails keeps no other from being stored");
        is_full.store(false, Ordering::Release);
        store.flush_all().unwrap();
        assert_eq!(read_all(&Array::open(&store, "a").unwrap())[2], 9);
        assert_eq!(kind(arrays[2].flush()), ErrorKind::State);
    }
}
