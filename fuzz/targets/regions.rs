//! Random regions with random strides into random memory: what is outside of the memory is never touched, whatever the numbers.
//! Run: tools/fuzz regions 60
use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::node::{Array, Context, Create, Mode, Spec, Store};
use ozarr::store::{SharedStore, memory::MemoryStore};
use std::sync::{Arc, OnceLock};

fn array() -> &'static Array {
    static ARRAY: OnceLock<Array> = OnceLock::new();
    ARRAY.get_or_init(|| {
        let store: SharedStore = Arc::new(MemoryStore::new());
        let handle = Store::from_shared(&Context::with_threads(2), store, Mode::ReadWrite);
        let mut spec = Spec::new(DataType::UInt16, &[9, 7]).unwrap();
        spec.set_chunks(&[4, 3]).unwrap();
        Array::create(&handle, "a", &spec, Create::New).unwrap()
    })
}

/// Numbers that are mostly small, sometimes extreme.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = i64> + '_ {
    bytes.chunks_exact(2).map(|b| match b[0] {
        250 => i64::MAX - i64::from(b[1]),
        251 => i64::MIN + i64::from(b[1]),
        252 => i64::from(b[1]) << 32,
        _ => i64::from(b[1] as i8),
    })
}

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let mut n = numbers(bytes);
    let mut next = || n.next().unwrap_or(1);
    let (start, shape, step) = ([next(), next()], [next(), next()], [next(), next()]);
    let Ok(selection) = Selection::new(&[9, 7], &start, &shape, Some(&step)) else { return };
    let raw = (next() % DataType::ALL.len() as i64).unsigned_abs() as i32 + 1;
    let data_type = DataType::ALL[raw as usize - 1];
    let mut data = vec![0u8; next().unsigned_abs() as usize % 4096];
    let (offset, strides) = (next().unsigned_abs() as usize, [next(), next()].into_iter().collect());
    let memory = Memory { offset, strides, ..Memory::of(&mut data, &[], data_type) };
    // SAFETY: `data` outlives the calls.
    unsafe {
        let _ = array().write(&selection, &memory);
        let _ = array().read(&selection, &memory);
    }
}
