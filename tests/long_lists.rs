//! Calls with long lists, texts and names where the system refuses a large block, or each from some moment on: they do what they are to do, or are an
//! error of kind `NoMemory`, and work when there is memory again. A list that cannot be refused would end this process.

use ozarr::dtype::{DataType, Field, Struct};
use ozarr::engine::{CoordinateSelection, Memory, Overflow, Selection};
use ozarr::error::{ErrorKind, Result};
use ozarr::limits::{self, c_strides};
use ozarr::node::{
    Appender, Array, Checkpoints, Context, Create, Dataset, Format, Group, JsonKind, Mode, Series, Spec, Store, VerifyOptions, json,
    repair_zip, requests,
};
use ozarr::reserve;
use ozarr::store::suite::TestFolder;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;
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

/// The bytes of an archive of many keys, and those without its directory.
fn archives() -> &'static [Vec<u8>; 2] {
    static ARCHIVES: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    ARCHIVES.get_or_init(|| {
        let (folder, location) = folder_of(&[]);
        let store = Store::open(&Context::with_threads(1), &location, Mode::ReadWrite, &[]).unwrap();
        (0..3 * MANY).for_each(|i| store.key_put(&format!("x/key_number_{i}"), b"7").unwrap());
        let torn = std::fs::read(&location).unwrap();
        drop(store);
        let whole = std::fs::read(&location).unwrap();
        drop(folder);
        [whole, torn]
    })
}

/// A new folder with an archive of those bytes, and its location.
fn folder_of(bytes: &[u8]) -> (TestFolder, String) {
    let folder = TestFolder::new("long-archive");
    std::fs::create_dir_all(&folder).unwrap();
    let location = folder.join("x.zip");
    std::fs::write(&location, bytes).unwrap();
    let location = location.to_str().unwrap().to_string();
    (folder, location)
}

fn opening_of_an_archive() -> Call {
    let (folder, location) = folder_of(&archives()[0]);
    Box::new(move || {
        let _folder = &folder;
        let store = Store::open(&Context::with_threads(1), &location, Mode::Read, &[])?;
        assert_eq!(store.key_list("x/")?.len(), 3 * MANY);
        Ok(())
    })
}

fn growth_of_an_archive() -> Call {
    let (folder, location) = folder_of(&archives()[0]);
    Box::new(move || {
        let _folder = &folder;
        let store = Store::open(&Context::with_threads(1), &location, Mode::ReadWrite, &[])?;
        for key in ["a", "b"] {
            store.key_put(key, b"7")?;
            store.flush()?;
        }
        Ok(())
    })
}

fn repair_of_an_archive() -> Call {
    let ((folder, location), torn) = (folder_of(&[]), &archives()[1]);
    Box::new(move || {
        let _folder = &folder;
        std::fs::write(&location, torn).unwrap();
        assert_eq!(repair_zip(&location)?.keys, 3 * MANY as u64);
        Ok(())
    })
}

