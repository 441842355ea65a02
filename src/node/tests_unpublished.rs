//! Tests of steps that are stored and not published yet: what is written to the rows before them, and what opens beside them, leaves them alone.

use super::tests::{own, spec, view};
use super::tests_growth::Folder;
use super::tests_series::{dataset, define, run};
use super::tests_store::{Due, anew, on};
use super::tests_swap::Overtaken;
use super::*;
use crate::dtype::{DataType, Field, Struct};
use crate::engine::{self, BoundArray, Memory, Selection};
use crate::error::{ErrorKind, Result, err};
use crate::metadata::{json, number_list};
use crate::store::SharedStore;
use crate::store::memory::MemoryStore;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What takes the steps.
enum Steps {
    One(Appender),
    All(Series),
}

/// The published rows of the array: with those that follow they are all in one chunk along `dim`.
const ROWS: u64 = 10;
const DOCUMENT: &str = "u/zarr.json";

/// An array of rows whose elements are 1, and what appends to it.
struct Run {
    array: Array,
    dim: usize,
    steps: Steps,
    due: Due,
}

impl Run {
    fn shape(dim: usize, rows: u64) -> [u64; 2] {
        if dim == 0 { [rows, 3] } else { [3, rows] }
    }

    fn new(inner: SharedStore, dim: usize, (by_series, sharded): (bool, bool)) -> Run {
        let due = Due::default();
        let store = due.store(inner);
        let (chunks, inner) = if dim == 0 { ([16, 2], [4, 2]) } else { ([2, 16], [2, 4]) };
        if by_series {
            let ds = Dataset::create(&store, "", None, Create::New).unwrap();
            ds.define_dimension("time", 0).unwrap();
            ds.define_dimension("x", 3).unwrap();
            let dimensions = if dim == 0 { ["time", "x"] } else { ["x", "time"] };
            let variable = VariableSpec { chunks: Some(chunks.to_vec()), ..VariableSpec::new(DataType::Int32, &dimensions) };
            let array = ds.define_variable("u", &variable, Create::New).unwrap();
            let steps = Steps::All(Series::open(&ds, "time", None, 100, 0).unwrap());
            let mut run = Run { array, dim, steps, due };
            (0..ROWS).for_each(|_| run.take(1));
            run.flush().unwrap();
            return run;
        }
        let mut spec = spec(&Run::shape(dim, ROWS), &chunks);
        if sharded {
            spec.set_inner_chunks(&inner).unwrap();
        }
        let array = Array::create(&store, "u", &spec, Create::New).unwrap();
        let run = Run { steps: Steps::One(Appender::open(&array, dim, 100, 0).unwrap()), array, dim, due };
        run.write(1)().unwrap();
        run
    }

