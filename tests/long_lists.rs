//! Calls with long lists, texts and names where the system refuses a large block, or each from some moment on: they do what they are to do, or are an
//! error of kind `NoMemory`, and work when there is memory again. A list that cannot be refused would end this process.

use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Overflow, Selection};
use ozarr::error::{ErrorKind, Result};
use ozarr::limits::{self, c_strides};
use ozarr::node::{Array, Context, Create, Format, Group, Spec, Store, VerifyOptions, json, requests};
use ozarr::reserve;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// Blocks of as many bytes are large: the library serves smaller ones however it gets them.
const LARGE: usize = 260 << 10;

static IS_ARMED: AtomicBool = AtomicBool::new(false);
static SEEN: AtomicU64 = AtomicU64::new(0);
/// The large block that is refused, and whether all behind it are.
static POINT: AtomicU64 = AtomicU64::new(0);
static AND_ALL_BEHIND: AtomicBool = AtomicBool::new(false);

struct Refusing;

fn is_refused(size: usize) -> bool {
    if size < LARGE || !IS_ARMED.load(SeqCst) {
        return false;
    }
    let (seen, point) = (SEEN.fetch_add(1, SeqCst) + 1, POINT.load(SeqCst));
    seen == point || (seen > point && AND_ALL_BEHIND.load(SeqCst))
}

// SAFETY: blocks are the system's, or slots of the reserve, which are as large as was asked for and are told by their addresses.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_refused(layout.size()) {
            // SAFETY: forwarded.
            return unsafe { System.alloc(layout) };
        }
        let block = reserve::take(layout);
        if reserve::size_of(block).is_none() {
            return block;
        }
        // A larger list would get none.
        // SAFETY: taken here, once.
        unsafe { reserve::put_back(block) };
        std::ptr::null_mut()
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match reserve::size_of(block) {
            // SAFETY: a slot that was taken once.
            Some(_) => unsafe { reserve::put_back(block) },
            // SAFETY: forwarded.
            None => unsafe { System.dealloc(block, layout) },
        }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

type Call = Box<dyn FnMut() -> Result<()>>;

/// Makes a call ready, anew for each block that is refused.
type Prepare = fn() -> Call;

/// Refuses the blocks of a call one after the other, at most so many.
fn try_each_block(name: &str, prepare: Prepare, most: u64) {
    for and_all_behind in [false, true] {
        AND_ALL_BEHIND.store(and_all_behind, SeqCst);
        let (mut point, mut step, mut refused) = (0, 1, 0);
        loop {
            let mut call = prepare();
            POINT.store(if point == 0 { u64::MAX } else { point }, SeqCst);
            SEEN.store(0, SeqCst);
            IS_ARMED.store(true, SeqCst);
            let done = call().and_then(|()| limits::check_memory());
            IS_ARMED.store(false, SeqCst);
            let _ = limits::check_memory();
            let seen = SEEN.load(SeqCst);
            if point == 0 {
                done.unwrap_or_else(|e| panic!("{name}: {e}"));
                step = seen.div_ceil(most).max(1);
            } else if let Err(e) = done {
                assert_eq!(e.kind(), ErrorKind::NoMemory, "{name}, {point}: {e}");
                refused += 1;
                call().unwrap_or_else(|e| panic!("{name}, {point}, again: {e}"));
            }
            if seen < point || (point > 0 && seen == 0) {
                break;
            }
            point += if point == 0 { 1 } else { step };
        }
        println!("{name}: {refused} of {point} points, {and_all_behind}");
        assert!(refused > 0, "{name}: no call was refused a block");
    }
}

/// As many entries make a list of texts large.
const MANY: usize = 12_000;

fn memory_store() -> Store {
    Store::memory(&Context::with_threads(1))
}

fn view(data: &mut [u8], shape: &[u64]) -> Memory {
    let (size, data) = (data.len(), data.as_mut_ptr());
    Memory { data, size, offset: 0, strides: c_strides(shape, 1), data_type: DataType::UInt8, overflow: Overflow::Error, arena: None }
}

fn array_of(store: &Store, chunk: u64, codecs: &str) -> Array {
    let shape = [MANY as u64];
    let mut spec = Spec::new(DataType::UInt8, &shape).unwrap();
    spec.set_chunks(&[chunk]).unwrap();
    spec.set_codecs_json(codecs).unwrap();
    let array = Array::create(store, "a", &spec, Create::New).unwrap();
    let mut data = vec![7; MANY];
    // SAFETY: the memory lives as long as the call.
    unsafe { array.write(&Selection::new(&shape, &[0], &[MANY as i64], None).unwrap(), &view(&mut data, &shape)) }.unwrap();
    array
}

const BYTES: &str = r#"[{"name":"bytes"}]"#;
const SHARD: &str = r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[{"name":"bytes"}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}]"#;