fn step_of_many_variables() -> Call {
    let store = memory_store();
    store.key_put("zarr.json", br#"{"zarr_format":3,"node_type":"group"}"#).unwrap();
    let along_time = ARRAY.replace("[10]", "[0]").replace("\"x\"", "\"time\"");
    let coordinate =
        along_time.replace("int8", "int32").replace(r#""name":"bytes""#, r#""name":"bytes","configuration":{"endian":"little"}"#);
    store.key_put("time/zarr.json", coordinate.as_bytes()).unwrap();
    (0..MANY / 4).for_each(|i| store.key_put(&format!("variable_number_{i}/zarr.json"), along_time.as_bytes()).unwrap());
    let mut time = 0.0;
    Box::new(move || {
        let dataset = Dataset::open(Group::open(&store, "")?)?;
        let mut series = Series::open(&dataset, "time", None, 1, 0)?;
        for _ in 0..2 {
            time += 1.0;
            series.step(time)?;
        }
        series.close()
    })
}

/// A dataset with as many dimensions as variables, of which one is a coordinate of all.
fn dataset_of_many_variables() -> Call {
    let store = memory_store();
    store.key_put("zarr.json", br#"{"zarr_format":3,"node_type":"group"}"#).unwrap();
    for i in 0..MANY / 4 {
        let document = ARRAY.replace("[\"x\"]", &format!("[\"x_{i}\"]")).replace("\"units\":\"K\"", "\"coordinates\":\"height\"");
        store.key_put(&format!("variable_number_{i}/zarr.json"), document.as_bytes()).unwrap();
    }
    let scalar = ARRAY.replace("[\"x\"]", "[]").replace("[10]", "[]").replace("[5]", "[]");
    store.key_put("height/zarr.json", scalar.as_bytes()).unwrap();
    Box::new(move || {
        let dataset = Dataset::open(Group::open(&store, "")?)?;
        assert_eq!(dataset.dimensions()?.len(), MANY / 4);
        assert!(dataset.variable("none").is_err() && dataset.dimension("none").is_err());
        dataset.set_coordinate("height")?;
        dataset.close()
    })
}

fn checkpoint_of_many_arrays() -> Call {
    let store = memory_store();
    Box::new(move || {
        let group = Checkpoints::new(&store, "run")?.begin("one")?;
        for i in 0..MANY / 4 {
            group.store().key_put(&format!("variable_number_{i}/zarr.json"), ARRAY.as_bytes())?;
        }
        group.commit()
    })
}

fn many_checkpoints() -> Call {
    let store = memory_store();
    store.key_put("run/zarr.json", br#"{"zarr_format":3,"node_type":"group"}"#).unwrap();
    for i in 0..MANY / 4 {
        let about = format!(r#"{{"name":"step_{i}","number":{i}}}"#);
        let text = format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{"ozarr_checkpoint":{about}}}}}"#);
        store.key_put(&format!("run/step_{i}/zarr.json"), text.as_bytes()).unwrap();
    }
    Box::new(move || {
        let all = Checkpoints::new(&store, "run")?;
        all.begin("another")?.commit()?;
        assert!(all.list()?.len() > 10);
        all.latest()?;
        all.prune(MANY / 4 - 10)
    })
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

/// A text that takes a large block.
fn long() -> String {
    "0123456789".repeat(27_001)
}

/// One attribute that is a long text.
fn long_attribute() -> Call {
    let store = memory_store();
    let group = Group::create(&store, "", None, Create::New).unwrap();
    let text = long();
    Box::new(move || {
        group.attributes().set_string("text", &text)?;
        assert_eq!(group.attributes().get_string("text")?.as_str(), text);
        Ok(())
    })
}

/// Attributes with long texts and names, in a group with consolidated metadata.
fn long_attributes(format: Format) -> Call {
    let store = memory_store();
    Group::create(&store, "", Some(format), Create::New).unwrap();
    let mut spec = Spec::new(DataType::UInt8, &[4]).unwrap();
    spec.set_format(format).unwrap();
    let array = Array::create(&store, "a", &spec, Create::New).unwrap();
    array.attributes().set_string("before", &long()).unwrap();
    Group::open(&store, "").unwrap().consolidate().unwrap();
    let text = long();
    Box::new(move || {
        let attributes = array.attributes();
        attributes.erase("json").or_else(|e| if e.kind() == ErrorKind::NotFound { Ok(()) } else { Err(e) })?;
        attributes.set_string("text", &text)?;
        assert_eq!(attributes.get_string("text")?.as_str(), text);
        attributes.set_strings("texts", &[&text, "short", &text])?;
        assert_eq!(attributes.get_strings("texts")?, [text.as_str(), "short", &text]);
        attributes.set_i64(&text, 7)?;
        assert_eq!((attributes.get_i64(&text)?, attributes.kind("texts")?), (7, JsonKind::Array));
        assert!(attributes.names()?.contains(&text) && attributes.name_at(3)? == *text && attributes.count()? == 4);
        attributes.set_json("json", &json::compact_of_any(&attributes.get("texts")?)?)?;
        assert!(attributes.get_json("json")?.len() > 2 * text.len() && attributes.to_json()?.len() > 5 * text.len());
        attributes.erase("json")?;
        for refused in [attributes.get_f64("text"), attributes.get_f64("_FillValue"), attributes.get_f64(&text[1..])] {
            refused.map_err(|e| if e.kind() == ErrorKind::NoMemory { Err(e) } else { Ok(()) }).unwrap_err()?;
        }
        attributes.erase(&text)?;
        if attributes.begin().is_err() {
            attributes.commit()?;
            attributes.begin()?;
        }
        attributes.set_string("text", &text[1..])?;
        attributes.commit()?;
        let read = Array::open(&store, "a")?;
        assert_eq!(read.attributes().get_string("text")?, text[1..]);
        Ok(())
    })
}

fn long_history() -> Call {
    let store = memory_store();
    let group = Group::create(&store, "", None, Create::New).unwrap();
    let text = long();
    Box::new(move || {
        group.attributes().erase("history").or_else(|e| if e.kind() == ErrorKind::NotFound { Ok(()) } else { Err(e) })?;
        for _ in 0..2 {
            group.attributes().add_history(&format!("program: {}\n{}", &text[..9], &text[..99]))?;
            group.attributes().add_history(&text)?;
        }
        assert!(group.attributes().history()?.len() > 2 * text.len());
        Ok(())
    })
}

/// Arrays with long fill values.
fn long_fill(data_type: DataType, format: Format) -> Call {
    let element: Vec<u8> = match data_type {
        DataType::Text(n) => u32::from('x').to_ne_bytes().repeat(n as usize),
        DataType::VarText | DataType::VarBytes => long().into_bytes(),
        _ => vec![b'x'; data_type.size()],
    };
    let store = memory_store();
    Box::new(move || {
        let mut spec = Spec::new(data_type, &[4])?;
        spec.set_chunks(&[2])?;
        spec.set_format(format)?;
        spec.set_fill(data_type, &element)?;
        let spec = spec.clone();
        assert!(spec.to_json()?.len() >= element.len() / 4);
        let array = Array::create(&store, "a", &spec, Create::Overwrite)?;
        let array = [array, Array::create(&store, "a", &spec, Create::OpenIfSame)?].into_iter().next_back().unwrap();
        array.attributes().set("x", 7.into())?;
        array.resize(&[3], false)?;
        array.resize(&[4], false)?;
        assert_eq!(array.fill().try_element(data_type)?[..], element[..]);
        store.copy_node("a", (&store, "b"), Create::Overwrite, false, &mut |_, _| Ok(()))?;
        assert!(Array::open(&store, "b")?.spec(None)?.to_json()?.len() >= element.len() / 4);
        let selection = Selection::new(&[4], &[1], &[2], None)?;
        if data_type.is_variable() {
            array.write_variable(&selection, &[0, 1, 2], b"ab")?;
            assert_eq!(array.read_variable(&Selection::all(&[4]))?.get(3), Some(&element[..]));
            return Ok(());
        }
        let mut data = Vec::new();
        limits::grow(&mut data, 4 * element.len())?;
        let memory = |data: &mut [u8], shape: &[u64]| Memory::of(data, shape, data_type);
        // SAFETY: the memories live as long as the calls.
        unsafe {
            array.write(&selection, &memory(&mut data[..2 * element.len()], &[2]))?;
            array.read(&Selection::all(&[4]), &memory(&mut data, &[4]))?;
        }
        assert!(data[3 * element.len()..] == element[..]);
        Ok(())
    })
}

fn record() -> DataType {
    let field = |name: &str, t: DataType| Field { name: name.into(), offset: 0, element: t.into(), shape: vec![] };
    DataType::Struct(Struct::packed(vec![field("s", DataType::Bytes(290_000)), field("n", DataType::Int16)]).unwrap())
}

/// Names of dimensions that are too long are refused.
fn long_names_of_dimensions() -> Call {
    let store = memory_store();
    let array = array_of(&store, 1, BYTES);
    let text = long();
    Box::new(move || {
        let mut spec = Spec::new(DataType::UInt8, &[4])?;
        let mut names = Vec::new();
        limits::push(&mut names, Some(limits::text_of(&text)?))?;
        let refused = [array.set_dimension_names(&names), spec.set_dimension_names(names)];
        refused.into_iter().try_for_each(|refused| match refused {
            Err(e) if e.kind() == ErrorKind::Limit => Ok(()),
            other => other,
        })
    })
}

/// Elements that long lists pick.
fn picks(chunk: u64, codecs: &'static str) -> Call {
    const LENGTH: usize = 3_000_000;
    let store = memory_store();
    let mut spec = Spec::new(DataType::UInt8, &[LENGTH as u64]).unwrap();
    spec.set_chunks(&[chunk]).unwrap();
    spec.set_codecs_json(codecs).unwrap();
    let array = Array::create(&store, "a", &spec, Create::New).unwrap();
    let points: Vec<i64> = (0..40_000).map(|i| i * 7919 % LENGTH as i64).collect();
    let mask: Vec<u8> = (0..LENGTH).map(|i| u8::from(i % 71 == 0)).collect();
    let mut data = vec![7; LENGTH];
    Box::new(move || {
        let (lists, region) = ([Some(&points[..])], Selection::all(&[LENGTH as u64]));
        let kinds = [
            CoordinateSelection::Points { count: points.len() as u64, coordinates: &points },
            CoordinateSelection::Orthogonal(&lists),
            CoordinateSelection::Mask { region: &region, mask: &mask },
        ];
        for kind in &kinds {
            let shape = kind.shape(&[LENGTH as u64]);
            let memory = view(&mut data[..shape[0] as usize], &shape);
            // SAFETY: the memory lives as long as the calls.
            unsafe { array.write_picks(kind, &memory).and_then(|()| array.read_picks(kind, &memory)) }?;
            assert!(data[..shape[0] as usize].iter().all(|value| *value == 7));
        }
        Ok(())
    })
}

const LARGE_SHARD: &str = r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[100],"codecs":[{"name":"bytes"}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}]"#;

/// Parts of chunks that wait, and are dropped because a write fails, or lost because their array is replaced.
fn many_parts_that_wait() -> Call {
    const LENGTH: usize = 40_000;
    let store = memory_store();
    let mut spec = Spec::new(DataType::UInt8, &[0, LENGTH as u64]).unwrap();
    spec.set_chunks(&[2, 2]).unwrap();
    let mut data = vec![7; LENGTH * 2];
    Box::new(move || {
        let array = Array::create(&store, "a", &spec, Create::Overwrite)?;
        let mut appender = Appender::open(&array, 0, 0, 0)?;
        // SAFETY: the memories live as long as the calls.
        unsafe { appender.append(1, &view(&mut data[..LENGTH], &[1, LENGTH as u64])) }?;
        data[LENGTH * 2 - 1] = 128;
        let too_large = Memory::of(&mut data, &[1, LENGTH as u64], DataType::Int16);
        // SAFETY: as above.
        let refused = unsafe { appender.append(1, &too_large) };
        data[LENGTH * 2 - 1] = 7;
        refused.map_err(|e| if e.kind() == ErrorKind::NoMemory { Err(e) } else { Ok(()) }).unwrap_err()?;
        appender.flush()?;
        Array::create(&store, "a", &spec, Create::Overwrite).map(drop)
    })
}

/// An object that a cache keeps, and others that it forgets.
fn cached_objects() -> Call {
    let inner = memory_store();
    let text = long();
    inner.key_put("long", text.as_bytes()).unwrap();
    (0..MANY).for_each(|i| inner.key_put(&format!("x/{i}"), b"7").unwrap());
    Box::new(move || {
        let store = inner.cached(64 << 20, Mode::ReadWrite)?;
        for _ in 0..2 {
            assert!(store.key_get("long")?.is_some_and(|found| found == text.as_bytes()));
        }
        (0..MANY).try_for_each(|i| store.key_get(&format!("x/{i}")).map(drop))?;
        store.key_put("x/0", b"8")
    })
}

/// Chunks of many extents.
fn many_extents() -> Call {
    let store = memory_store();
    let extents: Vec<u64> = (0..MANY as u64).map(|i| 1 + i % 3).collect();
    let length = extents.iter().sum();
    Box::new(move || {
        let mut spec = Spec::new(DataType::UInt8, &[length])?;
        spec.set_chunk_extents(0, &extents)?;
        Array::create(&store, "a", &spec.clone(), Create::Overwrite)?;
        let array = Array::create(&store, "a", &spec, Create::OpenIfSame)?;
        array.resize(&[length + 9], false)?;
        assert_eq!(Array::open(&store, "a")?.grid().counts(&[length + 9])[..], [MANY as u64 + 1]);
        array.spec(None)?.to_json().map(drop)
    })
}

/// The dimensions that netCDF-C defines in a group.
fn many_nc_dimensions() -> Call {
    let store = memory_store();
    let list: String = (0..MANY).map(|i| format!(",\"dimension_{i}\":10")).collect();
    let group = format!(r#"{{"zarr_format":2,"_nczarr_group":{{"dimensions":{{{}}},"arrays":[],"groups":[]}}}}"#, &list[1..]);
    store.key_put(".zgroup", group.as_bytes()).unwrap();
    Box::new(move || {
        let group = Group::open(&store, "")?;
        group.define_nc_dimension("one_more", 7, false)?;
        assert_eq!(group.nc_dimensions()?.map(|all| all.len()), Some(MANY + 1));
        Ok(())
    })
}

/// Nodes that are converted in place.
fn migration_of_many_nodes() -> Call {
    let (store, other) = (memory_store(), many_nodes(Format::V2));
    Box::new(move || {
        store.erase_node("").or_else(|e| if e.kind() == ErrorKind::NotFound { Ok(()) } else { Err(e) })?;
        other.copy_node("", (&store, ""), Create::New, false, &mut |_, _| Ok(()))?;
        store.migrate("", None, false, &mut |_, _| Ok(())).map(drop)
    })
}

/// Steps that are appended, a chunk each, with the keys of the chunks listed.
fn many_steps() -> Call {
    let store = memory_store();
    let mut spec = Spec::new(DataType::UInt8, &[0]).unwrap();
    spec.set_chunks(&[1]).unwrap();
    let array = Array::create(&store, "a", &spec, Create::New).unwrap();
    array.set_list_changes(true);
    let mut data = vec![7; 40_000];
    Box::new(move || {
        let count = data.len() as u64;
        array.resize(&[0], false)?;
        // SAFETY: the memory lives as long as the call.
        unsafe { array.append(0, count, &view(&mut data, &[count])) }?;
        assert!(array.changes()?.unwrap().len() > 7 * data.len());
        let told = |_: u64| Ok(());
        ozarr::analysis::digest::digest(&array, Selection::all(&array.shape()), &told).map(drop)
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
        ("long attribute", long_attribute),
        ("long history", long_history),
        ("fill of text v3", || long_fill(DataType::VarText, Format::V3)),
        ("fill of bytes v2", || long_fill(DataType::Bytes(280_000), Format::V2)),
        ("names of dimensions", long_names_of_dimensions),
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
        ("open an archive", opening_of_an_archive),
        ("append to an archive", growth_of_an_archive),
        ("repair an archive", repair_of_an_archive),
        ("dataset of many variables", dataset_of_many_variables),
        ("step of many variables", step_of_many_variables),
        ("checkpoint of many arrays", checkpoint_of_many_arrays),
        ("many checkpoints", many_checkpoints),
        ("json2", || chunk_of_json("json2")),
        ("msgpack2", || chunk_of_json("msgpack2")),
        ("fill of any bytes v3", || long_fill(DataType::VarBytes, Format::V3)),
        ("fill of any text v2", || long_fill(DataType::VarText, Format::V2)),
        ("fill of fixed text v2", || long_fill(DataType::Text(70_000), Format::V2)),
        ("fill of fixed text v3", || long_fill(DataType::Text(70_000), Format::V3)),
        ("fill of raw v3", || long_fill(DataType::Raw(280_000), Format::V3)),
        ("fill of a struct v2", || long_fill(record(), Format::V2)),
        ("long attributes v3", || long_attributes(Format::V3)),
        ("long attributes v2", || long_attributes(Format::V2)),
        ("fill of a struct v3", || long_fill(record(), Format::V3)),
        ("picks of one chunk", || picks(3_000_000, BYTES)),
        ("picks of chunks", || picks(1_000, BYTES)),
        ("picks of a shard", || picks(1_500_000, LARGE_SHARD)),
        ("steps", many_steps),
        ("parts that wait", many_parts_that_wait),
        ("cached objects", cached_objects),
        ("extents", many_extents),
        ("dimensions of netCDF", many_nc_dimensions),
        ("migrate", migration_of_many_nodes),
    ];
    // Minutes of work, in which they are made ready for each block.
    if std::env::var_os("OZARR_TEST_ONLY").is_some() {
        try_all(lists, u64::MAX);
    }
}
