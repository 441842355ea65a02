//! Damaged shards: the stored bytes are the input, with a right or a wrong checksum of the index. No entry leads out of bounds.
//! Run: tools/fuzz shard 60
use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::metadata::Format;
use ozarr::node::{Array, Context, Create, Mode, Spec, Store};
use ozarr::store::{Condition, SharedStore, memory::MemoryStore};
use std::sync::{Arc, OnceLock};

const BYTES: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;

fn chains() -> Vec<String> {
    let shard = |inner: &str, chunk: &str, location: &str, index: &str| {
        format!(
            r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":{chunk},"codecs":[{inner}],"index_codecs":[{BYTES}{index}],"index_location":"{location}"}}}}"#
        )
    };
    let zstd = format!(r#"{BYTES},{{"name":"zstd","configuration":{{"level":1}}}}"#);
    vec![
        format!("[{}]", shard(BYTES, "[2,4]", "end", "")),
        format!("[{}]", shard(&zstd, "[2,4]", "start", "")),
        format!("[{}]", shard(&zstd, "[2,4]", "end", r#",{"name":"crc32c"}"#)),
        format!("[{}]", shard(&shard(&zstd, "[2,2]", "end", ""), "[4,4]", "end", "")),
        format!(r#"[{},{{"name":"crc32c"}}]"#, shard(BYTES, "[2,4]", "end", "")),
    ]
}

fn arrays() -> &'static Vec<(SharedStore, Array)> {
    static ARRAYS: OnceLock<Vec<(SharedStore, Array)>> = OnceLock::new();
    ARRAYS.get_or_init(|| {
        let make = |codecs: String| {
            let store: SharedStore = Arc::new(MemoryStore::new());
            let handle = Store::from_shared(&Context::with_threads(1), store.clone(), Mode::ReadWrite);
            let mut spec = Spec::new(DataType::Int16, &[8, 8]).unwrap();
            spec.set_format(Format::V3).unwrap();
            spec.set_chunks(&[8, 8]).unwrap();
            spec.set_codecs_json(&codecs).unwrap();
            (store, Array::create(&handle, "a", &spec, Create::New).unwrap())
        };
        chains().into_iter().map(make).collect()
    })
}

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let Some((first, stored)) = bytes.split_first() else { return };
    let (store, array) = &arrays()[*first as usize % arrays().len()];
    store.put("a/c/0/0", &[stored], Condition::None).unwrap();
    for (start, shape, step) in [([0i64, 0], [8i64, 8], [1i64, 1]), ([7, 1], [3, 4], [-2, 2])] {
        let mut data = [0i16; 64];
        let memory = Memory { strides: [16, 2].into_iter().collect(), ..Memory::of(&mut data, &[], DataType::Int16) };
        let selection = Selection::new(&[8, 8], &start, &shape, Some(&step)).unwrap();
        // SAFETY: `data` outlives the call.
        let _ = unsafe { array.read(&selection, &memory) };
    }
}
