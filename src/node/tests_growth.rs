//! Tests of arrays that grow, of chunks that wait to be written, and of those that are kept for reading.

use super::tests::{far_from, faults, new_dataset, own, read_all, spec, view, write_all};
use super::tests_series::dataset;
use super::tests_store::{Due, Next, anew, on, told};
use super::*;
use crate::engine::Selection;
use crate::error::{ErrorKind, Result, err};
use crate::limits::Dims;
use crate::metadata::json;
use crate::settings::apart;
use crate::store::fault;
use crate::store::local::{LocalStore, SyncMode};
use crate::store::memory::MemoryStore;
use crate::store::os::Call;
use crate::store::suite::TestFolder;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A store in a folder that is removed at the end of a test.
pub(super) struct Folder(pub TestFolder, pub Store);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let root = TestFolder::new(&format!("growth-{name}"));
        let store = Arc::new(LocalStore::open(&root, true, SyncMode::None).unwrap());
        Folder(root, on(store))
    }
}

fn element(array: &Array, at: &[i64]) -> i32 {
    let mut value = [0];
    let one = Selection::new(&array.shape(), at, &vec![1; at.len()], None).unwrap();
    own!(array.read(&one, &view(&mut value, &vec![1; at.len()])).unwrap());
    value[0]
}

pub(super) fn write_box(array: &Array, start: &[i64], count: &[i64], value: i32) -> Result<()> {
    let mut values = vec![value; count.iter().product::<i64>() as usize];
    let shape: Vec<u64> = count.iter().map(|&n| n as u64).collect();
    let selection = Selection::new(&array.shape(), start, count, None)?;
    own!(array.write(&selection, &view(&mut values, &shape)))
}

/// A look, an open, and reads of what `f` does.
fn calls(mut f: impl FnMut()) -> (usize, usize, usize) {
    let mut one = |call| fault::count(call, &mut f);
    (one(Call::Stat), one(Call::Open), one(Call::Read))
}

#[test]
fn an_element_of_a_kept_chunk_is_one_look_at_the_file() {
    for (inner, compressor) in [(None, "none"), (None, "zstd"), (Some([4u64, 4]), "zstd"), (Some([4, 4]), "none")] {
        let folder = Folder::new("kept");
        let mut spec = spec(&[32, 32], &[16, 16]);
        spec.set_compressor(compressor, None).unwrap();
        if let Some(inner) = inner {
            spec.set_inner_chunks(&inner).unwrap();
        }
        let array = Array::create(&folder.1, "a", &spec, Create::New).unwrap();
        let mut values: Vec<i32> = (0..1024).collect();
        write_all(&array, &mut values);
        array.set_chunk_cache(1 << 20).unwrap();
        std::thread::sleep(Duration::from_millis(40));
        element(&array, &[17, 2]);
        assert_eq!(calls(|| assert_eq!(element(&array, &[18, 3]), 18 * 32 + 3)), (1, 0, 0), "{inner:?} {compressor}");
        assert_eq!(element(&array, &[0, 31]), 31);
        // A new file is read, but not kept while another change could leave no trace.
        write_box(&array, &[18, 3], &[1, 1], -5).unwrap();
        for _ in 0..2 {
            assert_eq!(element(&array, &[18, 3]), -5);
        }
        std::thread::sleep(Duration::from_millis(40));
        assert_eq!(element(&array, &[18, 3]), -5);
        assert_eq!(calls(|| assert_eq!(element(&array, &[17, 3]), 17 * 32 + 3)), (1, 0, 0), "{inner:?} {compressor}");
        // What was erased is the fill value.
        array.chunk_erase(&[1, 0], false).unwrap();
        assert_eq!(element(&array, &[17, 3]), 0);
        values.iter_mut().enumerate().for_each(|(i, v)| *v = if (512..).contains(&i) && i % 32 < 16 { 0 } else { *v });
        assert_eq!(read_all(&array), values);
        array.set_chunk_cache(0).unwrap();
        assert_ne!(calls(|| assert_eq!(element(&array, &[18, 18]), 18 * 32 + 18)), (1, 0, 0));
    }
}

#[test]
fn long_runs_of_an_uncompressed_chunk_are_read_from_it_and_not_kept() {
    for (compressor, rows, kept) in [("none", 2, false), ("none", 1, true), ("zstd", 2, true)] {
        let folder = Folder::new("runs");
        let mut spec = spec(&[16, 4096], &[16, 4096]);
        spec.set_compressor(compressor, None).unwrap();
        let array = Array::create(&folder.1, "a", &spec, Create::New).unwrap();
        let mut values: Vec<i32> = (0..16 * 4096).collect();
        write_all(&array, &mut values);
        let cache = ChunkCache::new(1 << 20);
        let context = Context::default().with_settings(Settings { chunk_cache: Some(cache.clone()), ..Settings::default() });
        let array = Array::open(&Store::open(&context, folder.0.to_str().unwrap(), Mode::Read, &[]).unwrap(), "a").unwrap();
        std::thread::sleep(Duration::from_millis(40));
        let mut read = vec![0i32; rows * 4096];
        let selection = Selection::new(&[16, 4096], &[3, 0], &[rows as i64, 4096], None).unwrap();
        own!(array.read(&selection, &view(&mut read, &[rows as u64, 4096])).unwrap());
        assert_eq!(read, values[3 * 4096..][..rows * 4096], "{compressor} {rows}");
        assert_eq!(cache.bytes() > 0, kept, "{compressor} {rows}");
        let bytes = array.stats().snapshot().bytes_read as usize;
        assert!(kept || bytes == rows * 4096 * 4, "{bytes} bytes for {rows} rows");
    }
}

#[test]
fn a_cache_of_a_context_is_shared_and_given_back() {
    let cache = ChunkCache::new(1 << 20);
    let context = Context::default().with_settings(Settings { chunk_cache: Some(cache.clone()), ..Settings::default() });
    let store = Store::memory(&context);
    let arrays: Vec<Array> = (1..4)
        .map(|i| {
            let array = Array::create(&store, &format!("a{i}"), &spec(&[8], &[8]), Create::New).unwrap();
            write_all(&array, &mut [i; 8]);
            array
        })
        .collect();
    for (i, array) in arrays.iter().enumerate() {
        assert_eq!(element(array, &[3]), i as i32 + 1);
        assert_eq!(element(array, &[4]), i as i32 + 1);
    }
    let one = cache.bytes() / 3;
    assert!(one > 32, "{one}");
    drop(arrays);
    assert_eq!(cache.bytes(), 0);
    assert_eq!(tests::kind(Array::create(&store, "b", &spec(&[8], &[8]), Create::New).unwrap().set_chunk_cache(33)), ErrorKind::Limit);
}

#[test]
fn parts_of_chunks_wait_and_are_stored_once() {
    let folder = Folder::new("wait");
    let array = Array::create(&folder.1, "a", &spec(&[8, 8], &[4, 4]), Create::New).unwrap();
    array.set_write_back(2 * 64 + 8).unwrap();
    let renames = |f: &mut dyn FnMut()| fault::count(Call::Rename, f);
    for row in 0..3 {
        assert_eq!(renames(&mut || write_box(&array, &[row, 0], &[1, 8], row as i32 + 1).unwrap()), 0);
    }
    assert_eq!(renames(&mut || write_box(&array, &[3, 0], &[1, 8], 4).unwrap()), 2);
    // Two chunks have room: the third has the one that waits for the longest time stored.
    write_box(&array, &[0, 0], &[1, 1], 10).unwrap();
    write_box(&array, &[0, 4], &[1, 1], 11).unwrap();
    write_box(&array, &[0, 0], &[1, 2], 12).unwrap();
    assert_eq!(renames(&mut || write_box(&array, &[4, 0], &[1, 1], 13).unwrap()), 1);
    let other = Array::open(&folder.1, "a").unwrap();
    assert_eq!([element(&other, &[0, 0]), element(&other, &[0, 4]), element(&other, &[4, 0])], [1, 11, 0]);
    // What makes no larger box waits, too, with bits that there is room for.
    assert_eq!(fault::count(Call::RenameNew, || write_box(&array, &[6, 2], &[1, 1], 14).unwrap()), 0);
    // A whole chunk replaces what waits of it.
    assert_eq!(renames(&mut || write_box(&array, &[4, 0], &[4, 4], 15).unwrap()), 1);
    assert_eq!(element(&other, &[6, 2]), 15);
    assert_eq!(renames(&mut || assert_eq!(element(&array, &[0, 1]), 12)), 1);
    assert_eq!(renames(&mut || array.flush().unwrap()), 0);
    assert_eq!(read_all(&array), read_all(&other));
    // Appending and shrinking store what they write before the shape is published.
    own!(array.append(0, 1, &view(&mut [20; 8], &[1, 8])).unwrap());
    other.refresh().unwrap();
    assert_eq!((other.shape()[0], element(&other, &[8, 5])), (9, 20));
    array.resize(&[8, 7], false).unwrap();
    array.resize(&[8, 8], false).unwrap();
    assert_eq!((element(&array, &[7, 6]), element(&array, &[7, 7])), (0, 0));
    other.refresh().unwrap();
    assert_eq!(read_all(&array), read_all(&other));
    // The last handle stores what waits.
    write_box(&array, &[7, 7], &[1, 1], 16).unwrap();
    drop(array);
    assert_eq!(element(&other, &[7, 7]), 16);
}

