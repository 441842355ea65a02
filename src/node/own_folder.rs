//! The folder that an array has on a local disk, while something is done that goes by what the array was before. Another process may put an array with
//! the same document in its place: then that of the document says nothing.

use super::{Array, path};
use crate::error::{Result, bail};
use crate::store::{Folder, os};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many folders are kept open by this process.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// The folder of an array at one moment.
pub(super) struct OwnFolder(Option<Known>);

struct Known {
    numbers: [u64; 2],
    /// Open, so that no other folder gets the numbers.
    _open: HeldFolder,
}

struct HeldFolder(Folder);

impl OwnFolder {
    /// That of the array as it is now. Where too many are open it is not known.
    pub fn of(array: &Array) -> OwnFolder {
        let (shared, prefix) = (array.store().shared(), path::prefix(array.path()));
        let Some(_open) = HeldFolder::new(|| shared.folder(&prefix)) else { return OwnFolder(None) };
        let numbers = shared.folder_numbers(&prefix).ok().flatten();
        OwnFolder(numbers.map(|numbers| Known { numbers, _open }))
    }

    /// Checks that the array has that folder still. One that has none, or cannot be looked at, is told of by what is done with it. Errors: `State` if
    /// another one has its name.
    pub fn check(&self, array: &Array) -> Result<()> {
        let Some(known) = &self.0 else { return Ok(()) };
        match array.store().shared().folder_numbers(&path::prefix(array.path())) {
            Ok(Some(numbers)) if numbers != known.numbers => bail!(
                State,
                "another process has replaced the array {}: what was appended to the old one is lost with it; open the array again",
                array.store().place(array.path()).trim_end_matches('/')
            ),
            _ => Ok(()),
        }
    }
}

impl HeldFolder {
    /// `None` where there are no folders, or too many are open.
    fn new(open: impl FnOnce() -> Folder) -> Option<HeldFolder> {
        if cfg!(windows) {
            // There nothing gets the numbers of what is gone, and no folder above one that is open can be renamed.
            return Some(HeldFolder(Folder::Unknown));
        }
        let most = os::most_files() / 8;
        OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < most).then_some(n + 1)).ok()?;
        // What is not opened is not counted any more.
        Some(HeldFolder(open())).filter(|held| matches!(held.0, Folder::Open { .. }))
    }
}