fn copy_of_many_chunks() -> Call {
    let store = memory_store();
    array_of(&store, 1, BYTES);
    Box::new(move || store.copy_node("a", (&store, "b"), Create::Overwrite, true, &mut |_, _| Ok(())))
}

fn erasing_of_many_chunks() -> Call {
    let store = memory_store();
    array_of(&store, 1, BYTES);
    Box::new(move || match store.erase_node("a") {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        erased => erased,
    })
}

fn cut_of_many_chunks() -> Call {
    let store = memory_store();
    let array = array_of(&store, 1, BYTES);
    Box::new(move || array.resize(&[3], false))
}

fn verification_of_many_chunks() -> Call {
    let store = memory_store();
    array_of(&store, 1, BYTES);
    Box::new(move || verify(&store))
}

fn verify(store: &Store) -> Result<()> {
    store.verify("", VerifyOptions::default(), &mut |_| Ok(()), &mut |_, _| Ok(())).map(drop)
}

fn many_writes_into_one_chunk(codecs: &str) -> Call {
    let store = memory_store();
    let array = array_of(&store, MANY as u64, codecs);
    let mut data = vec![9; MANY];
    Box::new(move || {
        let entry = |i: usize| Ok((&array, Selection::new(&[MANY as u64], &[i as i64], &[1], None)?, view(&mut data[i..=i], &[1])));
        let entries = limits::try_collect((0..MANY).map(entry))?;
        // SAFETY: the memories live as long as the call.
        unsafe { requests::write_many(entries) }
    })
}

const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[10],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[5]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}],"attributes":{"units":"K"},"dimension_names":["x"]}"#;
const ARRAY_2: &str =
    r#"{"zarr_format":2,"shape":[10],"chunks":[5],"dtype":"|i1","compressor":null,"fill_value":0,"order":"C","filters":null}"#;