    /// Takes a step.
    fn take(&mut self, value: i32) {
        let mut values = [value; 3];
        match &mut self.steps {
            Steps::One(appender) => own!(appender.append(1, &view(&mut values, &Run::shape(self.dim, 1)))).unwrap(),
            Steps::All(series) => {
                own!(series.put("u", |_, shape| Ok(view(&mut values, shape)))).unwrap();
                series.step(series.position().0 as f64).unwrap();
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        match &mut self.steps {
            Steps::One(appender) => appender.flush(),
            Steps::All(series) => series.flush(),
        }
    }

    /// Fails to publish what was taken.
    fn fail(&mut self) {
        self.due.fail(DOCUMENT);
        assert_eq!(self.flush().unwrap_err().kind(), ErrorKind::NoSpace);
    }

    /// A write of that value to the first rows, all that were published at first, by whoever knows the array as it is then.
    fn write(&self, value: i32) -> impl FnOnce() -> Result<()> + Send + use<> {
        let (array, dim) = (self.array.clone(), self.dim);
        move || write_rows(&*array.state().bound("u")?, dim, value)
    }

    /// The value of each row, as another handle reads them.
    fn rows(&self) -> Vec<i32> {
        let array = Array::open(&anew(self.array.store()), "u").unwrap();
        let (shape, values) = (array.shape(), tests::read_all(&array));
        let row = |at: u64| {
            let of_row = |(i, value): (usize, &i32)| {
                let found = if self.dim == 0 { i as u64 / shape[1] } else { i as u64 % shape[1] };
                (found == at).then_some(*value)
            };
            let all: Vec<i32> = values.iter().enumerate().filter_map(of_row).collect();
            assert!(all.iter().all(|value| *value == all[0]), "{all:?}");
            all[0]
        };
        (0..shape[self.dim]).map(row).collect()
    }
}

fn write_rows(bound: &BoundArray, dim: usize, value: i32) -> Result<()> {
    let shape = Run::shape(dim, ROWS);
    let rows = Selection::new(&bound.shape, &[0, 0], &shape.map(|n| n as i64), None)?;
    own!(engine::write(&Arc::new(bound.clone()), &rows, &view(&mut [value; 3 * ROWS as usize], &shape)))
}

#[test]
fn rows_that_are_written_beside_steps_that_are_not_published_yet_leave_those_alone() {
    /// Takes steps of 7 and writes 2 to the rows before; how many steps there are then.
    type Case = (&'static str, fn(&mut Run) -> usize);
    let cases: [Case; 7] = [
        ("once publishing has failed", |run| {
            run.take(7);
            run.fail();
            run.write(2)().unwrap();
            1
        }),
        ("twice, and with one more", |run| {
            run.take(7);
            run.fail();
            run.write(3)().unwrap();
            run.take(7);
            run.fail();
            run.write(2)().unwrap();
            2
        }),
        ("once the array was given the shape that it has", |run| {
            run.take(7);
            run.fail();
            run.array.resize(&run.array.shape(), false).unwrap();
            run.write(2)().unwrap();
            1
        }),
        ("once it was looked at again", |run| {
            run.take(7);
            run.fail();
            run.array.refresh().unwrap();
            run.write(2)().unwrap();
            1
        }),
        ("before they are durable", |run| {
            run.take(7);
            run.due.set_here("flush", run.write(2));
            1
        }),
        ("before their length is stored", |run| {
            run.take(7);
            run.due.set_here(DOCUMENT, run.write(2));
            1
        }),
        ("by what began before", |run| {
            let (old, dim) = (run.array.state().bound("u").unwrap(), run.dim);
            run.take(7);
            run.flush().unwrap();
            write_rows(&old, dim, 3).unwrap();
            run.take(7);
            run.take(7);
            run.flush().unwrap();
            write_rows(&old, dim, 2).unwrap();
            3
        }),
    ];
    for ((name, case), (by_series, sharded)) in
        cases.iter().flat_map(|case| [(*case, (false, false)), (*case, (false, true)), (*case, (true, false))])
    {
        for (dim, place) in [(0, "memory"), (1, "folder"), (0, "server")] {
            let folder = Folder::new("unpublished");
            let inner: SharedStore = match place {
                "memory" => Arc::new(MemoryStore::new()),
                "folder" => folder.1.shared().clone(),
                _ => Arc::new(Overtaken::alone(Arc::new(MemoryStore::new()), false)),
            };
            let what = format!("{name}, {place}, series: {by_series}, shards: {sharded}");
            let mut run = Run::new(inner, dim, (by_series, sharded));
            let steps = case(&mut run);
            run.flush().unwrap();
            assert!(run.due.is_over(), "{what}");
            assert_eq!(run.rows(), [vec![2; ROWS as usize], vec![7; steps]].concat(), "{what}");
            // The handle knows them, and replaces whole chunks again.
            let reads = || run.array.stats().snapshot().bytes_read;
            let (before, mut all) = (reads(), vec![4; 3 * (ROWS as usize + steps)]);
            tests::write_all(&run.array, &mut all);
            assert!(sharded || reads() == before, "{what}");
            assert_eq!(run.rows(), vec![4; ROWS as usize + steps], "{what}");
        }
    }
}

#[test]
fn steps_without_some_fields_are_stored_where_they_are_safe_from_others_and_others_from_them() {
    let field = |name: &&str| Field { name: name.to_string(), offset: 0, element: DataType::Int32.into(), shape: Vec::new() };
    let of = |names: &[&str]| DataType::Struct(Struct::packed(names.iter().map(field).collect()).unwrap());
    let (all, some) = (of(&["a", "b"]), of(&["a"]));
    let step = |appender: &mut Appender, value: i32| own!(appender.append(1, &Memory::of(&mut [value], &[1], some)));
    for (by_appender, want) in [(false, [2, 2, 2, 2, 2, 7]), (true, [0, 0, 0, 0, 7, 8])] {
        let store = on(Arc::new(MemoryStore::new()));
        let mut spec = Spec::new(all, &[4]).unwrap();
        spec.set_chunks(&[16]).unwrap();
        let array = Array::create(&store, "a", &spec, Create::New).unwrap();
        let mut appender = Appender::open(&array, 0, 100, 0).unwrap();
        step(&mut appender, 7).and_then(|()| appender.flush()).unwrap();
        if by_appender {
            let mut theirs = Appender::open(&Array::open(&anew(&store), "a").unwrap(), 0, 1, 0).unwrap();
            step(&mut theirs, 8).unwrap();
            let failed = step(&mut appender, 7).and_then(|()| appender.flush());
            assert_eq!(failed.unwrap_err().kind(), ErrorKind::State);
        } else {
            step(&mut appender, 7).unwrap();
            own!(array.write(&Selection::all(&[5]), &Memory::of(&mut [[2, 2]; 5], &[5], all))).unwrap();
            appender.flush().unwrap();
        }
        let mut found = [0; 6];
        let array = Array::open(&anew(&store), "a").unwrap();
        own!(array.read(&Selection::all(&[6]), &Memory::of(&mut found, &[6], some))).unwrap();
        assert_eq!(found, want, "another appender: {by_appender}");
    }
}

#[test]
fn chunks_are_replaced_as_a_whole_again_once_an_appender_cannot_go_on() {
    let mut run = Run::new(Arc::new(MemoryStore::new()), 0, (false, false));
    run.take(7);
    run.fail();
    Array::open(&anew(run.array.store()), "u").and_then(|array| array.resize(&[8, 3], false)).unwrap();
    assert_eq!(run.flush().unwrap_err().kind(), ErrorKind::State);
    run.array.refresh().unwrap();
    let reads = || run.array.stats().snapshot().bytes_read;
    let before = reads();
    tests::write_all(&run.array, &mut [4; 24]);
    assert_eq!((run.rows(), reads() - before), (vec![4; 8], 0));
}

/// The answer was lost, not the document.
#[test]
fn rows_whose_length_was_published_by_a_call_that_failed_are_written_beside_the_next_steps() {
    let (due, inner) = (Due::default(), Arc::new(MemoryStore::new()));
    let store = due.store(inner.clone());
    let array = Array::create(&store, "a", &spec(&[4], &[4]), Create::New).unwrap();
    let mut appender = Appender::open(&array, 0, 100, 0).unwrap();
    own!(appender.append(2, &view(&mut [1; 2], &[2]))).unwrap();
    let under = on(inner);
    due.set_here("a/zarr.json", move || {
        publish(&under, "a/zarr.json", 6);
        Err(err!(Network, "gone"))
    });
    assert_eq!(appender.flush().unwrap_err().kind(), ErrorKind::Network);
    array.refresh().unwrap();
    assert_eq!(array.shape()[0], 6);
    own!(appender.append(1, &view(&mut [7], &[1]))).unwrap();
    due.fail("a/zarr.json");
    assert_eq!(appender.flush().unwrap_err().kind(), ErrorKind::NoSpace);
    own!(array.write(&Selection::new(&[6], &[4], &[2], None).unwrap(), &view(&mut [2; 2], &[2]))).unwrap();
    appender.flush().unwrap();
    assert_eq!(tests::read_all(&Array::open(&store, "a").unwrap())[4..], [2, 2, 7]);
}

#[test]
fn an_array_that_another_thread_makes_longer_while_its_document_is_read_has_that_length() {
    type Call = Box<dyn FnOnce() -> Result<()>>;
    type Open = fn(&Store) -> (Array, Call);
    fn opened(store: &Store) -> (Dataset, Array) {
        let ds = dataset(store);
        let array = ds.variable("u").unwrap();
        (ds, array)
    }
    let opens: [(&str, Open); 3] = [
        ("appender", |store| {
            let array = Array::open(store, "u").unwrap();
            (array.clone(), Box::new(move || Appender::open(&array, 0, 0, 0).map(drop)))
        }),
        ("series", |store| {
            let (ds, array) = opened(store);
            (array, Box::new(move || Series::open(&ds, "time", None, 0, 0).map(drop)))
        }),
        ("dataset", |store| {
            let (ds, array) = opened(store);
            (array, Box::new(move || ds.dimension("time").map(drop)))
        }),
    ];
    for (name, open) in opens {
        // Once the document was opened that often.
        for skip in 0.. {
            let due = Due::default();
            let store = due.in_memory();
            let ds = Dataset::create(&store, "", None, Create::New).unwrap();
            ds.define_dimension("time", 0).unwrap();
            let variable = VariableSpec { chunks: Some(vec![16]), ..VariableSpec::new(DataType::Int32, &["time"]) };
            let array = ds.define_variable("u", &variable, Create::New).unwrap();
            own!(array.append(0, 10, &view(&mut [1; 10], &[10]))).unwrap();
            ds.close().unwrap();
            // As a program leaves it that is killed before it tells consolidated metadata.
            publish(&store, DOCUMENT, 11);
            let (array, call) = open(&store);
            let thread = Arc::new(Mutex::new(None));
            append_after(&due, skip, array.clone(), thread.clone());
            let done = call();
            let was_due = due.is_over();
            let running: Option<JoinHandle<()>> = thread.lock().unwrap().take();
            running.into_iter().for_each(|thread| thread.join().unwrap());
            // What is beyond the length that a series saw is cut off, and the handle knows.
            assert_eq!(array.shape(), Array::open(&anew(&store), "u").unwrap().shape(), "{name} {skip} {done:?}");
            if !was_due {
                assert!(skip > 0, "{name}");
                break;
            }
        }
    }
}

/// Gives a document another length.
fn publish(store: &Store, key: &str, length: u64) {
    let mut document = tests::object(store, key);
    document.insert("shape".into(), number_list(&[length]));
    store.key_put(key, json::to_text(&Value::Object(document)).as_bytes()).unwrap();
}

/// Another thread appends three steps once the document was opened `skip` times more: it may have to wait for a lock that the caller has.
fn append_after(due: &Due, skip: usize, array: Array, thread: Arc<Mutex<Option<JoinHandle<()>>>>) {
    let next = due.clone();
    due.set_here("u/zarr.json opened", move || {
        if skip > 0 {
            append_after(&next, skip - 1, array, thread);
            return Ok(());
        }
        let (done, is_done) = channel();
        *thread.lock().unwrap() = Some(thread::spawn(move || {
            own!(array.append(0, 3, &view(&mut [7; 3], &[3]))).unwrap();
            let _ = done.send(());
        }));
        let _ = is_done.recv_timeout(Duration::from_millis(100));
        Ok(())
    });
}

#[test]
fn a_part_behind_an_end_that_comes_while_write_back_is_set_is_stored() {
    let store = tests::memory();
    let array = Array::create(&store, "a", &spec(&[10], &[8]), Create::New).unwrap();
    array.set_write_back(1 << 20).unwrap();
    let known = array.state().bound("a").unwrap();
    let kept = known.write_back.clone().unwrap();
    // The array grows, and a part comes, between the look at it and the storing.
    let look = || {
        array.resize(&[30], false)?;
        own!(array.write(&Selection::new(&[30], &[26], &[2], None)?, &view(&mut [7; 2], &[2])))?;
        Ok(known)
    };
    engine::flush_and_close(look, &kept).unwrap();
    assert_eq!(tests::read_all(&Array::open(&anew(&store), "a").unwrap())[24..], [0, 0, 7, 7, 0, 0]);
}

/// A series that cannot publish keeps nothing of what others do from consolidated metadata, and leaves it out where some documents have its steps.
#[test]
fn lengths_that_others_give_the_variables_of_a_series_that_cannot_publish_are_told() {
    /// Which document cannot be stored at first, and what is done to the dataset before that and after.
    type Case = (&'static str, Option<&'static str>, fn(&Dataset) -> Result<()>, fn(&Dataset) -> Result<()>);
    fn append(ds: &Dataset) -> Result<()> {
        own!(ds.variable("t")?.append(0, 1, &view(&mut [9; 3], &[1, 3])))
    }
    let append_to_first = |ds: &Dataset| own!(ds.variable("mean")?.append(0, 1, &view(&mut [9], &[1])));
    let resize = |ds: &Dataset| ds.resize_dimension("time", 2);
    let cases: [Case; 6] = [
        ("append", None, append, append),
        ("resize", None, append, resize),
        ("append once the first document failed", Some("mean/zarr.json"), |_| Ok(()), append_to_first),
        ("resize once the first document failed", Some("mean/zarr.json"), |_| Ok(()), resize),
        ("resize once the second document failed", Some("p/zarr.json"), |_| Ok(()), resize),
        ("resize once the last document failed", Some("time/zarr.json"), |_| Ok(()), resize),
    ];
    for ((name, failing, before, after), is_closed) in cases.iter().flat_map(|case| [(*case, true), (*case, false)]) {
        let due = Due::default();
        let store = due.in_memory();
        define(&store, Format::V3);
        let ds = dataset(&store);
        let mut series = Series::open(&ds, "time", None, 100, 0).unwrap();
        run(&mut series, 3).unwrap();
        before(&ds).unwrap();
        failing.iter().for_each(|key| due.fail(key));
        let expected = if failing.is_some() { ErrorKind::NoSpace } else { ErrorKind::State };
        assert_eq!(series.flush().unwrap_err().kind(), expected, "{name}");
        after(&ds).unwrap();
        if is_closed {
            assert_eq!(series.close().unwrap_err().kind(), ErrorKind::State, "{name}");
            drop(series);
            let _ = ds.close();
        } else {
            let _ = ds.close();
            drop(series);
        }
        let differences = Group::open(&anew(&store), "").unwrap().consolidated_differences().unwrap();
        assert_eq!(differences, Some(vec![]), "{name}, closed: {is_closed}");
    }
}