impl Drop for HeldFolder {
    fn drop(&mut self) {
        if !cfg!(windows) {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{own, spec, text, view};
    use super::super::tests_growth::Folder as TestFolder;
    use super::super::tests_store::{Next, Told};
    use super::super::{Appender, Array, Context, Create, Group, Mode, Series, Store, path};
    use crate::dtype::DataType;
    use crate::error::{ErrorKind, Result};
    use crate::metadata::Format;
    use crate::node::conventions::{Dataset, VariableSpec};
    use crate::store::local::{LocalStore, SyncMode};
    use crate::store::{Condition, StorageExt};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Puts a folder with the same document in the place of a node's, as another process does; twice, so that the number of the first folder is used
    /// again.
    fn replace(root: &Path, node: &str, document: &str) {
        let (other, prefix) = (LocalStore::open(root, true, SyncMode::None).unwrap(), path::prefix(node));
        let mut build = |new: crate::store::SharedStore| new.put("zarr.json", &[document.as_bytes()], Condition::None);
        for _ in 0..2 {
            assert!(crate::store::Storage::files(&other).unwrap().replace_prefix(&prefix, &mut build, &mut || ()).unwrap());
        }
    }

    /// What is done before a step, and the step.
    type Steps = fn(&Store, &str) -> Box<dyn FnMut() -> Result<()>>;

    fn append(store: &Store, node: &str) -> Box<dyn FnMut() -> Result<()>> {
        let array = Array::open(store, node).unwrap();
        let mut appender = Appender::open(&array, 0, 0, 0).unwrap();
        Box::new(move || own!(appender.append(1, &view(&mut [7], &[1]))).and_then(|()| appender.flush()))
    }

    fn append_once(store: &Store, node: &str) -> Box<dyn FnMut() -> Result<()>> {
        let array = Array::open(store, node).unwrap();
        Box::new(move || own!(array.append(0, 1, &view(&mut [7], &[1]))))
    }

    fn step(store: &Store, _: &str) -> Box<dyn FnMut() -> Result<()>> {
        let mut series = Series::open(&Dataset::open(Group::open(store, "").unwrap()).unwrap(), "x", None, 1, 0).unwrap();
        Box::new(move || own!(series.put("a", |_, strides| Ok(view(&mut [7], strides)))).and_then(|()| series.step(0.0)))
    }

    /// Makes a step while the folder is replaced before call `after` of the store, and checks what is there then; `false` if there are no more calls.
    fn is_told((node, steps, looks_first): (&str, Steps, bool), after: usize) -> bool {
        let folder = TestFolder::new("own-folder");
        if node.is_empty() {
            Array::create(&folder.1, node, &spec(&[4], &[2]), Create::New).unwrap();
        } else {
            let dataset = Dataset::create(&folder.1, "", Some(Format::V3), Create::New).unwrap();
            dataset.define_dimension("x", 4).unwrap();
            let variable = VariableSpec { chunks: Some(vec![2]), ..VariableSpec::new(DataType::Int32, &["x"]) };
            dataset.define_variable(node, &variable, Create::New).unwrap();
        }
        let (key, count, root) = (path::join(node, "zarr.json"), Arc::new(AtomicUsize::new(usize::MAX)), folder.0.to_path_buf());
        let document = text(&folder.1, &key).unwrap();
        let last = Arc::new(AtomicUsize::new(usize::MAX));
        let tell = {
            let (count, last, key, document, node) = (count.clone(), last.clone(), key.clone(), document.clone(), node.to_string());
            move |next: Next<'_>| {
                let n = count.load(Ordering::Relaxed);
                if n != usize::MAX {
                    count.store(n + 1, Ordering::Relaxed);
                    if n == after {
                        // Nothing is looked at between this and the put of the document.
                        last.store(usize::from(matches!(next, Next::Change(changed) if changed == key)), Ordering::Relaxed);
                        replace(&root, &node, &document);
                    }
                }
                Ok(())
            }
        };
        let inner = Arc::new(LocalStore::open(&folder.0, true, SyncMode::None).unwrap());
        let store = Store::from_shared(&Context::with_threads(1), Arc::new(Told { inner, tell, name: None }), Mode::ReadWrite);
        let mut step = steps(&store, node);
        count.store(0, Ordering::Relaxed);
        let done = step();
        let there = Store::from_shared(&Context::with_threads(1), folder.1.shared().clone(), Mode::Read);
        if last.load(Ordering::Relaxed) == usize::MAX {
            done.unwrap();
            return false;
        }
        let case = format!("{node:?}, call {after}");
        let is_last = last.load(Ordering::Relaxed) == 1;
        match done {
            Ok(()) => assert!(!is_last, "{case}"),
            Err(e) => assert!(e.kind() == ErrorKind::State && e.message().contains("replaced the array"), "{case}: {e}"),
        }
        assert!(is_last || text(&there, &key).unwrap() == document, "{case}: the new array is longer");
        // Without an appender it is looked at once the chunk is stored.
        let stored = folder.1.shared().keys(&path::prefix(node)).unwrap();
        assert!(after > 0 || !looks_first || !stored.iter().any(|key| key.contains("c/")), "{case}: {stored:?}");
        true
    }

    #[test]
    fn what_another_process_has_put_in_the_place_of_an_array_with_the_same_document_gets_no_step_of_it() {
        let cases: [(&str, Steps, bool); 5] =
            [("", append, true), ("a", append, true), ("", append_once, false), ("a", append_once, false), ("a", step, true)];
        for case in cases {
            assert!((0..).find(|&after| !is_told(case, after)).unwrap() > 3);
        }
    }
}
