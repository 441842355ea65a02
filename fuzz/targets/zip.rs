//! Zip archives from outside: the directory, then every entry that it lists, read as a whole and in part.
//! Run: tools/fuzz zip 60
use ozarr::store::zip::ZipStore;
use ozarr::store::{Condition, Storage, StorageExt, get, memory::MemoryStore};
use std::sync::Arc;

/// No entry is read that is said to hold more.
const MAX: usize = 1 << 22;

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let memory = Arc::new(MemoryStore::new());
    memory.put("x.zip", &[bytes], Condition::None).unwrap();
    let Ok(store) = ZipStore::over(memory, "x.zip") else { return };
    let keys = store.keys("").unwrap();
    store.list_dir("").unwrap();
    for key in keys {
        let _ = get(&store, &key, MAX);
        let Ok(Some(object)) = store.open(&key) else { continue };
        let len = object.len().unwrap();
        if len <= MAX as u64 {
            let mut one = [0; 1];
            let _ = object.read_exact_at(len / 2, &mut one);
        }
    }
}
