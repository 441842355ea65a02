//! Reads of stores with latency: no more bytes in flight than the store's tuning allows, whatever the layout.

use super::tests::{own, spec, view, write_all};
use super::tests_store::{Next, on, told};
use super::*;
use crate::engine::Selection;
use crate::error::{ErrorKind, err};
use crate::store::latency::LatencyStore;
use crate::store::memory::MemoryStore;
use crate::store::{ByteRange, Capabilities, Condition, SharedStore, Started, Storage, Tuning, read_now};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

/// Bytes in flight now, the most that ever were, and the longest read.
#[derive(Default)]
struct Counts {
    now: u64,
    most: u64,
    longest: u64,
}

type Job = Box<dyn FnOnce() + Send>;

/// A store whose started reads are answered one by one by a thread of its own, and counted.
struct Counted {
    inner: SharedStore,
    tuning: Tuning,
    counts: Arc<Mutex<Counts>>,
    /// Ranges are cut out of what the key holds before its version is compared, as servers with weak ETags do.
    cuts_first: bool,
    jobs: Mutex<mpsc::Sender<Job>>,
}

impl Counted {
    fn new(inner: SharedStore, bytes: u64) -> Counted {
        let (jobs, queue) = mpsc::channel::<Job>();
        std::thread::spawn(move || {
            for job in queue {
                // Whoever wants to start more has the time for it.
                std::thread::sleep(std::time::Duration::from_micros(300));
                job();
            }
        });
        let tuning = Tuning { requests: 64, bytes, gap: 4096 };
        Counted { inner, tuning, counts: Arc::default(), cuts_first: false, jobs: Mutex::new(jobs) }
    }

    fn length(&self, key: &str, range: &ByteRange) -> u64 {
        match range {
            ByteRange::Span { len, .. } | ByteRange::Suffix { len } => *len,
            ByteRange::Whole { .. } => self.inner.open(key).unwrap().map_or(0, |object| object.len().unwrap()),
        }
    }
}

impl Storage for Counted {
    crate::store::forward!(inner: open, put, erase_keys, list_keys, flush);

    fn capabilities(&self) -> Capabilities {
        Capabilities { latency: true, tuning: self.tuning, ..self.inner.capabilities() }
    }

    fn start(&self, key: &str, what: Started<'_>) {
        let Started::Read { ranges, if_match, done } = what else { return what.run(self, key) };
        let (bytes, longest) = ranges.iter().map(|range| self.length(key, range)).fold((0, 0), |(sum, most), n| (sum + n, n.max(most)));
        let mut counts = self.counts.lock().unwrap();
        counts.now += bytes;
        counts.most = counts.most.max(counts.now);
        counts.longest = counts.longest.max(longest);
        let (inner, counts) = (self.inner.clone(), self.counts.clone());
        let (key, ranges) = (key.to_string(), ranges.to_vec());
        let cuts_first = self.cuts_first;
        let job: Job = Box::new(move || {
            let result = read_now(&*inner, &key, &ranges, if_match.filter(|_| !cuts_first)).and_then(|found| match (found, if_match) {
                (Some(found), Some(wanted)) if found.version != wanted => Err(err!(Conflict, "the object was replaced")),
                (found, _) => Ok(found),
            });
            counts.lock().unwrap().now -= bytes;
            done(result);
        });
        self.jobs.lock().unwrap().send(job).unwrap();
    }

    fn describe(&self) -> String {
        "counted:".to_string()
    }
}

