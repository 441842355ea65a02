//! Damaged chunks: the first byte chooses a chain, the rest is what is stored. Decoding ends with the right number of elements
//! or with an error; nothing is read or written out of bounds (AddressSanitizer sees the C libraries, too).
//! Run: tools/fuzz chunk 60
use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::metadata::Format;
use ozarr::node::{Array, Context, Create, Mode, Spec, Store};
use ozarr::store::{Condition, SharedStore, memory::MemoryStore};
use std::sync::{Arc, OnceLock};

/// Format, and the setters' JSON.
const CHAINS: &[(Format, &str)] = &[
    (Format::V3, r#"[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1}}]"#),
    (Format::V3, r#"[{"name":"bytes","configuration":{"endian":"big"}},{"name":"gzip","configuration":{"level":1}}]"#),
    (Format::V3, r#"[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]"#),
    (
        Format::V3,
        r#"[{"name":"bytes","configuration":{"endian":"little"}},{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}}]"#,
    ),
    (
        Format::V3,
        r#"[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1}},{"name":"crc32c"}]"#,
    ),
    (Format::V2, r#"{"id":"zlib","level":1}"#),
    (Format::V2, r#"{"id":"blosc","cname":"blosclz","clevel":5,"shuffle":2,"blocksize":0}"#),
    (Format::V2, r#"{"id":"blosc","cname":"zstd","clevel":5,"shuffle":1,"blocksize":0}"#),
    (Format::V2, r#"{"id":"zstd","level":1}"#),
    (Format::V2, "null"),
];

struct Case {
    store: SharedStore,
    array: Array,
    key: &'static str,
}

fn cases() -> &'static Vec<Case> {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| {
        CHAINS
            .iter()
            .map(|(format, codecs)| {
                let store: SharedStore = Arc::new(MemoryStore::new());
                let handle = Store::from_shared(&Context::with_threads(1), store.clone(), Mode::ReadWrite);
                let mut spec = Spec::new(DataType::Int32, &[40, 30]).unwrap();
                spec.set_format(*format).unwrap();
                spec.set_chunks(&[40, 30]).unwrap();
                match format {
                    Format::V3 => spec.set_codecs_json(codecs).unwrap(),
                    Format::V2 => spec.set_compressor_json(codecs).unwrap(),
                }
                let array = Array::create(&handle, "a", &spec, Create::New).unwrap();
                Case { store, array, key: if *format == Format::V3 { "a/c/0/0" } else { "a/0.0" } }
            })
            .collect()
    })
}

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let Some((first, stored)) = bytes.split_first() else { return };
    let case = &cases()[*first as usize % CHAINS.len()];
    case.store.put(case.key, &[stored], Condition::None).unwrap();
    for region in [([0i64, 0], [40i64, 30]), ([3, 4], [5, 6])] {
        let mut data = vec![0i32; 1200];
        let memory = Memory::of(&mut data, &region.1.map(|n| n as u64), DataType::Int32);
        let selection = Selection::new(&[40, 30], &region.0, &region.1, None).unwrap();
        // SAFETY: `data` outlives the call.
        let _ = unsafe { case.array.read(&selection, &memory) };
    }
}
