//! Arrays that differ in their paths only, as many variables of a file do: one that is imported after another like it is made of what is known
//! of that, without reading the document again.

use super::state::ArrayState;
use super::{Array, Store, path};
use crate::error::Result;
use crate::metadata::{Dialect, Format, json};
use crate::registry;
use std::any::Any;
use std::sync::Arc;

/// How the bytes of an exported array begin ([`export`](super::export)); its path follows.
const HEAD: &[u8] = br#"{"ozarr_export":1,"node_type":"array","zarr_format":3,"path":""#;
/// The longest text behind the path that is kept.
const MOST: usize = 1 << 16;

/// Divides exported bytes into the path and the text behind it; `None` of bytes that are written in another way.
fn divide(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(HEAD)?;
    let end = rest.iter().position(|&b| b == b'"')?;
    let (path, text) = rest.split_at(end);
    let plain = text.len() <= MOST && !path.iter().any(|&b| b == b'\\' || b < b' ');
    std::str::from_utf8(path).ok().filter(|_| plain).map(|path| (path, text))
}

/// Whether arrays may be made alike: what a program has registered may be another thing by now, and reports to the context are for each array.
fn may_share(store: &Store) -> bool {
    !registry::is_used() && !store.context().watches()
}

/// Makes the array that `bytes` describe if it is like the one that was imported before.
pub(super) fn import(store: &Store, bytes: &[u8]) -> Result<Option<Array>> {
    if may_share(store) { find(store, bytes) } else { Ok(None) }
}

/// Remembers the array that was made of `bytes`.
pub(super) fn remember(store: &Store, bytes: &[u8], array: &Array) {
    if may_share(store) {
        keep(store, bytes, array);
    }
}

fn find(store: &Store, bytes: &[u8]) -> Result<Option<Array>> {
    let Some((path, text)) = divide(bytes) else { return Ok(None) };
    let known = store.last_imported(|last| last.as_ref().filter(|last| last.0 == text).and_then(|last| last.1.clone()));
    let state = known.and_then(|known| known.downcast::<ArrayState>().ok());
    state.map(|state| Ok(Array::alike(store, path::normalize(path)?, &state))).transpose()
}

fn keep(store: &Store, bytes: &[u8], array: &Array) {
    let Some((_, text)) = divide(bytes) else { return };
    let again = store.last_imported(|last| last.as_ref().is_some_and(|last| last.0 == text));
    let state = array.state();
    // What comes twice might be the path.
    let shared = again && may_be_at_any_path(store, &state) && json::repeated_names(bytes).is_empty();
    // The state is kept from the second array of one text on: those that have no like cost no more than their text.
    let known = shared.then_some(state as Arc<dyn Any + Send + Sync>);
    drop(store.last_imported(|last| last.replace((text.to_vec(), known))));
}

/// Whether nothing of an array's state but its chunks' keys depends on where it is.
fn may_be_at_any_path(store: &Store, state: &ArrayState) -> bool {
    let is_plain = state.meta.format == Format::V3 && state.meta.dialect == Dialect::Final && state.bound.is_ok();
    is_plain && Arc::ptr_eq(&state.chunk_store, store.shared())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;
    use crate::metadata::Value;
    use crate::node::{Context, Create, Spec};

    fn bytes(store: &Store, path: &str) -> Vec<u8> {
        Array::open(store, path).unwrap().export().unwrap()
    }

    /// Does what an import does in a process that has registered nothing, as other tests of this one do.
    fn imported(store: &Store, bytes: &[u8]) -> Array {
        if let Some(array) = find(store, bytes).unwrap() {
            return array;
        }
        let array = Array::open(store, json::parse_object(bytes, MOST).unwrap()["path"].as_str().unwrap()).unwrap();
        keep(store, bytes, &array);
        array
    }

    #[test]
    fn arrays_that_are_imported_one_after_another_are_each_at_its_own_path() {
        let store = Store::memory(&Context::default());
        for path in ["a", "b/c", "d", "e"] {
            let spec = Spec::new(DataType::Int16, &[if path == "e" { 5 } else { 4 }]).unwrap();
            Array::create(&store, path, &spec, Create::New).unwrap();
        }
        let mut shared = 0;
        for path in ["a", "b/c", "d", "d", "e", "a"] {
            let bytes = bytes(&store, path);
            shared += usize::from(find(&store, &bytes).unwrap().is_some());
            let (array, own) = (imported(&store, &bytes), Array::open(&store, path).unwrap());
            assert_eq!((array.path(), array.shape(), array.metadata_json()), (path, own.shape(), own.metadata_json()));
            assert_eq!(array.state().chunks, own.state().chunks);
            assert_eq!(array.state().bound.as_ref().unwrap().prefix, format!("{path}/"));
            array.attributes().set("here", Value::from(path)).unwrap();
            array.resize(&[7], false).unwrap();
            assert_eq!(Array::open(&store, path).unwrap().shape().as_slice(), [7]);
        }
        assert_eq!(shared, 1, "the first two of the same text are read, and no text is the one before it once it was changed");
    }

    #[test]
    fn what_is_done_to_one_array_is_not_done_to_the_next_that_is_like_it() {
        let store = Store::memory(&Context::default());
        for path in ["a", "b", "c", "d"] {
            Array::create(&store, path, &Spec::new(DataType::UInt8, &[4]).unwrap(), Create::New).unwrap();
        }
        let all: Vec<Vec<u8>> = ["a", "b", "c", "d"].map(|path| bytes(&store, path)).into();
        let arrays: Vec<Array> = all[..3].iter().map(|bytes| imported(&store, bytes)).collect();
        arrays[1].set_write_back(1 << 20).unwrap();
        arrays[2].resize(&[9], false).unwrap();
        arrays[2].attributes().set("x", Value::from(1)).unwrap();
        let last = find(&store, &all[3]).unwrap().unwrap();
        assert_eq!((last.write_back(), last.shape().as_slice(), last.attributes().names().unwrap().len()), (0, &[4u64][..], 0));
        assert!(!Arc::ptr_eq(last.stats(), arrays[1].stats()) && !last.is_listed());
    }

    #[test]
    fn bytes_that_are_written_in_another_way_are_read_whole() {
        let store = Store::memory(&Context::default());
        Array::create(&store, "a", &Spec::new(DataType::UInt8, &[4]).unwrap(), Create::New).unwrap();
        let good = String::from_utf8(bytes(&store, "a")).unwrap();
        let twice = good.replacen("\"document\"", "\"path\":\"a\",\"document\"", 1);
        for other in [good.replace(":\"a\"", ":\"\\u0061\""), good.replace("{\"ozarr", "{ \"ozarr"), twice] {
            (0..3).for_each(|_| assert_eq!(imported(&store, other.as_bytes()).path(), "a"));
            assert!(find(&store, other.as_bytes()).unwrap().is_none(), "{other}");
        }
        let bad = good.replace(":\"a\"", ":\"../a\"");
        (0..3).for_each(|_| drop(imported(&store, good.as_bytes())));
        assert!(find(&store, good.as_bytes()).unwrap().is_some() && find(&store, bad.as_bytes()).is_err());
    }
}
