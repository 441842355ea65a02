//! Whole stores: the input is split into documents (at zero bytes) that become the keys of a hierarchy, which is then listed,
//! opened, read, changed and consolidated.
//! Run: tools/fuzz hierarchy 60
use ozarr::engine::{Memory, Selection};
use ozarr::node::{Array, Context, Group, Mode, Node, Store};
use ozarr::store::{Condition, SharedStore, memory::MemoryStore};
use std::sync::Arc;

const KEYS: &[&str] = &["zarr.json", "a/zarr.json", "b/.zarray", "b/.zattrs", ".zgroup", ".zmetadata", "a/c/0", "b/0", "a/c/0/0", "b/0.0"];

fn read(array: &Array) {
    let shape = array.shape();
    if shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).is_none_or(|n| n > 10_000) {
        return;
    }
    let mut data = vec![0u8; shape.iter().product::<u64>() as usize * array.data_type().size()];
    let memory = Memory::of(&mut data, &shape, array.data_type());
    // SAFETY: `data` outlives the call.
    let _ = unsafe { array.read(&Selection::all(&shape), &memory) };
}

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let store: SharedStore = Arc::new(MemoryStore::new());
    for (key, document) in KEYS.iter().zip(bytes.split(|b| *b == 0)) {
        store.put(key, &[document], Condition::None).unwrap();
    }
    let handle = Store::from_shared(&Context::with_threads(1), store, Mode::ReadWrite);
    for path in ["", "a", "b"] {
        match Node::open(&handle, path) {
            Ok(Node::Array(array)) => {
                read(&array);
                let _ = array.attributes().set_i64("n", 1);
                let _ = array.metadata_json();
                let _ = array.dimension_names();
            }
            Ok(Node::Group(group)) => {
                let _ = group.children();
                let _ = group.attributes().to_json();
            }
            Err(e) => assert!(!e.to_string().is_empty()),
        }
    }
    if let Ok(group) = Group::open(&handle, "") {
        let _ = group.consolidate();
    }
}
