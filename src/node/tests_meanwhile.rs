//! Tests of what other threads do in the middle of a call: settings.

use super::tests::{own, read_all, spec, view};
use super::tests_store::{Next, Told};
use super::*;
use crate::engine::Selection;
use crate::error::Result;
use crate::store::SharedStore;
use crate::store::memory::MemoryStore;
use std::sync::{Arc, Mutex};

/// What another thread does before a change of a key that has this end, or, of a text that ends in `opened`, once the key is opened.
#[derive(Clone, Default)]
struct Due(Arc<Mutex<Option<Task>>>);

type Task = (&'static str, Box<dyn FnOnce() + Send>);

impl Due {
    fn set(&self, end: &'static str, task: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap() = Some((end, Box::new(task)));
    }

    fn store(&self, inner: SharedStore) -> Store {
        let due = self.0.clone();
        let tell = move |next: Next<'_>| {
            let key = match next {
                Next::Change(key) => key.to_string(),
                Next::Opened(key) => format!("{key} opened"),
                _ => return Ok(()),
            };
            let now = due.lock().unwrap().take_if(|(end, _)| key.ends_with(*end));
            now.map_or(Ok(()), |(_, task)| std::thread::spawn(task).join().map_err(|_| crate::error::err!(Internal, "failed")))
        };
        Store::from_shared(&Context::with_threads(1), Arc::new(Told { inner, tell, name: None }), Mode::ReadWrite)
    }

    fn in_memory(&self) -> Store {
        self.store(Arc::new(MemoryStore::new()))
    }

    fn is_over(&self) -> bool {
        self.0.lock().unwrap().is_none()
    }
}

fn write_box(array: &Array, start: &[i64], count: &[i64], value: i32) -> Result<()> {
    let mut values = vec![value; count.iter().product::<i64>() as usize];
    let shape: Vec<u64> = count.iter().map(|&n| n as u64).collect();
    let selection = Selection::new(&array.shape(), start, count, None)?;
    own!(array.write(&selection, &view(&mut values, &shape)))
}

/// The elements, as another handle reads them.
fn stored(array: &Array) -> Vec<i32> {
    read_all(&Array::open(array.store(), array.path()).unwrap())
}

#[test]
fn settings_that_come_while_another_call_changes_the_array_stay() {
    fn append(array: &Array) {
        own!(array.append(0, 1, &view(&mut [7], &[1])).unwrap());
    }
    fn step(appender: &mut Appender) {
        own!(appender.append(1, &view(&mut [7], &[1])).unwrap());
    }
    /// A call that publishes a document, and sets what is due before that.
    type Call = fn(&Array, &dyn Fn());
    let calls: [(&str, Call); 6] = [
        ("append", |array, set| {
            set();
            append(array);
        }),
        ("grow", |array, set| {
            set();
            array.resize(&[12], false).unwrap();
        }),
        ("shrink", |array, set| {
            set();
            array.resize(&[9], false).unwrap();
        }),
        ("name", |array, set| {
            set();
            array.set_dimension_names(&[Some("t".into())]).unwrap();
        }),
        ("an appender's first step", |array, set| {
            let mut appender = Appender::open(array, 0, 1, 0).unwrap();
            set();
            step(&mut appender);
        }),
        ("an appender's next step", |array, set| {
            let mut appender = Appender::open(array, 0, 1, 0).unwrap();
            step(&mut appender);
            set();
            step(&mut appender);
        }),
    ];
    for (name, call) in calls {
        let due = Due::default();
        let array = Array::create(&due.in_memory(), "a", &spec(&[10], &[4]), Create::New).unwrap();
        let set = || {
            let array = array.clone();
            due.set("a/zarr.json", move || {
                array.set_write_back(1 << 20).unwrap();
                array.set_chunk_cache(1 << 20).unwrap();
                array.set_list_changes(true);
                array.set_write_fill_chunks(true);
                write_box(&array, &[1], &[1], 5).unwrap();
            });
        };
        call(&array, &set);
        assert!(due.is_over(), "{name}");
        let bound = array.state().bound("a").unwrap();
        let has = (bound.write_back.is_some(), bound.cache.is_some(), bound.changes.is_some(), bound.store_fill_chunks);
        assert_eq!(has, (true, true, true, true), "{name}");
        assert_eq!((read_all(&array)[1], stored(&array)[1]), (5, 5), "{name}");
        assert_eq!(array.changes().unwrap(), "a/c/0\n", "{name}");
        // What is taken back stays so.
        let again = array.clone();
        due.set("a/zarr.json", move || again.set_write_back(0).unwrap());
        append(&array);
        write_box(&array, &[1], &[1], 6).unwrap();
        assert_eq!((array.write_back(), stored(&array)[1]), (0, 6), "{name}");
    }
}