#[test]
fn a_part_that_waits_for_an_array_that_was_replaced_by_one_of_another_rank_is_told_of() {
    for new in [&[8][..], &[8, 8, 8], &[]] {
        let folder = Folder::new("replaced");
        let chunks = |shape: &[u64]| vec![4; shape.len()];
        let array = Array::create(&folder.1, "a", &spec(&[8, 8], &[4, 4]), Create::New).unwrap();
        array.set_write_back(1 << 10).unwrap();
        write_box(&array, &[1, 1], &[1, 1], 7).unwrap();
        Array::create(&folder.1, "a", &spec(new, &chunks(new)), Create::Overwrite).unwrap();
        let told = [array.refresh(), array.flush(), array.refresh()].map(tests::kind);
        assert_eq!((told, array.shape().as_slice()), ([ErrorKind::State; 3], &[8, 8][..]), "{new:?}");
        let other = Array::open(&folder.1, "a").unwrap();
        assert_eq!(element(&other, &vec![1; new.len()]), 0, "{new:?}");
    }
}

/// An array of eight chunks of 256 KiB, whose parts wait, in a store with one thread or more.
fn large_chunks(folder: &Folder, threads: usize) -> Array {
    let store = Arc::new(LocalStore::open(&folder.0, true, SyncMode::None).unwrap());
    let store = Store::from_shared(&Context::with_threads(threads), store, Mode::ReadWrite);
    let array = Array::create(&store, "a", &spec(&[2048, 256], &[256, 256]), Create::Overwrite).unwrap();
    array.set_write_back(8 << 18).unwrap();
    array
}

fn write_halves(array: &Array, chunk: i64, value: i32) -> Result<()> {
    [0, 128].into_iter().try_for_each(|row| write_box(array, &[256 * chunk + row, 0], &[128, 256], value))
}

#[test]
fn a_large_chunk_that_became_whole_is_stored_while_the_program_goes_on_and_calls_that_need_it_wait() {
    let folder = Folder::new("behind");
    for (threads, renames) in [(1, 8), (2, 0)] {
        let array = large_chunks(&folder, threads);
        let other = Array::open(&folder.1, "a").unwrap();
        let mut stored = 0;
        for chunk in 0..8 {
            stored += fault::count(Call::Rename, || write_halves(&array, chunk, chunk as i32 + 1).unwrap());
            // By whichever handle.
            assert_eq!(element(&other, &[256 * chunk + 255, 255]), chunk as i32 + 1);
        }
        // The reads above have helped with none that a thread had begun, and counted nothing.
        assert_eq!(stored, renames);
        write_halves(&array, 3, 30).unwrap();
        write_box(&array, &[800, 7], &[1, 1], 31).unwrap();
        array.close().unwrap();
        assert_eq!([element(&other, &[800, 6]), element(&other, &[800, 7]), element(&other, &[2047, 0])], [30, 31, 8]);
    }
}

#[test]
fn what_reads_erases_or_copies_an_array_comes_after_its_chunks_that_other_threads_store() {
    let folder = Folder::new("behind-erased");
    let shared = Arc::new(LocalStore::open(&folder.0, true, SyncMode::None).unwrap());
    let store = Store::from_shared(&Context::with_threads(2), shared, Mode::ReadWrite);
    let mut large = spec(&[1024, 512], &[512, 512]);
    // So slow that the next call comes long before the chunk is stored.
    large.set_compressor("bz2", Some(9)).unwrap();
    let mut values: Vec<i32> = (0..1i32 << 17).map(|i| i.wrapping_mul(i).wrapping_mul(40_503) >> 5).collect();
    let mut write = |path: &str| {
        let array = Array::create(&store, path, &large, Create::Overwrite).unwrap();
        array.set_write_back(16 << 20).unwrap();
        for row in [0, 256] {
            let half = Selection::new(&array.shape(), &[row, 0], &[256, 512], None).unwrap();
            own!(array.write(&half, &view(&mut values, &[256, 512])).unwrap());
        }
        array
    };
    let kept = [write("g/a"), write("g/b"), write("g/c"), write("g/f"), write("g/d"), write("g/e")];
    Array::create(&folder.1, "g/a", &spec(&[4], &[4]), Create::Overwrite).unwrap();
    folder.1.erase_node("g/b").unwrap();
    folder.1.copy_node("g/c", (&folder.1, "copy"), Create::New, false, &mut |_, _| Ok(())).unwrap();
    assert_eq!(Array::open(&folder.1, "g/f").unwrap().usage().unwrap().chunks, 1);
    // As they are, and with other chunks.
    rechunk(&folder.1, "g/d", &mut |_| Ok(()));
    rechunk(&folder.1, "g/e", &mut |spec| spec.set_chunks(&[256, 512]));
    kept.iter().for_each(Array::settle);
    for (copy, chunks) in [("g/d-copy", 1), ("g/e-copy", 2)] {
        assert_eq!(Array::open(&folder.1, copy).unwrap().chunk_count(false).unwrap(), chunks, "{copy}");
    }
    assert_eq!(folder.1.key_list("g/a/").unwrap(), ["g/a/zarr.json"]);
    assert_eq!(folder.1.key_list("g/b/").unwrap(), [""; 0]);
    assert_eq!(folder.1.key_list("copy/").unwrap(), ["copy/c/0/0", "copy/zarr.json"]);
    // Its place below another folder is the same place.
    let inside = Arc::new(LocalStore::open(&folder.0.join("g"), true, SyncMode::None).unwrap());
    let inside = Store::from_shared(&Context::with_threads(1), inside, Mode::ReadWrite);
    let array = write("g/a");
    assert_eq!(element(&Array::open(&inside, "a").unwrap(), &[1, 1]), 513i32.wrapping_mul(513).wrapping_mul(40_503) >> 5);
    array.settle();
    let array = write("g/a");
    inside.erase_node("a").unwrap();
    array.settle();
    assert_eq!(folder.1.key_list("g/a/").unwrap(), [""; 0]);
}

fn rechunk(store: &Store, node: &str, change: &mut dyn FnMut(&mut Spec) -> Result<()>) {
    let to = format!("{node}-copy");
    store.rechunk_node(node, (store, &to), RechunkOptions::default(), &mut |_, spec| change(spec), &mut |_, _| Ok(())).unwrap();
}

#[test]
fn what_takes_stored_bytes_comes_after_chunks_that_other_threads_store() {
    let folder = Folder::new("behind-bytes");
    let shared = Arc::new(LocalStore::open(&folder.0, true, SyncMode::None).unwrap());
    let store = Store::from_shared(&Context::with_threads(2), shared, Mode::ReadWrite);
    let mut large = spec(&[512, 512], &[512, 512]);
    // So slow that the next call comes before the chunk is stored.
    large.set_compressor("bz2", Some(9)).unwrap();
    let mut values: Vec<i32> = (0..1i32 << 18).map(|i| i.wrapping_mul(i).wrapping_mul(40_503) >> 5).collect();
    type Take = fn(&Array) -> Result<bool>;
    let cases: [(&str, Take, Option<u64>); 6] = [
        ("place", |a| Ok(a.chunk_place(&[0, 0], false)?.is_some()), None),
        ("read", |a| a.chunk_read(&[0, 0], false, &mut vec![0; 1 << 21], &mut 0).map(|()| true), None),
        ("list", |a| Ok(a.chunk_count(false)? == 1), None),
        ("usage", |a| Ok(a.usage()?.chunks == 1), None),
        ("write", |a| a.chunk_write(&[0, 0], false, b"bytes").map(|()| true), Some(5)),
        ("erase", |a| a.chunk_erase(&[0, 0], false), Some(0)),
    ];
    for (name, take, len) in cases {
        let array = Array::create(&store, name, &large, Create::New).unwrap();
        array.set_write_back(16 << 20).unwrap();
        for row in [0, 256] {
            let half = Selection::new(&array.shape(), &[row, 0], &[256, 512], None).unwrap();
            own!(array.write(&half, &view(&mut values, &[256, 512])).unwrap());
        }
        assert!(take(&Array::open(&folder.1, name).unwrap()).unwrap(), "{name}");
        array.settle();
        let stored = folder.1.key_len(&format!("{name}/c/0/0")).unwrap().unwrap_or(0);
        assert!(len.is_none_or(|len| len == stored), "{name}: {stored} bytes");
    }
}