#[test]
fn no_more_bytes_are_in_flight_than_the_tuning_says_whatever_the_layout() {
    const N: usize = 1 << 20;
    let limit = 1 << 20;
    /// Name, chunks, inner chunks, compressor, the longest read.
    type Row = (&'static str, u64, Option<u64>, &'static str, u64);
    let rows: &[Row] = &[
        ("one raw chunk", N as u64, None, "none", 256 << 10),
        ("raw chunks", 1 << 14, None, "none", 64 << 10),
        ("raw shards", 1 << 17, Some(1 << 13), "none", 300 << 10),
        ("compressed shards", 1 << 17, Some(1 << 13), "zstd", 300 << 10),
        ("compressed chunks", 1 << 15, None, "zstd", 140 << 10),
        ("inner chunks that are longer than a piece", 1 << 19, Some(1 << 18), "none", 256 << 10),
    ];
    let mut values: Vec<i32> = (0..N as i32).map(|i| i.wrapping_mul(-1_640_531_535)).collect();
    for (name, chunk, inner, compressor, longest) in rows {
        let memory: SharedStore = Arc::new(MemoryStore::new());
        let mut spec = spec(&[N as u64], &[*chunk]);
        spec.set_compressor(compressor, None).unwrap();
        if let Some(inner) = inner {
            spec.set_inner_chunks(&[*inner]).unwrap();
        }
        let store = Store::from_shared(&Context::with_threads(1), memory.clone(), Mode::ReadWrite);
        write_all(&Array::create(&store, "a", &spec, Create::New).unwrap(), &mut values);
        for (start, step) in [(0, 1), (N as i64 - 1, -1), (3, 5)] {
            let counted = Arc::new(Counted::new(memory.clone(), limit));
            let counts = counted.counts.clone();
            let array = Array::open(&Store::from_shared(&Context::with_threads(3), counted, Mode::Read), "a").unwrap();
            let expected: Vec<i32> = match step {
                -1 => values.iter().rev().copied().collect(),
                _ => values.iter().skip(start as usize).step_by(step as usize).copied().collect(),
            };
            let mut found = vec![-7; expected.len()];
            let shape = [expected.len() as u64];
            let selection = Selection::new(&[N as u64], &[start], &[shape[0] as i64], Some(&[step])).unwrap();
            own!(array.read(&selection, &view(&mut found, &shape)).unwrap());
            assert!(found == expected, "{name}, step {step}");
            let counts = counts.lock().unwrap();
            // What cannot be compressed is a little longer than its elements.
            assert!(counts.most <= limit + limit / 64, "{name}, step {step}: {} bytes in flight", counts.most);
            assert!(counts.longest <= *longest, "{name}, step {step}: a read of {} bytes", counts.longest);
            assert!(counts.now == 0 && counts.most > limit / 4, "{name}, step {step}: {} bytes in flight", counts.most);
        }
    }
}

#[test]
fn a_reader_that_knows_the_index_of_a_shard_reads_the_shorter_one_that_took_its_place() {
    for cuts_first in [false, true] {
        let memory: SharedStore = Arc::new(MemoryStore::new());
        let mut spec = spec(&[4096], &[4096]);
        spec.set_compressor("zstd", None).unwrap();
        spec.set_inner_chunks(&[512]).unwrap();
        let store = Store::from_shared(&Context::with_threads(1), memory.clone(), Mode::ReadWrite);
        let writer = Array::create(&store, "a", &spec, Create::New).unwrap();
        write_all(&writer, &mut (0..4096).map(|i: i32| i.wrapping_mul(-1_640_531_535)).collect::<Vec<_>>());
        let slow = Arc::new(Counted { cuts_first, ..Counted::new(memory, 1 << 20) });
        let reader = Array::open(&Store::from_shared(&Context::with_threads(1), slow, Mode::Read), "a").unwrap();
        let read = || {
            let mut found = [-7];
            let selection = Selection::new(&[4096], &[4000], &[1], None).unwrap();
            own!(reader.read(&selection, &view(&mut found, &[1]))).map(|()| found[0])
        };
        assert_eq!(read().unwrap(), 4000i32.wrapping_mul(-1_640_531_535));
        write_all(&writer, &mut [7; 4096]);
        assert_eq!(read().unwrap(), 7, "{cuts_first}");
    }
}

/// What another process stores or erases between two answers, and what the reader finds then.
#[test]
fn a_chunk_that_comes_or_goes_while_it_is_read_in_pieces_is_read_as_it_is_at_one_moment() {
    for comes in [true, false] {
        let memory: SharedStore = Arc::new(MemoryStore::new());
        let (rows, columns) = (3, 1 << 19);
        let writer = Array::create(&on(memory.clone()), "a", &spec(&[rows, columns], &[rows, columns]), Create::New).unwrap();
        if !comes {
            write_all(&writer, &mut vec![7; (rows * columns) as usize]);
        }
        let reads = AtomicUsize::new(0);
        let changing = told(memory, move |next| {
            if matches!(next, Next::Opened(key) if key.contains("/c/")) && reads.fetch_add(1, Ordering::Relaxed) == 0 {
                match comes {
                    true => write_all(&writer, &mut vec![7; (rows * columns) as usize]),
                    false => drop(writer.chunk_erase(&[0, 0], false).unwrap()),
                }
            }
            Ok(())
        });
        let slow = Arc::new(LatencyStore::new(changing, std::time::Duration::ZERO));
        let reader = Array::open(&on(slow), "a").unwrap();
        let selection = Selection::new(&[rows, columns], &[0, 0], &[3, 1], None).unwrap();
        let mut found = [-7; 3];
        own!(reader.read(&selection, &view(&mut found, &[3, 1])).unwrap());
        assert_eq!(found, if comes { [7; 3] } else { [0; 3] });
    }
}