/// A store with a group `g` of many arrays.
fn many_nodes(format: Format) -> Store {
    let store = memory_store();
    let (group, group_text, array, array_text) = match format {
        Format::V3 => ("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#, "zarr.json", ARRAY),
        Format::V2 => (".zgroup", r#"{"zarr_format":2}"#, ".zarray", ARRAY_2),
    };
    for key in [group.to_string(), format!("g/{group}")] {
        store.key_put(&key, group_text.as_bytes()).unwrap();
    }
    (0..MANY / 4).for_each(|i| store.key_put(&format!("g/variable_number_{i}/{array}"), array_text.as_bytes()).unwrap());
    store
}

fn consolidated(format: Format) -> Store {
    let store = many_nodes(format);
    Group::open(&store, "").unwrap().consolidate().unwrap();
    store
}

fn consolidation(format: Format) -> Call {
    let store = many_nodes(format);
    Box::new(move || Group::open(&store, "")?.consolidate())
}

fn verification(format: Format) -> Call {
    let store = consolidated(format);
    Box::new(move || verify(&store))
}

/// Changes one of many nodes of which consolidated metadata tell.
fn change_of_one(format: Format) -> Call {
    let store = consolidated(format);
    let array = Array::open(&store, "g/variable_number_77").unwrap();
    Box::new(move || array.attributes().set("units", "m".into()))
}

fn erasing_of_many_nodes(format: Format) -> Call {
    let store = consolidated(format);
    Box::new(move || match store.erase_node("g") {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        erased => erased,
    })
}

fn renaming_of_many_nodes(format: Format) -> Call {
    let store = consolidated(format);
    Box::new(move || match store.rename_node("g", "h") {
        // It has its new name by then, where only what tells of it was refused.
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::Exists) && Group::open(&store, "h").is_ok() => Ok(()),
        renamed => renamed,
    })
}

fn copy_of_many_nodes(format: Format) -> Call {
    let store = consolidated(format);
    Box::new(move || store.copy_node("g", (&store, "h"), Create::Overwrite, false, &mut |_, _| Ok(())))
}

/// Keys that belong to no node, in many folders.
fn verification_of_foreign_keys() -> Call {
    let store = memory_store();
    store.key_put("zarr.json", br#"{"zarr_format":3,"node_type":"group"}"#).unwrap();
    (0..MANY).for_each(|i| store.key_put(&format!("x/foreign_{i}"), b"7").unwrap());
    Box::new(move || verify(&store))
}

fn many_attributes() -> Call {
    let store = memory_store();
    let array = array_of(&store, MANY as u64, BYTES);
    let list: String = (0..MANY / 2).map(|i| format!(",\"attribute_number_{i}\":{i}")).collect();
    let text = format!("{{{}}}", &list[1..]);
    Box::new(move || {
        let attributes = array.attributes();
        attributes.replace_json(&text)?;
        attributes.set("one_more", 7.into())?;
        attributes.erase("one_more")?;
        assert_eq!(attributes.shown()?.len(), MANY / 2);
        if attributes.begin().is_err() {
            attributes.commit()?;
            attributes.begin()?;
        }
        attributes.set("collected", 8.into())?;
        assert_eq!(attributes.names()?.len(), MANY / 2 + 1);
        attributes.commit()
    })
}

/// Texts in which one value or name is long.
fn long_texts() -> [String; 4] {
    let long = "0123456789".repeat(27_001);
    [
        format!(r#"{{"a":"\n{long}\u00e9\""}}"#),
        format!(r#"{{"\n{long}":7}}"#),
        format!(r#"{{"a":1{long}.5,"b":["\t{long}",2]}}"#),
        format!(r#"{{"a":["{long}","\\ud83d{long}"],"n":NaN}}"#).replace(r"\\ud", r"\ud"),
    ]
}

fn long_text<const WHICH: usize>() -> Call {
    let text = long_texts()[WHICH].clone();
    Box::new(move || {
        let value = json::parse(text.as_bytes(), text.len())?;
        let again = json::compact_of_any(&value)?;
        assert!(json::parse(again.as_bytes(), usize::MAX)? == value && json::text_of_any(&value, 0)?.len() > text.len() / 2);
        Ok(())
    })
}

/// A chunk of elements that are JSON.
fn chunk_of_json(id: &str) -> Call {
    let store = memory_store();
    let document = format!(
        r#"{{"zarr_format":2,"shape":[{MANY}],"chunks":[{MANY}],"dtype":"|O","compressor":null,"fill_value":null,"order":"C","filters":[{{"id":"{id}","encoding":"utf-8"}}]}}"#
    );
    store.key_put("a/.zarray", document.as_bytes()).unwrap();
    let array = Array::open(&store, "a").unwrap();
    let (mut data, mut offsets) = (Vec::new(), vec![0]);
    for i in 0..MANY {
        data.extend_from_slice(format!("{{\"n\":[{i},\"\u{e9}\"]}}").as_bytes());
        offsets.push(data.len() as i64);
    }
    Box::new(move || {
        let all = Selection::new(&[MANY as u64], &[0], &[MANY as i64], None)?;
        array.write_variable(&all, &offsets, &data)?;
        assert_eq!(array.read_variable(&all)?.offsets.len(), MANY + 1);
        Ok(())
    })
}

/// With `OZARR_TEST_ONLY` a case of that name, and all of its blocks.
fn try_all(cases: &[(&str, Prepare)], most: u64) {
    let only = std::env::var("OZARR_TEST_ONLY").ok();
    let is_wanted = |name: &str| only.as_ref().is_none_or(|only| name.contains(only));
    for (name, prepare) in cases.iter().filter(|(name, _)| is_wanted(name)) {
        try_each_block(name, *prepare, if only.is_some() { u64::MAX } else { most });
    }
}

// One test, because blocks are refused to the whole process.
#[test]
fn calls_with_long_lists_and_texts_are_refused_memory() {
    let texts: &[(&str, Prepare)] = &[
        ("attributes", many_attributes),
        ("text with escapes", long_text::<0>),
        ("name with an escape", long_text::<1>),
        ("number", long_text::<2>),
        ("half of a pair", long_text::<3>),
    ];
    try_all(texts, 3);
    let lists: &[(&str, Prepare)] = &[
        ("copy of chunks", copy_of_many_chunks),
        ("erase chunks", erasing_of_many_chunks),
        ("cut chunks", cut_of_many_chunks),
        ("verify chunks", verification_of_many_chunks),
        ("write into one chunk", || many_writes_into_one_chunk(BYTES)),
        ("write into one shard", || many_writes_into_one_chunk(SHARD)),
        ("consolidate v3", || consolidation(Format::V3)),
        ("consolidate v2", || consolidation(Format::V2)),
        ("verify v3", || verification(Format::V3)),
        ("verify v2", || verification(Format::V2)),
        ("change v3", || change_of_one(Format::V3)),
        ("change v2", || change_of_one(Format::V2)),
        ("erase v3", || erasing_of_many_nodes(Format::V3)),
        ("erase v2", || erasing_of_many_nodes(Format::V2)),
        ("rename v3", || renaming_of_many_nodes(Format::V3)),
        ("rename v2", || renaming_of_many_nodes(Format::V2)),
        ("copy v3", || copy_of_many_nodes(Format::V3)),
        ("copy v2", || copy_of_many_nodes(Format::V2)),
        ("foreign keys", verification_of_foreign_keys),
        ("json2", || chunk_of_json("json2")),
        ("msgpack2", || chunk_of_json("msgpack2")),
    ];
    // Minutes of work, in which they are made ready for each block.
    if std::env::var_os("OZARR_TEST_ONLY").is_some() {
        try_all(lists, u64::MAX);
    }
}