#[test]
fn what_another_thread_could_not_store_waits_on_and_the_next_call_says_so() {
    let folder = Folder::new("behind-fails");
    let array = large_chunks(&folder, 2);
    let in_the_way = [1, 2].map(|chunk| folder.0.join(format!("a/c/{chunk}/0")));
    in_the_way.iter().for_each(|path| std::fs::create_dir_all(path.join("inside")).unwrap());
    write_halves(&array, 2, 5).unwrap();
    array.settle();
    // From then on the call that makes a chunk whole tells what came of it.
    assert_eq!(tests::kind(write_halves(&array, 1, 6)), ErrorKind::Io);
    assert_eq!(tests::kind(array.flush()), ErrorKind::Io);
    assert_eq!(tests::kind(array.flush()), ErrorKind::Io);
    in_the_way.iter().for_each(|path| std::fs::remove_dir_all(path).unwrap());
    array.flush().unwrap();
    let other = Array::open(&folder.1, "a").unwrap();
    assert_eq!([element(&other, &[2 * 256, 0]), element(&other, &[256, 0])], [5, 6]);
    assert_eq!(fault::count(Call::Rename, || write_halves(&array, 4, 7).unwrap()), 0);
    array.close().unwrap();
    assert_eq!(element(&other, &[4 * 256, 9]), 7);
}

/// A call that begins before the array is made longer knows the old end, however long it waits for others.
#[test]
fn what_waits_behind_the_end_that_a_call_under_way_knows_is_not_lost() {
    let folder = Folder::new("waits-behind");
    let mut listed = spec(&[10], &[8]);
    listed.set_chunk_extents(0, &[8, 2]).unwrap();
    #[allow(clippy::type_complexity)]
    let cases: [(Spec, &[u64], &[i64], &[i64]); 6] = [
        (spec(&[10], &[8]), &[24], &[16], &[4]),
        (spec(&[10], &[8]), &[24], &[9], &[4]),
        (listed, &[24], &[10], &[4]),
        (spec(&[10, 10], &[16, 16]), &[12, 12], &[0, 0], &[12, 11]),
        (spec(&[10, 10], &[8, 8]), &[12, 12], &[9, 9], &[3, 3]),
        (spec(&[10, 10], &[8, 8]), &[20, 20], &[17, 1], &[2, 2]),
    ];
    for (i, (spec, longer, start, count)) in cases.into_iter().enumerate() {
        for by_other in [false, true] {
            let array = Array::create(&folder.1, "a", &spec, Create::Overwrite).unwrap();
            array.set_write_back(1 << 12).unwrap();
            let known = array.state().bound("a").unwrap();
            match by_other {
                false => array.resize(longer, false).unwrap(),
                true => Array::open(&folder.1, "a").unwrap().resize(longer, false).and_then(|()| array.refresh()).unwrap(),
            }
            write_box(&array, start, count, 7).unwrap();
            crate::engine::flush(&known, known.write_back.as_ref().unwrap(), None).unwrap();
            array.close().unwrap();
            let stored = read_all(&Array::open(&folder.1, "a").unwrap());
            let written = stored.iter().filter(|&&value| value == 7).count();
            assert_eq!(written as i64, count.iter().product::<i64>(), "{i} {by_other}");
        }
    }
}

#[test]
fn threads_share_what_waits() {
    let near = Store::memory(&Context::with_threads(3));
    let far = far_from(&near, Duration::from_micros(200));
    for (store, inner) in [(&near, None), (&near, Some([4u64, 2])), (&far, None), (&far, Some([4, 2]))] {
        let mut spec = spec(&[48, 48], &[8, 8]);
        if let Some(inner) = inner {
            spec.set_inner_chunks(&inner).unwrap();
        }
        let array = Array::create(store, "a", &spec, Create::Overwrite).unwrap();
        for room in [6 * 256, 1 << 20] {
            array.set_write_back(room).unwrap();
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    let array = array.clone();
                    scope.spawn(move || {
                        for row in (thread..48).step_by(4) {
                            for (start, count) in [(0, 13), (13, 35)] {
                                let value = (room as i64 + row * 100 + start) as i32;
                                write_box(&array, &[row, start], &[1, count], value).unwrap();
                            }
                            if row % 7 == 0 {
                                assert_eq!(element(&array, &[row, 20]), (room as i64 + row * 100 + 13) as i32);
                            }
                        }
                    });
                }
            });
            array.flush().unwrap();
            let other = Array::open(store, "a").unwrap();
            let want = |i: i64| (room as i64 + i / 48 * 100 + if i % 48 < 13 { 0 } else { 13 }) as i32;
            assert_eq!(read_all(&other), (0..48 * 48).map(want).collect::<Vec<_>>());
        }
    }
}

#[test]
fn waiting_for_growth_sees_each_publication_and_ends_in_time() {
    let folder = Folder::new("growth");
    let array = Array::create(&folder.1, "a", &spec(&[0, 3], &[4, 3]), Create::New).unwrap();
    let reader = Array::open(&folder.1, "a").unwrap();
    let began = Instant::now();
    assert_eq!(tests::kind(reader.wait_growth(0, 0, Duration::from_millis(30))), ErrorKind::Timeout);
    assert!(began.elapsed() >= Duration::from_millis(30));
    let writer = std::thread::spawn(move || {
        let mut appender = Appender::open(&array, 0, 1, 0).unwrap();
        for step in 0..40 {
            own!(appender.append(1, &view(&mut [step; 3], &[1, 3])).unwrap());
        }
        appender.flush().unwrap();
    });
    let mut seen = 0;
    while seen < 40 {
        let length = reader.wait_growth(0, seen, Duration::from_secs(30)).unwrap();
        assert!(length > seen && reader.shape()[0] == length);
        seen = length;
        let want: Vec<i32> = (0..length as i32).flat_map(|step| [step; 3]).collect();
        assert_eq!(read_all(&reader), want);
    }
    writer.join().unwrap();
}

/// A run that begins again at an earlier step cuts off what followed.
#[test]
fn steps_that_were_cut_since_the_reader_saw_them_are_waited_for() {
    for near in [true, false] {
        let store = Store::memory(&Context::with_threads(1));
        let array = Array::create(&store, "u", &spec(&[10, 3], &[4, 3]), Create::New).unwrap();
        let other = if near { store.clone() } else { far_from(&store, Duration::ZERO) };
        let other = Store::from_shared(&Context::with_threads(1), other.shared().clone(), Mode::Read);
        let reader = Array::open(&other, "u").unwrap();
        assert_eq!(reader.wait_growth(0, 9, Duration::ZERO).unwrap(), 10);
        array.resize(&[5, 3], false).unwrap();
        assert_eq!(tests::kind(reader.wait_growth(0, 6, Duration::ZERO)), ErrorKind::Timeout, "near: {near}");
        assert_eq!(reader.shape()[0], 5, "near: {near}");
        array.resize(&[8, 3], false).unwrap();
        assert_eq!(reader.wait_growth(0, 6, Duration::ZERO).unwrap(), 8);
    }
}

#[test]
fn an_appender_goes_along_any_dimension_and_names_what_it_cannot() {
    let near = Store::memory(&Context::with_threads(3));
    let far = far_from(&near, Duration::from_micros(300));
    for (store, dim, chunks) in [(&near, 0usize, [4u64, 3]), (&near, 1, [2, 4]), (&far, 0, [4, 3]), (&far, 1, [2, 4])] {
        let mut shape = [5u64, 5];
        shape[dim] = 0;
        let array = Array::create(store, "a", &spec(&shape, &chunks), Create::Overwrite).unwrap();
        let mut appender = Appender::open(&array, dim, 0, 0).unwrap();
        let slab = |count: u64| if dim == 0 { [count, 5] } else { [5, count] };
        for (first, count) in [(0, 1), (1, 2), (3, 9), (12, 1), (13, 4)] {
            let shape = slab(count);
            let mut values: Vec<i32> = (0..shape[0] * shape[1])
                .map(|i| {
                    let (step, cell) = if dim == 0 { (i / 5, i % 5) } else { (i % count, i / count) };
                    ((first + step) * 5 + cell) as i32
                })
                .collect();
            own!(appender.append(count, &view(&mut values, &shape)).unwrap());
            let end = first + count;
            assert_eq!(appender.position(), (end, end / 4 * 4));
        }
        drop(appender);
        let want = |step: usize, cell: usize| (step * 5 + cell) as i32;
        let found = read_all(&array);
        let expected: Vec<i32> = (0..85).map(|i| if dim == 0 { want(i / 5, i % 5) } else { want(i % 17, i / 17) }).collect();
        assert_eq!(found, expected);
    }
    let store = tests::memory();
    let mut listed = spec(&[4, 4], &[4, 4]);
    listed.set_chunk_extents(0, &[1, 3]).unwrap();
    let array = Array::create(&store, "r", &listed, Create::New).unwrap();
    assert_eq!(tests::kind(Appender::open(&array, 0, 0, 0)), ErrorKind::Unsupported);
    assert!(Appender::open(&array, 1, 0, 0).is_ok());
}