#[test]
fn a_chunk_that_is_not_there_is_filled_once_however_many_pieces_it_is_read_in() {
    let memory: SharedStore = Arc::new(MemoryStore::new());
    Array::create(&on(memory.clone()), "a", &spec(&[8, 1 << 19], &[8, 1 << 19]), Create::New).unwrap();
    let reader = Array::open(&on(Arc::new(LatencyStore::new(memory, std::time::Duration::ZERO))), "a").unwrap();
    let selection = Selection::new(&reader.shape(), &[0, 0], &[8, 1], None).unwrap();
    let mut found = [-7; 8];
    own!(reader.read(&selection, &view(&mut found, &[8, 1])).unwrap());
    assert_eq!((found, reader.stats().snapshot().fill_chunks), ([0; 8], 1));
}

/// The index of the inner shard, too, is kept by the version of the shard.
#[test]
fn a_reader_that_knows_the_index_of_an_inner_shard_finds_the_chunk_that_came_into_it() {
    const BYTES: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let sharding = |inner: &str, chunk: u64| {
        let configuration = format!(r#"{{"chunk_shape":[{chunk}],"codecs":[{inner}],"index_codecs":[{BYTES}]}}"#);
        format!(r#"{{"name":"sharding_indexed","configuration":{configuration}}}"#)
    };
    let memory: SharedStore = Arc::new(MemoryStore::new());
    let mut spec = spec(&[16], &[16]);
    spec.set_codecs_json(&format!("[{}]", sharding(&sharding(BYTES, 2), 8))).unwrap();
    let writer = Array::create(&on(memory.clone()), "a", &spec, Create::New).unwrap();
    let reader = Array::open(&on(Arc::new(LatencyStore::new(memory, std::time::Duration::ZERO))), "a").unwrap();
    let at = |index: i64| Selection::new(&[16], &[index], &[1], None).unwrap();
    let read = |index: i64| {
        let mut found = [-7];
        own!(reader.read(&at(index), &view(&mut found, &[1])).unwrap());
        found[0]
    };
    own!(writer.write(&at(0), &view(&mut [1], &[1])).unwrap());
    assert_eq!([12, 0, 1, 4].map(read), [0, 1, 0, 0]);
    for index in [4, 12] {
        own!(writer.write(&at(index), &view(&mut [9], &[1])).unwrap());
        assert_eq!(read(index), 9, "element {index}");
    }
}

#[test]
fn a_reader_that_knows_a_damaged_index_reads_the_one_that_took_its_place() {
    const BYTES: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let index = |entries: [[u64; 2]; 2]| entries.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
    let whole = [[7i32; 2], [8; 2]].as_flattened().iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    // A shard of two chunks whose second one is said to be where nothing is; by itself, and as the first of another one.
    let shard = |second: u64| [whole.clone(), index([[0, 8], [second, 8]])].concat();
    for is_inner in [false, true] {
        let outer = |inner: Vec<u8>| {
            let len = inner.len() as u64;
            if is_inner { [inner, index([[0, len], [u64::MAX; 2]])].concat() } else { inner }
        };
        let sharding = |inner: &str, chunk: u64| {
            let configuration = format!(r#"{{"chunk_shape":[{chunk}],"codecs":[{inner}],"index_codecs":[{BYTES}]}}"#);
            format!(r#"{{"name":"sharding_indexed","configuration":{configuration}}}"#)
        };
        let memory: SharedStore = Arc::new(MemoryStore::new());
        let (len, inner) = (if is_inner { 8 } else { 4 }, sharding(BYTES, 2));
        let mut spec = spec(&[len], &[len]);
        spec.set_codecs_json(&format!("[{}]", if is_inner { sharding(&inner, 4) } else { inner })).unwrap();
        Array::create(&on(memory.clone()), "a", &spec, Create::New).unwrap();
        let reader = Array::open(&on(Arc::new(LatencyStore::new(memory.clone(), std::time::Duration::ZERO))), "a").unwrap();
        let read = |at: i64| {
            let mut found = [-7];
            let selection = Selection::new(&[len], &[at], &[1], None).unwrap();
            own!(reader.read(&selection, &view(&mut found, &[1]))).map(|()| found[0])
        };
        memory.put("a/c/0", &[&outer(shard(1 << 40))], Condition::None).unwrap();
        assert_eq!((read(0).unwrap(), read(2).map_err(|e| e.kind())), (7, Err(ErrorKind::ShardIndex)), "inner {is_inner}");
        memory.put("a/c/0", &[&outer(shard(8))], Condition::None).unwrap();
        assert_eq!(read(2).unwrap(), 8, "inner {is_inner}");
    }
}
