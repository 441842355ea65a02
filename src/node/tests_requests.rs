//! Requests beside the calls that wait for them.

use super::tests::{own, read_all, spec, text, view};
use super::tests_growth::Folder;
use super::*;
use crate::engine::Selection;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Begins to write part of an array, in a store without threads: it is carried out by whoever waits for it.
fn begin(array: &Array, (start, count): (i64, i64), value: i32, options: RequestOptions) -> Pending {
    let mut values = vec![value; count as usize];
    let region = Selection::new(&array.shape(), &[start], &[count], None).unwrap();
    // SAFETY: the elements are copied.
    unsafe { array.start_write(&region, &view(&mut values, &[count as u64]), RequestOptions { copy: true, ..options }).unwrap() }
}

/// A call waits for a request with the array's document locked, and so ends it.
#[test]
fn a_function_that_is_called_at_the_end_of_a_request_changes_the_document_that_the_waiting_call_changes() {
    let folder = Folder::new("changed-at-the-end");
    let memory = Store::memory(&Context::with_threads(1));
    let append: fn(&Array) = |array| {
        own!(array.append(0, 2, &view(&mut [5, 5], &[2])).unwrap());
    };
    let step: fn(&Array) = |array| {
        let mut appender = Appender::open(array, 0, 1, 0).unwrap();
        own!(appender.append(1, &view(&mut [5], &[1])).unwrap());
    };
    type Case = (&'static str, fn(&Array), &'static [i32]);
    let cases: [Case; 3] = [
        ("append", append, &[0, 0, 0, 0, 7, 7, 5, 5]),
        ("shrink", |a| a.resize(&[5], false).unwrap(), &[0, 0, 0, 0, 7]),
        ("step", step, &[0, 0, 0, 0, 7, 7, 5]),
    ];
    for store in [&memory, &folder.1] {
        for (name, change, values) in cases {
            let array = Array::create(store, name, &spec(&[6], &[4]), Create::New).unwrap();
            let (other, set) = (Array::open(store, name).unwrap(), Arc::new(Mutex::new(None)));
            let result = set.clone();
            let call = Box::new(move |_: &crate::error::Result<()>| {
                *result.lock().unwrap() = Some(other.attributes().set("done", true.into()));
            });
            let options = RequestOptions { on_done: Some(OnDone { any_thread: true, call }), ..RequestOptions::default() };
            let request = begin(&array, (4, 2), 7, options);
            change(&array);
            assert!(request.wait(None).unwrap());
            set.lock().unwrap().take().unwrap().unwrap();
            let found = Array::open(store, name).unwrap();
            assert_eq!((read_all(&found).as_slice(), found.attributes().names().unwrap()), (values, vec!["done".to_string()]), "{name}");
        }
    }
}

/// It may take hours, and ends requests on all arrays of the store.
#[test]
fn a_copy_with_other_chunks_calls_the_functions_of_requests_that_it_ends_before_its_own_end() {
    let store = Store::memory(&Context::with_threads(1));
    Array::create(&store, "a", &spec(&[4], &[2]), Create::New).unwrap();
    let other = Array::create(&store, "other", &spec(&[4], &[2]), Create::New).unwrap();
    let (called, mut begun, mut seen) = (Arc::new(AtomicBool::new(false)), None, false);
    let noted = called.clone();
    let mut call = Some(Box::new(move |_: &crate::error::Result<()>| noted.store(true, Ordering::SeqCst)));
    let mut change = |_: &str, spec: &mut Spec| {
        let on_done = call.take().map(|call| OnDone { any_thread: true, call });
        begun = Some(begin(&other, (0, 2), 7, RequestOptions { on_done, ..RequestOptions::default() }));
        spec.set_chunks(&[4])
    };
    let mut progress = |done, total| {
        seen = done == total && called.load(Ordering::SeqCst);
        Ok(())
    };
    store.rechunk_node("a", (&store, "b"), RechunkOptions::default(), &mut change, &mut progress).unwrap();
    assert!(seen && begun.unwrap().wait(None).unwrap());
}

#[test]
fn what_waits_is_stored_when_the_array_is_freed_and_not_by_the_end_of_its_requests() {
    let store = Store::memory(&Context::with_threads(1));
    let array = Array::create(&store, "a", &spec(&[8], &[4]), Create::New).unwrap();
    array.set_write_back(1 << 10).unwrap();
    own!(array.write(&Selection::new(&[8], &[5], &[2], None).unwrap(), &view(&mut [1, 2], &[2])).unwrap());
    let request = begin(&array, (0, 2), 7, RequestOptions::default());
    drop(array);
    assert!(text(&store, "a/c/1").is_some() && text(&store, "a/c/0").is_none());
    assert!(request.wait(None).unwrap() && request.outcome().unwrap().is_ok());
    assert_eq!(read_all(&Array::open(&store, "a").unwrap()), [7, 7, 0, 0, 0, 1, 2, 0]);
}

#[test]
fn what_waits_of_a_variable_is_stored_when_its_dataset_is_closed() {
    let folder = Folder::new("variable-waits");
    let ds = Dataset::create(&folder.1, "d", None, Create::New).unwrap();
    ds.define_dimension("x", 8).unwrap();
    let variable = VariableSpec { chunks: Some(vec![4]), ..VariableSpec::new(crate::dtype::DataType::Int32, &["x"]) };
    let array = ds.define_variable("t", &variable, Create::New).unwrap();
    array.set_write_back(1 << 10).unwrap();
    let write = |value: i32| {
        own!(array.write(&Selection::new(&[8], &[5], &[1], None).unwrap(), &view(&mut [value], &[1])).unwrap());
    };
    write(7);
    ds.close().unwrap();
    assert_eq!(read_all(&Array::open(&folder.1, "d/t").unwrap())[5], 7);
    write(8);
    let chunk = folder.0.join("d/t/c/1");
    std::fs::remove_file(&chunk).unwrap();
    std::fs::create_dir_all(chunk.join("inside")).unwrap();
    assert_eq!(tests::kind(ds.close()), crate::error::ErrorKind::Io);
}

#[test]
fn a_chunk_that_one_entry_of_a_batch_covers_is_not_read_for_the_others() {
    for (shape, shard) in [(8, false), (6, false), (8, true)] {
        let store = Store::memory(&Context::with_threads(1));
        let mut spec = spec(&[shape], &[4]);
        if shard {
            spec.set_inner_chunks(&[2]).unwrap();
        }
        let array = Array::create(&store, "a", &spec, Create::New).unwrap();
        store.key_put("a/c/1", b"no chunk").unwrap();
        let count = shape as i64 - 4;
        let [mut one, mut all, mut two] = [vec![1], vec![2; count as usize], vec![3]];
        let region = |start: i64, count: i64| Selection::new(&[shape], &[start], &[count], None).unwrap();
        let parts = vec![
            (&array, region(5, 1), view(&mut one, &[1])),
            (&array, region(4, count), view(&mut all, &[count as u64])),
            (&array, region(4, 1), view(&mut two, &[1])),
        ];
        let written = own!(requests::write_many(parts));
        assert!(written.is_ok(), "{shape} {shard}: {written:?}");
        assert_eq!(read_all(&array)[4..6], [3, 2]);
    }
}