/// While nobody else changes the document, the appender only puts another shape into its text; what anybody changed is seen and kept.
#[test]
fn the_document_of_each_step_is_the_one_that_a_whole_rewriting_would_give() {
    let shape = |n: u64| [n, 3];
    for (format, name) in [(Format::V3, "zarr.json"), (Format::V2, ".zarray")] {
        let store = tests::memory();
        let mut spec = if format == Format::V2 { tests::spec_v2(&shape(0), &[1, 2]) } else { spec(&shape(0), &[1, 2]) };
        spec.set_attributes_json(r#"{"shape": [7, 7], "text": "\"shape\": [0, 3]"}"#).unwrap();
        let array = Array::create(&store, "g/a", &spec, Create::New).unwrap();
        let key = format!("g/a/{name}");
        let mut appender = Appender::open(&array, 0, 0, 0).unwrap();
        let mut expected = tests::object(&store, &key);
        for step in 0..12 {
            match step {
                // Another handle, and another setting of this one.
                5 => Array::open(&store, "g/a").unwrap().attributes().set("unit", "K".into()).unwrap(),
                8 => array.set_write_fill_chunks(true),
                _ => {}
            }
            if step == 5 && format == Format::V3 {
                expected = tests::object(&store, &key);
            }
            own!(appender.append(1, &view(&mut [step; 3], &shape(1))).unwrap());
            expected.insert("shape".into(), vec![step + 1, 3].into());
            let whole = json::to_text(&Value::Object(expected.clone())) + "\n";
            assert_eq!(tests::text(&store, &key).unwrap(), whole);
            assert_eq!((array.shape().as_slice(), appender.position()), (&shape(step as u64 + 1)[..], (step as u64 + 1, step as u64 + 1)));
        }
        appender.flush().unwrap();
        assert_eq!(read_all(&Array::open(&store, "g/a").unwrap()), (0..12).flat_map(|n| [n; 3]).collect::<Vec<_>>());
        // Another one's length is not overwritten.
        Array::open(&store, "g/a").unwrap().resize(&shape(20), false).unwrap();
        let late = own!(appender.append(1, &view(&mut [0; 3], &shape(1))));
        assert_eq!(tests::kind(late), ErrorKind::State);
    }
}

#[test]
fn a_step_opens_the_lock_the_document_and_what_it_writes() {
    let folder = Folder::new("step");
    let array = Array::create(&folder.1, "", &spec(&[0, 4], &[1, 4]), Create::New).unwrap();
    let mut appender = Appender::open(&array, 0, 0, 0).unwrap();
    let mut step = || own!(appender.append(1, &view(&mut [1; 4], &[1, 4])).unwrap());
    step();
    // Opened: the lock file, the document, the chunk (whose folder is made first, as that before it), the new document. The second read finds
    // the end.
    // The lock file stays, and is looked at once: whether the lock is of the file that still has the name. So is the array's folder, and the document,
    // before it is replaced: its node may have been renamed. Whether the folder is still the array's own is looked at before the chunk is stored, before
    // the document is, and behind that. Of the new document it is looked at who may read it.
    assert_eq!(calls(&mut step), (7, 4, 2));
}

/// Calls `append` of an array or of an appender with values of 32 bits.
fn append_with(appender: &mut Option<Appender>, array: &Array, values: &mut [i32]) -> Result<()> {
    let shape = [values.len() as u64];
    // SAFETY: the memory lives as long as the call.
    unsafe {
        match appender {
            Some(appender) => appender.append(shape[0], &view(values, &shape)),
            None => array.append(0, shape[0], &view(values, &shape)),
        }
    }
}

/// The call that fails is each one in turn, and so are all that follow, as after a kill. Then the same is done again, or the array grows at once.
#[test]
fn what_an_interrupted_cut_left_does_not_show_when_the_array_grows() {
    let cases = [Format::V2, Format::V3].into_iter().flat_map(|format| [(format, true), (format, false)]);
    let cases = cases.flat_map(|(format, again)| [(format, again, true), (format, again, false)]);
    for ((format, again, by_dataset), call) in cases.flat_map(|case| [Call::Rename, Call::RenameNew, Call::Unlink].map(|call| (case, call)))
    {
        for after in (0..).step_by(apart(3)) {
            let folder = Folder::new("cut");
            let anew = || anew(&folder.1);
            let ds = Dataset::create(&folder.1, "", Some(format), Create::New).unwrap();
            ds.define_dimension("x", 20).unwrap();
            let variable = VariableSpec { chunks: Some(vec![3]), ..VariableSpec::new(crate::dtype::DataType::Int32, &["x"]) };
            let whole: Vec<i32> = (1..=20).collect();
            write_all(&ds.define_variable("a", &variable, Create::New).unwrap(), &mut whole.clone());
            let resize = |length| match by_dataset {
                true => dataset(&anew()).resize_dimension("x", length),
                false => Array::open(&anew(), "a").unwrap().resize(&[length], false),
            };
            let done = fault::failing(call, after, libc::EIO, || resize(7));
            let is_cut = Array::open(&anew(), "a").unwrap().shape()[0] == 7;
            // A reader of consolidated metadata sees the array as it was or as it is to be.
            let seen = read_all(&Group::open(&anew(), "").unwrap().open_array("a").unwrap());
            assert!(seen == whole || seen == whole[..7], "{format:?} {by_dataset} {call:?} after {after}: {seen:?}");
            if again {
                resize(7).unwrap();
            }
            resize(20).unwrap();
            let cut: Vec<i32> = (1..=20).map(|n| if n <= 7 { n } else { 0 }).collect();
            let text = format!("{format:?} {again} {by_dataset} {call:?} after {after}");
            assert_eq!(read_all(&Array::open(&anew(), "a").unwrap()), if is_cut || again { cut } else { whole }, "{text}");
            assert_eq!(anew().key_list("").unwrap().iter().filter(|key| key.ends_with("-resize.json")).count(), 0, "{text}");
            if done.is_ok() {
                break;
            }
        }
    }
}

#[test]
fn what_a_failed_append_stored_does_not_show_when_the_array_grows() {
    for (format, length, chunk, by_appender) in [
        (Format::V2, 2, 2, false),
        (Format::V3, 2, 2, false),
        (Format::V3, 3, 2, false),
        (Format::V2, 3, 4, true),
        (Format::V3, 2, 2, true),
        (Format::V3, 3, 2, true),
    ] {
        let store = Store::memory(&Context::with_threads(1));
        let mut spec = Spec::new(crate::dtype::DataType::Int8, &[length]).unwrap();
        spec.set_chunks(&[chunk]).unwrap();
        spec.set_format(format).unwrap();
        spec.set_fill_json("9").unwrap();
        let array = Array::create(&store, "a", &spec, Create::New).unwrap();
        let mut old: Vec<i32> = (1..=length as i32).collect();
        write_all(&array, &mut old);
        let what = format!("{format:?}, {length} in chunks of {chunk}, appender: {by_appender}");
        let mut appender = by_appender.then(|| Appender::open(&array, 0, 0, 0).unwrap());
        for mut values in [[300, 1, 7, 8, 5, 6], [4, 300, 7, 8, 5, 6]] {
            assert_eq!(append_with(&mut appender, &array, &mut values).unwrap_err().kind(), ErrorKind::Range, "{what}");
        }
        drop(appender);
        assert_eq!(array.shape().as_slice(), [length], "{what}");
        array.resize(&[length + 6], false).unwrap();
        let grown: Vec<i32> = old.iter().copied().chain([9; 6]).collect();
        assert_eq!(read_all(&array), grown, "{what}");
        let mut appender = by_appender.then(|| Appender::open(&array, 0, 0, 0).unwrap());
        append_with(&mut appender, &array, &mut [300, 20, 21]).unwrap_err();
        append_with(&mut appender, &array, &mut [22, 23, 24]).unwrap();
        drop(appender);
        assert_eq!(read_all(&array), grown.into_iter().chain([22, 23, 24]).collect::<Vec<_>>(), "{what}");
    }
}

#[test]
fn a_dataset_of_a_killed_run_opens_and_is_mended() {
    for format in [Format::V2, Format::V3] {
        let first = Store::memory(&Context::with_threads(1));
        let ds = Dataset::open(Group::create(&first, "", Some(format), Create::New).unwrap()).unwrap();
        ds.define_time("time", 0, None, "days since 2026-01-01", "standard", Create::New).unwrap();
        ds.define_dimension("x", 3).unwrap();
        ds.define_variable("t", &VariableSpec::new(crate::dtype::DataType::Int32, &["time", "x"]), Create::New).unwrap();
        let documents = |store: &Store| ["t", "time"].map(|name| (name, Array::open(store, name).unwrap().shape()[0]));
        // A group that was made a dataset, killed before the first close: nothing is consolidated, and is after the next close.
        let second = anew(&first);
        assert_eq!(Group::open(&second, "").unwrap().consolidated_differences().unwrap(), None);
        dataset(&second).close().unwrap();
        assert_eq!(Group::open(&second, "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
        // Killed when one array was longer than the other: the shorter counts, and what is consolidated stays as it was.
        let longer = |name: &str, length: u64| {
            let key = path::join(name, document::array_document(format));
            let mut document = json::parse_object(&second.key_get(&key).unwrap().unwrap(), 1 << 20).unwrap();
            let more = if name == "t" { format!("[{length}, 3]") } else { format!("[{length}]") };
            document.insert("shape".into(), json::parse_text(&more).unwrap());
            second.key_put(&key, json::to_text(&Value::Object(document)).as_bytes()).unwrap();
        };
        longer("t", 20);
        let third = anew(&first);
        assert_eq!(documents(&third), [("t", 20), ("time", 0)]);
        let time = dataset(&third).dimension("time").unwrap();
        assert_eq!((time.length, time.longest), (0, 20), "{format:?}");
        let listed = Group::open(&anew(&first), "").unwrap().open_array("t").unwrap();
        assert_eq!(listed.shape()[0], 0);
        dataset(&third).resize_dimension("time", 20).unwrap();
        assert_eq!(documents(&third), [("t", 20), ("time", 20)]);
        // Killed between the documents and what is consolidated of them.
        ["t", "time"].into_iter().for_each(|name| longer(name, 30));
        assert_eq!(Group::open(&anew(&first), "").unwrap().consolidated_differences().unwrap().unwrap().len(), 2);
        assert_eq!(dataset(&anew(&first)).dimension("time").unwrap().length, 30);
        assert_eq!(Group::open(&anew(&first), "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
    }
}

/// The group's consolidated metadata are there from the first call on, those of the root from the first close.
#[test]
fn a_dataset_below_the_root_of_a_run_that_was_killed_before_its_first_close_is_consolidated_in_the_root() {
    for format in [Format::V2, Format::V3] {
        for (path, again) in [("run", true), ("run", false), ("runs/a", true), ("runs/a", false)] {
            let first = Store::memory(&Context::with_threads(1));
            let variable = VariableSpec::new(crate::dtype::DataType::Int32, &["time"]);
            let define = |store: &Store| {
                let ds = Dataset::create(store, path, Some(format), Create::OpenIfSame).unwrap();
                ds.define_time("time", 0, None, "days since 2026-01-01", "standard", Create::OpenIfSame).unwrap();
                ds.define_variable("t", &variable, Create::OpenIfSame).unwrap();
                ds
            };
            let killed = define(&first);
            Series::open(&killed, "time", None, 1, 0).unwrap().step(1.0).unwrap();
            let second = anew(&first);
            let root = || Group::open(&anew(&first), "").unwrap().consolidated_differences().unwrap();
            assert_eq!(root(), None);
            // Repeats these calls, or makes those of a program that only goes on.
            let ds = if again { define(&second) } else { Dataset::open(Group::open(&second, path).unwrap()).unwrap() };
            Series::open(&ds, "time", None, 1, 0).unwrap().step(2.0).unwrap();
            ds.close().unwrap();
            assert_eq!(root(), Some(vec![]), "{format:?} {path} {again}");
        }
    }
}

/// A kill between an array and the first close leaves groups without consolidated metadata: the program that begins again makes them.
#[test]
fn groups_above_arrays_of_a_run_that_was_killed_before_its_first_close_are_consolidated() {
    let names: Vec<_> = ["y", "x"].map(|name| Some(name.to_string())).into();
    for format in [Format::V2, Format::V3] {
        for path in ["u", "runs/a/u"] {
            let first = Store::memory(&Context::with_threads(1));
            let mut spec = Spec::new(crate::dtype::DataType::Int32, &[4, 4]).unwrap();
            spec.set_format(format).unwrap();
            let consolidated = || {
                let group = |path| Group::open(&anew(&first), path).unwrap().consolidated_differences().unwrap();
                ["", path::parent(path).unwrap()].map(group)
            };
            let begin = |spec: &Spec| {
                let store = anew(&first);
                (Array::create(&store, path, spec, Create::OpenIfSame).unwrap(), store)
            };
            Group::create(&first, "", Some(format), Create::New).unwrap();
            // xarray has no name for what has no dimensions.
            begin(&spec).1.close(None).unwrap();
            assert_eq!(consolidated(), [None, None], "{format:?} {path}");
            anew(&first).erase_node(path).unwrap();
            spec.set_dimension_names(names.clone()).unwrap();
            drop(begin(&spec));
            assert_eq!(consolidated(), [None, None], "{format:?} {path}");
            begin(&spec).1.close(None).unwrap();
            assert_eq!(consolidated(), [Some(vec![]), Some(vec![])], "{format:?} {path}");
        }
    }
}

/// A group of others that cannot be consolidated keeps none from it in which this program made something.
#[test]
fn groups_are_consolidated_whatever_keeps_another_from_it() {
    for format in [Format::V2, Format::V3] {
        let first = Store::memory(&Context::with_threads(1));
        let mut spec = Spec::new(crate::dtype::DataType::Int32, &[4]).unwrap();
        spec.set_format(format).unwrap();
        spec.set_dimension_names([Some("x".to_string())].into()).unwrap();
        ["", "old", "run"].iter().for_each(|group| drop(Group::create(&first, group, Some(format), Create::New).unwrap()));
        Array::create(&first, "old/x", &spec, Create::New).unwrap();
        let broken = path::join("old/bad", document::array_document(format));
        first.key_put(&broken, b"{").unwrap();
        let differences = |path| Group::open(&anew(&first), path).unwrap().consolidated_differences();
        let second = anew(&first);
        Array::create(&second, "old/x", &spec, Create::OpenIfSame).unwrap();
        second.close(None).unwrap();
        Array::create(&second, "run/x", &spec, Create::New).unwrap();
        let e = second.close(None).unwrap_err();
        assert_eq!(e.key(), Some(&*broken), "{format:?}: {e}");
        assert_eq!(differences("run").unwrap(), Some(vec![]), "{format:?}");
        first.key_erase(&broken).unwrap();
        second.close(None).unwrap();
        ["", "old"].iter().for_each(|path| assert_eq!(differences(path).unwrap(), Some(vec![]), "{format:?} {path}"));
    }
}

/// What goes on with a dataset below such a root consolidates it, unless something there keeps it from that, which is no error of the dataset.
#[test]
fn a_root_without_consolidated_metadata_is_left_as_it_is_by_queries_and_by_what_cannot_consolidate_it() {
    let variable = VariableSpec::new(crate::dtype::DataType::Int32, &["time"]);
    let define = |ds: &Dataset| ds.define_variable("t", &variable, Create::OpenIfSame).map(drop);
    type GoOn<'a> = &'a dyn Fn(&Dataset) -> Result<()>;
    let cases: [(&str, GoOn<'_>, bool); 4] = [
        ("query", &|ds| ds.dimension("time").map(drop), false),
        ("series", &|ds| Series::open(ds, "time", None, 1, 0)?.step(1.0), true),
        ("definition", &define, true),
        ("resize", &|ds| ds.resize_dimension("time", 3), true),
    ];
    for format in [Format::V2, Format::V3] {
        for (what, go_on, consolidates) in cases {
            for is_broken in [false, true] {
                let store = Store::memory(&Context::with_threads(1));
                let ds = Dataset::create(&store, "run", Some(format), Create::New).unwrap();
                ds.define_time("time", 0, None, "days since 2026-01-01", "standard", Create::New).unwrap();
                define(&ds).unwrap();
                if is_broken {
                    Group::create(&store, "other", Some(format), Create::New).unwrap();
                    let key = path::join("other/bad", document::array_document(format));
                    store.key_put(&key, b"{").unwrap();
                }
                let second = anew(&store);
                let ds = Dataset::open(Group::open(&second, "run").unwrap()).unwrap();
                go_on(&ds).unwrap();
                ds.close().unwrap_or_else(|e| panic!("{what} {format:?} {is_broken}: {e}"));
                let root = Group::open(&anew(&store), "").unwrap();
                assert_eq!(consolidate::is_without(root.store(), "").unwrap(), is_broken || !consolidates, "{what} {format:?} {is_broken}");
                let differing = Group::open(&anew(&store), "run").unwrap().consolidated_differences().unwrap();
                assert_eq!(differing, Some(vec![]), "{what} {format:?} {is_broken}");
            }
        }
    }
}

/// As xarray leaves it that appends to a group of a store: what is consolidated above the group is out of date.
#[test]
fn a_dataset_that_is_opened_from_its_parent_has_the_lengths_of_the_documents() {
    for (format, own) in [(Format::V2, true), (Format::V2, false), (Format::V3, true), (Format::V3, false)] {
        let first = Store::memory(&Context::with_threads(1));
        let root = Group::create(&first, "", Some(format), Create::New).unwrap();
        let ds = Dataset::open(Group::create(&first, "run", Some(format), Create::New).unwrap()).unwrap();
        ds.define_time("time", 10, None, "days since 2026-01-01", "standard", Create::New).unwrap();
        let variable = VariableSpec::new(crate::dtype::DataType::Int32, &["time"]);
        ds.define_variable("t", &variable, Create::New).unwrap();
        if own {
            ds.group().consolidate().unwrap();
        }
        root.consolidate().unwrap();
        for name in ["t", "time"] {
            let key = path::join("run", &path::join(name, document::array_document(format)));
            let mut document = json::parse_object(&first.key_get(&key).unwrap().unwrap(), 1 << 20).unwrap();
            document.insert("shape".into(), json::parse_text("[20]").unwrap());
            first.key_put(&key, json::to_text(&Value::Object(document)).as_bytes()).unwrap();
        }
        if own {
            Group::open(&anew(&first), "run").unwrap().consolidate().unwrap();
        }
        let told = || Group::open(&anew(&first), "").unwrap().open_array("run/t").unwrap().shape()[0];
        assert_eq!(told(), 10, "{format:?} {own}");
        let store = anew(&first);
        let ds = Dataset::open(Group::open(&store, "").unwrap().open_group("run").unwrap()).unwrap();
        let time = ds.dimension("time").unwrap();
        assert_eq!((time.length, time.longest, told()), (20, 20, 20), "{format:?} {own}");
        let new = ds.define_variable("new", &variable, Create::New).unwrap();
        assert_eq!(new.shape().as_slice(), [20]);
        ds.close().unwrap();
        assert_eq!(Group::open(&anew(&first), "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?} {own}");
        assert_eq!(Dataset::open(Group::open(&anew(&first), "run").unwrap()).unwrap().dimension("time").unwrap().longest, 20);
    }
}

#[test]
fn a_variable_that_grows_has_chunks_of_many_steps() {
    let (_, ds) = new_dataset(None);
    let time = ds.define_time("time", 0, None, "days since 2026-01-01", "standard", Create::New).unwrap();
    ds.define_dimension("x", 3).unwrap();
    ds.define_coordinate("y", 512, None, crate::dtype::DataType::Float32, None, None).unwrap();
    let of = |name: &str, dimensions: &[&str]| {
        let variable = VariableSpec::new(crate::dtype::DataType::Float32, dimensions);
        ds.define_variable(name, &variable, Create::New).unwrap().chunk_shape().to_vec()
    };
    assert_eq!(time.chunk_shape().as_slice(), [1024]);
    assert_eq!(of("mean", &["time"]), [1024]);
    assert_eq!(of("a", &["time", "x"]), [1024, 3]);
    assert_eq!(of("b", &["y", "time"]), [512, 512]);
    assert_eq!(
        ds.define_time("later", 0, Some(7), "days since 2026-01-01", "standard", Create::New).unwrap().chunk_shape().as_slice(),
        [7]
    );
}

#[test]
fn the_writers_own_dataset_sees_what_is_appended() {
    let (_, ds) = new_dataset(None);
    ds.define_dimension("time", 0).unwrap();
    let t = ds.define_variable("t", &VariableSpec::new(crate::dtype::DataType::Int32, &["time"]), Create::New).unwrap();
    let mut out = Appender::open(&t, 0, 1, 0).unwrap();
    own!(out.append(1, &view(&mut [7], &[1]))).unwrap();
    assert_eq!(ds.dimension("time").unwrap().length, 1);
}

/// However many variables there are, an open reads what is consolidated; the documents are read when it is first asked what they say.
#[test]
fn an_open_for_changes_reads_documents_when_they_are_needed() {
    for format in [Format::V2, Format::V3] {
        let mut counted = Vec::new();
        for variables in [1, 30] {
            let folder = Folder::new("reads");
            let ds = Dataset::create(&folder.1, "", Some(format), Create::New).unwrap();
            ds.define_dimension("t", 5).unwrap();
            let variable = VariableSpec::new(crate::dtype::DataType::Int32, &["t"]);
            (0..variables).for_each(|i| drop(ds.define_variable(&format!("v{i}"), &variable, Create::New).unwrap()));
            ds.close().unwrap();
            drop(ds);
            counted.push(calls(|| drop(dataset(&anew(&folder.1)))));
            // A writer was killed between the documents and what is consolidated of them.
            let key = path::join("v0", document::array_document(format));
            let longer = tests::text(&folder.1, &key).unwrap().replacen("5", "7", 1);
            let shape = |n: u64| format!("\"shape\":[{n}]");
            let packed: String = longer.split_whitespace().collect();
            assert!(packed.contains(&shape(7)), "{longer}");
            folder.1.key_put(&key, longer.as_bytes()).unwrap();
            let ds = dataset(&anew(&folder.1));
            let opened = fault::count(Call::Open, || assert_eq!(ds.variable("v0").unwrap().shape()[0], 7));
            assert_eq!(opened, if format == Format::V2 { 2 } else { 1 }, "{format:?}: no other variable's documents");
            let length = if variables == 1 { 7 } else { 5 };
            assert_eq!(ds.dimension("t").unwrap(), Dimension { name: "t".into(), length, longest: 7 });
            // A close alone settles it, too.
            dataset(&anew(&folder.1)).close().unwrap();
            let differences = Group::open(&anew(&folder.1), "").unwrap().consolidated_differences().unwrap().unwrap();
            assert_eq!(differences.len(), usize::from(variables > 1), "{format:?}: {differences:?}");
        }
        assert_eq!(counted[0], counted[1], "{format:?}");
    }
}

/// After a kill readers go by what is consolidated. A handle that is only freed leaves all as it is. One that is asked or closed brings what is
/// consolidated in step where all variables have the same steps; a series cuts off the others first.
#[test]
fn a_dataset_that_is_only_freed_changes_nothing_and_the_next_one_mends() {
    type Use = (&'static str, fn(&Store));
    let uses: [Use; 4] = [
        ("asked", |store| drop(dataset(store).dimension("t").unwrap())),
        ("closed", |store| drop(dataset(store).close())),
        ("created if it is not there", |store| drop(Dataset::create(store, "", None, Create::OpenIfSame).unwrap())),
        ("a series", |store| drop(Series::open(&dataset(store), "t", None, 1, 0).unwrap())),
    ];
    // The steps of both variables when the writer was killed, of which two are consolidated; and those that readers see of both in the end.
    let killed = [([4, 4], 4), ([4, 2], 2), ([2, 3], 2)];
    let cases = killed.into_iter().flat_map(|case| uses.map(|(how, next)| (case, how, next)));
    for (format, ((lengths, seen), how, next)) in cases.flat_map(|case| [(Format::V2, case), (Format::V3, case)]) {
        let folder = Folder::new("freed");
        let ds = Dataset::create(&folder.1, "", Some(format), Create::New).unwrap();
        ds.define_dimension("t", 2).unwrap();
        let variable = VariableSpec::new(crate::dtype::DataType::Int32, &["t"]);
        for (name, length) in ["a", "b"].into_iter().zip(lengths) {
            ds.define_variable(name, &variable, Create::New).unwrap();
            let key = path::join(name, document::array_document(format));
            let mut document = json::parse_object(&folder.1.key_get(&key).unwrap().unwrap(), 1 << 20).unwrap();
            document.insert("shape".into(), json::parse_text(&format!("[{length}]")).unwrap());
            folder.1.key_put(&key, json::to_text(&Value::Object(document)).as_bytes()).unwrap();
        }
        let reader = || ["a", "b"].map(|name| Group::open(&anew(&folder.1), "").unwrap().open_array(name).unwrap().shape()[0]);
        let stored = || folder.1.key_list("").unwrap().into_iter().map(|key| (folder.1.key_get(&key).unwrap(), key)).collect::<Vec<_>>();
        let before = stored();
        drop(dataset(&anew(&folder.1)));
        assert_eq!((reader(), stored()), ([2, 2], before), "{format:?} {lengths:?}, freed");
        next(&anew(&folder.1));
        let differences = Group::open(&anew(&folder.1), "").unwrap().consolidated_differences().unwrap().unwrap();
        let is_right = lengths[0] == lengths[1] || how == "a series";
        assert_eq!((reader(), differences.is_empty()), ([seen; 2], is_right), "{format:?} {lengths:?}, {how}: {differences:?}");
    }
}

/// What a process knows of one store stays known while it changes any others.
#[test]
fn consolidated_metadata_are_used_while_other_stores_change() {
    let folders: Vec<Folder> = (0..80).map(|i| Folder::new(&format!("changes-{i}"))).collect();
    let open = |folder: &Folder| {
        Group::create(&folder.1, "", None, Create::New).unwrap().consolidate().unwrap();
        Group::open(&folder.1, "").unwrap()
    };
    let groups: Vec<Group> = folders.iter().map(open).collect();
    let known = || groups.iter().filter(|group| group.catalog().unwrap().is_some()).count();
    for (changed, folder) in folders.iter().enumerate() {
        assert_eq!(known(), 80 - changed);
        anew(&folder.1).note_change();
    }
    assert_eq!(known(), 0);
}

#[test]
fn an_array_that_is_interrupted_while_it_shrinks_has_its_shape_and_can_be_shrunk_again() {
    // Chunks looked for one by one, and listed.
    for rows in [10u64, 2000] {
        let store = Store::memory(&Context::default());
        let group = Group::create(&store, "", None, Create::New).unwrap();
        let array = Array::create(&store, "a", &spec(&[rows, 4], &[1, 4]), Create::New).unwrap();
        group.consolidate().unwrap();
        write_box(&array, &[0, 0], &[10, 4], 7).unwrap();
        let mut told = Vec::new();
        let stopped = array.resize_telling(&[2, 3], false, &mut |done, all| {
            told.push(done);
            assert!(done <= all && all >= 8, "{done} of {all}");
            if done == 3 { Err(crate::error::err!(Cancelled, "enough")) } else { Ok(()) }
        });
        assert_eq!((stopped.unwrap_err().kind(), told.as_slice()), (ErrorKind::Cancelled, &[1, 2, 3][..]));
        assert_eq!(group.consolidated_differences().unwrap(), Some(vec![]));
        let fresh = Array::open(&store, "a").unwrap();
        assert_eq!((&fresh.shape()[..], element(&fresh, &[1, 2])), (&[2, 3][..], 7));
        fresh.resize(&[rows, 4], false).unwrap();
        fresh.resize(&[2, 3], false).unwrap();
        fresh.resize(&[rows, 4], false).unwrap();
        assert!((0..10).all(|row| element(&fresh, &[row, 3]) == 0), "{rows}");
        assert_eq!(element(&fresh, &[1, 2]), 7);
        assert_eq!(fresh.usage().unwrap().chunks, 2);
    }
}

/// Keys that are numbers. The next thread that asks for that of chunk 0 waits until another thread has done what is to be done meanwhile.
#[derive(Default)]
struct Meanwhile(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl registered_keys::KeyCalls for Meanwhile {
    fn any_thread(&self) -> bool {
        true
    }

    fn check(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn encode(&self, _: &str, index: &[u64]) -> Result<String> {
        let due = if index == [0] { self.0.lock().unwrap().take() } else { None };
        if let Some(due) = due {
            std::thread::spawn(due).join().unwrap();
        }
        Ok(index[0].to_string())
    }

    fn decode(&self, _: &str, tail: &str, _: usize) -> Result<Option<Dims>> {
        Ok(tail.parse().ok().map(|n| Dims::from_slice(&[n])))
    }
}

#[test]
fn a_write_that_began_before_the_array_grew_keeps_what_was_stored_behind_its_end() {
    let meanwhile = Arc::new(Meanwhile::default());
    registered_keys::register("test.meanwhile", meanwhile.clone(), false).unwrap();
    let keys = registered_keys::find("test.meanwhile", || "{}".into()).unwrap().unwrap();
    let folder = Folder::new("meanwhile");
    let append: fn(&Array) = |array| {
        own!(array.append(0, 5, &view(&mut [7; 5], &[5])).unwrap());
    };
    let resize: fn(&Array) = |array| {
        array.resize(&[100], false).unwrap();
        write_box(array, &[95], &[5], 7).unwrap();
    };
    for (inner, write_back, value, grow) in [
        (None, 0, 3, append),
        (None, 0, 0, append),
        (None, 0, 3, resize),
        (None, 1 << 20, 3, append),
        (Some([5]), 0, 3, append),
        (Some([2]), 0, 3, append),
        (Some([10]), 0, 0, resize),
    ] {
        let mut spec = spec(&[95], &[10]);
        spec.set_key_encoding(KeyEncoding::Registered(keys)).unwrap();
        if let Some(inner) = inner {
            spec.set_inner_chunks(&inner).unwrap();
        }
        let array = Array::create(&folder.1, "a", &spec, Create::Overwrite).unwrap();
        array.set_write_back(write_back).unwrap();
        let other = array.clone();
        *meanwhile.0.lock().unwrap() = Some(Box::new(move || grow(&other)));
        write_box(&array, &[0], &[95], value).unwrap();
        array.flush().unwrap();
        let expected = [vec![value; 95], vec![7; 5]].concat();
        assert_eq!(read_all(&Array::open(&folder.1, "a").unwrap()), expected, "{inner:?} {write_back} {value}");
        // The handle goes on, and replaces the last chunk as before.
        write_box(&array, &[0], &[100], 4).unwrap();
        array.flush().unwrap();
        assert_eq!(read_all(&Array::open(&folder.1, "a").unwrap()), [4; 100]);
    }
    assert!(registered_keys::unregister("test.meanwhile"));
}

#[test]
fn a_document_is_not_written_without_what_no_memory_was_left_to_read_of_its_keys() {
    registered_keys::register("test.starved", Arc::new(Meanwhile::default()), false).unwrap();
    let keys = registered_keys::find("test.starved", || r#"{"digits":[4]}"#.into()).unwrap().unwrap();
    let mut spec = spec(&[30], &[10]);
    spec.set_key_encoding(KeyEncoding::Registered(keys)).unwrap();
    let array = Array::create(&on(Arc::new(MemoryStore::new())), "a", &spec, Create::New).unwrap();
    let written = || crate::metadata::v3::write_array(&array.state().meta).map(|document| document["chunk_key_encoding"].to_string());
    let whole = written().unwrap();
    assert!(whole.contains("digits"), "{whole}");
    crate::limits::memory_ended();
    assert_eq!((written().map_err(|e| e.kind()), written().unwrap()), (Err(ErrorKind::NoMemory), whole));
    assert!(registered_keys::unregister("test.starved"));
}

#[test]
fn chunks_with_keys_of_a_registered_encoding_are_listed_in_folders_beside_other_files() {
    registered_keys::register("test.listed", Arc::new(Meanwhile::default()), false).unwrap();
    let keys = registered_keys::find("test.listed", || "{}".into()).unwrap().unwrap();
    let folder = Folder::new("listed");
    let mut spec = spec(&[30], &[10]);
    spec.set_key_encoding(KeyEncoding::Registered(keys)).unwrap();
    let array = Array::create(&folder.1, "a", &spec, Create::New).unwrap();
    write_box(&array, &[0], &[30], 1).unwrap();
    std::fs::write(folder.0.join("a/README"), "").unwrap();
    assert_eq!(array.chunk_count(false).unwrap(), 3);
    let faults = faults(&folder.1, VerifyOptions::default());
    assert_eq!(faults.iter().map(|fault| (fault.kind, fault.key.as_str())).collect::<Vec<_>>(), [(FaultKind::Foreign, "a/README")]);
    std::fs::create_dir(folder.0.join("a/7")).unwrap();
    assert_eq!(array.chunk_count(false).unwrap(), 3, "beyond the end");
    std::fs::remove_file(folder.0.join("a/1")).unwrap();
    std::fs::create_dir(folder.0.join("a/1")).unwrap();
    assert_eq!(array.chunk_count(false).unwrap_err().kind(), ErrorKind::Io);
    assert!(registered_keys::unregister("test.listed"));
}

#[test]
fn a_handle_that_is_refreshed_while_it_grows_keeps_what_is_appended() {
    let due = Due::default();
    let array = Array::create(&due.in_memory(), "a", &spec(&[10], &[8]), Create::New).unwrap();
    let append = |array: &Array| {
        own!(array.append(0, 3, &view(&mut [7; 3], &[3])).unwrap());
    };
    // The slab is stored, and its length is to be published.
    let other = array.clone();
    let refresh_and_write = move || {
        other.refresh().unwrap();
        write_box(&other, &[8], &[2], 5).unwrap();
    };
    due.set("a/zarr.json", refresh_and_write);
    append(&array);
    assert!(due.is_over());
    assert_eq!(read_all(&array)[8..], [5, 5, 7, 7, 7]);
    // The document of before is read, and the array grows before it is taken for the handle's.
    let other = array.clone();
    due.set("a/zarr.json opened", move || append(&other));
    array.refresh().unwrap();
    assert!(due.is_over());
    assert_eq!(array.shape().as_slice(), [16]);
    assert_eq!(read_all(&array)[8..], [5, 5, 7, 7, 7, 7, 7, 7]);
    // The handle replaces whole chunks again.
    let reads = || array.stats().snapshot().bytes_read;
    let before = reads();
    write_box(&array, &[0], &[16], 4).unwrap();
    assert_eq!(reads(), before);
}

#[test]
fn chunks_that_a_resize_erases_are_among_the_changes() {
    // Chunks looked for one by one, and listed.
    for rows in [12u64, 6000] {
        let store = Store::memory(&Context::default());
        let array = Array::create(&store, "a", &spec(&[rows], &[4]), Create::New).unwrap();
        write_box(&array, &[0], &[12], 1).unwrap();
        array.set_list_changes(true);
        array.resize(&[6], false).unwrap();
        assert_eq!(array.changes().unwrap().unwrap(), "a/c/1\na/c/2\n", "{rows}");
    }
}

#[test]
fn a_write_that_began_before_the_array_shrank_brings_nothing_back() {
    let meanwhile = Arc::new(Meanwhile::default());
    registered_keys::register("test.shrinks", meanwhile.clone(), false).unwrap();
    let keys = registered_keys::find("test.shrinks", || "{}".into()).unwrap().unwrap();
    let folder = Folder::new("shrinks");
    for (inner, write_back, start, count, fits) in [
        (None, 0, 0, 30, false),
        (None, 0, 0, 15, false),
        (None, 1 << 20, 0, 25, false),
        (Some([5]), 0, 0, 30, false),
        (None, 0, 0, 4, true),
    ] {
        let mut spec = spec(&[30], &[10]);
        spec.set_key_encoding(KeyEncoding::Registered(keys)).unwrap();
        if let Some(inner) = inner {
            spec.set_inner_chunks(&inner).unwrap();
        }
        let array = Array::create(&folder.1, "a", &spec, Create::Overwrite).unwrap();
        write_box(&array, &[0], &[30], 1).unwrap();
        array.set_write_back(write_back).unwrap();
        let other = array.clone();
        *meanwhile.0.lock().unwrap() = Some(Box::new(move || other.resize(&[14], false).unwrap()));
        let written = write_box(&array, &[start], &[count], 3);
        assert!(written.as_ref().map_or_else(|e| e.kind() == ErrorKind::Bounds && !fits, |()| fits), "{written:?}");
        let _ = array.flush();
        array.resize(&[30], false).unwrap();
        assert_eq!(read_all(&Array::open(&folder.1, "a").unwrap())[14..], [0; 16], "{inner:?} {write_back} {count}");
        // The handle goes on.
        write_box(&array, &[0], &[30], 4).unwrap();
        array.flush().unwrap();
        assert_eq!(read_all(&Array::open(&folder.1, "a").unwrap()), [4; 30]);
    }
    assert!(registered_keys::unregister("test.shrinks"));
}

#[test]
fn a_part_that_comes_while_write_back_is_set_is_stored() {
    let meanwhile = Arc::new(Meanwhile::default());
    registered_keys::register("test.setting", meanwhile.clone(), false).unwrap();
    let keys = registered_keys::find("test.setting", || "{}".into()).unwrap().unwrap();
    let folder = Folder::new("setting");
    for limit in [0, 1 << 16] {
        let mut spec = spec(&[30], &[10]);
        spec.set_key_encoding(KeyEncoding::Registered(keys)).unwrap();
        let array = Array::create(&folder.1, "a", &spec, Create::Overwrite).unwrap();
        array.set_write_back(1 << 20).unwrap();
        let other = array.clone();
        *meanwhile.0.lock().unwrap() = Some(Box::new(move || other.set_write_back(limit).unwrap()));
        write_box(&array, &[3], &[4], 7).unwrap();
        array.flush().unwrap();
        assert_eq!(read_all(&Array::open(&folder.1, "a").unwrap())[..8], [0, 0, 0, 7, 7, 7, 7, 0], "{limit}");
    }
    assert!(registered_keys::unregister("test.setting"));
}

#[test]
fn parts_that_come_while_write_back_cannot_be_set_are_kept() {
    type Due = Option<Box<dyn FnOnce() -> Result<()> + Send>>;
    for limit in [0, 1 << 16] {
        let (memory, due) = (Arc::new(MemoryStore::new()), Arc::new(Mutex::new([None, None] as [Due; 2])));
        let of_store = due.clone();
        let tell = move |next: Next<'_>| {
            let Next::Change(key) = next else { return Ok(()) };
            let chunk = key.strip_prefix("a/c/").and_then(|chunk| chunk.parse::<usize>().ok());
            let due = chunk.and_then(|chunk| of_store.lock().unwrap().get_mut(chunk)?.take());
            due.map_or(Ok(()), |due| due())
        };
        let store = on(told(memory.clone(), tell));
        let array = Array::create(&store, "a", &spec(&[30], &[10]), Create::New).unwrap();
        array.set_write_back(1 << 20).unwrap();
        let written = Arc::new(Mutex::new([true, false, false]));
        write_box(&array, &[0], &[4], 7).unwrap();
        // While what waits of each chunk is stored a part of the next one comes; then the disk is full, once.
        let write = |chunk: usize| {
            let (array, written) = (array.clone(), written.clone());
            move || {
                let done = std::thread::spawn(move || write_box(&array, &[10 * chunk as i64], &[4], 7)).join().unwrap();
                written.lock().unwrap()[chunk] = done.is_ok();
                if chunk == 1 { Ok(()) } else { Err(err!(NoSpace, "full")) }
            }
        };
        *due.lock().unwrap() = [Some(Box::new(write(1))), Some(Box::new(write(2)))];
        let set = array.set_write_back(limit);
        assert!(due.lock().unwrap().iter().all(Option::is_none), "{limit}");
        let fresh = || read_all(&Array::open(&Store::from_shared(&Context::default(), memory.clone(), Mode::Read), "a").unwrap());
        let written = *written.lock().unwrap();
        let mut seen = Vec::new();
        for all in [read_all(&array), array.flush().map(|()| fresh()).unwrap()] {
            seen.push([0, 10, 20].map(|at| all[at] == 7));
        }
        assert_eq!(seen, [written; 2], "{limit}: {set:?}");
    }
}

#[test]
fn a_variable_of_version_2_is_opened_again_whichever_number_says_what_is_missing() {
    for (missing, written, others) in [
        (1e20f32, "1e20", "1.0000000200408773e20"),
        (-999.9, "-999.9", "-999.9000244140625"),
        (9.96921e36, "9.96921e36", "9.969209968386869e36"),
    ] {
        let store = Store::memory(&Context::with_threads(1));
        let value = Some(missing.to_ne_bytes().iter().copied().collect());
        let variable = VariableSpec { missing: value, ..VariableSpec::new(crate::dtype::DataType::Float32, &["x"]) };
        let define = || {
            let ds = Dataset::create(&store, "", Some(Format::V2), Create::OpenIfSame)?;
            ds.define_dimension("x", 4)?;
            ds.define_variable("t", &variable, Create::OpenIfSame).map(drop)
        };
        define().unwrap();
        let attributes = || String::from_utf8(store.key_get("t/.zattrs").unwrap().unwrap()).unwrap();
        assert!(attributes().contains(&format!(r#""_FillValue": {written},"#)), "{}", attributes());
        for there in [written, others, &format!("[{others}]")] {
            store.key_put("t/.zattrs", format!(r#"{{"_ARRAY_DIMENSIONS":["x"],"_FillValue":{there}}}"#).as_bytes()).unwrap();
            define().unwrap_or_else(|e| panic!("{there}: {e}"));
        }
        for there in ["-1.0", "1e40", "\"none\""] {
            store.key_put("t/.zattrs", format!(r#"{{"_ARRAY_DIMENSIONS":["x"],"_FillValue":{there}}}"#).as_bytes()).unwrap();
            assert_eq!(define().map_err(|e| e.kind()), Err(ErrorKind::Exists), "{there}");
        }
    }
}
